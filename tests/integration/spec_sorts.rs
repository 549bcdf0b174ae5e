//! Lists sorted by the values of a spec key.

use serde_json::{Value, json};
use vitrine_harness::{App, product, test};

/// Products with a value of each type or without one, unsorted, with many ties.
async fn stock(app: &App) {
    let product = |n: usize| {
        let number = f64::from(u32::try_from(n * 7 % 12).unwrap());
        let product = product(&format!("P{n:02}")).category(["Things", ["A", "B"][n % 2]]);
        if n % 4 == 3 {
            return product.text("other", "x");
        }
        let product = if n.is_multiple_of(3) {
            product.quantity("length", number * 10.0, "mm")
        } else {
            product.quantity("length", number, "cm")
        };
        product
            .text("color", ["blue", "Red", "ÄPFEL", "apfel"][n % 4])
            .number("parts", number)
            .boolean("lid", n.is_multiple_of(2))
            .date("release", &format!("2024-{:02}-01", 1 + n * 5 % 12))
            // A second value with another qualifier.
            .quantity("weight", number, "kg")
            .qualified("EU")
            .quantity("weight", 20.0 - number, "kg")
            .qualified("US")
    };
    app.has((0..40).map(product)).await;
}

/// The names of a list, read in pages.
async fn walk(app: &App, sort: &str, filter: &str, size: usize, backwards: bool) -> Vec<String> {
    let (count, from, more, next) = if backwards {
        ("last", "before", "hasPreviousPage", "startCursor")
    } else {
        ("first", "after", "hasNextPage", "endCursor")
    };
    let query = format!(
        "query($cursor: String) {{ products(filter: {filter}, sort: [{sort}], {count}: {size}, {from}: $cursor) {{ nodes {{ name }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
    );
    let (mut pages, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let answer = app.query(&query).with("cursor", cursor).await;
        pages.push(answer.names("/products"));
        let info = answer.at("/products/pageInfo");
        if info[more] == false {
            break;
        }
        cursor = info[next].clone();
    }
    if backwards {
        pages.reverse();
    }
    pages.concat()
}

/// The value by which a product is sorted.
async fn values(app: &App, key: &str) -> Vec<(String, Option<f64>)> {
    let query = "query($key: String!) { products(first: 100) { nodes { name spec(key: $key) { value { ... on QuantityValue { canonicalValue } ... on NumberValue { number } ... on BooleanValue { boolean } } } } } }";
    let answer = app.query(query).with("key", key).await;
    let nodes = answer.at("/products/nodes").as_array().unwrap().iter();
    let value = |node: &Value| {
        let value = &node["spec"]["value"];
        let number = value["canonicalValue"]
            .as_f64()
            .or_else(|| value["number"].as_f64());
        number.or_else(|| {
            value["boolean"]
                .as_bool()
                .map(|lid| f64::from(u8::from(lid)))
        })
    };
    nodes
        .map(|node| (node["name"].as_str().unwrap().to_owned(), value(node)))
        .collect()
}

#[test]
fn lists_are_sorted_by_a_spec_in_both_directions() {
    test(async |app| {
        stock(app).await;
        for key in ["length", "parts", "lid"] {
            let values = values(app, key).await;
            let value = |name: &String| values.iter().find(|(of, _)| of == name).unwrap().1;
            for (direction, sign) in [("ASCENDING", 1.0), ("DESCENDING", -1.0)] {
                let sort = format!("{{ spec: \"{key}\", direction: {direction} }}");
                for filter in [
                    "{}",
                    r#"{ category: ["a"] }"#,
                    r#"{ specs: [{ key: "color", exists: true }] }"#,
                ] {
                    let whole = walk(app, &sort, filter, 100, false).await;
                    let sorted: Vec<Option<f64>> = whole.iter().map(value).collect();
                    let with: Vec<f64> =
                        sorted.iter().flatten().map(|value| value * sign).collect();
                    assert!(with.is_sorted(), "{sort} {filter}: {sorted:?}");
                    assert!(
                        sorted[with.len()..].iter().all(Option::is_none),
                        "those without come last: {sorted:?}"
                    );
                    let total = if filter == "{}" { 40 } else { whole.len() };
                    assert_eq!(whole.len(), total);
                    for size in [1, 7, 40] {
                        assert_eq!(
                            walk(app, &sort, filter, size, false).await,
                            whole,
                            "{sort} {filter} in pages of {size}"
                        );
                        assert_eq!(
                            walk(app, &sort, filter, size, true).await,
                            whole,
                            "{sort} {filter} in pages of {size}, backwards"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn texts_sort_folded_and_dates_by_time() {
    test(async |app| {
        stock(app).await;
        let query = |key: &str| {
            format!(
                "{{ products(first: 30, sort: [{{ spec: \"{key}\" }}]) {{ nodes {{ spec(key: \"{key}\") {{ text }} }} }} }}"
            )
        };
        let texts = async |key: &str| -> Vec<String> {
            let answer = app.query(&query(key)).await;
            let nodes = answer.at("/products/nodes").as_array().unwrap().iter();
            nodes
                .filter_map(|node| node["spec"]["text"].as_str())
                .map(str::to_owned)
                .collect()
        };
        let colors = texts("color").await;
        assert_eq!(colors.len(), 30);
        let folded: Vec<String> = colors
            .iter()
            .map(|color| color.to_lowercase().replace('ä', "a"))
            .collect();
        assert!(folded.is_sorted(), "{colors:?}");
        let days = texts("release").await;
        assert!(days.is_sorted() && days.len() == 30, "{days:?}");
    });
}

#[test]
fn keys_that_cannot_be_sorted_by_are_refused() {
    test(async |app| {
        stock(app).await;
        app.mutate(
            "updateSpecKey",
            json!({ "key": "parts", "filterable": false }),
        )
        .await
        .done();
        let ask = async |sort: &str| {
            app.query(&format!(
                "{{ products(sort: [{sort}]) {{ nodes {{ name }} }} }}"
            ))
            .await
        };
        for (sort, reason) in [
            (r#"{ spec: "parts" }"#, "sort[0].spec"),
            (r#"{ spec: "length", key: NAME }"#, "exactly one"),
            ("{ direction: ASCENDING }", "exactly one"),
        ] {
            let wrong = ask(sort).await;
            let errors = wrong.errors().concat();
            assert!(
                errors.starts_with("BAD_USER_INPUT") && errors.contains(reason),
                "{sort}: {}",
                wrong.pretty()
            );
        }
        let unknown = ask(r#"{ spec: "lenght" }"#).await;
        assert_eq!(unknown.names("/products").len(), 20);
        assert!(
            unknown.hints()[0].starts_with("sort[0].spec: ")
                && unknown.hints()[0].contains("\"length\""),
            "{:?}",
            unknown.hints()
        );
    });
}

#[test]
fn a_key_being_merged_sorts_by_both_names() {
    test(async |app| {
        app.has((0..10).map(|n| {
            product(&format!("P{n}")).number(
                if n % 2 == 0 { "size" } else { "groesse" },
                f64::from(10 - n),
            )
        }))
        .await;
        app.mutate(
            "mergeSpecKeys",
            json!({ "from": "groesse", "into": "size" }),
        )
        .await
        .done();
        let sorted = walk(app, r#"{ spec: "groesse" }"#, "{}", 3, false).await;
        let expected: Vec<String> = (0..10).rev().map(|n| format!("P{n}")).collect();
        assert_eq!(sorted, expected);
        app.catalog.continue_merges().await.unwrap();
        assert_eq!(
            walk(app, r#"{ spec: "size" }"#, "{}", 4, true).await,
            expected
        );
    });
}
