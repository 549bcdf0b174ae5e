//! What catalogue admins do: products, specs, categories, suppliers, units and the dictionary.
//!
//! Every change is one transaction: the thing itself, the keys it teaches, the generations of the
//! categories it touches and the note that makes a repeated order harmless are written together or
//! not at all. A refusal says which input is wrong and what would be right; nothing is written
//! then.

use serde::Serialize;
use vitrine_model::id::{ProductId, SupplierId};
use vitrine_model::product::{Apparel, Book, Electronics, Grocery, Media, Movie, ProductStatus};
use vitrine_model::spec::{Spec, SpecKey, ValueType};

pub(crate) mod answers;
pub(crate) mod bundles;
mod categories;
pub(crate) mod commands;
mod details;
mod keys;
pub(crate) mod merges;
mod products;
mod specs;
mod suppliers;
mod units;
pub(crate) mod words;

/// Who gives an order, and what makes it safe to give twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationRequest {
    /// The subject of the caller's token.
    pub subject: String,
    /// A name for this order, chosen by the caller: 1 to 128 printable ASCII characters. The same
    /// key and input again gives the same answer; the same key with other input is refused.
    pub idempotency_key: Option<String>,
    /// The revision the caller has seen; when the thing has another one, the order is refused.
    pub expected_revision: Option<i64>,
}

/// A product to be made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewProduct {
    /// What kind of thing: lower-case letters, digits and underscores.
    pub kind: String,
    /// The stock-keeping unit; made of the id when absent.
    pub sku: Option<String>,
    /// The slug; made of the name when absent.
    pub slug: Option<String>,
    /// The name.
    pub name: String,
    /// What there is to say about it.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// Where it begins its life.
    pub status: ProductStatus,
    /// The slug of its category.
    pub category: String,
    /// Who supplies it.
    pub supplier: Option<SupplierId>,
    /// What it costs.
    pub price: Option<PriceInput>,
    /// Pictures, films, documents.
    pub media: Vec<Media>,
    /// Its attributes.
    pub specs: Vec<Spec>,
    /// What only its kind has.
    pub details: Option<DetailsInput>,
}

/// A price as callers write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriceInput {
    /// The amount in units of the currency.
    pub amount: rust_decimal::Decimal,
    /// The currency; the shop's when absent.
    pub currency: Option<String>,
}

/// What only one kind of product has, as callers write it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum DetailsInput {
    /// Clothes and shoes.
    Apparel(Apparel),
    /// Books.
    Book(Book),
    /// Things with a plug or a battery.
    Electronics(Electronics),
    /// Food and drink.
    Grocery(Grocery),
    /// Films.
    Movie(Movie),
    /// The products of a bundle and how many of each.
    Bundle(Vec<(ProductId, i32)>),
}

/// Changes to a product. What is `None` stays; the inner `None` clears.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProductPatch {
    /// The stock-keeping unit.
    pub sku: Option<String>,
    /// The slug.
    pub slug: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// What there is to say about it.
    pub description: Option<Option<String>>,
    /// The brand.
    pub brand: Option<Option<String>>,
    /// Where it is in its life.
    pub status: Option<ProductStatus>,
    /// The slug of its category.
    pub category: Option<String>,
    /// Who supplies it.
    pub supplier: Option<Option<SupplierId>>,
    /// What it costs.
    pub price: Option<Option<PriceInput>>,
    /// Pictures, films, documents; replaces all.
    pub media: Option<Vec<Media>>,
    /// What only its kind has; replaces all.
    pub details: Option<DetailsInput>,
}

/// Names the specs of one key; with a qualifier only those with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecRef {
    /// The key or an alias.
    pub key: String,
    /// Only specs with this qualifier; all of the key when absent.
    pub qualifier: Option<String>,
}

/// A category to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewCategory {
    /// Its name.
    pub name: String,
    /// Its slug; made of the name when absent.
    pub slug: Option<String>,
    /// The slug of the category it is in; at the top when absent.
    pub parent: Option<String>,
}

/// Changes to a category. What is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CategoryPatch {
    /// Its name.
    pub name: Option<String>,
    /// Its slug.
    pub slug: Option<String>,
    /// The slug of the category it moves into; the inner `None` moves it to the top.
    pub parent: Option<Option<String>>,
}

/// A supplier to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewSupplier {
    /// Its name.
    pub name: String,
    /// Its country as an ISO 3166-1 alpha-2 code.
    pub country: Option<String>,
}

/// Changes to a supplier. What is `None` stays; the inner `None` clears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SupplierPatch {
    /// Its name.
    pub name: Option<String>,
    /// Its country.
    pub country: Option<Option<String>>,
}

/// A spec key to be defined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewSpecKey {
    /// The key.
    pub key: String,
    /// What people read; made of the key when absent.
    pub label: Option<String>,
    /// The type of its values.
    pub value_type: ValueType,
    /// What its quantities measure; for quantities this or the base unit is needed.
    pub dimension: Option<String>,
    /// The base unit of that dimension.
    pub base_unit: Option<String>,
    /// Whether facets are offered for it.
    pub facetable: bool,
    /// Whether it may be filtered by.
    pub filterable: bool,
    /// The only texts allowed; any when absent.
    pub allowed_values: Option<Vec<String>>,
    /// Other keys that mean this one.
    pub aliases: Vec<String>,
}

/// Changes to a spec key. What is `None` stays; the inner `None` clears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpecKeyPatch {
    /// What people read.
    pub label: Option<String>,
    /// The type of its values; only while no product has the key.
    pub value_type: Option<ValueType>,
    /// What its quantities measure; only while no product has the key.
    pub dimension: Option<String>,
    /// The base unit of that dimension; only while no product has the key.
    pub base_unit: Option<String>,
    /// Whether facets are offered for it.
    pub facetable: Option<bool>,
    /// Whether it may be filtered by.
    pub filterable: Option<bool>,
    /// The only texts allowed; values that exist must be among them.
    pub allowed_values: Option<Option<Vec<String>>>,
    /// Other keys that mean this one; replaces all, except those that are being merged into it.
    pub aliases: Option<Vec<String>>,
}

/// A merge of spec keys.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The key that stays, with the other one absorbed or being absorbed.
    pub key: SpecKey,
    /// How many products still carry the old key.
    pub remaining: u64,
}
