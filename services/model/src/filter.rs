//! Filters and sorts, as callers write them and as storage evaluates them.
//!
//! [`ProductFilter`] is in the caller's terms: slugs, decimal prices, units. The domain translates
//! it into a [`Condition`], where categories are ids and every number is canonical; storage
//! translates that into a query.

use std::cmp::Ordering;

use rust_decimal::Decimal;
use serde::Serialize;
use strum::VariantArray;

use crate::clock::Timestamp;
use crate::facet::FacetKey;
use crate::id::{CategoryId, SupplierId};
use crate::product::ProductStatus;
use crate::rating::Stars;
use crate::review::Traits;

/// The maximum number of conditions of a filter, without `and`, `or` and `not`.
pub const MAX_LEAVES: usize = 50;
/// The maximum nesting of `and`, `or` and `not`.
pub const MAX_DEPTH: usize = 5;
/// The maximum number of values of one leaf.
pub const MAX_VALUES: usize = 100;

/// A filter of products. All fields that are present must match; an empty filter matches every
/// product.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProductFilter {
    /// All of these must match.
    pub and: Option<Vec<ProductFilter>>,
    /// At least one of these must match.
    pub or: Option<Vec<ProductFilter>>,
    /// This must not match.
    pub not: Option<Box<ProductFilter>>,
    /// In one of these categories (slugs) or a descendant.
    pub category: Option<Vec<String>>,
    /// Of one of these brands.
    pub brand: Option<Vec<String>>,
    /// The price in the shop's currency, both ends included.
    pub price: Option<Bounds<Decimal>>,
    /// In one of these states.
    pub status: Option<Vec<ProductStatus>>,
    /// The average rating is at least this; a multiple of 0.5.
    pub min_rating: Option<f64>,
    /// From a supplier in one of these countries; ISO 3166-1 alpha-2 codes.
    pub country: Option<Vec<String>>,
    /// All of these must match.
    pub specs: Option<Vec<SpecFilter>>,
    /// What admins look for.
    pub admin: AdminFilter,
}

/// The parts of a [`ProductFilter`] that only admins may use. All that are present must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AdminFilter {
    /// Of one of these kinds.
    pub kind: Option<Vec<String>>,
    /// From one of these suppliers.
    pub supplier: Option<Vec<SupplierId>>,
    /// Whether it has a price in the shop's currency.
    pub has_price: Option<bool>,
    /// Whether it has images or videos.
    pub has_media: Option<bool>,
    /// Changed by an admin or an import at this time or later.
    pub updated_since: Option<Timestamp>,
}

/// A lower and an upper bound, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bounds<T> {
    /// At least this.
    pub gte: Option<T>,
    /// At most this.
    pub lte: Option<T>,
}

