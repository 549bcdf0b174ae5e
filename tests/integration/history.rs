//! The history of products, categories and spec keys: who changed what, and restoring what was before.

use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_domain::workers::Worker;
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, ProductBuilder, product, test};
use vitrine_model::contribution::Content;
use vitrine_model::product::{Product, ProductStatus};
use vitrine_storage::products::ProductKey;

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

fn lamp() -> ProductBuilder {
    product("Lamp")
        .source("feed", "l1")
        .sku("L-1")
        .category(["Light", "Lamps"])
        .price("10")
        .text("color", "red")
        .quantity("weight", 1.5, "kg")
}

async fn stored(app: &App, sku: &str) -> Product {
    let key = ProductKey::Sku(sku.to_owned());
    let found = app.store().look_up_product(&key, &ProductStatus::ALL);
    let found = found.await.unwrap().expect("a product with this SKU");
    found.product().unwrap()
}

/// A product on sale; returns its global id.
async fn on_sale(app: &App, draft: ProductBuilder) -> String {
    app.has([draft]).await;
    let answer = app.query(r#"{ product(sku: "L-1") { id } }"#).await;
    answer.text("/product/id")
}

/// The history of an object, newest first, each change in one line.
pub(crate) async fn history(app: &App, id: &str) -> Vec<String> {
    let query = "query ($id: ID!) { history(id: $id, first: 100) { nodes {
        revision previousRevision changedBy origin revertedTo keptFields fields { field before after } } } }";
    let answer = app.query(query).with("id", id).as_admin().await;
    let nodes = answer.at("/history/nodes").as_array().unwrap();
    nodes.iter().map(line).collect()
}

fn line(entry: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| "-".to_owned(), str::to_owned);
    let fields = entry["fields"].as_array().unwrap().iter();
    let fields: Vec<String> = fields
        .map(|change| {
            let values = [text(&change["before"]), text(&change["after"])];
            format!("{} {}", text(&change["field"]), values.join(" > "))
        })
        .collect();
    let kept = entry["keptFields"].as_array().unwrap().iter().map(text);
    let kept: Vec<String> = kept.collect();
    let kept = if kept.is_empty() {
        String::new()
    } else {
        format!("; kept: {}", kept.join(", "))
    };
    let restored = entry["revertedTo"].as_i64();
    let restored = restored.map_or_else(String::new, |revision| format!(" to {revision}"));
    format!(
        "{}{restored} by {}, {} after {}: {}",
        text(&entry["origin"]),
        text(&entry["changedBy"]),
        entry["revision"],
        entry["previousRevision"],
        fields.join("; ") + &kept
    )
}

async fn revert(app: &App, id: &str, revision: i64) -> Reply {
    let input = json!({ "id": id, "revision": revision });
    app.mutate("revertProduct", input).await
}

#[test]
fn a_history_says_who_changed_what() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        let update =
            json!({ "id": id, "name": "Big Lamp", "brand": "Tarn", "price": { "amount": "12.5" } });
        app.mutate("updateProduct", update).by("ann").await.done();
        let specs = json!({ "productId": id, "specs": [
            { "key": "weight", "number": 2, "unit": "kg" },
            { "key": "bulb", "text": "E27" },
        ] });
        app.mutate("setSpecs", specs).by("ben").await.done();
        let changed = lamp().price("9").category(["Light", "Floor"]).into();
        app.import(ImportMode::Write, vec![changed], Vec::new())
            .await;
        app.mutate("archiveProduct", json!({ "id": id }))
            .by("ann")
            .await
            .done();
        assert_eq!(
            history(app, &id).await,
            [
                "MUTATION by ann, 5 after 4: status ACTIVE > ARCHIVED",
                "IMPORT by feed, 4 after 3: category lamps > floor; kept: name, price, specs.weight",
                "MUTATION by ben, 3 after 2: specs.weight 1.5 kg > 2 kg; specs.bulb - > E27",
                "MUTATION by ann, 2 after 1: name Lamp > Big Lamp; price 10.00 EUR > 12.50 EUR; brand - > Tarn",
            ]
        );
    });
}

