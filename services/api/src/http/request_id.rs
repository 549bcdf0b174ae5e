//! Request ids, which appear in log lines, responses and internal errors.

use std::{
    any::Any,
    hash::{BuildHasher, RandomState},
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response},
    middleware::Next,
};
use futures_util::FutureExt;

use super::{LineLimiter, response};

/// The header of request ids in requests and responses.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of a request id sent by a client.
const MAX_LENGTH: usize = 128;

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Generates unique ids: a keyed hash of a counter, with random keys per process.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids(Arc<(RandomState, RandomState, AtomicU64)>);

impl Ids {
    /// Generates an id.
    pub(super) fn make(&self) -> RequestId {
        RequestId(self.next().into())
    }

    fn next(&self) -> String {
        let (high, low, counter) = &*self.0;
        let count = counter.fetch_add(1, Ordering::Relaxed);
        format!("{:016x}{:016x}", high.hash_one(count), low.hash_one(count))
    }

    /// Returns the client's id if it is safe for log lines, otherwise a new one.
    fn of(&self, headers: &HeaderMap) -> RequestId {
        let sent = headers.get(HEADER).and_then(|value| value.to_str().ok());
        match sent {
            Some(id) if is_plain(id) => RequestId(id.into()),
            _ => self.make(),
        }
    }
}

/// Middleware that assigns the request id, adds it to the response, and turns panics into internal
/// errors.
pub(super) async fn identify(
    State(ids): State<Ids>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let id = ids.of(request.headers());
    request.extensions_mut().insert(id.clone());
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|panic| panicked(&*panic, &id));
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

fn panicked(panic: &(dyn Any + Send), id: &RequestId) -> Response<Body> {
    static PANICKED: LineLimiter = LineLimiter::new();
    let text = panic.downcast_ref::<&str>().copied();
    if let Some(left_out) = PANICKED.permit() {
        let (request_id, panic) = (id.as_str(), text.unwrap_or("?"));
        tracing::error!(request_id, panic, left_out, "a handler panicked");
    }
    response::internal(id.as_str())
}

fn is_plain(id: &str) -> bool {
    let fits = !id.is_empty() && id.len() <= MAX_LENGTH;
    fits && id
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Ids, is_plain};

    #[test]
    fn ids_do_not_repeat() {
        let ids = Ids::default();
        let made: std::collections::HashSet<_> = (0..1_000).map(|_| ids.next()).collect();
        assert_eq!(made.len(), 1_000);
        assert!(made.iter().all(|id| is_plain(id) && id.len() == 32));
    }

    #[test]
    fn only_ids_that_are_safe_for_log_lines_are_accepted() {
        assert!(is_plain("a-1_b.c:D"));
        assert!(!is_plain(""));
        assert!(!is_plain("a b"));
        assert!(!is_plain("a\"b"));
        assert!(!is_plain(&"a".repeat(129)));
    }
}
