//! Facets: what a filter panel shows. That a click gives what was promised is a property of its
//! own (`properties/clicks.rs`).

use serde_json::{Value, json};
use vitrine_domain::facets::PanelUpkeep;
use vitrine_harness::{Answer, App, product, review, shown, test};
use vitrine_model::product::ProductStatus;

const FACETS: &str = "query($filter: ProductFilterInput, $search: String, $keys: [String!], $limit: Int, $units: [DisplayUnitInput!]) {
    products(first: 1, filter: $filter, search: $search) { facets(keys: $keys, limit: $limit, displayUnits: $units) {
      key label kind accuracy asOf sampleSize productCount productCountMargin distinctValues
      values { label count margin selected path filter { category brand country price { gte lte } rating { gte }
        specs { key qualifier text { eq } number { eq gte lte gt lt unit } boolean date { gte lte gt lt } } } }
      numberRange { min max unit } dateRange { min max } priceRange { min { amount currency } max { amount } } } } }";

async fn stock(app: &App) {
    let shirt = |n: usize| {
        let number = f64::from(u32::try_from(n).unwrap());
        product(&format!("Shirt {n:02}"))
            .category(if n < 12 {
                ["Clothes", "Shirts"]
            } else {
                ["Clothes", "Blouses"]
            })
            .brand(["Acme", "ACME", "Zeta"][n % 3])
            .supplier(&format!("Supplier {}", n % 2), ["DE", "NL"][n % 2])
            .price(&format!("{}.99", 5 + n))
            .text("color", ["Red", "red", "Blue"][n % 3])
            .quantity("length", 60.0 + number, "cm")
            .number("buttons", f64::from(u32::try_from(n % 4).unwrap()))
            .boolean("ironfree", n.is_multiple_of(5))
            .date("release", &format!("2024-{:02}-15", 1 + n % 12))
    };
    app.has((0..20).map(shirt)).await;
    app.has([
        product("Draft")
            .status(ProductStatus::Draft)
            .category(["Clothes", "Shirts"])
            .brand("Acme")
            .text("color", "Red"),
        product("Bare").category(["Clothes"]),
    ])
    .await;
    app.has_reviews((0..10).map(|n| review(&format!("Shirt {n:02}"), n, 1 + i64::from(n % 5))))
        .await;
}

async fn facets(app: &App, filter: Value, keys: Value) -> Answer {
    app.query(FACETS)
        .with("filter", filter)
        .with("keys", keys)
        .await
}

/// Each value as `label: count`, with a star when it is chosen.
fn counts(facet: &Value) -> Vec<String> {
    let values = facet["values"].as_array().unwrap().iter();
    let line = |value: &Value| {
        let star = if value["selected"] == true { " *" } else { "" };
        format!(
            "{}: {}{star}",
            value["label"].as_str().unwrap(),
            value["count"]
        )
    };
    values.map(line).collect()
}

fn facet<'a>(answer: &'a Answer, key: &str) -> &'a Value {
    let facets = answer.at("/products/facets").as_array().unwrap();
    let found = facets.iter().find(|facet| facet["key"] == key);
    found.unwrap_or_else(|| panic!("no facet {key}: {}", answer.shown()))
}

#[test]
fn facets_of_every_kind() {
    test(async |app| {
        stock(app).await;
        let answer = facets(app, json!({ "category": ["clothes"] }), Value::Null).await;
        let keys: Vec<&Value> = answer
            .at("/products/facets")
            .as_array()
            .unwrap()
            .iter()
            .map(|facet| &facet["key"])
            .collect();
        assert_eq!(
            keys[..5],
            ["@category", "@brand", "@price", "@rating", "@country"]
        );
        let mut specs: Vec<&str> = keys[5..].iter().map(|key| key.as_str().unwrap()).collect();
        specs.sort_unstable();
        assert_eq!(specs, ["buttons", "color", "ironfree", "length", "release"]);
        let of = |key: &str| counts(facet(&answer, key));
        assert_eq!(
            of("@category"),
            ["Clothes: 21 *", "Shirts: 12", "Blouses: 8"]
        );
        assert_eq!(
            facet(&answer, "@category")["values"][1]["path"],
            json!(["Clothes", "Shirts"])
        );
        assert_eq!(of("@country"), ["DE: 10", "NL: 10"]);
        assert_eq!(
            of("@rating"),
            [
                "4 and more: 4",
                "3 and more: 6",
                "2 and more: 8",
                "1 and more: 10"
            ]
        );
        assert_eq!(of("buttons"), ["0: 5", "1: 5", "2: 5", "3: 5"]);
        assert_eq!(of("ironfree"), ["yes: 4", "no: 16"]);
        // Spellings that fold alike are one value, shown as most write it.
        let brand = of("@brand");
        assert!(
            brand == ["ACME: 14", "Zeta: 6"] || brand == ["Acme: 14", "Zeta: 6"],
            "{brand:?}"
        );
        let color = of("color");
        assert!(
            color == ["Red: 14", "Blue: 6"] || color == ["red: 14", "Blue: 6"],
            "{color:?}"
        );
        for key in ["@price", "length", "release"] {
            let facet = facet(&answer, key);
            assert_eq!(facet["productCount"], 20, "{key}");
            let total: u64 = facet["values"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| value["count"].as_u64().unwrap())
                .sum();
            assert_eq!(
                total,
                20,
                "{key}: every product is in one range: {}",
                shown(facet)
            );
            assert!(facet["values"].as_array().unwrap().len() <= 10);
        }
        assert_eq!(
            facet(&answer, "@price")["priceRange"],
            json!({ "min": { "amount": "5.99", "currency": "EUR" }, "max": { "amount": "24.99" } })
        );
        assert_eq!(
            facet(&answer, "length")["numberRange"],
            json!({ "min": 60.0, "max": 79.0, "unit": "cm" })
        );
        assert_eq!(
            facet(&answer, "release")["dateRange"],
            json!({ "min": "2024-01-15T00:00:00.000Z", "max": "2024-12-15T00:00:00.000Z" })
        );
        for facet in answer.at("/products/facets").as_array().unwrap() {
            assert_eq!(facet["productCountMargin"], 0);
            assert!(facet["sampleSize"].is_null());
        }
    });
}

