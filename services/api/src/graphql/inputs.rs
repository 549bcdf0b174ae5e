//! Inputs of queries, and their conversion to domain types.

pub(crate) mod activity;
pub(crate) mod bulk;
pub(crate) mod details;
pub(crate) mod dictionary;
pub(crate) mod import_run;
pub(crate) mod product;
pub(crate) mod queue;
pub(crate) mod reference;
pub(crate) mod reverts;
pub(crate) mod review;
pub(crate) mod reviewing;
pub(crate) mod spec;
pub(crate) mod user_errors;

use async_graphql::{Enum, ID, InputObject, OneofObject};
use vitrine_api_derive::Direct;
use vitrine_model::filter::{
    AdminFilter, Bounds, DateTest, Direction, NumberTest, ProductFilter, ProductSort,
    ProductSortKey, ReviewFilter, ReviewSort, SpecFilter, SpecTest,
};
use vitrine_model::id::{GlobalId, SupplierId};
use vitrine_model::product::ProductStatus;
use vitrine_model::rating::Stars;
use vitrine_model::review::{Traits, language_code};
use vitrine_model::text::excerpt;

use super::scalars::{DateTime, Decimal};
use crate::execution::Failure;

/// The status of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "ProductStatus", remote = "ProductStatus")]
pub(crate) enum Status {
    /// Not on sale yet; visible to admins only.
    Draft,
    /// On sale; visible to everyone.
    Active,
    /// No longer on sale; visible to admins only.
    Archived,
}

/// A filter for products. All given conditions must match; an empty filter matches all products. At
/// most 50 conditions, 100 values per list, and 5 levels of `and`, `or` and `not`.
#[derive(Clone, Debug, Default, InputObject)]
pub(crate) struct ProductFilterInput {
    /// All of these filters must match.
    and: Option<Vec<ProductFilterInput>>,
    /// At least one of these filters must match; an empty list matches nothing.
    or: Option<Vec<ProductFilterInput>>,
    /// This filter must not match.
    not: Option<Box<ProductFilterInput>>,
    /// The product is in one of these categories or their subcategories. Category slugs; an unknown
    /// slug matches nothing.
    category: Option<Vec<String>>,
    /// The product has one of these brands, ignoring case and accents.
    brand: Option<Vec<String>>,
    /// The price in the shop's currency. Products without a price or with a price in another
    /// currency do not match.
    price: Option<PriceFilterInput>,
    /// The product has one of these statuses. Only admins may ask for products that are not
    /// `ACTIVE`.
    status: Option<Vec<Status>>,
    /// The average rating, rounded down to half stars. It follows a review within about a second.
    rating: Option<RatingFilterInput>,
    /// The supplier is in one of these countries; ISO 3166-1 alpha-2 codes.
    country: Option<Vec<String>>,
    /// All of these conditions on specs must match. Each can be met by a different spec.
    specs: Option<Vec<SpecFilterInput>>,
    /// The product is of one of these kinds, such as `electronics`. Only admins may filter by it.
    kind: Option<Vec<String>>,
    /// The product is from one of these suppliers; global ids. An unknown supplier matches nothing.
    /// Only admins may filter by it.
    supplier: Option<Vec<ID>>,
    /// Whether the product has a price in the shop's currency, by which it is filtered and sorted.
    /// Only admins may filter by it.
    has_price: Option<bool>,
    /// Whether the product has images or videos. Only admins may filter by it.
    has_media: Option<bool>,
    /// An admin or an import changed the product at this time or later; `updatedAt` says when. Only
    /// admins may filter by it.
    updated_since: Option<DateTime>,
}

/// A price range. Give at least one bound.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct PriceFilterInput {
    /// At least this price, in units of the currency: `"19.99"`.
    gte: Option<Decimal>,
    /// At most this price.
    lte: Option<Decimal>,
}

/// A range of average ratings.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct RatingFilterInput {
    /// At least this average rating: 1 to 5 in steps of 0.5. Products without reviews do not match.
    gte: f64,
}

