//! How many products each category holds.
//!
//! A count is kept with the stamp that the category had before it was counted, and is exact while the
//! stamp is the same. Of categories that have changed, up to as many products are counted again at
//! once as facets read; of more the kept count is given, and a worker counts them within seconds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::CategoryId;
use vitrine_storage::audit::Difference;
use vitrine_storage::category_counts::{CategoryCount, KeptCategoryCount};
use vitrine_storage::{StorageError, Store};

use crate::flight::Flight;
use crate::products::Sight;
use crate::{Catalog, DomainError};

/// How old a count may be that is given although the category has changed since.
const MAX_AGE_MILLIS: i64 = 10 * 60 * 1000;
/// How long a caller waits for categories to be counted that were never counted before.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// How many categories are counted with one command, at first.
const MAX_COUNTED: usize = 1_000;
/// How long the server may count several categories before fewer are counted at once.
const MAX_TIME: Duration = Duration::from_secs(30);
/// How long it may count one.
const MAX_TIME_OF_ONE: Duration = Duration::from_mins(2);

/// What a process knows of the counts of categories.
#[derive(Debug)]
pub(crate) struct CountMemory {
    look: Flight<Arc<CategoryCounts>>,
    /// Held while categories are counted without a limit.
    counting: Arc<Semaphore>,
}

impl Default for CountMemory {
    fn default() -> Self {
        Self {
            look: Flight::default(),
            counting: Arc::new(Semaphore::new(1)),
        }
    }
}

type Counts = HashMap<CategoryId, KeptCategoryCount>;

/// How many products each category holds itself, without the categories below it.
#[derive(Clone, Debug)]
pub(crate) struct CategoryCounts {
    counts: Counts,
    /// Those that have changed since they were counted, or were never counted, with their stamps.
    stale: Vec<(CategoryId, i64)>,
    /// As of when.
    pub(crate) as_of: Timestamp,
}

impl CategoryCounts {
    /// What is known of categories with these stamps: of each the count that is current, or the last.
    fn of(stamps: &HashMap<CategoryId, i64>, known: &[&Counts], now: Timestamp) -> Self {
        let mut counts = Self {
            counts: HashMap::with_capacity(stamps.len()),
            stale: Vec::new(),
            as_of: now,
        };
        for (category, stamp) in stamps {
            let known = known.iter().filter_map(|known| known.get(category));
            let kept = known.max_by_key(|kept| (kept.stamp == *stamp, kept.as_of));
            if let Some(kept) = kept {
                counts.counts.insert(*category, *kept);
            }
            if kept.is_none_or(|kept| kept.stamp != *stamp) {
                counts.stale.push((*category, *stamp));
                counts.as_of = counts.as_of.min(kept.map_or(now, |kept| kept.as_of));
            }
        }
        counts
    }

    /// Whether no product of any category has changed since it was counted.
    pub(crate) fn is_current(&self) -> bool {
        self.stale.is_empty()
    }

    /// Whether all categories were counted within the last minutes.
    fn is_recent(&self, now: Timestamp) -> bool {
        let recent =
            |kept: &KeptCategoryCount| now.as_millis() - kept.as_of.as_millis() <= MAX_AGE_MILLIS;
        let mut stale = self.stale.iter();
        stale.all(|(category, _)| self.counts.get(category).is_some_and(recent))
    }

    /// How many products a caller with this sight may see in a category itself.
    pub(crate) fn of_category(&self, category: CategoryId, sight: Sight) -> u64 {
        let count = self.counts.get(&category).map(|kept| kept.count);
        count.map_or(0, |count| match sight {
            Sight::Public => count.on_sale,
            Sight::Everything => count.all,
        })
    }

    /// How many products are on sale in these categories; in all when none are named.
    pub(crate) fn on_sale(&self, categories: Option<&[CategoryId]>) -> u64 {
        match categories {
            None => self.counts.values().map(|kept| kept.count.on_sale).sum(),
            Some(ids) => ids
                .iter()
                .map(|id| self.of_category(*id, Sight::Public))
                .sum(),
        }
    }

    /// The categories in which products are on sale, those of most products first.
    pub(crate) fn by_size(&self) -> Vec<(CategoryId, u64)> {
        let on_sale = self
            .counts
            .iter()
            .map(|(id, kept)| (*id, kept.count.on_sale));
        let mut all: Vec<(CategoryId, u64)> = on_sale.filter(|(_, count)| *count > 0).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }
}

