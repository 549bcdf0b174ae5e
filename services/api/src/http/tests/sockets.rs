//! GraphQL over WebSocket, asked by a client that knows frames and JSON and nothing else.

mod callers;
mod client;
mod closing;
mod conversation;
mod crowds;
mod garbage;
mod handshake;
mod memory;
mod stopping;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use self::client::Client;
use self::memory::MemoryServer;
use super::Server;
use crate::http::{Api, Capacity, SocketLimits, Sockets};

/// Long enough for anything that is not stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with limits of the test's choice.
async fn limited(limit: impl FnOnce(&mut SocketLimits)) -> Server {
    let mut limits = SocketLimits::default();
    limit(&mut limits);
    let sockets = Sockets::new(limits);
    Server::start(Capacity::default(), |api: Api| api.sockets(sockets)).await
}

/// Waits until something that nobody announces is the case.
async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("it is never so");
}

fn subscribe(id: &str, text: &str) -> Value {
    json!({ "type": "subscribe", "id": id, "payload": { "query": text } })
}

fn complete(id: &str) -> Value {
    json!({ "type": "complete", "id": id })
}

fn next(id: &str, data: &Value) -> Value {
    json!({ "type": "next", "id": id, "payload": { "data": data } })
}
