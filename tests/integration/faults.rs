//! Folds, imports and queries during a lost connection, a write conflict or an election. Nothing is
//! lost and nothing counted twice; the audit at the end of each test shows it.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use vitrine_api::execution::{ErrorCode, GraphqlRequest};
use vitrine_api::graphql::{Session, Viewer};
use vitrine_api::http::{AtDeadline, Capacity, RequestLimiter, Size};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, eventually, product, review, test_on_own_server};

/// The labels of the server on errors after which a transaction may be retried.
fn transient(code: i32) -> Document {
    doc! { "errorCode": code, "errorLabels": ["TransientTransactionError"] }
}

/// Two products with a hundred reviews that no fold has seen.
async fn reviews_waiting(app: &App) {
    app.has([product("a"), product("b")]).await;
    let drafts =
        (0..100_i64).map(|n| review(if n % 2 == 0 { "a" } else { "b" }, n, 1 + n % 5).helpful(n));
    app.has_reviews(drafts).await;
    never_folded(app).await;
}

/// Resets the database to the state before the first fold.
async fn never_folded(app: &App) {
    let reviews = app.direct().collection::<Document>("reviews");
    let waiting = doc! { "$set": { "dirty": true }, "$unset": { "applied": 1 } };
    reviews.update_many(doc! {}, waiting).await.unwrap();
    let products = app.direct().collection::<Document>("products");
    let zero = doc! { "count": 0_i64, "sum": 0_i64, "histogram": vec![0_i64; 5], "recommended": { "yes": 0_i64, "no": 0_i64 }, "dimensions": {}, "fold_seq": 0_i64 };
    let set = doc! { "$set": { "stats": zero, "top_reviews": [] } };
    products.update_many(doc! {}, set).await.unwrap();
    for collection in ["rating_months", "stale_ranks"] {
        let rows = app.direct().collection::<Document>(collection);
        rows.delete_many(doc! {}).await.unwrap();
    }
    assert_eq!(counted(app).await, [0, 0]);
}

/// The number of counted reviews.
async fn counted(app: &App) -> Vec<i64> {
    let answer = app.query(r#"{ a: product(slug: "a") { ratingStats { count } } b: product(slug: "b") { ratingStats { count } } }"#).await;
    ["/a/ratingStats/count", "/b/ratingStats/count"]
        .map(|count| answer.at(count).as_i64().unwrap())
        .to_vec()
}

#[test]
fn a_fold_retries_after_a_write_conflict() {
    test_on_own_server(async |app| {
        reviews_waiting(app).await;
        // WriteConflict, twice.
        app.fail_next(2, &["update"], transient(112)).await;
        assert_eq!(
            app.catalog.fold_and_move_ranks().await.unwrap().reviews,
            100
        );
        assert_eq!(counted(app).await, [50, 50]);
        assert_eq!(
            app.catalog.fold_and_move_ranks().await.unwrap().reviews,
            0,
            "a second fold has nothing to do"
        );
    });
}

#[test]
fn a_fold_whose_connection_breaks_counts_nothing_twice() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        reviews_waiting(app).await;
        for commands in [&["find"][..], &["update"], &["commitTransaction"]] {
            never_folded(app).await;
            app.fail_next(1, commands, doc! { "closeConnection": true })
                .await;
            // The driver decides whether this try succeeds; the test is about what is stored.
            let folded = app.catalog.fold_and_move_ranks().await;
            app.stop_failing().await;
            println!("{commands:?}: {folded:?}");
            // The server aborts the transaction of the lost connection when it notices, or on a
            // timeout.
            let folded = async || app.catalog.fold_and_move_ranks().await.ok();
            eventually("a fold", Duration::from_mins(1), folded).await;
            assert_eq!(counted(app).await, [50, 50], "{commands:?}");
            app.audit().await;
        }
    });
}

#[test]
fn a_commit_whose_outcome_is_unknown_counts_once() {
    test_on_own_server(async |app| {
        reviews_waiting(app).await;
        // The commit is executed, and the answer says that it may be rolled back.
        let unsure = doc! { "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" } };
        app.fail_next(1, &["commitTransaction"], unsure).await;
        let folded = app.catalog.fold_and_move_ranks().await;
        println!("{folded:?}");
        app.catalog.fold_and_move_ranks().await.unwrap();
        assert_eq!(counted(app).await, [50, 50]);
    });
}

#[test]
fn a_fold_that_keeps_failing_changes_nothing() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        reviews_waiting(app).await;
        app.fail_next(1000, &["commitTransaction"], transient(112))
            .await;
        let refused = app.catalog.fold_and_move_ranks().await.unwrap_err();
        println!("{refused}");
        app.stop_failing().await;
        assert_eq!(counted(app).await, [0, 0]);
        // The refused commits left transactions open, which the server aborts.
        let folded = async || app.catalog.fold_and_move_ranks().await.ok();
        eventually("a fold", Duration::from_mins(1), folded).await;
        assert_eq!(counted(app).await, [50, 50]);
    });
}

