//! Invalid messages and frames.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use super::{Client, Server, limited, until};

#[tokio::test]
async fn invalid_messages_close_the_connection() {
    let server = Server::plain().await;
    let deep = format!(
        r#"{{"type":"ping","payload":{{"a":{}}}}}"#,
        "[".repeat(10_000)
    );
    for text in [
        "",
        "nonsense",
        "{",
        "[]",
        "{}",
        r#"{"type":"start"}"#,
        r#"{"type":"connection_ack"}"#,
        r#"{"type":"subscribe","id":"a","payload":{"query":1}}"#,
        r#"{"type":"subscribe","id":"a","payload":{"query":"{ ok }","variables":{"a":1,"a":2}}}"#,
        r#"{"type":"subscribe","id":"a","payload":null}"#,
        r#"{"type":"subscribe","id":"","payload":{"query":"{ ok }"}}"#,
        r#"{"type":"complete"}"#,
        deep.as_str(),
    ] {
        let mut client = Client::ready(&server).await;
        client.send_frame(Message::text(text)).await;
        let (code, reason) = client.closed().await;
        assert_eq!(code, 4400, "{text}");
        assert!(reason.starts_with("Invalid message: "), "{text}: {reason}");
    }
}

#[tokio::test]
async fn binary_messages_close_the_connection() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    let text = json!({ "type": "ping" }).to_string();
    client.send_frame(Message::binary(text.into_bytes())).await;
    assert_eq!(client.closed().await.0, 4400);
}

#[tokio::test]
async fn oversized_messages_close_the_connection() {
    let server = limited(|limits| limits.message_bytes = 1_000).await;
    let mut client = Client::ready(&server).await;
    let fits = json!({ "type": "ping", "payload": { "a": "x".repeat(900) } });
    client.send(&fits).await;
    assert_eq!(client.next_message().await["type"], "pong");
    let large = json!({ "type": "ping", "payload": { "a": "x".repeat(1_000) } });
    client.send(&large).await;
    let (code, reason) = client.closed().await;
    assert_eq!(code, 4400);
    assert!(reason.ends_with("at most 1000 bytes"), "{reason}");
}

/// Frames that violate the WebSocket protocol.
#[tokio::test]
async fn broken_frames_close_the_connection() {
    let server = Server::plain().await;
    for frame in [
        // Text without a mask.
        &[0x81, 0x02, b'{', b'}'][..],
        // Text that is not UTF-8, under a mask of zeros.
        &[0x81, 0x81, 0, 0, 0, 0, 0xff],
        // A continuation frame without a first frame.
        &[0x80, 0x80, 0, 0, 0, 0],
        // An unknown opcode.
        &[0x83, 0x80, 0, 0, 0, 0],
        // A declared length of 2^63 bytes.
        &[
            0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
        ],
    ] {
        let mut client = Client::ready(&server).await;
        client.socket.get_mut().write_all(frame).await.unwrap();
        assert_eq!(client.closed().await.0, 4400, "{frame:x?}");
    }
    until(|| server.sockets.connections() == 0).await;
}
