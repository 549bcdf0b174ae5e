//! All WebSocket connections of a process: how many there are, and how they end.

use std::{
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
use crate::execution::{ErrorCode, Failure};

/// The WebSocket connections of a process: counts them and ends them. Cheap to clone; clones share
/// both.
#[derive(Clone, Debug)]
pub struct Sockets(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: SocketLimits,
    places: Arc<Semaphore>,
    open: TaskTracker,
    stopping: CancellationToken,
    operations: AtomicUsize,
    operations_started: AtomicU64,
    dropped_slow: AtomicU64,
}

/// One connection among all, until dropped.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    _open: TaskTrackerToken,
}

/// One operation among all, until dropped.
#[derive(Debug)]
pub(super) struct Running(Sockets);

impl Sockets {
    /// No connections yet, and room for as many as the limits say.
    #[must_use]
    pub fn new(limits: SocketLimits) -> Self {
        let places = limits.connections.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Shared {
            limits,
            places: Arc::new(Semaphore::new(places)),
            open: TaskTracker::new(),
            stopping: CancellationToken::new(),
            operations: AtomicUsize::new(0),
            operations_started: AtomicU64::new(0),
            dropped_slow: AtomicU64::new(0),
        }))
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.open.len()
    }

    /// How many operations are open: subscriptions, and queries and mutations under way.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.0.operations.load(Ordering::Relaxed)
    }

    /// How many operations were started since the process began.
    #[must_use]
    pub fn operations_started(&self) -> u64 {
        self.0.operations_started.load(Ordering::Relaxed)
    }

    /// How many connections were dropped because the client did not read what it had asked for.
    #[must_use]
    pub fn dropped_slow(&self) -> u64 {
        self.0.dropped_slow.load(Ordering::Relaxed)
    }

    /// Asks every client to connect again elsewhere (close code 1001), ends all operations, and
    /// waits until the connections are closed, at most this long; tells whether all of them are.
    /// From now on there are no new ones: they are refused with HTTP 503.
    ///
    /// [`serve()`](crate::http::serve()) does not wait for them: call this when it has ended,
    /// and before [`RequestLimiter::drain`](crate::http::RequestLimiter::drain), because queries and mutations
    /// go on without their connection.
    pub async fn close(&self, patience: Duration) -> bool {
        self.0.stopping.cancel();
        self.0.open.close();
        timeout(patience, self.0.open.wait()).await.is_ok()
    }

    /// Takes a place for a connection, if there is one.
    pub(super) fn enter(&self) -> Result<Place, Failure> {
        let permit = Arc::clone(&self.0.places).try_acquire_owned();
        let place = Place {
            _permit: permit.map_err(|_| full())?,
            _open: self.0.open.token(),
        };
        // Asked only now: whoever closes either sees this place or is seen here.
        if self.0.stopping.is_cancelled() {
            return Err(stopping());
        }
        Ok(place)
    }

    pub(super) fn limits(&self) -> &SocketLimits {
        &self.0.limits
    }

    /// Cancelled when all connections must close. Each has a token of its own, so that they do
    /// not all queue for the same lock.
    pub(super) fn stopping(&self) -> CancellationToken {
        self.0.stopping.child_token()
    }

    pub(super) fn begin_operation(&self) -> Running {
        self.0.operations.fetch_add(1, Ordering::Relaxed);
        self.0.operations_started.fetch_add(1, Ordering::Relaxed);
        Running(self.clone())
    }

    pub(super) fn note_slow(&self) {
        self.0.dropped_slow.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.operations.fetch_sub(1, Ordering::Relaxed);
    }
}

fn full() -> Failure {
    unavailable("The service has more WebSocket connections than it can hold; try again.")
}

fn stopping() -> Failure {
    unavailable("The service is stopping; connect again.")
}

fn unavailable(message: &'static str) -> Failure {
    Failure::new(ErrorCode::Unavailable, message).retry_after(Duration::from_secs(1))
}
