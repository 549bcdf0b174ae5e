//! What workers call: reconcilers that take no input, may run at any time and any number of times,
//! and say what they did.

use vitrine_model::id::ProductId;
use vitrine_storage::StorageError;
use vitrine_storage::audit::Difference;
use vitrine_storage::fold::Folded;

use crate::{Catalog, DomainError};

/// How many products are folded in one transaction when many wait.
const GROUP: usize = 100;

impl Catalog {
    /// Brings the computed data of all products up to date with their reviews. Reads one small
    /// index when nothing is to be done.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; what was folded before stays folded.
    pub async fn fold_pending(&self) -> Result<Folded, DomainError> {
        let mut total = Folded::default();
        loop {
            let store = self.store().clone();
            let waiting = self
                .shielded(async move { store.products_to_fold(GROUP).await })
                .await?;
            let folded = self.fold_group(waiting).await?;
            total.reviews += folded.reviews;
            total.products += folded.products;
            if folded.reviews == 0 {
                return Ok(total);
            }
        }
    }

    /// Folds some products together, or each alone when together they meet other writers.
    async fn fold_group(&self, products: Vec<ProductId>) -> Result<Folded, DomainError> {
        if products.is_empty() {
            return Ok(Folded::default());
        }
        let (store, now) = (self.store().clone(), self.now());
        self.shielded(async move {
            match store.fold(&products, now).await {
                Err(StorageError::Driver(_)) if products.len() > 1 => {
                    let mut total = Folded::default();
                    for product in products {
                        let folded = store.fold(&[product], now).await?;
                        total.reviews += folded.reviews;
                        total.products += folded.products;
                    }
                    Ok(total)
                }
                result => result,
            }
        })
        .await
    }

    /// Compares everything computed or copied with where it comes from. Empty when all is well.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn audit(&self) -> Result<Vec<Difference>, DomainError> {
        let (store, reference, currency) =
            (self.store().clone(), self.reference(), self.currency());
        self.shielded(async move {
            let encoding = vitrine_storage::products::Encoding {
                units: &reference.units,
                currency,
            };
            store.audit(encoding).await
        })
        .await
    }
}
