//! An S3-compatible store. Requests are signed in their address (AWS Signature Version 4), so that each is a plain HTTP
//! request.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use rusty_s3::actions::{DeleteObject, GetObject, PutObject};
use rusty_s3::{Bucket, Credentials, S3Action as _, UrlStyle};
use url::Url;
use vitrine_model::picture::PictureName;

use crate::store::{PictureFile, StoreError};

/// How long a request may take until its answer begins.
const TIMEOUT: Duration = Duration::from_secs(20);
/// For how long a signature is valid: clocks of machines differ a little.
const SIGNED_FOR: Duration = Duration::from_mins(5);
/// How much of an error is shown, in bytes.
const MAX_ERROR_BYTES: usize = 1_000;

/// Where an S3-compatible store is, and who may use it.
#[derive(Clone)]
pub struct S3Options {
    /// The name of the bucket.
    pub bucket: String,
    /// What names of files begin with; may be empty.
    pub prefix: String,
    /// The address of the store; `None` for that of AWS.
    pub endpoint: Option<String>,
    /// The region.
    pub region: String,
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret of the access key.
    pub secret_access_key: String,
}

/// Without the secret.
impl fmt::Debug for S3Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Options")
            .field("bucket", &self.bucket)
            .field("prefix", &self.prefix)
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

pub(crate) struct S3 {
    bucket: Bucket,
    prefix: String,
    credentials: Credentials,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3")
            .field("bucket", &self.bucket.name())
            .finish_non_exhaustive()
    }
}

impl S3 {
    pub(crate) fn new(options: &S3Options) -> Result<Self, String> {
        // Other stores are often reached by a number, or have no certificate for each bucket.
        let (endpoint, style) = match &options.endpoint {
            Some(endpoint) => (endpoint.clone(), UrlStyle::Path),
            None => (
                format!("https://s3.{}.amazonaws.com", options.region),
                UrlStyle::VirtualHost,
            ),
        };
        let address: Url = endpoint
            .parse()
            .map_err(|error| format!("{endpoint} is no address: {error}"))?;
        let bucket = Bucket::new(
            address,
            style,
            options.bucket.clone(),
            options.region.clone(),
        );
        let bucket = bucket.map_err(|error| format!("{endpoint}: {error}"))?;
        Ok(Self {
            bucket,
            prefix: options.prefix.clone(),
            credentials: Credentials::new(&*options.access_key_id, &*options.secret_access_key),
            client: Client::builder(TokioExecutor::new()).build(connector()?),
        })
    }

    pub(crate) async fn put(&self, name: PictureName, bytes: Bytes) -> Result<(), StoreError> {
        let object = self.object(name);
        let action = PutObject::new(&self.bucket, Some(&self.credentials), &object);
        let request = Request::builder()
            .method(Method::PUT)
            .uri(action.sign(SIGNED_FOR).as_str())
            // For those who read from the bucket itself.
            .header(CONTENT_TYPE, name.format.media_type())
            .header(CACHE_CONTROL, "public, max-age=86400");
        let answer = self.send(request.body(Full::new(bytes))).await?;
        accepted(answer).await.map(drop)
    }

    pub(crate) async fn get(&self, name: PictureName) -> Result<Option<PictureFile>, StoreError> {
        let object = self.object(name);
        let action = GetObject::new(&self.bucket, Some(&self.credentials), &object);
        let request = Request::builder().uri(action.sign(SIGNED_FOR).as_str());
        let answer = self.send(request.body(Full::default())).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let body = accepted(answer).await?.into_body();
        let Some(bytes) = body.size_hint().exact() else {
            let reason = "its answer does not say how long it is";
            return Err(StoreError::Unreachable(reason.into()));
        };
        let content = body.into_data_stream().map_err(io::Error::other);
        Ok(Some(PictureFile {
            bytes,
            content: Box::pin(content),
        }))
    }

    pub(crate) async fn delete(&self, name: PictureName) -> Result<(), StoreError> {
        let object = self.object(name);
        let action = DeleteObject::new(&self.bucket, Some(&self.credentials), &object);
        let request = Request::builder()
            .method(Method::DELETE)
            .uri(action.sign(SIGNED_FOR).as_str());
        let answer = self.send(request.body(Full::default())).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(());
        }
        accepted(answer).await.map(drop)
    }

    fn object(&self, name: PictureName) -> String {
        format!("{}{name}", self.prefix)
    }

    async fn send(
        &self,
        request: Result<Request<Full<Bytes>>, hyper::http::Error>,
    ) -> Result<Response<Incoming>, StoreError> {
        let request = request.map_err(|error| StoreError::Unreachable(Box::new(error)))?;
        let answer = tokio::time::timeout(TIMEOUT, self.client.request(request)).await;
        let answer = answer.map_err(|_| StoreError::Timeout(TIMEOUT.as_secs()))?;
        answer.map_err(|error| StoreError::Unreachable(Box::new(error)))
    }
}

/// Returns a successful answer, or what the store says is wrong.
async fn accepted(answer: Response<Incoming>) -> Result<Response<Incoming>, StoreError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = Limited::new(answer.into_body(), MAX_ERROR_BYTES).collect();
    let body = tokio::time::timeout(TIMEOUT, body).await;
    let body = body.ok().and_then(Result::ok).map(Collected::to_bytes);
    let message = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
    Err(StoreError::Refused {
        status: status.as_u16(),
        message,
    })
}

fn connector() -> Result<HttpsConnector<HttpConnector>, String> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(config);
    Ok(builder.https_or_http().enable_http1().build())
}

#[cfg(test)]
mod tests;
