//! The cost of every mutation and query of reviews on the server: the index keys and documents that
//! it examines, for a product with a dozen reviews and for one with thousands.
//!
//! The table that the test prints (`cargo test review_plans -- --nocapture`) is the one to quote.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vitrine_api::graphql::Role;
use vitrine_harness::profile::Executed;
use vitrine_harness::{App, product, review, test};
use vitrine_model::import::ReviewDraft;
use vitrine_model::review::MAX_TOP_REVIEWS;

/// The number of reviews of the two products.
const FEW: usize = 12;
const MANY: usize = 3_000;

async fn seed(app: &App) {
    app.has([product("Few"), product("Many")]).await;
    let of = |name: &'static str, reviews: usize| {
        (0..reviews).map(move |n| {
            let stars = i64::try_from(1 + n * 7 % 5).unwrap();
            let draft = review(name, format!("{name} {n}"), stars)
                .helpful(i64::try_from(n % 400).unwrap())
                .author(&format!("{name} {n}"))
                .created_at(&format!(
                    "202{}-{:02}-{:02}T{:02}:{:02}:00Z",
                    n % 6,
                    1 + n % 12,
                    1 + n / 12 % 28,
                    n / 60 % 24,
                    n % 60
                ));
            ReviewDraft {
                language: Some(["en", "de"][n % 2].to_owned()),
                ..draft.into()
            }
        })
    };
    app.has_reviews(of("Few", FEW).chain(of("Many", MANY)))
        .await;
}

/// A query or mutation as the server executed it.
struct Work {
    name: String,
    of: &'static str,
    executed: Vec<Executed>,
}

impl Work {
    fn keys(&self) -> i64 {
        self.executed.iter().map(Executed::keys).sum()
    }

    fn docs(&self) -> i64 {
        self.executed.iter().map(Executed::docs).sum()
    }

    fn line(&self) -> String {
        let plans: Vec<String> = self
            .executed
            .iter()
            .map(|e| {
                let space = e.entry().get_str("ns").unwrap_or_default();
                let collection = space
                    .split_once('.')
                    .map_or("", |(_, collection)| collection);
                format!("{} {collection}: {}", e.command(), e.plan())
            })
            .collect();
        format!(
            "{:<44}{:<6}{:>6}{:>6}  {}",
            self.name,
            self.of,
            self.keys(),
            self.docs(),
            plans.join("; ")
        )
    }

    fn faults(&self, most: (i64, i64)) -> Vec<String> {
        let mut faults = Vec::new();
        if self.keys() > most.0 || self.docs() > most.1 {
            faults.push(format!("more than {most:?} keys and documents"));
        }
        if self.executed.is_empty() {
            faults.push("no command was seen".to_owned());
        }
        for executed in &self.executed {
            if executed.plan().contains("COLLSCAN") {
                faults.push("a collection is read whole".to_owned());
            }
            // A report sorts its groups, not the documents in them.
            if executed.sorts() && executed.command() == "find" {
                faults.push("rows are sorted in memory".to_owned());
            }
        }
        let line = |fault| format!("{} of {}: {fault}", self.name, self.of);
        faults.into_iter().map(line).collect()
    }
}

#[test]
fn the_cost_of_a_review_mutation_does_not_grow_with_the_reviews() {
    test(async |app| {
        seed(app).await;
        app.start_profiler().await;
        let mut table = String::new();
        let mut faults = Vec::new();
        for of in ["Few", "Many"] {
            for (work, most) in all_work(app, of).await {
                let _ = writeln!(table, "{}", work.line());
                faults.extend(work.faults(most));
            }
        }
        println!("{table}");
        assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    });
}

async fn all_work(app: &App, of: &'static str) -> Vec<(Work, (i64, i64))> {
    let mut all = reading(app, of).await;
    all.extend(writing(app, of).await);
    all
}

