//! What shoppers, moderators and the shop write about reviews.
//!
//! Every change of a review is one atomic write that marks the review dirty if its product has
//! something to count. Related documents (a report, a decision, the previous version) are written in
//! the same transaction. Votes have a module of their own ([`crate::votes`]).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::{RawBsonRef, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{Hint, ReadConcern, ReturnDocument};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, CategoryId, ProductId, ReviewId, random_number};
use vitrine_model::product::{HotReason, Outlier, ProductStatus};
use vitrine_model::rating::Stars;
use vitrine_model::review::{
    Decision, DimensionTable, QueueReason, ReportReason, Review, ReviewStatus, ReviewVersion,
};

use crate::claims::Claim;
use crate::documents::product::{read_category, read_status};
use crate::documents::review as document;
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, REVIEW_VERSION, put, stats, up_to};
use crate::fold::dirty_at;
use crate::products::write_error;
use crate::raw::{Fields, date, stored_id};
use crate::reviews::{COLLECTION, not_newer, read};
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::{StorageError, Store};

pub(crate) const VOTES: &str = "votes";
pub(crate) const REPORTS: &str = "review_reports";
pub(crate) const VERSIONS: &str = "review_versions";
pub(crate) const DECISIONS: &str = "moderation_log";
pub(crate) const DIMENSIONS: &str = "review_dimensions";
pub(crate) const PURCHASES: &str = "purchases";

/// How long after a purchase its review is searched again, because the review may have been written
/// concurrently: no write takes longer.
const RECHECK_MILLIS: i64 = 90_000;

/// The time limit for flagging a product as hot.
const MARK_HOT_TIMEOUT: Duration = Duration::from_secs(1);

/// What of a product decides which reviews it accepts, and how they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedProduct {
    /// The status of the product.
    pub status: ProductStatus,
    /// The name of its kind.
    pub kind: String,
    /// Its category.
    pub category: CategoryId,
    /// Its outlier flags.
    pub outlier: Outlier,
}

/// Decides whether a product, as it is in the transaction, accepts a review.
pub type Accepts<'a> = dyn Fn(&Review, &ReviewedProduct) -> bool + Sync + 'a;

/// How a transaction stores submitted reviews.
pub struct SubmitOptions<'a> {
    /// Which reviews to store.
    pub accepts: &'a Accepts<'a>,
    /// The idempotency keys of reviews, which are stored with them.
    pub claims: &'a [Claim],
}

/// What has to be known before an author reviews a product.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewTarget {
    /// The product.
    pub product: ReviewedProduct,
    /// Whether the author is known to have bought the product.
    pub bought: bool,
    /// The author's existing review of the product, in any status.
    pub own: Option<Review>,
}

/// The outcome of inserting a new review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// It is stored.
    Stored,
    /// It was not stored: the author has a review of the product already, the product does not exist
    /// or accept it or is hot, or the idempotency key is taken. Read the target.
    Refused,
    /// It was not stored because of a write conflict.
    Contended,
}

/// Additional writes in the transaction of a review change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewSideWrites {
    /// The version before the change.
    pub version: Option<ReviewVersion>,
    /// A moderator's decision, for the moderation log.
    pub decision: Option<Decision>,
    /// Whether to close all reports of the review.
    pub close_reports: bool,
}

/// The outcome of a vote or a report.
#[derive(Clone, Debug, PartialEq)]
pub enum ReactionOutcome {
    /// It was written; the updated review.
    Done(Review),
    /// It had been written before; the review.
    Same(Review),
    /// There is no such published review of a product on sale.
    Gone,
    /// Nothing was written: authors may not vote on their own reviews.
    Own(Review),
}

/// The outcome of recording a purchase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPurchase {
    /// A stand-in for the order if none is given: it stands for all purchases of the product by the
    /// customer, and reveals nothing about the customer.
    pub sale: String,
    /// Whether a review was marked as verified.
    pub verified: bool,
}

