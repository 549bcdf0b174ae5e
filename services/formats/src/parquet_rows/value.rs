//! Values of Parquet as JSON.
//!
//! Integers are exact. Dates are `2026-05-31`, times `14:30:00`, times on a day
//! `2026-05-31T12:00:00Z`, without the `Z` if they have no time zone, and dates if it is midnight
//! then. Decimals keep all their digits as text, numbers with a fraction have 15 digits, or as many as
//! are needed if they have fewer bits. UUIDs have dashes, durations are those of ISO 8601, `P1M2DT3S`.
//! Bytes of a fixed number are hexadecimal, others too unless they are text.

use std::fmt::Write as _;

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Span};
use parquet::record::{Field, List, Row};
use serde_json::{Map, Number, Value};

/// What a column is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Leaf(Leaf),
    Group(Vec<Kind>),
    List(Box<Kind>),
    Map(Box<Kind>, Box<Kind>),
}

/// What the numbers or bytes of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// The numbers that they are.
    Plain,
    Unsigned,
    /// A number with so many digits behind the point.
    Decimal(i32),
    Float16,
    /// Days since 1970.
    Date,
    /// The time since midnight, in parts of a second.
    Time(i64),
    /// The time since 1970, in parts of a second.
    Timestamp {
        per_second: i64,
        is_utc: bool,
    },
    Interval,
    Text,
    Json,
    Uuid,
    Bytes,
    FixedBytes,
}

/// What is known of a row while it is read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Why a value of the column is null, the first one.
    pub(super) problem: Option<String>,
    /// The bytes of the row that is made, and how many there may be.
    pub(super) bytes: usize,
    pub(super) max_bytes: usize,
}

impl Reading {
    fn reject(&mut self, reason: String) -> Value {
        self.problem.get_or_insert(reason);
        Value::Null
    }

    /// Whether so many bytes more are too many, so that the row is not made any more.
    fn is_full(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes > self.max_bytes
    }
}

