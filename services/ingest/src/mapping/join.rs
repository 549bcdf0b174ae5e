//! Joins: rows of other files, or of the feed itself, that are added to the rows of the feed, by a key.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use vitrine_formats::{FeedError, FeedForm, RowsPath};
use vitrine_model::import::Rejection;

use super::error::MappingError;
use super::field::Field;
use super::path::{Path, PathStep, Row};
use super::product::required;
use super::reading::Reading;
use super::section::Section;
use super::uses::UsedPath;
use super::{ReadTable, form};

mod matching;

use matching::Matching;

/// The rows of another file, or of the feed, by their key.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// The key under which rows get them.
    name: String,
    /// Whether a row may have several matching rows.
    many: bool,
    /// The list whose items get them; without one the row does.
    each: Option<UsedPath>,
    /// The key of a row, or of an item.
    from: Field,
    matching: Arc<Matching>,
    /// What is joined if it is the feed: the key of its rows, and where they are if the mapping reads others.
    of_feed: Option<(Field, Option<RowsPath>)>,
    unpaired: Arc<AtomicU64>,
}

/// A join whose file is not read yet.
#[derive(Debug)]
pub(super) struct Settings {
    name: String,
    many: bool,
    each: Option<UsedPath>,
    from: Field,
    /// The paths that it reads in a row.
    reads: Vec<String>,
    key: Field,
    rows_of: RowsOf,
}

/// Where the rows that are added come from.
#[derive(Debug)]
enum RowsOf {
    File(Box<JoinedFile>),
    /// The feed: the rows that the mapping reads, or those at another place of its documents.
    Feed(Option<RowsPath>),
}

/// A file whose rows are added.
#[derive(Debug)]
struct JoinedFile {
    /// The setting that names it.
    setting: String,
    name: String,
    form: FeedForm,
}

/// Reads the settings of the joins of a mapping, in the order in which they are made: one that reads what another one
/// adds comes after it.
pub(super) fn read(
    section: &Section<'_>,
    reading: &Reading,
) -> Result<Vec<Settings>, MappingError> {
    let mut joins = Vec::new();
    for (path, name, value) in section.entries("join")? {
        let section = Section::of(path, value)?;
        joins.push(Settings::read(name, &section, reading)?);
        section.finish()?;
    }
    in_order(joins)
}

/// Arranges joins so that each comes after those that it needs.
fn in_order(mut joins: Vec<Settings>) -> Result<Vec<Settings>, MappingError> {
    let mut ordered: Vec<Settings> = Vec::new();
    while !joins.is_empty() {
        let is_ready = |join: &Settings| !joins.iter().any(|other| join.needs(&other.name));
        let Some(at) = joins.iter().position(is_ready) else {
            return Err(cycle(&joins));
        };
        ordered.push(joins.remove(at));
    }
    Ok(ordered)
}

/// The error for joins of which each needs another one of them.
fn cycle(joins: &[Settings]) -> MappingError {
    let mut names = vec![joins[0].name.as_str()];
    loop {
        let last = names.last().copied().unwrap_or_default();
        let of_last = joins.iter().find(|join| join.name == last);
        let next = of_last.and_then(|last| joins.iter().find(|other| last.needs(&other.name)));
        let next = next.map_or(joins[0].name.as_str(), |next| next.name.as_str());
        let begins = names.iter().position(|name| *name == next);
        names.push(next);
        if let Some(begins) = begins {
            let circle = names[begins..].join(" needs join.");
            let reason = format!("can never be made: join.{circle}");
            return MappingError::setting(format!("join.{next}.from"), reason);
        }
    }
}

/// Reads the files of joins.
pub(super) fn load(
    joins: Vec<Settings>,
    read_table: &mut ReadTable<'_>,
) -> Result<Vec<Join>, MappingError> {
    let joins = joins.into_iter();
    joins.map(|join| join.load(read_table)).collect()
}

