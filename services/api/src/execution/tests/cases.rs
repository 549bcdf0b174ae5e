//! Helpers that execute a query and check the response.

use serde_json::{Value, json};

use crate::execution::{Engine, GraphqlRequest, GraphqlResponse};

/// Executes a query and returns the response as JSON.
pub(super) async fn ask(engine: &Engine, query: &str) -> Value {
    json_of(
        &engine
            .execute(GraphqlRequest::new(query), |request| request)
            .await,
    )
}

/// Executes a query with variables.
pub(super) async fn ask_with(engine: &Engine, query: &str, variables: Value) -> Value {
    let mut request = GraphqlRequest::new(query);
    request.variables = variables
        .as_object()
        .expect("variables are an object")
        .clone();
    json_of(&engine.execute(request, |request| request).await)
}

/// Returns the response as text: comparing objects would ignore the order of keys.
pub(super) fn text(response: &GraphqlResponse) -> String {
    String::from_utf8(response.clone().json()).expect("JSON is UTF-8")
}

/// Returns the response as a JSON value.
pub(super) fn json_of(response: &GraphqlResponse) -> Value {
    serde_json::from_str(&text(response)).expect("responses are JSON")
}

/// Returns the code of the first error.
pub(super) fn code(answer: &Value) -> &str {
    answer["errors"][0]["extensions"]["code"]
        .as_str()
        .unwrap_or("none")
}

/// Asserts that there are no errors and exactly this data, with keys in this order.
#[track_caller]
pub(super) fn assert_data(answer: &Value, data: &Value) {
    assert_eq!(answer.to_string(), json!({ "data": data }).to_string());
}

/// Returns the paths of all errors, sorted.
pub(super) fn paths(answer: &Value) -> Vec<String> {
    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
    let mut paths: Vec<_> = errors
        .iter()
        .map(|error| error["path"].to_string())
        .collect();
    paths.sort();
    paths
}

/// Panics, with any return type.
pub(super) fn boom<T>(text: &str) -> T {
    panic!("{text}")
}
