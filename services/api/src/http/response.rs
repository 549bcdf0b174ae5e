//! GraphQL responses as HTTP responses.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use serde::Serialize;

use super::accept::Media;
use crate::execution::{ErrorCode, Failure, GraphqlResponse, RateState, ResponseError};

/// Converts a response of the GraphQL engine. Clients that accept only `application/json` get
/// status 200, except for errors that concern HTTP clients in general.
pub(super) fn graphql(media: Media, mut answer: GraphqlResponse) -> Response<Body> {
    let json = answer.json();
    graphql_json(media, &answer, json)
}

/// Like [`graphql`], for a response that has been serialised.
pub(super) fn graphql_json(
    media: Media,
    answer: &GraphqlResponse,
    json: Vec<u8>,
) -> Response<Body> {
    let refusal = answer.errors.first().filter(|_| answer.data.is_none());
    let status = match refusal.map(|error| error.extensions.code) {
        Some(code) if media == Media::GraphqlResponse || concerns_http(code) => status(code),
        _ => StatusCode::OK,
    };
    let waits = answer
        .errors
        .iter()
        .map(|error| error.extensions.retry_after);
    let wait = waits.flatten().max();
    let response = with_wait(body(status, media, json), wait);
    match &answer.rate {
        Some(rate) => with_rate(response, rate),
        None => response,
    }
}

/// Adds the budget of the caller, as the draft of the HTTP working group on rate limit headers
/// says: `q` units at most, `r` left, all there again in `t` seconds.
fn with_rate(mut response: Response<Body>, rate: &RateState) -> Response<Body> {
    let full_in = crate::execution::whole_seconds(rate.full_in);
    let fields = [
        ("ratelimit-policy", format!("\"cost\";q={}", rate.limit)),
        ("ratelimit", format!("\"cost\";r={};t={full_in}", rate.left)),
    ];
    for (name, value) in fields {
        let value = HeaderValue::from_str(&value).expect("digits");
        response.headers_mut().insert(name, value);
    }
    response
}

/// Whether an error is about the caller or the time, and not about the document.
fn concerns_http(code: ErrorCode) -> bool {
    code.retryable() || code == ErrorCode::Unauthenticated
}

/// Creates the response to a request that did not reach the engine. The status does not depend on
/// the client, except for a persisted query that is not known.
pub(super) fn failure(media: Media, failure: &Failure, request_id: &str) -> Response<Body> {
    let mut answer = GraphqlResponse::failed(failure, request_id);
    let status = match (failure.code(), media) {
        // Clients answer this one by sending the text; some that ask for plain JSON read only answers with status 200.
        (ErrorCode::PersistedQueryNotFound, Media::Json) => StatusCode::OK,
        (code, _) => status(code),
    };
    let response = body(status, media, answer.json());
    with_wait(response, failure.wait())
}

/// Creates the response to a request that is invalid on the HTTP level.
pub(super) fn protocol(status: StatusCode, message: &str) -> Response<Body> {
    let error = ResponseError::new(ErrorCode::BadUserInput, message);
    body(
        status,
        Media::Json,
        GraphqlResponse::refused(vec![error]).json(),
    )
}

/// Creates the response to a request with a method that the path does not have.
pub(super) fn wrong_method(allowed: &'static str, message: &str) -> Response<Body> {
    let mut response = protocol(StatusCode::METHOD_NOT_ALLOWED, message);
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Creates the response after a panic outside execution.
pub(super) fn internal(request_id: &str) -> Response<Body> {
    let mut answer = GraphqlResponse::refused(vec![ResponseError::internal(request_id)]);
    body(
        StatusCode::INTERNAL_SERVER_ERROR,
        Media::Json,
        answer.json(),
    )
}

/// Creates a response with a JSON body. Keys keep the order in which they are serialised.
pub(super) fn json(status: StatusCode, media: Media, value: &impl Serialize) -> Response<Body> {
    let bytes = serde_json::to_vec(value).expect("our answers have string keys and finite numbers");
    body(status, media, bytes)
}

fn body(status: StatusCode, media: Media, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media.content_type());
    headers.append(header::VARY, HeaderValue::from_static("accept"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn with_wait(mut response: Response<Body>, wait: Option<std::time::Duration>) -> Response<Body> {
    if let Some(wait) = wait {
        let seconds = HeaderValue::from(crate::execution::whole_seconds(wait));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// Returns the HTTP status of an error if nothing was executed.
fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::PersistedQueryNotFound
        | ErrorCode::GraphqlParseFailed
        | ErrorCode::GraphqlValidationFailed
        | ErrorCode::BadUserInput
        | ErrorCode::InvalidCursor
        | ErrorCode::CostExceeded => StatusCode::BAD_REQUEST,
    }
}
