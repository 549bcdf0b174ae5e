//! The query root.

use std::sync::Arc;

use async_graphql::{Context, ID, Lookahead, Object};
use futures_util::FutureExt as _;
use vitrine_domain::DomainError;
use vitrine_domain::page::PageArguments;
use vitrine_domain::products::{ProductFields, ProductKey, ProductsQuery};
use vitrine_domain::reviewing::QueueQuery;
use vitrine_domain::reviewing::erasure::MAX_LINES;
use vitrine_model::cursor::InvalidCursor;
use vitrine_model::history::HistoryOf;
use vitrine_model::id::GlobalId;
use vitrine_model::moderation::{QueueList, QueueSort};

use super::context::ContextExt as _;
use super::inputs::queue::{ModerationQueueFilterInput, ModerationQueueSort};
use super::inputs::{ProductFilterInput, ProductSortInput, size, sort};
use super::once::once;
use super::permissions;
use super::scalars::DateTime;
use super::top_reviews;
use super::types;
use super::types::activity::{TrendingProduct, TrendingWindow};
use super::types::audit::AuditFindings;
use super::types::bulk::{BulkChange, BulkChangeConnection};
use super::types::category::Category;
use super::types::coverage::SuggestedSpecKey;
use super::types::details::all;
use super::types::erasure::AuthorExport;
use super::types::history::HistoryConnection;
use super::types::import_run::{ImportRun, ImportRunConnection};
use super::types::moderation::{FairnessReport, ModerationCounts, QueueReason};
use super::types::node::Node;
use super::types::operations::{self, DataVersionProgress, WorkerStatus};
use super::types::page::{
    ProductConnection, ReviewConnection, SpecKeyConnection, SupplierConnection,
};
use super::types::product::Product;
use super::types::review::Review;
use super::types::reviewing::RatingStatsAudit;
use super::types::spec::{SpecKey, Unit, units};
use super::types::supplier::Supplier;
use super::types::viewer::Viewer;
use crate::execution::direct::One;
use crate::execution::{At as _, Failure, Hint, List, NullableAt as _, R, hint};

/// The maximum number of ids in `nodes`.
pub(super) const MAX_NODES: usize = 100;
/// The default number of products in a rating audit.
const DEFAULT_AUDIT: i32 = 20;

/// The query root.
#[derive(Clone, Copy, Debug)]
pub struct Query;

