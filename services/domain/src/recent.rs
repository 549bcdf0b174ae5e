//! Recent changes by the workers of this process, so that other workers need not scan the whole
//! catalogue for them. Lost with the process; a worker that starts scans everything once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId};

/// The maximum number of products remembered individually.
const MAX_BUSY: usize = 500_000;

/// When products of each category last changed their sort position by rating.
#[derive(Debug, Default)]
pub(crate) struct RatedCategories(Mutex<RatedTimes>);

#[derive(Debug, Default)]
struct RatedTimes {
    by_category: HashMap<CategoryId, Timestamp>,
    /// When products of an unknown category last did.
    any: Option<Timestamp>,
}

/// Products whose activity has been aggregated since the last call of [`BusyProducts::take`].
#[derive(Debug, Default)]
pub(crate) struct BusyProducts(Mutex<Busy>);

/// Products with newly aggregated activity.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// These products.
    These(HashSet<ProductId>),
    /// Too many to remember, or unknown ones.
    Any,
}

impl Default for Busy {
    fn default() -> Self {
        Self::These(HashSet::new())
    }
}

impl RatedCategories {
    /// Records that products of these categories moved.
    pub(crate) fn note(&self, categories: impl IntoIterator<Item = CategoryId>, now: Timestamp) {
        let mut known = lock(&self.0);
        for category in categories {
            known.by_category.insert(category, now);
        }
    }

    /// Records that products of unknown categories moved.
    pub(crate) fn note_any(&self, now: Timestamp) {
        lock(&self.0).any = Some(now);
    }

    /// Whether products of one of these categories, or of any, moved at this time or later.
    pub(crate) fn since(&self, categories: Option<&[CategoryId]>, since: Timestamp) -> bool {
        let known = lock(&self.0);
        let later = |moved: &Timestamp| *moved >= since;
        let rated = match categories {
            None => known.by_category.values().any(later),
            Some(ids) => {
                let rated = ids.iter().filter_map(|id| known.by_category.get(id));
                rated.into_iter().any(later)
            }
        };
        rated || known.any.as_ref().is_some_and(later)
    }
}

impl BusyProducts {
    /// Records products with newly aggregated activity.
    pub(crate) fn note(&self, products: impl IntoIterator<Item = ProductId>) {
        let mut busy = lock(&self.0);
        if let Busy::These(known) = &mut *busy {
            known.extend(products);
            if known.len() > MAX_BUSY {
                *busy = Busy::Any;
            }
        }
    }

    /// Records that the products with newly aggregated activity are unknown.
    pub(crate) fn note_any(&self) {
        *lock(&self.0) = Busy::Any;
    }

    /// Returns and clears the recorded products.
    pub(crate) fn take(&self) -> Busy {
        std::mem::take(&mut *lock(&self.0))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_knows_when_its_products_last_moved() {
        let at = |second: i64| Timestamp::from_millis(second * 1_000);
        let (one, other) = (CategoryId::from_i64(1), CategoryId::from_i64(2));
        let rated = RatedCategories::default();
        assert!(!rated.since(None, at(0)));
        rated.note([one], at(5));
        assert!(rated.since(None, at(5)) && !rated.since(None, at(6)));
        assert!(rated.since(Some(&[other, one]), at(4)));
        assert!(!rated.since(Some(&[other]), at(0)));
        rated.note_any(at(7));
        assert!(rated.since(Some(&[other]), at(7)) && !rated.since(None, at(8)));
    }

    #[test]
    fn too_many_products_are_not_remembered_individually() {
        let busy = BusyProducts::default();
        let product = ProductId::from_i64;
        busy.note([product(1), product(2), product(1)]);
        let two = HashSet::from([product(1), product(2)]);
        assert_eq!(busy.take(), Busy::These(two));
        assert_eq!(busy.take(), Busy::default());
        busy.note((0..=500_000).map(product));
        busy.note([product(1)]);
        assert_eq!(busy.take(), Busy::Any);
        busy.note_any();
        assert_eq!(busy.take(), Busy::Any);
    }
}
