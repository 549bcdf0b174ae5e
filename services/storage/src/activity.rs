//! Views, carts and purchases in buckets.
//!
//! A process stores its counts as one document with a new id, so that inserting it twice has no
//! effect and processes never conflict. One worker adds these batches to buckets, one per product
//! and hour and one per product and day, in the transaction that closes the batches. Each event is
//! therefore counted exactly once, whichever process dies at whatever time. A sale is a document of
//! its own, identified by product and order. It records whether it has been counted, and is counted
//! in the same way, in the product as well.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use mongodb::{ClientSession, Cursor};
use vitrine_model::activity::{
    ActivityCounts, ActivityKey, DAY_MILLIS, DAYS_KEPT_DAYS, HOUR_MILLIS, HOURS_KEPT_DAYS,
    SampledCounts, TrendingWindow, day, hour,
};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{ProductId, random_number};

use crate::audit::{Audit, Difference};
use crate::documents::{REFERENCE_VERSION, up_to};
use crate::durability::weak;
use crate::raw::{Fields, Read, date, stored_id};
use crate::sorted_rows::SortedRows;
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::{StorageError, Store, products};

const HOURS: &str = "activity";
const DAYS: &str = "activity_days";
pub(crate) const BATCHES: &str = "activity_handed";
const SALES: &str = "sales";

/// The maximum number of buckets written with one command.
const MAX_UPDATES: usize = 1_000;
/// The approximate maximum number of daily buckets that one transaction writes.
const MAX_DAILY_BUCKETS: usize = 10_000;
/// How long the id of a batch is remembered: far longer than its insert is retried.
const BATCH_ID_MILLIS: i64 = DAY_MILLIS;

/// The counts of a process since its last batch.
#[derive(Clone, Debug)]
pub struct ActivityBatch {
    id: i64,
    rows: Vec<(ActivityKey, SampledCounts)>,
}

impl ActivityBatch {
    /// Creates a batch with a new id.
    #[must_use]
    pub fn new(rows: Vec<(ActivityKey, SampledCounts)>) -> Self {
        Self {
            id: random_number(),
            rows,
        }
    }

    /// Returns the number of rows, one for each product and hour.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the batch has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A sale of a product.
#[derive(Clone, Debug)]
pub struct Sale {
    /// The product.
    pub product: ProductId,
    /// The id of the order, or a stand-in for it.
    pub order: String,
    /// The number of pieces sold.
    pub quantity: i64,
    /// When it was sold.
    pub at: Timestamp,
}

/// The outcome of filling buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledBuckets {
    /// The number of batches.
    pub batches: usize,
    /// The number of sales.
    pub sales: usize,
    /// The products concerned.
    pub products: BTreeSet<ProductId>,
    /// Whether there may be more to count.
    pub more: bool,
}

/// The resolution of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// One bucket per hour.
    Hour,
    /// One bucket per day.
    Day,
}

impl Resolution {
    const fn collection(self) -> &'static str {
        match self {
            Self::Hour => HOURS,
            Self::Day => DAYS,
        }
    }

    /// The name of the time in the id of a bucket.
    const fn part(self) -> &'static str {
        match self {
            Self::Hour => "h",
            Self::Day => "d",
        }
    }

    const fn millis(self) -> i64 {
        match self {
            Self::Hour => HOUR_MILLIS,
            Self::Day => DAY_MILLIS,
        }
    }

    const fn lifetime_millis(self) -> i64 {
        match self {
            Self::Hour => HOURS_KEPT_DAYS * DAY_MILLIS,
            Self::Day => DAYS_KEPT_DAYS * DAY_MILLIS,
        }
    }
}

/// A bucket of activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The beginning of the bucket.
    pub at: Timestamp,
    /// The counts.
    pub counted: SampledCounts,
}

/// The activity around a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// The product.
    pub product: ProductId,
    /// The counts of today and the 30 days before.
    pub counts: ActivityCounts,
    /// The weighted activity of each of [`TrendingWindow::ALL`], with exponential decay.
    pub scores: [f64; 3],
}

/// A cursor over products with activity, in the order of their ids.
#[derive(Debug)]
pub struct AttentionCursor {
    found: mongodb::Cursor<RawDocumentBuf>,
}

