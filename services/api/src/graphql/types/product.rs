//! Products: one interface, one type per product kind, and a generic type for all other kinds.

use std::ops::Deref;
use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, QueryPathSegment, SimpleObject};
use futures_util::FutureExt as _;
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::page::PageArguments;
use vitrine_domain::products::{ProductView, Visibility};
use vitrine_domain::reviews::{FirstReviews, ReviewsQuery};
use vitrine_model::filter;
use vitrine_model::id::GlobalId;
use vitrine_model::product::{self, Details, Kind};
use vitrine_model::review::MAX_TOP_REVIEWS;

use super::activity::{ActivityResolution, ProductActivity, ProductCounters};
use super::category::Category;
use super::common::{Media, Money, count};
use super::details::{Contributor, Measurement, SizeChartRow, all};
use super::history::shown_value;
use super::interface::interface;
use super::page::ReviewConnection;
use super::rating::{RatingMonth, RatingStats};
use super::review::{Review, ReviewExcerpt};
use super::spec::{Display, Spec};
use super::supplier::ProductSupplier;
use crate::execution::direct::One;
use crate::execution::{At as _, Failure, List, LongText, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::failures::stored;
use crate::graphql::inputs::activity::ActivityRangeInput;
use crate::graphql::inputs::{DisplayUnitInput, ReviewFilterInput, ReviewSortKey, Status};
use crate::graphql::once::once;
use crate::graphql::permissions;
use crate::graphql::scalars::DateTime;
use crate::graphql::top_reviews;

/// The maximum and default number of top reviews.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a product carries a short list"
)]
const MAX_FIRST_TOP_REVIEWS: i32 = MAX_TOP_REVIEWS as i32;
/// The default number of months in a rating trend.
const DEFAULT_MONTHS: i32 = 12;

/// A product with the fields that all kinds have. The types of kinds with fields of their own
/// dereference to it.
#[derive(Clone, Debug)]
pub(crate) struct GenericProduct(ProductView);

/// A field of a product that people have edited. No feed writes it until an admin gives it back.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Override {
    /// The field: `name`, `price`, `status`, `details`, `sku`, `specs.weight`.
    field: String,
    /// The subject of the token of the last person who edited it.
    by: String,
    /// When that was.
    at: DateTime,
    /// What the feeds say of it, as a text for people, as `FieldChange` has it; details in the order of their fields,
    /// separated by commas. Null if they say nothing, and for `sku`, which they say with their next import.
    feed_value: Option<String>,
}

/// A product of a kind without its own type. All its details are in `specs`.
#[direct]
#[Object]
impl GenericProduct {
    /// The global id of the product.
    pub(crate) fn id(&self) -> ID {
        GlobalId::Product(self.0.id()).encode().into()
    }

    /// The product kind: `book`, `apparel`, or the name of a kind without its own type.
    fn kind(&self, ctx: &Context<'_>) -> R<&str> {
        stored(self.0.kind()).at(ctx)
    }

    /// The stock-keeping unit (SKU); unique.
    fn sku(&self, ctx: &Context<'_>) -> R<&str> {
        stored(self.0.sku()).at(ctx)
    }

    /// The part of the URL that identifies the product; unique.
    fn slug(&self, ctx: &Context<'_>) -> R<&str> {
        stored(self.0.slug()).at(ctx)
    }

    /// The name of the product.
    fn name(&self, ctx: &Context<'_>) -> R<&str> {
        stored(self.0.name()).at(ctx)
    }

