//! The shapes of documents: how model types are written, and how they are read back.

pub(crate) mod product;
pub(crate) mod reference;
pub(crate) mod review;
pub(crate) mod stats;

use mongodb::bson::{Bson, Document};

/// The newest version of product documents.
pub(crate) const PRODUCT_VERSION: i32 = 1;
/// The newest version of review documents.
pub(crate) const REVIEW_VERSION: i32 = 1;
/// The newest version of all other documents.
pub(crate) const REFERENCE_VERSION: i32 = 1;

/// The versions that this release may write over: its own and all before.
pub(crate) fn up_to(version: i32) -> Document {
    mongodb::bson::doc! { "$lte": version }
}

/// Sets a field if there is a value; absent values are absent fields.
pub(crate) fn put(doc: &mut Document, field: &str, value: Option<impl Into<Bson>>) {
    if let Some(value) = value {
        doc.insert(field, value);
    }
}
