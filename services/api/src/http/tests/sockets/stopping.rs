//! Work outlives connections, and connections do not outlive the service.

use std::time::Duration;

use super::{Client, PATIENCE, Server, limited, subscribe, until};
use crate::http::Capacity;

#[tokio::test]
async fn a_client_that_leaves_does_not_stop_its_mutation() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "{ gated }")).await;
    client.say(&subscribe("b", "{ gated }")).await;
    server.gate.started().await;
    server.gate.started().await;
    client.say(&super::complete("a")).await;
    drop(client);
    until(|| server.sockets.connections() == 0).await;
    assert_eq!(server.sockets.operations(), 0);
    assert_eq!(server.request_limiter.unfinished(), 2);
    server.gate.open(2);
    assert!(server.request_limiter.drain(PATIENCE).await);
    assert_eq!(server.gate.finished(), 2);
}

#[tokio::test]
async fn at_the_end_clients_are_sent_away() {
    let server = Server::plain().await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = Client::ready(&server).await;
        client.say(&subscribe("a", "subscription { ticks }")).await;
        clients.push(client);
    }
    clients.push(Client::silent(&server).await);
    server.feed.followed(5).await;
    let goodbyes = async {
        for client in &mut clients {
            let (code, reason) = client.closed().await;
            assert_eq!(
                (code, reason.as_str()),
                (1001, "the service is stopping; connect again")
            );
            assert!(client.receive().await.is_none());
        }
    };
    let (closed, ()) = tokio::join!(server.sockets.close(PATIENCE), goodbyes);
    assert!(closed);
    server.feed.dropped(5).await;
    assert_eq!(server.sockets.connections(), 0);
    assert_eq!(server.sockets.operations(), 0);
    assert!(Client::dial(server.address, &[]).await.is_err());
    assert!(server.sockets.close(Duration::ZERO).await, "again");
}

/// Whoever serves closes connections of this kind: a server that stops only forgets them.
#[tokio::test]
async fn open_connections_do_not_hold_up_the_server() {
    let mut server = Server::patient(PATIENCE, Capacity::default(), |api| api).await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "subscription { ticks }")).await;
    server.feed.followed(1).await;
    server.stop.send(()).unwrap();
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
    server.feed.tell(1);
    assert_eq!(client.hear().await["payload"]["data"]["ticks"], 1);
    let (closed, goodbye) = tokio::join!(server.sockets.close(PATIENCE), client.closed());
    assert!(closed);
    assert_eq!(goodbye.0, 1001);
}

#[tokio::test]
async fn the_end_does_not_wait_for_clients_that_do_not_read() {
    let server = limited(|limits| {
        limits.send_patience = PATIENCE;
        limits.farewell = Duration::from_millis(50);
    })
    .await;
    let mut client = Client::ready(&server).await;
    client
        .say(&subscribe("a", "subscription { flood(bytes: 100000) }"))
        .await;
    server.feed.followed(1).await;
    assert!(!server.sockets.close(Duration::ZERO).await);
    assert!(server.sockets.close(PATIENCE).await);
    assert_eq!(server.sockets.operations(), 0);
}

/// The queries and mutations of a connection are waited for by the request_limiter.
#[tokio::test]
async fn the_end_of_connections_is_not_the_end_of_work() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "{ gated }")).await;
    server.gate.started().await;
    let (closed, goodbye) = tokio::join!(server.sockets.close(PATIENCE), client.closed());
    assert!(closed);
    assert_eq!(goodbye.0, 1001);
    assert_eq!(server.request_limiter.unfinished(), 1);
    server.gate.open(1);
    assert!(server.request_limiter.drain(PATIENCE).await);
    assert_eq!(server.gate.finished(), 1);
}
