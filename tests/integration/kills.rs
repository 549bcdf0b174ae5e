//! Mutations that fail at any of their commands: nothing is half written, and a retry with the same
//! idempotency key executes the mutation once.

use std::fmt::Write as _;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, eventually, product, review, test_on_own_server};
use vitrine_model::clock::Clock as _;
use vitrine_model::erasure::ErasurePolicy;
use vitrine_model::id::AuthorId;

use crate::leases::work;

/// Every command that a mutation may send.
const COMMANDS: [&str; 9] = [
    "find",
    "getMore",
    "aggregate",
    "count",
    "insert",
    "update",
    "findAndModify",
    "delete",
    "commitTransaction",
];

/// More commands than any mutation sends, also one that retries because of an abandoned
/// transaction.
const MAX_COMMANDS: i32 = 200;

/// The mutations of this module: each changes something that shows whether it was executed.
fn orders(ids: &Ids) -> Vec<(&'static str, Value)> {
    vec![
        (
            "createProduct",
            json!({ "kind": "thing", "name": "New", "category": "things", "status": "ACTIVE",
            "specs": [{ "key": "brand_new", "text": "yes" }, { "key": "unused", "text": "first" }] }),
        ),
        (
            "setSpecs",
            json!({ "productId": ids.product, "specs": [{ "key": "newer", "number": 1 }] }),
        ),
        (
            "updateProduct",
            json!({ "id": ids.product, "name": "Renamed", "category": "others" }),
        ),
        ("archiveProduct", json!({ "id": ids.product })),
        ("createCategory", json!({ "name": "Fresh" })),
        (
            "updateCategory",
            json!({ "id": ids.category, "name": "Stuff" }),
        ),
        ("createSupplier", json!({ "name": "South" })),
        (
            "updateSupplier",
            json!({ "id": ids.supplier, "name": "Northern" }),
        ),
        (
            "defineUnit",
            json!({ "symbol": "furlong", "dimension": "length", "factor": 201_168 }),
        ),
        (
            "defineSpecKey",
            json!({ "key": "weave", "type": "TEXT", "aliases": ["bindung"] }),
        ),
        (
            "updateSpecKey",
            json!({ "key": "unused", "aliases": ["idle"], "label": "Idle" }),
        ),
        (
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        ),
    ]
}

struct Ids {
    product: String,
    category: String,
    supplier: String,
}

