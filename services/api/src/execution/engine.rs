//! The engine: combines validation, variable coercion, normalisation and the library.

use std::{any::Any, borrow::Borrow, fmt, panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{
    ObjectType, Request, Response, SDLExportOptions, Schema, SchemaBuilder, SubscriptionType,
    ValidationMode, Value,
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};

use vitrine_domain::LineLimiter;

use super::{
    CostCheck, DocumentValidator, ErrorCode, EventGate, GraphqlRequest, GraphqlResponse, Prepared,
    ResponseError, ResponseLimits, Scalars, ValidatorError, conform, hints::Hints, introspection,
    limits::MAX_NESTING, plan::OperationPlan, response_budget::ResponseBudget, restore,
    validated::AlreadyValidated, validator::SelectedOperation, variables,
};

type ExecuteFn = dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync;
type SubscribeFn = dyn Fn(Request) -> BoxStream<'static, Response> + Send + Sync;

/// Executes GraphQL requests against one schema. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    validator: DocumentValidator,
    execute: Arc<ExecuteFn>,
    subscribe: Arc<SubscribeFn>,
    sdl: Arc<str>,
    /// Whether fields that need no look-up are written directly.
    is_direct: bool,
}

impl Engine {
    /// Builds the schema with the library's own validation and suggestions disabled, and a
    /// validator for it.
    pub fn new<Q, M, S>(
        builder: SchemaBuilder<Q, M, S>,
        scalars: Scalars,
    ) -> Result<Self, ValidatorError>
    where
        Q: ObjectType + 'static,
        M: ObjectType + 'static,
        S: SubscriptionType + 'static,
    {
        let schema = builder
            .validation_mode(ValidationMode::Fast)
            .extension(AlreadyValidated)
            .disable_suggestions()
            .limit_recursive_depth(MAX_NESTING * 4)
            .finish();
        let sdl = sdl(&schema);
        let subscribed = schema.clone();
        Ok(Self {
            validator: DocumentValidator::new(&sdl, scalars)?,
            subscribe: Arc::new(move |request| subscribed.execute_stream(request)),
            execute: Arc::new(move |request| {
                let schema = schema.clone();
                Box::pin(async move { schema.execute(request).await })
            }),
            sdl: sdl.into(),
            is_direct: true,
        })
    }

    /// Builds an engine that knows a schema and resolves nothing but `__typename` and introspection. For tests that
    /// call no resolver: otherwise the compiler makes a second copy of all resolvers for them.
    #[cfg(test)]
    pub(crate) fn without_resolvers(sdl: &str, scalars: Scalars) -> Result<Self, ValidatorError> {
        use async_graphql::{EmptyMutation, EmptySubscription, Object};

        struct Nothing;

        #[Object(name = "Query")]
        impl Nothing {
            async fn nothing(&self) -> Option<bool> {
                None
            }
        }

        let nothing = Schema::build(Nothing, EmptyMutation, EmptySubscription);
        Ok(Self {
            validator: DocumentValidator::new(sdl, scalars)?,
            sdl: sdl.into(),
            ..Self::new(nothing, Scalars::none())?
        })
    }

    /// Runs the resolver of every field, and writes none directly: the reference for tests.
    #[must_use]
    pub fn resolving_every_field(mut self) -> Self {
        self.is_direct = false;
        self
    }

    /// Returns the schema in the schema definition language.
    #[must_use]
    pub fn sdl(&self) -> &str {
        &self.sdl
    }

    /// Returns the validator of the schema.
    #[must_use]
    pub fn validator(&self) -> &DocumentValidator {
        &self.validator
    }

    /// Executes a request. `data` adds context data for resolvers to the library's request.
    pub async fn execute(
        &self,
        request: GraphqlRequest,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        self.execute_with(request, |_| CostCheck::free(), data)
            .await
    }

    /// Like [`Engine::execute`], with a check that sees the prepared request before it runs, such
    /// as a cost limit.
    pub async fn execute_with(
        &self,
        request: GraphqlRequest,
        cost_check: impl FnOnce(&Prepared) -> CostCheck,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        match self.prepare(request) {
            Ok(prepared) => self.run(prepared, cost_check, data).await,
            Err(errors) => GraphqlResponse::refused(errors),
        }
    }

    /// Validates a request, coerces its variables and normalises its operation. Fails with the
    /// errors for the client.
    pub fn prepare(&self, request: GraphqlRequest) -> Result<Prepared, Vec<ResponseError>> {
        let (validated, is_cached) = self.validator.look_up(&request.query);
        let plan = validated.outcome.as_ref().map_err(|errors| {
            let errors = errors.iter().cloned();
            let presented = errors.map(|error| error.presented(request.hide_schema));
            presented.collect::<Vec<_>>()
        })?;
        let name = request.operation_name.as_deref();
        let index = plan.find(name).map_err(|error| vec![error])?;
        let operation = &plan.operations[index];
        admissible(operation, request.hide_schema).map_err(|error| vec![error])?;
        let variables = variables::coerce(
            self.validator.rules(),
            &operation.operation,
            &plan.document.sources,
            &operation.never_null,
            &request.variables,
        )?;
        let selected = SelectedOperation {
            validated: &validated,
            plan,
            index,
            variables: &variables,
        };
        let normal = self
            .validator
            .normal_form(&selected)
            .map_err(|error| vec![error])?;
        Ok(Prepared {
            validator: self.validator.clone(),
            validated: Arc::clone(&validated),
            index,
            variables,
            normal,
            request_id: request.request_id,
            hide_schema: request.hide_schema,
            is_cached,
            is_direct: self.is_direct,
        })
    }

