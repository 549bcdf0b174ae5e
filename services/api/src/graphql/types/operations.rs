//! Output types for operators: worker status, data versions and supplier propagation.

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::maintenance::DataVersions;
use vitrine_domain::workers::{Worker, WorkerStatuses};
use vitrine_model::clock::Timestamp;
use vitrine_model::worker::WorkerReport;

use super::common::count;
use super::details::all;
use crate::execution::List;
use crate::graphql::scalars::DateTime;

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
pub(crate) enum WorkerState {
    /// The last run left no work, or the worker has not run yet.
    Idle,
    /// The last run left work; the worker continues.
    Behind,
    /// The last run failed; the worker keeps trying.
    Failing,
    /// No process runs the worker at the moment.
    Unattended,
}

/// The status of a background worker. A worker runs repeatedly, in one process at a time.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct WorkerStatus {
    /// The name of the worker, also used in logs and metrics.
    name: String,
    /// What the worker does.
    purpose: String,
    /// The state of the worker.
    state: WorkerState,
    /// The pause in seconds between runs if no work is left and nothing wakes the worker earlier.
    interval_seconds: i32,
    /// The name of the process that runs the worker; null if none does.
    process: Option<String>,
    /// The number of runs since that process took over the worker. This figure and those below are
    /// a few seconds old.
    runs: i32,
    /// The number of failed runs among them.
    failures: i32,
    /// When the last run ended; null if the worker has never run.
    last_run_at: Option<DateTime>,
    /// The duration of the last run in milliseconds.
    last_run_millis: i32,
    /// The number of items processed in all these runs.
    done: i32,
    /// When the worker last processed an item; null if it never did.
    last_done_at: Option<DateTime>,
    /// The number of items waiting after the last run; a lower bound where counting all of them
    /// would cost more than processing some.
    backlog: i32,
    /// The lag in seconds. For `fold`, the age of the oldest review that is not yet counted; for
    /// other workers, the time since the first run that left work. 0 if nothing is waiting.
    lag_seconds: f64,
    /// The start of the lag: when the oldest waiting item was written, or since when work has been
    /// waiting without interruption. Null if nothing is waiting.
    waiting_since: Option<DateTime>,
    /// The number of waiting items that this release skips because a newer release wrote them and
    /// must process them. They are not included in `backlog`.
    left_alone: i32,
    /// The last error; null if there was none.
    last_error: Option<String>,
    /// When the last error occurred.
    last_error_at: Option<DateTime>,
}

/// Converts the workers' reports to their status at time `now`.
pub(crate) fn workers(seen: WorkerStatuses, now: Timestamp) -> List<WorkerStatus> {
    let holder = seen.lease.filter(|lease| !lease.left.is_zero());
    let owner = holder.map(|lease| lease.owner);
    let status =
        |(worker, report): (Worker, WorkerReport)| status(worker, report, owner.as_deref(), now);
    seen.reports.into_iter().map(status).collect()
}

fn status(
    worker: Worker,
    report: WorkerReport,
    owner: Option<&str>,
    now: Timestamp,
) -> WorkerStatus {
    let state = match &report {
        _ if owner.is_none() => WorkerState::Unattended,
        report if report.failing => WorkerState::Failing,
        report if report.backlog > 0 || report.left_alone > 0 => WorkerState::Behind,
        _ => WorkerState::Idle,
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
    let lag_seconds = report.lag_millis(now) as f64 / 1000.0;
    WorkerStatus {
        name: worker.name().to_owned(),
        purpose: worker.purpose().to_owned(),
        state,
        interval_seconds: count(worker.every().as_secs()),
        process: owner.map(str::to_owned),
        runs: count(report.runs),
        failures: count(report.failures),
        last_run_at: report.last_run_at.map(DateTime),
        last_run_millis: count(report.last_run_millis),
        done: count(report.done),
        last_done_at: report.last_done_at.map(DateTime),
        backlog: count(report.backlog),
        lag_seconds,
        waiting_since: report.behind_since.map(DateTime),
        left_alone: count(report.left_alone),
        last_error: report.last_error,
        last_error_at: report.last_error_at.map(DateTime),
    }
}

/// The number of documents with one schema version.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct VersionCount {
    /// The schema version.
    version: i32,
    /// The number of documents with this version.
    documents: i32,
}

/// The progress of upgrading the documents of a collection to the newest schema version. All
/// documents can be read and written during the upgrade.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct DataVersionProgress {
    /// The collection: `products` or `reviews`.
    collection: String,
    /// The newest version that this release knows, and the version it writes.
    newest_version: i32,
    /// The number of documents per version, oldest version first. Versions without documents are
    /// left out. Documents written by a newer release are counted with the newest version.
    versions: List<VersionCount>,
    /// The number of documents with an older version than the newest.
    remaining: i32,
    /// The number of documents upgraded per second; null if none are being upgraded, or the upgrade
    /// has only just started.
    rate_per_second: Option<f64>,
    /// The estimated time in seconds until no older documents remain; null without a rate.
    seconds_left: Option<f64>,
}

impl From<DataVersions> for DataVersionProgress {
    fn from(found: DataVersions) -> Self {
        let counts = found.counts;
        let remaining: u64 = counts.older.iter().map(|(_, documents)| documents).sum();
        let newest = (counts.newest, counts.total.saturating_sub(remaining));
        let of_version = |(version, documents): (i32, u64)| VersionCount {
            version,
            documents: count(documents),
        };
        let rate = found.rate.filter(|_| remaining > 0);
        #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
        let seconds_left = rate.map(|rate| remaining as f64 / rate);
        Self {
            collection: found.collection.to_owned(),
            newest_version: counts.newest,
            versions: counts
                .older
                .into_iter()
                .chain((newest.1 > 0).then_some(newest))
                .map(of_version)
                .collect(),
            remaining: count(remaining),
            rate_per_second: rate,
            seconds_left,
        }
    }
}

/// The progress of copying a supplier's changes to its products.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct SupplierPropagation {
    /// The number of products that still have the old name or country.
    pub(crate) products_behind: i32,
    /// When the name or country last changed; null if never.
    pub(crate) changed_at: Option<DateTime>,
    /// For how many seconds products have been out of date; 0 if none are.
    pub(crate) lag_seconds: f64,
}

pub(crate) fn versions(found: Vec<DataVersions>) -> List<DataVersionProgress> {
    all(found)
}
