//! Reading rows of spreadsheets: Excel (xlsx) and `OpenDocument` (ods).
//!
//! The cells are streamed. In memory are a row and, of xlsx, the texts that cells share and what
//! styles show: at most 256 MiB and 16 MiB.
//!
//! The first row that has cells is the header; [`columns`](super::columns) has the rules. A cell is
//! what a person sees: numbers have 15 digits, dates are `2026-05-31` or `2026-05-31T12:00:00Z`, times
//! and durations `14:30:00` and `36:00:00`, percentages `12.5%`, zeros that a number format puts before
//! a number are part of it, which is a text then. An error, a formula that nobody has computed, and a date that there is
//! not have no value, and are problems of their cell.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::background::{Background, Sink, Unread};
use super::columns::Columns;
use super::lines::too_long;
use super::{CellProblem, Row, RowForm};

mod cell;
mod ods;
mod package;
mod xlsx;

use cell::Cell;
pub(super) use package::Package;
use xlsx::Workbook;

/// The maximum number of columns and of rows, which are those of Excel.
const MAX_COLUMNS: usize = 16_384;
const MAX_ROWS: u64 = 1_048_576;
/// The maximum number of cells that stand there because a cell or a row says that it is repeated.
const MAX_REPEATED: u64 = 1_000_000;
/// The maximum number of sheets.
const MAX_SHEETS: usize = 10_000;

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
}

/// A sheet.
#[derive(Clone, Debug)]
struct SheetName {
    name: String,
    is_hidden: bool,
}

/// What a spreadsheet has.
enum Book {
    Xlsx(Workbook),
    Ods(Vec<SheetName>),
}

impl Book {
    fn open(package: &Package, kind: Kind) -> Result<Self, String> {
        Ok(match kind {
            Kind::Xlsx => Self::Xlsx(Workbook::open(package)?),
            Kind::Ods => Self::Ods(ods::sheets(package)?),
        })
    }

    fn sheets(&self) -> &[SheetName] {
        match self {
            Self::Xlsx(book) => &book.sheets,
            Self::Ods(sheets) => sheets,
        }
    }
}

/// The rows of a sheet.
pub(super) struct SheetRows {
    pub(super) rows: Background,
    /// How it is read.
    pub(super) described: String,
    /// The names of the sheets that are not hidden.
    pub(super) shown: Vec<String>,
}

/// Starts to read the rows of a sheet.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn rows(
    mut package: Package,
    kind: Kind,
    sheet: Option<&str>,
    form: RowForm,
    read: Arc<AtomicU64>,
    size: u64,
) -> Result<SheetRows, String> {
    let failed = |reason: String| format!("it cannot be read: {reason}");
    let book = Book::open(&package, kind).map_err(failed)?;
    let chosen = chosen(book.sheets(), sheet)?;
    let described = described(kind, book.sheets(), chosen, sheet.is_some());
    let shown = book.sheets().iter().filter(|sheet| !sheet.is_hidden);
    let shown = shown.map(|sheet| sheet.name.clone()).collect();
    let started = Background::start(move |sink| {
        package.count(&read);
        let mut table = Table::new(sink, form);
        let ended = match &book {
            Book::Xlsx(book) => book.read(&package, chosen, &mut table),
            Book::Ods(_) => ods::read(&package, chosen, &mut table),
        };
        match ended.and_then(|()| table.end_of_row()) {
            Ok(()) => read.store(size, Ordering::Relaxed),
            Err(Ended::Unread) => {}
            Err(Ended::Broken(reason)) => table.sink.broken(&reason),
        }
    });
    Ok(SheetRows {
        rows: started.map_err(|error| error.to_string())?,
        described,
        shown,
    })
}

/// The sheet of this name; without a name the first one that is not hidden.
fn chosen(sheets: &[SheetName], name: Option<&str>) -> Result<usize, String> {
    let found = if let Some(name) = name {
        sheets.iter().position(|sheet| sheet.name == name)
    } else {
        let shown = sheets.iter().position(|sheet| !sheet.is_hidden);
        shown.or((!sheets.is_empty()).then_some(0))
    };
    found.ok_or_else(|| format!("there is no such sheet; there are {}", named(sheets.iter())))
}

fn named<'s>(sheets: impl Iterator<Item = &'s SheetName>) -> String {
    let names: Vec<String> = sheets.map(|sheet| format!("{:?}", sheet.name)).collect();
    names.join(", ")
}

/// How it is read. If nobody has chosen the sheet, the others are named.
fn described(kind: Kind, sheets: &[SheetName], chosen: usize, is_named: bool) -> String {
    let mut described = format!("{}, sheet {:?}", kind.name(), sheets[chosen].name);
    if is_named {
        return described;
    }
    let others = |is_hidden| {
        let others = sheets.iter().enumerate().filter(|(at, _)| *at != chosen);
        named(
            others
                .map(|(_, sheet)| sheet)
                .filter(|sheet| sheet.is_hidden == is_hidden),
        )
    };
    for (what, names) in [("not read", others(false)), ("hidden", others(true))] {
        if !names.is_empty() {
            described = format!("{described}, {what}: {names}");
        }
    }
    described
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

impl From<String> for Ended {
    fn from(reason: String) -> Self {
        Self::Broken(reason)
    }
}

/// The rows of a sheet, made of its cells.
struct Table<'s> {
    sink: &'s mut Sink,
    form: RowForm,
    columns: Option<Columns>,
    row: Vec<Value>,
    problems: Vec<(usize, String)>,
    bytes: usize,
    /// Whether it has a cell behind the last column.
    is_too_wide: bool,
    /// The number of the row, from 1; 0 before the first.
    number: u64,
    repeated: u64,
}

