//! Many who write reviews at once: on one product and on all of them, by the service and by two
//! plainer ways.
//!
//! The plain ways write the very document that the service writes, to a collection with the same
//! indexes, and then add one to numbers of the product: in two writes that a crash can part, or in
//! a transaction for each review that is tried again whenever it meets another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use futures_util::future::join_all;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, Uuid, doc};
use mongodb::error::TRANSIENT_TRANSACTION_ERROR;
use mongodb::options::{Acknowledgment, WriteConcern};
use mongodb::{ClientSession, Collection, Database};
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::ReviewContent;
use vitrine_domain::workers::Worker;
use vitrine_model::id::{ProductId, ReviewId};

use crate::Options;
use crate::giant::id_of;
use crate::testbed::{Testbed, millis};

/// How many products are written to when all are.
const SPREAD: usize = 20_000;
/// Where the plain ways write.
const PLAIN: &str = "plain_reviews";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Service,
    TwoWrites,
    Transaction,
    /// A transaction that also moves the product among those that are sorted by rating, as the
    /// service does.
    Ranking,
}

/// What the writers share.
struct Shop<'a> {
    testbed: &'a Testbed,
    plain: Database,
    products: Vec<ProductId>,
    template: Document,
    /// No two reviews are by the same author.
    authors: AtomicU64,
    conflicts: AtomicU64,
    commands: AtomicU64,
    over: AtomicBool,
}

/// Measures all ways and prints their rows.
pub(crate) async fn measure(testbed: &Testbed, uri: &str, options: &Options) {
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let plain = client.database(testbed.direct.name());
    let products = products(&testbed.direct).await;
    let template = template(testbed, products[0]).await;
    copy_indexes(&plain).await;
    println!(
        "\n{} writers for {} s each, on one product and on {} products",
        options.writers,
        options.seconds,
        products.len() - 1
    );
    println!(
        "{:<28} {:>9} {:>9} {:>9} {:>10} {:>9} {:>10} {:>11}",
        "", "per s", "p50 ms", "p99 ms", "conflicts", "cmds", "db CPU ms", "own CPU ms"
    );
    for (place, products) in [
        ("one product", &products[1..2]),
        ("uniform", &products[2..]),
    ] {
        warm(&plain, products).await;
        for way in [Way::TwoWrites, Way::Transaction, Way::Ranking, Way::Service] {
            let shop = Arc::new(Shop {
                testbed,
                plain: plain.clone(),
                products: products.to_vec(),
                template: template.clone(),
                authors: AtomicU64::new(0),
                conflicts: AtomicU64::new(0),
                commands: AtomicU64::new(0),
                over: AtomicBool::new(false),
            });
            run(&shop, way, place, options).await;
        }
    }
}

async fn run(shop: &Shop<'_>, way: Way, place: &str, options: &Options) {
    // Each run has authors of its own.
    let run = format!("{way:?} {place} {}", Uuid::new());
    let (aborts, sent) = (aborts(shop).await, shop.testbed.commands());
    let (server, own, start) = (shop.testbed.cpu().await, own_cpu(), Instant::now());
    let writers = (0..options.writers).map(|_| writer(shop, way, &run));
    let timer = async {
        tokio::time::sleep(Duration::from_secs(options.seconds)).await;
        shop.over.store(true, Ordering::Relaxed);
    };
    let (all, (), waits) = tokio::join!(join_all(writers), timer, waits(shop, way));
    let elapsed = start.elapsed();
    // What waits to be counted belongs to it; it may conflict with the folds that are still under way.
    let rest = async || shop.testbed.catalog.fold_dirty().await;
    while way == Way::Service && !matches!(rest().await, Ok(folded) if folded.reviews == 0) {}
    let (server, own) = (
        shop.testbed.since(server).await,
        own_cpu().saturating_sub(own),
    );
    let moved = moved(shop, way).await;
    let mut times: Vec<Duration> = all.into_iter().flatten().collect();
    times.sort_unstable();
    let count = times.len();
    let conflicts = match way {
        // A transaction with a write conflict is aborted by the server.
        Way::Service => u64::try_from(self::aborts(shop).await - aborts).unwrap_or(0),
        Way::TwoWrites | Way::Transaction | Way::Ranking => shop.conflicts.load(Ordering::Relaxed),
    };
    let commands = match way {
        Way::Service => shop.testbed.commands() - sent,
        Way::TwoWrites | Way::Transaction | Way::Ranking => shop.commands.load(Ordering::Relaxed),
    };
    let each = |time: Duration| millis(time) / count as f64;
    println!(
        "{:<28} {:>9.0} {:>9.2} {:>9.2} {:>10} {:>9.2} {:>10.3} {:>11.3}",
        format!("{way:?}, {place}"),
        count as f64 / elapsed.as_secs_f64(),
        millis(times[count / 2]),
        millis(times[count * 99 / 100]),
        conflicts,
        commands as f64 / count as f64,
        each(server),
        each(own),
    );
    if let Some((products, time)) = moved {
        println!(
            "    moving {products} products to their popularity afterwards took {:.1} ms of database CPU each",
            millis(time) / products as f64
        );
    }
    if let Some(longest) = waits.last() {
        println!(
            "    of {} looks the oldest review not yet counted was {:.0} ms old in the middle, {:.0} at most",
            waits.len(),
            millis(waits[waits.len() / 2]),
            millis(*longest)
        );
    }
}

