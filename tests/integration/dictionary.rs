//! The spec dictionary as data: its coverage equals a full scan of the products.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::bson::{Bson, doc};
use serde_json::{Value, json};
use vitrine_domain::facets::PanelState;
use vitrine_harness::{App, product, test};
use vitrine_model::product::ProductStatus;

/// Ninety products of three kinds, some not on sale, with optional keys of every type.
async fn stock(app: &App) {
    let product = |n: usize| {
        let kind = ["lamp", "cup", "book"][n % 3];
        let number = f64::from(u32::try_from(n).unwrap());
        let mut product = product(&format!("P{n:02}"))
            .kind(kind)
            .category(if n.is_multiple_of(2) {
                ["Home", "Light"]
            } else {
                ["Home", "Table"]
            })
            .text("color", ["Red", "RED", "Blue", "Green"][n % 4])
            .status(if n % 10 == 9 {
                ProductStatus::Draft
            } else {
                ProductStatus::Active
            });
        if kind == "lamp" {
            product = product
                .quantity("power", 5.0 + number % 7.0, "W")
                .boolean("dimmable", n.is_multiple_of(2));
        }
        if n.is_multiple_of(5) {
            // Twice on one product, with equal and with different values.
            product = product
                .text("size", "M")
                .qualified("EU")
                .text("size", "m")
                .qualified("US")
                .text("size", "L");
        }
        if n.is_multiple_of(4) {
            product = product
                .number("parts", number % 3.0)
                .date("release", &format!("2024-01-{:02}", 1 + n % 5));
        }
        product
    };
    app.has((0..90).map(product)).await;
}

/// The values of a key on products on sale.
#[derive(Debug, Default, PartialEq)]
struct Scanned {
    products: i64,
    values: BTreeSet<String>,
    kinds: BTreeMap<String, i64>,
}

/// All keys by a scan of every product, and the number of products of each kind.
async fn scan(app: &App) -> (BTreeMap<String, Scanned>, BTreeMap<String, i64>) {
    let products = app.documents("products", doc! { "status": "active" }).await;
    let mut kinds: BTreeMap<String, i64> = BTreeMap::new();
    let mut keys: BTreeMap<String, Scanned> = BTreeMap::new();
    for product in &products {
        let kind = product.get_str("kind").unwrap();
        *kinds.entry(kind.to_owned()).or_default() += 1;
        let mut own = BTreeSet::new();
        for spec in product.get_array("specs").unwrap() {
            let spec = spec.as_document().unwrap();
            let key = spec.get_str("k").unwrap();
            // Texts are compared folded, all other values by their number.
            let value = match (spec.get("v").unwrap(), spec.get("n")) {
                (Bson::String(text), _) => text.to_lowercase(),
                (_, Some(number)) => format!("{number:?}"),
                (other, None) => format!("{other:?}"),
            };
            keys.entry(key.to_owned()).or_default().values.insert(value);
            own.insert(key);
        }
        for key in own {
            let scanned = keys.entry(key.to_owned()).or_default();
            scanned.products += 1;
            *scanned.kinds.entry(kind.to_owned()).or_default() += 1;
        }
    }
    (keys, kinds)
}

