//! Facets in the memory of the process: those of whole categories ready to be shown, and panels that were counted from
//! rows.
//!
//! Only facets that are up to date are kept, and only while [products are](crate::product_memory): they are
//! not used any more when the change stream reports that a category has changed, and when a write of this process
//! has ended that changes what they count. A panel is used as long as none of the rows that it was counted from has
//! changed.

use std::sync::{Arc, Mutex, PoisonError};

use moka::sync::Cache;
use vitrine_model::facet::Panel;

use super::Facet;
use crate::category_counts::CategoryCounts;
use crate::product_memory::rows::{RowSet, RowsVersion};
use crate::{Catalog, DomainError};

/// The maximum size of the facets of whole categories.
const MAX_BYTES: u64 = 8_000_000;
/// The size of all panels, as a part of that of the products in memory.
const PART_OF_PRODUCTS: u64 = 8;
/// What a value takes, about.
const VALUE_BYTES: usize = 200;
/// What an entry takes beside its values and what was asked, about.
const ENTRY_BYTES: usize = 200;
/// What a panel takes beside its values and what was asked, about.
const PANEL_BYTES: usize = 800;

/// The facets in memory, and what they are counted with.
pub(crate) struct FacetMemory {
    /// By request.
    facets: Cache<String, Remembered>,
    /// By all that a count depends on beside the rows.
    panels: Cache<String, KeptPanel>,
    counts: Mutex<Option<(Changes, Arc<CategoryCounts>)>>,
}

#[derive(Clone)]
struct Remembered {
    facets: Arc<Vec<Facet>>,
    read_after: Changes,
}

#[derive(Clone)]
struct KeptPanel {
    panel: Arc<Panel>,
    /// The version of the rows that it was counted from.
    version: RowsVersion,
}

/// How many changes there had been when facets began to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Changes that the change stream has reported.
    reported: u64,
    /// Writes of this process.
    own: u64,
}

impl FacetMemory {
    /// Returns an empty memory beside products of this size.
    pub(crate) fn new(product_bytes: u64) -> Self {
        let facets = |asked: &String, one: &Remembered| {
            let values = one.facets.iter().map(|facet| facet.values.len() + 1);
            ENTRY_BYTES + asked.len() + VALUE_BYTES * (values.sum::<usize>() + 1)
        };
        let panels = |asked: &String, kept: &KeptPanel| {
            PANEL_BYTES + asked.len() + VALUE_BYTES * kept.panel.values()
        };
        Self {
            facets: cache(MAX_BYTES, facets),
            panels: cache(product_bytes / PART_OF_PRODUCTS, panels),
            counts: Mutex::default(),
        }
    }
}

/// Returns a cache of this size.
fn cache<T: Clone + Send + Sync + 'static>(
    max_bytes: u64,
    bytes: impl Fn(&String, &T) -> usize + Send + Sync + 'static,
) -> Cache<String, T> {
    let weight =
        move |asked: &String, kept: &T| u32::try_from(bytes(asked, kept)).unwrap_or(u32::MAX);
    let cache = Cache::builder().max_capacity(max_bytes).weigher(weight);
    cache.build()
}

impl std::fmt::Debug for FacetMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FacetMemory").finish_non_exhaustive()
    }
}

impl Catalog {
    /// Returns how many changes there have been; `None` when nothing may be taken from memory.
    pub(crate) fn changes(&self) -> Option<Changes> {
        let memory = self.product_memory()?;
        memory.is_current().then(|| Changes {
            reported: memory.counts(),
            own: self.store().counted_writes(),
        })
    }

    /// Returns the facets in memory for this request, if nothing has changed since.
    pub(super) fn remembered_facets(&self, asked: &str, now: Changes) -> Option<Arc<Vec<Facet>>> {
        let found = self.facet_memory().facets.get(asked)?;
        (found.read_after == now).then_some(found.facets)
    }

    /// Remembers facets that were read after these changes. An answer without facets is found as fast.
    pub(super) fn remember_facets(
        &self,
        asked: String,
        read_after: Changes,
        facets: &Arc<Vec<Facet>>,
    ) {
        if facets.is_empty() {
            return;
        }
        let remembered = Remembered {
            facets: Arc::clone(facets),
            read_after,
        };
        self.facet_memory().facets.insert(asked, remembered);
    }

    /// Returns a panel that was counted from these rows, if none of them has changed since.
    pub(super) fn kept_panel(&self, asked: &str, rows: &RowSet) -> Option<Arc<Panel>> {
        let kept = self.facet_memory().panels.get(asked)?;
        (kept.version == rows.version()).then_some(kept.panel)
    }

    /// Keeps a panel that was counted from rows of this version.
    pub(super) fn keep_panel(&self, asked: String, version: RowsVersion, panel: &Arc<Panel>) {
        let panel = Arc::clone(panel);
        let kept = KeptPanel { panel, version };
        self.facet_memory().panels.insert(asked, kept);
    }

    /// Returns the number of products in each category, from memory if there was no change since.
    pub(crate) async fn counts_after(
        &self,
        changes: Changes,
    ) -> Result<Arc<CategoryCounts>, DomainError> {
        let counts = || {
            let counts = self.facet_memory().counts.lock();
            counts.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((_, counts)) = counts().as_ref().filter(|(after, _)| *after == changes) {
            return Ok(Arc::clone(counts));
        }
        let read = self.own_counts().await?;
        *counts() = Some((changes, Arc::clone(&read)));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::facet::Panel;

    use super::*;

    /// The sum of the lengths of all keys.
    fn asked<T: Clone + Send + Sync + 'static>(cache: &Cache<String, T>) -> u64 {
        cache.run_pending_tasks();
        let lengths = cache.iter().map(|(asked, _)| asked.len());
        u64::try_from(lengths.sum::<usize>()).unwrap()
    }

    #[test]
    fn what_was_asked_counts_as_memory() {
        let memory = FacetMemory::new(8 * MAX_BYTES);
        let long = "and ".repeat(1_000);
        for n in 0..10_000 {
            let key = format!("{long}{n}");
            let remembered = Remembered {
                facets: Arc::default(),
                read_after: Changes {
                    reported: 0,
                    own: 0,
                },
            };
            let kept = KeptPanel {
                panel: Arc::new(Panel::default()),
                version: RowsVersion::of(std::iter::empty()),
            };
            memory.facets.insert(key.clone(), remembered);
            memory.panels.insert(key, kept);
        }
        for kept in [asked(&memory.facets), asked(&memory.panels)] {
            assert!((1..=MAX_BYTES).contains(&kept), "{kept}");
        }
    }
}
