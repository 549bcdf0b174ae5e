//! What receiving files for imports and receiving pictures have in common.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures_util::StreamExt as _;
use serde::Serialize;
use vitrine_domain::DomainError;

use super::accept::Media;
use super::caching::no_store;
use super::{RequestId, response};
use crate::execution::{ErrorCode, Failure};

/// How long to wait for the next bytes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why something was not received.
pub(super) enum Refused {
    /// A failure of the service, or of the caller's rights.
    Failure(Failure),
    /// A mistake on the HTTP level.
    Protocol(StatusCode, String),
}

impl Refused {
    /// The caller lacks a role.
    pub(super) fn role(what: &str, role: &str, is_known: bool) -> Self {
        Self::Failure(if is_known {
            Failure::new(
                ErrorCode::Forbidden,
                format!("{what} need the role {role}."),
            )
        } else {
            let message = format!("{what} need a token with the role {role}.");
            Failure::new(ErrorCode::Unauthenticated, message)
        })
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<DomainError> for Refused {
    fn from(error: DomainError) -> Self {
        Self::Failure(Failure::from(error))
    }
}

pub(super) fn protocol(status: StatusCode, message: &str) -> Refused {
    Refused::Protocol(status, message.to_owned())
}

/// Returns the next bytes of a body; `None` at its end.
pub(super) async fn next_piece(pieces: &mut BodyDataStream) -> Result<Option<Bytes>, Refused> {
    let Ok(piece) = tokio::time::timeout(IDLE_TIMEOUT, pieces.next()).await else {
        let message = "The file did not arrive: nothing for 30 seconds.";
        return Err(protocol(StatusCode::REQUEST_TIMEOUT, message));
    };
    piece.transpose().map_err(|_| {
        let message = "The file could not be read to its end.";
        protocol(StatusCode::BAD_REQUEST, message)
    })
}

/// Answers with what was received, as JSON, or why nothing was.
pub(super) fn answer(received: Result<impl Serialize, Refused>, id: &RequestId) -> Response<Body> {
    match received {
        Ok(received) => {
            let json = serde_json::to_vec(&received).expect("plain data");
            let mut answer = Response::new(Body::from(json));
            *answer.status_mut() = StatusCode::CREATED;
            let json = HeaderValue::from_static("application/json");
            answer.headers_mut().insert(header::CONTENT_TYPE, json);
            no_store(answer)
        }
        Err(Refused::Failure(failure)) => {
            response::failure(Media::GraphqlResponse, &failure, id.as_str())
        }
        Err(Refused::Protocol(status, message)) => response::protocol(status, &message),
    }
}
