//! Payloads of mutations on reviews, purchases and ratings, and the audit of rating numbers.

use async_graphql::{Context, ID, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::erasure::Erased;
use vitrine_domain::reviewing::ratings::{self, StatsAudit};
use vitrine_domain::reviewing::{Purchased, Reviewed, dimensions};
use vitrine_model::id::{GlobalId, ProductId};

use super::common::count;
use super::details::all;
use super::erasure::{ErasureReceipt, ErasureResidue};
use super::payload::{PayloadParts, UserError};
use super::product::Product;
use super::review::Review;
use crate::execution::direct::One;
use crate::execution::{Failure, List, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;

/// The outcome of a mutation on a review. The product is looked up only if selected.
pub(crate) struct ReviewOutcome {
    product: Option<ProductId>,
    review: Option<Review>,
    stats_pending: bool,
    user_errors: List<UserError>,
}

impl ReviewOutcome {
    pub(crate) fn of(
        product: Option<ProductId>,
        outcome: Outcome<Reviewed>,
    ) -> Result<Self, Failure> {
        let parts = PayloadParts::of(outcome, Ok)?;
        let stats_pending = parts.object.as_ref().is_some_and(|done| done.stats_pending);
        Ok(Self {
            product,
            review: parts.object.map(|done| done.review.into()),
            stats_pending,
            user_errors: parts.user_errors,
        })
    }
}

macro_rules! review_change_payload {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) ReviewOutcome);

        $(#[$doc])*
        #[direct]
        #[Object]
        impl $name {
            /// The review as it is now. If the mutation was refused, the review that it is about if
            /// the caller may change it; otherwise null.
            fn review(&self) -> Option<Review> {
                self.0.review.clone()
            }

            /// The product as it is now; null if the caller may not see it. Looked up only if
            /// selected.
            async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
                product(self.0.product, ctx).await.nullable_at(ctx)
            }

            /// Whether the product's rating numbers do not yet include this change. They follow
            /// within about a second.
            fn stats_pending(&self) -> bool {
                self.0.stats_pending
            }

            /// Why nothing was written; empty on success.
            fn user_errors(&self) -> List<UserError> {
                self.0.user_errors.clone()
            }
        }
    };
}

review_change_payload! {
    /// The result of `submitReview`.
    SubmitReviewPayload
}

review_change_payload! {
    /// The result of `editReview`.
    EditReviewPayload
}

review_change_payload! {
    /// The result of `deleteReview`.
    DeleteReviewPayload
}

review_change_payload! {
    /// The result of `moderateReview`.
    ModerateReviewPayload
}

macro_rules! review_payload {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(SimpleObject, Direct)]
        pub(crate) struct $name {
            /// The review as it is now, also if the mutation was refused; null if the caller may
            /// not see it.
            review: Option<Review>,
            /// Why nothing was written; empty on success.
            user_errors: List<UserError>,
        }

        impl From<PayloadParts<Review>> for $name {
            fn from(parts: PayloadParts<Review>) -> Self {
                Self { review: parts.object, user_errors: parts.user_errors }
            }
        }
    };
}

review_payload! {
    /// The result of `voteReview`.
    VoteReviewPayload
}

review_payload! {
    /// The result of `removeVote`.
    RemoveVotePayload
}

review_payload! {
    /// The result of `reportReview`.
    ReportReviewPayload
}

review_payload! {
    /// The result of `replyToReview`.
    ReplyToReviewPayload
}

pub(crate) struct RecordPurchasePayload {
    product: Option<ProductId>,
    recorded: Option<bool>,
    user_errors: List<UserError>,
}

impl RecordPurchasePayload {
    pub(crate) fn of(
        product: Option<ProductId>,
        outcome: Outcome<Purchased>,
    ) -> Result<Self, Failure> {
        let parts = PayloadParts::of(outcome, |purchased| Ok(purchased.new))?;
        Ok(Self {
            product,
            recorded: parts.object,
            user_errors: parts.user_errors,
        })
    }
}

/// The result of `recordPurchase`.
#[direct]
#[Object]
impl RecordPurchasePayload {
    /// The product; null if the caller may not see it. Looked up only if selected.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        product(self.product, ctx).await.nullable_at(ctx)
    }

    /// Whether the purchase is new, that is, had not been recorded before. Null if it was refused.
    fn recorded(&self) -> Option<bool> {
        self.recorded
    }

    /// Why nothing was written; empty on success.
    fn user_errors(&self) -> List<UserError> {
        self.user_errors.clone()
    }
}

