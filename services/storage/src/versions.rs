//! Documents of several versions side by side.
//!
//! A reader understands every version up to its own. What is written, whatever the reason, is of
//! the newest version then; what nobody writes is brought to it in batches. The work list is a
//! partial index that has an entry for each document of an older version and nothing else. No
//! document is ever replaced by what was read of it: an upgrade is computed by the server from what
//! is stored, and only while it is of the older version. A document of a newer version belongs to a
//! newer release: it is read without what is not known of it, and never written.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;

use crate::batch::{Batch, in_parts};
use crate::documents::{PRODUCT_VERSION, REVIEW_VERSION};
use crate::raw::{Fields, Read};
use crate::store::durable;
use crate::{StorageError, Store, products, reviews};

/// How many documents of a collection are of which version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCounts {
    /// The newest version that this release knows.
    pub newest: i32,
    /// How many documents there are in all.
    pub total: u64,
    /// How many are of each older version, the oldest first.
    pub older: Vec<(i32, u64)>,
}

/// How documents get from one version to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionStep {
    /// Whose documents.
    pub collection: &'static str,
    /// The version that it begins with; it ends with the next.
    pub from: i32,
    /// The stages of an update, which compute what changes from what is stored: an array in JSON.
    pub stages: &'static str,
}

impl VersionStep {
    fn read(&self) -> Vec<Document> {
        serde_json::from_str(self.stages).expect("tests take every step")
    }
}

/// The steps of this release.
pub(crate) const fn steps() -> Vec<VersionStep> {
    // Documents have one version yet.
    Vec::new()
}

impl Store {
    /// The same store with other steps between versions, for tests of how documents get there.
    #[must_use]
    pub fn with_version_steps(mut self, steps: Vec<VersionStep>) -> Self {
        self.version_steps = steps.into();
        self
    }

    /// Brings some products to the newest version; none are found when there are no more. No command
    /// where no older version exists.
    ///
    /// # Errors
    /// [`StorageError`] when nothing could be read; it may be called again.
    pub async fn upgrade_products(&self, most: u32) -> Result<Batch, StorageError> {
        self.upgrade(products::COLLECTION, PRODUCT_VERSION, most)
            .await
    }

    /// Brings some reviews to the newest version, as [`Store::upgrade_products`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn upgrade_reviews(&self, most: u32) -> Result<Batch, StorageError> {
        self.upgrade(reviews::COLLECTION, REVIEW_VERSION, most)
            .await
    }

    async fn upgrade(
        &self,
        name: &'static str,
        newest: i32,
        most: u32,
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
            .limit(i64::from(most))
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

    /// All stages from a version to the newest.
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
        let collection = self.documents(name);
        let updated = collection.update_many(filter, stages.to_vec());
        updated.write_concern(durable()).await?;
        Ok(())
    }

    /// How many products are of which version. Reads one key for each of an older version.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn product_versions(&self) -> Result<VersionCounts, StorageError> {
        self.version_counts(products::COLLECTION, PRODUCT_VERSION)
            .await
    }

    /// How many reviews are of which version. Reads one key for each of an older version.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn review_versions_stored(&self) -> Result<VersionCounts, StorageError> {
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

/// Spelled as the index has it, without which the server would not use it.
fn older(newest: i32) -> Document {
    doc! { "schema_version": { "$lt": newest } }
}

fn older_index(newest: i32) -> Hint {
    Hint::Name(format!("older_than_{newest}"))
}
