//! A field of a product or a review: the source of its value, and how it is read.

use std::borrow::Cow;

use serde_json::Value;
use vitrine_model::clock::Timestamp;

use super::error::MappingError;
use super::path::Path;
use super::problems::Problems;
use super::reading::{OnBad, Reading, Scalar};
use super::section::Section;
use super::template::Template;

/// The source of a value, and how it is read.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The name in messages: the path in the feed, or the setting.
    pub(crate) name: String,
    source: Source,
    reading: Reading,
    default: Option<Value>,
}

#[derive(Clone, Debug)]
enum Source {
    /// The first of these paths that has a known value.
    Paths(Vec<Path>),
    /// A template of several values.
    Template(Template),
    /// A constant.
    Constant(Value),
}

impl Field {
    /// Reads the settings of a field: a path, a list of paths, or a table.
    pub(super) fn read(
        path: String,
        value: &toml::Value,
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        match value {
            toml::Value::Table(table) => {
                let section = Section::new(path, table);
                let field = Self::of(&section, defaults)?;
                section.finish()?;
                Ok(field)
            }
            paths => {
                let paths = super::section::texts(&path, paths)?;
                Self::from_paths(&path, &paths, defaults)
            }
        }
    }

    /// Reads a field from a table, which may have further settings.
    pub(super) fn of(section: &Section<'_>, defaults: &Reading) -> Result<Self, MappingError> {
        let reading = defaults.with(section)?;
        let (name, source) = source(section, defaults)?;
        let default = section.value("default").map(json);
        Ok(Self {
            name,
            source,
            reading,
            default,
        })
    }

    fn from_paths(setting: &str, paths: &[&str], defaults: &Reading) -> Result<Self, MappingError> {
        Ok(Self {
            name: paths.first().copied().unwrap_or(setting).to_owned(),
            source: Source::Paths(parse_paths(setting, paths)?),
            reading: defaults.clone(),
            default: None,
        })
    }

    /// What happens if the value is invalid.
    pub(crate) fn on_bad(&self) -> OnBad {
        self.reading.on_bad
    }

    /// How the value is read.
    pub(crate) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// The value as text.
    pub(crate) fn text(&self, row: &Value, problems: &mut Problems) -> Option<String> {
        let read = self.try_text(row);
        problems.ok_or_record(self.on_bad(), &self.name, read)
    }

    /// The value as text, or the reason why it is invalid.
    pub(crate) fn try_text(&self, row: &Value) -> Result<Option<String>, String> {
        let scalar = self.scalar(row)?;
        scalar.map_or(Ok(None), |value| match value {
            SourceValue::Text(text) => Ok(Some(text)),
            SourceValue::Raw(raw) => Ok(self.reading.text(raw)?.map(Cow::into_owned)),
        })
    }

    /// The value as a number.
    pub(crate) fn number(&self, row: &Value, problems: &mut Problems) -> Option<f64> {
        let read = self.with_scalar(row, |scalar| self.reading.number(scalar));
        problems.ok_or_record(self.on_bad(), &self.name, read)
    }

    /// The value as a whole number.
    pub(crate) fn whole(&self, row: &Value, problems: &mut Problems) -> Option<i64> {
        let read = self.with_scalar(row, |scalar| whole(self.reading.number(scalar)?));
        problems.ok_or_record(self.on_bad(), &self.name, read)
    }

    /// The value as a boolean.
    pub(crate) fn boolean(&self, row: &Value, problems: &mut Problems) -> Option<bool> {
        let read = self.with_scalar(row, |scalar| self.reading.boolean(scalar));
        problems.ok_or_record(self.on_bad(), &self.name, read)
    }

    /// The value as a date.
    pub(crate) fn date(&self, row: &Value, problems: &mut Problems) -> Option<Timestamp> {
        let read = self.try_text(row);
        let read = read.and_then(|text| text.map(|text| self.reading.date(&text)).transpose());
        problems.ok_or_record(self.on_bad(), &self.name, read)
    }

    fn with_scalar<T>(
        &self,
        row: &Value,
        read: impl FnOnce(&Scalar<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        match self.scalar(row)? {
            None => Ok(None),
            Some(SourceValue::Text(text)) => read(&Scalar::Text(Cow::Owned(text))).map(Some),
            Some(SourceValue::Raw(raw)) => {
                let scalar = self.reading.scalar(raw)?;
                scalar.as_ref().map(read).transpose()
            }
        }
    }

    /// The first known value, or the default.
    fn scalar<'v>(&'v self, row: &'v Value) -> Result<Option<SourceValue<'v>>, String> {
        let value = match &self.source {
            Source::Paths(paths) => self.first_known(paths, row)?.map(SourceValue::Raw),
            Source::Constant(value) => Some(SourceValue::Raw(value)),
            Source::Template(template) => template.fill(row, &self.reading)?.map(SourceValue::Text),
        };
        Ok(value.or(self.default.as_ref().map(SourceValue::Raw)))
    }

    fn first_known<'v>(&self, paths: &[Path], row: &'v Value) -> Result<Option<&'v Value>, String> {
        for raw in paths.iter().filter_map(|path| path.first(row)) {
            if self.reading.scalar(raw)?.is_some() {
                return Ok(Some(raw));
            }
        }
        Ok(None)
    }
}

/// The value of a source: raw from the row, or the text of a template.
enum SourceValue<'v> {
    Raw(&'v Value),
    Text(String),
}

/// Converts a number to an integer.
fn whole(number: f64) -> Result<i64, String> {
    if number.fract() == 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "readings stay below 2^53")]
        let whole = number as i64;
        return Ok(whole);
    }
    Err(format!("{number} is not a whole number"))
}

/// Reads the source that a section specifies.
fn source(section: &Section<'_>, defaults: &Reading) -> Result<(String, Source), MappingError> {
    let from = section.texts("from")?;
    let template = section.text("template")?;
    let constant = section.value("value");
    let parts = section.entries("parts")?;
    match (from.as_slice(), template, constant) {
        ([first, ..], None, None) => {
            let paths = parse_paths(&section.at("from"), &from)?;
            Ok(((*first).to_owned(), Source::Paths(paths)))
        }
        ([], Some(template), None) => {
            let parts = super::template::parts(parts, defaults)?;
            let template = Template::parse(template, &parts);
            let template = template.map_err(|reason| section.invalid("template", reason))?;
            Ok((section.path().to_owned(), Source::Template(template)))
        }
        ([], None, Some(value)) => Ok((section.path().to_owned(), Source::Constant(json(value)))),
        _ => Err(MappingError::setting(
            section.path(),
            "must have exactly one of from, template and value",
        )),
    }
}

fn parse_paths(setting: &str, paths: &[&str]) -> Result<Vec<Path>, MappingError> {
    paths
        .iter()
        .map(|path| Path::parse(path))
        .collect::<Result<_, _>>()
        .map_err(|reason| MappingError::setting(setting, reason))
}

/// Converts a value of a mapping file to a value of a row.
pub(super) fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => {
            let entries = table
                .iter()
                .map(|(name, value)| (name.clone(), json(value)));
            Value::Object(entries.collect())
        }
    }
}
