//! Beginning, committing and retrying transactions.

use std::time::{Duration, Instant};

use mongodb::ClientSession;
use mongodb::error::{
    Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT,
};
use vitrine_model::id::random_bytes;

use crate::durability::{MAJORITY_TIMEOUT, durable};
use crate::error::is_unavailable;
use crate::store::snapshot;
use crate::{StorageError, Store};

/// The minimum number of attempts of a transaction that has write conflicts.
const MIN_ATTEMPTS: u32 = 8;
/// The minimum time for which such a transaction is retried. On a busy machine, eight attempts may
/// be over before the conflicting transactions have committed.
const MIN_RETRY_TIME: Duration = Duration::from_secs(2);
/// How often a commit with unknown outcome is sent.
const MAX_COMMITS: usize = 5;

/// Retries a transaction after write conflicts, with [`backoff`] between the attempts: at least seven
/// times, and for at least two seconds. Retries once, immediately, when the connection broke before
/// the commit.
///
/// # Errors
/// The error of the last attempt; [`StorageError::Contended`] only after all attempts.
pub async fn retry_contended<T, Fut>(mut attempt: impl FnMut() -> Fut) -> Result<T, StorageError>
where
    Fut: Future<Output = Result<T, StorageError>>,
{
    let (mut conflicts, mut interrupted) = (0, false);
    let began = Instant::now();
    loop {
        match attempt().await {
            Err(StorageError::Contended(_))
                if conflicts + 1 < MIN_ATTEMPTS || began.elapsed() < MIN_RETRY_TIME =>
            {
                conflicts += 1;
                tokio::time::sleep(backoff(conflicts)).await;
            }
            Err(StorageError::Interrupted(_)) if !interrupted => interrupted = true,
            result => return result,
        }
    }
}

/// Returns the delay before try `nth` (1 for the first retry): random between half and one and a
/// half times 4 ms · 2ⁿ, with n at most 6. The jitter keeps writers that conflicted from
/// conflicting again.
#[must_use]
pub fn backoff(nth: u32) -> Duration {
    let window = 4_000_u64 << nth.min(6);
    let random = u64::from_le_bytes(random_bytes());
    Duration::from_micros(window / 2 + random % window)
}

impl Store {
    /// Begins a transaction with read concern `snapshot` and a durable write concern.
    pub(crate) async fn begin(&self) -> Result<ClientSession, TransactionError> {
        let mut session = self.client.start_session().await?;
        session
            .start_transaction()
            .read_concern(snapshot())
            .write_concern(durable())
            .max_commit_time(MAJORITY_TIMEOUT)
            .await?;
        Ok(session)
    }
}

/// Commits; sends the commit again when the answer was lost, but no longer than a majority may
/// take.
pub(crate) async fn commit(session: &mut ClientSession) -> Result<(), TransactionError> {
    let (began, mut tries) = (Instant::now(), 0);
    loop {
        tries += 1;
        match session.commit_transaction().await {
            Err(error)
                if tries < MAX_COMMITS
                    && began.elapsed() < MAJORITY_TIMEOUT
                    && error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {}
            Ok(()) => return Ok(()),
            // Nothing was written.
            Err(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => {
                return Err(error.into());
            }
            // The outcome is unknown; a retry by the caller finds out.
            Err(error) => return Err(StorageError::Unavailable(error).into()),
        }
    }
}

/// A driver error with its labels, kept until the retry decision is made.
pub(crate) enum TransactionError {
    Driver(Error),
    Storage(StorageError),
}

impl TransactionError {
    pub(crate) fn into_storage(self) -> StorageError {
        match self {
            // No server can be found.
            Self::Driver(error) if matches!(*error.kind, ErrorKind::ServerSelection { .. }) => {
                StorageError::Unavailable(error)
            }
            Self::Driver(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => {
                if is_unavailable(&error) {
                    StorageError::Interrupted(error)
                } else {
                    StorageError::Contended(error)
                }
            }
            Self::Driver(error) => error.into(),
            Self::Storage(error) => error,
        }
    }
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StorageError> for TransactionError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_have_jitter() {
        for nth in 1..MIN_ATTEMPTS {
            let window = Duration::from_micros(4_000 << nth.min(6));
            let pauses: Vec<Duration> = (0..50).map(|_| backoff(nth)).collect();
            let range = window / 2..window / 2 + window;
            assert!(pauses.iter().all(|pause| range.contains(pause)));
            let distinct: std::collections::BTreeSet<_> = pauses.iter().collect();
            assert!(distinct.len() > 25, "{} of 50", distinct.len());
        }
    }
}