impl AttentionCursor {
    /// Returns the next products, at most `max`; fewer at the end.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; the cursor cannot be used any more.
    pub async fn next(&mut self, max: usize) -> Result<Vec<Attention>, StorageError> {
        let mut some = Vec::with_capacity(max);
        while some.len() < max {
            let Some(doc) = self.found.try_next().await? else {
                break;
            };
            some.push(read_attention(&Fields::of(DAYS, &doc))?);
        }
        Ok(some)
    }
}

impl Store {
    /// Inserts a batch of counts. Idempotent, so safe to retry.
    pub async fn insert_activity_batch(
        &self,
        batch: &ActivityBatch,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let row = |((product, hour), counted): &(ActivityKey, SampledCounts)| {
            let mut row = doc! { "p": stored_id(product.to_i64()), "h": date(*hour) };
            let counts = counted.counts;
            for (field, count) in [("v", counts.views), ("c", counts.carts)] {
                if count != 0 {
                    row.insert(field, count);
                }
            }
            if counted.one_in > 1 {
                row.insert("k", counted.one_in);
            }
            row
        };
        let doc = doc! {
            "_id": batch.id,
            "schema_version": REFERENCE_VERSION,
            "at": date(now),
            "open": true,
            "rows": batch.rows.iter().map(row).collect::<Vec<_>>(),
        };
        let collection = self.documents(BATCHES);
        let inserted = collection.insert_one(doc).write_concern(weak()).await;
        match inserted.map_err(StorageError::from) {
            // It was inserted before, and the reply was lost. The id is remembered for a day after
            // the batch was counted.
            Err(StorageError::Conflict { .. }) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Returns those of these products that are on sale.
    pub async fn products_on_sale(
        &self,
        ids: &[ProductId],
    ) -> Result<HashSet<ProductId>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": ids }, "status": "active" })
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        self.product_ids(find).await
    }

    /// Stores a sale, to be counted shortly afterwards. Returns whether it is new. Idempotent, so
    /// safe to retry.
    pub async fn insert_sale(&self, sale: &Sale) -> Result<bool, StorageError> {
        let fields = doc! { "units": sale.quantity, "at": date(sale.at) };
        self.insert_due(SALES, key(sale), fields).await
    }

    /// Returns whether a product has uncounted sales. One command, over an index.
    pub async fn has_uncounted_sales(&self, product: ProductId) -> Result<bool, StorageError> {
        let product = stored_id(product.to_i64());
        let of =
            doc! { "$gte": { "p": product.clone() }, "$lt": { "p": product, "o": Bson::MaxKey } };
        let sales = self.documents(SALES);
        let found = sales
            .find_one(doc! { "due": true, "_id": of })
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("due".to_owned()));
        Ok(found.max_time(self.max_time).await?.is_some())
    }

    /// Adds some batches and sales to the buckets; does nothing when there are none.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails or after too many write conflicts. Either all was
    /// changed or nothing.
    pub async fn fill_buckets(
        &self,
        now: Timestamp,
        max_batches: u32,
        max_sales: u32,
    ) -> Result<FilledBuckets, StorageError> {
        let collection = self.raw(BATCHES);
        // A batch of a newer release may contain fields that this release does not know.
        let find = collection
            .find(doc! { "open": true, "schema_version": up_to(REFERENCE_VERSION) })
            .hint(Hint::Name("open".to_owned()))
            .limit(i64::from(max_batches));
        let batches: Vec<RawDocumentBuf> =
            find.max_time(self.max_time).await?.try_collect().await?;
        let (sold, more_sold) = self.due_rows(SALES, max_sales, read_sale).await?;
        if batches.is_empty() && sold.is_empty() {
            return Ok(FilledBuckets::default());
        }
        let mut filling = BucketFill::new(now);
        let mut taken = 0;
        for doc in &batches {
            if filling.days.len() >= MAX_DAILY_BUCKETS {
                // The rest is left to the next transaction.
                break;
            }
            taken += 1;
            if let Err(error) = filling.read_batch(doc) {
                // It does not block the others.
                tracing::error!(%error, "a batch of activity counts cannot be read");
            }
        }
        for sale in &sold {
            filling.sold(sale);
        }
        let more_batches = taken < batches.len() || taken >= max_batches as usize;
        let filled = self.fill(filling).await?;
        Ok(FilledBuckets {
            more: more_batches || more_sold || filled.more,
            ..filled
        })
    }