impl Settings {
    fn read(name: &str, section: &Section<'_>, reading: &Reading) -> Result<Self, MappingError> {
        let reading = reading.refusing_on_bad(ON_BAD);
        let others = reading.uses.count();
        let each = each(section, &reading)?;
        let lists = each.as_ref().map(|each| each.path().lists());
        let of_items = reading.inside(lists.unwrap_or_default());
        let from = required(section, "from", &of_items)?;
        Ok(Self {
            name: name.to_owned(),
            many: section.flag("many", false)?,
            each,
            from,
            reads: reading.uses.since(others),
            key: required(section, "key", &reading.of_other_rows())?,
            rows_of: RowsOf::read(section)?,
        })
    }

    /// Returns whether it reads what a join of this name adds. Paths of items lead to another join with `^` only.
    fn needs(&self, name: &str) -> bool {
        let list = self.each.as_ref().map(|each| each.path().to_string());
        self.reads.iter().any(|path| {
            let of_row = path.strip_prefix("^.");
            let of_items = list.as_ref().is_some_and(|list| list != path);
            if of_items && of_row.is_none() {
                return false;
            }
            Path::parse(of_row.unwrap_or(path)).is_ok_and(|path| {
                let first = path.steps().first();
                matches!(first, Some(PathStep::Key(key)) if key == name)
            })
        })
    }

    fn load(self, read_table: &mut ReadTable<'_>) -> Result<Join, MappingError> {
        let (matching, of_feed) = match self.rows_of {
            RowsOf::File(file) => (file.matching(&self.key, self.many, read_table)?, None),
            RowsOf::Feed(rows) => (Matching::default(), Some((self.key, rows))),
        };
        Ok(Join {
            name: self.name,
            many: self.many,
            each: self.each,
            from: self.from,
            matching: Arc::new(matching),
            of_feed,
            unpaired: Arc::default(),
        })
    }
}

impl RowsOf {
    fn read(section: &Section<'_>) -> Result<Self, MappingError> {
        let name = section.text("file")?;
        let form = form::read(section)?;
        match (name, section.flag("feed", false)?) {
            (Some(name), false) => Ok(Self::File(Box::new(JoinedFile {
                setting: section.at("file"),
                name: name.to_owned(),
                form,
            }))),
            (None, true) => {
                let rows = form.rows.clone();
                let others = FeedForm { rows: None, ..form };
                if others == FeedForm::default() {
                    return Ok(Self::Feed(rows));
                }
                let reason = "the feed is read as the mapping says; of the settings of files only rows has an effect \
                              beside it";
                Err(section.invalid("feed", reason))
            }
            (Some(_), true) => {
                let reason = "the rows are those of a file or of the feed, not of both";
                Err(section.invalid("feed", reason))
            }
            (None, false) => {
                let reason = "is required: the file whose rows are added, or feed = true for the feed itself";
                Err(section.invalid("file", reason))
            }
        }
    }
}

impl JoinedFile {
    fn matching(
        &self,
        key: &Field,
        many: bool,
        read_table: &mut ReadTable<'_>,
    ) -> Result<Matching, MappingError> {
        let content = read_table(&self.name);
        let content = content.map_err(|error| MappingError::file(self.setting.clone(), &error))?;
        let read = Matching::of_file(content, &self.name, &self.form, key, many);
        read.map_err(|reason| {
            MappingError::setting(&self.setting, format!("{}: {reason}", self.name))
        })
    }
}

const ON_BAD: &str = "has no effect in a join: a row with a bad key is rejected, and a file with one \
                      is refused";

/// Reads the list whose items get rows.
fn each(section: &Section<'_>, reading: &Reading) -> Result<Option<UsedPath>, MappingError> {
    let Some(text) = section.text("each")? else {
        return Ok(None);
    };
    let path = UsedPath::parse(text, &section.at("each"), &reading.uses);
    let path = path.map_err(|reason| section.invalid("each", reason))?;
    let steps = path.path().steps();
    let leads = |step: &PathStep| matches!(step, PathStep::Key(_) | PathStep::Each);
    if path.path().is_relative() && !steps.is_empty() && steps.iter().all(leads) {
        return Ok(Some(path));
    }
    let reason = format!("{text:?}: only keys, and [] for every item of a list, lead to the items");
    Err(section.invalid("each", reason))
}

