//! Connections: pages of lists, as defined by the Relay cursor connections specification.

use std::sync::Arc;

use async_graphql::{Context, Object, SimpleObject};
use futures_util::FutureExt as _;
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::admin::bulk::{ListedBulkChanges, ListedBulkItems};
use vitrine_domain::facets::FacetsQuery;
use vitrine_domain::history::ListedHistory;
use vitrine_domain::import_runs::{ListedImports, ListedRejects};
use vitrine_domain::page::ListedRow;
use vitrine_domain::products::{ListedProducts, ProductView};
use vitrine_domain::products::{Total, TotalRelation};
use vitrine_domain::reference::ListedSpecKeys;
use vitrine_domain::reviewing::QueuePage;
use vitrine_domain::reviews::{ListedReviews, count_in};
use vitrine_domain::suppliers::ListedSuppliers;
use vitrine_model::rating::RatingStats;
use vitrine_model::review;

use super::common::{TotalCount, count};
use super::facet::Facet;
use super::product::Product;
use super::review::Review;
use super::search::SearchReading;
use super::spec::SpecKey;
use super::supplier::Supplier;
use crate::execution::direct::One;
use crate::execution::{At as _, Failure, Hint, List, NullableAt as _, R, hint};
use crate::graphql::context::ContextExt as _;
use crate::graphql::inputs::{DisplayUnitInput, size};
use crate::graphql::once::once;

/// The default number of values per facet.
const DEFAULT_FACET: i32 = 20;
/// The default limit for counting the products or queued reviews of a list.
const DEFAULT_COUNT: u64 = 10_000;
/// The maximum limit for counting the rows of a list.
const MAX_COUNT: u64 = 1_000_000;

pub(crate) struct PageInfo<'a>(pub(super) Ends<'a>);

