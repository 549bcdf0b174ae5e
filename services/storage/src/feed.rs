//! The change stream of published reviews and changed ratings, for subscriptions.
//!
//! The stream contains ids only; documents are read when a subscriber needs them. The position of
//! an event is the text of its resume token. Positions of later events are greater: mongos merges
//! the streams of several shards by them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mongodb::action::{Action as _, Watch};
use mongodb::bson::raw::{RawBsonRef, RawDocumentBuf};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::ResumeToken;
use mongodb::options::ReadConcern;
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::ProductStatus;
use vitrine_model::rating::RatingStats;

use crate::documents::product::read_status;
use crate::documents::{put, stats};
use crate::raw::{Fields, Read, stored_id};
use crate::{StorageError, Store, products, reviews};

/// How long the server waits for events before it returns an empty batch.
const AWAIT_TIME: Duration = Duration::from_secs(2);
/// The same for callers that only want events that have happened already.
const CATCH_UP_AWAIT_TIME: Duration = Duration::from_millis(20);

/// The position of an event in the stream; later positions are greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPosition(String);

impl FeedPosition {
    /// Returns the position as a text of at most a few hundred bytes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Creates a position from its text. The database validates it when a feed is opened.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Reads a resume token: `_data`, which sorts in event order, and `_typeBits`, without which
    /// the server rejects a token that contains an int64.
    fn of(token: Fields<'_>) -> Read<Self> {
        let mut text = token.string("_data")?;
        if let Some(RawBsonRef::Binary(bits)) = token.get("_typeBits")? {
            text.push('.');
            text.push_str(&URL_SAFE_NO_PAD.encode(bits.bytes));
        }
        Ok(Self(text))
    }

    fn token(&self) -> Result<ResumeToken, StorageError> {
        let (data, bits) = match self.0.split_once('.') {
            Some((data, bits)) => (data, URL_SAFE_NO_PAD.decode(bits).ok()),
            None => (self.0.as_str(), None),
        };
        let mut token = doc! { "_data": data };
        let subtype = BinarySubtype::Generic;
        let bits = bits.map(|bytes| Bson::Binary(Binary { subtype, bytes }));
        put(&mut token, "_typeBits", bits);
        let token = mongodb::bson::deserialize_from_document(token);
        Ok(token.map_err(|error| mongodb::error::Error::custom(error.to_string()))?)
    }
}

/// An event of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedEvent {
    /// A review was published.
    Published {
        /// The product of the review.
        product: ProductId,
        /// The review.
        review: ReviewId,
    },
    /// The rating numbers of a product changed.
    Rated {
        /// The product.
        product: ProductId,
    },
}

impl FeedEvent {
    /// Returns the product that the event is about.
    #[must_use]
    pub const fn product(self) -> ProductId {
        match self {
            Self::Published { product, .. } | Self::Rated { product } => product,
        }
    }
}

/// A change stream of feed events, in order.
pub struct Feed {
    stream: ChangeStream<RawDocumentBuf>,
    store: Store,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the feed: from now on, or after a position. With `only`, the feed has only the events
    /// of one product and does not wait for new ones.
    ///
    /// # Errors
    /// [`StorageError::HistoryLost`] when the oplog no longer contains the events after the
    /// position.
    pub async fn feed(
        &self,
        after: Option<&FeedPosition>,
        only: Option<ProductId>,
    ) -> Result<Feed, StorageError> {
        let after = after.map(FeedPosition::token).transpose()?;
        // Without a position, the first batch is empty, so that a position is available
        // immediately.
        let first = after.is_none().then_some(0);
        let stream = self
            .db
            .watch()
            .pipeline(pipeline(only))
            .resume_after(after)
            .optional(first, Watch::batch_size)
            .max_await_time(if only.is_some() {
                CATCH_UP_AWAIT_TIME
            } else {
                AWAIT_TIME
            })
            .await?;
        Ok(Feed {
            stream: stream.with_type(),
            store: self.clone(),
        })
    }

    /// Waits until all writes so far are committed by a majority, with a linearizable read. One
    /// command.
    pub async fn await_majority_commit(&self) -> Result<(), StorageError> {
        let collection = self.documents("settings");
        let sure = collection
            .find_one(doc! { "_id": "reference" })
            .projection(doc! { "_id": 1 })
            .read_concern(ReadConcern::linearizable())
            .max_time(self.max_time);
        Ok(sure.await.map(drop)?)
    }

