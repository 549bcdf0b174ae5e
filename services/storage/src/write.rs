//! Transactions that write the catalogue.
//!
//! A [`WriteUnit`] is one transaction. It reads one snapshot, and its writes become visible with
//! [`WriteUnit::commit`] together with two consequences: the product counts and generations of the
//! categories it touched, by which precomputed counts are recognized as stale, and the version of
//! the reference data, by which processes know when to reload it. Dropped without a commit, it
//! changes nothing.
//!
//! [`StorageError::Contended`] means a write conflict: begin a new unit and repeat all of it.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use vitrine_model::category::Category;
use vitrine_model::clock::Timestamp;
use vitrine_model::history::ChangedBy;
use vitrine_model::id::{CategoryId, ProductId, ReviewId, SupplierId, random_bytes, random_number};
use vitrine_model::product::{Details, Product};
use vitrine_model::spec::{KeyUsage, SpecKey};
use vitrine_model::supplier::Supplier;
use vitrine_model::text::fold;
use vitrine_model::unit::Unit;

use crate::category_counts::CategoryChange;
use crate::counts::GENERATIONS;
use crate::documents::product::{self as document, BundledFields, Encoding, OPTIONAL_CONTENT};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, reference, up_to};
use crate::error::{DUPLICATE_KEY, code};
use crate::product_writes::ProductWrite;
use crate::products::write_error;
use crate::propagation::STALE_COPIES;
use crate::raw::{Fields, Read, date, stored_id};
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::views::ProductView;
use crate::{StorageError, Store, names, products};

/// Over how many counters the generation of a category is sharded, so that writers rarely conflict;
/// each unit picks one at random.
const GENERATION_SHARDS: u8 = 8;
/// How many documents are inserted with one command, which must be smaller than 16 MB; a new
/// document has at most 48 kB.
const MAX_INSERTED: usize = 300;
pub(crate) const MUTATIONS: &str = "mutations";

/// A transaction that writes.
#[derive(Debug)]
pub struct WriteUnit {
    store: Store,
    session: ClientSession,
    /// The shard of the generation counters that it increments.
    shard: u8,
    touched: BTreeMap<CategoryId, CategoryChange>,
    /// The products whose copies in bundles may be stale, and the bundles that were written.
    stale_copies: BTreeSet<ProductId>,
    reference_changed: bool,
    /// The slugs of the products written, to be cached after the commit.
    slugs: Vec<(String, ProductId)>,
    /// Announces the products written when the transaction has ended.
    write: ProductWrite,
}

/// The recorded answer to a mutation with an idempotency key.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A product, as it was then.
    Product(Box<ProductView>),
    /// Any other answer, in the caller's own encoding.
    Text(String),
    /// The id and round of a review; its current contents are the answer ([`crate::claims`]).
    Review(ReviewId, i64),
}

/// A mutation that was executed before.
#[derive(Clone, Debug)]
pub struct RecordedMutation {
    /// The digest of its input.
    pub input: String,
    /// Its answer.
    pub answer: Answer,
}

impl Store {
    /// Begins a transaction.
    pub async fn begin_write(&self) -> Result<WriteUnit, StorageError> {
        let session = self.begin().await.map_err(TransactionError::into_storage)?;
        Ok(WriteUnit {
            store: self.clone(),
            session,
            shard: random_bytes::<1>()[0] % GENERATION_SHARDS,
            touched: BTreeMap::new(),
            stale_copies: BTreeSet::new(),
            reference_changed: false,
            slugs: Vec::new(),
            write: self.product_write([]),
        })
    }

    /// Inserts products in one transaction with the generations of their categories. After a
    /// duplicate key it inserts none, and returns the fields of the unique index.
    pub(crate) async fn insert_products_together(
        &self,
        products: &[Product],
        encoding: Encoding<'_>,
    ) -> Result<Option<String>, StorageError> {
        let inserted = retry_contended(async || {
            let mut unit = self.begin_write().await?;
            let inserted = unit.insert_products(products, encoding).await;
            unit.end(inserted).await
        });
        taken(inserted.await)
    }
}

/// Returns the fields of the unique index that refused an insert; `None` if it was inserted.
pub(crate) fn taken(inserted: Result<(), StorageError>) -> Result<Option<String>, StorageError> {
    match inserted {
        Ok(()) => Ok(None),
        Err(StorageError::Conflict { key }) => Ok(Some(key)),
        Err(error) => Err(error),
    }
}

