//! Reading rows of spreadsheets: Excel (xlsx) and `OpenDocument` (ods).
//!
//! The cells of xlsx are streamed; in memory are the texts that cells share. An ods is read as a
//! whole. So there are bounds for the size of what is held.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use calamine::{Data, DataRef, Ods, Reader, Xlsx};
use serde_json::{Map, Number, Value};
use zip::ZipArchive;

use super::background::{Background, Sink, Unread};
use super::lines::too_long;
use super::{Row, RowForm};

/// The maximum size of the texts that the cells of a spreadsheet share.
const MAX_SHARED_BYTES: u64 = 256 * 1024 * 1024;
/// The maximum size of a spreadsheet that is read as a whole, unpacked.
const MAX_WHOLE_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum number of columns, which is that of Excel.
const MAX_COLUMNS: usize = 16_384;

/// The kinds of spreadsheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Xlsx,
    Ods,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Xlsx => "Excel",
            Self::Ods => "OpenDocument",
        }
    }

    /// The parts that are held in memory, and how large they may be together.
    fn held(self) -> (&'static [&'static str], u64) {
        match self {
            Self::Xlsx => (&["xl/sharedStrings.xml", "xl/styles.xml"], MAX_SHARED_BYTES),
            Self::Ods => (&["content.xml", "meta.xml"], MAX_WHOLE_BYTES),
        }
    }
}

/// Checks that what would be held in memory is small enough. Sizes that a file states are not
/// trusted.
///
/// # Errors
/// What is too large.
fn check_size(file: &File, kind: Kind) -> Result<(), String> {
    let (parts, max_bytes) = kind.held();
    let failed = |error: &dyn std::fmt::Display| format!("it cannot be read: {error}");
    let too_large = |what: &str| {
        let mebibytes = max_bytes / (1024 * 1024);
        format!(
            "{what} is larger than {mebibytes} MiB, and would be held in memory; export it as CSV"
        )
    };
    let file = file.try_clone().map_err(|error| failed(&error))?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| failed(&error))?;
    let mut left = max_bytes;
    for part in parts {
        let Ok(entry) = zip.by_name(part) else {
            continue;
        };
        let read = io::copy(&mut entry.take(left + 1), &mut io::sink());
        // A damaged part is reported by those who read it.
        let read = read.unwrap_or_default();
        left = left.checked_sub(read).ok_or_else(|| too_large(part))?;
    }
    Ok(())
}

/// Starts to read the rows of a sheet.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn rows(
    file: File,
    kind: Kind,
    sheet: Option<String>,
    form: RowForm,
    read: Arc<AtomicU64>,
) -> Result<(Background, String), String> {
    check_size(&file, kind)?;
    let names = names(&file, kind)?;
    let name = match sheet {
        None => names.first().cloned(),
        Some(sheet) => names.iter().find(|name| **name == sheet).cloned(),
    };
    let name = name.ok_or_else(|| {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        format!("there is no such sheet; there are {}", names.join(", "))
    })?;
    let described = format!("{}, sheet {name:?}", kind.name());
    let started = Background::start(move |sink| {
        let mut table = Table {
            sink,
            form,
            header: Vec::new(),
            row: Vec::new(),
            number: 0,
        };
        match table.read(file, kind, &name, &read) {
            Ok(()) | Err(Ended::Unread) => {}
            Err(Ended::Broken(reason)) => table.sink.broken(&reason),
        }
    });
    let started = started.map_err(|error| error.to_string())?;
    Ok((started, described))
}

fn names(file: &File, kind: Kind) -> Result<Vec<String>, String> {
    let open = || file.try_clone().map(BufReader::new);
    let failed = |error: &dyn std::fmt::Display| format!("it cannot be read: {error}");
    let file = open().map_err(|error| failed(&error))?;
    Ok(match kind {
        Kind::Xlsx => Xlsx::new(file)
            .map_err(|error| failed(&error))?
            .sheet_names(),
        Kind::Ods => Ods::new(file)
            .map_err(|error| failed(&error))?
            .sheet_names(),
    })
}

/// Why the rows of a sheet end early.
enum Ended {
    Unread,
    Broken(String),
}

impl From<Unread> for Ended {
    fn from(_: Unread) -> Self {
        Self::Unread
    }
}

fn broken(error: impl std::fmt::Display) -> Ended {
    Ended::Broken(error.to_string())
}

/// The rows of a sheet, made of its cells.
struct Table<'s> {
    sink: &'s mut Sink,
    form: RowForm,
    header: Vec<String>,
    row: Vec<Value>,
    /// The number of the row, from 1; 0 before the first.
    number: u64,
}

