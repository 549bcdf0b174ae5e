//! Who is to be woken, and what each worker says of itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vitrine_domain::workers::Worker;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::clock::Timestamp;
use vitrine_model::worker::{Run, WorkerReport};

use super::work_lease::WorkLease;

/// How often reports are kept, while there is something new.
const REPORTED: Duration = Duration::from_secs(5);

/// What the workers of this process share.
pub(super) struct WorkerBoard(HashMap<Worker, Slot>);

#[derive(Default)]
struct Slot {
    wake: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    report: WorkerReport,
    /// Whether the report says anything that was not kept yet.
    new: bool,
    /// The number of the run that began last.
    begun: u64,
    /// The number of the latest run that went well.
    succeeded: u64,
}

impl Default for WorkerBoard {
    fn default() -> Self {
        let place = |worker| (worker, Slot::default());
        Self(Worker::ALL.into_iter().map(place).collect())
    }
}

impl WorkerBoard {
    fn place(&self, worker: Worker) -> &Slot {
        self.0.get(&worker).expect("every worker has a place")
    }

    fn with<T>(&self, worker: Worker, see: impl FnOnce(&mut State) -> T) -> T {
        let state = &self.place(worker).state;
        see(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets a worker look again at once, or as soon as it has ended its run. Gives the number of
    /// the run that will have seen all that there is now.
    pub(super) fn wake(&self, worker: Worker) -> u64 {
        let seen_by = self.with(worker, |state| state.begun + 1);
        self.place(worker).wake.notify_one();
        seen_by
    }

    /// Waits until the worker is woken; at once when that happened since it last waited.
    pub(super) async fn woken(&self, worker: Worker) {
        self.place(worker).wake.notified().await;
    }

    /// Whether this run, or a later one, went well.
    pub(super) fn has_succeeded(&self, worker: Worker, run: u64) -> bool {
        self.with(worker, |state| state.succeeded >= run)
    }

    /// Notes that a run begins; gives its number.
    pub(super) fn begin(&self, worker: Worker) -> u64 {
        self.with(worker, |state| {
            state.begun += 1;
            state.begun
        })
    }

    /// Notes how a run ended; gives what the worker reports then.
    pub(super) fn ended(
        &self,
        worker: Worker,
        run: u64,
        outcome: &Result<Run, DomainError>,
        now: Timestamp,
        took: Duration,
    ) -> WorkerReport {
        let millis = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        self.with(worker, |state| {
            state.new = true;
            match outcome {
                Ok(done) => {
                    // What is left was seen, but is not dealt with.
                    if done.backlog == 0 {
                        state.succeeded = run;
                    }
                    state.report.ran(*done, now, millis);
                }
                Err(error) => state.report.failed(told(error), now, millis),
            }
            state.report.clone()
        })
    }

    /// The reports that say something new, once.
    fn news(&self) -> Vec<(&'static str, WorkerReport)> {
        let news = |worker: Worker| {
            self.with(worker, |state| {
                std::mem::take(&mut state.new).then(|| (worker.name(), state.report.clone()))
            })
        };
        Worker::ALL.into_iter().filter_map(news).collect()
    }

    /// Lets the reports of all that ran be kept again.
    fn keep_anew(&self) {
        for worker in Worker::ALL {
            self.with(worker, |state| state.new = state.report.runs > 0);
        }
    }
}

/// Keeps reports while this process works, and once more at the end.
pub(super) async fn keep_reports(
    catalog: Catalog,
    lease: WorkLease,
    board: Arc<WorkerBoard>,
    stop: CancellationToken,
) {
    loop {
        let stopped = stop
            .run_until_cancelled(tokio::time::sleep(REPORTED))
            .await
            .is_none();
        if lease.holds() {
            let kept = super::catching_panics(catalog.keep_reports(board.news())).await;
            if let Err(error) = kept {
                tracing::debug!(%error, "what workers report could not be kept");
                board.keep_anew();
            }
        }
        if stopped {
            return;
        }
    }
}

/// The error with its causes, for operators.
fn told(error: &DomainError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text.chars().take(500).collect()
}
