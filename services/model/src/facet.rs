//! Facets: counting the values of matching products, and the filter panels built from the counts.
//!
//! Every matching product is added to a [`FacetTally`]. Its counts become a [`Panel`]: text values
//! with their counts, and ranges of numbers, dates and prices with theirs. A product counts once
//! for each key and once for each value, even if several of its specs have that value.
//!
//! | part | contents |
//! |---|---|
//! | [`FacetTally`], [`Texts`], [`Numbers`] | counting |
//! | [`FacetRow`], [`Vocabulary`], [`RowFilter`], [`RowTally`] | the same of products in memory |
//! | [`SortedCategory`], [`page_of_rows`] | lists of products in memory |
//! | [`number_buckets`], [`date_buckets`], [`price_buckets`] | ranges with about equally many products and round ends |
//! | [`Sample`] | estimates from a part of the products |
//! | [`Panel`] | the result, as it is stored |

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::filter::{Bounds, End, Range};
use crate::id::CategoryId;
use crate::spec::check_key;

mod buckets;
mod joined;
mod numbers;
mod rows;
mod sample;
mod tally;
mod texts;

pub use buckets::{date_buckets, number_buckets, price_buckets};
pub use joined::Joined;
pub use numbers::Numbers;
pub use rows::{
    CategoryRows, CountedValue, FacetRow, RowBuilder, RowFilter, RowPage, RowPlace, RowSort,
    SortValues, SortedCategory, Vocabulary, page_of_rows,
};
pub use sample::{Estimate, MIN_ESTIMATED, Sample};
pub use tally::{
    FacetTally, KeyCoverage, KindCoverage, MAX_SAMPLES, RowTally, TallyFields, TallyProduct,
    TallySpecs,
};
pub use texts::{TextCount, Texts};

/// The maximum number of ranges of a facet of numbers, dates or prices.
pub const MAX_BUCKETS: usize = 10;
/// Up to this many distinct plain numbers are each shown as a range of one value.
pub const MAX_SINGLE_VALUES: usize = 6;

/// A property that products can be counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FacetKey {
    /// The category.
    Category,
    /// The brand.
    Brand,
    /// The price in the shop's currency.
    Price,
    /// The average rating.
    Rating,
    /// The supplier's country.
    Country,
    /// A key of the spec dictionary.
    Spec(String),
}

/// The text is not the name of a facet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a facet: use the key of a spec, or one of @category, @brand, @price, @rating, @country"
)]
pub struct InvalidFacetKey(String);

impl FacetKey {
    /// The facets that are not specs.
    pub const BUILT_IN: [Self; 5] = [
        Self::Category,
        Self::Brand,
        Self::Price,
        Self::Rating,
        Self::Country,
    ];

    /// The name in requests and stored panels: `@brand`, or the key of a spec.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Category => "@category",
            Self::Brand => "@brand",
            Self::Price => "@price",
            Self::Rating => "@rating",
            Self::Country => "@country",
            Self::Spec(key) => key,
        }
    }

    /// Reads a name written by [`FacetKey::name`]. A name without `@` is the key of a spec, even
    /// `brand`.
    ///
    /// # Errors
    /// [`InvalidFacetKey`] when it is neither a built-in name nor has the form of a key.
    pub fn parse(name: &str) -> Result<Self, InvalidFacetKey> {
        let built_in = Self::BUILT_IN.into_iter().find(|key| key.name() == name);
        let spec = || check_key(name).is_ok().then(|| Self::Spec(name.to_owned()));
        let refused = || InvalidFacetKey(crate::text::excerpt(name, 80).text);
        built_in.or_else(spec).ok_or_else(refused)
    }
}

/// A range from `low` (included) to `high` (included only if `high_included`). A missing end means
/// no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket<T> {
    /// The lower end, included.
    pub low: Option<T>,
    /// The upper end.
    pub high: Option<T>,
    /// Whether the upper end is included.
    pub high_included: bool,
}

/// A range of numbers, in the requested unit.
pub type NumberBucket = Bucket<f64>;

/// A range and the number of products with a value in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedBucket<T = f64> {
    /// The range.
    pub bucket: Bucket<T>,
    /// The number of products.
    pub count: u64,
}

impl<T: Copy> Bucket<T> {
    /// The range that contains only this value.
    #[must_use]
    pub const fn single(value: T) -> Self {
        Self {
            low: Some(value),
            high: Some(value),
            high_included: true,
        }
    }

