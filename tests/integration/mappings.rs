//! Imports through mappings whose rows are several things, or nothing.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use vitrine_domain::import::ImportMode;
use vitrine_harness::environment::workspace_dir;
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
        mappers: None,
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

/// What the API answers about all products, in the form of the texts beside the fixtures, in the order of names.
pub(crate) async fn answered(app: &App) -> Vec<String> {
    let query = r"{ products(first: 100, sort: [{ key: NAME }], filter: { status: [ACTIVE, DRAFT, ARCHIVED] }) { nodes {
        name brand description price { amount currency } category { name ancestors { name } }
        media { kind url alt } specs { key text value { __typename } } } } }";
    let answer = app.query(query).as_admin().await;
    let products = answer.at("/products/nodes").as_array().unwrap().iter();
    products.map(shown).collect()
}

fn shown(product: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let all = |value: &Value| value.as_array().unwrap().clone();
    let category = &product["category"];
    let mut path: Vec<String> = all(&category["ancestors"])
        .iter()
        .map(|one| text(&one["name"]))
        .collect();
    path.push(text(&category["name"]));
    let mut lines = vec![format!(
        "{} in {}",
        text(&product["name"]),
        path.join(" > ")
    )];
    for field in ["brand", "description"] {
        if let Some(value) = product[field].as_str() {
            lines.push(format!("  {field}: {}", value.replace('\n', "\\n")));
        }
    }
    let price = &product["price"];
    if let Some(amount) = price["amount"].as_str() {
        lines.push(format!("  {amount} {}", text(&price["currency"])));
    }
    for one in all(&product["media"]) {
        let kind = text(&one["kind"]).to_lowercase();
        let (url, alt) = (text(&one["url"]), text(&one["alt"]));
        lines.push(format!("  {kind} {url} {alt}"));
    }
    for spec in all(&product["specs"]) {
        let kind = text(&spec["value"]["__typename"]).to_lowercase();
        let kind = kind.trim_end_matches("value");
        let (key, value) = (text(&spec["key"]), text(&spec["text"]));
        lines.push(format!("  {key} = {value} ({kind})"));
    }
    lines.join("\n")
}

/// The products of a text beside a fixture, in the order of names, without lines, ids and SKUs.
fn expected(text: &str) -> Vec<String> {
    let mut products: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("  sku: ") {
            continue;
        }
        match (line.starts_with("  "), products.last_mut()) {
            (true, Some(product)) => {
                let kinds = [("  Image ", "  image "), ("  Document ", "  document ")];
                let mut line = line.to_owned();
                for (shown, answered) in kinds {
                    line = line.replacen(shown, answered, 1);
                }
                product.push('\n');
                product.push_str(&line);
            }
            _ => products.push(line.splitn(3, ": ").last().unwrap().to_owned()),
        }
    }
    products.sort_unstable();
    products
}

/// Imports a feed of the folder `fixtures`, and compares the answers with the text beside it.
fn is_answered_as_mapped(feed: &'static str) {
    test(async |app| {
        let feed = workspace_dir().join("services/ingest/fixtures").join(feed);
        let text = fs::read_to_string(feed.with_extension("txt")).unwrap();
        let options = ImportOptions {
            files: vec![feed.clone()],
            mapping: Arc::new(Mapping::from_file(&feed.with_extension("toml")).unwrap()),
            mode: ImportMode::Write,
            rejects: None,
            mappers: None,
        };
        let report = import(&app.catalog, &options, |_| ()).await.unwrap();
        assert_eq!(report.counts.rejected, 0, "{report}");
        assert_eq!(answered(app).await, expected(&text));
        let again = import(&app.catalog, &options, |_| ()).await.unwrap().counts;
        assert_eq!((again.created, again.updated), (0, 0));
    });
}

#[test]
fn a_bmecat_catalogue_is_answered_as_it_was_mapped() {
    is_answered_as_mapped("bmecat.xml");
}

#[test]
fn a_line_for_each_attribute_is_answered_as_it_was_mapped() {
    is_answered_as_mapped("attributes.tsv");
}

#[test]
fn a_matrix_of_prices_is_answered_as_it_was_mapped() {
    is_answered_as_mapped("price-matrix.csv");
}

#[test]
fn lines_of_variants_are_answered_as_they_were_mapped() {
    is_answered_as_mapped("variants.csv");
}
