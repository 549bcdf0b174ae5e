//! Reads the body of a request, with limits on size and time.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, StatusCode, header},
};
use futures_util::StreamExt;

use crate::execution::GraphqlRequest;

/// The maximum size of a body.
const MAX_BYTES: usize = 256 * 1024;

/// The time limit for receiving a body.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a body could not be read as a request.
pub(super) struct BodyError {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl BodyError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}

/// Reads the body as a GraphQL request.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<GraphqlRequest, BodyError> {
    if !is_identity(headers) {
        let message = "The body is compressed; send it as it is.";
        return Err(BodyError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if declared_length(headers).is_some_and(|length| length > MAX_BYTES) {
        return Err(too_large());
    }
    let bytes = tokio::time::timeout(READ_TIMEOUT, collect(body.into_data_stream())).await;
    let bytes = bytes.map_err(|_| {
        BodyError::new(
            StatusCode::REQUEST_TIMEOUT,
            "The body took too long to arrive.",
        )
    })??;
    parse(&bytes)
}

async fn collect(mut chunks: BodyDataStream) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| bad("The body could not be read to its end."))?;
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Whether the body is not compressed. Decompression could turn a small body into a large one.
pub(super) fn is_identity(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let mut codings = codings.filter_map(|value| value.to_str().ok());
    codings.all(|coding| coding.trim().eq_ignore_ascii_case("identity"))
}

fn parse(bytes: &[u8]) -> Result<GraphqlRequest, BodyError> {
    // RFC 8259 section 8.1 allows to ignore a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'[') {
        return Err(bad(
            "Batches are not supported: send one request at a time.",
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        if error.is_data() {
            bad(format!("The body is not a GraphQL request: {error}."))
        } else {
            bad(format!(
                "The body is not JSON, see line {line}, column {column}."
            ))
        }
    })
}

pub(super) fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn too_large() -> BodyError {
    let message = format!("The body is larger than {} KiB.", MAX_BYTES / 1024);
    BodyError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

fn bad(message: impl Into<String>) -> BodyError {
    BodyError::new(StatusCode::BAD_REQUEST, message)
}
