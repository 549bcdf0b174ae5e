//! What the service learns about a caller before the request runs.

use std::{fmt, sync::Arc};

use async_graphql::Request;
use axum::http::{HeaderMap, header::AUTHORIZATION};

use crate::execution::{CostCheck, ErrorCode, Failure, Prepared};

/// Looks at the headers of a request and admits it or not.
pub(super) type Authenticate =
    Arc<dyn Fn(&HeaderMap) -> Result<RequestContext, Failure> + Send + Sync>;

type Attach = Box<dyn FnOnce(Request) -> Request + Send>;
type Price = Box<dyn FnOnce(&Prepared) -> CostCheck + Send>;

/// What one admitted request brings along.
pub struct RequestContext {
    pub(super) attach: Attach,
    pub(super) cost_check: Price,
    pub(super) hide_schema: bool,
}

impl RequestContext {
    /// A request that brings nothing along, costs nothing and may see the schema.
    #[must_use]
    pub fn new() -> Self {
        Self {
            attach: Box::new(|request| request),
            cost_check: Box::new(|_| CostCheck::free()),
            hide_schema: false,
        }
    }

    /// Adds what resolvers find in the context: the caller, loaders, the service itself.
    #[must_use]
    pub fn attach(mut self, attach: impl FnOnce(Request) -> Request + Send + 'static) -> Self {
        self.attach = Box::new(attach);
        self
    }

    /// Sets the rule that sees the request before it runs.
    #[must_use]
    pub fn cost_check(
        mut self,
        cost_check: impl FnOnce(&Prepared) -> CostCheck + Send + 'static,
    ) -> Self {
        self.cost_check = Box::new(cost_check);
        self
    }

    /// Refuses introspection to this caller.
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

/// The token of `Authorization: Bearer`, unchecked. No header is no token; any other header
/// is a failure, so that a caller with a typing error is not served as a stranger.
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
