//! Bulk changes, and the outcomes of their products.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use futures_util::FutureExt as _;
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::admin::bulk::{ListedBulkChanges, ListedBulkItems};
use vitrine_domain::page::PageArguments;
use vitrine_model::bulk::{self, BulkCounts};
use vitrine_model::id::GlobalId;

use super::common::{TotalCount, count};
use super::page::{Ends, PageInfo};
use super::product::Product;
use crate::execution::direct::One;
use crate::execution::{At as _, Failure, List, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// The state of a bulk change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "BulkChangeState", remote = "bulk::BulkState")]
pub(crate) enum BulkState {
    /// The matching products are being collected.
    Collecting,
    /// Products are being changed.
    Running,
    /// Every product has an outcome.
    Done,
    /// It was stopped. What it has changed stays.
    Stopped,
}

/// The outcome of a product of a bulk change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "BulkChangeOutcome", remote = "bulk::BulkOutcome")]
pub(crate) enum BulkOutcome {
    /// Its turn has not come yet.
    Waiting,
    /// It was changed; in a dry run, it would be.
    Changed,
    /// It was as wanted already.
    Unchanged,
    /// The change is not valid for it.
    Refused,
    /// It no longer matched when its turn came.
    Skipped,
}

/// The numbers of products of a bulk change by outcome. They are exact.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct BulkChangeCounts {
    /// Products collected so far.
    products: i32,
    /// Products whose turn has not come yet.
    waiting: i32,
    /// Products that were changed; in a dry run, that would be.
    changed: i32,
    /// Products that were as wanted already.
    unchanged: i32,
    /// Products for which the change is not valid.
    refused: i32,
    /// Products that no longer matched.
    skipped: i32,
}

impl From<BulkCounts> for BulkChangeCounts {
    fn from(counts: BulkCounts) -> Self {
        let BulkCounts {
            waiting,
            changed,
            unchanged,
            refused,
            skipped,
        } = counts;
        Self {
            products: count(waiting + changed + unchanged + refused + skipped),
            waiting: count(waiting),
            changed: count(changed),
            unchanged: count(unchanged),
            refused: count(refused),
            skipped: count(skipped),
        }
    }
}

#[derive(Clone)]
pub(crate) struct BulkChange(pub(crate) bulk::BulkChange);

/// One change of many products, made in the background: each product in a transaction of its own.
#[direct]
#[Object]
impl BulkChange {
    /// The id, for `bulkChange` and `stopBulkChange`.
    pub(crate) fn id(&self) -> ID {
        GlobalId::BulkChange(self.0.id).encode().into()
    }

    /// The state.
    fn state(&self) -> BulkState {
        self.0.state.into()
    }

    /// Whether products are left as they are.
    fn dry_run(&self) -> bool {
        self.0.dry_run
    }

    /// The numbers of products by outcome.
    fn counts(&self) -> BulkChangeCounts {
        self.0.counts.into()
    }

    /// When it was requested.
    fn started_at(&self) -> DateTime {
        DateTime(self.0.started_at)
    }

    /// The subject of the admin who requested it.
    fn started_by(&self) -> &str {
        &self.0.by
    }

    /// When it ended; null while it runs.
    fn ended_at(&self) -> Option<DateTime> {
        self.0.ended_at.map(DateTime)
    }

    /// When an admin asked it to stop.
    fn stop_requested_at(&self) -> Option<DateTime> {
        let stop = self.0.stop.as_ref();
        stop.map(|stop| DateTime(stop.at))
    }

    /// The subject of the admin who asked it to stop.
    fn stop_requested_by(&self) -> Option<&str> {
        self.0.stop.as_ref().map(|stop| stop.by.as_str())
    }

    /// A page of its products, in the order of their turns. One database query.
    async fn items(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only products with this outcome.")] outcome: Option<BulkOutcome>,
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
    ) -> Option<R<BulkChangeItemConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let catalog = &ctx.session().catalog;
        let of = (self.0.id, outcome.map(Into::into));
        let found = catalog.bulk_items(of, &page).boxed().await;
        found
            .map(|page| Some(BulkChangeItemConnection(page)))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }
}

#[derive(Clone)]
pub(crate) struct BulkChangeItem(bulk::BulkItem);

/// A product of a bulk change.
#[direct]
#[Object]
impl BulkChangeItem {
    /// The global id of the product.
    fn product_id(&self) -> ID {
        GlobalId::Product(self.0.product).encode().into()
    }

    /// The product as it is now.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        let found = ctx.session().loaders.product(self.0.product).await;
        found
            .and_then(|view| view.map(Product::one).transpose())
            .nullable_at(ctx)
    }

    /// Its outcome.
    fn outcome(&self) -> BulkOutcome {
        self.0.outcome.into()
    }

    /// Why it was refused.
    fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }
}

/// A product of a bulk change in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct BulkChangeItemEdge {
    /// The position in the list.
    cursor: String,
    /// The product.
    node: BulkChangeItem,
}

pub(crate) struct BulkChangeItemConnection(ListedBulkItems);

/// A page of the products of a bulk change.
#[direct]
#[Object]
impl BulkChangeItemConnection {
    /// The products with their cursors.
    fn edges(&self) -> List<BulkChangeItemEdge> {
        let rows = self.0.rows.iter();
        rows.map(|row| BulkChangeItemEdge {
            cursor: row.cursor(),
            node: BulkChangeItem(row.value.clone()),
        })
        .collect()
    }

    /// The products.
    fn nodes(&self) -> List<BulkChangeItem> {
        let rows = self.0.rows.iter();
        rows.map(|row| BulkChangeItem(row.value.clone())).collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::BulkItems(&self.0))
    }
}

/// A bulk change in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct BulkChangeEdge {
    /// The position in the list.
    cursor: String,
    /// The bulk change.
    node: BulkChange,
}

pub(crate) struct BulkChangeConnection(pub(crate) ListedBulkChanges);

/// A page of the bulk changes.
#[direct]
#[Object]
impl BulkChangeConnection {
    /// The bulk changes with their cursors.
    fn edges(&self) -> List<BulkChangeEdge> {
        let rows = self.0.rows.iter();
        rows.map(|row| BulkChangeEdge {
            cursor: row.cursor(),
            node: BulkChange(row.value.clone()),
        })
        .collect()
    }

    /// The bulk changes.
    fn nodes(&self) -> List<BulkChange> {
        let rows = self.0.rows.iter();
        rows.map(|row| BulkChange(row.value.clone())).collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::BulkChanges(&self.0))
    }

    /// The number of bulk changes. Counted only if selected.
    async fn total_count(&self, ctx: &Context<'_>) -> R<TotalCount> {
        let catalog = &ctx.session().catalog;
        let counted = catalog.count_bulk_changes().boxed().await;
        counted.map(TotalCount::exact).at(ctx)
    }
}
