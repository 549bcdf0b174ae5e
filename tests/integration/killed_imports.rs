//! Imports that are killed, in every phase: run again, they end as one that was never killed.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde_json::Value;
use vitrine_domain::Catalog;
use vitrine_domain::import::ImportMode;
use vitrine_harness::eventually::eventually;
use vitrine_harness::process::Service;
use vitrine_harness::{App, test_on_own_server};
use vitrine_ingest::draft::BATCH_LINES;
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::run::{ImportOptions, import};

const SHOP: &str = r#"
version = 1
system = "shop"
[product]
external_id = "id"
sku = "sku"
name = "name"
kind = { value = "lamp" }
category = { from = "path", separator = ">" }
supplier = { id = "by", name = "maker", country = "land" }
[product.specs]
from = "facts"
[review]
each = "reviews"
external_id = { template = "{^.id}-{^item}" }
product = "^.id"
rating = "stars"
author = { id = "by" }
verified = "bought"
"#;

/// What the shop says first, and what it says later: a product that changes, one that is new, one
/// that a price list waits for, and a line that is rejected.
const EARLIER: &str = r#"
{"id": 1, "sku": "S1", "name": "Tarn", "path": "Light > Lamps", "by": 7, "maker": "North", "land": "NO", "facts": {"color": "red"}, "reviews": [{"stars": 5, "by": "ada"}]}
"#;
const LATER: &str = r#"
{"id": 1, "sku": "S1", "name": "Tarn II", "path": "Light > Lamps", "by": 7, "maker": "Norden", "land": "NO", "facts": {"color": "blue", "watts": 8}, "reviews": [{"stars": 4, "by": "ada", "bought": true}, {"stars": 2, "by": "bo"}]}
{"id": 2, "sku": "S2", "name": "Clip", "path": "Light > Clips", "by": 8, "maker": "South", "land": "IT", "facts": {"color": "green", "hooks": 2}, "reviews": [{"stars": 3, "by": "ada"}]}
{"id": 3, "sku": "S3", "name": "Fell", "path": "Light > Lamps", "by": 7, "maker": "Norden", "land": "NO", "facts": {"dimmable": true}, "reviews": [{"stars": 1, "by": "cy"}, {"stars": 5, "by": "di"}]}
{"id": 4, "sku": "S4", "path": "Light > Lamps"}
"#;
const PRICES: &str = r#"
version = 1
system = "prices"
[product]
external_id = "sku"
sku = "sku"
price = { amount = "net", currency = { value = "EUR" } }
"#;
const PRICE_LIST: &str = r#"
{"sku": "S1", "net": "10.00"}
{"sku": "S3", "net": "30.00"}
"#;

