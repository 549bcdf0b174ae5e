//! Coercion of variables according to the specification, before anything runs.

use std::fmt;

use apollo_compiler::{
    Name,
    ast::{Type, VariableDefinition},
    collections::IndexSet,
    executable::Operation,
    parser::SourceMap,
    schema::{ExtendedType, InputObjectType, InputValueDefinition},
};
use async_graphql::{Name as LibraryName, Number, Value, Variables};
use serde_json::{Map, Value as Json};

use super::{ErrorCode, ResponseError, Scalars, convert, limits::MAX_ERRORS, rules::Rules};

/// Coerces the operation's variables. Provided values without a variable definition are ignored.
pub(super) fn coerce(
    rules: &Rules,
    operation: &Operation,
    sources: &SourceMap,
    never_null: &IndexSet<Name>,
    provided: &Map<String, Json>,
) -> Result<Variables, Vec<ResponseError>> {
    let mut variables = Variables::default();
    let mut errors = Vec::new();
    for definition in &operation.variables {
        let outcome = one(rules, definition, provided)
            .and_then(|value| not_null(definition, never_null, value));
        match outcome {
            Ok(Some(value)) => {
                variables.insert(LibraryName::new(definition.name.as_str()), value);
            }
            Ok(None) => {}
            Err(message) => {
                let location = convert::location(definition.location(), sources);
                let error = ResponseError::new(ErrorCode::BadUserInput, message);
                errors.push(error.located(location));
            }
        }
    }
    errors.truncate(MAX_ERRORS);
    if errors.is_empty() {
        Ok(variables)
    } else {
        Err(errors)
    }
}

type Coerced<T> = Result<T, String>;

/// The field of every object that names its type.
const TYPENAME: &str = "__typename";

fn one(
    rules: &Rules,
    definition: &VariableDefinition,
    provided: &Map<String, Json>,
) -> Coerced<Option<Value>> {
    let path = Path::Root(&definition.name);
    let (ty, name) = (&definition.ty, &definition.name);
    if let Some(value) = provided.get(name.as_str()) {
        return Coercion::new(rules).value(ty, value, &path).map(Some);
    }
    if let Some(default) = &definition.default_value {
        return Ok(Some(convert::constant(&rules.schema, ty, default)));
    }
    if ty.is_non_null() {
        return Err(format!("{path}: a value of type {ty} is required."));
    }
    Ok(None)
}

/// A default value allows a nullable variable at a non-null position, but an explicit null is still
/// invalid there.
fn not_null(
    definition: &VariableDefinition,
    never_null: &IndexSet<Name>,
    value: Option<Value>,
) -> Coerced<Option<Value>> {
    if value == Some(Value::Null) && never_null.contains(&definition.name) {
        return Err(format!(
            "${}: null is not allowed where this variable is used.",
            definition.name
        ));
    }
    Ok(value)
}

/// The path of a value inside a variable, for messages.
enum Path<'a> {
    Root(&'a str),
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => write!(f, "${name}"),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Coercion<'a> {
    rules: &'a Rules,
    scalars: &'a Scalars,
}