pub(super) enum Ends<'a> {
    Products(&'a ListedProducts),
    Reviews(&'a ListedReviews),
    Queue(&'a QueuePage),
    SpecKeys(&'a ListedSpecKeys),
    Suppliers(&'a ListedSuppliers),
    Imports(&'a ListedImports),
    Rejects(&'a ListedRejects),
    History(&'a ListedHistory),
    BulkItems(&'a ListedBulkItems),
    BulkChanges(&'a ListedBulkChanges),
}

/// The position of a page in its list. Both flags are exact and describe the list as it is now.
#[direct]
#[Object]
impl PageInfo<'_> {
    /// Whether rows follow the page. When paging backwards, this needs a database query.
    async fn has_next_page(&self, ctx: &Context<'_>) -> R<bool> {
        let catalog = &ctx.session().catalog;
        match self.0 {
            Ends::Products(page) => catalog.products_follow(page).boxed().await.at(ctx),
            Ends::Reviews(page) => catalog.reviews_follow(page).boxed().await.at(ctx),
            Ends::Queue(page) => catalog.queue_follows(page).boxed().await.at(ctx),
            Ends::SpecKeys(page) => Ok(page.follows()),
            Ends::Suppliers(page) => catalog.suppliers_follow(page).boxed().await.at(ctx),
            Ends::Imports(page) => catalog.imports_follow(page).boxed().await.at(ctx),
            Ends::Rejects(page) => catalog.rejects_follow(page).boxed().await.at(ctx),
            Ends::History(page) => catalog.history_follows(page).boxed().await.at(ctx),
            Ends::BulkItems(page) => catalog.bulk_items_follow(page).boxed().await.at(ctx),
            Ends::BulkChanges(page) => catalog.bulk_changes_follow(page).boxed().await.at(ctx),
        }
    }

    /// Whether rows precede the page. When paging forwards, this needs a database query.
    async fn has_previous_page(&self, ctx: &Context<'_>) -> R<bool> {
        let catalog = &ctx.session().catalog;
        match self.0 {
            Ends::Products(page) => catalog.products_precede(page).boxed().await.at(ctx),
            Ends::Reviews(page) => catalog.reviews_precede(page).boxed().await.at(ctx),
            Ends::Queue(page) => catalog.queue_precedes(page).boxed().await.at(ctx),
            Ends::SpecKeys(page) => Ok(page.precedes()),
            Ends::Suppliers(page) => catalog.suppliers_precede(page).boxed().await.at(ctx),
            Ends::Imports(page) => catalog.imports_precede(page).boxed().await.at(ctx),
            Ends::Rejects(page) => catalog.rejects_precede(page).boxed().await.at(ctx),
            Ends::History(page) => catalog.history_precedes(page).boxed().await.at(ctx),
            Ends::BulkItems(page) => catalog.bulk_items_precede(page).boxed().await.at(ctx),
            Ends::BulkChanges(page) => catalog.bulk_changes_precede(page).boxed().await.at(ctx),
        }
    }

    /// The cursor of the first row; null on an empty page. If a page that was read backwards was not filled because
    /// only so many products are looked through, the cursor of the last one of these.
    fn start_cursor(&self) -> Option<String> {
        match self.0 {
            Ends::Products(page) => page.start_cursor(),
            Ends::Reviews(page) => page.start_cursor(),
            Ends::Queue(page) => page.start_cursor(),
            Ends::SpecKeys(page) => page.rows.first().map(ListedRow::cursor),
            Ends::Suppliers(page) => page.start_cursor(),
            Ends::Imports(page) => page.start_cursor(),
            Ends::Rejects(page) => page.start_cursor(),
            Ends::History(page) => page.start_cursor(),
            Ends::BulkItems(page) => page.start_cursor(),
            Ends::BulkChanges(page) => page.start_cursor(),
        }
    }

    /// The cursor of the last row; null on an empty page. If a page was not filled because only so many products are
    /// looked through, the cursor of the last one of these: the next page begins there.
    fn end_cursor(&self) -> Option<String> {
        match self.0 {
            Ends::Products(page) => page.end_cursor(),
            Ends::Reviews(page) => page.end_cursor(),
            Ends::Queue(page) => page.end_cursor(),
            Ends::SpecKeys(page) => page.rows.last().map(ListedRow::cursor),
            Ends::Suppliers(page) => page.end_cursor(),
            Ends::Imports(page) => page.end_cursor(),
            Ends::Rejects(page) => page.end_cursor(),
            Ends::History(page) => page.end_cursor(),
            Ends::BulkItems(page) => page.end_cursor(),
            Ends::BulkChanges(page) => page.end_cursor(),
        }
    }
}

/// A product in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct ProductEdge {
    /// The position of the product in this list. Valid for `after` and `before` with the same
    /// filter and sort.
    cursor: String,
    /// The product.
    node: One<Product>,
}

pub(crate) struct ProductConnection {
    pub(crate) page: Arc<ListedProducts>,
}

/// A page of a list of products.
#[direct]
#[Object]
impl ProductConnection {
    /// The products with their cursors.
    fn edges(&self, ctx: &Context<'_>) -> R<List<ProductEdge>> {
        let edge = |row: &ListedRow<ProductView>| {
            Ok(ProductEdge {
                cursor: row.cursor(),
                node: Product::one(row.value.clone())?,
            })
        };
        self.page
            .rows
            .iter()
            .map(edge)
            .collect::<Result<_, Failure>>()
            .at(ctx)
    }

    /// The products.
    fn nodes(&self, ctx: &Context<'_>) -> R<List<Product>> {
        let nodes = self
            .page
            .rows
            .iter()
            .map(|row| Product::of(row.value.clone()));
        nodes.collect::<Result<_, Failure>>().at(ctx)
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::Products(&self.page))
    }

    /// The number of products in the whole list. Counted only if selected.
    async fn total_count(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The number at which counting stops: 1 to 1,000,000; 10,000 when absent."
        )]
        up_to: Option<i32>,
    ) -> R<TotalCount> {
        let max = match up_to {
            None => DEFAULT_COUNT,
            Some(n) => within(n).at(ctx)?,
        };
        let catalog = &ctx.session().catalog;
        let counted = catalog.count_products(&self.page, max).boxed();
        let arguments = format!("{:?}", (self.page.selection(), max));
        let total = once(ctx, arguments, counted).await;
        total.map(|total| TotalCount::from(*total)).at(ctx)
    }

    /// The facets of the whole list. Computed only if selected.
    async fn facets(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The facets to return, in this order: spec keys or aliases, `@category`, `@brand`, `@price`, `@rating`, `@country`. When absent, the service chooses facets that suit the list."
        )]
        keys: Option<Vec<String>>,
        #[graphql(
            default_with = "Some(DEFAULT_FACET)",
            desc = "The maximum number of values per facet: 1 to 200."
        )]
        limit: Option<i32>,
        #[graphql(
            desc = "The units for quantities. When absent, each key uses the unit in which most of its values were entered."
        )]
        display_units: Option<Vec<DisplayUnitInput>>,
    ) -> R<List<Facet>> {
        let units = display_units.unwrap_or_default().into_iter();
        let query = FacetsQuery {
            keys,
            limit: size("limit", limit.unwrap_or(DEFAULT_FACET)).at(ctx)?,
            display_units: units.map(|display| (display.unit, display.key)).collect(),
        };
        let arguments = format!("{:?}", (self.page.selection(), &query));
        let keys = query.keys.clone().unwrap_or_default();
        let session = ctx.session();
        let found = session.catalog.facets(&self.page, query).boxed();
        let found = once(ctx, arguments, found).await;
        let hints = session.catalog.facet_hints(&keys, session.visibility);
        hint(ctx, hints.into_iter().map(Hint::from));
        found.map(|facets| Facet::all(&facets)).at(ctx)
    }

    /// How many products were looked through for the page, if those are not all; otherwise null. Some filters are
    /// checked product by product: `or`, `not`, `rating`, a price unless the list is sorted by it, or several
    /// values together. Among very many products, such a list looks through so many of them for each page. The page
    /// may then be short, or empty; `hasNextPage` is true, and the next page continues at `endCursor`. The list has
    /// all matches. For a search, see `SearchReading.lookedThrough`.
    fn looked_through(&self) -> Option<i32> {
        self.page.looked_through.map(u32::cast_signed)
    }

    /// How the search text was interpreted; null without a search.
    async fn search(&self, ctx: &Context<'_>) -> Option<R<SearchReading>> {
        let reading = ctx
            .session()
            .catalog
            .search_reading(&self.page)
            .boxed()
            .await;
        reading
            .map(|reading| reading.map(SearchReading::from))
            .nullable_at(ctx)
    }
}

