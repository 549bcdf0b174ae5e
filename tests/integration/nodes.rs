//! Look-ups by global ids: `node` and `nodes`.

use serde_json::{Value, json};
use vitrine_harness::{Answer, App, product, review, test};
use vitrine_model::id::{GlobalId, ProductId};

/// A book with everything beside it that has an id, and a thing; all their ids.
async fn book_and_thing(app: &App) -> Answer {
    app.has([
        product("a")
            .kind("book")
            .supplier("North", "NO")
            .text("color", "red"),
        product("b"),
    ])
    .await;
    app.has_reviews([review("a", 1, 5)]).await;
    app.query(r#"{ a: product(slug: "a") { id category { id } supplier { supplierId } topReviews { reviewId } } b: product(slug: "b") { id } specKey(key: "color") { id } }"#)
        .await
}

const NODES: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Product { name } ... on Book { pages } ... on Review { rating }
    ... on Category { slug } ... on Supplier { country } ... on SpecKey { type } } }";

#[test]
fn nodes_come_in_the_order_of_their_ids() {
    test(async |app| {
        let ids = book_and_thing(app).await;
        let id = |pointer: &str| ids.text(pointer);
        let all = vec![
            id("/b/id"),
            id("/specKey/id"),
            id("/a/topReviews/0/reviewId"),
            id("/a/id"),
            id("/a/category/id"),
            id("/a/supplier/supplierId"),
            id("/b/id"),
        ];
        let found = app.query(NODES).with("ids", all).await;
        insta::assert_snapshot!(found.pretty(), @r#"
        {
          data: {
            nodes: [
              { __typename: "GenericProduct", id: [random], name: "b" }
              { __typename: "SpecKey", id: [random], type: "TEXT" }
              { __typename: "Review", id: [random], rating: 5 }
              { __typename: "Book", id: [random], name: "a", pages: null }
              { __typename: "Category", id: [random], slug: "things" }
              { __typename: "Supplier", id: [random], country: "NO" }
              { __typename: "GenericProduct", id: [random], name: "b" }
            ]
          }
        }
        "#);
    });
}

#[test]
fn a_missing_node_is_null_and_a_malformed_id_an_error() {
    test(async |app| {
        let book = book_and_thing(app).await.text("/a/id");
        let missing = GlobalId::Product(ProductId::random()).encode();
        let ids = vec![book, missing, "x".to_owned(), String::new()];
        let strange = app.query(NODES).with("ids", ids).await;
        insta::assert_snapshot!(strange.pretty(), @r#"
        {
          errors: [
            {
              message: "id: not an id of this service"
              locations: [{ line: 1, column: 23 }]
              path: ["nodes", 2]
              extensions: { code: "BAD_USER_INPUT", retryable: false }
            }
            {
              message: "id: not an id of this service"
              locations: [{ line: 1, column: 23 }]
              path: ["nodes", 3]
              extensions: { code: "BAD_USER_INPUT", retryable: false }
            }
          ]
          data: { nodes: [{ __typename: "Book", id: [random], name: "a", pages: null }, null, null, null] }
        }
        "#);
    });
}

#[test]
fn at_most_a_hundred_nodes_are_read_at_once() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        app.has([product("a")]).await;
        let id = app
            .query(r#"{ product(slug: "a") { id } }"#)
            .await
            .text("/product/id");
        let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
        let most = app.query(query).with("ids", vec![id.clone(); 100]).await;
        most.assert_commands(&["find products"]);
        assert_eq!(most.at("/nodes").as_array().unwrap().len(), 100);
        let more = app.query(query).with("ids", vec![id; 101]).await;
        insta::assert_snapshot!(more.errors().join("\n"), @"BAD_USER_INPUT at nodes: ids: at most 100 at once, not 101");
        let none = app.query("{ nodes(ids: []) { id } }").await;
        none.assert_commands(&[]);
        assert_eq!(none.at("/nodes").as_array().unwrap().len(), 0);
    });
}

