//! Imports through mappings whose rows are several things, or nothing.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, test};
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::report::Report;
use vitrine_ingest::run::{ImportOptions, import};

const MAPPING: &str = r#"
    version = 1
    system = "shop"
    [product]
    where = { kind = { not = "note" } }
    external_id = "id"
    name = "name"
    kind = { value = "lamp" }
    category = { value = "Lamps" }
    [product.specs]
    auto = false
    rename = { watts = "power" }
    [review]
    each = "reviews"
    external_id = { template = "{^.id}-{^item}" }
    product = "^.id"
    rating = "stars"
    author = { name = "by" }
    "#;

const FEED: &str = r#"{"id": 1, "name": "Tarn", "watts": 5, "reviews": [{"stars": 5, "by": "Ada"}, {"stars": 3, "by": "Ada"}]}
{"id": 2, "name": "Clip", "watts": 4, "reviews": [{"stars": 9, "by": "Bo"}]}
{"kind": "note"}
{"id": 1, "name": "Tarn II", "watts": 6}
{"id": 3}
"#;

async fn run(app: &App, folder: &Path, mode: ImportMode) -> Report {
    let mapping = folder.join("shop.toml");
    let feed = folder.join("shop.jsonl");
    fs::write(&mapping, MAPPING).unwrap();
    fs::write(&feed, FEED).unwrap();
    let options = ImportOptions {
        files: vec![feed],
        mapping: Arc::new(Mapping::from_file(&mapping).unwrap()),
        mode,
        rejects: Some(folder.join("rejects.jsonl")),
    };
    import(&app.catalog, &options, |_| ()).await.unwrap()
}

/// The rejects file, without the path of the feed.
fn rejects(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("rejects.jsonl")).unwrap();
    let feed = format!("\"file\":\"{}\",", folder.join("shop.jsonl").display());
    text.replace(&feed, "")
}

#[test]
fn a_row_may_be_a_product_with_reviews_or_nothing() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let report = run(app, folder.path(), ImportMode::Write).await;
        let counts = report.counts;
        assert_eq!((counts.lines, counts.created, counts.updated), (5, 2, 1));
        assert_eq!((counts.rejected, counts.skipped), (1, 1));
        let records = report.records.unwrap();
        assert_eq!(
            (records.products.created, records.products.rejected),
            (2, 1)
        );
        assert_eq!((records.reviews.created, records.reviews.rejected), (2, 1));
        insta::assert_snapshot!(rejects(folder.path()), @r#"
        {"line":2,"field":"reviews[0].stars","reason":"a rating is a whole number of stars from 1 to 5, not 9","outcome":"rejected"}
        {"line":5,"field":"name","reason":"is missing","outcome":"rejected"}
        {"line":1,"field":"product.external_id","reason":"the id \"1\" of line 1 repeats on 4; the last one is kept","outcome":"repeated"}
        "#);
        let page = app
            .query(r#"{ product(sku: "shop:1") { name reviews(first: 5, sort: HIGHEST) { nodes { rating author { name } } } } }"#)
            .await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              name: "Tarn II"
              reviews: { nodes: [{ rating: 5, author: { name: "Ada" } }, { rating: 3, author: { name: "Ada" } }] }
            }
          }
        }
        "#);
    });
}

#[test]
fn a_dry_run_shows_values_of_spec_keys_and_foresees_the_import() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let foreseen = run(app, folder.path(), ImportMode::DryRun).await;
        let values: Vec<(&str, u64)> = foreseen.spec_values["power"]
            .iter()
            .map(|one| (one.value.as_str(), one.line))
            .collect();
        assert_eq!(values, [("5", 1), ("4", 2), ("6", 4)]);
        let text = foreseen.to_string();
        assert!(
            text.contains("      5 (line 1), 4 (line 2), 6 (line 4)\n"),
            "{text}"
        );
        assert!(text.contains("1 ids repeat in"), "{text}");
        let report = run(app, folder.path(), ImportMode::Write).await;
        assert_eq!(foreseen.counts, report.counts);
        assert!(report.spec_values.is_empty());
    });
}
