//! The texts of queries that clients name by their hash.

use mongodb::bson::doc;
use vitrine_model::clock::Timestamp;

use crate::documents::REFERENCE_VERSION;
use crate::raw::date;
use crate::{StorageError, Store};

const COLLECTION: &str = "persisted_queries";

/// A stored query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedQuery {
    /// The text.
    pub query: String,
    /// When it is deleted.
    pub expires_at: Timestamp,
}

impl Store {
    /// Returns the query with this hash. One command.
    pub async fn get_persisted_query(
        &self,
        hash: &str,
    ) -> Result<Option<PersistedQuery>, StorageError> {
        let collection = self.documents(COLLECTION);
        let find = collection.find_one(doc! { "_id": hash });
        let Some(found) = find.max_time(self.max_time).await? else {
            return Ok(None);
        };
        let corrupt = |field: &str| StorageError::Corrupt {
            collection: COLLECTION,
            id: hash.to_owned(),
            field: field.to_owned(),
        };
        let query = found.get_str("query").map_err(|_| corrupt("query"))?;
        let expires_at = found.get_datetime("expires_at");
        let expires_at = expires_at.map_err(|_| corrupt("expires_at"))?;
        Ok(Some(PersistedQuery {
            query: query.to_owned(),
            expires_at: Timestamp::from_millis(expires_at.timestamp_millis()),
        }))
    }

    /// Stores a query, or keeps the stored one longer. One command.
    pub async fn persist_query(
        &self,
        hash: &str,
        query: &PersistedQuery,
    ) -> Result<(), StorageError> {
        let first = doc! { "schema_version": REFERENCE_VERSION, "query": &query.query };
        let update = doc! {
            "$max": { "expires_at": date(query.expires_at) },
            "$setOnInsert": first,
        };
        let collection = self.documents(COLLECTION);
        collection
            .update_one(doc! { "_id": hash }, update)
            .upsert(true)
            .await?;
        Ok(())
    }
}