/// Moves products to their popularity, which the service leaves to the background; returns how many,
/// and the CPU time that the database took for it.
async fn moved(shop: &Shop<'_>, way: Way) -> Option<(usize, Duration)> {
    if way != Way::Service {
        return None;
    }
    let server = shop.testbed.cpu().await;
    let moved = shop.testbed.catalog.work_off(Worker::Ranks).await;
    let products = usize::try_from(moved.unwrap()).unwrap();
    let time = shop.testbed.since(server).await;
    (products > 0).then_some((products, time))
}

/// Reads the products, so that no way finds them warmer than another.
async fn warm(plain: &Database, products: &[ProductId]) {
    let collection = plain.collection::<RawDocumentBuf>("products");
    for some in products.chunks(1_000) {
        let ids: Vec<i64> = some.iter().map(|id| id.to_i64()).collect();
        let found = collection.find(doc! { "_id": { "$in": ids } }).await;
        let found: Vec<RawDocumentBuf> = found.unwrap().try_collect().await.unwrap();
        assert_eq!(found.len(), some.len());
    }
}

/// How old the oldest review was that was not counted yet, looked at again and again while one
/// product is written to; in order of size.
async fn waits(shop: &Shop<'_>, way: Way) -> Vec<Duration> {
    let mut waits = Vec::new();
    if way != Way::Service || shop.products.len() > 1 {
        return waits;
    }
    let reviews = shop.testbed.direct.collection::<Document>("reviews");
    while !shop.over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let dirty = doc! { "product_id": shop.products[0].to_i64(), "dirty": true };
        let oldest = doc! { "_id": null, "at": { "$min": "$created_at" } };
        let pipeline = [doc! { "$match": dirty }, doc! { "$group": oldest }];
        let mut found = reviews.aggregate(pipeline).await.unwrap();
        if let Some(oldest) = found.try_next().await.unwrap() {
            let at = oldest.get_datetime("at").unwrap().to_system_time();
            waits.push(at.elapsed().unwrap_or_default());
        }
    }
    waits.sort_unstable();
    waits
}

async fn writer(shop: &Shop<'_>, way: Way, run: &str) -> Vec<Duration> {
    let mut times = Vec::new();
    while !shop.over.load(Ordering::Relaxed) {
        let author = shop.authors.fetch_add(1, Ordering::Relaxed);
        // Every product as often as any other, far from the one before.
        let at = usize::try_from(author).unwrap().wrapping_mul(7_919);
        let product = shop.products[at % shop.products.len()];
        let author = format!("{run} {author}");
        let start = Instant::now();
        match way {
            Way::Service => shop.submit(&author, product).await,
            Way::TwoWrites => shop.write_twice(&author, product).await,
            Way::Transaction => shop.write_together(&author, product, counted()).await,
            Way::Ranking => shop.write_together(&author, product, ranked()).await,
        }
        times.push(start.elapsed());
    }
    times
}

