//! Status codes, media types, bodies, methods and headers.

use std::time::Duration;

use axum::http::HeaderValue;
use serde_json::json;

use super::{JSON, STRICT, Server, query};
use crate::{
    execution::{CostCheck, ErrorCode, Failure, RateState},
    http::{Capacity, RequestContext, bearer, client_address},
};

#[tokio::test]
async fn a_query_is_answered() {
    let server = Server::plain().await;
    let answer = server.post(JSON, &query("{ b: ok a: ok }")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, r#"{"data":{"b":1,"a":1}}"#);
    assert_eq!(
        answer.header("content-type"),
        Some("application/json; charset=utf-8")
    );
    let answer = server.post(STRICT, &query("{ ok }")).await;
    assert_eq!(answer.status, 200);
    let strict = Some("application/graphql-response+json; charset=utf-8");
    assert_eq!(answer.header("content-type"), strict);
}

#[tokio::test]
async fn the_status_of_request_errors_depends_on_the_media_type() {
    let server = Server::plain().await;
    for text in ["{", "{ nowhere }", "query ($x: Int!) { ok @skip(if: $x) }"] {
        let lenient = server.post(JSON, &query(text)).await;
        assert_eq!(lenient.status, 200);
        let strict = server.post(STRICT, &query(text)).await;
        assert_eq!(strict.status, 400);
        assert_eq!(strict.body, lenient.body);
        assert!(strict.json().get("data").is_none());
    }
    let failed = server.post(STRICT, &query("{ fails }")).await;
    assert_eq!(failed.status, 200, "execution had started: {failed:?}");
    assert_eq!(failed.json()["data"], json!(null));
    assert_eq!(
        failed.json()["errors"][0]["extensions"]["requestId"],
        failed.header("x-request-id").unwrap()
    );
    assert!(!failed.body.contains("secret"));
}

#[tokio::test]
async fn http_errors_have_the_shape_of_graphql_errors() {
    let server = Server::plain().await;
    let large = format!("{{\"query\":\"{}\"}}", "x".repeat(256 * 1024));
    for (headers, body, status) in [
        ("", query("{ ok }"), 415),
        ("Content-Type: text/plain\r\n", query("{ ok }"), 415),
        (
            "Content-Type: multipart/form-data\r\n",
            query("{ ok }"),
            415,
        ),
        (
            "Content-Type: application/json\r\nAccept: text/plain\r\n",
            query("{ ok }"),
            406,
        ),
        (JSON, String::new(), 400),
        (JSON, "{".to_owned(), 400),
        (JSON, "nonsense".to_owned(), 400),
        (JSON, "{}".to_owned(), 400),
        (JSON, "{\"query\":1}".to_owned(), 400),
        (JSON, "\"{ ok }\"".to_owned(), 400),
        (
            JSON,
            "{\"query\":\"{ ok }\",\"variables\":[]}".to_owned(),
            400,
        ),
        (
            JSON,
            "{\"query\":\"{ ok }\",\"variables\":{\"a\":1,\"a\":2}}".to_owned(),
            400,
        ),
        (
            JSON,
            format!(
                "{{\"query\":\"{{ ok }}\",\"variables\":{{\"a\":{}}}}}",
                "[".repeat(10_000)
            ),
            400,
        ),
        (JSON, large, 413),
    ] {
        let answer = server.post(headers, &body).await;
        let shown: String = body.chars().take(50).collect();
        assert_eq!(answer.status, status, "{shown}");
        assert_eq!(answer.code(), "BAD_USER_INPUT", "{shown}");
        assert_eq!(
            answer.json()["errors"][0]["extensions"]["retryable"],
            json!(false)
        );
    }
}

#[tokio::test]
async fn batches_are_refused() {
    let server = Server::plain().await;
    let answer = server.post(JSON, &format!(" [{}]", query("{ ok }"))).await;
    assert_eq!(answer.status, 400);
    let message = answer.json()["errors"][0]["message"].clone();
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("Batches are not supported")
    );
}

