//! Mapping rows to categories.

use std::collections::HashMap;
use std::sync::Arc;

use vitrine_model::category::MAX_CATEGORY_DEPTH;
use vitrine_model::text::collapse;

use super::error::MappingError;
use super::field::Field;
use super::path::{Path, Row};
use super::problems::Problems;
use super::reading::Reading;
use super::section::{Section, numbered, texts};
use super::uses::Use;

/// The source of the names of a product's categories, from the root down.
#[derive(Clone, Debug)]
pub(super) struct Category {
    source: Source,
    max_levels: Option<usize>,
    default: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum Source {
    /// A constant.
    Constant(Vec<String>),
    /// One field per level, or a list with all levels; unknown levels are left out.
    Levels(Vec<Level>),
    /// A table from a value of the feed to the names.
    Table(Field, HashMap<String, Vec<String>>),
    /// A text such as `Food > Tea`, or a single name.
    Text(Field, Option<String>),
    /// Several such texts, of which one is picked.
    Texts(Items, Option<String>, Pick),
    /// A text with several such texts, which this separates.
    Cut(Field, String, Option<String>, Pick),
    /// The first of these that has names. The flag is false if it is one of another such list.
    First(Vec<Category>, bool),
}

/// A level of a category.
#[derive(Clone, Debug)]
enum Level {
    /// One name.
    One(Field),
    /// All items of a list, from the top down.
    Items(Items),
}

/// The texts at a path that goes into every item of a list.
#[derive(Clone, Debug)]
struct Items {
    path: Path,
    used: Arc<Use>,
    item: Field,
}

/// Which of several categories is the product's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    /// The first one.
    First,
    /// The one with the most levels; the first of these.
    Deepest,
}

