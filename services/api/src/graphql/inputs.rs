//! Inputs: what callers give, turned into what the domain takes.

pub(crate) mod activity;
pub(crate) mod details;
pub(crate) mod dictionary;
pub(crate) mod product;
pub(crate) mod reference;
pub(crate) mod review;
pub(crate) mod reviewing;
pub(crate) mod spec;
pub(crate) mod user_errors;

use async_graphql::{Enum, InputObject, OneofObject};
use vitrine_model::filter::{
    Bounds, DateTest, Direction, NumberTest, ProductFilter, ProductSort, ProductSortKey,
    ReviewFilter, ReviewSort, SpecFilter, SpecTest,
};
use vitrine_model::product::ProductStatus;
use vitrine_model::rating::Stars;
use vitrine_model::review::{Traits, language_code};
use vitrine_model::text::excerpt;

use super::scalars::{DateTime, Decimal};
use crate::execution::Failure;

/// Where a product is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ProductStatus", remote = "ProductStatus")]
pub(crate) enum Status {
    /// Not on sale yet; seen by admins only.
    Draft,
    /// On sale; seen by everyone.
    Active,
    /// No longer on sale; seen by admins only.
    Archived,
}

/// Which products are wanted. Everything given must hold; an empty filter holds for all products.
/// At most 50 leaves, 100 values in a list, and `and`, `or`, `not` nested 5 deep.
#[derive(Clone, Debug, Default, InputObject)]
pub(crate) struct ProductFilterInput {
    /// All of these must hold.
    and: Option<Vec<ProductFilterInput>>,
    /// At least one of these must hold; of an empty list none does.
    or: Option<Vec<ProductFilterInput>>,
    /// This must not hold.
    not: Option<Box<ProductFilterInput>>,
    /// In one of these categories, or below one of them. Slugs; one that does not exist holds no
    /// product.
    category: Option<Vec<String>>,
    /// Of one of these brands, without regard to case and accents.
    brand: Option<Vec<String>>,
    /// The price in the shop's currency. Products without a price, or with one in another currency,
    /// do not match.
    price: Option<PriceFilterInput>,
    /// In one of these states. Only admins may ask for products that are not ACTIVE.
    status: Option<Vec<Status>>,
    /// The mean of all ratings.
    rating: Option<RatingFilterInput>,
    /// From a supplier in one of these countries; ISO 3166-1 alpha-2 codes.
    country: Option<Vec<String>>,
    /// Each of these must hold, of one spec each.
    specs: Option<Vec<SpecFilterInput>>,
}

/// A range of prices; give at least one end.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct PriceFilterInput {
    /// At least this, in units of the currency: `"19.99"`.
    gte: Option<Decimal>,
    /// At most this.
    lte: Option<Decimal>,
}

/// A range of mean ratings.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct RatingFilterInput {
    /// The mean is at least this: 1 to 5 in steps of 0.5. Products without reviews do not match.
    gte: f64,
}

/// What must hold of some spec with this key. Give exactly one of text, number, boolean, date and
/// exists. A key that no product has matches nothing, but `exists: false` matches all.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SpecFilterInput {
    /// The key in the spec dictionary, or an alias of it.
    key: String,
    /// Only values with this qualifier, such as a region or a size system; any when absent.
    qualifier: Option<String>,
    /// For keys that hold text.
    text: Option<TextFilterInput>,
    /// For keys that hold numbers or quantities.
    number: Option<NumberFilterInput>,
    /// For keys that hold yes or no.
    boolean: Option<bool>,
    /// For keys that hold dates.
    date: Option<DateFilterInput>,
    /// Whether there is such a spec at all. Cannot use an index of its own: it is checked product
    /// by product in the order of the list.
    exists: Option<bool>,
}

/// How text compares: without regard to case and accents. Text over 256 bytes cannot be filtered
/// by.
#[derive(Clone, Debug, OneofObject)]
pub(crate) enum TextFilterInput {
    /// Is this.
    Eq(String),
    /// Is one of these.
    In(Vec<String>),
}

