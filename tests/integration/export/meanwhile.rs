//! Exports while others write: complete, and each product with its reviews of one point in time.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, product, review, test};

use super::{digest, emptied, export, file, read_back, to_file};

const PRODUCTS: usize = 700;

/// Writes until the export has ended: reviews with votes, and products with new spec keys, categories and suppliers.
/// Returns how often.
async fn write(app: &App, ended: &Cell<bool>) -> usize {
    let mut written = 0;
    while !ended.get() {
        let slug = format!("p{}", written * 37 % PRODUCTS);
        let found = app
            .query(&format!("{{ product(slug: \"{slug}\") {{ id }} }}"))
            .await;
        let said = json!({ "productId": found.text("/product/id"), "rating": 4, "body": "Said." });
        let author = format!("author-{written}");
        let review = app.mutate_by(&author, "submitReview", said).await;
        let vote = json!({ "id": review.text("/review/id"), "vote": "HELPFUL" });
        for voter in ["ann", "bob"] {
            app.mutate_by(voter, "voteReview", vote.clone())
                .await
                .done();
        }
        let new = product(&format!("new-{written}"))
            .supplier(&format!("Maker {written}"), "NO")
            .category(["Meanwhile", &format!("New {written}")])
            .number(&format!("new_key_{written}"), 1.0);
        app.import(ImportMode::Write, vec![new.into()], Vec::new())
            .await;
        written += 1;
    }
    written
}

/// The records of an export, by what they are.
fn records(path: &Path) -> HashMap<String, Vec<Value>> {
    let mut records: HashMap<String, Vec<Value>> = HashMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let Value::Object(record) = serde_json::from_str(line).unwrap() else {
            panic!("{line}");
        };
        for (of, content) in record {
            records.entry(of).or_default().push(content);
        }
    }
    records
}

/// Checks that each record of a kind is there once; returns their ids.
fn ids(records: &[Value]) -> HashSet<&str> {
    let ids: HashSet<&str> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), records.len());
    ids
}

#[test]
fn an_export_while_others_write_is_complete_and_consistent() {
    test(async |app| {
        app.has((0..PRODUCTS).map(|n| product(&format!("P{n}")).price("1")))
            .await;
        app.has_reviews((0..1_400).map(|n| review(&format!("P{}", n % 700), n, 3)))
            .await;
        let directory = tempfile::tempdir().unwrap();
        let (before, path) = (
            file(&directory, "before.jsonl"),
            file(&directory, "shop.jsonl"),
        );
        export(&app.catalog, &to_file(&before)).await;
        let ended = Cell::new(false);
        let reading = async {
            let report = export(&app.catalog, &to_file(&path)).await;
            ended.set(true);
            report
        };
        let (written, report) = tokio::join!(write(app, &ended), reading);
        assert_ne!(written, 0);
        let (before, records) = (records(&before), records(&path));
        for of in ["product", "review"] {
            let missing: Vec<_> = ids(&before[of])
                .difference(&ids(&records[of]))
                .copied()
                .collect();
            assert_eq!(missing, [""; 0], "{of}");
        }
        let mut votes: HashMap<&str, i64> = HashMap::new();
        for vote in records.get("vote").into_iter().flatten() {
            *votes.entry(vote["review"].as_str().unwrap()).or_default() += 1;
        }
        for review in &records["review"] {
            let counted = votes.get(review["id"].as_str().unwrap());
            assert_eq!(
                review["helpful"],
                counted.copied().unwrap_or_default(),
                "{review}"
            );
        }
        // What each record refers to is before it, and no two contradict each other.
        let other = emptied(app).await;
        let (read, rejects) = read_back(&other, &path).await;
        assert_eq!(rejects, "", "{read:?}");
        assert_eq!(Some(digest(&other).await), report.digest);
        app.audit().await;
    });
}
