//! Facets: the counts of a filter panel. `properties/clicks.rs` shows that each count is the number
//! of products after the click.

use serde_json::{Value, json};
use vitrine_domain::facets::PanelState;
use vitrine_harness::{Answer, App, pretty, product, review, test};
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

/// Each value as `label: count`, with a star when it is selected.
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
    found.unwrap_or_else(|| panic!("no facet {key}: {}", answer.pretty()))
}

/// The keys of all facets, in their order.
fn keys(answer: &Answer) -> Vec<&str> {
    let facets = answer.at("/products/facets").as_array().unwrap().iter();
    facets.map(|facet| facet["key"].as_str().unwrap()).collect()
}

#[test]
fn built_in_facets_come_first_and_count_products_by_value() {
    test(async |app| {
        stock(app).await;
        let answer = facets(app, json!({ "category": ["clothes"] }), Value::Null).await;
        let keys = keys(&answer);
        assert_eq!(
            keys[..5],
            ["@category", "@brand", "@price", "@rating", "@country"]
        );
        let mut specs = keys[5..].to_vec();
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
        // Spellings that fold alike are one value, shown in the most common spelling.
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
    });
}

#[test]
fn facets_of_numbers_and_dates_put_every_product_into_one_range() {
    test(async |app| {
        stock(app).await;
        let answer = facets(app, json!({ "category": ["clothes"] }), Value::Null).await;
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
                pretty(facet)
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
fn quantities_are_in_the_requested_unit() {
    test(async |app| {
        stock(app).await;
        let request = async |units: Value| {
            let answer = app
                .query(FACETS)
                .with("keys", json!(["length"]))
                .with("units", units)
                .await;
            facet(&answer, "length").clone()
        };
        let inches = request(json!([{ "unit": "inch" }])).await;
        assert_eq!(inches["numberRange"]["unit"], "in");
        let least = inches["numberRange"]["min"].as_f64().unwrap();
        assert!((least - 60.0 / 2.54).abs() < 1e-6, "{}", pretty(&inches));
        for value in inches["values"].as_array().unwrap() {
            let number = &value["filter"]["specs"][0]["number"];
            assert_eq!(number["unit"], "in", "{}", pretty(value));
            let low = number["gte"].as_f64().unwrap();
            assert!(
                (low * 10.0 - (low * 10.0).round()).abs() < 1e-9,
                "round ends: {}",
                pretty(value)
            );
        }
        let named = request(json!([{ "unit": "m", "key": "length" }])).await;
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
            wrong.pretty()
        );
        let wrong = app
            .query(FACETS)
            .with("units", json!([{ "unit": "cubit" }]))
            .await;
        assert!(wrong.errors()[0].contains("cubit"), "{}", wrong.pretty());
    });
}

#[test]
fn a_facet_ignores_what_the_filter_says_about_its_own_key() {
    test(async |app| {
        stock(app).await;
        let filter = json!({ "brand": ["acme"], "specs": [{ "key": "color", "text": { "eq": "RED" } }, { "key": "buttons", "number": { "eq": 1 } }] });
        let answer = facets(
            app,
            filter,
            json!(["color", "@brand", "buttons", "ironfree"]),
        )
        .await;
        assert_eq!(
            keys(&answer),
            ["color", "@brand", "buttons", "ironfree"],
            "in the requested order"
        );
        // Acme with one button: 1, 13 and 9 of brand acme (n % 3 != 2) are 1, 9 and 13.
        assert_eq!(counts(facet(&answer, "color")).len(), 1);
        assert!(
            counts(facet(&answer, "color"))[0].ends_with("ed: 3 *"),
            "{}",
            answer.pretty()
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
    });
}

#[test]
fn an_or_narrows_every_facet_and_a_nested_choice_only_the_others() {
    test(async |app| {
        stock(app).await;
        // An `or` is not a choice of one key.
        let either = json!({ "or": [{ "specs": [{ "key": "color", "text": { "eq": "blue" } }] }, { "brand": ["zeta"] }] });
        let answer = facets(app, either, json!(["color"])).await;
        assert_eq!(counts(facet(&answer, "color")), ["Blue: 6"]);
        // A choice inside `and` is.
        let nested =
            json!({ "and": [{ "specs": [{ "key": "color", "text": { "eq": "blue" } }] }] });
        let answer = facets(app, nested, json!(["color"])).await;
        let color = counts(facet(&answer, "color"));
        assert_eq!(color.len(), 2, "{color:?}");
        assert_eq!(color[1], "Blue: 6 *");
    });
}

#[test]
fn facets_of_a_list_that_is_sorted_by_a_spec_read_half_as_many_products() {
    test(async |app| {
        let one = |n: u32| {
            product(&format!("Lamp {n:04}"))
                .text("color", "red")
                .number("buttons", f64::from(n % 7))
        };
        // Of fewer products, a sample would sometimes read all.
        app.has((0..3_000).map(one)).await;
        let app = app.with_max_read(3_000).await;
        let accuracy = async |sort: &str, nodes: &str| {
            let query = format!(
                r#"{{ products(filter: {{ specs: [{{ key: "color", text: {{ eq: "red" }} }}] }}, sort: [{sort}]) {{
                    {nodes} facets(keys: ["@category"]) {{ accuracy }} }} }}"#
            );
            app.query(&query).await.text("/products/facets/0/accuracy")
        };
        let (by_spec, by_price) = (r#"{ spec: "buttons" }"#, "{ key: PRICE }");
        assert_eq!(accuracy(by_spec, "nodes { id }").await, "ESTIMATE");
        assert_eq!(accuracy(by_price, "nodes { id }").await, "EXACT");
        assert_eq!(accuracy(by_spec, "").await, "EXACT", "nothing is sorted");
    });
}

