//! Creating and updating products: every kind, every field, and all errors at once, each with its
//! field.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vitrine_harness::mutations::{MUTATIONS, mutation};
use vitrine_harness::{App, product, review, test};
use vitrine_model::product::Kind;

/// Creates a category for products.
async fn category(app: &App) {
    app.mutate("createCategory", json!({ "name": "Things" }))
        .await
        .done();
}

/// The input of a product with this name and further fields.
fn thing(name: &str, mut more: Value) -> Value {
    let mut input =
        json!({ "kind": "thing", "name": name, "category": "things", "status": "ACTIVE" });
    let fields = input.as_object_mut().unwrap();
    fields.append(more.as_object_mut().unwrap());
    input
}

/// Creates a product; returns its id.
async fn made(app: &App, input: Value) -> String {
    app.mutate("createProduct", input).await.text("/product/id")
}

/// Input with a value in every field of a product.
fn everything(supplier: &str) -> Value {
    json!({
    "kind": "lamp", "sku": "L-1", "slug": "reading-lamp", "name": "  Reading \n lamp ",
    "description": "Bright.", "brand": "Lux", "status": "ACTIVE", "category": "things",
    "supplierId": supplier, "price": { "amount": "19.90" },
    "media": [
        { "url": "https://example.com/a.jpg", "alt": "The lamp", "kind": "IMAGE" },
        { "url": "http://example.com/a.pdf", "kind": "DOCUMENT" },
    ],
    "specs": [
        { "key": "color", "text": "Deep Red" },
        { "key": "height", "number": 45.5, "unit": "centimeters" },
        { "key": "bulbs", "number": 2 },
        { "key": "dimmable", "boolean": true, "qualifier": "eu" },
        { "key": "release", "date": "2024-05-01" },
        { "key": "seen", "date": "2024-05-01T10:00:00Z" },
    ],
    })
}

#[test]
fn a_product_is_shown_as_it_was_created() {
    test(async |app| {
        category(app).await;
        let supplier = json!({ "name": "North", "country": "de" });
        let supplier = app.mutate("createSupplier", supplier).await;
        let id = made(app, everything(&supplier.text("/supplier/id"))).await;
        let page = app
            .query(
                "query($id: ID) { product(id: $id) { __typename kind sku slug name description brand status category { slug }
                supplier { name country } price { amount currency } media { url alt kind }
                specs { key text qualifier } ratingStats { count } revision createdAt updatedAt } }",
            )
            .with("id", id)
            .await;
        page.assert_commands(&["find products"]);
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              __typename: "GenericProduct"
              kind: "lamp"
              sku: "L-1"
              slug: "reading-lamp"
              name: "Reading lamp"
              description: "Bright."
              brand: "Lux"
              status: "ACTIVE"
              category: { slug: "things" }
              supplier: { name: "North", country: "DE" }
              price: { amount: "19.90", currency: "EUR" }
              media: [
                { url: "https://example.com/a.jpg", alt: "The lamp", kind: "IMAGE" }
                { url: "http://example.com/a.pdf", alt: null, kind: "DOCUMENT" }
              ]
              specs: [
                { key: "color", text: "Deep Red", qualifier: null }
                { key: "height", text: "45.5 cm", qualifier: null }
                { key: "bulbs", text: "2", qualifier: null }
                { key: "dimmable", text: "yes", qualifier: "EU" }
                { key: "release", text: "2024-05-01", qualifier: null }
                { key: "seen", text: "2024-05-01T10:00:00.000Z", qualifier: null }
              ]
              ratingStats: { count: 0 }
              revision: 1
              createdAt: "2026-05-31T12:00:00.000Z"
              updatedAt: "2026-05-31T12:00:00.000Z"
            }
          }
        }
        "#);
    });
}

