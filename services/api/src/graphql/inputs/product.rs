//! Products as admins write them.

use async_graphql::{ID, InputObject, MaybeUndefined};
use vitrine_domain::admin::{self, NewProduct, ProductPatch};
use vitrine_model::id::ProductId;
use vitrine_model::product::{Media, ProductStatus};

use super::Status;
use super::details::ProductDetailsInput;
use super::spec::{SpecInput, specs};
use super::user_errors::{Asked, UserErrors, clearable, path};
use crate::graphql::scalars::{Decimal, Url};
use crate::graphql::types::common::Kind;

/// A product to be made.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct CreateProductInput {
    /// What kind of thing it is: `book`, `apparel`, or any name of lower-case letters, digits and
    /// underscores. Cannot be changed afterwards.
    kind: String,
    /// The stock-keeping unit; unique. Made of the id when absent.
    sku: Option<String>,
    /// Its part of an address; unique. Made of the name when absent.
    slug: Option<String>,
    /// Its name; at most 300 characters.
    name: String,
    /// What there is to say about it; plain text of at most 20,000 characters.
    description: Option<String>,
    /// The brand.
    brand: Option<String>,
    /// Where it begins its life.
    #[graphql(default_with = "Some(Status::Draft)")]
    status: Option<Status>,
    /// The slug of its category.
    category: String,
    /// The id of its supplier.
    supplier_id: Option<ID>,
    /// What it costs. The price of a bundle is computed.
    price: Option<PriceInput>,
    /// Pictures, films, documents; at most 50.
    media: Option<Vec<MediaInput>>,
    /// Its attributes, in the order they are shown; at most 200.
    specs: Option<Vec<SpecInput>>,
    /// What only its kind has.
    details: Option<ProductDetailsInput>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Changes to a product. What is left out stays as it is; null clears description, brand,
/// supplierId and price, and is refused elsewhere. Specs have mutations of their own.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateProductInput {
    /// The product.
    id: ID,
    /// The stock-keeping unit; unique.
    sku: MaybeUndefined<String>,
    /// Its part of an address; unique.
    slug: MaybeUndefined<String>,
    /// Its name; at most 300 characters.
    name: MaybeUndefined<String>,
    /// What there is to say about it; plain text of at most 20,000 characters.
    description: MaybeUndefined<String>,
    /// The brand.
    brand: MaybeUndefined<String>,
    /// Where it is in its life.
    status: MaybeUndefined<Status>,
    /// The slug of its category.
    category: MaybeUndefined<String>,
    /// The id of its supplier.
    supplier_id: MaybeUndefined<ID>,
    /// What it costs. The price of a bundle is computed.
    price: MaybeUndefined<PriceInput>,
    /// Pictures, films, documents; replaces all, at most 50.
    media: MaybeUndefined<Vec<MediaInput>>,
    /// What only its kind has; replaces all.
    details: MaybeUndefined<ProductDetailsInput>,
    /// The revision that the caller has seen. The product stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A product to be taken off sale for good. It keeps its address, and admins still see it.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ArchiveProductInput {
    /// The product.
    id: ID,
    /// The revision that the caller has seen. The product stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// An archived product to be brought back on sale.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RestoreProductInput {
    /// The product.
    id: ID,
    /// The revision that the caller has seen. The product stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A price.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct PriceInput {
    /// The amount in units of the currency, with no more decimals than the currency has: `"19.99"`.
    amount: Decimal,
    /// The currency as an ISO 4217 code; the shop's when absent. Only prices in the shop's currency
    /// are filtered and sorted by.
    currency: Option<String>,
}

/// A picture, a film or a document.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MediaInput {
    /// Where it is: an absolute https or http address.
    url: Url,
    /// What it shows, for those who cannot see it.
    alt: Option<String>,
    /// What it is.
    kind: Kind,
}

impl CreateProductInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<NewProduct> {
        let mut errors = UserErrors::default();
        let supplier = self
            .supplier_id
            .and_then(|id| errors.supplier(path(["supplierId"]), &id));
        let specs = specs(self.specs.unwrap_or_default(), &mut errors);
        let details = self.details.map(|details| details.read(&mut errors));
        let new = NewProduct {
            kind: self.kind,
            sku: self.sku,
            slug: self.slug,
            name: self.name,
            description: self.description,
            brand: self.brand,
            status: self.status.map_or(ProductStatus::Draft, Into::into),
            category: self.category,
            supplier,
            price: self.price.map(Into::into),
            media: media(self.media.unwrap_or_default()),
            specs,
            details,
        };
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: errors.unless_any(Some(new)),
        }
    }
}

impl UpdateProductInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ProductId, ProductPatch)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["id"]), &self.id);
        let supplier = clearable(self.supplier_id)
            .map(|id| id.and_then(|id| errors.supplier(path(["supplierId"]), &id)));
        let patch = ProductPatch {
            sku: errors.kept("sku", self.sku),
            slug: errors.kept("slug", self.slug),
            name: errors.kept("name", self.name),
            description: clearable(self.description),
            brand: clearable(self.brand),
            status: errors.kept("status", self.status).map(Into::into),
            category: errors.kept("category", self.category),
            supplier,
            price: clearable(self.price).map(|price| price.map(Into::into)),
            media: errors.kept("media", self.media).map(media),
            details: errors
                .kept("details", self.details)
                .map(|details| details.read(&mut errors)),
        };
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: errors.unless_any(id.map(|id| (id, patch))),
        }
    }
}

impl ArchiveProductInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<ProductId> {
        named(&self.id, self.expected_revision, self.idempotency_key)
    }
}

impl RestoreProductInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<ProductId> {
        named(&self.id, self.expected_revision, self.idempotency_key)
    }
}

fn named(
    id: &ID,
    expected_revision: Option<i32>,
    idempotency_key: Option<String>,
) -> Asked<ProductId> {
    let mut errors = UserErrors::default();
    let id = errors.product(path(["id"]), id);
    Asked {
        idempotency_key,
        expected_revision,
        wanted: errors.unless_any(id),
    }
}

impl From<PriceInput> for admin::PriceInput {
    fn from(price: PriceInput) -> Self {
        Self {
            amount: price.amount.0,
            currency: price.currency,
        }
    }
}

/// What the domain takes.
pub(super) fn media(given: Vec<MediaInput>) -> Vec<Media> {
    let medium = |given: MediaInput| Media {
        url: given.url.0,
        alt: given.alt,
        kind: given.kind.into(),
    };
    given.into_iter().map(medium).collect()
}
