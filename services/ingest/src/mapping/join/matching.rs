//! The rows that are joined, by their key. They are held in memory, each as JSON text, up to [`MAX_JOIN_BYTES`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vitrine_formats::{self as formats, FeedError, FeedForm, FeedLine, Feeds, Row as Content};

use super::super::field::Field;
use super::super::number::shortened;
use super::super::path::Row;

/// The maximum size of the rows that are joined, as JSON.
const MAX_JOIN_BYTES: usize = 256 * 1024 * 1024;

/// The maximum size of the rows with one key, as JSON.
const MAX_MATCHING_BYTES: usize = 4 * 1024 * 1024;

/// The rows that are joined, by their key.
#[derive(Debug, Default)]
pub(super) struct Matching {
    rows: HashMap<String, MatchingRows>,
    bytes: usize,
}

/// The rows with one key, as JSON objects after one another, separated by commas.
#[derive(Debug)]
struct MatchingRows {
    json: String,
    line: u64,
}

impl Matching {
    /// Reads a file that stands beside the mapping.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of_file(
        content: Vec<u8>,
        name: &str,
        form: &FeedForm,
        key: &Field,
        many: bool,
    ) -> Result<Self, String> {
        let mut matching = Self::default();
        for line in formats::read(content, name, form)? {
            let number = line.number;
            let at = |reason: String| format!("line {number}: {reason}");
            match line.row {
                Content::Blank | Content::Gathered => {}
                Content::Object(row) => {
                    let Some(key) = key_of(key, &row, number).map_err(at)? else {
                        continue;
                    };
                    matching.add(key, &row, number, many)?;
                }
                Content::Unreadable(reason) | Content::Broken(reason) => return Err(at(reason)),
            }
        }
        Ok(matching)
    }

    /// Reads the feed. What is wrong with its lines is said when they are imported; of a key that repeats the first
    /// row counts.
    ///
    /// # Errors
    /// [`FeedError`] if it cannot be opened or read twice, or is too large.
    pub(super) fn of_feed(
        files: &[PathBuf],
        form: &FeedForm,
        key: &Field,
        many: bool,
    ) -> Result<Self, FeedError> {
        for file in files {
            check_twice(file)?;
        }
        let mut matching = Self::default();
        for feed in Feeds::open(files, form)? {
            let feed = feed?;
            let path = PathBuf::from(feed.name());
            for FeedLine { row, number, .. } in feed {
                let Content::Object(row) = row else { continue };
                let Ok(Some(key)) = key_of(key, &row, number) else {
                    continue;
                };
                if many || !matching.rows.contains_key(&key) {
                    let added = matching.add(key, &row, number, many);
                    added.map_err(|reason| FeedError::Form {
                        path: path.clone(),
                        reason: format!("it is joined with itself, and {reason}"),
                    })?;
                }
            }
        }
        Ok(matching)
    }

    /// The rows with a key: one, or the list of all.
    ///
    /// # Errors
    /// Why they are no JSON.
    pub(super) fn rows(&self, key: &str, many: bool) -> Result<Option<Value>, String> {
        let Some(MatchingRows { json, .. }) = self.rows.get(key) else {
            return Ok(None);
        };
        let rows = if many {
            serde_json::from_str(&format!("[{json}]"))
        } else {
            serde_json::from_str(json)
        };
        rows.map(Some).map_err(|error| error.to_string())
    }

    fn add(&mut self, key: String, row: &Value, line: u64, many: bool) -> Result<(), String> {
        let json = row.to_string();
        self.bytes += json.len();
        if self.bytes > MAX_JOIN_BYTES {
            return Err(format!(
                "the rows take more than {} MiB, and are held in memory; make the larger file the \
                 feed and join the smaller one",
                MAX_JOIN_BYTES / (1024 * 1024)
            ));
        }
        match self.rows.get_mut(&key) {
            None => {
                self.rows.insert(key, MatchingRows { json, line });
                Ok(())
            }
            Some(known) if many => known
                .add(&json)
                .map_err(|reason| format!("the rows with the key {:?} {reason}", shortened(&key))),
            Some(known) => Err(format!(
                "the key {key:?} is on line {} and on line {line}; many = true makes a list of them",
                known.line
            )),
        }
    }
}

/// The key of a row; `None` if it is unknown.
fn key_of(key: &Field, row: &Value, line: u64) -> Result<Option<String>, String> {
    key.try_text(Row::new(row, &Value::from(line)))
}

/// Checks that a feed can be read twice.
fn check_twice(file: &Path) -> Result<(), FeedError> {
    let is_address = file.to_str().is_some_and(|text| text.contains("://"));
    if is_address || file.is_file() || file.is_dir() {
        return Ok(());
    }
    Err(FeedError::Form {
        path: file.to_owned(),
        reason: "a feed that is joined with itself is read twice, which this cannot be; save it to a file first"
            .to_owned(),
    })
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
