//! Pages of lists, as the Relay specification has them.

use std::sync::Arc;

use async_graphql::{Context, Object, SimpleObject};
use vitrine_domain::facets::FacetsQuery;
use vitrine_domain::page::ListedRow;
use vitrine_domain::products::{ListedProducts, ProductView};
use vitrine_domain::products::{Total, TotalRelation};
use vitrine_domain::reference::ListedSpecKeys;
use vitrine_domain::reviewing::ListedQueue;
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
use crate::execution::{At as _, Failure, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::inputs::{DisplayUnitInput, size};

/// How many values of a facet there are when nobody says.
const DEFAULT_FACET: i32 = 20;
/// Up to how many products are counted when nobody says.
const DEFAULT_COUNT: u64 = 10_000;
/// Up to how many products may be counted.
const MAX_COUNT: u64 = 1_000_000;

/// Where a page lies in its list. All four are true statements about the list as it is now.
pub(crate) struct PageInfo<'a>(Ends<'a>);

enum Ends<'a> {
    Products(&'a ListedProducts),
    Reviews(&'a ListedReviews),
    Queue(&'a ListedQueue),
    SpecKeys(&'a ListedSpecKeys),
    Suppliers(&'a ListedSuppliers),
}

/// Where a page lies in its list. All four are true statements about the list as it is now.
#[Object]
impl PageInfo<'_> {
    /// Whether rows follow the page. When reading backwards this looks once into the list.
    async fn has_next_page(&self, ctx: &Context<'_>) -> R<bool> {
        let catalog = &ctx.session().catalog;
        match self.0 {
            Ends::Products(page) => catalog.products_follow(page).await.at(ctx),
            Ends::Reviews(page) => catalog.reviews_follow(page).await.at(ctx),
            Ends::Queue(page) => catalog.queue_follows(page).await.at(ctx),
            Ends::SpecKeys(page) => Ok(page.follows()),
            Ends::Suppliers(page) => catalog.suppliers_follow(page).await.at(ctx),
        }
    }

    /// Whether rows come before the page. When reading forwards this looks once into the list.
    async fn has_previous_page(&self, ctx: &Context<'_>) -> R<bool> {
        let catalog = &ctx.session().catalog;
        match self.0 {
            Ends::Products(page) => catalog.products_precede(page).await.at(ctx),
            Ends::Reviews(page) => catalog.reviews_precede(page).await.at(ctx),
            Ends::Queue(page) => catalog.queue_precedes(page).await.at(ctx),
            Ends::SpecKeys(page) => Ok(page.precedes()),
            Ends::Suppliers(page) => catalog.suppliers_precede(page).await.at(ctx),
        }
    }

    /// The cursor of the first row; null on an empty page.
    async fn start_cursor(&self) -> Option<&str> {
        match self.0 {
            Ends::Products(page) => page.rows.first().map(|row| row.cursor.as_str()),
            Ends::Reviews(page) => page.rows.first().map(|row| row.cursor.as_str()),
            Ends::Queue(page) => page.rows.first().map(|row| row.cursor.as_str()),
            Ends::SpecKeys(page) => page.rows.first().map(|row| row.cursor.as_str()),
            Ends::Suppliers(page) => page.rows.first().map(|row| row.cursor.as_str()),
        }
    }

    /// The cursor of the last row; null on an empty page.
    async fn end_cursor(&self) -> Option<&str> {
        match self.0 {
            Ends::Products(page) => page.rows.last().map(|row| row.cursor.as_str()),
            Ends::Reviews(page) => page.rows.last().map(|row| row.cursor.as_str()),
            Ends::Queue(page) => page.rows.last().map(|row| row.cursor.as_str()),
            Ends::SpecKeys(page) => page.rows.last().map(|row| row.cursor.as_str()),
            Ends::Suppliers(page) => page.rows.last().map(|row| row.cursor.as_str()),
        }
    }
}

/// A product in a list.
#[derive(SimpleObject)]
pub(crate) struct ProductEdge {
    /// The product's place in this list; good for `after` and `before` with the same filter and
    /// sort.
    cursor: String,
    /// The product.
    node: Product,
}

/// A part of a list of products.
pub(crate) struct ProductConnection {
    pub(crate) page: ListedProducts,
}

/// A part of a list of products.
#[Object]
impl ProductConnection {
    /// The products with their cursors.
    async fn edges(&self, ctx: &Context<'_>) -> R<Vec<ProductEdge>> {
        let edge = |row: &vitrine_domain::page::ListedRow<ProductView>| {
            Ok(ProductEdge {
                cursor: row.cursor.clone(),
                node: Product::of(row.value.clone())?,
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
    async fn nodes(&self, ctx: &Context<'_>) -> R<Vec<Product>> {
        let nodes = self
            .page
            .rows
            .iter()
            .map(|row| Product::of(row.value.clone()));
        nodes.collect::<Result<_, Failure>>().at(ctx)
    }

    /// Where the page lies in the list.
    async fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::Products(&self.page))
    }

    /// How many products the whole list has. Counted only when selected.
    async fn total_count(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Stop counting here: 1 to 1,000,000; 10,000 when absent.")] up_to: Option<
            i32,
        >,
    ) -> R<TotalCount> {
        let most = match up_to {
            None => DEFAULT_COUNT,
            Some(n) => within(n).at(ctx)?,
        };
        let total = ctx.session().catalog.count_products(&self.page, most).await;
        total.map(TotalCount::from).at(ctx)
    }

    /// What the products of the whole list can be narrowed down by. Counted only when selected.
    async fn facets(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "Only these, in this order: spec keys or aliases, `@category`, `@brand`, `@price`, `@rating`, `@country`. Those that suit the list when absent."
        )]
        keys: Option<Vec<String>>,
        #[graphql(
            default_with = "Some(DEFAULT_FACET)",
            desc = "How many values of a facet at most: 1 to 200."
        )]
        limit: Option<i32>,
        #[graphql(
            desc = "Units to show quantities in; of each key the one that most of its values were entered in when absent."
        )]
        display_units: Option<Vec<DisplayUnitInput>>,
    ) -> R<Vec<Facet>> {
        let units = display_units.unwrap_or_default().into_iter();
        let wanted = FacetsQuery {
            keys,
            limit: size("limit", limit.unwrap_or(DEFAULT_FACET)).at(ctx)?,
            display_units: units.map(|asked| (asked.unit, asked.key)).collect(),
        };
        let found = ctx.session().catalog.facets(&self.page, wanted).await;
        let shown = found
            .map_err(Failure::from)
            .and_then(|facets| facets.into_iter().map(Facet::of).collect());
        shown.at(ctx)
    }

    /// How the text of the search was read; null without a search.
    async fn search(&self, ctx: &Context<'_>) -> Option<R<SearchReading>> {
        let reading = ctx.session().catalog.search_reading(&self.page).await;
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

/// A review in a list.
#[derive(SimpleObject)]
pub(crate) struct ReviewEdge {
    /// The review's place in this list; good for `after` and `before` of the same list: with the same
    /// product, filter and sort, or with the same reason.
    cursor: String,
    /// The review.
    node: Review,
}

/// A part of a list of reviews.
pub(crate) enum ReviewConnection {
    /// Of the published reviews of a product.
    OfProduct {
        page: ListedReviews,
        stats: Box<RatingStats>,
        /// Whether its reviews are counted a moment after they were written.
        hot: bool,
    },
    /// Of those that wait for a moderator.
    Waiting(ListedQueue),
}

impl ReviewConnection {
    fn rows(&self) -> &[ListedRow<review::Review>] {
        match self {
            Self::OfProduct { page, .. } => &page.rows,
            Self::Waiting(page) => &page.rows,
        }
    }
}

/// A part of a list of reviews.
#[Object]
impl ReviewConnection {
    /// The reviews with their cursors.
    async fn edges(&self) -> Vec<ReviewEdge> {
        let edge = |row: &ListedRow<review::Review>| ReviewEdge {
            cursor: row.cursor.clone(),
            node: Review(Arc::new(row.value.clone())),
        };
        self.rows().iter().map(edge).collect()
    }

    /// The reviews.
    async fn nodes(&self) -> Vec<Review> {
        self.rows()
            .iter()
            .map(|row| Review(Arc::new(row.value.clone())))
            .collect()
    }

    /// Where the page lies in the list.
    async fn page_info(&self) -> PageInfo<'_> {
        match self {
            Self::OfProduct { page, .. } => PageInfo(Ends::Reviews(page)),
            Self::Waiting(page) => PageInfo(Ends::Queue(page)),
        }
    }

    /// How many reviews the whole list has. Of a product's reviews from its rating numbers: costs
    /// nothing, at any number of reviews; an `ESTIMATE` while many write reviews of the product at
    /// once, or some of the page are not counted yet.
    /// Of reviews that wait for a moderator counted, only when selected.
    async fn total_count(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "Say no more than this: 1 to 1,000,000. When absent everything, of reviews that wait 10,000."
        )]
        up_to: Option<i32>,
    ) -> R<TotalCount> {
        let most = up_to.map(within).transpose().at(ctx)?;
        let total = match self {
            Self::OfProduct { page, stats, hot } => {
                // Reviews that wait for the fold are on the page before they are in the numbers.
                let behind = *hot || self.rows().iter().any(|row| row.value.dirty);
                let seen = self.rows().len();
                of_product(
                    count_in(stats, &page.list.filter),
                    behind.then_some(seen),
                    most,
                )
            }
            Self::Waiting(page) => {
                let most = most.unwrap_or(DEFAULT_COUNT);
                let catalog = &ctx.session().catalog;
                let found = catalog.count_queue(page.list, most.saturating_add(1)).await;
                limited(found.at(ctx)?, most)
            }
        };
        Ok(total.into())
    }
}

