//! The rules of the GraphQL specification over the real schema, as a client sees them. Each rule is
//! tested beside its code as well.

use mongodb::bson::{Document, doc};
use vitrine_harness::{product, test};

/// The keys of an object in their order.
fn keys(value: &serde_json::Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_keys_of_an_answer_have_the_order_of_the_query() {
    test(async |app| {
        app.has([product("a").supplier("North", "NO").price("1")])
            .await;
        let query = r#"query($skip: Boolean!) { z: product(slug: "a") { sku reviews(first: 1) { nodes { id } } name ...more kind @skip(if: $skip) alias: name
            ... on GenericProduct { price { currency amount } } sku } a: products { nodes { name } } units { symbol } }
            fragment more on Product { slug name supplier { supplier { country name } name } brand }"#;
        let answer = app.query(query).with("skip", true).await;
        assert_eq!(keys(answer.data()), ["z", "a", "units"]);
        assert_eq!(
            keys(answer.at("/z")),
            [
                "sku", "reviews", "name", "slug", "supplier", "brand", "alias", "price"
            ]
        );
        assert_eq!(keys(answer.at("/z/supplier")), ["supplier", "name"]);
        assert_eq!(keys(answer.at("/z/supplier/supplier")), ["country", "name"]);
        assert_eq!(keys(answer.at("/z/price")), ["currency", "amount"]);
    });
}

