//! Output types for reviews.

use std::borrow::Cow;
use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_model::id::{GlobalId, ProductId};
use vitrine_model::review::{self, ReviewStatus, TopReview, Vote};
use vitrine_model::spec::label;

use super::common::{Media, count};
use super::details::all;
use super::moderation::{ModerationEntry, QueueReason, ReviewReport};
use super::product::Product;
use super::spec::{Display, Spec, SpecValue};
use crate::execution::direct::One;
use crate::execution::{At as _, Failure, List, LongText, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::permissions;
use crate::graphql::scalars::DateTime;

/// The status of a review. Only published reviews are visible to everyone and count in ratings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "ReviewStatus", remote = "ReviewStatus")]
pub(crate) enum Status {
    /// Waiting for a moderator.
    Pending,
    /// Visible to everyone, and counted in ratings.
    Published,
    /// Rejected by a moderator.
    Rejected,
    /// Deleted by its author.
    Deleted,
}

/// The author of a review.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ReviewAuthor {
    /// The display name.
    name: String,
}

pub(crate) struct ReviewAttribute<'a>(Spec<'a>);

/// A fact about the reviewer that the source of an imported review has, such as hours played or an
/// age group. Its name is not a key of the spec dictionary.
#[direct]
#[Object]
impl ReviewAttribute<'_> {
    /// The name: `hours_played`.
    fn name(&self) -> &str {
        self.0.own_key()
    }

    /// The name for display: `Hours played`.
    fn label(&self) -> String {
        label(self.0.own_key())
    }

    /// The typed value.
    fn value(&self) -> SpecValue {
        self.0.typed_value()
    }

    /// The value formatted for display: `312 h`.
    fn text(&self) -> Cow<'_, str> {
        self.0.shown()
    }
}

/// A review's rating of one aspect of the product.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct DimensionRating {
    /// The name of the aspect, such as `fit`.
    name: String,
    /// The rating in stars, 1 to 5.
    rating: i32,
}

/// A vote on whether a review is helpful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "Vote")]
pub(crate) enum ReviewVote {
    /// The review is helpful.
    Helpful,
    /// The review is not helpful.
    Unhelpful,
}

pub(crate) struct ReviewReply(review::Reply);

/// The shop's public reply to a review.
#[direct]
#[Object]
impl ReviewReply {
    /// The text of the reply. Plain text: do not interpret markup in it.
    fn text(&self) -> &str {
        &self.0.text
    }

    /// When the reply was written or last changed.
    fn at(&self) -> DateTime {
        DateTime(self.0.at)
    }

    /// The subject of the writer's token; null if the writer's data was erased. Visible to
    /// moderators, null for others.
    fn by(&self, ctx: &Context<'_>) -> Option<&str> {
        let seen = permissions::has_role(ctx, "ReviewReply");
        Some(self.0.by.as_str()).filter(|by| seen && !by.is_empty())
    }
}

/// An earlier version of a review, before its author edited it.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ReviewVersion {
    /// The revision number of this version.
    revision: i32,
    /// When this version was replaced.
    until: DateTime,
    /// The rating in stars, 1 to 5.
    rating: i32,
    /// The title; may be empty. Plain text.
    title: String,
    /// The text. Plain text.
    body: LongText<'static>,
}

impl From<review::ReviewVersion> for ReviewVersion {
    fn from(version: review::ReviewVersion) -> Self {
        Self {
            revision: count(version.revision),
            until: DateTime(version.until),
            rating: i32::from(version.rating.get()),
            title: version.title,
            body: version.body.into(),
        }
    }
}

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

/// A review.
#[direct]
#[Object]
impl Review {
    /// The global id of the review.
    pub(crate) fn id(&self) -> ID {
        GlobalId::Review(self.0.product_id, self.0.id)
            .encode()
            .into()
    }

    /// The reviewed product; null if the caller may not see it. Moderators can also see products
    /// that are not on sale.
    async fn product(&self, ctx: &Context<'_>) -> Option<R<One<Product>>> {
        let loaders = &ctx.session().loaders;
        let found = loaders.reviewed_product(self.0.product_id).await;
        found
            .and_then(|view| view.map(Product::one).transpose())
            .nullable_at(ctx)
    }

