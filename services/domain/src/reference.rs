//! Reference data: categories, spec dictionary and units, cached in memory.
//!
//! Every page needs them and they change rarely, so each process keeps a snapshot. A process reads
//! its own changes back at once. It notices changes of other processes by a version number in the
//! database, checked every second by a worker, and immediately when a request names something that
//! the snapshot does not contain.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::Mutex;
use vitrine_model::category::{Category, CategoryTree};
use vitrine_model::cursor::{KeyValue, ListFingerprint, Position};
use vitrine_model::id::CategoryId;
use vitrine_model::review::DimensionTable;
use vitrine_model::search::{SearchQuery, WordIndex};
use vitrine_model::spec::{Dictionary, KeyUsage, SpecKey};
use vitrine_model::unit::UnitTable;
use vitrine_storage::keyset::{Boundary, PageRequest};
use vitrine_storage::{StorageError, Store};

use crate::page::{ListCursors, ListedRow, PageArguments};
use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// Requests that name something unknown cause at most one check per interval.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of categories that a search finds.
pub const MAX_FOUND_CATEGORIES: usize = 20;

/// A snapshot of the reference data.
#[cfg_attr(test, derive(Default))]
#[derive(Debug)]
pub struct Reference {
    /// All categories.
    pub categories: CategoryTree,
    /// The spec dictionary.
    pub dictionary: Dictionary,
    /// All units.
    pub units: UnitTable,
    /// The review dimensions.
    pub dimensions: DimensionTable,
    version: i64,
    category_words: WordIndex,
    key_words: WordIndex,
}

impl Reference {
    fn new(
        categories: CategoryTree,
        dictionary: Dictionary,
        units: UnitTable,
        dimensions: DimensionTable,
        version: i64,
    ) -> Self {
        let category_names = categories.all().iter();
        let key_names = dictionary.keys().iter().map(|key| {
            let names = [&key.key, &key.label].into_iter().chain(&key.aliases);
            names.map(String::as_str)
        });
        Self {
            category_words: WordIndex::new(category_names.map(|category| [category.name.as_str()])),
            key_words: WordIndex::new(key_names),
            categories,
            dictionary,
            units,
            dimensions,
            version,
        }
    }

    /// The categories of any level whose names have words that begin with the words of a search, sorted by name; at most
    /// [`MAX_FOUND_CATEGORIES`].
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a search that is too long or has no words.
    pub fn find_categories(&self, search: &str) -> Result<Vec<&Category>, DomainError> {
        let found = self.category_words.find(&beginnings(search)?);
        let all = self.categories.all();
        Ok(found
            .into_iter()
            .take(MAX_FOUND_CATEGORIES)
            .map(|at| &all[at])
            .collect())
    }

    /// The version of the snapshot; later ones are greater.
    pub(crate) const fn version(&self) -> i64 {
        self.version
    }
}

/// A page of the spec dictionary.
#[derive(Clone, Debug)]
pub struct ListedSpecKeys {
    /// The keys, sorted.
    pub rows: Vec<ListedRow<Arc<SpecKey>>>,
    /// The number of keys in the list.
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

    /// Whether keys precede the page.
    #[must_use]
    pub const fn precedes(&self) -> bool {
        self.precedes
    }
}

/// A snapshot as different callers see it.
#[derive(Debug)]
struct Views {
    all: Arc<Reference>,
    /// Without spec keys that no product on sale ever had.
    public: Arc<Reference>,
}

impl Views {
    fn of(all: Reference) -> Self {
        let keys = all.dictionary.keys().iter();
        let published = keys.filter(|key| key.usage == KeyUsage::Published);
        let published = published.cloned().collect();
        let public = Reference::new(
            all.categories.clone(),
            Dictionary::new(published),
            all.units.clone(),
            all.dimensions.clone(),
            all.version,
        );
        Self {
            all: Arc::new(all),
            public: Arc::new(public),
        }
    }

    const fn seen_with(&self, visibility: Visibility) -> &Arc<Reference> {
        match visibility {
            Visibility::Public => &self.public,
            Visibility::Everything => &self.all,
        }
    }
}

/// The current snapshot.
#[derive(Debug)]
pub(crate) struct ReferenceCache {
    current: ArcSwap<Views>,
    checked_at: Mutex<Option<Instant>>,
}

impl ReferenceCache {
    pub(crate) async fn load(store: &Store) -> Result<Self, StorageError> {
        let reference = read(store).await?;
        log_overridden_units(&reference.units);
        let current = ArcSwap::from_pointee(Views::of(reference));
        Ok(Self {
            current,
            checked_at: Mutex::new(None),
        })
    }
}

impl Catalog {
    /// The current snapshot.
    #[must_use]
    pub fn reference(&self) -> Arc<Reference> {
        self.reference_seen_with(Visibility::Everything)
    }

    /// The current snapshot as a caller sees it. Only admins see spec keys that no product on sale
    /// ever had.
    #[must_use]
    pub fn reference_seen_with(&self, visibility: Visibility) -> Arc<Reference> {
        let current = self.reference_cache().current.load();
        Arc::clone(current.seen_with(visibility))
    }

