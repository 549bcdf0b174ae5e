//! What the database looks like: one file per collection under `schema/mongodb`, with its validator
//! and its indexes. The files are the desired end state; migrations lead there.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;

use crate::{StorageError, Store};

const FILES: [&str; 32] = [
    include_str!("../../../schema/mongodb/activity.json"),
    include_str!("../../../schema/mongodb/activity_days.json"),
    include_str!("../../../schema/mongodb/activity_handed.json"),
    include_str!("../../../schema/mongodb/categories.json"),
    include_str!("../../../schema/mongodb/category_counts.json"),
    include_str!("../../../schema/mongodb/category_stamps.json"),
    include_str!("../../../schema/mongodb/copies_due.json"),
    include_str!("../../../schema/mongodb/cursors.json"),
    include_str!("../../../schema/mongodb/erasures.json"),
    include_str!("../../../schema/mongodb/facet_panels.json"),
    include_str!("../../../schema/mongodb/import_runs.json"),
    include_str!("../../../schema/mongodb/key_coverage.json"),
    include_str!("../../../schema/mongodb/leases.json"),
    include_str!("../../../schema/mongodb/migrations.json"),
    include_str!("../../../schema/mongodb/moderation_log.json"),
    include_str!("../../../schema/mongodb/mutations.json"),
    include_str!("../../../schema/mongodb/products.json"),
    include_str!("../../../schema/mongodb/purchases.json"),
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
    include_str!("../../../schema/mongodb/votes.json"),
    include_str!("../../../schema/mongodb/words.json"),
    include_str!("../../../schema/mongodb/workers.json"),
];

#[derive(Deserialize)]
pub(crate) struct CollectionSchema {
    pub(crate) collection: String,
    pub(crate) validator: Document,
    pub(crate) indexes: Vec<Document>,
}

pub(crate) fn desired() -> Vec<CollectionSchema> {
    let parse = |file: &&str| serde_json::from_str(file).expect("tests read every file");
    FILES.iter().map(parse).collect()
}

/// What a live collection has.
struct Live {
    validator: Document,
    indexes: HashMap<String, Document>,
}

impl Store {
    /// Makes all collections and indexes in an empty database, without the way migrations take.
    ///
    /// # Errors
    /// [`StorageError`] when the server refuses.
    pub async fn create_schema(&self) -> Result<(), StorageError> {
        for schema in desired() {
            let create = doc! { "create": &schema.collection, "validator": schema.validator };
            self.db.run_command(create).await?;
            if !schema.indexes.is_empty() {
                let create =
                    doc! { "createIndexes": &schema.collection, "indexes": schema.indexes };
                self.db.run_command(create).await?;
            }
        }
        Ok(())
    }

    /// What this release needs and the live database lacks, one line each; empty when it may be
    /// served from. What a newer release has added is nobody's business here.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn missing_from_schema(&self) -> Result<Vec<String>, StorageError> {
        let live = self.live_schema().await?;
        // A newer release may have expanded validators; it keeps what this one writes valid.
        let newer = !self.newer_migrations().await?.is_empty();
        let mut missing = Vec::new();
        for schema in desired() {
            match live.get(&schema.collection) {
                Some(live) => compare(&schema, live, newer, &mut missing),
                None => missing.push(format!("collection {}", schema.collection)),
            }
        }
        Ok(missing)
    }

    /// Everything the live database has beyond the desired state, one line each.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn beyond_schema(&self) -> Result<Vec<String>, StorageError> {
        let live = self.live_schema().await?;
        let desired: HashMap<String, CollectionSchema> = desired()
            .into_iter()
            .map(|schema| (schema.collection.clone(), schema))
            .collect();
        let mut beyond = Vec::new();
        for (name, live) in &live {
            let Some(schema) = desired.get(name) else {
                beyond.push(format!("collection {name}"));
                continue;
            };
            let known = |index: &str| {
                schema
                    .indexes
                    .iter()
                    .any(|i| i.get_str("name").ok() == Some(index))
            };
            let others = live
                .indexes
                .keys()
                .filter(|index| *index != "_id_" && !known(index));
            beyond.extend(others.map(|index| format!("index {name}.{index}")));
        }
        beyond.sort();
        Ok(beyond)
    }

    async fn live_schema(&self) -> Result<HashMap<String, Live>, StorageError> {
        let list = doc! { "listCollections": 1, "filter": { "type": "collection" } };
        let reply = self.db.run_command(list).await?;
        let mut live = HashMap::new();
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
            live.insert(name, Live { validator, indexes });
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

fn compare(schema: &CollectionSchema, live: &Live, newer: bool, missing: &mut Vec<String>) {
    if !newer && schema.validator != live.validator {
        missing.push(format!(
            "validator of {} as this release has it",
            schema.collection
        ));
    }
    for index in &schema.indexes {
        let name = index.get_str("name").unwrap_or_default();
        let mut wanted = normal(index);
        wanted.remove("name");
        match live.indexes.get(name) {
            None => missing.push(format!("index {}.{name}", schema.collection)),
            Some(found) if normal(found) != wanted => {
                missing.push(format!(
                    "index {}.{name} as {wanted}, found {found}",
                    schema.collection
                ));
            }
            Some(_) => {}
        }
    }
}

/// The same document with all whole numbers of one type: the server stores some as it likes.
fn normal(document: &Document) -> Document {
    let value = |value: &Bson| match value {
        Bson::Int32(n) => Bson::Int64(i64::from(*n)),
        Bson::Document(inner) => Bson::Document(normal(inner)),
        other => other.clone(),
    };
    let fields = document.iter();
    fields.map(|(field, v)| (field.clone(), value(v))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_readable_and_every_index_named_once() {
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
