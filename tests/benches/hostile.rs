//! What callers notice while others send the most expensive requests that are allowed.
//!
//! `cargo bench --bench hostile -- [OPTIONS]`
//!
//! | option | effect | default |
//! |---|---|---|
//! | `--products N`, `--reviews N` | the size of the generated catalogue | 20,000 and 200,000 |
//! | `--attackers N` | connections that send expensive requests, each from an address of its own | 64 |
//! | `--seconds N` | how long each phase lasts | 30 |
//! | `--data DIR` | keeps the database there, and loads it only once | temporary |
//!
//! One caller asks for product pages, one after the other: alone, and then beside the attackers. The
//! service, mongod and all clients share the processors. Every address has the usual budget, so
//! attackers are refused once they have spent theirs.

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
#[path = "scale/random.rs"]
mod random;
#[path = "scale/specs.rs"]
mod specs;
#[path = "scale/start.rs"]
mod start;
#[path = "scale/testbed.rs"]
mod testbed;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::future::join_all;
use load::Contents;
use serde_json::{Value, json};
use start::start;
use testbed::{Testbed, millis};
use vitrine_harness::eventually;
use vitrine_harness::expensive::EXPENSIVE;
use vitrine_harness::http::{self, Connection};
use vitrine_harness::process::Service;

const NAME: &str = "hostile";
/// The address of the caller of product pages.
const SHOPPER: &str = "192.0.2.1";
const PAGE: &str = "query($slug: String!) { product(slug: $slug) { id name description brand
  price { amount currency } media { url } specs { key label text } ratingStats { average count histogram { rating count } }
  topReviews { id rating title excerpt author { name } } } }";
#[derive(Parser)]
struct Options {
    /// The products of the generated catalogue.
    #[arg(long, default_value_t = 20_000)]
    products: usize,
    /// The reviews of the generated catalogue.
    #[arg(long, default_value_t = 200_000)]
    reviews: usize,
    /// The connections that send expensive requests, each from an address of its own.
    #[arg(long, default_value_t = 64)]
    attackers: usize,
    /// How long each phase lasts.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Keeps the database there, so that it is loaded only once.
    #[arg(long)]
    data: Option<PathBuf>,
}

fn main() {
    start(run);
}

async fn run(options: Options) {
    let phase = Duration::from_secs(options.seconds);
    let (_directory, server) = load::server(options.data.clone()).await;
    let contents = Contents::Generated {
        seed: 7,
        products: options.products,
        reviews: options.reviews,
    };
    load::fill(server.uri(), NAME, &contents).await;
    let testbed = Testbed::open(server.uri(), NAME, 1).await;
    load::precompute_panels(&testbed.catalog).await;
    let slugs = testbed
        .data("{ products(first: 100) { nodes { slug } } }", &json!({}))
        .await;
    let nodes = slugs["products"]["nodes"].as_array().unwrap();
    let slugs: Vec<&str> = nodes
        .iter()
        .map(|node| node["slug"].as_str().unwrap())
        .collect();
    let service = serve(server.uri());
    let address = service.listening().await;
    let ready = async || {
        let reply = http::get(&address, "/health/ready").await.ok()?;
        (reply.status == 200).then_some(())
    };
    eventually("a service that is ready", Duration::from_mins(1), ready).await;
    show_costs(&address).await;
    println!(
        "\n{:<10} {:>7} {:>8} {:>8} {:>8} {:>7}",
        "pages", "count", "p50 ms", "p99 ms", "max ms", "errors"
    );
    let alone = shop(&address, &slugs, phase).await;
    alone.print("alone");
    let over = AtomicBool::new(false);
    let attackers = (0..options.attackers).map(|number| attack(&address, number, &over));
    let beside = async {
        let beside = shop(&address, &slugs, phase).await;
        over.store(true, Ordering::Relaxed);
        beside
    };
    let (beside, answers) = tokio::join!(beside, join_all(attackers));
    beside.print("beside");
    println!(
        "p99 beside / alone: {:.1}",
        millis(beside.p99()) / millis(alone.p99())
    );
    print_answers(answers);
    println!(
        "most memory of the service: {} MB",
        service.peak_memory() / 1_000_000
    );
    assert!(service.stop().await.success());
    server.stop().await.unwrap();
}

