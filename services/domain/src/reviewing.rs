//! Mutations of reviews by authors, readers, moderators and the shop.
//!
//! The acting subject always comes from the caller's token, never from an input. A refusal names
//! the reason and returns the current review; nothing is written.

use serde::Serialize;
use std::sync::Arc;

use vitrine_model::clock::Timestamp;
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::moderation::{QueueCount, QueueList};
use vitrine_model::product::Media;
use vitrine_model::rating::Stars;
use vitrine_model::review::{DecisionReason, Review, ReviewStatus, Vote};
use vitrine_storage::keyset::Page;
pub use vitrine_storage::reviewing::Report;

use crate::page::{HasMore, Listed, PageArguments};
use crate::{Catalog, DomainError};

mod checks;
pub mod dimensions;
pub mod erasure;
mod group_commit;
mod hot_products;
mod moderation;
pub mod ratings;
mod reactions;
mod writing;

pub use checks::is_subject;
pub(crate) use hot_products::HotProducts;

/// When reviews are moderated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moderation {
    /// Reviews are visible at once and moderated when somebody reports them.
    #[default]
    After,
    /// Reviews are visible once a moderator has published them.
    Before,
}

/// Identifies a review: reviews are sharded by product.
pub type ReviewKey = (ProductId, ReviewId);

/// The content of a review as its author submits it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewContent {
    /// Stars, 1 to 5.
    pub rating: i64,
    /// Whether the author recommends the product.
    pub recommended: Option<bool>,
    /// Stars for single dimensions, by name.
    pub dimensions: Vec<(String, i64)>,
    /// A title of one line; may be empty.
    pub title: String,
    /// The text.
    pub body: String,
    /// The language as an IETF language tag, such as `pt-BR`.
    pub language: Option<String>,
    /// Images and videos.
    pub media: Vec<Media>,
    /// The displayed name of the author.
    pub author_name: Option<String>,
}

/// Changes to a review. `None` leaves a field unchanged; `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReviewPatch {
    /// Stars, 1 to 5.
    pub rating: Option<i64>,
    /// Whether the author recommends the product.
    pub recommended: Option<Option<bool>>,
    /// Stars for single dimensions; replaces all.
    pub dimensions: Option<Vec<(String, i64)>>,
    /// The title.
    pub title: Option<String>,
    /// The text.
    pub body: Option<String>,
    /// The language.
    pub language: Option<Option<String>>,
    /// Images and videos; replaces all.
    pub media: Option<Vec<Media>>,
    /// The displayed name of the author.
    pub author_name: Option<String>,
}

/// A written review.
#[derive(Clone, Debug, PartialEq)]
pub struct Reviewed {
    /// The current review.
    pub review: Review,
    /// Whether the rating statistics of its product do not include the change yet.
    pub stats_pending: bool,
}

/// What a moderator does with a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModerationAction {
    /// Makes it visible and closes its open reports.
    Publish,
    /// Hides it.
    Reject,
    /// Puts it back into the moderation queue.
    Restore,
}

impl ModerationAction {
    /// The status that the review gets.
    pub(crate) const fn status(self) -> ReviewStatus {
        match self {
            Self::Publish => ReviewStatus::Published,
            Self::Reject => ReviewStatus::Rejected,
            Self::Restore => ReviewStatus::Pending,
        }
    }
}

/// A purchase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purchase {
    /// The product.
    pub product: ProductId,
    /// The buyer: the subject of their tokens.
    pub customer: String,
    /// The time of the purchase; now if absent.
    pub at: Option<Timestamp>,
    /// The number of units.
    pub quantity: i32,
    /// The shop's order number. Without one, all purchases of a product by a customer count as one.
    pub order: Option<String>,
}

/// A recorded purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purchased {
    /// The product.
    pub product: ProductId,
    /// Whether it had not been recorded before.
    pub new: bool,
}

/// A page of the moderation queue to read.
#[derive(Clone, Debug)]
pub struct QueueQuery {
    /// Which reviews, in which order.
    pub list: QueueList,
    /// The page arguments.
    pub page: PageArguments,
}

/// A page of the moderation queue.
pub type QueuePage = Listed<Arc<Review>, QueueList>;

/// The maximum number of waiting reviews that are counted by reason and status.
pub const MAX_COUNTED_IN_QUEUE: u32 = 10_000;

/// How many reviews wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCounts {
    /// By reason and status.
    pub counts: Vec<QueueCount>,
    /// Whether these are all; otherwise at least as many wait.
    pub is_exact: bool,
}

/// Moderators' decisions in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FairnessReport {
    /// By stars, ascending; always five entries.
    pub by_rating: Vec<RatingDecisions>,
    /// By moderator, sorted by subject.
    pub by_moderator: Vec<ModeratorDecisions>,
}

/// Decisions about reviews of one rating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatingDecisions {
    /// The stars.
    pub rating: Stars,
    /// The numbers of decisions.
    pub decisions: DecisionCounts,
}

