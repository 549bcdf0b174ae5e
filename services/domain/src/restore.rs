//! Restoring exports: storing reference data, products and reviews as they were, with their ids and
//! times. What is computed from them is computed here: nothing of it is in an export.
//!
//! A [`RestoreSession`] adds what is missing and leaves alone what is there. Something that is there
//! with other content is rejected, except reference data of an earlier revision, which an export has
//! twice if it changed meanwhile. An interrupted restore is completed by running it again.

mod check;
mod references;
mod reviews;

use std::collections::HashMap;

use vitrine_model::category::Category;
use vitrine_model::contribution::Contribution;
use vitrine_model::erasure::ErasureReceipt;
use vitrine_model::id::{AuthorId, CategoryId, ProductId, SupplierId};
use vitrine_model::import::{LineOutcome, Rejection};
use vitrine_model::product::{Outlier, Product, ProductStatus, Sold};
use vitrine_model::review::DimensionTable;
use vitrine_model::spec::{Dictionary, SpecKey};
use vitrine_model::supplier::Supplier;
use vitrine_model::unit::UnitTable;
use vitrine_storage::products::Encoding;
use vitrine_storage::views::ProductView;
use vitrine_storage::{StorageError, Store};

use crate::export::ExportedProduct;
use crate::{Catalog, DomainError};

pub use references::StoredDimensionScope;

/// A restore in progress.
#[derive(Debug)]
pub struct RestoreSession {
    catalog: Catalog,
    units: UnitTable,
    spec_keys: HashMap<String, SpecKey>,
    /// Made of the keys when it is needed.
    dictionary: Option<Dictionary>,
    categories: HashMap<CategoryId, Category>,
    dimensions: DimensionTable,
    /// The suppliers that were needed so far.
    suppliers: HashMap<SupplierId, Supplier>,
}

impl Catalog {
    /// Begins to restore an export.
    pub async fn restore(&self) -> Result<RestoreSession, DomainError> {
        let read = self.maintain(|store| async move {
            let categories = store.all_categories().await?;
            let keys = store.all_spec_keys().await?;
            let units = UnitTable::with_defined(store.all_units().await?);
            Ok((
                units,
                keys,
                categories,
                store.all_review_dimensions().await?,
            ))
        });
        let (units, keys, categories, dimensions) = read.await?;
        Ok(RestoreSession {
            catalog: self.clone(),
            units,
            dictionary: None,
            spec_keys: keys.into_iter().map(|key| (key.key.clone(), key)).collect(),
            categories: categories.into_iter().map(|one| (one.id, one)).collect(),
            dimensions,
            suppliers: HashMap::new(),
        })
    }
}

impl RestoreSession {
    /// Stores products, with whatever revision, times and sources they have; returns the outcomes in
    /// their order. What is computed of them is ignored. Bundles keep their copies of items.
    pub async fn products(
        &mut self,
        products: Vec<ExportedProduct>,
    ) -> Result<Vec<LineOutcome>, DomainError> {
        self.find_suppliers(&products).await?;
        let keys = &self.spec_keys;
        let dictionary = self
            .dictionary
            .get_or_insert_with(|| Dictionary::new(keys.values().cloned().collect()))
            .clone();
        let known = self.known_products(&products).await?;
        let mut outcomes = Vec::with_capacity(products.len());
        let mut new = Vec::new();
        for (at, product) in products.into_iter().enumerate() {
            let product = without_computed(product);
            outcomes.push(match known.get(&product.product.id) {
                Some(stored) if *stored == product => LineOutcome::Unchanged,
                Some(_) => differs("product"),
                None => {
                    let mut wrong = self.check_product(&product.product, &dictionary);
                    wrong.extend(self.check_contributions(&product));
                    if wrong.is_empty() {
                        new.push((at, product));
                        LineOutcome::Created
                    } else {
                        LineOutcome::Rejected(wrong)
                    }
                }
            });
        }
        for (at, key) in self.insert_products(new).await? {
            outcomes[at] = rejected(&key, format!("another product has the {key}"));
        }
        Ok(outcomes)
    }