/// The maximum number of products inserted in one transaction. A product has about a hundred index
/// entries, and the server aborts transactions that use too much of its cache.
pub(crate) const MAX_INSERT_BATCH: usize = 250;

impl WriteUnit {
    /// Commits if the work has succeeded, otherwise aborts.
    pub(crate) async fn end(self, work: Result<(), StorageError>) -> Result<(), StorageError> {
        if work.is_ok() {
            return self.commit().await;
        }
        self.abort().await;
        work
    }

    /// Returns the recorded mutation with this key; `None` when there is none or it has expired.
    pub async fn get_mutation(
        &mut self,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<RecordedMutation>, StorageError> {
        let Some(doc) = self.find_one(MUTATIONS, doc! { "_id": key }).await? else {
            return Ok(None);
        };
        let fields = Fields::of(MUTATIONS, &doc);
        if fields.date("expires_at")? <= now {
            // The TTL monitor removes it within about a minute; until then it blocks the key.
            self.delete(MUTATIONS, doc! { "_id": key }).await?;
            return Ok(None);
        }
        read_recorded(&fields).map(Some)
    }

    /// Records a mutation under its key until an instant.
    ///
    /// # Errors
    /// [`StorageError::Contended`] when another process is executing the same mutation.
    pub async fn record(
        &mut self,
        key: &str,
        recorded: &RecordedMutation,
        until: Timestamp,
    ) -> Result<(), StorageError> {
        let answer = match &recorded.answer {
            Answer::Text(text) => doc! { "text": text },
            Answer::Product(view) => doc! { "product": view.to_document()? },
            Answer::Review(id, round) => {
                doc! { "review": stored_id(id.to_i64()), "round": *round }
            }
        };
        let doc = doc! {
            "_id": key,
            "schema_version": REFERENCE_VERSION,
            "input": &recorded.input,
            "answer": answer,
            "expires_at": date(until),
        };
        match self.insert(MUTATIONS, vec![doc]).await {
            Err(StorageError::Conflict { .. }) => Err(StorageError::Contended(
                mongodb::error::Error::custom("the same mutation is being executed"),
            )),
            result => result,
        }
    }

    /// Returns a product as this transaction sees it.
    pub async fn product(&mut self, id: ProductId) -> Result<Option<ProductView>, StorageError> {
        let found = self
            .find_one(products::COLLECTION, doc! { "_id": stored_id(id.to_i64()) })
            .await?;
        found.map(ProductView::new).transpose()
    }

    /// Returns products as this transaction sees them; missing ones are left out.
    pub async fn products(&mut self, ids: &[ProductId]) -> Result<Vec<ProductView>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let collection = self.store.raw(products::COLLECTION);
        let find = collection.find(doc! { "_id": { "$in": ids } });
        let cursor = find.session(&mut self.session).await;
        let mut cursor = cursor.map_err(storage_error)?;
        let mut found = Vec::new();
        while let Some(doc) = cursor.next(&mut self.session).await {
            found.push(ProductView::new(doc.map_err(storage_error)?)?);
        }
        Ok(found)
    }

    /// Inserts a new product.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] with the field (`sku`, `slug`) whose value is taken; the server
    /// has aborted the transaction then.
    pub async fn insert_product(
        &mut self,
        product: &Product,
        encoding: Encoding<'_>,
    ) -> Result<(), StorageError> {
        self.insert_products(std::slice::from_ref(product), encoding)
            .await
    }

    pub(crate) async fn insert_products(
        &mut self,
        products: &[Product],
        encoding: Encoding<'_>,
    ) -> Result<(), StorageError> {
        let names = products.iter().flat_map(|product| {
            let names = names::of_product(product).into_iter();
            names.map(|name| names::product_document(&name, product.id))
        });
        self.insert_names(names.collect()).await?;
        self.insert_named(products, encoding).await
    }

