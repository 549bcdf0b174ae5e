//! Reading products.

use std::collections::HashMap;

use vitrine_model::cursor::ListFingerprint;
use vitrine_model::filter::{Condition, ProductFilter, ProductSort};
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::product::ProductStatus;
use vitrine_model::supplier::Supplier;
use vitrine_storage::keyset::Page;
use vitrine_storage::products::ProductList;
pub use vitrine_storage::products::{ProductFields, ProductKey};
pub use vitrine_storage::views::ProductView;

use crate::page::{Beyond, Listed, PageArguments};
use crate::{Catalog, DomainError};

/// What a caller may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sight {
    /// What is on sale.
    #[default]
    Public,
    /// Drafts and archived products as well.
    Everything,
}

impl Sight {
    /// The states of products that may be seen.
    #[must_use]
    pub const fn states(self) -> &'static [ProductStatus] {
        match self {
            Self::Public => &[ProductStatus::Active],
            Self::Everything => &ProductStatus::ALL,
        }
    }
}

/// Which products are wanted, and how.
#[derive(Clone, Debug)]
pub struct ProductsQuery {
    /// Which.
    pub filter: ProductFilter,
    /// In which order.
    pub sort: ProductSort,
    /// Which page.
    pub page: PageArguments,
    /// What the caller may see.
    pub sight: Sight,
    /// What of them.
    pub fields: ProductFields,
}

/// A page of products.
pub type ListedProducts = Listed<ProductView, ProductList>;

/// A number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number.
    pub value: u64,
    /// What it says.
    pub relation: TotalRelation,
}

/// What a number of rows says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotalRelation {
    /// There are exactly so many.
    Exact,
    /// There are at least so many; counting stopped there.
    AtLeast,
}

impl Catalog {
    /// One product, if the caller may see it. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn product(
        &self,
        key: ProductKey,
        sight: Sight,
    ) -> Result<Option<ProductView>, DomainError> {
        let store = self.store().clone();
        self.shielded(async move { store.get_product(&key, sight.states()).await })
            .await
    }

    /// The products with these ids that the caller may see. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn products_by_id(
        &self,
        ids: Vec<ProductId>,
        sight: Sight,
    ) -> Result<HashMap<ProductId, ProductView>, DomainError> {
        let store = self.store().clone();
        let found =
            self.shielded(async move { store.get_many_products(&ids, sight.states()).await });
        Ok(found
            .await?
            .into_iter()
            .map(|product| (product.id(), product))
            .collect())
    }

    /// A page of products. One command, two where priced products end and unpriced ones begin; none
    /// when no product can fulfil the filter.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a filter or page that is wrong, [`DomainError::InvalidCursor`]
    /// for a cursor of another list.
    pub async fn products(&self, query: ProductsQuery) -> Result<ListedProducts, DomainError> {
        let fingerprint = fingerprint(&query);
        let request = query.page.request(self, fingerprint)?;
        let condition = self.product_condition(&query.filter, query.sight).await?;
        let list = ProductList {
            condition,
            sort: query.sort,
            fields: query.fields,
        };
        let page = if list.condition.is_nothing() {
            Page {
                rows: Vec::new(),
                more: false,
            }
        } else {
            let (store, list, request) = (self.store().clone(), list.clone(), request.clone());
            self.shielded(async move { store.page_products(&list, &request).await })
                .await?
        };
        Ok(Listed::new(self, fingerprint, list, request, page))
    }

    /// Whether the list goes on after a page. At most one command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn products_follow(&self, page: &ListedProducts) -> Result<bool, DomainError> {
        self.has_products(&page.list, page.beyond_end()).await
    }

    /// Whether the list has products before a page. At most one command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn products_precede(&self, page: &ListedProducts) -> Result<bool, DomainError> {
        self.has_products(&page.list, page.beyond_start()).await
    }

    /// How many products a list has, counted up to `most`. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn count_products(
        &self,
        list: &ProductList,
        most: u64,
    ) -> Result<Total, DomainError> {
        if list.condition.is_nothing() {
            return Ok(Total {
                value: 0,
                relation: TotalRelation::Exact,
            });
        }
        let (store, condition) = (self.store().clone(), list.condition.clone());
        let limit = most.saturating_add(1);
        let found = self
            .shielded(async move { store.count_products(&condition, limit).await })
            .await?;
        Ok(if found > most {
            Total {
                value: most,
                relation: TotalRelation::AtLeast,
            }
        } else {
            Total {
                value: found,
                relation: TotalRelation::Exact,
            }
        })
    }

    /// How many products the caller may see in each category or below it. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn category_counts(
        &self,
        sight: Sight,
    ) -> Result<HashMap<CategoryId, u64>, DomainError> {
        let (store, reference) = (self.store().clone(), self.reference());
        let tree = std::sync::Arc::clone(&reference);
        let own = self
            .shielded(async move {
                store
                    .count_by_category(sight.states(), &tree.categories)
                    .await
            })
            .await?;
        let below = |id: CategoryId| {
            reference
                .categories
                .subtree(id)
                .iter()
                .filter_map(|id| own.get(id))
                .sum::<u64>()
        };
        Ok(reference
            .categories
            .all()
            .iter()
            .map(|c| (c.id, below(c.id)))
            .collect())
    }

    /// The suppliers with these ids. One command.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn suppliers_by_id(
        &self,
        ids: Vec<SupplierId>,
    ) -> Result<HashMap<SupplierId, Supplier>, DomainError> {
        let store = self.store().clone();
        let found = self
            .shielded(async move { store.get_many_suppliers(&ids).await })
            .await?;
        Ok(found
            .into_iter()
            .map(|supplier| (supplier.id, supplier))
            .collect())
    }

    async fn has_products(&self, list: &ProductList, beyond: Beyond) -> Result<bool, DomainError> {
        match beyond {
            Beyond::Known(more) => Ok(more),
            Beyond::Look(_) if list.condition.is_nothing() => Ok(false),
            Beyond::Look(from) => {
                let (store, list) = (self.store().clone(), list.clone());
                self.shielded(async move { store.has_product(&list, from).await })
                    .await
            }
        }
    }

    async fn product_condition(
        &self,
        filter: &ProductFilter,
        sight: Sight,
    ) -> Result<Condition, DomainError> {
        let known =
            |reference: &crate::reference::Reference| crate::filter::is_known(filter, reference);
        let reference = self.reference_knowing(known).await?;
        crate::filter::resolve(filter, sight, &reference, self.currency())
    }
}

fn fingerprint(query: &ProductsQuery) -> ListFingerprint {
    let filter = serde_json::to_vec(&(&query.filter, query.sort)).expect("filters are plain data");
    ListFingerprint::of(&[
        b"products",
        &filter,
        &[u8::from(query.sight == Sight::Everything)],
    ])
}
