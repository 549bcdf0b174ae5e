//! Copies that follow what they were copied from: what products carry of their supplier, and what
//! bundles carry of the products in them.
//!
//! What is to be done is stored, so that it can be gone on with after a crash: a supplier says
//! which version all of its products carry, and a product that changed stands in `stale_copies`
//! until the bundles with it were looked at. A copy says which version it was taken from, and no
//! copy is ever replaced by one of an older version.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::product::Kind;
use vitrine_model::supplier::{Supplier, SupplierExtract};

use crate::audit::Difference;
use crate::batch::{Batch, in_parts};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, product, reference};
use crate::raw::{Fields, Read, stored_id};
use crate::store::durable;
use crate::transaction::retry_contended;
use crate::{StorageError, Store, products};

/// Products whose name, price or state changed, and bundles that were written: what is copied of
/// them, or by them, may be out of date.
pub(crate) const COPIES_DUE: &str = "stale_copies";

/// A product that carries an older version of its supplier.
struct Behind {
    id: ProductId,
    category: CategoryId,
    country: Option<String>,
}

/// A product that may have copies, or a bundle that may have some, that are out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleCopy {
    /// The product.
    pub product: ProductId,
    /// Another one each time there is a new reason to look.
    mark: i64,
}

impl Store {
    /// The suppliers whose products do not all carry their newest version yet, as far as the
    /// suppliers themselves know.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn changed_suppliers(&self) -> Result<Vec<Supplier>, StorageError> {
        let collection = self.raw("suppliers");
        let find = collection
            .find(doc! { "behind": true })
            .hint(Hint::Name("behind".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| reference::read_supplier(&Fields::of("suppliers", doc));
        found.iter().map(read).collect()
    }

    /// The suppliers of whom some product carries an older version, whatever the suppliers say: a
    /// product that was written in the very moment of a change may have missed it. Reads one key
    /// of the index `supplier` for each supplier.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn suppliers_carried_too_old(&self) -> Result<Vec<Supplier>, StorageError> {
        let oldest = [
            doc! { "$sort": { "supplier._id": 1, "supplier.v": 1 } },
            doc! { "$group": { "_id": "$supplier._id", "v": { "$first": "$supplier.v" } } },
            doc! { "$lookup": {
                "from": "suppliers", "localField": "_id", "foreignField": "_id", "as": "own",
            } },
            doc! { "$replaceRoot": { "newRoot": { "$mergeObjects": [
                { "$first": "$own" },
                { "carried": "$v" },
            ] } } },
            doc! { "$match": { "$expr": { "$lt": ["$carried", "$v"] } } },
        ];
        let collection = self.raw(products::COLLECTION);
        let found = collection
            .aggregate(oldest)
            .hint(supplier_index())
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| reference::read_supplier(&Fields::of("suppliers", doc));
        found.iter().map(read).collect()
    }