/// The result of `eraseAuthor`.
#[derive(SimpleObject, Direct)]
pub(crate) struct EraseAuthorPayload {
    /// A record of what was done; null if the mutation was refused.
    receipt: Option<ErasureReceipt>,
    /// The documents that still name the author; null if the mutation was refused.
    residue: Option<ErasureResidue>,
    /// Why nothing was written; empty on success.
    user_errors: List<UserError>,
}

impl From<PayloadParts<Erased>> for EraseAuthorPayload {
    fn from(parts: PayloadParts<Erased>) -> Self {
        let both = |done: Erased| (done.receipt.into(), done.residue.into());
        let (receipt, residue) = parts.object.map(both).unzip();
        Self {
            receipt,
            residue,
            user_errors: parts.user_errors,
        }
    }
}

pub(crate) struct RepairRatingStatsPayload {
    product: Option<ProductId>,
    differences: List<StatsDifference>,
    user_errors: List<UserError>,
}

impl RepairRatingStatsPayload {
    pub(crate) fn of(
        product: Option<ProductId>,
        outcome: Outcome<ratings::Repaired>,
    ) -> Result<Self, Failure> {
        let parts = PayloadParts::of(outcome, |repaired| Ok(repaired.differences))?;
        Ok(Self {
            product,
            differences: all(parts.object.unwrap_or_default()),
            user_errors: parts.user_errors,
        })
    }
}

/// The result of `repairRatingStats`.
#[direct]
#[Object]
impl RepairRatingStatsPayload {
    /// The product as it is now; null if it does not exist. Looked up only if selected.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        product(self.product, ctx).await.nullable_at(ctx)
    }

    /// The differences found before the repair; empty if there were none or the mutation was
    /// refused.
    fn differences(&self) -> &List<StatsDifference> {
        &self.differences
    }

    /// Why nothing was written; empty on success.
    fn user_errors(&self) -> List<UserError> {
        self.user_errors.clone()
    }
}

/// The result of `defineReviewDimensions`.
#[derive(SimpleObject, Direct)]
pub(crate) struct DefineReviewDimensionsPayload {
    /// The aspects as defined now; null if the mutation was refused.
    names: Option<Vec<String>>,
    /// Why nothing was written; empty on success.
    user_errors: List<UserError>,
}

impl From<PayloadParts<dimensions::ReviewDimensions>> for DefineReviewDimensionsPayload {
    fn from(parts: PayloadParts<dimensions::ReviewDimensions>) -> Self {
        Self {
            names: parts.object.map(|defined| defined.names),
            user_errors: parts.user_errors,
        }
    }
}

/// The result of recounting the reviews of some products.
#[derive(SimpleObject, Direct)]
pub(crate) struct RatingStatsAudit {
    /// The number of products checked.
    checked: i32,
    /// The number of them with reviews that are not yet counted, so that they could not be
    /// compared.
    pending: i32,
    /// The differences; empty if all numbers are correct.
    differences: List<StatsDifference>,
    /// The cursor to pass as `after` for the next products; null at the end.
    end_cursor: Option<String>,
}

impl From<StatsAudit> for RatingStatsAudit {
    fn from(audit: StatsAudit) -> Self {
        Self {
            checked: count(audit.checked),
            pending: count(audit.uncounted.len()),
            differences: all(audit.differences),
            end_cursor: audit.last.map(|last| GlobalId::Product(last).encode()),
        }
    }
}

pub(crate) struct StatsDifference(ratings::StatsDifference);

impl From<ratings::StatsDifference> for StatsDifference {
    fn from(difference: ratings::StatsDifference) -> Self {
        Self(difference)
    }
}

/// A stored number of a product that differs from a recount of its reviews.
#[direct]
#[Object]
impl StatsDifference {
    /// The global id of the product.
    fn product_id(&self) -> ID {
        GlobalId::Product(self.0.product).encode().into()
    }

    /// The product. One database query for all differences.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        product(Some(self.0.product), ctx).await.nullable_at(ctx)
    }

    /// The number that differs: `histogram`, `recommended`, `dimensions`, `traits` (the properties
    /// that reviews are filtered by), `months`, `topReviews`, `large`, or `derived` for values
    /// computed from these, such as ranks.
    fn field(&self) -> &str {
        self.0.field
    }

    /// The stored value, formatted for display.
    fn stored(&self) -> &str {
        &self.0.stored
    }

    /// The recounted value, formatted for display.
    fn expected(&self) -> &str {
        &self.0.expected
    }
}

pub(super) async fn product(
    id: Option<ProductId>,
    ctx: &Context<'_>,
) -> Result<Option<One<Product>>, Failure> {
    let Some(id) = id else { return Ok(None) };
    let found = ctx.session().loaders.product(id).await?;
    found.map(Product::one).transpose()
}
