//! Accepts connections until shutdown, within limits: strangers cannot take all connections, or
//! keep theirs without using them.

mod activity;
mod connection;
mod connections;
mod delivery;
mod limits;
mod transport;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};
use tokio_util::task::TaskTracker;

use self::{connection::Server, connections::Refusal, transport::Transport};
use super::LineLimiter;

pub(super) use self::connection::Stopping;
pub use self::{
    connections::{ConnectionEvent, Connections},
    limits::ConnectionLimits,
};

/// The default time for connections to end after shutdown has begun.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failure to accept a connection. The usual reason is that the process has too
/// many open files, which trying again at once does not change.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An address that is listened on, with the limits of its connections.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    connections: Connections,
}

impl Listener {
    /// Sets the connections, so that the caller can limit and count them.
    #[must_use]
    pub fn connections(mut self, connections: Connections) -> Self {
        self.connections = connections;
        self
    }

    /// Expects TLS on every connection.
    #[must_use]
    pub fn tls(mut self, config: Arc<ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }
}

/// A listener without TLS and with the default limits.
impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self {
            tcp,
            tls: None,
            connections: Connections::default(),
        }
    }
}

/// Serves until `shutdown` completes, then lets open requests finish within ten seconds.
///
/// Executions that outlast their connections are awaited by [`super::RequestLimiter::drain`].
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_with(listener, router, shutdown, SHUTDOWN_TIMEOUT).await
}

/// Like [`serve`], with a given time for open requests to finish.
pub async fn serve_with(
    listener: impl Into<Listener>,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    let listener = listener.into();
    let server = Arc::new(Server::new(router, listener.connections));
    let acceptor = Acceptor {
        server: Arc::clone(&server),
        tls: listener.tls.map(TlsAcceptor::from),
        tasks: TaskTracker::new(),
    };
    tokio::select! {
        () = acceptor.accept_all(&listener.tcp) => {}
        () = shutdown => {}
    }
    drop(listener.tcp);
    server.stopping.cancel();
    acceptor.tasks.close();
    if timeout(grace, acceptor.tasks.wait()).await.is_err() {
        tracing::warn!("connections were still open after the shutdown timeout");
    }
    Ok(())
}

/// Accepts connections and serves each in its own task.
struct Acceptor {
    server: Arc<Server>,
    tls: Option<TlsAcceptor>,
    tasks: TaskTracker,
}

impl Acceptor {
    /// Never completes.
    async fn accept_all(&self, tcp: &TcpListener) {
        loop {
            match tcp.accept().await {
                Ok((stream, peer)) => self.accepted(stream, peer),
                // The client has left before it was accepted.
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    self.server
                        .connections
                        .record(ConnectionEvent::AcceptFailed);
                    log_accept_error(&error);
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn accepted(&self, stream: TcpStream, peer: SocketAddr) {
        let connections = &self.server.connections;
        connections.record(ConnectionEvent::Accepted);
        let permit = match connections.admit(peer.ip()) {
            Ok(permit) => permit,
            Err(refusal) => return self.refused(refusal, peer),
        };
        if permit.is_beyond_limit() {
            self.refused(Refusal::InAll, peer);
        }
        // Responses are small and sent at once: waiting for more data only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
        let (server, tls) = (Arc::clone(&self.server), self.tls.clone());
        self.tasks.spawn(async move {
            let Some(transport) = server.handshake(stream, tls, peer).await else {
                return;
            };
            server.serve(transport, peer, permit).await;
        });
    }

    fn refused(&self, refusal: Refusal, peer: SocketAddr) {
        static IN_ALL: LineLimiter = LineLimiter::new();
        static BY_ADDRESS: LineLimiter = LineLimiter::new();
        let connections = &self.server.connections;
        match refusal {
            Refusal::InAll => {
                connections.record(ConnectionEvent::RefusedInAll);
                if let Some(left_out) = IN_ALL.permit() {
                    let limit = connections.limits().connections;
                    tracing::warn!(
                        left_out,
                        "a connection is refused: {limit} are open, which is the limit"
                    );
                }
            }
            Refusal::ByAddress => {
                connections.record(ConnectionEvent::RefusedByAddress);
                if let Some(left_out) = BY_ADDRESS.permit() {
                    let limit = connections.limits().connections_per_address;
                    let address = peer.ip().to_canonical();
                    tracing::warn!(
                        left_out,
                        "a connection is refused: {address} has {limit} open, which is the limit for one address; if it is a proxy of yours, name it as a trusted proxy"
                    );
                }
            }
        }
    }
}

impl Server {
    /// Performs the TLS handshake, if there is one. Returns `None` if it fails.
    async fn handshake(
        &self,
        stream: TcpStream,
        tls: Option<TlsAcceptor>,
        peer: SocketAddr,
    ) -> Option<Transport> {
        static FAILED: LineLimiter = LineLimiter::new();
        let Some(tls) = tls else {
            return Some(Transport::Tcp(stream));
        };
        let limit = self.connections.limits().handshake_timeout;
        let handshake = timeout(limit, tls.accept(stream));
        let handshake = self.stopping.run_until_cancelled(handshake).await?;
        let error = match handshake {
            Ok(Ok(stream)) => return Some(Transport::Tls(Box::new(stream))),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it took longer than {limit:?}"),
        };
        self.connections.record(ConnectionEvent::HandshakeFailed);
        if let Some(left_out) = FAILED.permit() {
            let address = peer.ip().to_canonical();
            tracing::info!(left_out, %address, "a TLS handshake failed: {error}");
        }
        None
    }
}

/// Whether an error concerns only the connection that was about to be accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

fn log_accept_error(error: &io::Error) {
    static FAILED: LineLimiter = LineLimiter::new();
    if let Some(left_out) = FAILED.permit() {
        tracing::error!(
            left_out,
            "connections cannot be accepted: {error}; if too many files are open, raise the limit of this process (`ulimit -n`)"
        );
    }
}

#[cfg(test)]
mod tests;
