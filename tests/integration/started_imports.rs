//! Imports that `startImport` starts: files are uploaded, tried, imported, stopped, and completed by another process.

use std::task::Poll;

use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::mutations::Reply;
use vitrine_harness::token::token;
use vitrine_harness::{Answer, App, http, test};
use vitrine_model::id::GlobalId;
use vitrine_model::import_run::{ImportPhase, RunProgress};
use vitrine_model::upload::MAX_UPLOAD_BYTES;

use crate::import_runs::MAPPING;
use crate::operators::with_service;

const RUN: &str = "query ($id: ID!) { import(id: $id) {
    id state dryRun system feeds process report error endedAt stopRequestedBy
    counts { lines created updated unchanged rejected }
    source { feeds tables mapping startedBy }
    rejects { nodes { line field reason } } } }";

/// Uploads a file; returns its id.
pub(crate) async fn upload(app: &App, name: &str, content: &[u8]) -> String {
    let mut writer = app.catalog.receive_upload(name, "ann").unwrap();
    writer.write(content).await.unwrap();
    GlobalId::Upload(writer.finish().await.unwrap().id).encode()
}

fn lamps(numbers: std::ops::Range<u32>) -> String {
    let line = |n: u32| json!({ "id": n, "name": format!("Lamp {n}") }).to_string() + "\n";
    numbers.map(line).collect()
}

async fn start(app: &App, feeds: &[&str], dry_run: bool) -> Reply {
    let input = json!({ "feeds": feeds, "mapping": MAPPING, "dryRun": dry_run });
    app.mutate("startImport", input).await
}

/// Runs what waits, and returns the import.
async fn run_all(app: &App, started: &Reply) -> Answer {
    app.catalog.work_off(Worker::Imports).await.unwrap();
    shown(app, &started.text("/import/id")).await
}

async fn shown(app: &App, id: &str) -> Answer {
    app.query(RUN).with("id", id).as_admin().await
}

async fn products(app: &App) -> usize {
    app.documents("products", doc! {}).await.len()
}

#[test]
fn a_feed_is_tried_and_then_imported() {
    test(async |app| {
        let lines = lamps(0..3) + "{\"id\":7}\n";
        let feed = upload(app, "lamps.jsonl", lines.as_bytes()).await;
        let tried = start(app, &[&feed], true).await;
        let waiting = shown(app, &tried.text("/import/id")).await;
        assert_eq!(waiting.text("/import/state"), "QUEUED");
        assert!(waiting.at("/import/process").is_null());
        let tried = run_all(app, &tried).await;
        let counts = |created: u32, unchanged: u32| json!({ "lines": 4, "created": created, "updated": 0, "unchanged": unchanged, "rejected": 1 });
        assert_eq!(tried.at("/import/dryRun"), true);
        assert_eq!(tried.text("/import/state"), "DONE");
        assert_eq!(tried.at("/import/counts"), &counts(3, 0));
        assert!(
            tried
                .text("/import/report")
                .starts_with("Dry run, nothing was written.")
        );
        assert!(
            tried
                .text("/import/report")
                .contains("\n  lamps.jsonl is JSON Lines")
        );
        let reject = tried.at("/import/rejects/nodes/0");
        assert_eq!(
            (&reject["line"], &reject["field"]),
            (&json!(4), &json!("name"))
        );
        assert_eq!(products(app).await, 0, "a dry run stores nothing");
        let source = tried.at("/import/source");
        assert_eq!(
            source,
            &json!({ "feeds": [feed], "tables": [], "mapping": MAPPING, "startedBy": "admin" })
        );
        let stored = start(app, &[&feed], false).await;
        let stored = run_all(app, &stored).await;
        assert_eq!(stored.at("/import/counts"), &counts(3, 0));
        assert_eq!(stored.text("/import/process"), "a test");
        assert_eq!(products(app).await, 3);
        let again = start(app, &[&feed], false).await;
        assert_eq!(
            run_all(app, &again).await.at("/import/counts"),
            &counts(0, 3)
        );
    });
}