impl Shop<'_> {
    async fn submit(&self, author: &str, product: ProductId) {
        let submitted = self
            .testbed
            .catalog
            .submit_review(author, None, product, content());
        let outcome = submitted.await.unwrap();
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }

    async fn write_twice(&self, author: &str, product: ProductId) {
        self.commands.fetch_add(2, Ordering::Relaxed);
        let reviews = self.reviews();
        let insert = reviews.insert_one(self.review(author, product));
        insert.write_concern(majority()).await.unwrap();
        let products = self.plain.collection::<Document>("products");
        let update = products.update_one(key(product), counted());
        update.write_concern(majority()).await.unwrap();
    }

    async fn write_together(&self, author: &str, product: ProductId, update: Document) {
        let mut session = self.plain.client().start_session().await.unwrap();
        let review = self.review(author, product);
        loop {
            let written = self
                .try_together(&mut session, &review, product, &update)
                .await;
            match written {
                Ok(()) => return,
                Err(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => {
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                    self.commands.fetch_add(1, Ordering::Relaxed);
                    let _ = session.abort_transaction().await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn try_together(
        &self,
        session: &mut ClientSession,
        review: &Document,
        product: ProductId,
        update: &Document,
    ) -> mongodb::error::Result<()> {
        session
            .start_transaction()
            .write_concern(majority())
            .await?;
        self.commands.fetch_add(1, Ordering::Relaxed);
        let insert = self.reviews();
        insert.insert_one(review).session(&mut *session).await?;
        self.commands.fetch_add(1, Ordering::Relaxed);
        let products = self.plain.collection::<Document>("products");
        let update = products.update_one(key(product), update.clone());
        update.session(&mut *session).await?;
        self.commands.fetch_add(1, Ordering::Relaxed);
        session.commit_transaction().await
    }

    fn reviews(&self) -> Collection<Document> {
        self.plain.collection(PLAIN)
    }

    fn review(&self, author: &str, product: ProductId) -> Document {
        let mut review = self.template.clone();
        review.insert("_id", ReviewId::random().to_i64());
        review.insert("product_id", product.to_i64());
        review.insert("author", doc! { "_id": author, "name": "Somebody" });
        review.insert("by", author);
        review
    }
}

/// What a review says.
pub(crate) fn content() -> ReviewContent {
    ReviewContent {
        rating: 4,
        recommended: Some(true),
        dimensions: Vec::new(),
        title: "Does what it should".to_owned(),
        body: "It came in time, works as it should, and has not disappointed us so far. ".repeat(4),
        language: Some("en".to_owned()),
        media: Vec::new(),
        author_name: Some("Somebody".to_owned()),
    }
}

/// Numbers that nothing else reads or indexes.
fn counted() -> Document {
    doc! { "$inc": { "plain.count": 1_i64, "plain.sum": 4_i64, "plain.four": 1_i64 } }
}

/// The same, and a number that lists are sorted by.
fn ranked() -> Document {
    doc! { "$inc": {
        "plain.count": 1_i64, "plain.sum": 4_i64, "plain.four": 1_i64, "rank.rating": 1_i32,
    } }
}

fn key(product: ProductId) -> Document {
    doc! { "_id": product.to_i64() }
}

fn majority() -> WriteConcern {
    WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .build()
}

/// Products on sale: one that nobody writes to, one for all writers, and many for the rest.
async fn products(direct: &Database) -> Vec<ProductId> {
    let products = direct.collection::<Document>("products");
    let find = products.find(doc! { "status": "active", "category": { "$exists": true } });
    let find = find.projection(doc! { "_id": 1 }).sort(doc! { "sku": 1 });
    let found = find
        .limit(i64::try_from(SPREAD + 2).unwrap())
        .await
        .unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    found.iter().map(id_of).collect()
}

/// A review as the service stores it.
async fn template(testbed: &Testbed, product: ProductId) -> Document {
    let author = format!("template {}", Uuid::new());
    let submitted = testbed
        .catalog
        .submit_review(&author, None, product, content());
    assert!(matches!(submitted.await.unwrap(), Outcome::Done(_)));
    let reviews = testbed.direct.collection::<Document>("reviews");
    let stored = reviews.find_one(doc! { "author._id": &author });
    let mut stored = stored.await.unwrap().expect("it was stored");
    stored.remove("_id");
    stored
}

async fn copy_indexes(plain: &Database) {
    let collection = plain.collection::<Document>(PLAIN);
    collection.drop().await.unwrap();
    plain.create_collection(PLAIN).await.unwrap();
    let reviews = plain.collection::<Document>("reviews");
    let indexes = reviews.list_indexes().await.unwrap();
    let indexes: Vec<_> = indexes.try_collect().await.unwrap();
    let own = indexes
        .into_iter()
        .filter(|index| index.keys != doc! { "_id": 1 });
    collection.create_indexes(own).await.unwrap();
}

/// How many transactions the server has aborted.
async fn aborts(shop: &Shop<'_>) -> i64 {
    let admin = shop.plain.client().database("admin");
    let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
    let transactions = status.get_document("transactions").unwrap();
    crate::testbed::number(transactions, "totalAborted")
}

/// The CPU time of this process, in steps of ten milliseconds (`proc_pid_stat(5)`).
fn own_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
