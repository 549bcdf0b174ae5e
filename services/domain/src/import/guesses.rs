//! The type of a new key: that of most values in the batch in which it first appears, at most 1,000
//! lines. Most batches agree on it, and the first value is enough; one that does not is checked again
//! with the types that this module counts. As long as only that feed has used the key, a later batch changes
//! the type, if more of its values have another one than products have the key.

use std::collections::{HashMap, HashSet};

use vitrine_model::import::ProductDraft;
use vitrine_model::spec::{Dictionary, Spec, SpecKey};
use vitrine_model::unit::UnitTable;

/// Returns the keys with the type and dimension that most values have, and how many have it; of equally
/// many, the first. A product counts once for each of its values.
pub(super) fn most_frequent<'a>(
    keys: &HashSet<String>,
    drafts: impl Iterator<Item = &'a ProductDraft>,
    units: &UnitTable,
) -> Vec<(SpecKey, usize)> {
    let mut counts: HashMap<&str, Vec<(SpecKey, usize)>> = HashMap::new();
    let specs = drafts.flat_map(|draft| &draft.specs);
    for spec in specs.filter(|spec| keys.contains(&spec.key)) {
        count(spec, counts.entry(&spec.key).or_default(), units);
    }
    let all = counts.into_values();
    let most = |types: Vec<(SpecKey, usize)>| {
        let types = types.into_iter().rev();
        types.max_by_key(|(_, count)| *count)
    };
    all.filter_map(most).collect()
}

fn count(spec: &Spec, types: &mut Vec<(SpecKey, usize)>, units: &UnitTable) {
    let fitting = types
        .iter_mut()
        .find(|(key, _)| key.accepts(spec, units).is_ok());
    match fitting {
        Some((_, count)) => *count += 1,
        None => types.extend(SpecKey::learnt(spec, units).ok().map(|key| (key, 1))),
    }
}

/// The keys that are new in a batch, or have a type by the same feed, and of which it has values that contradict each other.
#[derive(Debug, Default)]
pub(super) struct Contradictions {
    new: HashSet<String>,
    contradicted: HashSet<String>,
}

impl Contradictions {
    /// Adds a key that a draft has introduced.
    pub(super) fn introduce(&mut self, key: &SpecKey) {
        self.new.insert(key.key.clone());
    }

    /// Adds a key of a value that was refused. Its type may change if it is new, or follows from values of
    /// this feed alone.
    pub(super) fn refuse(&mut self, key: &str, is_guess: bool) {
        if is_guess || self.new.contains(key) {
            self.contradicted.insert(key.to_owned());
        }
    }

    /// The keys of which the first value may not be the usual one.
    pub(super) fn keys(&self) -> &HashSet<String> {
        &self.contradicted
    }
}

/// The dictionary with keys that are not in it yet.
pub(super) fn with_guesses(dictionary: &Dictionary, guesses: &[SpecKey]) -> Dictionary {
    let mut dictionary = dictionary.clone();
    for key in guesses {
        if dictionary.get(&key.key).is_none() {
            dictionary.add(key.clone());
        }
    }
    dictionary
}
