//! Whether requests cost what they are priced at, and what the most expensive allowed request costs.
//!
//! `cargo bench --bench costs -- [OPTIONS]`
//!
//! | option | effect | default |
//! |---|---|---|
//! | `--products N`, `--reviews N` | the size of the generated catalogue | 20,000 and 200,000 |
//! | `--queries N` | generated queries that are compared with their prices | 300 |
//! | `--search N` | requests that the search for the most expensive one may try | 600 |
//! | `--seed N` | other queries | 1 |
//! | `--feed FILE --mapping NAME` | real feeds instead of a generated catalogue | |
//! | `--data DIR` | keeps the database there, and loads it only once | temporary |
//!
//! A query is drawn from the schema: fields, arguments and depth at random, with values that the
//! catalogue has. It runs as an anonymous caller. The CPU time is that of this process (all
//! threads, `/proc/self/task/*/schedstat`) and of the whole mongod (`serverStatus`), per request;
//! memory is the peak of what this process has allocated, above what it had before the request.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]
#![expect(
    dead_code,
    reason = "the modules that benchmarks share have more than each of them needs"
)]

#[path = "scale/generated.rs"]
mod generated;
#[path = "scale/load.rs"]
mod load;
#[path = "costs/measure.rs"]
mod measure;
#[path = "scale/probe.rs"]
mod probe;
#[path = "costs/queries.rs"]
mod queries;
#[path = "scale/random.rs"]
mod random;
#[path = "scale/specs.rs"]
mod specs;
#[path = "scale/start.rs"]
mod start;
#[path = "scale/testbed.rs"]
mod testbed;

use std::path::PathBuf;

use clap::Parser;
use load::{Contents, Feeds};
use measure::{Bench, Cost};
use peak_alloc::PeakAlloc;
use queries::{Catalogue, Genes, Query};
use start::start;
use testbed::Testbed;

/// The category of huge products in generated catalogues.
const HEAVY: &str = "heavyweights";
/// What the most expensive request may cost.
const MAX_CPU_MILLIS: f64 = 250.0;
/// A query may cost at most so many times its price.
const MAX_RATIO: f64 = 3.0;
/// How many requests the search keeps, and how many it starts with.
const KEPT: usize = 12;

/// Knows the peak of what this process has allocated.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[derive(Parser)]
struct Options {
    /// The products of the generated catalogue.
    #[arg(long, default_value_t = 20_000)]
    products: usize,
    /// The reviews of the generated catalogue.
    #[arg(long, default_value_t = 200_000)]
    reviews: usize,
    #[command(flatten)]
    feeds: Feeds,
    /// Keeps the database there, so that it is loaded only once.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The generated queries that are compared with their prices.
    #[arg(long, default_value_t = 300)]
    queries: usize,
    /// The requests that the search for the most expensive one may try.
    #[arg(long, default_value_t = 600)]
    search: usize,
    /// Other queries.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    start(run);
}

async fn run(options: Options) {
    let (_directory, server) = load::server(options.data.clone()).await;
    let generated = Contents::Generated {
        seed: 7,
        products: options.products,
        reviews: options.reviews,
    };
    let contents = options.feeds.contents().unwrap_or(generated);
    load::fill(server.uri(), "costs", &contents).await;
    let testbed = Testbed::open(server.uri(), "costs", 5).await;
    load::precompute_panels(&testbed.catalog).await;
    let catalogue = Catalogue::of(&testbed).await;
    let bench = Bench::new(&testbed);
    calibrate(&bench, &catalogue, &options).await;
    search(&bench, &catalogue, &options).await;
    server.stop().await.unwrap();
}

