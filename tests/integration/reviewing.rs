//! Reviews by shoppers and decisions by moderators, through the API.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_api::graphql::Role;
use vitrine_domain::workers::Worker;
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, product, review, test};
use vitrine_model::clock::Clock as _;
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::product::HotReason;
use vitrine_model::review::MAX_TOP_REVIEWS;

/// Imports a product on sale; returns its id.
async fn lamp(app: &App) -> String {
    app.has([product("Lamp")]).await;
    let found = app.query(r#"{ product(slug: "lamp") { id } }"#).await;
    found.text("/product/id")
}

fn product_id(id: &str) -> ProductId {
    match GlobalId::decode(id) {
        Ok(GlobalId::Product(id)) => id,
        other => panic!("an id of a product: {other:?}"),
    }
}

fn said(product: &str, rating: i64, mut more: Value) -> Value {
    let mut input = json!({ "productId": product, "rating": rating, "body": "It shines." });
    let fields = input.as_object_mut().unwrap();
    fields.append(more.as_object_mut().unwrap());
    input
}

async fn submit(app: &App, author: &str, product: &str, rating: i64) -> Reply {
    let input = said(product, rating, json!({}));
    app.mutate_by(author, "submitReview", input).await
}

/// Folds all dirty reviews.
async fn settle(app: &App) {
    app.catalog.fold_and_move_ranks().await.unwrap();
}

#[test]
fn a_review_is_submitted_edited_and_deleted() {
    test(async |app| {
        let id = lamp(app).await;
        let input = said(
            &id,
            4,
            json!({
                "recommended": true, "title": " Bright ", "language": "en", "authorName": "Ann B.",
                "media": [{ "url": "https://example.com/lamp.jpg", "kind": "IMAGE", "alt": "The lamp" }],
            }),
        );
        let written = app.mutate_by("ann", "submitReview", input).await;
        let review = written.text("/review/id");
        assert_eq!(written.text("/review/title"), "Bright");
        assert_eq!(written.text("/review/author/name"), "Ann B.");
        assert_eq!(written.number("/product/ratingStats/count"), 1);
        assert_eq!(written.payload()["statsPending"], false);

        let edit =
            json!({ "id": review, "expectedRevision": 1, "rating": 2, "title": "Too bright" });
        let edited = app.mutate_by("ann", "editReview", edit.clone()).await;
        assert_eq!(edited.number("/review/revision"), 2);
        assert_eq!(edited.payload()["product"]["ratingStats"]["average"], 2.0);
        // The same edit again is a retry; after another edit it is stale.
        let again = app.mutate_by("ann", "editReview", edit.clone()).await;
        assert_eq!(again.number("/review/revision"), 2);
        let more = json!({ "id": review, "expectedRevision": 2, "body": "It blinds." });
        app.mutate_by("ann", "editReview", more).await.done();
        let old = app.mutate_by("ann", "editReview", edit).await;
        assert_eq!(
            old.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );

        let page = app
            .query("query($id: ID) { product(id: $id) { topReviews { title } viewerReview { title body media { url } versions { title rating } } } }")
            .with("id", id.as_str())
            .as_shopper("ann")
            .await;
        assert_eq!(page.text("/product/topReviews/0/title"), "Too bright");
        assert_eq!(
            page.text("/product/viewerReview/media/0/url"),
            "https://example.com/lamp.jpg"
        );
        assert_eq!(
            page.text("/product/viewerReview/versions/0/title"),
            "Bright"
        );

        let deletion = json!({ "id": review });
        let deleted = app.mutate_by("ann", "deleteReview", deletion.clone()).await;
        assert_eq!(deleted.number("/product/ratingStats/count"), 0);
        app.mutate_by("ann", "deleteReview", deletion).await.done();
        // Submitted again it has the same id.
        let again = submit(app, "ann", &id, 5).await;
        assert_eq!(again.text("/review/id"), review);
        assert_eq!(again.number("/product/ratingStats/count"), 1);
    });
}

#[test]
fn an_edit_keeps_a_language_that_only_an_import_may_bring() {
    test(async |app| {
        let id = lamp(app).await;
        let imported = review("Lamp", 1, 4).author("ann").body("Fine");
        app.has_reviews([imported.language("english")]).await;
        let page = "query($id: ID) { product(id: $id) { reviews { nodes { id language } } } }";
        let page = app.query(page).with("id", id.as_str()).await;
        let review = page.text("/product/reviews/nodes/0/id");
        assert_eq!(page.text("/product/reviews/nodes/0/language"), "english");
        let edit = json!({ "id": review, "expectedRevision": 1, "rating": 2 });
        app.mutate_by("ann", "editReview", edit).await.done();
        let edit = json!({ "id": review, "expectedRevision": 2, "language": "english" });
        let refused = app.mutate_by("ann", "editReview", edit).await;
        assert_eq!(refused.user_error_paths(), ["INVALID at language"]);
    });
}

#[test]
fn a_refused_edit_shows_the_review_to_its_author_only() {
    test(async |app| {
        let id = lamp(app).await;
        let submitted = submit(app, "ann", &id, 4).await;
        let review = submitted.text("/review/id");
        let edit = json!({ "id": review, "expectedRevision": 1, "rating": 2 });
        let other = app.mutate_by("ben", "editReview", edit.clone()).await;
        assert_eq!(other.user_error_paths(), ["NOT_ALLOWED at id"]);
        assert!(other.payload()["review"].is_null());
        let deletion = json!({ "id": review });
        app.mutate_by("ann", "deleteReview", deletion).await.done();
        let own = app.mutate_by("ann", "editReview", edit).await;
        assert_eq!(own.user_error_paths(), ["NOT_OPEN at id"]);
        assert_eq!(own.payload()["review"]["id"], review);
    });
}

#[test]
fn a_fold_leaves_revision_and_update_time_of_its_product() {
    test(async |app| {
        let id = lamp(app).await;
        let state = async || {
            let page = app
                .query("query($id: ID) { product(id: $id) { revision updatedAt } }")
                .with("id", id.as_str())
                .await;
            page.at("/product").clone()
        };
        let before = state().await;
        app.clock.advance(60_000);
        let submitted = submit(app, "ann", &id, 5).await;
        assert_eq!(submitted.number("/product/ratingStats/count"), 1);
        assert_eq!(state().await, before);
    });
}

#[test]
fn a_second_review_of_an_author_is_refused_with_the_first() {
    test(async |app| {
        let id = lamp(app).await;
        let input = said(&id, 4, json!({ "idempotencyKey": "k" }));
        let first = app.mutate_by("ann", "submitReview", input.clone()).await;
        let again = app.mutate_by("ann", "submitReview", input).await;
        assert_eq!(again.payload()["review"], first.payload()["review"]);
        let other = said(&id, 5, json!({ "idempotencyKey": "k" }));
        let other = app.mutate_by("ann", "submitReview", other).await;
        assert_eq!(
            other.user_error_paths(),
            ["IDEMPOTENCY_CONFLICT at idempotencyKey"]
        );
        let second = submit(app, "ann", &id, 1).await;
        assert_eq!(second.user_error_paths(), ["ALREADY_REVIEWED at productId"]);
        assert_eq!(
            second.payload()["review"]["id"],
            first.payload()["review"]["id"]
        );
        // A key belongs to its author.
        let input = said(&id, 3, json!({ "idempotencyKey": "k" }));
        app.mutate_by("ben", "submitReview", input).await.done();
        app.has([product("Sofa")]).await;
        let sofa = app.query(r#"{ product(slug: "sofa") { id } }"#).await;
        let input = said(
            &sofa.text("/product/id"),
            3,
            json!({ "idempotencyKey": "k" }),
        );
        let elsewhere = app.mutate_by("ann", "submitReview", input).await;
        assert_eq!(
            elsewhere.user_error_paths(),
            ["IDEMPOTENCY_CONFLICT at idempotencyKey"]
        );
    });
}

#[test]
fn a_short_top_list_admits_no_review_out_of_turn() {
    test(async |app| {
        let id = lamp(app).await;
        let helpful = |n: i64| review("Lamp", n, 4).title(&format!("{n}")).helpful(n);
        app.has_reviews((1..=30).map(helpful)).await;
        let titles = async || {
            let query = "{ product(slug: \"lamp\") { topReviews { title } reviews(first: 8, sort: MOST_HELPFUL) { nodes { title } } } }";
            let found = app.query(query).await;
            let titles = |place: &str| {
                let list = found
                    .data()
                    .pointer(place)
                    .unwrap()
                    .as_array()
                    .unwrap()
                    .iter();
                list.map(|one| one["title"].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>()
            };
            (
                titles("/product/topReviews"),
                titles("/product/reviews/nodes"),
            )
        };
        let right = titles().await;
        let best = (0..MAX_TOP_REVIEWS).map(|n| (30 - n).to_string());
        assert_eq!(right.0, best.collect::<Vec<_>>());
        // As an earlier release left the list, with fewer reviews.
        let shorten = async |kept: i32| {
            let products = app.direct().collection::<Document>("products");
            let kept = doc! { "$slice": ["$top_reviews", kept] };
            let shorten = vec![doc! { "$set": { "top_reviews": kept } }];
            products.update_one(doc! {}, shorten).await.unwrap();
        };
        for (kept, author) in [(8, "ann"), (9, "ben"), (1, "cleo")] {
            shorten(kept).await;
            // A page of the most helpful reviews is not taken from a list that is too short.
            assert_eq!(titles().await.1, right.1, "{kept} were kept");
            submit(app, author, &id, 5).await.done();
            settle(app).await;
            assert_eq!(titles().await, right, "{kept} were kept");
        }
        // Also when an import counts its reviews as it stores them.
        shorten(9).await;
        let late = (31..=33).map(|n| review("Lamp", n, 4).title(&format!("{n}")));
        app.has_reviews(late).await;
        assert_eq!(titles().await, right);
    });
}

#[test]
fn votes_count_once_and_move_the_top_reviews() {
    test(async |app| {
        let id = lamp(app).await;
        let first = submit(app, "ann", &id, 4).await.text("/review/id");
        app.clock.advance(1_000);
        submit(app, "ben", &id, 2).await.done();
        let vote = async |voter: &str, vote: &str| {
            let input = json!({ "id": first, "vote": vote });
            app.mutate_by(voter, "voteReview", input).await
        };
        assert_eq!(
            vote("cem", "HELPFUL").await.number("/review/helpfulCount"),
            1
        );
        assert_eq!(
            vote("cem", "HELPFUL").await.number("/review/helpfulCount"),
            1
        );
        assert_eq!(
            vote("dia", "UNHELPFUL")
                .await
                .number("/review/unhelpfulCount"),
            1
        );
        assert_eq!(
            vote("dia", "HELPFUL").await.number("/review/helpfulCount"),
            2
        );
        assert_eq!(
            vote("ann", "HELPFUL").await.user_error_paths(),
            ["NOT_ALLOWED at id"]
        );
        let taken = app
            .mutate_by("dia", "removeVote", json!({ "id": first }))
            .await;
        assert_eq!(taken.number("/review/helpfulCount"), 1);
        settle(app).await;
        let page = app
            .query(
                "query($id: ID) { product(id: $id) { topReviews { helpfulCount author { name } }
                reviews(first: 5, sort: MOST_HELPFUL) { nodes { id viewerVote } } } }",
            )
            .with("id", id.as_str())
            .as_shopper("cem")
            .await;
        assert_eq!(page.number("/product/topReviews/0/helpfulCount"), 1);
        assert_eq!(page.text("/product/reviews/nodes/0/id"), first);
        assert_eq!(page.text("/product/reviews/nodes/0/viewerVote"), "HELPFUL");
        // Nobody votes on a hidden review.
        let input = json!({ "id": first, "decision": "REJECT", "reason": "FAKE" });
        app.mutate_by("mod", "moderateReview", input).await.done();
        assert_eq!(
            vote("eva", "HELPFUL").await.user_error_paths(),
            ["NOT_FOUND at id"]
        );
    });
}

#[test]
fn a_purchase_before_or_after_the_review_verifies_it() {
    test(async |app| {
        let id = lamp(app).await;
        let buy = async |customer: &str| {
            let input = json!({ "productId": id, "customerId": customer });
            app.mutate_as(Role::Service, "orders", "recordPurchase", input)
                .await
        };
        assert_eq!(buy("ann").await.payload()["recorded"], true);
        assert_eq!(buy("ann").await.payload()["recorded"], false);
        let before = submit(app, "ann", &id, 4).await;
        assert_eq!(before.payload()["review"]["verified"], true);
        let after = submit(app, "ben", &id, 4).await;
        assert_eq!(after.payload()["review"]["verified"], false);
        buy("ben").await.done();
        settle(app).await;
        let page = app
            .query("query($id: ID) { product(id: $id) { topReviews { verified } reviews { nodes { verified } } } }")
            .with("id", id.as_str())
            .await;
        for n in 0..2 {
            assert_eq!(*page.at(&format!("/product/topReviews/{n}/verified")), true);
            assert_eq!(
                *page.at(&format!("/product/reviews/nodes/{n}/verified")),
                true
            );
        }
    });
}

#[test]
fn a_purchase_recorded_during_a_submission_verifies_it_later() {
    test(async |app| {
        let id = lamp(app).await;
        submit(app, "ann", &id, 4).await.done();
        let buy = json!({ "productId": id, "customerId": "ann" });
        app.mutate_as(Role::Service, "orders", "recordPurchase", buy)
            .await
            .done();
        // As if the submission had looked for the purchase before it was stored, and the purchase
        // for the review before it was.
        let reviews = app.direct().collection::<Document>("reviews");
        let unseen = doc! { "$set": { "verified": false, "dirty": true }, "$unset": { "traits": 1, "marks": 1 } };
        reviews.update_one(doc! {}, unseen).await.unwrap();
        assert_eq!(
            app.catalog.recheck_purchases().await.unwrap().done,
            0,
            "not yet"
        );
        app.clock.advance(120_000);
        assert_eq!(app.catalog.recheck_purchases().await.unwrap().done, 1);
        assert_eq!(
            app.catalog.recheck_purchases().await.unwrap().done,
            0,
            "once"
        );
        settle(app).await;
        let page = app
            .query("query($id: ID) { product(id: $id) { topReviews { verified } ratingStats { verifiedCount } } }")
            .with("id", id.as_str())
            .await;
        assert_eq!(*page.at("/product/topReviews/0/verified"), true);
        assert_eq!(*page.at("/product/ratingStats/verifiedCount"), 1);
    });
}

/// One of forty reviews, and what it can be filtered by.
struct Sample {
    id: String,
    stars: i64,
    verified: bool,
    media: bool,
    language: Option<String>,
}

async fn purchase(app: &App, product: &str, customer: &str) {
    let purchase = json!({ "productId": product, "customerId": customer });
    app.mutate_as(Role::Service, "orders", "recordPurchase", purchase)
        .await
        .done();
}

/// Reviews of forty authors: a third of buyers, a quarter with media, in five languages or none.
async fn forty_reviews(app: &App, product: &str) -> Vec<Sample> {
    let languages = [
        Value::Null,
        json!("en"),
        json!("de-AT"),
        json!("EN-gb"),
        json!("tlh"),
    ];
    let mut samples = Vec::new();
    for n in 0..40_i64 {
        let author = format!("author-{n}");
        let (verified, media, stars) = (n % 3 == 0, n % 4 == 1, 1 + n % 5);
        let tag = &languages[usize::try_from(n % 5).unwrap()];
        if verified {
            purchase(app, product, &author).await;
        }
        let pictures = if media {
            json!([{ "url": "https://example.org/lamp.jpg", "kind": "IMAGE" }])
        } else {
            json!([])
        };
        let more = json!({ "media": pictures, "language": tag });
        let submitted = app
            .mutate_by(&author, "submitReview", said(product, stars, more))
            .await;
        let language = tag.as_str().filter(|tag| *tag != "tlh");
        samples.push(Sample {
            id: submitted.text("/review/id"),
            stars,
            verified,
            media,
            language: language.map(|tag| tag[..2].to_lowercase()),
        });
    }
    // This many reviews have made the product hot; once it is not, its totals are exact.
    app.catalog.drain().await;
    app.clock.advance(60_000);
    settle(app).await;
    samples
}

const FILTERED_REVIEWS: &str = "query($id: ID, $filter: ReviewFilterInput, $sort: ReviewSort, $after: String) { product(id: $id) {
    reviews(first: 3, after: $after, sort: $sort, filter: $filter) { nodes { id } totalCount { value relation } pageInfo { hasNextPage endCursor } } } }";