#[test]
fn an_upload_comes_back_byte_for_byte_whatever_its_size() {
    test(async |app| {
        // Two and a half parts, in pieces that fit no part.
        let filler = "x".repeat(100_000);
        let line = |n: u32| {
            json!({ "id": n, "name": format!("Lamp {n}"), "x": filler }).to_string() + "\n"
        };
        let lines: String = (0..25).map(line).collect();
        let mut writer = app.catalog.receive_upload("lamps.jsonl", "ann").unwrap();
        for piece in lines.as_bytes().chunks(70_001) {
            writer.write(piece).await.unwrap();
        }
        let upload = writer.finish().await.unwrap();
        assert_eq!((upload.bytes, upload.parts), (lines.len() as u64, 3));
        let id = GlobalId::Upload(upload.id).encode();
        let started = start(app, &[&id], false).await;
        assert_eq!(
            run_all(app, &started)
                .await
                .number("/import/counts/created"),
            25
        );
    });
}

#[test]
fn an_upload_that_is_empty_or_too_large_is_refused() {
    test(async |app| {
        let writer = app.catalog.receive_upload("a.csv", "ann").unwrap();
        let empty = writer.finish().await.unwrap_err();
        assert!(empty.to_string().contains("is empty"), "{empty}");
        let mut writer = app.catalog.receive_upload("a.csv", "ann").unwrap();
        let size = usize::try_from(MAX_UPLOAD_BYTES).unwrap() + 1;
        writer.write(&vec![0; 2_000_000]).await.unwrap();
        assert_eq!(app.documents("upload_parts", doc! {}).await.len(), 1);
        let large = writer.write(&vec![0; size]).await.unwrap_err();
        assert!(large.to_string().contains("at most 512 MiB"), "{large}");
        writer.discard().await;
        assert!(app.catalog.receive_upload("..", "ann").is_err());
        assert_eq!(app.documents("upload_parts", doc! {}).await.len(), 0);
    });
}

#[test]
fn what_cannot_be_imported_is_refused_at_its_field() {
    test(async |app| {
        let feed = upload(app, "lamps.jsonl", b"{}").await;
        let refused = async |feeds: Value, tables: Value, mapping: &str| {
            let input = json!({ "feeds": feeds, "tables": tables, "mapping": mapping });
            let answer = app.mutate("startImport", input).await;
            (answer.user_error_paths(), answer.user_errors().join(" | "))
        };
        let (paths, _) = refused(json!([]), json!([]), MAPPING).await;
        assert_eq!(paths, ["INVALID at feeds"]);
        let (paths, _) = refused(json!([feed, "cAAAAAAAAAE"]), json!([]), MAPPING).await;
        assert_eq!(paths, ["INVALID at feeds.1"], "a product is no upload");
        let (paths, said) = refused(json!([feed, "ZgAAAAAAAAE"]), json!([]), MAPPING).await;
        assert_eq!(paths, ["NOT_FOUND at feeds.1"]);
        assert!(said.contains("kept for a day"), "{said}");
        let (paths, said) = refused(
            json!([feed]),
            json!([]),
            "version = 1\nsytem = \"x\"\n[product]\nnane = \"n\"",
        )
        .await;
        assert!(
            paths.len() > 1 && paths.iter().all(|path| path == "INVALID at mapping"),
            "{paths:?}"
        );
        assert!(said.contains("sytem") && said.contains("nane"), "{said}");
        let long = "#".repeat(200_001);
        let (paths, said) = refused(json!([feed]), json!([]), &long).await;
        assert_eq!(paths, ["TOO_LARGE at mapping"], "{said}");
        let many = vec![feed.as_str(); 21];
        assert_eq!(
            refused(json!(many), json!([]), MAPPING).await.0,
            ["TOO_LARGE at feeds"]
        );
        assert_eq!(app.documents("imports", doc! {}).await.len(), 0);
    });
}

