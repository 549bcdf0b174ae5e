//! Imports that were begun and finished.

use mongodb::bson::{Bson, doc};
use vitrine_model::clock::Timestamp;

use crate::documents::REFERENCE_VERSION;
use crate::raw::date;
use crate::store::durable;
use crate::{StorageError, Store};

const COLLECTION: &str = "import_runs";

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It was begun and did not end, or is under way.
    Begun,
    /// It ended well.
    Finished,
}

impl Store {
    /// Notes that a run begins; one of the same id begins anew.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn begin_run(
        &self,
        id: &str,
        system: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let set =
            doc! { "schema_version": REFERENCE_VERSION, "system": system, "started_at": date(now) };
        let update = doc! { "$set": set, "$unset": { "finished_at": 1 } };
        let runs = self.documents(COLLECTION);
        runs.update_one(doc! { "_id": id }, update)
            .upsert(true)
            .write_concern(durable())
            .await?;
        Ok(())
    }

    /// Notes that a run ended well.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn finish_run(&self, id: &str, now: Timestamp) -> Result<(), StorageError> {
        let update = doc! { "$set": { "finished_at": date(now) } };
        let runs = self.documents(COLLECTION);
        runs.update_one(doc! { "_id": id }, update)
            .write_concern(durable())
            .await?;
        Ok(())
    }

    /// Where the run of this id is; `None` when there never was one.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn run_state(&self, id: &str) -> Result<Option<RunState>, StorageError> {
        let run = self
            .documents(COLLECTION)
            .find_one(doc! { "_id": id })
            .await?;
        let finished = |run: mongodb::bson::Document| {
            run.get("finished_at").is_some_and(|at| *at != Bson::Null)
        };
        Ok(run.map(|run| {
            if finished(run) {
                RunState::Finished
            } else {
                RunState::Begun
            }
        }))
    }

    /// Whether there is no product at all.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn is_empty(&self) -> Result<bool, StorageError> {
        let product = self
            .documents("products")
            .find_one(doc! {})
            .projection(doc! { "_id": 1 })
            .await?;
        Ok(product.is_none())
    }
}
