//! Erasing an author from all collections, and exporting everything an author wrote.

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::erasure::{ErasureCounts, ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, ProductId, ReviewId, random_number};
use vitrine_model::review::{Review, ReviewStatus, ReviewVersion, Vote};

use crate::documents::{REFERENCE_VERSION, REVIEW_VERSION, up_to};
use crate::pictures::PICTURES;
use crate::raw::{Fields, date, stored_id};
use crate::reviewing::{
    PURCHASES, REPORTS, Report, VERSIONS, VOTES, of_review, read_report, read_version,
};
use crate::reviews::{COLLECTION, read};
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::write::MUTATIONS;
use crate::{StorageError, Store};

const ERASURES: &str = "erasures";

/// A vote of an author.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnVote {
    /// The product of the review.
    pub product: ProductId,
    /// The review.
    pub review: ReviewId,
    /// The vote.
    pub vote: Vote,
    /// When the vote was cast.
    pub at: Timestamp,
}

/// A purchase of an author.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnPurchase {
    /// The product.
    pub product: ProductId,
    /// The date of the first purchase.
    pub at: Timestamp,
}

/// How long the holder of an erasure may be silent before another process may claim it, by the
/// clock of the database.
const CLAIM_TIMEOUT_MILLIS: i64 = 5_000;
/// How many contended documents are retried one by one before the rest of their batch is left for
/// later.
const MAX_CONTENDED: usize = 4;

/// The parts of an erasure, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasurePart {
    /// Reviews, with the reports of removed ones.
    Reviews,
    /// Votes, with the counters of the reviews.
    Votes,
    /// Earlier versions of reviews.
    Versions,
    /// Replies to reviews.
    Replies,
    /// Reports of reviews: they become anonymous, and a moderator still handles them.
    Reports,
    /// Purchases.
    Purchases,
    /// Uploaded pictures, of which only the records are written here: their files are deleted afterwards.
    Pictures,
    /// Recorded mutations with idempotency keys.
    IdempotencyRecords,
}

impl ErasurePart {
    /// All parts, in the order in which they are erased.
    pub const ALL: [Self; 8] = [
        Self::Reviews,
        Self::Votes,
        Self::Versions,
        Self::Replies,
        Self::Reports,
        Self::Purchases,
        Self::Pictures,
        Self::IdempotencyRecords,
    ];

    const fn collection(self) -> &'static str {
        match self {
            Self::Reviews | Self::Replies => COLLECTION,
            Self::Votes => VOTES,
            Self::Versions => VERSIONS,
            Self::Reports => REPORTS,
            Self::Purchases => PURCHASES,
            Self::Pictures => PICTURES,
            Self::IdempotencyRecords => MUTATIONS,
        }
    }

    /// The field that contains the author.
    const fn author(self) -> &'static str {
        match self {
            Self::Reviews => "author._id",
            Self::Versions => "author",
            Self::Replies => "reply.by",
            Self::Votes | Self::Reports => "_id.u",
            Self::Purchases => "_id.c",
            Self::Pictures => "by",
            Self::IdempotencyRecords => "_id",
        }
    }

    /// The field that the documents of an author are sorted by.
    const fn key(self) -> &'static str {
        match self {
            Self::Votes | Self::Reports => "_id.r",
            Self::Purchases => "_id.p",
            Self::Reviews
            | Self::Versions
            | Self::Replies
            | Self::Pictures
            | Self::IdempotencyRecords => "_id",
        }
    }

    /// The index that finds the documents of an author in that order.
    const fn index(self) -> &'static str {
        match self {
            Self::Reviews => "by_author",
            Self::Votes => "voter",
            Self::Versions => "author",
            Self::Replies => "replied",
            Self::Reports => "reporter",
            Self::Purchases => "customer",
            Self::Pictures => "by",
            Self::IdempotencyRecords => "_id_",
        }
    }

    /// The counter in the receipt.
    const fn counter(self) -> &'static str {
        match self {
            Self::Reviews => "reviews",
            Self::Votes => "votes",
            Self::Versions => "versions",
            Self::Replies => "replies",
            Self::Reports => "reports",
            Self::Purchases => "purchases",
            Self::Pictures => "pictures",
            Self::IdempotencyRecords => "idempotency_records",
        }
    }

    /// Returns the filter for the author's documents after this position.
    fn of(self, author: &AuthorId, after: Option<&ErasurePosition>) -> Document {
        let mut filter = if self == Self::IdempotencyRecords {
            mutations_of(author)
        } else {
            doc! { self.author(): &author.0 }
        };
        let Some(ErasurePosition { key }) = after else {
            return filter;
        };
        match filter.get_document_mut(self.key()) {
            // The keys of an author's mutations are a range already.
            Ok(range) => {
                range.remove("$gte");
                range.insert("$gt", key);
            }
            Err(_) => drop(filter.insert(self.key(), doc! { "$gt": key })),
        }
        filter
    }
}

