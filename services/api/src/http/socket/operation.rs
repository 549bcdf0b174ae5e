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
    execution::{Failure, GraphqlRequest, GraphqlResponse, Prepared, ResponseError, log_internal},
    http::{RequestContext, graphql, routes::Api},
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
    fn next(&self, answer: &GraphqlResponse) -> impl Future<Output = ()> + Send;
}

/// An operation that has passed all checks.
pub(in crate::http) struct Ready {
    prepared: Prepared,
    /// The same once more for a subscription, since the stream of events needs one of its own.
    priced: Option<Prepared>,
}

impl Ready {
    /// Creates an operation that runs. `request` is what was prepared.
    pub(in crate::http) fn new(
        api: &Api,
        prepared: Prepared,
        request: GraphqlRequest,
    ) -> Result<Self, Errors> {
        let again = prepared.kind().is_subscription();
        let priced = again.then(|| api.engine.prepare(request)).transpose()?;
        Ok(Self { prepared, priced })
    }

    /// Whether it has as many responses as there are events.
    pub(in crate::http) fn is_subscription(&self) -> bool {
        self.priced.is_some()
    }
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

    async fn answer(mut self, operation_sink: &OperationSink) -> Result<(), Errors> {
        let context = authenticate(&self.api, &self.headers)
            .map_err(|failure| refusal(&failure, &self.request.request_id))?;
        self.request.hide_schema = context.hide_schema;
        let persisted_queries = &self.api.persisted_queries;
        let registration = persisted_queries.resolve(&mut self.request).await;
        let registration =
            registration.map_err(|failure| refusal(&failure, &self.request.request_id))?;
        let prepared = self.api.engine.prepare(self.request.clone())?;
        if let Some(registration) = registration {
            persisted_queries.register(registration);
        }
        let ready = Ready::new(&self.api, prepared, self.request)?;
        answer(&self.api, ready, context, operation_sink).await
    }
}

/// Executes an operation with one or many responses.
pub(in crate::http) async fn answer(
    api: &Api,
    ready: Ready,
    context: RequestContext,
    sink: &impl AnswerSink,
) -> Result<(), Errors> {
    match ready.priced {
        Some(priced) => subscribe(api, ready.prepared, &priced, context, sink).await,
        None => execute(api, ready.prepared, context, sink).await,
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
    prepared: Prepared,
    context: RequestContext,
    sink: &impl AnswerSink,
) -> Result<(), Errors> {
    let request_id = prepared.request_id().to_owned();
    let outcome = graphql::run(api, prepared, context).await;
    let answer = outcome.map_err(|failure| refusal(&failure, &request_id))?;
    if answer.data.is_none() {
        return Err(answer.errors);
    }
    sink.next(&answer).await;
    Ok(())
}

/// Executes a subscription with one response per event. Extensions of the cost check are sent with
/// the first response.
///
/// Each event costs as much as the first: the caller pays for it before it is sent. A caller that
/// cannot pay gets an error, and may subscribe again later.
async fn subscribe(
    api: &Api,
    prepared: Prepared,
    priced: &Prepared,
    context: RequestContext,
    sink: &impl AnswerSink,
) -> Result<(), Errors> {
    let pay = || {
        let check = (context.cost_check)(priced);
        let paid = check.outcome;
        paid.map_err(|failure| refusal(&failure, priced.request_id()))?;
        Ok::<_, Errors>((check.extensions, check.limits))
    };
    let (extensions, limits) = pay()?;
    let mut extensions = Some(extensions);
    let mut answers = api.engine.subscribe(prepared, limits, context.add_context);
    while let Some(mut answer) = answers.next().await {
        if answer.data.is_none() {
            return Err(answer.errors);
        }
        match extensions.take() {
            Some(mut first) => answer.extensions.append(&mut first),
            None => drop(pay()?),
        }
        sink.next(&answer).await;
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
