//! Filters and sort orders: as callers give them, and as storage understands them.
//!
//! [`ProductFilter`] speaks the caller's language: slugs, decimal prices, units. The domain turns
//! it into a [`Condition`], where categories are ids and every number is canonical; storage turns
//! that into a query.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::clock::Timestamp;
use crate::id::CategoryId;
use crate::product::ProductStatus;
use crate::rating::Stars;

/// The most leaves a filter may have.
pub const MOST_LEAVES: usize = 50;
/// How deep `and`, `or` and `not` may be nested.
pub const MOST_DEPTH: usize = 5;
/// The most values one leaf may list.
pub const MOST_VALUES: usize = 100;

/// Which products are wanted. Everything given must hold; an empty filter holds for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProductFilter {
    /// All of these must hold.
    pub and: Option<Vec<ProductFilter>>,
    /// At least one of these must hold.
    pub or: Option<Vec<ProductFilter>>,
    /// This must not hold.
    pub not: Option<Box<ProductFilter>>,
    /// In one of these categories, or below it; slugs.
    pub category: Option<Vec<String>>,
    /// Of one of these brands.
    pub brand: Option<Vec<String>>,
    /// The price in the shop's currency, both ends included.
    pub price: Option<Bounds<Decimal>>,
    /// In one of these states.
    pub status: Option<Vec<ProductStatus>>,
    /// The mean rating is at least this; a multiple of 0.5.
    pub min_rating: Option<f64>,
    /// All of these must hold.
    pub specs: Option<Vec<SpecFilter>>,
}

/// A lower and an upper end, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bounds<T> {
    /// At least this.
    pub gte: Option<T>,
    /// At most this.
    pub lte: Option<T>,
}

/// What must hold of some spec.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpecFilter {
    /// The key, or an alias of it.
    pub key: String,
    /// Only specs with this qualifier; any when absent.
    pub qualifier: Option<String>,
    /// What must hold of the value.
    pub test: SpecTest,
}

/// What must hold of a spec's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum SpecTest {
    /// The text is one of these.
    Text(Vec<String>),
    /// The number or quantity compares like this.
    Number(NumberTest),
    /// It is yes, or no.
    Boolean(bool),
    /// The date compares like this.
    Date(DateTest),
    /// There is such a spec, or there is none.
    Exists(bool),
}

/// How a number must compare. What is absent does not matter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NumberTest {
    /// Equal, within the precision written.
    pub eq: Option<f64>,
    /// At least.
    pub gte: Option<f64>,
    /// At most.
    pub lte: Option<f64>,
    /// More than.
    pub gt: Option<f64>,
    /// Less than.
    pub lt: Option<f64>,
    /// The unit of these numbers, for keys that hold quantities.
    pub unit: Option<String>,
}

/// How a date must compare. What is absent does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DateTest {
    /// At or after.
    pub gte: Option<Timestamp>,
    /// At or before.
    pub lte: Option<Timestamp>,
    /// After.
    pub gt: Option<Timestamp>,
    /// Before.
    pub lt: Option<Timestamp>,
}

/// Which products are wanted, in terms of what is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of these hold.
    All(Vec<Condition>),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// This does not hold.
    Not(Box<Condition>),
    /// In one of these categories.
    Category(Vec<CategoryId>),
    /// In one of these states.
    Status(Vec<ProductStatus>),
    /// Carries one of these tokens.
    Token(Vec<String>),
    /// The price in minor units of the shop's currency, both ends included.
    Price(Bounds<i64>),
    /// The mean in half stars is at least this.
    HalfStars(f64),
    /// Some spec of this key has a canonical number in this range.
    SpecRange {
        /// The key, no alias.
        key: String,
        /// Only specs with this qualifier.
        qualifier: Option<String>,
        /// The range.
        range: Range,
    },
    /// There is a spec of this key.
    SpecExists {
        /// The key, no alias.
        key: String,
        /// Only specs with this qualifier.
        qualifier: Option<String>,
    },
}

