//! The payload of `connection_init`.

use axum::http::{HeaderValue, header::AUTHORIZATION};
use serde_json::{Map, Value};

use crate::execution::{ErrorCode, Failure};

/// Returns the value for the header `Authorization` from the payload of `connection_init`, because
/// browsers cannot add headers to a WebSocket.
pub(super) fn authorization(payload: Map<String, Value>) -> Result<Option<HeaderValue>, Failure> {
    let mut named = payload
        .into_iter()
        .filter(|(key, _)| key.eq_ignore_ascii_case(AUTHORIZATION.as_str()));
    let value = match (named.next(), named.next()) {
        (None, _) | (Some((_, Value::Null)), None) => return Ok(None),
        (Some((_, Value::String(text))), None) => HeaderValue::try_from(text).ok(),
        _ => None,
    };
    let mut value = value.ok_or_else(|| {
        let message = "authorization must be one string: \"Bearer\" and a token.";
        Failure::new(ErrorCode::Unauthenticated, message)
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::authorization;

    fn read(payload: Value) -> Result<Option<String>, String> {
        let Value::Object(payload) = payload else {
            panic!("a payload is an object")
        };
        let value = authorization(payload).map_err(|failure| failure.code().as_str().to_owned())?;
        Ok(value.map(|value| value.to_str().unwrap().to_owned()))
    }

    #[test]
    fn the_key_is_matched_in_any_case() {
        for key in ["authorization", "Authorization", "AUTHORIZATION"] {
            let read = read(json!({ "a": 1, key: "Bearer x" }));
            assert_eq!(read, Ok(Some("Bearer x".to_owned())));
        }
        assert_eq!(read(json!({ "token": "x" })), Ok(None));
        assert_eq!(read(json!({ "authorization": null })), Ok(None));
    }

    #[test]
    fn authorization_is_one_text_that_a_header_could_hold() {
        for payload in [
            json!({ "authorization": 1 }),
            json!({ "authorization": ["Bearer x"] }),
            json!({ "authorization": "Bearer\nx" }),
            json!({ "authorization": "Bearer x", "Authorization": "Bearer x" }),
            json!({ "authorization": null, "Authorization": "Bearer x" }),
        ] {
            assert_eq!(read(payload), Err("UNAUTHENTICATED".to_owned()));
        }
    }

    #[test]
    fn authorization_is_not_shown_in_logs() {
        let Value::Object(payload) = json!({ "authorization": "Bearer secret" }) else {
            panic!("a payload is an object")
        };
        let value = authorization(payload).unwrap().unwrap();
        assert!(!format!("{value:?}").contains("secret"));
    }
}
