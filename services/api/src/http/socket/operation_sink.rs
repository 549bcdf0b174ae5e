//! The sending side of an operation.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

use super::operation::AnswerSink;
use super::protocol::{ServerMessage, next_message};
use crate::execution::{GraphqlResponse, ResponseError};

/// A message of an operation in the send queue.
#[derive(Debug)]
pub(super) struct OutgoingMessage {
    pub(super) id: Arc<str>,
    /// Distinguishes successive operations with the same id.
    pub(super) number: u64,
    pub(super) text: Utf8Bytes,
    /// Whether the operation ends with this message.
    pub(super) is_last: bool,
}

/// Sends the messages of one operation. Waits while the connection's send queue is full because the
/// client does not read.
#[derive(Debug)]
pub(super) struct OperationSink {
    pub(super) id: Arc<str>,
    pub(super) number: u64,
    pub(super) queue: mpsc::Sender<OutgoingMessage>,
}

impl AnswerSink for OperationSink {
    async fn next(&self, answer: GraphqlResponse) {
        self.send(next_message(&self.id, answer), false).await;
    }
}

impl OperationSink {
    /// Sends the errors with which the operation was refused.
    pub(super) async fn refuse(&self, payload: &[ResponseError]) {
        let id = &*self.id;
        let text = ServerMessage::Error { id, payload }.text();
        self.send(text, true).await;
    }

    /// Reports the end of the operation.
    pub(super) async fn complete(&self) {
        let text = ServerMessage::Complete { id: &self.id }.text();
        self.send(text, true).await;
    }

    async fn send(&self, text: Utf8Bytes, is_last: bool) {
        let message = OutgoingMessage {
            id: Arc::clone(&self.id),
            number: self.number,
            text,
            is_last,
        };
        // The receiver is gone only if the connection is ending, and this operation with it.
        let _ = self.queue.send(message).await;
    }
}
