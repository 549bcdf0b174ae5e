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
    concurrency: usize,
    waiting: AtomicUsize,
    queue: usize,
}

/// The use of one class of permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermitUse {
    /// How many operations may run at a time.
    pub permits: usize,
    /// How many are running.
    pub in_use: usize,
    /// How many wait for a permit.
    pub waiting: usize,
}

impl ConcurrencyLimit {
    /// A limit of `concurrency` running and `queue` waiting operations.
    pub(crate) fn new(concurrency: usize, queue: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(concurrency)),
            concurrency,
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    /// Returns the use of the permits at this moment.
    pub(crate) fn usage(&self) -> PermitUse {
        let free = self.permits.available_permits();
        PermitUse {
            permits: self.concurrency,
            in_use: self.concurrency.saturating_sub(free),
            waiting: self.waiting.load(Ordering::Relaxed),
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn usage_counts_running_and_waiting_operations() {
        let limit = ConcurrencyLimit::new(1, 5);
        let usage = || {
            let usage = limit.usage();
            (usage.permits, usage.in_use, usage.waiting)
        };
        assert_eq!(usage(), (1, 0, 0));
        let running = limit.permit().await.unwrap();
        let mut waiting = Box::pin(limit.permit());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(usage(), (1, 1, 1));
        drop(running);
        drop(waiting.await.unwrap());
        assert_eq!(usage(), (1, 0, 0));
    }
}
