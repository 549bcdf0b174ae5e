//! The vocabulary of searches: every word that some product has or had, found by prefix and with
//! one wrong letter.
//!
//! Each word is stored with all its forms that lack one letter. Two words that differ in one letter
//! share such a form, so one lookup in one index finds all candidates. Words are only added: a word
//! that no product has any more costs a few bytes and matches nothing.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::search::deletions;

use crate::documents::REFERENCE_VERSION;
use crate::raw::Fields;
use crate::{StorageError, Store};

const COLLECTION: &str = "words";
/// How many words are inserted with one command.
const BATCH: usize = 1_000;

impl Store {
    /// Adds words to the vocabulary; existing ones stay.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some words may have been stored then.
    pub async fn insert_words(&self, words: &[String]) -> Result<(), StorageError> {
        for batch in words.chunks(BATCH) {
            let docs = batch.iter().map(|word| word_document(word)).collect();
            self.insert_each(COLLECTION, docs, false).await?;
        }
        Ok(())
    }

    /// Returns at most `max` words that share a form with this one that lacks at most one letter.
    pub async fn find_similar_words(
        &self,
        word: &str,
        max: u32,
    ) -> Result<Vec<String>, StorageError> {
        let filter = doc! { "deletions": { "$in": deletions(word) } };
        self.find_words(filter, "deletions", max).await
    }

    /// Returns at most `max` words that begin with this prefix, in alphabetical order.
    pub async fn find_words_by_prefix(
        &self,
        prefix: &str,
        max: u32,
    ) -> Result<Vec<String>, StorageError> {
        // The largest Unicode character is the upper bound of the prefix range.
        let end = format!("{prefix}\u{10ffff}");
        let filter = doc! { "_id": { "$gte": prefix, "$lt": end } };
        self.find_words(filter, "_id_", max).await
    }

    /// Returns those of these words that are in the vocabulary, for the audit.
    pub(crate) async fn known_words(&self, words: &[&String]) -> Result<Vec<String>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": words } })
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let word = |doc: &RawDocumentBuf| Fields::of(COLLECTION, doc).string("_id");
        found.iter().map(word).collect()
    }

    async fn find_words(
        &self,
        filter: Document,
        index: &str,
        max: u32,
    ) -> Result<Vec<String>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name(index.to_owned()));
        let found = find.limit(i64::from(max)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let word = |doc: &RawDocumentBuf| Fields::of(COLLECTION, doc).string("_id");
        found.iter().map(word).collect()
    }
}

fn word_document(word: &str) -> Document {
    doc! { "_id": word, "schema_version": REFERENCE_VERSION, "deletions": deletions(word) }
}
