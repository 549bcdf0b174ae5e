//! Views, carts and purchases in buckets.
//!
//! A process hands over what it counted as one document with an id of its own, so that handing it
//! over twice is handing it over once, and no two processes ever meet. One worker puts what was
//! handed over into buckets, one per product and hour and one per product and day, in the
//! transaction that removes what was handed over: each event is counted once, whoever dies when.
//! A sale is a document of its own, by its order; it says whether it is counted, and is counted the
//! same way, also in the product.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{Acknowledgment, Hint, WriteConcern};
use mongodb::{ClientSession, Cursor};
use vitrine_model::activity::{
    ActivityCounts, Counted, DAY_MILLIS, DAYS_KEPT_DAYS, HOUR_MILLIS, HOURS_KEPT_DAYS, Slot,
    TrendingWindow, day, hour,
};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;

use crate::audit::{Audit, Difference};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, up_to};
use crate::in_order::InOrder;
use crate::raw::{Fields, Read, date, stored_id};
use crate::store::durable;
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::{StorageError, Store, products};

const HOURS: &str = "activity";
const DAYS: &str = "activity_days";
const HANDED: &str = "activity_handed";
const SALES: &str = "sales";

/// How many buckets are written with one command.
const MAX_UPDATES: usize = 1_000;
/// How many days of products one transaction writes, roughly.
const MAX_SLOTS: usize = 10_000;
/// For how long it is remembered that something was handed over: far longer than it is tried.
const REMEMBERED_MILLIS: i64 = DAY_MILLIS;

/// What a process hands over: what it counted since it last did.
#[derive(Clone, Debug)]
pub struct Handover {
    id: i64,
    rows: Vec<(Slot, Counted)>,
}

impl Handover {
    /// What was counted; handed over under an id that nobody else has.
    #[must_use]
    pub fn new(rows: Vec<(Slot, Counted)>) -> Self {
        Self {
            id: ProductId::random().to_i64(),
            rows,
        }
    }

    /// How many products and hours it is about.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// What was bought with an order.
#[derive(Clone, Debug)]
pub struct Sale {
    /// What was bought.
    pub product: ProductId,
    /// The order, or what stands for it.
    pub order: String,
    /// How many of it.
    pub units: i64,
    /// When.
    pub at: Timestamp,
}

/// What was put into buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bucketed {
    /// How many documents that processes handed over.
    pub handovers: usize,
    /// How many sales.
    pub sales: usize,
    /// Of which products.
    pub products: BTreeSet<ProductId>,
    /// Whether there may be more to put into buckets.
    pub more: bool,
}

/// How fine a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// By hours.
    Hour,
    /// By days.
    Day,
}

impl Resolution {
    const fn collection(self) -> &'static str {
        match self {
            Self::Hour => HOURS,
            Self::Day => DAYS,
        }
    }

    /// What the time is called in the id of a bucket.
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

    const fn kept_millis(self) -> i64 {
        match self {
            Self::Hour => HOURS_KEPT_DAYS * DAY_MILLIS,
            Self::Day => DAYS_KEPT_DAYS * DAY_MILLIS,
        }
    }
}

/// A bucket as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Where it begins.
    pub at: Timestamp,
    /// What happened.
    pub counted: Counted,
}

/// What happened around a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// The product.
    pub product: ProductId,
    /// What happened today and the 30 days before.
    pub counts: ActivityCounts,
    /// What happened in each of [`TrendingWindow::ALL`], weighed, what is long ago less.
    pub scores: [f64; 3],
}

/// The products around which something happened, in the order of their ids, read some at a time.
#[derive(Debug)]
pub struct AttentionCursor {
    found: mongodb::Cursor<RawDocumentBuf>,
}

impl AttentionCursor {
    /// Returns the next products: as many as are asked for, or fewer when these are the last.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; the cursor is of no use then.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Attention>, StorageError> {
        let mut some = Vec::with_capacity(most);
        while some.len() < most {
            let Some(doc) = self.found.try_next().await? else {
                break;
            };
            some.push(read_attention(&Fields::of(DAYS, &doc))?);
        }
        Ok(some)
    }
}

