//! Votes on reviews, reports of reviews, and purchases, which make a review a verified one.

use std::collections::HashMap;

use tokio::time::Instant;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, ReviewId};
use vitrine_model::idempotency::is_printable;
use vitrine_model::product::HotReason;
use vitrine_model::review::{ReportReason, Review, Vote};
use vitrine_model::worker::WorkerRun;
use vitrine_storage::activity::Sale;
use vitrine_storage::reviewing::{ReactionOutcome, Report};
use vitrine_storage::votes::NewVote;

use super::writing::{no_product, no_review};
use super::{Purchase, Purchased, ReviewKey, VoteGiven, checks};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::workers::batch;
use crate::{Catalog, DomainError};

/// The maximum length of a report's note, in characters.
const MAX_NOTE_CHARACTERS: usize = 1_000;
/// The maximum number of reports returned per review.
const MAX_REPORTS: u32 = 100;
/// The number of purchases per batch of [`Catalog::recheck_purchases`].
const RECHECK_BATCH: u32 = 500;
/// The maximum quantity of one purchase.
const MAX_PURCHASE_QUANTITY: i32 = 10_000;

impl Catalog {
    /// Casts, changes or withdraws a vote on somebody else's review. Repeating a vote changes
    /// nothing.
    pub async fn vote_review(
        &self,
        voter: &str,
        key: ReviewKey,
        vote: VoteGiven,
    ) -> Result<Outcome<Review>, DomainError> {
        let (product, review) = key;
        let vote = NewVote {
            product,
            review,
            voter: AuthorId(voter.to_owned()),
            vote,
        };
        let outcome = if let Some(outcome) = self.batched(vote.clone(), Instant::now()).await? {
            outcome
        } else {
            self.mark_hot(product, HotReason::Conflict);
            let now = self.now();
            self.write(|store| async move { store.write_vote_uncounted(&vote, now).await })
                .await?
        };
        if let ReactionOutcome::Done(review) = &outcome
            && review.dirty
        {
            self.fold_soon(review.product_id, true);
        }
        Ok(answer(outcome, "you cannot vote on your own review"))
    }

    /// A voter's votes on these reviews. One command.
    pub async fn votes_of(
        &self,
        voter: &str,
        reviews: Vec<(ReviewId, i32)>,
    ) -> Result<HashMap<ReviewId, Vote>, DomainError> {
        let voter = AuthorId(voter.to_owned());
        let ids: Vec<ReviewId> = reviews.iter().map(|(id, _)| *id).collect();
        let votes = self
            .read(|store| async move { store.votes_of(&voter, &ids).await })
            .await?;
        // Votes on an earlier round, before the review was overwritten, do not count.
        let current = |(id, round): (ReviewId, i32)| {
            let vote = votes.get(&id).filter(|(_, of)| *of == round);
            vote.map(|(vote, _)| (id, *vote))
        };
        Ok(reviews.into_iter().filter_map(current).collect())
    }

    /// Reports a review to the moderators. Each reader can report it once until a moderator
    /// decides.
    pub async fn report_review(
        &self,
        reader: &str,
        key: ReviewKey,
        reason: ReportReason,
        note: Option<String>,
    ) -> Result<Outcome<Review>, DomainError> {
        let mut errors = ValidationErrors::default();
        let note = note.map(|note| checks::text(&note, "note", MAX_NOTE_CHARACTERS, &mut errors));
        if !errors.is_empty() {
            return Ok(Outcome::Refused {
                refusals: errors.0,
                current: None,
            });
        }
        let report = Report {
            by: AuthorId(reader.to_owned()),
            at: self.now(),
            reason,
            note,
        };
        let outcome = self
            .write(|store| async move { store.report_review(key, &report).await })
            .await?;
        Ok(answer(outcome, ""))
    }

    /// The open reports of reviews, oldest first, at most 100 of each. One command.
    pub async fn open_reports(
        &self,
        ids: Vec<ReviewId>,
    ) -> Result<HashMap<ReviewId, Vec<Report>>, DomainError> {
        self.read(|store| async move { store.open_reports(&ids, MAX_REPORTS).await })
            .await
    }

    /// Records that a customer bought a product, which makes their review a verified one.
    /// Idempotent.
    pub async fn record_purchase(
        &self,
        purchase: Purchase,
    ) -> Result<Outcome<Purchased>, DomainError> {
        let now = self.now();
        let at = purchase.at.unwrap_or(now);
        let errors = check_purchase(&purchase, at, now);
        if !errors.is_empty() {
            return Ok(Outcome::Refused {
                refusals: errors.0,
                current: None,
            });
        }
        let product = purchase.product;
        let customer = AuthorId(purchase.customer);
        let recorded = self
            .write(|store| async move {
                let pair = (product, customer.clone());
                if store.review_targets(&[pair]).await?.is_empty() {
                    return Ok(None);
                }
                let recorded = store.record_purchase(product, &customer, at, now).await?;
                let order = purchase.order.map_or_else(
                    || format!("c:{}", recorded.sale),
                    |order| format!("o:{order}"),
                );
                let sale = Sale {
                    product,
                    order,
                    quantity: i64::from(purchase.quantity),
                    at,
                };
                let new = store.insert_sale(&sale).await?;
                Ok(Some((recorded, new)))
            })
            .await?;
        let Some((recorded, new)) = recorded else {
            return Ok(Outcome::Refused {
                refusals: vec![no_product()],
                current: None,
            });
        };
        if recorded.verified {
            self.fold_soon(product, false);
        }
        Ok(Outcome::Done(Purchased { product, new }))
    }

    /// Verifies reviews that were being written while their author's purchase was recorded. Each
    /// purchase is checked once, a while after it was recorded.
    ///
    /// # Errors
    /// Fails when the database fails; the next call continues.
    pub async fn recheck_purchases(&self) -> Result<WorkerRun, DomainError> {
        let now = self.now();
        let checked =
            self.maintain(|store| async move { store.recheck_purchases(now, RECHECK_BATCH).await });
        Ok(batch(checked.await?, RECHECK_BATCH))
    }
}

fn check_purchase(purchase: &Purchase, at: Timestamp, now: Timestamp) -> ValidationErrors {
    let mut errors = ValidationErrors::default();
    checks::subject(&purchase.customer, "customerId", &mut errors);
    if at > now.plus_millis(24 * 60 * 60 * 1000) {
        let message = "a purchase can be at most one day in the future";
        errors.invalid(&[&"purchasedAt"], message);
    }
    if !(1..=MAX_PURCHASE_QUANTITY).contains(&purchase.quantity) {
        let message = format!(
            "must be 1 to {MAX_PURCHASE_QUANTITY}, not {}",
            purchase.quantity
        );
        errors.invalid(&[&"quantity"], message);
    }
    let order = purchase.order.as_deref();
    if order.is_some_and(|order| !is_printable(order)) {
        let message = "an order id has 1 to 128 printable ASCII characters";
        errors.invalid(&[&"orderId"], message);
    }
    errors
}

fn answer(outcome: ReactionOutcome, own: &str) -> Outcome<Review> {
    let refuse = |refusal: UserError, current| Outcome::Refused {
        refusals: vec![refusal],
        current,
    };
    match outcome {
        ReactionOutcome::Done(review) | ReactionOutcome::Same(review) => Outcome::Done(review),
        ReactionOutcome::Gone => refuse(no_review(), None),
        ReactionOutcome::Own(review) => {
            let refusal = UserError::new(UserErrorCode::NotAllowed, &[&"id"], own);
            refuse(refusal, Some(review))
        }
    }
}
