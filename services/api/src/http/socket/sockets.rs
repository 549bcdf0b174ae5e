//! All WebSocket connections and streams of events of a process: counting and closing.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::SocketLimits;
use crate::{
    execution::{ErrorCode, Failure},
    graphql::Caller,
    http::client_counts::{ClientCounts, ClientPlace},
};

/// The WebSocket connections and streams of events of a process. Cheap to clone; clones share the
/// same connections.
#[derive(Clone, Debug)]
pub struct Sockets(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: SocketLimits,
    permits: Arc<Semaphore>,
    connections_by_client: ClientCounts,
    operations_by_client: ClientCounts,
    open: TaskTracker,
    /// The tasks of streams of events. Each has a permit.
    streams: TaskTracker,
    stopping: CancellationToken,
    operations: AtomicUsize,
    operations_started: AtomicU64,
    dropped_slow: AtomicU64,
}

/// The permit of one open connection, released when dropped.
#[derive(Debug)]
pub(in crate::http) struct ConnectionPermit {
    sockets: Sockets,
    /// The client of the connection; `None` without a token and an address.
    client: Option<Caller>,
    // Before `_open`: what counts a connection is released before it seems to be gone.
    place: Option<ClientPlace>,
    _permit: OwnedSemaphorePermit,
    _open: TaskTrackerToken,
}

/// Counts one open operation until dropped.
#[derive(Debug)]
pub(in crate::http) struct OperationGuard {
    sockets: Sockets,
    _place: Option<ClientPlace>,
}

impl Sockets {
    /// Creates an empty set with these limits.
    #[must_use]
    pub fn new(limits: SocketLimits) -> Self {
        let permits = limits.connections.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Shared {
            limits,
            permits: Arc::new(Semaphore::new(permits)),
            connections_by_client: ClientCounts::new(limits.connections_per_client),
            operations_by_client: ClientCounts::new(limits.operations_per_client),
            open: TaskTracker::new(),
            streams: TaskTracker::new(),
            stopping: CancellationToken::new(),
            operations: AtomicUsize::new(0),
            operations_started: AtomicU64::new(0),
            dropped_slow: AtomicU64::new(0),
        }))
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.open.len()
    }

    /// Returns the number of open operations: subscriptions, and running queries and mutations.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.0.operations.load(Ordering::Relaxed)
    }

    /// Returns the number of operations started since the process began.
    #[must_use]
    pub fn operations_started(&self) -> u64 {
        self.0.operations_started.load(Ordering::Relaxed)
    }

    /// Returns the number of connections dropped because the client did not read its messages.
    #[must_use]
    pub fn dropped_slow(&self) -> u64 {
        self.0.dropped_slow.load(Ordering::Relaxed)
    }

    /// Asks every client to reconnect (close code 1001), ends all operations, and waits until the
    /// connections are closed, at most `limit`. Returns true if all of them are closed. New
    /// connections are refused with HTTP 503 from now on.
    ///
    /// [`serve()`](crate::http::serve()) does not wait for WebSockets. Call this after it has
    /// returned and before [`RequestLimiter::drain`](crate::http::RequestLimiter::drain), because
    /// queries and mutations continue without their connection.
    pub async fn close(&self, limit: Duration) -> bool {
        self.0.stopping.cancel();
        self.0.open.close();
        timeout(limit, self.0.open.wait()).await.is_ok()
    }

    /// Acquires a permit for a connection from an address. Fails with `RATE_LIMITED` if the address
    /// has too many, and with `UNAVAILABLE` if there are too many in all or the service is stopping.
    pub(in crate::http) fn acquire(
        &self,
        address: Option<IpAddr>,
    ) -> Result<ConnectionPermit, Failure> {
        let client = address.map(Caller::at);
        let place = client.as_ref().map(|client| {
            let place = self.0.connections_by_client.enter(client);
            place.ok_or_else(|| too_many(self.0.limits.connections_per_client))
        });
        let place = place.transpose()?;
        let permit = Arc::clone(&self.0.permits).try_acquire_owned();
        let permit = ConnectionPermit {
            sockets: self.clone(),
            client,
            place,
            _permit: permit.map_err(|_| full())?,
            _open: self.0.open.token(),
        };
        // Checked after taking the token, so that a concurrent `close` either sees this connection
        // or is seen here.
        if self.0.stopping.is_cancelled() {
            return Err(stopping());
        }
        Ok(permit)
    }

    /// Runs a stream of events. Its permit must be part of the work.
    pub(in crate::http) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.streams.spawn(work);
    }

    pub(in crate::http) fn limits(&self) -> &SocketLimits {
        &self.0.limits
    }

    /// Returns a token that is cancelled when all connections must close. Each connection has its
    /// own token, so that they do not contend for one lock.
    pub(in crate::http) fn stopping(&self) -> CancellationToken {
        self.0.stopping.child_token()
    }

    pub(in crate::http) fn count_slow(&self) {
        self.0.dropped_slow.fetch_add(1, Ordering::Relaxed);
    }
}

impl ConnectionPermit {
    /// Counts the connection for the subject of a token from now on, no longer for its address.
    /// Returns false if the subject has too many.
    pub(in crate::http) fn identify(&mut self, subject: Arc<str>) -> bool {
        let client = Caller::Subject(subject);
        let place = self.sockets.0.connections_by_client.enter(&client);
        let admitted = place.is_some();
        (self.client, self.place) = (Some(client), place);
        admitted
    }

    /// Counts one more operation of the client; returns `None` if the client has too many.
    pub(in crate::http) fn begin_operation(&self) -> Option<OperationGuard> {
        let shared = &self.sockets.0;
        let place = match &self.client {
            Some(client) => Some(shared.operations_by_client.enter(client)?),
            None => None,
        };
        shared.operations.fetch_add(1, Ordering::Relaxed);
        shared.operations_started.fetch_add(1, Ordering::Relaxed);
        Some(OperationGuard {
            sockets: self.sockets.clone(),
            _place: place,
        })
    }
}

impl Drop for OperationGuard {
    fn drop(&mut self) {
        self.sockets.0.operations.fetch_sub(1, Ordering::Relaxed);
    }
}

fn too_many(limit: usize) -> Failure {
    let message = format!(
        "There are {limit} subscribers at your address, which is the limit; close a connection."
    );
    Failure::new(ErrorCode::RateLimited, message).retry_after(Duration::from_secs(10))
}

fn full() -> Failure {
    unavailable("The service has more subscribers than it can hold; try again.")
}

fn stopping() -> Failure {
    unavailable("The service is stopping; connect again.")
}

fn unavailable(message: &'static str) -> Failure {
    Failure::new(ErrorCode::Unavailable, message).retry_after(Duration::from_secs(1))
}
