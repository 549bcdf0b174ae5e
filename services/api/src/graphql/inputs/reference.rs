//! Inputs for categories and suppliers.

use async_graphql::{ID, InputObject, MaybeUndefined};
use vitrine_domain::admin::{CategoryPatch, NewCategory, NewSupplier, SupplierPatch};
use vitrine_model::id::{CategoryId, SupplierId};

use super::user_errors::{ParsedInput, UserErrors, clearable, path};

/// The input of `createCategory`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct CreateCategoryInput {
    /// The name.
    name: String,
    /// The part of the URL that identifies the category; unique. Derived from the name when absent.
    slug: Option<String>,
    /// The slug of the parent category; a top-level category when absent.
    parent: Option<String>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `updateCategory`. Fields left out stay unchanged. The products of the category are
/// not rewritten.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateCategoryInput {
    /// The global id of the category.
    id: ID,
    /// The name.
    name: MaybeUndefined<String>,
    /// The part of the URL that identifies the category; unique.
    slug: MaybeUndefined<String>,
    /// The slug of the new parent category; null makes it a top-level category.
    parent: MaybeUndefined<String>,
    /// The paths of names by which feeds reach the category, besides its own; at most 50. They replace those that it has.
    /// All names of a path but the last lead to another category.
    feed_paths: MaybeUndefined<Vec<FeedPathInput>>,
    /// The revision that the caller has seen. If the category has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A path by which feeds reach a category.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct FeedPathInput {
    /// The names, from the top-level category down.
    names: Vec<String>,
}

/// The input of `createSupplier`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct CreateSupplierInput {
    /// The name.
    name: String,
    /// The country as an ISO 3166-1 alpha-2 code.
    country: Option<String>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `mergeCategories`. No product is written: those of the merged category are in the
/// remaining one at once, with its subcategories.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MergeCategoriesInput {
    /// The global id of the category to merge. Its id and slug, and the paths by which feeds reach it,
    /// lead to the remaining one from then on.
    from: ID,
    /// The global id of the remaining category. It is not below the other.
    into: ID,
    /// The revision of the remaining category that the caller has seen. If it has changed since, the
    /// mutation is refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `updateSupplier`. Fields left out stay unchanged. The new name and country are
/// copied to the supplier's products in the background.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateSupplierInput {
    /// The global id of the supplier.
    id: ID,
    /// The name.
    name: MaybeUndefined<String>,
    /// The country as an ISO 3166-1 alpha-2 code; null clears it.
    country: MaybeUndefined<String>,
    /// The revision that the caller has seen. If the supplier has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl CreateCategoryInput {
    pub(crate) fn parse(self) -> ParsedInput<NewCategory> {
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: Ok(NewCategory {
                name: self.name,
                slug: self.slug,
                parent: self.parent,
            }),
        }
    }
}

impl UpdateCategoryInput {
    pub(crate) fn parse(self) -> ParsedInput<(CategoryId, CategoryPatch)> {
        let mut errors = UserErrors::default();
        let id = errors.category(path(["id"]), &self.id);
        let patch = CategoryPatch {
            name: errors.not_null("name", self.name),
            slug: errors.not_null("slug", self.slug),
            parent: clearable(self.parent),
            feed_paths: errors
                .not_null("feedPaths", self.feed_paths)
                .map(|paths| paths.into_iter().map(|path| path.names).collect()),
        };
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.map(|id| (id, patch))),
        }
    }
}

impl MergeCategoriesInput {
    /// Returns the category to merge and the remaining one.
    pub(crate) fn parse(self) -> ParsedInput<(CategoryId, CategoryId)> {
        let mut errors = UserErrors::default();
        let from = errors.category(path(["from"]), &self.from);
        let into = errors.category(path(["into"]), &self.into);
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(from.zip(into)),
        }
    }
}

impl CreateSupplierInput {
    pub(crate) fn parse(self) -> ParsedInput<NewSupplier> {
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: Ok(NewSupplier {
                name: self.name,
                country: self.country,
            }),
        }
    }
}

impl UpdateSupplierInput {
    pub(crate) fn parse(self) -> ParsedInput<(SupplierId, SupplierPatch)> {
        let mut errors = UserErrors::default();
        let id = errors.supplier(path(["id"]), &self.id);
        let patch = SupplierPatch {
            name: errors.not_null("name", self.name),
            country: clearable(self.country),
        };
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.map(|id| (id, patch))),
        }
    }
}
