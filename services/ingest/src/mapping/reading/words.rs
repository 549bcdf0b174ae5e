//! Markers for unknown values, and translations of words.

use std::borrow::Cow;

use serde_json::Value;

use super::{Reading, Scalar};

impl Reading {
    /// Returns true if this value is one of the markers for unknown.
    pub(super) fn is_unknown(&self, raw: &Value) -> bool {
        self.unknown.iter().any(|marker| same(marker, raw))
    }

    /// Returns true if a part of a text is one of the markers that are numbers.
    pub(super) fn is_unknown_number(&self, text: &str) -> bool {
        let mut numbers = self.unknown.iter().filter_map(number_of);
        numbers.any(|marker| text.trim().parse() == Ok(marker))
    }

    /// Returns true if a text is empty or one of the markers for unknown.
    pub(in crate::mapping) fn is_unknown_text(&self, text: &str) -> bool {
        let mut markers = self.unknown.iter();
        text.is_empty() || markers.any(|marker| marker.as_str() == Some(text))
    }

    /// Returns true if words are translated.
    pub(super) fn translates(&self) -> bool {
        !self.words.is_empty() || self.otherwise.is_some()
    }

    /// Applies replacements and removes HTML.
    pub(in crate::mapping) fn plain<'v>(&self, text: &'v str) -> Cow<'v, str> {
        let text = match self.replaced_at_start(text) {
            Cow::Borrowed(text) => self.replaced(text),
            Cow::Owned(text) => Cow::Owned(self.replaced(&text).into_owned()),
        };
        match text {
            Cow::Borrowed(text) => self.html.apply(text),
            Cow::Owned(text) => Cow::Owned(self.html.apply(&text).into_owned()),
        }
    }

    /// Replaces the text of `replace_start` that a value begins with, behind white space.
    fn replaced_at_start<'v>(&self, text: &'v str) -> Cow<'v, str> {
        let start = text.trim_start();
        let found = self.replace_start.iter().find_map(|(from, to)| {
            let rest = start.strip_prefix(from.as_str())?;
            Some(format!("{to}{rest}"))
        });
        found.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Replaces every occurrence of the texts of `replace`; where several begin, the longest.
    fn replaced<'v>(&self, text: &'v str) -> Cow<'v, str> {
        let mut replacements = self.replace.iter();
        if !replacements.any(|(from, _)| text.contains(from.as_str())) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let found = self
                .replace
                .iter()
                .find(|(from, _)| rest.starts_with(from.as_str()));
            let length = if let Some((from, to)) = found {
                out.push_str(to);
                from.len()
            } else {
                out.push(letter);
                letter.len_utf8()
            };
            rest = &rest[length..];
        }
        Cow::Owned(out)
    }

    /// The translation of a whole text that is still to be cut, if it has one.
    pub(in crate::mapping) fn translation(&self, text: &str) -> Option<&str> {
        self.words.get(text).map(String::as_str)
    }

    /// Cleans and translates a text without HTML; `None` if it is unknown.
    pub(super) fn cleaned<'v>(&self, text: Cow<'v, str>) -> Result<Option<Scalar<'v>>, String> {
        let clean = match text {
            Cow::Borrowed(text) => self.clean.apply(text),
            Cow::Owned(text) => Cow::Owned(self.clean.apply(&text).into_owned()),
        };
        if clean.contains('\0') {
            return Err("contains a NUL character".to_owned());
        }
        if self.is_unknown_text(&clean) {
            return Ok(None);
        }
        let translated = self.translated(clean);
        Ok((!translated.is_empty()).then_some(Scalar::Text(translated)))
    }

    fn translated<'v>(&self, text: Cow<'v, str>) -> Cow<'v, str> {
        if let Some(translation) = self.words.get(text.as_ref()).or(self.otherwise.as_ref()) {
            return Cow::Owned(translation.clone());
        }
        if self.spellings.is_empty() {
            return text;
        }
        match self.spellings.get(&spelling_key(&text)) {
            Some(spelling) => Cow::Owned(spelling.clone()),
            None => text,
        }
    }
}

/// Returns true if a marker of the mapping equals this value: text exactly, numbers by value, even
/// if the feed writes them as text.
pub(crate) fn same(marker: &toml::Value, raw: &Value) -> bool {
    match (marker, raw) {
        (toml::Value::String(marker), Value::String(text)) => marker == text,
        (toml::Value::Boolean(marker), Value::Bool(value)) => marker == value,
        (toml::Value::Integer(marker), Value::Number(number)) if !number.is_f64() => {
            number.as_i64() == Some(*marker)
        }
        (marker, Value::Number(number)) => {
            number_of(marker).is_some_and(|marker| number.as_f64() == Some(marker))
        }
        (marker, Value::String(text)) => {
            number_of(marker).is_some_and(|marker| text.trim().parse() == Ok(marker))
        }
        _ => false,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "markers such as 0 and -1 are small"
)]
fn number_of(marker: &toml::Value) -> Option<f64> {
    marker.as_float().or(marker.as_integer().map(|n| n as f64))
}

/// Normalises a text for comparing spellings: folded, letters and digits only.
pub(super) fn spelling_key(text: &str) -> String {
    let mut spelling_key = vitrine_model::text::fold(text);
    spelling_key.retain(char::is_alphanumeric);
    spelling_key
}
