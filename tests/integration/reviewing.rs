//! Reviews as shoppers write them and moderators see to them, through the API.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_api::graphql::Role;
use vitrine_harness::orders::Reply;
use vitrine_harness::{App, product, review, test};
use vitrine_model::clock::Clock as _;
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::product::HotReason;

/// A product on sale, by name; its id.
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
    app.order_by(author, "submitReview", input).await
}

/// Everything is counted.
async fn settle(app: &App) {
    app.catalog.fold_pending().await.unwrap();
}

#[test]
fn a_review_is_written_changed_and_taken_back() {
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
        let written = app.order_by("ann", "submitReview", input).await;
        let review = written.text("/review/id");
        assert_eq!(written.text("/review/title"), "Bright");
        assert_eq!(written.text("/review/author/name"), "Ann B.");
        assert_eq!(written.number("/product/ratingStats/count"), 1);
        assert_eq!(written.payload()["statsPending"], false);

        let edit =
            json!({ "id": review, "expectedRevision": 1, "rating": 2, "title": "Too bright" });
        let edited = app.order_by("ann", "editReview", edit.clone()).await;
        assert_eq!(edited.number("/review/revision"), 2);
        assert_eq!(edited.payload()["product"]["ratingStats"]["average"], 2.0);
        // Sent again it has been done; once the review has moved on it is an old edit.
        let again = app.order_by("ann", "editReview", edit.clone()).await;
        assert_eq!(again.number("/review/revision"), 2);
        let more = json!({ "id": review, "expectedRevision": 2, "body": "It blinds." });
        app.order_by("ann", "editReview", more).await.done();
        let old = app.order_by("ann", "editReview", edit).await;
        assert_eq!(old.places(), ["REVISION_CONFLICT at expectedRevision"]);

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

        let deleted = app
            .order_by("ann", "deleteReview", json!({ "id": review }))
            .await;
        assert_eq!(deleted.number("/product/ratingStats/count"), 0);
        app.order_by("ann", "deleteReview", json!({ "id": review }))
            .await
            .done();
        // Written anew it is the same review in another life.
        let anew = submit(app, "ann", &id, 5).await;
        assert_eq!(anew.text("/review/id"), review);
        assert_eq!(anew.number("/product/ratingStats/count"), 1);
    });
}

#[test]
fn a_second_review_is_refused_with_the_first() {
    test(async |app| {
        let id = lamp(app).await;
        let input = said(&id, 4, json!({ "idempotencyKey": "k" }));
        let first = app.order_by("ann", "submitReview", input.clone()).await;
        let again = app.order_by("ann", "submitReview", input).await;
        assert_eq!(again.payload()["review"], first.payload()["review"]);
        let other = said(&id, 5, json!({ "idempotencyKey": "k" }));
        let other = app.order_by("ann", "submitReview", other).await;
        assert_eq!(other.places(), ["IDEMPOTENCY_CONFLICT at idempotencyKey"]);
        let second = submit(app, "ann", &id, 1).await;
        assert_eq!(second.places(), ["ALREADY_REVIEWED at productId"]);
        assert_eq!(
            second.payload()["review"]["id"],
            first.payload()["review"]["id"]
        );
        // The key is the author's own.
        let input = said(&id, 3, json!({ "idempotencyKey": "k" }));
        app.order_by("ben", "submitReview", input).await.done();
        app.has([product("Sofa")]).await;
        let sofa = app.query(r#"{ product(slug: "sofa") { id } }"#).await;
        let input = said(
            &sofa.text("/product/id"),
            3,
            json!({ "idempotencyKey": "k" }),
        );
        let elsewhere = app.order_by("ann", "submitReview", input).await;
        assert_eq!(
            elsewhere.places(),
            ["IDEMPOTENCY_CONFLICT at idempotencyKey"]
        );
    });
}

#[test]
fn a_top_list_that_is_too_short_lets_nobody_in_before_others() {
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
        assert_eq!(
            right.0,
            ["30", "29", "28", "27", "26", "25", "24", "23", "22", "21"]
        );
        // As a release leaves the list that carries fewer reviews.
        let shorten = async |kept: i32| {
            let products = app.direct().collection::<Document>("products");
            let kept = doc! { "$slice": ["$top_reviews", kept] };
            let shorten = vec![doc! { "$set": { "top_reviews": kept } }];
            products.update_one(doc! {}, shorten).await.unwrap();
        };
        for (kept, author) in [(8, "ann"), (9, "ben"), (1, "cleo")] {
            shorten(kept).await;
            // A page of the most helpful is not taken from a list that is too short for it.
            assert_eq!(titles().await.1, right.1, "{kept} were kept");
            submit(app, author, &id, 5).await.done();
            settle(app).await;
            assert_eq!(titles().await, right, "{kept} were kept");
        }
        // Also where an import counts its reviews as it stores them.
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
            app.order_by(voter, "voteReview", input).await
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
        assert_eq!(vote("ann", "HELPFUL").await.places(), ["NOT_ALLOWED at id"]);
        let taken = app
            .order_by("dia", "removeVote", json!({ "id": first }))
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
        // Nobody votes on what nobody sees.
        let input = json!({ "id": first, "decision": "REJECT", "reason": "FAKE" });
        app.order_by("mod", "moderateReview", input).await.done();
        assert_eq!(vote("eva", "HELPFUL").await.places(), ["NOT_FOUND at id"]);
    });
}

