//! Creating and updating categories, suppliers, units and spec keys.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_harness::{App, product, test};

async fn category(app: &App, name: &str, parent: Option<&str>) -> String {
    let input = json!({ "name": name, "parent": parent });
    app.mutate("createCategory", input)
        .await
        .text("/category/id")
}

/// All stored products.
async fn products(app: &App) -> Vec<Document> {
    app.documents("products", doc! {}).await
}

#[test]
fn categories_are_made_renamed_and_moved_without_writing_a_product() {
    test(async |app| {
        let home = category(app, "Home", None).await;
        let kitchen = category(app, "Kitchen", Some("home")).await;
        category(app, "Cups", Some("kitchen")).await;
        category(app, "Garden", None).await;
        app.has([
            product("Mug")
                .category(["Home", "Kitchen", "Cups"])
                .price("5"),
            product("Pan").category(["Home", "Kitchen"]),
        ])
        .await;
        let before = products(app).await;
        let find = async |slug: &str| {
            let query = "query($slug: String!) { products(filter: { category: [$slug] }, sort: [{ key: NAME }]) { nodes { name } totalCount { value } } }";
            app.query(query).with("slug", slug).await.names("/products")
        };
        assert_eq!(find("home").await, ["Mug", "Pan"]);
        let moved = app.mutate("updateCategory", json!({ "id": kitchen, "parent": "garden", "name": "Outdoor  kitchen", "expectedRevision": 1 })).await;
        assert!(
            moved
                .0
                .sent()
                .iter()
                .all(|sent| !sent.ends_with(" products")),
            "{:?}",
            moved.0.sent()
        );
        assert_eq!(
            moved.done()["category"]["path"],
            json!(["Garden", "Outdoor kitchen"])
        );
        assert_eq!(moved.text("/category/slug"), "kitchen", "the address stays");
        assert_eq!(find("home").await, [""; 0]);
        assert_eq!(find("garden").await, ["Mug", "Pan"]);
        let mug = app.query(r#"{ product(slug: "mug") { category { path } } categories { name productCount } }"#).await;
        assert_eq!(
            mug.at("/product/category/path"),
            &json!(["Garden", "Outdoor kitchen", "Cups"])
        );
        assert_eq!(
            mug.at("/categories"),
            &json!([{ "name": "Garden", "productCount": 2 }, { "name": "Home", "productCount": 0 }])
        );
        app.mutate(
            "updateCategory",
            json!({ "id": kitchen, "parent": null, "slug": "outdoor" }),
        )
        .await
        .done();
        assert_eq!(find("outdoor").await, ["Mug", "Pan"]);
        assert_eq!(find("kitchen").await, [""; 0]);
        let nothing = app
            .mutate("updateCategory", json!({ "id": home, "name": "Home" }))
            .await;
        assert_eq!(nothing.number("/category/revision"), 1);
        assert_eq!(products(app).await, before, "no product was written");
    });
}

/// Eight categories, each below the one before: the maximum depth of the tree. Returns their ids.
async fn eight_levels(app: &App) -> Vec<String> {
    let mut parent: Option<String> = None;
    let mut ids = Vec::new();
    for n in 1..=8 {
        ids.push(category(app, &format!("Level {n}"), parent.as_deref()).await);
        parent = Some(format!("level-{n}"));
    }
    ids
}

#[test]
fn categories_have_valid_names_that_differ() {
    test(async |app| {
        eight_levels(app).await;
        let refused =
            async |input: Value| app.mutate("createCategory", input).await.user_error_paths();
        assert_eq!(
            refused(json!({ "name": "x", "parent": "nowhere" })).await,
            ["NOT_FOUND at parent"]
        );
        assert_eq!(
            refused(json!({ "name": "LÉVEL 1" })).await,
            ["TAKEN at name"]
        );
        assert_eq!(
            refused(json!({ "name": "x", "slug": "level-3" })).await,
            ["TAKEN at slug"]
        );
        assert_eq!(
            refused(json!({ "name": " ", "slug": "A b" })).await,
            ["INVALID at name", "INVALID at slug"]
        );
        assert_eq!(
            refused(json!({ "name": "n".repeat(201) })).await,
            ["INVALID at name"]
        );
    });
}

#[test]
fn categories_stay_a_tree_of_at_most_eight_levels() {
    test(async |app| {
        let ids = eight_levels(app).await;
        let refused =
            async |name: &str, input: Value| app.mutate(name, input).await.user_error_paths();
        let (make, change) = ("createCategory", "updateCategory");
        assert_eq!(
            refused(make, json!({ "name": "Level 9", "parent": "level-8" })).await,
            ["TOO_LARGE at parent"]
        );
        for below in ["level-1", "level-2", "level-8"] {
            let input = json!({ "id": ids[0], "parent": below });
            let reply = app.mutate(change, input).await;
            assert_eq!(reply.user_error_paths(), ["INVALID at parent"], "{below}");
            assert!(reply.user_errors()[0].contains("below itself"));
        }
        category(app, "Side", None).await;
        // With its descendants the category would reach the ninth level.
        assert_eq!(
            refused(change, json!({ "id": ids[0], "parent": "side" })).await,
            ["TOO_LARGE at parent"]
        );
    });
}

#[test]
fn a_category_is_changed_by_those_who_know_its_revision() {
    test(async |app| {
        let ids = eight_levels(app).await;
        category(app, "Side", None).await;
        let change = "updateCategory";
        let nulls = json!({ "id": ids[1], "name": null, "slug": null });
        assert_eq!(
            app.mutate(change, nulls).await.user_error_paths(),
            ["INVALID at name", "INVALID at slug"]
        );
        app.mutate(change, json!({ "id": ids[1], "parent": "side" }))
            .await
            .done();
        let stale = app
            .mutate(
                change,
                json!({ "id": ids[1], "name": "x", "expectedRevision": 1 }),
            )
            .await;
        assert_eq!(
            stale.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
        assert_eq!(stale.payload()["userErrors"][0]["currentRevision"], 2);
        assert_eq!(
            stale.payload()["category"]["path"],
            json!(["Side", "Level 2"])
        );
    });
}

#[test]
fn two_concurrent_moves_never_make_a_cycle() {
    test(async |app| {
        for round in 0..5 {
            let (a, b) = (format!("A{round}"), format!("B{round}"));
            let ids = [category(app, &a, None).await, category(app, &b, None).await];
            let moves = [(0, &b), (1, &a)].map(|(at, into)| {
                app.mutate(
                    "updateCategory",
                    json!({ "id": ids[at], "parent": into.to_lowercase() }),
                )
                .into_future()
            });
            let replies = futures_util::future::join_all(moves).await;
            let done = replies
                .iter()
                .filter(|reply| reply.payload()["userErrors"] == json!([]))
                .count();
            assert_eq!(
                done,
                1,
                "{:?}",
                replies
                    .iter()
                    .map(|reply| reply.0.pretty())
                    .collect::<Vec<_>>()
            );
            let refused = replies
                .iter()
                .find(|reply| reply.payload()["userErrors"] != json!([]))
                .unwrap();
            assert_eq!(refused.user_error_paths(), ["INVALID at parent"]);
        }
    });
}

#[test]
fn suppliers_have_valid_names_that_differ() {
    test(async |app| {
        let id = app
            .mutate(
                "createSupplier",
                json!({ "name": "North", "country": "de" }),
            )
            .await
            .text("/supplier/id");
        let refused =
            async |name: &str, input: Value| app.mutate(name, input).await.user_error_paths();
        assert_eq!(
            refused("createSupplier", json!({ "name": "NÖRTH" })).await,
            ["TAKEN at name"]
        );
        assert_eq!(
            refused(
                "createSupplier",
                json!({ "name": "", "country": "Germany" })
            )
            .await,
            ["INVALID at name", "INVALID at country"]
        );
        app.mutate("createSupplier", json!({ "name": "South" }))
            .await
            .done();
        assert_eq!(
            refused("updateSupplier", json!({ "id": id, "name": "south" })).await,
            ["TAKEN at name"]
        );
    });
}

#[test]
fn a_supplier_is_changed_and_listed() {
    test(async |app| {
        let north = json!({ "name": "North", "country": "de" });
        let id = app
            .mutate("createSupplier", north)
            .await
            .text("/supplier/id");
        let south = json!({ "name": "South" });
        app.mutate("createSupplier", south).await.done();
        let changed = app
            .mutate(
                "updateSupplier",
                json!({ "id": id, "name": "Northern", "country": null, "expectedRevision": 1 }),
            )
            .await;
        assert_eq!(
            changed.done()["supplier"],
            json!({ "id": id, "revision": 2, "name": "Northern", "country": null })
        );
        let stale = app
            .mutate(
                "updateSupplier",
                json!({ "id": id, "name": "x", "expectedRevision": 1 }),
            )
            .await;
        assert_eq!(
            stale.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
        assert_eq!(stale.payload()["userErrors"][0]["currentRevision"], 2);
        let same = app
            .mutate("updateSupplier", json!({ "id": id, "name": "Northern" }))
            .await;
        assert_eq!(same.number("/supplier/revision"), 2);
        let list = app.query("{ suppliers(first: 1) { nodes { name revision } pageInfo { hasNextPage endCursor } totalCount { value } } }").await;
        assert_eq!(list.names("/suppliers"), ["Northern"]);
        assert_eq!(list.number("/suppliers/totalCount/value"), 2);
        let next = app.query("query($c: String) { suppliers(after: $c) { nodes { name } pageInfo { hasPreviousPage hasNextPage } } }");
        let next = next
            .with("c", list.text("/suppliers/pageInfo/endCursor"))
            .await;
        assert_eq!(next.names("/suppliers"), ["South"]);
        assert_eq!(
            next.at("/suppliers/pageInfo"),
            &json!({ "hasPreviousPage": true, "hasNextPage": false })
        );
    });
}

#[test]
fn a_unit_is_usable_in_the_next_request_also_with_an_offset() {
    test(async |app| {
        app.has([product("Kiln").quantity("heat", 1000.0, "°C")])
            .await;
        let id = app
            .query(r#"{ product(slug: "kiln") { id } }"#)
            .await
            .text("/product/id");
        // Réaumur: 0 °Ré = 0 °C, 80 °Ré = 100 °C. And one with another zero: 10 °X = 0 °C.
        let units = [
            json!({ "symbol": "°Ré", "dimension": "temperature", "factor": 1.25, "aliases": ["reaumur"] }),
            json!({ "symbol": "°X", "dimension": "temperature", "factor": 2, "offset": -20 }),
        ];
        for unit in units {
            app.mutate("defineUnit", unit).await.done();
        }
        let shown = app
            .query(r#"{ product(slug: "kiln") { r: spec(key: "heat", displayUnit: "reaumur") { text } x: spec(key: "heat", displayUnit: "°X") { text } } units { symbol } }"#)
            .await;
        assert_eq!(
            (shown.text("/product/r/text"), shown.text("/product/x/text")),
            ("800 °Ré".to_owned(), "510 °X".to_owned())
        );
        app.mutate(
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "heat", "number": 60, "unit": "°X" }] }),
        )
        .await
        .done();
        let find = async |number: &str| {
            let query = format!(
                r#"{{ products(filter: {{ specs: [{{ key: "heat", number: {number} }}] }}) {{ nodes {{ name }} }} }}"#
            );
            app.query(&query).await.names("/products").len()
        };
        // 60 °X are 100 °C, 212 °F and 80 °Ré.
        assert_eq!(find(r#"{ eq: 100, unit: "°C" }"#).await, 1);
        assert_eq!(find(r#"{ eq: 80, unit: "reaumur" }"#).await, 1);
        assert_eq!(find(r#"{ gte: 59, lte: 61, unit: "°X" }"#).await, 1);
        assert_eq!(find(r#"{ gte: 62, unit: "°X" }"#).await, 0);
        let other = app.other_process().await;
        assert!(other.reference().units.find("reaumur").is_some());
    });
}

#[test]
fn the_unit_of_a_shop_is_not_replaced_by_one_of_a_release() {
    test(async |app| {
        // As if a release had added its pound after the shop had defined one of 500 g.
        let pound = doc! {
            "_id": "lb", "schema_version": 1, "dimension": "mass", "factor": 500.0, "offset": 0.0,
            "aliases": ["pfund"],
        };
        let units = app.direct().collection::<Document>("units");
        units.insert_one(pound).await.unwrap();
        // The next definition makes the process read all units again.
        let pood = json!({ "symbol": "pood", "dimension": "mass", "factor": 16380 });
        app.mutate("defineUnit", pood).await.done();
        app.has([product("Cheese").quantity("weight", 2.0, "lb")])
            .await;
        let shown = app
            .query(r#"{ product(slug: "cheese") { g: spec(key: "weight", displayUnit: "g") { text } pfund: spec(key: "weight", displayUnit: "pfund") { text } } units { symbol factor } }"#)
            .await;
        assert_eq!(
            (
                shown.text("/product/g/text"),
                shown.text("/product/pfund/text")
            ),
            ("1000 g".to_owned(), "2 lb".to_owned())
        );
        let units = shown.data()["units"].as_array().unwrap();
        let pounds: Vec<_> = units.iter().filter(|unit| unit["symbol"] == "lb").collect();
        assert_eq!(pounds, [&json!({ "symbol": "lb", "factor": 500.0 })]);
        // All other units are those of the release.
        let found = app
            .query(r#"{ products(filter: { specs: [{ key: "weight", number: { eq: 1, unit: "kg" } }] }) { nodes { name } } }"#)
            .await;
        assert_eq!(found.names("/products"), ["Cheese"]);
        let again = json!({ "symbol": "lb", "dimension": "mass", "factor": 453.59237 });
        let refused = app.mutate("defineUnit", again).await;
        assert_eq!(refused.user_error_paths(), ["TAKEN at symbol"]);
        let reference = app.other_process().await.reference();
        let overridden_units: Vec<&str> = reference
            .units
            .overridden_units()
            .iter()
            .map(|u| u.id.as_str())
            .collect();
        assert_eq!(overridden_units, ["lb"]);
    });
}

/// Units of a dimension that has `phx` and `kphx` that are refused, each with code and path.
fn wrong_units() -> [(Value, &'static str); 11] {
    let mass = |symbol: &str| json!({ "symbol": symbol, "dimension": "mass", "factor": 2 });
    [
        (
            json!({ "symbol": "kphx", "dimension": "loudness", "factor": 1024 }),
            "TAKEN at symbol",
        ),
        (
            json!({ "symbol": "Kphx2", "dimension": "loudness", "factor": 3, "aliases": ["kilophonx"] }),
            "TAKEN at aliases",
        ),
        (
            json!({ "symbol": "kilogram", "dimension": "mass", "factor": 3 }),
            "TAKEN at symbol",
        ),
        (
            json!({ "symbol": "dot", "dimension": "loudness", "factor": 1 }),
            "INVALID at factor",
        ),
        (
            json!({ "symbol": "zz", "dimension": "loudness", "factor": 0 }),
            "INVALID at factor",
        ),
        (
            json!({ "symbol": "zz", "dimension": "loudness", "factor": -1 }),
            "INVALID at factor",
        ),
        (
            json!({ "symbol": "zz", "dimension": "No Dimension", "factor": 2 }),
            "INVALID at dimension",
        ),
        (mass("7up"), "INVALID at symbol"),
        (mass(""), "INVALID at symbol"),
        (mass("a\u{0}b"), "INVALID at symbol"),
        (mass(&"s".repeat(17)), "INVALID at symbol"),
    ]
}

#[test]
fn a_dimension_begins_with_its_base_and_units_never_change() {
    test(async |app| {
        let define = async |unit: Value| app.mutate("defineUnit", unit).await;
        let refused = async |unit: Value| define(unit).await.user_error_paths();
        let base = json!({ "symbol": "phx", "dimension": "loudness", "factor": 1 });
        assert_eq!(
            refused(json!({ "symbol": "kphx", "dimension": "loudness", "factor": 1000 })).await,
            ["INVALID at factor"]
        );
        define(base.clone()).await.done();
        define(base).await.done();
        define(json!({ "symbol": "kphx", "dimension": "loudness", "factor": 1000, "aliases": ["kilophonx"], "ucum": "k[phx]" })).await.done();
        for (unit, place) in wrong_units() {
            assert_eq!(refused(unit.clone()).await, [place], "{unit}");
        }
        // A key can have the new dimension.
        let key = json!({ "key": "sensor", "type": "QUANTITY", "dimension": "loudness" });
        let key = app.mutate("defineSpecKey", key).await;
        assert_eq!(key.text("/specKey/baseUnit"), "phx");
    });
}

#[test]
fn a_key_is_defined_before_products_have_it() {
    test(async |app| {
        app.has([product("a").text("color", "red")]).await;
        let input = json!({ "key": "weave", "label": "Weave of cloth", "type": "TEXT", "allowedValues": ["Plain", "Twill"], "aliases": ["bindung"], "facetable": false });
        let defined = app.mutate("defineSpecKey", input).await;
        insta::assert_snapshot!(vitrine_harness::pretty(&defined.done()["specKey"]), @r#"
        {
          key: "weave"
          revision: 1
          label: "Weave of cloth"
          type: "TEXT"
          dimension: null
          baseUnit: null
          facetable: false
          filterable: true
          allowedValues: ["Plain", "Twill"]
          aliases: ["bindung"]
        }
        "#);
        let length = app
            .mutate(
                "defineSpecKey",
                json!({ "key": "length", "type": "QUANTITY", "baseUnit": "mm" }),
            )
            .await;
        assert_eq!(length.text("/specKey/dimension"), "length");
        assert_eq!(length.text("/specKey/label"), "Length");
    });
}

/// Keys that are refused, each with code and path.
fn wrong_keys() -> [(Value, &'static str); 9] {
    [
        (json!({ "key": "color", "type": "TEXT" }), "TAKEN at key"),
        (json!({ "key": "bindung", "type": "TEXT" }), "TAKEN at key"),
        (
            json!({ "key": "Bad Key", "type": "TEXT" }),
            "INVALID at key",
        ),
        (
            json!({ "key": "x", "type": "TEXT", "label": " " }),
            "INVALID at label",
        ),
        (
            json!({ "key": "x", "type": "TEXT", "dimension": "mass" }),
            "INVALID at dimension",
        ),
        (
            json!({ "key": "x", "type": "QUANTITY" }),
            "INVALID at dimension",
        ),
        (
            json!({ "key": "x", "type": "QUANTITY", "dimension": "nothing" }),
            "NOT_FOUND at dimension",
        ),
        (
            json!({ "key": "x", "type": "QUANTITY", "baseUnit": "inch" }),
            "INVALID at baseUnit",
        ),
        (
            json!({ "key": "x", "type": "NUMBER", "allowedValues": ["a"] }),
            "INVALID at allowedValues",
        ),
    ]
}

#[test]
fn a_wrong_key_is_refused_with_what_is_wrong() {
    test(async |app| {
        app.has([product("a").text("color", "red")]).await;
        let weave = json!({ "key": "weave", "type": "TEXT", "aliases": ["bindung"] });
        app.mutate("defineSpecKey", weave).await.done();
        for (input, place) in wrong_keys() {
            assert_eq!(
                app.mutate("defineSpecKey", input.clone())
                    .await
                    .user_error_paths(),
                [place],
                "{input}"
            );
        }
        let wrong = app
            .mutate(
                "defineSpecKey",
                json!({ "key": "x", "type": "QUANTITY", "baseUnit": "inch" }),
            )
            .await;
        assert!(
            wrong.user_errors()[0].contains("mm"),
            "the right one is named: {:?}",
            wrong.user_errors()
        );
        let aliases = app
            .mutate(
                "defineSpecKey",
                json!({ "key": "x", "type": "TEXT", "aliases": ["fine", "color"] }),
            )
            .await;
        assert!(
            aliases.user_errors()[0].starts_with("TAKEN at aliases")
                && aliases.user_errors()[0].contains("color")
        );
        let many: Vec<String> = (0..21).map(|n| format!("alias_{n}")).collect();
        let aliases = app
            .mutate(
                "defineSpecKey",
                json!({ "key": "x", "type": "TEXT", "aliases": many }),
            )
            .await;
        assert!(aliases.user_error_paths()[0].contains("aliases"));
    });
}

#[test]
fn a_key_is_free_to_change_until_a_product_has_it() {
    test(async |app| {
        app.has([product("a")]).await;
        let id = app
            .query(r#"{ product(slug: "a") { id } }"#)
            .await
            .text("/product/id");
        app.mutate("defineSpecKey", json!({ "key": "volume", "type": "TEXT" }))
            .await
            .done();
        let update = async |input: Value| app.mutate("updateSpecKey", input).await;
        let changed = update(json!({ "key": "volume", "type": "QUANTITY", "dimension": "volume", "expectedRevision": 1 })).await;
        assert_eq!(
            (
                changed.number("/specKey/revision"),
                changed.text("/specKey/baseUnit")
            ),
            (2, "ml".to_owned())
        );
        app.mutate(
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "volume", "number": 1, "unit": "l" }] }),
        )
        .await
        .done();
        for (input, place) in [
            (
                json!({ "key": "volume", "type": "NUMBER" }),
                "IN_USE at type",
            ),
            (
                json!({ "key": "volume", "dimension": "mass" }),
                "IN_USE at dimension",
            ),
            (
                json!({ "key": "volume", "baseUnit": "g" }),
                "IN_USE at baseUnit",
            ),
        ] {
            assert_eq!(
                update(input.clone()).await.user_error_paths(),
                [place],
                "{input}"
            );
        }
        // Its current values are accepted.
        let same = update(
            json!({ "key": "volume", "type": "QUANTITY", "dimension": "volume", "baseUnit": "ml" }),
        )
        .await;
        same.done();
    });
}

#[test]
fn labels_aliases_and_uses_of_a_key_change_any_time() {
    test(async |app| {
        app.has([product("a").quantity("volume", 1.0, "l")]).await;
        let update = async |input: Value| app.mutate("updateSpecKey", input).await;
        let free = update(json!({ "key": "volume", "label": "Inhalt", "aliases": ["inhalt", "content"], "facetable": false, "filterable": false })).await;
        assert_eq!(
            free.done()["specKey"]["aliases"],
            json!(["content", "inhalt"])
        );
        let refused = app.query(r#"{ products(filter: { specs: [{ key: "inhalt", number: { gt: 1, unit: "l" } }] }) { nodes { name } } }"#).await;
        assert!(
            refused.errors()[0].contains("may not be filtered by"),
            "{}",
            refused.pretty()
        );
        let fewer =
            update(json!({ "key": "content", "aliases": ["content"], "filterable": true })).await;
        assert_eq!(fewer.done()["specKey"]["aliases"], json!(["content"]));
        let gone = app.query(r#"{ specKey(key: "inhalt") { key } }"#).await;
        assert!(gone.at("/specKey").is_null());
        let stale = update(json!({ "key": "volume", "label": "x", "expectedRevision": 1 })).await;
        assert_eq!(
            stale.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
        let current = stale.payload()["specKey"]["revision"].clone();
        assert_eq!(stale.payload()["userErrors"][0]["currentRevision"], current);
        let missing = update(json!({ "key": "no_such", "label": "x" })).await;
        assert_eq!(missing.user_error_paths(), ["NOT_FOUND at key"]);
        let null = update(json!({ "key": "volume", "label": null, "aliases": null })).await;
        assert_eq!(
            null.user_error_paths(),
            ["INVALID at label", "INVALID at aliases"]
        );
    });
}

#[test]
fn values_that_exist_stay_allowed() {
    test(async |app| {
        app.has([
            product("a").text("fit", "Slim"),
            product("b").text("fit", "wide"),
            product("c")
                .text("cut", "Slim")
                .text("cut", "Odd")
                .qualified("EU"),
        ])
        .await;
        let allow = async |key: &str, values: Value| {
            app.mutate(
                "updateSpecKey",
                json!({ "key": key, "allowedValues": values }),
            )
            .await
        };
        let refused = allow("fit", json!(["SLIM", "Regular"])).await;
        assert_eq!(refused.user_error_paths(), ["IN_USE at allowedValues"]);
        assert!(
            refused.user_errors()[0].contains("wide"),
            "{:?}",
            refused.user_errors()
        );
        let done = allow("fit", json!(["SLIM", "Wide"])).await;
        assert_eq!(
            done.done()["specKey"]["allowedValues"],
            json!(["SLIM", "Wide"])
        );
        allow("fit", Value::Null).await.done();
        // A value with a qualifier counts, too.
        let refused = allow("cut", json!(["Slim"])).await;
        assert_eq!(refused.user_error_paths(), ["IN_USE at allowedValues"]);
    });
}
