//! Authors submit, edit and delete their reviews.
//!
//! The steps and the crash table of a submitted review are in ARCHITECTURE.md, walk 2.

use std::collections::HashMap;
use std::future::ready;

use tokio::time::Instant;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::idempotency::IdempotencyKey;
use vitrine_model::import::digest;
use vitrine_model::product::{HotReason, ProductStatus};
use vitrine_model::review::{Author, QueueReason, Queued, Review, ReviewStatus, ReviewVersion};
use vitrine_storage::backoff;
use vitrine_storage::claims::Claim;
use vitrine_storage::reviewing::{ReviewSideWrites, ReviewTarget, ReviewedProduct, SubmitOutcome};
use vitrine_storage::write::Answer;

use super::checks::{self, Checked};
use super::group_commit::{CountedInsert, DeferredInsert, TargetLookup, accepts};
use super::{Moderation, ReviewContent, ReviewKey, ReviewPatch, Reviewed};
use crate::admin::commands::{ANSWER_KEPT_MILLIS, MAX_ATTEMPTS, idempotency_key, key_clash};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::{Catalog, DomainError};

/// The maximum number of versions returned per review.
const MAX_VERSIONS: u32 = 50;

/// Attempts a write until it returns an outcome, at most [`MAX_ATTEMPTS`] times; `None` means that
/// the data has changed since it was read. Pauses before each further attempt, so that several
/// writers of one review do not overtake each other again and again.
async fn retry_changed<T, Fut>(attempt: impl Fn() -> Fut) -> Result<T, DomainError>
where
    Fut: Future<Output = Result<Option<T>, DomainError>>,
{
    for nth in 0..MAX_ATTEMPTS {
        if nth > 0 {
            tokio::time::sleep(backoff(nth)).await;
        }
        if let Some(outcome) = attempt().await? {
            return Ok(outcome);
        }
    }
    Err(DomainError::Unavailable(None))
}

/// A review that is being submitted.
struct Submission {
    author: AuthorId,
    product: ProductId,
    content: ReviewContent,
    key: Option<Keyed>,
    began: Instant,
}

/// The idempotency key of a submission.
struct Keyed {
    /// The key, prefixed with the subject.
    name: String,
    /// The digest of the submitted content.
    input: String,
}

impl Catalog {
    /// Submits a review. The rating statistics are updated in the same transaction; on a hot
    /// product, a moment later.
    ///
    /// A repeated idempotency key with the same content returns the same review. There is one
    /// review per author and product: a second one is refused and the existing one returned, unless
    /// that was deleted or rejected, in which case it is overwritten.
    pub async fn submit_review(
        &self,
        author: &str,
        key: Option<String>,
        product: ProductId,
        content: ReviewContent,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let key = match key.map(idempotency_key).transpose() {
            Ok(key) => key,
            Err(refusal) => return Ok(refused(refusal, None)),
        };
        let keyed = |key: IdempotencyKey| Keyed {
            name: key.of(author),
            input: digest(&("submitReview", product.to_string(), &content)),
        };
        let submission = Submission {
            author: AuthorId(author.to_owned()),
            product,
            key: key.map(keyed),
            content,
            began: Instant::now(),
        };
        if let Some(outcome) = self.submit_unread(&submission).await? {
            return Ok(outcome);
        }
        retry_changed(|| self.try_submit(&submission)).await
    }

