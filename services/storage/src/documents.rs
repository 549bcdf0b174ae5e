//! The shapes of documents: how model types are written, and how they are read back.

pub(crate) mod product;
pub(crate) mod reference;
pub(crate) mod review;
pub(crate) mod stats;

use mongodb::bson::{Bson, Document};

/// The newest version of product documents.
pub(crate) const PRODUCT_VERSION: i32 = 1;
/// The newest version of review documents. Those of version 1 lack `traits`, `marks` and `media`,
/// and `round`, `reports` and `moderation` where these say nothing. They are read, written and
/// counted like others, but not found by traits; the fold brings them to version 2.
pub(crate) const REVIEW_VERSION: i32 = 2;
/// The newest version of all other documents.
pub(crate) const REFERENCE_VERSION: i32 = 1;

/// Sets a field if there is a value; absent values are absent fields.
pub(crate) fn put(doc: &mut Document, field: &str, value: Option<impl Into<Bson>>) {
    if let Some(value) = value {
        doc.insert(field, value);
    }
}
