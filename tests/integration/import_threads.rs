//! The number of threads that map rows changes nothing: report, rejects and database are the same.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
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
        match n % 251 {
        7 => "{\"id\":".to_owned(),
        8 => String::new(),
        _ => json!({
            "id": n % 40, "row": n - n % 23 / 20, "name": if n % 7 == 0 { "" } else { "Lamp" }, "by": n % 5,
            "maker": format!("Maker {}", n % 5 + n / 1700), "watts": n, "color": format!("{}", n % 9),
            "stars": n % 6,
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
        assert_ne!(ends[2]["supplier_conflicts"], json!([]));
        assert_eq!(
            (&ends[4]["counts"]["created"], &ends[4]["counts"]["updated"]),
            (&json!(0), &json!(0))
        );
    });
}

#[test]
fn fixtures_are_imported_alike_with_any_number_of_threads() {
    test(async |app| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../services/ingest/fixtures");
        for (feed, mapping) in [
            ("bmecat.xml", "bmecat.toml"),
            ("variants.csv", "variants.toml"),
            ("init/fell-products.csv", "init/fell-products.toml"),
            ("init/lumico-shop.json", "init/lumico-shop.toml"),
        ] {
            compare(app, &folder.join(feed), &folder.join(mapping)).await;
        }
    });
}
