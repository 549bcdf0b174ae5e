//! Mapping a value of a row to specs.

use std::sync::Arc;

use serde_json::Value;
use vitrine_model::spec::{Spec, SpecValue, ValueType, check, check_qualifier};
use vitrine_model::unit::UnitTable;

use super::super::number::shortened;
use super::super::reading::{OnBad, Reading, Scalar};
use super::key;
use super::pieces::pieces;
use super::rule::RuleOptions;

/// How a value is mapped to specs.
#[derive(Clone, Debug)]
pub(super) struct SpecReading {
    /// The key, or the reason why there is none.
    pub(super) key: Result<String, String>,
    /// The options of the rules.
    pub(super) options: RuleOptions,
    /// How the value is read, or the reason why it cannot be.
    pub(super) reading: Result<Reading, String>,
    /// The known units.
    pub(super) table: Arc<UnitTable>,
}

/// The maximum length of texts that are split by patterns.
const MAX_SPLIT_BYTES: usize = 512;

type Read = Result<Vec<Spec>, String>;

impl SpecReading {
    /// Returns true if whole objects are read.
    pub(super) fn takes_objects(&self) -> bool {
        self.options.template.is_some() || self.options.parts.value.is_some()
    }

    /// What happens if a value is invalid.
    pub(super) fn on_bad(&self) -> OnBad {
        self.reading
            .as_ref()
            .map_or(OnBad::RejectLine, |reading| reading.on_bad)
    }

