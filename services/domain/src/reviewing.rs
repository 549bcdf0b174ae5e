//! What shoppers, buyers, moderators and the shop do about reviews.
//!
//! The author of everything is the subject of the caller's token, never an input. A refusal says
//! why and gives the review as it is; nothing is written then.

use serde::Serialize;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::Media;
use vitrine_model::rating::Stars;
use vitrine_model::review::{DecisionReason, QueueReason, Review, ReviewStatus, Vote};
use vitrine_storage::keyset::Page;
pub use vitrine_storage::reviewing::Report;

use crate::page::{Beyond, Listed, PageArguments};
use crate::{Catalog, DomainError};

mod checks;
mod decisions;
pub mod dimensions;
pub mod erasure;
mod group_commit;
mod hot_products;
mod marks;
pub mod ratings;
mod writing;

pub use checks::is_subject;
pub(crate) use hot_products::HotProducts;

/// Whether reviews are seen before a moderator looked at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moderation {
    /// They are seen at once, and moderated when somebody reports them.
    #[default]
    After,
    /// They are seen when a moderator has published them.
    Before,
}

/// Names a review.
pub type ReviewKey = (ProductId, ReviewId);

/// What an author says of a product.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewContent {
    /// Stars, 1 to 5.
    pub rating: i64,
    /// Whether they recommend it.
    pub recommended: Option<bool>,
    /// Stars for single aspects, by name.
    pub dimensions: Vec<(String, i64)>,
    /// A title of one line; may be empty.
    pub title: String,
    /// The text.
    pub body: String,
    /// The language as an IETF tag.
    pub language: Option<String>,
    /// Pictures and films.
    pub media: Vec<Media>,
    /// The name that is shown.
    pub author_name: Option<String>,
}

/// Changes to a review. What is `None` stays; the inner `None` clears.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReviewPatch {
    /// Stars, 1 to 5.
    pub rating: Option<i64>,
    /// Whether they recommend it.
    pub recommended: Option<Option<bool>>,
    /// Stars for single aspects; replaces all.
    pub dimensions: Option<Vec<(String, i64)>>,
    /// The title.
    pub title: Option<String>,
    /// The text.
    pub body: Option<String>,
    /// The language.
    pub language: Option<Option<String>>,
    /// Pictures and films; replaces all.
    pub media: Option<Vec<Media>>,
    /// The name that is shown.
    pub author_name: Option<String>,
}

/// A review after it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Reviewed {
    /// The review as it is.
    pub review: Review,
    /// Whether the numbers of its product are still to follow.
    pub stats_pending: bool,
}

/// What a moderator decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModerationAction {
    /// It is seen by everyone; reports of it are settled.
    Publish,
    /// It is not seen.
    Reject,
    /// It waits for a moderator again.
    Restore,
}

impl ModerationAction {
    /// The state that it brings a review to.
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
    /// What was bought.
    pub product: ProductId,
    /// Who bought it: the subject of their tokens.
    pub customer: String,
    /// When; now if absent.
    pub at: Option<Timestamp>,
    /// How many of it.
    pub quantity: i32,
    /// The order it was bought with. Without one, all that a customer buys of a product is one
    /// purchase.
    pub order: Option<String>,
}

/// A purchase after it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purchased {
    /// What was bought.
    pub product: ProductId,
    /// Whether it was not known before.
    pub new: bool,
}

/// Which reviews that wait for a moderator, and which page of them.
#[derive(Clone, Debug)]
pub struct QueueQuery {
    /// Only those that wait for this reason.
    pub reason: Option<QueueReason>,
    /// Which page.
    pub page: PageArguments,
}

/// A page of reviews that wait for a moderator.
pub type ListedQueue = Listed<Review, Option<QueueReason>>;

/// What moderators decided over some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FairnessReport {
    /// By stars, one star first: always five.
    pub by_rating: Vec<RatingDecisions>,
    /// By moderator, in the order of subjects.
    pub by_moderator: Vec<ModeratorDecisions>,
}

/// Decisions about reviews of one rating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatingDecisions {
    /// The stars.
    pub rating: Stars,
    /// What was decided.
    pub decisions: Decided,
}

/// Decisions of one moderator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeratorDecisions {
    /// The subject of their token.
    pub moderator: String,
    /// What they decided.
    pub decisions: Decided,
    /// The same by stars, one star first: always five.
    pub by_rating: Vec<RatingDecisions>,
}

/// How many reviews were published and rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Published.
    pub published: i64,
    /// Rejected.
    pub rejected: i64,
}

impl Decided {
    fn count(&mut self, to: ReviewStatus, n: i64) {
        match to {
            ReviewStatus::Published => self.published += n,
            ReviewStatus::Rejected => self.rejected += n,
            ReviewStatus::Pending | ReviewStatus::Deleted => {}
        }
    }
}

impl Catalog {
    /// A page of the reviews that wait for a moderator, oldest first. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a page that is wrong, [`DomainError::InvalidCursor`] for a
    /// cursor of another list.
    pub async fn moderation_queue(&self, query: QueueQuery) -> Result<ListedQueue, DomainError> {
        use vitrine_model::cursor::ListFingerprint;
        let reason = query.reason.map_or("", QueueReason::name);
        let fingerprint = ListFingerprint::of(&[b"queue", reason.as_bytes()]);
        let request = query.page.request(self, fingerprint)?;
        let asked = request.clone();
        let page: Page<Review> = self
            .read(|store| async move { store.page_queue(query.reason, &asked).await })
            .await?;
        Ok(Listed::new(self, fingerprint, query.reason, request, page))
    }

    /// Whether the queue goes on after a page. At most one command.
    pub async fn queue_follows(&self, page: &ListedQueue) -> Result<bool, DomainError> {
        self.has_queued(page.list, page.beyond_end()).await
    }

    /// Whether the queue has reviews before a page. At most one command.
    pub async fn queue_precedes(&self, page: &ListedQueue) -> Result<bool, DomainError> {
        self.has_queued(page.list, page.beyond_start()).await
    }

    async fn has_queued(
        &self,
        reason: Option<QueueReason>,
        beyond: Beyond,
    ) -> Result<bool, DomainError> {
        match beyond {
            Beyond::Known(more) => Ok(more),
            Beyond::Look(from) => {
                self.read(|store| async move { store.has_queued(reason, from).await })
                    .await
            }
        }
    }

    /// How many reviews wait for a moderator, counted up to `most`.
    pub async fn count_queue(
        &self,
        reason: Option<QueueReason>,
        most: u64,
    ) -> Result<u64, DomainError> {
        self.read(|store| async move { store.count_queue(reason, most).await })
            .await
    }

    /// What moderators decided from one instant to before another.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when the second is not after the first.
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
            // The counts come in the order of moderators.
            if report
                .by_moderator
                .last()
                .is_none_or(|last| last.moderator != count.by)
            {
                report.by_moderator.push(ModeratorDecisions {
                    moderator: count.by.clone(),
                    decisions: Decided::default(),
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
        decisions: Decided::default(),
    };
    Stars::ALL.into_iter().map(none).collect()
}

/// A decision of a moderator as it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModerationInput {
    /// What is decided.
    pub verdict: ModerationAction,
    /// Why.
    pub reason: DecisionReason,
    /// What else there is to say, for other moderators.
    pub note: Option<String>,
    /// The revision of the review that the moderator has read.
    pub expected_revision: Option<i64>,
}

/// What a voter says: a vote, or nothing any more.
pub type VoteGiven = Option<Vote>;
