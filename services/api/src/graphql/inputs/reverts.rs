//! Inputs for restoring earlier revisions, and for giving fields back to the feeds.

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

/// The input of `releaseFields`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ReleaseFieldsInput {
    /// The global id of the product.
    product_id: ID,
    /// The fields to give back: names as `Product.overrides` has them, such as `name` and
    /// `specs.weight`. Fields that nobody has edited are ignored. At most 250.
    fields: Vec<String>,
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

/// The maximum number of fields that are given back at once: all of a product.
const MAX_RELEASED: usize = 250;

impl ReleaseFieldsInput {
    pub(crate) fn parse(self) -> ParsedInput<(ProductId, Vec<String>)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["productId"]), &self.product_id);
        let count = self.fields.len();
        if count == 0 || count > MAX_RELEASED {
            let message = format!("{count} fields; 1 to {MAX_RELEASED} are possible");
            errors.add(path(["fields"]), message);
        }
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.map(|id| (id, self.fields))),
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
