//! Limits concurrent executions, and runs those that wait in tasks of their own: mutations outlive
//! their connections, queries end with them.

use std::{any::Any, num::NonZero, panic::AssertUnwindSafe, sync::Arc, task::Poll, time::Duration};

use futures_util::{FutureExt as _, future::poll_fn};
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

/// How many requests a [`RequestLimiter`] has at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestUse {
    /// Requests that run, small and large ones.
    pub running: usize,
    /// Requests that wait in the queue.
    pub waiting: usize,
    /// Large queries that run or wait in the queue of all.
    pub large: usize,
    /// Large queries that wait for each other.
    pub large_waiting: usize,
}

/// A limiter of concurrent executions. Cheap to clone; clones share the limits.
#[derive(Clone, Debug)]
pub struct RequestLimiter {
    capacity: Capacity,
    tasks: TaskTracker,
    running: Arc<Semaphore>,
    accepted: Arc<Semaphore>,
    large: Arc<Semaphore>,
    accepted_large: Arc<Semaphore>,
}

impl RequestLimiter {
    /// Creates a limiter.
    #[must_use]
    pub fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            tasks: TaskTracker::new(),
            running: Arc::new(Semaphore::new(capacity.running)),
            accepted: Arc::new(Semaphore::new(capacity.running + capacity.waiting)),
            large: Arc::new(Semaphore::new(capacity.large)),
            accepted_large: Arc::new(Semaphore::new(capacity.large + capacity.large_waiting)),
        }
    }

    /// Waits in the queue and then runs the work. Fails with `UNAVAILABLE` on overload and with
    /// `TIMEOUT` after the deadline.
    ///
    /// Small work is tried at once, and gets a task of its own as soon as it has to wait.
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
        let Capacity {
            queue_timeout,
            deadline: limit,
            ..
        } = self.capacity;
        let deadline = Instant::now() + limit;
        let accepted = Arc::clone(&self.accepted).try_acquire_owned();
        let accepted = accepted.map_err(|_| overloaded())?;
        let running = Arc::clone(&self.running).acquire_owned();
        let running = timeout(queue_timeout.min(limit), running).await;
        let running = running
            .map_err(|_| overloaded())?
            .map_err(Failure::internal)?;
        let work = async move {
            let done = work.await;
            drop((accepted, large, running));
            done
        };
        let work = AssertUnwindSafe(work).catch_unwind();
        let mut work = Box::pin(work.instrument(Span::current()));
        // What has nothing to wait for needs no task, which another thread would have to be woken for.
        // Large work would keep its connection from answering other requests.
        if size == Size::Small
            && let Poll::Ready(done) = poll_fn(|task| Poll::Ready(work.as_mut().poll(task))).await
        {
            return done.map_err(panicked);
        }
        let task = self.tasks.spawn(work);
        let outcome = match at_deadline {
            AtDeadline::Continue => timeout_at(deadline, task).await,
            AtDeadline::Stop => timeout_at(deadline, AbortOnDropHandle::new(task)).await,
        };
        let outcome = outcome.map_err(|_| deadline_exceeded(at_deadline))?;
        outcome.map_err(Failure::internal)?.map_err(panicked)
    }

    /// Waits until few enough large queries run. They wait in a queue of their own, so that small
    /// requests find places in theirs.
    async fn wait_for_large_queries(&self) -> Result<[OwnedSemaphorePermit; 2], Failure> {
        let accepted = Arc::clone(&self.accepted_large).try_acquire_owned();
        let accepted = accepted.map_err(|_| overloaded())?;
        let large = Arc::clone(&self.large).acquire_owned();
        let large = timeout(self.capacity.large_queue_timeout, large).await;
        let large = large
            .map_err(|_| overloaded())?
            .map_err(Failure::internal)?;
        Ok([large, accepted])
    }

    /// Returns how many requests run and wait.
    #[must_use]
    pub fn usage(&self) -> RequestUse {
        let Capacity {
            running,
            waiting,
            large,
            large_waiting,
            ..
        } = self.capacity;
        // Read one after the other, while requests come and go.
        let used = |places: &Semaphore, all: usize| all.saturating_sub(places.available_permits());
        let running_now = used(&self.running, running);
        let large_now = used(&self.large, large);
        let accepted = used(&self.accepted, running + waiting);
        let accepted_large = used(&self.accepted_large, large + large_waiting);
        RequestUse {
            running: running_now,
            waiting: accepted.saturating_sub(running_now),
            large: large_now,
            large_waiting: accepted_large.saturating_sub(large_now),
        }
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

/// The panic itself is reported where it happens.
fn panicked(_: Box<dyn Any + Send>) -> Failure {
    Failure::internal("the execution panicked")
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
