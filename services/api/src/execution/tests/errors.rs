//! Section 6.4.4, Handling Execution Errors.

use serde_json::{Value, json};

use super::{
    cases::{ask, code, paths},
    failing_schema,
};

/// Returns the data under `knot` and the paths of the errors for a selection on it.
async fn knot(selection: &str) -> (Value, Vec<String>) {
    let answer = ask(
        &failing_schema::engine(),
        &format!("{{ knot {{ {selection} }} }}"),
    )
    .await;
    (answer["data"]["knot"].clone(), paths(&answer))
}

async fn check(selection: &str, data: Value, errors: &[&str]) {
    let (actual, actual_errors) = knot(selection).await;
    assert_eq!(actual.to_string(), data.to_string(), "{selection}");
    assert_eq!(actual_errors, errors, "{selection}");
}

#[tokio::test]
async fn an_error_nulls_only_its_nullable_field() {
    check(
        "ok soft last: ok",
        json!({ "ok": 1, "soft": null, "last": 1 }),
        &[r#"["knot","soft"]"#],
    )
    .await;
    check(
        "ok softNow",
        json!({ "ok": 1, "softNow": null }),
        &[r#"["knot","softNow"]"#],
    )
    .await;
    check("ok absent", json!({ "ok": 1, "absent": null }), &[]).await;
}

#[tokio::test]
async fn an_error_of_a_non_null_field_nulls_the_parent() {
    check("ok hard", json!(null), &[r#"["knot","hard"]"#]).await;
    check("ok hardNow", json!(null), &[r#"["knot","hardNow"]"#]).await;
    check(
        "ok knot { ok hard }",
        json!({ "ok": 1, "knot": null }),
        &[r#"["knot","knot","hard"]"#],
    )
    .await;
}

#[tokio::test]
async fn nulls_propagate_to_the_nearest_nullable_field() {
    check(
        "ok must { must { hard } }",
        json!(null),
        &[r#"["knot","must","must","hard"]"#],
    )
    .await;
    check(
        "ok knot { must { must { hard } } }",
        json!({ "ok": 1, "knot": null }),
        &[r#"["knot","knot","must","must","hard"]"#],
    )
    .await;
}

#[tokio::test]
async fn nulls_propagate_to_the_root() {
    let answer = ask(&failing_schema::engine(), "{ ok must { must { hard } } }").await;
    assert_eq!(answer["data"], json!(null));
    assert!(answer.as_object().unwrap().contains_key("data"));
    assert_eq!(paths(&answer), [r#"["must","must","hard"]"#]);
    let answer = ask(&failing_schema::engine(), "{ ok hard }").await;
    assert_eq!(answer["data"], json!(null));
    assert_eq!(paths(&answer), [r#"["hard"]"#]);
    let answer = ask(&failing_schema::engine(), "{ soft ok }").await;
    assert_eq!(answer["data"].to_string(), r#"{"soft":null,"ok":0}"#);
}

/// All four nullabilities of a list of objects.
#[tokio::test]
async fn nulls_propagate_in_lists_of_objects() {
    check(
        "softList { ok hard }",
        json!({ "softList": [null, null, null] }),
        &[
            r#"["knot","softList",0,"hard"]"#,
            r#"["knot","softList",2,"hard"]"#,
        ],
    )
    .await;
    let (data, errors) = knot("hardItems { ok hard }").await;
    assert_eq!(data, json!({ "hardItems": null }));
    assert_eq!(errors, [r#"["knot","hardItems",0,"hard"]"#]);
    check(
        "hardList { hard }",
        json!({ "hardList": [null, null] }),
        &[
            r#"["knot","hardList",0,"hard"]"#,
            r#"["knot","hardList",1,"hard"]"#,
        ],
    )
    .await;
    check(
        "ok allHard { hard }",
        json!(null),
        &[r#"["knot","allHard",0,"hard"]"#],
    )
    .await;
    check(
        "allHard { ok soft }",
        json!({ "allHard": [{ "ok": 1, "soft": null }, { "ok": 1, "soft": null }] }),
        &[
            r#"["knot","allHard",0,"soft"]"#,
            r#"["knot","allHard",1,"soft"]"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn nulls_propagate_in_lists_of_lists() {
    check(
        "grid { soft }",
        json!({ "grid": [[{ "soft": null }], [{ "soft": null }, { "soft": null }]] }),
        &[
            r#"["knot","grid",0,0,"soft"]"#,
            r#"["knot","grid",1,0,"soft"]"#,
            r#"["knot","grid",1,1,"soft"]"#,
        ],
    )
    .await;
    check(
        "ok grid { hard }",
        json!({ "ok": 1, "grid": null }),
        &[r#"["knot","grid",0,0,"hard"]"#],
    )
    .await;
}

#[tokio::test]
async fn nulls_propagate_in_lists_of_values() {
    check(
        "softInts",
        json!({ "softInts": [1, null, null] }),
        &[r#"["knot","softInts",1]"#],
    )
    .await;
    check(
        "ok hardInts",
        json!({ "ok": 1, "hardInts": null }),
        &[r#"["knot","hardInts",1]"#],
    )
    .await;
    check(
        "ok noInts",
        json!({ "ok": 1, "noInts": null }),
        &[r#"["knot","noInts"]"#],
    )
    .await;
}

/// The cases in which the library truncates paths: plain objects, items of lists, interfaces,
/// unions, aliases.
#[tokio::test]
async fn paths_are_complete() {
    check(
        "plain { label knot { soft } }",
        json!({ "plain": { "label": "plain", "knot": { "soft": null } } }),
        &[r#"["knot","plain","knot","soft"]"#],
    )
    .await;
    check(
        "ok plain { knot { hard } }",
        json!({ "ok": 1, "plain": null }),
        &[r#"["knot","plain","knot","hard"]"#],
    )
    .await;
    check(
        "ok plain { knots { must { hard } } }",
        json!({ "ok": 1, "plain": null }),
        &[r#"["knot","plain","knots",0,"must","hard"]"#],
    )
    .await;
    check(
        "thing { ok soft } things { soft }",
        json!({ "thing": { "ok": 1, "soft": null }, "things": [{ "soft": null }, { "soft": null }] }),
        &[
            r#"["knot","thing","soft"]"#,
            r#"["knot","things",0,"soft"]"#,
            r#"["knot","things",1,"soft"]"#,
        ],
    )
    .await;
    check(
        "thing { hard } ok",
        json!({ "thing": null, "ok": 1 }),
        &[r#"["knot","thing","hard"]"#],
    )
    .await;
    check(
        "things { hard ... on Knot { h: hard } } ok",
        json!({ "things": null, "ok": 1 }),
        &[r#"["knot","things",1,"hard"]"#],
    )
    .await;
    check(
        "union { ... on Thing { a: soft } } unions { ... on Knot { b: hard } }",
        json!({ "union": { "a": null }, "unions": [{}, null] }),
        &[r#"["knot","union","a"]"#, r#"["knot","unions",1,"b"]"#],
    )
    .await;
}

/// A field that is selected several times reports one error.
#[tokio::test]
async fn each_field_reports_one_error() {
    check(
        "soft soft ...on Knot { soft }",
        json!({ "soft": null }),
        &[r#"["knot","soft"]"#],
    )
    .await;
    check(
        "softList { ok hard } softList { hard ok }",
        json!({ "softList": [null, null, null] }),
        &[
            r#"["knot","softList",0,"hard"]"#,
            r#"["knot","softList",2,"hard"]"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn a_resolver_that_reports_twice_has_one_error() {
    check("twice", json!({ "twice": null }), &[r#"["knot","twice"]"#]).await;
}

/// The same key in fragments of different parents, one of which fails.
#[tokio::test]
async fn merged_selections_fail_together() {
    check(
        "knot { ok } ... on Knot { knot { hard } } knot { last: ok }",
        json!({ "knot": null }),
        &[r#"["knot","knot","hard"]"#],
    )
    .await;
    check(
        "knot { ok } ... on Knot { knot { soft } } knot { last: ok }",
        json!({ "knot": { "ok": 1, "soft": null, "last": 1 } }),
        &[r#"["knot","knot","soft"]"#],
    )
    .await;
}

#[tokio::test]
async fn errors_have_location_code_and_retry_advice() {
    let answer = ask(
        &failing_schema::engine(),
        "{\n  knot {\n    x: soft\n    wait\n  }\n}",
    )
    .await;
    let errors = answer["errors"].as_array().unwrap();
    let soft = errors.iter().find(|error| error["path"][1] == "x").unwrap();
    assert_eq!(
        *soft,
        json!({
            "message": "It is broken.",
            "locations": [{ "line": 3, "column": 5 }],
            "path": ["knot", "x"],
            "extensions": { "code": "NOT_FOUND", "retryable": false },
        })
    );
    let wait = errors
        .iter()
        .find(|error| error["path"][1] == "wait")
        .unwrap();
    assert_eq!(
        wait["extensions"],
        json!({ "code": "RATE_LIMITED", "retryable": true, "retryAfter": 2 })
    );
}

#[tokio::test]
async fn causes_are_not_sent_to_clients() {
    let request =
        crate::execution::GraphqlRequest::new("{ knot { secret foreign } }").request_id("id-1");
    let response = failing_schema::engine()
        .execute(request, |request| request)
        .await;
    let text = super::cases::text(&response);
    assert!(!text.contains(failing_schema::SECRET), "{text}");
    let answer = super::cases::json_of(&response);
    assert_eq!(
        answer["data"]["knot"],
        json!({ "secret": null, "foreign": null })
    );
    for error in answer["errors"].as_array().unwrap() {
        assert_eq!(
            error["extensions"],
            json!({ "code": "INTERNAL", "retryable": false, "requestId": "id-1" })
        );
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error() {
    let answer = ask(&failing_schema::engine(), "{ knot { ok panics } }").await;
    assert_eq!(code(&answer), "INTERNAL");
    assert_eq!(answer["data"], json!(null));
    assert!(!answer.to_string().contains(failing_schema::SECRET));
}
