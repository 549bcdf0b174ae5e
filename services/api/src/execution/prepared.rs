//! A request between validation and execution.

use std::{fmt, sync::Arc, time::Duration};

use apollo_compiler::{
    ExecutableDocument, Schema, ast::OperationType, executable::Operation, validation::Valid,
};
use async_graphql::{Request, Variables, parser::types::DocumentOperations};
use serde_json::Map;

use super::{
    DocumentValidator, Failure, ResponseLimits, ValidatedDocument,
    cost::{Calculator, CostModel, List},
    introspection,
    normal_form::NormalForm,
    plan::{DocumentPlan, OperationPlan},
};

/// A request that has passed all checks before execution.
pub struct Prepared {
    pub(super) validator: DocumentValidator,
    pub(super) validated: Arc<ValidatedDocument>,
    pub(super) index: usize,
    pub(super) variables: Variables,
    pub(super) normal: Arc<NormalForm>,
    pub(super) request_id: String,
    pub(super) hide_schema: bool,
    /// Whether an earlier request had the same document.
    pub(super) is_cached: bool,
    /// Whether fields that need no look-up are written directly.
    pub(super) is_direct: bool,
}

/// The result of a check of a prepared request (see [`super::Engine::execute_with`]): entries for
/// the `extensions` of the response, and whether the request may run.
#[derive(Debug)]
pub struct CostCheck {
    /// The estimated cost in units; 0 if it was not estimated.
    pub cost: u64,
    /// Whether the request takes much of a processor; if so, few of its kind run at a time.
    pub is_large: bool,
    /// Added to the response, also if the request is refused.
    pub extensions: Map<String, serde_json::Value>,
    /// Whether the request may run.
    pub outcome: Result<(), Failure>,
    /// The budget of the caller after this request, if it has one.
    pub rate: Option<RateState>,
    /// The maximum size of the response.
    pub limits: ResponseLimits,
}

/// The budget of a caller for the costs of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// The units that may be spent at once.
    pub limit: u64,
    /// The units that are left.
    pub left: u64,
    /// When all units will be there again.
    pub full_in: Duration,
}

impl CostCheck {
    /// The request may run, without additional extensions.
    #[must_use]
    pub fn free() -> Self {
        Self {
            cost: 0,
            is_large: false,
            extensions: Map::new(),
            outcome: Ok(()),
            rate: None,
            limits: ResponseLimits::NONE,
        }
    }
}

impl Prepared {
    /// Returns the coerced value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<async_graphql::Value> {
        self.variables.get(name).cloned()
    }

    /// Returns the schema, for checks that inspect a request or estimate its cost.
    #[must_use]
    pub fn schema(&self) -> &Valid<Schema> {
        &self.validator.rules().schema
    }

    /// Returns the whole document, including the fragments that the operation may use.
    #[must_use]
    pub fn document(&self) -> &ExecutableDocument {
        &self.plan().document
    }

    /// Returns the operation that will run.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation_plan().operation
    }

    /// Returns the type of the operation.
    #[must_use]
    pub fn kind(&self) -> OperationType {
        self.operation().operation_type
    }

    /// Returns the coerced variables, including defaults.
    #[must_use]
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Returns the cost of the operation in microseconds of CPU, an estimate from above.
    #[must_use]
    pub fn cost(&self, model: &dyn CostModel) -> u64 {
        let DocumentOperations::Single(operation) = &self.normal.document.operations else {
            return 0;
        };
        let calculator = Calculator {
            rules: self.validator.rules(),
            variables: &self.variables,
            model,
        };
        let root = self.operation().object_type();
        let selection = &operation.node.selection_set.node;
        let compute = || calculator.set(root, selection, List::ROOT);
        let cache = &self.normal.cost;
        cache.get_or(model.facts(), &self.variables, compute)
    }

    /// Returns the id of the request.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Returns the SHA-256 hash of the document.
    #[must_use]
    pub fn document_hash(&self) -> &[u8; 32] {
        &self.validated.key
    }

    /// Returns whether the document had been validated before.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.is_cached
    }

    /// Whether the operation queries the schema.
    pub(super) fn introspects(&self) -> bool {
        self.operation_plan().introspects
    }

    fn plan(&self) -> &DocumentPlan {
        let outcome = self.validated.outcome.as_ref();
        outcome.expect("only valid documents are prepared")
    }

    fn operation_plan(&self) -> &OperationPlan {
        &self.plan().operations[self.index]
    }

    /// Returns the request as the library's type.
    pub(super) fn request(&self) -> Request {
        let mut request = Request::new("").variables(self.variables.clone());
        if self.is_direct {
            request = request.data(self.normal.plans.clone());
        }
        let document = &self.normal.document;
        request.set_parsed_query(if self.introspects() {
            introspection::without(document)
        } else {
            document.clone()
        });
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
