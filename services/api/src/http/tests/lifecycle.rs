//! Shutdown: open requests are answered, and idle connections are not awaited.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{JSON, Server, post, query, read};
use crate::http::Capacity;

fn keep_alive(body: &str) -> String {
    let length = body.len();
    format!("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{JSON}\r\n{body}")
}

#[tokio::test]
async fn an_idle_connection_does_not_delay_shutdown() {
    let mut server = Server::plain().await;
    let mut idle = server.send(&keep_alive(&query("{ ok }"))).await;
    let mut answer = [0; 12];
    idle.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let silent = server.send("").await;
    let halfway = server.send("POST /graphql HTTP/1.1\r\nHost").await;
    server.stop.send(()).unwrap();
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
    drop((idle, silent, halfway));
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let server = Server::plain().await;
    let mut stream = server.send(&keep_alive(&query("{ ok }"))).await;
    for _ in 0..3 {
        let mut bytes = vec![0; 4_096];
        let length = stream.read(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(text.ends_with(r#"{"data":{"ok":1}}"#), "{text}");
        stream
            .write_all(keep_alive(&query("{ ok }")).as_bytes())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_stopped_server_accepts_no_connections() {
    let mut server = Server::plain().await;
    assert_eq!(server.post(JSON, &query("{ ok }")).await.status, 200);
    server.stop.send(()).unwrap();
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
    assert!(
        tokio::net::TcpStream::connect(server.address)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn open_requests_are_answered_before_shutdown() {
    let grace = std::time::Duration::from_secs(20);
    let mut server = Server::with_grace(grace).await;
    let open = server.send(&post(JSON, &query("{ gated }"))).await;
    server.gate.started().await;
    server.stop.send(()).unwrap();
    server.gate.open(1);
    assert_eq!(read(open).await.body, r#"{"data":{"gated":1}}"#);
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
}

/// A request that never ends is abandoned after the shutdown timeout.
#[tokio::test]
async fn a_stuck_request_does_not_prevent_shutdown() {
    let capacity = Capacity {
        deadline: std::time::Duration::from_mins(1),
        ..Capacity::default()
    };
    let mut server = Server::start(capacity, |api| api).await;
    let stuck = server.send(&post(JSON, &query("{ gated }"))).await;
    server.gate.started().await;
    server.stop.send(()).unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), server.tasks.join_next());
    assert!(ended.await.unwrap().unwrap().unwrap().is_ok());
    assert_eq!(server.request_limiter.unfinished(), 1);
    drop(stuck);
}
