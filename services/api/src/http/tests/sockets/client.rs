//! The other side of a WebSocket.

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

use super::{PATIENCE, Server};

pub(super) struct Client<S = TcpStream> {
    pub(super) socket: WebSocketStream<S>,
}

impl Client {
    /// Opens a WebSocket with further headers.
    pub(super) async fn dial(
        address: SocketAddr,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Box<Error>> {
        let stream = TcpStream::connect(address).await.unwrap();
        Self::over(stream, &address.to_string(), headers).await
    }

    /// Opens a WebSocket and says nothing.
    pub(super) async fn silent(server: &Server) -> Self {
        Self::dial(server.address, &[]).await.unwrap()
    }

    /// A client that has introduced itself.
    pub(super) async fn ready(server: &Server) -> Self {
        let mut client = Self::silent(server).await;
        client.introduce(&json!({})).await;
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

    /// Introduces itself and is welcomed.
    pub(super) async fn introduce(&mut self, payload: &Value) {
        self.say(&json!({ "type": "connection_init", "payload": payload }))
            .await;
        assert_eq!(self.hear().await, json!({ "type": "connection_ack" }));
    }

    pub(super) async fn say(&mut self, message: &Value) {
        self.send(Message::text(message.to_string())).await;
    }

    pub(super) async fn send(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// The next message, whatever its kind.
    pub(super) async fn receive(&mut self) -> Option<Result<Message, Error>> {
        timeout(PATIENCE, self.socket.next())
            .await
            .expect("something is said")
    }

    /// The next message of the protocol.
    pub(super) async fn hear(&mut self) -> Value {
        loop {
            match self.receive().await.expect("the connection is open") {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("no message of the protocol: {other:?}"),
            }
        }
    }

    /// The code and the reason with which the server closes the connection; all messages before
    /// that are passed over.
    pub(super) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.receive().await.expect("the server says why it closes") {
                Ok(Message::Close(Some(frame))) => {
                    // Sends the answer. The server may have left without waiting for it.
                    drop(self.receive().await);
                    return (frame.code.into(), frame.reason.to_string());
                }
                Ok(_) => {}
                Err(error) => panic!("closed without a word: {error}"),
            }
        }
    }

    /// Reads to the end and counts the messages. The end may be a rude one.
    pub(super) async fn count(&mut self) -> usize {
        let mut count = 0;
        loop {
            match self.receive().await {
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