#[test]
fn a_choice_that_no_product_has_is_counted_beside_the_largest_filter() {
    test(async |app| {
        stock(app).await;
        let zeta = json!({ "brand": ["zeta"] });
        let deep = (0..4).fold(zeta, |inner, _| json!({ "or": [inner] }));
        let chosen = json!({ "specs": [{ "key": "color", "text": { "eq": "Transparent" } }] });
        let mut parts = vec![chosen, deep];
        // With them, the filter has as many objects as it may have.
        parts.resize(95, json!({}));
        let answer = facets(app, json!({ "and": parts }), json!(["color"])).await;
        assert_eq!(answer.errors(), [""; 0]);
        let color = counts(facet(&answer, "color"));
        assert!(color.contains(&"Transparent: 0 *".to_owned()), "{color:?}");
        parts.push(json!({}));
        let answer = facets(app, json!({ "and": parts }), json!(["color"])).await;
        let errors = answer.errors().concat();
        assert!(errors.contains("a filter may have 100 objects"), "{errors}");
    });
}

#[test]
fn a_filter_with_the_range_of_a_value_selects_it() {
    test(async |app| {
        stock(app).await;
        let first = facets(
            app,
            json!({}),
            json!(["length", "buttons", "@price", "release", "ironfree"]),
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
            assert_eq!(chosen, 1, "{}", again.pretty());
            let same = again.at("/products/facets/0/values/0");
            assert_eq!(
                (&same["label"], &same["count"]),
                (&value["label"], &value["count"])
            );
        }
    });
}

#[test]
fn a_filter_that_names_a_qualifier_selects_no_range() {
    test(async |app| {
        stock(app).await;
        let first = facets(app, json!({}), json!(["length", "ironfree"])).await;
        let found = first.at("/products/facets").as_array().unwrap();
        assert_eq!(found.len(), 2);
        for facet in found {
            let mut filter = facet["values"][0]["filter"].clone();
            filter["specs"][0]["qualifier"] = json!("EU");
            let again = facets(app, filter, json!([facet["key"]])).await;
            let values = counts(again.at("/products/facets/0"));
            assert_eq!(values, counts(facet), "{}", again.pretty());
        }
    });
}