    /// The description. Plain text.
    fn description(&self, ctx: &Context<'_>) -> Option<R<LongText<'_>>> {
        stored(self.0.description())
            .map(|text| text.map(LongText::from))
            .nullable_at(ctx)
    }

    /// The brand.
    fn brand(&self, ctx: &Context<'_>) -> Option<R<&str>> {
        stored(self.0.brand()).nullable_at(ctx)
    }

    /// The status of the product: draft, active or archived.
    fn status(&self, ctx: &Context<'_>) -> R<Status> {
        stored(self.0.status()).map(Status::from).at(ctx)
    }

    /// The category of the product.
    async fn category(&self, ctx: &Context<'_>) -> R<Category> {
        category(&self.0, ctx).await.at(ctx)
    }

    /// The supplier, as stored with the product: no extra query.
    fn supplier(&self, ctx: &Context<'_>) -> Option<R<ProductSupplier>> {
        let product = self.0.id();
        stored(self.0.supplier())
            .map(|of| of.map(|extract| ProductSupplier { product, extract }))
            .nullable_at(ctx)
    }

    /// The price. The price of a bundle is the sum of its items.
    fn price(&self, ctx: &Context<'_>) -> Option<R<Money>> {
        stored(self.0.price())
            .map(|of| of.map(Money::from))
            .nullable_at(ctx)
    }

    /// Images, videos and documents; at most 50.
    fn media(&self, ctx: &Context<'_>) -> R<List<Media>> {
        stored(self.0.media()).map(all).at(ctx)
    }

    /// The product's attributes in display order; at most 200.
    fn specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only specs with these keys or aliases; all specs when absent.")]
        keys: Option<Vec<String>>,
        #[graphql(
            desc = "The units for quantities. When absent, each quantity is shown as entered."
        )]
        display_units: Option<Vec<DisplayUnitInput>>,
    ) -> R<List<Spec<'_>>> {
        specs(&self.0, ctx, keys.as_deref(), display_units).at(ctx)
    }

    /// The first spec with this key or alias; null if there is none.
    fn spec(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The spec key or an alias of it.")] key: String,
        #[graphql(desc = "The unit for a quantity. When absent, it is shown as entered.")]
        display_unit: Option<String>,
    ) -> Option<R<Spec<'_>>> {
        spec(&self.0, ctx, key, display_unit).nullable_at(ctx)
    }

    /// The rating numbers of the product.
    fn rating_stats(&self, ctx: &Context<'_>) -> R<RatingStats> {
        let product = self.0.id();
        stored(self.0.stats())
            .map(|stats| RatingStats { product, stats })
            .at(ctx)
    }

    /// The most helpful reviews, sorted by helpful votes, then newest first. Stored with the
    /// product: no extra query.
    fn top_reviews(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            default_with = "Some(MAX_FIRST_TOP_REVIEWS)",
            desc = "The number of reviews: 1 to 10."
        )]
        first: Option<i32>,
    ) -> R<List<ReviewExcerpt>> {
        top_reviews(&self.0, first).at(ctx)
    }

    /// All published reviews, paged by cursor in both directions, in five sorts. Needs
    /// one database query. The first page of up to 10 reviews sorted by `MOST_HELPFUL`,
    /// without a filter, needs none if only fields that `topReviews` has are selected.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of the field"
    )]
    async fn reviews(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The page size from the start or after `after`: 1 to 100; 20 when neither `first` nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The page starts after this cursor; used with `first`.")] after: Option<
            String,
        >,
        #[graphql(desc = "The page size from the end or before `before`: 1 to 100.")] last: Option<
            i32,
        >,
        #[graphql(desc = "The page ends before this cursor; used with `last`.")] before: Option<
            String,
        >,
        #[graphql(default_with = "Some(ReviewSortKey::Newest)", desc = "The sort order.")]
        sort: Option<ReviewSortKey>,
        #[graphql(desc = "Which reviews to return; all when absent.")] filter: Option<
            ReviewFilterInput,
        >,
    ) -> R<One<ReviewConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        reviews(&self.0, ctx, page, sort, filter)
            .boxed()
            .await
            .map(One)
            .at(ctx)
    }

    /// The caller's own review of the product, in any status; null without a token or a
    /// review. One database query for all products of a list.
    async fn viewer_review(&self, ctx: &Context<'_>) -> Option<R<Review>> {
        let found = ctx.session().loaders.own_review(self.0.id()).await;
        found
            .map(|review| review.map(Review::from))
            .nullable_at(ctx)
    }

    /// The ratings by month, in ascending order, up to and including the current month. A
    /// review belongs to the month in which it was written. Months without reviews are
    /// included. One database query for all products of a list.
    async fn rating_trend(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            default_with = "Some(DEFAULT_MONTHS)",
            desc = "The number of months, including the current one: 1 to 120."
        )]
        months: Option<i32>,
    ) -> R<List<RatingMonth>> {
        let months = months.unwrap_or(DEFAULT_MONTHS);
        ctx.session()
            .loaders
            .trend(self.0.id(), months)
            .await
            .map(all)
            .at(ctx)
    }

    /// The names of the aspects that reviews of this product may rate in addition to the
    /// overall rating, sorted by name.
    fn review_dimensions(&self, ctx: &Context<'_>) -> R<Vec<String>> {
        review_dimensions(&self.0, ctx).at(ctx)
    }

    /// Views, carts and purchases by hour or day. Visible to admins and services, null for
    /// others. Needs a database query.
    async fn activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The period to report.")] range: ActivityRangeInput,
        #[graphql(
            default_with = "ActivityResolution::Day",
            desc = "The length of one interval."
        )]
        resolution: ActivityResolution,
    ) -> Option<R<ProductActivity>> {
        activity(&self.0, ctx, range, resolution)
            .boxed()
            .await
            .nullable_at(ctx)
    }

    /// Sales and attention figures, stored with the product: no extra query.
    fn counters(&self, ctx: &Context<'_>) -> R<ProductCounters> {
        counters(&self.0, ctx).at(ctx)
    }

    /// How the service handles this product because of its many reviews. Visible to admins,
    /// null for others.
    fn outlier(&self, ctx: &Context<'_>) -> Option<R<OutlierState>> {
        outlier(&self.0, ctx).nullable_at(ctx)
    }

    /// The source systems of the feeds that say something of the product. Visible to admins, null for
    /// others.
    fn feeds(&self, ctx: &Context<'_>) -> Option<R<Vec<String>>> {
        if !permissions::has_role(ctx, "Product") {
            return None;
        }
        stored(self.0.sources())
            .map(|sources| Some(sources.into_iter().map(|one| one.system).collect()))
            .nullable_at(ctx)
    }

    /// The fields that people have edited, so that no feed writes them until an admin gives them back
    /// with `releaseFields`. Visible to admins, null for others. Needs a database query if there are any.
    async fn overrides(&self, ctx: &Context<'_>) -> Option<R<List<Override>>> {
        overrides(&self.0, ctx).boxed().await.nullable_at(ctx)
    }

    /// Whether the product has more than 1,000 reviews or currently receives reviews at a high
    /// rate. All fields keep their meaning.
    fn is_outlier(&self, ctx: &Context<'_>) -> R<bool> {
        let now = ctx.session().catalog.now();
        let outlier = stored(self.0.outlier());
        outlier
            .map(|outlier| outlier.large || outlier.is_hot(now))
            .at(ctx)
    }

    /// The revision. Increases with every edit by an admin or an import, not with reviews.
    fn revision(&self, ctx: &Context<'_>) -> R<i32> {
        stored(self.0.revision()).map(count).at(ctx)
    }

    /// When the product was first stored, or when it was added to the shop according to the feed.
    fn created_at(&self, ctx: &Context<'_>) -> R<DateTime> {
        stored(self.0.created_at()).map(DateTime).at(ctx)
    }

    /// When the product was first listed, that is, when its status was first other than `DRAFT`;
    /// null for drafts that were never listed.
    fn listed_at(&self, ctx: &Context<'_>) -> Option<R<DateTime>> {
        stored(self.0.listed_at())
            .map(|at| at.map(DateTime))
            .nullable_at(ctx)
    }

    /// When the product was last changed by an admin or an import.
    fn updated_at(&self, ctx: &Context<'_>) -> R<DateTime> {
        stored(self.0.updated_at()).map(DateTime).at(ctx)
    }
}

