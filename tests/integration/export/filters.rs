//! Exports of some products.

use std::fs;

use serde_json::{Value, json};
use vitrine_export::ExportOptions;
use vitrine_harness::{App, product, review, test};

use super::{digest, emptied, export, file, read_back, shop, to_file, try_export};

/// The names of the products in an export.
fn names(text: &str) -> Vec<String> {
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let name = |record: Value| Some(record["product"]["name"].as_str()?.to_owned());
    let mut names: Vec<String> = records.filter_map(name).collect();
    names.sort();
    names
}

async fn names_of(app: &App, filter: Value) -> (Vec<String>, u64) {
    let directory = tempfile::tempdir().unwrap();
    let written = file(&directory, "some.jsonl");
    let report = export(&app.catalog, &filtered(&written, filter)).await;
    (
        names(&fs::read_to_string(&written).unwrap()),
        report.incomplete_bundles,
    )
}

fn filtered(path: &std::path::Path, filter: Value) -> ExportOptions {
    let engine = vitrine_api::graphql::engine().unwrap();
    ExportOptions {
        filter: vitrine_api::graphql::product_filter(&engine, &filter.to_string()).unwrap(),
        filter_text: Some(filter),
        ..to_file(path)
    }
}

#[test]
fn an_export_has_what_the_query_products_lists_with_the_same_filter() {
    test(async |app| {
        shop(app).await;
        let filters = [
            json!({ "category": "media" }),
            json!({ "status": ["DRAFT", "ARCHIVED"] }),
            json!({ "price": { "gte": "10" }, "brand": ["arger & sohne"] }),
            json!({ "specs": [{ "key": "colour", "text": { "eq": "=RED" } }] }),
            json!({ "specs": [{ "key": "height", "number": { "lte": 200, "unit": "mm" } }] }),
            json!({ "not": { "category": ["media"] }, "status": ["ACTIVE"] }),
            json!({ "category": "nowhere" }),
        ];
        for filter in filters {
            let query = "query($filter: ProductFilterInput) { products(first: 100, sort: [{ key: NAME }], filter: $filter) { nodes { name } } }";
            let mut as_admin = filter.clone();
            if as_admin.get("status").is_none() {
                as_admin["status"] = json!(["ACTIVE", "DRAFT", "ARCHIVED"]);
            }
            let listed = app.query(query).with("filter", as_admin).as_admin().await;
            let mut listed = listed.names("/products");
            listed.sort();
            let (exported, incomplete) = names_of(app, filter.clone()).await;
            listed.retain(|name| name != "set" || incomplete == 0);
            assert_eq!(exported, listed, "{filter}");
        }
    });
}

#[test]
fn some_products_can_be_read_into_a_database_of_their_own() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "some.jsonl");
        let some = json!({ "status": ["ACTIVE"], "not": { "specs": [{ "key": "watts", "exists": true }] } });
        let report = export(&app.catalog, &filtered(&written, some)).await;
        assert_eq!((report.counts.products, report.counts.reviews), (6, 1));
        let catalog = emptied(app).await;
        let (read, rejected) = read_back(&catalog, &written).await;
        assert!(
            read.is_complete() && rejected.is_empty(),
            "{read} {rejected}"
        );
        assert_eq!(Some(digest(&catalog).await), report.digest);
    });
}

#[test]
fn a_bundle_without_one_of_its_items_is_left_out() {
    test(async |app| {
        app.has([product("book").price("1"), product("film").price("9")])
            .await;
        app.has([product("set").item("book", 1).item("film", 1)])
            .await;
        let both = names_of(app, json!({ "price": { "gte": "1" } })).await;
        assert_eq!(
            both,
            (
                vec!["book".to_owned(), "film".to_owned(), "set".to_owned()],
                0
            )
        );
        let one = names_of(app, json!({ "price": { "gte": "5" } })).await;
        assert_eq!(one, (vec!["film".to_owned()], 1));
    });
}

#[test]
fn products_are_exported_without_people() {
    test(async |app| {
        shop(app).await;
        let directory = tempfile::tempdir().unwrap();
        let written = file(&directory, "products.jsonl");
        let mut options = to_file(&written);
        options.reviews = false;
        let report = export(&app.catalog, &options).await;
        assert_eq!((report.counts.products, report.counts.reviews), (9, 0));
        let text = fs::read_to_string(&written).unwrap();
        assert!(
            !text.contains("\"review\"") && !text.contains("ann"),
            "{text}"
        );
        let catalog = emptied(app).await;
        let (read, rejected) = read_back(&catalog, &written).await;
        assert_eq!((read.of("products").created, rejected.as_str()), (9, ""));
    });
}

#[test]
fn an_invalid_filter_is_refused_as_by_the_query() {
    test(async |app| {
        app.has([product("Lamp").quantity("height", 1.0, "m")])
            .await;
        app.has_reviews([review("Lamp", 1, 5)]).await;
        let directory = tempfile::tempdir().unwrap();
        let wrong = json!({ "specs": [{ "key": "height", "number": { "lte": 1, "unit": "kg" } }] });
        let options = filtered(&file(&directory, "some.jsonl"), wrong.clone());
        let refused = try_export(&app.catalog, &options).await.unwrap_err();
        let query =
            "query($filter: ProductFilterInput) { products(filter: $filter) { nodes { name } } }";
        let asked = app.query(query).with("filter", wrong).as_admin().await;
        let cause = std::error::Error::source(&refused).unwrap().to_string();
        assert!(
            asked.errors()[0].contains(&cause),
            "{cause}: {:?}",
            asked.errors()
        );
    });
}
