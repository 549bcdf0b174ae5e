//! Queries for suppliers.

use vitrine_model::supplier::Supplier;

use crate::page::{HasMore, Listed, PageArguments};
use crate::reference::{beginnings, search_fingerprint};
use crate::{Catalog, DomainError};

/// A page of suppliers.
pub type ListedSuppliers = Listed<Supplier, SupplierSearch>;

/// The beginnings of words that the names of the listed suppliers have; empty for all suppliers.
pub type SupplierSearch = Vec<String>;

impl Catalog {
    /// A page of suppliers, by name. With a search, only those whose names have words that begin with its words. One
    /// command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid search or page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn suppliers(
        &self,
        search: Option<&str>,
        page: &PageArguments,
    ) -> Result<ListedSuppliers, DomainError> {
        let beginnings = search.map(beginnings).transpose()?;
        let fingerprint = search_fingerprint("suppliers", beginnings.as_deref());
        let beginnings = beginnings.unwrap_or_default();
        let request = page.request(self, fingerprint)?;
        let (page_request, wanted) = (request.clone(), beginnings.clone());
        let page = self
            .read(|store| async move { store.page_suppliers(&wanted, &page_request).await })
            .await?;
        Ok(Listed::new(self, fingerprint, beginnings, request, page))
    }

    /// Whether suppliers follow the page. At most one command.
    pub async fn suppliers_follow(&self, page: &ListedSuppliers) -> Result<bool, DomainError> {
        self.has_suppliers(page, page.has_more_after()).await
    }

    /// Whether suppliers precede the page. At most one command.
    pub async fn suppliers_precede(&self, page: &ListedSuppliers) -> Result<bool, DomainError> {
        self.has_suppliers(page, page.has_more_before()).await
    }

    /// The number of suppliers in the list of a page. One command.
    pub async fn count_suppliers(&self, page: &ListedSuppliers) -> Result<u64, DomainError> {
        let wanted = page.list.clone();
        self.read(|store| async move { store.count_suppliers(&wanted).await })
            .await
    }

    async fn has_suppliers(
        &self,
        page: &ListedSuppliers,
        has_more: HasMore,
    ) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                let wanted = page.list.clone();
                self.read(|store| async move { store.has_supplier(&wanted, from).await })
                    .await
            }
        }
    }
}
