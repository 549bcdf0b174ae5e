//! Records of reviews and of what happened to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vitrine_domain::export::{
    Report, ReviewHistory, StoredDecision, StoredReport, StoredReview, StoredVersion, StoredVote,
};
use vitrine_model::clock::Timestamp;
use vitrine_model::erasure::{ErasureCounts, ErasurePolicy, ErasureReceipt};
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::import::Rejection;
use vitrine_model::product::Media;
use vitrine_model::rating::Stars;
use vitrine_model::review::{
    Author, Decision, DecisionReason, Origin, QueueReason, Queued, Reply, ReportReason, Review,
    ReviewStatus, ReviewVersion, Vote,
};

use super::product::SpecRecord;
use super::{instant, is_false, product_gid, product_id, review_gid, review_id};

/// A review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something else of the review"
)]
#[serde(deny_unknown_fields)]
pub struct ReviewRecord {
    /// The global id.
    pub id: String,
    /// The id of the product.
    pub product: String,
    /// The author; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// The rating.
    pub rating: Stars,
    /// Whether the author recommends the product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<bool>,
    /// Ratings by dimension.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dimensions: BTreeMap<String, Stars>,
    /// The title; may be empty.
    pub title: String,
    /// The text; may be empty.
    pub body: String,
    /// The language as an IETF tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Images and videos.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Whether the author is known to have bought the product.
    pub verified: bool,
    /// Whether the feed that it came from vouches for that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub vouched: bool,
    /// Facts about the author.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<SpecRecord>,
    /// Whether the author received something for it.
    pub incentivized: bool,
    /// The feed that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginRecord>,
    /// Whether its author was erased.
    #[serde(default, skip_serializing_if = "is_false")]
    pub erased: bool,
    /// The status.
    pub status: ReviewStatus,
    /// The number of helpful votes, with imported ones.
    pub helpful: i64,
    /// The number of unhelpful votes, with imported ones.
    pub unhelpful: i64,
    /// The number of imported helpful votes.
    pub imported_helpful: i64,
    /// The number of imported unhelpful votes.
    pub imported_unhelpful: i64,
    /// The number of open reports.
    pub reports: i64,
    /// Its place in the moderation queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<QueuedRecord>,
    /// The latest decisions, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionFields>,
    /// The reply of the shop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyRecord>,
    /// When it was written.
    #[serde(
        default,
        with = "instant::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// When its author last changed it.
    #[serde(
        default,
        with = "instant::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub edited_at: Option<Timestamp>,
    /// Increases with each change by the author or a moderator.
    pub revision: i64,
    /// How often it was written again after it was deleted or rejected.
    pub round: i32,
}

/// The feed that a review came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginRecord {
    /// The system.
    pub system: String,
    /// The id in that system.
    pub external_id: String,
    /// The digest of what was imported.
    pub digest: String,
}

/// The place of a review in the moderation queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedRecord {
    /// Why.
    pub reason: QueueReason,
    /// Since when.
    #[serde(with = "instant")]
    pub since: Timestamp,
}

/// The reply of the shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyRecord {
    /// When it was last changed.
    #[serde(with = "instant")]
    pub at: Timestamp,
    /// Who wrote it.
    pub by: String,
    /// The text.
    pub text: String,
}

/// A decision of a moderator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionFields {
    /// When.
    #[serde(with = "instant")]
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// The status before.
    pub from: ReviewStatus,
    /// The status after.
    pub to: ReviewStatus,
    /// Why.
    pub reason: DecisionReason,
    /// A comment for moderators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A vote on a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoteRecord {
    /// The id of the review.
    pub review: String,
    /// Who voted.
    pub by: AuthorId,
    /// The vote.
    pub vote: Vote,
    /// The round of the review.
    pub round: i32,
    /// When.
    #[serde(with = "instant")]
    pub at: Timestamp,
}

/// A report of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportRecord {
    /// The id of the review.
    pub review: String,
    /// Who reported it.
    pub by: AuthorId,
    /// Why.
    pub reason: ReportReason,
    /// Why, in the reporter's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether no moderator has decided since.
    pub open: bool,
    /// When.
    #[serde(with = "instant")]
    pub at: Timestamp,
}

