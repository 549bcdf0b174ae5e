//! What the sources of a product say, for products whose fields have several owners.
//!
//! A product that one source describes as a whole has no such document: its content is what the
//! source says. With a second source, with one that says some fields only, or with fields that people
//! have edited, each source has an entry here. The product is written in the same transaction, so its sources are always those of
//! the document.
//!
//! Lines for a SKU that no product has yet *wait*: the document reserves the id of the product,
//! which owns the names of the SKU and the sources already. Its `waiting_sku` is removed by the
//! transaction that inserts the product.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::contribution::Contribution;
use vitrine_model::history::ChangedBy;
use vitrine_model::id::ProductId;
use vitrine_model::product::Product;

use crate::documents::contribution as document;
use crate::documents::{REFERENCE_VERSION, up_to};
use crate::names::{self, stored_ids};
use crate::products::Encoding;
use crate::raw::{Fields, Read, stored_id};
use crate::transaction::{TransactionError, retry_contended};
use crate::write::{MAX_INSERT_BATCH, WriteUnit, taken};
use crate::{StorageError, Store};

pub(crate) const COLLECTION: &str = "contributions";

/// What the sources of a product say.
#[derive(Clone, Debug, PartialEq)]
pub struct Contributions {
    /// The product; reserved while it waits.
    pub product: ProductId,
    /// The SKU, while no product has it.
    pub waiting_sku: Option<String>,
    /// Increases with every change.
    pub revision: i64,
    /// Each source with what it says.
    pub all: Vec<Contribution>,
}

impl Contributions {
    /// The names that it owns while it waits.
    pub(crate) fn waiting_names(&self) -> Vec<String> {
        let sources = self.all.iter().map(|one| &one.source);
        let sources = sources.map(|from| names::source(&from.system, &from.external_id));
        let sku = self.waiting_sku.as_deref().map(names::sku);
        sku.into_iter().chain(sources).collect()
    }

    fn name_documents(&self) -> Vec<Document> {
        let names = self.waiting_names().into_iter();
        names
            .map(|name| names::product_document(&name, self.product))
            .collect()
    }
}

pub(crate) fn read(doc: &RawDocumentBuf) -> Read<Contributions> {
    document::read(&Fields::of(COLLECTION, doc))
}

/// A product that gets the SKU of another one, which gets its own or that of a third.
#[derive(Clone, Debug)]
pub struct SkuExchange {
    /// The product as it is to be.
    pub product: Product,
    /// The SKU that it has.
    pub sku_before: String,
    /// The revision that it has.
    pub expected: i64,
    /// Who changes it.
    pub by: ChangedBy,
    /// What its sources say, if that does not follow from the product.
    pub contributions: Option<Vec<Contribution>>,
}

