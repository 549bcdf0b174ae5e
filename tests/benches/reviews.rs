//! What writing reviews costs beside two plainer ways, and whether a product with very many reviews
//! is read and written like any other.
//!
//! `cargo bench --bench reviews -- [OPTIONS]`
//!
//! | option | what it does |
//! |---|---|
//! | `--products N` | the size of the made-up catalogue: 200,000 |
//! | `--seconds N` | how long each way of writing is measured; 30 |
//! | `--writers N` | how many write at a time; 32 |
//! | `--giant N` | the reviews of the large product; 150,000 |
//! | `--data DIR` | keeps the database there, and loads it only once |
//! | `--only PART` | only `giant`, the large product, or only `writers` |
//! | `--rounds N` | how often each case of the large product is asked at least; 7 |
//!
//! It starts a mongod of its own, with a cache of 1.5 GB. See `scale.rs` for the columns that both
//! have.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]
#![expect(
    clippy::cast_precision_loss,
    reason = "figures are printed with three digits"
)]

#[path = "scale/desk.rs"]
#[expect(dead_code, reason = "the other benchmark asks more of it")]
mod desk;
#[path = "scale/generated.rs"]
mod generated;
#[path = "reviews/giant.rs"]
mod giant;
#[path = "scale/load.rs"]
#[expect(dead_code, reason = "the other benchmark loads feeds")]
mod load;
#[path = "scale/random.rs"]
mod random;
#[path = "scale/specs.rs"]
mod specs;
#[path = "reviews/writers.rs"]
mod writers;

use std::path::PathBuf;
use std::time::Duration;

use desk::Desk;
use load::Contents;

/// What was asked for on the command line.
pub(crate) struct Options {
    products: usize,
    seconds: Duration,
    writers: usize,
    giant: usize,
    rounds: usize,
    only: Option<String>,
    data: Option<PathBuf>,
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
        let mut options = Self {
            products: 200_000,
            seconds: Duration::from_secs(30),
            writers: 32,
            giant: 150_000,
            rounds: 7,
            only: None,
            data: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .unwrap_or_else(|| panic!("{name} needs a value"))
            };
            match name.as_str() {
                "--products" => options.products = value().parse().unwrap(),
                "--seconds" => options.seconds = Duration::from_secs(value().parse().unwrap()),
                "--writers" => options.writers = value().parse().unwrap(),
                "--giant" => options.giant = value().parse().unwrap(),
                "--rounds" => options.rounds = value().parse().unwrap(),
                "--only" => options.only = Some(value()),
                "--data" => options.data = Some(PathBuf::from(value())),
                "--bench" => {}
                _ => panic!("{name} is no option; see the beginning of benches/reviews.rs"),
            }
        }
        options
    }
}

async fn run(options: Options) {
    let (_directory, server) = load::server(options.data.clone()).await;
    let contents = Contents::Generated {
        seed: 7,
        products: options.products,
        reviews: options.products / 10,
    };
    load::fill(server.uri(), "scale", &contents).await;
    let desk = Desk::open(server.uri(), "scale", options.rounds).await;
    let wanted = |part: &str| options.only.as_ref().is_none_or(|only| only == part);
    if wanted("giant") {
        Box::pin(giant::measure(&desk, &options)).await;
    }
    if wanted("writers") {
        writers::measure(&desk, server.uri(), &options).await;
    }
    drop(desk);
    server.stop().await.unwrap();
}