    /// Inserts a product that owns some of its names already.
    pub(crate) async fn insert_with_reserved_names(
        &mut self,
        product: &Product,
        reserved: &[String],
        encoding: Encoding<'_>,
    ) -> Result<(), StorageError> {
        let names = names::of_product(product).into_iter();
        let names = names.filter(|name| !reserved.contains(name));
        let names = names.map(|name| names::product_document(&name, product.id));
        self.insert_names(names.collect()).await?;
        self.insert_named(std::slice::from_ref(product), encoding)
            .await
    }

    /// Inserts products whose names are inserted.
    async fn insert_named(
        &mut self,
        products: &[Product],
        encoding: Encoding<'_>,
    ) -> Result<(), StorageError> {
        self.write.add(products.iter().map(|product| product.id));
        let docs = products
            .iter()
            .map(|product| document::document(product, encoding));
        self.insert(products::COLLECTION, docs.collect()).await?;
        for product in products {
            self.touch(product.category).add(product.status, 1);
            self.mark_bundle_written(product);
            self.slugs.push((names::slug(&product.slug), product.id));
        }
        Ok(())
    }

    /// The store and the session of the transaction.
    pub(crate) const fn parts(&mut self) -> (&Store, &mut ClientSession) {
        (&self.store, &mut self.session)
    }

    pub(crate) async fn insert_names(&mut self, names: Vec<Document>) -> Result<(), StorageError> {
        let taken = self.store.insert_names(&mut self.session, names).await;
        taken.map_err(TransactionError::into_storage)
    }

    /// The copies in a bundle may have become stale before the bundle itself could be found.
    fn mark_bundle_written(&mut self, product: &Product) {
        if matches!(&product.details, Details::Bundle(bundle) if !bundle.items.is_empty()) {
            self.stale_copies.insert(product.id);
        }
    }

    /// Replaces the content of a product that this transaction has read. Data computed from reviews
    /// is kept. Records the change in the product's history, unless only copies of other documents
    /// are refreshed: then nobody has changed the product. Returns false, and writes nothing, when
    /// the revision is no longer `expected` or the stored copy of the supplier is newer.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] with the field (`sku`, `slug`) whose value is taken; the server
    /// has aborted the transaction then.
    pub async fn replace_product(
        &mut self,
        product: &Product,
        (expected, by): (i64, Option<&ChangedBy>),
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
        self.write.add([product.id]);
        let collection = self.store.raw(products::COLLECTION);
        let filter = replaceable(product, expected);
        let mut replace = collection.find_one_and_update(filter, content_update(product, encoding));
        if by.is_none() {
            replace = replace.projection(replaced_fields());
        }
        let before = replace.session(&mut self.session).await;
        let Some(before) = before.map_err(storage_error)? else {
            self.ensure_not_newer(product.id).await?;
            return Ok(false);
        };
        if let Some(by) = by {
            let before = ProductView::new(before.clone())?.product()?;
            self.record_product_change(&before, product, by).await?;
        }
        let fields = Fields::of(products::COLLECTION, &before);
        let (old, new) = (read_names(&fields)?, names::of_product(product));
        let renamed = self
            .store
            .replace_names(&mut self.session, product.id, (&old, &new));
        renamed.await.map_err(TransactionError::into_storage)?;
        if BundledFields::read(&fields)? != BundledFields::of(product) {
            self.stale_copies.insert(product.id);
        }
        self.mark_bundle_written(product);
        self.slugs.push((names::slug(&product.slug), product.id));
        let before = document::read_category(&fields)?;
        self.touch(before).add(document::read_status(&fields)?, -1);
        let after = if before == product.category {
            self.touched.entry(before).or_default()
        } else {
            self.touch(product.category)
        };
        after.add(product.status, 1);
        Ok(true)
    }

    /// Takes the name of its SKU from a product, which gets another in the same transaction.
    pub(crate) async fn free_sku(
        &mut self,
        product: ProductId,
        sku: &str,
    ) -> Result<(), StorageError> {
        let own = doc! { "_id": names::sku(sku), "product": stored_id(product.to_i64()) };
        self.delete(names::NAMES, own).await.map(drop)
    }

    /// Fails if only a newer release may write the product.
    async fn ensure_not_newer(&mut self, id: ProductId) -> Result<(), StorageError> {
        let found = self
            .find_one(products::COLLECTION, doc! { "_id": stored_id(id.to_i64()) })
            .await?;
        found.map_or(Ok(()), |doc| products::not_newer(&doc))
    }

