//! The change stream of products: which of them have changed, whether what facets count has, and until when it is
//! complete.
//!
//! The stream is read with plain commands instead of the driver's own type, which hides what matters here: when a batch
//! was asked for, whether the stream had reached its end, and that it was resumed. It is never resumed. An error ends
//! it, and so does another primary, which does not know its cursor.

use std::time::{Duration, Instant};

use mongodb::bson::{Bson, Document, doc};
use mongodb::error::Error;
use mongodb::{ClientSession, Database};
use vitrine_model::id::ProductId;

use crate::counts::{GENERATIONS, PANELS};
use crate::products::COLLECTION;
use crate::store::{Topology, topology};
use crate::{StorageError, Store};

/// The comment of the commands of the stream, by which profiles and logs of the server name it.
pub const COMMENT: &str = "changes of products";

/// The maximum number of events in a batch.
const MAX_EVENTS: usize = 1_000;

/// A change stream of products.
pub struct ProductChanges {
    db: Database,
    session: ClientSession,
    cursor: i64,
    await_time: Duration,
    opened: Instant,
}

/// Products that have changed.
#[derive(Debug, PartialEq, Eq)]
pub struct ChangedProducts {
    /// The products.
    pub products: Vec<ProductId>,
    /// Whether the generation of a category has changed, or a precomputed panel, and with it what facets count.
    pub counts: bool,
    /// All changes that were confirmed before this moment have been returned by now. `None` when more may be waiting.
    pub complete_until: Option<Instant>,
}

impl std::fmt::Debug for ProductChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProductChanges").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the change stream of products. Without changes, the server replies after `await_time`. Returns `None` on a
    /// sharded cluster, where the end of a stream says nothing: mongos holds back the events of one shard until it has
    /// heard of the others.
    pub async fn product_changes(
        &self,
        await_time: Duration,
    ) -> Result<Option<ProductChanges>, StorageError> {
        let hello = doc! { "hello": 1, "comment": COMMENT };
        let hello = self.db.run_command(hello).await?;
        if topology(&hello) != Topology::ReplicaSet {
            return Ok(None);
        }
        // Without a starting point the stream would begin after the last write, and miss earlier ones that are still
        // being committed.
        let majority = hello
            .get_document("lastWrite")
            .and_then(|last| last.get_document("majorityOpTime"))
            .and_then(|time| time.get_timestamp("ts"))
            .map_err(Error::custom)?;
        let opened = Instant::now();
        let session = self.client.start_session().causal_consistency(false);
        let mut session = session.await?;
        let command = doc! {
            "aggregate": 1,
            "pipeline": [
                { "$changeStream": { "startAtOperationTime": majority } },
                { "$match": { "ns.coll": { "$in": [COLLECTION, GENERATIONS, PANELS] } } },
                { "$project": { "documentKey": 1, "ns.coll": 1 } },
            ],
            "cursor": { "batchSize": 0 },
            "readConcern": { "level": "majority" },
            "comment": COMMENT,
        };
        let reply = self.db.run_command(command).session(&mut session).await?;
        let (cursor, _) = read_batch(&reply, "firstBatch")?;
        Ok(Some(ProductChanges {
            db: self.db.clone(),
            session,
            cursor,
            await_time,
            opened,
        }))
    }
}

impl ProductChanges {
    /// Returns since when the stream is open: later changes are returned.
    #[must_use]
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Returns the next changes, as soon as there are some.
    ///
    /// # Errors
    /// [`StorageError`] when the stream has ended. Changes may be lost.
    pub async fn next(&mut self) -> Result<ChangedProducts, StorageError> {
        let asked = Instant::now();
        let command = doc! {
            "getMore": self.cursor,
            "collection": "$cmd.aggregate",
            "batchSize": i64::try_from(MAX_EVENTS).expect("a small number"),
            "maxTimeMS": i64::try_from(self.await_time.as_millis()).unwrap_or(i64::MAX),
            "comment": COMMENT,
        };
        let reply = self.db.run_command(command).session(&mut self.session);
        let reply = reply.await?;
        let (cursor, events) = read_batch(&reply, "nextBatch")?;
        let changes: Option<Vec<Change>> = events.iter().map(change).collect();
        let changes = changes.filter(|_| cursor == self.cursor);
        let changes = changes.ok_or_else(|| Error::custom("the stream of changes has ended"))?;
        let product = |change: &Change| match change {
            Change::Product(id) => Some(*id),
            Change::Counts => None,
        };
        Ok(ChangedProducts {
            products: changes.iter().filter_map(product).collect(),
            counts: changes.contains(&Change::Counts),
            // The server ends a batch early only when there are no more events.
            complete_until: (changes.len() < MAX_EVENTS).then_some(asked),
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    Product(ProductId),
    Counts,
}

/// Reads one event; `None` when it has no document: something happened to the whole collection.
fn change(event: &Bson) -> Option<Change> {
    let event = event.as_document()?;
    let key = event.get_document("documentKey").ok()?;
    let collection = event.get_document("ns").ok()?.get_str("coll").ok()?;
    if collection != COLLECTION {
        return Some(Change::Counts);
    }
    let id = key.get_i64("_id").ok()?;
    Some(Change::Product(ProductId::from_i64(id)))
}

/// Returns the cursor and the events of a reply.
fn read_batch<'a>(reply: &'a Document, batch: &str) -> Result<(i64, &'a [Bson]), StorageError> {
    let cursor = reply.get_document("cursor").map_err(Error::custom)?;
    let id = cursor.get_i64("id").map_err(Error::custom)?;
    let events = cursor.get_array(batch).map_err(Error::custom)?;
    Ok((id, events))
}
