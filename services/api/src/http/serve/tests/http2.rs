//! Limits of HTTP/2, with a client of raw frames.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{Client, ConnectionLimits, Memory, SECOND};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET /` of the scheme `http`, from the static table of HPACK.
const GET: &[u8] = &[0x82, 0x84, 0x86];
const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A frame from the server.
#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    payload: Vec<u8>,
}

impl Client {
    /// Sends the preface and settings. With a window of 0, the server may send no bodies.
    async fn begin_http2(&mut self, window: u32) {
        let mut settings = vec![0, 4];
        settings.extend(window.to_be_bytes());
        self.send(PREFACE).await;
        self.send(frame(SETTINGS, 0, 0, &settings)).await;
    }

    /// Returns the next frame; `None` at the end.
    async fn frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some(Frame {
            kind: head[3],
            flags: head[4],
            payload,
        })
    }

    /// Returns the next frame of a kind. Responds to pings.
    async fn next(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let next = self.frame().await?;
            if next.kind == PING && next.flags == 0 {
                // The server may have closed the connection meanwhile.
                let pong = frame(PING, ACK, 0, &next.payload);
                let _ = self.stream.write_all(&pong).await;
            }
            if next.kind == kind {
                return Some(next);
            }
        }
    }

    async fn request(&mut self, stream: u32) {
        self.send(frame(HEADERS, END_STREAM | END_HEADERS, stream, GET))
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_limits_are_announced() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    let settings = client.next(SETTINGS).await.unwrap().payload;
    let setting = |id: u8| {
        let mut settings = settings.chunks(6);
        let found = settings.find(|setting| setting[..2] == [0, id])?;
        Some(u32::from_be_bytes(found[2..].try_into().unwrap()))
    };
    let limits = ConnectionLimits::default();
    assert_eq!(setting(3), Some(limits.streams));
    assert_eq!(setting(4), Some(256 * 1024));
    assert_eq!(setting(6), Some(limits.header_bytes));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_request_is_disconnected() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    assert!(client.next(DATA).await.is_none());
    assert_eq!(client.age(), 10);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_told_to_go_away() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    client.request(1).await;
    assert_eq!(client.next(DATA).await.unwrap().payload, b"hello");
    let nothing = timeout(70 * SECOND, client.next(DATA)).await;
    assert!(nothing.is_err(), "only pings are sent");
    client.request(3).await;
    assert_eq!(client.next(DATA).await.unwrap().payload, b"hello");
    assert!(client.next(GOAWAY).await.is_some());
    assert_eq!(client.age(), 145);
    while client.next(GOAWAY).await.is_some() {}
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_respond_to_pings_is_disconnected() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    client.request(1).await;
    server.ended().await;
    assert!((40..60).contains(&client.age()), "{}", client.age());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_lets_no_body_be_sent_is_disconnected() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(0).await;
    client.request(1).await;
    assert!(client.next(DATA).await.is_none());
    assert!((60..=120).contains(&client.age()), "{}", client.age());
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn rapid_resets_end_the_connection() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    let mut flood = Vec::new();
    for stream in (1..400).step_by(2) {
        flood.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, GET));
        flood.extend(frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
    }
    client.send(flood).await;
    let goaway = client.next(GOAWAY).await.expect("the server ends it");
    assert_eq!(goaway.payload[4..8], ENHANCE_YOUR_CALM);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn endless_headers_end_the_connection() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    let mut flood = frame(HEADERS, END_STREAM, 1, GET);
    for _ in 0..200 {
        flood.extend(frame(CONTINUATION, 0, 1, &[0x82; 200]));
    }
    client.send(flood).await;
    assert!(client.next(GOAWAY).await.is_some());
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn floods_of_pings_and_settings_use_bounded_memory() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    // Nobody reads the responses, so the server stops reading.
    let mut flood = frame(PING, 0, 0, &[0; 8]);
    flood.extend(frame(SETTINGS, 0, 0, &[]));
    let flood = flood.repeat(1_000);
    let mut sent = 0;
    while timeout(SECOND, client.send(&flood)).await.is_ok() {
        sent += flood.len();
        assert!(sent < 100 * super::BUFFER, "the server reads without end");
    }
    drop(client);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_is_answered_when_the_server_stops() {
    let mut server = Memory::start();
    let mut client = server.connect();
    client.begin_http2(65_535).await;
    client.request(1).await;
    server.server.stopping.cancel();
    assert_eq!(client.next(DATA).await.unwrap().payload, b"hello");
    assert!(client.next(GOAWAY).await.is_some());
    while client.next(GOAWAY).await.is_some() {}
    assert_eq!(client.age(), 0);
    server.ended().await;
}
