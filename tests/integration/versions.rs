//! Documents that an earlier release wrote, beside those of this one.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document, doc};
use serde_json::{Value, json};
use vitrine_domain::workers::{Upkeep, Worker};
use vitrine_harness::surroundings::{update_expected, workspace_dir};
use vitrine_harness::{App, product, test};
use vitrine_model::product::{Book, Details, ProductStatus};
use vitrine_model::worker::{Run, WorkerReport};

async fn lamp(app: &App) -> String {
    app.has([product("Lamp")]).await;
    let lamp = app.query("{ product(slug: \"lamp\") { id } }").await;
    lamp.text("/product/id")
}

/// Makes everything about reviews what the first release wrote: it did not know what reviews are
/// filtered by.
async fn as_of_version_1(app: &App) {
    let older = doc! {
        "$set": { "schema_version": 1 },
        "$unset": {
            "traits": 1, "marks": 1, "applied.traits": 1,
            "round": 1, "reports": 1, "moderation": 1,
        },
    };
    let every = Document::new();
    let reviews = app.direct().collection::<Document>("reviews");
    reviews.update_many(every.clone(), older).await.unwrap();
    let without = doc! { "$unset": { "media": 1 } };
    let empty = doc! { "media": [] };
    reviews.update_many(empty, without).await.unwrap();
    let products = app.direct().collection::<Document>("products");
    let older = doc! { "$unset": { "stats.traits": 1 } };
    products.update_many(every, older).await.unwrap();
}

/// The lists of reviews that a page may show: all, by stars, and by what reviews are filtered by.
async fn lists(app: &App) -> Value {
    let list = |name: &str, filter: &str| {
        format!(
            "{name}: reviews(first: 20, sort: NEWEST{filter}) {{ nodes {{ title rating helpfulCount verified }} totalCount {{ value }} }}"
        )
    };
    let lists = [
        list("all", ""),
        list("four", ", filter: { ratings: [4] }"),
        list("german", ", filter: { language: \"de\" }"),
        list("bought", ", filter: { verifiedOnly: true }"),
        list(
            "pictured",
            ", filter: { withMedia: true, language: \"en\", ratings: [5] }",
        ),
    ];
    let query = format!(
        "{{ product(slug: \"lamp\") {{ ratingStats {{ average count languages {{ code count }} }} topReviews {{ title }} {} }} }}",
        lists.join(" ")
    );
    app.query(&query).await.at("/product").clone()
}

/// A review by the author of this number, every other with a picture; gives its id.
async fn submitted(app: &App, product: &str, rating: i64, language: &str, number: usize) -> String {
    let mut written = json!({
        "productId": product,
        "rating": rating,
        "title": format!("{language} {number}"),
        "body": "It shines.",
        "language": language,
    });
    if number.is_multiple_of(2) {
        let picture = json!({ "url": "https://example.com/lamp.jpg", "kind": "IMAGE" });
        written["media"] = json!([picture]);
    }
    let author = format!("author {number}");
    let reply = app.order_by(&author, "submitReview", written).await;
    reply.done();
    reply.text("/review/id")
}

