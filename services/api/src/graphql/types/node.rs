//! The interface of all objects with a global id.

use async_graphql::{ID, Interface};
use vitrine_api_derive::Direct;

use super::bulk::BulkChange;
use super::category::Category;
use super::import_run::ImportRun;
use super::product::{Apparel, Book, Bundle, Electronics, GenericProduct, Grocery, Movie, Product};
use super::review::Review;
use super::spec::SpecKey;
use super::supplier::Supplier;

/// An object with a global id, which the query `node` can refetch.
#[derive(Interface, Direct)]
#[expect(
    clippy::large_enum_variant,
    reason = "a request has a hundred nodes at most"
)]
#[graphql(field(name = "id", ty = "ID", desc = "The global id of the object."))]
pub(crate) enum Node {
    /// Any product.
    Product(Product),
    /// Clothing or shoes.
    Apparel(Apparel),
    /// A book.
    Book(Book),
    /// An electrical or electronic product.
    Electronics(Electronics),
    /// Food or drink.
    Grocery(Grocery),
    /// A film.
    Movie(Movie),
    /// Several products sold together.
    Bundle(Bundle),
    /// A product of a kind without its own type.
    GenericProduct(GenericProduct),
    /// A review.
    Review(Review),
    /// A category.
    Category(Category),
    /// A supplier.
    Supplier(Supplier),
    /// A key of the spec dictionary.
    SpecKey(SpecKey),
    /// A run of an import.
    ImportRun(ImportRun),
    /// A bulk change.
    BulkChange(BulkChange),
}

impl Node {
    /// Returns the concrete type. Wrapping a `Product` in a `Node` would lose its type name and its
    /// fragments.
    pub(crate) fn of(product: Product) -> Self {
        match product {
            Product::Apparel(product) => Self::Apparel(product),
            Product::Book(product) => Self::Book(product),
            Product::Electronics(product) => Self::Electronics(product),
            Product::Grocery(product) => Self::Grocery(product),
            Product::Movie(product) => Self::Movie(product),
            Product::Bundle(product) => Self::Bundle(product),
            Product::GenericProduct(product) => Self::GenericProduct(product),
        }
    }
}
