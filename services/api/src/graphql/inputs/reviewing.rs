//! What the order system and admins say about purchases, authors and the numbers made of reviews.

use async_graphql::{ID, InputObject};
use vitrine_domain::reviewing::Purchase;
use vitrine_domain::reviewing::dimensions::{RatedBy, ReviewDimensions};
use vitrine_model::erasure;
use vitrine_model::id::ProductId;

use super::user_errors::{Asked, UserErrors, path};
use crate::graphql::scalars::DateTime;
use crate::graphql::types::erasure::ErasurePolicy;

/// A purchase. What the customer wrote or will write of the product is a buyer's.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RecordPurchaseInput {
    /// What was bought.
    product_id: ID,
    /// Who bought it: the subject of their tokens.
    customer_id: String,
    /// When; now when absent.
    purchased_at: Option<DateTime>,
    /// How many units: 1 to 10,000.
    #[graphql(default = 1)]
    quantity: i32,
    /// The order it was bought with, by the shop's own number: 1 to 128 printable ASCII characters.
    /// Units are counted once for each product and order, and without an order once for each
    /// product and customer.
    order_id: Option<String>,
}

/// An author to be taken out of everything.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct EraseAuthorInput {
    /// Who: the subject of their tokens.
    author_id: String,
    /// What becomes of what they wrote.
    policy: ErasurePolicy,
}

/// A product whose rating numbers are to be made what its reviews say.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RepairRatingStatsInput {
    /// The product.
    product_id: ID,
}

/// The aspects that some products are rated by, beside the stars for the whole. Give exactly one of
/// kind and category. Reviews that rate others keep them.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DefineReviewDimensionsInput {
    /// Of products of this kind: `book`.
    kind: Option<String>,
    /// Of products in the category with this slug, and below it.
    category: Option<String>,
    /// The aspects, such as `fit`: lower-case letters, digits and underscores, at most 20. They
    /// replace those that were defined; an empty list takes all away.
    names: Vec<String>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl RecordPurchaseInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<Purchase> {
        let mut errors = UserErrors::default();
        let product = errors.product(path(["productId"]), &self.product_id);
        let purchase = product.map(|product| Purchase {
            product,
            customer: self.customer_id,
            at: self.purchased_at.map(|at| at.0),
            quantity: self.quantity,
            order: self.order_id,
        });
        Asked {
            idempotency_key: None,
            expected_revision: None,
            wanted: errors.unless_any(purchase),
        }
    }
}

impl EraseAuthorInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(String, erasure::ErasurePolicy)> {
        Asked {
            idempotency_key: None,
            expected_revision: None,
            wanted: Ok((self.author_id, self.policy.into())),
        }
    }
}

impl RepairRatingStatsInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<ProductId> {
        let mut errors = UserErrors::default();
        let product = errors.product(path(["productId"]), &self.product_id);
        Asked {
            idempotency_key: None,
            expected_revision: None,
            wanted: errors.unless_any(product),
        }
    }
}

impl DefineReviewDimensionsInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<ReviewDimensions> {
        let mut errors = UserErrors::default();
        let of = match (self.kind, self.category) {
            (Some(kind), None) => Some(RatedBy::Kind(kind)),
            (None, Some(category)) => Some(RatedBy::Category(category)),
            _ => {
                errors.add(path([]), "give exactly one of kind and category");
                None
            }
        };
        let names = self.names;
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: errors.unless_any(of.map(|of| ReviewDimensions { of, names })),
        }
    }
}
