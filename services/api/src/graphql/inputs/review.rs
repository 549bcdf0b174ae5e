//! Inputs for reviews, votes, reports and moderation.

use async_graphql::{Enum, ID, InputObject, MaybeUndefined};
use vitrine_domain::reviewing::{
    ModerationAction, ModerationInput, ReviewContent, ReviewKey, ReviewPatch,
};
use vitrine_model::id::ProductId;
use vitrine_model::review::{self, Vote};

use super::product::{MediaInput, media};
use super::user_errors::{ParsedInput, UserErrors, clearable, path};
use crate::graphql::types::moderation::{ModerationReason, ReportReason};
use crate::graphql::types::review::ReviewVote;

/// The input of `submitReview`. The author is the subject of the caller's token.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SubmitReviewInput {
    /// The global id of the product.
    product_id: ID,
    /// The rating in stars, 1 to 5.
    rating: i32,
    /// Whether the author recommends the product.
    recommended: Option<bool>,
    /// Ratings of single aspects. The product's `reviewDimensions` lists the allowed names.
    dimensions: Option<Vec<DimensionRatingInput>>,
    /// A one-line title; at most 200 characters.
    title: Option<String>,
    /// The text; plain text of 1 to 10,000 characters.
    body: String,
    /// The language as an IETF language tag: `en`, `pt-BR`.
    language: Option<String>,
    /// Images and videos; at most 10.
    media: Option<Vec<MediaInput>>,
    /// The display name of the author; at most 50 characters. "Anonymous" when absent.
    author_name: Option<String>,
    /// The idempotency key: sending the same key and input again returns the same review instead of
    /// writing another one. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A rating of one aspect of a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DimensionRatingInput {
    /// The name of the aspect, such as `fit`.
    name: String,
    /// The rating in stars, 1 to 5.
    rating: i32,
}

/// The input of `editReview`. Fields left out stay unchanged.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct EditReviewInput {
    /// The global id of the review.
    id: ID,
    /// The revision that the caller has seen. If the review has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: i32,
    /// The rating in stars, 1 to 5.
    rating: MaybeUndefined<i32>,
    /// Whether the author recommends the product; null clears it.
    recommended: MaybeUndefined<bool>,
    /// Ratings of single aspects. Replaces all current ones.
    dimensions: MaybeUndefined<Vec<DimensionRatingInput>>,
    /// A one-line title; at most 200 characters.
    title: MaybeUndefined<String>,
    /// The text; plain text of 1 to 10,000 characters.
    body: MaybeUndefined<String>,
    /// The language as an IETF language tag; null clears it.
    language: MaybeUndefined<String>,
    /// Images and videos; at most 10. Replaces all current ones.
    media: MaybeUndefined<Vec<MediaInput>>,
    /// The display name of the author; at most 50 characters.
    author_name: MaybeUndefined<String>,
}

/// The input of `deleteReview`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DeleteReviewInput {
    /// The global id of the review.
    id: ID,
    /// The revision that the caller has seen. If the review has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
}

/// The input of `voteReview`. The vote replaces an earlier vote by the caller.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct VoteReviewInput {
    /// The global id of the review.
    id: ID,
    /// The vote.
    vote: ReviewVote,
}

/// The input of `removeVote`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RemoveVoteInput {
    /// The global id of the review.
    id: ID,
}

/// The input of `reportReview`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ReportReviewInput {
    /// The global id of the review.
    id: ID,
    /// The reason for the report.
    reason: ReportReason,
    /// A note for moderators; at most 1,000 characters. Not visible to others.
    note: Option<String>,
}

/// A moderator's decision on a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "ModerationAction")]
pub(crate) enum ModerationDecision {
    /// Makes the review visible to everyone and closes the reports of it.
    Publish,
    /// Hides the review.
    Reject,
    /// Puts the review back into the moderation queue.
    Restore,
}

