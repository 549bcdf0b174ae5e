//! Filters and sort orders: as callers give them, and as storage understands them.
//!
//! [`ProductFilter`] speaks the caller's language: slugs, decimal prices, units. The domain turns
//! it into a [`Condition`], where categories are ids and every number is canonical; storage turns
//! that into a query.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::clock::Timestamp;
use crate::facet::FacetKey;
use crate::id::CategoryId;
use crate::product::ProductStatus;
use crate::rating::Stars;
use crate::review::Traits;

/// The most leaves a filter may have.
pub const MAX_LEAVES: usize = 50;
/// How deep `and`, `or` and `not` may be nested.
pub const MAX_DEPTH: usize = 5;
/// The most values one leaf may list.
pub const MAX_VALUES: usize = 100;

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
    /// From a supplier in one of these countries; ISO 3166-1 alpha-2 codes.
    pub country: Option<Vec<String>>,
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

impl ProductFilter {
    /// The parts that must all hold: this filter, and what its `and` lists, at any depth. What is
    /// inside `or` and `not` stands for itself in the part that has it.
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

    /// The filter without what selects values of this facet, so that counts of its values show
    /// what else could be chosen. Looks at what must hold in any case ([`Self::conjuncts`]), never
    /// into `or` and `not`. A spec key is compared as written: see [`Self::without_spec`].
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

    /// The filter without the tests of the spec keys that `is_it` says yes to. Tests of whether
    /// there is such a spec stay: they choose no value.
    #[must_use]
    pub fn without_spec(&self, is_it: &dyn Fn(&str) -> bool) -> Self {
        self.stripped(&|part| {
            if let Some(specs) = &mut part.specs {
                specs.retain(|spec| !(spec.selects() && is_it(&spec.key)));
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

    /// The facets of which values are selected, each once: the built-in ones first, then spec
    /// keys as written. Looks where [`Self::without`] does.
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

    /// The tests that select values of the spec keys that `is_it` says yes to.
    #[must_use]
    pub fn selected_specs(&self, is_it: &dyn Fn(&str) -> bool) -> Vec<&SpecFilter> {
        let specs = self
            .conjuncts()
            .into_iter()
            .flat_map(|part| part.specs.iter().flatten());
        specs
            .filter(|spec| spec.selects() && is_it(&spec.key))
            .collect()
    }

    /// The texts selected of the spec keys that `is_it` says yes to, as written.
    #[must_use]
    pub fn selected_texts(&self, is_it: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let texts = self
            .selected_specs(is_it)
            .into_iter()
            .map(|spec| match &spec.test {
                SpecTest::Text(values) => values.as_slice(),
                _ => &[],
            });
        texts.flatten().map(String::as_str).collect()
    }

    /// The slugs of the categories selected.
    #[must_use]
    pub fn selected_categories(&self) -> Vec<&str> {
        self.selected_names(|part| &part.category)
    }

    /// The brands selected, as written.
    #[must_use]
    pub fn selected_brands(&self) -> Vec<&str> {
        self.selected_names(|part| &part.brand)
    }

    /// The countries selected, as written.
    #[must_use]
    pub fn selected_countries(&self) -> Vec<&str> {
        self.selected_names(|part| &part.country)
    }

    /// The ranges of prices selected.
    #[must_use]
    pub fn selected_prices(&self) -> Vec<Bounds<Decimal>> {
        self.conjuncts()
            .iter()
            .filter_map(|part| part.price)
            .collect()
    }

    /// The lowest rating selected; of several the highest, which is the one that matters.
    #[must_use]
    pub fn selected_rating(&self) -> Option<f64> {
        let least = self
            .conjuncts()
            .into_iter()
            .filter_map(|part| part.min_rating);
        least.reduce(f64::max)
    }

    fn selected_names(&self, field: impl Fn(&Self) -> &Option<Vec<String>>) -> Vec<&str> {
        let parts = self.conjuncts().into_iter();
        let names = parts.flat_map(|part| field(part).iter().flatten());
        names.map(String::as_str).collect()
    }
}

impl SpecFilter {
    /// Whether values are selected, and not only asked whether there are any.
    const fn selects(&self) -> bool {
        !matches!(self.test, SpecTest::Exists(_))
    }
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

/// The words of a search, in terms of what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// For each word the keywords of which at least one is carried.
    pub each: Vec<Vec<String>>,
    /// How the products are found.
    pub lead: Lead,
}

impl Words {
    /// Words of which the first bounds what is read.
    #[must_use]
    pub const fn new(each: Vec<Vec<String>>) -> Self {
        let lead = Lead::First;
        Self { each, lead }
    }
}

/// How products that have all words of a search are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// Among those that have the first word.
    First,
    /// Among those that fulfil the rest of the condition.
    Other,
    /// Among so many of the most popular that have the first word. Others do not hold.
    Popular(u32),
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
    /// The name, folded and cut as products are sorted by it, is this one.
    Name(String),
    /// Of each list at least one keyword is carried; all lists must hold.
    Words(Words),
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
            Self::Words(words) => words.each.iter().any(Vec::is_empty),
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
    /// Units sold in the last 30 days.
    BestSelling,
    /// The attention of the last days.
    Trending,
    /// How well it matches the words searched for, best first. Only in a search: nothing is stored
    /// that says it, so no index has this order.
    Relevance,
}

impl ProductSortKey {
    /// The sort keys that are stored, each with indexes of its own: all but
    /// [`ProductSortKey::Relevance`].
    pub const ALL: [Self; 7] = [
        Self::Price,
        Self::Rating,
        Self::Popularity,
        Self::Newest,
        Self::Name,
        Self::BestSelling,
        Self::Trending,
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
    /// With all of these.
    pub traits: Traits,
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
    fn what_must_hold_in_any_case_is_selected() {
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
    fn words_that_nothing_carries_hold_for_nothing() {
        let list = || vec!["red".to_owned()];
        let words = |each| Condition::Words(Words::new(each));
        assert!(words(vec![list(), Vec::new()]).is_nothing());
        assert!(!words(vec![list()]).is_nothing());
        assert!(!words(Vec::new()).is_nothing());
    }
}
