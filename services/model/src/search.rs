//! Search: splitting text into words, the keywords of products, typing mistakes, search queries and
//! their completions.
//!
//! All comparisons are of folded text ([`crate::text::fold`]). A product's keywords have three
//! forms, so that one index serves all queries. Every keyword costs index space, so none is
//! redundant:
//!
//! | keyword | the product has |
//! |---|---|
//! | `n:word` | the word in its name or brand |
//! | `s:word` | the word only elsewhere: SKU, codes, short text values |
//! | `p:wor` | a longer word in its name or brand that starts with this: prefixes of two and three characters |
//!
//! A single Latin letter or digit is the prefix of too many words to have a keyword: it is searched
//! by all keywords of two characters that start with it. A single character of another script may
//! be a whole word, and has a keyword.

use std::collections::HashSet;

use unicode_normalization::char::is_combining_mark;

use crate::spec::{Spec, SpecValue};
use crate::text::{collapse, fold, is_invisible};

mod completions;
mod typing;
mod word_index;

pub use completions::completions;
pub use typing::{deletions, within_one};
pub use word_index::WordIndex;

/// The maximum length of a word, in characters; longer ones are cut.
pub const MAX_WORD_CHARACTERS: usize = 32;
/// The minimum length, in characters, of a word for which typing mistakes are corrected.
pub const MIN_VOCABULARY_CHARACTERS: usize = 4;
/// The maximum length, in characters, of a prefix that has a keyword.
pub const MAX_PREFIX_CHARACTERS: usize = 3;
/// The maximum length, in bytes, of a text value whose words are keywords.
pub const MAX_KEYWORD_TEXT_BYTES: usize = 64;
/// The maximum number of keywords of a product.
pub const MAX_KEYWORDS: usize = 600;
/// The maximum length of a search, in characters.
pub const MAX_QUERY_CHARACTERS: usize = 200;
/// The maximum number of distinct words of a search; further ones are ignored.
pub const MAX_QUERY_WORDS: usize = 8;

/// The distinct words of a text, folded, in order of first appearance. Parts joined by one of `- .
/// / _ +` or an apostrophe are words, and so is the whole without these characters: `GV-N3080` has
/// the words `gv`, `n3080` and `gvn3080`. Text without blanks, such as Chinese, is one word.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    each_word(text, |word| {
        if !seen.contains(word) {
            seen.insert(word.to_owned());
            all.push(word.to_owned());
        }
    });
    all
}

/// Calls `on_word` for the words of a text, as [`words`], but with repetitions.
fn each_word(text: &str, mut on_word: impl FnMut(&str)) {
    let folded = clean(text);
    for piece in pieces(&folded) {
        piece.parts().for_each(|part| on_word(cut(part)));
        if piece.is_joined() {
            on_word(&piece.joined());
        }
    }
}

/// The fields that a product's keywords are made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeywordSource<'a> {
    /// The name.
    pub name: &'a str,
    /// The brand.
    pub brand: Option<&'a str>,
    /// The stock-keeping unit.
    pub sku: &'a str,
    /// The specs, in the order they are shown.
    pub specs: &'a [Spec],
    /// Other codes, such as an ISBN.
    pub codes: &'a [&'a str],
}

/// The keywords of a product, sorted and unique. If there are more than [`MAX_KEYWORDS`], those of
/// name and brand are kept first, then those of SKU and codes, then those of specs in their order.
#[must_use]
pub fn keywords(source: &KeywordSource<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for text in std::iter::once(source.name).chain(source.brand) {
        each_word(text, |word| names.push(word.to_owned()));
    }
    let mut all: Vec<String> = names.iter().map(|word| name_keyword(word)).collect();
    let prefixes = names.iter().flat_map(|word| prefixes(word));
    all.extend(prefixes.map(|prefix| format!("p:{prefix}")));
    names.sort_unstable();
    let mut elsewhere = |word: &str| {
        let named = names.binary_search_by(|name| name.as_str().cmp(word));
        if named.is_err() {
            all.push(other_keyword(word));
        }
    };
    // Only whole codes are keywords: nobody searches for a part of a number.
    for code in [source.sku].iter().chain(source.codes) {
        for word in codes(code) {
            elsewhere(&word);
        }
    }
    for text in source.specs.iter().filter_map(short_text) {
        each_word(text, &mut elsewhere);
    }
    first_of(all)
}

