//! Drafts that lines of feeds are mapped to before anything is stored, and the outcome of each
//! line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::clock::Timestamp;
use crate::contribution::{ProductField, SourcePriority};
use crate::money::Money;
use crate::product::{Details, Media, ProductStatus};
use crate::rating::Stars;
use crate::review::Author;
use crate::spec::Spec;
use crate::supplier::{SupplierFacts, origin_key};
use crate::text::collapse;

/// A product as one line of a feed describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductDraft {
    /// The source system and the product's id in it.
    pub source: ExternalRef,
    /// The stock-keeping unit. If a product of another source has it, the draft is merged into that
    /// product. If `None`, `system:id` is used.
    pub sku: Option<String>,
    /// The kind: `book`, `electronics`, or one without a type of its own. A product that does not
    /// exist yet needs it.
    pub kind: Option<String>,
    /// The name. A product that does not exist yet needs it.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// The status; drafts and archived products are not shown to shoppers.
    pub status: Option<ProductStatus>,
    /// The names of the categories, root first; the last one is the product's. Missing ones are
    /// created. A product that does not exist yet needs one.
    pub category: Vec<String>,
    /// The supplier; created if missing.
    pub supplier: Option<SupplierDraft>,
    /// The price; the price of a bundle is computed.
    pub price: Option<Money>,
    /// Images, videos and documents.
    pub media: Vec<Media>,
    /// The specs; units in any known spelling.
    pub specs: Vec<Spec>,
    /// The fields of the kind; a bundle's items are in `bundle`.
    pub details: Details,
    /// The products of a bundle, which must have been imported before it.
    pub bundle: Vec<BundleItemDraft>,
    /// When the product was added to the shop; `None` for the time of the import.
    pub created_at: Option<Timestamp>,
    /// Whether a product that already exists is left unchanged. Used for products derived from rows
    /// of reviews, which repeat the product in every row.
    pub create_only: bool,
    /// The fields that its source owns, whatever other sources of the product say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<ProductField>,
    /// The values that are left out if the catalogue refuses them.
    #[serde(skip)]
    pub droppable: Droppable,
}

impl ProductDraft {
    /// Returns true if it lacks a field without which no product can be created: name, kind or
    /// category.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.name.is_none() || self.kind.is_none() || self.category.is_empty()
    }

    /// Its [`digest`]. A function of this crate, which every build optimises in full.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(self)
    }

    /// Returns how its source ranks among those of its product.
    #[must_use]
    pub fn priority(&self) -> SourcePriority {
        SourcePriority {
            owns: self.owns.clone(),
            partial: self.is_partial(),
            derived: self.create_only,
        }
    }
}

/// The values of a draft that are left out if the catalogue refuses them. Any other refused value
/// rejects the draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Droppable {
    /// Fields, by the names that rejections have: `brand`, `media.url`. Drafts of a mapping share them.
    pub fields: Arc<BTreeSet<String>>,
    /// The places of specs of a product, or of facts about the author of a review.
    pub specs: Vec<usize>,
}

impl Droppable {
    /// Whether a refused value may be left out, by the name that its rejection has. `specs` are those of
    /// the draft; of several with one key all may be left out, or none.
    #[must_use]
    pub fn has(&self, field: &str, specs: &[Spec]) -> bool {
        let key = ["specs.", "attributes."]
            .iter()
            .find_map(|start| field.strip_prefix(start));
        let Some(key) = key else {
            return self.fields.contains(field);
        };
        let mut of_key = (0..)
            .zip(specs)
            .filter(|(_, spec)| spec.key == key)
            .peekable();
        of_key.peek().is_some() && of_key.all(|(at, _)| self.specs.contains(&at))
    }

    /// Leaves out specs of the draft.
    pub fn retain(&mut self, specs: &mut Vec<Spec>, keep: impl Fn(usize, &Spec) -> bool) {
        let before = std::mem::take(&mut self.specs);
        let all = std::mem::take(specs).into_iter().enumerate();
        for (at, spec) in all.filter(|(at, spec)| keep(*at, spec)) {
            if before.contains(&at) {
                self.specs.push(specs.len());
            }
            specs.push(spec);
        }
    }
}

