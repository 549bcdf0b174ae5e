//! The moderation queue, and statistics of moderators' decisions.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::moderation::{QueueCount, QueueList, QueueSort};
use vitrine_model::rating::Stars;
use vitrine_model::review::{QueueReason, Review, ReviewStatus};

use crate::documents::stats;
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::raw::{Fields, date, stored_id};
use crate::reviewing::DECISIONS;
use crate::reviews::{COLLECTION, read};
use crate::{StorageError, Store};

/// The number of decisions of one kind by one moderator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    /// The moderator.
    pub by: String,
    /// The stars of the reviews.
    pub rating: Stars,
    /// The status that the decision led to.
    pub to: ReviewStatus,
    /// The number of decisions.
    pub count: i64,
}

impl Store {
    /// Returns a page of a list of the moderation queue. One command.
    pub async fn page_queue(
        &self,
        list: &QueueList,
        request: &PageRequest,
    ) -> Result<Page<Review>, StorageError> {
        self.read_page(&queue(list), request, read).await
    }

    /// Returns whether the list has a review before this position (or after it).
    pub async fn has_queued(&self, list: &QueueList, from: Boundary) -> Result<bool, StorageError> {
        self.has_row(&queue(list), &from).await
    }

    /// Counts the reviews of a list, up to `max`.
    pub async fn count_queue(&self, list: &QueueList, max: u64) -> Result<u64, StorageError> {
        let list = queue(list);
        let collection = self.documents(COLLECTION);
        let count = collection
            .count_documents(list.filter)
            .hint(Hint::Name(list.index.to_owned()))
            .limit(max.max(1));
        Ok(count.max_time(self.max_time).await?)
    }

    /// Counts the reviews in the queue by reason and status: the `max` that have waited longest. Reads them by the index
    /// `queue`.
    pub async fn queue_counts(&self, max: u32) -> Result<Vec<QueueCount>, StorageError> {
        let pipeline = [
            doc! { "$match": { "queue.since": { "$exists": true } } },
            doc! { "$sort": { "queue.since": 1, "_id": 1 } },
            doc! { "$limit": i64::from(max) },
            doc! { "$group": {
                "_id": { "reason": "$queue.reason", "status": "$status" },
                "n": { "$sum": 1_i64 },
                "oldest": { "$min": "$queue.since" },
            } },
            doc! { "$sort": { "_id": 1 } },
        ];
        let collection = self.documents(COLLECTION);
        let counted = collection
            .aggregate(pipeline)
            .hint(Hint::Name("queue".to_owned()))
            .max_time(self.max_time);
        let counted = counted.await?.with_type::<RawDocumentBuf>();
        let counted: Vec<RawDocumentBuf> = counted.try_collect().await?;
        counted.iter().map(read_queue_count).collect()
    }

    /// Counts decisions from an instant (inclusive) to another (exclusive) by moderator, stars and
    /// resulting status. Covered by the index `decided`.
    pub async fn count_decisions(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<DecisionCount>, StorageError> {
        let pipeline = [
            doc! { "$match": { "at": { "$gte": date(from), "$lt": date(to) } } },
            doc! { "$group": {
                "_id": { "by": "$by", "rating": "$rating", "to": "$to" },
                "n": { "$sum": 1_i64 },
            } },
            doc! { "$sort": { "_id": 1 } },
        ];
        let collection = self.documents(DECISIONS);
        let counted = collection
            .aggregate(pipeline)
            .hint(Hint::Name("decided".to_owned()))
            .max_time(self.max_time);
        let counted = counted.await?.with_type::<RawDocumentBuf>();
        let counted: Vec<RawDocumentBuf> = counted.try_collect().await?;
        counted.iter().map(read_count).collect()
    }
}

/// Returns the query of a list: by the index of the condition that fewest reviews match as a rule, in the order of
/// waiting. A language is stored as the tag that its author gave, so it is compared with each waiting review.
fn queue(list: &QueueList) -> ListQuery {
    let mut waits = doc! { "$exists": true };
    if let Some(since) = list.since {
        waits.insert("$gte", date(since));
    }
    if let Some(before) = list.before {
        waits.insert("$lt", date(before));
    }
    let mut filter = doc! { "queue.since": waits };
    let mut index = "queue";
    if let Some(reason) = list.reason {
        filter.insert("queue.reason", reason.name());
        index = "queue_reason";
    }
    if let Some(ratings) = &list.ratings {
        let stars = ratings
            .iter()
            .map(|stars| Bson::Int32(i32::from(stars.get())));
        filter.insert("rating", doc! { "$in": stars.collect::<Vec<_>>() });
        index = "queue_rating";
    }
    if let Some(language) = &list.language {
        let tag = format!("^{language}([-_]|$)");
        filter.insert("language", doc! { "$regex": tag, "$options": "i" });
    }
    if let Some(product) = list.product {
        filter.insert("product_id", stored_id(product.to_i64()));
        index = "queue_product";
    }
    ListQuery {
        window: Vec::new(),
        collection: COLLECTION,
        filter,
        columns: vec![Column::new("queue.since", ColumnKind::Instant)],
        descending: list.sort == QueueSort::Newest,
        index,
        merged: index == "queue_rating",
        projection: None,
        limit: None,
    }
}

fn read_queue_count(doc: &RawDocumentBuf) -> Result<QueueCount, StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let id = fields.doc("_id")?;
    let reason = QueueReason::named(id.str("reason")?);
    let status = ReviewStatus::named(id.str("status")?);
    Ok(QueueCount {
        reason: reason.ok_or_else(|| id.corrupt("reason"))?,
        status: status.ok_or_else(|| id.corrupt("status"))?,
        count: u64::try_from(fields.i64("n")?).unwrap_or(0),
        oldest: fields.date("oldest")?,
    })
}

fn read_count(doc: &RawDocumentBuf) -> Result<DecisionCount, StorageError> {
    let fields = Fields::of(DECISIONS, doc);
    let id = fields.doc("_id")?;
    let to = ReviewStatus::named(id.str("to")?);
    Ok(DecisionCount {
        by: id.string("by")?,
        rating: stats::read_stars(&id, "rating")?,
        to: to.ok_or_else(|| id.corrupt("to"))?,
        count: fields.i64("n")?,
    })
}
