//! Inputs for restoring earlier revisions.

use async_graphql::{ID, InputObject};
use vitrine_model::id::{CategoryId, ProductId};

use super::user_errors::{ParsedInput, UserErrors, path};

/// The input of `revertProduct`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RevertProductInput {
    /// The global id of the product.
    id: ID,
    /// The revision to restore, from the history of the product.
    revision: i32,
    /// The revision that the caller has seen. If the product has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `revertCategory`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RevertCategoryInput {
    /// The global id of the category.
    id: ID,
    /// The revision to restore, from the history of the category.
    revision: i32,
    /// The revision that the caller has seen. If the category has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `revertSpecKey`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RevertSpecKeyInput {
    /// The spec key or an alias of it.
    key: String,
    /// The revision to restore, from the history of the key.
    revision: i32,
    /// The revision that the caller has seen. If the key has changed since, the mutation is refused
    /// with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl RevertProductInput {
    pub(crate) fn parse(self) -> ParsedInput<(ProductId, i64)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["id"]), &self.id);
        let revision = errors.revision(self.revision);
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.zip(revision)),
        }
    }
}

impl RevertCategoryInput {
    pub(crate) fn parse(self) -> ParsedInput<(CategoryId, i64)> {
        let mut errors = UserErrors::default();
        let id = errors.category(path(["id"]), &self.id);
        let revision = errors.revision(self.revision);
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.zip(revision)),
        }
    }
}

impl RevertSpecKeyInput {
    pub(crate) fn parse(self) -> ParsedInput<(String, i64)> {
        let mut errors = UserErrors::default();
        let revision = errors.revision(self.revision);
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(revision.map(|revision| (self.key, revision))),
        }
    }
}
