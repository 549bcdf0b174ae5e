//! Values: what a feed has written is what the shop shows, finds and sorts.

use serde_json::json;

use super::*;

const QUANTITIES: &str = r#"
category = { value = "things" }
[product.specs]
exclude = ["id", "name"]
on_bad = "drop_value"
[[product.specs.rules]]
path = ["rated power", "torque", "weight"]
type = "quantity"
"#;

/// The names of the products with at least this much of a spec, most first.
async fn at_least(app: &App, key: &str, amount: i32, unit: &str) -> Vec<String> {
    let query = "query ($filter: ProductFilterInput, $sort: [ProductSortInput!]) {
        products(filter: $filter, sort: $sort) { nodes { name } } }";
    let filter = json!({ "specs": [{ "key": key, "number": { "gte": amount, "unit": unit } }] });
    let sort = json!([{ "spec": key, "direction": "DESCENDING" }]);
    let found = app.query(query).with("filter", filter).with("sort", sort);
    found.await.names("/products")
}

const TOOLS: &str = "id,name,rated power,torque,weight\n\
    T1,Impact driver,750 W,180 Nm,2.1 KG\n\
    T2,Torque wrench,,60 N m,900 GR\n\
    T3,Wind turbine,1.5 MW,,1 t\n\
    T4,Solar inverter,15 KW,,\n\
    T5,Laser module,5 mW,40 mNm,\n\
    T6,Power plant,2 MW,,\n\
    T7,Odd one,2 mw,180 nm,\n";

