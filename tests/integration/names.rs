//! Unique names of products and reviews: slugs, SKUs, ids in feeds.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, eventually, product, review, test};
use vitrine_model::import::{LineOutcome, ReviewDraft};

async fn names(app: &App) -> Vec<String> {
    let all = app.documents("names", doc! {}).await;
    let name = |doc: &Document| doc.get_str("_id").unwrap().replace('\n', " ");
    all.iter().map(name).collect()
}

async fn change(app: &App, id: &str, mut input: Value) {
    input["id"] = json!(id);
    app.mutate("updateProduct", input).await.done();
}

#[test]
fn a_released_name_is_free_and_a_taken_one_is_refused() {
    test(async |app| {
        app.has([product("Lamp"), product("Bulb")]).await;
        let sources = ["source:feed Bulb", "source:feed Lamp"];
        let own = ["sku:feed:Bulb", "sku:feed:Lamp", "slug:bulb", "slug:lamp"];
        assert_eq!(names(app).await, [&own[..], &sources].concat());
        let id = app.query("{ product(slug: \"lamp\") { id } }").await;
        let id = id.text("/product/id");
        for (input, refused) in [
            (json!({ "sku": "feed:Bulb" }), "TAKEN at sku"),
            (json!({ "slug": "bulb" }), "TAKEN at slug"),
        ] {
            let mut input = input;
            input["id"] = json!(id);
            let refusal = app.mutate("updateProduct", input).await;
            assert_eq!(refusal.user_error_paths(), [refused]);
        }
        change(app, &id, json!({ "sku": "L-1", "slug": "light" })).await;
        let own = ["sku:L-1", "sku:feed:Bulb", "slug:bulb", "slug:light"];
        assert_eq!(names(app).await, [&own[..], &sources].concat());
        // The old names belong to another product now.
        let new = json!({
            "kind": "thing", "name": "Lamp", "category": "things", "sku": "feed:Lamp",
        });
        let created = app.mutate("createProduct", new).await;
        assert_eq!(created.done()["product"]["slug"], "lamp");
    });
}

#[test]
fn a_page_is_found_by_a_slug_that_moved_between_products() {
    test(async |app| {
        app.has([product("Lamp"), product("Bulb")]).await;
        let other = app.other_process().await;
        let seen = async |slug: &str| {
            let query = format!("{{ product(slug: {slug:?}) {{ name }} }}");
            let answer = app.query(&query).through(&other).await;
            (answer.at("/product").clone(), answer.sent().to_vec())
        };
        assert_eq!(seen("lamp").await.0, json!({ "name": "Lamp" }));
        let ids = app
            .query("{ a: product(slug: \"lamp\") { id } b: product(slug: \"bulb\") { id } }")
            .await;
        let (lamp, bulb) = (ids.text("/a/id"), ids.text("/b/id"));
        change(app, &lamp, json!({ "slug": "light" })).await;
        change(app, &bulb, json!({ "slug": "lamp" })).await;
        // Another process finds out, and caches it.
        assert_eq!(seen("lamp").await.0, json!({ "name": "Bulb" }));
        // The stream of changes may remove the product from memory once more.
        let cached = async || {
            let (product, sent) = seen("lamp").await;
            assert_eq!(product, json!({ "name": "Bulb" }));
            sent.is_empty().then_some(())
        };
        eventually("a product in memory", Duration::from_secs(30), cached).await;
        assert_eq!(seen("light").await.0, json!({ "name": "Lamp" }));
        assert_eq!(seen("bulb").await.0, Value::Null);
        app.mutate("archiveProduct", json!({ "id": lamp }))
            .await
            .done();
        assert_eq!(seen("light").await.0, Value::Null);
    });
}

/// Imports a review of the lamp, always the same one.
async fn import(app: &App) -> Vec<LineOutcome> {
    let reviews = vec![ReviewDraft::from(review("Lamp", 1, 4))];
    app.import(ImportMode::Write, Vec::new(), reviews).await.0
}

/// Inserts the name of that review, as an import that is killed before it inserts the review.
async fn claim(app: &App, product: i64, review_id: i64) {
    let origin = ReviewDraft::from(review("Lamp", 1, 4)).origin;
    let name = format!("origin:{}\n{}", origin.system, origin.external_id);
    let claim = doc! { "_id": name, "product": product, "review": review_id };
    let names = app.direct().collection::<Document>("names");
    names.insert_one(claim).await.unwrap();
}

async fn product_id(app: &App, slug: &str) -> i64 {
    let product = app.documents("products", doc! { "slug": slug }).await;
    product[0].get_i64("_id").unwrap()
}

#[test]
fn an_import_cut_off_after_claiming_a_name_uses_it_when_it_runs_again() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        claim(app, product_id(app, "lamp").await, 77).await;
        assert_eq!(import(app).await, [LineOutcome::Created]);
        let stored = app.documents("reviews", doc! {}).await;
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0].get_i64("_id").unwrap(), 77);
        assert_eq!(import(app).await, [LineOutcome::Unchanged]);
    });
}

#[test]
fn a_claim_for_another_product_is_replaced() {
    test(async |app| {
        app.has([product("Lamp"), product("Bulb")]).await;
        claim(app, product_id(app, "bulb").await, 77).await;
        assert_eq!(import(app).await, [LineOutcome::Created]);
        let stored = app.documents("reviews", doc! {}).await;
        assert_eq!(stored.len(), 1);
        assert_ne!(stored[0].get_i64("_id").unwrap(), 77);
    });
}

#[test]
fn a_review_whose_id_exists_is_imported_by_the_next_run() {
    test(async |app| {
        app.has([product("Lamp"), product("Bulb")]).await;
        app.has_reviews([review("Bulb", 2, 5)]).await;
        let other = app.documents("reviews", doc! {}).await;
        let taken = other[0].get_i64("_id").unwrap();
        claim(app, product_id(app, "lamp").await, taken).await;
        let LineOutcome::Rejected(reasons) = import(app).await.remove(0) else {
            panic!("the id exists");
        };
        assert_eq!(reasons[0].field, "external_id");
        assert_eq!(import(app).await, [LineOutcome::Created]);
    });
}

#[test]
fn the_audit_finds_names_that_are_wrong() {
    test(async |app| {
        app.has([product("Lamp"), product("Bulb")]).await;
        let all = app.direct().collection::<Document>("names");
        let bulb = app.documents("products", doc! { "slug": "bulb" }).await;
        let slug = doc! { "_id": "slug:lamp" };
        let wrong = doc! { "$set": { "product": bulb[0].get("_id") } };
        all.update_one(slug.clone(), wrong).await.unwrap();
        let gone = doc! { "_id": "sku:feed:Bulb" };
        let taken = all.find_one_and_delete(gone).await.unwrap().unwrap();
        let found = app.audit_report().await;
        let mut places: Vec<(&str, &str)> = found
            .differences
            .iter()
            .map(|one| (one.place.as_str(), one.what.as_str()))
            .collect();
        places.sort_unstable();
        assert_eq!(
            places,
            [
                ("names", "names of products"),
                ("names \"sku:feed:Bulb\"", "owner"),
                ("names \"slug:lamp\"", "owner"),
            ]
        );
        all.insert_one(taken).await.unwrap();
        let lamp = app.documents("products", doc! { "slug": "lamp" }).await;
        let right = doc! { "$set": { "product": lamp[0].get("_id") } };
        all.update_one(slug, right).await.unwrap();
    });
}
