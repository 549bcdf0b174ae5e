//! The floors: what answering over HTTP costs without a service. A static body, one find whose
//! documents are turned into JSON as they are, and two plain writes. They run in a process of their own.

use std::io::Read as _;
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use futures_util::TryStreamExt as _;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::{Acknowledgment, Hint, WriteConcern};
use mongodb::{Database, IndexModel};
use serde_json::Value;
use tokio::net::TcpListener;

/// The rows of a list, and the reviews of a page.
pub(crate) const LIST: i64 = 48;
pub(crate) const REVIEWS: i64 = 20;

/// Where the floors write.
const OWN_REVIEWS: &str = "floor_reviews";
const OWN_COUNTS: &str = "floor_counts";

#[derive(Clone)]
struct Floors {
    database: Database,
    body: Bytes,
    /// Some review, of which others are copies.
    review: Document,
}

/// Serves the floors until standard input ends.
pub(crate) async fn serve(uri: &str, database: &str, bytes: usize) {
    // Ends with the benchmark, however that ends.
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let client = mongodb::Client::with_uri_str(uri).await.unwrap();
    let database = client.database(database);
    let floors = Floors {
        review: prepare_reviews(&database).await,
        database,
        body: Bytes::from(format!("\"{}\"", "x".repeat(bytes.saturating_sub(2)))),
    };
    let router = Router::new()
        .route("/static", post(fixed))
        .route("/product", post(product))
        .route("/list", post(list))
        .route("/projected", post(projected))
        .route("/reviews", post(reviews))
        .route("/review", post(review))
        .with_state(floors);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening at http://{}/", listener.local_addr().unwrap());
    axum::serve(listener, router).await.unwrap();
}

async fn fixed(State(floors): State<Floors>, _: Bytes) -> impl IntoResponse {
    json(floors.body)
}

async fn product(State(floors): State<Floors>, request: Bytes) -> impl IntoResponse {
    let request = read(&request);
    let products = floors.database.collection::<RawDocumentBuf>("products");
    let found = products.find_one(doc! { "_id": number(&request["id"]) });
    json(serde_json::to_vec(&found.await.unwrap()).unwrap())
}

async fn list(State(floors): State<Floors>, request: Bytes) -> impl IntoResponse {
    json(find_list(&floors, &request, None).await)
}

/// Only with the fields that the list of the service needs.
async fn projected(State(floors): State<Floors>, request: Bytes) -> impl IntoResponse {
    let fields = doc! {
        "name": 1, "slug": 1, "kind": 1, "brand": 1, "price": 1, "media": 1, "stats": 1,
    };
    json(find_list(&floors, &request, Some(fields)).await)
}

async fn find_list(floors: &Floors, request: &[u8], fields: Option<Document>) -> Vec<u8> {
    let request = read(request);
    let tokens: Vec<&str> = request["tokens"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let filter = doc! {
        "status": "active",
        "category": number(&request["category"]),
        "tokens": { "$all": tokens },
    };
    let products = floors.database.collection::<RawDocumentBuf>("products");
    let mut find = products
        .find(filter)
        .sort(doc! { "rank.popularity": -1, "_id": -1 })
        .hint(Hint::Name("category_tokens_popularity".to_owned()))
        .limit(LIST);
    if let Some(fields) = fields {
        find = find.projection(fields);
    }
    let found: Vec<RawDocumentBuf> = find.await.unwrap().try_collect().await.unwrap();
    serde_json::to_vec(&found).unwrap()
}

async fn reviews(State(floors): State<Floors>, request: Bytes) -> impl IntoResponse {
    let request = read(&request);
    let filter = doc! { "product_id": number(&request["id"]), "status": "published" };
    let reviews = floors.database.collection::<RawDocumentBuf>("reviews");
    let find = reviews
        .find(filter)
        .sort(doc! { "created_at": -1, "_id": -1 })
        .hint(Hint::Name("newest".to_owned()))
        .limit(REVIEWS);
    let found: Vec<RawDocumentBuf> = find.await.unwrap().try_collect().await.unwrap();
    json(serde_json::to_vec(&found).unwrap())
}

/// Creates an empty collection with the indexes of reviews. Returns a review to copy.
async fn prepare_reviews(database: &Database) -> Document {
    let reviews = database.collection::<Document>("reviews");
    let indexes = reviews.list_indexes().await.unwrap();
    let indexes: Vec<IndexModel> = indexes.try_collect().await.unwrap();
    let own = database.collection::<Document>(OWN_REVIEWS);
    own.drop().await.unwrap();
    own.create_indexes(indexes).await.unwrap();
    let found = reviews.find_one(doc! { "status": "published" }).await;
    found.unwrap().expect("there are reviews")
}

/// A review and the number of reviews of its product, written one after the other: a crash can separate them.
async fn review(State(floors): State<Floors>, request: Bytes) -> impl IntoResponse {
    let request = read(&request);
    let product = number(&request["id"]);
    let durable = WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .build();
    let mut review = floors.review.clone();
    review.insert("_id", ObjectId::new());
    review.insert("by", ObjectId::new());
    review.insert("product_id", product);
    let reviews = floors.database.collection(OWN_REVIEWS);
    let insert = reviews.insert_one(review).write_concern(durable.clone());
    insert.await.unwrap();
    let counts = floors.database.collection::<Document>(OWN_COUNTS);
    let one_more = doc! { "$inc": { "reviews": 1 } };
    let count = counts.update_one(doc! { "_id": product }, one_more);
    count.upsert(true).write_concern(durable).await.unwrap();
    json("true")
}

fn read(request: &[u8]) -> Value {
    serde_json::from_slice(request).unwrap()
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("an id")
}

fn json(body: impl Into<Bytes>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], body.into())
}
