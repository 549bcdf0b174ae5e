//! Extended references: copies that follow their source. Products contain a copy of their supplier,
//! bundles contain copies of their items.
//!
//! The work is stored, so that it continues after a crash. A supplier records which of its versions
//! all of its products have. A product that changed has a row in `stale_copies` until the bundles
//! that contain it have been checked. Each copy records the version it was taken from, and is never
//! replaced by an older version.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId, SupplierId, random_number};
use vitrine_model::product::Kind;
use vitrine_model::supplier::{Supplier, SupplierExtract};

use crate::audit::Difference;
use crate::batch::{Batch, in_parts};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, product, reference};
use crate::raw::{Fields, Read, stored_id};
use crate::transaction::retry_contended;
use crate::{StorageError, Store, products};

/// The collection of products whose name, price or status changed, and of bundles that were
/// written: copies of the former and in the latter may be stale.
pub(crate) const STALE_COPIES: &str = "stale_copies";

/// A product with an old version of its supplier.
struct StaleProduct {
    id: ProductId,
    category: CategoryId,
    country: Option<String>,
}

/// A product whose copies may be stale, or a bundle that may contain stale copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleCopy {
    /// The product.
    pub product: ProductId,
    /// Changes with each new reason to check, so that a worker deletes only the row that it has
    /// read.
    mark: i64,
}

