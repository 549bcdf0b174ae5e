//! Every query's commands to the database. A new N+1 breaks a test, not a customer.

use vitrine_harness::{App, product, review, test};

/// Everything that a product page shows, reviews in full apart.
const PAGE: &str = r#"{ product(slug: "monitor-1") {
    id kind sku slug name description brand status category { name path parent { name } }
    supplier { name country asOf } price { amount currency } media { url alt kind }
    specs(displayUnits: [{ unit: "cm" }]) { key label text qualifier value {
      ... on QuantityValue { value unit displayValue canonicalValue } } }
    spec(key: "screen_size") { text }
    ratingStats { count average histogram { rating count share } bayesianScore wilsonLowerBound
      recommendedShare dimensions { name average } asOf }
    topReviews(first: 10) { rating title excerpt truncated author { name } helpfulCount }
    isOutlier revision createdAt updatedAt
} }"#;

/// Twenty-five monitors of two suppliers in two categories, each with three reviews.
async fn seed(app: &App) {
    let monitor = |n: usize| {
        let supplier = if n.is_multiple_of(2) {
            "North"
        } else {
            "South"
        };
        let category = if n.is_multiple_of(3) {
            "Office"
        } else {
            "Gaming"
        };
        product(&format!("Monitor {n}"))
            .category(["Screens", category])
            .supplier(supplier, "DE")
            .price(&format!("{}.50", 100 + n))
            .quantity(
                "screen_size",
                20.0 + f64::from(u8::try_from(n).unwrap()),
                "in",
            )
            .text("color", if n.is_multiple_of(5) { "Red" } else { "Black" })
    };
    app.has((1..=25).map(monitor)).await;
    let reviews = |n: usize| {
        (1..=3).map(move |stars| review(&format!("Monitor {n}"), format!("{n}-{stars}"), stars))
    };
    app.has_reviews((1..=25).flat_map(reviews)).await;
}

#[test]
fn a_product_page_is_one_command() {
    test(async |app| {
        seed(app).await;
        let page = app.query(PAGE).await;
        page.commands(&["find products"]);
        assert_eq!(page.at("/product/topReviews").as_array().unwrap().len(), 3);
        let id = page.text("/product/id");
        let by_id = app
            .query("query($id: ID) { product(id: $id) { name specs { text } } }")
            .with("id", id);
        by_id.await.commands(&["find products"]);
        let by_sku = app
            .query(r#"{ product(sku: "feed:Monitor 2") { name } }"#)
            .await;
        by_sku.commands(&["find products"]);
        app.query(r#"{ product(slug: "nothing") { name } }"#)
            .await
            .commands(&["find products"]);
    });
}

#[test]
fn a_list_page_is_one_command() {
    test(async |app| {
        seed(app).await;
        let list = "{ products(first: 20) { nodes { name category { path } supplier { name } price { amount }
            specs { text } ratingStats { average } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
        let page = app.query(list).await;
        page.commands(&["find products"]);
        assert_eq!(page.names("/products").len(), 20);
        let with_top = "{ products(first: 20) { edges { cursor node { name topReviews(first: 3) { excerpt } } } } }";
        let page = app.query(with_top).await;
        page.commands(&["find products"]);
        assert_eq!(
            page.at("/products/edges/19/node/topReviews")
                .as_array()
                .unwrap()
                .len(),
            3
        );
        let filtered = r#"{ products(first: 4, sort: [{ key: PRICE }], filter: { category: ["screens"],
            specs: [{ key: "screen_size", number: { gte: 60, unit: "cm" } }, { key: "color", text: { eq: "red" } }] })
            { nodes { name } } }"#;
        app.query(filtered).await.commands(&["find products"]);
    });
}

#[test]
fn a_page_further_on_looks_back_only_when_asked() {
    test(async |app| {
        seed(app).await;
        let first = app
            .query("{ products(first: 10, sort: [{ key: NAME }]) { pageInfo { endCursor } } }")
            .await;
        let cursor = first.text("/products/pageInfo/endCursor");
        let next = "query($c: String) { products(first: 10, after: $c, sort: [{ key: NAME }]) { nodes { name } pageInfo { hasNextPage } } }";
        app.query(next)
            .with("c", cursor.clone())
            .await
            .commands(&["find products"]);
        let back = "query($c: String) { products(first: 10, after: $c, sort: [{ key: NAME }]) { pageInfo { hasPreviousPage hasNextPage } } }";
        let back = app.query(back).with("c", cursor).await;
        back.commands(&["find products", "find products"]);
        assert_eq!(*back.at("/products/pageInfo/hasPreviousPage"), true);
    });
}

#[test]
fn the_end_of_the_priced_products_costs_one_command_more() {
    test(async |app| {
        seed(app).await;
        app.has([product("Priceless")]).await;
        let by_price = |direction: &str| {
            format!(
                "{{ products(last: 3, sort: [{{ key: PRICE, direction: {direction} }}]) {{ nodes {{ name }} }} }}"
            )
        };
        let up = app.query(&by_price("ASCENDING")).await;
        up.commands(&["find products", "find products"]);
        assert_eq!(
            up.names("/products"),
            ["Monitor 24", "Monitor 25", "Priceless"]
        );
        app.query(&by_price("DESCENDING"))
            .await
            .commands(&["find products"]);
    });
}

#[test]
fn a_total_is_counted_when_it_is_selected() {
    test(async |app| {
        seed(app).await;
        let total = app
            .query("{ products(first: 1) { nodes { name } totalCount { value relation } } }")
            .await;
        total.commands(&["find products", "aggregate products"]);
        assert_eq!(*total.at("/products/totalCount/value"), 25);
    });
}