#[test]
fn reviews_of_the_first_version_are_read_counted_and_brought_to_the_newest() {
    test(async |app| {
        let id = lamp(app).await;
        let mut ids = Vec::new();
        for (number, (rating, language)) in [(5, "en"), (4, "de"), (5, "en"), (1, "tlh")]
            .into_iter()
            .enumerate()
        {
            let author = format!("author {number}");
            let bought = json!({ "customerId": author, "productId": id });
            if number < 2 {
                app.order_by("shop", "recordPurchase", bought).await.done();
            }
            ids.push(submitted(app, &id, rating, language, number).await);
        }
        let deleted = json!({ "id": ids[3] });
        app.order_by("author 3", "deleteReview", deleted)
            .await
            .done();
        app.rest().await;
        let newest = lists(app).await;
        assert_eq!(newest["pictured"]["totalCount"]["value"], 2);

        as_of_version_1(app).await;
        let older = lists(app).await;
        for same in ["all", "four", "topReviews"] {
            assert_eq!(older[same], newest[same], "{same}");
        }
        assert_eq!(older["german"]["nodes"], json!([]));
        assert_eq!(older["german"]["totalCount"]["value"], 0);
        app.audit().await;

        // Whatever is counted anew is brought to the newest version by it, and nothing else is.
        let vote = json!({ "id": ids[1], "vote": "HELPFUL" });
        app.order_by("voter", "voteReview", vote).await.done();
        let bought = json!({ "customerId": "author 2", "productId": id });
        app.order_by("shop", "recordPurchase", bought).await.done();
        app.rest().await;
        app.audit().await;
        let partly = lists(app).await;
        assert_eq!(partly["german"]["totalCount"]["value"], 1);
        assert_eq!(partly["bought"]["totalCount"]["value"], 2);
        assert_eq!(
            app.documents("reviews", doc! { "schema_version": 1 })
                .await
                .len(),
            2
        );

        // The rest, by those who look for it; a purchase that is recorded meanwhile is not lost.
        assert_eq!(app.catalog.upgrade_reviews().await.unwrap(), 2);
        assert_eq!(app.catalog.upgrade_reviews().await.unwrap(), 0);
        assert_eq!(
            app.documents("reviews", doc! { "schema_version": 1 })
                .await
                .len(),
            0
        );
        app.audit().await;
        let mut upgraded = lists(app).await;
        assert_eq!(upgraded["bought"]["totalCount"]["value"], 3);
        let unvote = json!({ "id": ids[1] });
        app.order_by("voter", "removeVote", unvote).await.done();
        app.rest().await;
        upgraded = lists(app).await;
        for same in ["german", "four", "ratingStats", "topReviews"] {
            assert_eq!(upgraded[same], newest[same], "{same}");
        }
        assert_eq!(upgraded["pictured"]["totalCount"]["value"], 2);
        assert_eq!(upgraded["all"]["totalCount"]["value"], 3);
    });
}

#[test]
fn an_empty_index_says_that_no_review_is_of_an_older_version() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        app.forget_commands();
        assert_eq!(app.catalog.upgrade_reviews().await.unwrap(), 0);
        assert_eq!(app.sent(), ["find reviews"]);
    });
}

#[test]
fn everything_can_be_done_to_reviews_of_the_first_version() {
    test(async |app| {
        let id = lamp(app).await;
        let orders = [
            (
                "author 0",
                "editReview",
                json!({ "expectedRevision": 1, "rating": 2, "language": "de" }),
            ),
            ("author 1", "deleteReview", json!({})),
            ("reader", "voteReview", json!({ "vote": "UNHELPFUL" })),
            ("reader", "reportReview", json!({ "reason": "SPAM" })),
            (
                "mod",
                "moderateReview",
                json!({ "decision": "REJECT", "reason": "SPAM" }),
            ),
            ("mod", "replyToReview", json!({ "text": "Thank you." })),
        ];
        let mut ids = Vec::new();
        for number in 0..=orders.len() {
            ids.push(submitted(app, &id, 5, "en", number).await);
        }
        app.rest().await;
        as_of_version_1(app).await;
        app.audit().await;
        for ((by, order, mut input), review) in orders.into_iter().zip(&ids) {
            input["id"] = json!(review);
            app.order_by(by, order, input).await.done();
        }
        let erased = json!({ "authorId": "author 6", "policy": "ANONYMIZE" });
        app.order("eraseAuthor", erased).await.done();
        app.rest().await;
        app.audit().await;
        while app.catalog.upgrade_reviews().await.unwrap() > 0 {}
        app.audit().await;
        assert_eq!(
            app.documents("reviews", doc! { "schema_version": { "$lt": 2 } })
                .await,
            []
        );
        let shown = lists(app).await;
        assert_eq!(shown["all"]["totalCount"]["value"], 5);
        assert_eq!(shown["german"]["totalCount"]["value"], 1);

        // As after an older process has changed what a review is filtered by and counted it.
        let one = doc! { "language": "de" };
        let foreign = doc! { "$set": { "language": "fr", "dirty": true } };
        let reviews = app.direct().collection::<Document>("reviews");
        reviews.update_one(one, foreign).await.unwrap();
        app.rest().await;
        app.audit().await;
        assert_eq!(lists(app).await["german"]["totalCount"]["value"], 0);
    });
}

