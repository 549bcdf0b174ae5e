//! Answers `__schema` and `__type` from the schema that documents are validated against.
//!
//! The library answers them too, but not for the current specification: it has a fixed text as the
//! description of every schema, and the validator does not know its `isOneOf`. Answers from the
//! validator's schema cannot differ from the rules that requests are held to.

use apollo_compiler::{
    Name as SchemaName, Node, Schema,
    ast::{
        Directive, DirectiveDefinition, DirectiveList, EnumValueDefinition, FieldDefinition,
        InputValueDefinition, Type, Value as Literal,
    },
    name,
    schema::{Component, DirectiveList as TypeDirectives, ExtendedType},
    ty,
    validation::Valid,
};
use async_graphql::{
    Name, Value, Variables,
    indexmap::IndexMap,
    parser::types::{DocumentOperations, ExecutableDocument, Field, Selection, SelectionSet},
};
use async_graphql_value::Value as Argument;

use super::{Prepared, rules::Rules};

/// Adds what the specification of September 2025 has and the validator lacks: `isOneOf`, and
/// `includeDeprecated` that cannot be null.
pub(super) fn with_current_fields(schema: Valid<Schema>) -> Valid<Schema> {
    let mut schema = schema.into_inner();
    for name in ["__Type", "__Field", "__Directive"] {
        let Some(ExtendedType::Object(object)) = schema.types.get_mut(name) else {
            continue;
        };
        for field in object.make_mut().fields.values_mut() {
            for argument in &mut field.make_mut().arguments {
                if argument.name == "includeDeprecated" {
                    argument.make_mut().ty = ty!(Boolean!).into();
                }
            }
        }
    }
    if let Some(ExtendedType::Object(of_types)) = schema.types.get_mut("__Type") {
        let field = Component::new(FieldDefinition {
            description: None,
            name: name!("isOneOf"),
            arguments: Vec::new(),
            ty: ty!(Boolean),
            directives: DirectiveList::new(),
        });
        let fields = &mut of_types.make_mut().fields;
        fields.insert(name!("isOneOf"), field);
    }
    Valid::assume_valid(schema)
}

/// Returns the document without the root fields that [`complete`] answers.
pub(super) fn without(document: &ExecutableDocument) -> ExecutableDocument {
    let mut document = document.clone();
    if let DocumentOperations::Single(operation) = &mut document.operations {
        let items = &mut operation.node.selection_set.node.items;
        items.retain(|item| root_field(&item.node).is_none_or(|field| !is_answered(field)));
    }
    document
}

/// Adds the answers to `__schema` and `__type` to the data of an operation, in the order of the
/// query.
pub(super) fn complete(prepared: &Prepared, data: Value) -> Value {
    let Value::Object(mut others) = data else {
        return data;
    };
    let DocumentOperations::Single(operation) = &prepared.normal.document.operations else {
        return Value::Object(others);
    };
    let introspection = Introspection {
        rules: prepared.validator.rules(),
        variables: &prepared.variables,
    };
    let root = &operation.node.selection_set.node;
    let mut all = IndexMap::with_capacity(root.items.len());
    for field in root.items.iter().filter_map(|item| root_field(&item.node)) {
        let key = field.response_key().node.clone();
        if is_answered(field) {
            all.insert(key, introspection.root(field));
        } else if let Some(value) = others.swap_remove(&key) {
            all.insert(key, value);
        }
    }
    Value::Object(all)
}

/// The normal form of a selection on an object has nothing but fields.
fn root_field(selection: &Selection) -> Option<&Field> {
    match selection {
        Selection::Field(field) => Some(&field.node),
        Selection::FragmentSpread(_) | Selection::InlineFragment(_) => None,
    }
}

fn is_answered(field: &Field) -> bool {
    matches!(field.name.node.as_str(), "__schema" | "__type")
}