#[test]
fn what_an_admin_creates_has_an_entry_for_it() {
    test(async |app| {
        app.mutate("createCategory", json!({ "name": "Light" }))
            .by("ann")
            .await
            .done();
        let new = json!({ "name": "Lamp", "kind": "thing", "category": "light", "specs": [{ "key": "bulb", "text": "E27" }] });
        let id = app
            .mutate("createProduct", new)
            .by("ann")
            .await
            .text("/product/id");
        assert_eq!(history(app, &id).await, ["MUTATION by ann, 1 after null: "]);
        let ids = r#"{ category(slug: "light") { id } specKey(key: "bulb") { id } }"#;
        let ids = app.query(ids).as_admin().await;
        for of in ["/category/id", "/specKey/id"] {
            let entries = history(app, &ids.text(of)).await;
            assert_eq!(entries, ["MUTATION by ann, 1 after null: "], "{of}");
        }
    });
}

#[test]
fn a_history_is_read_page_by_page() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        for name in ["A", "B", "C", "D", "E"] {
            let update = json!({ "id": id, "name": name });
            app.mutate("updateProduct", update).await.done();
        }
        let query = "query ($id: ID!, $after: String) { history(id: $id, first: 2, after: $after) {
            edges { cursor node { revision } } pageInfo { hasNextPage hasPreviousPage endCursor } } }";
        let (mut after, mut revisions) = (Value::Null, Vec::new());
        loop {
            let request = app.query(query).with("id", id.as_str());
            let page = request.with("after", after.clone()).as_admin().await;
            let edges = page.at("/history/edges").as_array().unwrap();
            revisions.extend(
                edges
                    .iter()
                    .map(|edge| edge["node"]["revision"].as_i64().unwrap()),
            );
            let previous = page.at("/history/pageInfo/hasPreviousPage");
            assert_eq!(previous, &json!(!after.is_null()));
            after = page.at("/history/pageInfo/endCursor").clone();
            if page.at("/history/pageInfo/hasNextPage") == false {
                break;
            }
        }
        assert_eq!(revisions, [6, 5, 4, 3, 2]);
    });
}

/// Changes of every field of a product.
fn edits(id: &str, supplier: &str) -> Vec<(&'static str, Value)> {
    let update = |mut fields: Value| {
        fields["id"] = json!(id);
        ("updateProduct", fields)
    };
    vec![
        update(json!({ "name": "Novel", "description": "Long.", "brand": "Tarn" })),
        update(json!({ "category": "things", "supplierId": supplier })),
        update(json!({ "price": { "amount": "7", "currency": "JPY" }, "status": "DRAFT" })),
        (
            "setSpecs",
            json!({ "productId": id, "specs": [
            { "key": "color", "text": "blue" },
            { "key": "weight", "number": 3, "unit": "lb", "qualifier": "packed" },
            { "key": "printed", "date": "2024-02-29T00:00:00Z" },
            { "key": "signed", "boolean": true },
        ] }),
        ),
        update(json!({ "sku": "B-2", "slug": "novel", "media": [
            { "url": "https://example.org/a.png", "kind": "IMAGE", "alt": "front" },
            { "url": "https://example.org/b.pdf", "kind": "DOCUMENT" },
        ] })),
        update(
            json!({ "details": { "book": { "isbn": "9780140328721", "pages": 96,
            "contributors": [{ "name": "Ann", "role": "author" }] } } }),
        ),
        (
            "removeSpecs",
            json!({ "productId": id, "specs": [{ "key": "color" }, { "key": "signed" }] }),
        ),
        update(
            json!({ "description": null, "brand": null, "supplierId": null, "price": null, "media": [] }),
        ),
        ("archiveProduct", json!({ "id": id })),
        update(json!({ "sku": "L-1", "details": { "book": {} } })),
    ]
}

#[test]
fn every_revision_can_be_restored() {
    test(async |app| {
        let book = lamp().kind("book").supplier("North", "DE");
        let id = on_sale(app, book).await;
        app.has([product("Other").supplier("South", "AT")]).await;
        let supplier = app.query("{ suppliers { nodes { id name } } }").await;
        let south = supplier.at("/suppliers/nodes").as_array().unwrap().iter();
        let south = south.clone().find(|one| one["name"] == "South").unwrap()["id"].clone();
        let content = async |sku: &str| {
            let product = stored(app, sku).await;
            (Content::of(&product), product.sku, product.slug)
        };
        let mut revisions = vec![content("L-1").await];
        let mut sku = "L-1".to_owned();
        for (name, input) in edits(&id, south.as_str().unwrap()) {
            sku = input["sku"].as_str().map_or(sku, str::to_owned);
            app.mutate(name, input).await.done();
            revisions.push(content(&sku).await);
        }
        let last = i64::try_from(revisions.len()).unwrap();
        for (revision, expected) in (1..).zip(&revisions) {
            let reply = revert(app, &id, revision).await;
            reply.done();
            assert_eq!(content(&expected.1).await, *expected, "revision {revision}");
            // Each of them is a change that can be taken back.
            revert(app, &id, last).await.done();
            assert_eq!(
                content("L-1").await,
                revisions[revisions.len() - 1],
                "{revision}"
            );
        }
        let newest = history(app, &id).await.remove(0);
        assert!(
            newest.starts_with(&format!("REVERT to {last} by ")),
            "{newest}"
        );
    });
}

