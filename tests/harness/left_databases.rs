//! Databases that tests have left, emptied for the next tests: building all indexes takes longer than
//! most tests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, OnceLock, PoisonError};

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use mongodb::error::Result;
use mongodb::options::{Acknowledgment, WriteConcern};
use mongodb::{Client, Database};
use vitrine_model::id::ProductId;

/// How many databases are left before the oldest is used: its last commands have ended by then.
const SPARE: usize = 4;
/// A database with more documents is dropped, which is faster than to empty it.
const MAX_DOCUMENTS: u64 = 2_000;

/// Collections with their options and indexes.
type Shape = BTreeMap<String, (Document, Vec<Document>)>;

/// The databases of one server that tests have left.
#[derive(Debug)]
pub(crate) struct LeftDatabases {
    names: Mutex<VecDeque<String>>,
    /// What a new database looks like.
    new: OnceLock<Shape>,
}

/// Returns the name of a new database.
pub(crate) fn new_name() -> String {
    format!("test_{}", ProductId::random().to_string().replace('-', ""))
}

impl LeftDatabases {
    pub(crate) const fn new() -> Self {
        Self {
            names: Mutex::new(VecDeque::new()),
            new: OnceLock::new(),
        }
    }

    /// Adds a database that a test has left.
    pub(crate) fn add(&self, name: String) {
        self.names().push_back(name);
    }

    /// Records what a new database looks like.
    pub(crate) async fn learn(&self, database: &Database) -> Result<()> {
        if self.new.get().is_none() {
            let shape = shape(database).await?;
            let _ = self.new.set(shape);
        }
        Ok(())
    }

    /// Returns the name of an empty database. One that a test has changed is dropped; so is one
    /// that cannot be emptied, for example because a killed process holds a lock in it.
    pub(crate) async fn take(&self, client: &Client) -> Option<String> {
        let oldest = {
            let mut names = self.names();
            (names.len() > SPARE).then(|| names.pop_front()).flatten()?
        };
        let database = client.database(&oldest);
        if self.empty(&database).await.unwrap_or(false) {
            return Some(oldest);
        }
        // What remains takes space until the run ends.
        let _ = database.drop().await;
        None
    }

    /// Removes all documents; returns false if the database is not as a new one then.
    async fn empty(&self, database: &Database) -> Result<bool> {
        let Some(new) = self.new.get() else {
            return Ok(false);
        };
        if shape(database).await? != *new {
            return Ok(false);
        }
        let majority = WriteConcern::builder().w(Acknowledgment::Majority).build();
        let (mut full, mut documents) = (Vec::new(), 0);
        for name in new.keys() {
            let collection = database.collection::<Document>(name);
            let count = collection.estimated_document_count().await?;
            documents += count;
            full.extend((count > 0).then_some(collection));
        }
        if documents > MAX_DOCUMENTS {
            return Ok(false);
        }
        for collection in full {
            let delete = collection.delete_many(doc! {});
            delete.write_concern(majority.clone()).await?;
        }
        Ok(true)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the collections of a database with their options and indexes.
async fn shape(database: &Database) -> Result<Shape> {
    let listed = doc! { "listCollections": 1, "filter": { "type": "collection" } };
    let listed: Vec<Document> = database
        .run_cursor_command(listed)
        .await?
        .try_collect()
        .await?;
    let mut shape = Shape::new();
    for collection in listed {
        let name = collection.get_str("name").unwrap_or_default().to_owned();
        let options = collection.get_document("options").cloned();
        let indexes = doc! { "listIndexes": &name };
        let indexes = database.run_cursor_command(indexes).await?;
        let mut indexes: Vec<Document> = indexes.try_collect().await?;
        indexes.sort_by_key(|index| index.get_str("name").unwrap_or_default().to_owned());
        shape.insert(name, (options.unwrap_or_default(), indexes));
    }
    Ok(shape)
}
