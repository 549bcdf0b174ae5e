//! Output types for moderators: queue and report reasons, decisions and the fairness report.

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::products::{Total, TotalRelation};
use vitrine_domain::reviewing::{self, DecisionCounts};
use vitrine_model::moderation::QueueCount;
use vitrine_model::review::{self, DecisionReason};

use super::common::{TotalCount, count};
use super::details::all;
use super::rating::share;
use super::review::Status;
use crate::execution::List;
use crate::graphql::scalars::DateTime;

/// Why a moderator published or rejected a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "DecisionReason")]
pub(crate) enum ModerationReason {
    /// The review breaks no rule.
    Acceptable,
    /// Advertising.
    Spam,
    /// Insults, hate or threats.
    Offensive,
    /// Not about the product.
    OffTopic,
    /// Personal data of the author or of others.
    PersonalData,
    /// Not written from experience.
    Fake,
    /// Illegal content.
    Illegal,
    /// Written by someone with a commercial interest.
    ConflictOfInterest,
    /// Corrects an earlier wrong decision.
    Mistake,
    /// Another reason, given in the note.
    Other,
}

/// Why a reader reported a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "review::ReportReason")]
pub(crate) enum ReportReason {
    /// Advertising.
    Spam,
    /// Insults, hate or threats.
    Offensive,
    /// Not about the product.
    OffTopic,
    /// Personal data of the author or of others.
    PersonalData,
    /// Not written from experience.
    Fake,
    /// Illegal content.
    Illegal,
    /// Another reason, given in the note.
    Other,
}

/// Why a review is waiting for a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "review::QueueReason")]
pub(crate) enum QueueReason {
    /// The review is not visible until a moderator publishes it.
    Pending,
    /// A reader reported the review.
    Reported,
}

/// How many reviews are waiting for a moderator.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ModerationCounts {
    /// The number of waiting reviews. Of more than 10,000, the longest-waiting ones are counted: then it is
    /// `AT_LEAST`, and so are the other counts.
    total: TotalCount,
    /// By reason and status; only those for which reviews wait.
    counts: List<ModerationCount>,
}

/// How many reviews wait for one reason and have one status.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ModerationCount {
    /// Why they wait.
    reason: QueueReason,
    /// Their status: a reported review stays `PUBLISHED` until a moderator rejects it.
    status: Status,
    /// The number of reviews.
    count: i32,
    /// Since when the first of them waits.
    oldest: DateTime,
}

impl From<reviewing::QueueCounts> for ModerationCounts {
    fn from(found: reviewing::QueueCounts) -> Self {
        let total = Total {
            value: found.counts.iter().map(|one| one.count).sum(),
            relation: if found.is_exact {
                TotalRelation::Exact
            } else {
                TotalRelation::AtLeast
            },
        };
        Self {
            total: total.into(),
            counts: all(found.counts),
        }
    }
}

impl From<QueueCount> for ModerationCount {
    fn from(of: QueueCount) -> Self {
        Self {
            reason: of.reason.into(),
            status: of.status.into(),
            count: count(of.count),
            oldest: DateTime(of.oldest),
        }
    }
}

/// A moderator's decision on a review.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ModerationEntry {
    /// When the decision was made.
    at: DateTime,
    /// The subject of the moderator's token.
    by: String,
    /// The status before the decision.
    from: Status,
    /// The status after the decision.
    to: Status,
    /// The reason for the decision.
    reason: ModerationReason,
    /// A note for other moderators.
    note: Option<String>,
}

impl From<review::Decision> for ModerationEntry {
    fn from(decision: review::Decision) -> Self {
        Self {
            at: DateTime(decision.at),
            by: decision.by,
            from: decision.from.into(),
            to: decision.to.into(),
            reason: decision.reason.into(),
            note: decision.note,
        }
    }
}

/// A reader's report of a review that no moderator has handled yet.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ReviewReport {
    /// The subject of the reader's token; null if the reader's data was erased.
    pub(super) by: Option<String>,
    /// When the review was reported.
    pub(super) at: DateTime,
    /// The reason for the report.
    pub(super) reason: ReportReason,
    /// The reader's note.
    pub(super) note: Option<String>,
}

/// Moderation decisions over a period, by rating and by moderator. Shows whether low and high
/// ratings are treated alike and whether moderators decide alike.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct FairnessReport {
    /// The decisions by rating: always five entries, one star first.
    by_rating: List<RatingDecisions>,
    /// The decisions by moderator, sorted by subject.
    by_moderator: List<ModeratorDecisions>,
}

/// The decisions on reviews with one rating.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct RatingDecisions {
    /// The rating in stars, 1 to 5.
    rating: i32,
    /// The number of decisions to publish. A review that was decided twice counts twice.
    published: i32,
    /// The number of decisions to reject.
    rejected: i32,
    /// The share of decisions to publish, 0 to 1; null without decisions.
    published_share: Option<f64>,
}

/// The decisions of one moderator.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ModeratorDecisions {
    /// The subject of the moderator's token.
    moderator: String,
    /// The number of decisions to publish.
    published: i32,
    /// The number of decisions to reject.
    rejected: i32,
    /// The share of decisions to publish, 0 to 1; null without decisions.
    published_share: Option<f64>,
    /// The moderator's decisions by rating: always five entries, one star first.
    by_rating: List<RatingDecisions>,
}

impl From<reviewing::FairnessReport> for FairnessReport {
    fn from(report: reviewing::FairnessReport) -> Self {
        Self {
            by_rating: all(report.by_rating),
            by_moderator: all(report.by_moderator),
        }
    }
}

impl From<reviewing::RatingDecisions> for RatingDecisions {
    fn from(of: reviewing::RatingDecisions) -> Self {
        Self {
            rating: i32::from(of.rating.get()),
            published: count(of.decisions.published),
            rejected: count(of.decisions.rejected),
            published_share: published_share(of.decisions),
        }
    }
}

impl From<reviewing::ModeratorDecisions> for ModeratorDecisions {
    fn from(of: reviewing::ModeratorDecisions) -> Self {
        Self {
            moderator: of.moderator,
            published: count(of.decisions.published),
            rejected: count(of.decisions.rejected),
            published_share: published_share(of.decisions),
            by_rating: all(of.by_rating),
        }
    }
}

fn published_share(decided: DecisionCounts) -> Option<f64> {
    let decisions = decided.published + decided.rejected;
    (decisions > 0).then(|| share(decided.published, decisions))
}
