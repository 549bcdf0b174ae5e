//! Everything for which the server closes a connection.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::{Client, MemoryServer, Server, limited, subscribe, until};

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn nobody_subscribes_before_being_welcomed() {
    let server = Server::plain().await;
    let mut client = Client::silent(&server).await;
    client.say(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.closed().await.0, 4401);
    assert_eq!(server.sockets.operations_started(), 0);
}

#[tokio::test]
async fn one_introduction_is_enough() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.say(&json!({ "type": "connection_init" })).await;
    let (code, reason) = client.closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (4429, "Too many initialisation requests")
    );
}

#[tokio::test]
async fn the_introduction_is_waited_for_but_not_for_long() {
    let server = limited(|limits| limits.init_patience = SHORT).await;
    let mut client = Client::silent(&server).await;
    assert_eq!(client.closed().await.0, 4408);
}

#[tokio::test]
async fn an_id_belongs_to_one_operation_at_a_time() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "subscription { ticks }")).await;
    server.feed.followed(1).await;
    client.say(&subscribe("a", "{ ok }")).await;
    let (code, reason) = client.closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (4409, "Subscriber for a already exists")
    );
    server.feed.dropped(1).await;
}

#[tokio::test]
async fn a_client_that_says_goodbye_is_answered() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "subscription { ticks }")).await;
    server.feed.followed(1).await;
    client.send(Message::Close(None)).await;
    let answer = client.receive().await.unwrap().unwrap();
    assert_eq!(answer, Message::Close(None));
    assert!(client.receive().await.is_none());
    server.feed.dropped(1).await;
    until(|| server.sockets.connections() == 0).await;
}

/// A client that does not read does not answer pings either.
#[tokio::test(start_paused = true)]
async fn a_connection_without_a_sign_of_life_is_closed() {
    let server = MemoryServer::start(|limits| {
        limits.ping_interval = Duration::from_secs(2);
        limits.silence = Duration::from_secs(5);
    });
    let mut client = server.client().await;
    client.say(&subscribe("a", "subscription { ticks }")).await;
    server.feed.dropped(1).await;
    let (code, reason) = client.closed().await;
    assert_eq!((code, reason.as_str()), (1001, "nothing was heard for 5s"));
    until(|| server.sockets.connections() == 0).await;
}

/// Reading is enough: the answers to pings are signs of life.
#[tokio::test(start_paused = true)]
async fn a_connection_that_answers_pings_stays() {
    let server = MemoryServer::start(|limits| {
        limits.ping_interval = Duration::from_secs(2);
        limits.silence = Duration::from_secs(5);
    });
    let mut client = server.client().await;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_mins(10) {
        let message = client.receive().await.unwrap().unwrap();
        assert_eq!(message, Message::Ping("".into()));
    }
    client.say(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.hear().await["type"], "next");
}
