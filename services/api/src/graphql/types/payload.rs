//! Payloads of mutations on the catalogue, and the errors that all payloads share.

use std::sync::Arc;

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::outcome::{self, Outcome};

use super::bulk::BulkChange;
use super::category::Category;
use super::common::count;
use super::import_run::ImportRun;
use super::product::Product;
use super::spec::{SpecKey, Unit};
use super::supplier::Supplier;
use crate::execution::{Failure, List};

/// Why a mutation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "UserErrorCode", remote = "outcome::UserErrorCode")]
pub(crate) enum UserErrorCode {
    /// An input value is invalid.
    Invalid,
    /// Something that the input refers to does not exist.
    NotFound,
    /// The name, slug, SKU or spelling is already in use.
    Taken,
    /// The object has changed since the expected revision.
    RevisionConflict,
    /// The idempotency key was already used for a different input.
    IdempotencyConflict,
    /// A value does not match the type, dimension or allowed values of its spec key.
    TypeMismatch,
    /// A size limit would be exceeded.
    TooLarge,
    /// The object cannot be changed or removed because other objects depend on it.
    InUse,
    /// The author has already reviewed the product. Edit that review instead.
    AlreadyReviewed,
    /// The caller may not do this to the review: it belongs to someone else, or it is the caller's
    /// own and only others may act on it.
    NotAllowed,
    /// The status of the product or the review does not allow this.
    NotOpen,
}

/// A reason why a mutation was refused. Nothing was written.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct UserError {
    /// The machine-readable reason. Use this, not the message, to handle the error.
    code: UserErrorCode,
    /// What is wrong and what would be valid, as a text for people.
    message: String,
    /// The path of the invalid input field: `["specs", "2", "unit"]`; empty if the error concerns
    /// the whole input.
    path: Vec<String>,
    /// The current revision of the object, for `REVISION_CONFLICT`.
    current_revision: Option<i32>,
}

impl From<outcome::UserError> for UserError {
    fn from(refusal: outcome::UserError) -> Self {
        Self {
            code: refusal.code.into(),
            message: refusal.message,
            path: refusal.path,
            current_revision: refusal.current_revision.map(count),
        }
    }
}

/// The parts that all payloads have.
#[derive(Debug)]
pub(crate) struct PayloadParts<T> {
    pub(super) object: Option<T>,
    pub(super) user_errors: List<UserError>,
}

impl<T> PayloadParts<T> {
    /// Converts the outcome of a mutation; `show` converts the object to its output type.
    pub(crate) fn of<D>(
        outcome: Outcome<D>,
        show: impl FnOnce(D) -> Result<T, Failure>,
    ) -> Result<Self, Failure> {
        let (object, refusals) = match outcome {
            Outcome::Done(object) => (Some(object), Vec::new()),
            Outcome::Refused { refusals, current } => (current, refusals),
        };
        Ok(Self {
            object: object.map(show).transpose()?,
            user_errors: refusals.into_iter().map(UserError::from).collect(),
        })
    }
}

