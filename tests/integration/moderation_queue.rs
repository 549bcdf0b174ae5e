//! The moderation queue: what it can be narrowed down by, its orders, and how many reviews wait.

use serde_json::{Value, json};
use vitrine_harness::{Answer, App, product, test};

const QUEUE: &str = "query ($reason: QueueReason, $filter: ModerationQueueFilterInput, $sort: ModerationQueueSort, $first: Int, $after: String) {
    moderationQueue(reason: $reason, filter: $filter, sort: $sort, first: $first, after: $after) {
        totalCount { value } nodes { title } pageInfo { hasNextPage endCursor } } }";

/// Twelve reviews of two lamps, one a second: every third is reported, the others were hidden. Their titles are their
/// numbers.
async fn queue(app: &App) -> [String; 2] {
    app.has([product("Lamp"), product("Torch")]).await;
    let [lamp, torch] = [id_of(app, "lamp").await, id_of(app, "torch").await];
    for n in 0..12 {
        app.clock.advance(1_000);
        let review = json!({
            "productId": if n % 2 == 0 { &lamp } else { &torch },
            "rating": 1 + n % 5,
            "title": format!("{n:02}"),
            "body": "It shines.",
            "language": if n % 4 == 0 { "de" } else { "en-GB" },
        });
        let reply = app
            .mutate_by(&format!("reader{n}"), "submitReview", review)
            .await;
        reply.done();
        let id = reply.text("/review/id");
        if n % 3 == 0 {
            let report = json!({ "id": id, "reason": "SPAM" });
            app.mutate_by("ben", "reportReview", report).await.done();
        } else {
            let decision = json!({ "id": id, "decision": "RESTORE", "reason": "OTHER" });
            app.mutate_by("mod", "moderateReview", decision)
                .await
                .done();
        }
    }
    [lamp, torch]
}

async fn id_of(app: &App, slug: &str) -> String {
    let query = format!("{{ product(slug: {slug:?}) {{ id }} }}");
    app.query(&query).await.text("/product/id")
}

async fn ask(app: &App, variables: &Value) -> Answer {
    let variables = variables.as_object().unwrap().clone().into_iter();
    let request = variables.fold(app.query(QUEUE), |request, (name, value)| {
        request.with(&name, value)
    });
    request.as_moderator("mod").await
}

/// The numbers of the reviews of a list, read in pages of two.
async fn numbers(app: &App, variables: &Value) -> Vec<usize> {
    let (mut found, mut variables) = (Vec::new(), variables.clone());
    variables["first"] = json!(2);
    loop {
        let page = ask(app, &variables).await;
        let nodes = page.at("/moderationQueue/nodes").as_array().unwrap();
        let title = |node: &Value| node["title"].as_str().unwrap().parse::<usize>().unwrap();
        found.extend(nodes.iter().map(title));
        if page.at("/moderationQueue/pageInfo/hasNextPage") == false {
            let total = page.number("/moderationQueue/totalCount/value");
            assert_eq!(usize::try_from(total).unwrap(), found.len(), "{variables}");
            return found;
        }
        variables["after"] = page.at("/moderationQueue/pageInfo/endCursor").clone();
    }
}

async fn queued_at(app: &App, n: usize) -> Value {
    let query = "{ moderationQueue(first: 20) { nodes { title queuedSince } } }";
    let all = app.query(query).as_moderator("mod").await;
    let nodes = all.at("/moderationQueue/nodes").as_array().unwrap();
    let node = nodes.iter().find(|node| node["title"] == format!("{n:02}"));
    node.unwrap()["queuedSince"].clone()
}

/// Whether the row with a number matches.
type Matches = fn(usize) -> bool;

#[test]
fn the_queue_is_narrowed_down_and_read_in_both_orders() {
    test(async |app| {
        let [lamp, _] = queue(app).await;
        let (since, before) = (queued_at(app, 3).await, queued_at(app, 9).await);
        let cases: [(Value, Value, Matches); 8] = [
            (Value::Null, json!({}), |_| true),
            (Value::Null, json!({ "product": lamp }), |n| n % 2 == 0),
            (Value::Null, json!({ "ratings": [1, 3, 3] }), |n| {
                matches!(n % 5, 0 | 2)
            }),
            (Value::Null, json!({ "language": "DE-at" }), |n| n % 4 == 0),
            (Value::Null, json!({ "queuedSince": since }), |n| n >= 3),
            (
                Value::Null,
                json!({ "queuedSince": since, "queuedBefore": before }),
                |n| (3..9).contains(&n),
            ),
            (
                json!("REPORTED"),
                json!({ "product": lamp, "queuedBefore": before }),
                |n| n % 6 == 0 && n < 9,
            ),
            (
                json!("PENDING"),
                json!({ "ratings": [2], "language": "en" }),
                |n| n % 5 == 1 && n % 3 != 0,
            ),
        ];
        for (reason, filter, matches) in cases {
            let mut expected: Vec<usize> = (0..12).filter(|n| matches(*n)).collect();
            for sort in ["OLDEST", "NEWEST"] {
                let list = json!({ "reason": reason, "filter": filter, "sort": sort });
                assert_eq!(numbers(app, &list).await, expected, "{list}");
                expected.reverse();
            }
        }
    });
}

