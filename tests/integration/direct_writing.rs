//! What is written directly equals what the library makes of resolvers, byte for byte.

use serde_json::Value;
use vitrine_api::execution::{Engine, GraphqlRequest};
use vitrine_api::graphql::{self, Role, Session, Viewer};
use vitrine_harness::{App, product, review, test};

use crate::endurance::run::fuzzer::Fuzzer;

/// The random documents that are compared.
const DOCUMENTS: usize = 800;
/// What the products are asked for again and again, with errors and nulls in the middle.
const PAGES: [&str; 6] = [
    "{ products(first: 9, sort: [{ key: NAME }]) { nodes { __typename id n: name specs { key label text qualifier
       value { __typename ... on TextValue { text } ... on QuantityValue { value unit displayValue canonicalUnit } } } } } }",
    "{ products(first: 9) { edges { cursor node { ... on Book { isbn pages } ... on Apparel { fit }
       ratingStats { average histogram { rating share } recent { count } } } } pageInfo { hasNextPage endCursor } } }",
    "{ products(first: 9) { nodes { topReviews(first: 99) { id } specs(displayUnits: [{ unit: \"furlong\" }]) { text } } } }",
    "{ products(first: 9) { nodes { spec(key: \"weight\", displayUnit: \"bit\") { text } name } } }",
    "{ products(first: 9) { nodes { reviews(first: 2) { nodes { id body author { name } product { name
       category { name } } } totalCount { value relation } } viewerReview { id } } } }",
    "{ products(first: 9) { nodes { outlier { large since reason } supplier { id asOf supplier { name } } media { url } } } }",
];

/// Products of several kinds, some with everything and some with nothing.
async fn seed(app: &App) -> Vec<String> {
    let lamp = |n: usize| {
        let lamp = product(&format!("Lamp {n}")).category(["Lamps", "Desk"]);
        if n.is_multiple_of(3) {
            return lamp;
        }
        lamp.supplier("North \"Pole\"", "NO")
            .price(&format!("{n}.50"))
            .quantity("weight", 1.5, "kg")
            .text("note", "a \u{2028} \\ \t \"quoted\" </script> text")
    };
    app.has((1..=8).map(lamp)).await;
    let reviews = |n: usize| {
        (1..=3).map(move |stars| review(&format!("Lamp {n}"), format!("{n}-{stars}"), stars))
    };
    app.has_reviews((1..=5).flat_map(reviews)).await;
    let ids = app.query("{ products(first: 50) { nodes { id } } }").await;
    let nodes = ids.data()["products"]["nodes"].as_array().unwrap().clone();
    let id = |node: &Value| node["id"].as_str().unwrap().to_owned();
    nodes.iter().map(id).collect()
}

fn admin() -> Viewer {
    Viewer {
        subject: Some("somebody".to_owned()),
        roles: vec![Role::Admin],
    }
}

/// Returns the response, with its errors sorted: fields that wait may fail in any order.
async fn answer(app: &App, engine: &Engine, viewer: &Viewer, body: &Value) -> Option<String> {
    let mut request = GraphqlRequest::new(body["query"].as_str()?).request_id("same");
    request.variables = body["variables"].as_object().cloned().unwrap_or_default();
    let session = Session::new(&app.catalog, viewer);
    let mut response = engine
        .execute(request, |request| session.attach(request))
        .await;
    let text = |error: &_| serde_json::to_string(error).unwrap();
    response.errors.sort_by_key(text);
    Some(String::from_utf8(response.json()).unwrap())
}

#[test]
fn random_documents_have_the_same_answers_either_way() {
    test(async |app| {
        let ids = seed(app).await;
        let resolving = graphql::engine().unwrap().resolving_every_field();
        let mut fuzzer = Fuzzer::new(16, &ids);
        let mut documents: Vec<Value> = Vec::new();
        while documents.len() < DOCUMENTS {
            let request = serde_json::from_slice::<Value>(&fuzzer.request());
            let is_query = |body: &Value| {
                let text = body["query"].as_str();
                text.is_some_and(|text| text.starts_with("query"))
            };
            documents.extend(request.ok().filter(is_query));
        }
        documents.extend(PAGES.map(|query| serde_json::json!({ "query": query })));
        let mut with_data = 0;
        for body in &documents {
            for viewer in [Viewer::default(), admin()] {
                // What is counted on request is counted by the first answer.
                answer(app, &app.engine, &viewer, body).await;
                let expected = answer(app, &resolving, &viewer, body).await;
                let direct = answer(app, &app.engine, &viewer, body).await;
                assert_eq!(direct, expected, "{}", body["query"]);
                with_data += usize::from(direct.is_some_and(|text| text.contains("\"data\":{")));
            }
        }
        assert!(with_data > DOCUMENTS / 2, "only {with_data} have data");
    });
}