#[test]
fn quantities_are_in_the_unit_that_is_asked_for() {
    test(async |app| {
        stock(app).await;
        let ask = async |units: Value| {
            let answer = app
                .query(FACETS)
                .with("keys", json!(["length"]))
                .with("units", units)
                .await;
            facet(&answer, "length").clone()
        };
        let inches = ask(json!([{ "unit": "inch" }])).await;
        assert_eq!(inches["numberRange"]["unit"], "in");
        let least = inches["numberRange"]["min"].as_f64().unwrap();
        assert!((least - 60.0 / 2.54).abs() < 1e-6, "{}", shown(&inches));
        for value in inches["values"].as_array().unwrap() {
            let number = &value["filter"]["specs"][0]["number"];
            assert_eq!(number["unit"], "in", "{}", shown(value));
            let low = number["gte"].as_f64().unwrap();
            assert!(
                (low * 10.0 - (low * 10.0).round()).abs() < 1e-9,
                "round ends: {}",
                shown(value)
            );
        }
        let named = ask(json!([{ "unit": "m", "key": "length" }])).await;
        assert_eq!(
            named["numberRange"],
            json!({ "min": 0.6, "max": 0.79, "unit": "m" })
        );
        let wrong = app
            .query(FACETS)
            .with("keys", json!(["length"]))
            .with("units", json!([{ "unit": "kg", "key": "length" }]))
            .await;
        assert!(
            wrong.errors()[0].contains("displayUnits[0].unit"),
            "{}",
            wrong.shown()
        );
        let wrong = app
            .query(FACETS)
            .with("units", json!([{ "unit": "cubit" }]))
            .await;
        assert!(wrong.errors()[0].contains("cubit"), "{}", wrong.shown());
    });
}