/// Makes products what the first release wrote: it did not say since when they are listed, and
/// knew nothing of sales.
async fn products_as_of_version_1(app: &App) {
    let older = doc! {
        "$set": { "schema_version": 1 },
        "$unset": { "listed_at": 1, "details.items.$[].as_of": 1 },
    };
    let products = app.direct().collection::<Document>("products");
    let bundles = doc! { "kind": "bundle" };
    products.update_many(bundles, older).await.unwrap();
    let older = doc! { "$set": { "schema_version": 1 }, "$unset": { "listed_at": 1 } };
    let others = doc! { "kind": { "$ne": "bundle" } };
    products.update_many(others, older).await.unwrap();
}

/// A shop with products of every state and some that are reviewed.
async fn shop(app: &App, size: usize) {
    let product_of = |n: usize| {
        let one = product(&format!("Thing {n}"))
            .supplier(
                if n.is_multiple_of(2) {
                    "North"
                } else {
                    "South"
                },
                "DE",
            )
            .category([
                "Things",
                if n.is_multiple_of(3) {
                    "Small"
                } else {
                    "Large"
                },
            ])
            .price(&format!("{}.50", n % 20 + 1))
            .text("color", ["red", "green", "blue"][n % 3])
            .quantity(
                "weight",
                1.0 + f64::from(u32::try_from(n % 7).unwrap()),
                "kg",
            );
        match n % 10 {
            8 => one.status(ProductStatus::Draft),
            9 => one.status(ProductStatus::Archived),
            _ => one,
        }
    };
    app.has((0..size).map(product_of)).await;
    app.has([product("Set").item("Thing 1", 2).item("Thing 2", 1)])
        .await;
    let reviewed = (0..size / 2).map(|n| {
        let stars = i64::try_from(n % 5).unwrap() + 1;
        vitrine_harness::review(&format!("Thing {n}"), n, stars)
    });
    app.has_reviews(reviewed).await;
}

