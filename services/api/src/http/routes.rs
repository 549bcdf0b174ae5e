//! The paths of the service.

use std::{fmt, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
    middleware,
    routing::get,
};
use tower_http::{cors::CorsLayer, trace::TraceLayer};
use tracing::Span;

use super::{
    RequestContext, RequestId, RequestLimiter, SocketLimits, Sockets,
    admission::Authenticate,
    answer, graphql,
    health::{self, Ready},
    identity::{self, Ids},
    metrics::{self, Metrics},
};
use crate::execution::{Engine, Failure};

/// Everything a router needs.
#[derive(Clone)]
pub struct Api {
    pub(super) engine: Engine,
    pub(super) request_limiter: RequestLimiter,
    pub(super) admit: Authenticate,
    pub(super) ready: Ready,
    pub(super) playground: bool,
    pub(super) origins: Vec<HeaderValue>,
    pub(super) sockets: Sockets,
    pub(super) ids: Ids,
    metrics: Option<Metrics>,
}

impl Api {
    /// Everyone is admitted, the service is always ready, no playground, no other origins,
    /// WebSocket connections with the default limits.
    #[must_use]
    pub fn new(engine: Engine, request_limiter: RequestLimiter) -> Self {
        Self {
            engine,
            request_limiter,
            admit: Arc::new(|_| Ok(RequestContext::new())),
            ready: Arc::new(|| Ok(())),
            playground: false,
            origins: Vec::new(),
            sockets: Sockets::new(SocketLimits::default()),
            ids: Ids::default(),
            metrics: None,
        }
    }

    /// Sets who is admitted, and with what.
    #[must_use]
    pub fn admit(
        mut self,
        admit: impl Fn(&HeaderMap) -> Result<RequestContext, Failure> + Send + Sync + 'static,
    ) -> Self {
        self.admit = Arc::new(admit);
        self
    }

    /// Sets when the service is ready for requests; the reason is shown to whoever asks.
    #[must_use]
    pub fn ready(mut self, ready: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.ready = Arc::new(ready);
        self
    }

    /// Shows a page for trying queries to browsers.
    #[must_use]
    pub fn playground(mut self, shown: bool) -> Self {
        self.playground = shown;
        self
    }

    /// Shows counters at `/metrics`. Without this there is no such path.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Sets the WebSocket connections, so that the caller can count them and close them at the end.
    #[must_use]
    pub fn sockets(mut self, sockets: Sockets) -> Self {
        self.sockets = sockets;
        self
    }

    /// Lets pages of these origins ask, and open a WebSocket. None by default; pages of the host
    /// that they ask always may.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = HeaderValue>) -> Self {
        self.origins.extend(origins);
        self
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// For a process that answers no queries: `/health/live`, `/health/ready` and `/metrics`.
pub fn monitor(
    ready: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    metrics: Metrics,
) -> Router {
    watched(Arc::new(ready), Some(metrics)).fallback(unknown)
}

fn watched(ready: Ready, metrics: Option<Metrics>) -> Router {
    let router = Router::new()
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready).with_state(ready));
    match metrics {
        Some(metrics) => router.route("/metrics", get(metrics::show).with_state(metrics)),
        None => router,
    }
}

/// `/graphql`, also as a WebSocket, `/health/live` and `/health/ready`; `/metrics` where there are some.
pub fn router(api: Api) -> Router {
    let cors = cors(&api.origins);
    let ids = api.ids.clone();
    let watched = watched(Arc::clone(&api.ready), api.metrics.clone());
    let ask = get(graphql::get)
        .post(graphql::post)
        .fallback(graphql::other);
    Router::new()
        .route("/graphql", ask.with_state(Arc::new(api)))
        .fallback(unknown)
        .layer(TraceLayer::new_for_http().make_span_with(span))
        // Outside the log: that a process is not ready is no failure, and is asked every second.
        .merge(watched)
        .layer(cors)
        .layer(middleware::from_fn_with_state(ids, identity::identify))
}

async fn unknown() -> Response<Body> {
    answer::protocol(StatusCode::NOT_FOUND, "There is nothing at this path.")
}

fn span(request: &Request) -> Span {
    let id = request.extensions().get::<RequestId>();
    tracing::info_span!(
        "request",
        method = %request.method(),
        path = request.uri().path(),
        id = id.map(RequestId::as_str),
    )
}

/// Without origins the layer adds nothing that would let a page of another origin ask.
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    if origins.is_empty() {
        return CorsLayer::new();
    }
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([
            header::ACCEPT,
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            identity::HEADER,
        ])
        .expose_headers([identity::HEADER, header::RETRY_AFTER])
}
