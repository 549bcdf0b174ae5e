//! Formats of feeds: files into rows; JSON Lines, JSON, CSV, XML, spreadsheets and Parquet; plain, packed or in
//! archives; in files, folders, at addresses, and on standard input. Memory does not grow with the
//! feed.
//!
//! An unreadable line is returned with the reason, and the following lines are read. Only the rest
//! of a damaged file, such as a truncated gzip, cannot be read. A file that ends within a record, and
//! one that is not empty and has no row, are damaged as well.
//!
//! Whatever a file says about itself, reading it takes bounded memory:
//!
//! | format | at most in memory |
//! |---|---|
//! | JSON Lines, JSON, CSV | a row of 4 MiB, and what was read of the next |
//! | XML | a row of 4 MiB, a text of 16 MiB, and 16 MiB to read a broken row once more |
//! | xlsx | a row, a text of 4 MiB, the texts that cells share, 256 MiB, and what styles show, 16 MiB |
//! | ods | a row, and a text of 4 MiB |
//! | Parquet | a row, its description, 32 MiB, dictionaries and pages, 512 MiB, and the 16,777,216 values that the lists of a column may have in a group of rows |
//! | gzip, Zstandard, zip | 128 MiB for each layer of Zstandard; 100,000 entries of a zip |
//!
//! | module | contents |
//! |---|---|
//! | `form` | the settings of a file |
//! | `place`, `address`, `source` | where the bytes come from |
//! | `opening` | from a place to rows |
//! | `unpack` | gzip, Zstandard, zip |
//! | `detect`, `encoding` | which format and encoding a text has |
//! | `lines`, `json_rows`, `json_value`, `csv_rows`, `document`, `xml` | rows of text |
//! | `columns` | the names of the columns of tables and sheets |
//! | `sheet`, `parquet_rows`, `background` | rows of binary formats |
//! | `shape` | rows that are made of several lines, and lists that are made of columns |

use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use encoding_rs::{Encoding, UTF_8};
use serde_json::Value;

mod address;
mod background;
mod columns;
mod csv_rows;
mod detect;
mod document;
mod encoding;
#[cfg(test)]
mod fixtures;
mod form;
mod json_rows;
mod json_value;
mod lines;
mod opening;
mod parquet_rows;
mod place;
mod shape;
mod sheet;
mod source;
mod unpack;
mod xml;

use background::Background;
use csv_rows::CsvRows;
use document::Document;
pub use form::{FeedForm, Format, ROW_KEY, RowsPath, RowsStep, push_key};
use json_rows::JsonRows;
use opening::{Opened, Opening, of_member, open};
use place::Place;
pub use place::file_name;
pub use place::fits;
use shape::Shaped;
pub use shape::{Gather, Unpivot};
use source::Source;
use unpack::Archive;
use xml::XmlRows;

/// The maximum length of a line, CSV record or row of a document, in bytes; longer ones are
/// rejected without being held in memory.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// One line of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedLine {
    /// Its number in the file, from 1; the number of the first line of a CSV record or of a row of
    /// a document. Of several rows that begin in one line, the second has the next number.
    pub number: u64,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its content.
    pub row: Row,
    /// The cells that have no value although they are not empty. They are null in the row.
    pub cells: Vec<CellProblem>,
}

/// A cell that has no value although it is not empty: an error such as `#N/A`, a formula that no
/// program has computed, or a date that there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellProblem {
    /// The name of its column.
    pub column: String,
    /// Its place as spreadsheets name it, `C12`; for other formats the number of the row.
    pub cell: String,
    /// What it is, to be read behind its place: `is the error #N/A`.
    pub reason: String,
}

impl FeedLine {
    fn new(number: u64, bytes: usize, row: Row) -> Self {
        let cells = Vec::new();
        Self {
            number,
            bytes,
            row,
            cells,
        }
    }
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Nothing.
    Blank,
    /// An object.
    Object(Value),
    /// It is a part of the row of a line before it.
    Gathered,
    /// It is not valid, for this reason.
    Unreadable(String),
    /// The rest of the file cannot be read, or the file ends within a record, or it is not empty
    /// and has no row, for this reason. The last line. If what is wrong is not at one place, it is
    /// a line that the file does not have.
    Broken(String),
}

