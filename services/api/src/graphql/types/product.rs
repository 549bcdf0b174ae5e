//! Products: one interface, a type per kind, and a generic one for kinds nobody wrote code for.

use async_graphql::{Context, Enum, ID, Interface, Object, SimpleObject};
use vitrine_domain::page::PageArguments;
use vitrine_domain::products::{ProductView, Visibility};
use vitrine_domain::reviews::ReviewsQuery;
use vitrine_model::filter;
use vitrine_model::id::GlobalId;
use vitrine_model::product::{self, Details, Kind};
use vitrine_model::review::TOP_REVIEWS;

use super::activity::{ActivityResolution, ProductActivity, ProductCounters};
use super::category::Category;
use super::common::{Media, Money, count};
use super::details::{Contributor, Measurement, SizeChartRow, all};
use super::page::ReviewConnection;
use super::rating::{RatingMonth, RatingStats};
use super::review::{Review, ReviewExcerpt};
use super::spec::{Display, Spec};
use super::supplier::ProductSupplier;
use crate::execution::{At as _, Failure, NullableAt as _, R};
use crate::graphql::Role;
use crate::graphql::carried;
use crate::graphql::context::ContextExt as _;
use crate::graphql::failures::stored;
use crate::graphql::inputs::activity::ActivityRangeInput;
use crate::graphql::inputs::{DisplayUnitInput, ReviewFilterInput, ReviewOrder, Status};
use crate::graphql::scalars::DateTime;

/// The most top reviews that may be asked for, and how many there are when nobody says.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a product carries a short list"
)]
const MAX_TOP_REVIEWS: i32 = TOP_REVIEWS as i32;
/// How many months a trend has when nobody says.
const DEFAULT_MONTHS: i32 = 12;

