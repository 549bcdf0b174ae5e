//! Rating numbers: by time, recounted, and repaired.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::Computed;
use vitrine_model::id::{ProductId, random_number};
use vitrine_model::rating::{DimensionStats, Histogram, RatingStats, Recommended};
use vitrine_model::review::{MAX_TOP_REVIEWS, ReviewStatus, TopReview, Traits};

use crate::documents::{PRODUCT_VERSION, review, stats, up_to};
use crate::fold::{dirty_at, dirty_index, month_update};
use crate::raw::{Fields, Read, date, integer, stored_id};
use crate::store::snapshot;
use crate::transaction::{TransactionError, commit};
use crate::{StorageError, Store, leases, products, ranks, reviews};

const MONTHS: &str = "rating_months";
/// How long a repair may take before another process may repair the same product.
const REPAIR_LEASE: Duration = Duration::from_mins(2);
/// How often the short transaction at the end of a repair is tried.
const MAX_REPAIR_TRIES: u32 = 500;
/// The delay between two tries, about the duration of a fold.
const REPAIR_PAUSE: Duration = Duration::from_millis(10);

/// The stored rating numbers of a product, and the numbers recounted from its reviews.
#[derive(Clone, Debug, PartialEq)]
pub struct Recounted {
    /// The product.
    pub product: ProductId,
    /// Whether reviews are still to be folded; differences are expected then.
    pub is_dirty: bool,
    /// The stored numbers.
    pub stored: ReviewTotals,
    /// The numbers of its published reviews.
    pub expected: ReviewTotals,
    /// The contribution of activity to the popularity.
    interest: i64,
}

/// All numbers that are counted from the reviews of a product.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewTotals {
    /// Reviews by stars.
    pub histogram: Histogram,
    /// Recommendations.
    pub recommended: Recommended,
    /// Ratings by dimension.
    pub dimensions: BTreeMap<String, DimensionStats>,
    /// Reviews by traits and stars.
    pub traits: BTreeMap<Traits, Histogram>,
    /// Reviews by month and stars.
    pub months: BTreeMap<i32, Histogram>,
    /// The top reviews, most helpful first.
    pub top: Vec<TopReview>,
    /// The stored values that are derived from the numbers, as text: count, sum and ranks.
    pub derived: String,
    /// Whether it is flagged as large.
    pub large: bool,
}