#[test]
fn fragments_on_interfaces_find_the_concrete_type() {
    test(async |app| {
        app.has([product("a").kind("book"), product("b").kind("gadget")])
            .await;
        let ids = app
            .query("{ products(sort: [{ key: NAME }]) { nodes { id } } }")
            .await;
        let ids = vec![
            ids.text("/products/nodes/0/id"),
            ids.text("/products/nodes/1/id"),
        ];
        let query = "query($ids: [ID!]!) { nodes(ids: $ids) { ...named ... on Node { __typename } ... on GenericProduct { kind } } }
            fragment named on Product { name ... on Node { id } ... on Book { format } }";
        insta::assert_snapshot!(app.query(query).with("ids", ids).await.pretty(), @r#"
        {
          data: {
            nodes: [
              { name: "a", id: [random], format: null, __typename: "Book" }
              { name: "b", id: [random], __typename: "GenericProduct", kind: "gadget" }
            ]
          }
        }
        "#);
    });
}

/// A copy in a product has other fields than what it was made from, and caches of clients know
/// objects by their ids.
#[test]
fn copies_in_a_product_have_ids_of_their_own() {
    test(async |app| {
        app.has([product("a").supplier("North", "NO")]).await;
        app.has_reviews([review("a", 1, 5)]).await;
        let query = r#"{ product(slug: "a") { supplier { id supplierId supplier { id } } topReviews { id reviewId } reviews(first: 1) { nodes { id } } } }"#;
        let page = app.query(query).await;
        let id = |pointer: &str| page.text(&format!("/product{pointer}"));
        let node = async |id: &str| {
            let found = app
                .query("query($id: ID!) { node(id: $id) { __typename id } }")
                .with("id", id)
                .await;
            assert!(found.errors().is_empty(), "{:?}", found.errors());
            found.at("/node").clone()
        };
        for (copy, original, kind) in [
            (id("/topReviews/0/id"), id("/reviews/nodes/0/id"), "Review"),
            (id("/supplier/id"), id("/supplier/supplier/id"), "Supplier"),
        ] {
            assert_ne!(copy, original);
            let expected = json!({ "__typename": kind, "id": original });
            assert_eq!(node(&original).await, expected);
            // It is a part of its product, and no node.
            assert_eq!(node(&copy).await, Value::Null);
        }
        assert_eq!(id("/topReviews/0/reviewId"), id("/reviews/nodes/0/id"));
        assert_eq!(id("/supplier/supplierId"), id("/supplier/supplier/id"));
    });
}

#[test]
fn admins_refetch_bulk_changes_and_count_them() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let input = json!({ "filter": {}, "change": { "brand": "Tarn" } });
        let started = app.mutate("startBulkChange", input).await;
        let id = started.text("/bulkChange/id");
        let query = "query($id: ID!) { node(id: $id) { __typename id ... on BulkChange { items(first: 1) { pageInfo { endCursor } } } } }";
        let found = app.query(query).with("id", id.clone()).as_admin().await;
        assert_eq!(found.text("/node/__typename"), "BulkChange");
        let stranger = app.query(query).with("id", id).await;
        assert_eq!(stranger.at("/node"), &Value::Null);
        let lists = r"query($of: ID!) { bulkChanges { totalCount { value relation } } history(id: $of) { totalCount { value } nodes { revision } } }";
        let product = app.query(r#"{ product(slug: "lamp") { id } }"#).await;
        let lists = app.query(lists).with("of", product.text("/product/id"));
        let lists = lists.as_admin().await;
        let one = json!({ "value": 1, "relation": "EXACT" });
        assert_eq!(lists.at("/bulkChanges/totalCount"), &one);
        let entries = lists.at("/history/nodes").as_array().unwrap().len();
        assert_eq!(
            lists.number("/history/totalCount/value"),
            i64::try_from(entries).unwrap()
        );
    });
}