#[test]
fn a_mapping_finds_the_files_that_it_names() {
    test(async |app| {
        let join = "[join.label]\nfile = \"names.csv\"\nkey = \"nr\"\nfrom = \"id\"\n";
        let mapping = MAPPING.replace("name = \"name\"", "name = \"label.name\"") + join;
        let feed = upload(app, "lamps.jsonl", lamps(0..1).as_bytes()).await;
        let input =
            |tables: &[&str]| json!({ "feeds": [feed], "tables": tables, "mapping": mapping });
        let missing = app.mutate("startImport", input(&[])).await;
        let said = missing.user_errors().join(" ");
        assert!(
            said.contains("names.csv") && said.contains("upload it"),
            "{said}"
        );
        let gone = app.mutate("startImport", input(&["ZgAAAAAAAAE"])).await;
        assert_eq!(gone.user_error_paths(), ["NOT_FOUND at tables.0"]);
        let table = upload(app, "some/names.csv", b"nr,name\n0,Eclipse\n").await;
        let other = upload(app, "names.csv", b"nr,name\n0,Corona\n").await;
        let twice = app.mutate("startImport", input(&[&table, &other])).await;
        assert_eq!(twice.user_error_paths(), ["INVALID at tables.1"]);
        let started = app.mutate("startImport", input(&[&table])).await;
        assert_eq!(run_all(app, &started).await.text("/import/state"), "DONE");
        let found = app.documents("products", doc! { "name": "Eclipse" }).await;
        assert_eq!(found.len(), 1);
    });
}

#[test]
fn an_import_that_waits_is_stopped_at_once() {
    test(async |app| {
        let feed = upload(app, "lamps.jsonl", lamps(0..1).as_bytes()).await;
        let started = start(app, &[&feed], false).await;
        let id = started.text("/import/id");
        app.mutate("stopImport", json!({ "id": id })).await.done();
        let stopped = run_all(app, &started).await;
        assert_eq!(stopped.text("/import/state"), "STOPPED");
        assert!(!stopped.at("/import/endedAt").is_null());
        assert_eq!(products(app).await, 0);
    });
}

