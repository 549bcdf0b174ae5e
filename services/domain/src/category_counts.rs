//! How many products each category holds: kept by the transactions that write products.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use vitrine_model::id::{CategoryId, ProductId};
use vitrine_storage::audit::Difference;
use vitrine_storage::category_counts::{CategoryCount, CategoryTotals};
use vitrine_storage::{StorageError, Store};

use crate::products::Visibility;
use crate::single_flight::SingleFlight;
use crate::{Catalog, DomainError};

/// How many categories the audit counts with one command, at first.
const MAX_COUNTED: usize = 1_000;
/// How long the server may count several categories before fewer are counted at once.
const MAX_TIME: Duration = Duration::from_secs(30);
/// How long it may count one.
const MAX_TIME_OF_ONE: Duration = Duration::from_mins(2);
/// The lease of who repairs, and how long that may take.
const REPAIR: &str = "repair category counts";
const REPAIRED_WITHIN: Duration = Duration::from_hours(1);

/// Callers that ask at once share one look.
pub(crate) type CountMemory = SingleFlight<Arc<CategoryCounts>>;

/// How many products each category holds itself, without the categories below it, and its generation.
#[derive(Clone, Debug, Default)]
pub(crate) struct CategoryCounts(HashMap<CategoryId, CategoryTotals>);

/// A category of which another number is kept than was counted.
#[derive(Clone, Copy, Debug)]
struct WrongCount {
    category: CategoryId,
    kept: CategoryCount,
    counted: CategoryCount,
}

impl CategoryCounts {
    /// How many products a caller with this sight may see in a category itself.
    pub(crate) fn of_category(&self, category: CategoryId, sight: Visibility) -> u64 {
        let count = self.0.get(&category).map_or(0, |totals| match sight {
            Visibility::Public => totals.count.on_sale,
            Visibility::Everything => totals.count.all,
        });
        u64::try_from(count).unwrap_or(0)
    }

    /// How many products are on sale in these categories; in all when none are named.
    pub(crate) fn on_sale(&self, categories: Option<&[CategoryId]>) -> u64 {
        let of = |id: &CategoryId| self.of_category(*id, Visibility::Public);
        match categories {
            None => self.0.keys().map(of).sum(),
            Some(ids) => ids.iter().map(of).sum(),
        }
    }

    /// The categories in which products are on sale, those of most products first.
    pub(crate) fn by_size(&self) -> Vec<(CategoryId, u64)> {
        let on_sale = self.0.keys();
        let on_sale = on_sale.map(|id| (*id, self.of_category(*id, Visibility::Public)));
        let mut all: Vec<(CategoryId, u64)> = on_sale.filter(|(_, count)| *count > 0).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// The sum of the generations of these categories; of all when none are named.
    pub(crate) fn generation(&self, categories: Option<&[CategoryId]>) -> i64 {
        match categories {
            None => self.0.values().map(|totals| totals.generation).sum(),
            Some(ids) => {
                let totals = ids.iter().filter_map(|id| self.0.get(id));
                totals.map(|totals| totals.generation).sum()
            }
        }
    }

    /// The categories that ever held a product.
    pub(crate) fn known(&self) -> impl Iterator<Item = CategoryId> {
        self.0.keys().copied()
    }

    /// Whether this category ever held a product.
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
    /// How many products each category holds. One command, which callers that ask at once share.
    pub(crate) async fn own_counts(&self) -> Result<Arc<CategoryCounts>, DomainError> {
        let look = async {
            let totals = self.read(|store| async move { store.category_totals().await });
            Ok(Arc::new(CategoryCounts(totals.await?)))
        };
        self.count_memory().share(look).await
    }

    /// As [`Catalog::own_counts`], for work in the background.
    pub(crate) async fn counts_for_upkeep(&self) -> Result<CategoryCounts, DomainError> {
        let totals = self.maintain(|store| async move { store.category_totals().await });
        totals.await.map(CategoryCounts)
    }

    /// Compares how many products categories are kept to hold with what is counted.
    pub(crate) async fn audit_category_counts(&self) -> Result<Vec<Difference>, DomainError> {
        let difference = |wrong: &WrongCount| Difference {
            place: format!("category_generations {}", wrong.category),
            what: "products".to_owned(),
            stored: format!("{:?}", wrong.kept),
            expected: format!("{:?}", wrong.counted),
        };
        Ok(self.wrong_counts().await?.iter().map(difference).collect())
    }

    /// Corrects how many products categories are kept to hold. Returns how many were wrong. Nothing
    /// is lost that others change meanwhile.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails, or another process is doing it; some may be corrected
    /// then.
    pub async fn repair_category_counts(&self) -> Result<usize, DomainError> {
        // Two processes would correct the same error twice.
        let owner = ProductId::random().to_string();
        let taken = owner.clone();
        self.maintain(|store| async move {
            let lease = store.take_lease(REPAIR, &taken, REPAIRED_WITHIN).await?;
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
                let correct = store.correct_category_count(one.category, one.kept, one.counted);
                correct.await?;
            }
            Ok(found)
        })
        .await
    }

    /// Counts the products of all categories. Those that change while they are counted are counted
    /// once more by themselves, and not compared when they change again.
    async fn wrong_counts(&self) -> Result<Vec<WrongCount>, DomainError> {
        let reference = self.reference();
        let known = self.counts_for_upkeep().await?;
        let of_tree = reference.categories.all().iter();
        let ids: HashSet<CategoryId> = of_tree.map(|one| one.id).chain(known.known()).collect();
        let ids: Vec<CategoryId> = ids.into_iter().collect();
        let mut parts: Vec<Vec<CategoryId>> = ids.chunks(MAX_COUNTED).map(<[_]>::to_vec).collect();
        let mut wrong = Vec::new();
        while let Some(part) = parts.pop() {
            let before = self.counts_for_upkeep().await?;
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
            let after = self.counts_for_upkeep().await?;
            for category in part {
                let (generation, kept) = before.totals(category);
                let counted = counted.get(&category).copied().unwrap_or_default();
                if after.totals(category) != (generation, kept) {
                    parts.extend((!alone).then(|| vec![category]));
                } else if kept != counted {
                    wrong.push(WrongCount {
                        category,
                        kept,
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
