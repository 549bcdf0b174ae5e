//! One value of a row into one spec, or several.

use std::sync::Arc;

use serde_json::Value;
use vitrine_model::spec::{Spec, SpecValue, ValueType, check, check_qualifier};
use vitrine_model::unit::UnitTable;

use super::super::number::short;
use super::super::reading::{OnBad, Reading, Scalar};
use super::key;
use super::pieces::pieces;
use super::rule::Says;

/// How a value becomes specs.
#[derive(Clone, Debug)]
pub(super) struct SpecReading {
    /// The key, or why there is none.
    pub(super) key: Result<String, String>,
    /// What the rules say.
    pub(super) says: Says,
    /// How the value is read, or why it cannot be.
    pub(super) reading: Result<Reading, String>,
    /// The units known.
    pub(super) table: Arc<UnitTable>,
}

/// Texts longer than this are not split by patterns.
const MAX_SPLIT_BYTES: usize = 512;

type Read = Result<Vec<Spec>, String>;

impl SpecReading {
    /// Whether whole objects are read.
    pub(super) fn takes_objects(&self) -> bool {
        self.says.template.is_some() || self.says.parts.value.is_some()
    }

    /// What happens when a value is bad.
    pub(super) fn on_bad(&self) -> OnBad {
        self.reading
            .as_ref()
            .map_or(OnBad::RejectLine, |reading| reading.on_bad)
    }

    /// The specs of a value. An empty list when it is unknown.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn specs(&self, raw: &Value) -> Read {
        let reading = self.reading.as_ref().map_err(Clone::clone)?;
        if let Some(template) = &self.says.template {
            let text = template.fill(raw, reading)?;
            return text.map_or(Ok(Vec::new()), |text| {
                self.cut(&Value::String(text), reading)
            });
        }
        if self.says.parts.value.is_some() && raw.is_object() {
            return self.object(raw, reading);
        }
        self.cut(raw, reading)
    }

    /// One text of all items of a list.
    ///
    /// # Errors
    /// What is wrong with an item.
    pub(super) fn joined(&self, items: &[Value]) -> Read {
        let reading = self.reading.as_ref().map_err(Clone::clone)?;
        let mut texts = Vec::new();
        for item in items {
            match &self.says.template {
                Some(template) => texts.extend(template.fill(item, reading)?),
                None => texts.extend(reading.text(item)?.map(std::borrow::Cow::into_owned)),
            }
        }
        let separator = self.says.separator.as_deref().unwrap_or(", ");
        self.cut(&Value::String(texts.join(separator)), reading)
    }

    /// The number of items of a list.
    ///
    /// # Errors
    /// When the path makes no key.
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

    /// The specs of a value that may be several in one text.
    fn cut(&self, raw: &Value, reading: &Reading) -> Read {
        let (Some(sign), Value::String(text)) = (&self.says.cut_at, raw) else {
            return self.whole(raw, reading);
        };
        let mut specs = Vec::new();
        for piece in pieces(text, sign) {
            specs.extend(self.whole(&Value::String(piece.to_owned()), reading)?);
        }
        Ok(specs)
    }

    fn whole(&self, raw: &Value, reading: &Reading) -> Read {
        if !self.says.split.is_empty() {
            return self.split(raw, reading);
        }
        let Some(value) = self.value(raw, self.says.unit.as_deref(), reading)? else {
            return Ok(Vec::new());
        };
        Ok(vec![self.spec(self.key.clone()?, value)])
    }

    /// A composite text: one spec for each of its parts.
    fn split(&self, raw: &Value, reading: &Reading) -> Read {
        let Some(text) = reading.text(raw)? else {
            return Ok(Vec::new());
        };
        let mut patterns = self
            .says
            .split
            .iter()
            .filter(|_| text.len() <= MAX_SPLIT_BYTES);
        let found = patterns.find_map(|pattern| Some((pattern, pattern.split(&text)?)));
        let Some((pattern, parts)) = found else {
            return Err(format!(
                "{:?} has another form than the mapping expects",
                short(&text)
            ));
        };
        let mut specs = Vec::new();
        for (name, part) in pattern.names().zip(parts) {
            let part = Value::String(part.to_owned());
            let value = self.value(&part, self.says.unit.as_deref(), reading);
            let value = value.map_err(|reason| format!("{:?}: {name} {reason}", short(&text)))?;
            specs.extend(value.map(|value| self.spec(name.to_owned(), value)));
        }
        Ok(specs)
    }

    /// An object that holds the parts of a spec.
    fn object(&self, object: &Value, reading: &Reading) -> Read {
        let parts = &self.says.parts;
        let text = |path: &Option<super::super::path::Path>| {
            let raw = path.as_ref().and_then(|path| path.first(object));
            raw.map_or(Ok(None), |raw| reading.text(raw))
        };
        let named = text(&parts.unit)?;
        let unit = match &named {
            Some(spelling) => Some(
                self.table
                    .get(spelling)
                    .map_err(|e| e.to_string())?
                    .id
                    .as_str(),
            ),
            None => self.says.unit.as_deref(),
        };
        let raw = parts.value.as_ref().and_then(|path| path.first(object));
        let value = raw.map_or(Ok(None), |raw| self.value(raw, unit, reading))?;
        let key = match text(&parts.key)? {
            Some(words) => key::made(&words)?,
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
            qualifier: self.says.qualifier.clone(),
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

    /// The type: as told, else what the feed's own type suggests.
    fn value_type(&self, scalar: &Scalar<'_>, unit: Option<&str>) -> ValueType {
        let suggested = match scalar {
            Scalar::Boolean(_) => ValueType::Boolean,
            _ if unit.is_some() => ValueType::Quantity,
            Scalar::Number(_) => ValueType::Number,
            Scalar::Text(_) => ValueType::Text,
        };
        self.says.value_type.unwrap_or(suggested)
    }

    /// The model's own opinion of a value, whatever its key.
    fn checked(&self, value: SpecValue) -> Result<SpecValue, String> {
        let spec = self.spec("value".to_owned(), value);
        check(&spec, &self.table).map_err(|error| error.to_string())?;
        Ok(spec.value)
    }
}