/// Reads all pages of the reviews that a filter finds, and asserts the exact total of each.
async fn walk_filtered(
    app: &App,
    product: &str,
    (filter, sort): (&Value, &str),
    total: usize,
) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let answer = app
            .query(FILTERED_REVIEWS)
            .with("id", product)
            .with("filter", filter.clone())
            .with("sort", sort)
            .with("after", after)
            .await;
        let reviews = answer.at("/product/reviews");
        let exact = json!({ "value": total, "relation": "EXACT" });
        assert_eq!(reviews["totalCount"], exact, "{filter} by {sort}");
        let nodes = reviews["nodes"].as_array().unwrap().iter();
        found.extend(nodes.map(|node| node["id"].as_str().unwrap().to_owned()));
        if reviews["pageInfo"]["hasNextPage"] == false {
            found.sort_unstable();
            return found;
        }
        after = reviews["pageInfo"]["endCursor"].clone();
    }
}

/// Whether by buyers only, whether with media only, the language, and the ratings.
type ReviewFilter = (bool, bool, Option<&'static str>, Option<Vec<i64>>);

/// All combinations of filters: by buyers, media, language and stars.
fn review_filters() -> Vec<ReviewFilter> {
    let mut filters = Vec::new();
    for (verified, media) in [(false, false), (false, true), (true, false), (true, true)] {
        for language in [None, Some("en"), Some("de")] {
            for ratings in [None, Some(vec![5]), Some(vec![1, 2])] {
                filters.push((verified, media, language, ratings));
            }
        }
    }
    filters
}

#[test]
fn reviews_are_filtered_by_buyers_media_and_language_with_exact_totals() {
    test(async |app| {
        let id = lamp(app).await;
        let samples = forty_reviews(app, &id).await;
        for (verified, media, language, ratings) in review_filters() {
            let filter = json!({ "verifiedOnly": verified, "withMedia": media, "language": language, "ratings": ratings });
            let fits = |review: &&Sample| {
                (review.verified || !verified)
                    && (review.media || !media)
                    && (language.is_none() || review.language.as_deref() == language)
                    && ratings
                        .as_ref()
                        .is_none_or(|ratings| ratings.contains(&review.stars))
            };
            let expected = samples.iter().filter(fits);
            let mut expected: Vec<&str> = expected.map(|review| review.id.as_str()).collect();
            expected.sort_unstable();
            for sort in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
                let found = walk_filtered(app, &id, (&filter, sort), expected.len()).await;
                assert_eq!(found, expected, "{filter} by {sort}");
            }
        }
        let wrong = app
            .query(FILTERED_REVIEWS)
            .with("id", id.as_str())
            .with("filter", json!({ "language": "klingon" }))
            .await;
        assert!(
            wrong.errors().concat().contains("filter.language"),
            "{}",
            wrong.pretty()
        );
    });
}

