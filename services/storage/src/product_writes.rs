//! Announces the products that this process writes, to those that keep products in memory.
//!
//! Every function that sends a write of `products` holds a [`ProductWrite`] until the server has replied, or until its
//! transaction has ended. A caller thus never learns of a write before it is announced. The tests compare the commands
//! that were sent with the announcements ([`crate::unannounced`]).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use mongodb::bson::{Bson, Document};
use vitrine_model::id::ProductId;

use crate::unannounced::Unannounced;
use crate::{Store, products};

/// The products of a write that has ended, whether or not it succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenProducts<'a> {
    /// These may have changed.
    These(&'a [ProductId]),
    /// Any product may have changed.
    Any,
}

/// Called after every write of products, before its caller learns of it.
pub type ProductListener = dyn Fn(WrittenProducts<'_>) + Send + Sync;

/// The listeners of a [`Store`] and its clones.
#[derive(Default)]
pub(crate) struct ProductWrites {
    listeners: Mutex<Vec<Weak<ProductListener>>>,
    /// How many transactions have ended that may have changed what is counted by facets.
    counted: AtomicU64,
    /// For tests: what has been written.
    pub(crate) unannounced: Arc<Unannounced>,
}

impl fmt::Debug for ProductWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProductWrites").finish_non_exhaustive()
    }
}

impl ProductWrites {
    fn announce(&self, written: WrittenProducts<'_>) {
        self.tell(written);
        self.unannounced.announced(written);
    }

    fn tell(&self, written: WrittenProducts<'_>) {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| match listener.upgrade() {
            Some(listener) => {
                listener(written);
                true
            }
            None => false,
        });
    }
}

/// A write of products. Announces them when it is dropped, however the write ends: one without an answer may have been
/// applied.
#[derive(Debug)]
#[must_use = "it announces the products when it is dropped, which must be after the write"]
pub(crate) struct ProductWrite {
    writes: Arc<ProductWrites>,
    /// `None` for any product.
    products: Option<Vec<ProductId>>,
    /// Whether it changes what facets count.
    changes_counts: bool,
}

impl ProductWrite {
    /// Adds products that the write may change.
    pub(crate) fn add(&mut self, products: impl IntoIterator<Item = ProductId>) {
        if let Some(known) = &mut self.products {
            known.extend(products);
        }
    }

    /// Notes that the write changes what facets count.
    pub(crate) fn change_counts(&mut self) {
        self.changes_counts = true;
    }
}

impl Drop for ProductWrite {
    fn drop(&mut self) {
        if self.changes_counts {
            self.writes.counted.fetch_add(1, Ordering::AcqRel);
        }
        match self.products.as_deref() {
            Some([]) => {}
            Some(products) => self.writes.announce(WrittenProducts::These(products)),
            None => self.writes.announce(WrittenProducts::Any),
        }
    }
}

impl Store {
    /// Calls a listener after every write of products through this handle and its clones, as long as the listener
    /// exists.
    pub fn on_product_writes(&self, listener: &Arc<ProductListener>) {
        let listeners = self.product_writes.listeners.lock();
        let mut listeners = listeners.unwrap_or_else(PoisonError::into_inner);
        listeners.push(Arc::downgrade(listener));
    }

