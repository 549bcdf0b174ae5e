//! Which suppliers products of feeds have: by the id in their source, otherwise by name and country.

use serde_json::{Value, json};
use vitrine_domain::import::{ImportMode, ImportSummary};
use vitrine_domain::workers::Worker;
use vitrine_harness::{App, ProductBuilder, product, test};
use vitrine_model::import::LineOutcome;

async fn import(app: &App, drafts: Vec<ProductBuilder>) -> (Vec<LineOutcome>, ImportSummary) {
    let drafts = drafts.into_iter().map(Into::into).collect();
    let mut session = app.catalog.import(ImportMode::Write);
    let outcomes = session.products(drafts).await.unwrap();
    let summary = session.finish().await.unwrap();
    app.catalog.work_off(Worker::Suppliers).await.unwrap();
    (outcomes, summary)
}

/// Name and country of the supplier of each product, by the name of the product.
async fn suppliers(app: &App) -> Vec<Value> {
    let page = app
        .query("{ products(first: 50, sort: [{ key: NAME }]) { nodes { name supplier { name country } } } }")
        .await;
    let nodes = page.at("/products/nodes").as_array().unwrap().clone();
    let pair = |node: Value| {
        let supplier = &node["supplier"];
        json!([node["name"], supplier["name"], supplier["country"]])
    };
    nodes.into_iter().map(pair).collect()
}

/// All suppliers as admins see them.
async fn all(app: &App) -> Value {
    let page = app
        .query("{ suppliers(first: 50) { nodes { name country source { system externalId } } } }")
        .as_admin()
        .await;
    page.at("/suppliers/nodes").clone()
}

fn with_id(name: &str, id: &str, supplier: (&str, &str)) -> ProductBuilder {
    product(name)
        .supplier(supplier.0, supplier.1)
        .supplier_id(id)
}

#[test]
fn ids_of_a_source_tell_suppliers_of_one_name_apart() {
    test(async |app| {
        let lines = || {
            vec![
                with_id("a", "1", ("North", "DE")),
                with_id("b", "2", ("North", "FR")),
                with_id("c", "3", ("North", "DE")),
                product("d").supplier("North", "DE"),
                product("e")
                    .source("other", "e")
                    .supplier("North", "DE")
                    .supplier_id("1"),
            ]
        };
        let (outcomes, summary) = import(app, lines()).await;
        assert_eq!(outcomes, vec![LineOutcome::Created; 5]);
        assert_eq!(summary.new_suppliers, ["North"; 5]);
        let source = |system: &str, id: &str| json!({ "system": system, "externalId": id });
        let mut shown: Vec<String> = all(app)
            .await
            .as_array()
            .unwrap()
            .iter()
            .map(|one| format!("{} {}", one["country"], one["source"]))
            .collect();
        shown.sort();
        let mut expected = vec![
            format!("\"DE\" {}", Value::Null),
            format!("\"DE\" {}", source("feed", "1")),
            format!("\"FR\" {}", source("feed", "2")),
            format!("\"DE\" {}", source("feed", "3")),
            format!("\"DE\" {}", source("other", "1")),
        ];
        expected.sort();
        assert_eq!(shown, expected);
        let (outcomes, summary) = import(app, lines()).await;
        assert_eq!(outcomes, vec![LineOutcome::Unchanged; 5]);
        assert_eq!(summary, ImportSummary::default());
    });
}

#[test]
fn only_admins_see_the_source_of_a_supplier() {
    test(async |app| {
        app.has([with_id("a", "1", ("North", "DE"))]).await;
        let page = app
            .query("{ suppliers { nodes { source { externalId } } } }")
            .await;
        assert_eq!(page.at("/suppliers/nodes/0/source"), &Value::Null);
    });
}

#[test]
fn without_ids_each_product_has_the_supplier_that_its_line_says() {
    test(async |app| {
        let lines = [
            product("a").supplier("North", "DE"),
            product("b").supplier("NÖRTH", "FR"),
            product("c").supplier("north", "DE"),
        ];
        let (_, summary) = import(app, lines[..1].to_vec()).await;
        assert_eq!(summary.namesakes, []);
        let (_, summary) = import(app, lines.to_vec()).await;
        assert_eq!(
            json!(summary.namesakes),
            json!([{ "new": { "name": "NÖRTH", "country": "FR" },
                "stored": [{ "name": "North", "country": "DE" }] }])
        );
        assert_eq!(
            suppliers(app).await,
            [
                json!(["a", "North", "DE"]),
                json!(["b", "NÖRTH", "FR"]),
                json!(["c", "North", "DE"]),
            ]
        );
    });
}

