//! Whether the database answers, and what time it has.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vitrine_domain::Catalog;
use vitrine_domain::clock::{DatabaseClock, SystemClock};
use vitrine_model::clock::Timestamp;
use vitrine_storage::{StorageError, Store};

/// How often the database is asked.
const PERIOD: Duration = Duration::from_secs(1);
/// How long its answer is waited for before it is asked again.
const ANSWER: Duration = Duration::from_secs(2);
/// For how long after an answer the database counts as there.
const FRESH: Duration = Duration::from_secs(3);
/// How many questions may be without an answer. Each keeps a connection that requests do not need:
/// dropping it would disturb the driver.
const MAX_UNANSWERED: usize = 16;
/// How often a clock is compared with the database's at the beginning.
const FIRST_MEASUREMENTS: usize = 3;

/// What this process knows of the database's health. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Pulse(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: DatabaseClock,
    /// When the database answered last, by a clock that nobody sets; `None` until the catalogue is
    /// open.
    answered: Mutex<Option<Instant>>,
}

impl Pulse {
    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            clock: DatabaseClock::new(Arc::new(SystemClock)),
            answered: Mutex::new(None),
        }))
    }

    /// The clock that follows the database's.
    pub(crate) fn clock(&self) -> DatabaseClock {
        self.0.clock.clone()
    }

    /// Compares the clocks, before anything is written by them.
    pub(crate) async fn compare_clocks(&self, store: &Store) -> Result<(), StorageError> {
        for _ in 0..FIRST_MEASUREMENTS {
            self.measure(store.ping()).await?;
        }
        Ok(())
    }

    /// Asks again and again, beside the queues of requests, until it is told to stop.
    pub(crate) async fn keep(self, catalog: Catalog, stop: CancellationToken) {
        // Nobody waits for those that get no answer: they end with the process.
        let tasks = TaskTracker::new();
        let unanswered = Arc::new(Semaphore::new(MAX_UNANSWERED));
        while let Some(Ok(permit)) = stop
            .run_until_cancelled(Arc::clone(&unanswered).acquire_owned())
            .await
        {
            let (pulse, catalog) = (self.clone(), catalog.clone());
            let asked = tasks.spawn(async move {
                if pulse.measure(catalog.ping()).await.is_ok() {
                    pulse.answered();
                }
                drop(permit);
            });
            // One without an answer in time goes on by itself.
            let asked = stop.run_until_cancelled(tokio::time::timeout(ANSWER, asked));
            let _ = asked.await;
            let _ = stop.run_until_cancelled(tokio::time::sleep(PERIOD)).await;
        }
    }

    /// Whether the database answered a moment ago; otherwise why the process is not ready.
    pub(crate) fn ready(&self) -> Result<(), String> {
        let answered = self.0.answered.lock();
        match *answered.unwrap_or_else(PoisonError::into_inner) {
            None => Err("the database is waited for".to_owned()),
            Some(at) if at.elapsed() < FRESH => Ok(()),
            Some(_) => Err("the database does not answer".to_owned()),
        }
    }

    /// The database answered: the process is ready, for a while.
    pub(crate) fn answered(&self) {
        let answered = self.0.answered.lock();
        *answered.unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Asks what time it is, and compares.
    async fn measure<E>(&self, ask: impl Future<Output = Result<Timestamp, E>>) -> Result<(), E> {
        let clock = &self.0.clock;
        let (asked, began) = (clock.machine_now(), Instant::now());
        let server = ask.await?;
        clock.measured(asked, began.elapsed(), server);
        Ok(())
    }
}
