//! Rows that are counted once: they have `due` until the transaction that counts them removes it.
//!
//! The id of such a row is a document that begins with its product, `p`. The partial index `due` of
//! its collection has an entry for each row that waits.

use std::collections::{BTreeMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;

use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, up_to};
use crate::raw::{Fields, Read, date, stored_id};
use crate::transaction::TransactionError;
use crate::{StorageError, Store, products};

impl Store {
    /// Stores a row to be counted shortly afterwards. Returns whether it is new. Idempotent, so safe
    /// to retry.
    pub(crate) async fn insert_due(
        &self,
        collection: &str,
        id: Document,
        fields: Document,
    ) -> Result<bool, StorageError> {
        let mut first = doc! { "schema_version": REFERENCE_VERSION };
        first.extend(fields);
        first.insert("due", true);
        let collection = self.documents(collection);
        let stored = collection
            .update_one(doc! { "_id": id }, doc! { "$setOnInsert": first })
            .upsert(true)
            .await;
        match stored.map_err(StorageError::from) {
            Ok(stored) => Ok(stored.upserted_id.is_some()),
            // Another process stored it concurrently.
            Err(StorageError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns at most `max` rows that wait, and whether there may be more. Skips rows of products
    /// that only a newer release may write.
    pub(crate) async fn due_rows<T>(
        &self,
        collection: &'static str,
        max: u32,
        read: fn(&RawDocumentBuf) -> Read<T>,
    ) -> Result<(Vec<T>, bool), StorageError> {
        let mut after = None;
        loop {
            let (found, last) = self.next_due_rows(collection, after, max).await?;
            if !found.is_empty() || last.is_none() {
                let rows: Read<Vec<T>> = found.iter().map(read).collect();
                return Ok((rows?, last.is_some()));
            }
            after = last;
        }
    }

    /// Returns some rows that wait after this one, and the last one examined if there may be more.
    async fn next_due_rows(
        &self,
        name: &'static str,
        after: Option<Bson>,
        max: u32,
    ) -> Result<(Vec<RawDocumentBuf>, Option<Bson>), StorageError> {
        let mut filter = doc! { "due": true };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": after });
        }
        let collection = self.raw(name);
        let find = collection
            .find(filter)
            .sort(doc! { "_id": 1 })
            .hint(Hint::Name("due".to_owned()))
            .limit(i64::from(max));
        let mut found: Vec<RawDocumentBuf> =
            find.max_time(self.max_time).await?.try_collect().await?;
        let last = found.get(max.saturating_sub(1) as usize);
        let last = last.map(|row| Document::try_from(row.as_ref())).transpose();
        let last = last.map_err(mongodb::error::Error::custom)?;
        let product = |row: &RawDocumentBuf| Fields::of(name, row).doc("_id")?.id("p");
        let of: Vec<i64> = found.iter().map(product).collect::<Read<_>>()?;
        let newer = self.newer_among(of.iter().copied().collect()).await?;
        let mut of = of.iter();
        found.retain(|_| of.next().is_some_and(|product| !newer.contains(product)));
        Ok((found, last.and_then(|mut row| row.remove("_id"))))
    }

    /// Returns those of these products that only a newer release may write.
    async fn newer_among(&self, of: HashSet<i64>) -> Result<HashSet<i64>, StorageError> {
        if of.is_empty() {
            return Ok(of);
        }
        let of: Vec<Bson> = of.into_iter().map(stored_id).collect();
        let newer = doc! {
            "_id": { "$in": of },
            "schema_version": { "$gt": PRODUCT_VERSION },
        };
        let collection = self.raw(products::COLLECTION);
        let find = collection.find(newer).projection(doc! { "_id": 1 });
        let newer: Vec<ProductId> = self.product_ids(find).await?;
        Ok(newer.into_iter().map(ProductId::to_i64).collect())
    }

    /// Marks rows with these ids as counted, in the transaction that counts them. Returns whether
    /// all of them waited; otherwise another process has counted some, and the transaction must be
    /// aborted.
    pub(crate) async fn apply_counted(
        &self,
        session: &mut ClientSession,
        collection: &str,
        ids: Vec<Document>,
    ) -> Result<bool, TransactionError> {
        let all = ids.len() as u64;
        let these = doc! { "_id": { "$in": ids }, "due": true };
        let rows = self.documents(collection);
        let updated = rows.update_many(these, doc! { "$unset": { "due": 1 } });
        Ok(updated.session(&mut *session).await?.modified_count == all)
    }

    /// Adds units to a field of products, in a transaction. Callers announce the products with
    /// [`Store::product_write`].
    pub(crate) async fn apply_units(
        &self,
        session: &mut ClientSession,
        field: &str,
        units: &BTreeMap<ProductId, i64>,
        now: Timestamp,
    ) -> Result<(), TransactionError> {
        if units.is_empty() {
            return Ok(());
        }
        let update = |(product, units): (&ProductId, &i64)| {
            let one = doc! {
                "_id": stored_id(product.to_i64()),
                "schema_version": up_to(PRODUCT_VERSION),
            };
            let add = doc! {
                "$inc": { format!("{field}.units"): *units },
                "$set": { format!("{field}.as_of"): date(now) },
            };
            doc! { "q": one, "u": add }
        };
        let updates: Vec<Document> = units.iter().map(update).collect();
        let all = i32::try_from(updates.len()).unwrap_or(i32::MAX);
        let command = doc! { "update": products::COLLECTION, "updates": updates };
        let reply = self.db.run_command(command).session(&mut *session).await?;
        if reply.get_i32("n").ok() == Some(all) {
            return Ok(());
        }
        // One of the products has just been written by a newer release: the next run selects again.
        let error = mongodb::error::Error::custom(reply);
        Err(StorageError::Contended(error).into())
    }
}