impl ProductFilter {
    /// The parts that must all match: this filter, and those in its `and`, at any depth. Parts
    /// inside `or` and `not` are not listed: they belong to the part that contains them.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<&Self> {
        let mut all = vec![self];
        let mut at = 0;
        while at < all.len() {
            all.extend(all[at].and.iter().flatten());
            at += 1;
        }
        all
    }

    /// Returns the filter without parts that say nothing: empty objects in `and`, and empty lists. It matches the same.
    #[must_use]
    pub fn simplified(&self) -> Self {
        let parts = self.and.iter().flatten().map(Self::simplified);
        let parts: Vec<Self> = parts.filter(|part| *part != Self::default()).collect();
        let either = |parts: &Vec<Self>| parts.iter().map(Self::simplified).collect();
        Self {
            and: (!parts.is_empty()).then_some(parts),
            or: self.or.as_ref().map(either),
            not: self.not.as_ref().map(|part| Box::new(part.simplified())),
            specs: self.specs.clone().filter(|specs| !specs.is_empty()),
            ..self.clone()
        }
    }

    /// Returns the filter without its selection of values of this facet, so that counts of the
    /// facet's values show the alternatives. Removes selections from all [`Self::conjuncts`], never
    /// inside `or` and `not`. A spec key is compared as written: see [`Self::without_spec`].
    #[must_use]
    pub fn without(&self, facet: &FacetKey) -> Self {
        if let FacetKey::Spec(key) = facet {
            return self.without_spec(&|name| name == key);
        }
        self.stripped(&|part| match facet {
            FacetKey::Category => part.category = None,
            FacetKey::Brand => part.brand = None,
            FacetKey::Price => part.price = None,
            FacetKey::Rating => part.min_rating = None,
            FacetKey::Country => part.country = None,
            FacetKey::Spec(_) => {}
        })
    }

    /// Returns the filter without its tests of the spec keys that `is_key` accepts. Tests of
    /// existence stay: they select no value.
    #[must_use]
    pub fn without_spec(&self, is_key: &dyn Fn(&str) -> bool) -> Self {
        self.stripped(&|part| {
            if let Some(specs) = &mut part.specs {
                specs.retain(|spec| !(spec.selects() && is_key(&spec.key)));
                if specs.is_empty() {
                    part.specs = None;
                }
            }
        })
    }

    fn stripped(&self, strip: &dyn Fn(&mut Self)) -> Self {
        let mut part = self.clone();
        part.strip(strip);
        part
    }

    fn strip(&mut self, strip: &dyn Fn(&mut Self)) {
        strip(self);
        for part in self.and.iter_mut().flatten() {
            part.strip(strip);
        }
    }

    /// The facets of which values are selected, without repetition: the built-in ones first, then
    /// spec keys as written. Looks at the same parts as [`Self::without`].
    #[must_use]
    pub fn selections(&self) -> Vec<FacetKey> {
        let parts = self.conjuncts();
        let mut all = Vec::new();
        let mut built_in = |key: FacetKey, is_selected: &dyn Fn(&Self) -> bool| {
            if parts.iter().any(|part| is_selected(part)) {
                all.push(key);
            }
        };
        built_in(FacetKey::Category, &|part| part.category.is_some());
        built_in(FacetKey::Brand, &|part| part.brand.is_some());
        built_in(FacetKey::Price, &|part| part.price.is_some());
        built_in(FacetKey::Rating, &|part| part.min_rating.is_some());
        built_in(FacetKey::Country, &|part| part.country.is_some());
        for spec in self.selected_specs(&|_| true) {
            let key = FacetKey::Spec(spec.key.clone());
            if !all.contains(&key) {
                all.push(key);
            }
        }
        all
    }

    /// The tests that select values of the spec keys that `is_key` accepts.
    #[must_use]
    pub fn selected_specs(&self, is_key: &dyn Fn(&str) -> bool) -> Vec<&SpecFilter> {
        let specs = self
            .conjuncts()
            .into_iter()
            .flat_map(|part| part.specs.iter().flatten());
        specs
            .filter(|spec| spec.selects() && is_key(&spec.key))
            .collect()
    }

    /// The texts selected of the spec keys that `is_key` accepts, as written.
    #[must_use]
    pub fn selected_texts(&self, is_key: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let texts = self
            .selected_specs(is_key)
            .into_iter()
            .map(|spec| match &spec.test {
                SpecTest::Text(values) => values.as_slice(),
                _ => &[],
            });
        texts.flatten().map(String::as_str).collect()
    }

    /// The slugs of the selected categories.
    #[must_use]
    pub fn selected_categories(&self) -> Vec<&str> {
        self.selected_names(|part| &part.category)
    }

    /// The selected brands, as written.
    #[must_use]
    pub fn selected_brands(&self) -> Vec<&str> {
        self.selected_names(|part| &part.brand)
    }

    /// The selected countries, as written.
    #[must_use]
    pub fn selected_countries(&self) -> Vec<&str> {
        self.selected_names(|part| &part.country)
    }

    /// The selected price ranges.
    #[must_use]
    pub fn selected_prices(&self) -> Vec<Bounds<Decimal>> {
        self.conjuncts()
            .iter()
            .filter_map(|part| part.price)
            .collect()
    }

    /// The selected minimum rating; the highest if there are several, since all must hold.
    #[must_use]
    pub fn selected_rating(&self) -> Option<f64> {
        let minimums = self
            .conjuncts()
            .into_iter()
            .filter_map(|part| part.min_rating);
        minimums.reduce(f64::max)
    }

    fn selected_names(&self, field: impl Fn(&Self) -> &Option<Vec<String>>) -> Vec<&str> {
        let parts = self.conjuncts().into_iter();
        let names = parts.flat_map(|part| field(part).iter().flatten());
        names.map(String::as_str).collect()
    }
}

