//! The way from an operation to its client.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

use super::protocol::ServerMessage;
use crate::execution::{GraphqlResponse, ResponseError};

/// A message of an operation, on its way to the client.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: Arc<str>,
    /// Tells apart operations that had the same id one after the other.
    pub(super) number: u64,
    pub(super) text: Utf8Bytes,
    /// Whether the operation is over with it.
    pub(super) is_last: bool,
}

/// Takes what one operation has to say. Waits while the queue of the connection is full, which
/// it is when the client does not read.
#[derive(Debug)]
pub(super) struct OperationSink {
    pub(super) id: Arc<str>,
    pub(super) number: u64,
    pub(super) queue: mpsc::Sender<Answer>,
}

impl OperationSink {
    /// One answer.
    pub(super) async fn next(&self, payload: &GraphqlResponse) {
        let id = &*self.id;
        let text = ServerMessage::Next { id, payload }.text();
        self.send(text, false).await;
    }

    /// The operation was refused.
    pub(super) async fn refuse(&self, payload: &[ResponseError]) {
        let id = &*self.id;
        let text = ServerMessage::Error { id, payload }.text();
        self.send(text, true).await;
    }

    /// The operation has come to its end.
    pub(super) async fn complete(&self) {
        let text = ServerMessage::Complete { id: &self.id }.text();
        self.send(text, true).await;
    }

    async fn send(&self, text: Utf8Bytes, is_last: bool) {
        let answer = Answer {
            id: Arc::clone(&self.id),
            number: self.number,
            text,
            is_last,
        };
        // Nobody takes it any more only if the connection is ending, and this operation with it.
        let _ = self.queue.send(answer).await;
    }
}