    /// Updates the supplier's copy in those of these products that match a filter, and touches each
    /// of their categories.
    pub(crate) async fn apply_supplier_copy(
        &mut self,
        products: impl Iterator<Item = ProductId>,
        (filter, update): (Document, Vec<Document>),
        categories: BTreeSet<CategoryId>,
    ) -> Result<(), StorageError> {
        self.write.add(products);
        let collection = self.store.documents(products::COLLECTION);
        let updated = collection
            .update_many(filter, update)
            .session(&mut self.session)
            .await;
        updated.map_err(storage_error)?;
        for category in categories {
            self.touch(category);
        }
        Ok(())
    }

    /// Returns the version of the reference data as this transaction sees it.
    pub async fn reference_version(&mut self) -> Result<i64, StorageError> {
        let found = self
            .find_one("settings", doc! { "_id": "reference" })
            .await?;
        let version = found.map(|doc| Fields::of("settings", &doc).opt_i64("v"));
        Ok(version.transpose()?.flatten().unwrap_or(0))
    }

    /// Returns all categories as this transaction sees them.
    pub async fn categories(&mut self) -> Result<Vec<Category>, StorageError> {
        self.read_all("categories", reference::read_category).await
    }

    /// Returns the whole spec dictionary as this transaction sees it.
    pub async fn spec_keys(&mut self) -> Result<Vec<SpecKey>, StorageError> {
        let entries = self.read_all("spec_keys", reference::read_entry).await?;
        Ok(reference::spec_keys(entries))
    }

    /// Returns the defined units as this transaction sees them.
    pub async fn units(&mut self) -> Result<Vec<Unit>, StorageError> {
        self.read_all("units", reference::read_unit).await
    }

    /// Returns a supplier as this transaction sees it.
    pub async fn supplier(&mut self, id: SupplierId) -> Result<Option<Supplier>, StorageError> {
        let found = self
            .find_one("suppliers", doc! { "_id": stored_id(id.to_i64()) })
            .await?;
        found
            .map(|doc| reference::read_supplier(&Fields::of("suppliers", &doc)))
            .transpose()
    }

    /// Whether another supplier has this name, ignoring case and accents. Those with an id in their
    /// source do not count: several may have one name.
    pub async fn has_supplier_named(
        &mut self,
        name: &str,
        other_than: SupplierId,
    ) -> Result<bool, StorageError> {
        let filter = doc! {
            "name_key": fold(name),
            "origin": { "$exists": false },
            "_id": { "$ne": stored_id(other_than.to_i64()) },
        };
        Ok(self.find_one("suppliers", filter).await?.is_some())
    }

    /// Inserts a new category.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when its slug is taken; the server has aborted the transaction
    /// then.
    pub async fn insert_category(&mut self, category: &Category) -> Result<(), StorageError> {
        self.insert_categories(std::slice::from_ref(category)).await
    }

    pub(crate) async fn insert_categories(
        &mut self,
        categories: &[Category],
    ) -> Result<(), StorageError> {
        self.reference_changed = true;
        let docs = categories.iter().map(reference::category).collect();
        self.insert("categories", docs).await
    }

    /// Replaces a category. Returns whether its revision was still `expected`.
    ///
    /// # Errors
    /// Fails as [`WriteUnit::insert_category`].
    pub async fn replace_category(
        &mut self,
        category: &Category,
        expected: i64,
    ) -> Result<bool, StorageError> {
        self.reference_changed = true;
        let filter = doc! { "_id": stored_id(category.id.to_i64()), "revision": expected };
        self.replace("categories", filter, reference::category(category))
            .await
    }

    /// Sets the review dimensions of products of a kind.
    pub async fn set_kind_dimensions(
        &mut self,
        kind: &str,
        names: &[String],
    ) -> Result<(), StorageError> {
        let of = doc! { "kind": kind };
        self.set_dimensions(format!("kind {kind}"), of, names).await
    }

    /// Sets the review dimensions of products of a category and its subcategories.
    pub async fn set_category_dimensions(
        &mut self,
        category: CategoryId,
        names: &[String],
    ) -> Result<(), StorageError> {
        let of = doc! { "category": stored_id(category.to_i64()) };
        self.set_dimensions(format!("category {category}"), of, names)
            .await
    }