#[test]
fn a_read_survives_one_election_and_reports_a_second() {
    test_on_own_server(async |app| {
        let app = &app.without_product_memory().await;
        app.has([product("a")]).await;
        let query = r#"{ product(slug: "a") { name } units { symbol } }"#;
        // NotWritablePrimary, once: the driver retries.
        app.fail_next(1, &["find"], doc! { "errorCode": 10107 })
            .await;
        assert_eq!(app.query(query).await.text("/product/name"), "a");
        app.fail_next(100, &["find"], doc! { "errorCode": 10107 })
            .await;
        let down = app.query(query).await;
        app.stop_failing().await;
        assert_eq!(
            down.body()["errors"].as_array().unwrap().len(),
            1,
            "{}",
            down.pretty()
        );
        assert_eq!(
            down.body()["errors"][0]["extensions"]["code"],
            "UNAVAILABLE",
            "{}",
            down.pretty()
        );
        assert_eq!(down.body()["errors"][0]["extensions"]["retryable"], true);
        assert!(
            down.body()["data"]["units"].is_array(),
            "what needs no database is answered"
        );
        assert_eq!(app.query(query).await.text("/product/name"), "a");
    });
}

#[test]
fn a_lost_connection_is_reported_as_unavailable() {
    test_on_own_server(async |app| {
        app.has([product("a")]).await;
        app.fail_next(100, &["find"], doc! { "closeConnection": true })
            .await;
        let down = app.query(r#"{ product(slug: "a") { name } }"#).await;
        app.stop_failing().await;
        assert_eq!(
            down.body()["errors"][0]["extensions"]["code"],
            "UNAVAILABLE",
            "{}",
            down.pretty()
        );
        assert_eq!(down.body()["data"]["product"], serde_json::Value::Null);
    });
}

#[test]
fn a_read_that_exceeds_its_deadline_is_reported() {
    test_on_own_server(async |app| {
        app.has([product("a")]).await;
        // MaxTimeMSExpired.
        app.fail_next(100, &["find"], doc! { "errorCode": 50 })
            .await;
        let late = app.query(r#"{ product(slug: "a") { name } }"#).await;
        app.stop_failing().await;
        assert_eq!(
            late.body()["errors"][0]["extensions"]["code"],
            "TIMEOUT",
            "{}",
            late.pretty()
        );
        assert_eq!(late.body()["errors"][0]["extensions"]["retryable"], true);
    });
}

#[test]
fn an_import_that_loses_its_connection_is_completed_by_running_it_again() {
    test_on_own_server(async |app| {
        for (at, commands) in [&["insert"][..], &["find"], &["update"]]
            .into_iter()
            .enumerate()
        {
            let name = format!("p{at}");
            let run = async || {
                let mut session = app.catalog.import(ImportMode::Write);
                session
                    .products(vec![product(&name).text(&format!("key_{at}"), "x").into()])
                    .await?;
                session
                    .reviews(vec![review(&name, format!("{name} 1"), 5).into()])
                    .await?;
                session.finish().await.map(drop)
            };
            app.fail_next(3, commands, doc! { "closeConnection": true })
                .await;
            let cut_off = run().await;
            println!("{commands:?}: {cut_off:?}");
            app.stop_failing().await;
            run().await.unwrap();
            let count = app
                .query(&format!(
                    "{{ product(slug: {name:?}) {{ ratingStats {{ count }} }} }}"
                ))
                .await;
            assert_eq!(*count.at("/product/ratingStats/count"), 1, "{commands:?}");
        }
    });
}

/// The database is busy with the first command of a query for much longer than the query may take.
#[test]
fn a_query_sends_no_command_after_its_deadline_and_leaves_its_places_to_others() {
    test_on_own_server(async |app| {
        app.has([product("a")]).await;
        app.has_reviews([review("a", 1, 5)]).await;
        // One place each: before the database, and before the execution.
        let app = app.with_read_queue(1, 0).await;
        let limiter = RequestLimiter::new(Capacity {
            running: 1,
            waiting: 0,
            deadline: Duration::from_secs(1),
            ..Capacity::default()
        });
        let query = r#"{ product(slug: "a") { reviews(first: 1) { nodes { rating } } } }"#;
        let ask = async || {
            let session = Session::new(&app.catalog, &Viewer::default());
            let engine = app.engine.clone();
            let work = async move {
                let request = GraphqlRequest::new(query);
                engine
                    .execute(request, |request| session.attach(request))
                    .await
            };
            limiter.run(AtDeadline::Stop, Size::Small, work).await
        };
        let blocked = doc! { "blockConnection": true, "blockTimeMS": 3_000 };
        app.fail_next(1, &["find"], blocked).await;
        app.forget_commands();
        let late = ask().await.unwrap_err();
        assert_eq!(late.code(), ErrorCode::Timeout);
        let answered = async || {
            let answer = ask().await.ok()?;
            answer.errors.is_empty().then_some(())
        };
        // Only when the blocked command has ended: there is one place before the database.
        let patience = Duration::from_mins(1);
        eventually("an answer to the next query", patience, answered).await;
        app.catalog.drain().await;
        let expected = ["find products", "find products", "find reviews"];
        assert_eq!(app.sent(), expected);
        assert_eq!(limiter.unfinished(), 0);
        for (class, usage) in app.catalog.permit_use() {
            assert_eq!((usage.in_use, usage.waiting), (0, 0), "{class}");
        }
    });
}
