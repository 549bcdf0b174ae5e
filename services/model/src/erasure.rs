//! Erasing an author: the policy, what was changed, and what is left.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// What an erasure does with the author's reviews, votes and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasurePolicy {
    /// They are deleted and no longer counted.
    Remove,
    /// They stay and are counted, under a generated id that belongs to no person.
    Anonymize,
}

impl ErasurePolicy {
    /// The name under which it is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Anonymize => "anonymize",
        }
    }

    /// The policy with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Remove, Self::Anonymize]
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// An erasure: who requested it, when it ran, and what it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureReceipt {
    /// The policy requested.
    pub policy: ErasurePolicy,
    /// The subject of the token that requested it.
    pub by: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it finished; `None` while it is running.
    pub finished_at: Option<Timestamp>,
    /// What was changed, by all processes that worked on it.
    pub done: ErasureCounts,
}

/// Numbers of documents that an erasure changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureCounts {
    /// Reviews deleted or anonymized.
    pub reviews: i64,
    /// Votes deleted or anonymized.
    pub votes: i64,
    /// Earlier versions of reviews deleted.
    pub versions: i64,
    /// Replies deleted or anonymized.
    pub replies: i64,
    /// Reports of reviews anonymized.
    pub reports: i64,
    /// Purchases deleted.
    pub purchases: i64,
    /// Uploaded pictures deleted or anonymized.
    pub pictures: i64,
    /// Idempotency records of the author's requests deleted.
    pub idempotency_records: i64,
}

/// Numbers of documents that still name an author.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residue {
    /// Reviews.
    pub reviews: u64,
    /// Earlier versions of reviews.
    pub versions: u64,
    /// Products that embed a review by the author.
    pub top_reviews: u64,
    /// Votes.
    pub votes: u64,
    /// Replies to reviews.
    pub replies: u64,
    /// Reports of reviews.
    pub reports: u64,
    /// Purchases.
    pub purchases: u64,
    /// Uploaded pictures.
    pub pictures: u64,
    /// Idempotency records.
    pub idempotency_records: u64,
}

impl Residue {
    /// Returns true if nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