impl Condition {
    /// Holds for no product.
    #[must_use]
    pub const fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    /// Whether it is plain that no product can fulfil this.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Any(parts) => parts.iter().all(Self::is_nothing),
            Self::All(parts) => parts.iter().any(Self::is_nothing),
            Self::Category(ids) => ids.is_empty(),
            Self::Token(tokens) => tokens.is_empty(),
            Self::Status(states) => states.is_empty(),
            _ => false,
        }
    }
}

/// A range of canonical numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The lower end.
    pub min: Option<End>,
    /// The upper end.
    pub max: Option<End>,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// Where it is.
    pub at: f64,
    /// Whether it belongs to the range.
    pub included: bool,
}

impl Range {
    /// Whether a number lies in the range.
    #[must_use]
    pub fn contains(&self, n: f64) -> bool {
        let above = self
            .min
            .is_none_or(|min| n > min.at || (min.included && n >= min.at));
        let below = self
            .max
            .is_none_or(|max| n < max.at || (max.included && n <= max.at));
        above && below
    }
}

/// Equality of quantities is a band: what is shown as `500 ml` need not be 500 ml to the last bit.
/// The band reaches half a unit of the last decimal written to each side, but never further than
/// half a percent (`1 TB` is not 1.4 TB), and is given in the unit that was written.
#[must_use]
pub fn equality_band(value: f64) -> (f64, f64) {
    let text = format!("{value}");
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let half_step = 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    let reach = half_step.min(value.abs() * 0.005).max(value.abs() * 1e-9);
    (value - reach, value + reach)
}

/// What products can be sorted by. Products without the value come last in both directions; ties
/// are broken by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum ProductSortKey {
    /// The price in the shop's currency.
    Price,
    /// The Bayesian score.
    Rating,
    /// How many people care about it.
    Popularity,
    /// When it was added.
    Newest,
    /// The name, without regard to case and accents.
    Name,
}

impl ProductSortKey {
    /// All sort keys.
    pub const ALL: [Self; 5] = [
        Self::Price,
        Self::Rating,
        Self::Popularity,
        Self::Newest,
        Self::Name,
    ];
}

/// A direction to sort in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Direction {
    /// Lowest, oldest, first letter first.
    Ascending,
    /// Highest, newest, last letter first.
    Descending,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// How products are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProductSort {
    /// By what.
    pub key: ProductSortKey,
    /// In which direction.
    pub direction: Direction,
}

/// Which reviews of a product are wanted; only published ones ever are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReviewFilter {
    /// With one of these ratings; any when absent.
    pub ratings: Option<Vec<Stars>>,
}

/// How reviews are sorted. Ties are broken by date and then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum ReviewSort {
    /// The latest first; undated last.
    Newest,
    /// The earliest first; undated last.
    Oldest,
    /// The most helpful first, of equals the newest.
    MostHelpful,
    /// Five stars first, of equals the newest.
    Highest,
    /// One star first, of equals the oldest: [`ReviewSort::Highest`] read backwards.
    Lowest,
}

impl ReviewSort {
    /// All orders.
    pub const ALL: [Self; 5] = [
        Self::Newest,
        Self::Oldest,
        Self::MostHelpful,
        Self::Highest,
        Self::Lowest,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(asked: f64, value: f64) -> bool {
        let (low, high) = equality_band(asked);
        (low..=high).contains(&value)
    }

    #[test]
    fn equality_is_what_is_shown() {
        let ounces = 16.9 * 29.573_529_562_5;
        assert!(matches(500.0, ounces), "16.9 fl oz is shown as 500 ml");
        assert!(!matches(500.01, ounces));
        assert!(matches(68.6, 27.0 * 2.54));
        assert!(!matches(1.0, 1.4), "no terabyte more");
        assert!(matches(8.0, 8.0) && !matches(8.0, 8.05));
        assert!(matches(0.0, 0.0) && !matches(0.0, 0.1));
        assert!(matches(-18.0, -18.0));
    }
}