/// Why a feed cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{}: {reason}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What the readers of rows need to know.
#[derive(Clone, Debug)]
struct RowForm {
    columns: Option<Vec<String>>,
    /// The number of lines before the header of a table.
    skip: u64,
    encoding: &'static Encoding,
    max_bytes: usize,
    /// Whether names of XML lose their prefixes.
    local_names: bool,
}

impl Default for RowForm {
    fn default() -> Self {
        Self {
            columns: None,
            skip: 0,
            encoding: UTF_8,
            max_bytes: MAX_LINE_BYTES,
            local_names: false,
        }
    }
}

/// The feeds of an import, one after another: of a folder its files, of an archive its members.
pub struct Feeds {
    form: FeedForm,
    places: std::vec::IntoIter<Place>,
    archive: Option<Archive>,
    /// The bytes of the places that were read, and of the one that is being read.
    before: u64,
    read: Arc<AtomicU64>,
    /// The bytes of the place that is being read, and of all.
    size: u64,
    total: u64,
}

/// A feed: an iterator over the lines of a file.
pub struct Feed {
    name: String,
    described: String,
    form: FeedForm,
    sheets: Vec<String>,
    rows: Shaped,
    last: u64,
    state: State,
}

/// What is known of the rows of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The file is empty.
    Empty,
    /// There was no row yet.
    NoRow,
    /// There was a row.
    Rows,
    /// Nothing follows.
    Ended,
}

enum Rows {
    Lines(JsonRows<Source>),
    Document(Document<Source>),
    Table(Box<CsvRows<Source>>),
    Xml(Box<XmlRows<Source>>),
    Background(Background),
}

impl Feeds {
    /// Finds the feeds. Those in files are opened once, so that an import does not fail half way.
    ///
    /// # Errors
    /// [`FeedError`] if one cannot be opened or has another format.
    pub fn open(paths: &[PathBuf], form: &FeedForm) -> Result<Self, FeedError> {
        let mut places = Vec::new();
        for path in paths {
            places.extend(place::places(path, form.files.as_deref())?);
        }
        let inputs = places
            .iter()
            .filter(|place| **place == Place::StandardInput);
        if inputs.count() > 1 {
            let path = PathBuf::from("-");
            let reason = "standard input can be read once".to_owned();
            return Err(FeedError::Form { path, reason });
        }
        // What is no file, such as a pipe, can be read once.
        let is_file = |place: &&Place| match place {
            Place::File(path) | Place::Part(path, _) => path.is_file(),
            Place::Address(_) | Place::StandardInput => false,
        };
        let files: Vec<Place> = places.iter().filter(is_file).cloned().collect();
        let mut files = Self::of(files, form);
        for feed in files.by_ref() {
            feed?;
        }
        let total = files.total;
        Ok(Self {
            total,
            ..Self::of(places, form)
        })
    }

    fn of(places: Vec<Place>, form: &FeedForm) -> Self {
        Self {
            form: form.clone(),
            places: places.into_iter(),
            archive: None,
            before: 0,
            read: Arc::default(),
            size: 0,
            total: 0,
        }
    }

    /// The number of bytes read so far, before unpacking, and of all that are known.
    #[must_use]
    pub fn position(&self) -> (u64, u64) {
        let read = self.read.load(Ordering::Relaxed);
        // What comes from standard input has no size before its end.
        let read = if self.size == 0 {
            read
        } else {
            read.min(self.size)
        };
        let position = self.before + read;
        (position, self.total.max(position))
    }

    fn opened(&mut self, place: &Place) -> Result<Opened, FeedError> {
        self.before += self.size;
        self.read = Arc::default();
        let (opened, size) = open(place, &self.form, &self.read)?;
        self.size = size;
        self.total = self.total.max(self.before + self.size);
        Ok(opened)
    }
}

