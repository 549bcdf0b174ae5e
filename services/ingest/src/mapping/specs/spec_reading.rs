//! Mapping a value of a row to specs.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use vitrine_model::spec::{
    MAX_SPECS, Spec, SpecValue, ValueType, check_qualifier, check_value, with_unit,
};
use vitrine_model::unit::UnitTable;

use super::super::number::shortened;
use super::super::path::Row;
use super::super::pattern::matching;
use super::super::pieces::pieces;
use super::super::reading::{Given, OnBad, Reading, Scalar, text_of};
use super::super::uses::UsedPath;
use super::names::Names;
use super::rule::{List, RuleOptions, SPEC_PARTS};

/// How a value is mapped to specs.
#[derive(Clone, Debug)]
pub(super) struct SpecReading {
    /// The names of the rules that say so, or of the settings of all specs.
    pub(super) by: String,
    /// The key, or the reason why there is none.
    pub(super) key: Result<String, String>,
    /// Whether the mapping names the key; otherwise it is made of the path.
    pub(super) is_named: bool,
    /// Whether this is an additional reading of the value.
    pub(super) also: bool,
    /// Whether the rules are about the items of a list.
    pub(super) of_items: bool,
    /// The options of the rules.
    pub(super) options: RuleOptions,
    /// How the value is read, or the reason why it cannot be.
    pub(super) reading: Result<Reading, String>,
    /// The known units.
    pub(super) table: Arc<UnitTable>,
    /// The names of the feed that keys are made of.
    pub(super) names: Names,
}

/// What a value is mapped to: specs, and what is wrong with the parts of it that are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mapped {
    pub(super) specs: Vec<Spec>,
    pub(super) bad: Vec<String>,
    /// Whether the mapping leaves the value out.
    pub(super) is_left_out: bool,
}

type Read = Result<Vec<Spec>, String>;

impl From<Read> for Mapped {
    fn from(read: Read) -> Self {
        match read {
            Ok(specs) => Self {
                specs,
                ..Self::default()
            },
            Err(reason) => Self {
                bad: vec![reason],
                ..Self::default()
            },
        }
    }
}

impl Mapped {
    /// A value that the mapping leaves out.
    fn left_out() -> Self {
        Self {
            is_left_out: true,
            ..Self::default()
        }
    }

    fn add(&mut self, read: Read) {
        match read {
            Ok(specs) => self.specs.extend(specs),
            Err(reason) => self.bad.push(reason),
        }
    }

    /// The specs as text for people, or what is wrong.
    pub(super) fn shown(&self) -> Result<Option<String>, String> {
        if !self.bad.is_empty() {
            return Err(self.bad.join("; "));
        }
        let specs: Vec<String> = self
            .specs
            .iter()
            .map(|spec| format!("{} = {}", spec.key, exact(&spec.value)))
            .collect();
        Ok((!specs.is_empty()).then(|| specs.join(", ")))
    }
}

/// A value for people with all digits of its number.
fn exact(value: &SpecValue) -> String {
    match value {
        SpecValue::Number(number) => number.to_string(),
        SpecValue::Quantity { value, unit } => with_unit(&value.to_string(), unit),
        other => other.display(),
    }
}

impl SpecReading {
    /// Returns true if whole objects are read.
    pub(super) fn takes_objects(&self) -> bool {
        self.options.template.is_some() || self.options.parts.value.is_some()
    }

    /// How a list is mapped. Rules for `a[]` are about the inner lists of a list of lists.
    pub(super) fn list_of(&self, items: &[Value]) -> List {
        if self.of_items && items.iter().any(Value::is_array) {
            return List::Each;
        }
        self.options.list.unwrap_or(List::Each)
    }

    /// What happens if a value is invalid.
    pub(super) fn on_bad(&self) -> OnBad {
        self.reading
            .as_ref()
            .map_or(OnBad::RejectLine, |reading| reading.on_bad)
    }

    /// Maps a value to specs; none if it is unknown. `row` is the row that it is in.
    pub(super) fn specs(&self, raw: &Value, row: Row<'_>) -> Mapped {
        let mapped = self.try_specs(raw, row);
        mapped.unwrap_or_else(|reason| Err(reason).into())
    }