impl Store {
    /// Takes what a process hands over. Doing it twice changes nothing.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it is to be done again then.
    pub async fn hand_over(&self, handover: &Handover, now: Timestamp) -> Result<(), StorageError> {
        let row = |((product, hour), counted): &(Slot, Counted)| {
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
            "_id": handover.id,
            "schema_version": REFERENCE_VERSION,
            "at": date(now),
            "open": true,
            "rows": handover.rows.iter().map(row).collect::<Vec<_>>(),
        };
        // The last second of views is not worth waiting for other servers.
        let concern = WriteConcern::builder().w(Acknowledgment::Nodes(1)).build();
        let collection = self.documents(HANDED);
        let inserted = collection.insert_one(doc).write_concern(concern).await;
        match inserted.map_err(StorageError::from) {
            // It was taken before, and nobody heard of it. That it was is remembered for a day after
            // it was put into buckets.
            Err(StorageError::Conflict { .. }) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Which of these products are on sale.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

    /// Keeps a sale, which is counted a moment later. Keeping it twice changes nothing. Gives
    /// whether it is new.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it is to be done again then.
    pub async fn keep_sale(&self, sale: &Sale) -> Result<bool, StorageError> {
        let first = doc! {
            "schema_version": REFERENCE_VERSION,
            "units": sale.units,
            "at": date(sale.at),
            "due": true,
        };
        let id = doc! { "_id": key(sale) };
        let collection = self.documents(SALES);
        let kept = collection
            .update_one(id, doc! { "$setOnInsert": first })
            .upsert(true)
            .write_concern(durable())
            .await;
        match kept.map_err(StorageError::from) {
            Ok(kept) => Ok(kept.upserted_id.is_some()),
            // Somebody else has kept it in the same moment.
            Err(StorageError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether sales of a product wait to be counted. One command, over an index.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn sales_wait(&self, product: ProductId) -> Result<bool, StorageError> {
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

    /// Puts some of what was handed over, and some sales, into buckets; none when nothing waits.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails, or other writers were met too often; nothing was
    /// changed then, or all that was to be.
    pub async fn fill_buckets(
        &self,
        now: Timestamp,
        handovers: u32,
        sales: u32,
    ) -> Result<Bucketed, StorageError> {
        let collection = self.raw(HANDED);
        // What a newer release has handed over may say more than this one knows.
        let find = collection
            .find(doc! { "open": true, "schema_version": up_to(REFERENCE_VERSION) })
            .hint(Hint::Name("open".to_owned()))
            .limit(i64::from(handovers));
        let handed: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let (sold, more_sold) = self.sales_due(sales).await?;
        if handed.is_empty() && sold.is_empty() {
            return Ok(Bucketed::default());
        }
        let mut filling = Filling::new(now);
        let mut taken = 0;
        for doc in &handed {
            if filling.days.len() >= MAX_SLOTS {
                // The rest is for the next transaction.
                break;
            }
            taken += 1;
            if let Err(error) = filling.handed(doc) {
                // It keeps no other from being counted.
                tracing::error!(%error, "what was handed over cannot be read");
            }
        }
        for sale in &sold {
            filling.sold(sale);
        }
        let more_handed = taken < handed.len() || taken >= handovers as usize;
        let filled = self.fill(filling).await?;
        Ok(Bucketed {
            more: more_handed || more_sold || filled.more,
            ..filled
        })
    }

    /// In one transaction; in two of halves when that does not go through.
    async fn fill(&self, filling: Filling) -> Result<Bucketed, StorageError> {
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
                one.map(|one| Bucketed {
                    handovers: one.handovers + other.handovers,
                    sales: one.sales + other.sales,
                    products: one.products.into_iter().chain(other.products).collect(),
                    more: one.more || other.more,
                })
            }
            filled => filled,
        }
    }

    /// Sales that are not counted, and whether there may be more of them. Those of products that
    /// only a newer release may write wait, and keep no others from being found.
    async fn sales_due(&self, most: u32) -> Result<(Vec<Sale>, bool), StorageError> {
        let mut after = None;
        loop {
            let (sales, last) = self.some_sales_due(after, most).await?;
            if !sales.is_empty() || last.is_none() {
                return Ok((sales, last.is_some()));
            }
            after = last;
        }
    }

    /// Some of them behind this one, without those that wait, and the last one that was looked at
    /// when there may be more.
    async fn some_sales_due(
        &self,
        after: Option<Bson>,
        most: u32,
    ) -> Result<(Vec<Sale>, Option<Bson>), StorageError> {
        let mut filter = doc! { "due": true };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": after });
        }
        let collection = self.documents(SALES);
        let find = collection
            .find(filter)
            .sort(doc! { "_id": 1 })
            .hint(Hint::Name("due".to_owned()))
            .limit(i64::from(most));
        let found: Vec<Document> = find.max_time(self.max_time).await?.try_collect().await?;
        let last = found.get(most.saturating_sub(1) as usize);
        let last = last.and_then(|doc| doc.get("_id").cloned());
        let sales = found.iter().map(|doc| {
            let raw = RawDocumentBuf::try_from(doc);
            let raw = raw.map_err(|error| mongodb::error::Error::custom(error.to_string()))?;
            read_sale(&raw)
        });
        let sales = sales.collect::<Read<Vec<_>>>()?;
        let newer = self.newer_among(&sales).await?;
        let mine = |sale: &Sale| !newer.contains(&sale.product);
        Ok((sales.into_iter().filter(mine).collect(), last))
    }

    /// Of which of these sales the product may be written by a newer release only.
    async fn newer_among(&self, sales: &[Sale]) -> Result<HashSet<ProductId>, StorageError> {
        let of: HashSet<ProductId> = sales.iter().map(|sale| sale.product).collect();
        if of.is_empty() {
            return Ok(of);
        }
        let of: Vec<Bson> = of.into_iter().map(|id| stored_id(id.to_i64())).collect();
        let newer = doc! {
            "_id": { "$in": of },
            "schema_version": { "$gt": PRODUCT_VERSION },
        };
        let collection = self.raw(products::COLLECTION);
        let find = collection.find(newer).projection(doc! { "_id": 1 });
        self.product_ids(find).await
    }

    async fn try_fill(&self, filling: &Filling) -> Result<Bucketed, TransactionError> {
        let mut session = self.begin().await?;
        match self.fill_in(&mut session, filling).await {
            Ok(true) => commit(&mut session).await.map(|()| filling.done()),
            other => {
                let _ = session.abort_transaction().await;
                // Somebody else has done it, or a handover that was acknowledged by one server is
                // not in the snapshot of a transaction yet: the next look tells.
                other.map(|_| Bucketed {
                    more: true,
                    ..Bucketed::default()
                })
            }
        }
    }

    /// Gives whether everything was still there to be counted.
    async fn fill_in(
        &self,
        session: &mut ClientSession,
        filling: &Filling,
    ) -> Result<bool, TransactionError> {
        if !filling.handed.is_empty() {
            let ids: Vec<&Bson> = filling.handed.iter().map(|handed| &handed.id).collect();
            let these = doc! { "_id": { "$in": ids }, "open": true };
            let until = filling.now.plus_millis(REMEMBERED_MILLIS);
            // That it was there stays for a while: it may be handed over once more.
            let close = doc! {
                "$unset": { "open": 1, "rows": 1 },
                "$set": { "expires_at": date(until) },
            };
            let handed = self.documents(HANDED);
            let closed = handed.update_many(these, close);
            let closed = closed.session(&mut *session).await?;
            if closed.modified_count != filling.handed.len() as u64 {
                return Ok(false);
            }
        }
        if !filling.sales.is_empty() {
            let keys: Vec<Document> = filling.sales.iter().map(key).collect();
            let these = doc! { "_id": { "$in": keys }, "due": true };
            let counted = doc! { "$unset": { "due": 1 } };
            let sales = self.documents(SALES);
            let updated = sales.update_many(these, counted);
            let updated = updated.session(&mut *session).await?;
            if updated.modified_count != filling.sales.len() as u64 {
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
        let updates = filling.products();
        if updates.is_empty() {
            return Ok(true);
        }
        let all = i32::try_from(updates.len()).unwrap_or(i32::MAX);
        let command = doc! { "update": products::COLLECTION, "updates": updates };
        let reply = self.db.run_command(command).session(&mut *session).await?;
        if reply.get_i32("n").ok() == Some(all) {
            return Ok(true);
        }
        // One of them has just become one of a newer release: what is due is looked at anew.
        let error = mongodb::error::Error::custom(reply);
        Err(StorageError::Contended(error).into())
    }

    /// How much waits to be put into buckets.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn count_unfilled(&self) -> Result<u64, StorageError> {
        let open = self.raw(HANDED);
        let open = open
            .count_documents(doc! { "open": true, "schema_version": up_to(REFERENCE_VERSION) })
            .hint(Hint::Name("open".to_owned()));
        let handed = open.max_time(self.max_time).await?;
        let sales = self.raw(SALES);
        let due = sales
            .count_documents(doc! { "due": true })
            .hint(Hint::Name("due".to_owned()))
            .limit(10_000);
        Ok(handed + due.max_time(self.max_time).await?)
    }

    /// The buckets of a product from an instant on and before another, in order; none where nothing
    /// happened. One command, by the index on ids.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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
                counted: Counted {
                    counts: read_counts(&fields)?,
                    one_in: fields.opt_i64("one_in")?.unwrap_or(1),
                },
            })
        };
        found.iter().map(read).collect()
    }

