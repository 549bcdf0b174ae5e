//! One operation: admitted, judged, priced and answered as over HTTP, once or many times.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use axum::http::HeaderMap;
use futures_util::{FutureExt, StreamExt};

use super::operation_sink::OperationSink;
use crate::{
    execution::{Failure, GraphqlRequest, Prepared, ResponseError, note},
    http::{RequestContext, graphql, routes::Api},
};

/// What an operation needs.
pub(super) struct Operation {
    pub(super) api: Arc<Api>,
    pub(super) headers: Arc<HeaderMap>,
    pub(super) request: GraphqlRequest,
}

/// Errors that end an operation with an `error` message.
type Errors = Vec<ResponseError>;

impl Operation {
    /// Runs to the end of the operation, whatever happens.
    pub(super) async fn run(self, operation_sink: OperationSink) {
        let request_id = self.request.request_id.clone();
        let outcome = AssertUnwindSafe(self.answer(&operation_sink))
            .catch_unwind()
            .await;
        let outcome = outcome.unwrap_or_else(|panic| Err(refusal(&panicked(&*panic), &request_id)));
        match outcome {
            Ok(()) => operation_sink.complete().await,
            Err(errors) => operation_sink.refuse(&errors).await,
        }
    }

    async fn answer(mut self, operation_sink: &OperationSink) -> Result<(), Errors> {
        let context = admit(&self.api, &self.headers)
            .map_err(|failure| refusal(&failure, &self.request.request_id))?;
        self.request.hide_schema = context.hide_schema;
        let prepared = self.api.engine.prepare(self.request)?;
        if prepared.kind().is_subscription() {
            follow(&self.api, prepared, context, operation_sink).await
        } else {
            once(&self.api, prepared, context, operation_sink).await
        }
    }
}

/// Asks whether the caller is admitted. A panic is a fault of ours.
pub(super) fn admit(api: &Api, headers: &HeaderMap) -> Result<RequestContext, Failure> {
    let admitted = catch_unwind(AssertUnwindSafe(|| (api.admit)(headers)));
    admitted.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// What the client reads of a failure. A fault of ours goes to the log.
pub(super) fn refusal(failure: &Failure, request_id: &str) -> Errors {
    note(failure, "", request_id);
    vec![ResponseError::from_failure(failure, request_id)]
}

/// A query or a mutation: the work is not cut off when the client leaves.
async fn once(
    api: &Api,
    prepared: Prepared,
    context: RequestContext,
    operation_sink: &OperationSink,
) -> Result<(), Errors> {
    let request_id = prepared.request_id().to_owned();
    let ran = graphql::run(api, prepared, context).await;
    let answer = ran.map_err(|failure| refusal(&failure, &request_id))?;
    if answer.data.is_none() {
        return Err(answer.errors);
    }
    operation_sink.next(&answer).await;
    Ok(())
}

/// A subscription: one answer for each event. What the cost_check has to say is told with the first.
async fn follow(
    api: &Api,
    prepared: Prepared,
    context: RequestContext,
    operation_sink: &OperationSink,
) -> Result<(), Errors> {
    let mut cost_check = (context.cost_check)(&prepared);
    cost_check
        .outcome
        .map_err(|failure| refusal(&failure, prepared.request_id()))?;
    let mut answers = api.engine.follow(prepared, context.attach);
    while let Some(mut answer) = answers.next().await {
        if answer.data.is_none() {
            return Err(answer.errors);
        }
        answer.extensions.append(&mut cost_check.extensions);
        operation_sink.next(&answer).await;
    }
    Ok(())
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::internal(format!("a panic: {}", text.unwrap_or("?")))
}
