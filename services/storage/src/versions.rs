//! Documents of several schema versions side by side.
//!
//! A reader understands every version up to its own. Every write produces the newest version.
//! Documents that are not written are upgraded in batches; the work list is a partial index that
//! contains only documents of older versions. No document is ever replaced by what was read from
//! it: the server computes an upgrade from the stored document, and only while it has the older
//! version. A document of a newer version belongs to a newer release: unknown fields are ignored
//! when reading, and it is never written.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::id::ProductId;

use crate::batch::{Batch, in_parts};
use crate::documents::{PRODUCT_VERSION, REVIEW_VERSION};
use crate::raw::{Fields, Read};
use crate::{StorageError, Store, products, reviews};

/// The number of documents of each version in a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCounts {
    /// The newest version that this release knows.
    pub newest: i32,
    /// The number of all documents.
    pub total: u64,
    /// The number of documents of each older version, oldest first.
    pub older: Vec<(i32, u64)>,
}

/// The upgrade of documents from one version to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionStep {
    /// The collection.
    pub collection: &'static str,
    /// The version before; the step leads to the next one.
    pub from: i32,
    /// The stages of an update pipeline that computes the new fields from the stored ones, as a
    /// JSON array.
    pub stages: &'static str,
}

impl VersionStep {
    fn read(&self) -> Vec<Document> {
        serde_json::from_str(self.stages).expect("tests take every step")
    }
}

/// The steps of this release; none, because all documents have version 1 so far.
pub(crate) const STEPS: &[VersionStep] = &[];

impl Store {
    /// Returns the store with other upgrade steps; for tests.
    #[must_use]
    pub fn with_version_steps(mut self, steps: Vec<VersionStep>) -> Self {
        self.version_steps = steps.into();
        self
    }

    /// Upgrades at most `max` products to the newest version; finds none when all are upgraded.
    /// Sends no command where no older version exists.
    ///
    /// # Errors
    /// [`StorageError`] when nothing could be read; safe to repeat.
    pub async fn upgrade_products(&self, max: u32) -> Result<Batch, StorageError> {
        self.upgrade(products::COLLECTION, PRODUCT_VERSION, max)
            .await
    }

    /// Upgrades reviews to the newest version, as [`Store::upgrade_products`] does.
    pub async fn upgrade_reviews(&self, max: u32) -> Result<Batch, StorageError> {
        self.upgrade(reviews::COLLECTION, REVIEW_VERSION, max).await
    }

    async fn upgrade(
        &self,
        name: &'static str,
        newest: i32,
        max: u32,
    ) -> Result<Batch, StorageError> {
        if self
            .version_steps
            .iter()
            .all(|step| step.collection != name)
        {
            return Ok(Batch::default());
        }
        let collection = self.raw(name);
        let find = collection
            .find(older(newest))
            .projection(doc! { "schema_version": 1 })
            .hint(older_index(newest))
            .limit(i64::from(max))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let mut by_version: BTreeMap<i32, Vec<Bson>> = BTreeMap::new();
        for doc in &found {
            let doc = Document::try_from(doc.as_ref()).map_err(mongodb::error::Error::custom)?;
            let version = doc.get_i32("schema_version").unwrap_or_default();
            let ids = by_version.entry(version).or_default();
            ids.extend(doc.get("_id").cloned());
        }
        let mut all = Batch::default();
        for (version, ids) in by_version {
            let stages = self.stages_between(name, version, newest);
            let upgrade = |some| self.upgrade_these(name, version, &stages, some);
            all = all.and(in_parts(&ids, upgrade).await);
        }
        Ok(all)
    }

    /// Returns all stages from a version to the newest.
    fn stages_between(&self, name: &str, version: i32, newest: i32) -> Vec<Document> {
        let mut stages: Vec<Document> = Vec::new();
        for from in version..newest {
            let mut steps = self.version_steps.iter();
            let step = steps.find(|step| step.collection == name && step.from == from);
            stages.extend(step.into_iter().flat_map(VersionStep::read));
        }
        stages.push(doc! { "$set": { "schema_version": newest } });
        stages
    }

    async fn upgrade_these(
        &self,
        name: &str,
        version: i32,
        stages: &[Document],
        ids: &[Bson],
    ) -> Result<(), StorageError> {
        let filter = doc! { "_id": { "$in": ids }, "schema_version": version };
        let of_products = ids.iter().filter(|_| name == products::COLLECTION);
        let of_products = of_products.filter_map(Bson::as_i64);
        let _write = self.product_write(of_products.map(ProductId::from_i64));
        let collection = self.documents(name);
        let updated = collection.update_many(filter, stages.to_vec());
        updated.await?;
        Ok(())
    }

    /// Counts products by version. Reads one index key for each product of an older version.
    pub async fn product_schema_versions(&self) -> Result<VersionCounts, StorageError> {
        self.version_counts(products::COLLECTION, PRODUCT_VERSION)
            .await
    }

    /// Counts reviews by version. Reads one index key for each review of an older version.
    pub async fn review_schema_versions(&self) -> Result<VersionCounts, StorageError> {
        self.version_counts(reviews::COLLECTION, REVIEW_VERSION)
            .await
    }

    async fn version_counts(
        &self,
        name: &'static str,
        newest: i32,
    ) -> Result<VersionCounts, StorageError> {
        let collection = self.raw(name);
        let grouped = collection
            .aggregate([
                doc! { "$match": older(newest) },
                doc! { "$group": { "_id": "$schema_version", "n": { "$sum": 1_i64 } } },
                doc! { "$sort": { "_id": 1 } },
            ])
            .hint(older_index(newest))
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let grouped: Vec<RawDocumentBuf> = grouped.await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(name, doc);
            let version = i32::try_from(fields.i64("_id")?);
            let count = u64::try_from(fields.i64("n")?);
            let corrupt = |_| fields.corrupt("schema_version");
            Ok((version.map_err(corrupt)?, count.map_err(corrupt)?))
        };
        Ok(VersionCounts {
            newest,
            total: collection.estimated_document_count().await?,
            older: grouped.iter().map(read).collect::<Read<Vec<_>>>()?,
        })
    }
}

/// The filter has the same form as the partial index, or the server would not use it.
fn older(newest: i32) -> Document {
    doc! { "schema_version": { "$lt": newest } }
}

fn older_index(newest: i32) -> Hint {
    Hint::Name(format!("older_than_{newest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::desired;

    #[test]
    fn every_older_version_has_a_step_and_an_index() {
        for (name, newest) in [
            (products::COLLECTION, PRODUCT_VERSION),
            (reviews::COLLECTION, REVIEW_VERSION),
        ] {
            let of = |step: &VersionStep| (step.collection == name).then_some(step.from);
            let steps: Vec<i32> = STEPS.iter().filter_map(of).collect();
            assert_eq!(steps, (1..newest).collect::<Vec<_>>(), "steps of {name}");
            let schema = desired().into_iter().find(|one| one.collection == name);
            let indexes = schema.expect("a file").indexes;
            let expected = format!("older_than_{newest}");
            let found = indexes
                .iter()
                .find(|index| index.get_str("name").ok() == Some(&expected));
            let found = found.unwrap_or_else(|| panic!("{name} has no index {expected}"));
            let filter = found.get_document("partialFilterExpression");
            let filter = filter.expect("only older documents").to_string();
            assert_eq!(filter, older(newest).to_string(), "{name}");
        }
        for step in STEPS {
            assert!(!step.read().is_empty());
        }
    }
}
