//! Lists of products: filters, sorts, pages, and wrong arguments.

use vitrine_harness::{Answer, App, product, review, test};
use vitrine_model::product::ProductStatus;

/// The names of the products that a filter finds, sorted.
async fn found(app: &App, filter: &str) -> Vec<String> {
    let query = format!(
        "{{ products(first: 100, sort: [{{ key: NAME }}], filter: {filter}) {{ nodes {{ name }} totalCount {{ value relation }} }} }}"
    );
    let answer = app.query(&query).await;
    let names = answer.names("/products");
    assert_eq!(
        *answer.at("/products/totalCount/value"),
        names.len(),
        "{filter}"
    );
    assert_eq!(
        *answer.at("/products/totalCount/relation"),
        "EXACT",
        "{filter}"
    );
    names
}

/// The errors of a list with these arguments.
async fn refused(app: &App, arguments: &str) -> String {
    let answer = app
        .query(&format!(
            "{{ products({arguments}) {{ nodes {{ name }} }} }}"
        ))
        .await;
    answer.errors().join("\n")
}

/// Five products with different values of everything that can be filtered by.
async fn shelf(app: &App) {
    app.has([
        product("Ant")
            .brand("Acme")
            .category(["Home", "Kitchen"])
            .price("5.00")
            .text("color", "Red")
            .quantity("volume", 0.5, "l")
            .number("ports", 2.0)
            .boolean("lid", true)
            .date("release", "2024-01-15"),
        product("Bee")
            .brand("ÁCME")
            .category(["Home", "Kitchen", "Cups"])
            .price("10.00")
            .text("color", "dark red")
            .quantity("volume", 16.9, "fl oz")
            .number("ports", 3.0)
            .boolean("lid", false)
            .date("release", "2024-06-01")
            .qualified("FR"),
        product("Cat")
            .brand("Zeta")
            .category(["Home", "Bath"])
            .price("10.01")
            .text("color", "RED ")
            .quantity("volume", 1.0, "gal")
            .number("ports", 3.5)
            .date("release", "2025-01-01"),
        product("Dog")
            .category(["Garden"])
            .price_in("7.00", "USD")
            .text("color", "Blue")
            .text("size", "M")
            .qualified("EU"),
        product("Eel")
            .category(["Garden"])
            .text("size", "M")
            .qualified("US")
            .text("size", "38")
            .qualified("EU"),
    ])
    .await;
    let stars = [
        ("Ant", 5),
        ("Ant", 4),
        ("Bee", 4),
        ("Bee", 3),
        ("Bee", 5),
        ("Cat", 2),
    ];
    app.has_reviews(
        stars
            .into_iter()
            .enumerate()
            .map(|(n, (name, stars))| review(name, n, stars)),
    )
    .await;
}

