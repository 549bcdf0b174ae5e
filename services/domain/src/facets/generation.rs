//! What a kept count was made from, as a text that differs whenever a new count might.
//!
//! The first part stands for the products: the sum of the counters of their categories, and which
//! categories these are. The second stands for what gives the counted keys their meaning, and for
//! nothing else: a key that is learnt changes no panel in which it does not occur.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Scope;
use crate::reference::Reference;

/// The generation of a panel of a scope that shows these spec keys.
pub(super) fn of_panel(scope: &Scope, sum: i64, keys: &[String], reference: &Reference) -> String {
    format!(
        "{}/{}",
        of_products(scope, sum),
        definitions(keys, reference)
    )
}

/// The part of it that stands for the products.
pub(super) fn of_products(scope: &Scope, sum: i64) -> String {
    let Some(categories) = &scope.categories else {
        return format!("{sum}-all");
    };
    let mut ids = categories.clone();
    ids.sort_unstable();
    let mut hash = Sha256::new();
    for id in ids {
        hash.update(id.to_bytes());
    }
    format!("{sum}-{}", short(hash))
}

/// Whether a generation stands for these products, whatever its keys mean.
pub(super) fn is_of_products(generation: &str, products: &str) -> bool {
    generation.split_once('/').map(|(part, _)| part) == Some(products)
}

/// The generation of the coverage of all keys: it names keys as products do, so of the reference data it
/// depends on the units and on which keys are being merged.
pub(super) fn of_coverage(sum: i64, reference: &Reference) -> String {
    let mut hash = Sha256::new();
    for key in reference.dictionary.keys() {
        if !key.absorbing.is_empty() {
            hash.update(format!("{} {:?}\n", key.key, key.absorbing));
        }
    }
    for unit in reference.units.units() {
        hash.update(format!("{} {} {}\n", unit.id, unit.factor, unit.offset));
    }
    format!("{sum}/{}", short(hash))
}

/// Whether all keys that the one knows mean the same to the other.
pub(super) fn mean_the_same(one: &Reference, other: &Reference) -> bool {
    let keys: Vec<String> = one
        .dictionary
        .keys()
        .iter()
        .map(|key| key.key.clone())
        .collect();
    definitions(&keys, one) == definitions(&keys, other)
}

/// What these keys mean.
fn definitions(keys: &[String], reference: &Reference) -> String {
    let mut units: HashMap<&str, String> = HashMap::new();
    let mut hash = Sha256::new();
    for name in keys {
        let Some(key) = reference.dictionary.get(name) else {
            // Once it is known it means something.
            hash.update(format!("{name}?\n"));
            continue;
        };
        let measured = key.dimension.as_deref().map(|dimension| {
            let of = || units_of(dimension, reference);
            units.entry(dimension).or_insert_with(of).as_str()
        });
        let meaning = (&key.key, key.value_type, measured, &key.absorbing);
        hash.update(format!("{name} {meaning:?}\n"));
    }
    short(hash)
}

fn units_of(dimension: &str, reference: &Reference) -> String {
    let mut text = dimension.to_owned();
    for unit in reference.units.units() {
        if unit.dimension == dimension {
            let _ = write!(text, " {} {} {}", unit.id, unit.factor, unit.offset);
        }
    }
    text
}

/// Enough to tell some millions of texts apart.
fn short(hash: Sha256) -> String {
    let mut text = String::with_capacity(24);
    for byte in &hash.finalize()[..12] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
