//! Limits and timeouts of connections.

use std::time::Duration;

/// The limits of all connections of a listener and of each single one.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// The maximum number of connections. Default: 10,000.
    ///
    /// When it is reached, up to 32 further connections are answered once: health checks as usual,
    /// everything else with 503. Others are closed at once. Waiting instead of closing would hide
    /// the overload from load balancers, and health checks would wait with everybody else.
    pub connections: usize,
    /// The maximum number of connections from one address, or from one /64 network of IPv6, which
    /// is what one customer of a provider has. Further ones are closed at once. Trusted proxies are
    /// exempt. Default: 512.
    pub connections_per_address: usize,
    /// The time for a TLS handshake. Protects from clients that connect and send nothing. Default:
    /// 10 seconds.
    pub handshake_timeout: Duration,
    /// The time from opening a connection to its first complete request header, and from the first
    /// byte of a later header to its last. Protects from clients that send headers byte by byte
    /// ("slow loris"). Default: 10 seconds.
    pub header_timeout: Duration,
    /// The time without a request after which a connection is closed. Longer than that of common
    /// load balancers (60 seconds), which otherwise send requests to connections that are closing.
    /// Default: 75 seconds.
    pub idle_timeout: Duration,
    /// The time for receiving, executing and delivering a request; it ends after once to twice this
    /// time. Protects from clients that do not read their responses. Web sockets are exempt.
    /// Default: 60 seconds.
    pub response_timeout: Duration,
    /// The maximum size of a request header in bytes. A larger one gets 431. Default: 64 KiB, which
    /// a query of 20,000 characters in a URL fits into.
    pub header_bytes: u32,
    /// The maximum number of concurrent requests on a connection of HTTP/2. Default: 100.
    pub streams: u32,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: 512,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            response_timeout: Duration::from_mins(1),
            header_bytes: 64 * 1024,
            streams: 100,
        }
    }
}