    /// Maps a value to specs; empty if it is unknown.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(super) fn specs(&self, raw: &Value) -> Read {
        let reading = self.reading.as_ref().map_err(Clone::clone)?;
        if let Some(template) = &self.options.template {
            let text = template.fill(raw, reading)?;
            return text.map_or(Ok(Vec::new()), |text| {
                self.cut(&Value::String(text), reading)
            });
        }
        if self.options.parts.value.is_some() && raw.is_object() {
            return self.object(raw, reading);
        }
        self.cut(raw, reading)
    }

    /// Maps all items of a list to one text.
    ///
    /// # Errors
    /// What is wrong with an item.
    pub(super) fn joined(&self, items: &[Value]) -> Read {
        let reading = self.reading.as_ref().map_err(Clone::clone)?;
        let mut texts = Vec::new();
        for item in items {
            match &self.options.template {
                Some(template) => texts.extend(template.fill(item, reading)?),
                None => texts.extend(reading.text(item)?.map(std::borrow::Cow::into_owned)),
            }
        }
        let separator = self.options.separator.as_deref().unwrap_or(", ");
        self.cut(&Value::String(texts.join(separator)), reading)
    }

    /// Maps a list to the number of its items.
    ///
    /// # Errors
    /// If no key can be derived from the path.
    #[expect(
        clippy::cast_precision_loss,
        reason = "lists have fewer than 2^53 items"
    )]
    pub(super) fn count(&self, items: &[Value]) -> Read {
        Ok(vec![self.spec(
            self.key.clone()?,
            SpecValue::Number(items.len() as f64),
        )])
    }

    /// Maps a text that may contain several values.
    fn cut(&self, raw: &Value, reading: &Reading) -> Read {
        let (Some(separator), Value::String(text)) = (&self.options.cut_at, raw) else {
            return self.whole(raw, reading);
        };
        let mut specs = Vec::new();
        for piece in pieces(text, separator) {
            specs.extend(self.whole(&Value::String(piece.to_owned()), reading)?);
        }
        Ok(specs)
    }

    fn whole(&self, raw: &Value, reading: &Reading) -> Read {
        if !self.options.split.is_empty() {
            return self.split(raw, reading);
        }
        let Some(value) = self.value(raw, self.options.unit.as_deref(), reading)? else {
            return Ok(Vec::new());
        };
        Ok(vec![self.spec(self.key.clone()?, value)])
    }

    /// Maps a composite text to one spec for each of its parts.
    fn split(&self, raw: &Value, reading: &Reading) -> Read {
        let Some(text) = reading.text(raw)? else {
            return Ok(Vec::new());
        };
        let mut patterns = self
            .options
            .split
            .iter()
            .filter(|_| text.len() <= MAX_SPLIT_BYTES);
        let matching = patterns.find_map(|pattern| Some((pattern, pattern.split(&text)?)));
        let Some((pattern, parts)) = matching else {
            return Err(format!(
                "{:?} does not match the pattern of the mapping",
                shortened(&text)
            ));
        };
        let mut specs = Vec::new();
        for (name, part) in pattern.names().zip(parts) {
            let part = Value::String(part.to_owned());
            let value = self.value(&part, self.options.unit.as_deref(), reading);
            let value =
                value.map_err(|reason| format!("{:?}: {name} {reason}", shortened(&text)))?;
            specs.extend(value.map(|value| self.spec(name.to_owned(), value)));
        }
        Ok(specs)
    }

    /// Maps an object that contains the parts of a spec.
    fn object(&self, object: &Value, reading: &Reading) -> Read {
        let parts = &self.options.parts;
        let text = |path: &Option<super::super::path::Path>| {
            let raw = path.as_ref().and_then(|path| path.first(object));
            raw.map_or(Ok(None), |raw| reading.text(raw))
        };
        let spelling = text(&parts.unit)?;
        let unit = match &spelling {
            Some(spelling) => Some(
                self.table
                    .get(spelling)
                    .map_err(|e| e.to_string())?
                    .id
                    .as_str(),
            ),
            None => self.options.unit.as_deref(),
        };
        let raw = parts.value.as_ref().and_then(|path| path.first(object));
        let value = raw.map_or(Ok(None), |raw| self.value(raw, unit, reading))?;
        let key = match text(&parts.key)? {
            Some(words) => key::key_of_words(&words)?,
            None => self.key.clone()?,
        };
        let Some(value) = value else {
            return Ok(Vec::new());
        };
        let mut spec = self.spec(key, value);
        if let Some(qualifier) = text(&parts.qualifier)? {
            check_qualifier(&qualifier).map_err(|error| error.to_string())?;
            spec.qualifier = Some(qualifier.into_owned());
        }
        Ok(vec![spec])
    }

    fn spec(&self, key: String, value: SpecValue) -> Spec {
        Spec {
            key,
            value,
            qualifier: self.options.qualifier.clone(),
        }
    }

    fn value(
        &self,
        raw: &Value,
        unit: Option<&str>,
        reading: &Reading,
    ) -> Result<Option<SpecValue>, String> {
        let Some(scalar) = reading.scalar(raw)? else {
            return Ok(None);
        };
        let value = match self.value_type(&scalar, unit) {
            ValueType::Text => SpecValue::Text(reading.text(raw)?.unwrap_or_default().into_owned()),
            ValueType::Number => SpecValue::Number(reading.number(&scalar)?),
            ValueType::Quantity => self.quantity(&scalar, unit, reading)?,
            ValueType::Boolean => SpecValue::Boolean(reading.boolean(&scalar)?),
            ValueType::Date => {
                let text = reading.text(raw)?.unwrap_or_default();
                SpecValue::Date(reading.date(&text)?)
            }
        };
        self.checked(value).map(Some)
    }

    /// The type: that of the settings, otherwise the one suggested by the feed's type.
    fn value_type(&self, scalar: &Scalar<'_>, unit: Option<&str>) -> ValueType {
        let suggested = match scalar {
            Scalar::Boolean(_) => ValueType::Boolean,
            _ if unit.is_some() => ValueType::Quantity,
            Scalar::Number(_) => ValueType::Number,
            Scalar::Text(_) => ValueType::Text,
        };
        self.options.value_type.unwrap_or(suggested)
    }

    /// Checks a value by the rules of the model that apply to every key.
    fn checked(&self, value: SpecValue) -> Result<SpecValue, String> {
        let spec = self.spec("value".to_owned(), value);
        check(&spec, &self.table).map_err(|error| error.to_string())?;
        Ok(spec.value)
    }
}