/// A report of a review.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who reported the review.
    pub by: AuthorId,
    /// When the review was reported.
    pub at: Timestamp,
    /// The reason chosen by the reporter.
    pub reason: ReportReason,
    /// The reason in the reporter's own words.
    pub note: Option<String>,
}

impl Store {
    /// Returns what has to be known before these authors review these products; missing products
    /// are absent. One command. Reads majority-committed data, so an answer based on it cannot be
    /// rolled back.
    pub async fn review_targets(
        &self,
        pairs: &[(ProductId, AuthorId)],
    ) -> Result<HashMap<(ProductId, AuthorId), ReviewTarget>, StorageError> {
        let each = |row: &dyn Fn(Bson, &str) -> Document| -> Vec<Document> {
            let row = |(product, author): &(ProductId, AuthorId)| {
                row(stored_id(product.to_i64()), &author.0)
            };
            pairs.iter().map(row).collect()
        };
        let ids: Vec<Bson> = pairs.iter().map(|(id, _)| stored_id(id.to_i64())).collect();
        let own = each(&|product, author| doc! { "product_id": product, "by": author });
        let bought = each(&|product, author| doc! { "p": product, "c": author });
        let pipeline = [
            doc! { "$match": { "_id": { "$in": ids } } },
            doc! { "$project": { "status": 1, "kind": 1, "category": 1, "outlier": 1 } },
            doc! { "$unionWith": { "coll": COLLECTION, "pipeline": [
                { "$match": { "$or": own } },
                { "$replaceWith": { "own": "$$ROOT" } },
            ] } },
            doc! { "$unionWith": { "coll": PURCHASES, "pipeline": [
                { "$match": { "_id": { "$in": bought } } },
                { "$project": { "_id": 0, "bought": "$_id" } },
            ] } },
        ];
        let products = self.documents("products");
        let found = products
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()))
            .read_concern(ReadConcern::majority())
            // All results in the first batch.
            .batch_size(u32::try_from(3 * pairs.len() + 1).unwrap_or(u32::MAX))
            .max_time(self.max_time);
        let found = found.await?.with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        read_targets(pairs, &found)
    }

    /// Returns a review, in any status. Reads majority-committed data, so an answer based on it
    /// cannot be rolled back.
    pub async fn find_review(
        &self,
        product: ProductId,
        id: ReviewId,
    ) -> Result<Option<Review>, StorageError> {
        let collection = self.raw(COLLECTION);
        let found = collection
            .find_one(key(product, id))
            .read_concern(ReadConcern::majority());
        let found = found.max_time(self.max_time).await?;
        found.map(|doc| read(&doc)).transpose()
    }

    /// Returns the reviews of these products by an author, in any status. One command.
    pub async fn reviews_by_author(
        &self,
        products: &[ProductId],
        author: &AuthorId,
    ) -> Result<HashMap<ProductId, Review>, StorageError> {
        let ids: Vec<Bson> = products.iter().map(|id| stored_id(id.to_i64())).collect();
        let filter = doc! { "product_id": { "$in": ids }, "by": &author.0 };
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .hint(Hint::Name("author".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let pair = |doc: &RawDocumentBuf| read(doc).map(|review| (review.product_id, review));
        found.iter().map(pair).collect()
    }

    /// Inserts those of these new reviews that their products accept and counts them in the
    /// products, in one transaction that is not retried. Returns for each whether it was stored, and
    /// `None` after a duplicate; nothing was stored then.
    ///
    /// # Errors
    /// [`StorageError::Contended`] after a write conflict; nothing was stored then.
    pub async fn submit_counted(
        &self,
        reviews: &[Review],
        options: &SubmitOptions<'_>,
        now: Timestamp,
    ) -> Result<Option<Vec<bool>>, StorageError> {
        let reviews: Vec<_> = reviews
            .iter()
            .map(|review| (review.clone(), None))
            .collect();
        let inserted = self.try_insert_counted(&reviews, Some(options), now).await;
        inserted.map_err(TransactionError::into_storage)
    }

    /// Inserts new dirty reviews, to be counted by a fold. Returns the outcome of each. One
    /// command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some reviews may be stored then.
    pub async fn submit_uncounted(
        &self,
        reviews: &[Review],
        now: Timestamp,
    ) -> Result<Vec<SubmitOutcome>, StorageError> {
        let reviews: Vec<_> = reviews
            .iter()
            .map(|review| (review.clone(), None))
            .collect();
        let refused = self.insert_reviews(&reviews, now).await?;
        let outcome = |refused: Option<String>| {
            refused.map_or(SubmitOutcome::Stored, |_| SubmitOutcome::Refused)
        };
        Ok(refused.into_iter().map(outcome).collect())
    }

    /// Changes a review from `before` to `after` if its revision and round are unchanged, and marks
    /// it dirty if it was or becomes visible. Votes, reports and the verification are kept, unless
    /// the round changes: then the counters start at zero. Returns whether the review was changed.
    pub async fn apply_review_change(
        &self,
        before: &Review,
        after: &Review,
        side_writes: &ReviewSideWrites,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let changed = self
                .try_change_review(before, after, side_writes, now)
                .await;
            changed.map_err(TransactionError::into_storage)
        })
        .await
    }

    async fn try_change_review(
        &self,
        before: &Review,
        after: &Review,
        side_writes: &ReviewSideWrites,
        now: Timestamp,
    ) -> Result<bool, TransactionError> {
        let mut filter = key(before.product_id, before.id);
        filter.insert("revision", before.revision);
        filter.insert("round", before.round);
        // The mark that lists are filtered by depends on it.
        filter.insert("verified", before.verified);
        filter.insert("schema_version", up_to(REVIEW_VERSION));
        let update = review_update(before, after, side_writes.close_reports, now);
        let collection = self.documents(COLLECTION);
        if *side_writes == ReviewSideWrites::default() {
            let updated = collection.update_one(filter, update);
            if updated.await?.matched_count == 1 {
                return Ok(true);
            }
            self.ensure_not_newer(before.product_id, before.id).await?;
            return Ok(false);
        }
        let mut session = self.begin().await?;
        let updated = collection.update_one(filter, update).session(&mut session);
        if updated.await?.matched_count == 0 {
            let _ = session.abort_transaction().await;
            self.ensure_not_newer(before.product_id, before.id).await?;
            return Ok(false);
        }
        self.apply_side_writes(&mut session, before, side_writes)
            .await?;
        commit(&mut session).await?;
        Ok(true)
    }

    async fn apply_side_writes(
        &self,
        session: &mut ClientSession,
        before: &Review,
        side_writes: &ReviewSideWrites,
    ) -> Result<(), TransactionError> {
        if let Some(version) = &side_writes.version {
            let versions = self.documents(VERSIONS);
            let author = before.author.as_ref().map(|author| &author.id);
            let row = version_document(before, version, author);
            versions.insert_one(row).session(&mut *session).await?;
        }
        if let Some(decision) = &side_writes.decision {
            let log = self.documents(DECISIONS);
            let entry = decision_document(before, decision, (random_number(), before.rating));
            log.insert_one(entry).session(&mut *session).await?;
        }
        if side_writes.close_reports {
            let reports = self.documents(REPORTS);
            let close = doc! { "$set": { "open": false } };
            let own = doc! { "_id": of_review(before.id, "u"), "open": true };
            reports
                .update_many(own, close)
                .hint(Hint::Name("_id_".to_owned()))
                .session(session)
                .await?;
        }
        Ok(())
    }

    /// Returns the earlier versions of reviews, oldest first, at most the last `max` of each. One
    /// command.
    pub async fn review_versions(
        &self,
        ids: &[ReviewId],
        max: u32,
    ) -> Result<HashMap<ReviewId, Vec<ReviewVersion>>, StorageError> {
        let last = ReviewRowsQuery {
            collection: VERSIONS,
            part: "n",
            filter: Document::new(),
            sort: doc! { "_id.n": -1 },
            max,
        };
        let mut found = self.find_for_reviews(ids, last, read_version).await?;
        for versions in found.values_mut() {
            versions.reverse();
        }
        Ok(found)
    }

    /// Reads the related documents of reviews in another collection. One command.
    async fn find_for_reviews<T>(
        &self,
        ids: &[ReviewId],
        side_writes: ReviewRowsQuery,
        read: fn(Fields<'_>) -> Result<T, StorageError>,
    ) -> Result<HashMap<ReviewId, Vec<T>>, StorageError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let ranges = ids
            .iter()
            .map(|id| doc! { "_id": of_review(*id, side_writes.part) });
        let first = doc! { "$topN": {
            "n": i64::from(side_writes.max),
            "sortBy": side_writes.sort,
            "output": "$$ROOT",
        } };
        let pipeline = [
            doc! { "$match": { "$or": ranges.collect::<Vec<_>>() } },
            doc! { "$match": side_writes.filter },
            doc! { "$group": { "_id": "$_id.r", "found": first } },
        ];
        let collection = self.raw(side_writes.collection);
        let found = collection
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time);
        let found = found.await?.with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let read_group = |doc: &RawDocumentBuf| {
            let fields = Fields::of(side_writes.collection, doc);
            let id = ReviewId::from_i64(fields.id("_id")?);
            Ok((id, fields.docs("found", read)?))
        };
        found.iter().map(read_group).collect()
    }

    /// Returns a published review of a product on sale. One command.
    async fn find_visible_review(
        &self,
        (product, id): (ProductId, ReviewId),
        session: &mut ClientSession,
    ) -> Result<Option<Review>, TransactionError> {
        let pipeline = [
            doc! { "$match": published(product, id) },
            doc! { "$lookup": {
                "from": "products",
                "localField": "product_id",
                "foreignField": "_id",
                "pipeline": [
                    { "$match": { "status": ProductStatus::Active.name() } },
                    { "$project": { "_id": 1 } },
                ],
                "as": "on_sale",
            } },
            doc! { "$match": { "on_sale": { "$ne": [] } } },
            doc! { "$unset": "on_sale" },
        ];
        let collection = self.documents(COLLECTION);
        let found = collection.aggregate(pipeline).session(&mut *session);
        let mut found = found.await?.with_type::<RawDocumentBuf>();
        let Some(found) = found.next(session).await else {
            return Ok(None);
        };
        let found = found?;
        not_newer(&found)?;
        Ok(Some(read(&found)?))
    }

    /// Writes a report that asks a moderator to check a review; once per reader and round of
    /// moderation.
    pub async fn report_review(
        &self,
        (product, id): (ProductId, ReviewId),
        report: &Report,
    ) -> Result<ReactionOutcome, StorageError> {
        retry_contended(async || {
            let outcome = self.try_report((product, id), report).await;
            outcome.map_err(TransactionError::into_storage)
        })
        .await
    }

    async fn try_report(
        &self,
        (product, id): (ProductId, ReviewId),
        report: &Report,
    ) -> Result<ReactionOutcome, TransactionError> {
        let mut session = self.begin().await?;
        let Some(review) = self
            .find_visible_review((product, id), &mut session)
            .await?
        else {
            let _ = session.abort_transaction().await;
            return Ok(ReactionOutcome::Gone);
        };
        if self.write_report(&mut session, &review, report).await? {
            let _ = session.abort_transaction().await;
            self.ensure_reported(&review, &report.by).await?;
            return Ok(ReactionOutcome::Same(review));
        }
        let queued = document::queued(vitrine_model::review::Queued {
            reason: QueueReason::Reported,
            since: report.at,
        });
        let count = doc! { "$set": {
            "reports": { "$add": [{ "$ifNull": ["$reports", 0_i64] }, 1_i64] },
            "queue": { "$ifNull": ["$queue", queued] },
        } };
        let updated = self
            .raw(COLLECTION)
            .find_one_and_update(published(product, id), vec![count])
            .return_document(ReturnDocument::After)
            .session(&mut session)
            .await?;
        end_reaction(&mut session, updated.as_ref()).await
    }

    /// Writes a report of a review. Returns whether the reader had an open report of it already.
    async fn write_report(
        &self,
        session: &mut ClientSession,
        review: &Review,
        report: &Report,
    ) -> Result<bool, TransactionError> {
        let mut set = doc! {
            "schema_version": REFERENCE_VERSION,
            "product_id": stored_id(review.product_id.to_i64()),
            "reason": report.reason.name(),
            "at": date(report.at),
            "open": true,
        };
        put(&mut set, "note", report.note.as_deref());
        let mut update = doc! { "$set": set };
        if report.note.is_none() {
            update.insert("$unset", doc! { "note": 1 });
        }
        let reports = self.raw(REPORTS);
        let before = reports
            .find_one_and_update(report_key(review, &report.by), update)
            .upsert(true)
            .return_document(ReturnDocument::Before)
            .session(session)
            .await?;
        Ok(match &before {
            Some(row) => Fields::of(REPORTS, row).bool("open")?,
            None => false,
        })
    }

    /// Fails unless a reader's report of a review is majority-committed: only then may the caller
    /// return it.
    async fn ensure_reported(
        &self,
        review: &Review,
        reader: &AuthorId,
    ) -> Result<(), TransactionError> {
        let reports = self.raw(REPORTS);
        let lasting = reports
            .find_one(report_key(review, reader))
            .read_concern(ReadConcern::majority());
        match lasting.await? {
            Some(_) => Ok(()),
            None => Err(TransactionError::Storage(StorageError::Unavailable(
                mongodb::error::Error::custom("the report may be rolled back by an election"),
            ))),
        }
    }

    /// Returns the open reports of reviews, oldest first, at most `max` of each. One command.
    pub async fn open_reports(
        &self,
        ids: &[ReviewId],
        max: u32,
    ) -> Result<HashMap<ReviewId, Vec<Report>>, StorageError> {
        let first = ReviewRowsQuery {
            collection: REPORTS,
            part: "u",
            filter: doc! { "open": true },
            sort: doc! { "at": 1 },
            max,
        };
        self.find_for_reviews(ids, first, read_report).await
    }

    /// Records that a customer bought a product, and marks the customer's review of it as verified.
    /// Idempotent, so safe to retry.
    ///
    /// A review that is being written concurrently may not be visible yet; it is searched again
    /// later ([`Store::recheck_purchases`]).
    pub async fn record_purchase(
        &self,
        product: ProductId,
        customer: &AuthorId,
        at: Timestamp,
        now: Timestamp,
    ) -> Result<RecordedPurchase, StorageError> {
        let row = doc! { "_id": { "p": stored_id(product.to_i64()), "c": &customer.0 } };
        let new = doc! { "$eq": [{ "$type": "$at" }, "missing"] };
        let recheck = date(now.plus_millis(RECHECK_MILLIS));
        let own = doc! { "$literal": random_number().to_string() };
        let update = vec![doc! { "$set": {
            "schema_version": { "$max": ["$schema_version", REFERENCE_VERSION] },
            "recheck_at": { "$cond": [new, recheck, "$recheck_at"] },
            // A new row has none yet.
            "sale": { "$ifNull": ["$sale", own] },
            "at": { "$min": ["$at", date(at)] },
        } }];
        let purchases = self.raw(PURCHASES);
        let stored = purchases
            .find_one_and_update(row, update)
            .upsert(true)
            .return_document(ReturnDocument::After)
            .await?;
        let sale = match &stored {
            Some(row) => Fields::of(PURCHASES, row).string("sale")?,
            None => random_number().to_string(),
        };
        let verified = self.verify_buyer(product, customer, now).await?;
        Ok(RecordedPurchase { sale, verified })
    }

    /// Searches again for reviews that were being written when the purchase was recorded. Returns
    /// the number of purchases checked.
    pub async fn recheck_purchases(&self, now: Timestamp, max: u32) -> Result<usize, StorageError> {
        let collection = self.raw(PURCHASES);
        let find = collection
            .find(doc! { "recheck_at": { "$lte": date(now) } })
            .hint(Hint::Name("recheck".to_owned()));
        let find = find.limit(i64::from(max)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        for row in &found {
            let id = Fields::of(PURCHASES, row).doc("_id")?;
            let product = ProductId::from_i64(id.id("p")?);
            let customer = AuthorId(id.string("c")?);
            self.verify_buyer(product, &customer, now).await?;
            let done = doc! { "$unset": { "recheck_at": 1 } };
            let row = doc! { "_id": { "p": stored_id(product.to_i64()), "c": customer.0 } };
            self.documents(PURCHASES).update_one(row, done).await?;
        }
        Ok(found.len())
    }

    async fn verify_buyer(
        &self,
        product: ProductId,
        customer: &AuthorId,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let filter = doc! {
            "product_id": stored_id(product.to_i64()),
            "by": &customer.0,
            "verified": false,
            "schema_version": up_to(REVIEW_VERSION),
        };
        // The copy among the top reviews and the statistics contain it too. The marks are those
        // that `Traits::marks` would return.
        let marks = doc! { "$ifNull": ["$marks", []] };
        let verified = doc! { "$map": { "input": &marks, "in": { "$concat": ["v.", "$$this"] } } };
        let name = doc! { "$cond": [
            { "$eq": [{ "$type": "$traits" }, "missing"] },
            "v",
            { "$concat": ["v.", "$traits"] },
        ] };
        let mut set = doc! {
            "verified": true,
            "traits": name,
            "marks": { "$concatArrays": [&marks, ["v"], verified] },
        };
        set.extend(dirty_at(now));
        let update = vec![doc! { "$set": set }];
        let collection = self.documents(COLLECTION);
        let updated = collection
            .update_one(filter, update)
            .hint(Hint::Name("author".to_owned()));
        Ok(updated.await?.modified_count == 1)
    }

    /// Flags a product as hot until an instant. While it is hot, the reason and the beginning stay
    /// those of the first call.
    pub async fn mark_hot(
        &self,
        product: ProductId,
        until: Timestamp,
        reason: HotReason,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let is_hot = doc! { "$gt": ["$outlier.hot_until", date(now)] };
        let kept = |field: &str, new: Bson| {
            let field = format!("$outlier.{field}");
            doc! { "$cond": [is_hot.clone(), { "$ifNull": [field, new.clone()] }, new] }
        };
        let set = doc! { "$set": {
            "outlier.hot_until": { "$max": ["$outlier.hot_until", date(until)] },
            "outlier.hot_since": kept("hot_since", date(now)),
            "outlier.hot_reason": kept("hot_reason", Bson::from(reason.name())),
        } };
        let filter = doc! {
            "_id": stored_id(product.to_i64()),
            "schema_version": up_to(PRODUCT_VERSION),
        };
        // Written as a command because the driver's own method has no time limit, and an abandoned
        // transaction may block the product.
        let millis = i64::try_from(MARK_HOT_TIMEOUT.as_millis()).expect("a second");
        let command = doc! {
            "update": "products",
            "updates": [{ "q": filter, "u": [set] }],
            "maxTimeMS": millis,
        };
        let reply = self.write(command).await?;
        match reply
            .get_array("writeErrors")
            .ok()
            .and_then(|errors| errors.first())
        {
            None => Ok(()),
            Some(error) => Err(write_error(error)
                .map_or_else(|error| error, |(_, key)| StorageError::Conflict { key })),
        }
    }

    /// Returns the dimensions that products are rated by.
    pub async fn all_review_dimensions(&self) -> Result<DimensionTable, StorageError> {
        let collection = self.raw(DIMENSIONS);
        let find = collection.find(Document::new()).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        read_dimensions(&found)
    }
}

