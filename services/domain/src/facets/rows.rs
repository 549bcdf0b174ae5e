//! Rows in memory, brought up to date, and counting from them instead of reading products from the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vitrine_model::facet::{
    CategoryRows, FacetRow, FacetTally, RowFilter, RowTally, TallyFields, Vocabulary,
};
use vitrine_model::filter::Condition;
use vitrine_model::id::CategoryId;
use vitrine_model::product::ProductStatus;
use vitrine_storage::facet_rows::RowsOf;

use crate::product_memory::ProductMemory;
use crate::product_memory::rows::{RowReading, RowSet, RowsVersion, by_category, read};
use crate::products::{ListedProducts, Visibility};
use crate::reference::Reference;
use crate::{Catalog, DomainError};

/// The maximum number of products that are loaded together, unless one category has more. A request waits for that many;
/// more are loaded in the background.
const MAX_LOADED: u64 = 5_000;
/// The time after which other requests have their turn, at the next category.
const MAX_TURN: Duration = Duration::from_micros(100);
/// The maximum number of categories that a list merges.
const MAX_MERGED: usize = 64;
/// The maximum number of changed products that a list waits for. Meanwhile lists come from the database.
const MAX_REFRESHED: usize = 100;

/// What rows are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Rows that are not in memory are loaded first: without them, as many products would be read.
    Facets,
    /// Only rows in memory are used.
    Total,
    /// Rows of categories that are listed often are loaded for later lists.
    List,
}

impl Catalog {
    /// Returns the rows among which all products of a condition are; `None` if they are not in memory. They reflect
    /// what a product in memory would.
    pub(super) async fn rows_for(
        &self,
        list: &ListedProducts,
        condition: &Condition,
        reference: &Reference,
    ) -> Result<Option<RowSet>, DomainError> {
        self.find_rows(list, condition, reference, Purpose::Facets)
            .await
    }

    /// Returns the number of products of a list, if the rows of its categories are in memory already.
    pub(crate) async fn count_loaded_rows(
        &self,
        list: &ListedProducts,
        condition: &Condition,
    ) -> Result<Option<u64>, DomainError> {
        let reference = self.reference();
        let rows = self.find_rows(list, condition, &reference, Purpose::Total);
        match rows.await? {
            Some(rows) => Ok(count(&rows, condition).await),
            None => Ok(None),
        }
    }

    async fn find_rows(
        &self,
        list: &ListedProducts,
        condition: &Condition,
        reference: &Reference,
        purpose: Purpose,
    ) -> Result<Option<RowSet>, DomainError> {
        let is_public = list.query.visibility == Visibility::Public && list.search.is_none();
        let (true, Some(memory)) = (is_public, self.product_memory()) else {
            return Ok(None);
        };
        let Some(ids) = self.prepare_rows(memory, condition, purpose).await? else {
            return Ok(None);
        };
        let rows = memory.rows().get(&ids);
        Ok(rows.filter(|rows| !is_renaming(&read(&rows.words), reference)))
    }

    /// Returns the categories of a condition, after reading again what has changed of their rows; `None` if not all of
    /// them can be counted or listed from rows.
    pub(crate) async fn prepare_rows(
        &self,
        memory: &Arc<ProductMemory>,
        condition: &Condition,
        purpose: Purpose,
    ) -> Result<Option<Vec<CategoryId>>, DomainError> {
        let Some(changes) = self.changes() else {
            return Ok(None);
        };
        let rows = memory.rows();
        if purpose == Purpose::Total && rows.is_empty() {
            return Ok(None);
        }
        let (_, changed) = rows.changes();
        if purpose == Purpose::List && changed > MAX_REFRESHED {
            self.refresh_in_background(memory);
            return Ok(None);
        }
        let counts = self.counts_after(changes).await?;
        let mut categories = match categories_of(condition) {
            Some(ids) => counts.by_size_among(ids),
            None => counts.by_size(),
        };
        let filled = categories.iter().filter(|(_, products)| *products > 0);
        if purpose == Purpose::List && filled.count() > MAX_MERGED {
            return Ok(None);
        }
        // The database does not believe the counts either: a list has the products of every category that it names.
        if purpose != Purpose::List {
            categories.retain(|(_, products)| *products > 0);
        }
        let ids: Vec<CategoryId> = categories.iter().map(|(id, _)| *id).collect();
        let missing = rows.missing(&ids);
        let missing: Vec<_> = categories
            .iter()
            .filter(|(id, _)| missing.contains(id))
            .copied()
            .collect();
        if !missing.is_empty() {
            match purpose {
                Purpose::Facets => {
                    let products = categories.iter().map(|(_, products)| products).sum();
                    if !rows.has_room_for(products) {
                        return Ok(None);
                    }
                    self.load_rows(memory, missing).await?;
                }
                Purpose::Total => return Ok(None),
                Purpose::List => {
                    if rows.missed(&missing) {
                        self.load_in_background(memory, missing);
                    }
                    return Ok(None);
                }
            }
        }
        let (change, _) = rows.changes();
        self.refresh_rows(memory, change).await?;
        Ok(Some(ids))
    }

