//! The state of import runs.

use mongodb::bson::{Bson, doc};
use vitrine_model::clock::Timestamp;

use crate::documents::REFERENCE_VERSION;
use crate::raw::date;
use crate::{StorageError, Store};

const COLLECTION: &str = "import_runs";

/// The state of an import run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It has begun and not finished: it is running or was cut off.
    Begun,
    /// It finished successfully.
    Finished,
}

impl Store {
    /// Records the beginning of a run; a run with the same id starts over.
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
            .await?;
        Ok(())
    }

    /// Records that a run finished successfully.
    pub async fn finish_run(&self, id: &str, now: Timestamp) -> Result<(), StorageError> {
        let update = doc! { "$set": { "finished_at": date(now) } };
        let runs = self.documents(COLLECTION);
        runs.update_one(doc! { "_id": id }, update).await?;
        Ok(())
    }

    /// Returns the state of a run; `None` when there is no run with this id.
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

    /// Returns whether there are no products at all.
    pub async fn is_empty(&self) -> Result<bool, StorageError> {
        let product = self
            .documents("products")
            .find_one(doc! {})
            .projection(doc! { "_id": 1 })
            .await?;
        Ok(product.is_none())
    }
}