/// A body without a declared length is cut off when it exceeds the limit.
#[tokio::test]
async fn a_body_of_unknown_length_is_limited() {
    let server = Server::plain().await;
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, "x".repeat(65_536));
    let request = format!(
        "POST /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n{JSON}\r\n{}0\r\n\r\n",
        chunk.repeat(5)
    );
    let answer = server.ask(&request).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn get_allows_queries_and_refuses_mutations() {
    let server = Server::plain().await;
    let answer = server
        .get(
            "/graphql?query=query($s:Boolean!){ok+@skip(if:$s)}&variables=%7B%22s%22:false%7D",
            "",
        )
        .await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, r#"{"data":{"ok":1}}"#)
    );
    let answer = server.get("/graphql?query=mutation%7Bchange%7D", "").await;
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), Some("post"));
    let answer = server.get("/graphql", "").await;
    assert_eq!(answer.status, 400);
    let answer = server.get("/graphql?query=%zz", "").await;
    assert_eq!(answer.status, 400);
    let answer = server.post(JSON, &query("mutation { change }")).await;
    assert_eq!(answer.body, r#"{"data":{"change":2}}"#);
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_in_json() {
    let server = Server::plain().await;
    let answer = server
        .ask("DELETE /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (405, "BAD_USER_INPUT")
    );
    let answer = server.get("/nowhere", "").await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (404, "BAD_USER_INPUT")
    );
}

#[tokio::test]
async fn browsers_are_sent_to_the_playground_if_there_is_one() {
    let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    let server = Server::plain().await;
    assert_eq!(server.get("/graphql", browser).await.status, 400);
    let server = Server::start(Capacity::default(), |api| api.playground(Some("/try"))).await;
    let page = server.get("/graphql", browser).await;
    assert_eq!(page.status, 303);
    assert_eq!(page.header("location"), Some("/try"));
    assert_eq!(server.get("/graphql", "").await.status, 400);
}

#[tokio::test]
async fn request_ids_are_kept_or_generated() {
    let server = Server::plain().await;
    let sent = server.get("/health/live", "X-Request-Id: abc-1\r\n").await;
    assert_eq!(sent.header("x-request-id"), Some("abc-1"));
    let made = server.get("/health/live", "X-Request-Id: a b\r\n").await;
    assert_eq!(made.header("x-request-id").unwrap().len(), 32);
}

#[tokio::test]
async fn callers_are_authenticated_and_get_a_context() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|headers| {
            let token = bearer(headers)?.map(str::to_owned);
            if token.as_deref() == Some("spent") {
                let failure = Failure::new(ErrorCode::RateLimited, "Slow down.");
                return Err(failure.retry_after(std::time::Duration::from_secs(7)));
            }
            let cost_check = |_: &_| CostCheck {
                extensions: [("cost".to_owned(), json!(3))].into_iter().collect(),
                ..CostCheck::free()
            };
            Ok(RequestContext::new()
                .with_context(|request| request.data(token))
                .cost_check(cost_check)
                .hide_schema())
        })
    })
    .await;
    let ask = async |header: &str, text: &str| {
        server.post(&format!("{JSON}{header}"), &query(text)).await
    };
    let known = ask("Authorization: Bearer abc\r\n", "{ token }").await;
    assert_eq!(
        known.body,
        r#"{"data":{"token":"abc"},"extensions":{"cost":3}}"#
    );
    let anonymous = ask("", "{ token }").await;
    assert_eq!(anonymous.json()["data"], json!({ "token": null }));
    let garbled = ask("Authorization: Basic abc\r\n", "{ token }").await;
    assert_eq!(
        (garbled.status, garbled.code().as_str()),
        (401, "UNAUTHENTICATED")
    );
    let spent = ask("Authorization: Bearer spent\r\n", "{ token }").await;
    assert_eq!((spent.status, spent.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(spent.header("retry-after"), Some("7"));
    let curious = ask("", "{ __schema { queryType { name } } }").await;
    assert_eq!(curious.code(), "FORBIDDEN");
}

#[tokio::test]
async fn headers_show_the_budget_of_the_caller() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|headers| {
            let refuse = bearer(headers)?.is_some();
            let outcome = move || {
                if !refuse {
                    return Ok(());
                }
                let failure = Failure::new(ErrorCode::RateLimited, "Slow down.");
                Err(failure.retry_after(Duration::from_millis(1_500)))
            };
            let rate = RateState {
                limit: 50_000,
                left: 120,
                full_in: Duration::from_millis(9_001),
            };
            Ok(RequestContext::new().cost_check(move |_| CostCheck {
                outcome: outcome(),
                rate: Some(rate),
                ..CostCheck::free()
            }))
        })
    })
    .await;
    let served = server.post(JSON, &query("{ token }")).await;
    assert_eq!(served.header("ratelimit"), Some("\"cost\";r=120;t=10"));
    assert_eq!(served.header("ratelimit-policy"), Some("\"cost\";q=50000"));
    assert_eq!(served.header("retry-after"), None);
    let refused = server
        .post(
            &format!("{JSON}Authorization: Bearer a\r\n"),
            &query("{ token }"),
        )
        .await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("2"))
    );
    assert_eq!(refused.header("ratelimit"), Some("\"cost\";r=120;t=10"));
}