#[test]
fn aliases_select_one_field_several_times() {
    test(async |app| {
        app.has([product("a").quantity("width", 1.0, "in")]).await;
        let query = r#"{ product(slug: "a") { inches: spec(key: "width") { text } cm: spec(key: "width", displayUnit: "cm") { text } } }"#;
        insta::assert_snapshot!(app.query(query).await.pretty(), @r#"{ data: { product: { inches: { text: "1 in" }, cm: { text: "2.54 cm" } } } }"#);
        let conflict = r#"{ product(slug: "a") { spec(key: "width") { text } spec(key: "height") { text } } }"#;
        insta::assert_snapshot!(app.query(conflict).await.errors().join("\n"), @"GRAPHQL_VALIDATION_FAILED: operation must not provide conflicting field arguments for the same name `spec`");
    });
}

#[test]
fn a_failing_field_nulls_up_to_the_nearest_nullable_one() {
    test(async |app| {
        app.has([
            product("a").brand("Acme").price("1"),
            product("b").brand("Zeta").price("2"),
        ])
        .await;
        let nullable = app.query(r#"{ product(slug: "b") { name brand } products(sort: [{ key: PRICE }]) { nodes { name brand } } }"#);
        insta::assert_snapshot!(app.with_damaged("b", "brand", async { nullable.await }).await.pretty(), @r#"
        {
          errors: [
            {
              message: "The service failed to answer; the request id identifies the cause."
              locations: [{ line: 1, column: 29 }]
              path: ["product", "brand"]
              extensions: { code: "INTERNAL", retryable: false, requestId: "test" }
            }
            {
              message: "The service failed to answer; the request id identifies the cause."
              locations: [{ line: 1, column: 85 }]
              path: ["products", "nodes", 1, "brand"]
              extensions: { code: "INTERNAL", retryable: false, requestId: "test" }
            }
          ]
          data: {
            product: { name: "b", brand: null }
            products: { nodes: [{ name: "a", brand: "Acme" }, { name: "b", brand: null }] }
          }
        }
        "#);
        let required = app.query(r#"{ product(slug: "b") { slug name } products(sort: [{ key: PRICE }]) { nodes { slug name } } units { symbol } }"#);
        let required = app
            .with_damaged("b", "name", async { required.await })
            .await;
        insta::assert_snapshot!(required.errors().join("\n"), @r"
        INTERNAL at product.name: The service failed to answer; the request id identifies the cause.
        INTERNAL at products.nodes.1.name: The service failed to answer; the request id identifies the cause.
        ");
        assert_eq!(
            keys(&required.body()["data"]),
            ["product", "products", "units"]
        );
        assert!(
            required.body()["data"]["product"].is_null()
                && required.body()["data"]["products"].is_null()
        );
        assert!(
            required.body()["data"]["units"].is_array(),
            "what stands beside is not touched"
        );
    });
}

#[test]
fn errors_in_lists_carry_their_full_paths_and_each_field_has_one() {
    test(async |app| {
        app.has([
            product("a").price("1"),
            product("b").price("2"),
            product("c").price("3"),
        ])
        .await;
        let ids = app
            .query("{ products(sort: [{ key: PRICE }]) { nodes { id } } }")
            .await;
        let ids: Vec<String> = (0..3)
            .map(|n| ids.text(&format!("/products/nodes/{n}/id")))
            .collect();
        let nodes = app.query("query($ids: [ID!]!) { things: nodes(ids: $ids) { ... on Product { price { amount } first: ratingStats { count } second: ratingStats { average } } } }").with("ids", ids);
        let nodes = app.with_damaged("b", "stats", async { nodes.await }).await;
        insta::assert_snapshot!(nodes.pretty(), @r#"
        {
          errors: [
            {
              message: "The service failed to answer; the request id identifies the cause."
              locations: [{ line: 1, column: 84 }]
              path: ["things", 1, "first"]
              extensions: { code: "INTERNAL", retryable: false, requestId: "test" }
            }
          ]
          data: {
            things: [
              { price: { amount: "1.00" }, first: { count: 0 }, second: { average: null } }
              null
              { price: { amount: "3.00" }, first: { count: 0 }, second: { average: null } }
            ]
          }
        }
        "#);
    });
}

#[test]
fn an_internal_error_shows_only_the_request_id() {
    test(async |app| {
        app.has([product("secret name")]).await;
        let answer = app
            .with_damaged("secret-name", "name", async {
                app.query(r#"{ product(slug: "secret-name") { name } }"#)
                    .await
            })
            .await;
        insta::assert_snapshot!(answer.pretty(), @r#"
        {
          errors: [
            {
              message: "The service failed to answer; the request id identifies the cause."
              locations: [{ line: 1, column: 34 }]
              path: ["product", "name"]
              extensions: { code: "INTERNAL", retryable: false, requestId: "test" }
            }
          ]
          data: { product: null }
        }
        "#);
    });
}

#[test]
fn a_missing_category_fails_only_its_products() {
    test(async |app| {
        app.has([
            product("a").category(["Kept"]),
            product("b").category(["Lost"]),
        ])
        .await;
        let query = r#"{ a: product(slug: "a") { category { name } } b: product(slug: "b") { name category { name } } }"#;
        let products = app.direct().collection::<Document>("products");
        let before = products
            .find_one(doc! { "slug": "b" })
            .await
            .unwrap()
            .unwrap();
        let stray = before.get("_id").unwrap().clone();
        products
            .update_one(doc! { "slug": "b" }, doc! { "$set": { "category": stray } })
            .await
            .unwrap();
        let answer = app.query(query).await;
        products
            .update_one(
                doc! { "slug": "b" },
                doc! { "$set": { "category": before.get("category").unwrap().clone() } },
            )
            .await
            .unwrap();
        insta::assert_snapshot!(answer.errors().join("\n"), @"INTERNAL at b.category: The service failed to answer; the request id identifies the cause.");
        assert_eq!(answer.body()["data"]["a"]["category"]["name"], "Kept");
    });
}

/// Documents that are malformed, invalid, or contradict the schema.
const WRONG_REQUESTS: [&str; 13] = [
    "{",
    "",
    "{ nothing }",
    "{ product { name } product { sku } } fragment unused on Product { name }",
    "query A { units { symbol } } query B { units { symbol } }",
    "mutation { x }",
    "subscription { x }",
    "{ product(slug: 5) { name } }",
    "{ products(filter: { price: { gte: \"abc\" } }) { nodes { name } } }",
    "{ products(filter: { specs: [{ key: \"a\", text: { eq: \"x\", in: [\"y\"] } }] }) { nodes { name } } }",
    "{ products(first: 3000000000) { nodes { name } } }",
    "{ product(slug: \"a\") { specs } }",
    "{ products(filter: { specs: [{ key: \"a\", date: { gte: \"yesterday\" } }] }) { nodes { name } } }",
];

#[test]
fn a_wrong_request_runs_no_command() {
    test(async |app| {
        let mut lines = Vec::new();
        for query in WRONG_REQUESTS {
            let answer = app.query(query).await;
            answer.assert_commands(&[]);
            assert!(answer.body().get("data").is_none(), "{query}");
            lines.push(format!("{query}\n    {}", answer.errors().join("\n    ")));
        }
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {
            GRAPHQL_PARSE_FAILED: syntax error: expected at least one Selection in Selection Set
            GRAPHQL_PARSE_FAILED: syntax error: expected R_CURLY, got EOF

            GRAPHQL_PARSE_FAILED: syntax error: Unexpected <EOF>.
        { nothing }
            GRAPHQL_VALIDATION_FAILED: type `Query` does not have a field `nothing`
        { product { name } product { sku } } fragment unused on Product { name }
            GRAPHQL_VALIDATION_FAILED: fragment `unused` must be used in an operation
        query A { units { symbol } } query B { units { symbol } }
            BAD_USER_INPUT: The document has several operations; set operationName.
        mutation { x }
            GRAPHQL_VALIDATION_FAILED: type `Mutation` does not have a field `x`
        subscription { x }
            GRAPHQL_VALIDATION_FAILED: type `Subscription` does not have a field `x`
        { product(slug: 5) { name } }
            GRAPHQL_VALIDATION_FAILED: expected value of type String, found an integer
        { products(filter: { price: { gte: "abc" } }) { nodes { name } } }
            GRAPHQL_VALIDATION_FAILED: Not a value of type Decimal: not a decimal number such as 19.99.
        { products(filter: { specs: [{ key: "a", text: { eq: "x", in: ["y"] } }] }) { nodes { name } } }
            GRAPHQL_VALIDATION_FAILED: TextFilterInput takes exactly one field, which must not be null.
        { products(first: 3000000000) { nodes { name } } }
            GRAPHQL_VALIDATION_FAILED: int cannot represent non 32-bit signed integer value
        { product(slug: "a") { specs } }
            GRAPHQL_VALIDATION_FAILED: interface, union and object types must have a subselection set
        { products(filter: { specs: [{ key: "a", date: { gte: "yesterday" } }] }) { nodes { name } } }
            GRAPHQL_VALIDATION_FAILED: Not a value of type DateTime: not a date and time such as 2026-05-31T12:00:00Z.
        "#);
    });
}

#[test]
fn a_missing_or_mistyped_variable_is_refused_by_name() {
    test(async |app| {
        let required = app.query("query($id: ID!) { node(id: $id) { id } }").await;
        insta::assert_snapshot!(required.errors().join("\n"), @"BAD_USER_INPUT: $id: a value of type ID! is required.");
        let wrong = app
            .query("query($first: Int) { products(first: $first) { nodes { name } } }")
            .with("first", "ten")
            .await;
        insta::assert_snapshot!(wrong.errors().join("\n"), @"BAD_USER_INPUT: $first: not a value of type Int.");
    });
}

#[test]
fn document_bombs_are_refused_before_any_command() {
    test(async |app| {
        let nested = format!(
            "{{ product {}{}",
            "{ category ".repeat(100_000),
            "}".repeat(100_000)
        );
        let listed = format!(
            "{{ nodes(ids: {}{}) {{ id }} }}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let doubling = (0..40).fold("{ categories { ...f0 } }".to_owned(), |text, n| {
            format!("{text} fragment f{n} on Category {{ ...f{m} parent {{ ...f{m} }} children {{ ...f{m} }} }}", m = n + 1)
        }) + " fragment f40 on Category { name }";
        let circle = "{ categories { ...a } } fragment a on Category { children { ...b } } fragment b on Category { children { ...a } }".to_owned();
        let deep = format!(
            "{{ categories {{ {} name {} }} }}",
            "children { ".repeat(12),
            "}".repeat(12)
        );
        let aliases = format!(
            "{{ {} }}",
            (0..31)
                .map(|n| format!("u{n}: units {{ symbol }}"))
                .collect::<Vec<_>>()
                .join(" ")
        );
        let mut lines = Vec::new();
        for (what, bomb) in [
            ("nested", nested),
            ("listed", listed),
            ("doubling", doubling),
            ("circle", circle),
            ("deep", deep),
            ("aliases", aliases),
        ] {
            let answer = app.query(&bomb).await;
            answer.assert_commands(&[]);
            assert!(answer.body().get("data").is_none(), "{what}");
            lines.push(format!("{what}: {}", answer.errors()[0]));
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
        nested: COST_EXCEEDED: The document is longer than 20000 characters.
        listed: COST_EXCEEDED: The document is longer than 20000 characters.
        doubling: COST_EXCEEDED: The operation selects more than 10000 fields.
        circle: GRAPHQL_VALIDATION_FAILED: `a` fragment cannot reference itself
        deep: COST_EXCEEDED: Fields are nested 14 levels deep; the maximum is 12.
        aliases: COST_EXCEEDED: The document has 31 aliases; the maximum is 30.
        ");
    });
}
