//! Databases that tests have left, made as new for the next tests: building all indexes takes longer than
//! most tests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;
use std::sync::{Mutex, OnceLock, PoisonError};

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error, Result};
use mongodb::options::{Acknowledgment, WriteConcern};
use mongodb::{Client, Database};
use vitrine_model::id::ProductId;

use crate::profile::PROFILE;

/// A collection with more documents is created again, which is faster than to empty it.
pub const MAX_DOCUMENTS: i32 = 200;

/// A database in which more collections would have to be created again is dropped.
const MAX_CREATED: usize = 10;

/// The collection of the definitions of views, which are not compared: a database with one is dropped.
const VIEWS: &str = "system.views";

/// Collections by their names.
type Shape = BTreeMap<String, Collection>;

/// A collection as the catalogue of the server has it.
#[derive(Debug)]
struct Collection {
    options: Document,
    indexes: Vec<Document>,
}

impl Collection {
    /// Returns the fields of all indexes, in their order.
    fn indexed_fields(&self) -> impl Iterator<Item = &String> {
        let keys = self.indexes.iter().map(|index| index.get_document("key"));
        keys.flatten().flat_map(Document::keys)
    }
}

impl PartialEq for Collection {
    fn eq(&self, other: &Self) -> bool {
        // Documents are equal whatever the order of their fields, which matters in an index.
        self.options == other.options
            && self.indexes == other.indexes
            && self.indexed_fields().eq(other.indexed_fields())
    }
}

/// The databases of one server that tests have left.
#[derive(Debug)]
pub struct LeftDatabases {
    /// How many stay left when one is taken.
    spare: usize,
    names: Mutex<VecDeque<String>>,
    /// What a new database looks like.
    new: OnceLock<Shape>,
}

/// Returns the name of a new database.
pub(crate) fn new_name() -> String {
    format!("test_{}", ProductId::random().to_string().replace('-', ""))
}

impl LeftDatabases {
    /// Creates an empty list. The oldest database is used again only while more than `spare` are left: the last commands of
    /// its test may not have ended before.
    #[must_use]
    pub const fn new(spare: usize) -> Self {
        Self {
            spare,
            names: Mutex::new(VecDeque::new()),
            new: OnceLock::new(),
        }
    }

    /// Adds a database that a test has left.
    pub fn add(&self, name: String) {
        self.names().push_back(name);
    }

    /// Records what a new database looks like, unless it is known.
    ///
    /// # Errors
    /// The database fails.
    pub async fn learn(&self, database: &Database) -> Result<()> {
        if self.new.get().is_none() {
            let shape = shape(database).await?;
            let _ = self.new.set(shape);
        }
        Ok(())
    }

    /// Makes the oldest database as a new one and returns its name, if more than the spare ones are left. Collections that
    /// differ from those of a new one, and large ones, are created again. A database with many of them is dropped, and so is one
    /// with views, and one that cannot be emptied, for example because a killed process holds a lock in it.
    pub async fn take(&self, client: &Client) -> Option<String> {
        let oldest = {
            let mut names = self.names();
            (names.len() > self.spare)
                .then(|| names.pop_front())
                .flatten()?
        };
        let database = client.database(&oldest);
        if self.empty(&database).await.unwrap_or(false) {
            return Some(oldest);
        }
        // What remains takes space until the run ends.
        let _ = database.drop().await;
        None
    }

    /// Returns whether a database has the collections of a new one, with their options and indexes.
    ///
    /// # Errors
    /// The database fails.
    pub async fn is_new(&self, database: &Database) -> Result<bool> {
        Ok(self.new.get() == Some(&shape(database).await?))
    }