impl SpecFilter {
    /// Returns true if the test selects values, rather than testing whether there are any.
    const fn selects(&self) -> bool {
        !matches!(self.test, SpecTest::Exists(_))
    }
}

/// A test that some spec of the product must pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpecFilter {
    /// The key, or an alias of it.
    pub key: String,
    /// Only specs with this qualifier; `None` for any.
    pub qualifier: Option<String>,
    /// The test of the value.
    pub test: SpecTest,
}

/// A test of a spec's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum SpecTest {
    /// The text is one of these.
    Text(Vec<String>),
    /// The number or quantity compares like this.
    Number(NumberTest),
    /// The boolean is this.
    Boolean(bool),
    /// The date compares like this.
    Date(DateTest),
    /// The product has such a spec (true) or none (false).
    Exists(bool),
}

/// A comparison of numbers. All bounds that are present must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NumberTest {
    /// Equal, within the precision written ([`equality_band`]).
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

/// A comparison of dates. All bounds that are present must hold.
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

/// The words of a search, as stored keywords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// For each word the keywords of which a matching product has at least one.
    pub each: Vec<Vec<String>>,
    /// How the query finds the products.
    pub access_path: AccessPath,
}

impl Words {
    /// Returns a search that reads the index entries of the first word.
    #[must_use]
    pub const fn new(each: Vec<Vec<String>>) -> Self {
        let access_path = AccessPath::FirstWord;
        Self { each, access_path }
    }
}

/// The index by which a query finds the products that have all words of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPath {
    /// The keyword index: reads the products that have the first word.
    FirstWord,
    /// An index of the rest of the condition: reads the products that match it.
    OtherConditions,
    /// The keyword index by popularity: reads only this many of the most popular products that have
    /// the first word. Others do not match.
    Popular(u32),
}

/// A filter of products in terms of stored fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of these match.
    All(Vec<Condition>),
    /// At least one of these matches.
    Any(Vec<Condition>),
    /// This does not match.
    Not(Box<Condition>),
    /// In one of these categories.
    Category(Vec<CategoryId>),
    /// In one of these states.
    Status(Vec<ProductStatus>),
    /// Has one of these tokens ([`crate::derived::tokens`]).
    Token(Vec<String>),
    /// The sort value of the name ([`crate::derived::name_key`]) is this.
    Name(String),
    /// Has all of these words.
    Words(Words),
    /// The price in minor units of the shop's currency, both ends included.
    Price(Bounds<i64>),
    /// The average rating in half stars is at least this.
    HalfStars(f64),
    /// Of one of these kinds.
    Kind(Vec<String>),
    /// From one of these suppliers.
    Supplier(Vec<SupplierId>),
    /// Has a price in the shop's currency, or has none.
    HasPrice(bool),
    /// Has images or videos, or has none.
    HasMedia(bool),
    /// Changed by an admin or an import at this time or later.
    UpdatedSince(Timestamp),
    /// Some spec of this key has a canonical number in this range.
    SpecRange {
        /// The main key, not an alias.
        key: String,
        /// Only specs with this qualifier; `None` for any.
        qualifier: Option<String>,
        /// The range.
        range: Range,
    },
    /// There is a spec of this key.
    SpecExists {
        /// The main key, not an alias.
        key: String,
        /// Only specs with this qualifier; `None` for any.
        qualifier: Option<String>,
    },
}

impl Condition {
    /// Returns a condition that matches no product.
    #[must_use]
    pub const fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    /// Returns true if the condition matches no product whatever is stored.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Any(parts) => parts.iter().all(Self::is_nothing),
            Self::All(parts) => parts.iter().any(Self::is_nothing),
            Self::Category(ids) => ids.is_empty(),
            Self::Token(tokens) => tokens.is_empty(),
            Self::Words(words) => words.each.iter().any(Vec::is_empty),
            Self::Status(states) => states.is_empty(),
            Self::Kind(kinds) => kinds.is_empty(),
            Self::Supplier(ids) => ids.is_empty(),
            _ => false,
        }
    }
}

