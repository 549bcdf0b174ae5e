//! All connections of a listener: counting and limiting.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use ipnet::IpNet;

use super::limits::ConnectionLimits;
use crate::{
    graphql::Caller,
    http::client_counts::{ClientCounts, ClientPlace},
};

/// The maximum number of connections that are answered once when the limit is reached.
const MAX_ANSWERED_ONCE: usize = 32;

/// The connections of a listener. Cheap to clone; clones share the same connections.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: ConnectionLimits,
    trusted_proxies: Vec<IpNet>,
    open: AtomicUsize,
    by_client: ClientCounts,
    events: [AtomicU64; ConnectionEvent::ALL.len()],
}

/// Something that happens to connections and is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A connection was accepted.
    Accepted,
    /// A connection was closed, or answered with 503, because there were too many.
    RefusedInAll,
    /// A connection was closed because there were too many from its address.
    RefusedByAddress,
    /// The system failed to accept a connection, for example because the process has too many open
    /// files.
    AcceptFailed,
    /// A TLS handshake failed or took too long.
    HandshakeFailed,
    /// A connection was closed because the header of a request took too long.
    HeaderTimeout,
    /// A connection was closed because a client did not take its response in time.
    ResponseTimeout,
}

impl ConnectionEvent {
    /// All events.
    pub const ALL: [Self; 7] = [
        Self::Accepted,
        Self::RefusedInAll,
        Self::RefusedByAddress,
        Self::AcceptFailed,
        Self::HandshakeFailed,
        Self::HeaderTimeout,
        Self::ResponseTimeout,
    ];
}

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// Send any number of requests.
    Full,
    /// Get one response: that of a health check, or 503.
    HealthOnly,
}

/// Why a connection is closed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    InAll,
    ByAddress,
}

/// Counts one open connection until dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    connections: Connections,
    /// `None` for a trusted proxy.
    _place: Option<ClientPlace>,
    pub(super) service: Service,
}

impl Connections {
    /// Creates an empty set with these limits. Addresses in the networks of `trusted_proxies` are
    /// not limited one by one, because each of them has the connections of many clients.
    #[must_use]
    pub fn new(limits: ConnectionLimits, trusted_proxies: impl IntoIterator<Item = IpNet>) -> Self {
        Self(Arc::new(Shared {
            limits,
            trusted_proxies: trusted_proxies.into_iter().collect(),
            open: AtomicUsize::new(0),
            by_client: ClientCounts::new(limits.connections_per_address),
            events: Default::default(),
        }))
    }

    /// Returns the number of open connections, including those that became web sockets.
    #[must_use]
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }

    /// Returns how often something has happened since the process began.
    #[must_use]
    pub fn count(&self, event: ConnectionEvent) -> u64 {
        self.0.events[event as usize].load(Ordering::Relaxed)
    }

    pub(super) fn record(&self, event: ConnectionEvent) {
        self.0.events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn limits(&self) -> &ConnectionLimits {
        &self.0.limits
    }

    /// Admits a connection from an address, unless a limit is reached.
    pub(super) fn admit(&self, address: IpAddr) -> Result<ConnectionPermit, Refusal> {
        let address = address.to_canonical();
        let mut networks = self.0.trusted_proxies.iter();
        let is_proxy = networks.any(|network| network.contains(&address));
        let enter = || self.0.by_client.enter(&Caller::at(address));
        let place = if is_proxy {
            None
        } else {
            Some(enter().ok_or(Refusal::ByAddress)?)
        };
        // From here on, dropping the permit undoes both.
        let before = self.0.open.fetch_add(1, Ordering::Relaxed);
        let limit = self.0.limits.connections;
        let permit = ConnectionPermit {
            connections: self.clone(),
            _place: place,
            service: if before < limit {
                Service::Full
            } else {
                Service::HealthOnly
            },
        };
        if before >= limit.saturating_add(MAX_ANSWERED_ONCE) {
            return Err(Refusal::InAll);
        }
        Ok(permit)
    }
}

impl ConnectionPermit {
    pub(super) fn is_beyond_limit(&self) -> bool {
        self.service == Service::HealthOnly
    }
}

impl Default for Connections {
    fn default() -> Self {
        Self::new(ConnectionLimits::default(), [])
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: usize, each: usize) -> Connections {
        let limits = ConnectionLimits {
            connections: all,
            connections_per_address: each,
            ..ConnectionLimits::default()
        };
        Connections::new(limits, ["10.0.0.0/8".parse().unwrap()])
    }

    fn admit(connections: &Connections, address: &str) -> Result<ConnectionPermit, Refusal> {
        connections.admit(address.parse().unwrap())
    }

    #[test]
    fn connections_from_an_address_are_limited_until_one_is_closed() {
        let connections = connections(100, 2);
        let first = admit(&connections, "192.0.2.1").unwrap();
        let second = admit(&connections, "::ffff:192.0.2.1").unwrap();
        assert_eq!(
            admit(&connections, "192.0.2.1").unwrap_err(),
            Refusal::ByAddress
        );
        let other = admit(&connections, "192.0.2.2").unwrap();
        assert_eq!(connections.open(), 3);
        drop(first);
        let third = admit(&connections, "192.0.2.1").unwrap();
        drop((second, third, other));
        assert_eq!(connections.open(), 0);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let connections = connections(100, 1);
        let _first = admit(&connections, "2001:db8:0:1::1").unwrap();
        let same = admit(&connections, "2001:db8:0:1:ffff::2");
        assert_eq!(same.unwrap_err(), Refusal::ByAddress);
        assert!(admit(&connections, "2001:db8:0:2::1").is_ok());
    }

    #[test]
    fn trusted_proxies_have_no_limit_of_their_own() {
        let connections = connections(100, 1);
        let permits: Vec<_> = (0..50).map(|_| admit(&connections, "10.1.2.3")).collect();
        assert!(permits.iter().all(Result::is_ok));
    }

    #[test]
    fn beyond_the_limit_some_are_answered_once_and_the_rest_are_refused() {
        let connections = connections(3, 1_000);
        let mut permits: Vec<_> = (0..3 + MAX_ANSWERED_ONCE)
            .map(|_| admit(&connections, "192.0.2.1").unwrap())
            .collect();
        let full = permits
            .iter()
            .filter(|permit| permit.service == Service::Full);
        assert_eq!(full.count(), 3);
        let further = admit(&connections, "192.0.2.1");
        assert_eq!(further.unwrap_err(), Refusal::InAll);
        assert_eq!(connections.open(), 3 + MAX_ANSWERED_ONCE);
        permits.truncate(2);
        let again = admit(&connections, "192.0.2.1").unwrap();
        assert_eq!(again.service, Service::Full);
    }
}
