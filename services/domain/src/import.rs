//! Writing what feeds say.
//!
//! An [`ImportSession`] takes drafts in batches and answers for each line what became of it. It
//! remembers nothing that the database does not know, except in a dry run, where it remembers what
//! it would have written. Whatever it is given again it leaves alone: sources carry a digest of
//! what they said last. Killed at any point, the same feed given again completes the work.

pub(crate) mod categories;
mod check;
mod keys;
mod merge;
mod products;
mod reviews;
mod suppliers;

use std::collections::HashMap;

use vitrine_model::category::Category;
use vitrine_model::id::ProductId;
use vitrine_model::import::ExternalRef;
use vitrine_model::spec::{Dictionary, SpecKey};
use vitrine_model::supplier::Supplier;
use vitrine_storage::{StorageError, Store};

use crate::{Catalog, DomainError};

pub use vitrine_storage::runs::RunState;

/// Whether an import writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// It does.
    Write,
    /// It only says what it would do.
    DryRun,
}

/// What a session has added to the reference data (or would have).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportSummary {
    /// Keys that nobody had seen before, with the type that was inferred.
    pub new_keys: Vec<SpecKey>,
    /// Categories that were made, as paths of names from the top down.
    pub new_categories: Vec<Vec<String>>,
    /// Names of suppliers that were made.
    pub new_suppliers: Vec<String>,
}

/// An import under way.
#[derive(Debug)]
pub struct ImportSession {
    catalog: Catalog,
    mode: ImportMode,
    dictionary: Dictionary,
    categories: Vec<Category>,
    /// The version of the reference data that these are from.
    seen: i64,
    suppliers: HashMap<String, Supplier>,
    /// In a dry run, what would have been stored: products, and reviews by origin and by author.
    imagined: Imagined,
    summary: ImportSummary,
}

#[derive(Debug, Default)]
struct Imagined {
    products: HashMap<ExternalRef, (ProductId, String)>,
    skus: HashMap<String, (ProductId, String)>,
    reviews: HashMap<ExternalRef, (ProductId, String)>,
    authors: HashMap<(ProductId, String), String>,
}

impl Catalog {
    /// Begins an import.
    #[must_use]
    pub fn import(&self, mode: ImportMode) -> ImportSession {
        let reference = self.reference();
        ImportSession {
            catalog: self.clone(),
            mode,
            dictionary: reference.dictionary.clone(),
            categories: reference.categories.all().to_vec(),
            seen: reference.version(),
            suppliers: HashMap::new(),
            imagined: Imagined::default(),
            summary: ImportSummary::default(),
        }
    }

    /// Whether the database holds no product at all.
    pub async fn is_empty(&self) -> Result<bool, DomainError> {
        self.maintain(|store| async move { store.is_empty().await })
            .await
    }

    /// Notes that a named run begins.
    pub async fn begin_run(
        &self,
        id: &'static str,
        system: &'static str,
    ) -> Result<(), DomainError> {
        let now = self.now();
        self.maintain(|store| async move { store.begin_run(id, system, now).await })
            .await
    }

    /// Notes that a named run ended well.
    pub async fn finish_run(&self, id: &'static str) -> Result<(), DomainError> {
        let now = self.now();
        self.maintain(|store| async move { store.finish_run(id, now).await })
            .await
    }

    /// Where a named run is; `None` when there never was one.
    pub async fn run_state(&self, id: &'static str) -> Result<Option<RunState>, DomainError> {
        self.maintain(|store| async move { store.run_state(id).await })
            .await
    }
}

impl ImportSession {
    /// Ends the session: folds what the imported reviews changed.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; running the import again completes it.
    pub async fn finish(self) -> Result<ImportSummary, DomainError> {
        if self.mode == ImportMode::Write {
            self.catalog.fold_pending().await?;
            self.catalog.refresh_reference().await?;
        }
        Ok(self.summary)
    }

    /// Runs a piece of storage work behind the catalogue's shield.
    async fn store<T, W>(&self, work: impl FnOnce(Store) -> W) -> Result<T, DomainError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        self.catalog.maintain(work).await
    }

    fn writes(&self) -> bool {
        self.mode == ImportMode::Write
    }
}
