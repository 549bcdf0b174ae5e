//! GraphQL over WebSocket for subscriptions, with the protocol `graphql-transport-ws`.
//!
//! A client opens `GET /graphql` as a WebSocket, sends `connection_init`, and then starts
//! operations, each under an id of its choice. Queries and mutations are allowed as well: they run
//! as over HTTP and have one response.
//!
//! One task owns the connection and does one thing at a time: it reads a message, sends a message,
//! or handles a timeout. Each operation is polled in its own task and sends its messages through a
//! short bounded queue. A client that does not read therefore blocks only its own operations and
//! uses bounded memory, and is soon disconnected.
//!
//! The protection of the database is the same as over HTTP: queries and mutations run in the
//! [`RequestLimiter`](super::RequestLimiter) and continue if the client disconnects. Subscriptions
//! end with their connection.

mod closing;
mod connection;
mod connection_init;
mod handshake;
mod keep_alive;
mod limits;
mod operation;
mod operation_sink;
mod operations;
mod origin;
mod protocol;
mod sockets;

pub(super) use connection::reached;
pub(super) use handshake::{Upgrade, has_lost_upgrade, is_upgrade, open};
pub use limits::SocketLimits;
pub(super) use operation::{AnswerSink, Errors, answer as answer_operation, panicked, refusal};
pub use sockets::Sockets;
pub(super) use sockets::{ConnectionPermit, OperationGuard};
