//! Mutations that are retried, sent concurrently, or based on a stale revision.

use std::fmt::Write as _;

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, product, test};

use crate::import_runs::MAPPING;
use crate::started_imports::upload;

async fn things(app: &App) {
    app.mutate("createCategory", json!({ "name": "Things" }))
        .await
        .done();
}

fn mug(key: &str) -> Value {
    json!({ "kind": "thing", "name": "Mug", "category": "things", "status": "ACTIVE", "idempotencyKey": key,
        "specs": [{ "key": "color", "text": "Red" }] })
}

async fn count(app: &App) -> i64 {
    let answer = app
        .query("{ products { totalCount { value } } }")
        .as_admin()
        .await;
    answer.number("/products/totalCount/value")
}

fn payload(reply: &Reply) -> String {
    reply.payload().to_string()
}

#[test]
fn a_retry_with_the_same_key_returns_the_same_payload() {
    test(async |app| {
        things(app).await;
        let first = app.mutate("createProduct", mug("k")).await;
        let id = first.text("/product/id");
        // A change in between does not change the answer.
        app.mutate("updateProduct", json!({ "id": id, "name": "Cup" }))
            .await
            .done();
        let again = app.mutate("createProduct", mug("k")).await;
        assert_eq!(payload(&again), payload(&first));
        let other = app.other_process().await;
        let again = app.mutate("createProduct", mug("k")).through(&other).await;
        assert_eq!(payload(&again), payload(&first));
        assert_eq!(count(app).await, 1);
        // A key belongs to its caller.
        let somebody = app.mutate("createProduct", mug("k")).by("ann").await;
        assert_ne!(somebody.text("/product/id"), id);
        assert_eq!(count(app).await, 2);
    });
}

#[test]
fn a_key_used_for_another_input_is_refused() {
    test(async |app| {
        things(app).await;
        app.mutate("createProduct", mug("k")).await.done();
        let mut other = mug("k");
        other["name"] = "Cup".into();
        let refused = app.mutate("createProduct", other).await;
        assert_eq!(
            refused.user_error_paths(),
            ["IDEMPOTENCY_CONFLICT at idempotencyKey"]
        );
        let category = json!({ "name": "Others", "idempotencyKey": "k" });
        let refused = app.mutate("createCategory", category).await;
        assert_eq!(
            refused.user_error_paths(),
            ["IDEMPOTENCY_CONFLICT at idempotencyKey"]
        );
        assert_eq!(count(app).await, 1);
        // Input is the same with its fields in another order, and with defaults left out.
        let answer = app
            .query(r#"mutation { createProduct(input: { idempotencyKey: "k", specs: [{ text: "Red", key: "color" }], category: "things", status: ACTIVE, name: "Mug", kind: "thing" }) { product { name } userErrors { code } } }"#)
            .as_admin()
            .await;
        assert_eq!(
            answer.at("/createProduct"),
            &json!({ "product": { "name": "Mug" }, "userErrors": [] })
        );
        for key in ["", "a\nb", "é", &"k".repeat(129)] {
            let refused = app.mutate("createProduct", mug(key)).await;
            assert_eq!(
                refused.user_error_paths(),
                ["INVALID at idempotencyKey"],
                "{key:?}"
            );
        }
        app.mutate("createProduct", mug(&"k".repeat(128)))
            .await
            .done();
    });
}

#[test]
fn a_refusal_is_not_remembered() {
    test(async |app| {
        let early = app.mutate("createProduct", mug("k")).await;
        assert_eq!(early.user_error_paths(), ["NOT_FOUND at category"]);
        things(app).await;
        app.mutate("createProduct", mug("k")).await.done();
    });
}

#[test]
fn a_key_expires_after_two_days() {
    test(async |app| {
        things(app).await;
        let first = app
            .mutate("createProduct", mug("k"))
            .await
            .text("/product/id");
        app.clock.advance(47 * 3_600_000);
        assert_eq!(
            app.mutate("createProduct", mug("k"))
                .await
                .text("/product/id"),
            first
        );
        app.clock.advance(2 * 3_600_000);
        assert_ne!(
            app.mutate("createProduct", mug("k"))
                .await
                .text("/product/id"),
            first
        );
    });
}

/// A shirt, and a blouse that spells a key differently; the ids of the shirt, its supplier, its category
/// and that of the blouse.
async fn shirt(app: &App) -> [String; 4] {
    app.has([
        product("Shirt")
            .text("color", "Red")
            .supplier("North", "DE"),
        product("Blouse")
            .text("colour", "Red")
            .category(["Blouses"]),
    ])
    .await;
    let ids = app
        .query(
            r#"{ product(slug: "shirt") { id supplier { supplierId } category { id } }
            other: product(slug: "blouse") { category { id } } }"#,
        )
        .await;
    [
        "/product/id",
        "/product/supplier/supplierId",
        "/product/category/id",
        "/other/category/id",
    ]
    .map(|at| ids.text(at))
}

