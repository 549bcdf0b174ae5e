//! What a large catalogue costs: lists, facets, searches and writes, and the size of its indexes.
//!
//! `cargo bench --bench scale -- [OPTIONS]`
//!
//! | option | what it does |
//! |---|---|
//! | `--products N`, `--reviews N` | the size of the made-up catalogue: 200,000 and 2,000,000 |
//! | `--seed N` | another made-up catalogue; 7 |
//! | `--feed FILE --mapping NAME` | real feeds in its place; may be given several times |
//! | `--data DIR` | keeps the database there, and loads it only once |
//! | `--rounds N` | how often each case is asked at least; 7 |
//! | `--tenth` | a tenth of the made-up catalogue as well, and what facets cost beside it |
//!
//! It starts a mongod of its own, with a cache of 1.5 GiB. The data of `--data` is loaded again when
//! other data is asked for or indexes are missing; changes to what is stored need another DIR.
//!
//! | column | what it says |
//! |---|---|
//! | p50 ms | the median time of a request in this process: parsing to JSON, without HTTP |
//! | CPU ms | the CPU time of the whole mongod per request, from `extra_info.user_time_us` and `system_time_us` of `serverStatus`, so nothing else may use that mongod; its background work is counted, what asking for it costs is not; after a change it is the median, else the mean of all rounds |
//! | keys, docs | index keys and documents examined, by the profiler, in one more request |
//! | cmds | commands sent in that request |
//! | found | how many rows or facets were returned, or the error |

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]

#[path = "scale/cases.rs"]
mod cases;
#[path = "scale/generated.rs"]
mod generated;
#[path = "scale/load.rs"]
mod load;
#[path = "scale/probe.rs"]
mod probe;
#[path = "scale/random.rs"]
mod random;
#[path = "scale/specs.rs"]
mod specs;
#[path = "scale/start.rs"]
mod start;
#[path = "scale/testbed.rs"]
mod testbed;
#[path = "scale/writes.rs"]
mod writes;

use std::path::PathBuf;

use cases::place;
use clap::Parser;
use load::{Contents, Feeds};
use probe::Scope;
use start::start;
use testbed::{Case, Row, Testbed, millis};

/// The category of huge products in made-up catalogues.
const HEAVY: &str = "heavyweights";

#[derive(Parser)]
struct Options {
    /// The products of the generated catalogue.
    #[arg(long, default_value_t = 200_000)]
    products: usize,
    /// The reviews of the generated catalogue.
    #[arg(long, default_value_t = 2_000_000)]
    reviews: usize,
    /// Generates another catalogue.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    #[command(flatten)]
    feeds: Feeds,
    /// Keeps the database there, so that it is loaded only once.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The least number of repetitions per case.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Also measures facets on a tenth of the generated catalogue.
    #[arg(long)]
    tenth: bool,
}

fn main() {
    start(run);
}

impl Options {
    /// A part of the generated catalogue.
    fn generated(&self, part: usize) -> Contents {
        Contents::Generated {
            seed: self.seed,
            products: self.products / part,
            reviews: self.reviews / part,
        }
    }
}

async fn run(options: Options) {
    let (_directory, server) = load::server(options.data.clone()).await;
    let contents = options
        .feeds
        .contents()
        .unwrap_or_else(|| options.generated(1));
    load::fill(server.uri(), "scale", &contents).await;
    let testbed = Testbed::open(server.uri(), "scale", options.rounds).await;
    let scopes = probe::scopes(&testbed).await;
    describe(&scopes);
    let facets = Box::pin(measure_facets(&testbed, &scopes)).await;
    let heavy = matches!(contents, Contents::Generated { .. }).then_some(HEAVY);
    Box::pin(measure_others(&testbed, &scopes, heavy)).await;
    if options.tenth && heavy.is_some() {
        load::fill(server.uri(), "scale_tenth", &options.generated(10)).await;
        let testbed = Testbed::open(server.uri(), "scale_tenth", options.rounds).await;
        Box::pin(compare(&testbed, &scopes, &facets)).await;
    }
    writes::print_sizes(&testbed).await;
    writes::compare(&testbed, &scopes[0]).await;
    server.stop().await.unwrap();
}

/// What the names in the tables stand for.
fn describe(scopes: &[Scope]) {
    for (at, scope) in scopes.iter().enumerate() {
        let slug = scope.slug.as_deref().unwrap_or("everything on sale");
        println!("\n{}: {slug}, {} products", place(at), scope.products);
        for (name, filters) in [
            ("common", scope.common.get(..2).unwrap_or(&scope.common)),
            ("rare", &scope.rare[..]),
            ("range", scope.range.as_slice()),
        ] {
            let texts: Vec<String> = filters.iter().map(ToString::to_string).collect();
            println!("  {name}: {}", texts.join("  "));
        }
    }
}

/// Facets, from what was never counted to what is narrowed down.
async fn measure_facets(testbed: &Testbed, scopes: &[Scope]) -> Vec<Row> {
    // The key that marks touched products is learnt before anything is counted.
    testbed.touch(&scopes[0].product()).await;
    Row::print_head("facets before anything is precomputed");
    measure(testbed, &cases::live_facets(scopes, true)).await;
    load::precompute_panels(&testbed.catalog).await;
    Row::print_head("facets");
    let mut rows = measure(testbed, &cases::counted_facets(scopes)).await;
    rows.extend(measure(testbed, &cases::live_facets(scopes, false)).await);
    rows.extend(measure(testbed, &cases::filtered_facets(scopes)).await);
    rows
}

async fn measure_others(testbed: &Testbed, scopes: &[Scope], heavy: Option<&str>) {
    Row::print_head("lists of 24");
    measure(testbed, &cases::lists(scopes)).await;
    Row::print_head("searches");
    measure(testbed, &cases::searches(&scopes[0])).await;
    load::precompute_panels(&testbed.catalog).await;
    Row::print_head("pages");
    measure(testbed, &cases::pages(&scopes[0], heavy)).await;
}

async fn measure(testbed: &Testbed, cases: &[Case]) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in cases {
        rows.push(testbed.measure(case).await);
    }
    rows
}

/// The facets of a catalogue that is a tenth as large, and how much more expensive the large one is.
async fn compare(tenth: &Testbed, scopes: &[Scope], large: &[Row]) {
    let mut smaller = Vec::new();
    for scope in scopes {
        // Other products, but the same categories and filters.
        let sampled = Scope::of(tenth, scope.slug.clone()).await;
        smaller.push(Scope {
            products: sampled.products,
            sample: sampled.sample,
            ..scope.clone()
        });
    }
    if smaller.iter().any(|scope| scope.sample.is_empty()) {
        println!("\na tenth of the catalogue is too small to be compared");
        return;
    }
    let small = Box::pin(measure_facets(tenth, &smaller)).await;
    println!("\nten times the products: CPU and documents examined, as multiples");
    for (large, small) in large.iter().zip(&small) {
        let cpu = millis(large.cpu) / millis(small.cpu).max(0.001);
        let docs = large.docs as f64 / small.docs.max(1) as f64;
        println!("{:<44} {cpu:>9.2} {docs:>9.2}", large.name);
    }
}
