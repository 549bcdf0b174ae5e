//! Categories, suppliers, the spec dictionary and units.

use serde_json::{Value, json};
use vitrine_domain::products::Visibility;
use vitrine_harness::{App, product, test};

/// Products in a tree of categories of three levels, in which two have the same name.
async fn tree(app: &App) {
    app.has([
        product("a").category(["Home", "Kitchen", "Cups"]),
        product("b").category(["Home", "Bath"]),
        product("c").category(["Garden"]),
        product("d").category(["Garden", "Bath"]),
        product("e").category(["Home"]),
    ])
    .await;
}

/// Three levels of the tree of categories.
const TREE: &str = "{ categories { slug name path productCount parent { name } children { slug name path productCount parent { name } ancestors { name } children { slug path productCount } } } }";

#[test]
fn categories_are_a_tree_with_counts_of_products() {
    test(async |app| {
        tree(app).await;
        let tree = app.query(TREE).await;
        insta::assert_snapshot!(tree.pretty(), @r#"
        {
          data: {
            categories: [
              {
                slug: "garden"
                name: "Garden"
                path: ["Garden"]
                productCount: 2
                parent: null
                children: [
                  {
                    slug: "garden-bath"
                    name: "Bath"
                    path: ["Garden", "Bath"]
                    productCount: 1
                    parent: { name: "Garden" }
                    ancestors: [{ name: "Garden" }]
                    children: []
                  }
                ]
              }
              {
                slug: "home"
                name: "Home"
                path: ["Home"]
                productCount: 3
                parent: null
                children: [
                  {
                    slug: "bath"
                    name: "Bath"
                    path: ["Home", "Bath"]
                    productCount: 1
                    parent: { name: "Home" }
                    ancestors: [{ name: "Home" }]
                    children: []
                  }
                  {
                    slug: "kitchen"
                    name: "Kitchen"
                    path: ["Home", "Kitchen"]
                    productCount: 1
                    parent: { name: "Home" }
                    ancestors: [{ name: "Home" }]
                    children: [{ slug: "cups", path: ["Home", "Kitchen", "Cups"], productCount: 1 }]
                  }
                ]
              }
            ]
          }
        }
        "#);
    });
}

#[test]
fn a_category_is_found_by_its_slug() {
    test(async |app| {
        tree(app).await;
        let one = app.query(r#"{ category(slug: "cups") { name path ancestors { slug } } none: category(slug: "no-such") { name } }"#).await;
        insta::assert_snapshot!(one.pretty(), @r#"
        {
          data: {
            category: {
              name: "Cups"
              path: ["Home", "Kitchen", "Cups"]
              ancestors: [{ slug: "home" }, { slug: "kitchen" }]
            }
            none: null
          }
        }
        "#);
    });
}

#[test]
fn categories_are_the_same_when_their_folded_names_are() {
    test(async |app| {
        app.has([
            product("a").category(["Café"]),
            product("b").category(["CAFE "]),
            product("c").category(["cafe", "Café"]),
        ])
        .await;
        let tree = app
            .query("{ categories { slug name productCount children { slug name productCount } } }")
            .await;
        insta::assert_snapshot!(tree.pretty(), @r#"
        {
          data: {
            categories: [
              {
                slug: "cafe"
                name: "Café"
                productCount: 3
                children: [{ slug: "cafe-cafe", name: "Café", productCount: 1 }]
              }
            ]
          }
        }
        "#);
    });
}

#[test]
fn suppliers_are_the_same_when_their_folded_names_and_countries_are() {
    test(async |app| {
        app.has([
            product("a").supplier("Nörd", "SE"),
            product("b").supplier("NORD", "SE"),
        ])
        .await;
        let both = app.query("{ products(sort: [{ key: NAME }]) { nodes { supplier { supplierId name country supplier { id name country } } } } }").await;
        assert_eq!(
            both.text("/products/nodes/0/supplier/supplierId"),
            both.text("/products/nodes/1/supplier/supplierId")
        );
        insta::assert_snapshot!(both.pretty(), @r#"
        {
          data: {
            products: {
              nodes: [
                {
                  supplier: {
                    supplierId: [random]
                    name: "Nörd"
                    country: "SE"
                    supplier: { id: [random], name: "Nörd", country: "SE" }
                  }
                }
                {
                  supplier: {
                    supplierId: [random]
                    name: "Nörd"
                    country: "SE"
                    supplier: { id: [random], name: "Nörd", country: "SE" }
                  }
                }
              ]
            }
          }
        }
        "#);
        let id = both.text("/products/nodes/0/supplier/supplierId");
        let one = app
            .query("query($id: ID!) { supplier(id: $id) { name } }")
            .with("id", id)
            .await;
        one.assert_commands(&["find suppliers"]);
        let product = app
            .query(r#"{ product(slug: "a") { id } }"#)
            .await
            .text("/product/id");
        let wrong = app
            .query("query($id: ID!) { supplier(id: $id) { name } }")
            .with("id", product)
            .await;
        insta::assert_snapshot!(wrong.errors().join("\n"), @"BAD_USER_INPUT at supplier: id: not the id of a supplier");
    });
}

#[test]
fn a_key_is_defined_by_its_first_value() {
    test(async |app| {
        app.has([product("a")
            .quantity("screen_size", 27.0, "in")
            .text("color", "red")
            .number("ports", 2.0)
            .boolean("lid", true)
            .date("release", "2024-01-01")])
            .await;
        let keys = app.query("{ specKeys { nodes { key label type dimension baseUnit facetable filterable aliases } totalCount { value relation } } }").await;
        let nodes = keys.at("/specKeys/nodes").as_array().unwrap().iter();
        let nodes: Vec<String> = nodes.map(Value::to_string).collect();
        insta::assert_snapshot!(nodes.join("\n"), @r#"
        {"key":"color","label":"Color","type":"TEXT","dimension":null,"baseUnit":null,"facetable":true,"filterable":true,"aliases":[]}
        {"key":"lid","label":"Lid","type":"BOOLEAN","dimension":null,"baseUnit":null,"facetable":true,"filterable":true,"aliases":[]}
        {"key":"ports","label":"Ports","type":"NUMBER","dimension":null,"baseUnit":null,"facetable":true,"filterable":true,"aliases":[]}
        {"key":"release","label":"Release","type":"DATE","dimension":null,"baseUnit":null,"facetable":true,"filterable":true,"aliases":[]}
        {"key":"screen_size","label":"Screen size","type":"QUANTITY","dimension":"length","baseUnit":"mm","facetable":true,"filterable":true,"aliases":[]}
        "#);
        assert_eq!(
            keys.at("/specKeys/totalCount"),
            &json!({ "value": 5, "relation": "EXACT" })
        );
        let one = app
            .query(r#"{ specKey(key: "ports") { type } none: specKey(key: "no_such") { type } }"#)
            .await;
        insta::assert_snapshot!(one.pretty(), @r#"{ data: { specKey: { type: "NUMBER" }, none: null } }"#);
    });
}

/// A product with twenty-five spec keys.
async fn many_keys(app: &App) {
    let many = (0..25).fold(product("a"), |product, n| {
        product.number(&format!("key_{n:02}"), f64::from(n))
    });
    app.has([many]).await;
}

/// A query for a page of spec keys.
fn key_page(arguments: &str) -> String {
    format!(
        "{{ specKeys({arguments}) {{ nodes {{ key }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
    )
}

#[test]
fn spec_keys_come_in_pages_forwards_and_backwards() {
    test(async |app| {
        many_keys(app).await;
        let first = app.query(&key_page("first: 10")).await;
        let cursor = first.text("/specKeys/pageInfo/endCursor");
        let next = app
            .query(&key_page(&format!("first: 10, after: \"{cursor}\"")))
            .await;
        insta::assert_snapshot!(next.pretty(), @r#"
        {
          data: {
            specKeys: {
              nodes: [
                { key: "key_10" }
                { key: "key_11" }
                { key: "key_12" }
                { key: "key_13" }
                { key: "key_14" }
                { key: "key_15" }
                { key: "key_16" }
                { key: "key_17" }
                { key: "key_18" }
                { key: "key_19" }
              ]
              pageInfo: { hasNextPage: true, hasPreviousPage: true, startCursor: [random], endCursor: [random] }
            }
          }
        }
        "#);
        let back = app
            .query(&key_page(&format!("last: 3, before: \"{cursor}\"")))
            .await;
        insta::assert_snapshot!(back.pretty(), @r#"
        {
          data: {
            specKeys: {
              nodes: [{ key: "key_06" }, { key: "key_07" }, { key: "key_08" }]
              pageInfo: { hasNextPage: true, hasPreviousPage: true, startCursor: [random], endCursor: [random] }
            }
          }
        }
        "#);
    });
}

#[test]
fn a_page_of_spec_keys_may_be_the_last_or_of_default_size() {
    test(async |app| {
        many_keys(app).await;
        let last = app.query(&key_page("last: 2")).await;
        insta::assert_snapshot!(last.pretty(), @r#"
        {
          data: {
            specKeys: {
              nodes: [{ key: "key_23" }, { key: "key_24" }]
              pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: [random], endCursor: [random] }
            }
          }
        }
        "#);
        let usual = app.query("{ specKeys { nodes { key } } }").await;
        assert_eq!(usual.at("/specKeys/nodes").as_array().unwrap().len(), 20);
        let wrong = app.query("{ specKeys(first: 0) { nodes { key } } }").await;
        insta::assert_snapshot!(wrong.errors().join("\n"), @"BAD_USER_INPUT at specKeys: first: must be 1 to 100, not 0");
    });
}

#[test]
fn units_have_factors_and_offsets_that_convert() {
    test(async |app| {
        let units = app
            .query("{ units { symbol dimension factor offset ucum aliases } }")
            .await;
        let units = units.at("/units").as_array().unwrap();
        let by_symbol = |symbol: &str| units.iter().find(|unit| unit["symbol"] == symbol).unwrap();
        insta::assert_snapshot!(vitrine_harness::pretty(by_symbol("fl oz")), @r#"
        {
          symbol: "fl oz"
          dimension: "volume"
          factor: 29.5735295625
          offset: 0.0
          ucum: "[foz_us]"
          aliases: ["floz", "fl. oz.", "fl.oz.", "fluid ounce", "fluid ounces"]
        }
        "#);
        insta::assert_snapshot!(vitrine_harness::pretty(by_symbol("°F")), @r#"
        {
          symbol: "°F"
          dimension: "temperature"
          factor: 0.5555555555555556
          offset: -17.77777777777778
          ucum: "[degF]"
          aliases: ["fahrenheit", "degF", "ºF", "˚F", "° F", "deg F"]
        }
        "#);
    });
}

#[test]
fn other_processes_see_new_keys_and_categories_with_the_next_request() {
    test(async |app| {
        let other = app.other_process().await;
        app.has([product("a").category(["New"]).text("brand_new", "yes")])
            .await;
        assert!(
            other.reference().categories.by_slug("new").is_none(),
            "it has not read the reference data yet"
        );
        assert!(
            other
                .spec_key("brand_new", Visibility::Everything)
                .await
                .unwrap()
                .is_some()
        );
        assert!(
            other
                .reference_for_slug("new")
                .await
                .unwrap()
                .categories
                .by_slug("new")
                .is_some()
        );
    });
}