/// Compares the whole dictionary with the scan.
async fn compare(app: &App) {
    let (scanned, of_kind) = scan(app).await;
    let query = "{ specKeys(first: 100) { nodes { key type coverage { products distinctValues kinds { kind products having missing missingShare } sampleValues } } } }";
    let answer = app.query(query).await;
    let nodes = answer.at("/specKeys/nodes").as_array().unwrap();
    let with: Vec<&str> = nodes
        .iter()
        .filter(|node| !node["coverage"].is_null())
        .map(|node| node["key"].as_str().unwrap())
        .collect();
    assert_eq!(with, scanned.keys().map(String::as_str).collect::<Vec<_>>());
    for node in nodes.iter().filter(|node| !node["coverage"].is_null()) {
        let expected = &scanned[node["key"].as_str().unwrap()];
        let coverage = &node["coverage"];
        assert_eq!(coverage["products"], expected.products, "{node}");
        assert_eq!(coverage["distinctValues"], expected.values.len(), "{node}");
        let kinds = coverage["kinds"].as_array().unwrap();
        let found: BTreeMap<String, i64> = kinds
            .iter()
            .map(|kind| {
                (
                    kind["kind"].as_str().unwrap().to_owned(),
                    kind["having"].as_i64().unwrap(),
                )
            })
            .collect();
        assert_eq!(found, expected.kinds, "{node}");
        for kind in kinds {
            let all = of_kind[kind["kind"].as_str().unwrap()];
            let missing = all - kind["having"].as_i64().unwrap();
            assert_eq!(
                (&kind["products"], &kind["missing"]),
                (&json!(all), &json!(missing)),
                "{node}"
            );
            let share = kind["missingShare"].as_f64().unwrap();
            let expected =
                f64::from(i32::try_from(missing).unwrap()) / f64::from(i32::try_from(all).unwrap());
            assert!((share - expected).abs() < 1e-9, "{node}");
        }
        let samples = coverage["sampleValues"].as_array().unwrap();
        assert!((1..=5).contains(&samples.len()), "{node}");
    }
}

#[test]
fn coverage_equals_a_full_scan_at_every_moment() {
    test(async |app| {
        stock(app).await;
        compare(app).await;
        // A write is counted in the next answer.
        app.has([product("Late")
            .kind("cup")
            .text("color", "Pink")
            .number("weight_class", 7.0)])
            .await;
        compare(app).await;
        let id = app
            .query(r#"{ product(slug: "late") { id } }"#)
            .await
            .text("/product/id");
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        compare(app).await;
        app.mutate("restoreProduct", json!({ "id": id }))
            .await
            .done();
        app.mutate(
            "removeSpecs",
            json!({ "productId": id, "specs": [{ "key": "color" }] }),
        )
        .await
        .done();
        compare(app).await;
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "weight_class", "into": "parts" }),
        )
        .await
        .done();
        app.catalog.continue_merges().await.unwrap();
        compare(app).await;
    });
}