#[tokio::test]
async fn clients_are_known_by_their_address() {
    let proxies = ["127.0.0.0/8".parse().unwrap()];
    let server = Server::start(Capacity::default(), |api| {
        api.trusted_proxies(proxies).authenticate(|headers| {
            let address = client_address(headers).map(|address| Some(address.to_string()));
            Ok(RequestContext::new().with_context(|request| request.data(address.flatten())))
        })
    })
    .await;
    let ask = async |headers: &str| {
        let answer = server
            .post(&format!("{JSON}{headers}"), &query("{ token }"))
            .await;
        answer.json()["data"]["token"].as_str().map(str::to_owned)
    };
    assert_eq!(ask("").await.as_deref(), Some("127.0.0.1"));
    let forwarded = "X-Forwarded-For: 198.51.100.9, 192.0.2.7\r\n";
    assert_eq!(ask(forwarded).await.as_deref(), Some("192.0.2.7"));
    let forged = "X-Vitrine-Client-Address: 192.0.2.7\r\n";
    assert_eq!(ask(forged).await.as_deref(), Some("127.0.0.1"));
}

#[tokio::test]
async fn a_panic_during_authentication_is_an_internal_error() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|headers| {
            Err(Failure::bad_input(
                headers["missing"].to_str().unwrap().to_owned(),
            ))
        })
    })
    .await;
    let answer = server.post(JSON, &query("{ ok }")).await;
    assert_eq!((answer.status, answer.code().as_str()), (500, "INTERNAL"));
    let id = answer.header("x-request-id").unwrap();
    assert_eq!(answer.json()["errors"][0]["extensions"]["requestId"], id);
}

#[tokio::test]
async fn only_listed_origins_are_allowed() {
    let preflight = "OPTIONS /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nOrigin: https://shop.example\r\n\
        Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n";
    let server = Server::plain().await;
    assert_eq!(
        server
            .ask(preflight)
            .await
            .header("access-control-allow-origin"),
        None
    );
    let shop = HeaderValue::from_static("https://shop.example");
    let server = Server::start(Capacity::default(), |api| api.origins([shop])).await;
    let answer = server.ask(preflight).await;
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://shop.example")
    );
    let other = server
        .ask(&preflight.replace("shop.example", "evil.example"))
        .await;
    assert_eq!(other.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn liveness_does_not_depend_on_readiness() {
    let server = Server::start(Capacity::default(), |api| {
        api.ready(|| Err("the database does not answer".to_owned()))
    })
    .await;
    let live = server.get("/health/live", "").await;
    assert_eq!(
        (live.status, live.body.as_str()),
        (200, r#"{"status":"ok"}"#)
    );
    let ready = server.get("/health/ready", "").await;
    assert_eq!(ready.status, 503);
    assert_eq!(ready.json()["reason"], "the database does not answer");
    assert_eq!(
        Server::plain().await.get("/health/ready", "").await.status,
        200
    );
}
