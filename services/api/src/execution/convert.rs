//! Conversion from the validator's syntax tree to the library's.

use apollo_compiler::{
    Schema,
    ast::{self, Type},
    parser::{SourceMap, SourceSpan},
};
use async_graphql::{Name, Number, Pos, Value as ConstValue, parser::types};
use async_graphql_value::Value;

use super::Location;

/// Returns the location of a node in the document.
pub(super) fn location(span: Option<SourceSpan>, sources: &SourceMap) -> Option<Location> {
    let location = span?.line_column(sources)?;
    Some(Location {
        line: location.line,
        column: location.column,
    })
}

/// Returns the same location as the library's type.
pub(super) fn position(span: Option<SourceSpan>, sources: &SourceMap) -> Pos {
    location(span, sources).map_or_else(Pos::default, |location| Pos {
        line: location.line,
        column: location.column,
    })
}

/// Converts the type of a variable.
pub(super) fn ty(ty: &Type) -> types::Type {
    types::Type {
        nullable: !ty.is_non_null(),
        base: match ty {
            Type::Named(name) | Type::NonNullNamed(name) => {
                types::BaseType::Named(Name::new(name.as_str()))
            }
            Type::List(item) | Type::NonNullList(item) => {
                types::BaseType::List(Box::new(self::ty(item)))
            }
        },
    }
}

/// Converts a literal at a position of type `expected`.
pub(super) fn value(schema: &Schema, expected: &Type, literal: &ast::Value) -> Value {
    match literal {
        ast::Value::Null => Value::Null,
        ast::Value::Variable(name) => Value::Variable(Name::new(name.as_str())),
        ast::Value::Enum(name) => Value::Enum(Name::new(name.as_str())),
        ast::Value::String(text) => Value::String(text.clone()),
        ast::Value::Boolean(flag) => Value::Boolean(*flag),
        ast::Value::Float(number) => float(number.try_to_f64().ok()),
        ast::Value::Int(number) => integer(expected, number),
        ast::Value::List(items) => list(schema, expected, items),
        ast::Value::Object(fields) => object(schema, expected, fields),
    }
}

/// Converts a literal without variables, as established by validation.
pub(super) fn constant(schema: &Schema, expected: &Type, literal: &ast::Value) -> ConstValue {
    value(schema, expected, literal)
        .into_const()
        .unwrap_or_default()
}

fn float(number: Option<f64>) -> Value {
    number
        .and_then(Number::from_f64)
        .map_or(Value::Null, Value::Number)
}

/// An ID may be written as an integer of any size; its value is a string.
fn integer(expected: &Type, number: &ast::IntValue) -> Value {
    if expected.inner_named_type() == "ID" {
        return Value::String(number.as_str().to_owned());
    }
    match number.as_str().parse::<i64>() {
        Ok(small) => Value::Number(small.into()),
        Err(_) => float(number.try_to_f64().ok()),
    }
}

fn list(schema: &Schema, expected: &Type, items: &[apollo_compiler::Node<ast::Value>]) -> Value {
    let item = expected.item_type();
    Value::List(
        items
            .iter()
            .map(|literal| value(schema, item, literal))
            .collect(),
    )
}

fn object(
    schema: &Schema,
    expected: &Type,
    fields: &[(apollo_compiler::Name, apollo_compiler::Node<ast::Value>)],
) -> Value {
    let input = schema.get_input_object(expected.inner_named_type());
    let fields = fields.iter().map(|(name, literal)| {
        let field = input.and_then(|input| input.fields.get(name));
        let expected = field.map_or(expected, |field| &field.ty);
        (Name::new(name.as_str()), value(schema, expected, literal))
    });
    Value::Object(fields.collect())
}