/// A value as JSON. What it does not mean is null, with the reason.
pub(super) fn value(field: &Field, kind: &Kind, reading: &mut Reading) -> Value {
    let bytes = match field {
        Field::Bytes(bytes) => bytes.len() + 2,
        _ => 8,
    };
    if reading.is_full(bytes) {
        return Value::Null;
    }
    match (field, kind) {
        (Field::Null, _) => Value::Null,
        (Field::Group(row), Kind::Group(kinds)) => group(row, kinds, reading),
        (Field::ListInternal(items), Kind::List(item)) => list(items, item, reading),
        // A column that is repeated without being a list.
        (Field::ListInternal(items), kind) => list(items, kind, reading),
        (Field::MapInternal(map), Kind::Map(key, of)) => {
            let entries = map.entries().iter();
            let entries = entries.map(|(name, field)| {
                let name = key_of(&value(name, key, reading));
                (name, value(field, of, reading))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        (field, Kind::Leaf(leaf)) => match leaf_value(field, *leaf) {
            Ok(value) => value,
            Err(reason) => reading.reject(reason),
        },
        (_, Kind::Group(_) | Kind::List(_) | Kind::Map(..)) => {
            reading.reject("is not what its column says".to_owned())
        }
    }
}

fn group(row: &Row, kinds: &[Kind], reading: &mut Reading) -> Value {
    let fields = row.get_column_iter().zip(kinds);
    let object = fields.map(|((name, field), kind)| {
        reading.is_full(name.len());
        (name.clone(), value(field, kind, reading))
    });
    Value::Object(object.collect::<Map<_, _>>())
}

fn list(items: &List, kind: &Kind, reading: &mut Reading) -> Value {
    let mut values = Vec::new();
    for item in items.elements() {
        if reading.is_full(0) {
            break;
        }
        match (item, kind) {
            // Lists of older writers are given as the only item of a list.
            (Field::ListInternal(inner), Kind::Leaf(_) | Kind::Group(_)) => {
                for item in inner.elements() {
                    if reading.is_full(0) {
                        break;
                    }
                    values.push(value(item, kind, reading));
                }
            }
            _ => values.push(value(item, kind, reading)),
        }
    }
    Value::Array(values)
}

fn key_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn leaf_value(field: &Field, leaf: Leaf) -> Result<Value, String> {
    match (field, leaf) {
        (Field::Bool(value), _) => Ok(Value::Bool(*value)),
        (Field::Int(number), leaf) => of_integer(i64::from(*number), 32, leaf),
        (Field::Long(number), leaf) => of_integer(*number, 64, leaf),
        (Field::TimestampMillis(millis), Leaf::Timestamp { .. }) => timestamp(*millis, 1000, true),
        (Field::Float(number), _) => float(f64::from(*number), &number.to_string()),
        (Field::Double(number), _) => float(*number, &digits(*number)),
        (Field::Bytes(bytes), leaf) => of_bytes(bytes.data(), leaf),
        (other, _) => Err(format!("is {other}, which is not what its column says")),
    }
}

fn of_integer(number: i64, bits: u32, leaf: Leaf) -> Result<Value, String> {
    match leaf {
        Leaf::Unsigned if bits == 32 => Ok(Value::from(number & 0xffff_ffff)),
        Leaf::Unsigned => Ok(Value::from(number.cast_unsigned())),
        Leaf::Decimal(scale) => decimal(&number.to_be_bytes(), scale),
        Leaf::Date => date(number),
        Leaf::Time(per_second) => time(number, per_second),
        Leaf::Timestamp { per_second, is_utc } => timestamp(number, per_second, is_utc),
        _ => Ok(Value::from(number)),
    }
}

fn of_bytes(bytes: &[u8], leaf: Leaf) -> Result<Value, String> {
    let text = match (leaf, bytes) {
        (Leaf::Decimal(scale), _) => return decimal(bytes, scale),
        (Leaf::Float16, [low, high]) => {
            let bits = u16::from_le_bytes([*low, *high]);
            return float(half(bits), &half_digits(bits));
        }
        (Leaf::Json, _) => {
            let value = serde_json::from_slice(bytes);
            return value.map_err(|_| "is not the JSON that its column says".to_owned());
        }
        (Leaf::Text, _) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err("has bytes that are not UTF-8".to_owned()),
        },
        (Leaf::Uuid, _) => uuid(&hexadecimal(bytes))?,
        (Leaf::Interval, _) => interval(bytes)?,
        (Leaf::Bytes, _) => {
            std::str::from_utf8(bytes).map_or_else(|_| hexadecimal(bytes), str::to_owned)
        }
        _ => hexadecimal(bytes),
    };
    Ok(Value::String(text))
}

/// A number with a fraction, with these digits.
fn float(number: f64, digits: &str) -> Result<Value, String> {
    let number = if number.is_finite() {
        digits.parse().ok()
    } else {
        None
    };
    let number = number.and_then(Number::from_f64).map(Value::Number);
    number.ok_or_else(|| format!("is {digits}, which is no number"))
}

/// The 15 digits that programs show of a number. Whole numbers that are exact stay so.
fn digits(number: f64) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return number.to_string();
    }
    rounded(number, 14)
}

fn rounded(number: f64, digits: usize) -> String {
    format!("{number:.digits$e}")
}

/// The number of 16 bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (
        i32::from(bits >> 10 & 0x1f),
        f64::from(bits & 0x3ff) / 1024.0,
    );
    sign * match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

/// The fewest digits that tell a number of 16 bits from the next.
fn half_digits(bits: u16) -> String {
    let number = half(bits);
    let step = (half(bits ^ 1) - number).abs();
    let written = (0..5).map(|digits| rounded(number, digits));
    let is_near = |text: &String| {
        let near: f64 = text.parse().unwrap_or(f64::NAN);
        (near - number).abs() < step / 2.0
    };
    written
        .clone()
        .find(is_near)
        .unwrap_or_else(|| number.to_string())
}

