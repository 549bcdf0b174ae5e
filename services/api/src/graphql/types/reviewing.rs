//! What mutations about reviews answer, and what is known of the numbers made of reviews.

use async_graphql::{Context, ID, Object, SimpleObject};
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::erasure::Erased;
use vitrine_domain::reviewing::ratings::{self, StatsAudit};
use vitrine_domain::reviewing::{Purchased, Reviewed, dimensions};
use vitrine_model::id::{GlobalId, ProductId};

use super::common::count;
use super::details::all;
use super::erasure::{ErasureReceipt, ErasureResidue};
use super::payload::{Reply, UserError};
use super::product::Product;
use super::review::Review;
use crate::execution::{Failure, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;

/// A review as it became, and the product to be looked up when it is selected.
pub(crate) struct Written {
    product: Option<ProductId>,
    review: Option<Review>,
    stats_pending: bool,
    user_errors: Vec<UserError>,
}

impl Written {
    /// What became of a review of this product.
    pub(crate) fn of(
        product: Option<ProductId>,
        outcome: Outcome<Reviewed>,
    ) -> Result<Self, Failure> {
        let reply = Reply::of(outcome, Ok)?;
        let stats_pending = reply.thing.as_ref().is_some_and(|done| done.stats_pending);
        Ok(Self {
            product,
            review: reply.thing.map(|done| done.review.into()),
            stats_pending,
            user_errors: reply.user_errors,
        })
    }
}

macro_rules! written {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) Written);

        $(#[$doc])*
        #[Object]
        impl $name {
            /// The review as it is now. When the mutation was refused, the review that is in the
            /// way, if the caller may know it.
            async fn review(&self) -> Option<Review> {
                self.0.review.clone()
            }

            /// The product as it is now; null when the caller may not see it. Looked up only when
            /// selected.
            async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
                product(self.0.product, ctx).await.nullable_at(ctx)
            }

            /// Whether the product's rating numbers are still to follow, within about a second.
            async fn stats_pending(&self) -> bool {
                self.0.stats_pending
            }

            /// Why nothing was written; empty when it was.
            async fn user_errors(&self) -> Vec<UserError> {
                self.0.user_errors.clone()
            }
        }
    };
}

written! {
    /// What became of submitReview.
    SubmitReviewPayload
}

written! {
    /// What became of editReview.
    EditReviewPayload
}

written! {
    /// What became of deleteReview.
    DeleteReviewPayload
}

written! {
    /// What became of moderateReview.
    ModerateReviewPayload
}

macro_rules! marked {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(SimpleObject)]
        pub(crate) struct $name {
            /// The review as it is now, also when the mutation was refused, if the caller may know
            /// it.
            review: Option<Review>,
            /// Why nothing was written; empty when it was.
            user_errors: Vec<UserError>,
        }

        impl From<Reply<Review>> for $name {
            fn from(reply: Reply<Review>) -> Self {
                Self { review: reply.thing, user_errors: reply.user_errors }
            }
        }
    };
}

marked! {
    /// What became of voteReview.
    VoteReviewPayload
}

marked! {
    /// What became of removeVote.
    RemoveVotePayload
}

marked! {
    /// What became of reportReview.
    ReportReviewPayload
}

marked! {
    /// What became of replyToReview.
    ReplyToReviewPayload
}

/// What became of recordPurchase.
pub(crate) struct RecordPurchasePayload {
    product: Option<ProductId>,
    recorded: Option<bool>,
    user_errors: Vec<UserError>,
}

impl RecordPurchasePayload {
    /// What became of a purchase of this product.
    pub(crate) fn of(
        product: Option<ProductId>,
        outcome: Outcome<Purchased>,
    ) -> Result<Self, Failure> {
        let reply = Reply::of(outcome, |purchased| Ok(purchased.new))?;
        Ok(Self {
            product,
            recorded: reply.thing,
            user_errors: reply.user_errors,
        })
    }
}

/// What became of recordPurchase.
#[Object]
impl RecordPurchasePayload {
    /// The product; null when the caller may not see it. Looked up only when selected.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
        product(self.product, ctx).await.nullable_at(ctx)
    }

    /// Whether the purchase was not known before; null when it was refused.
    async fn recorded(&self) -> Option<bool> {
        self.recorded
    }

    /// Why nothing was written; empty when it was.
    async fn user_errors(&self) -> Vec<UserError> {
        self.user_errors.clone()
    }
}