    /// The author; null if the review is anonymous.
    fn author(&self) -> Option<ReviewAuthor> {
        author(self.0.author.as_ref())
    }

    /// The rating in stars, 1 to 5.
    fn rating(&self) -> i32 {
        i32::from(self.0.rating.get())
    }

    /// Whether the author recommends the product; null if the author did not say.
    fn recommended(&self) -> Option<bool> {
        self.0.recommended
    }

    /// The ratings of single aspects, sorted by name.
    fn dimensions(&self) -> List<DimensionRating> {
        let dimensions = self.0.dimensions.iter();
        dimensions
            .map(|(name, stars)| DimensionRating {
                name: name.clone(),
                rating: i32::from(stars.get()),
            })
            .collect()
    }

    /// The title; may be empty. Plain text.
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The text; may be empty. Plain text: do not interpret markup in it.
    fn body(&self) -> LongText<'_> {
        self.0.body.as_str().into()
    }

    /// The language as an IETF language tag; null if unknown.
    fn language(&self) -> Option<&str> {
        self.0.language.as_deref()
    }

    /// Images and videos.
    fn media(&self) -> List<Media> {
        all(self.0.media.clone())
    }

    /// Facts about the reviewer that the source of an imported review has, at most 20, in the order
    /// of the source.
    fn attributes(&self, ctx: &Context<'_>) -> R<List<ReviewAttribute<'_>>> {
        attributes(&self.0, ctx).at(ctx)
    }

    /// Whether a purchase of the product by the author is known: the shop recorded it, or the source
    /// of an imported review vouches for it.
    fn verified(&self) -> bool {
        self.0.verified
    }

    /// Whether the author received an incentive for the review.
    fn incentivized(&self) -> bool {
        self.0.incentivized
    }

    /// The number of voters who found the review helpful.
    fn helpful_count(&self) -> i32 {
        count(self.0.helpful)
    }

    /// The number of voters who found the review unhelpful.
    fn unhelpful_count(&self) -> i32 {
        count(self.0.unhelpful)
    }

    /// The status of the review.
    fn status(&self) -> Status {
        self.0.status.into()
    }

    /// When the review was written; null for imported reviews without a date.
    fn created_at(&self) -> Option<DateTime> {
        self.0.created_at.map(DateTime)
    }

    /// When the author last edited the review; null if never.
    fn edited_at(&self) -> Option<DateTime> {
        self.0.edited_at.map(DateTime)
    }

    /// The revision. Increases with every change by the author or a moderator, including replies.
    fn revision(&self) -> i32 {
        count(self.0.revision)
    }

    /// The shop's reply; null if there is none.
    fn reply(&self) -> Option<ReviewReply> {
        self.0.reply.clone().map(ReviewReply)
    }

    /// The caller's vote on the review; null without a token or a vote. One database query for all
    /// reviews of a page.
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

    /// The moderators' decisions on the review, oldest first, at most the last 20. Visible to
    /// moderators, null for others.
    fn moderation(&self, ctx: &Context<'_>) -> Option<List<ModerationEntry>> {
        let seen = permissions::has_role(ctx, "Review");
        seen.then(|| all(self.0.decisions.clone()))
    }

    /// The reports that no moderator has handled yet, oldest first, at most 100. Visible to
    /// moderators, null for others. One database query for all reviews of a page.
    async fn reports(&self, ctx: &Context<'_>) -> Option<R<List<ReviewReport>>> {
        reports(&self.0, ctx).await.nullable_at(ctx)
    }

    /// Since when the review has been waiting for a moderator; null if it is not waiting. Visible
    /// to moderators, null for others.
    fn queued_since(&self, ctx: &Context<'_>) -> Option<DateTime> {
        let queued = self
            .0
            .queued
            .filter(|_| permissions::has_role(ctx, "Review"));
        queued.map(|queued| DateTime(queued.since))
    }

    /// Why the review is waiting for a moderator; null if it is not waiting. Visible to moderators,
    /// null for others.
    fn queue_reason(&self, ctx: &Context<'_>) -> Option<QueueReason> {
        let queued = self
            .0
            .queued
            .filter(|_| permissions::has_role(ctx, "Review"));
        queued.map(|queued| queued.reason.into())
    }

    /// The earlier versions of the review, oldest first, at most the last 50. Visible to its author
    /// and to moderators, null for others. One database query for all reviews of a page.
    async fn versions(&self, ctx: &Context<'_>) -> Option<R<List<ReviewVersion>>> {
        versions(self, ctx).await.nullable_at(ctx)
    }
}

