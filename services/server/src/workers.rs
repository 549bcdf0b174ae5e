//! Workers: when each of them runs, and in which process.
//!
//! The work itself is a method of the domain. Any number of processes can run workers: the holder
//! of the work lease runs all of them, the others wait for the lease. A worker runs periodically,
//! when it is woken, and again soon while it has a backlog. Each run starts only while the lease is
//! held. A run that outlasts the lease does no harm, because every worker write is conditional.

mod board;
mod listener;
mod work_lease;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use vitrine_api::execution::{CacheUse, Engine};
use vitrine_api::http::{Connections, PersistedQueries, RequestLimiter, RequestReport, Sockets};
use vitrine_domain::maintenance::UncountedWatch;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::worker::WorkerRun;

use crate::auth::{DiscoveryKeeper, KeyKeeper};
use crate::certificate::CertificateKeeper;
use crate::health::DatabaseHealth;
use crate::metrics::{MEDIA_TYPE, Metrics};
use crate::refusal::{chain_in_words, is_forbidden};

use board::WorkerBoard;
use work_lease::WorkLease;

/// How often reference data is refreshed, and activity counts are written.
const PERIOD: Duration = Duration::from_secs(1);
/// The maximum pause of a failing worker.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// A worker without a backlog pauses this many times the duration of its last run.
const PAUSE_FACTOR: u32 = 20;
/// The maximum of that pause.
const MAX_IDLE_PAUSE: Duration = Duration::from_mins(5);
/// How long to wait for workers to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The background tasks of a process.
pub(crate) struct Workers {
    tasks: TaskTracker,
    stop: CancellationToken,
    health: DatabaseHealth,
    metrics: Metrics,
    work_lease: OnceLock<WorkLease>,
}

