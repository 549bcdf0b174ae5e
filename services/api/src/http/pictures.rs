//! `POST /pictures`: receives a picture for a product or a review. `GET /pictures/{name}`: shows one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vitrine_domain::pictures::ReceivedPicture;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::picture::{MAX_PICTURE_BYTES, PictureName};

use super::accept::Media;
use super::body::{declared_length, is_identity};
use super::caching::matches;
use super::receiving::{Refused, answer, next_piece, protocol};
use super::routes::Api;
use super::{RequestId, response};
use crate::execution::{CostCheck, ErrorCode, Failure};

/// How long the whole picture may take to arrive.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The maximum number of pictures that a process receives at a time. Each has up to 32 MiB in memory.
const MAX_RUNNING: usize = 8;
/// The maximum number of pictures that a process receives from one person at a time.
const MAX_RUNNING_OF_PERSON: usize = 2;
/// When to ask again while too many pictures are received.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// How long caches may show a picture without asking. The content never changes, but people may be erased.
const CACHE_CONTROL: &str = "public, max-age=86400";

type Check = Arc<dyn Fn() -> CostCheck + Send + Sync>;

/// Where the pictures of a caller go, and come from.
#[derive(Clone, Default)]
pub(super) struct Pictures {
    catalog: Option<Catalog>,
    sender: Option<PictureSender>,
}

/// Somebody who may send pictures.
#[derive(Clone)]
pub struct PictureSender {
    /// The subject of the token.
    pub subject: Arc<str>,
    /// Whether the person has the role admin.
    pub is_admin: bool,
    /// Charges a picture.
    pub check: Check,
}

impl fmt::Debug for PictureSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PictureSender")
            .field("subject", &self.subject)
            .field("is_admin", &self.is_admin)
            .finish_non_exhaustive()
    }
}

impl Pictures {
    pub(super) const fn of(catalog: Catalog, sender: Option<PictureSender>) -> Self {
        Self {
            catalog: Some(catalog),
            sender,
        }
    }
}

/// The pictures that are being received.
#[derive(Clone, Debug)]
pub(super) struct RunningPictures {
    all: Arc<Semaphore>,
    of_people: Arc<Mutex<HashMap<Arc<str>, usize>>>,
}

impl Default for RunningPictures {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_RUNNING)),
            of_people: Arc::default(),
        }
    }
}

/// The right to send a picture now.
struct Turn {
    running: RunningPictures,
    subject: Arc<str>,
    _permit: OwnedSemaphorePermit,
}

impl RunningPictures {
    /// Returns a turn; `None` if too many pictures are being received.
    fn turn(&self, subject: &Arc<str>) -> Option<Turn> {
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let mut people = self
            .of_people
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let running = people.entry(Arc::clone(subject)).or_default();
        if *running == MAX_RUNNING_OF_PERSON {
            return None;
        }
        *running += 1;
        Some(Turn {
            running: self.clone(),
            subject: Arc::clone(subject),
            _permit: permit,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let people = self.running.of_people.lock();
        let mut people = people.unwrap_or_else(PoisonError::into_inner);
        let left = people.get_mut(&self.subject).map_or(0, |running| {
            *running -= 1;
            *running
        });
        if left == 0 {
            people.remove(&self.subject);
        }
    }
}

/// The answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    url: String,
    media_type: &'static str,
    width: u32,
    height: u32,
    bytes: u64,
    expires_at: String,
}

impl From<ReceivedPicture> for Received {
    fn from(received: ReceivedPicture) -> Self {
        let picture = received.picture;
        Self {
            url: received.url,
            media_type: picture.name.format.media_type(),
            width: picture.width,
            height: picture.height,
            bytes: picture.bytes,
            expires_at: received.expires_at.to_string(),
        }
    }
}

/// `POST /pictures`.
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let received = receive(&api, &headers, body).await;
    answer(received.map(Received::from), &id)
}

/// All other methods of `/pictures`.
pub(super) async fn other() -> Response<Body> {
    response::wrong_method("POST", "Send a picture with POST to /pictures.")
}

/// All other methods of a picture.
pub(super) async fn other_of_picture() -> Response<Body> {
    response::wrong_method("GET, HEAD", "Pictures are shown with GET.")
}

