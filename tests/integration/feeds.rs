//! The real feeds, if they are available: the imported catalogue, read back through the API, equals
//! a scan of the files.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde_json::Value;
use vitrine_domain::import::ImportMode;
use vitrine_domain::products::TotalRelation;
use vitrine_harness::{App, test};
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::report::Report;
use vitrine_ingest::run::{ImportOptions, import};

use crate::properties::clicks::{FACETS, click};

/// The directory of the feeds, if it exists.
fn feeds() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let here = beside.join("catalog-opendb.jsonl.gz").exists();
    tell(if here {
        "real feeds: found; their checks run"
    } else {
        "real feeds: not at hand; their checks did not run"
    });
    here.then_some(beside)
}

/// Prints a line that is shown although the test passes.
fn tell(line: &str) {
    // The output of macros is captured in a test that passes.
    let line = format!("{line}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

async fn run(app: &App, mode: ImportMode, feed: &Path, mapping: &str) -> Report {
    let order = ImportOptions {
        files: vec![feed.to_owned()],
        mapping: Arc::new(Mapping::load(mapping).unwrap()),
        mode,
        rejects: None,
        mappers: None,
    };
    let report = import(&app.catalog, &order, |_| ()).await.unwrap();
    let counts = report.counts;
    let stored = counts.created + counts.updated + counts.unchanged;
    let sum = stored + counts.rejected + counts.skipped + counts.gathered + counts.blank;
    assert_eq!(sum, counts.lines, "every line ends as something");
    tell(&format!("{mapping}: {counts:?}"));
    report
}

/// The rows of the catalogue feed.
fn rows(feeds: &Path) -> impl Iterator<Item = Value> {
    let file = std::fs::File::open(feeds.join("catalog-opendb.jsonl.gz")).unwrap();
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// The ids of the rows of a category whose number at this key is in a range.
fn scan(feeds: &Path, category: &str, key: &str, low: f64, high: f64) -> BTreeSet<String> {
    let wanted = |row: &Value| {
        let number = row["product"][key].as_f64();
        row["category"] == category && number.is_some_and(|n| low <= n && n <= high && n > 0.0)
    };
    let id = |row: Value| row["product"]["opendb_id"].as_str().unwrap().to_owned();
    rows(feeds).filter(wanted).map(id).collect()
}

/// All products that match a filter, page by page, each once.
async fn all(app: &App, filter: &str) -> BTreeSet<String> {
    let query = format!(
        "query($after: String) {{ products(first: 100, after: $after, filter: {filter}, sort: [{{ key: NAME }}]) {{
           nodes {{ sku }} pageInfo {{ hasNextPage endCursor }} }} }}"
    );
    let mut found = BTreeSet::new();
    let mut after = Value::Null;
    loop {
        let answer = app.query(&query).with("after", after.clone()).await;
        let page = &answer.data()["products"];
        for node in page["nodes"].as_array().unwrap() {
            let sku = node["sku"].as_str().unwrap();
            let id = sku.strip_prefix("opendb:").unwrap().to_owned();
            assert!(found.insert(id), "{sku} was met twice");
        }
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

/// The ids of all reviews of a product in a sort order, read in a direction.
async fn walk(app: &App, sku: &str, sort: &str, backwards: bool) -> Vec<String> {
    let (size, from) = if backwards {
        ("last", "before")
    } else {
        ("first", "after")
    };
    let query = format!(
        "query($sku: String!, $cursor: String) {{ product(sku: $sku) {{
           reviews({size}: 100, {from}: $cursor, sort: {sort}) {{ nodes {{ id }}
             pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
    );
    let mut pages: Vec<Vec<String>> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let request = app
            .query(&query)
            .with("sku", sku)
            .with("cursor", cursor.clone());
        let answer = request.await;
        let page = &answer.data()["product"]["reviews"];
        let ids = page["nodes"].as_array().unwrap().iter();
        pages.push(
            ids.map(|node| node["id"].as_str().unwrap().to_owned())
                .collect(),
        );
        let (more, next) = if backwards {
            (
                &page["pageInfo"]["hasPreviousPage"],
                &page["pageInfo"]["startCursor"],
            )
        } else {
            (
                &page["pageInfo"]["hasNextPage"],
                &page["pageInfo"]["endCursor"],
            )
        };
        if *more == false {
            break;
        }
        cursor = next.clone();
    }
    if backwards {
        pages.reverse();
    }
    pages.concat()
}

#[test]
fn three_feeds_in_one_database_are_read_back_as_imported() {
    let Some(feeds) = feeds() else { return };
    test(async |app| {
        catalogue(app, &feeds).await;
        clothing(app, &feeds).await;
        foods(app, &feeds).await;
        let count = "{ products { totalCount(upTo: 100000) { value relation } } }";
        let answer = app.query(count).await;
        let total = &answer.data()["products"]["totalCount"];
        assert_eq!(
            (&total["value"], &total["relation"]),
            (&50_105.into(), &"EXACT".into())
        );
        clicks(app).await;
    });
}

async fn catalogue(app: &App, feeds: &Path) {
    let file = feeds.join("catalog-opendb.jsonl.gz");
    let report = run(app, ImportMode::Write, &file, "opendb").await;
    assert_eq!((report.counts.created, report.counts.rejected), (47_551, 0));
    let tree =
        "{ categories { productCount children { productCount children { productCount } } } }";
    let answer = app.query(tree).await;
    let mut leaves = Vec::new();
    for top in answer.data()["categories"].as_array().unwrap() {
        leaves_below(top, &mut leaves);
    }
    assert_eq!((leaves.len(), leaves.iter().sum::<i64>()), (30, 47_551));
    monitors_in_centimetres(app, feeds).await;
    cases_in_grams(app, feeds).await;
}

/// The number of shoppers, of choices of each, and of values compared after each choice.
const SHOPPERS: u64 = 6;
const CHOICES: usize = 4;
const COMPARED: usize = 12;

/// The comparisons of counts with clicks.
#[derive(Debug, Default)]
struct Clicks {
    exact: usize,
    estimates: usize,
    /// Compared with a number of products that is a lower bound.
    bounded: usize,
    off: Vec<String>,
}

/// Shoppers choose random values of facets, one after the other. After each choice the counts of
/// some values are compared with the number of products after choosing them.
async fn clicks(app: &App) {
    let mut seen = Clicks::default();
    for shopper in 1..=SHOPPERS {
        let mut chance = Chance(shopper.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let search = [Value::Null, "intel".into(), "black case".into()][chance.below(3)].clone();
        // Each key with its chosen value.
        let mut chosen: Vec<(String, Value)> = Vec::new();
        for _ in 0..CHOICES {
            let facets = facets_of(app, &chosen, &search).await;
            let mut values: Vec<(&Value, &Value)> = Vec::new();
            for facet in &facets {
                let of = facet["values"].as_array().unwrap();
                values.extend(of.iter().map(|value| (facet, value)));
            }
            for _ in 0..COMPARED.min(values.len()) {
                let (facet, value) = values[chance.below(values.len())];
                compare(app, &chosen, &search, facet, value, &mut seen).await;
            }
            let free = |(facet, value): &&(&Value, &Value)| {
                chosen.iter().all(|(key, _)| facet["key"] != **key) && value["count"] != 0
            };
            let free: Vec<_> = values.iter().filter(free).collect();
            if free.is_empty() {
                break;
            }
            let (facet, value) = free[chance.below(free.len())];
            chosen.push((
                facet["key"].as_str().unwrap().to_owned(),
                value["filter"].clone(),
            ));
        }
    }
    tell(&format!("click promise on the real catalogue: {seen:?}"));
    assert!(seen.exact > 100 && seen.estimates > 10, "{seen:?}");
    // One of ten thousand estimates may exceed its margin.
    assert!(seen.off.len() <= 1, "{seen:?}");
}

fn all_of<'a>(chosen: impl Iterator<Item = &'a (String, Value)>) -> Value {
    let parts: Vec<&Value> = chosen.map(|(_, filter)| filter).collect();
    serde_json::json!({ "and": parts })
}

async fn facets_of(app: &App, chosen: &[(String, Value)], search: &Value) -> Vec<Value> {
    let request = app.query(FACETS).with("filter", all_of(chosen.iter()));
    let answer = request
        .with("search", search.clone())
        .with("limit", 30)
        .as_admin()
        .await;
    answer.at("/products/facets").as_array().unwrap().clone()
}

async fn compare(
    app: &App,
    chosen: &[(String, Value)],
    search: &Value,
    facet: &Value,
    value: &Value,
    seen: &mut Clicks,
) {
    let rest = all_of(chosen.iter().filter(|(key, _)| facet["key"] != *key));
    let (clicked, relation) = click(app, &rest, value, search).await;
    let (count, margin) = (
        value["count"].as_i64().unwrap(),
        value["margin"].as_i64().unwrap(),
    );
    if relation == TotalRelation::AtLeast {
        seen.bounded += 1;
        assert!(clicked <= count + 2 * margin, "{value} finds {clicked}");
        return;
    }
    let comparison = || {
        format!(
            "{} of {}: {value} finds {clicked}",
            facet["key"], facet["accuracy"]
        )
    };
    if facet["accuracy"] == "ESTIMATE" {
        seen.estimates += 1;
        if (clicked - count).abs() > margin {
            seen.off.push(comparison());
        }
        assert!((clicked - count).abs() <= 2 * margin, "{}", comparison());
    } else {
        seen.exact += 1;
        assert_eq!(
            (clicked, margin),
            (count, 0),
            "{} with {rest}",
            comparison()
        );
    }
}

/// Pseudo-random numbers, the same in every run.
struct Chance(u64);

impl Chance {
    /// A number below this one.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(n).unwrap()).unwrap()
    }
}

/// The number of products of each category without children.
fn leaves_below(category: &Value, leaves: &mut Vec<i64>) {
    match category["children"].as_array() {
        Some(children) if !children.is_empty() => {
            for child in children {
                leaves_below(child, leaves);
            }
        }
        _ => leaves.push(category["productCount"].as_i64().unwrap()),
    }
}

async fn monitors_in_centimetres(app: &App, feeds: &Path) {
    let filter = r#"{ category: ["monitors"], specs: [
        { key: "screen_size", number: { gte: 59.69, lte: 69.85, unit: "cm" } }] }"#;
    let expected = scan(feeds, "Monitor", "screen_size", 23.5, 27.5);
    assert!(expected.len() > 1000);
    assert_eq!(all(app, filter).await, expected);
}

