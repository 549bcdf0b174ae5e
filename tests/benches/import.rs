//! How fast feeds come in, as a share of a bare bulk insert of the very documents they become.
//!
//! `cargo bench --bench import` imports generated products; `-- FILE MAPPING` a feed. Both ways
//! write to a database with all validators and indexes, with majority and journal, alternating in
//! one run, so that the ratio holds when the machine's speed does not. Each import is repeated, to
//! measure lines that change nothing.
//!
//! `-- FILE MAPPING --unchanged N` imports the feed once and then N times again, and prints what lines cost
//! that change nothing. With `--data DIR` the database stays there, so that several builds read the same one.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, or panics"
)]

#[path = "scale/start.rs"]
mod start;
#[path = "import/unchanged.rs"]
mod unchanged;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::TryStreamExt as _;
use mongodb::bson::{RawDocumentBuf, doc};
use mongodb::options::{Acknowledgment, WriteConcern};
use vitrine_demo::{Demo, DemoOptions};
use vitrine_domain::import::ImportMode;
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_harness::environment::target_dir;
use vitrine_harness::mongod::find_mongod;
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::report::Counts;
use vitrine_ingest::run::{ImportOptions, import};
use vitrine_model::clock::Timestamp;
use vitrine_model::import::LineOutcome;
use vitrine_model::money::Currency;
use vitrine_mongod::{Instance, StartOptions};
use vitrine_storage::{Store, StoreOptions};

/// The allocator of the service.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often each way is taken.
const ROUNDS: usize = 3;
/// How many documents a bulk insert sends at once, and how many drafts an import.
const BATCH: usize = 1000;
/// How many products are generated when there is no feed.
const GENERATED: usize = 20_000;

#[derive(Parser)]
struct Options {
    /// A feed and its mapping, instead of generated products.
    #[arg(num_args = 2, value_names = ["FILE", "MAPPING"])]
    feed: Vec<String>,
    /// Imports the feed once, and again as often as this.
    #[arg(long, requires = "feed")]
    unchanged: Option<usize>,
    /// Keeps the database there.
    #[arg(long, requires = "unchanged")]
    data: Option<PathBuf>,
}

fn main() {
    start::start(with_server);
}

/// Starts a mongod of its own, with the cache that `vitrine dev` gives it.
async fn with_server(options: Options) {
    let parent = target_dir().join("tmp");
    std::fs::create_dir_all(&parent).unwrap();
    let directory = tempfile::tempdir_in(parent).unwrap();
    let data = options.data.clone();
    let mut start = StartOptions::new(data.unwrap_or_else(|| directory.path().to_owned()));
    // Without the diagnostic files, whose making would be measured.
    start.ephemeral = true;
    let server = Instance::start(&find_mongod().await.unwrap(), &start)
        .await
        .unwrap();
    match options.unchanged {
        Some(times) => unchanged::run(server.uri(), &options.feed, times).await,
        None => run(server.uri(), &options.feed).await,
    }
    server.stop().await.unwrap();
}

async fn run(uri: &str, arguments: &[String]) {
    println!("round  products  import/s  bulk/s  import ÷ bulk  unchanged/s");
    for round in 1..=ROUNDS {
        let store = empty(uri, "bench_import").await;
        let (products, imported) = import_all(&store, arguments).await;
        let (changed, again) = import_all(&store, arguments).await;
        assert_eq!(changed, 0, "all lines are unchanged");
        let documents = documents(uri, "bench_import").await;
        assert_eq!(documents.len(), products);
        store.drop_database().await.unwrap();
        let bulk = bulk_insert(uri, &documents).await;
        let rate =
            |time: Duration| f64::from(u32::try_from(products).unwrap()) / time.as_secs_f64();
        let ratio = rate(imported) / rate(bulk);
        println!(
            "{round:5}  {products:8}  {:8.0}  {:6.0}  {ratio:13.2}  {:11.0}",
            rate(imported),
            rate(bulk),
            rate(again)
        );
    }
}

async fn empty(uri: &str, name: &str) -> Store {
    let store = Store::connect(&StoreOptions::new(uri, name)).await.unwrap();
    store.drop_database().await.unwrap();
    store.create_schema().await.unwrap();
    store
}

async fn import_all(store: &Store, arguments: &[String]) -> (usize, Duration) {
    let catalog = open(store).await;
    let start = Instant::now();
    match arguments {
        [file, mapping] => {
            let counts = import_feed(&catalog, file, mapping).await;
            let created = usize::try_from(counts.created).unwrap();
            (created, start.elapsed())
        }
        _ => import_generated(&catalog).await,
    }
}

async fn open(store: &Store) -> Catalog {
    let options = CatalogOptions::new(Currency::parse("EUR").unwrap(), b"a benchmark".to_vec());
    Catalog::open(store.clone(), options).await.unwrap()
}

async fn import_feed(catalog: &Catalog, file: &str, mapping: &str) -> Counts {
    let order = ImportOptions {
        files: vec![PathBuf::from(file)],
        mapping: Arc::new(Mapping::load(mapping).unwrap()),
        mode: ImportMode::Write,
        rejects: None,
        mappers: None,
    };
    import(catalog, &order, |_| ()).await.unwrap().counts
}

/// The time is without that of generating the products.
async fn import_generated(catalog: &Catalog) -> (usize, Duration) {
    let now = Timestamp::parse("2026-06-01T00:00:00Z").unwrap();
    let demo = Demo::new(DemoOptions {
        products: GENERATED,
        reviews: 0,
        ..DemoOptions::new(now)
    });
    let mut drafts: Vec<_> = demo.products().collect();
    let mut session = catalog.import(ImportMode::Write);
    let mut created = 0;
    let start = Instant::now();
    while !drafts.is_empty() {
        let rest = drafts.split_off(BATCH.min(drafts.len()));
        let outcomes = session.products(drafts).await.unwrap();
        let new = |outcome: &&LineOutcome| **outcome == LineOutcome::Created;
        created += outcomes.iter().filter(new).count();
        drafts = rest;
    }
    session.finish().await.unwrap();
    (created, start.elapsed())
}

async fn documents(uri: &str, name: &str) -> Vec<RawDocumentBuf> {
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let products = client
        .database(name)
        .collection::<RawDocumentBuf>("products");
    products
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap()
}

async fn bulk_insert(uri: &str, documents: &[RawDocumentBuf]) -> Duration {
    let store = empty(uri, "bench_bulk").await;
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let products = client
        .database("bench_bulk")
        .collection::<RawDocumentBuf>("products");
    let durable = WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .build();
    let start = Instant::now();
    for batch in documents.chunks(BATCH) {
        products
            .insert_many(batch)
            .ordered(false)
            .write_concern(durable.clone())
            .await
            .unwrap();
    }
    let elapsed = start.elapsed();
    store.drop_database().await.unwrap();
    elapsed
}