/// A condition on the specs with one key; at least one of them must match. Give exactly one of
/// `text`, `number`, `boolean`, `date` and `exists`. An unknown key matches nothing, except that
/// `exists: false` matches everything.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SpecFilterInput {
    /// The spec key or an alias of it.
    key: String,
    /// Only specs with this qualifier, such as a region or a size system; any qualifier when
    /// absent.
    qualifier: Option<String>,
    /// The condition for text keys.
    text: Option<TextFilterInput>,
    /// The condition for number and quantity keys.
    number: Option<NumberFilterInput>,
    /// The condition for boolean keys.
    boolean: Option<bool>,
    /// The condition for date keys.
    date: Option<DateFilterInput>,
    /// Whether the product has a spec with this key. This condition uses no index: it is checked
    /// for each product in list order.
    exists: Option<bool>,
}

/// A condition on text, ignoring case and accents. Specs with a text of more than 256 bytes never
/// match; a longer text in a filter is refused.
#[derive(Clone, Debug, OneofObject)]
pub(crate) enum TextFilterInput {
    /// The text equals this value.
    Eq(String),
    /// The text equals one of these values.
    In(Vec<String>),
}

/// A condition on a number or quantity. Give either `eq`, or one or two bounds of a range.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct NumberFilterInput {
    /// Equal to this number. Quantities are compared as displayed: 16.9 fl oz equals 500 ml,
    /// because the difference is less than half of the last digit written and less than half a
    /// percent.
    eq: Option<f64>,
    /// At least this number.
    gte: Option<f64>,
    /// At most this number.
    lte: Option<f64>,
    /// Greater than this number.
    gt: Option<f64>,
    /// Less than this number.
    lt: Option<f64>,
    /// The unit of these numbers, in any accepted spelling. Required for quantity keys, and of the
    /// key's dimension; not allowed for number keys.
    unit: Option<String>,
}

/// A condition on a date. Give one or two bounds of a range.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct DateFilterInput {
    /// At or after this time.
    gte: Option<DateTime>,
    /// At or before this time.
    lte: Option<DateTime>,
    /// After this time.
    gt: Option<DateTime>,
    /// Before this time.
    lt: Option<DateTime>,
}

/// The sort keys of products. Products without a value come last in both directions; ties are
/// broken by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ProductSortKey", remote = "ProductSortKey")]
pub(crate) enum SortKey {
    /// The price in the shop's currency. Ascending by default.
    Price,
    /// The Bayesian rating score in steps of 0.05; 3.5 without reviews. A new review changes a
    /// product's position within about a second. Descending by default.
    Rating,
    /// The popularity: reviews, and attention in the last 30 days. A new review changes a product's
    /// position within about a second. Descending by default.
    Popularity,
    /// When the product was added. Descending by default.
    Newest,
    /// When an admin or an import last changed the product: `updatedAt`. A change moves the product
    /// to the newest end. Descending by default.
    Updated,
    /// The name, ignoring case and accents. Ascending by default.
    Name,
    /// The number of units sold in the last 30 days, as in the product's counters. Products without
    /// sales come last. Descending by default.
    BestSelling,
    /// The trending score of the last 7 days: views, carts and purchases, with recent ones weighted
    /// higher, in steps of about 20 %. Products without activity come last. Descending by default.
    Trending,
    /// How well the product matches the search text, best first. Only with a search, where it is
    /// the default; the direction cannot be changed.
    Relevance,
}

/// A sort direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Direction")]
pub(crate) enum SortDirection {
    /// Lowest, earliest or alphabetically first value first.
    Ascending,
    /// Highest, latest or alphabetically last value first.
    Descending,
}

/// A sort order of products. Give exactly one of `key` and `spec`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ProductSortInput {
    /// The sort key.
    key: Option<SortKey>,
    /// A spec key or an alias of it. Numbers, quantities and dates are sorted by size, texts
    /// alphabetically, ignoring case and accents. Of several values of a product, the lowest counts
    /// when ascending and the highest when descending. Refused if more than 10,000 products match
    /// the filter: narrow the filter.
    spec: Option<String>,
    /// The direction; by default the default of the sort key, or ascending for a spec key.
    direction: Option<SortDirection>,
}

