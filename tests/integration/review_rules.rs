//! Who may do what with reviews and how often, and who sees what.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::{Value, json};
use vitrine_api::graphql::Role;
use vitrine_domain::import::ImportMode;
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, product, review, test};
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::import::{LineOutcome, ReviewDraft};
use vitrine_model::product::ProductStatus;

async fn id_of(app: &App, slug: &str) -> String {
    let query = format!("{{ product(slug: {slug:?}) {{ id }} }}");
    app.query(&query).as_admin().await.text("/product/id")
}

async fn lamp(app: &App) -> String {
    app.has([product("Lamp")]).await;
    id_of(app, "lamp").await
}

fn said(product: &str, rating: i64) -> Value {
    json!({ "productId": product, "rating": rating, "body": "It shines." })
}

async fn submit(app: &App, author: &str, product: &str, rating: i64) -> Reply {
    app.mutate_by(author, "submitReview", said(product, rating))
        .await
}

async fn submitted(app: &App, author: &str, product: &str, rating: i64) -> String {
    let reply = submit(app, author, product, rating).await;
    reply.done();
    reply.text("/review/id")
}

async fn decide(app: &App, review: &str, decision: &str) {
    let input = json!({ "id": review, "decision": decision, "reason": "OTHER" });
    app.mutate_by("mod", "moderateReview", input).await.done();
}

async fn delete(app: &App, author: &str, review: &str) {
    let input = json!({ "id": review });
    app.mutate_by(author, "deleteReview", input).await.done();
}

async fn waiting(app: &App) -> Value {
    let queue = "{ moderationQueue { nodes { id queueReason reports { by } } } }";
    let queue = app.query(queue).as_moderator("mod").await;
    queue.at("/moderationQueue/nodes").clone()
}

#[test]
fn a_deleted_review_cannot_be_replaced_to_evade_moderation() {
    test(async |app| {
        let id = lamp(app).await;
        // Hidden by a moderator, deleted, submitted again.
        for decision in ["RESTORE", "REJECT"] {
            let author = format!("author of {decision}");
            let review = submitted(app, &author, &id, 1).await;
            decide(app, &review, decision).await;
            delete(app, &author, &review).await;
            let again = submit(app, &author, &id, 1).await;
            assert_eq!(again.text("/review/status"), "PENDING", "{decision}");
            decide(app, &review, "PUBLISH").await;
            delete(app, &author, &review).await;
            let again = submit(app, &author, &id, 1).await;
            assert_eq!(again.text("/review/status"), "PUBLISHED", "{decision}");
        }
        // Reported, deleted, submitted again: the report still exists.
        let review = submitted(app, "ann", &id, 1).await;
        let report = json!({ "id": review, "reason": "SPAM" });
        app.mutate_by("ben", "reportReview", report).await.done();
        delete(app, "ann", &review).await;
        assert_eq!(waiting(app).await, json!([]));
        let again = submit(app, "ann", &id, 1).await;
        assert_eq!(again.text("/review/status"), "PENDING");
        let queued =
            json!([{ "id": review, "queueReason": "PENDING", "reports": [{ "by": "ben" }] }]);
        assert_eq!(waiting(app).await, queued);
        decide(app, &review, "PUBLISH").await;
        assert_eq!(waiting(app).await, json!([]));
    });
}