impl Catalog {
    /// How many products each category holds. One command while nothing has changed. Callers that ask
    /// at once share one look.
    ///
    /// # Errors
    /// [`DomainError::Unavailable`] when categories with very many products were never counted, or
    /// not for minutes, and are being counted.
    pub(crate) async fn own_counts(&self) -> Result<Arc<CategoryCounts>, DomainError> {
        let look = &self.count_memory().look;
        look.share(self.look_at_counts()).await
    }

    async fn look_at_counts(&self) -> Result<Arc<CategoryCounts>, DomainError> {
        let now = self.now();
        let stamps = self
            .read(|store| async move { store.stamps().await })
            .await?;
        let known = self.count_memory().look.known();
        let known = known.map(|known| known.counts.clone()).unwrap_or_default();
        let counts = CategoryCounts::of(&stamps, &[&known], now);
        if counts.is_current() {
            return Ok(Arc::new(counts));
        }
        let kept = self
            .read(|store| async move { store.category_counts().await })
            .await?;
        let mut counts = CategoryCounts::of(&stamps, &[&known, &kept], now);
        if !counts.is_current()
            && let Some(counted) = self.count_stale(&counts, now).await?
        {
            let counted = counted.into_iter().collect();
            counts = CategoryCounts::of(&stamps, &[&counts.counts, &counted], now);
        }
        Ok(Arc::new(counts))
    }

    /// Counts the categories that have changed, if they hold few products, or if what is known of
    /// them cannot be given.
    async fn count_stale(
        &self,
        counts: &CategoryCounts,
        now: Timestamp,
    ) -> Result<Option<Vec<(CategoryId, KeptCategoryCount)>>, DomainError> {
        let stale = counts.stale.clone();
        let ids: Vec<CategoryId> = stale.iter().map(|(category, _)| *category).collect();
        let most = u64::from(self.most_read());
        let counted = self
            .read(|store| async move { store.count_categories(&ids, Some(most), None).await })
            .await?;
        if let Some(counted) = counted {
            let counted = kept(&stale, &counted, now);
            let (catalog, kept) = (self.clone(), counted.clone());
            self.in_background(async move {
                let kept = catalog
                    .maintain(|store| async move { store.keep_category_counts(&kept).await });
                // The answer is there, whether or not it can be kept for others.
                if let Err(error) = kept.await {
                    tracing::warn!(%error, "counts of categories could not be kept");
                }
            });
            return Ok(Some(counted));
        }
        if counts.is_recent(now) {
            return Ok(None);
        }
        self.count_for_all(stale, now).await.map(Some)
    }

    /// Counts categories however many products they hold. One count at a time in a process; it goes on
    /// when the caller has waited long enough, and is kept.
    async fn count_for_all(
        &self,
        stale: Vec<(CategoryId, i64)>,
        now: Timestamp,
    ) -> Result<Vec<(CategoryId, KeptCategoryCount)>, DomainError> {
        let counting = Arc::clone(&self.count_memory().counting);
        let Ok(counting) = counting.try_acquire_owned() else {
            return Err(DomainError::Unavailable(None));
        };
        let catalog = self.clone();
        let count = self.spawned(async move {
            let counted = catalog.count_changed(stale, now).await;
            drop(counting);
            counted
        });
        match tokio::time::timeout(MAX_WAIT, count).await {
            Ok(Ok(counted)) => counted,
            Ok(Err(lost)) => Err(DomainError::Internal(Box::new(lost))),
            Err(_) => Err(DomainError::Unavailable(None)),
        }
    }

    /// Counts categories that have changed, and keeps the counts as they come.
    ///
    /// # Errors
    /// The first [`DomainError`] met; the counts of other categories are kept.
    async fn count_changed(
        &self,
        stale: Vec<(CategoryId, i64)>,
        now: Timestamp,
    ) -> Result<Vec<(CategoryId, KeptCategoryCount)>, DomainError> {
        self.maintain(|store| async move {
            let (counted, failed) = count_parts(&store, &stale, now, true).await;
            failed.map_or(Ok(counted), Err)
        })
        .await
    }

