//! Taking an author out of everything, and giving an author everything they wrote.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::erasure::{ErasureCounts, ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::review::{Review, ReviewStatus, ReviewVersion, Vote};

use crate::documents::{REFERENCE_VERSION, REVIEW_VERSION, up_to};
use crate::raw::{Fields, date, uuid};
use crate::reviewing::{
    PURCHASES, REPORTS, Report, VERSIONS, VOTES, read_report, read_version, same_round,
};
use crate::reviews::{COLLECTION, read};
use crate::store::durable;
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::{StorageError, Store};

const ERASURES: &str = "erasures";
const MUTATIONS: &str = "mutations";

/// What an author voted.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnVote {
    /// The product of the review.
    pub product: ProductId,
    /// The review.
    pub review: ReviewId,
    /// The vote.
    pub vote: Vote,
    /// When.
    pub at: Timestamp,
}

/// A purchase of an author.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnPurchase {
    /// The product.
    pub product: ProductId,
    /// When it was bought first.
    pub at: Timestamp,
}

impl Store {
    /// Takes over an erasure that was begun, not finished, and not gone on with since then; `None`
    /// when there is none. No other process gets it for as long.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn claim_erasure(
        &self,
        rested_since: Timestamp,
        now: Timestamp,
    ) -> Result<Option<(AuthorId, ErasureReceipt)>, StorageError> {
        let collection = self.raw(ERASURES);
        let rests = doc! { "open": true, "seen_at": { "$lte": date(rested_since) } };
        let claimed = collection
            .find_one_and_update(rests, doc! { "$set": { "seen_at": date(now) } })
            .sort(doc! { "seen_at": 1 })
            .hint(Hint::Name("open".to_owned()))
            .write_concern(durable());
        let claimed = claimed.max_time(self.max_time).await?;
        claimed.map(|doc| read_receipt(&doc)).transpose()
    }

    /// The receipt of an author's erasure, finished or not.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn erasure(&self, author: &AuthorId) -> Result<Option<ErasureReceipt>, StorageError> {
        let collection = self.raw(ERASURES);
        let found = collection.find_one(doc! { "_id": &author.0 });
        let found = found.max_time(self.max_time).await?;
        let read = |doc: RawDocumentBuf| read_receipt(&doc).map(|(_, receipt)| receipt);
        found.map(read).transpose()
    }

    /// Begins an erasure, or goes on with one: its receipt is this, and it is open.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn open_erasure(
        &self,
        author: &AuthorId,
        receipt: &ErasureReceipt,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let mut doc = receipt_document(receipt);
        doc.insert("open", true);
        doc.insert("seen_at", date(now));
        let collection = self.documents(ERASURES);
        let kept = collection
            .replace_one(doc! { "_id": &author.0 }, doc)
            .upsert(true)
            .write_concern(durable());
        kept.await?;
        Ok(())
    }

    /// Adds what was done to the receipt of an erasure, with the products whose copies of reviews
    /// are to follow.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn note_erasure(
        &self,
        author: &AuthorId,
        done: &ErasureCounts,
        products: &[ProductId],
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let ids: Vec<Bson> = products.iter().map(|id| uuid(id.to_bytes())).collect();
        let update = doc! {
            "$inc": counts_document(done),
            "$set": { "seen_at": date(now) },
            "$addToSet": { "products": { "$each": ids } },
        };
        self.update_erasure(author, update).await
    }

    /// Closes an erasure: nothing is left.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn close_erasure(
        &self,
        author: &AuthorId,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let update = doc! {
            "$set": { "finished_at": date(now) },
            "$unset": { "open": 1, "products": 1 },
        };
        self.update_erasure(author, update).await
    }

    async fn update_erasure(
        &self,
        author: &AuthorId,
        update: Document,
    ) -> Result<(), StorageError> {
        let collection = self.documents(ERASURES);
        let updated = collection
            .update_one(doc! { "_id": &author.0 }, update)
            .write_concern(durable());
        updated.await?;
        Ok(())
    }

    /// Takes the author out of some of their reviews, and marks them for the fold. Gives how many
    /// were changed and the products of those that were found; none when there are no more.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_reviews(
        &self,
        author: &AuthorId,
        policy: ErasurePolicy,
        most: u32,
    ) -> Result<(i64, Vec<ProductId>), StorageError> {
        let found = self.page_of_author(author, None, most).await?;
        let mut changed = 0;
        for review in &found {
            let erased = retry_contended(async || {
                let erased = self.try_erase_review(review.id, author, policy).await;
                erased.map_err(TransactionError::into_storage)
            });
            changed += i64::from(erased.await?);
        }
        let products = found.into_iter().map(|review| review.product_id);
        Ok((changed, products.collect()))
    }

    /// One review, with the reports of it: of what is removed nobody decides any more.
    async fn try_erase_review(
        &self,
        id: ReviewId,
        author: &AuthorId,
        policy: ErasurePolicy,
    ) -> Result<bool, TransactionError> {
        let mut session = self.begin().await?;
        let filter = doc! {
            "_id": uuid(id.to_bytes()),
            "author._id": &author.0,
            "schema_version": up_to(REVIEW_VERSION),
        };
        let collection = self.documents(COLLECTION);
        let updated = collection
            .update_one(filter, erase_review(policy))
            .session(&mut session)
            .await?;
        if updated.matched_count == 0 {
            let _ = session.abort_transaction().await;
            self.refuse_newer(id).await?;
            return Ok(false);
        }
        if policy == ErasurePolicy::Remove {
            let reports = self.documents(REPORTS);
            let open = doc! { "_id.r": uuid(id.to_bytes()), "open": true };
            reports
                .update_many(open, doc! { "$set": { "open": false } })
                .hint(Hint::Name("review".to_owned()))
                .session(&mut session)
                .await?;
        }
        commit(&mut session).await?;
        Ok(updated.modified_count == 1)
    }

    /// Deletes what the author's reviews were before. Gives how many versions.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_versions(&self, author: &AuthorId) -> Result<u64, StorageError> {
        self.delete_all(VERSIONS, doc! { "author": &author.0 }, "author")
            .await
    }

    /// Takes some votes of the author away, or makes them nobody's. Gives how many were changed and
    /// the products of the reviews; none when there are no more.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_votes(
        &self,
        author: &AuthorId,
        policy: ErasurePolicy,
        most: u32,
    ) -> Result<(i64, Vec<ProductId>), StorageError> {
        let votes = self.raw(VOTES);
        let find = votes.find(doc! { "_id.u": &author.0 });
        let find = find
            .hint(Hint::Name("voter".to_owned()))
            .limit(i64::from(most));
        let rows: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let (mut changed, mut products) = (0, Vec::with_capacity(rows.len()));
        for row in &rows {
            let fields = Fields::of(VOTES, row);
            products.push(ProductId::from_bytes(fields.id("product_id")?));
            let erased = retry_contended(async || {
                let erased = self.try_erase_vote(&fields, policy).await;
                erased.map_err(TransactionError::into_storage)
            });
            changed += i64::from(erased.await?);
        }
        Ok((changed, products))
    }

    async fn try_erase_vote(
        &self,
        row: &Fields<'_>,
        policy: ErasurePolicy,
    ) -> Result<bool, TransactionError> {
        let id = row.doc("_id")?;
        let reviewed = ReviewId::from_bytes(id.id("r")?);
        let (review, voter) = (uuid(reviewed.to_bytes()), id.string("u")?);
        let key = doc! { "_id": { "r": review.clone(), "u": voter } };
        let mut session = self.begin().await?;
        let votes = self.documents(VOTES);
        let gone = votes.find_one_and_delete(key).session(&mut session).await?;
        let Some(gone) = gone else {
            commit(&mut session).await?;
            return Ok(false);
        };
        match policy {
            ErasurePolicy::Anonymize => {
                let kept = nameless(gone, &review);
                votes.insert_one(kept).session(&mut session).await?;
            }
            ErasurePolicy::Remove => {
                let counter = match gone.get_str("value") {
                    Ok("helpful") => "helpful",
                    _ => "unhelpful",
                };
                let round = gone.get_i32("round").unwrap_or_default();
                let filter = doc! {
                    "_id": review,
                    "round": same_round(round),
                    "schema_version": up_to(REVIEW_VERSION),
                };
                let update = doc! { "$inc": { counter: -1_i64 }, "$set": { "dirty": true } };
                let reviews = self.documents(COLLECTION);
                let updated = reviews.update_one(filter, update).session(&mut session);
                if updated.await?.matched_count == 0 {
                    // Of a round before, it counts nowhere any more.
                    self.refuse_newer(reviewed).await?;
                }
            }
        }
        commit(&mut session).await?;
        Ok(true)
    }

    /// Takes the author out of some replies to reviews. Gives how many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_replies(
        &self,
        author: &AuthorId,
        policy: ErasurePolicy,
    ) -> Result<u64, StorageError> {
        let update = match policy {
            ErasurePolicy::Remove => doc! { "$unset": { "reply": 1 } },
            ErasurePolicy::Anonymize => doc! { "$set": { "reply.by": "" } },
        };
        let collection = self.documents(COLLECTION);
        let updated = collection
            .update_many(doc! { "reply.by": &author.0 }, update)
            .hint(Hint::Name("replied".to_owned()))
            .write_concern(durable());
        Ok(updated.await?.modified_count)
    }

    /// Makes some reports of reviews by the author somebody's: a moderator still looks at them.
    /// Gives how many were found.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_reports(&self, author: &AuthorId, most: u32) -> Result<u64, StorageError> {
        let collection = self.raw(REPORTS);
        let find = collection
            .find(doc! { "_id.u": &author.0 })
            .hint(Hint::Name("reporter".to_owned()))
            .limit(i64::from(most));
        let rows: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        for row in &rows {
            let fields = Fields::of(REPORTS, row);
            retry_contended(async || {
                let erased = self.try_erase_report(&fields).await;
                erased.map_err(TransactionError::into_storage)
            })
            .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn try_erase_report(&self, row: &Fields<'_>) -> Result<(), TransactionError> {
        let id = row.doc("_id")?;
        let review = uuid(id.id("r")?);
        let known = doc! { "_id": { "r": review.clone(), "u": id.string("u")? } };
        let mut session = self.begin().await?;
        let collection = self.documents(REPORTS);
        let gone = collection.find_one_and_delete(known);
        if let Some(gone) = gone.session(&mut session).await? {
            let mut kept = nameless(gone, &review);
            kept.remove("note");
            collection.insert_one(kept).session(&mut session).await?;
        }
        commit(&mut session).await
    }

    /// Deletes the author's purchases. Gives how many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_purchases(&self, author: &AuthorId) -> Result<u64, StorageError> {
        let filter = doc! { "_id.c": &author.0 };
        self.delete_all(PURCHASES, filter, "customer").await
    }

    /// Deletes what is kept to answer the author's repeated orders the same way. Gives how many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_orders(&self, author: &AuthorId) -> Result<u64, StorageError> {
        self.delete_all(MUTATIONS, orders_of(author), "_id_").await
    }

    async fn delete_all(
        &self,
        collection: &str,
        filter: Document,
        index: &str,
    ) -> Result<u64, StorageError> {
        let collection = self.documents(collection);
        let deleted = collection
            .delete_many(filter)
            .hint(Hint::Name(index.to_owned()))
            .write_concern(durable());
        Ok(deleted.await?.deleted_count)
    }

    /// Everything in the database that still names the author, by index. Copies of reviews are looked
    /// for in the products whose reviews were erased: a product carries none but its own.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn residue(&self, author: &AuthorId) -> Result<Residue, StorageError> {
        let own = &author.0;
        let count = async |collection: &str, filter: Document, index: &str| {
            let collection = self.documents(collection);
            let counted = collection
                .count_documents(filter)
                .hint(Hint::Name(index.to_owned()));
            counted.await.map_err(StorageError::from)
        };
        let erasures = self.documents(ERASURES);
        let receipt = erasures.find_one(doc! { "_id": own }).await?;
        let products = receipt.and_then(|mut receipt| receipt.remove("products"));
        let products = products.unwrap_or_else(|| Bson::Array(Vec::new()));
        let carried = doc! { "_id": { "$in": products }, "top_reviews.author._id": own };
        Ok(Residue {
            reviews: count(COLLECTION, doc! { "author._id": own }, "by_author").await?,
            versions: count(VERSIONS, doc! { "author": own }, "author").await?,
            top_reviews: count("products", carried, "_id_").await?,
            votes: count(VOTES, doc! { "_id.u": own }, "voter").await?,
            replies: count(COLLECTION, doc! { "reply.by": own }, "replied").await?,
            reports: count(REPORTS, doc! { "_id.u": own }, "reporter").await?,
            purchases: count(PURCHASES, doc! { "_id.c": own }, "customer").await?,
            orders: count(MUTATIONS, orders_of(author), "_id_").await?,
        })
    }

    /// Some reviews of an author behind this one, in the order of ids, whatever their state.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn page_of_author(
        &self,
        author: &AuthorId,
        after: Option<ReviewId>,
        most: u32,
    ) -> Result<Vec<Review>, StorageError> {
        let mut filter = doc! { "author._id": &author.0 };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": uuid(after.to_bytes()) });
        }
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .sort(doc! { "_id": 1 })
            .hint(Hint::Name("by_author".to_owned()));
        let find = find.limit(i64::from(most)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read).collect()
    }

    /// Some votes of an author behind that on this review, in the order of reviews.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn page_of_votes(
        &self,
        author: &AuthorId,
        after: Option<ReviewId>,
        most: u32,
    ) -> Result<Vec<OwnVote>, StorageError> {
        let mut filter = doc! { "_id.u": &author.0 };
        if let Some(after) = after {
            filter.insert("_id.r", doc! { "$gt": uuid(after.to_bytes()) });
        }
        let sort = doc! { "_id.u": 1, "_id.r": 1 };
        let rows = self.page_rows(VOTES, filter, sort, "voter", most).await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(VOTES, row);
            let vote = Vote::named(fields.str("value")?);
            Ok(OwnVote {
                product: ProductId::from_bytes(fields.id("product_id")?),
                review: ReviewId::from_bytes(fields.doc("_id")?.id("r")?),
                vote: vote.ok_or_else(|| fields.corrupt("value"))?,
                at: fields.date("at")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Some purchases of an author behind that of this product, in the order of products.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn page_of_purchases(
        &self,
        author: &AuthorId,
        after: Option<ProductId>,
        most: u32,
    ) -> Result<Vec<OwnPurchase>, StorageError> {
        let mut filter = doc! { "_id.c": &author.0 };
        if let Some(after) = after {
            filter.insert("_id.p", doc! { "$gt": uuid(after.to_bytes()) });
        }
        let sort = doc! { "_id.c": 1, "_id.p": 1 };
        let rows = self
            .page_rows(PURCHASES, filter, sort, "customer", most)
            .await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(PURCHASES, row);
            Ok(OwnPurchase {
                product: ProductId::from_bytes(fields.doc("_id")?.id("p")?),
                at: fields.date("at")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// What some reviews of an author were before, behind this version, in the order of reviews and
    /// revisions; each with the product and the review.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn page_of_versions(
        &self,
        author: &AuthorId,
        after: Option<(ReviewId, i64)>,
        most: u32,
    ) -> Result<Vec<(ProductId, ReviewId, ReviewVersion)>, StorageError> {
        let mut filter = doc! { "author": &author.0 };
        if let Some((review, revision)) = after {
            let last = doc! { "r": uuid(review.to_bytes()), "n": revision };
            filter.insert("_id", doc! { "$gt": last });
        }
        let sort = doc! { "author": 1, "_id": 1 };
        let rows = self
            .page_rows(VERSIONS, filter, sort, "author", most)
            .await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(VERSIONS, row);
            let review = ReviewId::from_bytes(fields.doc("_id")?.id("r")?);
            let product = ProductId::from_bytes(fields.id("product_id")?);
            Ok((product, review, read_version(fields)?))
        };
        rows.iter().map(read).collect()
    }

    /// Some reports by a reader behind that of this review, in the order of reviews; each with the
    /// review and its product.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn page_of_reports(
        &self,
        reader: &AuthorId,
        after: Option<ReviewId>,
        most: u32,
    ) -> Result<Vec<(ProductId, ReviewId, Report)>, StorageError> {
        let mut filter = doc! { "_id.u": &reader.0 };
        if let Some(after) = after {
            filter.insert("_id.r", doc! { "$gt": uuid(after.to_bytes()) });
        }
        let sort = doc! { "_id.u": 1, "_id.r": 1 };
        let rows = self
            .page_rows(REPORTS, filter, sort, "reporter", most)
            .await?;
        let read = |row: &RawDocumentBuf| {
            let fields = Fields::of(REPORTS, row);
            let review = ReviewId::from_bytes(fields.doc("_id")?.id("r")?);
            let product = ProductId::from_bytes(fields.id("product_id")?);
            Ok((product, review, read_report(fields)?))
        };
        rows.iter().map(read).collect()
    }

    /// Some reviews that somebody replied to for the shop, behind this one, in the order of ids.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn page_of_replies(
        &self,
        writer: &AuthorId,
        after: Option<ReviewId>,
        most: u32,
    ) -> Result<Vec<Review>, StorageError> {
        let mut filter = doc! { "reply.by": &writer.0 };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": uuid(after.to_bytes()) });
        }
        let sort = doc! { "reply.by": 1, "_id": 1 };
        let rows = self
            .page_rows(COLLECTION, filter, sort, "replied", most)
            .await?;
        rows.iter().map(read).collect()
    }

    async fn page_rows(
        &self,
        collection: &str,
        filter: Document,
        sort: Document,
        index: &str,
        most: u32,
    ) -> Result<Vec<RawDocumentBuf>, StorageError> {
        let collection = self.raw(collection);
        let find = collection
            .find(filter)
            .sort(sort)
            .hint(Hint::Name(index.to_owned()));
        let find = find.limit(i64::from(most)).max_time(self.max_time);
        Ok(find.await?.try_collect().await?)
    }
}

