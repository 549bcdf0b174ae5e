//! What moderators decide, and what the shop answers.

use std::future::ready;

use vitrine_model::clock::Timestamp;
use vitrine_model::review::{
    Decision, MAX_DECISIONS, MAX_REPLY_CHARACTERS, QueueReason, Queued, Reply, Review, ReviewStatus,
};
use vitrine_storage::reviewing::ReviewSideWrites;

use super::writing::{Next, refused_with, stale};
use super::{ModerationAction, ModerationInput, ReviewKey, Reviewed, checks};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::{Catalog, DomainError};

/// The longest note of a decision, in characters.
const MAX_NOTE_CHARACTERS: usize = 1_000;

impl Catalog {
    /// Decides over a review; every decision is logged. Publishing one that is published settles
    /// the reports of it.
    pub async fn moderate_review(
        &self,
        moderator: &str,
        key: ReviewKey,
        judgement: ModerationInput,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let mut found = ValidationErrors::default();
        let note = judgement
            .note
            .as_deref()
            .map(|note| checks::text(note, "note", MAX_NOTE_CHARACTERS, &mut found));
        if !found.is_empty() {
            return Ok(refused_with(found.0, None));
        }
        self.update_review(key, |before| {
            let note = note.as_deref();
            ready(Ok(decide(before, moderator, &judgement, note, self.now())))
        })
        .await
    }

    /// Answers a review in public, replaces the answer, or with `None` takes it back.
    pub async fn reply_to_review(
        &self,
        writer: &str,
        key: ReviewKey,
        text: Option<String>,
        expected: Option<i64>,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let mut found = ValidationErrors::default();
        let text = text.map(|text| checks::text(&text, "text", MAX_REPLY_CHARACTERS, &mut found));
        if !found.is_empty() {
            return Ok(refused_with(found.0, None));
        }
        self.update_review(key, |before| {
            let reply = text.clone().map(|text| Reply {
                at: self.now(),
                by: writer.to_owned(),
                text,
            });
            ready(Ok(answer(before, reply, expected)))
        })
        .await
    }
}

/// Decides over a review.
fn decide(
    before: Review,
    moderator: &str,
    judgement: &ModerationInput,
    note: Option<&str>,
    now: Timestamp,
) -> Next {
    if let Some(expected) = judgement
        .expected_revision
        .filter(|expected| *expected != before.revision)
    {
        // Sent again because the answer was lost.
        let again = before.revision == expected + 1
            && before
                .decisions
                .last()
                .is_some_and(|last| is_same(last, moderator, judgement, note));
        return if again {
            Next::Unchanged(before)
        } else {
            Next::refused(stale(&before, expected), Some(before))
        };
    }
    if before.status == ReviewStatus::Deleted {
        let message = "its author deleted it";
        let refusal = UserError::new(UserErrorCode::NotOpen, &[&"id"], message);
        return Next::refused(refusal, Some(before));
    }
    let to = judgement.verdict.status();
    // Saying again what is so already is no decision, unless somebody waits for it.
    let waits = before.queued.is_some() && judgement.verdict != ModerationAction::Restore;
    if to == before.status && !waits {
        return Next::Unchanged(before);
    }
    let decision = Decision {
        at: now,
        by: moderator.to_owned(),
        from: before.status,
        to,
        reason: judgement.reason,
        note: note.map(str::to_owned),
    };
    let after = decided(&before, &decision);
    let beside = ReviewSideWrites {
        version: None,
        decision: Some(decision),
        close_reports: true,
    };
    Next::write(before, after, beside)
}

/// Answers a review, or takes the answer back.
fn answer(before: Review, reply: Option<Reply>, expected: Option<i64>) -> Next {
    if before.status != ReviewStatus::Published {
        let message = "only a published review is answered";
        let refusal = UserError::new(UserErrorCode::NotOpen, &[&"id"], message);
        return Next::refused(refusal, Some(before));
    }
    let said = |reply: &Option<Reply>| reply.as_ref().map(|reply| reply.text.clone());
    if said(&before.reply) == said(&reply) {
        return Next::Unchanged(before);
    }
    if let Some(expected) = expected.filter(|expected| *expected != before.revision) {
        return Next::refused(stale(&before, expected), Some(before));
    }
    let after = Review {
        reply,
        revision: before.revision + 1,
        ..before.clone()
    };
    Next::write(before, after, ReviewSideWrites::default())
}

/// Whether a decision is the one that is given again.
fn is_same(last: &Decision, moderator: &str, given: &ModerationInput, note: Option<&str>) -> bool {
    last.by == moderator
        && last.to == given.verdict.status()
        && last.reason == given.reason
        && last.note.as_deref() == note
}

/// A review after a decision over it.
fn decided(before: &Review, decision: &Decision) -> Review {
    let mut decisions = before.decisions.clone();
    decisions.push(decision.clone());
    if decisions.len() > MAX_DECISIONS {
        decisions.remove(0);
    }
    Review {
        status: decision.to,
        decisions,
        reports: 0,
        queued: (decision.to == ReviewStatus::Pending).then_some(Queued {
            reason: QueueReason::Pending,
            since: decision.at,
        }),
        revision: before.revision + 1,
        ..before.clone()
    }
}
