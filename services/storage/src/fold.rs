//! The fold: the transaction that updates the computed data of products from their reviews.
//!
//! In one snapshot it reads reviews that are marked dirty and their products, computes the changes
//! ([`vitrine_model::fold`]), writes products and months, and marks the reviews as counted. It is
//! atomic and idempotent, because each review records what is counted of it. New reviews, and votes
//! ([`crate::votes`]), are counted in the transaction that stores them unless their product is hot.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};

use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::{Computed, FoldOutcome};
use vitrine_model::id::ProductId;
use vitrine_model::product::Outlier;
use vitrine_model::rating::Histogram;
use vitrine_model::review::{MAX_TOP_REVIEWS, Review, ReviewStatus, TopReview};

use crate::claims::{Claim, claim_document};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, REVIEW_VERSION, stats, up_to};
use crate::error::{DUPLICATE_KEY, code};
use crate::ranks::{self, Ranks};
use crate::raw::{Fields, date, one_of, stored_id};
use crate::reviewing::{ReviewedProduct, SubmitOptions, read_reviewed_product};
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::write::MUTATIONS;
use crate::{StorageError, Store, names, products, reviews};

/// The maximum number of reviews that one transaction folds.
pub const MAX_REVIEWS: i64 = 1000;
/// The minimum to which the number of reviews falls after several write conflicts.
const MIN_REVIEWS: i64 = 16;

/// The outcome of a fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// The number of reviews counted.
    pub reviews: usize,
    /// The number of products changed.
    pub products: usize,
    /// The number of reviews that were skipped, because their product does not exist or only a
    /// newer release may write it.
    pub left_alone: usize,
}

/// Reviews that are not counted yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldBacklog {
    /// The number of reviews.
    pub reviews: u64,
    /// When the oldest of them became dirty, if known.
    pub since: Option<Timestamp>,
}

/// The parameters of one try of a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FoldTry {
    /// The maximum number of reviews.
    limit: i64,
    /// Whether it writes the product first, so that concurrent folds of the product conflict at
    /// their beginning and not at their end.
    claims_first: bool,
}

impl FoldTry {
    /// Each try after a write conflict folds a quarter as many reviews: the shorter the
    /// transaction, the fewer votes and edits conflict with it.
    fn nth(nth: u32) -> Self {
        Self {
            limit: (MAX_REVIEWS >> (2 * nth.min(16))).max(MIN_REVIEWS),
            claims_first: nth > 0,
        }
    }
}