    /// Fills buckets in one transaction; bisects the work when the transaction fails.
    async fn fill(&self, filling: BucketFill) -> Result<FilledBuckets, StorageError> {
        let filled = retry_contended(async || {
            let filled = self.try_fill(&filling).await;
            filled.map_err(TransactionError::into_storage)
        });
        match filled.await {
            Err(
                StorageError::Contended(_) | StorageError::Timeout(_) | StorageError::Driver(_),
            ) if filling.is_divisible() => {
                let (one, other) = filling.halves();
                let one = Box::pin(self.fill(one)).await;
                let other = Box::pin(self.fill(other)).await?;
                one.map(|one| FilledBuckets {
                    batches: one.batches + other.batches,
                    sales: one.sales + other.sales,
                    products: one.products.into_iter().chain(other.products).collect(),
                    more: one.more || other.more,
                })
            }
            filled => filled,
        }
    }

    async fn try_fill(&self, filling: &BucketFill) -> Result<FilledBuckets, TransactionError> {
        let _write = self.product_write(filling.sold.keys().copied());
        let mut session = self.begin().await?;
        match self.fill_in(&mut session, filling).await {
            Ok(true) => commit(&mut session).await.map(|()| filling.done()),
            other => {
                let _ = session.abort_transaction().await;
                // Another process was faster, or a batch that was acknowledged by one member only
                // is not yet in the snapshot of the transaction: the next run finds out.
                other.map(|_| FilledBuckets {
                    more: true,
                    ..FilledBuckets::default()
                })
            }
        }
    }

    /// Returns whether everything was still there to be counted.
    async fn fill_in(
        &self,
        session: &mut ClientSession,
        filling: &BucketFill,
    ) -> Result<bool, TransactionError> {
        if !filling.batches.is_empty() {
            let ids: Vec<&Bson> = filling.batches.iter().map(|batch| &batch.id).collect();
            let these = doc! { "_id": { "$in": ids }, "open": true };
            let until = filling.now.plus_millis(BATCH_ID_MILLIS);
            // The closed batch is kept for a while, because its insert may be retried.
            let close = doc! {
                "$unset": { "open": 1, "rows": 1 },
                "$set": { "expires_at": date(until) },
            };
            let batches = self.documents(BATCHES);
            let closed = batches.update_many(these, close);
            let closed = closed.session(&mut *session).await?;
            if closed.modified_count != filling.batches.len() as u64 {
                return Ok(false);
            }
        }
        if !filling.sales.is_empty() {
            let ids = filling.sales.iter().map(key).collect();
            if !self.apply_counted(session, SALES, ids).await? {
                return Ok(false);
            }
        }
        for resolution in [Resolution::Hour, Resolution::Day] {
            let updates = filling.buckets(resolution);
            for some in updates.chunks(MAX_UPDATES) {
                self.update_each(session, resolution.collection(), some.to_vec())
                    .await?;
            }
        }
        self.apply_units(session, "sales", &filling.sold, filling.now)
            .await?;
        Ok(true)
    }

    /// Counts the batches and sales that are not in buckets yet, up to 10,000 sales.
    pub async fn count_unbucketed(&self) -> Result<u64, StorageError> {
        let open = self.raw(BATCHES);
        let open = open
            .count_documents(doc! { "open": true, "schema_version": up_to(REFERENCE_VERSION) })
            .hint(Hint::Name("open".to_owned()));
        let batches = open.max_time(self.max_time).await?;
        let sales = self.raw(SALES);
        let uncounted = sales
            .count_documents(doc! { "due": true })
            .hint(Hint::Name("due".to_owned()))
            .limit(10_000);
        Ok(batches + uncounted.max_time(self.max_time).await?)
    }