macro_rules! payload {
    ($(#[$doc:meta])* $name:ident { $(#[$field_doc:meta])* $field:ident: $object:ty }) => {
        $(#[$doc])*
        #[derive(SimpleObject, Direct)]
        pub(crate) struct $name {
            $(#[$field_doc])*
            $field: Option<$object>,
            /// Why nothing was written; empty on success.
            user_errors: List<UserError>,
        }

        impl From<PayloadParts<$object>> for $name {
            fn from(parts: PayloadParts<$object>) -> Self {
                Self { $field: parts.object, user_errors: parts.user_errors }
            }
        }
    };
}

payload! {
    /// The result of `createProduct`.
    CreateProductPayload {
        /// The new product; null if the mutation was refused.
        product: Product
    }
}

payload! {
    /// The result of `updateProduct`.
    UpdateProductPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `setSpecs`.
    SetSpecsPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `removeSpecs`.
    RemoveSpecsPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `archiveProduct`.
    ArchiveProductPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `restoreProduct`.
    RestoreProductPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `createCategory`.
    CreateCategoryPayload {
        /// The new category; null if the mutation was refused.
        category: Category
    }
}

payload! {
    /// The result of `updateCategory`.
    UpdateCategoryPayload {
        /// The category as it is now, also if the change was refused.
        category: Category
    }
}

payload! {
    /// The result of `mergeCategories`.
    MergeCategoriesPayload {
        /// The remaining category as it is now, also if the merge was refused.
        category: Category
    }
}

payload! {
    /// The result of `revertProduct`.
    RevertProductPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `releaseFields`.
    ReleaseFieldsPayload {
        /// The product as it is now, also if the change was refused.
        product: Product
    }
}

payload! {
    /// The result of `revertCategory`.
    RevertCategoryPayload {
        /// The category as it is now, also if the change was refused.
        category: Category
    }
}

payload! {
    /// The result of `revertSpecKey`.
    RevertSpecKeyPayload {
        /// The spec key as it is now, also if the change was refused.
        spec_key: SpecKey
    }
}

payload! {
    /// The result of `startBulkChange`.
    StartBulkChangePayload {
        /// The bulk change; null if it was refused.
        bulk_change: BulkChange
    }
}

payload! {
    /// The result of `startImport`.
    StartImportPayload {
        /// The import; null if it was refused.
        import: ImportRun
    }
}

payload! {
    /// The result of `stopBulkChange`.
    StopBulkChangePayload {
        /// The bulk change as it is now; null if there is none.
        bulk_change: BulkChange
    }
}

payload! {
    /// The result of `createSupplier`.
    CreateSupplierPayload {
        /// The new supplier; null if the mutation was refused.
        supplier: Supplier
    }
}

payload! {
    /// The result of `updateSupplier`.
    UpdateSupplierPayload {
        /// The supplier as it is now, also if the change was refused.
        supplier: Supplier
    }
}

payload! {
    /// The result of `defineUnit`.
    DefineUnitPayload {
        /// The unit. It may have been defined identically before. Null if the mutation was refused.
        unit: Unit
    }
}

payload! {
    /// The result of `defineSpecKey`.
    DefineSpecKeyPayload {
        /// The spec key as it is now; null if the mutation was refused and the key does not exist.
        spec_key: SpecKey
    }
}

payload! {
    /// The result of `updateSpecKey`.
    UpdateSpecKeyPayload {
        /// The spec key as it is now, also if the change was refused.
        spec_key: SpecKey
    }
}

pub(crate) struct Merge {
    key: SpecKey,
    remaining: i32,
}

impl From<vitrine_domain::admin::Merge> for Merge {
    fn from(merge: vitrine_domain::admin::Merge) -> Self {
        Self {
            key: SpecKey(Arc::new(merge.key)),
            remaining: count(merge.remaining),
        }
    }
}

/// The result of `mergeSpecKeys`.
#[derive(SimpleObject, Direct)]
pub(crate) struct MergeSpecKeysPayload {
    /// The key that remains. Both names refer to it from now on. Null if the mutation was refused.
    spec_key: Option<SpecKey>,
    /// The number of products that are still to be rewritten in the background; null if the mutation
    /// was refused.
    remaining: Option<i32>,
    /// Why nothing was written; empty on success.
    user_errors: List<UserError>,
}

impl From<PayloadParts<Merge>> for MergeSpecKeysPayload {
    fn from(parts: PayloadParts<Merge>) -> Self {
        let merged = parts.object.filter(|_| parts.user_errors.0.is_empty());
        let (spec_key, remaining) = merged.map(|merge| (merge.key, merge.remaining)).unzip();
        Self {
            spec_key,
            remaining,
            user_errors: parts.user_errors,
        }
    }
}
