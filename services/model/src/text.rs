//! Text functions: folding for comparison, slugs, excerpts.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

/// Folds text for comparison: compatibility forms unified, accents of Latin and Greek removed,
/// lower case, runs of white space as one blank, none at the ends. `"  Crème\u{a0}BRÛLÉE "` folds
/// to `"creme brulee"`.
///
/// Letters without an unaccented form are kept (`ø` stays `ø`); `ß` folds to `ss`.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return collapse(&text.to_ascii_lowercase());
    }
    let stripped = without_accents(text);
    let lower = stripped.to_lowercase().replace('ß', "ss");
    collapse(&lower.nfkc().collect::<String>())
}

/// Unifies compatibility forms and removes marks that are accents: those of Latin and Greek
/// letters. In other scripts marks form other letters: those of `й`, `パ` and `की` stay.
pub(crate) fn without_accents(text: &str) -> String {
    let mut accented = false;
    let mut keep = |c: char| {
        if is_combining_mark(c) {
            return !accented;
        }
        accented = is_latin_or_greek(c);
        true
    };
    text.nfkd().filter(|c| keep(*c)).collect()
}

fn is_latin_or_greek(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}')
}

/// Replaces each run of white space (including no-break spaces and line breaks) by one blank, and
/// removes it at the ends.
#[must_use]
pub fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// As [`collapse`], without a copy of a text that stays as it is.
#[must_use]
pub fn collapsed(text: &str) -> Cow<'_, str> {
    let mut after_blank = true;
    for c in text.chars() {
        let is_blank = c.is_whitespace();
        if is_blank && (after_blank || c != ' ') {
            return Cow::Owned(collapse(text));
        }
        after_blank = is_blank;
    }
    if after_blank && !text.is_empty() {
        return Cow::Owned(collapse(text));
    }
    Cow::Borrowed(text)
}

/// Whether a text has a character that people can see.
#[must_use]
pub fn is_visible(text: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c.is_control() || is_combining_mark(c);
    text.contains(|c: char| !is_blank(c) && !is_ignorable(c) && !is_invisible(c))
}

/// Invisible characters that no text needs (Unicode's `Default_Ignorable_Code_Point` without joiners
/// and variation selectors, and two blanks that are not white space).
#[must_use]
pub const fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// Invisible characters that control joining, direction and presentation of text.
pub(crate) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Characters without a width, which make texts differ that look the same: zero-width blanks and
/// joiners, controls of direction, soft hyphens, selectors of variants, and all that
/// [`is_ignorable`] names.
#[must_use]
pub const fn is_zero_width(c: char) -> bool {
    is_ignorable(c)
        || matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}')
}

/// The text of a number, a code or another short name without [characters that have no width](is_zero_width),
/// and with blanks collapsed. A copied `ABC-1\u{200b}` is `ABC-1`.
#[must_use]
pub fn without_zero_width(text: &str) -> Cow<'_, str> {
    if !text.contains(is_zero_width) {
        return collapsed(text);
    }
    let visible: String = text.chars().filter(|c| !is_zero_width(*c)).collect();
    Cow::Owned(collapse(&visible))
}

/// The maximum length of a slug, in characters.
const MAX_SLUG_CHARACTERS: usize = 80;

/// Makes a slug, the part of a URL that identifies something by name: folded, letters and digits
/// only, words joined by hyphens, at most 80 characters. `None` if nothing is left.
#[must_use]
pub fn slug(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut length = 0;
    for c in fold(name).chars().filter(|c| !is_ignorable(*c)) {
        if length >= MAX_SLUG_CHARACTERS {
            break;
        }
        if c.is_alphanumeric() {
            out.push(c);
            length += 1;
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
            length += 1;
        }
    }
    let trimmed = out.trim_end_matches('-');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// Appends `-suffix` to a slug to make it unique, after shortening the slug if both together would
/// be too long. `suffix` must be shorter than a slug may be.
#[must_use]
pub fn slug_with(slug: &str, suffix: &str) -> String {
    let max_characters = MAX_SLUG_CHARACTERS.saturating_sub(suffix.chars().count() + 1);
    let kept: String = slug.chars().take(max_characters).collect();
    format!("{}-{suffix}", kept.trim_end_matches('-'))
}

/// The beginning of a text, cut at the end of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// At most the requested number of characters, without a word that did not fit.
    pub text: String,
    /// Whether anything was cut off.
    pub truncated: bool,
}

