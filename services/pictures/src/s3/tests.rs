//! Against a store on this machine that keeps what it is sent.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Mutex;

use futures_util::TryStreamExt as _;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use vitrine_model::id::PictureId;
use vitrine_model::picture::PictureFormat;

use super::*;
use crate::PictureStore;

const NAME: PictureName = PictureName {
    id: PictureId::from_i64(0x1234),
    format: PictureFormat::Webp,
};

/// The objects by path, each with its media type.
type Objects = Arc<Mutex<HashMap<String, (Bytes, String)>>>;

async fn answer(
    objects: Objects,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let reply = |status: u16, body: Bytes| {
        let response = Response::builder().status(status);
        Ok(response.body(Full::new(body)).expect("a response"))
    };
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let signed = [
        "X-Amz-Signature=",
        "X-Amz-Credential=key%2F",
        "%2Feu-test%2Fs3%2F",
    ];
    if !signed.iter().all(|part| query.contains(part)) {
        return reply(403, Bytes::from_static(b"<Code>AccessDenied</Code>"));
    }
    let method = request.method().clone();
    let media_type = request.headers().get(CONTENT_TYPE).cloned();
    let media_type = media_type.and_then(|value| value.to_str().map(str::to_owned).ok());
    let body = request
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    let mut objects = objects.lock().expect("the objects");
    match method {
        Method::PUT => {
            objects.insert(path, (body, media_type.unwrap_or_default()));
            reply(200, Bytes::new())
        }
        Method::DELETE => {
            objects.remove(&path);
            reply(204, Bytes::new())
        }
        _ => match objects.get(&path) {
            Some((content, _)) => reply(200, content.clone()),
            None => reply(404, Bytes::from_static(b"<Code>NoSuchKey</Code>")),
        },
    }
}

/// Starts a store; returns its address.
async fn started(objects: Objects) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = async move {
        while let Ok((stream, _)) = listener.accept().await {
            let objects = Arc::clone(&objects);
            let service = service_fn(move |request| answer(Arc::clone(&objects), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            let _ = connection.await;
        }
    };
    TaskTracker::new().spawn(serving);
    format!("http://{address}")
}

fn store(endpoint: String, secret: &str) -> PictureStore {
    PictureStore::s3(&S3Options {
        bucket: "shop".to_owned(),
        prefix: "pictures/".to_owned(),
        endpoint: Some(endpoint),
        region: "eu-test".to_owned(),
        access_key_id: secret.to_owned(),
        secret_access_key: "secret".to_owned(),
    })
    .unwrap()
}

#[tokio::test]
async fn an_object_is_read_until_it_is_deleted() {
    let objects = Objects::default();
    let store = store(started(Arc::clone(&objects)).await, "key");
    assert!(store.get(NAME).await.unwrap().is_none());
    let content = Bytes::from(vec![9; 200_000]);
    store.put(NAME, content.clone()).await.unwrap();
    let path = "/shop/pictures/00000000001234.webp";
    let stored = objects.lock().unwrap().get(path).cloned();
    assert_eq!(stored, Some((content.clone(), "image/webp".to_owned())));
    let file = store.get(NAME).await.unwrap().unwrap();
    assert_eq!(file.bytes, 200_000);
    let pieces: Vec<Bytes> = file.content.try_collect().await.unwrap();
    assert_eq!(pieces.concat(), content);
    store.delete(NAME).await.unwrap();
    store.delete(NAME).await.unwrap();
    assert!(store.get(NAME).await.unwrap().is_none());
}

#[tokio::test]
async fn what_the_store_says_is_reported() {
    let store = store(started(Objects::default()).await, "other");
    let error = store.put(NAME, Bytes::new()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the S3-compatible store answered with status 403: <Code>AccessDenied</Code>"
    );
    assert!(store.get(NAME).await.is_err() && store.delete(NAME).await.is_err());
}

#[tokio::test]
async fn a_store_that_is_not_there_is_reported() {
    let store = store("http://127.0.0.1:1".to_owned(), "key");
    let error = store.put(NAME, Bytes::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
}

#[test]
fn buckets_of_aws_have_hosts_of_their_own() {
    let s3 = S3::new(&S3Options {
        bucket: "shop".to_owned(),
        prefix: String::new(),
        endpoint: None,
        region: "eu-central-1".to_owned(),
        access_key_id: "key".to_owned(),
        secret_access_key: "secret".to_owned(),
    })
    .unwrap();
    assert_eq!(
        s3.bucket.base_url().as_str(),
        "https://shop.s3.eu-central-1.amazonaws.com/"
    );
    assert!(!format!("{s3:?}").contains("secret"));
}
