//! Categories, suppliers and spec keys as they are stored.

use mongodb::bson::{Document, doc};
use vitrine_model::category::Category;
use vitrine_model::id::{CategoryId, SupplierId};
use vitrine_model::spec::{SpecKey, ValueType};
use vitrine_model::supplier::Supplier;
use vitrine_model::text::fold;

use super::{REFERENCE_VERSION, put};
use crate::raw::{Fields, Read, uuid};

pub(crate) fn category(category: &Category) -> Document {
    let mut doc = doc! {
        "_id": uuid(category.id.to_bytes()),
        "schema_version": REFERENCE_VERSION,
        "slug": &category.slug,
        "name": &category.name,
    };
    put(
        &mut doc,
        "parent",
        category.parent.map(|parent| uuid(parent.to_bytes())),
    );
    doc
}

pub(crate) fn read_category(fields: &Fields<'_>) -> Read<Category> {
    Ok(Category {
        id: CategoryId::from_bytes(fields.id("_id")?),
        slug: fields.string("slug")?,
        name: fields.string("name")?,
        parent: fields.opt_id("parent")?.map(CategoryId::from_bytes),
    })
}

pub(crate) fn supplier(supplier: &Supplier) -> Document {
    let mut doc = doc! {
        "_id": uuid(supplier.id.to_bytes()),
        "schema_version": REFERENCE_VERSION,
        "name": &supplier.name,
        "name_key": fold(&supplier.name),
        "v": supplier.version,
        "propagated_v": supplier.propagated_version,
    };
    put(&mut doc, "country", supplier.country.as_deref());
    doc
}

pub(crate) fn read_supplier(fields: &Fields<'_>) -> Read<Supplier> {
    Ok(Supplier {
        id: SupplierId::from_bytes(fields.id("_id")?),
        name: fields.string("name")?,
        country: fields.opt_string("country")?,
        version: fields.i64("v")?,
        propagated_version: fields.i64("propagated_v")?,
    })
}

pub(crate) fn spec_key(key: &SpecKey) -> Document {
    let mut doc = doc! {
        "_id": &key.key,
        "schema_version": REFERENCE_VERSION,
        "label": &key.label,
        "type": key.value_type.name(),
        "facetable": key.facetable,
        "filterable": key.filterable,
        "aliases": &key.aliases,
    };
    put(&mut doc, "dimension", key.dimension.as_deref());
    put(&mut doc, "base_unit", key.base_unit.as_deref());
    doc
}

pub(crate) fn read_spec_key(fields: &Fields<'_>) -> Read<SpecKey> {
    let value_type = ValueType::named(fields.str("type")?);
    Ok(SpecKey {
        key: fields.string("_id")?,
        label: fields.string("label")?,
        value_type: value_type.ok_or_else(|| fields.corrupt("type"))?,
        dimension: fields.opt_string("dimension")?,
        base_unit: fields.opt_string("base_unit")?,
        facetable: fields.bool("facetable")?,
        filterable: fields.bool("filterable")?,
        aliases: fields.items("aliases", |value| value.as_str().map(str::to_owned))?,
    })
}