/// A range of canonical numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The lower end; `None` for no limit.
    pub min: Option<End>,
    /// The upper end; `None` for no limit.
    pub max: Option<End>,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// The number.
    pub at: f64,
    /// Whether the number belongs to the range.
    pub included: bool,
}

impl Range {
    /// Returns true if the number is in the range.
    #[must_use]
    pub fn contains(&self, n: f64) -> bool {
        self.side(n).is_eq()
    }

    /// Returns where a number is: `Less` below the range, `Equal` in it, `Greater` above it.
    #[must_use]
    pub fn side(&self, n: f64) -> Ordering {
        let has_begun = |min: End| n > min.at || (min.included && n >= min.at);
        let goes_on = |max: End| n < max.at || (max.included && n <= max.at);
        if !self.min.is_none_or(has_begun) {
            Ordering::Less
        } else if !self.max.is_none_or(goes_on) {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }
}

/// The range of numbers that equal `value`. Equality of quantities is approximate: what is shown as
/// `500 ml` need not be 500 ml to the last bit. The band extends half a unit of the last decimal
/// written to each side, but at most half a percent (`1 TB` is not 1.4 TB), and is in the unit of
/// `value`.
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

/// The fields products can be sorted by. Products without a value come last in both directions;
/// ties are broken by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, VariantArray)]
pub enum ProductSortKey {
    /// The price in the shop's currency.
    Price,
    /// The Bayesian rating score.
    Rating,
    /// The number of reviews plus the weighted activity of the last 30 days, as a logarithm
    /// ([`crate::rating::RatingStats::popularity`]).
    Popularity,
    /// When it was added.
    Newest,
    /// When an admin or an import last changed it.
    Updated,
    /// The name, without regard to case and accents.
    Name,
    /// Units sold in the last 30 days.
    BestSelling,
    /// The trend of the last days ([`crate::activity::ActivitySummary::trend`]).
    Trending,
    /// The relevance to the words of a search, best first. Only in a search: it is not stored, so
    /// no index has this sort.
    Relevance,
}

impl ProductSortKey {
    /// All keys.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// A sort direction.
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

/// A sort of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProductSort {
    /// The field.
    pub key: ProductSortKey,
    /// The direction.
    pub direction: Direction,
}

/// A filter of a product's published reviews.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReviewFilter {
    /// With one of these ratings; `None` for any.
    pub ratings: Option<Vec<Stars>>,
    /// With all of these traits.
    pub traits: Traits,
}

