//! Inputs for purchases, the erasure of authors, and rating numbers.

use async_graphql::{ID, InputObject};
use vitrine_domain::reviewing::Purchase;
use vitrine_domain::reviewing::dimensions::{DimensionScope, ReviewDimensions};
use vitrine_model::erasure;
use vitrine_model::id::ProductId;

use super::user_errors::{ParsedInput, UserErrors, path};
use crate::graphql::scalars::DateTime;
use crate::graphql::types::erasure::ErasurePolicy;

/// The input of `recordPurchase`. Reviews of the product by the customer are marked as verified,
/// including existing ones.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RecordPurchaseInput {
    /// The global id of the product.
    product_id: ID,
    /// The customer: the subject of the customer's token.
    customer_id: String,
    /// When the product was bought; now when absent.
    purchased_at: Option<DateTime>,
    /// The number of units: 1 to 10,000.
    #[graphql(default = 1)]
    quantity: i32,
    /// The shop's order number: 1 to 128 printable ASCII characters. Units are counted once per
    /// product and order; without an order number, once per product and customer.
    order_id: Option<String>,
}

/// The input of `eraseAuthor`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct EraseAuthorInput {
    /// The author: the subject of the author's token.
    author_id: String,
    /// What to do with the author's reviews, votes and replies.
    policy: ErasurePolicy,
}

/// The input of `repairRatingStats`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RepairRatingStatsInput {
    /// The global id of the product.
    product_id: ID,
}

/// The input of `defineReviewDimensions`. Give exactly one of `kind` and `category`. Existing
/// reviews keep ratings of aspects that are no longer defined.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DefineReviewDimensionsInput {
    /// For products of this kind: `book`.
    kind: Option<String>,
    /// For products in the category with this slug and its subcategories.
    category: Option<String>,
    /// The names of the aspects, such as `fit`: lower-case letters, digits and underscores, at most
    /// 20 names. They replace the current ones; an empty list removes all.
    names: Vec<String>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl RecordPurchaseInput {
    pub(crate) fn parse(self) -> ParsedInput<Purchase> {
        let mut errors = UserErrors::default();
        let product = errors.product(path(["productId"]), &self.product_id);
        let purchase = product.map(|product| Purchase {
            product,
            customer: self.customer_id,
            at: self.purchased_at.map(|at| at.0),
            quantity: self.quantity,
            order: self.order_id,
        });
        ParsedInput {
            idempotency_key: None,
            expected_revision: None,
            value: errors.finish(purchase),
        }
    }
}

impl EraseAuthorInput {
    pub(crate) fn parse(self) -> ParsedInput<(String, erasure::ErasurePolicy)> {
        ParsedInput {
            idempotency_key: None,
            expected_revision: None,
            value: Ok((self.author_id, self.policy.into())),
        }
    }
}

impl RepairRatingStatsInput {
    pub(crate) fn parse(self) -> ParsedInput<ProductId> {
        let mut errors = UserErrors::default();
        let product = errors.product(path(["productId"]), &self.product_id);
        ParsedInput {
            idempotency_key: None,
            expected_revision: None,
            value: errors.finish(product),
        }
    }
}

impl DefineReviewDimensionsInput {
    pub(crate) fn parse(self) -> ParsedInput<ReviewDimensions> {
        let mut errors = UserErrors::default();
        let of = match (self.kind, self.category) {
            (Some(kind), None) => Some(DimensionScope::Kind(kind)),
            (None, Some(category)) => Some(DimensionScope::Category(category)),
            _ => {
                errors.add(path([]), "give exactly one of kind and category");
                None
            }
        };
        let names = self.names;
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: errors.finish(of.map(|of| ReviewDimensions { of, names })),
        }
    }
}
