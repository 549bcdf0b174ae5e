//! A WebSocket client for tests.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{
        Error, Message, client::IntoClientRequest, error::ProtocolError, http::HeaderValue,
    },
};

use super::{Server, TIMEOUT};

pub(in crate::http::tests) struct Client<S = TcpStream> {
    pub(super) socket: WebSocketStream<S>,
}

impl Client {
    /// Opens a WebSocket with additional headers.
    pub(super) async fn connect(
        address: SocketAddr,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Box<Error>> {
        let stream = TcpStream::connect(address).await.unwrap();
        Self::over(stream, &address.to_string(), headers).await
    }

    /// Opens a WebSocket without `connection_init`.
    pub(super) async fn uninitialised(server: &Server) -> Self {
        Self::connect(server.address, &[]).await.unwrap()
    }

    /// Opens a WebSocket and initialises it.
    pub(in crate::http::tests) async fn ready(server: &Server) -> Self {
        let mut client = Self::uninitialised(server).await;
        client.initialise(&json!({})).await;
        client
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Opens a WebSocket over a connection.
    pub(super) async fn over(
        stream: S,
        address: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Box<Error>> {
        let target = format!("ws://{address}/graphql");
        let mut request = target.into_client_request().map_err(Box::new)?;
        let protocol = ("sec-websocket-protocol", "soap, graphql-transport-ws");
        for (name, value) in headers.iter().chain([&protocol]) {
            let value = HeaderValue::from_str(value).unwrap();
            request.headers_mut().insert(*name, value);
        }
        let (socket, answer) = client_async(request, stream).await?;
        assert_eq!(
            answer.headers()["sec-websocket-protocol"],
            "graphql-transport-ws"
        );
        assert_eq!(answer.headers()["x-request-id"].len(), 32);
        Ok(Self { socket })
    }

    /// Sends `connection_init` and expects `connection_ack`.
    pub(super) async fn initialise(&mut self, payload: &Value) {
        self.send(&json!({ "type": "connection_init", "payload": payload }))
            .await;
        assert_eq!(
            self.next_message().await,
            json!({ "type": "connection_ack" })
        );
    }

    pub(in crate::http::tests) async fn send(&mut self, message: &Value) {
        self.send_frame(Message::text(message.to_string())).await;
    }

    pub(super) async fn send_frame(&mut self, frame: Message) {
        self.socket.send(frame).await.unwrap();
    }

    /// Returns the next frame of any kind.
    pub(super) async fn next_frame(&mut self) -> Option<Result<Message, Error>> {
        timeout(TIMEOUT, self.socket.next())
            .await
            .expect("a frame is received")
    }

    /// Returns the next message of the protocol.
    pub(in crate::http::tests) async fn next_message(&mut self) -> Value {
        loop {
            match self.next_frame().await.expect("the connection is open") {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("not a message of the protocol: {other:?}"),
            }
        }
    }

    /// Returns the code and the reason with which the server closes the connection; skips all
    /// frames before that.
    pub(super) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self
                .next_frame()
                .await
                .expect("the server sends a close frame")
            {
                Ok(Message::Close(Some(frame))) => {
                    // Sends the close frame. The server may already have disconnected.
                    drop(self.next_frame().await);
                    return (frame.code.into(), frame.reason.to_string());
                }
                Ok(_) => {}
                Err(error) => panic!("closed without a close frame: {error}"),
            }
        }
    }

    /// Reads to the end and counts the messages. The connection may be reset at the end.
    pub(super) async fn count(&mut self) -> usize {
        let mut count = 0;
        loop {
            match self.next_frame().await {
                Some(Ok(Message::Text(_))) => count += 1,
                Some(Ok(_)) => {}
                None
                | Some(Err(
                    Error::Io(_) | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
                )) => return count,
                Some(Err(other)) => panic!("{other}"),
            }
        }
    }
}