#[test]
fn a_product_that_is_not_on_sale_takes_no_reviews_votes_or_reports() {
    test(async |app| {
        let id = lamp(app).await;
        app.has([product("Secret").status(ProductStatus::Draft)])
            .await;
        let draft = id_of(app, "secret").await;
        let nowhere = GlobalId::Product(ProductId::random()).encode();
        for unknown in [&draft, &nowhere] {
            let refused = submit(app, "ann", unknown, 3).await;
            assert_eq!(refused.user_error_paths(), ["NOT_FOUND at productId"]);
            let bought = json!({ "customerId": "ann", "productId": nowhere });
            let refused = app.mutate_by("shop", "recordPurchase", bought).await;
            assert_eq!(refused.user_error_paths(), ["NOT_FOUND at productId"]);
        }
        let review = submitted(app, "ann", &id, 3).await;
        let vote = |vote: &str| json!({ "id": review, "vote": vote });
        app.mutate_by("ben", "voteReview", vote("HELPFUL"))
            .await
            .done();
        app.mutate("archiveProduct", json!({ "id": id }))
            .await
            .done();
        for (name, input) in [
            ("voteReview", vote("UNHELPFUL")),
            ("removeVote", json!({ "id": review })),
            ("reportReview", json!({ "id": review, "reason": "SPAM" })),
        ] {
            let refused = app.mutate_by("ben", name, input).await;
            assert_eq!(refused.user_error_paths(), ["NOT_FOUND at id"], "{name}");
            assert!(refused.payload()["review"].is_null(), "{name}");
        }
        let edit = json!({ "id": review, "expectedRevision": 1, "rating": 5 });
        let refused = app.mutate_by("ann", "editReview", edit).await;
        assert_eq!(refused.user_error_paths(), ["NOT_OPEN at id"]);
        // Moderators still see its product; its author may still delete it.
        let report = "{ moderationQueue { nodes { product { name } } } }";
        decide(app, &review, "RESTORE").await;
        let queue = app.query(report).as_moderator("mod").await;
        assert_eq!(queue.text("/moderationQueue/nodes/0/product/name"), "Lamp");
        delete(app, "ann", &review).await;
    });
}

#[test]
fn a_repeated_review_mutation_gets_the_same_answer() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submitted(app, "ann", &id, 3).await;
        for (by, name, input) in [
            (
                "ann",
                "editReview",
                json!({ "expectedRevision": 1, "rating": 5, "title": " Better " }),
            ),
            ("ben", "voteReview", json!({ "vote": "HELPFUL" })),
            ("cem", "reportReview", json!({ "reason": "SPAM" })),
            (
                "mod",
                "replyToReview",
                json!({ "expectedRevision": 2, "text": "Thanks." }),
            ),
            (
                "mod",
                "moderateReview",
                json!({ "expectedRevision": 3, "decision": "REJECT", "reason": "SPAM" }),
            ),
            ("ann", "deleteReview", json!({ "expectedRevision": 4 })),
        ] {
            let mut input = input;
            input["id"] = json!(review);
            let first = app.mutate_by(by, name, input.clone()).await;
            first.done();
            app.catalog.fold_and_move_ranks().await.unwrap();
            let again = app.mutate_by(by, name, input).await;
            again.done();
            for part in ["revision", "status", "helpfulCount", "rating", "title"] {
                let (first, again) = (&first.payload()["review"], &again.payload()["review"]);
                assert_eq!(first[part], again[part], "{name}: {part}");
            }
        }
        let bought = json!({ "customerId": "ann", "productId": id });
        let first = app
            .mutate_by("shop", "recordPurchase", bought.clone())
            .await;
        assert_eq!(first.payload()["recorded"], true);
        let again = app.mutate_by("shop", "recordPurchase", bought).await;
        assert_eq!(again.payload()["recorded"], false);
        // Another change of a stale revision is a conflict.
        let review = submitted(app, "dia", &id, 3).await;
        let edit = |rating: i64| json!({ "id": review, "expectedRevision": 1, "rating": rating });
        app.mutate_by("dia", "editReview", edit(4)).await.done();
        let other = app.mutate_by("dia", "editReview", edit(5)).await;
        assert_eq!(
            other.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
        let stale = json!({ "id": review, "expectedRevision": 1, "text": "Thanks." });
        let stale = app.mutate_by("mod", "replyToReview", stale).await;
        assert_eq!(
            stale.user_error_paths(),
            ["REVISION_CONFLICT at expectedRevision"]
        );
    });
}

