//! Lists sorted by the values of a spec key.
//!
//! No index has this order: the numbers of all keys are in one array, and an index on the array
//! would sort by the lowest number of any key. The value is therefore computed for each product
//! that matches the condition, and the page is the top of the sorted result. The caller limits the
//! number of matching products.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawBsonRef, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::cursor::{KeyValue, Position};
use vitrine_model::filter::Direction;

use crate::keyset::{Boundary, Page, PageRequest, Row};
use crate::products::{COLLECTION, ProductFields, ProductList, SpecSort, projection};
use crate::raw::{Fields, number, stored_id};
use crate::views::ProductView;
use crate::{StorageError, Store, products_query};

/// The computed value, and whether there is none.
const VALUE: &str = "sort_value";
const ABSENT: &str = "sort_absent";

impl Store {
    /// Reads one page. One command.
    pub(crate) async fn read_by_spec(
        &self,
        list: &ProductList,
        order: &SpecSort,
        request: &PageRequest,
    ) -> Result<Page<ProductView>, StorageError> {
        let descending = list.sort.direction == Direction::Descending;
        let (position, backward) = match &request.from {
            Boundary::After(position) => (position.as_ref(), false),
            Boundary::Before(position) => (position.as_ref(), true),
        };
        let mut pipeline = products_query::window(&list.condition).unwrap_or_default();
        pipeline.extend([
            doc! { "$match": products_query::predicate(&list.condition) },
            doc! { "$set": { VALUE: value(order, descending) } },
            doc! { "$set": { ABSENT: { "$lte": [format!("${VALUE}"), Bson::Null] } } },
        ]);
        if let Some(position) = position {
            pipeline.push(doc! { "$match": after_position(position, descending, backward) });
        }
        let limit = i64::try_from(request.size + 1).expect("pages are small");
        let shown = match list.fields {
            ProductFields::Id => doc! { "_id": 1, VALUE: 1 },
            fields => {
                let mut shown = projection(fields);
                shown.insert(ABSENT, 0);
                shown
            }
        };
        pipeline.extend([
            doc! { "$sort": sort(descending, backward) },
            doc! { "$limit": limit },
            doc! { "$project": shown },
        ]);
        let collection = self.documents(COLLECTION);
        let aggregate = collection
            .aggregate(pipeline)
            .hint(Hint::Name(
                products_query::count_index(&list.condition).to_owned(),
            ))
            .max_time(self.max_time);
        let cursor = aggregate.await?.with_type::<RawDocumentBuf>();
        let mut found: Vec<RawDocumentBuf> = cursor.try_collect().await?;
        let more = found.len() > request.size;
        found.truncate(request.size);
        if backward {
            found.reverse();
        }
        let rows: Result<Vec<Row<ProductView>>, StorageError> =
            found.into_iter().map(row).collect();
        Ok(Page {
            rows: rows?,
            more,
            stopped: None,
        })
    }
}

/// The value of a product: its lowest when ascending, its highest when descending; null without
/// one.
fn value(order: &SpecSort, descending: bool) -> Document {
    let all = if order.by_token {
        let has_name = |name: &String| {
            let prefix = doc! { "$literal": format!("{name}=") };
            Bson::from(doc! { "$eq": [{ "$indexOfBytes": ["$$this", prefix] }, 0] })
        };
        let any: Vec<Bson> = order.names.iter().map(has_name).collect();
        let tokens = doc! { "$filter": { "input": "$tokens", "cond": { "$or": any } } };
        // The part after the key, so that two names of one key compare by their values.
        let from = doc! { "$add": [{ "$indexOfBytes": ["$$this", "="] }, 1] };
        let rest = doc! { "$substrBytes": ["$$this", from, { "$strLenBytes": "$$this" }] };
        doc! { "$map": { "input": tokens, "in": rest } }
    } else {
        let names = doc! { "$literal": &order.names };
        let specs = doc! { "$filter": {
            "input": "$specs",
            "cond": { "$in": ["$$this.k", names] },
        } };
        doc! { "$map": { "input": specs, "in": "$$this.n" } }
    };
    let operator = if descending { "$max" } else { "$min" };
    doc! { operator: all }
}

/// The filter for rows behind (or before) a position. Products without a value are last in both
/// directions.
fn after_position(position: &Position, descending: bool, backward: bool) -> Document {
    let comparison = if descending == backward { "$gt" } else { "$lt" };
    let id = doc! { comparison: stored_id(position.id) };
    let tie = |value: Bson| doc! { VALUE: value, "_id": id.clone() };
    let value = match position.keys.first() {
        Some(KeyValue::Float(n)) => Some(Bson::Double(*n)),
        Some(KeyValue::Text(text)) => Some(Bson::String(text.clone())),
        _ => None,
    };
    let parts = match (value, backward) {
        (Some(value), false) => vec![
            doc! { VALUE: { comparison: value.clone() } },
            tie(value),
            doc! { ABSENT: true },
        ],
        (Some(value), true) => vec![doc! { VALUE: { comparison: value.clone() } }, tie(value)],
        (None, false) => vec![doc! { ABSENT: true, "_id": id.clone() }],
        (None, true) => vec![
            doc! { ABSENT: false },
            doc! { ABSENT: true, "_id": id.clone() },
        ],
    };
    doc! { "$or": parts }
}

fn sort(descending: bool, backward: bool) -> Document {
    let value = if descending == backward { 1 } else { -1 };
    let absent = if backward { -1 } else { 1 };
    doc! { ABSENT: absent, VALUE: value, "_id": value }
}

fn row(doc: RawDocumentBuf) -> Result<Row<ProductView>, StorageError> {
    let fields = Fields::of(COLLECTION, &doc);
    let key = match fields.get(VALUE)? {
        None | Some(RawBsonRef::Null) => KeyValue::Absent,
        Some(RawBsonRef::String(text)) => KeyValue::Text(text.to_owned()),
        Some(other) => KeyValue::Float(number(other).ok_or_else(|| fields.corrupt(VALUE))?),
    };
    let position = Position {
        keys: vec![key],
        id: fields.id("_id")?,
    };
    let value = ProductView::new(doc)?;
    Ok(Row { value, position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_never_become_operators() {
        let order = SpecSort {
            names: vec!["$where".to_owned()],
            by_token: true,
        };
        let text = value(&order, false).to_string();
        assert!(text.contains(r#""$literal": "$where=""#), "{text}");
    }

    #[test]
    fn products_without_a_value_are_last_in_both_directions() {
        assert_eq!(sort(false, false), doc! { ABSENT: 1, VALUE: 1, "_id": 1 });
        assert_eq!(sort(true, false), doc! { ABSENT: 1, VALUE: -1, "_id": -1 });
        assert_eq!(sort(true, true), doc! { ABSENT: -1, VALUE: 1, "_id": 1 });
    }
}
