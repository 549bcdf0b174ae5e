//! Dirty reviews and what delays them: their age is known, those of a newer release are reported
//! separately, and abandoned transactions are aborted soon.

use std::time::Duration;

use mongodb::ClientSession;
use mongodb::bson::{Document, doc};
use mongodb::options::ClientOptions;
use serde_json::{Value, json};
use vitrine_domain::maintenance::UncountedWatch;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{App, eventually, product, review, test, test_on_own_server};
use vitrine_model::clock::{Clock as _, Timestamp};
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::product::HotReason;
use vitrine_storage::StorageError;

/// A generous deadline for a busy machine.
const WITHIN: Duration = Duration::from_mins(1);

/// Imports a product on sale; returns its id.
async fn lamp(app: &App) -> (String, ProductId) {
    app.has([product("Lamp")]).await;
    let found = app.query(r#"{ product(slug: "lamp") { id } }"#).await;
    let id = found.text("/product/id");
    match GlobalId::decode(&id) {
        Ok(GlobalId::Product(product)) => (id, product),
        other => panic!("an id of a product: {other:?}"),
    }
}

fn said(product: &str, more: Value) -> Value {
    let mut input = json!({ "productId": product, "rating": 4, "body": "It shines." });
    let Value::Object(mut more) = more else {
        panic!("an object");
    };
    input.as_object_mut().unwrap().append(&mut more);
    input
}

/// Makes all reviews dirty, as if they had just been stored.
async fn uncount(app: &App, since: Timestamp) {
    let reviews = app.direct().collection::<Document>("reviews");
    let since = mongodb::bson::DateTime::from_millis(since.as_millis());
    let waits = doc! { "$set": { "dirty": true, "dirty_since": since } };
    reviews.update_many(doc! {}, waits).await.unwrap();
}

/// Starts a transaction that writes the only document of a collection and is abandoned.
async fn abandon(app: &App, collection: &str, set: Document) -> ClientSession {
    let mut options = ClientOptions::parse(app.uri()).await.unwrap();
    options.app_name = Some("vitrine".to_owned());
    let client = mongodb::Client::with_options(options).unwrap();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let database = client.database(app.store.database_name());
    let collection = database.collection::<Document>(collection);
    let update = doc! { "$set": set };
    let updated = collection.update_many(doc! {}, update);
    let updated = updated.session(&mut session);
    assert_eq!(updated.await.unwrap().matched_count, 1);
    session
}

#[test]
fn an_abandoned_transaction_is_aborted() {
    test(async |app| {
        let (id, product) = lamp(app).await;
        let abandoned = abandon(app, "products", doc! { "description": "never" }).await;
        // It conflicts with every writer of the product.
        let now = app.clock.now();
        let marked = app
            .store
            .mark_hot(product, now, HotReason::Conflict, now)
            .await;
        assert!(
            matches!(marked, Err(StorageError::Timeout(_))),
            "{marked:?}"
        );
        let ended = async || {
            let ended = app.catalog.end_abandoned_transactions().await.unwrap();
            (ended > 0).then_some(ended)
        };
        assert_eq!(eventually("it is ended", WITHIN, ended).await, 1);
        let change = json!({ "id": id, "description": "A lamp." });
        app.mutate("updateProduct", change).await.done();
        drop(abandoned);
    });
}

#[test]
fn a_vote_ends_an_abandoned_transaction_that_holds_its_review() {
    test_on_own_server(async |app| {
        let (id, _) = lamp(app).await;
        let written = app.mutate_by("ann", "submitReview", said(&id, json!({})));
        let review = written.await.text("/review/id");
        let abandoned = abandon(app, "reviews", doc! { "title": "never" }).await;
        let vote = async || {
            let vote = json!({ "id": review, "vote": "HELPFUL" });
            let voted = app.mutate_by("ben", "voteReview", vote).await;
            // Each process does so every second.
            let mut watch = UncountedWatch::default();
            app.catalog.watch_uncounted(&mut watch).await.unwrap();
            let is_stored = voted.0.errors().is_empty();
            is_stored.then(|| voted.number("/review/helpfulCount"))
        };
        assert_eq!(eventually("the vote is stored", WITHIN, vote).await, 1);
        drop(abandoned);
    });
}

#[test]
fn a_fold_that_conflicts_writes_the_product_first() {
    test_on_own_server(async |app| {
        lamp(app).await;
        app.has_reviews((0..100).map(|n| review("Lamp", n, 4)))
            .await;
        uncount(app, app.clock.now()).await;
        let conflict = doc! { "errorCode": 112, "errorLabels": ["TransientTransactionError"] };
        app.fail_next(1, &["update"], conflict).await;
        app.forget_commands();
        app.catalog.fold_dirty().await.unwrap();
        let sent = app.sent();
        let begins = |command: &str| sent.iter().position(|sent| sent == command);
        let aborted = begins("abortTransaction").expect("the first try is aborted");
        assert_eq!(
            sent[aborted + 1..][..2],
            ["update products", "find reviews"],
            "the second try begins with the product: {sent:?}"
        );
    });
}

const FOLD: &str = "{ workers { name state backlog lagSeconds waitingSince leftAlone } }";

/// The report of the query `workers` on the fold.
async fn fold_status(app: &App) -> Value {
    let seen = app.query(FOLD).as_admin().await;
    let workers = seen.at("/workers").as_array().unwrap();
    let fold = workers.iter().find(|worker| worker["name"] == "fold");
    fold.expect("there is one").clone()
}

#[test]
fn the_age_of_the_oldest_uncounted_review_is_known() {
    test(async |app| {
        lamp(app).await;
        app.has_reviews([review("Lamp", 1, 4)]).await;
        let idle = fold_status(app).await;
        assert_eq!(
            (&idle["backlog"], &idle["lagSeconds"], &idle["waitingSince"]),
            (&json!(0), &json!(0.0), &Value::Null)
        );
        let since = app.clock.now();
        uncount(app, since).await;
        app.clock.advance(90_000);
        let behind = fold_status(app).await;
        assert_eq!(
            (&behind["backlog"], &behind["lagSeconds"]),
            (&json!(1), &json!(90.0))
        );
        assert_eq!(behind["waitingSince"], "2026-05-31T12:00:00.000Z");
        // The process that reads the backlog folds it.
        let waiting = app
            .catalog
            .watch_uncounted(&mut UncountedWatch::default())
            .await
            .unwrap();
        assert_eq!((waiting.reviews, waiting.since), (1, Some(since)));
        assert_eq!(app.catalog.fold_backlog().await.unwrap().reviews, 0);
    });
}

#[test]
fn reviews_of_a_newer_release_are_reported_separately() {
    test(async |app| {
        let (id, _) = lamp(app).await;
        app.has_reviews([review("Lamp", 1, 4)]).await;
        let own = app
            .mutate_by("ann", "submitReview", said(&id, json!({})))
            .await;
        let own = own.text("/review/id");
        let products = app.direct().collection::<Document>("products");
        let version = async |version: i32| {
            let set = doc! { "$set": { "schema_version": version } };
            products.update_many(doc! {}, set).await.unwrap();
        };
        version(99).await;
        uncount(app, app.clock.now()).await;
        let mut maintenance = MaintenanceState::default();
        let run = app
            .catalog
            .work(Worker::Fold, &mut maintenance)
            .await
            .unwrap();
        assert_eq!((run.done, run.backlog, run.left_alone), (0, 0, 2));
        let mut report = vitrine_model::worker::WorkerReport::default();
        report.ran(run, app.clock.now(), 1);
        app.catalog
            .save_worker_reports(vec![("fold", report)])
            .await
            .unwrap();
        let seen = fold_status(app).await;
        assert_eq!(
            (&seen["backlog"], &seen["leftAlone"]),
            (&json!(0), &json!(2))
        );
        // A change of such a review is stored, and reports that the numbers are pending.
        let gone = app
            .mutate_by("ann", "deleteReview", json!({ "id": own }))
            .await;
        assert_eq!(gone.done()["statsPending"], true);
        version(1).await;
        app.run_background_work().await;
    });
}

#[test]
fn a_claimed_but_unused_key_stores_the_review_once() {
    test_on_own_server(async |app| {
        let (id, product) = lamp(app).await;
        let now = app.clock.now();
        let until = now.plus_millis(600_000);
        let hot = app.store.mark_hot(product, until, HotReason::Rate, now);
        hot.await.unwrap();
        let input = said(&id, json!({ "idempotencyKey": "k" }));
        // Of a hot product: the first insert claims the key; the insert of the review fails.
        app.fail_after(1, &["insert"], doc! { "errorCode": 8_000 })
            .await;
        let lost = app.mutate_by("ann", "submitReview", input.clone()).await;
        assert_eq!(lost.0.errors().len(), 1);
        app.stop_failing().await;
        let claimed = app.documents("mutations", doc! {}).await;
        let claimed = claimed[0].get_document("answer").unwrap();
        let claimed = claimed.get("review").unwrap().clone();
        let written = app.mutate_by("ann", "submitReview", input.clone()).await;
        let first = written.text("/review/id");
        let again = app.mutate_by("ann", "submitReview", input).await;
        assert_eq!(again.text("/review/id"), first);
        let stored = app.documents("reviews", doc! {}).await;
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0].get("_id"), Some(&claimed));
        // All mutations share one store of keys.
        let other = json!({ "name": "Others", "idempotencyKey": "k" });
        let refused = app.mutate("createCategory", other).by("ann").await;
        assert_eq!(
            refused.user_error_paths(),
            ["IDEMPOTENCY_CONFLICT at idempotencyKey"]
        );
    });
}

#[test]
fn a_key_of_a_deleted_review_gets_the_same_answer_on_a_hot_product() {
    test_on_own_server(async |app| {
        let (id, product) = lamp(app).await;
        let now = app.clock.now();
        let until = now.plus_millis(600_000);
        let hot = app.store.mark_hot(product, until, HotReason::Rate, now);
        hot.await.unwrap();
        let submit = async |author: &str, more: Value| {
            let written = app.mutate_by(author, "submitReview", said(&id, more)).await;
            written.text("/review/id")
        };
        let first = submit("ann", json!({})).await;
        app.mutate_by("ann", "deleteReview", json!({ "id": first }))
            .await
            .done();
        // The process has just read that the product is hot.
        submit("ben", json!({})).await;
        let key = json!({ "idempotencyKey": "k" });
        let again = submit("ann", key.clone()).await;
        assert_eq!(submit("ann", key).await, again);
        app.run_background_work().await;
    });
}