/// The query root.
#[Object]
impl Query {
    /// An object by its global id; null if it does not exist or the caller may not see it.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the object.")] id: ID,
    ) -> Option<R<Node>> {
        node(ctx, &id).await.nullable_at(ctx)
    }

    /// Several objects by their global ids, in the order of the ids; null for each object that does
    /// not exist or that the caller may not see. One database query per type of object.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global ids; at most 100.")] ids: Vec<ID>,
    ) -> Option<R<List<Option<R<Node>>>>> {
        if ids.len() > MAX_NODES {
            let message = format!("ids: at most {MAX_NODES} at once, not {}", ids.len());
            return Err(Failure::bad_input(message)).some_at(ctx);
        }
        let found = futures_util::future::join_all(ids.iter().map(|id| node(ctx, id))).await;
        let numbered = found.into_iter().enumerate();
        let found = numbered
            .map(|(at, node)| node.nullable_item_at(ctx, at))
            .collect();
        Some(Ok(found))
    }

    /// A product by its id, slug or SKU; null if it does not exist or the caller may not see it.
    /// Give exactly one argument.
    async fn product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the product.")] id: Option<ID>,
        #[graphql(desc = "The slug of the product.")] slug: Option<String>,
        #[graphql(desc = "The stock-keeping unit (SKU) of the product.")] sku: Option<String>,
    ) -> Option<R<One<Product>>> {
        product(ctx, id, slug, sku).await.nullable_at(ctx)
    }

    /// A page of the products that the caller may see, with search, filter and sort. Paged by
    /// cursor only; deep pages cost the same as the first one.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of the field"
    )]
    async fn products(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which products to return; all when absent.")] filter: Option<
            ProductFilterInput,
        >,
        #[graphql(
            desc = "The search text, at most 200 characters. Products must match all words, in any order. The last word may be a prefix, and one wrong letter per word is corrected. Only the first 8 words are used."
        )]
        search: Option<String>,
        #[graphql(
            desc = "The sort order: one entry. When absent, by relevance with a search, otherwise by popularity. Ties are broken by id."
        )]
        sort: Option<Vec<ProductSortInput>>,
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
    ) -> Option<R<One<ProductConnection>>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let found = products(ctx, filter, search, sort, page).await;
        found.map(One).some_at(ctx)
    }

    /// The category with this slug; null if it does not exist.
    async fn category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The slug of the category.")] slug: String,
    ) -> Option<R<Category>> {
        let reference = ctx
            .session()
            .catalog
            .reference_for_slug(&slug)
            .boxed()
            .await;
        let category = reference.map(|reference| Category::by_slug(&reference, &slug));
        category.map_err(Failure::from).nullable_at(ctx)
    }

    /// The top-level categories, sorted by name. Use `children` to go down the tree, or `search` to find categories of
    /// any level.
    async fn categories(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The beginnings of words, without regard to case and accents: returns at most 20 categories of any level whose names have them."
        )]
        search: Option<String>,
    ) -> R<List<Category>> {
        let reference = ctx.session().catalog.reference();
        let found = match search.as_deref() {
            None => Ok(Category::below(&reference, None)),
            Some(search) => Category::found(&reference, search),
        };
        found.map(List::from).map_err(Failure::from).at(ctx)
    }

    /// The supplier with this id; null if it does not exist.
    async fn supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the supplier.")] id: ID,
    ) -> Option<R<Supplier>> {
        supplier(ctx, &id).await.nullable_at(ctx)
    }

    /// A page of suppliers, sorted by name.
    async fn suppliers(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The beginnings of words, without regard to case and accents: only suppliers whose names have them."
        )]
        search: Option<String>,
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
    ) -> Option<R<SupplierConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let found = ctx
            .session()
            .catalog
            .suppliers(search.as_deref(), &page)
            .boxed()
            .await;
        found
            .map(|page| Some(SupplierConnection(page)))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }

    /// All known units of measure.
    async fn units(&self, ctx: &Context<'_>) -> List<Unit> {
        units(&ctx.session().catalog.reference().units)
    }

    /// The spec key with this name or alias; null if it does not exist. Only admins see keys that no
    /// product on sale ever had.
    async fn spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The spec key or an alias of it.")] key: String,
    ) -> Option<R<SpecKey>> {
        let session = ctx.session();
        let found = session.catalog.spec_key(&key, session.visibility);
        let found = found.boxed().await;
        found
            .map(|key| key.map(SpecKey))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }

    /// A page of the spec dictionary, sorted by key. Only admins see keys that no product on sale ever
    /// had.
    async fn spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The beginnings of words, without regard to case and accents: only keys that have them in the key, its label or an alias."
        )]
        search: Option<String>,
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
    ) -> Option<R<SpecKeyConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let session = ctx.session();
        let found = session
            .catalog
            .spec_keys(search.as_deref(), &page, session.visibility);
        found
            .map(|page| Some(SpecKeyConnection(page)))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }

    /// The spec keys that most products of a category or kind have, most common first. Useful when
    /// entering a new product. Give exactly one of `category` and `kind`.
    async fn suggested_spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The slug of a category; includes its subcategories.")] category: Option<
            String,
        >,
        #[graphql(desc = "A product kind: `book`.")] kind: Option<String>,
        #[graphql(
            default_with = "Some(20)",
            desc = "The maximum number of keys: 1 to 100."
        )]
        first: Option<i32>,
    ) -> Option<R<List<SuggestedSpecKey>>> {
        suggested_spec_keys(ctx, category.as_deref(), kind.as_deref(), first)
            .await
            .map(Some)
            .nullable_at(ctx)
    }

    /// Completions of a search text; those that match popular products first.
    async fn search_suggestions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The text typed so far.")] prefix: String,
        #[graphql(
            default_with = "Some(10)",
            desc = "The maximum number of completions: 1 to 50."
        )]
        first: Option<i32>,
    ) -> Option<R<Vec<String>>> {
        search_suggestions(ctx, &prefix, first).await.some_at(ctx)
    }

    /// Trending products, highest score first. Precomputed (see `asOf`), so that the list needs one
    /// database query.
    async fn trending(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The slug of a category, including its subcategories; the whole catalogue when absent."
        )]
        category: Option<String>,
        #[graphql(desc = "The period that the list covers.")] window: TrendingWindow,
        #[graphql(
            default_with = "Some(20)",
            desc = "The maximum number of products: 1 to 100."
        )]
        first: Option<i32>,
    ) -> Option<R<List<TrendingProduct>>> {
        trending(ctx, category.as_deref(), window, first)
            .await
            .some_at(ctx)
    }

    /// The caller, identified by the token of the request; null without a token.
    async fn viewer(&self, ctx: &Context<'_>) -> Option<Viewer> {
        Viewer::of(&ctx.session().viewer)
    }

    /// A page of the reviews that are waiting for a moderator. Needs the role moderator or admin.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of the field"
    )]
    async fn moderation_queue(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only reviews that are waiting for this reason; all when absent.")]
        reason: Option<QueueReason>,
        #[graphql(desc = "Only reviews that match all these conditions.")] filter: Option<
            ModerationQueueFilterInput,
        >,
        #[graphql(desc = "The order; longest-waiting first by default.")] sort: Option<
            ModerationQueueSort,
        >,
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
    ) -> Option<R<ReviewConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let which = (reason, filter.unwrap_or_default(), sort);
        moderation_queue(ctx, which, page).await.some_at(ctx)
    }

    /// How many reviews are waiting for a moderator, by reason and status. Needs the role moderator
    /// or admin.
    async fn moderation_counts(&self, ctx: &Context<'_>) -> Option<R<ModerationCounts>> {
        moderation_counts(ctx).await.some_at(ctx)
    }

    /// A page of the imports, newest first. Needs the role admin.
    async fn imports(
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
    ) -> Option<R<ImportRunConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        imports(ctx, page).await.some_at(ctx)
    }

    /// A page of the bulk changes, newest first. They are kept for 90 days. Needs the role admin.
    async fn bulk_changes(
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
    ) -> Option<R<BulkChangeConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        bulk_changes(ctx, page).await.some_at(ctx)
    }

    /// The bulk change with this id; null if there is none, or no longer. Needs the role admin.
    async fn bulk_change(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the bulk change.")] id: ID,
    ) -> Option<R<BulkChange>> {
        bulk_change(ctx, &id).await.nullable_at(ctx)
    }

    /// A page of the history of a product, a category or a spec key, newest first: who changed what,
    /// and when. The last 100 revisions of the last 400 days are kept. Categories and keys that
    /// imports created, and products that imports created, have no entry for that. Needs the role
    /// admin.
    async fn history(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the product, category or spec key.")] id: ID,
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
    ) -> Option<R<HistoryConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        history(ctx, &id, page).await.some_at(ctx)
    }

    /// The import with this id; null if there is none, or no longer. Needs the role admin.
    async fn import(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the import.")] id: ID,
    ) -> Option<R<ImportRun>> {
        import(ctx, &id).await.nullable_at(ctx)
    }

    /// Statistics of moderation decisions over a period, by rating and by moderator. Needs the role
    /// moderator or admin.
    async fn fairness_report(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The start of the period.")] from: DateTime,
        #[graphql(desc = "The end of the period, exclusive.")] to: DateTime,
    ) -> Option<R<FairnessReport>> {
        fairness_report(ctx, from, to).await.some_at(ctx)
    }

    /// What the worker `audit`, which recounts the reviews of all products all the time, found
    /// lately, and when it last went through everything. Needs the role admin.
    async fn audit_findings(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            default_with = "Some(20)",
            desc = "The maximum number of findings: 1 to 100."
        )]
        first: Option<i32>,
    ) -> Option<R<AuditFindings>> {
        audit_findings(ctx, first.unwrap_or(20)).await.some_at(ctx)
    }

    /// Recounts the reviews of some products and compares the result with the stored rating
    /// numbers. Changes nothing. Needs the role admin. Give at most one of `product` and `after`.
    async fn rating_stats_audit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of the only product to check.")] product: Option<ID>,
        #[graphql(desc = "The `endCursor` of the previous page; from the start when absent.")]
        after: Option<String>,
        #[graphql(default_with = "Some(20)", desc = "The number of products: 1 to 100.")]
        first: Option<i32>,
    ) -> Option<R<RatingStatsAudit>> {
        rating_stats_audit(ctx, product, after, first)
            .await
            .some_at(ctx)
    }

    /// Exports everything an author wrote, page by page: reviews in any status, their earlier
    /// versions, votes, reports, replies for the shop, purchases and uploaded pictures. Needs the
    /// role admin.
    async fn export_author(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The subject of the author's token.")] author_id: String,
        #[graphql(
            default_with = "Some(1000)",
            desc = "The maximum number of lines: 1 to 1,000."
        )]
        first: Option<i32>,
        #[graphql(desc = "The `endCursor` of the previous page; from the start when absent.")]
        after: Option<String>,
    ) -> Option<R<AuthorExport>> {
        export_author(ctx, &author_id, first, after.as_deref())
            .await
            .some_at(ctx)
    }

    /// The status of all background workers. Needs the role admin.
    async fn workers(&self, ctx: &Context<'_>) -> Option<R<List<WorkerStatus>>> {
        workers(ctx).await.some_at(ctx)
    }

    /// The progress of upgrading stored documents to the newest schema version. Needs the role
    /// admin.
    async fn data_versions(&self, ctx: &Context<'_>) -> Option<R<List<DataVersionProgress>>> {
        data_versions(ctx).await.some_at(ctx)
    }
}

