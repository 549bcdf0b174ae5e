//! Fields with owners: several feeds say what they know of one product, in any order.

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, ProductBuilder, product, review, some_of, test};
use vitrine_model::contribution::{Content, ProductField};
use vitrine_model::import::LineOutcome;
use vitrine_model::product::ProductStatus;
use vitrine_storage::products::ProductKey;

mod faults;
mod killed;
mod orders;
mod people;
mod places;
mod races;
mod random;
mod withdrawn;

/// Imports one line; returns how it ends, in one word or with the reasons.
async fn line(app: &App, draft: ProductBuilder) -> String {
    ends_as(app, ImportMode::Write, vec![draft]).await.remove(0)
}

async fn ends_as(app: &App, mode: ImportMode, drafts: Vec<ProductBuilder>) -> Vec<String> {
    let drafts = drafts.into_iter().map(Into::into).collect();
    let (outcomes, _) = app.import(mode, drafts, Vec::new()).await;
    outcomes.iter().map(word).collect()
}

fn word(outcome: &LineOutcome) -> String {
    match outcome {
        LineOutcome::Rejected(reasons) => {
            let reasons = reasons.iter().map(|r| format!("{}: {}", r.field, r.reason));
            format!("rejected: {}", reasons.collect::<Vec<_>>().join("; "))
        }
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The product of the catalogue feed.
fn lamp() -> ProductBuilder {
    product("Reading Lamp")
        .source("catalogue", "c1")
        .sku("L-1")
        .category(["Light", "Lamps"])
        .description("Bright.")
        .brand("Tarn")
        .text("color", "red")
        .number("ports", 2.0)
}

/// The price list has no name, kind and category.
fn price(amount: &str) -> ProductBuilder {
    some_of("prices", "L-1").price(amount)
}

/// What shoppers see of the product.
async fn page(app: &App) -> Value {
    let page = app
        .query(
            r#"{ product(sku: "L-1") { name kind category { name } description brand
            price { amount } supplier { name } specs { key text } } }"#,
        )
        .await;
    page.at("/product").clone()
}

/// The stored content of a product.
async fn content(app: &App, sku: &str) -> Option<Content> {
    let key = ProductKey::Sku(sku.to_owned());
    let found = app.store().look_up_product(&key, &ProductStatus::ALL);
    let found = found.await.unwrap();
    found.map(|view| Content::of(&view.product().unwrap()))
}

#[test]
fn a_price_list_changes_prices_only() {
    test(async |app| {
        assert_eq!(line(app, lamp()).await, "created");
        let before = page(app).await;
        assert_eq!(line(app, price("10")).await, "updated");
        let mut expected = before.clone();
        expected["price"] = json!({ "amount": "10.00" });
        assert_eq!(page(app).await, expected);
        for same in [lamp(), price("10"), lamp()] {
            assert_eq!(line(app, same).await, "unchanged");
        }
        assert_eq!(page(app).await, expected, "the owner again loses nothing");
        assert_eq!(line(app, price("12")).await, "updated");
        expected["price"] = json!({ "amount": "12.00" });
        assert_eq!(page(app).await, expected);
        assert_eq!(line(app, lamp().brand("Lumi")).await, "updated");
        expected["brand"] = json!("Lumi");
        assert_eq!(page(app).await, expected);
    });
}

#[test]
fn a_price_list_may_come_before_the_product() {
    test(async |app| {
        assert_eq!(line(app, price("10")).await, "waiting");
        assert_eq!(line(app, price("10")).await, "unchanged");
        assert_eq!(page(app).await, Value::Null, "nobody sees what waits");
        app.audit().await;
        assert_eq!(line(app, price("11")).await, "waiting");
        let sizes = || some_of("sizes", "L-1").number("height", 40.0);
        assert_eq!(line(app, sizes()).await, "waiting");
        app.audit().await;
        assert_eq!(line(app, lamp()).await, "created");
        let expected = json!({
            "name": "Reading Lamp",
            "kind": "thing",
            "category": { "name": "Lamps" },
            "description": "Bright.",
            "brand": "Tarn",
            "price": { "amount": "11.00" },
            "supplier": null,
            "specs": [
                { "key": "color", "text": "red" },
                { "key": "ports", "text": "2" },
                { "key": "height", "text": "40" },
            ],
        });
        assert_eq!(page(app).await, expected);
        for same in [price("11"), sizes(), lamp()] {
            assert_eq!(line(app, same).await, "unchanged");
        }
    });
}

#[test]
fn a_field_returns_to_the_next_owner_when_one_leaves() {
    test(async |app| {
        let own = || {
            lamp()
                .price("20")
                .supplier("North", "NO")
                .description("Long.")
        };
        let stock = || {
            some_of("stock", "L-1")
                .supplier("South", "SE")
                .text("color", "blue")
        };
        assert_eq!(line(app, own()).await, "created");
        let before = page(app).await;
        assert_eq!(line(app, price("10")).await, "updated");
        assert_eq!(line(app, stock()).await, "updated");
        let merged = page(app).await;
        assert_eq!(merged["price"]["amount"], "10.00");
        assert_eq!(merged["supplier"]["name"], "South");
        assert_eq!(merged["specs"][0]["text"], "blue");
        assert_eq!(line(app, some_of("prices", "L-1")).await, "updated");
        assert_eq!(line(app, some_of("stock", "L-1")).await, "updated");
        assert_eq!(page(app).await, before);
        assert_eq!(line(app, price("9")).await, "updated");
        assert_eq!(page(app).await["price"]["amount"], "9.00");
    });
}

