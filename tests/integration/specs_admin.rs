//! Setting and removing specs, and the keys that this defines.

use serde_json::{Value, json};
use vitrine_harness::{App, product, test};
use vitrine_model::product::ProductStatus;

async fn id_of(app: &App, slug: &str) -> String {
    let query = "query($slug: String) { product(slug: $slug) { id } }";
    let found = app.query(query).as_admin().with("slug", slug).await;
    found.text("/product/id")
}

/// The specs of a product, each as `key=text@qualifier`.
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

async fn shoe(app: &App) -> String {
    app.has([product("Shoe")
        .text("color", "Red")
        .text("size", "42")
        .qualified("EU")
        .text("size", "9")
        .qualified("US")
        .quantity("weight", 300.0, "g")])
        .await;
    id_of(app, "shoe").await
}

/// How many products have a spec.
async fn find(app: &App, filter: &str) -> usize {
    let list = app.query(&format!(
        "{{ products(filter: {{ specs: [{filter}] }}) {{ nodes {{ name }} }} }}"
    ));
    list.await.names("/products").len()
}

#[test]
fn set_specs_replace_those_of_their_key_and_qualifier_and_no_other() {
    test(async |app| {
        let id = shoe(app).await;
        let input = json!([
            { "key": "size", "qualifier": "eu", "text": "43" },
            { "key": "color", "text": "Red" }, { "key": "color", "text": "Blue" },
            { "key": "weight", "number": 0.31, "unit": "kilograms" },
            { "key": "material", "text": "Leather" },
        ]);
        let done = app.mutate("setSpecs", set(&id, input.clone())).await;
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
        let again = app.mutate("setSpecs", set(&id, input)).await;
        assert_eq!(again.number("/product/revision"), 2, "nothing changed");
        assert_eq!(find(app, r#"{ key: "size", text: { eq: "42" } }"#).await, 0);
        assert_eq!(
            find(
                app,
                r#"{ key: "size", qualifier: "EU", text: { eq: "43" } }"#
            )
            .await,
            1
        );
        assert_eq!(
            find(app, r#"{ key: "weight", number: { eq: 310, unit: "g" } }"#).await,
            1
        );
    });
}

#[test]
fn removed_specs_are_no_longer_found() {
    test(async |app| {
        let id = shoe(app).await;
        let removed = json!({ "productId": id, "specs": [{ "key": "size", "qualifier": "US" }, { "key": "color" }, { "key": "never_seen" }] });
        let removed = app.mutate("removeSpecs", removed).await;
        assert_eq!(removed.number("/product/revision"), 2);
        assert_eq!(specs(app, &id).await, ["size=42@EU", "weight=300 g"]);
        let again = json!({ "productId": id, "specs": [{ "key": "color" }] });
        let again = app.mutate("removeSpecs", again).await;
        assert_eq!(again.number("/product/revision"), 2, "nothing changed");
        assert_eq!(
            find(app, r#"{ key: "color", text: { eq: "red" } }"#).await,
            0
        );
    });
}

async fn screen(app: &App) -> String {
    app.has([product("Screen")
        .quantity("screen_size", 27.0, "in")
        .number("ports", 2.0)
        .text("panel", "IPS")
        .boolean("curved", false)
        .date("release", "2024-01-01")])
        .await;
    id_of(app, "screen").await
}

/// Specs of the screen that contradict their keys, each with its field and words of its refusal.
fn mismatches() -> [(Value, &'static str, [&'static str; 2]); 9] {
    [
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
    ]
}

#[test]
fn a_value_that_contradicts_its_key_is_refused_with_both_sides() {
    test(async |app| {
        let id = screen(app).await;
        for (spec, place, words) in mismatches() {
            let refused = app.mutate("setSpecs", set(&id, json!([spec]))).await;
            assert_eq!(
                refused.user_error_paths(),
                [format!("TYPE_MISMATCH at specs.0.{place}")],
                "{spec}"
            );
            let reasons = refused.user_errors().concat();
            assert!(
                words.iter().all(|word| reasons.contains(word)),
                "{spec}: {reasons}"
            );
            assert_eq!(refused.payload()["product"]["revision"], 1, "as it is");
        }
        let unknown = app
            .mutate(
                "setSpecs",
                set(
                    &id,
                    json!([{ "key": "screen_size", "number": 2, "unit": "cubits" }]),
                ),
            )
            .await;
        assert_eq!(unknown.user_error_paths(), ["NOT_FOUND at specs.0.unit"]);
    });
}

#[test]
fn a_key_defined_by_one_spec_of_a_mutation_binds_the_next() {
    test(async |app| {
        let id = screen(app).await;
        let both = json!([{ "key": "fresh", "number": 1 }, { "key": "fresh", "text": "one" }]);
        let refused = app.mutate("setSpecs", set(&id, both)).await;
        assert_eq!(
            refused.user_error_paths(),
            ["TYPE_MISMATCH at specs.1.text"]
        );
        let learnt = app.query(r#"{ specKey(key: "fresh") { key } }"#).await;
        assert!(
            learnt.at("/specKey").is_null(),
            "a refused mutation defines no key"
        );
    });
}

#[test]
fn only_allowed_texts_are_taken_without_regard_to_case_and_accents() {
    test(async |app| {
        app.has([product("Shirt")]).await;
        let id = id_of(app, "shirt").await;
        let key = json!({ "key": "fit", "type": "TEXT", "allowedValues": ["Slim", "Régular"], "aliases": ["cut"] });
        app.mutate("defineSpecKey", key).await.done();
        let refused = app
            .mutate(
                "setSpecs",
                set(&id, json!([{ "key": "cut", "text": "Wide" }])),
            )
            .await;
        assert_eq!(
            refused.user_error_paths(),
            ["TYPE_MISMATCH at specs.0.text"]
        );
        let message = refused.user_errors().concat();
        assert!(
            ["Slim", "Régular", "Wide"]
                .iter()
                .all(|word| message.contains(word)),
            "{message}"
        );
        app.mutate(
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
fn setting_specs_of_a_missing_product_is_refused() {
    test(async |app| {
        app.has([product("Shirt")]).await;
        let category = app
            .query(r#"{ category(slug: "things") { id } }"#)
            .await
            .text("/category/id");
        let refused = app.mutate("setSpecs", set(&category, json!([]))).await;
        assert_eq!(refused.user_error_paths(), ["INVALID at productId"]);
        let missing =
            vitrine_model::id::GlobalId::Product(vitrine_model::id::ProductId::random()).encode();
        for name in ["setSpecs", "removeSpecs"] {
            let refused = app.mutate(name, set(&missing, json!([]))).await;
            assert_eq!(refused.user_error_paths(), ["NOT_FOUND at productId"]);
        }
        for name in ["archiveProduct", "restoreProduct", "updateProduct"] {
            let refused = app.mutate(name, json!({ "id": missing })).await;
            assert_eq!(refused.user_error_paths(), ["NOT_FOUND at id"]);
        }
    });
}

#[test]
fn of_two_concurrent_definitions_of_a_key_one_decides_its_type() {
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
            app.mutate("setSpecs", set(id, json!([spec]))).into_future()
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
                    reply.user_error_paths()[0].starts_with("TYPE_MISMATCH"),
                    "{}",
                    reply.0.pretty()
                );
            }
        }
    });
}

/// Where a caller meets the spec key `glow`: by its name, in the dictionary, as a filter, as a
/// facet, and as the key that a wrong name may mean.
async fn meets_glow(app: &App, is_admin: bool) -> Vec<&'static str> {
    let ask = async |query: &str| {
        let query = app.query(query);
        if is_admin {
            query.as_admin().await
        } else {
            query.await
        }
    };
    let filtered = |key: &str| {
        format!(
            "{{ products(filter: {{ specs: [{{ key: \"{key}\", exists: true }}] }}, sort: [{{ spec: \"{key}\" }}]) {{ nodes {{ name }} }} }}"
        )
    };
    let mut places = Vec::new();
    let named = ask(r#"{ specKey(key: "glow") { label } }"#).await;
    places.extend((!named.at("/specKey").is_null()).then_some("specKey"));
    let all = ask("{ specKeys(first: 100) { nodes { key } } }").await;
    let is_listed = all.at("/specKeys/nodes").to_string().contains("glow");
    places.extend(is_listed.then_some("specKeys"));
    let hints = ask(&filtered("glow")).await.hints();
    places.extend(hints.is_empty().then_some("filter"));
    let facets = ask(r#"{ products { facets(keys: ["glow"]) { key } } }"#).await;
    let is_facet = *facets.at("/products/facets") != json!([]);
    places.extend(is_facet.then_some("facet"));
    let hints = ask(&filtered("glov")).await.hints();
    assert_eq!(hints.len(), 2, "{hints:?}");
    let is_meant = hints.iter().any(|hint| hint.contains("glow"));
    places.extend(is_meant.then_some("hint"));
    places
}

#[test]
fn strangers_see_a_spec_key_once_a_product_on_sale_had_it() {
    test(async |app| {
        const KEY: [&str; 4] = ["specKey", "specKeys", "filter", "hint"];
        const ALL: [&str; 5] = ["specKey", "specKeys", "filter", "facet", "hint"];
        app.has([
            product("Lamp").text("color", "red"),
            product("Secret")
                .text("glow", "blue")
                .status(ProductStatus::Draft),
        ])
        .await;
        let id = id_of(app, "secret").await;
        assert_eq!(meets_glow(app, true).await, ALL);
        assert!(meets_glow(app, false).await.is_empty());
        let status = |status: &str| json!({ "id": id, "status": status });
        app.mutate("updateProduct", status("ACTIVE")).await.done();
        assert_eq!(meets_glow(app, false).await, ALL);
        app.mutate("updateProduct", status("ARCHIVED")).await.done();
        assert_eq!(meets_glow(app, false).await, KEY, "it was seen");
    });
}

#[test]
fn a_defined_spec_key_is_shown_with_its_first_product_on_sale() {
    test(async |app| {
        let key = json!({ "key": "glow", "type": "TEXT" });
        app.mutate("defineSpecKey", key).await.done();
        app.has([product("Draft")
            .text("glow", "red")
            .status(ProductStatus::Draft)])
            .await;
        let id = shoe(app).await;
        assert!(meets_glow(app, false).await.is_empty());
        let glow = json!([{ "key": "glow", "text": "green" }]);
        app.mutate("setSpecs", set(&id, glow)).await.done();
        assert!(meets_glow(app, false).await.contains(&"facet"));
    });
}