impl Store {
    /// Returns what the sources of these products say; products with one source have nothing. One
    /// command.
    pub async fn get_many_contributions(
        &self,
        products: &[ProductId],
    ) -> Result<Vec<Contributions>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(doc! { "_id": { "$in": stored_ids(products.iter().copied()) } })
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        found.iter().map(read).collect()
    }

    /// Inserts a new product with what its sources say. Returns `None` if it was inserted, otherwise the
    /// field whose value is taken.
    pub async fn insert_merged_product(
        &self,
        product: &Product,
        contributions: &[Contribution],
        encoding: Encoding<'_>,
    ) -> Result<Option<String>, StorageError> {
        let one = std::slice::from_ref(product);
        let inserted = retry_contended(async || {
            let mut unit = self.begin_write().await?;
            let inserted = match unit.insert_products(one, encoding).await {
                Ok(()) => unit.set_contributions(product, contributions).await,
                error => error,
            };
            unit.end(inserted).await
        });
        taken(inserted.await)
    }

    /// Returns whether this SKU belongs to a product that waits. Two commands.
    pub async fn is_waiting_sku(&self, sku: &str) -> Result<bool, StorageError> {
        let names = [names::sku(sku)];
        let owners = self.name_owners(&names).await?;
        let owners: Vec<ProductId> = owners.values().map(|owner| owner.product).collect();
        if owners.is_empty() {
            return Ok(false);
        }
        let found = self.get_many_contributions(&owners).await?;
        Ok(found.iter().any(|one| one.waiting_sku.is_some()))
    }

    /// Inserts products that wait, in batches, and one by one where a batch is refused. Returns for
    /// each `None` if it was inserted, otherwise the field whose value is taken.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some may have been inserted then.
    pub async fn insert_waiting(
        &self,
        waiting: &[Contributions],
    ) -> Result<Vec<Option<String>>, StorageError> {
        let mut refused = Vec::with_capacity(waiting.len());
        for batch in waiting.chunks(MAX_INSERT_BATCH) {
            match self.insert_waiting_together(batch).await {
                Ok(None) => refused.resize(refused.len() + batch.len(), None),
                Ok(Some(_)) | Err(StorageError::Contended(_)) => {
                    for one in batch {
                        let one = std::slice::from_ref(one);
                        refused.push(self.insert_waiting_together(one).await?);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    }

    async fn insert_waiting_together(
        &self,
        waiting: &[Contributions],
    ) -> Result<Option<String>, StorageError> {
        let inserted = retry_contended(async || {
            let mut unit = self.begin_write().await?;
            let inserted = unit.insert_waiting(waiting).await;
            unit.end(inserted).await
        });
        taken(inserted.await)
    }

    /// Replaces what the sources of a waiting product say, with its names. Without sources it stops
    /// waiting, and its names are free. Returns false, and writes nothing, if it has changed since
    /// `before` was read.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when another product has one of the sources.
    pub async fn apply_waiting(
        &self,
        before: &Contributions,
        after: &[Contribution],
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let unit = self.begin_write().await?;
            finish(unit, async |unit| unit.replace_waiting(before, after).await).await
        })
        .await
    }

    /// Replaces the content of a product as [`Store::apply_product_content`] does, with what its
    /// sources say. A product that one source describes as a whole keeps nothing of that. What has
    /// waited for its SKU no longer waits.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when another product has the slug, the SKU or a source.
    pub async fn apply_merged_product(
        &self,
        product: &Product,
        (expected, by): (i64, &ChangedBy),
        (contributions, awaited): (&[Contribution], Option<&Contributions>),
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let unit = self.begin_write().await?;
            finish(unit, async |unit| {
                if let Some(awaited) = awaited
                    && !unit.replace_waiting(awaited, &[]).await?
                {
                    return Ok(false);
                }
                let replaced = unit.replace_product(product, (expected, Some(by)), encoding);
                if !replaced.await? {
                    return Ok(false);
                }
                unit.set_contributions(product, contributions).await?;
                Ok(true)
            })
            .await
        })
        .await
    }

    /// Replaces the contents of products that exchange their SKUs, all or none. Returns false if one of
    /// them has changed since it was read.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when another product has a slug, a SKU or a source.
    pub async fn exchange_skus(
        &self,
        exchanges: &[SkuExchange],
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let unit = self.begin_write().await?;
            finish(unit, async |unit| {
                for one in exchanges {
                    unit.free_sku(one.product.id, &one.sku_before).await?;
                }
                for one in exchanges {
                    let from = (one.expected, Some(&one.by));
                    if !unit.replace_product(&one.product, from, encoding).await? {
                        return Ok(false);
                    }
                    if let Some(all) = &one.contributions {
                        unit.set_contributions(&one.product, all).await?;
                    }
                }
                Ok(true)
            })
            .await
        })
        .await
    }

    /// Inserts the product that waits, with what its sources say. Returns false, and writes
    /// nothing, if `waiting` has changed since it was read.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when the slug or a source is taken.
    pub async fn insert_awaited_product(
        &self,
        product: &Product,
        waiting: &Contributions,
        contributions: &[Contribution],
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let unit = self.begin_write().await?;
            finish(unit, async |unit| {
                let arrived = unit.insert_awaited(product, waiting, encoding).await?;
                if arrived {
                    unit.set_contributions(product, contributions).await?;
                }
                Ok(arrived)
            })
            .await
        })
        .await
    }
}

/// Commits the work if it returns true.
async fn finish(
    mut unit: WriteUnit,
    work: impl AsyncFnOnce(&mut WriteUnit) -> Result<bool, StorageError>,
) -> Result<bool, StorageError> {
    match work(&mut unit).await {
        Ok(true) => unit.commit().await.map(|()| true),
        other => {
            unit.abort().await;
            other
        }
    }
}

impl WriteUnit {
    /// Returns the product that waits for this SKU, as this transaction sees it.
    pub async fn waiting_product(
        &mut self,
        sku: &str,
    ) -> Result<Option<Contributions>, StorageError> {
        let name = doc! { "_id": names::sku(sku) };
        let Some(owner) = self.find_one(names::NAMES, name).await? else {
            return Ok(None);
        };
        let product = Fields::of(names::NAMES, &owner).id("product")?;
        let found = self.contributions(ProductId::from_i64(product)).await?;
        Ok(found.filter(|found| found.waiting_sku.is_some()))
    }

