//! The schema as used by validation, coercion and normalisation.

use apollo_compiler::{
    Name, Schema,
    collections::{HashMap, IndexSet},
    schema::ExtendedType,
    validation::{DiagnosticList, Valid},
};

use super::{Scalars, introspection};

/// A schema with precomputed possible types.
pub(super) struct Rules {
    pub(super) schema: Valid<Schema>,
    pub(super) scalars: Scalars,
    possible: HashMap<Name, IndexSet<Name>>,
}

/// The schema is not valid GraphQL.
#[derive(Debug, thiserror::Error)]
#[error("the schema is not valid GraphQL: {0}")]
pub struct ValidatorError(String);

impl ValidatorError {
    pub(super) fn new(errors: &DiagnosticList) -> Self {
        Self(errors.to_string())
    }
}

impl Rules {
    pub(super) fn new(sdl: &str, scalars: Scalars) -> Result<Self, ValidatorError> {
        let schema = Schema::parse_and_validate(sdl, "schema.graphql")
            .map_err(|error| ValidatorError::new(&error.errors))?;
        let schema = introspection::with_current_fields(schema);
        Ok(Self {
            possible: possible_types(&schema),
            schema,
            scalars,
        })
    }

    /// Returns the object types that a value of this type may have.
    pub(super) fn possible(&self, name: &Name) -> &IndexSet<Name> {
        static NONE: std::sync::LazyLock<IndexSet<Name>> =
            std::sync::LazyLock::new(IndexSet::default);
        self.possible.get(name).unwrap_or(&NONE)
    }

    /// Whether a fragment on `condition` applies to objects of type `object`.
    pub(super) fn applies(&self, object: &Name, condition: &Name) -> bool {
        object == condition || self.schema.is_subtype(condition, object)
    }
}

fn possible_types(schema: &Schema) -> HashMap<Name, IndexSet<Name>> {
    let mut possible: HashMap<Name, IndexSet<Name>> = HashMap::default();
    for (name, definition) in &schema.types {
        match definition {
            ExtendedType::Object(object) => {
                for interface in &object.implements_interfaces {
                    let known = possible.entry(interface.name.clone()).or_default();
                    known.insert(name.clone());
                }
            }
            ExtendedType::Union(union) => {
                let members = union.members.iter().map(|member| member.name.clone());
                possible.insert(name.clone(), members.collect());
            }
            _ => {}
        }
    }
    possible
}
