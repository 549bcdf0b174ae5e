//! Restores the codes and paths that errors lose in the library.

use std::{collections::HashSet, error::Error as StdError};

use async_graphql::{PathSegment, Response, ServerError};

use vitrine_domain::LineLimiter;

use super::{ErrorCode, Failure, GraphqlResponse, Located, Location, Prepared, ResponseError};

/// How many internal failures are logged in ten seconds. Strangers can cause them, by asking again and again
/// for what cannot be read; clients quote the id of a request, so more than one line is wanted.
pub(super) const MAX_LINES: u32 = 20;

/// Converts a response of the library.
pub(super) fn answer(response: Response, prepared: &Prepared) -> GraphqlResponse {
    let request_id = prepared.request_id();
    let mut seen = HashSet::new();
    let mut errors = Vec::with_capacity(response.errors.len());
    for error in response.errors {
        let error = restore_error(error, request_id);
        if seen.insert(path_text(&error.path)) {
            errors.push(error);
        }
    }
    GraphqlResponse {
        errors,
        data: Some(response.data),
        ..GraphqlResponse::default()
    }
}

fn restore_error(error: ServerError, request_id: &str) -> ResponseError {
    static REFUSED: LineLimiter = LineLimiter::allowing(MAX_LINES);
    let locations = error.locations.iter().map(|location| Location {
        line: location.line,
        column: location.column,
    });
    let Some(located) = error.source::<Located>() else {
        // After validation and coercion the library should find no errors of its own. If it does,
        // that is an internal error, and its text must not be sent to clients.
        if let Some(left_out) = REFUSED.permit() {
            let message = &error.message;
            tracing::error!(
                request_id,
                message,
                left_out,
                "async-graphql refused a request that was valid; the client received an internal error"
            );
        }
        let mut internal = ResponseError::internal(request_id).located(locations);
        internal.path = error.path;
        return internal;
    };
    log_internal(located.failure(), &path_text(located.path()), request_id);
    let mut restored =
        ResponseError::from_failure(located.failure(), request_id).located(locations);
    restored.path = located.path().to_vec();
    restored
}

/// Logs an internal failure. Its cause appears only in the log.
pub(crate) fn log_internal(failure: &Failure, path: &str, request_id: &str) {
    static FAILED: LineLimiter = LineLimiter::allowing(MAX_LINES);
    if failure.code() != ErrorCode::Internal {
        return;
    }
    if let Some(left_out) = FAILED.permit() {
        let cause = failure.source().map(|source| error_chain(source));
        tracing::error!(request_id, path, cause, left_out, "internal failure");
    }
}

fn error_chain(first: &(dyn StdError + 'static)) -> String {
    let mut text = first.to_string();
    let mut next = first.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

/// Formats a path as text, with dots between the segments.
pub(super) fn path_text(path: &[PathSegment]) -> String {
    let parts = path.iter().map(|segment| match segment {
        PathSegment::Field(name) => name.clone(),
        PathSegment::Index(index) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}
