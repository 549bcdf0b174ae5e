//! Lists whose ids come from rows in memory or from an index, and whose products come from memory.

use std::sync::atomic::{AtomicU32, Ordering};

use vitrine_storage::keyset::{Page, PageRequest, Row};
use vitrine_storage::products::{ProductFields, ProductList};
use vitrine_storage::views::ProductView;

use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// A hit rate of 100 %, as hit rates are stored.
const WHOLE: u32 = 1 << 16;
/// The hit rate of recent lists from which on lists use the memory. Products that are not in memory are read with a
/// second command, and with their top reviews.
const MIN_HIT_RATE: u32 = WHOLE / 4 * 3;
/// The number of recent lists that the rate is averaged over, roughly.
const AVERAGED_LISTS: u32 = 16;
/// Below that rate, one of this many lists uses the memory all the same, and fills it.
const TRIAL_INTERVAL: u32 = 8;

/// The share of the products of recent lists that were in memory.
pub(super) struct ListHitRate {
    rate: AtomicU32,
    skipped: AtomicU32,
}

impl Default for ListHitRate {
    fn default() -> Self {
        Self {
            rate: AtomicU32::new(WHOLE),
            skipped: AtomicU32::new(0),
        }
    }
}

impl ListHitRate {
    /// Whether the next list uses the memory.
    fn uses_memory(&self) -> bool {
        self.rate.load(Ordering::Relaxed) >= MIN_HIT_RATE
            || self.skipped.fetch_add(1, Ordering::Relaxed) % TRIAL_INTERVAL == TRIAL_INTERVAL - 1
    }

    /// Records how many of the products of a list were in memory. Of two records at the same time one may be lost.
    fn record(&self, found: usize, products: usize) {
        let Some(rate) = (WHOLE as usize * found).checked_div(products) else {
            return;
        };
        let rate = u32::try_from(rate).unwrap_or(WHOLE);
        let known = self.rate.load(Ordering::Relaxed);
        let average = (known / AVERAGED_LISTS) * (AVERAGED_LISTS - 1) + rate / AVERAGED_LISTS;
        self.rate.store(average, Ordering::Relaxed);
    }
}

impl Catalog {
    /// A page of a list of products that the caller may see. With products in memory: one command for the ids, none if
    /// they come from rows, and one for products that are not in memory; otherwise one command. One more where priced
    /// products end and unpriced ones begin.
    pub(crate) async fn page_of_products(
        &self,
        list: &ProductList,
        request: &PageRequest,
        visibility: Visibility,
    ) -> Result<Page<ProductView>, DomainError> {
        let memory = self.memory_for(request.size);
        let Some(memory) = memory.filter(|memory| memory.list_hit_rate.uses_memory()) else {
            return self.read_products(list.clone(), request).await;
        };
        let page = if let Some(page) = self.page_of_rows(list, request, visibility).await? {
            page
        } else {
            let of_ids = ProductList {
                fields: ProductFields::Id,
                ..list.clone()
            };
            let page = self.read_products(of_ids, request).await?;
            page.map(|view| view.id())
        };
        let ids = page.rows.iter().map(|row| row.value).collect();
        let found = self.remembered_products(&memory, ids).await?;
        memory
            .list_hit_rate
            .record(found.in_memory, page.rows.len());
        let mut rows = Vec::with_capacity(page.rows.len());
        for row in page.rows {
            // A product may have been deleted or withdrawn a moment ago.
            let Some(value) = found.products.get(&row.value) else {
                continue;
            };
            if visibility.shows(value)? {
                rows.push(Row {
                    value: value.clone(),
                    position: row.position,
                });
            }
        }
        let more = page.more;
        Ok(Page { rows, more })
    }

    async fn read_products(
        &self,
        list: ProductList,
        request: &PageRequest,
    ) -> Result<Page<ProductView>, DomainError> {
        let request = request.clone();
        self.read(|store| async move { store.page_products(&list, &request).await })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_use_the_memory_while_most_of_them_is_in_it() {
        let lists = ListHitRate::default();
        let used = |of: usize| (0..of).filter(|_| lists.uses_memory()).count();
        assert_eq!(used(100), 100);
        for _ in 0..10 {
            lists.record(0, 48);
        }
        assert_eq!(used(100 * TRIAL_INTERVAL as usize), 100);
        for _ in 0..100 {
            lists.record(48, 48);
        }
        assert_eq!(used(100), 100);
        lists.record(0, 0);
        assert_eq!(used(100), 100);
    }
}
