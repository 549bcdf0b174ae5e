//! Wrong ratings are found and repaired, however busy their product is and whatever reviews are
//! dirty.

use std::sync::atomic::{AtomicBool, Ordering};

use mongodb::bson::{Document, doc};
use vitrine_domain::outcome::Outcome;
use vitrine_harness::process::run;
use vitrine_harness::{App, product, review, test};
use vitrine_model::clock::Clock as _;
use vitrine_model::id::ProductId;
use vitrine_model::product::ProductStatus;
use vitrine_storage::StorageError;
use vitrine_storage::audit::Audit;
use vitrine_storage::products::ProductKey;

/// A lamp with this many reviews.
async fn lamp(app: &App, reviews: usize) -> ProductId {
    app.has([product("Lamp")]).await;
    let all = (0..reviews).map(|n| {
        let stars = i64::try_from(n % 5).unwrap() + 1;
        let review = review("Lamp", format!("r-{n}"), stars).author(&format!("author {n}"));
        review.dimension("fit", stars)
    });
    app.has_reviews(all).await;
    let key = ProductKey::Slug("lamp".to_owned());
    let found = app.store.get_product(&key, &ProductStatus::ALL).await;
    found.unwrap().unwrap().product().unwrap().id
}

async fn change_products(app: &App, update: Document) {
    let products = app.direct().collection::<Document>("products");
    products.update_many(doc! {}, update).await.unwrap();
}

/// Writes wrong numbers and removes a month.
async fn damage(app: &App) {
    let wrong = doc! {
        "$inc": { "stats.histogram.0": 7_i64, "stats.histogram.4": -3_i64 },
        "$unset": { "stats.latest_month": 1 },
    };
    change_products(app, wrong).await;
    let months = app.direct().collection::<Document>("rating_months");
    months.delete_many(doc! {}).await.unwrap();
}

async fn repair(app: &App, product: ProductId) {
    let repaired = app.catalog.repair_rating_stats(product).await.unwrap();
    assert!(matches!(repaired, Outcome::Done(_)), "{repaired:?}");
}

#[test]
fn a_product_is_repaired_while_others_write_it_without_a_pause() {
    test(async |app| {
        let id = lamp(app, 500).await;
        damage(app).await;
        let done = AtomicBool::new(false);
        let writes = async {
            while !done.load(Ordering::Relaxed) {
                change_products(app, doc! { "$inc": { "stats.fold_seq": 1_i64 } }).await;
            }
        };
        let repairs = async {
            repair(app, id).await;
            done.store(true, Ordering::Relaxed);
        };
        tokio::join!(writes, repairs);
        app.audit().await;
    });
}

#[test]
fn a_review_counted_during_a_repair_is_counted_once() {
    test(async |app| {
        let id = lamp(app, 200).await;
        for round in 0..5 {
            damage(app).await;
            let done = AtomicBool::new(false);
            let writes = async {
                let mut n = 0;
                while !done.load(Ordering::Relaxed) {
                    let name = format!("{round}-{n}");
                    let new = review("Lamp", &name, 4).author(&name);
                    app.has_reviews([new]).await;
                    n += 1;
                }
            };
            let repairs = async {
                repair(app, id).await;
                done.store(true, Ordering::Relaxed);
            };
            tokio::join!(writes, repairs);
            app.run_background_work().await;
            app.audit().await;
        }
    });
}

#[test]
fn two_concurrent_repairs_repair_once() {
    test(async |app| {
        let id = lamp(app, 300).await;
        let now = app.clock.now();
        for _ in 0..5 {
            damage(app).await;
            let (one, other) = tokio::join!(
                app.store.repair_product(id, now),
                app.store.repair_product(id, now)
            );
            let done = [one, other];
            assert!(done.iter().any(Result::is_ok), "{done:?}");
            let refused = done.iter().filter_map(|done| done.as_ref().err());
            for refused in refused {
                assert!(matches!(refused, StorageError::TakenOver), "{refused:?}");
            }
            app.audit().await;
        }
        assert_eq!(app.documents("leases", doc! {}).await, []);
    });
}

/// Edits all reviews with this many stars without counting them, as in a copy of a busy database.
async fn edits_wait(app: &App, of: [i32; 2]) {
    let reviews = app.direct().collection::<Document>("reviews");
    let some = doc! { "rating": { "$in": of.to_vec() } };
    let edited = doc! { "$set": { "rating": 3, "dirty": true } };
    reviews.update_many(some, edited).await.unwrap();
}

async fn audited(app: &App) -> Audit {
    app.audit_report().await
}

#[test]
fn dirty_reviews_are_not_reported_as_differences() {
    test(async |app| {
        let id = lamp(app, 100).await;
        edits_wait(app, [1, 2]).await;
        let found = audited(app).await;
        assert_eq!((found.dirty_reviews, found.count()), (40, 0), "{found:?}");
        // Other differences are found and repaired, although no dirty review can be counted
        // first: the month to subtract it from is missing.
        damage(app).await;
        let found = audited(app).await;
        let what = |of: &str| found.differences.iter().any(|one| one.what == of);
        assert!(what("stats") && what("rating_months"), "{found:?}");
        assert_eq!(found.dirty_reviews, 40);
        assert!(app.catalog.fold_and_move_ranks().await.is_err());
        repair(app, id).await;
        app.audit().await;
    });
}

/// Runs the audit of the binary on the database of a test; returns whether it succeeds, and its
/// output.
fn audit(app: &App, more: &[&str]) -> (bool, Vec<String>) {
    let secret = "0123456789abcdef0123456789abcdef";
    let mut arguments = vec![
        "audit",
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
        "--cursor-secret",
        secret,
        "--token-secret",
        secret,
    ];
    arguments.extend(more);
    let output = run(&arguments);
    let said = String::from_utf8(output.stdout).unwrap();
    (
        output.status.success(),
        said.lines().map(str::to_owned).collect(),
    )
}

#[test]
fn a_restored_copy_with_dirty_reviews_is_audited_and_repaired() {
    test(async |app| {
        lamp(app, 100).await;
        edits_wait(app, [1, 2]).await;
        let waits = ["40 reviews wait to be counted", "0 differences"];
        assert_eq!(audit(app, &[]), (true, waits.map(str::to_owned).to_vec()));
        let repaired = "1 products repaired".to_owned();
        change_products(app, doc! { "$inc": { "stats.histogram.4": 2_i64 } }).await;
        let (content, said) = audit(app, &[]);
        assert!(!content && said.contains(&waits[0].to_owned()), "{said:?}");
        assert_ne!(said.last().unwrap(), "0 differences");
        let (content, said) = audit(app, &["--repair"]);
        assert!(content, "{said:?}");
        assert_eq!(said[0], "40 waiting reviews counted");
        assert!(said.contains(&repaired), "{said:?}");
        assert_eq!(said.last().unwrap(), "0 differences");
        // Also if dirty reviews cannot be counted before the repair.
        edits_wait(app, [4, 5]).await;
        damage(app).await;
        let (content, said) = audit(app, &["--repair"]);
        assert!(content && said.contains(&repaired), "{said:?}");
        let nothing = (true, vec!["0 differences".to_owned()]);
        assert_eq!(audit(app, &[]), nothing);
    });
}