    fn try_specs(&self, raw: &Value, row: Row<'_>) -> Result<Mapped, String> {
        let reading = self.reading.as_ref().map_err(Clone::clone)?;
        if let Some(template) = &self.options.template {
            if !self.takes(row.at(raw)) {
                return Ok(Mapped::left_out());
            }
            let text = template.fill(row.at(raw), reading)?;
            let filled = text.map(|text| self.cut(Given::Plain(&text), reading));
            return Ok(filled.unwrap_or_default());
        }
        if self.options.parts.value.is_some() && raw.is_object() {
            if !self.takes(row.at(raw)) {
                return Ok(Mapped::left_out());
            }
            return self.object(row.at(raw), reading);
        }
        if self.options.parts.unit.is_some() {
            let beside = Beside {
                unit: self.unit_beside(row, reading)?,
                ..Beside::default()
            };
            return Ok(self.cut_with(Given::Raw(raw), &beside, reading));
        }
        Ok(self.cut(Given::Raw(raw), reading))
    }

    /// The unit that stands beside a value, otherwise that of the rule. `row` is where the paths of
    /// specs begin.
    fn unit_beside(&self, row: Row<'_>, reading: &Reading) -> Result<Option<&str>, String> {
        let raw = self.options.parts.unit.as_ref();
        let raw = raw.and_then(|path| path.first(row));
        let spelling = raw.map_or(Ok(None), |raw| reading.text(raw))?;
        spelling.map_or(Ok(self.options.unit.as_deref()), |spelling| {
            self.unit_named(&spelling)
        })
    }

    /// The id of the unit that a feed names; empty if the word stands for a plain number.
    fn unit_named(&self, spelling: &str) -> Result<Option<&str>, String> {
        if let Some(unit) = self.options.unit_values.get(spelling) {
            return Ok(Some(unit));
        }
        let unit = self.table.get_in_feed(spelling);
        unit.map(|unit| Some(unit.id.as_str()))
            .map_err(|error| format!("{error}; unit_values says what a word stands for"))
    }

    /// Maps all items of a list to one text.
    pub(super) fn joined(&self, items: &[Value], row: Row<'_>) -> Mapped {
        let joined = self.try_joined(items, row);
        joined.unwrap_or_else(|reason| Err(reason).into())
    }

    fn try_joined(&self, items: &[Value], row: Row<'_>) -> Result<Mapped, String> {
        let reading = self.reading.as_ref().map_err(Clone::clone)?;
        let mut texts = Vec::new();
        for item in items {
            match &self.options.template {
                Some(_) if !self.takes(row.at(item)) => {}
                Some(template) => texts.extend(template.fill(row.at(item), reading)?),
                None => texts.extend(reading.text(item)?.map(Cow::into_owned)),
            }
        }
        let separator = self.options.separator.as_deref().unwrap_or(", ");
        Ok(self.cut(Given::Plain(&texts.join(separator)), reading))
    }

