//! The root of all reading.

use std::sync::Arc;

use async_graphql::{Context, ID, Lookahead, Object};
use vitrine_domain::DomainError;
use vitrine_domain::page::PageArguments;
use vitrine_domain::products::{ProductFields, ProductKey, ProductsQuery};
use vitrine_domain::reviewing::QueueQuery;
use vitrine_domain::reviewing::erasure::MAX_LINES;
use vitrine_model::cursor::InvalidCursor;
use vitrine_model::id::GlobalId;

use super::carried;
use super::context::ContextExt as _;
use super::inputs::{ProductFilterInput, ProductSortInput, size, sort};
use super::scalars::DateTime;
use super::types;
use super::types::activity::{TrendingProduct, TrendingWindow};
use super::types::category::Category;
use super::types::coverage::SuggestedSpecKey;
use super::types::details::all;
use super::types::erasure::AuthorExport;
use super::types::moderation::{FairnessReport, QueueReason};
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
use crate::execution::{At as _, Failure, Hint, NullableAt as _, R, hint};

/// The most ids that `nodes` takes.
const MAX_NODES: usize = 100;
/// How many products are counted anew when nobody says.
const DEFAULT_AUDIT: i32 = 20;

/// The root of all reading.
#[derive(Clone, Copy, Debug)]
pub struct Query;

