//! The reasons and codes with which the server closes connections.

use std::time::Duration;

use axum::extract::ws::CloseFrame;

/// The maximum length of the reason in a close frame, in bytes (RFC 6455, section 5.5).
const MAX_REASON: usize = 123;

/// A close code and its reason.
#[derive(Debug)]
pub(super) struct Closing {
    code: u16,
    reason: String,
}

impl Closing {
    /// Truncates the reason to the length that a close frame allows.
    fn new(code: u16, reason: impl Into<String>) -> Self {
        let mut reason = reason.into();
        reason.truncate(reason.floor_char_boundary(MAX_REASON));
        Self { code, reason }
    }

    /// The service is stopping; clients of this protocol reconnect.
    pub(super) fn stopping() -> Self {
        Self::new(1001, "the service is stopping; connect again")
    }

    /// Nothing was received from the client.
    pub(super) fn silent(silence: Duration) -> Self {
        Self::new(1001, format!("nothing was received for {silence:?}"))
    }

    /// The caller has too many connections. Clients try again later.
    pub(super) fn too_many_connections(limit: usize) -> Self {
        let reason = format!("you have {limit} connections, which is the limit; close one");
        Self::new(1013, reason)
    }

    /// The token has expired. With this code, unlike with 4401, clients of this protocol connect
    /// again, and get a new token for it.
    pub(super) fn expired() -> Self {
        Self::new(4403, "the token has expired; connect again with a new one")
    }

    pub(super) fn bad_message(reason: &str) -> Self {
        Self::new(4400, reason)
    }

    /// The frame is not a text message, or is too large.
    pub(super) fn unreadable(message_bytes: usize) -> Self {
        let reason = format!(
            "Invalid message: messages are WebSocket text frames of at most {message_bytes} bytes"
        );
        Self::new(4400, reason)
    }

    pub(super) fn not_initialised() -> Self {
        Self::new(4401, "Unauthorized: send connection_init first")
    }

    /// The client failed to authenticate. The reason is for the client.
    pub(super) fn forbidden(reason: &str) -> Self {
        Self::new(4403, reason)
    }

    pub(super) fn init_timeout() -> Self {
        Self::new(4408, "Connection initialisation timeout")
    }

    pub(super) fn already_exists(id: &str) -> Self {
        Self::new(4409, format!("Subscriber for {id} already exists"))
    }

    pub(super) fn too_many_inits() -> Self {
        Self::new(4429, "Too many initialisation requests")
    }
}

impl From<Closing> for CloseFrame {
    fn from(closing: Closing) -> Self {
        Self {
            code: closing.code,
            reason: closing.reason.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Closing, MAX_REASON};

    #[test]
    fn reasons_fit_into_a_close_frame_and_are_text() {
        let closing = Closing::forbidden(&"ä".repeat(100));
        assert_eq!(closing.reason.len(), MAX_REASON - 1);
        assert_eq!(Closing::bad_message("short").reason, "short");
    }
}
