//! What the fields of the schema cost.
//!
//! A cost is an estimate of the CPU time of the service and the database, in microseconds, that is
//! meant to be too high rather than too low. Clients see units of ten microseconds. `cargo bench
//! --bench costs` compares it with measurements.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Instant;

use serde_json::Map;
use vitrine_domain::reference::MAX_FOUND_CATEGORIES;
use vitrine_domain::reviewing::MAX_COUNTED_IN_QUEUE;
use vitrine_domain::{Catalog, facets};
use vitrine_model::category::TreeShape;
use vitrine_model::review::MAX_TOP_REVIEWS;

use super::rate_limiter::{Budget, Caller, RateLimiter};
use super::viewer::Viewer;
use crate::execution::{
    CostCheck, CostModel, ErrorCode, Failure, FieldCost, Prepared, RateState, ResponseLimits,
    SelectedField,
};

/// The cost of every request: its connection, parsing and validation.
const REQUEST: u64 = 300;
/// The cost of receiving a picture: reading it, and storing it.
const PICTURE: u64 = 20_000;
/// A scalar in the response.
const SCALAR: u64 = 1;
/// An object in the response, without its fields.
const OBJECT: u64 = 3;
/// A long text: a description, the text of a review.
const LONG_TEXT: u64 = 20;
/// A command that reads documents by their ids, and one document.
const LOOK_UP: u64 = 400;
/// A command that reads one page of a list.
const LIST: u64 = 500;
/// A row of a page: found by its index entry, read, sent and decoded.
const ROW: u64 = 30;
/// Completions of a search text, which come from products.
const COMPLETIONS: u64 = 2_000;
/// The number of products of a category.
const COUNTER: u64 = 400;
/// A search finds words, and reads what has them.
const SEARCH: u64 = 5_000;
/// A mutation: a transaction, with its look-ups.
const MUTATION: u64 = 5_000;
/// An event of a product: it is counted, added to a bucket, and may move the product in lists.
const EVENT: u64 = 30;
/// Facets that were counted before, of a category or of all products.
const FACETS: u64 = 5_000;
/// Facets that are counted for the request: up to 10,000 products are read, however many filters
/// there are.
const FACET_COUNT: u64 = 65_000;
/// A list that is sorted by a spec key: up to 10,000 products are read and sorted. With a filter that no index bounds
/// ([`EXAMINED`]), as many may be read to count them.
const SORT_BY_SPEC: u64 = 40_000;
/// A report that reads many documents.
const REPORT: u64 = 50_000;
/// A list, or a count, whose filter no index bounds: up to 2,500 products are examined, or 1,250 by an aggregation, which
/// takes as long, or 25,000 index entries.
const EXAMINED: u64 = 7_500;
/// The schema as a text.
const SUBGRAPH_SDL: u64 = 1_000;
/// A scalar in an argument.
const ARGUMENT: u64 = 1;
/// An index entry that a count reads, in thousandths.
const COUNTED: u64 = 300;
/// The maximum cost of a small request, in units: the page of a shop, with everything on it.
const MAX_SMALL_COST: u64 = 2_500;
/// The default page size.
const DEFAULT_PAGE: u64 = 20;
/// The maximum page size.
const MAX_PAGE: u64 = 100;
/// The maximum number of values of a facet.
const MAX_FACET_VALUES: u64 = facets::MAX_FACET_VALUES as u64;
/// Where `totalCount` stops without `upTo`.
const DEFAULT_COUNT: u64 = 10_000;