pub(crate) fn read_dimensions(found: &[RawDocumentBuf]) -> Result<DimensionTable, StorageError> {
    let mut table = DimensionTable::default();
    for doc in found {
        let fields = Fields::of(DIMENSIONS, doc);
        let name = |value: RawBsonRef<'_>| value.as_str().map(str::to_owned);
        let names = fields.items("names", name)?;
        if let Some(kind) = fields.opt_string("kind")? {
            table.kinds.insert(kind, names);
        } else if let Some(category) = fields.opt_id("category")? {
            let category = CategoryId::from_i64(category);
            table.categories.insert(category, names);
        }
    }
    Ok(table)
}

/// Commits the reaction to a review, or aborts it when no published review was updated.
async fn end_reaction(
    session: &mut ClientSession,
    updated: Option<&RawDocumentBuf>,
) -> Result<ReactionOutcome, TransactionError> {
    let Some(updated) = updated else {
        let _ = session.abort_transaction().await;
        return Ok(ReactionOutcome::Gone);
    };
    commit(session).await?;
    Ok(ReactionOutcome::Done(read(updated)?))
}

fn key(product: ProductId, id: ReviewId) -> Document {
    doc! { "_id": stored_id(id.to_i64()), "product_id": stored_id(product.to_i64()) }
}

