//! The number of products in each category, maintained by the transactions that write products.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use vitrine_model::id::{CategoryId, random_number};
use vitrine_storage::audit::Difference;
use vitrine_storage::category_counts::{CategoryCount, CategoryTotals};
use vitrine_storage::{StorageError, Store};

use crate::products::Visibility;
use crate::single_flight::SingleFlight;
use crate::{Catalog, DomainError};

/// The number of categories that the audit first counts with one command.
const MAX_COUNTED: usize = 1_000;
/// The time limit for counting several categories; when exceeded, fewer are counted at once.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The time limit for counting one category.
const MAX_TIME_OF_ONE: Duration = Duration::from_mins(2);
/// The lease for repairs, and its duration.
const REPAIR: &str = "repair category counts";
const REPAIR_LEASE: Duration = Duration::from_hours(1);

/// Concurrent callers share one read.
pub(crate) type SharedCounts = SingleFlight<Arc<CategoryCounts>>;

/// The number of products directly in each category, and its generation.
#[derive(Clone, Debug, Default)]
pub(crate) struct CategoryCounts(HashMap<CategoryId, CategoryTotals>);

/// A category whose stored count differs from the recount.
#[derive(Clone, Copy, Debug)]
struct WrongCount {
    category: CategoryId,
    stored: CategoryCount,
    counted: CategoryCount,
}

impl CategoryCounts {
    /// The number of products directly in a category that a caller with this visibility may see.
    pub(crate) fn of_category(&self, category: CategoryId, visibility: Visibility) -> u64 {
        let count = self.0.get(&category).map_or(0, |totals| match visibility {
            Visibility::Public => totals.count.on_sale,
            Visibility::Everything => totals.count.all,
        });
        u64::try_from(count).unwrap_or(0)
    }

    /// The number of active products in these categories, or in all.
    pub(crate) fn on_sale(&self, categories: Option<&[CategoryId]>) -> u64 {
        let of = |id: &CategoryId| self.of_category(*id, Visibility::Public);
        match categories {
            None => self.0.keys().map(of).sum(),
            Some(ids) => ids.iter().map(of).sum(),
        }
    }

    /// The categories with active products, largest first.
    pub(crate) fn by_size(&self) -> Vec<(CategoryId, u64)> {
        let mut all = self.sizes(self.0.keys());
        all.retain(|(_, count)| *count > 0);
        all
    }

    /// These categories with their active products, largest first.
    pub(crate) fn by_size_among(&self, ids: &[CategoryId]) -> Vec<(CategoryId, u64)> {
        self.sizes(ids.iter())
    }

    fn sizes<'a>(&self, ids: impl Iterator<Item = &'a CategoryId>) -> Vec<(CategoryId, u64)> {
        let on_sale = ids.map(|id| (*id, self.of_category(*id, Visibility::Public)));
        let mut all: Vec<(CategoryId, u64)> = on_sale.collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all.dedup();
        all
    }

    /// The sum of the generations of these categories, or of all.
    pub(crate) fn generation(&self, categories: Option<&[CategoryId]>) -> i64 {
        match categories {
            None => self.0.values().map(|totals| totals.generation).sum(),
            Some(ids) => {
                let totals = ids.iter().filter_map(|id| self.0.get(id));
                totals.map(|totals| totals.generation).sum()
            }
        }
    }

    /// All categories that have ever held a product.
    pub(crate) fn known(&self) -> impl Iterator<Item = CategoryId> {
        self.0.keys().copied()
    }

    /// Whether this category has ever held a product.
    pub(crate) fn knows(&self, category: CategoryId) -> bool {
        self.0.contains_key(&category)
    }

    fn totals(&self, category: CategoryId) -> (i64, CategoryCount) {
        let totals = self.0.get(&category);
        totals.map_or((0, CategoryCount::default()), |totals| {
            (totals.generation, totals.count)
        })
    }
}

impl Catalog {
    /// The number of products directly in each category. One command, shared by concurrent callers.
    pub(crate) async fn own_counts(&self) -> Result<Arc<CategoryCounts>, DomainError> {
        let read = async {
            let totals = self.read(|store| async move { store.category_totals().await });
            Ok(Arc::new(CategoryCounts(totals.await?)))
        };
        self.shared_counts().share(read).await
    }

