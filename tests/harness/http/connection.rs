//! A connection that is kept open between requests.

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Reply, TIMEOUT};

/// A connection to the service from an address behind a proxy.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    from: String,
    received: Vec<u8>,
}

impl Connection {
    /// Opens a connection. The service must trust this machine as a proxy to see the address `from`.
    ///
    /// # Errors
    /// When the connection is refused.
    pub async fn open(address: &str, from: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            from: from.to_owned(),
            received: Vec::new(),
        })
    }

    /// Sends a GraphQL request, with a token or without, and waits for its answer.
    ///
    /// # Errors
    /// When the connection ends, or no answer comes in time.
    pub async fn ask(&mut self, body: &[u8], token: Option<&str>) -> anyhow::Result<Reply> {
        self.send(body, token).await?;
        let answer = timeout(TIMEOUT, self.answer()).await;
        answer.context("no answer in time")?
    }

    /// Sends a GraphQL request and does not wait for its answer.
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn send(&mut self, body: &[u8], token: Option<&str>) -> anyhow::Result<()> {
        let token = token.map_or_else(String::new, |token| {
            format!("authorization: Bearer {token}\r\n")
        });
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\n\
             x-forwarded-for: {}\r\n{token}content-length: {}\r\n\r\n",
            self.from,
            body.len()
        );
        self.write(&[head.as_bytes(), body].concat()).await
    }

    /// Sends bytes, which may be any.
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    async fn answer(&mut self) -> anyhow::Result<Reply> {
        let head = loop {
            let mut windows = self.received.windows(4);
            match windows.position(|four| four == b"\r\n\r\n") {
                Some(end) => break self.received.drain(..end + 4).collect::<Vec<u8>>(),
                None => self.receive().await?,
            }
        };
        let head = String::from_utf8(head)?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no status in {head:?}"))?;
        let mut lines = head.lines();
        let length = lines.find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length
            .with_context(|| format!("no length in {head:?}"))?
            .parse()?;
        while self.received.len() < length {
            self.receive().await?;
        }
        let body = self.received.drain(..length).collect();
        let body = String::from_utf8(body)?;
        Ok(Reply { status, head, body })
    }

    async fn receive(&mut self) -> anyhow::Result<()> {
        if self.stream.read_buf(&mut self.received).await? == 0 {
            bail!("the service closed the connection");
        }
        Ok(())
    }
}
