//! The state that the workers of a process share: wake-ups and reports.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vitrine_domain::workers::Worker;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::clock::Timestamp;
use vitrine_model::worker::{WorkerReport, WorkerRun};

use super::work_lease::WorkLease;

/// How often changed reports are saved.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// Wake-ups and reports of the workers of this process.
pub(super) struct WorkerBoard(HashMap<Worker, Slot>);

#[derive(Default)]
struct Slot {
    wake: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    report: WorkerReport,
    /// Whether the report has changed since it was saved.
    unsaved: bool,
    /// The number of the latest run started.
    started: u64,
    /// The number of the latest run that succeeded without a backlog.
    succeeded: u64,
}

impl Default for WorkerBoard {
    fn default() -> Self {
        let slot = |worker| (worker, Slot::default());
        Self(Worker::ALL.into_iter().map(slot).collect())
    }
}

impl WorkerBoard {
    fn slot(&self, worker: Worker) -> &Slot {
        self.0.get(&worker).expect("every worker has a slot")
    }

    fn with<T>(&self, worker: Worker, access: impl FnOnce(&mut State) -> T) -> T {
        let state = &self.slot(worker).state;
        access(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a worker run at once, or as soon as its current run has ended. Returns the number of
    /// the first run that starts after this call.
    pub(super) fn wake(&self, worker: Worker) -> u64 {
        let next_run = self.with(worker, |state| state.started + 1);
        self.slot(worker).wake.notify_one();
        next_run
    }

    /// Waits until the worker is woken; returns at once if that happened since the last wait.
    pub(super) async fn woken(&self, worker: Worker) {
        self.slot(worker).wake.notified().await;
    }

    /// Returns true if this run or a later one succeeded without a backlog.
    pub(super) fn has_succeeded(&self, worker: Worker, run: u64) -> bool {
        self.with(worker, |state| state.succeeded >= run)
    }

    /// Records the start of a run and returns its number.
    pub(super) fn begin_run(&self, worker: Worker) -> u64 {
        self.with(worker, |state| {
            state.started += 1;
            state.started
        })
    }

    /// Records the end of a run and returns the worker's report.
    pub(super) fn end_run(
        &self,
        worker: Worker,
        run: u64,
        outcome: &Result<WorkerRun, DomainError>,
        now: Timestamp,
        took: Duration,
    ) -> WorkerReport {
        let millis = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        self.with(worker, |state| {
            state.unsaved = true;
            match outcome {
                Ok(done) => {
                    // A run with a backlog has not processed everything it saw.
                    if done.backlog == 0 {
                        state.succeeded = run;
                    }
                    state.report.ran(*done, now, millis);
                }
                Err(error) => state.report.failed(error_chain(error), now, millis),
            }
            state.report.clone()
        })
    }

    /// Returns the reports that were not saved yet, and marks them as saved.
    fn take_unsaved(&self) -> Vec<(&'static str, WorkerReport)> {
        let unsaved = |worker: Worker| {
            self.with(worker, |state| {
                std::mem::take(&mut state.unsaved).then(|| (worker.name(), state.report.clone()))
            })
        };
        Worker::ALL.into_iter().filter_map(unsaved).collect()
    }

    /// Marks all reports as unsaved, after saving failed.
    fn mark_unsaved(&self) {
        for worker in Worker::ALL {
            self.with(worker, |state| state.unsaved = state.report.runs > 0);
        }
    }
}

/// Saves reports while this process holds the lease, and once more at the end.
pub(super) async fn save_worker_reports(
    catalog: Catalog,
    lease: WorkLease,
    board: Arc<WorkerBoard>,
    stop: CancellationToken,
) {
    loop {
        let stopped = stop
            .run_until_cancelled(tokio::time::sleep(SAVE_EVERY))
            .await
            .is_none();
        if lease.holds() {
            let saved =
                super::catching_panics(catalog.save_worker_reports(board.take_unsaved())).await;
            if let Err(error) = saved {
                tracing::debug!(%error, "worker reports could not be saved");
                board.mark_unsaved();
            }
        }
        if stopped {
            return;
        }
    }
}

/// Returns the error with its causes, cut to 500 characters.
fn error_chain(error: &DomainError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text.chars().take(500).collect()
}
