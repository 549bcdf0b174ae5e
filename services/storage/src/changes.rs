//! What changes in the database, as it happens.
//!
//! A stream of changes only wakes those who look for work by themselves: nothing depends on every
//! change being seen. Where a stream was left is kept as an opaque point, which is worth nothing
//! once the database has forgotten what came behind it.

use std::time::Duration;

use mongodb::action::{Action as _, Watch};
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::ResumeToken;

use crate::documents::REFERENCE_VERSION;
use crate::propagation::COPIES_DUE;
use crate::raw::Fields;
use crate::{StorageError, Store};

const CURSORS: &str = "cursors";
const WORK: &str = "work";

/// How long the server keeps a question for changes before it answers that there are none.
const PATIENCE: Duration = Duration::from_secs(10);

/// What there may be to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A supplier changed.
    Supplier,
    /// A product that may be in bundles changed, or a bundle was written.
    Copies,
    /// The spec dictionary changed.
    SpecKey,
}

/// Where a stream of changes was left.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint(pub(crate) ResumeToken);

/// Changes that may be a reason to work, in their order.
pub struct WorkChanges {
    stream: ChangeStream<RawDocumentBuf>,
}

impl std::fmt::Debug for WorkChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkChanges").finish_non_exhaustive()
    }
}

impl Store {
    /// Changes that may be a reason to work: from now on, or from where a stream was left.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails, or no longer knows what came behind that point.
    pub async fn work_changes(
        &self,
        after: Option<ChangePoint>,
    ) -> Result<WorkChanges, StorageError> {
        let reasons = doc! { "$match": { "$or": [
            // A supplier is replaced when it changes, and updated when its products carry it.
            { "ns.coll": "suppliers", "operationType": "replace" },
            { "ns.coll": COPIES_DUE, "operationType": { "$in": ["insert", "update"] } },
            { "ns.coll": "spec_keys" },
        ] } };
        let shown = doc! { "$project": { "ns.coll": 1 } };
        // One that begins now brings no changes when it is opened, so that it has a point to come
        // back to at once.
        let first = after.is_none().then_some(0);
        let stream = self
            .db
            .watch()
            .pipeline([reasons, shown])
            .optional(first, Watch::batch_size)
            .resume_after(after.map(|point| point.0))
            .max_await_time(PATIENCE)
            .await?;
        Ok(WorkChanges {
            stream: stream.with_type(),
        })
    }

    /// Where the stream of the work was left; `None` when that was never noted or cannot be read.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn work_point(&self) -> Result<Option<ChangePoint>, StorageError> {
        let collection = self.documents(CURSORS);
        let found = collection.find_one(doc! { "_id": WORK });
        let found = found.max_time(self.max_time).await?;
        Ok(found.and_then(|doc| point(&doc)))
    }

    /// Notes where the stream of the work was left.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn keep_work_point(&self, point: &ChangePoint) -> Result<(), StorageError> {
        let token = mongodb::bson::serialize_to_bson(&point.0);
        let token = token.map_err(|error| mongodb::error::Error::custom(error.to_string()))?;
        let set = doc! { "schema_version": REFERENCE_VERSION, "token": token };
        let update = doc! { "$set": set, "$currentDate": { "at": true } };
        let collection = self.documents(CURSORS);
        let kept = collection.update_one(doc! { "_id": WORK }, update);
        kept.upsert(true).await?;
        Ok(())
    }
}

impl WorkChanges {
    /// The next reason to work; `None` for a change that is none, and when nothing has changed for
    /// some seconds. To be waited for to its end: given up half way, it may lose changes.
    ///
    /// # Errors
    /// [`StorageError`] when the stream has ended: changes may be lost, so look for work, and open
    /// another one.
    pub async fn next(&mut self) -> Result<Option<Reason>, StorageError> {
        let Some(change) = self.stream.next_if_any().await? else {
            // One that has ended says for ever that there is nothing.
            return if self.stream.is_alive() {
                Ok(None)
            } else {
                Err(ended())
            };
        };
        let fields = Fields::of("changes", &change);
        let namespace = fields.opt_doc("ns")?;
        let collection = namespace
            .map(|ns| ns.opt_str("coll"))
            .transpose()?
            .flatten();
        Ok(match collection {
            Some("suppliers") => Some(Reason::Supplier),
            Some(COPIES_DUE) => Some(Reason::Copies),
            Some("spec_keys") => Some(Reason::SpecKey),
            _ => None,
        })
    }

    /// Where the stream is: behind what was given last, or further when nothing came since.
    #[must_use]
    pub fn point(&self) -> Option<ChangePoint> {
        self.stream.resume_token().map(ChangePoint)
    }
}

fn ended() -> StorageError {
    mongodb::error::Error::custom("the stream of changes has ended").into()
}

fn point(doc: &Document) -> Option<ChangePoint> {
    let token = doc.get("token")?.clone();
    let token: ResumeToken = mongodb::bson::deserialize_from_bson(token).ok()?;
    Some(ChangePoint(token))
}
