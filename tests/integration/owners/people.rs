//! People win over feeds: what an admin has edited no feed writes, until the admin gives it back.

use vitrine_model::product::{Book, Details};

use super::*;

/// The id of the product.
pub(super) async fn id(app: &App) -> String {
    let found = app.query(r#"{ product(sku: "L-1") { id } }"#).as_admin();
    found.await.text("/product/id")
}

/// The fields that people have edited, with who did it and what the feeds say.
pub(super) async fn overrides(app: &App) -> Vec<String> {
    let query = r#"{ product(sku: "L-1") { overrides { field by feedValue } } }"#;
    let answer = app.query(query).as_admin().await;
    let all = answer.at("/product/overrides").as_array().unwrap().iter();
    all.map(|own| {
        let said = own["feedValue"].as_str().unwrap_or("-");
        format!("{} by {}: {said}", own["field"], own["by"]).replace('"', "")
    })
    .collect()
}

pub(super) async fn edit(app: &App, fields: Value) {
    let mut input = json!({ "id": id(app).await });
    let fields = fields.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    app.mutate("updateProduct", input).by("ann").await.done();
}

pub(super) async fn release(app: &App, fields: &[&str]) {
    let input = json!({ "productId": id(app).await, "fields": fields });
    app.mutate("releaseFields", input).by("ann").await.done();
}

#[test]
fn one_feed_writes_what_it_changes_and_people_have_not_edited() {
    test(async |app| {
        assert_eq!(line(app, lamp().price("10")).await, "created");
        edit(
            app,
            json!({ "name": "Lamp of the year", "description": null }),
        )
        .await;
        let specs =
            json!([{ "key": "color", "text": "dark red" }, { "key": "care_note", "text": "dry" }]);
        let set = json!({ "productId": id(app).await, "specs": specs });
        app.mutate("setSpecs", set).by("ben").await.done();
        let (outcomes, summary) = app
            .import(
                ImportMode::Write,
                vec![lamp().price("11").into()],
                Vec::new(),
            )
            .await;
        assert_eq!(outcomes, [LineOutcome::Updated]);
        assert_eq!(summary.kept_by_people, 3);
        let edited = page(app).await;
        assert_eq!(edited["price"]["amount"], "11.00");
        assert_eq!(edited["name"], "Lamp of the year");
        assert_eq!(edited["description"], Value::Null);
        let specs = json!([{ "key": "color", "text": "dark red" }, { "key": "ports", "text": "2" },
            { "key": "care_note", "text": "dry" }]);
        assert_eq!(edited["specs"], specs);
        assert_eq!(
            overrides(app).await,
            [
                "name by ann: Reading Lamp",
                "description by ann: Bright.",
                "specs.care_note by ben: -",
                "specs.color by ben: red",
            ]
        );
    });
}

#[test]
fn released_fields_have_what_the_feeds_say_and_follow_them() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        edit(
            app,
            json!({ "name": "Mine", "brand": "Own", "price": { "amount": "1" } }),
        )
        .await;
        line(app, lamp().brand("Tarn & Co").price("12")).await;
        release(app, &["price", "brand", "media"]).await;
        let now = page(app).await;
        assert_eq!(now["price"]["amount"], "12.00");
        assert_eq!(
            (&now["brand"], &now["name"]),
            (&json!("Tarn & Co"), &json!("Mine"))
        );
        assert_eq!(overrides(app).await, ["name by ann: Reading Lamp"]);
        assert_eq!(line(app, lamp().price("13")).await, "updated");
        assert_eq!(page(app).await["price"]["amount"], "13.00");
        release(app, &["name"]).await;
        assert_eq!(page(app).await["name"], "Reading Lamp");
        assert_eq!(overrides(app).await, [] as [&str; 0]);
        let query = r"query ($id: ID!) { history(id: $id, first: 1) { nodes { origin changedBy fields { field after } } } }";
        let history = app.query(query).with("id", id(app).await).as_admin().await;
        let newest = json!({ "origin": "RELEASE", "changedBy": "ann",
            "fields": [{ "field": "name", "after": "Reading Lamp" }] });
        assert_eq!(*history.at("/history/nodes/0"), newest);
    });
}

#[test]
fn names_of_fields_that_are_released_are_checked() {
    test(async |app| {
        line(app, lamp()).await;
        let input = json!({ "productId": id(app).await, "fields": ["name", "slug", "specs."] });
        let refused = app.mutate("releaseFields", input).await.user_errors();
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(
            refused[0].contains("fields.1") || refused[0].contains("slug"),
            "{refused:?}"
        );
        let none = json!({ "productId": id(app).await, "fields": [] });
        let refused = app.mutate("releaseFields", none).await.user_errors();
        assert!(refused[0].contains("1 to 250"), "{refused:?}");
    });
}

