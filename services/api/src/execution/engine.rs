//! Ties the validator, the variables, the normal form and the library together.

use std::{any::Any, fmt, panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{
    ObjectType, Request, Response, SchemaBuilder, SubscriptionType, ValidationMode, Value,
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use serde_json::Map;

use super::{
    CostCheck, DocumentValidator, ErrorCode, GraphqlRequest, GraphqlResponse, Prepared,
    ResponseError, Scalars, ValidatorError, conform, hints::Hints, limits::MAX_NESTING,
    plan::OperationPlan, restore, validator::Shape, variables,
};

type Run = dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync;
type Follow = dyn Fn(Request) -> BoxStream<'static, Response> + Send + Sync;

/// Answers GraphQL requests against one schema. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    validator: DocumentValidator,
    run: Arc<Run>,
    follow: Arc<Follow>,
    sdl: Arc<str>,
}

impl Engine {
    /// Finishes the schema, with the library's own validation and suggestions switched off,
    /// and sets a validator in front of it.
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
            .disable_suggestions()
            .limit_recursive_depth(MAX_NESTING * 4)
            .finish();
        let sdl = schema.sdl();
        let followed = schema.clone();
        Ok(Self {
            validator: DocumentValidator::new(&sdl, scalars)?,
            follow: Arc::new(move |request| followed.execute_stream(request)),
            run: Arc::new(move |request| {
                let schema = schema.clone();
                Box::pin(async move { schema.execute(request).await })
            }),
            sdl: sdl.into(),
        })
    }

    /// The text of the schema.
    #[must_use]
    pub fn sdl(&self) -> &str {
        &self.sdl
    }

    /// The validator in front of the schema.
    #[must_use]
    pub fn validator(&self) -> &DocumentValidator {
        &self.validator
    }

    /// Answers a request. `data` adds to the library's request what resolvers need.
    pub async fn execute(
        &self,
        request: GraphqlRequest,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        self.execute_with(request, |_| CostCheck::free(), data)
            .await
    }

    /// The same, with a rule that sees the request before it runs, such as a price.
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

    /// Does everything that comes before execution.
    pub fn prepare(&self, request: GraphqlRequest) -> Result<Prepared, Vec<ResponseError>> {
        let validated = self.validator.validate(&request.query);
        let plan = validated.outcome.as_ref().map_err(Clone::clone)?;
        let name = request.operation_name.as_deref();
        let index = plan.find(name).map_err(|error| vec![error])?;
        let chosen = &plan.operations[index];
        admissible(chosen, request.hide_schema).map_err(|error| vec![error])?;
        let variables = variables::coerce(
            self.validator.rules(),
            &chosen.operation,
            &plan.document.sources,
            &chosen.never_null,
            &request.variables,
        )?;
        let shape = Shape {
            validated: &validated,
            plan,
            index,
            variables: &variables,
        };
        let normal = self.validator.normal(&shape).map_err(|error| vec![error])?;
        Ok(Prepared {
            validator: self.validator.clone(),
            validated: Arc::clone(&validated),
            index,
            variables,
            normal,
            request_id: request.request_id,
            hide_schema: request.hide_schema,
        })
    }

    /// Executes a prepared request, unless the cost_check refuses it.
    pub async fn run(
        &self,
        prepared: Prepared,
        cost_check: impl FnOnce(&Prepared) -> CostCheck,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        if prepared.kind().is_subscription() {
            return answers_once();
        }
        let cost_check = cost_check(&prepared);
        let mut answer = match &cost_check.outcome {
            Ok(()) => self.answer(&prepared, data).await,
            Err(failure) => {
                restore::note(failure, "", &prepared.request_id);
                GraphqlResponse::failed(failure, &prepared.request_id)
            }
        };
        answer.extensions.extend(cost_check.extensions);
        answer
    }

    /// Follows a prepared subscription, one answer for each event. The caller has taken its
    /// cost_check, and sees to it that the stream is polled in a task of its own.
    pub fn follow(
        &self,
        prepared: Prepared,
        data: impl FnOnce(Request) -> Request,
    ) -> BoxStream<'static, GraphqlResponse> {
        let hints = Hints::default();
        let events = (self.follow)(data(prepared.request()).data(hints.clone()));
        let guarded = AssertUnwindSafe(events).catch_unwind();
        let answers = guarded.map(move |event| match event {
            Ok(response) => {
                let mut answer = restore::answer(response, &prepared);
                hints.tell(&mut answer.extensions);
                answer
            }
            Err(panic) => panicked(&*panic, &prepared.request_id),
        });
        answers.boxed()
    }

    async fn answer(
        &self,
        prepared: &Prepared,
        data: impl FnOnce(Request) -> Request,
    ) -> GraphqlResponse {
        // Building the request runs code of the caller, which may panic as resolvers may.
        let execution = async {
            let hints = Hints::default();
            let request = data(prepared.request()).data(hints.clone());
            let response = (self.run)(request).await;
            let mut answer = restore::answer(response, prepared);
            hints.tell(&mut answer.extensions);
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

fn admissible(chosen: &OperationPlan, hide_schema: bool) -> Result<(), ResponseError> {
    if hide_schema && chosen.introspects {
        let message = "Introspection is switched off for this caller.";
        return Err(ResponseError::new(ErrorCode::BadUserInput, message));
    }
    Ok(())
}

/// The answer to a subscription on a transport that answers once.
fn answers_once() -> GraphqlResponse {
    let message = "Subscriptions need a transport that can deliver more than one answer.";
    GraphqlResponse::refused(vec![ResponseError::new(ErrorCode::BadUserInput, message)])
}

/// Execution had begun, so there is a `data` key; nothing of it is known.
fn panicked(panic: &(dyn Any + Send), request_id: &str) -> GraphqlResponse {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(
        request_id,
        panic = text.unwrap_or("?"),
        "a resolver panicked"
    );
    GraphqlResponse {
        errors: vec![ResponseError::internal(request_id)],
        data: Some(Value::Null),
        extensions: Map::new(),
    }
}