#[test]
fn only_products_that_the_caller_may_see_are_counted() {
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
fn invalid_arguments_of_facets_are_refused() {
    test(async |app| {
        stock(app).await;
        app.mutate(
            "updateSpecKey",
            json!({ "key": "buttons", "facetable": false }),
        )
        .await
        .done();
        let usual = facets(app, json!({}), Value::Null).await;
        assert!(!usual.pretty().contains("buttons"), "{}", usual.pretty());
        let many: Vec<String> = (0..51).map(|n| format!("key_{n}")).collect();
        for (keys, limit, reason) in [
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
                .as_admin()
                .await;
            let errors = answer.errors().concat();
            assert!(
                errors.starts_with("BAD_USER_INPUT") && errors.contains(reason),
                "{reason}: {errors}"
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
fn keys_of_identifiers_are_facets_only_on_request() {
    test(async |app| {
        app.has((0..40).map(|n| {
            product(&format!("P{n}"))
                .text("serial", &format!("S-{n}"))
                .text("color", ["a", "b"][n % 2])
        }))
        .await;
        let usual = facets(app, json!({}), Value::Null).await;
        assert!(!usual.pretty().contains("serial"));
        let requested = facets(app, json!({}), json!(["serial"])).await;
        assert_eq!(facet(&requested, "serial")["distinctValues"], 40);
    });
}

/// Precomputes panels until nothing is stale; returns how many the second pass wrote.
async fn refresh(app: &App, maintenance: &mut PanelState) -> u64 {
    app.catalog.refresh_panels(maintenance).await.unwrap();
    app.catalog.refresh_panels(maintenance).await.unwrap().done
}

/// The counts of colours in the panel of a category.
async fn colors(app: &App, category: &str) -> String {
    let panel = facets(app, json!({ "category": [category] }), Value::Null).await;
    counts(facet(&panel, "color")).concat()
}

#[test]
fn a_precomputed_panel_says_so_and_reads_few_products() {
    test(async |app| {
        stock(app).await;
        let done = refresh(app, &mut PanelState::default()).await;
        assert!(done >= 4, "all products and three categories");
        let clothes = json!({ "category": ["clothes"] });
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
    });
}

#[test]
fn a_precomputed_panel_shows_every_change_at_once() {
    test(async |app| {
        stock(app).await;
        let mut maintenance = PanelState::default();
        refresh(app, &mut maintenance).await;
        let shirts = async || colors(app, "shirts").await;
        assert!(shirts().await.contains(": 8"), "{}", shirts().await);
        let id = app
            .query(r#"{ product(slug: "shirt-00") { id } }"#)
            .await
            .text("/product/id");
        app.mutate(
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "color", "text": "Blue" }] }),
        )
        .await
        .done();
        assert!(shirts().await.contains(": 7"), "{}", shirts().await);
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        let blue = async || {
            let all = shirts().await;
            all.contains("Blue: 4")
        };
        assert!(blue().await, "{}", shirts().await);
        app.mutate("restoreProduct", json!({ "id": id }))
            .await
            .done();
        app.mutate("updateProduct", json!({ "id": id, "category": "blouses" }))
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
        app.mutate(
            "updateCategory",
            json!({ "id": blouses, "parent": "shirts" }),
        )
        .await
        .done();
        let all = facets(app, json!({ "category": ["shirts"] }), json!(["color"])).await;
        assert_eq!(facet(&all, "color")["productCount"], 21);
        refresh(app, &mut maintenance).await;
    });
}

#[test]
fn the_filter_of_a_value_finds_its_products() {
    test(async |app| {
        stock(app).await;
        // Names with a meaning in a pattern or an operator.
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
                pretty(facet)
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
                    pretty(value)
                );
                clicked += 1;
            }
        }
        assert_eq!(clicked, 2 * odd.len());
    });
}

/// A key that few products have is counted by itself where all products are too many.
#[test]
fn a_rare_key_is_exact_in_a_list_that_is_estimated() {
    test(async |app| {
        let one = |n: usize| {
            let product = product(&format!("Lamp {n:04}")).text("color", "red");
            if n < 5 {
                product.text("glow", "blue")
            } else {
                product
            }
        };
        app.has((0..3_000).map(one)).await;
        let app = app.with_max_read(200).await;
        let red = json!({ "specs": [{ "key": "color", "text": { "eq": "red" } }] });
        let answer = facets(&app, red, json!(["glow", "@category"])).await;
        let category = facet(&answer, "@category");
        assert_eq!(category["accuracy"], "ESTIMATE", "{category}");
        let glow = facet(&answer, "glow");
        assert_eq!(
            (&glow["accuracy"], &glow["productCount"]),
            (&json!("EXACT"), &json!(5)),
            "{glow}"
        );
    });
}

#[test]
fn numbers_that_are_too_large_for_a_unit_are_shown_in_another() {
    test(async |app| {
        let rope = |(name, length): (&str, f64)| product(name).quantity("length", length, "m");
        app.has([("Rope", 2.0), ("Ray", 1e300)].map(rope)).await;
        let length = r#"product(slug: "ray") { spec(key: "length", displayUnit: "nm") { text value { ... on QuantityValue { displayValue displayUnit } } } }"#;
        let shown = app.query(&format!("{{ {length} }}")).await;
        assert_eq!(
            shown.at("/product/spec"),
            &json!({ "text": "1e300 m", "value": { "displayValue": 1e300, "displayUnit": "m" } })
        );
        let answer = app
            .query(FACETS)
            .with("keys", json!(["length"]))
            .with("units", json!([{ "unit": "nm" }]))
            .await;
        let facet = facet(&answer, "length");
        assert_eq!(
            facet["numberRange"],
            json!({ "min": 2000.0, "max": 1e303, "unit": "mm" })
        );
        let counts = facet["values"].as_array().unwrap().iter();
        assert_eq!(
            counts
                .map(|value| value["count"].as_i64().unwrap())
                .sum::<i64>(),
            2
        );
    });
}
