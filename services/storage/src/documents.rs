//! How model types are encoded as documents and decoded from them.

pub(crate) mod contribution;
pub(crate) mod product;
pub(crate) mod reference;
pub(crate) mod review;
pub(crate) mod stats;

use mongodb::bson::{Bson, Document};

/// The current `schema_version` of product documents.
pub(crate) const PRODUCT_VERSION: i32 = 1;
/// The current `schema_version` of review documents.
pub(crate) const REVIEW_VERSION: i32 = 1;
/// The current `schema_version` of all other documents.
pub(crate) const REFERENCE_VERSION: i32 = 1;

/// A filter for the versions that this release may write: its own and older ones.
pub(crate) fn up_to(version: i32) -> Document {
    mongodb::bson::doc! { "$lte": version }
}

/// Sets a field if there is a value; a `None` becomes an absent field.
pub(crate) fn put(doc: &mut Document, field: &str, value: Option<impl Into<Bson>>) {
    if let Some(value) = value {
        doc.insert(field, value);
    }
}