/// The first [`MAX_KEYWORDS`] distinct keywords, sorted.
fn first_of(mut keywords: Vec<String>) -> Vec<String> {
    if keywords.len() > MAX_KEYWORDS {
        let mut seen = HashSet::new();
        keywords.retain(|keyword| seen.len() < MAX_KEYWORDS && seen.insert(keyword.clone()));
    }
    keywords.sort_unstable();
    keywords.dedup();
    keywords
}

/// The blank-separated pieces of a code, each as one word: `feed:gv-n3080` gives `feed` and
/// `gvn3080`.
fn codes(code: &str) -> Vec<String> {
    pieces(&clean(code)).map(Piece::joined).collect()
}

/// The keyword of products with this word in name or brand.
#[must_use]
pub fn name_keyword(word: &str) -> String {
    format!("n:{word}")
}

/// The keyword of products with this word elsewhere, but not in name or brand.
#[must_use]
pub fn other_keyword(word: &str) -> String {
    format!("s:{word}")
}

/// The keywords of products with a longer word in name or brand that starts with `prefix`; empty if
/// prefixes of this length have no keywords.
#[must_use]
pub fn prefix_keywords(prefix: &str) -> Vec<String> {
    let mut characters = prefix.chars();
    match (characters.next(), characters.count() + 1) {
        (Some(first), 1) if first.is_ascii_alphanumeric() => {
            let second = ('a'..='z').chain('0'..='9');
            // A word of two characters has no prefix keyword of that length.
            let both = second.flat_map(|second| {
                let two = format!("{first}{second}");
                [name_keyword(&two), format!("p:{two}")]
            });
            both.collect()
        }
        (Some(_), 1..=MAX_PREFIX_CHARACTERS) => vec![format!("p:{prefix}")],
        _ => Vec::new(),
    }
}

/// The words of a product's keywords that belong in the vocabulary, which serves typing mistakes
/// and long prefixes: words of at least [`MIN_VOCABULARY_CHARACTERS`] in name or brand, and other
/// such words without digits, which can be mistyped.
pub fn vocabulary(keywords: &[String]) -> impl Iterator<Item = &str> {
    let length = MIN_VOCABULARY_CHARACTERS..=MAX_WORD_CHARACTERS;
    let word = |keyword: &'_ String| -> Option<std::ops::Range<usize>> {
        let word = keyword.get(2..)?;
        let kept = match keyword.get(..2)? {
            "n:" => true,
            "s:" => !word.contains(char::is_numeric),
            _ => false,
        };
        kept.then_some(2..keyword.len())
    };
    let words = keywords
        .iter()
        .filter_map(move |keyword| word(keyword).map(|range| &keyword[range]));
    words.filter(move |word| length.contains(&word.chars().count()))
}

/// A search query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// The text as typed, with white space collapsed.
    pub text: String,
    /// The text folded, without invisible characters.
    pub folded: String,
    /// The distinct words, folded: at least one and at most [`MAX_QUERY_WORDS`]. A code is one
    /// word, without its joining characters: `gv-n3080` is `gvn3080`.
    pub words: Vec<String>,
    /// For each of the words, the words that it joins, as typed: `gv` and `n3080`. Empty if it is
    /// only one.
    pub parts: Vec<Vec<String>>,
    /// Further words, which are ignored.
    pub ignored: Vec<String>,
    /// Whether the last word may be incomplete: it was typed last, and no blank follows.
    pub open: bool,
}

/// Why a search query is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// Too long.
    #[error("a search has at most {MAX_QUERY_CHARACTERS} characters, not {characters}")]
    TooLong {
        /// The number of characters.
        characters: usize,
    },
    /// The text contains neither a letter nor a digit.
    #[error("a search needs at least one letter or digit")]
    NoWords,
}

