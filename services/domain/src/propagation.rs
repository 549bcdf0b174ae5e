//! Copies that follow what they were copied from.
//!
//! Each product carries name and country of its supplier with the version they were copied at. A
//! change of the supplier raises its version; products with an older one are rewritten in batches,
//! with a pause in between, so that readers notice nothing. Likewise each bundle carries name and
//! price of its items with the revision they were copied at; a product that changes, and a bundle
//! that is written, is noted in the same transaction, and the bundles are looked at a moment later.

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

/// How many products are given a supplier's change at once.
const BATCH: u32 = 500;
/// How many products and bundles are looked at in one pass.
const DUE: u32 = 100;
/// How many bundles are rewritten for a product in one pass.
const BUNDLES: u32 = 100;
/// How often it is looked for products that carry an older version than their supplier says: one
/// written in the very moment of a change may have missed it. More rarely where there are many
/// suppliers: it rests so many times as long as it took to look, but not for longer than that.
const SWEEP: Duration = Duration::from_mins(1);
const MAX_SWEEP_PAUSE: Duration = Duration::from_mins(10);
const SWEEP_SHARE: u32 = 1_000;
/// How often it is looked for bundles that carry what is no longer so, although nothing was noted.
/// Whoever changes a product notes it in the same transaction; this finds what was written by hand.
const BUNDLE_SWEEP: Duration = Duration::from_hours(24);
/// How many of them are noted at once.
const NOTED: u32 = 1_000;

/// What the worker that carries changes of suppliers remembers between its passes.
#[derive(Debug, Default)]
pub struct PropagationUpkeep {
    sweep_at: Option<Instant>,
    /// Suppliers found by the sweep, who do not know themselves that a product is behind.
    found: HashMap<SupplierId, Supplier>,
    /// How many products are behind, counted when a change is first met.
    behind: HashMap<SupplierId, u64>,
}

/// What the worker that carries changes of products to bundles remembers between its passes.
#[derive(Debug, Default)]
pub struct BundleUpkeep {
    sweep_at: Option<Instant>,
    /// Behind which one it goes on, so that those that cannot be looked at keep no others from it.
    after: Option<ProductId>,
}

