//! Changes of stored fields as values for people.

use mongodb::bson::{Bson, Document};
use vitrine_model::clock::Timestamp;
use vitrine_model::history::{FieldChange, FieldValue};
use vitrine_model::id::{CategoryId, GlobalId, ProductId, SupplierId};
use vitrine_model::money::{Currency, Money};

/// The fields of an object with their values for people.
type Shown = Vec<(String, FieldValue)>;

/// Returns the fields that a change changed, in the order before the change; new ones come last.
pub(super) fn field_changes(before: &Document, after: &Document) -> Vec<FieldChange> {
    let (before, mut after) = (shown_fields(before), shown_fields(after));
    let mut all = Vec::with_capacity(before.len().max(after.len()));
    for (field, before) in before {
        let found = after.iter().position(|(name, _)| *name == field);
        let after = found.map(|found| after.remove(found).1);
        if after.as_ref() != Some(&before) {
            let before = Some(before);
            all.push(FieldChange {
                field,
                before,
                after,
            });
        }
    }
    let new = after.into_iter().map(|(field, after)| FieldChange {
        field,
        before: None,
        after: Some(after),
    });
    all.extend(new);
    all
}

pub(super) fn shown_fields(state: &Document) -> Shown {
    state
        .iter()
        .flat_map(|(field, value)| shown_field(field, value))
        .collect()
}

fn shown_field(field: &str, value: &Bson) -> Shown {
    let one = |value: FieldValue| vec![(camel_case(field), value)];
    match (field, value) {
        ("category" | "parent", Bson::Int64(id)) => {
            one(FieldValue::Category(CategoryId::from_i64(*id)))
        }
        ("supplier", Bson::Int64(id)) => one(FieldValue::Supplier(
            SupplierId::from_i64(*id),
            String::new(),
        )),
        ("supplier", Bson::Document(supplier)) => {
            let id = supplier.get_i64("_id").unwrap_or_default();
            let name = supplier.get_str("name").unwrap_or_default().to_owned();
            one(FieldValue::Supplier(SupplierId::from_i64(id), name))
        }
        ("price", Bson::Document(price)) => one(FieldValue::Text(shown_price(price))),
        ("status" | "type", Bson::String(name)) => one(FieldValue::Text(name.to_uppercase())),
        ("specs", Bson::Array(specs)) => shown_specs(specs),
        ("media", Bson::Array(media)) => {
            let media = media.iter().filter_map(Bson::as_document);
            let media: Vec<String> = media.map(shown_medium).collect();
            one(FieldValue::Text(media.join(", ")))
        }
        ("details", Bson::Document(details)) => {
            let details = details.iter().filter(|(_, value)| !is_nothing(value));
            details
                .map(|(name, value)| {
                    let name = format!("details.{}", camel_case(name));
                    (name, FieldValue::Text(text(value)))
                })
                .collect()
        }
        (_, value) => one(FieldValue::Text(text(value))),
    }
}

/// One field for each key and qualifier.
fn shown_specs(specs: &[Bson]) -> Shown {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for spec in specs.iter().filter_map(Bson::as_document) {
        let key = spec.get_str("k").unwrap_or_default();
        let name = spec.get_str("q").map_or_else(
            |_| format!("specs.{key}"),
            |qualifier| format!("specs.{key} ({qualifier})"),
        );
        let value = spec.get("v").map(text).unwrap_or_default();
        let value = match spec.get_str("u") {
            Ok(unit) => format!("{value} {unit}"),
            Err(_) => value,
        };
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => all.push((name, vec![value])),
        }
    }
    let fields = all.into_iter();
    fields
        .map(|(name, values)| (name, FieldValue::Text(values.join(", "))))
        .collect()
}

/// The address, with the kind unless it is an image, and with the alternative text.
fn shown_medium(medium: &Document) -> String {
    let part = |field: &str| medium.get_str(field).unwrap_or_default();
    let mut shown = part("url").to_owned();
    if part("kind") != "image" {
        shown = format!("{} {shown}", part("kind"));
    }
    match part("alt") {
        "" => shown,
        alt => format!("{shown} ({alt})"),
    }
}

fn shown_price(price: &Document) -> String {
    let minor = price.get_i64("amount").unwrap_or_default();
    let code = price.get_str("currency").unwrap_or_default();
    match Currency::parse(code) {
        Ok(currency) => format!("{} {code}", Money { minor, currency }.amount()),
        Err(_) => format!("{minor} {code}"),
    }
}

