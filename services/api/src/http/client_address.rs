//! The address of the client of a request.
//!
//! It is passed on in a header, like the token: WebSocket connections keep the headers of their
//! upgrade request and authenticate each operation by them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once};

use axum::{
    body::Body,
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response},
    middleware::Next,
};
use ipnet::IpNet;

/// Set by [`identify`] alone; what a client sends is removed.
const HEADER: HeaderName = HeaderName::from_static("x-vitrine-client-address");
/// Proxies append the address that they were called from.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Returns the address of the client; `None` when a test calls the router without a connection.
#[must_use]
pub fn client_address(headers: &HeaderMap) -> Option<IpAddr> {
    headers.get(HEADER)?.to_str().ok()?.parse().ok()
}

/// Middleware that determines the address of the client. Proxies in `trusted` networks are believed
/// what they say about their client.
pub(super) async fn identify(
    State(trusted): State<Arc<[IpNet]>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let client = peer.map(|peer| behind_proxies(peer.0.ip(), request.headers(), &trusted));
    let headers = request.headers_mut();
    headers.remove(HEADER);
    if let Some(client) = client {
        let value = HeaderValue::from_str(&client.to_string());
        headers.insert(HEADER, value.expect("an address has no control characters"));
    }
    next.run(request).await
}

/// The nearest address that is no trusted proxy.
fn behind_proxies(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_proxy = |address: IpAddr| {
        let address = address.to_canonical();
        trusted.iter().any(|network| network.contains(&address))
    };
    let lines = headers.get_all(FORWARDED_FOR).into_iter().rev();
    let hops = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.rsplit(','));
    let mut client = peer;
    for hop in hops {
        if !is_proxy(client) {
            break;
        }
        // A proxy that writes no address is the nearest that is known.
        let Some(address) = address_in(hop) else {
            warn_once(client, hop);
            break;
        };
        client = address;
    }
    client.to_canonical()
}

/// Returns the address that a proxy has written, with or without a port.
fn address_in(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop
        .strip_prefix('[')
        .and_then(|hop| hop.strip_suffix(']'))
        .unwrap_or(hop);
    let with_port = || hop.parse().ok().map(|address: SocketAddr| address.ip());
    bare.parse().ok().or_else(with_port)
}

/// Tells the operator once that all visitors behind a proxy count as one.
fn warn_once(proxy: IpAddr, hop: &str) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tracing::warn!(
            %proxy,
            hop,
            "a trusted proxy sends an X-Forwarded-For that is no address: all clients behind it have one budget"
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str]) -> String {
        let trusted: Vec<IpNet> = ["10.0.0.0/8", "fd00::/8"]
            .iter()
            .map(|network| network.parse().unwrap())
            .collect();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(line).unwrap());
        }
        behind_proxies(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn the_client_is_the_nearest_address_that_is_no_trusted_proxy() {
        for (peer, forwarded, expected) in [
            ("192.0.2.1", &[][..], "192.0.2.1"),
            // Only proxies are believed.
            ("192.0.2.1", &["198.51.100.7"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            (
                "10.0.0.1",
                &["203.0.113.9, 198.51.100.7, 10.2.3.4"],
                "198.51.100.7",
            ),
            (
                "10.0.0.1",
                &["203.0.113.9", "198.51.100.7,10.2.3.4"],
                "198.51.100.7",
            ),
            ("::ffff:10.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("fd00::1", &["::ffff:192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.7:51234"], "198.51.100.7"),
            (
                "10.0.0.1",
                &["203.0.113.9, [2001:db8::1]:443"],
                "2001:db8::1",
            ),
            ("10.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("10.0.0.1", &["198.51.100.7:1, 10.2.3.4:2"], "198.51.100.7"),
            // What no proxy can have written ends the search.
            ("10.0.0.1", &["198.51.100.7, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["10.0.0.2"], "10.0.0.2"),
        ] {
            assert_eq!(client(peer, forwarded), expected, "{peer} {forwarded:?}");
        }
    }
}
