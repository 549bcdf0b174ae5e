//! Reading the sections of a mapping file: every setting is asked for by name, and whatever was
//! not asked for is refused with its path and the names that would have been understood.

use std::cell::RefCell;

use toml::{Table, Value};

use super::error::MappingError;

/// One table of a mapping file and where in the file it is.
#[derive(Debug)]
pub(super) struct Section<'t> {
    path: String,
    table: &'t Table,
    asked: RefCell<Vec<&'static str>>,
}

type Read<T> = Result<T, MappingError>;

impl<'t> Section<'t> {
    /// A table at a path; the file itself is at the empty one.
    pub(super) fn new(path: impl Into<String>, table: &'t Table) -> Self {
        Self {
            path: path.into(),
            table,
            asked: RefCell::default(),
        }
    }

    /// A value as a section.
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

    /// A refusal of a setting.
    pub(super) fn refuse(&self, name: &str, reason: impl Into<String>) -> MappingError {
        MappingError::setting(self.at(name), reason)
    }

    /// The value of a setting.
    pub(super) fn value(&self, name: &'static str) -> Option<&'t Value> {
        self.asked.borrow_mut().push(name);
        self.table.get(name)
    }

    /// A text.
    pub(super) fn text(&self, name: &'static str) -> Read<Option<&'t str>> {
        self.value(name)
            .map(|value| text(self.at(name), value))
            .transpose()
    }

    /// Yes or no; no when absent.
    pub(super) fn flag(&self, name: &'static str, default: bool) -> Read<bool> {
        let value = self.value(name);
        value.map_or(Ok(default), |value| {
            let wrong = || wrong(self.at(name), "true or false", value);
            value.as_bool().ok_or_else(wrong)
        })
    }

    /// A number.
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

    /// A text or a list of texts; none when absent.
    pub(super) fn texts(&self, name: &'static str) -> Read<Vec<&'t str>> {
        self.value(name)
            .map_or(Ok(Vec::new()), |value| texts(&self.at(name), value))
    }

    /// A value or a list of values; none when absent.
    pub(super) fn values(&self, name: &'static str) -> &'t [Value] {
        match self.value(name) {
            None => &[],
            Some(Value::Array(values)) => values,
            Some(value) => std::slice::from_ref(value),
        }
    }

    /// A section inside.
    pub(super) fn section(&self, name: &'static str) -> Read<Option<Self>> {
        self.value(name)
            .map(|value| Section::of(self.at(name), value))
            .transpose()
    }

    /// The entries of a section whose names are the user's own.
    pub(super) fn entries(&self, name: &'static str) -> Read<Vec<(String, &'t String, &'t Value)>> {
        let Some(section) = self.section(name)? else {
            return Ok(Vec::new());
        };
        Ok(section.own_entries())
    }

    /// The entries of this section, whose names are the user's own.
    pub(super) fn own_entries(&self) -> Vec<(String, &'t String, &'t Value)> {
        self.table
            .iter()
            .map(|(name, value)| (self.at(name), name, value))
            .collect()
    }

    /// A table from text to text.
    pub(super) fn text_map(&self, name: &'static str) -> Read<Vec<(&'t str, &'t str)>> {
        let entries = self.entries(name)?;
        entries
            .into_iter()
            .map(|(path, name, value)| Ok((name.as_str(), text(path, value)?)))
            .collect()
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Read<Option<T>> {
        let Some(given) = self.text(name)? else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| *word == given);
        found.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.refuse(name, format!("{given:?} is none of {}", known.join(", ")))
        })
    }

    /// Refuses whatever was not asked for.
    pub(super) fn finish(self) -> Read<()> {
        let asked = self.asked.into_inner();
        let stray = self.table.keys().find(|key| !asked.contains(&key.as_str()));
        let Some(stray) = stray else {
            return Ok(());
        };
        let mut known = asked;
        known.sort_unstable();
        known.dedup();
        let path = if self.path.is_empty() {
            stray.clone()
        } else {
            format!("{}.{stray}", self.path)
        };
        let reason = format!(
            "there is no such setting; here are known: {}",
            known.join(", ")
        );
        Err(MappingError::setting(path, reason))
    }
}

/// A value that must be text.
pub(super) fn text(path: String, value: &Value) -> Read<&str> {
    value.as_str().ok_or_else(|| wrong(path, "text", value))
}

/// A value that must be a text or a list of texts.
pub(super) fn texts<'t>(path: &str, value: &'t Value) -> Read<Vec<&'t str>> {
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| text(format!("{path}[{at}]"), item))
            .collect(),
        one => Ok(vec![text(path.to_owned(), one)?]),
    }
}

fn wrong(path: String, expected: &str, found: &Value) -> MappingError {
    MappingError::setting(
        path,
        format!("must be {expected}, not a {}", found.type_str()),
    )
}