/// Starts the service as strangers meet it; clients say their addresses as a proxy does.
fn serve(uri: &str) -> Service {
    Service::start(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--mongodb-uri",
        uri,
        "--database",
        NAME,
        "--trusted-proxy",
        "127.0.0.0/8",
        "--cursor-secret",
        "0123456789abcdef",
        "--token-secret",
        "0123456789abcdef0123456789abcdef",
    ])
}

/// Prints how often attackers got each error code.
fn print_answers(answers: Vec<Vec<String>>) {
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for code in answers.into_iter().flatten() {
        *codes.entry(code).or_default() += 1;
    }
    println!("answers to attackers: {codes:?}");
}

async fn ask(connection: &mut Connection, request: &Value) -> Value {
    let body = request.to_string();
    connection.ask(body.as_bytes(), None).await.unwrap().json()
}

/// Prints what the expensive requests cost; they must be allowed.
async fn show_costs(address: &str) {
    let mut connection = Connection::open(address, "192.0.2.2").await.unwrap();
    for (number, query) in EXPENSIVE.iter().enumerate() {
        let start = Instant::now();
        let answer = ask(&mut connection, &json!({ "query": query })).await;
        let errors = &answer["errors"];
        assert!(errors.is_null(), "{query}\n{errors:#}");
        let cost = &answer["extensions"]["cost"]["requested"];
        println!(
            "expensive request {number}: {cost} units, {:.0} ms alone",
            millis(start.elapsed())
        );
    }
}

/// The times of product pages.
struct Pages {
    times: Vec<Duration>,
    errors: usize,
}

impl Pages {
    fn at(&self, share: usize) -> Duration {
        self.times[(self.times.len() - 1) * share / 100]
    }

    fn p99(&self) -> Duration {
        self.at(99)
    }

    fn print(&self, name: &str) {
        println!(
            "{name:<10} {:>7} {:>8.2} {:>8.2} {:>8.1} {:>7}",
            self.times.len(),
            millis(self.at(50)),
            millis(self.p99()),
            millis(self.at(100)),
            self.errors
        );
    }
}

/// Asks for product pages, one after the other.
async fn shop(address: &str, slugs: &[&str], phase: Duration) -> Pages {
    let mut connection = Connection::open(address, SHOPPER).await.unwrap();
    let (start, mut pages) = (
        Instant::now(),
        Pages {
            times: Vec::new(),
            errors: 0,
        },
    );
    for slug in slugs.iter().cycle() {
        if start.elapsed() > phase {
            break;
        }
        let request = json!({ "query": PAGE, "variables": { "slug": slug } });
        let begin = Instant::now();
        let answer = ask(&mut connection, &request).await;
        pages.times.push(begin.elapsed());
        pages.errors += usize::from(answer["data"]["product"].is_null());
        // A shopper reads: the budget of one caller is not what is measured.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    pages.times.sort_unstable();
    pages
}

/// Sends expensive requests until it is over; returns the code of each answer.
async fn attack(address: &str, number: usize, over: &AtomicBool) -> Vec<String> {
    let from = format!("198.51.100.{}", number % 250);
    let mut connection = Connection::open(address, &from).await.unwrap();
    let mut codes = Vec::new();
    let mut query = number;
    while !over.load(Ordering::Relaxed) {
        query += 1;
        let request = json!({ "query": EXPENSIVE[query % EXPENSIVE.len()] });
        let answer = ask(&mut connection, &request).await;
        let code = match &answer["errors"][0]["extensions"]["code"] {
            Value::String(code) => code.clone(),
            _ => "OK".to_owned(),
        };
        if code == "RATE_LIMITED" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        codes.push(code);
    }
    codes
}
