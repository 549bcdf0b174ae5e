//! Hot products: products that are reviewed so often that their reviews are stored first and folded
//! a little later; and the folds themselves.
//!
//! A product becomes hot when two writers have a write conflict on it, or when this process stores
//! several of its reviews within a second. The flag is stored in the product, so that every process
//! sees it, and expires some seconds after the last reason for it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;
use tokio::sync::{Notify, Semaphore};
use vitrine_model::id::ProductId;
use vitrine_model::product::HotReason;
use vitrine_storage::claims::Claim;
use vitrine_storage::fold::MAX_REVIEWS;
use vitrine_storage::reviewing::ReviewedProduct;
use vitrine_storage::votes::NewVote;

use super::group_commit::{BatchQueue, CountedInsert, DeferredInsert, TargetLookup};
use crate::{Catalog, LineLimiter};

/// Limits the log lines of products that could not be flagged.
static UNMARKED: LineLimiter = LineLimiter::new();

/// How long a process relies on what it has read of a product.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// The window over which reviews of a product are counted to decide whether it is hot.
const WINDOW: Duration = Duration::from_secs(1);
/// A product is hot when a process stores more than this many of its reviews within [`WINDOW`].
const HOT_ABOVE: u32 = 5;
/// How long a product stays hot after the last reason.
const HOT_MILLIS: i64 = 10_000;
/// A flag that expires sooner is renewed when there is a reason.
const RENEW_MILLIS: i64 = 5_000;
/// How long the fold of a hot product waits for further reviews.
const FOLD_DELAY: Duration = Duration::from_millis(50);
/// The maximum number of concurrent background folds, and of products waiting for one.
const MAX_CONCURRENT_FOLDS: usize = 8;
const MAX_SCHEDULED: usize = 10_000;
/// How many reviews of a product may be stored during a fold before further writers wait, so that
/// stored reviews are folded soon.
const MAX_UNFOLDED: u32 = 100;
/// How long such writers wait at most.
const MAX_WAIT: Duration = Duration::from_millis(250);
/// The maximum number of products that are being flagged as hot.
const MAX_MARKING: usize = 100;
/// The maximum number of products that a process remembers.
const MAX_REMEMBERED: u64 = 10_000;

/// What a process knows of the products whose reviews it writes.
pub(crate) struct HotProducts {
    known: Cache<ProductId, ReviewedProduct>,
    rates: Cache<ProductId, Arc<AtomicU32>>,
    /// Products with a scheduled or running fold.
    folding: Mutex<HashMap<ProductId, PendingFold>>,
    /// Products that are being flagged as hot.
    marking: Mutex<HashSet<ProductId>>,
    /// Notifies waiting writers that a fold has started.
    fold_started: Notify,
    /// Limits concurrent background folds.
    fold_permits: Semaphore,
    /// Reviews that are about to be stored.
    pub(super) counted: BatchQueue<CountedInsert>,
    pub(super) deferred: BatchQueue<DeferredInsert>,
    /// Idempotency keys that are about to be claimed.
    pub(super) claims: BatchQueue<Claim>,
    /// Products and authors that are about to be looked up.
    pub(super) look_ups: BatchQueue<TargetLookup>,
    /// Votes that are about to be stored.
    pub(super) votes: BatchQueue<NewVote>,
}

/// A scheduled or running fold.
#[derive(Clone, Copy, Debug)]
struct PendingFold {
    /// The number of reviews stored since it started. The fold misses them, so another one follows.
    unfolded: u32,
    /// When the oldest review of this fold was stored.
    oldest: Instant,
    /// When it started.
    started: Instant,
}

impl PendingFold {
    fn of(unfolded: u32) -> Self {
        let now = Instant::now();
        Self {
            unfolded,
            oldest: now,
            started: now,
        }
    }
}

impl Default for HotProducts {
    fn default() -> Self {
        let cache = |time| {
            Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .time_to_live(time)
        };
        Self {
            known: cache(KNOWN_FOR).build(),
            rates: Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .time_to_live(WINDOW)
                .build(),
            folding: Mutex::default(),
            marking: Mutex::default(),
            fold_started: Notify::new(),
            fold_permits: Semaphore::new(MAX_CONCURRENT_FOLDS),
            counted: BatchQueue::default(),
            deferred: BatchQueue::default(),
            claims: BatchQueue::default(),
            look_ups: BatchQueue::default(),
            votes: BatchQueue::default(),
        }
    }
}

impl std::fmt::Debug for HotProducts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HotProducts").finish_non_exhaustive()
    }
}

impl HotProducts {
    /// What is known of a product, if it was read within the last second.
    pub(super) fn known(&self, product: ProductId) -> Option<ReviewedProduct> {
        self.known.get(&product)
    }

