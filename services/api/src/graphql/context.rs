//! The request context of resolvers.

use std::net::IpAddr;
use std::sync::Arc;

use async_graphql::{ContextBase, Request};
use vitrine_domain::Catalog;
use vitrine_domain::activity::Recorder;
use vitrine_domain::products::Visibility;
use vitrine_domain::work::Work;

use super::loaders::Loaders;
use super::once::LoadedOnce;
use super::rate_limiter::Caller;
use super::viewer::Viewer;

/// The context of one request: the catalogue, the caller, and loaders that live as long as the
/// request.
pub struct Session {
    pub(crate) catalog: Catalog,
    /// The caller.
    pub(crate) viewer: Viewer,
    /// The products that the caller may see.
    pub(crate) visibility: Visibility,
    /// Loaders, which batch look-ups.
    pub(crate) loaders: Loaders,
    /// Pages and facets of this request.
    pub(crate) loaded_once: LoadedOnce,
    address: Option<IpAddr>,
}

impl Session {
    /// Creates a session for one request.
    #[must_use]
    pub fn new(catalog: &Catalog, viewer: &Viewer) -> Self {
        Self::of(catalog.for_request(), viewer)
    }

    /// Creates a session for a request that asks what it costs.
    #[must_use]
    pub fn inspected(catalog: &Catalog, viewer: &Viewer) -> Self {
        Self::of(catalog.for_inspected_request(), viewer)
    }

    fn of(catalog: Catalog, viewer: &Viewer) -> Self {
        let visibility = viewer.visibility();
        Self {
            loaders: Loaders::new(&catalog, viewer),
            catalog,
            viewer: viewer.clone(),
            visibility,
            loaded_once: LoadedOnce::default(),
            address: None,
        }
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn from_address(mut self, address: Option<IpAddr>) -> Self {
        self.address = address;
        self
    }

    /// Returns who records activity. Staff report what others do.
    pub(crate) fn recorder(&self) -> Recorder {
        let subject = self.viewer.subject.as_deref();
        Recorder {
            name: match Caller::of(subject, self.address) {
                Caller::Subject(subject) => format!("subject {subject}"),
                Caller::Address(address) => format!("address {address}"),
            },
            is_trusted: self.viewer.subject.is_some() && self.viewer.is_staff(),
        }
    }

    /// Returns what the database has done for the request so far.
    #[must_use]
    pub fn work(&self) -> Option<Arc<Work>> {
        self.catalog.database_work()
    }

    /// Adds the session to the context data of a request.
    #[must_use]
    pub fn attach(self, request: Request) -> Request {
        request.data(Arc::new(self))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("visibility", &self.visibility)
            .finish_non_exhaustive()
    }
}

/// Access to the session from a resolver's context. Nothing else reads the context data.
pub(crate) trait ContextExt {
    /// Returns the session of the request.
    fn session(&self) -> &Session;

    /// Returns the session of the request for use after the context is gone, such as in a stream.
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