    /// Counts the categories that have changed since they were counted, and keeps the counts. Returns
    /// how many were counted, and what is known of all categories. Nothing is counted while
    /// `is_resting`.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call goes on.
    pub(crate) async fn refresh_category_counts(
        &self,
        stamps: &HashMap<CategoryId, i64>,
        is_resting: bool,
    ) -> Result<(usize, CategoryCounts), DomainError> {
        let now = self.now();
        let known = self
            .maintain(|store| async move { store.category_counts().await })
            .await?;
        let counts = CategoryCounts::of(stamps, &[&known], now);
        if is_resting || counts.is_current() {
            return Ok((0, counts));
        }
        let counted = self.count_changed(counts.stale.clone(), now).await?;
        let done = counted.len();
        let counted = counted.into_iter().collect();
        Ok((
            done,
            CategoryCounts::of(stamps, &[&counts.counts, &counted], now),
        ))
    }
}

impl Catalog {
    /// Compares the counts of categories that count as current with new ones.
    pub(crate) async fn audit_category_counts(&self) -> Result<Vec<Difference>, DomainError> {
        let now = self.now();
        let (stamps, known, counted) = self
            .maintain(|store| async move {
                let (stamps, known) = (store.stamps().await?, store.category_counts().await?);
                let all: Vec<(CategoryId, i64)> = stamps.iter().map(|(id, n)| (*id, *n)).collect();
                let (counted, failed) = count_parts(&store, &all, now, false).await;
                failed.map_or(Ok((stamps, known, counted)), Err)
            })
            .await?;
        let known = CategoryCounts::of(&stamps, &[&known], now);
        let is_stale = |category: &CategoryId| known.stale.iter().any(|(id, _)| id == category);
        let differ = |(category, new): &(CategoryId, KeptCategoryCount)| {
            let stored = known.counts.get(category).filter(|_| !is_stale(category))?;
            (stored.count != new.count).then(|| Difference {
                place: format!("category_counts {category}"),
                what: "products".to_owned(),
                stored: format!("{:?}", stored.count),
                expected: format!("{:?}", new.count),
            })
        };
        Ok(counted.iter().filter_map(differ).collect())
    }
}

/// Counts some categories at a time; in halves when they take too long. One that cannot be counted
/// keeps no other from it.
async fn count_parts(
    store: &Store,
    stale: &[(CategoryId, i64)],
    now: Timestamp,
    keeps: bool,
) -> (Vec<(CategoryId, KeptCategoryCount)>, Option<StorageError>) {
    let mut parts: Vec<_> = stale.chunks(MAX_COUNTED).collect();
    let (mut all, mut failed) = (Vec::new(), None);
    while let Some(part) = parts.pop() {
        match count_part(store, part, now, keeps).await {
            Ok(counted) => all.extend(counted),
            Err(StorageError::Timeout(_)) if part.len() > 1 => {
                let (one, other) = part.split_at(part.len() / 2);
                parts.extend([one, other]);
            }
            Err(error @ StorageError::Timeout(_)) => failed = failed.or(Some(error)),
            Err(error) => return (all, Some(error)),
        }
    }
    (all, failed)
}

async fn count_part(
    store: &Store,
    part: &[(CategoryId, i64)],
    now: Timestamp,
    keeps: bool,
) -> Result<Vec<(CategoryId, KeptCategoryCount)>, StorageError> {
    let ids: Vec<CategoryId> = part.iter().map(|(category, _)| *category).collect();
    let max_time = if part.len() > 1 {
        MAX_TIME
    } else {
        MAX_TIME_OF_ONE
    };
    let counted = store.count_categories(&ids, None, Some(max_time)).await?;
    let counted = kept(part, &counted.unwrap_or_default(), now);
    if keeps {
        store.keep_category_counts(&counted).await?;
    }
    Ok(counted)
}

/// What is kept of categories that were counted; those without products hold none.
fn kept(
    stale: &[(CategoryId, i64)],
    counted: &HashMap<CategoryId, CategoryCount>,
    now: Timestamp,
) -> Vec<(CategoryId, KeptCategoryCount)> {
    let none = CategoryCount { on_sale: 0, all: 0 };
    let keep = |(category, stamp): &(CategoryId, i64)| {
        let kept = KeptCategoryCount {
            count: counted.get(category).copied().unwrap_or(none),
            stamp: *stamp,
            as_of: now,
        };
        (*category, kept)
    };
    stale.iter().map(keep).collect()
}
