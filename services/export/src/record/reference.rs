//! Records of what products refer to.

use serde::{Deserialize, Serialize};
use vitrine_domain::restore::StoredDimensionScope;
use vitrine_model::category::{Category, FeedName};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::CategoryId;
use vitrine_model::import::{ExternalRef, Rejection};
use vitrine_model::supplier::{Supplier, SupplierFacts};

use super::{category_gid, category_id, instant, supplier_gid, supplier_id};

/// A category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryRecord {
    /// The global id.
    pub id: String,
    /// The part of a URL that identifies it.
    pub slug: String,
    /// The name shown.
    pub name: String,
    /// The id of the parent; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Other names by which feeds reach it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feed_names: Vec<FeedNameRecord>,
    /// The id of the category that it was merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<String>,
    /// Increases with every change.
    pub revision: i64,
}

/// A name by which feeds reach a category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedNameRecord {
    /// The id of the category below which feeds name it; absent for a top-level name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The name.
    pub name: String,
}

impl FeedNameRecord {
    fn of(one: &FeedName) -> Self {
        Self {
            parent: one.parent.map(category_gid),
            name: one.name.clone(),
        }
    }

    fn feed_name(self) -> Result<FeedName, Rejection> {
        let parent = self.parent.as_deref();
        let parent = parent.map(|id| category_id("feed_names.parent", id));
        Ok(FeedName {
            parent: parent.transpose()?,
            name: self.name,
        })
    }
}

impl CategoryRecord {
    pub(crate) fn of(category: &Category) -> Self {
        Self {
            id: category_gid(category.id),
            slug: category.slug.clone(),
            name: category.name.clone(),
            parent: category.parent.map(category_gid),
            feed_names: category.feed_names.iter().map(FeedNameRecord::of).collect(),
            merged_into: category.merged_into.map(category_gid),
            revision: category.revision,
        }
    }

    pub(crate) fn category(self) -> Result<Category, Rejection> {
        let parent = self.parent.as_deref();
        let into = self.merged_into.as_deref();
        let into = into.map(|id| category_id("merged_into", id));
        let names = self.feed_names.into_iter().map(FeedNameRecord::feed_name);
        Ok(Category {
            feed_names: names.collect::<Result<_, _>>()?,
            merged_into: into.transpose()?,
            id: category_id("id", &self.id)?,
            parent: parent.map(|id| category_id("parent", id)).transpose()?,
            slug: self.slug,
            name: self.name,
            revision: self.revision,
        })
    }
}

/// What products of a kind or a category are rated by; one of `kind` and `category` is present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DimensionsRecord {
    /// The kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The id of the category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The dimensions.
    pub names: Vec<String>,
}

impl DimensionsRecord {
    pub(crate) fn of_kind(kind: &str, names: &[String]) -> Self {
        Self {
            kind: Some(kind.to_owned()),
            category: None,
            names: names.to_vec(),
        }
    }

    pub(crate) fn of_category(category: CategoryId, names: &[String]) -> Self {
        Self {
            kind: None,
            category: Some(category_gid(category)),
            names: names.to_vec(),
        }
    }

    pub(super) fn reference_key(&self) -> String {
        format!("dimensions {:?} {:?}", self.kind, self.category)
    }

    pub(crate) fn scope(self) -> Result<(StoredDimensionScope, Vec<String>), Rejection> {
        let of = match (self.kind, self.category) {
            (Some(kind), None) => StoredDimensionScope::Kind(kind),
            (None, Some(category)) => {
                StoredDimensionScope::Category(category_id("category", &category)?)
            }
            _ => {
                let reason = "a kind or a category has dimensions";
                return Err(Rejection::new("kind", reason));
            }
        };
        Ok((of, self.names))
    }
}

/// A supplier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupplierRecord {
    /// The global id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The ISO 3166-1 alpha-2 code of the country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// The source that has an id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SupplierSource>,
    /// What feeds say of it, where an admin has changed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<SupplierFacts>,
    /// Increases with every change.
    pub version: i64,
    /// The version that all products had.
    pub propagated_version: i64,
    /// When it was last changed.
    #[serde(
        default,
        with = "instant::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub changed_at: Option<Timestamp>,
}

/// The source that has an id for a supplier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupplierSource {
    /// The system.
    pub system: String,
    /// The id in that system.
    pub external_id: String,
}

impl SupplierRecord {
    pub(crate) fn of(supplier: &Supplier) -> Self {
        Self {
            id: supplier_gid(supplier.id),
            name: supplier.name.clone(),
            country: supplier.country.clone(),
            source: supplier.origin.as_ref().map(|origin| SupplierSource {
                system: origin.system.clone(),
                external_id: origin.external_id.clone(),
            }),
            said: supplier.said.clone(),
            version: supplier.version,
            propagated_version: supplier.propagated_version,
            changed_at: supplier.changed_at,
        }
    }

    pub(crate) fn supplier(self) -> Result<Supplier, Rejection> {
        Ok(Supplier {
            id: supplier_id("id", &self.id)?,
            name: self.name,
            country: self.country,
            origin: self.source.map(|source| ExternalRef {
                system: source.system,
                external_id: source.external_id,
            }),
            said: self.said,
            version: self.version,
            propagated_version: self.propagated_version,
            changed_at: self.changed_at,
        })
    }
}
