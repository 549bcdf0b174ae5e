//! Limits of connections.

use tokio::{io::AsyncReadExt, net::TcpStream};

use super::{
    JSON, Server, query, read,
    sockets::{Client, until},
};
use crate::http::{ConnectionEvent, ConnectionLimits, Connections};

/// The number of connections that are answered once beyond the limit.
const MAX_ANSWERED_ONCE: usize = 32;

fn limited(connections: usize, connections_per_address: usize) -> Connections {
    let limits = ConnectionLimits {
        connections,
        connections_per_address,
        ..ConnectionLimits::default()
    };
    Connections::new(limits, [])
}

/// Connects, and waits until the server has accepted.
async fn connect(server: &Server, connections: &Connections) -> TcpStream {
    let before = connections.count(ConnectionEvent::Accepted);
    let stream = TcpStream::connect(server.address).await.unwrap();
    until(|| connections.count(ConnectionEvent::Accepted) > before).await;
    stream
}

/// Waits until the server closes the connection, without having sent anything.
async fn refused(mut stream: TcpStream) {
    let mut bytes = Vec::new();
    // A connection that is dropped may be reset.
    let _ = stream.read_to_end(&mut bytes).await;
    assert!(bytes.is_empty(), "{}", String::from_utf8_lossy(&bytes));
}

#[tokio::test]
async fn connections_beyond_the_limit_of_an_address_are_closed_at_once() {
    let connections = limited(100, 2);
    let server = Server::with_connections(&connections).await;
    let first = connect(&server, &connections).await;
    let second = connect(&server, &connections).await;
    refused(connect(&server, &connections).await).await;
    assert_eq!(connections.count(ConnectionEvent::RefusedByAddress), 1);
    drop(first);
    until(|| connections.open() == 1).await;
    assert_eq!(server.post(JSON, &query("{ ok }")).await.status, 200);
    drop(second);
}

#[tokio::test]
async fn health_checks_are_answered_when_there_are_too_many_connections() {
    let connections = limited(1, 1_000);
    let server = Server::with_connections(&connections).await;
    let held = connect(&server, &connections).await;
    let overloaded = server.post(JSON, &query("{ ok }")).await;
    assert_eq!(
        (overloaded.status, overloaded.code().as_str()),
        (503, "UNAVAILABLE")
    );
    assert_eq!(overloaded.header("retry-after"), Some("1"));
    for path in ["/health/live", "/health/ready"] {
        // The server closes the connection after the response.
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(server.ask(&request).await.status, 200, "{path}");
    }
    assert_eq!(connections.count(ConnectionEvent::RefusedInAll), 3);
    drop(held);
    until(|| connections.open() == 0).await;
    assert_eq!(server.post(JSON, &query("{ ok }")).await.status, 200);
}

#[tokio::test]
async fn far_beyond_the_limit_connections_are_closed_at_once() {
    let connections = limited(3, 1_000);
    let server = Server::with_connections(&connections).await;
    let mut held = Vec::new();
    for _ in 0..3 + MAX_ANSWERED_ONCE {
        held.push(connect(&server, &connections).await);
    }
    refused(connect(&server, &connections).await).await;
    assert!(connections.open() <= 3 + MAX_ANSWERED_ONCE);
}

#[tokio::test]
async fn a_web_socket_counts_as_a_connection_until_it_is_closed() {
    let connections = limited(100, 100);
    let server = Server::with_connections(&connections).await;
    let client = Client::ready(&server).await;
    assert_eq!(connections.open(), 1);
    drop(client);
    until(|| connections.open() == 0).await;
    assert_eq!(server.sockets.connections(), 0);
}

#[tokio::test]
async fn an_open_request_is_answered_when_the_server_stops() {
    let connections = limited(100, 100);
    let mut server = Server::with_connections(&connections).await;
    let open = server.send(&super::post(JSON, &query("{ gated }"))).await;
    server.gate.started().await;
    let idle = connect(&server, &connections).await;
    server.stop.send(()).unwrap();
    refused(idle).await;
    server.gate.open(1);
    assert_eq!(read(open).await.body, r#"{"data":{"gated":1}}"#);
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
    assert_eq!(connections.open(), 0);
}
