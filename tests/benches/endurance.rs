//! An hour of honest callers, hostile ones and faults at the same time.
//!
//! `cargo bench --bench endurance -- [OPTIONS]`
//!
//! | option | effect | default |
//! |---|---|---|
//! | `--minutes N` | how long it lasts | 60 |
//! | `--products N` | the size of the catalogue | 3,000 |
//! | `--seed N` | what random requests are made of | 1 |
//!
//! Two processes serve and one works, on a replica set of three servers. Four callers read product
//! pages and four write reviews, sixteen send expensive requests or leave, four send random requests. Every
//! minute something fails: the primary steps down, a server freezes for 15 seconds, a process is
//! killed. All of them share the processors. At the end every acknowledged review must be stored once,
//! and the audit must find nothing.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]

#[path = "../endurance/run.rs"]
mod run;
#[path = "scale/start.rs"]
mod start;

use std::time::{Duration, Instant};

use clap::Parser;
use run::{Plan, Report, endure};
use start::start;
use vitrine_harness::test_on_replica_set;

#[derive(Parser)]
struct Options {
    /// How long it lasts.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// The products of the catalogue.
    #[arg(long, default_value_t = 3_000)]
    products: usize,
    /// What random requests are made of.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    start(async |options: Options| {
        let run = tokio::task::spawn_blocking(move || run(&options));
        run.await.unwrap();
    });
}

fn run(options: &Options) {
    let plan = Plan {
        duration: Duration::from_mins(options.minutes),
        between_faults: Duration::from_secs(45),
        frozen: Duration::from_secs(15),
        products: options.products,
        readers: 4,
        writers: 4,
        attackers: 16,
        fuzzers: 4,
        seed: options.seed,
    };
    test_on_replica_set(async |app, members| {
        let start = Instant::now();
        let report = endure(app, members, &plan).await;
        print(&report, start);
    });
    println!("the audit finds nothing");
}

fn print(report: &Report, start: Instant) {
    println!(
        "{:<8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10}",
        "minutes", "pages", "p50 ms", "p99 ms", "max ms", "unanswered", "memory MB"
    );
    let last = report.memory.last().map_or(start, |(at, _)| *at);
    let steps = (last - start).as_secs() / 300 + 1;
    for step in 0..steps {
        let (from, to) = (step * 300, (step + 1) * 300);
        let is_in = |at: Instant| (from..to).contains(&(at - start).as_secs());
        let pages = report.pages.iter().filter(|(at, _)| is_in(*at));
        let mut times: Vec<f64> = pages.map(|(_, took)| took.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        let unanswered = report.unanswered.iter().filter(|(at, _)| is_in(*at));
        let memory = report.memory.iter().filter(|(at, _)| is_in(*at));
        let memory = memory.map(|(_, bytes)| bytes).max().copied();
        let share = |of: usize| match times.len() {
            0 => 0.0,
            count => times[(count - 1) * of / 100],
        };
        println!(
            "{:<8} {:>8} {:>8.2} {:>8.1} {:>8.0} {:>10} {:>10.0}",
            format!("{}-{}", from / 60, to / 60),
            times.len(),
            share(50),
            share(99),
            share(100),
            unanswered.count(),
            memory.unwrap_or_default() as f64 / 1e6
        );
    }
    let quiet = |at: Instant| {
        let mut faults = report.faults.iter();
        // A page that was asked for before a fault may be lost in it.
        let margin = Duration::from_secs(2);
        !faults.any(|(began, _, ended)| (*began..*ended + 2 * margin).contains(&(at + margin)))
    };
    let mut times: Vec<_> = report
        .pages
        .iter()
        .filter(|(at, _)| quiet(*at))
        .map(|(_, took)| *took)
        .collect();
    times.sort_unstable();
    if let Some(p99) = times.get(times.len() * 99 / 100) {
        println!("p99 of pages without a fault: {p99:.1?}");
    }
    let unexpected = report.unanswered.iter().filter(|(at, _)| quiet(*at));
    let unexpected: Vec<_> = unexpected.map(|(_, why)| why).collect();
    println!(
        "pages without an answer although nothing failed: {}",
        unexpected.len()
    );
    for why in unexpected.iter().take(5) {
        println!("  {why}");
    }
    println!("acknowledged reviews: {}", report.acknowledged.len());
    println!("answers to others: {:?}", report.codes);
    println!("faults: {}", report.faults.len());
}