/// Compares generated queries with their prices.
async fn calibrate(bench: &Bench<'_>, catalogue: &Catalogue, options: &Options) {
    let (mut costs, mut refused, mut failed) = (Vec::new(), 0, 0);
    let mut number = 0;
    while costs.len() < options.queries {
        number += 1;
        let query = catalogue.query(&Genes::random(options.seed, number));
        match bench.price(&query) {
            Some(price) if price <= bench.limit => {
                let cost = bench.measure(&query).await;
                if cost.is_error {
                    failed += 1;
                } else {
                    costs.push((query, cost));
                }
            }
            _ => refused += 1,
        }
    }
    println!(
        "\n{} queries compared; {refused} more were refused for their cost, and {failed} answered errors",
        costs.len()
    );
    costs.sort_by(|one, other| other.1.ratio().total_cmp(&one.1.ratio()));
    let ratio = |percent: usize| costs[costs.len() * percent / 100].1.ratio();
    println!("measured CPU as a multiple of the price");
    println!(
        "highest {:.2}  5 % above {:.2}  half above {:.2}  5 % below {:.2}  lowest {:.2}",
        costs[0].1.ratio(),
        ratio(5),
        ratio(50),
        ratio(95),
        costs.last().unwrap().1.ratio()
    );
    let above = costs.iter().filter(|(_, cost)| cost.ratio() > MAX_RATIO);
    println!("above {MAX_RATIO}: {}", above.count());
    print("most expensive for their price", &costs[..10]);
    let cheap = costs.len() - 6;
    print("cheapest for their price", &costs[cheap..]);
    for (name, most) in [
        ("bytes of an answer", most(&costs, |cost| cost.bytes)),
        ("bytes of memory", most(&costs, |cost| cost.memory)),
        ("documents", most(&costs, |cost| cost.documents)),
    ] {
        println!("most {name}: {most}");
    }
}

fn most(costs: &[(Query, Cost)], of: impl Fn(&Cost) -> usize) -> usize {
    costs.iter().map(|(_, cost)| of(cost)).max().unwrap_or(0)
}

/// Looks for the most expensive request within the limit: keeps the most expensive so far and changes them.
async fn search(bench: &Bench<'_>, catalogue: &Catalogue, options: &Options) {
    let mut kept: Vec<(Genes, Query, Cost)> = Vec::new();
    let mut memory = 0;
    for number in 0..options.search {
        let genes = if number < options.search / 4 || kept.is_empty() {
            Genes::random(options.seed + 1, number)
        } else {
            let parent = &kept[number % kept.len()].0;
            parent.changed(options.seed, number)
        };
        let query = catalogue.query(&genes);
        if bench.price(&query).is_none_or(|price| price > bench.limit) {
            continue;
        }
        let cost = bench.once(&query).await;
        memory = memory.max(cost.memory);
        kept.push((genes, query, cost));
        kept.sort_by_key(|(_, _, cost)| std::cmp::Reverse(cost.cpu()));
        kept.truncate(KEPT);
    }
    let mut most_expensive = Vec::new();
    for (_, query, _) in kept.into_iter().take(5) {
        let cost = bench.measure(&query).await;
        most_expensive.push((query, cost));
    }
    print(
        "the most expensive requests found within the limit",
        &most_expensive,
    );
    let most = most_expensive
        .iter()
        .map(|(_, cost)| testbed::millis(cost.cpu()));
    let most = most.fold(0.0, f64::max);
    println!(
        "at most {most:.0} ms of CPU (aim {MAX_CPU_MILLIS:.0}), {:.1} MB of memory in any request of the search",
        memory as f64 / 1e6
    );
}

fn print(title: &str, costs: &[(Query, Cost)]) {
    println!("\n{title}");
    println!(
        "{:>7} {:>9} {:>9} {:>9} {:>6} {:>9} {:>9} ",
        "ratio", "price ms", "own ms", "mongod ms", "docs", "bytes", "memory"
    );
    for (query, cost) in costs {
        println!(
            "{:>7.2} {:>9.2} {:>9.2} {:>9.2} {:>6} {:>9} {:>9}",
            cost.ratio(),
            testbed::millis(cost.price),
            testbed::millis(cost.own),
            testbed::millis(cost.mongod),
            cost.documents,
            cost.bytes,
            cost.memory
        );
        println!("        {}", query.short());
    }
}
