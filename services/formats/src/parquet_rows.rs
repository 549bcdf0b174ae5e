//! Reading rows of Parquet files. In memory are the dictionary and a page of each column.

use std::fmt::Write as _;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::SignedDuration;
use jiff::civil::DateTime;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row as ParquetRow};
use serde_json::{Map, Number, Value};

use super::Row;
use super::background::{Background, Sink, Unread};

/// Starts to read the rows of a file.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn rows(file: File, read: Arc<AtomicU64>) -> Result<Background, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let started = Background::start(move |sink| {
        let reader = match SerializedFileReader::new(file) {
            Ok(reader) => reader,
            Err(error) => return sink.broken(&error.to_string()),
        };
        // Nobody reads any more: nothing is left to do.
        let _ = send(reader, size, &read, sink);
    });
    started.map_err(|error| error.to_string())
}

fn send(
    reader: SerializedFileReader<File>,
    size: u64,
    read: &AtomicU64,
    sink: &mut Sink,
) -> Result<(), Unread> {
    let stated = reader.metadata().file_metadata().num_rows();
    let stated = u64::try_from(stated).unwrap_or_default();
    let total = stated.max(1);
    let mut number = 0;
    for row in reader {
        number += 1;
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                sink.broken(&error.to_string());
                return Ok(());
            }
        };
        let object = object(&row);
        let bytes = length(&object);
        sink.row(number, bytes, Row::Object(object))?;
        let share = u128::from(size) * u128::from(number.min(total)) / u128::from(total);
        read.store(u64::try_from(share).unwrap_or(size), Ordering::Relaxed);
    }
    if number != stated {
        sink.broken(&format!("it has {number} rows where it says {stated}"));
    }
    Ok(())
}

fn object(row: &ParquetRow) -> Value {
    let columns = row.get_column_iter();
    let object: Map<String, Value> = columns
        .map(|(name, field)| (name.clone(), value(field)))
        .collect();
    Value::Object(object)
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(length).sum(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| key.len() + length(value))
            .sum(),
        _ => 8,
    }
}

/// A value as JSON. Dates are texts as RFC 3339 has them, decimals keep all their digits as text,
/// and bytes that are no text are hexadecimal.
fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(number) => Value::from(*number),
        Field::Short(number) => Value::from(*number),
        Field::Int(number) => Value::from(*number),
        Field::Long(number) => Value::from(*number),
        Field::UByte(number) => Value::from(*number),
        Field::UShort(number) => Value::from(*number),
        Field::UInt(number) => Value::from(*number),
        Field::ULong(number) => Value::from(*number),
        Field::Float16(number) => float(&number.to_string()),
        Field::Float(number) => float(&number.to_string()),
        Field::Double(number) => float(&number.to_string()),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => bytes_of(bytes.data()),
        Field::Date(days) => time(i64::from(*days).saturating_mul(86_400_000), true),
        Field::TimestampMillis(millis) => time(*millis, false),
        Field::TimestampMicros(micros) => time(micros.div_euclid(1000), false),
        Field::Group(row) => object(row),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::MapInternal(map) => {
            let entries = map.entries().iter();
            let object: Map<String, Value> = entries
                .map(|(key, field)| (key_of(&value(key)), value(field)))
                .collect();
            Value::Object(object)
        }
        other => Value::String(other.to_string()),
    }
}

/// A number with the digits that it is written with.
fn float(text: &str) -> Value {
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn key_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn bytes_of(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).map_or_else(|_| hexadecimal(bytes), str::to_owned);
    Value::String(text)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A time as text; without the time of day if it is a date.
fn time(millis: i64, is_date: bool) -> Value {
    let start = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let Ok(time) = start.checked_add(SignedDuration::from_millis(millis)) else {
        return Value::from(millis);
    };
    Value::String(if is_date {
        time.date().to_string()
    } else {
        format!("{time}Z")
    })
}

#[cfg(test)]
mod tests;
