//! GraphQL over server-sent events, in the "distinct connections mode" of the protocol graphql-sse:
//! each request is answered with a stream of its own.
//!
//! The stream has an event `next` for each response of the operation, and an event `complete` after
//! the last. Errors of validation are a response too, since browsers do not show programs the body
//! of a failed request. Callers that fail to authenticate, or have too many streams, get an HTTP
//! error. Streams have the limits of web sockets, and count together with them.
//!
//! A subscription also ends without `complete`: when its token expires, when the service stops, and
//! when the client does not read. Clients then connect again.
//!
//! Each operation runs in a task of its own and sends events through a short bounded queue, so that
//! a client that does not read delays only itself.

use std::{convert::Infallible, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, Response, header},
};
use futures_util::{FutureExt, StreamExt, stream};
use tokio::{
    select,
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    RequestContext, accept, client_address,
    graphql::Call,
    preparation::Preparation,
    routes::Api,
    socket::{
        AnswerSink, ConnectionPermit, Errors, OperationGuard, answer_operation, panicked, reached,
        refusal,
    },
};
use crate::execution::{ErrorCode, Failure, GraphqlResponse};

/// A comment, which clients ignore. Shows them and proxies that the stream is alive.
const KEEP_ALIVE: &[u8] = b":\n\n";
/// The event that ends a stream. Clients do not see events without a line of data.
const COMPLETE: &[u8] = b"event: complete\ndata:\n\n";

/// Answers a request with a stream of events, or with an HTTP error if the caller may not have one.
pub(super) fn open(
    call: &Call<'_>,
    context: RequestContext,
    prepared: Preparation,
) -> Response<Body> {
    let admitted = match admit(call, &context) {
        Ok(admitted) => admitted,
        Err(failure) => return super::graphql::refused(accept::Media::Json, &failure, call.id),
    };
    let limits = *call.api.sockets.limits();
    let (queue, events) = mpsc::channel(limits.queue.max(2));
    let sink = EventSink {
        queue,
        send_timeout: limits.send_timeout,
        too_slow: CancellationToken::new(),
    };
    let stream = EventStream {
        api: Arc::clone(call.api),
        request_id: call.id.as_str().to_owned(),
        sink,
        ping_interval: limits.ping_interval,
        _admitted: admitted,
    };
    let stopping = call.stopping.clone().unwrap_or_default();
    // No parent: the span of the request ends with the head of its response.
    let span = tracing::info_span!(parent: None, "events", id = call.id.as_str());
    let work = stream.run(context, prepared, stopping);
    call.api.sockets.spawn(work.instrument(span));
    respond(events)
}

/// What counts a stream and its operation.
type Admitted = (OperationGuard, ConnectionPermit);

/// Counts the stream for its client like a web socket with one operation.
fn admit(call: &Call<'_>, context: &RequestContext) -> Result<Admitted, Failure> {
    let (sockets, limits) = (&call.api.sockets, call.api.sockets.limits());
    let mut permit = sockets.acquire(client_address(call.headers))?;
    if let Some(subject) = &context.subject
        && !permit.identify(Arc::clone(subject))
    {
        return Err(too_many("connections", limits.connections_per_client));
    }
    let running = permit.begin_operation();
    let running = running.ok_or_else(|| too_many("operations", limits.operations_per_client))?;
    Ok((running, permit))
}

fn too_many(what: &str, limit: usize) -> Failure {
    let message = format!("You have {limit} {what}, which is the limit; complete one.");
    Failure::new(ErrorCode::RateLimited, message).retry_after(Duration::from_secs(10))
}

fn respond(mut events: mpsc::Receiver<Bytes>) -> Response<Body> {
    let events = stream::poll_fn(move |cx| events.poll_recv(cx));
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.append(header::VARY, HeaderValue::from_static("accept"));
    // nginx would collect events before it forwards them.
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    response
}

/// Sends events to a client.
struct EventSink {
    queue: mpsc::Sender<Bytes>,
    send_timeout: Duration,
    /// Cancelled when the client has not read for too long.
    too_slow: CancellationToken,
}

impl AnswerSink for EventSink {
    async fn next(&self, mut answer: GraphqlResponse) {
        let json = answer.json();
        let mut event = Vec::with_capacity(json.len() + 24);
        event.extend_from_slice(b"event: next\ndata: ");
        // One line: JSON has no line breaks but those that the serialiser adds, which are none.
        event.extend_from_slice(&json);
        event.extend_from_slice(b"\n\n");
        self.send(event.into()).await;
    }
}

impl EventSink {
    async fn send(&self, event: Bytes) {
        let sent = timeout(self.send_timeout, self.queue.send(event)).await;
        // Otherwise the client may have left, which ends the stream.
        if sent.is_err() {
            self.too_slow.cancel();
        }
    }

    /// Without room in the queue a keep-alive is not needed.
    fn keep_alive(&self) {
        let _ = self.queue.try_send(Bytes::from_static(KEEP_ALIVE));
    }
}

/// An open stream with its operation.
struct EventStream {
    api: Arc<Api>,
    request_id: String,
    sink: EventSink,
    ping_interval: Duration,
    _admitted: Admitted,
}

/// Why a stream ends.
#[derive(Debug)]
enum End {
    /// The operation has sent its last response.
    Complete,
    /// The client closed the connection.
    Left,
    /// The client does not read.
    Slow,
    /// The caller's token has expired.
    Expired,
    /// The service is stopping.
    Stopping,
}

impl EventStream {
    async fn run(
        self,
        context: RequestContext,
        prepared: Preparation,
        stopping: CancellationToken,
    ) {
        // Responses begin with a keep-alive, so that their head is sent at once.
        self.sink.keep_alive();
        let end = self.until_end(context, prepared, stopping).await;
        tracing::debug!(?end, "a stream of events ends");
        match end {
            End::Complete => self.sink.send(Bytes::from_static(COMPLETE)).await,
            End::Slow => self.api.sockets.count_slow(),
            End::Left | End::Expired | End::Stopping => {}
        }
    }

    async fn until_end(
        &self,
        context: RequestContext,
        prepared: Preparation,
        stopping: CancellationToken,
    ) -> End {
        // Queries and mutations have an end of their own, and soon.
        let is_endless = prepared
            .as_ref()
            .is_ok_and(|prepared| prepared.kind().is_subscription());
        let expires_at = context.expires_at.filter(|_| is_endless);
        let closing = self.api.sockets.stopping();
        let mut work = pin!(self.work(context, prepared));
        let first = Instant::now() + self.ping_interval;
        let mut keep_alive = interval_at(first, self.ping_interval);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            select! {
                biased;
                () = self.sink.queue.closed() => return End::Left,
                () = self.sink.too_slow.cancelled() => return End::Slow,
                () = stopping.cancelled(), if is_endless => return End::Stopping,
                () = closing.cancelled(), if is_endless => return End::Stopping,
                () = reached(expires_at) => return End::Expired,
                () = &mut work => return End::Complete,
                _ = keep_alive.tick() => self.sink.keep_alive(),
            }
        }
    }

    /// Sends all responses. Panics become internal errors.
    async fn work(&self, context: RequestContext, prepared: Preparation) {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(answer) => return self.sink.next(*answer).await,
        };
        let answered = answer_operation(&self.api, prepared, context, &self.sink);
        let outcome = AssertUnwindSafe(answered).catch_unwind().await;
        let outcome: Result<(), Errors> =
            outcome.unwrap_or_else(|panic| Err(refusal(&panicked(&*panic), &self.request_id)));
        if let Err(errors) = outcome {
            self.sink.next(GraphqlResponse::refused(errors)).await;
        }
    }
}