/// What shoppers and admins are answered: pages, lists in all orders, filters, facets, searches.
async fn answers(app: &App) -> Vec<Value> {
    let lists = ["PRICE", "RATING", "POPULARITY", "NEWEST", "NAME", "BEST_SELLING", "TRENDING"].map(|key| {
        format!("{{ products(sort: [{{ key: {key} }}], first: 100) {{ nodes {{ slug }} totalCount {{ value relation }} }} }}")
    });
    let others = [
        "{ products(filter: { specs: [{ key: \"color\", text: { in: [\"red\"] } }], category: \"things\" }, first: 100) { nodes { slug listedAt } facets { key values { ... on TextFacetValue { value count } } } } }",
        "{ products(search: \"thing 1\", first: 100) { nodes { slug } } }",
        "{ a: product(slug: \"thing-1\") { id name listedAt createdAt status supplier { name country asOf } ratingStats { average } specs { text } topReviews { rating } counters { unitsSold { value } viewsInMonth { value } } }
           b: product(slug: \"set\") { name listedAt price { amount } ... on Bundle { items { name quantity price { amount } } } }
           c: product(slug: \"thing-8\") { name listedAt status } d: product(slug: \"thing-9\") { name listedAt status } }",
    ];
    let mut answers = Vec::new();
    for query in lists.iter().map(String::as_str).chain(others) {
        answers.push(app.query(query).await.body().clone());
        answers.push(app.query(query).as_admin().await.body().clone());
    }
    answers
}

#[test]
fn products_of_two_versions_answer_alike_while_they_are_written_and_upgraded() {
    test(async |app| {
        shop(app, 60).await;
        app.rest().await;
        let expected = answers(app).await;
        products_as_of_version_1(app).await;
        assert_eq!(answers(app).await, expected, "before");
        app.audit().await;
        // A part of them, one batch by one batch, each time with the same answers.
        let mut brought = 0;
        while let n @ 1.. = app.store.upgrade_products(15).await.unwrap().written {
            brought += n;
            assert_eq!(answers(app).await, expected, "after {brought}");
            app.audit().await;
        }
        assert_eq!(brought, 61);
        assert_eq!(answers(app).await, expected, "after");
        assert_eq!(
            app.catalog.upgrade_products().await.unwrap(),
            Run::default()
        );
        let drafts = doc! { "status": "draft", "listed_at": { "$exists": true } };
        assert!(app.documents("products", drafts).await.is_empty());
        let listed = doc! { "status": { "$ne": "draft" }, "listed_at": { "$exists": false } };
        assert!(app.documents("products", listed).await.is_empty());
    });
}

#[test]
fn no_edit_is_lost_while_products_are_upgraded() {
    test(async |app| {
        shop(app, 120).await;
        app.rest().await;
        let ids = app
            .query("{ a: product(slug: \"thing-1\") { id supplier { id } } b: product(slug: \"thing-2\") { id } }")
            .await;
        let other = app.other_process().await;
        let again = async {
            // An older release runs beside and keeps writing what it knows.
            for _ in 0..12 {
                products_as_of_version_1(app).await;
            }
        };
        let upgrade = async {
            for _ in 0..30 {
                let (one, two) = tokio::join!(
                    app.store.upgrade_products(40),
                    app.store.upgrade_products(40)
                );
                assert!(one.is_ok() && two.is_ok());
            }
        };
        let edits = async {
            for n in 0..25 {
                for (at, through) in [("/a/id", &app.catalog), ("/b/id", &other)] {
                    let edit = json!({ "id": ids.text(at), "brand": format!("Brand {n}") });
                    app.order("updateProduct", edit)
                        .through(through)
                        .await
                        .done();
                }
            }
        };
        let reviews = async {
            for n in 0..25 {
                submitted(app, &ids.text("/a/id"), 4, "en", n).await;
            }
        };
        let rename = async {
            for n in 0..10 {
                let input =
                    json!({ "id": ids.text("/a/supplier/id"), "name": format!("Name {n}") });
                app.order("updateSupplier", input).await.done();
                app.catalog.work_off(Worker::Suppliers).await.unwrap();
            }
        };
        tokio::join!(again, upgrade, edits, reviews, rename);
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        app.catalog.work_off(Worker::ProductVersions).await.unwrap();
        app.rest().await;
        let seen = app
            .query("{ a: product(slug: \"thing-1\") { brand revision ratingStats { count } supplier { name } } b: product(slug: \"thing-2\") { brand revision } }")
            .await;
        assert_eq!(
            *seen.data(),
            json!({
                "a": { "brand": "Brand 24", "revision": 26, "ratingStats": { "count": 26 }, "supplier": { "name": "Name 9" } },
                "b": { "brand": "Brand 24", "revision": 26 },
            })
        );
        let older = doc! { "schema_version": { "$lt": 2 } };
        assert!(app.documents("products", older).await.is_empty());
    });
}

#[test]
fn ordinary_writes_bring_a_product_to_the_newest_version() {
    test(async |app| {
        app.has([
            product("Lamp"),
            product("Draft").status(ProductStatus::Draft),
        ])
        .await;
        products_as_of_version_1(app).await;
        let of = async |slug: &str| {
            app.documents("products", doc! { "slug": slug })
                .await
                .remove(0)
        };
        for slug in ["lamp", "draft"] {
            let query = format!("{{ product(slug: \"{slug}\") {{ id }} }}");
            let id = app.query(&query).as_admin().await.text("/product/id");
            let edit = json!({ "id": id, "brand": "Bright" });
            app.order("updateProduct", edit).await.done();
            assert_eq!(of(slug).await.get_i32("schema_version").unwrap(), 2);
        }
        assert_eq!(
            of("lamp").await.get("listed_at"),
            of("lamp").await.get("created_at")
        );
        assert!(!of("draft").await.contains_key("listed_at"));
        app.clock.advance(5_000);
        let id = app
            .query("{ product(slug: \"draft\") { id } }")
            .as_admin()
            .await
            .text("/product/id");
        let publish = json!({ "id": id, "status": "ACTIVE" });
        app.order("updateProduct", publish).await.done();
        let seen = app
            .query("{ product(slug: \"draft\") { listedAt createdAt } }")
            .await;
        assert_eq!(
            *seen.at("/product"),
            json!({ "listedAt": "2026-05-31T12:00:05.000Z", "createdAt": "2026-05-31T12:00:00.000Z" })
        );
    });
}

/// Makes a document one of the next release: of a higher version, with a field nobody knows.
async fn of_the_future(app: &App, collection: &str) -> Document {
    let documents = app.direct().collection::<Document>(collection);
    let newer = doc! { "schema_version": 3, "hologram": { "depth": 4 } };
    documents
        .update_one(doc! {}, doc! { "$set": newer })
        .await
        .unwrap();
    let within = doc! { "details.narrator": "Zoe" };
    let detailed = doc! { "details": { "$exists": true } };
    documents
        .update_one(detailed, doc! { "$set": within })
        .await
        .unwrap();
    app.documents(collection, doc! {}).await.remove(0)
}

#[test]
fn a_product_of_the_future_is_read_and_never_written() {
    test(async |app| {
        let book = Details::Book(Book {
            isbn: Some("9783161484100".to_owned()),
            ..Book::default()
        });
        app.has([product("Lamp")
            .details(book)
            .supplier("North", "DE")
            .price("5.00")
            .text("colour", "Red")])
            .await;
        let page = "{ product(slug: \"lamp\") { ... on Book { isbn } id name price { amount } supplier { id name } ratingStats { count } specs { text } } }";
        let seen = app.query(page).await;
        let id = seen.text("/product/id");
        let newer = of_the_future(app, "products").await;
        assert_eq!(app.query(page).await.data(), seen.data());
        let unavailable = "UNAVAILABLE at it: this was written by a newer release of the service, which is being rolled out; try again";
        for (order, input) in [
            ("updateProduct", json!({ "id": id, "brand": "Bright" })),
            (
                "setSpecs",
                json!({ "productId": id, "specs": [{ "key": "shade", "text": "Dark" }] }),
            ),
            ("archiveProduct", json!({ "id": id })),
            ("repairRatingStats", json!({ "productId": id })),
        ] {
            let refused = app.order(order, input).await;
            assert_eq!(refused.0.errors(), [unavailable], "{order}");
        }
        // A review is kept, and counted by the newer release.
        let written = json!({ "productId": id, "rating": 4, "body": "Bright." });
        let reply = app.order_by("ann", "submitReview", written).await;
        assert_eq!(reply.done()["statsPending"], true);
        let bought = json!({ "productId": id, "customerId": "ann" });
        app.order("recordPurchase", bought).await.done();
        // Neither does any worker touch it.
        let supplier = json!({ "id": seen.text("/product/supplier/id"), "name": "Nord" });
        app.order("updateSupplier", supplier).await.done();
        let key = json!({ "key": "color", "type": "TEXT" });
        app.order("defineSpecKey", key).await.done();
        app.order(
            "mergeSpecKeys",
            json!({ "from": "colour", "into": "color" }),
        )
        .await
        .done();
        for worker in Worker::ALL {
            let mut upkeep = Upkeep::default();
            // The merge says that it cannot go on.
            let _ = app.catalog.work(worker, &mut upkeep).await;
        }
        assert_eq!(app.documents("products", doc! {}).await, [newer]);
        let waits = doc! { "dirty": true };
        assert_eq!(app.documents("reviews", waits).await.len(), 1);
        assert_eq!(app.documents("sales", doc! { "due": true }).await.len(), 1);
        // The newer release goes on, or goes away.
        let products = app.direct().collection::<Document>("products");
        let back = doc! { "$set": { "schema_version": 2 }, "$unset": { "hologram": 1, "details.narrator": 1 } };
        products.update_one(doc! {}, back).await.unwrap();
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        app.rest().await;
        let seen = app.query("{ product(slug: \"lamp\") { ratingStats { count } counters { unitsSold { value } } } }").await;
        assert_eq!(
            *seen.at("/product"),
            json!({ "ratingStats": { "count": 1 }, "counters": { "unitsSold": { "value": 1 } } })
        );
    });
}

#[test]
fn a_review_of_the_future_is_read_and_never_written() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submitted(app, &id, 4, "en", 0).await;
        app.rest().await;
        let shown = "{ product(slug: \"lamp\") { ratingStats { count average } reviews(first: 5) { nodes { title rating helpfulCount } } } }";
        let seen = app.query(shown).await;
        let newer = of_the_future(app, "reviews").await;
        assert_eq!(app.query(shown).await.data(), seen.data());
        for (by, order, input) in [
            (
                "author 0",
                "editReview",
                json!({ "id": review, "title": "other", "expectedRevision": 1 }),
            ),
            ("author 0", "deleteReview", json!({ "id": review })),
            (
                "ben",
                "voteReview",
                json!({ "id": review, "vote": "HELPFUL" }),
            ),
            (
                "ben",
                "reportReview",
                json!({ "id": review, "reason": "SPAM" }),
            ),
            (
                "mod",
                "moderateReview",
                json!({ "id": review, "decision": "REJECT", "reason": "SPAM" }),
            ),
            (
                "mod",
                "replyToReview",
                json!({ "id": review, "text": "Thanks." }),
            ),
            (
                "admin",
                "eraseAuthor",
                json!({ "authorId": "author 0", "policy": "REMOVE" }),
            ),
        ] {
            let refused = app.order_by(by, order, input).await;
            let told = refused.0.errors();
            assert!(
                told.len() == 1 && told[0].starts_with("UNAVAILABLE"),
                "{order}: {told:?}"
            );
        }
        let bought = json!({ "productId": id, "customerId": "author 0" });
        app.order("recordPurchase", bought).await.done();
        for worker in Worker::ALL {
            let _ = app.catalog.work(worker, &mut Upkeep::default()).await;
        }
        assert_eq!(app.documents("reviews", doc! {}).await, [newer]);
        // It is one of this release again: what could not be done is done.
        let reviews = app.direct().collection::<Document>("reviews");
        let back = doc! { "$set": { "schema_version": 2 }, "$unset": { "hologram": 1 } };
        reviews.update_one(doc! {}, back).await.unwrap();
        app.clock.advance(600_000);
        app.catalog.work_off(Worker::Purchases).await.unwrap();
        app.catalog.work_off(Worker::Erasures).await.unwrap();
        app.rest().await;
        let seen = app
            .query("{ product(slug: \"lamp\") { ratingStats { count } } }")
            .await;
        assert_eq!(*seen.at("/product/ratingStats/count"), 0);
    });
}

