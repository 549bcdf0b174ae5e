//! CSV with a header.
//!
//! Records are found line by line here (quotation marks say whether a line end belongs to a
//! field), so that blank lines are counted, long records never fill the memory, and a quotation
//! mark that is never closed costs one record, not the rest of the file.

use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder};
use serde_json::{Map, Value};

use super::lines::{Lines, Outcome, too_long};
use super::{FeedLine, Row};

/// Rows of CSV.
pub(super) struct CsvRows<R> {
    lines: Lines<R>,
    delimiter: u8,
    header: Vec<String>,
    record: Vec<u8>,
}

/// A record as it stands in the file.
enum Found {
    Record,
    Blank,
    Bad(usize, String),
    Broken(String),
    End,
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn new(lines: Lines<R>, delimiter: u8) -> Result<Self, String> {
        let mut rows = Self {
            lines,
            delimiter,
            header: Vec::new(),
            record: Vec::new(),
        };
        rows.header = rows.read_header()?;
        Ok(rows)
    }

    fn read_header(&mut self) -> Result<Vec<String>, String> {
        loop {
            match self.find().1 {
                Found::Blank => {}
                Found::Record => break,
                Found::End => return Ok(Vec::new()),
                Found::Bad(_, reason) | Found::Broken(reason) => {
                    return Err(format!("the header {reason}"));
                }
            }
        }
        let header = fields(&self.record, self.delimiter)?;
        for (at, name) in header.iter().enumerate() {
            if header[..at].contains(name) {
                return Err(format!("two columns are called {name:?}"));
            }
        }
        Ok(header)
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        let (number, found) = self.find();
        let (bytes, row) = match found {
            Found::End => return None,
            Found::Blank => (0, Row::Blank),
            Found::Record => (self.record.len(), self.row()),
            Found::Bad(bytes, reason) => (bytes, Row::Unreadable(reason)),
            Found::Broken(reason) => (0, Row::Broken(reason)),
        };
        Some(FeedLine { number, bytes, row })
    }

    fn row(&self) -> Row {
        let fields = match fields(&self.record, self.delimiter) {
            Ok(fields) => fields,
            Err(reason) => return Row::Unreadable(reason),
        };
        if fields.len() != self.header.len() {
            let (found, expected) = (fields.len(), self.header.len());
            return Row::Unreadable(format!(
                "has {found} fields where the header has {expected}"
            ));
        }
        let pairs = self
            .header
            .iter()
            .cloned()
            .zip(fields.into_iter().map(Value::String));
        Row::Object(Value::Object(pairs.collect::<Map<_, _>>()))
    }

    /// Finds the next record, and the number of its first line.
    fn find(&mut self) -> (u64, Found) {
        self.record.clear();
        let mut quotes = Quotes::default();
        let mut first = None;
        loop {
            let start = self.record.len();
            let outcome = self.lines.append(&mut self.record);
            let number = *first.get_or_insert(self.lines.number());
            match outcome {
                Err(error) => {
                    return (
                        number,
                        Found::Broken(format!("the file cannot be read on: {error}")),
                    );
                }
                Ok(Outcome::End) if start == 0 => return (number, Found::End),
                Ok(Outcome::End) => return (number, Found::Bad(start, UNCLOSED.to_owned())),
                Ok(Outcome::TooLong(bytes)) => return (number, self.too_long(start + bytes)),
                Ok(Outcome::Line) => {}
            }
            if start == 0 && self.record.iter().all(u8::is_ascii_whitespace) {
                return (number, Found::Blank);
            }
            quotes.read(&self.record[start..], self.delimiter);
            if !quotes.open() {
                return (number, Found::Record);
            }
            if self.record.len() >= self.lines.most_bytes() {
                return (number, self.too_long(self.record.len()));
            }
            self.record.push(b'\n');
        }
    }

    fn too_long(&self, bytes: usize) -> Found {
        Found::Bad(bytes, too_long(bytes, self.lines.most_bytes()))
    }
}

const UNCLOSED: &str = "has a quotation mark that is never closed";

/// Whether the text read so far ends inside quotation marks.
#[derive(Clone, Copy, Debug, Default)]
enum Quotes {
    /// A field is about to begin.
    #[default]
    Before,
    /// In a field without quotation marks, where they mean nothing.
    Plain,
    /// Between quotation marks.
    Inside,
    /// Behind a quotation mark that may be the closing one.
    Closing,
}

impl Quotes {
    fn read(&mut self, line: &[u8], delimiter: u8) {
        for byte in line {
            *self = match (*self, *byte) {
                (Self::Inside, b'"') => Self::Closing,
                (Self::Before | Self::Closing, b'"') | (Self::Inside, _) => Self::Inside,
                (_, byte) if byte == delimiter => Self::Before,
                _ => Self::Plain,
            };
        }
    }

    fn open(self) -> bool {
        matches!(self, Self::Inside)
    }
}

/// The fields of one record.
fn fields(record: &[u8], delimiter: u8) -> Result<Vec<String>, String> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .buffer_capacity(record.len() + 1)
        .from_reader(record);
    let mut fields = ByteRecord::new();
    let read = reader.read_byte_record(&mut fields);
    read.map_err(|error| format!("is no CSV: {error}"))?;
    fields
        .iter()
        .map(|field| std::str::from_utf8(field).map(str::to_owned))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("is not UTF-8: {error}"))
}