/// The shop before any of the mutations.
async fn shop(app: &App) -> Ids {
    app.has([
        product("Shirt")
            .text("colour", "Red")
            .supplier("North", "DE"),
        product("Blouse").text("color", "Red").category(["Others"]),
    ])
    .await;
    app.mutate("defineSpecKey", json!({ "key": "unused", "type": "TEXT" }))
        .await
        .done();
    let ids = app
        .query(r#"{ product(slug: "shirt") { id supplier { supplierId } category { id } } }"#)
        .await;
    Ids {
        product: ids.text("/product/id"),
        category: ids.text("/product/category/id"),
        supplier: ids.text("/product/supplier/supplierId"),
    }
}

/// Everything that mutations write, except the vocabulary, where extra words do no harm.
async fn stored(app: &App) -> String {
    let mut all = String::new();
    for collection in [
        "products",
        "categories",
        "suppliers",
        "units",
        "spec_keys",
        "mutations",
        "settings",
        "category_generations",
    ] {
        let found = app.documents(collection, doc! {}).await;
        let _ = writeln!(all, "{collection}: {found:?}");
    }
    all
}

fn answered(reply: &Reply) -> bool {
    reply.0.errors().is_empty()
}

/// The outcome of a mutation of which every command from the n-th on failed.
#[derive(PartialEq)]
enum SendOutcome {
    /// It was reported as failed, and nothing is written.
    Unexecuted,
    /// It was reported as failed, and was executed.
    Unreported,
    /// It was reported as executed, and was.
    Reported,
}

/// Sends a mutation while every command from the n-th on fails like this.
async fn send(app: &App, name: &str, input: &Value, n: i32, how: Document) -> SendOutcome {
    let before = stored(app).await;
    app.fail_after(n, &COMMANDS, how).await;
    let cut_off = app.mutate(name, input.clone()).await;
    app.stop_failing().await;
    app.audit().await;
    if answered(&cut_off) {
        cut_off.done();
        return SendOutcome::Reported;
    }
    let errors = cut_off.0.errors().concat();
    assert!(
        errors.starts_with("UNAVAILABLE")
            || errors.starts_with("INTERNAL")
            || errors.starts_with("TIMEOUT"),
        "{name}: {errors}"
    );
    let after = stored(app).await;
    if after == before {
        return SendOutcome::Unexecuted;
    }
    // It is not half executed: nothing is left to do.
    app.mutate(name, input.clone()).await.done();
    assert_eq!(
        stored(app).await,
        after,
        "{name}: half is written when command {n} fails"
    );
    SendOutcome::Unreported
}

#[test]
fn a_mutation_that_fails_at_any_command_writes_nothing() {
    test_on_own_server(async |app| {
        // A commit that the server refuses leaves the transaction open.
        app.expire_abandoned_transactions_soon().await;
        let ids = shop(app).await;
        let mut unreported = Vec::new();
        for (at, (name, mut input)) in orders(&ids).into_iter().enumerate() {
            input["idempotencyKey"] = format!("order {at}").into();
            let mut n = 0;
            // OperationFailed: the driver does not retry it.
            loop {
                match send(app, name, &input, n, doc! { "errorCode": 96 }).await {
                    SendOutcome::Unexecuted => n += 1,
                    SendOutcome::Unreported => {
                        unreported.push(format!("{name} at command {n}"));
                        break;
                    }
                    SendOutcome::Reported => break,
                }
                assert!(n < MAX_COMMANDS, "{name} never gets through");
            }
            println!("{name}: {n} commands");
            assert!(
                n >= 4,
                "{name} sends at least a read, two writes and a commit"
            );
            once(app, name, &input).await;
        }
        assert_eq!(
            unreported, [""; 0],
            "every executed mutation reports success"
        );
    });
}

#[test]
fn a_mutation_whose_connection_breaks_is_executed_once() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        let ids = shop(app).await;
        for (at, (name, mut input)) in orders(&ids).into_iter().enumerate() {
            if !["createProduct", "setSpecs", "mergeSpecKeys"].contains(&name) {
                continue;
            }
            input["idempotencyKey"] = format!("order {at}").into();
            for command in ["find", "insert", "update", "commitTransaction"] {
                // The driver retries some of these.
                app.fail_next(1, &[command], doc! { "closeConnection": true })
                    .await;
                let cut_off = app.mutate(name, input.clone()).await;
                println!("{name}, {command}: {:?}", cut_off.0.errors());
                app.stop_failing().await;
                app.audit().await;
            }
            once(app, name, &input).await;
        }
    });
}