/// An object of the introspection schema.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Schema,
    Type(TypeSubject<'a>),
    Field(&'a FieldDefinition),
    InputValue(&'a InputValueDefinition),
    EnumValue(&'a EnumValueDefinition),
    Directive(&'a DirectiveDefinition),
}

#[derive(Clone, Copy)]
enum TypeSubject<'a> {
    Named(&'a ExtendedType),
    NonNull(&'a Type),
    List(&'a Type),
}

/// The value of a field of the introspection schema.
enum Found<'a> {
    Leaf(Value),
    One(Option<Subject<'a>>),
    Many(Option<Vec<Subject<'a>>>),
}

struct Introspection<'a> {
    rules: &'a Rules,
    variables: &'a Variables,
}

impl<'a> Introspection<'a> {
    fn root(&self, field: &Field) -> Value {
        let subject = if field.name.node == "__schema" {
            Some(Subject::Schema)
        } else {
            let Some(Value::String(name)) = self.argument(field, "name") else {
                return Value::Null;
            };
            let found = self.rules.schema.types.get(name.as_str());
            found.map(|found| Subject::Type(TypeSubject::Named(found)))
        };
        self.write(Found::One(subject), &field.selection_set.node)
    }

    fn write(&self, found: Found<'a>, set: &SelectionSet) -> Value {
        match found {
            Found::Leaf(value) => value,
            Found::One(subject) => subject.map_or(Value::Null, |one| self.object(one, set)),
            Found::Many(subjects) => subjects.map_or(Value::Null, |all| {
                Value::List(all.into_iter().map(|one| self.object(one, set)).collect())
            }),
        }
    }

    fn object(&self, subject: Subject<'a>, set: &SelectionSet) -> Value {
        let fields = set.items.iter().filter_map(|item| root_field(&item.node));
        let values = fields.map(|field| {
            let name = field.name.node.as_str();
            let found = if name == "__typename" {
                text(subject.type_name())
            } else {
                self.find(subject, name, field)
            };
            let value = self.write(found, &field.selection_set.node);
            (field.response_key().node.clone(), value)
        });
        Value::Object(values.collect())
    }

    fn find(&self, subject: Subject<'a>, name: &str, field: &Field) -> Found<'a> {
        let deprecated = self.argument(field, "includeDeprecated") == Some(Value::Boolean(true));
        match subject {
            Subject::Schema => self.of_schema(name),
            Subject::Type(TypeSubject::Named(definition)) => {
                self.of_type(definition, name, deprecated)
            }
            Subject::Type(TypeSubject::NonNull(ty)) => self.of_wrapper("NON_NULL", name, ty, true),
            Subject::Type(TypeSubject::List(ty)) => self.of_wrapper("LIST", name, ty, false),
            Subject::Field(field) => match name {
                "name" => text(&field.name),
                "description" => description(field.description.as_ref()),
                "args" => values(field.arguments.iter().map(|one| &**one), deprecated),
                "type" => self.ty(&field.ty),
                _ => self.deprecation(&field.directives, name),
            },
            Subject::InputValue(value) => match name {
                "name" => text(&value.name),
                "description" => description(value.description.as_ref()),
                "type" => self.ty(&value.ty),
                "defaultValue" => default_value(value.default_value.as_ref()),
                _ => self.deprecation(&value.directives, name),
            },
            Subject::EnumValue(value) => match name {
                "name" => text(&value.value),
                "description" => description(value.description.as_ref()),
                _ => self.deprecation(&value.directives, name),
            },
            Subject::Directive(directive) => match name {
                "name" => text(&directive.name),
                "description" => description(directive.description.as_ref()),
                "args" => values(directive.arguments.iter().map(|one| &**one), deprecated),
                "isRepeatable" => Found::Leaf(directive.repeatable.into()),
                "locations" => {
                    let locations = directive.locations.iter();
                    let names = locations.map(|location| Value::Enum(Name::new(location.name())));
                    Found::Leaf(Value::List(names.collect()))
                }
                _ => nothing(),
            },
        }
    }

    fn of_schema(&self, name: &str) -> Found<'a> {
        let schema = &self.rules.schema;
        let definition = &schema.schema_definition;
        let root = |root: &'a Option<apollo_compiler::schema::ComponentName>| {
            Found::One(root.as_ref().and_then(|root| self.named(&root.name)))
        };
        match name {
            "description" => description(definition.description.as_ref()),
            "queryType" => root(&definition.query),
            "mutationType" => root(&definition.mutation),
            "subscriptionType" => root(&definition.subscription),
            "types" => many(
                schema
                    .types
                    .values()
                    .map(|ty| Subject::Type(TypeSubject::Named(ty))),
            ),
            "directives" => {
                let directives = schema.directive_definitions.values();
                many(directives.map(|directive| Subject::Directive(directive)))
            }
            _ => nothing(),
        }
    }

    fn of_type(&self, ty: &'a ExtendedType, name: &str, deprecated: bool) -> Found<'a> {
        match (name, ty) {
            ("kind", _) => Found::Leaf(Value::Enum(Name::new(kind(ty)))),
            ("name", _) => text(ty.name()),
            ("description", _) => description(ty.description()),
            ("fields", ExtendedType::Object(object)) => fields(object.fields.values(), deprecated),
            ("fields", ExtendedType::Interface(interface)) => {
                fields(interface.fields.values(), deprecated)
            }
            ("interfaces", ExtendedType::Object(object)) => {
                self.types(object.implements_interfaces.iter().map(|of| &of.name))
            }
            ("interfaces", ExtendedType::Interface(interface)) => {
                self.types(interface.implements_interfaces.iter().map(|of| &of.name))
            }
            ("possibleTypes", ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
                self.types(self.rules.possible(ty.name()).iter())
            }
            ("enumValues", ExtendedType::Enum(all)) => {
                let kept = all
                    .values
                    .values()
                    .filter(|value| deprecated || value.directives.get("deprecated").is_none());
                many(kept.map(|value| Subject::EnumValue(value)))
            }
            ("inputFields", ExtendedType::InputObject(input)) => {
                values(input.fields.values().map(|field| &***field), deprecated)
            }
            ("isOneOf", ExtendedType::InputObject(input)) => {
                Found::Leaf(input.directives.get("oneOf").is_some().into())
            }
            ("specifiedByURL", ExtendedType::Scalar(scalar)) => specified_by(&scalar.directives),
            _ => nothing(),
        }
    }

    /// A list or a non-null type: it has a kind and what it wraps.
    fn of_wrapper(&self, kind: &str, name: &str, ty: &'a Type, non_null: bool) -> Found<'a> {
        match (name, ty) {
            ("kind", _) => Found::Leaf(Value::Enum(Name::new(kind))),
            ("ofType", Type::Named(name) | Type::NonNullNamed(name)) => {
                Found::One(self.named(name))
            }
            ("ofType", Type::NonNullList(_)) if non_null => {
                Found::One(Some(Subject::Type(TypeSubject::List(ty))))
            }
            ("ofType", Type::List(item) | Type::NonNullList(item)) => self.ty(item),
            _ => nothing(),
        }
    }

    fn deprecation(&self, directives: &'a DirectiveList, name: &str) -> Found<'a> {
        let directive = directives.get("deprecated");
        match name {
            "isDeprecated" => Found::Leaf(directive.is_some().into()),
            "deprecationReason" => directive.map_or_else(nothing, |found| self.reason(found)),
            _ => nothing(),
        }
    }

    fn reason(&self, directive: &'a Directive) -> Found<'a> {
        let reason = directive
            .argument_by_name("reason", &self.rules.schema)
            .ok();
        Found::Leaf(reason.and_then(|reason| reason.as_str()).into())
    }

    fn ty(&self, ty: &'a Type) -> Found<'a> {
        Found::One(match ty {
            Type::Named(name) => self.named(name),
            Type::List(_) => Some(Subject::Type(TypeSubject::List(ty))),
            Type::NonNullNamed(_) | Type::NonNullList(_) => {
                Some(Subject::Type(TypeSubject::NonNull(ty)))
            }
        })
    }

    fn types(&self, names: impl Iterator<Item = &'a SchemaName>) -> Found<'a> {
        many(names.filter_map(|name| self.named(name)))
    }

    fn named(&self, name: &SchemaName) -> Option<Subject<'a>> {
        let definition = self.rules.schema.types.get(name)?;
        Some(Subject::Type(TypeSubject::Named(definition)))
    }

    fn argument(&self, field: &Field, name: &str) -> Option<Value> {
        match &field.get_argument(name)?.node {
            Argument::Variable(name) => self.variables.get(name).cloned(),
            value => value.clone().into_const(),
        }
    }
}

impl Subject<'_> {
    fn type_name(self) -> &'static str {
        match self {
            Self::Schema => "__Schema",
            Self::Type(_) => "__Type",
            Self::Field(_) => "__Field",
            Self::InputValue(_) => "__InputValue",
            Self::EnumValue(_) => "__EnumValue",
            Self::Directive(_) => "__Directive",
        }
    }
}

fn kind(ty: &ExtendedType) -> &'static str {
    match ty {
        ExtendedType::Scalar(_) => "SCALAR",
        ExtendedType::Object(_) => "OBJECT",
        ExtendedType::Interface(_) => "INTERFACE",
        ExtendedType::Union(_) => "UNION",
        ExtendedType::Enum(_) => "ENUM",
        ExtendedType::InputObject(_) => "INPUT_OBJECT",
    }
}

fn fields<'a>(
    all: impl Iterator<Item = &'a Component<FieldDefinition>>,
    deprecated: bool,
) -> Found<'a> {
    let kept = all.filter(|field| deprecated || field.directives.get("deprecated").is_none());
    many(kept.map(|field| Subject::Field(field)))
}

fn values<'a>(all: impl Iterator<Item = &'a InputValueDefinition>, deprecated: bool) -> Found<'a> {
    let kept = all.filter(|value| deprecated || value.directives.get("deprecated").is_none());
    many(kept.map(Subject::InputValue))
}

fn specified_by<'a>(directives: &TypeDirectives) -> Found<'a> {
    let url = directives.get("specifiedBy");
    let url = url.and_then(|directive| directive.specified_argument_by_name("url"));
    Found::Leaf(url.and_then(|url| url.as_str()).into())
}

fn default_value<'a>(value: Option<&Node<Literal>>) -> Found<'a> {
    let written = value.map(|value| value.serialize().no_indent().to_string());
    Found::Leaf(written.into())
}

fn description<'a>(text: Option<&Node<str>>) -> Found<'a> {
    Found::Leaf(text.map(ToString::to_string).into())
}

fn text<'a>(text: &str) -> Found<'a> {
    Found::Leaf(text.into())
}

fn many<'a>(subjects: impl Iterator<Item = Subject<'a>>) -> Found<'a> {
    Found::Many(Some(subjects.collect()))
}

/// A field that this kind of type does not have.
fn nothing<'a>() -> Found<'a> {
    Found::Leaf(Value::Null)
}