/// Where an import is killed: before this many of these commands on a collection.
type Place = (&'static str, &'static [&'static str], i32);

const WRITES: &[&str] = &["insert", "update", "findAndModify", "delete"];
const READS: &[&str] = &["find", "aggregate"];

const PLACES: &[Place] = &[
    ("products", READS, 0),
    ("names", READS, 0),
    ("spec_keys", WRITES, 0),
    ("spec_keys", WRITES, 1),
    ("categories", WRITES, 0),
    ("suppliers", WRITES, 0),
    ("suppliers", WRITES, 1),
    ("words", WRITES, 0),
    ("names", WRITES, 0),
    ("names", WRITES, 1),
    ("products", WRITES, 0),
    ("products", WRITES, 1),
    ("products", WRITES, 2),
    ("contributions", WRITES, 0),
    ("reviews", WRITES, 0),
    ("reviews", WRITES, 1),
    ("category_generations", WRITES, 1),
];

/// Before this many commits.
const COMMITS: std::ops::Range<i32> = 0..5;

struct Files {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let files = Self {
            _folder: folder,
            path,
        };
        for (name, text) in [
            ("shop.toml", SHOP),
            ("earlier.jsonl", EARLIER),
            ("later.jsonl", LATER),
            ("prices.toml", PRICES),
            ("prices.jsonl", PRICE_LIST),
        ] {
            std::fs::write(files.of(name), text.trim_start()).unwrap();
        }
        files
    }

    fn of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn rejects(&self) -> String {
        std::fs::read_to_string(self.of("rejects.jsonl")).unwrap_or_default()
    }
}

/// Removes everything, and imports what comes before the import that is killed.
async fn before(app: &App, files: &Files) -> Catalog {
    for name in app.direct().list_collection_names().await.unwrap() {
        let collection = app.direct().collection::<Document>(&name);
        collection.delete_many(doc! {}).await.unwrap();
    }
    for name in ["rejects.jsonl", "rejects.jsonl.part", "rejects.jsonl.old"] {
        let _ = std::fs::remove_file(files.of(name));
    }
    let catalog = app.other_process().await;
    for (mapping, feed) in [
        ("shop.toml", "earlier.jsonl"),
        ("prices.toml", "prices.jsonl"),
    ] {
        let options = ImportOptions {
            files: vec![files.of(feed)],
            mapping: Arc::new(Mapping::from_file(&files.of(mapping)).unwrap()),
            mode: ImportMode::Write,
            rejects: None,
            mappers: None,
        };
        let report = import(&catalog, &options, |_| ()).await.unwrap();
        assert_eq!(report.counts.rejected, 0, "{report}");
    }
    catalog
}

/// Starts the binary with the later feed, or with another file.
fn start(app: &App, files: &Files, feed: &Path) -> Service {
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let (mapping, rejects) = (text(files.of("shop.toml")), text(files.of("rejects.jsonl")));
    Service::start(&[
        "import",
        feed.to_str().unwrap(),
        "--mapping",
        &mapping,
        "--rejects",
        &rejects,
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
    ])
}

async fn run(app: &App, files: &Files) {
    let mut whole = start(app, files, &files.of("later.jsonl"));
    let status = whole.ended().await;
    assert!(status.success(), "{}", whole.output());
}

/// What is stored, without ids and times.
pub(crate) async fn content(app: &App) -> Value {
    let query = r"{
        products(first: 50, sort: [{ key: NAME }], filter: { status: [ACTIVE, DRAFT, ARCHIVED] }) { nodes {
            slug sku name kind status price { amount } category { name ancestors { name } }
            supplier { name country supplier { name source { system externalId } } }
            specs { key text } ratingStats { count average verifiedCount histogram { rating count } }
            reviews(first: 50, sort: HIGHEST) { nodes { rating verified author { name } status } } } totalCount { value } }
        specKeys(first: 50) { nodes { key type } }
        categories { name children { name } }
        suppliers(first: 50) { nodes { name country source { externalId } } }
    }";
    let catalog = app.other_process().await;
    let answer = app.query(query).as_admin().through(&catalog).await;
    answer.data().clone()
}

/// Where an import is killed while it reads: after this many lines and half of the next one. A batch
/// of lines is stored before the second.
const READ: [usize; 2] = [2, BATCH_LINES + 50];

/// The later feed, and so many lines more that it has two batches. What is read ahead is a part of
/// the second.
fn long_feed() -> String {
    let more = (0..BATCH_LINES + 100).map(|n| {
        let note = "unused ".repeat(if n < BATCH_LINES { 1 } else { 1_000 });
        format!(
            "{{\"id\": \"x{n}\", \"sku\": \"X{n}\", \"name\": \"Row {n}\", \"path\": \"Light\", \"note\": \"{note}\"}}\n"
        )
    });
    let later = LATER.trim_start().to_owned();
    [later].into_iter().chain(more).collect()
}

