//! Reviews that are seen from now on, and ratings that changed, as it happens.
//!
//! The stream carries ids only; what they stand for is read when somebody wants it. Where an event
//! stands in the stream is a text, and texts of later events are greater: the server itself merges
//! streams of several shards by it.

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

/// How long the server keeps a question for events before it answers that there are none.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same for who only wants to know what has happened already.
const IMPATIENCE: Duration = Duration::from_millis(20);

/// Where an event stands; later ones are greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPoint(String);

impl FeedPoint {
    /// The point as a text of a few hundred bytes at most.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The point that a text stands for. Whether the database knows it is seen when it is asked.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Reads a resume token: `_data`, which sorts as the events do, and `_typeBits`, without which the
    /// server does not recognise a token that contains an int64.
    fn of(token: Fields<'_>) -> Read<Self> {
        let mut text = token.string("_data")?;
        if let Some(RawBsonRef::Binary(bits)) = token.get("_typeBits")? {
            text.push('.');
            text.push_str(&URL_SAFE_NO_PAD.encode(bits.bytes));
        }
        Ok(Self(text))
    }

    /// Returns the resume token.
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

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A review is seen from now on.
    Published {
        /// Its product.
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

impl Happened {
    /// The product it is about.
    #[must_use]
    pub const fn product(self) -> ProductId {
        match self {
            Self::Published { product, .. } | Self::Rated { product } => product,
        }
    }
}

/// Events in their order.
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
    /// What happens from now on, or behind a point; of all products, or of one of which it is only
    /// asked what has happened already.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails, or does not know any more what came behind the
    /// point.
    pub async fn feed(
        &self,
        after: Option<&FeedPoint>,
        only: Option<ProductId>,
    ) -> Result<Feed, StorageError> {
        let after = after.map(FeedPoint::token).transpose()?;
        // One that begins now brings no changes when it is opened, so that it has a point to come
        // back to at once.
        let first = after.is_none().then_some(0);
        let stream = self
            .db
            .watch()
            .pipeline(pipeline(only))
            .resume_after(after)
            .optional(first, Watch::batch_size)
            .max_await_time(if only.is_some() { IMPATIENCE } else { PATIENCE })
            .await?;
        Ok(Feed {
            stream: stream.with_type(),
            store: self.clone(),
        })
    }

    /// Waits until everything written so far is there to stay. One command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn be_sure_of_writes(&self) -> Result<(), StorageError> {
        let collection = self.documents("settings");
        let sure = collection
            .find_one(doc! { "_id": "reference" })
            .projection(doc! { "_id": 1 })
            .read_concern(ReadConcern::linearizable())
            .max_time(self.max_time);
        Ok(sure.await.map(drop)?)
    }

    /// The rating numbers of a product, and its state. One command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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
    /// What happened next, with where it stands; `None` when nothing has for some seconds. To be
    /// waited for to its end: given up half way, it may lose events.
    ///
    /// # Errors
    /// [`StorageError`] when the feed has ended; events may be lost that are not asked for again.
    pub async fn next(&mut self) -> Result<Option<(FeedPoint, Happened)>, StorageError> {
        let Some(event) = self.stream.next_if_any().await? else {
            // One that has ended says for ever that there is nothing.
            return if self.stream.is_alive() {
                Ok(None)
            } else {
                Err(mongodb::error::Error::custom("the stream of changes has ended").into())
            };
        };
        let fields = Fields::of("changes", &event);
        let point = FeedPoint::of(fields.doc("_id")?)?;
        let document = fields.doc("documentKey")?;
        let key = document.id("_id")?;
        if fields.doc("ns")?.str("coll")? == products::COLLECTION {
            let product = ProductId::from_i64(key);
            return Ok(Some((point, Happened::Rated { product })));
        }
        let review = ReviewId::from_i64(key);
        // An insert says all of it, any change on a shard its shard key.
        let told = fields.opt_doc("fullDocument")?.unwrap_or(document);
        let product = match told.opt_id("product_id")? {
            Some(product) => Some(ProductId::from_i64(product)),
            None => self.store.product_of(review).await?,
        };
        // A review that is gone belongs to nothing any more, and nobody sees it.
        let product = product.unwrap_or(ProductId::from_i64(0));
        Ok(Some((point, Happened::Published { product, review })))
    }

    /// Where the feed is: behind what was given last, or further when nothing happened since.
    #[must_use]
    pub fn point(&self) -> Option<FeedPoint> {
        let token = mongodb::bson::serialize_to_vec(&self.stream.resume_token()?).ok()?;
        let token = RawDocumentBuf::from_bytes(token).ok()?;
        FeedPoint::of(Fields::of("changes", &token)).ok()
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
    // Whose product it is does not stand in the event.
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
