//! Facets: the content of a filter panel.

use std::sync::Arc;

use async_graphql::{Context, Enum, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::facets;
use vitrine_model::filter::{
    AdminFilter, Bounds, DateTest, NumberTest, ProductFilter, SpecFilter, SpecTest,
};

use super::common::{Money, count};
use crate::execution::{At as _, Failure, List, R};
use crate::graphql::scalars::{DateTime, Decimal};

/// The type of a facet's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "FacetKind", remote = "facets::FacetKind")]
pub(crate) enum FacetKind {
    /// Text values.
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
    /// Minimum ratings, such as four stars and up.
    Rating,
    /// Countries of suppliers.
    SupplierCountry,
}

/// The accuracy of a facet's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "FacetAccuracy", remote = "facets::FacetAccuracy")]
pub(crate) enum FacetAccuracy {
    /// Each count equals the number of products that the value's filter returns.
    Exact,
    /// The counts are estimated from a sample; `margin` is the error bound of each.
    Estimate,
    /// The counts were computed at `asOf` and may have changed since.
    Precomputed,
}

pub(crate) struct Facet {
    /// The facets of a list, which may be in memory.
    all: Arc<Vec<facets::Facet>>,
    at: usize,
}

impl Facet {
    /// Wraps the facets of a list.
    pub(crate) fn all(all: &Arc<Vec<facets::Facet>>) -> List<Self> {
        let facet = |at| Self {
            all: Arc::clone(all),
            at,
        };
        (0..all.len()).map(facet).collect()
    }

    fn facet(&self) -> &facets::Facet {
        &self.all[self.at]
    }
}

/// A property by which the products of a list can be narrowed down. The list's own filter on this
/// property does not affect the counts, so that they show the alternatives.
#[direct]
#[Object]
impl Facet {
    /// The property: a spec key, or `@category`, `@brand`, `@price`, `@rating`, `@country`.
    fn key(&self) -> &str {
        self.facet().key.name()
    }

    /// The name for display.
    fn label(&self) -> &str {
        &self.facet().label
    }

    /// The type of the values.
    fn kind(&self) -> FacetKind {
        self.facet().kind.into()
    }

    /// The accuracy of the counts.
    fn accuracy(&self) -> FacetAccuracy {
        self.facet().accuracy.into()
    }

    /// When the counts were computed.
    fn as_of(&self) -> DateTime {
        DateTime(self.facet().as_of)
    }

    /// The number of products in the sample; null unless `accuracy` is `ESTIMATE`.
    fn sample_size(&self) -> Option<i32> {
        self.facet().sample_size.map(count)
    }

    /// The number of products that have a value for this property.
    fn product_count(&self) -> i32 {
        count(self.facet().products.value)
    }

    /// The error bound: the true number differs from `productCount` by at most this.
    fn product_count_margin(&self) -> i32 {
        count(self.facet().products.margin)
    }

    /// The number of distinct values, including those beyond the limit.
    fn distinct_values(&self) -> i32 {
        count(self.facet().distinct_values)
    }

    /// The values or ranges to choose from.
    fn values(&self) -> List<FacetValue<'_>> {
        let facet = self.facet();
        let values = facet.values.iter();
        values.map(|value| FacetValue { facet, value }).collect()
    }

    /// The lowest and highest value of a number or quantity facet; null for other kinds.
    fn number_range(&self) -> Option<NumberRange> {
        let (min, max) = self.facet().numbers?;
        let unit = self.facet().unit.clone();
        Some(NumberRange { min, max, unit })
    }

    /// The earliest and latest date of a date facet; null for other kinds.
    fn date_range(&self) -> Option<DateRange> {
        let (min, max) = self.facet().dates?;
        let (min, max) = (DateTime(min), DateTime(max));
        Some(DateRange { min, max })
    }

    /// The lowest and highest price of the price facet; null for other kinds.
    fn price_range(&self) -> Option<PriceRange> {
        let (min, max) = self.facet().prices?;
        let (min, max) = (min.into(), max.into());
        Some(PriceRange { min, max })
    }
}

pub(crate) struct FacetValue<'a> {
    facet: &'a facets::Facet,
    value: &'a facets::FacetValue,
}