#[test]
fn a_facet_leaves_out_what_the_filter_says_about_its_own_key() {
    test(async |app| {
        stock(app).await;
        let filter = json!({ "brand": ["acme"], "specs": [{ "key": "color", "text": { "eq": "RED" } }, { "key": "buttons", "number": { "eq": 1 } }] });
        let answer = facets(
            app,
            filter,
            json!(["color", "@brand", "buttons", "ironfree"]),
        )
        .await;
        let keys: Vec<&Value> = answer
            .at("/products/facets")
            .as_array()
            .unwrap()
            .iter()
            .map(|facet| &facet["key"])
            .collect();
        assert_eq!(
            keys,
            ["color", "@brand", "buttons", "ironfree"],
            "in the order that was asked for"
        );
        // Acme with one button: 1, 13 and 9 of brand acme (n % 3 != 2) are 1, 9 and 13.
        assert_eq!(counts(facet(&answer, "color")).len(), 1);
        assert!(
            counts(facet(&answer, "color"))[0].ends_with("ed: 3 *"),
            "{}",
            answer.shown()
        );
        let brand = counts(facet(&answer, "@brand"));
        assert!(brand.len() == 1 && brand[0].ends_with(": 3 *"), "{brand:?}");
        let buttons = counts(facet(&answer, "buttons"));
        assert_eq!(
            buttons.len(),
            4,
            "other numbers of buttons can still be chosen: {buttons:?}"
        );
        assert!(
            buttons.contains(&"1: 3".to_owned()) || buttons.contains(&"1: 3 *".to_owned()),
            "{buttons:?}"
        );
        // What an `or` says is no choice of one key: it narrows every facet.
        let either = json!({ "or": [{ "specs": [{ "key": "color", "text": { "eq": "blue" } }] }, { "brand": ["zeta"] }] });
        let answer = facets(app, either, json!(["color"])).await;
        assert_eq!(counts(facet(&answer, "color")), ["Blue: 6"]);
        // A choice inside `and` is one like any other.
        let nested =
            json!({ "and": [{ "specs": [{ "key": "color", "text": { "eq": "blue" } }] }] });
        let answer = facets(app, nested, json!(["color"])).await;
        let color = counts(facet(&answer, "color"));
        assert_eq!(color.len(), 2, "{color:?}");
        assert_eq!(color[1], "Blue: 6 *");
        // A range of the filter that is the range of a value marks it.
        let first = facets(
            app,
            json!({}),
            json!(["length", "@price", "release", "ironfree"]),
        )
        .await;
        for facet in first.at("/products/facets").as_array().unwrap() {
            let value = &facet["values"][0];
            let again = facets(app, value["filter"].clone(), json!([facet["key"]])).await;
            let chosen = again
                .at("/products/facets/0/values")
                .as_array()
                .unwrap()
                .iter()
                .filter(|value| value["selected"] == true)
                .count();
            assert_eq!(chosen, 1, "{}", again.shown());
            let same = again.at("/products/facets/0/values/0");
            assert_eq!(
                (&same["label"], &same["count"]),
                (&value["label"], &value["count"])
            );
        }
    });
}

#[test]
fn only_what_the_caller_may_see_is_counted() {
    test(async |app| {
        stock(app).await;
        let query = |filter: &str| {
            format!(
                "{{ products(filter: {filter}) {{ facets(keys: [\"@brand\"]) {{ productCount }} }} }}"
            )
        };
        assert_eq!(
            app.query(&query("{}"))
                .await
                .number("/products/facets/0/productCount"),
            20
        );
        assert_eq!(
            app.query(&query("{}"))
                .as_admin()
                .await
                .number("/products/facets/0/productCount"),
            21
        );
        let drafts = app.query(&query("{ status: [DRAFT] }")).as_admin().await;
        assert_eq!(drafts.number("/products/facets/0/productCount"), 1);
    });
}

