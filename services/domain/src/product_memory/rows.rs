//! The rows of whole categories, from which facets and totals are counted, and lists are made, without the database.
//!
//! All products of a category are loaded together. The row of a product that may have changed is read again by the next
//! request that needs rows, so no request counts a row from before a change that the memory of products has heard of.
//! Loads and refreshes may overlap: what changes during a load is read again after it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use vitrine_model::facet::{CategoryRows, FacetRow, RowSort, SortedCategory, Vocabulary};
use vitrine_model::id::{CategoryId, ProductId};

/// How many products may wait to be read again. When there are more, all rows are forgotten.
const MAX_CHANGED: usize = 4_096;
/// What a row is expected to need, in bytes, before any has been read.
const EXPECTED_ROW_BYTES: usize = 1_900;
/// How many rows tell what a row needs: of a few, each has a large share of the texts.
const MIN_MEASURED: usize = 1_000;

/// How often a category is listed from the database before its rows are loaded for lists.
const MIN_MISSED: u64 = 16;
/// How many rows are loaded with about as much work as a page of a list from the database needs.
const ROWS_PER_LIST: u64 = 32;

/// The memory that each sorting of a category needs for a row, in bytes.
const SORTED_ROW_BYTES: usize = size_of::<Arc<FacetRow>>();
/// When more products are read again together, lists are sorted again instead of being changed row by row.
const MAX_MOVED: usize = 100;

/// The rows of a category. Lock the state first, then the rows: never the state while the rows are locked.
pub(crate) type SharedRows = Arc<RwLock<CategoryRows>>;

/// The rows in memory.
#[derive(Debug)]
pub(crate) struct RowMemory {
    max_bytes: usize,
    state: Mutex<State>,
    /// Held by the request that loads categories.
    pub(crate) loading: tokio::sync::Mutex<()>,
    /// Held by the request that reads changed products again.
    pub(crate) refreshing: tokio::sync::Mutex<()>,
    /// Held by the request that sorts rows.
    sorting: Mutex<()>,
    /// Held by the task that loads categories in the background.
    pub(crate) background: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct State {
    /// Rises when everything is forgotten.
    epoch: u64,
    words: Arc<RwLock<Vocabulary>>,
    categories: HashMap<CategoryId, Loaded>,
    /// The size of all rows.
    bytes: usize,
    rows: usize,
    /// The products to be read again, each with the number of its last change.
    changed: HashMap<ProductId, u64>,
    change_count: u64,
    /// The number of changes when the last refresh began: the rows reflect them.
    refreshed: u64,
    /// The changes since a load began.
    during_load: Option<Vec<ProductId>>,
    /// The number of the last use of any category.
    uses: u64,
    /// What a row is expected to need, with its share of the texts.
    row_bytes: usize,
    /// How many lists were read from the database because the rows of a category were not in memory.
    missed: HashMap<CategoryId, u64>,
}

#[derive(Debug)]
struct Loaded {
    rows: SharedRows,
    /// The rows, sorted by each key that lists have needed.
    sorted: HashMap<RowSort, Arc<SortedCategory>>,
    /// The size of the rows, and of the sorted ones.
    bytes: usize,
    last_use: u64,
}

/// Rows that are being read.
#[derive(Debug)]
pub(crate) struct RowReading {
    epoch: u64,
    pub(crate) words: Arc<RwLock<Vocabulary>>,
    /// The products to be read again, each with the number of its last change; empty for a load.
    changed: Vec<(ProductId, u64)>,
    /// The number of changes when it began.
    until: u64,
}

/// Rows to count.
#[derive(Clone, Debug)]
pub(crate) struct RowSet {
    pub(crate) words: Arc<RwLock<Vocabulary>>,
    pub(crate) categories: Vec<SharedRows>,
}

/// A hash of the versions of all categories of a [`RowSet`]. As long as it stays the same, counts do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowsVersion(u64);

impl RowsVersion {
    /// Returns the hash of these versions, each a [`CategoryRows::counted_version`].
    pub(crate) fn of(versions: impl Iterator<Item = u64>) -> Self {
        let mut hasher = DefaultHasher::new();
        versions.for_each(|version| version.hash(&mut hasher));
        Self(hasher.finish())
    }
}

/// Rows to list.
#[derive(Clone, Debug)]
pub(crate) struct SortedRows {
    pub(crate) words: Arc<RwLock<Vocabulary>>,
    pub(crate) categories: Vec<Arc<SortedCategory>>,
}

impl RowSet {
    /// Returns the version of the rows now.
    pub(crate) fn version(&self) -> RowsVersion {
        let categories = self.categories.iter();
        RowsVersion::of(categories.map(|rows| read(rows).counted_version()))
    }
}

impl Loaded {
    fn len(&self) -> usize {
        read(&self.rows).rows().len()
    }
}

impl RowReading {
    /// The products to be read again.
    pub(crate) fn products(&self) -> Vec<ProductId> {
        self.changed.iter().map(|(id, _)| *id).collect()
    }
}

impl State {
    fn empty(epoch: u64, row_bytes: usize) -> Self {
        Self {
            epoch,
            words: Arc::default(),
            categories: HashMap::new(),
            bytes: 0,
            rows: 0,
            changed: HashMap::new(),
            change_count: 0,
            refreshed: 0,
            during_load: None,
            uses: 0,
            row_bytes,
            missed: HashMap::new(),
        }
    }

