//! Adding the words of products to the search vocabulary before the products can be found.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use vitrine_model::derived::product_keywords;
use vitrine_model::product::Product;
use vitrine_model::search::vocabulary;
use vitrine_storage::{StorageError, Store};

use crate::{Catalog, DomainError};

/// The maximum number of words that a process remembers.
const MAX_REMEMBERED: usize = 100_000;

/// Words that this process has added to the vocabulary, so that it need not add them again. Words
/// are never removed from the vocabulary.
#[derive(Debug, Default)]
pub(crate) struct KnownWords(Mutex<HashSet<String>>);

impl KnownWords {
    /// Adds the words of products to the vocabulary. Sends no command when all are known.
    pub(crate) async fn learn<'a>(
        &self,
        store: &Store,
        products: impl IntoIterator<Item = &'a Product>,
    ) -> Result<(), StorageError> {
        let new = self.unknown(products);
        if new.is_empty() {
            return Ok(());
        }
        store.insert_words(&new).await?;
        self.remember(new);
        Ok(())
    }

    fn unknown<'a>(&self, products: impl IntoIterator<Item = &'a Product>) -> Vec<String> {
        let keywords: Vec<Vec<String>> = products.into_iter().map(product_keywords).collect();
        let words: HashSet<&str> = keywords.iter().flat_map(|of| vocabulary(of)).collect();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<String> = words
            .into_iter()
            .filter(|word| !known.contains(*word))
            .map(str::to_owned)
            .collect();
        new.sort_unstable();
        new
    }

    fn remember(&self, words: Vec<String>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + words.len() > MAX_REMEMBERED {
            known.clear();
        }
        known.extend(words.into_iter().take(MAX_REMEMBERED));
    }
}

impl Catalog {
    /// Adds the words of products to the search vocabulary. To be called before the products are
    /// stored; words of a product that is never stored do no harm.
    pub(crate) async fn insert_words<'a>(
        &self,
        products: impl IntoIterator<Item = &'a Product>,
    ) -> Result<(), DomainError> {
        let new = self.words().unknown(products);
        if new.is_empty() {
            return Ok(());
        }
        let catalog = self.clone();
        self.write(|_| async move {
            catalog.store().insert_words(&new).await?;
            catalog.words().remember(new);
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_words_are_bounded() {
        let known = KnownWords::default();
        let many = |from: usize| (from..from + 60_000).map(|n| format!("word{n}")).collect();
        known.remember(many(0));
        known.remember(many(60_000));
        let held = known.0.lock().unwrap();
        assert_eq!(held.len(), 60_000);
        assert!(held.contains("word119999") && !held.contains("word0"));
    }
}