#[test]
fn an_import_whose_process_died_is_begun_again_and_completed() {
    test(async |app| {
        let lines = lamps(0..2_500) + "{\"id\":9999}\n";
        let feed = upload(app, "lamps.jsonl", lines.as_bytes()).await;
        let started = start(app, &[&feed], false).await;
        let id = started.text("/import/id");
        // The process goes away when it has sent the first batch.
        let mut state = MaintenanceState::default();
        let mut work = Box::pin(app.catalog.work(Worker::Imports, &mut state));
        std::future::poll_fn(|cx| {
            assert!(work.as_mut().poll(cx).is_pending(), "it was complete");
            let stored = |one: &String| one == "insert products" || one == "update products";
            if app.sent().iter().any(stored) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        drop(work);
        app.catalog.work_off(Worker::Imports).await.unwrap();
        assert_eq!(
            shown(app, &id).await.text("/import/state"),
            "READING",
            "its process may be slow"
        );
        app.clock.advance(30_001);
        assert_eq!(shown(app, &id).await.text("/import/state"), "CUT_OFF");
        let ended = run_all(app, &started).await;
        assert_eq!(ended.text("/import/state"), "DONE");
        let counts = ended.at("/import/counts");
        assert_eq!(
            counts["created"].as_i64().unwrap() + counts["unchanged"].as_i64().unwrap(),
            2_500
        );
        assert!(counts["unchanged"].as_i64().unwrap() > 0);
        assert_eq!(
            ended.at("/import/rejects/nodes").as_array().unwrap().len(),
            1
        );
        assert_eq!(products(app).await, 2_500);
        // A late heartbeat of the first attempt asks it to stop, and is not stored.
        let Ok(GlobalId::Import(number)) = GlobalId::decode(&id) else {
            panic!("{id}")
        };
        let nothing = RunProgress::default();
        let late = app.store().advance_import(
            (number, 1),
            ImportPhase::Reading,
            &nothing,
            app.catalog.now(),
        );
        assert!(late.await.unwrap());
        assert_eq!(shown(app, &id).await.at("/import/counts"), counts);
    });
}

#[test]
fn an_import_that_ends_its_process_again_and_again_is_given_up() {
    test(async |app| {
        let feed = upload(app, "lamps.jsonl", lamps(0..1).as_bytes()).await;
        let started = start(app, &[&feed], false).await;
        let died = doc! { "$set": { "attempt": 5_i64, "phase": "reading" } };
        let imports = app
            .direct()
            .collection::<mongodb::bson::Document>("imports");
        imports.update_one(doc! {}, died).await.unwrap();
        app.clock.advance(30_001);
        let ended = run_all(app, &started).await;
        assert_eq!(ended.text("/import/state"), "FAILED");
        assert!(ended.text("/import/error").contains("ended 5 times"));
    });
}

#[test]
fn an_import_of_a_damaged_file_says_so_without_naming_a_folder() {
    test(async |app| {
        let feed = upload(
            app,
            "lamps.jsonl.gz",
            b"\x1f\x8b\x08 nothing that was packed",
        )
        .await;
        let started = start(app, &[&feed], false).await;
        let ended = run_all(app, &started).await;
        assert_eq!(ended.text("/import/state"), "INCOMPLETE");
        let error = ended.text("/import/error");
        assert!(error.starts_with("lamps.jsonl.gz: "), "{error}");
    });
}

#[test]
fn an_import_whose_files_are_gone_fails() {
    test(async |app| {
        let feed = upload(app, "lamps.jsonl", lamps(0..1).as_bytes()).await;
        let started = start(app, &[&feed], false).await;
        let uploads = app
            .direct()
            .collection::<mongodb::bson::Document>("upload_parts");
        uploads.delete_many(doc! {}).await.unwrap();
        let ended = run_all(app, &started).await;
        assert_eq!(ended.text("/import/state"), "FAILED");
        assert!(ended.text("/import/error").contains("not there any more"));
    });
}

#[test]
fn a_file_is_sent_over_http_by_an_admin_only() {
    test(async |app| {
        let options = ["--cost-per-second", "0"];
        with_service(app, &options, async |address, _| {
            let bearer = |role: &str| format!("Bearer {}", token("ann", role));
            let (admin, shopper) = (bearer("admin"), bearer("shopper"));
            let send = async |target: &str, headers: &[(&str, &str)], body: &str| {
                let reply = http::send(address, target, headers, body).await.unwrap();
                (reply.status, reply.json())
            };
            let target = "/uploads?name=feeds%2Flamps.jsonl";
            let lines = lamps(0..2);
            assert_eq!(send(target, &[], &lines).await.0, 401);
            let (status, said) = send(target, &[("authorization", &shopper)], &lines).await;
            assert_eq!(status, 403);
            assert_eq!(said["errors"][0]["extensions"]["code"], "FORBIDDEN");
            let as_admin = [("authorization", admin.as_str())];
            assert_eq!(send("/uploads", &as_admin, &lines).await.0, 400);
            assert_eq!(send("/uploads?name=..", &as_admin, &lines).await.0, 400);
            assert_eq!(send(target, &as_admin, "").await.0, 400);
            let packed = [as_admin[0], ("content-encoding", "gzip")];
            assert_eq!(send(target, &packed, &lines).await.0, 415);
            let get = http::get(address, target).await.unwrap();
            let large = [as_admin[0], ("content-length", "536870913")];
            let large = http::request(address, "POST", target, &large)
                .await
                .unwrap();
            assert_eq!(large.status, 413, "{}", large.body);
            assert_eq!((get.status, get.header("allow")), (405, Some("post")));
            assert_eq!(app.documents("uploads", doc! {}).await.len(), 0);
            let (status, sent) = send(target, &as_admin, &lines).await;
            assert_eq!(status, 201, "{sent}");
            assert_eq!(
                (&sent["name"], &sent["bytes"]),
                (&json!("lamps.jsonl"), &json!(lines.len()))
            );
            let started = start(app, &[sent["id"].as_str().unwrap()], false).await;
            // The workers of the service run it, or the test does.
            let done = async || {
                app.catalog.work_off(Worker::Imports).await.unwrap();
                let run = shown(app, &started.text("/import/id")).await;
                (run.text("/import/state") == "DONE").then_some(run)
            };
            let run =
                vitrine_harness::eventually("an import", std::time::Duration::from_mins(1), done)
                    .await;
            assert_eq!(run.number("/import/counts/created"), 2);
        })
        .await;
    });
}
