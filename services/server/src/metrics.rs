//! What operators watch: counters of the workers, in the text format of Prometheus.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The media type of what [`Metrics::text`] gives.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The counters of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Counters>);

struct Counters {
    registry: Registry,
    runs: Family<Worker, Counter>,
    failures: Family<Worker, Counter>,
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
            folded: Counter::default(),
            recounted: Counter::default(),
            rounds: Counter::default(),
            differences: Family::default(),
            registry: Registry::default(),
        };
        registry.register("worker_runs", "Runs of a worker", counters.runs.clone());
        registry.register(
            "worker_failures",
            "Runs of a worker that failed",
            counters.failures.clone(),
        );
        registry.register(
            "folded_reviews",
            "Reviews that the workers counted in their products",
            counters.folded.clone(),
        );
        registry.register(
            "audited_products",
            "Products whose ratings were counted anew",
            counters.recounted.clone(),
        );
        registry.register(
            "audit_rounds",
            "How often all products were counted anew",
            counters.rounds.clone(),
        );
        registry.register(
            "audit_differences",
            "Numbers that were not what the reviews say",
            counters.differences.clone(),
        );
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
    use super::*;

    #[test]
    fn counters_are_told_by_worker_and_field() {
        let metrics = Metrics::new();
        metrics.ran("fold", false);
        metrics.ran("fold", true);
        metrics.folded(7);
        metrics.recounted(20, false);
        metrics.recounted(3, true);
        metrics.differed("histogram");
        let text = metrics.text();
        for line in [
            "vitrine_worker_runs_total{worker=\"fold\"} 2",
            "vitrine_worker_failures_total{worker=\"fold\"} 1",
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
