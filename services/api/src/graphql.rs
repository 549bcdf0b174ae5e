//! The schema: types, inputs and resolvers.
//!
//! Types are thin: each wraps what the domain gives and reads a field when it is asked for. A
//! resolver finds everything it needs in the [`Session`] of its request. The rules for writing one
//! are those of [`crate::execution`].

mod carried;
mod context;
mod failures;
mod inputs;
mod loaders;
mod mutation;
mod query;
mod scalars;
mod subscription;
mod types;
mod viewer;

use async_graphql::{Schema, SchemaBuilder};

use crate::execution::{Engine, Scalars, ValidatorError};

pub use context::Session;
pub use mutation::Mutation;
pub use query::Query;
pub use subscription::Subscription;
pub use viewer::{Role, Viewer};

/// The schema with nothing behind it yet.
#[must_use]
pub fn schema() -> SchemaBuilder<Query, Mutation, Subscription> {
    Schema::build(Query, Mutation, Subscription)
        .register_output_type::<types::node::Node>()
        .register_output_type::<types::product::Product>()
}

/// The engine that answers requests against the schema.
///
/// # Errors
/// [`ValidatorError`] when the schema is not valid GraphQL.
pub fn engine() -> Result<Engine, ValidatorError> {
    Engine::new(schema(), scalars())
}

fn scalars() -> Scalars {
    Scalars::none()
        .with("DateTime", |text| {
            scalars::instant(text)
                .map(drop)
                .map_err(|wrong| wrong.to_string())
        })
        .with("Decimal", |text| scalars::decimal(text).map(drop))
        // Whether the address can be used is for whoever stores it to say, with its path.
        .with("URL", |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use apollo_compiler::Schema;

    use super::engine;
    use crate::execution::survey;

    /// Root fields that are never null, and nothing that lacks a description.
    #[test]
    fn everything_is_described() {
        let mut found = survey(engine().unwrap().sdl()).unwrap();
        found.sort();
        let expected = [
            "categories",
            "dataVersions",
            "exportAuthor",
            "fairnessReport",
            "moderationQueue",
            "nodes",
            "ratingStatsAudit",
            "searchSuggestions",
            "trending",
            "units",
            "workers",
        ]
        .map(|field| format!("Query.{field} is not nullable"));
        assert_eq!(found, expected);
    }

    /// Every mutation takes one input of its name and gives one payload of its name, never null,
    /// with `userErrors`.
    #[test]
    fn mutations_have_one_form() {
        let engine = engine().unwrap();
        let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
        let mutations = &schema.get_object("Mutation").unwrap().fields;
        assert_eq!(mutations.len(), 27);
        for (name, field) in mutations {
            let (first, rest) = name.split_at(1);
            let name = format!("{}{rest}", first.to_uppercase());
            let [input] = field.arguments.as_slice() else {
                panic!("{name} takes {:?}", field.arguments);
            };
            assert_eq!(
                (input.name.as_str(), input.ty.to_string()),
                ("input", format!("{name}Input!"))
            );
            assert_eq!(field.ty.to_string(), format!("{name}Payload!"));
            let payload = schema.get_object(&format!("{name}Payload")).unwrap();
            assert_eq!(payload.fields["userErrors"].ty.to_string(), "[UserError!]!");
            assert!(payload.fields.values().any(|field| !field.ty.is_non_null()));
        }
    }
}
