//! A new spec key: the next query can filter by it, at the cost of its hits, and offers it as a
//! facet. No schema changes.

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_harness::profile::Executed;
use vitrine_harness::{App, product, test};
use vitrine_model::spec::ValueType;

/// The number of products, and of those that get the keys.
const ALL: usize = 500;
const GIVEN: usize = 300;

/// The current schemas: SDL, collections with their validators, indexes.
async fn schemas(app: &App) -> String {
    let mut all = app.engine.sdl().to_owned();
    let collections = app.direct().list_collections().await.unwrap();
    let mut collections: Vec<_> = collections.try_collect().await.unwrap();
    collections.sort_by(|a, b| a.name.cmp(&b.name));
    for collection in collections {
        let _ = writeln!(all, "{}: {:?}", collection.name, collection.options);
        let indexes = app
            .direct()
            .collection::<Document>(&collection.name)
            .list_indexes()
            .await
            .unwrap();
        let indexes: Vec<_> = indexes.try_collect().await.unwrap();
        let _ = writeln!(all, "{indexes:?}");
    }
    all
}

/// The new specs of the n-th product: a value of each type.
fn new_specs(n: usize) -> Value {
    let number = u32::try_from(n).unwrap();
    json!([
        { "key": "new_text", "text": format!("Value {}", n % 6) },
        { "key": "new_flag", "boolean": n.is_multiple_of(3) },
        { "key": "new_number", "number": n },
        { "key": "new_size", "number": f64::from(number) / 10.0, "unit": "cm" },
        { "key": "new_day", "date": format!("2024-{:02}-{:02}", 1 + n % 12, 1 + n % 28) },
    ])
}

/// A filter, and the number of products that it finds.
fn filters() -> Vec<(&'static str, Value, usize)> {
    let all = || 0..GIVEN;
    let count = |fits: &dyn Fn(usize) -> bool| all().filter(|n| fits(*n)).count();
    let spec =
        |key: &str, test: &str, value: Value| json!({ "specs": [{ "key": key, test: value }] });
    vec![
        (
            "token",
            spec("new_text", "text", json!({ "eq": "value 4" })),
            count(&|n| n % 6 == 4),
        ),
        (
            "token",
            spec("new_flag", "boolean", json!(true)),
            count(&|n| n % 3 == 0),
        ),
        (
            "range",
            spec("new_number", "number", json!({ "gte": 100, "lt": 140 })),
            40,
        ),
        // 100 to 139 tenths of a centimetre, filtered in millimetres.
        (
            "range",
            spec(
                "new_size",
                "number",
                json!({ "gte": 100, "lt": 140, "unit": "mm" }),
            ),
            40,
        ),
        (
            "range",
            spec(
                "new_day",
                "date",
                json!({ "gte": "2024-03-01", "lt": "2024-04-01" }),
            ),
            count(&|n| n % 12 == 2),
        ),
    ]
}

