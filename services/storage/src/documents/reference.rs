//! Encoding of categories, suppliers, spec keys and units.

use std::collections::HashMap;

use mongodb::bson::{Document, doc};
use vitrine_model::category::{Category, FeedName};
use vitrine_model::id::{CategoryId, SupplierId};
use vitrine_model::import::ExternalRef;
use vitrine_model::search::words;
use vitrine_model::spec::{KeyUsage, SpecKey, ValueType};
use vitrine_model::supplier::{Supplier, SupplierFacts};
use vitrine_model::text::fold;
use vitrine_model::unit::Unit;

use super::{REFERENCE_VERSION, put};
use crate::raw::{Fields, Read, date, number, stored_id};

pub(crate) fn category(category: &Category) -> Document {
    let mut doc = doc! {
        "_id": stored_id(category.id.to_i64()),
        "schema_version": REFERENCE_VERSION,
        "slug": &category.slug,
        "name": &category.name,
        "revision": category.revision,
    };
    put(
        &mut doc,
        "parent",
        category.parent.map(|parent| stored_id(parent.to_i64())),
    );
    let names: Vec<Document> = category.feed_names.iter().map(feed_name).collect();
    put(&mut doc, "feed_names", (!names.is_empty()).then_some(names));
    let into = category.merged_into.map(|into| stored_id(into.to_i64()));
    put(&mut doc, "merged_into", into);
    doc
}

fn feed_name(one: &FeedName) -> Document {
    let mut doc = doc! { "name": &one.name };
    let parent = one.parent.map(|parent| stored_id(parent.to_i64()));
    put(&mut doc, "parent", parent);
    doc
}

fn read_feed_name(fields: Fields<'_>) -> Read<FeedName> {
    Ok(FeedName {
        parent: fields.opt_id("parent")?.map(CategoryId::from_i64),
        name: fields.string("name")?,
    })
}

pub(crate) fn read_category(fields: &Fields<'_>) -> Read<Category> {
    Ok(Category {
        id: CategoryId::from_i64(fields.id("_id")?),
        slug: fields.string("slug")?,
        name: fields.string("name")?,
        parent: fields.opt_id("parent")?.map(CategoryId::from_i64),
        feed_names: fields.docs("feed_names", read_feed_name)?,
        merged_into: fields.opt_id("merged_into")?.map(CategoryId::from_i64),
        revision: fields.i64("revision")?,
    })
}

pub(crate) fn supplier(supplier: &Supplier) -> Document {
    let mut doc = doc! {
        "_id": stored_id(supplier.id.to_i64()),
        "schema_version": REFERENCE_VERSION,
        "name": &supplier.name,
        "name_key": fold(&supplier.name),
        "name_words": words(&supplier.name),
        "keys": supplier.keys(),
        "v": supplier.version,
        "propagated_v": supplier.propagated_version,
    };
    put(&mut doc, "country", supplier.country.as_deref());
    put(&mut doc, "origin", supplier.origin.as_ref().map(origin));
    put(&mut doc, "said", supplier.said.as_ref().map(said));
    let behind = supplier.propagated_version < supplier.version;
    put(&mut doc, "behind", behind.then_some(true));
    put(&mut doc, "changed_at", supplier.changed_at.map(date));
    doc
}

pub(crate) fn read_supplier(fields: &Fields<'_>) -> Read<Supplier> {
    Ok(Supplier {
        id: SupplierId::from_i64(fields.id("_id")?),
        name: fields.string("name")?,
        country: fields.opt_string("country")?,
        origin: fields.opt_doc("origin")?.map(read_origin).transpose()?,
        said: fields.opt_doc("said")?.map(read_said).transpose()?,
        version: fields.i64("v")?,
        propagated_version: fields.i64("propagated_v")?,
        changed_at: fields.opt_date("changed_at")?,
    })
}

fn origin(origin: &ExternalRef) -> Document {
    doc! { "system": &origin.system, "external_id": &origin.external_id }
}

fn read_origin(fields: Fields<'_>) -> Read<ExternalRef> {
    Ok(ExternalRef {
        system: fields.string("system")?,
        external_id: fields.string("external_id")?,
    })
}

fn said(said: &SupplierFacts) -> Document {
    let mut doc = doc! { "name": &said.name };
    put(&mut doc, "country", said.country.as_deref());
    doc
}

