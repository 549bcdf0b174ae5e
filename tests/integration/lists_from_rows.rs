//! Lists made from rows in memory: they are those that the database returns, need no command, and show every write of
//! their own process at once and of others within the bound.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vitrine_domain::workers::Worker;
use vitrine_harness::{App, ProductBuilder, eventually, product, review, test};

/// A generous deadline for a busy machine.
const LONG: Duration = Duration::from_mins(2);
/// The default bound.
const BOUND: Duration = Duration::from_secs(2);

const FILTERS: [&str; 6] = [
    r#"{ category: ["lights"] }"#,
    r#"{ category: ["lamps"], specs: [{ key: "color", text: { eq: "red" } }] }"#,
    r#"{ specs: [{ key: "color", text: { eq: "red" } }, { key: "height", number: { gte: 20, unit: "cm" } }] }"#,
    r#"{ category: ["lights"], or: [{ price: { lte: "4" } }, { rating: { gte: 4 } }], not: { brand: ["Acme"] } }"#,
    r#"{ specs: [{ key: "color", exists: false }] }"#,
    "{ }",
];
const KEYS: [&str; 7] = [
    "PRICE",
    "RATING",
    "POPULARITY",
    "NEWEST",
    "UPDATED",
    "BEST_SELLING",
    "TRENDING",
];

fn list(filter: &str, key: &str, direction: &str, page: &str) -> String {
    format!(
        "{{ products(filter: {filter}, sort: [{{ key: {key}, direction: {direction} }}], {page}) {{
            edges {{ cursor node {{ slug name price {{ amount }} ratingStats {{ count }} }} }}
            pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
    )
}

/// Thirty lamps and bulbs, of which some have the same price, no price, or no color.
fn stock() -> impl Iterator<Item = ProductBuilder> {
    (0..30).map(|n: u32| {
        let leaf = if n.is_multiple_of(3) {
            "Bulbs"
        } else {
            "Lamps"
        };
        let mut one = product(&format!("p{n:02}"))
            .category(["Lights", leaf])
            .created_at(&format!("2024-01-{:02}", 1 + n % 4))
            .quantity("height", f64::from(10 + n % 5 * 5), "cm");
        if !n.is_multiple_of(4) {
            one = one.price(&format!("{}.50", n % 7));
        }
        if !n.is_multiple_of(5) {
            one = one.text("color", if n.is_multiple_of(2) { "Red" } else { "Blue" });
        }
        if n.is_multiple_of(6) {
            one = one.brand("Acme");
        }
        one
    })
}

/// Loads the rows of all categories.
async fn load_rows(app: &App) {
    let facets = r#"{ products(filter: { specs: [{ key: "color", text: { eq: "red" } }] }) {
        facets(keys: ["color", "@price"]) { key } } }"#;
    let loaded = async || {
        app.query(facets).await;
        let usage = app.catalog.product_memory_use().expect("it is switched on");
        (usage.rows > 0).then_some(())
    };
    eventually("rows in memory", LONG, loaded).await;
}

/// Asserts that all lists, forwards and backwards, are those of the database, and that most come from rows.
async fn assert_same(app: &App, database: &App) {
    let (mut lists, mut from_rows) = (0, 0);
    for filter in FILTERS {
        for key in KEYS {
            for direction in ["ASCENDING", "DESCENDING"] {
                for (size, start, cursor) in [
                    ("first", "after", "endCursor"),
                    ("last", "before", "startCursor"),
                ] {
                    let mut page = format!("{size}: 7");
                    for _ in 0..3 {
                        let asked = list(filter, key, direction, &page);
                        let (found, expected) =
                            (app.query(&asked).await, database.query(&asked).await);
                        assert_eq!(found.data(), expected.data(), "{asked}");
                        lists += 1;
                        from_rows += u32::from(found.sent_for_query().is_empty());
                        let next = &expected.data()["products"]["pageInfo"][cursor];
                        page = format!("{size}: 7");
                        if let Value::String(next) = next {
                            write!(page, ", {start}: {next:?}").unwrap();
                        }
                    }
                }
            }
        }
    }
    assert!(from_rows * 2 > lists, "{from_rows} of {lists}");
}

/// The commands for a list, once no product is left to be read.
async fn commands(app: &App, asked: &str) -> usize {
    app.query(asked).await;
    app.query(asked).await.sent_for_query().len()
}