    /// How many products carry an older version of a supplier. Reads the index `supplier` only.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn count_behind(&self, supplier: &Supplier) -> Result<u64, StorageError> {
        let collection = self.raw(products::COLLECTION);
        let counted = collection
            .count_documents(behind(supplier))
            .hint(supplier_index());
        Ok(counted.max_time(self.max_time).await?)
    }

    /// Gives products the newest version of their supplier, at most so many. None are found when
    /// all carry it.
    ///
    /// Each is written only while it carries an older version, so that neither a change of the
    /// supplier nor one of the product in the meantime is lost.
    ///
    /// # Errors
    /// [`StorageError`] when nothing could be read; it may be called again.
    pub async fn carry_supplier(
        &self,
        supplier: &Supplier,
        now: Timestamp,
        most: u32,
    ) -> Result<Batch, StorageError> {
        let found = self.products_behind(supplier, most).await?;
        let (moved, renamed): (Vec<Behind>, Vec<Behind>) = found
            .into_iter()
            .partition(|product| product.country != supplier.country);
        let change = &Change {
            supplier,
            extract: supplier.extract(now),
        };
        let renames = in_parts(&renamed, |some| self.carry_names(change, some)).await;
        let moves = in_parts(&moved, |some| {
            retry_contended(move || self.carry_country(change, some))
        });
        Ok(renames.and(moves.await))
    }

    /// Nothing else follows from the name.
    async fn carry_names(
        &self,
        change: &Change<'_>,
        products: &[Behind],
    ) -> Result<(), StorageError> {
        let collection = self.documents(products::COLLECTION);
        let update = doc! { "$set": { "supplier": product::supplier(&change.extract) } };
        let mut filter = change.of(products);
        // One that got another country since it was read is met again.
        filter.insert("supplier.country", change.supplier.country.as_deref());
        let updated = collection.update_many(filter, update);
        updated.write_concern(durable()).await?;
        Ok(())
    }

    /// The country stands among the tokens, so facets change with it: the generations of the categories
    /// are raised in the same transaction.
    async fn carry_country(
        &self,
        change: &Change<'_>,
        products: &[Behind],
    ) -> Result<(), StorageError> {
        let mut unit = self.begin_write().await?;
        let categories = products.iter().map(|product| product.category).collect();
        let update = product::carried_supplier(&change.extract);
        let mut filter = change.of(products);
        // One that was moved elsewhere since it was read is met again.
        let read = products
            .iter()
            .map(|product| stored_id(product.category.to_i64()));
        filter.insert("category", doc! { "$in": read.collect::<Vec<Bson>>() });
        match unit.carry(filter, update, categories).await {
            Ok(()) => unit.commit().await,
            Err(error) => {
                unit.abort().await;
                Err(error)
            }
        }
    }

    async fn products_behind(
        &self,
        supplier: &Supplier,
        most: u32,
    ) -> Result<Vec<Behind>, StorageError> {
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(behind(supplier))
            .projection(doc! { "category": 1, "supplier.country": 1 })
            .hint(supplier_index())
            .limit(i64::from(most));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| -> Read<Behind> {
            let fields = Fields::of(products::COLLECTION, doc);
            Ok(Behind {
                id: ProductId::from_i64(fields.id("_id")?),
                category: CategoryId::from_i64(fields.id("category")?),
                country: fields.doc("supplier")?.opt_string("country")?,
            })
        };
        found.iter().map(read).collect()
    }

    /// Notes that all products carry this version of a supplier, unless it has changed since.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn supplier_propagated(&self, supplier: &Supplier) -> Result<(), StorageError> {
        let filter = doc! { "_id": stored_id(supplier.id.to_i64()), "v": supplier.version };
        let update = doc! {
            "$set": { "propagated_v": supplier.version },
            "$unset": { "behind": 1 },
        };
        let collection = self.documents("suppliers");
        let updated = collection.update_one(filter, update);
        updated.write_concern(durable()).await?;
        Ok(())
    }

    /// A supplier by its id.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn get_supplier(&self, id: SupplierId) -> Result<Option<Supplier>, StorageError> {
        Ok(self.get_many_suppliers(&[id]).await?.pop())
    }

    /// Products and bundles behind this one whose copies are to be looked at, at most so many.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn stale_copies(
        &self,
        after: Option<ProductId>,
        most: u32,
    ) -> Result<Vec<StaleCopy>, StorageError> {
        let collection = self.raw(COPIES_DUE);
        let behind = |after: ProductId| doc! { "_id": { "$gt": stored_id(after.to_i64()) } };
        let find = collection
            .find(after.map(behind).unwrap_or_default())
            .sort(doc! { "_id": 1 })
            .limit(i64::from(most));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(COPIES_DUE, doc);
            Ok(StaleCopy {
                product: ProductId::from_i64(fields.id("_id")?),
                mark: fields.id("mark")?,
            })
        };
        found.iter().map(read).collect()
    }

    /// How many products and bundles are to be looked at.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn count_stale_copies(&self) -> Result<u64, StorageError> {
        let collection = self.raw(COPIES_DUE);
        Ok(collection.estimated_document_count().await?)
    }

    /// The bundles that carry an older revision of a product, at most so many; of a bundle itself,
    /// the bundle. Relies on the index `bundle_items`.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn bundles_behind(
        &self,
        product: ProductId,
        revision: i64,
        most: u32,
    ) -> Result<Vec<ProductId>, StorageError> {
        let older =
            doc! { "product_id": stored_id(product.to_i64()), "version": { "$lt": revision } };
        let filter = doc! {
            "kind": Kind::Bundle.name(),
            "details.items": { "$elemMatch": older },
            "schema_version": { "$lte": PRODUCT_VERSION },
        };
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("bundle_items".to_owned()))
            .limit(i64::from(most));
        self.product_ids(find).await
    }

    /// Items of bundles that are not what their products are, although nobody is to look at them.
    pub(crate) async fn audit_bundles(&self) -> Result<Vec<Difference>, StorageError> {
        let text = |of: Option<&Bson>| of.unwrap_or(&Bson::Null).to_string();
        let told = |item: &Document| Difference {
            place: format!("products {}", text(item.get("_id"))),
            what: "item of a bundle".to_owned(),
            stored: text(item.get("details")),
            expected: text(item.get("now")),
        };
        let found = self.stale_items(100).await?;
        Ok(found.iter().map(told).collect())
    }

    /// Notes that some bundles are to be looked at that carry what is no longer so, although nothing
    /// was noted: somebody may have written by hand. Returns how many it found. Reads all bundles with
    /// the products in them.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; it may be called again.
    pub async fn note_stale_bundles(&self, most: u32) -> Result<usize, StorageError> {
        let found = self.stale_items(most).await?;
        let note = |item: &Document| {
            let first = doc! {
                "schema_version": REFERENCE_VERSION,
                "mark": stored_id(ProductId::random().to_i64()),
            };
            let row = doc! { "_id": item.get("_id") };
            doc! { "q": row, "u": { "$setOnInsert": first }, "upsert": true }
        };
        if !found.is_empty() {
            let command = doc! {
                "update": COPIES_DUE,
                "updates": found.iter().map(note).collect::<Vec<_>>(),
                "ordered": false,
                "writeConcern": crate::store::durable_document(),
            };
            self.db.run_command(command).await?;
        }
        Ok(found.len())
    }

    /// Items of bundles that are not what their products are. A bundle of a newer version is for a
    /// newer release to judge.
    async fn stale_items(&self, most: u32) -> Result<Vec<Document>, StorageError> {
        let copy =
            |field: &str| doc! { "$ifNull": [format!("$details.items.{field}"), Bson::Null] };
        let own = |field: &str| doc! { "$ifNull": [format!("$now.{field}"), Bson::Null] };
        let differs = |field: &str| doc! { "$ne": [copy(field), own(field)] };
        let due = |id: &str, to: &str| {
            doc! { "$lookup": {
                "from": COPIES_DUE, "localField": id, "foreignField": "_id", "as": to,
            } }
        };
        let pipeline = [
            doc! { "$match": {
                "kind": Kind::Bundle.name(),
                "schema_version": { "$lte": PRODUCT_VERSION },
            } },
            doc! { "$project": { "details.items": 1 } },
            doc! { "$unwind": "$details.items" },
            doc! { "$lookup": {
                "from": products::COLLECTION,
                "localField": "details.items.product_id",
                "foreignField": "_id",
                "pipeline": [{ "$project": {
                    "name": 1, "price": 1, "listed": { "$eq": ["$status", "active"] },
                } }],
                "as": "now",
            } },
            doc! { "$set": { "now": { "$first": "$now" } } },
            doc! { "$match": { "$expr": { "$or": [
                differs("name"), differs("price"), differs("listed"),
            ] } } },
            due("details.items.product_id", "due"),
            due("_id", "own"),
            doc! { "$match": { "due": [], "own": [] } },
            doc! { "$limit": i64::from(most) },
        ];
        let collection = self.documents(products::COLLECTION);
        let found = collection
            .aggregate(pipeline)
            .hint(Hint::Name("bundle_items".to_owned()));
        Ok(found.await?.try_collect().await?)
    }

    /// Notes that copies were looked at, unless there is a new reason to.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; they are looked at again then.
    pub async fn copies_done(&self, done: &[StaleCopy]) -> Result<(), StorageError> {
        if done.is_empty() {
            return Ok(());
        }
        let seen = |due: &StaleCopy| doc! { "_id": stored_id(due.product.to_i64()), "mark": stored_id(due.mark) };
        let deletes = done
            .iter()
            .map(|due| doc! { "q": seen(due), "limit": 1 })
            .collect::<Vec<_>>();
        let command = doc! {
            "delete": COPIES_DUE,
            "deletes": deletes,
            "writeConcern": crate::store::durable_document(),
        };
        self.db.run_command(command).await?;
        Ok(())
    }
}

/// Products that carry an older version of a supplier, without those of a newer release.
fn behind(supplier: &Supplier) -> Document {
    doc! {
        "supplier._id": stored_id(supplier.id.to_i64()),
        "supplier.v": { "$lt": supplier.version },
        "schema_version": { "$lte": PRODUCT_VERSION },
    }
}

/// What products get of a supplier.
struct Change<'a> {
    supplier: &'a Supplier,
    extract: SupplierExtract,
}

impl Change<'_> {
    /// Those of some products that still carry an older version.
    fn of(&self, products: &[Behind]) -> Document {
        let ids = products
            .iter()
            .map(|product| stored_id(product.id.to_i64()));
        let mut filter = behind(self.supplier);
        filter.insert("_id", doc! { "$in": ids.collect::<Vec<Bson>>() });
        filter
    }
}

fn supplier_index() -> Hint {
    Hint::Name("supplier".to_owned())
}