impl Store {
    /// Returns the monthly histograms of products, from one month to another, both inclusive. One
    /// command.
    pub async fn rating_months(
        &self,
        products: &[ProductId],
        from: i32,
        to: i32,
    ) -> Result<HashMap<ProductId, BTreeMap<i32, Histogram>>, StorageError> {
        let bound =
            |product: &ProductId, month: i32| doc! { "p": stored_id(product.to_i64()), "m": month };
        let range = |product: &ProductId| {
            doc! { "_id": { "$gte": bound(product, from), "$lte": bound(product, to) } }
        };
        let ranges: Vec<Document> = products.iter().map(range).collect();
        if ranges.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<Bson> = products.iter().map(|id| stored_id(id.to_i64())).collect();
        let kept = doc! { "$gte": from, "$lte": to };
        let latest = vec![
            doc! { "$match": { "_id": { "$in": ids }, "stats.latest_month.m": kept } },
            doc! { "$project": {
                "_id": { "p": "$_id", "m": "$stats.latest_month.m" },
                "histogram": "$stats.latest_month.histogram",
            } },
        ];
        let pipeline = [
            doc! { "$match": { "$or": ranges } },
            doc! { "$unionWith": { "coll": products::COLLECTION, "pipeline": latest } },
        ];
        let collection = self.documents(MONTHS);
        let found = collection
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()))
            // A fold moves a month from the product to its row.
            .read_concern(snapshot())
            .max_time(self.max_time);
        let found = found.await?.with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let mut all: HashMap<ProductId, BTreeMap<i32, Histogram>> = HashMap::new();
        for doc in &found {
            let (product, month, histogram) = read_month(doc)?;
            let months = all.entry(product).or_default();
            months.entry(month).or_default().change(&histogram, 1);
        }
        Ok(all)
    }

    /// Counts the published reviews of products since an instant, by stars. Covered by the index
    /// `rating`; one command.
    pub async fn ratings_since(
        &self,
        products: &[ProductId],
        since: Timestamp,
    ) -> Result<HashMap<ProductId, Histogram>, StorageError> {
        let ids: Vec<Bson> = products.iter().map(|id| stored_id(id.to_i64())).collect();
        let pipeline = [
            doc! { "$match": {
                "product_id": { "$in": ids },
                "status": ReviewStatus::Published.name(),
                "rating": { "$in": [1, 2, 3, 4, 5] },
                "created_at": { "$gte": date(since) },
            } },
            doc! { "$group": {
                "_id": { "p": "$product_id", "rating": "$rating" },
                "n": { "$sum": 1_i64 },
            } },
        ];
        let collection = self.documents(reviews::COLLECTION);
        let counted = collection
            .aggregate(pipeline)
            .hint(rating_index())
            .max_time(self.max_time);
        let counted = counted.await?.with_type::<RawDocumentBuf>();
        let counted: Vec<RawDocumentBuf> = counted.try_collect().await?;
        let mut all: HashMap<ProductId, Histogram> = HashMap::new();
        for doc in &counted {
            let fields = Fields::of(reviews::COLLECTION, doc);
            let id = fields.doc("_id")?;
            let product = ProductId::from_i64(id.id("p")?);
            let stars = stats::read_stars(&id, "rating")?;
            all.entry(product).or_default().0[stars.index()] += fields.i64("n")?;
        }
        Ok(all)
    }

    /// Recounts the next products after this one, in the order of ids, at most `max`, all in one
    /// snapshot. Reads reviews by the index `rating` and top lists by `helpful`.
    pub async fn recount_products(
        &self,
        after: Option<ProductId>,
        max: u32,
    ) -> Result<Vec<Recounted>, StorageError> {
        let filter = match after {
            Some(after) => doc! { "_id": { "$gt": stored_id(after.to_i64()) } },
            None => Document::new(),
        };
        self.recount_where(filter, max).await
    }

    /// Recounts these products, as [`Store::recount_products`] does.
    pub async fn recount_many(
        &self,
        products: &[ProductId],
    ) -> Result<Vec<Recounted>, StorageError> {
        let ids: Vec<Bson> = products.iter().map(|id| stored_id(id.to_i64())).collect();
        let max = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        self.recount_where(doc! { "_id": { "$in": ids } }, max)
            .await
    }

    async fn recount_where(
        &self,
        filter: Document,
        max: u32,
    ) -> Result<Vec<Recounted>, StorageError> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let read = async {
            let mut session = self.begin().await?;
            let read = self.recount_in(&mut session, filter, max).await;
            // The transaction has written nothing.
            let _ = session.abort_transaction().await;
            read
        };
        read.await.map_err(TransactionError::into_storage)
    }

    async fn recount_in(
        &self,
        session: &mut ClientSession,
        filter: Document,
        max: u32,
    ) -> Result<Vec<Recounted>, TransactionError> {
        let collection = self.raw("products");
        let find = collection
            .find(filter)
            .projection(doc! {
                "stats": 1, "rank": 1, "top_reviews": 1, "outlier": 1,
                "activity": 1,
            })
            .sort(doc! { "_id": 1 })
            .limit(i64::from(max))
            .hint(Hint::Name("_id_".to_owned()));
        let mut cursor = find.session(&mut *session).await?;
        let mut found = Vec::new();
        while let Some(doc) = cursor.next(session).await {
            found.push(doc?);
        }
        let ids = found
            .iter()
            .map(|doc| Fields::of("products", doc).id("_id"));
        let ids: Vec<Bson> = ids.map(|id| Ok(stored_id(id?))).collect::<Read<_>>()?;
        let stale = self.stale_ranks_among(session, &ids).await?;
        let mut all = Vec::with_capacity(found.len());
        for doc in &found {
            let id = ProductId::from_i64(Fields::of("products", doc).id("_id")?);
            all.push(read_stored(doc, stale.contains(&id))?);
        }
        let at: HashMap<ProductId, usize> = all
            .iter()
            .enumerate()
            .map(|(at, one)| (one.product, at))
            .collect();
        self.add_stored_months(session, &ids, &at, &mut all).await?;
        self.add_expected(session, &ids, &at, &mut all).await?;
        let mut tops = self.tops(session, &ids).await?;
        let dirty = self.dirty_among(session, &ids).await?;
        for one in &mut all {
            let computed = Computed {
                stats: RatingStats {
                    histogram: one.expected.histogram,
                    ..RatingStats::default()
                },
                top_reviews: tops.remove(&one.product).unwrap_or_default(),
            };
            one.expected.derived = derived(&stats::derived(&computed, one.interest));
            one.expected.top = computed.top_reviews;
            one.is_dirty = dirty.contains(&one.product);
        }
        Ok(all)
    }

    async fn add_stored_months(
        &self,
        session: &mut ClientSession,
        ids: &[Bson],
        at: &HashMap<ProductId, usize>,
        all: &mut [Recounted],
    ) -> Result<(), TransactionError> {
        let ranges = ids.iter().map(|id| {
            let (first, last) = (doc! { "p": id }, doc! { "p": id, "m": Bson::MaxKey });
            doc! { "_id": { "$gte": first, "$lte": last } }
        });
        let ranges: Vec<Document> = ranges.collect();
        if ranges.is_empty() {
            return Ok(());
        }
        let find = self.raw(MONTHS);
        let find = find.find(doc! { "$or": ranges });
        let mut cursor = find.session(&mut *session).await?;
        while let Some(doc) = cursor.next(session).await {
            let (product, month, histogram) = read_month(&doc?)?;
            if let Some(at) = at.get(&product) {
                let months = &mut all[*at].stored.months;
                months.entry(month).or_default().change(&histogram, 1);
                months.retain(|_, histogram| *histogram != Histogram::default());
            }
        }
        Ok(())
    }

    async fn add_expected(
        &self,
        session: &mut ClientSession,
        ids: &[Bson],
        at: &HashMap<ProductId, usize>,
        all: &mut [Recounted],
    ) -> Result<(), TransactionError> {
        let mut cursor = self
            .documents(reviews::COLLECTION)
            .aggregate(recount_pipeline(ids, "$"))
            .hint(rating_index())
            .session(&mut *session)
            .await?
            .with_type::<RawDocumentBuf>();
        while let Some(doc) = cursor.next(session).await {
            let (product, n, group) = read_group(&doc?)?;
            if let Some(at) = at.get(&product) {
                group.count(n, &mut all[*at].expected);
            }
        }
        for one in all {
            one.expected.large = one.expected.histogram.count() > vitrine_model::fold::LARGE_ABOVE;
        }
        Ok(())
    }

    /// Returns the true top lists of products, each read from the index `helpful`, at most
    /// [`MAX_TOP_REVIEWS`] keys.
    async fn tops(
        &self,
        session: &mut ClientSession,
        ids: &[Bson],
    ) -> Result<HashMap<ProductId, Vec<TopReview>>, TransactionError> {
        let limit = i64::try_from(MAX_TOP_REVIEWS).expect("a short list");
        let top = [
            doc! { "$match": { "status": ReviewStatus::Published.name() } },
            doc! { "$sort": { "helpful": -1, "created_at": -1, "_id": -1 } },
            doc! { "$limit": limit },
        ];
        let pipeline = [
            doc! { "$match": { "_id": { "$in": ids } } },
            doc! { "$project": { "_id": 1 } },
            doc! { "$lookup": {
                "from": reviews::COLLECTION,
                "localField": "_id",
                "foreignField": "product_id",
                "pipeline": top.to_vec(),
                "as": "top",
            } },
            doc! { "$match": { "top": { "$ne": [] } } },
        ];
        let mut cursor = self
            .documents("products")
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()))
            .session(&mut *session)
            .await?
            .with_type::<RawDocumentBuf>();
        let mut tops = HashMap::new();
        while let Some(doc) = cursor.next(session).await {
            let doc = doc?;
            let fields = Fields::of("products", &doc);
            let top = fields.docs("top", |review| Ok(review::read(&review)?.top()))?;
            tops.insert(ProductId::from_i64(fields.id("_id")?), top);
        }
        Ok(tops)
    }

    /// Returns those of these products whose ranks are marked as stale.
    async fn stale_ranks_among(
        &self,
        session: &mut ClientSession,
        ids: &[Bson],
    ) -> Result<HashSet<ProductId>, TransactionError> {
        let mut stale = HashSet::new();
        if ids.is_empty() {
            return Ok(stale);
        }
        let stale_ranks = self.raw(ranks::COLLECTION);
        let find = stale_ranks.find(ranks::rows_of(ids));
        let mut cursor = find.session(&mut *session).await?;
        while let Some(doc) = cursor.next(session).await {
            stale.insert(ranks::read_row(&doc?)?.0);
        }
        Ok(stale)
    }

    /// Returns those of these products that have dirty reviews.
    async fn dirty_among(
        &self,
        session: &mut ClientSession,
        ids: &[Bson],
    ) -> Result<HashSet<ProductId>, TransactionError> {
        let pipeline = [
            doc! { "$match": { "dirty": true, "product_id": { "$in": ids } } },
            doc! { "$group": { "_id": "$product_id" } },
        ];
        let mut cursor = self
            .documents(reviews::COLLECTION)
            .aggregate(pipeline)
            .hint(dirty_index())
            .session(&mut *session)
            .await?
            .with_type::<RawDocumentBuf>();
        let mut dirty = HashSet::new();
        while let Some(doc) = cursor.next(session).await {
            let doc = doc?;
            let id = Fields::of(reviews::COLLECTION, &doc).id("_id")?;
            dirty.insert(ProductId::from_i64(id));
        }
        Ok(dirty)
    }

    /// Repairs the computed data of a product. Its numbers become the sum of what its reviews
    /// record as counted; reviews that record something other than their contents are marked dirty,
    /// so the caller has to fold the product afterwards. Returns false without such a product.
    ///
    /// The reviews are read in one snapshot outside of any transaction, however many there are,
    /// while folds continue. A fold changes the numbers by exactly what it counts, so the error of
    /// the numbers in the snapshot is also their error now. A short transaction subtracts it.
    ///
    /// The repair may be interrupted at any point. Fails with [`StorageError::TakenOver`] when
    /// another process repairs the product.
    pub async fn repair_product(
        &self,
        product: ProductId,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        self.mark_miscounted(product, now).await?;
        let lease = RepairLease {
            name: format!("repair {product}"),
            owner: random_number().to_string(),
        };
        let taken = self.take_lease(&lease.name, &lease.owner, REPAIR_LEASE);
        if taken.await?.owner != lease.owner {
            return Err(StorageError::TakenOver);
        }
        let repaired = self.repair_with_lease(product, &lease, now).await;
        if !matches!(repaired, Ok(true)) {
            let leases = self.documents(leases::COLLECTION);
            let _ = leases.delete_one(lease.filter()).await;
        }
        repaired
    }

    async fn repair_with_lease(
        &self,
        product: ProductId,
        lease: &RepairLease,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let error = self.counting_error(product).await;
        let Some(error) = error.map_err(TransactionError::into_storage)? else {
            return Ok(false);
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let corrected = self.try_correct(product, &error, lease, now).await;
            match corrected.map_err(TransactionError::into_storage) {
                Err(StorageError::Contended(_)) if tries < MAX_REPAIR_TRIES => {
                    tokio::time::sleep(REPAIR_PAUSE).await;
                }
                corrected => return corrected,
            }
        }
    }

    /// Returns whether a product is flagged as having many reviews.
    async fn has_many(&self, product: ProductId) -> Result<bool, StorageError> {
        let flagged = doc! { "_id": stored_id(product.to_i64()), "outlier.many": true };
        let products = self.raw("products");
        let found = products.find_one(flagged).projection(doc! { "_id": 1 });
        Ok(found.max_time(self.max_time).await?.is_some())
    }

    /// Marks reviews as dirty that record something other than their contents as counted.
    async fn mark_miscounted(
        &self,
        product: ProductId,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let many = self.has_many(product).await?;
        let seen = doc! { "$eq": ["$status", ReviewStatus::Published.name()] };
        let flagged = doc! { "$or": [!many, { "$eq": ["$many", true] }] };
        let counted = doc! { "$ne": [{ "$ifNull": ["$applied", Bson::Null] }, Bson::Null] };
        let same = |field: &str| {
            let applied = format!("$applied.{field}");
            let own = format!("${field}");
            doc! { "$eq": [{ "$ifNull": [applied, Bson::Null] }, { "$ifNull": [own, Bson::Null] }] }
        };
        let month = doc! { "$eq": [
            { "$ifNull": ["$applied.month", Bson::Null] },
            { "$ifNull": [crate::fold::month_or_null(), Bson::Null] },
        ] };
        let right = doc! { "$cond": [
            seen,
            { "$and": [counted.clone(), same("rating"), same("recommended"), same("dimensions"), same("traits"), month, flagged] },
            { "$not": [counted] },
        ] };
        let filter = doc! {
            "product_id": stored_id(product.to_i64()),
            "$expr": { "$not": [right] },
        };
        let mark = doc! { "$set": dirty_at(now) };
        self.documents(reviews::COLLECTION)
            .update_many(filter, vec![mark])
            .hint(rating_index())
            .await?;
        Ok(())
    }

    /// Returns the error of the numbers of a product in one snapshot; `None` without such a
    /// product.
    async fn counting_error(
        &self,
        product: ProductId,
    ) -> Result<Option<ReviewTotals>, TransactionError> {
        let mut session = self.client.start_session().snapshot(true).await?;
        let id = stored_id(product.to_i64());
        let mut states = self.fold_states(&mut session, vec![id.clone()]).await?;
        let Some(state) = states.remove(&product) else {
            return Ok(None);
        };
        if state.newer {
            return Err(TransactionError::Storage(StorageError::Newer {
                collection: crate::products::COLLECTION,
                id: product.to_string(),
            }));
        }
        let mut stored = ReviewTotals::of(&state.computed.stats);
        let months = self.raw(MONTHS);
        let find = months.find(months_of(&id));
        let mut cursor = find.session(&mut session).await?;
        while let Some(doc) = cursor.next(&mut session).await {
            let (_, month, histogram) = read_month(&doc?)?;
            let counted = stored.months.entry(month).or_default();
            counted.change(&histogram, 1);
        }
        let mut error = ReviewTotals::default();
        let mut cursor = self
            .documents(reviews::COLLECTION)
            .aggregate(applied_pipeline(&id))
            .hint(rating_index())
            .session(&mut session)
            .await?
            .with_type::<RawDocumentBuf>();
        while let Some(doc) = cursor.next(&mut session).await {
            let (_, n, group) = read_group(&doc?)?;
            group.count(n, &mut error);
        }
        error.change(&stored, -1);
        Ok(Some(error))
    }

    async fn try_correct(
        &self,
        product: ProductId,
        error: &ReviewTotals,
        lease: &RepairLease,
        now: Timestamp,
    ) -> Result<bool, TransactionError> {
        let _write = self.product_write([product]);
        let mut session = self.begin().await?;
        let done = self.correct_in(&mut session, product, error, (lease, now));
        match done.await {
            Ok(true) => commit(&mut session).await.map(|()| true),
            other => {
                // See `try_fold`.
                let _ = session.abort_transaction().await;
                other
            }
        }
    }

    async fn correct_in(
        &self,
        session: &mut ClientSession,
        product: ProductId,
        error: &ReviewTotals,
        (lease, now): (&RepairLease, Timestamp),
    ) -> Result<bool, TransactionError> {
        let id = stored_id(product.to_i64());
        // Written first, so that concurrent folds conflict with the repair and are retried, not the
        // repair.
        let own = doc! { "_id": id.clone(), "schema_version": up_to(PRODUCT_VERSION) };
        let products = self.documents("products");
        let taken = products
            .update_one(own, doc! { "$inc": { "stats.fold_seq": 1_i64 } })
            .session(&mut *session);
        if taken.await?.matched_count == 0 {
            return Ok(false);
        }
        // Two repairs would correct the same error twice.
        let leases = self.documents(leases::COLLECTION);
        let ended = leases.delete_one(lease.filter()).session(&mut *session);
        if ended.await?.deleted_count == 0 {
            return Err(StorageError::TakenOver.into());
        }
        let mut states = self.fold_states(session, vec![id]).await?;
        let Some(mut state) = states.remove(&product) else {
            return Ok(false);
        };
        let mut counted = ReviewTotals::of(&state.computed.stats);
        // The latest month moves from the product to its row, where its error is corrected as well.
        let mut months = error.months.clone();
        for (month, histogram) in &counted.months {
            months.entry(*month).or_default().change(histogram, 1);
        }
        counted.change(error, 1);
        state.computed = Computed {
            stats: RatingStats {
                histogram: counted.histogram,
                recommended: counted.recommended,
                dimensions: counted.dimensions,
                traits: counted.traits,
                latest_month: None,
                fold_seq: state.computed.stats.fold_seq,
                as_of: Some(now),
            },
            top_reviews: self.top_reviews(session, product).await?,
        };
        state.update_outlier(now);
        self.update_each(session, "products", vec![state.update(product)])
            .await?;
        let stale_ranks = state.stale_ranks(product, now).into_iter().collect();
        self.mark_stale_ranks(session, stale_ranks).await?;
        let states = HashMap::from([(product, state)]);
        self.flag_many(session, &states).await?;
        let months = months.iter();
        let months = months.map(|(month, change)| month_update(product, *month, change));
        self.update_each(session, MONTHS, months.collect()).await?;
        Ok(true)
    }
}