    /// Executes a prepared request, unless the cost check refuses it.
    pub async fn run(
        &self,
        prepared: impl Borrow<Prepared>,
        cost_check: impl FnOnce(&Prepared) -> CostCheck,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        let prepared = prepared.borrow();
        if prepared.kind().is_subscription() {
            return subscription_refused();
        }
        let cost_check = cost_check(prepared);
        let mut answer = match &cost_check.outcome {
            Ok(()) => self.answer(prepared, cost_check.limits, data).await,
            Err(failure) => {
                restore::log_internal(failure, "", &prepared.request_id);
                GraphqlResponse::failed(failure, &prepared.request_id)
            }
        };
        answer.extensions.extend(cost_check.extensions);
        answer.rate = cost_check.rate;
        answer.limits = cost_check.limits;
        answer
    }

    /// Executes a prepared subscription and returns a stream with one response per event. The
    /// caller must have applied the cost check and must poll the stream in its own task. The limits
    /// apply to each response, and the gate to each event but the first.
    pub fn subscribe(
        &self,
        prepared: impl Borrow<Prepared> + Send + 'static,
        limits: ResponseLimits,
        gate: EventGate,
        data: impl FnOnce(Request) -> Request,
    ) -> BoxStream<'static, GraphqlResponse> {
        let (hints, budget) = (Hints::default(), ResponseBudget::new(limits));
        let request = data(prepared.borrow().request()).data(hints.clone());
        let request = request.data(budget.clone()).data(gate.clone());
        let events = (self.subscribe)(request);
        let guarded = AssertUnwindSafe(events).catch_unwind();
        let answers = guarded.map(move |event| {
            let prepared = prepared.borrow();
            match event {
                Ok(_) if let Some(failure) = gate.refused() => {
                    restore::log_internal(&failure, "", prepared.request_id());
                    GraphqlResponse::failed(&failure, prepared.request_id())
                }
                Ok(_) if let Some(failure) = budget.exceeded() => {
                    budget.reset();
                    GraphqlResponse::lost(&failure, prepared.request_id())
                }
                Ok(response) => {
                    budget.reset();
                    let mut answer = restore::answer(response, prepared);
                    hints.drain_into(&mut answer.extensions);
                    answer.limits = limits;
                    answer
                }
                Err(panic) => panicked(&*panic, &prepared.request_id),
            }
        });
        answers.boxed()
    }

    async fn answer(
        &self,
        prepared: &Prepared,
        limits: ResponseLimits,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        // Building the request runs the caller's code, which may panic like resolvers.
        let execution = async {
            let (hints, budget) = (Hints::default(), ResponseBudget::new(limits));
            let request = data(prepared.request()).data(hints.clone());
            let response = (self.execute)(request.data(budget.clone())).await;
            if let Some(failure) = budget.exceeded() {
                return GraphqlResponse::lost(&failure, prepared.request_id());
            }
            let mut answer = restore::answer(response, prepared);
            if prepared.introspects() {
                answer.data = answer
                    .data
                    .map(|data| introspection::complete(prepared, data));
            }
            hints.drain_into(&mut answer.extensions);
            if cfg!(debug_assertions) {
                conform::check(prepared, &answer);
            }
            answer
        };
        match AssertUnwindSafe(execution).catch_unwind().await {
            Ok(answer) => answer,
            Err(panic) => panicked(&*panic, &prepared.request_id),
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// Returns a schema in the schema definition language, with the specifications of its scalars.
#[must_use]
pub fn sdl<Q, M, S>(schema: &Schema<Q, M, S>) -> String
where
    Q: ObjectType + 'static,
    M: ObjectType + 'static,
    S: SubscriptionType + 'static,
{
    schema.sdl_with_options(SDLExportOptions::new().include_specified_by())
}

fn admissible(operation: &OperationPlan, hide_schema: bool) -> Result<(), ResponseError> {
    if hide_schema && operation.introspects {
        let message = "Introspection is switched off for this caller.";
        return Err(ResponseError::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}

/// The response to a subscription over a transport that can send only one response.
fn subscription_refused() -> GraphqlResponse {
    let message = "Subscriptions need a transport that can deliver more than one answer.";
    GraphqlResponse::refused(vec![ResponseError::new(ErrorCode::BadUserInput, message)])
}

/// Execution had started, so the response has a `data` key, but its content is lost.
fn panicked(panic: &(dyn Any + Send), request_id: &str) -> GraphqlResponse {
    static PANICKED: LineLimiter = LineLimiter::allowing(restore::MAX_LINES);
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    if let Some(left_out) = PANICKED.permit() {
        let panic = text.unwrap_or("?");
        tracing::error!(request_id, panic, left_out, "a resolver panicked");
    }
    GraphqlResponse {
        errors: vec![ResponseError::internal(request_id)],
        data: Some(Value::Null),
        ..GraphqlResponse::default()
    }
}
