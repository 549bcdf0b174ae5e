//! How far products have spec keys.

use async_graphql::SimpleObject;
use vitrine_domain::facets::{self, KeyCoverage};

use super::common::count;
use super::spec::SpecKey;
use crate::graphql::scalars::DateTime;

/// How far the products on sale have a spec key. Counted in the background.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct SpecKeyCoverage {
    /// How many products have it.
    products: i32,
    /// How many different values they have.
    distinct_values: i32,
    /// For each kind of product some of which have it.
    kinds: Vec<KindCoverage>,
    /// Up to five of the most common values, as they are shown.
    sample_values: Vec<String>,
    /// When this was counted.
    as_of: DateTime,
}

/// How far the products of one kind have a spec key.
#[derive(Clone, Debug, PartialEq, SimpleObject)]
pub(crate) struct KindCoverage {
    /// The kind: `book`.
    kind: String,
    /// How many products of the kind there are.
    products: i32,
    /// How many of them have the key.
    having: i32,
    /// How many of them lack it.
    missing: i32,
    /// The share of the kind's products that lack the key: 0 to 1.
    missing_share: f64,
}

/// A spec key that many products of a category or kind have.
#[derive(Clone, SimpleObject)]
pub(crate) struct SuggestedSpecKey {
    /// The key.
    spec_key: SpecKey,
    /// How many products of the category or kind have it.
    products: i32,
    /// How many products the category or kind has.
    of: i32,
    /// The share of products that have it: 0 to 1.
    share: f64,
}

impl From<&KeyCoverage> for SpecKeyCoverage {
    fn from(coverage: &KeyCoverage) -> Self {
        let kind = |(kind, products, having): &(String, u64, u64)| {
            KindCoverage::new(kind, *products, *having)
        };
        Self {
            products: count(coverage.products),
            distinct_values: count(coverage.distinct_values),
            kinds: coverage.kinds.iter().map(kind).collect(),
            sample_values: coverage.samples.clone(),
            as_of: DateTime(coverage.as_of),
        }
    }
}

impl KindCoverage {
    fn new(kind: &str, products: u64, having: u64) -> Self {
        let missing = products.saturating_sub(having);
        Self {
            kind: kind.to_owned(),
            products: count(products),
            having: count(having),
            missing: count(missing),
            missing_share: share(missing, products),
        }
    }
}

impl From<facets::SuggestedKey> for SuggestedSpecKey {
    fn from(suggested: facets::SuggestedKey) -> Self {
        Self {
            spec_key: SpecKey(suggested.key),
            products: count(suggested.products),
            of: count(suggested.of),
            share: share(suggested.products, suggested.of),
        }
    }
}

/// A part of a whole; of nothing it is nothing.
#[expect(
    clippy::cast_precision_loss,
    reason = "there are far fewer than 2^52 products"
)]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_what_the_kind_has_beyond() {
        let books = KindCoverage::new("book", 8, 6);
        assert_eq!(
            (books.having, books.missing, books.missing_share),
            (6, 2, 0.25)
        );
        // Counts of two moments may contradict each other; no share is negative or infinite.
        let behind = KindCoverage::new("movie", 3, 4);
        assert_eq!((behind.missing, behind.missing_share), (0, 0.0));
        let none = KindCoverage::new("movie", 0, 0);
        assert_eq!((none.missing, none.missing_share), (0, 0.0));
    }
}
