//! The number of threads that map rows changes nothing: report, rejects and database are the same. However long the
//! feed is, they hold a few batches of it.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::process::Service;
use vitrine_harness::{App, test};
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::run::{ImportOptions, import};

use crate::export::emptied;
use crate::killed_imports::content;

/// Lines whose outcome depends on lines before them, in several batches: ids that repeat, products that are derived
/// from the first review, values that are dropped, and lines that cannot be read.
const MAPPING: &str = r#"
version = 1
system = "shop"
[defaults]
on_bad = "drop_value"
[product]
external_id = { from = "id", on_bad = "reject_line" }
name = { from = "name", on_bad = "reject_line" }
kind = { value = "lamp" }
category = { value = "Lamps" }
supplier = { id = "by", name = "maker" }
[product.specs]
include = ["watts", "color"]
rules = [{ path = "watts", max = 2000 }]
[review]
external_id = "row"
product = "id"
rating = "stars"
repeated_id = "first"
"#;

fn lines() -> String {
    let line = |n: usize| {
        // Each name once, because the products are compared in the order of their names.
        let id = n % 40;
        let name = if n.is_multiple_of(7) {
            String::new()
        } else {
            format!("Lamp {id}")
        };
        match n % 251 {
            7 => "{\"id\":".to_owned(),
            8 => String::new(),
            _ => json!({
                "id": id, "row": n - n % 23 / 20, "name": name, "by": n % 5,
                "maker": format!("Maker {}", n % 5 + n / 1700), "watts": n,
                "color": format!("{}", n % 9), "stars": n % 6,
            })
            .to_string(),
        }
    };
    (0..2300).map(|n| line(n) + "\n").collect()
}

/// Imports a feed twice into an empty database. Returns both reports and rejects files, and what is stored.
async fn run(app: &App, feed: &Path, mapping: &Path, mappers: usize) -> Vec<Value> {
    let catalog = emptied(app).await;
    let folder = tempfile::tempdir().unwrap();
    let rejects = folder.path().join("rejects.jsonl");
    let mut ends = Vec::new();
    for mode in [ImportMode::DryRun, ImportMode::Write, ImportMode::Write] {
        let options = ImportOptions {
            files: vec![feed.to_owned()],
            mapping: Arc::new(Mapping::from_file(mapping).unwrap()),
            mode,
            rejects: Some(rejects.clone()),
            mappers: NonZero::new(mappers),
        };
        let report = import(&catalog, &options, |_| ()).await.unwrap();
        let mut report = serde_json::to_value(&report).unwrap();
        for differing in ["elapsed_seconds", "rejects"] {
            report.as_object_mut().unwrap().remove(differing);
        }
        ends.push(report);
        ends.push(fs::read_to_string(&rejects).unwrap_or_default().into());
    }
    ends.push(content(app).await);
    ends
}

async fn compare(app: &App, feed: &Path, mapping: &Path) -> Vec<Value> {
    let one = run(app, feed, mapping, 1).await;
    let several = run(app, feed, mapping, 3).await;
    for (several, one) in several.iter().zip(&one) {
        assert_eq!(several, one, "{}", feed.display());
    }
    one
}

#[test]
fn an_import_ends_alike_with_any_number_of_threads() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let (feed, mapping) = (
            folder.path().join("shop.jsonl"),
            folder.path().join("shop.toml"),
        );
        fs::write(&feed, lines()).unwrap();
        fs::write(&mapping, MAPPING).unwrap();
        let ends = compare(app, &feed, &mapping).await;
        let counts = &ends[2]["counts"];
        for of in ["created", "rejected", "dropped_values", "blank"] {
            assert_ne!(counts[of], 0, "{of}");
        }
        assert_eq!(
            (&ends[4]["counts"]["created"], &ends[4]["counts"]["updated"]),
            (&json!(0), &json!(0))
        );
    });
}

#[test]
fn fixtures_are_imported_alike_with_any_number_of_threads() {
    test(async |app| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../services");
        for (fixtures, feed) in [
            ("ingest/fixtures", "bmecat.xml"),
            ("ingest/fixtures", "variants.csv"),
            ("first-mapping/fixtures", "fell-products.csv"),
            ("first-mapping/fixtures", "lumico-shop.json"),
        ] {
            let feed = folder.join(fixtures).join(feed);
            compare(app, &feed, &feed.with_extension("toml")).await;
        }
    });
}

/// The most memory that a dry run of a feed of so many MiB takes. The feed is a pipe, which stays open meanwhile.
async fn peak(app: &App, mapping: &Path, mib: usize) -> u64 {
    let pipe = mapping.with_extension(format!("{mib}"));
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let mut import = Service::start(&[
        "import",
        pipe.to_str().unwrap(),
        "--dry-run",
        "--mapping",
        mapping.to_str().unwrap(),
        "--rejects",
        pipe.with_extension("rejects").to_str().unwrap(),
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
    ]);
    let write = move || {
        let mut open = BufWriter::new(OpenOptions::new().write(true).open(pipe)?);
        let note = "unused ".repeat(16 * 1024 / 7);
        for n in 0..mib * 64 {
            writeln!(
                open,
                "{{\"id\":{},\"row\":{n},\"stars\":5,\"name\":\"Lamp\",\"note\":\"{note}\"}}",
                n % 100
            )?;
        }
        open.into_inner().map_err(std::io::Error::from)
    };
    let open = tokio::task::spawn_blocking(write).await.unwrap().unwrap();
    // All but what fits into a pipe is read.
    let peak = import.peak_memory();
    drop(open);
    assert!(import.ended().await.success(), "{}", import.output());
    peak
}

#[test]
fn a_long_feed_takes_no_more_memory_than_a_short_one() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let mapping = folder.path().join("shop.toml");
        fs::write(&mapping, MAPPING).unwrap();
        // The short one is longer than all batches that may be on their way, of 4 MiB each.
        let (short, long) = (
            peak(app, &mapping, 48).await,
            peak(app, &mapping, 192).await,
        );
        let more = long.saturating_sub(short) >> 20;
        assert!(more < 48, "{} MiB, then {more} more", short >> 20);
    });
}