impl Table<'_> {
    fn read(
        &mut self,
        file: File,
        kind: Kind,
        name: &str,
        read: &Arc<AtomicU64>,
    ) -> Result<(), Ended> {
        let size = file.metadata().map_err(broken)?.len();
        let file = BufReader::new(file);
        if let Some(columns) = self.form.columns.clone() {
            self.header = columns;
        }
        match kind {
            Kind::Xlsx => {
                let mut book: Xlsx<_> = Xlsx::new(file).map_err(broken)?;
                let mut cells = book.worksheet_cells_reader(name).map_err(broken)?;
                while let Some(cell) = cells.next_cell().map_err(broken)? {
                    self.cell(cell.get_position(), shared(cell.get_value()))?;
                }
            }
            Kind::Ods => {
                let mut book: Ods<_> = Ods::new(file).map_err(broken)?;
                self.range(&book.worksheet_range(name).map_err(broken)?)?;
            }
        }
        self.end_of_row()?;
        read.store(size, Ordering::Relaxed);
        Ok(())
    }

    fn range(&mut self, range: &calamine::Range<Data>) -> Result<(), Ended> {
        let (first_row, first_column) = range.start().unwrap_or_default();
        for (row, column, data) in range.used_cells() {
            let row = first_row.saturating_add(u32::try_from(row).unwrap_or(u32::MAX));
            let column = first_column.saturating_add(u32::try_from(column).unwrap_or(u32::MAX));
            self.cell((row, column), owned(data))?;
        }
        Ok(())
    }

    /// Adds a cell. Cells come row by row.
    fn cell(&mut self, (row, column): (u32, u32), value: Value) -> Result<(), Ended> {
        let number = u64::from(row) + 1;
        if number < self.number {
            return Err(Ended::Broken(format!("row {number} is in the wrong place")));
        }
        if number <= self.form.skip {
            return Ok(());
        }
        if number > self.number {
            self.end_of_row()?;
            self.number = number;
        }
        let column = column as usize;
        if column >= MAX_COLUMNS {
            return Err(Ended::Broken(format!("row {number} has too many columns")));
        }
        if value.is_null() {
            return Ok(());
        }
        if self.row.len() <= column {
            self.row.resize(column + 1, Value::Null);
        }
        self.row[column] = value;
        Ok(())
    }

    /// Ends a row: the first one with cells is the header.
    fn end_of_row(&mut self) -> Result<(), Ended> {
        let row = std::mem::take(&mut self.row);
        if row.is_empty() {
            return Ok(());
        }
        if self.header.is_empty() {
            self.header = header(row).map_err(Ended::Broken)?;
            self.sink.start_after(self.number);
            return Ok(());
        }
        let bytes: usize = row.iter().map(length).sum();
        let row = if bytes > self.form.max_bytes {
            Row::Unreadable(too_long(bytes, self.form.max_bytes))
        } else {
            Row::Object(Value::Object(self.object(row)))
        };
        self.sink.row(self.number, bytes, row)?;
        Ok(())
    }

    /// A row with the names of its columns. Columns without a name have their letters.
    fn object(&self, row: Vec<Value>) -> Map<String, Value> {
        let columns = self.header.len().max(row.len());
        let mut values = row.into_iter();
        let named = (0..columns).map(|at| {
            let name = self.header.get(at).cloned().unwrap_or_else(|| letters(at));
            (name, values.next().unwrap_or(Value::Null))
        });
        named.collect()
    }
}

/// The names of the columns.
///
/// # Errors
/// Two have the same.
fn header(row: Vec<Value>) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for (at, value) in row.into_iter().enumerate() {
        let name = match value {
            Value::Null => letters(at),
            Value::String(text) => text,
            other => other.to_string(),
        };
        if names.contains(&name) {
            return Err(format!("two columns have the name {name:?}"));
        }
        names.push(name);
    }
    Ok(names)
}

/// The letters of a column: A, B, …, Z, AA.
fn letters(column: usize) -> String {
    let mut letters = Vec::new();
    let mut left = column + 1;
    while left > 0 {
        let digit = u8::try_from((left - 1) % 26).unwrap_or_default();
        letters.push(char::from(b'A' + digit));
        left = (left - 1) / 26;
    }
    letters.iter().rev().collect()
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        _ => 8,
    }
}

/// The value of a cell that may share its text.
fn shared(data: &DataRef<'_>) -> Value {
    match data {
        DataRef::SharedString(text) => text_of(text),
        other => owned(&other.clone().into()),
    }
}

fn text_of(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        Value::String(text.to_owned())
    }
}

/// The value of a cell. Whole numbers are integers, dates are texts as RFC 3339 has them.
fn owned(data: &Data) -> Value {
    match data {
        Data::Empty => Value::Null,
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text_of(text),
        Data::Bool(value) => Value::Bool(*value),
        Data::Int(number) => Value::from(*number),
        Data::Float(number) => number_of(*number),
        Data::DateTime(date) if date.is_datetime() => {
            let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
            let day = format!("{year:04}-{month:02}-{day:02}");
            Value::String(match (hour, minute, second, milli) {
                (0, 0, 0, 0) => day,
                (_, _, _, 0) => format!("{day}T{hour:02}:{minute:02}:{second:02}Z"),
                _ => format!("{day}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"),
            })
        }
        Data::DateTime(duration) => number_of(duration.as_f64()),
        Data::Error(error) => Value::String(error.to_string()),
    }
}

/// A number as JSON has it. Spreadsheets have no integers; whole numbers are meant as such.
fn number_of(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole, and small enough"
        )]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
