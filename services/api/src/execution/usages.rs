//! Visits every input value used in an operation.

use apollo_compiler::{
    ExecutableDocument, Name, Node, Schema,
    ast::{Argument, InputValueDefinition, Value},
    collections::HashSet,
    executable::{DirectiveList, Operation, Selection, SelectionSet},
};

/// One argument of a field or directive, with its definition.
pub(super) struct Usage<'a> {
    pub(super) definition: &'a InputValueDefinition,
    pub(super) value: &'a Node<Value>,
}

/// Calls `visit` for every argument that the operation can reach; each fragment is visited once.
pub(super) fn for_each<'a>(
    schema: &'a Schema,
    document: &'a ExecutableDocument,
    operation: &'a Operation,
    mut visit: impl FnMut(Usage<'a>),
) {
    directives(schema, &operation.directives, &mut visit);
    for variable in &operation.variables {
        directives(schema, &variable.directives, &mut visit);
    }
    let mut seen = HashSet::default();
    let mut pending = vec![&operation.selection_set];
    while let Some(set) = pending.pop() {
        for selection in &set.selections {
            directives(schema, selection.directives(), &mut visit);
            if let Selection::Field(field) = selection {
                arguments(&field.definition.arguments, &field.arguments, &mut visit);
            }
            pending.extend(below(document, selection, &mut seen));
        }
    }
    for name in seen {
        directives(schema, &document.fragments[name].directives, &mut visit);
    }
}

/// Returns the selection set of a selection; that of a fragment only the first time.
fn below<'a>(
    document: &'a ExecutableDocument,
    selection: &'a Selection,
    seen: &mut HashSet<&'a Name>,
) -> Option<&'a SelectionSet> {
    match selection {
        Selection::Field(field) => Some(&field.selection_set),
        Selection::InlineFragment(inline) => Some(&inline.selection_set),
        Selection::FragmentSpread(spread) => {
            let (name, fragment) = document.fragments.get_key_value(&spread.fragment_name)?;
            seen.insert(name).then_some(&fragment.selection_set)
        }
    }
}

fn directives<'a>(schema: &'a Schema, list: &'a DirectiveList, visit: &mut impl FnMut(Usage<'a>)) {
    for directive in list {
        if let Some(definition) = schema.directive_definitions.get(&directive.name) {
            arguments(&definition.arguments, &directive.arguments, visit);
        }
    }
}

fn arguments<'a>(
    definitions: &'a [Node<InputValueDefinition>],
    provided: &'a [Node<Argument>],
    visit: &mut impl FnMut(Usage<'a>),
) {
    for argument in provided {
        let definition = definitions
            .iter()
            .find(|definition| definition.name == argument.name);
        if let Some(definition) = definition {
            visit(Usage {
                definition,
                value: &argument.value,
            });
        }
    }
}
