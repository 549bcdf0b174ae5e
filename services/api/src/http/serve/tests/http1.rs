//! Time limits of HTTP/1.1.

use tokio::{io::AsyncWriteExt, time::sleep};

use super::{super::ConnectionEvent, Memory, SECOND};

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_is_disconnected() {
    let mut server = Memory::start();
    let mut client = server.connect();
    assert_eq!(client.closed().await, b"");
    assert_eq!(client.age(), 10);
    assert_eq!(server.count(ConnectionEvent::HeaderTimeout), 1);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_its_header_byte_by_byte_is_disconnected() {
    let mut server = Memory::start();
    let mut client = server.connect();
    let mut sent = 0;
    for byte in b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".chunks(1) {
        if client.stream.write_all(byte).await.is_err() {
            break;
        }
        sent += 1;
        sleep(SECOND).await;
    }
    assert!((10..=11).contains(&sent), "{sent} bytes, one each second");
    assert_eq!(server.count(ConnectionEvent::HeaderTimeout), 1);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_for_a_while_and_then_closed() {
    let mut server = Memory::start();
    let mut client = server.connect();
    for _ in 0..3 {
        let response = client.get("/").await;
        assert!(response.ends_with("hello"), "{response}");
        sleep(74 * SECOND).await;
    }
    client.get("/").await;
    assert_eq!(client.closed().await, b"");
    assert_eq!(client.age(), 3 * 74 + 75);
    assert_eq!(server.count(ConnectionEvent::HeaderTimeout), 0);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_later_header_has_as_much_time_as_the_first() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.get("/").await;
    sleep(30 * SECOND).await;
    client.send("GET / HT").await;
    assert_eq!(client.closed().await, b"");
    assert_eq!(client.age(), 40);
    assert_eq!(server.count(ConnectionEvent::HeaderTimeout), 1);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_response_is_delivered() {
    let mut server = Memory::start();
    let mut client = server.connect();
    for _ in 0..5 {
        let response = client.get("/slow").await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    assert_eq!(client.age(), 250);
    assert_eq!(server.count(ConnectionEvent::ResponseTimeout), 0);
    drop(client);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.ended().await;
    assert!((60..=120).contains(&client.age()), "{}", client.age());
    assert_eq!(server.count(ConnectionEvent::ResponseTimeout), 1);
}

#[tokio::test(start_paused = true)]
async fn a_large_response_arrives_as_a_whole() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client
        .send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await;
    let response = String::from_utf8(client.closed().await).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-length: 1310720"), "{head}");
    assert_eq!(body.len(), 1_310_720);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_header_that_is_too_large_is_refused() {
    let mut server = Memory::start();
    let mut client = server.connect();
    let query = "x".repeat(40_000);
    let response = client.get(&format!("/?{query}")).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let _ = client
        .stream
        .write_all(format!("GET /?{query}{query} HTTP/1.1\r\n").as_bytes())
        .await;
    let response = String::from_utf8(client.closed().await).unwrap();
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_request_end_when_the_server_stops() {
    let mut server = Memory::start();
    let (mut silent, mut idle) = (server.connect(), server.connect());
    idle.get("/").await;
    server.server.stopping.cancel();
    assert_eq!(
        (silent.closed().await, idle.closed().await),
        (vec![], vec![])
    );
    assert_eq!((silent.age(), idle.age()), (0, 0));
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_is_answered_when_the_server_stops() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await;
    sleep(SECOND).await;
    server.server.stopping.cancel();
    let response = String::from_utf8(client.closed().await).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert_eq!(client.age(), 50);
    server.ended().await;
}