    /// Stores a review without reading anything before: the transaction that counts it reads the
    /// product, and unique indexes refuse a second review and a key that is taken. Returns `None`
    /// when they have to be read after all.
    async fn submit_unread(
        &self,
        submission: &Submission,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        // Pictures are claimed only for a review that can be stored.
        if self.has_pictures(&submission.content.media) {
            return Ok(None);
        }
        let hot = self.hot_products().known(submission.product);
        let hot = hot.filter(|known| known.outlier.is_hot(self.now()));
        let known = match hot {
            Some(hot) => Some(hot),
            None => self.reviewed_product_in_memory(submission.product)?,
        };
        let (dimensions, is_hot) = match known {
            Some(known) if known.status != ProductStatus::Active => return Ok(None),
            Some(known) => {
                let reference = self.reference();
                let dimensions = reference.review_dimensions_of(&known.kind, known.category);
                (dimensions, known.outlier.is_hot(self.now()))
            }
            // Only the transaction that counts a review compares it with its product.
            None if self.moderation() == Moderation::Before => return Ok(None),
            None => {
                let given = submission.content.dimensions.iter();
                (given.map(|(name, _)| name.clone()).collect(), false)
            }
        };
        // Refusals need the product: the review may have been stored before.
        let mut errors = ValidationErrors::default();
        let Some(content) = checks::content(&submission.content, &dimensions, &mut errors) else {
            return Ok(None);
        };
        let review = self.new_review(submission, content, false);
        let claim = self.claim_of(submission, review.id, 0);
        // Only the transaction that counts a review stores a key with it.
        if claim.is_some() && (is_hot || review.status != ReviewStatus::Published) {
            return Ok(None);
        }
        let new = CountedInsert {
            review,
            check_purchase: true,
            claim,
        };
        self.submit_new(new, is_hot, submission.began).await
    }

    fn reviewed_product_in_memory(
        &self,
        product: ProductId,
    ) -> Result<Option<ReviewedProduct>, DomainError> {
        let memory = self.product_memory().filter(|memory| memory.is_current());
        let Some(view) = memory.and_then(|memory| memory.get(product)) else {
            return Ok(None);
        };
        Ok(Some(ReviewedProduct {
            status: view.status()?,
            kind: view.kind()?.to_owned(),
            category: view.category()?,
            outlier: view.outlier()?,
        }))
    }

    /// One try; `None` to retry.
    async fn try_submit(
        &self,
        submission: &Submission,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        let product = submission.product;
        let look_up = TargetLookup(product, submission.author.clone());
        let target = self.batched(look_up, submission.began).await?;
        // Read after the review. The claim is written before the review or with it, so if the review
        // was visible, its claim is too.
        let claimed = match self.claimed(submission).await? {
            Claimed::No => None,
            Claimed::By(review, round) => Some((review, round)),
            Claimed::ForAnother => return Ok(Some(refused(key_clash(), None))),
        };
        let Some(target) = target else {
            return Ok(Some(refused(no_product(), None)));
        };
        self.hot_products().remember(product, &target.product);
        if let Some(own) = &target.own
            && claimed.is_some_and(|(id, round)| id == own.id && i64::from(own.round) >= round)
        {
            return Ok(Some(done(own.clone(), own.dirty)));
        }
        if let Some(refusal) = not_open(target.product.status) {
            return Ok(Some(refused(refusal, None)));
        }
        if let Some(own) = &target.own
            && matches!(own.status, ReviewStatus::Published | ReviewStatus::Pending)
        {
            return Ok(Some(refused(already_reviewed(), Some(own.clone()))));
        }
        let dimensions = self
            .reference()
            .review_dimensions_of(&target.product.kind, target.product.category);
        let mut errors = ValidationErrors::default();
        let Some(content) = checks::content(&submission.content, &dimensions, &mut errors) else {
            return Ok(Some(refused_all(errors, None)));
        };
        let new = self.new_review(submission, content, target.bought);
        let own = target.own.as_ref().map(|own| own.id);
        let round = target.own.as_ref().map_or(0, |own| own.round + 1);
        let review = Review {
            id: own.or(claimed.map(|(id, _)| id)).unwrap_or(new.id),
            ..new
        };
        let media = self.claim_review_pictures(&[], &review).await?;
        if !media.is_empty() {
            return Ok(Some(refused_all(media, None)));
        }
        // An earlier claim without a stored review is reused.
        if claimed.is_none() && !self.claim(submission, review.id, round).await? {
            return Ok(None);
        }
        if let Some(own) = target.own {
            return self.overwrite(own, review).await;
        }
        let is_hot = target.product.outlier.is_hot(self.now());
        let new = CountedInsert {
            review,
            check_purchase: false,
            claim: None,
        };
        self.submit_new(new, is_hot, submission.began).await
    }

