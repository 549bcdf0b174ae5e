//! A minimal HTTP/1.1 client for the real binary.

mod connection;

use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub use self::connection::Connection;

/// The timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An HTTP response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The status line and the headers, in lower case.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Reply {
    /// Returns the value of a header; its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Parses the body as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

/// Requests a page.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn get(address: &str, path: &str) -> anyhow::Result<Reply> {
    get_as(address, path, "*/*").await
}

/// Requests a page with this `Accept` header.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn get_as(address: &str, path: &str, accept: &str) -> anyhow::Result<Reply> {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: {accept}\r\nconnection: close\r\n\r\n"
    );
    exchange(address, &head).await
}

/// Sends a request without a body, with further headers.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn request(
    address: &str,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> anyhow::Result<Reply> {
    let headers = lines(headers);
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\n\r\n"
    );
    exchange(address, &head).await
}

/// Sends a body with POST, with further headers.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn send(
    address: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> anyhow::Result<Reply> {
    let body = body.as_ref();
    let (headers, length) = (lines(headers), body.len());
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    exchange(address, [head.as_bytes(), body].concat()).await
}

/// Sends a GraphQL query in the URL, with further headers.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn get_graphql(
    address: &str,
    query: &str,
    headers: &[(&str, &str)],
) -> anyhow::Result<Reply> {
    let encoded = query.bytes().map(|byte| format!("%{byte:02x}"));
    let target = format!("/graphql?query={}", encoded.collect::<String>());
    request(address, "GET", &target, headers).await
}

/// Sends a GraphQL query, with a token or without.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn graphql(address: &str, query: &str, token: Option<&str>) -> anyhow::Result<Reply> {
    exchange(address, &graphql_request(address, query, token)).await
}

/// Sends a GraphQL request with further headers.
///
/// # Errors
/// When the connection is refused, or no answer comes in time.
pub async fn graphql_with(
    address: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> anyhow::Result<Reply> {
    exchange(address, &post(address, &body.to_string(), &lines(headers))).await
}

fn lines(headers: &[(&str, &str)]) -> String {
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    lines.collect()
}

/// Sends a GraphQL query and returns the connection before the answer has come.
///
/// # Errors
/// When the connection is refused.
pub async fn send_graphql(address: &str, query: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(graphql_request(address, query, None).as_bytes())
        .await?;
    Ok(stream)
}

fn graphql_request(address: &str, query: &str, token: Option<&str>) -> String {
    let body = json!({ "query": query }).to_string();
    let token = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    post(address, &body, &token)
}

fn post(address: &str, body: &str, headers: &str) -> String {
    format!(
        "POST /graphql HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{headers}\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn exchange(address: &str, request: impl AsRef<[u8]>) -> anyhow::Result<Reply> {
    let exchanged = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_ref()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        anyhow::Ok(answer)
    };
    let answer = timeout(TIMEOUT, exchanged)
        .await
        .context("no answer in time")??;
    read(&String::from_utf8_lossy(&answer))
}

/// Reads an answer that ends with its connection and is not chunked.
fn read(answer: &str) -> anyhow::Result<Reply> {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        bail!("no HTTP answer: {answer:?}");
    };
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.with_context(|| format!("no status in {head:?}"))?;
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        bail!("a chunked answer: {head:?}");
    }
    Ok(Reply {
        status,
        head,
        body: body.to_owned(),
    })
}
