//! Callers who do what a shop is for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Report, Stage};
use vitrine_harness::App;
use vitrine_harness::http::Connection;
use vitrine_harness::token::token;

/// The name that honest authors give.
pub(super) const AUTHOR_NAME: &str = "An honest reader";
/// A page of a shop, with everything on it.
const PAGE: &str = "query Page($slug: String!) { product(slug: $slug) { id name description brand
  price { amount currency } specs { key label text } ratingStats { average count histogram { rating count } }
  topReviews { id rating title excerpt author { name } } } }";
const SUBMIT: &str = "mutation Submit($input: SubmitReviewInput!) { submitReview(input: $input) {
  review { id } userErrors { code message } } }";
/// The time between two requests of a caller.
const PAUSE: Duration = Duration::from_millis(20);

/// The products that callers know.
pub(super) struct Shop {
    /// The ids and slugs of those that honest callers read and review.
    products: Vec<(String, String)>,
    /// The ids of those that fuzzers may change and archive.
    others: Vec<String>,
}

impl Shop {
    /// Reads the first hundred products; every second one is for the fuzzers.
    pub(super) async fn read(app: &App) -> Self {
        let query = "{ products(first: 100) { nodes { id slug } } }";
        let answer = app.query(query).await;
        let data = answer.data();
        let nodes = data["products"]["nodes"].as_array().expect("a list");
        let text = |node: &Value, field: &str| node[field].as_str().expect("a text").to_owned();
        let products = nodes
            .iter()
            .map(|node| (text(node, "id"), text(node, "slug")));
        let (others, products): (Vec<_>, Vec<_>) =
            products.enumerate().partition(|(at, _)| at % 2 == 1);
        Self {
            products: products.into_iter().map(|(_, product)| product).collect(),
            others: others.into_iter().map(|(_, (id, _))| id).collect(),
        }
    }

    /// Returns the ids that fuzzers send.
    pub(super) fn others(&self) -> &[String] {
        &self.others
    }
}

/// Reads product pages, one after the other.
pub(super) async fn read(stage: &Stage, shop: &Shop, number: usize) {
    let from = format!("192.0.2.{}", number + 1);
    let mut connection = None;
    for (_, slug) in shop.products.iter().cycle() {
        if stage.is_over() {
            break;
        }
        let request = json!({ "query": PAGE, "variables": { "slug": slug } });
        let start = Instant::now();
        let answer = ask(stage, &mut connection, number, &from, &request, None).await;
        let note = |report: &mut Report| match answer {
            Ok(answer) if answer["data"]["product"]["id"].is_string() => {
                report.pages.push((start, start.elapsed()));
            }
            Ok(answer) => {
                let code = &answer["errors"][0]["extensions"]["code"];
                report.unanswered.push((start, code.to_string()));
            }
            Err(error) => report.unanswered.push((start, format!("{error:#}"))),
        };
        stage.report(note);
        sleep(PAUSE).await;
    }
}

/// Writes reviews, one after the other, each of another author. Repeats a mutation with its
/// idempotency key until it is acknowledged.
pub(super) async fn write(stage: &Stage, shop: &Shop, number: usize) {
    let from = format!("192.0.2.{}", number + 100);
    let mut connection = None;
    let mut written = 0;
    while !stage.is_over() {
        let author = format!("author-{number}-{written}");
        let token = token(&author, "shopper");
        let (product, _) = &shop.products[(number + 7 * written) % shop.products.len()];
        let input = json!({
            "productId": product,
            "rating": 1 + (number + written) % 5,
            "body": format!("What author {number} has to say for the time {written}."),
            "authorName": AUTHOR_NAME,
            "idempotencyKey": format!("review of {author}"),
        });
        let request = json!({ "query": SUBMIT, "variables": { "input": input } });
        let id = loop {
            let token = Some(token.as_str());
            let answer = ask(stage, &mut connection, number, &from, &request, token).await;
            let answer = answer.unwrap_or_default();
            let payload = &answer["data"]["submitReview"];
            if let Some(id) = payload["review"]["id"].as_str() {
                break id.to_owned();
            }
            if payload["userErrors"][0].is_object() {
                let refused = format!("a review is refused: {payload}");
                return stage.report(|report| report.wrong.push(refused));
            }
            sleep(5 * PAUSE).await;
        };
        stage.report(|report| report.acknowledged.push(id));
        written += 1;
        sleep(PAUSE).await;
    }
}

/// Asks over a connection that is kept, or over a new one.
async fn ask(
    stage: &Stage,
    connection: &mut Option<Connection>,
    number: usize,
    from: &str,
    request: &Value,
    token: Option<&str>,
) -> anyhow::Result<Value> {
    let mut kept = match connection.take() {
        Some(kept) => kept,
        None => Connection::open(&stage.address(number), from).await?,
    };
    let reply = kept.ask(request.to_string().as_bytes(), token).await?;
    *connection = Some(kept);
    Ok(serde_json::from_str(&reply.body)?)
}
