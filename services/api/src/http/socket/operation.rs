//! An operation on a WebSocket: authenticated, validated, limited and executed as over HTTP, with
//! one or many responses.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use axum::http::HeaderMap;
use futures_util::{FutureExt, StreamExt};

use super::operation_sink::OperationSink;
use crate::{
    execution::{Failure, GraphqlRequest, Prepared, ResponseError, log_internal},
    http::{RequestContext, graphql, routes::Api},
};

pub(super) struct Operation {
    pub(super) api: Arc<Api>,
    pub(super) headers: Arc<HeaderMap>,
    pub(super) request: GraphqlRequest,
}

/// Errors that end an operation with an `error` message.
type Errors = Vec<ResponseError>;

impl Operation {
    /// Runs the operation to its end. Panics become internal errors.
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
        let context = authenticate(&self.api, &self.headers)
            .map_err(|failure| refusal(&failure, &self.request.request_id))?;
        self.request.hide_schema = context.hide_schema;
        let prepared = self.api.engine.prepare(self.request)?;
        if prepared.kind().is_subscription() {
            subscribe(&self.api, prepared, context, operation_sink).await
        } else {
            execute(&self.api, prepared, context, operation_sink).await
        }
    }
}

/// Authenticates the caller. A panic is an internal failure.
pub(super) fn authenticate(api: &Api, headers: &HeaderMap) -> Result<RequestContext, Failure> {
    let context = catch_unwind(AssertUnwindSafe(|| (api.authenticate)(headers)));
    context.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Converts a failure to errors for the client, and logs it if it is internal.
pub(super) fn refusal(failure: &Failure, request_id: &str) -> Errors {
    log_internal(failure, "", request_id);
    vec![ResponseError::from_failure(failure, request_id)]
}

/// Executes a query or a mutation. It continues if the client disconnects.
async fn execute(
    api: &Api,
    prepared: Prepared,
    context: RequestContext,
    operation_sink: &OperationSink,
) -> Result<(), Errors> {
    let request_id = prepared.request_id().to_owned();
    let outcome = graphql::run(api, prepared, context).await;
    let answer = outcome.map_err(|failure| refusal(&failure, &request_id))?;
    if answer.data.is_none() {
        return Err(answer.errors);
    }
    operation_sink.next(&answer).await;
    Ok(())
}

/// Executes a subscription with one response per event. Extensions of the cost check are sent with
/// the first response.
async fn subscribe(
    api: &Api,
    prepared: Prepared,
    context: RequestContext,
    operation_sink: &OperationSink,
) -> Result<(), Errors> {
    let mut cost_check = (context.cost_check)(&prepared);
    cost_check
        .outcome
        .map_err(|failure| refusal(&failure, prepared.request_id()))?;
    let mut answers = api
        .engine
        .subscribe(prepared, cost_check.limits, context.add_context);
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