fn read_said(fields: Fields<'_>) -> Read<SupplierFacts> {
    Ok(SupplierFacts {
        name: fields.string("name")?,
        country: fields.opt_string("country")?,
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
        "used": key.usage >= KeyUsage::Used,
        "published": key.usage >= KeyUsage::Published,
        "revision": key.revision,
    };
    put(&mut doc, "dimension", key.dimension.as_deref());
    put(&mut doc, "base_unit", key.base_unit.as_deref());
    put(&mut doc, "allowed_values", key.allowed_values.clone());
    put(
        &mut doc,
        "earlier_type",
        key.earlier_type.map(ValueType::name),
    );
    put(&mut doc, "guessed_by", key.guessed_by.as_deref());
    doc
}

/// A name that stands for another key; `absorbing` while products may still have it. It is stored
/// in the same collection as the keys, so that all these names are unique.
pub(crate) fn alias(name: &str, of: &str, absorbing: bool) -> Document {
    let mut doc = doc! { "_id": name, "schema_version": REFERENCE_VERSION, "alias_of": of };
    put(&mut doc, "absorbing", absorbing.then_some(true));
    doc
}

/// A document of the spec dictionary.
pub(crate) enum Entry {
    Key(SpecKey),
    Alias {
        name: String,
        of: String,
        absorbing: bool,
    },
}

pub(crate) fn read_entry(fields: &Fields<'_>) -> Read<Entry> {
    if let Some(of) = fields.opt_string("alias_of")? {
        return Ok(Entry::Alias {
            name: fields.string("_id")?,
            of,
            absorbing: fields.opt_bool("absorbing")?.unwrap_or(false),
        });
    }
    let value_type = ValueType::named(fields.str("type")?);
    let allowed = fields.items("allowed_values", |value| value.as_str().map(str::to_owned))?;
    let earlier = fields.opt_str("earlier_type")?;
    let earlier =
        earlier.map(|name| ValueType::named(name).ok_or_else(|| fields.corrupt("earlier_type")));
    let usage = match (fields.bool("used")?, fields.opt_bool("published")?) {
        (false, _) => KeyUsage::Unused,
        (true, Some(false)) => KeyUsage::Used,
        (true, _) => KeyUsage::Published,
    };
    Ok(Entry::Key(SpecKey {
        key: fields.string("_id")?,
        label: fields.string("label")?,
        value_type: value_type.ok_or_else(|| fields.corrupt("type"))?,
        dimension: fields.opt_string("dimension")?,
        base_unit: fields.opt_string("base_unit")?,
        facetable: fields.bool("facetable")?,
        filterable: fields.bool("filterable")?,
        allowed_values: (!allowed.is_empty()).then_some(allowed),
        revision: fields.i64("revision")?,
        usage,
        aliases: Vec::new(),
        absorbing: Vec::new(),
        earlier_type: earlier.transpose()?,
        guessed_by: fields.opt_string("guessed_by")?,
    }))
}

/// Returns the keys with their aliases.
pub(crate) fn spec_keys(entries: Vec<Entry>) -> Vec<SpecKey> {
    let mut keys = Vec::with_capacity(entries.len());
    let mut aliases: HashMap<String, Vec<(String, bool)>> = HashMap::new();
    for entry in entries {
        match entry {
            Entry::Key(key) => keys.push(key),
            Entry::Alias {
                name,
                of,
                absorbing,
            } => aliases.entry(of).or_default().push((name, absorbing)),
        }
    }
    for key in &mut keys {
        for (name, absorbing) in aliases.remove(&key.key).unwrap_or_default() {
            if absorbing {
                key.absorbing.push(name);
            } else {
                key.aliases.push(name);
            }
        }
        key.aliases.sort_unstable();
        key.absorbing.sort_unstable();
    }
    keys
}

pub(crate) fn unit(unit: &Unit) -> Document {
    let mut doc = doc! {
        "_id": &unit.id,
        "schema_version": REFERENCE_VERSION,
        "dimension": &unit.dimension,
        "factor": unit.factor,
        "offset": unit.offset,
        "aliases": &unit.aliases,
    };
    put(&mut doc, "ucum", unit.ucum.as_deref());
    doc
}

pub(crate) fn read_unit(fields: &Fields<'_>) -> Read<Unit> {
    let number = |field: &str| {
        let value = fields.get(field)?.and_then(number);
        value.ok_or_else(|| fields.corrupt(field))
    };
    Ok(Unit {
        id: fields.string("_id")?,
        dimension: fields.string("dimension")?,
        factor: number("factor")?,
        offset: number("offset")?,
        ucum: fields.opt_string("ucum")?,
        aliases: fields.items("aliases", |value| value.as_str().map(str::to_owned))?,
    })
}
