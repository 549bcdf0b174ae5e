//! What operators learn about a GraphQL request: a report for metrics, and a log line if it was slow.

use std::{fmt, sync::Arc, time::Duration};

use async_graphql::Value;
use tracing::Span;
use vitrine_domain::work::Work;

use super::LineLimiter;
use crate::execution::{ErrorCode, Failure, GraphqlResponse, Prepared, ResponseError};

/// The maximum length of the shapes of variables in a log line, in characters.
const MAX_SHAPES: usize = 400;
/// The maximum length of the name of an operation in a log line, in characters.
const MAX_NAME: usize = 100;

/// A GraphQL request that was answered, or an event of a subscription.
#[derive(Debug)]
pub struct RequestReport<'a> {
    /// The operation that ran; `None` if the request was refused before one was chosen, and for
    /// the errors that end a subscription.
    pub operation: Option<Operation<'a>>,
    /// The code of each error in the response.
    pub errors: Vec<ErrorCode>,
    /// The time between the complete request and the response; `None` for subscriptions.
    pub took: Option<Duration>,
}

/// The operation of a valid document.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a str>,
    /// `query`, `mutation` or `subscription`.
    pub kind: &'static str,
    /// The estimated cost, in the units of `extensions.cost`.
    pub cost: u64,
}

type Observer = Arc<dyn Fn(&RequestReport<'_>) + Send + Sync>;

/// Where reports go.
#[derive(Clone, Default)]
pub(super) struct Reports {
    pub(super) observer: Option<Observer>,
    pub(super) slow: Option<Arc<SlowOperations>>,
}

/// The log of slow operations.
pub(super) struct SlowOperations {
    /// Faster operations are not logged.
    pub(super) at_least: Duration,
    pub(super) limiter: LineLimiter,
}

impl Reports {
    /// Reports a request that was refused before an operation was chosen.
    pub(super) fn refused(&self, errors: impl IntoIterator<Item = ErrorCode>, took: Duration) {
        self.observe(&RequestReport {
            operation: None,
            errors: errors.into_iter().collect(),
            took: Some(took),
        });
    }

    /// Reports an event that is sent to a subscription.
    pub(super) fn event(&self, prepared: &Prepared, cost: u64, errors: &[ResponseError]) {
        self.observe(&RequestReport {
            operation: Some(operation(prepared, cost)),
            errors: codes(errors),
            took: None,
        });
    }

    /// Reports the errors that end a subscription. They are no event.
    pub(super) fn ended(&self, errors: &[ResponseError]) {
        self.observe(&RequestReport {
            operation: None,
            errors: codes(errors),
            took: None,
        });
    }

    /// Reports an operation that ran, or was refused for what it costs.
    pub(super) fn ran(
        &self,
        prepared: &Prepared,
        cost: u64,
        outcome: &Result<GraphqlResponse, Failure>,
        work: Option<&Work>,
        took: Duration,
    ) {
        let errors = match outcome {
            Ok(answer) => codes(&answer.errors),
            Err(failure) => vec![failure.code()],
        };
        let operation = operation(prepared, cost);
        record_on_span(operation, &errors);
        let slow = self.slow.as_ref().filter(|slow| took >= slow.at_least);
        if let Some(left_out) = slow.and_then(|slow| slow.limiter.permit()) {
            log_slow(prepared, operation, work, took, left_out);
        }
        self.observe(&RequestReport {
            operation: Some(operation),
            errors,
            took: Some(took),
        });
    }

    fn observe(&self, report: &RequestReport<'_>) {
        if let Some(observer) = &self.observer {
            observer(report);
        }
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").finish_non_exhaustive()
    }
}

fn codes(errors: &[ResponseError]) -> Vec<ErrorCode> {
    errors.iter().map(|error| error.extensions.code).collect()
}

fn operation(prepared: &Prepared, cost: u64) -> Operation<'_> {
    Operation {
        name: prepared.operation().name.as_ref().map(AsRef::as_ref),
        kind: prepared.kind().name(),
        cost,
    }
}

