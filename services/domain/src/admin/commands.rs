//! Carrying out an order: one transaction, tried again when another writer is met, and answered the
//! same way when it is given again.

use std::sync::Arc;

use serde::Serialize;
use vitrine_model::clock::Timestamp;
use vitrine_model::idempotency::IdempotencyKey;
use vitrine_model::import::digest;
use vitrine_storage::write::{RecordedMutation, WriteUnit};
use vitrine_storage::{StorageError, Store, backoff};

use super::MutationRequest;
use super::answers::Answered;
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// How often an order is tried when other writers are met.
const MAX_TRIES: u32 = 9;
/// After how many tries in vain somebody may have left a transaction open.
const SUSPICIOUS_TRIES: u32 = 3;
/// How long the answer to an order is kept: two days.
pub(crate) const KEPT_MILLIS: i64 = 48 * 60 * 60 * 1000;

/// What an order is to do.
pub(crate) trait Command: Send + Sync + 'static {
    /// What it gives.
    type Answer: Answered;

    /// Does it within a transaction that the caller commits. It may be called again, with another
    /// transaction, when this one met another writer.
    fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> impl Future<Output = Result<Step<Self::Answer>, StorageError>> + Send;
}

/// The circumstances of one try.
pub(crate) struct Attempt {
    pub(crate) catalog: Catalog,
    /// Not older than the try.
    pub(crate) reference: Arc<Reference>,
    pub(crate) now: Timestamp,
    /// The revision that the caller has seen.
    pub(crate) expected: Option<i64>,
    /// 0 for the first try.
    pub(crate) nth: u32,
}

impl Attempt {
    /// For what is read or written outside the transaction.
    pub(crate) fn store(&self) -> &Store {
        self.catalog.store()
    }

