//! Which products are written so often that their reviews are only stored and counted a little
//! later, and the counting itself.
//!
//! A product is hot when two writers met at it, or when this process stored several of its reviews
//! within a second. The flag is kept in the product until some seconds after the last reason for
//! it, so that every process knows, and goes by itself.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;
use tokio::sync::{Notify, Semaphore};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::product::{HotReason, ProductStatus};
use vitrine_storage::claims::Claim;
use vitrine_storage::fold::MAX_REVIEWS;
use vitrine_storage::reviewing::ReviewTarget;

use super::group_commit::{BatchQueue, CountedInsert, DeferredInsert, TargetLookup};
use crate::Catalog;

/// How long a process believes what it has read of a product that is reviewed.
const BELIEVED: Duration = Duration::from_secs(1);
/// Over which time reviews of a product are counted to see whether it is hot.
const WINDOW: Duration = Duration::from_secs(1);
/// How many reviews of a product a process stores within [`WINDOW`] before it is hot.
const HOT_ABOVE: u32 = 5;
/// How long a product is hot after the last reason for it.
const HOT_MILLIS: i64 = 10_000;
/// A flag that ends sooner is renewed while there is reason for it.
const RENEW_MILLIS: i64 = 5_000;
/// How long the first review of a hot product waits for others to be counted with.
const GATHER: Duration = Duration::from_millis(50);
/// How many folds that nobody waits for run at a time, and how many products wait for theirs.
const MAX_FOLDING: usize = 8;
const MAX_WAITING: usize = 10_000;
/// How many reviews of a product are stored while others of it are counted, before those who write
/// more have to wait: what is stored is to be counted within moments.
const MAX_SINCE: u32 = 100;
/// How long they wait at most.
const MAX_WAIT: Duration = Duration::from_millis(250);
/// How many products are flagged as hot at a time.
const MAX_MARKING: usize = 100;
/// How many products a process remembers.
const MAX_REMEMBERED: u64 = 10_000;

/// What a process knows of the products whose reviews it writes.
pub(crate) struct HotProducts {
    known: Cache<ProductId, Known>,
    rates: Cache<ProductId, Arc<AtomicU32>>,
    /// Products whose fold is on its way.
    folding: Mutex<HashMap<ProductId, Folding>>,
    /// Products that are being flagged as hot.
    marking: Mutex<HashSet<ProductId>>,
    /// Tells those who wait that a fold has begun.
    begun: Notify,
    /// How many folds may run that nobody waits for.
    turns: Semaphore,
    /// Reviews that are about to be stored.
    pub(super) counted: BatchQueue<CountedInsert>,
    pub(super) uncounted: BatchQueue<DeferredInsert>,
    /// Idempotency keys that are about to be claimed.
    pub(super) claims: BatchQueue<Claim>,
    /// Who is about to review what.
    pub(super) look_ups: BatchQueue<TargetLookup>,
}

/// A product whose fold is on its way.
#[derive(Clone, Copy, Debug)]
struct Folding {
    /// How much was stored since it began: that is not counted by it, so that another one follows.
    since: u32,
    /// Since when the oldest review that it counts waits.
    oldest: Instant,
    /// When it began.
    began: Instant,
}

impl Folding {
    fn of(since: u32) -> Self {
        let now = Instant::now();
        Self {
            since,
            oldest: now,
            began: now,
        }
    }
}

/// What has to be known of a hot product before a review of it is stored.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) status: ProductStatus,
    pub(super) kind: String,
    pub(super) category: CategoryId,
    pub(super) hot_until: Option<Timestamp>,
}

impl Default for HotProducts {
    fn default() -> Self {
        let cache = |time| {
            Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .time_to_live(time)
        };
        Self {
            known: cache(BELIEVED).build(),
            rates: Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .time_to_live(WINDOW)
                .build(),
            folding: Mutex::default(),
            marking: Mutex::default(),
            begun: Notify::new(),
            turns: Semaphore::new(MAX_FOLDING),
            counted: BatchQueue::default(),
            uncounted: BatchQueue::default(),
            claims: BatchQueue::default(),
            look_ups: BatchQueue::default(),
        }
    }
}

impl std::fmt::Debug for HotProducts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HotProducts").finish_non_exhaustive()
    }
}

