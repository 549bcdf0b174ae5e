//! Bulk changes and their products. The outcome of a product is stored in the transaction that changes it, with the
//! numbers of the bulk change, so that each product is changed once, and the numbers are exact at any time.

use std::collections::HashSet;

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, doc};
use mongodb::options::{Hint, ReturnDocument};
use vitrine_model::bulk::{
    BULK_KEPT_MILLIS, BulkChange, BulkCounts, BulkItem, BulkOutcome, BulkState, MAX_BULK_PRODUCTS,
};
use vitrine_model::clock::Timestamp;
use vitrine_model::filter::Condition;
use vitrine_model::id::{BulkChangeId, ProductId, random_number};
use vitrine_model::import_run::StopRequest;

use crate::documents::{REFERENCE_VERSION, put};
use crate::imports::read_stop;
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::names::stored_ids;
use crate::products::COLLECTION;
use crate::raw::{Fields, Read, date, stored_id};
use crate::views::ProductView;
use crate::write::WriteUnit;
use crate::{StorageError, Store, products_query, retry_contended};

const CHANGES: &str = "bulk_changes";
const ITEMS: &str = "bulk_items";
/// How many products are collected in one transaction.
const COLLECTED: i64 = 1_000;

/// Which products a bulk change is about. Stored as it is when the change is requested: categories, units and aliases
/// keep the meaning that they had then.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkFilter {
    filter: Document,
    /// The index by which the products are found.
    index: String,
}

impl BulkFilter {
    /// The products that match a condition.
    #[must_use]
    pub fn matching(condition: &Condition) -> Self {
        Self {
            filter: products_query::predicate(condition),
            index: products_query::count_index(condition).to_owned(),
        }
    }

    /// These products.
    #[must_use]
    pub fn of(products: &[ProductId]) -> Self {
        let ids = stored_ids(products.iter().copied());
        Self {
            filter: doc! { "_id": { "$in": ids } },
            index: "_id_".to_owned(),
        }
    }

    fn and(&self, other: Document) -> Document {
        doc! { "$and": [other, self.filter.clone()] }
    }

    fn stored(&self) -> Result<Bson, StorageError> {
        let bytes = mongodb::bson::serialize_to_vec(&self.filter);
        let bytes = bytes.map_err(|_| StorageError::Corrupt {
            collection: CHANGES,
            id: String::new(),
            field: "filter".to_owned(),
        })?;
        Ok(Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        }))
    }

    fn read(fields: &Fields<'_>) -> Read<Self> {
        let Some(RawBsonRef::Binary(stored)) = fields.get("filter")? else {
            return Err(fields.corrupt("filter"));
        };
        let filter = mongodb::bson::deserialize_from_slice(stored.bytes);
        Ok(Self {
            filter: filter.map_err(|_| fields.corrupt("filter"))?,
            index: fields.string("index")?,
        })
    }
}

/// A new bulk change.
#[derive(Clone, Debug)]
pub struct NewBulkChange {
    /// Its id.
    pub id: BulkChangeId,
    /// The subject of the admin's token.
    pub by: String,
    /// Whether products are left as they are.
    pub dry_run: bool,
    /// Its products.
    pub filter: BulkFilter,
    /// What is changed, in the caller's own encoding.
    pub change: String,
}

/// A bulk change that has not ended.
#[derive(Clone, Debug)]
pub struct OpenBulkChange {
    /// The bulk change.
    pub job: BulkChange,
    /// Its products.
    pub filter: BulkFilter,
    /// What is changed, in the caller's own encoding.
    pub change: String,
    /// The last product collected, in the order of ids.
    collected: Option<i64>,
}

/// A product of a bulk change whose turn has not come yet.
#[derive(Clone, Copy, Debug)]
pub struct WaitingItem {
    id: i64,
    /// The product.
    pub product: ProductId,
}