    /// Tells the listeners that any product may have changed: for tests that change products without this crate.
    pub fn announce_any_product(&self) {
        self.product_writes.tell(WrittenProducts::Any);
        self.product_writes.counted.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a number that rises when a write of this process that changes what facets count has ended, before its
    /// caller learns of it.
    #[must_use]
    pub fn counted_writes(&self) -> u64 {
        self.product_writes.counted.load(Ordering::Acquire)
    }

    /// Begins a write of these products.
    pub(crate) fn product_write(
        &self,
        products: impl IntoIterator<Item = ProductId>,
    ) -> ProductWrite {
        ProductWrite {
            writes: Arc::clone(&self.product_writes),
            products: Some(products.into_iter().collect()),
            changes_counts: false,
        }
    }

    /// Begins the write of a command.
    pub(crate) fn write_of(&self, command: &Document) -> ProductWrite {
        let name = command.keys().next().map_or("", String::as_str);
        ProductWrite {
            writes: Arc::clone(&self.product_writes),
            products: products_written(name, command),
            changes_counts: false,
        }
    }

    /// Returns the writes of products that the server has acknowledged and nobody has announced; for tests. Sees
    /// something only with [`StoreOptions::observer`](crate::StoreOptions::observer).
    #[must_use]
    pub fn unannounced_product_writes(&self) -> Vec<String> {
        self.product_writes.unannounced.due()
    }
}

/// Returns the products that a command writes; `None` when it does not name them.
pub(crate) fn products_written(name: &str, command: &Document) -> Option<Vec<ProductId>> {
    let documents = |field: &str| {
        let all = command.get_array(field).into_iter().flatten();
        all.filter_map(Bson::as_document)
    };
    let named = |filters: Vec<&Document>| -> Option<Vec<ProductId>> {
        let named: Option<Vec<_>> = filters.into_iter().map(products_named).collect();
        Some(named?.concat())
    };
    let filters = |field: &str| {
        let filters = documents(field).map(|one| one.get_document("q").ok());
        filters.collect::<Option<Vec<&Document>>>()
    };
    let of_products = command.get_str(name).ok() == Some(products::COLLECTION);
    let writes = |stage: &Document| stage.contains_key("$merge") || stage.contains_key("$out");
    match name {
        "aggregate" if documents("pipeline").any(writes) => None,
        "bulkWrite" => None,
        "insert" if of_products => named(documents("documents").collect()),
        "update" if of_products => named(filters("updates")?),
        "delete" if of_products => named(filters("deletes")?),
        "findAndModify" if of_products => products_named(command.get_document("query").ok()?),
        _ => Some(Vec::new()),
    }
}

/// Returns the products whose ids are in a filter or in a new document; `None` without ids.
fn products_named(filter: &Document) -> Option<Vec<ProductId>> {
    let product = |id: &Bson| id.as_i64().map(ProductId::from_i64);
    match filter.get("_id")? {
        Bson::Document(one_of) => one_of.get_array("$in").ok()?.iter().map(product).collect(),
        id => Some(vec![product(id)?]),
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn write(writes: &Arc<ProductWrites>, products: Option<&[i64]>) -> ProductWrite {
        let ids = |ids: &[i64]| ids.iter().map(|id| ProductId::from_i64(*id)).collect();
        ProductWrite {
            writes: Arc::clone(writes),
            products: products.map(ids),
            changes_counts: false,
        }
    }

    #[test]
    fn a_write_is_announced_when_it_ends() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let listener: Arc<ProductListener> = Arc::new(move |written| {
            into.lock().unwrap().push(format!("{written:?}"));
        });
        let writes = Arc::new(ProductWrites::default());
        writes
            .listeners
            .lock()
            .unwrap()
            .push(Arc::downgrade(&listener));
        let mut one = write(&writes, Some(&[]));
        drop(write(&writes, Some(&[])));
        assert!(heard.lock().unwrap().is_empty(), "nothing was written");
        one.add([ProductId::from_i64(1)]);
        drop(one);
        let mut any = write(&writes, None);
        any.add([ProductId::from_i64(2)]);
        drop(any);
        assert_eq!(heard.lock().unwrap().len(), 2);
        assert!(heard.lock().unwrap()[0].starts_with("These"));
        assert_eq!(heard.lock().unwrap()[1], "Any");
        drop(listener);
        drop(write(&writes, None));
        assert_eq!(heard.lock().unwrap().len(), 2);
        assert!(writes.listeners.lock().unwrap().is_empty());
    }

    #[test]
    fn commands_name_the_products_that_they_write() {
        let written = |command: Document| {
            let name = command.keys().next().unwrap().clone();
            let products = products_written(&name, &command)?;
            Some(products.iter().map(|id| id.to_i64()).collect::<Vec<_>>())
        };
        let update =
            |filter: Document| doc! { "update": "products", "updates": [{ "q": filter, "u": {} }] };
        assert_eq!(written(update(doc! { "_id": 7_i64 })), Some(vec![7]));
        let several = doc! { "_id": { "$in": [7_i64, 8_i64] }, "revision": 1 };
        assert_eq!(written(update(several)), Some(vec![7, 8]));
        assert_eq!(written(update(doc! { "supplier._id": 3_i64 })), None);
        let inserted = doc! { "insert": "products", "documents": [{ "_id": 4_i64 }] };
        assert_eq!(written(inserted), Some(vec![4]));
        let other = doc! { "insert": "reviews", "documents": [{ "_id": 4_i64 }] };
        assert_eq!(written(other), Some(Vec::new()));
        let modified = doc! { "findAndModify": "products", "query": { "_id": 5_i64 } };
        assert_eq!(written(modified), Some(vec![5]));
        let merged = doc! { "aggregate": "reviews", "pipeline": [{ "$merge": "products" }] };
        assert_eq!(written(merged), None);
        let read = doc! { "aggregate": "products", "pipeline": [{ "$match": {} }] };
        assert_eq!(written(read), Some(Vec::new()));
    }
}
