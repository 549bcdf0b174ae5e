//! The messages of `graphql-transport-ws`.

use axum::extract::ws::Utf8Bytes;
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Error, Map, Value};

use super::closing::Closing;
use crate::execution::{GraphqlRequest, GraphqlResponse, ResponseError, object_from_text};

/// The name of the WebSocket sub-protocol.
pub(super) const NAME: &str = "graphql-transport-ws";

/// The maximum length of an operation id in bytes. The id is part of every message about the
/// operation.
const MAX_ID: usize = 256;

/// A message from the client. A duplicate key is an error, as over HTTP.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientMessage {
    /// Initialises the connection.
    ConnectionInit { payload: Option<Map<String, Value>> },
    /// Requests a `pong`.
    Ping { payload: Option<Map<String, Value>> },
    /// Responds to a `ping`, or shows that the client is alive.
    Pong,
    /// Starts an operation.
    Subscribe {
        id: String,
        payload: Box<GraphqlRequest>,
    },
    /// Completes an operation.
    Complete { id: String },
}

/// A message from the server.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServerMessage<'a> {
    /// The client may start operations.
    ConnectionAck,
    /// Responds to a `ping` with the same payload.
    Pong {
        #[serde(skip_serializing_if = "Option::is_none")]
        payload: Option<Map<String, Value>>,
    },
    /// The operation was refused and has ended.
    Error {
        id: &'a str,
        payload: &'a [ResponseError],
    },
    /// The operation has ended.
    Complete { id: &'a str },
}

impl ClientMessage {
    pub(super) fn parse(text: &str) -> Result<Self, Closing> {
        let message = Self::read(text);
        message.map_err(|error| Closing::bad_message(&format!("Invalid message: {error}")))
    }

    /// Parses into an object first, because the derived implementation would accept arrays.
    fn read(text: &str) -> serde_json::Result<Self> {
        let object = object_from_text(text)?;
        if object.get("payload").is_some_and(is_no_payload) {
            return Err(Error::custom("a payload is an object"));
        }
        let message = serde_json::from_value(Value::Object(object))?;
        match &message {
            Self::Subscribe { id, .. } | Self::Complete { id } if !is_id(id) => {
                Err(Error::custom(format_args!("an id has 1 to {MAX_ID} bytes")))
            }
            _ => Ok(message),
        }
    }
}

impl ServerMessage<'_> {
    pub(super) fn text(&self) -> Utf8Bytes {
        let text = serde_json::to_string(self);
        text.expect("our messages have string keys and finite numbers")
            .into()
    }
}

/// Returns the message with a response of an operation.
pub(super) fn next_message(id: &str, mut payload: GraphqlResponse) -> Utf8Bytes {
    let id = serde_json::to_string(id).expect("a string");
    let payload = String::from_utf8(payload.json()).expect("JSON is UTF-8");
    format!(r#"{{"type":"next","id":{id},"payload":{payload}}}"#).into()
}

fn is_no_payload(value: &Value) -> bool {
    !value.is_null() && !value.is_object()
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_ID
}

#[cfg(test)]
mod tests {
    use axum::extract::ws::CloseFrame;

    use super::{ClientMessage, ServerMessage};

    #[test]
    fn invalid_messages_are_refused_with_a_reason() {
        let long = format!(r#"{{"type":"complete","id":"{}"}}"#, "x".repeat(257));
        for (text, reason) in [
            ("", "EOF"),
            (r#"["complete","1"]"#, "expected an object"),
            (r#"{"id":"1"}"#, "missing field `type`"),
            (r#"{"type":"start","id":"1"}"#, "unknown variant `start`"),
            (
                r#"{"type":"subscribe","id":"1"}"#,
                "missing field `payload`",
            ),
            (
                r#"{"type":"subscribe","id":"1","payload":{}}"#,
                "missing field `query`",
            ),
            (
                r#"{"type":"subscribe","id":"1","payload":["{ a }"]}"#,
                "a payload is an object",
            ),
            (
                r#"{"type":"subscribe","id":1,"payload":{"query":""}}"#,
                "invalid type",
            ),
            (
                r#"{"type":"subscribe","id":"1","payload":{"query":"","variables":[]}}"#,
                "expected an object or null",
            ),
            (
                r#"{"type":"subscribe","id":"1","payload":{"query":"","variables":{"a":1,"a":2}}}"#,
                "duplicate key",
            ),
            (r#"{"type":"complete","id":"1","id":"2"}"#, "duplicate key"),
            (r#"{"type":"complete","id":""}"#, "an id has"),
            (
                r#"{"type":"connection_init","payload":1}"#,
                "a payload is an object",
            ),
            (r#"{"type":"ping","payload":[1]}"#, "a payload is an object"),
            (r#"{"type":"pong","payload":""}"#, "a payload is an object"),
            (long.as_str(), "an id has"),
        ] {
            let closing = ClientMessage::parse(text).unwrap_err();
            let frame = CloseFrame::from(closing);
            assert_eq!(frame.code, 4400);
            assert!(frame.reason.contains(reason), "{text}: {frame:?}");
        }
    }

    #[test]
    fn payloads_may_be_missing_or_null() {
        for text in [
            r#"{"type":"connection_init"}"#,
            r#"{"type":"connection_init","payload":null}"#,
            r#"{"type":"ping","payload":{}}"#,
            r#"{"payload":{"a":1},"type":"pong"}"#,
        ] {
            assert!(ClientMessage::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn messages_have_the_form_of_the_protocol() {
        let text = |message: ServerMessage| message.text().as_str().to_owned();
        assert_eq!(
            text(ServerMessage::ConnectionAck),
            r#"{"type":"connection_ack"}"#
        );
        assert_eq!(
            text(ServerMessage::Pong { payload: None }),
            r#"{"type":"pong"}"#
        );
        assert_eq!(
            text(ServerMessage::Complete { id: "a" }),
            r#"{"type":"complete","id":"a"}"#
        );
    }
}