impl Known {
    pub(super) fn is_hot(&self, now: Timestamp) -> bool {
        self.hot_until.is_some_and(|until| now < until)
    }
}

impl HotProducts {
    /// What is known of a product, if it was read within the last second.
    pub(super) fn known(&self, product: ProductId) -> Option<Known> {
        self.known.get(&product)
    }

    /// Remembers what was read of a product.
    pub(super) fn remember(&self, product: ProductId, target: &ReviewTarget) {
        let known = Known {
            status: target.status,
            kind: target.kind.clone(),
            category: target.category,
            hot_until: target.outlier.hot_until,
        };
        self.known.insert(product, known);
    }

    /// Counts one review more; gives whether the product is hot by that.
    fn count(&self, product: ProductId) -> bool {
        let rate = self.rates.get_with(product, Arc::default);
        rate.fetch_add(1, Ordering::Relaxed) + 1 > HOT_ABOVE
    }

    fn marking(&self) -> std::sync::MutexGuard<'_, HashSet<ProductId>> {
        self.marking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a product is to be flagged now: not while it is being flagged already, and not while
    /// very many are.
    fn begins_marking(&self, product: ProductId) -> bool {
        let mut marking = self.marking();
        marking.len() < MAX_MARKING && marking.insert(product)
    }

    /// For how long the oldest review has been waiting that this process is to count.
    fn oldest(&self) -> Duration {
        let folding = self.folding();
        let ages = folding.values().map(|folding| folding.oldest.elapsed());
        ages.max().unwrap_or_default()
    }

    fn folding(&self) -> std::sync::MutexGuard<'_, HashMap<ProductId, Folding>> {
        self.folding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until as much of a product is counted that the next review of it is counted soon; but
    /// not for long: what is not counted here others count.
    pub(super) async fn room(&self, product: ProductId) {
        let waited = async {
            loop {
                let begun = self.begun.notified();
                let folding = self.folding().get(&product).copied();
                if folding.is_none_or(|folding| folding.since < MAX_SINCE) {
                    return;
                }
                begun.await;
            }
        };
        // Too long is as good as done.
        let _ = tokio::time::timeout(MAX_WAIT, waited).await;
    }

    /// A fold begins, and sees what was stored until now.
    fn begins(&self, product: ProductId) {
        let mut folding = self.folding();
        let entry = folding.entry(product).or_insert_with(|| Folding::of(0));
        (entry.since, entry.began) = (0, Instant::now());
        drop(folding);
        self.begun.notify_waiters();
    }

    /// A fold ends; gives whether another one follows.
    fn goes_on(&self, product: ProductId, more: bool) -> bool {
        let mut folding = self.folding();
        let Some(entry) = folding.get_mut(&product) else {
            return more;
        };
        if more {
            return true;
        }
        if entry.since == 0 {
            folding.remove(&product);
            return false;
        }
        // What was stored before it began is counted.
        entry.oldest = entry.began;
        true
    }
}

impl Catalog {
    /// For how long the oldest review has been waiting that this process is to count.
    #[must_use]
    pub fn own_uncounted_age(&self) -> Duration {
        self.hot_products().oldest()
    }

    /// Notes that a review of a product was stored; the product becomes or stays hot when that
    /// happens often.
    pub(super) fn note_review(&self, product: ProductId) {
        if self.hot_products().count(product) {
            self.mark_hot(product, HotReason::Rate);
        }
    }

    /// Makes a product hot, or keeps it so. Nobody waits for it: if it fails, the next writer does
    /// it.
    pub(super) fn mark_hot(&self, product: ProductId, reason: HotReason) {
        let now = self.now();
        if let Some(known) = self.hot_products().known(product) {
            let until = now.plus_millis(RENEW_MILLIS);
            if known.hot_until.is_some_and(|known| until < known) {
                return;
            }
            let hot = Known {
                hot_until: Some(now.plus_millis(HOT_MILLIS)),
                ..known
            };
            self.hot_products().known.insert(product, hot);
        }
        if !self.hot_products().begins_marking(product) {
            return;
        }
        let catalog = self.clone();
        self.in_background(async move {
            let until = now.plus_millis(HOT_MILLIS);
            let marked = catalog
                .maintain(|store| async move { store.mark_hot(product, until, reason, now).await });
            if let Err(error) = marked.await {
                tracing::warn!(%error, %product, "a product could not be flagged as hot");
            }
            catalog.hot_products().marking().remove(&product);
        });
    }

