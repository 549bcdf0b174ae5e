//! The `/metrics` endpoint.

use std::{fmt, sync::Arc};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, Response, header},
};

/// The content of `/metrics`: a text and its media type.
#[derive(Clone)]
pub struct Metrics {
    media_type: HeaderValue,
    text: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Metrics {
    /// Creates the endpoint's content. `text` is called for every request.
    #[must_use]
    pub fn new(
        media_type: &'static str,
        text: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            media_type: HeaderValue::from_static(media_type),
            text: Arc::new(text),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

pub(super) async fn show(State(metrics): State<Metrics>) -> Response<Body> {
    let mut answer = Response::new(Body::from((metrics.text)()));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, metrics.media_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
