//! Caching of queries that were sent with GET (RFC 9111): `Cache-Control`, `ETag` and 304.
//!
//! The answer to a caller with a token is private. All others get the same answer, which caches may
//! share for as long as the shop allows; without such a time they ask again each time, and an
//! unchanged answer is sent without its body. Everything else is not stored.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::execution::GraphqlResponse;

/// What the answer to one GET request may be used for.
pub(super) struct CachePolicy {
    is_private: bool,
    max_age: Duration,
}

impl CachePolicy {
    /// Returns the policy for a request with these headers. Caches may use public answers without
    /// asking for `max_age`.
    pub(super) fn of(headers: &HeaderMap, max_age: Duration) -> Self {
        Self {
            is_private: headers.contains_key(header::AUTHORIZATION),
            max_age,
        }
    }

    /// Removes from an answer what is true only for its caller and its time, if it may be kept for
    /// others.
    pub(super) fn adapt(&self, answer: &mut GraphqlResponse) {
        if !self.is_kept() || !is_complete(answer) {
            return;
        }
        answer.rate = None;
        if let Some(cost) = answer.extensions.get_mut("cost") {
            cost.as_object_mut().map(|cost| cost.remove("left"));
        }
    }

    /// Adds the headers to the response. Replaces it by 304 if the client has this answer.
    pub(super) fn apply(
        &self,
        headers: &HeaderMap,
        answer: &GraphqlResponse,
        mut response: Response<Body>,
    ) -> Response<Body> {
        if !is_complete(answer) {
            return response;
        }
        let tag = entity_tag(answer);
        if matches(headers, &tag) {
            response.headers_mut().remove(header::CONTENT_TYPE);
            *response.body_mut() = Body::empty();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let fields = response.headers_mut();
        fields.insert(header::ETAG, tag);
        fields.insert(header::CACHE_CONTROL, self.cache_control());
        fields.append(header::VARY, HeaderValue::from_static("authorization"));
        response
    }

    fn is_kept(&self) -> bool {
        !self.is_private && !self.max_age.is_zero()
    }

    fn cache_control(&self) -> HeaderValue {
        if self.is_private {
            return HeaderValue::from_static("private, no-cache");
        }
        if self.max_age.is_zero() {
            return HeaderValue::from_static("no-cache");
        }
        let text = format!("public, max-age={}", self.max_age.as_secs());
        HeaderValue::from_str(&text).expect("digits")
    }
}

/// Forbids caches to store a response, unless it has a policy of its own.
pub(super) fn no_store(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut().entry(header::CACHE_CONTROL);
    headers.or_insert(HeaderValue::from_static("no-store"));
    response
}

/// An answer with errors may be different a moment later.
fn is_complete(answer: &GraphqlResponse) -> bool {
    answer.errors.is_empty() && answer.data.is_some()
}

/// Returns a weak tag of what was selected: equal data has equal tags, whatever its extensions.
fn entity_tag(answer: &GraphqlResponse) -> HeaderValue {
    let data = answer.data_json();
    let hash = Sha256::digest(data);
    let text = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&hash[..16]));
    HeaderValue::from_str(&text).expect("letters and digits")
}

/// Whether `If-None-Match` names the tag, by weak comparison.
pub(super) fn matches(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let tag = tag.to_str().map(opaque).unwrap_or_default();
    let lists = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known = lists
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','));
    known.any(|known| known.trim() == "*" || opaque(known) == tag)
}
