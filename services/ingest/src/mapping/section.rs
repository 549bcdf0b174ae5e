//! Reading the sections of a mapping file. Each setting is read by name; settings that were not
//! read are unknown, and are refused with their path and the known names.

use std::cell::RefCell;

use toml::{Table, Value};

use super::error::MappingError;

/// A table of a mapping file, with its path in the file.
#[derive(Debug)]
pub(super) struct Section<'t> {
    path: String,
    table: &'t Table,
    known: RefCell<Vec<&'static str>>,
}

type Read<T> = Result<T, MappingError>;

impl<'t> Section<'t> {
    /// Returns the section of a table at a path; the path of the file itself is empty.
    pub(super) fn new(path: impl Into<String>, table: &'t Table) -> Self {
        Self {
            path: path.into(),
            table,
            known: RefCell::default(),
        }
    }

    /// Returns a value as a section.
    pub(super) fn of(path: String, value: &'t Value) -> Read<Self> {
        match value {
            Value::Table(table) => Ok(Self::new(path, table)),
            other => Err(wrong(path, "a table", other)),
        }
    }

    /// The path of a setting.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The path of the section itself.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the error for an invalid setting.
    pub(super) fn invalid(&self, name: &str, reason: impl Into<String>) -> MappingError {
        MappingError::setting(self.at(name), reason)
    }

    /// Reads a setting.
    pub(super) fn value(&self, name: &'static str) -> Option<&'t Value> {
        self.known.borrow_mut().push(name);
        self.table.get(name)
    }

    /// Whether there is a setting, without reading it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Whether a setting is a list of several values, without reading it.
    pub(super) fn has_several(&self, name: &str) -> bool {
        let value = self.table.get(name).and_then(Value::as_array);
        value.is_some_and(|values| values.len() > 1)
    }

    /// Reads a text.
    pub(super) fn text(&self, name: &'static str) -> Read<Option<&'t str>> {
        self.value(name)
            .map(|value| text(self.at(name), value))
            .transpose()
    }

    /// Reads a boolean, with a default.
    pub(super) fn flag(&self, name: &'static str, default: bool) -> Read<bool> {
        let value = self.value(name);
        value.map_or(Ok(default), |value| {
            let wrong = || wrong(self.at(name), "true or false", value);
            value.as_bool().ok_or_else(wrong)
        })
    }

    /// Reads a number.
    #[expect(
        clippy::cast_precision_loss,
        reason = "limits that people write are small"
    )]
    pub(super) fn number(&self, name: &'static str) -> Read<Option<f64>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = value.as_float().or(value.as_integer().map(|n| n as f64));
        let wrong = || wrong(self.at(name), "a number", value);
        number.map(Some).ok_or_else(wrong)
    }

    /// Reads a whole number above 0.
    pub(super) fn count(&self, name: &'static str) -> Read<Option<usize>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let count = value
            .as_integer()
            .and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count > 0);
        count
            .map(Some)
            .ok_or_else(|| self.invalid(name, "must be a whole number above 0"))
    }

    /// Reads a text or a list of texts; empty if absent.
    pub(super) fn texts(&self, name: &'static str) -> Read<Vec<&'t str>> {
        self.value(name)
            .map_or(Ok(Vec::new()), |value| texts(&self.at(name), value))
    }

    /// Reads a value or a list of values; empty if absent.
    pub(super) fn values(&self, name: &'static str) -> &'t [Value] {
        match self.value(name) {
            None => &[],
            Some(Value::Array(values)) => values,
            Some(value) => std::slice::from_ref(value),
        }
    }

    /// Reads a nested section.
    pub(super) fn section(&self, name: &'static str) -> Read<Option<Self>> {
        self.value(name)
            .map(|value| Section::of(self.at(name), value))
            .transpose()
    }

    /// Reads a nested section, or a list of sections; empty if absent.
    pub(super) fn tables(&self, name: &'static str) -> Read<Vec<Self>> {
        match self.value(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let items = numbered(&self.at(name), items);
                let items = items.into_iter();
                items.map(|(path, item)| Section::of(path, item)).collect()
            }
            Some(one) => Ok(vec![Section::of(self.at(name), one)?]),
        }
    }

    /// Reads the entries of a nested section whose names are chosen by the user.
    pub(super) fn entries(&self, name: &'static str) -> Read<Vec<(String, &'t String, &'t Value)>> {
        let Some(section) = self.section(name)? else {
            return Ok(Vec::new());
        };
        Ok(section.own_entries())
    }

    /// Reads the entries of this section, whose names are chosen by the user.
    pub(super) fn own_entries(&self) -> Vec<(String, &'t String, &'t Value)> {
        self.table
            .iter()
            .map(|(name, value)| (self.at(name), name, value))
            .collect()
    }

    /// Reads a table from text to text.
    pub(super) fn text_map(&self, name: &'static str) -> Read<Vec<(&'t str, &'t str)>> {
        let entries = self.entries(name)?;
        entries
            .into_iter()
            .map(|(path, name, value)| Ok((name.as_str(), text(path, value)?)))
            .collect()
    }

    /// Reads one of several words.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Read<Option<T>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let choice = words.iter().find(|(word, _)| *word == text);
        choice.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let choices: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.invalid(
                name,
                format!("{text:?} is not one of {}", choices.join(", ")),
            )
        })
    }

    /// Fails if there are settings that were not read.
    pub(super) fn finish(self) -> Read<()> {
        let mut known = self.known.into_inner();
        let unknown = self.table.keys().find(|key| !known.contains(&key.as_str()));
        let Some(unknown) = unknown else {
            return Ok(());
        };
        known.sort_unstable();
        known.dedup();
        let path = if self.path.is_empty() {
            unknown.clone()
        } else {
            format!("{}.{unknown}", self.path)
        };
        let reason = format!("there is no such setting; known here: {}", known.join(", "));
        Err(MappingError::setting(path, reason))
    }
}

/// The items of a list with their paths: `path[0]`, `path[1]`.
pub(super) fn numbered<'t>(path: &str, items: &'t [Value]) -> Vec<(String, &'t Value)> {
    let items = items.iter().enumerate();
    items
        .map(|(at, item)| (format!("{path}[{at}]"), item))
        .collect()
}

/// Returns a value that must be text.
pub(super) fn text(path: String, value: &Value) -> Read<&str> {
    value.as_str().ok_or_else(|| wrong(path, "text", value))
}

/// Returns a value that must be a text or a list of texts.
pub(super) fn texts<'t>(path: &str, value: &'t Value) -> Read<Vec<&'t str>> {
    match value {
        Value::Array(items) => numbered(path, items)
            .into_iter()
            .map(|(path, item)| text(path, item))
            .collect(),
        one => Ok(vec![text(path.to_owned(), one)?]),
    }
}

fn wrong(path: String, expected: &str, found: &Value) -> MappingError {
    let found = match found {
        Value::String(_) => "text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    };
    MappingError::setting(path, format!("must be {expected}, not {found}"))
}