    /// Makes a database as a new one, without documents; returns false if too much of it has changed.
    async fn empty(&self, database: &Database) -> Result<bool> {
        let Some(new) = self.new.get() else {
            return Ok(false);
        };
        let mut found = shape(database).await?;
        let was_profiled = found.remove(PROFILE).is_some();
        if was_profiled {
            database.run_command(doc! { "profile": 0 }).await?;
        }
        let counts = documents(database, new).await?;
        let is_large = |name: &&String| counts.get(*name).is_some_and(|n| *n > MAX_DOCUMENTS);
        let names: BTreeSet<&String> = new.keys().chain(found.keys()).collect();
        let (created, kept): (Vec<&String>, Vec<&String>) = names
            .into_iter()
            .partition(|name| found.get(*name) != new.get(*name) || is_large(name));
        if created.len() > MAX_CREATED || created.iter().any(|name| *name == VIEWS) {
            return Ok(false);
        }
        for name in &created {
            let collection = database.collection::<Document>(name);
            collection.drop().write_concern(at_once()).await?;
            if let Some(collection) = new.get(*name) {
                create(database, name, collection).await?;
            }
        }
        for name in kept.into_iter().filter(|name| counts.contains_key(*name)) {
            let collection = database.collection::<Document>(name);
            let deleted = collection.delete_many(doc! {}).write_concern(at_once());
            deleted.await?;
        }
        // Waits until a majority has all of that: the note follows it in the oplog.
        let note = doc! { "appendOplogNote": 1, "data": {}, "writeConcern": { "w": "majority" } };
        let admin = database.client().database("admin");
        admin.run_command(note).await?;
        // The last commands that were profiled have ended by now.
        if was_profiled {
            database.collection::<Document>(PROFILE).drop().await?;
        }
        Ok(created.is_empty() || self.is_new(database).await?)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that is acknowledged by one member.
fn at_once() -> WriteConcern {
    WriteConcern::builder().w(Acknowledgment::Nodes(1)).build()
}

/// Creates a collection as a new database has it.
async fn create(database: &Database, name: &str, collection: &Collection) -> Result<()> {
    let mut create = doc! { "create": name, "writeConcern": { "w": 1 } };
    create.extend(collection.options.clone());
    database.run_command(create).await?;
    let is_other = |index: &&Document| index.get_str("name").ok() != Some("_id_");
    let others = collection.indexes.iter().filter(is_other);
    let others: Vec<Document> = others.cloned().collect();
    if !others.is_empty() {
        let indexes = doc! { "createIndexes": name, "indexes": others, "writeConcern": { "w": 1 } };
        database.run_command(indexes).await?;
    }
    Ok(())
}

/// Returns the collections of a database with their options and indexes, in one command. It reads those of all databases
/// of the server, which are about ten.
async fn shape(database: &Database) -> Result<Shape> {
    let stages = vec![
        doc! { "$listCatalog": {} },
        doc! { "$match": { "db": database.name(), "type": "collection" } },
        doc! { "$project": { "name": 1, "options": "$md.options", "indexes": "$md.indexes.spec" } },
        doc! { "$unset": ["_id", "options.uuid"] },
    ];
    let admin = database.client().database("admin");
    let listed: Vec<Document> = admin.aggregate(stages).await?.try_collect().await?;
    let mut shape = Shape::new();
    for collection in listed {
        let name = collection.get_str("name").map_err(Error::custom)?;
        let options = collection.get_document("options").map_err(Error::custom)?;
        let indexes = collection.get_array("indexes").map_err(Error::custom)?;
        let indexes = indexes.iter().filter_map(Bson::as_document);
        let mut indexes: Vec<Document> = indexes.cloned().collect();
        indexes.sort_by_key(|index| index.get_str("name").unwrap_or_default().to_owned());
        let options = options.clone();
        shape.insert(name.to_owned(), Collection { options, indexes });
    }
    Ok(shape)
}

/// Returns the number of documents of each collection that is not empty, in one command. Counting stops after one more than
/// [`MAX_DOCUMENTS`].
async fn documents(database: &Database, shape: &Shape) -> Result<BTreeMap<String, i32>> {
    let counted = |name: &String| {
        let group = doc! { "_id": name, "documents": { "$sum": 1 } };
        [
            doc! { "$limit": MAX_DOCUMENTS + 1 },
            doc! { "$group": group },
        ]
    };
    let union = |name| doc! { "$unionWith": { "coll": name, "pipeline": counted(name) } };
    let stages = iter::once(doc! { "$documents": [] }).chain(shape.keys().map(union));
    let counts = database.aggregate(stages).await?;
    let counts: Vec<Document> = counts.try_collect().await?;
    let count = |count: &Document| {
        let name = count.get_str("_id").map_err(Error::custom)?;
        Ok((
            name.to_owned(),
            count.get_i32("documents").map_err(Error::custom)?,
        ))
    };
    counts.iter().map(count).collect()
}