    /// The ranges between these boundaries. Each value from the first to the last boundary is in
    /// exactly one range; the last boundary is in the last range.
    #[must_use]
    pub fn between(boundaries: &[T]) -> Vec<Self> {
        let last = boundaries.len().saturating_sub(2);
        let pairs = boundaries.windows(2).enumerate();
        let range = |(at, pair): (usize, &[T])| Self {
            low: Some(pair[0]),
            high: Some(pair[1]),
            high_included: at == last,
        };
        pairs.map(range).collect()
    }

    /// The range with the count that `count` returns for it.
    #[must_use]
    pub fn counted(self, count: impl Fn(&Self) -> u64) -> CountedBucket<T> {
        CountedBucket {
            count: count(&self),
            bucket: self,
        }
    }
}

impl Bucket<f64> {
    /// The range as a filter range, in the unit of the bucket.
    #[must_use]
    pub fn range(&self) -> Range {
        let end = |at: f64, included| End { at, included };
        Range {
            min: self.low.map(|low| end(low, true)),
            max: self.high.map(|high| end(high, self.high_included)),
        }
    }
}

impl Bucket<Timestamp> {
    /// The range as a filter range over canonical dates: milliseconds.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "dates stay far below 2^53 milliseconds"
    )]
    pub fn range(&self) -> Range {
        let number = |at: Timestamp| at.as_millis() as f64;
        let bucket = Bucket {
            low: self.low.map(number),
            high: self.high.map(number),
            high_included: self.high_included,
        };
        bucket.range()
    }
}

impl Bucket<i64> {
    /// The range with both ends included, as price filters are.
    #[must_use]
    pub fn bounds(&self) -> Bounds<i64> {
        let below = i64::from(!self.high_included);
        Bounds {
            gte: self.low,
            lte: self.high.map(|high| high.saturating_sub(below)),
        }
    }
}

/// The filter panel of a list: for each facet the values and how many of the matching products have
/// them. Plain data that is stored and read again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The number of matching products.
    pub products: u64,
    /// The facets that at least one product has a value of.
    pub facets: Vec<PanelFacet>,
    /// All spec keys that were counted for the panel, whether or not the panel shows them.
    pub keys: Vec<String>,
}

impl Panel {
    /// The maximum number of spec keys that are counted for a panel, those of most products: a panel
    /// is stored as one document.
    pub const MAX_KEYS: usize = 500;

    /// Returns the number of values and ranges of all facets, each facet counted as one more.
    #[must_use]
    pub fn values(&self) -> usize {
        let values = self.facets.iter().map(|facet| match &facet.data {
            PanelData::Text { values } => values.len(),
            PanelData::Boolean { .. } => 2,
            PanelData::Number { buckets, .. } => buckets.len(),
            PanelData::Date { buckets, .. } => buckets.len(),
            PanelData::Price { buckets, .. } => buckets.len(),
            PanelData::Rating { at_least } => at_least.len(),
            PanelData::Category { counts } => counts.len(),
        });
        values.map(|values| values + 1).sum()
    }

    /// Whether a facet has exactly this text among its values.
    #[must_use]
    pub fn has_text(&self, key: &str, text: &str) -> bool {
        let facet = self.facets.iter().find(|facet| facet.key == key);
        facet.is_some_and(|facet| match &facet.data {
            PanelData::Text { values } => values.iter().any(|value| value.value == text),
            _ => false,
        })
    }

    /// Returns true if no product of the panel has this spec key.
    #[must_use]
    pub fn lacks(&self, key: &str) -> bool {
        self.keys.len() < Self::MAX_KEYS && !self.keys.iter().any(|counted| counted == key)
    }
}

/// One facet of a panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PanelFacet {
    /// The name of the facet: see [`FacetKey::name`].
    pub key: String,
    /// The number of products that have a value of it.
    pub products: u64,
    /// The number of distinct values.
    pub distinct: u64,
    /// The values.
    pub data: PanelData,
}

/// The values of one facet and how many products have each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PanelData {
    /// Texts.
    Text {
        /// The values, most frequent first.
        values: Vec<PanelValue>,
    },
    /// Booleans.
    Boolean {
        /// Products with the value true.
        yes: u64,
        /// Products with the value false.
        no: u64,
    },
    /// Numbers and quantities.
    Number {
        /// The lowest, in the unit.
        min: f64,
        /// The highest, in the unit.
        max: f64,
        /// The unit of all numbers here; `None` for plain numbers.
        unit: Option<String>,
        /// The ranges, lowest first.
        buckets: Vec<CountedBucket>,
        /// The counts of adjacent ranges together: see [`Joined`].
        #[serde(default, skip_serializing_if = "Joined::is_empty")]
        joined: Joined,
    },
    /// Dates.
    Date {
        /// The earliest.
        min: Timestamp,
        /// The latest.
        max: Timestamp,
        /// The ranges, earliest first.
        buckets: Vec<CountedBucket<Timestamp>>,
        /// The counts of adjacent ranges together: see [`Joined`].
        #[serde(default, skip_serializing_if = "Joined::is_empty")]
        joined: Joined,
    },
    /// Prices, in minor units of the shop's currency.
    Price {
        /// The lowest.
        min: i64,
        /// The highest.
        max: i64,
        /// The ranges, lowest first.
        buckets: Vec<CountedBucket<i64>>,
    },
    /// Ratings.
    Rating {
        /// Minimum ratings, each with the number of products rated at least that.
        at_least: Vec<(f64, u64)>,
    },
    /// Categories.
    Category {
        /// The categories that products are in, largest count first.
        counts: Vec<(CategoryId, u64)>,
    },
}