/// Hands the fields that every kind has to another macro. This is the one place that describes them:
/// [`interface`] and [`kind`] are made of it. A row is
///
/// ```text
/// "description"
/// name("name") -> [Type]("Type")
///     argument("argument"): [Type]("Type") = "default" => "description",
/// |self, ctx| { what the resolver does }
/// ```
///
/// The interface takes names and types as texts. One that differs from the name or type beside it
/// does not compile.
macro_rules! with_common_fields {
    ($macro:ident ! { $($rest:tt)* }) => {
        $macro! {
            { $($rest)* }

            "Identifies the product."
            id("id") -> [ID]("ID")
            |self, _ctx| { GlobalId::Product(self.0.id()).encode().into() }

            "What kind of thing it is: `book`, `apparel`, or a name nobody has written code for."
            kind("kind") -> [R<String>]("R<String>")
            |self, ctx| { stored(self.0.kind()).map(str::to_owned).at(ctx) }

            "The stock-keeping unit; unique."
            sku("sku") -> [R<String>]("R<String>")
            |self, ctx| { stored(self.0.sku()).map(str::to_owned).at(ctx) }

            "Its part of an address; unique."
            slug("slug") -> [R<String>]("R<String>")
            |self, ctx| { stored(self.0.slug()).map(str::to_owned).at(ctx) }

            "Its name."
            name("name") -> [R<String>]("R<String>")
            |self, ctx| { stored(self.0.name()).map(str::to_owned).at(ctx) }

            "What there is to say about it. Plain text."
            description("description") -> [Option<R<String>>]("Option<R<String>>")
            |self, ctx| {
                stored(self.0.description()).map(|text| text.map(str::to_owned)).nullable_at(ctx)
            }

            "The brand."
            brand("brand") -> [Option<R<String>>]("Option<R<String>>")
            |self, ctx| {
                stored(self.0.brand()).map(|text| text.map(str::to_owned)).nullable_at(ctx)
            }

            "Where it is in its life."
            status("status") -> [R<Status>]("R<Status>")
            |self, ctx| { stored(self.0.status()).map(Status::from).at(ctx) }

            "The category it is in."
            category("category") -> [R<Category>]("R<Category>")
            |self, ctx| { category(&self.0, ctx).await.at(ctx) }

            "Who supplies it, as carried by the product."
            supplier("supplier") -> [Option<R<ProductSupplier>>]("Option<R<ProductSupplier>>")
            |self, ctx| {
                stored(self.0.supplier()).map(|of| of.map(ProductSupplier)).nullable_at(ctx)
            }

            "What it costs; for a bundle, what its items cost together."
            price("price") -> [Option<R<Money>>]("Option<R<Money>>")
            |self, ctx| { stored(self.0.price()).map(|of| of.map(Money::from)).nullable_at(ctx) }

            "Pictures, films, documents; at most 50."
            media("media") -> [R<Vec<Media>>]("R<Vec<Media>>")
            |self, ctx| { stored(self.0.media()).map(all).at(ctx) }

            "Its attributes, in the order they are shown; at most 200."
            specs("specs") -> [R<Vec<Spec>>]("R<Vec<Spec>>")
                keys("keys"): [Option<Vec<String>>]("Option<Vec<String>>")
                    => "Only specs with these keys or aliases; all when absent.",
                display_units("display_units"):
                    [Option<Vec<DisplayUnitInput>>]("Option<Vec<DisplayUnitInput>>")
                    => "Units to show quantities in; as entered when absent.",
            |self, ctx| { specs(&self.0, ctx, keys, display_units).at(ctx) }

            "The first spec with this key or alias; null when there is none."
            spec("spec") -> [Option<R<Spec>>]("Option<R<Spec>>")
                key("key"): [String]("String") => "The key or an alias of it.",
                display_unit("display_unit"): [Option<String>]("Option<String>")
                    => "The unit to show a quantity in; as entered when absent.",
            |self, ctx| { spec(&self.0, ctx, key, display_unit).nullable_at(ctx) }

            "Its ratings."
            rating_stats("rating_stats") -> [R<RatingStats>]("R<RatingStats>")
            |self, ctx| {
                let product = self.0.id();
                stored(self.0.stats()).map(|stats| RatingStats { product, stats }).at(ctx)
            }

            "The most helpful reviews, most helpful first, of equals the newest. Carried by the\n\
             product: no look-up."
            top_reviews("top_reviews") -> [R<Vec<ReviewExcerpt>>]("R<Vec<ReviewExcerpt>>")
                first("first"): [Option<i32>]("Option<i32>") = "Some(MAX_TOP_REVIEWS)"
                    => "How many: 1 to 10.",
            |self, ctx| { top_reviews(&self.0, first).at(ctx) }

            #[expect(clippy::too_many_arguments, reason = "they are the arguments of the field")]
            "All published reviews, forwards and backwards, in five orders, without a cap. A\n\
             look-up; none for at most ten of the most helpful from the beginning, without a\n\
             filter, where nothing is selected of them that `topReviews` does not have."
            reviews("reviews") -> [R<ReviewConnection>]("R<ReviewConnection>")
                first("first"): [Option<i32>]("Option<i32>")
                    => "So many from the beginning or after `after`: 1 to 100; 20 when neither first nor last is given.",
                after("after"): [Option<String>]("Option<String>")
                    => "Right behind this cursor; with first.",
                last("last"): [Option<i32>]("Option<i32>")
                    => "So many up to the end or before `before`: 1 to 100.",
                before("before"): [Option<String>]("Option<String>")
                    => "Right before this cursor; with last.",
                sort("sort"): [Option<ReviewOrder>]("Option<ReviewOrder>")
                    = "Some(ReviewOrder::Newest)" => "In which order.",
                filter("filter"): [Option<ReviewFilterInput>]("Option<ReviewFilterInput>")
                    => "Which of them; all when absent.",
            |self, ctx| {
                let page = PageArguments { first, after, last, before };
                reviews(&self.0, ctx, page, sort, filter).await.at(ctx)
            }

            "What the caller wrote of it, also while nobody else sees it; null without a token or\n\
             a review. One look-up for all products of a list."
            viewer_review("viewer_review") -> [Option<R<Review>>]("Option<R<Review>>")
            |self, ctx| {
                let found = ctx.session().loaders.own_review(self.0.id()).await;
                found.map(|review| review.map(Review::from)).nullable_at(ctx)
            }

            "Its ratings month by month, this month last, by when reviews were written; months\n\
             without reviews are there too. A look-up, one for all products of a list."
            rating_trend("rating_trend") -> [R<Vec<RatingMonth>>]("R<Vec<RatingMonth>>")
                months("months"): [Option<i32>]("Option<i32>") = "Some(DEFAULT_MONTHS)"
                    => "How many months, this one included: 1 to 120.",
            |self, ctx| {
                let months = months.unwrap_or(DEFAULT_MONTHS);
                ctx.session().loaders.trend(self.0.id(), months).await.map(all).at(ctx)
            }

            "The aspects that reviews of it may give stars to, beside the stars for the whole, by\n\
             name."
            review_dimensions("review_dimensions") -> [R<Vec<String>>]("R<Vec<String>>")
            |self, ctx| { review_dimensions(&self.0, ctx).at(ctx) }

            "What happened around it: views, carts, purchases, by hours or days. Seen by admins and\n\
             services only. A look-up."
            activity("activity") -> [Option<R<ProductActivity>>]("Option<R<ProductActivity>>")
                range("range"): [ActivityRangeInput]("ActivityRangeInput")
                    => "From when to when.",
                resolution("resolution"): [ActivityResolution]("ActivityResolution")
                    = "ActivityResolution::Day" => "How fine.",
            |self, ctx| { activity(&self.0, ctx, range, resolution).await.nullable_at(ctx) }

            "How it sells and how much attention it gets, as carried by the product."
            counters("counters") -> [R<ProductCounters>]("R<ProductCounters>")
            |self, ctx| { counters(&self.0).at(ctx) }

            "How it is treated because of its many reviews; seen by admins only."
            outlier("outlier") -> [Option<R<OutlierState>>]("Option<R<OutlierState>>")
            |self, ctx| { outlier(&self.0, ctx).nullable_at(ctx) }

            "Whether the product has more than 1,000 reviews or is being reviewed very often just\n\
             now. Nothing about the fields changes."
            is_outlier("is_outlier") -> [R<bool>]("R<bool>")
            |self, ctx| {
                let now = ctx.session().catalog.now();
                let outlier = stored(self.0.outlier());
                outlier.map(|outlier| outlier.large || outlier.is_hot(now)).at(ctx)
            }

            "Rises with every edit by an admin or an import; reviews do not touch it."
            revision("revision") -> [R<i32>]("R<i32>")
            |self, ctx| { stored(self.0.revision()).map(count).at(ctx) }

            "When it was first stored, or added to the shop if a feed says so."
            created_at("created_at") -> [R<DateTime>]("R<DateTime>")
            |self, ctx| { stored(self.0.created_at()).map(DateTime).at(ctx) }

            "Since when it is listed: when it first was no draft any more. Null of drafts."
            listed_at("listed_at") -> [Option<R<DateTime>>]("Option<R<DateTime>>")
            |self, ctx| { stored(self.0.listed_at()).map(|at| at.map(DateTime)).nullable_at(ctx) }

            "When an admin or an import last changed it."
            updated_at("updated_at") -> [R<DateTime>]("R<DateTime>")
            |self, ctx| { stored(self.0.updated_at()).map(DateTime).at(ctx) }
        }
    };
}

