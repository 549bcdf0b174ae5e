//! What moderators read: why reviews wait for them, what they decided, and how evenly.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::reviewing::{self, Decided};
use vitrine_model::review::{self, DecisionReason};

use super::common::count;
use super::details::all;
use super::rating::share;
use super::review::Status;
use crate::graphql::scalars::DateTime;

/// Why a moderator decided as they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "DecisionReason")]
pub(crate) enum ModerationReason {
    /// Nothing is wrong with it.
    Acceptable,
    /// Advertising.
    Spam,
    /// Insults, hate, threats.
    Offensive,
    /// Not about the product.
    OffTopic,
    /// Personal data of the author or of others.
    PersonalData,
    /// Not written from experience.
    Fake,
    /// Against the law.
    Illegal,
    /// Written by somebody who gains from it.
    ConflictOfInterest,
    /// An earlier decision was wrong.
    Mistake,
    /// Anything else; the note tells.
    Other,
}

/// Why somebody thinks that a moderator should look at a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "review::ReportReason")]
pub(crate) enum ReportReason {
    /// Advertising.
    Spam,
    /// Insults, hate, threats.
    Offensive,
    /// Not about the product.
    OffTopic,
    /// Personal data of the author or of others.
    PersonalData,
    /// Not written from experience.
    Fake,
    /// Against the law.
    Illegal,
    /// Anything else; the note tells.
    Other,
}

/// Why a review waits for a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "review::QueueReason")]
pub(crate) enum QueueReason {
    /// It is not seen before a moderator publishes it.
    Pending,
    /// Somebody reported it.
    Reported,
}

/// A decision of a moderator over a review.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ModerationEntry {
    /// When.
    at: DateTime,
    /// The subject of the moderator's token.
    by: String,
    /// What the review was.
    from: Status,
    /// What it became.
    to: Status,
    /// Why.
    reason: ModerationReason,
    /// What else there is to say, for other moderators.
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

/// A report of a review that no moderator has dealt with.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ReviewReport {
    /// The subject of the reader's token; null when they were erased.
    pub(super) by: Option<String>,
    /// When.
    pub(super) at: DateTime,
    /// Why.
    pub(super) reason: ReportReason,
    /// What else they said.
    pub(super) note: Option<String>,
}

/// What moderators decided over some time, by stars and by moderator: whether low ratings are
/// treated like high ones, and moderators decide alike.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct FairnessReport {
    /// By stars, one star first: always five.
    by_rating: Vec<RatingDecisions>,
    /// By moderator, in the order of their names.
    by_moderator: Vec<ModeratorDecisions>,
}

/// Decisions over reviews with one number of stars.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct RatingDecisions {
    /// The stars, 1 to 5.
    rating: i32,
    /// How many decisions were to publish; a review that is decided over twice counts twice.
    published: i32,
    /// How many were to reject.
    rejected: i32,
    /// The share that was published, 0 to 1; null without decisions.
    published_share: Option<f64>,
}

/// Decisions of one moderator.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ModeratorDecisions {
    /// The subject of the moderator's token.
    moderator: String,
    /// How many reviews they published.
    published: i32,
    /// How many they rejected.
    rejected: i32,
    /// The share that they published, 0 to 1; null without decisions.
    published_share: Option<f64>,
    /// The same by stars, one star first: always five.
    by_rating: Vec<RatingDecisions>,
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

fn published_share(decided: Decided) -> Option<f64> {
    let decisions = decided.published + decided.rejected;
    (decisions > 0).then(|| share(decided.published, decisions))
}