#[test]
fn restoring_the_current_revision_changes_nothing() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        let same = revert(app, &id, 1).await;
        assert_eq!(same.done()["product"]["revision"], 1);
        assert!(history(app, &id).await.is_empty());
    });
}

#[test]
fn a_bundle_gets_its_items_back_with_their_present_names() {
    test(async |app| {
        app.has([
            product("Cup").source("feed", "cup").price("3"),
            product("Pot").price("20"),
        ])
        .await;
        app.has([product("Set").sku("L-1").kind("bundle").item("cup", 2)])
            .await;
        let ids = app.query(r#"{ set: product(sku: "L-1") { id } pot: product(slug: "pot") { id } cup: product(slug: "cup") { id } }"#).await;
        let (set, pot, cup) = (
            ids.text("/set/id"),
            ids.text("/pot/id"),
            ids.text("/cup/id"),
        );
        let items = json!({ "id": set, "details": { "bundle": { "items": [{ "productId": pot, "quantity": 1 }] } } });
        app.mutate("updateProduct", items).await.done();
        app.mutate(
            "updateProduct",
            json!({ "id": cup, "name": "Mug", "price": { "amount": "4" } }),
        )
        .await
        .done();
        app.run_background_work().await;
        let items = |id: &str, quantity: u8| format!("{id} {quantity}");
        let shown = history(app, &set).await;
        assert_eq!(
            shown.len(),
            1,
            "new names and prices of items are no changes of the bundle: {shown:?}"
        );
        assert!(
            shown[0].ends_with(&format!(
                "details.items {} > {}",
                items(&cup, 2),
                items(&pot, 1)
            )),
            "{shown:?}"
        );
        revert(app, &set, 1).await.done();
        let restored = app.query(r#"{ product(sku: "L-1") { price { amount } ... on Bundle { items { quantity name } } } }"#).await;
        let expected =
            json!({ "price": { "amount": "8.00" }, "items": [{ "quantity": 2, "name": "Mug" }] });
        assert_eq!(restored.at("/product"), &expected);
    });
}

#[test]
fn a_new_name_of_a_supplier_is_no_change_of_its_products() {
    test(async |app| {
        let id = on_sale(app, lamp().supplier("North", "DE")).await;
        let supplier = app
            .query(r#"{ product(sku: "L-1") { supplier { supplierId } } }"#)
            .await;
        let rename = json!({ "id": supplier.text("/product/supplier/supplierId"), "name": "Nord" });
        app.mutate("updateSupplier", rename).await.done();
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        assert!(history(app, &id).await.is_empty());
        let update = json!({ "id": id, "supplierId": null });
        app.mutate("updateProduct", update).by("ann").await.done();
        assert_eq!(
            history(app, &id).await,
            ["MUTATION by ann, 2 after 1: supplier Nord > -"]
        );
        revert(app, &id, 1).await.done();
        let product = stored(app, "L-1").await;
        assert_eq!(
            product.supplier.map(|supplier| supplier.name).as_deref(),
            Some("Nord")
        );
    });
}

#[test]
fn what_cannot_be_restored_is_refused_with_the_reason() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        app.mutate("updateProduct", json!({ "id": id, "slug": "big-lamp" }))
            .await
            .done();
        for (revision, message) in [
            (
                0,
                "INVALID at revision: revisions are numbered from 1 on; there is no revision 0",
            ),
            (
                7,
                "NOT_FOUND at revision: the product has no revision 7; its revision is 2",
            ),
        ] {
            assert_eq!(revert(app, &id, revision).await.user_errors(), [message]);
        }
        let stale = json!({ "id": id, "revision": 1, "expectedRevision": 1 });
        let stale = app.mutate("revertProduct", stale).await;
        assert_eq!(
            stale.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
        app.has([product("Other").sku("O-1")]).await;
        let other = stored(app, "O-1").await;
        let take = json!({ "id": vitrine_model::id::GlobalId::Product(other.id).encode(), "slug": "lamp" });
        app.mutate("updateProduct", take).await.done();
        let taken = revert(app, &id, 1).await;
        assert_eq!(
            taken.user_errors(),
            ["TAKEN at revision: slug: another product has the slug lamp"]
        );
        assert_eq!(history(app, &id).await.len(), 1, "nothing was written");
    });
}

#[test]
fn values_that_a_key_no_longer_allows_are_not_restored() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        let blue = json!({ "productId": id, "specs": [{ "key": "color", "text": "blue" }] });
        app.mutate("setSpecs", blue).await.done();
        let allow = json!({ "key": "color", "allowedValues": ["blue"] });
        app.mutate("updateSpecKey", allow).await.done();
        let refused = revert(app, &id, 1).await.user_errors();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0].starts_with("TYPE_MISMATCH at revision: specs."),
            "{refused:?}"
        );
    });
}

