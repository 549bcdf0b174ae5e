//! Health checks: whether the process is alive and whether it is ready for requests.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{Response, StatusCode},
};
use serde::Serialize;

use super::{accept::Media, response};

/// Returns why the service is not ready for requests, if it is not.
pub(super) type Ready = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The process is alive if it responds at all.
pub(super) async fn live() -> Response<Body> {
    report(StatusCode::OK, "ok", None)
}

/// The service is ready for requests.
pub(super) async fn ready(State(ready): State<Ready>) -> Response<Body> {
    match ready() {
        Ok(()) => report(StatusCode::OK, "ok", None),
        Err(reason) => report(StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(reason)),
    }
}

fn report(code: StatusCode, status: &'static str, reason: Option<String>) -> Response<Body> {
    response::json(code, Media::Json, &Health { status, reason })
}