/// The sorts of reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ReviewSort", remote = "ReviewSort")]
pub(crate) enum ReviewSortKey {
    /// Newest first; reviews without a date last.
    Newest,
    /// Oldest first; reviews without a date last.
    Oldest,
    /// Most helpful first, then newest first. A new vote may move a review to another page.
    MostHelpful,
    /// Five stars first, then newest first.
    Highest,
    /// One star first: the reverse of `HIGHEST`.
    Lowest,
}

/// A filter for reviews. All given conditions must match.
#[derive(Clone, Debug, Default, InputObject)]
pub(crate) struct ReviewFilterInput {
    /// Reviews with one of these ratings, 1 to 5 stars; any rating when absent.
    ratings: Option<Vec<i32>>,
    /// Only reviews by verified buyers.
    #[graphql(default)]
    verified_only: bool,
    /// Only reviews with images or videos.
    #[graphql(default)]
    with_media: bool,
    /// Only reviews in this language: a two-letter ISO 639-1 code, or an IETF language tag that
    /// begins with one. The region in a tag is ignored.
    language: Option<String>,
}

/// A unit to display quantities in.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DisplayUnitInput {
    /// The unit, in any accepted spelling. Quantities of its dimension are displayed in it.
    pub(crate) unit: String,
    /// Only quantities of this spec key; all quantities of the dimension when absent.
    pub(crate) key: Option<String>,
}

impl ProductFilterInput {
    /// Converts the filter to its domain type.
    pub(crate) fn filter(self) -> Result<ProductFilter, Failure> {
        self.filter_at("filter")
    }

    /// Converts the filter that has this path.
    fn filter_at(self, path: &str) -> Result<ProductFilter, Failure> {
        let parts = |name, parts| each_at(parts, &format!("{path}.{name}"), Self::filter_at);
        let not = self
            .not
            .map(|part| part.filter_at(&format!("{path}.not")).map(Box::new));
        Ok(ProductFilter {
            and: parts("and", self.and)?,
            or: parts("or", self.or)?,
            not: not.transpose()?,
            category: self.category,
            brand: self.brand,
            price: self.price.map(|price| Bounds {
                gte: price.gte.map(|amount| amount.0),
                lte: price.lte.map(|amount| amount.0),
            }),
            status: self
                .status
                .map(|states| states.into_iter().map(ProductStatus::from).collect()),
            min_rating: self.rating.map(|rating| rating.gte),
            country: self.country,
            specs: each_at(
                self.specs,
                &format!("{path}.specs"),
                SpecFilterInput::filter_at,
            )?,
            admin: AdminFilter {
                kind: self.kind,
                supplier: each_at(self.supplier, &format!("{path}.supplier"), |id, path| {
                    supplier(&id, path)
                })?,
                has_price: self.has_price,
                has_media: self.has_media,
                updated_since: self.updated_since.map(|at| at.0),
            },
        })
    }
}

/// Converts the items of the list that has this path, if there is one.
fn each_at<T, C>(
    items: Option<Vec<T>>,
    path: &str,
    convert: impl Fn(T, &str) -> Result<C, Failure>,
) -> Result<Option<Vec<C>>, Failure> {
    let Some(items) = items else {
        return Ok(None);
    };
    let items = items.into_iter().enumerate();
    let each = items.map(|(at, item)| convert(item, &format!("{path}[{at}]")));
    each.collect::<Result<_, _>>().map(Some)
}

fn supplier(id: &ID, path: &str) -> Result<SupplierId, Failure> {
    match GlobalId::decode(id) {
        Ok(GlobalId::Supplier(id)) => Ok(id),
        Ok(_) => Err(Failure::bad_input(format!(
            "{path}: is not the id of a supplier"
        ))),
        Err(error) => Err(Failure::bad_input(format!("{path}: {error}"))),
    }
}

impl SpecFilterInput {
    /// Converts the filter that has this path.
    fn filter_at(self, path: &str) -> Result<SpecFilter, Failure> {
        let text = self.text.map(|text| match text {
            TextFilterInput::Eq(text) => SpecTest::Text(vec![text]),
            TextFilterInput::In(texts) => SpecTest::Text(texts),
        });
        let tests = [
            text,
            self.number.map(|number| SpecTest::Number(number.test())),
            self.boolean.map(SpecTest::Boolean),
            self.date.map(|date| SpecTest::Date(date.test())),
            self.exists.map(SpecTest::Exists),
        ];
        let mut tests = tests.into_iter().flatten();
        match (tests.next(), tests.next()) {
            (Some(test), None) => Ok(SpecFilter {
                key: self.key,
                qualifier: self.qualifier,
                test,
            }),
            _ => Err(Failure::bad_input(format!(
                "{path}: the filter for the spec {:?} must give exactly one of text, number, boolean, date and exists",
                self.key
            ))),
        }
    }
}

