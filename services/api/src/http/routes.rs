//! The routes of the service.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header},
    middleware,
    routing::{get, post},
};
use ipnet::IpNet;
use tower_http::{
    classify::ServerErrorsFailureClass,
    compression::{
        CompressionLayer, CompressionLevel, DefaultPredicate, Predicate, predicate::SizeAbove,
    },
    cors::CorsLayer,
    set_header::SetResponseHeaderLayer,
    trace::TraceLayer,
};
use tracing::Span;

use super::{
    LineLimiter, PersistedQueries, RequestContext, RequestId, RequestLimiter, SocketLimits,
    Sockets, client_address, graphql,
    health::{self, Ready},
    metrics::{self, Metrics},
    pictures::{self, RunningPictures},
    report::{Reports, RequestReport, SlowOperations},
    request_context::Authenticate,
    request_id::{self, Ids},
    response,
    trace::{self, Traces},
    uploads::{self, RunningUploads},
};
use crate::execution::{Engine, Failure};

/// Smaller responses are not compressed, in bytes.
const MIN_COMPRESSED: u64 = 2_048;

/// The configuration of a router.
#[derive(Clone)]
pub struct Api {
    pub(super) engine: Engine,
    pub(super) request_limiter: RequestLimiter,
    pub(super) authenticate: Authenticate,
    pub(super) ready: Ready,
    pub(super) playground: Option<&'static str>,
    pub(super) origins: Vec<HeaderValue>,
    pub(super) sockets: Sockets,
    pub(super) ids: Ids,
    pub(super) cache_max_age: Duration,
    pub(super) persisted_queries: PersistedQueries,
    pub(super) reports: Reports,
    pub(super) running_uploads: RunningUploads,
    pub(super) running_pictures: RunningPictures,
    traces: Traces,
    trusted_proxies: Arc<[IpNet]>,
    metrics: Option<Metrics>,
}

impl Api {
    /// Creates a configuration with defaults: all callers accepted, always ready, no playground, no
    /// other origins, and WebSockets with the default limits.
    #[must_use]
    pub fn new(engine: Engine, request_limiter: RequestLimiter) -> Self {
        Self {
            engine,
            request_limiter,
            authenticate: Arc::new(|_| Ok(RequestContext::new())),
            ready: Arc::new(|| Ok(())),
            playground: None,
            origins: Vec::new(),
            sockets: Sockets::new(SocketLimits::default()),
            ids: Ids::default(),
            cache_max_age: Duration::ZERO,
            persisted_queries: PersistedQueries::in_memory(),
            reports: Reports::default(),
            running_uploads: RunningUploads::default(),
            running_pictures: RunningPictures::default(),
            traces: Traces::default(),
            trusted_proxies: Arc::default(),
            metrics: None,
        }
    }

    /// Sets the function that authenticates callers and creates the context of their requests.
    #[must_use]
    pub fn authenticate(
        mut self,
        authenticate: impl Fn(&HeaderMap) -> Result<RequestContext, Failure> + Send + Sync + 'static,
    ) -> Self {
        self.authenticate = Arc::new(authenticate);
        self
    }

    /// Sets the readiness check. Its reason is shown at `/health/ready`.
    #[must_use]
    pub fn ready(mut self, ready: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.ready = Arc::new(ready);
        self
    }

    /// Sets the path of a page for trying out queries, to which browsers are sent that open the
    /// endpoint.
    #[must_use]
    pub fn playground(mut self, path: Option<&'static str>) -> Self {
        self.playground = path;
        self
    }

    /// Sets the networks of proxies that are believed what `X-Forwarded-For` says. None by default.
    #[must_use]
    pub fn trusted_proxies(mut self, networks: impl IntoIterator<Item = IpNet>) -> Self {
        self.trusted_proxies = networks.into_iter().collect();
        self
    }

    /// Sets how long caches may use answers to queries sent with GET by callers without a token,
    /// without asking again. Zero by default.
    #[must_use]
    pub fn cache_max_age(mut self, max_age: Duration) -> Self {
        self.cache_max_age = max_age;
        self
    }

    /// Sets the queries that clients may name instead of sending them.
    #[must_use]
    pub fn persisted_queries(mut self, persisted_queries: PersistedQueries) -> Self {
        self.persisted_queries = persisted_queries;
        self
    }

    /// Sets what is called with a report of every GraphQL request that was answered.
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl Fn(&RequestReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.reports.observer = Some(Arc::new(observer));
        self
    }

    /// Sets from which duration on operations are logged. None are by default.
    #[must_use]
    pub fn slow_operation(mut self, at_least: Option<Duration>) -> Self {
        self.reports.slow = at_least.map(|at_least| {
            Arc::new(SlowOperations {
                at_least,
                limiter: LineLimiter::new(),
            })
        });
        self
    }

