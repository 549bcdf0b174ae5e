//! What moderators decide, and what the shop answers.

use vitrine_model::review::{
    Decision, MOST_DECISIONS, MOST_REPLY_CHARACTERS, QueueReason, Queued, Reply, Review,
    ReviewStatus,
};
use vitrine_storage::reviewing::Beside;

use super::writing::{done, no_review, refused, refused_with, stale};
use super::{Judgement, ReviewKey, Reviewed, Verdict, checks};
use crate::admin::refusals::Found;
use crate::admin::{Outcome, Refusal, RefusalCode};
use crate::{Catalog, DomainError};

/// How often a write is tried that finds the review changed since it was read.
const MOST_TRIES: usize = 5;
/// The longest note of a decision, in characters.
const MOST_NOTE_CHARACTERS: usize = 1_000;

impl Catalog {
    /// Decides over a review; every decision is logged. Publishing one that is published settles
    /// the reports of it.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn moderate_review(
        &self,
        moderator: &str,
        key: ReviewKey,
        judgement: Judgement,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let mut found = Found::default();
        let note = judgement
            .note
            .as_deref()
            .map(|note| checks::text(note, "note", MOST_NOTE_CHARACTERS, &mut found));
        if !found.is_empty() {
            return Ok(refused_with(found.0, None));
        }
        for _ in 0..MOST_TRIES {
            let Some(before) = self.find_review(key).await? else {
                return Ok(refused(no_review(), None));
            };
            if let Some(expected) = judgement
                .expected_revision
                .filter(|expected| *expected != before.revision)
            {
                // Sent again because the answer was lost.
                let again = before.revision == expected + 1
                    && before.decisions.last().is_some_and(|last| {
                        last.by == moderator
                            && last.to == judgement.verdict.status()
                            && last.reason == judgement.reason
                            && last.note == note
                    });
                return Ok(if again {
                    let pending = before.dirty;
                    done(before, pending)
                } else {
                    refused(stale(&before, expected), Some(before))
                });
            }
            if before.status == ReviewStatus::Deleted {
                let message = "its author deleted it";
                let refusal = Refusal::new(RefusalCode::NotOpen, &[&"id"], message);
                return Ok(refused(refusal, Some(before)));
            }
            let to = judgement.verdict.status();
            // Saying again what is so already is no decision, unless somebody waits for it.
            let waits = before.queued.is_some() && judgement.verdict != Verdict::Restore;
            if to == before.status && !waits {
                let pending = before.dirty;
                return Ok(done(before, pending));
            }
            let now = self.now();
            let decision = Decision {
                at: now,
                by: moderator.to_owned(),
                from: before.status,
                to,
                reason: judgement.reason,
                note: note.clone(),
            };
            let mut decisions = before.decisions.clone();
            decisions.push(decision.clone());
            if decisions.len() > MOST_DECISIONS {
                decisions.remove(0);
            }
            let after = Review {
                status: to,
                decisions,
                reports: 0,
                queued: (to == ReviewStatus::Pending).then_some(Queued {
                    reason: QueueReason::Pending,
                    since: now,
                }),
                revision: before.revision + 1,
                ..before.clone()
            };
            let beside = Beside {
                version: None,
                decision: Some(decision),
                close_reports: true,
            };
            if self.change(&before, &after, beside).await? {
                let pending = self.settled(&before, &after).await;
                return Ok(done(after, pending));
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Answers a review in public, replaces the answer, or with `None` takes it back.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn reply_to_review(
        &self,
        writer: &str,
        key: ReviewKey,
        text: Option<String>,
        expected: Option<i64>,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let mut found = Found::default();
        let text = text.map(|text| checks::text(&text, "text", MOST_REPLY_CHARACTERS, &mut found));
        if !found.is_empty() {
            return Ok(refused_with(found.0, None));
        }
        for _ in 0..MOST_TRIES {
            let Some(before) = self.find_review(key).await? else {
                return Ok(refused(no_review(), None));
            };
            if before.status != ReviewStatus::Published {
                let message = "only a published review is answered";
                let refusal = Refusal::new(RefusalCode::NotOpen, &[&"id"], message);
                return Ok(refused(refusal, Some(before)));
            }
            let said = |reply: &Option<Reply>| reply.as_ref().map(|reply| reply.text.clone());
            if said(&before.reply) == text {
                let pending = before.dirty;
                return Ok(done(before, pending));
            }
            if let Some(expected) = expected.filter(|expected| *expected != before.revision) {
                return Ok(refused(stale(&before, expected), Some(before)));
            }
            let after = Review {
                reply: text.clone().map(|text| Reply {
                    at: self.now(),
                    by: writer.to_owned(),
                    text,
                }),
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
}