#[test]
fn an_edit_and_a_purchase_move_a_review_to_other_counts() {
    test(async |app| {
        let id = lamp(app).await;
        let samples = forty_reviews(app, &id).await;
        let stats = async || {
            let stats = app
                .query("query($id: ID) { product(id: $id) { ratingStats { count verifiedCount withMediaCount languages { code count } } } }")
                .with("id", id.as_str())
                .await;
            stats.at("/product/ratingStats").clone()
        };
        assert_eq!(
            stats().await,
            json!({ "count": 40, "verifiedCount": 14, "withMediaCount": 10, "languages": [{ "code": "de", "count": 8 }, { "code": "en", "count": 16 }] })
        );
        let first = &samples[1].id;
        let edit = json!({ "id": first, "expectedRevision": 1, "language": "de", "media": [] });
        app.mutate_by("author-1", "editReview", edit).await.done();
        purchase(app, &id, "author-1").await;
        settle(app).await;
        assert_eq!(
            stats().await,
            json!({ "count": 40, "verifiedCount": 15, "withMediaCount": 9, "languages": [{ "code": "de", "count": 9 }, { "code": "en", "count": 15 }] })
        );
    });
}

/// A review of one star that two readers have reported, one of them twice, beside one of five
/// stars.
async fn reported_review(app: &App) -> String {
    let id = lamp(app).await;
    let review = submit(app, "ann", &id, 1).await.text("/review/id");
    submit(app, "ben", &id, 5).await.done();
    let report = json!({ "id": review, "reason": "SPAM", "note": "An advertisement." });
    for reader in ["cem", "dia", "dia"] {
        app.mutate_by(reader, "reportReview", report.clone())
            .await
            .done();
    }
    review
}

