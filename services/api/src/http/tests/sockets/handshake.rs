//! The WebSocket handshake and its refusals.

use axum::http::HeaderValue;
use tokio_tungstenite::tungstenite::Error;

use super::{Client, Server, limited};
use crate::http::{Capacity, tests::Answer};

const UPGRADE: &str = "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: WebSocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

async fn ask(server: &Server, headers: &str) -> Answer {
    server.ask(&format!("{UPGRADE}{headers}\r\n")).await
}

/// Returns the status, the body and the `Retry-After` header of a refusal.
fn refusal(outcome: Result<Client, Box<Error>>) -> (u16, String, Option<HeaderValue>) {
    let Err(Error::Http(response)) = outcome.map(drop).map_err(|error| *error) else {
        panic!("not refused over HTTP");
    };
    let wait = response.headers().get("retry-after").cloned();
    let (parts, body) = response.into_parts();
    let body = String::from_utf8(body.unwrap_or_default()).unwrap();
    (parts.status.as_u16(), body, wait)
}

#[tokio::test]
async fn other_protocols_are_refused() {
    let server = Server::plain().await;
    for headers in [
        "",
        "Sec-WebSocket-Protocol: graphql-ws\r\n",
        "Sec-WebSocket-Protocol: GRAPHQL-TRANSPORT-WS\r\n",
    ] {
        let answer = ask(&server, headers).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "BAD_USER_INPUT")
        );
        assert!(answer.body.contains("graphql-transport-ws"), "{answer:?}");
        assert!(answer.header("x-request-id").is_some());
    }
    assert_eq!(server.sockets.connections(), 0);
}

#[tokio::test]
async fn invalid_handshakes_are_refused() {
    let server = Server::plain().await;
    let version = UPGRADE.replace("Version: 13", "Version: 8");
    let answer = server.ask(&format!("{version}\r\n")).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (426, "BAD_USER_INPUT")
    );
    assert_eq!(answer.header("sec-websocket-version"), Some("13"));
    let keyless = UPGRADE.replace("Sec-WebSocket-Key", "Some-Key");
    let answer = server.ask(&format!("{keyless}\r\n")).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "BAD_USER_INPUT")
    );
}

/// The server may ignore an upgrade to another protocol.
#[tokio::test]
async fn other_upgrades_are_ignored() {
    let server = Server::plain().await;
    let upgrade = "Upgrade: h2c\r\n";
    let answer = server.get("/graphql?query=%7Bok%7D", upgrade).await;
    assert_eq!(answer.body, r#"{"data":{"ok":1}}"#);
    assert_eq!(server.get("/graphql", upgrade).await.status, 400);
    let answer = server
        .get("/graphql?query=subscription%7Bticks%7D", "")
        .await;
    assert_eq!(answer.status, 405);
}

#[tokio::test]
async fn only_listed_origins_may_open_websockets() {
    let shop = HeaderValue::from_static("https://shop.example");
    let server = Server::start(Capacity::default(), |api| api.origins([shop])).await;
    let own = format!("http://{}", server.address);
    for origin in ["https://shop.example", own.as_str()] {
        let connected = Client::connect(server.address, &[("origin", origin)]).await;
        assert!(connected.is_ok(), "{origin}");
    }
    for origin in ["https://evil.example", "null"] {
        let connected = Client::connect(server.address, &[("origin", origin)]).await;
        let (status, body, _) = refusal(connected);
        assert_eq!(status, 403, "{origin}");
        assert!(body.contains(r#""code":"FORBIDDEN""#), "{body}");
    }
}

#[tokio::test]
async fn excess_connections_are_refused() {
    let server = limited(|limits| limits.connections = 1).await;
    let first = Client::ready(&server).await;
    let (status, body, wait) = refusal(Client::connect(server.address, &[]).await);
    assert_eq!(status, 503);
    assert!(body.contains(r#""code":"UNAVAILABLE""#), "{body}");
    assert_eq!(wait, Some(HeaderValue::from(1)));
    drop(first);
    super::until(|| server.sockets.connections() == 0).await;
    Client::ready(&server).await;
}
