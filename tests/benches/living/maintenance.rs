//! A supplier that is renamed, and how soon workers are woken.

use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_model::id::ProductId;

use crate::readers::{beside, pages};
use crate::testbed::Testbed;

/// How long readers are watched while nothing else happens.
const IDLE: Duration = Duration::from_secs(15);
/// How often somebody renames to see how soon it is heard.
const WAKEUPS: usize = 60;

fn head(title: &str) {
    println!(
        "\n{title}\n{:<24} {:>14} {:>8} {:>8} {:>8} {:>8}",
        "", "", "p50 ms", "p95", "p99", "max"
    );
}

/// Works as the process that works does: run after run, with the pause of the worker.
async fn work_off(testbed: &Testbed, worker: Worker) -> u64 {
    let (mut maintenance, mut done) = (MaintenanceState::default(), 0);
    loop {
        let began = Instant::now();
        let run = testbed
            .catalog
            .work(worker, &mut maintenance)
            .await
            .unwrap();
        done += run.done;
        if run.backlog == 0 {
            return done;
        }
        tokio::time::sleep(worker.pause(began.elapsed())).await;
    }
}

async fn measured(testbed: &Testbed, name: &str, worker: Worker) {
    let pages = pages(testbed).await;
    let ((), idle) = beside(testbed, &pages, tokio::time::sleep(IDLE)).await;
    idle.print("idle");
    let (start, cpu) = (Instant::now(), testbed.cpu().await);
    let (done, waits) = beside(testbed, &pages, Box::pin(work_off(testbed, worker))).await;
    let (took, cpu) = (
        start.elapsed().as_secs_f64(),
        testbed.cpu().await.saturating_sub(cpu),
    );
    waits.print(name);
    println!(
        "{done} products in {took:.1} s: {:.0} a second; {:.2} ms of mongod each, readers included",
        done as f64 / took,
        cpu.as_secs_f64() * 1000.0 / done as f64,
    );
    let ((), idle) = beside(testbed, &pages, tokio::time::sleep(IDLE)).await;
    idle.print("idle again");
}

/// Renames the supplier of most products, then gives it another country as well.
pub(crate) async fn rename(testbed: &Testbed) {
    let products = testbed.direct.collection::<Document>("products");
    let most = [
        doc! { "$sortByCount": "$supplier._id" },
        doc! { "$match": { "_id": { "$ne": null } } },
        doc! { "$limit": 1 },
    ];
    let mut most = products.aggregate(most).await.unwrap();
    assert!(most.advance().await.unwrap());
    let most: Document = most.deserialize_current().unwrap();
    let (id, count) = (
        most.get("_id").unwrap(),
        most.get_i32("n").or_else(|_| most.get_i32("count")),
    );
    head(&format!(
        "renaming a supplier of {} products",
        count.unwrap()
    ));
    let suppliers = testbed.direct.collection::<Document>("suppliers");
    for (name, change) in [
        (
            "renaming",
            doc! { "name": format!("Renamed {:?}", Instant::now()) },
        ),
        ("moving abroad", doc! { "country": "XY" }),
        ("moving back", doc! { "country": "DE" }),
    ] {
        let mut update = doc! { "$inc": { "v": 1_i64 } };
        let mut change = change;
        change.insert("behind", true);
        update.insert("$set", change);
        suppliers
            .update_one(doc! { "_id": id }, update)
            .await
            .unwrap();
        measured(testbed, name, Worker::Suppliers).await;
    }
}

/// How soon a worker is woken after a change is acknowledged.
pub(crate) async fn wakeups(testbed: &Testbed) {
    let mut wakeups = testbed.catalog.wakeups().await.unwrap();
    let due = testbed.direct.collection::<Document>("stale_copies");
    let mut delays = Vec::new();
    for _ in 0..WAKEUPS {
        let id = ProductId::random().to_i64();
        let note = doc! { "_id": id, "schema_version": 1, "mark": id };
        let heard = async {
            // Nothing else changes meanwhile.
            while wakeups.next().await.unwrap().is_none() {}
            Instant::now()
        };
        let noted = async {
            due.insert_one(note).await.unwrap();
            Instant::now()
        };
        let (heard, noted) = tokio::join!(heard, noted);
        delays.push(heard.saturating_duration_since(noted).as_secs_f64() * 1000.0);
    }
    testbed.catalog.work_off(Worker::Bundles).await.unwrap();
    delays.sort_by(f64::total_cmp);
    println!(
        "\nwoken {:.2} ms after the change was acknowledged in the middle of {WAKEUPS}, {:.2} ms at most",
        delays[WAKEUPS / 2],
        delays[WAKEUPS - 1],
    );
}