/// A text value of a panel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanelValue {
    /// The most frequent spelling.
    pub label: String,
    /// The text by which a filter selects the value.
    pub value: String,
    /// The number of products that have it, in any spelling.
    pub count: u64,
}

/// Returns true if the values of a text key identify products rather than group them, as serial
/// numbers do: more than 20 products have the key, and there is more than one distinct value for
/// every two of them. Such a key becomes a facet only if it is requested by name.
#[must_use]
pub const fn is_identifying(products: u64, distinct: u64) -> bool {
    products > 20 && distinct > products / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_facets_survive_a_round_trip() {
        let spec = FacetKey::Spec("screen_size".to_owned());
        for key in FacetKey::BUILT_IN.into_iter().chain([spec]) {
            assert_eq!(FacetKey::parse(key.name()), Ok(key));
        }
        assert_eq!(
            FacetKey::parse("brand"),
            Ok(FacetKey::Spec("brand".to_owned()))
        );
        for wrong in ["@color", "@", "", "Brand", "$where", "@Brand", "a.b"] {
            let refusal = FacetKey::parse(wrong).unwrap_err().to_string();
            assert!(refusal.contains("@rating"), "{refusal}");
        }
    }

    #[test]
    fn keys_with_nearly_unique_values_are_identifying() {
        assert!(is_identifying(21, 11));
        assert!(!is_identifying(20, 20), "too few products to decide");
        assert!(!is_identifying(22, 11));
        assert!(!is_identifying(1_000, 12));
    }

    #[test]
    fn panels_survive_a_round_trip() {
        let facet = |data| PanelFacet {
            key: "@brand".to_owned(),
            products: 3,
            distinct: 2,
            data,
        };
        let at = Timestamp::from_millis;
        let value = PanelValue {
            label: "Acer".to_owned(),
            value: "Acer".to_owned(),
            count: 2,
        };
        let number = Bucket::between(&[0.1, 0.2, 0.3]);
        let panel = Panel {
            products: 4,
            keys: vec!["weight".to_owned()],
            facets: vec![
                facet(PanelData::Text {
                    values: vec![value],
                }),
                facet(PanelData::Boolean { yes: 1, no: 2 }),
                facet(PanelData::Number {
                    min: 0.1,
                    max: 0.3,
                    unit: Some("cm".to_owned()),
                    buckets: number.into_iter().map(|b| b.counted(|_| 7)).collect(),
                    joined: Joined::default(),
                }),
                facet(PanelData::Date {
                    min: at(0),
                    max: at(5),
                    buckets: vec![Bucket::single(at(5)).counted(|_| 1)],
                    joined: Joined::default(),
                }),
                facet(PanelData::Price {
                    min: 1,
                    max: 9_000_000_000_000_000,
                    buckets: vec![Bucket::single(1).counted(|_| 1)],
                }),
                facet(PanelData::Rating {
                    at_least: vec![(4.5, 2)],
                }),
                facet(PanelData::Category {
                    counts: vec![(CategoryId::from_i64(3), 2)],
                }),
            ],
        };
        let text = serde_json::to_string(&panel).unwrap();
        assert_eq!(serde_json::from_str::<Panel>(&text).unwrap(), panel);
    }

    #[test]
    fn adjacent_ranges_do_not_overlap() {
        let ranges = Bucket::between(&[1.0, 2.0, 3.0]);
        let within = |value| -> Vec<bool> {
            let ranges = ranges.iter().map(Bucket::<f64>::range);
            ranges.map(|range| range.contains(value)).collect()
        };
        assert_eq!(within(2.0), [false, true]);
        assert_eq!(within(3.0), [false, true]);
        assert_eq!(within(0.9), [false, false]);
        assert!(Bucket::between(&[1.0]).is_empty());
        let dates = Bucket::between(&[0, 10].map(Timestamp::from_millis));
        assert!(dates[0].range().contains(10.0));
    }
}