#[test]
fn a_new_key_can_be_filtered_by_at_once() {
    test(async |app| {
        app.has((0..ALL).map(|n| {
            product(&format!("P{n}"))
                .price(&format!("{}.50", n % 90))
                .text("old", "x")
        }))
        .await;
        let app = &app.without_product_memory().await;
        let ids = ids(app).await;
        app.start_profiler().await;
        let before = schemas(app).await;
        let unknown = app.query(r#"{ products(filter: { specs: [{ key: "new_number", number: { gt: 1 } }] }) { nodes { name } } }"#).await;
        assert_eq!(unknown.names("/products"), [""; 0]);
        for (n, id) in ids.iter().take(GIVEN).enumerate() {
            app.mutate(
                "setSpecs",
                json!({ "productId": id, "specs": new_specs(n) }),
            )
            .await
            .done();
        }
        let types = app
            .query("{ specKeys(search: \"new\") { nodes { name: type } } }")
            .await;
        let mut types = types.names("/specKeys");
        types.sort_unstable();
        let mut all = ValueType::ALL.map(|value_type| value_type.name().to_uppercase());
        all.sort_unstable();
        assert_eq!(types, all, "a key of each type");
        let mut faults = Vec::new();
        for (shape, filter, hits) in filters() {
            faults.extend(cost_of_filter(app, shape, &filter, hits).await);
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        facets(app).await;
        assert_eq!(schemas(app).await, before, "no schema has changed");
    });
}

/// The ids of all products, in the order of their names.
async fn ids(app: &App) -> Vec<String> {
    let mut ids = Vec::new();
    let mut after = Value::Null;
    for _ in 0..ALL / 100 {
        let page = app
            .query("query($after: String) { products(first: 100, after: $after, sort: [{ key: NEWEST }]) { nodes { id } pageInfo { endCursor } } }")
            .with("after", after)
            .await;
        let nodes = page.at("/products/nodes").as_array().unwrap().iter();
        ids.extend(nodes.map(|node| node["id"].as_str().unwrap().to_owned()));
        after = page.at("/products/pageInfo/endCursor").clone();
    }
    assert_eq!(ids.len(), ALL);
    ids
}

/// Reads a page in two sort orders and the total; returns the cost beyond the hits.
async fn cost_of_filter(app: &App, shape: &str, filter: &Value, hits: usize) -> Vec<String> {
    let expected = i64::try_from(hits).unwrap();
    let mut faults = Vec::new();
    for sort in ["POPULARITY", "PRICE", "NAME"] {
        let query = format!(
            "query($filter: ProductFilterInput) {{ products(first: 20, sort: [{{ key: {sort} }}], filter: $filter) {{ nodes {{ name }} }} }}"
        );
        let request = app
            .query(&query)
            .with("filter", filter.clone())
            .into_future();
        let (answer, executed) = app.profile(request).await;
        assert_eq!(answer.names("/products").len(), hits.min(20), "{filter}");
        assert_eq!(executed.len(), 1, "{filter}");
        // Tokens are indexed with popularity: a page reads its rows and one more. All other filters
        // read the hits and sort them; a range reads one key beyond its end.
        let most = if shape == "token" && sort == "POPULARITY" {
            21
        } else {
            expected + 1
        };
        faults.extend(beyond(&format!("{filter} by {sort}"), &executed[0], most));
    }
    let query = "query($filter: ProductFilterInput) { products(first: 1, filter: $filter) { totalCount { value } } }";
    let request = app
        .query(query)
        .with("filter", filter.clone())
        .into_future();
    let (answer, executed) = app.profile(request).await;
    assert_eq!(
        answer.number("/products/totalCount/value"),
        expected,
        "{filter}"
    );
    let count = executed
        .iter()
        .find(|executed| executed.command() == "aggregate")
        .unwrap();
    faults.extend(beyond(&format!("{filter} counted"), count, expected + 1));
    faults
}

fn beyond(name: &str, executed: &Executed, most: i64) -> Option<String> {
    let (keys, docs) = (executed.keys(), executed.docs());
    (keys > most || docs > most)
        .then(|| format!("{name}: {keys} keys, {docs} documents; at most {most}"))
}

async fn facets(app: &App) {
    let keys = json!(["new_text", "new_flag", "new_number", "new_size", "new_day"]);
    let query = "query($keys: [String!]) { products { facets(keys: $keys, displayUnits: [{ unit: \"mm\" }]) { key kind accuracy productCount distinctValues values { label count } numberRange { min max unit } dateRange { min max } } } }";
    let answer = app.query(query).with("keys", keys).await;
    let facets = answer.at("/products/facets").as_array().unwrap();
    let kinds: Vec<&str> = facets
        .iter()
        .map(|facet| facet["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["TEXT", "BOOLEAN", "NUMBER", "QUANTITY", "DATE"]);
    for facet in facets {
        assert_eq!(facet["productCount"], GIVEN, "{facet}");
        assert_eq!(facet["accuracy"], "EXACT");
        let counts = facet["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value["count"].as_u64().unwrap());
        assert_eq!(
            counts.sum::<u64>(),
            u64::try_from(GIVEN).unwrap(),
            "each product is in one value: {facet}"
        );
    }
    assert_eq!(facets[0]["distinctValues"], 6);
    let last = f64::from(u32::try_from(GIVEN).unwrap() - 1);
    assert_eq!(
        facets[3]["numberRange"],
        json!({ "min": 0.0, "max": last, "unit": "mm" })
    );
    // It is among the default facets.
    let offered = app.query("{ products { facets { key } } }").await;
    let keys: Vec<&str> = offered
        .at("/products/facets")
        .as_array()
        .unwrap()
        .iter()
        .map(|facet| facet["key"].as_str().unwrap())
        .collect();
    for key in ["new_text", "new_flag", "new_number", "new_size", "new_day"] {
        assert!(keys.contains(&key), "{key} is not among {keys:?}");
    }
}

#[test]
fn an_imported_key_can_be_filtered_by_at_once() {
    test(async |app| {
        app.has((0..50).map(|n| product(&format!("P{n}")).number("brand_new", f64::from(n))))
            .await;
        app.has([product("last").text("newer", "yes")]).await;
        let list = app.query(r#"{ products(filter: { specs: [{ key: "brand_new", number: { gte: 48 } }] }) { nodes { name } facets(keys: ["newer", "brand_new"]) { key productCount } } }"#).await;
        assert_eq!(list.names("/products").len(), 2);
        // A key without values in the list has no facet.
        assert_eq!(list.at("/products/facets/0/key"), "brand_new");
        let documents = app
            .direct()
            .collection::<Document>("spec_keys")
            .count_documents(doc! {})
            .await
            .unwrap();
        assert_eq!(documents, 2);
    });
}