    /// Returns what the idempotency key of a submission was used for. One command; none without a
    /// key.
    async fn claimed(&self, submission: &Submission) -> Result<Claimed, DomainError> {
        let Some(keyed) = &submission.key else {
            return Ok(Claimed::No);
        };
        let (name, now) = (keyed.name.clone(), self.now());
        let recorded = self.read(|store| async move { store.recorded(&name, now).await });
        Ok(match recorded.await? {
            None => Claimed::No,
            Some(recorded) => match recorded.answer {
                Answer::Review(review, round) if recorded.input == keyed.input => {
                    Claimed::By(review, round)
                }
                _ => Claimed::ForAnother,
            },
        })
    }

    /// Claims the idempotency key of a submission for a review; returns false when another request
    /// has claimed it. No command without a key.
    async fn claim(
        &self,
        submission: &Submission,
        review: ReviewId,
        round: i32,
    ) -> Result<bool, DomainError> {
        match self.claim_of(submission, review, round) {
            None => Ok(true),
            Some(claim) => self.batched(claim, submission.began).await,
        }
    }

    /// The claim of the idempotency key of a submission, if it has one.
    fn claim_of(&self, submission: &Submission, review: ReviewId, round: i32) -> Option<Claim> {
        let keyed = submission.key.as_ref()?;
        Some(Claim {
            name: keyed.name.clone(),
            input: keyed.input.clone(),
            review,
            round,
            until: self.now().plus_millis(ANSWER_KEPT_MILLIS),
        })
    }

    /// Stores a new review. `is_hot`: whether its product is; `began`: when its submission did. Returns `None`
    /// when the product and the author's review have to be read first.
    async fn submit_new(
        &self,
        new: CountedInsert,
        is_hot: bool,
        began: Instant,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        if new.review.status != ReviewStatus::Published || is_hot {
            let new = DeferredInsert {
                review: new.review,
                check_purchase: new.check_purchase,
            };
            return self.submit_deferred(new, began).await;
        }
        let has_key = new.claim.is_some();
        let (outcome, review) = self.batched(new, began).await?;
        match outcome {
            SubmitOutcome::Stored => {
                self.note_review(review.product_id);
                let review = Review {
                    applied: review.contribution(),
                    dirty: false,
                    ..review
                };
                Ok(Some(done(review, false)))
            }
            SubmitOutcome::Contended => {
                self.mark_hot(review.product_id, HotReason::Conflict);
                if has_key {
                    // The key may be held by a transaction that somebody left open.
                    self.suspect_abandoned();
                    return Ok(None);
                }
                // The transaction may have failed before it read the product.
                let known = self.hot_products().known(review.product_id);
                let accepts = |known| accepts(&self.reference(), &review, &known);
                if !known.is_some_and(accepts) {
                    return Ok(None);
                }
                let new = DeferredInsert {
                    review,
                    check_purchase: false,
                };
                self.submit_deferred(new, began).await
            }
            SubmitOutcome::Refused => Ok(None),
        }
    }

    /// Stores a review that is folded later, or only once a moderator publishes it.
    async fn submit_deferred(
        &self,
        new: DeferredInsert,
        began: Instant,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        self.hot_products()
            .wait_for_capacity(new.review.product_id)
            .await;
        let Some(review) = self.batched(new, began).await? else {
            return Ok(None);
        };
        let pending = review.dirty;
        if pending {
            self.note_review(review.product_id);
            self.fold_soon(review.product_id, true);
        }
        Ok(Some(done(review, pending)))
    }

    /// Overwrites a deleted or rejected review. It waits for a moderator if a moderator hid it, or
    /// if it has open reports: deleting a review does not bypass moderation.
    async fn overwrite(
        &self,
        own: Review,
        new: Review,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        let last = own.decisions.last();
        let doubted =
            own.reports > 0 || last.is_some_and(|last| last.to != ReviewStatus::Published);
        let status = if doubted {
            ReviewStatus::Pending
        } else {
            new.status
        };
        let after = Review {
            id: own.id,
            status,
            queued: self.queued_as(status),
            revision: own.revision + 1,
            round: own.round + 1,
            decisions: own.decisions.clone(),
            origin: own.origin.clone(),
            verified: own.verified || new.verified,
            vouched: own.vouched,
            applied: own.applied.clone(),
            reports: own.reports,
            ..new
        };
        let side_writes = ReviewSideWrites {
            version: Some(version(&own, self.now())),
            ..ReviewSideWrites::default()
        };
        let change = Change {
            before: own,
            after,
            side_writes,
        };
        self.write_change(change).await
    }

