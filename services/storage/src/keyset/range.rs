//! The range of an index behind a position.
//!
//! A predicate for the rows behind a position has an OR for each column, and the planner plans each branch on its own:
//! that costs more than reading a page. Where the leading fields of the index have one value each, the rows are one
//! range of its keys: the bounds of the index scan, the options `min` and `max` of `find`.

use std::collections::HashMap;
use std::sync::OnceLock;

use mongodb::bson::{Bson, Document};
use vitrine_model::cursor::{KeyValue, Position};

use super::{ListQuery, bson, min_value, stored_id};
use crate::{products, reviews, schema};

/// A range of index keys, and the sort that reads it in order. All three have every field of the index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IndexRange {
    /// The first key.
    pub(crate) min: Document,
    /// The key after the last one.
    pub(crate) max: Document,
    pub(crate) sort: Document,
    /// Whether the filter can be left out: it says no more than the range, and no shard is found by it.
    pub(crate) is_filter: bool,
}

/// What the range begins or ends with if there is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherEnd {
    /// The first or last value of any type.
    All,
    /// The first or last row that has a value for the first column.
    Present,
    /// The first or last row that lacks it.
    Absent,
}

impl ListQuery {
    /// Returns the range of rows behind a position, or of all rows up to the other end, read in this direction; `None`
    /// where several ranges of the index have rows, or where the index has other fields.
    pub(super) fn range(
        &self,
        position: Option<&Position>,
        descending: bool,
        other_end: OtherEnd,
    ) -> Option<IndexRange> {
        let fields = index_fields(self.collection, self.index)?;
        let prefix = fields.len().checked_sub(self.columns.len() + 1)?;
        let (prefix, rest) = fields.split_at(prefix);
        let columns = self.columns.iter().map(|column| column.field);
        let is_ours = columns.chain(["_id"]).eq(rest.iter().map(String::as_str));
        let is_of_list = |at: &Position| at.keys.len() == self.columns.len();
        if !is_ours
            || !self.window.is_empty()
            || self.limit.is_some()
            || !position.is_none_or(is_of_list)
        {
            return None;
        }
        let conditions = conditions(&self.filter);
        let value = |field: &String| {
            let named = conditions.iter().find(|(name, _)| *name == field);
            named.map(|(_, value)| (field.clone(), (*value).clone()))
        };
        let prefix: Document = prefix.iter().map(value).collect::<Option<_>>()?;
        let is_filter = conditions.len() == prefix.len()
            && self.filter_is(&conditions)
            && !prefix.contains_key("product_id");
        let near = match position {
            Some(position) => self.near_end(&prefix, position, descending)?,
            None => self.far_end(&prefix, !descending, other_end),
        };
        let far = self.far_end(&prefix, descending, other_end);
        let (min, max) = if descending { (far, near) } else { (near, far) };
        let direction = Bson::Int32(if descending { -1 } else { 1 });
        Some(IndexRange {
            min,
            max,
            sort: fields
                .iter()
                .map(|field| (field.clone(), direction.clone()))
                .collect(),
            is_filter,
        })
    }

    /// Whether the filter says nothing but these conditions.
    fn filter_is(&self, conditions: &[(&String, &Bson)]) -> bool {
        let parts = match self.filter.get_array("$and") {
            Ok(parts) => parts
                .iter()
                .filter_map(Bson::as_document)
                .map(Document::len)
                .sum(),
            Err(_) => self.filter.len(),
        };
        parts == conditions.len()
    }

    /// The end at the position. The first key is included in a range, the last one is not.
    fn near_end(
        &self,
        prefix: &Document,
        position: &Position,
        descending: bool,
    ) -> Option<Document> {
        let mut end = prefix.clone();
        for (column, key) in self.columns.iter().zip(&position.keys) {
            end.insert(column.field, bson(key));
        }
        let id = if descending {
            position.id
        } else {
            position.id.checked_add(1)?
        };
        end.insert("_id", stored_id(id));
        Some(end)
    }

    fn far_end(&self, prefix: &Document, descending: bool, other_end: OtherEnd) -> Document {
        let outermost = if descending {
            Bson::MinKey
        } else {
            Bson::MaxKey
        };
        let mut end = prefix.clone();
        for (at, column) in self.columns.iter().enumerate() {
            let value = match other_end {
                OtherEnd::Present if at == 0 && descending => min_value(column.kind),
                OtherEnd::Absent if at == 0 => bson(&KeyValue::Absent),
                _ => outermost.clone(),
            };
            end.insert(column.field, value);
        }
        end.insert("_id", outermost);
        end
    }
}

/// Returns the fields that a filter compares with one value.
fn conditions(filter: &Document) -> Vec<(&String, &Bson)> {
    let parts = filter.get_array("$and").into_iter().flatten();
    let parts = parts.filter_map(Bson::as_document);
    let all = std::iter::once(filter)
        .chain(parts)
        .flat_map(Document::iter);
    all.filter(|(name, value)| {
        !name.starts_with('$') && !matches!(value, Bson::Document(_) | Bson::Array(_))
    })
    .collect()
}

