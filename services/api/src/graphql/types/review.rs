//! Reviews.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::review::{self, ReviewStatus, TopReview, Vote};

use super::common::{Media, count};
use super::details::all;
use super::moderation::{ModerationEntry, QueueReason, ReviewReport};
use super::product::Product;
use crate::execution::{Failure, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// Whether a review is seen and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "ReviewStatus", remote = "ReviewStatus")]
pub(crate) enum Status {
    /// Waits for a moderator.
    Pending,
    /// Seen by everyone, and counted.
    Published,
    /// Refused by a moderator.
    Rejected,
    /// Taken back by its author.
    Deleted,
}

/// Who wrote a review.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ReviewAuthor {
    /// The name shown.
    name: String,
}

/// The stars that a review gives one aspect of the product.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct DimensionRating {
    /// The aspect, such as `fit`.
    name: String,
    /// The stars, 1 to 5.
    rating: i32,
}

/// What a voter says of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Vote")]
pub(crate) enum ReviewVote {
    /// It helps.
    Helpful,
    /// It does not.
    Unhelpful,
}

/// What the shop answers to a review, for all to read.
pub(crate) struct ReviewReply(review::Reply);

/// What the shop answers to a review, for all to read.
#[Object]
impl ReviewReply {
    /// The text. Plain text: markup in it means nothing.
    async fn text(&self) -> &str {
        &self.0.text
    }

    /// When it was written or last changed.
    async fn at(&self) -> DateTime {
        DateTime(self.0.at)
    }

    /// The subject of the writer's token; null when they were erased. Seen by moderators only.
    async fn by(&self, ctx: &Context<'_>) -> Option<&str> {
        let seen = ctx.session().viewer.moderator().is_ok();
        Some(self.0.by.as_str()).filter(|by| seen && !by.is_empty())
    }
}

/// A review as it was before its author changed it.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct ReviewVersion {
    /// The revision it had.
    revision: i32,
    /// When it stopped being that.
    until: DateTime,
    /// The stars it gave, 1 to 5.
    rating: i32,
    /// Its title; may be empty. Plain text.
    title: String,
    /// Its text. Plain text.
    body: String,
}

impl From<review::ReviewVersion> for ReviewVersion {
    fn from(version: review::ReviewVersion) -> Self {
        Self {
            revision: count(version.revision),
            until: DateTime(version.until),
            rating: i32::from(version.rating.get()),
            title: version.title,
            body: version.body,
        }
    }
}

/// A review in full.
#[derive(Clone)]
pub(crate) struct Review(pub(crate) Arc<review::Review>);

impl From<review::Review> for Review {
    fn from(review: review::Review) -> Self {
        Self(Arc::new(review))
    }
}

impl Review {
    fn is_own(&self, ctx: &Context<'_>) -> bool {
        let author = self.0.author.as_ref().map(|author| author.id.0.as_str());
        author.is_some() && author == ctx.session().viewer.subject.as_deref()
    }
}

/// A review in full.
#[Object]
impl Review {
    /// Identifies the review.
    pub(crate) async fn id(&self) -> ID {
        GlobalId::Review(self.0.product_id, self.0.id)
            .encode()
            .into()
    }

