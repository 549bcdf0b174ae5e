//! Documents of several versions side by side.
//!
//! A reader understands every version up to its own. What is written, whatever the reason, is of
//! the newest version then; what nobody writes is brought to it in batches. The work list is a
//! partial index, `older`, that has an entry for each document of an older version and nothing
//! else. No document is ever replaced by what was read of it: an upgrade is computed by the server
//! from what is stored, and only while it is of the older version. A document of a newer version
//! belongs to a newer release: it is read without what is not known of it, and never written.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::id::ProductId;

use crate::batch::{Batch, in_parts};
use crate::documents::{PRODUCT_VERSION, REVIEW_VERSION};
use crate::raw::{Fields, Read, uuid};
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

impl Store {
    /// Brings some products to the newest version; none are found when there are no more.
    ///
    /// From 1 to 2: since when it is listed becomes a field.
    ///
    /// # Errors
    /// [`StorageError`] when nothing could be read; it may be called again.
    pub async fn upgrade_products(&self, most: u32) -> Result<Batch, StorageError> {
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(older(PRODUCT_VERSION))
            .projection(doc! { "_id": 1 })
            .hint(older_index())
            .limit(i64::from(most));
        let found: Vec<ProductId> = self.product_ids(find).await?;
        let ids: Vec<Bson> = found.iter().map(|id| uuid(id.to_bytes())).collect();
        Ok(in_parts(&ids, |some| self.upgrade_these(some)).await)
    }

    async fn upgrade_these(&self, ids: &[Bson]) -> Result<(), StorageError> {
        let mut filter = older(PRODUCT_VERSION);
        filter.insert("_id", doc! { "$in": ids });
        let draft = doc! { "$eq": ["$status", "draft"] };
        let listed = doc! { "$cond": [draft, "$$REMOVE", "$created_at"] };
        let upgrade = vec![doc! { "$set": {
            "listed_at": { "$ifNull": ["$listed_at", listed] },
            "schema_version": PRODUCT_VERSION,
        } }];
        let collection = self.documents(products::COLLECTION);
        let updated = collection.update_many(filter, upgrade);
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
            .hint(older_index())
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

/// Spelled as the index `older` has it, without which the server would not use it.
fn older(newest: i32) -> Document {
    doc! { "schema_version": { "$lt": newest } }
}

fn older_index() -> Hint {
    Hint::Name("older".to_owned())
}
