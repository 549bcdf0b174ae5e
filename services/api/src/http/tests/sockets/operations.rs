//! Operations that succeed or fail individually.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{Client, Server, complete, next, subscribe};
use crate::http::tests::{JSON, query};

#[tokio::test]
async fn a_subscription_is_answered_until_it_ends() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client
        .send(&json!({ "type": "subscribe", "id": "a", "payload": {
            "query": "query other { ok } subscription count($to: Int!) { n: numbers(to: $to) }",
            "operationName": "count",
            "variables": { "to": 2 },
            "extensions": null,
        } }))
        .await;
    assert_eq!(client.next_message().await, next("a", &json!({ "n": 0 })));
    assert_eq!(client.next_message().await, next("a", &json!({ "n": 1 })));
    assert_eq!(client.next_message().await, complete("a"));
    client
        .send(&subscribe("a", "subscription { numbers(to: 0) }"))
        .await;
    assert_eq!(
        client.next_message().await,
        complete("a"),
        "the id is free again"
    );
    assert_eq!(server.sockets.operations_started(), 2);
    assert_eq!(server.sockets.connections(), 1);
}

#[tokio::test]
async fn queries_and_mutations_are_answered_once() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for (text, data) in [
        ("{ b: ok a: ok }", json!({ "b": 1, "a": 1 })),
        ("mutation { change }", json!({ "change": 2 })),
    ] {
        client.send(&subscribe("a", text)).await;
        assert_eq!(client.next_message().await, next("a", &data));
        assert_eq!(client.next_message().await, complete("a"));
    }
    client.send(&subscribe("b", "{ fails }")).await;
    let failed = client.next_message().await;
    assert_eq!(failed["type"], "next", "execution had started: {failed}");
    assert_eq!(failed["payload"]["data"], json!(null));
    let extensions = &failed["payload"]["errors"][0]["extensions"];
    assert_eq!(extensions["requestId"].as_str().unwrap().len(), 32);
    assert!(!failed.to_string().contains("secret"));
    assert_eq!(client.next_message().await, complete("b"));
}

#[tokio::test]
async fn refused_documents_have_the_same_errors_as_over_http() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for text in [
        "{",
        "{ nowhere }",
        "query ($x: Int!) { ok @skip(if: $x) }",
        "subscription { ticks other: ticks }",
        "subscription { numbers }",
    ] {
        client.send(&subscribe("a", text)).await;
        let refused = client.next_message().await;
        assert_eq!(refused["type"], "error", "{text}: {refused}");
        assert_eq!(refused["id"], "a");
        let over_http = server.post(JSON, &query(text)).await.json();
        assert_eq!(refused["payload"], over_http["errors"], "{text}");
        assert_eq!(
            refused["payload"][0]["extensions"]["retryable"],
            json!(false)
        );
    }
    client.send(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.next_message().await, next("a", &json!({ "ok": 1 })));
}

#[tokio::test]
async fn operations_share_one_connection() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for id in ["a", "b"] {
        client.send(&subscribe(id, "subscription { ticks }")).await;
    }
    server.feed.followed(2).await;
    for event in 0..3 {
        server.feed.send(event);
        let mut received = [client.next_message().await, client.next_message().await];
        received.sort_by_key(|message| message["id"].to_string());
        let data = json!({ "ticks": event });
        assert_eq!(received, [next("a", &data), next("b", &data)]);
    }
    assert_eq!(server.sockets.operations(), 2);
}

#[tokio::test]
async fn completing_one_operation_keeps_the_others() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for id in ["a", "b"] {
        client.send(&subscribe(id, "subscription { ticks }")).await;
    }
    server.feed.followed(2).await;
    client.send(&complete("a")).await;
    server.feed.dropped(1).await;
    client.send(&complete("unknown")).await;
    server.feed.send(7);
    assert_eq!(
        client.next_message().await,
        next("b", &json!({ "ticks": 7 }))
    );
    client
        .send(&subscribe("a", "subscription { numbers(to: 0) }"))
        .await;
    assert_eq!(
        client.next_message().await,
        complete("a"),
        "the id is free again"
    );
}

#[tokio::test]
async fn a_stream_that_panics_ends_with_an_internal_error() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client
        .send(&subscribe("a", "subscription { panics }"))
        .await;
    assert_eq!(
        client.next_message().await,
        next("a", &json!({ "panics": 0 }))
    );
    assert_internal(&client.next_message().await);
    assert_eq!(client.next_message().await, complete("a"));
    client.send(&subscribe("b", "subscription { fails }")).await;
    assert_internal(&client.next_message().await);
    assert_eq!(client.next_message().await, complete("b"));
    client.send(&subscribe("c", "{ ok }")).await;
    assert_eq!(client.next_message().await, next("c", &json!({ "ok": 1 })));
}

fn assert_internal(message: &Value) {
    assert_eq!(message["type"], "next", "{message}");
    assert_eq!(message["payload"]["data"], json!(null));
    let error = &message["payload"]["errors"][0];
    assert_eq!(error["extensions"]["code"], "INTERNAL", "{message}");
    assert!(!message.to_string().contains("secret"), "{message}");
}

#[tokio::test]
async fn pings_of_websocket_and_of_the_protocol_are_answered() {
    let server = Server::plain().await;
    let mut client = Client::uninitialised(&server).await;
    client.send(&json!({ "type": "ping" })).await;
    assert_eq!(client.next_message().await, json!({ "type": "pong" }));
    client
        .send(&json!({ "type": "ping", "payload": { "at": 1 } }))
        .await;
    let pong = json!({ "type": "pong", "payload": { "at": 1 } });
    assert_eq!(client.next_message().await, pong);
    client.send(&json!({ "type": "pong" })).await;
    client.send_frame(Message::Ping("x".into())).await;
    let answer = client.next_frame().await.unwrap().unwrap();
    assert_eq!(answer, Message::Pong("x".into()));
}
