//! Backup and restore to a point in time, with what every MongoDB has: a copy of the files of a member, and its
//! oplog. docs/operations.md has the same steps for operators.

use std::fs;
use std::path::Path;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, Timestamp, doc};
use mongodb::{Client, Database};
use vitrine_harness::mongod::find_mongod;
use vitrine_harness::process::run;
use vitrine_mongod::{Instance, StartOptions};

use crate::process::{add_products, block_on};

/// The database of the service.
const NAME: &str = "vitrine";

async fn start(data: &Path) -> Instance {
    let options = StartOptions {
        cache_mib: 256,
        ..StartOptions::new(data)
    };
    Instance::start(&find_mongod().await.unwrap(), &options)
        .await
        .unwrap()
}

/// Runs a command of the service, which must succeed; returns what it prints.
fn vitrine(uri: &str, arguments: &[&str]) -> String {
    let secret = ["--cursor-secret", "0123456789abcdef"];
    let output = run(&[arguments, &["--mongodb-uri", uri], &secret].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

async fn client(uri: &str) -> Client {
    Client::with_uri_str(uri).await.unwrap()
}

async fn command(database: &Database, command: Document) -> Document {
    database.run_command(command).await.unwrap()
}

/// The time of the last change.
async fn last_change(client: &Client) -> Timestamp {
    let oplog = client.database("local").collection::<Document>("oplog.rs");
    let last = oplog.find_one(doc! {}).sort(doc! { "$natural": -1 }).await;
    last.unwrap().unwrap().get_timestamp("ts").unwrap()
}

/// Copies the files of a member while it writes nothing; returns the time of the last change in them.
async fn back_up(client: &Client, from: &Path, to: &Path) -> Timestamp {
    let admin = client.database("admin");
    command(&admin, doc! { "fsync": 1, "lock": true }).await;
    let until = last_change(client).await;
    copy(from, to);
    command(&admin, doc! { "fsyncUnlock": 1 }).await;
    until
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_type().unwrap().is_file() && entry.file_name() != "mongod.lock" {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The changes of our database after an instant and up to another, oldest first.
async fn changes(client: &Client, after: Timestamp, until: Timestamp) -> Vec<Document> {
    let oplog = client.database("local").collection::<Document>("oplog.rs");
    let between = doc! { "ts": { "$gt": after, "$lte": until } };
    let found = oplog.find(between).sort(doc! { "$natural": 1 }).await;
    let found: Vec<Document> = found.unwrap().try_collect().await.unwrap();
    found.into_iter().flat_map(operations).collect()
}

/// The operations of an entry: several for a transaction.
fn operations(entry: Document) -> Vec<Document> {
    let inner = entry
        .get_document("o")
        .and_then(|o| o.get_array("applyOps"));
    let all = match inner {
        Ok(inner) => inner
            .iter()
            .filter_map(Bson::as_document)
            .cloned()
            .collect(),
        Err(_) => vec![entry],
    };
    let ours = |one: &Document| {
        let namespace = one.get_str("ns").unwrap_or_default();
        namespace.starts_with(&format!("{NAME}.")) && one.get_str("op").unwrap_or_default() != "n"
    };
    let wanted = ["op", "ns", "ui", "o", "o2"];
    let all = all.into_iter().filter(ours).map(|one| {
        let kept = one
            .into_iter()
            .filter(|(key, _)| wanted.contains(&key.as_str()));
        kept.collect()
    });
    all.collect()
}

async fn names(client: &Client) -> Vec<String> {
    let products = client.database(NAME).collection::<Document>("products");
    let found = products.find(doc! {}).sort(doc! { "name": 1 }).await;
    let found: Vec<Document> = found.unwrap().try_collect().await.unwrap();
    let name = |one: &Document| one.get_str("name").unwrap().to_owned();
    found.iter().map(name).collect()
}

#[test]
fn a_database_is_restored_to_the_moment_before_a_loss() {
    let (live, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    block_on(async {
        let server = start(live.path()).await;
        vitrine(server.uri(), &["migrate", "up"]);
        add_products(server.uri(), &["Before".to_owned()]).await;
        let admin = client(server.uri()).await;
        let backed_up = back_up(&admin, live.path(), copied.path()).await;
        add_products(server.uri(), &["After".to_owned()]).await;
        let good = last_change(&admin).await;
        let products = admin.database(NAME).collection::<Document>("products");
        products.delete_many(doc! {}).await.unwrap();
        assert_eq!(names(&admin).await, [""; 0]);
        let missing = changes(&admin, backed_up, good).await;
        assert!(!missing.is_empty());
        server.stop().await.unwrap();

        let restored = start(copied.path()).await;
        let admin = client(restored.uri()).await;
        assert_eq!(names(&admin).await, ["Before"]);
        for operation in missing {
            let apply = doc! { "applyOps": [operation] };
            command(&admin.database("admin"), apply).await;
        }
        assert_eq!(names(&admin).await, ["After", "Before"]);
        let audited = vitrine(restored.uri(), &["audit"]);
        assert!(audited.contains("0 differences"), "{audited}");
        restored.stop().await.unwrap();
    });
}
