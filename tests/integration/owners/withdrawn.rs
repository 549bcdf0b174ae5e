//! Products that a feed takes off sale, takes back or no longer has, while people have edited them.

use super::people::{edit, id, overrides, release};
use super::*;
use crate::history::history;

/// The product with its status, for admins.
async fn shown(app: &App) -> Value {
    let query = r#"{ product(sku: "L-1") { name status description price { amount } specs { key text } } }"#;
    app.query(query).as_admin().await.at("/product").clone()
}

fn withdrawn() -> ProductBuilder {
    lamp().price("10").status(ProductStatus::Archived)
}

#[test]
fn a_product_that_its_feed_withdraws_keeps_the_fields_of_people() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        let mine =
            json!({ "name": "Mine", "description": "By hand.", "price": { "amount": "12" } });
        edit(app, mine).await;
        let specs =
            json!({ "productId": id(app).await, "specs": [{ "key": "color", "text": "rust" }] });
        app.mutate("setSpecs", specs).by("ben").await.done();
        let edited = shown(app).await;
        assert_eq!(line(app, withdrawn()).await, "updated");
        let mut expected = edited.clone();
        expected["status"] = json!("ARCHIVED");
        assert_eq!(shown(app).await, expected);
        assert_eq!(page(app).await, Value::Null, "it is off sale");
        let newest = &history(app, &id(app).await).await[0];
        assert_eq!(
            newest,
            "IMPORT by catalogue, 4 after 3: status ACTIVE > ARCHIVED; kept: name, description, price, specs.color"
        );
        assert_eq!(line(app, withdrawn()).await, "unchanged");
        assert_eq!(line(app, lamp().price("10")).await, "updated");
        assert_eq!(shown(app).await, edited, "the feed sells it again");
    });
}

#[test]
fn a_status_that_a_person_has_set_outlives_what_the_feed_says() {
    test(async |app| {
        line(app, withdrawn()).await;
        let input = json!({ "id": id(app).await });
        app.mutate("restoreProduct", input).by("ann").await.done();
        let outcome = line(app, withdrawn().description("Sold out.")).await;
        assert_eq!(outcome, "updated");
        let now = shown(app).await;
        assert_eq!(
            (&now["status"], &now["description"]),
            (&json!("ACTIVE"), &json!("Sold out."))
        );
        assert_eq!(overrides(app).await, ["status by ann: ARCHIVED"]);
        // What the feed says changes, and changes back.
        let draft = lamp().price("10").status(ProductStatus::Draft);
        for feed in [draft, withdrawn(), lamp().price("10"), withdrawn()] {
            assert_eq!(line(app, feed).await, "updated");
            assert_eq!(shown(app).await["status"], "ACTIVE");
        }
        let made = history(app, &id(app).await).await;
        assert!(made[0].ends_with("kept: status"), "{made:?}");
        assert_eq!(made.len(), 6, "{made:?}");
        release(app, &["status"]).await;
        assert_eq!(shown(app).await["status"], "ARCHIVED");
    });
}