/// How a number or a quantity compares. Give eq alone, or one or two ends of a range.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct NumberFilterInput {
    /// Equal. Quantities are equal when they are shown alike: 16.9 fl oz is 500 ml, because it
    /// differs by less than half of the last digit written and less than half a percent.
    eq: Option<f64>,
    /// At least this.
    gte: Option<f64>,
    /// At most this.
    lte: Option<f64>,
    /// More than this.
    gt: Option<f64>,
    /// Less than this.
    lt: Option<f64>,
    /// The unit these numbers are in, by any spelling: needed for quantities, of the key's
    /// dimension; left out for plain numbers.
    unit: Option<String>,
}

/// How a date compares. Give one or two ends of a range.
#[derive(Clone, Copy, Debug, InputObject)]
pub(crate) struct DateFilterInput {
    /// At this instant or later.
    gte: Option<DateTime>,
    /// At this instant or earlier.
    lte: Option<DateTime>,
    /// Later than this instant.
    gt: Option<DateTime>,
    /// Earlier than this instant.
    lt: Option<DateTime>,
}

/// What products are sorted by. Products without the value come last in both directions; ties are
/// broken by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ProductSortKey", remote = "ProductSortKey")]
pub(crate) enum SortKey {
    /// The price in the shop's currency. Ascending unless told otherwise.
    Price,
    /// The Bayesian rating score in steps of 0.05; without reviews it is 3.5. A review that changes it
    /// moves the product within about a second. Descending unless told otherwise.
    Rating,
    /// How much attention the product gets. A review that changes it moves the product within about a
    /// second. Descending unless told otherwise.
    Popularity,
    /// When the product was added. Descending unless told otherwise.
    Newest,
    /// The name, without regard to case and accents. Ascending unless told otherwise.
    Name,
    /// Units sold in the last 30 days, as of the product's counters; those without a sale come last.
    /// Descending unless told otherwise.
    BestSelling,
    /// Views, carts and purchases of the last 7 days, what is long ago less, in steps of about a
    /// fifth; those without any come last. Descending unless told otherwise.
    Trending,
    /// How well the product matches the words of the search, best first. Only with a search, where
    /// it is the usual order; in this direction only.
    Relevance,
}

/// A direction to sort in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Direction")]
pub(crate) enum SortDirection {
    /// Lowest, earliest or alphabetically first value first.
    Ascending,
    /// Highest, latest or alphabetically last value first.
    Descending,
}

/// How products are sorted. Give exactly one of key and spec.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ProductSortInput {
    /// By what.
    key: Option<SortKey>,
    /// By the values of this spec key, or of one it is an alias of: numbers, quantities and dates by
    /// size, texts in alphabetical order without regard to case and accents. Of several values of
    /// a product the lowest counts when ascending, the highest when descending. Refused when more
    /// than 20,000 products fulfil the filter: narrow it.
    spec: Option<String>,
    /// In which direction; the usual one of the key when absent, ascending for a spec key.
    direction: Option<SortDirection>,
}

/// How reviews are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ReviewSort", remote = "ReviewSort")]
pub(crate) enum ReviewOrder {
    /// Latest first; reviews without a date last.
    Newest,
    /// Earliest first; reviews without a date last.
    Oldest,
    /// Most helpful first, of equals the newest. Votes may move a review between two pages.
    MostHelpful,
    /// Five stars first, of equals the newest.
    Highest,
    /// One star first: HIGHEST read backwards.
    Lowest,
}

/// Which reviews are wanted.
#[derive(Clone, Debug, Default, InputObject)]
pub(crate) struct ReviewFilterInput {
    /// With one of these ratings: 1 to 5 stars. Any rating when absent.
    ratings: Option<Vec<i32>>,
    /// Only by verified buyers.
    #[graphql(default)]
    verified_only: bool,
    /// Only with pictures or films.
    #[graphql(default)]
    with_media: bool,
    /// Only in this language: a code of two letters, or an IETF tag that begins with one. Regions
    /// are not told apart, nor are languages without such a code.
    language: Option<String>,
}

/// A unit that quantities are to be shown in.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DisplayUnitInput {
    /// The unit, by any spelling. Quantities of its dimension are shown in it.
    pub(crate) unit: String,
    /// Only the quantities of this key; all of the dimension when absent.
    pub(crate) key: Option<String>,
}

