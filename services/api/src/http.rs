//! GraphQL over HTTP, server-sent events and WebSocket: status codes, media types, bodies, request ids, load shedding
//! and shutdown. Files for imports are received beside it, and pictures received and shown.
//!
//! Every error response is JSON of the same shape, with an error code. This includes bodies that
//! are too large or not JSON, unknown paths, overload and panics.
//!
//! Every execution runs in its own task, and the connection only waits for the result (see
//! [`RequestLimiter`]). When a client disconnects or a deadline passes, a query stops, and a
//! mutation runs to its end. Database operations have tasks of their own below that, because
//! dropping a future that waits for a connection would leave its entry in the driver's queue.

mod accept;
mod body;
mod caching;
mod client_address;
mod client_counts;
mod events;
mod graphql;
mod health;
mod metrics;
mod persisted_queries;
mod pictures;
mod preparation;
mod query_string;
mod receiving;
mod report;
mod request_context;
mod request_id;
mod request_limiter;
mod response;
mod routes;
mod serve;
mod socket;
mod trace;
mod uploads;

pub use axum::http::{HeaderMap, HeaderValue};
pub use client_address::client_address;
pub use metrics::Metrics;
pub use persisted_queries::{PersistedQueries, PersistedQueryStore, TrustedDocuments};
pub use pictures::PictureSender;
pub use report::{Operation, RequestReport};
pub use request_context::{RequestContext, bearer};
pub use request_id::RequestId;
pub use request_limiter::{AtDeadline, Capacity, RequestLimiter, RequestUse, Size};
pub use routes::{Api, monitor, router};
pub use serve::{ConnectionEvent, ConnectionLimits, Connections, Listener, serve, serve_with};
pub use socket::{SocketLimits, Sockets};
pub use vitrine_domain::LineLimiter;

#[cfg(test)]
mod tests;