async fn trending(
    ctx: &Context<'_>,
    category: Option<&str>,
    window: TrendingWindow,
    first: Option<i32>,
) -> Result<List<TrendingProduct>, Failure> {
    let (session, first) = (ctx.session(), first.unwrap_or(20));
    let found = session
        .catalog
        .trending(category, window.into(), first, session.visibility);
    types::activity::trending(found.await?)
}

async fn workers(ctx: &Context<'_>) -> Result<List<WorkerStatus>, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let seen = session.catalog.workers().boxed().await?;
    Ok(operations::workers(seen, session.catalog.now()))
}

async fn data_versions(ctx: &Context<'_>) -> Result<List<DataVersionProgress>, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let found = session.catalog.data_versions().boxed().await?;
    Ok(operations::versions(found))
}

async fn moderation_queue(
    ctx: &Context<'_>,
    (reason, filter, sort): (
        Option<QueueReason>,
        ModerationQueueFilterInput,
        Option<ModerationQueueSort>,
    ),
    page: PageArguments,
) -> Result<ReviewConnection, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let list = QueueList {
        reason: reason.map(Into::into),
        sort: sort.map(QueueSort::from).unwrap_or_default(),
        ..filter.list()?
    };
    let query = QueueQuery { list, page };
    let page = session.catalog.moderation_queue(query).boxed().await?;
    Ok(ReviewConnection::Waiting(page))
}

