//! Interrupted erasures: another process completes them, the receipt counts what all of them
//! erased, and a process that has lost its lease changes nothing.

use std::time::Duration;

use mongodb::bson::{DateTime, Document, doc};
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::{App, eventually, product, review, test, test_on_own_server};
use vitrine_model::clock::Clock as _;
use vitrine_model::erasure::{ErasureCounts, ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, Subject};
use vitrine_storage::StorageError;
use vitrine_storage::erasure::{ErasureClaim, ErasurePart};

/// A shop with this many products, each with a review of Ann.
async fn reviewed_by_ann(app: &App, products: usize) -> AuthorId {
    let names: Vec<String> = (0..products).map(|n| format!("Lamp {n}")).collect();
    app.has(names.iter().map(|name| product(name))).await;
    let by_ann = names.iter().map(|name| review(name, name, 3).author("ann"));
    app.has_reviews(by_ann).await;
    AuthorId("ann".to_owned())
}

async fn receipt(app: &App, author: &AuthorId) -> ErasureReceipt {
    app.store.erasure(author).await.unwrap().unwrap()
}

async fn opened(app: &App, author: &AuthorId, policy: ErasurePolicy) -> ErasureClaim {
    let now = app.clock.now();
    let claim = app.store.open_erasure(author, policy, "admin", now).await;
    claim.unwrap().unwrap()
}

/// Lets the leases of all erasures expire, as after a minute without work.
async fn all_fall_silent(app: &App) {
    let minute = doc! { "$subtract": ["$$NOW", 60_000] };
    let erasures = app.direct().collection::<Document>("erasures");
    let silent = vec![doc! { "$set": { "seen_at": minute } }];
    erasures.update_many(doc! {}, silent).await.unwrap();
}

fn reviews(count: i64) -> ErasureCounts {
    ErasureCounts {
        reviews: count,
        ..ErasureCounts::default()
    }
}

fn commits(app: &App) -> usize {
    let sent = app.sent();
    let commits = sent.iter().filter(|sent| *sent == "commitTransaction");
    commits.count()
}

async fn run_worker(app: &App) -> (u64, u64) {
    let other = app.other_process().await;
    let run = other
        .work(Worker::Erasures, &mut MaintenanceState::default())
        .await;
    let run = run.unwrap();
    (run.done, run.backlog)
}

#[test]
fn a_receipt_counts_what_every_worker_of_the_erasure_erased() {
    for policy in [ErasurePolicy::Remove, ErasurePolicy::Anonymize] {
        test_on_own_server(async |app| {
            let ann = reviewed_by_ann(app, 600).await;
            // Interrupted after one batch of reviews and some of the folds.
            let died = doc! { "errorCode": 96 };
            app.fail_after(4, &["commitTransaction", "update"], died)
                .await;
            let cut_off = app
                .catalog
                .erase_author(Subject("admin"), AuthorId("ann".to_owned()), policy)
                .await;
            app.stop_failing().await;
            assert!(cut_off.is_err());
            let before = receipt(app, &ann).await;
            assert!(before.finished_at.is_none());
            assert!(before.done.reviews < 600, "{before:?}");
            all_fall_silent(app).await;
            app.forget_commands();
            eventually("all is erased", Duration::from_mins(1), async || {
                let (_, left) = run_worker(app).await;
                (left == 0).then_some(())
            })
            .await;
            // Three batches of reviews, and folds of fifty products each.
            let transactions = commits(app);
            assert!(transactions <= 30, "{transactions} transactions");
            let after = receipt(app, &ann).await;
            assert_eq!(after.done, reviews(600));
            assert!(after.finished_at.is_some());
            assert_eq!(app.store.residue(&ann).await.unwrap(), Residue::default());
            for collection in ["reviews", "products", "review_versions"] {
                let all = app.documents(collection, doc! {}).await;
                assert!(!format!("{all:?}").contains("\"ann\""), "{collection}");
            }
        });
    }
}

#[test]
fn an_erasure_is_taken_over_once_its_lease_expires_by_the_clock_of_the_database() {
    test(async |app| {
        let ann = reviewed_by_ann(app, 3).await;
        opened(app, &ann, ErasurePolicy::Remove).await;
        // The clocks of processes do not matter.
        app.clock.advance(3_600_000);
        assert_eq!(run_worker(app).await, (0, 1), "it waits and is reported");
        assert_eq!(receipt(app, &ann).await.done, reviews(0));
        all_fall_silent(app).await;
        assert_eq!(run_worker(app).await, (1, 0));
        assert_eq!(receipt(app, &ann).await.done, reviews(3));
        // A clock that stepped back does not block it.
        app.has_reviews([review("Lamp 0", "again", 3).author("ann")])
            .await;
        opened(app, &ann, ErasurePolicy::Remove).await;
        let ahead = DateTime::from_millis(DateTime::now().timestamp_millis() + 3_600_000);
        let erasures = app.direct().collection::<Document>("erasures");
        let set = doc! { "$set": { "seen_at": ahead } };
        erasures.update_one(doc! {}, set).await.unwrap();
        assert_eq!(run_worker(app).await, (1, 0));
        assert_eq!(receipt(app, &ann).await.done, reviews(4));
    });
}

