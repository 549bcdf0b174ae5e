//! Records of imports: progress, rejects, an end of whatever kind, and a request to stop.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mongodb::bson::{Bson, doc};
use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_domain::import_runs::ImportRecord;
use vitrine_harness::{Answer, App, test};
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::run::{ImportError, ImportOptions, import_recorded};
use vitrine_model::id::{GlobalId, ImportId, SupplierId};
use vitrine_model::import_run::{ImportPhase, NewImportRun, RunProgress};

const RUN: &str = "query ($id: ID!, $after: String) { import(id: $id) {
    system feeds process state progress error endedAt stopRequestedBy
    counts { lines created updated unchanged waiting rejected skipped droppedValues }
    rejects(first: 2, after: $after) { totalCount { value relation } kept nodes { file line field reason outcome } pageInfo { hasNextPage endCursor } } } }";

pub(crate) const MAPPING: &str = r#"
version = 1
system = "shop"
[product]
external_id = "id"
name = "name"
kind = { value = "lamp" }
category = { value = "Lamps" }
"#;

fn options(folder: &Path, lines: &str) -> ImportOptions {
    let feed = folder.join("feed.jsonl");
    fs::write(&feed, lines).unwrap();
    let mapping = folder.join("mapping.toml");
    fs::write(&mapping, MAPPING).unwrap();
    ImportOptions {
        files: vec![feed],
        mapping: Arc::new(Mapping::from_file(&mapping).unwrap()),
        mode: ImportMode::Write,
        rejects: None,
        mappers: None,
    }
}

async fn record(app: &App) -> ImportRecord {
    let what = NewImportRun {
        feeds: vec!["feed.jsonl".to_owned()],
        system: "shop".to_owned(),
        process: "here".to_owned(),
        dry_run: false,
    };
    app.catalog.record_import(what, 90).await.unwrap()
}

async fn run(app: &App, record: &ImportRecord, after: Value) -> Answer {
    let asked = app.query(RUN).with("id", gid(record));
    asked.with("after", after).as_admin().await
}

/// The id that the API shows.
fn gid(record: &ImportRecord) -> String {
    GlobalId::Import(record.id()).encode()
}

async fn stop(app: &App, record: &ImportRecord) {
    let input = json!({ "id": gid(record) });
    app.mutate("stopImport", input).await.done();
}

#[test]
fn a_run_is_recorded_with_its_counts_and_rejects() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let lines = (0..6).map(|n| match n % 2 {
            0 => format!("{{\"id\":{n},\"name\":\"Lamp {n}\"}}\n"),
            _ => format!("{{\"id\":{n}}}\n"),
        });
        let options = options(folder.path(), &lines.collect::<String>());
        let record = record(app).await;
        let report = import_recorded(&app.catalog, &options, &record, |_| ()).await;
        assert_eq!(report.unwrap().counts.rejected, 3);
        let shown = run(app, &record, Value::Null).await;
        let run_is = shown.at("/import");
        assert_eq!(run_is["state"], "DONE");
        assert_eq!(run_is["progress"], 1.0);
        assert_eq!(run_is["feeds"], json!(["feed.jsonl"]));
        assert_eq!(
            run_is["counts"],
            json!({ "lines": 6, "created": 3, "updated": 0, "unchanged": 0, "waiting": 0, "rejected": 3, "skipped": 0, "droppedValues": 0 })
        );
        assert!(!run_is["endedAt"].is_null() && run_is["error"].is_null());
        let rejects = &run_is["rejects"];
        assert_eq!(
            rejects["totalCount"],
            json!({ "value": 3, "relation": "EXACT" })
        );
        assert_eq!(rejects["kept"], 3);
        let line = |at: usize| {
            (
                &rejects["nodes"][at]["line"],
                &rejects["nodes"][at]["field"],
            )
        };
        assert_eq!(line(0), (&json!(2), &json!("name")));
        assert_eq!(line(1), (&json!(4), &json!("name")));
        assert_eq!(rejects["pageInfo"]["hasNextPage"], true);
        let rest = run(app, &record, rejects["pageInfo"]["endCursor"].clone()).await;
        let rest = rest.at("/import/rejects");
        assert_eq!(rest["nodes"].as_array().unwrap().len(), 1);
        assert_eq!(rest["nodes"][0]["line"], 6);
        assert_eq!(rest["pageInfo"]["hasNextPage"], false);
    });
}

#[test]
fn imports_are_listed_newest_first_in_pages() {
    test(async |app| {
        let mut ids = Vec::new();
        for _ in 0..5 {
            app.clock.advance(1_000);
            ids.insert(0, gid(&record(app).await));
        }
        let (mut found, mut after) = (Vec::new(), Value::Null);
        loop {
            let query = "query ($after: String) { imports(first: 2, after: $after) { totalCount { value } nodes { id } pageInfo { hasNextPage endCursor } } }";
            let page = app.query(query).with("after", after).as_admin().await;
            assert_eq!(page.number("/imports/totalCount/value"), 5);
            let nodes = page.at("/imports/nodes").as_array().unwrap();
            found.extend(
                nodes
                    .iter()
                    .map(|node| node["id"].as_str().unwrap().to_owned()),
            );
            if page.at("/imports/pageInfo/hasNextPage") == false {
                break;
            }
            after = page.at("/imports/pageInfo/endCursor").clone();
        }
        assert_eq!(found, ids);
    });
}

