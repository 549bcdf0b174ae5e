//! GraphQL over WebSocket, tested with a client of frames and JSON.

mod authentication;
mod client;
mod closing;
mod handshake;
mod invalid_messages;
mod limits;
mod memory;
mod operations;
mod shutdown;

use std::{sync::Arc, time::Duration};

use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::time::timeout;

pub(super) use self::client::Client;
use self::memory::MemoryServer;
use super::Server;
use crate::http::{Api, Capacity, RequestContext, SocketLimits, Sockets, bearer};

/// Long enough for anything that is not stuck.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a server with changed limits.
async fn limited(limit: impl FnOnce(&mut SocketLimits)) -> Server {
    let mut limits = SocketLimits::default();
    limit(&mut limits);
    let sockets = Sockets::new(limits);
    Server::start(Capacity::default(), |api: Api| api.sockets(sockets)).await
}

/// Starts a server with changed limits, where a token is the subject itself.
async fn by_subject(limit: impl FnOnce(&mut SocketLimits)) -> Server {
    let mut limits = SocketLimits::default();
    limit(&mut limits);
    let sockets = Sockets::new(limits);
    let authenticate = |headers: &HeaderMap| {
        let subject = bearer(headers)?.map(Arc::from);
        Ok(RequestContext::new().subject(subject))
    };
    let configure = |api: Api| api.sockets(sockets).authenticate(authenticate);
    Server::start(Capacity::default(), configure).await
}

/// Waits until a condition holds.
pub(super) async fn until(mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, waiting)
        .await
        .expect("the condition holds in time");
}

pub(super) fn subscribe(id: &str, text: &str) -> Value {
    json!({ "type": "subscribe", "id": id, "payload": { "query": text } })
}

fn complete(id: &str) -> Value {
    json!({ "type": "complete", "id": id })
}

fn next(id: &str, data: &Value) -> Value {
    json!({ "type": "next", "id": id, "payload": { "data": data } })
}