#[test]
fn the_last_hundred_revisions_are_kept() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        for n in 0..103 {
            let update = json!({ "id": id, "name": format!("Lamp {n}") });
            app.mutate("updateProduct", update).await.done();
        }
        let all = history(app, &id).await;
        assert_eq!(all.len(), 100);
        assert!(all[99].contains("5 after 4"), "{}", all[99]);
        let refused = revert(app, &id, 3).await;
        assert_eq!(refused.user_error_paths(), ["NOT_FOUND at revision"]);
        revert(app, &id, 4).await.done();
        assert_eq!(stored(app, "L-1").await.name, "Lamp 2");
    });
}

#[test]
fn entries_expire_after_four_hundred_days() {
    test(async |app| {
        let id = on_sale(app, lamp()).await;
        app.mutate("updateProduct", json!({ "id": id, "name": "A" }))
            .await
            .done();
        app.clock.advance(300 * MILLIS_PER_DAY);
        app.mutate("updateProduct", json!({ "id": id, "name": "B" }))
            .await
            .done();
        let kept = app.documents("history", doc! { "of": "product" }).await;
        for entry in &kept {
            let (at, expires) = (
                entry.get_datetime("at").unwrap(),
                entry.get_datetime("expires_at").unwrap(),
            );
            let kept = expires.timestamp_millis() - at.timestamp_millis();
            assert_eq!(kept, 400 * MILLIS_PER_DAY);
        }
        assert_eq!(kept.len(), 2);
        // The database deletes the first entry within a minute; it counts as gone before.
        app.clock.advance(100 * MILLIS_PER_DAY);
        let refused = revert(app, &id, 1).await;
        assert_eq!(refused.user_error_paths(), ["NOT_FOUND at revision"]);
        revert(app, &id, 2).await.done();
        assert_eq!(stored(app, "L-1").await.name, "A");
    });
}

