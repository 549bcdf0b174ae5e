//! The plan of every query that the service sends, as the server executed it: which index, how
//! many keys and documents per row, sorted in memory or not.
//!
//! The queries are sent through the API, so that the checked commands are the real ones. The table
//! that the test prints (`cargo test plans -- --nocapture`) is the one to quote.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use futures_util::TryStreamExt as _;
use mongodb::IndexModel;
use mongodb::bson::{Document, doc};
use vitrine_domain::import::ImportMode;
use vitrine_domain::products::Visibility;
use vitrine_harness::profile::Executed;
use vitrine_harness::{App, product, review, test};
use vitrine_model::id::ProductId;
use vitrine_model::import::{ProductDraft, ReviewDraft};
use vitrine_model::product::ProductStatus;

/// The number of products, and of leaf categories.
const PRODUCTS: usize = 2000;
const LEAVES: usize = 20;
/// The number of reviews of the product `P0`.
const REVIEWS: usize = 3000;

/// A query and its expected plan.
struct Shape {
    name: String,
    query: String,
    /// The index of every command on the collection.
    index: &'static str,
    /// The maximum of index keys: per row, and in addition.
    keys: (i64, i64),
    /// The maximum of documents: per row, and in addition.
    docs: (i64, i64),
    /// Whether rows are sorted in memory.
    sorts: bool,
    /// Only this command, of several that the query sends.
    only: Option<&'static str>,
}

/// A list of twenty rows; one more is read.
fn list(name: impl Into<String>, filter: &str, sort: &str, index: &'static str) -> Shape {
    let query = format!(
        "{{ products(first: 20, filter: {filter}, sort: [{{ key: {sort} }}]) {{ nodes {{ name }} }} }}"
    );
    Shape {
        name: name.into(),
        query,
        index,
        keys: (1, 0),
        docs: (1, 0),
        sorts: false,
        only: None,
    }
}

impl Shape {
    /// Allows more keys than one per row: one for each merged range, for example.
    fn more_keys(mut self, keys: i64) -> Self {
        self.keys.1 = keys;
        self
    }

    /// All products within the bounds are read and sorted: this many per row.
    fn sorted(mut self, per_row: i64) -> Self {
        self.sorts = true;
        self.keys = (per_row, 0);
        self.docs = (per_row, 0);
        self
    }

    /// The index of the sort order is scanned, and products that do not match are skipped: this
    /// many are read per row.
    fn scanned(mut self, per_row: i64) -> Self {
        self.keys = (per_row, 0);
        self.docs = (per_row, 0);
        self
    }
}

/// A product of the seed: a fifth has no price, one in forty is a draft, one in a hundred is rare.
fn seed_product(n: usize) -> ProductDraft {
    let colors = [
        "Red", "Green", "Blue", "Black", "White", "Grey", "Pink", "Brown",
    ];
    let leaf = n % LEAVES;
    let (parent, leaf) = (format!("Parent {}", leaf / 5), format!("Leaf {leaf}"));
    let size = f64::from(u32::try_from(n * 7 % 1000).unwrap()) / 10.0;
    let product = product(&format!("P{n}"))
        .category([&parent, &leaf])
        .brand(&format!("Brand {}", n % 50))
        .supplier(&format!("Supplier {}", n % 10), "DE")
        .text("color", colors[n / LEAVES % colors.len()])
        .quantity("screen_size", size, "in")
        .quantity("weight", size, "kg")
        .qualified(if n.is_multiple_of(2) { "EU" } else { "US" })
        .boolean("lid", n.is_multiple_of(3))
        .created_at(&format!("20{:02}-0{}-01", n % 25, 1 + n % 9))
        .status(if n % 40 == 39 {
            ProductStatus::Draft
        } else {
            ProductStatus::Active
        });
    let product = if n % 100 == 7 {
        product.text("rare", "yes")
    } else {
        product
    };
    let product = if n.is_multiple_of(5) {
        product
    } else {
        product.price(&format!("{}.99", n * 13 % 500))
    };
    ProductDraft::from(product)
}

