//! Facets: what a filter panel shows.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::facets::{self, Count};
use vitrine_model::filter::{Bounds, DateTest, NumberTest, ProductFilter, SpecFilter, SpecTest};

use super::common::{Money, count};
use crate::execution::Failure;
use crate::graphql::scalars::{DateTime, Decimal};

/// What the values of a facet are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "FacetKind", remote = "facets::FacetKind")]
pub(crate) enum FacetKind {
    /// Texts.
    Text,
    /// Yes and no.
    Boolean,
    /// Ranges of plain numbers.
    Number,
    /// Ranges of quantities.
    Quantity,
    /// Ranges of dates.
    Date,
    /// Categories.
    Category,
    /// Brands.
    Brand,
    /// Ranges of prices.
    Price,
    /// So many stars and more.
    Rating,
    /// Countries of suppliers.
    SupplierCountry,
}

/// How far counts can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "FacetAccuracy", remote = "facets::FacetAccuracy")]
pub(crate) enum FacetAccuracy {
    /// They equal what choosing the value gives.
    Exact,
    /// They come from a sample; `margin` says how far each may be off.
    Estimate,
    /// They were counted at `asOf` and may have changed since.
    Precomputed,
}

/// What the products of a list can be narrowed down by. What the filter says about the facet's own
/// key does not narrow its counts, so that they show what else could be chosen.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Facet {
    /// What it is about: a spec key, or `@category`, `@brand`, `@price`, `@rating`, `@country`.
    key: String,
    /// What people read.
    label: String,
    /// What its values are.
    kind: FacetKind,
    /// How far its counts can be trusted.
    accuracy: FacetAccuracy,
    /// When it was counted.
    as_of: DateTime,
    /// Of how many products the sample was; null unless it is an estimate.
    sample_size: Option<i32>,
    /// How many products have a value of this key.
    product_count: i32,
    /// The true number differs from productCount by at most this.
    product_count_margin: i32,
    /// How many different values were met, also beyond the limit.
    distinct_values: i32,
    /// The values or ranges that can be chosen.
    values: Vec<FacetValue>,
    /// From where to where numbers and quantities reach; null for other kinds.
    number_range: Option<NumberRange>,
    /// From when to when dates reach; null for other kinds.
    date_range: Option<DateRange>,
    /// From where to where prices reach; null for other kinds.
    price_range: Option<PriceRange>,
}

/// A value or range that can be chosen.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct FacetValue {
    /// What people read.
    label: String,
    /// How many products one gets by choosing it, everything else unchanged.
    count: i32,
    /// The true number differs from count by at most this.
    margin: i32,
    /// Whether the filter chooses it already.
    selected: bool,
    /// The filter that chooses it, to be put in place of what the filter says about this key.
    filter: FacetFilter,
    /// For categories the names from the top down to this one; empty otherwise.
    path: Vec<String>,
}

/// The lowest and the highest number.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct NumberRange {
    /// The lowest.
    min: f64,
    /// The highest.
    max: f64,
    /// The unit of both; null for plain numbers.
    unit: Option<String>,
}

/// The earliest and the latest date.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct DateRange {
    /// The earliest.
    min: DateTime,
    /// The latest.
    max: DateTime,
}

/// The lowest and the highest price.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct PriceRange {
    /// The lowest.
    min: Money,
    /// The highest.
    max: Money,
}

/// A filter that chooses one value of a facet. Select all its fields and send the object back as a
/// `ProductFilterInput` just as it is.
#[derive(Clone, Debug, PartialEq, SimpleObject)]
pub(crate) struct FacetFilter {
    /// In one of these categories, or below one of them; slugs.
    category: Option<Vec<String>>,
    /// Of one of these brands.
    brand: Option<Vec<String>>,
    /// From a supplier in one of these countries.
    country: Option<Vec<String>>,
    /// The price in the shop's currency.
    price: Option<FacetPriceFilter>,
    /// The mean of all ratings.
    rating: Option<FacetRatingFilter>,
    /// What must hold of specs.
    specs: Option<Vec<FacetSpecFilter>>,
}

/// A range of prices, as `PriceFilterInput` has it.
#[derive(Clone, Copy, Debug, PartialEq, SimpleObject)]
pub(crate) struct FacetPriceFilter {
    /// At least this.
    gte: Option<Decimal>,
    /// At most this.
    lte: Option<Decimal>,
}

/// A range of mean ratings, as `RatingFilterInput` has it.
#[derive(Clone, Copy, Debug, PartialEq, SimpleObject)]
pub(crate) struct FacetRatingFilter {
    /// The mean is at least this.
    gte: f64,
}

/// What must hold of a spec, as `SpecFilterInput` has it.
#[derive(Clone, Debug, PartialEq, SimpleObject)]
pub(crate) struct FacetSpecFilter {
    /// The key in the spec dictionary.
    key: String,
    /// Only values with this qualifier; any when null.
    qualifier: Option<String>,
    /// For keys that hold text.
    text: Option<FacetTextFilter>,
    /// For keys that hold numbers or quantities.
    number: Option<FacetNumberFilter>,
    /// For keys that hold yes or no.
    boolean: Option<bool>,
    /// For keys that hold dates.
    date: Option<FacetDateFilter>,
}

