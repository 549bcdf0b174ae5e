//! `POST /uploads?name=FILE`: receives a file for an import, in pieces, from an admin.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, BodyDataStream};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use tokio::sync::Semaphore;
use vitrine_domain::Catalog;
use vitrine_domain::uploads::UploadWriter;
use vitrine_model::id::GlobalId;
use vitrine_model::upload::{MAX_UPLOAD_BYTES, Upload};

use super::body::{declared_length, is_identity};
use super::receiving::{Refused, answer, next_piece, protocol};
use super::routes::Api;
use super::{RequestId, query_string, response};
use crate::execution::{ErrorCode, Failure};

/// The maximum number of files that a process receives at a time. Each has up to 2 MB in memory.
const MAX_RUNNING: usize = 4;
/// When to ask again while too many files are received.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Where the files of a caller go; none for callers who may not send any.
#[derive(Clone, Default)]
pub(super) struct Uploads(Option<(Catalog, String)>);

impl Uploads {
    /// Files that this subject sends are stored in a catalogue.
    pub(super) const fn of(catalog: Catalog, subject: String) -> Self {
        Self(Some((catalog, subject)))
    }
}

impl fmt::Debug for Uploads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploads").finish_non_exhaustive()
    }
}

/// The number of files that may still be received.
#[derive(Clone, Debug)]
pub(super) struct RunningUploads(Arc<Semaphore>);

impl Default for RunningUploads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_RUNNING)))
    }
}

/// The answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    id: String,
    name: String,
    bytes: u64,
    expires_at: String,
}

impl From<Upload> for Received {
    fn from(upload: Upload) -> Self {
        Self {
            id: GlobalId::Upload(upload.id).encode(),
            name: upload.name,
            bytes: upload.bytes,
            expires_at: upload.expires_at.to_string(),
        }
    }
}

/// `POST /uploads`.
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let query = query.unwrap_or_default();
    let received = receive(&api, &query, &headers, body).await;
    answer(received.map(Received::from), &id)
}

/// All other methods.
pub(super) async fn other() -> Response<Body> {
    response::wrong_method("POST", "Send a file with POST to /uploads?name=FILE.")
}

async fn receive(
    api: &Api,
    query: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<Upload, Refused> {
    let context = (api.authenticate)(headers)?;
    let Uploads(Some((catalog, subject))) = context.uploads else {
        let is_known = context.subject.is_some();
        return Err(Refused::role("Uploads", "admin", is_known));
    };
    if !is_identity(headers) {
        let message = "The body has a Content-Encoding; send the file as it is. A compressed file is read by its content.";
        return Err(protocol(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if declared_length(headers).is_some_and(|length| length as u64 > MAX_UPLOAD_BYTES) {
        let message = format!(
            "The file has more than {} MiB.",
            MAX_UPLOAD_BYTES / 1_024 / 1_024
        );
        return Err(protocol(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let name = query_string::parameter(query, "name");
    let name = name.map_err(|message| protocol(StatusCode::BAD_REQUEST, message))?;
    let Some(name) = name else {
        let message = "The name of the file is missing: send it to /uploads?name=FILE.";
        return Err(protocol(StatusCode::BAD_REQUEST, message));
    };
    let Ok(_running) = api.running_uploads.0.try_acquire() else {
        let message = "Too many files are being received.";
        return Err(Failure::new(ErrorCode::Unavailable, message)
            .retry_after(RETRY_AFTER)
            .into());
    };
    let mut writer = catalog.receive_upload(&name, &subject)?;
    if let Err(refused) = copy(body.into_data_stream(), &mut writer).await {
        writer.discard().await;
        return Err(refused);
    }
    Ok(writer.finish().await?)
}

async fn copy(mut pieces: BodyDataStream, writer: &mut UploadWriter) -> Result<(), Refused> {
    while let Some(piece) = next_piece(&mut pieces).await? {
        writer.write(&piece).await?;
    }
    Ok(())
}
