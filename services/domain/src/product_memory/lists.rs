//! Lists whose ids come from rows in memory or from an index, and whose products come from memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use vitrine_model::cursor::{KeyValue, Position};
use vitrine_model::facet::{RowFilter, RowPlace, RowSort, page_of_rows};
use vitrine_model::id::ProductId;
use vitrine_model::product::ProductStatus;
use vitrine_storage::keyset::{Boundary, Page, PageRequest, Row, Stopped};
use vitrine_storage::products::{ProductFields, ProductList};
use vitrine_storage::views::ProductView;

use super::rows::{SortedRows, read};
use crate::facets::rows::{Purpose, is_renaming};
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

/// The maximum number of rows that a list examines. The database finds rare products faster.
const MAX_EXAMINED: usize = 4_096;
/// The maximum number of rows that are sorted on a thread of the runtime; more are sorted beside it.
const MAX_SORTED_AT_ONCE: usize = 8_192;

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
            return self.read_products(list, request, visibility).await;
        };
        let page = if let Some(page) = self.page_of_rows(list, request, visibility).await? {
            page
        } else {
            let of_ids = ProductList {
                fields: ProductFields::Id,
                ..list.clone()
            };
            let page = self.read_products(&of_ids, request, visibility).await?;
            page.map(|view| view.id())
        };
        let ids = page.rows.iter().map(|row| row.value).collect();
        let found = self.remembered_products(&memory, ids).await?;
        memory
            .list_hit_rate
            .record(found.in_memory, page.rows.len());
        let mut rows = Vec::with_capacity(page.rows.len());
        let end = end(&page.rows, request);
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
        let (more, kept) = (page.more, self::end(&rows, request));
        Ok(Page {
            rows,
            more,
            stopped: page.stopped.or_else(|| left_out(end, kept.as_ref())),
        })
    }

    /// Returns a page of a list from rows in memory; `None` if they are not there, or cannot tell without more work than
    /// the database would have.
    pub(crate) async fn page_of_rows(
        &self,
        list: &ProductList,
        request: &PageRequest,
        visibility: Visibility,
    ) -> Result<Option<Page<ProductId>>, DomainError> {
        let by_field = list.by_spec.is_none() && list.ranking.is_none() && !list.partial;
        let is_public = visibility == Visibility::Public;
        let Some(by) = RowSort::of(list.sort.key).filter(|_| by_field && is_public) else {
            return Ok(None);
        };
        let (Some(memory), Some(from)) = (self.product_memory(), place(&request.from)) else {
            return Ok(None);
        };
        if !RowFilter::covers(&list.condition) {
            return Ok(None);
        }
        let prepared = self.prepare_rows(memory, &list.condition, Purpose::List);
        let ids = match prepared.await {
            Ok(Some(ids)) => ids,
            Ok(None) => return Ok(None),
            // The database may still answer.
            Err(error) => {
                tracing::debug!(%error, "rows of products could not be used");
                return Ok(None);
            }
        };
        let sorted = if memory.rows().unsorted(&ids, by) > MAX_SORTED_AT_ONCE {
            let memory = Arc::clone(memory);
            let sort = tokio::task::spawn_blocking(move || memory.rows().sorted(&ids, by));
            sort.await.unwrap_or_default()
        } else {
            memory.rows().sorted(&ids, by)
        };
        let Some(SortedRows { words, categories }) = sorted else {
            return Ok(None);
        };
        let filter = {
            let words = read(&words);
            if is_renaming(&words, &self.reference()) {
                return Ok(None);
            }
            RowFilter::new(&list.condition, ProductStatus::Active, &words)
        };
        let Some(filter) = filter else {
            return Ok(None);
        };
        let limits = (request.size, MAX_EXAMINED);
        let page = page_of_rows(&categories, &filter, list.sort.direction, from, limits);
        let row = |row: RowPlace| Row {
            value: row.id,
            position: position(by, row),
        };
        Ok(page.map(|page| Page {
            rows: page.rows.into_iter().map(row).collect(),
            more: page.more,
            stopped: None,
        }))
    }

    async fn read_products(
        &self,
        list: &ProductList,
        request: &PageRequest,
        visibility: Visibility,
    ) -> Result<Page<ProductView>, DomainError> {
        let (list, request) = (self.limited(list, visibility).await?, request.clone());
        self.read(|store| async move { store.page_products(&list, &request).await })
            .await
    }
}

/// Returns where a page ends whose last row was left out: otherwise a page without rows would have no cursor to continue at.
fn left_out(end: Option<Position>, kept: Option<&Position>) -> Option<Stopped> {
    let at = end.filter(|end| kept != Some(end))?;
    Some(Stopped {
        at,
        looked_through: None,
    })
}

/// Returns the position of the row that the next page begins after.
fn end<T>(rows: &[Row<T>], request: &PageRequest) -> Option<Position> {
    let row = match request.from {
        Boundary::After(_) => rows.last(),
        Boundary::Before(_) => rows.first(),
    };
    row.map(|row| row.position.clone())
}

/// Returns where a page begins, and whether it is read backwards; `None` for a position that no row has.
fn place(from: &Boundary) -> Option<(Option<RowPlace>, bool)> {
    let (position, backward) = match from {
        Boundary::After(position) => (position, false),
        Boundary::Before(position) => (position, true),
    };
    let place = |position: &Position| {
        let value = match position.keys.as_slice() {
            [KeyValue::Absent] => None,
            [KeyValue::Int(n) | KeyValue::Instant(n)] => Some(*n),
            _ => return None,
        };
        let id = ProductId::from_i64(position.id);
        Some(RowPlace { value, id })
    };
    match position {
        None => Some((None, backward)),
        Some(position) => Some((Some(place(position)?), backward)),
    }
}

/// Returns the position that the database would give a row.
fn position(by: RowSort, row: RowPlace) -> Position {
    let key = row.value.map_or(KeyValue::Absent, |n| match by {
        RowSort::Newest | RowSort::Updated => KeyValue::Instant(n),
        RowSort::Price
        | RowSort::Rating
        | RowSort::Popularity
        | RowSort::BestSelling
        | RowSort::Trending => KeyValue::Int(n),
    });
    Position {
        keys: vec![key],
        id: row.id.to_i64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_its_last_row_even_if_that_was_left_out() {
        let row = |id| Row {
            value: (),
            position: Position {
                keys: vec![KeyValue::Int(1)],
                id,
            },
        };
        let rows = [row(3), row(2), row(1)];
        let request = |from| PageRequest { size: 3, from };
        let (forward, backward) = (
            request(Boundary::After(None)),
            request(Boundary::Before(None)),
        );
        let stopped = |kept: &[Row<()>], request| {
            let stopped = left_out(end(&rows, request), end(kept, request).as_ref());
            stopped.map(|stopped| stopped.at.id)
        };
        assert_eq!(stopped(&rows, &forward), None);
        assert_eq!(stopped(&rows[1..], &forward), None, "the last row is there");
        assert_eq!(stopped(&rows[..2], &forward), Some(1));
        assert_eq!(stopped(&[], &forward), Some(1));
        assert_eq!(stopped(&rows[1..], &backward), Some(3));
    }

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
