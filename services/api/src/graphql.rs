//! The GraphQL schema: types, inputs and resolvers.
//!
//! Output types are thin wrappers around domain values; a field is read when it is selected. A
//! resolver gets the catalogue, the caller and the loaders from the [`Session`] of its request. See
//! [`crate::execution`] for the rules that resolvers follow.

mod context;
mod cost;
#[cfg(test)]
pub(crate) mod described;
mod failures;
mod federation;
mod filter_text;
mod inputs;
mod loaders;
mod mutation;
mod once;
mod permissions;
mod persisted_queries;
mod query;
mod rate_limiter;
mod scalars;
mod subscription;
mod top_reviews;
mod traced;
mod types;
mod viewer;

use async_graphql::{ObjectType, Schema, SchemaBuilder};

use self::federation::SubgraphQuery;
use self::traced::{TRACED_RESOLVERS, TracedFields};
use crate::execution::{Engine, Scalars, ValidatorError, sdl};

pub use context::Session;
pub use cost::{CostGuard, CostLimits, RateLimits};
pub use filter_text::product_filter;
pub use mutation::Mutation;
pub use permissions::{Access, PERMISSIONS, access};
pub use query::Query;
pub use rate_limiter::{Budget, Caller, RateLimiter};
pub use subscription::Subscription;
pub use viewer::{Role, Viewer};

/// Returns a schema builder without context data.
#[must_use]
pub fn schema() -> SchemaBuilder<Query, Mutation, Subscription> {
    with_types(Schema::build(Query, Mutation, Subscription))
}

/// Builds the engine that executes requests against the schema.
///
/// # Errors
/// [`ValidatorError`] if the schema is not valid GraphQL.
pub fn engine() -> Result<Engine, ValidatorError> {
    Engine::new(schema(), scalars())
}

/// Builds the engine of a subgraph of Apollo Federation: the same schema, and the fields for
/// routers.
///
/// # Errors
/// [`ValidatorError`] if the schema is not valid GraphQL.
pub fn subgraph() -> Result<Engine, ValidatorError> {
    Engine::new(subgraph_schema(), scalars())
}

/// Builds the engine of [`engine`], or that of [`subgraph`], whose database operations are traced with the name
/// of the field that asks for them. Each field costs a little more.
///
/// # Errors
/// [`ValidatorError`] if the schema is not valid GraphQL.
pub fn traced_engine(is_subgraph: bool) -> Result<Engine, ValidatorError> {
    if !is_subgraph {
        return Engine::new(traced(schema()), scalars());
    }
    Engine::new(traced(subgraph_schema()), scalars())
}

fn subgraph_schema() -> SchemaBuilder<SubgraphQuery, Mutation, Subscription> {
    let query = SubgraphQuery::new(subgraph_sdl());
    with_types(Schema::build(query, Mutation, Subscription))
}

fn traced<Q: ObjectType + 'static>(
    builder: SchemaBuilder<Q, Mutation, Subscription>,
) -> SchemaBuilder<Q, Mutation, Subscription> {
    builder.extension(TracedFields).data(TRACED_RESOLVERS)
}

/// Returns the schema as the subgraph describes it to routers: with the directives of Apollo
/// Federation, without the fields for routers.
#[must_use]
pub fn subgraph_sdl() -> String {
    federation::subgraph_sdl(&sdl(&schema().finish()))
}

/// Adds the types that no field returns as such.
fn with_types<Q: ObjectType + 'static>(
    builder: SchemaBuilder<Q, Mutation, Subscription>,
) -> SchemaBuilder<Q, Mutation, Subscription> {
    builder
        .register_output_type::<types::node::Node>()
        .register_output_type::<types::product::Product>()
}

fn scalars() -> Scalars {
    Scalars::none()
        .with("DateTime", |text| {
            scalars::instant(text)
                .map(drop)
                .map_err(|error| error.to_string())
        })
        .with("Decimal", |text| scalars::decimal(text).map(drop))
        // The mutation that stores the address validates it and reports an error with its path.
        .with("URL", |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use apollo_compiler::Schema;

    use super::described::engine;
    use super::types::product::Book;
    use crate::execution::direct::DirectObject as _;
    use crate::execution::survey;

    /// The survey finds nothing but the expected non-null root fields, so every item is described.
    #[test]
    fn every_schema_item_has_a_description() {
        let mut found = survey(engine().sdl()).unwrap();
        found.sort();
        let expected =
            ["categories", "units"].map(|field| format!("Query.{field} is not nullable"));
        assert_eq!(found, expected);
    }

    /// What is not listed here needs no look-up, so it is written directly.
    #[test]
    fn fields_of_products_are_written_directly() {
        let engine = engine();
        let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
        let fields = schema.get_object("Book").unwrap().fields.keys();
        let resolved = fields.filter(|name| Book::number_of(name).is_none());
        let expected = [
            "category",
            "reviews",
            "viewerReview",
            "ratingTrend",
            "activity",
            "overrides",
        ];
        assert_eq!(resolved.collect::<Vec<_>>(), expected);
    }

    /// Every mutation takes one input and returns one nullable payload, both named after the
    /// mutation; the payload has `userErrors`.
    #[test]
    fn mutations_take_an_input_and_return_a_payload_of_their_name() {
        let engine = engine();
        let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
        let mutations = &schema.get_object("Mutation").unwrap().fields;
        assert!(!mutations.is_empty());
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
            assert_eq!(field.ty.to_string(), format!("{name}Payload"));
            let payload = schema.get_object(&format!("{name}Payload")).unwrap();
            assert_eq!(payload.fields["userErrors"].ty.to_string(), "[UserError!]!");
            assert!(payload.fields.values().any(|field| !field.ty.is_non_null()));
        }
    }
}
