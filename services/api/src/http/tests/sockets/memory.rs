//! A server with in-memory connections. Paused time advances only when all tasks are idle, so that
//! a busy machine causes no timeouts.

use std::{future::pending, io};

use axum::serve::Listener;
use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc,
    task::JoinSet,
};

use super::super::{Feed, Parts};
use super::Client;
use crate::http::{Api, Capacity, SocketLimits, Sockets};

/// The number of bytes that one side may send before the other has read them.
const BUFFER: usize = 64 * 1024;

/// A server that stops when dropped.
pub(super) struct MemoryServer {
    pub(super) feed: Feed,
    pub(super) sockets: Sockets,
    connected: mpsc::UnboundedSender<DuplexStream>,
    _tasks: JoinSet<io::Result<()>>,
}

impl MemoryServer {
    pub(super) fn start(limit: impl FnOnce(&mut SocketLimits)) -> Self {
        let mut limits = SocketLimits::default();
        limit(&mut limits);
        let sockets = Sockets::new(limits);
        let parts = Parts::new(Capacity::default(), |api: Api| api.sockets(sockets));
        let (connected, accepted) = mpsc::unbounded_channel();
        let serving = axum::serve(Accepted(accepted), parts.router);
        let mut tasks = JoinSet::new();
        tasks.spawn(serving.into_future());
        Self {
            feed: parts.feed,
            sockets: parts.sockets,
            connected,
            _tasks: tasks,
        }
    }

    /// Connects and initialises a client.
    pub(super) async fn client(&self) -> Client<DuplexStream> {
        let (here, there) = duplex(BUFFER);
        self.connected.send(there).unwrap();
        let mut client = Client::over(here, "memory", &[]).await.unwrap();
        client.initialise(&serde_json::json!({})).await;
        client
    }
}

struct Accepted(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for Accepted {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            None => pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}
