//! Encoding of products.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document, doc};
use vitrine_model::clock::Timestamp;
use vitrine_model::contribution::{ProductField, SourcePriority};
use vitrine_model::derived::{self, COUNTRY};
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::money::{Currency, Money};
use vitrine_model::overrides::{Override, Overrides, OwnedField};
use vitrine_model::product::{
    Bundle, BundleItem, Details, Kind, Media, MediaKind, Product, ProductStatus, Source,
};
use vitrine_model::spec::{Spec, SpecValue, ValueType};
use vitrine_model::supplier::SupplierExtract;
use vitrine_model::unit::UnitTable;

use super::{PRODUCT_VERSION, put, stats};
use crate::raw::{Fields, Read, date, number, stored_id};

/// The context for encoding a product.
#[derive(Clone, Copy, Debug)]
pub struct Encoding<'a> {
    /// The units of quantities.
    pub units: &'a UnitTable,
    /// The currency of filters and sorts by price.
    pub currency: Currency,
}

impl Encoding<'_> {
    /// Returns the size in bytes of a product's content in the database: the fields that admins and
    /// imports write, and the fields derived from them.
    #[must_use]
    pub fn content_bytes(self, product: &Product) -> usize {
        let content = content(product, self);
        mongodb::bson::serialize_to_vec(&content).map_or(usize::MAX, |bytes| bytes.len())
    }
}

impl Encoding<'_> {
    /// Returns the same size by field and spec key, largest first.
    #[must_use]
    pub fn content_parts(self, product: &Product) -> Vec<(String, usize)> {
        let mut parts: Vec<(String, usize)> = Vec::new();
        for (field, value) in content(product, self) {
            if field != "specs" {
                parts.push((field, size(value)));
            }
        }
        for spec in &product.specs {
            let bytes = size(Bson::Document(spec_document(spec, self.units)));
            let name = format!("specs.{}", spec.key);
            match parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => *all += bytes,
                None => parts.push((name, bytes)),
            }
        }
        parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        parts
    }
}

/// Returns the encoded size of a value.
fn size(value: Bson) -> usize {
    mongodb::bson::serialize_to_vec(&doc! { "v": value }).map_or(0, |bytes| bytes.len())
}

/// Returns the whole document of a product.
pub(crate) fn document(product: &Product, encoding: Encoding<'_>) -> Document {
    let mut doc = doc! { "_id": stored_id(product.id.to_i64()), "schema_version": PRODUCT_VERSION };
    doc.extend(content(product, encoding));
    doc.insert("slot", i32::from(derived::slot(product.id)));
    doc.extend(computed(product));
    doc.insert("created_at", date(product.created_at));
    doc
}

/// Returns the fields that admins and imports write, and the fields derived from them.
pub(crate) fn content(product: &Product, encoding: Encoding<'_>) -> Document {
    let country = product
        .supplier
        .as_ref()
        .and_then(|supplier| supplier.country.as_deref());
    let tokens = derived::tokens(&product.specs, product.brand.as_deref(), country);
    let mut doc = doc! {
        "kind": &product.kind,
        "sku": &product.sku,
        "slug": &product.slug,
        "name": &product.name,
        "name_key": derived::name_key(&product.name),
        "status": product.status.name(),
        "category": stored_id(product.category.to_i64()),
        "specs": product.specs.iter().map(|spec| spec_document(spec, encoding.units)).collect::<Vec<_>>(),
        "tokens": tokens,
        "keywords": derived::product_keywords(product),
        "media": product.media.iter().map(media).collect::<Vec<_>>(),
        "sources": product.sources.iter().map(source).collect::<Vec<_>>(),
        "revision": product.revision,
        "updated_at": date(product.updated_at),
    };
    put(&mut doc, "listed_at", product.listed().map(date));
    put(&mut doc, "description", product.description.as_deref());
    put(&mut doc, "brand", product.brand.as_deref());
    put(&mut doc, "price", product.price.map(money));
    put(
        &mut doc,
        "list_price",
        derived::list_price(product.price, encoding.currency),
    );
    put(
        &mut doc,
        "supplier",
        product.supplier.as_ref().map(supplier),
    );
    put(&mut doc, "details", details(&product.details));
    let edits = edits(&product.overrides);
    put(&mut doc, "overrides", (!edits.is_empty()).then_some(edits));
    doc
}