    async fn set_dimensions(
        &mut self,
        id: String,
        of: Document,
        names: &[String],
    ) -> Result<(), StorageError> {
        self.reference_changed = true;
        let mut set = doc! { "schema_version": REFERENCE_VERSION, "names": names };
        set.extend(of);
        let collection = self.store.documents(crate::reviewing::DIMENSIONS);
        let update = collection.update_one(doc! { "_id": id }, doc! { "$set": set });
        let updated = update.upsert(true).session(&mut self.session).await;
        updated.map(drop).map_err(storage_error)
    }

    /// Inserts a new supplier.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when one of its keys is taken; the server has aborted the
    /// transaction then.
    pub async fn insert_supplier(&mut self, supplier: &Supplier) -> Result<(), StorageError> {
        self.insert("suppliers", vec![reference::supplier(supplier)])
            .await
    }

    /// Replaces a supplier. Returns whether its version was still `expected`.
    ///
    /// # Errors
    /// Fails as [`WriteUnit::insert_supplier`].
    pub async fn replace_supplier(
        &mut self,
        supplier: &Supplier,
        expected: i64,
    ) -> Result<bool, StorageError> {
        let filter = doc! { "_id": stored_id(supplier.id.to_i64()), "v": expected };
        self.replace("suppliers", filter, reference::supplier(supplier))
            .await
    }

    /// Inserts a unit.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when its symbol is taken; the server has aborted the transaction
    /// then.
    pub async fn insert_unit(&mut self, unit: &Unit) -> Result<(), StorageError> {
        self.reference_changed = true;
        self.insert("units", vec![reference::unit(unit)]).await
    }

    /// Adds a key and its aliases to the dictionary.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when one of the names is taken; the server has aborted the
    /// transaction then.
    pub async fn insert_spec_key(&mut self, key: &SpecKey) -> Result<(), StorageError> {
        self.insert_spec_keys(std::slice::from_ref(key)).await
    }

    pub(crate) async fn insert_spec_keys(&mut self, keys: &[SpecKey]) -> Result<(), StorageError> {
        self.reference_changed = true;
        let mut docs = Vec::with_capacity(keys.len());
        for key in keys {
            docs.push(reference::spec_key(key));
            let aliases = key.aliases.iter();
            docs.extend(aliases.map(|alias| reference::alias(alias, &key.key, false)));
            let absorbing = key.absorbing.iter();
            docs.extend(absorbing.map(|name| reference::alias(name, &key.key, true)));
        }
        self.insert("spec_keys", docs).await
    }

    /// Replaces a key and its aliases. Returns whether its revision was still that of `before`.
    /// Names that are being absorbed are kept.
    ///
    /// # Errors
    /// Fails as [`WriteUnit::insert_spec_key`].
    pub async fn replace_spec_key(
        &mut self,
        before: &SpecKey,
        after: &SpecKey,
    ) -> Result<bool, StorageError> {
        self.reference_changed = true;
        let filter = doc! { "_id": &before.key, "revision": before.revision };
        if !self
            .replace("spec_keys", filter, reference::spec_key(after))
            .await?
        {
            return Ok(false);
        }
        let gone = before
            .aliases
            .iter()
            .filter(|name| !after.aliases.contains(name) && !before.absorbing.contains(name));
        let gone: Vec<&String> = gone.collect();
        if !gone.is_empty() {
            self.delete(
                "spec_keys",
                doc! { "_id": { "$in": gone }, "alias_of": &before.key },
            )
            .await?;
        }
        let new = after
            .aliases
            .iter()
            .filter(|name| !before.aliases.contains(name));
        let new: Vec<Document> = new
            .map(|name| reference::alias(name, &after.key, false))
            .collect();
        if !new.is_empty() {
            self.insert("spec_keys", new).await?;
        }
        Ok(true)
    }

    /// Marks the values of a key as rewritten to its type.
    pub async fn finish_new_type(&mut self, key: &str) -> Result<(), StorageError> {
        self.reference_changed = true;
        let done = doc! { "$unset": { "earlier_type": 1 } };
        self.update_many("spec_keys", doc! { "_id": key }, done)
            .await
            .map(drop)
    }

