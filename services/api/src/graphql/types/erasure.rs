//! Taking an author out of everything, and giving an author everything they wrote.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::reviewing::erasure;
use vitrine_model::erasure as model;

use super::common::count;
use crate::graphql::scalars::DateTime;

/// What becomes of what an erased author wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "model::ErasurePolicy")]
pub(crate) enum ErasurePolicy {
    /// Reviews, votes and replies go, and are counted no more.
    Remove,
    /// Reviews, votes and replies stay and are counted, by nobody in particular.
    Anonymize,
}

/// What an erasure did, and when.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct ErasureReceipt {
    /// What was asked for.
    policy: ErasurePolicy,
    /// When it began.
    started_at: DateTime,
    /// When nothing was left; null while it goes on in the background.
    finished_at: Option<DateTime>,
    /// How many reviews were removed or made anonymous, also before it was cut off.
    reviews: i32,
    /// How many votes.
    votes: i32,
    /// How many earlier versions of reviews were deleted.
    versions: i32,
    /// How many replies.
    replies: i32,
    /// How many reports of reviews.
    reports: i32,
    /// How many purchases were deleted.
    purchases: i32,
    /// How many notes that make mutations safe to send twice were deleted.
    orders: i32,
}

/// How many documents still name an author: none, unless they go on writing.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct ErasureResidue {
    /// Reviews.
    reviews: i32,
    /// Earlier versions of reviews.
    versions: i32,
    /// Products that carry a part of a review.
    top_reviews: i32,
    /// Votes.
    votes: i32,
    /// Replies to reviews.
    replies: i32,
    /// Reports of reviews.
    reports: i32,
    /// Purchases.
    purchases: i32,
    /// Notes that make mutations safe to send twice.
    orders: i32,
}

/// Some of what an author wrote.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct AuthorExport {
    /// One JSON text for each review, earlier version, vote, report, reply and purchase, with its
    /// `type`. Joined by line breaks they are a JSON Lines file.
    lines: Vec<String>,
    /// Give it as `after` for what follows; null at the end.
    end_cursor: Option<String>,
}

impl From<model::ErasureReceipt> for ErasureReceipt {
    fn from(receipt: model::ErasureReceipt) -> Self {
        Self {
            policy: receipt.policy.into(),
            started_at: DateTime(receipt.started_at),
            finished_at: receipt.finished_at.map(DateTime),
            reviews: count(receipt.done.reviews),
            votes: count(receipt.done.votes),
            versions: count(receipt.done.versions),
            replies: count(receipt.done.replies),
            reports: count(receipt.done.reports),
            purchases: count(receipt.done.purchases),
            orders: count(receipt.done.orders),
        }
    }
}

impl From<model::Residue> for ErasureResidue {
    fn from(residue: model::Residue) -> Self {
        Self {
            reviews: count(residue.reviews),
            versions: count(residue.versions),
            top_reviews: count(residue.top_reviews),
            votes: count(residue.votes),
            replies: count(residue.replies),
            reports: count(residue.reports),
            purchases: count(residue.purchases),
            orders: count(residue.orders),
        }
    }
}

impl From<erasure::AuthorExport> for AuthorExport {
    fn from(export: erasure::AuthorExport) -> Self {
        Self {
            lines: export.lines,
            end_cursor: export.next,
        }
    }
}
