//! Authentication and cost of operations.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::Instant;

use super::{Client, Server, complete, next, subscribe};
use crate::{
    execution::{CostCheck, ErrorCode, Failure},
    http::{Api, Capacity, RequestContext, bearer},
};

/// Passes the token to resolvers, and refuses some tokens.
fn guarded(api: Api) -> Api {
    api.authenticate(|headers| {
        let token = bearer(headers)?.map(str::to_owned);
        match token.as_deref() {
            Some("banned") => Err(Failure::new(
                ErrorCode::Forbidden,
                "No. ".repeat(100).trim_end().to_owned(),
            )),
            Some("broken") => panic!("a fault during authentication"),
            _ => Ok(RequestContext::new()
                .hide_schema()
                .with_context(|request| request.data(token))),
        }
    })
}

async fn server() -> Server {
    Server::start(Capacity::default(), guarded).await
}

#[tokio::test]
async fn connection_init_may_authenticate_the_caller() {
    let server = server().await;
    let operation = subscribe("a", "{ token }");
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
        let mut client = Client::connect(server.address, &header).await.unwrap();
        client.initialise(&payload).await;
        client.send(&operation).await;
        assert_eq!(
            client.next_message().await,
            next("a", &json!({ "token": token }))
        );
    }
    let mut anonymous = Client::ready(&server).await;
    anonymous.send(&operation).await;
    assert_eq!(
        anonymous.next_message().await,
        next("a", &json!({ "token": null }))
    );
    assert_eq!(anonymous.next_message().await, complete("a"));
    anonymous
        .send(&subscribe("a", "{ __schema { queryType { name } } }"))
        .await;
    assert_eq!(anonymous.next_message().await["type"], "error");
}

#[tokio::test]
async fn a_refused_caller_receives_the_reason() {
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
            "authorization must be one string",
        ),
        (
            json!({ "authorization": "Bearer a\nb" }),
            "authorization must be one string",
        ),
        (
            json!({ "authorization": "Bearer a", "Authorization": "Bearer b" }),
            "authorization must be one string",
        ),
        (json!({ "authorization": "Bearer banned" }), "No. No. "),
        (
            json!({ "authorization": "Bearer broken" }),
            "The service failed to answer",
        ),
    ] {
        let mut client = Client::uninitialised(&server).await;
        client
            .send(&json!({ "type": "connection_init", "payload": payload }))
            .await;
        let (code, received) = client.closed().await;
        assert_eq!(code, 4403, "{payload}");
        assert!(received.starts_with(reason), "{payload}: {received}");
        assert!(received.len() <= 123);
    }
}

/// A caller may lose permissions while connected.
#[tokio::test]
async fn every_operation_is_authenticated_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(RequestContext::new()),
            2 => Err(Failure::new(
                ErrorCode::Unauthenticated,
                "The token has expired.",
            )),
            _ => panic!("a fault during authentication"),
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.next_message().await, next("a", &json!({ "ok": 1 })));
    assert_eq!(client.next_message().await, complete("a"));
    for code in ["UNAUTHENTICATED", "INTERNAL"] {
        client.send(&subscribe("a", "{ ok }")).await;
        let refused = client.next_message().await;
        assert_eq!(refused["type"], "error", "{refused}");
        assert_eq!(refused["payload"][0]["extensions"]["code"], code);
    }
}

#[tokio::test]
async fn the_cost_of_operations_is_checked() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|_| {
            Ok(RequestContext::new().cost_check(|prepared| {
                let cost = prepared.operation().selection_set.selections.len();
                let affordable = cost < 3;
                CostCheck {
                    extensions: [("cost".to_owned(), json!(cost))].into_iter().collect(),
                    outcome: affordable
                        .then_some(())
                        .ok_or_else(|| Failure::new(ErrorCode::CostExceeded, "Too expensive.")),
                    ..CostCheck::free()
                }
            }))
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    let text = "subscription { numbers(to: 2) }";
    client.send(&subscribe("a", text)).await;
    let first = client.next_message().await;
    assert_eq!(first["payload"]["extensions"], json!({ "cost": 1 }));
    assert_eq!(
        client.next_message().await,
        next("a", &json!({ "numbers": 1 }))
    );
    assert_eq!(client.next_message().await, complete("a"));
    client.send(&subscribe("a", "{ a: ok b: ok c: ok }")).await;
    let refused = client.next_message().await;
    assert_eq!(refused["type"], "error");
    assert_eq!(refused["payload"][0]["extensions"]["code"], "COST_EXCEEDED");
}