/// A sort of reviews. Ties are broken by date and then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum ReviewSort {
    /// Latest first; undated last.
    Newest,
    /// Earliest first; undated last.
    Oldest,
    /// Most helpful first, equally helpful ones newest first.
    MostHelpful,
    /// Five stars first, equal ratings newest first.
    Highest,
    /// One star first, equal ratings oldest first: [`ReviewSort::Highest`] reversed.
    Lowest,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(asked: f64, value: f64) -> bool {
        let (low, high) = equality_band(asked);
        (low..=high).contains(&value)
    }

    #[test]
    fn quantities_shown_alike_are_equal() {
        let ounces = 16.9 * 29.573_529_562_5;
        assert!(matches(500.0, ounces), "16.9 fl oz is shown as 500 ml");
        assert!(!matches(500.01, ounces));
        assert!(matches(68.6, 27.0 * 2.54));
        assert!(!matches(1.0, 1.4), "not a larger disk");
        assert!(matches(8.0, 8.0) && !matches(8.0, 8.05));
        assert!(matches(0.0, 0.0) && !matches(0.0, 0.1));
        assert!(matches(-18.0, -18.0));
    }

    fn spec(key: &str, test: SpecTest) -> SpecFilter {
        SpecFilter {
            key: key.to_owned(),
            qualifier: None,
            test,
        }
    }

    fn texts(key: &str, values: &[&str]) -> SpecFilter {
        spec(
            key,
            SpecTest::Text(values.iter().map(ToString::to_string).collect()),
        )
    }

    fn brand(name: &str) -> ProductFilter {
        ProductFilter {
            brand: Some(vec![name.to_owned()]),
            ..ProductFilter::default()
        }
    }

    fn nested() -> ProductFilter {
        let deep = ProductFilter {
            specs: Some(vec![texts("colour", &["blue"])]),
            min_rating: Some(3.5),
            ..brand("Asus")
        };
        let middle = ProductFilter {
            and: Some(vec![deep]),
            or: Some(vec![brand("Acer")]),
            country: Some(vec!["DE".to_owned()]),
            ..ProductFilter::default()
        };
        ProductFilter {
            and: Some(vec![middle]),
            not: Some(Box::new(brand("MSI"))),
            category: Some(vec!["laptops".to_owned()]),
            price: Some(Bounds::default()),
            min_rating: Some(4.0),
            specs: Some(vec![
                texts("color", &["red", "green"]),
                spec("color", SpecTest::Exists(true)),
                spec("ports", SpecTest::Boolean(true)),
            ]),
            ..brand("HP")
        }
    }

    #[test]
    fn selections_outside_or_and_not_are_listed() {
        let filter = nested();
        let is_color = |key: &str| matches!(key, "color" | "colour");
        let names: Vec<String> = filter
            .selections()
            .iter()
            .map(|key| key.name().to_owned())
            .collect();
        let expected = [
            "@category",
            "@brand",
            "@price",
            "@rating",
            "@country",
            "color",
            "ports",
            "colour",
        ];
        assert_eq!(names, expected);
        assert_eq!(filter.selected_brands(), ["HP", "Asus"]);
        assert_eq!(filter.selected_categories(), ["laptops"]);
        assert_eq!(filter.selected_countries(), ["DE"]);
        assert_eq!(filter.selected_rating(), Some(4.0));
        assert_eq!(filter.selected_prices().len(), 1);
        assert_eq!(filter.selected_texts(&is_color), ["red", "green", "blue"]);
        assert!(ProductFilter::default().selections().is_empty());
    }

    #[test]
    fn a_filter_without_a_facet_keeps_everything_else() {
        let filter = nested();
        for facet in FacetKey::BUILT_IN {
            let without = filter.without(&facet);
            let mut left = filter.selections();
            left.retain(|key| *key != facet);
            assert_eq!(without.selections(), left, "{facet:?}");
            assert_eq!(without.not, filter.not);
            assert_eq!(
                without.and.unwrap()[0].or,
                filter.and.as_ref().unwrap()[0].or,
                "alternatives stay"
            );
        }
        let without = filter.without_spec(&|key| key.starts_with("colo"));
        let names = without.selected_specs(&|_| true);
        assert_eq!(names.len(), 1);
        assert_eq!(without.specs.as_ref().unwrap().len(), 2, "exists stays");
        let written = filter.without(&FacetKey::Spec("color".to_owned()));
        assert_eq!(written.selected_texts(&|_| true), ["blue"]);
        assert_eq!(
            brand("HP").without(&FacetKey::Brand),
            ProductFilter::default()
        );
    }

    #[test]
    fn parts_that_say_nothing_are_left_out() {
        let empty = || ProductFilter::default();
        let inner = ProductFilter {
            and: Some(vec![empty(), empty()]),
            specs: Some(Vec::new()),
            ..empty()
        };
        let padded = ProductFilter {
            and: Some(vec![empty(), inner.clone(), brand("HP")]),
            ..inner
        };
        let expected = ProductFilter {
            and: Some(vec![brand("HP")]),
            ..empty()
        };
        assert_eq!(padded.simplified(), expected);
        assert_eq!(nested().simplified(), nested());
        let not = ProductFilter {
            not: Some(Box::default()),
            ..empty()
        };
        assert_eq!(not.simplified(), not, "it matches nothing");
    }

    #[test]
    fn words_without_keywords_match_nothing() {
        let list = || vec!["red".to_owned()];
        let words = |each| Condition::Words(Words::new(each));
        assert!(words(vec![list(), Vec::new()]).is_nothing());
        assert!(!words(vec![list()]).is_nothing());
        assert!(!words(Vec::new()).is_nothing());
    }
}