#[test]
fn progress_is_data() {
    test(async |app| {
        shop(app, 40).await;
        app.rest().await;
        products_as_of_version_1(app).await;
        let query = "{ dataVersions { collection newestVersion versions { version documents } remaining ratePerSecond secondsLeft } }";
        app.store.upgrade_products(10).await.unwrap();
        let seen = app.query(query).as_admin().await;
        assert_eq!(
            *seen.at("/dataVersions"),
            json!([
                {
                    "collection": "products", "newestVersion": 2, "remaining": 31,
                    "versions": [{ "version": 1, "documents": 31 }, { "version": 2, "documents": 10 }],
                    "ratePerSecond": null, "secondsLeft": null,
                },
                {
                    "collection": "reviews", "newestVersion": 2, "remaining": 0,
                    "versions": [{ "version": 2, "documents": 20 }],
                    "ratePerSecond": null, "secondsLeft": null,
                },
            ])
        );
        // As the process that works reports.
        let now = vitrine_model::clock::Clock::now(&*app.clock);
        let mut report = WorkerReport::default();
        report.ran(
            Run {
                done: 10,
                backlog: 41,
                ..Run::default()
            },
            now,
            5,
        );
        report.ran(
            Run {
                done: 10,
                backlog: 31,
                ..Run::default()
            },
            now.plus_millis(2_000),
            5,
        );
        app.catalog
            .keep_reports(vec![("product_versions", report)])
            .await
            .unwrap();
        let seen = app.query(query).as_admin().await;
        assert_eq!(
            (
                seen.at("/dataVersions/0/ratePerSecond"),
                seen.at("/dataVersions/0/secondsLeft")
            ),
            (&json!(5.0), &json!(6.2))
        );
        assert!(app.query(query).await.errors()[0].starts_with("UNAUTHENTICATED"));
        app.catalog.work_off(Worker::ProductVersions).await.unwrap();
    });
}