/// A review of the seed: a twentieth has no date.
fn seed_review(product: &str, n: usize) -> ReviewDraft {
    let stars = if n.is_multiple_of(3) {
        5
    } else {
        i64::try_from(1 + n * 7 % 5).unwrap()
    };
    let review =
        review(product, format!("{product} {n}"), stars).helpful(i64::try_from(n % 500).unwrap());
    let review = if n.is_multiple_of(20) {
        review.undated()
    } else {
        review.created_at(&format!(
            "20{:02}-0{}-01T{:02}:{:02}:00Z",
            n % 24,
            1 + n % 9,
            n / 60 % 24,
            n % 60
        ))
    };
    ReviewDraft::from(review)
}

async fn seed(app: &App) {
    let products = (0..PRODUCTS).map(seed_product);
    let of_hit = (0..REVIEWS).map(|n| ("P0".to_owned(), n));
    let of_others = (0..600).map(|n| (format!("P{}", 1 + n % 97 * 3), n));
    let reviews = of_hit.chain(of_others);
    let reviews = reviews.map(|(product, n)| seed_review(&product, n));
    app.import(ImportMode::Write, products.collect(), reviews.collect())
        .await;
}

/// The sort keys with the indexes of the whole catalogue and of a category.
const SORTS: &[(&str, &str, &str)] = &[
    ("PRICE", "price", "category_price"),
    ("RATING", "rating", "category_rating"),
    ("POPULARITY", "popularity", "category_popularity"),
    ("NEWEST", "newest", "category_newest"),
    ("UPDATED", "updated", "category_updated"),
    ("NAME", "name", "category_name"),
    ("BEST_SELLING", "sold", "category_sold"),
    ("TRENDING", "trend", "category_trend"),
];

/// Every kind of query for a list of products.
fn lists() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for &(sort, plain, in_category) in SORTS {
        for direction in ["ASCENDING", "DESCENDING"] {
            let order = format!("{sort}, direction: {direction}");
            shapes.push(list(format!("all by {order}"), "{}", &order, plain));
            let leaf = r#"{ category: ["leaf-1"] }"#;
            shapes.push(list(format!("leaf by {order}"), leaf, &order, in_category));
            let parent = r#"{ category: ["parent-0"] }"#;
            shapes
                .push(list(format!("parent by {order}"), parent, &order, in_category).more_keys(5));
        }
    }
    shapes.extend(token_lists());
    shapes.extend(range_lists());
    shapes.extend(scanned_lists());
    shapes
}

