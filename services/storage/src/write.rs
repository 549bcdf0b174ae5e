//! Changes that happen whole or not at all.
//!
//! A [`WriteUnit`] is one transaction. It reads one snapshot, and what it writes becomes visible
//! with [`WriteUnit::commit`] together with two things that follow from it: how many products the
//! categories hold that it touched, with their generations, by which counts that were made ahead know
//! that they are out of date, and the version of the reference data, by which processes know to read it again.
//! Dropped without a commit, nothing has happened.
//!
//! [`StorageError::Contended`] means that another writer was met: begin a new unit and do it all
//! again.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use vitrine_model::category::Category;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId, ReviewId, SupplierId, random_bytes};
use vitrine_model::product::{Details, Product};
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::Supplier;
use vitrine_model::unit::Unit;

use crate::category_counts::CategoryChange;
use crate::counts::STAMPS;
use crate::documents::product::{self as document, BundledFields, Encoding, OPTIONAL_CONTENT};
use crate::documents::{PRODUCT_VERSION, REFERENCE_VERSION, reference, up_to};
use crate::error::{DUPLICATE_KEY, code};
use crate::products::write_error;
use crate::propagation::COPIES_DUE;
use crate::raw::{Fields, Read, date, stored_id};
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::views::ProductView;
use crate::{StorageError, Store, names, products};

/// How many counters the generation of a category is spread over, so that writers rarely meet; each
/// takes one by chance.
const GENERATION_SHARDS: u8 = 8;
/// How many documents are inserted with one command, which must be smaller than 16 MB; no new
/// document has more than 48 kB.
const MAX_INSERTED: usize = 300;
pub(crate) const MUTATIONS: &str = "mutations";

/// One transaction that writes.
#[derive(Debug)]
pub struct WriteUnit {
    store: Store,
    session: ClientSession,
    /// Which of the counters of a generation it raises.
    shard: u8,
    touched: BTreeMap<CategoryId, CategoryChange>,
    /// Of which products bundles carry what is no longer so, and which bundles were written.
    stale_copies: BTreeSet<ProductId>,
    reference_changed: bool,
    /// Slugs of the products that were written, to be cached after the commit.
    slugs: Vec<(String, ProductId)>,
}

/// What an order that may be repeated was answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A product, as it was then.
    Product(Box<ProductView>),
    /// Anything else, in a form that the caller can read.
    Text(String),
    /// A review in a round, which says itself what it is ([`crate::claims`]).
    Review(ReviewId, i64),
}

/// An order that was carried out before.
#[derive(Clone, Debug)]
pub struct RecordedMutation {
    /// The digest of its input.
    pub input: String,
    /// Its answer.
    pub answer: Answer,
}

impl Store {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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
        })
    }

    /// Inserts products in one transaction with the generations of their categories. Gives the fields of
    /// the unique index, and stores none, when one of them is refused.
    pub(crate) async fn insert_products_together(
        &self,
        products: &[Product],
        encoding: Encoding<'_>,
    ) -> Result<Option<String>, StorageError> {
        let inserted = retry_contended(async || {
            let mut unit = self.begin_write().await?;
            match unit.insert_products(products, encoding).await {
                Ok(()) => unit.commit().await,
                Err(error) => {
                    unit.abort().await;
                    Err(error)
                }
            }
        });
        match inserted.await {
            Ok(()) => Ok(None),
            Err(StorageError::Conflict { key }) => Ok(Some(key)),
            Err(error) => Err(error),
        }
    }
}