    /// Maps a list to the number of its items, but those that the rule leaves out.
    #[expect(
        clippy::cast_precision_loss,
        reason = "lists have fewer than 2^53 items"
    )]
    pub(super) fn count(&self, items: &[Value], row: Row<'_>) -> Mapped {
        let items = items.iter().filter(|item| self.takes(row.at(item))).count();
        let number = SpecValue::Number(items as f64);
        let key = self.key.clone();
        key.map(|key| vec![self.spec(key, number)]).into()
    }

    /// Maps a text that may contain several values. One that is bad leaves the others as they are.
    fn cut(&self, given: Given<'_>, reading: &Reading) -> Mapped {
        self.cut_with(given, &Beside::of(self), reading)
    }

    fn cut_with(&self, given: Given<'_>, beside: &Beside<'_>, reading: &Reading) -> Mapped {
        let Some(separator) = &self.options.cut_at else {
            return self.whole(given, beside, reading).into();
        };
        let plain = match given {
            Given::Plain(text) => Cow::Borrowed(text),
            Given::Raw(Value::String(text)) => match reading.translation(text) {
                Some(translation) => Cow::Borrowed(translation),
                None => reading.plain(text),
            },
            Given::Raw(_) => return self.whole(given, beside, reading).into(),
        };
        let mut mapped = Mapped::default();
        if reading.is_unknown_text(&plain) {
            return mapped;
        }
        let pieces = pieces(&plain, separator);
        if pieces.len() > MAX_SPECS {
            return Err(format!("has more than {MAX_SPECS} values")).into();
        }
        for piece in pieces {
            mapped.add(self.whole(Given::Plain(piece), beside, reading));
        }
        mapped
    }

    fn whole(&self, given: Given<'_>, beside: &Beside<'_>, reading: &Reading) -> Read {
        let read = if self.options.split.is_empty() {
            self.single(given, beside, reading)
        } else {
            self.split(given, beside, reading)
        };
        match &self.options.text_suffix {
            Some(suffix) => read.or_else(|_| self.as_text(suffix, given, beside, reading)),
            None => read,
        }
    }

    fn single(&self, given: Given<'_>, beside: &Beside<'_>, reading: &Reading) -> Read {
        let Some(value) = self.value(given, beside.unit, reading)? else {
            return Ok(Vec::new());
        };
        Ok(vec![beside.spec(self, beside.key(self)?, value)])
    }

    /// Maps a text that is no number to a text with the unit that stands beside it, under a key with this ending.
    fn as_text(
        &self,
        suffix: &str,
        given: Given<'_>,
        beside: &Beside<'_>,
        reading: &Reading,
    ) -> Read {
        let Some(text) = reading.text(given)? else {
            return Ok(Vec::new());
        };
        let unit = beside.unit.filter(|unit| !unit.is_empty());
        let text = unit.map_or_else(|| text.to_string(), |unit| with_unit(&text, unit));
        let key = format!("{}{suffix}", beside.key(self)?);
        let value = SpecValue::Text(text);
        check_value("value", &value, &self.table).map_err(|error| error.to_string())?;
        Ok(vec![beside.spec(self, key, value)])
    }

    /// Maps a composite text to one spec for each of its parts.
    fn split(&self, given: Given<'_>, beside: &Beside<'_>, reading: &Reading) -> Read {
        let Some(text) = reading.text(given)? else {
            return Ok(Vec::new());
        };
        let (pattern, parts) = matching(&self.options.split, &text)?;
        let units = pattern.placeholders().map(|one| one.unit.as_deref());
        let parts: Vec<(&str, &str)> = pattern.names().zip(parts).collect();
        let of_spec = beside.with_parts(&parts, self, reading)?;
        let mut specs = Vec::new();
        for ((name, part), of_pattern) in parts.iter().zip(units) {
            if SPEC_PARTS.contains(name) {
                continue;
            }
            // `{.}` is the value of the spec, `{._min}` that of a spec whose key has this ending.
            let ending = name.strip_prefix('.');
            let unit = ending.and(of_spec.unit).or(of_pattern).or(beside.unit);
            for piece in self.part_pieces(part) {
                let value = self.value(Given::Plain(piece), unit, reading);
                let named = |reason| match ending {
                    Some("") => format!("{:?}: {reason}", shortened(&text)),
                    _ => format!("{:?}: {name} {reason}", shortened(&text)),
                };
                let Some(value) = value.map_err(named)? else {
                    continue;
                };
                specs.push(match ending {
                    Some(ending) => {
                        let key = format!("{}{ending}", of_spec.key(self)?);
                        of_spec.spec(self, key, value)
                    }
                    None => beside.spec(self, (*name).to_owned(), value),
                });
            }
        }
        Ok(specs)
    }

    /// The values in a part of a split text.
    fn part_pieces<'t>(&self, part: &'t str) -> Vec<&'t str> {
        match &self.options.then_cut_at {
            Some(separator) => pieces(part, separator),
            None => vec![part],
        }
    }

    /// Whether the condition on the objects of `value_from` and `template` holds.
    fn takes(&self, object: Row<'_>) -> bool {
        let condition = self.options.where_item.as_ref();
        condition.is_none_or(|condition| condition.holds(object))
    }

    /// Maps an object that contains the parts of a spec.
    fn object(&self, object: Row<'_>, reading: &Reading) -> Result<Mapped, String> {
        let parts = &self.options.parts;
        let text = |path: &Option<UsedPath>| {
            let raw = path.as_ref().and_then(|path| path.first(object));
            raw.map_or(Ok(None), |raw| reading.text(raw))
        };
        let spelling = text(&parts.unit)?;
        let raw = parts.value.as_ref().and_then(|path| path.first(object));
        let raws = match raw {
            Some(Value::Array(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => return Ok(Mapped::default()),
        };
        let beside = Beside {
            unit: match &spelling {
                Some(spelling) => self.unit_named(spelling)?,
                None => self.options.unit.as_deref(),
            },
            key: match (text(&parts.key)?, &parts.key) {
                (Some(words), _) => Some(self.key_named(&words)),
                (None, Some(path)) if !self.is_named => {
                    let path = path.path();
                    Some(Err(format!(
                        "has a value, but no name at {path}; `key` says how such values are called"
                    )))
                }
                _ => None,
            },
            qualifier: match text(&parts.qualifier)? {
                Some(text) => Some(qualifier(&text)?),
                None => None,
            },
        };
        let mut mapped = Mapped::default();
        for raw in raws {
            let value = self.cut_with(raw.into(), &beside, reading);
            mapped.specs.extend(value.specs);
            mapped.bad.extend(value.bad);
        }
        Ok(mapped)
    }

    /// The key of the words that a feed has for it.
    fn key_named(&self, words: &str) -> Result<String, String> {
        if let Some(key) = self.options.key_values.get(words) {
            return Ok(key.clone());
        }
        let words = [words.to_owned()];
        self.names.key(self.options.key_prefix.as_deref(), &words)
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
        given: Given<'_>,
        unit: Option<&str>,
        reading: &Reading,
    ) -> Result<Option<SpecValue>, String> {
        let Some(scalar) = reading.scalar(given)? else {
            return Ok(None);
        };
        let value = match self.value_type(&scalar, unit, reading) {
            ValueType::Text => SpecValue::Text(text_of(scalar, given)?.into_owned()),
            ValueType::Number => SpecValue::Number(reading.number(&scalar)?),
            ValueType::Quantity => self.quantity(&scalar, unit, reading)?,
            ValueType::Boolean => SpecValue::Boolean(reading.boolean(&scalar)?),
            ValueType::Date => SpecValue::Date(reading.date(&text_of(scalar, given)?)?),
        };
        // The rules of the model that apply to every key.
        check_value("value", &value, &self.table).map_err(|error| error.to_string())?;
        Ok(Some(value))
    }

    /// The type: that of the settings, otherwise the one suggested by the feed's type.
    fn value_type(&self, scalar: &Scalar<'_>, unit: Option<&str>, reading: &Reading) -> ValueType {
        let suggested = match scalar {
            Scalar::Boolean(_) if !reading.calculates() => ValueType::Boolean,
            _ if unit.is_some() => ValueType::Quantity,
            Scalar::Text(_) if !reading.calculates() => ValueType::Text,
            _ => ValueType::Number,
        };
        if unit == Some("") {
            return ValueType::Number;
        }
        self.options.value_type.unwrap_or(suggested)
    }
}

/// What belongs to a spec besides its value.
#[derive(Clone, Debug, Default)]
struct Beside<'t> {
    /// The key, if it is not that of the rules.
    key: Option<Result<String, String>>,
    unit: Option<&'t str>,
    qualifier: Option<String>,
}