/// The root of all reading.
#[Object]
impl Query {
    /// Anything by its id; null when there is no such thing or the caller may not see it.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "An id that this service gave.")] id: ID,
    ) -> Option<R<Node>> {
        node(ctx, &id).await.nullable_at(ctx)
    }

    /// Many things by their ids, in the order of the ids, null for each that is missing. One
    /// look-up per type of thing.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "At most 100 ids that this service gave.")] ids: Vec<ID>,
    ) -> R<Vec<Option<R<Node>>>> {
        if ids.len() > MAX_NODES {
            let told = format!("ids: at most {MAX_NODES} at once, not {}", ids.len());
            return Err(Failure::bad_input(told)).at(ctx);
        }
        let found = futures_util::future::join_all(ids.iter().map(|id| node(ctx, id))).await;
        let places = found.into_iter().enumerate();
        Ok(places
            .map(|(at, node)| node.nullable_item_at(ctx, at))
            .collect())
    }

    /// One product by its id, slug or sku; null when there is none or the caller may not see it.
    async fn product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its id.")] id: Option<ID>,
        #[graphql(desc = "Its slug.")] slug: Option<String>,
        #[graphql(desc = "Its stock-keeping unit.")] sku: Option<String>,
    ) -> Option<R<Product>> {
        product(ctx, id, slug, sku).await.nullable_at(ctx)
    }

    /// A page of the products that the caller may see, searched, filtered and sorted. Only by
    /// cursor, at any depth for the same cost.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of the field"
    )]
    async fn products(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which products; all when absent.")] filter: Option<ProductFilterInput>,
        #[graphql(
            desc = "Words that products must have, all of them, in any order, in at most 200 characters; the last one may be the beginning of a word, and one wrong letter is forgiven. The first 8 words count."
        )]
        search: Option<String>,
        #[graphql(
            desc = "In which order: one key. When absent, by relevance with a search, else by popularity; ties are broken by id."
        )]
        sort: Option<Vec<ProductSortInput>>,
        #[graphql(
            desc = "So many from the beginning or after `after`: 1 to 100; 20 when neither first nor last is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "Right behind this cursor; with first.")] after: Option<String>,
        #[graphql(desc = "So many up to the end or before `before`: 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Right before this cursor; with last.")] before: Option<String>,
    ) -> Option<R<ProductConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        products(ctx, filter, search, sort, page)
            .await
            .map(Some)
            .nullable_at(ctx)
    }

    /// The category with this slug; null when there is none.
    async fn category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its slug.")] slug: String,
    ) -> Option<R<Category>> {
        let reference = ctx.session().catalog.reference_for_slug(&slug).await;
        let category = reference.map(|reference| Category::by_slug(&reference, &slug));
        category.map_err(Failure::from).nullable_at(ctx)
    }

    /// The categories at the top of the tree, by name; `children` leads down.
    async fn categories(&self, ctx: &Context<'_>) -> Vec<Category> {
        Category::below(&ctx.session().catalog.reference(), None)
    }

    /// The supplier with this id; null when there is none.
    async fn supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its id.")] id: ID,
    ) -> Option<R<Supplier>> {
        supplier(ctx, &id).await.nullable_at(ctx)
    }

    /// A page of all suppliers, by name.
    async fn suppliers(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "So many from the beginning or after `after`: 1 to 100; 20 when neither first nor last is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "Right behind this cursor; with first.")] after: Option<String>,
        #[graphql(desc = "So many up to the end or before `before`: 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Right before this cursor; with last.")] before: Option<String>,
    ) -> Option<R<SupplierConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let found = ctx.session().catalog.suppliers(&page).await;
        found
            .map(|page| Some(SupplierConnection(page)))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }

    /// All units of measure that are understood.
    async fn units(&self, ctx: &Context<'_>) -> Vec<Unit> {
        units(&ctx.session().catalog.reference().units)
    }

    /// The spec key with this name or alias; null when there is none.
    async fn spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The key or an alias of it.")] key: String,
    ) -> Option<R<SpecKey>> {
        let found = ctx.session().catalog.spec_key(&key).await;
        found
            .map(|key| key.map(SpecKey))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }

    /// A page of the spec dictionary, by key.
    async fn spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "So many from the beginning or after `after`: 1 to 100; 20 when neither first nor last is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "Right behind this cursor; with first.")] after: Option<String>,
        #[graphql(desc = "So many up to the end or before `before`: 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Right before this cursor; with last.")] before: Option<String>,
    ) -> Option<R<SpecKeyConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let found = ctx.session().catalog.spec_keys(&page);
        found
            .map(|page| Some(SpecKeyConnection(page)))
            .map_err(Failure::from)
            .nullable_at(ctx)
    }

    /// The spec keys that most products of a category or of a kind have, the most common first:
    /// what a new product of it is likely to need.
    async fn suggested_spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The slug of a category, with all below it. Give this or kind.")]
        category: Option<String>,
        #[graphql(desc = "A kind of product: `book`. Give this or category.")] kind: Option<String>,
        #[graphql(default_with = "Some(20)", desc = "How many at most: 1 to 100.")] first: Option<
            i32,
        >,
    ) -> Option<R<Vec<SuggestedSpecKey>>> {
        suggested_spec_keys(ctx, category.as_deref(), kind.as_deref(), first)
            .await
            .map(Some)
            .nullable_at(ctx)
    }

    /// Ways to complete the text of a search, those of popular products first.
    async fn search_suggestions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What has been typed so far.")] prefix: String,
        #[graphql(default_with = "Some(10)", desc = "How many at most: 1 to 50.")] first: Option<
            i32,
        >,
    ) -> R<Vec<String>> {
        search_suggestions(ctx, &prefix, first).await.at(ctx)
    }

    /// Products that get attention, the highest score first. Counted ahead, as `asOf` says, so that it
    /// is one look-up.
    async fn trending(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The slug of a category, with all below it; everywhere when absent.")]
        category: Option<String>,
        #[graphql(desc = "Over which time.")] window: TrendingWindow,
        #[graphql(default_with = "Some(20)", desc = "How many at most: 1 to 100.")] first: Option<
            i32,
        >,
    ) -> R<Vec<TrendingProduct>> {
        trending(ctx, category.as_deref(), window, first)
            .await
            .at(ctx)
    }

    /// The bearer of the token that came with the request; null without one.
    async fn viewer(&self, ctx: &Context<'_>) -> Option<Viewer> {
        Viewer::of(&ctx.session().viewer)
    }

    /// A page of the reviews that wait for a moderator, the one that waits longest first. Needs the
    /// role moderator or admin.
    async fn moderation_queue(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those that wait for this reason; all when absent.")] reason: Option<
            QueueReason,
        >,
        #[graphql(
            desc = "So many from the beginning or after `after`: 1 to 100; 20 when neither first nor last is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "Right behind this cursor; with first.")] after: Option<String>,
        #[graphql(desc = "So many up to the end or before `before`: 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Right before this cursor; with last.")] before: Option<String>,
    ) -> R<ReviewConnection> {
        let query = QueueQuery {
            reason: reason.map(Into::into),
            page: PageArguments {
                first,
                after,
                last,
                before,
            },
        };
        moderation_queue(ctx, query).await.at(ctx)
    }

    /// What moderators decided over some time, by stars and by moderator. Needs the role moderator
    /// or admin.
    async fn fairness_report(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "From this instant on.")] from: DateTime,
        #[graphql(desc = "Up to before this instant.")] to: DateTime,
    ) -> R<FairnessReport> {
        fairness_report(ctx, from, to).await.at(ctx)
    }

    /// Counts the reviews of some products anew and compares with the numbers that the products
    /// carry. Needs the role admin. Nothing is changed.
    async fn rating_stats_audit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only this product. Give this or after.")] product: Option<ID>,
        #[graphql(desc = "The products behind this `endCursor`; from the beginning when absent.")]
        after: Option<String>,
        #[graphql(default_with = "Some(20)", desc = "How many products: 1 to 100.")] first: Option<
            i32,
        >,
    ) -> R<RatingStatsAudit> {
        rating_stats_audit(ctx, product, after, first).await.at(ctx)
    }

    /// Everything that an author wrote, part by part: reviews in any state, what they were before,
    /// votes, reports, replies for the shop, and purchases. Needs the role admin.
    async fn export_author(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who: the subject of their tokens.")] author_id: String,
        #[graphql(
            default_with = "Some(1000)",
            desc = "How many lines at most: 1 to 1,000."
        )]
        first: Option<i32>,
        #[graphql(desc = "What follows this `endCursor`; from the beginning when absent.")]
        after: Option<String>,
    ) -> R<AuthorExport> {
        export_author(ctx, &author_id, first, after.as_deref())
            .await
            .at(ctx)
    }

    /// What is done in the background, by which process, and how it is doing. Needs the role admin.
    async fn workers(&self, ctx: &Context<'_>) -> R<Vec<WorkerStatus>> {
        workers(ctx).await.at(ctx)
    }

    /// How far documents of older versions are on their way to the newest. Needs the role admin.
    async fn data_versions(&self, ctx: &Context<'_>) -> R<Vec<DataVersionProgress>> {
        data_versions(ctx).await.at(ctx)
    }
}

