//! A field of a product or a review: the source of its value, and how it is read.
//!
//! A value goes through the steps in this order: what is unknown, values, join, cut, split; then it
//! is read as text, number, date, or yes and no.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use vitrine_model::clock::Timestamp;
use vitrine_model::money::{Currency, Money};

use super::condition::Condition;
use super::error::MappingError;
use super::number::shortened;
use super::path::{Path, Row};
use super::pattern::Pattern;
use super::problems::{Problems, Traced};
use super::reading::{OnBad, Reading, Scalar};
use super::section::{Section, numbered};
use super::template::Template;
use super::uses::{Use, UsedPath};

mod source;
mod steps;

pub(super) use source::json;
use source::source;
use steps::Steps;

/// The source of a value, and how it is read.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The name in messages: the path in the feed, or the setting.
    pub(crate) name: String,
    /// The setting: `product.brand`.
    setting: String,
    source: Source,
    condition: Option<Condition>,
    steps: Steps,
    reading: Reading,
    default: Option<Value>,
    /// Whether it is the path of several for one setting that is shown if none has a known value.
    shown: bool,
}

#[derive(Clone, Debug)]
enum Source {
    /// The value at this path.
    Path(Path, Arc<Use>),
    /// The first of these fields that has a known value.
    Fields(Vec<Field>),
    /// A template of several values.
    Template(Template),
    /// A digest of the values at these paths.
    Digest(Vec<UsedPath>),
    /// A constant.
    Constant(Value),
}

/// The value of a source: raw from the row, or text that went through steps.
enum SourceValue<'v> {
    Raw(&'v Value),
    Text(String),
}

/// How the value of a field is read: of the field itself, or of one in its list.
type ReadField<'r, 'f, T> = &'r mut dyn FnMut(&'f Field) -> Result<Option<T>, String>;

