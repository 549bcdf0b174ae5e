//! Imports.
//!
//! An [`ImportSession`] takes drafts in batches and returns an outcome for each. It holds no state
//! that is not in the database, except in a dry run, where it records what it would have written.
//! Imports are idempotent: each source has a digest of its last draft, and an unchanged draft is
//! skipped. An interrupted import is completed by running it again with the same feed.
//!
//! The functions that do most of an import return boxed futures: otherwise they would be compiled in the crate that calls them,
//! with all that they wait for.

pub(crate) mod categories;
mod check;
mod dropped;
mod guesses;
mod keys;
pub(crate) mod merge;
mod products;
mod reviews;
mod suppliers;
mod updates;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use vitrine_model::category::Category;
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::import::{ExternalRef, Rejection, SupplierDraft};
use vitrine_model::spec::{Dictionary, SpecKey};
use vitrine_model::supplier::{Supplier, SupplierFacts};
use vitrine_storage::{StorageError, Store};

use self::merge::CurrentNames;
use crate::reference::Reference;
use crate::{Catalog, DomainError};

pub use vitrine_storage::runs::RunState;

/// Whether an import writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// It writes.
    Write,
    /// It only reports what it would do.
    DryRun,
}

/// What a session has added to the reference data, or would add in a dry run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportSummary {
    /// New keys with the inferred type.
    pub new_keys: Vec<SpecKey>,
    /// New categories, as paths of names from the root.
    pub new_categories: Vec<Vec<String>>,
    /// Names of new suppliers.
    pub new_suppliers: Vec<String>,
    /// New suppliers that have the name of others that were there before.
    pub namesakes: Vec<Namesake>,
    /// The number of fields of updated products that people have edited, and of which the feed says
    /// something else.
    pub kept_by_people: u64,
}

/// A new supplier that has the name of others, of other countries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Namesake {
    /// The new one.
    pub new: SupplierFacts,
    /// Those that were there before.
    pub stored: Vec<SupplierFacts>,
}

/// An import in progress.
#[derive(Debug)]
pub struct ImportSession {
    catalog: Catalog,
    mode: ImportMode,
    dictionary: Dictionary,
    categories: Vec<Category>,
    /// The categories that paths of the feed have led to.
    category_paths: HashMap<Vec<String>, CategoryId>,
    /// The reference data in use, without what this session has added.
    reference: Arc<Reference>,
    /// The suppliers that were found or created, by their keys.
    suppliers: HashMap<String, Supplier>,
    /// The facts that the first line has of each supplier with an id, by its key.
    first_facts: HashMap<String, SupplierDraft>,
    created_suppliers: HashSet<SupplierId>,
    /// In a dry run, the products and reviews that would be stored, by origin and by author.
    simulated: Simulated,
    /// The names that the feed has for keys, as labels of new ones.
    labels: HashMap<String, String>,
    /// The values that the last batch left out, each with the place of its draft.
    dropped: Vec<(usize, Rejection)>,
    summary: ImportSummary,
}

#[derive(Debug, Default)]
struct Simulated {
    products: HashMap<ExternalRef, (ProductId, String)>,
    skus: HashMap<String, (ProductId, String)>,
    /// The products that would be waited for, with their SKUs.
    waiting: HashMap<ProductId, String>,
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
            category_paths: HashMap::new(),
            reference,
            suppliers: HashMap::new(),
            first_facts: HashMap::new(),
            created_suppliers: HashSet::new(),
            simulated: Simulated::default(),
            labels: HashMap::new(),
            dropped: Vec::new(),
            summary: ImportSummary::default(),
        }
    }

    /// Whether the database has no products.
    pub async fn is_empty(&self) -> Result<bool, DomainError> {
        self.maintain(|store| async move { store.is_empty().await })
            .await
    }

    /// Records the start of a named run.
    pub async fn begin_run(
        &self,
        id: &'static str,
        system: &'static str,
    ) -> Result<(), DomainError> {
        let now = self.now();
        self.maintain(|store| async move { store.begin_run(id, system, now).await })
            .await
    }

    /// Records the successful end of a named run.
    pub async fn finish_run(&self, id: &'static str) -> Result<(), DomainError> {
        let now = self.now();
        self.maintain(|store| async move { store.finish_run(id, now).await })
            .await
    }

    /// The state of a named run; `None` if it has never started.
    pub async fn run_state(&self, id: &'static str) -> Result<Option<RunState>, DomainError> {
        self.maintain(|store| async move { store.run_state(id).await })
            .await
    }
}

impl ImportSession {
    /// Gives labels to keys that products of this session introduce. A key without one has a label made
    /// of the key.
    pub fn label_keys(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        self.labels.extend(labels);
    }

    /// Returns the values that the catalogue has refused and left out of drafts of the last batch of
    /// products or reviews, because the drafts allow it; each with the place of its draft.
    pub fn take_dropped(&mut self) -> Vec<(usize, Rejection)> {
        let mut dropped = std::mem::take(&mut self.dropped);
        dropped.sort_by_key(|(at, _)| *at);
        dropped
    }

    /// Ends the session: folds the imported reviews. If that fails, running the import again
    /// completes it.
    #[must_use]
    pub fn finish(self) -> BoxFuture<'static, Result<ImportSummary, DomainError>> {
        Box::pin(async move {
            if self.mode == ImportMode::Write {
                self.catalog.fold_and_move_ranks().await?;
                self.catalog.refresh_reference().await?;
            }
            Ok(self.summary)
        })
    }

    /// Executes storage work as a background operation.
    async fn store<T, W>(&self, work: impl FnOnce(Store) -> W) -> Result<T, DomainError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        self.catalog.maintain(work).await
    }

    fn names(&self) -> CurrentNames<'_> {
        CurrentNames {
            dictionary: &self.dictionary,
            categories: &self.reference.categories,
            units: &self.reference.units,
        }
    }

    fn writes(&self) -> bool {
        self.mode == ImportMode::Write
    }
}
