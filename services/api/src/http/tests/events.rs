//! GraphQL over server-sent events, tested with a client that reads bytes.

use std::{sync::Arc, time::Duration};

use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{Instant, timeout},
};

use super::{JSON, Server, post, query, sockets::until};
use crate::{
    execution::{CostCheck, ErrorCode, Failure},
    http::{Api, Capacity, HeaderValue, RequestContext, SocketLimits, Sockets, bearer},
};

/// What a client of the protocol sends.
const EVENTS: &str = "Content-Type: application/json\r\nAccept: text/event-stream\r\n";
/// Long enough for anything that is not stuck.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A client that reads the events of one stream.
struct Events(BufReader<TcpStream>);

/// An event with its data, a comment, or the end of the stream.
#[derive(Debug, PartialEq)]
enum Received {
    Next(Value),
    Complete,
    Comment,
    End,
}

impl Events {
    /// Sends a request and reads the head of the response.
    async fn open(server: &Server, request: &str) -> Self {
        let stream = server.send(request).await;
        let mut events = Self(BufReader::new(stream));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            events.0.read_line(&mut head).await.unwrap();
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        events
    }

    /// Subscribes, and reads the keep-alive with which every stream begins.
    async fn subscribe(server: &Server, headers: &str, text: &str) -> Self {
        let headers = format!("{EVENTS}{headers}");
        let mut events = Self::open(server, &post(&headers, &query(text))).await;
        assert_eq!(events.received().await, Received::Comment);
        events
    }

    async fn received(&mut self) -> Received {
        let lines = timeout(TIMEOUT, self.lines()).await;
        let lines = lines.expect("an event arrives in time");
        match lines.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Received::End,
            [":"] => Received::Comment,
            ["event: complete", "data:"] => Received::Complete,
            ["event: next", data] => {
                let data = data.strip_prefix("data: ").unwrap();
                Received::Next(serde_json::from_str(data).unwrap())
            }
            ref other => panic!("{other:?}"),
        }
    }

    /// Returns the lines of the next block; none at the end. Skips the frames of the transfer
    /// coding.
    async fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap() == 0 {
                return lines;
            }
            match line.strip_suffix("\r\n") {
                Some(_) => {}
                None if line == "\n" => return lines,
                None => lines.push(line.trim_end().to_owned()),
            }
        }
    }

    async fn all(mut self) -> Vec<Received> {
        let mut all = Vec::new();
        loop {
            match self.received().await {
                Received::End => return all,
                other => all.push(other),
            }
        }
    }
}

fn next(data: &Value) -> Received {
    Received::Next(json!({ "data": data }))
}

async fn limited(limit: impl FnOnce(&mut SocketLimits)) -> Server {
    let mut limits = SocketLimits::default();
    limit(&mut limits);
    let sockets = Sockets::new(limits);
    let authenticate = |headers: &HeaderMap| {
        let subject = bearer(headers)?.map(Arc::from);
        Ok(RequestContext::new().subject(subject))
    };
    let configure = |api: Api| api.sockets(sockets).authenticate(authenticate);
    Server::start(Capacity::default(), configure).await
}

#[tokio::test]
async fn queries_and_mutations_have_one_event_and_an_end() {
    let server = Server::plain().await;
    for (text, data) in [
        ("{ ok }", json!({ "ok": 1 })),
        ("mutation { change }", json!({ "change": 2 })),
    ] {
        let events = Events::subscribe(&server, "", text).await;
        assert_eq!(events.all().await, [next(&data), Received::Complete]);
    }
    until(|| server.sockets.connections() == 0 && server.sockets.operations() == 0).await;
    assert_eq!(server.sockets.operations_started(), 2);
}

#[tokio::test]
async fn a_subscription_has_one_event_for_each_response() {
    let server = Server::plain().await;
    let text = "subscription { numbers(to: 3) }";
    let events = Events::subscribe(&server, "", text).await.all().await;
    let number = |number: i32| next(&json!({ "numbers": number }));
    assert_eq!(
        events,
        [number(0), number(1), number(2), Received::Complete]
    );
}