#[test]
fn invisible_characters_are_refused_in_every_text() {
    test(async |app| {
        let id = lamp(app).await;
        let review = submitted(app, "ann", &id, 3).await;
        for tricky in [
            "bell\u{7}",
            "a\u{202e}b",
            "zero\u{200b}width",
            "😀\u{e0041}",
        ] {
            for field in ["body", "title", "authorName"] {
                let mut input = said(&id, 3);
                input[field] = json!(tricky);
                let refused = app.mutate_by("ben", "submitReview", input).await;
                assert_eq!(
                    refused.user_error_paths(),
                    [format!("INVALID at {field}")],
                    "{tricky:?}"
                );
            }
            for (by, name, field, input) in [
                (
                    "ann",
                    "editReview",
                    "body",
                    json!({ "expectedRevision": 1 }),
                ),
                ("cem", "reportReview", "note", json!({ "reason": "SPAM" })),
                ("mod", "replyToReview", "text", json!({})),
                (
                    "mod",
                    "moderateReview",
                    "note",
                    json!({ "decision": "REJECT", "reason": "SPAM" }),
                ),
            ] {
                let mut input = input;
                input["id"] = json!(review);
                input[field] = json!(tricky);
                let refused = app.mutate_by(by, name, input).await;
                assert_eq!(
                    refused.user_error_paths(),
                    [format!("INVALID at {field}")],
                    "{name} {tricky:?}"
                );
            }
        }
    });
}

#[test]
fn the_moderation_queue_is_sorted_by_age_and_filtered_by_reason() {
    test(async |app| {
        let names: Vec<String> = (0..6).map(|n| format!("Lamp {n}")).collect();
        app.has(names.iter().map(|name| product(name))).await;
        let mut expected = Vec::new();
        for n in 0..6 {
            app.clock.advance(1_000);
            let id = id_of(app, &format!("lamp-{n}")).await;
            let review = submitted(app, "ann", &id, 3).await;
            if n % 2 == 0 {
                decide(app, &review, "RESTORE").await;
            } else {
                let report = json!({ "id": review, "reason": "SPAM" });
                app.mutate_by("ben", "reportReview", report).await.done();
            }
            expected.push(review);
        }
        let page = async |reason: Value, after: Value| {
            let query = "query($reason: QueueReason, $after: String) { moderationQueue(first: 2, after: $after, reason: $reason) {
                totalCount { value } nodes { id } pageInfo { hasNextPage endCursor } } }";
            let ask = app.query(query).with("reason", reason).with("after", after);
            ask.as_moderator("mod").await
        };
        for (reason, which) in [
            (Value::Null, vec![0, 1, 2, 3, 4, 5]),
            (json!("PENDING"), vec![0, 2, 4]),
            (json!("REPORTED"), vec![1, 3, 5]),
        ] {
            let (mut found, mut after) = (Vec::new(), Value::Null);
            loop {
                let answer = page(reason.clone(), after).await;
                let total = answer.number("/moderationQueue/totalCount/value");
                assert_eq!(usize::try_from(total).unwrap(), which.len());
                let nodes = answer.at("/moderationQueue/nodes").as_array().unwrap();
                found.extend(
                    nodes
                        .iter()
                        .map(|node| node["id"].as_str().unwrap().to_owned()),
                );
                if answer.at("/moderationQueue/pageInfo/hasNextPage") == false {
                    break;
                }
                after = answer.at("/moderationQueue/pageInfo/endCursor").clone();
            }
            let which: Vec<&String> = which.iter().map(|n| &expected[*n]).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), which, "{reason}");
        }
        // A reported review that is hidden keeps its position.
        decide(app, &expected[1], "RESTORE").await;
        let pending = page(json!("REPORTED"), Value::Null).await;
        assert_eq!(pending.number("/moderationQueue/totalCount/value"), 2);
        let cursor = page(Value::Null, Value::Null).await;
        let cursor = cursor.at("/moderationQueue/pageInfo/endCursor").clone();
        let other = page(json!("PENDING"), cursor).await;
        assert!(other.errors()[0].starts_with("INVALID_CURSOR"));
    });
}

