//! Executing a mutation: one transaction, retried after write conflicts, answered from the recorded
//! answer when its idempotency key is repeated.
//!
//! The steps of a mutation:
//!
//! 1. Read the reference data again if its version changed, and begin a `WriteUnit`.
//! 2. With an idempotency key, look for the recorded answer. The same input returns it; another
//!    input is refused.
//! 3. Compare the version of the reference data inside the transaction with the version that the
//!    command uses. If they differ, begin again.
//! 4. Run the command. It reads what it changes inside the transaction, compares revisions, and
//!    collects all errors. With errors the transaction is aborted.
//! 5. Record the answer under the key, and commit. If reference data changed, this process reads
//!    it again at once.
//!
//! Words are added to the vocabulary outside the transaction, because words are never removed.
//! After a write conflict all steps are repeated, for about two seconds; then the mutation fails with
//! `UNAVAILABLE`. A process that dies before the commit leaves nothing but words. After the
//! commit, the same key returns the recorded answer.

use std::sync::Arc;

use serde::Serialize;
use vitrine_model::clock::Timestamp;
use vitrine_model::history::ChangedBy;
use vitrine_model::idempotency::IdempotencyKey;
use vitrine_model::import::digest;
use vitrine_storage::write::{RecordedMutation, WriteUnit};
use vitrine_storage::{StorageError, Store, backoff};

use super::MutationRequest;
use super::answers::StorableAnswer;
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// How often a mutation is attempted in all. The pauses take two seconds: on a busy machine, one was
/// not enough beside the worker that renames suppliers.
pub(crate) const MAX_ATTEMPTS: u32 = 13;
/// After this many failed attempts an abandoned transaction is suspected.
const SUSPICIOUS_ATTEMPTS: u32 = 3;
/// How long recorded answers are kept: two days.
pub(crate) const ANSWER_KEPT_MILLIS: i64 = 48 * 60 * 60 * 1000;

/// One kind of mutation.
pub(crate) trait Command: Send + Sync + 'static {
    /// What it returns.
    type Answer: StorableAnswer;

    /// Performs the mutation within a transaction that the caller commits. Called again, with a new
    /// transaction, after a write conflict.
    fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> impl Future<Output = Result<Step<Self::Answer>, StorageError>> + Send;
}

/// The context of one try.
pub(crate) struct Attempt {
    pub(crate) catalog: Catalog,
    /// Reference data read at the start of the try or later.
    pub(crate) reference: Arc<Reference>,
    pub(crate) now: Timestamp,
    /// The caller, for the history.
    pub(crate) by: ChangedBy,
    /// The revision that the caller expects.
    pub(crate) expected: Option<i64>,
    /// 0 for the first try.
    pub(crate) nth: u32,
}

impl Attempt {
    /// For reads and writes outside the transaction.
    pub(crate) fn store(&self) -> &Store {
        self.catalog.store()
    }

    /// Returns a refusal when the object does not have the expected revision.
    pub(crate) fn stale(&self, thing: &str, revision: i64) -> Option<UserError> {
        let expected = self.expected.filter(|expected| *expected != revision)?;
        let message = format!(
            "the {thing} has revision {revision}, not {expected}: it changed in the meantime; \
             read it again and retry with the current revision"
        );
        Some(UserError {
            current_revision: Some(revision),
            ..UserError::new(
                UserErrorCode::RevisionConflict,
                &[&"expectedRevision"],
                message,
            )
        })
    }
}

/// The result of one try.
pub(crate) enum Step<T> {
    /// Everything is written; commit.
    Done { answer: T, change: Change },
    /// Write nothing.
    Refused {
        refusals: Vec<UserError>,
        current: Option<T>,
    },
    /// Data changed since it was read; retry from the beginning.
    Retry,
}

/// The kind of data that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    /// Products or suppliers.
    Content,
    /// Reference data, which processes cache.
    Reference,
}

impl<T> Step<T> {
    pub(crate) const fn done(answer: T, change: Change) -> Self {
        Self::Done { answer, change }
    }

    pub(crate) fn refused(refusals: Vec<UserError>, current: Option<T>) -> Self {
        Self::Refused { refusals, current }
    }

    /// Refused for a single reason.
    pub(crate) fn refuse(refusal: UserError, current: Option<T>) -> Self {
        Self::refused(vec![refusal], current)
    }
}

/// A mutation in progress.
struct Execution<T> {
    command: T,
    /// The idempotency key, prefixed with the subject.
    key: Option<String>,
    input: String,
}

/// How a try ended.
struct End<T> {
    /// `None` to retry.
    outcome: Option<Outcome<T>>,
    change: Change,
    /// Whether there is anything to commit.
    writes: bool,
}

impl<T> End<T> {
    const RETRY: Self = Self {
        outcome: None,
        change: Change::Nothing,
        writes: false,
    };

    /// An end without writes.
    const fn without_writes(outcome: Outcome<T>) -> Self {
        Self {
            outcome: Some(outcome),
            ..Self::RETRY
        }
    }
}

