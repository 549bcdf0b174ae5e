//! The health of the database connection: whether the database answers, and the offset of its
//! clock.

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
}

impl DatabaseHealth {
    /// Returns the state before the first answer.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            clock: DatabaseClock::new(Arc::new(SystemClock)),
            answered: Mutex::new(None),
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
        let answered = self.0.answered.lock();
        match *answered.unwrap_or_else(PoisonError::into_inner) {
            None => Err("waiting for the database".to_owned()),
            Some(at) if at.elapsed() < READY_FOR => Ok(()),
            Some(_) => Err("the database does not answer".to_owned()),
        }
    }

    /// Records an answer of the database.
    pub(crate) fn mark_answered(&self) {
        let answered = self.0.answered.lock();
        *answered.unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
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
