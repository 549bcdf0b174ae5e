//! Values under a key whose type has changed.

use super::{SpecKey, SpecValue, ValueType};
use crate::clock::Timestamp;
use crate::unit::UnitTable;

impl SpecKey {
    /// Returns a value as one of this key's type, without loss: any value as its text, and a text that
    /// says a value of the type. `None` if the value says none.
    #[must_use]
    pub fn converted(&self, value: &SpecValue, units: &UnitTable) -> Option<SpecValue> {
        if value.value_type() == self.value_type {
            return Some(value.clone());
        }
        if self.value_type == ValueType::Text {
            return Some(SpecValue::Text(value.display()));
        }
        let SpecValue::Text(text) = value else {
            return None;
        };
        let text = text.trim();
        match self.value_type {
            ValueType::Text => None,
            ValueType::Number => number(text).map(SpecValue::Number),
            ValueType::Quantity => self.quantity(text, units),
            ValueType::Boolean => truth(text).map(SpecValue::Boolean),
            ValueType::Date => {
                let at = Timestamp::parse_day(text).or_else(|_| Timestamp::parse(text));
                at.ok().map(SpecValue::Date)
            }
        }
    }

    fn quantity(&self, text: &str, units: &UnitTable) -> Option<SpecValue> {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
        let at = text.find(|c| !is_number(c))?;
        let (value, unit) = text.split_at(at);
        let unit = units.get_in(unit.trim(), self.dimension.as_deref()?).ok()?;
        Some(SpecValue::Quantity {
            value: number(value)?,
            unit: unit.id.clone(),
        })
    }
}

/// A number with a decimal point and nothing else: other signs mean different things in different
/// countries.
fn number(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
    text.parse().ok().filter(|_| plain)
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_converted_where_nothing_is_lost() {
        let units = UnitTable::with_defined(Vec::new());
        let shown = |value_type, value: SpecValue| {
            let mut key = SpecKey::new("size", value_type);
            key.dimension = (value_type == ValueType::Quantity).then(|| "length".to_owned());
            let converted = key.converted(&value, &units);
            converted.map(|value| format!("{:?} {}", value.value_type(), value.display()))
        };
        let of = |text: &str| SpecValue::Text(text.to_owned());
        for (value_type, value, expected) in [
            (ValueType::Number, of(" 12.50 "), Some("Number 12.5")),
            (ValueType::Number, of("-3"), Some("Number -3")),
            (ValueType::Number, of("1,5"), None),
            (ValueType::Number, of("1e3"), None),
            (ValueType::Number, of("inf"), None),
            (ValueType::Number, of("12 cm"), None),
            (ValueType::Number, SpecValue::Boolean(true), None),
            (ValueType::Quantity, of("12.5 cm"), Some("Quantity 12.5 cm")),
            (ValueType::Quantity, of("12mm"), Some("Quantity 12 mm")),
            (ValueType::Quantity, of("12 kg"), None),
            (ValueType::Quantity, of("12"), None),
            (ValueType::Quantity, of("cm"), None),
            (ValueType::Quantity, SpecValue::Number(12.0), None),
            (ValueType::Boolean, of("Yes"), Some("Boolean yes")),
            (ValueType::Boolean, of("FALSE"), Some("Boolean no")),
            (ValueType::Boolean, of("1"), None),
            (ValueType::Date, of("2026-05-31"), Some("Date 2026-05-31")),
            (ValueType::Date, of("31.05.2026"), None),
            (ValueType::Text, SpecValue::Number(12.0), Some("Text 12")),
            (ValueType::Text, SpecValue::Boolean(false), Some("Text no")),
            (ValueType::Text, of("x"), Some("Text x")),
        ] {
            let found = shown(value_type, value.clone());
            assert_eq!(found.as_deref(), expected, "{value:?} as {value_type}");
        }
    }
}