/// Mutations that change something when they are executed one after the other.
fn changes([id, supplier, category, other]: &[String; 4]) -> [(&'static str, Value); 21] {
    [
        (
            "createProduct",
            json!({ "kind": "thing", "name": "New", "category": "things" }),
        ),
        (
            "updateProduct",
            json!({ "id": id, "name": "Tunic", "expectedRevision": 1 }),
        ),
        (
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "fit", "text": "slim" }], "expectedRevision": 2 }),
        ),
        (
            "removeSpecs",
            json!({ "productId": id, "specs": [{ "key": "fit" }] }),
        ),
        ("archiveProduct", json!({ "id": id })),
        ("restoreProduct", json!({ "id": id })),
        ("createCategory", json!({ "name": "More" })),
        ("updateCategory", json!({ "id": category, "name": "Stuff" })),
        (
            "mergeCategories",
            json!({ "from": other, "into": category }),
        ),
        ("createSupplier", json!({ "name": "South" })),
        ("updateSupplier", json!({ "id": supplier, "country": "AT" })),
        (
            "defineUnit",
            json!({ "symbol": "furlong", "dimension": "length", "factor": 201_168 }),
        ),
        ("defineSpecKey", json!({ "key": "weave", "type": "TEXT" })),
        (
            "updateSpecKey",
            json!({ "key": "weave", "label": "Weaving" }),
        ),
        (
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        ),
        ("revertProduct", json!({ "id": id, "revision": 1 })),
        (
            "releaseFields",
            json!({ "productId": id, "fields": ["name"] }),
        ),
        ("revertCategory", json!({ "id": category, "revision": 1 })),
        ("revertSpecKey", json!({ "key": "weave", "revision": 1 })),
        ("startBulkChange", json!({ "change": { "brand": "Silo" } })),
        (
            "defineReviewDimensions",
            json!({ "kind": "shirt", "names": ["fit"] }),
        ),
    ]
}

#[test]
fn every_mutation_can_be_retried() {
    test(async |app| {
        let ids = shirt(app).await;
        let mut orders = changes(&ids).to_vec();
        let feed = upload(app, "lamps.jsonl", b"{}").await;
        orders.push((
            "startImport",
            json!({ "feeds": [feed], "mapping": MAPPING }),
        ));
        // Mutations of reviews and their authors are idempotent by their nature; see
        // review_rules.rs. So is stopping an import; see import_runs.rs. Activity is idempotent by the id
        // of its batch; see activity.rs.
        let without_key = 14;
        assert_eq!(
            orders.len() + without_key,
            vitrine_harness::mutations::MUTATIONS.len(),
            "a mutation has a row in `changes` or is counted in `without_key`"
        );
        let give = async |n: usize| {
            let (name, mut input) = orders[n].clone();
            input["idempotencyKey"] = format!("order {n}").into();
            app.mutate(name, input).await
        };
        let mut first = Vec::new();
        for n in 0..orders.len() {
            let reply = give(n).await;
            reply.done();
            first.push(payload(&reply));
        }
        let written = stored(app).await;
        for (n, expected) in first.iter().enumerate() {
            let again = give(n).await;
            assert_eq!(payload(&again), *expected, "{}", orders[n].0);
        }
        assert_eq!(stored(app).await, written, "nothing was written twice");
    });
}

/// All documents that these mutations write, as text to compare.
async fn stored(app: &App) -> String {
    let mut all = String::new();
    for collection in [
        "products",
        "categories",
        "suppliers",
        "units",
        "spec_keys",
        "mutations",
        "imports",
        "settings",
    ] {
        let found = app.documents(collection, doc! {}).await;
        let _ = writeln!(all, "{collection}: {found:?}");
    }
    all
}

#[test]
fn sixteen_concurrent_retries_create_one_product() {
    test(async |app| {
        things(app).await;
        let other = app.other_process().await;
        let orders = (0..16).map(|n| {
            let order = app.mutate("createProduct", mug("k"));
            if n % 2 == 0 {
                order.into_future()
            } else {
                order.through(&other).into_future()
            }
        });
        let replies = join_all(orders).await;
        assert_eq!(count(app).await, 1);
        let answers: std::collections::BTreeSet<String> = replies
            .iter()
            .filter(|reply| reply.0.errors().is_empty())
            .map(payload)
            .collect();
        assert_eq!(
            answers.len(),
            1,
            "all who were answered were answered the same: {answers:?}"
        );
        let failed: Vec<String> = replies.iter().flat_map(|reply| reply.0.errors()).collect();
        assert_eq!(failed, [""; 0], "and all were answered");
    });
}

