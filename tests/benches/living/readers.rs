//! Readers that ask for product pages all the time, and how long they wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::testbed::Testbed;

/// How many ask at a time.
const READERS: usize = 2;
/// How many products they ask for in turn.
const PAGES: usize = 2_000;

const PAGE: &str = "query($id: ID!) { product(id: $id) { name price { amount } supplier { name }
    specs { label text } ratingStats { count average } topReviews { title rating } } }";

/// How long readers waited.
pub(crate) struct Waits(Vec<Duration>);

impl Waits {
    /// The wait that so many of a thousand are below.
    fn at(&self, of_thousand: usize) -> f64 {
        let at = (self.0.len() * of_thousand / 1000).min(self.0.len() - 1);
        self.0[at].as_secs_f64() * 1000.0
    }

    /// Prints them as a row.
    pub(crate) fn print(&self, name: &str) {
        let last = self
            .0
            .last()
            .map_or(0.0, |wait| wait.as_secs_f64() * 1000.0);
        println!(
            "{name:<24} {:>8} reads {:>8.2} {:>8.2} {:>8.2} {last:>8.1}",
            self.0.len(),
            self.at(500),
            self.at(950),
            self.at(990),
        );
    }
}

/// The ids of products to ask for, spread over all.
pub(crate) async fn pages(testbed: &Testbed) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), Value::Null);
    while ids.len() < PAGES {
        let list =
            "query($after: String) { products(first: 100, after: $after, sort: [{ key: NAME }])
            { nodes { id } pageInfo { endCursor } } }";
        let page = testbed.data(list, &json!({ "after": after })).await;
        let nodes = page["products"]["nodes"].as_array().unwrap();
        let id = |node: &Value| node["id"].as_str().unwrap().to_owned();
        ids.extend(nodes.iter().map(id));
        after = page["products"]["pageInfo"]["endCursor"].clone();
    }
    ids
}

/// What becomes of something, and how long readers wait meanwhile.
pub(crate) async fn beside<T>(
    testbed: &Testbed,
    pages: &[String],
    during: impl Future<Output = T>,
) -> (T, Waits) {
    let over = Arc::new(AtomicBool::new(false));
    let read = |reader: usize| {
        let over = Arc::clone(&over);
        async move {
            let mut waits = Vec::new();
            for id in pages.iter().cycle().skip(reader * PAGES / READERS) {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let start = Instant::now();
                testbed.data(PAGE, &json!({ "id": id })).await;
                waits.push(start.elapsed());
            }
            waits
        }
    };
    let ended = async {
        let done = during.await;
        over.store(true, Ordering::Relaxed);
        done
    };
    let readers = futures_util::future::join_all((0..READERS).map(read));
    let (done, waits) = tokio::join!(ended, readers);
    let mut waits: Vec<Duration> = waits.into_iter().flatten().collect();
    waits.sort_unstable();
    (done, Waits(waits))
}