impl Workers {
    /// Returns no tasks yet.
    pub(crate) fn new(health: DatabaseHealth) -> Self {
        Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            health,
            metrics: Metrics::new(),
            work_lease: OnceLock::new(),
        }
    }

    /// Starts the tasks that every process needs: database health and clock, reference data, and
    /// the watch on uncounted reviews.
    pub(crate) fn start_monitoring(&self, catalog: &Catalog) -> &Self {
        self.health.mark_answered();
        self.metrics.watch(catalog);
        let health = self.health.clone();
        self.tasks
            .spawn(health.poll(catalog.clone(), self.stop.clone()));
        self.watch_uncounted(catalog);
        let (catalog, metrics) = (catalog.clone(), self.metrics.clone());
        let (stop, cache) = (self.stop.clone(), CacheUse::default());
        let health = self.health.clone();
        metrics.watch_cache("reference", cache.clone());
        self.tasks.spawn(async move {
            let mut failing = false;
            while stop
                .run_until_cancelled(tokio::time::sleep(PERIOD))
                .await
                .is_some()
            {
                let outcome = catching_panics(catalog.refresh_reference()).await;
                if let Ok(changed) = outcome {
                    cache.count(!changed);
                }
                health.mark_read(
                    outcome
                        .as_ref()
                        .err()
                        .is_some_and(|error| is_forbidden(error)),
                );
                metrics.record_run("reference", outcome.is_err());
                log_outcome("reference", outcome.as_ref().err(), &mut failing);
            }
        });
        self
    }

    /// Checks once a second whether reviews have waited too long to be counted, and counts them if
    /// so.
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
                    metrics.set_uncounted(waiting, catalog.own_uncounted_age(), catalog.now());
                }
                metrics.record_run("uncounted", outcome.is_err());
                log_outcome("uncounted", outcome.as_ref().err(), &mut failing);
            }
        });
        self
    }

    /// Starts the task that reads the keys of an identity provider again, if there is one.
    pub(crate) fn start_key_refresh(&self, keys: Option<KeyKeeper>) -> &Self {
        if let Some(keys) = keys {
            let metrics = self.metrics.clone();
            let report = move |failed| metrics.record_run("token_keys", failed);
            self.tasks.spawn(keys.run(self.stop.clone(), report));
        }
        self
    }

    /// Starts the task that reads where visitors sign in, if they do so at an identity provider.
    pub(crate) fn start_discovery(&self, discovery: Option<DiscoveryKeeper>) -> &Self {
        if let Some(discovery) = discovery {
            let metrics = self.metrics.clone();
            let report = move |failed| metrics.record_run("discovery", failed);
            self.tasks.spawn(discovery.run(self.stop.clone(), report));
        }
        self
    }

    /// Starts the task that reads the certificate again when it is renewed, if there is one.
    pub(crate) fn start_certificate_refresh(
        &self,
        certificate: Option<CertificateKeeper>,
    ) -> &Self {
        if let Some(certificate) = certificate {
            let metrics = self.metrics.clone();
            let report = move |failed| metrics.record_run("certificate", failed);
            self.tasks.spawn(certificate.run(self.stop.clone(), report));
        }
        self
    }

    /// Starts the task that writes buffered activity counts, once a second. [`Catalog::drain`]
    /// writes the rest at shutdown.
    pub(crate) fn start_activity_flush(&self, catalog: &Catalog) -> &Self {
        let (catalog, metrics) = (catalog.clone(), self.metrics.clone());
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let mut failing = false;
            while stop
                .run_until_cancelled(activity_flush_due(&catalog))
                .await
                .is_some()
            {
                let outcome = catching_panics(catalog.flush_activity()).await;
                metrics.set_activity_waiting(catalog.buffered_activity());
                metrics.record_run("handover", outcome.is_err());
                log_outcome("handover", outcome.as_ref().err(), &mut failing);
            }
        });
        self
    }

    /// Starts the workers, which run while this process holds the work lease.
    pub(crate) fn start_workers(&self, catalog: &Catalog, owner: &str) -> &Self {
        let board = Arc::new(WorkerBoard::default());
        let work_lease = WorkLease::new(catalog.clone(), owner.to_owned());
        let renewal = work_lease.clone().keep_renewed(self.stop.clone());
        self.tasks.spawn(renewal);
        let listener = listener::listen(
            catalog.clone(),
            work_lease.clone(),
            Arc::clone(&board),
            self.stop.clone(),
        );
        self.tasks.spawn(listener);
        let reports = board::save_worker_reports(
            catalog.clone(),
            work_lease.clone(),
            Arc::clone(&board),
            self.stop.clone(),
        );
        self.tasks.spawn(reports);
        for worker in Worker::ALL {
            let worker_loop = WorkerLoop {
                worker,
                catalog: catalog.clone(),
                work_lease: work_lease.clone(),
                board: Arc::clone(&board),
                metrics: self.metrics.clone(),
                stop: self.stop.clone(),
            };
            self.tasks.spawn(worker_loop.run());
        }
        // Called once per process, so it is not set yet. Released in `stop`.
        let _ = self.work_lease.set(work_lease);
        self
    }

    /// Returns the readiness check: `Ok` if the database answered recently, otherwise the reason.
    pub(crate) fn ready(&self) -> impl Fn() -> Result<(), String> + Send + Sync + 'static {
        let health = self.health.clone();
        move || health.ready()
    }

    /// Returns whether the database has been silent for so long that requests are refused at once.
    pub(crate) fn lost(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let health = self.health.clone();
        move || health.is_lost()
    }

    /// Adds the metrics of the caches and queues of an API, and returns what records its requests.
    pub(crate) fn watch_requests(
        &self,
        engine: &Engine,
        persisted_queries: &PersistedQueries,
        limiter: &RequestLimiter,
    ) -> impl Fn(&RequestReport<'_>) + Send + Sync + 'static {
        let validator = engine.validator();
        self.metrics
            .watch_cache("documents", validator.cache_use().clone());
        self.metrics
            .watch_cache("persisted_queries", persisted_queries.cache_use().clone());
        self.metrics.watch_requests(limiter);
        let requests = self.metrics.requests();
        move |report| requests.record(report)
    }

    /// Returns the metrics of this process.
    pub(crate) fn metrics(&self) -> vitrine_api::http::Metrics {
        let (metrics, health) = (self.metrics.clone(), self.health.clone());
        vitrine_api::http::Metrics::new(MEDIA_TYPE, move || {
            metrics.set_database_up(health.ready().is_ok());
            metrics.text()
        })
    }

    /// Returns the metrics of this process, including those of connections, of which it may have this many.
    pub(crate) fn metrics_with(
        &self,
        (connections, limit): (&Connections, usize),
        sockets: &Sockets,
    ) -> vitrine_api::http::Metrics {
        let (metrics, health) = (self.metrics.clone(), self.health.clone());
        let (connections, sockets) = (connections.clone(), sockets.clone());
        vitrine_api::http::Metrics::new(MEDIA_TYPE, move || {
            metrics.set_database_up(health.ready().is_ok());
            metrics.set_connections(&connections, limit);
            metrics.set_sockets(&sockets);
            metrics.text()
        })
    }

    /// Stops all tasks between two runs, and releases the lease so that another process takes over
    /// at once.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("a worker did not stop in time; another process will complete its work");
        }
        if let Some(work_lease) = self.work_lease.into_inner() {
            work_lease.release().await;
        }
    }
}

/// Waits for a second, or less if many activity counts are buffered.
async fn activity_flush_due(catalog: &Catalog) {
    tokio::select! {
        () = tokio::time::sleep(PERIOD) => {}
        () = catalog.wait_for_full_activity_buffer() => {}
    }
}

/// The loop that runs one worker in this process.
struct WorkerLoop {
    worker: Worker,
    catalog: Catalog,
    work_lease: WorkLease,
    board: Arc<WorkerBoard>,
    metrics: Metrics,
    stop: CancellationToken,
}

impl WorkerLoop {
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

