//! Which process runs the workers, and what they report.

use std::collections::HashMap;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde_json::json;
use vitrine_domain::wakeups::Wakeups;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{App, product, test, test_on_own_server};
use vitrine_model::worker::{WorkerReport, WorkerRun};

/// The duration of a lease in these tests.
const LEASE: Duration = Duration::from_secs(9);

async fn set_expiry(app: &App, millis: i64) {
    let leases = app.direct().collection::<Document>("leases");
    let when = vec![doc! { "$set": { "expires_at": { "$add": ["$$NOW", millis] } } }];
    leases
        .update_one(doc! { "_id": "work" }, when)
        .await
        .unwrap();
}

#[test]
fn one_process_runs_the_workers_and_another_takes_over() {
    test(async |app| {
        let take = async |owner: &str| app.catalog.take_work(owner, LEASE).await.unwrap();
        let (a, b) = tokio::join!(take("a"), take("b"));
        assert_eq!((&a.owner, a.term), (&b.owner, b.term), "one of them");
        let (first, second, left) = if a.owner == "a" {
            ("a", "b", a.left)
        } else {
            ("b", "a", b.left)
        };
        assert_eq!(a.term, 1);
        // The time of the server stands still within a command: the one that took the lease has all of it.
        assert_eq!(left, LEASE);
        // The holder renews it; another process does not get it.
        assert_eq!(take(first).await.term, 1);
        assert_eq!(take(second).await.owner, first);
        // The lease of a paused holder expires: another process takes it.
        set_expiry(app, -1).await;
        let taken = take(second).await;
        assert_eq!((taken.owner.as_str(), taken.term), (second, 2));
        assert_eq!(take(first).await.owner, second);
        // The server's clock stepped back: an expiry too far in the future is ignored.
        set_expiry(app, 3_600_000).await;
        let taken = take(first).await;
        assert_eq!((taken.owner.as_str(), taken.term), (first, 3));
        // A released lease is free at once; only its holder can release it.
        app.catalog.release_work(second).await.unwrap();
        assert_eq!(take(second).await.owner, first);
        app.catalog.release_work(first).await.unwrap();
        assert_eq!(take(second).await.owner, second);
    });
}

#[test]
fn taking_the_lease_is_one_command() {
    test(async |app| {
        app.forget_commands();
        app.catalog.take_work("a", LEASE).await.unwrap();
        assert_eq!(app.sent(), ["findAndModify leases"]);
        app.forget_commands();
        app.catalog.take_work("b", LEASE).await.unwrap();
        assert_eq!(app.sent(), ["findAndModify leases"]);
    });
}

#[test]
fn idle_workers_read_little_and_write_nothing() {
    test(async |app| {
        app.has([product("Lamp").supplier("North", "DE")]).await;
        app.run_background_work().await;
        let mut commands: HashMap<&str, usize> = HashMap::new();
        let mut maintenance: Vec<MaintenanceState> = Worker::ALL
            .iter()
            .map(|_| MaintenanceState::default())
            .collect();
        for round in 0..3 {
            for (worker, maintenance) in Worker::ALL.into_iter().zip(&mut maintenance) {
                app.forget_commands();
                let run = app.catalog.work(worker, maintenance).await.unwrap();
                if round == 2 {
                    assert_eq!(run.backlog, 0, "{worker:?}");
                    commands.insert(worker.name(), app.sent().len());
                    let writes = ["insert", "update", "delete", "findAndModify"];
                    let written = app.sent().into_iter().filter(|sent| {
                        let name = sent.split(' ').next().unwrap_or_default().to_owned();
                        writes.contains(&name.as_str())
                    });
                    let written: Vec<String> = written.collect();
                    assert_eq!(written, [""; 0], "{worker:?}");
                }
            }
        }
        let mut commands: Vec<_> = commands.into_iter().collect();
        commands.sort_unstable();
        assert_eq!(
            commands,
            [
                ("activity", 2),
                ("audit", 7),
                ("bulk_changes", 1),
                ("bundles", 1),
                ("erasures", 1),
                ("fold", 1),
                ("imports", 1),
                ("merges", 1),
                ("panels", 4),
                ("pictures", 1),
                ("product_versions", 0),
                ("purchases", 1),
                ("ranks", 1),
                ("review_versions", 0),
                ("suppliers", 1),
                ("trending", 0),
            ]
        );
    });
}

const WORKERS: &str = "{ workers { name purpose state process intervalSeconds runs failures lastRunAt done backlog lagSeconds lastError } }";

