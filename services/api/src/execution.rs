//! Execution of GraphQL requests according to the specification: from the text of a request to its
//! response.
//!
//! The library that runs resolvers (async-graphql) deviates from the specification in several
//! places. This module wraps it:
//!
//! 1. [`DocumentValidator`] measures, parses and validates each document with a complete validator
//!    (apollo-compiler) and caches the result by the hash of the text.
//! 2. Variables are coerced before anything runs; an invalid value is a request error.
//! 3. The operation is normalised: every response key occurs once per concrete type, in the order
//!    of `CollectFields`, with `@skip` and `@include` already applied.
//! 4. The library executes the normalised document, with its own validation disabled. Fields that need
//!    no look-up are [written directly](direct).
//! 5. Errors get back their code and full path; at most one error per field is reported.
//!
//! # Rules for resolvers
//!
//! | the field is | the resolver returns |
//! |---|---|
//! | non-null, cannot fail | `T` |
//! | non-null, can fail | [`R<T>`] |
//! | nullable, cannot fail | `Option<T>` |
//! | nullable, can fail | `Option<R<T>>` |
//! | an object that direct writing begins with | [`One<T>`](direct::One) |
//! | a list of objects | [`List<T>`], so that its length counts |
//! | a list whose items can fail | `List<Option<R<T>>>` |
//! | a list that is null if one of its items fails | `List<R<T>>` |
//! | a text without a short limit | [`LongText`], so that its bytes count |
//!
//! - A resolver that waits is `async`. Any other is a plain `fn`, so that its field is written directly.
//! - **Never `R<Option<T>>`**: the library would move the error of a nullable field to its parent.
//!   [`NullableAt::nullable_at`] turns `Result<Option<T>, _>` into `Option<R<T>>`.
//! - A [`Failure`] describes what went wrong and is not yet a GraphQL error. Only [`At::at`] (or
//!   [`At::item_at`] for an item of a list) makes it one by recording the response path: the
//!   library truncates the paths of propagated errors, but recorded paths are preserved. Forgetting
//!   the call does not compile.
//! - `Failure` deliberately has no `Display`: the library's own conversion would accept any type
//!   with `Display` and send its text to the client.
//! - The library's own error type appears in no signature: no `async_graphql::Result`, no
//!   `ctx.data()?`, no guards (on a nullable field they null the parent) and no argument
//!   validators. Check in the resolver and fail with [`Failure::bad_input`].
//! - Fields of a `SimpleObject` cannot fail: they have no context from which to take the path.
//! - In an interface declaration, write `R` in the field's type as in the implementations (`ty =
//!   "R<String>"`, `ty = "Option<R<String>>"`).
//! - An interface lists its concrete types, not another interface's enum, and resolvers
//!   return the concrete variant.
//! - Report suspicious input that is not an error with [`hint`]: hints are sent in
//!   `extensions.hints`.
//! - Make root fields nullable where the schema allows it, so that one failing field does not
//!   affect the others; [`survey`] lists the exceptions.
//! - Integers beyond 2^31 are never `Int`; every `Float` is finite.

mod cache_use;
mod code;
mod conform;
mod convert;
mod cost;
mod cost_cache;
mod descriptions;
pub(crate) mod direct;
mod document_size;
mod engine;
mod event_gate;
mod failure;
mod hints;
mod introspection;
mod json;
mod limits;
mod literals;
mod merge;
mod normal_form;
mod output;
mod plan;
mod prepared;
mod request;
mod response;
mod response_budget;
mod restore;
mod rules;
mod scalars;
mod scan;
mod strict;
mod suggestions;
mod survey;
mod usages;
mod validated;
mod validated_document;
mod validator;
mod variables;
mod writer;

pub use cache_use::CacheUse;
pub use code::ErrorCode;
pub use cost::{CostModel, FieldCost, SelectedField};
pub use engine::{Engine, sdl};
pub use event_gate::EventGate;
pub use failure::{At, Failure, FieldPath, Located, NullableAt, R};
pub use hints::{Hint, hint};
pub use output::{List, LongText};
pub use prepared::{CostCheck, Prepared, RateState};
pub use request::GraphqlRequest;
pub use response::{ErrorExtensions, GraphqlResponse, Location, ResponseError};
pub use response_budget::ResponseLimits;
pub use rules::ValidatorError;
pub use scalars::Scalars;
pub use survey::survey;
pub use validated_document::ValidatedDocument;
pub use validator::DocumentValidator;

pub(crate) use response::whole_seconds;
pub(crate) use restore::log_internal;
pub(crate) use strict::object_from_text;

#[cfg(test)]
mod tests;
