//! Categories, spec dictionary and units, kept in memory.
//!
//! Every page needs them and they change rarely, so each process keeps a snapshot. What this
//! process writes it reads back at once. What others write is noticed by a version number in the
//! database: looked at every second by a worker, and at once when a request names something that
//! the snapshot does not know.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::Mutex;
use vitrine_model::category::CategoryTree;
use vitrine_model::cursor::{KeyValue, ListFingerprint, Position};
use vitrine_model::id::CategoryId;
use vitrine_model::review::DimensionTable;
use vitrine_model::spec::{Dictionary, SpecKey};
use vitrine_model::unit::UnitTable;
use vitrine_storage::keyset::{Boundary, PageRequest};
use vitrine_storage::{StorageError, Store};

use crate::page::{ListedRow, PageArguments};
use crate::{Catalog, DomainError};

/// A request that names something unknown asks the database at most this often.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// Reference data as of one moment.
#[cfg_attr(test, derive(Default))]
#[derive(Debug)]
pub struct Reference {
    /// All categories.
    pub categories: CategoryTree,
    /// The spec dictionary.
    pub dictionary: Dictionary,
    /// All units.
    pub units: UnitTable,
    /// The aspects that products are rated by.
    pub dimensions: DimensionTable,
    version: i64,
}

impl Reference {
    /// Which state of the reference data this is; a later one has a greater number.
    pub(crate) const fn version(&self) -> i64 {
        self.version
    }
}

/// A page of the spec dictionary.
#[derive(Clone, Debug)]
pub struct ListedSpecKeys {
    /// The keys, by name.
    pub rows: Vec<ListedRow<Arc<SpecKey>>>,
    /// How many keys the dictionary has.
    pub list: usize,
    follows: bool,
    precedes: bool,
}

impl ListedSpecKeys {
    /// Whether keys follow the page.
    #[must_use]
    pub const fn follows(&self) -> bool {
        self.follows
    }

    /// Whether keys come before the page.
    #[must_use]
    pub const fn precedes(&self) -> bool {
        self.precedes
    }
}

/// The snapshot in use.
#[derive(Debug)]
pub(crate) struct ReferenceCache {
    current: ArcSwap<Reference>,
    looked: Mutex<Option<Instant>>,
}

impl ReferenceCache {
    pub(crate) async fn load(store: &Store) -> Result<Self, StorageError> {
        let reference = read(store).await?;
        report_set_aside(&reference.units);
        let current = ArcSwap::from_pointee(reference);
        Ok(Self {
            current,
            looked: Mutex::new(None),
        })
    }
}

impl Catalog {
    /// The reference data in use.
    #[must_use]
    pub fn reference(&self) -> Arc<Reference> {
        self.reference_cache().current.load_full()
    }

    /// Reads the reference data again if it changed. Gives whether it did.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the snapshot stays.
    pub async fn refresh_reference(&self) -> Result<bool, DomainError> {
        let known = self.reference().version;
        let read = self.read(|store| async move {
            let changed = store.reference_version().await? != known;
            if changed {
                read(&store).await.map(Some)
            } else {
                Ok(None)
            }
        });
        let Some(fresh) = read.await?.map(Arc::new) else {
            return Ok(false);
        };
        self.reference_cache().current.rcu(|current| {
            if current.version < fresh.version {
                Arc::clone(&fresh)
            } else {
                Arc::clone(current)
            }
        });
        Ok(true)
    }

    /// The reference data in use; looked up again if it lacks this category.
    pub async fn reference_for_category(
        &self,
        id: CategoryId,
    ) -> Result<Arc<Reference>, DomainError> {
        self.reference_knowing(|reference| reference.categories.get(id).is_some())
            .await
    }

    /// The reference data in use; looked up again if it lacks a category with this slug.
    pub async fn reference_for_slug(&self, slug: &str) -> Result<Arc<Reference>, DomainError> {
        self.reference_knowing(|reference| reference.categories.by_slug(slug).is_some())
            .await
    }

    /// The spec key with this name or alias.
    pub async fn spec_key(&self, key: &str) -> Result<Option<Arc<SpecKey>>, DomainError> {
        let known = |reference: &Reference| reference.dictionary.get(key).is_some();
        let reference = self.reference_knowing(known).await?;
        Ok(reference.dictionary.get(key).cloned().map(Arc::new))
    }

    /// A page of the spec dictionary, by key. Boundary memory.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a page that is wrong, [`DomainError::InvalidCursor`] for a
    /// cursor of another list.
    pub fn spec_keys(&self, page: &PageArguments) -> Result<ListedSpecKeys, DomainError> {
        let fingerprint = ListFingerprint::of(&[b"spec_keys"]);
        let request = page.request(self, fingerprint)?;
        let reference = self.reference();
        let keys = reference.dictionary.keys();
        let range = range(keys, &request);
        let row = |key: &SpecKey| {
            let position = position(key);
            let cursor = self.cursors().encode(fingerprint, &position);
            ListedRow::new(Arc::new(key.clone()), cursor, position)
        };
        Ok(ListedSpecKeys {
            rows: keys[range.clone()].iter().map(row).collect(),
            list: keys.len(),
            follows: range.end < keys.len(),
            precedes: range.start > 0,
        })
    }

    /// The reference data in use, read again if `known` finds something missing in it and others
    /// have changed it since.
    pub(crate) async fn reference_knowing(
        &self,
        known: impl Fn(&Reference) -> bool,
    ) -> Result<Arc<Reference>, DomainError> {
        let reference = self.reference();
        if known(&reference) {
            return Ok(reference);
        }
        let mut looked = self.reference_cache().looked.lock().await;
        if looked.is_none_or(|at| at.elapsed() >= MIN_PAUSE) {
            *looked = Some(Instant::now());
            self.refresh_reference().await?;
        }
        Ok(self.reference())
    }
}

async fn read(store: &Store) -> Result<Reference, StorageError> {
    // The version is read first: what changes while the rest is read is then read again.
    let version = store.reference_version().await?;
    Ok(Reference {
        categories: CategoryTree::new(store.all_categories().await?),
        dictionary: Dictionary::new(store.all_spec_keys().await?),
        units: UnitTable::with_defined(store.all_units().await?),
        dimensions: store.all_review_dimensions().await?,
        version,
    })
}

/// Says, once for each process, which units of this release the shop does without.
fn report_set_aside(units: &UnitTable) {
    let overridden_units: Vec<&str> = units
        .overridden_units()
        .iter()
        .map(|u| u.id.as_str())
        .collect();
    if !overridden_units.is_empty() {
        tracing::warn!(
            units = ?overridden_units,
            "built-in units are not used: this shop has defined others with the same spellings or \
             with another base unit, and its values are stored in those"
        );
    }
}

fn position(key: &SpecKey) -> Position {
    Position {
        keys: vec![KeyValue::Text(key.key.clone())],
        id: 0,
    }
}

/// Which of the sorted keys a page holds.
fn range(keys: &[SpecKey], request: &PageRequest) -> std::ops::Range<usize> {
    let name = |position: &Position| match position.keys.first() {
        Some(KeyValue::Text(name)) => name.clone(),
        _ => String::new(),
    };
    match &request.from {
        Boundary::After(position) => {
            let start = position.as_ref().map_or(0, |position| {
                let after = name(position);
                keys.partition_point(|key| key.key <= after)
            });
            start..keys.len().min(start + request.size)
        }
        Boundary::Before(position) => {
            let end = position.as_ref().map_or(keys.len(), |position| {
                let before = name(position);
                keys.partition_point(|key| key.key < before)
            });
            end.saturating_sub(request.size)..end
        }
    }
}