/// Decisions of one moderator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeratorDecisions {
    /// The subject of the moderator's token.
    pub moderator: String,
    /// The numbers of decisions.
    pub decisions: DecisionCounts,
    /// The same by stars, ascending; always five entries.
    pub by_rating: Vec<RatingDecisions>,
}

/// The numbers of published and rejected reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionCounts {
    /// Published.
    pub published: i64,
    /// Rejected.
    pub rejected: i64,
}

impl DecisionCounts {
    fn count(&mut self, to: ReviewStatus, n: i64) {
        match to {
            ReviewStatus::Published => self.published += n,
            ReviewStatus::Rejected => self.rejected += n,
            ReviewStatus::Pending | ReviewStatus::Deleted => {}
        }
    }
}

impl Catalog {
    /// A page of the moderation queue. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid filter or page, [`DomainError::InvalidCursor`] for a
    /// cursor of another list.
    pub async fn moderation_queue(&self, query: QueueQuery) -> Result<QueuePage, DomainError> {
        use vitrine_model::cursor::ListFingerprint;
        let list = query.list;
        if let (Some(since), Some(before)) = (list.since, list.before)
            && since >= before
        {
            return Err(DomainError::invalid(
                "filter.queuedBefore",
                "must be after queuedSince",
            ));
        }
        let described = serde_json::to_vec(&list).expect("lists are plain data");
        let fingerprint = ListFingerprint::of(&[b"queue", &described]);
        let request = query.page.request(self, fingerprint)?;
        let (wanted, page_request) = (list.clone(), request.clone());
        let page: Page<Review> = self
            .read(|store| async move { store.page_queue(&wanted, &page_request).await })
            .await?;
        let page = page.map(Arc::new);
        Ok(Listed::new(self, fingerprint, list, request, page))
    }

    /// How many reviews wait, by reason and status: of at most [`MAX_COUNTED_IN_QUEUE`]. One command.
    pub async fn queue_counts(&self) -> Result<QueueCounts, DomainError> {
        let max = MAX_COUNTED_IN_QUEUE + 1;
        let counts = self
            .read(|store| async move { store.queue_counts(max).await })
            .await?;
        let counted: u64 = counts.iter().map(|one| one.count).sum();
        Ok(QueueCounts {
            counts,
            is_exact: counted < u64::from(max),
        })
    }

    /// Whether the queue has reviews after a page. At most one command.
    pub async fn queue_follows(&self, page: &QueuePage) -> Result<bool, DomainError> {
        self.has_queued(&page.list, page.has_more_after()).await
    }

    /// Whether the queue has reviews before a page. At most one command.
    pub async fn queue_precedes(&self, page: &QueuePage) -> Result<bool, DomainError> {
        self.has_queued(&page.list, page.has_more_before()).await
    }

    async fn has_queued(&self, list: &QueueList, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                let list = list.clone();
                self.read(|store| async move { store.has_queued(&list, from).await })
                    .await
            }
        }
    }

    /// The length of a list of the moderation queue, counted up to `max`.
    pub async fn count_queue(&self, list: &QueueList, max: u64) -> Result<u64, DomainError> {
        let list = list.clone();
        self.read(|store| async move { store.count_queue(&list, max).await })
            .await
    }

    /// Moderators' decisions from `from` (inclusive) to `to` (exclusive).
    ///
    /// # Errors
    /// [`DomainError::Invalid`] unless `to` is after `from`.
    pub async fn fairness_report(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<FairnessReport, DomainError> {
        if to <= from {
            return Err(DomainError::invalid("to", "must be after from"));
        }
        let counts = self
            .read(|store| async move { store.count_decisions(from, to).await })
            .await?;
        let mut report = FairnessReport {
            by_rating: no_decisions(),
            by_moderator: Vec::new(),
        };
        for count in counts {
            report.by_rating[count.rating.index()]
                .decisions
                .count(count.to, count.count);
            // The counts are sorted by moderator.
            if report
                .by_moderator
                .last()
                .is_none_or(|last| last.moderator != count.by)
            {
                report.by_moderator.push(ModeratorDecisions {
                    moderator: count.by.clone(),
                    decisions: DecisionCounts::default(),
                    by_rating: no_decisions(),
                });
            }
            if let Some(own) = report.by_moderator.last_mut() {
                own.decisions.count(count.to, count.count);
                own.by_rating[count.rating.index()]
                    .decisions
                    .count(count.to, count.count);
            }
        }
        Ok(report)
    }
}

fn no_decisions() -> Vec<RatingDecisions> {
    let none = |rating| RatingDecisions {
        rating,
        decisions: DecisionCounts::default(),
    };
    Stars::ALL.into_iter().map(none).collect()
}

/// A moderator's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModerationInput {
    /// What to do with the review.
    pub action: ModerationAction,
    /// The reason.
    pub reason: DecisionReason,
    /// A note for other moderators.
    pub note: Option<String>,
    /// The revision that the moderator has read.
    pub expected_revision: Option<i64>,
}

/// A vote, or `None` to withdraw it.
pub type VoteGiven = Option<Vote>;
