//! The vocabulary of searches: every word that some product has or had, findable by its beginning
//! and with one letter wrong.
//!
//! Each word is stored with all its forms that lack one letter. Two words that are one letter apart
//! share such a form, so one look-up in one index finds all candidates. Words are only ever added:
//! one that no product has any more costs a few bytes and finds nothing.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::search::deletions;

use crate::documents::REFERENCE_VERSION;
use crate::raw::Fields;
use crate::{StorageError, Store};

const COLLECTION: &str = "words";
/// How many words are stored with one command.
const BATCH: usize = 1_000;

impl Store {
    /// Adds words to the vocabulary; those that are there stay.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some words may have been stored then.
    pub async fn learn_words(&self, words: &[String]) -> Result<(), StorageError> {
        for batch in words.chunks(BATCH) {
            let docs = batch.iter().map(|word| word_document(word)).collect();
            self.insert_each(COLLECTION, docs, false).await?;
        }
        Ok(())
    }

    /// Words that share a form that lacks at most one letter with this one; at most so many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn words_near(&self, word: &str, most: u32) -> Result<Vec<String>, StorageError> {
        let filter = doc! { "deletions": { "$in": deletions(word) } };
        self.find_words(filter, "deletions", most).await
    }

    /// Words that begin like this, in alphabetical order; at most so many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn words_beginning(
        &self,
        prefix: &str,
        most: u32,
    ) -> Result<Vec<String>, StorageError> {
        // No word has a character behind the last one of Unicode.
        let end = format!("{prefix}\u{10ffff}");
        let filter = doc! { "_id": { "$gte": prefix, "$lt": end } };
        self.find_words(filter, "_id_", most).await
    }

    /// Returns those of some words that are in the vocabulary, for the audit.
    pub(crate) async fn words_among(&self, words: &[&String]) -> Result<Vec<String>, StorageError> {
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
        most: u32,
    ) -> Result<Vec<String>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name(index.to_owned()));
        let found = find.limit(i64::from(most)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let word = |doc: &RawDocumentBuf| Fields::of(COLLECTION, doc).string("_id");
        found.iter().map(word).collect()
    }
}

fn word_document(word: &str) -> Document {
    doc! { "_id": word, "schema_version": REFERENCE_VERSION, "deletions": deletions(word) }
}