async fn trending(
    ctx: &Context<'_>,
    category: Option<&str>,
    window: TrendingWindow,
    first: Option<i32>,
) -> Result<Vec<TrendingProduct>, Failure> {
    let (session, first) = (ctx.session(), first.unwrap_or(20));
    let found = session
        .catalog
        .trending(category, window.into(), first, session.sight);
    types::activity::trending(found.await?)
}

async fn workers(ctx: &Context<'_>) -> Result<Vec<WorkerStatus>, Failure> {
    let session = ctx.session();
    session.viewer.admin()?;
    let seen = session.catalog.workers().await?;
    Ok(operations::workers(seen, session.catalog.now()))
}

async fn data_versions(ctx: &Context<'_>) -> Result<Vec<DataVersionProgress>, Failure> {
    let session = ctx.session();
    session.viewer.admin()?;
    let found = session.catalog.data_versions().await?;
    Ok(operations::versions(found))
}

async fn moderation_queue(
    ctx: &Context<'_>,
    query: QueueQuery,
) -> Result<ReviewConnection, Failure> {
    let session = ctx.session();
    session.viewer.moderator()?;
    let page = session.catalog.moderation_queue(query).await?;
    Ok(ReviewConnection::Waiting(page))
}

async fn fairness_report(
    ctx: &Context<'_>,
    from: DateTime,
    to: DateTime,
) -> Result<FairnessReport, Failure> {
    let session = ctx.session();
    session.viewer.moderator()?;
    let report = session.catalog.fairness_report(from.0, to.0).await?;
    Ok(report.into())
}