#[tokio::test]
async fn a_subscription_refused_by_its_cost_is_not_started() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|_| {
            Ok(RequestContext::new().cost_check(|_| CostCheck {
                outcome: Err(Failure::new(ErrorCode::RateLimited, "Slow down.")),
                ..CostCheck::free()
            }))
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "subscription { ticks }")).await;
    let refused = client.next_message().await;
    assert_eq!(refused["type"], "error");
    assert_eq!(refused["payload"][0]["message"], "Slow down.");
    assert_eq!(refused["payload"][0]["extensions"]["retryable"], true);
}

/// Clients of the protocol connect again after 4403, and not after 4401.
#[tokio::test]
async fn a_connection_is_closed_when_its_token_expires() {
    let expires_at = Instant::now() + Duration::from_millis(300);
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(move |headers| {
            let expires_at = bearer(headers)?.map(|_| expires_at);
            Ok(RequestContext::new().expires_at(expires_at))
        })
    })
    .await;
    let mut anonymous = Client::ready(&server).await;
    let mut client = Client::uninitialised(&server).await;
    client
        .initialise(&json!({ "authorization": "Bearer abc" }))
        .await;
    let ticks = subscribe("a", "subscription { ticks }");
    client.send(&ticks).await;
    let (code, reason) = client.closed().await;
    assert_eq!(code, 4403);
    assert_eq!(
        reason,
        "the token has expired; connect again with a new one"
    );
    assert!(Instant::now() >= expires_at);
    anonymous.send(&subscribe("a", "{ ok }")).await;
    assert_eq!(
        anonymous.next_message().await,
        next("a", &json!({ "ok": 1 }))
    );
}

#[tokio::test]
async fn a_subscription_ends_when_its_caller_cannot_pay_for_an_event() {
    let paid = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&paid);
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(move |_| {
            let count = Arc::clone(&count);
            Ok(RequestContext::new().cost_check(move |_| {
                let affordable = count.fetch_add(1, Ordering::SeqCst) < 3;
                CostCheck {
                    outcome: affordable.then_some(()).ok_or_else(|| {
                        Failure::new(ErrorCode::RateLimited, "Slow down.")
                            .retry_after(Duration::from_secs(2))
                    }),
                    ..CostCheck::free()
                }
            }))
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    let text = "subscription { numbers(to: 9) }";
    client.send(&subscribe("a", text)).await;
    for number in 0..3 {
        let expected = next("a", &json!({ "numbers": number }));
        assert_eq!(client.next_message().await, expected);
    }
    let refused = client.next_message().await;
    assert_eq!(refused["type"], "error");
    let extensions = json!({ "code": "RATE_LIMITED", "retryable": true, "retryAfter": 2 });
    assert_eq!(refused["payload"][0]["extensions"], extensions);
    assert_eq!(paid.load(Ordering::SeqCst), 4);
    assert_eq!(server.sockets.operations(), 0);
}

#[tokio::test]
async fn events_and_the_end_of_a_subscription_are_reported() {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reported);
    let paid = AtomicUsize::new(0);
    let check = move || CostCheck {
        cost: 7,
        outcome: match paid.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(()),
            _ => Err(Failure::new(ErrorCode::RateLimited, "Slow down.")),
        },
        ..CostCheck::free()
    };
    let check = Arc::new(check);
    let server = Server::start(Capacity::default(), |api| {
        let api = api.authenticate(move |_| {
            let check = Arc::clone(&check);
            Ok(RequestContext::new().cost_check(move |_| check()))
        });
        api.observe(move |report| {
            assert_eq!(report.took, None);
            let event = report.operation.map(|operation| {
                assert_eq!(operation.kind, "subscription");
                (operation.name.unwrap().to_owned(), operation.cost)
            });
            seen.lock().unwrap().push((event, report.errors.clone()));
        })
    })
    .await;
    let mut client = Client::ready(&server).await;
    let text = "subscription Count { numbers(to: 9) }";
    client.send(&subscribe("a", text)).await;
    for _ in 0..3 {
        client.next_message().await;
    }
    let event = (Some(("Count".to_owned(), 7)), vec![]);
    let end = (None, vec![ErrorCode::RateLimited]);
    let expected = [event.clone(), event, end];
    assert_eq!(*reported.lock().unwrap(), expected);
}
