//! Mapping rows to categories.

use std::collections::HashMap;

use serde_json::Value;
use vitrine_model::text::collapse;

use super::error::MappingError;
use super::field::Field;
use super::problems::Problems;
use super::reading::Reading;
use super::section::{Section, texts};

/// The source of the names of a product's categories, from the root down.
#[derive(Clone, Debug)]
pub(super) struct Category {
    source: Source,
    default: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum Source {
    /// A constant.
    Constant(Vec<String>),
    /// One field per level; unknown levels are left out.
    Levels(Vec<Field>),
    /// A table from a value of the feed to the names.
    Table(Field, HashMap<String, Vec<String>>),
    /// A text such as `Food > Tea`, or a single name.
    Text(Field, Option<String>),
}

impl Category {
    pub(super) fn read(
        path: String,
        value: &toml::Value,
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        let toml::Value::Table(table) = value else {
            let field = Field::read(path, value, defaults)?;
            return Ok(Self {
                source: Source::Text(field, None),
                default: None,
            });
        };
        let section = Section::new(path, table);
        let category = Self {
            source: source(&section, defaults)?,
            default: default(&section)?,
        };
        section.finish()?;
        Ok(category)
    }

    /// Returns the names from the root down; records a problem if there are none.
    pub(super) fn names(&self, row: &Value, problems: &mut Problems) -> Option<Vec<String>> {
        let names = self.mapped_names(row, problems);
        let names = names.filter(|names| !names.is_empty());
        let names = names.or_else(|| self.default.clone());
        if names.is_none() && problems.fatal.is_empty() {
            problems.missing("category");
        }
        names
    }

    fn mapped_names(&self, row: &Value, problems: &mut Problems) -> Option<Vec<String>> {
        match &self.source {
            Source::Constant(names) => Some(names.clone()),
            Source::Levels(levels) => Some(
                levels
                    .iter()
                    .filter_map(|level| level.text(row, problems))
                    .collect(),
            ),
            Source::Table(field, table) => self.by_table(field, table, row, problems),
            Source::Text(field, separator) => {
                let text = field.text(row, problems)?;
                Some(split(&text, separator.as_deref()))
            }
        }
    }

    fn by_table(
        &self,
        field: &Field,
        table: &HashMap<String, Vec<String>>,
        row: &Value,
        problems: &mut Problems,
    ) -> Option<Vec<String>> {
        let word = field.text(row, problems)?;
        let names = table.get(&word);
        if names.is_none() && self.default.is_none() {
            let reason = format!("{word:?} is not in the mapping's table of categories");
            problems.bad(field.on_bad(), &field.name, reason);
        }
        names.cloned()
    }
}

fn source(section: &Section<'_>, defaults: &Reading) -> Result<Source, MappingError> {
    if let Some(value) = section.value("value") {
        return Ok(Source::Constant(names(&section.at("value"), value)?));
    }
    let levels = section.values("levels");
    if !levels.is_empty() {
        return Ok(Source::Levels(read_levels(section, levels, defaults)?));
    }
    let table = section.entries("table")?;
    let separator = section.text("separator")?.map(str::to_owned);
    let field = Field::of(section, defaults)?;
    if table.is_empty() {
        return Ok(Source::Text(field, separator));
    }
    let rows: Result<_, MappingError> = table
        .into_iter()
        .map(|(path, word, value)| Ok((word.clone(), names(&path, value)?)))
        .collect();
    Ok(Source::Table(field, rows?))
}

fn read_levels(
    section: &Section<'_>,
    levels: &[toml::Value],
    defaults: &Reading,
) -> Result<Vec<Field>, MappingError> {
    let numbered = levels.iter().enumerate();
    numbered
        .map(|(at, level)| Field::read(section.at(&format!("levels[{at}]")), level, defaults))
        .collect()
}

fn default(section: &Section<'_>) -> Result<Option<Vec<String>>, MappingError> {
    section
        .value("default")
        .map(|value| names(&section.at("default"), value))
        .transpose()
}

fn names(path: &str, value: &toml::Value) -> Result<Vec<String>, MappingError> {
    let names: Vec<String> = texts(path, value)?.into_iter().map(collapse).collect();
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(MappingError::setting(
            path,
            "must be the name of a category, or several names; none may be empty",
        ));
    }
    Ok(names)
}

fn split(text: &str, separator: Option<&str>) -> Vec<String> {
    let Some(separator) = separator else {
        return vec![text.to_owned()];
    };
    let levels = text.split(separator).map(collapse);
    levels.filter(|level| !level.is_empty()).collect()
}
