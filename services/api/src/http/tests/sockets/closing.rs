//! All reasons for which the server closes a connection.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::{Client, MemoryServer, Server, limited, subscribe, until};

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn subscribing_before_initialisation_closes_the_connection() {
    let server = Server::plain().await;
    let mut client = Client::uninitialised(&server).await;
    client.send(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.closed().await.0, 4401);
    assert_eq!(server.sockets.operations_started(), 0);
}

#[tokio::test]
async fn a_second_connection_init_closes_the_connection() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.send(&json!({ "type": "connection_init" })).await;
    let (code, reason) = client.closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (4429, "Too many initialisation requests")
    );
}

#[tokio::test]
async fn a_missing_connection_init_closes_the_connection() {
    let server = limited(|limits| limits.init_timeout = SHORT).await;
    let mut client = Client::uninitialised(&server).await;
    assert_eq!(client.closed().await.0, 4408);
}

#[tokio::test]
async fn a_duplicate_operation_id_closes_the_connection() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "subscription { ticks }")).await;
    server.feed.followed(1).await;
    client.send(&subscribe("a", "{ ok }")).await;
    let (code, reason) = client.closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (4409, "Subscriber for a already exists")
    );
    server.feed.dropped(1).await;
}

#[tokio::test]
async fn a_close_frame_of_the_client_is_answered() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "subscription { ticks }")).await;
    server.feed.followed(1).await;
    client.send_frame(Message::Close(None)).await;
    let answer = client.next_frame().await.unwrap().unwrap();
    assert_eq!(answer, Message::Close(None));
    assert!(client.next_frame().await.is_none());
    server.feed.dropped(1).await;
    until(|| server.sockets.connections() == 0).await;
}

/// A client that does not read does not respond to pings either.
#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed() {
    let server = MemoryServer::start(|limits| {
        limits.ping_interval = Duration::from_secs(2);
        limits.silence = Duration::from_secs(5);
    });
    let mut client = server.client().await;
    client.send(&subscribe("a", "subscription { ticks }")).await;
    server.feed.dropped(1).await;
    let (code, reason) = client.closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (1001, "nothing was received for 5s")
    );
    until(|| server.sockets.connections() == 0).await;
}

/// A client that only reads stays connected, because its library responds to pings.
#[tokio::test(start_paused = true)]
async fn a_connection_that_answers_pings_stays() {
    let server = MemoryServer::start(|limits| {
        limits.ping_interval = Duration::from_secs(2);
        limits.silence = Duration::from_secs(5);
    });
    let mut client = server.client().await;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_mins(10) {
        let message = client.next_frame().await.unwrap().unwrap();
        assert_eq!(message, Message::Ping("".into()));
    }
    client.send(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.next_message().await["type"], "next");
}