async fn decide(app: &App, by: &str, review: &str, decision: &str) -> Reply {
    let input = json!({ "id": review, "decision": decision, "reason": "OTHER", "note": "Seen." });
    app.mutate_by(by, "moderateReview", input).await
}

#[test]
fn a_reported_review_can_be_rejected_restored_and_published() {
    test(async |app| {
        let review = reported_review(app).await;
        let queue = || {
            app.query(
                "{ moderationQueue(first: 5) { totalCount { value } pageInfo { hasNextPage }
                nodes { id queueReason status reports { by reason note } } } }",
            )
            .as_moderator("mod")
        };
        let waiting = queue().await;
        assert_eq!(waiting.number("/moderationQueue/totalCount/value"), 1);
        assert_eq!(
            waiting.text("/moderationQueue/nodes/0/queueReason"),
            "REPORTED"
        );
        assert_eq!(
            waiting
                .at("/moderationQueue/nodes/0/reports")
                .as_array()
                .unwrap()
                .len(),
            2
        );
        let rejected = decide(app, "mod", &review, "REJECT").await;
        assert_eq!(rejected.text("/review/status"), "REJECTED");
        assert_eq!(rejected.number("/product/ratingStats/count"), 1);
        assert_eq!(queue().await.number("/moderationQueue/totalCount/value"), 0);
        let restored = decide(app, "mod", &review, "RESTORE").await;
        assert_eq!(restored.text("/review/status"), "PENDING");
        assert_eq!(
            queue().await.text("/moderationQueue/nodes/0/queueReason"),
            "PENDING"
        );
        let published = decide(app, "max", &review, "PUBLISH").await;
        assert_eq!(published.number("/product/ratingStats/count"), 2);
    });
}

#[test]
fn every_decision_is_logged_for_moderators_only() {
    test(async |app| {
        let review = reported_review(app).await;
        for (by, decision) in [("mod", "REJECT"), ("mod", "RESTORE"), ("max", "PUBLISH")] {
            decide(app, by, &review, decision).await.done();
        }
        let seen = app
            .query("query($id: ID!) { node(id: $id) { ... on Review { moderation { by from to reason note } reply { text by } } } }")
            .with("id", review.as_str());
        let moderation = seen.as_moderator("mod").await;
        assert_eq!(
            moderation.at("/node/moderation").as_array().unwrap().len(),
            3
        );
        assert_eq!(moderation.text("/node/moderation/2/by"), "max");
        let public = app
            .query("query($id: ID!) { node(id: $id) { ... on Review { title moderation { by } reports { by } versions { title } } } }")
            .with("id", review.as_str())
            .await;
        assert!(public.at("/node/moderation").is_null() && public.at("/node/reports").is_null());
        let reply = json!({ "id": review, "text": "We are sorry." });
        let replied = app.mutate_by("mod", "replyToReview", reply).await;
        assert_eq!(replied.text("/review/reply/text"), "We are sorry.");
        let fairness = app
            .query(
                r#"{ fairnessReport(from: "2026-01-01T00:00:00Z", to: "2027-01-01T00:00:00Z") {
                byRating { rating published rejected } byModerator { moderator published rejected } } }"#,
            )
            .as_moderator("mod")
            .await;
        let of_one_star = fairness.at("/fairnessReport/byRating").as_array().unwrap();
        let of_one_star = of_one_star.iter().find(|of| of["rating"] == 1).unwrap();
        assert_eq!(
            (&of_one_star["published"], &of_one_star["rejected"]),
            (&json!(1), &json!(1))
        );
        let moderators = fairness
            .at("/fairnessReport/byModerator")
            .as_array()
            .unwrap();
        assert_eq!(moderators.len(), 2);
    });
}

#[test]
fn with_moderation_before_publishing_no_review_is_seen_before_approval() {
    test(async |after| {
        let id = lamp(after).await;
        let app = &after.with_moderation_before_publishing().await;
        let review = submit(app, "ann", &id, 4).await;
        assert_eq!(review.text("/review/status"), "PENDING");
        let review = review.text("/review/id");
        let seen = async |by: &str| {
            settle(app).await;
            let page = app
                .query("query($id: ID) { product(id: $id) { viewerReview { status } ratingStats { count } topReviews { reviewId } reviews { nodes { rating } totalCount { value } } } }")
                .with("id", id.as_str())
                .with_roles(by, &[Role::Shopper])
                .await;
            let numbers = [
                page.number("/product/ratingStats/count"),
                page.number("/product/reviews/totalCount/value"),
                i64::try_from(page.at("/product/topReviews").as_array().unwrap().len()).unwrap(),
            ];
            (numbers, page.at("/product/viewerReview")["status"].clone())
        };
        assert_eq!(seen("ann").await, ([0; 3], json!("PENDING")));
        assert_eq!(seen("ben").await, ([0; 3], Value::Null));
        let waiting = async || {
            let queue = "{ moderationQueue { nodes { id queueReason } } }";
            let queue = app.query(queue).as_moderator("mod").await;
            queue.at("/moderationQueue/nodes").clone()
        };
        assert_eq!(
            waiting().await,
            json!([{ "id": review, "queueReason": "PENDING" }])
        );
        let decide = async |decision: &str| {
            let input = json!({ "id": review, "decision": decision, "reason": "OTHER" });
            app.mutate_by("mod", "moderateReview", input).await
        };
        let vote = json!({ "id": review, "vote": "HELPFUL" });
        let early = app.mutate_by("ben", "voteReview", vote.clone()).await;
        assert_eq!(early.user_error_paths(), ["NOT_FOUND at id"]);
        decide("PUBLISH").await.done();
        assert_eq!(seen("ben").await, ([1; 3], Value::Null));
        assert_eq!(waiting().await, json!([]));
        app.mutate_by("ben", "voteReview", vote).await.done();
        // An edit needs approval again.
        let edit = json!({ "id": review, "expectedRevision": 2, "body": "On second thought." });
        let edited = app.mutate_by("ann", "editReview", edit).await;
        assert_eq!(edited.text("/review/status"), "PENDING");
        assert_eq!(seen("ben").await, ([0; 3], Value::Null));
        assert_eq!(waiting().await.as_array().unwrap().len(), 1);
        decide("REJECT").await.done();
        assert_eq!(seen("ann").await, ([0; 3], json!("REJECTED")));
        assert_eq!(waiting().await, json!([]));
    });
}

