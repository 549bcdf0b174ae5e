//! Traces: spans of requests, resolvers and database commands, sent to a collector with OTLP.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, Value};
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use vitrine_domain::LineLimiter;

use crate::auth::tls_client;
use crate::settings::OtlpEndpoint;

/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer of a collector, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// How long to wait at the end for spans that were not sent yet.
const LAST_SPANS: Duration = Duration::from_secs(5);
/// The name of the service in traces unless `OTEL_SERVICE_NAME` has another.
const SERVICE_NAME: &str = "vitrine";

/// The export of traces while a command runs.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts the export. Headers, sampling, batches and the attributes of the service can be set with
    /// the variables of OpenTelemetry (`OTEL_…`), which the library reads.
    pub(crate) fn start(endpoint: &OtlpEndpoint) -> anyhow::Result<(Self, SdkTracer)> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector {
                runtime: Handle::current(),
            })
            .with_endpoint(endpoint.to_string())
            .build()
            .context("preparing the export of traces")?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        let tracer = provider.tracer(SERVICE_NAME);
        Ok((Self(provider), tracer))
    }

    /// Sends the last spans and ends the export.
    pub(crate) async fn stop(self) {
        let stopped = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(LAST_SPANS));
        if let Ok(Err(error)) = stopped.await {
            tracing::warn!("the last traces were not sent: {error}");
        }
    }
}

/// Describes this service.
fn resource() -> Resource {
    let found = Resource::builder().build();
    let is_named = match found.get_ref(&Key::from_static_str("service.name")) {
        Some(Value::String(name)) => !name.as_str().starts_with("unknown_service"),
        _ => false,
    };
    if is_named {
        return found;
    }
    Resource::builder().with_service_name(SERVICE_NAME).build()
}

/// Makes the span of a request part of the trace that its headers name, if they name one. The context goes
/// no further than the spans of this process: the database takes none.
pub(crate) fn join_trace(span: &Span, headers: &HeaderMap) {
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    // It fails for a span that is not exported.
    let _ = span.set_parent(parent);
}

/// Sends spans to the collector, on the runtime of the process: the exporter has a thread of its own
/// without one.
#[derive(Clone)]
struct Collector {
    runtime: Handle,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl HttpClient for Collector {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        let sent = self.runtime.spawn(async move {
            let sent = tokio::time::timeout(TIMEOUT, send(request)).await;
            let sent = sent.context("no answer within 10 seconds").flatten();
            sent.inspect_err(log_failure)
        });
        Box::pin(async move { Ok(sent.await??) })
    }
}

fn log_failure(error: &anyhow::Error) {
    static FAILED: LineLimiter = LineLimiter::new();
    if let Some(left_out) = FAILED.permit() {
        tracing::warn!(
            left_out,
            "traces cannot be sent (--otlp-endpoint): {error:#}"
        );
    }
}

async fn send(request: Request<Bytes>) -> anyhow::Result<Response<Bytes>> {
    let uri = request.uri().clone();
    let host = uri.host().context("the address has no host")?;
    let host = host.trim_matches(['[', ']']).to_owned();
    let is_encrypted = uri.scheme_str() == Some("https");
    let port = uri
        .port_u16()
        .unwrap_or(if is_encrypted { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await;
    let stream = stream.context("connecting")?;
    if !is_encrypted {
        return exchange(stream, request).await;
    }
    let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let connector = TlsConnector::from(Arc::new(tls_client(roots)?));
    let name = ServerName::try_from(host).context("reading the host name for TLS")?;
    let stream = connector.connect(name, stream).await;
    exchange(stream.context("performing the TLS handshake")?, request).await
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Bytes>,
) -> anyhow::Result<Response<Bytes>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .context("connecting")?;
    let (mut parts, body) = request.into_parts();
    let authority = parts.uri.authority().map_or("", |one| one.as_str());
    parts
        .headers
        .insert(HOST, HeaderValue::from_str(authority)?);
    let close = HeaderValue::from_static("close");
    parts.headers.insert(CONNECTION, close);
    let path = parts.uri.path_and_query().map_or("/", |one| one.as_str());
    parts.uri = path.parse()?;
    let request = Request::from_parts(parts, Full::new(body));
    let answer = async {
        let (parts, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(anyhow::Error::from_boxed)?;
        Ok(Response::from_parts(parts, body.to_bytes()))
    };
    let (answer, _) = tokio::join!(answer, connection);
    let answer: Response<Bytes> =
        answer.map_err(|error: anyhow::Error| error.context("sending"))?;
    if !answer.status().is_success() {
        anyhow::bail!("the collector answers with the status {}", answer.status());
    }
    Ok(answer)
}