#[tokio::test]
async fn events_are_sent_as_they_happen_until_the_client_leaves() {
    let server = Server::plain().await;
    let mut events = Events::subscribe(&server, "", "subscription { ticks }").await;
    server.feed.followed(1).await;
    for tick in [1, 2] {
        server.feed.send(tick);
        assert_eq!(events.received().await, next(&json!({ "ticks": tick })));
    }
    drop(events);
    server.feed.dropped(1).await;
    until(|| server.sockets.connections() == 0).await;
}

/// Browsers send their requests with GET.
#[tokio::test]
async fn a_url_can_subscribe_and_cannot_change_anything() {
    let server = Server::plain().await;
    let get = |text: &str, accept: &str| {
        let text = text.replace(' ', "%20");
        format!(
            "GET /graphql?query={text} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{accept}\r\n"
        )
    };
    let accept = "Accept: text/event-stream\r\n";
    let text = "subscription{numbers(to:1)}";
    let events = Events::open(&server, &get(text, accept)).await.all().await;
    let number = next(&json!({ "numbers": 0 }));
    assert_eq!(events, [Received::Comment, number, Received::Complete]);
    let refused = server.ask(&get("mutation{change}", accept)).await;
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("post"))
    );
    let refused = server.ask(&get(text, "")).await;
    assert_eq!(refused.status, 405);
}

/// A browser does not show programs the body of a failed request.
#[tokio::test]
async fn an_invalid_request_is_answered_with_an_event() {
    let server = Server::plain().await;
    for (body, code) in [
        (query("{ nowhere }"), "GRAPHQL_VALIDATION_FAILED"),
        (query("{"), "GRAPHQL_PARSE_FAILED"),
        (
            json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": "a".repeat(64) } } })
                .to_string(),
            "PERSISTED_QUERY_NOT_FOUND",
        ),
    ] {
        let events = Events::open(&server, &post(EVENTS, &body)).await.all().await;
        let [Received::Comment, Received::Next(answer), Received::Complete] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(answer["errors"][0]["extensions"]["code"], code);
        assert!(answer.get("data").is_none());
    }
    let malformed = server.post(EVENTS, "{").await;
    assert_eq!(
        (malformed.status, malformed.code()),
        (400, "BAD_USER_INPUT".to_owned())
    );
    let events = Events::subscribe(&server, "", "subscription { fails }").await;
    let [Received::Next(failed), Received::Complete] = &events.all().await[..] else {
        panic!("a response and the end");
    };
    assert_eq!(failed["errors"][0]["extensions"]["code"], "INTERNAL");
}

#[tokio::test]
async fn a_caller_who_fails_to_authenticate_gets_an_http_error() {
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(|_| Err(Failure::new(ErrorCode::Unauthenticated, "Who are you?")))
    })
    .await;
    let refused = server.post(EVENTS, &query("subscription { ticks }")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (401, "UNAUTHENTICATED".to_owned())
    );
    assert!(
        refused
            .header("content-type")
            .unwrap()
            .starts_with("application/json")
    );
    assert_eq!(server.sockets.operations_started(), 0);
}

