//! Reviews as shoppers and moderators write them.

use async_graphql::{Enum, ID, InputObject, MaybeUndefined};
use vitrine_domain::reviewing::{
    ModerationAction, ModerationInput, ReviewContent, ReviewKey, ReviewPatch,
};
use vitrine_model::id::ProductId;
use vitrine_model::review::{self, Vote};

use super::product::{MediaInput, media};
use super::user_errors::{Asked, UserErrors, clearable, path};
use crate::graphql::types::moderation::{ModerationReason, ReportReason};
use crate::graphql::types::review::ReviewVote;

/// A review to be submitted. Its author is the subject of the caller's token.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SubmitReviewInput {
    /// The product.
    product_id: ID,
    /// The stars, 1 to 5.
    rating: i32,
    /// Whether the author recommends the product.
    recommended: Option<bool>,
    /// Stars for single aspects; `reviewDimensions` of the product names them.
    dimensions: Option<Vec<DimensionRatingInput>>,
    /// A title of one line; at most 200 characters.
    title: Option<String>,
    /// The text; plain text of 1 to 10,000 characters.
    body: String,
    /// The language as an IETF tag: `en`, `pt-BR`.
    language: Option<String>,
    /// Pictures and films; at most 10.
    media: Option<Vec<MediaInput>>,
    /// The name that is shown; at most 50 characters. "Anonymous" when absent.
    author_name: Option<String>,
    /// Makes it safe to send the mutation twice: the same key and input give the same review. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Stars for one aspect of a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DimensionRatingInput {
    /// The aspect, such as `fit`.
    name: String,
    /// The stars, 1 to 5.
    rating: i32,
}

/// Changes to one's own review. What is left out stays as it is.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct EditReviewInput {
    /// The review.
    id: ID,
    /// The revision that the caller has seen. The review stays as it is when it has another one.
    expected_revision: i32,
    /// The stars, 1 to 5.
    rating: MaybeUndefined<i32>,
    /// Whether the author recommends the product; null clears it.
    recommended: MaybeUndefined<bool>,
    /// Stars for single aspects; replaces all.
    dimensions: MaybeUndefined<Vec<DimensionRatingInput>>,
    /// A title of one line; at most 200 characters.
    title: MaybeUndefined<String>,
    /// The text; plain text of 1 to 10,000 characters.
    body: MaybeUndefined<String>,
    /// The language as an IETF tag; null clears it.
    language: MaybeUndefined<String>,
    /// Pictures and films; replaces all, at most 10.
    media: MaybeUndefined<Vec<MediaInput>>,
    /// The name that is shown; at most 50 characters.
    author_name: MaybeUndefined<String>,
}

/// One's own review to be taken back.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DeleteReviewInput {
    /// The review.
    id: ID,
    /// The revision that the caller has seen. The review stays as it is when it has another one.
    expected_revision: Option<i32>,
}

/// What the caller says of somebody else's review. It replaces what they said before.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct VoteReviewInput {
    /// The review.
    id: ID,
    /// What they say.
    vote: ReviewVote,
}

/// A vote to be taken back.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RemoveVoteInput {
    /// The review.
    id: ID,
}

/// Something that moderators should know of a review.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ReportReviewInput {
    /// The review.
    id: ID,
    /// What is wrong with it.
    reason: ReportReason,
    /// What else there is to say; at most 1,000 characters. Seen by moderators only.
    note: Option<String>,
}

/// What a moderator decides over a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "ModerationAction")]
pub(crate) enum ModerationDecision {
    /// It is seen by everyone; reports of it are settled.
    Publish,
    /// It is not seen.
    Reject,
    /// It waits for a moderator again.
    Restore,
}

/// A decision over a review.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ModerateReviewInput {
    /// The review.
    id: ID,
    /// What is decided.
    decision: ModerationDecision,
    /// Why.
    reason: ModerationReason,
    /// What else there is to say; at most 1,000 characters. Seen by moderators only.
    note: Option<String>,
    /// The revision that the caller has seen. The review stays as it is when it has another one.
    expected_revision: Option<i32>,
}

/// What the shop answers to a review.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ReplyToReviewInput {
    /// The review.
    id: ID,
    /// The text; plain text of at most 5,000 characters. It replaces an earlier reply; null takes
    /// that back.
    text: Option<String>,
    /// The revision that the caller has seen. The review stays as it is when it has another one.
    expected_revision: Option<i32>,
}

impl SubmitReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ProductId, ReviewContent)> {
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
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: errors.unless_any(product.map(|product| (product, content))),
        }
    }
}

impl EditReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ReviewKey, i64, ReviewPatch)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        let patch = ReviewPatch {
            rating: errors.kept("rating", self.rating).map(i64::from),
            recommended: clearable(self.recommended),
            dimensions: errors.kept("dimensions", self.dimensions).map(dimensions),
            title: errors.kept("title", self.title),
            body: errors.kept("body", self.body),
            language: clearable(self.language),
            media: errors.kept("media", self.media).map(media),
            author_name: errors.kept("authorName", self.author_name),
        };
        let expected = i64::from(self.expected_revision);
        asked(errors, key.map(|key| (key, expected, patch)))
    }
}

impl DeleteReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<ReviewKey> {
        Asked {
            expected_revision: self.expected_revision,
            ..named(&self.id)
        }
    }
}

impl VoteReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ReviewKey, Vote)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        asked(errors, key.map(|key| (key, self.vote.into())))
    }
}

impl RemoveVoteInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<ReviewKey> {
        named(&self.id)
    }
}

impl ReportReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ReviewKey, review::ReportReason, Option<String>)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        asked(errors, key.map(|key| (key, self.reason.into(), self.note)))
    }
}

impl ModerateReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ReviewKey, ModerationInput)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        let judgement = ModerationInput {
            verdict: self.decision.into(),
            reason: self.reason.into(),
            note: self.note,
            expected_revision: self.expected_revision.map(i64::from),
        };
        asked(errors, key.map(|key| (key, judgement)))
    }
}

impl ReplyToReviewInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ReviewKey, Option<String>, Option<i64>)> {
        let mut errors = UserErrors::default();
        let key = errors.review(path(["id"]), &self.id);
        let expected = self.expected_revision.map(i64::from);
        asked(errors, key.map(|key| (key, self.text, expected)))
    }
}

fn named(id: &ID) -> Asked<ReviewKey> {
    let mut errors = UserErrors::default();
    let key = errors.review(path(["id"]), id);
    asked(errors, key)
}

fn asked<T>(errors: UserErrors, wanted: Option<T>) -> Asked<T> {
    Asked {
        idempotency_key: None,
        expected_revision: None,
        wanted: errors.unless_any(wanted),
    }
}

fn dimensions(given: Vec<DimensionRatingInput>) -> Vec<(String, i64)> {
    let stars = |given: DimensionRatingInput| (given.name, i64::from(given.rating));
    given.into_iter().map(stars).collect()
}