/// How many values a field returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Items {
    /// An assumed number: 1 for a field that is no list; lists are rarely longer.
    Assumed(u64),
    /// One connection; its rows are the page size.
    Connection,
    /// The rows of the connection that has the field.
    Rows,
    /// The value of an argument, or this number without one.
    Argument(&'static str, u64),
    /// The number of values in an argument, or this number without one.
    Values(&'static str, u64),
    /// The number of items in a list argument, whatever they are.
    Length(&'static str),
    /// The roots of the category tree.
    Roots,
    /// The children of a category.
    Children,
    /// The ancestors of a category.
    Ancestors,
}

use Items::{Ancestors, Argument, Assumed, Children, Connection, Length, Roots, Rows, Values};

/// Fields with what they cost beside their values, in microseconds, and how many values they
/// return: all fields that return lists of objects, and others that cost more than one value.
/// Fields of the interface `Product` stand for those of all kinds.
const FIELDS: &[(&str, u64, Items)] = &[
    ("Apparel.sizeChart", 0, Assumed(10)),
    ("AuditFindings.findings", 0, Assumed(20)),
    ("AuthorExport.lines", LONG_TEXT, Assumed(1_000)),
    ("Book.contributors", 0, Assumed(5)),
    ("Bundle.items", 0, Assumed(10)),
    ("BundleItem.product", LOOK_UP, Assumed(1)),
    ("BulkChange.items", LIST, Connection),
    ("BulkChangeConnection.edges", 0, Rows),
    ("BulkChangeConnection.nodes", 0, Rows),
    ("BulkChangeConnection.totalCount", LIST, Assumed(1)),
    ("BulkChangeItem.product", LOOK_UP, Assumed(1)),
    ("BulkChangeItemConnection.edges", 0, Rows),
    ("BulkChangeItemConnection.nodes", 0, Rows),
    ("Category.ancestors", 0, Ancestors),
    ("Category.children", 0, Children),
    ("Category.path", 0, Ancestors),
    ("Category.feedPaths", 0, Assumed(5)),
    ("Category.productCount", COUNTER, Assumed(1)),
    ("DataVersionProgress.versions", 0, Assumed(3)),
    ("Facet.values", 0, Rows),
    ("FacetFilter.specs", 0, Assumed(1)),
    ("FairnessReport.byModerator", 0, Assumed(50)),
    ("FairnessReport.byRating", 0, Assumed(5)),
    ("Grocery.nutrition", 0, Assumed(10)),
    ("HistoryConnection.edges", 0, Rows),
    ("HistoryConnection.nodes", 0, Rows),
    ("HistoryConnection.totalCount", LIST, Assumed(1)),
    ("HistoryEntry.fields", OBJECT, Assumed(5)),
    ("ImportRejectConnection.edges", 0, Rows),
    ("ImportRejectConnection.nodes", 0, Rows),
    ("ImportRun.rejects", LIST, Connection),
    ("ImportRun.report", LONG_TEXT, Assumed(1)),
    ("ImportRun.source", LONG_TEXT, Assumed(1)),
    ("ImportRunConnection.edges", 0, Rows),
    ("ImportRunConnection.nodes", 0, Rows),
    ("ImportRunConnection.totalCount", LIST, Assumed(1)),
    ("ModerationCounts.counts", 0, Assumed(5)),
    ("ModeratorDecisions.byRating", 0, Assumed(5)),
    ("Movie.cast", 0, Assumed(20)),
    ("Product.activity", LIST, Assumed(1)),
    ("Product.description", LONG_TEXT, Assumed(1)),
    ("Product.feeds", 0, Assumed(2)),
    ("Product.media", 0, Assumed(5)),
    ("Product.overrides", LOOK_UP, Assumed(5)),
    ("Product.ratingTrend", LOOK_UP, Argument("months", 12)),
    ("Product.reviews", LIST, Connection),
    ("Product.specs", OBJECT, Values("keys", DEFAULT_PAGE)),
    (
        "Product.topReviews",
        OBJECT,
        Argument("first", MAX_TOP_REVIEWS as u64),
    ),
    ("Product.viewerReview", LOOK_UP, Assumed(1)),
    ("ProductActivity.points", 0, Assumed(100)),
    ("ProductConnection.edges", 0, Rows),
    (
        "ProductConnection.facets",
        FACETS,
        Values("keys", DEFAULT_PAGE),
    ),
    ("ProductConnection.nodes", 0, Rows),
    ("ProductConnection.search", LIST, Assumed(1)),
    ("Query._entities", 0, Length("representations")),
    ("Query.auditFindings", 2 * LIST, Assumed(1)),
    ("Query.bulkChange", LOOK_UP, Assumed(1)),
    ("Query.bulkChanges", LIST, Connection),
    ("Query.categories", 0, Roots),
    ("Query.category", LOOK_UP, Assumed(1)),
    ("Query.dataVersions", LIST, Assumed(5)),
    ("Query.exportAuthor", REPORT, Assumed(1)),
    ("Query.fairnessReport", REPORT, Assumed(1)),
    ("Query.history", LIST, Connection),
    ("Query.import", LOOK_UP, Assumed(1)),
    ("Query.imports", LIST, Connection),
    (
        "Query.moderationCounts",
        LIST + MAX_COUNTED_IN_QUEUE as u64 * COUNTED / 1_000,
        Assumed(1),
    ),
    ("Query.moderationQueue", LIST, Connection),
    ("Query.node", LOOK_UP, Assumed(1)),
    ("Query.nodes", LOOK_UP, Values("ids", 0)),
    ("Query.product", LOOK_UP, Assumed(1)),
    ("Query.products", LIST, Connection),
    ("Query.ratingStatsAudit", REPORT, Assumed(1)),
    (
        "Query.searchSuggestions",
        COMPLETIONS,
        Argument("first", 10),
    ),
    ("Query.specKey", LOOK_UP, Assumed(1)),
    ("Query.specKeys", OBJECT, Connection),
    (
        "Query.suggestedSpecKeys",
        5 * LIST,
        Argument("first", DEFAULT_PAGE),
    ),
    ("Query.supplier", LOOK_UP, Assumed(1)),
    ("Query.suppliers", LIST, Connection),
    ("Query.trending", LIST, Argument("first", DEFAULT_PAGE)),
    ("Query.units", 0, Assumed(120)),
    ("Query.workers", LIST, Assumed(20)),
    ("RatingMonth.histogram", 0, Assumed(5)),
    ("RatingStats.dimensions", 0, Assumed(5)),
    ("RatingStats.histogram", 0, Assumed(5)),
    ("RatingStats.languages", 0, Assumed(5)),
    ("RatingStats.recent", LOOK_UP, Assumed(1)),
    ("RatingStatsAudit.differences", 0, Assumed(20)),
    ("RecentRatings.histogram", 0, Assumed(5)),
    ("RecordActivityPayload.ignored", 0, Assumed(20)),
    ("RepairRatingStatsPayload.differences", 0, Assumed(20)),
    ("Review.attributes", OBJECT, Assumed(3)),
    ("Review.body", LONG_TEXT, Assumed(1)),
    ("Review.dimensions", 0, Assumed(3)),
    ("Review.media", 0, Assumed(3)),
    ("Review.moderation", LOOK_UP, Assumed(20)),
    ("Review.product", LOOK_UP, Assumed(1)),
    ("Review.reports", LOOK_UP, Assumed(20)),
    ("Review.versions", LOOK_UP, Assumed(10)),
    ("Review.viewerVote", LOOK_UP, Assumed(1)),
    ("ReviewConnection.edges", 0, Rows),
    ("ReviewConnection.nodes", 0, Rows),
    ("ReviewExcerpt.excerpt", 5, Assumed(1)),
    ("SearchReading.words", 0, Assumed(8)),
    ("SizeChartRow.measurements", 0, Assumed(5)),
    ("SpecKey.coverage", LOOK_UP, Assumed(1)),
    ("SpecKeyConnection.edges", 0, Rows),
    ("SpecKeyConnection.nodes", 0, Rows),
    ("SpecKeyCoverage.kinds", 0, Assumed(10)),
    ("Supplier.propagation", LOOK_UP, Assumed(1)),
    ("SupplierConnection.edges", 0, Rows),
    ("SupplierConnection.nodes", 0, Rows),
    ("SupplierConnection.totalCount", 4 * LIST, Assumed(1)),
    ("_Service.sdl", SUBGRAPH_SDL, Assumed(1)),
    ("__Field.args", 0, Assumed(1)),
    ("__Directive.args", 0, Assumed(2)),
    ("__Schema.directives", 0, Assumed(8)),
    ("__Schema.types", 0, Assumed(300)),
    ("__Type.enumValues", 0, Assumed(2)),
    ("__Type.fields", 0, Assumed(6)),
    ("__Type.inputFields", 0, Assumed(2)),
    ("__Type.interfaces", 0, Assumed(1)),
    ("__Type.possibleTypes", 0, Assumed(1)),
];

/// The rows of [`FIELDS`] by type and field.
type CostTable = HashMap<(&'static str, &'static str), (u64, Items)>;

static COSTS: LazyLock<CostTable> = LazyLock::new(|| {
    let row = |(field, own, items): &(&'static str, u64, Items)| {
        let name = field.split_once('.').expect("a type and its field");
        (name, (*own, *items))
    };
    FIELDS.iter().map(row).collect()
});

/// The maximum costs of a request, by role of the caller, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostLimits {
    /// For callers without a role of the shop: anonymous ones and shoppers.
    pub public: u64,
    /// For moderators, admins and services.
    pub staff: u64,
}

impl Default for CostLimits {
    fn default() -> Self {
        Self {
            public: 10_000,
            staff: 100_000,
        }
    }
}

/// The maximum size of a response for callers without a role of the shop.
const PUBLIC_RESPONSE: ResponseLimits = ResponseLimits {
    values: 100_000,
    bytes: 4_000_000,
};

/// The maximum size of a response for moderators, admins and services.
const STAFF_RESPONSE: ResponseLimits = ResponseLimits {
    values: 1_000_000,
    bytes: 40_000_000,
};

/// Microseconds in a unit of cost.
const UNIT: u64 = 10;

/// What callers may ask for over time, in units.
#[derive(Clone, Debug)]
pub struct RateLimits {
    /// Remembers what callers have asked for.
    pub limiter: RateLimiter,
    /// For callers without a role of the shop: anonymous ones and shoppers.
    pub public: Budget,
    /// For moderators, admins and services.
    pub staff: Budget,
}

/// Checks the cost of one request.
#[derive(Debug)]
pub struct CostGuard {
    costs: SchemaCosts,
    limit: u64,
    budget: Option<(RateLimiter, Caller, Budget)>,
    response: ResponseLimits,
}

impl CostGuard {
    /// Returns a guard with the limits of this caller.
    #[must_use]
    pub fn new(catalog: &Catalog, viewer: &Viewer, limits: CostLimits) -> Self {
        let staff = viewer.is_staff();
        Self {
            costs: SchemaCosts {
                tree: catalog.reference().categories.shape(),
            },
            limit: if staff { limits.staff } else { limits.public },
            budget: None,
            response: if staff {
                STAFF_RESPONSE
            } else {
                PUBLIC_RESPONSE
            },
        }
    }

    /// Limits what the caller may ask for over time. Without a token, callers are known by their
    /// address.
    #[must_use]
    pub fn rate(mut self, limits: &RateLimits, viewer: &Viewer, address: Option<IpAddr>) -> Self {
        let budget = if viewer.is_staff() {
            limits.staff
        } else {
            limits.public
        };
        let caller = Caller::of(viewer.subject.as_deref(), address);
        self.budget = Some((limits.limiter.clone(), caller, budget));
        self
    }

    /// Compares the cost of a request with the limits, and reports them in `extensions.cost`.
    #[must_use]
    pub fn check(&self, prepared: &Prepared) -> CostCheck {
        let requested = REQUEST.saturating_add(prepared.cost(&self.costs));
        let requested = requested.div_ceil(UNIT);
        let mut cost = Map::new();
        cost.insert("requested".to_owned(), requested.into());
        cost.insert("limit".to_owned(), self.limit.into());
        let (outcome, rate) = self.decide(requested);
        if let Some(rate) = &rate {
            cost.insert("left".to_owned(), rate.left.into());
        }
        CostCheck {
            cost: requested,
            is_large: requested > MAX_SMALL_COST,
            extensions: Map::from_iter([("cost".to_owned(), cost.into())]),
            outcome,
            rate,
            limits: self.response,
        }
    }

    /// Charges a request whose document is invalid or not known: reading it costs something, too.
    #[must_use]
    pub fn check_invalid(&self) -> CostCheck {
        self.charge(REQUEST)
    }

    /// Charges a picture that is about to be received.
    #[must_use]
    pub fn check_picture(&self) -> CostCheck {
        self.charge(PICTURE)
    }

    fn charge(&self, cost: u64) -> CostCheck {
        let cost = cost.div_ceil(UNIT);
        let (outcome, rate) = self.decide(cost);
        CostCheck {
            cost,
            outcome,
            rate,
            ..CostCheck::free()
        }
    }

    fn decide(&self, requested: u64) -> (Result<(), Failure>, Option<RateState>) {
        if requested > self.limit {
            let message = format!(
                "The request costs {requested} units; the limit is {}. Ask for smaller pages or fewer fields.",
                self.limit
            );
            return (Err(Failure::new(ErrorCode::CostExceeded, message)), None);
        }
        let Some((limiter, caller, budget)) = &self.budget else {
            return (Ok(()), None);
        };
        match limiter.take(caller, *budget, requested, Instant::now()) {
            Ok(state) => (Ok(()), Some(state)),
            Err((state, wait)) => {
                let message = format!(
                    "The request costs {requested} units, and {} are left. {} units are added each second.",
                    state.left, budget.per_second
                );
                let failure = Failure::new(ErrorCode::RateLimited, message).retry_after(wait);
                (Err(failure), Some(state))
            }
        }
    }
}

/// The costs of this schema, on a category tree of some shape.
#[derive(Debug)]
struct SchemaCosts {
    tree: TreeShape,
}

impl SchemaCosts {
    fn items(&self, items: Items, field: &SelectedField<'_>) -> (u64, u64) {
        let size = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        match items {
            Assumed(number) => (number, 1),
            Connection => (1, page_size(field)),
            Rows => (field.page, 1),
            Argument(name, default) => {
                let number = field.integer(name).and_then(|n| u64::try_from(n).ok());
                (number.unwrap_or(default).min(1_000), 1)
            }
            Values(name, default) => match field.scalars(name) {
                0 => (default, values_page(field)),
                values => (values.min(200), values_page(field)),
            },
            Length(name) => (field.items(name).min(MAX_PAGE), 1),
            Roots if field.scalars("search") > 0 => {
                let found = size(self.tree.categories.min(MAX_FOUND_CATEGORIES));
                (found, found)
            }
            Roots => (size(self.tree.roots), size(self.tree.roots)),
            Ancestors => (size(self.tree.levels), 1),
            // `page` is the number of different categories that have children here: together they
            // cannot have more children than there are categories.
            Children => {
                let parents = field.page.max(1);
                let children = parents.saturating_mul(size(self.tree.children));
                let children = children.min(size(self.tree.categories));
                (children.div_ceil(parents), children)
            }
        }
    }
}

/// The page size of a connection. A size that is out of bounds fails later.
fn page_size(field: &SelectedField<'_>) -> u64 {
    let given = field.integer("first").or_else(|| field.integer("last"));
    let size = given.and_then(|size| u64::try_from(size).ok());
    size.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE)
}