impl Iterator for Feeds {
    type Item = Result<Feed, FeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(archive) = &mut self.archive {
                if let Some(member) = archive.next() {
                    return Some(of_member(archive, member, &self.form));
                }
                self.archive = None;
                // What is left is the directory.
                self.read.store(self.size, Ordering::Relaxed);
            }
            let place = self.places.next()?;
            match self.opened(&place) {
                Ok(Opened::Feed(feed)) => return Some(Ok(*feed)),
                Ok(Opened::Archive(archive)) => self.archive = Some(archive),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Feed {
    /// Opens a feed: the first one of a folder or an archive.
    ///
    /// # Errors
    /// [`FeedError`] if it cannot be opened or has another format.
    pub fn open(path: &Path, form: &FeedForm) -> Result<Self, FeedError> {
        let places = place::places(path, form.files.as_deref())?;
        let first = Feeds::of(places, form).next();
        first.unwrap_or_else(|| {
            let path = path.to_owned();
            let reason = "there is no feed in it".to_owned();
            Err(FeedError::Form { path, reason })
        })
    }

    /// Its name in reports: the path of the file, with that in its archive.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is read: `CSV with ; in windows-1252 (detected), gzip`.
    #[must_use]
    pub fn described(&self) -> &str {
        &self.described
    }

    /// How it is read, as settings.
    #[must_use]
    pub fn form(&self) -> &FeedForm {
        &self.form
    }

    /// The names of the sheets of a spreadsheet, but of those that are hidden.
    #[must_use]
    pub fn sheets(&self) -> &[String] {
        &self.sheets
    }
}

impl Iterator for Feed {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        if self.state == State::Ended {
            return None;
        }
        let Some(mut line) = self.rows.next() else {
            return self.end();
        };
        match &mut line.row {
            Row::Broken(reason) => {
                self.state = State::Ended;
                *reason = match self.last {
                    0 => format!("{reason}; nothing was read before"),
                    last => format!("{reason}; what is before it was read, up to line {last}"),
                };
                return Some(line);
            }
            Row::Object(_) => self.state = State::Rows,
            Row::Blank | Row::Gathered | Row::Unreadable(_) => {}
        }
        self.last = line.number;
        Some(line)
    }
}

impl Feed {
    /// The end of the file: a file that has something, but no row, is broken.
    fn end(&mut self) -> Option<FeedLine> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        let reason = "the file is not empty, and has no row that can be read";
        let broken = || Row::Broken(reason.to_owned());
        (state == State::NoRow).then(|| FeedLine::new(self.last + 1, 0, broken()))
    }
}

impl Iterator for Rows {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        match self {
            Self::Lines(rows) => rows.next(),
            Self::Document(rows) => rows.next(),
            Self::Table(rows) => rows.next(),
            Self::Xml(rows) => rows.next(),
            Self::Background(rows) => rows.next(),
        }
    }
}

/// Reads bytes as a file of this name would be read.
///
/// # Errors
/// Why they cannot be read.
pub fn read(
    bytes: Vec<u8>,
    name: &str,
    form: &FeedForm,
) -> Result<impl Iterator<Item = FeedLine> + use<>, String> {
    let source: Source = Box::new(Cursor::new(bytes));
    let opening = Opening::new(name, name, form, &Arc::default());
    let (form, name) = (form.clone(), name.to_owned());
    let feeds = match opening.source(source)? {
        Opened::Feed(feed) => vec![*feed],
        Opened::Archive(mut archive) => {
            let mut feeds = Vec::new();
            while let Some(member) = archive.next() {
                let feed = of_member(&archive, member, &form);
                feeds.push(feed.map_err(|error| match error {
                    FeedError::Form { reason, .. } => reason,
                    FeedError::Read { source, .. } => format!("{name}: {source}"),
                })?);
            }
            feeds
        }
    };
    Ok(feeds.into_iter().flatten())
}

/// The reason why the rest of a file cannot be read.
fn broken(reason: &str) -> String {
    format!("the rest of the file cannot be read: {reason}")
}

/// The error of a file.
fn failed(path: &Path) -> impl Fn(io::Error) -> FeedError {
    |source| FeedError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
