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
    execution::{
        EventGate, Failure, GraphqlRequest, GraphqlResponse, Prepared, ResponseError, log_internal,
    },
    http::{RequestContext, graphql, preparation::prepare, routes::Api},
};

pub(super) struct Operation {
    pub(super) api: Arc<Api>,
    pub(super) headers: Arc<HeaderMap>,
    pub(super) request: GraphqlRequest,
}

/// Errors that end an operation with an `error` message.
pub(in crate::http) type Errors = Vec<ResponseError>;

/// Receives the responses of an operation, over any transport.
pub(in crate::http) trait AnswerSink {
    /// Sends a response; waits while the client does not read.
    fn next(&self, answer: GraphqlResponse) -> impl Future<Output = ()> + Send;
}

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

    async fn answer(self, operation_sink: &OperationSink) -> Result<(), Errors> {
        let context = authenticate(&self.api, &self.headers)
            .map_err(|failure| refusal(&failure, &self.request.request_id))?;
        let prepared = prepare(&self.api, &context, self.request).await;
        let prepared = prepared.map_err(|answer| answer.errors)?;
        answer(&self.api, prepared, context, operation_sink).await
    }
}

/// Executes an operation with one or many responses.
pub(in crate::http) async fn answer(
    api: &Api,
    prepared: Arc<Prepared>,
    context: RequestContext,
    sink: &impl AnswerSink,
) -> Result<(), Errors> {
    if prepared.kind().is_subscription() {
        subscribe(api, prepared, context, sink).await
    } else {
        execute(api, prepared, context, sink).await
    }
}

/// Authenticates the caller. A panic is an internal failure.
pub(super) fn authenticate(api: &Api, headers: &HeaderMap) -> Result<RequestContext, Failure> {
    let context = catch_unwind(AssertUnwindSafe(|| (api.authenticate)(headers)));
    context.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Converts a failure to errors for the client, and logs it if it is internal.
pub(in crate::http) fn refusal(failure: &Failure, request_id: &str) -> Errors {
    log_internal(failure, "", request_id);
    vec![ResponseError::from_failure(failure, request_id)]
}

/// Executes a query or a mutation. It continues if the client disconnects.
async fn execute(
    api: &Api,
    prepared: Arc<Prepared>,
    context: RequestContext,
    sink: &impl AnswerSink,
) -> Result<(), Errors> {
    let outcome = graphql::run(api, Arc::clone(&prepared), context).await;
    let answer = outcome.map_err(|failure| refusal(&failure, prepared.request_id()))?;
    if answer.data.is_none() {
        return Err(answer.errors);
    }
    sink.next(answer).await;
    Ok(())
}

/// Executes a subscription with one response per event. Extensions of the cost check are sent with
/// the first response.
///
/// Each event costs as much as the first: the caller pays for it before anything is resolved for it.
/// A caller that cannot pay gets an error, and may subscribe again later.
async fn subscribe(
    api: &Api,
    prepared: Arc<Prepared>,
    context: RequestContext,
    sink: &impl AnswerSink,
) -> Result<(), Errors> {
    let RequestContext {
        cost_check,
        add_context,
        ..
    } = context;
    let check = cost_check(&prepared);
    if let Err(failure) = check.outcome {
        let errors = refusal(&failure, prepared.request_id());
        api.reports.ended(&errors);
        return Err(errors);
    }
    let (mut extensions, subscribed) = (check.extensions, Arc::clone(&prepared));
    let charged = Arc::clone(&prepared);
    let gate = EventGate::new(move || cost_check(&charged).outcome);
    let mut answers = api
        .engine
        .subscribe(subscribed, check.limits, gate, add_context);
    while let Some(mut answer) = answers.next().await {
        if answer.data.is_none() {
            api.reports.ended(&answer.errors);
            return Err(answer.errors);
        }
        answer.extensions.append(&mut extensions);
        api.reports.event(&prepared, check.cost, &answer.errors);
        sink.next(answer).await;
    }
    Ok(())
}

pub(in crate::http) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::internal(format!("a panic: {}", text.unwrap_or("?")))
}
