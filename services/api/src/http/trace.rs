//! The exported span of a request.

use std::{fmt, sync::Arc};

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Response},
    middleware::Next,
};
use tracing::{Instrument, Span, field::Empty};
use vitrine_domain::spans::SPANS;

/// Connects a span with the trace that the headers of a request name.
pub(super) type TraceParent = Arc<dyn Fn(&Span, &HeaderMap) + Send + Sync>;

/// Whether spans of requests are exported, and how they are connected with the trace of the caller.
#[derive(Clone, Default)]
pub(super) struct Traces(pub(super) Option<TraceParent>);

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Traces").field(&self.0.is_some()).finish()
    }
}

/// Runs a request in a span that is exported. Nothing of the query string, the headers or the body is
/// recorded.
pub(super) async fn traced(
    State(Traces(parent)): State<Traces>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let Some(parent) = parent else {
        return next.run(request).await;
    };
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("unknown", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!(
        target: SPANS,
        "request",
        otel.name = format!("{} {route}", request.method()),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = request.method().as_str(),
        http.route = route,
        http.response.status_code = Empty,
        graphql.operation.name = Empty,
        graphql.operation.type = Empty,
        vitrine.cost = Empty,
        vitrine.errors = Empty,
    );
    parent(&span, request.headers());
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    response
}