#[test]
fn each_report_is_refused_to_callers_without_its_role() {
    test(async |app| {
        let queries = [
            ("{ moderationQueue { nodes { id } } }", Role::Moderator),
            (
                r#"{ fairnessReport(from: "2026-01-01T00:00:00Z", to: "2027-01-01T00:00:00Z") { byRating { rating } } }"#,
                Role::Moderator,
            ),
            ("{ ratingStatsAudit { checked } }", Role::Admin),
            (
                r#"{ exportAuthor(authorId: "ann") { lines } }"#,
                Role::Admin,
            ),
        ];
        for (query, needed) in queries {
            let stranger = app.query(query).await;
            assert!(
                stranger.errors()[0].starts_with("UNAUTHENTICATED"),
                "{query}"
            );
            for role in Role::ALL {
                let answer = app.query(query).with_roles("somebody", &[role]).await;
                if role == needed || role == Role::Admin {
                    assert_eq!(answer.errors(), [""; 0], "{query} by {role:?}");
                } else {
                    assert!(
                        answer.errors()[0].starts_with("FORBIDDEN"),
                        "{query} by {role:?}"
                    );
                }
            }
        }
    });
}

const OUTLIER: &str =
    "query($id: ID) { product(id: $id) { outlier { large hot since reason hotUntil } } }";

#[test]
fn only_admins_see_whether_a_product_is_an_outlier() {
    test(async |app| {
        let id = lamp(app).await;
        for role in [Role::Shopper, Role::Moderator, Role::Service] {
            let answer = app.query(OUTLIER).with("id", id.as_str());
            let answer = answer.with_roles("somebody", &[role]).await;
            assert!(answer.at("/product/outlier").is_null(), "{role:?}");
        }
        let admin = app.query(OUTLIER).with("id", id.as_str()).as_admin().await;
        assert_eq!(
            admin.at("/product/outlier"),
            &json!({ "large": false, "hot": false, "since": null, "reason": [], "hotUntil": null })
        );
    });
}

#[test]
fn frequent_reviews_make_a_product_hot_for_a_while() {
    test(async |app| {
        let id = lamp(app).await;
        let shown = async || {
            let answer = app.query(OUTLIER).with("id", id.as_str()).as_admin().await;
            answer.at("/product/outlier").clone()
        };
        // Concurrent reviews are stored in batches, so that a batch has more than five, however
        // busy the machine is.
        for round in 0..20 {
            let state = shown().await;
            if state["reason"] == json!(["RATE"]) {
                break;
            }
            // A write conflict made it hot for another reason: try again when it is over.
            if state["hot"] == true {
                app.clock.advance(11_000);
            }
            let writers: Vec<String> = (0..16).map(|n| format!("writer {round} {n}")).collect();
            let reviews = writers.iter().map(|writer| submit(app, writer, &id, 5));
            for submitted in join_all(reviews).await {
                submitted.done();
            }
            app.catalog.drain().await;
        }
        let hot = shown().await;
        assert_eq!(hot["hot"], true, "{hot}");
        let reasons = hot["reason"].as_array().unwrap();
        assert!(reasons.contains(&json!("RATE")), "{hot}");
        assert!(!hot["since"].is_null() && !hot["hotUntil"].is_null());
        let page =
            "query($id: ID) { product(id: $id) { reviews(first: 1) { totalCount { relation } } } }";
        let relation = async || {
            let answer = app.query(page).with("id", id.as_str()).await;
            answer.text("/product/reviews/totalCount/relation")
        };
        assert_eq!(relation().await, "ESTIMATE");
        // It expires.
        app.clock.advance(60_000);
        app.catalog.fold_and_move_ranks().await.unwrap();
        assert_eq!(shown().await["hot"], false);
        assert_eq!(relation().await, "EXACT");
    });
}

