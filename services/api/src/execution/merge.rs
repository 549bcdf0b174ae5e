//! Merging of selections according to `CollectFields` of the specification.
//!
//! The library runs a field once for every time it is selected and merges the results afterwards,
//! so that mutations may run twice and selections may be lost. It therefore receives operations in
//! which every response key occurs once per concrete type, in the order of `CollectFields`, without
//! `@skip` and `@include`.
//!
//! Selections on an object type are flattened. For an interface or union there are four cases: all
//! concrete types have the same selections and the interface has all their fields (flattened as
//! well); no key occurs twice for any concrete type (the fragments stay unchanged); the concrete
//! types can share one order of keys (only the keys in which they differ are written once per
//! type); otherwise the whole selection is written once per concrete type.

use apollo_compiler::{
    Name, Node,
    collections::{HashSet, IndexMap},
    executable::{DirectiveList, Field, Selection, SelectionSet},
    schema::ExtendedType,
};
use async_graphql::{Value, Variables};

use super::{ErrorCode, ResponseError, limits::MAX_MERGE_STEPS, rules::Rules};

/// The fields with the same response key, in document order.
pub(super) type FieldSet<'a> = Vec<&'a Node<Field>>;

/// The selections on objects of one type, grouped by response key.
#[derive(Default)]
pub(super) struct Collected<'a> {
    /// The fields by response key, in the order of the response.
    pub(super) fields: IndexMap<&'a str, FieldSet<'a>>,
    /// Whether each key occurs only once in the document with fragments expanded.
    pub(super) plain: bool,
}

impl Collected<'_> {
    /// Whether both select identical nodes in the same order.
    pub(super) fn selects_same(&self, other: &Self) -> bool {
        self.fields.len() == other.fields.len()
            && std::iter::zip(&self.fields, &other.fields)
                .all(|((key, ours), (other, theirs))| key == other && identical(ours, theirs))
    }
}

/// Whether two types select the same under one key: identical nodes or equal leaf fields.
pub(super) fn agree(ours: &FieldSet<'_>, theirs: &FieldSet<'_>) -> bool {
    let (one, other) = (ours[0], theirs[0]);
    if one.selection_set.is_empty() && other.selection_set.is_empty() {
        return one.name == other.name && one.arguments == other.arguments;
    }
    identical(ours, theirs)
}

fn identical(ours: &FieldSet<'_>, theirs: &FieldSet<'_>) -> bool {
    ours.len() == theirs.len()
        && std::iter::zip(ours, theirs).all(|(ours, theirs)| ours.ptr_eq(theirs))
}

/// Returns an order of all keys that preserves the order of every type. The greedy search may miss
/// an existing one.
pub(super) fn common_order<'a>(collected: &[(&Name, Collected<'a>)]) -> Option<Vec<&'a str>> {
    let mut order: Vec<&str> = Vec::new();
    for (_, collected) in collected {
        let mut next = 0;
        for key in collected.fields.keys() {
            let known = order.iter().position(|known| known == key);
            let at = known.unwrap_or_else(|| {
                order.insert(next, key);
                next
            });
            next = at + 1;
        }
    }
    let position = |key: &&str| order.iter().position(|known| known == key);
    let preserved = collected
        .iter()
        .all(|(_, collected)| collected.fields.keys().is_sorted_by_key(position));
    preserved.then_some(order)
}

/// `CollectFields` for one request.
pub(super) struct Collector<'a> {
    pub(super) rules: &'a Rules,
    pub(super) fragments: &'a apollo_compiler::executable::FragmentMap,
    pub(super) variables: &'a Variables,
    pub(super) steps: usize,
}

/// Merging the selections needs more than [`MAX_MERGE_STEPS`] steps.
#[derive(Debug)]
pub(super) struct TooLarge;

impl From<TooLarge> for ResponseError {
    fn from(TooLarge: TooLarge) -> Self {
        Self::new(
            ErrorCode::CostExceeded,
            "The selections of the operation overlap in too many ways.",
        )
    }
}

impl<'a> Collector<'a> {
    /// Collects the selections of these sets on objects of type `object`.
    pub(super) fn collect(
        &mut self,
        object: &Name,
        sets: &[&'a SelectionSet],
    ) -> Result<Collected<'a>, TooLarge> {
        let mut collected = Collected {
            plain: true,
            ..Collected::default()
        };
        let mut visited = HashSet::default();
        for set in sets {
            self.add(object, set, &mut collected, &mut visited)?;
        }
        Ok(collected)
    }

    fn add(
        &mut self,
        object: &Name,
        set: &'a SelectionSet,
        collected: &mut Collected<'a>,
        visited: &mut HashSet<&'a Name>,
    ) -> Result<(), TooLarge> {
        for selection in &set.selections {
            self.step()?;
            if !self.included(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    let fields = collected.fields.entry(field.response_key()).or_default();
                    collected.plain &= fields.is_empty();
                    fields.push(field);
                }
                Selection::InlineFragment(inline) => {
                    let condition = inline.type_condition.as_ref();
                    if self.enters(object, condition, collected) {
                        self.add(object, &inline.selection_set, collected, visited)?;
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = &self.fragments[&spread.fragment_name];
                    if !visited.insert(&fragment.name) {
                        collected.plain = false;
                    } else if self.enters(object, Some(&fragment.selection_set.ty), collected) {
                        self.add(object, &fragment.selection_set, collected, visited)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a fragment applies to the object. The library does not support type conditions on
    /// unions, so a selection with one cannot stay unchanged.
    fn enters(
        &self,
        object: &Name,
        condition: Option<&Name>,
        collected: &mut Collected<'a>,
    ) -> bool {
        let Some(condition) = condition else {
            return true;
        };
        let definition = self.rules.schema.types.get(condition);
        if definition.is_some_and(ExtendedType::is_union) {
            collected.plain = false;
        }
        self.rules.applies(object, condition)
    }

    pub(super) fn step(&mut self) -> Result<(), TooLarge> {
        self.steps += 1;
        if self.steps > MAX_MERGE_STEPS {
            return Err(TooLarge);
        }
        Ok(())
    }

    /// Evaluates `@skip` and `@include` with the coerced variables.
    pub(super) fn included(&self, directives: &DirectiveList) -> bool {
        directives
            .iter()
            .all(|directive| match directive.name.as_str() {
                "skip" => !self.flag(directive.specified_argument_by_name("if")),
                "include" => self.flag(directive.specified_argument_by_name("if")),
                _ => true,
            })
    }

    fn flag(&self, value: Option<&Node<apollo_compiler::ast::Value>>) -> bool {
        match value.map(|value| &**value) {
            Some(apollo_compiler::ast::Value::Boolean(flag)) => *flag,
            Some(apollo_compiler::ast::Value::Variable(name)) => {
                self.variables.get(name.as_str()) == Some(&Value::Boolean(true))
            }
            _ => false,
        }
    }
}