    /// Reads what happened around products, weighed, half as much for each half-life that it is ago.
    /// The server adds up and sorts; nothing but the products that are asked for is held here. By the
    /// indexes `time` of both collections.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

    /// As [`Store::attention`], of these products; those around which nothing happened are absent. By
    /// the indexes on ids.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

    /// Buckets, days and products that do not add up: hours, days, sales and products are read in the
    /// order of product ids. Of one product at a time the days are held.
    pub(crate) async fn audit_activity(
        &self,
        now: Timestamp,
        found: &mut Audit,
    ) -> Result<(), StorageError> {
        let (any, settled) = (Document::new(), doc! { "due": { "$exists": false } });
        let mut hours = InOrder::new(self.by_id(HOURS, any.clone()).await?, read_hour);
        let mut days = InOrder::new(self.by_id(DAYS, any).await?, read_day);
        let mut sales = InOrder::new(self.by_id(SALES, settled).await?, read_sold);
        let counted = doc! { "sales": { "$exists": true } };
        let collection = self.raw(products::COLLECTION);
        let counted = collection
            .find(counted)
            .sort(doc! { "_id": 1 })
            .projection(doc! { "sales": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let mut products = InOrder::new(counted.await?, read_units_sold);
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

/// What the hours, the sales and the day of a product say of a day.
#[derive(Clone, Copy, Default)]
struct Day {
    hours: ActivityCounts,
    sold: i64,
    stored: Option<ActivityCounts>,
}

/// The days of a product.
#[derive(Default)]
struct ProductActivity {
    days: BTreeMap<Timestamp, Day>,
}

impl ProductActivity {
    fn differences(self, product: ProductId, now: Timestamp) -> impl Iterator<Item = Difference> {
        // Hours go one by one, long before their day does.
        let whole =
            move |at: Timestamp| at.plus_millis(Resolution::Hour.kept_millis() - DAY_MILLIS) > now;
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

fn read_sold(doc: &RawDocumentBuf) -> Read<(ProductId, (Timestamp, i64))> {
    let sale = read_sale(doc)?;
    Ok((sale.product, (day(sale.at), sale.units)))
}

fn read_units_sold(doc: &RawDocumentBuf) -> Read<(ProductId, i64)> {
    let fields = Fields::of(products::COLLECTION, doc);
    let units = fields.doc("sales")?.i64("units")?;
    Ok((ProductId::from_i64(fields.id("_id")?), units))
}

/// What one transaction puts into buckets.
#[derive(Default)]
struct Filling {
    now: Timestamp,
    handed: Vec<Handed>,
    sales: Vec<Sale>,
    hours: BTreeMap<Slot, Counted>,
    days: BTreeMap<Slot, Counted>,
    sold: BTreeMap<ProductId, i64>,
}

/// What a process has handed over.
#[derive(Clone)]
struct Handed {
    id: Bson,
    rows: Vec<(Slot, Counted)>,
}

impl Filling {
    fn new(now: Timestamp) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    fn done(&self) -> Bucketed {
        Bucketed {
            handovers: self.handed.len(),
            sales: self.sales.len(),
            products: self.days.keys().map(|(product, _)| *product).collect(),
            more: false,
        }
    }

    fn is_divisible(&self) -> bool {
        self.handed.len() + self.sales.len() > 1
    }

    /// Half of what was handed over with half of the sales, and the rest.
    fn halves(self) -> (Self, Self) {
        let (mut one, mut other) = (Self::new(self.now), Self::new(self.now));
        for (at, handed) in self.handed.into_iter().enumerate() {
            if at.is_multiple_of(2) {
                &mut one
            } else {
                &mut other
            }
            .take(handed);
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

    fn handed(&mut self, doc: &RawDocumentBuf) -> Read<()> {
        let fields = Fields::of(HANDED, doc);
        let row = |row: Fields<'_>| {
            let slot = (ProductId::from_i64(row.id("p")?), row.date("h")?);
            let counts = ActivityCounts {
                views: row.opt_i64("v")?.unwrap_or(0),
                carts: row.opt_i64("c")?.unwrap_or(0),
                purchases: 0,
            };
            let one_in = row.opt_i64("k")?.unwrap_or(1);
            Ok((slot, Counted { counts, one_in }))
        };
        let handed = Handed {
            id: stored_id(fields.id("_id")?),
            rows: fields.docs("rows", row)?,
        };
        self.take(handed);
        Ok(())
    }

    fn take(&mut self, handed: Handed) {
        for (slot, counted) in &handed.rows {
            add(&mut self.hours, *slot, *counted);
            add(&mut self.days, (slot.0, day(slot.1)), *counted);
        }
        self.handed.push(handed);
    }

    fn sold(&mut self, sale: &Sale) {
        *self.sold.entry(sale.product).or_default() += sale.units;
        let counted = Counted {
            counts: ActivityCounts {
                purchases: sale.units,
                ..ActivityCounts::default()
            },
            one_in: 1,
        };
        add(&mut self.hours, (sale.product, hour(sale.at)), counted);
        add(&mut self.days, (sale.product, day(sale.at)), counted);
        self.sales.push(sale.clone());
    }

    /// The updates of buckets that are still kept.
    fn buckets(&self, resolution: Resolution) -> Vec<Document> {
        let counted = match resolution {
            Resolution::Hour => &self.hours,
            Resolution::Day => &self.days,
        };
        let kept = |at: Timestamp| at.plus_millis(resolution.kept_millis());
        let update = |((product, at), counted): (&Slot, &Counted)| {
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
                "expires_at": date(kept(*at)),
            };
            let mut update = doc! { "$inc": inc, "$setOnInsert": first };
            if counted.one_in > 1 {
                update.insert("$max", doc! { "one_in": counted.one_in });
            }
            let id = doc! { "p": stored_id(product.to_i64()), resolution.part(): date(*at) };
            doc! { "q": { "_id": id }, "u": update, "upsert": true }
        };
        let alive = counted.iter().filter(|((_, at), _)| kept(*at) > self.now);
        alive.map(update).collect()
    }

    fn products(&self) -> Vec<Document> {
        let update = |(product, units): (&ProductId, &i64)| {
            let sales = doc! {
                "$inc": { "sales.units": *units },
                "$set": { "sales.as_of": date(self.now) },
            };
            let one = doc! {
                "_id": stored_id(product.to_i64()),
                "schema_version": up_to(PRODUCT_VERSION),
            };
            doc! { "q": one, "u": sales }
        };
        self.sold.iter().map(update).collect()
    }
}

/// The id of a sale.
fn key(sale: &Sale) -> Document {
    doc! { "p": stored_id(sale.product.to_i64()), "o": &sale.order }
}

fn add(slots: &mut BTreeMap<Slot, Counted>, slot: Slot, counted: Counted) {
    let known = slots.entry(slot).or_insert(Counted {
        counts: ActivityCounts::default(),
        one_in: 1,
    });
    known.counts = known.counts.plus(counted.counts);
    known.one_in = known.one_in.max(counted.one_in);
}

/// Where a window begins: with the whole hour or day that it begins in.
fn beginning(resolution: Resolution, window: TrendingWindow, now: Timestamp) -> Timestamp {
    let since = now.plus_millis(-window.millis());
    match resolution {
        Resolution::Hour => hour(since),
        Resolution::Day => day(since),
    }
}

/// The stages that add up what happened around each product; `happened` says which buckets of a window
/// are read. Of what is dated ahead nothing is counted before its time.
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

/// The score of a window, which may be shorter than what is read.
fn score(resolution: Resolution, window: TrendingWindow, now: Timestamp) -> Document {
    use vitrine_model::activity::{CART_WEIGHT, PURCHASE_WEIGHT, VIEW_WEIGHT};
    let at = format!("$_id.{}", resolution.part());
    let weighed = |field: &str, weight: i64| doc! { "$multiply": [count(field), weight] };
    let weight = doc! { "$add": [
        weighed("views", VIEW_WEIGHT),
        weighed("carts", CART_WEIGHT),
        weighed("purchases", PURCHASE_WEIGHT),
    ] };
    // What happened in a bucket happened in its middle, more or less.
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
        units: fields.i64("units")?,
        at: fields.date("at")?,
    })
}
