//! Limits on operations and connections, slow clients and disconnected clients.

use std::time::Duration;

use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use super::{Client, Server, TIMEOUT, by_subject, complete, limited, next, subscribe, until};
use crate::http::Capacity;

#[tokio::test]
async fn the_number_of_concurrent_operations_is_limited() {
    let server = limited(|limits| limits.operations = 2).await;
    let mut client = Client::ready(&server).await;
    for id in ["a", "b"] {
        client.send(&subscribe(id, "subscription { ticks }")).await;
    }
    server.feed.followed(2).await;
    client.send(&subscribe("c", "{ ok }")).await;
    let refused = client.next_message().await;
    assert_eq!(refused["type"], "error");
    let error = &refused["payload"][0];
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED");
    assert_eq!(
        error["message"],
        "A connection may have 2 operations at a time; complete one before starting another."
    );
    client.send(&complete("a")).await;
    client.send(&subscribe("c", "{ ok }")).await;
    assert_eq!(client.next_message().await, next("c", &json!({ "ok": 1 })));
    assert_eq!(client.next_message().await, complete("c"));
    server.feed.send(1);
    assert_eq!(
        client.next_message().await,
        next("b", &json!({ "ticks": 1 }))
    );
    assert_eq!(server.sockets.operations_started(), 3);
}

/// For a client that does not read, the server buffers only what the send queue and the kernels'
/// socket buffers hold.
#[tokio::test]
async fn a_slow_client_is_disconnected_and_uses_bounded_memory() {
    const QUEUE: usize = 4;
    let server = limited(|limits| {
        limits.queue = QUEUE;
        limits.send_timeout = Duration::from_millis(100);
    })
    .await;
    let mut client = Client::ready(&server).await;
    client
        .send(&subscribe("a", "subscription { flood(bytes: 100000) }"))
        .await;
    server.feed.dropped(1).await;
    until(|| server.sockets.connections() == 0).await;
    assert_eq!(server.sockets.dropped_slow(), 1);
    assert_eq!(server.sockets.operations(), 0);
    let produced = server.feed.produced();
    let delivered = client.count().await;
    // One message is being written and one is held by the operation.
    assert!(
        produced <= delivered + QUEUE + 2,
        "{produced} produced, {delivered} delivered"
    );
}

#[tokio::test]
async fn excess_queries_of_connections_are_refused_as_over_http() {
    let capacity = Capacity {
        running: 1,
        waiting: 0,
        large: 1,
        large_waiting: 1,
        large_queue_timeout: TIMEOUT,
        queue_timeout: TIMEOUT,
        deadline: TIMEOUT,
    };
    let server = Server::start(capacity, |api| api).await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "{ gated }")).await;
    server.gate.started().await;
    client.send(&subscribe("b", "{ ok }")).await;
    let shed = client.next_message().await;
    assert_eq!((&shed["type"], &shed["id"]), (&json!("error"), &json!("b")));
    let extensions = json!({ "code": "UNAVAILABLE", "retryable": true, "retryAfter": 1 });
    assert_eq!(shed["payload"][0]["extensions"], extensions);
    server.gate.open(1);
    assert_eq!(
        client.next_message().await,
        next("a", &json!({ "gated": 1 }))
    );
}

#[tokio::test]
async fn a_slow_client_does_not_delay_others() {
    let server = Server::plain().await;
    let mut slow = Client::ready(&server).await;
    slow.send(&subscribe("a", "subscription { flood(bytes: 100000) }"))
        .await;
    server.feed.followed(1).await;
    let mut quick = Client::ready(&server).await;
    for _ in 0..100 {
        quick.send(&subscribe("a", "{ ok }")).await;
        assert_eq!(quick.next_message().await, next("a", &json!({ "ok": 1 })));
        assert_eq!(quick.next_message().await, complete("a"));
    }
    assert_eq!(server.sockets.connections(), 2);
}

/// Five hundred clients, a hundred at a time so that file descriptors suffice on every system.
#[tokio::test]
async fn disconnected_clients_leave_nothing_behind() {
    const AT_ONCE: u32 = 100;
    let server = Server::plain().await;
    for _ in 0..5 {
        let mut clients = Vec::new();
        for _ in 0..AT_ONCE {
            let mut client = Client::ready(&server).await;
            client.send(&subscribe("a", "subscription { ticks }")).await;
            clients.push(client);
        }
        server.feed.followed(AT_ONCE).await;
        assert_eq!(server.sockets.connections(), AT_ONCE as usize);
        assert_eq!(server.sockets.operations(), AT_ONCE as usize);
        drop(clients);
        server.feed.dropped(AT_ONCE).await;
        until(|| server.sockets.connections() == 0).await;
        assert_eq!(server.sockets.operations(), 0);
    }
    assert_eq!(server.sockets.operations_started(), 500);
    assert_eq!(server.sockets.dropped_slow(), 0);
}

#[tokio::test]
async fn the_number_of_connections_from_an_address_is_limited() {
    let server = limited(|limits| limits.connections_per_client = 2).await;
    let first = Client::ready(&server).await;
    let _second = Client::ready(&server).await;
    let refused = Client::connect(server.address, &[]).await.err().unwrap();
    let Error::Http(response) = *refused else {
        panic!("not an HTTP error: {refused:?}");
    };
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "10");
    drop(first);
    until(|| server.sockets.connections() == 1).await;
    Client::ready(&server).await;
}

/// The subject of a token is limited wherever it connects from; others at its address are not.
#[tokio::test]
async fn the_number_of_connections_of_a_subject_is_limited() {
    let server = by_subject(|limits| limits.connections_per_client = 2).await;
    let init = |subject: &str| json!({ "authorization": format!("Bearer {subject}") });
    let mut clients = Vec::new();
    for subject in ["ada", "ada", "bob", "bob"] {
        let mut client = Client::uninitialised(&server).await;
        client.initialise(&init(subject)).await;
        clients.push(client);
    }
    let mut refused = Client::uninitialised(&server).await;
    let message = json!({ "type": "connection_init", "payload": init("ada") });
    refused.send(&message).await;
    let (code, reason) = refused.closed().await;
    assert_eq!(code, 1013);
    assert_eq!(
        reason,
        "you have 2 connections, which is the limit; close one"
    );
    drop(clients.remove(0));
    until(|| server.sockets.connections() == 3).await;
    let mut admitted = Client::uninitialised(&server).await;
    admitted.initialise(&init("ada")).await;
}

#[tokio::test]
async fn the_number_of_operations_of_a_client_is_limited_over_all_its_connections() {
    let server = limited(|limits| limits.operations_per_client = 2).await;
    let mut first = Client::ready(&server).await;
    let mut second = Client::ready(&server).await;
    let ticks = subscribe("a", "subscription { ticks }");
    first.send(&ticks).await;
    second.send(&ticks).await;
    server.feed.followed(2).await;
    second.send(&subscribe("b", "{ ok }")).await;
    let refused = second.next_message().await;
    assert_eq!(refused["type"], "error");
    let error = &refused["payload"][0];
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED");
    assert_eq!(
        error["message"],
        "A client may have 2 operations at a time; complete one before starting another."
    );
    first.send(&complete("a")).await;
    server.feed.dropped(1).await;
    until(|| server.sockets.operations() == 1).await;
    second.send(&subscribe("b", "{ ok }")).await;
    assert_eq!(second.next_message().await, next("b", &json!({ "ok": 1 })));
}
