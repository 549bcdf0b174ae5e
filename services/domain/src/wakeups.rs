//! What wakes workers before their time: changes in the database, as they happen.
//!
//! Nothing depends on them. Whoever misses one finds the work by looking for it, a few seconds
//! later; so when a stream of changes is lost, whom it wakes looks.

use vitrine_storage::changes::{ChangePoint, Reason, WorkChanges};

use crate::workers::Worker;
use crate::{Catalog, DomainError};

/// Changes in the database that are a reason for some worker to look.
#[derive(Debug)]
pub struct Wakeups {
    changes: WorkChanges,
    /// Whether nothing was missed since the stream was left.
    pub resumed: bool,
}

impl Catalog {
    /// Follows changes from where they were followed last, or from now on if that is not known any
    /// more.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails or gives no streams of changes.
    pub async fn wakeups(&self) -> Result<Wakeups, DomainError> {
        let store = self.store();
        if let Some(point) = store.work_point().await? {
            match store.work_changes(Some(point)).await {
                Ok(changes) => {
                    return Ok(Wakeups {
                        changes,
                        resumed: true,
                    });
                }
                // Forgotten, or damaged: whoever is woken by changes looks instead.
                Err(error) => tracing::info!(%error, "changes are followed from now on"),
            }
        }
        let changes = store.work_changes(None).await?;
        Ok(Wakeups {
            changes,
            resumed: false,
        })
    }

    /// Notes that what came before this point is dealt with.
    pub async fn keep_wakeups(&self, point: ChangePoint) -> Result<(), DomainError> {
        self.maintain(|store| async move { store.keep_work_point(&point).await })
            .await
    }
}

impl Wakeups {
    /// The workers that changes are a reason for.
    pub const WOKEN: [Worker; 3] = [Worker::Suppliers, Worker::Bundles, Worker::Merges];

    /// The next worker that has a reason to look; `None` when none has had one for some seconds. To
    /// be waited for to its end: given up half way, it may lose changes.
    ///
    /// # Errors
    /// [`DomainError`] when the stream has ended: [`Wakeups::WOKEN`] should look.
    pub async fn next(&mut self) -> Result<Option<Worker>, DomainError> {
        Ok(self.changes.next().await?.map(worker))
    }

    /// Where the stream is.
    #[must_use]
    pub fn point(&self) -> Option<ChangePoint> {
        self.changes.point()
    }
}

const fn worker(reason: Reason) -> Worker {
    match reason {
        Reason::Supplier => Worker::Suppliers,
        Reason::Copies => Worker::Bundles,
        Reason::SpecKey => Worker::Merges,
    }
}
