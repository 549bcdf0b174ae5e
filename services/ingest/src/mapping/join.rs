//! Joins: rows of other files that are added to the rows of the feed, by a key.
//!
//! The other file is held in memory, each row as JSON text, up to [`MAX_JOIN_BYTES`].

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use vitrine_model::import::Rejection;

use super::error::MappingError;
use super::field::Field;
use super::path::Row;
use super::reading::Reading;
use super::section::Section;
use super::{FeedForm, ReadTable, columns, delimiter, format};
use crate::feed;

/// The maximum size of the rows of a file that is joined, as JSON.
pub(super) const MAX_JOIN_BYTES: usize = 256 * 1024 * 1024;

/// The rows of another file, by their key.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// The key under which rows get them.
    name: String,
    /// Whether a row may have several partners.
    many: bool,
    /// The key of a row.
    from: Field,
    partners: Arc<HashMap<String, Partners>>,
    unpaired: Arc<AtomicU64>,
}

/// The rows with one key, as JSON objects after one another, separated by commas.
#[derive(Debug)]
struct Partners {
    json: String,
    line: u64,
}

/// Reads the joins of a mapping.
pub(super) fn read(
    section: &Section<'_>,
    reading: &Reading,
    read_table: &mut ReadTable<'_>,
) -> Result<Vec<Join>, MappingError> {
    let mut joins = Vec::new();
    for (path, name, value) in section.entries("join")? {
        let section = Section::of(path, value)?;
        joins.push(Join::read(name, &section, reading, read_table)?);
        section.finish()?;
    }
    Ok(joins)
}

impl Join {
    fn read(
        name: &str,
        section: &Section<'_>,
        reading: &Reading,
        read_table: &mut ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let required = |name| super::product::required(section, name, reading);
        let (from, key) = (required("from")?, required("key")?);
        let file = section
            .text("file")?
            .ok_or_else(|| section.invalid("file", "is required: the file whose rows are added"))?;
        let many = section.flag("many", false)?;
        let form = FeedForm {
            format: format(section)?,
            delimiter: delimiter(section)?,
            columns: columns(section)?,
        };
        let content = read_table(file);
        let content = content.map_err(|error| MappingError::file(section.at("file"), &error))?;
        let partners = partners(content, &form, &key, many)
            .map_err(|reason| section.invalid("file", format!("{file}: {reason}")))?;
        Ok(Self {
            name: name.to_owned(),
            many,
            from,
            partners: Arc::new(partners),
            unpaired: Arc::default(),
        })
    }

    /// Adds its partners to a row.
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
        let Some(partners) = self.partners.get(&key) else {
            self.unpaired.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        let json = if self.many {
            format!("[{}]", partners.json)
        } else {
            partners.json.clone()
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

/// Reads a file and arranges its rows by their key.
fn partners(
    content: Vec<u8>,
    form: &FeedForm,
    key: &Field,
    many: bool,
) -> Result<HashMap<String, Partners>, String> {
    let mut partners: HashMap<String, Partners> = HashMap::new();
    let mut bytes = 0;
    for line in feed::read(Cursor::new(content), form)? {
        let at = |reason: String| format!("line {}: {reason}", line.number);
        let row = match line.row {
            feed::Row::Blank => continue,
            feed::Row::Object(row) => row,
            feed::Row::Unreadable(reason) | feed::Row::Broken(reason) => return Err(at(reason)),
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
        match partners.get_mut(&key) {
            None => {
                let line = line.number;
                partners.insert(key, Partners { json, line });
            }
            Some(known) if many => {
                known.json.push(',');
                known.json.push_str(&json);
            }
            Some(known) => {
                return Err(format!(
                    "the key {key:?} is on line {} and on line {}; many = true makes a list of \
                     them",
                    known.line, line.number
                ));
            }
        }
    }
    Ok(partners)
}
