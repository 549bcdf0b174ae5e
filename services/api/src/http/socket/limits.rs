//! Limits and timeouts of WebSocket connections.

use std::time::Duration;

/// The limits of all WebSocket connections of a process and of each single one.
#[derive(Clone, Copy, Debug)]
pub struct SocketLimits {
    /// The maximum number of connections; further ones are refused with HTTP 503. Default: 5,000.
    pub connections: usize,
    /// The maximum number of connections per client: per subject of a token, or per address without
    /// one (per /64 network of IPv6). Further ones are refused with HTTP 429 by address, and closed
    /// with 1013 by subject. Default: 250.
    pub connections_per_client: usize,
    /// The maximum number of concurrent operations per client over all its connections. A further
    /// one is refused like [`Self::operations`]. Default: 500.
    pub operations_per_client: usize,
    /// The maximum number of concurrent operations per connection. A further one is refused with an
    /// `error` message with code `RATE_LIMITED`; the connection stays open. Default: 20.
    pub operations: usize,
    /// The maximum size of a client's message in bytes. A larger one closes the connection.
    /// Default: 256 KiB, the same as for requests over HTTP.
    pub message_bytes: usize,
    /// The length of a connection's send queue in messages. Operations wait while it is full.
    /// Default: 16.
    pub queue: usize,
    /// The time for a client to send `connection_init`. Default: 10 seconds.
    pub init_timeout: Duration,
    /// The interval between WebSocket pings by the server. Default: 15 seconds.
    pub ping_interval: Duration,
    /// The time after which a connection is closed if nothing is received, not even a pong. Must be
    /// longer than [`Self::ping_interval`], because it is counted from one interval before the
    /// first unanswered ping. Default: 45 seconds.
    pub silence: Duration,
    /// The time for a client to accept one message. A slower client is disconnected. Default: 10
    /// seconds.
    pub send_timeout: Duration,
    /// The time from the server's close frame to that of the client. Default: 2 seconds.
    pub close_timeout: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            connections: 5_000,
            connections_per_client: 250,
            operations_per_client: 500,
            operations: 20,
            message_bytes: 256 * 1024,
            queue: 16,
            init_timeout: Duration::from_secs(10),
            ping_interval: Duration::from_secs(15),
            silence: Duration::from_secs(45),
            send_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(2),
        }
    }
}