/// Each kind with details, the details, and the fields that show them.
fn kinds() -> Vec<(&'static str, Value, &'static str)> {
    let measure = json!({ "name": "chest", "value": 96.5, "unit": "cm" });
    let person = json!({ "name": "Ada", "role": "author" });
    vec![
        (
            "apparel",
            json!({ "fit": "slim", "sizeChart": [{ "size": "M", "measurements": [measure] }] }),
            "... on Apparel { fit sizeChart { size measurements { name value unit } } }",
        ),
        (
            "book",
            json!({ "contributors": [person], "isbn": "9783161484100", "format": "hardcover", "pages": 320 }),
            "... on Book { contributors { name role } isbn format pages }",
        ),
        (
            "electronics",
            json!({ "energyLabel": "B", "warrantyMonths": 24, "compatibility": ["USB-C"] }),
            "... on Electronics { energyLabel warrantyMonths compatibility }",
        ),
        (
            "grocery",
            json!({ "ingredients": "Oats", "allergens": ["gluten"], "nutrition": [measure] }),
            "... on Grocery { ingredients allergens nutrition { name value unit } }",
        ),
        (
            "movie",
            json!({ "cast": [person], "runtimeMinutes": 118 }),
            "... on Movie { cast { name role } runtimeMinutes }",
        ),
    ]
}

#[test]
fn every_kind_is_made_and_changed_with_its_own_details() {
    test(async |app| {
        category(app).await;
        let tried: BTreeSet<&str> = kinds().into_iter().map(|(kind, ..)| kind).collect();
        let typed = Kind::TYPED.iter().map(|kind| kind.name());
        let others = typed.filter(|kind| *kind != Kind::Bundle.name());
        assert_eq!(tried, others.collect::<BTreeSet<_>>());
        for (kind, details, fields) in kinds() {
            let input = json!({ "kind": kind, "name": format!("A {kind}"), "category": "things", "details": { kind: details } });
            let id = made(app, input).await;
            let query = format!(
                "query($id: ID) {{ product(id: $id) {{ it: __typename {fields} status }} }}"
            );
            let shown = app.query(&query).as_admin().with("id", id.clone()).await;
            let mut expected = details.clone();
            let fields = expected.as_object_mut().unwrap();
            fields.insert("it".to_owned(), shown.at("/product/it").clone());
            fields.insert("status".to_owned(), "DRAFT".into());
            assert_eq!(shown.at("/product"), &expected, "{kind}");
            // Details of another kind are refused.
            for (other, details, _) in kinds().into_iter().filter(|(other, ..)| *other != kind) {
                let change = json!({ "id": id, "details": { other: details } });
                let refused = app.mutate("updateProduct", change).await;
                assert_eq!(
                    refused.user_error_paths(),
                    [format!("INVALID at details.{other}")]
                );
            }
            let changed = app
                .mutate(
                    "updateProduct",
                    json!({ "id": id, "details": { kind: {} } }),
                )
                .await;
            assert_eq!(changed.number("/product/revision"), 2, "{kind}");
        }
    });
}

/// Two products and a bundle of four of the first and one of the second; their ids.
async fn cup_pot_and_set(app: &App) -> [String; 3] {
    category(app).await;
    let cup = made(app, thing("Cup", json!({ "price": { "amount": "3.50" } }))).await;
    let pot = made(app, thing("Pot", json!({ "price": { "amount": "20" } }))).await;
    let items = json!([{ "productId": cup, "quantity": 4 }, { "productId": pot }]);
    let set = json!({ "kind": "bundle", "name": "Set", "category": "things", "status": "ACTIVE", "details": { "bundle": { "items": items } } });
    let set = made(app, set).await;
    [cup, pot, set]
}

#[test]
fn a_bundle_has_the_price_of_its_items() {
    test(async |app| {
        let [_, pot, set] = cup_pot_and_set(app).await;
        let shown = app
            .query("query($id: ID) { product(id: $id) { price { amount } ... on Bundle { items { name quantity } } } }")
            .with("id", set.clone())
            .await;
        assert_eq!(shown.text("/product/price/amount"), "34.00");
        assert_eq!(shown.number("/product/items/0/quantity"), 4);
        let priced = json!({ "id": set, "price": { "amount": "1" } });
        assert_eq!(
            app.mutate("updateProduct", priced).await.user_error_paths(),
            ["INVALID at price"]
        );
        let change = json!({ "id": set, "details": { "bundle": { "items": [{ "productId": pot, "quantity": 2 }] } } });
        app.mutate("updateProduct", change).await.done();
        let after = app
            .query("query($id: ID) { product(id: $id) { price { amount } } }")
            .with("id", set);
        assert_eq!(after.await.text("/product/price/amount"), "40.00");
    });
}

