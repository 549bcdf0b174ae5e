//! Moderators' decisions and the shop's replies.

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

/// The maximum length of a decision's note, in characters.
const MAX_NOTE_CHARACTERS: usize = 1_000;

impl Catalog {
    /// Moderates a review; every decision is logged. Publishing a published review closes its open
    /// reports.
    pub async fn moderate_review(
        &self,
        moderator: &str,
        key: ReviewKey,
        input: ModerationInput,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let mut errors = ValidationErrors::default();
        let note = input
            .note
            .as_deref()
            .map(|note| checks::text(note, "note", MAX_NOTE_CHARACTERS, &mut errors));
        if !errors.is_empty() {
            return Ok(refused_with(errors.0, None));
        }
        self.update_review(key, |before| {
            let note = note.as_deref();
            ready(Ok(decide(before, moderator, &input, note, self.now())))
        })
        .await
    }

    /// Adds or replaces the shop's public reply to a review; `None` removes it.
    pub async fn reply_to_review(
        &self,
        writer: &str,
        key: ReviewKey,
        text: Option<String>,
        expected: Option<i64>,
    ) -> Result<Outcome<Reviewed>, DomainError> {
        let mut errors = ValidationErrors::default();
        let text = text.map(|text| checks::text(&text, "text", MAX_REPLY_CHARACTERS, &mut errors));
        if !errors.is_empty() {
            return Ok(refused_with(errors.0, None));
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

fn decide(
    before: Review,
    moderator: &str,
    input: &ModerationInput,
    note: Option<&str>,
    now: Timestamp,
) -> Next {
    if let Some(expected) = input
        .expected_revision
        .filter(|expected| *expected != before.revision)
    {
        // A repeated request whose answer was lost.
        let again = before.revision == expected + 1
            && before
                .decisions
                .last()
                .is_some_and(|last| is_same(last, moderator, input, note));
        return if again {
            Next::Unchanged(before)
        } else {
            Next::refused(stale(&before, expected), Some(before))
        };
    }
    if before.status == ReviewStatus::Deleted {
        let message = "the author has deleted this review";
        let refusal = UserError::new(UserErrorCode::NotOpen, &[&"id"], message);
        return Next::refused(refusal, Some(before));
    }
    let to = input.action.status();
    // Confirming the current status is a decision only when the review is queued.
    let waits = before.queued.is_some() && input.action != ModerationAction::Restore;
    if to == before.status && !waits {
        return Next::Unchanged(before);
    }
    let decision = Decision {
        at: now,
        by: moderator.to_owned(),
        from: before.status,
        to,
        reason: input.reason,
        note: note.map(str::to_owned),
    };
    let after = decided(&before, &decision);
    let side_writes = ReviewSideWrites {
        version: None,
        decision: Some(decision),
        close_reports: true,
    };
    Next::write(before, after, side_writes)
}

/// Sets or removes the reply.
fn answer(before: Review, reply: Option<Reply>, expected: Option<i64>) -> Next {
    if before.status != ReviewStatus::Published {
        let message = "only a published review can be replied to";
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

/// Whether the last decision is the one being repeated.
fn is_same(last: &Decision, moderator: &str, given: &ModerationInput, note: Option<&str>) -> bool {
    last.by == moderator
        && last.to == given.action.status()
        && last.reason == given.reason
        && last.note.as_deref() == note
}

/// The review after a decision.
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
