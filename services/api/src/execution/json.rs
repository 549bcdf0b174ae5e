//! JSON of values that were partly written directly.

use async_graphql::Value;
use serde::Serialize;

/// Appends a value. What was written directly is copied.
pub(super) fn append(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Binary(written) => out.extend_from_slice(written),
        Value::List(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                append(item, out);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (index, (key, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                append_leaf(key.as_str(), out);
                out.push(b':');
                append(value, out);
            }
            out.push(b'}');
        }
        leaf => append_leaf(leaf, out),
    }
}

/// Appends what has its own format.
pub(super) fn append_leaf(leaf: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, leaf).expect("it has string keys and finite numbers");
}

/// Returns the number of bytes of a value that were written directly.
pub(super) fn written(value: &Value) -> usize {
    match value {
        Value::Binary(written) => written.len(),
        Value::List(items) => items.iter().map(written).sum(),
        Value::Object(fields) => fields.values().map(written).sum(),
        _ => 0,
    }
}

/// Returns a value in which what was written directly is a value as well.
pub(super) fn expanded(value: &Value) -> Value {
    match value {
        Value::Binary(written) => {
            serde_json::from_slice(written).expect("what is written directly is JSON")
        }
        Value::List(items) => Value::List(items.iter().map(expanded).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), expanded(value)))
                    .collect(),
            )
        }
        leaf => leaf.clone(),
    }
}
