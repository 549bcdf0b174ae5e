//! The steps between a value of the feed and the value of a field: join, cut, split.

use std::borrow::Cow;

use serde_json::Value;

use super::super::error::MappingError;
use super::super::path::{Path, Row};
use super::super::pattern::matching;
use super::super::pieces::pieces;
use super::super::reading::{Given, Reading};
use super::super::section::Section;
use super::Pattern;

/// The steps of a field.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    list: Option<List>,
    separator: Option<String>,
    cut_at: Option<String>,
    split: Vec<Pattern>,
}

/// What becomes of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    /// The first that is known is the value.
    First,
    /// They are joined into one text.
    Join,
    /// Their number is the value.
    Count,
}

const LISTS: [(&str, List); 3] = [
    ("first", List::First),
    ("join", List::Join),
    ("count", List::Count),
];

impl Steps {
    /// Reads the steps of one text.
    pub(super) fn read_without_list(section: &Section<'_>) -> Result<Self, MappingError> {
        let cut_at = section.text("cut_at")?.filter(|text| !text.is_empty());
        Ok(Self {
            cut_at: cut_at.map(str::to_owned),
            split: split(section)?,
            ..Self::default()
        })
    }

    pub(super) fn read(section: &Section<'_>) -> Result<Self, MappingError> {
        let steps = Self {
            list: section.choice("list", &LISTS)?,
            separator: section.text("separator")?.map(str::to_owned),
            ..Self::read_without_list(section)?
        };
        if steps.separator.is_some() && steps.list != Some(List::Join) {
            let reason = "stands between the items of list = \"join\", which is not set";
            return Err(section.invalid("separator", reason));
        }
        Ok(steps)
    }

    /// Returns the steps of the whole text.
    pub(super) fn without_cut(self) -> Self {
        Self {
            cut_at: None,
            ..self
        }
    }

    /// Returns true if there are no steps.
    pub(super) fn is_none(&self) -> bool {
        self.list.is_none() && self.cut_at.is_none() && self.split.is_empty()
    }

    /// Returns true if several values may be given.
    pub(super) fn takes_lists(&self) -> bool {
        self.list.is_some()
    }

    /// The values at a path: all if a list is taken, otherwise the first.
    pub(super) fn items<'v>(&self, path: &Path, row: Row<'v>, first: &'v Value) -> Vec<&'v Value> {
        if self.takes_lists() {
            path.all(row)
        } else {
            vec![first]
        }
    }

    /// Applies the steps to values; `None` if the result is unknown.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub(super) fn apply(
        &self,
        items: &[&Value],
        reading: &Reading,
    ) -> Result<Option<String>, String> {
        match self.list {
            Some(List::Count) => Ok(Some(items.len().to_string())),
            Some(List::Join) => {
                let mut texts = Vec::new();
                for item in items {
                    texts.extend(reading.text(*item)?);
                }
                let joined = texts.join(self.separator.as_deref().unwrap_or(", "));
                if self.cut_at.is_none() && self.split.is_empty() {
                    return Ok(Some(joined).filter(|joined| !joined.is_empty()));
                }
                self.cut(&joined, reading)
            }
            Some(List::First) | None => {
                for item in items {
                    if let Some(text) = self.one(item, reading)? {
                        return Ok(Some(text));
                    }
                }
                Ok(None)
            }
        }
    }

    fn one(&self, item: &Value, reading: &Reading) -> Result<Option<String>, String> {
        let Some(whole) = reading.text(item)? else {
            return Ok(None);
        };
        match item {
            Value::String(text) if reading.translation(text).is_none() => {
                self.cut(&reading.plain(text), reading)
            }
            _ => self.cut(&whole, reading),
        }
    }

    /// Cuts a text and returns the first piece that fits; without `cut_at` the text must fit.
    fn cut(&self, text: &str, reading: &Reading) -> Result<Option<String>, String> {
        let Some(separator) = &self.cut_at else {
            return self.split(text, reading);
        };
        for piece in pieces(text, separator) {
            if let Ok(Some(found)) = self.split(piece, reading) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn split(&self, text: &str, reading: &Reading) -> Result<Option<String>, String> {
        let Some(text) = reading.text(Given::Plain(text))? else {
            return Ok(None);
        };
        if self.split.is_empty() {
            return Ok(Some(text.into_owned()));
        }
        let (_, parts) = matching(&self.split, &text)?;
        let part = parts.first().copied().unwrap_or_default();
        Ok(reading.text(Given::Plain(part))?.map(Cow::into_owned))
    }
}

fn split(section: &Section<'_>) -> Result<Vec<Pattern>, MappingError> {
    let read = |text: &str| {
        let pattern = Pattern::parse(text)?.with_units(|unit| {
            Err(format!(
                "{text:?}: {unit:?} is a unit, which only rules for specs have"
            ))
        })?;
        let names: Vec<&str> = pattern.names().collect();
        if names == ["."] {
            Ok(pattern)
        } else {
            Err(format!(
                "{text:?} needs {{.}} once, for the value; all other placeholders are {{_}}"
            ))
        }
    };
    let patterns = section.texts("split")?.into_iter().map(read);
    patterns
        .collect::<Result<_, _>>()
        .map_err(|reason| section.invalid("split", reason))
}
