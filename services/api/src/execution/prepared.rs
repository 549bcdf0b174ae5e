//! A request between judgement and execution.

use std::{fmt, sync::Arc};

use apollo_compiler::{
    ExecutableDocument, Schema, ast::OperationType, executable::Operation, validation::Valid,
};
use async_graphql::{Request, Variables};
use serde_json::Map;

use super::{
    DocumentValidator, Failure, ValidatedDocument,
    normal::Normal,
    plan::{OperationPlan, Plan},
};

/// A request that has passed everything that can be known before execution.
pub struct Prepared {
    pub(super) validator: DocumentValidator,
    pub(super) validated: Arc<ValidatedDocument>,
    pub(super) index: usize,
    pub(super) variables: Variables,
    pub(super) normal: Arc<Normal>,
    pub(super) request_id: String,
    pub(super) hide_schema: bool,
}

/// What a rule over prepared requests decides (see [`super::Engine::execute_with`]): entries for the
/// `extensions` of the answer, and whether the request may run.
#[derive(Debug)]
pub struct CostCheck {
    /// Part of the answer, also of a refusal.
    pub extensions: Map<String, serde_json::Value>,
    /// Whether the request may run.
    pub outcome: Result<(), Failure>,
}

impl CostCheck {
    /// The request may run and nothing is to be said about it.
    #[must_use]
    pub fn free() -> Self {
        Self {
            extensions: Map::new(),
            outcome: Ok(()),
        }
    }
}

impl Prepared {
    /// The schema, for rules that price or inspect a request.
    #[must_use]
    pub fn schema(&self) -> &Valid<Schema> {
        &self.validator.rules().schema
    }

    /// The whole document, whose fragments the operation may use.
    #[must_use]
    pub fn document(&self) -> &ExecutableDocument {
        &self.plan().document
    }

    /// The operation that will run.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.chosen().operation
    }

    /// What kind of operation it is.
    #[must_use]
    pub fn kind(&self) -> OperationType {
        self.operation().operation_type
    }

    /// Its variables, coerced, defaults included.
    #[must_use]
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    fn plan(&self) -> &Plan {
        let outcome = self.validated.outcome.as_ref();
        outcome.expect("only accepted documents are prepared")
    }

    fn chosen(&self) -> &OperationPlan {
        &self.plan().operations[self.index]
    }

    /// The request as the library takes it.
    pub(super) fn request(&self) -> Request {
        let mut request = Request::new("").variables(self.variables.clone());
        request.set_parsed_query(self.normal.document.clone());
        if self.hide_schema {
            request = request.disable_introspection();
        }
        request
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("operation", &self.operation().name)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}
