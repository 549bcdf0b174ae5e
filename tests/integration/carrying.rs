//! What is carried to products after the order itself is answered: the names of suppliers.

use mongodb::bson::{Document, doc};
use serde_json::json;
use vitrine_domain::propagation::PropagationUpkeep;
use vitrine_harness::{App, product, test};

async fn products_with(app: &App, filter: Document) -> u64 {
    let products = app.direct().collection::<Document>("products");
    products.count_documents(filter).await.unwrap()
}

#[test]
fn a_renamed_supplier_is_carried_to_its_products_past_edits() {
    test(async |app| {
        let stock = (0..250).map(|n| product(&format!("p{n}")).supplier("North", "DE"));
        app.has(stock).await;
        app.has([product("other").supplier("South", "DE")]).await;
        let ids = app
            .query(r#"{ a: product(slug: "p0") { id supplier { id } } }"#)
            .await;
        let supplier = ids.text("/a/supplier/id");
        let rename = json!({ "id": supplier, "name": "Norden", "country": "AT" });
        app.order("updateSupplier", rename).await.done();
        // Edits meanwhile, in another process too.
        let other = app.other_process().await;
        let mut upkeep = [PropagationUpkeep::default(), PropagationUpkeep::default()];
        let [one, two] = &mut upkeep;
        let edit = async {
            for n in 0..20 {
                let brand = json!({ "id": ids.text("/a/id"), "brand": format!("Brand {n}") });
                app.order("updateProduct", brand).await.done();
            }
        };
        let (one, two, ()) = tokio::join!(
            app.catalog.propagate_suppliers(one),
            other.propagate_suppliers(two),
            edit
        );
        println!("{one:?} {two:?}");
        let mut last = PropagationUpkeep::default();
        app.catalog.propagate_suppliers(&mut last).await.unwrap();
        let carried = doc! { "supplier.name": "Norden", "supplier.country": "AT" };
        assert_eq!(products_with(app, carried).await, 250);
        let seen = app
            .query(r#"{ product(slug: "p0") { brand supplier { name } } products(filter: { country: ["AT"] }) { totalCount { value } } }"#)
            .await;
        assert_eq!(seen.text("/product/brand"), "Brand 19");
        assert_eq!(seen.text("/product/supplier/name"), "Norden");
        assert_eq!(seen.number("/products/totalCount/value"), 250);
        assert_eq!(app.catalog.propagate_suppliers(&mut last).await.unwrap(), 0);
    });
}

#[test]
fn what_cannot_be_read_keeps_no_other_product_from_being_carried() {
    test(async |app| {
        let names = ["One", "Two", "Three", "Four"];
        let of = ["North", "South", "North", "South"];
        let stock = names.into_iter().zip(of).map(|(name, supplier)| {
            let key = if supplier == "North" {
                "colour"
            } else {
                "farbe"
            };
            product(name).supplier(supplier, "DE").text(key, "Red")
        });
        app.has(stock).await;
        let suppliers = app.query("{ suppliers { nodes { id name } } }").await;
        for at in 0..2 {
            let id = suppliers.text(&format!("/suppliers/nodes/{at}/id"));
            let renamed = format!(
                "{} & Co",
                suppliers.text(&format!("/suppliers/nodes/{at}/name"))
            );
            let input = json!({ "id": id, "name": renamed });
            app.order("updateSupplier", input).await.done();
        }
        for (from, into) in [("colour", "color"), ("farbe", "shade")] {
            let key = json!({ "key": into, "type": "TEXT" });
            app.order("defineSpecKey", key).await.done();
            let merge = json!({ "from": from, "into": into });
            app.order("mergeSpecKeys", merge).await.done();
        }
        let mut upkeep = PropagationUpkeep::default();
        let carry = async |upkeep: &mut PropagationUpkeep| {
            let renames = app.catalog.propagate_suppliers(upkeep).await;
            (renames.is_ok(), app.catalog.continue_merges().await.is_ok())
        };
        let told = app
            .with_damaged("one", "name", Box::pin(carry(&mut upkeep)))
            .await;
        assert_eq!(told, (false, false));
        assert_eq!(
            products_with(
                app,
                doc! { "supplier.name": "South & Co", "specs.k": "shade" }
            )
            .await,
            2
        );
        assert_eq!(carry(&mut upkeep).await, (true, true));
        assert_eq!(
            products_with(
                app,
                doc! { "supplier.name": "North & Co", "specs.k": "color" }
            )
            .await,
            2
        );
    });
}
