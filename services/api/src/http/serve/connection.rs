//! One connection: HTTP/1.1 or HTTP/2, within its time limits.

use std::{
    convert::Infallible,
    future::poll_fn,
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, extract::ConnectInfo, http::Response};
use hyper::{Request, Version, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulConnection},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, Sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    activity::{Activity, Overdue, Watch},
    connections::{ConnectionEvent, ConnectionPermit, Connections, Service},
    delivery::Delivery,
    limits::ConnectionLimits,
    transport::Observed,
};
use crate::{
    execution::{ErrorCode, Failure},
    http::{
        accept::{self, Media},
        response,
    },
};

/// The time from telling a client that its idle connection ends until it is closed. A request that
/// arrives meanwhile is answered.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The header timeout of connections that get one response.
const SHORT_HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of pings on connections of HTTP/2, and the time for a response to one.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// The minimum size of the buffers of HTTP/1.1, in bytes. They limit the size of headers.
const MIN_BUFFER: usize = 8 * 1024;
/// How much of the bodies of requests over HTTP/2 may be sent before it is read, in bytes. A body
/// has at most 256 KiB.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// The size of the send buffer of a stream of HTTP/2.
const SEND_BUFFER: usize = 64 * 1024;
/// How many streams a client may reset before they are processed ("rapid reset").
const MAX_RESET_STREAMS: usize = 20;
/// How many streams with protocol errors are reset before the connection is closed.
const MAX_INVALID_STREAMS: usize = 64;

/// Cancelled when the listener stops: responses without an end of their own must end then. An
/// extension of requests.
#[derive(Clone, Debug)]
pub(in crate::http) struct Stopping(pub(in crate::http) CancellationToken);

/// What all connections of a listener have in common.
#[derive(Debug)]
pub(super) struct Server {
    builder: Builder<TokioExecutor>,
    router: Router,
    pub(super) connections: Connections,
    pub(super) stopping: CancellationToken,
}

impl Server {
    pub(super) fn new(router: Router, connections: Connections) -> Self {
        Self {
            builder: builder(connections.limits()),
            router: router.with_state(()),
            connections,
            stopping: CancellationToken::new(),
        }
    }

    /// Serves a connection until it ends, or becomes a web socket.
    pub(super) async fn serve<S>(&self, stream: S, peer: SocketAddr, permit: ConnectionPermit)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (activity, service) = (Activity::new(), permit.service);
        let mut limits = *self.connections.limits();
        if service == Service::HealthOnly {
            limits.header_timeout = limits.header_timeout.min(SHORT_HEADER_TIMEOUT);
            limits.idle_timeout = Duration::ZERO;
        }
        let watch = Watch::new(activity.clone(), &limits);
        let stream = Observed {
            stream,
            activity: activity.clone(),
            _permit: permit,
        };
        // Each connection has a token of its own, so that they do not contend for one lock.
        let stopping = self.stopping.child_token();
        let stopped = stopping.clone();
        let router = TowerToHyperService::new(self.router.clone());
        let answer = service_fn(move |mut request: Request<Incoming>| {
            let under_way = activity.begin(request.version() == Version::HTTP_2);
            let extensions = request.extensions_mut();
            extensions.insert(ConnectInfo(peer));
            extensions.insert(Stopping(stopped.clone()));
            let refused = service == Service::HealthOnly && !is_health_check(&request);
            let answer = (!refused).then(|| hyper::service::Service::call(&router, request));
            async move {
                let response = match answer {
                    Some(answer) => answer.await?,
                    None => full(),
                };
                let lasting = accept::is_event_stream(response.headers());
                let delivered = |body| Delivery::new(body, under_way).lasting(lasting);
                Ok::<_, Infallible>(response.map(delivered))
            }
        });
        let connection = self
            .builder
            .serve_connection_with_upgrades(TokioIo::new(stream), answer);
        let event = match self.drive(pin!(connection), watch, &stopping).await {
            Some(Overdue::Header) => ConnectionEvent::HeaderTimeout,
            Some(Overdue::Response) => ConnectionEvent::ResponseTimeout,
            Some(Overdue::Idle) | None => return,
        };
        self.connections.record(event);
    }

    /// Drives a connection until it ends. When it has been idle for too long or the listener stops,
    /// requests that have begun to arrive are answered; other time limits end it at once.
    async fn drive(
        &self,
        mut connection: Pin<&mut impl GracefulConnection>,
        mut watch: Watch,
        stopping: &CancellationToken,
    ) -> Option<Overdue> {
        let mut stopped = pin!(stopping.cancelled());
        let mut timer = Timer::new(&watch);
        let end = poll_fn(|cx| {
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(End::Closed);
            }
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(End::Stopping);
            }
            timer.poll_overdue(cx, &mut watch).map(End::Overdue)
        });
        match end.await {
            End::Closed => return None,
            End::Stopping => {}
            End::Overdue(Overdue::Idle) => watch.extend_idle(CLOSE_TIMEOUT),
            End::Overdue(overdue) => return Some(overdue),
        }
        connection.as_mut().graceful_shutdown();
        let end = poll_fn(|cx| {
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            timer.poll_overdue(cx, &mut watch).map(Some)
        });
        end.await.filter(|overdue| *overdue != Overdue::Idle)
    }
}

