//! Propagation to copies after the mutation has been answered: suppliers to products, products to
//! bundles.

use mongodb::bson::{Document, doc};
use serde_json::json;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{App, product, test};
use vitrine_model::clock::Clock as _;
use vitrine_model::id::GlobalId;
use vitrine_model::worker::WorkerRun;

async fn products_with(app: &App, filter: Document) -> u64 {
    let products = app.direct().collection::<Document>("products");
    products.count_documents(filter).await.unwrap()
}

#[test]
fn a_renamed_supplier_is_propagated_to_products_while_they_are_edited() {
    test(async |app| {
        let stock = (0..250).map(|n| product(&format!("p{n}")).supplier("North", "DE"));
        app.has(stock).await;
        app.has([product("other").supplier("South", "DE")]).await;
        let ids = app
            .query(r#"{ a: product(slug: "p0") { id supplier { supplierId } } }"#)
            .await;
        let supplier = ids.text("/a/supplier/supplierId");
        let rename = json!({ "id": supplier, "name": "Norden", "country": "AT" });
        app.mutate("updateSupplier", rename).await.done();
        // Concurrent edits, also in another process.
        let other = app.other_process().await;
        let edit = async {
            for n in 0..20 {
                let brand = json!({ "id": ids.text("/a/id"), "brand": format!("Brand {n}") });
                app.mutate("updateProduct", brand).await.done();
            }
        };
        let (one, two, ()) = tokio::join!(
            app.catalog.work_off(Worker::Suppliers),
            other.work_off(Worker::Suppliers),
            edit
        );
        assert!(one.unwrap() + two.unwrap() >= 250);
        // A product that was edited at that moment may have missed it.
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        let carried = doc! { "supplier.name": "Norden", "supplier.country": "AT" };
        assert_eq!(products_with(app, carried).await, 250);
        let seen = app
            .query(r#"{ product(slug: "p0") { brand supplier { name } } products(filter: { country: ["AT"] }) { totalCount { value } } }"#)
            .await;
        assert_eq!(seen.text("/product/brand"), "Brand 19");
        assert_eq!(seen.text("/product/supplier/name"), "Norden");
        assert_eq!(seen.number("/products/totalCount/value"), 250);
        assert_eq!(app.catalog.work_off(Worker::Suppliers).await.unwrap(), 0);
    });
}

#[test]
fn an_unreadable_product_does_not_block_propagation_to_others() {
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
            app.mutate("updateSupplier", input).await.done();
        }
        for (from, into) in [("colour", "color"), ("farbe", "shade")] {
            let key = json!({ "key": into, "type": "TEXT" });
            app.mutate("defineSpecKey", key).await.done();
            let merge = json!({ "from": from, "into": into });
            app.mutate("mergeSpecKeys", merge).await.done();
        }
        let carry = async || {
            let renames = app.catalog.work_off(Worker::Suppliers).await;
            (renames.is_ok(), app.catalog.continue_merges().await.is_ok())
        };
        let outcome = app.with_damaged("one", "name", Box::pin(carry())).await;
        assert_eq!(outcome, (false, false));
        assert_eq!(
            products_with(
                app,
                doc! { "supplier.name": "South & Co", "specs.k": "shade" }
            )
            .await,
            2
        );
        assert_eq!(carry().await, (true, true));
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

/// The items and the price of a bundle, as its page shows them.
async fn bundle(app: &App) -> serde_json::Value {
    let query = "{ product(slug: \"set\") { revision price { amount } ... on Bundle { items { name quantity asOf price { amount } } } } }";
    app.query(query).as_admin().await.at("/product").clone()
}

#[test]
fn names_and_prices_are_propagated_to_bundles() {
    test(async |app| {
        app.has([
            product("Lamp").price("10.00"),
            product("Bulb").price("2.50"),
            product("Set").item("Lamp", 1).item("Bulb", 4),
        ])
        .await;
        app.run_background_work().await;
        let ids = app
            .query("{ lamp: product(slug: \"lamp\") { id } bulb: product(slug: \"bulb\") { id } set: product(slug: \"set\") { id } }")
            .await;
        app.clock.advance(60_000);
        let change = json!({ "id": ids.text("/bulb/id"), "name": "Good bulb", "price": { "amount": "3.00" } });
        app.mutate("updateProduct", change).await.done();
        // The page of a bundle is one look-up, so for a moment it shows its copies.
        assert_eq!(bundle(app).await["price"]["amount"], "20.00");
        assert_eq!(app.catalog.work_off(Worker::Bundles).await.unwrap(), 1);
        let seen = bundle(app).await;
        assert_eq!(
            seen,
            json!({
                "revision": 1,
                "price": { "amount": "22.00" },
                "items": [
                    { "name": "Lamp", "quantity": 1, "asOf": "2026-05-31T12:00:00.000Z", "price": { "amount": "10.00" } },
                    { "name": "Good bulb", "quantity": 4, "asOf": "2026-05-31T12:01:00.000Z", "price": { "amount": "3.00" } },
                ],
            })
        );
        let list =
            "{ products(filter: { price: { gte: \"22\", lte: \"22\" } }) { nodes { name } } }";
        assert_eq!(app.query(list).await.names("/products"), ["Set"]);
        // A field that is not copied marks nothing as stale.
        let brand = json!({ "id": ids.text("/lamp/id"), "brand": "Bright" });
        app.mutate("updateProduct", brand).await.done();
        assert!(app.documents("stale_copies", doc! {}).await.is_empty());
        // Shoppers do not see an item that is off sale.
        let archive = json!({ "id": ids.text("/lamp/id") });
        app.mutate("archiveProduct", archive).await.done();
        app.run_background_work().await;
        let items = "{ product(slug: \"set\") { ... on Bundle { items { name } } } }";
        let items = app.query(items).await.at("/product/items").clone();
        assert_eq!(items, json!([{ "name": "Good bulb" }]));
        // The price of the set would disclose that of the item; a filter would, too.
        assert_eq!(bundle(app).await["price"], json!(null));
        let priced = "{ products(filter: { price: { gte: \"20\" } }) { nodes { name } } }";
        assert_eq!(app.query(priced).await.names("/products"), [""; 0]);
        assert!(app.documents("stale_copies", doc! {}).await.is_empty());
        assert_eq!(app.catalog.work_off(Worker::Bundles).await.unwrap(), 0);
        let restore = json!({ "id": ids.text("/lamp/id") });
        app.mutate("restoreProduct", restore).await.done();
        app.run_background_work().await;
        assert_eq!(bundle(app).await["price"]["amount"], "22.00");
    });
}

#[test]
fn a_stale_bundle_without_a_mark_is_found() {
    test(async |app| {
        app.has([
            product("Lamp").price("10.00"),
            product("Set").item("Lamp", 2),
        ])
        .await;
        app.run_background_work().await;
        let lamp = app.query("{ product(slug: \"lamp\") { id } }").await;
        let price = json!({ "id": lamp.text("/product/id"), "price": { "amount": "11.00" } });
        app.mutate("updateProduct", price).await.done();
        // As an earlier release wrote, without marking copies as stale.
        let due = app.direct().collection::<Document>("stale_copies");
        due.delete_many(doc! {}).await.unwrap();
        let mut maintenance = MaintenanceState::default();
        let run = app.catalog.work(Worker::Bundles, &mut maintenance).await;
        assert_eq!(
            run.unwrap(),
            WorkerRun {
                done: 1,
                backlog: 0,
                ..WorkerRun::default()
            }
        );
        assert_eq!(bundle(app).await["price"]["amount"], "22.00");
        // The search is not repeated at once.
        app.forget_commands();
        app.catalog
            .work(Worker::Bundles, &mut maintenance)
            .await
            .unwrap();
        assert_eq!(app.sent(), ["find stale_copies"]);
    });
}

#[test]
fn a_paused_worker_propagates_no_older_name() {
    test(async |app| {
        let stock = (0..5).map(|n| product(&format!("p{n}")).supplier("North", "DE"));
        app.has(stock).await;
        let store = app.store();
        let id = app.query("{ suppliers { nodes { id } } }").await;
        let id = id.text("/suppliers/nodes/0/id");
        let rename = async |name: &str, country: &str| {
            let input = json!({ "id": id, "name": name, "country": country });
            app.mutate("updateSupplier", input).await.done();
            let Ok(GlobalId::Supplier(id)) = GlobalId::decode(&id) else {
                panic!("an id of a supplier")
            };
            store.get_supplier(id).await.unwrap().unwrap()
        };
        // It has read the supplier and is paused before it writes. Its lease has expired, and
        // another worker has propagated a newer name, to some products or to all.
        let slept = rename("Norden", "AT").await;
        let newer = rename("Nord", "CH").await;
        for most in [2, 100] {
            store
                .propagate_supplier(&newer, app.clock.now(), most)
                .await
                .unwrap();
            let before = products_with(app, doc! { "supplier.name": "Nord" }).await;
            assert_eq!(before, u64::from(most.min(5)));
            store
                .propagate_supplier(&slept, app.clock.now(), 100)
                .await
                .unwrap();
            let carried = doc! { "supplier.name": "Nord", "supplier.country": "CH" };
            assert_eq!(products_with(app, carried).await, before);
        }
        store.mark_supplier_propagated(&slept).await.unwrap();
        app.run_background_work().await;
        let all = doc! { "supplier.name": "Nord", "supplier.country": "CH", "supplier.v": 3_i64 };
        assert_eq!(products_with(app, all).await, 5);
    });
}

#[test]
fn bundles_follow_concurrent_writers() {
    test(async |app| {
        let parts = (0..6).map(|n| product(&format!("Part {n}")).price("1.00"));
        app.has(parts).await;
        let sets = (0..40).map(|n| {
            product(&format!("Set {n}"))
                .item(&format!("Part {}", n % 6), 1)
                .item(&format!("Part {}", (n + 1) % 6), 2)
        });
        let part = app.query("{ product(slug: \"part-0\") { id } }").await;
        let part = part.text("/product/id");
        let prices = async {
            for n in 1..30 {
                let price = json!({ "id": part, "price": { "amount": format!("{n}.00") } });
                app.mutate("updateProduct", price).await.done();
            }
        };
        let other = app.other_process().await;
        let work = async {
            for _ in 0..10 {
                let (one, two) = tokio::join!(
                    app.catalog.work_off(Worker::Bundles),
                    other.work_off(Worker::Bundles)
                );
                assert!(one.is_ok() && two.is_ok());
            }
        };
        tokio::join!(app.has(sets), prices, work);
        app.run_background_work().await;
        // The audit compares every item with its product.
        let with = doc! { "details.items": { "$elemMatch": { "name": "Part 0", "price.amount": 2900_i64 } } };
        assert_eq!(products_with(app, with).await, 13);
    });
}

#[test]
fn a_product_that_cannot_be_written_does_not_delay_others() {
    test(async |app| {
        app.has((0..6).map(|n| product(&format!("Part {n}")).supplier("North", "DE")))
            .await;
        app.has((0..6).map(|n| product(&format!("Set {n}")).item("Part 0", 1)))
            .await;
        app.run_background_work().await;
        let part = app
            .query("{ product(slug: \"part-0\") { id supplier { supplierId } } }")
            .await;
        let rename = json!({ "id": part.text("/product/supplier/supplierId"), "name": "Nord" });
        let dearer = json!({ "id": part.text("/product/id"), "price": { "amount": "7.00" } });
        // All other products are written at once; then the failure is reported.
        let all_but_one = async |worker: Worker| {
            let mut maintenance = MaintenanceState::default();
            let first = app.catalog.work(worker, &mut maintenance).await.unwrap();
            assert!(
                first.done == 5 && first.backlog > 0,
                "{worker:?}: {first:?}"
            );
            let second = app.catalog.work(worker, &mut maintenance).await;
            assert!(second.is_err(), "{worker:?}: {second:?}");
        };
        app.mutate("updateSupplier", rename).await.done();
        let damaged = Box::pin(all_but_one(Worker::Suppliers));
        app.with_damaged("part-3", "name", damaged).await;
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        app.mutate("updateProduct", dearer).await.done();
        let damaged = Box::pin(all_but_one(Worker::Bundles));
        app.with_damaged("set-0", "name", damaged).await;
        app.catalog.work_off(Worker::Bundles).await.unwrap();
        let dear = doc! { "kind": "bundle", "price.amount": 700_i64 };
        assert_eq!(products_with(app, dear).await, 6);
    });
}