#[test]
fn facets_of_a_search_count_what_the_search_finds() {
    test(async |app| {
        stock(app).await;
        let answer = app
            .query(FACETS)
            .with("search", "shirt 1")
            .with("keys", json!(["color"]))
            .await;
        let total = app
            .query(r#"{ products(search: "shirt 1") { totalCount { value } } }"#)
            .await;
        assert_eq!(
            facet(&answer, "color")["productCount"],
            total.at("/products/totalCount/value").clone()
        );
        let nothing = app.query(FACETS).with("search", "xyzzy").await;
        assert_eq!(nothing.at("/products/facets"), &json!([]));
    });
}

#[test]
fn what_is_asked_wrongly_is_told() {
    test(async |app| {
        stock(app).await;
        app.order(
            "updateSpecKey",
            json!({ "key": "buttons", "facetable": false }),
        )
        .await
        .done();
        let usual = facets(app, json!({}), Value::Null).await;
        assert!(!usual.shown().contains("buttons"), "{}", usual.shown());
        let many: Vec<String> = (0..51).map(|n| format!("key_{n}")).collect();
        for (keys, limit, told) in [
            (json!(["buttons"]), 20, "not offered as a facet"),
            (json!(["$where"]), 20, "keys[0]"),
            (json!(["@nothing"]), 20, "keys[0]"),
            (json!(many), 20, "at most 50"),
            (json!(["color"]), 0, "limit"),
            (json!(["color"]), 201, "limit"),
            (json!(["color"]), -1, "limit"),
        ] {
            let answer = app
                .query(FACETS)
                .with("keys", keys)
                .with("limit", limit)
                .await;
            let errors = answer.errors().concat();
            assert!(
                errors.starts_with("BAD_USER_INPUT") && errors.contains(told),
                "{told}: {errors}"
            );
        }
        let unknown = facets(app, json!({}), json!(["never_seen", "color"])).await;
        assert_eq!(unknown.at("/products/facets").as_array().unwrap().len(), 1);
        let few = app
            .query(FACETS)
            .with("keys", json!(["color"]))
            .with("limit", 1)
            .await;
        assert_eq!(
            (
                facet(&few, "color")["values"].as_array().unwrap().len(),
                &facet(&few, "color")["distinctValues"]
            ),
            (1, &json!(2))
        );
    });
}

#[test]
fn identifiers_are_facets_only_when_asked_for() {
    test(async |app| {
        app.has((0..40).map(|n| {
            product(&format!("P{n}"))
                .text("serial", &format!("S-{n}"))
                .text("color", ["a", "b"][n % 2])
        }))
        .await;
        let usual = facets(app, json!({}), Value::Null).await;
        assert!(!usual.shown().contains("serial"));
        let asked = facets(app, json!({}), json!(["serial"])).await;
        assert_eq!(facet(&asked, "serial")["distinctValues"], 40);
    });
}

#[test]
fn what_was_counted_ahead_is_never_behind() {
    test(async |app| {
        stock(app).await;
        let mut maintenance = PanelUpkeep::default();
        let clothes = json!({ "category": ["clothes"] });
        let shirts = async || {
            counts(facet(
                &facets(app, json!({ "category": ["shirts"] }), Value::Null).await,
                "color",
            ))
            .concat()
        };
        let ahead = async |maintenance: &mut PanelUpkeep| {
            app.catalog.refresh_panels(maintenance).await.unwrap();
            app.catalog.refresh_panels(maintenance).await.unwrap()
        };
        assert!(
            ahead(&mut maintenance).await.done >= 4,
            "all products and three categories"
        );
        let answer = facets(app, clothes, Value::Null).await;
        assert!(
            answer
                .sent()
                .iter()
                .filter(|sent| sent.ends_with(" products"))
                .count()
                <= 2,
            "{:?}",
            answer.sent()
        );
        assert_eq!(facet(&answer, "color")["accuracy"], "EXACT");
        assert_eq!(facet(&answer, "@rating")["accuracy"], "PRECOMPUTED");
        assert_eq!(
            facet(&answer, "@rating")["asOf"],
            "2026-05-31T12:00:00.000Z"
        );
        assert!(shirts().await.contains(": 8"), "{}", shirts().await);
        // Each of these changes what the panel of the category says.
        let id = app
            .query(r#"{ product(slug: "shirt-00") { id } }"#)
            .await
            .text("/product/id");
        app.order(
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "color", "text": "Blue" }] }),
        )
        .await
        .done();
        assert!(shirts().await.contains(": 7"), "{}", shirts().await);
        app.order("archiveProduct", json!({ "id": id }))
            .await
            .done();
        let blue = async || {
            let all = shirts().await;
            all.contains("Blue: 4")
        };
        assert!(blue().await, "{}", shirts().await);
        app.order("restoreProduct", json!({ "id": id }))
            .await
            .done();
        app.order("updateProduct", json!({ "id": id, "category": "blouses" }))
            .await
            .done();
        assert!(blue().await, "{}", shirts().await);
        app.has([product("Import")
            .category(["Clothes", "Shirts"])
            .text("color", "Green")])
            .await;
        assert!(shirts().await.contains("Green: 1"), "{}", shirts().await);
        let blouses = app
            .query(r#"{ category(slug: "blouses") { id } }"#)
            .await
            .text("/category/id");
        app.order(
            "updateCategory",
            json!({ "id": blouses, "parent": "shirts" }),
        )
        .await
        .done();
        let all = facets(app, json!({ "category": ["shirts"] }), json!(["color"])).await;
        assert_eq!(facet(&all, "color")["productCount"], 21);
        ahead(&mut maintenance).await;
    });
}

#[test]
fn values_are_sent_back_as_they_came() {
    test(async |app| {
        stock(app).await;
        // Names that a pattern or an operator would misread.
        let odd = [
            "a.b",
            "$gt",
            "x=y",
            "@brand=z",
            "100 %",
            "  blanks  inside ",
            "Crème",
            "\"quoted\"",
            "^a|b$",
        ];
        app.has(odd.iter().enumerate().map(|(n, text)| {
            product(&format!("Odd {n}"))
                .category(["Odd"])
                .brand(text)
                .text("motto", text)
        }))
        .await;
        let answer = facets(
            app,
            json!({ "category": ["odd"] }),
            json!(["motto", "@brand"]),
        )
        .await;
        let mut clicked = 0;
        for facet in answer.at("/products/facets").as_array().unwrap() {
            assert_eq!(
                facet["values"].as_array().unwrap().len(),
                odd.len(),
                "{}",
                shown(facet)
            );
            for value in facet["values"].as_array().unwrap() {
                let query = "query($filter: ProductFilterInput) { products(filter: $filter) { totalCount { value } } }";
                let total = app
                    .query(query)
                    .with("filter", value["filter"].clone())
                    .await;
                assert_eq!(
                    total.at("/products/totalCount/value"),
                    &value["count"],
                    "{}",
                    shown(value)
                );
                clicked += 1;
            }
        }
        assert_eq!(clicked, 2 * odd.len());
    });
}