/// The content fields that a product may lack.
pub(crate) const OPTIONAL_CONTENT: [&str; 7] = [
    "description",
    "brand",
    "price",
    "list_price",
    "supplier",
    "details",
    "overrides",
];

/// The fields that bundles copy of a product: name, price, and whether it is on sale.
#[derive(Debug, PartialEq)]
pub(crate) struct BundledFields {
    name: String,
    price: Option<Money>,
    listed: bool,
}

impl BundledFields {
    pub(crate) fn of(product: &Product) -> Self {
        Self {
            name: product.name.clone(),
            price: product.price,
            listed: product.status == ProductStatus::Active,
        }
    }

    /// The projection for reading these fields, and the category.
    pub(crate) fn fields() -> Document {
        doc! { "name": 1, "price": 1, "status": 1, "category": 1 }
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Read<Self> {
        Ok(Self {
            name: fields.string("name")?,
            price: fields.opt_doc("price")?.map(read_money).transpose()?,
            listed: read_status(fields)? == ProductStatus::Active,
        })
    }
}

fn computed(product: &Product) -> Document {
    let mut rank = stats::rank(&product.computed.stats, product.activity.interest());
    for (field, value) in stats::activity_rank(&product.activity) {
        put(&mut rank, field, value);
    }
    let mut doc = doc! {
        "rank": rank,
        "stats": stats::stats(&product.computed.stats),
        "top_reviews": stats::top_reviews(&product.computed),
        "outlier": stats::outlier(&product.outlier),
    };
    put(&mut doc, "activity", stats::activity(&product.activity));
    put(&mut doc, "sales", stats::sold(&product.sold));
    doc
}

fn spec_document(spec: &Spec, units: &UnitTable) -> Document {
    let mut doc = plain_spec(spec);
    put(&mut doc, "n", spec.value.canonical(units));
    doc
}

/// A spec without the number in the base unit.
pub(crate) fn plain_spec(spec: &Spec) -> Document {
    let mut doc =
        doc! { "k": &spec.key, "t": spec.value.value_type().name(), "v": spec_value(&spec.value) };
    if let SpecValue::Quantity { unit, .. } = &spec.value {
        doc.insert("u", unit);
    }
    put(&mut doc, "q", spec.qualifier.as_deref());
    doc
}

fn spec_value(value: &SpecValue) -> Bson {
    match value {
        SpecValue::Text(text) => Bson::String(text.clone()),
        SpecValue::Number(value) | SpecValue::Quantity { value, .. } => Bson::Double(*value),
        SpecValue::Boolean(value) => Bson::Boolean(*value),
        SpecValue::Date(at) => date(*at),
    }
}

pub(crate) fn read_spec(fields: Fields<'_>) -> Read<Spec> {
    read_spec_in_place(fields).map(Spec::into_owned)
}

/// Reads a spec without copying its texts.
pub(crate) fn read_spec_in_place(fields: Fields<'_>) -> Read<Spec<&str>> {
    let value_type = ValueType::named(fields.str("t")?).ok_or_else(|| fields.corrupt("specs.t"))?;
    let number = || {
        let value = fields.get("v")?.and_then(number);
        value.ok_or_else(|| fields.corrupt("specs.v"))
    };
    let value = match value_type {
        ValueType::Text => SpecValue::Text(fields.str("v")?),
        ValueType::Number => SpecValue::Number(number()?),
        ValueType::Quantity => SpecValue::Quantity {
            value: number()?,
            unit: fields.str("u")?,
        },
        ValueType::Boolean => SpecValue::Boolean(fields.bool("v")?),
        ValueType::Date => SpecValue::Date(fields.date("v")?),
    };
    Ok(Spec {
        key: fields.str("k")?,
        value,
        qualifier: fields.opt_str("q")?,
    })
}

pub(crate) fn money(money: Money) -> Document {
    doc! { "amount": money.minor, "currency": money.currency.code() }
}

pub(crate) fn read_money(fields: Fields<'_>) -> Read<Money> {
    let currency = Currency::parse(fields.str("currency")?);
    let currency = currency.map_err(|_| fields.corrupt("currency"))?;
    Ok(Money {
        minor: fields.i64("amount")?,
        currency,
    })
}

pub(crate) fn media(media: &Media) -> Document {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Video => "video",
        MediaKind::Document => "document",
    };
    let mut doc = doc! { "url": &media.url, "kind": kind };
    put(&mut doc, "alt", media.alt.as_deref());
    doc
}