#[test]
fn a_bundle_has_one_to_a_hundred_products_that_exist_and_are_no_bundles() {
    test(async |app| {
        let [cup, _, set] = cup_pot_and_set(app).await;
        let bundle = |details: Value| json!({ "kind": "bundle", "name": "Other", "category": "things", "details": { "bundle": { "items": details } } });
        let missing = "cHJvZHVjdDpub3RoaW5n";
        for (input, place) in [
            (
                json!({ "kind": "bundle", "name": "Empty", "category": "things" }),
                "INVALID at details.bundle",
            ),
            (
                bundle(json!([{ "productId": cup, "quantity": 0 }])),
                "INVALID at details.bundle.items.0.quantity",
            ),
            (
                bundle(json!([{ "productId": set }])),
                "INVALID at details.bundle.items.0.productId",
            ),
            (
                bundle(json!([{ "productId": cup }, { "productId": missing }])),
                "INVALID at details.bundle.items.1.productId",
            ),
        ] {
            assert_eq!(
                app.mutate("createProduct", input).await.user_error_paths(),
                [place]
            );
        }
        let itself =
            json!({ "id": set, "details": { "bundle": { "items": [{ "productId": set }] } } });
        let refused = app.mutate("updateProduct", itself).await;
        assert_eq!(
            refused.user_error_paths(),
            ["INVALID at details.bundle.items.0.productId"]
        );
        let many: Vec<Value> = (0..101).map(|_| json!({ "productId": cup })).collect();
        let refused = app
            .mutate("createProduct", bundle(json!(many)))
            .await
            .user_errors();
        assert!(
            refused[0].contains("details.bundle") && refused[0].contains("100"),
            "{refused:?}"
        );
    });
}

