//! From the text of a GraphQL request to its answer, as the specification has it.
//!
//! The library that runs resolvers is quick and pleasant, and leaves the specification in
//! several places. This module stands around it:
//!
//! 1. [`DocumentValidator`] measures, parses and validates a document once, by a validator that has
//!    every rule, and remembers the validated by the hash of the text.
//! 2. Variables are coerced before anything runs; a bad one is a request error.
//! 3. The operation is normalised: every response key occurs once per concrete type, in the
//!    order of `CollectFields`, with `@skip` and `@include` already decided.
//! 4. The library executes the normalised document, with its own validation switched off.
//! 5. Errors get their code and their full path back, one per field.
//!
//! # Rules for the authors of resolvers
//!
//! | the field is | the resolver returns |
//! |---|---|
//! | non-null, cannot fail | `T` |
//! | non-null, can fail | [`R<T>`] |
//! | nullable, cannot fail | `Option<T>` |
//! | nullable, can fail | `Option<R<T>>` |
//! | a list whose items can fail | `Vec<Option<R<T>>>` |
//! | a list one of whose items takes the list along | `Vec<R<T>>` |
//!
//! - **Never `R<Option<T>>`**: the library would send the error of a nullable field to its
//!   parent. [`NullableAt::nullable_at`] turns `Result<Option<T>, _>` into `Option<R<T>>`.
//! - A [`Failure`] says what went wrong and is no GraphQL error yet. Only [`At::at`] (or
//!   [`At::item_at`] for an item of a list) makes it one, by noting where it happened: the
//!   library cuts the paths of errors on their way up, ours come back whole. Forgetting the
//!   call does not compile.
//! - `Failure` has no `Display` on purpose: anything that has one would be accepted by the
//!   library's own conversion and its text sent to the client.
//! - The library's own error type appears in no signature: no `async_graphql::Result`, no
//!   `ctx.data()?`, no guards (on a nullable field they null the parent) and no argument
//!   validators. Check in the resolver and fail with [`Failure::bad_input`].
//! - Fields of a `SimpleObject` cannot fail: there is no context to take the place from.
//! - In an interface declaration name `R` in the field's type as the implementations do
//!   (`ty = "R<String>"`, `ty = "Option<R<String>>"`).
//! - An interface lists its concrete types, not another interface's enum, and resolvers
//!   return the concrete variant.
//! - What is odd but no error is told with [`hint`]: it travels in `extensions.hints`.
//! - Root fields are nullable where the schema allows it, so that one failing field leaves
//!   the others standing; [`survey`] lists the exceptions.
//! - Integers beyond 2^31 are never `Int`; a `Float` is finite.

mod code;
mod conform;
mod convert;
mod engine;
mod failure;
mod hints;
mod limits;
mod literals;
mod measure;
mod merge;
mod normal;
mod plan;
mod prepared;
mod request;
mod response;
mod restore;
mod rules;
mod scalars;
mod scan;
mod strict;
mod survey;
mod usages;
mod validated_document;
mod validator;
mod variables;
mod writer;

pub use code::ErrorCode;
pub use engine::Engine;
pub use failure::{At, Failure, Located, NullableAt, Place, R};
pub use hints::{Hint, hint};
pub use prepared::{CostCheck, Prepared};
pub use request::GraphqlRequest;
pub use response::{ErrorExtensions, GraphqlResponse, Location, ResponseError};
pub use rules::ValidatorError;
pub use scalars::Scalars;
pub use survey::survey;
pub use validated_document::ValidatedDocument;
pub use validator::DocumentValidator;

pub(crate) use response::whole_seconds;
pub(crate) use restore::note;
pub(crate) use strict::object_from_text;

#[cfg(test)]
mod tests;
