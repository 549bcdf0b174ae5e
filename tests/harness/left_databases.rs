//! Databases that tests have left, emptied for the next tests: building all indexes takes longer than
//! most tests.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
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
const MAX_DOCUMENTS: i64 = 2_000;

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
        let (full, documents) = full_collections(database, new.keys()).await?;
        if documents > MAX_DOCUMENTS {
            return Ok(false);
        }
        let last = full.len().saturating_sub(1);
        for (at, name) in full.iter().enumerate() {
            let collection = database.collection::<Document>(name);
            // What the majority has after the last write, it has after those before.
            let acknowledgment = if at < last {
                Acknowledgment::Nodes(1)
            } else {
                Acknowledgment::Majority
            };
            let concern = WriteConcern::builder().w(acknowledgment).build();
            let delete = collection.delete_many(doc! {});
            delete.write_concern(concern).await?;
        }
        Ok(true)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the collections of a database with their options and indexes: all in one command.
async fn shape(database: &Database) -> Result<Shape> {
    let stages = vec![
        doc! { "$listCatalog": {} },
        doc! { "$match": { "db": database.name(), "type": "collection" } },
        doc! { "$project": { "name": 1, "options": "$md.options", "indexes": "$md.indexes.spec" } },
        doc! { "$unset": ["_id", "options.uuid"] },
    ];
    let admin = database.client().database("admin");
    let listed: Vec<Document> = admin.aggregate(stages).await?.try_collect().await?;
    let shape = listed.into_iter().map(|collection| {
        let name = collection.get_str("name").unwrap_or_default().to_owned();
        let options = collection.get_document("options").cloned();
        let indexes = collection.get_array("indexes").into_iter().flatten();
        let indexes = indexes.filter_map(|index| index.as_document().cloned());
        let mut indexes: Vec<Document> = indexes.collect();
        indexes.sort_by_key(|index| index.get_str("name").unwrap_or_default().to_owned());
        (name, (options.unwrap_or_default(), indexes))
    });
    Ok(shape.collect())
}

/// Returns the names of those collections that are not empty, and the number of their documents, up to one more than
/// [`MAX_DOCUMENTS`] of each: all in one command.
async fn full_collections<'a>(
    database: &Database,
    names: impl Iterator<Item = &'a String>,
) -> Result<(Vec<String>, i64)> {
    let counted = |name: &String| {
        let group = doc! { "_id": { "$literal": name }, "documents": { "$sum": 1 } };
        [
            doc! { "$limit": MAX_DOCUMENTS + 1 },
            doc! { "$group": group },
        ]
    };
    let union = |name| doc! { "$unionWith": { "coll": name, "pipeline": counted(name) } };
    let stages = iter::once(doc! { "$documents": [] }).chain(names.map(union));
    let counts = database.aggregate(stages).await?;
    let counts: Vec<Document> = counts.try_collect().await?;
    let (mut full, mut all) = (Vec::new(), 0);
    for count in counts {
        full.push(count.get_str("_id").unwrap_or_default().to_owned());
        all += i64::from(count.get_i32("documents").unwrap_or_default());
    }
    Ok((full, all))
}
