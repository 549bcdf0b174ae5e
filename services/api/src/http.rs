//! GraphQL over HTTP and WebSocket: status codes, media types, bodies, request ids, load and
//! shutdown.
//!
//! Whatever goes wrong, the answer is JSON of the same shape, with a code: also for bodies
//! that are too large or not JSON, unknown paths, overload and panics.
//!
//! Every execution runs in a task of its own, which the connection only waits for (see
//! [`RequestLimiter`]): a client that goes away drops the waiting, never the work. A dropped future
//! that waits for the database would leave its place in the driver's queue behind.

mod accept;
mod admission;
mod answer;
mod body;
mod graphql;
mod health;
mod identity;
mod metrics;
mod query_string;
mod request_limiter;
mod routes;
mod serve;
mod socket;

pub use admission::{RequestContext, bearer};
pub use identity::RequestId;
pub use metrics::Metrics;
pub use request_limiter::{Capacity, RequestLimiter};
pub use routes::{Api, monitor, router};
pub use serve::{serve, serve_with};
pub use socket::{SocketLimits, Sockets};

#[cfg(test)]
mod tests;