    /// Inserts the product that waits; its sources stay. Returns whether it still waited.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when the slug or a source is taken; the server has aborted the
    /// transaction then.
    pub async fn insert_awaited(
        &mut self,
        product: &Product,
        waiting: &Contributions,
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
        let arrived = Contributions {
            waiting_sku: None,
            revision: waiting.revision + 1,
            ..waiting.clone()
        };
        if !self.replace_contributions(waiting, &arrived).await? {
            return Ok(false);
        }
        let own = waiting.waiting_names();
        self.insert_with_reserved_names(product, &own, encoding)
            .await?;
        Ok(true)
    }

    async fn insert_waiting(&mut self, waiting: &[Contributions]) -> Result<(), StorageError> {
        let names = waiting.iter().flat_map(Contributions::name_documents);
        self.insert_names(names.collect()).await?;
        let docs = waiting.iter().map(document::document);
        self.insert(COLLECTION, docs.collect()).await
    }

    async fn replace_waiting(
        &mut self,
        before: &Contributions,
        after: &[Contribution],
    ) -> Result<bool, StorageError> {
        let new = Contributions {
            waiting_sku: before.waiting_sku.clone().filter(|_| !after.is_empty()),
            revision: before.revision + 1,
            all: after.to_vec(),
            ..before.clone()
        };
        let changed = if after.is_empty() {
            self.delete(COLLECTION, unchanged(before)).await? == 1
        } else {
            self.replace_contributions(before, &new).await?
        };
        if !changed {
            return Ok(false);
        }
        let (old, new) = (before.waiting_names(), new.waiting_names());
        self.replace_names(before.product, (&old, &new)).await?;
        Ok(true)
    }

    async fn replace_contributions(
        &mut self,
        before: &Contributions,
        after: &Contributions,
    ) -> Result<bool, StorageError> {
        self.replace(COLLECTION, unchanged(before), document::document(after))
            .await
    }

    /// Returns what the sources of a product say, as this transaction sees it; `None` if it follows
    /// from the product.
    pub async fn contributions(
        &mut self,
        product: ProductId,
    ) -> Result<Option<Contributions>, StorageError> {
        let own = doc! { "_id": stored_id(product.to_i64()) };
        let found = self.find_one(COLLECTION, own).await?;
        found.as_ref().map(read).transpose()
    }

    /// Stores what the sources of a product say, of which nothing was stored because it followed from
    /// the product.
    pub async fn insert_contributions(
        &mut self,
        product: ProductId,
        all: Vec<Contribution>,
    ) -> Result<(), StorageError> {
        let new = Contributions {
            product,
            waiting_sku: None,
            revision: 1,
            all,
        };
        self.insert(COLLECTION, vec![document::document(&new)])
            .await
    }

    /// Stores what the sources of a product say that this transaction writes, if that does not follow
    /// from the product.
    pub async fn set_contributions(
        &mut self,
        product: &Product,
        all: &[Contribution],
    ) -> Result<(), StorageError> {
        let stored = self.contributions(product.id).await?;
        match stored {
            _ if !product.has_contributions() => {
                let own = doc! { "_id": stored_id(product.id.to_i64()) };
                self.delete(COLLECTION, own).await.map(drop)
            }
            None => self.insert_contributions(product.id, all.to_vec()).await,
            Some(before) => {
                let after = Contributions {
                    waiting_sku: None,
                    revision: before.revision + 1,
                    all: all.to_vec(),
                    ..before.clone()
                };
                if self.replace_contributions(&before, &after).await? {
                    return Ok(());
                }
                Err(StorageError::Newer {
                    collection: COLLECTION,
                    id: product.id.to_string(),
                })
            }
        }
    }

    /// Replaces the names of a product.
    async fn replace_names(
        &mut self,
        product: ProductId,
        names: (&[String], &[String]),
    ) -> Result<(), StorageError> {
        let (store, session) = self.parts();
        let replaced = store.replace_names(session, product, names).await;
        replaced.map_err(TransactionError::into_storage)
    }
}

/// The filter of contributions that have not changed since they were read.
fn unchanged(before: &Contributions) -> Document {
    doc! {
        "_id": stored_id(before.product.to_i64()),
        "revision": before.revision,
        "schema_version": up_to(REFERENCE_VERSION),
    }
}
