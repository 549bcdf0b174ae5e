//! How the files of a feed are read: the settings of their format.

use std::fmt;

use encoding_rs::Encoding;

use crate::shape::{Gather, Unpivot};

/// The format of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Determined by the name and the first bytes.
    #[default]
    Auto,
    /// One JSON object per line.
    JsonLines,
    /// One JSON document: an array of rows, or an object with the rows in it.
    Json,
    /// Comma-separated values (RFC 4180) with a header; also with other delimiters.
    Csv,
    /// The same, with tabs.
    Tsv,
    /// XML.
    Xml,
    /// A spreadsheet of Excel or `OpenDocument`.
    Excel,
    /// Parquet.
    Parquet,
}

/// How the files of a feed are read. What is not set is found out from the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedForm {
    /// The format.
    pub format: Format,
    /// The delimiter of CSV.
    pub delimiter: Option<u8>,
    /// What escapes a quotation mark in a quoted field of CSV, which may also be doubled: an ASCII
    /// sign, usually a backslash. It has no meaning anywhere else but before itself.
    pub escape: Option<u8>,
    /// The names of the columns, for rows that are lists and for tables without a header.
    pub columns: Option<Vec<String>>,
    /// The number of lines before the header of a table.
    pub skip_lines: u64,
    /// Columns that become the items of lists.
    pub unpivot: Vec<Unpivot>,
    /// Lines of one key that become one row.
    pub gather: Option<Gather>,
    /// Where the rows are in a document.
    pub rows: Option<RowsPath>,
    /// Whether names of XML lose their prefixes, in the rows and in their place.
    pub local_names: bool,
    /// The encoding of text.
    pub encoding: Option<&'static Encoding>,
    /// The sheet of a spreadsheet.
    pub sheet: Option<String>,
    /// Which files of a folder or an archive are read: a name with `*` and `?`.
    pub files: Option<String>,
    /// Whether the place of the rows in a document and the escape sign of CSV are guessed, as for
    /// a first mapping.
    pub guess_rows: bool,
}

/// The place of the rows in a document: `data.products`, `rss.channel.item`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsPath(Vec<RowsStep>);

/// One step to the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsStep {
    /// Into the value of a key, or an element of this name.
    Key(String),
    /// Into every item of a list.
    Each,
    /// Into every value of a JSON object. Rows have the key of the last such step as [`ROW_KEY`].
    Any,
}

/// The name that a row has its key under in an object whose values are the rows.
pub const ROW_KEY: &str = "@key";

impl RowsPath {
    /// The path of these keys.
    pub fn of_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        let keys = keys.into_iter();
        keys.map(|key| RowsStep::Key(key.to_owned())).collect()
    }

    pub(crate) fn steps(&self) -> &[RowsStep] {
        &self.0
    }

    /// The keys, without the lists between them.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let keys = self.0.iter().filter_map(|step| match step {
            RowsStep::Key(key) => Some(key.as_str()),
            RowsStep::Each | RowsStep::Any => None,
        });
        keys.collect()
    }

    /// The path to every value of the object here.
    pub(crate) fn values(mut self) -> Self {
        self.0.push(RowsStep::Any);
        self
    }
}

impl FromIterator<RowsStep> for RowsPath {
    fn from_iter<I: IntoIterator<Item = RowsStep>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for RowsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in &self.0 {
            match step {
                RowsStep::Key(key) => push_key(&mut text, key),
                RowsStep::Each => text.push_str("[]"),
                RowsStep::Any if text.is_empty() => text.push('*'),
                RowsStep::Any => text.push_str(".*"),
            }
        }
        f.write_str(if text.is_empty() { "." } else { &text })
    }
}

/// Appends a key to the text of a path, quoted if it would be ambiguous otherwise.
pub fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    let special = key.is_empty() || matches!(key, "*" | "**") || key.starts_with('^');
    // By bytes: this runs for every key of every row.
    let ambiguous = |byte: u8| matches!(byte, b'.' | b'[' | b']' | b'"' | b'{' | b'}' | b':');
    if special || key.bytes().any(ambiguous) {
        path.push('"');
        path.push_str(&key.replace('\\', "\\\\").replace('"', "\\\""));
        path.push('"');
    } else {
        path.push_str(key);
    }
}
