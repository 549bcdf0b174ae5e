//! Leases: which process does a job that only one may do at a time.
//!
//! A lease expires unless it is renewed in time. All times are those of the server, whose clock all
//! processes share. A lease that expires later than twice the requested time can only stem from a
//! clock that was set back, so it is ignored.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::options::ReturnDocument;

use crate::raw::Fields;
use crate::{StorageError, Store};

pub(crate) const COLLECTION: &str = "leases";

/// A lease and its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The name of the process that holds it.
    pub owner: String,
    /// Increases each time the lease changes hands.
    pub term: i64,
    /// The time until it expires; zero when it has expired.
    pub left: Duration,
}

impl Store {
    /// Takes a free lease, or renews one's own, for this time from now. Returns who holds it
    /// afterwards. One command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; the holder is unknown then.
    pub async fn take_lease(
        &self,
        name: &str,
        owner: &str,
        time: Duration,
    ) -> Result<Lease, StorageError> {
        let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 4);
        let own = doc! { "$eq": ["$owner", { "$literal": owner }] };
        let free = doc! { "$or": [
            own.clone(),
            { "$lte": [{ "$ifNull": ["$expires_at", "$$NOW"] }, "$$NOW"] },
            { "$gt": ["$expires_at", { "$add": ["$$NOW", 2 * millis] }] },
        ] };
        let if_free = |new: Document, field: &str| doc! { "$cond": [&free, new, field] };
        let next =
            doc! { "$add": [{ "$ifNull": ["$term", 0_i64] }, { "$cond": [own, 0_i64, 1_i64] }] };
        let take = vec![doc! { "$set": {
            "owner": if_free(doc! { "$literal": owner }, "$owner"),
            "term": if_free(next, "$term"),
            "expires_at": if_free(doc! { "$add": ["$$NOW", millis] }, "$expires_at"),
        } }];
        let collection = self.raw(COLLECTION);
        let taken = collection
            .find_one_and_update(doc! { "_id": name }, take)
            .projection(shown())
            .upsert(true)
            .return_document(ReturnDocument::After);
        let taken = taken.max_time(self.max_time).await?;
        let taken = taken.ok_or_else(|| StorageError::Corrupt {
            collection: COLLECTION,
            id: name.to_owned(),
            field: "document".to_owned(),
        })?;
        read(&Fields::of(COLLECTION, &taken))
    }

    /// Releases a lease that is still held, so that it is free immediately.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; the lease expires on its own then.
    pub async fn release_lease(&self, name: &str, owner: &str) -> Result<(), StorageError> {
        let own = doc! { "_id": name, "owner": owner };
        let end = vec![doc! { "$set": { "expires_at": "$$NOW" } }];
        let collection = self.documents(COLLECTION);
        let released = collection.update_one(own, end);
        released.await?;
        Ok(())
    }

    /// Returns the current or last holder of a lease; `None` when nobody ever held it.
    pub async fn lease(&self, name: &str) -> Result<Option<Lease>, StorageError> {
        let collection = self.raw(COLLECTION);
        let found = collection
            .find_one(doc! { "_id": name })
            .projection(shown())
            .max_time(self.max_time)
            .await?;
        found
            .map(|doc| read(&Fields::of(COLLECTION, &doc)))
            .transpose()
    }
}

/// The server computes the remaining time, because its clock is not ours.
fn shown() -> Document {
    let left = doc! { "$toLong": { "$subtract": ["$expires_at", "$$NOW"] } };
    doc! { "owner": 1, "term": 1, "left": left }
}

fn read(fields: &Fields<'_>) -> Result<Lease, StorageError> {
    let left = u64::try_from(fields.i64("left")?).unwrap_or(0);
    Ok(Lease {
        owner: fields.string("owner")?,
        term: fields.opt_i64("term")?.unwrap_or(0),
        left: Duration::from_millis(left),
    })
}