    /// Exports a span of every request. `parent` connects it with the trace that the headers name.
    #[must_use]
    pub fn trace(mut self, parent: impl Fn(&Span, &HeaderMap) + Send + Sync + 'static) -> Self {
        self.traces = Traces(Some(Arc::new(parent)));
        self
    }

    /// Adds the path `/metrics`.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Sets the WebSocket connections, so that the caller can count and close them.
    #[must_use]
    pub fn sockets(mut self, sockets: Sockets) -> Self {
        self.sockets = sockets;
        self
    }

    /// Adds origins whose pages may send requests and open WebSockets. None by default; pages of
    /// the same host are always allowed.
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

/// Creates a router for a process without a GraphQL endpoint: `/health/live`, `/health/ready` and
/// `/metrics`.
pub fn monitor(
    ready: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    metrics: Metrics,
) -> Router {
    monitoring(Arc::new(ready), Some(metrics)).fallback(unknown)
}

fn monitoring(ready: Ready, metrics: Option<Metrics>) -> Router {
    let router = Router::new()
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready).with_state(ready));
    match metrics {
        Some(metrics) => router.route("/metrics", get(metrics::show).with_state(metrics)),
        None => router,
    }
}

/// Creates a router for `/graphql` (HTTP and WebSocket), `/uploads`, `/pictures`, `/health/live`, `/health/ready`, and
/// `/metrics` if configured.
pub fn router(api: Api) -> Router {
    let cors = cors(&api.origins);
    let ids = api.ids.clone();
    let proxies = Arc::clone(&api.trusted_proxies);
    let traces = api.traces.clone();
    let monitoring = monitoring(Arc::clone(&api.ready), api.metrics.clone());
    let endpoint = get(graphql::get)
        .post(graphql::post)
        .fallback(graphql::other);
    let api = Arc::new(api);
    let pictures = post(pictures::post).fallback(pictures::other);
    let picture = get(pictures::get).fallback(pictures::other_of_picture);
    let files = post(uploads::post).fallback(uploads::other);
    Router::new()
        .route("/graphql", endpoint.with_state(Arc::clone(&api)))
        .route("/uploads", files.with_state(Arc::clone(&api)))
        .route("/pictures", pictures.with_state(Arc::clone(&api)))
        .route("/pictures/{name}", picture.with_state(api))
        .layer(middleware::from_fn_with_state(
            proxies,
            client_address::identify,
        ))
        .layer(middleware::from_fn_with_state(traces, trace::traced))
        .fallback(unknown)
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_failure(|failure, latency, _: &Span| log_failure(&failure, latency)),
        )
        // Not traced: readiness is polled every second, and "not ready" is not an error.
        .merge(monitoring)
        .layer(compression())
        .layer(cors)
        .layer(set_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(set_header(header::X_FRAME_OPTIONS, "DENY"))
        .layer(set_header(header::REFERRER_POLICY, "no-referrer"))
        .layer(middleware::from_fn_with_state(ids, request_id::identify))
}

/// Compresses what is larger than a packet, as quickly as possible: better compression would take
/// longer than it saves. The figures are in `tests/benches/README.md`.
fn compression() -> CompressionLayer<impl Predicate> {
    let worthwhile = DefaultPredicate::new().and(SizeAbove::new(MIN_COMPRESSED));
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(worthwhile)
}

/// Adds a header to all responses: what browsers may not do with them.
fn set_header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}

async fn unknown() -> Response<Body> {
    response::protocol(StatusCode::NOT_FOUND, "There is nothing at this path.")
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

/// Logs a response with a status of 500 or more. Strangers can cause them: by asking for more than
/// the service can do, for example.
fn log_failure(failure: &ServerErrorsFailureClass, latency: Duration) {
    static OVERLOADED: LineLimiter = LineLimiter::new();
    static FAILED: LineLimiter = LineLimiter::new();
    let status = match failure {
        ServerErrorsFailureClass::StatusCode(status) => Some(*status),
        ServerErrorsFailureClass::Error(_) => None,
    };
    let overloaded = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
    if status.is_some_and(|status| overloaded.contains(&status)) {
        if let Some(left_out) = OVERLOADED.permit() {
            tracing::warn!(left_out, ?latency, "a request was not answered: {failure}");
        }
    } else if let Some(left_out) = FAILED.permit() {
        tracing::error!(left_out, ?latency, "a request failed: {failure}");
    }
}

/// Without origins the layer adds no headers, so that browsers block pages of other origins.
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
            header::IF_NONE_MATCH,
            request_id::HEADER,
        ])
        .expose_headers([
            request_id::HEADER,
            header::ETAG,
            header::RETRY_AFTER,
            HeaderName::from_static("ratelimit"),
            HeaderName::from_static("ratelimit-policy"),
        ])
}