#[test]
fn a_worker_without_its_lease_neither_erases_nor_counts_nor_finishes() {
    test(async |app| {
        let ann = reviewed_by_ann(app, 2).await;
        let late = opened(app, &ann, ErasurePolicy::Anonymize).await;
        let other = app.store.take_over_erasure(&ann).await.unwrap().unwrap();
        let refused = async |late: &ErasureClaim| {
            let now = app.clock.now();
            let batch = app.store.erase_batch(late, ErasurePart::Reviews, None, 10);
            for done in [
                app.store.renew_erasure(late).await,
                app.store.release_erasure(late).await,
                app.store.close_erasure(late, now).await,
                batch.await.map(drop),
            ] {
                assert!(matches!(done, Err(StorageError::TakenOver)), "{done:?}");
            }
            assert_eq!(receipt(app, &ann).await.done, reviews(0));
            assert!(receipt(app, &ann).await.finished_at.is_none());
            assert_eq!(app.store.residue(&ann).await.unwrap().reviews, 2);
        };
        refused(&late).await;
        // It was finished, and started again by another mutation.
        let now = app.clock.now();
        app.store.close_erasure(&other, now).await.unwrap();
        let third = opened(app, &ann, ErasurePolicy::Anonymize).await;
        refused(&late).await;
        refused(&other).await;
        app.store.release_erasure(&third).await.unwrap();
        assert_eq!(run_worker(app).await, (1, 0));
        assert_eq!(receipt(app, &ann).await.done, reviews(2));
    });
}

#[test]
fn products_of_erased_reviews_are_folded_after_a_crash() {
    test(async |app| {
        let ann = reviewed_by_ann(app, 5).await;
        let claim = opened(app, &ann, ErasurePolicy::Remove).await;
        let batch = app
            .store
            .erase_batch(&claim, ErasurePart::Reviews, None, 10);
        batch.await.unwrap();
        let left = app.store.residue(&ann).await.unwrap();
        assert_eq!((left.reviews, left.top_reviews), (0, 5));
        all_fall_silent(app).await;
        assert_eq!(run_worker(app).await, (1, 0));
        assert_eq!(app.store.residue(&ann).await.unwrap(), Residue::default());
        let with_copies = doc! { "top_reviews.author._id": "ann" };
        assert_eq!(app.documents("products", with_copies).await, []);
        assert_eq!(receipt(app, &ann).await.done, reviews(5));
    });
}

#[test]
fn a_review_locked_by_a_transaction_does_not_block_the_erasure_of_others() {
    test(async |app| {
        let ann = reviewed_by_ann(app, 9).await;
        let held = app.documents("reviews", doc! {}).await.remove(4);
        let id = doc! { "_id": held.get("_id").unwrap() };
        let client = app.direct().client();
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let reviews_held = app.direct().collection::<Document>("reviews");
        reviews_held
            .update_one(id, doc! { "$set": { "title": "Never seen" } })
            .session(&mut session)
            .await
            .unwrap();
        let cut_off = app.catalog.erase_author(
            Subject("admin"),
            AuthorId("ann".to_owned()),
            ErasurePolicy::Remove,
        );
        assert!(cut_off.await.is_err());
        assert_eq!(receipt(app, &ann).await.done, reviews(8));
        assert_eq!(run_worker(app).await, (0, 1));
        session.abort_transaction().await.unwrap();
        assert_eq!(run_worker(app).await, (1, 0));
        assert_eq!(receipt(app, &ann).await.done, reviews(9));
    });
}

#[test]
fn two_concurrent_erasures_erase_once_and_both_get_the_receipt() {
    test(async |app| {
        let ann = reviewed_by_ann(app, 300).await;
        let (one, other) = (app.catalog.clone(), app.other_process().await);
        let erase = async |catalog: &vitrine_domain::Catalog| {
            let erased = catalog.erase_author(
                Subject("admin"),
                AuthorId("ann".to_owned()),
                ErasurePolicy::Remove,
            );
            match erased.await.unwrap() {
                vitrine_domain::outcome::Outcome::Done(erased) => erased.receipt,
                refused @ vitrine_domain::outcome::Outcome::Refused { .. } => panic!("{refused:?}"),
            }
        };
        let (one, other) = tokio::join!(erase(&one), erase(&other));
        for receipt in [one, other, receipt(app, &ann).await] {
            assert!(receipt.finished_at.is_some());
            assert_eq!(receipt.done, reviews(300));
        }
    });
}
