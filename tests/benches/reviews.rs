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
//! It starts a mongod of its own, with a cache of 1.5 GiB. See `scale.rs` for the columns that both
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
#[path = "scale/start.rs"]
mod start;
#[path = "scale/testbed.rs"]
#[expect(dead_code, reason = "the other benchmark asks more of it")]
mod testbed;
#[path = "reviews/writers.rs"]
mod writers;

use std::path::PathBuf;

use clap::Parser;
use load::Contents;
use start::start;
use testbed::Testbed;

#[derive(Parser)]
pub(crate) struct Options {
    /// The products of the generated catalogue.
    #[arg(long, default_value_t = 200_000)]
    products: usize,
    /// How many seconds each way of writing lasts.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Concurrent writers.
    #[arg(long, default_value_t = 32)]
    writers: usize,
    /// The reviews of the large product.
    #[arg(long, default_value_t = 150_000)]
    giant: usize,
    /// The least number of repetitions per case.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// One part: `writers` or `giant`.
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
    let testbed = Testbed::open(server.uri(), "scale", options.rounds).await;
    let wanted = |part: &str| options.only.as_ref().is_none_or(|only| only == part);
    if wanted("giant") {
        Box::pin(giant::measure(&testbed, &options)).await;
    }
    if wanted("writers") {
        writers::measure(&testbed, server.uri(), &options).await;
    }
    drop(testbed);
    server.stop().await.unwrap();
}
