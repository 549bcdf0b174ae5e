//! The maximum size of a product: a large product stays fast, and a larger one is refused with the
//! limit, its size and its largest parts.

use serde_json::{Value, json};
use vitrine_harness::{App, product, review, test};
use vitrine_model::review::MAX_TOP_REVIEWS;

async fn things(app: &App) {
    app.mutate("createCategory", json!({ "name": "Things" }))
        .await
        .done();
}

/// A product with 200 specs of every type and a long description, close to all limits.
fn full(name: &str) -> Value {
    let spec = |n: usize| match n % 4 {
        0 => {
            json!({ "key": format!("text_{n:03}"), "text": format!("{n:03} {}", "word ".repeat(5)) })
        }
        1 => json!({ "key": format!("number_{n:03}"), "number": n }),
        2 => json!({ "key": format!("size_{n:03}"), "number": n, "unit": "cm" }),
        _ => json!({ "key": format!("flag_{n:03}"), "boolean": true }),
    };
    let specs: Vec<Value> = (0..200).map(spec).collect();
    json!({ "kind": "thing", "name": name, "category": "things", "status": "ACTIVE", "description": "d".repeat(12_000), "specs": specs, "price": { "amount": "5" } })
}

#[test]
fn a_product_with_two_hundred_specs_costs_no_more_commands() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        things(app).await;
        let mut ids = Vec::new();
        for n in 0..20 {
            ids.push(
                app.mutate("createProduct", full(&format!("Full {n}")))
                    .await
                    .text("/product/id"),
            );
        }
        app.start_profiler().await;
        let page = app.query("query($id: ID) { product(id: $id) { description specs { key label text } topReviews { excerpt } ratingStats { average } } }");
        let (page, executed) = app
            .profile(page.with("id", ids[7].clone()).into_future())
            .await;
        page.assert_commands(&["find products"]);
        assert_eq!((executed[0].keys(), executed[0].docs()), (1, 1));
        assert_eq!(page.at("/product/specs").as_array().unwrap().len(), 200);
        let list = app.query(
            "{ products(first: 20, sort: [{ key: NAME }]) { nodes { name specs { text } } } }",
        );
        let (list, executed) = app.profile(list.into_future()).await;
        list.assert_commands(&["find products"]);
        assert_eq!((executed[0].keys(), executed[0].docs()), (20, 20));
        let filtered = app.query(r#"{ products(filter: { specs: [{ key: "size_002", number: { gte: 1, unit: "cm" } }, { key: "text_000", text: { eq: "000 word word word word word" } }] }) { totalCount { value } facets { key } } }"#).await;
        assert_eq!(filtered.number("/products/totalCount/value"), 20);
        let facets = filtered.at("/products/facets").as_array().unwrap().len();
        assert!(
            facets <= 30,
            "{facets} facets are more than anyone looks at"
        );
        // Changing one of them writes one product.
        let one = app
            .mutate(
                "setSpecs",
                json!({ "productId": ids[0], "specs": [{ "key": "number_001", "number": 7 }] }),
            )
            .await;
        let writes = one
            .0
            .sent()
            .iter()
            .filter(|sent| sent.ends_with(" products"))
            .count();
        assert!(writes <= 3, "{:?}", one.0.sent());
    });
}

#[test]
fn one_spec_too_many_is_refused() {
    test(async |app| {
        things(app).await;
        let id = app
            .mutate("createProduct", full("Full"))
            .await
            .text("/product/id");
        let refused = app
            .mutate(
                "setSpecs",
                json!({ "productId": id, "specs": [{ "key": "one_more", "number": 1 }] }),
            )
            .await;
        assert_eq!(refused.user_error_paths(), ["TOO_LARGE at specs"]);
        let message = refused.user_errors().concat();
        assert!(
            message.contains("201") && message.contains("200"),
            "{message}"
        );
        let mut input = full("Fuller");
        input["specs"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "key": "one_more", "number": 1 }));
        assert_eq!(
            app.mutate("createProduct", input).await.user_error_paths(),
            ["TOO_LARGE at specs"]
        );
        let media: Vec<Value> = (0..51)
            .map(|n| json!({ "url": format!("https://example.com/{n}"), "kind": "IMAGE" }))
            .collect();
        let refused = app
            .mutate("updateProduct", json!({ "id": id, "media": media }))
            .await;
        assert_eq!(refused.user_error_paths(), ["TOO_LARGE at media"]);
        let message = refused.user_errors().concat();
        assert!(
            message.contains("51") && message.contains("50"),
            "{message}"
        );
    });
}

