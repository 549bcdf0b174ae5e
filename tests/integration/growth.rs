//! Sizes of documents and indexes: the table in the documentation, compared with a demo catalogue.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document, doc};
use serde_json::json;
use vitrine_demo::{Demo, DemoOptions};
use vitrine_domain::import::ImportMode;
use vitrine_domain::workers::Worker;
use vitrine_harness::documents;
use vitrine_harness::{App, some_of, test};
use vitrine_model::clock::Clock as _;

/// The tolerance of a documented figure.
const LEEWAY: f64 = 0.2;

/// The documented sizes of a collection: bytes of a document, and of its entries in all indexes.
type Figures = BTreeMap<String, (f64, f64)>;

fn number(value: Option<&Bson>) -> f64 {
    match value {
        Some(Bson::Int32(n)) => f64::from(*n),
        #[expect(clippy::cast_precision_loss, reason = "sizes of a small database")]
        Some(Bson::Int64(n)) => *n as f64,
        Some(Bson::Double(n)) => *n,
        other => panic!("no number: {other:?}"),
    }
}

/// The measured sizes of a collection.
async fn measured(app: &App, collection: &str) -> (f64, f64) {
    let sizes = [
        doc! { "$project": { "bytes": { "$bsonSize": "$$ROOT" } } },
        doc! { "$group": { "_id": null, "n": { "$sum": 1 }, "bytes": { "$avg": "$bytes" } } },
    ];
    let documents = app.direct().collection::<Document>(collection);
    let mut sizes = documents.aggregate(sizes).await.unwrap();
    assert!(sizes.advance().await.unwrap(), "{collection} is empty");
    let sizes = sizes.deserialize_current().unwrap();
    let validated = app.direct().run_command(doc! { "validate": collection });
    let validated = validated.await.unwrap();
    let keys = validated.get_document("keysPerIndex").unwrap();
    let entries: f64 = keys.values().map(|keys| number(Some(keys))).sum();
    (number(sizes.get("bytes")), entries / number(sizes.get("n")))
}

/// The table under its heading: `| a product | products | 1,234 | 56 | … |`.
fn documented() -> Figures {
    let rows = documents::Document::read("docs/operations.md").rows("Size and growth");
    let figure = |cell: &str| cell.replace(',', "").parse::<f64>().ok();
    let row = |cells: &Vec<String>| {
        let name = cells[1].trim_matches('`').to_owned();
        Some((name, (figure(&cells[2])?, figure(&cells[3])?)))
    };
    rows.iter().filter_map(row).collect()
}

/// A demo catalogue with reviews, purchases and views.
async fn lively(app: &App) {
    let demo = Demo::new(DemoOptions {
        products: 400,
        reviews: 6_000,
        ..DemoOptions::new(app.clock.now())
    });
    let mut session = app.catalog.import(ImportMode::Write);
    session.products(demo.products().collect()).await.unwrap();
    let prices = demo.products().step_by(8);
    let prices = prices.filter_map(|draft| Some(some_of("prices", &draft.sku?).price("1").into()));
    session.products(prices.collect()).await.unwrap();
    session.reviews(demo.reviews().collect()).await.unwrap();
    session.finish().await.unwrap();
    let list = "{ products(first: 100) { nodes { id reviews(first: 3) { nodes { id } } } } }";
    let list = app.query(list).await;
    let mut events = Vec::new();
    for (n, product) in list
        .at("/products/nodes")
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        let id = product["id"].as_str().unwrap();
        events.push(json!({ "productId": id, "kind": "VIEW" }));
        events.push(json!({ "productId": id, "kind": "CART" }));
        let bought = json!({ "productId": id, "customerId": format!("customer-{n}"), "orderId": format!("2026-{n:06}") });
        app.mutate("recordPurchase", bought).await.done();
        for review in product["reviews"]["nodes"].as_array().unwrap() {
            let vote = json!({ "id": review["id"], "vote": "HELPFUL" });
            app.mutate_by(&format!("customer-{n}"), "voteReview", vote)
                .await
                .done();
        }
    }
    app.mutate("recordActivity", json!({ "events": events }))
        .await
        .done();
    app.run_background_work().await;
    app.catalog.work_off(Worker::Trending).await.unwrap();
}

#[test]
fn documents_have_the_sizes_of_the_table() {
    test(async |app| {
        lively(app).await;
        let documented = documented();
        let mut lines = Vec::new();
        let mut off = Vec::new();
        for collection in [
            "products",
            "contributions",
            "reviews",
            "votes",
            "history",
            "purchases",
            "sales",
            "activity",
            "activity_days",
            "rating_months",
            "trending",
        ] {
            let (bytes, entries) = measured(app, collection).await;
            lines.push(format!("| `{collection}` | {bytes:.0} | {entries:.1} |"));
            let near = |said: f64, is: f64| (said - is).abs() <= LEEWAY * is;
            match documented.get(collection) {
                Some((said, keys)) if near(*said, bytes) && near(*keys, entries) => {}
                said => off.push(format!(
                    "{collection}: {bytes:.0} bytes, {entries:.1} entries; {said:?} is said"
                )),
            }
        }
        assert!(
            off.is_empty(),
            "{}\nmeasured:\n{}",
            off.join("\n"),
            lines.join("\n")
        );
    });
}