/// What becomes of an erased author's review. One that is removed keeps its stars, which nobody
/// sees or counts any more, because every review has some.
fn erase_review(policy: ErasurePolicy) -> Document {
    match policy {
        ErasurePolicy::Anonymize => doc! {
            "$set": { "dirty": true, "erased": true },
            "$unset": { "author": 1, "idempotency": 1 },
            "$inc": { "revision": 1_i64 },
        },
        ErasurePolicy::Remove => doc! {
            "$set": {
                "dirty": true,
                "status": ReviewStatus::Deleted.name(),
                "title": "",
                "body": "",
                "media": [],
                "moderation": [],
                // Nothing is left to verify, and nothing to filter by.
                "verified": false,
                "reports": 0_i64,
                "erased": true,
            },
            "$unset": {
                "author": 1,
                "idempotency": 1,
                "recommended": 1,
                "dimensions": 1,
                "language": 1,
                "traits": 1,
                "marks": 1,
                "reply": 1,
                "queue": 1,
            },
            "$inc": { "revision": 1_i64 },
        },
    }
}

/// The names of orders begin with who gave them and a line break.
fn orders_of(author: &AuthorId) -> Document {
    let (from, to) = (format!("{}\n", author.0), format!("{}\u{b}", author.0));
    doc! { "_id": { "$gte": from, "$lt": to } }
}

fn receipt_document(receipt: &ErasureReceipt) -> Document {
    let mut doc = doc! {
        "schema_version": REFERENCE_VERSION,
        "policy": receipt.policy.name(),
        "started_at": date(receipt.started_at),
        "finished_at": receipt.finished_at.map_or(Bson::Null, date),
        "by": &receipt.by,
    };
    doc.extend(counts_document(&receipt.done));
    doc
}

fn counts_document(counts: &ErasureCounts) -> Document {
    doc! {
        "reviews": counts.reviews,
        "votes": counts.votes,
        "replies": counts.replies,
        "reports": counts.reports,
        "purchases": counts.purchases,
        "orders": counts.orders,
    }
}

/// What somebody said of a review, said by nobody. Blanks cannot begin the subject of a token.
fn nameless(mut said: Document, review: &Bson) -> Document {
    let nobody = format!(" {}", ReviewId::random());
    said.insert("_id", doc! { "r": review.clone(), "u": nobody });
    said
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
            replies: fields.i64("replies")?,
            reports: fields.i64("reports")?,
            purchases: fields.i64("purchases")?,
            orders: fields.i64("orders")?,
        },
    };
    Ok((AuthorId(fields.string("_id")?), receipt))
}