#[test]
fn the_order_of_feeds_does_not_matter_for_suppliers() {
    test(async |app| {
        let feeds = |sku: &str| {
            [
                product("Lamp")
                    .source("a", sku)
                    .sku(sku)
                    .supplier("North", "DE"),
                product("Lamp")
                    .source("b", sku)
                    .sku(sku)
                    .supplier("North", "FR"),
                with_id("Lamp", "7", ("North", "SE"))
                    .source("c", sku)
                    .sku(sku),
            ]
        };
        for (case, order) in [[0, 1, 2], [2, 1, 0], [1, 2, 0]].into_iter().enumerate() {
            let sku = format!("S{case}");
            for feed in order {
                import(app, vec![feeds(&sku)[feed].clone()]).await;
            }
        }
        let found = suppliers(app).await;
        assert_eq!(found, vec![json!(["Lamp", "North", "DE"]); 3]);
        assert_eq!(all(app).await.as_array().unwrap().len(), 3);
    });
}

#[test]
fn a_supplier_with_an_id_follows_its_source_but_not_over_an_admin() {
    test(async |app| {
        let line = |supplier: (&str, &str)| with_id("a", "1", supplier);
        import(app, vec![line(("North", "DE"))]).await;
        import(app, vec![line(("Nord", "DE"))]).await;
        assert_eq!(suppliers(app).await, [json!(["a", "Nord", "DE"])]);
        let found = app.query("{ suppliers { nodes { id } } }").await;
        let id = found.text("/suppliers/nodes/0/id");
        app.mutate("updateSupplier", json!({ "id": id, "country": "AT" }))
            .await
            .done();
        // The feed says the same of the supplier as before.
        import(app, vec![line(("Nord", "DE")).price("2")]).await;
        assert_eq!(suppliers(app).await, [json!(["a", "Nord", "AT"])]);
        import(app, vec![line(("Norden", "DE"))]).await;
        assert_eq!(suppliers(app).await, [json!(["a", "Norden", "AT"])]);
        import(app, vec![line(("Norden", "SE"))]).await;
        assert_eq!(suppliers(app).await, [json!(["a", "Norden", "SE"])]);
    });
}

#[test]
fn the_first_line_says_what_a_supplier_with_an_id_is() {
    test(async |app| {
        let lines = |price: &str| {
            vec![
                with_id("a", "1", ("North", "DE")),
                with_id("b", "1", ("Nord", "FR")).price(price),
            ]
        };
        let both = [json!(["a", "North", "DE"]), json!(["b", "North", "DE"])];
        import(app, lines("1")).await;
        assert_eq!(suppliers(app).await, both);
        // Only the second line has changed.
        let (outcomes, _) = import(app, lines("2")).await;
        assert_eq!(outcomes, [LineOutcome::Unchanged, LineOutcome::Updated]);
        assert_eq!(suppliers(app).await, both);
    });
}

#[test]
fn feeds_find_a_supplier_that_an_admin_has_renamed() {
    test(async |app| {
        import(app, vec![product("a").supplier("North", "DE")]).await;
        let found = app.query("{ suppliers { nodes { id } } }").await;
        let id = found.text("/suppliers/nodes/0/id");
        let change = json!({ "id": id, "name": "Norden", "country": "AT" });
        app.mutate("updateSupplier", change).await.done();
        let (_, summary) = import(app, vec![product("b").supplier("North", "DE")]).await;
        assert_eq!(summary.new_suppliers, [""; 0]);
        assert_eq!(
            suppliers(app).await,
            [json!(["a", "Norden", "AT"]), json!(["b", "Norden", "AT"])]
        );
    });
}

#[test]
fn an_id_of_a_supplier_is_bounded() {
    test(async |app| {
        let (outcomes, _) = import(app, vec![with_id("a", &"x".repeat(129), ("N", "DE"))]).await;
        let LineOutcome::Rejected(reasons) = &outcomes[0] else {
            panic!("{outcomes:?}");
        };
        assert_eq!(reasons[0].field, "supplier.id");
        assert_eq!(
            reasons[0].reason,
            "129 bytes; 1 to 128 with a visible character are possible"
        );
    });
}