pub(crate) struct ReviewExcerpt {
    pub(crate) product: ProductId,
    pub(crate) review: TopReview,
}

/// The part of a top review that is stored with its product, so that no extra query is needed.
#[direct]
#[Object]
impl ReviewExcerpt {
    /// The id of this excerpt. For the review use `reviewId`.
    fn id(&self) -> ID {
        GlobalId::ReviewExcerpt(self.product, self.review.id)
            .encode()
            .into()
    }

    /// The global id of the review. Use `node` to load the full review.
    fn review_id(&self) -> ID {
        GlobalId::Review(self.product, self.review.id)
            .encode()
            .into()
    }

    /// The rating in stars, 1 to 5.
    fn rating(&self) -> i32 {
        i32::from(self.review.rating.get())
    }

    /// The title; may be empty. Plain text.
    fn title(&self) -> &str {
        &self.review.title
    }

    /// The beginning of the text, at most 300 characters, cut at the end of a word. Plain text.
    fn excerpt(&self) -> &str {
        &self.review.excerpt
    }

    /// Whether the text is longer than the excerpt.
    fn truncated(&self) -> bool {
        self.review.truncated
    }

    /// The author; null if the review is anonymous.
    fn author(&self) -> Option<ReviewAuthor> {
        author(self.review.author.as_ref())
    }

    /// The number of voters who found the review helpful.
    fn helpful_count(&self) -> i32 {
        count(self.review.helpful)
    }

    /// Whether a purchase of the product by the author is known, as of the review.
    fn verified(&self) -> bool {
        self.review.verified
    }

    /// When the review was written; null for imported reviews without a date.
    fn created_at(&self) -> Option<DateTime> {
        self.review.created_at.map(DateTime)
    }
}

async fn reports(
    review: &review::Review,
    ctx: &Context<'_>,
) -> Result<Option<List<ReviewReport>>, Failure> {
    let session = ctx.session();
    if !permissions::has_role(ctx, "Review") {
        return Ok(None);
    }
    if review.reports == 0 {
        return Ok(Some(List::default()));
    }
    let found = session.loaders.open_reports(review.id).await?.into_iter();
    let shown = found.map(|report| ReviewReport {
        // The generated ids of erased readers begin with a blank, which no token's subject does.
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
) -> Result<Option<List<ReviewVersion>>, Failure> {
    let session = ctx.session();
    if !permissions::has_role(ctx, "Review") && !review.is_own(ctx) {
        return Ok(None);
    }
    // A review with revision 1 was never changed.
    if review.0.revision == 1 {
        return Ok(Some(List::default()));
    }
    let found = session.loaders.versions(review.0.id).await?;
    Ok(Some(all(found)))
}

fn attributes<'a>(
    review: &'a review::Review,
    ctx: &Context<'_>,
) -> Result<List<ReviewAttribute<'a>>, Failure> {
    let attributes = review.attributes.iter();
    if attributes.len() == 0 {
        return Ok(List::default());
    }
    let display = Display::new(ctx.session().catalog.reference(), &[])?;
    let shown = attributes.map(|one| ReviewAttribute(display.show(one.as_ref())));
    Ok(shown.collect())
}

fn author(author: Option<&review::Author>) -> Option<ReviewAuthor> {
    author.map(|author| ReviewAuthor {
        name: author.name.clone(),
    })
}