    /// Why an order is refused that expects another revision than the thing has.
    pub(crate) fn stale(&self, thing: &str, revision: i64) -> Option<UserError> {
        let expected = self.expected.filter(|expected| *expected != revision)?;
        let message = format!(
            "the {thing} has revision {revision}, not {expected}: it changed meanwhile; read it \
             again and decide anew"
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

/// Where a try ends.
pub(crate) enum Step<T> {
    /// All is written that is to be; commit.
    Done { answer: T, change: Change },
    /// Write nothing.
    Refused {
        refusals: Vec<UserError>,
        current: Option<T>,
    },
    /// What was taken for granted is not so any more; read it again and begin anew.
    Again,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    /// Products or suppliers.
    Content,
    /// Something that processes keep in memory.
    Reference,
}

impl<T> Step<T> {
    pub(crate) const fn done(answer: T, change: Change) -> Self {
        Self::Done { answer, change }
    }

    pub(crate) fn refused(refusals: Vec<UserError>, current: Option<T>) -> Self {
        Self::Refused { refusals, current }
    }

    /// Refused for one reason.
    pub(crate) fn refuse(refusal: UserError, current: Option<T>) -> Self {
        Self::refused(vec![refusal], current)
    }
}

/// An order on its way.
struct Run<T> {
    task: T,
    /// What the order is remembered by, when it may be given again.
    name: Option<String>,
    input: String,
}

/// How a try ended.
struct End<T> {
    /// `None` to begin anew.
    outcome: Option<Outcome<T>>,
    change: Change,
    /// Whether there is anything to commit.
    writes: bool,
}

impl<T> End<T> {
    const AGAIN: Self = Self {
        outcome: None,
        change: Change::Nothing,
        writes: false,
    };

    /// An end for which nothing is written.
    const fn quiet(outcome: Outcome<T>) -> Self {
        Self {
            outcome: Some(outcome),
            ..Self::AGAIN
        }
    }
}

impl Catalog {
    /// Carries out an order, once, however often it is given with the same idempotency key.
    /// `operation`, `id` and `input` are what must be the same then.
    pub(crate) async fn execute<T: Command>(
        &self,
        order: MutationRequest,
        (operation, id, input): (&str, &str, &(impl Serialize + Sync)),
        task: T,
    ) -> Result<Outcome<T::Answer>, DomainError> {
        let expected = order.expected_revision;
        let input = digest(&(operation, id, input, expected));
        let name = match name(order) {
            Ok(name) => name,
            Err(refusal) => {
                return Ok(Outcome::Refused {
                    refusals: vec![refusal],
                    current: None,
                });
            }
        };
        let run = Arc::new(Run { task, name, input });
        for nth in 0..MAX_TRIES {
            if nth > 0 {
                if nth > SUSPICIOUS_TRIES {
                    self.suspect_abandoned();
                }
                tokio::time::sleep(backoff(nth)).await;
            }
            self.refresh_reference().await?;
            let attempt = Attempt {
                catalog: self.clone(),
                reference: self.reference(),
                now: self.now(),
                expected,
                nth,
            };
            let run = Arc::clone(&run);
            let end = self.write(|_| async move { run.attempt(&attempt).await });
            let end = end.await?;
            if end.change == Change::Reference {
                self.see_own_change().await;
            }
            if let Some(outcome) = end.outcome {
                return Ok(outcome);
            }
        }
        Err(DomainError::Unavailable(None))
    }

    /// Reads the reference data that this process has just changed. If that fails, the order is
    /// carried out all the same; whoever looks next reads it.
    pub(crate) async fn see_own_change(&self) {
        if let Err(error) = self.refresh_reference().await {
            tracing::warn!(%error, "the reference data could not be read after it changed");
        }
    }
}

impl<T: Command> Run<T> {
    async fn attempt(&self, at: &Attempt) -> Result<End<T::Answer>, StorageError> {
        match self.in_transaction(at).await {
            Err(StorageError::Contended(_) | StorageError::Interrupted(_)) => Ok(End::AGAIN),
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
        if let Some(outcome) = self.recall(unit, at.now).await? {
            return Ok(End::quiet(outcome));
        }
        // What the order was checked against must be what it is written beside.
        if unit.reference_version().await? != at.reference.version() {
            return Ok(End::AGAIN);
        }
        match self.task.attempt(unit, at).await? {
            Step::Again => Ok(End::AGAIN),
            Step::Refused { refusals, current } => {
                Ok(End::quiet(Outcome::Refused { refusals, current }))
            }
            Step::Done { answer, change } => {
                self.remember(unit, &answer, at.now).await?;
                Ok(End {
                    outcome: Some(Outcome::Done(answer)),
                    change,
                    writes: change != Change::Nothing || self.name.is_some(),
                })
            }
        }
    }

    /// What became of the order when it was given before.
    async fn recall(
        &self,
        unit: &mut WriteUnit,
        now: Timestamp,
    ) -> Result<Option<Outcome<T::Answer>>, StorageError> {
        let Some(name) = &self.name else {
            return Ok(None);
        };
        let Some(recorded) = unit.recall(name, now).await? else {
            return Ok(None);
        };
        if recorded.input == self.input {
            let answer = T::Answer::recorded(recorded.answer);
            let answer = answer.ok_or_else(|| StorageError::Corrupt {
                collection: "mutations",
                id: name.clone(),
                field: "answer".to_owned(),
            })?;
            return Ok(Some(Outcome::Done(answer)));
        }
        Ok(Some(Outcome::Refused {
            refusals: vec![key_clash()],
            current: None,
        }))
    }

    async fn remember(
        &self,
        unit: &mut WriteUnit,
        answer: &T::Answer,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let Some(name) = &self.name else {
            return Ok(());
        };
        let recorded = RecordedMutation {
            input: self.input.clone(),
            answer: answer.record(),
        };
        unit.record(name, &recorded, now.plus_millis(KEPT_MILLIS))
            .await
    }
}

/// What an order is remembered by: the key, which each subject chooses for itself.
fn name(order: MutationRequest) -> Result<Option<String>, UserError> {
    let key = order.idempotency_key.map(idempotency_key).transpose()?;
    Ok(key.map(|key| key.of(&order.subject)))
}

/// Reads an idempotency key of an input.
pub(crate) fn idempotency_key(text: String) -> Result<IdempotencyKey, UserError> {
    IdempotencyKey::parse(text).map_err(|wrong| {
        UserError::new(
            UserErrorCode::Invalid,
            &[&"idempotencyKey"],
            wrong.to_string(),
        )
    })
}

/// Refuses a key that was used for another input.
pub(crate) fn key_clash() -> UserError {
    let message =
        "this idempotency key was used for another input; give every order a key of its own";
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
    fn a_key_that_is_none_is_refused_at_its_place() {
        let order = |key: &str| MutationRequest {
            subject: "ann".to_owned(),
            idempotency_key: Some(key.to_owned()),
            expected_revision: None,
        };
        assert_eq!(name(order("k 1")), Ok(Some("ann\nk 1".to_owned())));
        let refusal = name(order("")).unwrap_err();
        assert_eq!(refusal.code, UserErrorCode::Invalid);
        assert_eq!(refusal.path, ["idempotencyKey"]);
    }
}