impl NumberFilterInput {
    fn test(self) -> NumberTest {
        let Self {
            eq,
            gte,
            lte,
            gt,
            lt,
            unit,
        } = self;
        NumberTest {
            eq,
            gte,
            lte,
            gt,
            lt,
            unit,
        }
    }
}

impl DateFilterInput {
    fn test(self) -> DateTest {
        let instant = |at: Option<DateTime>| at.map(|at| at.0);
        DateTest {
            gte: instant(self.gte),
            lte: instant(self.lte),
            gt: instant(self.gt),
            lt: instant(self.lt),
        }
    }
}

impl ReviewFilterInput {
    /// Converts the filter to its domain type.
    pub(crate) fn filter(self) -> Result<ReviewFilter, Failure> {
        let traits = Traits {
            verified: self.verified_only,
            media: self.with_media,
            language: self.language.as_deref().map(language).transpose()?,
        };
        Ok(ReviewFilter {
            ratings: self.ratings.map(ratings).transpose()?,
            traits,
        })
    }
}

/// Converts `filter.ratings`.
fn ratings(all: Vec<i32>) -> Result<Vec<Stars>, Failure> {
    let stars = |rating: i32| {
        let stars = Stars::new(i64::from(rating));
        stars.map_err(|error| Failure::bad_input(format!("filter.ratings: {error}")))
    };
    let mut all = all.into_iter().map(stars).collect::<Result<Vec<_>, _>>()?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Converts `filter.language`.
fn language(tag: &str) -> Result<String, Failure> {
    language_code(tag).ok_or_else(|| {
        let shown = excerpt(tag, 40).text;
        Failure::bad_input(format!(
            "filter.language: {shown:?} is not a two-letter language code such as en"
        ))
    })
}

/// Converts the number of rows in an argument. The maximum is checked by the domain.
pub(crate) fn size(field: &str, size: i32) -> Result<usize, Failure> {
    usize::try_from(size)
        .map_err(|_| Failure::bad_input(format!("{field}: must be at least 1, not {size}")))
}

/// Converts the sort order, with the key of a spec if there is one. The default is relevance with a
/// search, otherwise popularity.
pub(crate) fn sort(
    sorts: Option<Vec<ProductSortInput>>,
    searched: bool,
) -> Result<(ProductSort, Option<String>), Failure> {
    let mut sorts = sorts.unwrap_or_default();
    let Some(sort) = sorts.pop() else {
        let key = if searched {
            ProductSortKey::Relevance
        } else {
            ProductSortKey::Popularity
        };
        return Ok((default_sort(key), None));
    };
    if !sorts.is_empty() {
        return Err(Failure::bad_input(
            "sort: give one sort key; ties are broken by id",
        ));
    }
    let (default, spec) = match (sort.key, sort.spec) {
        (Some(key), None) => (default_sort(key.into()), None),
        // Spec values are sorted like names: ascending by default.
        (None, Some(spec)) => (default_sort(ProductSortKey::Name), Some(spec)),
        _ => {
            return Err(Failure::bad_input(
                "sort[0]: give exactly one of key and spec",
            ));
        }
    };
    let direction = sort.direction.map_or(default.direction, Direction::from);
    Ok((
        ProductSort {
            direction,
            ..default
        },
        spec,
    ))
}

const fn default_sort(key: ProductSortKey) -> ProductSort {
    let direction = match key {
        ProductSortKey::Price | ProductSortKey::Name => Direction::Ascending,
        ProductSortKey::Rating
        | ProductSortKey::Popularity
        | ProductSortKey::Newest
        | ProductSortKey::Updated
        | ProductSortKey::BestSelling
        | ProductSortKey::Trending
        | ProductSortKey::Relevance => Direction::Descending,
    };
    ProductSort { key, direction }
}

#[cfg(test)]
mod tests;