#[test]
fn shoppers_do_not_see_who_edits_products() {
    test(async |app| {
        line(app, lamp()).await;
        edit(app, json!({ "name": "Mine" })).await;
        let query = r#"{ product(sku: "L-1") { name overrides { by } } }"#;
        let seen = app.query(query).await;
        assert_eq!(
            *seen.at("/product"),
            json!({ "name": "Mine", "overrides": null })
        );
    });
}

#[test]
fn products_that_were_archived_or_reverted_by_people_stay_so() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        line(app, lamp().price("11")).await;
        let input = json!({ "id": id(app).await, "revision": 1 });
        app.mutate("revertProduct", input).by("ann").await.done();
        let input = json!({ "id": id(app).await });
        app.mutate("archiveProduct", input).by("ben").await.done();
        line(app, lamp().price("12").brand("Other")).await;
        let query = r#"{ product(sku: "L-1") { status brand price { amount } } }"#;
        let seen = app.query(query).as_admin().await;
        let kept =
            json!({ "status": "ARCHIVED", "brand": "Other", "price": { "amount": "10.00" } });
        assert_eq!(*seen.at("/product"), kept);
        assert_eq!(
            overrides(app).await,
            ["status by ben: ACTIVE", "price by ann: 12.00 EUR"]
        );
    });
}

#[test]
fn what_an_admin_has_created_no_feed_writes() {
    test(async |app| {
        line(app, product("Other")).await;
        let new = json!({ "kind": "thing", "name": "Hand-made", "sku": "L-1", "status": "DRAFT",
            "category": "things", "price": { "amount": "3" } });
        app.mutate("createProduct", new).by("ann").await.done();
        assert_eq!(line(app, lamp().price("10")).await, "updated");
        let query =
            r#"{ product(sku: "L-1") { name status brand category { name } price { amount } } }"#;
        let seen = app.query(query).as_admin().await;
        let kept = json!({ "name": "Hand-made", "status": "DRAFT", "brand": "Tarn",
            "category": { "name": "Things" }, "price": { "amount": "3.00" } });
        assert_eq!(*seen.at("/product"), kept);
        release(app, &["name", "category"]).await;
        let seen = app.query(query).as_admin().await;
        assert_eq!(seen.text("/product/name"), "Reading Lamp");
        assert_eq!(seen.text("/product/category/name"), "Lamps");
    });
}

#[test]
fn details_of_another_kind_are_not_written_beside_a_kind_that_people_have_decided() {
    test(async |app| {
        line(app, product("Other")).await;
        let new = json!({ "kind": "thing", "name": "Hand-made", "sku": "L-1", "status": "ACTIVE",
            "category": "things" });
        app.mutate("createProduct", new).by("ann").await.done();
        let book = Details::Book(Book {
            isbn: Some("9780140328721".to_owned()),
            ..Book::default()
        });
        line(app, lamp().details(book)).await;
        assert_eq!(page(app).await["kind"], "thing");
        for field in ["kind", "details"] {
            let input = json!({ "productId": id(app).await, "fields": [field] });
            app.mutate("releaseFields", input).await;
        }
        let query = r#"{ product(sku: "L-1") { __typename ... on Book { isbn } } }"#;
        let seen = app.query(query).await;
        assert_eq!(
            *seen.at("/product"),
            json!({ "__typename": "Book", "isbn": "9780140328721" })
        );
    });
}

#[test]
fn an_override_follows_a_spec_key_that_is_merged() {
    test(async |app| {
        line(app, lamp().text("colour", "red")).await;
        let set =
            json!({ "productId": id(app).await, "specs": [{ "key": "colour", "text": "rust" }] });
        app.mutate("setSpecs", set).by("ann").await.done();
        let merge = json!({ "from": "colour", "into": "color" });
        app.mutate("mergeSpecKeys", merge).await.done();
        app.catalog.continue_merges().await.unwrap();
        line(app, lamp().text("colour", "blue")).await;
        let colors = page(app).await["specs"].as_array().unwrap().iter().fold(
            Vec::new(),
            |mut found, spec| {
                if spec["key"] == "color" {
                    found.push(spec["text"].as_str().unwrap().to_owned());
                }
                found
            },
        );
        assert!(colors.contains(&"rust".to_owned()), "{colors:?}");
        assert!(!colors.contains(&"blue".to_owned()), "{colors:?}");
    });
}