#[test]
fn a_hidden_review_is_seen_by_its_author_and_moderators_only() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submit(app, "ann", &id, 2).await.text("/review/id");
        let rating = async |by: Option<(&str, Role)>| {
            let ask = app
                .query("query($id: ID!) { node(id: $id) { ... on Review { rating } } }")
                .with("id", review.as_str());
            let answer = match by {
                Some((by, role)) => ask.with_roles(by, &[role]).await,
                None => ask.await,
            };
            !answer.at("/node").is_null()
        };
        let seen = async || {
            [
                rating(None).await,
                rating(Some(("ben", Role::Shopper))).await,
                rating(Some(("ann", Role::Shopper))).await,
                rating(Some(("mod", Role::Moderator))).await,
            ]
        };
        assert_eq!(seen().await, [true, true, true, true]);
        let decision = json!({ "id": review, "decision": "REJECT", "reason": "SPAM" });
        app.mutate_by("mod", "moderateReview", decision)
            .await
            .done();
        assert_eq!(seen().await, [false, false, true, true], "rejected");
        for vote in ["HELPFUL", "UNHELPFUL"] {
            let vote = json!({ "id": review, "vote": vote });
            let voted = app.mutate_by("ben", "voteReview", vote).await;
            assert_eq!(voted.user_error_paths(), ["NOT_FOUND at id"]);
        }
        let decision = json!({ "id": review, "decision": "PUBLISH", "reason": "ACCEPTABLE" });
        app.mutate_by("mod", "moderateReview", decision)
            .await
            .done();
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        assert_eq!(
            seen().await,
            [false, false, true, true],
            "of an archived product"
        );
        let deletion = json!({ "id": review });
        app.mutate_by("ann", "deleteReview", deletion).await.done();
        assert_eq!(seen().await, [false; 4], "deleted");
    });
}

/// Sends a mutation to an idle process, and asserts which commands it waited for. Background folds
/// come after them.
async fn costs(app: &App, order: (&str, &str, Value), expected: &[&str]) -> Reply {
    let (by, name, input) = order;
    let app = app.with_max_read(20_000).await;
    let reply = app.mutate_by(by, name, input).await;
    app.catalog.drain().await;
    let sent = reply.0.sent_for_query();
    let follows = [
        "find reviews",
        "find products",
        "update products",
        "insert stale_ranks",
        "update reviews",
        "commitTransaction",
    ];
    let (waited, after) = sent.split_at(expected.len().min(sent.len()));
    assert_eq!(waited, expected, "{name}");
    assert!(
        after.iter().all(|sent| follows.contains(sent)),
        "{name} sent {sent:?}"
    );
    reply
}

/// The commands of a fold that a mutation waits for, and of reading the product for its payload.
const FOLD: [&str; 7] = [
    "find reviews",
    "find products",
    "update products",
    "insert stale_ranks",
    "update reviews",
    "commitTransaction",
    "find products",
];

/// The commands that a new review waits for, with and without an idempotency key, and those of
/// reading the product for its payload. The product is not in memory.
fn submission(keyed: bool) -> Vec<&'static str> {
    let key: &[&str] = if keyed { &["insert mutations"] } else { &[] };
    let counted = [
        "insert reviews",
        "update products",
        "insert stale_ranks",
        "commitTransaction",
        "find products",
    ];
    [&["find purchases", "find products"], key, &counted].concat()
}

/// The mutations of a review in turn, each with the commands it waits for.
fn costs_of_mutations() -> [(&'static str, &'static str, Value, Vec<&'static str>); 7] {
    let vote = |written: &[&'static str]| {
        let read = ["find reviews", "find products", "find votes"];
        let counted = ["update products", "commitTransaction"];
        [&read, written, &counted].concat()
    };
    // A review that moves down may leave the top ten to another.
    let withdrawn = ["delete votes", "update reviews", "find reviews"];
    let edit = [
        "find reviews",
        "aggregate products",
        "update reviews",
        "insert review_versions",
        "commitTransaction",
    ];
    let report = vec![
        "aggregate reviews",
        "findAndModify review_reports",
        "findAndModify reviews",
        "commitTransaction",
    ];
    let reject = vec![
        "find reviews",
        "update reviews",
        "insert moderation_log",
        "update review_reports",
        "commitTransaction",
        // The fold, which looks for reviews that move up into the top ten.
        "find reviews",
        "find products",
        "find reviews",
        "update products",
        "insert stale_ranks",
        "update reviews",
        "commitTransaction",
        "find products",
    ];
    let rejection = json!({ "decision": "REJECT", "reason": "SPAM" });
    let fewer = json!({ "expectedRevision": 2, "rating": 2 });
    let delete = vec!["find reviews", "update reviews", "find products"];
    let reply = vec!["find reviews", "update reviews"];
    [
        (
            "ben",
            "voteReview",
            json!({ "vote": "HELPFUL" }),
            vote(&["update votes", "update reviews"]),
        ),
        ("ben", "removeVote", json!({}), vote(&withdrawn)),
        ("cem", "reportReview", json!({ "reason": "SPAM" }), report),
        ("mod", "replyToReview", json!({ "text": "Thanks." }), reply),
        ("ann", "editReview", fewer, [&edit[..], &FOLD].concat()),
        ("mod", "moderateReview", rejection, reject),
        ("ann", "deleteReview", json!({}), delete),
    ]
}

#[test]
fn every_mutation_of_a_review_waits_for_few_commands() {
    test(async |app| {
        let id = lamp(app).await;
        let (key, input) = (json!({ "idempotencyKey": "k" }), said(&id, 3, json!({})));
        let keyed = said(&id, 3, key);
        costs(app, ("eve", "submitReview", keyed), &submission(true))
            .await
            .done();
        let written = costs(app, ("ann", "submitReview", input), &submission(false)).await;
        let review = &written.text("/review/id");
        for (by, name, mut input, expected) in costs_of_mutations() {
            input["id"] = json!(review);
            costs(app, (by, name, input), &expected).await.done();
        }
        let purchase = json!({ "customerId": "ann", "productId": id });
        let sent = [
            "aggregate products",
            "findAndModify purchases",
            "update reviews",
            "update sales",
        ];
        costs(app, ("shop", "recordPurchase", purchase), &sent)
            .await
            .done();
    });
}

#[test]
fn a_review_of_a_hot_product_is_one_write() {
    test(async |app| {
        // In memory the product might be there for the payload, or be older than its flag.
        let app = &app.without_product_memory().await;
        let id = lamp(app).await;
        let hot = app.store.mark_hot(
            product_id(&id),
            app.clock.now().plus_millis(600_000),
            HotReason::Rate,
            app.clock.now(),
        );
        hot.await.unwrap();
        // For up to a second a process may not know that a product is hot. Once it does, a review
        // is one write after the look-up of the author's purchase; the payload reads the product.
        let sent = ["find purchases", "insert reviews", "find products"];
        let mut writers = 0..100;
        let short = loop {
            let writer = format!("writer {}", writers.next().expect("one within a second"));
            let written = submit(app, &writer, &id, 5).await;
            if written.0.sent_for_query().starts_with(&sent) {
                break written;
            }
        };
        assert_eq!(short.payload()["statsPending"], true);
        app.catalog.drain().await;
        settle(app).await;
    });
}

#[test]
fn a_moderation_queue_is_one_command_for_each_kind_of_detail() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        app.has((0..3).map(|n| product(&format!("Lamp {n}")))).await;
        let ids = app.query("{ products { nodes { id } } }").await;
        for id in ids.at("/products/nodes").as_array().unwrap() {
            let id = id["id"].as_str().unwrap();
            let review = submit(app, "ann", id, 3).await.text("/review/id");
            let edit = json!({ "id": review, "expectedRevision": 1, "rating": 4 });
            app.mutate_by("ann", "editReview", edit).await.done();
            let report = json!({ "id": review, "reason": "SPAM" });
            app.mutate_by("cem", "reportReview", report).await.done();
        }
        app.catalog.drain().await;
        let queue = app
            .query(
                "{ moderationQueue { totalCount { value } nodes { product { name } reports { by } versions { rating } } } }",
            )
            .as_moderator("mod")
            .await;
        let mut sent = queue.sent_for_query();
        sent.sort_unstable();
        assert_eq!(
            sent,
            [
                "aggregate review_reports",
                "aggregate review_versions",
                "aggregate reviews",
                "find products",
                "find reviews"
            ]
        );
        let nodes = queue.at("/moderationQueue/nodes").as_array().unwrap();
        assert_eq!(nodes.len(), 3);
        for node in nodes {
            assert_eq!(node["reports"], json!([{ "by": "cem" }]));
            assert_eq!(node["versions"], json!([{ "rating": 3 }]));
        }
    });
}