/// Returns whether a value says nothing: details have all fields of their kind.
fn is_nothing(value: &Bson) -> bool {
    match value {
        Bson::Null => true,
        Bson::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn text(value: &Bson) -> String {
    let joined = |values: Vec<String>, with: &str| values.join(with);
    match value {
        Bson::String(text) => text.clone(),
        Bson::Double(number) => number.to_string(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::Boolean(value) => value.to_string(),
        Bson::DateTime(at) => Timestamp::from_millis(at.timestamp_millis()).to_string(),
        Bson::Array(items) => joined(items.iter().map(text).collect(), ", "),
        Bson::Document(item) => {
            let parts = item.iter().filter(|(_, part)| !is_nothing(part));
            let parts = parts.map(|(name, part)| match (name.as_str(), part) {
                ("product_id", Bson::Int64(id)) => {
                    GlobalId::Product(ProductId::from_i64(*id)).encode()
                }
                (_, part) => text(part),
            });
            joined(parts.collect(), " ")
        }
        other => other.to_string(),
    }
}

/// Returns the name that a stored field has in the API: `base_unit` is `baseUnit`.
fn camel_case(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    let mut upper = false;
    for letter in field.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                name.extend(letter.to_uppercase());
                upper = false;
            }
            letter => name.push(letter),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn shown(before: &Document, after: &Document) -> Vec<(String, String, String)> {
        let text = |value: Option<FieldValue>| match value {
            None => "-".to_owned(),
            Some(FieldValue::Text(text)) => text,
            Some(FieldValue::Category(id)) => format!("category {}", id.to_i64()),
            Some(FieldValue::Supplier(id, name)) => format!("supplier {} {name}", id.to_i64()),
        };
        let changes = field_changes(before, after).into_iter();
        changes
            .map(|change| (change.field, text(change.before), text(change.after)))
            .collect()
    }

    fn row(field: &str, before: &str, after: &str) -> (String, String, String) {
        (field.to_owned(), before.to_owned(), after.to_owned())
    }

    #[test]
    fn specs_are_shown_by_key_and_only_if_they_differ() {
        let spec = |key: &str, value: Bson| doc! { "k": key, "t": "text", "v": value };
        let weight = |value: f64| {
            doc! { "k": "weight", "t": "quantity", "v": value, "u": "kg", "q": "packed" }
        };
        let before = doc! { "specs": [
            spec("colour", "red".into()), spec("size", "M".into()), spec("size", "L".into()),
            weight(1.5),
        ] };
        let after = doc! { "specs": [
            spec("size", "M".into()), spec("colour", "red".into()), weight(2.0),
            spec("washable", true.into()),
        ] };
        assert_eq!(
            shown(&before, &after),
            [
                row("specs.size", "M, L", "M"),
                row("specs.weight (packed)", "1.5 kg", "2 kg"),
                row("specs.washable", "-", "true"),
            ]
        );
    }

    #[test]
    fn every_field_is_shown_for_people() {
        let before = doc! {
            "status": "draft", "category": 7_i64, "base_unit": "kg",
            "price": { "amount": 1999_i64, "currency": "EUR" },
            "details": { "isbn": Bson::Null, "warranty_months": 12, "contributors": [{ "name": "Ann", "role": "author" }] },
            "media": [
                { "url": "https://e.org/1", "kind": "image", "alt": "front" },
                { "url": "https://e.org/2", "kind": "video" },
            ],
        };
        let after = doc! {
            "status": "active", "supplier": { "_id": 3_i64, "name": "Acme" },
            "price": { "amount": 5_i64, "currency": "JPY" },
            "details": { "isbn": "9780140328721", "warranty_months": 24, "contributors": [] },
        };
        assert_eq!(
            shown(&before, &after),
            [
                row("status", "DRAFT", "ACTIVE"),
                row("category", "category 7", "-"),
                row("baseUnit", "kg", "-"),
                row("price", "19.99 EUR", "5 JPY"),
                row("details.warrantyMonths", "12", "24"),
                row("details.contributors", "Ann author", "-"),
                row(
                    "media",
                    "https://e.org/1 (front), video https://e.org/2",
                    "-"
                ),
                row("supplier", "-", "supplier 3 Acme"),
                row("details.isbn", "-", "9780140328721"),
            ]
        );
    }
}