impl Store {
    /// Returns the suppliers that are marked as not yet propagated to all of their products.
    pub async fn unpropagated_suppliers(&self) -> Result<Vec<Supplier>, StorageError> {
        let collection = self.raw("suppliers");
        let find = collection
            .find(doc! { "behind": true })
            .hint(Hint::Name("behind".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| reference::read_supplier(&Fields::of("suppliers", doc));
        found.iter().map(read).collect()
    }

    /// Returns the suppliers of which some product has an older version, whether the supplier is
    /// marked or not: a product that was written during a change of its supplier may have missed
    /// it. Reads one key of the index `supplier` for each supplier.
    pub async fn suppliers_with_stale_copies(&self) -> Result<Vec<Supplier>, StorageError> {
        let oldest = [
            doc! { "$sort": { "supplier._id": 1, "supplier.v": 1 } },
            doc! { "$group": { "_id": "$supplier._id", "v": { "$first": "$supplier.v" } } },
            doc! { "$lookup": {
                "from": "suppliers", "localField": "_id", "foreignField": "_id", "as": "own",
            } },
            doc! { "$replaceRoot": { "newRoot": { "$mergeObjects": [
                { "$first": "$own" },
                { "copied_v": "$v" },
            ] } } },
            doc! { "$match": { "$expr": { "$lt": ["$copied_v", "$v"] } } },
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

    /// Counts the products with an older version of a supplier. Covered by the index `supplier`.
    pub async fn count_stale_supplier_copies(
        &self,
        supplier: &Supplier,
    ) -> Result<u64, StorageError> {
        let collection = self.raw(products::COLLECTION);
        let counted = collection
            .count_documents(with_stale_copy(supplier))
            .hint(supplier_index());
        Ok(counted.max_time(self.max_time).await?)
    }

    /// Updates the supplier's copy in at most `max` products; finds none when all are current.
    ///
    /// A product is written only while its copy has an older version, so concurrent changes of the
    /// supplier or of the product are not lost.
    ///
    /// # Errors
    /// [`StorageError`] when nothing could be read; safe to repeat.
    pub async fn propagate_supplier(
        &self,
        supplier: &Supplier,
        now: Timestamp,
        max: u32,
    ) -> Result<Batch, StorageError> {
        let found = self.find_stale_products(supplier, max).await?;
        let (moved, renamed): (Vec<StaleProduct>, Vec<StaleProduct>) = found
            .into_iter()
            .partition(|product| product.country != supplier.country);
        let change = &SupplierChange {
            supplier,
            extract: supplier.extract(now),
        };
        let renames = in_parts(&renamed, |some| self.propagate_name(change, some)).await;
        let moves = in_parts(&moved, |some| {
            retry_contended(move || self.propagate_country(change, some))
        });
        Ok(renames.and(moves.await))
    }

    /// Only the copy depends on the name.
    async fn propagate_name(
        &self,
        change: &SupplierChange<'_>,
        products: &[StaleProduct],
    ) -> Result<(), StorageError> {
        let collection = self.documents(products::COLLECTION);
        let update = doc! { "$set": { "supplier": product::supplier(&change.extract) } };
        let mut filter = change.of(products);
        // A product whose country changed since it was read is found again.
        filter.insert("supplier.country", change.supplier.country.as_deref());
        let _write = self.product_write(products.iter().map(|product| product.id));
        let updated = collection.update_many(filter, update);
        updated.await?;
        Ok(())
    }

    /// The country is one of the tokens, so facets change with it: the generations of the
    /// categories are increased in the same transaction.
    async fn propagate_country(
        &self,
        change: &SupplierChange<'_>,
        products: &[StaleProduct],
    ) -> Result<(), StorageError> {
        let mut unit = self.begin_write().await?;
        let categories = products.iter().map(|product| product.category).collect();
        let update = product::supplier_stages(&change.extract);
        let mut filter = change.of(products);
        // A product that changed category since it was read is found again.
        let read = products
            .iter()
            .map(|product| stored_id(product.category.to_i64()));
        filter.insert("category", doc! { "$in": read.collect::<Vec<Bson>>() });
        let ids = products.iter().map(|product| product.id);
        let applied = unit.apply_supplier_copy(ids, (filter, update), categories);
        match applied.await {
            Ok(()) => unit.commit().await,
            Err(error) => {
                unit.abort().await;
                Err(error)
            }
        }
    }

    async fn find_stale_products(
        &self,
        supplier: &Supplier,
        max: u32,
    ) -> Result<Vec<StaleProduct>, StorageError> {
        let collection = self.raw(products::COLLECTION);
        let find = collection
            .find(with_stale_copy(supplier))
            .projection(doc! { "category": 1, "supplier.country": 1 })
            .hint(supplier_index())
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| -> Read<StaleProduct> {
            let fields = Fields::of(products::COLLECTION, doc);
            Ok(StaleProduct {
                id: ProductId::from_i64(fields.id("_id")?),
                category: CategoryId::from_i64(fields.id("category")?),
                country: fields.doc("supplier")?.opt_string("country")?,
            })
        };
        found.iter().map(read).collect()
    }

    /// Records that all products have this version of a supplier, unless the supplier has changed
    /// since.
    pub async fn mark_supplier_propagated(&self, supplier: &Supplier) -> Result<(), StorageError> {
        let filter = doc! { "_id": stored_id(supplier.id.to_i64()), "v": supplier.version };
        let update = doc! {
            "$set": { "propagated_v": supplier.version },
            "$unset": { "behind": 1 },
        };
        let collection = self.documents("suppliers");
        let updated = collection.update_one(filter, update);
        updated.await?;
        Ok(())
    }

    /// Returns a supplier by its id.
    pub async fn get_supplier(&self, id: SupplierId) -> Result<Option<Supplier>, StorageError> {
        Ok(self.get_many_suppliers(&[id]).await?.pop())
    }

    /// Returns at most `max` products and bundles after this one whose copies are to be checked.
    pub async fn stale_copies(
        &self,
        after: Option<ProductId>,
        max: u32,
    ) -> Result<Vec<StaleCopy>, StorageError> {
        let collection = self.raw(STALE_COPIES);
        let with_stale_copy =
            |after: ProductId| doc! { "_id": { "$gt": stored_id(after.to_i64()) } };
        let find = collection
            .find(after.map(with_stale_copy).unwrap_or_default())
            .sort(doc! { "_id": 1 })
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let read = |doc: &RawDocumentBuf| {
            let fields = Fields::of(STALE_COPIES, doc);
            Ok(StaleCopy {
                product: ProductId::from_i64(fields.id("_id")?),
                mark: fields.id("mark")?,
            })
        };
        found.iter().map(read).collect()
    }

    /// Returns the approximate number of products and bundles to check.
    pub async fn count_stale_copies(&self) -> Result<u64, StorageError> {
        let collection = self.raw(STALE_COPIES);
        Ok(collection.estimated_document_count().await?)
    }

    /// Returns at most `max` bundles with an older revision of a product; for a bundle, the bundle
    /// itself if its copies are older. Relies on the index `bundle_items`.
    pub async fn stale_bundles(
        &self,
        product: ProductId,
        revision: i64,
        max: u32,
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
            .limit(i64::from(max));
        self.product_ids(find).await
    }

    /// Returns items of bundles that differ from their products although no check is pending.
    pub(crate) async fn audit_bundles(&self) -> Result<Vec<Difference>, StorageError> {
        let text = |of: Option<&Bson>| of.unwrap_or(&Bson::Null).to_string();
        let difference = |item: &Document| Difference {
            place: format!("products {}", text(item.get("_id"))),
            what: "item of a bundle".to_owned(),
            stored: text(item.get("details")),
            expected: text(item.get("now")),
        };
        let found = self.stale_items(100).await?;
        Ok(found.iter().map(difference).collect())
    }

    /// Marks at most `max` bundles for a check whose items differ from their products although no
    /// check is pending: someone may have changed the database by hand. Returns the number of items
    /// found. Reads all bundles with their products.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; safe to repeat.
    pub async fn mark_stale_bundles(&self, max: u32) -> Result<usize, StorageError> {
        let found = self.stale_items(max).await?;
        let note = |item: &Document| {
            let first = doc! {
                "schema_version": REFERENCE_VERSION,
                "mark": stored_id(random_number()),
            };
            let row = doc! { "_id": item.get("_id") };
            doc! { "q": row, "u": { "$setOnInsert": first }, "upsert": true }
        };
        if !found.is_empty() {
            let command = doc! {
                "update": STALE_COPIES,
                "updates": found.iter().map(note).collect::<Vec<_>>(),
                "ordered": false,
            };
            self.write(command).await?;
        }
        Ok(found.len())
    }

    /// Finds items of bundles that differ from their products. Bundles of a newer version are left
    /// to the newer release.
    async fn stale_items(&self, max: u32) -> Result<Vec<Document>, StorageError> {
        let copy =
            |field: &str| doc! { "$ifNull": [format!("$details.items.{field}"), Bson::Null] };
        let own = |field: &str| doc! { "$ifNull": [format!("$now.{field}"), Bson::Null] };
        let differs = |field: &str| doc! { "$ne": [copy(field), own(field)] };
        let pending = |id: &str, to: &str| {
            doc! { "$lookup": {
                "from": STALE_COPIES, "localField": id, "foreignField": "_id", "as": to,
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
            pending("details.items.product_id", "due"),
            pending("_id", "own"),
            doc! { "$match": { "due": [], "own": [] } },
            doc! { "$limit": i64::from(max) },
        ];
        let collection = self.documents(products::COLLECTION);
        let found = collection
            .aggregate(pipeline)
            .hint(Hint::Name("bundle_items".to_owned()));
        Ok(found.await?.try_collect().await?)
    }

    /// Deletes the rows of checked copies, unless there is a new reason to check them.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; the copies are checked again then.
    pub async fn clear_stale_copies(&self, done: &[StaleCopy]) -> Result<(), StorageError> {
        if done.is_empty() {
            return Ok(());
        }
        let row = |pending: &StaleCopy| doc! { "_id": stored_id(pending.product.to_i64()), "mark": stored_id(pending.mark) };
        let deletes = done
            .iter()
            .map(|pending| doc! { "q": row(pending), "limit": 1 })
            .collect::<Vec<_>>();
        let command = doc! {
            "delete": STALE_COPIES,
            "deletes": deletes,
        };
        self.write(command).await?;
        Ok(())
    }
}

/// Products with an older version of a supplier, except those of a newer release.
fn with_stale_copy(supplier: &Supplier) -> Document {
    doc! {
        "supplier._id": stored_id(supplier.id.to_i64()),
        "supplier.v": { "$lt": supplier.version },
        "schema_version": { "$lte": PRODUCT_VERSION },
    }
}

/// A version of a supplier, and the copy of it for products.
struct SupplierChange<'a> {
    supplier: &'a Supplier,
    extract: SupplierExtract,
}

impl SupplierChange<'_> {
    /// Returns the filter for those of these products that still have an older version.
    fn of(&self, products: &[StaleProduct]) -> Document {
        let ids = products
            .iter()
            .map(|product| stored_id(product.id.to_i64()));
        let mut filter = with_stale_copy(self.supplier);
        filter.insert("_id", doc! { "$in": ids.collect::<Vec<Bson>>() });
        filter
    }
}

fn supplier_index() -> Hint {
    Hint::Name("supplier".to_owned())
}
