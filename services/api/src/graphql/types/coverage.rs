//! How many products have a spec key.

use async_graphql::SimpleObject;
use vitrine_api_derive::Direct;
use vitrine_domain::facets::{self, KeyCoverage};

use super::common::count;
use super::spec::SpecKey;
use crate::execution::List;
use crate::graphql::scalars::DateTime;

/// How many products on sale have a spec key. Computed in the background.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct SpecKeyCoverage {
    /// The number of products that have the key.
    products: i32,
    /// The number of distinct values.
    distinct_values: i32,
    /// The coverage by product kind, for each kind with at least one product that has the key.
    kinds: List<KindCoverage>,
    /// Up to five of the most common values, formatted for display.
    sample_values: Vec<String>,
    /// When the coverage was computed.
    as_of: DateTime,
}

/// How many products of one kind have a spec key.
#[derive(Clone, Debug, PartialEq, SimpleObject, Direct)]
pub(crate) struct KindCoverage {
    /// The product kind: `book`.
    kind: String,
    /// The number of products of this kind.
    products: i32,
    /// The number of them that have the key.
    having: i32,
    /// The number of them that lack the key.
    missing: i32,
    /// The share of products of this kind that lack the key, 0 to 1.
    missing_share: f64,
}

/// A spec key that is common among the products of a category or kind.
#[derive(Clone, SimpleObject, Direct)]
pub(crate) struct SuggestedSpecKey {
    /// The spec key.
    spec_key: SpecKey,
    /// The number of products of the category or kind that have the key.
    products: i32,
    /// The number of products in the category or of the kind.
    of: i32,
    /// The share of products that have the key, 0 to 1.
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

/// Returns `part / whole`, or 0 if the whole is 0.
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
    fn missing_products_are_those_of_the_kind_without_the_key() {
        let books = KindCoverage::new("book", 8, 6);
        assert_eq!(
            (books.having, books.missing, books.missing_share),
            (6, 2, 0.25)
        );
        // The two counts may be of different moments and contradict each other; no share may become
        // negative or infinite.
        let behind = KindCoverage::new("movie", 3, 4);
        assert_eq!((behind.missing, behind.missing_share), (0, 0.0));
        let none = KindCoverage::new("movie", 0, 0);
        assert_eq!((none.missing, none.missing_share), (0, 0.0));
    }
}
