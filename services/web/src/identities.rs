//! As whom visitors may act, in development.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::site::Shared;

/// Somebody as whom visitors may act.
#[derive(Clone)]
pub struct Identity {
    /// What the role is called.
    pub label: String,
    /// The subject of the token.
    pub subject: String,
    /// The token.
    pub token: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("label", &self.label)
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

/// `POST /act-as`: all identities with their tokens, for scripts of our own pages.
///
/// The service offers them only to this machine: it listens on a loopback address. A page of another
/// site cannot read the answer, because the browser forbids it. It could if its own name led to this
/// address (DNS rebinding), so the host must be a number, or `localhost`.
pub(crate) async fn act_as(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Response<Body> {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let same_site = headers
        .get("sec-fetch-site")
        .is_none_or(|site| site == "same-origin");
    if !same_site || !host.is_some_and(is_no_name) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }
    let identities = shared.site.identities.iter();
    let people = identities
        .map(|one| json!({ "label": one.label, "subject": one.subject, "token": one.token }));
    let people = people.collect::<Value>();
    let mut response = Response::new(Body::from(people.to_string()));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whether a host, with or without a port, is `localhost` or a number: an IP address, of whichever
/// machine. Nobody can lead such a host to another address.
fn is_no_name(host: &str) -> bool {
    let port = host
        .rsplit_once(':')
        .filter(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = port.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_no_name;

    #[test]
    fn a_host_of_a_stranger_has_a_name() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "[::1]:80",
            "192.0.2.1",
        ] {
            assert!(is_no_name(host), "{host}");
        }
        for host in [
            "shop.example",
            "localhost.shop.example:8080",
            "127.0.0.1.example",
            "",
        ] {
            assert!(!is_no_name(host), "{host}");
        }
    }
}