#[test]
fn a_purchase_before_or_after_makes_a_buyer() {
    test(async |app| {
        let id = lamp(app).await;
        let buy = async |customer: &str| {
            let input = json!({ "productId": id, "customerId": customer });
            app.order_as(Role::Service, "orders", "recordPurchase", input)
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
fn a_purchase_recorded_while_the_review_is_written_is_seen_later() {
    test(async |app| {
        use mongodb::bson::{Document, doc};
        let id = lamp(app).await;
        submit(app, "ann", &id, 4).await.done();
        let buy = json!({ "productId": id, "customerId": "ann" });
        app.order_as(Role::Service, "orders", "recordPurchase", buy)
            .await
            .done();
        // As if the review had looked for the purchase before it was there, and had been stored
        // when the purchase had looked for the review.
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

#[test]
fn reviews_are_filtered_by_buyers_media_and_language_with_exact_totals() {
    test(async |app| {
        let id = lamp(app).await;
        let languages = [
            Value::Null,
            json!("en"),
            json!("de-AT"),
            json!("EN-gb"),
            json!("tlh"),
        ];
        let picture = json!([{ "url": "https://example.org/lamp.jpg", "kind": "IMAGE" }]);
        // What each review has, told apart by its author.
        let mut all = Vec::new();
        for n in 0..40_i64 {
            let author = format!("author-{n}");
            let (bought, shown) = (n % 3 == 0, n % 4 == 1);
            let language = &languages[usize::try_from(n % 5).unwrap()];
            if bought {
                let bought = json!({ "productId": id, "customerId": author });
                app.order_as(Role::Service, "orders", "recordPurchase", bought)
                    .await
                    .done();
            }
            let media = if shown { picture.clone() } else { json!([]) };
            let more = json!({ "media": media, "language": language });
            let submitted = app
                .order_by(&author, "submitReview", said(&id, 1 + n % 5, more))
                .await;
            submitted.done();
            let code = language.as_str().filter(|tag| *tag != "tlh");
            let code = code.map(|tag| tag[..2].to_lowercase());
            all.push((submitted.text("/review/id"), 1 + n % 5, bought, shown, code));
        }
        // It was hot by so many reviews; when that is over the totals are exact.
        app.catalog.drain().await;
        app.clock.advance(60_000);
        settle(app).await;
        let page = "query($id: ID, $filter: ReviewFilterInput, $sort: ReviewSort, $after: String) { product(id: $id) {
            reviews(first: 3, after: $after, sort: $sort, filter: $filter) { nodes { id } totalCount { value relation } pageInfo { hasNextPage endCursor } } } }";
        for verified in [false, true] {
            for media in [false, true] {
                for language in [None, Some("en"), Some("de")] {
                    for ratings in [None, Some(vec![5]), Some(vec![1, 2])] {
                        let filter = json!({ "verifiedOnly": verified, "withMedia": media, "language": language, "ratings": ratings });
                        let fits = |review: &&(String, i64, bool, bool, Option<String>)| {
                            let (_, stars, bought, shown, code) = review;
                            (*bought || !verified)
                                && (*shown || !media)
                                && (language.is_none() || code.as_deref() == language)
                                && ratings
                                    .as_ref()
                                    .is_none_or(|ratings| ratings.contains(stars))
                        };
                        let mut expected: Vec<&str> = all
                            .iter()
                            .filter(fits)
                            .map(|review| review.0.as_str())
                            .collect();
                        expected.sort_unstable();
                        for sort in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
                            let (mut found, mut after) = (Vec::new(), Value::Null);
                            loop {
                                let answer = app
                                    .query(page)
                                    .with("id", id.as_str())
                                    .with("filter", filter.clone())
                                    .with("sort", sort)
                                    .with("after", after)
                                    .await;
                                let reviews = answer.at("/product/reviews").clone();
                                let total = json!({ "value": expected.len(), "relation": "EXACT" });
                                assert_eq!(reviews["totalCount"], total, "{filter} by {sort}");
                                let nodes = reviews["nodes"].as_array().unwrap().iter();
                                found.extend(
                                    nodes.map(|node| node["id"].as_str().unwrap().to_owned()),
                                );
                                if reviews["pageInfo"]["hasNextPage"] == false {
                                    break;
                                }
                                after = reviews["pageInfo"]["endCursor"].clone();
                            }
                            found.sort_unstable();
                            assert_eq!(found, expected, "{filter} by {sort}");
                        }
                    }
                }
            }
        }
        let stats = app
            .query("query($id: ID) { product(id: $id) { ratingStats { count verifiedCount withMediaCount languages { code count } } } }")
            .with("id", id.as_str())
            .await;
        assert_eq!(
            stats.at("/product/ratingStats"),
            &json!({ "count": 40, "verifiedCount": 14, "withMediaCount": 10, "languages": [{ "code": "de", "count": 8 }, { "code": "en", "count": 16 }] })
        );
        let wrong = app
            .query(page)
            .with("id", id.as_str())
            .with("filter", json!({ "language": "klingon" }))
            .await;
        assert!(
            wrong.errors().concat().contains("filter.language"),
            "{}",
            wrong.shown()
        );
        // What changes moves from one number to another.
        let (first, ..) = &all[1];
        let edit = json!({ "id": first, "expectedRevision": 1, "language": "de", "media": [] });
        app.order_by("author-1", "editReview", edit).await.done();
        let bought = json!({ "productId": id, "customerId": "author-1" });
        app.order_as(Role::Service, "orders", "recordPurchase", bought)
            .await
            .done();
        settle(app).await;
        let stats = app
            .query("query($id: ID) { product(id: $id) { ratingStats { verifiedCount withMediaCount languages { code count } } } }")
            .with("id", id.as_str())
            .await;
        assert_eq!(
            stats.at("/product/ratingStats"),
            &json!({ "verifiedCount": 15, "withMediaCount": 9, "languages": [{ "code": "de", "count": 9 }, { "code": "en", "count": 15 }] })
        );
    });
}

#[test]
fn moderators_decide_in_any_direction_and_all_is_logged() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submit(app, "ann", &id, 1).await.text("/review/id");
        submit(app, "ben", &id, 5).await.done();
        let report = json!({ "id": review, "reason": "SPAM", "note": "An advertisement." });
        for reader in ["cem", "dia", "dia"] {
            app.order_by(reader, "reportReview", report.clone())
                .await
                .done();
        }
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
        let decide = async |by: &str, decision: &str| {
            let input =
                json!({ "id": review, "decision": decision, "reason": "OTHER", "note": "Seen." });
            app.order_by(by, "moderateReview", input).await
        };
        let rejected = decide("mod", "REJECT").await;
        assert_eq!(rejected.text("/review/status"), "REJECTED");
        assert_eq!(rejected.number("/product/ratingStats/count"), 1);
        assert_eq!(queue().await.number("/moderationQueue/totalCount/value"), 0);
        assert_eq!(
            decide("mod", "RESTORE").await.text("/review/status"),
            "PENDING"
        );
        assert_eq!(
            queue().await.text("/moderationQueue/nodes/0/queueReason"),
            "PENDING"
        );
        let published = decide("max", "PUBLISH").await;
        assert_eq!(published.number("/product/ratingStats/count"), 2);
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
        let replied = app.order_by("mod", "replyToReview", reply).await;
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
fn where_moderators_look_first_nothing_is_seen_before() {
    test(async |after| {
        let id = lamp(after).await;
        let app = &after.that_moderates_first().await;
        let review = submit(app, "ann", &id, 4).await;
        assert_eq!(review.text("/review/status"), "PENDING");
        let review = review.text("/review/id");
        let seen = async |by: &str| {
            settle(app).await;
            let page = app
                .query("query($id: ID) { product(id: $id) { viewerReview { status } ratingStats { count } topReviews { id } reviews { nodes { rating } totalCount { value } } } }")
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
            app.order_by("mod", "moderateReview", input).await
        };
        let vote = json!({ "id": review, "vote": "HELPFUL" });
        let early = app.order_by("ben", "voteReview", vote.clone()).await;
        assert_eq!(early.places(), ["NOT_FOUND at id"]);
        decide("PUBLISH").await.done();
        assert_eq!(seen("ben").await, ([1; 3], Value::Null));
        assert_eq!(waiting().await, json!([]));
        app.order_by("ben", "voteReview", vote).await.done();
        // What its author changes is looked at again.
        let edit = json!({ "id": review, "expectedRevision": 2, "body": "On second thought." });
        let edited = app.order_by("ann", "editReview", edit).await;
        assert_eq!(edited.text("/review/status"), "PENDING");
        assert_eq!(seen("ben").await, ([0; 3], Value::Null));
        assert_eq!(waiting().await.as_array().unwrap().len(), 1);
        decide("REJECT").await.done();
        assert_eq!(seen("ann").await, ([0; 3], json!("REJECTED")));
        assert_eq!(waiting().await, json!([]));
    });
}

#[test]
fn single_reviews_are_seen_by_those_whom_they_concern() {
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
        app.order_by("mod", "moderateReview", decision).await.done();
        assert_eq!(seen().await, [false, false, true, true], "rejected");
        for vote in ["HELPFUL", "UNHELPFUL"] {
            let vote = json!({ "id": review, "vote": vote });
            let voted = app.order_by("ben", "voteReview", vote).await;
            assert_eq!(voted.places(), ["NOT_FOUND at id"]);
        }
        let decision = json!({ "id": review, "decision": "PUBLISH", "reason": "ACCEPTABLE" });
        app.order_by("mod", "moderateReview", decision).await.done();
        app.order("archiveProduct", json!({ "id": id }))
            .await
            .done();
        assert_eq!(
            seen().await,
            [false, false, true, true],
            "of an archived product"
        );
        let deletion = json!({ "id": review });
        app.order_by("ann", "deleteReview", deletion).await.done();
        assert_eq!(seen().await, [false; 4], "deleted");
    });
}

/// Gives an order to a process that does nothing else, and asserts which commands it waited for.
/// What is counted afterwards, in the background, comes after them.
async fn costs(app: &App, order: (&str, &str, Value), expected: &[&str]) -> Reply {
    let (by, name, input) = order;
    let app = app.that_reads(20_000).await;
    let given = app.order_by(by, name, input).await;
    app.catalog.drain().await;
    let sent = given.0.asked();
    let follows = [
        "find reviews",
        "find products",
        "update products",
        "update stale_ranks",
        "update reviews",
        "commitTransaction",
    ];
    let (waited, after) = sent.split_at(expected.len().min(sent.len()));
    assert_eq!(waited, expected, "{name}");
    assert!(
        after.iter().all(|sent| follows.contains(sent)),
        "{name} sent {sent:?}"
    );
    given
}

#[test]
fn what_is_written_costs_few_commands() {
    test(async |app| {
        let id = lamp(app).await;
        let sent = [
            "aggregate products",
            "find products",
            "insert reviews",
            "update products",
            "update rating_months",
            "update stale_ranks",
            "commitTransaction",
            "find products",
        ];
        let input = said(&id, 3, json!({}));
        let written = costs(app, ("ann", "submitReview", input), &sent).await;
        let review = &written.text("/review/id");
        let vote = [
            "aggregate reviews",
            "findAndModify votes",
            "findAndModify reviews",
            "commitTransaction",
        ];
        let fold = [
            "find reviews",
            "find products",
            "update products",
            "update rating_months",
            "update stale_ranks",
            "update reviews",
            "commitTransaction",
            "find products",
        ];
        let edit = [
            "find reviews",
            "aggregate products",
            "update reviews",
            "insert review_versions",
            "commitTransaction",
        ];
        let report = [
            "aggregate reviews",
            "findAndModify review_reports",
            "findAndModify reviews",
            "commitTransaction",
        ];
        let reject = [
            "find reviews",
            "update reviews",
            "insert moderation_log",
            "update review_reports",
            "commitTransaction",
            // The fold, which looks for the reviews that come up into the top ten.
            "find reviews",
            "find products",
            "find reviews",
            "update products",
            "update rating_months",
            "update stale_ranks",
            "update reviews",
            "commitTransaction",
            "find products",
        ];
        let delete = ["find reviews", "update reviews", "find products"];
        let helpful = json!({ "vote": "HELPFUL" });
        let spam = json!({ "reason": "SPAM" });
        let fewer = json!({ "expectedRevision": 2, "rating": 2 });
        let rejection = json!({ "decision": "REJECT", "reason": "SPAM" });
        let thanks = json!({ "text": "Thanks." });
        for (by, name, more, expected) in [
            ("ben", "voteReview", helpful, vote.to_vec()),
            ("ben", "removeVote", json!({}), vote.to_vec()),
            ("cem", "reportReview", spam, report.to_vec()),
            (
                "mod",
                "replyToReview",
                thanks,
                ["find reviews", "update reviews"].to_vec(),
            ),
            ("ann", "editReview", fewer, [&edit[..], &fold].concat()),
            ("mod", "moderateReview", rejection, reject.to_vec()),
            ("ann", "deleteReview", json!({}), delete.to_vec()),
        ] {
            let mut input = more;
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
        let hot = app.store.mark_hot(
            product_id(&id),
            app.clock.now().plus_millis(600_000),
            HotReason::Rate,
            app.clock.now(),
        );
        hot.await.unwrap();
        // A process believes for a second that a product is hot; meanwhile a review is one write
        // after a look whether it is a buyer's, and the product is read for the answer.
        let sent = ["find purchases", "insert reviews", "find products"];
        let mut writers = 0..100;
        let short = loop {
            let writer = format!("writer {}", writers.next().expect("one within a second"));
            let written = submit(app, &writer, &id, 5).await;
            if written.0.asked().starts_with(&sent) {
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
        app.has((0..3).map(|n| product(&format!("Lamp {n}")))).await;
        let ids = app.query("{ products { nodes { id } } }").await;
        for id in ids.at("/products/nodes").as_array().unwrap() {
            let id = id["id"].as_str().unwrap();
            let review = submit(app, "ann", id, 3).await.text("/review/id");
            let edit = json!({ "id": review, "expectedRevision": 1, "rating": 4 });
            app.order_by("ann", "editReview", edit).await.done();
            let report = json!({ "id": review, "reason": "SPAM" });
            app.order_by("cem", "reportReview", report).await.done();
        }
        app.catalog.drain().await;
        let queue = app
            .query(
                "{ moderationQueue { totalCount { value } nodes { product { name } reports { by } versions { rating } } } }",
            )
            .as_moderator("mod")
            .await;
        let mut sent = queue.asked();
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
fn what_cannot_be_is_refused_by_name() {
    test(async |app| {
        let id = lamp(app).await;
        let places = async |input: Value| app.order_by("ann", "submitReview", input).await.places();
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
            let answer = app.order_by("ann", "submitReview", input).await;
            assert!(
                answer.0.errors()[0].starts_with("BAD_USER_INPUT"),
                "{:?}",
                answer.0.errors()
            );
        }
        // Markup is text like any other.
        let input = said(
            &id,
            4,
            json!({ "title": "<b>x</b>", "body": "<script>alert(1)</script>" }),
        );
        let written = app.order_by("ann", "submitReview", input).await;
        assert_eq!(written.text("/review/body"), "<script>alert(1)</script>");
        let review = written.text("/review/id");

        let edit = json!({ "id": review, "expectedRevision": 1, "rating": 1 });
        let others = app.order_by("ben", "editReview", edit).await;
        assert_eq!(others.places(), ["NOT_ALLOWED at id"]);
        let others = app
            .order_by("ben", "deleteReview", json!({ "id": review }))
            .await;
        assert_eq!(others.places(), ["NOT_ALLOWED at id"]);
        app.order("archiveProduct", json!({ "id": id }))
            .await
            .done();
        let archived = submit(app, "ben", &id, 3).await;
        assert_eq!(archived.places(), ["NOT_OPEN at productId"]);
    });
}

#[test]
fn products_are_rated_by_the_aspects_of_their_kind_and_category() {
    test(async |app| {
        app.has([product("Shirt")
            .kind("apparel")
            .category(["Clothes", "Shirts"])])
            .await;
        let define = async |input: Value| app.order("defineReviewDimensions", input).await;
        define(json!({ "kind": "apparel", "names": ["fit"] }))
            .await
            .done();
        define(json!({ "category": "clothes", "names": ["quality"] }))
            .await
            .done();
        let wrong = define(json!({ "category": "nowhere", "names": ["x"] })).await;
        assert_eq!(wrong.places(), ["NOT_FOUND at category"]);
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
        app.order_by("ann", "submitReview", input).await.done();
        let stats = app
            .query(r#"{ product(slug: "shirt") { ratingStats { dimensions { name average count } } } }"#)
            .await;
        assert_eq!(*stats.at("/product/ratingStats/dimensions/0/average"), 5.0);
    });
}

#[test]
fn months_and_recent_days_are_counted() {
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
        carried.commands(&["find products"]);
        // With the body it is looked up, and is the same in all else.
        let read = app
            .query(&query(&format!("{fields} more: nodes {{ body }}")))
            .await;
        read.commands(&["find products", "find reviews"]);
        for part in ["edges", "nodes", "pageInfo", "totalCount"] {
            let at = format!("/product/reviews/{part}");
            assert_eq!(carried.at(&at), read.at(&at), "{part}");
        }
        // Its cursor is good for the next page.
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
        list.commands(&["find products"]);
    });
}

#[test]
fn drift_is_found_and_mended() {
    test(async |app| {
        use mongodb::bson::{Document, doc};
        let id = lamp(app).await;
        for (n, author) in ["ann", "ben", "cem"].into_iter().enumerate() {
            submit(app, author, &id, i64::try_from(n).unwrap() + 3)
                .await
                .done();
        }
        let audit = || {
            app.query(
                "{ ratingStatsAudit { checked pending differences { field stored expected } } }",
            )
            .as_admin()
        };
        let sound = audit().await;
        assert_eq!(sound.number("/ratingStatsAudit/checked"), 1);
        assert_eq!(*sound.at("/ratingStatsAudit/differences"), json!([]));
        let products = app.direct().collection::<Document>("products");
        let wrong = doc! { "$set": { "stats.histogram": [9_i64, 0_i64, 1_i64, 1_i64, 1_i64], "stats.count": 12_i64, "stats.traits": [{ "traits": "v", "histogram": [0_i64, 0_i64, 0_i64, 0_i64, 1_i64] }], "top_reviews": [], "outlier.large": true } };
        products.update_one(doc! {}, wrong).await.unwrap();
        let months = app.direct().collection::<Document>("rating_months");
        months.delete_many(doc! {}).await.unwrap();
        let reviews = app.direct().collection::<Document>("reviews");
        let miscounted = doc! { "$set": { "applied.rating": 1 } };
        reviews
            .update_one(doc! { "rating": 4 }, miscounted)
            .await
            .unwrap();
        let found = audit().await;
        let fields = found
            .at("/ratingStatsAudit/differences")
            .as_array()
            .unwrap();
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
            .order("repairRatingStats", json!({ "productId": id }))
            .await;
        assert_eq!(
            repaired.payload()["differences"].as_array().unwrap().len(),
            6
        );
        assert_eq!(
            *audit().await.at("/ratingStatsAudit/differences"),
            json!([])
        );
        app.audit().await;
        // A popularity that is wrong without being about to follow.
        app.rest().await;
        let wrong = doc! { "$set": { "rank.popularity": 40 } };
        products.update_one(doc! {}, wrong).await.unwrap();
        let found = audit().await;
        let found = found.at("/ratingStatsAudit/differences/0/field").clone();
        assert_eq!(found, "derived");
        app.order("repairRatingStats", json!({ "productId": id }))
            .await
            .done();
        let none = audit().await;
        assert_eq!(*none.at("/ratingStatsAudit/differences"), json!([]));
        app.rest().await;
        let rank = app
            .documents("products", doc! { "rank.popularity": 2 })
            .await;
        assert_eq!(rank.len(), 1);
    });
}

#[test]
fn an_erased_author_is_nowhere() {
    test(async |app| {
        let id = lamp(app).await;
        for policy in ["ANONYMIZE", "REMOVE"] {
            let author = format!("author of {policy}");
            let review = submit(app, &author, &id, 5).await.text("/review/id");
            let other = submit(app, &format!("other of {policy}"), &id, 3)
                .await
                .text("/review/id");
            let vote = json!({ "id": other, "vote": "HELPFUL" });
            app.order_by(&author, "voteReview", vote).await.done();
            let report = json!({ "id": other, "reason": "FAKE" });
            app.order_by(&author, "reportReview", report).await.done();
            let edit = json!({ "id": review, "expectedRevision": 1, "title": "More" });
            app.order_by(&author, "editReview", edit).await.done();
            let bought = json!({ "productId": id, "customerId": author });
            app.order_as(Role::Service, "orders", "recordPurchase", bought)
                .await
                .done();
            let export = app
                .query("query($author: String!) { exportAuthor(authorId: $author, first: 2) { lines endCursor } }")
                .with("author", author.as_str())
                .as_admin()
                .await;
            assert_eq!(
                export.at("/exportAuthor/lines").as_array().unwrap().len(),
                2
            );
            let line: Value = serde_json::from_str(&export.text("/exportAuthor/lines/0")).unwrap();
            assert_eq!(
                (line["type"].as_str(), line["title"].as_str()),
                (Some("review"), Some("More"))
            );
            settle(app).await;
            let before = app
                .query("query($id: ID) { product(id: $id) { ratingStats { count } } }")
                .with("id", id.as_str())
                .await;
            let before = before.number("/product/ratingStats/count");

            let erase = json!({ "authorId": author, "policy": policy });
            let erased = app.order("eraseAuthor", erase.clone()).await;
            assert_eq!(erased.number("/receipt/reviews"), 1);
            assert_eq!(erased.number("/receipt/votes"), 1);
            assert_eq!(erased.number("/receipt/reports"), 1);
            assert_eq!(erased.number("/receipt/purchases"), 1);
            let residue = erased.payload()["residue"].as_object().unwrap();
            assert!(residue.values().all(|left| *left == 0), "{residue:?}");
            // Who asks again, because the answer was lost, gets the same receipt.
            let again = app.order("eraseAuthor", erase).await;
            assert_eq!(again.payload()["receipt"], erased.payload()["receipt"]);
            assert!(!again.payload()["receipt"]["finishedAt"].is_null());
            settle(app).await;
            app.audit().await;
            let after = app
                .query("query($id: ID) { product(id: $id) { ratingStats { count } topReviews { author { name } helpfulCount } } }")
                .with("id", id.as_str())
                .await;
            let gone = i64::from(policy == "REMOVE");
            assert_eq!(after.number("/product/ratingStats/count"), before - gone);
            for collection in [
                "reviews",
                "products",
                "votes",
                "purchases",
                "review_reports",
                "review_versions",
            ] {
                let all = app.documents(collection, mongodb::bson::doc! {}).await;
                assert!(!format!("{all:?}").contains(&author), "{collection}");
            }
        }
    });
}