#[test]
fn all_errors_of_a_product_are_reported_at_once_with_their_fields() {
    test(async |app| {
        category(app).await;
        let input = json!({
            "kind": "Bad Kind", "sku": "a\nb", "slug": "No Slug", "name": "   ", "description": "",
            "brand": "b".repeat(201), "category": "nowhere", "price": { "amount": "1.999", "currency": "EUR" },
            "media": [{ "url": "https://example.com/", "kind": "IMAGE" }],
            "specs": [
                { "key": "fine", "text": "yes" },
                { "key": "Bad Key", "text": "x" },
                { "key": "weight", "number": 1, "unit": "furlongs" },
                { "key": "color", "text": "x", "qualifier": "a=b" },
                { "key": "note", "text": " " },
            ],
        });
        let mut places = app.mutate("createProduct", input).await.user_error_paths();
        places.sort();
        assert_eq!(
            places,
            [
                "INVALID at brand",
                "INVALID at description",
                "INVALID at kind",
                "INVALID at name",
                "INVALID at price.amount",
                "INVALID at sku",
                "INVALID at slug",
                "INVALID at specs.1.key",
                "INVALID at specs.3.qualifier",
                "INVALID at specs.4.text",
                "NOT_FOUND at category",
                "NOT_FOUND at specs.2.unit",
            ]
        );
        // Nothing was written; not even the specs that were right defined a key.
        let left = app
            .query(r#"{ products(filter: { status: [DRAFT, ACTIVE] }) { nodes { name } } specKey(key: "fine") { key } }"#)
            .as_admin()
            .await;
        assert_eq!(left.names("/products"), [""; 0]);
        assert!(left.at("/specKey").is_null());
    });
}

/// Products with one wrong field, each with the code and path of its refusal.
fn wrong_products() -> [(Value, &'static str); 13] {
    let price = |amount: &str, currency: &str| {
        let price = json!({ "amount": amount, "currency": currency });
        thing("x", json!({ "price": price }))
    };
    let spec = |spec: Value| thing("x", json!({ "specs": [spec] }));
    [
        (price("-1", "EUR"), "INVALID at price.amount"),
        (price("1.5", "JPY"), "INVALID at price.amount"),
        (price("1", "XQQ"), "INVALID at price.currency"),
        (price("1", "EURO"), "INVALID at price.currency"),
        (
            price("99999999999999999999999", "EUR"),
            "INVALID at price.amount",
        ),
        (
            thing("x", json!({ "supplierId": "nobody" })),
            "INVALID at supplierId",
        ),
        (spec(json!({ "key": "a" })), "INVALID at specs.0"),
        (
            spec(json!({ "key": "a", "text": "b", "number": 1 })),
            "INVALID at specs.0",
        ),
        (
            spec(json!({ "key": "a", "text": "b", "unit": "kg" })),
            "INVALID at specs.0.unit",
        ),
        (thing(&"x".repeat(301), json!({})), "INVALID at name"),
        (
            thing("x", json!({ "description": "x".repeat(20_001) })),
            "INVALID at description",
        ),
        (
            thing("x", json!({ "sku": "s".repeat(129) })),
            "INVALID at sku",
        ),
        (
            thing("x", json!({ "slug": "s".repeat(81) })),
            "INVALID at slug",
        ),
    ]
}

#[test]
fn a_wrong_field_of_a_product_is_named() {
    test(async |app| {
        category(app).await;
        for (input, place) in wrong_products() {
            let reply = app.mutate("createProduct", input.clone()).await;
            assert_eq!(reply.user_error_paths(), [place], "{input}");
        }
    });
}

#[test]
fn details_are_checked_field_by_field() {
    test(async |app| {
        category(app).await;
        let wrong = [
            (
                "book",
                json!({ "isbn": "12-34", "pages": 0, "contributors": [{ "name": "", "role": "author" }] }),
                vec!["contributors.0.name", "isbn", "pages"],
            ),
            (
                "movie",
                json!({ "runtimeMinutes": -5, "cast": [{ "name": "A", "role": "" }] }),
                vec!["cast.0.role", "runtimeMinutes"],
            ),
            (
                "electronics",
                json!({ "warrantyMonths": -1, "compatibility": ["ok", ""] }),
                vec!["compatibility.1", "warrantyMonths"],
            ),
            (
                "grocery",
                json!({ "allergens": [" "], "nutrition": [{ "name": "salt", "value": 1, "unit": "" }] }),
                vec!["allergens.0", "nutrition.0.unit"],
            ),
            (
                "apparel",
                json!({ "fit": "", "sizeChart": [{ "size": "", "measurements": [] }] }),
                vec!["fit", "sizeChart.0.size"],
            ),
        ];
        let tried: BTreeSet<&str> = wrong.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(tried, kinds().into_iter().map(|(kind, ..)| kind).collect());
        for (kind, details, places) in wrong {
            let input = json!({ "kind": kind, "name": "x", "category": "things", "details": { kind: details } });
            let mut found = app.mutate("createProduct", input).await.user_error_paths();
            found.sort();
            let expected = places
                .iter()
                .map(|place| format!("INVALID at details.{kind}.{place}"));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        let isbn = json!({ "kind": "book", "name": "Dune", "category": "things", "details": { "book": { "isbn": "978-3-16-148410-0" } } });
        let id = made(app, isbn).await;
        let shown = app
            .query("query($id: ID) { product(id: $id) { ... on Book { isbn } } }")
            .as_admin()
            .with("id", id);
        assert_eq!(shown.await.text("/product/isbn"), "9783161484100");
    });
}

#[test]
fn slugs_and_skus_are_unique() {
    test(async |app| {
        category(app).await;
        let one = made(app, thing("Red mug", json!({ "sku": "M-1" }))).await;
        let again = app
            .mutate("createProduct", thing("Red mug", json!({})))
            .await;
        let slug = again.text("/product/slug");
        assert!(
            slug.starts_with("red-mug-") && slug.len() > "red-mug-".len(),
            "{slug}"
        );
        let sku = again.text("/product/sku");
        assert!(!sku.is_empty() && sku != "M-1");
        let taken = app
            .mutate("createProduct", thing("x", json!({ "slug": "red-mug" })))
            .await;
        assert_eq!(taken.user_error_paths(), ["TAKEN at slug"]);
        let taken = app
            .mutate("createProduct", thing("x", json!({ "sku": "M-1" })))
            .await;
        assert_eq!(taken.user_error_paths(), ["TAKEN at sku"]);
        let id = again.text("/product/id");
        for (field, value) in [("slug", "red-mug"), ("sku", "M-1")] {
            let taken = app
                .mutate("updateProduct", json!({ "id": id, field: value }))
                .await;
            assert_eq!(taken.user_error_paths(), [format!("TAKEN at {field}")]);
            assert_eq!(taken.payload()["product"]["revision"], 1, "as it is");
        }
        // A new name does not change the slug.
        let renamed = app
            .mutate("updateProduct", json!({ "id": one, "name": "Blue mug" }))
            .await;
        assert_eq!(renamed.text("/product/slug"), "red-mug");
        assert_eq!(renamed.text("/product/name"), "Blue mug");
    });
}

#[test]
fn an_update_changes_the_fields_it_names_and_no_other() {
    test(async |app| {
        category(app).await;
        app.mutate("createCategory", json!({ "name": "Better things" }))
            .await
            .done();
        let id = made(
            app,
            thing(
                "Mug",
                json!({ "description": "d", "brand": "B", "price": { "amount": "5" },
                "media": [{ "url": "https://example.com/a", "kind": "IMAGE" }],
                "specs": [{ "key": "color", "text": "red" }] }),
            ),
        )
        .await;
        let show = async || {
            let shown = app
                .query("query($id: ID) { product(id: $id) { name description brand status category { slug } price { amount } media { url } specs { text } revision updatedAt } }")
                .as_admin()
                .with("id", id.clone());
            shown.await.at("/product").clone()
        };
        let before = show().await;
        app.clock.advance(60_000);
        let nothing = app
            .mutate(
                "updateProduct",
                json!({ "id": id, "name": "Mug", "brand": "B", "price": { "amount": "5.00" } }),
            )
            .await;
        assert_eq!(nothing.number("/product/revision"), 1);
        assert_eq!(show().await, before, "nothing was written");
        app.mutate("updateProduct", json!({ "id": id, "category": "better-things", "description": null, "price": null, "brand": null }))
            .await
            .done();
        let after = show().await;
        let mut expected = before.clone();
        for field in ["description", "brand", "price"] {
            expected[field] = Value::Null;
        }
        expected["category"]["slug"] = "better-things".into();
        expected["revision"] = 2.into();
        expected["updatedAt"] = "2026-05-31T12:01:00.000Z".into();
        assert_eq!(after, expected);
    });
}

#[test]
fn an_update_cannot_remove_what_a_product_needs() {
    test(async |app| {
        category(app).await;
        let id = made(app, thing("Mug", json!({}))).await;
        let refused = app
            .mutate("updateProduct", json!({ "id": id, "name": null, "sku": null, "slug": null, "status": null, "category": null, "media": null, "details": null }))
            .await;
        let mut places = refused.user_error_paths();
        places.sort();
        let fields = [
            "category", "details", "media", "name", "sku", "slug", "status",
        ];
        assert_eq!(places, fields.map(|field| format!("INVALID at {field}")));
        let missing = json!({ "id": "cHJvZHVjdDpub3RoaW5n", "name": "x" });
        assert_eq!(
            app.mutate("updateProduct", missing)
                .await
                .user_error_paths(),
            ["INVALID at id"]
        );
    });
}

#[test]
fn computed_ratings_survive_every_mutation() {
    test(async |app| {
        app.has([product("Mug").price("5")]).await;
        app.has_reviews((0..5).map(|n| review("Mug", n, 4).helpful(n)))
            .await;
        let id = app
            .query(r#"{ product(slug: "mug") { id } }"#)
            .await
            .text("/product/id");
        app.mutate(
            "updateProduct",
            json!({ "id": id, "name": "Cup", "price": { "amount": "7" } }),
        )
        .await
        .done();
        app.mutate(
            "setSpecs",
            json!({ "productId": id, "specs": [{ "key": "color", "text": "red" }] }),
        )
        .await
        .done();
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        app.mutate("restoreProduct", json!({ "id": id }))
            .await
            .done();
        let shown = app
            .query(r#"{ product(slug: "mug") { name revision ratingStats { count } topReviews { helpfulCount } } }"#)
            .await;
        assert_eq!(shown.number("/product/ratingStats/count"), 5);
        assert_eq!(shown.number("/product/topReviews/0/helpfulCount"), 4);
        assert_eq!(shown.number("/product/revision"), 5);
    });
}

#[test]
fn an_archived_product_is_hidden_until_it_is_restored() {
    test(async |app| {
        category(app).await;
        let id = made(app, thing("Mug", json!({}))).await;
        let draft = made(
            app,
            json!({ "kind": "thing", "name": "Draft", "category": "things" }),
        )
        .await;
        let seen = async || {
            let list = app
                .query("{ products { nodes { name } } product(slug: \"mug\") { name } }")
                .await;
            (list.names("/products"), !list.at("/product").is_null())
        };
        assert_eq!(seen().await, (vec!["Mug".to_owned()], true));
        let archived = app.mutate("archiveProduct", json!({ "id": id })).await;
        assert_eq!(archived.text("/product/status"), "ARCHIVED");
        assert_eq!(seen().await, (vec![], false));
        let again = app.mutate("archiveProduct", json!({ "id": id })).await;
        assert_eq!(
            again.number("/product/revision"),
            2,
            "it was archived already"
        );
        let back = app
            .mutate("restoreProduct", json!({ "id": id, "expectedRevision": 2 }))
            .await;
        assert_eq!(back.text("/product/status"), "ACTIVE");
        assert_eq!(seen().await, (vec!["Mug".to_owned()], true));
        // A draft was never archived: restoring it must not put it on sale.
        let draft = app.mutate("restoreProduct", json!({ "id": draft })).await;
        assert_eq!(draft.text("/product/status"), "DRAFT");
    });
}

/// An input with all required fields.
pub(crate) fn input_of(mutation: &str) -> Value {
    match mutation {
        "createProduct" => json!({ "kind": "thing", "name": "x", "category": "things" }),
        "updateProduct" | "archiveProduct" | "restoreProduct" | "updateCategory"
        | "updateSupplier" | "deleteReview" | "removeVote" | "stopImport" | "stopBulkChange" => {
            json!({ "id": "x" })
        }
        "revertProduct" | "revertCategory" => json!({ "id": "x", "revision": 1 }),
        "startBulkChange" => json!({ "change": { "brand": "x" } }),
        "startImport" => json!({ "feeds": [], "mapping": "" }),
        "revertSpecKey" => json!({ "key": "x", "revision": 1 }),
        "releaseFields" => json!({ "productId": "x", "fields": ["name"] }),
        "setSpecs" | "removeSpecs" => json!({ "productId": "x", "specs": [] }),
        "createCategory" | "createSupplier" => json!({ "name": "x" }),
        "defineUnit" => json!({ "symbol": "x", "dimension": "x", "factor": 1 }),
        "defineSpecKey" => json!({ "key": "x", "type": "TEXT" }),
        "updateSpecKey" => json!({ "key": "x" }),
        "mergeCategories" | "mergeSpecKeys" => json!({ "from": "x", "into": "y" }),
        "submitReview" => json!({ "productId": "x", "rating": 4, "body": "x" }),
        "editReview" => json!({ "id": "x", "expectedRevision": 1 }),
        "voteReview" => json!({ "id": "x", "vote": "HELPFUL" }),
        "reportReview" => json!({ "id": "x", "reason": "SPAM" }),
        "replyToReview" => json!({ "id": "x", "text": "x" }),
        "moderateReview" => json!({ "id": "x", "decision": "PUBLISH", "reason": "OTHER" }),
        "recordPurchase" => json!({ "productId": "x", "customerId": "x" }),
        "eraseAuthor" => json!({ "authorId": "x", "policy": "REMOVE" }),
        "repairRatingStats" => json!({ "productId": "x" }),
        "defineReviewDimensions" => json!({ "kind": "x", "names": [] }),
        other => panic!("{other} is new here"),
    }
}

#[test]
fn this_table_of_mutations_is_complete() {
    let engine = vitrine_api::graphql::engine().unwrap();
    let (_, after) = engine.sdl().split_once("type Mutation {").unwrap();
    let (body, _) = after.split_once("\n}").unwrap();
    let mut fields: Vec<&str> = body
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("(input: ") || line.ends_with('('))
        .map(|line| line.split('(').next().unwrap())
        .collect();
    fields.sort_unstable();
    let mut known = MUTATIONS.map(|mutation| mutation.name);
    known.sort_unstable();
    assert_eq!(fields, known);
}

#[test]
fn a_request_runs_at_most_five_mutations_in_their_order() {
    test(async |app| {
        let one = |alias: &str, name: &str, parent: &str| {
            format!(
                "{alias}: createCategory(input: {{ name: \"{name}\" {parent} }}) {{ category {{ slug path }} userErrors {{ code }} }}"
            )
        };
        let chain: Vec<String> = (0..5)
            .map(|n| {
                let parent = if n == 0 {
                    String::new()
                } else {
                    format!("parent: \"level-{}\"", n - 1)
                };
                one(&format!("m{n}"), &format!("Level {n}"), &parent)
            })
            .collect();
        let done = app
            .query(&format!("mutation {{ {} }}", chain.join(" ")))
            .as_admin()
            .await;
        let path = done.at("/m4/category/path").as_array().unwrap();
        assert_eq!(path.len(), 5, "{}", done.pretty());
        let keys: Vec<&String> = done.data().as_object().unwrap().keys().collect();
        assert_eq!(keys, ["m0", "m1", "m2", "m3", "m4"]);
        let six: Vec<String> = (0..6)
            .map(|n| one(&format!("m{n}"), &format!("Six {n}"), ""))
            .collect();
        let refused = app
            .query(&format!("mutation {{ {} }}", six.join(" ")))
            .as_admin()
            .await;
        assert!(refused.errors()[0].contains('5'), "{}", refused.pretty());
        assert_eq!(refused.sent_for_query(), [""; 0]);
    });
}

#[test]
fn a_payload_shows_what_was_written() {
    test(async |app| {
        category(app).await;
        let document = "mutation($input: CreateProductInput!) { createProduct(input: $input) {
            product { id ... on Book { pages } specs(displayUnits: [{ unit: \"in\" }]) { text } spec(key: \"width\", displayUnit: \"mm\") { text } } userErrors { code } } }";
        let input = json!({ "kind": "book", "name": "Dune", "category": "things",
            "specs": [{ "key": "width", "number": 12.7, "unit": "cm" }], "details": { "book": { "pages": 7 } } });
        let answer = app.query(document).as_admin().with("input", input).await;
        assert_eq!(answer.number("/createProduct/product/pages"), 7);
        assert_eq!(answer.text("/createProduct/product/specs/0/text"), "5 in");
        assert_eq!(answer.text("/createProduct/product/spec/text"), "127 mm");
        assert_eq!(mutation("createProduct").name, "createProduct");
    });
}

/// The answer to what was done must not be lost with what was not.
#[test]
fn a_refused_mutation_leaves_the_payloads_of_the_others_visible() {
    test(async |app| {
        let document = r#"mutation {
            a: createCategory(input: { name: "Lamps" }) { category { slug } }
            b: submitReview(input: { productId: "x", rating: 4, body: "Bright." }) { review { id } }
            c: createCategory(input: { name: "Lamps" }) { category { slug } userErrors { code } }
            d: createCategory(input: { name: "Chairs" }) { category { slug } } }"#;
        let answer = app.query(document).as_admin().await;
        let [error] = &answer.errors()[..] else {
            panic!("{}", answer.pretty());
        };
        assert!(error.starts_with("FORBIDDEN at b"), "{error}");
        let expected = json!({
            "a": { "category": { "slug": "lamps" } },
            "b": null,
            "c": { "category": null, "userErrors": [{ "code": "TAKEN" }] },
            "d": { "category": { "slug": "chairs" } },
        });
        assert_eq!(answer.body()["data"], expected);
    });
}
