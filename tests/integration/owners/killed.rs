//! Processes that are killed while people and feeds write one product: what was begun is repeated, and ends as
//! if nothing had happened.

use std::fs;
use std::path::Path;

use mongodb::bson::{Document, doc};
use tokio::task::JoinSet;
use vitrine_harness::http;
use vitrine_harness::mutations::mutation;
use vitrine_harness::process::Service;
use vitrine_harness::test_on_own_server;
use vitrine_harness::token::token;

use super::people::{edit, id, overrides, release};
use super::*;
use crate::history::history;
use crate::operators;

/// Where a process is killed: before this many of these commands on a collection.
type Place = (&'static str, &'static [&'static str], i32);

const WRITES: &[&str] = &["insert", "update", "findAndModify", "delete"];
const READS: &[&str] = &["find", "aggregate"];

/// Where mutations are killed.
const OF_MUTATIONS: &[Place] = &[
    ("products", WRITES, 0),
    ("history", WRITES, 0),
    ("contributions", WRITES, 0),
    ("mutations", WRITES, 0),
];

/// Where imports are killed.
const OF_IMPORTS: &[Place] = &[
    ("products", READS, 0),
    ("products", WRITES, 0),
    ("history", WRITES, 0),
    ("contributions", READS, 0),
    ("contributions", WRITES, 0),
];

/// A fail point for each place, and for the first commit; with a name of the place.
fn fail_points(app: &App, places: &[Place]) -> Vec<(String, i32, Document)> {
    let of = |(collection, commands, skip): &Place| {
        let namespace = format!("{}.{collection}", app.store.database_name());
        let data = doc! { "failCommands": commands.to_vec(), "namespace": namespace };
        (format!("{collection}, {commands:?} {skip}"), *skip, data)
    };
    let commit = doc! { "failCommands": ["commitTransaction"] };
    let commit = ("commit".to_owned(), 0, commit);
    places.iter().map(of).chain([commit]).collect()
}

/// Ends what a killed process has left open on the server.
async fn clean_up(app: &App) {
    app.stop_failing().await;
    app.kill_abandoned_transactions().await;
}

/// Imports a line that may fail, because the server ends what a dead process has begun.
async fn try_line(app: &App, draft: ProductBuilder) {
    let mut session = app.catalog.import(ImportMode::Write);
    if session.products(vec![draft.into()]).await.is_ok() {
        let _ = session.finish().await;
    }
}

/// Sends a mutation of ann over HTTP.
fn send(address: &str, name: &str, input: &Value) -> JoinSet<()> {
    let body = json!({ "query": mutation(name).document(), "variables": { "input": input } });
    let (address, bearer) = (
        address.to_owned(),
        format!("Bearer {}", token("ann", "admin")),
    );
    let mut sent = JoinSet::new();
    sent.spawn(async move {
        let headers = [("authorization", bearer.as_str())];
        // The connection breaks with its service.
        let _ = http::graphql_with(&address, &body, &headers).await;
    });
    sent
}

/// Kills a service while it executes a mutation, and imports a line of the feed at that time.
async fn kill_a_mutation(
    app: &App,
    (place, skip, data): (String, i32, Document),
    (name, input): (&str, &Value),
    feed: ProductBuilder,
) {
    let (mut service, address) = operators::started(app, &[]).await;
    let held = app.hold_after(skip, data).await;
    let mut sent = send(&address, name, input);
    let reached = held.is_reached(|| sent.try_join_next().is_some()).await;
    assert!(reached, "{name} never comes to {place}");
    service.signal("KILL");
    service.ended().await;
    sent.join_all().await;
    tokio::join!(try_line(app, feed), clean_up(app));
    app.audit().await;
}

/// The history of the product without the names of its revisions, oldest first.
async fn changes(app: &App) -> Vec<String> {
    let lines = history(app, &id(app).await).await.into_iter().rev();
    let change = |line: String| {
        let (by, what) = line.split_once(": ").unwrap();
        format!("{}: {what}", by.split(',').next().unwrap())
    };
    lines.map(change).collect()
}

/// Opens the service on an empty database.
async fn emptied(app: &App) -> App {
    crate::export::emptied(app).await;
    app.with_empty_memory().await
}

#[test]
fn an_edit_that_is_killed_while_a_feed_is_imported_is_made_once() {
    test_on_own_server(async |app| {
        for point in fail_points(app, OF_MUTATIONS) {
            let app = &emptied(app).await;
            assert_eq!(line(app, lamp().price("10")).await, "created");
            let input =
                json!({ "id": id(app).await, "price": { "amount": "44" }, "idempotencyKey": "k" });
            let place = point.0.clone();
            kill_a_mutation(app, point, ("updateProduct", &input), lamp().price("12")).await;
            line(app, lamp().price("12")).await;
            app.mutate("updateProduct", input).by("ann").await.done();
            assert_eq!(line(app, lamp().price("12")).await, "unchanged", "{place}");
            assert_eq!(page(app).await["price"]["amount"], "44.00", "{place}");
            assert_eq!(overrides(app).await, ["price by ann: 12.00 EUR"], "{place}");
            let first = [
                "IMPORT by catalogue: price 10.00 EUR > 12.00 EUR",
                "MUTATION by ann: price 12.00 EUR > 44.00 EUR",
            ];
            let second = [
                "MUTATION by ann: price 10.00 EUR > 44.00 EUR",
                "IMPORT by catalogue: ; kept: price",
            ];
            let made = changes(app).await;
            assert!(made == first || made == second, "{place}: {made:?}");
        }
    });
}

/// Kills a release of the price at each place, while the feed of this system says a new one.
async fn kill_releases(app: &App, system: &str, feed: fn(&str) -> ProductBuilder) {
    for point in fail_points(app, OF_MUTATIONS) {
        let app = &emptied(app).await;
        line(app, lamp().price("10")).await;
        line(app, feed("10")).await;
        edit(app, json!({ "price": { "amount": "44" } })).await;
        line(app, feed("11")).await;
        let before = changes(app).await.len();
        let input =
            json!({ "productId": id(app).await, "fields": ["price"], "idempotencyKey": "k" });
        let place = point.0.clone();
        kill_a_mutation(app, point, ("releaseFields", &input), feed("12")).await;
        line(app, feed("12")).await;
        app.mutate("releaseFields", input).by("ann").await.done();
        assert_eq!(line(app, feed("12")).await, "unchanged", "{place}");
        assert_eq!(page(app).await["price"]["amount"], "12.00", "{place}");
        assert_eq!(overrides(app).await, [""; 0], "{place}");
        let first = [
            &format!("IMPORT by {system}: ; kept: price"),
            "RELEASE by ann: price 44.00 EUR > 12.00 EUR",
        ];
        let second = [
            "RELEASE by ann: price 44.00 EUR > 11.00 EUR",
            &format!("IMPORT by {system}: price 11.00 EUR > 12.00 EUR"),
        ];
        let made = changes(app).await.split_off(before);
        assert!(made == first || made == second, "{place}: {made:?}");
        assert_eq!(line(app, feed("13")).await, "updated", "{place}");
        assert_eq!(page(app).await["price"]["amount"], "13.00", "{place}");
    }
}

#[test]
fn a_release_that_is_killed_while_a_feed_is_imported_is_made_once() {
    test_on_own_server(async |app| {
        kill_releases(app, "catalogue", |amount| lamp().price(amount)).await;
    });
}

#[test]
fn a_release_that_is_killed_while_one_of_two_feeds_is_imported_is_made_once() {
    test_on_own_server(async |app| kill_releases(app, "prices", price).await);
}

const CATALOGUE: &str = r#"
version = 1
system = "catalogue"
[product]
external_id = "id"
sku = "sku"
name = "name"
kind = { value = "thing" }
category = { from = "path", separator = ">" }
price = { amount = "price", currency = { value = "EUR" } }
[product.specs]
include = ["color"]
"#;

/// The line of the feed, in the words of its mapping.
fn as_line(name: &str, price: &str, color: &str) -> String {
    let line = json!({ "id": "c1", "sku": "L-1", "name": name, "path": "Light > Lamps", "price": price, "color": color });
    format!("{line}\n")
}

/// Starts an import of the line by the real binary.
fn start(app: &App, folder: &Path, feed: &str) -> Service {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (mapping, file) = (path("catalogue.toml"), path("catalogue.jsonl"));
    fs::write(&mapping, CATALOGUE).unwrap();
    fs::write(&file, feed).unwrap();
    let at = [
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
    ];
    Service::start(&[&["import", &file, "--mapping", &mapping], at.as_slice()].concat())
}

/// Imports a line by the real binary, and returns what it reports.
async fn import(app: &App, folder: &Path, feed: &str) -> String {
    let mut import = start(app, folder, feed);
    let status = import.ended().await;
    assert!(status.success(), "{}", import.output());
    import.output()
}

/// Kills an import at a place, and edits the product at that time.
async fn kill_an_import(
    app: &App,
    folder: &Path,
    (place, skip, data): (String, i32, Document),
    input: &Value,
) {
    let held = app.hold_after(skip, data).await;
    let mut started = start(app, folder, &as_line("Lamp II", "12", "blue"));
    assert!(
        held.is_reached(|| started.has_ended()).await,
        "the import never comes to {place}"
    );
    let edit = async { app.mutate("updateProduct", input.clone()).by("ben").await };
    let kill = async {
        started.signal("KILL");
        started.ended().await;
        clean_up(app).await;
    };
    // The server may end the edit with what the import has left.
    let _ = tokio::join!(edit, kill);
    app.audit().await;
}

#[test]
fn an_import_that_is_killed_keeps_what_people_have_edited_before_and_meanwhile() {
    test_on_own_server(async |app| {
        let folder = tempfile::tempdir().unwrap();
        for point in fail_points(app, OF_IMPORTS) {
            let app = &emptied(app).await;
            import(app, folder.path(), &as_line("Lamp", "10", "red")).await;
            edit(app, json!({ "price": { "amount": "44" } })).await;
            let input = json!({ "id": id(app).await, "name": "Mine", "idempotencyKey": "k" });
            let place = point.0.clone();
            kill_an_import(app, folder.path(), point, &input).await;
            import(app, folder.path(), &as_line("Lamp II", "12", "blue")).await;
            app.mutate("updateProduct", input).by("ben").await.done();
            let again = import(app, folder.path(), &as_line("Lamp II", "12", "blue")).await;
            assert!(
                again.contains("unchanged               1"),
                "{place}: {again}"
            );
            let now = page(app).await;
            let shown = (
                &now["name"],
                &now["price"]["amount"],
                &now["specs"][0]["text"],
            );
            assert_eq!(
                shown,
                (&json!("Mine"), &json!("44.00"), &json!("blue")),
                "{place}"
            );
            assert_eq!(
                overrides(app).await,
                ["name by ben: Lamp II", "price by ann: 12.00 EUR"],
                "{place}"
            );
            let edited = ["MUTATION by ann: price 10.00 EUR > 44.00 EUR"];
            let first = [
                "IMPORT by catalogue: name Lamp > Lamp II; specs.color red > blue; kept: price",
                "MUTATION by ben: name Lamp II > Mine",
            ];
            let second = [
                "MUTATION by ben: name Lamp > Mine",
                "IMPORT by catalogue: specs.color red > blue; kept: name, price",
            ];
            let made = changes(app).await;
            let legal = [first, second].map(|last| [&edited[..], &last].concat());
            assert!(
                legal.iter().any(|legal| made == *legal),
                "{place}: {made:?}"
            );
            release(app, &["name", "price"]).await;
            assert_eq!(page(app).await["name"], "Lamp II", "{place}");
        }
    });
}