impl<'s> Table<'s> {
    fn new(sink: &'s mut Sink, form: RowForm) -> Self {
        let columns = form.columns.as_deref();
        Self {
            columns: columns.map(|names| Columns::named(names).with_unnamed(letters)),
            sink,
            form,
            row: Vec::new(),
            problems: Vec::new(),
            bytes: 0,
            is_too_wide: false,
            number: 0,
            repeated: 0,
        }
    }

    /// Begins a row, which comes behind all before it.
    fn start_row(&mut self, number: u64) -> Result<(), Ended> {
        self.end_of_row()?;
        if number <= self.number {
            return Err(Ended::Broken(format!("row {number} is in the wrong place")));
        }
        // A row without cells may be anywhere.
        self.number = number;
        Ok(())
    }

    /// Adds a cell.
    fn cell(&mut self, column: usize, cell: Cell) {
        let is_empty = matches!(&cell, Cell::Value(Value::Null));
        if is_empty || self.number <= self.form.skip || self.bytes > self.form.max_bytes {
            return;
        }
        if column >= MAX_COLUMNS {
            self.is_too_wide = true;
            return;
        }
        let value = match cell {
            Cell::Value(value) => value,
            Cell::Problem(reason) => {
                self.problems.push((column, reason));
                Value::Null
            }
        };
        self.bytes += length(&value);
        if self.bytes > self.form.max_bytes {
            // What is known of it is not needed any more.
            self.row.clear();
            self.problems.clear();
            return;
        }
        if self.row.len() <= column {
            self.row.resize(column + 1, Value::Null);
        }
        self.row[column] = value;
    }

    /// Adds a cell that stands there so many times; returns the next column.
    fn cells(&mut self, column: usize, cell: &Cell, times: u64) -> Result<usize, Ended> {
        let next = column.saturating_add(usize::try_from(times).unwrap_or(usize::MAX));
        if *cell == Cell::Value(Value::Null) {
            return Ok(next);
        }
        // One behind the last column shows that the row is too wide.
        let end = next.min(MAX_COLUMNS + 1);
        self.take_repeated(end.saturating_sub(column + 1) as u64)?;
        for column in column..end {
            self.cell(column, cell.clone());
        }
        Ok(next)
    }

    /// Says that the row stands there so many times.
    fn repeat_row(&mut self, times: u64) -> Result<(), Ended> {
        if self.is_blank() {
            return Ok(());
        }
        let cells = self.row.len().max(1) as u64;
        let more = times - 1;
        self.take_repeated(cells.saturating_mul(more))?;
        for _ in 0..more {
            let (row, problems) = (self.row.clone(), self.problems.clone());
            let (bytes, is_too_wide) = (self.bytes, self.is_too_wide);
            self.end_of_row()?;
            self.number += 1;
            (self.row, self.problems) = (row, problems);
            (self.bytes, self.is_too_wide) = (bytes, is_too_wide);
        }
        Ok(())
    }

    fn take_repeated(&mut self, cells: u64) -> Result<(), Ended> {
        self.repeated = self.repeated.saturating_add(cells);
        if self.repeated <= MAX_REPEATED {
            return Ok(());
        }
        Err(Ended::Broken(format!(
            "more than {MAX_REPEATED} cells of the sheet are only said to be repeated"
        )))
    }

    fn is_blank(&self) -> bool {
        self.bytes == 0 && !self.is_too_wide && self.problems.is_empty()
    }

    /// Ends a row: the first one with cells is the header.
    fn end_of_row(&mut self) -> Result<(), Ended> {
        let (row, problems) = (
            std::mem::take(&mut self.row),
            std::mem::take(&mut self.problems),
        );
        let bytes = std::mem::take(&mut self.bytes);
        let is_too_wide = std::mem::take(&mut self.is_too_wide);
        if row.is_empty() && bytes == 0 && !is_too_wide {
            return Ok(());
        }
        if self.number > MAX_ROWS {
            let number = self.number;
            return Err(Ended::Broken(format!(
                "row {number} has cells, and a sheet has at most {MAX_ROWS} rows"
            )));
        }
        if bytes > self.form.max_bytes || is_too_wide {
            let reason = if is_too_wide {
                format!("has more than {MAX_COLUMNS} columns")
            } else {
                too_long(bytes, self.form.max_bytes)
            };
            self.sink.row(self.number, bytes, Row::Unreadable(reason))?;
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            let header = row.into_iter().map(name).collect();
            self.columns = Some(Columns::of_header(header, letters).with_unnamed(letters));
            self.sink.start_after(self.number);
            return Ok(());
        };
        let problems = problems.into_iter().map(|(column, reason)| CellProblem {
            column: columns.name(column),
            cell: format!("{}{}", letters(column), self.number),
            reason,
        });
        let problems = problems.collect();
        let row = Row::Object(Value::Object(columns.row(row.into_iter())));
        self.sink.row_with(self.number, bytes, row, problems)?;
        Ok(())
    }
}

/// The name that a cell of the header gives its column.
fn name(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
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

#[cfg(test)]
mod tests;
