//! The normal form of an operation, in the library's syntax tree.

use apollo_compiler::{ExecutableDocument, ast::OperationType, executable::Operation};
use async_graphql::{
    Variables,
    parser::types::{
        self as library, DocumentOperations, ExecutableDocument as LibraryDocument,
        OperationDefinition, VariableDefinition,
    },
};

use super::{
    convert,
    cost_cache::CostCache,
    direct::PlanTable,
    merge::{Collector, TooLarge},
    rules::Rules,
    writer::{Writer, here, name},
};

/// An operation in normal form.
pub(super) struct NormalForm {
    /// The document that the library executes: one operation, no fragment definitions.
    pub(super) document: LibraryDocument,
    /// The number of fields, over all concrete types.
    pub(super) fields: usize,
    pub(super) cost: CostCache,
    pub(super) plans: PlanTable,
}

/// Converts an operation to normal form for these variables.
pub(super) fn normalise(
    rules: &Rules,
    document: &ExecutableDocument,
    operation: &Operation,
    variables: &Variables,
) -> Result<NormalForm, TooLarge> {
    let mut writer = Writer {
        collector: Collector {
            rules,
            fragments: &document.fragments,
            variables,
            steps: 0,
        },
        document,
        fields: 0,
        selections: 0,
    };
    let set = writer.set(operation.object_type(), &[&operation.selection_set])?;
    Ok(NormalForm {
        document: LibraryDocument {
            operations: DocumentOperations::Single(here(definition(operation, set))),
            fragments: std::collections::HashMap::new(),
        },
        fields: writer.fields,
        cost: CostCache::default(),
        plans: PlanTable::new(writer.selections + 1),
    })
}

fn definition(operation: &Operation, set: library::SelectionSet) -> OperationDefinition {
    OperationDefinition {
        ty: match operation.operation_type {
            OperationType::Query => library::OperationType::Query,
            OperationType::Mutation => library::OperationType::Mutation,
            OperationType::Subscription => library::OperationType::Subscription,
        },
        variable_definitions: operation
            .variables
            .iter()
            .map(|variable| {
                here(VariableDefinition {
                    name: here(name(&variable.name)),
                    var_type: here(convert::ty(&variable.ty)),
                    directives: Vec::new(),
                    // Coercion has already applied defaults.
                    default_value: None,
                })
            })
            .collect(),
        directives: Vec::new(),
        selection_set: here(set),
    }
}