/// A query for the related documents of reviews in another collection.
struct ReviewRowsQuery {
    collection: &'static str,
    /// The field after the review in the ids.
    part: &'static str,
    filter: Document,
    sort: Document,
    /// The maximum number of documents for each review.
    max: u32,
}

/// The range of ids that begin with a review; a range reaches only one shard.
pub(crate) fn of_review(id: ReviewId, part: &str) -> Document {
    let review = stored_id(id.to_i64());
    doc! { "$gte": { "r": review.clone() }, "$lte": { "r": review, part: Bson::MaxKey } }
}

fn report_key(review: &Review, reader: &AuthorId) -> Document {
    doc! { "_id": { "r": stored_id(review.id.to_i64()), "u": &reader.0 } }
}

pub(crate) fn published(product: ProductId, id: ReviewId) -> Document {
    let mut filter = key(product, id);
    filter.insert("status", ReviewStatus::Published.name());
    filter
}

/// Returns the update from one review to the other. It changes only fields that differ, because
/// votes, reports, purchases and replies may be written concurrently.
fn review_update(before: &Review, after: &Review, close_reports: bool, now: Timestamp) -> Document {
    let written = |review: &Review| {
        let mut doc = document::content(review);
        doc.extend(document::state(review));
        doc.insert("verified", review.verified);
        doc.extend(document::traits(&review.traits()));
        // These counters have writers of their own.
        for counter in [
            "imported_helpful",
            "imported_unhelpful",
            "helpful",
            "unhelpful",
            "reports",
        ] {
            doc.remove(counter);
        }
        doc
    };
    let (old, new) = (written(before), written(after));
    let mut set: Document = new
        .iter()
        .filter(|(field, value)| old.get(field) != Some(value))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    let mut unset: Document = old
        .keys()
        .filter(|field| !new.contains_key(*field))
        .map(|field| (field.clone(), Bson::Int32(1)))
        .collect();
    if close_reports {
        set.insert("reports", 0_i64);
    }
    // The review may have been reported since it was read.
    if (close_reports || after.status == ReviewStatus::Deleted) && after.queued.is_none() {
        unset.insert("queue", 1);
    }
    if before.round != after.round {
        for counter in [
            "imported_helpful",
            "imported_unhelpful",
            "helpful",
            "unhelpful",
        ] {
            set.insert(counter, 0_i64);
        }
    }
    let visible = |review: &Review| review.status == ReviewStatus::Published;
    let mut update = Document::new();
    if visible(before) || visible(after) || before.applied.is_some() {
        set.insert("dirty", true);
        update.insert("$min", doc! { "dirty_since": date(now) });
    }
    if !set.is_empty() {
        update.insert("$set", set);
    }
    if !unset.is_empty() {
        update.insert("$unset", unset);
    }
    update
}