/// Defines the type of a product kind: the common fields and its own.
macro_rules! kind {
    ($(#[$($doc:tt)*])* $kind:ident { $($own:tt)* }) => {
        $(#[$($doc)*])*
        #[derive(Clone, Debug)]
        pub(crate) struct $kind(GenericProduct);

        impl Deref for $kind {
            type Target = GenericProduct;

            fn deref(&self) -> &GenericProduct {
                &self.0
            }
        }

        $(#[$($doc)*])*
        #[direct]
        #[Object]
        impl $kind {
            #[graphql(flatten)]
            fn generic(&self) -> &GenericProduct {
                &self.0
            }

            $($own)*
        }
    };
}

interface! {
    /// A product of any kind. Clients keep working when a kind is added: products of a kind that a
    /// client does not know have these fields too.
    pub(crate) enum Product: GenericProduct {
        /// Clothing or shoes.
        Apparel,
        /// A book.
        Book,
        /// An electrical or electronic product.
        Electronics,
        /// Food or drink.
        Grocery,
        /// A film.
        Movie,
        /// Several products sold together.
        Bundle,
        /// A product of a kind without its own type.
        GenericProduct,
    }
}

impl Product {
    /// Returns the product with which a response, or a part of it, begins.
    pub(crate) fn one(view: ProductView) -> Result<One<Self>, Failure> {
        Self::of(view).map(One)
    }

    /// Returns the product as the type of its kind.
    pub(crate) fn of(view: ProductView) -> Result<Self, Failure> {
        let product = GenericProduct(view);
        Ok(match Kind::of(stored(product.0.kind())?) {
            Kind::Apparel => Self::Apparel(Apparel(product)),
            Kind::Book => Self::Book(Book(product)),
            Kind::Electronics => Self::Electronics(Electronics(product)),
            Kind::Grocery => Self::Grocery(Grocery(product)),
            Kind::Movie => Self::Movie(Movie(product)),
            Kind::Bundle => Self::Bundle(Bundle(product)),
            Kind::Other(_) => Self::GenericProduct(product),
        })
    }
}

/// Reads the details of a product; default values if they are of another kind.
macro_rules! details {
    ($self:ident, $variant:ident) => {
        stored($self.0.0.details()).map(|details| match details {
            Details::$variant(details) => details,
            _ => product::$variant::default(),
        })
    };
}

kind! {
    /// Clothing or shoes.
    Apparel {
        /// The fit: `slim`, `regular`.
        fn fit(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Apparel).map(|details| details.fit).nullable_at(ctx)
        }

        /// The measurements of each size.
        fn size_chart(&self, ctx: &Context<'_>) -> R<List<SizeChartRow>> {
            details!(self, Apparel).map(|details| all(details.size_chart)).at(ctx)
        }
    }
}

kind! {
    /// A book.
    Book {
        /// The authors and other contributors.
        fn contributors(&self, ctx: &Context<'_>) -> R<List<Contributor>> {
            details!(self, Book).map(|details| all(details.contributors)).at(ctx)
        }

        /// The ISBN, without separators.
        fn isbn(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Book).map(|details| details.isbn).nullable_at(ctx)
        }

        /// The binding or format: `hardcover`, `paperback`, `e-book`.
        fn format(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Book).map(|details| details.format).nullable_at(ctx)
        }

        /// The number of pages.
        fn pages(&self, ctx: &Context<'_>) -> Option<R<i32>> {
            details!(self, Book).map(|details| details.pages).nullable_at(ctx)
        }
    }
}

