//! Metrics for operators, in the OpenMetrics text format of Prometheus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use vitrine_api::execution::CacheUse;
use vitrine_api::http::{ConnectionEvent, Connections, RequestLimiter, Sockets};
use vitrine_domain::Catalog;
use vitrine_model::clock::Timestamp;
use vitrine_model::worker::WorkerReport;
use vitrine_storage::fold::FoldBacklog;

use self::live::Live;
use self::requests::RequestMetrics;

mod live;
mod requests;

/// The media type of [`Metrics::text`].
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The numbers that the audit recounts. Their counters exist from the start: Prometheus does not see the rise of a
/// series that begins with 1.
const AUDITED: [&str; 8] = [
    "histogram",
    "recommended",
    "dimensions",
    "traits",
    "months",
    "topReviews",
    "derived",
    "large",
];

/// The metrics of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Counters>);

#[derive(Default)]
struct Counters {
    registry: Registry,
    /// The names of the registered metrics.
    names: Vec<String>,
    requests: RequestMetrics,
    live: Arc<Live>,
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
    database_up: Gauge,
    connections: Gauge,
    connection_limit: Gauge,
    sockets: Gauge,
    operations: Gauge,
    slow: Counter,
    connection_events: Family<Event, Counter>,
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Event {
    event: &'static str,
}

/// The name of something that happens to connections.
fn event_name(event: ConnectionEvent) -> &'static str {
    match event {
        ConnectionEvent::Accepted => "accepted",
        ConnectionEvent::RefusedInAll => "refused",
        ConnectionEvent::RefusedByAddress => "refused_by_address",
        ConnectionEvent::AcceptFailed => "accept_failed",
        ConnectionEvent::HandshakeFailed => "handshake_failed",
        ConnectionEvent::HeaderTimeout => "header_timeout",
        ConnectionEvent::ResponseTimeout => "response_timeout",
    }
}

impl Counters {
    /// Registers all metrics, and returns their names.
    fn register(&self, registry: &mut Registry) -> Vec<String> {
        let mut names = Vec::new();
        macro_rules! register {
            ($($metric:expr => $name:literal, $help:literal;)*) => {$(
                names.push(full_name($name, type_of(&$metric)));
                registry.register($name, $help, $metric.clone());
            )*};
        }
        register! {
            self.runs => "worker_runs", "Runs of a worker";
            self.failures => "worker_failures", "Failed runs of a worker";
            self.done => "worker_done", "Items that a worker has processed";
            self.backlog => "worker_backlog", "Items waiting for a worker after its last run, as far as they were counted";
            self.lag => "worker_lag_seconds", "For how long a worker has continuously had a backlog";
            self.last_run => "worker_last_run_timestamp_seconds", "End of the last run of a worker, in seconds since 1970";
            self.left_alone => "worker_left_alone", "Items that the last run of a worker left for a newer release";
            self.uncounted => "uncounted_reviews", "Reviews stored by any process that are not counted in their products yet";
            self.uncounted_age => "uncounted_review_age_seconds", "Age of the oldest uncounted review";
            self.own_uncounted_age => "own_uncounted_review_age_seconds", "Age of the oldest uncounted review among those that this process stored and has to count";
            self.activity => "activity_waiting", "Activity counts (one per product and hour) that this process has not written yet";
            self.database_up => "database_up", "1 if the database has answered within the last three seconds, 0 if not";
            self.connections => "connections", "Open connections of the API, including those of WebSockets";
            self.connection_limit => "connection_limit", "How many connections of the API may be open";
            self.connection_events => "connection_events", "What has happened to connections of the API";
            self.sockets => "sockets", "Open WebSocket connections and streams of server-sent events";
            self.operations => "subscriptions", "Running operations on WebSocket connections and streams of server-sent events";
            self.slow => "slow_sockets", "WebSocket connections and streams of server-sent events closed because the client did not read";
            self.folded => "folded_reviews", "Reviews that the workers have counted in their products";
            self.recounted => "audited_products", "Products whose ratings the audit has recounted";
            self.rounds => "audit_rounds", "Complete rounds of the audit over all products";
            self.differences => "audit_differences", "Stored numbers that differed from the recount of reviews";
            self.requests.durations => "request_duration_seconds", "Time between a GraphQL request and its response";
            self.requests.events => "subscription_events", "Events sent to subscriptions";
            self.requests.costs => "request_cost", "Estimated cost of GraphQL requests and events of subscriptions, in units";
            self.requests.errors => "request_errors", "Errors in responses to GraphQL requests";
        }
        registry.register_collector(Box::new(LiveCollector(Arc::clone(&self.live))));
        names.extend(live::ALL.map(|(name, kind, _)| full_name(name, kind)));
        names
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut counters = Counters::default();
        let mut registry = Registry::with_prefix("vitrine");
        counters.names = counters.register(&mut registry);
        for field in AUDITED {
            let field = field.to_owned();
            counters
                .differences
                .get_or_create(&Field { field })
                .inc_by(0);
        }
        counters.registry = registry;
        Self(Arc::new(counters))
    }

    /// Returns the name of each metric. A histogram has several series, which begin with it.
    pub(crate) fn names(&self) -> &[String] {
        &self.0.names
    }

    /// Returns the metrics of requests.
    pub(crate) fn requests(&self) -> RequestMetrics {
        self.0.requests.clone()
    }

    /// Adds the metrics of the database that the catalogue uses.
    pub(crate) fn watch(&self, catalog: &Catalog) {
        self.0.live.watch(catalog);
    }