/// Why the first part of a connection's life ends.
enum End {
    Closed,
    Stopping,
    Overdue(Overdue),
}

/// Wakes a connection when its timeouts have to be checked. Only an earlier time than before resets
/// it, so that a request usually costs no timer.
struct Timer {
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    fn new(watch: &Watch) -> Self {
        Self {
            sleep: Box::pin(sleep_until(watch.due())),
        }
    }

    /// Completes when the time of the connection is up.
    fn poll_overdue(&mut self, cx: &mut Context<'_>, watch: &mut Watch) -> Poll<Overdue> {
        if watch.due() < self.sleep.deadline() {
            self.sleep.as_mut().reset(watch.due());
        }
        while self.sleep.as_mut().poll(cx).is_ready() {
            if let Some(overdue) = watch.overdue(Instant::now()) {
                return Poll::Ready(overdue);
            }
            self.sleep.as_mut().reset(watch.due());
        }
        Poll::Pending
    }
}

/// The protocols with their limits.
///
/// Floods of settings and pings need no limit: the next frame is read only when the response to the
/// one before has been sent. The number of continuation frames is limited by the size of headers.
/// Web sockets over HTTP/2 are not offered, so browsers open them over HTTP/1.1.
fn builder(limits: &ConnectionLimits) -> Builder<TokioExecutor> {
    let header_bytes = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX);
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // `Watch` has the time limits.
        .header_read_timeout(None)
        .max_buf_size(header_bytes.max(MIN_BUFFER));
    builder
        .http2()
        .timer(TokioTimer::new())
        // Ends connections whose client is gone without having said so.
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL)
        // One connection cannot occupy all places for running requests.
        .max_concurrent_streams(limits.streams)
        // "Rapid reset" (CVE-2023-44487): requests that are cancelled as soon as they are sent.
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        // The same with invalid requests, which the service itself resets (RUSTSEC-2024-0003).
        .max_local_error_reset_streams(MAX_INVALID_STREAMS)
        // Headers that are small when compressed and large when not.
        .max_header_list_size(limits.header_bytes)
        // Bodies that are sent and not read, and responses that are requested and not read.
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER);
    builder
}

/// Whether a request is answered even if there are too many connections.
fn is_health_check<B>(request: &Request<B>) -> bool {
    request.uri().path().starts_with("/health/")
}

fn full() -> Response<Body> {
    let message = "The service has more connections than it can hold; try again.";
    let failure = Failure::new(ErrorCode::Unavailable, message);
    response::failure(
        Media::Json,
        &failure.retry_after(Duration::from_secs(1)),
        "",
    )
}
