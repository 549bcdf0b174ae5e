//! The plan of a valid document, and the selection of one of its operations.

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{Argument, Value},
    collections::IndexSet,
    executable::{DirectiveList, Operation, Selection, SelectionSet},
    validation::Valid,
};
use async_graphql::{Value as LibraryValue, Variables};

use super::{ErrorCode, ResponseError};

/// A valid document and its operations.
pub(super) struct DocumentPlan {
    pub(super) document: Valid<ExecutableDocument>,
    pub(super) operations: Vec<OperationPlan>,
}

/// One operation of a document.
pub(super) struct OperationPlan {
    pub(super) operation: Node<Operation>,
    /// The nullable variables that must not be null, see `literals`.
    pub(super) never_null: IndexSet<Name>,
    /// Whether the operation queries the schema, as GraphQL or as a subgraph describes it.
    pub(super) introspects: bool,
    switches: Vec<Switch>,
}

/// A property of the variables on which the normal form of the operation depends.
enum Switch {
    /// The value of the variable in a `@skip` or `@include`.
    Condition(Name),
    /// Whether the variable has a value at all.
    Presence(Name),
}

impl DocumentPlan {
    pub(super) fn new(
        document: Valid<ExecutableDocument>,
        never_null: Vec<IndexSet<Name>>,
    ) -> Self {
        let operations = std::iter::zip(document.operations.iter(), never_null)
            .map(|(operation, never_null)| OperationPlan {
                operation: operation.clone(),
                never_null,
                introspects: introspects(&document, operation),
                switches: switches(&document, operation),
            })
            .collect();
        Self {
            document,
            operations,
        }
    }

    /// `GetOperation` of the specification: returns the index of the operation with this name, or
    /// of the only one.
    pub(super) fn find(&self, name: Option<&str>) -> Result<usize, ResponseError> {
        let found = match name {
            Some(name) => self
                .operations
                .iter()
                .position(|plan| plan.operation.name.as_deref() == Some(name)),
            None => (self.operations.len() == 1).then_some(0),
        };
        found.ok_or_else(|| {
            let message = match name {
                Some(name) => format!("The document has no operation named {name:?}."),
                None => "The document has several operations; set operationName.".to_owned(),
            };
            ResponseError::new(ErrorCode::BadUserInput, message)
        })
    }
}

impl OperationPlan {
    /// Returns the state of all switches as bits, as part of the cache key of normal forms; `None`
    /// if there are more than 64 of them.
    pub(super) fn switch_bits(&self, variables: &Variables) -> Option<u64> {
        if self.switches.len() > 64 {
            return None;
        }
        Some(self.switches.iter().fold(0, |bits, switch| {
            bits << 1 | u64::from(switch.is_on(variables))
        }))
    }
}

impl Switch {
    fn is_on(&self, variables: &Variables) -> bool {
        match self {
            Self::Condition(name) => {
                variables.get(name.as_str()) == Some(&LibraryValue::Boolean(true))
            }
            Self::Presence(name) => variables.contains_key(name.as_str()),
        }
    }
}

fn introspects(document: &ExecutableDocument, operation: &Operation) -> bool {
    operation
        .root_fields(document)
        .any(|field| matches!(field.name.as_str(), "__schema" | "__type" | "_service"))
}

fn switches(document: &ExecutableDocument, operation: &Operation) -> Vec<Switch> {
    let optional = operation
        .variables
        .iter()
        .filter(|variable| !variable.ty.is_non_null() && variable.default_value.is_none())
        .map(|variable| Switch::Presence(variable.name.clone()));
    let conditions = conditions(document, operation)
        .into_iter()
        .map(|name| Switch::Condition(name.clone()));
    optional.chain(conditions).collect()
}

/// Returns the variables of all reachable `@skip` and `@include` directives.
fn conditions<'a>(
    document: &'a ExecutableDocument,
    operation: &'a Operation,
) -> IndexSet<&'a Name> {
    let mut names = IndexSet::default();
    let mut seen = IndexSet::<&Name>::default();
    let mut pending: Vec<&SelectionSet> = vec![&operation.selection_set];
    while let Some(set) = pending.pop() {
        for selection in &set.selections {
            names.extend(deciding(selection.directives()));
            match selection {
                Selection::Field(field) => pending.push(&field.selection_set),
                Selection::InlineFragment(inline) => pending.push(&inline.selection_set),
                Selection::FragmentSpread(spread) => {
                    if seen.insert(&spread.fragment_name) {
                        let fragment = &document.fragments[&spread.fragment_name];
                        pending.push(&fragment.selection_set);
                    }
                }
            }
        }
    }
    names
}

fn deciding(directives: &DirectiveList) -> impl Iterator<Item = &Name> {
    directives
        .iter()
        .filter(|directive| matches!(directive.name.as_str(), "skip" | "include"))
        .flat_map(|directive| &directive.arguments)
        .filter_map(|argument: &Node<Argument>| match &*argument.value {
            Value::Variable(name) => Some(name),
            _ => None,
        })
}
