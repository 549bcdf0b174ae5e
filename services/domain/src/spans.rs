//! Spans of database operations, named after the GraphQL field that asks for them.

use tracing::{Span, field, info_span};

pub use vitrine_storage::work::SPANS;

tokio::task_local! {
    static FIELD: String;
}

/// Runs a future whose database operations are traced as operations of a field, such as `Query.product`.
pub async fn of_field<F: Future>(field: String, future: F) -> F::Output {
    FIELD.scope(field, future).await
}

/// Returns the span of an operation of the current field; disabled unless traces are exported.
pub(crate) fn of_current_field() -> Span {
    let span = info_span!(target: SPANS, "database operation", graphql.field = field::Empty, otel.name = field::Empty);
    if !span.is_disabled() {
        // Operations outside of a field belong to no resolver.
        let _ = FIELD.try_with(|name| {
            span.record("graphql.field", name.as_str());
            span.record("otel.name", name.as_str());
        });
    }
    span
}