/// Kills an import that has read this many lines of a feed and half of the next one.
async fn kill_while_reading(app: &App, files: &Files, feed: &str, lines: usize) {
    let pipe = files.of("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let mut import = start(app, files, &pipe);
    let ends: Vec<usize> = feed.match_indices('\n').map(|(end, _)| end + 1).collect();
    let (begin, end) = (ends[lines - 1], ends[lines]);
    let part = feed.as_bytes()[..usize::midpoint(begin, end)].to_vec();
    // The pipe opens when the import reads it, and stays open.
    let to = pipe.clone();
    let open = tokio::task::spawn_blocking(move || {
        let mut open = OpenOptions::new().write(true).open(to)?;
        open.write_all(&part).map(|()| open)
    });
    let open = open.await.unwrap().unwrap();
    if lines > BATCH_LINES {
        let products = app.direct().collection::<Document>("products");
        eventually(
            "the first batch is stored",
            Duration::from_mins(1),
            async || {
                let count = products.count_documents(doc! {}).await.unwrap();
                (count > 900).then_some(())
            },
        )
        .await;
    }
    import.signal("KILL");
    import.ended().await;
    drop(open);
    std::fs::remove_file(pipe).unwrap();
    app.kill_abandoned_transactions().await;
}

#[test]
fn an_import_that_is_killed_while_it_reads_is_completed_by_the_next() {
    test_on_own_server(async |app| {
        let files = Files::new();
        let feed = long_feed();
        std::fs::write(files.of("later.jsonl"), &feed).unwrap();
        before(app, &files).await;
        run(app, &files).await;
        let (whole, rejects) = (content(app).await, files.rejects());
        let products = i64::try_from(BATCH_LINES + 103).unwrap();
        assert_eq!(whole["products"]["totalCount"]["value"], products);
        for lines in READ {
            before(app, &files).await;
            kill_while_reading(app, &files, &feed, lines).await;
            app.audit().await;
            run(app, &files).await;
            assert_eq!(content(app).await, whole, "killed after {lines} lines");
            assert_eq!(files.rejects(), rejects, "killed after {lines} lines");
        }
    });
}

/// Kills an import before a command; returns whether it came so far.
async fn kill(app: &App, files: &Files, data: Document, skip: i32) -> bool {
    // The import is killed within a second. The fail point is set back only when the command that it holds has ended.
    let held = app.hold_after(skip, data).await;
    let mut import = start(app, files, &files.of("later.jsonl"));
    let is_there = held.is_reached(|| import.has_ended()).await;
    if is_there {
        import.signal("KILL");
    }
    import.ended().await;
    app.stop_failing().await;
    app.kill_abandoned_transactions().await;
    is_there
}

#[test]
fn an_import_that_is_killed_in_any_phase_is_completed_by_the_next() {
    test_on_own_server(async |app| {
        let files = Files::new();
        before(app, &files).await;
        run(app, &files).await;
        let (whole, rejects) = (content(app).await, files.rejects());
        assert_eq!(whole["products"]["totalCount"]["value"], 3);
        assert!(rejects.contains("is missing"), "{rejects}");
        let of = |(collection, commands, skip): &Place| {
            let namespace = format!("{}.{collection}", app.store.database_name());
            let data = doc! { "failCommands": commands.to_vec(), "namespace": namespace };
            (format!("{collection}, {commands:?} {skip}"), data, *skip)
        };
        let commit = |skip: i32| {
            let data = doc! { "failCommands": ["commitTransaction"] };
            (format!("commit {skip}"), data, skip)
        };
        let places = PLACES.iter().map(of).chain(COMMITS.map(commit));
        let mut unreached = Vec::new();
        for (place, data, skip) in places {
            before(app, &files).await;
            if !kill(app, &files, data, skip).await {
                unreached.push(place.clone());
            }
            app.audit().await;
            run(app, &files).await;
            assert_eq!(content(app).await, whole, "killed at {place}");
            assert_eq!(files.rejects(), rejects, "killed at {place}");
            app.audit().await;
        }
        assert_eq!(unreached, [""; 0]);
    });
}