impl Catalog {
    /// Executes a mutation once per idempotency key, however often it is requested. `operation`,
    /// `id` and `input` must be identical in every request with that key.
    pub(crate) async fn execute<T: Command>(
        &self,
        request: MutationRequest,
        (operation, id, input): (&str, &str, &(impl Serialize + Sync)),
        command: T,
    ) -> Result<Outcome<T::Answer>, DomainError> {
        let expected = request.expected_revision;
        let by = ChangedBy::mutation(&request.subject);
        let input = digest(&(operation, id, input, expected));
        let key = match scoped_key(request) {
            Ok(key) => key,
            Err(refusal) => {
                return Ok(Outcome::Refused {
                    refusals: vec![refusal],
                    current: None,
                });
            }
        };
        let execution = Arc::new(Execution {
            command,
            key,
            input,
        });
        for nth in 0..MAX_ATTEMPTS {
            if nth > 0 {
                if nth > SUSPICIOUS_ATTEMPTS {
                    self.suspect_abandoned();
                }
                tokio::time::sleep(backoff(nth)).await;
            }
            self.refresh_reference().await?;
            let attempt = Attempt {
                catalog: self.clone(),
                reference: self.reference(),
                now: self.now(),
                by: by.clone(),
                expected,
                nth,
            };
            let execution = Arc::clone(&execution);
            let end = self.write(|_| async move { execution.attempt(&attempt).await });
            let end = end.await?;
            if end.change == Change::Reference {
                self.reload_changed_reference().await;
            }
            if let Some(outcome) = end.outcome {
                return Ok(outcome);
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Reads the reference data that this process has just changed. A failure does not fail the
    /// mutation; the next reader tries again.
    pub(crate) async fn reload_changed_reference(&self) {
        if let Err(error) = self.refresh_reference().await {
            tracing::warn!(%error, "the reference data could not be read after it changed");
        }
    }
}

impl<T: Command> Execution<T> {
    async fn attempt(&self, at: &Attempt) -> Result<End<T::Answer>, StorageError> {
        match self.in_transaction(at).await {
            Err(StorageError::Contended(_) | StorageError::Interrupted(_)) => Ok(End::RETRY),
            result => result,
        }
    }

    async fn in_transaction(&self, at: &Attempt) -> Result<End<T::Answer>, StorageError> {
        let mut unit = at.store().begin_write().await?;
        match self.work(&mut unit, at).await {
            Ok(end) if end.writes => unit.commit().await.map(|()| end),
            other => {
                unit.abort().await;
                other
            }
        }
    }

    async fn work(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<End<T::Answer>, StorageError> {
        if let Some(outcome) = self.recorded_outcome(unit, at.now).await? {
            return Ok(End::without_writes(outcome));
        }
        // The input was checked against this version of the reference data.
        if unit.reference_version().await? != at.reference.version() {
            return Ok(End::RETRY);
        }
        match self.command.attempt(unit, at).await? {
            Step::Retry => Ok(End::RETRY),
            Step::Refused { refusals, current } => {
                Ok(End::without_writes(Outcome::Refused { refusals, current }))
            }
            Step::Done { answer, change } => {
                self.record_answer(unit, &answer, at.now).await?;
                Ok(End {
                    outcome: Some(Outcome::Done(answer)),
                    change,
                    writes: change != Change::Nothing || self.key.is_some(),
                })
            }
        }
    }

    /// The outcome of an earlier request with the same idempotency key.
    async fn recorded_outcome(
        &self,
        unit: &mut WriteUnit,
        now: Timestamp,
    ) -> Result<Option<Outcome<T::Answer>>, StorageError> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let Some(recorded) = unit.get_mutation(key, now).await? else {
            return Ok(None);
        };
        if recorded.input == self.input {
            let answer = T::Answer::from_stored(recorded.answer);
            let answer = answer.ok_or_else(|| StorageError::Corrupt {
                collection: "mutations",
                id: key.clone(),
                field: "answer".to_owned(),
            })?;
            return Ok(Some(Outcome::Done(answer)));
        }
        Ok(Some(Outcome::Refused {
            refusals: vec![key_clash()],
            current: None,
        }))
    }

    async fn record_answer(
        &self,
        unit: &mut WriteUnit,
        answer: &T::Answer,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        let recorded = RecordedMutation {
            input: self.input.clone(),
            answer: answer.to_stored(),
        };
        unit.record(key, &recorded, now.plus_millis(ANSWER_KEPT_MILLIS))
            .await
    }
}

/// The idempotency key, prefixed with the subject: each subject has its own keys.
fn scoped_key(request: MutationRequest) -> Result<Option<String>, UserError> {
    let key = request.idempotency_key.map(idempotency_key).transpose()?;
    Ok(key.map(|key| key.of(&request.subject)))
}

/// Parses an idempotency key.
pub(crate) fn idempotency_key(text: String) -> Result<IdempotencyKey, UserError> {
    IdempotencyKey::parse(text).map_err(|wrong| {
        UserError::new(
            UserErrorCode::Invalid,
            &[&"idempotencyKey"],
            wrong.to_string(),
        )
    })
}

/// Refuses a key that was used with different input.
pub(crate) fn key_clash() -> UserError {
    let message =
        "this idempotency key was used with different input; use a new key for every mutation";
    UserError::new(
        UserErrorCode::IdempotencyConflict,
        &[&"idempotencyKey"],
        message,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_key_is_refused_with_its_path() {
        let request = |key: &str| MutationRequest {
            subject: "ann".to_owned(),
            idempotency_key: Some(key.to_owned()),
            expected_revision: None,
        };
        assert_eq!(scoped_key(request("k 1")), Ok(Some("ann\nk 1".to_owned())));
        let refusal = scoped_key(request("")).unwrap_err();
        assert_eq!(refusal.code, UserErrorCode::Invalid);
        assert_eq!(refusal.path, ["idempotencyKey"]);
    }
}
