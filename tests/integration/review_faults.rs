//! Reviews while the database fails, connections break and callers cancel: nothing is lost, nothing
//! is counted twice, and the same idempotency key returns the same review.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mongodb::bson::{Document, doc};
use tokio::task::JoinSet;
use vitrine_domain::outcome::{Outcome, UserErrorCode};
use vitrine_domain::reviewing::{
    ModerationAction, ModerationInput, Purchase, ReviewContent, ReviewPatch, Reviewed,
};
use vitrine_domain::{Catalog, DomainError};
use vitrine_harness::{App, eventually, product, test, test_on_own_server};
use vitrine_model::clock::Clock as _;
use vitrine_model::erasure::{ErasureCounts, ErasurePolicy};
use vitrine_model::id::{AuthorId, ProductId, ReviewId, Subject};
use vitrine_model::product::{Product, ProductStatus};
use vitrine_model::review::{DecisionReason, ReportReason, Review, Vote};
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
/// More commands than any of these mutations sends, also with retries.
const MAX_COMMANDS: i32 = 200;

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

/// Makes every command from the n-th on fail like this, for n from 0 on, until the call succeeds;
/// after each n all counts must be consistent.
async fn die_at_any_command<T>(
    app: &App,
    how: Document,
    attempt: impl AsyncFn(i32) -> Result<T, DomainError>,
) -> T {
    app.expire_abandoned_transactions_soon().await;
    for n in 0..MAX_COMMANDS {
        app.fail_after(n, &COMMANDS, how.clone()).await;
        let done = attempt(n).await;
        app.stop_failing().await;
        settle(app).await;
        app.audit().await;
        if let Ok(done) = done {
            return done;
        }
    }
    panic!("it never gets through");
}

/// Folds all dirty reviews, as the worker does.
async fn settle(app: &App) {
    eventually(
        "everything is folded",
        Duration::from_secs(20),
        async || app.catalog.fold_and_move_ranks().await.ok(),
    )
    .await;
}

