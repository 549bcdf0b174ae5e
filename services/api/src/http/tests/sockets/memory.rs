//! A server whose connections are in memory. While time is paused it moves only when everybody waits
//! for it, so that a busy machine makes nobody late.

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

/// How many bytes one side may send before the other has read them.
const BUFFER: usize = 64 * 1024;

/// A server that ends when it is dropped.
pub(super) struct MemoryServer {
    pub(super) feed: Feed,
    pub(super) sockets: Sockets,
    dialled: mpsc::UnboundedSender<DuplexStream>,
    _tasks: JoinSet<io::Result<()>>,
}

impl MemoryServer {
    pub(super) fn start(limit: impl FnOnce(&mut SocketLimits)) -> Self {
        let mut limits = SocketLimits::default();
        limit(&mut limits);
        let sockets = Sockets::new(limits);
        let parts = Parts::new(Capacity::default(), |api: Api| api.sockets(sockets));
        let (dialled, accepted) = mpsc::unbounded_channel();
        let serving = axum::serve(Accepted(accepted), parts.router);
        let mut tasks = JoinSet::new();
        tasks.spawn(serving.into_future());
        Self {
            feed: parts.feed,
            sockets: parts.sockets,
            dialled,
            _tasks: tasks,
        }
    }

    /// A client that has introduced itself.
    pub(super) async fn client(&self) -> Client<DuplexStream> {
        let (here, there) = duplex(BUFFER);
        self.dialled.send(there).unwrap();
        let mut client = Client::over(here, "memory", &[]).await.unwrap();
        client.introduce(&serde_json::json!({})).await;
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