/// A value with its exact type: JSON by itself knows one kind of number.
fn exact(value: &Bson) -> Value {
    match value {
        Bson::Document(doc) => doc
            .iter()
            .map(|(field, value)| (field.clone(), exact(value)))
            .collect(),
        Bson::Array(items) => items.iter().map(exact).collect(),
        Bson::Int32(n) => json!({ "$numberInt": n.to_string() }),
        Bson::Int64(n) => json!({ "$numberLong": n.to_string() }),
        Bson::Double(n) => json!({ "$numberDouble": n.to_string() }),
        other => serde_json::to_value(other).unwrap(),
    }
}

/// Everything that the database of a test holds, by collection.
async fn frozen(app: &App) -> Value {
    let mut all = serde_json::Map::new();
    let mut names = app.direct().list_collection_names().await.unwrap();
    names.sort();
    for name in names {
        let documents = app.documents(&name, doc! {}).await;
        if !documents.is_empty() {
            let documents = documents.into_iter().map(Bson::Document);
            all.insert(name, documents.map(|doc| exact(&doc)).collect());
        }
    }
    all.into()
}

/// The shop that every version has in its file.
async fn small_shop(app: &App) {
    let book = Details::Book(Book {
        isbn: Some("9783161484100".to_owned()),
        pages: Some(412),
        ..Book::default()
    });
    app.has([
        product("Lamp")
            .supplier("North", "DE")
            .brand("Bright")
            .price("39.90")
            .text("color", "Moss green")
            .quantity("weight", 1.2, "kg")
            .date("release", "2026-02-01")
            .image("https://example.com/lamp.jpg", "a lamp"),
        product("Bulb").supplier("South", "AT").price("2.50"),
        product("Novel").details(book),
        product("Secret").status(ProductStatus::Draft),
        product("Relic").status(ProductStatus::Archived),
        product("Set").item("Lamp", 1).item("Bulb", 3),
    ])
    .await;
    app.has_reviews((0..12).map(|n| {
        let stars = i64::from(n % 5) + 1;
        vitrine_harness::review("Lamp", n, stars).title(&format!("imported {n}"))
    }))
    .await;
    let lamp = app.query("{ product(slug: \"lamp\") { id } }").await;
    let lamp = lamp.text("/product/id");
    let bought = json!({ "productId": lamp, "customerId": "author 1" });
    app.order("recordPurchase", bought).await.done();
    for n in 0..4 {
        let id = submitted(app, &lamp, 5 - i64::try_from(n).unwrap(), "en", n).await;
        let vote = json!({ "id": id, "vote": "HELPFUL" });
        app.order_by("voter", "voteReview", vote).await.done();
    }
    app.rest().await;
}