    /// Changes the author's own review, which keeps its votes. A rejected one waits for a moderator
    /// again, and so does every one with [`Moderation::Before`].
    pub async fn edit_review(
        &self,
        author: &str,
        key: ReviewKey,
        expected: i64,
        patch: ReviewPatch,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        self.update_review(key, |before| self.edit(before, author, expected, &patch))
            .await
    }

    async fn edit(
        &self,
        before: Review,
        author: &str,
        expected: i64,
        patch: &ReviewPatch,
    ) -> Result<Next, DomainError> {
        if let Err(refusal) = is_own(&before, author) {
            return Ok(Next::refused(refusal, None));
        }
        if before.status == ReviewStatus::Deleted {
            let message = "you deleted this review; write a new one";
            let refusal = UserError::new(UserErrorCode::NotOpen, &[&"id"], message);
            return Ok(Next::refused(refusal, Some(before)));
        }
        if before.revision != expected {
            // A repeated request whose answer was lost.
            let again = before.revision == expected + 1 && has_content_of(&before, patch);
            return Ok(if again {
                Next::Unchanged(before)
            } else {
                Next::refused(stale(&before, expected), Some(before))
            });
        }
        let of_review = |refusal: UserError| refusal.at(&[&"id"]);
        let Some(target) = self.target_of(&before).await? else {
            return Ok(Next::refused(of_review(no_product()), Some(before)));
        };
        if let Some(refusal) = not_open(target.product.status) {
            return Ok(Next::refused(of_review(refusal), Some(before)));
        }
        let dimensions = self
            .reference()
            .review_dimensions_of(&target.product.kind, target.product.category);
        let mut errors = ValidationErrors::default();
        let Some(content) = content_after(&before, patch, dimensions, &mut errors) else {
            return Ok(Next::Answer(refused_all(errors, Some(before))));
        };
        let now = self.now();
        let after = self.edited(&before, content, now);
        if same_content(&before, &after) {
            return Ok(Next::Unchanged(before));
        }
        let media = self.claim_review_pictures(&before.media, &after).await?;
        if !media.is_empty() {
            return Ok(Next::Answer(refused_all(media, Some(before))));
        }
        let side_writes = ReviewSideWrites {
            version: Some(version(&before, now)),
            ..ReviewSideWrites::default()
        };
        Ok(Next::write(before, after, side_writes))
    }

    /// Deletes the author's own review. Idempotent.
    pub async fn delete_review(
        &self,
        author: &str,
        key: ReviewKey,
        expected: Option<i64>,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        self.update_review(key, |before| ready(Ok(delete(before, author, expected))))
            .await
    }

    /// Changes a review with `decide`: reads it, writes the change if the review has not changed
    /// meanwhile, and otherwise retries. All changes of reviews except votes and reports go through
    /// here.
    pub(super) async fn update_review<F>(
        &self,
        key: ReviewKey,
        decide: impl Fn(Review) -> F,
    ) -> Result<Outcome<Reviewed>, DomainError>
    where
        F: Future<Output = Result<Next, DomainError>>,
    {
        retry_changed(async || {
            let Some(before) = self.find_review(key).await? else {
                return Ok(Some(refused(no_review(), None)));
            };
            match decide(before).await? {
                Next::Answer(outcome) => Ok(Some(outcome)),
                Next::Unchanged(review) => {
                    let pending = review.dirty;
                    Ok(Some(done(review, pending)))
                }
                Next::Write(change) => self.write_change(*change).await,
            }
        })
        .await
    }

    /// Writes a change and folds it; `None` when another writer was faster.
    async fn write_change(
        &self,
        Change {
            before,
            mut after,
            side_writes,
        }: Change,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        let now = self.now();
        let is_hidden = |review: &Review| {
            matches!(
                review.status,
                ReviewStatus::Rejected | ReviewStatus::Deleted
            )
        };
        if before.status == ReviewStatus::Rejected && !is_hidden(&after) {
            self.claim_pictures_again(&mut after).await?;
        }
        let (was, is) = (before.clone(), after.clone());
        let changed = self
            .write(|store| async move {
                store
                    .apply_review_change(&was, &is, &side_writes, now)
                    .await
            })
            .await?;
        if !changed {
            return Ok(None);
        }
        let pending = self.fold_change(&before, &after).await;
        Ok(Some(done(after, pending)))
    }

