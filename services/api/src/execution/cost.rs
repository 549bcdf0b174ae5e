//! The cost of an operation, computed from its normal form before the first database command.

use apollo_compiler::{Name, Node, Schema, ast::FieldDefinition};
use async_graphql::Variables;
use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql_value::{ConstValue, Value};

use super::rules::Rules;

/// What a field costs, in microseconds of CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldCost {
    /// The field itself, with the commands that it sends.
    pub own: u64,
    /// How many values it returns; each costs the selection below the field.
    pub items: u64,
    /// What the fields below find in [`SelectedField::page`]: the page size of a connection.
    pub page: u64,
    /// What the fields below find in [`SelectedField::is_narrowed`].
    pub is_narrowed: bool,
    /// What the fields below find in [`SelectedField::is_sorted_without_index`].
    pub is_sorted_without_index: bool,
    /// What the fields below find in [`SelectedField::is_examined`].
    pub is_examined: bool,
}

/// What the fields of a schema cost.
pub trait CostModel {
    /// Returns what costs depend on beside the field and its arguments. While it is equal, a cost
    /// may be used again for another request.
    fn facts(&self) -> [u64; 4];

    /// Returns the cost of a field.
    fn cost_of(&self, field: &SelectedField<'_>) -> FieldCost;
}

/// A field as selected by an operation, with its arguments.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something else of the list above"
)]
pub struct SelectedField<'a> {
    /// The type that has the field.
    pub parent: &'a str,
    /// The name of the field, not its alias.
    pub name: &'a str,
    /// Whether it returns objects.
    pub is_composite: bool,
    /// The page that the field above it has set: see [`FieldCost::page`].
    pub page: u64,
    /// Whether the field above it returns a list whose counts are not known in advance.
    pub is_narrowed: bool,
    /// Whether the field above it returns a list in an order that no index has.
    pub is_sorted_without_index: bool,
    /// Whether the field above it returns a list whose rows are counted one by one.
    pub is_examined: bool,
    arguments: &'a Field,
    variables: &'a Variables,
    schema: &'a Schema,
}