/// An earlier version of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRecord {
    /// The id of the review.
    pub review: String,
    /// Its revision then.
    pub revision: i64,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorId>,
    /// The rating.
    pub rating: Stars,
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// When it was replaced.
    #[serde(with = "instant")]
    pub until: Timestamp,
}

/// An entry of the moderation log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The id of the review.
    pub review: String,
    /// The number of the entry, as a text.
    pub id: String,
    /// The rating of the review then.
    pub rating: Stars,
    /// The decision.
    #[serde(flatten)]
    pub decision: DecisionFields,
}

impl ReviewRecord {
    pub(crate) fn of(stored: &StoredReview) -> Self {
        let review = &stored.review;
        let origin = review.origin.as_ref().map(|origin| OriginRecord {
            system: origin.system.clone(),
            external_id: origin.external_id.clone(),
            digest: stored.digest.clone().unwrap_or_default(),
        });
        Self {
            id: review_gid(review.product_id, review.id),
            product: product_gid(review.product_id),
            author: review.author.clone(),
            rating: review.rating,
            recommended: review.recommended,
            dimensions: review.dimensions.clone(),
            title: review.title.clone(),
            body: review.body.clone(),
            language: review.language.clone(),
            media: review.media.clone(),
            verified: review.verified,
            vouched: review.vouched,
            attributes: review.attributes.iter().map(SpecRecord::of).collect(),
            incentivized: review.incentivized,
            origin,
            erased: stored.erased,
            status: review.status,
            helpful: review.helpful,
            unhelpful: review.unhelpful,
            imported_helpful: review.imported_helpful,
            imported_unhelpful: review.imported_unhelpful,
            reports: review.reports,
            queued: review.queued.map(QueuedRecord::of),
            decisions: review.decisions.iter().map(DecisionFields::of).collect(),
            reply: review.reply.as_ref().map(ReplyRecord::of),
            created_at: review.created_at,
            edited_at: review.edited_at,
            revision: review.revision,
            round: review.round,
        }
    }

    /// The review, without what happened to it.
    pub(crate) fn stored(self) -> Result<StoredReview, Rejection> {
        let (product_id, id) = self.ids()?;
        let (origin, digest) = self.origin.map(OriginRecord::origin).unzip();
        let attributes = self
            .attributes
            .into_iter()
            .map(|one| one.spec("attributes"));
        let review = Review {
            id,
            product_id,
            author: self.author,
            rating: self.rating,
            recommended: self.recommended,
            dimensions: self.dimensions,
            title: self.title,
            body: self.body,
            language: self.language,
            media: self.media,
            verified: self.verified,
            vouched: self.vouched,
            attributes: attributes.collect::<Result<_, _>>()?,
            incentivized: self.incentivized,
            origin,
            status: self.status,
            helpful: self.helpful,
            unhelpful: self.unhelpful,
            imported_helpful: self.imported_helpful,
            imported_unhelpful: self.imported_unhelpful,
            created_at: self.created_at,
            edited_at: self.edited_at,
            revision: self.revision,
            decisions: self
                .decisions
                .into_iter()
                .map(DecisionFields::decision)
                .collect(),
            reply: self.reply.map(ReplyRecord::reply),
            reports: self.reports,
            queued: self.queued.map(QueuedRecord::queued),
            round: self.round,
            applied: None,
            dirty: false,
        };
        Ok(StoredReview {
            review,
            digest,
            erased: self.erased,
            history: ReviewHistory::default(),
        })
    }

    fn ids(&self) -> Result<(ProductId, ReviewId), Rejection> {
        let (product, id) = review_id("id", &self.id)?;
        if product_id("product", &self.product)? == product {
            return Ok((product, id));
        }
        let reason = "the id of the review is that of a review of another product";
        Err(Rejection::new("product", reason))
    }
}

impl OriginRecord {
    fn origin(self) -> (Origin, String) {
        let origin = Origin {
            system: self.system,
            external_id: self.external_id,
        };
        (origin, self.digest)
    }
}

impl QueuedRecord {
    fn of(queued: Queued) -> Self {
        Self {
            reason: queued.reason,
            since: queued.since,
        }
    }

