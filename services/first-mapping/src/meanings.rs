//! What headings mean: the words of each meaning, in several languages, from `meanings.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The languages of the words, in the order in which they are tried.
const LANGUAGES: [&str; 7] = ["en", "de", "fr", "es", "it", "nl", "pl"];

/// A word of a meaning.
struct Word {
    /// As headings have it: `product_name`.
    heading: String,
    /// Without what is between its parts: `productname`.
    squashed: String,
}

/// The words of each meaning by its name, the likeliest first.
static MEANINGS: LazyLock<BTreeMap<String, Vec<Word>>> = LazyLock::new(|| {
    let table: toml::Table =
        toml::from_str(include_str!("meanings.toml")).expect("meanings.toml is valid TOML");
    table
        .into_iter()
        .map(|(meaning, words)| (meaning, in_order(&words)))
        .collect()
});

fn in_order(words: &toml::Value) -> Vec<Word> {
    let of = |language: &&str| words.get(*language).and_then(toml::Value::as_array);
    let all = LANGUAGES.iter().filter_map(of).flatten();
    let words = all.filter_map(toml::Value::as_str).map(|word| Word {
        heading: word.replace(' ', "_"),
        squashed: squashed(word),
    });
    words.collect()
}

/// The words of a meaning, the likeliest first.
fn words(meaning: &str) -> &'static [Word] {
    MEANINGS.get(meaning).map_or(&[], Vec::as_slice)
}

/// The place of a heading's words among those of a meaning.
pub(super) fn rank(meaning: &str, heading: &str) -> Option<usize> {
    let heading = squashed(heading);
    let mut words = words(meaning).iter();
    words.position(|word| word.squashed == heading)
}

/// Whether a heading has any of the words of a meaning in it.
pub(super) fn mentions(meaning: &str, heading: &str) -> bool {
    let heading = format!("_{heading}_");
    let mut words = words(meaning).iter();
    words.any(|word| {
        let mut found = heading.match_indices(&word.heading);
        found.any(|(at, word)| {
            let after = heading.as_bytes().get(at + word.len());
            heading[..at].ends_with('_') && after == Some(&b'_')
        })
    })
}

/// Words without what is between them.
fn squashed(words: &str) -> String {
    words.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_known_and_words_are_folded() {
        let table: toml::Table = toml::from_str(include_str!("meanings.toml")).unwrap();
        for (meaning, languages) in &table {
            for (language, words) in languages.as_table().unwrap() {
                assert!(LANGUAGES.contains(&language.as_str()), "{meaning}");
                let words = words.as_array().unwrap().iter();
                for word in words.map(|word| word.as_str().unwrap()) {
                    assert_eq!(vitrine_model::text::fold(word), word, "{meaning}");
                }
            }
        }
    }

    #[test]
    fn signs_between_words_do_not_count() {
        assert_eq!(rank("name", "product_name"), rank("name", "productname"));
        assert!(rank("name", "bezeichnung").is_some());
        assert!(mentions("cost", "cost_per_item"));
        assert!(!mentions("cost", "costume"));
    }
}
