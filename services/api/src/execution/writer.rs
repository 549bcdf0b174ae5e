//! Writes merged selections into the library's syntax tree.

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{Argument, Type},
    executable::{self as executable, Field, SelectionSet},
    parser::SourceSpan,
};
use async_graphql::{
    Name as LibraryName, Pos, Positioned,
    parser::types::{self as library, TypeCondition},
};

use super::{
    convert,
    direct::number_in,
    merge::{Collected, Collector, FieldSet, TooLarge, agree, common_order},
};

/// Writes the normal form of selections and counts the fields.
pub(super) struct Writer<'a> {
    pub(super) collector: Collector<'a>,
    pub(super) document: &'a ExecutableDocument,
    pub(super) fields: usize,
    /// The number of the last selection. Each one has its own: see [`number_in`].
    pub(super) selections: usize,
}

impl<'a> Writer<'a> {
    /// Writes the normal form of the selections on values of type `ty`.
    pub(super) fn set(
        &mut self,
        ty: &Name,
        sets: &[&'a SelectionSet],
    ) -> Result<library::SelectionSet, TooLarge> {
        if self.collector.rules.schema.get_object(ty).is_some() {
            let collected = self.collector.collect(ty, sets)?;
            return self.flat(ty, &collected);
        }
        let concrete = self.collector.rules.possible(ty);
        let collected = concrete
            .iter()
            .map(|object| Ok((object, self.collector.collect(object, sets)?)))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(shared) = self.shared(ty, &collected) {
            return self.flat(ty, shared);
        }
        if collected.iter().all(|(_, collected)| collected.plain) {
            return self.as_written(sets);
        }
        match common_order(&collected) {
            Some(order) => self.by_key(ty, &order, &collected),
            None => self.by_type(&collected),
        }
    }

    /// Returns the selections if they are the same for all concrete types and the abstract type has
    /// all of their fields.
    fn shared<'c>(
        &self,
        ty: &Name,
        collected: &'c [(&Name, Collected<'a>)],
    ) -> Option<&'c Collected<'a>> {
        let (_, first) = collected.first()?;
        let alike = collected.iter().all(|(_, other)| first.selects_same(other));
        let known = first.fields.values().all(|fields| self.has(ty, fields));
        (alike && known).then_some(first)
    }

    fn has(&self, ty: &Name, fields: &FieldSet<'a>) -> bool {
        let schema = &self.collector.rules.schema;
        schema.type_field(ty, &fields[0].name).is_ok()
    }

    fn flat(
        &mut self,
        ty: &Name,
        collected: &Collected<'a>,
    ) -> Result<library::SelectionSet, TooLarge> {
        let mut items = Vec::with_capacity(collected.fields.len());
        for fields in collected.fields.values() {
            items.push(self.field(ty, fields)?);
        }
        Ok(library::SelectionSet { items })
    }

    /// Writes the selections key by key: once on the abstract type if all concrete types agree,
    /// otherwise once per concrete type.
    fn by_key(
        &mut self,
        ty: &Name,
        order: &[&'a str],
        collected: &[(&Name, Collected<'a>)],
    ) -> Result<library::SelectionSet, TooLarge> {
        let mut items = Vec::new();
        for key in order {
            let selected: Vec<_> = collected
                .iter()
                .filter_map(|(object, collected)| Some((*object, collected.fields.get(key)?)))
                .collect();
            let (_, first) = selected[0];
            let everywhere = selected.len() == collected.len();
            if everywhere
                && self.has(ty, first)
                && selected.iter().all(|(_, fields)| agree(first, fields))
            {
                items.push(self.field(ty, first)?);
                continue;
            }
            for (object, fields) in selected {
                let field = self.field(object, fields)?;
                items.push(inline(
                    Some(object),
                    library::SelectionSet { items: vec![field] },
                ));
            }
        }
        Ok(library::SelectionSet { items })
    }

    fn by_type(
        &mut self,
        collected: &[(&Name, Collected<'a>)],
    ) -> Result<library::SelectionSet, TooLarge> {
        let mut items = Vec::with_capacity(collected.len());
        for (object, collected) in collected {
            let set = self.flat(object, collected)?;
            items.push(inline(Some(object), set));
        }
        Ok(library::SelectionSet { items })
    }

    /// Writes the fragments unchanged; only the selections below fields are normalised.
    fn as_written(&mut self, sets: &[&'a SelectionSet]) -> Result<library::SelectionSet, TooLarge> {
        let mut items = Vec::new();
        for set in sets {
            for selection in &set.selections {
                self.collector.step()?;
                if self.collector.included(selection.directives()) {
                    items.push(self.selection(&set.ty, selection)?);
                }
            }
        }
        Ok(library::SelectionSet { items })
    }

    fn selection(
        &mut self,
        ty: &Name,
        selection: &'a executable::Selection,
    ) -> Result<Positioned<library::Selection>, TooLarge> {
        match selection {
            executable::Selection::Field(field) => self.field(ty, &vec![field]),
            executable::Selection::InlineFragment(fragment) => {
                let set = self.as_written(&[&fragment.selection_set])?;
                Ok(inline(fragment.type_condition.as_ref(), set))
            }
            executable::Selection::FragmentSpread(spread) => {
                let fragment = &self.document.fragments[&spread.fragment_name];
                let set = self.as_written(&[&fragment.selection_set])?;
                Ok(inline(Some(&fragment.selection_set.ty), set))
            }
        }
    }

    fn field(
        &mut self,
        ty: &Name,
        fields: &FieldSet<'a>,
    ) -> Result<Positioned<library::Selection>, TooLarge> {
        self.collector.step()?;
        self.fields += 1;
        let first = fields[0];
        let position = self.position(first.location());
        self.selections += 1;
        let number = number_in(self.selections);
        let field = library::Field {
            alias: first
                .alias
                .as_ref()
                .map(|alias| Positioned::new(name(alias), position)),
            name: Positioned::new(name(&first.name), position),
            arguments: self.arguments(first),
            directives: Vec::new(),
            selection_set: Positioned::new(self.below(ty, fields)?, number),
        };
        let field = library::Selection::Field(Positioned::new(field, position));
        Ok(Positioned::new(field, position))
    }

    fn below(
        &mut self,
        ty: &Name,
        fields: &FieldSet<'a>,
    ) -> Result<library::SelectionSet, TooLarge> {
        let sets: Vec<_> = fields
            .iter()
            .map(|field| &field.selection_set)
            .filter(|set| !set.is_empty())
            .collect();
        if sets.is_empty() {
            return Ok(library::SelectionSet::default());
        }
        // The type as declared by this parent, which may be narrower than in its interface.
        let field = self.collector.rules.schema.type_field(ty, &fields[0].name);
        let ty = field.map_or_else(|_| fields[0].ty(), |field| &field.ty);
        self.set(ty.inner_named_type(), &sets)
    }

    /// Leaves out arguments whose variable has no value, so that their defaults apply. The library
    /// would pass "undefined" instead.
    fn arguments(
        &self,
        field: &Field,
    ) -> Vec<(
        Positioned<LibraryName>,
        Positioned<async_graphql_value::Value>,
    )> {
        let provided = field.arguments.iter().filter(|argument| {
            let variable = argument.value.as_variable();
            variable.is_none_or(|name| self.collector.variables.contains_key(name.as_str()))
        });
        provided
            .map(|argument| self.argument(field, argument))
            .collect()
    }

    fn argument(
        &self,
        field: &Field,
        argument: &Node<Argument>,
    ) -> (
        Positioned<LibraryName>,
        Positioned<async_graphql_value::Value>,
    ) {
        let position = self.position(argument.location());
        let definition = field.definition.argument_by_name(&argument.name);
        let unknown = Type::Named(argument.name.clone());
        let ty = definition.map_or(&unknown, |definition| &definition.ty);
        let value = convert::value(&self.collector.rules.schema, ty, &argument.value);
        (
            Positioned::new(name(&argument.name), position),
            Positioned::new(value, position),
        )
    }

    fn position(&self, span: Option<SourceSpan>) -> Pos {
        convert::position(span, &self.document.sources)
    }
}

fn inline(condition: Option<&Name>, set: library::SelectionSet) -> Positioned<library::Selection> {
    here(library::Selection::InlineFragment(here(
        library::InlineFragment {
            type_condition: condition.map(|condition| {
                here(TypeCondition {
                    on: here(name(condition)),
                })
            }),
            directives: Vec::new(),
            selection_set: here(set),
        },
    )))
}

pub(super) fn name(name: &Name) -> LibraryName {
    LibraryName::new(name.as_str())
}

/// For nodes whose position is never used.
pub(super) fn here<T>(node: T) -> Positioned<T> {
    Positioned::new(node, Pos::default())
}
