//! Starting a database, and filling it unless an earlier run has.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use mongodb::bson::{Document, doc};
use tempfile::TempDir;
use vitrine_domain::facets::PanelState;
use vitrine_domain::import::{ImportMode, ImportSession};
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_harness::environment::target_dir;
use vitrine_harness::mongod::find_mongod;
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::run::{ImportOptions, import};
use vitrine_model::import::{LineOutcome, ProductDraft, ReviewDraft};
use vitrine_model::money::Currency;
use vitrine_mongod::{Instance, StartOptions};
use vitrine_storage::{Store, StoreOptions};

use crate::generated::Generated;

/// Where it is noted what a database holds.
const MARKS: &str = "scale_marks";
/// How many drafts are imported at a time.
const BATCH: usize = 4_000;
/// How many sessions import reviews at the same time, each those of other products.
const SESSIONS: usize = 2;

/// The memory for the cache of mongod, in MiB.
const CACHE: u32 = 1536;

/// A mongod with its data in this directory; else in one that goes when it is dropped, which is to
/// be after the server has stopped.
pub(crate) async fn server(data: Option<PathBuf>) -> (TempDir, Instance) {
    let parent = target_dir().join("tmp");
    std::fs::create_dir_all(&parent).unwrap();
    let temporary = tempfile::tempdir_in(parent).unwrap();
    let directory = data.unwrap_or_else(|| temporary.path().to_owned());
    let mut start = StartOptions::new(directory);
    start.cache_mib = CACHE;
    // Without the diagnostic files, whose making would be measured.
    start.ephemeral = true;
    let mongod = find_mongod().await.unwrap();
    let server = Instance::start(&mongod, &start).await.unwrap();
    (temporary, server)
}

/// What a database is to hold.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// A made-up catalogue.
    Generated {
        /// What it is made of.
        seed: u64,
        /// How many products, the huge ones not counted.
        products: usize,
        /// How many reviews.
        reviews: usize,
    },
    /// What somebody's feeds say: files, each with the name of its mapping.
    Feeds(Vec<(PathBuf, String)>),
}

/// Real feeds instead of a generated catalogue.
#[derive(Debug, clap::Args)]
pub(crate) struct Feeds {
    /// A file of products; may be repeated.
    #[arg(long = "feed", requires = "mappings")]
    feeds: Vec<PathBuf>,
    /// The name of its mapping.
    #[arg(long = "mapping", requires = "feeds")]
    mappings: Vec<String>,
}

impl Feeds {
    /// What the feeds hold; `None` without feeds.
    pub(crate) fn contents(&self) -> Option<Contents> {
        let (feeds, mappings) = (self.feeds.clone(), self.mappings.clone());
        assert_eq!(feeds.len(), mappings.len(), "each feed needs a mapping");
        let is_given = !feeds.is_empty();
        is_given.then(|| Contents::Feeds(feeds.into_iter().zip(mappings).collect()))
    }
}

/// Has the database hold this.
pub(crate) async fn fill(uri: &str, database: &str, contents: &Contents) {
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let marks = client.database(MARKS).collection::<Document>("marks");
    let store = Store::connect(&StoreOptions::new(uri, database))
        .await
        .unwrap();
    let mark = doc! { "_id": database, "contents": format!("{contents:?}") };
    let complete = marks.find_one(mark.clone()).await.unwrap().is_some();
    if complete && store.missing_from_schema().await.unwrap().is_empty() {
        println!("{database}: loaded by an earlier run");
        return;
    }
    marks.delete_one(doc! { "_id": database }).await.unwrap();
    store.drop_database().await.unwrap();
    store.create_schema().await.unwrap();
    let options = CatalogOptions::new(Currency::parse("EUR").unwrap(), b"a benchmark".to_vec());
    let catalog = Catalog::open(store, options).await.unwrap();
    match contents {
        Contents::Generated {
            seed,
            products,
            reviews,
        } => {
            let generated = Generated::new(*seed, *products, *reviews);
            import_generated(&catalog, &generated, database).await;
        }
        Contents::Feeds(feeds) => import_feeds(&catalog, feeds, database).await,
    }
    fold(&catalog, database).await;
    // So that no checkpoint of all this is measured later.
    client
        .database("admin")
        .run_command(doc! { "fsync": 1 })
        .await
        .unwrap();
    marks.insert_one(mark).await.unwrap();
}

/// Precomputes filter panels: what has changed is counted once it is quiet.
pub(crate) async fn precompute_panels(catalog: &Catalog) {
    let (start, mut maintenance) = (Instant::now(), PanelState::default());
    let mut counted = 0;
    let mut quiet = false;
    loop {
        let run = catalog.refresh_panels(&mut maintenance).await.unwrap();
        counted += run.done;
        if quiet && run.backlog == 0 {
            break;
        }
        quiet = true;
    }
    println!(
        "\n{counted} panels precomputed in {:.1} s",
        start.elapsed().as_secs_f64()
    );
}

async fn import_generated(catalog: &Catalog, generated: &Generated, database: &str) {
    let start = Instant::now();
    let mut session = catalog.import(ImportMode::Write);
    let (mut products, mut count) = (generated.products(), 0);
    loop {
        let batch: Vec<ProductDraft> = products.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        count += batch.len();
        all_created(&session.products(batch).await.unwrap());
    }
    session.finish().await.unwrap();
    report(database, "products", count, start);
    let start = Instant::now();
    let parts =
        (0..SESSIONS).map(|part| import_reviews(catalog, generated.reviews(part, SESSIONS)));
    let parts = futures_util::future::join_all(parts).await;
    let mut count = 0;
    // One after the other, because each folds whatever waits.
    for (session, reviews) in parts {
        session.finish().await.unwrap();
        count += reviews;
    }
    report(database, "reviews", count, start);
}

async fn import_reviews(
    catalog: &Catalog,
    mut reviews: impl Iterator<Item = ReviewDraft>,
) -> (ImportSession, usize) {
    let (mut session, mut count) = (catalog.import(ImportMode::Write), 0);
    loop {
        let batch: Vec<ReviewDraft> = reviews.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        count += batch.len();
        all_created(&session.reviews(batch).await.unwrap());
    }
    (session, count)
}

fn all_created(outcomes: &[LineOutcome]) {
    let other = outcomes
        .iter()
        .find(|outcome| **outcome != LineOutcome::Created);
    assert_eq!(other, None, "everything generated is new and right");
}

async fn import_feeds(catalog: &Catalog, feeds: &[(PathBuf, String)], database: &str) {
    for (file, mapping) in feeds {
        let start = Instant::now();
        let order = ImportOptions {
            files: vec![file.clone()],
            mapping: Arc::new(Mapping::load(mapping).unwrap()),
            mode: ImportMode::Write,
            rejects: None,
            mappers: None,
        };
        let done = import(catalog, &order, |_| ()).await.unwrap();
        let created = usize::try_from(done.counts.created).unwrap();
        report(database, &file.display().to_string(), created, start);
    }
}

async fn fold(catalog: &Catalog, database: &str) {
    let (start, mut folded) = (Instant::now(), 0);
    loop {
        let reviews = catalog.fold_and_move_ranks().await.unwrap().reviews;
        if reviews == 0 {
            break;
        }
        folded += reviews;
    }
    println!(
        "{database}: {folded} more reviews folded in {:.1} s",
        start.elapsed().as_secs_f64()
    );
}

fn report(database: &str, what: &str, count: usize, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    println!("{database}: {count} {what} in {seconds:.1} s, {rate:.0} per second");
}