#[test]
fn a_run_that_an_admin_stops_ends_after_its_batch_and_is_completed_by_the_next() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let line = |n: u32| json!({ "id": n, "name": format!("Lamp {n}") }).to_string() + "\n";
        let lines: String = (0..2_500).map(line).collect();
        let options = options(folder.path(), &lines);
        let first = record(app).await;
        stop(app, &first).await;
        let ended = import_recorded(&app.catalog, &options, &first, |_| ()).await;
        assert!(matches!(ended, Err(ImportError::Stopped)), "{ended:?}");
        let shown = run(app, &first, Value::Null).await;
        assert_eq!(shown.text("/import/state"), "STOPPED");
        assert_eq!(shown.text("/import/stopRequestedBy"), "admin");
        let stored = shown.number("/import/counts/created");
        assert!(0 < stored && stored < 2_500, "{stored}");
        // What has ended cannot be stopped.
        stop(app, &first).await;
        let second = record(app).await;
        let report = import_recorded(&app.catalog, &options, &second, |_| ()).await;
        let counts = report.unwrap().counts;
        assert_eq!(counts.unchanged, u64::try_from(stored).unwrap());
        assert_eq!(counts.created + counts.unchanged, 2_500);
        stop(app, &second).await;
        let shown = run(app, &second, Value::Null).await;
        assert_eq!(shown.text("/import/state"), "DONE");
        assert!(shown.at("/import/stopRequestedBy").is_null());
    });
}

#[test]
fn a_run_without_a_sign_of_life_is_shown_as_cut_off() {
    test(async |app| {
        let record = record(app).await;
        record.advance(ImportPhase::Reading, RunProgress::default());
        let state = async || run(app, &record, Value::Null).await.text("/import/state");
        assert_eq!(state().await, "READING");
        app.clock.advance(30_000);
        assert_eq!(state().await, "READING");
        app.clock.advance(1);
        assert_eq!(state().await, "CUT_OFF");
        // It was only slow.
        record.heartbeat().await;
        assert_eq!(state().await, "READING");
        record.end(ImportPhase::Failed, Some("no disk")).await;
        app.clock.advance(60_000);
        let shown = run(app, &record, Value::Null).await;
        assert_eq!(shown.text("/import/state"), "FAILED");
        assert_eq!(shown.text("/import/error"), "no disk");
    });
}

#[test]
fn rejects_beyond_the_limit_are_counted_and_not_kept() {
    test(async |app| {
        let record = record(app).await;
        let reason = vitrine_model::import::Rejection::new("name", "x".repeat(2_000));
        for line in 0..10_005 {
            record.reject("feed.jsonl", line, "rejected", &reason);
        }
        record.heartbeat().await;
        let shown = run(app, &record, Value::Null).await;
        assert_eq!(shown.number("/import/rejects/totalCount/value"), 10_005);
        assert_eq!(shown.number("/import/rejects/kept"), 10_000);
        let reason = shown.text("/import/rejects/nodes/0/reason");
        assert!(reason.chars().count() <= 501, "{}", reason.len());
        let kept = app.documents("import_rejects", doc! {}).await;
        assert_eq!(kept.len(), 10_000);
    });
}

#[test]
fn records_go_after_the_days_that_are_set() {
    test(async |app| {
        let record = record(app).await;
        record.reject(
            "feed.jsonl",
            1,
            "rejected",
            &vitrine_model::import::Rejection::new("name", "is missing"),
        );
        record.heartbeat().await;
        let days = i64::from(90) * 24 * 60 * 60 * 1_000;
        for collection in ["imports", "import_rejects"] {
            let all = app.documents(collection, doc! {}).await;
            let Some(Bson::DateTime(at)) = all[0].get("expires_at") else {
                panic!("{all:?}");
            };
            let kept = at.timestamp_millis() - app.catalog.now().as_millis();
            assert_eq!(kept, days, "{collection}");
        }
    });
}

#[test]
fn an_unknown_import_is_null_and_cannot_be_stopped() {
    test(async |app| {
        let query = "query ($id: ID!) { import(id: $id) { id } }";
        let unknown = GlobalId::Import(ImportId::from_i64(7)).encode();
        let answer = app.query(query).with("id", &*unknown).as_admin().await;
        assert_eq!(
            (answer.errors(), answer.at("/import")),
            (vec![], &Value::Null)
        );
        let other = GlobalId::Supplier(SupplierId::from_i64(7)).encode();
        for (id, reason) in [
            ("7", "id: not an id of this service"),
            (&*other, "id: not the id of an import"),
        ] {
            let answer = app.query(query).with("id", id).as_admin().await;
            assert!(answer.errors()[0].contains(reason), "{:?}", answer.errors());
        }
        for (id, code) in [
            (&*unknown, "NOT_FOUND"),
            ("7", "INVALID"),
            (&*other, "INVALID"),
        ] {
            let reply = app.mutate("stopImport", json!({ "id": id })).await;
            assert_eq!(reply.user_error_paths(), [format!("{code} at id")], "{id}");
        }
    });
}
