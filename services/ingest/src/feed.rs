//! Reading rows of files: JSON Lines or CSV, plain or gzipped. Memory does not grow with the file.
//!
//! An unreadable line is returned with the reason, and the following lines are read. Only the rest
//! of a damaged file, such as a truncated gzip, cannot be read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::mapping::{FeedForm, Format};

mod csv_rows;
mod json_rows;
mod lines;

use csv_rows::CsvRows;
use json_rows::JsonRows;
use lines::Lines;

/// The maximum length of a line, or CSV record, in bytes; longer ones are rejected without being
/// held in memory.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// One line of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedLine {
    /// Its number in the file, from 1; the number of the first line of a CSV record.
    pub number: u64,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its content.
    pub row: Row,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Nothing.
    Blank,
    /// An object.
    Object(Value),
    /// It is not valid, for this reason.
    Unreadable(String),
    /// The rest of the file cannot be read, for this reason. The last line.
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

/// A feed: an iterator over the lines of a file.
pub struct Feed {
    rows: Rows,
    read: Arc<AtomicU64>,
    size: u64,
}

enum Rows {
    Json(JsonRows<Box<dyn BufRead + Send>>),
    Csv(CsvRows<Box<dyn BufRead + Send>>),
}

impl Feed {
    /// Opens a file.
    ///
    /// # Errors
    /// [`FeedError`] if it cannot be opened or has another format.
    pub fn open(path: &Path, form: &FeedForm) -> Result<Self, FeedError> {
        let failed = |source| FeedError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let read = Arc::new(AtomicU64::new(0));
        let reader = CountingReader {
            file,
            read: Arc::clone(&read),
        };
        let source = unpacked(reader).map_err(failed)?;
        let rows = rows(source, form, MAX_LINE_BYTES);
        let rows = rows.map_err(|reason| FeedError::Form {
            path: path.to_owned(),
            reason,
        })?;
        Ok(Self { rows, read, size })
    }

    /// The number of bytes of the file read so far, and its size.
    #[must_use]
    pub fn position(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed), self.size)
    }
}

impl Iterator for Feed {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        self.rows.next()
    }
}

impl Iterator for Rows {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        match self {
            Self::Json(rows) => rows.next(),
            Self::Csv(rows) => rows.next(),
        }
    }
}

/// Reads lines of bytes, plain or gzipped.
///
/// # Errors
/// If they have another format.
pub(crate) fn read(
    bytes: Cursor<Vec<u8>>,
    form: &FeedForm,
) -> Result<impl Iterator<Item = FeedLine> + use<>, String> {
    let source = unpacked(bytes).map_err(|error| error.to_string())?;
    rows(source, form, MAX_LINE_BYTES)
}

/// A file that counts the bytes read.
struct CountingReader {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Returns the bytes of a file, unpacked if it starts with the magic number of gzip, whatever its
/// name.
fn unpacked(file: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    if reader.fill_buf()?.starts_with(&GZIP) {
        let unpacked = MultiGzDecoder::new(reader);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)));
    }
    Ok(Box::new(reader))
}

fn rows(
    mut source: Box<dyn BufRead + Send>,
    form: &FeedForm,
    max_bytes: usize,
) -> Result<Rows, String> {
    let beginning = source.fill_buf().unwrap_or_default();
    if beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]) {
        return Err("the text is UTF-16; convert it to UTF-8 first".to_owned());
    }
    if beginning.starts_with("\u{feff}".as_bytes()) {
        source.consume(3);
    }
    let csv = match form.format {
        Format::Csv => true,
        Format::JsonLines => false,
        Format::Auto => !looks_like_json(source.fill_buf().unwrap_or_default()),
    };
    let lines = Lines::new(source, max_bytes);
    if csv {
        CsvRows::new(lines, form.delimiter, form.columns.clone()).map(Rows::Csv)
    } else {
        Ok(Rows::Json(JsonRows::new(lines, form.columns.clone())))
    }
}

fn looks_like_json(beginning: &[u8]) -> bool {
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[') | None)
}

#[cfg(test)]
mod tests;