/// What a release has to answer about that shop, whichever version its documents are of.
async fn small_shop_shown(app: &App) -> Value {
    let product = "{ name status listedAt createdAt price { amount } brand supplier { name country } specs { label text }
        media { url } ratingStats { count average histogram { count } recommendedShare } topReviews(first: 10) { title rating helpfulCount }
        reviews(first: 20, sort: HIGHEST) { nodes { title rating verified helpfulCount status } totalCount { value } }
        counters { viewsInMonth { value } } ratingTrend(months: 1) { histogram { count } }
        ... on Book { isbn pages } ... on Bundle { items { name quantity price { amount } } } }";
    let slugs = ["lamp", "bulb", "novel", "secret", "relic", "set"];
    let fields = slugs.map(|slug| format!("{slug}: product(slug: \"{slug}\") {product}"));
    let lists = "newest: products(sort: [{ key: NEWEST }]) { nodes { slug } } found: products(search: \"bright\") { nodes { slug } }
        heavy: products(filter: { specs: [{ key: \"weight\", number: { gte: 1, unit: \"kg\" } }], country: [\"DE\"] }) { nodes { slug } }";
    let query = format!("{{ {} {lists} }}", fields.join(" "));
    app.query(&query).as_admin().await.data().clone()
}

#[test]
fn every_version_that_was_ever_written_is_read_and_upgraded() {
    let directory = workspace_dir().join("tests/fixtures/versions");
    let newest = directory.join("products-2-reviews-2.json");
    if update_expected() && !newest.exists() {
        test(async |app| {
            small_shop(app).await;
            let text = serde_json::to_string_pretty(&frozen(app).await).unwrap();
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(&newest, format!("{text}\n")).unwrap();
        });
    }
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    let mut shown = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let stored: BTreeMap<String, Vec<Document>> = serde_json::from_str(&text).unwrap();
        test(async |app| {
            for (collection, documents) in &stored {
                let collection = app.direct().collection::<Document>(collection);
                collection.delete_many(doc! {}).await.unwrap();
                collection.insert_many(documents).await.unwrap();
            }
            app.catalog.refresh_reference().await.unwrap();
            let before = small_shop_shown(app).await;
            app.audit().await;
            for worker in [
                Worker::ProductVersions,
                Worker::ReviewVersions,
                Worker::Fold,
            ] {
                app.catalog.work_off(worker).await.unwrap();
            }
            assert_eq!(small_shop_shown(app).await, before, "{}", file.display());
            for (collection, newest) in [("products", 2), ("reviews", 2)] {
                let older = doc! { "schema_version": { "$ne": newest } };
                assert!(app.documents(collection, older).await.is_empty());
            }
            shown.push(before);
        });
    }
    let first = &shown[0];
    assert_eq!(first["lamp"]["ratingStats"]["count"], 16);
    for (file, shown) in files.iter().zip(&shown) {
        assert_eq!(shown, first, "{}", file.display());
    }
}

#[test]
fn a_product_that_cannot_be_upgraded_keeps_no_other_from_it() {
    test(async |app| {
        shop(app, 20).await;
        app.rest().await;
        products_as_of_version_1(app).await;
        let upgrade = async || {
            let first = app.catalog.upgrade_products().await.unwrap();
            assert_eq!(
                first,
                Run {
                    done: 20,
                    backlog: 1,
                    ..Run::default()
                }
            );
            assert!(app.catalog.upgrade_products().await.is_err());
        };
        app.with_damaged("thing-3", "name", Box::pin(upgrade()))
            .await;
        let last = app.catalog.upgrade_products().await.unwrap();
        assert_eq!(
            last,
            Run {
                done: 1,
                backlog: 0,
                ..Run::default()
            }
        );
    });
}