/// A text, as `TextFilterInput` has it.
#[derive(Clone, Debug, PartialEq, Eq, SimpleObject)]
pub(crate) struct FacetTextFilter {
    /// Is this.
    eq: String,
}

/// A range of numbers, as `NumberFilterInput` has it.
#[derive(Clone, Debug, PartialEq, SimpleObject)]
pub(crate) struct FacetNumberFilter {
    /// Equal.
    eq: Option<f64>,
    /// At least this.
    gte: Option<f64>,
    /// At most this.
    lte: Option<f64>,
    /// More than this.
    gt: Option<f64>,
    /// Less than this.
    lt: Option<f64>,
    /// The unit of these numbers; null for plain numbers.
    unit: Option<String>,
}

/// A range of dates, as `DateFilterInput` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SimpleObject)]
pub(crate) struct FacetDateFilter {
    /// At this instant or later.
    gte: Option<DateTime>,
    /// At this instant or earlier.
    lte: Option<DateTime>,
    /// Later than this instant.
    gt: Option<DateTime>,
    /// Earlier than this instant.
    lt: Option<DateTime>,
}

impl Facet {
    /// A facet as it is shown.
    pub(crate) fn of(facet: facets::Facet) -> Result<Self, Failure> {
        let unit = facet.unit;
        let values = facet.values.into_iter().map(FacetValue::of);
        Ok(Self {
            key: facet.key.name().to_owned(),
            label: facet.label,
            kind: facet.kind.into(),
            accuracy: facet.accuracy.into(),
            as_of: DateTime(facet.as_of),
            sample_size: facet.sample_size.map(count),
            product_count: count(facet.products.value),
            product_count_margin: count(facet.products.margin),
            distinct_values: count(facet.distinct_values),
            values: values.collect::<Result<_, _>>()?,
            number_range: facet
                .numbers
                .map(|(min, max)| NumberRange { min, max, unit }),
            date_range: facet.dates.map(|(min, max)| DateRange {
                min: DateTime(min),
                max: DateTime(max),
            }),
            price_range: facet.prices.map(|(min, max)| PriceRange {
                min: min.into(),
                max: max.into(),
            }),
        })
    }
}

impl FacetValue {
    fn of(value: facets::FacetValue) -> Result<Self, Failure> {
        let Count {
            value: number,
            margin,
        } = value.count;
        Ok(Self {
            label: value.label,
            count: count(number),
            margin: count(margin),
            selected: value.selected,
            filter: FacetFilter::of(value.filter)?,
            path: value.path,
        })
    }
}

impl FacetFilter {
    /// A filter of one facet, which uses none of what the filter of a list may have beyond this.
    pub(crate) fn of(filter: ProductFilter) -> Result<Self, Failure> {
        let ProductFilter {
            and: None,
            or: None,
            not: None,
            status: None,
            category,
            brand,
            price,
            min_rating,
            country,
            specs,
        } = filter
        else {
            let told = format!("the filter of a facet value cannot be shown: {filter:?}");
            return Err(Failure::internal(told));
        };
        let specs = specs.map(|specs| specs.into_iter().map(FacetSpecFilter::of).collect());
        Ok(Self {
            category,
            brand,
            country,
            price: price.map(FacetPriceFilter::from),
            rating: min_rating.map(|gte| FacetRatingFilter { gte }),
            specs: specs.transpose()?,
        })
    }
}

impl FacetSpecFilter {
    fn of(filter: SpecFilter) -> Result<Self, Failure> {
        let mut shown = Self {
            key: filter.key,
            qualifier: filter.qualifier,
            text: None,
            number: None,
            boolean: None,
            date: None,
        };
        match filter.test {
            SpecTest::Text(mut texts) if texts.len() == 1 => {
                shown.text = texts.pop().map(|eq| FacetTextFilter { eq });
            }
            SpecTest::Number(test) => shown.number = Some(test.into()),
            SpecTest::Boolean(value) => shown.boolean = Some(value),
            SpecTest::Date(test) => shown.date = Some(test.into()),
            test @ (SpecTest::Text(_) | SpecTest::Exists(_)) => {
                let told = format!("the test of a facet value cannot be shown: {test:?}");
                return Err(Failure::internal(told));
            }
        }
        Ok(shown)
    }
}

impl From<Bounds<rust_decimal::Decimal>> for FacetPriceFilter {
    fn from(bounds: Bounds<rust_decimal::Decimal>) -> Self {
        Self {
            gte: bounds.gte.map(Decimal),
            lte: bounds.lte.map(Decimal),
        }
    }
}

impl From<NumberTest> for FacetNumberFilter {
    fn from(test: NumberTest) -> Self {
        let NumberTest {
            eq,
            gte,
            lte,
            gt,
            lt,
            unit,
        } = test;
        Self {
            eq,
            gte,
            lte,
            gt,
            lt,
            unit,
        }
    }
}

impl From<DateTest> for FacetDateFilter {
    fn from(test: DateTest) -> Self {
        Self {
            gte: test.gte.map(DateTime),
            lte: test.lte.map(DateTime),
            gt: test.gt.map(DateTime),
            lt: test.lt.map(DateTime),
        }
    }
}