kind! {
    /// An electrical or electronic product.
    Electronics {
        /// The energy efficiency class: `A` to `G`.
        fn energy_label(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Electronics).map(|details| details.energy_label).nullable_at(ctx)
        }

        /// The warranty period in months.
        fn warranty_months(&self, ctx: &Context<'_>) -> Option<R<i32>> {
            details!(self, Electronics).map(|details| details.warranty_months).nullable_at(ctx)
        }

        /// What the product is compatible with.
        fn compatibility(&self, ctx: &Context<'_>) -> R<Vec<String>> {
            details!(self, Electronics).map(|details| details.compatibility).at(ctx)
        }
    }
}

kind! {
    /// Food or drink.
    Grocery {
        /// The list of ingredients.
        fn ingredients(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Grocery).map(|details| details.ingredients).nullable_at(ctx)
        }

        /// The allergens it contains.
        fn allergens(&self, ctx: &Context<'_>) -> R<Vec<String>> {
            details!(self, Grocery).map(|details| details.allergens).at(ctx)
        }

        /// The nutrition facts per 100 g or 100 ml.
        fn nutrition(&self, ctx: &Context<'_>) -> R<List<Measurement>> {
            details!(self, Grocery).map(|details| all(details.nutrition)).at(ctx)
        }
    }
}

