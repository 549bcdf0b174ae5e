//! Idempotency keys of reviews.
//!
//! A review that is counted at once is stored in one transaction with its key. Any other is stored by
//! a single insert. Its key is therefore claimed first, together with the id that the review will
//! have, in the collection of all idempotency keys. If the process dies between the two writes, a
//! retry finds the claim and stores the review under that id. It is stored once, because ids are
//! unique.

use mongodb::bson::{Document, doc};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ReviewId;

use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, date, stored_id};
use crate::write::{MUTATIONS, RecordedMutation, read_recorded};
use crate::{StorageError, Store};

/// A claim of an idempotency key for a review that is about to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name of the key in the collection.
    pub name: String,
    /// The digest of the submitted input.
    pub input: String,
    /// The id that the review will have.
    pub review: ReviewId,
    /// The round of the review: a review that is rewritten after its deletion keeps its id.
    pub round: i32,
    /// When the key expires.
    pub until: Timestamp,
}

impl Store {
    /// Returns what is recorded under an idempotency key; `None` when the key is free or expired.
    /// One command, two for an expired key.
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
            // The TTL monitor removes it within about a minute; until then it blocks the key.
            let expired = doc! { "_id": name, "expires_at": date(expires) };
            let collection = self.documents(MUTATIONS);
            collection.delete_one(expired).await?;
            return Ok(None);
        }
        read_recorded(&fields).map(Some)
    }

    /// Claims keys for reviews, independently of each other. Returns for each claim whether its key
    /// was free. One command.
    pub async fn claim_keys(&self, claims: &[Claim]) -> Result<Vec<bool>, StorageError> {
        let docs = claims.iter().map(claim_document);
        let taken = self.insert_each(MUTATIONS, docs.collect(), false).await?;
        Ok(taken.into_iter().map(|taken| taken.is_none()).collect())
    }
}

pub(crate) fn claim_document(claim: &Claim) -> Document {
    doc! {
        "_id": &claim.name,
        "schema_version": REFERENCE_VERSION,
        "input": &claim.input,
        "answer": { "review": stored_id(claim.review.to_i64()), "round": claim.round },
        "expires_at": date(claim.until),
    }
}
