//! Reading CSV with a header.
//!
//! Records are assembled line by line (quotation marks decide whether a line end belongs to a
//! field), so that blank lines are counted, long records do not fill the memory, and an unclosed
//! quotation mark costs one record, not the rest of the file.

use std::io::BufRead;

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use super::lines::{Lines, Outcome, too_long};
use super::{FeedLine, Row, RowForm, broken, encoding};

/// The rows of a CSV file.
pub(super) struct CsvRows<R> {
    lines: Lines<R>,
    delimiter: u8,
    form: RowForm,
    header: Vec<String>,
    record: Vec<u8>,
    /// Where and why the file ends before its header.
    broken: Option<(u64, String)>,
}

/// The next record of the file.
enum CsvRecord {
    Record,
    Blank,
    Bad(usize, String),
    Broken(String),
    End,
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header, unless the names of the columns are given.
    ///
    /// # Errors
    /// What is wrong with the header.
    pub(super) fn new(source: R, delimiter: u8, form: RowForm) -> Result<Self, String> {
        let mut rows = Self {
            lines: Lines::new(source, form.max_bytes),
            delimiter,
            form,
            header: Vec::new(),
            record: Vec::new(),
            broken: None,
        };
        rows.skip_lines();
        rows.header = match &rows.form.columns {
            Some(columns) => columns.clone(),
            None => rows.read_header()?,
        };
        Ok(rows)
    }

    /// Skips the lines before the header, whatever is in them.
    fn skip_lines(&mut self) {
        for _ in 0..self.form.skip {
            self.record.clear();
            match self.lines.append(&mut self.record) {
                Ok(Outcome::End) => return,
                Ok(_) => {}
                Err(error) => {
                    self.broken = Some((self.lines.number(), broken(&error.to_string())));
                    return;
                }
            }
        }
    }

    fn read_header(&mut self) -> Result<Vec<String>, String> {
        loop {
            match self.next_record() {
                (_, CsvRecord::Blank) => {}
                (_, CsvRecord::Record) => break,
                (_, CsvRecord::End) => return Ok(Vec::new()),
                (_, CsvRecord::Bad(_, reason)) => return Err(format!("the header {reason}")),
                // A file that is cut off here is incomplete like one that is cut off later.
                (number, CsvRecord::Broken(reason)) => {
                    self.broken = Some((number, reason));
                    return Ok(Vec::new());
                }
            }
        }
        let header = self
            .fields()
            .map_err(|reason| format!("the header {reason}"))?;
        for (at, name) in header.iter().enumerate() {
            if header[..at].contains(name) {
                return Err(format!("two columns have the name {name:?}"));
            }
        }
        Ok(header)
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        let broken = self.broken.take();
        let broken = broken.map(|(number, reason)| (number, CsvRecord::Broken(reason)));
        let (number, record) = broken.unwrap_or_else(|| self.next_record());
        let (bytes, row) = match record {
            CsvRecord::End => return None,
            CsvRecord::Blank => (0, Row::Blank),
            CsvRecord::Record => (self.record.len(), self.row()),
            CsvRecord::Bad(bytes, reason) => (bytes, Row::Unreadable(reason)),
            CsvRecord::Broken(reason) => (0, Row::Broken(reason)),
        };
        Some(FeedLine { number, bytes, row })
    }

    fn row(&self) -> Row {
        let fields = match self.fields() {
            Ok(fields) => fields,
            Err(reason) => return Row::Unreadable(reason),
        };
        if fields.len() != self.header.len() {
            return Row::Unreadable(wrong_count(fields.len(), self.header.len()));
        }
        let pairs = self
            .header
            .iter()
            .cloned()
            .zip(fields.into_iter().map(Value::String));
        Row::Object(Value::Object(pairs.collect::<Map<_, _>>()))
    }

    /// Reads the next record; returns it with the number of its first line.
    fn next_record(&mut self) -> (u64, CsvRecord) {
        self.record.clear();
        let mut quotes = Quotes::default();
        let mut first = None;
        loop {
            let start = self.record.len();
            let outcome = self.lines.append(&mut self.record);
            let number = *first.get_or_insert(self.lines.number());
            match outcome {
                Err(error) => return (number, CsvRecord::Broken(broken(&error.to_string()))),
                Ok(Outcome::End) if start == 0 => return (number, CsvRecord::End),
                Ok(Outcome::End) => return (number, CsvRecord::Bad(start, UNCLOSED.to_owned())),
                Ok(Outcome::TooLong(bytes)) => return (number, self.too_long(start + bytes)),
                Ok(Outcome::Line) => {}
            }
            if start == 0 && self.record.iter().all(u8::is_ascii_whitespace) {
                return (number, CsvRecord::Blank);
            }
            quotes.read(&self.record[start..], self.delimiter);
            if !quotes.open() {
                return (number, CsvRecord::Record);
            }
            if self.record.len() >= self.lines.max_bytes() {
                return (number, self.too_long(self.record.len()));
            }
            self.record.push(b'\n');
        }
    }

    /// The fields of the record.
    fn fields(&self) -> Result<Vec<String>, String> {
        encoding::check(&self.record, self.form.encoding)?;
        fields(&self.record, self.delimiter)
    }

    fn too_long(&self, bytes: usize) -> CsvRecord {
        CsvRecord::Bad(bytes, too_long(bytes, self.lines.max_bytes()))
    }
}

/// The reason for rejecting a row with another number of fields than there are columns.
pub(super) fn wrong_count(found: usize, expected: usize) -> String {
    format!("has {found} fields where the header has {expected}")
}

const UNCLOSED: &str = "has an unclosed quotation mark";

/// The state of the text read so far with respect to quotation marks.
#[derive(Clone, Copy, Debug, Default)]
enum Quotes {
    /// At the start of a field.
    #[default]
    Before,
    /// In an unquoted field, where quotation marks have no meaning.
    Plain,
    /// Between quotation marks.
    Inside,
    /// After a quotation mark that may be the closing one.
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

/// Returns the fields of a record.
fn fields(record: &[u8], delimiter: u8) -> Result<Vec<String>, String> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .buffer_capacity(record.len() + 1)
        .from_reader(record);
    let mut fields = StringRecord::new();
    let read = reader.read_record(&mut fields);
    read.map_err(|error| format!("is not CSV: {error}"))?;
    Ok(fields.iter().map(str::to_owned).collect())
}