/// Retries a mutation twice, and asserts that it is executed once.
async fn once(app: &App, name: &str, input: &Value) {
    let first = app.mutate(name, input.clone()).await;
    first.done();
    let written = stored(app).await;
    let again = app.mutate(name, input.clone()).await;
    assert_eq!(again.payload(), first.payload(), "{name}");
    assert_eq!(stored(app).await, written, "{name}");
    if name == "createProduct" {
        let products = app
            .query(r#"{ products(search: "new ") { nodes { name } } }"#)
            .await;
        assert_eq!(products.names("/products"), ["New"]);
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_not_repeated() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        shop(app).await;
        let input = json!({ "kind": "thing", "name": "New", "category": "things", "status": "ACTIVE", "idempotencyKey": "k" });
        // The commit is executed, and the answer leaves its outcome open (WriteConcernFailed as a
        // write concern error).
        let lost = doc! { "writeConcernError": { "code": 64, "errmsg": "lost" } };
        app.fail_next(1, &["commitTransaction"], lost.clone()).await;
        let unclear = app.mutate("createProduct", input.clone()).await;
        println!("once: {:?}", unclear.0.errors());
        app.stop_failing().await;
        once(app, "createProduct", &input).await;
        app.fail_next(1_000, &["commitTransaction"], lost).await;
        let mut other = input;
        other["idempotencyKey"] = "l".into();
        other["name"] = "Newer".into();
        let unclear = app.mutate("createProduct", other.clone()).await;
        app.stop_failing().await;
        assert!(
            !answered(&unclear),
            "an unknown outcome is not reported as done: {}",
            unclear.0.pretty()
        );
        app.audit().await;
        app.mutate("createProduct", other).await.done();
        let found = app
            .query(r#"{ products(search: "newer ") { nodes { name } } }"#)
            .await;
        assert_eq!(found.names("/products"), ["Newer"]);
    });
}

#[test]
fn a_mutation_retries_after_a_write_conflict() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        let ids = shop(app).await;
        let conflict = || doc! { "errorCode": 112, "errorLabels": ["TransientTransactionError"] };
        for (name, input) in orders(&ids) {
            app.fail_next(2, &["update", "findAndModify"], conflict())
                .await;
            app.mutate(name, input).await.done();
            app.stop_failing().await;
        }
        // A commit that is refused by a fail point leaves its transaction open, so that the retry
        // may conflict with it until the server aborts it.
        let input = json!({ "name": "Sooner or later", "idempotencyKey": "k" });
        app.fail_next(2, &["commitTransaction"], conflict()).await;
        let first = app.mutate("createCategory", input.clone()).await;
        let begun = first
            .0
            .sent()
            .iter()
            .filter(|sent| sent.starts_with("insert categories"));
        assert!(begun.count() > 1, "it begins again: {:?}", first.0.sent());
        let retried = async || {
            let reply = app.mutate("createCategory", input.clone()).await;
            answered(&reply).then(|| reply.done().clone())
        };
        eventually("a category", Duration::from_mins(1), retried).await;
        app.stop_failing().await;
        // A mutation that always conflicts is reported and changes nothing.
        let before = stored(app).await;
        app.fail_next(1_000, &["commitTransaction"], conflict())
            .await;
        let refused = app
            .mutate("createCategory", json!({ "name": "Never" }))
            .await;
        app.stop_failing().await;
        assert!(
            refused.0.errors().concat().starts_with("UNAVAILABLE"),
            "{}",
            refused.0.pretty()
        );
        assert_eq!(
            refused.0.body()["errors"][0]["extensions"]["retryable"],
            true
        );
        assert_eq!(stored(app).await, before);
    });
}

/// What filters by both names of a merged key find.
async fn both_names(app: &App) -> (Value, Value) {
    let find = async |key: &str| {
        let query = "query($filter: ProductFilterInput, $keys: [String!]) { products(first: 10, sort: [{ key: NAME }], filter: $filter) { nodes { name } totalCount { value } facets(keys: $keys) { productCount values { count } } } }";
        let filter = json!({ "specs": [{ "key": key, "text": { "eq": "red" } }] });
        app.query(query)
            .with("filter", filter)
            .with("keys", json!([key]))
            .await
            .data()
            .clone()
    };
    (find("colour").await, find("color").await)
}

async fn count_with_old_key(app: &App) -> u64 {
    let products = app.direct().collection::<Document>("products");
    products
        .count_documents(doc! { "specs.k": "colour" })
        .await
        .unwrap()
}

/// A shop with five hundred products with the old key.
async fn five_hundred(app: &App) {
    let red = |n: usize| {
        product(&format!("P{n:03}")).text(if n < 500 { "colour" } else { "color" }, "Red")
    };
    app.has((0..600).map(red)).await;
    let merged = app
        .mutate(
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        )
        .await;
    assert_eq!(merged.number("/remaining"), 500);
}

