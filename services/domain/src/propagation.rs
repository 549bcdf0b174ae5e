//! Carrying changes of suppliers to their products.
//!
//! Each product carries name and country of its supplier with the version they were copied at. A
//! change of the supplier raises its version; products with an older one are rewritten in batches.
//! A product is read and written in one transaction, so neither an older version nor a concurrent
//! edit can win over a newer one.

use std::time::{Duration, Instant};

use vitrine_model::id::ProductId;
use vitrine_model::product::Product;
use vitrine_model::supplier::Supplier;
use vitrine_storage::{StorageError, retry_contended};

use crate::{Catalog, DomainError};

/// How many products are rewritten in one transaction.
const BATCH: u32 = 100;
/// How often suppliers whose products should all be up to date are looked at again: a product
/// written in the very moment of a change may have missed it.
const SWEEP: Duration = Duration::from_mins(1);

/// What the worker that carries changes remembers between its passes.
#[derive(Debug, Default)]
pub struct PropagationUpkeep {
    swept: Option<Instant>,
}

impl Catalog {
    /// Rewrites products that carry an older version of their supplier; gives how many. Killed at
    /// any point, the next call goes on.
    ///
    /// # Errors
    /// The first [`DomainError`] met; what could be carried is carried.
    pub async fn propagate_suppliers(
        &self,
        upkeep: &mut PropagationUpkeep,
    ) -> Result<u64, DomainError> {
        let sweep = upkeep.swept.is_none_or(|at| at.elapsed() >= SWEEP);
        let store = self.store().clone();
        let changed = self
            .shielded(async move { store.changed_suppliers(sweep).await })
            .await?;
        let (mut total, mut failed) = (0, None);
        for supplier in changed {
            // One that cannot be carried on does not keep others from it.
            match self.propagate(supplier).await {
                Ok(products) => total += products,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if sweep {
            upkeep.swept = Some(Instant::now());
        }
        failed.map_or(Ok(total), Err)
    }

    async fn propagate(&self, supplier: Supplier) -> Result<u64, DomainError> {
        let mut total = 0;
        loop {
            let (store, of) = (self.store().clone(), supplier.clone());
            let behind = self
                .shielded(async move { store.products_behind(&of, BATCH).await })
                .await?;
            if behind.is_empty() {
                let store = self.store().clone();
                self.shielded(async move { store.supplier_propagated(&supplier).await })
                    .await?;
                return Ok(total);
            }
            total += self.carry_to(behind, &supplier).await?;
        }
    }

    /// Rewrites products together, or each alone when other writers are met.
    async fn carry_to(
        &self,
        products: Vec<ProductId>,
        supplier: &Supplier,
    ) -> Result<u64, DomainError> {
        let (catalog, supplier) = (self.clone(), supplier.clone());
        self.shielded(async move {
            match catalog.carry_together(&products, &supplier).await {
                Err(StorageError::Contended(_)) => {}
                result => return result,
            }
            let mut total = 0;
            for product in products {
                let one = [product];
                total += retry_contended(|| catalog.carry_together(&one, &supplier)).await?;
            }
            Ok(total)
        })
        .await
    }

    async fn carry_together(
        &self,
        products: &[ProductId],
        supplier: &Supplier,
    ) -> Result<u64, StorageError> {
        let (reference, now) = (self.reference(), self.now());
        let mut unit = self.store().begin_write().await?;
        let mut rewritten = 0;
        for id in products {
            let Some(view) = unit.product(*id).await? else {
                continue;
            };
            let before = view.product()?;
            let is_behind = before.supplier.as_ref().is_some_and(|extract| {
                extract.id == supplier.id && extract.version < supplier.version
            });
            if !is_behind {
                continue;
            }
            let revision = before.revision;
            // No edit by an admin: revision and date of the last change stay.
            let after = Product {
                supplier: Some(supplier.extract(now)),
                ..before
            };
            let encoding = self.encoding(&reference.units);
            if unit.replace_product(&after, revision, encoding).await? {
                rewritten += 1;
            }
        }
        unit.commit().await.map(|()| rewritten)
    }
}