    /// Returns the rating numbers and the status of a product. One command.
    pub async fn rating_stats(
        &self,
        product: ProductId,
    ) -> Result<Option<(RatingStats, ProductStatus)>, StorageError> {
        let collection = self.raw(products::COLLECTION);
        let found = collection
            .find_one(doc! { "_id": stored_id(product.to_i64()) })
            .projection(doc! { "stats": 1, "status": 1 })
            .max_time(self.max_time);
        let Some(found) = found.await? else {
            return Ok(None);
        };
        let fields = Fields::of(products::COLLECTION, &found);
        let status = read_status(&fields)?;
        Ok(Some((stats::read_stats(&fields.doc("stats")?)?, status)))
    }
}

impl Feed {
    /// Returns the next event with its position; `None` when nothing has happened for some seconds.
    /// Not cancel-safe: dropping the future may lose events.
    ///
    /// # Errors
    /// [`StorageError`] when the stream has ended. Events after the last returned position have to
    /// be read again.
    pub async fn next(&mut self) -> Result<Option<(FeedPosition, FeedEvent)>, StorageError> {
        let Some(event) = self.stream.next_if_any().await? else {
            // A stream that has ended reports an empty batch for ever.
            return if self.stream.is_alive() {
                Ok(None)
            } else {
                Err(mongodb::error::Error::custom("the stream of changes has ended").into())
            };
        };
        let fields = Fields::of("changes", &event);
        let point = FeedPosition::of(fields.doc("_id")?)?;
        let document = fields.doc("documentKey")?;
        let key = document.id("_id")?;
        if fields.doc("ns")?.str("coll")? == products::COLLECTION {
            let product = ProductId::from_i64(key);
            return Ok(Some((point, FeedEvent::Rated { product })));
        }
        let review = ReviewId::from_i64(key);
        // An insert contains the document; on a shard, every event contains the shard key.
        let document = fields.opt_doc("fullDocument")?.unwrap_or(document);
        let product = match document.opt_id("product_id")? {
            Some(product) => Some(ProductId::from_i64(product)),
            None => self.store.product_of(review).await?,
        };
        // A deleted review belongs to no product, and no subscriber sees it.
        let product = product.unwrap_or(ProductId::from_i64(0));
        Ok(Some((point, FeedEvent::Published { product, review })))
    }

    /// Returns the current position: after the last returned event, or later if nothing has
    /// happened since.
    #[must_use]
    pub fn point(&self) -> Option<FeedPosition> {
        let token = mongodb::bson::serialize_to_vec(&self.stream.resume_token()?).ok()?;
        let token = RawDocumentBuf::from_bytes(token).ok()?;
        FeedPosition::of(Fields::of("changes", &token)).ok()
    }
}

impl Store {
    async fn product_of(&self, review: ReviewId) -> Result<Option<ProductId>, StorageError> {
        let collection = self.raw(reviews::COLLECTION);
        let found = collection
            .find_one(doc! { "_id": stored_id(review.to_i64()) })
            .projection(doc! { "product_id": 1 })
            .max_time(self.max_time)
            .await?;
        let product = |doc: RawDocumentBuf| Fields::of(reviews::COLLECTION, &doc).id("product_id");
        Ok(found.map(product).transpose()?.map(ProductId::from_i64))
    }
}

fn pipeline(only: Option<ProductId>) -> [Document; 2] {
    let id = only.map(|product| stored_id(product.to_i64()));
    let of = |mut filter: Document, field: &str, id: &Option<Bson>| {
        if let Some(id) = id {
            filter.insert(field, id.clone());
        }
        filter
    };
    let inserted = doc! {
        "ns.coll": reviews::COLLECTION,
        "operationType": "insert",
        "fullDocument.status": "published",
    };
    // The event does not contain the product of the review.
    let published = doc! {
        "ns.coll": reviews::COLLECTION,
        "operationType": "update",
        "updateDescription.updatedFields.status": "published",
    };
    let rated = doc! {
        "ns.coll": products::COLLECTION,
        "operationType": "update",
        "updateDescription.updatedFields.stats": { "$exists": true },
    };
    let events = [
        of(inserted, "fullDocument.product_id", &id),
        published,
        of(rated, "documentKey._id", &id),
    ];
    [
        doc! { "$match": { "$or": events.to_vec() } },
        doc! { "$project": { "ns.coll": 1, "documentKey": 1, "fullDocument.product_id": 1 } },
    ]
}