async fn imports(ctx: &Context<'_>, page: PageArguments) -> Result<ImportRunConnection, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let page = session.catalog.imports(&page).boxed().await?;
    Ok(ImportRunConnection::new(page, session.catalog.now()))
}

async fn bulk_changes(
    ctx: &Context<'_>,
    page: PageArguments,
) -> Result<BulkChangeConnection, Failure> {
    permissions::subject(ctx, "Query")?;
    let page = ctx.session().catalog.bulk_changes(&page).boxed().await?;
    Ok(BulkChangeConnection(page))
}

async fn bulk_change(ctx: &Context<'_>, id: &ID) -> Result<Option<BulkChange>, Failure> {
    permissions::subject(ctx, "Query")?;
    let GlobalId::BulkChange(id) = global_id("id", id)? else {
        return Err(Failure::bad_input("id: not the id of a bulk change"));
    };
    let found = ctx.session().catalog.bulk_change(id).boxed().await?;
    Ok(found.map(BulkChange))
}

async fn history(
    ctx: &Context<'_>,
    id: &ID,
    page: PageArguments,
) -> Result<HistoryConnection, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let of = match global_id("id", id)? {
        GlobalId::Product(id) => HistoryOf::Product(id),
        GlobalId::Category(id) => HistoryOf::Category(id),
        GlobalId::SpecKey(key) => HistoryOf::SpecKey(key),
        _ => {
            let message = "id: not the id of a product, a category or a spec key";
            return Err(Failure::bad_input(message));
        }
    };
    let page = session.catalog.history(of, &page).boxed().await?;
    Ok(HistoryConnection::new(page, session.catalog.reference()))
}

