//! Entities: the objects that other subgraphs refer to by a key.

use std::sync::Arc;

use async_graphql::{Context, OutputType as _, Union};
use futures_util::FutureExt as _;
use vitrine_api_derive::Direct;

use super::representation::{ProductReference, Reference, Representation};
use crate::execution::Failure;
use crate::graphql::context::{ContextExt as _, Session};
use crate::graphql::types::category::Category;
use crate::graphql::types::product::{
    Apparel, Book, Bundle, Electronics, GenericProduct, Grocery, Movie, Product,
};
use crate::graphql::types::review::Review;
use crate::graphql::types::supplier::Supplier;

/// An object that other subgraphs refer to by a key.
#[derive(Union, Direct)]
#[graphql(name = "_Entity")]
pub(super) enum Entity {
    Apparel(Apparel),
    Book(Book),
    Electronics(Electronics),
    Grocery(Grocery),
    Movie(Movie),
    Bundle(Bundle),
    GenericProduct(GenericProduct),
    Review(Review),
    Category(Category),
    Supplier(Supplier),
}

impl Entity {
    /// Returns the concrete type, without which fragments are not found.
    fn of(product: Product) -> Self {
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

/// Returns the object that a representation refers to, if the caller may see it.
pub(super) async fn entity(
    ctx: &Context<'_>,
    at: usize,
    representation: &Representation,
) -> Result<Option<Entity>, Failure> {
    let session = ctx.session();
    match representation.reference(at)? {
        Reference::Product(reference, name) => product(session, reference, name.as_deref()).await,
        Reference::Review(product, id) => {
            let review = session.loaders.review(product, id).await?;
            Ok(review.map(|review| Entity::Review(Review(Arc::new(review)))))
        }
        Reference::Category(id) => {
            let reference = session.catalog.reference_for_category(id).boxed().await?;
            Ok(Category::of(&reference, id).map(Entity::Category))
        }
        Reference::Supplier(id) => {
            let supplier = session.loaders.supplier(id).await?;
            Ok(supplier.map(|supplier| Entity::Supplier(Supplier(supplier))))
        }
    }
}

/// Returns a product; `None` if it is of another type than named.
async fn product(
    session: &Session,
    reference: ProductReference,
    name: Option<&str>,
) -> Result<Option<Entity>, Failure> {
    let view = match reference {
        ProductReference::Id(id) => session.loaders.product(id).await?,
        ProductReference::Sku(sku) => session.loaders.product_by_sku(sku).await?,
    };
    let product = view.map(Product::of).transpose()?;
    let meant =
        |product: &Product| name.is_none_or(|name| product.introspection_type_name() == name);
    Ok(product.filter(meant).map(Entity::of))
}