#[test]
fn a_person_who_edits_while_feeds_write_wins() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        line(app, price("11")).await;
        for round in 0..5_u32 {
            let amount = (100 + round).to_string();
            let [first, second] = [20 + round, 40 + round].map(|amount| amount.to_string());
            let edit = edit(app, json!({ "price": { "amount": amount } }));
            let feeds = (line(app, lamp().price(&first)), line(app, price(&second)));
            tokio::join!(edit, feeds.0, feeds.1);
            assert_eq!(page(app).await["price"]["amount"], format!("{amount}.00"));
        }
        assert_eq!(overrides(app).await, ["price by ann: 44.00 EUR"]);
    });
}

#[test]
fn items_of_a_bundle_that_a_person_has_chosen_stay() {
    test(async |app| {
        let part = |name: &str, price: &str| product(name).price(price);
        app.has([part("Bulb", "2"), part("Shade", "5"), part("Foot", "7")])
            .await;
        let set = || product("Set").sku("L-1").item("Bulb", 2);
        assert_eq!(line(app, set().item("Shade", 1)).await, "created");
        assert_eq!(page(app).await["price"]["amount"], "9.00");
        let bulb = app.query(r#"{ product(sku: "feed:Bulb") { id } }"#).await;
        let items = json!([{ "productId": bulb.text("/product/id"), "quantity": 3 }]);
        edit(app, json!({ "details": { "bundle": { "items": items } } })).await;
        assert_eq!(
            line(app, set().item("Foot", 1).brand("Tarn")).await,
            "updated"
        );
        let now = page(app).await;
        assert_eq!(
            (&now["price"]["amount"], &now["brand"]),
            (&json!("6.00"), &json!("Tarn"))
        );
        let edited = overrides(app).await;
        let fields = edited.iter().map(|own| own.split(' ').next().unwrap());
        assert_eq!(fields.collect::<Vec<_>>(), ["kind", "details"]);
        release(app, &["kind", "details"]).await;
        assert_eq!(page(app).await["price"]["amount"], "11.00");
        assert_eq!(overrides(app).await, [""; 0]);
    });
}

#[test]
fn a_dry_run_counts_what_people_keep_as_the_import_does() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        line(app, price("11")).await;
        edit(app, json!({ "price": { "amount": "44" }, "name": "Mine" })).await;
        let mut counted = Vec::new();
        for mode in [ImportMode::DryRun, ImportMode::Write, ImportMode::Write] {
            let feed = vec![price("12").into(), lamp().price("13").brand("Other").into()];
            let (outcomes, summary) = app.import(mode, feed, Vec::new()).await;
            counted.push((
                outcomes.iter().map(word).collect::<Vec<_>>().join(" "),
                summary.kept_by_people,
            ));
        }
        let updated = ("updated updated".to_owned(), 4);
        assert_eq!(
            counted,
            [
                updated.clone(),
                updated,
                ("unchanged unchanged".to_owned(), 0)
            ]
        );
    });
}

#[test]
fn a_release_by_somebody_who_has_seen_an_older_product_is_refused() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        edit(app, json!({ "price": { "amount": "44" } })).await;
        line(app, lamp().price("12")).await;
        let input =
            json!({ "productId": id(app).await, "fields": ["price"], "expectedRevision": 2 });
        let refused = app.mutate("releaseFields", input.clone()).by("ann").await;
        assert!(
            refused.user_errors()[0].starts_with("REVISION_CONFLICT"),
            "{:?}",
            refused.user_errors()
        );
        assert_eq!(overrides(app).await, ["price by ann: 12.00 EUR"]);
        let mut current = input;
        current["expectedRevision"] = json!(3);
        app.mutate("releaseFields", current).by("ann").await.done();
        assert_eq!(page(app).await["price"]["amount"], "12.00");
    });
}

#[test]
fn a_feed_makes_no_bundle_of_a_product_whose_price_people_have_set() {
    test(async |app| {
        line(app, lamp().price("10")).await;
        line(app, product("Bulb").price("3")).await;
        let edit = json!({ "id": id(app).await, "price": { "amount": "99.00" } });
        app.mutate("updateProduct", edit).await.done();
        let bundle = || lamp().item("Bulb", 2);
        let said = line(app, bundle()).await;
        assert!(
            said.contains("kind: the price of a bundle is computed"),
            "{said}"
        );
        assert_eq!(page(app).await["price"], json!({ "amount": "99.00" }));
        let release = json!({ "productId": id(app).await, "fields": ["price"] });
        app.mutate("releaseFields", release).await.done();
        assert_eq!(line(app, bundle()).await, "updated");
        assert_eq!(page(app).await["price"], json!({ "amount": "6.00" }));
    });
}