kind! {
    /// A film.
    Movie {
        /// The actors and the characters they play.
        fn cast(&self, ctx: &Context<'_>) -> R<List<Contributor>> {
            details!(self, Movie).map(|details| all(details.cast)).at(ctx)
        }

        /// The running time in minutes.
        fn runtime_minutes(&self, ctx: &Context<'_>) -> Option<R<i32>> {
            details!(self, Movie).map(|details| details.runtime_minutes).nullable_at(ctx)
        }
    }
}

kind! {
    /// Several products sold together.
    Bundle {
        /// The products in the bundle, at most 100. Products that the caller may not see are left
        /// out. A bundle has no price while one of them is not on sale.
        fn items(&self, ctx: &Context<'_>) -> R<List<BundleItem>> {
            let everything = ctx.session().visibility == Visibility::Everything;
            let seen = |item: &product::BundleItem| everything || item.listed;
            let items = details!(self, Bundle).map(|details| details.items);
            items.map(|items| all(items.into_iter().filter(seen).collect())).at(ctx)
        }
    }
}

/// Why a product is handled as an outlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
pub(crate) enum OutlierReason {
    /// The product has more than 1,000 reviews.
    ManyReviews,
    /// The product is hot: concurrent reviews of it caused a write conflict.
    Conflict,
    /// The product is hot: more than five reviews were written within one second.
    Rate,
}

impl From<product::HotReason> for OutlierReason {
    fn from(reason: product::HotReason) -> Self {
        match reason {
            product::HotReason::Conflict => Self::Conflict,
            product::HotReason::Rate => Self::Rate,
        }
    }
}

/// How the service handles a product because of its many reviews. All fields keep their meaning.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct OutlierState {
    /// Whether the product has more than 1,000 reviews. Reviews of a large product are never
    /// counted on request.
    large: bool,
    /// Whether the product is hot. Reviews of a hot product are counted in batches, with a short
    /// delay.
    hot: bool,
    /// Since when the product has been large or hot, whichever came first; null if it is neither.
    since: Option<DateTime>,
    /// The reasons, `MANY_REVIEWS` first; empty if the product is neither large nor hot.
    reason: Vec<OutlierReason>,
    /// When the product stops being hot, unless it is extended; null if it is not hot.
    hot_until: Option<DateTime>,
    /// Since when the product has been hot; null if it is not.
    hot_since: Option<DateTime>,
}

pub(crate) struct BundleItem(product::BundleItem);

impl From<product::BundleItem> for BundleItem {
    fn from(item: product::BundleItem) -> Self {
        Self(item)
    }
}

/// A product in a bundle.
#[direct]
#[Object]
impl BundleItem {
    /// The number of units in the bundle.
    fn quantity(&self) -> i32 {
        self.0.quantity
    }

    /// The name of the product, as copied into the bundle.
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The unit price, as copied into the bundle.
    fn price(&self) -> Option<Money> {
        self.0.price.map(Money::from)
    }