#[test]
fn lists_from_rows_are_those_of_the_database() {
    test(async |app| {
        app.has(stock()).await;
        let database = app.without_product_memory().await;
        load_rows(app).await;
        assert_same(app, &database).await;
        // Now there are ratings, sales and changes of prices: rows move.
        app.has_reviews((0..12).map(|n| review(&format!("p{:02}", n * 2), n, 1 + n % 5)))
            .await;
        for n in [1, 4, 9] {
            let id = app
                .query(&format!("{{ product(slug: \"p{n:02}\") {{ id }} }}"))
                .await;
            let id = id.text("/product/id");
            let bought = json!({ "productId": id, "customerId": "ann", "quantity": n });
            app.mutate("recordPurchase", bought).await.done();
            let price = json!({ "id": id, "price": { "amount": "2.50" } });
            app.mutate("updateProduct", price).await.done();
        }
        app.run_background_work().await;
        for worker in [Worker::Ranks, Worker::Trending] {
            app.catalog.work_off(worker).await.unwrap();
        }
        app.run_background_work().await;
        assert_same(app, &database).await;
    });
}

#[test]
fn a_list_from_rows_needs_no_command() {
    test(async |app| {
        app.has(stock()).await;
        let asked = list(FILTERS[1], "POPULARITY", "DESCENDING", "first: 5");
        assert_eq!(commands(app, &asked).await, 1, "the ids");
        load_rows(app).await;
        // A slow machine may take longer than the memory may be used without a confirmation.
        let none = async || (commands(app, &asked).await == 0).then_some(());
        eventually("a list without a command", LONG, none).await;
        let by_name = list(FILTERS[1], "NAME", "ASCENDING", "first: 5");
        assert_eq!(commands(app, &by_name).await, 1, "rows have no names");
    });
}

#[test]
fn rows_of_categories_that_are_listed_often_are_loaded() {
    test(async |app| {
        app.has(stock()).await;
        let asked = list(FILTERS[1], "PRICE", "ASCENDING", "first: 5");
        let rows = || app.catalog.product_memory_use().unwrap().rows;
        for _ in 0..15 {
            app.query(&asked).await;
        }
        app.catalog.drain().await;
        assert_eq!(rows(), 0);
        let loaded = async || {
            app.query(&asked).await;
            (rows() == 20).then_some(())
        };
        eventually("the rows of the lamps", LONG, loaded).await;
    });
}

#[test]
fn lists_from_rows_show_own_writes_and_follow_another_process() {
    test(async |app| {
        app.has(stock()).await;
        let app = &app.on_own_connections(BOUND).await;
        load_rows(app).await;
        let asked = list(FILTERS[1], "PRICE", "ASCENDING", "first: 20");
        let slugs = async || -> Vec<String> {
            let found = app.query(&asked).await;
            let edges = found.data()["products"]["edges"]
                .as_array()
                .unwrap()
                .clone();
            let slug = |edge: &Value| edge["node"]["slug"].as_str().unwrap().to_owned();
            edges.iter().map(slug).collect()
        };
        let before = slugs().await;
        let last = before.last().unwrap().clone();
        let id = app
            .query(&format!("{{ product(slug: {last:?}) {{ id }} }}"))
            .await;
        let id = id.text("/product/id");
        let cheapest = json!({ "id": id, "price": { "amount": "0.01" } });
        app.mutate("updateProduct", cheapest).await.done();
        assert_eq!(slugs().await[0], last);
        let specs = json!([{ "key": "color", "text": "Green" }]);
        let green = json!({ "productId": id, "specs": specs });
        app.mutate("setSpecs", green).await.done();
        assert_eq!(slugs().await.len(), before.len() - 1);
        let moved = json!({ "id": id, "category": "bulbs" });
        app.mutate("updateProduct", moved).await.done();
        let archived = app
            .query(&format!("{{ product(slug: {:?}) {{ id }} }}", before[0]))
            .await;
        let archived = archived.text("/product/id");
        app.mutate("archiveProduct", json!({ "id": archived }))
            .await
            .done();
        assert_eq!(slugs().await, before[1..before.len() - 1]);

        let other = app.on_own_connections(BOUND).await;
        let dearest = app
            .query(&format!("{{ product(slug: {:?}) {{ id }} }}", before[1]))
            .await;
        let dearest = json!({ "id": dearest.text("/product/id"), "price": { "amount": "999" } });
        other.mutate("updateProduct", dearest).await.done();
        let acknowledged = Instant::now();
        loop {
            let late = acknowledged.elapsed() > BOUND;
            if slugs().await[0] == before[2] {
                break;
            }
            assert!(!late, "{:?}", acknowledged.elapsed());
        }
        other.assert_writes_announced();
    });
}
