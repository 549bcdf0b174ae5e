//! What keeping data alive costs: events in buckets beside one update for each, a supplier that is
//! renamed beside readers, how soon workers are woken, and what each of them costs.
//!
//! `cargo bench --bench living -- [OPTIONS]`
//!
//! | option | what it does |
//! |---|---|
//! | `--products N` | the size of the made-up catalogue: 200,000 |
//! | `--events N` | how many views and carts are recorded; 120,000 |
//! | `--data DIR` | keeps the database there, and loads it only once |
//! | `--only PART` | only `workers`, `events`, `rename`, or `wakeups` |
//!
//! It starts a mongod of its own, with a cache of 1.5 GiB. Readers ask for product pages, two at a
//! time, as fast as they are answered. CPU is that of mongod; a day of a worker with nothing to do
//! is as many runs as its interval allows.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]

#[path = "living/events.rs"]
mod events;
#[path = "scale/generated.rs"]
mod generated;
#[path = "scale/load.rs"]
#[expect(dead_code, reason = "the other benchmark loads feeds")]
mod load;
#[path = "living/maintenance.rs"]
mod maintenance;
#[path = "scale/random.rs"]
mod random;
#[path = "living/readers.rs"]
mod readers;
#[path = "scale/specs.rs"]
mod specs;
#[path = "scale/start.rs"]
mod start;
#[path = "scale/testbed.rs"]
#[expect(dead_code, reason = "the other benchmark asks more of it")]
mod testbed;
#[path = "living/workers.rs"]
mod workers;

use std::path::PathBuf;

use clap::Parser;
use load::Contents;
use start::start;
use testbed::Testbed;

#[derive(Parser)]
struct Options {
    /// The products of the generated catalogue, which has a tenth as many reviews.
    #[arg(long, default_value_t = 200_000)]
    products: usize,
    /// Recorded views and carts.
    #[arg(long, default_value_t = 120_000)]
    events: usize,
    /// One part: `workers`, `wakeups`, `events` or `rename`.
    #[arg(long)]
    only: Option<String>,
    /// Keeps the database there, so that it is loaded only once.
    #[arg(long)]
    data: Option<PathBuf>,
}

fn main() {
    start(run);
}

async fn run(options: Options) {
    let (_directory, server) = load::server(options.data.clone()).await;
    let contents = Contents::Generated {
        seed: 7,
        products: options.products,
        reviews: options.products / 10,
    };
    load::fill(server.uri(), "scale", &contents).await;
    let testbed = Testbed::open(server.uri(), "scale", 7).await;
    let wanted = |part: &str| options.only.as_ref().is_none_or(|only| only == part);
    if wanted("workers") {
        workers::measure(&testbed).await;
    }
    if wanted("wakeups") {
        maintenance::wakeups(&testbed).await;
    }
    if wanted("events") {
        events::measure(&testbed, options.events).await;
    }
    if wanted("rename") {
        maintenance::rename(&testbed).await;
    }
    drop(testbed);
    server.stop().await.unwrap();
}
