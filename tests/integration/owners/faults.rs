//! Imports of one SKU at the same time, and imports that are cut off.

use mongodb::bson::doc;
use vitrine_harness::test_on_own_server;

use super::*;

const ROUNDS: usize = 12;

#[test]
fn imports_of_one_sku_at_the_same_time_lose_nothing() {
    test(async |app| {
        let other = app.other_process().await;
        let third = app.other_process().await;
        let skus: Vec<String> = (0..ROUNDS).map(|n| format!("C-{n}")).collect();
        let import = async |catalog: &vitrine_domain::Catalog, of: fn(&str) -> ProductBuilder| {
            let mut session = catalog.import(ImportMode::Write);
            for sku in &skus {
                let outcomes = session.products(vec![of(sku).into()]).await.unwrap();
                let word = word(&outcomes[0]);
                assert!(
                    ["created", "updated", "waiting"].contains(&word.as_str()),
                    "{sku}: {word}"
                );
            }
            session.finish().await.unwrap();
        };
        tokio::join!(
            import(&app.catalog, |sku| product(sku).sku(sku).brand("Tarn")),
            import(&other, |sku| some_of("prices", sku).price("10")),
            import(&third, |sku| some_of("sizes", sku).number("height", 4.0)),
        );
        for sku in &skus {
            let made = content(app, sku).await.unwrap();
            assert_eq!(made.name.as_deref(), Some(sku.as_str()));
            assert_eq!(made.brand.as_deref(), Some("Tarn"), "{sku}");
            assert_eq!(made.price.unwrap().minor, 1000, "{sku}");
            assert_eq!(made.specs.len(), 1, "{sku}");
        }
    });
}

/// Every command that an import may send.
const COMMANDS: [&str; 8] = [
    "find",
    "getMore",
    "aggregate",
    "insert",
    "update",
    "findAndModify",
    "delete",
    "commitTransaction",
];

/// Imports a line while every command from the n-th on fails; returns whether it got through.
async fn cut_off(app: &App, draft: &ProductBuilder, n: i32) -> bool {
    let mut session = app.catalog.import(ImportMode::Write);
    app.fail_after(n, &COMMANDS, doc! { "errorCode": 96 }).await;
    let imported = session.products(vec![draft.clone().into()]).await;
    app.stop_failing().await;
    app.kill_abandoned_transactions().await;
    app.audit().await;
    imported.is_ok()
}

#[test]
fn an_import_that_is_cut_off_anywhere_is_completed_by_the_next() {
    test_on_own_server(async |app| {
        let steps = [
            price("10"),
            some_of("sizes", "L-1").number("height", 40.0),
            lamp().supplier("North", "NO"),
            price("11"),
            product("Lamp").source("shop", "1").sku("L-1").price("3"),
            some_of("sizes", "L-1"),
        ];
        for (at, draft) in steps.iter().enumerate() {
            let mut n = 0;
            while !cut_off(app, draft, n).await {
                n += 1;
                assert!(n < 60, "step {at} never gets through");
            }
            assert!(n > 3, "step {at} sends reads, writes and a commit: {n}");
            assert_eq!(line(app, draft.clone()).await, "unchanged", "step {at}");
        }
        let made = page(app).await;
        assert_eq!(made["price"]["amount"], "11.00");
        assert_eq!(made["name"], "Reading Lamp");
        assert_eq!(made["specs"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn the_audit_compares_products_with_what_their_sources_say() {
    test(async |app| {
        for draft in [lamp(), price("1"), some_of("prices", "L-2").price("1")] {
            line(app, draft).await;
        }
        let all = app
            .direct()
            .collection::<mongodb::bson::Document>("contributions");
        let stored = app.documents("contributions", doc! {}).await;
        assert_eq!(stored.len(), 2);
        let differences = async || {
            let found = app.audit_report().await.differences.into_iter();
            let mut found: Vec<String> = found.map(|one| one.what).collect();
            found.sort();
            found
        };
        all.delete_many(doc! {}).await.unwrap();
        assert_eq!(differences().await, ["contributions", "names of products"]);
        all.insert_many(&stored).await.unwrap();
        let digest = doc! { "$set": { "sources.0.digest": "other" } };
        let product = doc! { "waiting_sku": { "$exists": false } };
        all.update_one(product.clone(), digest).await.unwrap();
        assert_eq!(differences().await, ["sources of contributions"]);
        let waits = doc! { "waiting_sku": { "$exists": true } };
        let arrived = doc! { "$unset": { "waiting_sku": 1 } };
        all.update_one(waits.clone(), arrived).await.unwrap();
        assert!(differences().await.contains(&"product".to_owned()));
        all.delete_many(doc! {}).await.unwrap();
        all.insert_many(&stored).await.unwrap();
    });
}