async fn import(ctx: &Context<'_>, id: &ID) -> Result<Option<ImportRun>, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let GlobalId::Import(id) = global_id("id", id)? else {
        return Err(Failure::bad_input("id: not the id of an import"));
    };
    let run = session.catalog.import_run(id).boxed().await?;
    Ok(run.map(|run| ImportRun::new(run, session.catalog.now())))
}

async fn moderation_counts(ctx: &Context<'_>) -> Result<ModerationCounts, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let counts = session.catalog.queue_counts().boxed().await?;
    Ok(counts.into())
}

async fn fairness_report(
    ctx: &Context<'_>,
    from: DateTime,
    to: DateTime,
) -> Result<FairnessReport, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let report = session
        .catalog
        .fairness_report(from.0, to.0)
        .boxed()
        .await?;
    Ok(report.into())
}

async fn audit_findings(ctx: &Context<'_>, first: i32) -> Result<AuditFindings, Failure> {
    permissions::subject(ctx, "Query")?;
    let found = ctx.session().catalog.audit_status(first).boxed().await?;
    Ok(found.into())
}

async fn rating_stats_audit(
    ctx: &Context<'_>,
    product: Option<ID>,
    after: Option<String>,
    first: Option<i32>,
) -> Result<RatingStatsAudit, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    if product.is_some() && after.is_some() {
        return Err(Failure::bad_input("give at most one of product and after"));
    }
    let only = match product {
        None => None,
        Some(id) => match global_id("product", &id)? {
            GlobalId::Product(id) => Some(id),
            _ => return Err(Failure::bad_input("product: not the id of a product")),
        },
    };
    let after = match after.as_deref().map(GlobalId::decode) {
        None => None,
        Some(Ok(GlobalId::Product(id))) => Some(id),
        Some(_) => {
            let (field, source) = ("after", InvalidCursor::Damaged);
            return Err(DomainError::InvalidCursor { field, source }.into());
        }
    };
    let first = first.unwrap_or(DEFAULT_AUDIT);
    let audit = session.catalog.rating_stats_audit(after, first, only);
    Ok(audit.await?.into())
}

