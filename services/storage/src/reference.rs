//! Reference data: categories, suppliers, spec keys and units. It is small, and processes keep it
//! in memory.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use vitrine_model::category::Category;
use vitrine_model::id::SupplierId;
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::Supplier;
use vitrine_model::text::fold;
use vitrine_model::unit::Unit;

use crate::documents::reference;
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest, all_of};
use crate::raw::{Fields, Read, stored_id};
use crate::transaction::retry_contended;
use crate::write::WriteUnit;
use crate::{StorageError, Store};

impl Store {
    /// Returns all categories.
    pub async fn all_categories(&self) -> Result<Vec<Category>, StorageError> {
        self.read_all("categories", reference::read_category).await
    }

    /// Returns the whole spec dictionary.
    pub async fn all_spec_keys(&self) -> Result<Vec<SpecKey>, StorageError> {
        let entries = self.read_all("spec_keys", reference::read_entry).await?;
        Ok(reference::spec_keys(entries))
    }

    /// Returns the units that were defined in addition to the built-in ones.
    pub async fn all_units(&self) -> Result<Vec<Unit>, StorageError> {
        self.read_all("units", reference::read_unit).await
    }

    /// Returns a page of suppliers, by name: of those whose names have words with all these folded beginnings. One
    /// command.
    pub async fn page_suppliers(
        &self,
        beginnings: &[String],
        request: &PageRequest,
    ) -> Result<Page<Supplier>, StorageError> {
        let supplier = |doc: &RawDocument| reference::read_supplier(&Fields::of("suppliers", doc));
        self.read_page(&supplier_list(beginnings), request, supplier)
            .await
    }

    /// Returns whether such a list has suppliers after (or before) this position.
    pub async fn has_supplier(
        &self,
        beginnings: &[String],
        from: Boundary,
    ) -> Result<bool, StorageError> {
        self.has_row(&supplier_list(beginnings), &from).await
    }

    /// Counts the suppliers of such a list. Uses the index `words`.
    pub async fn count_suppliers(&self, beginnings: &[String]) -> Result<u64, StorageError> {
        let collection = self.documents("suppliers");
        let count = collection.count_documents(words_begin(beginnings));
        Ok(count.max_time(self.max_time).await?)
    }

    /// Returns the suppliers with these ids, in no particular order. One command.
    pub async fn get_many_suppliers(
        &self,
        ids: &[SupplierId],
    ) -> Result<Vec<Supplier>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        self.find_suppliers(doc! { "_id": { "$in": ids } }).await
    }

    /// Returns the suppliers with these keys ([`Supplier::keys`]), and all others with these names,
    /// ignoring case and accents. One command, answered by the indexes `keys` and `by_name`.
    pub async fn get_suppliers_by_key(
        &self,
        keys: &[String],
        names: &[String],
    ) -> Result<Vec<Supplier>, StorageError> {
        let names: Vec<String> = names.iter().map(|name| fold(name)).collect();
        let filter = doc! { "$or": [
            { "keys": { "$in": keys } },
            { "name_key": { "$in": names } },
        ] };
        self.find_suppliers(filter).await
    }

    /// Replaces a supplier, if its version is still `expected`. Returns whether it was.
    pub async fn apply_supplier(
        &self,
        supplier: &Supplier,
        expected: i64,
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let mut unit = self.begin_write().await?;
            match unit.replace_supplier(supplier, expected).await {
                Ok(true) => unit.commit().await.map(|()| true),
                other => {
                    unit.abort().await;
                    other
                }
            }
        })
        .await
    }

    /// Inserts categories, parents first, all or none. Returns false, and inserts none, when a slug
    /// is taken.
    pub async fn insert_categories(&self, categories: &[Category]) -> Result<bool, StorageError> {
        retry_contended(async || {
            let mut unit = self.begin_write().await?;
            let stored = unit.insert_categories(categories).await;
            finish(unit, stored).await
        })
        .await
    }

    /// Inserts suppliers. Returns whether all were inserted: a supplier with a key that is
    /// taken is skipped.
    pub async fn insert_suppliers(&self, suppliers: &[Supplier]) -> Result<bool, StorageError> {
        let docs = suppliers.iter().map(reference::supplier).collect();
        let refused = self.insert_each("suppliers", docs, false).await?;
        Ok(refused.iter().all(Option::is_none))
    }

    /// Adds keys to the dictionary, all or none. Returns false, and adds none, when a name is
    /// taken.
    pub async fn insert_spec_keys(&self, keys: &[SpecKey]) -> Result<bool, StorageError> {
        retry_contended(async || {
            let mut unit = self.begin_write().await?;
            let stored = unit.insert_spec_keys(keys).await;
            finish(unit, stored).await
        })
        .await
    }

    pub(crate) async fn find_suppliers(
        &self,
        filter: Document,
    ) -> Result<Vec<Supplier>, StorageError> {
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

/// Commits what was inserted. Returns false after a duplicate key, which is not an error here.
async fn finish(unit: WriteUnit, stored: Result<(), StorageError>) -> Result<bool, StorageError> {
    match stored {
        Ok(()) => unit.commit().await.map(|()| true),
        Err(error) => {
            unit.abort().await;
            match error {
                StorageError::Conflict { .. } => Ok(false),
                error => Err(error),
            }
        }
    }
}

/// The filter for names of which some word begins with each of these. One element of the array must be in the whole
/// range.
fn words_begin(beginnings: &[String]) -> Document {
    let begins = |beginning: &String| {
        let end = format!("{beginning}\u{10ffff}");
        doc! { "name_words": { "$elemMatch": { "$gte": beginning, "$lt": end } } }
    };
    all_of(beginnings.iter().map(begins).collect())
}

fn supplier_list(beginnings: &[String]) -> ListQuery {
    let name = Column::new("name_key", ColumnKind::Text);
    ListQuery {
        window: Vec::new(),
        collection: "suppliers",
        filter: words_begin(beginnings),
        columns: vec![name],
        descending: false,
        index: if beginnings.is_empty() {
            "by_name"
        } else {
            "words"
        },
        merged: false,
        projection: None,
        limit: None,
    }
}
