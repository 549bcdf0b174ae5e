//! The moderation queue, and statistics of moderators' decisions.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::rating::Stars;
use vitrine_model::review::{QueueReason, Review, ReviewStatus};

use crate::documents::stats;
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::raw::{Fields, date};
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
    /// Returns a page of the reviews in the moderation queue, oldest first. One command.
    pub async fn page_queue(
        &self,
        reason: Option<QueueReason>,
        request: &PageRequest,
    ) -> Result<Page<Review>, StorageError> {
        self.read_page(&queue(reason), request, read).await
    }

    /// Returns whether the queue has a review before this position (or after it).
    pub async fn has_queued(
        &self,
        reason: Option<QueueReason>,
        from: Boundary,
    ) -> Result<bool, StorageError> {
        self.has_row(&queue(reason), &from).await
    }

    /// Counts the reviews in the queue, up to `max`.
    pub async fn count_queue(
        &self,
        reason: Option<QueueReason>,
        max: u64,
    ) -> Result<u64, StorageError> {
        let list = queue(reason);
        let collection = self.documents(COLLECTION);
        let count = collection
            .count_documents(list.filter)
            .hint(Hint::Name(list.index.to_owned()))
            .limit(max.max(1));
        Ok(count.max_time(self.max_time).await?)
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

fn queue(reason: Option<QueueReason>) -> ListQuery {
    let mut filter: Document = doc! { "queue.since": { "$exists": true } };
    if let Some(reason) = reason {
        filter.insert("queue.reason", reason.name());
    }
    ListQuery {
        window: Vec::new(),
        collection: COLLECTION,
        filter,
        columns: vec![Column::new("queue.since", ColumnKind::Instant)],
        descending: false,
        index: if reason.is_some() {
            "queue_reason"
        } else {
            "queue"
        },
        merged: false,
        projection: None,
    }
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