impl SearchQuery {
    /// Parses a query. Characters that are neither letters nor digits separate words or are
    /// ignored; none is an error.
    ///
    /// # Errors
    /// [`SearchError`] if it is too long or has no words.
    pub fn parse(text: &str) -> Result<Self, SearchError> {
        let collapsed = collapse(text);
        let characters = collapsed.chars().count();
        if characters > MAX_QUERY_CHARACTERS {
            return Err(SearchError::TooLong { characters });
        }
        let folded = clean(text);
        let (mut words, mut parts) = (Vec::new(), Vec::new());
        for piece in pieces(&folded) {
            let word = piece.joined();
            if !words.contains(&word) {
                words.push(word);
                parts.push(piece.joined_parts());
            }
        }
        let last = pieces(&folded).last().map(Piece::joined);
        let ignored = words.split_off(words.len().min(MAX_QUERY_WORDS));
        parts.truncate(words.len());
        if words.is_empty() {
            return Err(SearchError::NoWords);
        }
        let may_be_incomplete = !text.ends_with(char::is_whitespace);
        Ok(Self {
            open: may_be_incomplete && last.as_ref() == words.last(),
            text: collapsed,
            folded,
            words,
            parts,
            ignored,
        })
    }

    /// The query with joined words apart; `None` if no words are joined.
    #[must_use]
    pub fn apart(&self) -> Option<Self> {
        if self.parts.iter().all(Vec::is_empty) {
            return None;
        }
        let apart = self.folded.replace(is_joiner, " ");
        let apart = Self::parse(apart.trim_end()).ok()?;
        let open = apart.open && self.open;
        Some(Self { open, ..apart })
    }
}

/// A piece of folded text without blanks: one word, or several joined ones. Starts and ends with a
/// letter or digit.
#[derive(Clone, Copy)]
struct Piece<'a>(&'a str);

impl<'a> Piece<'a> {
    fn parts(self) -> impl Iterator<Item = &'a str> {
        let parts = self.0.split(is_joiner);
        parts
            .map(|part| part.trim_start_matches(is_edge))
            .filter(|part| is_word(part))
    }

    /// The words that it joins, if it joins several.
    fn joined_parts(self) -> Vec<String> {
        let parts: Vec<String> = self.parts().map(|part| cut(part).to_owned()).collect();
        if parts.len() < 2 { Vec::new() } else { parts }
    }

    /// Whether it consists of several joined words.
    fn is_joined(self) -> bool {
        self.0.contains(is_joiner)
    }

    /// The piece as one word.
    fn joined(self) -> String {
        let characters = self.parts().flat_map(str::chars);
        characters.take(MAX_WORD_CHARACTERS).collect()
    }
}

fn pieces(folded: &str) -> impl Iterator<Item = Piece<'_>> {
    let apart = |c: char| !(c.is_alphanumeric() || is_combining_mark(c) || is_joiner(c));
    let runs = folded.split(apart);
    let trimmed = runs.map(|run| run.trim_start_matches(is_edge).trim_end_matches(is_joiner));
    trimmed.filter(|run| is_word(run)).map(Piece)
}

fn is_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

fn is_edge(c: char) -> bool {
    is_joiner(c) || (is_combining_mark(c) && !c.is_alphanumeric())
}

const fn is_joiner(c: char) -> bool {
    matches!(c, '-' | '.' | '/' | '_' | '+' | '\'' | '\u{2019}')
}

/// Folds text without its invisible characters; control characters become blanks.
fn clean(text: &str) -> String {
    if !text.contains(|c: char| c.is_control() || is_invisible(c)) {
        return fold(text);
    }
    let visible = text.chars().filter(|c| !is_invisible(*c));
    let plain: String = visible
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    fold(&plain)
}

fn short_text(spec: &Spec) -> Option<&str> {
    match &spec.value {
        SpecValue::Text(text) => (text.len() <= MAX_KEYWORD_TEXT_BYTES).then_some(text),
        SpecValue::Number(_)
        | SpecValue::Quantity { .. }
        | SpecValue::Boolean(_)
        | SpecValue::Date(_) => None,
    }
}

/// The proper prefixes of a word that have keywords.
fn prefixes(word: &str) -> impl Iterator<Item = &str> {
    let skipped = usize::from(word.starts_with(|first: char| first.is_ascii_alphanumeric()));
    let ends = word.char_indices().skip(1).map(|(at, _)| at);
    let ends = ends.take(MAX_PREFIX_CHARACTERS).skip(skipped);
    ends.map(|end| &word[..end])
}

