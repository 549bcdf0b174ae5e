//! The check of the origin of WebSocket requests.
//!
//! CORS does not apply to WebSockets: a browser lets every page open one to every host. It sends
//! the page's origin, and the server must decide.

use axum::http::{
    HeaderMap, HeaderValue,
    header::{HOST, ORIGIN},
};

/// Whether the request comes from a page of an allowed origin or of the same host, or not from a
/// page at all.
pub(super) fn is_allowed(origins: &[HeaderValue], headers: &HeaderMap) -> bool {
    let host = headers.get(HOST);
    let mut sent = headers.get_all(ORIGIN).iter();
    sent.all(|origin| origins.contains(origin) || host.is_some_and(|host| is_of(origin, host)))
}

/// The scheme is not compared: if TLS is terminated in front of the service, only the browser knows
/// it.
fn is_of(origin: &HeaderValue, host: &HeaderValue) -> bool {
    let authority = origin.to_str().ok().and_then(|text| text.split_once("://"));
    authority.is_some_and(|(_, name)| host.as_bytes().eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use axum::http::{
        HeaderMap, HeaderName, HeaderValue,
        header::{HOST, ORIGIN},
    };

    use super::is_allowed;

    fn allowed(pairs: &[(HeaderName, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, HeaderValue::from_static(value));
        }
        let shop = HeaderValue::from_static("https://shop.example");
        is_allowed(&[shop], &headers)
    }

    #[test]
    fn pages_of_allowed_origins_or_of_the_same_host_are_allowed() {
        let api = (HOST, "api.example:8080");
        assert!(allowed(std::slice::from_ref(&api)));
        for origin in [
            "https://shop.example",
            "http://api.example:8080",
            "https://API.example:8080",
        ] {
            assert!(allowed(&[api.clone(), (ORIGIN, origin)]), "{origin}");
        }
        for origin in [
            "https://evil.example",
            "http://shop.example",
            "https://shop.example.evil.example",
            "https://api.example",
            "https://api.example:8081",
            "api.example:8080",
            "null",
            "",
        ] {
            assert!(!allowed(&[api.clone(), (ORIGIN, origin)]), "{origin}");
        }
    }

    #[test]
    fn every_sent_origin_must_be_allowed() {
        let pair = [
            (ORIGIN, "https://shop.example"),
            (ORIGIN, "https://evil.example"),
        ];
        assert!(!allowed(&pair));
        assert!(!allowed(&[(ORIGIN, "https://api.example")]), "no host");
    }
}
