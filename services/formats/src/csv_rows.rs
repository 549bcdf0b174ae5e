//! Reading CSV with a header.
//!
//! A record is a line, or the lines over which its quoted fields extend; `record` has the rule for
//! fields. A record that breaks the rule costs its first line only, which is rejected: the lines
//! after it are read again, each as the beginning of a record. So is a record of several lines
//! that has not exactly as many fields as the header: a quotation mark that is left open has
//! swallowed lines. This takes no more memory than the longest record may have.
//!
//! Lines after a broken record may be rows, or the rest of its text. They are read with care up to
//! the first row behind the place where the record broke: those that have neither as many fields as
//! the header nor as the row before are rejected, as well as one that seems to have the closing
//! quotation mark of the text.
//!
//! A line with nothing but blanks and delimiters is blank. Otherwise a row of one line may have fewer
//! fields than the header, but at least two: spreadsheets leave empty cells at the end out. It may
//! have more if these are empty. A file whose last line has no line end and is the first one with
//! fewer fields ends within a record.

use std::io::{self, BufRead};

use memchr::memmem;
use serde_json::Value;

use super::columns::Columns;
use super::lines::{Line, Lines, Outcome, too_long};
use super::{FeedLine, Row, RowForm, broken, encoding};

mod record;

pub(super) use record::Dialect;
use record::{MAX_COLUMNS, Record, Stray};

/// The rows of a CSV file.
pub(super) struct CsvRows<R> {
    lines: Lines<R>,
    dialect: Dialect,
    form: RowForm,
    columns: Columns,
    record: Record,
    care: Option<Care>,
    /// The line of a record that the end of the file broke, if no row was read since.
    unclosed: Option<u64>,
    /// The number of fields of the last row.
    fields: usize,
    /// Whether a row had fewer fields than the header.
    has_short: bool,
    /// Where and why the file ends before its header.
    broken: Option<FeedLine>,
}

/// What is remembered of a broken record.
#[derive(Clone, Copy, Debug)]
struct Care {
    /// Its first line, and the one in which it was found to be broken.
    first: u64,
    last: u64,
    /// The number of fields before the one that was open; `None` if it is not known which it was.
    column: Option<usize>,
}

/// The lines of a record.
#[derive(Clone, Copy, Debug)]
struct Extent {
    first: Line,
    last: Line,
    lines: u64,
    /// The number of fields that end in the first line.
    column: usize,
}

impl Extent {
    fn first_line(self) -> Self {
        Self {
            last: self.first,
            lines: 1,
            ..self
        }
    }
}

/// What begins at a line.
enum Begins {
    End,
    Blank(Line),
    Record(Extent),
    Broken(Extent, Fault),
    TooLong,
}

/// How a record breaks the rule for quotation marks.
enum Fault {
    Stray(Stray),
    /// It is open at the end of the file.
    Unclosed,
    /// It is open where the record is as long as one may be.
    TooLong,
}

/// What becomes of a record.
enum Verdict {
    Row,
    /// It is rejected.
    Bad(String),
    /// Its first line is rejected, and the others are read again.
    BadLine(String),
    /// The file ends in it.
    Broken(String),
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header, unless the names of the columns are given.
    ///
    /// # Errors
    /// What is wrong with the header.
    pub(super) fn new(source: R, dialect: Dialect, form: RowForm) -> Result<Self, String> {
        let mut rows = Self::before_header(source, dialect, form);
        let skipped = rows.skip_lines();
        if let Err(error) = skipped {
            rows.broken = Some(rows.failed(&error));
        }
        rows.columns = match &rows.form.columns {
            Some(columns) => Columns::named(columns),
            None => Columns::of_header(rows.read_header()?, |_| String::new()),
        };
        rows.fields = rows.columns.len();
        Ok(rows)
    }

    fn before_header(source: R, dialect: Dialect, form: RowForm) -> Self {
        Self {
            lines: Lines::new(source, form.max_bytes),
            dialect,
            form,
            columns: Columns::default(),
            record: Record::default(),
            care: None,
            unclosed: None,
            fields: 0,
            has_short: false,
            broken: None,
        }
    }