/// How many reviews of a product there are, told up to `most`. While some are not counted yet, the
/// number of those that were seen is known.
fn of_product(counted: i64, behind: Option<usize>, most: Option<u64>) -> Total {
    let counted = u64::try_from(counted).unwrap_or(0);
    let most = most.unwrap_or(u64::MAX);
    let Some(seen) = behind else {
        return limited(counted, most);
    };
    Total {
        value: counted.max(u64::try_from(seen).unwrap_or(0)).min(most),
        relation: TotalRelation::Estimate,
    }
}

/// A number, told up to `most`.
fn limited(found: u64, most: u64) -> Total {
    let relation = if found <= most {
        TotalRelation::Exact
    } else {
        TotalRelation::AtLeast
    };
    Total {
        value: found.min(most),
        relation,
    }
}

/// A spec key in a list.
#[derive(SimpleObject)]
pub(crate) struct SpecKeyEdge {
    /// The key's place in this list.
    cursor: String,
    /// The key.
    node: SpecKey,
}

/// A part of the spec dictionary.
pub(crate) struct SpecKeyConnection(pub(crate) ListedSpecKeys);

/// A part of the spec dictionary.
#[Object]
impl SpecKeyConnection {
    /// The keys with their cursors.
    async fn edges(&self) -> Vec<SpecKeyEdge> {
        let rows = self.0.rows.iter();
        rows.map(|row| SpecKeyEdge {
            cursor: row.cursor.clone(),
            node: SpecKey(row.value.clone()),
        })
        .collect()
    }

