//! Limits concurrent executions, and runs them in tasks of their own: mutations outlive their
//! connections, queries end with them.

use std::{num::NonZero, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::{Instrument, Span};

use crate::execution::{ErrorCode, Failure};

/// Limits on concurrent and queued requests, and timeouts.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// The maximum number of concurrent executions.
    pub running: usize,
    /// The maximum number of queued requests; further ones are refused at once.
    pub waiting: usize,
    /// The maximum number of concurrent executions of large queries, so that small requests find a
    /// processor that is free.
    pub large: usize,
    /// The maximum number of large queries that wait for each other; further ones are refused at
    /// once.
    pub large_waiting: usize,
    /// The maximum time that a large query waits for others before it is refused.
    pub large_queue_timeout: Duration,
    /// The maximum time that a request waits in the queue before it is refused. Keeps the queue
    /// short.
    pub queue_timeout: Duration,
    /// The maximum time from receiving a request to its response; that of a large query begins when
    /// others no longer keep it waiting.
    pub deadline: Duration,
}

/// What happens to work when its deadline passes or its client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtDeadline {
    /// It runs to its end: a change is made whole.
    Continue,
    /// It stops where it waits next, and sends no further database commands.
    Stop,
}

/// How much of a processor a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Little: it runs beside others.
    Small,
    /// Much: few of its kind run at a time.
    Large,
}

impl Default for Capacity {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            running: 128,
            waiting: 1_024,
            large: (processors - 1).max(1),
            large_waiting: 128,
            large_queue_timeout: Duration::from_secs(15),
            queue_timeout: Duration::from_millis(250),
            deadline: Duration::from_secs(5),
        }
    }
}

/// A limiter of concurrent executions. Cheap to clone; clones share the limits.
#[derive(Clone, Debug)]
pub struct RequestLimiter {
    tasks: TaskTracker,
    running: Arc<Semaphore>,
    accepted: Arc<Semaphore>,
    large: Arc<Semaphore>,
    accepted_large: Arc<Semaphore>,
    large_queue_timeout: Duration,
    queue_timeout: Duration,
    deadline: Duration,
}

impl RequestLimiter {
    /// Creates a limiter.
    #[must_use]
    pub fn new(capacity: Capacity) -> Self {
        Self {
            tasks: TaskTracker::new(),
            running: Arc::new(Semaphore::new(capacity.running)),
            accepted: Arc::new(Semaphore::new(capacity.running + capacity.waiting)),
            large: Arc::new(Semaphore::new(capacity.large)),
            accepted_large: Arc::new(Semaphore::new(capacity.large + capacity.large_waiting)),
            large_queue_timeout: capacity.large_queue_timeout,
            queue_timeout: capacity.queue_timeout,
            deadline: capacity.deadline,
        }
    }

    /// Waits in the queue and then runs the work. Fails with `UNAVAILABLE` on overload and with
    /// `TIMEOUT` after the deadline.
    ///
    /// Dropping the returned future while it is queued drops the work unstarted. After that it
    /// depends on `at_deadline` what happens to work whose future is dropped or whose deadline
    /// passes.
    pub async fn run<T: Send + 'static>(
        &self,
        at_deadline: AtDeadline,
        size: Size,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Failure> {
        let large = match size {
            Size::Small => None,
            Size::Large => Some(self.wait_for_large_queries().await?),
        };
        let deadline = Instant::now() + self.deadline;
        let accepted = Arc::clone(&self.accepted).try_acquire_owned();
        let accepted = accepted.map_err(|_| overloaded())?;
        let running = Arc::clone(&self.running).acquire_owned();
        let running = timeout(self.queue_timeout.min(self.deadline), running).await;
        let running = running
            .map_err(|_| overloaded())?
            .map_err(Failure::internal)?;
        let work = async move {
            let done = work.await;
            drop((accepted, large, running));
            done
        };
        let task = self.tasks.spawn(work.instrument(Span::current()));
        let outcome = match at_deadline {
            AtDeadline::Continue => timeout_at(deadline, task).await,
            AtDeadline::Stop => timeout_at(deadline, AbortOnDropHandle::new(task)).await,
        };
        let outcome = outcome.map_err(|_| deadline_exceeded(at_deadline))?;
        outcome.map_err(Failure::internal)
    }

    /// Waits until few enough large queries run. They wait in a queue of their own, so that small
    /// requests find places in theirs.
    async fn wait_for_large_queries(&self) -> Result<[OwnedSemaphorePermit; 2], Failure> {
        let accepted = Arc::clone(&self.accepted_large).try_acquire_owned();
        let accepted = accepted.map_err(|_| overloaded())?;
        let large = Arc::clone(&self.large).acquire_owned();
        let large = timeout(self.large_queue_timeout, large).await;
        let large = large
            .map_err(|_| overloaded())?
            .map_err(Failure::internal)?;
        Ok([large, accepted])
    }

    /// Returns the number of unfinished tasks.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for running tasks, at most `limit`. Returns true if all of them have ended.
    pub async fn drain(&self, limit: Duration) -> bool {
        self.tasks.close();
        timeout(limit, self.tasks.wait()).await.is_ok()
    }
}

fn overloaded() -> Failure {
    Failure::new(
        ErrorCode::Unavailable,
        "The service has more requests than it can answer; try again.",
    )
    .retry_after(Duration::from_secs(1))
}

fn deadline_exceeded(at_deadline: AtDeadline) -> Failure {
    let message = match at_deadline {
        AtDeadline::Continue => {
            "The response took too long. The requested change may still take place."
        }
        AtDeadline::Stop => "The response took too long. Ask for smaller pages or fewer fields.",
    };
    Failure::new(ErrorCode::Timeout, message)
}