    /// Like [`Catalog::own_counts`], for background work.
    pub(crate) async fn counts_for_maintenance(&self) -> Result<CategoryCounts, DomainError> {
        let totals = self.maintain(|store| async move { store.category_totals().await });
        totals.await.map(CategoryCounts)
    }

    /// Compares the stored counts of categories with a recount.
    pub(crate) async fn audit_category_counts(&self) -> Result<Vec<Difference>, DomainError> {
        let difference = |wrong: &WrongCount| Difference {
            place: format!("category_generations {}", wrong.category),
            what: "products".to_owned(),
            stored: format!("{:?}", wrong.stored),
            expected: format!("{:?}", wrong.counted),
        };
        Ok(self.wrong_counts().await?.iter().map(difference).collect())
    }

    /// Corrects the stored counts of categories. Returns how many were wrong. Concurrent changes
    /// are preserved.
    ///
    /// # Errors
    /// Fails when the database fails, or when another process is repairing; some counts may be corrected
    /// then.
    pub async fn repair_category_counts(&self) -> Result<usize, DomainError> {
        // Two processes would apply the same correction twice.
        let owner = random_number().to_string();
        let taken = owner.clone();
        self.maintain(|store| async move {
            let lease = store.take_lease(REPAIR, &taken, REPAIR_LEASE).await?;
            (lease.owner == taken)
                .then_some(())
                .ok_or(StorageError::TakenOver)
        })
        .await?;
        let repaired = self.repair_wrong_counts().await;
        self.maintain(|store| async move { store.release_lease(REPAIR, &owner).await })
            .await?;
        repaired
    }

    async fn repair_wrong_counts(&self) -> Result<usize, DomainError> {
        let wrong = self.wrong_counts().await?;
        let found = wrong.len();
        self.maintain(|store| async move {
            for one in wrong {
                let correct = store.correct_category_count(one.category, one.stored, one.counted);
                correct.await?;
            }
            Ok(found)
        })
        .await
    }

    /// Recounts the products of all categories. A category that changes meanwhile is recounted
    /// alone, and skipped if it changes again.
    async fn wrong_counts(&self) -> Result<Vec<WrongCount>, DomainError> {
        let reference = self.reference();
        let known = self.counts_for_maintenance().await?;
        let of_tree = reference.categories.ids();
        let ids: HashSet<CategoryId> = of_tree.chain(known.known()).collect();
        let ids: Vec<CategoryId> = ids.into_iter().collect();
        let mut parts: Vec<Vec<CategoryId>> = ids.chunks(MAX_COUNTED).map(<[_]>::to_vec).collect();
        let mut wrong = Vec::new();
        while let Some(part) = parts.pop() {
            let before = self.counts_for_maintenance().await?;
            let (alone, own) = (part.len() == 1, part.clone());
            let counted = self
                .maintain(|store| async move {
                    match count(&store, &own).await {
                        Err(StorageError::Timeout(_)) if !alone => Ok(None),
                        counted => counted.map(Some),
                    }
                })
                .await?;
            let Some(counted) = counted else {
                let (some, others) = part.split_at(part.len() / 2);
                parts.extend([some.to_vec(), others.to_vec()]);
                continue;
            };
            let after = self.counts_for_maintenance().await?;
            for category in part {
                let (generation, stored) = before.totals(category);
                let counted = counted.get(&category).copied().unwrap_or_default();
                if after.totals(category) != (generation, stored) {
                    parts.extend((!alone).then(|| vec![category]));
                } else if stored != counted {
                    wrong.push(WrongCount {
                        category,
                        stored,
                        counted,
                    });
                }
            }
        }
        Ok(wrong)
    }
}

async fn count(
    store: &Store,
    categories: &[CategoryId],
) -> Result<HashMap<CategoryId, CategoryCount>, StorageError> {
    let one = categories.len() == 1;
    let max_time = if one { MAX_TIME_OF_ONE } else { MAX_TIME };
    store.count_categories(categories, max_time).await
}