#[test]
fn a_review_whose_connection_breaks_at_any_command_is_written_once() {
    test_on_own_server(async |app| {
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

/// A write that has not been replicated may be rolled back by an election.
#[test]
fn a_write_that_may_be_rolled_back_is_not_acknowledged() {
    test_on_own_server(async |app| {
        let id = new_product(app, "lamp").await;
        // The product is hot, so the review is stored without a fold.
        let now = app.clock.now();
        let reason = vitrine_model::product::HotReason::Rate;
        let hot = app
            .store
            .mark_hot(id, now.plus_millis(600_000), reason, now);
        hot.await.unwrap();
        let unsure = doc! { "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" } };
        app.fail_next(1, &["insert"], unsure).await;
        let first = submit(&app.catalog, "ann", "k", id).await;
        assert!(
            matches!(first, Err(DomainError::Unavailable(_))),
            "{first:?}"
        );
        let again = reviewed(submit(&app.catalog, "ann", "k", id).await);
        settle(app).await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 1);
        assert_eq!(again.review.revision, 1);
    });
}

#[test]
fn a_mutation_of_a_review_is_atomic() {
    test_on_own_server(async |app| {
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
        // Each attempt has another input, so that each changes something.
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
        for verdict in [ModerationAction::Reject, ModerationAction::Publish] {
            die_at_any_command(app, how(), async |_| {
                let judgement = ModerationInput {
                    action: verdict,
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
fn broken_connections_neither_lose_nor_double_reviews() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        let id = new_product(app, "lamp").await;
        let how = doc! { "closeConnection": true };
        let mut authors = 0;
        for command in ["find", "aggregate", "insert", "update", "commitTransaction"] {
            for times in [1, 2] {
                authors += 1;
                let (author, key) = (format!("author {authors}"), format!("k{authors}"));
                app.fail_next(times, &[command], how.clone()).await;
                let cut_off = submit(&app.catalog, &author, &key, id).await;
                app.stop_failing().await;
                if let Ok(Outcome::Refused { refusals, .. }) = cut_off {
                    panic!("{command}: {refusals:?}");
                }
                let again = async || submit(&app.catalog, &author, &key, id).await.ok();
                let again = eventually("a review", Duration::from_mins(1), again).await;
                assert_eq!(reviewed(Ok(again)).review.author.unwrap().id.0, author);
                settle(app).await;
                app.audit().await;
            }
        }
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), authors);
    });
}

#[test]
fn a_commit_without_an_answer_is_not_repeated() {
    test_on_own_server(async |app| {
        app.expire_abandoned_transactions_soon().await;
        let id = new_product(app, "lamp").await;
        let lost = doc! { "writeConcernError": { "code": 64, "errmsg": "lost" } };
        app.fail_next(1_000, &["commitTransaction"], lost).await;
        let unclear = submit(&app.catalog, "ann", "k", id).await;
        app.stop_failing().await;
        assert!(
            unclear.is_err(),
            "an unknown outcome is not reported as done"
        );
        let again = reviewed(submit(&app.catalog, "ann", "k", id).await);
        assert_eq!(again.review.rating.get(), 4);
        settle(app).await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 1);
    });
}

/// The primary steps down three times during writes. There is no other member, so it is elected
/// again a moment later.
#[test]
fn elections_neither_lose_nor_double_reviews() {
    test_on_own_server(async |app| {
        const WRITERS: usize = 8;
        const EACH: usize = 12;
        app.expire_abandoned_transactions_soon().await;
        let (one, other) = (
            new_product(app, "lamp").await,
            new_product(app, "desk").await,
        );
        let written = AtomicUsize::new(0);
        let writer = async |writer: usize| {
            for n in 0..EACH {
                let (author, key) = (format!("author {writer} {n}"), format!("{n}"));
                let product = if n % 3 == 0 { other } else { one };
                let again = async || submit(&app.catalog, &author, &key, product).await.ok();
                let retried = eventually("a review", Duration::from_mins(2), again).await;
                let review = reviewed(Ok(retried)).review;
                let vote = async || {
                    let vote = Some(Vote::Helpful);
                    let key = (product, review.id);
                    app.catalog.vote_review("voter", key, vote).await.ok()
                };
                eventually("a vote", Duration::from_mins(2), vote).await;
                written.fetch_add(1, Ordering::Relaxed);
            }
        };
        let elections = async {
            for after in [8, 32, 64] {
                let enough = async || (written.load(Ordering::Relaxed) >= after).then_some(());
                eventually("writes", Duration::from_mins(3), enough).await;
                app.step_down().await;
            }
        };
        let writers = futures_util::future::join_all((0..WRITERS).map(writer));
        tokio::join!(writers, elections);
        // One run of the worker counts what was left.
        settle(app).await;
        app.audit().await;
        let counted = stored(app, "lamp").await.computed.stats.count()
            + stored(app, "desk").await.computed.stats.count();
        assert_eq!(counted, i64::try_from(WRITERS * EACH).unwrap());
    });
}

#[test]
fn an_erasure_that_fails_at_any_command_is_completed() {
    test_on_own_server(async |app| {
        let id = new_product(app, "lamp").await;
        for (policy, left) in [(ErasurePolicy::Anonymize, 2), (ErasurePolicy::Remove, 3)] {
            let author = format!("{policy:?}");
            let own = reviewed(submit(&app.catalog, &author, "k", id).await).review;
            let edit = ReviewPatch {
                rating: Some(2),
                ..ReviewPatch::default()
            };
            let edited = app.catalog.edit_review(&author, (id, own.id), 1, edit);
            reviewed(edited.await);
            let other = submit(&app.catalog, &format!("other of {author}"), "k", id).await;
            let other = (id, reviewed(other).review.id);
            let voted = app.catalog.vote_review(&author, other, Some(Vote::Helpful));
            voted.await.unwrap();
            let reported = app
                .catalog
                .report_review(&author, other, ReportReason::Fake, None);
            reported.await.unwrap();
            let bought = Purchase {
                product: id,
                customer: author.clone(),
                at: None,
                quantity: 1,
                order: None,
            };
            app.catalog.record_purchase(bought).await.unwrap();
            settle(app).await;
            let how = doc! { "errorCode": 96 };
            die_at_any_command(app, how, async |_| {
                app.catalog
                    .erase_author(Subject("admin"), AuthorId(author.clone()), policy)
                    .await
            })
            .await;
            for collection in ["reviews", "products", "votes", "review_versions"] {
                let all = app.documents(collection, doc! {}).await;
                let all = format!("{all:?}").replace(&format!("other of {author}"), "");
                assert!(!all.contains(&author), "{collection}");
            }
            let receipt = app.store.erasure(&AuthorId(author)).await.unwrap().unwrap();
            assert!(receipt.finished_at.is_some());
            // Each is counted once, however often it was started.
            let done = ErasureCounts {
                reviews: 1,
                votes: 1,
                versions: 1,
                reports: 1,
                purchases: 1,
                // The claim of the idempotency key of the review.
                idempotency_records: 1,
                ..ErasureCounts::default()
            };
            assert_eq!(receipt.done, done);
            let counted = stored(app, "lamp").await.computed.stats.count();
            assert_eq!(counted, left, "{policy:?}");
        }
    });
}

/// Edits a review, votes and writes other reviews, four times over.
async fn keep_writing(catalog: &Catalog, round: usize, own: (ProductId, &Review), other: Other) {
    let (product, review) = own;
    for n in 0..4 {
        let edit = ReviewPatch {
            rating: Some(1 + n),
            ..ReviewPatch::default()
        };
        let revision = review.revision + n;
        let edited = catalog.edit_review("ann", (product, review.id), revision, edit);
        drop(edited.await.unwrap());
        let vote = [Vote::Helpful, Vote::Unhelpful][usize::try_from(n % 2).unwrap()];
        let voted = catalog.vote_review("ann", other.review, Some(vote));
        drop(voted.await.unwrap());
        let key = format!("{round} {n}");
        drop(submit(catalog, "ann", &key, other.product).await.unwrap());
    }
}

/// What `ann` votes on and writes about, beside her own review.
#[derive(Clone, Copy)]
struct Other {
    review: (ProductId, ReviewId),
    product: ProductId,
}

async fn erase_ann(app: &App, policy: ErasurePolicy) {
    let ann = AuthorId("ann".to_owned());
    let erased = app.catalog.erase_author(Subject("admin"), ann, policy);
    drop(erased.await.unwrap());
}

#[test]
fn an_author_who_writes_while_being_erased_is_erased_by_the_next_mutation() {
    test(async |app| {
        let (one, product) = (
            new_product(app, "lamp").await,
            new_product(app, "desk").await,
        );
        let by_ben = reviewed(submit(&app.catalog, "ben", "k", one).await).review;
        let review = (one, by_ben.id);
        let other = Other { review, product };
        for round in 0..6 {
            let policy = [ErasurePolicy::Remove, ErasurePolicy::Anonymize][round % 2];
            let own = reviewed(submit(&app.catalog, "ann", &format!("{round}"), one).await).review;
            let writes = keep_writing(&app.catalog, round, (one, &own), other);
            tokio::join!(writes, erase_ann(app, policy));
            settle(app).await;
            app.audit().await;
            erase_ann(app, policy).await;
            settle(app).await;
            for collection in ["reviews", "products", "votes", "review_versions"] {
                let all = app.documents(collection, doc! {}).await;
                assert!(!format!("{all:?}").contains("\"ann\""), "{collection}");
            }
            app.audit().await;
        }
    });
}

#[test]
fn a_cancelled_call_leaves_nothing_half_written() {
    test(async |app| {
        let id = new_product(app, "lamp").await;
        for n in 0..40_u32 {
            let catalog = app.catalog.clone();
            let author = format!("author {n}");
            let mut calls = JoinSet::new();
            calls.spawn(async move { submit(&catalog, &author, "k", id).await.is_ok() });
            // Cancelled at another point each time: after this many turns of the scheduler.
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
fn reviews_of_many_products_at_once_share_transactions_but_not_refusals() {
    test(async |app| {
        const PRODUCTS: usize = 60;
        let names: Vec<String> = (0..PRODUCTS).map(|n| format!("Lamp {n}")).collect();
        app.has(names.iter().map(|name| product(name))).await;
        let mut ids = Vec::new();
        for n in 0..PRODUCTS {
            ids.push(stored(app, &format!("lamp-{n}")).await.id);
        }
        // Another writer changes the product in the middle.
        let mut session = app.direct().client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let busy = ids[PRODUCTS / 2 + 1];
        let products = app.direct().collection::<Document>("products");
        products
            .update_one(
                doc! { "_id": busy.to_i64() },
                doc! { "$inc": { "revision": 1 } },
            )
            .session(&mut session)
            .await
            .unwrap();
        app.forget_commands();
        let mut calls = JoinSet::new();
        for (n, id) in ids.iter().copied().enumerate() {
            // Every tenth is sent twice at the same time.
            for _ in 0..=u32::from(n % 10 == 0) {
                let catalog = app.catalog.clone();
                let author = format!("author {n}");
                calls.spawn(async move { (id, submit(&catalog, &author, "k", id).await) });
            }
        }
        let mut reviews: BTreeMap<ProductId, Vec<Reviewed>> = BTreeMap::new();
        for (id, outcome) in calls.join_all().await {
            reviews.entry(id).or_default().push(reviewed(outcome));
        }
        session.abort_transaction().await.unwrap();
        let commits = app.sent();
        let commits = commits
            .iter()
            .filter(|command| command.starts_with("commitTransaction"))
            .count();
        println!("{PRODUCTS} reviews in {commits} transactions");
        assert!(commits < PRODUCTS, "{commits}");
        assert_eq!(reviews.len(), PRODUCTS);
        for (id, same) in &reviews {
            assert!(same.iter().all(|one| one.review.id == same[0].review.id));
            // Those that are sent twice may conflict with themselves.
            if let [one] = same.as_slice() {
                assert_eq!(one.stats_pending, *id == busy, "only who met another waits");
            }
        }
        settle(app).await;
        for n in 0..PRODUCTS {
            let lamp = stored(app, &format!("lamp-{n}")).await;
            assert_eq!(lamp.computed.stats.count(), 1);
        }
    });
}

#[test]
fn refused_reviews_leave_others_of_their_batch_alone() {
    test(async |app| {
        let good = new_product(app, "lamp").await;
        let draft = product("Draft").status(ProductStatus::Draft);
        let archived = product("Archived").status(ProductStatus::Archived);
        app.has([draft, archived]).await;
        let (draft, archived) = (stored(app, "draft").await, stored(app, "archived").await);
        let missing = ProductId::from_i64(12_345);
        let rated = ReviewContent {
            dimensions: vec![("taste".to_owned(), 4)],
            ..content(4)
        };
        let refused = [
            (draft.id, content(4), UserErrorCode::NotFound),
            (missing, content(4), UserErrorCode::NotFound),
            (archived.id, content(4), UserErrorCode::NotOpen),
            (good, rated, UserErrorCode::Invalid),
        ];
        let mut calls = JoinSet::new();
        for n in 0..40 {
            let refused = refused.get(n).cloned();
            let catalog = app.catalog.clone();
            calls.spawn(async move {
                let (product, content, code) = match refused {
                    Some((product, content, code)) => (product, content, Some(code)),
                    None => (good, content(4), None),
                };
                let author = format!("author {n}");
                // Every third has a key.
                let key = (n % 3 == 0).then(|| "k".to_owned());
                let outcome = catalog.submit_review(&author, key, product, content).await;
                let refusal = match outcome.unwrap() {
                    Outcome::Done(_) => None,
                    Outcome::Refused { refusals, .. } => Some(refusals[0].code),
                };
                assert_eq!(refusal, code, "{author}");
            });
        }
        calls.join_all().await;
        settle(app).await;
        let stored = stored(app, "lamp").await;
        assert_eq!(stored.computed.stats.count(), 36);
    });
}

#[test]
fn reviews_of_a_product_that_has_become_hot_leave_their_batch_together() {
    test(async |app| {
        let id = new_product(app, "lamp").await;
        let now = app.clock.now();
        let reason = vitrine_model::product::HotReason::Rate;
        let until = now.plus_millis(600_000);
        app.store.mark_hot(id, until, reason, now).await.unwrap();
        app.forget_commands();
        let mut calls = JoinSet::new();
        for n in 0..40 {
            let catalog = app.catalog.clone();
            calls.spawn(async move { submit(&catalog, &format!("author {n}"), "k", id).await });
        }
        for outcome in calls.join_all().await {
            reviewed(outcome);
        }
        let sent = app.sent();
        let aborted = sent.iter().filter(|sent| *sent == "abortTransaction");
        // One for each batch.
        assert!(aborted.count() <= 4, "{sent:?}");
        settle(app).await;
        assert_eq!(stored(app, "lamp").await.computed.stats.count(), 40);
    });
}

/// Casts votes of readers at once; returns the outcomes in the same order.
async fn cast(
    app: &App,
    votes: impl IntoIterator<Item = (&Review, String, Option<Vote>)>,
) -> Vec<Outcome<Review>> {
    let votes = votes.into_iter().map(|(review, voter, vote)| {
        let (catalog, key) = (app.catalog.clone(), (review.product_id, review.id));
        async move { catalog.vote_review(&voter, key, vote).await.unwrap() }
    });
    futures_util::future::join_all(votes).await
}

fn count_of(outcome: &Outcome<Review>) -> Result<(i64, i64), UserErrorCode> {
    match outcome {
        Outcome::Done(review) => Ok((review.helpful, review.unhelpful)),
        Outcome::Refused { refusals, .. } => Err(refusals[0].code),
    }
}

#[test]
fn votes_at_once_share_transactions_but_not_refusals() {
    test(async |app| {
        const VOTERS: usize = 30;
        let lamp = new_product(app, "lamp").await;
        let mut reviews = Vec::new();
        for author in ["ann", "ben", "cem"] {
            let written = submit(&app.catalog, author, author, lamp).await;
            reviews.push(reviewed(written).review);
        }
        let gone = Review {
            id: ReviewId::from_i64(1),
            ..reviews[0].clone()
        };
        app.forget_commands();
        let of_readers = (0..VOTERS).map(|n| {
            let vote = if n % 3 == 0 {
                Vote::Unhelpful
            } else {
                Vote::Helpful
            };
            (&reviews[n % 2], format!("reader {n}"), Some(vote))
        });
        let own = (&reviews[0], "ann".to_owned(), Some(Vote::Helpful));
        let none = (&gone, "dia".to_owned(), Some(Vote::Helpful));
        let outcomes = cast(app, [own, none].into_iter().chain(of_readers)).await;
        let commits = app.sent();
        let commits = commits
            .iter()
            .filter(|sent| sent.starts_with("commitTransaction"));
        assert!(commits.count() < VOTERS / 2);
        assert_eq!(count_of(&outcomes[0]), Err(UserErrorCode::NotAllowed));
        assert_eq!(count_of(&outcomes[1]), Err(UserErrorCode::NotFound));
        // Each voter sees at least the own vote.
        for (n, outcome) in outcomes[2..].iter().enumerate() {
            let (helpful, unhelpful) = count_of(outcome).unwrap();
            assert!(
                if n % 3 == 0 {
                    unhelpful > 0
                } else {
                    helpful > 0
                },
                "{n}"
            );
        }
        // Without a fold, because the product is not hot.
        let top = stored(app, "lamp").await.computed.top_reviews;
        let top: Vec<(ReviewId, i64)> = top.iter().map(|top| (top.id, top.helpful)).collect();
        let [first, second] = [top[0], top[1]];
        let mut ids = [first.0, second.0];
        ids.sort_unstable();
        let mut voted = [reviews[0].id, reviews[1].id];
        voted.sort_unstable();
        assert_eq!((ids, first.1, second.1, top[2].1), (voted, 10, 10, 0));
    });
}

#[test]
fn a_voter_who_votes_several_times_at_once_has_one_vote() {
    test(async |app| {
        let lamp = new_product(app, "lamp").await;
        let review = reviewed(submit(&app.catalog, "ann", "k", lamp).await).review;
        // The first goes alone, the others share a transaction, in their order.
        let votes = [
            Some(Vote::Helpful),
            Some(Vote::Helpful),
            Some(Vote::Unhelpful),
            None,
            None,
            Some(Vote::Unhelpful),
        ];
        let cast = cast(app, votes.map(|vote| (&review, "ben".to_owned(), vote))).await;
        let counts: Vec<_> = cast.iter().map(|one| count_of(one).unwrap()).collect();
        assert_eq!(counts, [(1, 0), (1, 0), (0, 1), (0, 0), (0, 0), (0, 1)]);
        let rows = app.direct().collection::<Document>("votes");
        assert_eq!(rows.count_documents(doc! {}).await.unwrap(), 1);
    });
}

#[test]
fn votes_do_not_wait_for_another_writer_of_the_product() {
    test(async |app| {
        let lamp = new_product(app, "lamp").await;
        let review = reviewed(submit(&app.catalog, "ann", "k", lamp).await).review;
        let mut session = app.direct().client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let products = app.direct().collection::<Document>("products");
        let (own, change) = (
            doc! { "_id": lamp.to_i64() },
            doc! { "$inc": { "revision": 1 } },
        );
        let changed = products.update_one(own, change).session(&mut session);
        changed.await.unwrap();
        let helpful = |n: usize| (&review, format!("reader {n}"), Some(Vote::Helpful));
        let outcomes = cast(app, (0..3).map(helpful)).await;
        // Each is repeated by its own caller, in any order.
        let counts: Vec<_> = outcomes.iter().map(count_of).collect();
        assert!(counts.contains(&Ok((3, 0))), "{counts:?}");
        session.abort_transaction().await.unwrap();
        app.catalog.drain().await;
        settle(app).await;
        // The conflict made the product hot, so that the next vote is left to a fold at once.
        assert!(stored(app, "lamp").await.outlier.is_hot(app.clock.now()));
        let outcomes = cast(app, [helpful(3)]).await;
        let [Outcome::Done(voted)] = &outcomes[..] else {
            panic!("{outcomes:?}");
        };
        assert!(voted.dirty);
        settle(app).await;
        let top = stored(app, "lamp").await.computed.top_reviews;
        assert_eq!(top[0].helpful, 4);
    });
}

#[test]
fn votes_on_reviews_that_are_held_do_not_delay_others() {
    test(async |app| {
        let lamp = new_product(app, "lamp").await;
        let mut reviews = Vec::new();
        for author in ["ann", "ben", "cem", "dia", "eve"] {
            let written = submit(&app.catalog, author, author, lamp).await;
            reviews.push(reviewed(written).review);
        }
        let free = reviews.pop().unwrap();
        let held: Vec<i64> = reviews.iter().map(|review| review.id.to_i64()).collect();
        let mut session = app.direct().client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let collection = app.direct().collection::<Document>("reviews");
        let (those, change) = (
            doc! { "_id": { "$in": held } },
            doc! { "$inc": { "revision": 1 } },
        );
        let changed = collection.update_many(those, change);
        changed.session(&mut session).await.unwrap();
        // One after another, the held ones would take longer than a caller waits.
        let mut waiting = JoinSet::new();
        for review in &reviews {
            let (catalog, key) = (app.catalog.clone(), (review.product_id, review.id));
            waiting.spawn(async move {
                let vote = catalog.vote_review("fay", key, Some(Vote::Helpful));
                vote.await
            });
        }
        let helpful = |n: usize| (&free, format!("reader {n}"), Some(Vote::Helpful));
        let outcomes = cast(app, (0..10).map(helpful)).await;
        let counts: Vec<_> = outcomes.iter().map(count_of).collect();
        assert!(counts.contains(&Ok((10, 0))), "{counts:?}");
        session.abort_transaction().await.unwrap();
        let mut stored = 0;
        for outcome in waiting.join_all().await {
            match outcome {
                Ok(outcome) => {
                    assert_eq!(count_of(&outcome), Ok((1, 0)));
                    stored += 1;
                }
                Err(error) => assert!(matches!(error, DomainError::Unavailable(_)), "{error:?}"),
            }
        }
        settle(app).await;
        let rows = app.direct().collection::<Document>("votes");
        assert_eq!(rows.count_documents(doc! {}).await.unwrap(), 10 + stored);
    });
}

#[test]
fn a_thousand_concurrent_retries_submit_one_review() {
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
                // Refused because of the load, or because of too many conflicts: it is sent again.
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
fn many_concurrent_writers_of_one_product_get_no_errors() {
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