    /// Changes the type of a key that only one feed has used. Returns false, and writes nothing, if its
    /// revision has changed or somebody else has used it.
    pub async fn guess_again(
        &mut self,
        before: &SpecKey,
        after: &SpecKey,
    ) -> Result<bool, StorageError> {
        self.reference_changed = true;
        let filter = doc! {
            "_id": &before.key,
            "revision": before.revision,
            "guessed_by": before.guessed_by.as_deref(),
        };
        self.replace("spec_keys", filter, reference::spec_key(after))
            .await
    }

    /// Raises the usage of keys, and forgets which feed the type follows from where the given key names
    /// none. Returns false when the revision of one has changed: an unused key
    /// may change its type.
    pub async fn use_spec_keys(
        &mut self,
        keys: &[(SpecKey, KeyUsage)],
    ) -> Result<bool, StorageError> {
        for (key, usage) in keys {
            self.reference_changed = true;
            let filter = doc! { "_id": &key.key, "revision": key.revision };
            let published = key.usage.max(*usage) == KeyUsage::Published;
            let mut update = doc! { "$set": { "used": true, "published": published } };
            if key.guessed_by.is_none() {
                update.insert("$unset", doc! { "guessed_by": 1 });
            }
            let collection = self.store.documents("spec_keys");
            let updated = collection
                .update_one(filter, update)
                .session(&mut self.session)
                .await;
            if updated.map_err(storage_error)?.matched_count == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Turns a key into an absorbed alias of another key; products still have to be rewritten. Its
    /// aliases become aliases of the other key. Returns whether both revisions were unchanged.
    pub async fn absorb_spec_key(
        &mut self,
        from: &SpecKey,
        into: &SpecKey,
    ) -> Result<bool, StorageError> {
        self.reference_changed = true;
        let usage = from.usage.max(into.usage);
        let marks = doc! {
            "used": usage >= KeyUsage::Used,
            "published": usage >= KeyUsage::Published,
        };
        let raise = doc! {
            "$inc": { "revision": 1_i64 },
            "$set": marks,
            "$unset": { "guessed_by": 1 },
        };
        let alias = reference::alias(&from.key, &into.key, true);
        let steps = [
            (
                doc! { "_id": &into.key, "revision": into.revision },
                raise,
                false,
            ),
            (
                doc! { "_id": &from.key, "revision": from.revision },
                alias,
                true,
            ),
        ];
        for (filter, update, replace) in steps {
            let done = if replace {
                self.replace("spec_keys", filter, update).await?
            } else {
                self.update_many("spec_keys", filter, update).await? == 1
            };
            if !done {
                return Ok(false);
            }
        }
        self.forget_spec_key_history(&from.key).await?;
        let aliases = doc! { "alias_of": &from.key };
        self.update_many(
            "spec_keys",
            aliases,
            doc! { "$set": { "alias_of": &into.key } },
        )
        .await?;
        Ok(true)
    }

    /// Records that no product has an absorbed key any more.
    pub async fn finish_absorbing(&mut self, from: &str) -> Result<(), StorageError> {
        self.reference_changed = true;
        let done = doc! { "$unset": { "absorbing": 1 } };
        self.update_many("spec_keys", doc! { "_id": from, "absorbing": true }, done)
            .await
            .map(drop)
    }

    /// Commits all writes.
    ///
    /// # Errors
    /// [`StorageError::Contended`] after a write conflict; nothing was written then. After any
    /// other error it is unknown whether the transaction was committed.
    pub async fn commit(mut self) -> Result<(), StorageError> {
        self.write_generations().await?;
        self.write_stale_copies().await?;
        if self.reference_changed {
            self.raise_reference_version().await?;
        }
        let committed = commit(&mut self.session).await;
        committed.map_err(TransactionError::into_storage)?;
        for (slug, product) in self.slugs {
            self.store.name_cache.insert(slug, product);
        }
        Ok(())
    }

    /// Commits like [`WriteUnit::commit`], for a bundle whose copies have just been refreshed: it
    /// is not marked for another check.
    ///
    /// # Errors
    /// Fails as [`WriteUnit::commit`].
    pub async fn commit_refreshed_bundle(mut self) -> Result<(), StorageError> {
        self.stale_copies.clear();
        self.commit().await
    }

    /// Aborts the transaction. Not needed for correctness: the server aborts abandoned
    /// transactions.
    pub async fn abort(mut self) {
        let _ = self.session.abort_transaction().await;
    }

    /// Records a change of a product of this category.
    fn touch(&mut self, category: CategoryId) -> &mut CategoryChange {
        self.write.change_counts();
        let change = self.touched.entry(category).or_default();
        change.generation += 1;
        change
    }

    async fn write_generations(&mut self) -> Result<(), StorageError> {
        let changes = self.touched.iter();
        let updates = changes.map(|(category, change)| change.update(*category, self.shard));
        let updates = updates.collect();
        let written = self
            .store
            .update_each(&mut self.session, GENERATIONS, updates)
            .await;
        match written {
            // Two writers inserted the first counter of a category concurrently.
            Err(TransactionError::Driver(error)) if code(&error) == Some(DUPLICATE_KEY) => {
                Err(StorageError::Contended(error))
            }
            result => result.map_err(TransactionError::into_storage),
        }
    }

    async fn write_stale_copies(&mut self) -> Result<(), StorageError> {
        // A worker deletes the row only if the mark is unchanged, so a newer change is not lost.
        let mark = stored_id(random_number());
        let update = |product: &ProductId| {
            let first = doc! { "schema_version": REFERENCE_VERSION };
            let row = doc! { "_id": stored_id(product.to_i64()) };
            let note = doc! { "$set": { "mark": &mark }, "$setOnInsert": first };
            doc! { "q": row, "u": note, "upsert": true }
        };
        let updates: Vec<Document> = self.stale_copies.iter().map(update).collect();
        let written = self
            .store
            .update_each(&mut self.session, STALE_COPIES, updates)
            .await;
        match written {
            // Two writers inserted a row for the same product concurrently.
            Err(TransactionError::Driver(error)) if code(&error) == Some(DUPLICATE_KEY) => {
                Err(StorageError::Contended(error))
            }
            result => result.map_err(TransactionError::into_storage),
        }
    }

    async fn raise_reference_version(&mut self) -> Result<(), StorageError> {
        let first = doc! { "schema_version": REFERENCE_VERSION };
        let raise = doc! { "$inc": { "v": 1_i64 }, "$setOnInsert": first };
        let collection = self.store.documents("settings");
        let update = collection.update_one(doc! { "_id": "reference" }, raise);
        let raised = update.upsert(true).session(&mut self.session).await;
        match raised {
            // Two writers inserted the first version concurrently.
            Err(error) if code(&error) == Some(DUPLICATE_KEY) => {
                Err(StorageError::Contended(error))
            }
            other => other.map(drop).map_err(storage_error),
        }
    }

    pub(crate) async fn find_one(
        &mut self,
        collection: &str,
        filter: Document,
    ) -> Result<Option<RawDocumentBuf>, StorageError> {
        let collection = self.store.raw(collection);
        let found = collection.find_one(filter).session(&mut self.session).await;
        found.map_err(storage_error)
    }

    async fn read_all<T>(
        &mut self,
        collection: &'static str,
        read: impl Fn(&Fields<'_>) -> Read<T>,
    ) -> Result<Vec<T>, StorageError> {
        let documents = self.store.raw(collection);
        let cursor = documents.find(Document::new()).session(&mut self.session);
        let mut cursor = cursor.await.map_err(storage_error)?;
        let mut all = Vec::new();
        while let Some(doc) = cursor.next(&mut self.session).await {
            let doc = doc.map_err(storage_error)?;
            all.push(read(&Fields::of(collection, &doc))?);
        }
        Ok(all)
    }

    pub(crate) async fn insert(
        &mut self,
        collection: &str,
        docs: Vec<Document>,
    ) -> Result<(), StorageError> {
        let mut docs = docs.into_iter().peekable();
        while docs.peek().is_some() {
            let some = docs.by_ref().take(MAX_INSERTED).collect();
            self.insert_some(collection, some).await?;
        }
        Ok(())
    }

    async fn insert_some(
        &mut self,
        collection: &str,
        docs: Vec<Document>,
    ) -> Result<(), StorageError> {
        // Written as a command because the driver's own method drops the key pattern of a duplicate
        // key error.
        let command = doc! { "insert": collection, "documents": docs, "ordered": true };
        let run = self.store.db.run_command(command);
        let reply = run
            .session(&mut self.session)
            .await
            .map_err(storage_error)?;
        let refused = reply.get_array("writeErrors").ok();
        match refused.and_then(|errors| errors.first()) {
            None => Ok(()),
            Some(error) => {
                let (_, key) = write_error(error)?;
                Err(StorageError::Conflict { key })
            }
        }
    }

    pub(crate) async fn replace(
        &mut self,
        collection: &str,
        filter: Document,
        document: Document,
    ) -> Result<bool, StorageError> {
        let mut filter = filter;
        filter.insert("schema_version", up_to(REFERENCE_VERSION));
        let collection = self.store.documents(collection);
        let replaced = collection
            .replace_one(filter, document)
            .session(&mut self.session)
            .await;
        Ok(replaced.map_err(storage_error)?.matched_count == 1)
    }

    pub(crate) async fn update_many(
        &mut self,
        collection: &str,
        filter: Document,
        update: Document,
    ) -> Result<u64, StorageError> {
        let collection = self.store.documents(collection);
        let updated = collection
            .update_many(filter, update)
            .session(&mut self.session)
            .await;
        Ok(updated.map_err(storage_error)?.matched_count)
    }

    pub(crate) async fn delete(
        &mut self,
        collection: &str,
        filter: Document,
    ) -> Result<u64, StorageError> {
        let collection = self.store.documents(collection);
        let deleted = collection
            .delete_many(filter)
            .session(&mut self.session)
            .await;
        let deleted = deleted.map_err(storage_error)?;
        Ok(deleted.deleted_count)
    }
}

/// The filter of a product with the expected revision and no newer copy of its supplier.
fn replaceable(product: &Product, expected: i64) -> Document {
    let mut filter = doc! {
        "_id": stored_id(product.id.to_i64()),
        "revision": expected,
        "schema_version": up_to(PRODUCT_VERSION),
    };
    if let Some(supplier) = &product.supplier {
        // Propagating a supplier does not increase the revision.
        filter.insert(
            "$nor",
            vec![doc! {
                "supplier._id": stored_id(supplier.id.to_i64()),
                "supplier.v": { "$gt": supplier.version },
            }],
        );
    }
    filter
}

fn content_update(product: &Product, encoding: Encoding<'_>) -> Document {
    let mut content = document::content(product, encoding);
    let lacking = OPTIONAL_CONTENT
        .iter()
        .filter(|field| !content.contains_key(**field));
    let unset: Document = lacking
        .map(|field| ((*field).to_owned(), Bson::Int32(1)))
        .collect();
    content.insert("schema_version", PRODUCT_VERSION);
    let mut update = doc! { "$set": content };
    if !unset.is_empty() {
        update.insert("$unset", unset);
    }
    update
}

/// The fields of the replaced product that determine the other writes.
fn replaced_fields() -> Document {
    let mut fields = BundledFields::fields();
    fields.extend(doc! { "sku": 1, "slug": 1, "sources": 1, "category": 1, "status": 1 });
    fields
}

fn read_names(fields: &Fields<'_>) -> Read<Vec<String>> {
    let mut all = vec![
        names::sku(fields.str("sku")?),
        names::slug(fields.str("slug")?),
    ];
    let sources = fields.docs("sources", document::read_source)?;
    let sources = sources.iter();
    all.extend(sources.map(|from| names::source(&from.system, &from.external_id)));
    Ok(all)
}

/// Decodes the mutation recorded under an idempotency key.
pub(crate) fn read_recorded(fields: &Fields<'_>) -> Read<RecordedMutation> {
    let answer = fields.doc("answer")?;
    let answer = if let Some(text) = answer.opt_str("text")? {
        Answer::Text(text.to_owned())
    } else if let Some(id) = answer.opt_id("review")? {
        Answer::Review(ReviewId::from_i64(id), answer.i64("round")?)
    } else {
        Answer::Product(Box::new(ProductView::new(answer.doc("product")?.owned())?))
    };
    Ok(RecordedMutation {
        input: fields.string("input")?,
        answer,
    })
}

/// Maps an error within a transaction: a duplicate key is recognized by its code, a write conflict
/// by its label.
fn storage_error(error: mongodb::error::Error) -> StorageError {
    if code(&error) == Some(DUPLICATE_KEY) {
        return error.into();
    }
    TransactionError::from(error).into_storage()
}