    /// Has the reviews of a product counted soon, at once or together with those of the next
    /// moments. Nobody waits for it: what is not done here the next sweep does.
    ///
    /// A process counts each product in one place at a time: what comes while it is being counted
    /// is counted next. So the more comes, the more is counted together.
    pub(super) fn fold_soon(&self, product: ProductId, hot: bool) {
        {
            let mut folding = self.hot_products().folding();
            if let Some(folding) = folding.get_mut(&product) {
                folding.since += 1;
                return;
            }
            // What there is no room for the next sweep does.
            if folding.len() >= MAX_WAITING {
                return;
            }
            folding.insert(product, Folding::of(1));
        }
        let catalog = self.clone();
        self.in_background(async move {
            if hot {
                tokio::time::sleep(GATHER).await;
            }
            loop {
                let turn = catalog.hot_products().turns.acquire().await;
                // What is stored from now on may have to be counted next.
                catalog.hot_products().begins(product);
                let more = catalog.fold_one(product).await;
                drop(turn);
                if !catalog.hot_products().goes_on(product, more) {
                    break;
                }
            }
        });
    }

    /// Counts some reviews of a product; gives whether there may be more.
    async fn fold_one(&self, product: ProductId) -> bool {
        match self.store().fold(&[product], self.now()).await {
            Ok(folded) => i64::try_from(folded.reviews).is_ok_and(|n| n >= MAX_REVIEWS),
            Err(error) => {
                tracing::debug!(%error, %product, "a fold is left to the next sweep");
                false
            }
        }
    }

    /// Counts what changed of a review of a product, at once unless the product is hot. Gives
    /// whether the numbers are still to follow.
    pub(super) async fn settle(&self, product: ProductId) -> bool {
        let hot = self.hot_products().known(product);
        if hot.is_some_and(|known| known.is_hot(self.now())) {
            self.fold_soon(product, true);
            return true;
        }
        let now = self.now();
        let folded = self.write(|store| async move { store.fold(&[product], now).await });
        match folded.await {
            // So many wait that this change may not be among those that were counted.
            Ok(folded) if i64::try_from(folded.reviews).is_ok_and(|n| n >= MAX_REVIEWS) => {
                self.fold_soon(product, true);
                true
            }
            // A newer release has to count it.
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
    fn what_comes_while_a_product_is_counted_is_counted_next() {
        let (hot_products, one) = (HotProducts::default(), ProductId::random());
        hot_products.folding().insert(one, Folding::of(3));
        hot_products.begins(one);
        assert!(!hot_products.goes_on(one, false), "it came before");
        assert!(hot_products.folding().is_empty());
        hot_products.folding().insert(one, Folding::of(1));
        hot_products.begins(one);
        hot_products.folding().get_mut(&one).unwrap().since += 1;
        assert!(hot_products.goes_on(one, false), "it came meanwhile");
        hot_products.begins(one);
        assert!(hot_products.goes_on(one, true), "there were too many");
        hot_products.begins(one);
        assert!(!hot_products.goes_on(one, false));
    }

    #[tokio::test(start_paused = true)]
    async fn who_writes_faster_than_is_counted_waits_but_not_for_ever() {
        let (hot_products, one) = (Arc::new(HotProducts::default()), ProductId::random());
        hot_products.room(one).await;
        hot_products.folding().insert(one, Folding::of(MAX_SINCE));
        let start = tokio::time::Instant::now();
        hot_products.room(one).await;
        assert_eq!(start.elapsed(), MAX_WAIT);
        let start = tokio::time::Instant::now();
        tokio::join!(hot_products.room(one), async { hot_products.begins(one) });
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[test]
    fn a_product_is_flagged_in_one_place_at_a_time() {
        let (hot_products, one) = (HotProducts::default(), ProductId::random());
        assert!(hot_products.begins_marking(one) && !hot_products.begins_marking(one));
        hot_products.marking().remove(&one);
        assert!(hot_products.begins_marking(one));
        let more = std::iter::repeat_with(ProductId::random).take(2 * MAX_MARKING);
        let begun = more
            .filter(|other| hot_products.begins_marking(*other))
            .count();
        assert_eq!(begun, MAX_MARKING - 1);
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
