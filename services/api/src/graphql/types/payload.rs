//! What mutations answer.

use std::sync::Arc;

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::outcome::{self, Outcome};

use super::category::Category;
use super::common::count;
use super::product::Product;
use super::spec::{SpecKey, Unit};
use super::supplier::Supplier;
use crate::execution::Failure;

/// Why a mutation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "UserErrorCode", remote = "outcome::UserErrorCode")]
pub(crate) enum UserErrorCode {
    /// An input is wrong.
    Invalid,
    /// Something that the input names does not exist.
    NotFound,
    /// Another thing has this name, slug, sku or spelling.
    Taken,
    /// The thing has changed since the revision that the caller expected.
    RevisionConflict,
    /// The same idempotency key was used for another input.
    IdempotencyConflict,
    /// A value contradicts the type, the dimension or the allowed values of its spec key.
    TypeMismatch,
    /// A limit on size would be exceeded.
    TooLarge,
    /// It cannot be changed or removed any more, because others depend on it.
    InUse,
    /// The author has reviewed the product already. Edit that review instead.
    AlreadyReviewed,
    /// It is somebody else's review, or one's own where only others may act.
    NotAllowed,
    /// The product or the review is not in a state for it.
    NotOpen,
}

/// One reason why a mutation was refused. Nothing was written.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct UserError {
    /// What kind of reason; decide by it, not by the message.
    code: UserErrorCode,
    /// What is wrong and what would be right, for people.
    message: String,
    /// Where in the input: `["specs", "2", "unit"]`; empty when it is about the whole.
    path: Vec<String>,
    /// The revision that the thing has, for `REVISION_CONFLICT`.
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

/// What every payload is made of.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(super) thing: Option<T>,
    pub(super) user_errors: Vec<UserError>,
}

impl<T> Reply<T> {
    /// What became of an order, with the thing as the schema shows it.
    pub(crate) fn of<D>(
        outcome: Outcome<D>,
        show: impl FnOnce(D) -> Result<T, Failure>,
    ) -> Result<Self, Failure> {
        let (thing, refusals) = match outcome {
            Outcome::Done(thing) => (Some(thing), Vec::new()),
            Outcome::Refused { refusals, current } => (current, refusals),
        };
        Ok(Self {
            thing: thing.map(show).transpose()?,
            user_errors: refusals.into_iter().map(UserError::from).collect(),
        })
    }
}

macro_rules! payload {
    ($(#[$doc:meta])* $name:ident { $(#[$field_doc:meta])* $field:ident: $thing:ty }) => {
        $(#[$doc])*
        #[derive(SimpleObject)]
        pub(crate) struct $name {
            $(#[$field_doc])*
            $field: Option<$thing>,
            /// Why nothing was written; empty when it was.
            user_errors: Vec<UserError>,
        }

        impl From<Reply<$thing>> for $name {
            fn from(reply: Reply<$thing>) -> Self {
                Self { $field: reply.thing, user_errors: reply.user_errors }
            }
        }
    };
}

payload! {
    /// What became of createProduct.
    CreateProductPayload {
        /// The product that was made; null when it was refused.
        product: Product
    }
}

payload! {
    /// What became of updateProduct.
    UpdateProductPayload {
        /// The product as it is now, also when the change was refused.
        product: Product
    }
}

payload! {
    /// What became of setSpecs.
    SetSpecsPayload {
        /// The product as it is now, also when the change was refused.
        product: Product
    }
}

payload! {
    /// What became of removeSpecs.
    RemoveSpecsPayload {
        /// The product as it is now, also when the change was refused.
        product: Product
    }
}

payload! {
    /// What became of archiveProduct.
    ArchiveProductPayload {
        /// The product as it is now, also when the change was refused.
        product: Product
    }
}

payload! {
    /// What became of restoreProduct.
    RestoreProductPayload {
        /// The product as it is now, also when the change was refused.
        product: Product
    }
}

payload! {
    /// What became of createCategory.
    CreateCategoryPayload {
        /// The category that was made; null when it was refused.
        category: Category
    }
}

payload! {
    /// What became of updateCategory.
    UpdateCategoryPayload {
        /// The category as it is now, also when the change was refused.
        category: Category
    }
}

payload! {
    /// What became of createSupplier.
    CreateSupplierPayload {
        /// The supplier that was made; null when it was refused.
        supplier: Supplier
    }
}

payload! {
    /// What became of updateSupplier.
    UpdateSupplierPayload {
        /// The supplier as it is now, also when the change was refused.
        supplier: Supplier
    }
}

payload! {
    /// What became of defineUnit.
    DefineUnitPayload {
        /// The unit that was defined, or was defined just like this before; null when it was
        /// refused.
        unit: Unit
    }
}

payload! {
    /// What became of defineSpecKey.
    DefineSpecKeyPayload {
        /// The key as it is now; null when it was refused and there is no such key.
        spec_key: SpecKey
    }
}

payload! {
    /// What became of updateSpecKey.
    UpdateSpecKeyPayload {
        /// The key as it is now, also when the change was refused.
        spec_key: SpecKey
    }
}

/// A merge as it is shown.
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

/// What became of mergeSpecKeys.
#[derive(SimpleObject)]
pub(crate) struct MergeSpecKeysPayload {
    /// The key that stays, which both names mean from now on.
    spec_key: Option<SpecKey>,
    /// How many products are still to be rewritten in the background.
    remaining: Option<i32>,
    /// Why nothing was written; empty when it was.
    user_errors: Vec<UserError>,
}

impl From<Reply<Merge>> for MergeSpecKeysPayload {
    fn from(reply: Reply<Merge>) -> Self {
        let (spec_key, remaining) = reply
            .thing
            .map(|merge| (merge.key, merge.remaining))
            .unzip();
        Self {
            spec_key,
            remaining,
            user_errors: reply.user_errors,
        }
    }
}
