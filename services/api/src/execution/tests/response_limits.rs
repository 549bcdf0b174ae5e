//! The size of a response is limited while it is made, and again when it is written.

use async_graphql::{EmptyMutation, EmptySubscription, Object, Schema, SimpleObject, Subscription};
use futures_util::stream::{self, Stream, StreamExt as _};
use serde_json::{Value, json};
use vitrine_api_derive::Direct;

use crate::execution::{
    CostCheck, Engine, EventGate, GraphqlRequest, GraphqlResponse, List, LongText, ResponseLimits,
    Scalars,
};

struct Query;

#[derive(Clone, SimpleObject, Direct)]
struct Row {
    number: i32,
    cells: List<Cell>,
}

#[derive(Clone, SimpleObject, Direct)]
struct Cell {
    number: i32,
    text: LongText<'static>,
}

#[Object]
impl Query {
    async fn rows(&self) -> List<Row> {
        let cell = |number| Cell {
            number,
            text: "x".repeat(100).into(),
        };
        let row = |number| Row {
            number,
            cells: (0..10).map(cell).collect(),
        };
        (0..10).map(row).collect()
    }
}

async fn ask(query: &str, values: usize, bytes: usize) -> GraphqlResponse {
    let schema = Schema::build(Query, EmptyMutation, EmptySubscription);
    let engine = Engine::new(schema, Scalars::none()).unwrap();
    let check = CostCheck {
        limits: ResponseLimits { values, bytes },
        ..CostCheck::free()
    };
    let request = GraphqlRequest::new(query);
    engine
        .execute_with(request, |_| check, |request| request)
        .await
}

fn sent(response: &GraphqlResponse) -> Value {
    serde_json::from_slice(&response.clone().json()).unwrap()
}

fn message(response: &GraphqlResponse) -> String {
    let sent = sent(response);
    assert_eq!(sent["errors"][0]["extensions"]["code"], "COST_EXCEEDED");
    assert_eq!(sent["data"], Value::Null);
    assert_eq!(sent["errors"].as_array().unwrap().len(), 1);
    sent["errors"][0]["message"].as_str().unwrap().to_owned()
}

/// Ten rows with two fields each, and in each row ten cells with one field.
const CELLS: &str = "{ rows { number cells { number } } }";

#[tokio::test]
async fn values_are_counted_with_their_fields() {
    let fits = ask(CELLS, 10 * 3 + 100 * 2, usize::MAX).await;
    assert_eq!(fits.errors, []);
    let exceeds = ask(CELLS, 10 * 3 + 100 * 2 - 1, usize::MAX).await;
    assert_eq!(
        message(&exceeds),
        "The answer has more than 229 values. Ask for smaller pages or fewer fields."
    );
}

#[tokio::test]
async fn only_the_fields_of_one_type_count() {
    let conditional = "{ rows { ... on Row { number } ... @skip(if: true) { cells { text } } } }";
    assert_eq!(ask(conditional, 20, usize::MAX).await.errors, []);
    assert_eq!(ask(conditional, 19, usize::MAX).await.errors.len(), 1);
}

/// Each response of a subscription has the whole limit.
#[tokio::test]
async fn events_are_limited_one_by_one() {
    let engine = Engine::new(Schema::build(Query, EmptyMutation, Events), Scalars::none()).unwrap();
    let request = GraphqlRequest::new("subscription { rows { number } }");
    let prepared = engine.prepare(request).unwrap();
    let limits = ResponseLimits {
        values: 4,
        ..ResponseLimits::NONE
    };
    let events = engine.subscribe(prepared, limits, EventGate::free(), |request| request);
    let events: Vec<GraphqlResponse> = events.collect().await;
    let failed: Vec<bool> = events
        .iter()
        .map(|event| !event.errors.is_empty())
        .collect();
    assert_eq!(failed, [false, false, true, false]);
    assert!(message(&events[2]).starts_with("The answer has more than 4 values."));
}

struct Events;

#[Subscription]
impl Events {
    async fn rows(&self) -> impl Stream<Item = List<Cell>> {
        let cell = |number| Cell {
            number,
            text: String::new().into(),
        };
        let list = move |length| (0..length).map(cell).collect();
        stream::iter([1, 2, 3, 2].map(list))
    }
}

#[tokio::test]
async fn long_texts_are_counted_before_the_response_is_written() {
    let texts = "{ rows { cells { text } } }";
    let exceeds = ask(texts, usize::MAX, 100 * 100 - 1).await;
    assert_eq!(exceeds.data, Some(async_graphql::Value::Null));
    assert!(message(&exceeds).starts_with("The answer is larger than 9999 bytes."));
}

#[tokio::test]
async fn the_response_is_written_up_to_its_limit() {
    let unlimited = ask(CELLS, usize::MAX, usize::MAX).await.json();
    let size = unlimited.len();
    let fits = ask(CELLS, usize::MAX, size).await.json();
    assert_eq!(fits, unlimited);
    let exceeds = ask(CELLS, usize::MAX, size - 1).await;
    assert!(
        message(&exceeds).starts_with(&format!("The answer is larger than {} bytes.", size - 1))
    );
}

#[tokio::test]
async fn extensions_survive_a_response_that_is_too_large() {
    let mut response = ask(CELLS, usize::MAX, 10).await;
    response.extensions.insert("cost".to_owned(), json!(7));
    assert_eq!(sent(&response)["extensions"], json!({ "cost": 7 }));
}