impl<'t> Beside<'t> {
    /// What the rules say.
    fn of(reading: &'t SpecReading) -> Self {
        Self {
            unit: reading.options.unit.as_deref(),
            ..Self::default()
        }
    }

    /// Returns this with what parts of a text say.
    fn with_parts(
        &self,
        parts: &[(&str, &str)],
        of: &'t SpecReading,
        reading: &Reading,
    ) -> Result<Self, String> {
        let text = |name: &str| {
            let part = parts.iter().find(|(known, _)| *known == name);
            part.map(|(_, part)| *part)
                .filter(|part| !reading.is_unknown_text(part))
        };
        let unit = text(".unit").map(|unit| of.unit_named(unit));
        let qualifier = text(".qualifier").map(qualifier).transpose()?;
        Ok(Self {
            key: text(".key")
                .map(|words| of.key_named(words))
                .or(self.key.clone()),
            unit: unit.transpose()?.flatten(),
            qualifier: qualifier.or(self.qualifier.clone()),
        })
    }

    fn key(&self, of: &SpecReading) -> Result<String, String> {
        self.key.clone().unwrap_or_else(|| of.key.clone())
    }

    fn spec(&self, of: &SpecReading, key: String, value: SpecValue) -> Spec {
        let mut spec = of.spec(key, value);
        spec.qualifier = self.qualifier.clone().or(spec.qualifier);
        spec
    }
}

fn qualifier(text: &str) -> Result<String, String> {
    check_qualifier(text).map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}
