//! Reads the body of a request, within bounds of size and time.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, StatusCode, header},
};
use futures_util::StreamExt;

use crate::execution::GraphqlRequest;

/// The largest body.
const MAX_BYTES: usize = 256 * 1024;

/// How long a client may take to send it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a body is no request.
pub(super) struct Misread {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl Misread {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}

/// The body as a GraphQL request.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<GraphqlRequest, Misread> {
    if declared_length(headers).is_some_and(|length| length > MAX_BYTES) {
        return Err(too_large());
    }
    let bytes = tokio::time::timeout(PATIENCE, collect(body.into_data_stream())).await;
    let bytes = bytes.map_err(|_| {
        Misread::new(
            StatusCode::REQUEST_TIMEOUT,
            "The body took too long to arrive.",
        )
    })??;
    parse(&bytes)
}

async fn collect(mut chunks: BodyDataStream) -> Result<Vec<u8>, Misread> {
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

fn parse(bytes: &[u8]) -> Result<GraphqlRequest, Misread> {
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

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn too_large() -> Misread {
    let message = format!("The body is larger than {} KiB.", MAX_BYTES / 1024);
    Misread::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

fn bad(message: impl Into<String>) -> Misread {
    Misread::new(StatusCode::BAD_REQUEST, message)
}