/// A decimal: the bytes of a number of any length, the highest first.
fn decimal(bytes: &[u8], scale: i32) -> Result<Value, String> {
    const MAX_BYTES: usize = 64;
    let scale = usize::try_from(scale).unwrap_or(0);
    if bytes.is_empty() || bytes.len() > MAX_BYTES || scale > 4 * MAX_BYTES {
        return Err(format!("is a decimal of {} bytes", bytes.len()));
    }
    let is_negative = bytes[0] >= 0x80;
    let mut rest: Vec<u8> = bytes.to_vec();
    if is_negative {
        for byte in &mut rest {
            *byte = !*byte;
        }
        for byte in rest.iter_mut().rev() {
            let (sum, overflows) = byte.overflowing_add(1);
            *byte = sum;
            if !overflows {
                break;
            }
        }
    }
    let mut digits = Vec::new();
    while rest.iter().any(|byte| *byte > 0) || digits.len() <= scale {
        digits.push(char::from(b'0' + divide_by_ten(&mut rest)));
        if digits.len() == scale {
            digits.push('.');
        }
    }
    // The point may be the last sign.
    if digits.last() == Some(&'.') {
        digits.push('0');
    }
    digits.extend(is_negative.then_some('-'));
    Ok(Value::String(digits.iter().rev().collect()))
}

/// Divides a number by ten; returns the rest.
fn divide_by_ten(number: &mut [u8]) -> u8 {
    let mut rest = 0_u16;
    for byte in number {
        let part = rest * 256 + u16::from(*byte);
        *byte = u8::try_from(part / 10).unwrap_or_default();
        rest = part % 10;
    }
    u8::try_from(rest).unwrap_or_default()
}

fn date(days: i64) -> Result<Value, String> {
    let start = Date::constant(1970, 1, 1);
    let date = Span::new()
        .try_days(days)
        .and_then(|span| start.checked_add(span));
    match date {
        Ok(date) => Ok(Value::String(date.to_string())),
        Err(_) => Err(format!(
            "is the date {days} days after 1970, which there is not"
        )),
    }
}

fn time(parts: i64, per_second: i64) -> Result<Value, String> {
    let wrong = || format!("is no time of day: {parts} parts of a second");
    if !(0..=86_400 * per_second).contains(&parts) {
        return Err(wrong());
    }
    if parts == 86_400 * per_second {
        return Ok(Value::String("24:00:00".to_owned()));
    }
    let nanos = nanos_of(parts % per_second, per_second);
    let (hour, rest) = (parts / per_second / 3600, parts / per_second % 3600);
    let part = |number: i64| i8::try_from(number).ok();
    let time = (part(hour), part(rest / 60), part(rest % 60));
    let (Some(hour), Some(minute), Some(second)) = time else {
        return Err(wrong());
    };
    let time = Time::new(hour, minute, second, nanos).map_err(|_| wrong())?;
    Ok(Value::String(time.to_string()))
}

/// Parts of a second as nanoseconds.
fn nanos_of(parts: i64, per_second: i64) -> i32 {
    i32::try_from(parts * (1_000_000_000 / per_second)).unwrap_or_default()
}

/// A time on a day.
fn timestamp(parts: i64, per_second: i64, is_utc: bool) -> Result<Value, String> {
    let start = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let (seconds, rest) = (parts.div_euclid(per_second), parts.rem_euclid(per_second));
    let since = SignedDuration::new(seconds, nanos_of(rest, per_second));
    let time = start.checked_add(since);
    let time = time.map_err(|_| format!("is the time {parts}, which there is not"))?;
    Ok(Value::String(if is_utc {
        format!("{time}Z")
    } else if time.time() == Time::midnight() {
        time.date().to_string()
    } else {
        time.to_string()
    }))
}

/// Months, days and milliseconds as ISO 8601 writes a duration.
fn interval(bytes: &[u8]) -> Result<String, String> {
    let part = |at: usize| {
        let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
        part.map(u32::from_le_bytes)
    };
    let (Some(months), Some(days), Some(millis)) = (part(0), part(4), part(8)) else {
        return Err("is no duration".to_owned());
    };
    let mut text = "P".to_owned();
    let _ = match (months, days) {
        (0, 0) => Ok(()),
        (0, days) => write!(text, "{days}D"),
        (months, 0) => write!(text, "{months}M"),
        (months, days) => write!(text, "{months}M{days}D"),
    };
    let (seconds, millis) = (millis / 1000, millis % 1000);
    if millis > 0 {
        let _ = write!(text, "T{seconds}.{millis:03}S");
    } else if seconds > 0 || text.len() == 1 {
        let _ = write!(text, "T{seconds}S");
    }
    Ok(text)
}

fn uuid(digits: &str) -> Result<String, String> {
    if digits.len() != 32 {
        return Err(format!("is no UUID: {digits}"));
    }
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    Ok(parts.join("-"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
