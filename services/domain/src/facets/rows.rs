//! Counting from rows in memory instead of reading products from the database.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use vitrine_model::facet::{FacetRow, FacetTally, RowFilter, RowTally, TallyFields, Vocabulary};
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::product::ProductStatus;
use vitrine_storage::facet_rows::RowsOf;

use crate::product_memory::ProductMemory;
use crate::product_memory::rows::{RowReading, RowSet};
use crate::products::{ListedProducts, Visibility};
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// The maximum number of products that are loaded together, unless one category has more. A request waits for that many;
/// more are loaded in the background.
const MAX_LOADED: u64 = 5_000;
/// The number of rows that are counted before other requests have their turn.
const ROWS_PER_TURN: usize = 4_096;

impl Catalog {
    /// Returns the rows among which all products of a condition are; `None` if they are not in memory. They reflect
    /// what a product in memory would.
    pub(super) async fn rows_for(
        &self,
        list: &ListedProducts,
        condition: &Condition,
        reference: &Reference,
    ) -> Result<Option<RowSet>, DomainError> {
        self.find_rows(list, condition, reference, true).await
    }

    /// Returns the number of products of a list, if the rows of its categories are in memory already.
    pub(crate) async fn count_loaded_rows(
        &self,
        list: &ListedProducts,
        condition: &Condition,
    ) -> Result<Option<u64>, DomainError> {
        let reference = self.reference();
        let rows = self.find_rows(list, condition, &reference, false).await?;
        match rows {
            Some(rows) => Ok(count(&rows, condition).await),
            None => Ok(None),
        }
    }

    async fn find_rows(
        &self,
        list: &ListedProducts,
        condition: &Condition,
        reference: &Reference,
        loads: bool,
    ) -> Result<Option<RowSet>, DomainError> {
        let is_public = list.query.visibility == Visibility::Public && list.search.is_none();
        let (true, Some(changes)) = (is_public, self.changes()) else {
            return Ok(None);
        };
        let Some(memory) = self.product_memory() else {
            return Ok(None);
        };
        if !loads && memory.rows().is_empty() {
            return Ok(None);
        }
        let counts = self.counts_after(changes).await?;
        let of_condition = categories_of(condition);
        let of_condition: Option<HashSet<&CategoryId>> =
            of_condition.map(|ids| ids.iter().collect());
        let categories: Vec<(CategoryId, u64)> = counts
            .by_size()
            .into_iter()
            .filter(|(id, _)| of_condition.as_ref().is_none_or(|ids| ids.contains(id)))
            .collect();
        let products = categories.iter().map(|(_, products)| products).sum();
        let ids: Vec<CategoryId> = categories.iter().map(|(id, _)| *id).collect();
        if !memory.rows().missing(&ids).is_empty() {
            if !loads || !memory.rows().has_room_for(products) {
                return Ok(None);
            }
            self.load_rows(memory, categories).await?;
        }
        self.refresh_rows(memory).await?;
        let rows = memory.rows().get(&ids);
        Ok(rows.filter(|rows| !is_renaming(rows, reference)))
    }

    /// Loads those of the categories that are not in memory: now, if they have few products.
    async fn load_rows(
        &self,
        memory: &Arc<ProductMemory>,
        categories: Vec<(CategoryId, u64)>,
    ) -> Result<(), DomainError> {
        let ids: Vec<CategoryId> = categories.iter().map(|(id, _)| *id).collect();
        let missing = memory.rows().missing(&ids);
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<_> = categories
            .into_iter()
            .filter(|(id, _)| missing.contains(id))
            .collect();
        let products: u64 = missing.iter().map(|(_, products)| products).sum();
        if products <= MAX_LOADED {
            return self.load_in_parts(memory, &missing).await;
        }
        let background = Arc::clone(&memory.rows().background);
        let Ok(only_one) = background.try_lock_owned() else {
            return Ok(());
        };
        let (catalog, memory) = (self.clone(), Arc::clone(memory));
        self.in_background(async move {
            if let Err(error) = catalog.load_in_parts(&memory, &missing).await {
                tracing::debug!(%error, "rows of products could not be loaded");
            }
            drop(only_one);
        });
        Ok(())
    }

