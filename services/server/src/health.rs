//! The health of the database connection: whether the database answers, and the offset of its
//! clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vitrine_domain::Catalog;
use vitrine_domain::clock::{DatabaseClock, SystemClock};
use vitrine_model::clock::Timestamp;
use vitrine_storage::{StorageError, Store};

/// How often the database is pinged.
const PERIOD: Duration = Duration::from_secs(1);
/// How long to wait for the answer to a ping before the next one.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long after an answer the process counts as ready.
const READY_FOR: Duration = Duration::from_secs(3);
/// For how long after an answer requests still try: an election takes seconds, and they wait for it.
const TRIED_FOR: Duration = Duration::from_secs(10);
/// The maximum number of pings without an answer. Each occupies a connection beyond those of
/// requests: cancelling it would make the driver close the connection.
const MAX_UNANSWERED: usize = 16;
/// How many times the clocks are compared at startup.
const FIRST_MEASUREMENTS: usize = 3;

/// The state of the database as seen by this process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseHealth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: DatabaseClock,
    /// When the database last answered, by the monotonic clock; `None` until the catalogue is open.
    answered: Mutex<Option<Instant>>,
    /// Whether the database refuses the reads of this process. Its pings need no user.
    is_refused: AtomicBool,
}

impl DatabaseHealth {
    /// Returns the state before the first answer.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            clock: DatabaseClock::new(Arc::new(SystemClock)),
            answered: Mutex::new(None),
            is_refused: AtomicBool::new(false),
        }))
    }

    /// Returns the clock that is adjusted to the database's.
    pub(crate) fn clock(&self) -> DatabaseClock {
        self.0.clock.clone()
    }

    /// Adjusts the clock to the database's, before timestamps are written.
    pub(crate) async fn compare_clocks(&self, store: &Store) -> Result<(), StorageError> {
        for _ in 0..FIRST_MEASUREMENTS {
            self.measure_clock(store.ping()).await?;
        }
        Ok(())
    }

    /// Pings the database periodically, bypassing the queues of requests, until stopped.
    pub(crate) async fn poll(self, catalog: Catalog, stop: CancellationToken) {
        // Pings without an answer are not waited for at shutdown.
        let tasks = TaskTracker::new();
        let unanswered = Arc::new(Semaphore::new(MAX_UNANSWERED));
        while let Some(Ok(permit)) = stop
            .run_until_cancelled(Arc::clone(&unanswered).acquire_owned())
            .await
        {
            let (health, catalog) = (self.clone(), catalog.clone());
            let ping = tasks.spawn(async move {
                if health.measure_clock(catalog.ping()).await.is_ok() {
                    health.mark_answered();
                }
                drop(permit);
            });
            // A ping that times out continues in the background.
            let answered = stop.run_until_cancelled(tokio::time::timeout(PING_TIMEOUT, ping));
            let _ = answered.await;
            let _ = stop.run_until_cancelled(tokio::time::sleep(PERIOD)).await;
        }
    }

    /// Returns `Ok` if the database answered recently, otherwise the reason why the process is not
    /// ready.
    pub(crate) fn ready(&self) -> Result<(), String> {
        let reason = match self.silent_for() {
            None => "waiting for the database",
            Some(silent) if silent < READY_FOR => return Ok(()),
            Some(_) if self.0.is_refused.load(Ordering::Relaxed) => {
                "the database refuses this process; the log says why"
            }
            Some(_) => "the database does not answer",
        };
        Err(reason.to_owned())
    }

    /// Whether the database has been silent for so long that requests are refused at once.
    pub(crate) fn is_lost(&self) -> bool {
        self.silent_for().is_some_and(|silent| silent >= TRIED_FOR)
    }

    /// For how long the database has not answered; `None` until the catalogue is open.
    fn silent_for(&self) -> Option<Duration> {
        let answered = self.0.answered.lock();
        let answered = *answered.unwrap_or_else(PoisonError::into_inner);
        answered.map(|at| at.elapsed())
    }

    /// Records an answer of the database. That to a ping does not count while reads are refused.
    pub(crate) fn mark_answered(&self) {
        if !self.0.is_refused.load(Ordering::Relaxed) {
            let answered = self.0.answered.lock();
            *answered.unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// Records whether the database refused a read, as it does without the privileges for it.
    pub(crate) fn mark_read(&self, is_refused: bool) {
        self.0.is_refused.store(is_refused, Ordering::Relaxed);
    }

    /// Pings the database and compares its time with the machine's.
    async fn measure_clock<E>(
        &self,
        ping: impl Future<Output = Result<Timestamp, E>>,
    ) -> Result<(), E> {
        let clock = &self.0.clock;
        let (sent_at, began) = (clock.machine_now(), Instant::now());
        let server = ping.await?;
        clock.measured(sent_at, began.elapsed(), server);
        Ok(())
    }
}
