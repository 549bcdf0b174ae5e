//! The database schema: one file per collection under `schema/mongodb`, with its validator and its
//! indexes. [`migrations`](crate::migrations) compares the files with the live database and creates
//! what is missing.

use std::collections::{BTreeMap, HashMap};

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{StorageError, Store};

const FILES: [&str; 45] = [
    include_str!("../../../schema/mongodb/activity.json"),
    include_str!("../../../schema/mongodb/activity_days.json"),
    include_str!("../../../schema/mongodb/activity_handed.json"),
    include_str!("../../../schema/mongodb/audit_findings.json"),
    include_str!("../../../schema/mongodb/audit_rounds.json"),
    include_str!("../../../schema/mongodb/bulk_changes.json"),
    include_str!("../../../schema/mongodb/bulk_items.json"),
    include_str!("../../../schema/mongodb/categories.json"),
    include_str!("../../../schema/mongodb/category_generations.json"),
    include_str!("../../../schema/mongodb/contributions.json"),
    include_str!("../../../schema/mongodb/stale_copies.json"),
    include_str!("../../../schema/mongodb/cursors.json"),
    include_str!("../../../schema/mongodb/erasures.json"),
    include_str!("../../../schema/mongodb/facet_panels.json"),
    include_str!("../../../schema/mongodb/import_runs.json"),
    include_str!("../../../schema/mongodb/import_rejects.json"),
    include_str!("../../../schema/mongodb/history.json"),
    include_str!("../../../schema/mongodb/imports.json"),
    include_str!("../../../schema/mongodb/key_coverage.json"),
    include_str!("../../../schema/mongodb/leases.json"),
    include_str!("../../../schema/mongodb/migrations.json"),
    include_str!("../../../schema/mongodb/moderation_log.json"),
    include_str!("../../../schema/mongodb/mutations.json"),
    include_str!("../../../schema/mongodb/names.json"),
    include_str!("../../../schema/mongodb/persisted_queries.json"),
    include_str!("../../../schema/mongodb/pictures.json"),
    include_str!("../../../schema/mongodb/products.json"),
    include_str!("../../../schema/mongodb/purchases.json"),
    include_str!("../../../schema/mongodb/stale_ranks.json"),
    include_str!("../../../schema/mongodb/rating_months.json"),
    include_str!("../../../schema/mongodb/review_dimensions.json"),
    include_str!("../../../schema/mongodb/review_reports.json"),
    include_str!("../../../schema/mongodb/review_versions.json"),
    include_str!("../../../schema/mongodb/reviews.json"),
    include_str!("../../../schema/mongodb/sales.json"),
    include_str!("../../../schema/mongodb/settings.json"),
    include_str!("../../../schema/mongodb/spec_keys.json"),
    include_str!("../../../schema/mongodb/suppliers.json"),
    include_str!("../../../schema/mongodb/trending.json"),
    include_str!("../../../schema/mongodb/units.json"),
    include_str!("../../../schema/mongodb/uploads.json"),
    include_str!("../../../schema/mongodb/upload_parts.json"),
    include_str!("../../../schema/mongodb/votes.json"),
    include_str!("../../../schema/mongodb/words.json"),
    include_str!("../../../schema/mongodb/workers.json"),
];

const VERSION: &str = include_str!("../../../schema/version.json");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CollectionSchema {
    pub(crate) collection: String,
    /// The shard key.
    #[serde(default)]
    pub(crate) shard_key: Option<Document>,
    /// The zone of shards for deployments that separate the catalogue from reviews.
    #[serde(default)]
    pub(crate) zone: Option<String>,
    /// Why the collection is not sharded, and up to which size that is right.
    #[serde(default)]
    pub(crate) unsharded: Option<String>,
    pub(crate) validator: Document,
    pub(crate) indexes: Vec<Document>,
}

/// The contents of `schema/version.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SchemaVersion {
    /// The version of the state of `schema/mongodb`. Releases whose files differ have different
    /// versions.
    pub version: i32,
    /// The digest of the files.
    pub digest: String,
}

/// Returns the version of the files that this release was built from.
///
/// # Panics
/// Never: tests read the file.
#[must_use]
pub fn schema_version() -> SchemaVersion {
    serde_json::from_str(VERSION).expect("tests read the file")
}

/// Returns the digest of the files' contents, whatever their formatting.
#[must_use]
pub fn schema_digest() -> String {
    let mut sha = Sha256::new();
    for schema in desired() {
        sha.update(schema.collection);
        sha.update(schema.validator.to_string());
        for index in &schema.indexes {
            sha.update(index.to_string());
        }
    }
    hex(&sha.finalize())
}

