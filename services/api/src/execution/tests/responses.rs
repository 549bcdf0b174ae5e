//! Section 7, Response, and section 6.1: requests, operations, introspection.

use async_graphql::PathSegment;
use futures_util::StreamExt;
use serde_json::json;

use super::{
    cases::{ask, assert_data, code, json_of, text},
    failing_schema, vehicle_schema,
};
use crate::execution::{CostCheck, EventGate, Failure, GraphqlRequest, ResponseLimits};

#[tokio::test]
async fn request_errors_have_no_data() {
    let engine = vehicle_schema::engine();
    for (query, expected) in [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ nowhere }", "GRAPHQL_VALIDATION_FAILED"),
        (
            "query ($x: Int!) { arguments { int(number: $x) } }",
            "BAD_USER_INPUT",
        ),
        ("", "GRAPHQL_PARSE_FAILED"),
        ("fragment f on Car { name }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { ticks }", "BAD_USER_INPUT"),
    ] {
        let answer = ask(&engine, query).await;
        assert_eq!(code(&answer), expected, "{query}: {answer}");
        assert_eq!(answer["errors"][0]["extensions"]["retryable"], json!(false));
        assert!(!answer.as_object().unwrap().contains_key("data"), "{query}");
    }
}

#[tokio::test]
async fn errors_come_before_data() {
    let request = GraphqlRequest::new("{ soft }");
    let response = failing_schema::engine()
        .execute(request, |request| request)
        .await;
    let text = text(&response);
    assert!(text.starts_with("{\"errors\":["), "{text}");
    assert!(text.ends_with("\"data\":{\"soft\":null}}"), "{text}");
    assert_eq!(
        response.errors[0].path,
        [PathSegment::Field("soft".to_owned())]
    );
}

