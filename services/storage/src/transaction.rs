//! Transactions: how they begin, end, and fail.

use std::time::Duration;

use mongodb::ClientSession;
use mongodb::error::{
    Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT,
};

use crate::store::{durable, snapshot};
use crate::{StorageError, Store};

/// How often a transaction that met another writer is tried.
const MOST_TRIES: usize = 8;
/// How often a commit is tried that was not heard of.
const MOST_COMMITS: usize = 5;

/// Does something in a transaction, again when other writers are met, later each time, until it
/// was tried eight times.
///
/// # Errors
/// Whatever it fails with; [`StorageError::Contended`] only after the last try.
pub async fn retry_contended<T, Fut>(mut attempt: impl FnMut() -> Fut) -> Result<T, StorageError>
where
    Fut: Future<Output = Result<T, StorageError>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        match attempt().await {
            Err(StorageError::Contended(_)) if tries < MOST_TRIES => {
                tokio::time::sleep(Duration::from_millis(4 << tries.min(6))).await;
            }
            result => return result,
        }
    }
}

impl Store {
    /// A session with a transaction that reads one snapshot and is durable when committed.
    pub(crate) async fn begin(&self) -> Result<ClientSession, TransactionError> {
        let mut session = self.client.start_session().await?;
        session
            .start_transaction()
            .read_concern(snapshot())
            .write_concern(durable())
            .await?;
        Ok(session)
    }
}

/// Commits; asks again when the answer was lost.
pub(crate) async fn commit(session: &mut ClientSession) -> Result<(), TransactionError> {
    let mut tries = 0;
    loop {
        tries += 1;
        match session.commit_transaction().await {
            Err(error)
                if tries < MOST_COMMITS
                    && error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {}
            result => return result.map_err(TransactionError::from),
        }
    }
}

/// Keeps the driver's error with its labels until it is decided whether to try again.
pub(crate) enum TransactionError {
    Driver(Error),
    Storage(StorageError),
}

impl TransactionError {
    pub(crate) fn into_storage(self) -> StorageError {
        match self {
            // Nobody was met: no server can be found.
            Self::Driver(error) if matches!(*error.kind, ErrorKind::ServerSelection { .. }) => {
                StorageError::Unavailable(error)
            }
            // It may have been committed: asking again will tell.
            Self::Driver(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {
                StorageError::Unavailable(error)
            }
            // Other writers were met too often: later it may work.
            Self::Driver(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => {
                StorageError::Contended(error)
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
