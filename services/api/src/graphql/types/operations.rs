//! What operators read: the workers, and documents on their way to a newer version.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::maintenance::DataVersions;
use vitrine_domain::workers::{Worker, WorkersSeen};
use vitrine_model::clock::Timestamp;
use vitrine_model::worker::WorkerReport;

use super::common::count;
use super::details::all;
use crate::graphql::scalars::DateTime;

/// How a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(crate) enum WorkerState {
    /// Nothing was left after its last run, or it has not run yet.
    Idle,
    /// Something was left after its last run; it goes on.
    Behind,
    /// Its last run failed; it keeps trying.
    Failing,
    /// No process runs it at the moment.
    Unattended,
}

/// Something that is done in the background, again and again, by one process at a time.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct WorkerStatus {
    /// Its name, also in logs and counters.
    name: String,
    /// What it does.
    purpose: String,
    /// How it is doing.
    state: WorkerState,
    /// How many seconds it rests when nothing is left, unless it is woken.
    interval_seconds: i32,
    /// The process that runs it, by the name that process gave itself; null when none does.
    process: Option<String>,
    /// How often it ran since that process took it over. What follows is as of a few seconds ago.
    runs: i32,
    /// How many of these runs failed.
    failures: i32,
    /// When its last run ended; null when it never ran.
    last_run_at: Option<DateTime>,
    /// How long that run took, in milliseconds.
    last_run_millis: i32,
    /// How many things all these runs have dealt with.
    done: i32,
    /// When it last dealt with something; null when it never did.
    last_done_at: Option<DateTime>,
    /// How many things waited after its last run; at least so many where counting them all costs
    /// more than dealing with some.
    backlog: i32,
    /// For how many seconds something has been waiting: of `fold` the age of the oldest review that is
    /// not counted yet, of others since the first run that left something. 0 when nothing waits.
    lag_seconds: f64,
    /// Since when the oldest of what waits does, or something has been waiting all the time; null
    /// when nothing is.
    waiting_since: Option<DateTime>,
    /// How many things wait that this release leaves alone, because a newer one wrote them and has to
    /// deal with them. They are not in `backlog`.
    left_alone: i32,
    /// What went wrong last; null when nothing did.
    last_error: Option<String>,
    /// When that was.
    last_error_at: Option<DateTime>,
}

/// The workers as they were seen at an instant.
pub(crate) fn workers(seen: WorkersSeen, now: Timestamp) -> Vec<WorkerStatus> {
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

/// How many documents are of a version.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct VersionCount {
    /// The version.
    version: i32,
    /// How many documents are of it.
    documents: i32,
}

/// How far the documents of a collection are on their way to the newest version. All can be read
/// and written all the time.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct DataVersionProgress {
    /// The collection: products, reviews.
    collection: String,
    /// The newest version that this release knows; what it writes is of this version.
    newest_version: i32,
    /// How many documents are of each version that has some, the oldest first. Documents of a
    /// version that a newer release writes are counted with the newest.
    versions: Vec<VersionCount>,
    /// How many documents are of an older version than the newest.
    remaining: i32,
    /// How many documents a second are brought to the newest version; null when none are, or when
    /// it has only just begun.
    rate_per_second: Option<f64>,
    /// How many seconds it takes at this rate until none remains; null without a rate.
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

/// How far a change of a supplier has come to the products that name it.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct SupplierPropagation {
    /// How many products carry an older name or country.
    pub(crate) products_behind: i32,
    /// When name or country changed last; null when they never did.
    pub(crate) changed_at: Option<DateTime>,
    /// For how many seconds products have been behind; 0 when none is.
    pub(crate) lag_seconds: f64,
}

/// All versions.
pub(crate) fn versions(found: Vec<DataVersions>) -> Vec<DataVersionProgress> {
    all(found)
}
