//! Concurrency limits: how many operations of one class may use the database at once, and how many
//! may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::DomainError;

/// The right to use the database; released on drop.
pub(crate) type Permit = OwnedSemaphorePermit;

/// The limit for one class of operations.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

impl ConcurrencyLimit {
    /// A limit of `concurrency` running and `queue` waiting operations.
    pub(crate) fn new(concurrency: usize, queue: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(concurrency)),
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    /// Waits for a permit; fails at once when the queue is full.
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

/// A place in the queue, released on drop, whether or not a permit was obtained.
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
