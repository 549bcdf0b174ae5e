//! What others say of a review: votes and reports; and purchases, which make it a buyer's.

use std::collections::HashMap;

use vitrine_model::id::{AuthorId, ReviewId};
use vitrine_model::idempotency::is_printable;
use vitrine_model::review::{ReportReason, Review, Vote};
use vitrine_model::worker::WorkerRun;
use vitrine_storage::activity::Sale;
use vitrine_storage::reviewing::{ReactionOutcome, Report};

use super::writing::{no_product, no_review};
use super::{Purchase, Purchased, ReviewKey, VoteGiven, checks};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::workers::batch;
use crate::{Catalog, DomainError};

/// The longest note of a report, in characters.
const MAX_NOTE_CHARACTERS: usize = 1_000;
/// How many reports of a review are shown.
const MAX_REPORTS: u32 = 100;
/// How many purchases are looked at again with one look-up.
const RECHECKED: u32 = 500;
/// The most units of one purchase.
const MAX_UNITS: i32 = 10_000;

impl Catalog {
    /// Writes what a voter says of somebody else's review, or that they say nothing any more.
    /// Saying the same again changes nothing.
    pub async fn vote_review(
        &self,
        voter: &str,
        key: ReviewKey,
        vote: VoteGiven,
    ) -> Result<Outcome<Review>, DomainError> {
        let (voter, now) = (AuthorId(voter.to_owned()), self.now());
        let marked = self
            .write(|store| async move { store.vote(key, &voter, vote, now).await })
            .await?;
        if let ReactionOutcome::Done(review) = &marked {
            let known = self.hot_products().known(review.product_id);
            let hot = known.is_some_and(|known| known.is_hot(now));
            self.fold_soon(review.product_id, hot);
        }
        Ok(answer(marked, "nobody votes on their own review"))
    }

    /// What a voter says of these reviews. One command.
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
        // A vote on what the review was before it was written anew says nothing of it.
        let current = |(id, round): (ReviewId, i32)| {
            let vote = votes.get(&id).filter(|(_, of)| *of == round);
            vote.map(|(vote, _)| (id, *vote))
        };
        Ok(reviews.into_iter().filter_map(current).collect())
    }

    /// Tells moderators that something is wrong with a review. Once per reader, until a moderator
    /// has decided.
    pub async fn report_review(
        &self,
        reader: &str,
        key: ReviewKey,
        reason: ReportReason,
        note: Option<String>,
    ) -> Result<Outcome<Review>, DomainError> {
        let mut found = ValidationErrors::default();
        let note = note.map(|note| checks::text(&note, "note", MAX_NOTE_CHARACTERS, &mut found));
        if !found.is_empty() {
            return Ok(Outcome::Refused {
                refusals: found.0,
                current: None,
            });
        }
        let report = Report {
            by: AuthorId(reader.to_owned()),
            at: self.now(),
            reason,
            note,
        };
        let marked = self
            .write(|store| async move { store.report_review(key, &report).await })
            .await?;
        Ok(answer(marked, ""))
    }

    /// The reports of reviews that no moderator has dealt with, oldest first, at most 100 of each.
    /// One command.
    pub async fn open_reports(
        &self,
        ids: Vec<ReviewId>,
    ) -> Result<HashMap<ReviewId, Vec<Report>>, DomainError> {
        self.read(|store| async move { store.open_reports(&ids, MAX_REPORTS).await })
            .await
    }

    /// Records that a customer bought a product. What they wrote or will write of it is a buyer's.
    /// Doing it twice changes nothing.
    pub async fn record_purchase(
        &self,
        purchase: Purchase,
    ) -> Result<Outcome<Purchased>, DomainError> {
        let mut found = ValidationErrors::default();
        checks::subject(&purchase.customer, "customerId", &mut found);
        let now = self.now();
        let at = purchase.at.unwrap_or(now);
        if at > now.plus_millis(24 * 60 * 60 * 1000) {
            let message = "a purchase cannot lie more than a day ahead";
            found.invalid(&[&"purchasedAt"], message);
        }
        if !(1..=MAX_UNITS).contains(&purchase.quantity) {
            let message = format!("must be 1 to {MAX_UNITS}, not {}", purchase.quantity);
            found.invalid(&[&"quantity"], message);
        }
        if purchase
            .order
            .as_deref()
            .is_some_and(|order| !is_printable(order))
        {
            let message = "an order is named by 1 to 128 printable ASCII characters";
            found.invalid(&[&"orderId"], message);
        }
        if !found.is_empty() {
            return Ok(Outcome::Refused {
                refusals: found.0,
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
                    units: i64::from(purchase.quantity),
                    at,
                };
                let new = store.keep_sale(&sale).await?;
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

    /// Looks again for reviews that were being written in the very moment in which their author's
    /// purchase was recorded. Each purchase is looked at once, a while after it was recorded.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call goes on.
    pub async fn recheck_purchases(&self) -> Result<WorkerRun, DomainError> {
        let now = self.now();
        let looked =
            self.maintain(|store| async move { store.recheck_purchases(now, RECHECKED).await });
        Ok(batch(looked.await?, RECHECKED))
    }
}

fn answer(marked: ReactionOutcome, own: &str) -> Outcome<Review> {
    let refuse = |refusal: UserError, current| Outcome::Refused {
        refusals: vec![refusal],
        current,
    };
    match marked {
        ReactionOutcome::Done(review) | ReactionOutcome::Same(review) => Outcome::Done(review),
        ReactionOutcome::Gone => refuse(no_review(), None),
        ReactionOutcome::Own(review) => {
            let refusal = UserError::new(UserErrorCode::NotAllowed, &[&"id"], own);
            refuse(refusal, Some(review))
        }
    }
}
