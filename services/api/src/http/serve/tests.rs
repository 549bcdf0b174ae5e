//! Connections in memory, on paused time: it advances only when all tasks are idle, so that a busy
//! machine causes no timeouts.

mod http1;
mod http2;

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, body::Body, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    task::JoinSet,
    time::{Duration, Instant},
};

use super::{ConnectionEvent, ConnectionLimits, Connections, connection::Server};

/// The number of bytes that one side may send before the other has read them.
const BUFFER: usize = 64 * 1024;
const SECOND: Duration = Duration::from_secs(1);

/// A server without a listener; it stops when dropped.
struct Memory {
    server: Arc<Server>,
    tasks: JoinSet<()>,
}

impl Memory {
    fn start() -> Self {
        Self::with(ConnectionLimits::default())
    }

    fn with(limits: ConnectionLimits) -> Self {
        let router = Router::new()
            .route("/", get(async || "hello"))
            .route("/health/live", get(async || "alive"))
            .route("/large", get(async || Body::from(vec![b'x'; 20 * BUFFER])))
            .route("/slow", get(async || tokio::time::sleep(50 * SECOND).await));
        Self {
            server: Arc::new(Server::new(router, Connections::new(limits, []))),
            tasks: JoinSet::new(),
        }
    }

    fn connect(&mut self) -> Client {
        let (here, there) = duplex(BUFFER);
        let server = Arc::clone(&self.server);
        let peer = SocketAddr::from(([192, 0, 2, 1], 7));
        let permit = server.connections.admit(peer.ip()).unwrap();
        self.tasks
            .spawn(async move { server.serve(there, peer, permit).await });
        Client {
            stream: here,
            opened: Instant::now(),
        }
    }

    fn count(&self, event: ConnectionEvent) -> u64 {
        self.server.connections.count(event)
    }

    /// Waits until all connections have ended.
    async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
        assert_eq!(self.server.connections.open(), 0);
    }
}

/// The client's side of a connection.
struct Client {
    stream: DuplexStream,
    opened: Instant,
}

impl Client {
    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends a request and returns the response, which must be short.
    async fn get(&mut self, path: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
            .await;
        let mut bytes = [0; 4096];
        let length = self.stream.read(&mut bytes).await.unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    /// Waits until the server closes the connection; returns what it sent.
    async fn closed(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // In memory, a connection that is dropped looks like one that is closed.
        self.stream.read_to_end(&mut bytes).await.unwrap();
        bytes
    }

    /// The number of whole seconds since the connection was opened.
    fn age(&self) -> u64 {
        self.opened.elapsed().as_secs()
    }
}