    /// Runs at once, since the backlog is unknown, and then when the pause is over or the worker is
    /// woken.
    async fn run_while_held(&self) {
        let (mut maintenance, mut failures) = (MaintenanceState::default(), 0_u32);
        let mut failing = false;
        while self.work_lease.holds() && !self.stop.is_cancelled() {
            let began = Instant::now();
            // Only interruptible workers are cancelled: other runs take a few seconds at most.
            let outcome = self.run_once(&mut maintenance).await;
            log_outcome(self.worker.name(), outcome.as_ref().err(), &mut failing);
            failures = if outcome.is_err() { failures + 1 } else { 0 };
            let pause = self.pause_after(outcome.as_ref().ok(), began.elapsed(), failures);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.board.woken(self.worker) => {}
                () = self.work_lease.lost() => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    async fn run_once(&self, maintenance: &mut MaintenanceState) -> Result<WorkerRun, DomainError> {
        let (number, began) = (self.board.begin_run(self.worker), Instant::now());
        let work = catching_panics(Box::pin(self.catalog.work(self.worker, maintenance)));
        let outcome = if self.worker.is_interruptible() {
            tokio::select! {
                biased;
                outcome = work => outcome,
                () = self.work_lease.lost() => Ok(WorkerRun::default()),
                () = self.stop.cancelled() => Ok(WorkerRun::default()),
            }
        } else {
            work.await
        };
        let took = began.elapsed();
        let now = self.catalog.now();
        let report = self.board.end_run(self.worker, number, &outcome, now, took);
        self.metrics.record_report(self.worker.name(), &report, now);
        self.record_metrics(&outcome, maintenance);
        if let Ok(run) = &outcome
            && run.done > 0
            && self.worker != Worker::Audit
        {
            tracing::info!(
                worker = self.worker.name(),
                done = run.done,
                backlog = run.backlog,
                "worker run completed"
            );
        }
        outcome
    }

    fn record_metrics(
        &self,
        outcome: &Result<WorkerRun, DomainError>,
        maintenance: &mut MaintenanceState,
    ) {
        let name = self.worker.name();
        self.metrics.record_run(name, outcome.is_err());
        let Ok(run) = outcome else { return };
        self.metrics.record_done(name, run.done);
        if self.worker == Worker::Fold {
            self.metrics.record_folded(run.done);
        }
        if self.worker == Worker::Audit {
            let audit = std::mem::take(&mut maintenance.audit);
            self.metrics
                .record_audited(audit.products as u64, audit.round);
            for field in audit.differences {
                self.metrics.record_difference(field);
            }
        }
    }

    /// The pause after a run: short while there is a backlog, otherwise longer the longer the run
    /// took, and doubled with each failure.
    fn pause_after(&self, run: Option<&WorkerRun>, took: Duration, failures: u32) -> Duration {
        let period = self.worker.every();
        match run {
            Some(run) if run.backlog > 0 => self.worker.pause(took),
            Some(_) if self.worker.is_prompt() => period,
            Some(_) => period.max(MAX_IDLE_PAUSE.min(took * PAUSE_FACTOR)),
            None => {
                let pause = self.worker.pause(took).max(PERIOD) * (1 << failures.min(5));
                pause.min(MAX_RETRY_PAUSE.max(period))
            }
        }
    }
}

/// Runs `work` and returns a panic as an error, so that a periodic task survives it.
async fn catching_panics<T>(
    work: impl Future<Output = Result<T, DomainError>>,
) -> Result<T, DomainError> {
    let caught = AssertUnwindSafe(work).catch_unwind().await;
    caught.unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<&str>().copied();
        let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let panicked = format!("panicked: {}", message.unwrap_or("without a message"));
        Err(DomainError::Internal(panicked.into()))
    })
}

/// What the log says of the first of consecutive failures.
const FAILED: &str = "worker failed; it will be retried";

/// Whether a failure ends by itself: an election, a long write of somebody else, a release that is being rolled out.
const fn is_passing(error: &DomainError) -> bool {
    matches!(
        error,
        DomainError::Unavailable(_) | DomainError::Timeout(_) | DomainError::Newer(_)
    )
}

/// Logs the first of consecutive failures of a task, and its recovery.
fn log_outcome(name: &str, error: Option<&DomainError>, failing: &mut bool) {
    match error {
        None if *failing => tracing::info!(worker = name, "worker recovered"),
        Some(error) if !*failing => {
            let cause = std::error::Error::source(error).map(|cause| chain_in_words(cause, None));
            if is_passing(error) {
                tracing::warn!(worker = name, %error, cause, "{FAILED}");
            } else {
                tracing::error!(worker = name, %error, cause, "{FAILED}");
            }
        }
        _ => {}
    }
    *failing = error.is_some();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_returned_as_an_error() {
        async fn message(payload: impl std::any::Any + Send) -> String {
            let work = async { std::panic::panic_any(payload) };
            match catching_panics::<()>(work).await {
                Err(DomainError::Internal(cause)) => cause.to_string(),
                other => panic!("not an error: {other:?}"),
            }
        }
        assert_eq!(message("no hour").await, "panicked: no hour");
        assert_eq!(message("no hour".to_owned()).await, "panicked: no hour");
        assert_eq!(message(7).await, "panicked: without a message");
        assert_eq!(catching_panics(async { Ok(7) }).await.unwrap(), 7);
    }
}