/// The number of values that each facet returns.
fn values_page(field: &SelectedField<'_>) -> u64 {
    let limit = field.integer("limit").and_then(|n| u64::try_from(n).ok());
    limit.unwrap_or(DEFAULT_PAGE).min(MAX_FACET_VALUES)
}

/// Whether the facets of a list are counted for the request: those of whole categories, in their
/// usual form, are known.
fn is_counted(field: &SelectedField<'_>) -> bool {
    let limit = field.integer("limit").unwrap_or_default();
    let is_usual = usize::try_from(limit).is_ok_and(|limit| limit <= facets::MAX_STORED_VALUES);
    field.is_narrowed || !is_usual || field.items("displayUnits") > 0
}

/// Whether the products are sorted by the values of a spec key.
fn is_sorted_by_spec(field: &SelectedField<'_>) -> bool {
    field.any_item_has("sort", "spec")
}

/// Whether a list examines products that do not match, for a page that is read.
fn list_examines(field: &SelectedField<'_>) -> bool {
    let (filter, sort) = (field.constant("filter"), field.constant("sort"));
    examined::list_examines(filter.as_ref(), examined::sort_key(sort.as_ref()))
}

/// What a field costs beyond its row in the table, because of its arguments.
fn by_arguments(field: &SelectedField<'_>) -> u64 {
    match (field.parent, field.name) {
        ("Query", "products") => {
            let searched = field.scalars("search") > 0;
            let search = if searched { SEARCH } else { 0 };
            let sort = if is_sorted_by_spec(field) {
                SORT_BY_SPEC
            } else {
                0
            };
            // A search has a limit of its own.
            let examined = if !searched && list_examines(field) {
                EXAMINED
            } else {
                0
            };
            ROW * page_size(field) + search + sort + examined
        }
        (
            _,
            "reviews" | "moderationQueue" | "suppliers" | "imports" | "rejects" | "history"
            | "bulkChanges",
        )
        | ("BulkChange", "items") => ROW * page_size(field),
        // A list that is sorted by a spec key counts the facets of half as many products.
        ("ProductConnection", "facets") if is_counted(field) && field.is_sorted_without_index => {
            FACET_COUNT / 2
        }
        ("ProductConnection", "facets") if is_counted(field) => FACET_COUNT,
        ("Query", "nodes") => ROW * field.scalars("ids"),
        // Products by id and by SKU, reviews, suppliers: a look-up each.
        ("Query", "_entities") => {
            let entities = field.items("representations").min(MAX_PAGE);
            LOOK_UP * entities.min(4) + ROW * entities
        }
        ("Query", "trending") => ROW * DEFAULT_PAGE,
        ("ProductConnection" | "ReviewConnection", "totalCount") => {
            let up_to = field
                .integer("upTo")
                .and_then(|up_to| u64::try_from(up_to).ok());
            let examined = if field.is_examined { EXAMINED } else { 0 };
            LIST + up_to.unwrap_or(DEFAULT_COUNT).saturating_mul(COUNTED) / 1_000 + examined
        }
        ("Mutation", "recordActivity") => MUTATION + EVENT * examined::events(field),
        ("Mutation", _) => MUTATION,
        _ => 0,
    }
}