fn token_lists() -> Vec<Shape> {
    let (red, in_leaf) = (
        r#"{ specs: [{ key: "color", text: { eq: "red" } }] }"#,
        r#"{ category: ["leaf-1"], specs: [{ key: "color", text: { eq: "red" } }] }"#,
    );
    let in_parent =
        r#"{ category: ["parent-0"], specs: [{ key: "color", text: { in: ["red", "blue"] } }] }"#;
    let any = r#"{ specs: [{ key: "color", text: { in: ["red", "blue"] } }] }"#;
    vec![
        list("token by POPULARITY", red, "POPULARITY", "tokens_popularity"),
        list("two tokens by POPULARITY", any, "POPULARITY", "tokens_popularity").more_keys(2),
        list("token by PRICE", red, "PRICE", "tokens_popularity").sorted(13),
        list("token by NAME", red, "NAME", "tokens_popularity").sorted(13),
        list("token in leaf by PRICE", in_leaf, "PRICE", "category_tokens_price").more_keys(1),
        list("token in leaf by PRICE down", in_leaf, "PRICE, direction: DESCENDING", "category_tokens_price"),
        list("token in leaf by POPULARITY", in_leaf, "POPULARITY", "category_tokens_popularity"),
        list("token in leaf by NAME", in_leaf, "NAME", "category_tokens_popularity").sorted(1),
        list("tokens in parent by PRICE", in_parent, "PRICE", "category_tokens_price").more_keys(10),
        list("tokens in parent by POPULARITY", in_parent, "POPULARITY", "category_tokens_popularity").more_keys(10),
        list("brand by POPULARITY", r#"{ brand: ["brand 7"] }"#, "POPULARITY", "tokens_popularity"),
        list("yes or no by POPULARITY", r#"{ specs: [{ key: "lid", boolean: true }] }"#, "POPULARITY", "tokens_popularity"),
        list("token and range by POPULARITY", r#"{ specs: [{ key: "color", text: { eq: "red" } }, { key: "screen_size", number: { gte: 50, unit: "in" } }] }"#, "POPULARITY", "tokens_popularity").scanned(8),
    ]
}

fn range_lists() -> Vec<Shape> {
    let range = |rest: &str| {
        format!(
            r#"{{ {rest} specs: [{{ key: "screen_size", number: {{ gte: 25, lt: 27, unit: "in" }} }}] }}"#
        )
    };
    let plain = range("");
    let in_leaf = range(r#"category: ["leaf-1"],"#);
    let in_parent = range(r#"category: ["parent-0"],"#);
    let band = r#"{ specs: [{ key: "screen_size", number: { eq: 25.9, unit: "in" } }] }"#;
    let open = r#"{ category: ["leaf-1"], specs: [{ key: "screen_size", number: { gt: 95, unit: "in" } }] }"#;
    let qualified = r#"{ specs: [{ key: "weight", qualifier: "EU", number: { gte: 25, lt: 27, unit: "kg" } }] }"#;
    let two = r#"{ specs: [{ key: "screen_size", number: { gte: 25, lt: 27, unit: "in" } }, { key: "weight", number: { lt: 26, unit: "kg" } }] }"#;
    vec![
        list("range by PRICE", &plain, "PRICE", "spec_number").sorted(2),
        list("range by POPULARITY", &plain, "POPULARITY", "spec_number").sorted(2),
        list(
            "range in leaf by PRICE",
            &in_leaf,
            "PRICE",
            "category_spec_number",
        )
        .sorted(2),
        list(
            "range in parent by NAME",
            &in_parent,
            "NAME",
            "category_spec_number",
        )
        .sorted(3),
        list("band by NAME", band, "NAME", "spec_number").sorted(2),
        list(
            "open range in leaf by NEWEST",
            open,
            "NEWEST",
            "category_spec_number",
        )
        .sorted(2),
        list(
            "range with qualifier by NAME",
            qualified,
            "NAME",
            "spec_number",
        )
        .sorted(3),
        list("two ranges by NAME", two, "NAME", "spec_number").sorted(3),
    ]
}

/// Filters without an index: the index of the sort order is scanned until the page is full. Ties
/// are in the order of random ids, so such a limit is twice the average number of skipped products.
fn scanned_lists() -> Vec<Shape> {
    let or = r#"{ or: [{ specs: [{ key: "color", text: { eq: "red" } }] }, { price: { lte: "100" } }] }"#;
    let not =
        r#"{ category: ["leaf-1"], not: { specs: [{ key: "color", text: { eq: "red" } }] } }"#;
    let exists = r#"{ specs: [{ key: "weight", qualifier: "EU", exists: true }] }"#;
    let rare = r#"{ category: ["leaf-7"], specs: [{ key: "rare", exists: true }] }"#;
    vec![
        list("or by POPULARITY", or, "POPULARITY", "popularity").scanned(7),
        list("not in leaf by NAME", not, "NAME", "category_name").scanned(3),
        list("exists by NEWEST", exists, "NEWEST", "newest").scanned(4),
        list(
            "exists, rare, in leaf by NEWEST",
            rare,
            "NEWEST",
            "category_newest",
        )
        .scanned(6),
        list(
            "price range by PRICE",
            r#"{ price: { gte: "100", lte: "200" } }"#,
            "PRICE",
            "price",
        ),
        list(
            "price range by NAME",
            r#"{ price: { gte: "100", lte: "200" } }"#,
            "NAME",
            "name",
        )
        .scanned(12),
        list(
            "rating by RATING",
            "{ rating: { gte: 3.5 } }",
            "RATING",
            "rating",
        )
        .scanned(60),
    ]
}

fn one(
    name: &str,
    query: String,
    index: &'static str,
    keys: (i64, i64),
    docs: (i64, i64),
) -> Shape {
    Shape {
        name: name.to_owned(),
        query,
        index,
        keys,
        docs,
        sorts: false,
        only: None,
    }
}

/// Nodes by their ids.
async fn nodes(app: &App) -> Vec<Shape> {
    let ids = app.query("{ products(first: 50) { nodes { id supplier { supplierId } } } product(slug: \"p0\") { id topReviews { reviewId } } }").await;
    let of = |pointer: &str, n: usize| {
        (0..n)
            .map(|at| format!("{:?}", ids.text(&pointer.replace('#', &at.to_string()))))
            .collect::<Vec<_>>()
            .join(", ")
    };
    vec![
        one(
            "product by id",
            format!("{{ product(id: {}) {{ name }} }}", of("/product/id", 1)),
            "_id_",
            (1, 0),
            (1, 0),
        ),
        one(
            "50 products by id",
            format!(
                "{{ nodes(ids: [{}]) {{ id }} }}",
                of("/products/nodes/#/id", 50)
            ),
            "_id_",
            (2, 0),
            (1, 0),
        ),
        one(
            // With their products, which decide whether the caller may see them.
            "10 reviews by id",
            format!(
                "{{ nodes(ids: [{}]) {{ id }} }}",
                of("/product/topReviews/#/reviewId", 10)
            ),
            "_id_",
            (3, 0),
            (2, 0),
        ),
        one(
            "supplier by id",
            format!(
                "{{ supplier(id: {}) {{ name }} }}",
                of("/products/nodes/#/supplier/supplierId", 1)
            ),
            "_id_",
            (1, 0),
            (1, 0),
        ),
    ]
}

/// Products by their slugs and SKUs.
fn names() -> Vec<Shape> {
    vec![
        one(
            "product by slug",
            "{ product(slug: \"p1\") { name } }".to_owned(),
            "_id_",
            (1, 0),
            (1, 0),
        ),
        one(
            "product by sku",
            "{ product(sku: \"feed:P1\") { name } }".to_owned(),
            "_id_",
            // Its name, and itself.
            (2, 0),
            (2, 0),
        ),
    ]
}

/// Totals of lists.
fn totals() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (name, filter, index, keys) in [
        ("all", "{}", "newest", 2000),
        (
            "leaf",
            r#"{ category: ["leaf-1"] }"#,
            "category_newest",
            110,
        ),
        // The index has what is filtered.
        (
            "price and rating",
            r#"{ price: { gte: "1" }, rating: { gte: 1 } }"#,
            "newest",
            2000,
        ),
        (
            "leaf and price",
            r#"{ category: ["leaf-1"], price: { gte: "1" } }"#,
            "category_newest",
            110,
        ),
        (
            "token",
            r#"{ specs: [{ key: "color", text: { eq: "red" } }] }"#,
            "tokens_slot",
            300,
        ),
        (
            "range",
            r#"{ specs: [{ key: "screen_size", number: { gte: 25, lt: 27, unit: "in" } }] }"#,
            "spec_number",
            60,
        ),
    ] {
        let query =
            format!("{{ products(first: 1, filter: {filter}) {{ totalCount {{ value }} }} }}");
        // No index covers a range: its products are read.
        let docs = if name == "range" { (0, keys) } else { (0, 0) };
        let total = one(&format!("total of {name}"), query, index, (0, keys), docs);
        shapes.push(Shape {
            only: Some("aggregate"),
            ..total
        });
    }
    shapes
}

/// One line of the table.
struct Line {
    name: String,
    executed: Vec<Executed>,
    patterns: Rc<HashMap<String, String>>,
}

impl Line {
    fn total(&self, of: impl Fn(&Executed) -> i64) -> i64 {
        self.executed.iter().map(of).sum()
    }

    fn text(&self) -> String {
        let indexes: Vec<String> = self
            .executed
            .iter()
            .flat_map(|e| e.indexes(&self.patterns))
            .collect();
        let sorts = if self.executed.iter().any(Executed::sorts) {
            "sort"
        } else {
            ""
        };
        let (rows, keys, docs) = (
            self.total(Executed::rows),
            self.total(Executed::keys),
            self.total(Executed::docs),
        );
        format!(
            "{:<48}{rows:>5}{keys:>7}{docs:>7}  {sorts:<5}{}",
            self.name,
            indexes.join(", ")
        )
    }

    /// The differences from the expected plan.
    fn faults(&self, shape: &Shape) -> Vec<String> {
        let mut faults = Vec::new();
        let rows = self.total(Executed::rows).max(1);
        let mut most = |what: &str, found: i64, (per_row, beside): (i64, i64)| {
            let most = per_row * rows + beside;
            if found > most {
                faults.push(format!("{found} {what} for {rows} rows; at most {most}"));
            }
        };
        most("keys", self.total(Executed::keys), shape.keys);
        most("documents", self.total(Executed::docs), shape.docs);
        for executed in &self.executed {
            let indexes = executed.indexes(&self.patterns);
            let by_id = shape.index == "_id_" && executed.plan() == "IDHACK";
            if !by_id && indexes != [shape.index] {
                faults.push(format!(
                    "uses {indexes:?} ({}), not {}",
                    executed.plan(),
                    shape.index
                ));
            }
            faults.extend(loose_bounds(executed));
            let bounded = [("spec_number", "specs.n"), ("tokens", "tokens")];
            for (_, field) in bounded
                .iter()
                .filter(|(part, _)| shape.index.contains(part))
            {
                if executed.command() == "find" && executed.bounds(field).is_empty() {
                    faults.push(format!("no bounds of {field} were seen"));
                }
            }
        }
        if self.executed.is_empty() {
            faults.push("no command was seen".to_owned());
        }
        if self.executed.iter().any(Executed::sorts) != shape.sorts {
            faults.push(format!("sorts in memory: {}", !shape.sorts));
        }
        faults
    }
}

/// The second field of a predicate on specs or tokens must have bounds: otherwise the whole key is
/// read.
fn loose_bounds(executed: &Executed) -> Vec<String> {
    let loose = |field: &str| {
        let bounds = executed.bounds(field);
        let open = bounds
            .iter()
            .flatten()
            .any(|bound| bound.contains("MinKey") || bound.contains("MaxKey"));
        open.then(|| format!("{field} has the bounds {bounds:?}"))
    };
    [
        "status", "category", "tokens", "keywords", "specs.k", "specs.n",
    ]
    .into_iter()
    .filter_map(loose)
    .collect()
}

async fn line(app: &App, patterns: &Rc<HashMap<String, String>>, name: &str, query: &str) -> Line {
    let (answer, executed) = app.profile(async { app.query(query).await }).await;
    assert!(answer.errors().is_empty(), "{name}: {:?}", answer.errors());
    Line {
        name: name.to_owned(),
        executed,
        patterns: Rc::clone(patterns),
    }
}

#[test]
fn every_sort_key_has_a_row() {
    test(async |app| {
        let known = app
            .query(r#"{ __type(name: "ProductSortKey") { enumValues { name } } }"#)
            .await;
        let keys = known.at("/__type/enumValues").as_array().unwrap().iter();
        let keys = keys.map(|value| value["name"].as_str().unwrap());
        let stored: Vec<&str> = keys.filter(|key| *key != "RELEVANCE").collect();
        let explained: Vec<&str> = SORTS.iter().map(|(key, ..)| *key).collect();
        assert_eq!(explained, stored);
    });
}

#[test]
fn every_query_has_the_plan_it_was_designed_for() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        seed(app).await;
        let mut shapes = lists();
        shapes.extend(nodes(app).await);
        shapes.extend(names());
        shapes.extend(totals());
        app.start_profiler().await;
        let patterns = Rc::new(app.index_patterns("products").await);
        let mut table = format!(
            "{:<48}{:>5}{:>7}{:>7}  sort index\n",
            "", "rows", "keys", "docs"
        );
        let mut faults = Vec::new();
        for shape in &shapes {
            let mut line = line(app, &patterns, &shape.name, &shape.query).await;
            line.executed
                .retain(|executed| shape.only.is_none_or(|only| executed.command() == only));
            let _ = writeln!(table, "{}", line.text());
            faults.extend(
                line.faults(shape)
                    .into_iter()
                    .map(|fault| format!("{}: {fault}", shape.name)),
            );
        }
        pages(app, &patterns, &mut table, &mut faults).await;
        println!("{table}");
        assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    });
}

/// With products in memory a list reads ids only, of which its index has all that is needed.
#[test]
fn lists_of_products_in_memory_read_no_product() {
    test(async |app| {
        seed(app).await;
        app.start_profiler().await;
        // A filter on the price is in no index of another order. Products that lack a value are read where several
        // categories are merged.
        let reads = |shape: &Shape| {
            let absent = ["BEST_SELLING", "TRENDING"];
            let absent = absent.iter().any(|sort| shape.name.contains(sort));
            shape.query.contains("price: {") || absent && shape.name.starts_with("parent")
        };
        let is_covered = |shape: &Shape| shape.docs == (1, 0) && !shape.sorts && !reads(shape);
        let mut covered = lists();
        covered.retain(is_covered);
        let patterns = app.index_patterns("products").await;
        // Of categories that are listed more often, lists come from rows in memory.
        let mut parts = Vec::new();
        for few in covered.chunks(15) {
            let app = app.with_empty_memory().await;
            remember_all(&app).await;
            parts.push((app, few));
        }
        let read = async {
            for (app, few) in &parts {
                for shape in *few {
                    let _ = app.query(&shape.query).await.data();
                }
            }
        };
        let ((), executed) = app.profile(read).await;
        let is_list = |executed: &&Executed| executed.indexes(&patterns) != ["_id_"];
        let lists: Vec<&Executed> = executed.iter().filter(is_list).collect();
        assert!(lists.len() >= covered.len());
        for list in lists {
            assert_eq!(list.docs(), 0, "{list:?}");
        }
    });
}

/// Reads all products by their ids, so that they are in memory.
async fn remember_all(app: &App) {
    let all = app.documents("products", doc! {}).await;
    let id = |product: &Document| ProductId::from_i64(product.get_i64("_id").unwrap());
    let ids: Vec<ProductId> = all.iter().map(id).collect();
    let found = app.catalog.products_by_id(ids, Visibility::Everything);
    assert_eq!(found.await.unwrap().len(), PRODUCTS);
}

/// Page 50 costs what page 1 costs, in every order, forwards and backwards.
async fn pages(
    app: &App,
    patterns: &Rc<HashMap<String, String>>,
    table: &mut String,
    faults: &mut Vec<String>,
) {
    for order in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
        for (filter, at_most) in [("", 50), (", filter: { ratings: [5] }", 25)] {
            let list = format!("sort: {order}{filter}");
            let at = |page: &str| {
                format!(
                    "{{ product(slug: \"p0\") {{ reviews(first: 20, {list}{page}) {{ nodes {{ rating }} }} }} }}"
                )
            };
            let cursor = cursor_of_page(app, &list, at_most).await;
            let first = line(app, patterns, &format!("reviews {list}, page 1"), &at("")).await;
            let deep = line(
                app,
                patterns,
                &format!("reviews {list}, page {at_most}"),
                &at(&format!(", after: \"{cursor}\"")),
            )
            .await;
            for line in [&first, &deep] {
                let _ = writeln!(table, "{}", line.text());
            }
            let (near, far) = (first.total(Executed::keys), deep.total(Executed::keys));
            // A cursor adds a few ranges for the rows that tie with it.
            if far > near + 21 {
                faults.push(format!("{}: {far} keys, page 1 has {near}", deep.name));
            }
        }
    }
}

/// The cursor at the end of the page before this one.
async fn cursor_of_page(app: &App, list: &str, page: usize) -> String {
    let mut cursor = String::new();
    for _ in 0..=(page - 1) / 5 {
        let query = format!(
            "{{ product(slug: \"p0\") {{ reviews(first: 100, {list}{cursor}) {{ pageInfo {{ endCursor hasNextPage }} }} }} }}"
        );
        let answer = app.query(&query).await;
        if *answer.at("/product/reviews/pageInfo/hasNextPage") == false {
            break;
        }
        cursor = format!(
            ", after: \"{}\"",
            answer.text("/product/reviews/pageInfo/endCursor")
        );
    }
    cursor
        .trim_start_matches(", after: ")
        .trim_matches('"')
        .to_owned()
}

#[test]
fn ties_cost_no_more_than_other_rows() {
    test(async |app| {
        app.has([product("Hit")]).await;
        app.has((0..500).map(|n| {
            product(&format!("Same {n}"))
                .price("5")
                .created_at("2024-01-01")
        }))
        .await;
        app.has_reviews((0..1500).map(|n| review("Hit", n, 5).created_at("2024-01-01")))
            .await;
        app.start_profiler().await;
        let mut lines = Vec::new();
        for order in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
            let list = |from: &str| {
                format!(
                    "{{ product(slug: \"hit\") {{ list: reviews(sort: {order}, first: 20{from}) {{ pageInfo {{ endCursor }} }} }} }}"
                )
            };
            lines.push((
                order.to_owned(),
                pages_of(app, "/product/list", 75, list).await,
            ));
        }
        for order in ["PRICE", "RATING", "POPULARITY", "NEWEST"] {
            for direction in ["ASCENDING", "DESCENDING"] {
                let list = |from: &str| {
                    format!(
                        "{{ list: products(filter: {{ price: {{ gte: \"5\" }} }}, sort: [{{ key: {order}, direction: {direction} }}], first: 20{from}) {{ pageInfo {{ endCursor }} }} }}"
                    )
                };
                lines.push((
                    format!("{order} {direction}"),
                    pages_of(app, "/list", 24, list).await,
                ));
            }
        }
        let mut faults = Vec::new();
        for (order, keys) in lines {
            let most = keys.iter().max().unwrap();
            println!("{order}: {most} keys at most, {keys:?}");
            // The planner may scan the ties of the previous page; it must not begin at the start.
            if *most > 63 || keys.iter().sum::<i64>() > 24 * i64::try_from(keys.len()).unwrap() {
                faults.push(format!(
                    "{order}: a page of 20 takes up to {most} keys among rows that tie"
                ));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    });
}

/// The number of keys read for each of this many pages.
async fn pages_of(app: &App, list: &str, pages: usize, query: impl Fn(&str) -> String) -> Vec<i64> {
    let mut from = String::new();
    let mut keys = Vec::new();
    for _ in 0..pages {
        let (answer, executed) = app.profile(async { app.query(&query(&from)).await }).await;
        let listed = executed
            .iter()
            .filter(|executed| executed.plan() != "IXSCAN { _id: 1 }");
        keys.push(listed.map(Executed::keys).sum());
        from = format!(
            ", after: \"{}\"",
            answer.text(&format!("{list}/pageInfo/endCursor"))
        );
    }
    keys
}

/// A search, a list with facets, or a list sorted by a spec: which indexes its commands may use,
/// and how many documents all of them may read.
struct Wide {
    name: &'static str,
    arguments: &'static str,
    fields: &'static str,
    indexes: &'static [&'static str],
    docs: i64,
}

/// With 97 of 2,000 products in the leaf, 250 that are red, and 40 of a brand.
const WIDE: [Wide; 12] = [
    Wide {
        name: "search, one product",
        arguments: r#"search: "p77 ""#,
        fields: "",
        indexes: &["name", "keywords_popularity"],
        docs: 3,
    },
    Wide {
        name: "search, two words",
        arguments: r#"search: "brand 7 ""#,
        fields: "",
        indexes: &["name", "keywords_popularity"],
        docs: 45,
    },
    Wide {
        name: "search, beginning",
        arguments: r#"search: "bran""#,
        fields: "",
        indexes: &["name", "keywords_popularity"],
        docs: 21,
    },
    Wide {
        name: "search, in leaf",
        arguments: r#"search: "brand ", filter: { category: ["leaf-1"] }"#,
        fields: "",
        indexes: &[
            "name",
            "keywords_popularity",
            "category_newest",
            "category_popularity",
        ],
        docs: 2 * 2000,
    },
    Wide {
        name: "search, token in leaf",
        arguments: r#"search: "brand ", filter: { category: ["leaf-1"], specs: [{ key: "color", text: { eq: "red" } }] }"#,
        fields: "",
        indexes: &[
            "name",
            "keywords_popularity",
            "category_tokens_price",
            "category_tokens_popularity",
        ],
        docs: 60,
    },
    Wide {
        name: "search by PRICE, rare word",
        arguments: r#"search: "yes", sort: [{ key: PRICE }]"#,
        fields: "",
        indexes: &["keywords_popularity"],
        docs: 50,
    },
    Wide {
        name: "facets of a leaf",
        arguments: r#"filter: { category: ["leaf-1"], price: { gte: "0" } }, first: 1"#,
        fields: "facets(keys: [\"color\", \"screen_size\", \"@brand\"]) { key }",
        indexes: &["popularity", "category_popularity", "category_newest"],
        docs: 102,
    },
    Wide {
        name: "facets of a token",
        arguments: r#"filter: { specs: [{ key: "color", text: { eq: "red" } }] }, first: 1"#,
        fields: "facets(keys: [\"screen_size\", \"@brand\", \"lid\"]) { key }",
        indexes: &["tokens_popularity", "tokens_slot"],
        docs: 270,
    },
    Wide {
        name: "facets of a range, one chosen from",
        arguments: r#"filter: { specs: [{ key: "color", text: { eq: "red" } }, { key: "screen_size", number: { gte: 25, lt: 27, unit: "in" } }] }, first: 1"#,
        fields: "facets(keys: [\"color\", \"@brand\"]) { key }",
        indexes: &[
            "tokens_popularity",
            "tokens_slot",
            "spec_number",
            "popularity",
            "newest",
        ],
        docs: 800,
    },
    Wide {
        name: "facets of a search",
        arguments: r#"search: "brand 7 ", first: 1"#,
        fields: "facets(keys: [\"color\"]) { key }",
        indexes: &["name", "keywords_popularity"],
        docs: 130,
    },
    Wide {
        name: "token by a spec",
        arguments: r#"filter: { specs: [{ key: "color", text: { eq: "red" } }] }, sort: [{ spec: "screen_size" }]"#,
        fields: "",
        indexes: &["tokens_popularity", "tokens_slot"],
        docs: 270,
    },
    Wide {
        name: "leaf by a spec",
        arguments: r#"filter: { category: ["leaf-1"] }, sort: [{ spec: "screen_size", direction: DESCENDING }]"#,
        fields: "",
        indexes: &["popularity", "category_popularity", "category_newest"],
        docs: 101,
    },
];

#[test]
fn searches_facets_and_sorts_by_spec_read_what_their_index_bounds() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        seed(app).await;
        app.start_profiler().await;
        let patterns = Rc::new(app.index_patterns("products").await);
        let (mut table, mut faults) = (String::new(), Vec::new());
        for wide in WIDE {
            let query = format!(
                "{{ products({}) {{ nodes {{ name }} {} }} }}",
                wide.arguments, wide.fields
            );
            let mut line = line(app, &patterns, wide.name, &query).await;
            line.executed.retain(|executed| {
                executed
                    .entry()
                    .get_str("ns")
                    .unwrap_or_default()
                    .ends_with(".products")
            });
            let _ = writeln!(table, "{}", line.text());
            for executed in &line.executed {
                faults.extend(
                    loose_bounds(executed)
                        .into_iter()
                        .map(|fault| format!("{}: {fault}", wide.name)),
                );
                for index in executed.indexes(&patterns) {
                    if !wide.indexes.contains(&index.as_str()) {
                        faults.push(format!(
                            "{}: uses {index}, not {:?}",
                            wide.name, wide.indexes
                        ));
                    }
                }
                if executed.indexes(&patterns).is_empty() && executed.plan() != "EOF" {
                    faults.push(format!("{}: {}", wide.name, executed.plan()));
                }
            }
            let docs = line.total(Executed::docs);
            if docs > wide.docs {
                faults.push(format!(
                    "{}: {docs} documents; at most {}",
                    wide.name, wide.docs
                ));
            }
        }
        println!("{table}");
        assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    });
}

#[test]
fn a_missing_index_fails_its_query() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let list = "{ products(sort: [{ key: NAME }]) { nodes { name } } }";
        assert_eq!(app.query(list).await.names("/products"), ["Lamp"]);
        let products = app.direct().collection::<Document>("products");
        let indexes = products.list_indexes().await.unwrap();
        let indexes: Vec<IndexModel> = indexes.try_collect().await.unwrap();
        let name = |index: &IndexModel| index.options.clone().unwrap().name.unwrap();
        let index = indexes.into_iter().find(|index| name(index) == "name");
        products.drop_index("name").await.unwrap();
        let errors = app.query(list).await.errors();
        assert!(
            errors.len() == 1 && errors[0].starts_with("INTERNAL at products: "),
            "{errors:?}"
        );
        products.create_index(index.unwrap()).await.unwrap();
        assert_eq!(app.query(list).await.names("/products"), ["Lamp"]);
    });
}