#[test]
fn an_export_has_everything_that_somebody_wrote() {
    test(async |app| {
        app.has([product("Lamp"), product("Desk")]).await;
        let (one, other) = (id_of(app, "lamp").await, id_of(app, "desk").await);
        let review = submitted(app, "ann", &one, 3).await;
        for rating in [4, 5] {
            let edit = json!({ "id": review, "expectedRevision": rating - 3, "rating": rating });
            app.mutate_by("ann", "editReview", edit).await.done();
        }
        submitted(app, "ann", &other, 2).await;
        let theirs = submitted(app, "ben", &one, 1).await;
        let vote = json!({ "id": theirs, "vote": "UNHELPFUL" });
        app.mutate_by("ann", "voteReview", vote).await.done();
        let report = json!({ "id": theirs, "reason": "FAKE", "note": "Never had one." });
        app.mutate_by("ann", "reportReview", report).await.done();
        let reply = json!({ "id": theirs, "text": "Which lamp?" });
        app.mutate_as(Role::Moderator, "ann", "replyToReview", reply)
            .await
            .done();
        let bought = json!({ "customerId": "ann", "productId": one });
        app.mutate_by("shop", "recordPurchase", bought).await.done();
        let part = async |author: &str, after: Value, first: i64| {
            let query = "query($author: String!, $after: String, $first: Int) { exportAuthor(authorId: $author, after: $after, first: $first) { lines endCursor } }";
            let ask = app.query(query).with("author", author);
            ask.with("after", after)
                .with("first", first)
                .as_admin()
                .await
        };
        for first in [1, 3, 100] {
            let (mut kinds, mut after) = (Vec::new(), Value::Null);
            loop {
                let answer = part("ann", after, first).await;
                for line in answer.at("/exportAuthor/lines").as_array().unwrap() {
                    let line: Value = serde_json::from_str(line.as_str().unwrap()).unwrap();
                    kinds.push(line["type"].as_str().unwrap().to_owned());
                }
                after = answer.at("/exportAuthor/endCursor").clone();
                if after.is_null() {
                    break;
                }
            }
            let expected = [
                "review", "review", "version", "version", "vote", "report", "reply", "purchase",
            ];
            assert_eq!(kinds, expected, "{first} at a time");
        }
        let cursor = part("ann", Value::Null, 1).await;
        let cursor = cursor.at("/exportAuthor/endCursor").clone();
        for (author, cursor) in [("ben", cursor), ("ann", json!("nonsense"))] {
            let refused = part(author, cursor, 1).await;
            assert!(
                refused.errors()[0].starts_with("INVALID_CURSOR"),
                "{author}"
            );
        }
        assert!(part("ann", Value::Null, 0).await.errors()[0].starts_with("BAD_USER_INPUT"));
    });
}

async fn erase(app: &App, author: &str, policy: &str) -> Reply {
    let input = json!({ "authorId": author, "policy": policy });
    app.mutate("eraseAuthor", input).await
}

#[test]
fn an_erasure_with_another_policy_has_its_own_receipt() {
    test(async |app| {
        let id = lamp(app).await;
        submitted(app, "ann", &id, 3).await;
        let kept = erase(app, "ann", "ANONYMIZE").await;
        assert_eq!(kept.number("/receipt/reviews"), 1);
        // Nothing names the erased authors.
        let removed = erase(app, "ann", "REMOVE").await;
        assert_eq!(removed.number("/receipt/reviews"), 0);
        assert_eq!(removed.text("/receipt/policy"), "REMOVE");
        // They write again and are erased again: the receipt counts both.
        submitted(app, "ann", &id, 4).await;
        let again = erase(app, "ann", "REMOVE").await;
        assert_eq!(again.number("/receipt/reviews"), 1);
        let wrong = erase(app, " ann", "REMOVE").await;
        assert_eq!(wrong.user_error_paths(), ["INVALID at authorId"]);
    });
}

