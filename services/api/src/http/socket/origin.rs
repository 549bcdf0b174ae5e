//! Which pages may open a WebSocket.
//!
//! A browser lets every page open a WebSocket to every host: CORS does not apply. It does say
//! where the page comes from, and the decision is the server's.

use axum::http::{
    HeaderMap, HeaderValue,
    header::{HOST, ORIGIN},
};

/// Whether the request comes from a page of these origins, from one of the same host, or from
/// no page at all.
pub(super) fn is_welcome(origins: &[HeaderValue], headers: &HeaderMap) -> bool {
    let host = headers.get(HOST);
    let mut named = headers.get_all(ORIGIN).iter();
    named.all(|origin| origins.contains(origin) || host.is_some_and(|host| is_of(origin, host)))
}

/// The scheme is not compared: where TLS ends in front of the service, only the browser knows it.
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

    use super::is_welcome;

    fn welcome(pairs: &[(HeaderName, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, HeaderValue::from_static(value));
        }
        let shop = HeaderValue::from_static("https://shop.example");
        is_welcome(&[shop], &headers)
    }

    #[test]
    fn pages_are_of_a_known_origin_or_of_the_same_host() {
        let api = (HOST, "api.example:8080");
        assert!(welcome(std::slice::from_ref(&api)));
        for origin in [
            "https://shop.example",
            "http://api.example:8080",
            "https://API.example:8080",
        ] {
            assert!(welcome(&[api.clone(), (ORIGIN, origin)]), "{origin}");
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
            assert!(!welcome(&[api.clone(), (ORIGIN, origin)]), "{origin}");
        }
    }

    #[test]
    fn all_origins_that_are_named_must_be_welcome() {
        let pair = [
            (ORIGIN, "https://shop.example"),
            (ORIGIN, "https://evil.example"),
        ];
        assert!(!welcome(&pair));
        assert!(!welcome(&[(ORIGIN, "https://api.example")]), "no host");
    }
}