#[tokio::test]
async fn a_response_without_errors_has_no_errors_key() {
    let answer = ask(&vehicle_schema::engine(), "{ car { name } }").await;
    assert_eq!(answer.to_string(), r#"{"data":{"car":{"name":"Beetle"}}}"#);
}

/// `GetOperation`.
#[tokio::test]
async fn operations_are_selected_by_name() {
    let engine = vehicle_schema::engine();
    let two = "query a { car { name } } query b { car { doors } }";
    let selected = async |query: &str, name: &str| {
        let request = GraphqlRequest::new(query).operation(name);
        json_of(&engine.execute(request, |request| request).await)
    };
    assert_data(&selected(two, "b").await, &json!({ "car": { "doors": 3 } }));
    assert_data(
        &selected(two, "a").await,
        &json!({ "car": { "name": "Beetle" } }),
    );
    assert_eq!(code(&selected(two, "c").await), "BAD_USER_INPUT");
    assert_eq!(code(&ask(&engine, two).await), "BAD_USER_INPUT");
    assert_data(
        &ask(&engine, "query a { car { doors } }").await,
        &json!({ "car": { "doors": 3 } }),
    );
    assert_eq!(
        code(&selected("{ car { doors } }", "a").await),
        "BAD_USER_INPUT"
    );
    assert_eq!(
        code(&selected("{ car { doors } }", "").await),
        "BAD_USER_INPUT"
    );
}

#[tokio::test]
async fn types_can_be_introspected() {
    let engine = vehicle_schema::engine();
    let query = "{ __type(name: \"Vehicle\") { name kind possibleTypes { name } fields { name type { kind ofType { name } } } } __typename }";
    let answer = ask(&engine, query).await;
    assert_data(
        &answer,
        &json!({
            "__type": {
                "name": "Vehicle",
                "kind": "INTERFACE",
                "possibleTypes": [{ "name": "Boat" }, { "name": "Car" }],
                "fields": [
                    { "name": "name", "type": { "kind": "NON_NULL", "ofType": { "name": "String" } } },
                    { "name": "nickname", "type": { "kind": "SCALAR", "ofType": null } },
                    { "name": "owner", "type": { "kind": "OBJECT", "ofType": null } },
                    { "name": "seen", "type": { "kind": "NON_NULL", "ofType": { "name": "Int" } } },
                ],
            },
            "__typename": "Query",
        }),
    );
}

#[tokio::test]
async fn introspection_can_be_hidden() {
    let engine = vehicle_schema::engine();
    for query in [
        "{ __schema { queryType { name } } }",
        "{ ...f } fragment f on Query { x: __type(name: \"Car\") { name } }",
    ] {
        let request = GraphqlRequest::new(query).hide_schema();
        let answer = json_of(&engine.execute(request, |request| request).await);
        assert_eq!(code(&answer), "FORBIDDEN");
        assert!(answer.get("data").is_none());
    }
    let request = GraphqlRequest::new("{ __typename }").hide_schema();
    let answer = json_of(&engine.execute(request, |request| request).await);
    assert_data(&answer, &json!({ "__typename": "Query" }));
}

/// A cost check sees the request before it runs, may refuse it, and can add extensions to the
/// response.
#[tokio::test]
async fn the_cost_is_checked_before_execution() {
    let engine = vehicle_schema::engine();
    let cost_check = |free: bool| {
        move |prepared: &crate::execution::Prepared| CostCheck {
            extensions: [(
                "fields".to_owned(),
                json!(prepared.operation().selection_set.selections.len()),
            )]
            .into_iter()
            .collect(),
            outcome: if free {
                Ok(())
            } else {
                Err(Failure::bad_input("Too expensive."))
            },
            ..CostCheck::free()
        }
    };
    let refused = engine
        .execute_with(
            GraphqlRequest::new("mutation { inc x: inc }"),
            cost_check(false),
            |request| request,
        )
        .await;
    let answer = json_of(&refused);
    assert_eq!(answer["extensions"], json!({ "fields": 2 }));
    assert!(answer.get("data").is_none());
    let allowed = engine
        .execute_with(
            GraphqlRequest::new("mutation { inc }"),
            cost_check(true),
            |request| request,
        )
        .await;
    assert_eq!(
        text(&allowed),
        r#"{"data":{"inc":1},"extensions":{"fields":1}}"#
    );
}

/// Section 6.2.3: one response per event, including errors.
#[tokio::test]
async fn a_subscription_has_one_response_per_event() {
    let engine = vehicle_schema::engine();
    let query = "subscription { ...f ...f } fragment f on Updates { cars { name ... on Vehicle { name nickname } } }";
    let prepared = engine.prepare(GraphqlRequest::new(query)).unwrap();
    assert!(prepared.kind().is_subscription());
    let events: Vec<_> = engine
        .subscribe(
            prepared,
            ResponseLimits::NONE,
            EventGate::free(),
            |request| request,
        )
        .collect()
        .await;
    let events: Vec<_> = events.iter().map(text).collect();
    assert_eq!(
        events,
        [r#"{"data":{"cars":{"name":"Beetle","nickname":null}}}"#]
    );
}

#[test]
fn duplicate_keys_in_variables_are_refused() {
    let read = serde_json::from_str::<GraphqlRequest>;
    assert!(read(r#"{"query":"{ a }","variables":{"a":1,"b":{"c":1}}}"#).is_ok());
    assert!(read(r#"{"query":"{ a }","variables":null,"extensions":null}"#).is_ok());
    assert!(read(r#"{"query":"{ a }","variables":{"a":1,"a":2}}"#).is_err());
    assert!(read(r#"{"query":"{ a }","variables":{"a":[{"c":1,"c":1}]}}"#).is_err());
    assert!(read(r#"{"query":"{ a }","variables":[]}"#).is_err());
    assert!(read(r#"{"query":"{ a }","variables":{"a":1e400}}"#).is_err());
    assert!(read(r#"{"query":"{ a }","variables":{"a":NaN}}"#).is_err());
}
