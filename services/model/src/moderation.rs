//! The moderation queue: which of the waiting reviews, and in which order.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::id::ProductId;
use crate::rating::Stars;
use crate::review::{QueueReason, ReviewStatus};

/// A list of the moderation queue. All conditions that are present must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueList {
    /// Waiting for this reason.
    pub reason: Option<QueueReason>,
    /// Of this product.
    pub product: Option<ProductId>,
    /// With one of these ratings.
    pub ratings: Option<Vec<Stars>>,
    /// In this language; a two-letter code.
    pub language: Option<String>,
    /// Waiting since this time or later.
    pub since: Option<Timestamp>,
    /// Waiting since before this time.
    pub before: Option<Timestamp>,
    /// The order.
    pub sort: QueueSort,
}

/// An order of the moderation queue. Ties are broken by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum QueueSort {
    /// Longest-waiting first.
    #[default]
    Oldest,
    /// Shortest-waiting first.
    Newest,
}

/// How many reviews wait for one reason and have one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueCount {
    /// Why they wait.
    pub reason: QueueReason,
    /// Their status.
    pub status: ReviewStatus,
    /// How many there are.
    pub count: u64,
    /// Since when the first of them waits.
    pub oldest: Timestamp,
}
