//! Too many, too slow, gone.

use std::time::Duration;

use serde_json::json;

use super::{Client, PATIENCE, Server, complete, limited, next, subscribe, until};
use crate::http::Capacity;

#[tokio::test]
async fn a_connection_has_a_number_of_operations_at_a_time() {
    let server = limited(|limits| limits.operations = 2).await;
    let mut client = Client::ready(&server).await;
    for id in ["a", "b"] {
        client.say(&subscribe(id, "subscription { ticks }")).await;
    }
    server.feed.followed(2).await;
    client.say(&subscribe("c", "{ ok }")).await;
    let refused = client.hear().await;
    assert_eq!(refused["type"], "error");
    let error = &refused["payload"][0];
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED");
    assert_eq!(
        error["message"],
        "A connection may have 2 operations at a time; complete one before starting another."
    );
    client.say(&complete("a")).await;
    client.say(&subscribe("c", "{ ok }")).await;
    assert_eq!(client.hear().await, next("c", &json!({ "ok": 1 })));
    assert_eq!(client.hear().await, complete("c"));
    server.feed.tell(1);
    assert_eq!(client.hear().await, next("b", &json!({ "ticks": 1 })));
    assert_eq!(server.sockets.operations_started(), 3);
}

/// What is made for a client that does not read is what the two kernels take, and a little more.
#[tokio::test]
async fn a_slow_reader_is_dropped_and_not_saved_up_for() {
    const QUEUE: usize = 4;
    let server = limited(|limits| {
        limits.queue = QUEUE;
        limits.send_patience = Duration::from_millis(100);
    })
    .await;
    let mut client = Client::ready(&server).await;
    client
        .say(&subscribe("a", "subscription { flood(bytes: 100000) }"))
        .await;
    server.feed.dropped(1).await;
    until(|| server.sockets.connections() == 0).await;
    assert_eq!(server.sockets.dropped_slow(), 1);
    assert_eq!(server.sockets.operations(), 0);
    let produced = server.feed.produced();
    let delivered = client.count().await;
    // One is being written and one is in the hand of the operation.
    assert!(
        produced <= delivered + QUEUE + 2,
        "{produced} produced, {delivered} delivered"
    );
}

#[tokio::test]
async fn work_of_connections_is_shed_as_over_http() {
    let capacity = Capacity {
        running: 1,
        waiting: 0,
        patience: PATIENCE,
        deadline: PATIENCE,
    };
    let server = Server::start(capacity, |api| api).await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "{ gated }")).await;
    server.gate.started().await;
    client.say(&subscribe("b", "{ ok }")).await;
    let shed = client.hear().await;
    assert_eq!((&shed["type"], &shed["id"]), (&json!("error"), &json!("b")));
    let extensions = json!({ "code": "UNAVAILABLE", "retryable": true, "retryAfter": 1 });
    assert_eq!(shed["payload"][0]["extensions"], extensions);
    server.gate.open(1);
    assert_eq!(client.hear().await, next("a", &json!({ "gated": 1 })));
}

/// Another client of the same service is not held up.
#[tokio::test]
async fn a_slow_reader_is_nobody_elses_trouble() {
    let server = Server::plain().await;
    let mut slow = Client::ready(&server).await;
    slow.say(&subscribe("a", "subscription { flood(bytes: 100000) }"))
        .await;
    server.feed.followed(1).await;
    let mut quick = Client::ready(&server).await;
    for _ in 0..100 {
        quick.say(&subscribe("a", "{ ok }")).await;
        assert_eq!(quick.hear().await, next("a", &json!({ "ok": 1 })));
        assert_eq!(quick.hear().await, complete("a"));
    }
    assert_eq!(server.sockets.connections(), 2);
}

/// Five hundred, a hundred at a time so that every system has enough file descriptors.
#[tokio::test]
async fn clients_that_vanish_leave_nothing_behind() {
    const AT_ONCE: u32 = 100;
    let server = Server::plain().await;
    for _ in 0..5 {
        let mut clients = Vec::new();
        for _ in 0..AT_ONCE {
            let mut client = Client::ready(&server).await;
            client.say(&subscribe("a", "subscription { ticks }")).await;
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
