//! What resolvers find in their context.

use std::sync::Arc;

use async_graphql::{ContextBase, Request};
use vitrine_domain::Catalog;
use vitrine_domain::products::Visibility;

use super::loaders::Loaders;
use super::viewer::Viewer;

/// One request: the catalogue, the caller, and loaders that live as long as the request.
pub struct Session {
    /// What the service can do.
    pub(crate) catalog: Catalog,
    /// Who asks.
    pub(crate) viewer: Viewer,
    /// What the caller may see.
    pub(crate) sight: Visibility,
    /// Batches look-ups.
    pub(crate) loaders: Loaders,
}

impl Session {
    /// A session for one request.
    #[must_use]
    pub fn new(catalog: Catalog, viewer: &Viewer) -> Self {
        let sight = viewer.sight();
        Self {
            loaders: Loaders::new(&catalog, viewer),
            catalog,
            viewer: viewer.clone(),
            sight,
        }
    }

    /// The request with this session in its context.
    #[must_use]
    pub fn attach(self, request: Request) -> Request {
        request.data(Arc::new(self))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("sight", &self.sight)
            .finish_non_exhaustive()
    }
}

/// The one place that reaches into the context.
pub(crate) trait ContextExt {
    /// The session of the request.
    fn session(&self) -> &Session;

    /// The session of the request, for what outlives the context.
    fn session_arc(&self) -> Arc<Session>;
}

impl<T> ContextExt for ContextBase<'_, T> {
    fn session(&self) -> &Session {
        self.data_unchecked::<Arc<Session>>()
    }

    fn session_arc(&self) -> Arc<Session> {
        Arc::clone(self.data_unchecked::<Arc<Session>>())
    }
}
