//! Taking an author out of everything, and giving an author everything they wrote.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::erasure::{ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::review::{Review, ReviewStatus, Vote};

use crate::documents::{REFERENCE_VERSION, put};
use crate::raw::{Fields, date, uuid};
use crate::reviewing::{PURCHASES, REPORTS, VERSIONS, VOTES};
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
    /// Erasures that were begun and not finished, at most so many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn open_erasures(
        &self,
        most: u32,
    ) -> Result<Vec<(AuthorId, ErasureReceipt)>, StorageError> {
        let collection = self.raw(ERASURES);
        let find = collection.find(doc! { "finished_at": Bson::Null });
        let find = find.limit(i64::from(most)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read_receipt).collect()
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

    /// Keeps the receipt of an erasure.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn keep_erasure(
        &self,
        author: &AuthorId,
        receipt: &ErasureReceipt,
    ) -> Result<(), StorageError> {
        let collection = self.documents(ERASURES);
        let kept = collection
            .replace_one(doc! { "_id": &author.0 }, receipt_document(receipt))
            .upsert(true)
            .write_concern(durable());
        kept.await?;
        Ok(())
    }

    /// Takes the author out of some of their reviews, and marks them for the fold. Gives the
    /// products of those that were changed; none when there are no more.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_reviews(
        &self,
        author: &AuthorId,
        policy: ErasurePolicy,
        most: u32,
    ) -> Result<Vec<ProductId>, StorageError> {
        let found = self.page_of_author(author, None, most).await?;
        for review in &found {
            let filter = doc! { "_id": uuid(review.id.to_bytes()), "author._id": &author.0 };
            let collection = self.documents(COLLECTION);
            let updated = collection
                .update_one(filter, erase_review(policy))
                .write_concern(durable());
            updated.await?;
            let versions = self.documents(VERSIONS);
            versions
                .delete_many(doc! { "_id.r": uuid(review.id.to_bytes()) })
                .write_concern(durable())
                .await?;
        }
        Ok(found.into_iter().map(|review| review.product_id).collect())
    }

    /// Takes some votes of the author away: with [`ErasurePolicy::Anonymize`] they stay counted,
    /// as if they had been imported. Gives the products of the reviews, one for each vote.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn erase_votes(
        &self,
        author: &AuthorId,
        policy: ErasurePolicy,
        most: u32,
    ) -> Result<Vec<ProductId>, StorageError> {
        let votes = self.raw(VOTES);
        let find = votes.find(doc! { "_id.u": &author.0 });
        let find = find
            .hint(Hint::Name("voter".to_owned()))
            .limit(i64::from(most));
        let rows: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let mut products = Vec::with_capacity(rows.len());
        for row in &rows {
            products.push(self.erase_vote(row, policy).await?);
        }
        Ok(products)
    }

    async fn erase_vote(
        &self,
        row: &RawDocumentBuf,
        policy: ErasurePolicy,
    ) -> Result<ProductId, StorageError> {
        retry_contended(async || {
            let erased = self.try_erase_vote(row, policy).await;
            erased.map_err(TransactionError::into_storage)
        })
        .await
    }

    async fn try_erase_vote(
        &self,
        row: &RawDocumentBuf,
        policy: ErasurePolicy,
    ) -> Result<ProductId, TransactionError> {
        let fields = Fields::of(VOTES, row);
        let id = fields.doc("_id")?;
        let (review, voter) = (uuid(id.id("r")?), id.string("u")?);
        let product = ProductId::from_bytes(fields.id("product_id")?);
        let mut session = self.begin().await?;
        let votes = self.raw(VOTES);
        let key = doc! { "_id": { "r": review.clone(), "u": voter } };
        let gone = votes.find_one_and_delete(key).session(&mut session).await?;
        if let Some(gone) = gone {
            let fields = Fields::of(VOTES, &gone);
            let counter = match fields.str("value")? {
                "helpful" => "helpful",
                _ => "unhelpful",
            };
            let counters = match policy {
                ErasurePolicy::Remove => doc! { counter: -1_i64 },
                ErasurePolicy::Anonymize => doc! { format!("imported_{counter}"): 1_i64 },
            };
            let filter = doc! { "_id": review, "round": fields.i64("round")? };
            let update = doc! { "$inc": counters, "$set": { "dirty": true } };
            let reviews = self.documents(COLLECTION);
            let updated = reviews.update_one(filter, update);
            updated.session(&mut session).await?;
        }
        commit(&mut session).await?;
        Ok(product)
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
    /// Gives how many.
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
            retry_contended(async || {
                let erased = self.try_erase_report(row).await;
                erased.map_err(TransactionError::into_storage)
            })
            .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn try_erase_report(&self, row: &RawDocumentBuf) -> Result<(), TransactionError> {
        let mut nameless = Document::try_from(row).map_err(|_| StorageError::Corrupt {
            collection: REPORTS,
            id: String::new(),
            field: "document".to_owned(),
        })?;
        let fields = Fields::of(REPORTS, row);
        let id = fields.doc("_id")?;
        let review = uuid(id.id("r")?);
        let known = doc! { "_id": { "r": review.clone(), "u": id.string("u")? } };
        // Blanks cannot be the subject of a token.
        let nobody = format!(" {}", ReviewId::random());
        nameless.insert("_id", doc! { "r": review, "u": nobody });
        nameless.remove("note");
        let mut session = self.begin().await?;
        let collection = self.documents(REPORTS);
        let gone = collection.delete_one(known).session(&mut session).await?;
        if gone.deleted_count == 1 {
            collection
                .insert_one(nameless)
                .session(&mut session)
                .await?;
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

    /// How many products still carry a review of the author among their top reviews. Reads all
    /// products: no index is kept for what is asked so rarely.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn top_reviews_of(&self, author: &AuthorId) -> Result<u64, StorageError> {
        let carried = doc! { "top_reviews.author._id": &author.0 };
        let products = self.documents("products");
        let counted = products.count_documents(carried);
        Ok(counted.hint(Hint::Name("_id_".to_owned())).await?)
    }

    /// Everything in the database that still names the author, by index; of products nothing is
    /// said ([`Store::top_reviews_of`]).
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
        Ok(Residue {
            reviews: count(COLLECTION, doc! { "author._id": own }, "by_author").await?,
            versions: count(VERSIONS, doc! { "author": own }, "author").await?,
            top_reviews: 0,
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
        "reviews": receipt.reviews,
        "votes": receipt.votes,
        "replies": receipt.replies,
        "reports": receipt.reports,
        "purchases": receipt.purchases,
        "orders": receipt.orders,
    };
    put(&mut doc, "by", Some(receipt.by.as_str()));
    doc
}

fn read_receipt(doc: &RawDocumentBuf) -> Result<(AuthorId, ErasureReceipt), StorageError> {
    let fields = Fields::of(ERASURES, doc);
    let policy = ErasurePolicy::named(fields.str("policy")?);
    let receipt = ErasureReceipt {
        policy: policy.ok_or_else(|| fields.corrupt("policy"))?,
        by: fields.string("by")?,
        started_at: fields.date("started_at")?,
        finished_at: fields.opt_date("finished_at")?,
        reviews: fields.i64("reviews")?,
        votes: fields.i64("votes")?,
        replies: fields.i64("replies")?,
        reports: fields.i64("reports")?,
        purchases: fields.i64("purchases")?,
        orders: fields.i64("orders")?,
    };
    Ok((AuthorId(fields.string("_id")?), receipt))
}
