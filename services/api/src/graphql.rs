//! The schema: types, inputs and resolvers.
//!
//! Types are thin: each wraps what the domain gives and reads a field when it is asked for. A
//! resolver finds everything it needs in the [`Session`] of its request. The rules for writing one
//! are those of [`crate::execution`].

mod context;
mod failures;
mod inputs;
mod loaders;
mod query;
mod scalars;
mod types;
mod viewer;

use async_graphql::{EmptyMutation, EmptySubscription, Schema, SchemaBuilder};

use crate::execution::{Engine, JudgeError, Scalars};

pub use context::Session;
pub use query::Query;
pub use viewer::{Role, Viewer};

/// The schema with nothing behind it yet.
#[must_use]
pub fn schema() -> SchemaBuilder<Query, EmptyMutation, EmptySubscription> {
    Schema::build(Query, EmptyMutation, EmptySubscription)
        .register_output_type::<types::node::Node>()
        .register_output_type::<types::product::Product>()
}

/// The engine that answers requests against the schema.
///
/// # Errors
/// [`JudgeError`] when the schema is not valid GraphQL.
pub fn engine() -> Result<Engine, JudgeError> {
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
}
