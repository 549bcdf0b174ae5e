//! Plans: compiled selections.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql::registry::MetaType;
use async_graphql::{ContextBase, ContextSelectionSet, Pos, Positioned};

use super::{DirectObject, Selected, is_direct_field};

/// The plans of one selection, one for each concrete type that was met. A plan is made when it is
/// needed first, and never changes.
#[derive(Default)]
pub(crate) struct Plans(OnceLock<Box<Planned>>);

struct Planned {
    type_name: Cow<'static, str>,
    plan: Plan,
    others: Plans,
}

/// How an object of one type is written.
pub(super) struct Plan {
    pub(super) fields: Vec<PlannedField>,
    /// Whether all fields are direct.
    pub(super) is_direct: bool,
}

pub(super) struct PlannedField {
    /// The response key as JSON, with its colon.
    pub(super) key: Box<[u8]>,
    pub(super) field: Positioned<Field>,
    pub(super) writing: Writing,
    pub(super) below: Plans,
}

/// How a field is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// By the direct field with this number.
    Direct(usize),
    /// The name of the type.
    TypeName,
    /// By its resolver.
    Resolver,
}

impl Plans {
    /// Returns the plan for objects of type `T`.
    pub(super) fn of<T: DirectObject>(&self, selection: Selected<'_>) -> &Plan {
        let type_name = T::type_name();
        let mut plans = self;
        loop {
            let planned = plans.0.get_or_init(|| {
                Box::new(Planned {
                    type_name: type_name.clone(),
                    plan: Plan::new::<T>(selection),
                    others: Self::default(),
                })
            });
            if planned.type_name == type_name {
                return &planned.plan;
            }
            plans = &planned.others;
        }
    }
}

impl Plan {
    /// Compiles a selection on objects of type `T`.
    fn new<T: DirectObject>(selection: Selected<'_>) -> Self {
        let fields = fields_of(&T::type_name(), selection).into_iter();
        let fields: Vec<PlannedField> = fields
            .map(|field| PlannedField::new::<T>(field, selection))
            .collect();
        let mut all = fields.iter();
        let is_direct = all.all(|field| field.writing != Writing::Resolver);
        Self { fields, is_direct }
    }
}

impl PlannedField {
    fn new<T: DirectObject>(field: &Positioned<Field>, selection: Selected<'_>) -> Self {
        let name = field.node.name.node.as_str();
        let writing = match T::number_of(name) {
            _ if name == "__typename" => Writing::TypeName,
            Some(number) if is_direct_field::<T>(&field.node, selection) => Writing::Direct(number),
            _ => Writing::Resolver,
        };
        let key = field.node.response_key().node.as_str();
        Self {
            key: format!("\"{key}\":").into_bytes().into(),
            field: field.clone(),
            writing,
            below: Plans::default(),
        }
    }
}

/// Returns the fields that a selection in normal form has on objects of a type, in the order of the
/// response.
pub(super) fn fields_of<'a>(
    type_name: &str,
    selection: Selected<'a>,
) -> Vec<&'a Positioned<Field>> {
    let mut fields = Vec::with_capacity(selection.set.items.len());
    add_fields(type_name, selection, &mut fields);
    fields
}

fn add_fields<'a>(
    type_name: &str,
    selection: Selected<'a>,
    fields: &mut Vec<&'a Positioned<Field>>,
) {
    for item in &selection.set.items {
        match &item.node {
            Selection::Field(field) => fields.push(field),
            Selection::InlineFragment(fragment) => {
                let condition = fragment.node.type_condition.as_ref();
                let condition = condition.map(|condition| condition.node.on.node.as_str());
                if condition.is_none_or(|condition| applies(condition, type_name, selection)) {
                    let set = &fragment.node.selection_set.node;
                    add_fields(type_name, Selected { set, ..selection }, fields);
                }
            }
            Selection::FragmentSpread(_) => {
                unreachable!("a normal form has no fragment spreads")
            }
        }
    }
}

/// Whether a type is the one of a condition, or one of its possible types.
fn applies(condition: &str, type_name: &str, selection: Selected<'_>) -> bool {
    let possible = || match selection.registry.types.get(condition) {
        Some(
            MetaType::Interface { possible_types, .. } | MetaType::Union { possible_types, .. },
        ) => possible_types.contains(type_name),
        _ => false,
    };
    condition == type_name || possible()
}

/// The plans of all selections of an operation. A request finds those of a selection by its number.
#[derive(Clone, Default)]
pub(in crate::execution) struct PlanTable(Arc<[Plans]>);

impl PlanTable {
    pub(in crate::execution) fn new(selections: usize) -> Self {
        Self((0..selections).map(|_| Plans::default()).collect())
    }
}

/// Returns the position in which a selection in normal form carries its number. The library uses
/// the positions of fields only.
pub(in crate::execution) fn number_in(number: usize) -> Pos {
    Pos {
        line: number,
        column: usize::MAX,
    }
}

/// Returns the plans of the selection of `ctx`; `None` if the request has none.
pub(in crate::execution) fn of_request<'a>(ctx: &ContextSelectionSet<'a>) -> Option<&'a Plans> {
    let table: Option<&'a PlanTable> = ContextBase::data_opt(ctx);
    let position: &Positioned<SelectionSet> = ctx.item;
    table?.0.get(position.pos.line)
}