/// A claim: the right to work on an erasure until another process claims it.
#[derive(Clone, Debug)]
pub struct ErasureClaim {
    /// The author to erase.
    pub author: AuthorId,
    /// The policy of the erasure.
    pub policy: ErasurePolicy,
    /// Distinguishes this claim from all others.
    holder: i64,
}

impl ErasureClaim {
    /// The filter of the receipt while this claim holds and the erasure is open.
    fn receipt(&self) -> Document {
        doc! { "_id": &self.author.0, "open": true, "holder": stored_id(self.holder) }
    }
}

/// The position at which the next batch of a part begins.
#[derive(Clone, Debug)]
pub struct ErasurePosition {
    key: Bson,
}

/// The outcome of erasing a batch of documents.
#[derive(Debug, Default)]
pub struct ErasedBatch {
    /// The products to fold.
    pub products: Vec<ProductId>,
    /// The first error, if some documents were skipped.
    pub failed: Option<StorageError>,
    /// The position of the next batch; `None` at the end.
    pub next: Option<ErasurePosition>,
}

/// A document that contains the author.
struct Row {
    id: Bson,
    product: Option<ProductId>,
}

impl Store {
    /// Counts the erasures that are not finished, whether a process works on them or not.
    pub async fn count_open_erasures(&self) -> Result<u64, StorageError> {
        let erasures = self.documents(ERASURES);
        let counted = erasures
            .count_documents(doc! { "open": true })
            .hint(Hint::Name("open".to_owned()))
            .max_time(self.max_time);
        Ok(counted.await?)
    }

    /// Claims an unfinished erasure on which no process works, except those of the authors in
    /// `except`. Returns `None` when there is none.
    pub async fn claim_erasure(
        &self,
        except: &[AuthorId],
    ) -> Result<Option<ErasureClaim>, StorageError> {
        let mut filter = unclaimed();
        if !except.is_empty() {
            let except: Vec<&String> = except.iter().map(|author| &author.0).collect();
            filter.insert("_id", doc! { "$nin": except });
        }
        self.claim(filter, "open").await
    }

    /// Claims the unfinished erasure of an author, if no process works on it.
    pub async fn claim_erasure_of(
        &self,
        author: &AuthorId,
    ) -> Result<Option<ErasureClaim>, StorageError> {
        let mut filter = unclaimed();
        filter.insert("_id", &author.0);
        self.claim(filter, "_id_").await
    }

    /// Claims the unfinished erasure of an author, even if another process works on it.
    pub async fn take_over_erasure(
        &self,
        author: &AuthorId,
    ) -> Result<Option<ErasureClaim>, StorageError> {
        let filter = doc! { "_id": &author.0, "open": true };
        self.claim(filter, "_id_").await
    }

    async fn claim(
        &self,
        filter: Document,
        index: &str,
    ) -> Result<Option<ErasureClaim>, StorageError> {
        let holder = random_number();
        let update = doc! {
            "$set": { "holder": stored_id(holder) },
            "$currentDate": { "seen_at": true },
        };
        let collection = self.raw(ERASURES);
        let claimed = collection
            .find_one_and_update(filter, update)
            .sort(doc! { "seen_at": 1 })
            .hint(Hint::Name(index.to_owned()));
        let Some(claimed) = claimed.max_time(self.max_time).await? else {
            return Ok(None);
        };
        let (author, receipt) = read_receipt(&claimed)?;
        Ok(Some(ErasureClaim {
            author,
            policy: receipt.policy,
            holder,
        }))
    }

    /// Returns the receipt of an author's erasure, finished or not.
    pub async fn erasure(&self, author: &AuthorId) -> Result<Option<ErasureReceipt>, StorageError> {
        let collection = self.raw(ERASURES);
        let found = collection.find_one(doc! { "_id": &author.0 });
        let found = found.max_time(self.max_time).await?;
        let read = |doc: RawDocumentBuf| read_receipt(&doc).map(|(_, receipt)| receipt);
        found.map(read).transpose()
    }

