//! What browsers, caches and the libraries of clients rely on.

use std::time::Duration;

use serde_json::json;

use super::{Answer, JSON, Server, query};
use crate::execution::{CostCheck, RateState, ResponseLimits};
use crate::http::{Capacity, RequestContext};

const OK: &str = "/graphql?query=%7Bok%7D";

#[tokio::test]
async fn all_responses_have_headers_for_browsers() {
    let server = Server::plain().await;
    for answer in [
        server.post(JSON, &query("{ ok }")).await,
        server.get(OK, "").await,
        server.get("/health/live", "").await,
        server.get("/nowhere", "").await,
    ] {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("deny"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert!(
            answer
                .header("cache-control")
                .is_none_or(|policy| policy != "public")
        );
    }
}

#[tokio::test]
async fn a_missing_token_says_which_scheme_is_expected() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|_| {
            let code = crate::execution::ErrorCode::Unauthenticated;
            Err(crate::execution::Failure::new(code, "Who are you?"))
        })
    })
    .await;
    let answer = server.post(JSON, &query("{ ok }")).await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("www-authenticate"), Some("bearer"));
}

#[tokio::test]
async fn only_queries_with_get_may_be_stored() {
    let server = Server::plain().await;
    for answer in [
        server.post(JSON, &query("{ ok }")).await,
        server.post(JSON, &query("mutation { change }")).await,
        server.get("/graphql?query=%7Bfails%7D", "").await,
        server.get("/graphql?query=%7Bnowhere%7D", "").await,
    ] {
        assert_eq!(
            answer.header("cache-control"),
            Some("no-store"),
            "{answer:?}"
        );
        assert_eq!(answer.header("etag"), None);
    }
    let answer = server.get(OK, "").await;
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert!(varies(&answer, "authorization") && varies(&answer, "accept"));
}

fn varies(answer: &Answer, header: &str) -> bool {
    let mut lines = answer.head.lines();
    lines.any(|line| {
        line.strip_prefix("vary: ")
            .is_some_and(|names| names.split(", ").any(|name| name == header))
    })
}

#[tokio::test]
async fn an_unchanged_answer_is_not_sent_again() {
    let server = Server::plain().await;
    let first = server.get(OK, "").await;
    let tag = first.header("etag").unwrap().to_owned();
    // The parser of the tests makes headers lower case.
    let (kind, hash) = tag.split_once('/').unwrap();
    assert_eq!(kind, "w");
    assert!(hash.len() > 16);
    let again = server.get(OK, "If-None-Match: *\r\n").await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    assert_eq!(again.header("content-type"), None);
    let other = server
        .get(OK, "If-None-Match: W/\"other\", \"x\"\r\n")
        .await;
    assert_eq!(other.status, 200);
    let different = server.get("/graphql?query=%7Bb:ok%7D", "").await;
    assert_ne!(different.header("etag"), Some(tag.as_str()));
}

/// The answer to a caller with a token may be kept by that caller only.
#[tokio::test]
async fn answers_to_callers_with_tokens_are_private() {
    let max_age = Duration::from_secs(30);
    let server = Server::start(Capacity::default(), |api| api.cache_max_age(max_age)).await;
    let anonymous = server.get(OK, "").await;
    assert_eq!(
        anonymous.header("cache-control"),
        Some("public, max-age=30")
    );
    let known = server.get(OK, "Authorization: Bearer x\r\n").await;
    assert_eq!(known.header("cache-control"), Some("private, no-cache"));
}

/// What one caller has left of its budget is nothing to keep for others.
#[tokio::test]
async fn an_answer_for_all_has_no_budget_in_it() {
    let start = async |max_age: Duration| {
        Server::start(Capacity::default(), |api| {
            api.cache_max_age(max_age).authenticate(|_| {
                let cost = json!({ "requested": 3, "limit": 9, "left": 7 });
                Ok(RequestContext::new().cost_check(move |_| CostCheck {
                    extensions: [("cost".to_owned(), cost.clone())].into_iter().collect(),
                    rate: Some(RateState {
                        limit: 9,
                        left: 7,
                        full_in: Duration::ZERO,
                    }),
                    ..CostCheck::free()
                }))
            })
        })
        .await
    };
    let revalidated = start(Duration::ZERO).await.get(OK, "").await;
    assert!(revalidated.header("ratelimit").is_some());
    assert_eq!(revalidated.json()["extensions"]["cost"]["left"], 7);
    let kept = start(Duration::from_secs(1)).await.get(OK, "").await;
    assert!(kept.header("ratelimit").is_none());
    assert_eq!(
        kept.json()["extensions"]["cost"],
        json!({ "requested": 3, "limit": 9 })
    );
}