/// The lease of one process for the repair of a product.
struct RepairLease {
    name: String,
    owner: String,
}

impl RepairLease {
    /// The filter of the lease, while this process holds it.
    fn filter(&self) -> Document {
        doc! { "_id": &self.name, "owner": &self.owner }
    }
}

impl ReviewTotals {
    /// Returns the numbers, with only the latest month.
    fn of(stats: &RatingStats) -> Self {
        Self {
            histogram: stats.histogram,
            recommended: stats.recommended,
            dimensions: stats.dimensions.clone(),
            traits: stats.traits.clone(),
            months: stats.latest_month.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds the numbers of another one `times` times.
    fn change(&mut self, by: &Self, times: i64) {
        self.histogram.change(&by.histogram, times);
        self.recommended.yes += times * by.recommended.yes;
        self.recommended.no += times * by.recommended.no;
        for (name, change) in &by.dimensions {
            let dimension = self.dimensions.entry(name.clone()).or_default();
            dimension.count += times * change.count;
            dimension.sum += times * change.sum;
        }
        for (traits, change) in &by.traits {
            let alike = self.traits.entry(traits.clone()).or_default();
            alike.change(change, times);
        }
        for (month, change) in &by.months {
            self.months.entry(*month).or_default().change(change, times);
        }
        self.dimensions
            .retain(|_, dimension| *dimension != DimensionStats::default());
        self.traits
            .retain(|_, alike| *alike != Histogram::default());
        self.months
            .retain(|_, month| *month != Histogram::default());
    }
}

/// The counted fields that some reviews have in common.
struct Group {
    rating: vitrine_model::rating::Stars,
    month: Option<i32>,
    recommended: Option<bool>,
    dimensions: Vec<(String, i64)>,
    traits: Traits,
}

impl Group {
    fn count(&self, n: i64, counted: &mut ReviewTotals) {
        counted.histogram.0[self.rating.index()] += n;
        match self.recommended {
            Some(true) => counted.recommended.yes += n,
            Some(false) => counted.recommended.no += n,
            None => {}
        }
        for (name, stars) in &self.dimensions {
            let dimension = counted.dimensions.entry(name.clone()).or_default();
            dimension.count += n;
            dimension.sum += n * stars;
        }
        if self.traits != Traits::default() {
            let alike = counted.traits.entry(self.traits.clone()).or_default();
            alike.0[self.rating.index()] += n;
        }
        if let Some(month) = self.month {
            counted.months.entry(month).or_default().0[self.rating.index()] += n;
        }
    }
}

/// Groups the published reviews of products by all counted fields.
fn recount_pipeline(ids: &[Bson], of: &str) -> Vec<Document> {
    let field = |name: &str| format!("{of}{name}");
    vec![
        doc! { "$match": {
            "product_id": { "$in": ids },
            "status": ReviewStatus::Published.name(),
        } },
        doc! { "$group": {
            "_id": {
                "p": "$product_id",
                "rating": field("rating"),
                "month": crate::fold::month_or_null(),
                "recommended": field("recommended"),
                "dimensions": field("dimensions"),
                "traits": field("traits"),
            },
            "n": { "$sum": 1_i64 },
        } },
    ]
}

fn months_of(product: &Bson) -> Document {
    doc! { "_id": {
        "$gte": { "p": product.clone() },
        "$lte": { "p": product.clone(), "m": Bson::MaxKey },
    } }
}

/// Groups the reviews of a product by what they record as counted.
fn applied_pipeline(product: &Bson) -> Vec<Document> {
    vec![
        doc! { "$match": { "product_id": product, "applied": { "$ne": Bson::Null } } },
        doc! { "$group": {
            "_id": {
                "p": "$product_id",
                "rating": "$applied.rating",
                "month": "$applied.month",
                "recommended": "$applied.recommended",
                "dimensions": "$applied.dimensions",
                "traits": "$applied.traits",
            },
            "n": { "$sum": 1_i64 },
        } },
    ]
}

fn read_group(doc: &RawDocumentBuf) -> Result<(ProductId, i64, Group), StorageError> {
    let fields = Fields::of(reviews::COLLECTION, doc);
    let id = fields.doc("_id")?;
    let month = id.opt_i64("month")?.map(i32::try_from).transpose();
    let mut dimensions = Vec::new();
    if let Some(stored) = id.opt_doc("dimensions")? {
        for entry in stored.entries() {
            let (name, value) = entry?;
            let stars = integer(value).ok_or_else(|| fields.corrupt("dimensions"))?;
            dimensions.push((name.to_owned(), stars));
        }
    }
    let group = Group {
        rating: stats::read_stars(&id, "rating")?,
        month: month.map_err(|_| fields.corrupt("month"))?,
        recommended: id.opt_bool("recommended")?,
        dimensions,
        traits: review::read_traits(&id)?,
    };
    let product = ProductId::from_i64(id.id("p")?);
    Ok((product, fields.i64("n")?, group))
}

fn read_month(doc: &RawDocumentBuf) -> Result<(ProductId, i32, Histogram), StorageError> {
    let fields = Fields::of(MONTHS, doc);
    let id = fields.doc("_id")?;
    let month = i32::try_from(id.i64("m")?).map_err(|_| fields.corrupt("_id.m"))?;
    let histogram = stats::read_histogram(&fields, "histogram")?;
    Ok((ProductId::from_i64(id.id("p")?), month, histogram))
}

fn read_stored(doc: &RawDocumentBuf, stale: bool) -> Result<Recounted, StorageError> {
    let fields = Fields::of("products", doc);
    let stored = stats::read_stats(&fields.doc("stats")?)?;
    let mut whole: Document = doc.try_into().map_err(|_| fields.corrupt("stats"))?;
    let interest = stats::read_activity(&fields)?.interest();
    if stale {
        stats::ignore_stale_ranks(&mut whole, &stored, interest);
    }
    Ok(Recounted {
        product: ProductId::from_i64(fields.id("_id")?),
        is_dirty: false,
        interest,
        stored: ReviewTotals {
            histogram: stored.histogram,
            recommended: stored.recommended,
            dimensions: stored.dimensions,
            traits: stored.traits,
            months: stored.latest_month.into_iter().collect(),
            top: fields.docs("top_reviews", stats::read_top_review)?,
            derived: derived(&whole),
            large: stats::read_outlier(&fields.doc("outlier")?)?.large,
        },
        expected: ReviewTotals::default(),
    })
}

/// Returns the derived values, of a stored product or of fields to be stored.
fn derived(product: &Document) -> String {
    let text = |(outer, field): (&str, &str)| {
        let doc = product.get_document(outer).ok();
        let value = doc.and_then(|doc| doc.get(field));
        let value = value.unwrap_or(&Bson::Null);
        format!("{outer}.{field} {value}")
    };
    let ranks = stats::REVIEW_RANKS
        .iter()
        .map(|(field, _)| ("rank", *field));
    let fields = [("stats", "count"), ("stats", "sum"), ("rank", "stars")];
    let texts: Vec<String> = fields.into_iter().chain(ranks).map(text).collect();
    texts.join(", ")
}

fn rating_index() -> Hint {
    Hint::Name("rating".to_owned())
}