    fn queued(self) -> Queued {
        Queued {
            reason: self.reason,
            since: self.since,
        }
    }
}

impl ReplyRecord {
    fn of(reply: &Reply) -> Self {
        Self {
            at: reply.at,
            by: reply.by.clone(),
            text: reply.text.clone(),
        }
    }

    fn reply(self) -> Reply {
        Reply {
            at: self.at,
            by: self.by,
            text: self.text,
        }
    }
}

impl DecisionFields {
    fn of(decision: &Decision) -> Self {
        Self {
            at: decision.at,
            by: decision.by.clone(),
            from: decision.from,
            to: decision.to,
            reason: decision.reason,
            note: decision.note.clone(),
        }
    }

    fn decision(self) -> Decision {
        Decision {
            at: self.at,
            by: self.by,
            from: self.from,
            to: self.to,
            reason: self.reason,
            note: self.note,
        }
    }
}

impl VoteRecord {
    pub(crate) fn of(review: &Review, vote: &StoredVote) -> Self {
        Self {
            review: review_gid(review.product_id, review.id),
            by: vote.by.clone(),
            vote: vote.vote,
            round: vote.round,
            at: vote.at,
        }
    }

    pub(crate) fn vote(self) -> StoredVote {
        StoredVote {
            by: self.by,
            vote: self.vote,
            round: self.round,
            at: self.at,
        }
    }
}

impl ReportRecord {
    pub(crate) fn of(review: &Review, stored: &StoredReport) -> Self {
        let report = &stored.report;
        Self {
            review: review_gid(review.product_id, review.id),
            by: report.by.clone(),
            reason: report.reason,
            note: report.note.clone(),
            open: stored.open,
            at: report.at,
        }
    }

    pub(crate) fn report(self) -> StoredReport {
        let report = Report {
            by: self.by,
            at: self.at,
            reason: self.reason,
            note: self.note,
        };
        StoredReport {
            report,
            open: self.open,
        }
    }
}

impl VersionRecord {
    pub(crate) fn of(review: &Review, stored: &StoredVersion) -> Self {
        let version = &stored.version;
        Self {
            review: review_gid(review.product_id, review.id),
            revision: version.revision,
            author: stored.author.clone(),
            rating: version.rating,
            title: version.title.clone(),
            body: version.body.clone(),
            until: version.until,
        }
    }

    pub(crate) fn version(self) -> StoredVersion {
        let version = ReviewVersion {
            revision: self.revision,
            until: self.until,
            rating: self.rating,
            title: self.title,
            body: self.body,
        };
        StoredVersion {
            version,
            author: self.author,
        }
    }
}

impl DecisionRecord {
    pub(crate) fn of(review: &Review, stored: &StoredDecision) -> Self {
        Self {
            review: review_gid(review.product_id, review.id),
            id: stored.id.to_string(),
            rating: stored.rating,
            decision: DecisionFields::of(&stored.decision),
        }
    }

    pub(crate) fn decision(self) -> Result<StoredDecision, Rejection> {
        let id = self.id.parse();
        Ok(StoredDecision {
            id: id.map_err(|_| Rejection::new("id", "is not a number"))?,
            decision: self.decision.decision(),
            rating: self.rating,
        })
    }
}
/// An author who was erased. What was changed is not in it: a restore counts again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErasureRecord {
    /// The author.
    pub author: AuthorId,
    /// What was done with the author's reviews.
    pub policy: ErasurePolicy,
    /// The subject of the token that requested it.
    pub by: String,
    /// When it started.
    #[serde(with = "instant")]
    pub started_at: Timestamp,
}

impl ErasureRecord {
    pub(crate) fn of((author, receipt): &(AuthorId, ErasureReceipt)) -> Self {
        Self {
            author: author.clone(),
            policy: receipt.policy,
            by: receipt.by.clone(),
            started_at: receipt.started_at,
        }
    }

    pub(crate) fn receipt(self) -> (AuthorId, ErasureReceipt) {
        let receipt = ErasureReceipt {
            policy: self.policy,
            by: self.by,
            started_at: self.started_at,
            finished_at: None,
            done: ErasureCounts::default(),
        };
        (self.author, receipt)
    }
}