    /// Reads the rows of changed products again without being waited for, unless they are being read.
    fn refresh_in_background(&self, memory: &Arc<ProductMemory>) {
        if memory.rows().refreshing.try_lock().is_err() {
            return;
        }
        let (catalog, memory) = (self.without_request(), Arc::clone(memory));
        self.in_background(async move {
            let (change, _) = memory.rows().changes();
            if let Err(error) = catalog.refresh_rows(&memory, change).await {
                tracing::debug!(%error, "rows of products could not be read again");
            }
        });
    }

    /// Loads categories: now, if they have few products.
    async fn load_rows(
        &self,
        memory: &Arc<ProductMemory>,
        missing: Vec<(CategoryId, u64)>,
    ) -> Result<(), DomainError> {
        let products: u64 = missing.iter().map(|(_, products)| products).sum();
        if products <= MAX_LOADED {
            return self.load_in_parts(memory, &missing).await;
        }
        self.load_in_background(memory, missing);
        Ok(())
    }

    /// Loads categories without being waited for, unless others are being loaded so.
    fn load_in_background(&self, memory: &Arc<ProductMemory>, missing: Vec<(CategoryId, u64)>) {
        let background = Arc::clone(&memory.rows().background);
        let Ok(only_one) = background.try_lock_owned() else {
            return;
        };
        let (catalog, memory) = (self.without_request(), Arc::clone(memory));
        self.in_background(async move {
            if let Err(error) = catalog.load_in_parts(&memory, &missing).await {
                tracing::debug!(%error, "rows of products could not be loaded");
            }
            drop(only_one);
        });
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
            let code = tokio::task::spawn_blocking(move || by_category(&ids, rows));
            let coded = code
                .await
                .map_err(|lost| DomainError::Internal(Box::new(lost)))?;
            memory.rows().end_load(&reading, coded);
        }
        Ok(())
    }

    /// Reads the rows of changed products again, unless they reflect all changes up to this one.
    async fn refresh_rows(
        &self,
        memory: &Arc<ProductMemory>,
        change: u64,
    ) -> Result<(), DomainError> {
        if memory.rows().reflect(change) {
            return Ok(());
        }
        let _refreshing = memory.rows().refreshing.lock().await;
        // While this request waited, another may have read them.
        if memory.rows().reflect(change) {
            return Ok(());
        }
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

/// Counts the rows that match; `None` if rows cannot tell. Returns also the version of the counted rows.
pub(super) async fn tally(
    rows: &RowSet,
    condition: &Condition,
    fields: &TallyFields,
    max_texts: usize,
) -> Option<(FacetTally, RowsVersion)> {
    let mut tally = RowTally::new(fields.clone(), max_texts);
    let mut versions = Vec::with_capacity(rows.categories.len());
    let is_complete = for_each_category(rows, condition, |rows, filter, words| {
        versions.push(rows.counted_version());
        tally.add(rows, filter, words);
    });
    let is_complete = is_complete.await;
    let version = RowsVersion::of(versions.into_iter());
    is_complete.then(|| (tally.finish(&read(&rows.words)), version))
}

/// Returns the number of rows that match; `None` if rows cannot tell.
pub(super) async fn count(rows: &RowSet, condition: &Condition) -> Option<u64> {
    let mut matching = 0;
    let is_complete = for_each_category(rows, condition, |rows, filter, _| {
        matching += rows.count(filter);
    });
    let is_complete = is_complete.await;
    is_complete.then_some(matching)
}

/// Passes on the rows of each category. Other requests have their turn between categories. A product that moves from one
/// category to another meanwhile may be met twice, or not at all. Returns false if rows cannot tell.
async fn for_each_category(
    rows: &RowSet,
    condition: &Condition,
    mut each: impl FnMut(&CategoryRows, &RowFilter, &Vocabulary),
) -> bool {
    let mut turn = Instant::now();
    for category in &rows.categories {
        {
            let (words, rows) = (read(&rows.words), read(category));
            // A filter knows no texts that were added after it was made, so each category gets a new one.
            let Some(filter) = RowFilter::new(condition, ProductStatus::Active, &words) else {
                return false;
            };
            each(&rows, &filter, &words);
        }
        if turn.elapsed() >= MAX_TURN {
            tokio::task::yield_now().await;
            turn = Instant::now();
        }
    }
    true
}

/// Whether products have a key under a name that is being replaced. Rows have the stored names, and two names of one
/// key cannot be counted as one.
pub(crate) fn is_renaming(words: &Vocabulary, reference: &Reference) -> bool {
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