#[test]
fn samples_are_the_most_common_values() {
    test(async |app| {
        stock(app).await;
        let answer = app.query(r#"{ color: specKey(key: "color") { coverage { sampleValues asOf } } power: specKey(key: "power") { coverage { sampleValues } } lid: specKey(key: "dimmable") { coverage { sampleValues } } }"#).await;
        let color = answer
            .at("/color/coverage/sampleValues")
            .as_array()
            .unwrap();
        assert_eq!(color.len(), 3, "{color:?}");
        assert!(
            ["Red", "RED"].contains(&color[0].as_str().unwrap()),
            "{color:?}"
        );
        assert_eq!(
            answer.text("/color/coverage/asOf"),
            "2026-05-31T12:00:00.000Z"
        );
        let power = answer.at("/power/coverage/sampleValues").to_string();
        assert!(power.contains(" W"), "as they are shown: {power}");
        assert_eq!(
            answer
                .at("/lid/coverage/sampleValues")
                .as_array()
                .unwrap()
                .len(),
            2
        );
        let nothing = app
            .mutate("defineSpecKey", json!({ "key": "unseen", "type": "TEXT" }))
            .await;
        nothing.done();
        let unseen = app
            .query(r#"{ specKey(key: "unseen") { coverage { products } } }"#)
            .as_admin()
            .await;
        assert!(unseen.at("/specKey/coverage").is_null());
    });
}

#[test]
fn a_definition_with_a_taken_name_shows_the_key_that_has_it() {
    test(async |app| {
        let glow = json!({ "key": "glow", "type": "TEXT", "aliases": ["shine"] });
        app.mutate("defineSpecKey", glow).await.done();
        let taken = json!({ "key": "shine", "type": "NUMBER" });
        let taken = app.mutate("defineSpecKey", taken).await;
        assert_eq!(taken.user_error_paths(), ["TAKEN at key"]);
        assert_eq!(taken.payload()["specKey"]["key"], "glow");
        let odd = json!({ "key": "Shine", "type": "NUMBER" });
        let odd = app.mutate("defineSpecKey", odd).await;
        assert!(odd.payload()["specKey"].is_null());
    });
}

#[test]
fn a_page_of_coverage_is_read_in_one_batch() {
    test(async |app| {
        stock(app).await;
        let page = "{ specKeys(first: 100) { nodes { key coverage { products } } } }";
        app.query(page).await;
        // Precomputed: one command reads the entries of all keys, another the current generation.
        let again = app.query(page).await;
        let mut sent = again.sent().to_vec();
        sent.sort();
        assert_eq!(
            sent,
            ["aggregate category_generations", "find key_coverage"]
        );
        let without = app
            .query("{ specKeys(first: 100) { nodes { key } } }")
            .await;
        without.assert_commands(&[]);
        // After precomputing nothing is counted on request.
        app.has([product("More").text("color", "Red")]).await;
        let mut maintenance = PanelState::default();
        app.catalog.refresh_panels(&mut maintenance).await.unwrap();
        app.catalog.refresh_panels(&mut maintenance).await.unwrap();
        let after = app.query(page).await;
        assert_eq!(after.sent().len(), 2, "{:?}", after.sent());
        compare(app).await;
    });
}

#[test]
fn more_common_keys_are_suggested_first() {
    test(async |app| {
        stock(app).await;
        let (scanned, of_kind) = scan(app).await;
        let query = "query($kind: String, $category: String, $first: Int) { suggestedSpecKeys(kind: $kind, category: $category, first: $first) { specKey { key } products of share } }";
        let lamp = app.query(query).with("kind", "lamp").await;
        let mut expected: Vec<(i64, &String)> = scanned
            .iter()
            .filter_map(|(key, scanned)| Some((-scanned.kinds.get("lamp")?, key)))
            .collect();
        expected.sort();
        let found = lamp.at("/suggestedSpecKeys").as_array().unwrap();
        let keys: Vec<&str> = found
            .iter()
            .map(|one| one["specKey"]["key"].as_str().unwrap())
            .collect();
        assert_eq!(
            keys,
            expected
                .iter()
                .map(|(_, key)| key.as_str())
                .collect::<Vec<_>>()
        );
        for (one, (products, _)) in found.iter().zip(&expected) {
            assert_eq!(
                (&one["products"], &one["of"]),
                (&json!(-products), &json!(of_kind["lamp"]))
            );
        }
        let light = app
            .query(query)
            .with("category", "light")
            .with("first", 1)
            .await;
        assert_eq!(light.at("/suggestedSpecKeys").as_array().unwrap().len(), 1);
        assert_eq!(light.text("/suggestedSpecKeys/0/specKey/key"), "color");
        // With all its descendants.
        let home = app.query(query).with("category", "home").await;
        assert_eq!(home.number("/suggestedSpecKeys/0/of"), 81);
        let none = app.query(query).with("kind", "nothing").await;
        assert_eq!(none.at("/suggestedSpecKeys"), &Value::Array(vec![]));
        for wrong in [
            json!({}),
            json!({ "kind": "lamp", "category": "home" }),
            json!({ "category": "nowhere" }),
            json!({ "kind": "lamp", "first": 0 }),
        ] {
            let mut request = app.query(query);
            for (name, value) in wrong.as_object().unwrap() {
                request = request.with(name, value.clone());
            }
            let answer = request.await;
            assert!(
                answer.errors().concat().starts_with("BAD_USER_INPUT"),
                "{wrong}: {}",
                answer.pretty()
            );
        }
    });
}
