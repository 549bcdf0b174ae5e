//! Gives errors of execution back what the library took from them.

use std::{collections::HashSet, error::Error as StdError};

use async_graphql::{PathSegment, Response, ServerError};
use serde_json::Map;

use super::{ErrorCode, Failure, GraphqlResponse, Located, Location, Prepared, ResponseError};

/// The answer of the library as an answer of ours.
pub(super) fn answer(response: Response, prepared: &Prepared) -> GraphqlResponse {
    let request_id = prepared.request_id();
    let mut seen = HashSet::new();
    let mut errors = Vec::with_capacity(response.errors.len());
    for error in response.errors {
        let error = restored(error, request_id);
        if seen.insert(spelled(&error.path)) {
            errors.push(error);
        }
    }
    GraphqlResponse {
        errors,
        data: Some(response.data),
        extensions: Map::new(),
    }
}

fn restored(error: ServerError, request_id: &str) -> ResponseError {
    let places = error.locations.iter().map(|place| Location {
        line: place.line,
        column: place.column,
    });
    let Some(located) = error.source::<Located>() else {
        // DocumentValidator and coercion leave nothing for the library to object to, so its own errors
        // are faults of ours, and their text is not for strangers.
        tracing::error!(request_id, message = error.message, "the library refused");
        let mut internal = ResponseError::internal(request_id).located(places);
        internal.path = error.path;
        return internal;
    };
    note(located.failure(), &spelled(located.path()), request_id);
    let mut restored = ResponseError::from_failure(located.failure(), request_id).located(places);
    restored.path = located.path().to_vec();
    restored
}

/// Writes a fault of ours to the log, the only place where its cause appears.
pub(crate) fn note(failure: &Failure, path: &str, request_id: &str) {
    if failure.code() == ErrorCode::Internal {
        let cause = failure.source().map(|source| causes(source));
        tracing::error!(request_id, path, cause, "internal failure");
    }
}

fn causes(first: &(dyn StdError + 'static)) -> String {
    let mut text = first.to_string();
    let mut next = first.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

/// A path as one text.
pub(super) fn spelled(path: &[PathSegment]) -> String {
    let parts = path.iter().map(|segment| match segment {
        PathSegment::Field(name) => name.clone(),
        PathSegment::Index(index) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}