    /// Skips the lines before the header, whatever is in them.
    fn skip_lines(&mut self) -> io::Result<()> {
        for _ in 0..self.form.skip {
            match self.lines.find(0)? {
                Outcome::End => break,
                Outcome::Line(line) => self.lines.consume(line.next, 1),
                Outcome::TooLong => drop(self.lines.skip()?),
            }
        }
        Ok(())
    }

    fn read_header(&mut self) -> Result<Vec<String>, String> {
        let wrong = |reason: String| format!("the header {reason}");
        loop {
            match self.look() {
                Ok(Begins::Blank(line)) => self.lines.consume(line.next, 1),
                Ok(Begins::Record(_)) if self.record.fields.len() > MAX_COLUMNS => {
                    return Err(wrong(format!("has more than {MAX_COLUMNS} columns")));
                }
                Ok(Begins::Record(extent)) => {
                    let header = self.texts(extent).map_err(wrong);
                    self.lines.consume(extent.last.next, extent.lines);
                    return header;
                }
                Ok(Begins::Broken(extent, fault)) => {
                    return Err(wrong(self.reason(&fault, extent)));
                }
                Ok(Begins::TooLong) => {
                    let max_bytes = self.lines.max_bytes();
                    return Err(wrong(format!("is longer than {max_bytes} bytes")));
                }
                Ok(Begins::End) => return Ok(Vec::new()),
                // A file that is cut off here is incomplete like one that is cut off later.
                Err(error) => {
                    self.broken = Some(self.failed(&error));
                    return Ok(Vec::new());
                }
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        if let Some(broken) = self.broken.take() {
            return Some(broken);
        }
        let number = self.lines.number() + 1;
        let read = self.look().and_then(|begins| self.read(begins, number));
        let (bytes, row) = match read {
            Ok(read) => read?,
            Err(error) => return Some(self.failed(&error)),
        };
        Some(FeedLine::new(number, bytes, row))
    }

    fn failed(&self, error: &io::Error) -> FeedLine {
        let row = Row::Broken(broken(&error.to_string()));
        FeedLine::new(self.lines.number() + 1, 0, row)
    }

    /// Looks at the record that begins here.
    fn look(&mut self) -> io::Result<Begins> {
        self.record.clear();
        let mut extent: Option<Extent> = None;
        loop {
            let start = extent.map_or(0, |extent| extent.last.next);
            let line = match (self.lines.find(start)?, extent) {
                (Outcome::Line(line), _) => line,
                (Outcome::End, None) => return Ok(Begins::End),
                (Outcome::TooLong, None) => return Ok(Begins::TooLong),
                (Outcome::End, Some(extent)) => return Ok(Begins::Broken(extent, Fault::Unclosed)),
                (Outcome::TooLong, Some(extent)) => {
                    return Ok(Begins::Broken(extent, Fault::TooLong));
                }
            };
            let text = self.lines.text(line.end);
            if extent.is_none() && self.dialect.is_nothing(text) {
                return Ok(Begins::Blank(line));
            }
            let read = self.record.read(text, self.dialect);
            let (first, lines, column) = match extent {
                None => (line, 0, self.record.fields.len()),
                Some(extent) => (extent.first, extent.lines, extent.column),
            };
            let read_so_far = Extent {
                first,
                last: line,
                lines: lines + 1,
                column,
            };
            match read {
                Ok(true) => return Ok(Begins::Record(read_so_far)),
                Ok(false) => extent = Some(read_so_far),
                Err(stray) => return Ok(Begins::Broken(read_so_far, Fault::Stray(stray))),
            }
        }
    }

    /// Consumes what begins here; returns its length and what it is.
    fn read(&mut self, begins: Begins, number: u64) -> io::Result<Option<(usize, Row)>> {
        Ok(Some(match begins {
            Begins::End => {
                let first = self.unclosed.take();
                return Ok(first.map(|first| (0, Row::Broken(ends_inside(first)))));
            }
            Begins::Blank(line) => {
                self.lines.consume(line.next, 1);
                (0, Row::Blank)
            }
            Begins::TooLong => {
                let bytes = self.skip_long(number)?;
                let reason = too_long(bytes, self.lines.max_bytes());
                (bytes, Row::Unreadable(reason))
            }
            Begins::Broken(extent, fault) => {
                (extent.first.end, self.broken(extent, &fault, number))
            }
            Begins::Record(extent) => self.judged(extent, number),
        }))
    }

    /// Remembers that a record of so many lines is broken.
    fn take_care(&mut self, first: u64, lines: u64, column: Option<usize>) {
        let last = first + lines - 1;
        let before = self.care.map_or(0, |care| care.last);
        self.care = Some(Care {
            first,
            last: last.max(before),
            column,
        });
    }

    /// Consumes a line that is too long. What follows it may be the rest of its text.
    fn skip_long(&mut self, number: u64) -> io::Result<usize> {
        let beginning = self.lines.text(self.lines.max_bytes());
        if self.record.read(beginning, self.dialect) == Ok(false) {
            self.take_care(number, 1, Some(self.record.fields.len()));
        }
        self.lines.skip()
    }

    /// Consumes the first line of a record that breaks the rule for quotation marks.
    fn broken(&mut self, extent: Extent, fault: &Fault, number: u64) -> Row {
        let reason = self.reason(fault, extent);
        self.take_care(number, extent.lines, Some(extent.column));
        self.lines.consume(extent.first.next, 1);
        // If the file cannot be read on, this is said next.
        if !matches!(fault, Fault::Unclosed) || self.lines.has_failed() {
            return Row::Unreadable(reason);
        }
        if extent.lines == 1 {
            return Row::Broken(ends_inside(number));
        }
        self.unclosed = Some(number);
        Row::Unreadable(reason)
    }

    /// Consumes a record; returns its length and what it is.
    fn judged(&mut self, extent: Extent, number: u64) -> (usize, Row) {
        let (row, consumed) = match self.verdict(extent, number) {
            Verdict::Row => (self.row(extent), extent),
            Verdict::Bad(reason) => (Row::Unreadable(reason), extent),
            Verdict::BadLine(reason) => (Row::Unreadable(reason), extent.first_line()),
            Verdict::Broken(reason) => (Row::Broken(reason), extent),
        };
        self.lines.consume(consumed.last.next, consumed.lines);
        (consumed.last.end, row)
    }

    fn verdict(&mut self, extent: Extent, number: u64) -> Verdict {
        let (found, expected) = (self.record.fields.len(), self.columns.len());
        if found != expected && extent.lines > 1 {
            self.take_care(number, extent.lines, None);
            let (count, last) = (wrong_count(found, expected), number + extent.lines - 1);
            return Verdict::BadLine(format!(
                "{count}, together with the lines up to {last} that a quotation mark joins"
            ));
        }
        if let Some(care) = self.care
            && let Some(reason) = self.doubt(care, extent, number)
        {
            return Verdict::Bad(reason);
        }
        let is_short = found < expected;
        let is_poor = is_short && found < 2;
        if is_short && !extent.last.has_end() && (is_poor || !self.has_short) {
            let count = wrong_count(found, expected);
            self.unclosed = None;
            return Verdict::Broken(format!("the file ends within line {number}, which {count}"));
        }
        if is_poor || self.has_more_values(extent) {
            return Verdict::Bad(wrong_count(found, expected));
        }
        self.has_short |= is_short;
        self.fields = found;
        self.unclosed = None;
        self.care = self.care.filter(|care| number <= care.last);
        Verdict::Row
    }

    /// Why a record after a broken one may be the rest of its text.
    fn doubt(&mut self, care: Care, extent: Extent, number: u64) -> Option<String> {
        let count = self.record.fields.len();
        let text = self.lines.text(extent.last.end);
        let mut fields = self.record.fields.iter().enumerate();
        // Before the place where the record broke, nothing can be what closes its text.
        let closes = number >= care.last
            && fields.any(|(at, field)| {
                care.column.is_none_or(|column| column == at) && field.seems_to_close(text)
            });
        let is_usual = count == self.columns.len() || count == self.fields;
        if is_usual && !closes {
            return None;
        }
        if closes {
            self.care = None;
        }
        let first = care.first;
        Some(format!(
            "seems to belong to the text that line {first} begins, whose quotation mark is not closed there"
        ))
    }

    /// Whether there are values beyond the last column.
    fn has_more_values(&self, extent: Extent) -> bool {
        let more = self.record.fields.get(self.columns.len()..);
        let text = self.lines.text(extent.last.end);
        more.is_some_and(|more| more.iter().any(|field| !field.is_blank(text)))
    }

    fn row(&self, extent: Extent) -> Row {
        let columns = self.columns.len();
        let missing = columns.saturating_sub(self.record.fields.len());
        let missing = std::iter::repeat_n(String::new(), missing);
        match self.texts(extent) {
            Ok(texts) => {
                let values = texts.into_iter().take(columns).chain(missing);
                let values = values.map(|text| Value::String(without_formula(text)));
                Row::Object(Value::Object(self.columns.row(values)))
            }
            Err(reason) => Row::Unreadable(reason),
        }
    }

    /// The texts of the fields of the record.
    fn texts(&self, extent: Extent) -> Result<Vec<String>, String> {
        let record = self.lines.text(extent.last.end);
        encoding::check(record, self.form.encoding)?;
        let record = std::str::from_utf8(record).unwrap_or_default();
        let fields = self.record.fields.iter();
        Ok(fields
            .map(|field| field.text(record, self.dialect))
            .collect())
    }

    fn reason(&self, fault: &Fault, extent: Extent) -> String {
        let at = match extent.lines {
            1 => String::new(),
            lines => format!(" in the {lines} lines from here on"),
        };
        let first = self.lines.text(extent.first.end);
        let has_escape = self.dialect.escape.is_none() && memmem::find(first, b"\\\"").is_some();
        let (what, is_escaped) = match fault {
            Fault::Stray(stray) => (STRAY, stray.is_escaped),
            Fault::Unclosed | Fault::TooLong => (UNCLOSED, has_escape),
        };
        let hint = if is_escaped { ESCAPE_HINT } else { "" };
        format!("{what}{at}{hint}")
    }
}

impl<'t> CsvRows<&'t [u8]> {
    fn of_sample(text: &'t [u8], dialect: Dialect) -> Self {
        Self::before_header(text, dialect, RowForm::default())
    }
}

const STRAY: &str =
    "has a quotation mark inside of a quoted field that is neither doubled nor at its end";
const UNCLOSED: &str = "has a quotation mark that is not closed";
const ESCAPE_HINT: &str =
    "; if backslashes escape quotation marks, `escape = \"\\\\\"` in the mapping says so";

fn ends_inside(line: u64) -> String {
    format!("the file ends within the quoted field that begins in line {line}")
}

/// The reason for rejecting a row with another number of fields than there are columns.
pub(super) fn wrong_count(found: usize, expected: usize) -> String {
    format!("has {found} fields where the header has {expected}")
}

/// The number of fields of the first record of a text.
pub(super) fn first_fields(text: &[u8], dialect: Dialect) -> usize {
    let mut rows = CsvRows::of_sample(text, dialect);
    while let Ok(begins) = rows.look() {
        match begins {
            Begins::Blank(line) => rows.lines.consume(line.next, 1),
            Begins::End => break,
            _ => return rows.record.fields.len(),
        }
    }
    0
}

/// The number of records of a text that break the rule for quotation marks.
pub(super) fn broken_records(text: &[u8], dialect: Dialect) -> usize {
    let mut rows = CsvRows::of_sample(text, dialect);
    let mut count = 0;
    while let Ok(begins) = rows.look() {
        match begins {
            Begins::Blank(line) => rows.lines.consume(line.next, 1),
            Begins::Record(extent) => rows.lines.consume(extent.last.next, extent.lines),
            Begins::Broken(extent, _) => {
                count += 1;
                rows.lines.consume(extent.first.next, 1);
            }
            Begins::End | Begins::TooLong => break,
        }
    }
    count
}

/// A text without the formula around it that keeps a spreadsheet from taking it for a number:
/// `="00123"` is 00123.
fn without_formula(text: String) -> String {
    let inside = text
        .strip_prefix("=\"")
        .and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(inside) if !inside.contains('"') => inside.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
