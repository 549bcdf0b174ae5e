//! The WebSocket handshake: from a GET with `Upgrade: websocket` to an open connection, or an HTTP
//! error.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
};
use tracing::Instrument;

use super::{connection::Connection, origin, protocol, sockets::ConnectionPermit};
use crate::{
    execution::{ErrorCode, Failure},
    http::{LineLimiter, RequestId, accept::Media, client_address, graphql, response, routes::Api},
};

/// The upgrade of a request, or why it is not a valid WebSocket handshake.
pub(in crate::http) type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// The size of the read buffer of each connection, in bytes.
const READ_BUFFER: usize = 4 * 1024;

/// Whether the request asks for a WebSocket.
pub(in crate::http) fn is_upgrade(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::UPGRADE).into_iter();
    named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

/// Whether the request asked for a WebSocket before a proxy removed the header that says so.
pub(in crate::http) fn has_lost_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::SEC_WEBSOCKET_KEY) && !headers.contains_key(header::UPGRADE)
}

/// Opens the WebSocket, or responds with an error.
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
    match permit(api, headers) {
        Ok(permit) => accepted(api, id, headers, upgrade, permit),
        Err(failure) => graphql::refused(Media::Json, &failure, id),
    }
}

fn permit(api: &Api, headers: &HeaderMap) -> Result<ConnectionPermit, Failure> {
    if origin::is_allowed(&api.origins, headers) {
        return api.sockets.acquire(client_address(headers));
    }
    log_refused_origin(headers);
    let message = "Pages of this origin may not open WebSockets here.";
    Err(Failure::new(ErrorCode::Forbidden, message))
}

/// Says which origin was refused, and why it was not taken for that of the service. Strangers choose both, so few lines.
fn log_refused_origin(headers: &HeaderMap) {
    static REFUSED: LineLimiter = LineLimiter::new();
    let shown = |name| headers.get(name).map(shortened);
    if let Some(left_out) = REFUSED.permit() {
        let (origin, host) = (shown(header::ORIGIN), shown(header::HOST));
        tracing::warn!(
            origin,
            host,
            left_out,
            "a web socket is refused: pages of this origin may not open any"
        );
    }
}

/// The beginning of a header, without what could end the line.
fn shortened(value: &HeaderValue) -> String {
    const MAX_SHOWN: usize = 100;
    let text = String::from_utf8_lossy(value.as_bytes());
    text.escape_default().take(MAX_SHOWN).collect()
}

fn accepted(
    api: &Arc<Api>,
    id: &RequestId,
    headers: &HeaderMap,
    upgrade: WebSocketUpgrade,
    permit: ConnectionPermit,
) -> Response<Body> {
    let (api, headers) = (Arc::clone(api), copied(headers));
    // No parent: the span of the request ends with its response, which is sent at once.
    let span = tracing::info_span!(parent: None, "socket", id = id.as_str());
    let bytes = api.sockets.limits().message_bytes;
    upgrade
        .max_message_size(bytes)
        .max_frame_size(bytes)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a WebSocket was not opened"))
        .on_upgrade(move |socket| {
            let connection = Connection::new(socket, api, headers, permit);
            connection.run().instrument(span)
        })
}

/// Copies the headers, so that the 8 KiB read buffer of the request can be freed.
fn copied(headers: &HeaderMap) -> HeaderMap {
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
    response::protocol(StatusCode::BAD_REQUEST, &message)
}

/// RFC 6455, section 4.4: the response to a client of another version names the supported version.
fn malformed(rejection: &WebSocketUpgradeRejection) -> Response<Body> {
    let message = format!(
        "The WebSocket handshake is invalid: {}.",
        rejection.body_text()
    );
    if !matches!(
        rejection,
        WebSocketUpgradeRejection::InvalidWebSocketVersionHeader(_)
    ) {
        return response::protocol(rejection.status(), &message);
    }
    let mut response = response::protocol(StatusCode::UPGRADE_REQUIRED, &message);
    let headers = response.headers_mut();
    headers.insert(
        header::SEC_WEBSOCKET_VERSION,
        HeaderValue::from_static("13"),
    );
    response
}
