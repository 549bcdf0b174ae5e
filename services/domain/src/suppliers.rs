//! Queries for suppliers.

use vitrine_model::cursor::ListFingerprint;
use vitrine_model::supplier::Supplier;

use crate::page::{HasMore, Listed, PageArguments};
use crate::{Catalog, DomainError};

/// A page of suppliers.
pub type ListedSuppliers = Listed<Supplier, ()>;

impl Catalog {
    /// A page of all suppliers, by name. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn suppliers(&self, page: &PageArguments) -> Result<ListedSuppliers, DomainError> {
        let fingerprint = ListFingerprint::of(&[b"suppliers"]);
        let request = page.request(self, fingerprint)?;
        let page_request = request.clone();
        let page = self
            .read(|store| async move { store.page_suppliers(&page_request).await })
            .await?;
        Ok(Listed::new(self, fingerprint, (), request, page))
    }

    /// Whether suppliers follow the page. At most one command.
    pub async fn suppliers_follow(&self, page: &ListedSuppliers) -> Result<bool, DomainError> {
        self.has_suppliers(page.has_more_after()).await
    }

    /// Whether suppliers precede the page. At most one command.
    pub async fn suppliers_precede(&self, page: &ListedSuppliers) -> Result<bool, DomainError> {
        self.has_suppliers(page.has_more_before()).await
    }

    /// The number of suppliers. One command.
    pub async fn count_suppliers(&self) -> Result<u64, DomainError> {
        self.read(|store| async move { store.count_suppliers().await })
            .await
    }

    async fn has_suppliers(&self, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                self.read(|store| async move { store.has_supplier(from).await })
                    .await
            }
        }
    }
}
