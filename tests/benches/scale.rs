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
//! It starts a mongod of its own, with a cache of 1.5 GB. The data of `--data` is loaded anew when
//! other data is asked for or indexes are missing; changes to what is stored need another DIR.
//!
//! | column | what it says |
//! |---|---|
//! | p50 ms | the median time of a request in this process: parsing to JSON, without HTTP |
//! | CPU ms | the CPU time of the whole mongod per request, from `extra_info.user_time_us` and `system_time_us` of `serverStatus`, so nothing else may use that mongod; its background work is counted, what asking for it costs is not; after a change it is the median, else the mean of all rounds |
//! | keys, docs | index keys and documents examined, by the profiler, in one more request |
//! | cmds | commands sent in that request |
//! | found | how many rows or facets were given, or the error |

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
#[path = "scale/desk.rs"]
mod desk;
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
#[path = "scale/writes.rs"]
mod writes;

use std::path::PathBuf;

use cases::place;
use desk::{Case, Desk, Row, millis};
use load::Contents;
use probe::Scope;

/// The category of huge products in made-up catalogues.
const HEAVY: &str = "heavyweights";

/// What was asked for on the command line.
struct Options {
    contents: Contents,
    tenth: Option<Contents>,
    data: Option<PathBuf>,
    rounds: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` and the like run benchmarks without it, and this one is no test.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let options = Options::parse(arguments);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(run(options));
}

impl Options {
    fn parse(arguments: Vec<String>) -> Self {
        let (mut products, mut reviews, mut seed, mut rounds) = (200_000, 2_000_000, 7, 7);
        let (mut feeds, mut mappings, mut data, mut tenth) = (Vec::new(), Vec::new(), None, false);
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .unwrap_or_else(|| panic!("{name} needs a value"))
            };
            match name.as_str() {
                "--products" => products = value().parse().unwrap(),
                "--reviews" => reviews = value().parse().unwrap(),
                "--seed" => seed = value().parse().unwrap(),
                "--rounds" => rounds = value().parse().unwrap(),
                "--feed" => feeds.push(PathBuf::from(value())),
                "--mapping" => mappings.push(value()),
                "--data" => data = Some(PathBuf::from(value())),
                "--tenth" => tenth = true,
                "--bench" => {}
                _ => panic!("{name} is no option; see the beginning of benches/scale.rs"),
            }
        }
        assert_eq!(feeds.len(), mappings.len(), "each feed needs a mapping");
        let generated = |part: usize| Contents::Generated {
            seed,
            products: products / part,
            reviews: reviews / part,
        };
        let made_up = feeds.is_empty();
        let feeds = Contents::Feeds(feeds.into_iter().zip(mappings).collect());
        Self {
            contents: if made_up { generated(1) } else { feeds },
            tenth: (tenth && made_up).then(|| generated(10)),
            data,
            rounds,
        }
    }
}

async fn run(options: Options) {
    let (_directory, server) = load::server(options.data.clone()).await;
    load::fill(server.uri(), "scale", &options.contents).await;
    let desk = Desk::open(server.uri(), "scale", options.rounds).await;
    let scopes = probe::scopes(&desk).await;
    describe(&scopes);
    let facets = measure_facets(&desk, &scopes).await;
    let heavy = matches!(options.contents, Contents::Generated { .. }).then_some(HEAVY);
    measure_others(&desk, &scopes, heavy).await;
    if let Some(contents) = &options.tenth {
        load::fill(server.uri(), "scale_tenth", contents).await;
        let desk = Desk::open(server.uri(), "scale_tenth", options.rounds).await;
        compare(&desk, &scopes, &facets).await;
    }
    writes::print_sizes(&desk).await;
    writes::compare(&desk, &scopes[0]).await;
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
async fn measure_facets(desk: &Desk, scopes: &[Scope]) -> Vec<Row> {
    // The key that marks touched products is learnt before anything is counted.
    desk.touch(&scopes[0].product()).await;
    Row::print_head("facets before anything is counted ahead");
    measure(desk, &cases::live_facets(scopes, true)).await;
    load::count_ahead(&desk.catalog).await;
    Row::print_head("facets");
    let mut rows = measure(desk, &cases::counted_facets(scopes)).await;
    rows.extend(measure(desk, &cases::live_facets(scopes, false)).await);
    rows.extend(measure(desk, &cases::filtered_facets(scopes)).await);
    rows
}

async fn measure_others(desk: &Desk, scopes: &[Scope], heavy: Option<&str>) {
    Row::print_head("lists of 24");
    measure(desk, &cases::lists(scopes)).await;
    Row::print_head("searches");
    measure(desk, &cases::searches(&scopes[0])).await;
    load::count_ahead(&desk.catalog).await;
    Row::print_head("pages");
    measure(desk, &cases::pages(&scopes[0], heavy)).await;
}

async fn measure(desk: &Desk, cases: &[Case]) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in cases {
        rows.push(desk.measure(case).await);
    }
    rows
}

/// The facets of a catalogue that is a tenth as large, and how much dearer the large one is.
async fn compare(tenth: &Desk, scopes: &[Scope], large: &[Row]) {
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
    let small = measure_facets(tenth, &smaller).await;
    println!("\nten times the products: CPU and documents examined, as multiples");
    for (large, small) in large.iter().zip(&small) {
        let cpu = millis(large.cpu) / millis(small.cpu).max(0.001);
        let docs = large.docs as f64 / small.docs.max(1) as f64;
        println!("{:<44} {cpu:>9.2} {docs:>9.2}", large.name);
    }
}
