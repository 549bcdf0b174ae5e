//! What each worker costs: at first, with nothing to do, and after a change.

use std::time::{Duration, Instant};

use vitrine_domain::activity::Event;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_model::activity::ActivityKind;
use vitrine_model::id::{GlobalId, ProductId};

use crate::readers::pages;
use crate::testbed::{Testbed, millis};

/// How often a run with nothing to do is repeated.
const IDLE: u32 = 20;
/// How many products are viewed, and how often each.
const VIEWED: usize = 1_000;
const VIEWS: usize = 3;
/// How many events are recorded with one call.
const BATCH: usize = 50;

/// A worker with what it remembers.
struct Kept {
    worker: Worker,
    maintenance: MaintenanceState,
}

/// What some runs of a worker cost.
struct Cost {
    took: Duration,
    /// Of mongod.
    cpu: Duration,
    /// Of this process.
    own: Duration,
    keys: i64,
    docs: i64,
    commands: u64,
    done: u64,
}

impl Kept {
    /// Runs it until nothing is left; the audit, which always goes on, once. What has changed a
    /// moment ago is counted once it is quiet, so panels run twice.
    async fn work_off(&mut self, testbed: &Testbed) -> Cost {
        let (start, cpu, own) = (Instant::now(), testbed.cpu().await, own_cpu());
        let (mut done, mut runs) = (0, 0);
        let worked = testbed.profile_of(async {
            loop {
                let run = Box::pin(testbed.catalog.work(self.worker, &mut self.maintenance))
                    .await
                    .unwrap();
                (done, runs) = (done + run.done, runs + 1);
                if run.backlog == 0 && (self.worker != Worker::Panels || runs > 1) {
                    break;
                }
            }
        });
        let (keys, docs, commands) = worked.await;
        Cost {
            took: start.elapsed(),
            cpu: testbed.since(cpu).await,
            own: own_cpu().saturating_sub(own),
            keys,
            docs,
            commands,
            done,
        }
    }

    async fn print(&mut self, testbed: &Testbed, what: &str) {
        let cost = self.work_off(testbed).await;
        println!(
            "{:<16} {what:<22} {:>9.1} {:>9.1} {:>8.0} {:>9} {:>9} {:>6} {:>8}",
            self.worker.name(),
            millis(cost.took),
            millis(cost.cpu),
            millis(cost.own),
            cost.keys,
            cost.docs,
            cost.commands,
            cost.done,
        );
    }

    /// The mean of runs that find nothing to do.
    async fn print_idle(&mut self, testbed: &Testbed) {
        let profiled = self.work_off(testbed).await;
        let (start, cpu) = (Instant::now(), testbed.cpu().await);
        for _ in 0..IDLE {
            let run = Box::pin(testbed.catalog.work(self.worker, &mut self.maintenance)).await;
            run.unwrap();
        }
        let (took, cpu) = (start.elapsed() / IDLE, testbed.since(cpu).await / IDLE);
        let runs = Duration::from_hours(24).as_secs_f64() / self.worker.every().as_secs_f64();
        println!(
            "{:<16} {:<22} {:>9.2} {:>9.2} {:>8} {:>9} {:>9} {:>6} {:>8} {:>8.1}",
            self.worker.name(),
            "nothing to do",
            millis(took),
            millis(cpu),
            "",
            profiled.keys,
            profiled.docs,
            profiled.commands,
            profiled.done,
            cpu.as_secs_f64() * runs,
        );
    }
}

/// The CPU time that this process has used, in steps of ten milliseconds (`man 5 proc_pid_stat`).
fn own_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

async fn products(testbed: &Testbed) -> Vec<ProductId> {
    let ids = pages(testbed).await;
    let ids = ids.iter().filter_map(|id| match GlobalId::decode(id) {
        Ok(GlobalId::Product(id)) => Some(id),
        _ => None,
    });
    ids.take(VIEWED).collect()
}

async fn view(testbed: &Testbed, products: &[ProductId]) {
    let view = |product: &ProductId| Event {
        product: *product,
        kind: ActivityKind::View,
        at: None,
    };
    let events: Vec<Event> = products.iter().map(view).collect();
    for _ in 0..VIEWS {
        for batch in events.chunks(BATCH) {
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
    }
    testbed.catalog.flush_activity().await.unwrap();
}

pub(crate) async fn measure(testbed: &Testbed) {
    let viewed = products(testbed).await;
    println!(
        "\n{:<16} {:<22} {:>9} {:>9} {:>8} {:>9} {:>9} {:>6} {:>8} {:>8}",
        "worker", "", "ms", "CPU ms", "own CPU", "keys", "docs", "cmds", "done", "s a day"
    );
    let mut all: Vec<Kept> = Vec::new();
    view(testbed, &viewed).await;
    for worker in Worker::ALL {
        let mut kept = Kept {
            worker,
            maintenance: MaintenanceState::default(),
        };
        kept.print(testbed, "first").await;
        all.push(kept);
    }
    for kept in &mut all {
        kept.print_idle(testbed).await;
    }
    let mut after = async |what: &str, workers: &[Worker]| {
        for kept in all.iter_mut().filter(|kept| workers.contains(&kept.worker)) {
            kept.print(testbed, what).await;
        }
    };
    let one = GlobalId::Product(viewed[0]).encode();
    testbed.touch(&one).await;
    after("a product changed", &[Worker::Panels, Worker::Bundles]).await;
    view(testbed, &viewed).await;
    let viewed = format!("{} products viewed", viewed.len());
    after(&viewed, &[Worker::Activity, Worker::Trending]).await;
}
