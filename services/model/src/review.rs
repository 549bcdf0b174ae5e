//! Reviews, and the excerpts of the most helpful ones that every product carries.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{AuthorId, ProductId, ReviewId};
use crate::product::Media;
use crate::rating::Stars;
use crate::text::excerpt;

/// How many of the most helpful reviews a product carries.
pub const TOP_REVIEWS: usize = 10;
/// The most characters of a review's body that the product carries.
pub const EXCERPT_CHARACTERS: usize = 300;
/// The longest title, in characters.
pub const MOST_TITLE_CHARACTERS: usize = 200;
/// The longest body, in characters.
pub const MOST_BODY_CHARACTERS: usize = 10_000;

/// Whether a review is seen and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// Waits for a moderator.
    Pending,
    /// Seen by everyone, and counted.
    Published,
    /// Refused by a moderator.
    Rejected,
    /// Taken back by its author.
    Deleted,
}

impl ReviewStatus {
    /// All states.
    pub const ALL: [Self; 4] = [
        Self::Pending,
        Self::Published,
        Self::Rejected,
        Self::Deleted,
    ];

    /// The name the state is stored by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Published => "published",
            Self::Rejected => "rejected",
            Self::Deleted => "deleted",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Who wrote a review, as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Who it is.
    pub id: AuthorId,
    /// The name shown.
    pub name: String,
}

/// Where an imported review comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The feed's system.
    pub system: String,
    /// The review's id there.
    pub external_id: String,
}

/// A review in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Identifies the review.
    pub id: ReviewId,
    /// The product it is about.
    pub product_id: ProductId,
    /// Who wrote it; absent on anonymous imports.
    pub author: Option<Author>,
    /// One to five stars.
    pub rating: Stars,
    /// Whether the author recommends the product, when told.
    pub recommended: Option<bool>,
    /// Stars for single aspects.
    pub dimensions: BTreeMap<String, Stars>,
    /// The title; may be empty.
    pub title: String,
    /// The text; may be empty on imports.
    pub body: String,
    /// The language as an IETF tag, when known.
    pub language: Option<String>,
    /// Pictures and films.
    pub media: Vec<Media>,
    /// Whether the author is known to have bought the product. Computed, never an input.
    pub verified: bool,
    /// Whether the author was given something for it.
    pub incentivized: bool,
    /// Where it was imported from.
    pub origin: Option<Origin>,
    /// Whether it is seen and counted.
    pub status: ReviewStatus,
    /// Votes that found it helpful, imported ones included.
    pub helpful: i64,
    /// Votes that did not, imported ones included.
    pub unhelpful: i64,
    /// Helpful votes that came with the import.
    pub imported_helpful: i64,
    /// Unhelpful votes that came with the import.
    pub imported_unhelpful: i64,
    /// When it was written; absent on imports without a date, which sort last.
    pub created_at: Option<Timestamp>,
    /// When its author last changed it.
    pub edited_at: Option<Timestamp>,
    /// Rises with each change by the author or a moderator.
    pub revision: i64,
    /// What of it is counted in its product at present.
    pub applied: Option<Applied>,
    /// Whether a fold has yet to look at it.
    pub dirty: bool,
}

/// What a review contributes to its product's computed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its stars.
    pub rating: Stars,
    /// The month it was written in, as [`Timestamp::month`] counts them.
    pub month: Option<i32>,
    /// Whether it recommends the product.
    pub recommended: Option<bool>,
    /// Its stars for single aspects.
    pub dimensions: BTreeMap<String, Stars>,
}

impl Review {
    /// What the review should contribute as it is now: nothing unless it is published.
    #[must_use]
    pub fn contribution(&self) -> Option<Applied> {
        (self.status == ReviewStatus::Published).then(|| Applied {
            rating: self.rating,
            month: self.created_at.map(Timestamp::month),
            recommended: self.recommended,
            dimensions: self.dimensions.clone(),
        })
    }

    /// What the product would carry of it.
    #[must_use]
    pub fn top(&self) -> TopReview {
        let cut = excerpt(&self.body, EXCERPT_CHARACTERS);
        TopReview {
            id: self.id,
            rating: self.rating,
            title: self.title.clone(),
            excerpt: cut.text,
            truncated: cut.truncated,
            author: self.author.clone(),
            helpful: self.helpful,
            verified: self.verified,
            created_at: self.created_at,
        }
    }
}

/// The part of a helpful review that its product carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopReview {
    /// The review.
    pub id: ReviewId,
    /// Its stars.
    pub rating: Stars,
    /// Its title.
    pub title: String,
    /// The beginning of its body.
    pub excerpt: String,
    /// Whether the body goes on.
    pub truncated: bool,
    /// Who wrote it.
    pub author: Option<Author>,
    /// How many found it helpful.
    pub helpful: i64,
    /// Whether the author is known to have bought the product.
    pub verified: bool,
    /// When it was written.
    pub created_at: Option<Timestamp>,
}

/// The place of a review among the most helpful ones. The greatest comes first: most helpful, of
/// equals the newest (undated last), of those the greatest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopKey {
    /// How many found it helpful.
    pub helpful: i64,
    /// When it was written; `None` is less than any date.
    pub created_at: Option<Timestamp>,
    /// The review.
    pub id: ReviewId,
}

impl TopReview {
    /// Its place among the most helpful.
    #[must_use]
    pub const fn key(&self) -> TopKey {
        TopKey {
            helpful: self.helpful,
            created_at: self.created_at,
            id: self.id,
        }
    }

    /// The order in which products carry them.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
