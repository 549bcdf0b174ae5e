//! A connection that is kept open, from an address behind a proxy.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection to the service.
pub(crate) struct Connection {
    stream: TcpStream,
    from: String,
    received: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str, from: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            from: from.to_owned(),
            received: Vec::new(),
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&mut self, request: &Value) -> Value {
        let (from, body) = (&self.from, request.to_string());
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\n\
             x-forwarded-for: {from}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
        let head = loop {
            let end = self
                .received
                .windows(4)
                .position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break self.received.drain(..end + 4).collect::<Vec<u8>>(),
                None => self.receive().await,
            }
        };
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.unwrap_or_else(|| panic!("{head}")).parse().unwrap();
        while self.received.len() < length {
            self.receive().await;
        }
        let body: Vec<u8> = self.received.drain(..length).collect();
        serde_json::from_slice(&body).unwrap()
    }

    async fn receive(&mut self) {
        let count = self.stream.read_buf(&mut self.received).await.unwrap();
        assert!(count > 0, "the service closed the connection");
    }
}
