//! Authentication, and the context of a request.

use std::{fmt, sync::Arc};

use async_graphql::Request;
use axum::http::{HeaderMap, header::AUTHORIZATION};
use tokio::time::Instant;
use vitrine_domain::Catalog;
use vitrine_domain::work::Work;

use super::pictures::{PictureSender, Pictures};
use super::uploads::Uploads;
use crate::execution::{CostCheck, ErrorCode, Failure, Prepared};

/// Authenticates a caller by the headers of a request and returns the request's context.
pub(super) type Authenticate =
    Arc<dyn Fn(&HeaderMap) -> Result<RequestContext, Failure> + Send + Sync>;

type AddContext = Box<dyn FnOnce(Request) -> Request + Send>;
type CheckCost = Box<dyn Fn(&Prepared) -> CostCheck + Send + Sync>;
pub(super) type CheckInvalid = Box<dyn Fn() -> CostCheck + Send + Sync>;

/// The context of one authenticated request.
pub struct RequestContext {
    pub(super) add_context: AddContext,
    pub(super) cost_check: CheckCost,
    pub(super) invalid_check: CheckInvalid,
    pub(super) hide_schema: bool,
    pub(super) subject: Option<Arc<str>>,
    pub(super) expires_at: Option<Instant>,
    pub(super) work: Option<Arc<Work>>,
    pub(super) shows_work: bool,
    pub(super) uploads: Uploads,
    pub(super) pictures: Pictures,
}

impl RequestContext {
    /// Creates an empty context: no data for resolvers, no cost check, introspection allowed.
    #[must_use]
    pub fn new() -> Self {
        Self {
            add_context: Box::new(|request| request),
            cost_check: Box::new(|_| CostCheck::free()),
            invalid_check: Box::new(CostCheck::free),
            hide_schema: false,
            subject: None,
            expires_at: None,
            work: None,
            shows_work: false,
            uploads: Uploads::default(),
            pictures: Pictures::default(),
        }
    }

    /// Sets the function that adds context data for resolvers to a request: the caller, loaders,
    /// the service.
    #[must_use]
    pub fn with_context(
        mut self,
        add_context: impl FnOnce(Request) -> Request + Send + 'static,
    ) -> Self {
        self.add_context = Box::new(add_context);
        self
    }

    /// Sets the check of the prepared request before it runs. For a subscription it is called once
    /// at the start, which covers the first event, and before anything is resolved for each further
    /// event.
    #[must_use]
    pub fn cost_check(
        mut self,
        cost_check: impl Fn(&Prepared) -> CostCheck + Send + Sync + 'static,
    ) -> Self {
        self.cost_check = Box::new(cost_check);
        self
    }

    /// Sets who the caller is. The limits of web sockets count by it, and without it by address.
    #[must_use]
    pub fn subject(mut self, subject: Option<Arc<str>>) -> Self {
        self.subject = subject;
        self
    }

    /// Sets when the caller's token expires. A WebSocket that was opened with it is closed then.
    #[must_use]
    pub fn expires_at(mut self, expires_at: Option<Instant>) -> Self {
        self.expires_at = expires_at;
        self
    }

    /// Sets the check of a request whose document is invalid or not known. If it fails, the caller
    /// gets its failure instead of what is wrong with the document.
    #[must_use]
    pub fn invalid_check(
        mut self,
        invalid_check: impl Fn() -> CostCheck + Send + Sync + 'static,
    ) -> Self {
        self.invalid_check = Box::new(invalid_check);
        self
    }

    /// Sets where the work of the database for this request is counted.
    #[must_use]
    pub fn work(mut self, work: Option<Arc<Work>>) -> Self {
        self.work = work;
        self
    }

    /// Adds `extensions.work` to the response.
    #[must_use]
    pub fn show_work(mut self, shown: bool) -> Self {
        self.shows_work = shown;
        self
    }

    /// Lets this subject send files for imports to a catalogue.
    #[must_use]
    pub fn uploads(mut self, catalog: Catalog, subject: String) -> Self {
        self.uploads = Uploads::of(catalog, subject);
        self
    }

    /// Lets this caller see the pictures of a catalogue, and send some if there is a sender.
    #[must_use]
    pub fn pictures(mut self, catalog: Catalog, sender: Option<PictureSender>) -> Self {
        self.pictures = Pictures::of(catalog, sender);
        self
    }

    /// Refuses introspection for this caller.
    #[must_use]
    pub fn hide_schema(mut self) -> Self {
        self.hide_schema = true;
        self
    }
}

impl Default for RequestContext {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext").finish_non_exhaustive()
    }
}

/// Returns the token of `Authorization: Bearer`, unverified; `None` without the header. Any other
/// value of the header is a failure, so that a caller with a typing error is not treated as
/// anonymous.
pub fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty())
        .map(|(_, token)| Some(token.trim()))
        .ok_or_else(|| {
            Failure::new(
                ErrorCode::Unauthenticated,
                "The Authorization header must be \"Bearer\" and a token.",
            )
        })
}
