//! Which filters make a list, or a count, examine products that do not match.
//!
//! An index has the products of categories in each order, and those with one value by popularity and by price. Any other
//! condition is checked product by product. The service decides the same from the indexes (`Served` in storage); here it
//! follows from the arguments alone, before anything is known of the products.

use async_graphql_value::{ConstValue, Name, indexmap::IndexMap};

use crate::execution::SelectedField;

/// Fields of a filter that an index has, if there is one of them with a few values.
const VALUES: [&str; 2] = ["brand", "country"];
/// The maximum number of values of such a field.
const MAX_VALUES: usize = 10;

/// What a filter asks of the products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    /// How many values an index has.
    values: usize,
    price: bool,
    /// What no index has together with the values.
    more: bool,
}

/// Whether a list with this filter and sort key examines products that do not match.
pub(super) fn list_examines(filter: Option<&ConstValue>, sort: Option<&str>) -> bool {
    let asked = Asked::of(filter);
    match sort {
        _ if asked == Asked::default() => false,
        Some("PRICE") => asked.more || asked.values > 1,
        None | Some("POPULARITY") => asked.more || asked.price || asked.values > 1,
        Some(_) => true,
    }
}

/// Whether a count with this filter examines products that do not match.
pub(super) fn count_examines(filter: Option<&ConstValue>) -> bool {
    let asked = Asked::of(filter);
    asked.more || asked.price || asked.values > 1
}

/// The number of events of a batch.
pub(super) fn events(field: &SelectedField<'_>) -> u64 {
    let input = field.constant("input");
    let events = match &input {
        Some(ConstValue::Object(fields)) => fields.get("events"),
        _ => None,
    };
    u64::try_from(events.map_or(0, length)).unwrap_or(u64::MAX)
}

/// The sort key of the first item of `sort`.
pub(super) fn sort_key(sort: Option<&ConstValue>) -> Option<&str> {
    let first = match sort? {
        ConstValue::List(items) => items.first()?,
        item => item,
    };
    let ConstValue::Object(fields) = first else {
        return None;
    };
    match fields.get("key")? {
        ConstValue::Enum(name) => Some(name.as_str()),
        ConstValue::String(name) => Some(name.as_str()),
        _ => None,
    }
}

impl Asked {
    fn of(filter: Option<&ConstValue>) -> Self {
        let mut asked = Self::default();
        if let Some(ConstValue::Object(fields)) = filter {
            asked.add(fields);
        }
        asked
    }

    fn add(&mut self, fields: &IndexMap<Name, ConstValue>) {
        for (name, value) in fields {
            match name.as_str() {
                _ if *value == ConstValue::Null => {}
                "category" => {}
                "price" => self.price = true,
                "specs" => self.add_specs(value),
                name if VALUES.contains(&name) && length(value) <= MAX_VALUES => self.values += 1,
                _ => self.more = true,
            }
        }
    }

    fn add_specs(&mut self, specs: &ConstValue) {
        let items = match specs {
            ConstValue::List(items) => items.as_slice(),
            item => std::slice::from_ref(item),
        };
        for item in items {
            if is_value(item) {
                self.values += 1;
            } else {
                self.more = true;
            }
        }
    }
}

/// Whether a filter of a spec names a few texts, or yes or no.
fn is_value(spec: &ConstValue) -> bool {
    let ConstValue::Object(fields) = spec else {
        return false;
    };
    fields.iter().all(|(name, value)| match name.as_str() {
        "key" | "qualifier" | "boolean" => true,
        "text" => scalars(value) <= MAX_VALUES,
        _ => *value == ConstValue::Null,
    })
}

fn length(value: &ConstValue) -> usize {
    match value {
        ConstValue::List(items) => items.len(),
        _ => 1,
    }
}

fn scalars(value: &ConstValue) -> usize {
    match value {
        ConstValue::List(items) => items.iter().map(scalars).sum(),
        ConstValue::Object(fields) => fields.values().map(scalars).sum(),
        ConstValue::Null => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(filter: Value, sort: Option<&str>) -> bool {
        list_examines(Some(&ConstValue::from_json(filter).unwrap()), sort)
    }

    #[test]
    fn what_an_index_has_in_order_examines_nothing_else() {
        let red = json!({ "key": "color", "text": { "eq": "red" } });
        let cases = [
            (json!({}), Some("NAME"), false),
            (
                json!({ "category": ["a", "b"], "brand": null }),
                Some("NAME"),
                false,
            ),
            (json!({ "brand": ["a"] }), None, false),
            (json!({ "brand": ["a"] }), Some("NAME"), true),
            (json!({ "brand": ["a"], "country": ["DE"] }), None, true),
            (
                json!({ "category": ["a"], "specs": [red] }),
                Some("PRICE"),
                false,
            ),
            (json!({ "specs": [red, red] }), Some("PRICE"), true),
            (
                json!({ "specs": [{ "key": "color", "exists": true }] }),
                None,
                true,
            ),
            (json!({ "price": { "gte": "1" } }), Some("PRICE"), false),
            (json!({ "price": { "gte": "1" } }), None, true),
            (json!({ "rating": { "gte": 4 } }), Some("RATING"), true),
            (json!({ "and": [{}] }), None, true),
            (json!({ "or": [{ "brand": ["a"] }] }), None, true),
        ];
        for (filter, sort, expected) in cases {
            assert_eq!(list(filter.clone(), sort), expected, "{filter} by {sort:?}");
        }
    }

    #[test]
    fn the_first_sort_key_counts() {
        let sort = ConstValue::from_json(json!([{ "key": "PRICE" }])).unwrap();
        assert_eq!(sort_key(Some(&sort)), Some("PRICE"));
        assert_eq!(sort_key(None), None);
    }
}