/// Adds the operation to the exported span of the request, if there is one.
fn record_on_span(operation: Operation<'_>, errors: &[ErrorCode]) {
    let span = Span::current();
    if !span.has_field("graphql.operation.type") {
        return;
    }
    if let Some(name) = operation.name {
        span.record("graphql.operation.name", shortened(name, MAX_NAME));
    }
    span.record("graphql.operation.type", operation.kind);
    span.record("vitrine.cost", operation.cost);
    if !errors.is_empty() {
        let codes: Vec<&str> = errors.iter().take(10).map(|code| code.as_str()).collect();
        span.record("vitrine.errors", codes.join(" "));
    }
}

/// Writes the log line. It contains no value that a client has sent, and no text of the document.
fn log_slow(
    prepared: &Prepared,
    operation: Operation<'_>,
    work: Option<&Work>,
    took: Duration,
    left_out: u64,
) {
    let hash = prepared.document_hash();
    let document = hash[..8].iter().fold(String::new(), |mut text, byte| {
        written(&mut text, format_args!("{byte:02x}"));
        text
    });
    tracing::warn!(
        operation = shortened(operation.name.unwrap_or("anonymous"), MAX_NAME),
        kind = operation.kind,
        document,
        variables = shapes(prepared.variables().iter()),
        cost = operation.cost,
        took_ms = millis(took),
        commands = work.map(Work::commands),
        database_ms = work.map(|work| millis(work.database_time())),
        request_id = prepared.request_id(),
        left_out,
        "an operation was slow"
    );
}

/// Returns `extensions.work`.
pub(super) fn shown_work(work: &Work, prepared: &Prepared, took: Duration) -> serde_json::Value {
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    serde_json::json!({
        "commands": work.commands(),
        "documents": work.documents(),
        "bytes": work.bytes(),
        "databaseMillis": millis(work.database_time()),
        "millis": millis(took),
        "documentCached": prepared.is_cached(),
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn shortened(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Returns the names of variables with the types and lengths of their values: `$first: Int, $name:
/// String(12)`.
fn shapes<'a>(variables: impl Iterator<Item = (&'a async_graphql::Name, &'a Value)>) -> String {
    let mut out = String::new();
    for (name, value) in variables {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push('$');
        out.push_str(name);
        out.push_str(": ");
        add_shape(&mut out, value);
    }
    if out.len() > MAX_SHAPES {
        out.truncate(out.floor_char_boundary(MAX_SHAPES));
        out.push('…');
    }
    out
}

fn written(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = fmt::Write::write_fmt(out, text);
}

fn add_shape(out: &mut String, value: &Value) {
    if out.len() > MAX_SHAPES {
        return;
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Number(number) if number.is_f64() => out.push_str("Float"),
        Value::Number(_) => out.push_str("Int"),
        Value::Boolean(_) => out.push_str("Boolean"),
        Value::Enum(_) => out.push_str("Enum"),
        Value::String(text) => written(out, format_args!("String({})", text.chars().count())),
        Value::Binary(bytes) => written(out, format_args!("Bytes({})", bytes.len())),
        Value::List(items) => {
            written(out, format_args!("[{}", items.len()));
            if let Some(first) = items.first() {
                out.push_str(" × ");
                add_shape(out, first);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(name);
                out.push_str(": ");
                add_shape(out, value);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::{Name, Variables};
    use serde_json::json;

    use super::*;

    #[test]
    fn shapes_of_variables_contain_types_and_lengths_and_no_values() {
        let variables = Variables::from_json(json!({
            "first": 7,
            "filter": { "names": ["secret", "x"], "price": 1.5, "sold": true, "none": null },
        }));
        let shown = shapes(variables.iter());
        for part in [
            "$first: Int",
            "names: [2 × String(6)]",
            "price: Float",
            "sold: Boolean",
            "none: null",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn shapes_are_cut_when_they_are_long() {
        let many = (0..1_000).map(|n| (Name::new(format!("v{n}")), Value::Null));
        let many: Vec<(Name, Value)> = many.collect();
        let shown = shapes(many.iter().map(|(name, value)| (name, value)));
        assert!(shown.len() <= MAX_SHAPES + '…'.len_utf8(), "{shown}");
    }
}
