//! How much WebSocket connections may take up, and how long they may take.

use std::time::Duration;

/// The limits of all WebSocket connections of a process, and of each one.
#[derive(Clone, Copy, Debug)]
pub struct SocketLimits {
    /// Connections at the same time; a further one is refused with HTTP 503. By default 5,000.
    pub connections: usize,
    /// Operations at the same time on one connection; a further one is refused with an `error`
    /// message of the code `RATE_LIMITED`, and the connection stays. By default 20.
    pub operations: usize,
    /// The largest message of a client, in bytes; a larger one closes the connection. By default
    /// 256 KiB, as much as a request may have over HTTP.
    pub message_bytes: usize,
    /// Messages of one connection that wait to be sent; operations wait for room. By default 16.
    pub queue: usize,
    /// How long a client may take until it has sent `connection_init`. By default 10 seconds.
    pub init_patience: Duration,
    /// The time between two WebSocket pings of the server. By default 15 seconds.
    pub ping_interval: Duration,
    /// A connection on which nothing has been heard for this long, not even the answer to a
    /// ping, is closed. By default 45 seconds. Counted from [`Self::ping_interval`] before the
    /// first ping without an answer, so longer than that.
    pub silence: Duration,
    /// How long a client may take to make room for one message; a slower one is dropped. By
    /// default 10 seconds.
    pub send_patience: Duration,
    /// How long the closing of a connection may take, from the close frame of the server to the
    /// one of the client. By default 2 seconds.
    pub farewell: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            connections: 5_000,
            operations: 20,
            message_bytes: 256 * 1024,
            queue: 16,
            init_patience: Duration::from_secs(10),
            ping_interval: Duration::from_secs(15),
            silence: Duration::from_secs(45),
            send_patience: Duration::from_secs(10),
            farewell: Duration::from_secs(2),
        }
    }
}
