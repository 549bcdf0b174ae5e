//! Single view: what several sources say about one product, and the content that follows from it.
//!
//! Each field has the value of the source that ranks highest among those that say something; each
//! key of the specs counts as a field. First come sources that own the field by name, then those
//! that say some fields only, then those that describe whole products, then products derived from
//! reviews. Equal ones rank by the name of their system. Neither the order nor the time of imports
//! matters.

use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::id::{CategoryId, SupplierId};
use crate::money::Money;
use crate::product::{Details, Kind, Media, Product, ProductStatus, Source};
use crate::spec::Spec;

/// A field of a product that a source can own.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, EnumCount,
)]
#[serde(rename_all = "snake_case")]
pub enum ProductField {
    /// The name.
    Name,
    /// The description.
    Description,
    /// The brand.
    Brand,
    /// The kind.
    Kind,
    /// The category.
    Category,
    /// The status.
    Status,
    /// The supplier.
    Supplier,
    /// The price.
    Price,
    /// Images, videos and documents.
    Media,
    /// The specs; each key by itself.
    Specs,
    /// The fields of the kind.
    Details,
}

impl ProductField {
    /// All fields.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Name,
        Self::Description,
        Self::Brand,
        Self::Kind,
        Self::Category,
        Self::Status,
        Self::Supplier,
        Self::Price,
        Self::Media,
        Self::Specs,
        Self::Details,
    ];

    /// The name of the field in mappings and in the database.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Brand => "brand",
            Self::Kind => "kind",
            Self::Category => "category",
            Self::Status => "status",
            Self::Supplier => "supplier",
            Self::Price => "price",
            Self::Media => "media",
            Self::Specs => "specs",
            Self::Details => "details",
        }
    }

    /// The field with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// What decides how a source ranks among the sources of a product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourcePriority {
    /// The fields that it owns by name.
    pub owns: Vec<ProductField>,
    /// Whether it says no name, kind or category.
    pub partial: bool,
    /// Whether it was derived from rows of reviews.
    pub derived: bool,
}

impl SourcePriority {
    /// The rank for a field; the lowest comes first.
    fn rank(&self, field: ProductField) -> u8 {
        match self {
            Self { owns, .. } if owns.contains(&field) => 0,
            Self { derived: true, .. } => 3,
            Self { partial: true, .. } => 1,
            _ => 2,
        }
    }
}

/// The fields of a product that sources say. What is absent or empty is not said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// The category.
    pub category: Option<CategoryId>,
    /// The status.
    pub status: Option<ProductStatus>,
    /// The supplier.
    pub supplier: Option<SupplierId>,
    /// The price; that of a bundle is computed.
    pub price: Option<Money>,
    /// Images, videos and documents.
    pub media: Vec<Media>,
    /// The specs, under the keys of the dictionary.
    pub specs: Vec<Spec>,
    /// The fields of the kind; [`Details::Generic`] says nothing.
    pub details: Details,
}

impl Content {
    /// Returns the content of a product.
    #[must_use]
    pub fn of(product: &Product) -> Self {
        let computed_price = Kind::of(&product.kind) == Kind::Bundle;
        Self {
            name: Some(product.name.clone()),
            description: product.description.clone(),
            brand: product.brand.clone(),
            kind: Some(product.kind.clone()),
            category: Some(product.category),
            status: Some(product.status),
            supplier: product.supplier.as_ref().map(|supplier| supplier.id),
            price: product.price.filter(|_| !computed_price),
            media: product.media.clone(),
            specs: product.specs.clone(),
            details: said(&product.details),
        }
    }

    /// Returns true if it has what every product has: name, kind and category.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.name.is_some() && self.kind.is_some() && self.category.is_some()
    }
}

/// Details without a value say nothing.
fn said(details: &Details) -> Details {
    if details.is_empty() {
        Details::Generic
    } else {
        details.clone()
    }
}

/// What a source says about a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The source.
    pub source: Source,
    /// What it says.
    pub content: Content,
}

/// Returns the content that follows from what the sources of a product say.
#[must_use]
pub fn merge(contributions: &[Contribution]) -> Content {
    let first = First(contributions);
    let kind = first.of(ProductField::Kind, |content| content.kind.clone());
    let fits = |details: &Details| {
        let of = kind.as_deref().map(Kind::of);
        details.kind().is_some_and(|typed| Some(typed) == of) && !details.is_empty()
    };
    Content {
        name: first.of(ProductField::Name, |content| content.name.clone()),
        description: first.of(ProductField::Description, |content| {
            content.description.clone()
        }),
        brand: first.of(ProductField::Brand, |content| content.brand.clone()),
        category: first.of(ProductField::Category, |content| content.category),
        status: first.of(ProductField::Status, |content| content.status),
        supplier: first.of(ProductField::Supplier, |content| content.supplier),
        price: first.of(ProductField::Price, |content| content.price),
        media: first
            .of(ProductField::Media, |content| {
                (!content.media.is_empty()).then(|| content.media.clone())
            })
            .unwrap_or_default(),
        specs: specs(contributions),
        details: first
            .of(ProductField::Details, |content| {
                fits(&content.details).then(|| content.details.clone())
            })
            .unwrap_or_default(),
        kind,
    }
}

/// Finds the value of the highest ranked contribution that has one.
struct First<'a>(&'a [Contribution]);

impl First<'_> {
    fn of<T>(&self, field: ProductField, says: impl Fn(&Content) -> Option<T>) -> Option<T> {
        let ranked = ranked(self.0, field).into_iter();
        ranked.map(|one| &one.content).find_map(says)
    }
}

/// The contributions by their rank for a field.
fn ranked(contributions: &[Contribution], field: ProductField) -> Vec<&Contribution> {
    let mut ranked: Vec<&Contribution> = contributions.iter().collect();
    ranked.sort_by_key(|one| {
        let Source {
            system,
            external_id,
            priority,
            ..
        } = &one.source;
        (priority.rank(field), system, external_id)
    });
    ranked
}

/// The specs: of each key those of the source that owns it. They are in the order of the sources
/// that describe the whole product, then come the keys that only others have.
fn specs(contributions: &[Contribution]) -> Vec<Spec> {
    let ranked = ranked(contributions, ProductField::Specs);
    let has = |one: &Contribution, key: &str| one.content.specs.iter().any(|spec| spec.key == key);
    let mut shown = ranked.clone();
    shown.sort_by_key(|one| {
        let Source {
            system, priority, ..
        } = &one.source;
        (priority.derived, priority.partial, system)
    });
    let mut keys: Vec<&str> = Vec::new();
    for spec in shown.iter().flat_map(|one| &one.content.specs) {
        if !keys.contains(&spec.key.as_str()) {
            keys.push(&spec.key);
        }
    }
    let of_key = |key: &&str| -> Vec<Spec> {
        let owner = ranked.iter().find(|one| has(one, key));
        let specs = owner.into_iter().flat_map(|one| &one.content.specs);
        specs.filter(|spec| spec.key == *key).cloned().collect()
    };
    keys.iter().flat_map(of_key).collect()
}

#[cfg(test)]
mod tests;