pub(crate) fn read_media(fields: Fields<'_>) -> Read<Media> {
    let kind = match fields.str("kind")? {
        "image" => MediaKind::Image,
        "video" => MediaKind::Video,
        "document" => MediaKind::Document,
        _ => return Err(fields.corrupt("media.kind")),
    };
    Ok(Media {
        url: fields.string("url")?,
        alt: fields.opt_string("alt")?,
        kind,
    })
}

pub(crate) fn source(source: &Source) -> Document {
    let SourcePriority {
        owns,
        partial,
        derived,
    } = &source.priority;
    let owned: Vec<&str> = owns.iter().map(|field| field.name()).collect();
    let mut doc = doc! {
        "system": &source.system,
        "external_id": &source.external_id,
        "imported_at": date(source.imported_at),
        "digest": &source.digest,
    };
    put(&mut doc, "owns", (!owned.is_empty()).then_some(owned));
    put(&mut doc, "partial", partial.then_some(true));
    put(&mut doc, "derived", derived.then_some(true));
    doc
}

pub(crate) fn read_source(fields: Fields<'_>) -> Read<Source> {
    Ok(Source {
        system: fields.string("system")?,
        external_id: fields.string("external_id")?,
        imported_at: fields.date("imported_at")?,
        digest: fields.string("digest")?,
        priority: SourcePriority {
            owns: fields.items("owns", |field| ProductField::named(field.as_str()?))?,
            partial: fields.opt_bool("partial")?.unwrap_or(false),
            derived: fields.opt_bool("derived")?.unwrap_or(false),
        },
    })
}

/// One entry for the fields that a person edited at the same time.
fn edits(overrides: &Overrides) -> Vec<Document> {
    let mut edits: BTreeMap<(Timestamp, &str), Vec<String>> = BTreeMap::new();
    for own in overrides.all() {
        let fields = edits.entry((own.at, &own.by)).or_default();
        fields.push(own.field.to_string());
    }
    let edits = edits.into_iter();
    edits
        .map(|((at, by), fields)| doc! { "by": by, "at": date(at), "fields": fields })
        .collect()
}

/// Decodes the fields that people have edited.
pub(crate) fn read_overrides(fields: &Fields<'_>) -> Read<Overrides> {
    let edits = fields.docs("overrides", |edit| {
        let (by, at) = (edit.string("by")?, edit.date("at")?);
        let fields = edit.items("fields", |field| OwnedField::named(field.as_str()?))?;
        let fields = fields.into_iter();
        Ok(fields
            .map(|field| Override {
                field,
                by: by.clone(),
                at,
            })
            .collect::<Vec<_>>())
    })?;
    Ok(edits.into_iter().flatten().collect())
}

/// Returns the stages that update a product's copy of its supplier, and the country among the
/// sorted tokens.
pub(crate) fn supplier_stages(extract: &SupplierExtract) -> Vec<Document> {
    let country = extract.country.as_deref();
    let own: Vec<String> = country.map(derived::country_token).into_iter().collect();
    let others = doc! { "$filter": {
        "input": "$tokens",
        "cond": { "$ne": [{ "$indexOfBytes": ["$$this", COUNTRY] }, 0] },
    } };
    let tokens = doc! { "$sortArray": {
        "input": { "$concatArrays": [others, { "$literal": own }] },
        "sortBy": 1,
    } };
    vec![doc! { "$set": { "supplier": { "$literal": supplier(extract) }, "tokens": tokens } }]
}

