//! What words mean: which values are "unknown", and which words stand for which.

use std::borrow::Cow;

use serde_json::Value;

use super::{Reading, Scalar};

impl Reading {
    /// Whether one of the markers for "unknown" is exactly this value.
    pub(super) fn is_unknown(&self, raw: &Value) -> bool {
        self.unknown.iter().any(|marker| same(marker, raw))
    }

    fn is_unknown_text(&self, text: &str) -> bool {
        let mut markers = self.unknown.iter();
        text.is_empty() || markers.any(|marker| marker.as_str() == Some(text))
    }

    /// Whether words stand for others.
    pub(super) fn translates(&self) -> bool {
        !self.words.is_empty() || self.otherwise.is_some()
    }

    /// Text without HTML, blanks and other spellings; `None` when it means "unknown".
    pub(super) fn cleaned<'v>(&self, text: &'v str) -> Result<Option<Scalar<'v>>, String> {
        let clean = match self.html.apply(text) {
            Cow::Borrowed(text) => self.clean.apply(text),
            Cow::Owned(text) => Cow::Owned(self.clean.apply(&text).into_owned()),
        };
        if clean.contains('\0') {
            return Err("holds a NUL character".to_owned());
        }
        if self.is_unknown_text(&clean) {
            return Ok(None);
        }
        let meant = self.translated(clean);
        Ok((!meant.is_empty()).then_some(Scalar::Text(meant)))
    }

    fn translated<'v>(&self, text: Cow<'v, str>) -> Cow<'v, str> {
        if let Some(meant) = self.words.get(text.as_ref()).or(self.otherwise.as_ref()) {
            return Cow::Owned(meant.clone());
        }
        if self.spellings.is_empty() {
            return text;
        }
        match self.spellings.get(&bare(&text)) {
            Some(spelling) => Cow::Owned(spelling.clone()),
            None => text,
        }
    }
}

/// Whether a marker in the mapping is this value: text letter by letter, numbers by size, also
/// when a feed writes its numbers as text.
fn same(marker: &toml::Value, raw: &Value) -> bool {
    match (marker, raw) {
        (toml::Value::String(marker), Value::String(text)) => marker == text,
        (toml::Value::Boolean(marker), Value::Bool(value)) => marker == value,
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

/// A text for comparing spellings: folded, letters and digits only.
pub(super) fn bare(text: &str) -> String {
    let mut bare = vitrine_model::text::fold(text);
    bare.retain(char::is_alphanumeric);
    bare
}