    /// An author's reviews of these products, including pending and rejected ones but not deleted
    /// ones. One command.
    pub async fn own_reviews(
        &self,
        author: &str,
        products: Vec<ProductId>,
    ) -> Result<HashMap<ProductId, Review>, DomainError> {
        let author = AuthorId(author.to_owned());
        let mut reviews = self
            .read(|store| async move { store.reviews_by_author(&products, &author).await })
            .await?;
        reviews.retain(|_, review| review.status != ReviewStatus::Deleted);
        Ok(reviews)
    }

    /// The earlier versions of reviews, oldest first, at most the last 50 of each. One command.
    pub async fn review_versions(
        &self,
        ids: Vec<ReviewId>,
    ) -> Result<HashMap<ReviewId, Vec<ReviewVersion>>, DomainError> {
        self.read(|store| async move { store.review_versions(&ids, MAX_VERSIONS).await })
            .await
    }

    fn new_review(&self, submission: &Submission, content: Checked, bought: bool) -> Review {
        let status = match self.moderation() {
            Moderation::After => ReviewStatus::Published,
            Moderation::Before => ReviewStatus::Pending,
        };
        Review {
            id: ReviewId::random(),
            product_id: submission.product,
            author: Some(Author {
                id: submission.author.clone(),
                name: content.author_name,
            }),
            rating: content.rating,
            recommended: content.recommended,
            dimensions: content.dimensions,
            title: content.title,
            body: content.body,
            language: content.language,
            media: content.media,
            verified: bought,
            vouched: false,
            attributes: Vec::new(),
            incentivized: false,
            origin: None,
            status,
            helpful: 0,
            unhelpful: 0,
            imported_helpful: 0,
            imported_unhelpful: 0,
            created_at: Some(self.now()),
            edited_at: None,
            revision: 1,
            decisions: Vec::new(),
            reply: None,
            reports: 0,
            queued: self.queued_as(status),
            round: 0,
            applied: None,
            dirty: status == ReviewStatus::Published,
        }
    }

    fn queued_as(&self, status: ReviewStatus) -> Option<Queued> {
        (status == ReviewStatus::Pending).then(|| Queued {
            reason: QueueReason::Pending,
            since: self.now(),
        })
    }

    fn edited(&self, before: &Review, content: Checked, now: Timestamp) -> Review {
        let status = match (before.status, self.moderation()) {
            (ReviewStatus::Published, Moderation::After) => ReviewStatus::Published,
            _ => ReviewStatus::Pending,
        };
        // A queued review keeps its place in the queue.
        let since = before.queued.map(|queued| queued.since);
        let queued = match status {
            ReviewStatus::Published => before.queued,
            _ => self.queued_as(status).map(|queued| Queued {
                since: since.unwrap_or(queued.since),
                ..queued
            }),
        };
        let id = before.author.as_ref().map(|author| author.id.clone());
        Review {
            author: id.map(|id| Author {
                id,
                name: content.author_name,
            }),
            rating: content.rating,
            recommended: content.recommended,
            dimensions: content.dimensions,
            title: content.title,
            body: content.body,
            language: content.language,
            media: content.media,
            status,
            queued,
            edited_at: Some(now),
            revision: before.revision + 1,
            ..before.clone()
        }
    }

    async fn find_review(&self, (product, id): ReviewKey) -> Result<Option<Review>, DomainError> {
        self.read(|store| async move { store.find_review(product, id).await })
            .await
    }

    async fn target_of(&self, review: &Review) -> Result<Option<ReviewTarget>, DomainError> {
        let author = review
            .author
            .as_ref()
            .map_or_else(|| AuthorId(String::new()), |author| author.id.clone());
        let target = self
            .batched(TargetLookup(review.product_id, author), Instant::now())
            .await?;
        if let Some(target) = &target {
            self.hot_products()
                .remember(review.product_id, &target.product);
        }
        Ok(target)
    }

