//! Workers: when each runs, and in which process.
//!
//! What a worker does is a method of the domain; here it is only called. Any number of processes
//! may have workers: the one that holds the lease of the work runs all of them, the others wait
//! for the lease. A worker runs when it is time, when it is woken, and again soon as long as
//! something is left. Before each run it is asked whether the lease is still held; a run that
//! outlasts it does no harm, because everything that workers write is guarded.

mod board;
mod listener;
mod work_lease;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vitrine_api::http::Sockets;
use vitrine_domain::maintenance::UncountedWatch;
use vitrine_domain::workers::{Maintenance, Worker};
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::worker::Run;

use crate::metrics::{MEDIA_TYPE, Metrics};
use crate::pulse::Pulse;
use board::WorkerBoard;
use work_lease::WorkLease;

/// How often reference data is looked at, and counted views are handed over.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest that a worker that fails rests.
const MAX_REST: Duration = Duration::from_secs(30);
/// A worker that keeps up rests so many times as long as it has worked.
const SHARE: u32 = 20;
/// But no longer than this.
const MAX_SHARE: Duration = Duration::from_mins(5);
/// How long workers may take to stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// The workers of a process.
pub(crate) struct Workers {
    tasks: TaskTracker,
    stop: CancellationToken,
    pulse: Pulse,
    metrics: Metrics,
    work_lease: OnceLock<WorkLease>,
}

impl Workers {
    /// No workers yet.
    pub(crate) fn new(pulse: Pulse) -> Self {
        Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            pulse,
            metrics: Metrics::new(),
            work_lease: OnceLock::new(),
        }
    }

    /// Keeps this process's view of the database fresh: whether it answers, what time it has,
    /// reference data, and reviews that wait to be counted.
    pub(crate) fn attend(&self, catalog: &Catalog) -> &Self {
        self.pulse.answered();
        let pulse = self.pulse.clone();
        let pulse = pulse.keep(catalog.clone(), self.stop.clone());
        self.tasks.spawn(pulse);
        self.watch_uncounted(catalog);
        let (catalog, metrics) = (catalog.clone(), self.metrics.clone());
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let mut failing = false;
            while stop
                .run_until_cancelled(tokio::time::sleep(PERIOD))
                .await
                .is_some()
            {
                let outcome = catching_panics(catalog.refresh_reference()).await;
                metrics.ran("reference", outcome.is_err());
                report("reference", outcome.as_ref().err(), &mut failing);
            }
        });
        self
    }

    /// Looks once a second whether reviews wait too long to be counted, and helps if they do.
    fn watch_uncounted(&self, catalog: &Catalog) -> &Self {
        let (catalog, metrics) = (catalog.clone(), self.metrics.clone());
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let (mut failing, mut watch) = (false, UncountedWatch::default());
            while stop
                .run_until_cancelled(tokio::time::sleep(PERIOD))
                .await
                .is_some()
            {
                let outcome = catching_panics(catalog.watch_uncounted(&mut watch)).await;
                if let Ok(waiting) = &outcome {
                    metrics.uncounted(waiting, catalog.own_uncounted_age(), catalog.now());
                }
                metrics.ran("uncounted", outcome.is_err());
                report("uncounted", outcome.as_ref().err(), &mut failing);
            }
        });
        self
    }

    /// Hands over what requests count, once a second. At the end it is for
    /// [`Catalog::drain`] to hand over the rest.
    pub(crate) fn hand_over(&self, catalog: &Catalog) -> &Self {
        let (catalog, metrics) = (catalog.clone(), self.metrics.clone());
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let mut failing = false;
            while stop
                .run_until_cancelled(second_or_much(&catalog))
                .await
                .is_some()
            {
                let outcome = catching_panics(catalog.hand_over_activity()).await;
                metrics.counted(catalog.activity_waiting());
                metrics.ran("handover", outcome.is_err());
                report("handover", outcome.as_ref().err(), &mut failing);
            }
        });
        self
    }

    /// Works in the background as well, whenever no other process does.
    pub(crate) fn work(&self, catalog: &Catalog, owner: &str) -> &Self {
        let board = Arc::new(WorkerBoard::default());
        let work_lease = WorkLease::new(catalog.clone(), owner.to_owned());
        let keep = work_lease.clone().keep(self.stop.clone());
        self.tasks.spawn(keep);
        let listen = listener::listen(
            catalog.clone(),
            work_lease.clone(),
            Arc::clone(&board),
            self.stop.clone(),
        );
        self.tasks.spawn(listen);
        let report = board::keep_reports(
            catalog.clone(),
            work_lease.clone(),
            Arc::clone(&board),
            self.stop.clone(),
        );
        self.tasks.spawn(report);
        for worker in Worker::ALL {
            let job = Job {
                worker,
                catalog: catalog.clone(),
                work_lease: work_lease.clone(),
                board: Arc::clone(&board),
                metrics: self.metrics.clone(),
                stop: self.stop.clone(),
            };
            self.tasks.spawn(job.run());
        }
        // The first is what is released at the end; nobody begins twice.
        let _ = self.work_lease.set(work_lease);
        self
    }

    /// Whether the database answered a moment ago.
    pub(crate) fn ready(&self) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
        let pulse = self.pulse.clone();
        move || pulse.ready()
    }

    /// The counters of this process.
    pub(crate) fn metrics(&self) -> vitrine_api::http::Metrics {
        let metrics = self.metrics.clone();
        vitrine_api::http::Metrics::new(MEDIA_TYPE, move || metrics.text())
    }

    /// The same with those of connections that follow.
    pub(crate) fn metrics_with(&self, sockets: &Sockets) -> vitrine_api::http::Metrics {
        let (metrics, sockets) = (self.metrics.clone(), sockets.clone());
        vitrine_api::http::Metrics::new(MEDIA_TYPE, move || {
            metrics.followed(&sockets);
            metrics.text()
        })
    }

    /// Stops all workers between two runs, and lets another process take over at once.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(PATIENCE, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "a worker did not stop in time; what it had begun is completed by the next"
            );
        }
        if let Some(work_lease) = self.work_lease.into_inner() {
            work_lease.release().await;
        }
    }
}

