//! What feeds are turned into before anything is stored, and what became of each line.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::clock::Timestamp;
use crate::money::Money;
use crate::product::{Details, Media, ProductStatus};
use crate::rating::Stars;
use crate::review::Author;
use crate::spec::Spec;

/// A product as one line of a feed describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductDraft {
    /// The feed's system, and the product's id there.
    pub source: ExternalRef,
    /// The stock-keeping unit. When a product with it is already there, from another system, the
    /// draft is merged into it; absent, `system:id` is taken.
    pub sku: Option<String>,
    /// The kind: `book`, `electronics`, or one that nobody has written code for.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// The state; drafts and archived products are not shown to shoppers.
    pub status: ProductStatus,
    /// The names of the categories from the top down; the last one is the product's. Made when
    /// they are not there. Not empty.
    pub category: Vec<String>,
    /// The supplier; made when not there.
    pub supplier: Option<SupplierDraft>,
    /// The price; for bundles it is computed.
    pub price: Option<Money>,
    /// Pictures, films, documents.
    pub media: Vec<Media>,
    /// The specs; units by any spelling.
    pub specs: Vec<Spec>,
    /// What only the kind has; a bundle's items are in `bundle`.
    pub details: Details,
    /// The products of a bundle, which must be stored before it.
    pub bundle: Vec<BundleItemDraft>,
    /// When the product was added to the shop, if the feed knows; else the time of the import.
    pub created_at: Option<Timestamp>,
    /// Whether a product that is already there is left as it is. For products derived from review
    /// rows, where every row of a product tells the same again.
    pub create_only: bool,
}

/// Something by the id that a system gave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ExternalRef {
    /// The system: `opendb`.
    pub system: String,
    /// The id there.
    pub external_id: String,
}

/// A supplier as a feed names it. Suppliers are told apart by their folded names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SupplierDraft {
    /// The name.
    pub name: String,
    /// The country as an ISO 3166-1 alpha-2 code.
    pub country: Option<String>,
}

/// One product of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BundleItemDraft {
    /// The product.
    pub product: ExternalRef,
    /// How many of it.
    pub quantity: i32,
}

/// A review as one line of a feed describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReviewDraft {
    /// The feed's system, and the review's id there.
    pub origin: ExternalRef,
    /// The product it is about.
    pub product: ExternalRef,
    /// Who wrote it, if the feed says. One review per product and author is kept: the first.
    pub author: Option<Author>,
    /// The stars.
    pub rating: Stars,
    /// Whether the product is recommended.
    pub recommended: Option<bool>,
    /// Stars for single aspects.
    pub dimensions: BTreeMap<String, Stars>,
    /// The title; may be empty.
    pub title: String,
    /// The text; may be empty.
    pub body: String,
    /// The language as an IETF tag.
    pub language: Option<String>,
    /// Whether the author was given something for it.
    pub incentivized: bool,
    /// How many found it helpful.
    pub helpful: i64,
    /// How many did not.
    pub unhelpful: i64,
    /// When it was written.
    pub created_at: Option<Timestamp>,
}

/// What became of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// Something new was stored.
    Created,
    /// Something stored was changed.
    Updated,
    /// It was stored already, just so.
    Unchanged,
    /// It was refused, for these reasons.
    Rejected(Vec<Rejection>),
}

/// Why a line, or one value of it, was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The field of the feed or of the product.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub reason: String,
}

impl Rejection {
    /// A refusal of a field.
    #[must_use]
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
        }
    }
}

/// A digest of a draft: the same words give the same digest, in every release.
#[must_use]
pub fn digest<T: Serialize>(draft: &T) -> String {
    let text = serde_json::to_vec(draft).expect("drafts hold nothing that JSON cannot");
    let digest = Sha256::digest(&text);
    digest[..16]
        .iter()
        .fold(String::with_capacity(32), |hex, byte| {
            hex + &format!("{byte:02x}")
        })
}
