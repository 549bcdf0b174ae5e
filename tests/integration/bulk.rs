//! Bulk changes: one change of all products that match, each product by itself.

use std::collections::BTreeMap;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, ProductBuilder, product, test, test_on_own_server};
use vitrine_model::clock::Clock as _;
use vitrine_model::id::{GlobalId, ProductId};

/// The commands of the worker.
const COMMANDS: [&str; 6] = [
    "find",
    "insert",
    "update",
    "findAndModify",
    "delete",
    "commitTransaction",
];

/// Five lamps and a cup.
fn stock() -> impl Iterator<Item = ProductBuilder> {
    let lamp = |n: u32| {
        product(&format!("Lamp {n}"))
            .category(["Light", "Lamps"])
            .brand(if n.is_multiple_of(2) { "Tarn" } else { "Karst" })
            .price(&n.to_string())
            .text("color", "red")
    };
    let cup = product("Cup").category(["Kitchen"]).text("color", "red");
    (1..=5).map(lamp).chain([cup])
}

async fn start(app: &App, input: Value) -> Reply {
    app.mutate("startBulkChange", input).by("ann").await
}

/// Starts a bulk change that must be accepted; returns its id.
async fn started(app: &App, input: Value) -> String {
    start(app, input).await.text("/bulkChange/id")
}

async fn work(app: &App) {
    let done = app.catalog.work_off(Worker::BulkChanges).await;
    done.expect("the database answers");
}

/// A bulk change: its state, and its numbers that are not 0.
async fn bulk_change(app: &App, id: &str) -> (String, BTreeMap<String, i64>) {
    let query = "query ($id: ID!) { bulkChange(id: $id) { state startedBy
        counts { products waiting changed unchanged refused skipped } } }";
    let answer = app.query(query).with("id", id).as_admin().await;
    assert_eq!(answer.text("/bulkChange/startedBy"), "ann");
    let counts = answer.at("/bulkChange/counts").as_object().unwrap().iter();
    let counts = counts.map(|(name, number)| (name.clone(), number.as_i64().unwrap()));
    let counts = counts.filter(|(_, number)| *number > 0).collect();
    (answer.text("/bulkChange/state"), counts)
}

fn counts<const N: usize>(all: [(&str, i64); N]) -> BTreeMap<String, i64> {
    all.map(|(name, number)| (name.to_owned(), number)).into()
}

/// The names of the products of a bulk change with this outcome, and why they were refused.
async fn items(app: &App, id: &str, outcome: &str) -> Vec<(String, String)> {
    let query = "query ($id: ID!, $outcome: BulkChangeOutcome) { bulkChange(id: $id) {
        items(outcome: $outcome, first: 100) { nodes { outcome message product { name } } } } }";
    let request = app.query(query).with("id", id).with("outcome", outcome);
    let answer = request.as_admin().await;
    let nodes = answer.at("/bulkChange/items/nodes").as_array().unwrap();
    let mut all: Vec<_> = nodes
        .iter()
        .map(|node| {
            assert_eq!(node["outcome"], outcome);
            let text = |at: &Value| at.as_str().unwrap_or_default().to_owned();
            (text(&node["product"]["name"]), text(&node["message"]))
        })
        .collect();
    all.sort();
    all
}

/// The names of the products that match a filter.
async fn names(app: &App, filter: Value) -> Vec<String> {
    let query = "query ($filter: ProductFilterInput) { products(filter: $filter, sort: [{ key: NAME }]) { nodes { name } } }";
    let answer = app.query(query).with("filter", filter).as_admin().await;
    answer.names("/products")
}

#[test]
fn all_that_match_are_changed() {
    test(async |app| {
        app.has(stock()).await;
        let id = started(
            app,
            json!({
                "filter": { "category": ["lamps"], "brand": ["Tarn"] },
                "change": {
                    "brand": "Silo", "price": { "amount": "9.50" }, "category": "kitchen",
                    "setSpecs": [{ "key": "dimmable", "boolean": true }], "removeSpecs": [{ "key": "color" }],
                },
            }),
        )
        .await;
        assert_eq!(
            bulk_change(app, &id).await,
            ("COLLECTING".to_owned(), counts([]))
        );
        work(app).await;
        let expected = counts([("products", 2), ("changed", 2)]);
        assert_eq!(bulk_change(app, &id).await, ("DONE".to_owned(), expected));
        let filter = json!({
            "brand": ["Silo"], "category": ["kitchen"], "price": { "gte": "9.50", "lte": "9.50" },
            "specs": [{ "key": "dimmable", "boolean": true }, { "key": "color", "exists": false }],
        });
        assert_eq!(names(app, filter).await, ["Lamp 2", "Lamp 4"]);
        let untouched = json!({ "specs": [{ "key": "color", "text": { "eq": "red" } }] });
        assert_eq!(names(app, untouched).await.len(), 4);
    });
}