impl Join {
    /// Reads the rows of the feed, if it is the feed that is joined.
    ///
    /// # Errors
    /// [`FeedError`] if the feed cannot be opened or read twice, or is too large.
    pub(super) fn read_feed(
        &mut self,
        files: &[PathBuf],
        form: &FeedForm,
    ) -> Result<(), FeedError> {
        if let Some((key, rows)) = &self.of_feed {
            let mut form = form.clone();
            if rows.is_some() {
                form.rows.clone_from(rows);
            }
            let matching = Matching::of_feed(files, &form, key, self.many)?;
            self.matching = Arc::new(matching);
        }
        Ok(())
    }

    /// Adds the matching rows to a row, or to the items of a list in it. Returns whether the file has every key.
    ///
    /// # Errors
    /// What is wrong with the row.
    pub(super) fn add(&self, row: &mut Value, number: &Value) -> Result<bool, Rejection> {
        let failed = |reason: String| Rejection::new(format!("join.{}", self.name), reason);
        let mut found = Vec::new();
        let whole = Row::new(row, number);
        match &self.each {
            None => found.push(self.found(whole)),
            Some(each) => each.visit(whole, &mut |item, around, _| {
                found.push(self.found(whole.item(item, &Value::Null, around)));
            }),
        }
        let found: Vec<Found> = found
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let is_paired = !found.iter().any(|found| matches!(found, Found::Unpaired));
        let mut found = found.into_iter();
        let mut insert = |value: &mut Value| match found.next() {
            Some(Found::Rows(rows)) => self.insert(value, rows),
            _ => self.insert(value, Value::Null),
        };
        match &self.each {
            None => insert(row),
            Some(each) => each_item(row, each.path().steps(), &mut insert),
        }
        .map_err(failed)?;
        Ok(is_paired)
    }

    /// The rows for a row or an item.
    fn found(&self, row: Row<'_>) -> Result<Found, String> {
        let Some(key) = self.from.try_text(row)? else {
            return Ok(Found::Unknown);
        };
        let rows = self.matching.rows(&key, self.many)?;
        Ok(rows.map_or(Found::Unpaired, Found::Rows))
    }

    /// Adds what was found, if anything, to a row or an item.
    fn insert(&self, value: &mut Value, rows: Value) -> Result<(), String> {
        let Some(object) = value.as_object_mut() else {
            return if rows.is_null() || self.each.is_none() {
                Ok(())
            } else {
                Err(
                    "the items of the list are no objects, so nothing can be added to them"
                        .to_owned(),
                )
            };
        };
        if object.contains_key(&self.name) {
            let of = if self.each.is_some() {
                "an item"
            } else {
                "the row"
            };
            return Err(format!(
                "{of} has a key of this name itself; give the join another name"
            ));
        }
        if !rows.is_null() {
            object.insert(self.name.clone(), rows);
        }
        Ok(())
    }

    /// Counts a row whose key the file does not have.
    pub(super) fn count_unpaired(&self) {
        self.unpaired.fetch_add(1, Ordering::Relaxed);
    }

    /// Its name and the number of rows whose key the file does not have, if there are any.
    pub(super) fn unpaired(&self) -> Option<(String, u64)> {
        let rows = self.unpaired.swap(0, Ordering::Relaxed);
        (rows > 0).then(|| (self.name.clone(), rows))
    }
}

/// What a file has for a row.
enum Found {
    /// The key of the row is unknown.
    Unknown,
    /// Nothing: it does not have the key.
    Unpaired,
    /// A row, or the list of all.
    Rows(Value),
}

/// Gives each value at a path to a function, in the order of [`UsedPath::visit`].
fn each_item(
    value: &mut Value,
    steps: &[PathStep],
    take: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    match (steps.split_first(), value) {
        (_, Value::Null) => Ok(()),
        (None | Some((PathStep::Each, _)), Value::Array(items)) => {
            let rest = steps.get(1..).unwrap_or_default();
            items.iter_mut().try_for_each(|item| match rest {
                [] => take(item),
                rest => each_item(item, rest, take),
            })
        }
        (None | Some((PathStep::Each, [])), one) => take(one),
        (Some((PathStep::Key(key), rest)), Value::Object(object)) => {
            let inside = object.get_mut(key);
            inside.map_or(Ok(()), |inside| each_item(inside, rest, take))
        }
        (Some((PathStep::Each, rest)), one) => each_item(one, rest, take),
        _ => Ok(()),
    }
}