/// The size of an answer is known when it is serialised, which is late.
#[tokio::test]
async fn an_answer_that_is_too_large_is_not_kept() {
    let server = Server::start(Capacity::default(), |api| {
        let limits = ResponseLimits {
            bytes: 4,
            ..ResponseLimits::NONE
        };
        api.cache_max_age(Duration::from_secs(30))
            .authenticate(move |_| {
                Ok(RequestContext::new().cost_check(move |_| CostCheck {
                    limits,
                    ..CostCheck::free()
                }))
            })
    })
    .await;
    let answer = server.get(OK, "").await;
    assert_eq!(answer.code(), "COST_EXCEEDED");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("etag"), None);
}

#[tokio::test]
async fn equal_data_has_equal_tags_whatever_the_budget() {
    let start = async |left: u64| {
        Server::start(Capacity::default(), |api| {
            api.authenticate(move |_| {
                Ok(RequestContext::new().cost_check(move |_| CostCheck {
                    extensions: [("cost".to_owned(), json!({ "left": left }))]
                        .into_iter()
                        .collect(),
                    ..CostCheck::free()
                }))
            })
        })
        .await
        .get(OK, "")
        .await
    };
    let (one, other) = (start(1).await, start(2).await);
    assert_ne!(one.body, other.body);
    assert_eq!(one.header("etag"), other.header("etag"));
}

#[tokio::test]
async fn large_answers_are_compressed_as_the_client_wants() {
    let server = Server::plain().await;
    let head = format!("{JSON}Accept-Encoding: gzip\r\n");
    let small = server.post(&head, &query("{ ok }")).await;
    assert_eq!(small.header("content-encoding"), None);
    let schema =
        query("{ __schema { types { name description fields { name type { name kind } } } } }");
    let plain = server.post(JSON, &schema).await;
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.body.len() > 2_048, "{}", plain.body.len());
    for coding in ["gzip", "zstd"] {
        let head = format!("{JSON}Accept-Encoding: {coding}\r\n");
        let (answer, length) = server.ask_bytes(&head, &schema).await;
        assert_eq!(answer.header("content-encoding"), Some(coding));
        assert!(varies(&answer, "accept-encoding"));
        assert!(length < plain.body.len() / 2, "{coding}: {length}");
    }
}

/// It takes the least time, and is smaller than what takes more.
#[tokio::test]
async fn of_the_codings_of_a_browser_zstd_is_chosen() {
    let server = Server::plain().await;
    let schema = query("{ __schema { types { name description fields { name description } } } }");
    for (accepted, chosen) in [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate, br", "gzip"),
        ("zstd;q=0.1, gzip", "gzip"),
    ] {
        let head = format!("{JSON}Accept-Encoding: {accepted}\r\n");
        let (answer, _) = server.ask_bytes(&head, &schema).await;
        assert_eq!(answer.header("content-encoding"), Some(chosen));
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused_with_the_reason() {
    let server = Server::plain().await;
    let head = format!("{JSON}Content-Encoding: gzip\r\n");
    let answer = server.post(&head, "\u{1f}nonsense").await;
    assert_eq!(answer.status, 415);
    let head = format!("{JSON}Content-Encoding: identity\r\n");
    assert_eq!(server.post(&head, &query("{ ok }")).await.status, 200);
}

#[tokio::test]
async fn a_byte_order_mark_is_ignored() {
    let server = Server::plain().await;
    let body = format!("\u{feff}{}", query("\u{feff}{ ok }"));
    assert_eq!(server.post(JSON, &body).await.body, r#"{"data":{"ok":1}}"#);
}

#[tokio::test]
async fn an_empty_operation_name_is_none() {
    let server = Server::plain().await;
    let body = json!({ "query": "query a { ok }", "operationName": "" }).to_string();
    assert_eq!(server.post(JSON, &body).await.body, r#"{"data":{"ok":1}}"#);
}