    /// Returns the buckets of a product from an instant (inclusive) to another (exclusive), in
    /// order; hours or days without activity have none. One command, by the index on ids.
    pub async fn buckets(
        &self,
        product: ProductId,
        (from, to): (Timestamp, Timestamp),
        resolution: Resolution,
    ) -> Result<Vec<Bucket>, StorageError> {
        let id =
            |at: Timestamp| doc! { "p": stored_id(product.to_i64()), resolution.part(): date(at) };
        let range = doc! { "_id": { "$gte": id(from), "$lt": id(to) } };
        let collection = self.raw(resolution.collection());
        let find = collection
            .find(range)
            .sort(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(resolution.collection(), doc);
            Ok(Bucket {
                at: fields.doc("_id")?.date(resolution.part())?,
                counted: SampledCounts {
                    counts: read_counts(&fields)?,
                    one_in: fields.opt_i64("one_in")?.unwrap_or(1),
                },
            })
        };
        found.iter().map(read).collect()
    }

    /// Aggregates the weighted activity of all products, halved for each half-life that has passed.
    /// The server adds up and sorts; the client holds only the current batch. Uses the index `time`
    /// of both collections.
    pub async fn attention(
        &self,
        now: Timestamp,
        at_once: u32,
    ) -> Result<AttentionCursor, StorageError> {
        let happened = |resolution, window| {
            let since = beginning(resolution, window, now);
            let at = format!("_id.{}", resolution.part());
            doc! { at: { "$gte": date(since), "$lte": date(now) } }
        };
        let mut pipeline = attention(now, happened);
        pipeline.push(doc! { "$sort": { "_id": 1 } });
        let collection = self.raw(DAYS);
        let found = collection
            .aggregate(pipeline)
            .hint(Hint::Name("time".to_owned()))
            .allow_disk_use(true)
            .batch_size(at_once)
            .max_time(12 * self.max_time)
            .with_type::<RawDocumentBuf>();
        Ok(AttentionCursor {
            found: found.await?,
        })
    }

    /// Aggregates activity like [`Store::attention`] for these products; those without activity are
    /// absent. Uses the indexes on ids.
    pub async fn attention_of(
        &self,
        products: &[ProductId],
        now: Timestamp,
    ) -> Result<Vec<Attention>, StorageError> {
        if products.is_empty() {
            return Ok(Vec::new());
        }
        let happened = |resolution: Resolution, window| {
            let since = beginning(resolution, window, now);
            let range = |product: &ProductId| {
                let product = stored_id(product.to_i64());
                let id = |at| doc! { "p": product.clone(), resolution.part(): date(at) };
                doc! { "_id": { "$gte": id(since), "$lte": id(now) } }
            };
            doc! { "$or": products.iter().map(range).collect::<Vec<_>>() }
        };
        let collection = self.raw(DAYS);
        let found = collection
            .aggregate(attention(now, happened))
            .hint(Hint::Name("_id_".to_owned()))
            .batch_size(10_000)
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| read_attention(&Fields::of(DAYS, doc));
        found.iter().map(read).collect()
    }

