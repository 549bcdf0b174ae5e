//! Precomputed facet counts: their state is read from indexes, only stale ones are computed again,
//! and no stale one is taken for current.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_domain::Catalog;
use vitrine_domain::facets::{PanelLimits, PanelState};
use vitrine_domain::workers::Worker;
use vitrine_harness::{Answer, App, product, test};
use vitrine_model::activity::DAY_MILLIS;
use vitrine_model::product::ProductStatus;

const COUNTS: &str =
    "{ categories { name productCount children { name productCount children { productCount } } } }";
const PAGE: &str = r#"{ products(first: 1, filter: { category: ["lamps"] }) { facets { key accuracy productCount values { label count } } } }"#;

/// Forty products in four categories, one of which has products and a subcategory.
async fn stock(app: &App) {
    app.has((0..40).map(|n| {
        let product = product(&format!("P{n:02}"));
        let product = match n % 4 {
            0 => product.category(["Home"]),
            1 => product.category(["Home", "Lamps"]),
            2 => product.category(["Home", "Chairs"]),
            _ => product.category(["Books"]),
        };
        product
            .text("color", ["Red", "Blue", "Green"][n % 3])
            .number("parts", f64::from(u32::try_from(n % 5).unwrap()))
            .status(if n >= 36 {
                ProductStatus::Draft
            } else {
                ProductStatus::Active
            })
    }))
    .await;
}

/// Precomputes until nothing is stale; panels that change are computed once they are quiet.
async fn ahead(app: &App, maintenance: &mut PanelState) -> usize {
    let mut runs = 0;
    let mut quiet = false;
    loop {
        let run = app.catalog.refresh_panels(maintenance).await.unwrap();
        runs += 1;
        if quiet && run.backlog == 0 {
            return runs;
        }
        quiet = true;
    }
}

/// The number of products in `Home`, and in `Lamps` below it.
fn of_home(answer: &Answer) -> (u64, u64) {
    let categories = answer.at("/categories").as_array().unwrap();
    let named = |all: &[Value], name: &str| {
        let found = all.iter().find(|one| one["name"] == name);
        found.unwrap().clone()
    };
    let home = named(categories, "Home");
    let lamps = named(home["children"].as_array().unwrap(), "Lamps");
    let count = |one: &Value| one["productCount"].as_u64().unwrap();
    (count(&home), count(&lamps))
}

/// The commands on these collections since the profiler was started.
async fn executed(app: &App, collections: &[&str]) -> Vec<Document> {
    let names = collections
        .iter()
        .map(|name| format!("{}.{name}", app.direct().name()));
    let profile = app.direct().collection::<Document>("system.profile");
    let entries = profile.find(
        doc! { "ns": { "$in": names.collect::<Vec<_>>() }, "planSummary": { "$exists": true } },
    );
    entries.await.unwrap().try_collect().await.unwrap()
}

#[test]
fn summaries_counts_and_generations_are_covered_by_indexes() {
    test(async |app| {
        stock(app).await;
        let mut maintenance = PanelState::default();
        ahead(app, &mut maintenance).await;
        app.start_profiler().await;
        // By a process with an empty cache.
        let fresh = app.other_process().await;
        app.query(COUNTS).through(&fresh).await;
        app.query(PAGE).through(&fresh).await;
        ahead(app, &mut maintenance).await;
        let mut seen = Vec::new();
        let collections = ["category_generations", "facet_panels"];
        for entry in executed(app, &collections).await {
            let one = entry
                .get_document("command")
                .and_then(|command| command.get_document("filter"))
                .is_ok_and(|filter| filter.contains_key("_id"));
            if one || entry.get_str("op").unwrap() == "update" {
                continue;
            }
            let ns = entry.get_str("ns").unwrap();
            let collection = ns.rsplit('.').next().unwrap().to_owned();
            let docs = entry.get("docsExamined").unwrap();
            assert_eq!(docs.as_i32(), Some(0), "{entry:?}");
            seen.push(collection);
        }
        for collection in collections {
            assert!(seen.iter().any(|one| one == collection), "{seen:?}");
        }
    });
}

#[test]
fn a_category_page_reads_only_its_own_panel() {
    test(async |app| {
        stock(app).await;
        ahead(app, &mut PanelState::default()).await;
        let page = app.query(PAGE).await;
        let sent =
            |page: &Answer, what: &str| page.sent().iter().filter(|one| *one == what).count();
        let app = &app.without_product_memory().await;
        let again = app.query(PAGE).await;
        assert_eq!(again.data(), page.data());
        assert_eq!(sent(&again, "find facet_panels"), 1, "{:?}", again.sent());
        assert_eq!(sent(&again, "find products"), 0, "{:?}", again.sent());
        assert_eq!(sent(&again, "aggregate products"), 0, "{:?}", again.sent());
    });
}

