//! Reading the history of products, categories and spec keys. Restoring an earlier revision is a mutation
//! (`admin/reverts.rs`).

use vitrine_model::cursor::ListFingerprint;
use vitrine_model::history::{HistoryEntry, HistoryOf};

use crate::page::{HasMore, Listed, PageArguments};
use crate::{Catalog, DomainError};

/// A page of the history of an object.
pub type ListedHistory = Listed<HistoryEntry, HistoryOf>;

impl Catalog {
    /// A page of the history of an object, newest first; empty if there is no such object. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn history(
        &self,
        of: HistoryOf,
        page: &PageArguments,
    ) -> Result<ListedHistory, DomainError> {
        let of = self.current_name(of);
        let (kind, id) = match &of {
            HistoryOf::Product(id) => ("product", id.to_i64().to_string()),
            HistoryOf::Category(id) => ("category", id.to_i64().to_string()),
            HistoryOf::SpecKey(key) => ("spec_key", key.clone()),
        };
        let fingerprint = ListFingerprint::of(&[b"history", kind.as_bytes(), id.as_bytes()]);
        let request = page.request(self, fingerprint)?;
        let (wanted, object) = (request.clone(), of.clone());
        let page = self
            .read(|store| async move { store.page_history(&object, &wanted).await })
            .await?;
        Ok(Listed::new(self, fingerprint, of, request, page))
    }

    /// An alias of a spec key stands for its key.
    fn current_name(&self, of: HistoryOf) -> HistoryOf {
        let HistoryOf::SpecKey(name) = of else {
            return of;
        };
        let reference = self.reference();
        let key = reference.dictionary.get(&name);
        HistoryOf::SpecKey(key.map_or(name, |key| key.key.clone()))
    }

    /// Whether entries follow the page. At most one command.
    pub async fn history_follows(&self, page: &ListedHistory) -> Result<bool, DomainError> {
        self.has_history(page.list.clone(), page.has_more_after())
            .await
    }

    /// Whether entries precede the page. At most one command.
    pub async fn history_precedes(&self, page: &ListedHistory) -> Result<bool, DomainError> {
        self.has_history(page.list.clone(), page.has_more_before())
            .await
    }

    /// The number of entries of the history. One command.
    pub async fn count_history(&self, page: &ListedHistory) -> Result<u64, DomainError> {
        let of = page.list.clone();
        self.read(|store| async move { store.count_history(&of).await })
            .await
    }

    async fn has_history(&self, of: HistoryOf, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                self.read(|store| async move { store.has_history(&of, from).await })
                    .await
            }
        }
    }
}
