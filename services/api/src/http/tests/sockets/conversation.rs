//! Operations that go well, or fail as operations do.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{Client, Server, complete, next, subscribe};
use crate::http::tests::{JSON, query};

#[tokio::test]
async fn a_subscription_is_answered_until_it_ends() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client
        .say(&json!({ "type": "subscribe", "id": "a", "payload": {
            "query": "query other { ok } subscription count($to: Int!) { n: numbers(to: $to) }",
            "operationName": "count",
            "variables": { "to": 2 },
            "extensions": null,
        } }))
        .await;
    assert_eq!(client.hear().await, next("a", &json!({ "n": 0 })));
    assert_eq!(client.hear().await, next("a", &json!({ "n": 1 })));
    assert_eq!(client.hear().await, complete("a"));
    client
        .say(&subscribe("a", "subscription { numbers(to: 0) }"))
        .await;
    assert_eq!(client.hear().await, complete("a"), "the id is free again");
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
        client.say(&subscribe("a", text)).await;
        assert_eq!(client.hear().await, next("a", &data));
        assert_eq!(client.hear().await, complete("a"));
    }
    client.say(&subscribe("b", "{ fails }")).await;
    let failed = client.hear().await;
    assert_eq!(failed["type"], "next", "execution had begun: {failed}");
    assert_eq!(failed["payload"]["data"], json!(null));
    let extensions = &failed["payload"]["errors"][0]["extensions"];
    assert_eq!(extensions["requestId"].as_str().unwrap().len(), 32);
    assert!(!failed.to_string().contains("secret"));
    assert_eq!(client.hear().await, complete("b"));
}

#[tokio::test]
async fn refused_documents_look_as_they_do_over_http() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for text in [
        "{",
        "{ nowhere }",
        "query ($x: Int!) { ok @skip(if: $x) }",
        "subscription { ticks other: ticks }",
        "subscription { numbers }",
    ] {
        client.say(&subscribe("a", text)).await;
        let refused = client.hear().await;
        assert_eq!(refused["type"], "error", "{text}: {refused}");
        assert_eq!(refused["id"], "a");
        let over_http = server.post(JSON, &query(text)).await.json();
        assert_eq!(refused["payload"], over_http["errors"], "{text}");
        assert_eq!(
            refused["payload"][0]["extensions"]["retryable"],
            json!(false)
        );
    }
    client.say(&subscribe("a", "{ ok }")).await;
    assert_eq!(client.hear().await, next("a", &json!({ "ok": 1 })));
}

#[tokio::test]
async fn operations_take_turns_on_one_connection() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for id in ["a", "b"] {
        client.say(&subscribe(id, "subscription { ticks }")).await;
    }
    server.feed.followed(2).await;
    for event in 0..3 {
        server.feed.tell(event);
        let mut heard = [client.hear().await, client.hear().await];
        heard.sort_by_key(|message| message["id"].to_string());
        let data = json!({ "ticks": event });
        assert_eq!(heard, [next("a", &data), next("b", &data)]);
    }
    assert_eq!(server.sockets.operations(), 2);
}

#[tokio::test]
async fn a_client_ends_one_operation_and_keeps_the_others() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    for id in ["a", "b"] {
        client.say(&subscribe(id, "subscription { ticks }")).await;
    }
    server.feed.followed(2).await;
    client.say(&complete("a")).await;
    server.feed.dropped(1).await;
    client.say(&complete("unknown")).await;
    server.feed.tell(7);
    assert_eq!(client.hear().await, next("b", &json!({ "ticks": 7 })));
    client
        .say(&subscribe("a", "subscription { numbers(to: 0) }"))
        .await;
    assert_eq!(client.hear().await, complete("a"), "the id is free again");
}

#[tokio::test]
async fn a_stream_that_panics_ends_with_an_internal_error() {
    let server = Server::plain().await;
    let mut client = Client::ready(&server).await;
    client.say(&subscribe("a", "subscription { panics }")).await;
    assert_eq!(client.hear().await, next("a", &json!({ "panics": 0 })));
    assert_internal(&client.hear().await);
    assert_eq!(client.hear().await, complete("a"));
    client.say(&subscribe("b", "subscription { fails }")).await;
    assert_internal(&client.hear().await);
    assert_eq!(client.hear().await, complete("b"));
    client.say(&subscribe("c", "{ ok }")).await;
    assert_eq!(client.hear().await, next("c", &json!({ "ok": 1 })));
}

fn assert_internal(message: &Value) {
    assert_eq!(message["type"], "next", "{message}");
    assert_eq!(message["payload"]["data"], json!(null));
    let error = &message["payload"]["errors"][0];
    assert_eq!(error["extensions"]["code"], "INTERNAL", "{message}");
    assert!(!message.to_string().contains("secret"), "{message}");
}

#[tokio::test]
async fn pings_are_answered_in_both_languages() {
    let server = Server::plain().await;
    let mut client = Client::silent(&server).await;
    client.say(&json!({ "type": "ping" })).await;
    assert_eq!(client.hear().await, json!({ "type": "pong" }));
    client
        .say(&json!({ "type": "ping", "payload": { "at": 1 } }))
        .await;
    let pong = json!({ "type": "pong", "payload": { "at": 1 } });
    assert_eq!(client.hear().await, pong);
    client.say(&json!({ "type": "pong" })).await;
    client.send(Message::Ping("x".into())).await;
    let answer = client.receive().await.unwrap().unwrap();
    assert_eq!(answer, Message::Pong("x".into()));
}
