//! Reference data: categories, suppliers, spec keys. There is little of it, and processes keep it
//! in memory.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use vitrine_model::category::Category;
use vitrine_model::id::SupplierId;
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::Supplier;
use vitrine_model::text::fold;

use crate::documents::reference;
use crate::raw::{Fields, Read, uuid};
use crate::{StorageError, Store};

impl Store {
    /// All categories.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn all_categories(&self) -> Result<Vec<Category>, StorageError> {
        self.read_all("categories", reference::read_category).await
    }

    /// The whole spec dictionary.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn all_spec_keys(&self) -> Result<Vec<SpecKey>, StorageError> {
        self.read_all("spec_keys", reference::read_spec_key).await
    }

    /// The suppliers with these ids, in no particular order. One command.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn get_many_suppliers(
        &self,
        ids: &[SupplierId],
    ) -> Result<Vec<Supplier>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| uuid(id.to_bytes())).collect();
        self.find_suppliers(doc! { "_id": { "$in": ids } }).await
    }

    /// The suppliers with these names, without regard to case and accents.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn suppliers_named(&self, names: &[String]) -> Result<Vec<Supplier>, StorageError> {
        let keys: Vec<String> = names.iter().map(|name| fold(name)).collect();
        self.find_suppliers(doc! { "name_key": { "$in": keys } })
            .await
    }

    /// Stores categories, parents first. Gives whether all were new: from the first on whose slug is
    /// taken, none is stored.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn insert_categories(&self, categories: &[Category]) -> Result<bool, StorageError> {
        let docs = categories.iter().map(reference::category).collect();
        let refused = self.insert_each("categories", docs, true).await?;
        self.raise_reference_version().await?;
        Ok(refused.iter().all(Option::is_none))
    }

    /// Stores suppliers. Gives whether all were new: one whose name is taken is left out.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn insert_suppliers(&self, suppliers: &[Supplier]) -> Result<bool, StorageError> {
        let docs = suppliers.iter().map(reference::supplier).collect();
        let refused = self.insert_each("suppliers", docs, false).await?;
        Ok(refused.iter().all(Option::is_none))
    }

    /// Adds keys to the dictionary. Gives whether all were new: one that is there already stays as
    /// it is.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn insert_spec_keys(&self, keys: &[SpecKey]) -> Result<bool, StorageError> {
        let docs = keys.iter().map(reference::spec_key).collect();
        let refused = self.insert_each("spec_keys", docs, false).await?;
        self.raise_reference_version().await?;
        Ok(refused.iter().all(Option::is_none))
    }

    async fn find_suppliers(&self, filter: Document) -> Result<Vec<Supplier>, StorageError> {
        let collection = self.raw("suppliers");
        let find = collection.find(filter).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found
            .iter()
            .map(|doc| reference::read_supplier(&Fields::of("suppliers", doc)))
            .collect()
    }

    pub(crate) async fn read_all<T>(
        &self,
        collection: &'static str,
        read: impl Fn(&Fields<'_>) -> Read<T>,
    ) -> Result<Vec<T>, StorageError> {
        let documents = self.raw(collection);
        let find = documents.find(Document::new()).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found
            .iter()
            .map(|doc| read(&Fields::of(collection, doc)))
            .collect()
    }
}
