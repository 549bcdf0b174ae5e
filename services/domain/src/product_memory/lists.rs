//! Lists whose ids come from an index, and whose products come from memory.

use std::sync::atomic::{AtomicU32, Ordering};

use vitrine_storage::keyset::{Page, PageRequest, Row};
use vitrine_storage::products::{ProductFields, ProductList};
use vitrine_storage::views::ProductView;

use crate::products::Visibility;
use crate::{Catalog, DomainError};

/// The whole of a share, in the unit in which shares are kept.
const WHOLE: u32 = 1 << 16;
/// The least share of the products of recent lists that must have been in memory. The others are read
/// with a second command, and with their top reviews.
const MIN_SHARE: u32 = WHOLE / 4 * 3;
/// How many lists the share is an average of, roughly.
const LISTS: u32 = 16;
/// One of so many lists tries the memory although too little was in it, and fills it.
const TRIAL: u32 = 8;

/// How much of recent lists was in memory.
pub(super) struct ListShare {
    share: AtomicU32,
    left_out: AtomicU32,
}

impl Default for ListShare {
    fn default() -> Self {
        Self {
            share: AtomicU32::new(WHOLE),
            left_out: AtomicU32::new(0),
        }
    }
}

impl ListShare {
    /// Whether the next list should use the memory.
    fn pays(&self) -> bool {
        self.share.load(Ordering::Relaxed) >= MIN_SHARE
            || self.left_out.fetch_add(1, Ordering::Relaxed) % TRIAL == TRIAL - 1
    }

    /// Notes how many of the products of a list were in memory. Of two notes at the same time one may be lost.
    fn note(&self, found: usize, products: usize) {
        let Some(share) = (WHOLE as usize * found).checked_div(products) else {
            return;
        };
        let share = u32::try_from(share).unwrap_or(WHOLE);
        let known = self.share.load(Ordering::Relaxed);
        let average = (known / LISTS) * (LISTS - 1) + share / LISTS;
        self.share.store(average, Ordering::Relaxed);
    }
}

impl Catalog {
    /// A page of a list of products that the caller may see. With products in memory: one command for the ids and one
    /// for products that are not in memory; otherwise one command. One more where priced products end and unpriced ones
    /// begin.
    pub(crate) async fn page_of_products(
        &self,
        list: &ProductList,
        request: &PageRequest,
        visibility: Visibility,
    ) -> Result<Page<ProductView>, DomainError> {
        let memory = self.memory_for(request.size);
        let Some(memory) = memory.filter(|memory| memory.lists.pays()) else {
            return self.read_products(list.clone(), request).await;
        };
        let of_ids = ProductList {
            fields: ProductFields::Id,
            ..list.clone()
        };
        let page = self.read_products(of_ids, request).await?;
        let ids = page.rows.iter().map(|row| row.value.id()).collect();
        let found = self.remembered_products(&memory, ids).await?;
        memory.lists.note(found.in_memory, page.rows.len());
        let mut rows = Vec::with_capacity(page.rows.len());
        for row in page.rows {
            // A product may have been deleted or withdrawn a moment ago.
            let Some(value) = found.products.get(&row.value.id()) else {
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
        let lists = ListShare::default();
        let used = |of: usize| (0..of).filter(|_| lists.pays()).count();
        assert_eq!(used(100), 100);
        for _ in 0..10 {
            lists.note(0, 48);
        }
        assert_eq!(used(100 * TRIAL as usize), 100);
        for _ in 0..100 {
            lists.note(48, 48);
        }
        assert_eq!(used(100), 100);
        lists.note(0, 0);
        assert_eq!(used(100), 100);
    }
}