/// Returns the fields of an index of `schema/mongodb`, in their order; `None` if one of them is in an array: such an
/// index has the order of a sort only within equal values.
fn index_fields(collection: &str, index: &str) -> Option<&'static [String]> {
    static FIELDS: OnceLock<HashMap<(String, String), Vec<String>>> = OnceLock::new();
    let known = FIELDS.get_or_init(|| {
        let listed = [products::COLLECTION, reviews::COLLECTION];
        let mut known = HashMap::new();
        for schema in schema::desired() {
            if !listed.contains(&schema.collection.as_str()) {
                continue;
            }
            for index in &schema.indexes {
                let has_array = |key: &Document| key.keys().any(|field| is_array(&schema, field));
                if index.get_document("key").is_ok_and(has_array) {
                    continue;
                }
                let (name, key) = (index.get_str("name"), index.get_document("key"));
                if let (Ok(name), Ok(key)) = (name, key) {
                    let fields = key.keys().cloned().collect();
                    known.insert((schema.collection.clone(), name.to_owned()), fields);
                }
            }
        }
        known
    });
    known
        .get(&(collection.to_owned(), index.to_owned()))
        .map(Vec::as_slice)
}

/// Whether a field, or the object around it, is an array.
fn is_array(schema: &schema::CollectionSchema, field: &str) -> bool {
    let outer = field.split('.').next().unwrap_or(field);
    let validator = schema.validator.get_document("$jsonSchema");
    let properties = validator.and_then(|validator| validator.get_document("properties"));
    let field = properties.and_then(|properties| properties.get_document(outer));
    field.is_ok_and(|field| field.get_str("bsonType").is_ok_and(|kind| kind == "array"))
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;
    use crate::keyset::{Column, ColumnKind};

    fn list(filter: Document, index: &'static str) -> ListQuery {
        ListQuery {
            collection: products::COLLECTION,
            window: Vec::new(),
            filter,
            columns: vec![Column::new("list_price", ColumnKind::Integer).nullable()],
            descending: false,
            index,
            merged: false,
            projection: None,
            limit: None,
        }
    }

    fn at(key: KeyValue) -> Position {
        Position {
            keys: vec![key],
            id: 7,
        }
    }

    #[test]
    fn a_range_begins_behind_the_position_and_ends_with_the_prefix() {
        let filter = doc! { "$and": [{ "status": "active" }, { "category": 3_i64 }] };
        let list = list(filter, "category_price");
        let up = list
            .range(Some(&at(KeyValue::Int(5))), false, OtherEnd::All)
            .unwrap();
        let prefix = |price: Bson, id: Bson| {
            doc! { "status": "active", "category": 3_i64, "list_price": price, "_id": id }
        };
        assert_eq!(up.min, prefix(Bson::Int64(5), Bson::Int64(8)));
        assert_eq!(up.max, prefix(Bson::MaxKey, Bson::MaxKey));
        assert_eq!(
            up.sort,
            doc! { "status": 1, "category": 1, "list_price": 1, "_id": 1 }
        );
        assert!(up.is_filter);
        let down = list
            .range(Some(&at(KeyValue::Int(5))), true, OtherEnd::Present)
            .unwrap();
        assert_eq!(down.min, prefix(Bson::Int64(i64::MIN), Bson::MinKey));
        assert_eq!(down.max, prefix(Bson::Int64(5), Bson::Int64(7)));
        let absent = list
            .range(Some(&at(KeyValue::Absent)), false, OtherEnd::Absent)
            .unwrap();
        assert_eq!(absent.min, prefix(Bson::Null, Bson::Int64(8)));
        assert_eq!(absent.max, prefix(Bson::Null, Bson::MaxKey));
        let all_absent = list.range(None, false, OtherEnd::Absent).unwrap();
        assert_eq!(all_absent.min, prefix(Bson::Null, Bson::MinKey));
        assert_eq!(all_absent.max, absent.max);
    }

    #[test]
    fn a_range_needs_one_value_for_each_leading_field() {
        let position = at(KeyValue::Int(5));
        let range = |filter: Document, index| {
            list(filter, index).range(Some(&position), false, OtherEnd::All)
        };
        let several = doc! { "status": "active", "category": { "$in": [3_i64, 4_i64] } };
        assert_eq!(range(several, "category_price"), None);
        assert_eq!(range(doc! { "status": "active" }, "category_price"), None);
        assert_eq!(range(doc! { "status": "active" }, "category_rating"), None);
        assert_eq!(range(doc! { "status": "active" }, "unknown"), None);
        let more = doc! { "status": "active", "rank.stars": { "$gte": 6 } };
        assert!(!range(more, "price").unwrap().is_filter);
        let token = doc! { "status": "active", "category": 3_i64, "tokens": "a=b" };
        assert_eq!(range(token, "category_tokens_price"), None, "an array");
        assert!(
            range(doc! { "status": "active" }, "price")
                .unwrap()
                .is_filter
        );
        let last = Position {
            keys: vec![KeyValue::Int(5)],
            id: i64::MAX,
        };
        let list = list(doc! { "status": "active" }, "price");
        assert_eq!(list.range(Some(&last), false, OtherEnd::All), None);
    }
}
