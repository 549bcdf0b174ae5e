//! The shapes of documents: how model types are written, and how they are read back.

pub(crate) mod product;
pub(crate) mod reference;
pub(crate) mod review;
pub(crate) mod stats;

use mongodb::bson::{Bson, Document};

/// The newest version of product documents. Those of version 1 do not say since when they are
/// listed (`listed_at`); it is taken to be since they were made, unless they are drafts.
pub(crate) const PRODUCT_VERSION: i32 = 2;
/// The newest version of review documents. Those of version 1 lack `traits`, `marks` and `media`,
/// and `round`, `reports` and `moderation` where these say nothing. They are read, written and
/// counted like others, but not found by traits; the fold brings them to version 2.
pub(crate) const REVIEW_VERSION: i32 = 2;
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