/// A second, or less when much has come.
async fn second_or_much(catalog: &Catalog) {
    tokio::select! {
        () = tokio::time::sleep(PERIOD) => {}
        () = catalog.activity_is_much() => {}
    }
}

/// One worker in this process.
struct Job {
    worker: Worker,
    catalog: Catalog,
    work_lease: WorkLease,
    board: Arc<WorkerBoard>,
    metrics: Metrics,
    stop: CancellationToken,
}

impl Job {
    async fn run(self) {
        while self
            .stop
            .run_until_cancelled(self.work_lease.held())
            .await
            .is_some()
        {
            self.run_while_held().await;
        }
    }

    /// Runs at once, since nobody knows what waits, and then whenever there is a reason to.
    async fn run_while_held(&self) {
        let (mut maintenance, mut failures) = (Maintenance::default(), 0_u32);
        let mut failing = false;
        while self.work_lease.holds() && !self.stop.is_cancelled() {
            let began = Instant::now();
            // Never cut off: it ends by itself within seconds.
            let outcome = self.run_once(&mut maintenance).await;
            report(self.worker.name(), outcome.as_ref().err(), &mut failing);
            failures = if outcome.is_err() { failures + 1 } else { 0 };
            let rest = self.rest(outcome.as_ref().ok(), began.elapsed(), failures);
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = self.board.woken(self.worker) => {}
                () = self.work_lease.lost() => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    async fn run_once(&self, maintenance: &mut Maintenance) -> Result<Run, DomainError> {
        let (turn, began) = (self.board.begin(self.worker), Instant::now());
        let outcome = catching_panics(Box::pin(self.catalog.work(self.worker, maintenance))).await;
        let took = began.elapsed();
        let now = self.catalog.now();
        let report = self.board.ended(self.worker, turn, &outcome, now, took);
        self.metrics.reported(self.worker.name(), &report, now);
        self.count(&outcome, maintenance);
        if let Ok(run) = &outcome
            && run.done > 0
            && self.worker != Worker::Audit
        {
            tracing::info!(
                worker = self.worker.name(),
                done = run.done,
                left = run.backlog,
                "worked"
            );
        }
        outcome
    }

    fn count(&self, outcome: &Result<Run, DomainError>, maintenance: &mut Maintenance) {
        let name = self.worker.name();
        self.metrics.ran(name, outcome.is_err());
        let Ok(run) = outcome else { return };
        self.metrics.did(name, run.done);
        if self.worker == Worker::Fold {
            self.metrics.folded(run.done);
        }
        if self.worker == Worker::Audit {
            let audit = std::mem::take(&mut maintenance.audit);
            self.metrics.recounted(audit.products as u64, audit.round);
            for field in audit.differences {
                self.metrics.differed(field);
            }
        }
    }

    /// How long to rest: longer after a run that took long and with each failure, short while
    /// something is left.
    fn rest(&self, run: Option<&Run>, took: Duration, failures: u32) -> Duration {
        let usual = self.worker.every();
        match run {
            Some(run) if run.backlog > 0 => self.worker.pause(took),
            Some(_) if self.worker.is_prompt() => usual,
            Some(_) => usual.max(MAX_SHARE.min(took * SHARE)),
            None => {
                let longer = self.worker.pause(took).max(PERIOD) * (1 << failures.min(5));
                longer.min(MAX_REST.max(usual))
            }
        }
    }
}

/// Work that fails when it panics, so that whoever does it again and again goes on.
async fn catching_panics<T>(
    work: impl Future<Output = Result<T, DomainError>>,
) -> Result<T, DomainError> {
    let caught = AssertUnwindSafe(work).catch_unwind().await;
    caught.unwrap_or_else(|payload| {
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let panicked = format!("panicked: {}", said.unwrap_or("without a message"));
        Err(DomainError::Internal(panicked.into()))
    })
}

/// Says once that a worker fails, and once that it works again.
fn report(name: &str, error: Option<&DomainError>, failing: &mut bool) {
    match error {
        None if *failing => tracing::info!(worker = name, "works again"),
        Some(error) if !*failing => {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(worker = name, %error, cause, "a worker fails; it keeps trying");
        }
        _ => {}
    }
    *failing = error.is_some();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_fails_and_says_why() {
        async fn said(payload: impl std::any::Any + Send) -> String {
            let work = async { std::panic::panic_any(payload) };
            match catching_panics::<()>(work).await {
                Err(DomainError::Internal(cause)) => cause.to_string(),
                other => panic!("it does not fail: {other:?}"),
            }
        }
        assert_eq!(said("no hour").await, "panicked: no hour");
        assert_eq!(said("no hour".to_owned()).await, "panicked: no hour");
        assert_eq!(said(7).await, "panicked: without a message");
        assert_eq!(catching_panics(async { Ok(7) }).await.unwrap(), 7);
    }
}
