//! Objects that other subgraphs refer to, by their keys.

use serde_json::{Value, json};
use vitrine_harness::{App, product, review, test};
use vitrine_model::id::{CategoryId, GlobalId, ProductId, ReviewId, SupplierId};
use vitrine_model::product::ProductStatus;

use super::{as_subgraph, entities};

/// What a router selects: the fields of the interface, and what belongs to the types.
const SELECTION: &str = "__typename ... on Product { id sku name } ... on Book { pages }
    ... on Review { rating product { name } } ... on Category { slug } ... on Supplier { country }";

/// A book with everything beside it that has a key, a thing, and a draft; their ids.
async fn stock(app: &App) -> Ids {
    let draft = product("c").status(ProductStatus::Draft);
    let book = product("a").kind("book").supplier("North", "NO");
    app.has([book, product("b"), draft]).await;
    app.has_reviews([review("a", 1, 5), review("b", 2, 3)])
        .await;
    let found = app
        .query(
            r#"{ a: product(slug: "a") { id sku category { id } supplier { supplierId } topReviews { reviewId } }
                 b: product(slug: "b") { id sku topReviews { reviewId } } c: product(slug: "c") { id sku } }"#,
        )
        .as_admin()
        .await;
    Ids(found.data().clone())
}

struct Ids(Value);

impl Ids {
    /// The representation of a product by a key.
    fn by(&self, name: &str, key: &str, of: &str) -> Value {
        json!({ "__typename": name, key: self.0[of][key] })
    }

    /// The representation of what stands at this place.
    fn at(&self, name: &str, pointer: &str) -> Value {
        json!({ "__typename": name, "id": self.0.pointer(pointer).unwrap() })
    }
}

#[test]
fn entities_come_in_the_order_of_their_representations() {
    test(async |app| {
        let ids = stock(app).await;
        let all = [
            ids.by("Product", "sku", "b"),
            ids.at("Review", "/a/topReviews/0/reviewId"),
            ids.by("Product", "id", "a"),
            ids.at("Supplier", "/a/supplier/supplierId"),
            ids.by("Book", "sku", "a"),
            ids.at("Category", "/a/category/id"),
            ids.by("GenericProduct", "id", "b"),
            ids.by("Product", "id", "b"),
        ];
        let found = entities(&as_subgraph(app), SELECTION, &all).await;
        insta::assert_snapshot!(found.pretty(), @r#"
        {
          data: {
            _entities: [
              { __typename: "GenericProduct", id: [random], sku: "feed:b", name: "b" }
              { __typename: "Review", rating: 5, product: { name: "a" } }
              { __typename: "Book", id: [random], sku: "feed:a", name: "a", pages: null }
              { __typename: "Supplier", country: "NO" }
              { __typename: "Book", id: [random], sku: "feed:a", name: "a", pages: null }
              { __typename: "Category", slug: "things" }
              { __typename: "GenericProduct", id: [random], sku: "feed:b", name: "b" }
              { __typename: "GenericProduct", id: [random], sku: "feed:b", name: "b" }
            ]
          }
        }
        "#);
    });
}

/// One command per type and key, however many representations there are.
#[test]
fn representations_share_commands() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        let names: Vec<String> = (0..100).map(|n| format!("p{n}")).collect();
        app.has(names.iter().map(|name| product(name))).await;
        let ids = stock(app).await;
        let app = as_subgraph(app);
        let page = app
            .query("{ products(first: 100) { nodes { id sku } } }")
            .await;
        let nodes = page.at("/products/nodes").as_array().unwrap().clone();
        let by = |key: &str| {
            let one = |node: &Value| json!({ "__typename": "Product", key: node[key] });
            nodes.iter().map(one).collect::<Vec<_>>()
        };
        let found = entities(&app, "... on Product { name }", &by("id")).await;
        found.assert_commands(&["find products"]);
        assert_eq!(found.at("/_entities").as_array().unwrap().len(), 100);
        let found = entities(&app, "... on Product { name }", &by("sku")).await;
        found.assert_commands(&["aggregate names"]);
        // The process remembers which product has which SKU.
        let found = entities(&app, "... on Product { name }", &by("sku")).await;
        found.assert_commands(&["find products"]);
        let found = found.at("/_entities").as_array().unwrap();
        assert!(found.iter().all(|product| product["name"].is_string()));

        let reviews =
            ["/a/topReviews/0/reviewId", "/b/topReviews/0/reviewId"].map(|at| ids.at("Review", at));
        let found = entities(&app, "... on Review { rating }", &reviews).await;
        found.assert_commands(&["aggregate reviews"]);
        let supplier = ids.at("Supplier", "/a/supplier/supplierId");
        let suppliers = [supplier.clone(), supplier];
        let found = entities(&app, "... on Supplier { name }", &suppliers).await;
        found.assert_commands(&["find suppliers"]);
        let category = ids.at("Category", "/a/category/id");
        let found = entities(&app, "... on Category { name path }", &[category]).await;
        found.assert_commands(&[]);
    });
}