fn cut(word: &str) -> &str {
    let end = word.char_indices().nth(MAX_WORD_CHARACTERS);
    end.map_or(word, |(at, _)| &word[..at])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(key: &str, value: &str) -> Spec {
        Spec {
            key: key.to_owned(),
            value: SpecValue::Text(value.to_owned()),
            qualifier: None,
        }
    }

    fn parse(text: &str) -> SearchQuery {
        SearchQuery::parse(text).unwrap()
    }

    #[test]
    fn words_are_folded_and_codes_are_kept_whole() {
        assert_eq!(words("GV-N3080"), ["gv", "n3080", "gvn3080"]);
        assert_eq!(
            words("1.5 Crème, brûlée; CRÈME"),
            ["1", "5", "15", "creme", "brulee"]
        );
        assert_eq!(words("Levi's 501"), ["levi", "s", "levis", "501"]);
        assert_eq!(words("(C++) -- .../ _x_"), ["c", "x"]);
        assert_eq!(words("ノートパソコン 16型"), ["ノートパソコン", "16型"]);
        assert_eq!(
            words("हिन्दी की"),
            ["हिन्दी", "की"],
            "vowel signs are no separators"
        );
        assert_eq!(
            words("a\0b $where {$gt: 1} c\u{202e}d 🙂e\u{200d}f ❤\u{fe0f}g"),
            ["a", "b", "where", "gt", "1", "cd", "ef", "g"]
        );
        assert_eq!(words("co\u{ad}operate"), ["cooperate"]);
        assert_eq!(words(" \u{301}\u{200b} !?"), [""; 0]);
        let long = words(&"é".repeat(40));
        assert_eq!(long, ["e".repeat(32)]);
        let cut = words(&format!("b-{}", "ж".repeat(40)));
        let joined = format!("b{}", "ж".repeat(31));
        assert_eq!(cut, ["b", &"ж".repeat(32), &joined]);
    }

    #[test]
    fn keywords_tell_names_from_other_text() {
        let specs = [
            text("color", "Deep Red"),
            text("care", &"word ".repeat(13)),
            Spec {
                key: "new".into(),
                value: SpecValue::Boolean(true),
                qualifier: None,
            },
            Spec {
                key: "n".into(),
                value: SpecValue::Number(77.0),
                qualifier: None,
            },
        ];
        let source = KeywordSource {
            name: "Notebooks Go",
            brand: Some("Go"),
            sku: "NB-1",
            specs: &specs,
            codes: &["978-3"],
        };
        let expected = [
            "n:go",
            "n:notebooks",
            "p:no",
            "p:not",
            "s:9783",
            "s:deep",
            "s:nb1",
            "s:red",
        ];
        assert_eq!(keywords(&source), expected);
        let known: Vec<String> = expected.iter().map(ToString::to_string).collect();
        let vocabulary: Vec<&str> = vocabulary(&known).collect();
        assert_eq!(vocabulary, ["notebooks", "deep"]);
        assert_eq!(prefix_keywords("not"), ["p:not"]);
        let none: [&str; 0] = [];
        let why = "long prefixes are in the vocabulary";
        assert_eq!(prefix_keywords("note"), none, "{why}");
        assert_eq!(prefix_keywords(""), none);
        let one = prefix_keywords("g");
        assert_eq!((one.len(), &*one[0], &*one[1]), (72, "n:ga", "p:ga"));
        assert_eq!(prefix_keywords("灯"), ["p:灯"]);
    }

    #[test]
    fn a_product_with_too_many_keywords_keeps_the_first() {
        let specs: Vec<Spec> = (0..200)
            .map(|n| text("a", &format!("s{n}a s{n}b s{n}c s{n}d")))
            .collect();
        let source = KeywordSource {
            name: "zebra",
            sku: "zz-9",
            specs: &specs,
            ..KeywordSource::default()
        };
        let all = keywords(&source);
        assert_eq!(all.len(), MAX_KEYWORDS);
        assert!(all.is_sorted());
        for kept in ["n:zebra", "p:zeb", "s:zz9", "s:s0a", "s:s100a"] {
            assert!(all.iter().any(|keyword| keyword == kept), "{kept}");
        }
        assert!(!all.iter().any(|keyword| keyword == "s:s199d"));
    }

    #[test]
    fn a_long_name_never_crowds_out_the_sku() {
        let dense: Vec<String> = (0..38).map(|n| format!("{n:02}bcdefg")).collect();
        let spaced: Vec<String> = (0..33).map(|n| format!("{n:02}-cdef-")).collect();
        for name in [dense.concat(), dense.join("-"), spaced.join(" ")] {
            let name: String = name
                .chars()
                .take(crate::product::MAX_NAME_CHARACTERS)
                .collect();
            let source = KeywordSource {
                name: &name,
                sku: "zz-9",
                ..KeywordSource::default()
            };
            assert!(keywords(&source).contains(&"s:zz9".to_owned()));
        }
    }

    #[test]
    fn queries_have_words_and_may_be_incomplete() {
        let query = parse("  Gaming\tLAPTOP  gv-N3080");
        assert_eq!(query.text, "Gaming LAPTOP gv-N3080");
        assert_eq!(query.folded, "gaming laptop gv-n3080");
        assert_eq!(query.words, ["gaming", "laptop", "gvn3080"]);
        assert!(query.open && query.ignored.is_empty());
        assert_eq!(query.parts, [vec![], vec![], vec!["gv", "n3080"]]);
        assert!(!parse("laptop ").open);
        assert!(!parse("red shirt red").open, "the shirt is complete");
        let many = parse("a b c d e a f g h i j i");
        assert_eq!(many.words.len(), MAX_QUERY_WORDS);
        assert_eq!(many.ignored, ["i", "j"]);
        assert!(!many.open, "the last word used is complete");
        let odd = parse("\0$where.length\u{202e} 🙂 {\"$gt\":\"\"}");
        assert_eq!(odd.words, ["wherelength", "gt"]);
    }

    #[test]
    fn joined_words_can_be_taken_apart() {
        let query = parse("tic-tac-tic e-book-");
        assert_eq!(query.words, ["tictactic", "ebook"]);
        assert_eq!(query.parts, [vec!["tic", "tac", "tic"], vec!["e", "book"]]);
        let apart = query.apart().unwrap();
        assert_eq!(apart.words, ["tic", "tac", "e", "book"]);
        assert_eq!(apart.parts, [[""; 0]; 4]);
        assert!(apart.open && !parse("e-book ").apart().unwrap().open);
        assert_eq!(parse("-e book-").apart(), None);
        let many = parse("a b c d e f g h i-j");
        assert_eq!((many.parts.len(), many.ignored.len()), (8, 1));
    }

    #[test]
    fn queries_too_long_or_without_words_are_refused() {
        for nothing in ["", "   ", "🙂 - $.", "\u{202e}\0", "\u{301}"] {
            assert_eq!(
                SearchQuery::parse(nothing),
                Err(SearchError::NoWords),
                "{nothing:?}"
            );
        }
        assert!(SearchQuery::parse(&"é".repeat(200)).is_ok());
        assert!(SearchQuery::parse(&format!("{}   \n", "é".repeat(200))).is_ok());
        let characters = 201;
        let long = "é".repeat(characters);
        assert_eq!(
            SearchQuery::parse(&long),
            Err(SearchError::TooLong { characters })
        );
    }

    #[test]
    fn every_query_word_is_a_keyword_of_the_product_it_was_copied_from() {
        for name in [
            "GV-N3080GAMING OC-10GD",
            "Levi's 501® Jeans",
            "Wi-Fi 6E/7 (2.4GHz)",
            "Ｔ-シャツ",
        ] {
            let all = keywords(&KeywordSource {
                name,
                ..KeywordSource::default()
            });
            for word in parse(name).words {
                assert!(all.contains(&name_keyword(&word)), "{word} of {name}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_parsed(typed in any::<String>()) {
            for word in words(&typed) {
                prop_assert!((1..=MAX_WORD_CHARACTERS).contains(&word.chars().count()));
                prop_assert!(!word.contains(|c: char| c == ':' || c == '$' || c.is_whitespace() || c.is_control()));
            }
            let short: String = typed.chars().take(150).collect();
            match SearchQuery::parse(&short) {
                Ok(query) => {
                    let all = words(&short);
                    prop_assert!(query.words.iter().all(|word| all.contains(word)));
                    let found = completions(&query, [typed.as_str(), short.as_str()].into_iter());
                    prop_assert!(found.iter().all(|phrase| is_word(phrase)));
                }
                Err(error) => prop_assert_eq!(error, SearchError::NoWords),
            }
        }
    }
}
