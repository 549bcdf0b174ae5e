//! Answers as HTTP responses.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use serde::Serialize;

use super::accept::Media;
use crate::execution::{ErrorCode, Failure, GraphqlResponse, ResponseError};

/// The answer of GraphQL itself: it was reached, so an older client gets 200, unless every
/// HTTP client between here and there should know better.
pub(super) fn graphql(media: Media, answer: &GraphqlResponse) -> Response<Body> {
    let refusal = answer.errors.first().filter(|_| answer.data.is_none());
    let status = match refusal.map(|error| error.extensions.code) {
        Some(code) if media == Media::GraphqlResponse || concerns_http(code) => status(code),
        _ => StatusCode::OK,
    };
    let waits = answer.errors.iter();
    let wait = waits.filter_map(|error| error.extensions.retry_after).max();
    with_wait(json(status, media, answer), wait)
}

/// Refusals that say nothing about the document, only about who asks, and when.
fn concerns_http(code: ErrorCode) -> bool {
    code.retryable() || code == ErrorCode::Unauthenticated
}

/// The answer when GraphQL was not reached; the status is the same for every client.
pub(super) fn failure(media: Media, failure: &Failure, request_id: &str) -> Response<Body> {
    let answer = GraphqlResponse::failed(failure, request_id);
    let response = json(status(failure.code()), media, &answer);
    with_wait(response, failure.wait())
}

/// The answer to something that is wrong as HTTP.
pub(super) fn protocol(status: StatusCode, message: &str) -> Response<Body> {
    let error = ResponseError::new(ErrorCode::BadUserInput, message);
    json(status, Media::Json, &GraphqlResponse::refused(vec![error]))
}

/// The answer after a panic outside execution.
pub(super) fn internal(request_id: &str) -> Response<Body> {
    let answer = GraphqlResponse::refused(vec![ResponseError::internal(request_id)]);
    json(StatusCode::INTERNAL_SERVER_ERROR, Media::Json, &answer)
}

/// A response with a JSON body, keys in the order in which they are serialised.
pub(super) fn json(status: StatusCode, media: Media, body: &impl Serialize) -> Response<Body> {
    let bytes = serde_json::to_vec(body).expect("our answers have string keys and finite numbers");
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media.content_type());
    response
}

fn with_wait(mut response: Response<Body>, wait: Option<std::time::Duration>) -> Response<Body> {
    if let Some(wait) = wait {
        let seconds = HeaderValue::from(crate::execution::whole_seconds(wait));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// What an error means for HTTP when nothing was executed.
fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::GraphqlParseFailed
        | ErrorCode::GraphqlValidationFailed
        | ErrorCode::BadUserInput
        | ErrorCode::InvalidCursor
        | ErrorCode::CostExceeded => StatusCode::BAD_REQUEST,
    }
}