/// Each name and each product is found by its `_id`.
#[test]
fn products_by_sku_are_found_by_index() {
    test(async |app| {
        let names: Vec<String> = (0..200).map(|n| format!("p{n}")).collect();
        app.has(names.iter().map(|name| product(name))).await;
        let by_sku =
            |name: &String| json!({ "__typename": "Product", "sku": format!("feed:{name}") });
        let some: Vec<Value> = names[50..150].iter().map(by_sku).collect();
        let app = as_subgraph(app);
        app.start_profiler().await;
        let asked = entities(&app, "... on Product { name }", &some);
        let (found, executed) = app.profile(asked).await;
        assert_eq!(found.text("/_entities/99/name"), "p149");
        let [executed] = executed.as_slice() else {
            panic!("one command: {executed:?}");
        };
        // The server skips the names between those that are asked for.
        assert!(
            executed.keys() <= 250 && executed.docs() == 200,
            "{executed:?}"
        );
    });
}

#[test]
fn what_does_not_exist_or_is_of_another_type_is_null() {
    test(async |app| {
        let ids = stock(app).await;
        let unknown = |name: &str, id: GlobalId| json!({ "__typename": name, "id": id.encode() });
        let product = ProductId::random();
        let all = [
            unknown("Product", GlobalId::Product(product)),
            json!({ "__typename": "Product", "sku": "nowhere" }),
            unknown("Review", GlobalId::Review(product, ReviewId::random())),
            unknown("Category", GlobalId::Category(CategoryId::random())),
            unknown("Supplier", GlobalId::Supplier(SupplierId::random())),
            ids.by("Movie", "id", "a"),
            ids.by("Book", "sku", "b"),
            ids.by("Product", "id", "a"),
        ];
        let found = entities(&as_subgraph(app), "__typename", &all).await;
        insta::assert_snapshot!(found.pretty(), @r#"{ data: { _entities: [null, null, null, null, null, null, null, { __typename: "Book" }] } }"#);
    });
}

#[test]
fn a_malformed_representation_is_named_and_spoils_no_other() {
    test(async |app| {
        let ids = stock(app).await;
        let all = [
            ids.by("Product", "id", "a"),
            json!("Product"),
            json!({ "id": "x" }),
            json!({ "__typename": "Product" }),
            ids.at("Product", "/a/category/id"),
            json!({ "__typename": "Review", "id": 7 }),
            json!({ "__typename": "SpecKey", "key": "color" }),
        ];
        let found = entities(&as_subgraph(app), "__typename", &all).await;
        insta::assert_snapshot!(found.errors().join("\n"), @r#"
        BAD_USER_INPUT at _entities.1: representations[1]: must be an object
        BAD_USER_INPUT at _entities.2: representations[2].__typename: is missing
        BAD_USER_INPUT at _entities.3: representations[3]: must have id or sku
        BAD_USER_INPUT at _entities.4: representations[4].id: not the id of a product
        BAD_USER_INPUT at _entities.5: representations[5].id: must be a string
        BAD_USER_INPUT at _entities.6: representations[6].__typename: not a type that this service has keys for
        "#);
        let data = &found.body()["data"]["_entities"];
        assert_eq!(data[0]["__typename"], "Book");
        assert!(data.as_array().unwrap()[1..].iter().all(Value::is_null));
        let literal =
            r#"{ _entities(representations: [{ __typename: "Supplier", id: 3 }]) { __typename } }"#;
        let found = as_subgraph(app).query(literal).await;
        insta::assert_snapshot!(found.errors().join("\n"), @"BAD_USER_INPUT at _entities.0: representations[0].id: must be a string");
    });
}

#[test]
fn at_most_a_hundred_entities_are_read_at_once() {
    test(async |app| {
        let ids = stock(app).await;
        let app = as_subgraph(app);
        let many = vec![ids.by("Product", "id", "a"); 101];
        let most = entities(&app, "__typename", &many[..100]).await;
        assert_eq!(most.at("/_entities").as_array().unwrap().len(), 100);
        let more = entities(&app, "__typename", &many).await;
        insta::assert_snapshot!(more.errors().join("\n"), @"BAD_USER_INPUT at _entities: representations: at most 100 at once, not 101");
        more.assert_commands(&[]);
        let none = entities(&app, "__typename", &[]).await;
        assert_eq!(none.at("/_entities"), &json!([]));
    });
}

/// As from `product(id)` and `node`.
#[test]
fn what_the_caller_may_not_see_is_null() {
    test(async |app| {
        let ids = stock(app).await;
        let archive =
            "mutation($id: ID!) { archiveProduct(input: { id: $id }) { userErrors { code } } }";
        let archive = app.query(archive).with("id", ids.0["b"]["id"].clone());
        let by_sku = [ids.by("Product", "sku", "b")];
        let app = as_subgraph(app);
        let before = entities(&app, "__typename", &by_sku).await;
        assert!(before.at("/_entities/0").is_object());
        let archived = archive.as_admin().await;
        assert_eq!(archived.at("/archiveProduct/userErrors"), &json!([]));
        let after = entities(&app, "__typename", &by_sku).await;
        assert!(after.at("/_entities/0").is_null());
        let all = [
            ids.by("Product", "id", "c"),
            ids.by("Product", "sku", "c"),
            ids.by("GenericProduct", "id", "b"),
            ids.at("Review", "/b/topReviews/0/reviewId"),
        ];
        let query = "query($all: [_Any!]!) { _entities(representations: $all) { __typename } }";
        let seen = app.query(query).with("all", all.to_vec()).await;
        assert_eq!(seen.at("/_entities"), &json!([null, null, null, null]));
        let seen = app.query(query).with("all", all.to_vec()).as_admin().await;
        let seen = seen.at("/_entities").as_array().unwrap();
        assert!(seen[..3].iter().all(Value::is_object), "{seen:?}");
    });
}

/// Every entity costs something, and pages below it are multiplied.
#[test]
fn entities_have_their_price() {
    test(async |app| {
        let ids = stock(app).await;
        let cost = async |count: usize, selection: &str| {
            let many = vec![ids.by("Product", "id", "a"); count];
            let app = as_subgraph(app);
            let found = entities(&app, selection, &many).await;
            found.cost()["requested"].as_u64().unwrap()
        };
        let name = "... on Product { id sku name }";
        let (one, all) = (cost(1, name).await, cost(100, name).await);
        assert!((50..100).contains(&one), "{one}");
        assert!((300..1_000).contains(&all), "{all}");
        let pages = "... on Product { reviews(first: 100) { nodes { body } } }";
        assert!(cost(100, pages).await > 10_000);
    });
}