    /// The keys.
    async fn nodes(&self) -> Vec<SpecKey> {
        self.0
            .rows
            .iter()
            .map(|row| SpecKey(row.value.clone()))
            .collect()
    }

    /// Where the page lies in the list.
    async fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::SpecKeys(&self.0))
    }

    /// How many keys the dictionary has.
    async fn total_count(&self) -> TotalCount {
        Total {
            value: u64::try_from(count(self.0.list)).unwrap_or(0),
            relation: TotalRelation::Exact,
        }
        .into()
    }
}

/// A supplier in a list.
#[derive(SimpleObject)]
pub(crate) struct SupplierEdge {
    /// The supplier's place in this list.
    cursor: String,
    /// The supplier.
    node: Supplier,
}

/// A part of the list of suppliers.
pub(crate) struct SupplierConnection(pub(crate) ListedSuppliers);

/// A part of the list of suppliers.
#[Object]
impl SupplierConnection {
    /// The suppliers with their cursors.
    async fn edges(&self) -> Vec<SupplierEdge> {
        let rows = self.0.rows.iter();
        rows.map(|row| SupplierEdge {
            cursor: row.cursor.clone(),
            node: Supplier(row.value.clone()),
        })
        .collect()
    }

    /// The suppliers.
    async fn nodes(&self) -> Vec<Supplier> {
        let rows = self.0.rows.iter();
        rows.map(|row| Supplier(row.value.clone())).collect()
    }

    /// Where the page lies in the list.
    async fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::Suppliers(&self.0))
    }

    /// How many suppliers there are. Counted only when selected.
    async fn total_count(&self, ctx: &Context<'_>) -> R<TotalCount> {
        let counted = ctx.session().catalog.count_suppliers().await;
        counted
            .map(|value| Total {
                value,
                relation: TotalRelation::Exact,
            })
            .map(TotalCount::from)
            .at(ctx)
    }
}