impl SelectedField<'_> {
    /// Returns the integer of an argument; `None` without one.
    #[must_use]
    pub fn integer(&self, argument: &str) -> Option<i64> {
        let number = |number: &async_graphql_value::Number| number.as_i64();
        match self.value(argument)? {
            Value::Number(value) => number(value),
            Value::Variable(name) => match self.variables.get(name)? {
                ConstValue::Number(value) => number(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns an argument with its variables; `None` without one.
    #[must_use]
    pub fn constant(&self, argument: &str) -> Option<ConstValue> {
        let given = |name| Ok::<_, ()>(self.variables.get(&name).cloned().unwrap_or_default());
        self.value(argument)?.clone().into_const_with(given).ok()
    }

    /// Returns the number of scalars in all arguments.
    #[must_use]
    pub fn argument_scalars(&self) -> u64 {
        let arguments = self.arguments.arguments.iter();
        arguments
            .map(|(_, value)| self.scalars_of(&value.node))
            .sum()
    }

    /// Returns true if the type that has the field implements this interface.
    #[must_use]
    pub fn implements(&self, interface: &str) -> bool {
        let object = self.schema.get_object(self.parent);
        object.is_some_and(|object| object.implements_interfaces.contains(interface))
    }

    /// Returns the number of scalars in an argument; 0 without one. For a list of scalars this is
    /// its length.
    #[must_use]
    pub fn scalars(&self, argument: &str) -> u64 {
        self.value(argument)
            .map_or(0, |value| self.scalars_of(value))
    }

    /// Returns the number of items of a list argument; 0 without one.
    #[must_use]
    pub fn items(&self, argument: &str) -> u64 {
        let length = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
        match self.value(argument) {
            None | Some(Value::Null) => 0,
            Some(Value::List(items)) => length(items.len()),
            Some(Value::Variable(name)) => match self.variables.get(name) {
                None | Some(ConstValue::Null) => 0,
                Some(ConstValue::List(items)) => length(items.len()),
                Some(_) => 1,
            },
            Some(_) => 1,
        }
    }

    /// Returns true if an argument says more than this field of its input object.
    #[must_use]
    pub fn says_more_than(&self, argument: &str, field: &str) -> bool {
        match self.value(argument) {
            None | Some(Value::Null) => false,
            Some(Value::Object(fields)) => fields
                .iter()
                .any(|(name, value)| name != field && *value != Value::Null),
            Some(Value::Variable(name)) => match self.variables.get(name) {
                None | Some(ConstValue::Null) => false,
                Some(ConstValue::Object(fields)) => fields
                    .iter()
                    .any(|(name, value)| name != field && *value != ConstValue::Null),
                Some(_) => true,
            },
            Some(_) => true,
        }
    }

    /// Returns true if an item of a list argument has this field of its input object.
    #[must_use]
    pub fn any_item_has(&self, argument: &str, field: &str) -> bool {
        self.value(argument)
            .is_some_and(|value| self.any_has(value, field))
    }

    fn any_has(&self, value: &Value, field: &str) -> bool {
        match value {
            Value::List(items) => items.iter().any(|item| self.any_has(item, field)),
            Value::Object(fields) => match fields.get(field) {
                Some(Value::Variable(name)) => {
                    let given = self.variables.get(name);
                    given.is_some_and(|given| *given != ConstValue::Null)
                }
                given => given.is_some_and(|given| *given != Value::Null),
            },
            Value::Variable(name) => {
                let given = self.variables.get(name);
                given.is_some_and(|given| any_has(given, field))
            }
            _ => false,
        }
    }

    fn value(&self, argument: &str) -> Option<&Value> {
        let arguments = &self.arguments.arguments;
        let found = arguments.iter().find(|(name, _)| name.node == argument);
        found.map(|(_, value)| &value.node)
    }

    fn scalars_of(&self, value: &Value) -> u64 {
        match value {
            Value::List(items) => items.iter().map(|item| self.scalars_of(item)).sum(),
            Value::Object(fields) => fields.values().map(|field| self.scalars_of(field)).sum(),
            Value::Variable(name) => self.variables.get(name).map_or(0, scalars_of),
            Value::Null => 0,
            _ => 1,
        }
    }
}

fn any_has(value: &ConstValue, field: &str) -> bool {
    match value {
        ConstValue::List(items) => items.iter().any(|item| any_has(item, field)),
        ConstValue::Object(fields) => {
            let given = fields.get(field);
            given.is_some_and(|given| *given != ConstValue::Null)
        }
        _ => false,
    }
}

fn scalars_of(value: &ConstValue) -> u64 {
    match value {
        ConstValue::List(items) => items.iter().map(scalars_of).sum(),
        ConstValue::Object(fields) => fields.values().map(scalars_of).sum(),
        ConstValue::Null => 0,
        _ => 1,
    }
}

/// What the fields of a selection know about the field that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    page: u64,
    is_narrowed: bool,
    is_sorted_without_index: bool,
    is_examined: bool,
}

impl List {
    /// For the fields of an operation.
    pub(super) const ROOT: Self = Self {
        page: 1,
        is_narrowed: false,
        is_sorted_without_index: false,
        is_examined: false,
    };
}

/// Adds up the costs of a selection.
pub(super) struct Calculator<'a> {
    pub(super) rules: &'a Rules,
    pub(super) variables: &'a Variables,
    pub(super) model: &'a dyn CostModel,
}

impl Calculator<'_> {
    /// Returns the cost of a selection on one value of a type. For an abstract type, it is the cost
    /// of its most expensive object type. Each field is visited once.
    pub(super) fn set(&self, ty: &Name, set: &SelectionSet, list: List) -> u64 {
        let (mut shared, mut conditional) = (0_u64, Vec::new());
        for item in &set.items {
            match &item.node {
                Selection::Field(field) => {
                    shared = shared.saturating_add(self.field(ty, &field.node, list));
                }
                Selection::InlineFragment(fragment) => {
                    let condition = fragment.node.type_condition.as_ref();
                    let condition = condition.map_or(ty.as_str(), |of| of.node.on.node.as_str());
                    let condition = Name::new_unchecked(condition);
                    let below = &fragment.node.selection_set.node;
                    conditional.push((self.set(&condition, below, list), condition));
                }
                // The normal form has none.
                Selection::FragmentSpread(_) => {}
            }
        }
        let on = |object: &Name| {
            let applied = conditional
                .iter()
                .filter(|(_, condition)| self.rules.applies(object, condition));
            applied.fold(0_u64, |sum, (cost, _)| sum.saturating_add(*cost))
        };
        let most_expensive = if self.rules.schema.get_object(ty).is_some() {
            on(ty)
        } else {
            self.rules.possible(ty).iter().map(on).max().unwrap_or(0)
        };
        shared.saturating_add(most_expensive)
    }

    fn field(&self, parent: &Name, field: &Field, list: List) -> u64 {
        let name = field.name.node.as_str();
        let definition = definition(&self.rules.schema, parent, name);
        let inner = definition.map(|found| found.ty.inner_named_type());
        let composite = inner.filter(|ty| {
            let ty = self.rules.schema.types.get(*ty);
            ty.is_some_and(|ty| ty.is_object() || ty.is_interface() || ty.is_union())
        });
        let cost = self.model.cost_of(&SelectedField {
            parent,
            name,
            is_composite: composite.is_some(),
            page: list.page,
            is_narrowed: list.is_narrowed,
            is_sorted_without_index: list.is_sorted_without_index,
            is_examined: list.is_examined,
            arguments: field,
            variables: self.variables,
            schema: &self.rules.schema,
        });
        let list = List {
            page: cost.page,
            is_narrowed: cost.is_narrowed,
            is_sorted_without_index: cost.is_sorted_without_index,
            is_examined: cost.is_examined,
        };
        let below = composite.map_or(0, |ty| self.set(ty, &field.selection_set.node, list));
        cost.own.saturating_add(cost.items.saturating_mul(below))
    }
}

fn definition<'s>(
    schema: &'s Schema,
    parent: &Name,
    name: &str,
) -> Option<&'s Node<FieldDefinition>> {
    let found = schema.type_field(parent, name).ok()?;
    Some(&found.node)
}