/// A value or range to choose.
#[direct]
#[Object]
impl FacetValue<'_> {
    /// The text for display.
    fn label(&self) -> &str {
        &self.value.label
    }

    /// The number of products in the list if this value is chosen and the rest of the filter stays
    /// the same.
    fn count(&self) -> i32 {
        count(self.value.count.value)
    }

    /// The error bound: the true number differs from `count` by at most this.
    fn margin(&self) -> i32 {
        count(self.value.count.margin)
    }

    /// Whether the current filter already includes this value, other than in `or` and `not`.
    fn selected(&self) -> bool {
        self.value.selected
    }

    /// The filter for this value. It replaces the filter's current condition on this property.
    fn filter(&self, ctx: &Context<'_>) -> R<FacetFilter> {
        FacetFilter::of(self.facet.filter(self.value)).at(ctx)
    }

    /// For a category, the names from the top-level category down to it; empty for other facets.
    fn path(&self) -> &[String] {
        &self.value.path
    }
}

/// The lowest and the highest number.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct NumberRange {
    /// The lowest number.
    min: f64,
    /// The highest number.
    max: f64,
    /// The unit of both numbers; null for plain numbers.
    unit: Option<String>,
}

/// The earliest and the latest date.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct DateRange {
    /// The earliest date.
    min: DateTime,
    /// The latest date.
    max: DateTime,
}

/// The lowest and the highest price.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct PriceRange {
    /// The lowest price.
    min: Money,
    /// The highest price.
    max: Money,
}

/// The filter for one value of a facet. Select all its fields and pass the object unchanged as a
/// `ProductFilterInput`.
#[derive(Clone, Debug, PartialEq, SimpleObject, Direct)]
pub(crate) struct FacetFilter {
    /// Slugs of categories; includes their subcategories.
    category: Option<Vec<String>>,
    /// Brands.
    brand: Option<Vec<String>>,
    /// Countries of suppliers, as ISO 3166-1 alpha-2 codes.
    country: Option<Vec<String>>,
    /// The price range in the shop's currency.
    price: Option<FacetPriceFilter>,
    /// The range of the average rating.
    rating: Option<FacetRatingFilter>,
    /// Conditions on specs.
    specs: Option<List<FacetSpecFilter>>,
}

/// A price range, in the form of `PriceFilterInput`.
#[derive(Clone, Copy, Debug, PartialEq, SimpleObject, Direct)]
pub(crate) struct FacetPriceFilter {
    /// At least this price.
    gte: Option<Decimal>,
    /// At most this price.
    lte: Option<Decimal>,
}

/// A range of average ratings, in the form of `RatingFilterInput`.
#[derive(Clone, Copy, Debug, PartialEq, SimpleObject, Direct)]
pub(crate) struct FacetRatingFilter {
    /// At least this average rating.
    gte: f64,
}

/// A condition on a spec, in the form of `SpecFilterInput`.
#[derive(Clone, Debug, PartialEq, SimpleObject, Direct)]
pub(crate) struct FacetSpecFilter {
    /// The spec key.
    key: String,
    /// Only values with this qualifier; any qualifier if null.
    qualifier: Option<String>,
    /// The condition for text keys.
    text: Option<FacetTextFilter>,
    /// The condition for number and quantity keys.
    number: Option<FacetNumberFilter>,
    /// The condition for boolean keys.
    boolean: Option<bool>,
    /// The condition for date keys.
    date: Option<FacetDateFilter>,
}

/// A text condition, in the form of `TextFilterInput`.
#[derive(Clone, Debug, PartialEq, Eq, SimpleObject, Direct)]
pub(crate) struct FacetTextFilter {
    /// The text equals this value.
    eq: String,
}

/// A number range, in the form of `NumberFilterInput`.
#[derive(Clone, Debug, PartialEq, SimpleObject, Direct)]
pub(crate) struct FacetNumberFilter {
    /// Equal to this number.
    eq: Option<f64>,
    /// At least this number.
    gte: Option<f64>,
    /// At most this number.
    lte: Option<f64>,
    /// Greater than this number.
    gt: Option<f64>,
    /// Less than this number.
    lt: Option<f64>,
    /// The unit of these numbers; null for plain numbers.
    unit: Option<String>,
}

/// A date range, in the form of `DateFilterInput`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SimpleObject, Direct)]
pub(crate) struct FacetDateFilter {
    /// At or after this time.
    gte: Option<DateTime>,
    /// At or before this time.
    lte: Option<DateTime>,
    /// After this time.
    gt: Option<DateTime>,
    /// Before this time.
    lt: Option<DateTime>,
}

impl FacetFilter {
    /// Converts the filter of a facet value. Fails if it uses anything that a facet filter cannot
    /// express.
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
            admin:
                AdminFilter {
                    kind: None,
                    supplier: None,
                    has_price: None,
                    has_media: None,
                    updated_since: None,
                },
        } = filter
        else {
            let message = format!("the filter of a facet value cannot be shown: {filter:?}");
            return Err(Failure::internal(message));
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
                let message = format!("the test of a facet value cannot be shown: {test:?}");
                return Err(Failure::internal(message));
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
