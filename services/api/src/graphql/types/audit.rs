//! The status of the audit as a whole.

use async_graphql::{Context, ID, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::reviewing::ratings::{AuditFinding, AuditRound, AuditStatus};
use vitrine_model::id::GlobalId;

use super::common::count;
use super::product::Product;
use super::reviewing::product;
use crate::execution::direct::One;
use crate::execution::{List, NullableAt as _, R};
use crate::graphql::scalars::DateTime;

/// What the worker `audit` found, and when it last went through everything.
#[derive(Clone, SimpleObject, Direct)]
pub(crate) struct AuditFindings {
    /// The last complete round through all products; null before the first one.
    last_round: Option<AuditRoundSummary>,
    /// The differences that were seen last, latest first. They are kept for 30 days; of one round,
    /// the first 1,000.
    findings: List<Finding>,
}

/// A round of the audit through all products.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct AuditRoundSummary {
    /// When it began.
    began_at: DateTime,
    /// When it ended.
    ended_at: DateTime,
    /// The number of products recounted.
    products: i32,
    /// The number of differences found.
    differences: i32,
}

impl From<AuditRound> for AuditRoundSummary {
    fn from(round: AuditRound) -> Self {
        Self {
            began_at: DateTime(round.began_at),
            ended_at: DateTime(round.ended_at),
            products: count(round.products),
            differences: count(round.differences),
        }
    }
}

impl From<AuditStatus> for AuditFindings {
    fn from(status: AuditStatus) -> Self {
        Self {
            last_round: status.last_round.map(Into::into),
            findings: status.findings.into_iter().map(Finding).collect(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Finding(AuditFinding);

/// A stored number of a product that differed from a recount of its reviews.
#[direct]
#[Object(name = "AuditFinding")]
impl Finding {
    /// The global id of the product.
    fn product_id(&self) -> ID {
        GlobalId::Product(self.0.product).encode().into()
    }

    /// The product. One database query for all findings.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        product(Some(self.0.product), ctx).await.nullable_at(ctx)
    }

    /// The number that differed, named as in `StatsDifference`.
    fn field(&self) -> &str {
        &self.0.field
    }

    /// The stored value when it was last seen, formatted for display.
    fn stored(&self) -> &str {
        &self.0.stored
    }

    /// The recounted value then, formatted for display.
    fn expected(&self) -> &str {
        &self.0.expected
    }

    /// When it was first seen.
    fn first_seen_at(&self) -> DateTime {
        DateTime(self.0.first_seen_at)
    }

    /// When it was last seen.
    fn last_seen_at(&self) -> DateTime {
        DateTime(self.0.last_seen_at)
    }

    /// The end of the first round that no longer found it; null while it may be wrong.
    fn resolved_at(&self) -> Option<DateTime> {
        self.0.resolved_at.map(DateTime)
    }
}