#[test]
fn product_counts_are_exact_and_follow_every_change() {
    test(async |app| {
        stock(app).await;
        assert_eq!(of_home(&app.query(COUNTS).await), (27, 9));
        assert_eq!(of_home(&app.query(COUNTS).as_admin().await), (30, 10));
        let id = app.query(r#"{ product(slug: "p01") { id } }"#).await;
        let id = json!({ "id": id.text("/product/id") });
        app.mutate("archiveProduct", id.clone()).await.done();
        assert_eq!(of_home(&app.query(COUNTS).await), (26, 8));
        assert_eq!(of_home(&app.query(COUNTS).as_admin().await), (30, 10));
        let other = app.other_process().await;
        app.mutate("restoreProduct", id)
            .through(&other)
            .await
            .done();
        assert_eq!(of_home(&app.query(COUNTS).await), (27, 9));
        let update = json!({ "id": app.query(r#"{ product(slug: "p01") { id } }"#).await
            .text("/product/id"), "category": "home" });
        app.mutate("updateProduct", update).await.done();
        let moved = app.query(COUNTS).await;
        assert_eq!(of_home(&moved), (27, 8));
        moved.assert_commands(&["aggregate category_generations"]);
    });
}

#[test]
fn a_wrong_count_of_a_category_is_found_and_repaired() {
    test(async |app| {
        stock(app).await;
        let generations = app.direct().collection::<Document>("category_generations");
        let wrong = doc! { "$inc": { "on_sale": -100_i64, "all": 2_i64 } };
        generations.update_one(doc! {}, wrong).await.unwrap();
        let lost = app.documents("category_generations", doc! {}).await;
        let lost = lost.last().unwrap();
        let of = doc! { "category": lost.get_i64("category").unwrap() };
        generations.delete_many(of).await.unwrap();
        let found = app.audit_report().await;
        assert_eq!(found.count(), 2, "{:?}", found.differences);
        assert_eq!(app.catalog.repair_category_counts().await.unwrap(), 2);
        assert_eq!(app.catalog.repair_category_counts().await.unwrap(), 0);
        assert_eq!(of_home(&app.query(COUNTS).await), (27, 9));
    });
}

/// Submits a review of a lamp; the workers of a process count it and update the ranks.
async fn rate(app: &App, author: &str, rating: i64) {
    rate_through(&app.catalog, app, author, rating).await;
    for worker in [Worker::Fold, Worker::Ranks] {
        app.catalog.work_off(worker).await.unwrap();
    }
}

async fn rate_through(catalog: &Catalog, app: &App, author: &str, rating: i64) {
    let id = app.query(r#"{ product(slug: "p01") { id } }"#).await;
    let input =
        json!({ "productId": id.text("/product/id"), "rating": rating, "body": "It shines." });
    let submitted = app.mutate_by(author, "submitReview", input);
    submitted.through(catalog).await.done();
    catalog.drain().await;
}

#[test]
fn an_unchanged_panel_is_not_computed_again() {
    test(async |app| {
        stock(app).await;
        let mut maintenance = PanelState::new(PanelLimits {
            rest: 0,
            ..PanelLimits::default()
        });
        ahead(app, &mut maintenance).await;
        let reads = async |maintenance: &mut PanelState| {
            app.forget_commands();
            ahead(app, maintenance).await;
            let sent = app.sent();
            sent.iter().filter(|one| one.ends_with(" products")).count()
        };
        app.clock.advance(DAY_MILLIS);
        assert_eq!(reads(&mut maintenance).await, 0, "however old it is");
        // A review of a lamp changes the rating facets of its category, of the parent and of all
        // products.
        let rated = |page: &Answer| {
            let facets = page.at("/products/facets").as_array().unwrap().clone();
            facets.iter().any(|facet| facet["key"] == "@rating")
        };
        rate(app, "ann", 5).await;
        assert!(!rated(&app.query(PAGE).await));
        assert_eq!(reads(&mut maintenance).await, 3);
        assert!(rated(&app.query(PAGE).await));
        rate(app, "ben", 1).await;
        assert_eq!(
            reads(&mut maintenance).await,
            0,
            "ratings may be minutes old"
        );
        app.clock.advance(11 * 60 * 1000);
        assert_eq!(reads(&mut maintenance).await, 3);
        app.clock.advance(11 * 60 * 1000);
        assert_eq!(reads(&mut maintenance).await, 0);
        // A process does not know which ranks another process has updated.
        let other = app.other_process().await;
        rate_through(&other, app, "cem", 2).await;
        assert_eq!(app.documents("stale_ranks", doc! {}).await.len(), 1);
        other.fold_and_move_ranks().await.unwrap();
        app.clock.advance(11 * 60 * 1000);
        assert_eq!(reads(&mut maintenance).await, 5);
        // A process that takes over the workers does not know what its predecessor has done.
        app.clock.advance(11 * 60 * 1000);
        assert_eq!(reads(&mut PanelState::default()).await, 5);
    });
}

#[test]
fn a_new_key_leaves_other_panels_as_they_are() {
    test(async |app| {
        stock(app).await;
        let mut maintenance = PanelState::default();
        ahead(app, &mut maintenance).await;
        let before = app.query(PAGE).await;
        let counts = |page: &Answer| {
            let sent = page.sent().iter();
            sent.filter(|one| one.ends_with(" products")).count()
        };
        app.has([product("Novel").category(["Books"]).text("author", "Ann")])
            .await;
        let page = app.query(PAGE).await;
        assert_eq!(counts(&page), 0, "{:?}", page.sent());
        let facets = |page: &Answer| {
            let facets = page.at("/products/facets").as_array().unwrap().clone();
            facets
                .into_iter()
                .filter(|facet| facet["key"] != "@category")
        };
        assert!(facets(&page).eq(facets(&before)));
        // A product with the key is counted at once.
        app.has([product("Signed")
            .category(["Home", "Lamps"])
            .text("author", "Bob")])
            .await;
        let page = app.query(PAGE).await;
        let author = facets(&page).find(|facet| facet["key"] == "author");
        assert_eq!(author.unwrap()["productCount"], 1);
    });
}

#[test]
fn a_panel_computed_without_a_new_key_is_computed_again() {
    test(async |app| {
        stock(app).await;
        let other = app.other_process().await;
        app.has([product("Signed")
            .category(["Home", "Lamps"])
            .text("author", "Bob")])
            .await;
        // The process does not know the new key.
        let page = app.query(PAGE).through(&other).await;
        let has = |page: &Answer| {
            page.pretty().contains("\"author\"") || page.pretty().contains("author")
        };
        assert!(!has(&page), "{}", page.pretty());
        let page = app.query(PAGE).await;
        assert!(has(&page), "{}", page.pretty());
    });
}

#[test]
fn a_new_unit_makes_panels_stale() {
    test(async |app| {
        app.has((0..10).map(|n| {
            product(&format!("P{n}")).category(["Lamps"]).quantity(
                "height",
                5.0 + f64::from(n),
                "cm",
            )
        }))
        .await;
        let mut maintenance = PanelState::default();
        ahead(app, &mut maintenance).await;
        let unit = json!({ "symbol": "hand", "dimension": "length", "factor": 0.1016 });
        app.mutate("defineUnit", unit).await.done();
        let run = app.catalog.refresh_panels(&mut maintenance).await.unwrap();
        assert_eq!(
            (run.done, run.backlog),
            (2, 0),
            "at once, although nothing else has changed"
        );
        let page = app.query(PAGE).await;
        assert_eq!(page.at("/products/facets/0/accuracy"), "EXACT");
    });
}

#[test]
fn many_products_are_counted_in_batches() {
    test(async |app| {
        stock(app).await;
        let keys = "{ specKeys(first: 100) { nodes { key coverage { products distinctValues kinds { products having } sampleValues } } } }";
        let direct = app.query(keys).await;
        let page = app.query(PAGE).await;
        app.has([product("More")
            .category(["Home", "Lamps"])
            .text("color", "Red")])
            .await;
        let id = app.query(r#"{ product(slug: "more") { id } }"#).await;
        let id = json!({ "id": id.text("/product/id") });
        app.mutate("archiveProduct", id).await.done();
        let mut maintenance = PanelState::new(PanelLimits {
            part: 4,
            time: Duration::ZERO,
            ..PanelLimits::default()
        });
        let runs = ahead(app, &mut maintenance).await;
        assert!(
            runs > 12,
            "nine products a category, four at a time: {runs}"
        );
        let again = app.query(keys).await;
        let mut sent = again.sent().to_vec();
        sent.sort();
        assert_eq!(
            sent,
            ["aggregate category_generations", "find key_coverage"]
        );
        assert_eq!(again.data(), direct.data());
        let ahead = app.query(PAGE).await;
        assert_eq!(
            ahead.pretty().replace("PRECOMPUTED", "EXACT"),
            page.pretty()
        );
    });
}

#[test]
fn coverage_of_very_many_products_is_computed_by_the_worker() {
    test(async |app| {
        let app = app.with_max_read(10).await;
        stock(&app).await;
        let query = r#"{ specKey(key: "color") { coverage { products } } }"#;
        let suggested = r#"{ suggestedSpecKeys(category: "home") { specKey { key } products } }"#;
        app.query(COUNTS).await;
        let none = app.query(query).await;
        assert!(
            none.errors()[0].starts_with("UNAVAILABLE"),
            "{}",
            none.pretty()
        );
        assert!(
            none.sent().iter().all(|one| !one.ends_with(" products")),
            "{:?}",
            none.sent()
        );
        ahead(&app, &mut PanelState::default()).await;
        let products = |answer: &Answer| answer.number("/specKey/coverage/products");
        assert_eq!(products(&app.query(query).await), 36);
        let first = app.query(suggested).await;
        assert_eq!(first.number("/suggestedSpecKeys/0/products"), 27);
        // The last computed counts, until they are computed again.
        app.has([product("More").category(["Books"]).text("color", "Red")])
            .await;
        assert_eq!(products(&app.query(query).await), 36);
    });
}
