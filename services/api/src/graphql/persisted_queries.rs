//! Registered queries in the catalogue's database.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use vitrine_domain::Catalog;

use crate::execution::{ErrorCode, Failure};
use crate::http::PersistedQueryStore;

/// A catalogue that may not be open yet.
impl PersistedQueryStore for Arc<OnceLock<Catalog>> {
    fn load(&self, hash: String) -> BoxFuture<'static, Result<Option<String>, Failure>> {
        let catalog = self.get().cloned();
        Box::pin(async move {
            let not_open = || Failure::new(ErrorCode::Unavailable, "The service is starting.");
            let catalog = catalog.ok_or_else(not_open)?;
            Ok(catalog.persisted_query(&hash).await?)
        })
    }

    fn save(&self, hash: String, query: String) {
        if let Some(catalog) = self.get() {
            catalog.persist_query(&hash, &query);
        }
    }
}