/// Every query of reviews, with its limits of keys and documents.
async fn reading(app: &App, of: &'static str) -> Vec<(Work, (i64, i64))> {
    let page = |filter: &str, sort: &str| {
        format!(
            "reviews(first: 5, sort: {sort}, filter: {{ {filter} }}) {{ nodes {{ body }} totalCount {{ value }} }}"
        )
    };
    let mut parts = Vec::new();
    for sort in ["NEWEST", "OLDEST", "MOST_HELPFUL", "HIGHEST", "LOWEST"] {
        for filter in [
            "",
            "ratings: [4]",
            "verifiedOnly: true",
            "withMedia: true",
            "language: \"en\"",
        ] {
            parts.push((format!("{filter} {sort}"), page(filter, sort), (14, 14)));
        }
    }
    for (name, part, most) in [
        (
            "page",
            "topReviews(first: 10) { excerpt } ratingStats { count }",
            (1, 1),
        ),
        (
            "own review and vote",
            "viewerReview { body viewerVote }",
            (3, 2),
        ),
        ("trend", "ratingTrend(months: 24) { count }", (26, 26)),
        (
            "recent",
            "ratingStats { recent(days: 366) { count } }",
            // A key for each review of these days, and for no other.
            (520, 1),
        ),
    ] {
        parts.push((name.to_owned(), part.to_owned(), most));
    }
    let mut all = Vec::new();
    for (name, part, most) in parts {
        let query = format!("{{ product(slug: {:?}) {{ {part} }} }}", of.to_lowercase());
        let pending = app.query(&query).as_shopper("ben").into_future();
        let (answer, executed) = app.profile(pending).await;
        assert!(answer.errors().is_empty(), "{name}: {:?}", answer.errors());
        all.push((Work { name, of, executed }, most));
    }
    all
}

/// Every mutation of a review, with the fold that follows, and the queries of moderators and
/// admins. A mutation that conflicts with the fold of the one before retries, hence the higher
/// limits.
async fn writing(app: &App, of: &'static str) -> Vec<(Work, (i64, i64))> {
    // The top reviews may be read twice.
    let most = i64::try_from(2 * MAX_TOP_REVIEWS + 5).unwrap();
    let page = format!("{{ product(slug: {:?}) {{ id }} }}", of.to_lowercase());
    let id = app.query(&page).await.text("/product/id");
    let submission = json!({ "productId": id, "rating": 2, "body": "It is." });
    let submit = app.mutate_by("ann", "submitReview", submission);
    let (reply, executed) = app.profile(submit.into_future()).await;
    let review = reply.text("/review/id");
    let name = "submitReview".to_owned();
    let mut all = vec![(Work { name, of, executed }, (most, most))];
    let steps = [
        ("ben", "voteReview", json!({ "vote": "HELPFUL" })),
        ("ben", "removeVote", json!({})),
        ("cem", "reportReview", json!({ "reason": "SPAM" })),
        ("mod", "replyToReview", json!({ "text": "Thanks." })),
        (
            "ann",
            "editReview",
            json!({ "expectedRevision": 2, "rating": 5 }),
        ),
        ("mod", "moderationQueue", Value::Null),
        (
            "mod",
            "moderateReview",
            json!({ "decision": "REJECT", "reason": "SPAM" }),
        ),
        ("ann", "deleteReview", json!({})),
    ];
    for (by, name, mut input) in steps {
        if input.is_null() {
            all.push((reports(app, of, QUEUE).await, (12, 6)));
            continue;
        }
        input["id"] = json!(review);
        let order = async {
            app.mutate_by(by, name, input).await.done();
            app.catalog.drain().await;
            app.catalog.fold_and_move_ranks().await.unwrap();
        };
        let ((), executed) = app.profile(order).await;
        let name = name.to_owned();
        all.push((Work { name, of, executed }, (most, most)));
    }
    let fairness = r#"{ fairnessReport(from: "2020-01-01T00:00:00Z", to: "2030-01-01T00:00:00Z") { byRating { rating } } }"#;
    all.push((reports(app, of, fairness).await, (4, 0)));
    // Each review, the top ten, and the months.
    let recount = format!("{{ ratingStatsAudit(product: {id:?}) {{ checked }} }}");
    let reviews = i64::try_from(if of == "Few" { FEW } else { MANY }).unwrap();
    all.push((
        reports(app, of, &recount).await,
        (reviews + 30, reviews + 30),
    ));
    all
}

const QUEUE: &str =
    "{ moderationQueue { totalCount { value } nodes { body reports { by } versions { body } } } }";

/// A query of a moderator or an admin.
async fn reports(app: &App, of: &'static str, query: &str) -> Work {
    let pending = app
        .query(query)
        .with_roles("mod", &[Role::Moderator, Role::Admin])
        .into_future();
    let (answer, executed) = app.profile(pending).await;
    assert!(answer.errors().is_empty(), "{query}: {:?}", answer.errors());
    let name = query.chars().filter(|c| *c != '{').take(20).collect();
    Work { name, of, executed }
}
