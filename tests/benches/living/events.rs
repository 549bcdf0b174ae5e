//! Events that are folded before they are written, beside one update for each.

use std::time::Instant;

use mongodb::bson::{DateTime, Document, doc};
use mongodb::options::{Acknowledgment, WriteConcern};
use vitrine_domain::activity::Event;
use vitrine_domain::workers::Worker;
use vitrine_model::activity::{ActivityKind, HOUR_MILLIS};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{GlobalId, ProductId};

use crate::random::{Purpose, Random};
use crate::readers::pages;
use crate::testbed::Testbed;

/// How many updates of the plain way are under way at a time.
const WRITERS: usize = 16;
/// How many events a batch of a client has.
const BATCH: usize = 50;
/// How many events come between two handovers, which are a second apart.
const A_SECOND: usize = 5_000;

/// Views and carts of products, few of which get most, within the last hours.
fn events(products: &[ProductId], count: usize, hours: f64, now: Timestamp) -> Vec<Event> {
    let mut random = Random::of(11, Purpose::Popularity, 0);
    let one = |_| {
        // Zipf's law by inversion: the share of ranks below x grows with its logarithm.
        let share = random.share();
        let rank = (products.len() as f64).powf(share);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank"
        )]
        let rank = (rank as usize).min(products.len() - 1);
        let kind = if random.share() < 0.95 {
            ActivityKind::View
        } else {
            ActivityKind::Cart
        };
        let back = (random.share() * hours * HOUR_MILLIS as f64).round();
        #[expect(clippy::cast_possible_truncation, reason = "hours in milliseconds")]
        let back = back as i64;
        Event {
            product: products[rank],
            kind,
            at: Some(now.plus_millis(-back)),
        }
    };
    (0..count).map(one).collect()
}

pub(crate) async fn measure(testbed: &Testbed, count: usize) {
    let products: Vec<ProductId> = pages(testbed)
        .await
        .iter()
        .filter_map(|id| match GlobalId::decode(id) {
            Ok(GlobalId::Product(id)) => Some(id),
            _ => None,
        })
        .collect();
    for (hours, when) in [(0.0, "as they happen"), (20.0, "of the last 20 hours")] {
        println!("\n{count} events over {} products, {when}", products.len());
        let events = events(&products, count, hours, testbed.catalog.now());
        compare(testbed, &events).await;
    }
}

async fn compare(testbed: &Testbed, events: &[Event]) {
    println!(
        "{:<24} {:>10} {:>16} {:>12}",
        "", "a second", "mongod µs each", "commands"
    );
    for round in 0..2 {
        clear(testbed).await;
        one_by_one(testbed, &events[..events.len() / 4]).await;
        clear(testbed).await;
        folded(testbed, events).await;
        println!("(round {})", round + 1);
    }
    let buckets = testbed.direct.collection::<Document>("activity");
    println!(
        "{} buckets",
        buckets.estimated_document_count().await.unwrap()
    );
    clear(testbed).await;
}

async fn clear(testbed: &Testbed) {
    for collection in ["activity", "activity_days", "activity_handed", "plain"] {
        let collection = testbed.direct.collection::<Document>(collection);
        collection.delete_many(doc! {}).await.unwrap();
    }
}

fn row(name: &str, count: usize, took: f64, cpu: f64, commands: u64) {
    println!(
        "{name:<24} {:>10.0} {:>16.1} {:>12.4}",
        count as f64 / took,
        cpu * 1e6 / count as f64,
        commands as f64 / count as f64,
    );
}

async fn folded(testbed: &Testbed, events: &[Event]) {
    let sent = testbed.commands();
    let (start, cpu) = (Instant::now(), testbed.cpu().await);
    for second in events.chunks(A_SECOND) {
        for batch in second.chunks(BATCH) {
            testbed
                .catalog
                .record_activity(
                    batch,
                    None,
                    &vitrine_domain::activity::Recorder::trusted("benchmark"),
                )
                .await
                .unwrap();
        }
        testbed.catalog.flush_activity().await.unwrap();
        testbed.catalog.work_off(Worker::Activity).await.unwrap();
    }
    let (took, cpu) = (
        start.elapsed().as_secs_f64(),
        testbed.cpu().await.saturating_sub(cpu),
    );
    let commands = testbed.commands() - sent;
    row("folded", events.len(), took, cpu.as_secs_f64(), commands);
}

/// An upsert of an hour for each event, acknowledged by one server.
async fn one_by_one(testbed: &Testbed, events: &[Event]) {
    let buckets = testbed.direct.collection::<Document>("plain");
    let concern = WriteConcern::builder().w(Acknowledgment::Nodes(1)).build();
    let (start, cpu) = (Instant::now(), testbed.cpu().await);
    let write = |part: usize| {
        let (buckets, concern) = (buckets.clone(), concern.clone());
        async move {
            for event in events.iter().skip(part).step_by(WRITERS) {
                let hour = vitrine_model::activity::hour(event.at.unwrap());
                let id = doc! {
                    "p": event.product.to_i64(),
                    "h": DateTime::from_millis(hour.as_millis()),
                };
                let field = match event.kind {
                    ActivityKind::View => "views",
                    ActivityKind::Cart => "carts",
                };
                let update = doc! { "$inc": { field: 1_i64 } };
                let update = buckets.update_one(doc! { "_id": id }, update);
                // Two may make the same bucket at once.
                let _ = update.upsert(true).write_concern(concern.clone()).await;
            }
        }
    };
    futures_util::future::join_all((0..WRITERS).map(write)).await;
    let (took, cpu) = (
        start.elapsed().as_secs_f64(),
        testbed.cpu().await.saturating_sub(cpu),
    );
    row(
        "one update each",
        events.len(),
        took,
        cpu.as_secs_f64(),
        events.len() as u64,
    );
}
