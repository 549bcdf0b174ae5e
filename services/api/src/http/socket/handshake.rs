//! From a GET with `Upgrade: websocket` to an open connection, or a refusal in HTTP.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
};
use tracing::Instrument;

use super::{connection::Connection, origin, protocol, sockets::Place};
use crate::{
    execution::{ErrorCode, Failure},
    http::{RequestId, accept::Media, answer, graphql, routes::Api},
};

/// What is read from a request that may ask for a WebSocket.
pub(in crate::http) type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// Bytes that are read at once. Each connection has a buffer of this size.
const READ_BUFFER: usize = 4 * 1024;

/// Whether a WebSocket is asked for.
pub(in crate::http) fn is_wanted(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::UPGRADE).into_iter();
    named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

/// Opens the WebSocket that is asked for, or says why not.
pub(in crate::http) fn open(
    api: &Arc<Api>,
    id: &RequestId,
    headers: &HeaderMap,
    upgrade: Upgrade,
) -> Response<Body> {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([protocol::NAME]),
        Err(rejection) => return malformed(&rejection),
    };
    if upgrade.selected_protocol().is_none() {
        return unknown_protocol();
    }
    match enter(api, headers) {
        Ok(place) => accepted(api, id, headers, upgrade, place),
        Err(failure) => graphql::refused(Media::Json, &failure, id),
    }
}

fn enter(api: &Api, headers: &HeaderMap) -> Result<Place, Failure> {
    if origin::is_welcome(&api.origins, headers) {
        return api.sockets.enter();
    }
    let message = "Pages of this origin may not open WebSockets here.";
    Err(Failure::new(ErrorCode::Forbidden, message))
}

fn accepted(
    api: &Arc<Api>,
    id: &RequestId,
    headers: &HeaderMap,
    upgrade: WebSocketUpgrade,
    place: Place,
) -> Response<Body> {
    let (api, headers) = (Arc::clone(api), detached(headers));
    // Without a parent: the span of the request ends with its answer, which is sent at once.
    let span = tracing::info_span!(parent: None, "socket", id = id.as_str());
    let bytes = api.sockets.limits().message_bytes;
    upgrade
        .max_message_size(bytes)
        .max_frame_size(bytes)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a WebSocket was not opened"))
        .on_upgrade(move |socket| {
            let attended = async move {
                Connection::new(socket, api, headers).attend().await;
                drop(place);
            };
            attended.instrument(span)
        })
}

/// A copy that does not hold on to the buffer of 8 KiB that the request was read into.
fn detached(headers: &HeaderMap) -> HeaderMap {
    let copies = headers.iter().filter_map(|(name, value)| {
        let copy = HeaderValue::from_bytes(value.as_bytes()).ok()?;
        Some((name.clone(), copy))
    });
    copies.collect()
}

fn unknown_protocol() -> Response<Body> {
    let message = format!(
        "The WebSocket must offer the sub-protocol \"{}\".",
        protocol::NAME
    );
    answer::protocol(StatusCode::BAD_REQUEST, &message)
}

/// RFC 6455, section 4.4: a client with another version is told which one is understood.
fn malformed(rejection: &WebSocketUpgradeRejection) -> Response<Body> {
    let message = format!("This is no WebSocket: {}.", rejection.body_text());
    if !matches!(
        rejection,
        WebSocketUpgradeRejection::InvalidWebSocketVersionHeader(_)
    ) {
        return answer::protocol(rejection.status(), &message);
    }
    let mut response = answer::protocol(StatusCode::UPGRADE_REQUIRED, &message);
    let headers = response.headers_mut();
    headers.insert(
        header::SEC_WEBSOCKET_VERSION,
        HeaderValue::from_static("13"),
    );
    response
}