#[test]
fn each_filter_of_the_queue_has_an_index_in_the_order_of_waiting() {
    test(async |app| {
        let [lamp, _] = queue(app).await;
        app.start_profiler().await;
        let patterns = app.index_patterns("reviews").await;
        let cases = [
            (json!({}), "queue"),
            (json!({ "reason": "PENDING" }), "queue_reason"),
            (json!({ "filter": { "product": lamp } }), "queue_product"),
            (json!({ "filter": { "ratings": [1, 2] } }), "queue_rating"),
            (json!({ "filter": { "language": "de" } }), "queue"),
        ];
        for (mut list, index) in cases {
            list["first"] = json!(2);
            let (_, executed) = app.profile(ask(app, &list)).await;
            let finds = executed.iter().filter(|one| one.command() == "find");
            let of_queue: Vec<_> = finds
                .filter(|one| one.indexes(&patterns) == [index])
                .collect();
            let [find] = of_queue[..] else {
                panic!("{list}: {executed:?}");
            };
            assert!(!find.sorts() && find.keys() <= 9, "{list}: {}", find.keys());
        }
    });
}

#[test]
fn what_waits_is_counted_by_reason_and_status() {
    const COUNTS: &str =
        "{ moderationCounts { total { value relation } counts { reason status count oldest } } }";
    test(async |app| {
        let empty = app.query(COUNTS).as_moderator("mod").await;
        assert_eq!(
            *empty.at("/moderationCounts"),
            json!({ "total": { "value": 0, "relation": "EXACT" }, "counts": [] })
        );
        queue(app).await;
        app.start_profiler().await;
        let (counts, executed) = app
            .profile(async { app.query(COUNTS).as_moderator("mod").await })
            .await;
        let expected = json!({
            "total": { "value": 12, "relation": "EXACT" },
            "counts": [
                { "reason": "PENDING", "status": "PENDING", "count": 8, "oldest": queued_at(app, 1).await },
                { "reason": "REPORTED", "status": "PUBLISHED", "count": 4, "oldest": queued_at(app, 0).await },
            ],
        });
        assert_eq!(*counts.at("/moderationCounts"), expected);
        // Ratings of the last reviews may be counted meanwhile.
        let aggregates = executed.iter().filter(|one| one.command() == "aggregate");
        let [one] = &aggregates.collect::<Vec<_>>()[..] else {
            panic!("{executed:?}");
        };
        assert_eq!(one.indexes(&app.index_patterns("reviews").await), ["queue"]);
        assert_eq!((one.docs(), one.keys()), (12, 12), "{}", one.plan());
    });
}

#[test]
fn filters_of_the_queue_without_a_meaning_are_refused() {
    test(async |app| {
        let [lamp, _] = queue(app).await;
        let (since, before) = (queued_at(app, 9).await, queued_at(app, 3).await);
        let review = "{ moderationQueue(first: 1) { nodes { id } } }";
        let review = app.query(review).as_moderator("mod").await;
        let review = review.text("/moderationQueue/nodes/0/id");
        for (filter, said) in [
            (json!({ "product": "x" }), "filter.product"),
            (
                json!({ "product": review }),
                "filter.product: is not the id of a product",
            ),
            (json!({ "ratings": [6] }), "filter.ratings"),
            (json!({ "language": "deutsch" }), "filter.language"),
            (
                json!({ "queuedSince": since, "queuedBefore": before }),
                "filter.queuedBefore: must be after queuedSince",
            ),
        ] {
            let refused = ask(app, &json!({ "filter": filter })).await;
            let error = refused.errors().join("\n");
            assert!(error.contains(said), "{filter}: {error}");
        }
        let cursor = ask(app, &json!({ "first": 1 })).await;
        let cursor = cursor.at("/moderationQueue/pageInfo/endCursor").clone();
        let other = json!({ "filter": { "product": lamp }, "after": cursor });
        let refused = ask(app, &other).await;
        assert!(refused.errors()[0].starts_with("INVALID_CURSOR"));
    });
}
