//! GraphQL over WebSocket, for subscriptions: the protocol `graphql-transport-ws`.
//!
//! A client opens `GET /graphql` as a WebSocket, introduces itself with `connection_init`, and
//! then starts operations, each under an id of its own choice. Queries and mutations may be
//! among them: they run as they do over HTTP, and are answered once.
//!
//! One task owns the connection and does one thing at a time: it reads a message, or sends one,
//! or looks at the time. Operations are polled in tasks of their own and hand in what they have
//! to say through a queue with few places. So a client that does not read holds up its own
//! operations and nothing else, and what waits for it is bounded; soon it is dropped.
//!
//! What protects the database over HTTP does so here: queries and mutations run in the
//! [`RequestLimiter`](super::RequestLimiter), and go on when the client leaves. Subscriptions end with their
//! connection.

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

pub(super) use handshake::{Upgrade, is_wanted, open};
pub use limits::SocketLimits;
pub use sockets::Sockets;
