//! The rules about values that the validator leaves open.
//!
//! It compares variables inside lists and objects by their innermost type name only, takes a
//! default of `null` for a value, knows nothing of one-of inputs and of our scalars, and lets
//! a field of an input object be given twice. Here every value is walked once more.

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{InputValueDefinition, Type, Value, VariableDefinition},
    collections::{HashSet, IndexSet},
    executable::Operation,
    schema::{ExtendedType, InputObjectType},
};

use super::{
    ErrorCode, ResponseError, convert,
    limits::MAX_ERRORS,
    rules::Rules,
    usages::{self, Usage},
};

/// Checks every value of the document. For each operation, in order: the variables that may
/// be nullable by their type and are still used where null is not allowed (which a default
/// value makes legal), so that an explicit null must be refused when it arrives.
pub(super) fn check(
    rules: &Rules,
    document: &ExecutableDocument,
) -> Result<Vec<IndexSet<Name>>, Vec<ResponseError>> {
    let mut errors = Vec::new();
    let mut never_null = Vec::new();
    for operation in document.operations.iter() {
        let mut check = Check::new(rules, document, operation);
        check.run();
        errors.append(&mut check.errors);
        never_null.push(check.never_null);
    }
    errors.truncate(MAX_ERRORS);
    if errors.is_empty() {
        Ok(never_null)
    } else {
        Err(errors)
    }
}

/// Where a value stands: what is expected there and what happens if nothing is given.
#[derive(Clone, Copy)]
struct Place<'a> {
    ty: &'a Type,
    has_default: bool,
    one_of: bool,
}

impl<'a> Place<'a> {
    fn of(definition: &'a InputValueDefinition) -> Self {
        Self {
            ty: &definition.ty,
            has_default: definition.default_value.is_some(),
            one_of: false,
        }
    }

    fn item(ty: &'a Type) -> Self {
        Self {
            ty,
            has_default: false,
            one_of: false,
        }
    }
}

struct Check<'a> {
    rules: &'a Rules,
    document: &'a ExecutableDocument,
    operation: &'a Operation,
    errors: Vec<ResponseError>,
    never_null: IndexSet<Name>,
}

impl<'a> Check<'a> {
    fn new(rules: &'a Rules, document: &'a ExecutableDocument, operation: &'a Operation) -> Self {
        Self {
            rules,
            document,
            operation,
            errors: Vec::new(),
            never_null: IndexSet::default(),
        }
    }

    fn run(&mut self) {
        let (rules, document, operation) = (self.rules, self.document, self.operation);
        for variable in &operation.variables {
            if let Some(default) = &variable.default_value {
                self.value(Place::item(&variable.ty), default);
            }
        }
        usages::for_each(&rules.schema, document, operation, |usage: Usage<'a>| {
            self.value(Place::of(usage.definition), usage.value);
        });
    }

    fn value(&mut self, place: Place<'a>, value: &'a Node<Value>) {
        match &**value {
            Value::Variable(name) => self.variable(place, name, value),
            Value::Null => {}
            Value::List(items) if place.ty.is_list() => {
                for item in items {
                    self.value(Place::item(place.ty.item_type()), item);
                }
            }
            _ if place.ty.is_list() => self.value(Place::item(place.ty.item_type()), value),
            _ => self.named(place.ty.inner_named_type(), value),
        }
    }

    fn named(&mut self, ty: &Name, value: &'a Node<Value>) {
        match self.rules.schema.types.get(ty) {
            Some(ExtendedType::InputObject(object)) => {
                if let Value::Object(fields) = &**value {
                    self.object(object, fields, value);
                }
            }
            Some(ExtendedType::Scalar(scalar)) if !scalar.is_built_in() => self.scalar(ty, value),
            _ => {}
        }
    }

    fn object(
        &mut self,
        object: &'a InputObjectType,
        fields: &'a [(Name, Node<Value>)],
        value: &Node<Value>,
    ) {
        let mut seen = HashSet::default();
        let one_of = object.directives.has("oneOf");
        if one_of && (fields.len() != 1 || fields[0].1.is_null()) {
            self.refuse(
                value,
                format!("{} takes exactly one field, and not null.", object.name),
            );
        }
        for (name, value) in fields {
            if !seen.insert(name) {
                self.refuse(value, format!("The field {name} is given more than once."));
            }
            if let Some(definition) = object.fields.get(name) {
                let place = Place {
                    one_of,
                    ..Place::of(definition)
                };
                self.value(place, value);
            }
        }
    }

    fn scalar(&mut self, ty: &Name, value: &'a Node<Value>) {
        let Some(check) = self.rules.scalars.get(ty) else {
            return self.anything(value);
        };
        let validated = match &**value {
            Value::String(text) => check(text),
            _ => Err("expected a string".to_owned()),
        };
        if let Err(reason) = validated {
            self.refuse(value, format!("Not a value of type {ty}: {reason}."));
        }
    }

    /// A scalar without rules takes any value, in which variables still have to exist.
    fn anything(&mut self, value: &'a Node<Value>) {
        match &**value {
            Value::Variable(name) if self.definition(name).is_none() => {
                self.refuse(value, format!("The variable ${name} is not defined."));
            }
            Value::List(items) => items.iter().for_each(|item| self.anything(item)),
            Value::Object(fields) => fields.iter().for_each(|(_, field)| self.anything(field)),
            _ => {}
        }
    }

    fn definition(&self, name: &Name) -> Option<&'a Node<VariableDefinition>> {
        let mut definitions = self.operation.variables.iter();
        definitions.find(|definition| definition.name == *name)
    }

    /// `IsVariableUsageAllowed`.
    fn variable(&mut self, place: Place<'a>, name: &Name, value: &Node<Value>) {
        let Some(definition) = self.definition(name) else {
            return self.refuse(value, format!("The variable ${name} is not defined."));
        };
        if place.one_of && !definition.ty.is_non_null() {
            return self.refuse(
                value,
                format!("The variable ${name} must not be nullable here."),
            );
        }
        if !allowed(definition, place) {
            let message = format!(
                "The variable ${name} of type {} cannot be used where {} is expected.",
                definition.ty, place.ty
            );
            return self.refuse(value, message);
        }
        if place.ty.is_non_null() && !definition.ty.is_non_null() {
            self.never_null.insert(name.clone());
        }
    }

    fn refuse(&mut self, value: &Node<Value>, message: String) {
        let place = convert::location(value.location(), &self.document.sources);
        let error = ResponseError::new(ErrorCode::GraphqlValidationFailed, message);
        self.errors.push(error.located(place));
    }
}

fn allowed(definition: &VariableDefinition, place: Place<'_>) -> bool {
    if !place.ty.is_non_null() || definition.ty.is_non_null() {
        return definition.ty.is_assignable_to(place.ty);
    }
    let default = definition.default_value.as_ref();
    let has_default = default.is_some_and(|default| !default.is_null());
    (has_default || place.has_default)
        && definition.ty.is_assignable_to(&place.ty.clone().nullable())
}