#[test]
fn a_category_gets_its_name_slug_and_parent_back() {
    test(async |app| {
        on_sale(app, lamp()).await;
        let lamps = app.query(r#"{ category(slug: "lamps") { id } }"#).await;
        let id = lamps.text("/category/id");
        let moved = json!({ "id": id, "name": "Lights", "slug": "lights", "parent": null });
        app.mutate("updateCategory", moved).by("ann").await.done();
        assert_eq!(
            history(app, &id).await,
            [
                "MUTATION by ann, 2 after 1: name Lamps > Lights; slug lamps > lights; parent light > -; feedPaths - > Lamps"
            ]
        );
        let back = json!({ "id": id, "revision": 1 });
        app.mutate("revertCategory", back.clone())
            .by("ben")
            .await
            .done();
        let restored = app
            .query(r#"{ category(slug: "lamps") { id name parent { slug } revision } }"#)
            .await;
        let expected =
            json!({ "id": id, "name": "Lamps", "parent": { "slug": "light" }, "revision": 3 });
        assert_eq!(restored.at("/category"), &expected);
        assert!(history(app, &id).await[0].starts_with("REVERT to 1 by ben, 3 after 2"));
        app.mutate("updateCategory", json!({ "id": id, "slug": "old" }))
            .await
            .done();
        app.mutate("createCategory", json!({ "name": "New", "slug": "lamps" }))
            .await
            .done();
        let taken = app.mutate("revertCategory", back).await;
        assert_eq!(
            taken.user_errors(),
            ["TAKEN at revision: slug: the category \"New\" has the slug lamps"]
        );
    });
}

#[test]
fn a_spec_key_gets_its_definition_back_and_keeps_what_was_merged() {
    test(async |app| {
        on_sale(app, lamp().text("colour", "red")).await;
        let id = app
            .query(r#"{ specKey(key: "color") { id } }"#)
            .await
            .text("/specKey/id");
        let change = json!({ "key": "color", "label": "Shade", "facetable": false, "aliases": ["shade"], "allowedValues": ["red"] });
        app.mutate("updateSpecKey", change).by("ann").await.done();
        let merge = json!({ "from": "colour", "into": "color" });
        app.mutate("mergeSpecKeys", merge).by("ben").await.done();
        assert_eq!(
            history(app, &id).await,
            [
                "KEY_MERGE by ben, 3 after 2: aliases shade > colour, shade",
                "MUTATION by ann, 2 after 1: label Color > Shade; facetable true > false; allowedValues - > red; \
                 aliases - > shade",
            ]
        );
        app.catalog.continue_merges().await.unwrap();
        let product = app
            .query(r#"{ product(sku: "L-1") { id } }"#)
            .await
            .text("/product/id");
        let merged = history(app, &product).await;
        assert_eq!(
            merged,
            ["KEY_MERGE by merges, 2 after 1: specs.colour red > -"]
        );
        app.mutate("revertSpecKey", json!({ "key": "colour", "revision": 1 }))
            .await
            .done();
        let key = app
            .query(
                r#"{ specKey(key: "color") { label facetable aliases allowedValues revision } }"#,
            )
            .await;
        let expected = json!({
            "label": "Color", "facetable": true, "aliases": ["colour"], "allowedValues": null, "revision": 4,
        });
        assert_eq!(key.at("/specKey"), &expected);
        // The product keeps the remaining key.
        revert(app, &product, 1).await.done();
        let specs = app
            .query(r#"{ product(sku: "L-1") { specs(keys: ["color", "colour"]) { key text } } }"#)
            .await;
        assert_eq!(
            specs.at("/product/specs"),
            &json!([{ "key": "color", "text": "red" }])
        );
    });
}

#[test]
fn a_key_that_gets_the_name_of_a_merged_one_has_a_history_of_its_own() {
    test(async |app| {
        on_sale(app, lamp()).await;
        let define = json!({ "key": "colour", "type": "TEXT", "label": "Old" });
        app.mutate("defineSpecKey", define).await.done();
        for label in ["B", "C"] {
            let change = json!({ "key": "colour", "label": label });
            app.mutate("updateSpecKey", change).await.done();
        }
        let merge = json!({ "from": "colour", "into": "color" });
        app.mutate("mergeSpecKeys", merge).await.done();
        app.catalog.continue_merges().await.unwrap();
        app.clock.advance(20_000);
        app.catalog.continue_merges().await.unwrap();
        let forget = json!({ "key": "color", "aliases": [] });
        app.mutate("updateSpecKey", forget).await.done();
        let define = json!({ "key": "colour", "type": "TEXT", "label": "New" });
        app.mutate("defineSpecKey", define).await.done();
        let change = json!({ "key": "colour", "label": "Newer" });
        app.mutate("updateSpecKey", change).by("ann").await.done();
        let id = app
            .query(r#"{ specKey(key: "colour") { id } }"#)
            .as_admin()
            .await;
        let shown = history(app, &id.text("/specKey/id")).await;
        assert_eq!(shown.len(), 2, "{shown:?}");
        let back = json!({ "key": "colour", "revision": 1 });
        let restored = app.mutate("revertSpecKey", back).await;
        assert_eq!(restored.done()["specKey"]["label"], "New");
        // Where a revision is missing in between, nothing is mixed.
        let history = app
            .direct()
            .collection::<mongodb::bson::Document>("history");
        history
            .delete_one(doc! { "object": "colour", "revision": 2_i64 })
            .await
            .unwrap();
        let refused = app
            .mutate("revertSpecKey", json!({ "key": "colour", "revision": 1 }))
            .await;
        assert_eq!(refused.user_error_paths(), ["NOT_FOUND at revision"]);
    });
}

#[test]
fn only_objects_with_a_history_are_accepted() {
    test(async |app| {
        let supplier =
            vitrine_model::id::GlobalId::Supplier(vitrine_model::id::SupplierId::random());
        let query = "query ($id: ID!) { history(id: $id) { nodes { revision } } }";
        for (id, message) in [
            (
                supplier.encode(),
                "id: not the id of a product, a category or a spec key",
            ),
            ("x".to_owned(), "id: "),
        ] {
            let answer = app.query(query).with("id", id).as_admin().await;
            let errors = answer.errors().join("; ");
            assert!(errors.contains(message), "{errors}");
        }
        let nobody = vitrine_model::id::GlobalId::Product(vitrine_model::id::ProductId::random());
        assert!(history(app, &nobody.encode()).await.is_empty());
    });
}
