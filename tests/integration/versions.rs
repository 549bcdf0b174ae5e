//! Documents that an earlier release wrote, beside those of this one.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_harness::{App, product, test};

async fn lamp(app: &App) -> String {
    app.has([product("Lamp")]).await;
    let lamp = app.query("{ product(slug: \"lamp\") { id } }").await;
    lamp.text("/product/id")
}

/// Makes everything about reviews what the first release wrote: it did not know what reviews are
/// filtered by.
async fn as_of_version_1(app: &App) {
    let older = doc! {
        "$set": { "schema_version": 1 },
        "$unset": {
            "traits": 1, "marks": 1, "applied.traits": 1,
            "round": 1, "reports": 1, "moderation": 1,
        },
    };
    let every = Document::new();
    let reviews = app.direct().collection::<Document>("reviews");
    reviews.update_many(every.clone(), older).await.unwrap();
    let without = doc! { "$unset": { "media": 1 } };
    let empty = doc! { "media": [] };
    reviews.update_many(empty, without).await.unwrap();
    let products = app.direct().collection::<Document>("products");
    let older = doc! { "$unset": { "stats.traits": 1 } };
    products.update_many(every, older).await.unwrap();
}

/// The lists of reviews that a page may show: all, by stars, and by what reviews are filtered by.
async fn lists(app: &App) -> Value {
    let list = |name: &str, filter: &str| {
        format!(
            "{name}: reviews(first: 20, sort: NEWEST{filter}) {{ nodes {{ title rating helpfulCount verified }} totalCount {{ value }} }}"
        )
    };
    let lists = [
        list("all", ""),
        list("four", ", filter: { ratings: [4] }"),
        list("german", ", filter: { language: \"de\" }"),
        list("bought", ", filter: { verifiedOnly: true }"),
        list(
            "pictured",
            ", filter: { withMedia: true, language: \"en\", ratings: [5] }",
        ),
    ];
    let query = format!(
        "{{ product(slug: \"lamp\") {{ ratingStats {{ average count languages {{ code count }} }} topReviews {{ title }} {} }} }}",
        lists.join(" ")
    );
    app.query(&query).await.at("/product").clone()
}

/// A review by the author of this number, every other with a picture; gives its id.
async fn submitted(app: &App, product: &str, rating: i64, language: &str, number: usize) -> String {
    let mut written = json!({
        "productId": product,
        "rating": rating,
        "title": format!("{language} {number}"),
        "body": "It shines.",
        "language": language,
    });
    if number.is_multiple_of(2) {
        let picture = json!({ "url": "https://example.com/lamp.jpg", "kind": "IMAGE" });
        written["media"] = json!([picture]);
    }
    let author = format!("author {number}");
    let reply = app.order_by(&author, "submitReview", written).await;
    reply.done();
    reply.text("/review/id")
}

