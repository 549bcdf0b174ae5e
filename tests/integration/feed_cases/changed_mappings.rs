//! Mappings that change between two imports of one feed, while people have edited its products.

use serde_json::json;

use super::*;

const ROWS: &str = "id,name,w,tone,maker,price\n1,Arc,5,red,Tarn,10\n2,Clip,6,blue,Tarn,20\n";

const FIRST: &str = r#"
category = { value = "things" }
brand = "maker"
price = { amount = "price", currency = { value = "EUR" } }
[product.specs]
include = ["w", "tone"]
rename = { w = "weight_note" }
"#;

/// A spec of another name, one spec less, the brand from nowhere, and a description.
const SECOND: &str = r#"
category = { value = "things" }
description = { template = "Colour: {tone}" }
price = { amount = "price", currency = { value = "EUR" } }
[product.specs]
include = ["w"]
rename = { w = "net_weight" }
"#;

/// Sets specs and fields of the product with this id of the feed.
async fn edit(app: &App, n: u32, specs: Value, mut fields: Value) {
    let query = "query ($sku: String!) { product(sku: $sku) { id } }";
    let id = app.query(query).with("sku", format!("shop:{n}")).await;
    let id = id.text("/product/id");
    let set = json!({ "productId": id, "specs": specs });
    app.mutate("setSpecs", set).by("ann").await.done();
    fields["id"] = json!(id);
    app.mutate("updateProduct", fields).by("ann").await.done();
}

#[test]
fn a_changed_mapping_writes_what_it_says_anew_and_takes_back_the_rest() {
    test(async |app| {
        Feed::new(app, FIRST).import("shop.csv", ROWS).await;
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc in things
          brand: Tarn
          10.00 EUR
          weight_note = 5 (text)
          tone = red (text)
        Clip in things
          brand: Tarn
          20.00 EUR
          weight_note = 6 (text)
          tone = blue (text)
        ");
        let second = Feed::new(app, SECOND);
        assert_eq!(second.import("shop.csv", ROWS).await, "lines 2, updated 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc in things
          description: Colour: red
          10.00 EUR
          net_weight = 5 (text)
        Clip in things
          description: Colour: blue
          20.00 EUR
          net_weight = 6 (text)
        ");
        assert_eq!(
            second.import("shop.csv", ROWS).await,
            "lines 2, unchanged 2"
        );
        // And back.
        assert_eq!(
            Feed::new(app, FIRST).import("shop.csv", ROWS).await,
            "lines 2, updated 2"
        );
        insta::assert_snapshot!(answered(app).await[0], @"
        Arc in things
          brand: Tarn
          10.00 EUR
          weight_note = 5 (text)
          tone = red (text)
        ");
    });
}

#[test]
fn a_changed_mapping_leaves_what_people_have_edited() {
    test(async |app| {
        Feed::new(app, FIRST).import("shop.csv", ROWS).await;
        let note = json!([{ "key": "weight_note", "text": "5.5" }, { "key": "net_weight", "text": "4.9" }]);
        edit(app, 1, note, json!({ "description": "By hand." })).await;
        edit(
            app,
            2,
            json!([{ "key": "tone", "text": "navy" }]),
            json!({ "brand": "Tarn & Co" }),
        )
        .await;
        let second = Feed::new(app, SECOND);
        let said = second.import("shop.csv", ROWS).await;
        insta::assert_snapshot!(said, @"lines 2, updated 2, kept by people 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc in things
          description: By hand.
          10.00 EUR
          net_weight = 4.9 (text)
          weight_note = 5.5 (text)
        Clip in things
          brand: Tarn & Co
          description: Colour: blue
          20.00 EUR
          net_weight = 6 (text)
          tone = navy (text)
        ");
        let query = "{ products(sort: [{ key: NAME }]) { nodes { name overrides { field by feedValue } } } }";
        insta::assert_snapshot!(app.query(query).as_admin().await.pretty(), @r#"
        {
          data: {
            products: {
              nodes: [
                {
                  name: "Arc"
                  overrides: [
                    { field: "description", by: "ann", feedValue: "Colour: red" }
                    { field: "specs.net_weight", by: "ann", feedValue: "5" }
                    { field: "specs.weight_note", by: "ann", feedValue: null }
                  ]
                }
                {
                  name: "Clip"
                  overrides: [
                    { field: "brand", by: "ann", feedValue: null }
                    { field: "specs.tone", by: "ann", feedValue: null }
                  ]
                }
              ]
            }
          }
        }
        "#);
    });
}

#[test]
fn what_a_changed_mapping_takes_back_returns_to_another_feed() {
    test(async |app| {
        let lists = r#"
            version = 1
            system = "second"
            [product]
            external_id = "nr"
            sku = { template = "shop:{nr}" }
            brand = "by"
            [product.specs]
            include = ["tone", "fit"]
        "#;
        let whole = format!("{MAPPING}{FIRST}")
            .replace("[product]\n", "[product]\nowns = [\"brand\", \"specs\"]\n");
        Feed::of(app, &whole).import("shop.csv", ROWS).await;
        let other = Feed::of(app, lists);
        let said = other
            .import(
                "list.csv",
                "nr,by,tone,fit\n1,Importer,crimson,any\n2,Importer,azure,any\n",
            )
            .await;
        assert_eq!(said, "lines 2, updated 2");
        let before = answered(app).await;
        assert!(
            before[0].contains("brand: Tarn") && before[0].contains("tone = red"),
            "{before:?}"
        );
        edit(
            app,
            2,
            json!([{ "key": "tone", "text": "navy" }]),
            json!({ "brand": "Mine" }),
        )
        .await;
        let said = Feed::new(app, SECOND).import("shop.csv", ROWS).await;
        assert_eq!(said, "lines 2, updated 2, kept by people 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc in things
          brand: Importer
          description: Colour: red
          10.00 EUR
          net_weight = 5 (text)
          tone = crimson (text)
          fit = any (text)
        Clip in things
          brand: Mine
          description: Colour: blue
          20.00 EUR
          net_weight = 6 (text)
          tone = navy (text)
          fit = any (text)
        ");
    });
}

#[test]
fn a_mapping_that_begins_to_say_the_status_leaves_one_that_a_person_has_set() {
    test(async |app| {
        Feed::new(app, FIRST).import("shop.csv", ROWS).await;
        let arc = app.query(r#"{ product(sku: "shop:1") { id } }"#).await;
        let archive = json!({ "id": arc.text("/product/id") });
        app.mutate("archiveProduct", archive).by("ann").await.done();
        let with_status = FIRST.replace("brand =", "status = { value = \"draft\" }\nbrand =");
        let said = Feed::new(app, &with_status).import("shop.csv", ROWS).await;
        assert_eq!(said, "lines 2, updated 2, kept by people 1");
        let query = "{ products(sort: [{ key: NAME }], filter: { status: [ACTIVE, DRAFT, ARCHIVED] }) { nodes { status } } }";
        let shown = app.query(query).as_admin().await;
        assert_eq!(
            *shown.at("/products/nodes"),
            json!([{ "status": "ARCHIVED" }, { "status": "DRAFT" }])
        );
    });
}
