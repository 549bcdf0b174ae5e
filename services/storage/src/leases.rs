//! Leases: which process does a job that only one should do.
//!
//! A lease is held for some time and has to be renewed before it ends. Times are those of the
//! server, which all processes share; one that lies further ahead than anybody could have asked
//! for is left from before the server's clock stepped back, and binds nobody.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::options::ReturnDocument;

use crate::raw::Fields;
use crate::store::durable;
use crate::{StorageError, Store};

pub(crate) const COLLECTION: &str = "leases";

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The process, by the name it gave itself.
    pub owner: String,
    /// Rises each time the lease changes hands.
    pub term: i64,
    /// For how long it is held unless it is renewed; nothing when it has ended.
    pub left: Duration,
}

impl Store {
    /// Takes a lease that is free, or renews one's own, for so long from now. Gives who holds it
    /// afterwards. One command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it is not known then who holds it.
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
            .return_document(ReturnDocument::After)
            .write_concern(durable());
        let taken = taken.max_time(self.max_time).await?;
        let taken = taken.ok_or_else(|| StorageError::Corrupt {
            collection: COLLECTION,
            id: name.to_owned(),
            field: "document".to_owned(),
        })?;
        read(&Fields::of(COLLECTION, &taken))
    }

    /// Gives a lease back, if it is still held. The next may take it at once.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; the lease ends by itself then.
    pub async fn release_lease(&self, name: &str, owner: &str) -> Result<(), StorageError> {
        let own = doc! { "_id": name, "owner": owner };
        let end = vec![doc! { "$set": { "expires_at": "$$NOW" } }];
        let collection = self.documents(COLLECTION);
        let released = collection.update_one(own, end).write_concern(durable());
        released.await?;
        Ok(())
    }

    /// Who holds a lease, or held it last; `None` when nobody ever did.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

/// The server says how much is left: its clock is not ours.
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
