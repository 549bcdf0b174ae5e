//! The history of products, categories and spec keys: who changed what, and when.
//!
//! An entry has the values of the changed fields before and after the change. Earlier contents are restored by taking
//! back the newest entries one by one.

use strum::EnumCount;

use crate::clock::Timestamp;
use crate::id::{CategoryId, ProductId, SupplierId};

/// The number of revisions of an object whose entries are kept.
pub const MAX_HISTORY: i64 = 100;
/// For how long entries are kept, in milliseconds: 400 days.
pub const HISTORY_KEPT_MILLIS: i64 = 400 * 24 * 60 * 60 * 1000;

/// An object that has a history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HistoryOf {
    /// A product.
    Product(ProductId),
    /// A category.
    Category(CategoryId),
    /// A key of the spec dictionary.
    SpecKey(String),
}

/// What caused a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount)]
pub enum ChangeOrigin {
    /// A mutation of an admin.
    Mutation,
    /// A mutation of an admin that restored an earlier revision.
    Revert,
    /// A mutation of an admin that gave fields back to the feeds.
    Release,
    /// A bulk change of an admin.
    BulkChange,
    /// An import.
    Import,
    /// A merge of two spec keys: by the admin, of the remaining key; by a background worker, of products that had the
    /// other one.
    KeyMerge,
}

impl ChangeOrigin {
    /// All origins.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Mutation,
        Self::Revert,
        Self::Release,
        Self::BulkChange,
        Self::Import,
        Self::KeyMerge,
    ];

    /// The name under which the origin is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutation => "mutation",
            Self::Revert => "revert",
            Self::Release => "release",
            Self::BulkChange => "bulk_change",
            Self::Import => "import",
            Self::KeyMerge => "key_merge",
        }
    }

    /// The origin with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedBy {
    /// What caused it.
    pub origin: ChangeOrigin,
    /// The subject of the admin's token, the source system of the import, or the name of the worker.
    pub name: String,
    /// The revision that was restored, for [`ChangeOrigin::Revert`].
    pub reverted_to: Option<i64>,
    /// The fields of which an import says something else, and that it left as people have edited
    /// them: `name`, `specs.weight`.
    pub kept: Vec<String>,
}

impl ChangedBy {
    /// A mutation of an admin.
    #[must_use]
    pub fn mutation(subject: &str) -> Self {
        Self {
            origin: ChangeOrigin::Mutation,
            name: subject.to_owned(),
            reverted_to: None,
            kept: Vec::new(),
        }
    }

    /// The same admin, who restores an earlier revision.
    #[must_use]
    pub fn reverting_to(&self, revision: i64) -> Self {
        Self {
            origin: ChangeOrigin::Revert,
            name: self.name.clone(),
            reverted_to: Some(revision),
            kept: Vec::new(),
        }
    }

    /// An import from a source system.
    #[must_use]
    pub fn import(system: &str) -> Self {
        Self {
            origin: ChangeOrigin::Import,
            name: system.to_owned(),
            reverted_to: None,
            kept: Vec::new(),
        }
    }

    /// The worker that rewrites products after a merge of spec keys.
    #[must_use]
    pub fn key_merge() -> Self {
        Self {
            origin: ChangeOrigin::KeyMerge,
            name: "merges".to_owned(),
            reverted_to: None,
            kept: Vec::new(),
        }
    }
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The revision that the change made.
    pub revision: i64,
    /// The revision before; `None` if the change created the object.
    pub previous: Option<i64>,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub by: ChangedBy,
    /// The fields that it changed; none if it created the object, or changed nothing that a history has.
    pub fields: Vec<FieldChange>,
}

/// A changed field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// The field: `name`, `specs.weight`, `details.isbn`.
    pub field: String,
    /// The value before; `None` if there was none.
    pub before: Option<FieldValue>,
    /// The value after; `None` if there is none.
    pub after: Option<FieldValue>,
}

/// A value of a field, for people.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// A text: texts as they are, numbers with their unit, lists separated by commas.
    Text(String),
    /// A category.
    Category(CategoryId),
    /// A supplier, and its name at the time.
    Supplier(SupplierId, String),
}