    /// Folds a change if it affects the rating statistics. Returns whether that is still to be
    /// done.
    async fn fold_change(&self, before: &Review, after: &Review) -> bool {
        let counts = |review: &Review| review.status == ReviewStatus::Published;
        if !counts(before) && !counts(after) && before.applied.is_none() {
            return false;
        }
        self.fold_now_or_later(after.product_id).await
    }
}

/// A change of a review, with its side writes.
pub(super) struct Change {
    before: Review,
    after: Review,
    side_writes: ReviewSideWrites,
}

/// What to do with a review that was read.
pub(super) enum Next {
    /// Write nothing and return this.
    Answer(Outcome<Reviewed>),
    /// Write nothing: the review already has the requested state.
    Unchanged(Review),
    /// Write the change.
    Write(Box<Change>),
}

impl Next {
    pub(super) fn refused(refusal: UserError, current: Option<Review>) -> Self {
        Self::Answer(refused(refusal, current))
    }

    pub(super) fn write(before: Review, after: Review, side_writes: ReviewSideWrites) -> Self {
        Self::Write(Box::new(Change {
            before,
            after,
            side_writes,
        }))
    }
}

/// Deletes a review.
fn delete(before: Review, author: &str, expected: Option<i64>) -> Next {
    if let Err(refusal) = is_own(&before, author) {
        return Next::refused(refusal, None);
    }
    if before.status == ReviewStatus::Deleted {
        return Next::Unchanged(before);
    }
    if let Some(expected) = expected.filter(|expected| *expected != before.revision) {
        return Next::refused(stale(&before, expected), Some(before));
    }
    let after = Review {
        status: ReviewStatus::Deleted,
        queued: None,
        revision: before.revision + 1,
        ..before.clone()
    };
    Next::write(before, after, ReviewSideWrites::default())
}

/// Refuses everybody but the author of a review.
fn is_own(review: &Review, author: &str) -> Result<(), UserError> {
    let writer = review.author.as_ref();
    if writer.is_some_and(|writer| writer.id.0 == author) {
        return Ok(());
    }
    // The existence of hidden reviews is not revealed.
    if review.status != ReviewStatus::Published {
        return Err(no_review());
    }
    let message = "only its author may do this";
    Err(UserError::new(UserErrorCode::NotAllowed, &[&"id"], message))
}

/// What an idempotency key was used for.
enum Claimed {
    /// Nothing.
    No,
    /// The same submission, stored under this id and in this round, or about to be.
    By(ReviewId, i64),
    /// Another input.
    ForAnother,
}

/// The content after a change, checked. A language that stays is not checked again: an imported one
/// never was.
fn content_after(
    before: &Review,
    patch: &ReviewPatch,
    known: Vec<String>,
    errors: &mut ValidationErrors,
) -> Option<Checked> {
    let (known, mut given) = merged(before, patch, known);
    let kept = match patch.language {
        None => given.language.take(),
        Some(_) => None,
    };
    let content = checks::content(&given, &known, errors)?;
    Some(Checked {
        language: kept.or(content.language),
        ..content
    })
}

/// The content after a change, with the dimensions that it may name.
fn merged(
    before: &Review,
    patch: &ReviewPatch,
    mut known: Vec<String>,
) -> (Vec<String>, ReviewContent) {
    let stars =
        |(name, stars): (&String, &vitrine_model::rating::Stars)| (name.clone(), i64::from(*stars));
    let dimensions = if let Some(given) = &patch.dimensions {
        given.clone()
    } else {
        // Existing dimensions may be kept.
        known.extend(before.dimensions.keys().cloned());
        before.dimensions.iter().map(stars).collect()
    };
    let name = || before.author.as_ref().map(|author| author.name.clone());
    let content = ReviewContent {
        rating: patch.rating.unwrap_or_else(|| i64::from(before.rating)),
        recommended: patch.recommended.unwrap_or(before.recommended),
        dimensions,
        title: patch.title.clone().unwrap_or_else(|| before.title.clone()),
        body: patch.body.clone().unwrap_or_else(|| before.body.clone()),
        language: patch
            .language
            .clone()
            .unwrap_or_else(|| before.language.clone()),
        media: patch.media.clone().unwrap_or_else(|| before.media.clone()),
        author_name: patch.author_name.clone().or_else(name),
    };
    (known, content)
}