    /// Loads categories in parts. Other requests may load theirs in between.
    async fn load_in_parts(
        &self,
        memory: &Arc<ProductMemory>,
        categories: &[(CategoryId, u64)],
    ) -> Result<(), DomainError> {
        let mut left = categories;
        while !left.is_empty() {
            let mut products = 0;
            let fits = |(_, own): &&(CategoryId, u64)| {
                products += own;
                products <= MAX_LOADED
            };
            let part = left.iter().take_while(fits).count().max(1);
            let (now, later) = left.split_at(part);
            left = later;
            let ids: Vec<CategoryId> = now.iter().map(|(id, _)| *id).collect();
            let _loading = memory.rows().loading.lock().await;
            // While this request waited, another may have loaded them.
            let ids = memory.rows().missing(&ids);
            if ids.is_empty() {
                continue;
            }
            let reading = memory.rows().begin_load();
            let rows = self
                .read_rows(RowsOf::Categories(ids.clone()), &reading)
                .await?;
            memory.rows().end_load(&reading, &ids, rows);
        }
        Ok(())
    }

    /// Reads the rows of changed products again.
    async fn refresh_rows(&self, memory: &Arc<ProductMemory>) -> Result<(), DomainError> {
        if !memory.rows().has_changed() {
            return Ok(());
        }
        let _refreshing = memory.rows().refreshing.lock().await;
        if let Some(reading) = memory.rows().begin_refresh() {
            let of = RowsOf::Products(reading.products());
            let rows = self.read_rows(of, &reading).await?;
            memory.rows().end_refresh(&reading, &rows);
        }
        Ok(())
    }

    async fn read_rows(
        &self,
        of: RowsOf,
        reading: &RowReading,
    ) -> Result<Vec<Arc<FacetRow>>, DomainError> {
        let words = Arc::clone(&reading.words);
        self.read(|store| async move { store.facet_rows(&of, &words).await })
            .await
    }
}

/// Counts the rows that match; `None` if rows cannot tell.
pub(super) async fn tally(
    rows: &RowSet,
    condition: &Condition,
    fields: &TallyFields,
) -> Option<FacetTally> {
    let (filter, mut tally) = {
        let words = read(rows);
        let filter = RowFilter::new(condition, ProductStatus::Active, &words)?;
        (filter, RowTally::new(fields.clone(), &words))
    };
    for_each_match(rows, &filter, |row, words| tally.add(row, words)).await;
    Some(tally.finish(&read(rows)))
}

/// The number of rows that match; `None` if rows cannot tell.
pub(super) async fn count(rows: &RowSet, condition: &Condition) -> Option<u64> {
    let filter = RowFilter::new(condition, ProductStatus::Active, &read(rows))?;
    let mut matching = 0;
    for_each_match(rows, &filter, |_, _| matching += 1).await;
    Some(matching)
}

/// Passes on each row that matches. Other requests have their turn in between.
async fn for_each_match(
    rows: &RowSet,
    filter: &RowFilter,
    mut each: impl FnMut(&FacetRow, &Vocabulary),
) {
    let mut turn = 0;
    for part in rows
        .categories
        .iter()
        .flat_map(|rows| rows.chunks(ROWS_PER_TURN))
    {
        {
            let words = read(rows);
            let matching = part.iter().filter(|row| filter.matches(row));
            matching.for_each(|row| each(row, &words));
        }
        turn += part.len();
        if turn >= ROWS_PER_TURN {
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
}

fn read(rows: &RowSet) -> std::sync::RwLockReadGuard<'_, Vocabulary> {
    rows.words.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether products have a key under a name that is being replaced. Rows have the stored names, and two names of one
/// key cannot be counted as one.
fn is_renaming(rows: &RowSet, reference: &Reference) -> bool {
    let words = read(rows);
    let mut keys = reference.dictionary.keys().iter();
    keys.any(|key| key.absorbing.iter().any(|name| words.contains(name)))
}

/// The categories that all products of a condition are in; `None` for any.
fn categories_of(condition: &Condition) -> Option<&[CategoryId]> {
    match condition {
        Condition::Category(ids) => Some(ids),
        Condition::All(parts) => parts.iter().find_map(categories_of),
        _ => None,
    }
}
