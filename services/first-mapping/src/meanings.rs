//! What headings mean: the words of each meaning, in several languages, from `meanings.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The languages of the words, in the order in which they are tried.
const LANGUAGES: [&str; 7] = ["en", "de", "fr", "es", "it", "nl", "pl"];

/// The words of each meaning by its name, without signs between them, the likeliest first.
static MEANINGS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let table: toml::Table =
        toml::from_str(include_str!("meanings.toml")).expect("meanings.toml is valid TOML");
    table
        .into_iter()
        .map(|(meaning, words)| (meaning, in_order(&words)))
        .collect()
});

fn in_order(words: &toml::Value) -> Vec<String> {
    let of = |language: &&str| words.get(*language).and_then(toml::Value::as_array);
    let all = LANGUAGES.iter().filter_map(of).flatten();
    all.filter_map(toml::Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The words of a meaning, the likeliest first.
pub(super) fn words(meaning: &str) -> &'static [String] {
    MEANINGS.get(meaning).map_or(&[], Vec::as_slice)
}

/// The place of a heading's words among those of a meaning.
pub(super) fn rank(meaning: &str, heading: &str) -> Option<usize> {
    let heading = squashed(heading);
    let mut words = words(meaning).iter();
    words.position(|word| squashed(word) == heading)
}

/// Whether a heading has any of the words of a meaning in it.
pub(super) fn mentions(meaning: &str, heading: &str) -> bool {
    let heading = format!("_{heading}_");
    let mut words = words(meaning).iter();
    words.any(|word| heading.contains(&format!("_{}_", word.replace(' ', "_"))))
}

/// Words without what is between them.
pub(super) fn squashed(words: &str) -> String {
    words.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_known_and_no_word_is_there_twice() {
        let table: toml::Table = toml::from_str(include_str!("meanings.toml")).unwrap();
        for (meaning, languages) in &table {
            let mut known = languages.as_table().unwrap().keys();
            assert!(
                known.all(|language| LANGUAGES.contains(&language.as_str())),
                "{meaning}"
            );
            let words = words(meaning);
            assert!(
                words
                    .iter()
                    .all(|word| vitrine_model::text::fold(word) == *word),
                "{meaning}"
            );
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
