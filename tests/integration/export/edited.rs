//! Products that people have edited, exported and restored: the feeds go on as if nothing had happened.

use serde_json::Value;
use vitrine_domain::Catalog;
use vitrine_harness::{ProductBuilder, test};

use super::*;

fn lamp(price: &str, color: &str) -> ProductBuilder {
    product("Reading Lamp")
        .source("catalogue", "c1")
        .sku("L-1")
        .category(["Light", "Lamps"])
        .description("Bright.")
        .price(price)
        .supplier("North", "NO")
        .text("color", color)
        .text("fit", "any")
}

fn list(price: &str) -> ProductBuilder {
    some_of("prices", "L-1").price(price).brand("List")
}

fn desk(price: &str) -> ProductBuilder {
    let desk = product("Desk").source("catalogue", "c2").sku("D-1");
    desk.price(price)
        .text("color", "oak")
        .status(ProductStatus::Archived)
}

/// A product of two feeds and one of a single feed, and what people have made of them.
async fn edited_shop(app: &App) {
    let first = vec![
        lamp("10", "red").into(),
        list("9").into(),
        desk("100").into(),
    ];
    app.import(ImportMode::Write, first, Vec::new()).await;
    let ids = app.query(r#"{ lamp: product(sku: "L-1") { id } desk: product(sku: "D-1") { id } }"#);
    let ids = ids.as_admin().await;
    let (lit, desk) = (ids.text("/lamp/id"), ids.text("/desk/id"));
    let update = json!({ "id": lit, "name": "Lamp of the year", "description": null, "price": { "amount": "12" },
        "supplierId": null, "media": [{ "url": "https://media.example.com/1.jpg", "kind": "IMAGE" }] });
    app.mutate("updateProduct", update).by("ann").await.done();
    let specs = json!([{ "key": "color", "text": "rust" }, { "key": "care", "text": "dry" }]);
    let set = json!({ "productId": lit, "specs": specs });
    app.mutate("setSpecs", set).by("ben").await.done();
    let remove = json!({ "productId": lit, "specs": [{ "key": "fit" }] });
    app.mutate("removeSpecs", remove).by("ben").await.done();
    app.mutate("restoreProduct", json!({ "id": desk }))
        .by("cid")
        .await
        .done();
    app.mutate("updateProduct", json!({ "id": desk, "sku": "D-2" }))
        .by("cid")
        .await
        .done();
    // The feeds have said something else meanwhile.
    let later = vec![lamp("11", "blue").into(), list("8").into()];
    app.import(ImportMode::Write, later, Vec::new()).await;
}

/// What admins see of the products, with what people have edited.
async fn seen(app: &App, catalog: &Catalog) -> Value {
    let query = "{ products(sort: [{ key: NAME }], filter: { status: [ACTIVE, DRAFT, ARCHIVED] }) { nodes {
        id sku name status description brand price { amount } supplier { name } media { url } specs { key text } revision
        overrides { field by at feedValue } } } }";
    let answer = app.query(query).as_admin().through(catalog).await;
    answer.data().clone()
}

/// Imports lines, one after the other; returns how each ends, and how many fields people keep.
async fn import_into(catalog: &Catalog, drafts: Vec<ProductBuilder>) -> (Vec<LineOutcome>, u64) {
    let mut session = catalog.import(ImportMode::Write);
    let mut outcomes = Vec::new();
    for draft in drafts {
        outcomes.extend(session.products(vec![draft.into()]).await.unwrap());
    }
    (outcomes, session.finish().await.unwrap().kept_by_people)
}

/// What the feeds say after the export: the same as before, then something else.
fn next() -> Vec<ProductBuilder> {
    vec![
        lamp("11", "blue"),
        list("8"),
        desk("100"),
        lamp("13", "green").brand("Tarn").text("ports", "2"),
        list("7").text("shelf", "b7"),
        desk("90").sku("D-1"),
        some_of("prices", "L-1"),
    ]
}

/// Gives fields back to the feeds.
async fn release(app: &App, catalog: &Catalog, sku: &str, fields: &[&str]) {
    let query = "query ($sku: String!) { product(sku: $sku) { id } }";
    let found = app
        .query(query)
        .with("sku", sku)
        .as_admin()
        .through(catalog);
    let input = json!({ "productId": found.await.text("/product/id"), "fields": fields });
    let released = app
        .mutate("releaseFields", input)
        .by("ann")
        .through(catalog);
    released.await.done();
}

/// Everything that happens after the export, with what is seen after each part.
async fn go_on(app: &App, catalog: &Catalog) -> Vec<Value> {
    let mut all = Vec::new();
    for draft in next() {
        let (outcomes, kept) = import_into(catalog, vec![draft]).await;
        all.push(json!([
            format!("{outcomes:?}"),
            kept,
            seen(app, catalog).await
        ]));
    }
    let fields = ["name", "price", "specs.color", "specs.fit", "supplier"];
    release(app, catalog, "L-1", &fields).await;
    release(app, catalog, "D-2", &["sku", "status"]).await;
    all.push(seen(app, catalog).await);
    let after = vec![desk("90").sku("D-1"), lamp("14", "grey")];
    let (outcomes, kept) = import_into(catalog, after).await;
    all.push(json!([
        format!("{outcomes:?}"),
        kept,
        seen(app, catalog).await
    ]));
    all
}

#[test]
fn a_restored_product_keeps_what_people_have_edited_and_what_feeds_have_said() {
    test(async |app| {
        edited_shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "shop.jsonl");
        export(&app.catalog, &to_file(&written)).await;
        let (before, page) = (digest(&app.catalog).await, seen(app, &app.catalog).await);
        let edited = page.pointer("/products/nodes/1/overrides").unwrap();
        assert_eq!(edited.as_array().unwrap().len(), 8, "{edited:#}");
        let without = go_on(app, &app.catalog).await;

        let catalog = emptied(app).await;
        let (read, rejected) = read_back(&catalog, &written).await;
        assert_eq!(rejected, "");
        assert!(read.is_complete(), "{read}");
        assert_eq!(digest(&catalog).await, before);
        assert_eq!(seen(app, &catalog).await, page);
        let with = go_on(app, &catalog).await;
        for (at, (with, without)) in with.iter().zip(&without).enumerate() {
            assert_eq!(with, without, "part {at} after the export");
        }
        let last = &with.last().unwrap()[2]["products"]["nodes"];
        assert_eq!(
            (&last[0]["sku"], &last[0]["status"]),
            (&json!("D-1"), &json!("ARCHIVED"))
        );
        assert_eq!(last[1]["price"]["amount"], "14.00");
    });
}
