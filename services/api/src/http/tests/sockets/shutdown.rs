//! Mutations outlive connections, and connections are closed on shutdown.

use std::time::Duration;

use super::{Client, Server, TIMEOUT, limited, subscribe, until};

#[tokio::test]
async fn a_disconnected_client_does_not_stop_its_mutations() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "mutation { gated }")).await;
    client.send(&subscribe("b", "mutation { gated }")).await;
    server.gate.started().await;
    server.gate.started().await;
    client.send(&super::complete("a")).await;
    drop(client);
    until(|| server.sockets.connections() == 0).await;
    assert_eq!(server.sockets.operations(), 0);
    assert_eq!(server.request_limiter.unfinished(), 2);
    server.gate.open(2);
    assert!(server.request_limiter.drain(TIMEOUT).await);
    assert_eq!(server.gate.finished(), 2);
}

#[tokio::test]
async fn a_disconnected_client_stops_its_queries() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "{ gated }")).await;
    server.gate.started().await;
    drop(client);
    until(|| server.request_limiter.unfinished() == 0).await;
    assert_eq!(server.gate.finished(), 0);
}

#[tokio::test]
async fn shutdown_asks_clients_to_reconnect() {
    let server = Server::plain().await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = Client::ready(&server).await;
        client.send(&subscribe("a", "subscription { ticks }")).await;
        clients.push(client);
    }
    clients.push(Client::uninitialised(&server).await);
    server.feed.followed(5).await;
    let closes = async {
        for client in &mut clients {
            let (code, reason) = client.closed().await;
            assert_eq!(
                (code, reason.as_str()),
                (1001, "the service is stopping; connect again")
            );
            assert!(client.next_frame().await.is_none());
        }
    };
    let (closed, ()) = tokio::join!(server.sockets.close(TIMEOUT), closes);
    assert!(closed);
    server.feed.dropped(5).await;
    assert_eq!(server.sockets.connections(), 0);
    assert_eq!(server.sockets.operations(), 0);
    assert!(Client::connect(server.address, &[]).await.is_err());
    assert!(server.sockets.close(Duration::ZERO).await, "again");
}

/// WebSockets are closed by `Sockets::close`; a stopped server does not wait for them.
#[tokio::test]
async fn open_websockets_do_not_delay_the_server() {
    let mut server = Server::with_grace(TIMEOUT).await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "subscription { ticks }")).await;
    server.feed.followed(1).await;
    server.stop.send(()).unwrap();
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
    server.feed.send(1);
    assert_eq!(client.next_message().await["payload"]["data"]["ticks"], 1);
    let (closed, frame) = tokio::join!(server.sockets.close(TIMEOUT), client.closed());
    assert!(closed);
    assert_eq!(frame.0, 1001);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_clients_that_do_not_read() {
    let server = limited(|limits| {
        limits.send_timeout = TIMEOUT;
        limits.close_timeout = Duration::from_millis(50);
    })
    .await;
    let mut client = Client::ready(&server).await;
    client
        .send(&subscribe("a", "subscription { flood(bytes: 100000) }"))
        .await;
    server.feed.followed(1).await;
    assert!(!server.sockets.close(Duration::ZERO).await);
    assert!(server.sockets.close(TIMEOUT).await);
    assert_eq!(server.sockets.operations(), 0);
}

/// Mutations of a connection are awaited by the request limiter.
#[tokio::test]
async fn closing_connections_does_not_end_their_mutations() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.send(&subscribe("a", "mutation { gated }")).await;
    server.gate.started().await;
    let (closed, frame) = tokio::join!(server.sockets.close(TIMEOUT), client.closed());
    assert!(closed);
    assert_eq!(frame.0, 1001);
    assert_eq!(server.request_limiter.unfinished(), 1);
    server.gate.open(1);
    assert!(server.request_limiter.drain(TIMEOUT).await);
    assert_eq!(server.gate.finished(), 1);
}