pub(crate) fn supplier(extract: &SupplierExtract) -> Document {
    let mut doc =
        doc! { "_id": stored_id(extract.id.to_i64()), "v": extract.version, "name": &extract.name };
    put(&mut doc, "country", extract.country.as_deref());
    doc.insert("as_of", date(extract.as_of));
    doc
}

pub(crate) fn read_supplier(fields: Fields<'_>) -> Read<SupplierExtract> {
    Ok(SupplierExtract {
        id: SupplierId::from_i64(fields.id("_id")?),
        version: fields.i64("v")?,
        name: fields.string("name")?,
        country: fields.opt_string("country")?,
        as_of: fields.date("as_of")?,
    })
}

/// Details are plain structures that serde encodes; only the items of a bundle refer to products.
/// Empty details are not stored: a kind that gets a type of its own has products without them.
pub(crate) fn details(details: &Details) -> Option<Document> {
    if details.is_empty() {
        return None;
    }
    let written = match details {
        Details::Apparel(apparel) => mongodb::bson::serialize_to_document(apparel),
        Details::Book(book) => mongodb::bson::serialize_to_document(book),
        Details::Electronics(electronics) => mongodb::bson::serialize_to_document(electronics),
        Details::Grocery(grocery) => mongodb::bson::serialize_to_document(grocery),
        Details::Movie(movie) => mongodb::bson::serialize_to_document(movie),
        Details::Bundle(bundle) => {
            Ok(doc! { "items": bundle.items.iter().map(item).collect::<Vec<_>>() })
        }
        Details::Generic => return None,
    };
    Some(written.expect("details are structures of texts, numbers and lists"))
}

fn item(item: &BundleItem) -> Document {
    let mut doc = doc! {
        "product_id": stored_id(item.product_id.to_i64()),
        "quantity": item.quantity,
        "version": item.version,
        "name": &item.name,
        "listed": item.listed,
    };
    put(&mut doc, "price", item.price.map(money));
    put(&mut doc, "as_of", item.as_of.map(date));
    doc
}

fn read_item(fields: Fields<'_>) -> Read<BundleItem> {
    let quantity = i32::try_from(fields.i64("quantity")?);
    Ok(BundleItem {
        product_id: ProductId::from_i64(fields.id("product_id")?),
        quantity: quantity.map_err(|_| fields.corrupt("quantity"))?,
        version: fields.i64("version")?,
        name: fields.string("name")?,
        price: fields.opt_doc("price")?.map(read_money).transpose()?,
        listed: fields.bool("listed")?,
        as_of: fields.opt_date("as_of")?,
    })
}

/// Reads the details of a product of this kind; unknown kinds have none.
pub(crate) fn read_details(kind: Kind<'_>, fields: &Fields<'_>) -> Read<Details> {
    let details = fields.opt_doc("details")?;
    let Some(details) = details else {
        return Ok(Details::empty(kind));
    };
    Ok(match kind {
        Kind::Apparel => Details::Apparel(details.deserialize("details")?),
        Kind::Book => Details::Book(details.deserialize("details")?),
        Kind::Electronics => Details::Electronics(details.deserialize("details")?),
        Kind::Grocery => Details::Grocery(details.deserialize("details")?),
        Kind::Movie => Details::Movie(details.deserialize("details")?),
        Kind::Bundle => Details::Bundle(Bundle {
            items: details.docs("items", read_item)?,
        }),
        Kind::Other(_) => Details::Generic,
    })
}

pub(crate) fn read_status(fields: &Fields<'_>) -> Read<ProductStatus> {
    ProductStatus::named(fields.str("status")?).ok_or_else(|| fields.corrupt("status"))
}

pub(crate) fn read_category(fields: &Fields<'_>) -> Read<CategoryId> {
    fields.id("category").map(CategoryId::from_i64)
}