#[test]
fn a_review_with_invalid_content_is_refused_with_its_field() {
    test(async |app| {
        let id = lamp(app).await;
        let places = async |input: Value| {
            app.mutate_by("ann", "submitReview", input)
                .await
                .user_error_paths()
        };
        for rating in [0, 6, -1] {
            assert_eq!(
                places(said(&id, rating, json!({}))).await,
                ["INVALID at rating"]
            );
        }
        assert_eq!(
            places(said(&id, 4, json!({ "body": "  " }))).await,
            ["INVALID at body"]
        );
        let long = said(&id, 4, json!({ "body": "x".repeat(100_000) }));
        assert_eq!(places(long).await, ["TOO_LARGE at body"]);
        for title in ["a\u{202e}b", "zero\u{200b}width", "bell\u{7}", "two\nlines"] {
            let input = said(&id, 4, json!({ "title": title }));
            assert_eq!(places(input).await, ["INVALID at title"], "{title:?}");
        }
        let input = said(
            &id,
            4,
            json!({ "dimensions": [{ "name": "fit", "rating": 3 }] }),
        );
        assert_eq!(places(input).await, ["INVALID at dimensions.0.name"]);
        assert_eq!(
            places(said("nonsense", 4, json!({}))).await,
            ["INVALID at productId"]
        );
        for rating in [json!(4.5), json!(null), json!("4")] {
            let input = json!({ "productId": id, "rating": rating, "body": "It shines." });
            let answer = app.mutate_by("ann", "submitReview", input).await;
            assert!(
                answer.0.errors()[0].starts_with("BAD_USER_INPUT"),
                "{:?}",
                answer.0.errors()
            );
        }
    });
}

#[test]
fn markup_in_a_review_is_plain_text() {
    test(async |app| {
        let id = lamp(app).await;
        let input = said(
            &id,
            4,
            json!({ "title": "<b>x</b>", "body": "<script>alert(1)</script>" }),
        );
        let written = app.mutate_by("ann", "submitReview", input).await;
        assert_eq!(written.text("/review/body"), "<script>alert(1)</script>");
    });
}

#[test]
fn a_review_is_changed_by_its_author_only_and_written_only_for_products_on_sale() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submit(app, "ann", &id, 4).await.text("/review/id");
        let edit = json!({ "id": review, "expectedRevision": 1, "rating": 1 });
        let others = app.mutate_by("ben", "editReview", edit).await;
        assert_eq!(others.user_error_paths(), ["NOT_ALLOWED at id"]);
        let others = app
            .mutate_by("ben", "deleteReview", json!({ "id": review }))
            .await;
        assert_eq!(others.user_error_paths(), ["NOT_ALLOWED at id"]);
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        let archived = submit(app, "ben", &id, 3).await;
        assert_eq!(archived.user_error_paths(), ["NOT_OPEN at productId"]);
    });
}

#[test]
fn products_are_rated_by_the_aspects_of_their_kind_and_category() {
    test(async |app| {
        app.has([product("Shirt")
            .kind("apparel")
            .category(["Clothes", "Shirts"])])
            .await;
        let define = async |input: Value| app.mutate("defineReviewDimensions", input).await;
        define(json!({ "kind": "apparel", "names": ["fit"] }))
            .await
            .done();
        define(json!({ "category": "clothes", "names": ["quality"] }))
            .await
            .done();
        let wrong = define(json!({ "category": "nowhere", "names": ["x"] })).await;
        assert_eq!(wrong.user_error_paths(), ["NOT_FOUND at category"]);
        let page = app
            .query(r#"{ product(slug: "shirt") { id reviewDimensions } }"#)
            .await;
        assert_eq!(
            *page.at("/product/reviewDimensions"),
            json!(["fit", "quality"])
        );
        let input = said(
            &page.text("/product/id"),
            4,
            json!({ "dimensions": [{ "name": "fit", "rating": 5 }, { "name": "quality", "rating": 2 }] }),
        );
        app.mutate_by("ann", "submitReview", input).await.done();
        let stats = app
            .query(r#"{ product(slug: "shirt") { ratingStats { dimensions { name average count } } } }"#)
            .await;
        assert_eq!(*stats.at("/product/ratingStats/dimensions/0/average"), 5.0);
    });
}

#[test]
fn ratings_are_counted_by_month_and_recent_days() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        app.has_reviews([
            review("Lamp", 1, 5).created_at("2026-05-20"),
            review("Lamp", 2, 3).created_at("2026-05-01"),
            review("Lamp", 3, 1).created_at("2026-01-10"),
            review("Lamp", 4, 1).created_at("2020-01-10"),
        ])
        .await;
        let page = app
            .query(
                r#"{ product(slug: "lamp") { ratingTrend(months: 5) { month count average }
                ratingStats { recent { days count average } year: recent(days: 366) { count } } } }"#,
            )
            .await;
        assert_eq!(page.text("/product/ratingTrend/0/month"), "2026-01");
        assert_eq!(page.number("/product/ratingTrend/0/count"), 1);
        assert!(page.at("/product/ratingTrend/1/average").is_null());
        assert_eq!(page.number("/product/ratingTrend/4/count"), 2);
        assert_eq!(*page.at("/product/ratingTrend/4/average"), 4.0);
        assert_eq!(page.number("/product/ratingStats/recent/count"), 2);
        assert_eq!(page.number("/product/ratingStats/year/count"), 3);
    });
}

