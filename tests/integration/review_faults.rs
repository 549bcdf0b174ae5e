//! Writing reviews while the database fails, connections break and callers hang up: nothing is
//! lost, nothing is counted twice, and the same idempotency key gives the same review.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use tokio::task::JoinSet;
use vitrine_domain::admin::Outcome;
use vitrine_domain::reviewing::{Judgement, ReviewContent, ReviewPatch, Reviewed, Verdict};
use vitrine_domain::{Catalog, DomainError};
use vitrine_harness::{App, alone, eventually, product, test};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::{Product, ProductStatus};
use vitrine_model::review::{DecisionReason, Vote};
use vitrine_storage::products::ProductKey;

const COMMANDS: [&str; 9] = [
    "find",
    "getMore",
    "aggregate",
    "insert",
    "update",
    "findAndModify",
    "delete",
    "count",
    "commitTransaction",
];
/// More commands than any of these sends, also when it is tried several times.
const MOST_COMMANDS: i32 = 200;

fn content(stars: i64) -> ReviewContent {
    ReviewContent {
        rating: stars,
        recommended: None,
        dimensions: Vec::new(),
        title: String::new(),
        body: "What there is to say.".to_owned(),
        language: None,
        media: Vec::new(),
        author_name: None,
    }
}

async fn stored(app: &App, name: &str) -> Product {
    let key = ProductKey::Slug(name.to_owned());
    let found = app.store.get_product(&key, &ProductStatus::ALL).await;
    found.unwrap().unwrap().product().unwrap()
}

async fn new_product(app: &App, name: &str) -> ProductId {
    app.has([product(name)]).await;
    stored(app, name).await.id
}

async fn submit(
    catalog: &Catalog,
    author: &str,
    key: &str,
    product: ProductId,
) -> Result<Outcome<Reviewed>, DomainError> {
    catalog
        .submit_review(author, Some(key.to_owned()), product, content(4))
        .await
}

fn reviewed(outcome: Result<Outcome<Reviewed>, DomainError>) -> Reviewed {
    match outcome.unwrap() {
        Outcome::Done(reviewed) => reviewed,
        Outcome::Refused { refusals, .. } => panic!("{refusals:?}"),
    }
}

/// Has every command from the n-th on fail like this, for n from 0 on, until what is done goes
/// through; afterwards each time everything must add up.
async fn die_at_any_command<T>(
    app: &App,
    how: Document,
    attempt: impl AsyncFn(i32) -> Result<T, DomainError>,
) -> T {
    app.abandoned_transactions_end_soon().await;
    for n in 0..MOST_COMMANDS {
        app.fail_after(n, &COMMANDS, how.clone()).await;
        let done = attempt(n).await;
        app.fail_no_more().await;
        settle(app).await;
        app.audit().await;
        if let Ok(done) = done {
            return done;
        }
    }
    panic!("it never gets through");
}

/// Folds everything, as the worker does each second.
async fn settle(app: &App) {
    eventually(
        "everything is folded",
        Duration::from_secs(20),
        async || app.catalog.fold_pending().await.ok(),
    )
    .await;
}

#[test]
fn a_review_that_dies_at_any_command_is_written_once() {
    alone(async |app| {
        let id = new_product(app, "lamp").await;
        let how = doc! { "errorCode": 96 };
        die_at_any_command(app, how, async |_| {
            submit(&app.catalog, "ann", "k", id).await
        })
        .await;
        let first = reviewed(submit(&app.catalog, "ann", "k", id).await);
        let again = reviewed(submit(&app.catalog, "ann", "k", id).await);
        assert_eq!(first, again);
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 1);
    });
}

#[test]
fn what_is_done_about_a_review_happens_whole_or_not_at_all() {
    alone(async |app| {
        let id = new_product(app, "lamp").await;
        let review = reviewed(submit(&app.catalog, "ann", "k", id).await)
            .review
            .id;
        let at = (id, review);
        let how = || doc! { "errorCode": 96 };
        die_at_any_command(app, how(), async |_| {
            app.catalog
                .vote_review("ben", at, Some(Vote::Helpful))
                .await
        })
        .await;
        // Each attempt says something else, so that each has something to do.
        die_at_any_command(app, how(), async |n| {
            let revision = app.catalog.own_reviews("ann", vec![id]).await?[&id].revision;
            let patch = ReviewPatch {
                title: Some(format!("Title {n}")),
                rating: Some(1 + i64::from(n % 5)),
                ..ReviewPatch::default()
            };
            app.catalog.edit_review("ann", at, revision, patch).await
        })
        .await;
        for verdict in [Verdict::Reject, Verdict::Publish] {
            die_at_any_command(app, how(), async |_| {
                let judgement = Judgement {
                    verdict,
                    reason: DecisionReason::Other,
                    note: None,
                    expected_revision: None,
                };
                app.catalog.moderate_review("mod", at, judgement).await
            })
            .await;
        }
        let log = app.documents("moderation_log", doc! {}).await;
        assert_eq!(log.len(), 2, "each decision is logged once: {log:?}");
        die_at_any_command(app, how(), async |_| {
            app.catalog.delete_review("ann", at, None).await
        })
        .await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 0);
    });
}

