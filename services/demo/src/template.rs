//! Sentences with gaps, which the facts of a product fill.
//!
//! | gap | stands for |
//! |---|---|
//! | `{key}` | the first value of the spec, or the note; common words in lower case |
//! | `{=key}` | the same as it is written |
//! | `{^key}` | the same with a capital for every word |
//! | `{?key}` | nothing; the spec, note or tag must be there |
//! | `{+key}`, `{-key}` | nothing; the spec must be true, must not be true |
//! | `{key=Text}`, `{key!Text}` | nothing; the spec must have this text, must not have it |
//! | `{an}`, `{An}` | `a` or `an`, depending on the next word |
//! | `{it}`, `{is}`, `{s}`, … | a word that agrees with the number of the product |
//!
//! Notes are, among others, `brand`, `thing`, `name`, and in names `a` and `b`. A sentence is used
//! only when all its gaps can be filled.

use vitrine_model::spec::SpecValue;

use super::facts::Facts;
use super::random::Random;

/// Stands for `{an}` until the next word is known.
const AN: char = '\u{1}';
/// Stands for `{An}` until the next word is known.
const CAPITAL_AN: char = '\u{2}';
/// Letters and abbreviations that are spoken with a vowel first.
const VOWEL_STARTS: [&str; 17] = [
    "a", "e", "i", "o", "u", "A", "E", "I", "O", "U", "LED", "LCD", "FPV", "M.2", "SSD", "f/",
    "NVM",
];
/// Words and abbreviations that begin with a vowel and are spoken with a consonant first.
const CONSONANT_STARTS: [&str; 8] = ["UHD", "USB", "Uni", "uni", "Eur", "eur", "one", "used"];

/// Words that agree with the number of the product: the gap, the singular, the plural.
const AGREEMENT: &[(&str, &str, &str)] = &[
    ("it", "it", "they"),
    ("It", "It", "They"),
    ("them", "it", "them"),
    ("is", "is", "are"),
    ("isn't", "isn't", "aren't"),
    ("was", "was", "were"),
    ("has", "has", "have"),
    ("does", "does", "do"),
    ("doesn't", "doesn't", "don't"),
    ("s", "s", ""),
    ("es", "es", ""),
    ("this", "this", "these"),
    ("This", "This", "These"),
    ("that", "that", "those"),
    ("its", "its", "their"),
    ("itself", "itself", "themselves"),
    ("one", "one", "pair"),
];

/// Fills the gaps of a sentence and capitalises it. Returns `None` when a fact is missing.
pub(crate) fn fill(template: &str, facts: &Facts) -> Option<String> {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let close = open + rest[open..].find('}')?;
        fill_gap(&rest[open + 1..close], facts, &mut out)?;
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    if out.contains([AN, CAPITAL_AN]) {
        out = with_articles(&out);
    }
    Some(capitalised(out))
}

/// Fills one of the sentences that the facts can fill. Returns `None` when there is none.
pub(crate) fn fill_any(templates: &[String], facts: &Facts, random: &mut Random) -> Option<String> {
    if templates.is_empty() {
        return None;
    }
    let start = random.below(templates.len());
    let turn = templates[start..].iter().chain(&templates[..start]);
    turn.into_iter().find_map(|template| fill(template, facts))
}

fn fill_gap(gap: &str, facts: &Facts, out: &mut String) -> Option<()> {
    let (mark, key) = gap.split_at_checked(1)?;
    match mark {
        "?" => facts.has(key).then_some(()),
        "+" => facts.is_true(key).then_some(()),
        "-" => (!facts.is_true(key)).then_some(()),
        "=" => text_of(key, facts).map(|text| out.push_str(&text)),
        "^" => text_of(key, facts).map(|text| out.push_str(&title_case(&text))),
        _ => fill_plain(gap, facts, out),
    }
}