#[test]
fn a_price_list_that_takes_everything_back_leaves_the_fields_of_people() {
    test(async |app| {
        let list = || {
            some_of("prices", "L-1")
                .price("8")
                .brand("List")
                .text("shelf", "b7")
                .text("fit", "any")
        };
        line(app, lamp().price("10")).await;
        line(app, list()).await;
        edit(app, json!({ "price": { "amount": "9" } })).await;
        let specs =
            json!({ "productId": id(app).await, "specs": [{ "key": "shelf", "text": "c1" }] });
        app.mutate("setSpecs", specs).by("ben").await.done();
        assert_eq!(line(app, some_of("prices", "L-1")).await, "updated");
        let now = page(app).await;
        assert_eq!(now["price"]["amount"], "9.00", "edited");
        assert_eq!(now["brand"], "Tarn", "the catalogue says it");
        let specs = json!([{ "key": "color", "text": "red" }, { "key": "ports", "text": "2" }, { "key": "shelf", "text": "c1" }]);
        assert_eq!(now["specs"], specs, "nobody says the fit any more");
        assert_eq!(
            overrides(app).await,
            ["price by ann: 10.00 EUR", "specs.shelf by ben: -"]
        );
        release(app, &["price", "specs.shelf"]).await;
        let now = page(app).await;
        assert_eq!(now["price"]["amount"], "10.00");
        assert_eq!(now["specs"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_product_that_is_gone_from_its_feed_stays_as_it_is() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        edit(app, json!({ "name": "Mine" })).await;
        let before = shown(app).await;
        let others = || vec![product("Other").source("catalogue", "c2").into()];
        let (outcomes, summary) = app.import(ImportMode::Write, others(), Vec::new()).await;
        assert_eq!(
            (outcomes, summary.kept_by_people),
            (vec![LineOutcome::Created], 0)
        );
        assert_eq!(shown(app).await, before);
        assert_eq!(overrides(app).await, ["name by ann: Reading Lamp"]);
        assert_eq!(line(app, lamp().price("10")).await, "unchanged");
    });
}

#[test]
fn a_feed_without_a_status_column_leaves_the_status() {
    test(async |app| {
        line(app, lamp().price("10").without_status()).await;
        let input = json!({ "id": id(app).await });
        app.mutate("archiveProduct", input).by("ann").await.done();
        assert_eq!(
            line(app, lamp().price("11").without_status()).await,
            "updated"
        );
        assert_eq!(shown(app).await["status"], "ARCHIVED");
        // A feed with the column says it for the first time, and takes it back.
        let stock = || some_of("stock", "L-1");
        line(app, stock().status(ProductStatus::Draft)).await;
        assert_eq!(overrides(app).await, ["status by ann: DRAFT"]);
        line(app, stock()).await;
        assert_eq!(shown(app).await["status"], "ARCHIVED");
    });
}

/// A product of a feed without a status column.
fn without_status(sku: &str, price: &str) -> ProductBuilder {
    let lamp = product("Lamp").source("catalogue", sku).sku(sku);
    lamp.price(price).without_status()
}

/// The id and the status of a product.
async fn status(app: &App, sku: &str) -> (String, String) {
    let query = "query ($sku: String!) { product(sku: $sku) { id status } }";
    let found = app.query(query).with("sku", sku).as_admin().await;
    (found.text("/product/id"), found.text("/product/status"))
}

#[test]
fn a_released_status_of_which_no_feed_says_anything_does_not_depend_on_the_last_import() {
    test(async |app| {
        for sku in ["S-1", "S-2"] {
            line(app, without_status(sku, "10")).await;
            let (id, _) = status(app, sku).await;
            let archive = app.mutate("archiveProduct", json!({ "id": id }));
            archive.by("ann").await.done();
        }
        line(app, without_status("S-2", "11")).await;
        let mut left = Vec::new();
        for sku in ["S-1", "S-2"] {
            let input = json!({ "productId": status(app, sku).await.0, "fields": ["status"] });
            app.mutate("releaseFields", input).by("ann").await.done();
            left.push(status(app, sku).await.1);
        }
        assert_eq!(left[0], left[1]);
    });
}

#[test]
fn a_status_that_a_feed_takes_back_does_not_depend_on_imports_of_others() {
    test(async |app| {
        let mut left = Vec::new();
        for sku in ["S-1", "S-2"] {
            let stock = || some_of("stock", sku);
            line(app, without_status(sku, "10")).await;
            line(app, stock().status(ProductStatus::Archived)).await;
            if sku == "S-2" {
                line(app, without_status(sku, "11")).await;
            }
            line(app, stock()).await;
            left.push(status(app, sku).await.1);
        }
        assert_eq!(left[0], left[1]);
    });
}
