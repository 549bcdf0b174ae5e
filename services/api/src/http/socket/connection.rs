//! A WebSocket connection, from opening to closing.

use std::sync::Arc;

use axum::{
    Error,
    body::Bytes,
    extract::ws::{Message, WebSocket},
    http::{HeaderMap, header::AUTHORIZATION},
};
use futures_util::{FutureExt, SinkExt};
use serde_json::{Map, Value};
use tokio::{
    select,
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use tracing::Instrument;

use super::{
    SocketLimits,
    closing::Closing,
    connection_init::authorization,
    keep_alive::{Due, KeepAlive},
    operation::{Operation, authenticate, refusal},
    operation_sink::OutgoingMessage,
    operations::Operations,
    protocol::{ClientMessage, ServerMessage},
    sockets::{ConnectionPermit, OperationGuard},
};
use crate::{
    execution::{ErrorCode, Failure, GraphqlRequest, ResponseError},
    http::{RequestContext, routes::Api},
};

/// Why a connection ends.
#[derive(Debug)]
enum End {
    /// The client disconnected or sent a close frame.
    Left,
    /// The client does not read, so that a close frame would not reach it.
    Slow,
    /// The server closes the connection.
    Closed(Closing),
}

impl From<Closing> for End {
    fn from(closing: Closing) -> Self {
        Self::Closed(closing)
    }
}

/// An open connection with its operations.
pub(super) struct Connection {
    socket: WebSocket,
    api: Arc<Api>,
    headers: Arc<HeaderMap>,
    limits: SocketLimits,
    keep_alive: KeepAlive,
    initialised: bool,
    /// When the caller's token expires.
    expires_at: Option<Instant>,
    operations: Operations,
    outgoing: mpsc::Receiver<OutgoingMessage>,
    permit: ConnectionPermit,
}

impl Connection {
    /// `headers` are those of the upgrade request; they authenticate the caller.
    pub(super) fn new(
        socket: WebSocket,
        api: Arc<Api>,
        headers: HeaderMap,
        permit: ConnectionPermit,
    ) -> Self {
        let limits = *api.sockets.limits();
        let (queue, outgoing) = mpsc::channel(limits.queue.max(1));
        Self {
            socket,
            api,
            headers: Arc::new(headers),
            limits,
            keep_alive: KeepAlive::new(limits, Instant::now()),
            initialised: false,
            expires_at: None,
            operations: Operations::new(limits.operations, queue),
            outgoing,
            permit,
        }
    }

    /// Serves the connection until it ends, then ends all its operations.
    pub(super) async fn run(mut self) {
        let stopping = self.api.sockets.stopping();
        let end = select! {
            biased;
            () = stopping.cancelled() => Closing::stopping().into(),
            end = self.event_loop() => end,
        };
        tracing::debug!(?end, "a WebSocket connection ends");
        self.operations.end().await;
        self.close(end).await;
    }

    async fn event_loop(&mut self) -> End {
        loop {
            if let Err(end) = self.next_event().await {
                return end;
            }
        }
    }

    /// Handles one event. Nothing is read while a message is being sent, which has a time limit. A
    /// client that sends but does not read therefore cannot fill the memory with responses.
    async fn next_event(&mut self) -> Result<(), End> {
        select! {
            frame = self.socket.recv() => self.on_frame(frame).await,
            Some(message) = self.outgoing.recv() => self.on_outgoing(message).await,
            true = self.operations.ended() => Ok(()),
            () = sleep_until(self.keep_alive.next()) => self.on_timer().await,
            () = reached(self.expires_at) => Err(Closing::expired().into()),
        }
    }

    async fn on_frame(&mut self, frame: Option<Result<Message, Error>>) -> Result<(), End> {
        let unreadable = |_| Closing::unreadable(self.limits.message_bytes);
        let frame = frame.ok_or(End::Left)?.map_err(unreadable)?;
        self.keep_alive.received();
        match frame {
            Message::Text(text) => self.on_message(ClientMessage::parse(&text)?).await,
            Message::Binary(_) => Err(Closing::unreadable(self.limits.message_bytes).into()),
            // The pong is queued; nothing else is read until it has been sent.
            Message::Ping(_) => self.flush().await,
            Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(End::Left),
        }
    }

    async fn on_message(&mut self, message: ClientMessage) -> Result<(), End> {
        match message {
            ClientMessage::ConnectionInit { payload } => {
                self.initialise(payload.unwrap_or_default()).await
            }
            ClientMessage::Ping { payload } => self.send(&ServerMessage::Pong { payload }).await,
            ClientMessage::Pong => Ok(()),
            ClientMessage::Subscribe { id, payload } => self.subscribe(id, *payload).await,
            ClientMessage::Complete { id } => {
                self.operations.stop(&id);
                Ok(())
            }
        }
    }

    async fn initialise(&mut self, payload: Map<String, Value>) -> Result<(), End> {
        if self.initialised {
            return Err(Closing::too_many_inits().into());
        }
        let context = self.authenticate(payload).map_err(|failure| {
            let id = self.api.ids.make();
            let errors = refusal(&failure, id.as_str());
            Closing::forbidden(&errors[0].message)
        })?;
        self.expires_at = context.expires_at;
        if let Some(subject) = context.subject
            && !self.permit.identify(subject)
        {
            let limit = self.limits.connections_per_client;
            return Err(Closing::too_many_connections(limit).into());
        }
        self.initialised = true;
        self.keep_alive.initialised();
        self.send(&ServerMessage::ConnectionAck).await
    }

    /// Checks whether the caller may connect. Each operation authenticates again.
    fn authenticate(&mut self, payload: Map<String, Value>) -> Result<RequestContext, Failure> {
        if let Some(value) = authorization(payload)? {
            Arc::make_mut(&mut self.headers).insert(AUTHORIZATION, value);
        }
        authenticate(&self.api, &self.headers)
    }

    async fn subscribe(&mut self, id: String, request: GraphqlRequest) -> Result<(), End> {
        if !self.initialised {
            return Err(Closing::not_initialised().into());
        }
        if self.operations.has(&id) {
            return Err(Closing::already_exists(&id).into());
        }
        if self.operations.is_full() {
            let payload = &[too_many("A connection", self.limits.operations)];
            return self.send(&ServerMessage::Error { id: &id, payload }).await;
        }
        let Some(running) = self.permit.begin_operation() else {
            let payload = &[too_many("A client", self.limits.operations_per_client)];
            return self.send(&ServerMessage::Error { id: &id, payload }).await;
        };
        self.start(id, request, running).await;
        Ok(())
    }

    async fn start(&mut self, id: String, mut request: GraphqlRequest, running: OperationGuard) {
        let request_id = self.api.ids.make();
        let span = tracing::info_span!("operation", id = request_id.as_str());
        request.request_id = request_id.as_str().to_owned();
        let operation = Operation {
            api: Arc::clone(&self.api),
            headers: Arc::clone(&self.headers),
            request,
        };
        let work = |operation_sink| {
            let work = async move {
                operation.run(operation_sink).await;
                drop(running);
            };
            work.instrument(span)
        };
        self.operations.start(id, work).await;
    }

    async fn on_outgoing(&mut self, message: OutgoingMessage) -> Result<(), End> {
        if self.operations.accepts(&message) {
            self.send_frame(Message::Text(message.text)).await?;
        }
        Ok(())
    }

    async fn on_timer(&mut self) -> Result<(), End> {
        match self.keep_alive.due(Instant::now()) {
            Some(Due::Initialisation) => Err(Closing::init_timeout().into()),
            Some(Due::Silence) => self.check_silence().await,
            Some(Due::Ping) => self.send_frame(Message::Ping(Bytes::new())).await,
            None => Ok(()),
        }
    }

    /// Handles a frame that arrived while this process was busy; closes the connection if there is
    /// none.
    async fn check_silence(&mut self) -> Result<(), End> {
        match self.socket.recv().now_or_never() {
            Some(frame) => self.on_frame(frame).await,
            None => Err(Closing::silent(self.limits.silence).into()),
        }
    }

    async fn send(&mut self, message: &ServerMessage<'_>) -> Result<(), End> {
        self.send_frame(Message::Text(message.text())).await
    }

    async fn send_frame(&mut self, frame: Message) -> Result<(), End> {
        let sent = timeout(self.limits.send_timeout, self.socket.send(frame)).await;
        sent.map_err(|_| End::Slow)?.map_err(|_| End::Left)
    }

    async fn flush(&mut self) -> Result<(), End> {
        let flushed = timeout(self.limits.send_timeout, self.socket.flush()).await;
        flushed.map_err(|_| End::Slow)?.map_err(|_| End::Left)
    }

    /// Sends a close frame and waits a short time for that of the client: dropping a socket with
    /// unread data may discard the last sent frames.
    async fn close(mut self, end: End) {
        let closing = match end {
            End::Slow => return self.api.sockets.count_slow(),
            End::Left => None,
            End::Closed(closing) => Some(closing),
        };
        let handshake = async {
            if let Some(closing) = closing {
                self.socket
                    .send(Message::Close(Some(closing.into())))
                    .await?;
            }
            while self.socket.recv().await.transpose()?.is_some() {}
            Ok::<_, Error>(())
        };
        if timeout(self.limits.close_timeout, handshake).await.is_err() {
            tracing::debug!("the client did not close the WebSocket");
        }
    }
}

/// Completes at the instant, if there is one.
pub(in crate::http) async fn reached(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

fn too_many(whose: &str, limit: usize) -> ResponseError {
    let message = format!(
        "{whose} may have {limit} operations at a time; complete one before starting another."
    );
    ResponseError::new(ErrorCode::RateLimited, message)
}
