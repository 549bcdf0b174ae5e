//! Merges of two spec keys: both keys find the same during and after the merge.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, ProductBuilder, product, test};

/// The number of products with one of the two keys: more than two batches.
const PRODUCTS: usize = 240;

/// Products with `colour`, products with `color`, products with both.
fn stock() -> impl Iterator<Item = ProductBuilder> {
    (0..PRODUCTS).map(|n| {
        let value = ["Red", "Blue"][n % 2];
        let product = product(&format!("P{n:03}")).price(&n.to_string());
        match n % 3 {
            0 => product.text("color", value),
            1 => product.text("colour", value).qualified("EU"),
            _ => product
                .text("colour", value)
                .text("color", "RED")
                .text("colour", "Red"),
        }
    })
}

/// The results of a query by this key: names on two pages, the total, and the counts of the facet.
async fn answers(app: &App, key: &str) -> Value {
    let query = "query($filter: ProductFilterInput, $facets: [String!]) {
        first: products(first: 30, sort: [{ key: NAME }], filter: $filter) { nodes { name spec(key: \"color\") { text } } totalCount { value } }
        cheap: products(first: 30, sort: [{ key: PRICE }], filter: $filter) { nodes { name } facets(keys: $facets) { key productCount values { count filter { specs { key text { eq } } } } } } }";
    let filter = json!({ "specs": [{ "key": key, "text": { "eq": "red" } }] });
    let answer = app
        .query(query)
        .with("filter", filter)
        .with("facets", json!([key]))
        .await;
    let mut data = answer.data().clone();
    // The spec itself may have either spelling of its values.
    for node in data["first"]["nodes"].as_array_mut().unwrap() {
        node.as_object_mut().unwrap().remove("spec");
    }
    data
}

async fn count_with_old_key(app: &App) -> u64 {
    let products = app.direct().collection::<Document>("products");
    products
        .count_documents(doc! { "specs.k": "colour" })
        .await
        .unwrap()
}

/// A shop with products of both keys, which are being merged.
async fn merging(app: &App) {
    app.has(stock()).await;
    let merged = merge(app).await;
    assert_eq!(merged.number("/remaining"), 160);
    assert_eq!(merged.done()["specKey"]["key"], "color");
}

async fn merge(app: &App) -> Reply {
    let keys = json!({ "from": "colour", "into": "color" });
    app.mutate("mergeSpecKeys", keys).await
}

#[test]
fn both_keys_find_the_same_during_and_after_a_merge() {
    test(async |app| {
        merging(app).await;
        assert_eq!(
            count_with_old_key(app).await,
            160,
            "products are rewritten in the background"
        );
        let during = answers(app, "color").await;
        assert_eq!(during["first"]["totalCount"]["value"], 160, "{during}");
        assert_eq!(answers(app, "colour").await, during);
        let key = app
            .query(r#"{ specKey(key: "colour") { key } specKeys { nodes { key } } }"#)
            .await;
        assert_eq!(key.text("/specKey/key"), "color");
        assert_eq!(key.at("/specKeys/nodes"), &json!([{ "key": "color" }]));
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(count_with_old_key(app).await, 0);
        let after = answers(app, "color").await;
        assert_eq!(
            after, during,
            "the same as before the products were rewritten"
        );
        assert_eq!(answers(app, "colour").await, after);
    });
}

#[test]
fn a_merged_product_has_every_value_once() {
    test(async |app| {
        merging(app).await;
        app.catalog.continue_merges().await.unwrap();
        let both = app
            .query(r#"{ product(slug: "p005") { specs { key text qualifier } revision } }"#)
            .await;
        assert_eq!(both.at("/product/revision"), 2);
        let specs = both.at("/product/specs").as_array().unwrap();
        assert!(
            specs.iter().all(|spec| spec["key"] == "color"),
            "{}",
            both.pretty()
        );
    });
}

#[test]
fn a_merge_ends_once_no_process_can_write_the_old_key() {
    test(async |app| {
        merging(app).await;
        app.catalog.continue_merges().await.unwrap();
        let after = answers(app, "color").await;
        assert_eq!(app.catalog.continue_merges().await.unwrap(), 0);
        let absorbing = async || {
            app.catalog
                .reference()
                .dictionary
                .get("color")
                .unwrap()
                .absorbing
                .clone()
        };
        assert_eq!(absorbing().await, ["colour"]);
        app.clock.advance(11_000);
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(absorbing().await, [""; 0]);
        assert_eq!(
            app.catalog
                .reference()
                .dictionary
                .get("colour")
                .unwrap()
                .key,
            "color"
        );
        assert_eq!(answers(app, "colour").await, after);
        let again = merge(app).await;
        assert_eq!(again.number("/remaining"), 0, "nothing is left to do");
    });
}

#[test]
fn a_write_during_a_merge_stores_the_remaining_key() {
    test(async |app| {
        app.has(stock().take(20)).await;
        // A process that does not know of the merge yet.
        let behind = app.other_process().await;
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        )
        .await
        .done();
        let id = app
            .query(r#"{ product(slug: "p001") { id } }"#)
            .await
            .text("/product/id");
        let set = |text: &str| json!({ "productId": id, "specs": [{ "key": "colour", "qualifier": "EU", "text": text }] });
        app.mutate("setSpecs", set("Green"))
            .through(&behind)
            .await
            .done();
        app.mutate("setSpecs", set("Black")).await.done();
        let shown = app
            .query(r#"{ product(slug: "p001") { specs { key text qualifier } } }"#)
            .await;
        assert_eq!(
            shown.at("/product/specs"),
            &json!([{ "key": "color", "text": "Black", "qualifier": "EU" }])
        );
        // An import with the old key stores the remaining one.
        app.has([product("Late").text("colour", "Red")]).await;
        let late = app
            .query(r#"{ product(slug: "late") { specs { key text } } }"#)
            .await;
        assert_eq!(
            late.at("/product/specs"),
            &json!([{ "key": "color", "text": "Red" }])
        );
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(count_with_old_key(app).await, 0);
    });
}

#[test]
fn two_workers_share_a_merge() {
    test(async |app| {
        app.has(stock()).await;
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        )
        .await
        .done();
        let other = app.other_process().await;
        let (one, two) = tokio::join!(app.catalog.continue_merges(), other.continue_merges());
        // One of them may find that the other has finished it.
        println!("{one:?} {two:?}");
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(count_with_old_key(app).await, 0);
        let revisions = app.direct().collection::<Document>("products");
        let twice = revisions
            .count_documents(doc! { "revision": { "$gt": 2 } })
            .await
            .unwrap();
        assert_eq!(twice, 0, "each product was rewritten once");
    });
}

#[test]
fn a_merged_key_can_be_merged_again() {
    test(async |app| {
        app.has([
            product("a").text("farbe", "Rot"),
            product("b").text("colour", "Red"),
            product("c").text("color", "Rouge"),
        ])
        .await;
        app.mutate(
            "updateSpecKey",
            json!({ "key": "farbe", "aliases": ["farbton"] }),
        )
        .await
        .done();
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "farbe", "into": "colour" }),
        )
        .await
        .done();
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        )
        .await
        .done();
        let find = async |key: &str| {
            let query = format!(
                r#"{{ products(filter: {{ specs: [{{ key: "{key}", exists: true }}] }}) {{ totalCount {{ value }} }} }}"#
            );
            app.query(&query).await.number("/products/totalCount/value")
        };
        for key in ["farbton", "farbe", "colour", "color"] {
            assert_eq!(find(key).await, 3, "{key}");
        }
        app.catalog.continue_merges().await.unwrap();
        for key in ["farbton", "farbe", "colour", "color"] {
            assert_eq!(find(key).await, 3, "{key}");
        }
        let products = app.direct().collection::<Document>("products");
        assert_eq!(
            products
                .count_documents(doc! { "specs.k": "color" })
                .await
                .unwrap(),
            3
        );
    });
}

#[test]
fn keys_of_quantities_can_be_merged() {
    test(async |app| {
        app.has([
            product("a").quantity("weight", 1.0, "kg"),
            product("b").quantity("gewicht", 500.0, "g"),
        ])
        .await;
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "gewicht", "into": "weight" }),
        )
        .await
        .done();
        let find = async |key: &str| {
            let query = format!(
                r#"{{ products(sort: [{{ key: NAME }}], filter: {{ specs: [{{ key: "{key}", number: {{ gte: 400, unit: "g" }} }}] }}) {{ nodes {{ name spec(key: "{key}") {{ text }} }} totalCount {{ value }} facets(keys: ["{key}"]) {{ numberRange {{ min max unit }} }} }} }}"#
            );
            app.query(&query).await.data().clone()
        };
        let during = find("gewicht").await;
        assert_eq!(during["products"]["totalCount"]["value"], 2);
        assert_eq!(find("weight").await, during);
        assert_eq!(
            during["products"]["nodes"][1]["spec"]["text"], "500 g",
            "also by the old name: {during}"
        );
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(find("gewicht").await, during);
    });
}

