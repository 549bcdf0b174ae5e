//! The answer to a GraphQL request, and its errors.

use std::time::Duration;

use async_graphql::{PathSegment, Value};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Map;

use super::{ErrorCode, Failure};

/// What internal faults say instead of their cause.
const INTERNAL_MESSAGE: &str = "The service failed to answer; the request id identifies the cause.";

/// The answer. Serialises errors first, keys in the order of the query.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphqlResponse {
    /// What went wrong, at most one error per field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ResponseError>,
    /// The result; `None` when nothing was executed, in which case there is no `data` key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Further facts about the answer, such as its cost.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, serde_json::Value>,
}

impl GraphqlResponse {
    /// The answer to a request that was refused before anything was executed.
    #[must_use]
    pub fn refused(errors: Vec<ResponseError>) -> Self {
        Self {
            errors,
            ..Self::default()
        }
    }

    /// The same for a single failure.
    #[must_use]
    pub fn failed(failure: &Failure, request_id: &str) -> Self {
        Self::refused(vec![ResponseError::from_failure(failure, request_id)])
    }
}

/// A place in the document, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// One error of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResponseError {
    /// A sentence for the developer of the client.
    pub message: String,
    /// Where in the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Where in the data; empty for errors of the request as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathSegment>,
    /// The code and what depends on it.
    pub extensions: ErrorExtensions,
}

/// The machine-readable part of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorExtensions {
    /// What kind of error.
    pub code: ErrorCode,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The id to quote in a report; only internal errors have one.
    pub request_id: Option<String>,
}

impl ResponseError {
    /// An error without a place.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            locations: Vec::new(),
            path: Vec::new(),
            extensions: ErrorExtensions {
                code,
                retry_after: None,
                request_id: None,
            },
        }
    }

    /// What a client may see of a failure.
    #[must_use]
    pub fn from_failure(failure: &Failure, request_id: &str) -> Self {
        if failure.code() == ErrorCode::Internal {
            return Self::internal(request_id);
        }
        let mut error = Self::new(failure.code(), failure.message());
        error.extensions.retry_after = failure.wait();
        error
    }

    /// The one sentence that all internal faults share.
    #[must_use]
    pub fn internal(request_id: &str) -> Self {
        let mut error = Self::new(ErrorCode::Internal, INTERNAL_MESSAGE);
        error.extensions.request_id = Some(request_id.to_owned());
        error
    }

    /// Adds a place in the document.
    #[must_use]
    pub fn located(mut self, location: impl IntoIterator<Item = Location>) -> Self {
        self.locations.extend(location);
        self
    }
}

impl Serialize for ErrorExtensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", self.code.as_str())?;
        map.serialize_entry("retryable", &self.code.retryable())?;
        if let Some(wait) = self.retry_after {
            map.serialize_entry("retryAfter", &whole_seconds(wait))?;
        }
        if let Some(id) = &self.request_id {
            map.serialize_entry("requestId", id)?;
        }
        map.end()
    }
}

/// Rounded up: a client that waits exactly this long is not told to wait again.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}
