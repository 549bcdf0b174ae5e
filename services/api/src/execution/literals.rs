//! Validation rules for input values that apollo-compiler does not check.
//!
//! The validator compares variables inside lists and objects only by their innermost type name,
//! treats a default of `null` as a value, does not know one-of inputs and custom scalars, and
//! accepts a field of an input object twice. This module checks every value again.

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

/// Checks every value of the document. Returns, for each operation in order, the variables of
/// nullable type that are used where null is not allowed. A default value makes this legal, so that
/// only an explicit null must be refused when variables are coerced.
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

/// The position of a value: the expected type, and whether it has a default value or is a field of
/// a one-of input.
#[derive(Clone, Copy)]
struct InputPosition<'a> {
    ty: &'a Type,
    has_default: bool,
    one_of: bool,
}

impl<'a> InputPosition<'a> {
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
                self.value(InputPosition::item(&variable.ty), default);
            }
        }
        usages::for_each(&rules.schema, document, operation, |usage: Usage<'a>| {
            self.value(InputPosition::of(usage.definition), usage.value);
        });
    }

    fn value(&mut self, position: InputPosition<'a>, value: &'a Node<Value>) {
        match &**value {
            Value::Variable(name) => self.variable(position, name, value),
            Value::Null => {}
            Value::List(items) if position.ty.is_list() => {
                for item in items {
                    self.value(InputPosition::item(position.ty.item_type()), item);
                }
            }
            _ if position.ty.is_list() => {
                self.value(InputPosition::item(position.ty.item_type()), value);
            }
            _ => self.named(position.ty.inner_named_type(), value),
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
                format!(
                    "{} takes exactly one field, which must not be null.",
                    object.name
                ),
            );
        }
        for (name, value) in fields {
            if !seen.insert(name) {
                self.refuse(value, format!("The field {name} is given more than once."));
            }
            if let Some(definition) = object.fields.get(name) {
                let position = InputPosition {
                    one_of,
                    ..InputPosition::of(definition)
                };
                self.value(position, value);
            }
        }
    }

    fn scalar(&mut self, ty: &Name, value: &'a Node<Value>) {
        let Some(check) = self.rules.scalars.get(ty) else {
            return self.any_value(value);
        };
        let validated = match &**value {
            Value::String(text) => check(text),
            _ => Err("expected a string".to_owned()),
        };
        if let Err(reason) = validated {
            self.refuse(value, format!("Not a value of type {ty}: {reason}."));
        }
    }

    /// A custom scalar without a check accepts any value, but variables in it must be defined.
    fn any_value(&mut self, value: &'a Node<Value>) {
        match &**value {
            Value::Variable(name) if self.definition(name).is_none() => {
                self.refuse(value, format!("The variable ${name} is not defined."));
            }
            Value::List(items) => items.iter().for_each(|item| self.any_value(item)),
            Value::Object(fields) => fields.iter().for_each(|(_, field)| self.any_value(field)),
            _ => {}
        }
    }

    fn definition(&self, name: &Name) -> Option<&'a Node<VariableDefinition>> {
        let mut definitions = self.operation.variables.iter();
        definitions.find(|definition| definition.name == *name)
    }

    /// `IsVariableUsageAllowed` of the specification.
    fn variable(&mut self, position: InputPosition<'a>, name: &Name, value: &Node<Value>) {
        let Some(definition) = self.definition(name) else {
            return self.refuse(value, format!("The variable ${name} is not defined."));
        };
        if position.one_of && !definition.ty.is_non_null() {
            return self.refuse(
                value,
                format!("The variable ${name} must not be nullable here."),
            );
        }
        if !allowed(definition, position) {
            let message = format!(
                "The variable ${name} of type {} cannot be used where {} is expected.",
                definition.ty, position.ty
            );
            return self.refuse(value, message);
        }
        if position.ty.is_non_null() && !definition.ty.is_non_null() {
            self.never_null.insert(name.clone());
        }
    }

    fn refuse(&mut self, value: &Node<Value>, message: String) {
        let location = convert::location(value.location(), &self.document.sources);
        let error = ResponseError::new(ErrorCode::GraphqlValidationFailed, message);
        self.errors.push(error.located(location));
    }
}

fn allowed(definition: &VariableDefinition, position: InputPosition<'_>) -> bool {
    if !position.ty.is_non_null() || definition.ty.is_non_null() {
        return definition.ty.is_assignable_to(position.ty);
    }
    let default = definition.default_value.as_ref();
    let has_default = default.is_some_and(|default| !default.is_null());
    (has_default || position.has_default)
        && definition
            .ty
            .is_assignable_to(&position.ty.clone().nullable())
}