fn within(up_to: i32) -> Result<u64, Failure> {
    let fits = u64::try_from(up_to)
        .ok()
        .filter(|n| (1..=MAX_COUNT).contains(n));
    fits.ok_or_else(|| Failure::bad_input(format!("upTo: must be 1 to {MAX_COUNT}, not {up_to}")))
}

/// A review in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct ReviewEdge {
    /// The position of the review in this list. Valid for `after` and `before` in the same list:
    /// for a product's reviews with the same filter and sort, for the moderation queue with the
    /// same reason.
    cursor: String,
    /// The review.
    node: One<Review>,
}

#[expect(clippy::large_enum_variant, reason = "a product has one")]
pub(crate) enum ReviewConnection {
    /// Published reviews of a product.
    OfProduct {
        page: Arc<ListedReviews>,
        stats: Arc<RatingStats>,
        /// Whether the product is hot, so that its reviews are counted with a short delay.
        hot: bool,
    },
    /// Reviews waiting for a moderator.
    Waiting(QueuePage),
}

impl ReviewConnection {
    fn rows(&self) -> &[ListedRow<Arc<review::Review>>] {
        match self {
            Self::OfProduct { page, .. } => &page.rows,
            Self::Waiting(page) => &page.rows,
        }
    }
}

/// A page of a list of reviews.
#[direct]
#[Object]
impl ReviewConnection {
    /// The reviews with their cursors.
    fn edges(&self) -> List<ReviewEdge> {
        let edge = |row: &ListedRow<Arc<review::Review>>| ReviewEdge {
            cursor: row.cursor(),
            node: One(Review(Arc::clone(&row.value))),
        };
        self.rows().iter().map(edge).collect()
    }

    /// The reviews.
    fn nodes(&self) -> List<Review> {
        let rows = self.rows().iter();
        rows.map(|row| Review(Arc::clone(&row.value))).collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        match self {
            Self::OfProduct { page, .. } => PageInfo(Ends::Reviews(page)),
            Self::Waiting(page) => PageInfo(Ends::Queue(page)),
        }
    }