/// Who accepts JSON as well gets a stream only for what needs one.
#[tokio::test]
async fn only_subscriptions_need_a_stream() {
    let server = Server::plain().await;
    let both = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let answer = server.post(both, &query("{ ok }")).await;
    assert_eq!(answer.body, r#"{"data":{"ok":1}}"#);
    let text = "subscription { numbers(to: 1) }";
    let events = Events::open(&server, &post(both, &query(text))).await;
    assert_eq!(events.all().await.len(), 3);
    let refused = server.post(JSON, &query(text)).await;
    assert_eq!(
        (refused.status, refused.code()),
        (200, "BAD_USER_INPUT".to_owned())
    );
}

#[tokio::test]
async fn a_stream_is_neither_compressed_nor_stored_and_other_origins_may_read_it() {
    let server = Server::start(Capacity::default(), |api| {
        api.origins([HeaderValue::from_static("https://shop.example")])
    })
    .await;
    let headers = format!("{EVENTS}Accept-Encoding: gzip\r\nOrigin: https://shop.example\r\n");
    let text = "subscription { numbers(to: 1000) }";
    let mut stream = server.send(&post(&headers, &query(text))).await;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let answer = super::Answer::parse(&text);
    assert_eq!(
        answer.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let origin = answer.header("access-control-allow-origin");
    assert_eq!(origin, Some("https://shop.example"));
    assert!(answer.body.contains(r#"data: {"data":{"numbers":999}}"#));
}

#[tokio::test]
async fn a_quiet_stream_shows_that_it_is_alive() {
    let server = limited(|limits| limits.ping_interval = Duration::from_millis(20)).await;
    let mut events = Events::subscribe(&server, "", "subscription { ticks }").await;
    for _ in 0..3 {
        assert_eq!(events.received().await, Received::Comment);
    }
}

#[tokio::test]
async fn the_number_of_streams_is_limited_by_client() {
    let server = limited(|limits| limits.connections_per_client = 2).await;
    let (ticks, ada) = ("subscription { ticks }", "Authorization: Bearer ada\r\n");
    let streams = [
        Events::subscribe(&server, ada, ticks).await,
        Events::subscribe(&server, ada, ticks).await,
    ];
    let again = async || server.post(&format!("{EVENTS}{ada}"), &query(ticks)).await;
    let refused = again().await;
    assert_eq!(
        (refused.status, refused.code()),
        (429, "RATE_LIMITED".to_owned())
    );
    assert_eq!(refused.header("retry-after"), Some("10"));
    let ben = Events::subscribe(&server, "Authorization: Bearer ben\r\n", "{ ok }").await;
    assert_eq!(ben.all().await.len(), 2);
    drop(streams);
    until(|| server.sockets.connections() == 0).await;
    Events::subscribe(&server, ada, ticks).await;
}

#[tokio::test]
async fn the_number_of_operations_is_limited_by_client() {
    let server = limited(|limits| limits.operations_per_client = 1).await;
    let (ticks, ada) = ("subscription { ticks }", "Authorization: Bearer ada\r\n");
    let _open = Events::subscribe(&server, ada, ticks).await;
    let refused = server.post(&format!("{EVENTS}{ada}"), &query(ticks)).await;
    assert_eq!(
        (refused.status, refused.code()),
        (429, "RATE_LIMITED".to_owned())
    );
}

#[tokio::test]
async fn every_event_has_its_price_before_anything_is_resolved_for_it() {
    let paid = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(move |_| {
            let paid = Arc::clone(&paid);
            Ok(RequestContext::new().cost_check(move |_| CostCheck {
                outcome: match paid.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                    0 | 1 => Ok(()),
                    _ => Err(Failure::new(ErrorCode::RateLimited, "Slow down.")),
                },
                ..CostCheck::free()
            }))
        })
    })
    .await;
    let text = "subscription { priced(to: 9) { number } }";
    let events = Events::subscribe(&server, "", text).await.all().await;
    let [
        Received::Next(_),
        Received::Next(_),
        Received::Next(refused),
        Received::Complete,
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(refused["errors"][0]["message"], "Slow down.");
    assert!(refused.get("data").is_none(), "{refused}");
    assert_eq!(server.feed.resolved(), 2);
}

/// A client that does not read is dropped, and only a few events are computed for it.
#[tokio::test]
async fn a_client_that_does_not_read_is_dropped() {
    let server = limited(|limits| limits.send_timeout = Duration::from_millis(200)).await;
    let flood = query("subscription { flood(bytes: 100000) }");
    let mut stream = server.send(&post(EVENTS, &flood)).await;
    server.feed.followed(1).await;
    server.feed.dropped(1).await;
    assert_eq!(server.sockets.dropped_slow(), 1);
    assert!(server.feed.produced() < 1_000, "{}", server.feed.produced());
    until(|| server.sockets.connections() == 0).await;
    // What was sent before ends without `complete`.
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    assert!(!String::from_utf8(bytes).unwrap().contains("complete"));
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let expires_at = Instant::now() + Duration::from_millis(300);
    let server = Server::start(Capacity::default(), |api| {
        api.authenticate(move |_| Ok(RequestContext::new().expires_at(Some(expires_at))))
    })
    .await;
    let mut events = Events::subscribe(&server, "", "subscription { ticks }").await;
    assert_eq!(events.received().await, Received::End);
    assert!(Instant::now() >= expires_at);
}

#[tokio::test]
async fn streams_end_when_the_service_stops_and_queries_are_answered() {
    let grace = Duration::from_secs(20);
    let mut server = Server::with_grace(grace).await;
    let mut ticks = Events::subscribe(&server, "", "subscription { ticks }").await;
    let mut gated = Events::subscribe(&server, "", "{ gated }").await;
    server.gate.started().await;
    server.stop.send(()).unwrap();
    assert_eq!(ticks.received().await, Received::End);
    server.gate.open(1);
    assert_eq!(gated.received().await, next(&json!({ "gated": 1 })));
    assert_eq!(gated.received().await, Received::Complete);
    let stopped = timeout(grace, server.tasks.join_next()).await;
    assert!(stopped.expect("nothing is left open").unwrap().is_ok());
    assert!(server.sockets.close(TIMEOUT).await);
}

/// A mutation runs to its end, whoever waits for it.
#[tokio::test]
async fn a_mutation_outlives_its_stream() {
    let server = Server::plain().await;
    let events = Events::subscribe(&server, "", "mutation { gated }").await;
    server.gate.started().await;
    drop(events);
    until(|| server.sockets.connections() == 0).await;
    server.gate.open(1);
    until(|| server.gate.finished() == 1).await;
}

#[tokio::test]
async fn a_fault_in_a_stream_is_an_internal_error() {
    let server = Server::plain().await;
    let events = Events::subscribe(&server, "", "subscription { panics }").await;
    let events = events.all().await;
    let [
        Received::Next(_),
        Received::Next(failed),
        Received::Complete,
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(failed["errors"][0]["extensions"]["code"], "INTERNAL");
}

/// The response timeout is for responses that are not read.
#[tokio::test]
async fn a_stream_lasts_longer_than_other_responses() {
    use crate::http::{ConnectionLimits, Connections, Listener};
    let limits = ConnectionLimits {
        response_timeout: Duration::from_millis(100),
        ..ConnectionLimits::default()
    };
    let sockets = Sockets::new(SocketLimits {
        ping_interval: Duration::from_millis(20),
        ..SocketLimits::default()
    });
    let parts = super::Parts::new(Capacity::default(), |api| api.sockets(sockets));
    let connections = Connections::new(limits, []);
    let configure = |listener: Listener| listener.connections(connections);
    let server = Server::listening(TIMEOUT, parts, configure).await;
    let mut events = Events::subscribe(&server, "", "subscription { ticks }").await;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        assert_eq!(events.received().await, Received::Comment);
    }
}

/// What a client sends after its request is not read as part of it.
#[tokio::test]
async fn a_stream_over_a_connection_that_stays_open() {
    let server = Server::plain().await;
    let request = post(EVENTS, &query("{ ok }")).replace("Connection: close\r\n", "");
    let mut events = Events::open(&server, &request).await;
    for expected in [
        Received::Comment,
        next(&json!({ "ok": 1 })),
        Received::Complete,
    ] {
        assert_eq!(events.received().await, expected);
    }
    let again = post(JSON, &query("{ ok }"));
    events
        .0
        .get_mut()
        .write_all(again.as_bytes())
        .await
        .unwrap();
    let mut rest = String::new();
    events.0.read_to_string(&mut rest).await.unwrap();
    assert!(rest.ends_with(r#"{"data":{"ok":1}}"#), "{rest}");
}
