//! Shutdown: open requests are answered, idle connections are not waited for.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{JSON, Server, post, query, read};
use crate::http::Capacity;

fn keep_alive(body: &str) -> String {
    let length = body.len();
    format!("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{JSON}\r\n{body}")
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_end() {
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

/// No connection is accepted once the server has ended.
#[tokio::test]
async fn after_the_end_nobody_listens() {
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
async fn open_requests_are_answered_before_the_end() {
    let patience = std::time::Duration::from_secs(20);
    let mut server = Server::patient(patience, Capacity::default(), |api| api).await;
    let open = server.send(&post(JSON, &query("{ gated }"))).await;
    server.gate.started().await;
    server.stop.send(()).unwrap();
    server.gate.open(1);
    assert_eq!(read(open).await.body, r#"{"data":{"gated":1}}"#);
    assert!(server.tasks.join_next().await.unwrap().unwrap().is_ok());
}

/// A request that never ends is left behind when the patience is over.
#[tokio::test]
async fn a_stuck_request_does_not_hold_up_the_end() {
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