#[test]
fn a_merge_resumes_after_a_failure() {
    test_on_own_server(async |app| {
        five_hundred(app).await;
        let expected = both_names(app).await;
        assert_eq!(expected.0, expected.1);
        assert_eq!(expected.0["products"]["totalCount"]["value"], 600);
        let mut left = vec![count_with_old_key(app).await];
        // It fails at another command each time: reading, in the first batch, in the third.
        for n in [0, 3, 225, 330, 452] {
            app.fail_after(n, &COMMANDS, doc! { "errorCode": 96 }).await;
            let cut_off = app.catalog.continue_merges().await;
            assert!(cut_off.is_err(), "{n}: {cut_off:?}");
            app.stop_failing().await;
            app.audit().await;
            assert_eq!(both_names(app).await, expected, "{n}");
            left.push(count_with_old_key(app).await);
        }
        println!("left to rewrite: {left:?}");
        assert!(left.is_sorted_by(|a, b| a >= b), "{left:?}");
        assert!(
            left.iter().any(|left| (1..500).contains(left)),
            "none was in the middle: {left:?}"
        );
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(count_with_old_key(app).await, 0);
        assert_eq!(both_names(app).await, expected);
    });
}

#[test]
fn a_merge_continues_after_its_worker_is_killed() {
    test_on_own_server(async |app| {
        five_hundred(app).await;
        let expected = both_names(app).await;
        // The 251st write of a product waits: in the third batch.
        let stuck = doc! { "blockConnection": true, "blockTimeMS": 60_000 };
        app.fail_after(250, &["findAndModify"], stuck).await;
        let mut worker = work(app);
        let middle = async || (count_with_old_key(app).await <= 300).then_some(());
        eventually(
            "two batches that are rewritten",
            Duration::from_mins(3),
            middle,
        )
        .await;
        worker.signal("KILL");
        worker.ended().await;
        app.stop_failing().await;
        app.kill_abandoned_transactions().await;
        let left = count_with_old_key(app).await;
        println!("killed with {left} products left");
        assert!((1..500).contains(&left), "{left}");
        app.audit().await;
        assert_eq!(both_names(app).await, expected);
        let next = work(app);
        let done = async || (count_with_old_key(app).await == 0).then_some(());
        eventually("the end of the merge", Duration::from_mins(5), done).await;
        assert!(next.stop().await.success());
        assert_eq!(both_names(app).await, expected);
        let products = app.direct().collection::<Document>("products");
        let twice = products
            .count_documents(doc! { "revision": { "$gt": 2 } })
            .await
            .unwrap();
        assert_eq!(twice, 0, "each product was rewritten once");
    });
}

#[test]
fn an_erasure_continues_after_its_worker_is_killed() {
    test_on_own_server(async |app| {
        let names: Vec<String> = (0..400).map(|n| format!("Lamp {n}")).collect();
        app.has(names.iter().map(|name| product(name))).await;
        let by_ann = names.iter().map(|name| review(name, name, 3).author("ann"));
        app.has_reviews(by_ann).await;
        let (ann, now) = (AuthorId("ann".to_owned()), app.clock.now());
        let store = &app.store;
        let opened = store.open_erasure(&ann, ErasurePolicy::Remove, "admin", now);
        store
            .release_erasure(&opened.await.unwrap().unwrap())
            .await
            .unwrap();
        // A batch of reviews and a part of the folds are committed; the next one waits.
        let stuck = doc! { "blockConnection": true, "blockTimeMS": 60_000 };
        app.fail_after(3, &["commitTransaction"], stuck).await;
        let mut worker = work(app);
        let receipt = async || store.erasure(&ann).await.unwrap().unwrap();
        let begun = async || (receipt().await.done.reviews == 200).then_some(());
        eventually("a batch that is erased", Duration::from_mins(3), begun).await;
        worker.signal("KILL");
        worker.ended().await;
        app.stop_failing().await;
        app.kill_abandoned_transactions().await;
        assert!(receipt().await.finished_at.is_none());
        let next = work(app);
        let done = async || receipt().await.finished_at;
        eventually("the end of the erasure", Duration::from_mins(3), done).await;
        assert!(next.stop().await.success());
        assert_eq!(receipt().await.done.reviews, 400);
        assert!(app.store.residue(&ann).await.unwrap().is_empty());
    });
}
