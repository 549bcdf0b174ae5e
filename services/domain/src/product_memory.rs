//! Products in the memory of the process, by id, as they came from the database.
//!
//! A product in memory reflects every write that the change stream of products had returned by its last confirmation
//! ([`stream`]), and every write of this process that has ended. It is used only while the last confirmation is at most
//! [`ProductMemoryOptions::max_age`] old. Otherwise products are read from the database.
//!
//! A product that is read while it changes must not be remembered. [`ProductMemory::forget`] and the end of a [`Load`]
//! exclude each other: the load compares what has been forgotten since it began.

mod lists;
mod loads;
pub(crate) mod rows;
mod stream;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use moka::notification::RemovalCause;
use moka::sync::Cache;
use vitrine_model::id::ProductId;
use vitrine_storage::product_writes::WrittenProducts;
use vitrine_storage::products::ProductKey;
use vitrine_storage::views::ProductView;

use self::lists::ListHitRate;
use self::loads::SharedLoad;
use self::rows::RowMemory;
pub(crate) use self::stream::Remembering;

/// How many forgotten products are listed. A load during which more are forgotten is not remembered.
const MAX_FORGOTTEN: usize = 4_096;
/// What the memory needs for a product beside its document, in bytes: most of it for the decoded rating numbers.
const ENTRY_BYTES: usize = 768;

/// How many products are kept in memory, and for how long they are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductMemoryOptions {
    /// The maximum size of all products, in bytes. Half as much again is the limit of the rows that facets are counted
    /// from and lists are made of.
    pub max_bytes: u64,
    /// The maximum age of a product: it lacks no write that was confirmed longer ago.
    pub max_age: Duration,
    /// The pause after changes, at most a twentieth of the greatest age. Where products change all the time, those that
    /// change in it share a command.
    pub pause: Duration,
}

impl Default for ProductMemoryOptions {
    /// 64 MB, two seconds, a tenth of a second.
    fn default() -> Self {
        Self {
            max_bytes: 64_000_000,
            max_age: Duration::from_secs(2),
            pause: Duration::from_millis(100),
        }
    }
}

/// The use of the memory of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductMemoryUse {
    /// The number of look-ups that found their product.
    pub hits: u64,
    /// The number of look-ups that did not.
    pub misses: u64,
    /// The number of look-ups that did not use the memory, because it was not confirmed.
    pub bypassed: u64,
    /// The number of products that were removed to make room.
    pub evicted: u64,
    /// The number of products in memory.
    pub products: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The number of products that facets are counted from and lists are made of.
    pub rows: u64,
    /// The size of their rows, in bytes.
    pub row_bytes: u64,
    /// How long ago the memory was last confirmed; `None` while it cannot be used.
    pub age: Option<Duration>,
}

/// The products in memory. Generic for unit tests, which have no documents.
pub(crate) struct ProductMemory<V = ProductView> {
    entries: Cache<ProductId, Entry<V>>,
    state: Mutex<State<V>>,
    /// Rises when everything is forgotten. Entries of earlier epochs do not count.
    epoch: AtomicU64,
    max_age: Duration,
    /// The pause of the stream after changes.
    pause: Duration,
    began: Instant,
    /// When the memory was last confirmed: in nanoseconds after `began`, plus one. 0 while it must not be used.
    confirmed: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    bypassed: AtomicU64,
    evicted: Arc<AtomicU64>,
    list_hit_rate: ListHitRate,
    /// Rises when something may have changed that facets count.
    counts: AtomicU64,
    /// What facets are counted from and lists are made of.
    rows: RowMemory,
}

#[derive(Clone)]
struct Entry<V> {
    epoch: u64,
    view: V,
}

struct State<V> {
    /// The last forgotten products, oldest first.
    forgotten: VecDeque<ProductId>,
    /// How many were ever forgotten.
    forgotten_count: u64,
    /// The loads that further callers may wait for, each with its number.
    loads: HashMap<ProductKey, (u64, SharedLoad<V>)>,
    load_count: u64,
}

impl<V> Default for State<V> {
    fn default() -> Self {
        Self {
            forgotten: VecDeque::new(),
            forgotten_count: 0,
            loads: HashMap::new(),
            load_count: 0,
        }
    }
}

