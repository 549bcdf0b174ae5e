//! Metrics of GraphQL requests, by the name of the operation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use vitrine_api::execution::ErrorCode;
use vitrine_api::http::{Operation, RequestReport};

/// How many operations have metrics of their own. Anybody may send operations with new names; the
/// numbers of further ones are added up under the name `other`.
const MAX_OPERATIONS: usize = 100;
/// The maximum length of a name that has metrics of its own, in bytes.
const MAX_NAME: usize = 64;
/// The upper limits of the buckets of durations, in seconds.
const BUCKETS: [f64; 10] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0];

/// The operation of requests that were refused before one was chosen: a document that is not valid, for
/// example.
const REFUSED: Label = Label {
    operation: Cow::Borrowed("refused"),
    r#type: "none",
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Label {
    operation: Cow<'static, str>,
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CodeLabel {
    code: &'static str,
}

/// The label of the events of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SubscriptionLabel {
    operation: Cow<'static, str>,
}

/// Makes histograms of durations.
#[derive(Clone, Debug)]
pub(super) struct Durations;

impl MetricConstructor<Histogram> for Durations {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BUCKETS)
    }
}

/// The metrics of requests. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct RequestMetrics {
    pub(super) durations: Family<Label, Histogram, Durations>,
    pub(super) events: Family<SubscriptionLabel, Counter>,
    pub(super) costs: Family<Label, Counter>,
    pub(super) errors: Family<CodeLabel, Counter>,
    /// By type and name.
    known: Arc<RwLock<HashMap<&'static str, HashMap<String, Known>>>>,
}

/// The metrics of one operation.
#[derive(Clone, Debug)]
struct Known {
    answers: Answers,
    cost: Counter,
}

/// What is counted of the answers to an operation.
#[derive(Clone, Debug)]
enum Answers {
    /// The time until the only one.
    Duration(Histogram),
    /// The number of those to a subscription.
    Events(Counter),
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let errors = Family::<CodeLabel, Counter>::default();
        // Those with alerts exist from the start: Prometheus does not see the rise of a series that begins with 1.
        for code in [ErrorCode::Internal, ErrorCode::Unavailable] {
            let code = code.as_str();
            errors.get_or_create(&CodeLabel { code }).inc_by(0);
        }
        Self {
            durations: Family::new_with_constructor(Durations),
            events: Family::default(),
            costs: Family::default(),
            errors,
            known: Arc::default(),
        }
    }
}

impl RequestMetrics {
    /// Records a request, an event of a subscription, or the errors that end one.
    pub(crate) fn record(&self, report: &RequestReport<'_>) {
        for code in &report.errors {
            let code = code.as_str();
            self.errors.get_or_create(&CodeLabel { code }).inc();
        }
        let Some(operation) = report.operation else {
            if let Some(took) = report.took {
                let durations = self.durations.get_or_create(&REFUSED);
                durations.observe(took.as_secs_f64());
            }
            return;
        };
        let known = self.of_operation(operation);
        match known.answers {
            Answers::Duration(duration) => {
                duration.observe(report.took.unwrap_or_default().as_secs_f64());
            }
            Answers::Events(events) => {
                events.inc();
            }
        }
        known.cost.inc_by(operation.cost);
    }

    fn of_operation(&self, operation: Operation<'_>) -> Known {
        let name = operation.name.unwrap_or("anonymous");
        let name = if name.len() <= MAX_NAME {
            name
        } else {
            "other"
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let found = |name| known.get(operation.kind)?.get(name).cloned();
        if let Some(found) = found(name) {
            return found;
        }
        let is_full = known.values().map(HashMap::len).sum::<usize>() >= MAX_OPERATIONS;
        drop(known);
        let name = if is_full { "other" } else { name };
        let label = Label {
            operation: name.to_owned().into(),
            r#type: operation.kind,
        };
        let cost = self.costs.get_or_create(&label).clone();
        let answers = if operation.kind == "subscription" {
            let operation = label.operation;
            let events = self.events.get_or_create(&SubscriptionLabel { operation });
            Answers::Events(events.clone())
        } else {
            Answers::Duration(self.durations.get_or_create(&label).clone())
        };
        let made = Known { answers, cost };
        if !is_full {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let of_kind = known.entry(operation.kind).or_default();
            of_kind.insert(name.to_owned(), made.clone());
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vitrine_api::execution::ErrorCode;

    use super::super::Metrics;
    use super::*;

    fn report<'a>(name: Option<&'a str>, errors: &[ErrorCode]) -> RequestReport<'a> {
        RequestReport {
            operation: Some(Operation {
                name,
                kind: "query",
                cost: 30,
            }),
            errors: errors.to_vec(),
            took: Some(Duration::from_millis(20)),
        }
    }

    #[test]
    fn requests_are_counted_by_the_name_of_their_operation() {
        let metrics = Metrics::new();
        let requests = metrics.requests();
        requests.record(&report(Some("Page"), &[]));
        requests.record(&report(Some("Page"), &[ErrorCode::NotFound]));
        requests.record(&report(None, &[]));
        requests.record(&RequestReport {
            operation: None,
            errors: vec![ErrorCode::GraphqlParseFailed],
            took: Some(Duration::ZERO),
        });
        requests.record(&RequestReport {
            operation: None,
            errors: vec![ErrorCode::RateLimited],
            took: None,
        });
        for _ in 0..3 {
            requests.record(&RequestReport {
                operation: Some(Operation {
                    name: Some("Follow"),
                    kind: "subscription",
                    cost: 40,
                }),
                errors: Vec::new(),
                took: None,
            });
        }
        let text = metrics.text();
        for line in [
            "vitrine_request_duration_seconds_count{operation=\"Page\",type=\"query\"} 2",
            "vitrine_request_duration_seconds_bucket{le=\"0.01\",operation=\"Page\",type=\"query\"} 0",
            "vitrine_request_duration_seconds_bucket{le=\"0.03\",operation=\"Page\",type=\"query\"} 2",
            "vitrine_request_duration_seconds_count{operation=\"anonymous\",type=\"query\"} 1",
            "vitrine_request_duration_seconds_count{operation=\"refused\",type=\"none\"} 1",
            "vitrine_request_cost_total{operation=\"Page\",type=\"query\"} 60",
            "vitrine_subscription_events_total{operation=\"Follow\"} 3",
            "vitrine_request_cost_total{operation=\"Follow\",type=\"subscription\"} 120",
            "vitrine_request_errors_total{code=\"NOT_FOUND\"} 1",
            "vitrine_request_errors_total{code=\"RATE_LIMITED\"} 1",
            "vitrine_request_errors_total{code=\"GRAPHQL_PARSE_FAILED\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(
            !text.contains("duration_seconds_count{operation=\"Follow\""),
            "{text}"
        );
    }

    #[test]
    fn strangers_cannot_fill_the_memory_with_names() {
        let metrics = Metrics::new();
        let requests = metrics.requests();
        let long = "n".repeat(MAX_NAME + 1);
        requests.record(&report(Some(&long), &[]));
        for number in 0..1_000 {
            requests.record(&report(Some(&format!("Name{number}")), &[]));
        }
        let text = metrics.text();
        let series = text
            .matches("vitrine_request_duration_seconds_count{")
            .count();
        assert_eq!(series, MAX_OPERATIONS);
        assert!(!text.contains(&long));
        let other = format!(
            "operation=\"other\",type=\"query\"}} {}",
            1_000 - (MAX_OPERATIONS - 2)
        );
        assert!(text.contains(&other), "{text}");
    }
}