    /// Erases an author of whom an export has the receipt, from everything that was restored so far: an earlier export may
    /// have brought the author back. What comes later was written after the erasure.
    pub async fn erasure(
        &mut self,
        author: AuthorId,
        receipt: ErasureReceipt,
    ) -> Result<LineOutcome, DomainError> {
        let erased = self.catalog.restore_erasure(author, receipt).await?;
        Ok(if erased {
            LineOutcome::Created
        } else {
            LineOutcome::Unchanged
        })
    }

    /// Counts the restored reviews in their products.
    pub async fn finish(self) -> Result<(), DomainError> {
        self.catalog.fold_and_move_ranks().await?;
        self.catalog.refresh_reference().await?;
        Ok(())
    }

    /// Inserts new products, each with its place. Returns the places of those that were refused, with
    /// the field whose value is taken.
    async fn insert_products(
        &self,
        new: Vec<(usize, ExportedProduct)>,
    ) -> Result<Vec<(usize, String)>, DomainError> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let (merged, plain): (Vec<_>, Vec<_>) =
            new.into_iter().partition(|(_, one)| !one.said.is_empty());
        let (mut places, plain): (Vec<usize>, Vec<Product>) =
            plain.into_iter().map(|(at, one)| (at, one.product)).unzip();
        places.extend(merged.iter().map(|(at, _)| *at));
        self.catalog.insert_words(&plain).await?;
        for (_, one) in &merged {
            let product = std::slice::from_ref(&one.product);
            self.catalog.insert_words(product).await?;
        }
        let (units, currency) = (self.units.clone(), self.catalog.currency());
        let refused = self.store(move |store| async move {
            let encoding = Encoding {
                units: &units,
                currency,
            };
            let mut refused = store.insert_products(&plain, encoding).await?;
            for (_, ExportedProduct { product, said }) in &merged {
                refused.push(store.insert_merged_product(product, said, encoding).await?);
            }
            Ok(refused)
        });
        let refused = places.into_iter().zip(refused.await?);
        Ok(refused.filter_map(|(at, key)| Some((at, key?))).collect())
    }

    /// The products that are stored already, as an export has them.
    async fn known_products(
        &self,
        products: &[ExportedProduct],
    ) -> Result<HashMap<ProductId, ExportedProduct>, DomainError> {
        let ids: Vec<ProductId> = products.iter().map(|one| one.product.id).collect();
        let found = self.store(move |store| async move {
            let views = store.get_many_products(&ids, &ProductStatus::ALL).await?;
            let ids: Vec<ProductId> = views.iter().map(ProductView::id).collect();
            Ok((views, store.get_many_contributions(&ids).await?))
        });
        let (views, said) = found.await?;
        let mut said: HashMap<ProductId, Vec<Contribution>> =
            said.into_iter().map(|one| (one.product, one.all)).collect();
        let mut known = HashMap::new();
        for view in views {
            let stored = ExportedProduct {
                product: view.product()?,
                said: said.remove(&view.id()).unwrap_or_default(),
            };
            known.insert(view.id(), without_computed(stored));
        }
        Ok(known)
    }

    /// Executes storage work as a background operation.
    async fn store<T, W>(&self, work: impl FnOnce(Store) -> W) -> Result<T, DomainError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        self.catalog.maintain(work).await
    }
}

/// The product without what is computed of it.
fn without_computed(ExportedProduct { product, said }: ExportedProduct) -> ExportedProduct {
    let product = Product {
        listed_at: product.listed(),
        computed: vitrine_model::fold::Computed::default(),
        outlier: Outlier::default(),
        activity: vitrine_model::activity::ActivitySummary::default(),
        sold: Sold::default(),
        ..product
    };
    ExportedProduct { product, said }
}

fn rejected(field: &str, reason: impl Into<String>) -> LineOutcome {
    LineOutcome::Rejected(vec![Rejection::new(field, reason)])
}

fn differs(what: &str) -> LineOutcome {
    let reason = format!(
        "the database has this {what} with other content, which stays; exports are read into an \
         empty database"
    );
    rejected("id", reason)
}