impl Store {
    /// Returns a bulk change that is to stop, otherwise the oldest one that has not ended. At most two commands.
    pub async fn open_bulk_change(&self) -> Result<Option<OpenBulkChange>, StorageError> {
        let changes = self.raw(CHANGES);
        let oldest = async |filter: Document| {
            let find = changes
                .find_one(filter)
                .sort(doc! { "started_at": 1 })
                .hint(Hint::Name("open".to_owned()));
            find.max_time(self.max_time).await
        };
        let Some(first): Option<RawDocumentBuf> = oldest(doc! { "open": true }).await? else {
            return Ok(None);
        };
        let stopping = doc! { "open": true, "stop": { "$exists": true } };
        let found = oldest(stopping).await?.unwrap_or(first);
        let read = |found: RawDocumentBuf| {
            let fields = Fields::of(CHANGES, &found);
            Ok::<_, StorageError>(OpenBulkChange {
                job: read_change(&found)?,
                filter: BulkFilter::read(&fields)?,
                change: fields.string("change")?,
                collected: fields.opt_i64("collected")?,
            })
        };
        read(found).map(Some)
    }

    /// Returns those of these products that do not exist. One command.
    pub async fn missing_products(
        &self,
        products: &[ProductId],
    ) -> Result<Vec<ProductId>, StorageError> {
        let ids = stored_ids(products.iter().copied());
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": ids } })
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("_id_".to_owned()));
        let found: HashSet<ProductId> = self.product_ids(find).await?;
        let missing = products.iter().filter(|id| !found.contains(id));
        Ok(missing.copied().collect())
    }

    /// Collects the next products of a bulk change, at most 1,000, in the order of ids. Products that match only later
    /// are no part of it. Returns how many were collected.
    pub async fn collect_bulk_items(
        &self,
        open: &OpenBulkChange,
        now: Timestamp,
    ) -> Result<u64, StorageError> {
        let after = open.collected.map(|last| doc! { "$gt": stored_id(last) });
        let after = after.unwrap_or_else(|| doc! { "$gte": stored_id(0) });
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(open.filter.and(doc! { "_id": after }))
            .sort(doc! { "_id": 1 })
            .limit(COLLECTED)
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name(open.filter.index.clone()));
        let mut found: Vec<ProductId> = self.product_ids(find).await?;
        let first = open.job.counts.waiting;
        let room = usize::try_from(MAX_BULK_PRODUCTS.saturating_sub(first)).unwrap_or(0);
        found.truncate(room);
        let is_last = (found.len() as u64) < COLLECTED.unsigned_abs();
        retry_contended(async || {
            let unit = self.begin_write().await?;
            store_items(unit, open, (first, &found, is_last), now).await
        })
        .await?;
        Ok(found.len() as u64)
    }

    /// Returns the next products of a bulk change, at most `max`. One command.
    pub async fn waiting_bulk_items(
        &self,
        job: BulkChangeId,
        max: i64,
    ) -> Result<Vec<WaitingItem>, StorageError> {
        let filter = doc! { "change": stored_id(job.to_i64()), "outcome": "waiting" };
        let items = self.raw(ITEMS);
        let find = items
            .find(filter)
            .sort(doc! { "n": 1 })
            .limit(max)
            .projection(doc! { "product": 1 })
            .hint(Hint::Name("outcome".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |item: &RawDocumentBuf| {
            let fields = Fields::of(ITEMS, item);
            Ok(WaitingItem {
                id: fields.id("_id")?,
                product: ProductId::from_i64(fields.id("product")?),
            })
        };
        found.iter().map(read).collect()
    }

    /// Ends a bulk change, unless it has ended. One command.
    pub async fn end_bulk_change(
        &self,
        job: BulkChangeId,
        state: BulkState,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let update = doc! {
            "$set": { "state": state.name(), "ended_at": date(now) },
            "$unset": { "open": 1 },
        };
        let open = doc! { "_id": stored_id(job.to_i64()), "open": true };
        self.documents(CHANGES).update_one(open, update).await?;
        Ok(())
    }

    /// Asks a bulk change to stop, unless it has ended or somebody has asked already. Returns it; `None` if there is
    /// none. At most two commands.
    pub async fn stop_bulk_change(
        &self,
        job: BulkChangeId,
        stop: &StopRequest,
    ) -> Result<Option<BulkChange>, StorageError> {
        let filter = doc! {
            "_id": stored_id(job.to_i64()),
            "open": true,
            "stop": { "$exists": false },
        };
        let set = doc! { "$set": { "stop": { "at": date(stop.at), "by": &stop.by } } };
        let changes = self.raw(CHANGES);
        let update = changes
            .find_one_and_update(filter, set)
            .return_document(ReturnDocument::After);
        match update.await? {
            Some(change) => read_change(&change).map(Some),
            None => self.get_bulk_change(job).await,
        }
    }

    /// Returns a bulk change. One command.
    pub async fn get_bulk_change(
        &self,
        job: BulkChangeId,
    ) -> Result<Option<BulkChange>, StorageError> {
        let changes = self.raw(CHANGES);
        let find = changes.find_one(doc! { "_id": stored_id(job.to_i64()) });
        let found: Option<RawDocumentBuf> = find.max_time(self.max_time).await?;
        found.map(|change| read_change(&change)).transpose()
    }

    /// Returns a page of all bulk changes, newest first. One command.
    pub async fn page_bulk_changes(
        &self,
        request: &PageRequest,
    ) -> Result<Page<BulkChange>, StorageError> {
        self.read_page(&changes(), request, read_change).await
    }

    /// Counts all bulk changes. One command.
    pub async fn count_bulk_changes(&self) -> Result<u64, StorageError> {
        let changes = self.documents(CHANGES);
        let count = changes.count_documents(Document::new());
        Ok(count.max_time(self.max_time).await?)
    }

    /// Returns whether there are bulk changes after (or before) this position.
    pub async fn has_bulk_change(&self, from: Boundary) -> Result<bool, StorageError> {
        self.has_row(&changes(), &from).await
    }

    /// Returns a page of the products of a bulk change, in the order of their turns; only those with an
    /// outcome, if one is given. One command.
    pub async fn page_bulk_items(
        &self,
        of: (BulkChangeId, Option<BulkOutcome>),
        request: &PageRequest,
    ) -> Result<Page<BulkItem>, StorageError> {
        self.read_page(&items(of), request, read_item).await
    }

    /// Returns whether a bulk change has products after (or before) this position.
    pub async fn has_bulk_item(
        &self,
        of: (BulkChangeId, Option<BulkOutcome>),
        from: Boundary,
    ) -> Result<bool, StorageError> {
        self.has_row(&items(of), &from).await
    }
}

/// Stores collected products with the numbers of the bulk change, unless another process has done so, or it has ended.
async fn store_items(
    mut unit: WriteUnit,
    open: &OpenBulkChange,
    (first, found, is_last): (u64, &[ProductId], bool),
    now: Timestamp,
) -> Result<(), StorageError> {
    let job = stored_id(open.job.id.to_i64());
    let mut update = doc! { "$inc": { "waiting": i64::try_from(found.len()).unwrap_or(i64::MAX) } };
    let mut set = Document::new();
    put(
        &mut set,
        "collected",
        found.last().map(|last| stored_id(last.to_i64())),
    );
    put(
        &mut set,
        "state",
        is_last.then_some(BulkState::Running.name()),
    );
    if !set.is_empty() {
        update.insert("$set", set);
    }
    let mut filter =
        doc! { "_id": job.clone(), "open": true, "state": BulkState::Collecting.name() };
    let collected = open.collected.map_or(Bson::Null, stored_id);
    filter.insert("collected", collected);
    if unit.update_many(CHANGES, filter, update).await? == 0 {
        unit.abort().await;
        return Ok(());
    }
    let expires_at = date(now.plus_millis(BULK_KEPT_MILLIS));
    let item = |(n, product): (u64, &ProductId)| {
        doc! {
            "_id": stored_id(random_number()),
            "schema_version": REFERENCE_VERSION,
            "change": job.clone(),
            "n": i64::try_from(n).unwrap_or(i64::MAX),
            "product": stored_id(product.to_i64()),
            "outcome": BulkOutcome::Waiting.name(),
            "expires_at": expires_at.clone(),
        }
    };
    let documents = (first..).zip(found).map(item).collect();
    unit.insert(ITEMS, documents).await?;
    unit.commit().await
}

impl WriteUnit {
    /// Inserts a bulk change. The worker begins it when those that were started before have ended.
    pub async fn insert_bulk_change(
        &mut self,
        new: &NewBulkChange,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let change = doc! {
            "_id": stored_id(new.id.to_i64()),
            "schema_version": REFERENCE_VERSION,
            "by": &new.by,
            "dry_run": new.dry_run,
            "state": BulkState::Collecting.name(),
            "open": true,
            "filter": new.filter.stored()?,
            "index": &new.filter.index,
            "change": &new.change,
            "started_at": date(now),
            "expires_at": date(now.plus_millis(BULK_KEPT_MILLIS)),
            "waiting": 0_i64,
            "changed": 0_i64,
            "unchanged": 0_i64,
            "refused": 0_i64,
            "skipped": 0_i64,
        };
        self.insert(CHANGES, vec![change]).await
    }

    /// Returns a product as this transaction sees it, if it matches the filter of a bulk change.
    pub async fn bulk_product(
        &mut self,
        product: ProductId,
        filter: &BulkFilter,
    ) -> Result<Option<ProductView>, StorageError> {
        let filter = filter.and(doc! { "_id": stored_id(product.to_i64()) });
        let found = self.find_one(COLLECTION, filter).await?;
        found.map(ProductView::new).transpose()
    }

    /// Stores the outcome of a product. Returns false if that was stored already or the bulk change has ended; the
    /// caller aborts the transaction then.
    pub async fn store_bulk_outcome(
        &mut self,
        job: BulkChangeId,
        item: WaitingItem,
        (outcome, message): (BulkOutcome, Option<&str>),
    ) -> Result<bool, StorageError> {
        let mut set = doc! { "outcome": outcome.name() };
        put(&mut set, "message", message);
        let waiting = doc! { "_id": stored_id(item.id), "outcome": BulkOutcome::Waiting.name() };
        if self
            .update_many(ITEMS, waiting, doc! { "$set": set })
            .await?
            == 0
        {
            return Ok(false);
        }
        let count = doc! { "$inc": { "waiting": -1_i64, outcome.name(): 1_i64 } };
        let open = doc! { "_id": stored_id(job.to_i64()), "open": true };
        Ok(self.update_many(CHANGES, open, count).await? == 1)
    }
}

fn changes() -> ListQuery {
    let column = Column::new("started_at", ColumnKind::Instant);
    ListQuery {
        descending: true,
        ..ListQuery::by(column, (CHANGES, "started"), Document::new())
    }
}

fn items((job, outcome): (BulkChangeId, Option<BulkOutcome>)) -> ListQuery {
    let column = Column::new("n", ColumnKind::Integer);
    let mut filter = doc! { "change": stored_id(job.to_i64()) };
    put(&mut filter, "outcome", outcome.map(BulkOutcome::name));
    let index = outcome.map_or("change", |_| "outcome");
    ListQuery::by(column, (ITEMS, index), filter)
}

fn read_change(change: &RawDocument) -> Read<BulkChange> {
    let fields = Fields::of(CHANGES, change);
    let number = |outcome: BulkOutcome| {
        let number = fields.i64(outcome.name())?;
        u64::try_from(number).map_err(|_| fields.corrupt(outcome.name()))
    };
    let state = BulkState::named(fields.str("state")?);
    Ok(BulkChange {
        id: BulkChangeId::from_i64(fields.id("_id")?),
        by: fields.string("by")?,
        dry_run: fields.bool("dry_run")?,
        state: state.ok_or_else(|| fields.corrupt("state"))?,
        counts: BulkCounts {
            waiting: number(BulkOutcome::Waiting)?,
            changed: number(BulkOutcome::Changed)?,
            unchanged: number(BulkOutcome::Unchanged)?,
            refused: number(BulkOutcome::Refused)?,
            skipped: number(BulkOutcome::Skipped)?,
        },
        started_at: fields.date("started_at")?,
        ended_at: fields.opt_date("ended_at")?,
        stop: read_stop(&fields)?,
    })
}

fn read_item(item: &RawDocument) -> Read<BulkItem> {
    let fields = Fields::of(ITEMS, item);
    let outcome = BulkOutcome::named(fields.str("outcome")?);
    Ok(BulkItem {
        product: ProductId::from_i64(fields.id("product")?),
        outcome: outcome.ok_or_else(|| fields.corrupt("outcome"))?,
        message: fields.opt_string("message")?,
    })
}
