//! Every place of an operation where a value is used.

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

/// Calls `found` for every argument that the operation can reach, each fragment once.
pub(super) fn for_each<'a>(
    schema: &'a Schema,
    document: &'a ExecutableDocument,
    operation: &'a Operation,
    mut found: impl FnMut(Usage<'a>),
) {
    directives(schema, &operation.directives, &mut found);
    for variable in &operation.variables {
        directives(schema, &variable.directives, &mut found);
    }
    let mut seen = HashSet::default();
    let mut pending = vec![&operation.selection_set];
    while let Some(set) = pending.pop() {
        for selection in &set.selections {
            directives(schema, selection.directives(), &mut found);
            if let Selection::Field(field) = selection {
                arguments(&field.definition.arguments, &field.arguments, &mut found);
            }
            pending.extend(below(document, selection, &mut seen));
        }
    }
    for name in seen {
        directives(schema, &document.fragments[name].directives, &mut found);
    }
}

/// The selections under this one; of a fragment only the first time.
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

fn directives<'a>(schema: &'a Schema, list: &'a DirectiveList, found: &mut impl FnMut(Usage<'a>)) {
    for directive in list {
        if let Some(definition) = schema.directive_definitions.get(&directive.name) {
            arguments(&definition.arguments, &directive.arguments, found);
        }
    }
}

fn arguments<'a>(
    definitions: &'a [Node<InputValueDefinition>],
    given: &'a [Node<Argument>],
    found: &mut impl FnMut(Usage<'a>),
) {
    for argument in given {
        let definition = definitions
            .iter()
            .find(|definition| definition.name == argument.name);
        if let Some(definition) = definition {
            found(Usage {
                definition,
                value: &argument.value,
            });
        }
    }
}
