//! Idempotency keys of reviews.
//!
//! A review is stored by one insert, outside a transaction. So its key is claimed first, with the id
//! that the review will have, in the collection that all idempotency keys are in. If the process dies
//! in between, whoever sends the review again finds the claim and stores it under that id: once,
//! because ids are unique.

use mongodb::bson::doc;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ReviewId;

use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, date, stored_id};
use crate::store::durable;
use crate::write::{MUTATIONS, RecordedMutation, read_recorded};
use crate::{StorageError, Store};

/// A review that is about to be stored with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What the key is remembered by.
    pub name: String,
    /// The digest of what is submitted.
    pub input: String,
    /// The review.
    pub review: ReviewId,
    /// Its round: a review that is written again after it was deleted keeps its id.
    pub round: i32,
    /// When the key is forgotten.
    pub until: Timestamp,
}

impl Store {
    /// What is recorded under an idempotency key; `None` when it is free, or so old that it was
    /// forgotten. One command.
    pub async fn recorded(
        &self,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RecordedMutation>, StorageError> {
        let collection = self.raw(MUTATIONS);
        let found = collection.find_one(doc! { "_id": name });
        let Some(found) = found.max_time(self.max_time).await? else {
            return Ok(None);
        };
        let fields = Fields::of(MUTATIONS, &found);
        let expires = fields.date("expires_at")?;
        if expires <= now {
            // The server removes it within a minute or so; until then it is in the way.
            let expired = doc! { "_id": name, "expires_at": date(expires) };
            let collection = self.documents(MUTATIONS);
            collection
                .delete_one(expired)
                .write_concern(durable())
                .await?;
            return Ok(None);
        }
        read_recorded(&fields).map(Some)
    }

    /// Claims keys for reviews, each on its own; returns of each whether it was free. One command.
    pub async fn claim_keys(&self, claims: &[Claim]) -> Result<Vec<bool>, StorageError> {
        let docs = claims.iter().map(|claim| {
            doc! {
                "_id": &claim.name,
                "schema_version": REFERENCE_VERSION,
                "input": &claim.input,
                "answer": { "review": stored_id(claim.review.to_i64()), "round": claim.round },
                "expires_at": date(claim.until),
            }
        });
        let taken = self.insert_each(MUTATIONS, docs.collect(), false).await?;
        Ok(taken.into_iter().map(|taken| taken.is_none()).collect())
    }
}