#[test]
fn a_product_that_is_too_large_is_refused_with_its_largest_parts() {
    test(async |app| {
        things(app).await;
        let specs: Vec<Value> = (0..4)
            .map(|n| json!({ "key": format!("notes_{n}"), "text": "n".repeat(6_000 + n) }))
            .collect();
        let input = json!({ "kind": "thing", "name": "Big", "category": "things", "description": "d".repeat(19_000), "specs": specs });
        let refused = app.mutate("createProduct", input.clone()).await;
        assert_eq!(refused.user_error_paths().len(), 1);
        let message = refused.user_errors().concat();
        println!("{message}");
        assert!(message.starts_with("TOO_LARGE: "), "{message}");
        for part in ["40,000", "description", "notes_3", "notes_2"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(
            !message.contains("notes_0"),
            "only the largest three: {message}"
        );
        let size = message
            .split(' ')
            .find_map(|word| word.replace(',', "").parse::<i64>().ok())
            .unwrap();
        assert!((43_000..50_000).contains(&size), "{message}");
        // A slightly smaller one is accepted, also with embedded reviews.
        let mut fits = input;
        fits["specs"].as_array_mut().unwrap().truncate(3);
        fits["sku"] = "feed:Big".into();
        fits["status"] = "ACTIVE".into();
        let id = app.mutate("createProduct", fits).await.text("/product/id");
        let over = app.mutate("setSpecs", json!({ "productId": id, "specs": [{ "key": "notes_3", "text": "n".repeat(8_000) }] })).await;
        assert_eq!(over.user_errors().len(), 1);
        assert_eq!(over.payload()["product"]["revision"], 1);
    });
}

#[test]
fn embedded_reviews_fit_into_a_full_product() {
    test(async |app| {
        let mut full = product("Full").description(&"d".repeat(19_000));
        for n in 0..30 {
            full = full.text(&format!("notes_{n}"), &"n".repeat(600));
        }
        app.has([full]).await;
        app.has_reviews((0..40).map(|n| {
            review("Full", n, 5)
                .title(&"t".repeat(200))
                .body(&"b".repeat(10_000))
                .helpful(n)
        }))
        .await;
        let page = app
            .query(r#"{ product(slug: "full") { ratingStats { count } topReviews { excerpt } } }"#)
            .await;
        assert_eq!(page.number("/product/ratingStats/count"), 40);
        let top = page.at("/product/topReviews").as_array().unwrap();
        assert_eq!(top.len(), MAX_TOP_REVIEWS);
    });
}

#[test]
fn long_texts_are_kept_and_shown_and_cannot_be_filtered_by() {
    test(async |app| {
        things(app).await;
        let (short, long, longest) = ("s".repeat(256), "l".repeat(257), "x".repeat(8_192));
        let specs = json!([{ "key": "short", "text": short }, { "key": "long", "text": long }, { "key": "longest", "text": longest }]);
        let input = json!({ "kind": "thing", "name": "Texts", "category": "things", "status": "ACTIVE", "specs": specs });
        let made = app.mutate("createProduct", input).await;
        let shown: Vec<&str> = made.done()["product"]["specs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|spec| spec["text"].as_str().unwrap())
            .collect();
        assert_eq!(shown, [&short, &long, &longest]);
        let find = async |key: &str, text: &str| {
            let query = "query($filter: ProductFilterInput) { products(filter: $filter) { nodes { name } } }";
            let filter = json!({ "specs": [{ "key": key, "text": { "eq": text } }] });
            app.query(query).with("filter", filter).await
        };
        assert_eq!(find("short", &short).await.names("/products"), ["Texts"]);
        let refused = find("long", &long).await;
        assert!(
            refused.errors().concat().contains("more than 256 bytes"),
            "{}",
            refused.pretty()
        );
        assert!(
            refused.errors().concat().contains("filter.specs[0].text"),
            "{}",
            refused.pretty()
        );
        assert_eq!(
            find("long", &long[..256]).await.names("/products"),
            [""; 0],
            "not by its beginning"
        );
        let there = app.query(r#"{ products(filter: { specs: [{ key: "long", exists: true }] }) { nodes { name } facets(keys: ["long"]) { productCount values { label } } } }"#).await;
        assert_eq!(there.names("/products"), ["Texts"]);
        assert!(
            !there.pretty().contains("lll"),
            "no value that a click could not find: {}",
            there.pretty()
        );
        let id = made.text("/product/id");
        let over = app.mutate("setSpecs", json!({ "productId": id, "specs": [{ "key": "longest", "text": "x".repeat(8_193) }] })).await;
        assert_eq!(over.user_error_paths(), ["INVALID at specs.0.text"]);
        let message = over.user_errors().concat();
        assert!(
            message.contains("8193") || message.contains("8,193"),
            "{message}"
        );
    });
}