    fn clear(&mut self) {
        *self = Self::empty(self.epoch + 1, self.row_bytes);
    }

    fn change(&mut self, id: ProductId) {
        self.change_count += 1;
        self.changed.insert(id, self.change_count);
    }

    fn total_bytes(&self) -> usize {
        self.bytes + read(&self.words).bytes()
    }

    /// Replaces the rows of products; removes those without one.
    fn replace(&mut self, changes: &[(ProductId, Option<&Arc<FacetRow>>)]) {
        for (of, loaded) in &mut self.categories {
            let is_here = |row: &&Arc<FacetRow>| row.category() == *of;
            let changes: Vec<_> = {
                let rows = read(&loaded.rows);
                let own = changes.iter().map(|(id, row)| (*id, row.filter(is_here)));
                own.filter(|(id, new)| new.is_some() || rows.contains(*id))
                    .collect()
            };
            if changes.is_empty() {
                continue;
            }
            let mut rows = loaded.rows.write().unwrap_or_else(PoisonError::into_inner);
            let (bytes_before, rows_before) = (loaded.bytes, rows.rows().len());
            for (id, new) in changes {
                let old = rows.replace(id, new);
                for sorted in loaded.sorted.values_mut() {
                    Arc::make_mut(sorted).replace(old.as_deref(), new);
                }
            }
            let sorted: usize = loaded.sorted.values().map(|rows| rows.bytes()).sum();
            loaded.bytes = rows.bytes() + sorted;
            self.bytes = self.bytes + loaded.bytes - bytes_before;
            self.rows = self.rows + rows.rows().len() - rows_before;
        }
    }

    fn remove(&mut self, category: CategoryId) {
        if let Some(loaded) = self.categories.remove(&category) {
            self.bytes -= loaded.bytes;
            self.rows -= loaded.len();
        }
    }

    /// Forgets all sorted rows. Lists sort the rows again.
    fn forget_sorted(&mut self) {
        for loaded in self.categories.values_mut() {
            let sorted = std::mem::take(&mut loaded.sorted);
            let bytes: usize = sorted.values().map(|rows| rows.bytes()).sum();
            loaded.bytes -= bytes;
            self.bytes -= bytes;
        }
    }

    /// Forgets as much as does not fit: the sorted rows, then the categories that have not been used for longest, and
    /// everything if what was used last does not fit alone.
    fn make_room(&mut self, max_bytes: usize) {
        if self.total_bytes() > max_bytes {
            self.forget_sorted();
        }
        while self.total_bytes() > max_bytes {
            let uses = self.uses;
            let others = self.categories.iter();
            let oldest = others
                .filter(|(_, loaded)| loaded.last_use < uses)
                .min_by_key(|(id, loaded)| (loaded.last_use, **id));
            match oldest.map(|(id, _)| *id) {
                Some(id) => self.remove(id),
                None => return self.clear(),
            }
        }
    }
}

impl RowMemory {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
            state: Mutex::new(State::empty(0, EXPECTED_ROW_BYTES)),
            loading: tokio::sync::Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
            sorting: Mutex::default(),
            background: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that products may have changed.
    pub(crate) fn forget(&self, products: &[ProductId]) {
        let mut state = self.state();
        if let Some(during) = &mut state.during_load {
            during.extend_from_slice(products);
        } else if state.categories.is_empty() {
            return;
        }
        for id in products {
            state.change(*id);
        }
        let during = state.during_load.as_ref().map_or(0, Vec::len);
        if state.changed.len().max(during) > MAX_CHANGED {
            state.clear();
        }
    }

    /// Forgets all rows.
    pub(crate) fn forget_all(&self) {
        self.state().clear();
    }

    /// Whether no category is in memory.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().categories.is_empty()
    }