impl<'a> Coercion<'a> {
    fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            scalars: &rules.scalars,
        }
    }

    fn value(&self, ty: &Type, provided: &Json, path: &Path<'_>) -> Coerced<Value> {
        if provided.is_null() {
            return if ty.is_non_null() {
                Err(format!("{path}: null is not a value of type {ty}."))
            } else {
                Ok(Value::Null)
            };
        }
        match ty {
            Type::List(item) | Type::NonNullList(item) => self.list(item, provided, path),
            Type::Named(name) | Type::NonNullNamed(name) => self.named(name, provided, path),
        }
    }

    /// A single value is coerced to a list with one item.
    fn list(&self, item: &Type, provided: &Json, path: &Path<'_>) -> Coerced<Value> {
        let Json::Array(items) = provided else {
            return Ok(Value::List(vec![self.value(item, provided, path)?]));
        };
        let items = items
            .iter()
            .enumerate()
            .map(|(index, provided)| self.value(item, provided, &Path::Item(path, index)));
        items.collect::<Coerced<_>>().map(Value::List)
    }

    fn named(&self, name: &Name, provided: &Json, path: &Path<'_>) -> Coerced<Value> {
        match self.rules.schema.types.get(name) {
            Some(ExtendedType::InputObject(object)) => self.object(object, provided, path),
            Some(ExtendedType::Enum(values)) => provided
                .as_str()
                .filter(|text| values.values.contains_key(*text))
                .map(|text| Value::Enum(LibraryName::new(text)))
                .ok_or_else(|| {
                    let names = values.values.keys().map(Name::as_str).collect::<Vec<_>>();
                    let names = names.join(", ");
                    format!("{path}: not a value of the enum {name}: expected one of {names}.")
                }),
            _ => self.scalar(name, provided, path),
        }
    }

    fn scalar(&self, name: &Name, provided: &Json, path: &Path<'_>) -> Coerced<Value> {
        let value = match name.as_str() {
            "Int" => int(provided),
            "Float" => float(provided),
            "String" => provided.as_str().map(|text| Value::String(text.to_owned())),
            "Boolean" => provided.as_bool().map(Value::Boolean),
            "ID" => id(provided),
            _ => return self.custom(name, provided, path),
        };
        value.ok_or_else(|| format!("{path}: not a value of type {name}."))
    }

    fn custom(&self, name: &Name, provided: &Json, path: &Path<'_>) -> Coerced<Value> {
        let Some(check) = self.scalars.get(name) else {
            return Value::from_json(provided.clone())
                .map_err(|_| format!("{path}: not a value of type {name}."));
        };
        let Json::String(text) = provided else {
            return Err(format!(
                "{path}: not a value of type {name}: expected a string."
            ));
        };
        check(text).map_err(|reason| format!("{path}: not a value of type {name}: {reason}."))?;
        Ok(Value::String(text.clone()))
    }

    fn object(&self, object: &InputObjectType, provided: &Json, path: &Path<'_>) -> Coerced<Value> {
        let Json::Object(fields) = provided else {
            return Err(format!(
                "{path}: expected an object of type {}.",
                object.name
            ));
        };
        // Caches of clients add `__typename` to what they have read, which comes back in inputs.
        let given = || fields.keys().filter(|name| *name != TYPENAME);
        if let Some(name) = given().find(|name| !object.fields.contains_key(name.as_str())) {
            return Err(format!(
                "{path}: the type {} has no field {name:?}.",
                object.name
            ));
        }
        one_of(object, fields, path)?;
        let mut coerced = Vec::new();
        for definition in object.fields.values() {
            let provided = fields.get(definition.name.as_str());
            if let Some(value) = self.field(definition, provided, path)? {
                coerced.push((LibraryName::new(definition.name.as_str()), value));
            }
        }
        Ok(Value::Object(coerced.into_iter().collect()))
    }

    fn field(
        &self,
        definition: &InputValueDefinition,
        provided: Option<&Json>,
        path: &Path<'_>,
    ) -> Coerced<Option<Value>> {
        let (ty, path) = (&definition.ty, Path::Field(path, &definition.name));
        if let Some(value) = provided {
            return self.value(ty, value, &path).map(Some);
        }
        if let Some(default) = &definition.default_value {
            return Ok(Some(convert::constant(&self.rules.schema, ty, default)));
        }
        if ty.is_non_null() {
            return Err(format!("{path}: a value of type {ty} is required."));
        }
        Ok(None)
    }
}

fn one_of(object: &InputObjectType, fields: &Map<String, Json>, path: &Path<'_>) -> Coerced<()> {
    if !object.directives.has("oneOf") {
        return Ok(());
    }
    let mut given = fields.iter().filter(|(name, _)| *name != TYPENAME);
    if let (Some((_, value)), None) = (given.next(), given.next())
        && !value.is_null()
    {
        return Ok(());
    }
    Err(format!(
        "{path}: {} takes exactly one field, which must not be null.",
        object.name
    ))
}

/// JSON has one type of numbers, so `1.0` is the integer 1. In documents it is not.
fn int(provided: &Json) -> Option<Value> {
    let number = provided.as_i64().or_else(|| whole(provided.as_f64()?))?;
    let number = i32::try_from(number).ok()?;
    Some(Value::Number(number.into()))
}

/// Returns a float as an integer, if it is one that both types can hold.
fn whole(number: f64) -> Option<i64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let fits = number.fract() == 0.0 && number.abs() <= MAX_EXACT;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it has no fraction and fits"
    )]
    fits.then_some(number as i64)
}

fn float(provided: &Json) -> Option<Value> {
    Number::from_f64(provided.as_f64()?).map(Value::Number)
}

fn id(provided: &Json) -> Option<Value> {
    match provided {
        Json::String(text) => Some(Value::String(text.clone())),
        Json::Number(number) if number.is_i64() || number.is_u64() => {
            Some(Value::String(number.to_string()))
        }
        Json::Number(number) => whole(number.as_f64()?).map(|id| Value::String(id.to_string())),
        _ => None,
    }
}