/// A reference to an object of another system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExternalRef {
    /// The system: `opendb`.
    pub system: String,
    /// The object's id in that system.
    pub external_id: String,
}

/// A supplier as a feed describes it. Suppliers are identified by the ids that their sources have
/// for them, others by name and country.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SupplierDraft {
    /// The name.
    pub name: String,
    /// The country as an ISO 3166-1 alpha-2 code.
    pub country: Option<String>,
    /// The source and its id for the supplier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<ExternalRef>,
}

impl SupplierDraft {
    /// The name and the country, with blanks collapsed.
    #[must_use]
    pub fn facts(&self) -> SupplierFacts {
        SupplierFacts {
            name: collapse(&self.name),
            country: self.country.clone(),
        }
    }

    /// The key by which the supplier is found.
    #[must_use]
    pub fn key(&self) -> String {
        self.origin
            .as_ref()
            .map_or_else(|| self.facts().key(), origin_key)
    }
}

/// An item of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BundleItemDraft {
    /// The product.
    pub product: ExternalRef,
    /// The number of units.
    pub quantity: i32,
}

/// A review as one line of a feed describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewDraft {
    /// The source system and the review's id in it.
    pub origin: ExternalRef,
    /// The product it is about.
    pub product: ExternalRef,
    /// The author, if known. Of several reviews by the same author of the same product the first is
    /// kept.
    pub author: Option<Author>,
    /// The rating.
    pub rating: Stars,
    /// Whether the author recommends the product, if known.
    pub recommended: Option<bool>,
    /// Ratings by dimension.
    pub dimensions: BTreeMap<String, Stars>,
    /// The title; may be empty.
    pub title: String,
    /// The text; may be empty.
    pub body: String,
    /// The language as an IETF tag.
    pub language: Option<String>,
    /// Whether the author received something for it.
    pub incentivized: bool,
    /// Whether the source vouches that the author bought the product.
    #[serde(skip_serializing_if = "is_false")]
    pub verified: bool,
    /// Images and videos.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Facts about the reviewer; units in any known spelling.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<Spec>,
    /// The number of helpful votes.
    pub helpful: i64,
    /// The number of unhelpful votes.
    pub unhelpful: i64,
    /// When it was written, if known.
    pub created_at: Option<Timestamp>,
    /// The values that are left out if the catalogue refuses them.
    #[serde(skip)]
    pub droppable: Droppable,
}

impl ReviewDraft {
    /// Its [`digest`], as [`ProductDraft::digest`].
    #[must_use]
    pub fn digest(&self) -> String {
        digest(self)
    }
}

/// The outcome of one line of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// Something new was stored.
    Created,
    /// Something stored was changed.
    Updated,
    /// The same was already stored.
    Unchanged,
    /// It is stored, and waits for a line that creates the product.
    Waiting,
    /// The line was rejected, for these reasons.
    Rejected(Vec<Rejection>),
}

/// The reason why a line, or one value of it, was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The field, of the feed or of the product.
    pub field: String,
    /// What is wrong and what would be valid.
    pub reason: String,
}

impl Rejection {
    /// Returns the rejection of a field.
    #[must_use]
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
        }
    }
}

/// Whether a value is the usual one. It is left out of digests that are older than the field.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Returns a digest of a draft, stable across releases: equal drafts have equal digests.
#[must_use]
pub fn digest<T: Serialize>(draft: &T) -> String {
    let text = serde_json::to_vec(draft).expect("drafts hold nothing that JSON cannot");
    let digest = Sha256::digest(&text);
    let mut hex = String::with_capacity(32);
    for byte in &digest[..16] {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
        hex.push(digit(byte >> 4));
        hex.push(digit(byte & 15));
    }
    hex
}
