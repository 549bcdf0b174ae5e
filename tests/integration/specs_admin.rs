//! Setting and removing specs, and what their keys learn from it.

use serde_json::{Value, json};
use vitrine_harness::{App, product, test};

async fn id_of(app: &App, slug: &str) -> String {
    let query = "query($slug: String) { product(slug: $slug) { id } }";
    let found = app.query(query).as_admin().with("slug", slug).await;
    found.text("/product/id")
}

/// What a product says, each spec as `key=text@qualifier`.
async fn specs(app: &App, id: &str) -> Vec<String> {
    let query = "query($id: ID) { product(id: $id) { specs { key text qualifier } } }";
    let found = app.query(query).as_admin().with("id", id).await;
    let specs = found.at("/product/specs").as_array().unwrap().iter();
    let text = |spec: &Value| {
        let qualifier = spec["qualifier"]
            .as_str()
            .map_or_else(String::new, |q| format!("@{q}"));
        format!(
            "{}={}{qualifier}",
            spec["key"].as_str().unwrap(),
            spec["text"].as_str().unwrap()
        )
    };
    specs.map(text).collect()
}

fn set(id: &str, specs: Value) -> Value {
    let mut input = json!({ "productId": id });
    input["specs"] = specs;
    input
}

#[test]
fn what_is_set_replaces_its_key_and_qualifier_and_leaves_the_rest() {
    test(async |app| {
        app.has([product("Shoe")
            .text("color", "Red")
            .text("size", "42")
            .only_for("EU")
            .text("size", "9")
            .only_for("US")
            .quantity("weight", 300.0, "g")])
            .await;
        let id = id_of(app, "shoe").await;
        let given = json!([
            { "key": "size", "qualifier": "eu", "text": "43" },
            { "key": "color", "text": "Red" }, { "key": "color", "text": "Blue" },
            { "key": "weight", "number": 0.31, "unit": "kilograms" },
            { "key": "material", "text": "Leather" },
        ]);
        let done = app.order("setSpecs", set(&id, given.clone())).await;
        assert_eq!(done.number("/product/revision"), 2);
        let expected = [
            "color=Red",
            "color=Blue",
            "size=43@EU",
            "size=9@US",
            "weight=0.31 kg",
            "material=Leather",
        ];
        assert_eq!(specs(app, &id).await, expected);
        let again = app.order("setSpecs", set(&id, given)).await;
        assert_eq!(again.number("/product/revision"), 2, "nothing changed");
        let removed = json!({ "productId": id, "specs": [{ "key": "size", "qualifier": "US" }, { "key": "color" }, { "key": "never_seen" }] });
        let removed = app.order("removeSpecs", removed).await;
        assert_eq!(removed.number("/product/revision"), 3);
        assert_eq!(
            specs(app, &id).await,
            ["size=43@EU", "weight=0.31 kg", "material=Leather"]
        );
        let none = app
            .order(
                "removeSpecs",
                json!({ "productId": id, "specs": [{ "key": "color" }] }),
            )
            .await;
        assert_eq!(none.number("/product/revision"), 3);
        // What was removed is found no more, and what was set is.
        let find = async |filter: &str| {
            let list = app.query(&format!(
                "{{ products(filter: {{ specs: [{filter}] }}) {{ nodes {{ name }} }} }}"
            ));
            list.await.names("/products").len()
        };
        assert_eq!(find(r#"{ key: "color", text: { eq: "red" } }"#).await, 0);
        assert_eq!(
            find(r#"{ key: "size", qualifier: "EU", text: { eq: "43" } }"#).await,
            1
        );
        assert_eq!(find(r#"{ key: "size", text: { eq: "42" } }"#).await, 0);
        assert_eq!(
            find(r#"{ key: "weight", number: { eq: 310, unit: "g" } }"#).await,
            1
        );
    });
}

#[test]
fn a_value_that_contradicts_its_key_is_refused_with_both_sides() {
    test(async |app| {
        app.has([product("Screen")
            .quantity("screen_size", 27.0, "in")
            .number("ports", 2.0)
            .text("panel", "IPS")
            .boolean("curved", false)
            .date("release", "2024-01-01")])
            .await;
        let id = id_of(app, "screen").await;
        for (spec, place, words) in [
            (
                json!({ "key": "screen_size", "text": "large" }),
                "text",
                ["quantity", "large"],
            ),
            (
                json!({ "key": "screen_size", "number": 27 }),
                "unit",
                ["quantity", "number"],
            ),
            (
                json!({ "key": "screen_size", "number": 27, "unit": "kg" }),
                "unit",
                ["mass", "length"],
            ),
            (
                json!({ "key": "ports", "number": 2, "unit": "kg" }),
                "unit",
                ["number", "2 kg"],
            ),
            (
                json!({ "key": "ports", "boolean": true }),
                "boolean",
                ["number", "yes"],
            ),
            (
                json!({ "key": "panel", "number": 3.5 }),
                "number",
                ["text", "3.5"],
            ),
            (
                json!({ "key": "panel", "date": "2024-01-02" }),
                "date",
                ["text", "2024-01-02"],
            ),
            (
                json!({ "key": "curved", "text": "yes" }),
                "text",
                ["boolean", "yes"],
            ),
            (
                json!({ "key": "release", "text": "spring" }),
                "text",
                ["date", "spring"],
            ),
        ] {
            let refused = app.order("setSpecs", set(&id, json!([spec]))).await;
            assert_eq!(
                refused.places(),
                [format!("TYPE_MISMATCH at specs.0.{place}")],
                "{spec}"
            );
            let told = refused.refused().concat();
            assert!(
                words.iter().all(|word| told.contains(word)),
                "{spec}: {told}"
            );
            assert_eq!(refused.payload()["product"]["revision"], 1, "as it is");
        }
        let unknown = app
            .order(
                "setSpecs",
                set(
                    &id,
                    json!([{ "key": "screen_size", "number": 2, "unit": "cubits" }]),
                ),
            )
            .await;
        assert_eq!(unknown.places(), ["NOT_FOUND at specs.0.unit"]);
        // A key that is taught by one spec binds the next spec of the same order.
        let both = json!([{ "key": "fresh", "number": 1 }, { "key": "fresh", "text": "one" }]);
        let refused = app.order("setSpecs", set(&id, both)).await;
        assert_eq!(refused.places(), ["TYPE_MISMATCH at specs.1.text"]);
        let learnt = app.query(r#"{ specKey(key: "fresh") { key } }"#).await;
        assert!(
            learnt.at("/specKey").is_null(),
            "an order that was refused teaches nothing"
        );
    });
}

#[test]
fn only_allowed_texts_are_taken_without_regard_to_case_and_accents() {
    test(async |app| {
        app.has([product("Shirt")]).await;
        let id = id_of(app, "shirt").await;
        let key = json!({ "key": "fit", "type": "TEXT", "allowedValues": ["Slim", "Régular"], "aliases": ["cut"] });
        app.order("defineSpecKey", key).await.done();
        let refused = app
            .order(
                "setSpecs",
                set(&id, json!([{ "key": "cut", "text": "Wide" }])),
            )
            .await;
        assert_eq!(refused.places(), ["TYPE_MISMATCH at specs.0.text"]);
        let told = refused.refused().concat();
        assert!(
            ["Slim", "Régular", "Wide"]
                .iter()
                .all(|word| told.contains(word)),
            "{told}"
        );
        app.order(
            "setSpecs",
            set(&id, json!([{ "key": "cut", "text": "REGULAR" }])),
        )
        .await
        .done();
        assert_eq!(specs(app, &id).await, ["fit=REGULAR"]);
        let used = app
            .query(r#"{ specKey(key: "fit") { revision allowedValues } }"#)
            .await;
        assert_eq!(
            used.at("/specKey/allowedValues"),
            &json!(["Slim", "Régular"])
        );
    });
}

#[test]
fn setting_specs_of_nothing_is_told() {
    test(async |app| {
        app.has([product("Shirt")]).await;
        let category = app
            .query(r#"{ category(slug: "things") { id } }"#)
            .await
            .text("/category/id");
        let refused = app.order("setSpecs", set(&category, json!([]))).await;
        assert_eq!(refused.places(), ["INVALID at productId"]);
        let missing =
            vitrine_model::id::GlobalId::Product(vitrine_model::id::ProductId::random()).encode();
        for name in ["setSpecs", "removeSpecs"] {
            let refused = app.order(name, set(&missing, json!([]))).await;
            assert_eq!(refused.places(), ["NOT_FOUND at productId"]);
        }
        for name in ["archiveProduct", "restoreProduct", "updateProduct"] {
            let refused = app.order(name, json!({ "id": missing })).await;
            assert_eq!(refused.places(), ["NOT_FOUND at id"]);
        }
    });
}

#[test]
fn of_two_who_teach_a_key_at_once_one_decides_its_type() {
    test(async |app| {
        app.has((0..8).map(|n| product(&format!("P{n}")))).await;
        let mut ids = Vec::new();
        for n in 0..8 {
            ids.push(id_of(app, &format!("p{n}")).await);
        }
        let orders = ids.iter().enumerate().map(|(n, id)| {
            let spec = if n % 2 == 0 {
                json!({ "key": "fresh", "text": "one" })
            } else {
                json!({ "key": "fresh", "number": 1 })
            };
            app.order("setSpecs", set(id, json!([spec]))).into_future()
        });
        let replies = futures_util::future::join_all(orders).await;
        let key = app
            .query(r#"{ specKey(key: "fresh") { type } }"#)
            .await
            .text("/specKey/type");
        for (n, reply) in replies.iter().enumerate() {
            let fits = (n % 2 == 0) == (key == "TEXT");
            if fits {
                reply.done();
            } else {
                assert!(
                    reply.places()[0].starts_with("TYPE_MISMATCH"),
                    "{}",
                    reply.0.shown()
                );
            }
        }
    });
}
