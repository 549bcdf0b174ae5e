//! Lanes: how many operations of one sort talk to the database at once, and how many may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::DomainError;

/// A right to talk to the database; given back when it is dropped.
pub(crate) type Permit = OwnedSemaphorePermit;

/// The operations of one sort.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

impl ConcurrencyLimit {
    /// A lane in which so many operations run at once, and so many more may wait.
    pub(crate) fn new(concurrency: usize, queue: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(concurrency)),
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    /// Waits for a permit; fails at once when too many wait already.
    pub(crate) async fn permit(&self) -> Result<Permit, DomainError> {
        let permits = Arc::clone(&self.permits);
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _slot =
            QueueSlot::take(&self.waiting, self.queue).ok_or(DomainError::Unavailable(None))?;
        permits
            .acquire_owned()
            .await
            .map_err(|_| DomainError::Unavailable(None))
    }
}

/// A place in the queue, given back when its holder leaves, served or not.
struct QueueSlot<'a>(&'a AtomicUsize);

impl<'a> QueueSlot<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let slot = Self(waiting);
        (before < max).then_some(slot)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