/// Cuts a text to at most `max_characters` characters (grapheme clusters), at the end of a word
/// unless the first word is longer.
#[must_use]
pub fn excerpt(text: &str, max_characters: usize) -> Excerpt {
    let text = text.trim();
    let Some((cut, _)) = text.grapheme_indices(true).nth(max_characters) else {
        return Excerpt {
            text: text.to_owned(),
            truncated: false,
        };
    };
    let head = &text[..cut];
    let inside_word = !text[cut..].starts_with(char::is_whitespace);
    let end = if inside_word {
        head.rfind(char::is_whitespace).unwrap_or(cut)
    } else {
        cut
    };
    Excerpt {
        text: text[..end].trim_end().to_owned(),
        truncated: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_unifies_case_accents_and_white_space() {
        assert_eq!(fold("  Crème\u{a0}BRÛLÉE\n"), "creme brulee");
        assert_eq!(fold("Straße"), "strasse");
        assert_eq!(fold("ＡＢＣ ﬁ"), "abc fi");
        assert_eq!(fold("Ångström"), "angstrom");
        assert_eq!(fold("Άλφα"), "αλφα");
        assert_ne!(fold("バス"), fold("パス"));
        assert_ne!(fold("की"), fold("का"));
        assert_ne!(fold("мой"), fold("мои"));
        assert_eq!(fold(fold("İstanbul").as_str()), fold("İstanbul"));
    }

    #[test]
    fn collapsed_texts_are_copied_only_if_they_change() {
        for same in ["", "a", "a b", "é °"] {
            assert!(matches!(collapsed(same), Cow::Borrowed(text) if text == same));
        }
        for other in [" ", " a", "a ", "a  b", "a\u{a0}b", "a\tb"] {
            assert_eq!(collapsed(other), collapse(other));
            assert!(matches!(collapsed(other), Cow::Owned(_)), "{other:?}");
        }
    }

    #[test]
    fn characters_without_width_are_removed_from_codes() {
        let hidden = [
            '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}',
            '\u{2060}', '\u{2066}', '\u{2069}', '\u{feff}', '\u{ad}', '\u{fe0f}', '\u{180e}',
        ];
        for c in hidden {
            assert!(is_zero_width(c), "{c:?}");
            assert_eq!(
                without_zero_width(&format!("{c}ABC{c}-1{c}")),
                "ABC-1",
                "{c:?}"
            );
        }
        for c in [' ', '\u{a0}', 'a', '-', 'é', '\u{301}', '漢', 'ی'] {
            assert!(!is_zero_width(c), "{c:?}");
        }
        assert!(matches!(
            without_zero_width("ABC-1"),
            Cow::Borrowed("ABC-1")
        ));
        assert_eq!(without_zero_width(" ABC\u{a0}\u{200b} 1 "), "ABC 1");
    }

    #[test]
    fn slugs_are_short_and_made_unique_by_a_suffix() {
        assert_eq!(
            slug("Acer ED270U P 31.5\" (2024)").as_deref(),
            Some("acer-ed270u-p-31-5-2024")
        );
        assert_eq!(slug("--- \u{202e}"), None);
        assert_eq!(slug("La\u{ad}mp\u{200b}").as_deref(), Some("lamp"));
        let longest = slug(&"word ".repeat(40)).unwrap();
        assert_eq!(longest.chars().count(), 79);
        assert_eq!(slug_with("lamp", "2"), "lamp-2");
        let unique = slug_with(&longest, "abcdef");
        assert_eq!(slug(&unique).as_deref(), Some(unique.as_str()));
        assert!(
            unique.ends_with("-word-abcdef") || unique.ends_with("-abcdef"),
            "{unique}"
        );
    }

    #[test]
    fn excerpts_end_with_a_word() {
        let cut = excerpt("one two three", 9);
        assert_eq!((cut.text.as_str(), cut.truncated), ("one two", true));
        assert_eq!(excerpt("one two three", 7).text, "one two");
        assert_eq!(excerpt("onetwothree", 4).text, "onet");
        assert!(!excerpt("one two", 7).truncated);
    }
}
