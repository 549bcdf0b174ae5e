//! Selections merged as the specification's `CollectFields` merges them.
//!
//! The library runs a field once for every time it is selected and joins the answers
//! afterwards, which counts a mutation twice and loses what one of the answers lost. It is
//! therefore given operations in which every response key occurs once per concrete type, in
//! the order of `CollectFields`, without `@skip` and `@include`.
//!
//! Under an object type everything is flat. Under an interface or union there are four cases:
//! all concrete types select the same and the interface has it (flat again); no key occurs
//! twice for any of them (the fragments stay as they are); the concrete types can agree on
//! one order of keys (then only the keys in which they differ are written for each of them);
//! otherwise the whole selection is written once for each concrete type.

use apollo_compiler::{
    Name, Node,
    collections::{HashSet, IndexMap},
    executable::{DirectiveList, Field, Selection, SelectionSet},
    schema::ExtendedType,
};
use async_graphql::{Value, Variables};

use super::{ErrorCode, ResponseError, limits::MAX_MERGE_STEPS, rules::Rules};

/// The fields of one response key, in the order of the document.
pub(super) type Same<'a> = Vec<&'a Node<Field>>;

/// What objects of one type select.
#[derive(Default)]
pub(super) struct Collected<'a> {
    /// By response key, in the order of the response.
    pub(super) fields: IndexMap<&'a str, Same<'a>>,
    /// Whether the document, with fragments written out, names each key once.
    pub(super) plain: bool,
}

impl Collected<'_> {
    /// Whether both select the very same nodes in the same order.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.fields.len() == other.fields.len()
            && std::iter::zip(&self.fields, &other.fields)
                .all(|((key, ours), (other, theirs))| key == other && identical(ours, theirs))
    }
}

/// Whether two types mean the same by one key: the same nodes, or the same leaf.
pub(super) fn agree(ours: &Same<'_>, theirs: &Same<'_>) -> bool {
    let (one, other) = (ours[0], theirs[0]);
    if one.selection_set.is_empty() && other.selection_set.is_empty() {
        return one.name == other.name && one.arguments == other.arguments;
    }
    identical(ours, theirs)
}

fn identical(ours: &Same<'_>, theirs: &Same<'_>) -> bool {
    ours.len() == theirs.len()
        && std::iter::zip(ours, theirs).all(|(ours, theirs)| ours.ptr_eq(theirs))
}

/// An order of all keys in which every type finds its own order, if this simple way of
/// weaving them together comes upon one.
pub(super) fn common_order<'a>(collected: &[(&Name, Collected<'a>)]) -> Option<Vec<&'a str>> {
    let mut order: Vec<&str> = Vec::new();
    for (_, collected) in collected {
        let mut next = 0;
        for key in collected.fields.keys() {
            let known = order.iter().position(|known| known == key);
            let place = known.unwrap_or_else(|| {
                order.insert(next, key);
                next
            });
            next = place + 1;
        }
    }
    let place = |key: &&str| order.iter().position(|known| known == key);
    let kept = collected
        .iter()
        .all(|(_, collected)| collected.fields.keys().is_sorted_by_key(place));
    kept.then_some(order)
}

/// `CollectFields` for one request.
pub(super) struct Collector<'a> {
    pub(super) rules: &'a Rules,
    pub(super) fragments: &'a apollo_compiler::executable::FragmentMap,
    pub(super) variables: &'a Variables,
    pub(super) steps: usize,
}

/// The selection needs more steps to merge than [`MAX_MERGE_STEPS`].
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
    /// What objects of type `object` select in these sets together.
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
                    let same = collected.fields.entry(field.response_key()).or_default();
                    collected.plain &= same.is_empty();
                    same.push(field);
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

    /// Whether a fragment applies. The library does not understand conditions on unions, so
    /// a set with one cannot stay as it is.
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

    /// `@skip` and `@include`, decided with the coerced variables.
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
