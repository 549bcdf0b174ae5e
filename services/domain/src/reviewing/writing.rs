//! Writing, changing and deleting one's own reviews.

use std::collections::HashMap;

use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::import::digest;
use vitrine_model::product::{HotReason, ProductStatus};
use vitrine_model::review::{
    Author, Idempotency, QueueReason, Queued, Review, ReviewStatus, ReviewVersion,
};
use vitrine_storage::reviewing::{Beside, ReviewTarget, Submitted};

use super::checks::{self, Checked};
use super::together::{Counted, LookUp, Uncounted};
use super::{Moderation, ReviewContent, ReviewKey, ReviewPatch, Reviewed};
use crate::admin::refusals::Found;
use crate::admin::{Outcome, Refusal, RefusalCode};
use crate::{Catalog, DomainError};

/// How often a write is tried that finds things changed since it read them.
const MOST_TRIES: usize = 5;
/// How many versions of a review are shown.
const MOST_VERSIONS: u32 = 50;
/// The longest idempotency key.
const MOST_KEY_BYTES: usize = 128;

/// A review that is being submitted.
struct Submission {
    author: AuthorId,
    product: ProductId,
    content: ReviewContent,
    idempotency: Option<Idempotency>,
}

impl Catalog {
    /// Writes what an author says of a product. On an ordinary product the numbers follow in the
    /// same transaction; on a hot one a moment later.
    ///
    /// The same idempotency key and content give the same review again. One review per author and
    /// product: another one is refused with the one there is, unless that was deleted or rejected,
    /// in which case it is written anew.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn submit_review(
        &self,
        author: &str,
        key: Option<String>,
        product: ProductId,
        content: ReviewContent,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        if let Some(refusal) = key.as_deref().and_then(wrong_key) {
            return Ok(refused(refusal, None));
        }
        let hash = |key| Idempotency {
            key,
            hash: digest(&(product.to_string(), &content)),
        };
        let submission = Submission {
            author: AuthorId(author.to_owned()),
            product,
            idempotency: key.map(hash),
            content,
        };
        if let Some(outcome) = self.submit_to_hot(&submission).await? {
            return Ok(outcome);
        }
        for _ in 0..MOST_TRIES {
            if let Some(outcome) = self.try_submit(&submission).await? {
                return Ok(outcome);
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Stores a review of a product that is known to be hot, without reading the product; `None`
    /// when it has to be looked at after all.
    async fn submit_to_hot(
        &self,
        submission: &Submission,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        let product = submission.product;
        let known = self.heat().known(product);
        let known =
            known.filter(|known| known.is_hot(self.now()) && known.status == ProductStatus::Active);
        let Some(known) = known else {
            return Ok(None);
        };
        let dimensions = self
            .reference()
            .review_dimensions_of(&known.kind, known.category);
        // What is refused is looked at with the product: it may have been written before.
        let mut found = Found::default();
        let Some(content) = checks::content(&submission.content, &dimensions, &mut found) else {
            return Ok(None);
        };
        let review = self.new_review(submission, content, false);
        self.submit_uncounted(review, true).await
    }

    /// One attempt; `None` to begin anew.
    async fn try_submit(
        &self,
        submission: &Submission,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        let product = submission.product;
        let target = LookUp(product, submission.author.clone());
        let Some(target) = self.together(target).await? else {
            return Ok(Some(refused(no_product(), None)));
        };
        self.heat().remember(product, &target);
        if let Some(own) = &target.own
            && let Some(outcome) = answered(own, submission)
        {
            return Ok(Some(outcome));
        }
        if let Some(refusal) = not_open(target.status) {
            return Ok(Some(refused(refusal, None)));
        }
        if let Some(own) = &target.own
            && matches!(own.status, ReviewStatus::Published | ReviewStatus::Pending)
        {
            return Ok(Some(refused(already_reviewed(), Some(own.clone()))));
        }
        let dimensions = self
            .reference()
            .review_dimensions_of(&target.kind, target.category);
        let mut found = Found::default();
        let Some(content) = checks::content(&submission.content, &dimensions, &mut found) else {
            return Ok(Some(refused_all(found, None)));
        };
        if let Some(clash) = self.key_used_elsewhere(submission).await? {
            return Ok(Some(refused(clash, None)));
        }
        let review = self.new_review(submission, content, target.bought);
        match target.own {
            Some(own) => self.write_anew(own, review).await,
            None => self.submit_new(review, &target.outlier).await,
        }
    }

    async fn submit_new(
        &self,
        review: Review,
        outlier: &vitrine_model::product::Outlier,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        let now = self.now();
        if review.status != ReviewStatus::Published || outlier.is_hot(now) {
            return self.submit_uncounted(review, false).await;
        }
        match self.together(Counted(review.clone())).await? {
            Submitted::Stored => {
                self.note_review(review.product_id);
                let review = Review {
                    applied: review.contribution(),
                    dirty: false,
                    ..review
                };
                Ok(Some(done(review, false)))
            }
            Submitted::Contended => {
                self.heat_up(review.product_id, HotReason::Conflict);
                self.submit_uncounted(review, false).await
            }
            Submitted::Refused => Ok(None),
        }
    }

    /// Stores a review that is counted later, or not at all before a moderator publishes it.
    /// `look_up`: whether its author is a buyer is not known yet.
    async fn submit_uncounted(
        &self,
        review: Review,
        look_up: bool,
    ) -> Result<Option<Outcome<Reviewed>>, DomainError> {
        self.heat().room(review.product_id).await;
        let Some(review) = self.together(Uncounted { review, look_up }).await? else {
            return Ok(None);
        };
        let pending = review.dirty;
        if pending {
            self.note_review(review.product_id);
            self.fold_soon(review.product_id, true);
        }
        Ok(Some(done(review, pending)))
    }

    /// Writes a review anew that was deleted or rejected. It waits for a moderator if one took it
    /// from sight, or if somebody has reported it and no moderator has decided since: deleting it
    /// is no way around that.
    async fn write_anew(
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
            applied: own.applied.clone(),
            reports: own.reports,
            ..new
        };
        let beside = Beside {
            version: Some(version(&own, self.now())),
            ..Beside::default()
        };
        if !self.change(&own, &after, beside).await? {
            return Ok(None);
        }
        let pending = self.settled(&own, &after).await;
        Ok(Some(done(after, pending)))
    }

    /// Changes one's own review. It keeps its votes. One that was rejected waits for a moderator
    /// again; so does every one where moderators look first.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn edit_review(
        &self,
        author: &str,
        key: ReviewKey,
        expected: i64,
        patch: ReviewPatch,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        for _ in 0..MOST_TRIES {
            let before = match self.own_review(author, key).await? {
                Ok(before) => before,
                Err(refusal) => return Ok(refused(refusal, None)),
            };
            if before.revision != expected {
                // Sent again because the answer was lost.
                let again = before.revision == expected + 1 && is_so(&before, &patch);
                return Ok(if again {
                    let pending = before.dirty;
                    done(before, pending)
                } else {
                    refused(stale(&before, expected), Some(before))
                });
            }
            let of_review = |refusal: Refusal| refusal.at(&[&"id"]);
            let Some(target) = self.target_of(&before).await? else {
                return Ok(refused(of_review(no_product()), None));
            };
            if let Some(refusal) = not_open(target.status) {
                return Ok(refused(of_review(refusal), Some(before)));
            }
            let dimensions = self
                .reference()
                .review_dimensions_of(&target.kind, target.category);
            let (known, given) = merged(&before, &patch, dimensions);
            let mut found = Found::default();
            // An imported review may have no text; what is not changed is not checked anew.
            let Some(content) = checks::content(&given, &known, &mut found) else {
                return Ok(refused_all(found, Some(before)));
            };
            let now = self.now();
            let after = self.edited(&before, content, now);
            if same_content(&before, &after) {
                let pending = before.dirty;
                return Ok(done(before, pending));
            }
            let beside = Beside {
                version: Some(version(&before, now)),
                ..Beside::default()
            };
            if self.change(&before, &after, beside).await? {
                let pending = self.settled(&before, &after).await;
                return Ok(done(after, pending));
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Takes back one's own review. Doing it twice changes nothing.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn delete_review(
        &self,
        author: &str,
        key: ReviewKey,
        expected: Option<i64>,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        for _ in 0..MOST_TRIES {
            let before = match self.written_by(author, key).await? {
                Ok(before) => before,
                Err(refusal) => return Ok(refused(refusal, None)),
            };
            if before.status == ReviewStatus::Deleted {
                let pending = before.dirty;
                return Ok(done(before, pending));
            }
            if let Some(expected) = expected.filter(|expected| *expected != before.revision) {
                return Ok(refused(stale(&before, expected), Some(before)));
            }
            let after = Review {
                status: ReviewStatus::Deleted,
                queued: None,
                revision: before.revision + 1,
                ..before.clone()
            };
            if self.change(&before, &after, Beside::default()).await? {
                let pending = self.settled(&before, &after).await;
                return Ok(done(after, pending));
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// What an author wrote of these products, as only they see it: also what waits or was
    /// rejected, but not what they deleted. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn own_reviews(
        &self,
        author: &str,
        products: Vec<ProductId>,
    ) -> Result<HashMap<ProductId, Review>, DomainError> {
        let (store, author) = (self.store().clone(), AuthorId(author.to_owned()));
        let mut found = self
            .shielded(async move { store.reviews_by_author(&products, &author).await })
            .await?;
        found.retain(|_, review| review.status != ReviewStatus::Deleted);
        Ok(found)
    }

    /// The versions that reviews had before, oldest first, at most the last 50 of each. One
    /// command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn review_versions(
        &self,
        ids: Vec<ReviewId>,
    ) -> Result<HashMap<ReviewId, Vec<ReviewVersion>>, DomainError> {
        let store = self.store().clone();
        self.shielded(async move { store.review_versions(&ids, MOST_VERSIONS).await })
            .await
    }

    /// Why a key cannot be used: the author wrote of another product with it.
    async fn key_used_elsewhere(
        &self,
        submission: &Submission,
    ) -> Result<Option<Refusal>, DomainError> {
        let Some(given) = &submission.idempotency else {
            return Ok(None);
        };
        let (store, author) = (self.store().clone(), submission.author.clone());
        let key = given.key.clone();
        let other = self
            .shielded(async move { store.review_by_key(&author, &key).await })
            .await?;
        let other = other.filter(|other| other.product_id != submission.product);
        Ok(other.map(|_| key_clash()))
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
            idempotency: submission.idempotency.clone(),
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
        // Whoever waits keeps the place in the queue.
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

    /// A review of this author that was not deleted, or why there is none.
    async fn own_review(
        &self,
        author: &str,
        key: ReviewKey,
    ) -> Result<Result<Review, Refusal>, DomainError> {
        let found = self.written_by(author, key).await?;
        Ok(found.and_then(|review| {
            if review.status == ReviewStatus::Deleted {
                let message = "you deleted this review; write a new one";
                return Err(Refusal::new(RefusalCode::NotOpen, &[&"id"], message));
            }
            Ok(review)
        }))
    }

    async fn written_by(
        &self,
        author: &str,
        (product, id): ReviewKey,
    ) -> Result<Result<Review, Refusal>, DomainError> {
        let found = self.find_review((product, id)).await?;
        let Some(review) = found else {
            return Ok(Err(no_review()));
        };
        let own = review
            .author
            .as_ref()
            .is_some_and(|writer| writer.id.0 == author);
        if own {
            return Ok(Ok(review));
        }
        // What nobody else sees is not spoken of.
        if review.status != ReviewStatus::Published {
            return Ok(Err(no_review()));
        }
        let message = "only its author may do this";
        Ok(Err(Refusal::new(
            RefusalCode::NotAllowed,
            &[&"id"],
            message,
        )))
    }

    pub(super) async fn find_review(
        &self,
        (product, id): ReviewKey,
    ) -> Result<Option<Review>, DomainError> {
        let store = self.store().clone();
        self.shielded(async move { store.find_review(product, id).await })
            .await
    }

    async fn target_of(&self, review: &Review) -> Result<Option<ReviewTarget>, DomainError> {
        let author = review
            .author
            .as_ref()
            .map_or_else(|| AuthorId(String::new()), |author| author.id.clone());
        let target = self.together(LookUp(review.product_id, author)).await?;
        if let Some(target) = &target {
            self.heat().remember(review.product_id, target);
        }
        Ok(target)
    }

    pub(super) async fn change(
        &self,
        before: &Review,
        after: &Review,
        beside: Beside,
    ) -> Result<bool, DomainError> {
        let (store, before, after) = (self.store().clone(), before.clone(), after.clone());
        self.shielded(async move { store.change_review(&before, &after, &beside).await })
            .await
    }

    /// Counts a change, if there is anything to count. Gives whether it is still to be done.
    pub(super) async fn settled(&self, before: &Review, after: &Review) -> bool {
        let seen = |review: &Review| review.status == ReviewStatus::Published;
        if !seen(before) && !seen(after) && before.applied.is_none() {
            return false;
        }
        self.settle(after.product_id).await
    }
}

/// The answer to a submission that was given before.
fn answered(own: &Review, submission: &Submission) -> Option<Outcome<Reviewed>> {
    let (before, now) = (own.idempotency.as_ref()?, submission.idempotency.as_ref()?);
    if before.key != now.key {
        return None;
    }
    if before.hash == now.hash {
        return Some(done(own.clone(), own.dirty));
    }
    Some(refused(key_clash(), Some(own.clone())))
}

/// What the author says after a change, with the dimensions that it may name.
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
        // What it had it may keep.
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

/// Whether a review says already what a change is to make of it.
fn is_so(review: &Review, patch: &ReviewPatch) -> bool {
    let known = review.dimensions.keys().cloned().collect();
    let (known, given) = merged(review, patch, known);
    let content = checks::content(&given, &known, &mut Found::default());
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

pub(super) fn refused(refusal: Refusal, current: Option<Review>) -> Outcome<Reviewed> {
    refused_with(vec![refusal], current)
}

fn refused_all(found: Found, current: Option<Review>) -> Outcome<Reviewed> {
    refused_with(found.0, current)
}

pub(super) fn refused_with(refusals: Vec<Refusal>, current: Option<Review>) -> Outcome<Reviewed> {
    let stats_pending = false;
    Outcome::Refused {
        refusals,
        current: current.map(|review| Reviewed {
            review,
            stats_pending,
        }),
    }
}

pub(super) fn no_product() -> Refusal {
    let message = "there is no such product";
    Refusal::new(RefusalCode::NotFound, &[&"productId"], message)
}

pub(super) fn no_review() -> Refusal {
    Refusal::new(RefusalCode::NotFound, &[&"id"], "there is no such review")
}

/// Why products in this state are not reviewed.
fn not_open(status: ProductStatus) -> Option<Refusal> {
    match status {
        ProductStatus::Active => None,
        // What is not on sale yet is not spoken of.
        ProductStatus::Draft => Some(no_product()),
        ProductStatus::Archived => {
            let message = "the product is archived and takes no reviews any more";
            Some(Refusal::new(RefusalCode::NotOpen, &[&"productId"], message))
        }
    }
}

fn already_reviewed() -> Refusal {
    let message = "you have reviewed this product already; edit that review instead";
    Refusal::new(RefusalCode::AlreadyReviewed, &[&"productId"], message)
}

pub(super) fn stale(review: &Review, expected: i64) -> Refusal {
    let message = format!(
        "the review has revision {}, not {expected}: it changed meanwhile; read it again and \
         decide anew",
        review.revision
    );
    Refusal {
        current_revision: Some(review.revision),
        ..Refusal::new(
            RefusalCode::RevisionConflict,
            &[&"expectedRevision"],
            message,
        )
    }
}

fn key_clash() -> Refusal {
    let message =
        "this idempotency key was used for another review; give every one a key of its own";
    Refusal::new(
        RefusalCode::IdempotencyConflict,
        &[&"idempotencyKey"],
        message,
    )
}

fn wrong_key(key: &str) -> Option<Refusal> {
    let printable = key.bytes().all(|b| (b' '..=b'~').contains(&b));
    if printable && (1..=MOST_KEY_BYTES).contains(&key.len()) {
        return None;
    }
    let message = format!("an idempotency key is 1 to {MOST_KEY_BYTES} printable ASCII characters");
    Some(Refusal::new(
        RefusalCode::Invalid,
        &[&"idempotencyKey"],
        message,
    ))
}