#[test]
fn a_search_and_ids_select_products_too() {
    test(async |app| {
        app.has(stock()).await;
        let brand = json!({ "brand": "Silo" });
        let searched =
            json!({ "search": "lamp", "filter": { "brand": ["Karst"] }, "change": brand });
        started(app, searched).await;
        work(app).await;
        let silo = json!({ "brand": ["Silo"] });
        assert_eq!(
            names(app, silo.clone()).await,
            ["Lamp 1", "Lamp 3", "Lamp 5"]
        );
        let cup = app.query(r#"{ product(slug: "cup") { id } }"#).await;
        let named = json!({ "ids": [cup.text("/product/id")], "change": brand });
        started(app, named).await;
        work(app).await;
        assert_eq!(names(app, silo).await.len(), 4);
        let both = json!({ "ids": [], "search": "lamp", "change": brand });
        let refused = start(app, both).await;
        assert_eq!(refused.user_error_paths(), ["INVALID at ids"]);
    });
}

#[test]
fn a_dry_run_says_what_would_become_of_each() {
    test(async |app| {
        app.has(stock()).await;
        app.has([product("Set")
            .kind("bundle")
            .source("feed", "set")
            .item("Cup", 1)])
            .await;
        let input = json!({
            "dryRun": true,
            "change": { "price": { "amount": "4" }, "setSpecs": [{ "key": "unheard_of", "text": "x" }] },
        });
        let before = app.documents("products", doc! {}).await;
        let keys = app.documents("spec_keys", doc! {}).await;
        let id = started(app, input).await;
        work(app).await;
        let expected = counts([("products", 7), ("changed", 6), ("refused", 1)]);
        assert_eq!(bulk_change(app, &id).await, ("DONE".to_owned(), expected));
        let message = "price: the price of a bundle is computed from its items; leave it out";
        assert_eq!(
            items(app, &id, "REFUSED").await,
            [("Set".to_owned(), message.to_owned())]
        );
        assert_eq!(app.documents("products", doc! {}).await, before);
        assert_eq!(app.documents("spec_keys", doc! {}).await, keys);
        assert!(app.documents("history", doc! {}).await.is_empty());
    });
}

#[test]
fn what_is_as_wanted_is_not_written_again() {
    test(async |app| {
        app.has(stock()).await;
        let input = json!({ "filter": { "category": ["lamps"] }, "change": { "brand": "Tarn" } });
        let id = started(app, input).await;
        work(app).await;
        let expected = counts([("products", 5), ("changed", 3), ("unchanged", 2)]);
        assert_eq!(bulk_change(app, &id).await.1, expected);
        let unchanged = items(app, &id, "UNCHANGED").await;
        assert_eq!(unchanged[0].0, "Lamp 2");
        assert_eq!(app.documents("history", doc! {}).await.len(), 3);
    });
}

#[test]
fn a_product_that_no_longer_matches_is_left_alone() {
    test(async |app| {
        app.has(stock()).await;
        let input = json!({ "filter": { "brand": ["Karst"] }, "change": { "status": "ARCHIVED" } });
        let id = started(app, input).await;
        let mut state = MaintenanceState::default();
        let collected = app
            .catalog
            .work(Worker::BulkChanges, &mut state)
            .await
            .unwrap();
        assert_eq!(collected.done, 3);
        // One leaves, one arrives.
        for (slug, brand) in [("lamp-1", "Silo"), ("lamp-2", "Karst")] {
            let found = app.query("query ($slug: String!) { product(slug: $slug) { id } }");
            let found = found.with("slug", slug).await;
            let update = json!({ "id": found.text("/product/id"), "brand": brand });
            app.mutate("updateProduct", update).await.done();
        }
        work(app).await;
        let expected = counts([("products", 3), ("changed", 2), ("skipped", 1)]);
        assert_eq!(bulk_change(app, &id).await, ("DONE".to_owned(), expected));
        assert_eq!(items(app, &id, "SKIPPED").await[0].0, "Lamp 1");
        let archived = json!({ "status": ["ARCHIVED"] });
        assert_eq!(names(app, archived).await, ["Lamp 3", "Lamp 5"]);
    });
}

#[test]
fn a_category_that_is_renamed_meanwhile_stays_the_one_that_was_meant() {
    test(async |app| {
        app.has(stock()).await;
        let input =
            json!({ "filter": { "category": ["lamps"] }, "change": { "category": "kitchen" } });
        let id = started(app, input).await;
        let kitchen = app.query(r#"{ category(slug: "kitchen") { id } }"#).await;
        let renamed = json!({ "id": kitchen.text("/category/id"), "slug": "cooking" });
        app.mutate("updateCategory", renamed).await.done();
        let other = json!({ "name": "Other", "slug": "kitchen" });
        app.mutate("createCategory", other).await.done();
        work(app).await;
        let expected = counts([("products", 5), ("changed", 5)]);
        assert_eq!(bulk_change(app, &id).await.1, expected);
        assert_eq!(
            names(app, json!({ "category": ["cooking"] })).await.len(),
            6
        );
    });
}

#[test]
fn the_history_names_the_admin() {
    test(async |app| {
        app.has(stock()).await;
        started(
            app,
            json!({ "search": "cup", "change": { "status": "DRAFT" } }),
        )
        .await;
        work(app).await;
        let id = app
            .query(r#"{ products(search: "cup") { nodes { id } } }"#)
            .as_admin()
            .await;
        let query = "query ($id: ID!) { history(id: $id) { nodes { changedBy origin fields { field after } } } }";
        let id = id.text("/products/nodes/0/id");
        let history = app.query(query).with("id", id).as_admin().await;
        let fields = json!([{ "field": "status", "after": "DRAFT" }]);
        assert_eq!(
            history.at("/history/nodes"),
            &json!([{ "changedBy": "ann", "origin": "BULK_CHANGE", "fields": fields }])
        );
    });
}

#[test]
fn a_bulk_change_is_stopped_and_keeps_what_it_did() {
    test(async |app| {
        let many = (0..120).map(|n| product(&format!("P{n:03}")).brand("Karst"));
        app.has(many).await;
        let id = started(app, json!({ "change": { "brand": "Silo" } })).await;
        let mut state = MaintenanceState::default();
        for _ in 0..2 {
            app.catalog
                .work(Worker::BulkChanges, &mut state)
                .await
                .unwrap();
        }
        let expected = counts([("products", 120), ("changed", 50), ("waiting", 70)]);
        assert_eq!(
            bulk_change(app, &id).await,
            ("RUNNING".to_owned(), expected.clone())
        );
        let stopped = app
            .mutate("stopBulkChange", json!({ "id": id }))
            .by("ben")
            .await;
        assert_eq!(stopped.done()["bulkChange"]["stopRequestedBy"], "ben");
        work(app).await;
        assert_eq!(
            bulk_change(app, &id).await,
            ("STOPPED".to_owned(), expected)
        );
        assert_eq!(
            names(app, json!({ "brand": ["Silo"] })).await.len(),
            20,
            "a page of them"
        );
        let again = app.mutate("stopBulkChange", json!({ "id": id })).await;
        assert_eq!(again.done()["bulkChange"]["state"], "STOPPED");
    });
}

#[test]
fn one_that_waits_for_others_stops_at_once() {
    test(async |app| {
        app.has(stock()).await;
        let first = started(app, json!({ "change": { "brand": "A" } })).await;
        app.clock.advance(1_000);
        let second = started(app, json!({ "change": { "brand": "B" } })).await;
        app.mutate("stopBulkChange", json!({ "id": second }))
            .await
            .done();
        let mut state = MaintenanceState::default();
        app.catalog
            .work(Worker::BulkChanges, &mut state)
            .await
            .unwrap();
        assert_eq!(bulk_change(app, &second).await.0, "STOPPED");
        work(app).await;
        assert_eq!(bulk_change(app, &first).await.0, "DONE");
        assert_eq!(names(app, json!({ "brand": ["A"] })).await.len(), 6);
    });
}

#[test]
fn a_worker_that_is_cut_off_anywhere_changes_each_product_once() {
    test_on_own_server(async |app| {
        app.has(stock()).await;
        let input = json!({ "filter": { "category": ["lamps"] }, "change": { "brand": "Silo" } });
        let id = started(app, input).await;
        let mut nth = 0;
        while bulk_change(app, &id).await.0 != "DONE" {
            app.fail_after(nth, &COMMANDS, doc! { "errorCode": 96 })
                .await;
            let _ = app.catalog.work_off(Worker::BulkChanges).await;
            app.stop_failing().await;
            app.kill_abandoned_transactions().await;
            let waiting = bulk_change(app, &id).await.1;
            let stored = app
                .documents("bulk_items", doc! { "outcome": "changed" })
                .await;
            let changed = waiting.get("changed").copied().unwrap_or_default();
            assert_eq!(
                changed,
                i64::try_from(stored.len()).unwrap(),
                "after command {nth}"
            );
            nth += 1;
            assert!(nth < 100, "it never gets through");
        }
        assert!(nth > 10, "it sends reads, writes and commits: {nth}");
        let expected = counts([("products", 5), ("changed", 5)]);
        assert_eq!(bulk_change(app, &id).await.1, expected);
        assert_eq!(app.documents("history", doc! {}).await.len(), 5);
        let products = app.documents("products", doc! { "revision": 2_i64 }).await;
        assert_eq!(products.len(), 5);
    });
}

#[test]
fn a_product_of_a_newer_release_is_named_and_does_not_stop_the_others() {
    test(async |app| {
        app.has(stock()).await;
        let products = app.direct().collection::<Document>("products");
        let newer = async |version: i32| {
            let set = doc! { "$set": { "schema_version": version } };
            let changed = products.update_one(doc! { "name": "Lamp 2" }, set).await;
            changed.unwrap();
            app.store().announce_any_product();
        };
        newer(99).await;
        let change = json!({ "brand": "Silo", "setSpecs": [{ "key": "brand_new", "text": "x" }] });
        let only = json!({ "filter": { "brand": ["Tarn"] }, "change": change, "dryRun": true });
        started(app, only).await;
        work(app).await;
        assert!(
            app.documents("spec_keys", doc! { "_id": "brand_new" })
                .await
                .is_empty()
        );
        let id = started(app, json!({ "change": { "brand": "Silo" } })).await;
        work(app).await;
        newer(1).await;
        let expected = counts([("products", 6), ("changed", 5), ("refused", 1)]);
        assert_eq!(bulk_change(app, &id).await, ("DONE".to_owned(), expected));
        let refused = items(app, &id, "REFUSED").await;
        assert_eq!(refused[0].0, "Lamp 2");
        assert!(refused[0].1.contains("newer"), "{refused:?}");
    });
}

#[test]
fn a_product_that_the_database_refuses_to_write_does_not_stop_the_others() {
    test(async |app| {
        app.has(stock()).await;
        // A field that no edit touches breaks the validator of the collection.
        let products = app.direct().collection::<Document>("products");
        let broken = |slot: mongodb::bson::Bson| {
            let set = doc! { "$set": { "slot": slot } };
            let update = products.update_one(doc! { "name": "Lamp 3" }, set);
            update.bypass_document_validation(true)
        };
        broken("none".into()).await.unwrap();
        let first = started(
            app,
            json!({ "filter": { "category": ["lamps"] }, "change": { "brand": "Fell" } }),
        )
        .await;
        let second = started(
            app,
            json!({ "filter": { "category": ["kitchen"] }, "change": { "brand": "Fell" } }),
        )
        .await;
        work(app).await;
        let expected = counts([("products", 5), ("changed", 4), ("refused", 1)]);
        assert_eq!(
            bulk_change(app, &first).await,
            ("DONE".to_owned(), expected)
        );
        let expected = counts([("products", 1), ("changed", 1)]);
        assert_eq!(
            bulk_change(app, &second).await,
            ("DONE".to_owned(), expected)
        );
        let slot = app.documents("products", doc! { "name": "Lamp 1" }).await;
        assert!(slot[0].get_i32("slot").is_ok());
        let id = app.documents("products", doc! { "name": "Lamp 3" }).await[0]
            .get_i64("_id")
            .unwrap();
        let slot = vitrine_model::derived::slot(ProductId::from_i64(id));
        broken(i32::from(slot).into()).await.unwrap();
    });
}

#[test]
fn bulk_changes_are_made_one_after_the_other_and_listed() {
    test(async |app| {
        app.has(stock()).await;
        let first = started(app, json!({ "change": { "brand": "A" } })).await;
        app.clock.advance(1_000);
        let second = started(app, json!({ "change": { "brand": "B" } })).await;
        let mut state = MaintenanceState::default();
        app.catalog
            .work(Worker::BulkChanges, &mut state)
            .await
            .unwrap();
        assert_eq!(bulk_change(app, &second).await.0, "COLLECTING");
        work(app).await;
        assert_eq!(names(app, json!({ "brand": ["B"] })).await.len(), 6);
        let query = "query ($after: String) { bulkChanges(first: 1, after: $after) {
            nodes { id endedAt } pageInfo { hasNextPage endCursor } } }";
        let page = app.query(query).as_admin().await;
        assert_eq!(page.text("/bulkChanges/nodes/0/id"), second);
        assert_eq!(page.at("/bulkChanges/pageInfo/hasNextPage"), true);
        let after = page.text("/bulkChanges/pageInfo/endCursor");
        let page = app.query(query).with("after", after).as_admin().await;
        assert_eq!(page.text("/bulkChanges/nodes/0/id"), first);
        assert_eq!(page.at("/bulkChanges/pageInfo/hasNextPage"), false);
    });
}

#[test]
fn what_is_wrong_for_every_product_is_refused_at_once() {
    test(async |app| {
        app.has(stock()).await;
        for (input, expected) in [
            (json!({ "change": {} }), vec!["INVALID at change"]),
            (
                json!({ "change": { "category": "nowhere", "price": { "amount": "1.234" } } }),
                vec![
                    "NOT_FOUND at change.category",
                    "INVALID at change.price.amount",
                ],
            ),
            (
                json!({ "change": { "setSpecs": [{ "key": "color", "number": 3 }] } }),
                vec!["TYPE_MISMATCH at change.setSpecs.0.number"],
            ),
            (
                json!({ "change": { "setSpecs": [{ "key": "color" }], "status": null } }),
                vec!["INVALID at change.setSpecs.0", "INVALID at change.status"],
            ),
            (
                json!({ "ids": ["x"], "change": { "brand": "B" } }),
                vec!["INVALID at ids.0"],
            ),
        ] {
            let refused = start(app, input.clone()).await;
            assert_eq!(refused.user_error_paths(), expected, "{input}");
        }
        let nobody = GlobalId::Product(ProductId::random()).encode();
        let refused = start(app, json!({ "ids": [nobody], "change": { "brand": "B" } })).await;
        assert_eq!(refused.user_error_paths(), ["NOT_FOUND at ids.0"]);
        let null = json!({ "change": { "setSpecs": null, "brand": "B" } });
        let refused = start(app, null).await;
        assert_eq!(refused.user_error_paths(), ["INVALID at change.setSpecs"]);
        assert!(app.documents("bulk_changes", doc! {}).await.is_empty());
    });
}

#[test]
fn a_repeated_request_starts_nothing_new() {
    test(async |app| {
        app.has(stock()).await;
        let input = json!({ "change": { "brand": "Silo" }, "idempotencyKey": "k" });
        let first = started(app, input.clone()).await;
        work(app).await;
        let again = start(app, input).await;
        assert_eq!(again.text("/bulkChange/id"), first);
        assert_eq!(again.text("/bulkChange/state"), "DONE");
    });
}

#[test]
fn bulk_changes_and_their_products_expire_after_ninety_days() {
    test(async |app| {
        app.has(stock()).await;
        started(app, json!({ "change": { "brand": "Silo" } })).await;
        work(app).await;
        for collection in ["bulk_changes", "bulk_items"] {
            let kept = app.documents(collection, doc! {}).await;
            assert!(!kept.is_empty());
            for one in kept {
                let expires = one.get_datetime("expires_at").unwrap().timestamp_millis();
                let days = (expires - app.clock.now().as_millis()) / (24 * 60 * 60 * 1000);
                assert_eq!(days, 90, "{collection}");
            }
        }
    });
}