impl CostModel for SchemaCosts {
    fn facts(&self) -> [u64; 4] {
        let tree = &self.tree;
        let facts = [tree.categories, tree.roots, tree.children, tree.levels];
        facts.map(|fact| u64::try_from(fact).unwrap_or(u64::MAX))
    }

    fn cost_of(&self, field: &SelectedField<'_>) -> FieldCost {
        let (own, items) = row(field).unwrap_or((0, Assumed(1)));
        let (items, page) = self.items(items, field);
        let each = match (field.parent.starts_with("__"), field.is_composite) {
            (true, composite) => u64::from(composite),
            (false, true) => OBJECT,
            (false, false) => SCALAR,
        };
        let arguments = ARGUMENT.saturating_mul(field.argument_scalars());
        let own = own
            .saturating_add(by_arguments(field))
            .saturating_add(arguments)
            .saturating_add(each.saturating_mul(items));
        let is_narrowed = match (field.parent, field.name) {
            ("Query", "products") => {
                field.scalars("search") > 0
                    || field.says_more_than("filter", "category")
                    || field.scalars("filter") > 1
            }
            _ => false,
        };
        FieldCost {
            own,
            items,
            page,
            is_narrowed,
            is_sorted_without_index: is_sorted_by_spec(field),
            is_examined: (field.parent, field.name) == ("Query", "products")
                && field.scalars("search") == 0
                && examined::count_examines(field.constant("filter").as_ref()),
        }
    }
}

/// The row of a field in the table.
fn row(field: &SelectedField<'_>) -> Option<(u64, Items)> {
    let own = COSTS.get(&(field.parent, field.name));
    let shared = || {
        let of_product = field.implements("Product");
        of_product.then(|| COSTS.get(&("Product", field.name)))?
    };
    own.or_else(shared).copied()
}

mod examined;

#[cfg(test)]
mod tests;