    /// Reloads the reference data if it has changed. Returns whether it had. When the database
    /// fails, the snapshot stays.
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
        let Some(fresh) = read.await?.map(|fresh| Arc::new(Views::of(fresh))) else {
            return Ok(false);
        };
        self.reference_cache().current.rcu(|current| {
            if current.all.version < fresh.all.version {
                Arc::clone(&fresh)
            } else {
                Arc::clone(current)
            }
        });
        Ok(true)
    }

    /// The reference data, checked for changes if it lacks this category.
    pub async fn reference_for_category(
        &self,
        id: CategoryId,
    ) -> Result<Arc<Reference>, DomainError> {
        let known = |reference: &Reference| reference.categories.get(id).is_some();
        self.reference_knowing(Visibility::Everything, known).await
    }

    /// The reference data, checked for changes if it lacks a category with this slug.
    pub async fn reference_for_slug(&self, slug: &str) -> Result<Arc<Reference>, DomainError> {
        let known = |reference: &Reference| reference.categories.by_slug(slug).is_some();
        self.reference_knowing(Visibility::Everything, known).await
    }

    /// The spec key with this name or alias, if the caller may see it.
    pub async fn spec_key(
        &self,
        key: &str,
        visibility: Visibility,
    ) -> Result<Option<Arc<SpecKey>>, DomainError> {
        let known = |reference: &Reference| reference.dictionary.get(key).is_some();
        let reference = self.reference_knowing(visibility, known).await?;
        Ok(reference.dictionary.get(key).cloned().map(Arc::new))
    }

    /// A page of the spec dictionary as the caller sees it, sorted by key, from memory. With a search, only keys whose
    /// names, labels or aliases have words that begin with its words.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid search or page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub fn spec_keys(
        &self,
        search: Option<&str>,
        page: &PageArguments,
        visibility: Visibility,
    ) -> Result<ListedSpecKeys, DomainError> {
        let beginnings = search.map(beginnings).transpose()?;
        let fingerprint = search_fingerprint("spec_keys", beginnings.as_deref());
        let request = page.request(self, fingerprint)?;
        let reference = self.reference_seen_with(visibility);
        let all = reference.dictionary.keys();
        let keys: Vec<&SpecKey> = match &beginnings {
            None => all.iter().collect(),
            Some(beginnings) => {
                let found = reference.key_words.find(beginnings);
                found.into_iter().map(|at| &all[at]).collect()
            }
        };
        let range = range(&keys, &request);
        let cursors = Arc::new(ListCursors {
            codec: self.cursors().clone(),
            list: fingerprint,
        });
        let row = |key: &&SpecKey| {
            let cursors = Arc::clone(&cursors);
            ListedRow::new(Arc::new((*key).clone()), position(key), cursors)
        };
        Ok(ListedSpecKeys {
            rows: keys[range.clone()].iter().map(row).collect(),
            list: keys.len(),
            follows: range.end < keys.len(),
            precedes: range.start > 0,
        })
    }

    /// The reference data as the caller sees it; reloaded if it does not satisfy `known` and has
    /// changed.
    pub(crate) async fn reference_knowing(
        &self,
        visibility: Visibility,
        known: impl Fn(&Reference) -> bool,
    ) -> Result<Arc<Reference>, DomainError> {
        let reference = self.reference_seen_with(visibility);
        if known(&reference) {
            return Ok(reference);
        }
        let mut checked_at = self.reference_cache().checked_at.lock().await;
        if checked_at.is_none_or(|at| at.elapsed() >= MIN_PAUSE) {
            *checked_at = Some(Instant::now());
            self.refresh_reference().await?;
        }
        Ok(self.reference_seen_with(visibility))
    }
}

async fn read(store: &Store) -> Result<Reference, StorageError> {
    // The version is read first, so that changes during the read cause another reload.
    let version = store.reference_version().await?;
    Ok(Reference::new(
        CategoryTree::new(store.all_categories().await?),
        Dictionary::new(store.all_spec_keys().await?),
        UnitTable::with_defined(store.all_units().await?),
        store.all_review_dimensions().await?,
        version,
    ))
}

/// The beginnings of words that a search asks for.
///
/// # Errors
/// [`DomainError::Invalid`] for a search that is too long or has no words.
pub(crate) fn beginnings(search: &str) -> Result<Vec<String>, DomainError> {
    let query = SearchQuery::parse(search);
    let query = query.map_err(|error| DomainError::invalid("search", error.to_string()))?;
    Ok(query.words)
}

/// The fingerprint of a list that can be searched.
pub(crate) fn search_fingerprint(list: &str, beginnings: Option<&[String]>) -> ListFingerprint {
    let joined = beginnings.map(|beginnings| beginnings.join(" "));
    match &joined {
        None => ListFingerprint::of(&[list.as_bytes()]),
        Some(joined) => ListFingerprint::of(&[list.as_bytes(), joined.as_bytes()]),
    }
}

/// Logs which built-in units this shop overrides.
fn log_overridden_units(units: &UnitTable) {
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

/// The range of the sorted keys that a page contains.
fn range(keys: &[&SpecKey], request: &PageRequest) -> std::ops::Range<usize> {
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
