//! Keeps extended references up to date: the copies of suppliers in products, and of products in
//! bundles.
//!
//! A product stores name and country of its supplier with the version they were copied at. A change
//! of the supplier increments its version; products with an older one are rewritten in batches,
//! with pauses, so that readers notice nothing. A bundle stores name and price of its items with
//! the revision they were copied at. A change of a product, and a write of a bundle, are recorded
//! in the same transaction (`stale_copies`), and the bundles are updated a moment later.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use vitrine_model::id::{ProductId, SupplierId};
use vitrine_model::product::{Bundle, BundleItem, Details, Product, ProductStatus};
use vitrine_model::supplier::Supplier;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::products::ProductKey;
use vitrine_storage::propagation::StaleCopy;
use vitrine_storage::views::ProductView;
use vitrine_storage::write::WriteUnit;
use vitrine_storage::{StorageError, retry_contended};

use crate::admin::bundles::copy;
use crate::{Catalog, DomainError};

/// The number of products per batch of a supplier's change.
const BATCH: u32 = 500;
/// The number of changed products and bundles per run.
const STALE_BATCH: u32 = 100;
/// The maximum number of bundles rewritten for a product in one run.
const MAX_BUNDLES: u32 = 100;
/// How often a sweep looks for products with an older version of their supplier: a product written
/// at the moment of a change may have missed it. With many suppliers less often: the pause is
/// [`SWEEP_SHARE`] times the duration of the sweep, up to [`MAX_SWEEP_PAUSE`].
const SWEEP: Duration = Duration::from_mins(1);
const MAX_SWEEP_PAUSE: Duration = Duration::from_mins(10);
const SWEEP_SHARE: u32 = 1_000;
/// How often a sweep looks for bundles with stale copies that are not recorded as such. Every
/// change of a product records them in its transaction; the sweep finds manual changes.
const BUNDLE_SWEEP: Duration = Duration::from_hours(24);
/// The maximum number of bundles recorded by one sweep.
const SWEEP_BATCH: u32 = 1_000;

/// What the supplier worker remembers between its runs.
#[derive(Debug, Default)]
pub struct PropagationState {
    sweep_at: Option<Instant>,
    /// Suppliers found by the sweep, whose own documents do not show that a product is behind.
    swept: HashMap<SupplierId, Supplier>,
    /// The number of products with an older version, counted when a change is first seen.
    behind: HashMap<SupplierId, u64>,
}

/// What the bundle worker remembers between its runs.
#[derive(Debug, Default)]
pub struct BundleState {
    sweep_at: Option<Instant>,
    /// Where the next run continues, so that failing products do not block the others.
    after: Option<ProductId>,
}

