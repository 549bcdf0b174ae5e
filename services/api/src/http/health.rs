//! Whether the process lives, and whether it should get requests.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{Response, StatusCode},
};
use serde::Serialize;

use super::{accept::Media, answer};

/// Says why the service should not get requests, if it should not.
pub(super) type Ready = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The process answers: that is all.
pub(super) async fn live() -> Response<Body> {
    report(StatusCode::OK, "ok", None)
}

/// The service can do its work.
pub(super) async fn ready(State(ready): State<Ready>) -> Response<Body> {
    match ready() {
        Ok(()) => report(StatusCode::OK, "ok", None),
        Err(reason) => report(StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(reason)),
    }
}

fn report(code: StatusCode, status: &'static str, reason: Option<String>) -> Response<Body> {
    answer::json(code, Media::Json, &Health { status, reason })
}