/// What became of eraseAuthor.
#[derive(SimpleObject)]
pub(crate) struct EraseAuthorPayload {
    /// What was done; null when it was refused.
    receipt: Option<ErasureReceipt>,
    /// What still names the author; null when it was refused.
    residue: Option<ErasureResidue>,
    /// Why nothing was written; empty when it was.
    user_errors: Vec<UserError>,
}

impl From<Reply<Erased>> for EraseAuthorPayload {
    fn from(reply: Reply<Erased>) -> Self {
        let both = |done: Erased| (done.receipt.into(), done.residue.into());
        let (receipt, residue) = reply.thing.map(both).unzip();
        Self {
            receipt,
            residue,
            user_errors: reply.user_errors,
        }
    }
}

/// What became of repairRatingStats.
pub(crate) struct RepairRatingStatsPayload {
    product: Option<ProductId>,
    differences: Vec<StatsDifference>,
    user_errors: Vec<UserError>,
}

impl RepairRatingStatsPayload {
    /// What became of the repair of this product.
    pub(crate) fn of(
        product: Option<ProductId>,
        outcome: Outcome<ratings::Repaired>,
    ) -> Result<Self, Failure> {
        let reply = Reply::of(outcome, |repaired| Ok(repaired.differences))?;
        Ok(Self {
            product,
            differences: all(reply.thing.unwrap_or_default()),
            user_errors: reply.user_errors,
        })
    }
}

/// What became of repairRatingStats.
#[Object]
impl RepairRatingStatsPayload {
    /// The product as it is now; null when there is none. Looked up only when selected.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
        product(self.product, ctx).await.nullable_at(ctx)
    }

    /// What differed before; empty when nothing did, or when it was refused.
    async fn differences(&self) -> &[StatsDifference] {
        &self.differences
    }

    /// Why nothing was written; empty when it was.
    async fn user_errors(&self) -> Vec<UserError> {
        self.user_errors.clone()
    }
}

/// What became of defineReviewDimensions.
#[derive(SimpleObject)]
pub(crate) struct DefineReviewDimensionsPayload {
    /// The aspects as they are defined now; null when it was refused.
    names: Option<Vec<String>>,
    /// Why nothing was written; empty when it was.
    user_errors: Vec<UserError>,
}

impl From<Reply<dimensions::ReviewDimensions>> for DefineReviewDimensionsPayload {
    fn from(reply: Reply<dimensions::ReviewDimensions>) -> Self {
        Self {
            names: reply.thing.map(|defined| defined.names),
            user_errors: reply.user_errors,
        }
    }
}

/// What a recount of some products found.
#[derive(SimpleObject)]
pub(crate) struct RatingStatsAudit {
    /// How many products were counted.
    checked: i32,
    /// How many of them have reviews that are still to be counted, so that nothing can be said.
    pending: i32,
    /// What differs; empty when all is well.
    differences: Vec<StatsDifference>,
    /// Give it as `after` for the products that follow; null at the end.
    end_cursor: Option<String>,
}

impl From<StatsAudit> for RatingStatsAudit {
    fn from(audit: StatsAudit) -> Self {
        Self {
            checked: count(audit.checked),
            pending: count(audit.pending),
            differences: all(audit.differences),
            end_cursor: audit.last.map(|last| GlobalId::Product(last).encode()),
        }
    }
}

/// A number of a product that is not what its reviews say.
pub(crate) struct StatsDifference(ratings::StatsDifference);

impl From<ratings::StatsDifference> for StatsDifference {
    fn from(difference: ratings::StatsDifference) -> Self {
        Self(difference)
    }
}

/// A number of a product that is not what its reviews say.
#[Object]
impl StatsDifference {
    /// The id of the product.
    async fn product_id(&self) -> ID {
        GlobalId::Product(self.0.product).encode().into()
    }

    /// The product. One look-up for all differences.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
        product(Some(self.0.product), ctx).await.nullable_at(ctx)
    }

    /// Which number: `histogram`, `recommended`, `dimensions`, `traits` (what reviews are filtered
    /// by), `months`, `topReviews`, `large`, or `derived` for what follows from them, such as ranks.
    async fn field(&self) -> &str {
        self.0.field
    }

    /// What is stored, for people.
    async fn stored(&self) -> &str {
        &self.0.stored
    }

    /// What the reviews say, for people.
    async fn expected(&self) -> &str {
        &self.0.expected
    }
}

async fn product(id: Option<ProductId>, ctx: &Context<'_>) -> Result<Option<Product>, Failure> {
    let Some(id) = id else { return Ok(None) };
    let found = ctx.session().loaders.product(id).await?;
    found.map(Product::of).transpose()
}