    /// Adds the metrics of a cache.
    pub(crate) fn watch_cache(&self, name: &'static str, cache: CacheUse) {
        self.0.live.watch_cache(name, cache);
    }

    /// Adds the metrics of the queues of requests.
    pub(crate) fn watch_requests(&self, limiter: &RequestLimiter) {
        self.0.live.watch_requests(limiter);
    }

    /// Records a run of a worker or task.
    pub(crate) fn record_run(&self, worker: &'static str, failed: bool) {
        self.0.runs.get_or_create(&Worker { worker }).inc();
        let failures = self.0.failures.get_or_create(&Worker { worker });
        failures.inc_by(u64::from(failed));
    }

    /// Records items that a worker has processed.
    pub(crate) fn record_done(&self, worker: &'static str, done: u64) {
        self.0.done.get_or_create(&Worker { worker }).inc_by(done);
    }

    /// Records the report of a worker at an instant.
    #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
    pub(crate) fn record_report(
        &self,
        worker: &'static str,
        report: &WorkerReport,
        now: Timestamp,
    ) {
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

    /// Sets the numbers and ages of uncounted reviews; `own` is the age of those that this process
    /// stored.
    #[expect(clippy::cast_precision_loss, reason = "seconds, for people")]
    pub(crate) fn set_uncounted(&self, waiting: &FoldBacklog, own: Duration, now: Timestamp) {
        let counters = &self.0;
        let reviews = i64::try_from(waiting.reviews).unwrap_or(i64::MAX);
        counters.uncounted.set(reviews);
        let millis = waiting
            .since
            .map_or(0, |since| now.as_millis() - since.as_millis());
        counters.uncounted_age.set(millis.max(0) as f64 / 1000.0);
        counters.own_uncounted_age.set(own.as_secs_f64());
    }

    /// Sets the number of activity counts that are not written yet.
    pub(crate) fn set_activity_waiting(&self, waiting: usize) {
        let waiting = i64::try_from(waiting).unwrap_or(i64::MAX);
        self.0.activity.set(waiting);
    }

    /// Sets whether the database answers.
    pub(crate) fn set_database_up(&self, is_up: bool) {
        self.0.database_up.set(is_up.into());
    }

    /// Sets the numbers of connections, open and allowed, and of what has happened to them.
    pub(crate) fn set_connections(&self, connections: &Connections, limit: usize) {
        let whole = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.0.connections.set(whole(connections.open()));
        self.0.connection_limit.set(whole(limit));
        for event in ConnectionEvent::ALL {
            let label = Event {
                event: event_name(event),
            };
            let counter = self.0.connection_events.get_or_create(&label);
            let count = connections.count(event);
            counter.inner().store(count, Ordering::Relaxed);
        }
    }

    /// Sets the numbers of WebSocket connections and of their operations.
    pub(crate) fn set_sockets(&self, sockets: &Sockets) {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.0.sockets.set(whole(sockets.connections() as u64));
        self.0.operations.set(whole(sockets.operations() as u64));
        let slow = self.0.slow.inner();
        slow.store(sockets.dropped_slow(), Ordering::Relaxed);
    }

    pub(crate) fn record_folded(&self, reviews: u64) {
        self.0.folded.inc_by(reviews);
    }

    /// Records recounted products; `round` is true if they complete a round over all products.
    pub(crate) fn record_audited(&self, products: u64, round: bool) {
        self.0.recounted.inc_by(products);
        self.0.rounds.inc_by(u64::from(round));
    }

    pub(crate) fn record_difference(&self, field: &str) {
        let field = field.to_owned();
        self.0.differences.get_or_create(&Field { field }).inc();
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("writing to a text does not fail");
        text
    }
}

/// Reads the metrics that others count.
#[derive(Debug)]
struct LiveCollector(Arc<Live>);

impl Collector for LiveCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

/// Returns the type of a family.
fn type_of<M: FamilyType>(_: &M) -> MetricType {
    M::TYPE
}

/// A metric, or a family of metrics of one type.
trait FamilyType {
    const TYPE: MetricType;
}

impl FamilyType for Counter {
    const TYPE: MetricType = MetricType::Counter;
}

impl<N, A> FamilyType for Gauge<N, A> {
    const TYPE: MetricType = MetricType::Gauge;
}

impl<S, M: TypedMetric, C> FamilyType for Family<S, M, C> {
    const TYPE: MetricType = M::TYPE;
}

/// Returns the name as it is exported.
fn full_name(name: &str, kind: MetricType) -> String {
    let ending = if matches!(kind, MetricType::Counter) {
        "_total"
    } else {
        ""
    };
    format!("vitrine_{name}{ending}")
}

/// Returns the name of each metric that the program exports.
#[must_use]
pub fn metric_names() -> Vec<String> {
    Metrics::new().names().to_vec()
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::worker::WorkerRun;

    use super::*;

    #[test]
    fn counters_are_labelled_by_worker_and_field() {
        let metrics = Metrics::new();
        metrics.record_run("fold", false);
        metrics.record_run("fold", true);
        metrics.record_done("fold", 7);
        let mut report = WorkerReport::default();
        let left = |backlog| WorkerRun {
            done: 1,
            backlog,
            ..WorkerRun::default()
        };
        report.ran(left(3), Timestamp::from_millis(1_000), 1);
        report.ran(left(2), Timestamp::from_millis(3_500), 1);
        metrics.record_report("fold", &report, Timestamp::from_millis(3_500));
        metrics.record_folded(7);
        metrics.record_audited(20, false);
        metrics.record_audited(3, true);
        metrics.record_difference("histogram");
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
