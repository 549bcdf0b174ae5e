//! Mutations of the catalogue: products, specs, categories, suppliers, units and the spec
//! dictionary.
//!
//! Every mutation is one transaction. The object itself, the spec keys it introduces, the
//! generations of the categories it touches and the recorded answer for its idempotency key are
//! written together or not at all. A refusal names the input that is wrong and what would be right;
//! nothing is written.
//!
//! Specs are checked in two steps: `spec::check` (model) validates the form of a key and value;
//! `specs::check_against_dictionary` looks the key up, also by alias, and checks type, dimension
//! and allowed values. An unknown key is added with the type of its first value. The callers are
//! `admin/specs.rs` and `import/keys.rs`. `admin/keys.rs` checks the definitions of keys. The
//! database does not know spec keys: a filter looks a key up in memory, and once in the database
//! if it is missing there.

use serde::{Deserialize, Serialize};
use vitrine_model::id::{ProductId, SupplierId};
use vitrine_model::product::{Apparel, Book, Electronics, Grocery, Media, Movie, ProductStatus};
use vitrine_model::spec::{Spec, SpecKey, ValueType};

pub(crate) mod answers;
pub mod bulk;
pub(crate) mod bundles;
mod categories;
pub(crate) mod commands;
mod details;
pub mod imports;
mod keys;
pub(crate) mod merges;
mod products;
mod releases;
mod reverts;
mod specs;
mod suppliers;
mod units;
pub(crate) mod words;

/// The caller of a mutation, its idempotency key and expected revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationRequest {
    /// The subject of the caller's token.
    pub subject: String,
    /// The idempotency key, chosen by the caller: 1 to 128 printable ASCII characters. A repeated
    /// key with the same input returns the recorded answer; with different input it is refused.
    pub idempotency_key: Option<String>,
    /// The revision that the caller has read; if the object has another one, the mutation is
    /// refused.
    pub expected_revision: Option<i64>,
}

/// The input of a new product.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewProduct {
    /// The product kind: lower-case letters, digits and underscores.
    pub kind: String,
    /// The stock-keeping unit; derived from the id when absent.
    pub sku: Option<String>,
    /// The slug; derived from the name when absent.
    pub slug: Option<String>,
    /// The name.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// The brand.
    pub brand: Option<String>,
    /// The initial status.
    pub status: ProductStatus,
    /// The slug of its category.
    pub category: String,
    /// Its supplier.
    pub supplier: Option<SupplierId>,
    /// Its price; must be absent for a bundle, whose price is computed.
    pub price: Option<PriceInput>,
    /// Images, videos and documents.
    pub media: Vec<Media>,
    /// Its attributes.
    pub specs: Vec<Spec>,
    /// The fields of its kind.
    pub details: Option<DetailsInput>,
}

/// A price in decimal notation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceInput {
    /// The amount in the currency's main unit, such as 19.99.
    pub amount: rust_decimal::Decimal,
    /// The ISO 4217 code; the shop's currency when absent.
    pub currency: Option<String>,
}

/// The fields of one product kind.
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
    /// The products of a bundle with their quantities.
    Bundle(Vec<(ProductId, i32)>),
}

/// Changes to a product. `None` leaves a field unchanged; `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProductPatch {
    /// The stock-keeping unit.
    pub sku: Option<String>,
    /// The slug.
    pub slug: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<Option<String>>,
    /// The brand.
    pub brand: Option<Option<String>>,
    /// The status.
    pub status: Option<ProductStatus>,
    /// The slug of its category.
    pub category: Option<String>,
    /// Its supplier.
    pub supplier: Option<Option<SupplierId>>,
    /// Its price.
    pub price: Option<Option<PriceInput>>,
    /// Images, videos and documents; replaces all.
    pub media: Option<Vec<Media>>,
    /// The fields of its kind; replaces all.
    pub details: Option<DetailsInput>,
}

/// Selects the specs of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecRef {
    /// The key or an alias.
    pub key: String,
    /// Only specs with this qualifier; all specs of the key when absent.
    pub qualifier: Option<String>,
}

/// The input of a new category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewCategory {
    /// Its name.
    pub name: String,
    /// Its slug; derived from the name when absent.
    pub slug: Option<String>,
    /// The slug of its parent; a root category when absent.
    pub parent: Option<String>,
}

/// Changes to a category. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CategoryPatch {
    /// Its name.
    pub name: Option<String>,
    /// Its slug.
    pub slug: Option<String>,
    /// The slug of its new parent; `Some(None)` makes it a root category.
    pub parent: Option<Option<String>>,
    /// The paths of names by which feeds reach it, besides its own.
    pub feed_paths: Option<Vec<Vec<String>>>,
}

/// The input of a new supplier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewSupplier {
    /// Its name.
    pub name: String,
    /// Its country as an ISO 3166-1 alpha-2 code.
    pub country: Option<String>,
}

/// Changes to a supplier. `None` leaves a field unchanged; `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SupplierPatch {
    /// Its name.
    pub name: Option<String>,
    /// Its country as an ISO 3166-1 alpha-2 code.
    pub country: Option<Option<String>>,
}

/// The input of a new spec key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewSpecKey {
    /// The key.
    pub key: String,
    /// The displayed name; derived from the key when absent.
    pub label: Option<String>,
    /// The type of its values.
    pub value_type: ValueType,
    /// The dimension of its quantities. A quantity needs this or the base unit.
    pub dimension: Option<String>,
    /// The base unit of that dimension.
    pub base_unit: Option<String>,
    /// Whether facets are computed for it.
    pub facetable: bool,
    /// Whether filters may use it.
    pub filterable: bool,
    /// The allowed texts; any text when absent.
    pub allowed_values: Option<Vec<String>>,
    /// Other spellings of the key.
    pub aliases: Vec<String>,
}

/// Changes to a spec key. `None` leaves a field unchanged; `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpecKeyPatch {
    /// The displayed name.
    pub label: Option<String>,
    /// The type of its values; can only change while no product has the key.
    pub value_type: Option<ValueType>,
    /// The dimension of its quantities; can only change while no product has the key.
    pub dimension: Option<String>,
    /// The base unit of that dimension; can only change while no product has the key.
    pub base_unit: Option<String>,
    /// Whether facets are computed for it.
    pub facetable: Option<bool>,
    /// Whether filters may use it.
    pub filterable: Option<bool>,
    /// The allowed texts; must include all stored values.
    pub allowed_values: Option<Option<Vec<String>>>,
    /// Other spellings of the key; replaces all except those of a merge in progress.
    pub aliases: Option<Vec<String>>,
}

/// The state of a merge of spec keys.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The remaining key, with the old key among its aliases.
    pub key: SpecKey,
    /// The number of products that still have the old key.
    pub remaining: u64,
}