    /// The number of reviews in the whole list.
    ///
    /// For a product's reviews it is read from the rating numbers, without a database query. It is
    /// an `ESTIMATE` while the product receives many reviews at once or some reviews of the page
    /// are not yet counted.
    ///
    /// For the moderation queue the reviews are counted, only if selected.
    async fn total_count(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The largest number to report: 1 to 1,000,000. When absent, no limit for a product's reviews and 10,000 for the moderation queue."
        )]
        up_to: Option<i32>,
    ) -> R<TotalCount> {
        let max = up_to.map(within).transpose().at(ctx)?;
        let total = match self {
            Self::OfProduct { page, stats, hot } => {
                // The page may contain reviews that are not yet folded into the numbers.
                let behind = *hot || self.rows().iter().any(|row| row.value.dirty);
                let seen = self.rows().len();
                of_product(
                    count_in(stats, &page.list.filter),
                    behind.then_some(seen),
                    max,
                )
            }
            Self::Waiting(page) => {
                let max = max.unwrap_or(DEFAULT_COUNT);
                let catalog = &ctx.session().catalog;
                let found = catalog
                    .count_queue(&page.list, max.saturating_add(1))
                    .boxed()
                    .await;
                limited(found.at(ctx)?, max)
            }
        };
        Ok(total.into())
    }
}

/// Returns the number of a product's reviews, capped at `max`. While some are not yet counted, the
/// number is an estimate of at least the reviews seen on the page.
fn of_product(counted: i64, behind: Option<usize>, max: Option<u64>) -> Total {
    let counted = u64::try_from(counted).unwrap_or(0);
    let max = max.unwrap_or(u64::MAX);
    let Some(seen) = behind else {
        return limited(counted, max);
    };
    Total {
        value: counted.max(u64::try_from(seen).unwrap_or(0)).min(max),
        relation: TotalRelation::Estimate,
    }
}

/// Caps a number at `max`.
fn limited(found: u64, max: u64) -> Total {
    let relation = if found <= max {
        TotalRelation::Exact
    } else {
        TotalRelation::AtLeast
    };
    Total {
        value: found.min(max),
        relation,
    }
}

/// A spec key in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct SpecKeyEdge {
    /// The position of the key in the list.
    cursor: String,
    /// The spec key.
    node: SpecKey,
}

pub(crate) struct SpecKeyConnection(pub(crate) ListedSpecKeys);

/// A page of the spec dictionary.
#[direct]
#[Object]
impl SpecKeyConnection {
    /// The spec keys with their cursors.
    fn edges(&self) -> List<SpecKeyEdge> {
        let rows = self.0.rows.iter();
        rows.map(|row| SpecKeyEdge {
            cursor: row.cursor(),
            node: SpecKey(row.value.clone()),
        })
        .collect()
    }

    /// The spec keys.
    fn nodes(&self) -> List<SpecKey> {
        self.0
            .rows
            .iter()
            .map(|row| SpecKey(row.value.clone()))
            .collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::SpecKeys(&self.0))
    }

    /// The number of keys in the list.
    fn total_count(&self) -> TotalCount {
        Total {
            value: u64::try_from(count(self.0.list)).unwrap_or(0),
            relation: TotalRelation::Exact,
        }
        .into()
    }
}

/// A supplier in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct SupplierEdge {
    /// The position of the supplier in the list.
    cursor: String,
    /// The supplier.
    node: Supplier,
}

pub(crate) struct SupplierConnection(pub(crate) ListedSuppliers);

/// A page of the list of suppliers.
#[direct]
#[Object]
impl SupplierConnection {
    /// The suppliers with their cursors.
    fn edges(&self) -> List<SupplierEdge> {
        let rows = self.0.rows.iter();
        rows.map(|row| SupplierEdge {
            cursor: row.cursor(),
            node: Supplier(row.value.clone()),
        })
        .collect()
    }

    /// The suppliers.
    fn nodes(&self) -> List<Supplier> {
        let rows = self.0.rows.iter();
        rows.map(|row| Supplier(row.value.clone())).collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::Suppliers(&self.0))
    }

    /// The number of suppliers in the list. Counted only if selected.
    async fn total_count(&self, ctx: &Context<'_>) -> R<TotalCount> {
        let counted = ctx.session().catalog.count_suppliers(&self.0).boxed().await;
        counted
            .map(|value| Total {
                value,
                relation: TotalRelation::Exact,
            })
            .map(TotalCount::from)
            .at(ctx)
    }
}
