//! Runs work in tasks that outlive the connection that asked for it.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span};

use crate::execution::{ErrorCode, Failure};

/// How much runs at once, how much may wait, and for how long a client is kept.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Executions at the same time.
    pub running: usize,
    /// Further requests that may wait for their turn; more are shed at once.
    pub waiting: usize,
    /// The longest a request waits in the queue; then it is refused, so that the queue stays short.
    pub patience: Duration,
    /// From the arrival of a request to its answer. The work itself is not interrupted.
    pub deadline: Duration,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            running: 128,
            waiting: 1_024,
            patience: Duration::from_millis(250),
            deadline: Duration::from_secs(5),
        }
    }
}

/// A bounded set of tasks. Cheap to clone; clones share the bounds.
#[derive(Clone, Debug)]
pub struct RequestLimiter {
    tasks: TaskTracker,
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
    patience: Duration,
    deadline: Duration,
}

impl RequestLimiter {
    /// A request_limiter with nothing running.
    #[must_use]
    pub fn new(capacity: Capacity) -> Self {
        Self {
            tasks: TaskTracker::new(),
            turns: Arc::new(Semaphore::new(capacity.running)),
            places: Arc::new(Semaphore::new(capacity.running + capacity.waiting)),
            patience: capacity.patience,
            deadline: capacity.deadline,
        }
    }

    /// Waits for a turn and then for the work.
    ///
    /// Dropping the returned future before the turn has come drops the work unstarted; after
    /// that the work runs to its end whatever becomes of the future or the deadline.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Failure> {
        let until = Instant::now() + self.deadline;
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| overloaded())?;
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = timeout(self.patience.min(self.deadline), turn).await;
        let turn = turn.map_err(|_| overloaded())?.map_err(Failure::internal)?;
        let work = async move {
            let done = work.await;
            drop((place, turn));
            done
        };
        let task = self.tasks.spawn(work.instrument(Span::current()));
        let outcome = timeout_at(until, task).await.map_err(|_| too_late())?;
        outcome.map_err(Failure::internal)
    }

    /// How many tasks have not ended yet.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for running tasks, at most this long; tells whether all of them ended.
    pub async fn drain(&self, patience: Duration) -> bool {
        self.tasks.close();
        timeout(patience, self.tasks.wait()).await.is_ok()
    }
}

fn overloaded() -> Failure {
    Failure::new(
        ErrorCode::Unavailable,
        "The service has more requests than it can answer; try again.",
    )
    .retry_after(Duration::from_secs(1))
}

fn too_late() -> Failure {
    Failure::new(
        ErrorCode::Timeout,
        "The answer took too long. A change that was asked for may still take place.",
    )
}