fn fill_plain(gap: &str, facts: &Facts, out: &mut String) -> Option<()> {
    if let Some((key, text)) = gap.split_once('=') {
        return facts.has_text(key, text).then_some(());
    }
    if let Some((key, text)) = gap.split_once('!') {
        return (!facts.has_text(key, text)).then_some(());
    }
    match gap {
        "an" => out.push(AN),
        "An" => out.push(CAPITAL_AN),
        _ => match agreeing_word(gap, facts.plural) {
            Some(word) => out.push_str(word),
            None => out.push_str(&lowercased(text_of(gap, facts)?)),
        },
    }
    Some(())
}

fn agreeing_word(gap: &str, is_plural: bool) -> Option<&'static str> {
    let (_, singular, plural) = AGREEMENT.iter().find(|(name, ..)| *name == gap)?;
    Some(if is_plural { plural } else { singular })
}

fn text_of(key: &str, facts: &Facts) -> Option<String> {
    if let Some(note) = facts.note(key) {
        return Some(note.to_owned());
    }
    facts.value(key).map(|value| match value {
        SpecValue::Boolean(_) => String::new(),
        other => other.display(),
    })
}

/// Returns `Forest green` as `forest green`. Names, codes and texts with digits stay as they are.
fn lowercased(text: String) -> String {
    let mut letters = text.chars();
    let is_common = letters.next().is_some_and(char::is_uppercase)
        && !text.starts_with("V-")
        && letters.all(|c| c.is_lowercase() || c == ' ' || c == '-');
    if is_common { text.to_lowercase() } else { text }
}

fn title_case(text: &str) -> String {
    let words = text.split(' ').map(|word| capitalised(word.to_owned()));
    words.collect::<Vec<String>>().join(" ")
}

/// Returns the text with a capital first letter.
pub(crate) fn capitalised(mut text: String) -> String {
    if text.as_bytes().first().is_some_and(u8::is_ascii_lowercase) {
        text[..1].make_ascii_uppercase();
    }
    text
}

/// Replaces the placeholders of articles.
fn with_articles(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find([AN, CAPITAL_AN]) {
        out.push_str(&rest[..at]);
        out.push_str(if rest[at..].starts_with(AN) { "a" } else { "A" });
        rest = &rest[at + 1..];
        if starts_with_vowel_sound(rest.trim_start()) {
            out.push('n');
        }
    }
    out + rest
}

/// Whether the text is spoken with a vowel first, as far as the words used here go.
fn starts_with_vowel_sound(text: &str) -> bool {
    let number = text.split(|c: char| !c.is_ascii_digit()).next();
    if number.is_some_and(|n| n.starts_with('8') || n == "11" || n == "18") {
        return true;
    }
    let starts_with = |start: &&str| text.starts_with(start);
    !CONSONANT_STARTS.iter().any(starts_with) && VOWEL_STARTS.iter().any(starts_with)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts::default();
        facts.add_text("color", "Forest green");
        facts.add_text("panel", "OLED");
        facts.add("hood", SpecValue::Boolean(true));
        facts.add_quantity("size", 11.0, "in");
        facts.set_note("brand", "Halden");
        facts
    }

    #[test]
    fn gaps() {
        let filled = |template| fill(template, &facts());
        assert_eq!(
            filled("{an} {panel} in {color} by {=brand}").as_deref(),
            Some("An OLED in forest green by Halden")
        );
        assert_eq!(filled("{an} {size} one").as_deref(), Some("An 11 in one"));
        assert_eq!(filled("{^color}").as_deref(), Some("Forest Green"));
        assert_eq!(filled("{+hood}{it} fit{s}").as_deref(), Some("It fits"));
        assert_eq!(filled("{panel=OLED}yes").as_deref(), Some("Yes"));
        for refused in ["{-hood}x", "{sleeve}", "{panel!OLED}x", "{?sleeve}x"] {
            assert_eq!(filled(refused), None, "{refused}");
        }
    }

    #[test]
    fn words_agree_with_the_number() {
        let mut shoes = facts();
        shoes.plural = true;
        let text = fill("{This} boots run small, {it} fit{s} me.", &shoes);
        assert_eq!(text.as_deref(), Some("These boots run small, they fit me."));
    }
}