#[test]
fn keys_that_cannot_be_merged_are_refused() {
    test(async |app| {
        app.has([product("a")
            .text("color", "red")
            .number("ports", 1.0)
            .quantity("weight", 1.0, "kg")
            .quantity("length", 1.0, "m")
            .text("tone", "Odd")])
            .await;
        let merge = async |from: &str, into: &str| {
            app.mutate("mergeSpecKeys", json!({ "from": from, "into": into }))
                .await
        };
        for (from, into, place) in [
            ("no_such", "color", "NOT_FOUND at from"),
            ("color", "no_such", "NOT_FOUND at into"),
            ("color", "color", "INVALID at into"),
            ("ports", "color", "TYPE_MISMATCH at from"),
            ("weight", "length", "TYPE_MISMATCH at from"),
        ] {
            assert_eq!(
                merge(from, into).await.user_error_paths(),
                [place],
                "{from} into {into}"
            );
        }
        let message = merge("weight", "length").await.user_errors().concat();
        assert!(
            message.contains("mass") && message.contains("length"),
            "{message}"
        );
        let stale = app
            .mutate(
                "mergeSpecKeys",
                json!({ "from": "tone", "into": "color", "expectedRevision": 9 }),
            )
            .await;
        assert_eq!(
            stale.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
        assert_eq!(stale.payload()["userErrors"][0]["currentRevision"], 1);
        app.mutate(
            "updateSpecKey",
            json!({ "key": "color", "allowedValues": ["Red", "Blue"] }),
        )
        .await
        .done();
        let forbidden = merge("tone", "color").await;
        assert_eq!(forbidden.user_error_paths(), ["IN_USE at from"]);
        let merged = forbidden.payload();
        assert!(merged["specKey"].is_null() && merged["remaining"].is_null());
        let untouched = app.query(r#"{ specKey(key: "tone") { key } }"#).await;
        assert_eq!(untouched.text("/specKey/key"), "tone");
    });
}