/// Saves the reports of one worker that is behind, one that fails, and one of a newer release.
async fn save_reports(app: &App) {
    app.catalog.take_work("host:1", LEASE).await.unwrap();
    let now = vitrine_model::clock::Clock::now(&*app.clock);
    let mut behind = WorkerReport::default();
    behind.ran(
        WorkerRun {
            done: 500,
            backlog: 700,
            ..WorkerRun::default()
        },
        now,
        12,
    );
    let mut failing = WorkerReport::default();
    failing.failed("the database cannot be reached".to_owned(), now, 3);
    let reports = vec![
        ("suppliers", behind),
        ("fold", failing),
        ("of_a_newer_release", WorkerReport::default()),
    ];
    app.catalog.save_worker_reports(reports).await.unwrap();
}

#[test]
fn workers_are_unattended_until_a_process_runs_them() {
    test(async |app| {
        let none = app.query(WORKERS).as_admin().await;
        let all = none.at("/workers").as_array().unwrap();
        assert_eq!(all.len(), Worker::ALL.len());
        assert!(
            all.iter()
                .all(|one| one["state"] == "UNATTENDED" && one["runs"] == 0)
        );
    });
}

#[test]
fn admins_see_what_workers_have_reported() {
    test(async |app| {
        save_reports(app).await;
        app.clock.advance(2_500);
        let seen = app.query(WORKERS).as_admin().await;
        let of = |name: &str| {
            let all = seen.at("/workers").as_array().unwrap();
            all.iter().find(|one| one["name"] == name).unwrap().clone()
        };
        assert_eq!(
            of("suppliers"),
            json!({
                "name": "suppliers",
                "purpose": "Updates the copies of suppliers in products.",
                "state": "BEHIND", "process": "host:1", "intervalSeconds": 15, "runs": 1, "failures": 0,
                "lastRunAt": "2026-05-31T12:00:00.000Z", "done": 500, "backlog": 700,
                "lagSeconds": 2.5, "lastError": null,
            })
        );
        let fold = of("fold");
        assert_eq!(
            (&fold["state"], &fold["failures"], &fold["lastError"]),
            (
                &json!("FAILING"),
                &json!(1),
                &json!("the database cannot be reached")
            )
        );
        assert_eq!(of("merges")["state"], "IDLE");
        // The number of uncounted reviews comes from the database, not from a report.
        // They are sent concurrently.
        let mut sent = seen.sent_for_query();
        sent.sort_unstable();
        assert_eq!(sent, ["aggregate reviews", "find leases", "find workers"]);
        for answer in [
            app.query(WORKERS).await,
            app.query(WORKERS).as_moderator("m").await,
        ] {
            assert!(
                answer.errors()[0].contains("workers"),
                "{:?}",
                answer.errors()
            );
        }
    });
}

#[test]
fn a_change_wakes_its_worker_also_after_the_stream_was_lost() {
    test_on_own_server(async |app| {
        app.has([product("Lamp").supplier("North", "DE")]).await;
        let supplier = app
            .query("{ product(slug: \"lamp\") { id supplier { supplierId } } }")
            .await;
        let rename = |name: &str| json!({ "id": supplier.text("/product/supplier/supplierId"), "name": name });
        let mut wakeups = app.catalog.wakeups().await.unwrap();
        assert!(!wakeups.resumed, "nothing was noted yet");
        app.mutate("updateSupplier", rename("Nord")).await.done();
        assert_eq!(next(&mut wakeups).await, Worker::Suppliers);
        let token = wakeups.resume_token().unwrap();
        app.catalog.save_resume_token(token).await.unwrap();
        drop(wakeups);
        // Changes between two listeners are in the stream of the second one.
        let name = json!({ "id": supplier.text("/product/id"), "name": "Bright lamp" });
        app.mutate("updateProduct", name).await.done();
        app.mutate("updateSupplier", rename("Norden")).await.done();
        let mut wakeups = app.catalog.wakeups().await.unwrap();
        assert!(wakeups.resumed);
        let mut heard = vec![next(&mut wakeups).await, next(&mut wakeups).await];
        heard.sort_by_key(|worker| worker.name());
        assert_eq!(heard, [Worker::Bundles, Worker::Suppliers]);
        // After a damaged resume token, or one that is too old, all workers look for work.
        let cursors = app.direct().collection::<Document>("cursors");
        let damage = doc! { "$set": { "token": { "_data": "8263" } } };
        cursors.update_one(doc! {}, damage).await.unwrap();
        assert!(!app.catalog.wakeups().await.unwrap().resumed);
        let odd = doc! { "$set": { "token": { "no": "token" } } };
        cursors.update_one(doc! {}, odd).await.unwrap();
        assert!(!app.catalog.wakeups().await.unwrap().resumed);
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
    });
}

/// Returns the next worker that is woken.
async fn next(wakeups: &mut Wakeups) -> Worker {
    loop {
        if let Some(worker) = wakeups.next().await.unwrap() {
            return worker;
        }
    }
}
