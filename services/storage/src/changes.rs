//! The change stream that wakes workers.
//!
//! The stream only triggers workers early; they also run on a timer, so nothing depends on every
//! change being seen. The resume token is stored as an opaque value. It becomes useless once the
//! oplog no longer contains the events after it.

use std::time::Duration;

use mongodb::action::{Action as _, Watch};
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::ResumeToken;

use crate::documents::REFERENCE_VERSION;
use crate::propagation::STALE_COPIES;
use crate::raw::Fields;
use crate::{StorageError, Store};

const CURSORS: &str = "cursors";
const WORK: &str = "work";

/// How long the server waits for changes before it returns an empty batch.
const AWAIT_TIME: Duration = Duration::from_secs(10);

/// Why there may be work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A supplier changed.
    Supplier,
    /// A product that may be an item of bundles changed, or a bundle was written.
    Copies,
    /// The spec dictionary changed.
    SpecKey,
}

/// A resume token of the work stream.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkResumeToken(pub(crate) ResumeToken);

/// A change stream of reasons to work, in order.
pub struct WorkChanges {
    stream: ChangeStream<RawDocumentBuf>,
}

impl std::fmt::Debug for WorkChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkChanges").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the change stream of reasons to work: from now on, or after a resume token.
    ///
    /// # Errors
    /// [`StorageError::HistoryLost`] when the oplog no longer contains the events after the token.
    pub async fn work_changes(
        &self,
        after: Option<WorkResumeToken>,
    ) -> Result<WorkChanges, StorageError> {
        let reasons = doc! { "$match": { "$or": [
            // A changed supplier is replaced; a propagated one is updated.
            { "ns.coll": "suppliers", "operationType": "replace" },
            { "ns.coll": STALE_COPIES, "operationType": { "$in": ["insert", "update"] } },
            { "ns.coll": "spec_keys" },
        ] } };
        let shown = doc! { "$project": { "ns.coll": 1 } };
        // Without a token, the first batch is empty, so that a resume token is available
        // immediately.
        let first = after.is_none().then_some(0);
        let stream = self
            .db
            .watch()
            .pipeline([reasons, shown])
            .optional(first, Watch::batch_size)
            .resume_after(after.map(|token| token.0))
            .max_await_time(AWAIT_TIME)
            .await?;
        Ok(WorkChanges {
            stream: stream.with_type(),
        })
    }

    /// Returns the stored resume token; `None` without one, or when it cannot be decoded.
    pub async fn work_resume_token(&self) -> Result<Option<WorkResumeToken>, StorageError> {
        let collection = self.documents(CURSORS);
        let found = collection.find_one(doc! { "_id": WORK });
        let found = found.max_time(self.max_time).await?;
        Ok(found.and_then(|doc| stored_token(&doc)))
    }

    /// Stores a resume token.
    pub async fn save_work_resume_token(
        &self,
        token: &WorkResumeToken,
    ) -> Result<(), StorageError> {
        let token = mongodb::bson::serialize_to_bson(&token.0);
        let token = token.map_err(|error| mongodb::error::Error::custom(error.to_string()))?;
        let set = doc! { "schema_version": REFERENCE_VERSION, "token": token };
        let update = doc! { "$set": set, "$currentDate": { "at": true } };
        let collection = self.documents(CURSORS);
        let saved = collection.update_one(doc! { "_id": WORK }, update);
        saved.upsert(true).await?;
        Ok(())
    }
}

impl WorkChanges {
    /// Returns the next reason to work; `None` for an irrelevant change, and when nothing has
    /// changed for some seconds. Not cancel-safe: dropping the future may lose changes.
    ///
    /// # Errors
    /// [`StorageError`] when the stream has ended. Changes may be lost, so check for work and open
    /// a new stream.
    pub async fn next(&mut self) -> Result<Option<Reason>, StorageError> {
        let Some(change) = self.stream.next_if_any().await? else {
            // A stream that has ended reports an empty batch for ever.
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
            Some(STALE_COPIES) => Some(Reason::Copies),
            Some("spec_keys") => Some(Reason::SpecKey),
            _ => None,
        })
    }

    /// Returns the current resume token: after the last returned change, or later if nothing has
    /// changed since.
    #[must_use]
    pub fn resume_token(&self) -> Option<WorkResumeToken> {
        self.stream.resume_token().map(WorkResumeToken)
    }
}

fn ended() -> StorageError {
    mongodb::error::Error::custom("the stream of changes has ended").into()
}

fn stored_token(doc: &Document) -> Option<WorkResumeToken> {
    let token = doc.get("token")?.clone();
    let token: ResumeToken = mongodb::bson::deserialize_from_bson(token).ok()?;
    Some(WorkResumeToken(token))
}