/// The input of `moderateReview`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ModerateReviewInput {
    /// The global id of the review.
    id: ID,
    /// The decision.
    decision: ModerationDecision,
    /// The reason for the decision.
    reason: ModerationReason,
    /// A note for other moderators; at most 1,000 characters. Not visible to others.
    note: Option<String>,
    /// The revision that the caller has seen. If the review has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
}

/// The input of `replyToReview`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ReplyToReviewInput {
    /// The global id of the review.
    id: ID,
    /// The text of the reply; plain text of at most 5,000 characters. Replaces an earlier reply;
    /// null removes it. It must not be left out.
    text: MaybeUndefined<String>,
    /// The revision that the caller has seen. If the review has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
}

impl SubmitReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<(ProductId, ReviewContent)> {
        let mut errors = UserErrors::default();
        let product = errors.product(path(["productId"]), &self.product_id);
        let content = ReviewContent {
            rating: i64::from(self.rating),
            recommended: self.recommended,
            dimensions: dimensions(self.dimensions.unwrap_or_default()),
            title: self.title.unwrap_or_default(),
            body: self.body,
            language: self.language,
            media: media(self.media.unwrap_or_default()),
            author_name: self.author_name,
        };
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: errors.finish(product.map(|product| (product, content))),
        }
    }
}

impl EditReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<(ReviewKey, i64, ReviewPatch)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        let patch = ReviewPatch {
            rating: errors.not_null("rating", self.rating).map(i64::from),
            recommended: clearable(self.recommended),
            dimensions: errors
                .not_null("dimensions", self.dimensions)
                .map(dimensions),
            title: errors.not_null("title", self.title),
            body: errors.not_null("body", self.body),
            language: clearable(self.language),
            media: errors.not_null("media", self.media).map(media),
            author_name: errors.not_null("authorName", self.author_name),
        };
        let expected = i64::from(self.expected_revision);
        parsed(errors, key.map(|key| (key, expected, patch)))
    }
}

impl DeleteReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<ReviewKey> {
        ParsedInput {
            expected_revision: self.expected_revision,
            ..by_id(&self.id)
        }
    }
}

impl VoteReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<(ReviewKey, Vote)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        parsed(errors, key.map(|key| (key, self.vote.into())))
    }
}

impl RemoveVoteInput {
    pub(crate) fn parse(self) -> ParsedInput<ReviewKey> {
        by_id(&self.id)
    }
}

impl ReportReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<(ReviewKey, review::ReportReason, Option<String>)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        parsed(errors, key.map(|key| (key, self.reason.into(), self.note)))
    }
}

impl ModerateReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<(ReviewKey, ModerationInput)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        let moderation = ModerationInput {
            action: self.decision.into(),
            reason: self.reason.into(),
            note: self.note,
            expected_revision: self.expected_revision.map(i64::from),
        };
        parsed(errors, key.map(|key| (key, moderation)))
    }
}

impl ReplyToReviewInput {
    pub(crate) fn parse(self) -> ParsedInput<(ReviewKey, Option<String>, Option<i64>)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        let expected = self.expected_revision.map(i64::from);
        let text = clearable(self.text);
        if text.is_none() {
            let message = "the text of the reply is missing; null removes the present reply";
            errors.add(path(["text"]), message.to_owned());
        }
        parsed(
            errors,
            key.zip(text).map(|(key, text)| (key, text, expected)),
        )
    }
}

fn by_id(id: &ID) -> ParsedInput<ReviewKey> {
    let mut errors = UserErrors::default();
    let key = errors.review(path(["id"]), id);
    parsed(errors, key)
}

fn parsed<T>(errors: UserErrors, value: Option<T>) -> ParsedInput<T> {
    ParsedInput {
        idempotency_key: None,
        expected_revision: None,
        value: errors.finish(value),
    }
}

fn dimensions(ratings: Vec<DimensionRatingInput>) -> Vec<(String, i64)> {
    let stars = |dimension: DimensionRatingInput| (dimension.name, i64::from(dimension.rating));
    ratings.into_iter().map(stars).collect()
}