async fn cases_in_grams(app: &App, feeds: &Path) {
    const POUND: f64 = 453.592_37;
    let filter = r#"{ category: ["cases"], specs: [
        { key: "weight", number: { gte: 5000, lte: 8000, unit: "g" } }] }"#;
    let expected = scan(feeds, "PCCase", "weight", 5000.0 / POUND, 8000.0 / POUND);
    assert!(expected.len() > 100);
    assert_eq!(all(app, filter).await, expected);
}

async fn clothing(app: &App, feeds: &Path) {
    let file = feeds.join("reviews-clothing.jsonl.gz");
    let report = run(app, ImportMode::Write, &file, "clothing-reviews").await;
    assert_eq!((report.counts.created, report.counts.rejected), (23_486, 0));
    assert_eq!(report.products_derived.unwrap().created, 1_206);
    let page = r#"{ product(sku: "clothing:1078") {
        name ratingStats { count average histogram { count } } topReviews { excerpt helpfulCount } isOutlier } }"#;
    let answer = app.query(page).await;
    assert_eq!(answer.sent().len(), 1, "{:?}", answer.sent());
    let stats = &answer.data()["product"]["ratingStats"];
    assert_eq!(stats["count"], 1_024);
    let stars: Vec<i64> = stats["histogram"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b["count"].as_i64().unwrap())
        .collect();
    assert_eq!(stars, [562, 234, 136, 59, 33]);
    for sort in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
        let forwards = walk(app, "clothing:1078", sort, false).await;
        let once: BTreeSet<&String> = forwards.iter().collect();
        assert_eq!((forwards.len(), once.len()), (1_024, 1_024), "{sort}");
        assert_eq!(
            walk(app, "clothing:1078", sort, true).await,
            forwards,
            "{sort} backwards"
        );
    }
    let again = run(app, ImportMode::Write, &file, "clothing-reviews").await;
    assert_eq!(again.counts.unchanged, 23_486);
}

async fn foods(app: &App, feeds: &Path) {
    let file = feeds.join("reviews-fine-foods.jsonl.gz");
    let foreseen = run(app, ImportMode::DryRun, &file, "fine-food-reviews").await;
    let report = run(app, ImportMode::Write, &file, "fine-food-reviews").await;
    let counts = |report: &Report| {
        (
            report.counts.lines,
            report.counts.created,
            report.counts.rejected,
        )
    };
    assert_eq!(counts(&report), (9_066, 8_953, 113));
    assert_eq!(
        counts(&foreseen),
        counts(&report),
        "the dry run reports the same as the import"
    );
    assert_eq!(report.products_derived.unwrap().created, 1_348);
}
