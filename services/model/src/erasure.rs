//! Taking an author out of everything: by which policy, what was done, and what is left.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// What becomes of what an erased author wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasurePolicy {
    /// Reviews, votes and replies go, and are counted no more.
    Remove,
    /// Reviews, votes and replies stay and are counted, by nobody in particular.
    Anonymize,
}

impl ErasurePolicy {
    /// The name it is stored by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Anonymize => "anonymize",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Remove, Self::Anonymize]
            .into_iter()
            .find(|policy| policy.name() == name)
    }
}

/// What an erasure did, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureReceipt {
    /// What was asked for.
    pub policy: ErasurePolicy,
    /// Who asked: the subject of the token.
    pub by: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When nothing was left; `None` while it goes on.
    pub finished_at: Option<Timestamp>,
    /// What was changed, by whichever processes worked on it.
    pub done: ErasureCounts,
}

/// What an erasure changed, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureCounts {
    /// How many reviews were removed or made anonymous.
    pub reviews: i64,
    /// How many votes.
    pub votes: i64,
    /// How many earlier versions of reviews were deleted.
    pub versions: i64,
    /// How many replies.
    pub replies: i64,
    /// How many reports of reviews were made anonymous.
    pub reports: i64,
    /// How many purchases were deleted.
    pub purchases: i64,
    /// How many notes that make orders safe to give twice were deleted.
    pub orders: i64,
}

/// How many documents still name an author.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residue {
    /// Reviews.
    pub reviews: u64,
    /// Earlier versions of reviews.
    pub versions: u64,
    /// Products with a copy of a review.
    pub top_reviews: u64,
    /// Votes.
    pub votes: u64,
    /// Replies to reviews.
    pub replies: u64,
    /// Reports of reviews.
    pub reports: u64,
    /// Purchases.
    pub purchases: u64,
    /// Notes that make orders safe to give twice.
    pub orders: u64,
}

impl Residue {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