#[test]
fn reviews_of_the_first_version_are_read_counted_and_brought_to_the_newest() {
    test(async |app| {
        let id = lamp(app).await;
        let mut ids = Vec::new();
        for (number, (rating, language)) in [(5, "en"), (4, "de"), (5, "en"), (1, "tlh")]
            .into_iter()
            .enumerate()
        {
            let author = format!("author {number}");
            let bought = json!({ "customerId": author, "productId": id });
            if number < 2 {
                app.order_by("shop", "recordPurchase", bought).await.done();
            }
            ids.push(submitted(app, &id, rating, language, number).await);
        }
        let deleted = json!({ "id": ids[3] });
        app.order_by("author 3", "deleteReview", deleted)
            .await
            .done();
        app.rest().await;
        let newest = lists(app).await;
        assert_eq!(newest["pictured"]["totalCount"]["value"], 2);

        as_of_version_1(app).await;
        let older = lists(app).await;
        for same in ["all", "four", "topReviews"] {
            assert_eq!(older[same], newest[same], "{same}");
        }
        assert_eq!(older["german"]["nodes"], json!([]));
        assert_eq!(older["german"]["totalCount"]["value"], 0);
        app.audit().await;

        // Whatever is counted anew is brought to the newest version by it, and nothing else is.
        let vote = json!({ "id": ids[1], "vote": "HELPFUL" });
        app.order_by("voter", "voteReview", vote).await.done();
        let bought = json!({ "customerId": "author 2", "productId": id });
        app.order_by("shop", "recordPurchase", bought).await.done();
        app.rest().await;
        app.audit().await;
        let partly = lists(app).await;
        assert_eq!(partly["german"]["totalCount"]["value"], 1);
        assert_eq!(partly["bought"]["totalCount"]["value"], 2);
        assert_eq!(
            app.documents("reviews", doc! { "schema_version": 1 })
                .await
                .len(),
            2
        );

        // The rest, by those who look for it; a purchase that is recorded meanwhile is not lost.
        assert_eq!(app.catalog.upgrade_reviews().await.unwrap(), 2);
        assert_eq!(app.catalog.upgrade_reviews().await.unwrap(), 0);
        assert_eq!(
            app.documents("reviews", doc! { "schema_version": 1 })
                .await
                .len(),
            0
        );
        app.audit().await;
        let mut upgraded = lists(app).await;
        assert_eq!(upgraded["bought"]["totalCount"]["value"], 3);
        let unvote = json!({ "id": ids[1] });
        app.order_by("voter", "removeVote", unvote).await.done();
        app.rest().await;
        upgraded = lists(app).await;
        for same in ["german", "four", "ratingStats", "topReviews"] {
            assert_eq!(upgraded[same], newest[same], "{same}");
        }
        assert_eq!(upgraded["pictured"]["totalCount"]["value"], 2);
        assert_eq!(upgraded["all"]["totalCount"]["value"], 3);
    });
}

#[test]
fn an_empty_index_says_that_no_review_is_of_an_older_version() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        app.forget_commands();
        assert_eq!(app.catalog.upgrade_reviews().await.unwrap(), 0);
        assert_eq!(app.sent(), ["find reviews"]);
    });
}

#[test]
fn everything_can_be_done_to_reviews_of_the_first_version() {
    test(async |app| {
        let id = lamp(app).await;
        let orders = [
            (
                "author 0",
                "editReview",
                json!({ "expectedRevision": 1, "rating": 2, "language": "de" }),
            ),
            ("author 1", "deleteReview", json!({})),
            ("reader", "voteReview", json!({ "vote": "UNHELPFUL" })),
            ("reader", "reportReview", json!({ "reason": "SPAM" })),
            (
                "mod",
                "moderateReview",
                json!({ "decision": "REJECT", "reason": "SPAM" }),
            ),
            ("mod", "replyToReview", json!({ "text": "Thank you." })),
        ];
        let mut ids = Vec::new();
        for number in 0..=orders.len() {
            ids.push(submitted(app, &id, 5, "en", number).await);
        }
        app.rest().await;
        as_of_version_1(app).await;
        app.audit().await;
        for ((by, order, mut input), review) in orders.into_iter().zip(&ids) {
            input["id"] = json!(review);
            app.order_by(by, order, input).await.done();
        }
        let erased = json!({ "authorId": "author 6", "policy": "ANONYMIZE" });
        app.order("eraseAuthor", erased).await.done();
        app.rest().await;
        app.audit().await;
        while app.catalog.upgrade_reviews().await.unwrap() > 0 {}
        app.audit().await;
        assert_eq!(
            app.documents("reviews", doc! { "schema_version": { "$lt": 2 } })
                .await,
            []
        );
        let shown = lists(app).await;
        assert_eq!(shown["all"]["totalCount"]["value"], 5);
        assert_eq!(shown["german"]["totalCount"]["value"], 1);

        // As after an older process has changed what a review is filtered by and counted it.
        let one = doc! { "language": "de" };
        let foreign = doc! { "$set": { "language": "fr", "dirty": true } };
        let reviews = app.direct().collection::<Document>("reviews");
        reviews.update_one(one, foreign).await.unwrap();
        app.rest().await;
        app.audit().await;
        assert_eq!(lists(app).await["german"]["totalCount"]["value"], 0);
    });
}