/// How a value is converted, with the reading of the field that has it.
type Convert<'c, T> = &'c mut dyn FnMut(&Reading, SourceValue<'_>) -> Result<Option<T>, String>;

impl Field {
    /// Reads the settings of a field: a path, a table, or a list of these.
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
            toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
                Self::first_of(path, items, defaults)
            }
            paths => {
                let paths = super::section::texts(&path, paths)?;
                let source = source::paths(&path, &path, &paths, false, defaults)?;
                let one = Self::with(
                    path.clone(),
                    path,
                    Source::Fields(Vec::new()),
                    defaults.clone(),
                );
                Ok(one.at(source))
            }
        }
    }

    /// Reads a field from a table, which may have further settings.
    pub(super) fn of(section: &Section<'_>, defaults: &Reading) -> Result<Self, MappingError> {
        let default = section.value("default").map(json);
        Self::of_steps(section, Steps::read(section)?, default, defaults)
    }

    /// Reads a field from a table whose separator and default are not those of the field.
    pub(super) fn of_one(section: &Section<'_>, defaults: &Reading) -> Result<Self, MappingError> {
        Self::of_steps(section, Steps::read_without_list(section)?, None, defaults)
    }

    /// Returns this field with the whole text as its value.
    pub(super) fn without_cut(self) -> Self {
        let source = match self.source {
            Source::Fields(fields) => {
                Source::Fields(fields.into_iter().map(Self::without_cut).collect())
            }
            other => other,
        };
        Self {
            steps: self.steps.without_cut(),
            source,
            ..self
        }
    }

    fn of_steps(
        section: &Section<'_>,
        steps: Steps,
        default: Option<Value>,
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        let reading = defaults.with(section)?;
        let source = source(section, &steps, defaults)?;
        let setting = section.path().to_owned();
        let name = setting.clone();
        let one = Self {
            condition: Condition::read(section, defaults)?,
            steps,
            default,
            ..Self::with(setting, name, Source::Fields(Vec::new()), reading)
        };
        Ok(match source {
            source::Given::Paths(paths) => one.at(paths),
            source::Given::Made(source) => Self { source, ..one },
        })
    }

    /// Returns this field with the value at a path, or of several the first that is known: a list
    /// of fields with the same settings.
    fn at(self, paths: Vec<source::NamedPath>) -> Self {
        let (several, length) = (paths.len() > 1, paths.len());
        let mut fields = paths.into_iter().enumerate().map(|(at, path)| {
            let last = at + 1 == length;
            let followed = self.reading.is_followed();
            Self {
                name: path.name,
                source: Source::Path(path.path, path.used),
                reading: if last && !followed {
                    self.reading.last()
                } else {
                    self.reading.clone()
                },
                default: self.default.clone().filter(|_| last),
                shown: last,
                ..self.clone()
            }
        });
        if !several {
            return fields.next().unwrap_or(self);
        }
        let fields: Vec<Self> = fields.collect();
        Self {
            name: fields[0].name.clone(),
            source: Source::Fields(fields),
            reading: self.reading,
            condition: None,
            steps: Steps::default(),
            default: None,
            ..self
        }
    }

    /// Returns the field whose value is the item of a list itself. `name` is the path of the list.
    pub(super) fn of_item(setting: String, name: &str, reading: &Reading) -> Self {
        let here = reading.uses.add(&setting, ".");
        let source = Source::Path(Path::HERE, here);
        Self::with(setting, name.to_owned(), source, reading.clone())
    }

    fn first_of(
        path: String,
        items: &[toml::Value],
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        let items = numbered(&path, items)
            .into_iter()
            .zip(defaults.of_list(items.len()));
        let fields: Result<Vec<Self>, MappingError> = items
            .map(|((path, item), defaults)| Self::read(path, item, &defaults))
            .collect();
        let fields = fields?;
        let name = fields
            .first()
            .map_or_else(|| path.clone(), |field| field.name.clone());
        Ok(Self::with(
            path,
            name,
            Source::Fields(fields),
            defaults.clone(),
        ))
    }

    fn with(setting: String, name: String, source: Source, reading: Reading) -> Self {
        Self {
            name,
            setting,
            source,
            condition: None,
            steps: Steps::default(),
            reading,
            default: None,
            shown: true,
        }
    }

    /// The setting: `product.brand`.
    pub(super) fn setting(&self) -> &str {
        &self.setting
    }

    /// Returns true if the value is the same for every row.
    pub(crate) fn is_constant(&self) -> bool {
        matches!(self.source, Source::Constant(_))
    }

    /// What happens if the value is invalid.
    pub(crate) fn on_bad(&self) -> OnBad {
        self.reading.on_bad
    }

    /// Returns true if a value that turns out to be invalid later, in the catalogue, is left out. Of several fields
    /// none may ask for more.
    pub(crate) fn drops_bad(&self) -> bool {
        match &self.source {
            Source::Fields(fields) => {
                let strict = |field: &Self| field.on_bad() == OnBad::RejectLine;
                !fields.iter().any(strict) && fields.last().is_some_and(Self::drops_bad)
            }
            _ => self.on_bad().drops(),
        }
    }

    /// The value as text.
    pub(crate) fn text(&self, row: Row<'_>, problems: &mut Problems) -> Option<String> {
        self.known(
            row,
            problems,
            &mut |field| field.try_text(row),
            &String::clone,
        )
    }

    /// The value as text; records a problem if it is missing.
    pub(crate) fn required_text(&self, row: Row<'_>, problems: &mut Problems) -> Option<String> {
        let before = problems.fatal.len();
        let text = self.text(row, problems);
        if text.is_none() && problems.fatal.len() == before {
            problems.missing(&self.name);
        }
        text
    }

    /// Returns the value as it is read, or records why it is invalid. Of several fields the first
    /// with a known value counts, and each that is asked has its own name and `on_bad`.
    pub(crate) fn known<'f, T>(
        &'f self,
        row: Row<'_>,
        problems: &mut Problems,
        read: ReadField<'_, 'f, T>,
        show: &dyn Fn(&T) -> String,
    ) -> Option<T> {
        if let Source::Fields(fields) = &self.source {
            return problems.first_of(fields, !self.reading.is_followed(), |field, problems| {
                field.known(row, problems, read, show)
            });
        }
        let read = read(self);
        if self.shown || !matches!(read, Ok(None)) {
            problems.trace(|| {
                let (path, raw) = self.origin(row);
                Traced {
                    setting: self.setting.clone(),
                    path,
                    raw: raw
                        .map(|raw| shortened(&raw.to_string()))
                        .unwrap_or_default(),
                    value: read
                        .as_ref()
                        .map(|read| read.as_ref().map(show))
                        .map_err(Clone::clone),
                }
            });
        }
        problems.ok_or_record(self.on_bad(), &self.name, read)
    }

    /// The path and the value that the field is read from.
    fn origin<'v>(&self, row: Row<'v>) -> (String, Option<&'v Value>) {
        match &self.source {
            Source::Path(path, _) => (path.to_string(), path.first(row)),
            // Each of these is read, and traced, by itself.
            Source::Fields(_) => Default::default(),
            Source::Template(_) => ("(template)".to_owned(), None),
            Source::Digest(_) => ("(digest)".to_owned(), None),
            Source::Constant(_) => ("(value)".to_owned(), None),
        }
    }

    /// The value as text, or the reason why it is invalid.
    pub(crate) fn try_text(&self, row: Row<'_>) -> Result<Option<String>, String> {
        self.convert(row, &mut |reading, value| as_text(reading, value))
    }

    /// The value as an amount of money, or the reason why it is invalid. Its currency is asked for
    /// if there is an amount.
    pub(crate) fn try_money(
        &self,
        row: Row<'_>,
        currency: &dyn Fn() -> Result<Currency, String>,
    ) -> Result<Option<Money>, String> {
        self.convert(row, &mut |reading, value| {
            let text = as_text(reading, value)?;
            let money = |text: String| reading.money(&text, currency);
            text.map(money).transpose()
        })
    }

    /// The value as a number.
    pub(crate) fn number(&self, row: Row<'_>, problems: &mut Problems) -> Option<f64> {
        self.known(
            row,
            problems,
            &mut |field| field.try_rounded(row),
            &f64::to_string,
        )
    }

    /// The value as a whole number, or the reason why it is invalid.
    pub(crate) fn try_whole(&self, row: Row<'_>) -> Result<Option<i64>, String> {
        self.try_rounded(row)?.map(whole).transpose()
    }

    /// The value as a number, or the reason why it is invalid.
    pub(crate) fn try_rounded(&self, row: Row<'_>) -> Result<Option<f64>, String> {
        self.convert(row, &mut |reading, value| {
            let scalar = as_scalar(reading, value)?;
            scalar.map(|scalar| reading.number(&scalar)).transpose()
        })
    }

    /// The value as a number that is not rounded, or the reason why it is invalid.
    pub(crate) fn try_unrounded(&self, row: Row<'_>) -> Result<Option<f64>, String> {
        self.convert(row, &mut |reading, value| {
            let scalar = as_scalar(reading, value)?;
            scalar.map(|scalar| reading.unrounded(&scalar)).transpose()
        })
    }

    /// The value as a boolean.
    pub(crate) fn boolean(&self, row: Row<'_>, problems: &mut Problems) -> Option<bool> {
        let boolean: Convert<'_, bool> = &mut |reading, value| {
            let scalar = as_scalar(reading, value)?;
            scalar.map(|scalar| reading.boolean(&scalar)).transpose()
        };
        self.known(
            row,
            problems,
            &mut |field| field.convert(row, boolean),
            &bool::to_string,
        )
    }

    /// The value as a date.
    pub(crate) fn date(&self, row: Row<'_>, problems: &mut Problems) -> Option<Timestamp> {
        self.date_before(None, row, problems)
    }

    /// The value as the date of something that has happened.
    pub(crate) fn past_date(&self, row: Row<'_>, problems: &mut Problems) -> Option<Timestamp> {
        self.date_before(row.now, row, problems)
    }

    fn date_before(
        &self,
        now: Option<Timestamp>,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<Timestamp> {
        let date: Convert<'_, Timestamp> = &mut |reading, value| {
            let Some(text) = as_text(reading, value)? else {
                return Ok(None);
            };
            let date = reading.date(&text)?;
            let past = now.map_or(Ok(()), |now| date.check_past(now));
            past.map_err(|reason| format!("{:?}: {reason}", shortened(&text)))?;
            Ok(Some(date))
        };
        self.known(
            row,
            problems,
            &mut |field| field.convert(row, date),
            &Timestamp::to_string,
        )
    }

    /// Converts the value, if it is known.
    fn convert<T>(&self, row: Row<'_>, convert: Convert<'_, T>) -> Result<Option<T>, String> {
        if self
            .condition
            .as_ref()
            .is_none_or(|condition| condition.holds(row))
        {
            if let Source::Fields(fields) = &self.source {
                return first_known(fields, row, convert);
            }
            if let Some(value) = self.value(row)? {
                return convert(&self.reading, value);
            }
        }
        let default = self.default.as_ref().map(SourceValue::Raw);
        default.map_or(Ok(None), |default| convert(&self.reading, default))
    }

    /// The value of the source after its steps.
    fn value<'v>(&'v self, row: Row<'v>) -> Result<Option<SourceValue<'v>>, String> {
        match &self.source {
            Source::Path(path, used) => self.value_at(path, used, row),
            Source::Constant(value) => Ok(Some(SourceValue::Raw(value))),
            Source::Template(template) => {
                let text = template.fill(row, &self.reading)?;
                Ok(text.map(SourceValue::Text))
            }
            Source::Digest(paths) => Ok(source::digest(paths, row, &self.reading)),
            Source::Fields(_) => Ok(None),
        }
    }

    fn value_at<'v>(
        &self,
        path: &Path,
        used: &Use,
        row: Row<'v>,
    ) -> Result<Option<SourceValue<'v>>, String> {
        let raw = path.first(row);
        used.asked(raw.is_some());
        let Some(raw) = raw else {
            return Ok(None);
        };
        if self.steps.is_none() {
            let scalar = self.reading.scalar(raw)?;
            return Ok(scalar.map(|_| SourceValue::Raw(raw)));
        }
        let items = self.steps.items(path, row, raw);
        let text = self.steps.apply(&items, &self.reading)?;
        Ok(text.map(SourceValue::Text))
    }
}

/// The first of several fields that has a known value, or why one before it is invalid; for values
/// that are a part of another, which has the `on_bad`.
fn first_known<T>(
    fields: &[Field],
    row: Row<'_>,
    convert: Convert<'_, T>,
) -> Result<Option<T>, String> {
    for field in fields {
        if let Some(found) = field.convert(row, convert)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn as_text(reading: &Reading, value: SourceValue<'_>) -> Result<Option<String>, String> {
    match value {
        SourceValue::Text(text) => Ok(Some(text)),
        SourceValue::Raw(raw) => Ok(reading.text(raw)?.map(Cow::into_owned)),
    }
}

fn as_scalar<'v>(reading: &Reading, value: SourceValue<'v>) -> Result<Option<Scalar<'v>>, String> {
    match value {
        SourceValue::Text(text) => Ok(Some(Scalar::Text(Cow::Owned(text)))),
        SourceValue::Raw(raw) => reading.scalar(raw),
    }
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
