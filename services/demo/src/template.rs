//! Sentences with gaps that a product's facts fill.
//!
//! | gap | stands for |
//! |---|---|
//! | `{key}` | the first value of the key, or a note; plain words in lower case |
//! | `{=key}` | the same, as it is written |
//! | `{^key}` | the same, every word with a capital |
//! | `{?key}` | nothing, but the key must be there |
//! | `{+key}`, `{-key}` | nothing, but the key must be true; must not be true |
//! | `{key=Text}`, `{key!Text}` | nothing, but the key must have this text; must not have it |
//! | `{an}`, `{An}` | `a` or `an`, as the next word wants it |
//! | `{it}`, `{is}`, `{s}` … | words that agree with the thing's number |
//!
//! A template whose facts are not there is not used at all.

use vitrine_model::spec::SpecValue;

use super::facts::Facts;
use super::random::Random;

const AN: char = '\u{1}';
const CAPITAL_AN: char = '\u{2}';

/// Words that agree with a thing: the gap, for one, for several.
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

/// The template with its gaps filled and a capital at the start; `None` when a fact is missing.
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

/// One of the templates that these facts can fill, or `None`.
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
        "+" => facts.is(key).then_some(()),
        "-" => (!facts.is(key)).then_some(()),
        "=" => out_of(key, facts).map(|text| out.push_str(&text)),
        "^" => out_of(key, facts).map(|text| out.push_str(&titled(&text))),
        _ => fill_plain(gap, facts, out),
    }
}

fn fill_plain(gap: &str, facts: &Facts, out: &mut String) -> Option<()> {
    if let Some((key, text)) = gap.split_once('=') {
        return facts.says(key, text).then_some(());
    }
    if let Some((key, text)) = gap.split_once('!') {
        return (!facts.says(key, text)).then_some(());
    }
    match gap {
        "an" => out.push(AN),
        "An" => out.push(CAPITAL_AN),
        _ => match agreeing(gap, facts.plural) {
            Some(word) => out.push_str(word),
            None => out.push_str(&lowered(out_of(gap, facts)?)),
        },
    }
    Some(())
}

fn agreeing(gap: &str, plural: bool) -> Option<&'static str> {
    let (_, one, several) = AGREEMENT.iter().find(|(name, ..)| *name == gap)?;
    Some(if plural { several } else { one })
}

fn out_of(key: &str, facts: &Facts) -> Option<String> {
    if let Some(words) = facts.noted(key) {
        return Some(words.to_owned());
    }
    facts.value(key).map(|value| match value {
        SpecValue::Boolean(_) => String::new(),
        other => other.display(),
    })
}

/// `Forest green` as `forest green`; names, codes and everything with a digit stay as they are.
fn lowered(text: String) -> String {
    let mut letters = text.chars();
    let plain = letters.next().is_some_and(char::is_uppercase)
        && !text.starts_with("V-")
        && letters.all(|c| c.is_lowercase() || c == ' ' || c == '-');
    if plain { text.to_lowercase() } else { text }
}

fn titled(text: &str) -> String {
    let words = text.split(' ').map(|word| capitalised(word.to_owned()));
    words.collect::<Vec<String>>().join(" ")
}

/// The text with a capital first letter.
pub(crate) fn capitalised(mut text: String) -> String {
    if text.as_bytes().first().is_some_and(u8::is_ascii_lowercase) {
        text[..1].make_ascii_uppercase();
    }
    text
}

fn with_articles(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find([AN, CAPITAL_AN]) {
        out.push_str(&rest[..at]);
        out.push_str(if rest[at..].starts_with(AN) { "a" } else { "A" });
        rest = &rest[at + 1..];
        if sounds_open(rest.trim_start()) {
            out.push('n');
        }
    }
    out + rest
}

/// Whether a word is spoken with a vowel first, as far as the words used here go.
fn sounds_open(text: &str) -> bool {
    let number = text.split(|c: char| !c.is_ascii_digit()).next();
    if number.is_some_and(|n| n.starts_with('8') || n == "11" || n == "18") {
        return true;
    }
    if ["UHD", "USB", "Uni", "uni", "Eur", "eur", "one", "used"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return false;
    }
    text.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U'])
        || ["LED", "LCD", "FPV", "M.2", "SSD", "f/", "NVM"]
            .iter()
            .any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts::default();
        facts.text("color", "Forest green");
        facts.text("panel", "OLED");
        facts.add("hood", SpecValue::Boolean(true));
        facts.quantity("size", 11.0, "in");
        facts.note("brand", "Halden");
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
    fn things_agree() {
        let mut shoes = facts();
        shoes.plural = true;
        let text = fill("{This} boots run small, {it} fit{s} me.", &shoes);
        assert_eq!(text.as_deref(), Some("These boots run small, they fit me."));
    }
}