pub(crate) fn version_document(
    review: &Review,
    version: &ReviewVersion,
    author: Option<&AuthorId>,
) -> Document {
    let mut doc = doc! {
        "_id": { "r": stored_id(review.id.to_i64()), "n": version.revision },
        "schema_version": REFERENCE_VERSION,
        "product_id": stored_id(review.product_id.to_i64()),
        "until": date(version.until),
        "rating": i32::from(version.rating.get()),
        "title": &version.title,
        "body": &version.body,
    };
    put(&mut doc, "author", author.map(|author| author.0.as_str()));
    doc
}

/// The entry of the moderation log with this id, for a review that had this rating.
pub(crate) fn decision_document(
    review: &Review,
    decision: &Decision,
    (id, rating): (i64, Stars),
) -> Document {
    let mut doc = doc! {
        "_id": stored_id(id),
        "schema_version": REFERENCE_VERSION,
        "review_id": stored_id(review.id.to_i64()),
        "product_id": stored_id(review.product_id.to_i64()),
        "at": date(decision.at),
        "by": &decision.by,
        "from": decision.from.name(),
        "to": decision.to.name(),
        "reason": decision.reason.name(),
        "rating": i32::from(rating.get()),
    };
    put(&mut doc, "note", decision.note.as_deref());
    doc
}

