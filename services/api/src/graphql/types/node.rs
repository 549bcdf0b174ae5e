//! Everything that has an id.

use async_graphql::{ID, Interface};

use super::category::Category;
use super::product::{Apparel, Book, Bundle, Electronics, GenericProduct, Grocery, Movie, Product};
use super::review::Review;
use super::spec::SpecKey;
use super::supplier::Supplier;

/// Anything with an id, which `node` finds again.
#[derive(Interface)]
#[graphql(field(
    name = "id",
    ty = "ID",
    desc = "Identifies the object in the whole service."
))]
pub(crate) enum Node {
    /// Any product.
    Product(Product),
    /// Clothes and shoes.
    Apparel(Apparel),
    /// A book.
    Book(Book),
    /// A thing with a plug or a battery.
    Electronics(Electronics),
    /// Food or drink.
    Grocery(Grocery),
    /// A film.
    Movie(Movie),
    /// Several products sold together.
    Bundle(Bundle),
    /// A product of a kind that nobody has written code for.
    GenericProduct(GenericProduct),
    /// A review.
    Review(Review),
    /// A category.
    Category(Category),
    /// A supplier.
    Supplier(Supplier),
    /// A key of the spec dictionary.
    SpecKey(SpecKey),
}

impl Node {
    /// The concrete type, always: a product inside a product would lose its type name and
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