pub(crate) fn hex(digest: &[u8]) -> String {
    digest
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

pub(crate) fn desired() -> Vec<CollectionSchema> {
    let parse = |file: &&str| serde_json::from_str(file).expect("tests read every file");
    FILES.iter().map(parse).collect()
}

/// A difference between the live database and `schema/mongodb`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SchemaDifference {
    /// The database lacks a collection.
    Collection(String),
    /// A collection has another validator.
    Validator(String),
    /// The database lacks an index.
    Index(IndexName),
    /// An index with this name has another definition.
    OtherIndex {
        index: IndexName,
        expected: Document,
        found: Document,
    },
    /// The database has an index that is not in the files.
    UnexpectedIndex(IndexName),
    /// The database has a collection that is not in the files.
    UnknownCollection(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexName {
    pub(crate) collection: String,
    pub(crate) name: String,
}

impl std::fmt::Display for IndexName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.collection, self.name)
    }
}

impl SchemaDifference {
    /// Describes what this release needs and the database lacks; `None` for an extra index or
    /// collection.
    fn missing(&self) -> Option<String> {
        match self {
            Self::Collection(name) => Some(format!("collection {name}")),
            Self::Validator(name) => Some(format!("validator of {name} as this release has it")),
            Self::Index(index) => Some(format!("index {index}")),
            Self::OtherIndex {
                index,
                expected,
                found,
            } => Some(format!("index {index} as {expected}, found {found}")),
            Self::UnexpectedIndex(_) | Self::UnknownCollection(_) => None,
        }
    }

    /// Describes what the database has and this release does not need.
    fn unexpected(&self) -> Option<String> {
        match self {
            Self::UnexpectedIndex(index) => Some(format!("index {index}")),
            Self::UnknownCollection(name) => Some(format!("collection {name}")),
            _ => None,
        }
    }
}

/// The live state of a collection.
struct LiveCollection {
    validator: Document,
    indexes: HashMap<String, Document>,
}

impl Store {
    /// Creates all collections and indexes in an empty database.
    pub async fn create_schema(&self) -> Result<(), StorageError> {
        for schema in desired() {
            self.create_collection(&schema).await?;
            self.create_indexes(&schema, |_| true).await?;
        }
        Ok(())
    }

    pub(crate) async fn create_collection(
        &self,
        schema: &CollectionSchema,
    ) -> Result<(), StorageError> {
        let create = doc! { "create": &schema.collection, "validator": &schema.validator };
        self.db.run_command(create).await?;
        Ok(())
    }

    /// Builds the indexes of a collection whose names `include` accepts, in one pass over its
    /// documents.
    pub(crate) async fn create_indexes(
        &self,
        schema: &CollectionSchema,
        include: impl Fn(&str) -> bool,
    ) -> Result<(), StorageError> {
        let is_included = |index: &&Document| include(index.get_str("name").unwrap_or_default());
        let indexes: Vec<&Document> = schema.indexes.iter().filter(is_included).collect();
        if indexes.is_empty() {
            return Ok(());
        }
        let create = doc! { "createIndexes": &schema.collection, "indexes": indexes };
        self.db.run_command(create).await?;
        Ok(())
    }

    /// Describes what this release needs and the live database lacks, one line per item; empty when
    /// the release can be served from the database. What a newer release has added does not matter.
    pub async fn missing_from_schema(&self) -> Result<Vec<String>, StorageError> {
        // A newer release may have expanded validators; they accept what this release writes.
        let newer = self.newer_schema().await?.is_some();
        let found = self.schema_differences().await?;
        let matters =
            |found: &&SchemaDifference| !(newer && matches!(found, SchemaDifference::Validator(_)));
        let missing = found.iter().filter(matters);
        Ok(missing.filter_map(SchemaDifference::missing).collect())
    }

    /// Describes what the live database has beyond the desired state, one line per item.
    pub async fn unexpected_in_schema(&self) -> Result<Vec<String>, StorageError> {
        let found = self.schema_differences().await?;
        Ok(found
            .iter()
            .filter_map(SchemaDifference::unexpected)
            .collect())
    }

    /// Compares the live database with the files, sorted by name.
    pub(crate) async fn schema_differences(&self) -> Result<Vec<SchemaDifference>, StorageError> {
        let mut live = self.live_schema().await?;
        let mut found = Vec::new();
        for schema in desired() {
            match live.remove(&schema.collection) {
                Some(live) => compare(&schema, live, &mut found),
                None => found.push(SchemaDifference::Collection(schema.collection)),
            }
        }
        found.extend(live.into_keys().map(SchemaDifference::UnknownCollection));
        Ok(found)
    }