impl<V> State<V> {
    fn forget(&mut self, id: ProductId) {
        if self.forgotten.len() == MAX_FORGOTTEN {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back(id);
        self.forgotten_count += 1;
    }

    /// Whether a product may have been forgotten after this many had been.
    fn is_forgotten_since(&self, count: u64, id: ProductId) -> bool {
        let since = usize::try_from(self.forgotten_count - count).unwrap_or(usize::MAX);
        since > self.forgotten.len()
            || self
                .forgotten
                .iter()
                .rev()
                .take(since)
                .any(|one| *one == id)
    }
}

impl<V: Clone + Send + Sync + 'static> ProductMemory<V> {
    /// An empty memory of products, each of which has the size that `bytes` returns.
    pub(crate) fn new(options: ProductMemoryOptions, bytes: fn(&V) -> usize) -> Self {
        let evicted = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&evicted);
        let entries = Cache::builder()
            .max_capacity(options.max_bytes)
            .weigher(move |_, entry: &Entry<V>| {
                let bytes = bytes(&entry.view) + ENTRY_BYTES;
                u32::try_from(bytes).unwrap_or(u32::MAX)
            })
            .eviction_listener(move |_, _, cause| {
                if cause == RemovalCause::Size {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            })
            .build();
        Self {
            entries,
            state: Mutex::default(),
            epoch: AtomicU64::new(0),
            max_age: options.max_age,
            pause: options.pause.min(options.max_age / 20),
            began: Instant::now(),
            confirmed: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            bypassed: AtomicU64::new(0),
            evicted,
            list_hit_rate: ListHitRate::default(),
            counts: AtomicU64::new(0),
            rows: RowMemory::new(options.max_bytes / 2),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long ago the memory was confirmed; `None` while it must not be used.
    fn age(&self) -> Option<Duration> {
        let confirmed = self.confirmed.load(Ordering::Acquire).checked_sub(1)?;
        let age = self.began.elapsed();
        Some(age.saturating_sub(Duration::from_nanos(confirmed)))
    }

    /// Forgets what facets have counted.
    pub(crate) fn change_counts(&self) {
        self.counts.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a number that rises when something may have changed that facets count.
    pub(crate) fn counts(&self) -> u64 {
        self.counts.load(Ordering::Acquire)
    }

    /// The rows of whole categories.
    pub(crate) const fn rows(&self) -> &RowMemory {
        &self.rows
    }

    /// Whether products may be taken from memory and remembered.
    pub(crate) fn is_current(&self) -> bool {
        self.age().is_some_and(|age| age <= self.max_age)
    }

    /// Counts look-ups that do not use the memory.
    pub(crate) fn bypass(&self, products: usize) {
        self.bypassed.fetch_add(products as u64, Ordering::Relaxed);
    }

    /// Returns a product, if it is in memory.
    pub(crate) fn get(&self, id: ProductId) -> Option<V> {
        let found = self.find(id);
        let count = if found.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    fn find(&self, id: ProductId) -> Option<V> {
        let entry = self.entries.get(&id)?;
        (entry.epoch == self.epoch.load(Ordering::Acquire)).then_some(entry.view)
    }

    /// Forgets products, because they may have changed. Loads of them that have begun are not remembered.
    pub(crate) fn forget(&self, products: &[ProductId]) {
        if products.is_empty() {
            return;
        }
        self.rows.forget(products);
        let mut state = self.state();
        for id in products {
            state.forget(*id);
            state.loads.remove(&ProductKey::Id(*id));
            self.entries.invalidate(id);
        }
        // Nobody knows yet which products these loads find.
        state
            .loads
            .retain(|key, _| matches!(key, ProductKey::Id(_)));
    }

    /// Forgets all products.
    pub(crate) fn forget_all(&self) {
        self.change_counts();
        self.rows.forget_all();
        let mut state = self.state();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        state.loads.clear();
        self.entries.invalidate_all();
    }

    /// Forgets products that this process has written.
    pub(crate) fn written(&self, written: WrittenProducts<'_>) {
        match written {
            WrittenProducts::These(products) => self.forget(products),
            WrittenProducts::Any => self.forget_all(),
        }
    }

    /// Begins to be used: every change after this moment will invalidate its product.
    fn open(&self, at: Instant) {
        self.forget_all();
        self.confirm(at);
    }

    /// Notes that every change before this moment has invalidated its product.
    fn confirm(&self, at: Instant) {
        let nanos = at.saturating_duration_since(self.began).as_nanos();
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX - 1);
        self.confirmed.store(nanos + 1, Ordering::Release);
    }

    /// Stops being used, because changes may not invalidate their products.
    pub(crate) fn close(&self) {
        self.confirmed.store(0, Ordering::Release);
        self.forget_all();
    }

    /// Returns the use of the memory at this moment.
    pub(crate) fn usage(&self) -> ProductMemoryUse {
        self.entries.run_pending_tasks();
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let (row_bytes, rows) = self.rows.usage();
        let [rows, row_bytes] = [rows, row_bytes].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
        ProductMemoryUse {
            hits: count(&self.hits),
            misses: count(&self.misses),
            bypassed: count(&self.bypassed),
            evicted: count(&self.evicted),
            products: self.entries.entry_count(),
            bytes: self.entries.weighted_size(),
            rows,
            row_bytes,
            age: self.age(),
        }
    }
}

#[cfg(test)]
mod tests;