    /// The `updatedAt` of the product when its name and price were copied; null for copies without
    /// this record. Changes are copied within seconds.
    fn as_of(&self) -> Option<DateTime> {
        self.0.as_of.map(DateTime)
    }

    /// The product itself; null if the caller may not see it. One database query for all items.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        let found = ctx.session().loaders.product(self.0.product_id).await;
        found
            .and_then(|view| view.map(Product::one).transpose())
            .nullable_at(ctx)
    }
}

async fn activity(
    view: &ProductView,
    ctx: &Context<'_>,
    range: ActivityRangeInput,
    resolution: ActivityResolution,
) -> Result<Option<ProductActivity>, Failure> {
    let session = ctx.session();
    if !permissions::has_role(ctx, "Product") {
        return Ok(None);
    }
    let resolution = resolution.into();
    let found = session
        .catalog
        .activity(view.id(), range.range(), resolution);
    let now = DateTime(session.catalog.now());
    let (buckets, waiting) = found.await?;
    Ok(Some(ProductActivity::of(
        &buckets, waiting, resolution, now,
    )))
}

fn counters(view: &ProductView, ctx: &Context<'_>) -> Result<ProductCounters, Failure> {
    let (summary, sold) = (stored(view.activity())?, stored(view.sold())?);
    let exact = permissions::may_use(ctx, "ProductCounters.unitsSold");
    Ok(ProductCounters::of(summary, sold, exact))
}

async fn category(view: &ProductView, ctx: &Context<'_>) -> Result<Category, Failure> {
    let id = stored(view.category())?;
    let reference = ctx
        .session()
        .catalog
        .reference_for_category(id)
        .boxed()
        .await?;
    let missing =
        || Failure::internal(format!("category {id} of product {} is missing", view.id()));
    Category::of(&reference, id).ok_or_else(missing)
}

fn specs<'a>(
    view: &'a ProductView,
    ctx: &Context<'_>,
    keys: Option<&[String]>,
    units: Option<Vec<DisplayUnitInput>>,
) -> Result<List<Spec<'a>>, Failure> {
    let session = ctx.session();
    let reference = session.catalog.reference_seen_with(session.visibility);
    let display = Display::new(Arc::clone(&reference), &units.unwrap_or_default())?;
    let name = |key| {
        reference
            .dictionary
            .get(key)
            .map_or(key, |known| &known.key)
    };
    let keys: Option<Vec<&str>> = keys.map(|keys| keys.iter().map(|key| name(key)).collect());
    let selected = |key| {
        let wanted = |keys: &Vec<&str>| keys.contains(&name(key));
        keys.as_ref().is_none_or(wanted)
    };
    let specs = stored(view.specs_in_place())?.into_iter();
    let specs = specs.filter(|spec| selected(spec.key));
    Ok(specs.map(|spec| display.show(spec)).collect())
}

fn spec<'a>(
    view: &'a ProductView,
    ctx: &Context<'_>,
    key: String,
    unit: Option<String>,
) -> Result<Option<Spec<'a>>, Failure> {
    let units = unit.map(|unit| {
        vec![DisplayUnitInput {
            unit,
            key: Some(key.clone()),
        }]
    });
    let found = specs(view, ctx, Some(&[key]), units)?;
    Ok(found.0.into_iter().next())
}

fn top_reviews(view: &ProductView, first: Option<i32>) -> Result<List<ReviewExcerpt>, Failure> {
    let first = first.unwrap_or(MAX_FIRST_TOP_REVIEWS);
    let limit = usize::try_from(first)
        .ok()
        .filter(|_| (1..=MAX_FIRST_TOP_REVIEWS).contains(&first));
    let limit = limit.ok_or_else(|| {
        Failure::bad_input(format!(
            "first: must be 1 to {MAX_FIRST_TOP_REVIEWS}, not {first}"
        ))
    })?;
    let reviews = stored(view.top_reviews())?.into_iter().take(limit);
    Ok(reviews
        .map(|review| ReviewExcerpt {
            product: view.id(),
            review,
        })
        .collect())
}

