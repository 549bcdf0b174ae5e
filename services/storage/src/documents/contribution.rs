//! Encoding of what the sources of a product say.

use mongodb::bson::{Document, doc};
use vitrine_model::contribution::{Content, Contribution};
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::product::{Details, Kind, ProductStatus};

use super::{REFERENCE_VERSION, product, put};
use crate::contributions::Contributions;
use crate::raw::{Fields, Read, stored_id};

/// Returns the document of a product's contributions.
pub(crate) fn document(contributions: &Contributions) -> Document {
    let all = contributions.all.iter();
    let mut doc = doc! {
        "_id": stored_id(contributions.product.to_i64()),
        "schema_version": REFERENCE_VERSION,
        "revision": contributions.revision,
        "sources": all.map(contribution).collect::<Vec<_>>(),
    };
    put(
        &mut doc,
        "waiting_sku",
        contributions.waiting_sku.as_deref(),
    );
    doc
}

/// Decodes a product's contributions.
pub(crate) fn read(fields: &Fields<'_>) -> Read<Contributions> {
    Ok(Contributions {
        product: ProductId::from_i64(fields.id("_id")?),
        waiting_sku: fields.opt_string("waiting_sku")?,
        revision: fields.i64("revision")?,
        all: fields.docs("sources", read_contribution)?,
    })
}

fn contribution(contribution: &Contribution) -> Document {
    let mut doc = product::source(&contribution.source);
    doc.insert("says", content(&contribution.content));
    doc
}

fn read_contribution(fields: Fields<'_>) -> Read<Contribution> {
    Ok(Contribution {
        source: product::read_source(fields)?,
        content: read_content(&fields.doc("says")?)?,
    })
}

/// Encodes what is said about a product.
pub(crate) fn content(content: &Content) -> Document {
    let mut doc = Document::new();
    put(&mut doc, "name", content.name.as_deref());
    put(&mut doc, "description", content.description.as_deref());
    put(&mut doc, "brand", content.brand.as_deref());
    put(&mut doc, "kind", content.kind.as_deref());
    let category = content.category.map(CategoryId::to_i64);
    put(&mut doc, "category", category.map(stored_id));
    put(&mut doc, "status", content.status.map(ProductStatus::name));
    let supplier = content.supplier.map(SupplierId::to_i64);
    put(&mut doc, "supplier", supplier.map(stored_id));
    put(&mut doc, "price", content.price.map(product::money));
    let media: Vec<Document> = content.media.iter().map(product::media).collect();
    put(&mut doc, "media", (!media.is_empty()).then_some(media));
    let specs: Vec<Document> = content.specs.iter().map(product::plain_spec).collect();
    put(&mut doc, "specs", (!specs.is_empty()).then_some(specs));
    put(&mut doc, "details", product::details(&content.details));
    doc
}

/// Decodes what is said about a product.
pub(crate) fn read_content(fields: &Fields<'_>) -> Read<Content> {
    let kind = fields.opt_string("kind")?;
    let details = match kind.as_deref().map(Kind::of) {
        Some(kind) if fields.opt_doc("details")?.is_some() => product::read_details(kind, fields)?,
        _ => Details::Generic,
    };
    let status = fields.opt_str("status")?;
    let status = status.map(|_| product::read_status(fields)).transpose()?;
    let price = fields.opt_doc("price")?;
    Ok(Content {
        name: fields.opt_string("name")?,
        description: fields.opt_string("description")?,
        brand: fields.opt_string("brand")?,
        kind,
        category: fields.opt_id("category")?.map(CategoryId::from_i64),
        status,
        supplier: fields.opt_id("supplier")?.map(SupplierId::from_i64),
        price: price.map(product::read_money).transpose()?,
        media: fields.docs("media", product::read_media)?,
        specs: fields.docs("specs", product::read_spec)?,
        details,
    })
}