async fn export_author(
    ctx: &Context<'_>,
    author: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<AuthorExport, Failure> {
    let session = ctx.session();
    permissions::subject(ctx, "Query")?;
    let first = first.unwrap_or(MAX_LINES);
    let export = session.catalog.export_author(author, after, first);
    Ok(export.await?.into())
}

async fn node(ctx: &Context<'_>, id: &ID) -> Result<Option<Node>, Failure> {
    let session = ctx.session();
    match global_id("id", id)? {
        GlobalId::Product(id) => {
            let view = session.loaders.product(id).await?;
            Ok(view.map(Product::of).transpose()?.map(Node::of))
        }
        GlobalId::Review(product, id) => {
            let review = session.loaders.review(product, id).await?;
            Ok(review.map(|review| Node::Review(Review(Arc::new(review)))))
        }
        GlobalId::Category(id) => {
            let reference = session.catalog.reference_for_category(id).boxed().await?;
            Ok(Category::of(&reference, id).map(Node::Category))
        }
        GlobalId::Supplier(id) => {
            let supplier = session.loaders.supplier(id).await?;
            Ok(supplier.map(|supplier| Node::Supplier(Supplier(supplier))))
        }
        GlobalId::SpecKey(key) => {
            let key = session.catalog.spec_key(&key, session.visibility);
            let key = key.boxed().await?;
            Ok(key.map(|key| Node::SpecKey(SpecKey(key))))
        }
        GlobalId::Import(id) if session.viewer.is_admin() => {
            let run = session.catalog.import_run(id).boxed().await?;
            Ok(run.map(|run| Node::ImportRun(ImportRun::new(run, session.catalog.now()))))
        }
        GlobalId::BulkChange(id) if session.viewer.is_admin() => {
            let found = session.catalog.bulk_change(id).boxed().await?;
            Ok(found.map(|found| Node::BulkChange(BulkChange(found))))
        }
        // Parts of a product, and uploads, which are no nodes; and what only admins may see.
        GlobalId::ReviewExcerpt(..)
        | GlobalId::ProductSupplier(..)
        | GlobalId::Upload(_)
        | GlobalId::Import(_)
        | GlobalId::BulkChange(_) => Ok(None),
    }
}

async fn product(
    ctx: &Context<'_>,
    id: Option<ID>,
    slug: Option<String>,
    sku: Option<String>,
) -> Result<Option<One<Product>>, Failure> {
    let session = ctx.session();
    let key = match (id, slug, sku) {
        (Some(id), None, None) => match global_id("id", &id)? {
            GlobalId::Product(id) => ProductKey::Id(id),
            _ => return Err(Failure::bad_input("id: not the id of a product")),
        },
        (None, Some(slug), None) => ProductKey::Slug(slug),
        (None, None, Some(sku)) => ProductKey::Sku(sku),
        _ => return Err(Failure::bad_input("give exactly one of id, slug and sku")),
    };
    let view = session
        .catalog
        .product(key, session.visibility)
        .boxed()
        .await?;
    view.map(Product::one).transpose()
}

async fn products(
    ctx: &Context<'_>,
    filter: Option<ProductFilterInput>,
    search: Option<String>,
    sorts: Option<Vec<ProductSortInput>>,
    page: PageArguments,
) -> Result<ProductConnection, Failure> {
    let session = ctx.session();
    // A blank search text means no search.
    let search = search.filter(|text| !text.trim().is_empty());
    let (sort, sort_spec) = sort(sorts, search.is_some())?;
    let query = ProductsQuery {
        filter: filter.unwrap_or_default().filter()?,
        sort,
        sort_spec,
        search,
        page,
        visibility: session.visibility,
        fields: fields(&ctx.look_ahead()),
    };
    let arguments = format!("{query:?}");
    let found = session.catalog.products(query).boxed();
    let page = once(ctx, arguments, found).await?;
    hint(ctx, page.hints.iter().cloned().map(Hint::from));
    Ok(ProductConnection { page })
}

async fn suggested_spec_keys(
    ctx: &Context<'_>,
    category: Option<&str>,
    kind: Option<&str>,
    first: Option<i32>,
) -> Result<List<SuggestedSpecKey>, Failure> {
    let first = size("first", first.unwrap_or(20))?;
    let catalog = &ctx.session().catalog;
    let found = catalog
        .suggested_keys(category, kind, first)
        .boxed()
        .await?;
    Ok(all(found))
}

async fn search_suggestions(
    ctx: &Context<'_>,
    prefix: &str,
    first: Option<i32>,
) -> Result<Vec<String>, Failure> {
    let first = size("first", first.unwrap_or(10))?;
    Ok(ctx
        .session()
        .catalog
        .search_suggestions(prefix, first)
        .await?)
}

/// Returns the product fields to load; `None` when neither rows nor their positions are selected.
/// Lists leave out the top reviews, which are most of a product's bytes, unless they are selected.
fn fields(ahead: &Lookahead<'_>) -> Option<ProductFields> {
    let of_rows = ["nodes", "edges", "pageInfo", "search"];
    if !of_rows.iter().any(|name| ahead.field(name).exists()) {
        return None;
    }
    let nodes = [ahead.field("nodes"), ahead.field("edges").field("node")];
    let needs_top_reviews = |node: &Lookahead<'_>| {
        let reviews = node.field("reviews").selection_fields();
        node.field("topReviews").exists() || reviews.iter().any(top_reviews::suffice_for)
    };
    Some(if nodes.iter().any(needs_top_reviews) {
        ProductFields::Page
    } else {
        ProductFields::WithoutTopReviews
    })
}

async fn supplier(ctx: &Context<'_>, id: &ID) -> Result<Option<Supplier>, Failure> {
    match global_id("id", id)? {
        GlobalId::Supplier(id) => Ok(ctx.session().loaders.supplier(id).await?.map(Supplier)),
        _ => Err(Failure::bad_input("id: not the id of a supplier")),
    }
}

fn global_id(field: &str, id: &ID) -> Result<GlobalId, Failure> {
    GlobalId::decode(id).map_err(|error| Failure::bad_input(format!("{field}: {error}")))
}