async fn reviews(
    view: &ProductView,
    ctx: &Context<'_>,
    page: PageArguments,
    sort: Option<ReviewSortKey>,
    filter: Option<ReviewFilterInput>,
) -> Result<ReviewConnection, Failure> {
    let filter = filter.unwrap_or_default().filter()?;
    let sort = filter::ReviewSort::from(sort.unwrap_or(ReviewSortKey::Newest));
    let query = ReviewsQuery {
        product: view.id(),
        filter,
        sort,
        many: stored(view.outlier())?.many,
        page,
    };
    let catalog = &ctx.session().catalog;
    let stored_page = if top_reviews::suffice_for(&ctx.field()) {
        catalog.top_reviews_page(view, &query)?
    } else {
        None
    };
    let together = FirstReviews::of(&query).filter(|_| is_in_list(ctx));
    let page = if let Some(page) = stored_page {
        Arc::new(page)
    } else if let Some(query) = together {
        let page = ctx.session().loaders.first_reviews(query).await?;
        page.ok_or_else(|| Failure::internal("a page of reviews was not read"))?
    } else {
        let arguments = format!("{query:?}");
        once(ctx, arguments, catalog.reviews(query).boxed()).await?
    };
    Ok(ReviewConnection::OfProduct {
        page,
        stats: stored(view.stats())?,
        hot: stored(view.outlier())?.is_hot(catalog.now()),
    })
}

/// Returns whether the object of a field is an item of a list, so that other objects may have the same field.
fn is_in_list(ctx: &Context<'_>) -> bool {
    let mut node = ctx.path_node.as_ref();
    while let Some(one) = node {
        if matches!(one.segment, QueryPathSegment::Index(_)) {
            return true;
        }
        node = one.parent;
    }
    false
}

fn review_dimensions(view: &ProductView, ctx: &Context<'_>) -> Result<Vec<String>, Failure> {
    let (kind, category) = (stored(view.kind())?, stored(view.category())?);
    let reference = ctx.session().catalog.reference();
    Ok(reference.review_dimensions_of(kind, category))
}

async fn overrides(
    view: &ProductView,
    ctx: &Context<'_>,
) -> Result<Option<List<Override>>, Failure> {
    let session = ctx.session();
    if !permissions::has_role(ctx, "Product") {
        return Ok(None);
    }
    let reference = session.catalog.reference();
    let overrides = stored(view.overrides())?.current(&reference.dictionary);
    if overrides.is_empty() {
        return Ok(Some(List::default()));
    }
    let values = session.loaders.feed_values(view.id()).await?;
    let shown = overrides.all().iter().map(|own| {
        let said = values.of(&own.field);
        let said: Vec<String> = said.map(|value| shown_value(value, &reference)).collect();
        Override {
            field: own.field.to_string(),
            by: own.by.clone(),
            at: DateTime(own.at),
            feed_value: (!said.is_empty()).then(|| said.join(", ")),
        }
    });
    Ok(Some(shown.collect()))
}

fn outlier(view: &ProductView, ctx: &Context<'_>) -> Result<Option<OutlierState>, Failure> {
    let session = ctx.session();
    if !permissions::has_role(ctx, "Product") {
        return Ok(None);
    }
    let outlier = stored(view.outlier())?;
    let hot = outlier.is_hot(session.catalog.now());
    let large_since = outlier.large_since.filter(|_| outlier.large);
    let hot_since = outlier.hot_since.filter(|_| hot);
    let many = outlier.large.then_some(OutlierReason::ManyReviews);
    let hot_reason = outlier.hot_reason.filter(|_| hot).map(OutlierReason::from);
    Ok(Some(OutlierState {
        large: outlier.large,
        hot,
        since: large_since.into_iter().chain(hot_since).min().map(DateTime),
        reason: many.into_iter().chain(hot_reason).collect(),
        hot_until: outlier.hot_until.filter(|_| hot).map(DateTime),
        hot_since: hot_since.map(DateTime),
    }))
}
