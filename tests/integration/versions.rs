//! Documents of earlier and later releases, beside those of this one.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{App, product, test};
use vitrine_model::product::{Book, Details, ProductStatus};
use vitrine_model::worker::{WorkerReport, WorkerRun};
use vitrine_storage::versions::VersionStep;

async fn lamp(app: &App) -> String {
    app.has([product("Lamp")]).await;
    let lamp = app.query("{ product(slug: \"lamp\") { id } }").await;
    lamp.text("/product/id")
}

/// The steps of a service whose documents have a made-up version 0, which leaves out `media` where
/// there are none.
fn steps() -> Vec<VersionStep> {
    let step = |collection| VersionStep {
        collection,
        from: 0,
        stages: r#"[{ "$set": { "media": { "$ifNull": ["$media", []] } } }]"#,
    };
    vec![step("products"), step("reviews")]
}

/// Runs a test of the service with these steps.
fn upgrading(check: &impl AsyncFn(&App)) {
    test(async |app| {
        let app = app.with_version_steps(steps()).await;
        check(&app).await;
    });
}

/// Makes all documents what version 0 was.
async fn as_of_version_0(app: &App, collection: &str) {
    let documents = app.direct().collection::<Document>(collection);
    let older = doc! { "$set": { "schema_version": 0 }, "$unset": { "media": 1 } };
    let empty = doc! { "media": [] };
    documents.update_many(empty, older).await.unwrap();
    let older = doc! { "$set": { "schema_version": 0 } };
    let others = doc! { "media": { "$ne": [] } };
    documents.update_many(others, older).await.unwrap();
}

/// The newest version of the documents of a collection.
async fn newest(app: &App, collection: &str) -> i32 {
    let counts = match collection {
        "products" => app.store.product_schema_versions().await,
        _ => app.store.review_schema_versions().await,
    };
    counts.unwrap().newest
}

fn of_version_0() -> Document {
    doc! { "schema_version": { "$lt": 1 } }
}

/// The lists of reviews of a page: all, by stars, and by every filter.
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

/// Submits a review of the author with this number, every other with a picture; returns its id.
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
    let reply = app.mutate_by(&author, "submitReview", written).await;
    reply.done();
    reply.text("/review/id")
}

#[test]
fn reviews_of_two_versions_read_the_same_during_an_upgrade() {
    upgrading(&async |app| {
        let id = lamp(app).await;
        let mut ids = Vec::new();
        for (number, (rating, language)) in [(5, "en"), (4, "de"), (5, "en"), (1, "tlh")]
            .into_iter()
            .enumerate()
        {
            let author = format!("author {number}");
            let bought = json!({ "customerId": author, "productId": id });
            if number < 2 {
                app.mutate_by("shop", "recordPurchase", bought).await.done();
            }
            ids.push(submitted(app, &id, rating, language, number).await);
        }
        let deleted = json!({ "id": ids[3] });
        app.mutate_by("author 3", "deleteReview", deleted)
            .await
            .done();
        app.run_background_work().await;
        let expected = lists(app).await;
        assert_eq!(expected["pictured"]["totalCount"]["value"], 2);
        as_of_version_0(app, "reviews").await;
        assert_eq!(lists(app).await, expected);
        app.audit().await;

        // Concurrent writes are counted as usual.
        let vote = json!({ "id": ids[1], "vote": "HELPFUL" });
        app.mutate_by("voter", "voteReview", vote).await.done();
        let bought = json!({ "customerId": "author 2", "productId": id });
        app.mutate_by("shop", "recordPurchase", bought).await.done();
        app.run_background_work().await;
        app.audit().await;
        let partly = lists(app).await;
        assert_eq!(partly["bought"]["totalCount"]["value"], 3);
        let run = app.catalog.upgrade_reviews().await.unwrap();
        assert_eq!(run.done, 4);
        assert_eq!(lists(app).await, partly);
        assert_eq!(app.documents("reviews", of_version_0()).await, []);
        app.audit().await;
        assert_eq!(
            app.catalog.upgrade_reviews().await.unwrap(),
            WorkerRun::default()
        );
    });
}

