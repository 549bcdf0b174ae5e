//! Databases that tests have left, emptied for the next tests: building all indexes takes longer than
//! most tests.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::sync::{Mutex, OnceLock, PoisonError};

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error, Result};
use mongodb::options::{Acknowledgment, WriteConcern};
use mongodb::{Client, Database};
use vitrine_model::id::ProductId;

/// A database with more documents is dropped, which is faster than to empty it.
pub const MAX_DOCUMENTS: i32 = 2_000;

/// Collections with their options and indexes.
type Shape = BTreeMap<String, (Document, Vec<Document>)>;

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

    /// Empties the oldest database and returns its name, if more than the spare ones are left. One with another shape is dropped,
    /// and so is one that cannot be emptied, for example because a killed process holds a lock in it.
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

    /// Removes all documents; returns false if the database is not as a new one then.
    async fn empty(&self, database: &Database) -> Result<bool> {
        let Some(new) = self.new.get() else {
            return Ok(false);
        };
        if shape(database).await? != *new {
            return Ok(false);
        }
        let (filled, documents) = filled_collections(database, new).await?;
        if documents > MAX_DOCUMENTS {
            return Ok(false);
        }
        if let Some((last, others)) = filled.split_last() {
            for name in others {
                clear(database, name, Acknowledgment::Nodes(1)).await?;
            }
            // A majority that has the last deletion has the earlier ones too.
            clear(database, last, Acknowledgment::Majority).await?;
        }
        Ok(true)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn clear(database: &Database, name: &str, acknowledgment: Acknowledgment) -> Result<()> {
    let concern = WriteConcern::builder().w(acknowledgment).build();
    let collection = database.collection::<Document>(name);
    collection
        .delete_many(doc! {})
        .write_concern(concern)
        .await?;
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
        shape.insert(name.to_owned(), (options.clone(), indexes));
    }
    Ok(shape)
}

/// Returns the collections that have documents, and how many documents these are, in one command. Counting stops in each
/// after one more than [`MAX_DOCUMENTS`].
async fn filled_collections(database: &Database, shape: &Shape) -> Result<(Vec<String>, i32)> {
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
    let (mut filled, mut all) = (Vec::new(), 0);
    for count in counts {
        filled.push(count.get_str("_id").map_err(Error::custom)?.to_owned());
        all += count.get_i32("documents").map_err(Error::custom)?;
    }
    Ok((filled, all))
}