/// Whether a review already has the content that a patch would give it.
fn has_content_of(review: &Review, patch: &ReviewPatch) -> bool {
    let known = review.dimensions.keys().cloned().collect();
    let content = content_after(review, patch, known, &mut ValidationErrors::default());
    content.is_some_and(|content| {
        let name = review.author.as_ref().map(|author| &author.name);
        content.rating == review.rating
            && content.recommended == review.recommended
            && content.dimensions == review.dimensions
            && content.title == review.title
            && content.body == review.body
            && content.language == review.language
            && content.media == review.media
            && Some(&content.author_name) == name
    })
}

fn same_content(before: &Review, after: &Review) -> bool {
    let unchanged = Review {
        edited_at: before.edited_at,
        revision: before.revision,
        status: before.status,
        queued: before.queued,
        ..after.clone()
    };
    unchanged == *before
}

fn version(review: &Review, until: Timestamp) -> ReviewVersion {
    ReviewVersion {
        revision: review.revision,
        until,
        rating: review.rating,
        title: review.title.clone(),
        body: review.body.clone(),
    }
}

pub(super) fn done(review: Review, stats_pending: bool) -> Outcome<Reviewed> {
    Outcome::Done(Reviewed {
        review,
        stats_pending,
    })
}

pub(super) fn refused(refusal: UserError, current: Option<Review>) -> Outcome<Reviewed> {
    refused_with(vec![refusal], current)
}

fn refused_all(errors: ValidationErrors, current: Option<Review>) -> Outcome<Reviewed> {
    refused_with(errors.0, current)
}

pub(super) fn refused_with(refusals: Vec<UserError>, current: Option<Review>) -> Outcome<Reviewed> {
    let stats_pending = false;
    Outcome::Refused {
        refusals,
        current: current.map(|review| Reviewed {
            review,
            stats_pending,
        }),
    }
}

pub(super) fn no_product() -> UserError {
    let message = "there is no such product";
    UserError::new(UserErrorCode::NotFound, &[&"productId"], message)
}

pub(super) fn no_review() -> UserError {
    UserError::new(UserErrorCode::NotFound, &[&"id"], "there is no such review")
}

/// Why a product in this state cannot be reviewed.
fn not_open(status: ProductStatus) -> Option<UserError> {
    match status {
        ProductStatus::Active => None,
        // The existence of drafts is not revealed.
        ProductStatus::Draft => Some(no_product()),
        ProductStatus::Archived => {
            let message = "the product is archived and no longer accepts reviews";
            Some(UserError::new(
                UserErrorCode::NotOpen,
                &[&"productId"],
                message,
            ))
        }
    }
}

fn already_reviewed() -> UserError {
    let message = "you have reviewed this product already; edit that review instead";
    UserError::new(UserErrorCode::AlreadyReviewed, &[&"productId"], message)
}

pub(super) fn stale(review: &Review, expected: i64) -> UserError {
    let message = format!(
        "the review has revision {}, not {expected}: it changed in the meantime; read it again and \
         retry with the current revision",
        review.revision
    );
    UserError {
        current_revision: Some(review.revision),
        ..UserError::new(
            UserErrorCode::RevisionConflict,
            &[&"expectedRevision"],
            message,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Attempts a write that fails `failures` times; returns its result and the number of attempts.
    async fn attempted(failures: u32) -> (Result<u32, DomainError>, u32) {
        let attempts = Cell::new(0);
        let result = retry_changed(async || {
            attempts.set(attempts.get() + 1);
            Ok((attempts.get() > failures).then(|| attempts.get()))
        });
        (result.await, attempts.get())
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_attempted_until_it_returns_an_outcome() {
        for failures in [0, 1, 12] {
            let (result, attempts) = attempted(failures).await;
            assert_eq!((result.unwrap(), attempts), (failures + 1, failures + 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_others_always_overtake_fails_after_more_than_a_second() {
        let began = tokio::time::Instant::now();
        let (result, attempts) = attempted(u32::MAX).await;
        assert!(matches!(result, Err(DomainError::Unavailable(None))));
        assert_eq!(attempts, MAX_ATTEMPTS);
        // Each pause is at least half its window, and the windows are two seconds in all.
        assert!(began.elapsed() > std::time::Duration::from_secs(1));
    }
}