    /// Remembers what was read of a product. A product that is being marked as hot stays hot.
    pub(super) fn remember(&self, product: ProductId, read: &ReviewedProduct) {
        let mut read = read.clone();
        if let Some(known) = self.known.get(&product) {
            read.outlier.hot_until = read.outlier.hot_until.max(known.outlier.hot_until);
        }
        self.known.insert(product, read);
    }

    /// Counts one more review; returns whether that makes the product hot.
    fn count(&self, product: ProductId) -> bool {
        let rate = self.rates.get_with(product, Arc::default);
        rate.fetch_add(1, Ordering::Relaxed) + 1 > HOT_ABOVE
    }

    fn marking(&self) -> std::sync::MutexGuard<'_, HashSet<ProductId>> {
        self.marking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a product is to be flagged now: not if it is being flagged already, nor if very many
    /// are.
    fn start_marking(&self, product: ProductId) -> bool {
        let mut marking = self.marking();
        marking.len() < MAX_MARKING && marking.insert(product)
    }

    /// The age of the oldest review that this process has stored and not yet folded.
    fn oldest_age(&self) -> Duration {
        let folding = self.folding();
        let ages = folding.values().map(|folding| folding.oldest.elapsed());
        ages.max().unwrap_or_default()
    }

    fn folding(&self) -> std::sync::MutexGuard<'_, HashMap<ProductId, PendingFold>> {
        self.folding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the backlog of a product is small enough that its next review is folded soon,
    /// but at most [`MAX_WAIT`]: the background worker folds the rest.
    pub(super) async fn wait_for_capacity(&self, product: ProductId) {
        let waited = async {
            loop {
                let fold_started = self.fold_started.notified();
                let folding = self.folding().get(&product).copied();
                if folding.is_none_or(|folding| folding.unfolded < MAX_UNFOLDED) {
                    return;
                }
                fold_started.await;
            }
        };
        // A timeout is fine.
        let _ = tokio::time::timeout(MAX_WAIT, waited).await;
    }

    /// Marks the start of a fold, which sees everything stored so far.
    fn start_fold(&self, product: ProductId) {
        let mut folding = self.folding();
        let entry = folding.entry(product).or_insert_with(|| PendingFold::of(0));
        (entry.unfolded, entry.started) = (0, Instant::now());
        drop(folding);
        self.fold_started.notify_waiters();
    }

    /// Marks the end of a fold; returns whether another one follows.
    fn finish_fold(&self, product: ProductId, more: bool) -> bool {
        let mut folding = self.folding();
        let Some(entry) = folding.get_mut(&product) else {
            return more;
        };
        if more {
            return true;
        }
        if entry.unfolded == 0 {
            folding.remove(&product);
            return false;
        }
        // Everything stored before it started is folded.
        entry.oldest = entry.started;
        true
    }
}

impl Catalog {
    /// The age of the oldest review that this process has stored and not yet folded.
    #[must_use]
    pub fn own_uncounted_age(&self) -> Duration {
        self.hot_products().oldest_age()
    }

    /// Notes that a review of a product was stored. Frequent reviews make the product hot or keep
    /// it so.
    pub(super) fn note_review(&self, product: ProductId) {
        if self.hot_products().count(product) {
            self.mark_hot(product, HotReason::Rate);
        }
    }

    /// Flags a product as hot, or renews the flag, in the background. If that fails, the next
    /// writer does it.
    pub(super) fn mark_hot(&self, product: ProductId, reason: HotReason) {
        let now = self.now();
        if let Some(mut known) = self.hot_products().known(product) {
            if known.outlier.is_hot(now.plus_millis(RENEW_MILLIS)) {
                return;
            }
            known.outlier.hot_until = Some(now.plus_millis(HOT_MILLIS));
            self.hot_products().known.insert(product, known);
        }
        if !self.hot_products().start_marking(product) {
            return;
        }
        let catalog = self.clone();
        self.in_background(async move {
            let until = now.plus_millis(HOT_MILLIS);
            let marked = catalog
                .maintain(|store| async move { store.mark_hot(product, until, reason, now).await });
            if let Err(error) = marked.await
                && let Some(left_out) = UNMARKED.permit()
            {
                tracing::warn!(%error, %product, left_out, "a product could not be flagged as hot");
            }
            catalog.hot_products().marking().remove(&product);
        });
    }

