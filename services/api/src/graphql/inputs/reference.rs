//! Categories and suppliers as admins write them.

use async_graphql::{ID, InputObject, MaybeUndefined};
use vitrine_domain::admin::{CategoryPatch, NewCategory, NewSupplier, SupplierPatch};
use vitrine_model::id::{CategoryId, SupplierId};

use super::user_errors::{Asked, UserErrors, clearable, path};

/// A category to be made.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct CreateCategoryInput {
    /// Its name.
    name: String,
    /// Its part of an address; unique. Made of the name when absent.
    slug: Option<String>,
    /// The slug of the category it is in; at the top when absent.
    parent: Option<String>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Changes to a category. What is left out stays as it is. No product is written, however many are
/// in it.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateCategoryInput {
    /// The category.
    id: ID,
    /// Its name.
    name: MaybeUndefined<String>,
    /// Its part of an address; unique.
    slug: MaybeUndefined<String>,
    /// The slug of the category it moves into; null moves it to the top.
    parent: MaybeUndefined<String>,
    /// The revision that the caller has seen. The category stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A supplier to be made.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct CreateSupplierInput {
    /// Its name.
    name: String,
    /// Its country as an ISO 3166-1 alpha-2 code.
    country: Option<String>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Changes to a supplier. What is left out stays as it is. Its products carry the new name and
/// country a little later.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateSupplierInput {
    /// The supplier.
    id: ID,
    /// Its name.
    name: MaybeUndefined<String>,
    /// Its country as an ISO 3166-1 alpha-2 code; null clears it.
    country: MaybeUndefined<String>,
    /// The revision that the caller has seen. The supplier stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl CreateCategoryInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<NewCategory> {
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: Ok(NewCategory {
                name: self.name,
                slug: self.slug,
                parent: self.parent,
            }),
        }
    }
}

impl UpdateCategoryInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(CategoryId, CategoryPatch)> {
        let mut errors = UserErrors::default();
        let id = errors.category(path(["id"]), &self.id);
        let patch = CategoryPatch {
            name: errors.kept("name", self.name),
            slug: errors.kept("slug", self.slug),
            parent: clearable(self.parent),
        };
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: errors.unless_any(id.map(|id| (id, patch))),
        }
    }
}

impl CreateSupplierInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<NewSupplier> {
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: Ok(NewSupplier {
                name: self.name,
                country: self.country,
            }),
        }
    }
}

impl UpdateSupplierInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(SupplierId, SupplierPatch)> {
        let mut errors = UserErrors::default();
        let id = errors.supplier(path(["id"]), &self.id);
        let patch = SupplierPatch {
            name: errors.kept("name", self.name),
            country: clearable(self.country),
        };
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: errors.unless_any(id.map(|id| (id, patch))),
        }
    }
}
