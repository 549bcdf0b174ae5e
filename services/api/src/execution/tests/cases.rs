//! Asks an engine and looks at the answer.

use serde_json::{Value, json};

use crate::execution::{Engine, GraphqlRequest, GraphqlResponse};

/// The answer as the client reads it.
pub(super) async fn ask(engine: &Engine, query: &str) -> Value {
    told(
        &engine
            .execute(GraphqlRequest::new(query), |request| request)
            .await,
    )
}

/// The same with variables.
pub(super) async fn ask_with(engine: &Engine, query: &str, variables: Value) -> Value {
    let mut request = GraphqlRequest::new(query);
    request.variables = variables
        .as_object()
        .expect("variables are an object")
        .clone();
    told(&engine.execute(request, |request| request).await)
}

/// The text as it travels: object equality would not see the order of keys.
pub(super) fn text(response: &GraphqlResponse) -> String {
    serde_json::to_string(response).expect("answers can be written")
}

/// The answer as a value.
pub(super) fn told(response: &GraphqlResponse) -> Value {
    serde_json::from_str(&text(response)).expect("answers are JSON")
}

/// The code of the first error.
pub(super) fn code(answer: &Value) -> &str {
    answer["errors"][0]["extensions"]["code"]
        .as_str()
        .unwrap_or("none")
}

/// Asserts that there are no errors and this data, keys in this order.
#[track_caller]
pub(super) fn assert_data(answer: &Value, data: &Value) {
    assert_eq!(answer.to_string(), json!({ "data": data }).to_string());
}

/// The paths of all errors, sorted.
pub(super) fn paths(answer: &Value) -> Vec<String> {
    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
    let mut paths: Vec<_> = errors
        .iter()
        .map(|error| error["path"].to_string())
        .collect();
    paths.sort();
    paths
}

/// A fault in code that returns anything.
pub(super) fn boom<T>(text: &str) -> T {
    panic!("{text}")
}