#[test]
fn units_are_told_apart_by_case_and_shown_as_written() {
    test(async |app| {
        let feed = Feed::new(app, QUANTITIES);
        let said = feed.import("tools.csv", TOOLS).await;
        insta::assert_snapshot!(said, @r#"
        lines 7, created 7, dropped values 2
        line 8, rated power: "2 mw" is not a quantity such as 12 mm (created)
        line 8, specs.torque: torque: "nm" measures length, not torque (created)
        "#);
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Impact driver in things
          rated_power = 750 W (quantity)
          torque = 180 Nm (quantity)
          weight = 2.1 kg (quantity)
        Laser module in things
          rated_power = 5 mW (quantity)
          torque = 40 mNm (quantity)
        Odd one in things
        Power plant in things
          rated_power = 2 MW (quantity)
        Solar inverter in things
          rated_power = 15 kW (quantity)
        Torque wrench in things
          torque = 60 Nm (quantity)
          weight = 900 g (quantity)
        Wind turbine in things
          rated_power = 1.5 MW (quantity)
          weight = 1 t (quantity)
        ");
        assert_eq!(
            at_least(app, "rated_power", 1, "MW").await,
            ["Power plant", "Wind turbine"]
        );
        assert_eq!(at_least(app, "rated_power", 5, "mW").await.len(), 5);
        assert_eq!(
            at_least(app, "torque", 60, "Nm").await,
            ["Impact driver", "Torque wrench"]
        );
        let query = r#"{ specKey(key: "torque") { dimension } }"#;
        assert_eq!(app.query(query).await.text("/specKey/dimension"), "torque");
    });
}

#[test]
fn admins_and_filters_tell_units_apart_as_feeds_do() {
    test(async |app| {
        Feed::new(app, QUANTITIES).import("tools.csv", TOOLS).await;
        let laser = app.query(r#"{ product(sku: "shop:T5") { id } }"#).await;
        let set = |unit: &str| {
            let specs = json!([{ "key": "rated_power", "number": 3, "unit": unit }]);
            json!({ "productId": laser.text("/product/id"), "specs": specs })
        };
        app.mutate("setSpecs", set("MW")).await.done();
        let expected = ["Laser module", "Power plant", "Wind turbine"];
        assert_eq!(at_least(app, "rated_power", 1, "MW").await, expected);
        app.mutate("setSpecs", set("mW")).await.done();
        assert_eq!(at_least(app, "rated_power", 1, "MW").await, expected[1..]);
        let refused = app.mutate("setSpecs", set("mw")).await.user_errors();
        insta::assert_snapshot!(refused.join("\n"), @r#"NOT_FOUND at specs.0.unit: rated_power: there is no unit "mw", and case decides: it is not read as "mW" and "MW""#);
        let query = r#"{ products(filter: { specs: [{ key: "rated_power", number: { gte: 1, unit: "mw" } }] }) { nodes { name } } }"#;
        insta::assert_snapshot!(app.query(query).await.errors().join("\n"), @r#"BAD_USER_INPUT at products: filter.specs[0].number.unit: there is no unit "mw", and case decides: it is not read as "mW" and "MW"; give a unit of power such as W"#);
    });
}

const REVIEWS: &str = r#"
version = 1
system = "shop"
[review]
external_id = "rid"
product = "pid"
rating = "stars"
title = "title"
author = { name = "author" }
created_at = { from = "date", date = ["%d.%m.%Y", "%d.%m.%y"], on_bad = "drop_value" }
"#;

#[test]
fn years_of_two_digits_are_of_this_century_and_impossible_ones_are_unknown() {
    test(async |app| {
        let shop = Feed::new(app, "category = { value = \"things\" }\n");
        shop.import("shop.csv", "id,name\nP1,Lamp\n").await;
        let said = Feed::of(app, REVIEWS)
            .import(
                "reviews.csv",
                "rid,pid,stars,author,title,date\n\
                 1,P1,5,Ann,Newest,05.01.26\n\
                 2,P1,4,Bo,Older,20.12.2025\n\
                 3,P1,3,Cy,Mistyped,05.01.0206\n\
                 4,P1,2,Di,Last century,31.12.99\n",
            )
            .await;
        insta::assert_snapshot!(said, @r#"
        lines 4, created 4, dropped values 1
        line 4, date: "05.01.0206" is not a date in the form %d.%m.%Y or %d.%m.%y; its year is before 1000, and %Y takes four digits (%y takes two) (created)
        "#);
        let query = r#"{ product(sku: "shop:P1") { reviews(first: 9, sort: NEWEST) { nodes { title createdAt } } } }"#;
        let answer = app.query(query).await;
        let reviews = answer
            .at("/product/reviews/nodes")
            .as_array()
            .unwrap()
            .iter();
        let shown = reviews.map(|one| format!("{} {}", one["title"], one["createdAt"]));
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
        "Newest" "2026-01-05T00:00:00.000Z"
        "Older" "2025-12-20T00:00:00.000Z"
        "Last century" "1999-12-31T00:00:00.000Z"
        "Mistyped" null
        "#);
    });
}

#[test]
fn whole_numbers_are_exact_or_refused() {
    test(async |app| {
        let feed = Feed::new(app, LENIENT);
        let rows = "{\"id\": 1, \"name\": \"Exact\", \"a\": 1234567890123456, \"b\": 1000000000000000, \"c\": 9007199254740992}\n\
            {\"id\": 2, \"name\": \"Too large\", \"a\": 9007199254740993, \"b\": 12345678901234567890, \"c\": -9007199254740993}\n\
            {\"id\": 3, \"name\": \"Noise\", \"a\": 5.17, \"b\": 0.1, \"c\": 1e3}\n";
        let said = feed.import("shop.jsonl", rows).await;
        assert!(
            said.starts_with("lines 3, created 3, dropped values 4\n"),
            "{said}"
        );
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Exact in things
          a = 1234567890123456 (number)
          b = 1000000000000000 (number)
        Noise in things
          a = 5.17 (number)
          b = 0.1 (number)
          c = 1000 (number)
        Too large in things
        ");
    });
}

#[test]
fn one_odd_value_among_numbers_costs_itself() {
    test(async |app| {
        let values = [
            "0.5",
            "1",
            "1.5",
            "2",
            "2.5",
            "3",
            "\"approx. 10\"",
            "4",
            "4.5",
            "5",
            "5.5",
        ];
        let feed = Feed::new(app, LENIENT);
        let said = feed.import("shop.jsonl", contents(&values)).await;
        insta::assert_snapshot!(said, @"
        lines 11, created 11, dropped values 1
        line 7, specs.net_content: net_content holds values of type number; approx. 10 is of type text (created)
        ");
        assert_eq!(net_content(app).await, ("NUMBER".to_owned(), 9));
        // A later feed with the odd one alone.
        let said = feed
            .import("shop.jsonl", contents(&["0.5", "\"thick\""]))
            .await;
        assert!(
            said.starts_with("lines 2, updated 1, unchanged 1, dropped values 1"),
            "{said}"
        );
        assert_eq!(net_content(app).await, ("NUMBER".to_owned(), 8));
    });
}

#[test]
fn a_guessed_type_follows_the_only_feed_that_uses_its_key() {
    test(async |app| {
        let feed = Feed::new(app, LENIENT);
        feed.import("shop.jsonl", contents(&["\"N/A\""])).await;
        let rows = contents(&["0.5", "1", "2"]);
        let said = feed.import("shop.jsonl", rows).await;
        assert_eq!(said, "lines 3, created 2, updated 1");
        assert_eq!(net_content(app).await, ("NUMBER".to_owned(), 2));
    });
}

#[test]
fn a_number_that_is_refused_is_named_as_the_feed_has_it() {
    test(async |app| {
        let row = r#"{"id": 1, "name": "Large", "a": 9007199254740993, "b": 12345678901234567890}"#;
        let said = Feed::new(app, LENIENT).import("shop.jsonl", row).await;
        assert!(said.contains("a: 9007199254740993 is too large"), "{said}");
        assert!(
            said.contains("b: 12345678901234567890 is too large"),
            "{said}"
        );
    });
}
