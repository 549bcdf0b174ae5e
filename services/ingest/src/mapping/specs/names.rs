//! The names of a feed that keys are made of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vitrine_model::spec::{key_of_name, label_of_name};

use super::key::key_with_prefix;

/// The maximum number of names whose keys are cached.
const MAX_CACHED: usize = 20_000;

/// The names of a feed that keys are made of, with their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The keys of names behind their prefixes.
    keys: HashMap<String, Result<String, String>>,
    new: Vec<KeyName>,
}

/// A key that is made of a name of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyName {
    /// The key.
    pub(crate) key: String,
    /// The name.
    pub(crate) name: String,
    /// The label that the name makes.
    pub(crate) label: String,
}

impl Names {
    /// The key of words, which begins with a prefix if there is one.
    ///
    /// # Errors
    /// If no key can be made of them.
    pub(super) fn key(&self, prefix: Option<&str>, words: &[String]) -> Result<String, String> {
        let joined = words.join("_");
        let whole = format!("{}{joined}", prefix.unwrap_or_default());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.keys.get(&whole) {
            return key.clone();
        }
        let key = key_with_prefix(prefix, &joined);
        if let Ok(key) = &key {
            known.new.push(KeyName {
                key: key.clone(),
                name: words.join(" "),
                label: label(words, key),
            });
        }
        if known.keys.len() >= MAX_CACHED {
            known.keys.clear();
        }
        known.keys.insert(whole, key.clone());
        key
    }

    /// The names that are new since the last call.
    pub(super) fn take_new(&self) -> Vec<KeyName> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut known.new)
    }
}

/// The label of a key that is made of one word, or of several.
fn label(words: &[String], key: &str) -> String {
    let [word] = words else {
        let of_word = |word: &String| label_of_name(word, &key_of_name(word).unwrap_or_default());
        let is_plain = words.iter().all(|word| word.is_ascii());
        let labels: Vec<String> = words.iter().map(of_word).collect();
        return label_of_name(
            &if is_plain {
                String::new()
            } else {
                labels.join(" ")
            },
            key,
        );
    };
    label_of_name(word, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_of(names: &Names, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        names.key(None, &words).unwrap()
    }

    #[test]
    fn each_name_is_new_once_and_labels_its_key() {
        let names = Names::default();
        for words in [
            vec!["Größe"],
            vec!["Größe"],
            vec!["memory", "max"],
            vec!["Maße", "Höhe"],
        ] {
            made_of(&names, &words);
        }
        let new: Vec<[String; 3]> = names
            .take_new()
            .into_iter()
            .map(|one| [one.key, one.name, one.label])
            .collect();
        assert_eq!(
            new,
            [
                ["grosse", "Größe", "Größe"],
                ["memory_max", "memory max", "Memory max"],
                ["masse_hohe", "Maße Höhe", "Maße Höhe"],
            ]
            .map(|one| one.map(str::to_owned))
        );
        made_of(&names, &["Größe"]);
        assert_eq!(names.take_new(), []);
    }
}