#[test]
fn the_most_helpful_reviews_cost_no_command_of_their_own() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        app.has([product("Lamp"), product("Sofa")]).await;
        let drafts = (0..15_i64).map(|n| {
            review("Lamp", n, 1 + n % 5)
                .helpful(n % 4)
                .title(&format!("Title {n}"))
                .author(&format!("author {n}"))
                .created_at(&format!("2024-01-{:02}", 1 + n))
        });
        app.has_reviews(drafts).await;
        let fields = "edges { cursor node { id rating title author { name } verified helpfulCount createdAt } }
            nodes { __typename status } pageInfo { hasNextPage hasPreviousPage endCursor } totalCount { value }";
        let query = |fields: &str| {
            format!(
                r#"{{ product(slug: "lamp") {{ reviews(first: 10, sort: MOST_HELPFUL) {{ {fields} }} }} }}"#
            )
        };
        let carried = app.query(&query(fields)).await;
        carried.assert_commands(&["find products"]);
        // With the body it reads the reviews; everything else is the same.
        let read = app
            .query(&query(&format!("{fields} more: nodes {{ body }}")))
            .await;
        read.assert_commands(&["find products", "find reviews"]);
        for part in ["edges", "nodes", "pageInfo", "totalCount"] {
            let at = format!("/product/reviews/{part}");
            assert_eq!(carried.at(&at), read.at(&at), "{part}");
        }
        // Its cursor leads to the next page.
        let after = carried.text("/product/reviews/pageInfo/endCursor");
        let next = app
            .query(r#"query($after: String) { product(slug: "lamp") { reviews(first: 10, after: $after, sort: MOST_HELPFUL) { nodes { title } } } }"#)
            .with("after", after)
            .await;
        assert_eq!(
            next.at("/product/reviews/nodes").as_array().unwrap().len(),
            5
        );
        let list = app
            .query("{ products { nodes { name reviews(first: 3, sort: MOST_HELPFUL) { nodes { title } } } } }")
            .await;
        list.assert_commands(&["find products"]);
    });
}

/// The differences between stored ratings and their recount.
async fn stats_differences(app: &App) -> Value {
    let audit = app
        .query("{ ratingStatsAudit { checked pending differences { field stored expected } } }")
        .as_admin()
        .await;
    assert_eq!(audit.number("/ratingStatsAudit/checked"), 1);
    audit.at("/ratingStatsAudit/differences").clone()
}

/// A lamp with reviews of three, four and five stars, all counted; its id.
async fn lamp_with_reviews(app: &App) -> String {
    let id = lamp(app).await;
    for (stars, author) in (3..).zip(["ann", "ben", "cem"]) {
        submit(app, author, &id, stars).await.done();
    }
    id
}

#[test]
fn drifted_rating_stats_are_found_and_repaired() {
    test(async |app| {
        let id = lamp_with_reviews(app).await;
        assert_eq!(stats_differences(app).await, json!([]));
        let products = app.direct().collection::<Document>("products");
        let wrong = doc! { "$set": { "stats.histogram": [9_i64, 0_i64, 1_i64, 1_i64, 1_i64], "stats.count": 12_i64, "stats.traits": [{ "traits": "v", "histogram": [0_i64, 0_i64, 0_i64, 0_i64, 1_i64] }], "top_reviews": [], "outlier.large": true }, "$unset": { "stats.latest_month": 1 } };
        products.update_one(doc! {}, wrong).await.unwrap();
        let months = app.direct().collection::<Document>("rating_months");
        months.delete_many(doc! {}).await.unwrap();
        let reviews = app.direct().collection::<Document>("reviews");
        let miscounted = doc! { "$set": { "applied.rating": 1 } };
        reviews
            .update_one(doc! { "rating": 4 }, miscounted)
            .await
            .unwrap();
        let found = stats_differences(app).await;
        let fields = found.as_array().unwrap();
        let fields: Vec<&str> = fields
            .iter()
            .map(|of| of["field"].as_str().unwrap())
            .collect();
        assert_eq!(
            fields,
            [
                "histogram",
                "traits",
                "months",
                "topReviews",
                "derived",
                "large"
            ]
        );
        let repaired = app
            .mutate("repairRatingStats", json!({ "productId": id }))
            .await;
        assert_eq!(
            repaired.payload()["differences"].as_array().unwrap().len(),
            6
        );
        assert_eq!(stats_differences(app).await, json!([]));
        app.audit().await;
    });
}

#[test]
fn a_month_that_is_partly_in_its_row_is_one_month_of_the_trend() {
    test(async |app| {
        let id = lamp_with_reviews(app).await;
        assert_eq!(app.documents("rating_months", doc! {}).await.len(), 0);
        // A repair moves the month from the product to a row.
        app.mutate("repairRatingStats", json!({ "productId": id }))
            .await
            .done();
        assert_eq!(app.documents("rating_months", doc! {}).await.len(), 1);
        submit(app, "dan", &id, 1).await.done();
        let trend = app
            .query(r#"{ product(slug: "lamp") { ratingTrend(months: 2) { count average } } }"#)
            .await;
        let months = json!([{ "count": 0, "average": null }, { "count": 4, "average": 3.25 }]);
        assert_eq!(*trend.at("/product/ratingTrend"), months);
        app.audit().await;
    });
}

#[test]
fn a_wrong_month_of_a_product_is_found_and_repaired() {
    test(async |app| {
        let id = lamp_with_reviews(app).await;
        let products = app.direct().collection::<Document>("products");
        for (author, wrong) in [
            ("dan", doc! { "stats.latest_month.m": 24_000 }),
            (
                "eva",
                doc! { "stats.latest_month.histogram": vec![7_i64; 5] },
            ),
        ] {
            let wrong = doc! { "$set": wrong };
            products.update_one(doc! {}, wrong).await.unwrap();
            assert_eq!(stats_differences(app).await[0]["field"], "months");
            app.mutate("repairRatingStats", json!({ "productId": id }))
                .await
                .done();
            assert_eq!(stats_differences(app).await, json!([]));
            submit(app, author, &id, 5).await.done();
        }
        app.audit().await;
    });
}

/// The products that lists with at least so many stars have.
async fn rated(app: &App, stars: i32) -> usize {
    let list =
        format!("{{ products(filter: {{ rating: {{ gte: {stars} }} }}) {{ nodes {{ id }} }} }}");
    let list = app.query(&list).await;
    list.at("/products/nodes").as_array().unwrap().len()
}

#[test]
fn filters_by_rating_follow_reviews_with_the_worker() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submit(app, "ann", &id, 4).await.text("/review/id");
        assert_eq!([rated(app, 1).await, rated(app, 5).await], [0, 0]);
        assert_eq!(app.catalog.work_off(Worker::Ranks).await.unwrap(), 1);
        assert_eq!([rated(app, 4).await, rated(app, 5).await], [1, 0]);
        let delete = json!({ "id": review });
        app.mutate_by("ann", "deleteReview", delete).await.done();
        settle(app).await;
        assert_eq!(rated(app, 1).await, 0);
        app.audit().await;
    });
}