async fn receive(api: &Api, headers: &HeaderMap, body: Body) -> Result<ReceivedPicture, Refused> {
    let context = (api.authenticate)(headers)?;
    let is_known = context.subject.is_some();
    let (Some(catalog), Some(sender)) = (context.pictures.catalog, context.pictures.sender) else {
        return Err(Refused::role("Pictures", "shopper or admin", is_known));
    };
    if !is_identity(headers) {
        let message = "The body has a Content-Encoding; send the picture as it is.";
        return Err(protocol(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if declared_length(headers).is_some_and(|length| length > MAX_PICTURE_BYTES) {
        return Err(too_large());
    }
    let Some(_turn) = api.running_pictures.turn(&sender.subject) else {
        let message = "Too many pictures are being received.";
        return Err(Failure::new(ErrorCode::Unavailable, message)
            .retry_after(RETRY_AFTER)
            .into());
    };
    (sender.check)().outcome?;
    if !catalog
        .may_send_picture(&sender.subject, sender.is_admin)
        .await?
    {
        let message = "You have sent as many pictures as are possible within a day.";
        return Err(Failure::new(ErrorCode::RateLimited, message).into());
    }
    let received = tokio::time::timeout(TIMEOUT, read(body)).await;
    let bytes = received.map_err(|_| {
        let message = "The picture did not arrive within a minute.";
        protocol(StatusCode::REQUEST_TIMEOUT, message)
    })??;
    Ok(catalog.add_picture(&sender.subject, bytes).await?)
}

async fn read(body: Body) -> Result<Bytes, Refused> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = next_piece(&mut pieces).await? {
        if bytes.len() + piece.len() > MAX_PICTURE_BYTES {
            return Err(too_large());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

/// `GET /pictures/{name}`.
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    Extension(id): Extension<RequestId>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    match show(&api, &name, &headers).await {
        Ok(Some(picture)) => picture,
        Ok(None) => response::protocol(StatusCode::NOT_FOUND, "There is no such picture."),
        Err(failure) => response::failure(Media::GraphqlResponse, &failure, id.as_str()),
    }
}

/// Returns a picture; `None` if there is none.
async fn show(
    api: &Api,
    name: &str,
    headers: &HeaderMap,
) -> Result<Option<Response<Body>>, Failure> {
    let Some(name) = PictureName::parse(name) else {
        return Ok(None);
    };
    // Pictures are for everybody: a token, which may have expired, changes nothing.
    let context = (api.authenticate)(&HeaderMap::new())?;
    let Some(catalog) = context.pictures.catalog else {
        return Ok(None);
    };
    let opened = catalog.open_picture(name).await;
    let Some(file) = opened.map_err(|error: DomainError| Failure::from(error))? else {
        return Ok(None);
    };
    let tag = HeaderValue::from_str(&format!("\"{name}\"")).expect("letters and digits");
    let mut picture = Response::new(Body::empty());
    if matches(headers, &tag) {
        *picture.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *picture.body_mut() = Body::from_stream(file.content);
    }
    let fields = picture.headers_mut();
    if !matches(headers, &tag) {
        fields.insert(header::CONTENT_LENGTH, file.bytes.into());
        let media_type = HeaderValue::from_static(name.format.media_type());
        fields.insert(header::CONTENT_TYPE, media_type);
    }
    fields.insert(header::ETAG, tag);
    for (name, value) in [
        (header::CACHE_CONTROL, CACHE_CONTROL),
        // Storefronts may be on other hosts.
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "cross-origin",
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    Ok(Some(picture))
}

fn too_large() -> Refused {
    let megabytes = MAX_PICTURE_BYTES / 1_024 / 1_024;
    let message = format!("The picture has more than {megabytes} MiB; send a smaller one.");
    protocol(StatusCode::PAYLOAD_TOO_LARGE, &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sends_two_pictures_at_a_time_and_all_eight() {
        let running = RunningPictures::default();
        let people: Vec<Arc<str>> = (0..5).map(|n| Arc::from(format!("p{n}"))).collect();
        let first: Vec<Turn> = (0..2).filter_map(|_| running.turn(&people[0])).collect();
        assert!(running.turn(&people[0]).is_none());
        let others: Vec<Turn> = people[1..4]
            .iter()
            .flat_map(|one| [running.turn(one), running.turn(one)])
            .flatten()
            .collect();
        assert_eq!((first.len(), others.len()), (2, 6));
        assert!(running.turn(&people[4]).is_none());
        drop(first);
        assert!(running.turn(&people[4]).is_some());
        drop(others);
        assert!(running.of_people.lock().unwrap().is_empty());
    }
}