#[test]
fn without_steps_an_upgrade_sends_no_command() {
    test(async |app| {
        let app = app.with_version_steps(Vec::new()).await;
        app.has([product("Lamp")]).await;
        app.forget_commands();
        assert_eq!(
            app.catalog.upgrade_reviews().await.unwrap(),
            WorkerRun::default()
        );
        assert_eq!(
            app.catalog.upgrade_products().await.unwrap(),
            WorkerRun::default()
        );
        assert_eq!(app.sent(), [""; 0]);
    });
}

#[test]
fn every_mutation_accepts_reviews_of_an_older_version() {
    upgrading(&async |app| {
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
        app.run_background_work().await;
        as_of_version_0(app, "reviews").await;
        app.audit().await;
        for ((by, order, mut input), review) in orders.into_iter().zip(&ids) {
            input["id"] = json!(review);
            app.mutate_by(by, order, input).await.done();
        }
        let erased = json!({ "authorId": "author 6", "policy": "ANONYMIZE" });
        app.mutate("eraseAuthor", erased).await.done();
        app.run_background_work().await;
        app.audit().await;
        app.catalog.work_off(Worker::ReviewVersions).await.unwrap();
        app.audit().await;
        assert_eq!(app.documents("reviews", of_version_0()).await, []);
        let shown = lists(app).await;
        assert_eq!(shown["all"]["totalCount"]["value"], 5);
        assert_eq!(shown["german"]["totalCount"]["value"], 1);
    });
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

/// The answers to shoppers and admins: pages, lists in all sort orders, filters, facets, searches.
async fn answers(app: &App) -> Vec<Value> {
    let lists = ["PRICE", "RATING", "POPULARITY", "NEWEST", "UPDATED", "NAME", "BEST_SELLING", "TRENDING"].map(|key| {
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
fn products_of_two_versions_read_the_same_during_an_upgrade() {
    upgrading(&async |app| {
        shop(app, 60).await;
        app.run_background_work().await;
        let expected = answers(app).await;
        as_of_version_0(app, "products").await;
        assert_eq!(answers(app).await, expected, "before");
        app.audit().await;
        // Batch by batch, with the same answers after each.
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
            WorkerRun::default()
        );
        let without = doc! { "media": { "$exists": false } };
        assert_eq!(app.documents("products", without).await, []);
    });
}

/// Two processes upgrade products again and again.
async fn keep_upgrading(app: &App) {
    for _ in 0..30 {
        let (one, two) = tokio::join!(
            app.store.upgrade_products(40),
            app.store.upgrade_products(40)
        );
        assert!(one.is_ok() && two.is_ok());
    }
}

#[test]
fn no_edit_is_lost_while_products_are_upgraded() {
    upgrading(&async |app| {
        shop(app, 120).await;
        app.run_background_work().await;
        let ids = app
            .query("{ a: product(slug: \"thing-1\") { id supplier { supplierId } } b: product(slug: \"thing-2\") { id } }")
            .await;
        let other = app.with_version_steps(steps()).await.catalog;
        // An older release runs beside and writes documents of its version.
        let again = async {
            for _ in 0..12 {
                as_of_version_0(app, "products").await;
            }
        };
        let edits = async {
            for n in 0..25 {
                for (at, through) in [("/a/id", &app.catalog), ("/b/id", &other)] {
                    let edit = json!({ "id": ids.text(at), "brand": format!("Brand {n}") });
                    let edited = app.mutate("updateProduct", edit).through(through);
                    edited.await.done();
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
                let name = format!("Name {n}");
                let input = json!({ "id": ids.text("/a/supplier/supplierId"), "name": name });
                app.mutate("updateSupplier", input).await.done();
                app.catalog.work_off(Worker::Suppliers).await.unwrap();
            }
        };
        tokio::join!(again, keep_upgrading(app), edits, reviews, rename);
        for worker in [Worker::Suppliers, Worker::ProductVersions] {
            app.catalog.work_off(worker).await.unwrap();
        }
        app.run_background_work().await;
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
        assert_eq!(app.documents("products", of_version_0()).await, []);
    });
}

#[test]
fn an_ordinary_write_upgrades_its_product() {
    upgrading(&async |app| {
        let id = lamp(app).await;
        as_of_version_0(app, "products").await;
        let edit = json!({ "id": id, "brand": "Bright" });
        app.mutate("updateProduct", edit).await.done();
        let lamp = app.documents("products", doc! {}).await.remove(0);
        let newest = newest(app, "products").await;
        assert_eq!(lamp.get_i32("schema_version").unwrap(), newest);
        assert!(lamp.get_array("media").unwrap().is_empty());
    });
}

/// Turns a document into one of the next release: of a higher version, with an unknown field.
async fn of_the_future(app: &App, collection: &str) -> Document {
    let documents = app.direct().collection::<Document>(collection);
    let version = newest(app, collection).await + 1;
    let newer = doc! { "schema_version": version, "hologram": { "depth": 4 } };
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

/// A book whose document was written by the next release.
struct NewerProduct {
    id: String,
    supplier: String,
    document: Document,
}

async fn newer_product(app: &App) -> NewerProduct {
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
    let page = "{ product(slug: \"lamp\") { ... on Book { isbn } id name price { amount } supplier { supplierId name } ratingStats { count } specs { text } } }";
    let seen = app.query(page).await;
    let id = seen.text("/product/id");
    let newer = of_the_future(app, "products").await;
    assert_eq!(app.query(page).await.data(), seen.data());
    NewerProduct {
        id,
        supplier: seen.text("/product/supplier/supplierId"),
        document: newer,
    }
}

#[test]
fn a_newer_product_is_read_and_its_mutations_are_unavailable() {
    test(async |app| {
        let NewerProduct { id, document, .. } = newer_product(app).await;
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
            let refused = app.mutate(order, input).await;
            assert_eq!(refused.0.errors(), [unavailable], "{order}");
        }
        assert_eq!(app.documents("products", doc! {}).await, [document]);
    });
}

#[test]
fn workers_leave_a_newer_product_and_its_reviews_to_the_newer_release() {
    test(async |app| {
        let NewerProduct {
            id,
            supplier,
            document,
        } = newer_product(app).await;
        // A review is stored, and counted by the newer release.
        let written = json!({ "productId": id, "rating": 4, "body": "Bright." });
        let reply = app.mutate_by("ann", "submitReview", written).await;
        assert_eq!(reply.done()["statsPending"], true);
        let bought = json!({ "productId": id, "customerId": "ann" });
        app.mutate("recordPurchase", bought).await.done();
        let supplier = json!({ "id": supplier, "name": "Nord" });
        app.mutate("updateSupplier", supplier).await.done();
        let key = json!({ "key": "color", "type": "TEXT" });
        app.mutate("defineSpecKey", key).await.done();
        let keys = json!({ "from": "colour", "into": "color" });
        app.mutate("mergeSpecKeys", keys).await.done();
        for worker in Worker::ALL {
            let mut maintenance = MaintenanceState::default();
            // The merge reports that it cannot finish.
            let _ = app.catalog.work(worker, &mut maintenance).await;
        }
        assert_eq!(app.documents("products", doc! {}).await, [document]);
        let waits = doc! { "dirty": true };
        assert_eq!(app.documents("reviews", waits).await.len(), 1);
        assert_eq!(app.documents("sales", doc! { "due": true }).await.len(), 1);
        // The newer release is rolled back: all that was pending is done.
        let products = app.direct().collection::<Document>("products");
        let version = newest(app, "products").await;
        let back = doc! { "$set": { "schema_version": version }, "$unset": { "hologram": 1, "details.narrator": 1 } };
        products.update_one(doc! {}, back).await.unwrap();
        app.catalog.work_off(Worker::Suppliers).await.unwrap();
        app.run_background_work().await;
        let seen = app.query("{ product(slug: \"lamp\") { ratingStats { count } counters { unitsSold { value } } } }").await;
        assert_eq!(
            *seen.at("/product"),
            json!({ "ratingStats": { "count": 1 }, "counters": { "unitsSold": { "value": 1 } } })
        );
    });
}

/// Mutations of the review of `author 0`, each with its caller.
fn review_mutations(review: &str) -> [(&'static str, &'static str, Value); 7] {
    [
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
    ]
}

#[test]
fn a_newer_review_is_read_and_never_written() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submitted(app, &id, 4, "en", 0).await;
        app.run_background_work().await;
        let shown = "{ product(slug: \"lamp\") { ratingStats { count average } reviews(first: 5) { nodes { title rating helpfulCount } } } }";
        let seen = app.query(shown).await;
        let newer = of_the_future(app, "reviews").await;
        assert_eq!(app.query(shown).await.data(), seen.data());
        for (by, order, input) in review_mutations(&review) {
            let refused = app.mutate_by(by, order, input).await;
            let errors = refused.0.errors();
            assert!(
                errors.len() == 1 && errors[0].starts_with("UNAVAILABLE"),
                "{order}: {errors:?}"
            );
        }
        let bought = json!({ "productId": id, "customerId": "author 0" });
        app.mutate("recordPurchase", bought).await.done();
        for worker in Worker::ALL {
            let _ = app
                .catalog
                .work(worker, &mut MaintenanceState::default())
                .await;
        }
        assert_eq!(app.documents("reviews", doc! {}).await, [newer]);
        // The newer release is rolled back: all that was pending is done.
        let reviews = app.direct().collection::<Document>("reviews");
        let version = newest(app, "reviews").await;
        let back = doc! { "$set": { "schema_version": version }, "$unset": { "hologram": 1 } };
        reviews.update_one(doc! {}, back).await.unwrap();
        app.clock.advance(600_000);
        app.catalog.work_off(Worker::Purchases).await.unwrap();
        app.catalog.work_off(Worker::Erasures).await.unwrap();
        app.run_background_work().await;
        let seen = app
            .query("{ product(slug: \"lamp\") { ratingStats { count } } }")
            .await;
        assert_eq!(*seen.at("/product/ratingStats/count"), 0);
    });
}

#[test]
fn the_progress_of_an_upgrade_can_be_queried() {
    upgrading(&async |app| {
        shop(app, 40).await;
        app.run_background_work().await;
        as_of_version_0(app, "products").await;
        let query = "{ dataVersions { collection newestVersion versions { version documents } remaining ratePerSecond secondsLeft } }";
        app.store.upgrade_products(10).await.unwrap();
        let seen = app.query(query).as_admin().await;
        let (products, reviews) = (newest(app, "products").await, newest(app, "reviews").await);
        assert_eq!(
            *seen.at("/dataVersions"),
            json!([
                {
                    "collection": "products", "newestVersion": products, "remaining": 31,
                    "versions": [{ "version": 0, "documents": 31 }, { "version": products, "documents": 10 }],
                    "ratePerSecond": null, "secondsLeft": null,
                },
                {
                    "collection": "reviews", "newestVersion": reviews, "remaining": 0,
                    "versions": [{ "version": reviews, "documents": 20 }],
                    "ratePerSecond": null, "secondsLeft": null,
                },
            ])
        );
        // As the process with the workers reports.
        let now = vitrine_model::clock::Clock::now(&*app.clock);
        let mut report = WorkerReport::default();
        for (backlog, later) in [(41, 0), (31, 2_000)] {
            let run = WorkerRun {
                done: 10,
                backlog,
                ..WorkerRun::default()
            };
            report.ran(run, now.plus_millis(later), 5);
        }
        app.catalog
            .save_worker_reports(vec![("product_versions", report)])
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

#[test]
fn a_product_that_cannot_be_upgraded_does_not_block_others() {
    upgrading(&async |app| {
        shop(app, 20).await;
        app.run_background_work().await;
        as_of_version_0(app, "products").await;
        let upgrade = async || {
            let first = app.catalog.upgrade_products().await.unwrap();
            assert_eq!(
                first,
                WorkerRun {
                    done: 20,
                    backlog: 1,
                    ..WorkerRun::default()
                }
            );
            assert!(app.catalog.upgrade_products().await.is_err());
        };
        app.with_damaged("thing-3", "name", Box::pin(upgrade()))
            .await;
        let last = app.catalog.upgrade_products().await.unwrap();
        assert_eq!(
            last,
            WorkerRun {
                done: 1,
                backlog: 0,
                ..WorkerRun::default()
            }
        );
    });
}