#[test]
fn what_cannot_match_is_not_looked_for() {
    test(async |app| {
        seed(app).await;
        let list = |filter: &str| {
            format!(
                "{{ products(filter: {filter}) {{ nodes {{ name }} totalCount {{ value }} pageInfo {{ hasNextPage hasPreviousPage }} }} }}"
            )
        };
        // Somebody else may have made what is not known here: one look at the version of the
        // reference data, and no more than one within fifty milliseconds.
        let unknown = app.query(&list(r#"{ category: ["no-such"] }"#)).await;
        unknown.commands(&["find settings"]);
        assert_eq!(unknown.names("/products"), [""; 0]);
        app.query(&list("{ or: [] }")).await.commands(&[]);
        app.query(&list("{ brand: [] }")).await.commands(&[]);
        app.query(&list(r#"{ specs: [{ key: "color", text: { in: [] } }] }"#))
            .await
            .commands(&[]);
        app.query(&list("{ status: [] }")).await.commands(&[]);
    });
}

#[test]
fn a_review_page_is_one_command() {
    test(async |app| {
        seed(app).await;
        let product = app
            .query(r#"{ product(slug: "monitor-1") { id } }"#)
            .await
            .text("/product/id");
        let page = r#"{ product(slug: "monitor-1") { name reviews(first: 2) {
            nodes { rating title body author { name } helpfulCount createdAt } pageInfo { hasNextPage endCursor }
            totalCount { value relation } } } }"#;
        let page = app.query(page).await;
        page.commands(&["find products", "find reviews"]);
        assert_eq!(*page.at("/product/reviews/totalCount/value"), 3);
        let cursor = page.text("/product/reviews/pageInfo/endCursor");
        let next = "query($id: ID, $c: String) { product(id: $id) { reviews(first: 2, after: $c) { nodes { rating } pageInfo { hasPreviousPage } } } }";
        let next = app.query(next).with("id", product).with("c", cursor).await;
        next.commands(&["find products", "find reviews", "find reviews"]);
        assert_eq!(*next.at("/product/reviews/pageInfo/hasPreviousPage"), true);
        let none = r#"{ product(slug: "monitor-1") { reviews(filter: { ratings: [] }) { nodes { rating } } } }"#;
        app.query(none).await.commands(&["find products"]);
    });
}

#[test]
fn nodes_are_one_command_per_type() {
    test(async |app| {
        seed(app).await;
        let ids = r"{ products(first: 3) { nodes { id supplier { id } category { id } topReviews(first: 2) { id } } } specKeys { nodes { id } } }";
        let ids = app.query(ids).await;
        let mut all = Vec::new();
        collect_ids(ids.data(), &mut all);
        assert_eq!(all.len(), 3 * 5 + 2);
        let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }";
        let found = app.query(nodes).with("ids", all.clone()).await;
        let mut sent = found.sent().to_vec();
        sent.sort();
        assert_eq!(
            sent,
            ["aggregate reviews", "find products", "find suppliers"]
        );
        let same: Vec<&str> = found
            .at("/nodes")
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["id"].as_str().unwrap())
            .collect();
        assert_eq!(same, all);
    });
}

fn collect_ids(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    serde_json::Value::String(id) if key == "id" => into.push(id.clone()),
                    _ => collect_ids(value, into),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_ids(item, into)),
        _ => {}
    }
}

#[test]
fn reviews_and_suppliers_of_a_list_are_batched() {
    test(async |app| {
        seed(app).await;
        let suppliers = "{ products(first: 20) { nodes { supplier { supplier { name } } } } }";
        app.query(suppliers)
            .await
            .commands(&["find products", "find suppliers"]);
        let products =
            r#"{ product(slug: "monitor-1") { reviews { nodes { product { name } } } } }"#;
        app.query(products)
            .await
            .commands(&["find products", "find reviews", "find products"]);
    });
}

#[test]
fn categories_are_in_memory_and_counted_together() {
    test(async |app| {
        seed(app).await;
        let tree = "{ categories { name path children { name parent { name } ancestors { name } } } units { symbol } specKeys { nodes { key } totalCount { value } } }";
        app.query(tree).await.commands(&[]);
        let counts = app
            .query("{ categories { productCount children { name productCount } } }")
            .await;
        counts.commands(&["aggregate products"]);
        insta::assert_snapshot!(counts.shown(), @r#"
        {
          data: {
            categories: [
              {
                productCount: 25
                children: [{ name: "Gaming", productCount: 17 }, { name: "Office", productCount: 8 }]
              }
            ]
          }
        }
        "#);
        app.query(r#"{ category(slug: "gaming") { name } specKey(key: "color") { label } }"#)
            .await
            .commands(&[]);
    });
}

#[test]
fn the_products_of_a_bundle_are_one_command() {
    test(async |app| {
        seed(app).await;
        let set = (1..=5).fold(product("Set"), |set, n| {
            set.item(&format!("Monitor {n}"), 2)
        });
        app.has([set]).await;
        let bundle = r#"{ product(slug: "set") { price { amount } ... on Bundle { items { quantity name price { amount } } } } }"#;
        app.query(bundle).await.commands(&["find products"]);
        let bundle = r#"{ product(slug: "set") { ... on Bundle { items { product { name specs { text } } } } } }"#;
        app.query(bundle)
            .await
            .commands(&["find products", "find products"]);
    });
}