/// Reads products, the authors' reviews, and purchases, in any order.
fn read_targets(
    pairs: &[(ProductId, AuthorId)],
    found: &[RawDocumentBuf],
) -> Result<HashMap<(ProductId, AuthorId), ReviewTarget>, StorageError> {
    let (mut products, mut own, mut bought) = (HashMap::new(), HashMap::new(), HashSet::new());
    for doc in found {
        let fields = Fields::of("products", doc);
        if let Some(review) = fields.opt_doc("own")? {
            let review = document::read(&review)?;
            let author = review.author.as_ref().map(|author| author.id.clone());
            own.extend(author.map(|author| ((review.product_id, author), review)));
        } else if let Some(id) = fields.opt_doc("bought")? {
            let product = ProductId::from_i64(id.id("p")?);
            bought.insert((product, AuthorId(id.string("c")?)));
        } else {
            let product = read_reviewed_product(&fields)?;
            products.insert(ProductId::from_i64(fields.id("_id")?), product);
        }
    }
    let target = |pair: &(ProductId, AuthorId)| {
        let target = ReviewTarget {
            product: products.get(&pair.0)?.clone(),
            bought: bought.contains(pair),
            own: own.get(pair).cloned(),
        };
        Some((pair.clone(), target))
    };
    Ok(pairs.iter().filter_map(target).collect())
}

pub(crate) fn read_reviewed_product(fields: &Fields<'_>) -> Result<ReviewedProduct, StorageError> {
    Ok(ReviewedProduct {
        status: read_status(fields)?,
        kind: fields.string("kind")?,
        category: read_category(fields)?,
        outlier: stats::read_outlier(&fields.doc("outlier")?)?,
    })
}

pub(crate) fn read_report(fields: Fields<'_>) -> Result<Report, StorageError> {
    let reason = ReportReason::named(fields.str("reason")?);
    Ok(Report {
        by: AuthorId(fields.doc("_id")?.string("u")?),
        at: fields.date("at")?,
        reason: reason.unwrap_or(ReportReason::Other),
        note: fields.opt_string("note")?,
    })
}

pub(crate) fn read_version(fields: Fields<'_>) -> Result<ReviewVersion, StorageError> {
    Ok(ReviewVersion {
        revision: fields.doc("_id")?.i64("n")?,
        until: fields.date("until")?,
        rating: stats::read_stars(&fields, "rating")?,
        title: fields.string("title")?,
        body: fields.string("body")?,
    })
}
