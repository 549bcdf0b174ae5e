//! What operators watch: counters of the workers, in the text format of Prometheus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use vitrine_api::http::Sockets;
use vitrine_model::clock::Timestamp;
use vitrine_model::worker::WorkerReport;
use vitrine_storage::fold::Uncounted;

/// The media type of what [`Metrics::text`] gives.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The counters of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Counters>);

struct Counters {
    registry: Registry,
    runs: Family<Worker, Counter>,
    failures: Family<Worker, Counter>,
    done: Family<Worker, Counter>,
    backlog: Family<Worker, Gauge>,
    lag: Family<Worker, Gauge<f64, AtomicU64>>,
    last_run: Family<Worker, Gauge<f64, AtomicU64>>,
    left_alone: Family<Worker, Gauge>,
    uncounted: Gauge,
    uncounted_age: Gauge<f64, AtomicU64>,
    own_uncounted_age: Gauge<f64, AtomicU64>,
    activity: Gauge,
    connections: Gauge,
    operations: Gauge,
    slow: Counter,
    folded: Counter,
    recounted: Counter,
    rounds: Counter,
    differences: Family<Field, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Worker {
    worker: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Field {
    field: String,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("vitrine");
        let counters = Counters {
            runs: Family::default(),
            failures: Family::default(),
            done: Family::default(),
            backlog: Family::default(),
            lag: Family::default(),
            last_run: Family::default(),
            left_alone: Family::default(),
            uncounted: Gauge::default(),
            uncounted_age: Gauge::default(),
            own_uncounted_age: Gauge::default(),
            activity: Gauge::default(),
            connections: Gauge::default(),
            operations: Gauge::default(),
            slow: Counter::default(),
            folded: Counter::default(),
            recounted: Counter::default(),
            rounds: Counter::default(),
            differences: Family::default(),
            registry: Registry::default(),
        };
        macro_rules! register {
            ($($counter:ident: $name:literal, $help:literal;)*) => {
                $(registry.register($name, $help, counters.$counter.clone());)*
            };
        }
        register! {
            runs: "worker_runs", "Runs of a worker";
            failures: "worker_failures", "Runs of a worker that failed";
            done: "worker_done", "Things that a worker dealt with";
            backlog: "worker_backlog", "Things that waited for a worker after its last run, as far as they were counted";
            lag: "worker_lag_seconds", "For how long things have been waiting for a worker without a break";
            last_run: "worker_last_run_timestamp_seconds", "When the last run of a worker ended, in seconds since 1970";
            left_alone: "worker_left_alone", "Things that waited after its last run for a newer release of the service";
            uncounted: "uncounted_reviews", "Reviews of all processes that are not counted in their products yet";
            uncounted_age: "uncounted_review_age_seconds", "For how long the oldest of these has been waiting";
            own_uncounted_age: "own_uncounted_review_age_seconds", "For how long the oldest review that this process stored has been waiting to be counted by it";
            activity: "activity_waiting", "Products and hours with views or carts that wait in this process to be handed over";
            connections: "sockets", "Connections over which clients follow";
            operations: "subscriptions", "Operations under way on these connections";
            slow: "slow_sockets", "Connections that were closed because the client did not take what it was sent";
            folded: "folded_reviews", "Reviews that the workers counted in their products";
            recounted: "audited_products", "Products whose ratings were counted anew";
            rounds: "audit_rounds", "How often all products were counted anew";
            differences: "audit_differences", "Numbers that were not what the reviews say";
        }
        Self(Arc::new(Counters {
            registry,
            ..counters
        }))
    }

    /// A worker did its work, or could not.
    pub(crate) fn ran(&self, worker: &'static str, failed: bool) {
        self.0.runs.get_or_create(&Worker { worker }).inc();
        let failures = self.0.failures.get_or_create(&Worker { worker });
        failures.inc_by(u64::from(failed));
    }

    /// A worker dealt with so many things.
    pub(crate) fn did(&self, worker: &'static str, done: u64) {
        self.0.done.get_or_create(&Worker { worker }).inc_by(done);
    }

    /// What a worker reports at an instant.
    #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
    pub(crate) fn reported(&self, worker: &'static str, report: &WorkerReport, now: Timestamp) {
        let worker = Worker { worker };
        let seconds = |millis: i64| millis as f64 / 1000.0;
        let counters = &self.0;
        counters.backlog.get_or_create(&worker).set(report.backlog);
        let left_alone = counters.left_alone.get_or_create(&worker);
        left_alone.set(report.left_alone);
        let lag = seconds(report.lag_millis(now));
        counters.lag.get_or_create(&worker).set(lag);
        counters
            .last_run
            .get_or_create(&worker)
            .set(seconds(now.as_millis()));
    }

    /// Reviews wait to be counted; those that this process stored for so long.
    #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
    pub(crate) fn uncounted(&self, waiting: &Uncounted, own: Duration, now: Timestamp) {
        let counters = &self.0;
        let reviews = i64::try_from(waiting.reviews).unwrap_or(i64::MAX);
        counters.uncounted.set(reviews);
        let millis = waiting
            .since
            .map_or(0, |since| now.as_millis() - since.as_millis());
        counters.uncounted_age.set(millis.max(0) as f64 / 1000.0);
        counters.own_uncounted_age.set(own.as_secs_f64());
    }

    /// So many products and hours wait to be handed over.
    pub(crate) fn counted(&self, waiting: usize) {
        let waiting = i64::try_from(waiting).unwrap_or(i64::MAX);
        self.0.activity.set(waiting);
    }

    /// How much is followed.
    pub(crate) fn followed(&self, sockets: &Sockets) {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.0.connections.set(whole(sockets.connections() as u64));
        self.0.operations.set(whole(sockets.operations() as u64));
        let slow = self.0.slow.inner();
        slow.store(sockets.dropped_slow(), Ordering::Relaxed);
    }

    pub(crate) fn folded(&self, reviews: u64) {
        self.0.folded.inc_by(reviews);
    }

    /// So many products were counted anew; `round` says that they were the last ones.
    pub(crate) fn recounted(&self, products: u64, round: bool) {
        self.0.recounted.inc_by(products);
        self.0.rounds.inc_by(u64::from(round));
    }

    pub(crate) fn differed(&self, field: &str) {
        let field = field.to_owned();
        self.0.differences.get_or_create(&Field { field }).inc();
    }

    /// All counters as Prometheus reads them.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("writing to a text does not fail");
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::worker::Run;

    use super::*;

    #[test]
    fn counters_are_told_by_worker_and_field() {
        let metrics = Metrics::new();
        metrics.ran("fold", false);
        metrics.ran("fold", true);
        metrics.did("fold", 7);
        let mut report = WorkerReport::default();
        let left = |backlog| Run {
            done: 1,
            backlog,
            ..Run::default()
        };
        report.ran(left(3), Timestamp::from_millis(1_000), 1);
        report.ran(left(2), Timestamp::from_millis(3_500), 1);
        metrics.reported("fold", &report, Timestamp::from_millis(3_500));
        metrics.folded(7);
        metrics.recounted(20, false);
        metrics.recounted(3, true);
        metrics.differed("histogram");
        let text = metrics.text();
        for line in [
            "vitrine_worker_runs_total{worker=\"fold\"} 2",
            "vitrine_worker_failures_total{worker=\"fold\"} 1",
            "vitrine_worker_done_total{worker=\"fold\"} 7",
            "vitrine_worker_backlog{worker=\"fold\"} 2",
            "vitrine_worker_lag_seconds{worker=\"fold\"} 2.5",
            "vitrine_worker_last_run_timestamp_seconds{worker=\"fold\"} 3.5",
            "vitrine_folded_reviews_total 7",
            "vitrine_audited_products_total 23",
            "vitrine_audit_rounds_total 1",
            "vitrine_audit_differences_total{field=\"histogram\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