#[test]
fn connections_that_break_lose_and_double_nothing() {
    alone(async |app| {
        let id = new_product(app, "lamp").await;
        let how = doc! { "closeConnection": true };
        let mut authors = 0;
        for command in ["find", "aggregate", "insert", "update", "commitTransaction"] {
            for times in [1, 2] {
                authors += 1;
                let (author, key) = (format!("author {authors}"), format!("k{authors}"));
                app.fail_next(times, &[command], how.clone()).await;
                let cut_off = submit(&app.catalog, &author, &key, id).await;
                app.fail_no_more().await;
                if let Ok(Outcome::Refused { refusals, .. }) = cut_off {
                    panic!("{command}: {refusals:?}");
                }
                let again = reviewed(submit(&app.catalog, &author, &key, id).await);
                assert_eq!(again.review.author.unwrap().id.0, author);
                settle(app).await;
                app.audit().await;
            }
        }
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), authors);
    });
}

#[test]
fn a_commit_that_nobody_heard_of_is_not_repeated() {
    alone(async |app| {
        app.abandoned_transactions_end_soon().await;
        let id = new_product(app, "lamp").await;
        let lost = doc! { "writeConcernError": { "code": 64, "errmsg": "lost" } };
        app.fail_next(1_000, &["commitTransaction"], lost).await;
        let unclear = submit(&app.catalog, "ann", "k", id).await;
        app.fail_no_more().await;
        assert!(unclear.is_err(), "what nobody knows is not told as done");
        let again = reviewed(submit(&app.catalog, "ann", "k", id).await);
        assert_eq!(again.review.rating.get(), 4);
        settle(app).await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 1);
    });
}

#[test]
fn callers_who_hang_up_leave_nothing_half_done() {
    test(async |app| {
        let id = new_product(app, "lamp").await;
        for n in 0..40_u32 {
            let catalog = app.catalog.clone();
            let author = format!("author {n}");
            let mut calls = JoinSet::new();
            calls.spawn(async move { submit(&catalog, &author, "k", id).await.is_ok() });
            // Hung up at another point each time: after so many turns of the scheduler.
            for _ in 0..n * 3 {
                tokio::task::yield_now().await;
            }
            calls.shutdown().await;
        }
        for n in 0..40_u32 {
            reviewed(submit(&app.catalog, &format!("author {n}"), "k", id).await);
        }
        settle(app).await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 40);
    });
}

#[test]
fn a_thousand_submissions_at_once_are_one_review() {
    test(async |app| {
        let id = new_product(app, "lamp").await;
        let other = app.other_process().await;
        let mut calls = JoinSet::new();
        for n in 0..1_000 {
            let catalog = if n % 2 == 0 { &app.catalog } else { &other };
            let catalog = catalog.clone();
            calls.spawn(async move { submit(&catalog, "ann", "k", id).await });
        }
        let mut ids: Vec<ReviewId> = Vec::new();
        for call in calls.join_all().await {
            match call {
                Ok(outcome) => ids.push(reviewed(Ok(outcome)).review.id),
                // Turned away at the door, or met too many others: to be sent again.
                Err(DomainError::Unavailable(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 1);
        settle(app).await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 1);
    });
}

#[test]
fn many_writers_of_one_product_meet_no_errors() {
    test(async |app| {
        let id = new_product(app, "lamp").await;
        let other = app.other_process().await;
        let mut writers = JoinSet::new();
        for n in 0..32 {
            let catalog = if n % 2 == 0 { &app.catalog } else { &other };
            let catalog = catalog.clone();
            writers.spawn(async move {
                let mut pending = 0;
                for m in 0..8 {
                    let author = format!("author {n} {m}");
                    let written = reviewed(submit(&catalog, &author, "k", id).await);
                    pending += u32::from(written.stats_pending);
                }
                pending
            });
        }
        let pending: u32 = writers.join_all().await.into_iter().sum();
        assert!(pending > 0, "so many writers make a product hot");
        settle(app).await;
        let lamp = stored(app, "lamp").await;
        assert_eq!(lamp.computed.stats.count(), 256);
        assert!(lamp.outlier.is_hot(app.catalog.now()));
        assert!(lamp.outlier.hot_since.is_some() && lamp.outlier.hot_reason.is_some());
        // It cools down by itself: the flag ends, and the next fold takes it away.
        let late = std::cell::Cell::new(0);
        eventually("it is not hot", Duration::from_secs(20), async || {
            app.clock.advance(60_000);
            late.set(late.get() + 1);
            let author = format!("late {}", late.get());
            let written = reviewed(submit(&app.catalog, &author, "k", id).await);
            let lamp = stored(app, "lamp").await;
            (!written.stats_pending && lamp.outlier.hot_until.is_none()).then_some(())
        })
        .await;
    });
}