    /// Returns at most `max` receipts, finished or not, of the authors after this one, in the order of their ids. One
    /// command.
    pub async fn page_erasures(
        &self,
        after: Option<&AuthorId>,
        max: u32,
    ) -> Result<Vec<(AuthorId, ErasureReceipt)>, StorageError> {
        let filter = after.map_or_else(Document::new, |after| doc! { "_id": { "$gt": &after.0 } });
        let erasures = self.raw(ERASURES);
        let find = erasures.find(filter).sort(doc! { "_id": 1 });
        let find = find.limit(i64::from(max)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read_receipt).collect()
    }

    /// Begins an erasure and claims it. A finished one with the same policy is reopened and keeps
    /// its receipt. Returns `None` when one is open already.
    pub async fn open_erasure(
        &self,
        author: &AuthorId,
        policy: ErasurePolicy,
        by: &str,
        now: Timestamp,
    ) -> Result<Option<ErasureClaim>, StorageError> {
        let holder = random_number();
        let held = doc! {
            "finished_at": Bson::Null,
            "open": true,
            "holder": stored_id(holder),
            "seen_at": "$$NOW",
        };
        let first = doc! {
            "_id": "$_id",
            "schema_version": REFERENCE_VERSION,
            "policy": policy.name(),
            "started_at": date(now),
            "by": { "$literal": by },
        };
        let mut zeros = Document::new();
        for part in ErasurePart::ALL {
            zeros.insert(part.counter(), 0_i64);
        }
        let opened = doc! { "$cond": [
            { "$eq": ["$policy", policy.name()] },
            { "$mergeObjects": ["$$ROOT", held.clone()] },
            { "$mergeObjects": [first, zeros, held] },
        ] };
        let collection = self.documents(ERASURES);
        let opened = collection
            .update_one(
                doc! { "_id": &author.0, "open": { "$ne": true } },
                vec![doc! { "$replaceWith": opened }],
            )
            .upsert(true)
            .await;
        match opened.map_err(StorageError::from) {
            Ok(_) => Ok(Some(ErasureClaim {
                author: author.clone(),
                policy,
                holder,
            })),
            Err(StorageError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renews a claim. Fails with [`StorageError::TakenOver`] when another process has claimed the
    /// erasure since.
    pub async fn renew_erasure(&self, claim: &ErasureClaim) -> Result<(), StorageError> {
        let update = doc! { "$currentDate": { "seen_at": true } };
        self.update_claimed(claim, update).await
    }

    /// Releases a claim, so that any process may claim the erasure immediately.
    pub async fn release_erasure(&self, claim: &ErasureClaim) -> Result<(), StorageError> {
        let long_ago = date(Timestamp::from_millis(0));
        let update = doc! { "$set": { "seen_at": long_ago } };
        self.update_claimed(claim, update).await
    }

    /// Closes a completed erasure. Fails with [`StorageError::TakenOver`] when another process has
    /// claimed it since.
    pub async fn close_erasure(
        &self,
        claim: &ErasureClaim,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let update = doc! {
            "$set": { "finished_at": date(now) },
            "$unset": { "open": 1, "holder": 1, "products": 1 },
        };
        self.update_claimed(claim, update).await
    }

    async fn update_claimed(
        &self,
        claim: &ErasureClaim,
        update: Document,
    ) -> Result<(), StorageError> {
        let collection = self.documents(ERASURES);
        let updated = collection.update_one(claim.receipt(), update);
        match updated.await?.matched_count {
            0 => Err(StorageError::TakenOver),
            _ => Ok(()),
        }
    }

    /// Erases the author from at most `max` documents, after the position where the last batch
    /// ended. The transactions that erase also count the documents in the receipt, and record there
    /// the products whose copies of reviews have to be updated. All documents are erased in one
    /// transaction if possible, otherwise in smaller ones, down to single documents. Documents that
    /// cannot be written are skipped.
    ///
    /// Fails with [`StorageError::TakenOver`] when another process has claimed the erasure since.
    pub async fn erase_batch(
        &self,
        claim: &ErasureClaim,
        part: ErasurePart,
        after: Option<&ErasurePosition>,
        max: u32,
    ) -> Result<ErasedBatch, StorageError> {
        let sort = doc! { part.author(): 1, part.key(): 1 };
        let filter = part.of(&claim.author, after);
        let collection = self.raw(part.collection());
        let find = collection
            .find(filter)
            .sort(sort)
            .projection(doc! { "_id": 1, "product_id": 1, "schema_version": 1 })
            .hint(Hint::Name(part.index().to_owned()))
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let (mut batch, mut rows) = (ErasedBatch::default(), Vec::with_capacity(found.len()));
        for doc in &found {
            let fields = Fields::of(part.collection(), doc);
            let id = fields.get("_id")?.map(Bson::try_from);
            let id = id
                .and_then(Result::ok)
                .ok_or_else(|| fields.corrupt("_id"))?;
            let newer = part == ErasurePart::Reviews
                && fields.i64("schema_version")? > i64::from(REVIEW_VERSION);
            if newer {
                let id = ReviewId::from_i64(fields.id("_id")?).to_string();
                let collection = COLLECTION;
                let error = StorageError::Newer { collection, id };
                batch.failed = batch.failed.or(Some(error));
                let key = stored_id(fields.id("_id")?);
                batch.next = Some(ErasurePosition { key });
                continue;
            }
            let product = fields.opt_id("product_id")?.map(ProductId::from_i64);
            let key = key_of(part, &id);
            batch.next = Some(ErasurePosition { key });
            rows.push(Row { id, product });
        }
        if found.len() < max as usize {
            batch.next = None;
        }
        self.erase_rows(claim, part, &rows, &mut batch).await?;
        Ok(batch)
    }

    async fn erase_rows(
        &self,
        claim: &ErasureClaim,
        part: ErasurePart,
        rows: &[Row],
        batch: &mut ErasedBatch,
    ) -> Result<(), StorageError> {
        let (mut all, mut contended) = (vec![rows], 0);
        while let Some(some) = all.pop() {
            let attempt = async || {
                let erased = self.try_erase(claim, part, some).await;
                erased.map_err(TransactionError::into_storage)
            };
            let erased = match some {
                [] => Ok(()),
                [_] => {
                    self.renew_erasure(claim).await?;
                    retry_contended(attempt).await
                }
                _ => attempt().await,
            };
            match erased {
                Ok(()) => batch
                    .products
                    .extend(some.iter().filter_map(|row| row.product)),
                Err(error) if !may_skip(&error) => return Err(error),
                Err(_) if some.len() > 1 => {
                    let (one, other) = some.split_at(some.len() / 2);
                    all.extend([other, one]);
                }
                Err(error) => {
                    contended += usize::from(matches!(error, StorageError::Contended(_)));
                    batch.failed = batch.failed.take().or(Some(error));
                    if contended == MAX_CONTENDED {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    async fn try_erase(
        &self,
        claim: &ErasureClaim,
        part: ErasurePart,
        rows: &[Row],
    ) -> Result<(), TransactionError> {
        let mut session = self.begin().await?;
        match self.erase_in(&mut session, claim, part, rows).await {
            Ok(0) => {
                // Another process was faster: there is nothing to count.
                let _ = session.abort_transaction().await;
                Ok(())
            }
            Ok(_) => commit(&mut session).await,
            Err(error) => {
                // See `try_fold`.
                let _ = session.abort_transaction().await;
                Err(error)
            }
        }
    }

    async fn erase_in(
        &self,
        session: &mut ClientSession,
        claim: &ErasureClaim,
        part: ErasurePart,
        rows: &[Row],
    ) -> Result<u64, TransactionError> {
        let ids: Vec<Bson> = rows.iter().map(|row| row.id.clone()).collect();
        let erased = match part {
            ErasurePart::Reviews => self.erase_reviews_in(session, claim, ids).await?,
            ErasurePart::Votes => self.erase_votes_in(session, claim.policy, ids).await?,
            ErasurePart::Replies => self.erase_replies_in(session, claim, ids).await?,
            ErasurePart::Reports => {
                let taken = self.take_documents(session, REPORTS, ids).await?;
                let anonymous = taken.iter().map(|report| {
                    let mut kept = anonymized(report);
                    kept.remove("note");
                    kept
                });
                self.insert_documents(session, REPORTS, anonymous.collect())
                    .await?;
                taken.len() as u64
            }
            ErasurePart::Pictures => {
                let mut filter = with_ids(ids);
                filter.insert("by", &claim.author.0);
                filter.insert("removed", doc! { "$ne": true });
                // What only products show belongs to the shop.
                let of_shop = doc! { "$and": [
                    { "$gt": [{ "$size": { "$ifNull": ["$uses", []] } }, 0] },
                    { "$eq": [{ "$size": { "$ifNull": ["$uses.r", []] } }, 0] },
                ] };
                let update = match claim.policy {
                    ErasurePolicy::Anonymize => vec![doc! { "$unset": "by" }],
                    // The name of the person stays until the file is deleted.
                    ErasurePolicy::Remove => vec![doc! { "$set": {
                        "removed": { "$cond": [&of_shop, "$$REMOVE", true] },
                        "due": { "$cond": [&of_shop, "$due", date(Timestamp::from_millis(0))] },
                        "by": { "$cond": [&of_shop, "$$REMOVE", "$by"] },
                    } }],
                };
                let pictures = self.documents(PICTURES);
                let updated = pictures.update_many(filter, update).session(&mut *session);
                updated.await?.modified_count
            }
            ErasurePart::Versions | ErasurePart::Purchases | ErasurePart::IdempotencyRecords => {
                let collection = self.documents(part.collection());
                let deleted = collection.delete_many(with_ids(ids)).session(&mut *session);
                deleted.await?.deleted_count
            }
        };
        if erased > 0 {
            // The receipt is updated last, to hold its lock as briefly as possible.
            self.note_erased(session, claim, part, (erased, rows))
                .await?;
        }
        Ok(erased)
    }

    async fn note_erased(
        &self,
        session: &mut ClientSession,
        claim: &ErasureClaim,
        part: ErasurePart,
        (erased, rows): (u64, &[Row]),
    ) -> Result<(), TransactionError> {
        let mut update = doc! {
            "$inc": { part.counter(): i64::try_from(erased).unwrap_or(i64::MAX) },
            "$currentDate": { "seen_at": true },
        };
        if part == ErasurePart::Reviews {
            let products = rows.iter().filter_map(|row| row.product);
            let products: Vec<Bson> = products.map(|id| stored_id(id.to_i64())).collect();
            update.insert("$push", doc! { "products": { "$each": products } });
        }
        let collection = self.documents(ERASURES);
        let updated = collection
            .update_one(claim.receipt(), update)
            .session(session);
        match updated.await?.matched_count {
            0 => Err(StorageError::TakenOver.into()),
            _ => Ok(()),
        }
    }

    /// Erases reviews, and closes the reports of removed ones, which need no decision any more.
    async fn erase_reviews_in(
        &self,
        session: &mut ClientSession,
        claim: &ErasureClaim,
        ids: Vec<Bson>,
    ) -> Result<u64, TransactionError> {
        let filter = doc! {
            "_id": { "$in": ids.clone() },
            "author._id": &claim.author.0,
            "schema_version": up_to(REVIEW_VERSION),
        };
        let reviews = self.documents(COLLECTION);
        let updated = reviews
            .update_many(filter, erase_review(claim.policy))
            .session(&mut *session);
        let erased = updated.await?.modified_count;
        if claim.policy == ErasurePolicy::Remove && !ids.is_empty() {
            let of_each = ids.iter().filter_map(Bson::as_i64);
            let of_each = of_each.map(|id| doc! { "_id": of_review(ReviewId::from_i64(id), "u") });
            let open = doc! { "$or": of_each.collect::<Vec<_>>(), "open": true };
            let reports = self.documents(REPORTS);
            reports
                .update_many(open, doc! { "$set": { "open": false } })
                .hint(Hint::Name("_id_".to_owned()))
                .session(session)
                .await?;
        }
        Ok(erased)
    }

    async fn erase_votes_in(
        &self,
        session: &mut ClientSession,
        policy: ErasurePolicy,
        ids: Vec<Bson>,
    ) -> Result<u64, TransactionError> {
        let votes = self.take_documents(session, VOTES, ids).await?;
        match policy {
            ErasurePolicy::Anonymize => {
                let anonymous = votes.iter().map(anonymized).collect();
                self.insert_documents(session, VOTES, anonymous).await?;
            }
            ErasurePolicy::Remove => {
                let reviews: Vec<Bson> = votes.iter().filter_map(review_of).cloned().collect();
                self.refuse_newer_among(session, reviews).await?;
                let updates = votes.iter().filter_map(uncount_vote).collect();
                self.update_each(session, COLLECTION, updates).await?;
            }
        }
        Ok(votes.len() as u64)
    }

    async fn erase_replies_in(
        &self,
        session: &mut ClientSession,
        claim: &ErasureClaim,
        ids: Vec<Bson>,
    ) -> Result<u64, TransactionError> {
        let update = match claim.policy {
            ErasurePolicy::Remove => doc! { "$unset": { "reply": 1 } },
            ErasurePolicy::Anonymize => doc! { "$set": { "reply.by": "" } },
        };
        let mut filter = with_ids(ids);
        filter.insert("reply.by", &claim.author.0);
        let reviews = self.documents(COLLECTION);
        let updated = reviews.update_many(filter, update).session(session);
        Ok(updated.await?.modified_count)
    }

    /// Deletes documents and returns them.
    async fn take_documents(
        &self,
        session: &mut ClientSession,
        collection: &str,
        ids: Vec<Bson>,
    ) -> Result<Vec<Document>, TransactionError> {
        let collection = self.documents(collection);
        let mut cursor = collection
            .find(with_ids(ids.clone()))
            .session(&mut *session)
            .await?;
        let mut taken = Vec::with_capacity(ids.len());
        while let Some(doc) = cursor.next(session).await {
            taken.push(doc?);
        }
        collection
            .delete_many(with_ids(ids))
            .session(session)
            .await?;
        Ok(taken)
    }

    async fn insert_documents(
        &self,
        session: &mut ClientSession,
        collection: &str,
        docs: Vec<Document>,
    ) -> Result<(), TransactionError> {
        if !docs.is_empty() {
            let collection = self.documents(collection);
            collection.insert_many(docs).session(session).await?;
        }
        Ok(())
    }

    async fn refuse_newer_among(
        &self,
        session: &mut ClientSession,
        reviews: Vec<Bson>,
    ) -> Result<(), TransactionError> {
        let mut newer = with_ids(reviews);
        newer.insert("schema_version", doc! { "$gt": REVIEW_VERSION });
        let collection = self.raw(COLLECTION);
        let found = collection.find_one(newer).session(session);
        let Some(found) = found.await? else {
            return Ok(());
        };
        let id = Fields::of(COLLECTION, &found).id("_id")?;
        let (collection, id) = (COLLECTION, ReviewId::from_i64(id).to_string());
        Err(StorageError::Newer { collection, id }.into())
    }

    /// Returns the products that still have a copy of a review by the author, among those whose
    /// reviews were erased.
    pub async fn products_with_copies_of(
        &self,
        author: &AuthorId,
    ) -> Result<Vec<ProductId>, StorageError> {
        let copies_filter = self.copies_filter(author).await?;
        let collection = self.raw("products");
        let find = collection
            .find(copies_filter)
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let id = |doc: &RawDocumentBuf| Fields::of("products", doc).id("_id");
        let ids = found.iter().map(|doc| Ok(ProductId::from_i64(id(doc)?)));
        ids.collect()
    }

    /// Returns the filter for products with a copy of a review by the author. A product copies only
    /// its own reviews, so the candidates are the products whose reviews were erased.
    async fn copies_filter(&self, author: &AuthorId) -> Result<Document, StorageError> {
        let erasures = self.documents(ERASURES);
        let receipt = erasures.find_one(doc! { "_id": &author.0 }).await?;
        let products = receipt.and_then(|mut receipt| receipt.remove("products"));
        let products = products.unwrap_or_else(|| Bson::Array(Vec::new()));
        Ok(doc! { "_id": { "$in": products }, "top_reviews.author._id": &author.0 })
    }

    /// Counts everything in the database that still contains the author, by index. Copies of
    /// reviews are counted in the products whose reviews were erased, because a product copies only
    /// its own reviews.
    pub async fn residue(&self, author: &AuthorId) -> Result<Residue, StorageError> {
        let own = &author.0;
        let count = async |collection: &str, filter: Document, index: &str| {
            let collection = self.documents(collection);
            let counted = collection
                .count_documents(filter)
                .hint(Hint::Name(index.to_owned()));
            counted.await.map_err(StorageError::from)
        };
        let copies_filter = self.copies_filter(author).await?;
        Ok(Residue {
            reviews: count(COLLECTION, doc! { "author._id": own }, "by_author").await?,
            versions: count(VERSIONS, doc! { "author": own }, "author").await?,
            top_reviews: count("products", copies_filter, "_id_").await?,
            votes: count(VOTES, doc! { "_id.u": own }, "voter").await?,
            replies: count(COLLECTION, doc! { "reply.by": own }, "replied").await?,
            reports: count(REPORTS, doc! { "_id.u": own }, "reporter").await?,
            purchases: count(PURCHASES, doc! { "_id.c": own }, "customer").await?,
            pictures: count(PICTURES, doc! { "by": own }, "by").await?,
            idempotency_records: count(MUTATIONS, mutations_of(author), "_id_").await?,
        })
    }

    /// Returns at most `max` reviews of an author after this one, in the order of ids, in any
    /// status.
    pub async fn page_reviews_by_author(
        &self,
        author: &AuthorId,
        after: Option<ReviewId>,
        max: u32,
    ) -> Result<Vec<Review>, StorageError> {
        let mut filter = doc! { "author._id": &author.0 };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .sort(doc! { "_id": 1 })
            .hint(Hint::Name("by_author".to_owned()));
        let find = find.limit(i64::from(max)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(|doc| read(doc)).collect()
    }

    /// Returns at most `max` votes of an author after the one on this review, in the order of
    /// reviews.
    pub async fn page_votes_of(
        &self,
        author: &AuthorId,
        after: Option<ReviewId>,
        max: u32,
    ) -> Result<Vec<OwnVote>, StorageError> {
        let mut filter = doc! { "_id.u": &author.0 };
        if let Some(after) = after {
            filter.insert("_id.r", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let sort = doc! { "_id.u": 1, "_id.r": 1 };
        let rows = self.page_rows(VOTES, filter, sort, "voter", max).await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(VOTES, row);
            let vote = Vote::named(fields.str("value")?);
            Ok(OwnVote {
                product: ProductId::from_i64(fields.id("product_id")?),
                review: ReviewId::from_i64(fields.doc("_id")?.id("r")?),
                vote: vote.ok_or_else(|| fields.corrupt("value"))?,
                at: fields.date("at")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Returns at most `max` purchases of an author after the one of this product, in the order of
    /// products.
    pub async fn page_purchases_of(
        &self,
        author: &AuthorId,
        after: Option<ProductId>,
        max: u32,
    ) -> Result<Vec<OwnPurchase>, StorageError> {
        let mut filter = doc! { "_id.c": &author.0 };
        if let Some(after) = after {
            filter.insert("_id.p", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let sort = doc! { "_id.c": 1, "_id.p": 1 };
        let rows = self
            .page_rows(PURCHASES, filter, sort, "customer", max)
            .await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(PURCHASES, row);
            Ok(OwnPurchase {
                product: ProductId::from_i64(fields.doc("_id")?.id("p")?),
                at: fields.date("at")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Returns at most `max` earlier versions of an author's reviews after this one, in the order
    /// of reviews and revisions, each with the product and the review.
    pub async fn page_versions_of(
        &self,
        author: &AuthorId,
        after: Option<(ReviewId, i64)>,
        max: u32,
    ) -> Result<Vec<(ProductId, ReviewId, ReviewVersion)>, StorageError> {
        let mut filter = doc! { "author": &author.0 };
        if let Some((review, revision)) = after {
            let last = doc! { "r": stored_id(review.to_i64()), "n": revision };
            filter.insert("_id", doc! { "$gt": last });
        }
        let sort = doc! { "author": 1, "_id": 1 };
        let rows = self
            .page_rows(VERSIONS, filter, sort, "author", max)
            .await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(VERSIONS, row);
            let review = ReviewId::from_i64(fields.doc("_id")?.id("r")?);
            let product = ProductId::from_i64(fields.id("product_id")?);
            Ok((product, review, read_version(fields)?))
        };
        rows.iter().map(read).collect()
    }

    /// Returns at most `max` reports by a reader after the one on this review, in the order of
    /// reviews, each with the product and the review.
    pub async fn page_reports_of(
        &self,
        reader: &AuthorId,
        after: Option<ReviewId>,
        max: u32,
    ) -> Result<Vec<(ProductId, ReviewId, Report)>, StorageError> {
        let mut filter = doc! { "_id.u": &reader.0 };
        if let Some(after) = after {
            filter.insert("_id.r", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let sort = doc! { "_id.u": 1, "_id.r": 1 };
        let rows = self
            .page_rows(REPORTS, filter, sort, "reporter", max)
            .await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(REPORTS, row);
            let review = ReviewId::from_i64(fields.doc("_id")?.id("r")?);
            let product = ProductId::from_i64(fields.id("product_id")?);
            Ok((product, review, read_report(fields)?))
        };
        rows.iter().map(read).collect()
    }

    /// Returns at most `max` reviews after this one that a person replied to for the shop, in the
    /// order of ids.
    pub async fn page_replies_of(
        &self,
        writer: &AuthorId,
        after: Option<ReviewId>,
        max: u32,
    ) -> Result<Vec<Review>, StorageError> {
        let mut filter = doc! { "reply.by": &writer.0 };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let sort = doc! { "reply.by": 1, "_id": 1 };
        let rows = self
            .page_rows(COLLECTION, filter, sort, "replied", max)
            .await?;
        rows.iter().map(|doc| read(doc)).collect()
    }

    async fn page_rows(
        &self,
        collection: &str,
        filter: Document,
        sort: Document,
        index: &str,
        max: u32,
    ) -> Result<Vec<RawDocumentBuf>, StorageError> {
        let collection = self.raw(collection);
        let find = collection
            .find(filter)
            .sort(sort)
            .hint(Hint::Name(index.to_owned()));
        let find = find.limit(i64::from(max)).max_time(self.max_time);
        Ok(find.await?.try_collect().await?)
    }
}

/// Returns the update of an erased author's review. A removed review keeps its stars, because the
/// field is required; they are neither shown nor counted.
fn erase_review(policy: ErasurePolicy) -> Vec<Document> {
    let always = doc! { "$set": {
        "by": "$_id",
        "dirty": true,
        "dirty_since": { "$ifNull": ["$dirty_since", "$$NOW"] },
        "erased": true,
        "revision": { "$add": ["$revision", 1] },
    } };
    let removed = [
        doc! { "$set": {
                "status": ReviewStatus::Deleted.name(),
                "title": "",
                "body": "",
                "media": [],
                "moderation": [],
                // Nothing remains to be verified or filtered.
                "verified": false,
                "reports": 0_i64,
        } },
        doc! { "$unset": [
            "recommended",
            "dimensions",
            "language",
            "vouched",
            "traits",
            "marks",
            "reply",
            "queue",
        ] },
    ];
    // Facts about the reviewer go, whatever happens to the text.
    let mut stages = vec![always, doc! { "$unset": ["author", "attributes"] }];
    if policy == ErasurePolicy::Remove {
        stages.extend(removed);
    }
    stages
}

/// The keys of mutations begin with the author and a line break.
fn mutations_of(author: &AuthorId) -> Document {
    let (from, to) = (format!("{}\n", author.0), format!("{}\u{b}", author.0));
    doc! { "_id": { "$gte": from, "$lt": to } }
}

/// Returns whether an erasure may skip a document after this error.
const fn may_skip(error: &StorageError) -> bool {
    matches!(
        error,
        StorageError::Contended(_) | StorageError::Driver(_) | StorageError::Newer { .. }
    )
}

/// Open erasures on which no process has worked for a while. A time in the future stems from before
/// the clock was set back, or from a process whose clock is ahead.
fn unclaimed() -> Document {
    let seen = |than: &str, now: Document| doc! { than: ["$seen_at", now] };
    let before = doc! { "$subtract": ["$$NOW", CLAIM_TIMEOUT_MILLIS] };
    let after = doc! { "$add": ["$$NOW", CLAIM_TIMEOUT_MILLIS] };
    doc! { "open": true, "$expr": { "$or": [seen("$lte", before), seen("$gt", after)] } }
}

fn with_ids(ids: Vec<Bson>) -> Document {
    doc! { "_id": { "$in": ids } }
}

/// Returns the sort key of the document with this id.
fn key_of(part: ErasurePart, id: &Bson) -> Bson {
    let field = part.key().strip_prefix("_id.");
    let key = field.and_then(|field| id.as_document()?.get(field));
    key.unwrap_or(id).clone()
}

fn review_of(reaction: &Document) -> Option<&Bson> {
    reaction.get_document("_id").ok()?.get("r")
}

/// Removes a vote from the counter of its review. Votes of earlier rounds are not counted. A review
/// that is dirty already stays so since the same time.
fn uncount_vote(vote: &Document) -> Option<Document> {
    let counter = match vote.get_str("value") {
        Ok("helpful") => "helpful",
        _ => "unhelpful",
    };
    let round = vote.get_i32("round").unwrap_or_default();
    Some(doc! {
        "q": { "_id": review_of(vote)?, "round": round },
        "u": [{ "$set": {
            counter: { "$add": [format!("${counter}"), -1_i64] },
            "dirty": true,
            "dirty_since": { "$ifNull": ["$dirty_since", "$$NOW"] },
        } }],
    })
}

/// Returns a vote or report under a generated id. The subject of a token cannot begin with a blank,
/// so the id cannot be that of a person.
fn anonymized(reaction: &Document) -> Document {
    let generated = format!(" {}", random_number());
    let mut kept = reaction.clone();
    kept.insert("_id", doc! { "r": review_of(reaction), "u": generated });
    kept
}

fn read_receipt(doc: &RawDocumentBuf) -> Result<(AuthorId, ErasureReceipt), StorageError> {
    let fields = Fields::of(ERASURES, doc);
    let policy = ErasurePolicy::named(fields.str("policy")?);
    let receipt = ErasureReceipt {
        policy: policy.ok_or_else(|| fields.corrupt("policy"))?,
        by: fields.string("by")?,
        started_at: fields.date("started_at")?,
        finished_at: fields.opt_date("finished_at")?,
        done: ErasureCounts {
            reviews: fields.i64("reviews")?,
            votes: fields.i64("votes")?,
            versions: fields.opt_i64("versions")?.unwrap_or(0),
            replies: fields.i64("replies")?,
            reports: fields.i64("reports")?,
            purchases: fields.i64("purchases")?,
            pictures: fields.opt_i64("pictures")?.unwrap_or(0),
            idempotency_records: fields.i64("idempotency_records")?,
        },
    };
    Ok((AuthorId(fields.string("_id")?), receipt))
}
