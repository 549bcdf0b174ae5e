//! A check in debug builds that finds resolvers which break the rules of this module.
//!
//! An error must null its own field if that is nullable, otherwise the nearest nullable ancestor. A
//! resolver that returns `R<Option<T>>` or has a guard nulls its parent instead, and the library
//! does not notice. Debug builds compare every response that has errors with the schema. A mismatch
//! panics, which the engine turns into an internal error.

use apollo_compiler::{
    Name,
    ast::Type,
    collections::HashSet,
    executable::{Selection, SelectionSet},
};
use async_graphql::{PathSegment, Value};

use super::{GraphqlResponse, Prepared, json, rules::Rules};

/// Panics if the data is null further up than the errors explain.
pub(super) fn check(prepared: &Prepared, answer: &GraphqlResponse) {
    let Some(data) = answer.data.as_ref().map(json::expanded) else {
        return;
    };
    let expected: Vec<_> = answer
        .errors
        .iter()
        .map(|error| (error, nearest_nullable(prepared, &error.path)))
        .collect();
    for (error, nearest) in &expected {
        let found = null_on(&data, &error.path);
        let explained = expected.iter().any(|(_, nearest)| Some(*nearest) == found);
        assert!(
            explained || found == Some(*nearest),
            "the error at {:?} should null the value {nearest} steps down its path, but there is a \
             null at {found:?}: nullable fields return Option<R<T>>, have no guards and \
             cannot fail on their arguments",
            error.path,
        );
    }
}

/// Returns how many steps down the path the nearest nullable position at or above its end is.
fn nearest_nullable(prepared: &Prepared, path: &[PathSegment]) -> usize {
    let mut walk = Walk {
        rules: prepared.validator.rules(),
        prepared,
        sets: vec![&prepared.operation().selection_set],
        types: Vec::new(),
    };
    let mut nearest = 0;
    for (depth, segment) in path.iter().enumerate() {
        match segment {
            PathSegment::Field(key) => walk.enter(key),
            PathSegment::Index(_) => walk.item(),
        }
        if walk.is_nullable() {
            nearest = depth + 1;
        }
    }
    nearest
}

/// Returns how many steps down the path the first null is.
fn null_on(data: &Value, path: &[PathSegment]) -> Option<usize> {
    let mut at = data;
    for (depth, segment) in path.iter().enumerate() {
        at = match (at, segment) {
            (Value::Null, _) => return Some(depth),
            (Value::Object(object), PathSegment::Field(key)) => object.get(key.as_str())?,
            (Value::List(list), PathSegment::Index(index)) => list.get(*index)?,
            _ => return None,
        };
    }
    (*at == Value::Null).then_some(path.len())
}

struct Walk<'a> {
    rules: &'a Rules,
    prepared: &'a Prepared,
    /// The selections at the current position.
    sets: Vec<&'a SelectionSet>,
    /// The types that the current position may have, depending on the concrete parent.
    types: Vec<&'a Type>,
}

impl<'a> Walk<'a> {
    fn enter(&mut self, key: &str) {
        let mut below = Vec::new();
        let mut types = Vec::new();
        let mut seen = HashSet::default();
        let mut pending = std::mem::take(&mut self.sets);
        while let Some(set) = pending.pop() {
            for selection in &set.selections {
                match selection {
                    Selection::Field(field) if field.response_key() == key => {
                        below.push(&field.selection_set);
                        types.extend(self.types(&set.ty, &field.name));
                    }
                    Selection::Field(_) => {}
                    Selection::InlineFragment(inline) => pending.push(&inline.selection_set),
                    Selection::FragmentSpread(spread) => {
                        if seen.insert(&spread.fragment_name) {
                            let fragments = &self.prepared.document().fragments;
                            pending.push(&fragments[&spread.fragment_name].selection_set);
                        }
                    }
                }
            }
        }
        (self.sets, self.types) = (below, types);
    }

    fn types(&self, parent: &'a Name, field: &str) -> impl Iterator<Item = &'a Type> {
        let rules = self.rules;
        let parents = std::iter::once(parent).chain(rules.possible(parent));
        let types = parents.filter_map(|parent| rules.schema.type_field(parent, field).ok());
        types.map(|field| &field.ty).collect::<Vec<_>>().into_iter()
    }

    fn item(&mut self) {
        for ty in &mut self.types {
            *ty = ty.item_type();
        }
    }

    /// A concrete type may declare a field non-null that its interface declares nullable. The
    /// concrete type is not known here, so a position counts as nullable only if it is for all of
    /// them.
    fn is_nullable(&self) -> bool {
        !self.types.is_empty() && self.types.iter().all(|ty| !ty.is_non_null())
    }
}
