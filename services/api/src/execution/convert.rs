//! From the validator's syntax tree to the library's.

use apollo_compiler::{
    Schema,
    ast::{self, Type},
    parser::{SourceMap, SourceSpan},
};
use async_graphql::{Name, Number, Pos, Value as ConstValue, parser::types};
use async_graphql_value::Value;

use super::Location;

/// The place of a node in the document.
pub(super) fn location(span: Option<SourceSpan>, sources: &SourceMap) -> Option<Location> {
    let place = span?.line_column(sources)?;
    Some(Location {
        line: place.line,
        column: place.column,
    })
}

/// The same as the library writes it.
pub(super) fn position(span: Option<SourceSpan>, sources: &SourceMap) -> Pos {
    location(span, sources).map_or_else(Pos::default, |place| Pos {
        line: place.line,
        column: place.column,
    })
}

/// A type of a variable.
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

/// A value where one of type `expected` stands.
pub(super) fn value(schema: &Schema, expected: &Type, given: &ast::Value) -> Value {
    match given {
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

/// A value of which validation has shown that it names no variable.
pub(super) fn constant(schema: &Schema, expected: &Type, given: &ast::Value) -> ConstValue {
    value(schema, expected, given)
        .into_const()
        .unwrap_or_default()
}

fn float(number: Option<f64>) -> Value {
    number
        .and_then(Number::from_f64)
        .map_or(Value::Null, Value::Number)
}

/// An ID may be written as an integer of any size and is text all the same.
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
            .map(|given| value(schema, item, given))
            .collect(),
    )
}

fn object(
    schema: &Schema,
    expected: &Type,
    fields: &[(apollo_compiler::Name, apollo_compiler::Node<ast::Value>)],
) -> Value {
    let input = schema.get_input_object(expected.inner_named_type());
    let fields = fields.iter().map(|(name, given)| {
        let field = input.and_then(|input| input.fields.get(name));
        let expected = field.map_or(expected, |field| &field.ty);
        (Name::new(name.as_str()), value(schema, expected, given))
    });
    Value::Object(fields.collect())
}