/// The interface, which has the fields that every kind has.
macro_rules! interface {
    (
        { $($enum:tt)* }
        $(
            $(#[$($meta:tt)*])*
            $description:literal
            $field:ident($name:tt) -> [$($type:tt)*]($type_text:tt)
            $(
                $argument:ident($argument_name:tt):
                    [$($argument_type:tt)*]($argument_type_text:tt)
                    $(= $default:tt)? => $argument_description:tt,
            )*
            |$this:tt, $ctx:ident| { $($resolver:tt)* }
        )*
    ) => {
        #[derive(Interface)]
        #[graphql($(field(
            name = $name,
            ty = $type_text,
            desc = $description,
            $(arg(
                name = $argument_name,
                ty = $argument_type_text,
                $(default_with = $default,)?
                desc = $argument_description
            )),*
        )),*)]
        $($enum)*
    };
}

/// The type of a kind: the fields that every kind has, and its own.
macro_rules! object {
    (
        { $(#[$($doc:tt)*])* $kind:ident { $($own:tt)* } }
        $(
            $(#[$($meta:tt)*])*
            $description:literal
            $field:ident($name:tt) -> [$($type:tt)*]($type_text:tt)
            $(
                $argument:ident($argument_name:tt):
                    [$($argument_type:tt)*]($argument_type_text:tt)
                    $(= $default:tt)? => $argument_description:tt,
            )*
            |$this:tt, $ctx:ident| { $($resolver:tt)* }
        )*
    ) => {
        $(#[$($doc)*])*
        #[derive(Clone, Debug)]
        pub(crate) struct $kind(pub(crate) ProductView);

        $(#[$($doc)*])*
        #[Object]
        impl $kind {
            $(
                #[doc = $description]
                $(#[$($meta)*])*
                pub(crate) async fn $field(
                    &$this,
                    $ctx: &Context<'_>,
                    $(
                        #[graphql($(default_with = $default,)? desc = $argument_description)]
                        $argument: $($argument_type)*,
                    )*
                ) -> $($type)* {
                    $($resolver)*
                }
            )*

            $($own)*
        }
    };
}

/// A kind and its own fields.
macro_rules! kind {
    ($($kind:tt)*) => {
        with_common_fields! { object! { $($kind)* } }
    };
}

with_common_fields! { interface! {
/// A product of any kind. Clients written today keep working when a kind appears: a kind they do
/// not know has these fields too.
pub(crate) enum Product {
    /// Clothes and shoes.
    Apparel(Apparel),
    /// A book.
    Book(Book),
    /// A thing with a plug or a battery.
    Electronics(Electronics),
    /// Food or drink.
    Grocery(Grocery),
    /// A film.
    Movie(Movie),
    /// Several products sold together.
    Bundle(Bundle),
    /// A product of a kind that nobody has written code for.
    GenericProduct(GenericProduct),
}
} }

impl Product {
    /// The concrete type that the product's kind has.
    pub(crate) fn of(view: ProductView) -> Result<Self, Failure> {
        Ok(match Kind::of(stored(view.kind())?) {
            Kind::Apparel => Self::Apparel(Apparel(view)),
            Kind::Book => Self::Book(Book(view)),
            Kind::Electronics => Self::Electronics(Electronics(view)),
            Kind::Grocery => Self::Grocery(Grocery(view)),
            Kind::Movie => Self::Movie(Movie(view)),
            Kind::Bundle => Self::Bundle(Bundle(view)),
            Kind::Other(_) => Self::GenericProduct(GenericProduct(view)),
        })
    }
}

/// The details of a product, if they are of the expected kind.
macro_rules! details {
    ($self:ident, $variant:ident) => {
        stored($self.0.details()).map(|details| match details {
            Details::$variant(details) => details,
            _ => product::$variant::default(),
        })
    };
}

kind! {
    /// Clothes and shoes.
    Apparel {
        /// How it is cut: `slim`, `regular`.
        async fn fit(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Apparel).map(|details| details.fit).nullable_at(ctx)
        }

        /// The measures of each size.
        async fn size_chart(&self, ctx: &Context<'_>) -> R<Vec<SizeChartRow>> {
            details!(self, Apparel).map(|details| all(details.size_chart)).at(ctx)
        }
    }
}

kind! {
    /// A book.
    Book {
        /// Who made it.
        async fn contributors(&self, ctx: &Context<'_>) -> R<Vec<Contributor>> {
            details!(self, Book).map(|details| all(details.contributors)).at(ctx)
        }

        /// The ISBN, digits only.
        async fn isbn(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Book).map(|details| details.isbn).nullable_at(ctx)
        }

        /// The form it comes in: `hardcover`, `paperback`, `e-book`.
        async fn format(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Book).map(|details| details.format).nullable_at(ctx)
        }

        /// How many pages it has.
        async fn pages(&self, ctx: &Context<'_>) -> Option<R<i32>> {
            details!(self, Book).map(|details| details.pages).nullable_at(ctx)
        }
    }
}

kind! {
    /// A thing with a plug or a battery.
    Electronics {
        /// The energy label: `A` to `G`.
        async fn energy_label(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Electronics).map(|details| details.energy_label).nullable_at(ctx)
        }

        /// The warranty in months.
        async fn warranty_months(&self, ctx: &Context<'_>) -> Option<R<i32>> {
            details!(self, Electronics).map(|details| details.warranty_months).nullable_at(ctx)
        }

        /// What it works with.
        async fn compatibility(&self, ctx: &Context<'_>) -> R<Vec<String>> {
            details!(self, Electronics).map(|details| details.compatibility).at(ctx)
        }
    }
}

kind! {
    /// Food or drink.
    Grocery {
        /// The list of ingredients.
        async fn ingredients(&self, ctx: &Context<'_>) -> Option<R<String>> {
            details!(self, Grocery).map(|details| details.ingredients).nullable_at(ctx)
        }

        /// The allergens in it.
        async fn allergens(&self, ctx: &Context<'_>) -> R<Vec<String>> {
            details!(self, Grocery).map(|details| details.allergens).at(ctx)
        }

        /// Nutrition facts per 100 g or 100 ml.
        async fn nutrition(&self, ctx: &Context<'_>) -> R<Vec<Measurement>> {
            details!(self, Grocery).map(|details| all(details.nutrition)).at(ctx)
        }
    }
}

kind! {
    /// A film.
    Movie {
        /// Who plays whom.
        async fn cast(&self, ctx: &Context<'_>) -> R<Vec<Contributor>> {
            details!(self, Movie).map(|details| all(details.cast)).at(ctx)
        }

        /// How long it is, in minutes.
        async fn runtime_minutes(&self, ctx: &Context<'_>) -> Option<R<i32>> {
            details!(self, Movie).map(|details| details.runtime_minutes).nullable_at(ctx)
        }
    }
}

kind! {
    /// Several products sold together.
    Bundle {
        /// The products in it, at most 100; those that the caller may not see are left out.
        async fn items(&self, ctx: &Context<'_>) -> R<Vec<BundleItem>> {
            let everything = ctx.session().sight == Visibility::Everything;
            let seen = |item: &product::BundleItem| everything || item.listed;
            let items = details!(self, Bundle).map(|details| details.items);
            items.map(|items| all(items.into_iter().filter(seen).collect())).at(ctx)
        }
    }
}

kind! {
    /// A product of a kind that nobody has written code for: everything about it is in its specs.
    GenericProduct {}
}

/// Why a product is treated otherwise than most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(crate) enum OutlierReason {
    /// It has more than 1,000 reviews.
    ManyReviews,
    /// It is hot: two who wrote reviews of it at once met.
    Conflict,
    /// It is hot: more than five reviews were written within a second.
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

/// How a product is treated because of its many reviews. Nothing about its fields changes.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct OutlierState {
    /// Whether it has more than 1,000 reviews: they are never counted on request.
    large: bool,
    /// Whether its reviews are counted a moment after they were written, many at a time.
    hot: bool,
    /// Since when it is one or the other, the longer of both; null when it is neither.
    since: Option<DateTime>,
    /// Why, that which lasts longest first; empty when it is neither.
    reason: Vec<OutlierReason>,
    /// Until when it is hot, if nothing renews it; null when it is not.
    hot_until: Option<DateTime>,
    /// Since when it is hot; null when it is not.
    hot_since: Option<DateTime>,
}

/// A product in a bundle, with what the bundle carries of it.
pub(crate) struct BundleItem(product::BundleItem);

impl From<product::BundleItem> for BundleItem {
    fn from(item: product::BundleItem) -> Self {
        Self(item)
    }
}

/// A product in a bundle, with what the bundle carries of it.
#[Object]
impl BundleItem {
    /// How many of it.
    async fn quantity(&self) -> i32 {
        self.0.quantity
    }

    /// Its name, as carried by the bundle.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The price of one, as carried by the bundle.
    async fn price(&self) -> Option<Money> {
        self.0.price.map(Money::from)
    }

    /// When the product was last changed before name and price were copied; null of old copies.
    /// The copies follow within seconds.
    async fn as_of(&self) -> Option<DateTime> {
        self.0.as_of.map(DateTime)
    }

    /// The product itself; null when the caller may not see it. One look-up for all items.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
        let found = ctx.session().loaders.product(self.0.product_id).await;
        found
            .and_then(|view| view.map(Product::of).transpose())
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
    if !session.viewer.has(Role::Admin) && !session.viewer.has(Role::Service) {
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

fn counters(view: &ProductView) -> Result<ProductCounters, Failure> {
    let (standing, sold) = (stored(view.standing())?, stored(view.sold())?);
    Ok(ProductCounters::of(standing, sold))
}

async fn category(view: &ProductView, ctx: &Context<'_>) -> Result<Category, Failure> {
    let id = stored(view.category())?;
    let reference = ctx.session().catalog.reference_for_category(id).await?;
    let missing =
        || Failure::internal(format!("category {id} of product {} is missing", view.id()));
    Category::of(&reference, id).ok_or_else(missing)
}

fn specs(
    view: &ProductView,
    ctx: &Context<'_>,
    keys: Option<Vec<String>>,
    units: Option<Vec<DisplayUnitInput>>,
) -> Result<Vec<Spec>, Failure> {
    let reference = ctx.session().catalog.reference();
    let display = Display::new(&reference, &units.unwrap_or_default())?;
    let name = |key: &String| {
        let known = reference.dictionary.get(key);
        known.map_or_else(|| key.clone(), |key| key.key.clone())
    };
    let keys: Option<Vec<String>> = keys.map(|keys| keys.iter().map(name).collect());
    let wanted = |key: &String| keys.as_ref().is_none_or(|keys| keys.contains(key));
    // While a key is being merged into another, products may still carry it.
    let named = stored(view.specs())?
        .into_iter()
        .map(|spec| vitrine_model::spec::Spec {
            key: name(&spec.key),
            ..spec
        });
    let specs = named.filter(|spec| wanted(&spec.key));
    Ok(specs.map(|spec| display.show(spec)).collect())
}

fn spec(
    view: &ProductView,
    ctx: &Context<'_>,
    key: String,
    unit: Option<String>,
) -> Result<Option<Spec>, Failure> {
    let asked = unit.map(|unit| {
        vec![DisplayUnitInput {
            unit,
            key: Some(key.clone()),
        }]
    });
    Ok(specs(view, ctx, Some(vec![key]), asked)?.into_iter().next())
}

fn top_reviews(view: &ProductView, first: Option<i32>) -> Result<Vec<ReviewExcerpt>, Failure> {
    let first = first.unwrap_or(MAX_TOP_REVIEWS);
    let wanted = usize::try_from(first)
        .ok()
        .filter(|_| (1..=MAX_TOP_REVIEWS).contains(&first));
    let wanted = wanted.ok_or_else(|| {
        Failure::bad_input(format!(
            "first: must be 1 to {MAX_TOP_REVIEWS}, not {first}"
        ))
    })?;
    let reviews = stored(view.top_reviews())?.into_iter().take(wanted);
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
    sort: Option<ReviewOrder>,
    filter: Option<ReviewFilterInput>,
) -> Result<ReviewConnection, Failure> {
    let filter = filter.unwrap_or_default().filter()?;
    let sort = filter::ReviewSort::from(sort.unwrap_or(ReviewOrder::Newest));
    let query = ReviewsQuery {
        product: view.id(),
        filter,
        sort,
        many: stored(view.outlier())?.many,
        page,
    };
    let catalog = &ctx.session().catalog;
    let carried = if carried::suffices(&ctx.field()) {
        catalog.reviews_carried(view, &query)?
    } else {
        None
    };
    let page = match carried {
        Some(page) => page,
        None => catalog.reviews(query).await?,
    };
    Ok(ReviewConnection::OfProduct {
        page,
        stats: Box::new(stored(view.stats())?),
        hot: stored(view.outlier())?.is_hot(catalog.now()),
    })
}

fn review_dimensions(view: &ProductView, ctx: &Context<'_>) -> Result<Vec<String>, Failure> {
    let (kind, category) = (stored(view.kind())?, stored(view.category())?);
    let reference = ctx.session().catalog.reference();
    Ok(reference.review_dimensions_of(kind, category))
}

fn outlier(view: &ProductView, ctx: &Context<'_>) -> Result<Option<OutlierState>, Failure> {
    let session = ctx.session();
    if session.viewer.admin().is_err() {
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
