//! Change streams that wake workers early.
//!
//! They are an optimization: a missed event delays the work by some seconds, until the worker's
//! next regular run. When a stream is lost, the workers it wakes do a full check.

use vitrine_storage::changes::{Reason, WorkChanges, WorkResumeToken};

use crate::workers::Worker;
use crate::{Catalog, DomainError};

/// A stream of changes that give a worker something to do.
#[derive(Debug)]
pub struct Wakeups {
    changes: WorkChanges,
    /// Whether the stream resumed without a gap.
    pub resumed: bool,
}

impl Catalog {
    /// Opens the change stream at the saved resume token, or at the current time if there is none
    /// or it is no longer valid.
    ///
    /// # Errors
    /// Fails when the database fails, or when it does not support change streams.
    pub async fn wakeups(&self) -> Result<Wakeups, DomainError> {
        let store = self.store();
        if let Some(token) = store.work_resume_token().await? {
            match store.work_changes(Some(token)).await {
                Ok(changes) => {
                    return Ok(Wakeups {
                        changes,
                        resumed: true,
                    });
                }
                // The token is outdated or damaged: the woken workers check everything instead.
                Err(error) => {
                    tracing::info!(%error, "the saved resume token cannot be used: the change stream starts at the current time, and the workers check everything");
                }
            }
        }
        let changes = store.work_changes(None).await?;
        Ok(Wakeups {
            changes,
            resumed: false,
        })
    }

    /// Saves the resume token, after everything before it has been processed.
    pub async fn save_resume_token(&self, token: WorkResumeToken) -> Result<(), DomainError> {
        self.maintain(|store| async move { store.save_work_resume_token(&token).await })
            .await
    }
}

impl Wakeups {
    /// The workers that the stream can wake.
    pub const WOKEN: [Worker; 3] = [Worker::Suppliers, Worker::Bundles, Worker::Merges];

    /// The next worker to wake; `None` after some seconds without an event. Not cancellation safe:
    /// a dropped call may lose events.
    ///
    /// # Errors
    /// Fails when the stream has ended: [`Wakeups::WOKEN`] should check everything.
    pub async fn next(&mut self) -> Result<Option<Worker>, DomainError> {
        Ok(self.changes.next().await?.map(worker))
    }

    /// The current resume token.
    #[must_use]
    pub fn resume_token(&self) -> Option<WorkResumeToken> {
        self.changes.resume_token()
    }
}

const fn worker(reason: Reason) -> Worker {
    match reason {
        Reason::Supplier => Worker::Suppliers,
        Reason::Copies => Worker::Bundles,
        Reason::SpecKey => Worker::Merges,
    }
}
