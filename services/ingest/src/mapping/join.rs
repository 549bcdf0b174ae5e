//! Joins: rows of other files that are added to the rows of the feed, by a key.
//!
//! The other file is held in memory, each row as JSON text, up to [`MAX_JOIN_BYTES`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use vitrine_formats::{self as formats, FeedForm};
use vitrine_model::import::Rejection;

use super::error::MappingError;
use super::field::Field;
use super::number::shortened;
use super::path::Row;
use super::product::required;
use super::reading::Reading;
use super::section::Section;
use super::{ReadTable, form};

/// The maximum size of the rows of a file that is joined, as JSON.
pub(super) const MAX_JOIN_BYTES: usize = 256 * 1024 * 1024;

/// The maximum size of the rows with one key, as JSON.
const MAX_MATCHING_BYTES: usize = 4 * 1024 * 1024;

/// The rows of another file, by their key.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// The key under which rows get them.
    name: String,
    /// Whether a row may have several matching rows.
    many: bool,
    /// The key of a row.
    from: Field,
    matching: Arc<HashMap<String, MatchingRows>>,
    unpaired: Arc<AtomicU64>,
}

/// A join whose file is not read yet.
#[derive(Debug)]
pub(super) struct Settings {
    name: String,
    many: bool,
    from: Field,
    key: Field,
    /// The setting that names the file.
    setting: String,
    file: String,
    form: FeedForm,
}

/// The rows with one key, as JSON objects after one another, separated by commas.
#[derive(Debug)]
struct MatchingRows {
    json: String,
    line: u64,
}

/// Reads the settings of the joins of a mapping.
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
    Ok(joins)
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
        let file = section.text("file")?;
        Ok(Self {
            name: name.to_owned(),
            many: section.flag("many", false)?,
            from: required(section, "from", &reading)?,
            key: required(section, "key", &reading.of_other_rows())?,
            setting: section.at("file"),
            file: file
                .ok_or_else(|| {
                    section.invalid("file", "is required: the file whose rows are added")
                })?
                .to_owned(),
            form: form::read(section)?,
        })
    }

    fn load(self, read_table: &mut ReadTable<'_>) -> Result<Join, MappingError> {
        let content = read_table(&self.file);
        let content = content.map_err(|error| MappingError::file(self.setting.clone(), &error))?;
        let matching = matching(content, &self).map_err(|reason| {
            MappingError::setting(&self.setting, format!("{}: {reason}", self.file))
        })?;
        Ok(Join {
            name: self.name,
            many: self.many,
            from: self.from,
            matching: Arc::new(matching),
            unpaired: Arc::default(),
        })
    }
}

const ON_BAD: &str = "has no effect in a join: a row with a bad key is rejected, and a file with one \
                      is refused";

impl Join {
    /// Adds the matching rows to a row.
    ///
    /// # Errors
    /// What is wrong with the row.
    pub(super) fn add(&self, row: &mut Value, number: &Value) -> Result<(), Rejection> {
        let failed = |reason: String| Rejection::new(format!("join.{}", self.name), reason);
        let key = self.from.try_text(Row::new(row, number)).map_err(failed)?;
        let Some(object) = row.as_object_mut() else {
            return Ok(());
        };
        if object.contains_key(&self.name) {
            let reason = "the row has a key of this name itself; give the join another name";
            return Err(failed(reason.to_owned()));
        }
        let Some(key) = key else { return Ok(()) };
        let Some(matching) = self.matching.get(&key) else {
            self.unpaired.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        let json = if self.many {
            format!("[{}]", matching.json)
        } else {
            matching.json.clone()
        };
        let value = serde_json::from_str(&json).map_err(|error| failed(error.to_string()))?;
        object.insert(self.name.clone(), value);
        Ok(())
    }

    /// Its name and the number of rows whose key the file does not have, if there are any.
    pub(super) fn unpaired(&self) -> Option<(String, u64)> {
        let rows = self.unpaired.swap(0, Ordering::Relaxed);
        (rows > 0).then(|| (self.name.clone(), rows))
    }
}

impl MatchingRows {
    fn add(&mut self, json: &str) -> Result<(), String> {
        if self.json.len() + json.len() > MAX_MATCHING_BYTES {
            return Err(format!(
                "take more than {} MiB, and a row of the feed would get them all",
                MAX_MATCHING_BYTES / (1024 * 1024)
            ));
        }
        self.json.push(',');
        self.json.push_str(json);
        Ok(())
    }
}

/// Reads a file and arranges its rows by their key.
fn matching(
    content: Vec<u8>,
    settings: &Settings,
) -> Result<HashMap<String, MatchingRows>, String> {
    let (key, many) = (&settings.key, settings.many);
    let mut matching: HashMap<String, MatchingRows> = HashMap::new();
    let mut bytes = 0;
    for line in formats::read(content, &settings.file, &settings.form)? {
        let at = |reason: String| format!("line {}: {reason}", line.number);
        let row = match line.row {
            formats::Row::Blank | formats::Row::Gathered => continue,
            formats::Row::Object(row) => row,
            formats::Row::Unreadable(reason) | formats::Row::Broken(reason) => {
                return Err(at(reason));
            }
        };
        let number = Value::from(line.number);
        let Some(key) = key.try_text(Row::new(&row, &number)).map_err(at)? else {
            continue;
        };
        let json = row.to_string();
        bytes += json.len();
        if bytes > MAX_JOIN_BYTES {
            return Err(format!(
                "the rows take more than {} MiB, and are held in memory; make the larger file the \
                 feed and join the smaller one",
                MAX_JOIN_BYTES / (1024 * 1024)
            ));
        }
        match matching.get_mut(&key) {
            None => {
                let line = line.number;
                matching.insert(key, MatchingRows { json, line });
            }
            Some(known) if many => known.add(&json).map_err(|reason| {
                format!("the rows with the key {:?} {reason}", shortened(&key))
            })?,
            Some(known) => {
                return Err(format!(
                    "the key {key:?} is on line {} and on line {}; many = true makes a list of \
                     them",
                    known.line, line.number
                ));
            }
        }
    }
    Ok(matching)
}
