//! Output types for the erasure and export of an author's data.

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::reviewing::erasure;
use vitrine_model::erasure as model;

use super::common::count;
use crate::graphql::scalars::DateTime;

/// What an erasure does with an author's reviews, votes and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "model::ErasurePolicy")]
pub(crate) enum ErasurePolicy {
    /// Deletes reviews, votes and replies; they no longer count in ratings.
    Remove,
    /// Keeps reviews, votes and replies, and counts them, without a reference to the author.
    Anonymize,
}

/// A record of what an erasure did, and when.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct ErasureReceipt {
    /// The policy that was requested.
    policy: ErasurePolicy,
    /// When the erasure started.
    started_at: DateTime,
    /// When the erasure finished; null while it continues in the background.
    finished_at: Option<DateTime>,
    /// The number of reviews deleted or anonymized, including work done before an interruption.
    reviews: i32,
    /// The number of votes deleted or anonymized.
    votes: i32,
    /// The number of earlier review versions deleted.
    versions: i32,
    /// The number of replies deleted or anonymized.
    replies: i32,
    /// The number of review reports deleted or anonymized.
    reports: i32,
    /// The number of purchase records deleted.
    purchases: i32,
    /// The number of uploaded pictures deleted, with their files, or anonymized.
    pictures: i32,
    /// The number of idempotency records of mutations deleted.
    idempotency_records: i32,
}

/// The number of documents that still name an author. All are 0 unless the author continues to
/// write.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct ErasureResidue {
    /// The number of reviews.
    reviews: i32,
    /// The number of earlier review versions.
    versions: i32,
    /// The number of products whose top reviews name the author.
    top_reviews: i32,
    /// The number of votes.
    votes: i32,
    /// The number of replies to reviews.
    replies: i32,
    /// The number of review reports.
    reports: i32,
    /// The number of purchase records.
    purchases: i32,
    /// The number of uploaded pictures.
    pictures: i32,
    /// The number of idempotency records of mutations.
    idempotency_records: i32,
}

/// One page of an author's data.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct AuthorExport {
    /// One JSON text per review, earlier version, vote, report, reply, purchase and uploaded picture, each
    /// with a `type`. Joined by line breaks they form a JSON Lines file.
    lines: Vec<String>,
    /// The cursor to pass as `after` for the next page; null at the end.
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
            pictures: count(receipt.done.pictures),
            idempotency_records: count(receipt.done.idempotency_records),
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
            pictures: count(residue.pictures),
            idempotency_records: count(residue.idempotency_records),
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