#[test]
fn erasing_a_reporter_or_a_reported_author_updates_the_queue() {
    test(async |app| {
        let id = lamp(app).await;
        for policy in ["ANONYMIZE", "REMOVE"] {
            let (writer, reader) = (format!("writer {policy}"), format!("reader {policy}"));
            let review = submitted(app, &writer, &id, 3).await;
            let report = json!({ "id": review, "reason": "SPAM", "note": "An advertisement." });
            app.mutate_by(&reader, "reportReview", report).await.done();
            let vote = json!({ "id": review, "vote": "HELPFUL" });
            app.mutate_by(&reader, "voteReview", vote).await.done();
            erase(app, &reader, policy).await.done();
            let shown = app
                .query("query($id: ID!) { node(id: $id) { ... on Review { helpfulCount reports { by note } } } }")
                .with("id", review.as_str())
                .as_moderator("mod")
                .await;
            let votes = i64::from(policy == "ANONYMIZE");
            assert_eq!(shown.number("/node/helpfulCount"), votes);
            // The report remains, without its author.
            assert_eq!(
                *shown.at("/node/reports"),
                json!([{ "by": null, "note": null }])
            );
            app.audit().await;
            erase(app, &writer, policy).await.done();
            app.audit().await;
            let waits = waiting(app).await.as_array().unwrap().len();
            assert_eq!(waits, usize::from(policy == "ANONYMIZE"));
            if policy == "ANONYMIZE" {
                decide(app, &review, "PUBLISH").await;
            }
        }
    });
}

#[test]
fn an_import_verifies_buyers_and_restores_no_erased_author() {
    test(async |app| {
        let id = lamp(app).await;
        for customer in ["ann", "ben"] {
            let bought = json!({ "customerId": customer, "productId": id });
            app.mutate_by("shop", "recordPurchase", bought).await.done();
        }
        let of = |author: &str, stars: i64| {
            let review = review("Lamp", "r-1", stars).author(author).helpful(5);
            ReviewDraft::from(review)
        };
        let import = async |draft: ReviewDraft| {
            let mut session = app.catalog.import(ImportMode::Write);
            let outcome = session.reviews(vec![draft]).await.unwrap().remove(0);
            session.finish().await.unwrap();
            outcome
        };
        let seen = async || {
            let page = "query($id: ID) { product(id: $id) { reviews { nodes { id verified helpfulCount author { name } } } } }";
            let page = app.query(page).with("id", id.as_str()).await;
            page.at("/product/reviews/nodes/0").clone()
        };
        assert!(matches!(import(of("ann", 4)).await, LineOutcome::Created));
        assert_eq!(seen().await["verified"], true);
        // The feed corrects the author.
        for (author, verified) in [("cem", false), ("ben", true), ("ben", true)] {
            let stars = if verified { 5 } else { 3 };
            import(of(author, stars)).await;
            assert_eq!(seen().await["verified"], verified, "{author}");
        }
        // Votes of this service remain when their voter is erased and the feed is imported again.
        let review = seen().await["id"].as_str().unwrap().to_owned();
        let vote = json!({ "id": review, "vote": "HELPFUL" });
        app.mutate_by("dia", "voteReview", vote).await.done();
        erase(app, "dia", "ANONYMIZE").await.done();
        assert_eq!(seen().await["helpfulCount"], 6);
        assert!(matches!(import(of("ben", 2)).await, LineOutcome::Updated));
        assert_eq!(seen().await["helpfulCount"], 6);
        erase(app, "ben", "ANONYMIZE").await.done();
        let refused = import(of("ben", 1)).await;
        assert!(matches!(refused, LineOutcome::Rejected(_)), "{refused:?}");
        // Also one that was looked up before and written afterwards.
        let stored = app.documents("reviews", doc! {}).await.remove(0);
        let known = app.store.known_reviews("feed", &["r-1".to_owned()]).await;
        let known = known.map(|known| known.reviews);
        assert!(known.unwrap()["r-1"].erased, "{stored}");
        assert!(seen().await["author"].is_null());
    });
}
