//! Processes that run the workers: the lease and the resume token pass from one to the next.

use std::cell::RefCell;
use std::time::Duration;

use mongodb::bson::{Bson, Document, doc};
use serde_json::{Value, json};
use vitrine_harness::process::Service;
use vitrine_harness::{App, eventually, product, test_on_own_server};

/// The duration of a lease.
const LEASE: Duration = Duration::from_secs(9);

/// Starts a process with workers on the database of a test.
pub(crate) fn work(app: &App) -> Service {
    Service::start(&[
        "work",
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
        "--cursor-secret",
        "cursors of the tests",
        "--token-secret",
        "tokens of the tests, thirty-two bytes",
    ])
}

async fn holder(app: &App) -> Option<Document> {
    let live = doc! { "_id": "work", "$expr": { "$gt": ["$expires_at", "$$NOW"] } };
    app.documents("leases", live).await.pop()
}

/// The name of the supplier in the only product.
async fn carried(app: &App) -> String {
    let lamp = app
        .query("{ product(slug: \"lamp\") { supplier { name } } }")
        .await;
    lamp.text("/product/supplier/name")
}

/// Imports a lamp with a supplier; returns the id of the supplier.
async fn supplied(app: &App) -> String {
    app.has([product("Lamp").supplier("North", "DE")]).await;
    let lamp = app
        .query("{ product(slug: \"lamp\") { supplier { supplierId } } }")
        .await;
    lamp.text("/product/supplier/supplierId")
}

#[test]
fn the_resume_token_moves_with_every_processed_change() {
    test_on_own_server(async |app| {
        let id = supplied(app).await;
        let rename = async |name: &str| {
            let input = json!({ "id": id, "name": name });
            app.mutate("updateSupplier", input).await.done();
        };
        let moved = async |from: &Option<Bson>, name: &str| {
            let look = async || {
                let kept = app.documents("cursors", doc! {}).await.pop()?;
                let token = kept.get("token").cloned();
                (token != *from && carried(app).await == name).then_some(token)
            };
            eventually("another place", Duration::from_secs(30), look).await
        };
        // Changes before the first listener are found by a run; then the resume token is saved.
        rename("Nord").await;
        let one = work(app);
        let mut place = moved(&None, "Nord").await;
        // A listener that failed on the first token would save no second one.
        for name in ["Norden", "Noord"] {
            rename(name).await;
            place = moved(&place, name).await;
        }
        assert!(!one.output().contains("panicked"), "{}", one.output());
        assert!(one.stop().await.success());
    });
}

#[test]
fn another_process_takes_over_within_seconds_of_a_kill() {
    test_on_own_server(async |app| {
        let id = supplied(app).await;
        let rename = async |name: &str| {
            let input = json!({ "id": id, "name": name });
            app.mutate("updateSupplier", input).await.done();
            let wait = async || (carried(app).await == name).then_some(());
            eventually("the new name", Duration::from_secs(30), wait).await;
        };
        let one = work(app);
        let held = eventually("a holder", Duration::from_mins(1), || holder(app)).await;
        let two = work(app);
        let waits = async || {
            two.output()
                .contains("ready to run the background workers")
                .then_some(())
        };
        eventually("a second process", Duration::from_mins(1), waits).await;
        rename("Nord").await;
        one.signal("KILL");
        let last = RefCell::new(held);
        let other = async || {
            let now = app
                .documents("leases", doc! { "_id": "work" })
                .await
                .pop()?;
            if now.get("owner") == last.borrow().get("owner") {
                last.replace(now);
                return None;
            }
            Some(now)
        };
        let next = eventually("another holder", Duration::from_mins(1), other).await;
        assert_eq!(next.get_i64("term").unwrap(), 2);
        // How long the lease was free, by the server's clock. A busy machine adds to it.
        let until = |lease: &Document| lease.get_datetime("expires_at").unwrap().timestamp_millis();
        let taken = until(&next) - i64::try_from(LEASE.as_millis()).unwrap();
        let free = taken - until(&last.borrow());
        assert!(
            (0..30_000).contains(&free),
            "{free} ms after the lease ended"
        );
        rename("Norden").await;
        let reported = async || {
            let workers = app
                .query("{ workers { name state process runs } }")
                .as_admin()
                .await;
            let all = workers.at("/workers").as_array().unwrap().clone();
            let works = |one: &Value| one["state"] == "IDLE" && one["runs"].as_i64() > Some(0);
            all.iter().all(works).then_some(())
        };
        eventually("reports of all workers", Duration::from_mins(2), reported).await;
        // A process that is stopped releases the lease at once.
        assert!(two.stop().await.success());
        assert_eq!(holder(app).await, None);
    });
}