impl Store {
    /// Returns at most `max` products after this one that have reviews to fold; none at the end.
    /// Reads only the index of dirty reviews.
    pub async fn products_to_fold(
        &self,
        after: Option<ProductId>,
        max: usize,
    ) -> Result<Vec<ProductId>, StorageError> {
        use futures_util::TryStreamExt as _;
        let mut filter = doc! { "dirty": true };
        if let Some(after) = after {
            filter.insert("product_id", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let collection = self.raw(reviews::COLLECTION);
        let find = collection.find(filter);
        let find = find
            .projection(doc! { "_id": 0, "product_id": 1 })
            .hint(dirty_index());
        let found = find
            .sort(doc! { "dirty": 1, "product_id": 1 })
            .limit(MAX_REVIEWS)
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let id = |doc: &RawDocumentBuf| Fields::of(reviews::COLLECTION, doc).id("product_id");
        let mut ids = found.iter().map(id).collect::<Result<Vec<_>, _>>()?;
        ids.dedup();
        ids.truncate(max);
        Ok(ids.into_iter().map(ProductId::from_i64).collect())
    }

    /// Returns the number of reviews that are not counted yet and the age of the oldest. Reads only
    /// the index of dirty reviews.
    pub async fn fold_backlog(&self) -> Result<FoldBacklog, StorageError> {
        use futures_util::TryStreamExt as _;
        let pipeline = [
            doc! { "$match": { "dirty": true } },
            doc! { "$group": {
                "_id": Bson::Null,
                "reviews": { "$sum": 1_i64 },
                "since": { "$min": "$dirty_since" },
            } },
        ];
        let collection = self.raw(reviews::COLLECTION);
        let found = collection.aggregate(pipeline).hint(dirty_index());
        let found = found.max_time(self.max_time).await?;
        let mut found = found.with_type::<RawDocumentBuf>();
        let Some(doc) = found.try_next().await? else {
            return Ok(FoldBacklog::default());
        };
        let fields = Fields::of(reviews::COLLECTION, &doc);
        Ok(FoldBacklog {
            reviews: u64::try_from(fields.i64("reviews")?).unwrap_or_default(),
            since: fields.opt_date("since")?,
        })
    }

    /// Returns at most `max` products whose reviews have been dirty longest. Reads only the index
    /// of dirty reviews.
    pub async fn products_waiting_longest(&self, max: u32) -> Result<Vec<ProductId>, StorageError> {
        use futures_util::TryStreamExt as _;
        let pipeline = [
            doc! { "$match": { "dirty": true } },
            doc! { "$group": { "_id": "$product_id", "since": { "$min": "$dirty_since" } } },
            doc! { "$sort": { "since": 1 } },
            doc! { "$limit": i64::from(max) },
        ];
        let collection = self.raw(reviews::COLLECTION);
        let found = collection.aggregate(pipeline).hint(dirty_index());
        let found = found.max_time(self.max_time).await?;
        let found = found.with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let id = |doc: &RawDocumentBuf| {
            let id = Fields::of(reviews::COLLECTION, doc).id("_id")?;
            Ok(ProductId::from_i64(id))
        };
        found.iter().map(id).collect()
    }

    /// Counts the dirty reviews that no fold of this release will count: a newer release wrote them
    /// or their products, or their product does not exist. Looks at no more than `max` reviews.
    pub async fn count_unfoldable_reviews(&self, max: u32) -> Result<u64, StorageError> {
        use futures_util::TryStreamExt as _;
        let product = doc! {
            "from": products::COLLECTION,
            "localField": "product_id",
            "foreignField": "_id",
            "pipeline": [
                { "$match": { "schema_version": up_to(PRODUCT_VERSION) } },
                { "$project": { "_id": 1 } },
            ],
            "as": "product",
        };
        let pipeline = [
            doc! { "$match": { "dirty": true } },
            doc! { "$limit": i64::from(max) },
            doc! { "$project": { "schema_version": 1, "product_id": 1 } },
            doc! { "$lookup": product },
            doc! { "$match": { "$or": [
                { "schema_version": { "$gt": REVIEW_VERSION } },
                { "product": [] },
            ] } },
            doc! { "$count": "reviews" },
        ];
        let collection = self.raw(reviews::COLLECTION);
        let found = collection.aggregate(pipeline).hint(dirty_index());
        let found = found.max_time(self.max_time).await?;
        let mut found = found.with_type::<RawDocumentBuf>();
        let Some(doc) = found.try_next().await? else {
            return Ok(0);
        };
        let count = Fields::of(reviews::COLLECTION, &doc).i64("reviews")?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Folds dirty reviews of these products, at most [`MAX_REVIEWS`]: call it until it folds
    /// nothing. Reviews of products that do not exist are not counted and stay dirty.
    ///
    /// # Errors
    /// [`StorageError::Contended`] after too many write conflicts; nothing was changed.
    pub async fn fold(
        &self,
        products: &[ProductId],
        now: Timestamp,
    ) -> Result<Folded, StorageError> {
        let tries = AtomicU32::new(0);
        retry_contended(async || {
            let how = FoldTry::nth(tries.fetch_add(1, Ordering::Relaxed));
            let folded = self.try_fold(products, how, now).await;
            folded.map_err(TransactionError::into_storage)
        })
        .await
    }

    /// Inserts new reviews and counts them in their products in one transaction. Returns false, and
    /// stores nothing, after a duplicate key, a missing product or a write conflict; the reviews
    /// then have to be inserted one by one and folded.
    pub async fn insert_counted_reviews(
        &self,
        reviews: &[(Review, Option<String>)],
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let inserted = self.try_insert_counted(reviews, None, now).await;
        match inserted.map_err(TransactionError::into_storage) {
            Ok(Some(stored)) => Ok(!stored.contains(&false)),
            Ok(None) | Err(StorageError::Contended(_) | StorageError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns for each review whether it was stored: with options, those that are accepted;
    /// otherwise all, or none if one of their products does not exist. Returns `None` after a
    /// duplicate; nothing was stored then.
    pub(crate) async fn try_insert_counted(
        &self,
        reviews: &[(Review, Option<String>)],
        options: Option<&SubmitOptions<'_>>,
        now: Timestamp,
    ) -> Result<Option<Vec<bool>>, TransactionError> {
        let _write = self.product_write(reviews.iter().map(|(review, _)| review.product_id));
        let mut session = self.begin().await?;
        let done = self
            .insert_counted_in(&mut session, reviews, options, now)
            .await;
        match done {
            Ok(Some(stored)) if stored.contains(&true) => {
                commit(&mut session).await?;
                Ok(Some(stored))
            }
            other => {
                // See `try_fold`.
                let _ = session.abort_transaction().await;
                match other {
                    Err(TransactionError::Driver(error)) if code(&error) == Some(DUPLICATE_KEY) => {
                        Ok(None)
                    }
                    other => other,
                }
            }
        }
    }

    async fn insert_counted_in(
        &self,
        session: &mut ClientSession,
        reviews: &[(Review, Option<String>)],
        options: Option<&SubmitOptions<'_>>,
        now: Timestamp,
    ) -> Result<Option<Vec<bool>>, TransactionError> {
        let ids: BTreeSet<ProductId> = reviews.iter().map(|(one, _)| one.product_id).collect();
        let ids = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let mut states = self.fold_states(session, ids).await?;
        if states.values().any(|state| state.newer) {
            // The reviews are then stored uncounted, and the newer release counts them.
            let error = mongodb::error::Error::custom("a product of a newer release");
            return Err(StorageError::Contended(error).into());
        }
        let mut stored = Vec::with_capacity(reviews.len());
        for (review, _) in reviews {
            stored.push(match (states.get(&review.product_id), options) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(state), Some(options)) => (options.accepts)(review, &state.product),
            });
        }
        if !stored.contains(&true) || options.is_none() && stored.contains(&false) {
            return Ok(Some(vec![false; reviews.len()]));
        }
        let accepted = reviews.iter().zip(&stored).filter(|(_, stored)| **stored);
        let reviews: Vec<&(Review, Option<String>)> = accepted.map(|(one, _)| one).collect();
        let mut by_product: BTreeMap<ProductId, Vec<Review>> = BTreeMap::new();
        for (review, _) in &reviews {
            by_product
                .entry(review.product_id)
                .or_default()
                .push(review.clone());
        }
        states.retain(|id, _| by_product.contains_key(id));
        let claims = options.map_or(&[][..], |options| options.claims);
        let is_stored = |claim: &&Claim| reviews.iter().any(|(one, _)| one.id == claim.review);
        let claims = claims.iter().filter(is_stored).map(claim_document);
        // Before the insert, so that the reviews with which a product passes the threshold are stored with the flag.
        let changes = fold_reviews(&mut states, &by_product, now);
        if !self
            .insert_new(session, MUTATIONS, claims.collect())
            .await?
            || !self
                .insert_counted_documents(session, &reviews, &states)
                .await?
        {
            return Ok(None);
        }
        self.write_folded(session, &mut states, changes).await?;
        Ok(Some(stored))
    }

    /// Inserts reviews as counted. Returns false when one of them is a duplicate.
    async fn insert_counted_documents(
        &self,
        session: &mut ClientSession,
        reviews: &[&(Review, Option<String>)],
        states: &HashMap<ProductId, FoldState>,
    ) -> Result<bool, TransactionError> {
        let counted = |(review, digest): &&(Review, Option<String>)| {
            let counted = Review {
                applied: review.contribution(),
                dirty: false,
                ..review.clone()
            };
            let mut doc = crate::documents::review::document(&counted, digest.as_deref());
            let many = states.get(&review.product_id);
            if many.is_some_and(|state| state.outlier.many) {
                doc.insert("many", true);
            }
            doc
        };
        let docs: Vec<Document> = reviews.iter().map(counted).collect();
        let names = reviews.iter().filter_map(|(review, _)| {
            let name = names::of_review(review)?;
            Some(names::review_document(&name, review))
        });
        self.insert_names(session, names.collect()).await?;
        self.insert_new(session, reviews::COLLECTION, docs).await
    }

    /// Inserts documents. Returns false when one of them is a duplicate.
    async fn insert_new(
        &self,
        session: &mut ClientSession,
        collection: &str,
        docs: Vec<Document>,
    ) -> Result<bool, TransactionError> {
        if docs.is_empty() {
            return Ok(true);
        }
        let command = doc! { "insert": collection, "documents": docs, "ordered": true };
        let reply = self.db.run_command(command).session(&mut *session).await?;
        match refused(&reply) {
            None => Ok(true),
            Some(Refused::Duplicates) => Ok(false),
            Some(Refused::Others) => Err(mongodb::error::Error::custom(reply).into()),
        }
    }

    async fn try_fold(
        &self,
        products: &[ProductId],
        how: FoldTry,
        now: Timestamp,
    ) -> Result<Folded, TransactionError> {
        let _write = self.product_write(products.iter().copied());
        let mut session = self.begin().await?;
        let done = self.fold_in(&mut session, products, how, now).await;
        match done {
            Ok(folded) if folded.reviews > 0 => {
                commit(&mut session).await?;
                Ok(folded)
            }
            Ok(folded) => {
                session.abort_transaction().await?;
                Ok(folded)
            }
            Err(error) => {
                // The original error matters more than one of the abort. The server aborts
                // abandoned transactions itself.
                let _ = session.abort_transaction().await;
                Err(error)
            }
        }
    }

    async fn fold_in(
        &self,
        session: &mut ClientSession,
        products: &[ProductId],
        how: FoldTry,
        now: Timestamp,
    ) -> Result<Folded, TransactionError> {
        // After a conflict, the callers fold several products one by one.
        if let [product] = products
            && how.claims_first
        {
            self.claim_product(session, *product).await?;
        }
        let dirty = self.dirty_reviews(session, products, how.limit).await?;
        if dirty.is_empty() {
            return Ok(Folded::default());
        }
        let ids: Vec<Bson> = dirty.keys().map(|id| stored_id(id.to_i64())).collect();
        let mut states = self.fold_states(session, ids).await?;
        // Reviews of these products wait for the newer release.
        states.retain(|_, state| !state.newer);
        let mut folded = Folded {
            left_alone: dirty
                .iter()
                .filter(|(id, _)| !states.contains_key(id))
                .map(|(_, reviews)| reviews.len())
                .sum(),
            ..Folded::default()
        };
        let counted = states.keys().flat_map(|id| &dirty[id]);
        let counted: Vec<Bson> = counted.map(|one| stored_id(one.id.to_i64())).collect();
        folded.products = states.len();
        folded.reviews = counted.len();
        if folded.reviews > 0 {
            self.fold_into(session, &mut states, &dirty, now).await?;
            self.mark_counted(session, counted, &states).await?;
        }
        Ok(folded)
    }

    /// Folds these reviews, which are stored already, into the states of their products and writes
    /// the products.
    pub(crate) async fn fold_into(
        &self,
        session: &mut ClientSession,
        states: &mut HashMap<ProductId, FoldState>,
        reviews: &BTreeMap<ProductId, Vec<Review>>,
        now: Timestamp,
    ) -> Result<(), TransactionError> {
        let changes = fold_reviews(states, reviews, now);
        self.write_folded(session, states, changes).await
    }

    /// Writes products after [`fold_reviews`]. Their reviews are stored already.
    async fn write_folded(
        &self,
        session: &mut ClientSession,
        states: &mut HashMap<ProductId, FoldState>,
        changes: FoldChanges,
    ) -> Result<(), TransactionError> {
        for (id, state) in &mut *states {
            if changes.refill.contains(id) {
                state.computed.top_reviews = self.top_reviews(session, *id).await?;
            }
        }
        let updates = states.iter().map(|(id, state)| state.update(*id)).collect();
        self.update_each(session, products::COLLECTION, updates)
            .await?;
        self.update_each(session, "rating_months", changes.months)
            .await?;
        self.mark_stale_ranks(session, changes.stale_ranks).await?;
        self.flag_many(session, states).await
    }

    /// Writes a product as the first operation of a transaction, without changing what is read of
    /// it: from then on, other transactions that write the product conflict immediately.
    pub(crate) async fn claim_product(
        &self,
        session: &mut ClientSession,
        product: ProductId,
    ) -> Result<(), TransactionError> {
        let filter = doc! {
            "_id": stored_id(product.to_i64()),
            "schema_version": up_to(PRODUCT_VERSION),
        };
        let collection = self.documents(products::COLLECTION);
        let claim = doc! { "$inc": { "stats.fold_seq": 1_i64 } };
        collection
            .update_one(filter, claim)
            .session(&mut *session)
            .await?;
        Ok(())
    }

    async fn dirty_reviews(
        &self,
        session: &mut ClientSession,
        products: &[ProductId],
        limit: i64,
    ) -> Result<BTreeMap<ProductId, Vec<Review>>, TransactionError> {
        let ids: Vec<Bson> = products.iter().map(|id| stored_id(id.to_i64())).collect();
        // Reviews of a newer version wait for the newer release.
        let filter = doc! {
            "dirty": true,
            "product_id": { "$in": ids },
            "schema_version": up_to(REVIEW_VERSION),
        };
        let collection = self.raw(reviews::COLLECTION);
        let find = collection.find(filter).hint(dirty_index()).limit(limit);
        let mut cursor = find.session(&mut *session).await?;
        let mut dirty: BTreeMap<ProductId, Vec<Review>> = BTreeMap::new();
        while let Some(doc) = cursor.next(session).await {
            let review = reviews::read(&doc?)?;
            dirty.entry(review.product_id).or_default().push(review);
        }
        Ok(dirty)
    }

    pub(crate) async fn fold_states(
        &self,
        session: &mut ClientSession,
        ids: Vec<Bson>,
    ) -> Result<HashMap<ProductId, FoldState>, TransactionError> {
        let projection = doc! {
            "schema_version": 1, "stats": 1, "top_reviews": 1, "outlier": 1, "rank": 1,
            "activity": 1, "status": 1, "kind": 1, "category": 1,
        };
        let collection = self.raw("products");
        let find = collection
            .find(doc! { "_id": one_of(ids) })
            .projection(projection);
        let mut cursor = find.session(&mut *session).await?;
        let mut states = HashMap::new();
        while let Some(doc) = cursor.next(session).await {
            let doc = doc?;
            let id = Fields::of(products::COLLECTION, &doc).id("_id")?;
            states.insert(ProductId::from_i64(id), FoldState::read(&doc)?);
        }
        Ok(states)
    }

    /// Returns the true list of top reviews, from the index `helpful`.
    pub(crate) async fn top_reviews(
        &self,
        session: &mut ClientSession,
        product: ProductId,
    ) -> Result<Vec<TopReview>, TransactionError> {
        let published = ReviewStatus::Published.name();
        let filter = doc! { "product_id": stored_id(product.to_i64()), "status": published };
        let sort = doc! { "helpful": -1, "created_at": -1, "_id": -1 };
        let collection = self.raw(reviews::COLLECTION);
        let find = collection.find(filter).sort(sort);
        let limit = i64::try_from(MAX_TOP_REVIEWS).expect("a short list");
        let find = find.hint(Hint::Name("helpful".to_owned())).limit(limit);
        let mut cursor = find.session(&mut *session).await?;
        let mut top = Vec::with_capacity(MAX_TOP_REVIEWS);
        while let Some(doc) = cursor.next(session).await {
            top.push(reviews::read(&doc?)?.top());
        }
        Ok(top)
    }

    pub(crate) async fn update_each(
        &self,
        session: &mut ClientSession,
        collection: &str,
        updates: Vec<Document>,
    ) -> Result<(), TransactionError> {
        if updates.is_empty() {
            return Ok(());
        }
        let command = doc! { "update": collection, "updates": updates };
        let reply = self.db.run_command(command).session(&mut *session).await?;
        let Some(refused) = refused(&reply) else {
            return Ok(());
        };
        let error = mongodb::error::Error::custom(reply);
        match refused {
            // Two writers inserted the same document concurrently.
            Refused::Duplicates => Err(StorageError::Contended(error).into()),
            Refused::Others => Err(error.into()),
        }
    }

    /// Marks ranks as stale ([`FoldState::stale_ranks`]); a worker updates them
    /// ([`Store::move_ranks`]). An update in a transaction that moves any index entry costs six times as
    /// much: mongod then reads the catalog entry of the collection twice for each of its indexes.
    pub(crate) async fn mark_stale_ranks(
        &self,
        session: &mut ClientSession,
        marks: Vec<Document>,
    ) -> Result<(), TransactionError> {
        if marks.is_empty() {
            return Ok(());
        }
        let stale_ranks = self.documents(ranks::COLLECTION);
        stale_ranks
            .insert_many(marks)
            .session(&mut *session)
            .await?;
        Ok(())
    }

    /// Flags the earlier reviews of products that have just passed the threshold for many reviews, so
    /// that filtered lists find them in their partial indexes. Uncounted reviews without the flag get
    /// it when they are counted. A product below the threshold has only few reviews to filter.
    pub(crate) async fn flag_many(
        &self,
        session: &mut ClientSession,
        states: &HashMap<ProductId, FoldState>,
    ) -> Result<(), TransactionError> {
        let becomes_many = states.iter().filter(|(_, state)| state.becomes_many);
        let becomes_many: Vec<Bson> = becomes_many.map(|(id, _)| stored_id(id.to_i64())).collect();
        if becomes_many.is_empty() {
            return Ok(());
        }
        let counted = doc! {
            "product_id": { "$in": becomes_many },
            "applied": { "$exists": true },
            "many": { "$exists": false },
        };
        let reviews = self.documents(reviews::COLLECTION);
        reviews
            .update_many(counted, doc! { "$set": { "many": true } })
            .hint(Hint::Name("author".to_owned()))
            .session(&mut *session)
            .await?;
        Ok(())
    }

    /// Marks reviews as counted with their current contents. No other write can have changed them
    /// since they were read in this transaction, so the server copies the fields itself.
    async fn mark_counted(
        &self,
        session: &mut ClientSession,
        ids: Vec<Bson>,
        states: &HashMap<ProductId, FoldState>,
    ) -> Result<(), TransactionError> {
        let published = doc! { "$eq": ["$status", ReviewStatus::Published.name()] };
        let counted = doc! {
            "rating": "$rating",
            "month": month_expression(),
            "recommended": "$recommended",
            "dimensions": "$dimensions",
            "traits": "$traits",
        };
        let applied = doc! { "$cond": [published, counted, "$$REMOVE"] };
        let mut pipeline = vec![
            doc! { "$set": { "applied": applied } },
            doc! { "$unset": ["dirty", "dirty_since"] },
        ];
        let many = states.iter().filter(|(_, state)| state.outlier.many);
        let many: Vec<Bson> = many.map(|(id, _)| stored_id(id.to_i64())).collect();
        if !many.is_empty() {
            let is_many = doc! { "$in": ["$product_id", many] };
            let flag = doc! { "$cond": [is_many, true, "$$REMOVE"] };
            pipeline.push(doc! { "$set": { "many": flag } });
        }
        let collection = self.documents(reviews::COLLECTION);
        let products = states.keys().map(|id| stored_id(id.to_i64()));
        let products: Vec<Bson> = products.collect();
        let these = doc! { "_id": { "$in": ids }, "product_id": { "$in": products } };
        let update = collection.update_many(these, pipeline);
        let update = update.hint(Hint::Name("_id_".to_owned()));
        update.session(session).await?;
        Ok(())
    }
}

/// The fields of a product that the fold reads and writes.
pub(crate) struct FoldState {
    pub(crate) computed: Computed,
    pub(crate) outlier: Outlier,
    /// The stored ranks of the product.
    ranks: Ranks,
    /// The contribution of activity to the popularity.
    interest: i64,
    /// Whether only a newer release may write it.
    pub(crate) newer: bool,
    /// Whether it has just passed the threshold for many reviews.
    becomes_many: bool,
    /// What decides which reviews the product accepts, as it was read.
    pub(crate) product: ReviewedProduct,
    /// The top reviews as they were read.
    stored_top_reviews: Vec<TopReview>,
}

impl FoldState {
    fn read(stored: &RawDocumentBuf) -> Result<Self, StorageError> {
        let fields = Fields::of(products::COLLECTION, stored);
        let computed = Computed {
            stats: stats::read_stats(&fields.doc("stats")?)?,
            top_reviews: fields.docs("top_reviews", stats::read_top_review)?,
        };
        let product = read_reviewed_product(&fields)?;
        Ok(Self {
            stored_top_reviews: computed.top_reviews.clone(),
            computed,
            outlier: product.outlier,
            product,
            ranks: Ranks::read(&fields.doc("rank")?)?,
            interest: stats::read_activity(&fields)?.interest(),
            newer: products::not_newer(stored).is_err(),
            becomes_many: false,
        })
    }

    /// Updates the outlier flags from the numbers.
    pub(crate) fn update_outlier(&mut self, now: Timestamp) {
        self.becomes_many = self.computed.is_many() && !self.outlier.many;
        self.outlier.many |= self.becomes_many;
        self.outlier
            .update_after_fold(self.computed.is_large(), now);
    }

    /// Returns the update of the product. It changes no indexed field; stale ranks are only marked
    /// ([`FoldState::stale_ranks`]). Top reviews and flags are written only when they change: most
    /// reviews change neither, and the top reviews are most of the update.
    pub(crate) fn update(&self, id: ProductId) -> Document {
        let mut set = doc! { "stats": stats::stats(&self.computed.stats) };
        if self.stored_top_reviews != self.computed.top_reviews {
            set.insert("top_reviews", stats::top_reviews(&self.computed));
        }
        if self.product.outlier != self.outlier {
            set.insert("outlier", stats::outlier(&self.outlier));
        }
        doc! { "q": { "_id": stored_id(id.to_i64()) }, "u": { "$set": set } }
    }

    /// Returns the mark of stale ranks, if they are.
    pub(crate) fn stale_ranks(&self, id: ProductId, now: Timestamp) -> Option<Document> {
        let is_stale = Ranks::of(&self.computed.stats, self.interest) != self.ranks;
        is_stale.then(|| ranks::stale_row(id, self.computed.stats.fold_seq, now))
    }
}

/// What a fold changes beside the states of products.
struct FoldChanges {
    /// The products whose top reviews have to be read.
    refill: BTreeSet<ProductId>,
    months: Vec<Document>,
    stale_ranks: Vec<Document>,
}

/// Folds reviews into the states of their products.
fn fold_reviews(
    states: &mut HashMap<ProductId, FoldState>,
    reviews: &BTreeMap<ProductId, Vec<Review>>,
    now: Timestamp,
) -> FoldChanges {
    let mut refill = BTreeSet::new();
    let (mut months, mut stale_ranks) = (Vec::new(), Vec::new());
    for (id, state) in states {
        let ratings = state.computed.stats.histogram;
        let outcome = state.computed.fold(&reviews[id], now);
        if outcome.refill {
            refill.insert(*id);
        }
        state.update_outlier(now);
        months.extend(month_updates(*id, &outcome));
        // Votes and edits of texts change no rank.
        if state.computed.stats.histogram != ratings {
            stale_ranks.extend(state.stale_ranks(*id, now));
        }
    }
    FoldChanges {
        refill,
        months,
        stale_ranks,
    }
}

/// Why writes of a command were refused.
enum Refused {
    /// All of them are duplicates.
    Duplicates,
    /// Some have another reason.
    Others,
}

/// Returns why writes were refused, if some were.
fn refused(reply: &Document) -> Option<Refused> {
    let refused = reply.get_array("writeErrors").ok()?;
    let is_duplicate = |refused: &Bson| {
        let refused = refused.as_document();
        refused.and_then(|refused| refused.get_i32("code").ok()) == Some(DUPLICATE_KEY)
    };
    Some(if refused.iter().all(is_duplicate) {
        Refused::Duplicates
    } else {
        Refused::Others
    })
}

/// An expression for the month number, as [`Timestamp::month`] returns it; absent without a date.
fn month_expression() -> Document {
    month_expression_or(Bson::from("$$REMOVE"))
}

/// The same expression, null without a date.
pub(crate) fn month_or_null() -> Document {
    month_expression_or(Bson::Null)
}

fn month_expression_or(undated: Bson) -> Document {
    let months = doc! { "$add": [
        { "$multiply": [{ "$year": "$created_at" }, 12] },
        { "$month": "$created_at" },
        -1,
    ] };
    let dated = doc! { "$eq": [{ "$type": "$created_at" }, "date"] };
    doc! { "$cond": [dated, months, undated] }
}

fn month_updates(product: ProductId, outcome: &FoldOutcome) -> Vec<Document> {
    outcome
        .months
        .iter()
        .map(|(month, change)| month_update(product, *month, change))
        .collect()
}

pub(crate) fn month_update(product: ProductId, month: i32, change: &Histogram) -> Document {
    let added = |n: usize| doc! { "$add": [{ "$arrayElemAt": ["$$old", Bson::Int32(i32::try_from(n).expect("below 5"))] }, change.0[n]] };
    let sums: Vec<Bson> = (0..5).map(|n| Bson::Document(added(n))).collect();
    let zeros = vec![Bson::Int64(0); 5];
    let histogram =
        doc! { "$let": { "vars": { "old": { "$ifNull": ["$histogram", zeros] } }, "in": sums } };
    let set = doc! { "$set": { "schema_version": REFERENCE_VERSION, "histogram": histogram } };
    let id = doc! { "p": stored_id(product.to_i64()), "m": month };
    doc! { "q": { "_id": id }, "u": [set], "upsert": true }
}

/// The fields that mark a review as dirty, for an update pipeline; an existing `dirty_since` is
/// kept.
pub(crate) fn dirty_at(now: Timestamp) -> Document {
    doc! { "dirty": true, "dirty_since": { "$ifNull": ["$dirty_since", date(now)] } }
}

/// The index `{dirty, product_id, dirty_since}`, partial on dirty reviews.
pub(crate) fn dirty_index() -> Hint {
    Hint::Name("waiting".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_after_a_conflict_are_smaller() {
        let limits: Vec<i64> = (0..8).map(|nth| FoldTry::nth(nth).limit).collect();
        assert_eq!(limits, [1000, 250, 62, 16, 16, 16, 16, 16]);
        assert!(!FoldTry::nth(0).claims_first && FoldTry::nth(1).claims_first);
    }
}
