//! One connection, from its connection_init to its end.

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
    operation::{Operation, admit, refusal},
    operation_sink::Answer,
    operations::Operations,
    protocol::{ClientMessage, ServerMessage},
};
use crate::{
    execution::{ErrorCode, Failure, GraphqlRequest, ResponseError},
    http::routes::Api,
};

/// How a connection ends.
#[derive(Debug)]
enum End {
    /// The client has left, or said that it does.
    Left,
    /// The client does not read: there is no use in telling it anything.
    Slow,
    /// The server closes it.
    Closed(Closing),
}

impl From<Closing> for End {
    fn from(closing: Closing) -> Self {
        Self::Closed(closing)
    }
}

/// An open connection and everything that belongs to it.
pub(super) struct Connection {
    socket: WebSocket,
    api: Arc<Api>,
    headers: Arc<HeaderMap>,
    limits: SocketLimits,
    keep_alive: KeepAlive,
    initialised: bool,
    operations: Operations,
    answers: mpsc::Receiver<Answer>,
}

impl Connection {
    /// `headers` are those of the upgrade: callers are admitted by them.
    pub(super) fn new(socket: WebSocket, api: Arc<Api>, headers: HeaderMap) -> Self {
        let limits = *api.sockets.limits();
        let (queue, answers) = mpsc::channel(limits.queue.max(1));
        Self {
            socket,
            api,
            headers: Arc::new(headers),
            limits,
            keep_alive: KeepAlive::new(limits, Instant::now()),
            initialised: false,
            operations: Operations::new(limits.operations, queue),
            answers,
        }
    }

    /// Serves the connection until it ends, and all its operations with it.
    pub(super) async fn attend(mut self) {
        let stopping = self.api.sockets.stopping();
        let end = select! {
            biased;
            () = stopping.cancelled() => Closing::stopping().into(),
            end = self.converse() => end,
        };
        tracing::debug!(?end, "a WebSocket ends");
        self.operations.end().await;
        self.part(end).await;
    }

    async fn converse(&mut self) -> End {
        loop {
            if let Err(end) = self.turn().await {
                return end;
            }
        }
    }

    /// Does one thing. Nothing is read while something is sent, which has its limit of time: so
    /// a client that only sends does not fill our memory with answers.
    async fn turn(&mut self) -> Result<(), End> {
        select! {
            message = self.socket.recv() => self.hear(message).await,
            Some(answer) = self.answers.recv() => self.pass_on(answer).await,
            true = self.operations.ended() => Ok(()),
            () = sleep_until(self.keep_alive.next()) => self.look_at_the_clock().await,
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, Error>>) -> Result<(), End> {
        let unreadable = |_| Closing::unreadable(self.limits.message_bytes);
        let message = message.ok_or(End::Left)?.map_err(unreadable)?;
        self.keep_alive.heard();
        match message {
            Message::Text(text) => self.obey(ClientMessage::parse(&text)?).await,
            Message::Binary(_) => Err(Closing::unreadable(self.limits.message_bytes).into()),
            // The answer lies ready; until it has left nothing else is read.
            Message::Ping(_) => self.flush().await,
            Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(End::Left),
        }
    }

    async fn obey(&mut self, message: ClientMessage) -> Result<(), End> {
        match message {
            ClientMessage::ConnectionInit { payload } => {
                self.initialise(payload.unwrap_or_default()).await
            }
            ClientMessage::Ping { payload } => self.say(&ServerMessage::Pong { payload }).await,
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
        self.introduce(payload).map_err(|failure| {
            let id = self.api.ids.make();
            let errors = refusal(&failure, id.as_str());
            Closing::not_admitted(&errors[0].message)
        })?;
        self.initialised = true;
        self.keep_alive.initialised();
        self.say(&ServerMessage::ConnectionAck).await
    }

    /// Whether the caller is admitted at all; each operation asks again.
    fn introduce(&mut self, payload: Map<String, Value>) -> Result<(), Failure> {
        if let Some(value) = authorization(payload)? {
            Arc::make_mut(&mut self.headers).insert(AUTHORIZATION, value);
        }
        admit(&self.api, &self.headers).map(drop)
    }

    async fn subscribe(&mut self, id: String, request: GraphqlRequest) -> Result<(), End> {
        if !self.initialised {
            return Err(Closing::not_initialised().into());
        }
        if self.operations.has(&id) {
            return Err(Closing::already_exists(&id).into());
        }
        if self.operations.is_full() {
            let payload = &[too_many(self.limits.operations)];
            return self.say(&ServerMessage::Error { id: &id, payload }).await;
        }
        self.start(id, request).await;
        Ok(())
    }

    async fn start(&mut self, id: String, mut request: GraphqlRequest) {
        let request_id = self.api.ids.make();
        let span = tracing::info_span!("operation", id = request_id.as_str());
        request.request_id = request_id.as_str().to_owned();
        let running = self.api.sockets.begin_operation();
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

    async fn pass_on(&mut self, answer: Answer) -> Result<(), End> {
        if self.operations.admits(&answer) {
            self.send(Message::Text(answer.text)).await?;
        }
        Ok(())
    }

    async fn look_at_the_clock(&mut self) -> Result<(), End> {
        match self.keep_alive.due(Instant::now()) {
            Some(Due::Initialisation) => Err(Closing::init_timeout().into()),
            Some(Due::Silence) => self.listen_once_more().await,
            Some(Due::Ping) => self.send(Message::Ping(Bytes::new())).await,
            None => Ok(()),
        }
    }

    /// What has arrived while this process was busy with something else counts.
    async fn listen_once_more(&mut self) -> Result<(), End> {
        match self.socket.recv().now_or_never() {
            Some(message) => self.hear(message).await,
            None => Err(Closing::silent(self.limits.silence).into()),
        }
    }

    async fn say(&mut self, message: &ServerMessage<'_>) -> Result<(), End> {
        self.send(Message::Text(message.text())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        let sent = timeout(self.limits.send_patience, self.socket.send(message)).await;
        sent.map_err(|_| End::Slow)?.map_err(|_| End::Left)
    }

    async fn flush(&mut self) -> Result<(), End> {
        let flushed = timeout(self.limits.send_patience, self.socket.flush()).await;
        flushed.map_err(|_| End::Slow)?.map_err(|_| End::Left)
    }

    /// Says goodbye and waits for the client to do the same, not for long: a socket that is
    /// dropped with unread messages in it may take our last words along.
    async fn part(mut self, end: End) {
        let closing = match end {
            End::Slow => return self.api.sockets.note_slow(),
            End::Left => None,
            End::Closed(closing) => Some(closing),
        };
        let farewell = async {
            if let Some(closing) = closing {
                self.socket
                    .send(Message::Close(Some(closing.into())))
                    .await?;
            }
            while self.socket.recv().await.transpose()?.is_some() {}
            Ok::<_, Error>(())
        };
        if timeout(self.limits.farewell, farewell).await.is_err() {
            tracing::debug!("the client did not close the WebSocket");
        }
    }
}

fn too_many(limit: usize) -> ResponseError {
    let message = format!(
        "A connection may have {limit} operations at a time; complete one before starting another."
    );
    ResponseError::new(ErrorCode::RateLimited, message)
}
