//! Inputs for products.

use async_graphql::{ID, InputObject, MaybeUndefined};
use vitrine_domain::admin::{self, NewProduct, ProductPatch};
use vitrine_model::id::ProductId;
use vitrine_model::product::{Media, ProductStatus};

use super::Status;
use super::details::ProductDetailsInput;
use super::spec::{SpecInput, specs};
use super::user_errors::{ParsedInput, UserErrors, clearable, path};
use crate::graphql::scalars::{Decimal, Url};
use crate::graphql::types::common::Kind;

/// The input of `createProduct`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct CreateProductInput {
    /// The product kind: `book`, `apparel`, or any name of lower-case letters, digits and
    /// underscores. Cannot be changed later.
    kind: String,
    /// The stock-keeping unit (SKU); unique. Blanks at its ends are removed. Derived from the id when
    /// absent.
    sku: Option<String>,
    /// The part of the URL that identifies the product; unique. Derived from the name when absent.
    slug: Option<String>,
    /// The name; at most 300 characters.
    name: String,
    /// The description; plain text of at most 20,000 characters.
    description: Option<String>,
    /// The brand.
    brand: Option<String>,
    /// The initial status.
    #[graphql(default_with = "Some(Status::Draft)")]
    status: Option<Status>,
    /// The slug of the category.
    category: String,
    /// The global id of the supplier.
    supplier_id: Option<ID>,
    /// The price. Not for bundles: their price is computed.
    price: Option<PriceInput>,
    /// Images, videos and documents; at most 50.
    media: Option<Vec<MediaInput>>,
    /// The product's attributes in display order; at most 200.
    specs: Option<Vec<SpecInput>>,
    /// The details of the product's kind.
    details: Option<ProductDetailsInput>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `updateProduct`. Fields left out stay unchanged. Null clears `description`,
/// `brand`, `supplierId` and `price` and is refused for other fields. Use `setSpecs` and
/// `removeSpecs` to change specs.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateProductInput {
    /// The global id of the product.
    id: ID,
    /// The stock-keeping unit (SKU); unique. Blanks at its ends are removed.
    sku: MaybeUndefined<String>,
    /// The part of the URL that identifies the product; unique.
    slug: MaybeUndefined<String>,
    /// The name; at most 300 characters.
    name: MaybeUndefined<String>,
    /// The description; plain text of at most 20,000 characters.
    description: MaybeUndefined<String>,
    /// The brand.
    brand: MaybeUndefined<String>,
    /// The status of the product.
    status: MaybeUndefined<Status>,
    /// The slug of the category.
    category: MaybeUndefined<String>,
    /// The global id of the supplier.
    supplier_id: MaybeUndefined<ID>,
    /// The price. Not for bundles: their price is computed.
    price: MaybeUndefined<PriceInput>,
    /// Images, videos and documents; at most 50. Replaces all current ones.
    media: MaybeUndefined<Vec<MediaInput>>,
    /// The details of the product's kind. Replaces all current details.
    details: MaybeUndefined<ProductDetailsInput>,
    /// The revision that the caller has seen. If the product has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `archiveProduct`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ArchiveProductInput {
    /// The global id of the product.
    id: ID,
    /// The revision that the caller has seen. If the product has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `restoreProduct`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RestoreProductInput {
    /// The global id of the product.
    id: ID,
    /// The revision that the caller has seen. If the product has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A price.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct PriceInput {
    /// The amount in units of the currency, with at most as many decimals as the currency uses:
    /// `"19.99"`.
    amount: Decimal,
    /// The ISO 4217 code of the currency; the shop's currency when absent. Only prices in the
    /// shop's currency are used for filtering and sorting.
    currency: Option<String>,
}

/// An image, a video or a document.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MediaInput {
    /// The address of the file: an absolute `https` or `http` URL. Pictures can be uploaded: send each to `/pictures`
    /// with POST; the response has its `url`.
    url: Url,
    /// The alternative text, for people who cannot see the image or video.
    alt: Option<String>,
    /// The type of the file.
    kind: Kind,
}

impl CreateProductInput {
    pub(crate) fn parse(self) -> ParsedInput<NewProduct> {
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
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: errors.finish(Some(new)),
        }
    }
}

impl UpdateProductInput {
    pub(crate) fn parse(self) -> ParsedInput<(ProductId, ProductPatch)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["id"]), &self.id);
        let supplier = clearable(self.supplier_id)
            .map(|id| id.and_then(|id| errors.supplier(path(["supplierId"]), &id)));
        let patch = ProductPatch {
            sku: errors.not_null("sku", self.sku),
            slug: errors.not_null("slug", self.slug),
            name: errors.not_null("name", self.name),
            description: clearable(self.description),
            brand: clearable(self.brand),
            status: errors.not_null("status", self.status).map(Into::into),
            category: errors.not_null("category", self.category),
            supplier,
            price: clearable(self.price).map(|price| price.map(Into::into)),
            media: errors.not_null("media", self.media).map(media),
            details: errors
                .not_null("details", self.details)
                .map(|details| details.read(&mut errors)),
        };
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.map(|id| (id, patch))),
        }
    }
}

impl ArchiveProductInput {
    pub(crate) fn parse(self) -> ParsedInput<ProductId> {
        by_id(&self.id, self.expected_revision, self.idempotency_key)
    }
}

impl RestoreProductInput {
    pub(crate) fn parse(self) -> ParsedInput<ProductId> {
        by_id(&self.id, self.expected_revision, self.idempotency_key)
    }
}

fn by_id(
    id: &ID,
    expected_revision: Option<i32>,
    idempotency_key: Option<String>,
) -> ParsedInput<ProductId> {
    let mut errors = UserErrors::default();
    let id = errors.product(path(["id"]), id);
    ParsedInput {
        idempotency_key,
        expected_revision,
        value: errors.finish(id),
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

pub(super) fn media(inputs: Vec<MediaInput>) -> Vec<Media> {
    let medium = |input: MediaInput| Media {
        url: input.url.0,
        alt: input.alt,
        kind: input.kind.into(),
    };
    inputs.into_iter().map(medium).collect()
}