impl Catalog {
    /// Gives some products the newest version of their supplier: of each changed supplier at most
    /// 500. Killed at any point, the next call goes on.
    ///
    /// # Errors
    /// The first [`DomainError`] met, when nothing could be carried. As long as something can, the
    /// rest only counts as left.
    pub async fn propagate_suppliers(
        &self,
        maintenance: &mut PropagationUpkeep,
    ) -> Result<WorkerRun, DomainError> {
        self.sweep_suppliers(maintenance).await?;
        let changed = self.maintain(|store| async move { store.changed_suppliers().await });
        let mut changed: HashMap<SupplierId, Supplier> = changed
            .await?
            .into_iter()
            .map(|one| (one.id, one))
            .collect();
        for (id, supplier) in &maintenance.found {
            changed.entry(*id).or_insert_with(|| supplier.clone());
        }
        maintenance.behind.retain(|id, _| changed.contains_key(id));
        let (mut done, mut failed) = (0, None);
        for supplier in changed.into_values() {
            // One that cannot be carried on does not keep others from it.
            match self.propagate(supplier, maintenance).await {
                Ok(products) => done += products,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let backlog = maintenance.behind.values().sum();
        let run = WorkerRun {
            done,
            backlog,
            ..WorkerRun::default()
        };
        carried(run, failed)
    }

    async fn sweep_suppliers(
        &self,
        maintenance: &mut PropagationUpkeep,
    ) -> Result<(), DomainError> {
        let began = Instant::now();
        if maintenance.sweep_at.is_some_and(|at| began < at) {
            return Ok(());
        }
        let found = self.maintain(|store| async move { store.suppliers_carried_too_old().await });
        maintenance.found = found.await?.into_iter().map(|one| (one.id, one)).collect();
        let rest = (began.elapsed() * SWEEP_SHARE).clamp(SWEEP, MAX_SWEEP_PAUSE);
        maintenance.sweep_at = Some(Instant::now() + rest);
        Ok(())
    }

    async fn propagate(
        &self,
        supplier: Supplier,
        maintenance: &mut PropagationUpkeep,
    ) -> Result<u64, DomainError> {
        let (of, now) = (supplier.clone(), self.now());
        let batch =
            self.maintain(|store| async move { store.carry_supplier(&of, now, BATCH).await });
        let batch = batch.await?;
        let carried = u64::try_from(batch.written).unwrap_or(u64::MAX);
        if let Some(error) = batch.failed {
            if carried == 0 {
                return Err(error.into());
            }
            // Those that cannot be written are met again, when no others are left.
        } else if batch.found < BATCH as usize {
            maintenance.behind.remove(&supplier.id);
            maintenance.found.remove(&supplier.id);
            self.maintain(|store| async move { store.supplier_propagated(&supplier).await })
                .await?;
            return Ok(carried);
        }
        let behind = match maintenance.behind.get(&supplier.id) {
            // Never none: whether there are more is seen by the next pass.
            Some(behind) => behind.saturating_sub(carried).max(1),
            None => self.count_behind(&supplier).await?.max(1),
        };
        maintenance.behind.insert(supplier.id, behind);
        Ok(carried)
    }

    /// How many products carry an older version of a supplier. One command, over an index.
    pub async fn count_behind(&self, supplier: &Supplier) -> Result<u64, DomainError> {
        let supplier = supplier.clone();
        self.maintain(|store| async move { store.count_behind(&supplier).await })
            .await
    }

    /// Looks at some products that changed, and at bundles that were written, and rewrites bundles
    /// that carry what is no longer so. Killed at any point, the next call goes on.
    ///
    /// # Errors
    /// The first [`DomainError`] met, when nothing could be rewritten. As long as something can, the
    /// rest only counts as left.
    pub async fn refresh_bundles(
        &self,
        maintenance: &mut BundleUpkeep,
    ) -> Result<WorkerRun, DomainError> {
        self.sweep_bundles(maintenance).await?;
        let after = maintenance.after.take();
        let due = self
            .maintain(|store| async move { store.stale_copies(after, DUE).await })
            .await?;
        if due.len() >= DUE as usize {
            maintenance.after = due.last().map(|due| due.product);
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
                store.copies_done(&done).await?;
                store.count_stale_copies().await
            })
            .await?;
        let run = WorkerRun {
            done: rewritten,
            backlog,
            ..WorkerRun::default()
        };
        carried(run, failed)
    }

    async fn sweep_bundles(&self, maintenance: &mut BundleUpkeep) -> Result<(), DomainError> {
        let began = Instant::now();
        if maintenance.sweep_at.is_some_and(|at| began < at) {
            return Ok(());
        }
        let noted = self
            .maintain(|store| async move { store.note_stale_bundles(NOTED).await })
            .await?;
        if noted < NOTED as usize {
            maintenance.sweep_at = Some(Instant::now() + BUNDLE_SWEEP);
        }
        Ok(())
    }

    /// Rewrites bundles that carry an older revision of a product, or the bundle that it is. Gives
    /// how many, and whether these were all, or why one of them could not be.
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
            let behind = store.bundles_behind(due.product, revision, BUNDLES).await?;
            let (mut rewritten, mut all) = (0, Ok(behind.len() < BUNDLES as usize));
            for bundle in itself.into_iter().chain(behind) {
                match retry_contended(|| catalog.rewrite_bundle(bundle)).await {
                    Ok(one) => rewritten += one,
                    Err(error @ StorageError::Unavailable(_)) => {
                        return Ok((rewritten, Err(error)));
                    }
                    // One that cannot be rewritten does not keep others from it.
                    Err(error) => all = all.and(Err(error)),
                }
            }
            Ok((rewritten, all))
        })
        .await
    }

    /// Gives a bundle what its items are now, if it carries anything older.
    async fn rewrite_bundle(&self, id: ProductId) -> Result<u64, StorageError> {
        let mut unit = self.store().begin_write().await?;
        match self.rewrite_bundle_in(&mut unit, id).await {
            Ok(true) => unit.commit_copies().await.map(|()| 1),
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
        let Some(bundle) = renewed(bundle, &products)? else {
            return Ok(false);
        };
        let (reference, revision) = (self.reference(), before.revision);
        // No edit by an admin: revision and date of the last change stay.
        let after = Product {
            price: bundle.price(),
            details: Details::Bundle(bundle),
            ..before
        };
        let encoding = self.encoding(&reference.units);
        unit.replace_product(&after, revision, encoding).await
    }
}

/// What a run came to. What cannot be written is a failure once nothing else is written; until then
/// it is only left, so that it slows nothing down.
fn carried(run: WorkerRun, failed: Option<DomainError>) -> Result<WorkerRun, DomainError> {
    match failed {
        Some(error) if run.done == 0 => Err(error),
        Some(_) => Ok(WorkerRun {
            backlog: run.backlog.max(1),
            ..run
        }),
        None => Ok(run),
    }
}

/// The bundle with its items as they are now; `None` when it carries nothing older.
fn renewed(bundle: &Bundle, products: &[ProductView]) -> Result<Option<Bundle>, StorageError> {
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