    /// The product it is about; null when the caller may not see it. Moderators see it also when it
    /// is not on sale.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<Product>> {
        let loaders = &ctx.session().loaders;
        let found = loaders.reviewed_product(self.0.product_id).await;
        found
            .and_then(|view| view.map(Product::of).transpose())
            .nullable_at(ctx)
    }

    /// Who wrote it; null when it is anonymous.
    async fn author(&self) -> Option<ReviewAuthor> {
        author(self.0.author.as_ref())
    }

    /// The stars, 1 to 5.
    async fn rating(&self) -> i32 {
        i32::from(self.0.rating.get())
    }

    /// Whether the author recommends the product; null when not told.
    async fn recommended(&self) -> Option<bool> {
        self.0.recommended
    }

    /// The stars for single aspects, by name.
    async fn dimensions(&self) -> Vec<DimensionRating> {
        let dimensions = self.0.dimensions.iter();
        dimensions
            .map(|(name, stars)| DimensionRating {
                name: name.clone(),
                rating: i32::from(stars.get()),
            })
            .collect()
    }

    /// The title; may be empty. Plain text.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// The text; may be empty. Plain text: markup in it means nothing.
    async fn body(&self) -> &str {
        &self.0.body
    }

    /// The language as an IETF tag, when known.
    async fn language(&self) -> Option<&str> {
        self.0.language.as_deref()
    }

    /// Pictures and films.
    async fn media(&self) -> Vec<Media> {
        all(self.0.media.clone())
    }

    /// Whether the author is known to have bought the product.
    async fn verified(&self) -> bool {
        self.0.verified
    }

    /// Whether the author was given something for the review.
    async fn incentivized(&self) -> bool {
        self.0.incentivized
    }

    /// How many found it helpful.
    async fn helpful_count(&self) -> i32 {
        count(self.0.helpful)
    }

    /// How many did not.
    async fn unhelpful_count(&self) -> i32 {
        count(self.0.unhelpful)
    }

    /// Whether it is seen and counted.
    async fn status(&self) -> Status {
        self.0.status.into()
    }

    /// When it was written; null on imports without a date.
    async fn created_at(&self) -> Option<DateTime> {
        self.0.created_at.map(DateTime)
    }

    /// When its author last changed it; null when never.
    async fn edited_at(&self) -> Option<DateTime> {
        self.0.edited_at.map(DateTime)
    }

    /// Rises with every change by its author or a moderator, replies among them.
    async fn revision(&self) -> i32 {
        count(self.0.revision)
    }

    /// What the shop answered; null when it did not.
    async fn reply(&self) -> Option<ReviewReply> {
        self.0.reply.clone().map(ReviewReply)
    }

    /// What the caller says of it; null without a token or a vote. One look-up for all reviews of a
    /// page.
    async fn viewer_vote(&self, ctx: &Context<'_>) -> Option<R<ReviewVote>> {
        let found = ctx
            .session()
            .loaders
            .own_vote(self.0.id, self.0.round)
            .await;
        found
            .map(|vote| vote.map(ReviewVote::from))
            .nullable_at(ctx)
    }

    /// What moderators decided of it, oldest first, at most the last 20; seen by moderators only.
    async fn moderation(&self, ctx: &Context<'_>) -> Option<Vec<ModerationEntry>> {
        let seen = ctx.session().viewer.moderator().is_ok();
        seen.then(|| all(self.0.decisions.clone()))
    }

    /// The reports of it that no moderator has dealt with, oldest first, at most 100; seen by
    /// moderators only. One look-up for all reviews of a page.
    async fn reports(&self, ctx: &Context<'_>) -> Option<R<Vec<ReviewReport>>> {
        reports(&self.0, ctx).await.nullable_at(ctx)
    }

    /// Since when it waits for a moderator; null when it does not. Seen by moderators only.
    async fn queued_since(&self, ctx: &Context<'_>) -> Option<DateTime> {
        let queued = self
            .0
            .queued
            .filter(|_| ctx.session().viewer.moderator().is_ok());
        queued.map(|queued| DateTime(queued.since))
    }

    /// Why it waits for a moderator; null when it does not. Seen by moderators only.
    async fn queue_reason(&self, ctx: &Context<'_>) -> Option<QueueReason> {
        let queued = self
            .0
            .queued
            .filter(|_| ctx.session().viewer.moderator().is_ok());
        queued.map(|queued| queued.reason.into())
    }

    /// What it was before its author changed it, oldest first, at most the last 50; seen by its
    /// author and by moderators. One look-up for all reviews of a page.
    async fn versions(&self, ctx: &Context<'_>) -> Option<R<Vec<ReviewVersion>>> {
        versions(self, ctx).await.nullable_at(ctx)
    }
}

/// The part of a helpful review that its product carries, so that it costs no look-up.
pub(crate) struct ReviewExcerpt {
    pub(crate) product: ProductId,
    pub(crate) review: TopReview,
}

/// The part of a helpful review that its product carries, so that it costs no look-up.
#[Object]
impl ReviewExcerpt {
    /// The id of the review; `node` gives it in full.
    async fn id(&self) -> ID {
        GlobalId::Review(self.product, self.review.id)
            .encode()
            .into()
    }

    /// The stars, 1 to 5.
    async fn rating(&self) -> i32 {
        i32::from(self.review.rating.get())
    }

    /// The title; may be empty.
    async fn title(&self) -> &str {
        &self.review.title
    }

    /// The beginning of the text, at most 300 characters, cut where a word ends.
    async fn excerpt(&self) -> &str {
        &self.review.excerpt
    }

    /// Whether the text goes on.
    async fn truncated(&self) -> bool {
        self.review.truncated
    }

    /// Who wrote it; null when it is anonymous.
    async fn author(&self) -> Option<ReviewAuthor> {
        author(self.review.author.as_ref())
    }

    /// How many found it helpful.
    async fn helpful_count(&self) -> i32 {
        count(self.review.helpful)
    }

    /// Whether the author is known to have bought the product.
    async fn verified(&self) -> bool {
        self.review.verified
    }

    /// When it was written; null on imports without a date.
    async fn created_at(&self) -> Option<DateTime> {
        self.review.created_at.map(DateTime)
    }
}

async fn reports(
    review: &review::Review,
    ctx: &Context<'_>,
) -> Result<Option<Vec<ReviewReport>>, Failure> {
    let session = ctx.session();
    if session.viewer.moderator().is_err() {
        return Ok(None);
    }
    if review.reports == 0 {
        return Ok(Some(Vec::new()));
    }
    let found = session.loaders.open_reports(review.id).await?.into_iter();
    let shown = found.map(|report| ReviewReport {
        // Blanks stand before the names of nobody: no subject of a token has them.
        by: Some(report.by.0).filter(|by| !by.starts_with(' ')),
        at: DateTime(report.at),
        reason: report.reason.into(),
        note: report.note,
    });
    Ok(Some(shown.collect()))
}

async fn versions(
    review: &Review,
    ctx: &Context<'_>,
) -> Result<Option<Vec<ReviewVersion>>, Failure> {
    let session = ctx.session();
    if session.viewer.moderator().is_err() && !review.is_own(ctx) {
        return Ok(None);
    }
    // What has its first revision was never changed.
    if review.0.revision == 1 {
        return Ok(Some(Vec::new()));
    }
    let found = session.loaders.versions(review.0.id).await?;
    Ok(Some(all(found)))
}

fn author(author: Option<&review::Author>) -> Option<ReviewAuthor> {
    author.map(|author| ReviewAuthor {
        name: author.name.clone(),
    })
}