#[test]
fn a_mapping_owns_fields_by_name() {
    test(async |app| {
        let shop = || {
            product("lamp-1")
                .source("shop", "s1")
                .sku("L-1")
                .price("30")
                .category(["Unsorted"])
                .owns([ProductField::Price])
        };
        for draft in [shop(), lamp(), price("10")] {
            let outcome = line(app, draft).await;
            assert!(["created", "updated"].contains(&outcome.as_str()));
        }
        let merged = page(app).await;
        assert_eq!(merged["price"]["amount"], "30.00", "owned by name");
        assert_eq!(
            merged["name"], "Reading Lamp",
            "catalogue comes before shop"
        );
        assert_eq!(merged["category"]["name"], "Lamps");
    });
}

#[test]
fn edits_by_admins_stay() {
    test(async |app| {
        for draft in [lamp(), price("10")] {
            line(app, draft).await;
        }
        let id = app
            .query(r#"{ product(sku: "L-1") { id } }"#)
            .await
            .text("/product/id");
        let edit = json!({ "id": id, "name": "Lamp of the year", "price": { "amount": "1" } });
        app.mutate("updateProduct", edit).await.done();
        let specs = json!([{ "key": "ports", "number": 3 }, { "key": "tested", "boolean": true }]);
        app.mutate("setSpecs", json!({ "productId": id, "specs": specs }))
            .await
            .done();
        assert_eq!(line(app, lamp().description("Brighter.")).await, "updated");
        let edited = page(app).await;
        assert_eq!(edited["name"], "Lamp of the year");
        assert_eq!(edited["price"]["amount"], "1.00");
        assert_eq!(edited["description"], "Brighter.");
        let shown: Vec<String> = edited["specs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|spec| format!("{}={}", spec["key"], spec["text"]).replace('"', ""))
            .collect();
        assert_eq!(shown, ["color=red", "ports=3", "tested=yes"]);
        assert_eq!(line(app, price("11")).await, "updated");
        assert_eq!(page(app).await["price"]["amount"], "1.00");
        assert_eq!(page(app).await["name"], "Lamp of the year");
    });
}

#[test]
fn an_admin_creates_a_product_that_feeds_wait_for() {
    test(async |app| {
        let stock = some_of("stock", "L-1").supplier("South", "SE");
        assert_eq!(line(app, price("10")).await, "waiting");
        assert_eq!(line(app, stock.text("shelf", "b7")).await, "waiting");
        let new = json!({ "kind": "thing", "name": "Lamp", "sku": "L-1", "status": "ACTIVE",
            "category": "things", "idempotencyKey": "k1" });
        line(app, product("Other")).await;
        let created = app.mutate("createProduct", new.clone()).await;
        let id = created.done()["product"]["id"].clone();
        let made = page(app).await;
        assert_eq!(made["price"]["amount"], "10.00", "the price list says it");
        assert_eq!(made["supplier"]["name"], "South");
        assert_eq!(made["specs"], json!([{ "key": "shelf", "text": "b7" }]));
        let again = app.mutate("createProduct", new).await;
        assert_eq!(again.done()["product"]["id"], id);
        assert_eq!(line(app, price("10")).await, "unchanged");
        assert_eq!(line(app, price("11")).await, "updated");
        assert_eq!(line(app, lamp()).await, "updated");
        let made = page(app).await;
        assert_eq!(made["price"]["amount"], "11.00");
        assert_eq!(
            (&made["name"], &made["brand"]),
            (&json!("Lamp"), &json!("Tarn"))
        );
        let twice = json!({ "kind": "thing", "name": "Lamp", "sku": "L-1", "status": "ACTIVE",
            "category": "things" });
        let twice = app.mutate("createProduct", twice).await.user_errors();
        assert!(
            twice[0].contains("another product has the sku"),
            "{twice:?}"
        );
    });
}

#[test]
fn lines_that_fit_no_product_are_rejected_with_what_would_be_right() {
    test(async |app| {
        let mut nameless = product("L-2").source("prices", "2").price("1");
        nameless = nameless.category([]);
        let second = some_of("prices", "L-1")
            .source("prices", "other")
            .price("2");
        let outcomes = [
            line(app, nameless).await,
            line(app, price("1")).await,
            line(app, second).await,
            line(app, lamp()).await,
            line(app, some_of("catalogue", "L-1").source("catalogue", "c1")).await,
        ];
        insta::assert_snapshot!(outcomes.join("\n"), @r"
        rejected: sku: is needed: without category this line says fields of a product that another feed describes, and the sku tells which one
        waiting
        rejected: sku: another line of this system has the sku L-1; a system has one for it
        created
        rejected: system: catalogue has described the whole product, and no other feed says its name, kind and category; a feed of some fields needs a system of its own, and a sku
        ");
        assert_eq!(line(app, lamp()).await, "unchanged");
    });
}

#[test]
fn a_line_that_waits_may_get_another_sku() {
    test(async |app| {
        assert_eq!(line(app, price("1")).await, "waiting");
        let moved = || some_of("prices", "L-1").sku("L-2").price("1");
        assert_eq!(line(app, moved()).await, "waiting");
        app.audit().await;
        assert_eq!(line(app, lamp()).await, "created");
        assert_eq!(page(app).await["price"], Value::Null);
        let other = product("Other").source("catalogue", "c2").sku("L-2");
        assert_eq!(line(app, other).await, "created");
        let price = content(app, "L-2").await.unwrap().price.unwrap();
        assert_eq!(price.minor, 100);
        assert_eq!(line(app, moved()).await, "unchanged");
    });
}

#[test]
fn a_product_may_get_the_sku_that_lines_wait_for() {
    test(async |app| {
        assert_eq!(line(app, lamp().sku("L-0")).await, "created");
        assert_eq!(line(app, price("10")).await, "waiting");
        let id = app
            .query(r#"{ product(sku: "L-0") { id } }"#)
            .await
            .text("/product/id");
        let refused = app.mutate("updateProduct", json!({ "id": id, "sku": "L-1" }));
        let refused = refused.await.user_errors();
        assert!(refused[0].contains("wait for its product"), "{refused:?}");
        assert_eq!(line(app, lamp()).await, "updated");
        let merged = page(app).await;
        assert_eq!(merged["price"]["amount"], "10.00");
        assert_eq!(merged["name"], "Reading Lamp");
        assert_eq!(line(app, price("10")).await, "unchanged");
        assert_eq!(line(app, price("11")).await, "updated");
        assert_eq!(content(app, "L-0").await, None);
    });
}

#[test]
fn reviews_of_a_product_that_waits_are_rejected() {
    test(async |app| {
        let waiting = some_of("feed", "L-1").price("1");
        assert_eq!(line(app, waiting).await, "waiting");
        let reviews = vec![review("L-1", 1, 5).into()];
        let (outcomes, _) = app.import(ImportMode::Write, Vec::new(), reviews).await;
        assert_eq!(
            word(&outcomes[0]),
            "rejected: product: there is no product L-1 of feed"
        );
    });
}

#[test]
fn merged_keys_and_renamed_suppliers_are_current_when_a_field_returns() {
    test(async |app| {
        let catalogue = lamp().text("colour", "red").supplier("North", "NO");
        line(app, catalogue).await;
        let stock = || some_of("stock", "L-1").supplier("South", "SE");
        assert_eq!(line(app, stock().text("colour", "blue")).await, "updated");
        let merge = json!({ "from": "colour", "into": "color" });
        app.mutate("mergeSpecKeys", merge).await.done();
        let suppliers = app.query("{ suppliers { nodes { id name } } }").await;
        let north = &suppliers.at("/suppliers/nodes/0");
        assert_eq!(north["name"], "North");
        let renamed = json!({ "id": north["id"], "name": "Northern" });
        app.mutate("updateSupplier", renamed).await.done();
        assert_eq!(line(app, some_of("stock", "L-1")).await, "updated");
        let merged = page(app).await;
        assert_eq!(merged["supplier"]["name"], "Northern");
        assert_eq!(merged["specs"][0], json!({ "key": "color", "text": "red" }));
        app.catalog.continue_merges().await.unwrap();
    });
}

#[test]
fn a_dry_run_says_what_an_import_does() {
    test(async |app| {
        app.has([lamp()]).await;
        line(app, some_of("prices", "L-9").price("1")).await;
        let feed = || {
            vec![
                price("10"),
                some_of("prices", "L-2").price("1"),
                some_of("prices", "L-2").price("1"),
                some_of("prices", "L-2").price("2"),
                some_of("prices", "L-2").source("prices", "twin"),
                some_of("prices", "L-9").price("1"),
                some_of("prices", "L-9").sku("L-8").price("1"),
                product("Two").source("prices", "whole").sku("L-7"),
                some_of("prices", "L-7").price("1"),
                product("Two").source("prices", "L-2").sku("L-2").price("3"),
                some_of("prices", "none").source("prices", "3").sku(""),
            ]
        };
        let dry = ends_as(app, ImportMode::DryRun, feed()).await;
        assert_eq!(dry, ends_as(app, ImportMode::Write, feed()).await);
        insta::assert_snapshot!(dry.join("\n"), @r"
        updated
        waiting
        unchanged
        waiting
        rejected: sku: another line of this system has the sku L-2; a system has one for it
        unchanged
        waiting
        created
        rejected: sku: another line of this system has the sku L-7; a system has one for it
        created
        rejected: sku: 0 bytes; 1 to 128 with a visible character are possible
        ");
    });
}
