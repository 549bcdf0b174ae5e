//! Who asks, and what it costs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;

use super::{Client, Server, complete, next, subscribe};
use crate::{
    execution::{CostCheck, ErrorCode, Failure},
    http::{Api, Capacity, RequestContext, bearer},
};

/// Tells resolvers the token, and knows some tokens that it does not like.
fn guarded(api: Api) -> Api {
    api.admit(|headers| {
        let token = bearer(headers)?.map(str::to_owned);
        match token.as_deref() {
            Some("banned") => Err(Failure::new(
                ErrorCode::Forbidden,
                "No. ".repeat(100).trim_end().to_owned(),
            )),
            Some("broken") => panic!("a fault while admitting"),
            _ => Ok(RequestContext::new()
                .hide_schema()
                .attach(|request| request.data(token))),
        }
    })
}

async fn server() -> Server {
    Server::start(Capacity::default(), guarded).await
}

#[tokio::test]
async fn the_introduction_may_name_the_caller() {
    let server = server().await;
    let asked = subscribe("a", "{ token }");
    for (payload, token) in [
        (
            json!({ "authorization": "Bearer abc", "more": 1 }),
            json!("abc"),
        ),
        (json!({ "Authorization": "bearer def" }), json!("def")),
        (json!({ "authorization": null }), json!("header")),
        (json!({}), json!("header")),
    ] {
        let header = [("authorization", "Bearer header")];
        let mut client = Client::dial(server.address, &header).await.unwrap();
        client.introduce(&payload).await;
        client.say(&asked).await;
        assert_eq!(client.hear().await, next("a", &json!({ "token": token })));
    }
    let mut stranger = Client::ready(&server).await;
    stranger.say(&asked).await;
    assert_eq!(stranger.hear().await, next("a", &json!({ "token": null })));
    assert_eq!(stranger.hear().await, complete("a"));
    stranger
        .say(&subscribe("a", "{ __schema { queryType { name } } }"))
        .await;
    assert_eq!(stranger.hear().await["type"], "error");
}

#[tokio::test]
async fn who_is_not_admitted_is_told_why() {
    let server = server().await;
    for (payload, reason) in [
        (
            json!({ "authorization": "Basic abc" }),
            "The Authorization header must be",
        ),
        (
            json!({ "authorization": "" }),
            "The Authorization header must be",
        ),
        (
            json!({ "authorization": 1 }),
            "The authorization must be one text",
        ),
        (
            json!({ "authorization": "Bearer a\nb" }),
            "The authorization must be one text",
        ),
        (
            json!({ "authorization": "Bearer a", "Authorization": "Bearer b" }),
            "The authorization must be one text",
        ),
        (json!({ "authorization": "Bearer banned" }), "No. No. "),
        (
            json!({ "authorization": "Bearer broken" }),
            "The service failed to answer",
        ),
    ] {
        let mut client = Client::silent(&server).await;
        client
            .say(&json!({ "type": "connection_init", "payload": payload }))
            .await;
        let (code, told) = client.closed().await;
        assert_eq!(code, 4403, "{payload}");
        assert!(told.starts_with(reason), "{payload}: {told}");
        assert!(told.len() <= 123);
    }
}

/// A caller may lose a right while connected.
#[tokio::test]
async fn every_operation_is_admitted_anew() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = Server::start(Capacity::default(), |api| {
        api.admit(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(RequestContext::new()),
            2 => Err(Failure::new(
                ErrorCode::Unauthenticated,
                "The token has expired.",
            )),
            _ => panic!("a fault while admitting"),
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.hear().await, next("a", &json!({ "ok": 1 })));
    assert_eq!(client.hear().await, complete("a"));
    for code in ["UNAUTHENTICATED", "INTERNAL"] {
        client.say(&subscribe("a", "{ ok }")).await;
        let refused = client.hear().await;
        assert_eq!(refused["type"], "error", "{refused}");
        assert_eq!(refused["payload"][0]["extensions"]["code"], code);
    }
}

#[tokio::test]
async fn operations_have_a_price() {
    let server = Server::start(Capacity::default(), |api| {
        api.admit(|_| {
            Ok(RequestContext::new().cost_check(|prepared| {
                let cost = prepared.operation().selection_set.selections.len();
                let affordable = cost < 3;
                CostCheck {
                    extensions: [("cost".to_owned(), json!(cost))].into_iter().collect(),
                    outcome: affordable
                        .then_some(())
                        .ok_or_else(|| Failure::new(ErrorCode::CostExceeded, "That is too dear.")),
                }
            }))
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    let asked = "subscription { numbers(to: 2) }";
    client.say(&subscribe("a", asked)).await;
    let first = client.hear().await;
    assert_eq!(first["payload"]["extensions"], json!({ "cost": 1 }));
    assert_eq!(client.hear().await, next("a", &json!({ "numbers": 1 })));
    assert_eq!(client.hear().await, complete("a"));
    client.say(&subscribe("a", "{ a: ok b: ok c: ok }")).await;
    let refused = client.hear().await;
    assert_eq!(refused["type"], "error");
    assert_eq!(refused["payload"][0]["extensions"]["code"], "COST_EXCEEDED");
}

#[tokio::test]
async fn a_subscription_that_is_too_dear_is_not_started() {
    let server = Server::start(Capacity::default(), |api| {
        api.admit(|_| {
            Ok(RequestContext::new().cost_check(|_| CostCheck {
                outcome: Err(Failure::new(ErrorCode::RateLimited, "Slow down.")),
                ..CostCheck::free()
            }))
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "subscription { ticks }")).await;
    let refused = client.hear().await;
    assert_eq!(refused["type"], "error");
    assert_eq!(refused["payload"][0]["message"], "Slow down.");
    assert_eq!(refused["payload"][0]["extensions"]["retryable"], true);
}
