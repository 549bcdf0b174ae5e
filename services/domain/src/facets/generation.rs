//! The generation of a stored count: a text that differs whenever a recount might.
//!
//! The first part represents the products: the sum of the generations of their categories, and a
//! digest of the category ids. The second represents the definitions of the counted keys, and
//! nothing else: a new key does not affect panels in which it does not occur.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Scope;
use crate::reference::Reference;

/// The generation of a panel of a scope with these spec keys.
pub(super) fn of_panel(scope: &Scope, sum: i64, keys: &[String], reference: &Reference) -> String {
    format!(
        "{}/{}",
        of_products(scope, sum),
        definitions(keys, reference)
    )
}

/// The part that represents the products.
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

/// Whether a generation has this product part, whatever its definitions.
pub(super) fn is_of_products(generation: &str, products: &str) -> bool {
    generation.split_once('/').map(|(part, _)| part) == Some(products)
}

/// The generation of the coverage of all keys. Coverage uses the stored names of keys, so it
/// depends only on units and on merges in progress.
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

/// Whether all keys known to the first have the same meaning in the second.
pub(super) fn mean_the_same(one: &Reference, other: &Reference) -> bool {
    let keys: Vec<String> = one
        .dictionary
        .keys()
        .iter()
        .map(|key| key.key.clone())
        .collect();
    definitions(&keys, one) == definitions(&keys, other)
}

/// A digest of the definitions of these keys.
fn definitions(keys: &[String], reference: &Reference) -> String {
    let mut units: HashMap<&str, String> = HashMap::new();
    let mut hash = Sha256::new();
    for name in keys {
        let Some(key) = reference.dictionary.get(name) else {
            // A later definition changes the generation.
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

/// Long enough for millions of different texts.
fn short(hash: Sha256) -> String {
    let mut text = String::with_capacity(24);
    for byte in &hash.finalize()[..12] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