/// A mutation, the field of its payload, and its input for each of several callers.
type Race = (&'static str, &'static str, Box<dyn Fn(usize) -> Value>);

/// Mutations that name the current revision.
fn races([id, supplier, category, _]: [String; 4]) -> [Race; 5] {
    let (product_id, specs_id) = (id.clone(), id);
    [
        (
            "updateProduct",
            "product",
            Box::new(
                move |n| json!({ "id": product_id, "name": format!("Name {n}"), "expectedRevision": 1 }),
            ),
        ),
        (
            "setSpecs",
            "product",
            Box::new(
                move |n| json!({ "productId": specs_id, "specs": [{ "key": "color", "text": format!("c{n}") }], "expectedRevision": 2 }),
            ),
        ),
        (
            "updateCategory",
            "category",
            Box::new(
                move |n| json!({ "id": category, "name": format!("Name {n}"), "expectedRevision": 1 }),
            ),
        ),
        (
            "updateSupplier",
            "supplier",
            Box::new(
                move |n| json!({ "id": supplier, "name": format!("Name {n}"), "expectedRevision": 1 }),
            ),
        ),
        (
            "updateSpecKey",
            "specKey",
            Box::new(
                move |n| json!({ "key": "color", "label": format!("Label {n}"), "expectedRevision": 1 }),
            ),
        ),
    ]
}

#[test]
fn of_many_with_the_same_revision_exactly_one_wins() {
    test(async |app| {
        let ids = shirt(app).await;
        for (name, thing, order) in races(ids) {
            let orders = (0..8).map(|n| app.mutate(name, order(n)).into_future());
            let replies = join_all(orders).await;
            let (won, lost): (Vec<&Reply>, Vec<&Reply>) = replies
                .iter()
                .partition(|reply| reply.payload()["userErrors"] == json!([]));
            assert_eq!((won.len(), lost.len()), (1, 7), "{name}");
            let revision = &won[0].payload()[thing]["revision"];
            for reply in lost {
                assert_eq!(
                    reply.user_error_paths(),
                    ["REVISION_CONFLICT at expectedRevision"],
                    "{name}"
                );
                assert_eq!(
                    &reply.payload()["userErrors"][0]["currentRevision"],
                    revision,
                    "{name}"
                );
                assert_eq!(
                    reply.payload()[thing],
                    won[0].payload()[thing],
                    "{name}: the thing as it is"
                );
            }
        }
    });
}

#[test]
fn without_a_revision_every_concurrent_writer_succeeds() {
    test(async |app| {
        app.has([product("Shirt")]).await;
        let id = app
            .query(r#"{ product(slug: "shirt") { id } }"#)
            .await
            .text("/product/id");
        let orders = (0..6).map(|n| {
            let specs = json!([{ "key": format!("key_{n}"), "number": n }]);
            app.mutate("setSpecs", json!({ "productId": id, "specs": specs }))
                .into_future()
        });
        let replies = join_all(orders).await;
        let done = replies
            .iter()
            .filter(|reply| reply.0.errors().is_empty())
            .count();
        let shown = app
            .query(r#"{ product(slug: "shirt") { revision specs { key } } }"#)
            .await;
        assert_eq!(shown.at("/product/specs").as_array().unwrap().len(), done);
        assert_eq!(
            shown.number("/product/revision"),
            1 + i64::try_from(done).unwrap()
        );
        for reply in replies.iter().filter(|reply| !reply.0.errors().is_empty()) {
            let errors = reply.0.errors();
            assert!(
                errors[0].starts_with("UNAVAILABLE"),
                "after too many conflicts a caller may retry: {errors:?}"
            );
        }
        assert!(done >= 3, "{done} of 6");
    });
}

#[test]
fn writers_of_different_products_do_not_conflict() {
    const WRITERS: usize = 8;
    test(async |app| {
        app.has((0..WRITERS).map(|n| product(&format!("P{n}"))))
            .await;
        let writer = async |n: usize| {
            let query = format!(r#"{{ product(slug: "p{n}") {{ id }} }}"#);
            let id = app.query(&query).await.text("/product/id");
            let mut failed = Vec::new();
            for round in 0..12 {
                let specs = json!([{ "key": "round", "number": round }]);
                let reply = app
                    .mutate("setSpecs", json!({ "productId": id, "specs": specs }))
                    .await;
                failed.extend(reply.0.errors());
            }
            failed
        };
        let failed = join_all((0..WRITERS).map(writer)).await.concat();
        assert_eq!(
            failed, [""; 0],
            "all are of one category, and teach one key"
        );
    });
}