impl Catalog {
    /// Updates the copies of changed suppliers: at most 500 products per supplier. Can be
    /// interrupted at any point; the next call continues.
    ///
    /// # Errors
    /// The first error, if nothing could be updated. Otherwise failures only count as backlog.
    pub async fn propagate_suppliers(
        &self,
        state: &mut PropagationState,
    ) -> Result<WorkerRun, DomainError> {
        self.sweep_suppliers(state).await?;
        let changed = self.maintain(|store| async move { store.unpropagated_suppliers().await });
        let mut changed: HashMap<SupplierId, Supplier> = changed
            .await?
            .into_iter()
            .map(|one| (one.id, one))
            .collect();
        for (id, supplier) in &state.swept {
            changed.entry(*id).or_insert_with(|| supplier.clone());
        }
        state.behind.retain(|id, _| changed.contains_key(id));
        let (mut done, mut failed) = (0, None);
        for supplier in changed.into_values() {
            // One failing supplier does not block the others.
            match self.propagate(supplier, state).await {
                Ok(products) => done += products,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let backlog = state.behind.values().sum();
        let run = WorkerRun {
            done,
            backlog,
            ..WorkerRun::default()
        };
        run_or_error(run, failed)
    }

    async fn sweep_suppliers(&self, state: &mut PropagationState) -> Result<(), DomainError> {
        let began = Instant::now();
        if state.sweep_at.is_some_and(|at| began < at) {
            return Ok(());
        }
        let swept = self.maintain(|store| async move { store.suppliers_with_stale_copies().await });
        state.swept = swept.await?.into_iter().map(|one| (one.id, one)).collect();
        let rest = (began.elapsed() * SWEEP_SHARE).clamp(SWEEP, MAX_SWEEP_PAUSE);
        state.sweep_at = Some(Instant::now() + rest);
        Ok(())
    }

    async fn propagate(
        &self,
        supplier: Supplier,
        state: &mut PropagationState,
    ) -> Result<u64, DomainError> {
        let (of, now) = (supplier.clone(), self.now());
        let batch =
            self.maintain(|store| async move { store.propagate_supplier(&of, now, BATCH).await });
        let batch = batch.await?;
        let written = u64::try_from(batch.written).unwrap_or(u64::MAX);
        if let Some(error) = batch.failed {
            if written == 0 {
                return Err(error.into());
            }
            // Products that cannot be written are tried again once no others are left.
        } else if batch.found < BATCH as usize {
            state.behind.remove(&supplier.id);
            state.swept.remove(&supplier.id);
            self.maintain(|store| async move { store.mark_supplier_propagated(&supplier).await })
                .await?;
            return Ok(written);
        }
        let behind = match state.behind.get(&supplier.id) {
            // Never zero: the next run sees whether there are more.
            Some(behind) => behind.saturating_sub(written).max(1),
            None => self.count_stale_supplier_copies(&supplier).await?.max(1),
        };
        state.behind.insert(supplier.id, behind);
        Ok(written)
    }

    /// The number of products with an older version of a supplier. One command, answered by an
    /// index.
    pub async fn count_stale_supplier_copies(
        &self,
        supplier: &Supplier,
    ) -> Result<u64, DomainError> {
        let supplier = supplier.clone();
        self.maintain(|store| async move { store.count_stale_supplier_copies(&supplier).await })
            .await
    }

    /// Processes recorded changes of products and bundles, and rewrites bundles with stale copies.
    /// Can be interrupted at any point; the next call continues.
    ///
    /// # Errors
    /// The first error, if nothing could be rewritten. Otherwise failures only count as backlog.
    pub async fn refresh_bundles(&self, state: &mut BundleState) -> Result<WorkerRun, DomainError> {
        self.sweep_bundles(state).await?;
        let after = state.after.take();
        let due = self
            .maintain(|store| async move { store.stale_copies(after, STALE_BATCH).await })
            .await?;
        if due.len() >= STALE_BATCH as usize {
            state.after = due.last().map(|due| due.product);
        } else if due.is_empty() && after.is_none() {
            return Ok(WorkerRun::default());
        }
        let (mut rewritten, mut done, mut failed) = (0, Vec::new(), None);
        for one in due {
            match self.refresh_copies(one).await {
                Ok((bundles, all)) => {
                    rewritten += bundles;
                    match all {
                        Ok(all) => done.extend(all.then_some(one)),
                        Err(error) => failed = failed.or(Some(error.into())),
                    }
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let backlog = self
            .maintain(|store| async move {
                store.clear_stale_copies(&done).await?;
                store.count_stale_copies().await
            })
            .await?;
        let run = WorkerRun {
            done: rewritten,
            backlog,
            ..WorkerRun::default()
        };
        run_or_error(run, failed)
    }

    async fn sweep_bundles(&self, state: &mut BundleState) -> Result<(), DomainError> {
        let began = Instant::now();
        if state.sweep_at.is_some_and(|at| began < at) {
            return Ok(());
        }
        let noted = self
            .maintain(|store| async move { store.mark_stale_bundles(SWEEP_BATCH).await })
            .await?;
        if noted < SWEEP_BATCH as usize {
            state.sweep_at = Some(Instant::now() + BUNDLE_SWEEP);
        }
        Ok(())
    }

    /// Rewrites bundles with an older revision of a product, or the product itself if it is a
    /// bundle. Returns how many, and whether all are done, or why one of them failed.
    async fn refresh_copies(
        &self,
        due: StaleCopy,
    ) -> Result<(u64, Result<bool, StorageError>), DomainError> {
        let catalog = self.clone();
        self.maintain(|_| async move {
            let store = catalog.store();
            let key = ProductKey::Id(due.product);
            let Some(view) = store.get_product(&key, &ProductStatus::ALL).await? else {
                return Ok((0, Ok(true)));
            };
            let itself = matches!(view.details()?, Details::Bundle(_)).then_some(due.product);
            let revision = view.revision()?;
            let behind = store
                .stale_bundles(due.product, revision, MAX_BUNDLES)
                .await?;
            let (mut rewritten, mut all) = (0, Ok(behind.len() < MAX_BUNDLES as usize));
            for bundle in itself.into_iter().chain(behind) {
                match retry_contended(|| catalog.rewrite_bundle(bundle)).await {
                    Ok(one) => rewritten += one,
                    Err(error @ StorageError::Unavailable(_)) => {
                        return Ok((rewritten, Err(error)));
                    }
                    // One failing bundle does not block the others.
                    Err(error) => all = all.and(Err(error)),
                }
            }
            Ok((rewritten, all))
        })
        .await
    }

    /// Updates the copies in a bundle, if any is stale.
    async fn rewrite_bundle(&self, id: ProductId) -> Result<u64, StorageError> {
        let mut unit = self.store().begin_write().await?;
        match self.rewrite_bundle_in(&mut unit, id).await {
            Ok(true) => unit.commit_refreshed_bundle().await.map(|()| 1),
            other => {
                unit.abort().await;
                other.map(u64::from)
            }
        }
    }

    async fn rewrite_bundle_in(
        &self,
        unit: &mut WriteUnit,
        id: ProductId,
    ) -> Result<bool, StorageError> {
        let Some(view) = unit.product(id).await? else {
            return Ok(false);
        };
        let before = view.product()?;
        let Details::Bundle(bundle) = &before.details else {
            return Ok(false);
        };
        let ids: Vec<ProductId> = bundle.items.iter().map(|item| item.product_id).collect();
        let products = unit.products(&ids).await?;
        let Some(bundle) = refreshed(bundle, &products)? else {
            return Ok(false);
        };
        let (reference, revision) = (self.reference(), before.revision);
        // Not an edit: revision and date of the last change stay.
        let after = Product {
            price: bundle.price(),
            details: Details::Bundle(bundle),
            ..before
        };
        let encoding = self.encoding(&reference.units);
        unit.replace_product(&after, (revision, None), encoding)
            .await
    }
}

/// Reports an error only if nothing was written; until then it only counts as backlog, so that the
/// worker keeps its pace.
fn run_or_error(run: WorkerRun, failed: Option<DomainError>) -> Result<WorkerRun, DomainError> {
    match failed {
        Some(error) if run.done == 0 => Err(error),
        Some(_) => Ok(WorkerRun {
            backlog: run.backlog.max(1),
            ..run
        }),
        None => Ok(run),
    }
}

/// The bundle with current copies of its items; `None` if no copy is stale.
fn refreshed(bundle: &Bundle, products: &[ProductView]) -> Result<Option<Bundle>, StorageError> {
    let products: HashMap<ProductId, &ProductView> =
        products.iter().map(|view| (view.id(), view)).collect();
    let mut older = false;
    let mut items = Vec::with_capacity(bundle.items.len());
    for item in &bundle.items {
        let now = match products.get(&item.product_id) {
            Some(view) if view.revision()? > item.version => copy(view, item.quantity)?,
            _ => BundleItem::clone(item),
        };
        older |= now.version > item.version;
        items.push(now);
    }
    Ok(older.then_some(Bundle { items }))
}