impl Category {
    pub(super) fn read(
        path: String,
        value: &toml::Value,
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        let (source, max_levels, default) = match value {
            toml::Value::Table(table) => {
                let section = Section::new(path, table);
                let source = source(&section, defaults)?;
                let (max_levels, default) = (max_levels(&section)?, default(&section)?);
                section.finish()?;
                (source, max_levels, default)
            }
            toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
                let readings = defaults.of_list(items.len());
                let items = numbered(&path, items).into_iter().zip(readings);
                let one =
                    |((path, item), defaults): (_, Reading)| Self::read(path, item, &defaults);
                let all: Result<_, MappingError> = items.map(one).collect();
                (Source::First(all?, !defaults.is_followed()), None, None)
            }
            value => {
                let one = |text: &str| !text.contains("[]");
                if !texts(&path, value)?.iter().all(|text| one(text)) {
                    return Err(MappingError::setting(path, SEVERAL));
                }
                let field = Field::read(path, value, defaults)?;
                (Source::Text(field, None), None, None)
            }
        };
        Ok(Self {
            source,
            max_levels,
            default,
        })
    }

    /// Returns the names from the root down; records a problem if there are none.
    pub(super) fn names(&self, row: Row<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        let names = self.known_names(row, problems);
        if names.is_none() && problems.fatal.is_empty() {
            problems.missing("category");
        }
        names
    }

    /// Returns the names from the root down; `None` if there are none.
    pub(super) fn known_names(&self, row: Row<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        let names = self.mapped_names(row, problems);
        let mut names = names.filter(|names| !names.is_empty());
        if let (Some(names), Some(max_levels)) = (&mut names, self.max_levels) {
            names.truncate(max_levels);
        }
        names.or_else(|| self.default.clone())
    }

    fn mapped_names(&self, row: Row<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        match &self.source {
            Source::Constant(names) => Some(names.clone()),
            Source::Levels(levels) => Some(
                levels
                    .iter()
                    .flat_map(|level| level.names(row, problems))
                    .collect(),
            ),
            Source::Table(field, table) => self.by_table(field, table, row, problems),
            Source::Text(field, separator) => {
                let text = field.text(row, problems)?;
                Some(split(&text, separator.as_deref()))
            }
            Source::Texts(items, separator, pick) => {
                let texts = items.texts(row, problems).into_iter();
                pick.one(texts.map(|text| split(&text, separator.as_deref())))
            }
            Source::Cut(field, cut_at, separator, pick) => {
                let text = field.text(row, problems)?;
                let texts = unescaped_pieces(&text, cut_at).into_iter();
                let texts = texts.map(|text| unescaped(&text, cut_at));
                pick.one(texts.map(|text| split(&text, separator.as_deref())))
            }
            Source::First(all, last) => {
                problems.first_of(all, *last, |one, problems| one.known_names(row, problems))
            }
        }
    }

    fn by_table(
        &self,
        field: &Field,
        table: &HashMap<String, Vec<String>>,
        row: Row<'_>,
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

impl Level {
    fn names(&self, row: Row<'_>, problems: &mut Problems) -> Vec<String> {
        match self {
            Self::One(field) => field.text(row, problems).into_iter().collect(),
            Self::Items(items) => items.texts(row, problems),
        }
    }
}

impl Items {
    /// Reads a path whose items are read alike.
    fn read(setting: String, path: &str, reading: &Reading) -> Result<Self, MappingError> {
        let parsed = reading
            .uses
            .path(path)
            .map_err(|reason| MappingError::setting(&setting, reason))?;
        Ok(Self {
            used: reading.uses.add(&setting, path),
            item: Field::of_item(setting, path, reading),
            path: parsed,
        })
    }

    fn texts(&self, row: Row<'_>, problems: &mut Problems) -> Vec<String> {
        self.used.asked(self.path.first(row).is_some());
        let items = self.path.all(row).into_iter();
        items
            .filter_map(|item| self.item.text(row.at(item), problems))
            .collect()
    }
}

impl Pick {
    /// Picks one of several categories.
    fn one(self, mut categories: impl Iterator<Item = Vec<String>>) -> Option<Vec<String>> {
        match self {
            Self::First => categories.find(|names| !names.is_empty()),
            Self::Deepest => categories.fold(None, |deepest: Option<Vec<String>>, names| {
                let deeper = deepest
                    .as_ref()
                    .is_none_or(|known| known.len() < names.len());
                if deeper { Some(names) } else { deepest }
            }),
        }
    }
}

const SEVERAL: &str = "may have several values: pick = \"first\" or \"deepest\" says which one is \
                       the category; levels = [\"path[]\"] makes each item a level";

fn source(section: &Section<'_>, defaults: &Reading) -> Result<Source, MappingError> {
    if let Some(value) = section.value("value") {
        return Ok(Source::Constant(names(&section.at("value"), value)?));
    }
    let levels = section.values("levels");
    if !levels.is_empty() {
        return Ok(Source::Levels(read_levels(
            section,
            levels,
            &defaults.last(),
        )?));
    }
    let table = section.entries("table")?;
    let separator = section.text("separator")?.map(str::to_owned);
    let picks = [("first", Pick::First), ("deepest", Pick::Deepest)];
    let pick = section.choice("pick", &picks)?;
    let several = section.value("from").and_then(toml::Value::as_str);
    let cut_at = section.text("cut_at")?.filter(|text| !text.is_empty());
    if let (Some(cut_at), Some(pick), true) = (cut_at, pick, table.is_empty()) {
        let field = Field::of_one(section, &defaults.keeping_lines())?.without_cut();
        return Ok(Source::Cut(field, cut_at.to_owned(), separator, pick));
    }
    match (pick, several) {
        (Some(pick), Some(path)) if table.is_empty() => {
            let reading = defaults.with(section)?;
            let items = Items::read(section.at("from"), path, &reading)?;
            return Ok(Source::Texts(items, separator, pick));
        }
        (Some(_), _) => {
            let reason =
                "is for several texts, with from = \"path[]\" or cut_at, and without table";
            return Err(section.invalid("pick", reason));
        }
        (None, Some(path)) if path.contains("[]") => {
            return Err(section.invalid("from", format!("{path:?} {SEVERAL}")));
        }
        (None, _) => {}
    }
    let field = Field::of_one(section, defaults)?;
    if table.is_empty() {
        return Ok(Source::Text(field, separator));
    }
    let rows: Result<_, MappingError> = table
        .into_iter()
        .map(|(path, word, value)| Ok((word.clone(), names(&path, value)?)))
        .collect();
    Ok(Source::Table(field, rows?))
}

fn max_levels(section: &Section<'_>) -> Result<Option<usize>, MappingError> {
    let Some(value) = section.value("max_levels") else {
        return Ok(None);
    };
    let levels = value
        .as_integer()
        .and_then(|levels| usize::try_from(levels).ok());
    match levels {
        Some(levels) if (1..=MAX_CATEGORY_DEPTH).contains(&levels) => Ok(Some(levels)),
        _ => {
            let reason = format!("must be a number from 1 to {MAX_CATEGORY_DEPTH}");
            Err(section.invalid("max_levels", reason))
        }
    }
}

fn read_levels(
    section: &Section<'_>,
    levels: &[toml::Value],
    defaults: &Reading,
) -> Result<Vec<Level>, MappingError> {
    let levels = numbered(&section.at("levels"), levels).into_iter();
    levels
        .map(|(path, level)| read_level(path, level, defaults))
        .collect()
}

fn read_level(
    setting: String,
    level: &toml::Value,
    defaults: &Reading,
) -> Result<Level, MappingError> {
    if let Some(path) = level.as_str().filter(|path| path.contains("[]")) {
        return Items::read(setting, path, defaults).map(Level::Items);
    }
    let table = level.as_table().map(|table| Section::new(&setting, table));
    let path = table
        .as_ref()
        .and_then(|table| table.value("from")?.as_str());
    match (table, path) {
        (Some(table), Some(path)) if path.contains("[]") && !table.has("list") => {
            let items = Items::read(setting.clone(), path, &defaults.with(&table)?)?;
            table.finish()?;
            Ok(Level::Items(items))
        }
        _ => Field::read(setting, level, defaults).map(Level::One),
    }
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
    let levels = unescaped_pieces(text, separator).into_iter();
    let levels = levels.map(|level| collapse(&unescaped(&level, separator)));
    levels.filter(|level| !level.is_empty()).collect()
}

/// Returns a piece without the backslashes before the separator.
fn unescaped(piece: &str, separator: &str) -> String {
    let sign = separator.trim();
    if sign.is_empty() || !piece.contains('\\') {
        return piece.to_owned();
    }
    piece.replace(&format!("\\{sign}"), sign)
}

/// The pieces of a text between separators. One behind a backslash is a sign of the piece, and is kept as it is
/// written.
fn unescaped_pieces(text: &str, separator: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut is_escaped = false;
    for part in text.split(separator) {
        match pieces.last_mut().filter(|_| is_escaped) {
            Some(piece) => {
                piece.push_str(separator);
                piece.push_str(part);
            }
            None => pieces.push(part.to_owned()),
        }
        is_escaped = part.ends_with('\\') && !separator.starts_with('\\');
    }
    pieces
}