impl WriteUnit {
    /// What this order was answered before; `None` when it is new or so old that it was forgotten.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn recall(
        &mut self,
        order: &str,
        now: Timestamp,
    ) -> Result<Option<RecordedMutation>, StorageError> {
        let Some(doc) = self.find_one(MUTATIONS, doc! { "_id": order }).await? else {
            return Ok(None);
        };
        let fields = Fields::of(MUTATIONS, &doc);
        if fields.date("expires_at")? <= now {
            // The server removes it within a minute or so; until then it is in the way.
            self.delete(MUTATIONS, doc! { "_id": order }).await?;
            return Ok(None);
        }
        read_recorded(&fields).map(Some)
    }

    /// Remembers the answer to an order until an instant.
    ///
    /// # Errors
    /// [`StorageError::Contended`] when the same order is being carried out elsewhere.
    pub async fn record(
        &mut self,
        order: &str,
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
            "_id": order,
            "schema_version": REFERENCE_VERSION,
            "input": &recorded.input,
            "answer": answer,
            "expires_at": date(until),
        };
        match self.insert(MUTATIONS, vec![doc]).await {
            Err(StorageError::Conflict { .. }) => Err(StorageError::Contended(
                mongodb::error::Error::custom("the same order is under way"),
            )),
            result => result,
        }
    }

    /// A product as this transaction sees it.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn product(&mut self, id: ProductId) -> Result<Option<ProductView>, StorageError> {
        let found = self
            .find_one(products::COLLECTION, doc! { "_id": stored_id(id.to_i64()) })
            .await?;
        found.map(ProductView::new).transpose()
    }

    /// Products as this transaction sees them; those that are not there are left out.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

    /// Stores a new product.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] with the field (`sku`, `slug`) that another product has; the
    /// transaction is over then.
    pub async fn insert_product(
        &mut self,
        product: &Product,
        encoding: Encoding<'_>,
    ) -> Result<(), StorageError> {
        self.insert_products(std::slice::from_ref(product), encoding)
            .await
    }

    async fn insert_products(
        &mut self,
        products: &[Product],
        encoding: Encoding<'_>,
    ) -> Result<(), StorageError> {
        let names = products.iter().flat_map(|product| {
            let names = names::of_product(product).into_iter();
            names.map(|name| names::product_document(&name, product.id))
        });
        self.insert_names(names.collect()).await?;
        let docs = products
            .iter()
            .map(|product| document::document(product, encoding));
        self.insert(products::COLLECTION, docs.collect()).await?;
        for product in products {
            self.touch(product.category).add(product.status, 1);
            self.written_bundle(product);
            self.slugs.push((names::slug(&product.slug), product.id));
        }
        Ok(())
    }

    async fn insert_names(&mut self, names: Vec<Document>) -> Result<(), StorageError> {
        let taken = self.store.insert_names(&mut self.session, names).await;
        taken.map_err(TransactionError::into_storage)
    }

    /// What a bundle was given of its items may have changed before the bundle can be found.
    fn written_bundle(&mut self, product: &Product) {
        if matches!(&product.details, Details::Bundle(bundle) if !bundle.items.is_empty()) {
            self.stale_copies.insert(product.id);
        }
    }

    /// Replaces what admins write of a product that this transaction has read. What is computed
    /// from reviews is not touched. Returns false, and writes nothing, when its revision is not
    /// `expected` any more, or when it has a newer copy of its supplier than this one.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] with the field (`sku`, `slug`) that another product has; the
    /// transaction is over then.
    pub async fn replace_product(
        &mut self,
        product: &Product,
        expected: i64,
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
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
        let mut filter = doc! {
            "_id": stored_id(product.id.to_i64()),
            "revision": expected,
            "schema_version": up_to(PRODUCT_VERSION),
        };
        if let Some(supplier) = &product.supplier {
            // Copies that follow their supplier do not raise the revision.
            filter.insert(
                "$nor",
                vec![doc! {
                    "supplier._id": stored_id(supplier.id.to_i64()),
                    "supplier.v": { "$gt": supplier.version },
                }],
            );
        }
        let collection = self.store.raw(products::COLLECTION);
        let before = collection
            .find_one_and_update(filter, update)
            .projection(replaced_fields())
            .session(&mut self.session)
            .await;
        let Some(before) = before.map_err(storage_error)? else {
            self.refuse_newer(product.id).await?;
            return Ok(false);
        };
        let fields = Fields::of(products::COLLECTION, &before);
        let (old, new) = (read_names(&fields)?, names::of_product(product));
        let renamed = self
            .store
            .replace_names(&mut self.session, product.id, (&old, &new));
        renamed.await.map_err(TransactionError::into_storage)?;
        if BundledFields::read(&fields)? != BundledFields::of(product) {
            self.stale_copies.insert(product.id);
        }
        self.written_bundle(product);
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

    /// Fails if a product is of a version that only a newer release may write.
    async fn refuse_newer(&mut self, id: ProductId) -> Result<(), StorageError> {
        let found = self
            .find_one(products::COLLECTION, doc! { "_id": stored_id(id.to_i64()) })
            .await?;
        found.map_or(Ok(()), |doc| products::not_newer(&doc))
    }

    /// Changes what products carry of their supplier; so many of each category change.
    pub(crate) async fn carry(
        &mut self,
        filter: Document,
        update: Vec<Document>,
        categories: BTreeSet<CategoryId>,
    ) -> Result<(), StorageError> {
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

    /// The version of the reference data as this transaction sees it.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn reference_version(&mut self) -> Result<i64, StorageError> {
        let found = self
            .find_one("settings", doc! { "_id": "reference" })
            .await?;
        let version = found.map(|doc| Fields::of("settings", &doc).opt_i64("v"));
        Ok(version.transpose()?.flatten().unwrap_or(0))
    }

    /// All categories as this transaction sees them.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn categories(&mut self) -> Result<Vec<Category>, StorageError> {
        self.read_all("categories", reference::read_category).await
    }

    /// The whole spec dictionary as this transaction sees it.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn spec_keys(&mut self) -> Result<Vec<SpecKey>, StorageError> {
        let entries = self.read_all("spec_keys", reference::read_entry).await?;
        Ok(reference::spec_keys(entries))
    }

    /// The units that were defined, as this transaction sees them.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn units(&mut self) -> Result<Vec<Unit>, StorageError> {
        self.read_all("units", reference::read_unit).await
    }

    /// A supplier as this transaction sees it.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn supplier(&mut self, id: SupplierId) -> Result<Option<Supplier>, StorageError> {
        let found = self
            .find_one("suppliers", doc! { "_id": stored_id(id.to_i64()) })
            .await?;
        found
            .map(|doc| reference::read_supplier(&Fields::of("suppliers", &doc)))
            .transpose()
    }

    /// Stores a new category.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when its slug is taken; the transaction is over then.
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

    /// Replaces a category. Gives whether its revision was still `expected`.
    ///
    /// # Errors
    /// As [`WriteUnit::insert_category`].
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

    /// Says by which aspects products of a kind are rated.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn set_kind_dimensions(
        &mut self,
        kind: &str,
        names: &[String],
    ) -> Result<(), StorageError> {
        let of = doc! { "kind": kind };
        self.set_dimensions(format!("kind {kind}"), of, names).await
    }

    /// Says by which aspects products of a category and of all below it are rated.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
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

    /// Stores a new supplier.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when its name is taken; the transaction is over then.
    pub async fn insert_supplier(&mut self, supplier: &Supplier) -> Result<(), StorageError> {
        self.insert("suppliers", vec![reference::supplier(supplier)])
            .await
    }

    /// Replaces a supplier. Gives whether its version was still `expected`.
    ///
    /// # Errors
    /// As [`WriteUnit::insert_supplier`].
    pub async fn replace_supplier(
        &mut self,
        supplier: &Supplier,
        expected: i64,
    ) -> Result<bool, StorageError> {
        let filter = doc! { "_id": stored_id(supplier.id.to_i64()), "v": expected };
        self.replace("suppliers", filter, reference::supplier(supplier))
            .await
    }

    /// Stores a unit.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when there is one with this symbol; the transaction is over then.
    pub async fn insert_unit(&mut self, unit: &Unit) -> Result<(), StorageError> {
        self.reference_changed = true;
        self.insert("units", vec![reference::unit(unit)]).await
    }

    /// Adds a key and its aliases to the dictionary.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when one of the names is taken; the transaction is over then.
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
        }
        self.insert("spec_keys", docs).await
    }

    /// Replaces a key and its aliases. Gives whether its revision was still that of `before`. Names
    /// that are being absorbed stay what they are.
    ///
    /// # Errors
    /// As [`WriteUnit::insert_spec_key`].
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

    /// Notes that products have these keys. Gives whether all of them still are what the caller
    /// takes them for: a key that nobody uses may change its type.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn use_spec_keys(&mut self, keys: &[&SpecKey]) -> Result<bool, StorageError> {
        for key in keys {
            self.reference_changed = true;
            let filter = doc! { "_id": &key.key, "revision": key.revision };
            let update = doc! { "$set": { "used": true } };
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

    /// Turns a key into a name of another one that products still have to be rewritten for. Its
    /// aliases become aliases of the other one. Gives whether both revisions were still those.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn absorb_spec_key(
        &mut self,
        from: &SpecKey,
        into: &SpecKey,
    ) -> Result<bool, StorageError> {
        self.reference_changed = true;
        let raise =
            doc! { "$inc": { "revision": 1_i64 }, "$set": { "used": from.used || into.used } };
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
        let aliases = doc! { "alias_of": &from.key };
        self.update_many(
            "spec_keys",
            aliases,
            doc! { "$set": { "alias_of": &into.key } },
        )
        .await?;
        Ok(true)
    }

    /// Notes that no product carries an absorbed key any more.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn finish_absorbing(&mut self, from: &str) -> Result<(), StorageError> {
        self.reference_changed = true;
        let done = doc! { "$unset": { "absorbing": 1 } };
        self.update_many("spec_keys", doc! { "_id": from, "absorbing": true }, done)
            .await
            .map(drop)
    }

    /// Makes everything visible at once.
    ///
    /// # Errors
    /// [`StorageError::Contended`] when another writer was met; nothing was written then. Any other
    /// error leaves it open whether it was written.
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

    /// As [`WriteUnit::commit`], of a bundle that was given what its items are now: that it was
    /// written is no reason to look at it again.
    ///
    /// # Errors
    /// As there.
    pub async fn commit_copies(mut self) -> Result<(), StorageError> {
        self.stale_copies.clear();
        self.commit().await
    }

    /// Undoes everything. Not needed for correctness: the server undoes what is left alone.
    pub async fn abort(mut self) {
        let _ = self.session.abort_transaction().await;
    }

    /// Notes that a product of this category changes.
    fn touch(&mut self, category: CategoryId) -> &mut CategoryChange {
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
            .update_each(&mut self.session, STAMPS, updates)
            .await;
        match written {
            // Two writers made the first generation of a category at once.
            Err(TransactionError::Driver(error)) if code(&error) == Some(DUPLICATE_KEY) => {
                Err(StorageError::Contended(error))
            }
            result => result.map_err(TransactionError::into_storage),
        }
    }

    async fn write_stale_copies(&mut self) -> Result<(), StorageError> {
        // By its mark whoever has looked knows whether this is still the reason why.
        let mark = stored_id(ProductId::random().to_i64());
        let update = |product: &ProductId| {
            let first = doc! { "schema_version": REFERENCE_VERSION };
            let row = doc! { "_id": stored_id(product.to_i64()) };
            let note = doc! { "$set": { "mark": &mark }, "$setOnInsert": first };
            doc! { "q": row, "u": note, "upsert": true }
        };
        let updates: Vec<Document> = self.stale_copies.iter().map(update).collect();
        let written = self
            .store
            .update_each(&mut self.session, COPIES_DUE, updates)
            .await;
        match written {
            // Two writers noted the same product at once.
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
            // Two writers made the first version at once.
            Err(error) if code(&error) == Some(DUPLICATE_KEY) => {
                Err(StorageError::Contended(error))
            }
            other => other.map(drop).map_err(storage_error),
        }
    }

    async fn find_one(
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

    async fn insert(&mut self, collection: &str, docs: Vec<Document>) -> Result<(), StorageError> {
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
        // Spelled out because the driver's own method drops the key pattern of a refusal.
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

    async fn replace(
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

    async fn update_many(
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

    async fn delete(&mut self, collection: &str, filter: Document) -> Result<(), StorageError> {
        let collection = self.store.documents(collection);
        let deleted = collection
            .delete_many(filter)
            .session(&mut self.session)
            .await;
        deleted.map(drop).map_err(storage_error)
    }
}

/// The fields of a product that is replaced that decide what else is written.
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

/// What is recorded under an idempotency key.
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

/// In a transaction a refusal by a unique index is told apart by its code, and a write conflict by its
/// label.
fn storage_error(error: mongodb::error::Error) -> StorageError {
    if code(&error) == Some(DUPLICATE_KEY) {
        return error.into();
    }
    TransactionError::from(error).into_storage()
}