    /// Finds buckets and products that are inconsistent. Hours, days, sales and products are
    /// merge-joined in the order of product ids; memory holds the days of one product.
    pub(crate) async fn audit_activity(
        &self,
        now: Timestamp,
        found: &mut Audit,
    ) -> Result<(), StorageError> {
        let (any, settled) = (Document::new(), doc! { "due": { "$exists": false } });
        let mut hours = SortedRows::new(self.by_id(HOURS, any.clone()).await?, read_hour);
        let mut days = SortedRows::new(self.by_id(DAYS, any).await?, read_day);
        let mut sales = SortedRows::new(self.by_id(SALES, settled).await?, read_sale_units);
        let counted = doc! { "sales": { "$exists": true } };
        let collection = self.raw(products::COLLECTION);
        let counted = collection
            .find(counted)
            .sort(doc! { "_id": 1 })
            .projection(doc! { "sales": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let mut products = SortedRows::new(counted.await?, read_units_sold);
        loop {
            let next = [
                hours.key().await?,
                days.key().await?,
                sales.key().await?,
                products.key().await?,
            ];
            let Some(product) = next.into_iter().flatten().min().copied() else {
                return Ok(());
            };
            let mut activity = ProductActivity::default();
            while let Some((day, counts)) = hours.at(&product).await? {
                let hours = &mut activity.days.entry(day).or_default().hours;
                *hours = hours.plus(counts);
            }
            while let Some((day, counts)) = days.at(&product).await? {
                activity.days.entry(day).or_default().stored = Some(counts);
            }
            let mut sold = 0;
            while let Some((day, units)) = sales.at(&product).await? {
                activity.days.entry(day).or_default().sold += units;
                sold += units;
            }
            let stored = products.at(&product).await?.unwrap_or(0);
            if stored != sold {
                found.push(Difference {
                    place: format!("products {product}"),
                    what: "units sold".to_owned(),
                    stored: stored.to_string(),
                    expected: sold.to_string(),
                });
            }
            found.extend(activity.differences(product, now));
        }
    }

    async fn by_id(
        &self,
        collection: &str,
        filter: Document,
    ) -> Result<Cursor<RawDocumentBuf>, StorageError> {
        let collection = self.raw(collection);
        let find = collection.find(filter).sort(doc! { "_id": 1 });
        Ok(find.hint(Hint::Name("_id_".to_owned())).await?)
    }
}

/// The counts of one day of a product: the sum of its hours, its sales, and its daily bucket.
#[derive(Clone, Copy, Default)]
struct Day {
    hours: ActivityCounts,
    sold: i64,
    stored: Option<ActivityCounts>,
}

#[derive(Default)]
struct ProductActivity {
    days: BTreeMap<Timestamp, Day>,
}

impl ProductActivity {
    fn differences(self, product: ProductId, now: Timestamp) -> impl Iterator<Item = Difference> {
        // Hourly buckets expire one by one, long before their daily bucket.
        let whole = move |at: Timestamp| {
            at.plus_millis(Resolution::Hour.lifetime_millis() - DAY_MILLIS) > now
        };
        let differs = move |(at, day): (Timestamp, Day)| {
            let expected = match day.stored {
                Some(stored) => {
                    let right = !whole(at) || stored == day.hours;
                    (!right || stored.purchases != day.sold)
                        .then(|| format!("{:?} in hours, {} sold", day.hours, day.sold))
                }
                None => (whole(at) && day.hours != ActivityCounts::default())
                    .then(|| format!("{:?}", day.hours)),
            };
            let stored = day.stored.map(|stored| format!("{stored:?}"));
            Some(Difference {
                place: format!("{DAYS} {product} {at}"),
                what: "counts".to_owned(),
                stored: stored.unwrap_or_else(|| "none".to_owned()),
                expected: expected?,
            })
        };
        self.days.into_iter().filter_map(differs)
    }
}

fn read_hour(doc: &RawDocumentBuf) -> Read<(ProductId, (Timestamp, ActivityCounts))> {
    let fields = Fields::of(HOURS, doc);
    let id = fields.doc("_id")?;
    let product = ProductId::from_i64(id.id("p")?);
    Ok((product, (day(id.date("h")?), read_counts(&fields)?)))
}

fn read_day(doc: &RawDocumentBuf) -> Read<(ProductId, (Timestamp, ActivityCounts))> {
    let fields = Fields::of(DAYS, doc);
    let id = fields.doc("_id")?;
    let product = ProductId::from_i64(id.id("p")?);
    Ok((product, (id.date("d")?, read_counts(&fields)?)))
}

fn read_sale_units(doc: &RawDocumentBuf) -> Read<(ProductId, (Timestamp, i64))> {
    let sale = read_sale(doc)?;
    Ok((sale.product, (day(sale.at), sale.quantity)))
}

fn read_units_sold(doc: &RawDocumentBuf) -> Read<(ProductId, i64)> {
    let fields = Fields::of(products::COLLECTION, doc);
    let units = fields.doc("sales")?.i64("units")?;
    Ok((ProductId::from_i64(fields.id("_id")?), units))
}

/// The contents of one transaction that fills buckets.
#[derive(Default)]
struct BucketFill {
    now: Timestamp,
    batches: Vec<StoredBatch>,
    sales: Vec<Sale>,
    hours: BTreeMap<ActivityKey, SampledCounts>,
    days: BTreeMap<ActivityKey, SampledCounts>,
    sold: BTreeMap<ProductId, i64>,
}

/// A stored batch of counts.
#[derive(Clone)]
struct StoredBatch {
    id: Bson,
    rows: Vec<(ActivityKey, SampledCounts)>,
}

impl BucketFill {
    fn new(now: Timestamp) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    fn done(&self) -> FilledBuckets {
        FilledBuckets {
            batches: self.batches.len(),
            sales: self.sales.len(),
            products: self.days.keys().map(|(product, _)| *product).collect(),
            more: false,
        }
    }

    fn is_divisible(&self) -> bool {
        self.batches.len() + self.sales.len() > 1
    }

    /// Returns two parts, each with half of the batches and half of the sales.
    fn halves(self) -> (Self, Self) {
        let (mut one, mut other) = (Self::new(self.now), Self::new(self.now));
        for (at, batch) in self.batches.into_iter().enumerate() {
            if at.is_multiple_of(2) {
                &mut one
            } else {
                &mut other
            }
            .take(batch);
        }
        for (at, sale) in self.sales.iter().enumerate() {
            if at.is_multiple_of(2) {
                &mut other
            } else {
                &mut one
            }
            .sold(sale);
        }
        (one, other)
    }

    fn read_batch(&mut self, doc: &RawDocumentBuf) -> Read<()> {
        let fields = Fields::of(BATCHES, doc);
        let row = |row: Fields<'_>| {
            let slot = (ProductId::from_i64(row.id("p")?), row.date("h")?);
            let counts = ActivityCounts {
                views: row.opt_i64("v")?.unwrap_or(0),
                carts: row.opt_i64("c")?.unwrap_or(0),
                purchases: 0,
            };
            let one_in = row.opt_i64("k")?.unwrap_or(1);
            Ok((slot, SampledCounts { counts, one_in }))
        };
        let batch = StoredBatch {
            id: stored_id(fields.id("_id")?),
            rows: fields.docs("rows", row)?,
        };
        self.take(batch);
        Ok(())
    }

    fn take(&mut self, batch: StoredBatch) {
        for (slot, counted) in &batch.rows {
            add(&mut self.hours, *slot, *counted);
            add(&mut self.days, (slot.0, day(slot.1)), *counted);
        }
        self.batches.push(batch);
    }

    fn sold(&mut self, sale: &Sale) {
        *self.sold.entry(sale.product).or_default() += sale.quantity;
        let counted = SampledCounts {
            counts: ActivityCounts {
                purchases: sale.quantity,
                ..ActivityCounts::default()
            },
            one_in: 1,
        };
        add(&mut self.hours, (sale.product, hour(sale.at)), counted);
        add(&mut self.days, (sale.product, day(sale.at)), counted);
        self.sales.push(sale.clone());
    }

    /// Returns the updates of buckets that have not expired.
    fn buckets(&self, resolution: Resolution) -> Vec<Document> {
        let counted = match resolution {
            Resolution::Hour => &self.hours,
            Resolution::Day => &self.days,
        };
        let expiry = |at: Timestamp| at.plus_millis(resolution.lifetime_millis());
        let update = |((product, at), counted): (&ActivityKey, &SampledCounts)| {
            let mut inc = Document::new();
            let counts = counted.counts;
            let fields = [
                ("views", counts.views),
                ("carts", counts.carts),
                ("purchases", counts.purchases),
            ];
            for (field, count) in fields {
                if count != 0 {
                    inc.insert(field, count);
                }
            }
            let first = doc! {
                "schema_version": REFERENCE_VERSION,
                "expires_at": date(expiry(*at)),
            };
            let mut update = doc! { "$inc": inc, "$setOnInsert": first };
            if counted.one_in > 1 {
                update.insert("$max", doc! { "one_in": counted.one_in });
            }
            let id = doc! { "p": stored_id(product.to_i64()), resolution.part(): date(*at) };
            doc! { "q": { "_id": id }, "u": update, "upsert": true }
        };
        let alive = counted.iter().filter(|((_, at), _)| expiry(*at) > self.now);
        alive.map(update).collect()
    }
}

/// Returns the id of a sale.
fn key(sale: &Sale) -> Document {
    doc! { "p": stored_id(sale.product.to_i64()), "o": &sale.order }
}

fn add(
    slots: &mut BTreeMap<ActivityKey, SampledCounts>,
    slot: ActivityKey,
    counted: SampledCounts,
) {
    let known = slots.entry(slot).or_insert(SampledCounts {
        counts: ActivityCounts::default(),
        one_in: 1,
    });
    known.counts = known.counts.plus(counted.counts);
    known.one_in = known.one_in.max(counted.one_in);
}

/// Returns the beginning of a window, rounded down to the hour or day.
fn beginning(resolution: Resolution, window: TrendingWindow, now: Timestamp) -> Timestamp {
    let since = now.plus_millis(-window.millis());
    match resolution {
        Resolution::Hour => hour(since),
        Resolution::Day => day(since),
    }
}

/// The stages that aggregate the activity of each product; `happened` filters the buckets of a
/// window. Events dated in the future are not counted before their time.
fn attention(
    now: Timestamp,
    happened: impl Fn(Resolution, TrendingWindow) -> Document,
) -> Vec<Document> {
    let [of_day, of_week, of_month] = TrendingWindow::ALL;
    let hours = vec![
        doc! { "$match": happened(Resolution::Hour, of_day) },
        doc! { "$group": { "_id": "$_id.p", "day": score(Resolution::Hour, of_day, now) } },
    ];
    vec![
        doc! { "$match": happened(Resolution::Day, of_month) },
        doc! { "$group": {
            "_id": "$_id.p",
            "views": sum("views"),
            "carts": sum("carts"),
            "purchases": sum("purchases"),
            "week": score(Resolution::Day, of_week, now),
            "month": score(Resolution::Day, of_month, now),
        } },
        doc! { "$unionWith": { "coll": HOURS, "pipeline": hours } },
        doc! { "$group": {
            "_id": "$_id",
            "views": { "$sum": "$views" },
            "carts": { "$sum": "$carts" },
            "purchases": { "$sum": "$purchases" },
            "day": { "$sum": "$day" },
            "week": { "$sum": "$week" },
            "month": { "$sum": "$month" },
        } },
    ]
}

fn count(field: &str) -> Document {
    doc! { "$ifNull": [format!("${field}"), 0_i64] }
}

fn sum(field: &str) -> Document {
    doc! { "$sum": count(field) }
}

/// The score of a window, which may be shorter than the range that is read.
fn score(resolution: Resolution, window: TrendingWindow, now: Timestamp) -> Document {
    use vitrine_model::activity::{CART_WEIGHT, PURCHASE_WEIGHT, VIEW_WEIGHT};
    let at = format!("$_id.{}", resolution.part());
    let weighed = |field: &str, weight: i64| doc! { "$multiply": [count(field), weight] };
    let weight = doc! { "$add": [
        weighed("views", VIEW_WEIGHT),
        weighed("carts", CART_WEIGHT),
        weighed("purchases", PURCHASE_WEIGHT),
    ] };
    // On average, the events of a bucket happened in its middle.
    let middle = doc! { "$add": [&at, resolution.millis() / 2] };
    let age = doc! { "$max": [0_i64, { "$subtract": [date(now), middle] }] };
    let decay = doc! { "$pow": [0.5, { "$divide": [age, window.half_life_millis()] }] };
    let within = doc! { "$gte": [&at, date(beginning(resolution, window, now))] };
    doc! { "$sum": { "$cond": [within, { "$multiply": [weight, decay] }, 0.0] } }
}

fn read_attention(fields: &Fields<'_>) -> Read<Attention> {
    let score = |field| -> Read<f64> {
        let score = fields.get(field)?.and_then(crate::raw::number);
        Ok(score.unwrap_or(0.0))
    };
    Ok(Attention {
        product: ProductId::from_i64(fields.id("_id")?),
        counts: read_counts(fields)?,
        scores: [score("day")?, score("week")?, score("month")?],
    })
}

fn read_counts(fields: &Fields<'_>) -> Read<ActivityCounts> {
    Ok(ActivityCounts {
        views: fields.opt_i64("views")?.unwrap_or(0),
        carts: fields.opt_i64("carts")?.unwrap_or(0),
        purchases: fields.opt_i64("purchases")?.unwrap_or(0),
    })
}

fn read_sale(doc: &RawDocumentBuf) -> Read<Sale> {
    let fields = Fields::of(SALES, doc);
    let id = fields.doc("_id")?;
    Ok(Sale {
        product: ProductId::from_i64(id.id("p")?),
        order: id.string("o")?,
        quantity: fields.i64("units")?,
        at: fields.date("at")?,
    })
}