    /// Returns the size of all rows and their texts, and the number of rows.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let state = self.state();
        (state.total_bytes(), state.rows)
    }

    /// Returns those of the categories whose rows are not in memory.
    pub(crate) fn missing(&self, categories: &[CategoryId]) -> Vec<CategoryId> {
        let state = self.state();
        let is_missing = |id: &&CategoryId| !state.categories.contains_key(id);
        categories.iter().filter(is_missing).copied().collect()
    }

    /// Whether rows of this many products may fit.
    pub(crate) fn has_room_for(&self, products: u64) -> bool {
        let products = usize::try_from(products).unwrap_or(usize::MAX);
        products.saturating_mul(self.state().row_bytes) <= self.max_bytes
    }

    /// Notes that a list was read from the database because the rows of these categories, each with its number of
    /// products, were not in memory. Returns whether they should be loaded: such lists have cost about as much by now,
    /// and no other rows have to make room.
    pub(crate) fn missed(&self, categories: &[(CategoryId, u64)]) -> bool {
        let mut state = self.state();
        let products: u64 = categories.iter().map(|(_, products)| products).sum();
        let enough = MIN_MISSED.max(products / ROWS_PER_LIST);
        let mut pays = true;
        for (id, _) in categories {
            let missed = state.missed.entry(*id).or_default();
            *missed += 1;
            pays &= *missed >= enough;
        }
        let products = usize::try_from(products).unwrap_or(usize::MAX);
        let needed = products.saturating_mul(state.row_bytes + SORTED_ROW_BYTES);
        let loads = pays && state.total_bytes().saturating_add(needed) <= self.max_bytes;
        if loads {
            // A load that fails is not begun again by the next list.
            for (id, _) in categories {
                state.missed.remove(id);
            }
        }
        loads
    }

    /// Begins to load categories. Only one load may run at a time.
    pub(crate) fn begin_load(&self) -> RowReading {
        let mut state = self.state();
        state.during_load = Some(Vec::new());
        RowReading {
            epoch: state.epoch,
            words: Arc::clone(&state.words),
            changed: Vec::new(),
            until: state.change_count,
        }
    }

    /// Takes the rows of categories, unless everything has been forgotten since. Forgets other categories, those that
    /// have not been used for longest first, if there is no room.
    pub(crate) fn end_load(&self, reading: &RowReading, categories: Vec<CategoryRows>) {
        let mut state = self.state();
        if state.epoch != reading.epoch {
            return;
        }
        for id in state.during_load.take().unwrap_or_default() {
            state.change(id);
        }
        state.uses += 1;
        for rows in categories {
            let id = rows.category();
            state.remove(id);
            let bytes = rows.bytes();
            state.bytes += bytes;
            state.rows += rows.rows().len();
            let loaded = Loaded {
                rows: Arc::new(RwLock::new(rows)),
                sorted: HashMap::new(),
                bytes,
                last_use: state.uses,
            };
            state.categories.insert(id, loaded);
        }
        let bytes = state.total_bytes();
        if state.rows >= MIN_MEASURED || bytes > self.max_bytes {
            state.row_bytes = bytes / state.rows.max(1);
        }
        state.make_room(self.max_bytes);
    }

    /// Returns the number of the last change, and how many products have to be read again.
    pub(crate) fn changes(&self) -> (u64, usize) {
        let state = self.state();
        (state.change_count, state.changed.len())
    }

    /// Whether the rows reflect all changes up to this one.
    pub(crate) fn reflect(&self, change: u64) -> bool {
        let state = self.state();
        state.changed.is_empty() || state.refreshed >= change
    }

    /// Begins to read changed products again; `None` if there are none.
    pub(crate) fn begin_refresh(&self) -> Option<RowReading> {
        let state = self.state();
        let changed: Vec<_> = state.changed.iter().map(|(id, n)| (*id, *n)).collect();
        (!changed.is_empty()).then(|| RowReading {
            epoch: state.epoch,
            words: Arc::clone(&state.words),
            changed,
            until: state.change_count,
        })
    }

    /// Takes the rows of products that were read again. Those that have changed once more meanwhile are read by the
    /// next request, too.
    pub(crate) fn end_refresh(&self, reading: &RowReading, rows: &[Arc<FacetRow>]) {
        let rows: HashMap<ProductId, &Arc<FacetRow>> =
            rows.iter().map(|row| (row.id(), row)).collect();
        let mut state = self.state();
        if state.epoch != reading.epoch {
            return;
        }
        if reading.changed.len() > MAX_MOVED {
            state.forget_sorted();
        }
        let mut changes = Vec::with_capacity(reading.changed.len());
        for (id, change) in &reading.changed {
            let Some(last) = state.changed.get(id) else {
                continue;
            };
            if last == change {
                state.changed.remove(id);
            }
            changes.push((*id, rows.get(id).copied()));
        }
        state.replace(&changes);
        state.refreshed = state.refreshed.max(reading.until);
        state.make_room(self.max_bytes);
    }

    /// Returns how many rows of these categories would have to be sorted for a list.
    pub(crate) fn unsorted(&self, categories: &[CategoryId], by: RowSort) -> usize {
        let state = self.state();
        let loaded = categories.iter().filter_map(|id| state.categories.get(id));
        let unsorted = loaded.filter(|loaded| !loaded.sorted.contains_key(&by));
        unsorted.map(Loaded::len).sum()
    }

    /// Returns the rows of categories in the order of a list; `None` if some are not in memory, or have to be sorted
    /// and there is no room, or others are being sorted.
    pub(crate) fn sorted(&self, categories: &[CategoryId], by: RowSort) -> Option<SortedRows> {
        let (words, found) = {
            let mut state = self.state();
            state.uses += 1;
            let uses = state.uses;
            let mut found = Vec::with_capacity(categories.len());
            for id in categories {
                let loaded = state.categories.get_mut(id)?;
                loaded.last_use = uses;
                found.push(match loaded.sorted.get(&by) {
                    Some(rows) => Ok(Arc::clone(rows)),
                    None => Err((*id, Arc::clone(&loaded.rows))),
                });
            }
            (Arc::clone(&state.words), found)
        };
        let mut sorting = None;
        let mut sorted = Vec::with_capacity(found.len());
        for one in found {
            sorted.push(match one {
                Ok(rows) => rows,
                Err((id, rows)) => {
                    if sorting.is_none() {
                        sorting = Some(self.sorting.try_lock().ok()?);
                    }
                    self.sort(id, &rows, by)?
                }
            });
        }
        Some(SortedRows {
            words,
            categories: sorted,
        })
    }

    /// Sorts the rows of a category, and keeps them in this order, too, unless they have changed meanwhile. `None` if
    /// there is no room.
    fn sort(
        &self,
        id: CategoryId,
        shared: &SharedRows,
        by: RowSort,
    ) -> Option<Arc<SortedCategory>> {
        let (version, rows) = {
            let rows = read(shared);
            (rows.version(), rows.rows().to_vec())
        };
        let expected = size_of::<SortedCategory>() + SORTED_ROW_BYTES * rows.len();
        if self.state().total_bytes() + expected > self.max_bytes {
            return None;
        }
        let sorted = Arc::new(SortedCategory::new(by, rows));
        let bytes = sorted.bytes();
        let mut state = self.state();
        if let Some(loaded) = state.categories.get_mut(&id)
            && Arc::ptr_eq(&loaded.rows, shared)
            && read(shared).version() == version
            && !loaded.sorted.contains_key(&by)
        {
            loaded.sorted.insert(by, Arc::clone(&sorted));
            loaded.bytes += bytes;
            state.bytes += bytes;
        }
        Some(sorted)
    }

    /// Returns the rows of categories; `None` if some are not in memory.
    pub(crate) fn get(&self, categories: &[CategoryId]) -> Option<RowSet> {
        let mut state = self.state();
        state.uses += 1;
        let uses = state.uses;
        let mut all = Vec::with_capacity(categories.len());
        for id in categories {
            let loaded = state.categories.get_mut(id)?;
            loaded.last_use = uses;
            all.push(Arc::clone(&loaded.rows));
        }
        Some(RowSet {
            words: Arc::clone(&state.words),
            categories: all,
        })
    }
}

/// Divides rows among their categories, and codes them.
pub(crate) fn by_category(
    categories: &[CategoryId],
    mut rows: Vec<Arc<FacetRow>>,
) -> Vec<CategoryRows> {
    // A product that changes its category while it is read may be met twice.
    rows.sort_by_key(|row| row.id());
    rows.dedup_by_key(|row| row.id());
    let empty = categories.iter().map(|id| (*id, CategoryRows::new(*id)));
    let mut by_category: HashMap<CategoryId, CategoryRows> = empty.collect();
    for row in rows {
        if let Some(rows) = by_category.get_mut(&row.category()) {
            rows.replace(row.id(), Some(&row));
        }
    }
    by_category.values_mut().for_each(CategoryRows::shrink);
    by_category.into_values().collect()
}

pub(crate) fn read<T>(shared: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    shared.read().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