impl ProductFilterInput {
    /// What the domain takes.
    pub(crate) fn filter(self) -> Result<ProductFilter, Failure> {
        Ok(ProductFilter {
            and: self.and.map(filters).transpose()?,
            or: self.or.map(filters).transpose()?,
            not: self
                .not
                .map(|part| part.filter().map(Box::new))
                .transpose()?,
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
            specs: self.specs.map(specs).transpose()?,
        })
    }
}

fn filters(parts: Vec<ProductFilterInput>) -> Result<Vec<ProductFilter>, Failure> {
    parts.into_iter().map(ProductFilterInput::filter).collect()
}

fn specs(leaves: Vec<SpecFilterInput>) -> Result<Vec<SpecFilter>, Failure> {
    leaves.into_iter().map(SpecFilterInput::filter).collect()
}

impl SpecFilterInput {
    fn filter(self) -> Result<SpecFilter, Failure> {
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
        let mut given = tests.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(test), None) => Ok(SpecFilter {
                key: self.key,
                qualifier: self.qualifier,
                test,
            }),
            _ => Err(Failure::bad_input(format!(
                "filter.specs: the filter for the spec {:?} must give exactly one of text, number, boolean, date and exists",
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
    /// What the domain takes.
    pub(crate) fn filter(self) -> Result<ReviewFilter, Failure> {
        let stars = |rating: i32| {
            let stars = Stars::new(i64::from(rating));
            stars.map_err(|wrong| Failure::bad_input(format!("filter.ratings: {wrong}")))
        };
        let ratings = self
            .ratings
            .map(|all| all.into_iter().map(stars).collect::<Result<Vec<_>, _>>());
        let ratings = ratings.transpose()?.map(|mut all| {
            all.sort_unstable();
            all.dedup();
            all
        });
        let code = |tag: String| {
            language_code(&tag).ok_or_else(|| {
                let shown = excerpt(&tag, 40).text;
                Failure::bad_input(format!(
                    "filter.language: {shown:?} is no code of two letters, such as en"
                ))
            })
        };
        let traits = Traits {
            verified: self.verified_only,
            media: self.with_media,
            language: self.language.map(code).transpose()?,
        };
        Ok(ReviewFilter { ratings, traits })
    }
}

/// How many of something are wanted; who gives them knows the most.
pub(crate) fn size(field: &str, asked: i32) -> Result<usize, Failure> {
    usize::try_from(asked)
        .map_err(|_| Failure::bad_input(format!("{field}: must be at least 1, not {asked}")))
}

/// The sort that was asked for. When none was, by relevance in a search, else by popularity.
pub(crate) fn sort(
    asked: Option<Vec<ProductSortInput>>,
    searched: bool,
) -> Result<(ProductSort, Option<String>), Failure> {
    let mut asked = asked.unwrap_or_default();
    let Some(one) = asked.pop() else {
        let key = if searched {
            ProductSortKey::Relevance
        } else {
            ProductSortKey::Popularity
        };
        return Ok((usual(key), None));
    };
    if !asked.is_empty() {
        return Err(Failure::bad_input(
            "sort: products are sorted by one key; ties are broken by id",
        ));
    }
    let (usual, spec) = match (one.key, one.spec) {
        (Some(key), None) => (usual(key.into()), None),
        // Like names: from the first on.
        (None, Some(spec)) => (usual(ProductSortKey::Name), Some(spec)),
        _ => {
            return Err(Failure::bad_input(
                "sort[0]: give exactly one of key and spec",
            ));
        }
    };
    let direction = one.direction.map_or(usual.direction, Direction::from);
    Ok((ProductSort { direction, ..usual }, spec))
}

const fn usual(key: ProductSortKey) -> ProductSort {
    let direction = match key {
        ProductSortKey::Price | ProductSortKey::Name => Direction::Ascending,
        ProductSortKey::Rating
        | ProductSortKey::Popularity
        | ProductSortKey::Newest
        | ProductSortKey::BestSelling
        | ProductSortKey::Trending
        | ProductSortKey::Relevance => Direction::Descending,
    };
    ProductSort { key, direction }
}

#[cfg(test)]
mod tests;