    /// Schedules a fold of a product, immediately or a moment later together with further reviews.
    /// Runs in the background; whatever it misses, the background worker folds.
    ///
    /// A process runs one fold per product at a time. Reviews that arrive during a fold are folded
    /// by the next one, so higher rates lead to larger folds.
    pub(super) fn fold_soon(&self, product: ProductId, hot: bool) {
        {
            let mut folding = self.hot_products().folding();
            if let Some(folding) = folding.get_mut(&product) {
                folding.unfolded += 1;
                return;
            }
            // The background worker folds what exceeds the limit.
            if folding.len() >= MAX_SCHEDULED {
                return;
            }
            folding.insert(product, PendingFold::of(1));
        }
        let catalog = self.clone();
        self.in_background(async move {
            if hot {
                tokio::time::sleep(FOLD_DELAY).await;
            }
            loop {
                let permit = catalog.hot_products().fold_permits.acquire().await;
                // What is stored from now on may need another fold.
                catalog.hot_products().start_fold(product);
                let more = catalog.fold_one(product).await;
                drop(permit);
                if !catalog.hot_products().finish_fold(product, more) {
                    break;
                }
            }
        });
    }

    /// Folds a batch of reviews of a product; returns whether there may be more.
    async fn fold_one(&self, product: ProductId) -> bool {
        match self.store().fold(&[product], self.now()).await {
            Ok(folded) => i64::try_from(folded.reviews).is_ok_and(|n| n >= MAX_REVIEWS),
            Err(error) => {
                tracing::debug!(%error, %product, "a fold is left to the next sweep");
                false
            }
        }
    }

    /// Folds a changed review of a product at once, unless the product is hot. Returns whether the
    /// rating statistics are still to be updated.
    pub(super) async fn fold_now_or_later(&self, product: ProductId) -> bool {
        let hot = self.hot_products().known(product);
        if hot.is_some_and(|known| known.outlier.is_hot(self.now())) {
            self.fold_soon(product, true);
            return true;
        }
        let now = self.now();
        let folded = self.write(|store| async move { store.fold(&[product], now).await });
        match folded.await {
            // The batch was full, so this change may not be included.
            Ok(folded) if i64::try_from(folded.reviews).is_ok_and(|n| n >= MAX_REVIEWS) => {
                self.fold_soon(product, true);
                true
            }
            // A newer release has to fold it.
            Ok(folded) => folded.left_alone > 0,
            Err(error) => {
                tracing::debug!(%error, %product, "a fold is left to the next sweep");
                self.fold_soon(product, true);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_stored_during_a_fold_are_folded_by_the_next() {
        let (hot_products, one) = (HotProducts::default(), ProductId::random());
        hot_products.folding().insert(one, PendingFold::of(3));
        hot_products.start_fold(one);
        assert!(
            !hot_products.finish_fold(one, false),
            "it was stored before"
        );
        assert!(hot_products.folding().is_empty());
        hot_products.folding().insert(one, PendingFold::of(1));
        hot_products.start_fold(one);
        hot_products.folding().get_mut(&one).unwrap().unfolded += 1;
        assert!(
            hot_products.finish_fold(one, false),
            "it was stored during the fold"
        );
        hot_products.start_fold(one);
        assert!(hot_products.finish_fold(one, true), "the batch was full");
        hot_products.start_fold(one);
        assert!(!hot_products.finish_fold(one, false));
    }

    #[tokio::test(start_paused = true)]
    async fn writers_faster_than_the_fold_wait_for_a_limited_time() {
        let (hot_products, one) = (Arc::new(HotProducts::default()), ProductId::random());
        hot_products.wait_for_capacity(one).await;
        hot_products
            .folding()
            .insert(one, PendingFold::of(MAX_UNFOLDED));
        let start = tokio::time::Instant::now();
        hot_products.wait_for_capacity(one).await;
        assert_eq!(start.elapsed(), MAX_WAIT);
        let start = tokio::time::Instant::now();
        tokio::join!(hot_products.wait_for_capacity(one), async {
            hot_products.start_fold(one);
        });
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[test]
    fn a_product_is_flagged_by_one_task_at_a_time() {
        let (hot_products, one) = (HotProducts::default(), ProductId::random());
        assert!(hot_products.start_marking(one) && !hot_products.start_marking(one));
        hot_products.marking().remove(&one);
        assert!(hot_products.start_marking(one));
        let more = std::iter::repeat_with(ProductId::random).take(2 * MAX_MARKING);
        let fold_started = more
            .filter(|other| hot_products.start_marking(*other))
            .count();
        assert_eq!(fold_started, MAX_MARKING - 1);
    }

    #[test]
    fn several_reviews_within_a_second_make_a_product_hot() {
        let hot_products = HotProducts::default();
        let (one, other) = (ProductId::random(), ProductId::random());
        let hot: Vec<bool> = (0..7).map(|_| hot_products.count(one)).collect();
        assert_eq!(hot, [false, false, false, false, false, true, true]);
        assert!(!hot_products.count(other));
    }
}
