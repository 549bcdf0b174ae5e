//! What feeds say of reviews beyond stars and text: a purchase that the source vouches for,
//! pictures, and facts about the reviewer.

use serde_json::{Value, json};
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, ReviewBuilder, product, review, test};
use vitrine_model::import::LineOutcome;
use vitrine_model::spec::SpecValue;

fn hours(hours: f64) -> SpecValue {
    SpecValue::Quantity {
        value: hours,
        unit: "hours".to_owned(),
    }
}

fn text(text: &str) -> SpecValue {
    SpecValue::Text(text.to_owned())
}

async fn outcome(app: &App, draft: ReviewBuilder) -> LineOutcome {
    let mut session = app.catalog.import(ImportMode::Write);
    let outcome = session.reviews(vec![draft.into()]).await.unwrap().remove(0);
    session.finish().await.unwrap();
    outcome
}

/// The only review of the product.
async fn only(app: &App) -> Value {
    let page = app
        .query(
            r#"{ product(slug: "game") { ratingStats { verifiedCount withMediaCount } reviews {
                nodes { verified media { url } attributes { name label text value {
                    __typename ... on QuantityValue { value unit canonicalValue canonicalUnit }
                    ... on TextValue { text } } } } } } }"#,
        )
        .await;
    let product = page.at("/product");
    json!({ "stats": product["ratingStats"], "review": product["reviews"]["nodes"][0] })
}

#[test]
fn a_review_shows_purchase_pictures_and_facts_about_its_author() {
    test(async |app| {
        app.has([product("game")]).await;
        let draft = review("game", 1, 5)
            .author("Ada")
            .verified()
            .image("https://e.org/1.jpg")
            .attribute("hours_played", hours(1.5))
            .attribute("age_group", text("25 to 34"));
        app.has_reviews([draft.clone()]).await;
        let shown = json!({
            "stats": { "verifiedCount": 1, "withMediaCount": 1 },
            "review": {
                "verified": true,
                "media": [{ "url": "https://e.org/1.jpg" }],
                "attributes": [
                    { "name": "hours_played", "label": "Hours played", "text": "1.5 h", "value": {
                        "__typename": "QuantityValue",
                        "value": 1.5, "unit": "h", "canonicalValue": 5400.0, "canonicalUnit": "s"
                    } },
                    { "name": "age_group", "label": "Age group", "text": "25 to 34", "value": {
                        "__typename": "TextValue", "text": "25 to 34"
                    } }
                ]
            }
        });
        assert_eq!(only(app).await, shown);
        assert_eq!(outcome(app, draft).await, LineOutcome::Unchanged);
        let keys = app.query("{ specKeys { nodes { key } } }").await;
        assert_eq!(
            keys.at("/specKeys/nodes"),
            &json!([]),
            "not in the dictionary"
        );
    });
}

#[test]
fn a_source_takes_back_what_it_says_of_a_review() {
    test(async |app| {
        app.has([product("game")]).await;
        let plain = || review("game", 1, 5).author("Ada");
        let said = plain().verified().image("https://e.org/1.jpg");
        app.has_reviews([said.attribute("age_group", text("25 to 34"))])
            .await;
        assert_eq!(outcome(app, plain()).await, LineOutcome::Updated);
        let bare = json!({
            "stats": { "verifiedCount": 0, "withMediaCount": 0 },
            "review": { "verified": false, "media": [], "attributes": [] }
        });
        assert_eq!(only(app).await, bare);
    });
}

#[test]
fn a_purchase_in_the_shop_counts_whatever_the_source_says() {
    test(async |app| {
        app.has([product("game")]).await;
        let game = app.query(r#"{ product(slug: "game") { id } }"#).await;
        app.has_reviews([review("game", 1, 5).author("ada").verified()])
            .await;
        let bought = json!({ "productId": game.text("/product/id"), "customerId": "ada" });
        app.mutate("recordPurchase", bought).await.done();
        let without = review("game", 1, 5).author("ada").title("Good");
        assert_eq!(outcome(app, without).await, LineOutcome::Updated);
        assert_eq!(only(app).await["review"]["verified"], true);
    });
}

#[test]
fn facts_and_pictures_of_reviews_are_bounded() {
    test(async |app| {
        app.has([product("game")]).await;
        let mut many = review("game", 1, 5).attribute("note", text(&"x".repeat(257)));
        for n in 0..20 {
            many = many.attribute(&format!("fact_{n}"), SpecValue::Number(1.0));
        }
        for n in 0..11 {
            many = many.image(&format!("https://e.org/{n}.jpg"));
        }
        let LineOutcome::Rejected(reasons) = outcome(app, many).await else {
            panic!("it is rejected");
        };
        let reasons: Vec<String> = reasons
            .iter()
            .map(|reason| format!("{}: {}", reason.field, reason.reason))
            .collect();
        assert_eq!(
            reasons,
            [
                "media: 11 images and videos; a review may have 10",
                "attributes: 21 attributes; a review may have 20",
                "attributes.note: 257 bytes; 256 are possible",
            ]
        );
    });
}

#[test]
fn facts_about_erased_authors_are_erased() {
    for policy in ["ANONYMIZE", "REMOVE"] {
        test(async |app| {
            app.has([product("game")]).await;
            let said = review("game", 1, 5).author("ada").verified();
            app.has_reviews([said.attribute("age_group", text("25 to 34"))])
                .await;
            let lines = app
                .query(r#"{ exportAuthor(authorId: "ada") { lines } }"#)
                .as_admin()
                .await;
            let exported = lines.at("/exportAuthor/lines").to_string();
            assert!(exported.contains("25 to 34"), "{exported}");
            let erase = json!({ "authorId": "ada", "policy": policy });
            app.mutate("eraseAuthor", erase).await.done();
            let reviews = app
                .direct()
                .collection::<mongodb::bson::Document>("reviews");
            let stored = reviews.find_one(mongodb::bson::doc! {}).await.unwrap();
            let stored = stored.unwrap();
            assert!(!stored.contains_key("attributes"), "{stored}");
            assert_eq!(stored.contains_key("vouched"), policy == "ANONYMIZE");
        });
    }
}