/// A filter and the names of the products that it finds.
type Case = (&'static str, &'static [&'static str]);

const PRODUCT_FILTERS: &[Case] = &[
    ("{}", &["Ant", "Bee", "Cat", "Dog", "Eel"]),
    (r#"{ category: ["kitchen"] }"#, &["Ant", "Bee"]),
    (r#"{ category: ["home"] }"#, &["Ant", "Bee", "Cat"]),
    (
        r#"{ category: ["cups", "garden"] }"#,
        &["Bee", "Dog", "Eel"],
    ),
    (r#"{ category: ["home", "cups"] }"#, &["Ant", "Bee", "Cat"]),
    (r#"{ category: ["no-such"] }"#, &[]),
    (r#"{ brand: ["acme"] }"#, &["Ant", "Bee"]),
    (r#"{ brand: ["zeta", "nobody"] }"#, &["Cat"]),
    (r#"{ price: { gte: "5" } }"#, &["Ant", "Bee", "Cat"]),
    (r#"{ price: { lte: "10.00" } }"#, &["Ant", "Bee"]),
    (r#"{ price: { gte: "5.001", lte: "10.009" } }"#, &["Bee"]),
    (r#"{ price: { gte: "10", lte: "10" } }"#, &["Bee"]),
    (r#"{ price: { gte: "99999999999999999999" } }"#, &[]),
    ("{ rating: { gte: 4.5 } }", &["Ant"]),
    ("{ rating: { gte: 4 } }", &["Ant", "Bee"]),
    ("{ rating: { gte: 1 } }", &["Ant", "Bee", "Cat"]),
    ("{ status: [ACTIVE] }", &["Ant", "Bee", "Cat", "Dog", "Eel"]),
];

const SPEC_FILTERS: &[Case] = &[
    (
        r#"{ specs: [{ key: "color", text: { eq: "red" } }] }"#,
        &["Ant", "Cat"],
    ),
    (
        r#"{ specs: [{ key: "color", text: { in: ["DARK  RED", "blue"] } }] }"#,
        &["Bee", "Dog"],
    ),
    (
        r#"{ specs: [{ key: "volume", number: { eq: 500, unit: "ml" } }] }"#,
        &["Ant", "Bee"],
    ),
    (
        r#"{ specs: [{ key: "volume", number: { eq: 16.9, unit: "fl oz" } }] }"#,
        &["Ant", "Bee"],
    ),
    (
        r#"{ specs: [{ key: "volume", number: { gte: 0.5, unit: "l" } }] }"#,
        &["Ant", "Cat"],
    ),
    (
        r#"{ specs: [{ key: "volume", number: { gt: 50, lte: 3785.411784, unit: "cl" } }] }"#,
        &["Cat"],
    ),
    (
        r#"{ specs: [{ key: "volume", number: { lt: 0.1321, unit: "gallon" } }] }"#,
        &["Ant", "Bee"],
    ),
    (
        r#"{ specs: [{ key: "ports", number: { eq: 3 } }] }"#,
        &["Bee"],
    ),
    (
        r#"{ specs: [{ key: "ports", number: { gt: 2, lt: 3.5 } }] }"#,
        &["Bee"],
    ),
    (
        r#"{ specs: [{ key: "ports", number: { gte: 2, lte: 3 } }] }"#,
        &["Ant", "Bee"],
    ),
    (r#"{ specs: [{ key: "lid", boolean: true }] }"#, &["Ant"]),
    (r#"{ specs: [{ key: "lid", boolean: false }] }"#, &["Bee"]),
    (
        r#"{ specs: [{ key: "release", date: { gte: "2024-06-01" } }] }"#,
        &["Bee", "Cat"],
    ),
    (
        r#"{ specs: [{ key: "release", date: { gt: "2024-06-01" } }] }"#,
        &["Cat"],
    ),
    (
        r#"{ specs: [{ key: "release", date: { lt: "2024-06-01T00:00:00.001Z" } }] }"#,
        &["Ant", "Bee"],
    ),
    (
        r#"{ specs: [{ key: "release", date: { lte: "2025-01-01T01:00:00+01:00" }, qualifier: "FR" }] }"#,
        &["Bee"],
    ),
    (
        r#"{ specs: [{ key: "size", text: { eq: "m" } }] }"#,
        &["Dog", "Eel"],
    ),
    (
        r#"{ specs: [{ key: "size", text: { eq: "m" }, qualifier: "EU" }] }"#,
        &["Dog"],
    ),
    (
        r#"{ specs: [{ key: "size", exists: true }] }"#,
        &["Dog", "Eel"],
    ),
    (
        r#"{ specs: [{ key: "size", exists: true, qualifier: "US" }] }"#,
        &["Eel"],
    ),
    (
        r#"{ specs: [{ key: "ports", exists: false }] }"#,
        &["Dog", "Eel"],
    ),
    (
        r#"{ specs: [{ key: "never_seen", exists: false }] }"#,
        &["Ant", "Bee", "Cat", "Dog", "Eel"],
    ),
    (r#"{ specs: [{ key: "never_seen", exists: true }] }"#, &[]),
];

const COMBINED_FILTERS: &[Case] = &[
    (
        r#"{ specs: [{ key: "lid", boolean: true }, { key: "color", text: { eq: "red" } }] }"#,
        &["Ant"],
    ),
    (
        r#"{ not: { specs: [{ key: "color", text: { eq: "red" } }] } }"#,
        &["Bee", "Dog", "Eel"],
    ),
    (
        r#"{ or: [{ brand: ["zeta"] }, { specs: [{ key: "lid", boolean: true }] }, { category: ["garden"], not: { specs: [{ key: "color", exists: true }] } }] }"#,
        &["Ant", "Cat", "Eel"],
    ),
    (
        r#"{ category: ["home"], and: [{ price: { lte: "10" } }, { not: { or: [{ rating: { gte: 4.5 } }, { brand: ["zeta"] }] } }] }"#,
        &["Bee"],
    ),
];

async fn assert_found(app: &App, cases: &[Case]) {
    for (filter, expected) in cases {
        assert_eq!(found(app, filter).await, *expected, "{filter}");
    }
}

#[test]
fn products_are_filtered_by_their_own_fields() {
    test(async |app| {
        shelf(app).await;
        assert_found(app, PRODUCT_FILTERS).await;
    });
}

#[test]
fn products_are_filtered_by_specs_alone_and_combined() {
    test(async |app| {
        shelf(app).await;
        assert_found(app, SPEC_FILTERS).await;
        assert_found(app, COMBINED_FILTERS).await;
    });
}

#[test]
fn empty_filters_find_nothing_or_everything() {
    test(async |app| {
        shelf(app).await;
        let all = found(app, "{}").await;
        for nothing in [
            "{ or: [] }",
            "{ brand: [] }",
            "{ category: [] }",
            "{ not: {} }",
            r#"{ specs: [{ key: "color", text: { in: [] } }] }"#,
        ] {
            assert_eq!(found(app, nothing).await, [""; 0], "{nothing}");
        }
        for everything in [
            "{ and: [] }",
            "{ specs: [] }",
            "{ or: [{}] }",
            "{ not: { or: [] } }",
            "{ and: [{}, {}] }",
            "{ brand: null, not: null }",
        ] {
            assert_eq!(found(app, everything).await, all, "{everything}");
        }
    });
}

#[test]
fn products_are_sorted_by_every_key_in_both_directions() {
    test(async |app| {
        app.has([
            product("beta").price("3").created_at("2024-01-01"),
            product("Álpha").price("1").created_at("2022-01-01"),
            product("gamma")
                .price_in("2", "USD")
                .created_at("2023-01-01"),
            product("Delta").price("2").created_at("2025-01-01"),
            product("epsilon").price("4").created_at("2021-01-01"),
        ])
        .await;
        let reviews = [
            ("beta", 5, 3),
            ("gamma", 4, 9),
            ("Delta", 1, 1),
            ("epsilon", 2, 4),
        ];
        app.has_reviews(reviews.into_iter().flat_map(|(name, stars, n)| {
            (0..n).map(move |at| review(name, format!("{name} {at}"), stars))
        }))
        .await;
        let mut lines = Vec::new();
        for key in ["PRICE", "RATING", "POPULARITY", "NEWEST", "NAME"] {
            for direction in ["", ", direction: ASCENDING", ", direction: DESCENDING"] {
                let list = format!(
                    "{{ products(sort: [{{ key: {key}{direction} }}]) {{ nodes {{ name }} }} }}"
                );
                let names = app.query(&list).await.names("/products");
                lines.push(format!("{key}{direction}: {}", names.join(" ")));
            }
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        PRICE: Álpha Delta beta epsilon gamma
        PRICE, direction: ASCENDING: Álpha Delta beta epsilon gamma
        PRICE, direction: DESCENDING: epsilon beta Delta Álpha gamma
        RATING: beta gamma Álpha Delta epsilon
        RATING, direction: ASCENDING: epsilon Delta Álpha gamma beta
        RATING, direction: DESCENDING: beta gamma Álpha Delta epsilon
        POPULARITY: gamma epsilon beta Delta Álpha
        POPULARITY, direction: ASCENDING: Álpha Delta beta epsilon gamma
        POPULARITY, direction: DESCENDING: gamma epsilon beta Delta Álpha
        NEWEST: Delta beta gamma Álpha epsilon
        NEWEST, direction: ASCENDING: epsilon Álpha gamma beta Delta
        NEWEST, direction: DESCENDING: Delta beta gamma Álpha epsilon
        NAME: Álpha beta Delta epsilon gamma
        NAME, direction: ASCENDING: Álpha beta Delta epsilon gamma
        NAME, direction: DESCENDING: gamma epsilon Delta beta Álpha
        ");
    });
}

#[test]
fn every_sort_key_of_the_schema_has_its_indexes() {
    test(async |app| {
        dozen(app).await;
        let known = app
            .query(r#"{ __type(name: "ProductSortKey") { enumValues { name } } }"#)
            .await;
        let keys = known.at("/__type/enumValues").as_array().unwrap().iter();
        let keys = keys.map(|value| value["name"].as_str().unwrap());
        for key in keys.filter(|key| *key != "RELEVANCE") {
            for filter in ["{}", r#"{ category: ["dozen"] }"#] {
                let list = format!(
                    "{{ products(first: 3, sort: [{{ key: {key} }}], filter: {filter}) {{ nodes {{ name }} }} }}"
                );
                assert_eq!(app.query(&list).await.names("/products").len(), 3, "{list}");
            }
        }
    });
}

/// Twelve products, five of them without a price, three with the same one.
async fn dozen(app: &App) {
    let price = |n: i32| match n {
        0..=2 => Some("5.00".to_owned()),
        3..=6 => Some(format!("{n}.00")),
        _ => None,
    };
    app.has((0..12).map(|n| {
        let product = product(&format!("P{n:02}")).category(["Dozen"]);
        match price(n) {
            Some(price) => product.price(&price),
            None => product,
        }
    }))
    .await;
}

async fn page(app: &App, order: &str, arguments: &str) -> Answer {
    let list = format!("{{ products(sort: [{order}], {arguments}) {{ nodes {{ name price {{ amount }} }} edges {{ cursor node {{ name }} }}
        pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}");
    app.query(&list).await
}

#[test]
fn pages_continue_past_the_last_price_in_both_directions() {
    test(async |app| {
        dozen(app).await;
        for direction in ["ASCENDING", "DESCENDING"] {
            let order = format!("{{ key: PRICE, direction: {direction} }}");
            let whole = page(app, &order, "first: 100").await.names("/products");
            assert_eq!(whole.len(), 12);
            let forwards = walk(app, &order, Way::Forwards, 5).await;
            assert_eq!(forwards, whole, "{direction}");
            let backwards = walk(app, &order, Way::Backwards, 5).await;
            assert_eq!(backwards, whole, "{direction}");
        }
    });
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Forwards,
    Backwards,
}

/// Reads all pages in one direction, and asserts what each reports of its ends.
async fn walk(app: &App, order: &str, way: Way, size: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let from = |name: &str| {
            cursor
                .as_ref()
                .map_or_else(String::new, |c| format!(", {name}: \"{c}\""))
        };
        let (arguments, on, back, end) = match way {
            Way::Forwards => (
                format!("first: {size}{}", from("after")),
                "hasNextPage",
                "hasPreviousPage",
                "endCursor",
            ),
            Way::Backwards => (
                format!("last: {size}{}", from("before")),
                "hasPreviousPage",
                "hasNextPage",
                "startCursor",
            ),
        };
        let page = page(app, order, &arguments).await;
        let names = page.names("/products");
        assert_eq!(
            *page.at(&format!("/products/pageInfo/{back}")),
            !all.is_empty()
        );
        match way {
            Way::Forwards => all.extend(names),
            Way::Backwards => drop(all.splice(0..0, names)),
        }
        cursor = Some(page.text(&format!("/products/pageInfo/{end}")));
        if *page.at(&format!("/products/pageInfo/{on}")) == false {
            return all;
        }
    }
}

#[test]
fn edges_carry_the_cursors_of_their_nodes() {
    test(async |app| {
        dozen(app).await;
        let order = "{ key: NAME }";
        let first = page(app, order, "first: 3").await;
        let middle = first.text("/products/edges/1/cursor");
        assert_eq!(
            first.text("/products/edges/2/cursor"),
            first.text("/products/pageInfo/endCursor")
        );
        let after = page(app, order, &format!("first: 2, after: \"{middle}\"")).await;
        assert_eq!(after.names("/products"), ["P02", "P03"]);
        let before = page(app, order, &format!("last: 2, before: \"{middle}\"")).await;
        assert_eq!(before.names("/products"), ["P00"]);
        let last = page(app, order, "last: 1")
            .await
            .text("/products/pageInfo/endCursor");
        let beyond = page(app, order, &format!("first: 2, after: \"{last}\"")).await;
        insta::assert_snapshot!(beyond.pretty(), @r"
        {
          data: {
            products: {
              nodes: []
              edges: []
              pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: null }
            }
          }
        }
        ");
    });
}

#[test]
fn an_empty_page_has_no_cursors() {
    test(async |app| {
        let empty = page(app, "{ key: NAME }", "first: 5").await;
        insta::assert_snapshot!(empty.pretty(), @r"
        {
          data: {
            products: {
              nodes: []
              edges: []
              pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null }
            }
          }
        }
        ");
    });
}

#[test]
fn a_total_stops_at_its_limit() {
    test(async |app| {
        dozen(app).await;
        let totals = app.query("{ a: products { totalCount { value relation } } b: products { totalCount(upTo: 5) { value relation } }
            c: products { totalCount(upTo: 12) { value relation } } d: products { totalCount(upTo: 11) { value relation } } }").await;
        insta::assert_snapshot!(totals.pretty(), @r#"
        {
          data: {
            a: { totalCount: { value: 12, relation: "EXACT" } }
            b: { totalCount: { value: 5, relation: "AT_LEAST" } }
            c: { totalCount: { value: 12, relation: "EXACT" } }
            d: { totalCount: { value: 11, relation: "AT_LEAST" } }
          }
        }
        "#);
        let wrong = app.query("{ a: products { totalCount(upTo: 0) { value } } b: products { totalCount(upTo: 1000001) { value } } }").as_admin().await;
        insta::assert_snapshot!(wrong.errors().join("\n"), @r"
        BAD_USER_INPUT at a.totalCount: upTo: must be 1 to 1000000, not 0
        BAD_USER_INPUT at b.totalCount: upTo: must be 1 to 1000000, not 1000001
        ");
    });
}

#[test]
fn wrong_page_arguments_are_refused() {
    test(async |app| {
        dozen(app).await;
        let mut lines = Vec::new();
        for arguments in [
            "first: 0",
            "first: 101",
            "first: -1",
            "last: 0",
            "last: 101",
            "first: 1, last: 1",
            r#"last: 1, after: "x""#,
            r#"first: 1, before: "x""#,
            r#"before: "x""#,
            r#"first: 1, after: """#,
            r#"first: 1, after: "x""#,
            "sort: [{ key: NAME }, { key: PRICE }]",
        ] {
            lines.push(format!(
                "{arguments}\n    {}",
                refused(app, arguments).await
            ));
        }
        insta::assert_snapshot!(lines.join("\n"), @r#"
        first: 0
            BAD_USER_INPUT at products: first: must be 1 to 100, not 0
        first: 101
            BAD_USER_INPUT at products: first: must be 1 to 100, not 101
        first: -1
            BAD_USER_INPUT at products: first: must be 1 to 100, not -1
        last: 0
            BAD_USER_INPUT at products: last: must be 1 to 100, not 0
        last: 101
            BAD_USER_INPUT at products: last: must be 1 to 100, not 101
        first: 1, last: 1
            BAD_USER_INPUT at products: first: give first or last, not both
        last: 1, after: "x"
            BAD_USER_INPUT at products: after: goes with first; with last give before
        first: 1, before: "x"
            BAD_USER_INPUT at products: before: goes with last; with first give after
        before: "x"
            BAD_USER_INPUT at products: before: goes with last; with first give after
        first: 1, after: ""
            INVALID_CURSOR at products: after: the cursor is damaged or was not made by this service
        first: 1, after: "x"
            INVALID_CURSOR at products: after: the cursor is damaged or was not made by this service
        sort: [{ key: NAME }, { key: PRICE }]
            BAD_USER_INPUT at products: sort: give one sort key; ties are broken by id
        "#);
    });
}

#[test]
fn cursors_of_other_lists_are_refused() {
    test(async |app| {
        dozen(app).await;
        app.has_reviews([review("P00", 1, 5)]).await;
        let cursor = page(app, "{ key: NAME }", "first: 3")
            .await
            .text("/products/pageInfo/endCursor");
        let damaged = cursor.replace(|c: char| c.is_ascii_lowercase(), "a");
        let review = app
            .query(r#"{ product(slug: "p00") { reviews { pageInfo { endCursor } } } }"#)
            .await;
        let review = review.text("/product/reviews/pageInfo/endCursor");
        let mut lines = Vec::new();
        for (what, arguments) in [
            (
                "another key",
                format!("sort: [{{ key: PRICE }}], after: \"{cursor}\""),
            ),
            (
                "another direction",
                format!("sort: [{{ key: NAME, direction: DESCENDING }}], after: \"{cursor}\""),
            ),
            (
                "another filter",
                format!(
                    "sort: [{{ key: NAME }}], filter: {{ category: [\"dozen\"] }}, after: \"{cursor}\""
                ),
            ),
            (
                "damaged",
                format!("sort: [{{ key: NAME }}], after: \"{damaged}\""),
            ),
            (
                "cut off",
                format!("sort: [{{ key: NAME }}], after: \"{}\"", &cursor[..20]),
            ),
            (
                "of reviews",
                format!("sort: [{{ key: NAME }}], last: 1, before: \"{review}\""),
            ),
        ] {
            let refusal = refused(app, &arguments).await;
            lines.push(format!("{what}: {refusal}"));
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        another key: INVALID_CURSOR at products: after: the cursor belongs to another list, or to one with another sort order or filter
        another direction: INVALID_CURSOR at products: after: the cursor belongs to another list, or to one with another sort order or filter
        another filter: INVALID_CURSOR at products: after: the cursor belongs to another list, or to one with another sort order or filter
        damaged: INVALID_CURSOR at products: after: the cursor is damaged or was not made by this service
        cut off: INVALID_CURSOR at products: after: the cursor is damaged or was not made by this service
        of reviews: INVALID_CURSOR at products: before: the cursor belongs to another list, or to one with another sort order or filter
        ");
        let admin = app.query(
            "query($c: String) { products(sort: [{ key: NAME }], after: $c) { nodes { name } } }",
        );
        let admin = admin.with("c", cursor).as_admin().await;
        insta::assert_snapshot!(admin.errors().join("\n"), @"INVALID_CURSOR at products: after: the cursor belongs to another list, or to one with another sort order or filter");
    });
}

/// Each filter with its error.
async fn refusals(app: &App, filters: impl IntoIterator<Item = String>) -> String {
    let mut lines = Vec::new();
    for filter in filters {
        let refusal = refused(app, &format!("filter: {filter}")).await;
        lines.push(format!("{filter}\n    {refusal}"));
    }
    lines.join("\n")
}

const WRONG_SPEC_FILTERS: [&str; 16] = [
    r#"{ key: "volume", number: { gte: 1 } }"#,
    r#"{ key: "volume", number: { gte: 1, unit: "kg" } }"#,
    r#"{ key: "volume", number: { gte: 1, unit: "furlong" } }"#,
    r#"{ key: "ports", number: { gte: 1, unit: "kg" } }"#,
    r#"{ key: "ports", number: { gte: 2, lte: 1 } }"#,
    r#"{ key: "ports", number: { gte: 2, gt: 1 } }"#,
    r#"{ key: "ports", number: { eq: 2, gt: 1 } }"#,
    r#"{ key: "ports", number: {} }"#,
    r#"{ key: "ports", text: { eq: "2" } }"#,
    r#"{ key: "color", number: { eq: 2 } }"#,
    r#"{ key: "lid", text: { eq: "true" } }"#,
    r#"{ key: "release", boolean: true }"#,
    r#"{ key: "release", date: {} }"#,
    r#"{ key: "release", date: { gte: "2024-02-02", lt: "2024-02-01" } }"#,
    r#"{ key: "color" }"#,
    r#"{ key: "color", exists: true, boolean: true }"#,
];

#[test]
fn spec_filters_that_contradict_their_key_or_themselves_are_refused() {
    test(async |app| {
        shelf(app).await;
        let filters = WRONG_SPEC_FILTERS.map(|leaf| format!("{{ specs: [{leaf}] }}"));
        insta::assert_snapshot!(refusals(app, filters).await, @r#"
        { specs: [{ key: "volume", number: { gte: 1 } }] }
            BAD_USER_INPUT at products: filter.specs[0].number.unit: volume measures volume: say the unit, such as ml
        { specs: [{ key: "volume", number: { gte: 1, unit: "kg" } }] }
            BAD_USER_INPUT at products: filter.specs[0].number.unit: "kg" measures mass, not volume; give a unit of volume such as ml
        { specs: [{ key: "volume", number: { gte: 1, unit: "furlong" } }] }
            BAD_USER_INPUT at products: filter.specs[0].number.unit: there is no unit "furlong"; give a unit of volume such as ml
        { specs: [{ key: "ports", number: { gte: 1, unit: "kg" } }] }
            BAD_USER_INPUT at products: filter.specs[0].number.unit: ports holds plain numbers: leave the unit out
        { specs: [{ key: "ports", number: { gte: 2, lte: 1 } }] }
            BAD_USER_INPUT at products: filter.specs[0].number: the lower end is above the upper end
        { specs: [{ key: "ports", number: { gte: 2, gt: 1 } }] }
            BAD_USER_INPUT at products: filter.specs[0].number: give gte or gt, not both
        { specs: [{ key: "ports", number: { eq: 2, gt: 1 } }] }
            BAD_USER_INPUT at products: filter.specs[0].number: eq goes alone: leave out gte, lte, gt and lt
        { specs: [{ key: "ports", number: {} }] }
            BAD_USER_INPUT at products: filter.specs[0].number: give at least one of eq, gte, lte, gt, lt
        { specs: [{ key: "ports", text: { eq: "2" } }] }
            BAD_USER_INPUT at products: filter.specs[0]: ports holds values of type number: use number or exists
        { specs: [{ key: "color", number: { eq: 2 } }] }
            BAD_USER_INPUT at products: filter.specs[0]: color holds values of type text: use text or exists
        { specs: [{ key: "lid", text: { eq: "true" } }] }
            BAD_USER_INPUT at products: filter.specs[0]: lid holds values of type boolean: use boolean or exists
        { specs: [{ key: "release", boolean: true }] }
            BAD_USER_INPUT at products: filter.specs[0]: release holds values of type date: use date or exists
        { specs: [{ key: "release", date: {} }] }
            BAD_USER_INPUT at products: filter.specs[0].date: give at least one of gte, lte, gt, lt
        { specs: [{ key: "release", date: { gte: "2024-02-02", lt: "2024-02-01" } }] }
            BAD_USER_INPUT at products: filter.specs[0].date: the lower end is above the upper end
        { specs: [{ key: "color" }] }
            BAD_USER_INPUT at products: filter.specs[0]: the filter for the spec "color" must give exactly one of text, number, boolean, date and exists
        { specs: [{ key: "color", exists: true, boolean: true }] }
            BAD_USER_INPUT at products: filter.specs[0]: the filter for the spec "color" must give exactly one of text, number, boolean, date and exists
        "#);
    });
}

#[test]
fn filters_without_a_meaning_are_refused() {
    test(async |app| {
        shelf(app).await;
        let filters = [
            "{ price: {} }",
            r#"{ price: { gte: "2", lte: "1" } }"#,
            "{ rating: { gte: 4.2 } }",
            "{ rating: { gte: 5.5 } }",
            "{ or: [{ and: [{ not: { or: [{ and: [{ not: {} }] }] } }] }] }",
            r#"{ and: [{}, { not: { specs: [{ key: "ports", number: {} }] } }] }"#,
        ];
        let filters = filters.map(str::to_owned);
        insta::assert_snapshot!(refusals(app, filters).await, @r#"
        { price: {} }
            BAD_USER_INPUT at products: filter.price: give at least one of gte, lte
        { price: { gte: "2", lte: "1" } }
            BAD_USER_INPUT at products: filter.price: the lower end is above the upper end
        { rating: { gte: 4.2 } }
            BAD_USER_INPUT at products: filter.rating: must be 1 to 5 in steps of 0.5, not 4.2
        { rating: { gte: 5.5 } }
            BAD_USER_INPUT at products: filter.rating: must be 1 to 5 in steps of 0.5, not 5.5
        { or: [{ and: [{ not: { or: [{ and: [{ not: {} }] }] } }] }] }
            BAD_USER_INPUT at products: filter.or[0].and[0].not.or[0].and[0].not: and, or and not may be nested 5 deep
        { and: [{}, { not: { specs: [{ key: "ports", number: {} }] } }] }
            BAD_USER_INPUT at products: filter.and[1].not.specs[0].number: give at least one of eq, gte, lte, gt, lt
        "#);
    });
}

#[test]
fn filters_above_a_limit_are_refused() {
    test(async |app| {
        shelf(app).await;
        let (long, brands) = ("x".repeat(257), vec!["\"x\""; 101].join(","));
        let leaves = vec![r#"{ key: "lid", boolean: true }"#; 51].join(",");
        let mut lines = Vec::new();
        for (what, filter) in [
            (
                "257 bytes",
                format!(r#"specs: [{{ key: "color", text: {{ eq: "{long}" }} }}]"#),
            ),
            ("101 brands", format!("brand: [{brands}]")),
            ("51 leaves", format!("specs: [{leaves}]")),
        ] {
            let refusal = refused(app, &format!("filter: {{ {filter} }}")).await;
            lines.push(format!("{what}\n    {refusal}"));
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        257 bytes
            BAD_USER_INPUT at products: filter.specs[0].text: text of more than 256 bytes cannot be filtered by
        101 brands
            BAD_USER_INPUT at products: filter.brand: may list at most 100 values
        51 leaves
            BAD_USER_INPUT at products: filter.specs[50]: a filter may have 50 conditions
        ");
    });
}

#[test]
fn only_admins_filter_by_status() {
    test(async |app| {
        let state = |name: &str, status| product(name).status(status);
        app.has([
            state("a", ProductStatus::Active),
            state("b", ProductStatus::Draft),
            state("c", ProductStatus::Archived),
        ])
        .await;
        let list = |filter: &str| {
            format!(
                "{{ products(filter: {filter}, sort: [{{ key: NAME }}]) {{ nodes {{ name }} }} }}"
            )
        };
        for filter in [
            "{ status: [DRAFT] }",
            "{ status: [ACTIVE, ARCHIVED] }",
            "{ not: { status: [DRAFT] } }",
            "{ or: [{ status: [DRAFT] }] }",
        ] {
            let refusal = app.query(&list(filter)).await;
            refusal.assert_commands(&[]);
            assert!(
                refusal.errors()[0].starts_with("FORBIDDEN at products: "),
                "{:?}",
                refusal.errors()
            );
        }
        let cases: [(&str, &[&str]); 5] = [
            ("{}", &["a", "b", "c"]),
            ("{ status: [DRAFT] }", &["b"]),
            ("{ status: [DRAFT, ARCHIVED, DRAFT] }", &["b", "c"]),
            ("{ not: { status: [DRAFT] } }", &["a", "c"]),
            (
                "{ or: [{ status: [DRAFT] }, { status: [ACTIVE] }] }",
                &["a", "b"],
            ),
        ];
        for (filter, expected) in cases {
            assert_eq!(
                app.query(&list(filter)).as_admin().await.names("/products"),
                expected,
                "{filter}"
            );
        }
    });
}