async fn rating_stats_audit(
    ctx: &Context<'_>,
    product: Option<ID>,
    after: Option<String>,
    first: Option<i32>,
) -> Result<RatingStatsAudit, Failure> {
    let session = ctx.session();
    session.viewer.admin()?;
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
    session.viewer.admin()?;
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
            let reference = session.catalog.reference_for_category(id).await?;
            Ok(Category::of(&reference, id).map(Node::Category))
        }
        GlobalId::Supplier(id) => {
            let supplier = session.loaders.supplier(id).await?;
            Ok(supplier.map(|supplier| Node::Supplier(Supplier(supplier))))
        }
        GlobalId::SpecKey(key) => {
            let key = session.catalog.spec_key(&key).await?;
            Ok(key.map(|key| Node::SpecKey(SpecKey(key))))
        }
    }
}

async fn product(
    ctx: &Context<'_>,
    id: Option<ID>,
    slug: Option<String>,
    sku: Option<String>,
) -> Result<Option<Product>, Failure> {
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
    let view = session.catalog.product(key, session.sight).await?;
    view.map(Product::of).transpose()
}

async fn products(
    ctx: &Context<'_>,
    filter: Option<ProductFilterInput>,
    search: Option<String>,
    order: Option<Vec<ProductSortInput>>,
    page: PageArguments,
) -> Result<ProductConnection, Failure> {
    let session = ctx.session();
    // A search box that was cleared searches nothing.
    let search = search.filter(|text| !text.trim().is_empty());
    let (sort, sort_spec) = sort(order, search.is_some())?;
    let query = ProductsQuery {
        filter: filter.unwrap_or_default().filter()?,
        sort,
        sort_spec,
        search,
        page,
        sight: session.sight,
        fields: fields(&ctx.look_ahead()),
    };
    let page = session.catalog.products(query).await?;
    let told = page.hints.iter().map(|told| Hint {
        path: told.path.clone(),
        message: told.message.clone(),
    });
    hint(ctx, told);
    Ok(ProductConnection { page })
}

async fn suggested_spec_keys(
    ctx: &Context<'_>,
    category: Option<&str>,
    kind: Option<&str>,
    first: Option<i32>,
) -> Result<Vec<SuggestedSpecKey>, Failure> {
    let first = size("first", first.unwrap_or(20))?;
    let catalog = &ctx.session().catalog;
    let found = catalog.suggested_keys(category, kind, first).await?;
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

/// Lists leave out the top reviews, most of a product's bytes, unless they are selected.
fn fields(ahead: &Lookahead<'_>) -> ProductFields {
    let nodes = [ahead.field("nodes"), ahead.field("edges").field("node")];
    let carried = |node: &Lookahead<'_>| {
        let reviews = node.field("reviews").selection_fields();
        node.field("topReviews").exists() || reviews.iter().any(carried::suffices)
    };
    if nodes.iter().any(carried) {
        ProductFields::Page
    } else {
        ProductFields::WithoutTopReviews
    }
}

async fn supplier(ctx: &Context<'_>, id: &ID) -> Result<Option<Supplier>, Failure> {
    match global_id("id", id)? {
        GlobalId::Supplier(id) => Ok(ctx.session().loaders.supplier(id).await?.map(Supplier)),
        _ => Err(Failure::bad_input("id: not the id of a supplier")),
    }
}

fn global_id(field: &str, id: &ID) -> Result<GlobalId, Failure> {
    GlobalId::decode(id).map_err(|wrong| Failure::bad_input(format!("{field}: {wrong}")))
}