    async fn live_schema(&self) -> Result<BTreeMap<String, LiveCollection>, StorageError> {
        let list = doc! { "listCollections": 1, "filter": { "type": "collection" } };
        let reply = self.db.run_command(list).await?;
        let mut live = BTreeMap::new();
        for collection in first_batch(&reply) {
            let name = collection.get_str("name").unwrap_or_default().to_owned();
            if name.starts_with("system.") {
                continue;
            }
            let options = collection
                .get_document("options")
                .cloned()
                .unwrap_or_default();
            let validator = options
                .get_document("validator")
                .cloned()
                .unwrap_or_default();
            let indexes = self.live_indexes(&name).await?;
            live.insert(name, LiveCollection { validator, indexes });
        }
        Ok(live)
    }

    async fn live_indexes(
        &self,
        collection: &str,
    ) -> Result<HashMap<String, Document>, StorageError> {
        let mut indexes = HashMap::new();
        let mut cursor = self.documents(collection).list_indexes().await?;
        while let Some(index) = cursor.try_next().await? {
            let mut described = doc! { "key": index.keys };
            if let Some(options) = index.options {
                if options.unique == Some(true) {
                    described.insert("unique", true);
                }
                if let Some(partial) = options.partial_filter_expression {
                    described.insert("partialFilterExpression", partial);
                }
                if let Some(after) = options.expire_after {
                    let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
                    described.insert("expireAfterSeconds", seconds);
                }
                indexes.insert(options.name.unwrap_or_default(), described);
            }
        }
        Ok(indexes)
    }
}

fn first_batch(reply: &Document) -> impl Iterator<Item = &Document> {
    let batch = reply
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"));
    batch
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Bson::as_document)
}

fn compare(schema: &CollectionSchema, mut live: LiveCollection, found: &mut Vec<SchemaDifference>) {
    if schema.validator != live.validator {
        found.push(SchemaDifference::Validator(schema.collection.clone()));
    }
    let name_of = |name: &str| IndexName {
        collection: schema.collection.clone(),
        name: name.to_owned(),
    };
    for index in &schema.indexes {
        let name = index.get_str("name").unwrap_or_default();
        let mut expected = normalized(index);
        expected.remove("name");
        match live.indexes.remove(name) {
            None => found.push(SchemaDifference::Index(name_of(name))),
            Some(has) if normalized(&has) != expected => found.push(SchemaDifference::OtherIndex {
                index: name_of(name),
                expected,
                found: has,
            }),
            Some(_) => {}
        }
    }
    let mut others: Vec<String> = live.indexes.into_keys().collect();
    others.retain(|name| name != "_id_");
    others.sort_unstable();
    let others = others.iter().map(|name| name_of(name));
    found.extend(others.map(SchemaDifference::UnexpectedIndex));
}

/// Returns the document with all integers as int64, because the server stores some as another type.
fn normalized(document: &Document) -> Document {
    let value = |value: &Bson| match value {
        Bson::Int32(n) => Bson::Int64(i64::from(*n)),
        Bson::Document(inner) => Bson::Document(normalized(inner)),
        other => other.clone(),
    };
    let fields = document.iter();
    fields.map(|(field, v)| (field.clone(), value(v))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The text of all source files below a directory.
    fn source(directory: &Path) -> String {
        let entries = fs::read_dir(directory).unwrap();
        let text = |path: &Path| {
            if path.is_dir() {
                source(path)
            } else {
                fs::read_to_string(path).unwrap()
            }
        };
        entries.map(|entry| text(&entry.unwrap().path())).collect()
    }

    #[test]
    fn every_index_is_named_by_a_query_or_enforces_something() {
        let source = source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        for schema in desired() {
            for index in &schema.indexes {
                let name = index.get_str("name").unwrap();
                let enforces = ["unique", "expireAfterSeconds"];
                let enforces = enforces.iter().any(|option| index.contains_key(option));
                // The name of this one has a number.
                let is_named =
                    name.starts_with("older_than_") || source.contains(&format!("\"{name}\""));
                assert!(enforces || is_named, "{}.{name}", schema.collection);
            }
        }
    }

    #[test]
    fn every_schema_file_parses_and_its_index_names_are_unique() {
        for schema in desired() {
            let mut names: Vec<&str> = schema
                .indexes
                .iter()
                .map(|index| index.get_str("name").unwrap())
                .collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", schema.collection);
        }
    }
}