#[test]
fn marks_of_folds_that_were_seen_are_removed_and_later_ones_stay() {
    test(async |app| {
        lamp_with_reviews(app).await;
        let product = app.documents("products", doc! {}).await.remove(0);
        let id = product.get_i64("_id").unwrap();
        let marks = app.direct().collection::<Document>("stale_ranks");
        let since = mongodb::bson::DateTime::from_millis(0);
        // Those of folds until the third, which is the last, and one of a fold that the worker cannot see yet.
        let mark =
            |fold: i64| doc! { "_id": { "p": id, "n": fold }, "schema_version": 1, "since": since };
        let earlier = (-500..0).chain([4]).map(mark);
        marks.insert_many(earlier).await.unwrap();
        app.catalog.work_off(Worker::Ranks).await.unwrap();
        let left = app.documents("stale_ranks", doc! {}).await;
        assert_eq!(left, [mark(4)]);
        marks.delete_many(doc! {}).await.unwrap();
    });
}

#[test]
fn a_wrong_popularity_is_found_and_repaired() {
    test(async |app| {
        let id = lamp_with_reviews(app).await;
        // No pending work would correct it anyway.
        app.run_background_work().await;
        let products = app.direct().collection::<Document>("products");
        let wrong = doc! { "$set": { "rank.popularity": 40 } };
        products.update_one(doc! {}, wrong).await.unwrap();
        let found = stats_differences(app).await;
        assert_eq!(found[0]["field"], "derived");
        app.mutate("repairRatingStats", json!({ "productId": id }))
            .await
            .done();
        assert_eq!(stats_differences(app).await, json!([]));
        app.run_background_work().await;
        let rank = app
            .documents("products", doc! { "rank.popularity": 2 })
            .await;
        assert_eq!(rank.len(), 1);
    });
}

/// Lets an author write a review, an edit, a vote and a report, and buy the product.
async fn active_author(app: &App, id: &str, (author, other): (&str, &str)) {
    let review = submit(app, author, id, 5).await.text("/review/id");
    let other = submit(app, other, id, 3).await;
    let other = other.text("/review/id");
    let vote = json!({ "id": other, "vote": "HELPFUL" });
    app.mutate_by(author, "voteReview", vote).await.done();
    let report = json!({ "id": other, "reason": "FAKE" });
    app.mutate_by(author, "reportReview", report).await.done();
    let edit = json!({ "id": review, "expectedRevision": 1, "title": "More" });
    app.mutate_by(author, "editReview", edit).await.done();
    purchase(app, id, author).await;
    settle(app).await;
}

/// Asserts that no document names the author.
async fn assert_gone(app: &App, author: &str) {
    for collection in [
        "reviews",
        "products",
        "votes",
        "purchases",
        "review_reports",
        "review_versions",
    ] {
        let all = app.documents(collection, doc! {}).await;
        assert!(!format!("{all:?}").contains(author), "{collection}");
    }
}

#[test]
fn an_author_is_exported_in_pages() {
    test(async |app| {
        let id = lamp(app).await;
        active_author(app, &id, ("ann", "ben")).await;
        let export = app
            .query("query($author: String!) { exportAuthor(authorId: $author, first: 2) { lines endCursor } }")
            .with("author", "ann")
            .as_admin()
            .await;
        let lines = export.at("/exportAuthor/lines").as_array().unwrap();
        assert_eq!(lines.len(), 2);
        let line: Value = serde_json::from_str(&export.text("/exportAuthor/lines/0")).unwrap();
        assert_eq!(
            (line["type"].as_str(), line["title"].as_str()),
            (Some("review"), Some("More"))
        );
    });
}

#[test]
fn an_erased_author_is_named_nowhere() {
    test(async |app| {
        let id = lamp(app).await;
        for policy in ["ANONYMIZE", "REMOVE"] {
            let author = format!("author of {policy}");
            active_author(app, &id, (&author, &format!("other of {policy}"))).await;
            let count = async || {
                let page = app
                    .query("query($id: ID) { product(id: $id) { ratingStats { count } } }")
                    .with("id", id.as_str())
                    .await;
                page.number("/product/ratingStats/count")
            };
            let before = count().await;
            let erase = json!({ "authorId": author, "policy": policy });
            let erased = app.mutate("eraseAuthor", erase.clone()).await;
            for of in ["reviews", "votes", "reports", "purchases"] {
                assert_eq!(erased.number(&format!("/receipt/{of}")), 1, "{of}");
            }
            let residue = erased.payload()["residue"].as_object().unwrap();
            assert!(residue.values().all(|left| *left == 0), "{residue:?}");
            // A retry, because the answer was lost, returns the same receipt.
            let again = app.mutate("eraseAuthor", erase).await;
            assert_eq!(again.payload()["receipt"], erased.payload()["receipt"]);
            assert!(!again.payload()["receipt"]["finishedAt"].is_null());
            settle(app).await;
            app.audit().await;
            let removed = i64::from(policy == "REMOVE");
            assert_eq!(count().await, before - removed);
            assert_gone(app, &author).await;
        }
    });
}

#[test]
fn a_reply_is_removed_by_null_and_not_by_leaving_it_out() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submit(app, "ann", &id, 4).await.text("/review/id");
        let reply = async |text: Value| {
            let input = match text {
                Value::Bool(_) => json!({ "id": review }),
                text => json!({ "id": review, "text": text }),
            };
            app.mutate_by("mod", "replyToReview", input).await
        };
        reply(json!("Thanks.")).await.done();
        for wrong in [json!(false), json!("  ")] {
            assert_eq!(reply(wrong).await.user_error_paths(), ["INVALID at text"]);
        }
        let seen = "query($id: ID!) { node(id: $id) { ... on Review { reply { text } } } }";
        let seen = app.query(seen).with("id", review.as_str()).await;
        assert_eq!(seen.text("/node/reply/text"), "Thanks.");
        let removed = reply(Value::Null).await;
        assert!(removed.payload()["review"]["reply"].is_null());
        removed.done();
    });
}
