//! The response to a GraphQL request, and its errors.

use std::time::Duration;

use async_graphql::{PathSegment, Value};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Map;

use super::{ErrorCode, Failure, RateState, ResponseLimits, json};

/// The message of all internal errors.
const INTERNAL_MESSAGE: &str = "The service failed to answer; the request id identifies the cause.";

/// A response.
#[derive(Clone, Debug, Default)]
pub struct GraphqlResponse {
    /// The errors, at most one per field.
    pub errors: Vec<ResponseError>,
    /// The result; `None` if nothing was executed, in which case there is no `data` key. Parts of
    /// it are JSON in [`Value::Binary`]: see [`GraphqlResponse::data_json`].
    pub data: Option<Value>,
    /// Additional information about the response, such as its cost.
    pub extensions: Map<String, serde_json::Value>,
    /// The budget of the caller after this request; for the headers of HTTP.
    pub rate: Option<RateState>,
    /// The maximum size of this response.
    pub limits: ResponseLimits,
}

impl GraphqlResponse {
    /// Creates the response to a request that was refused before execution.
    #[must_use]
    pub fn refused(errors: Vec<ResponseError>) -> Self {
        Self {
            errors,
            ..Self::default()
        }
    }

    /// Creates the response to a request whose result could not be sent after execution had started.
    #[must_use]
    pub(super) fn lost(failure: &Failure, request_id: &str) -> Self {
        Self {
            data: Some(Value::Null),
            ..Self::failed(failure, request_id)
        }
    }

    /// Returns the response as JSON, errors first. A response that exceeds its limit becomes an
    /// error.
    #[must_use]
    pub fn json(&mut self) -> Vec<u8> {
        let json = self.to_json();
        if json.len() <= self.limits.bytes {
            return json;
        }
        let lost = Self::lost(&self.limits.too_many_bytes(), "");
        (self.errors, self.data) = (lost.errors, lost.data);
        self.to_json()
    }

    /// Returns the data as JSON; keys have the order of the query.
    #[must_use]
    pub fn data_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        json::append(self.data.as_ref().unwrap_or(&Value::Null), &mut out);
        out
    }

    fn to_json(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(MIN_CAPACITY + self.data.as_ref().map_or(0, json::written));
        let mut before = b'{';
        let mut key = |out: &mut Vec<u8>, key: &str| {
            out.push(std::mem::replace(&mut before, b','));
            json::append_leaf(key, out);
            out.push(b':');
        };
        if !self.errors.is_empty() {
            key(&mut out, "errors");
            json::append_leaf(&self.errors, &mut out);
        }
        if let Some(data) = &self.data {
            key(&mut out, "data");
            json::append(data, &mut out);
        }
        if !self.extensions.is_empty() {
            key(&mut out, "extensions");
            json::append_leaf(&self.extensions, &mut out);
        }
        out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
        out
    }

    /// Creates the response to a request that was refused with a single failure.
    #[must_use]
    pub fn failed(failure: &Failure, request_id: &str) -> Self {
        Self::refused(vec![ResponseError::from_failure(failure, request_id)])
    }
}

/// The capacity for a response without what was written directly, in bytes.
const MIN_CAPACITY: usize = 512;

/// A location in the document, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The line number.
    pub line: usize,
    /// The column number, in characters.
    pub column: usize,
}

/// An error of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResponseError {
    /// A message for the developer of the client.
    pub message: String,
    /// The locations in the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// The path in the data; empty for request errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathSegment>,
    /// The code and further machine-readable information.
    pub extensions: ErrorExtensions,
    /// What may have been meant by a wrong name. Part of the message only for callers that may
    /// know the schema: see [`Self::presented`].
    #[serde(skip)]
    pub(super) suggestion: Option<String>,
}

/// The machine-readable part of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorExtensions {
    /// The error code.
    pub code: ErrorCode,
    /// How long to wait before retrying.
    pub retry_after: Option<Duration>,
    /// The request id to quote in a report; only set for internal errors.
    pub request_id: Option<String>,
}

impl ResponseError {
    /// Creates an error without locations and path.
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
            suggestion: None,
        }
    }

    /// Returns the error as it is sent: with its suggestion, unless the schema is hidden.
    #[must_use]
    pub(super) fn presented(mut self, hide_schema: bool) -> Self {
        match self.suggestion.take() {
            Some(suggestion) if !hide_schema => self.message.push_str(&suggestion),
            _ => {}
        }
        self
    }

    /// Creates the error that a client receives for a failure.
    #[must_use]
    pub fn from_failure(failure: &Failure, request_id: &str) -> Self {
        if failure.code() == ErrorCode::Internal {
            return Self::internal(request_id);
        }
        let mut error = Self::new(failure.code(), failure.message());
        error.extensions.retry_after = failure.wait();
        error
    }

    /// Creates an internal error, with the fixed message.
    #[must_use]
    pub fn internal(request_id: &str) -> Self {
        let mut error = Self::new(ErrorCode::Internal, INTERNAL_MESSAGE);
        error.extensions.request_id = Some(request_id.to_owned());
        error
    }

    /// Adds locations in the document.
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

/// Rounds up to whole seconds, so that a client that waits exactly this long does not have to wait
/// again.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}
