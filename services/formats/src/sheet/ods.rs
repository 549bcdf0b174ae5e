//! Spreadsheets of `OpenDocument`.

use std::collections::HashSet;

use quick_xml::events::{BytesStart, Event};
use serde_json::Value;

use super::cell::{self, Cell, Shown};
use super::package::{Package, Part, add_text, attribute, ended, local};
use super::{Ended, SheetName, Table};

/// The part that has the sheets.
const CONTENT: &str = "content.xml";
/// The maximum length of the text of a cell.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// The names of the sheets.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn sheets(package: &Package) -> Result<Vec<SheetName>, String> {
    check_password(package)?;
    let mut part = content(package)?;
    let (mut sheets, mut buffer) = (Vec::new(), Vec::new());
    let (mut hidden, mut style) = (HashSet::new(), String::new());
    loop {
        match part.next(&mut buffer)? {
            Event::Start(tag) => match local(&tag) {
                "style" => style = attribute(&tag, "name").unwrap_or_default(),
                "table-properties" if attribute(&tag, "display").as_deref() == Some("false") => {
                    hidden.insert(style.clone());
                }
                "table" => {
                    let style = attribute(&tag, "style-name").unwrap_or_default();
                    sheets.push(SheetName {
                        name: attribute(&tag, "name").unwrap_or_default(),
                        is_hidden: hidden.contains(&style),
                    });
                }
                _ => {}
            },
            Event::Eof => return Ok(sheets),
            _ => {}
        }
        if sheets.len().max(hidden.len()) > super::MAX_SHEETS {
            return Err(format!("it has more than {} sheets", super::MAX_SHEETS));
        }
    }
}

fn content(package: &Package) -> Result<Part, String> {
    let part = package.part(CONTENT, u64::MAX)?;
    part.ok_or_else(|| format!("it has no part {CONTENT:?}"))
}

fn check_password(package: &Package) -> Result<(), String> {
    const MAX_BYTES: u64 = 16 * 1024 * 1024;
    let Some(mut part) = package.part("META-INF/manifest.xml", MAX_BYTES)? else {
        return Ok(());
    };
    let mut buffer = Vec::new();
    loop {
        match part.next(&mut buffer)? {
            Event::Start(tag) if local(&tag) == "encryption-data" => {
                return Err("it has a password; save it without one".to_owned());
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Reads the cells of a sheet.
pub(super) fn read(package: &Package, sheet: usize, table: &mut Table<'_>) -> Result<(), Ended> {
    let mut part = content(package)?;
    let (mut buffer, mut seen, mut row, mut column) = (Vec::new(), 0, 1, 0);
    // The number of times that the row stands there.
    let mut times = 1;
    loop {
        match part.next(&mut buffer)? {
            Event::Start(tag) if local(&tag) == "table" => seen += 1,
            Event::Start(tag) if seen == sheet + 1 => match local(&tag) {
                "table-row" => {
                    times = repeated(&tag, "number-rows-repeated");
                    column = 0;
                    table.start_row(row)?;
                }
                "table-cell" | "covered-table-cell" => {
                    let count = repeated(&tag, "number-columns-repeated");
                    let tag = Tag::of(&tag);
                    let cell = tag.cell(&mut part)?;
                    column = table.cells(column, &cell, count)?;
                }
                _ => {}
            },
            Event::End(tag) if ended(&tag) == "table-row" && seen == sheet + 1 => {
                table.repeat_row(times)?;
                row = row.saturating_add(times);
            }
            Event::End(tag) if ended(&tag) == "table" && seen == sheet + 1 => return Ok(()),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn repeated(tag: &BytesStart<'_>, name: &str) -> u64 {
    let times = attribute(tag, name).and_then(|times| times.parse().ok());
    times.unwrap_or(1).max(1)
}

/// What the tag of a cell says.
#[derive(Default)]
struct Tag {
    kind: String,
    value: Option<String>,
    is_error: bool,
    is_formula: bool,
}

impl Tag {
    fn of(tag: &BytesStart<'_>) -> Self {
        let mut found = Self::default();
        for attribute in tag.attributes().with_checks(false).flatten() {
            let key: &str = attribute.key.as_ref();
            let (prefix, name) = key.split_once(':').unwrap_or(("", key));
            let value = quick_xml::escape::unescape(&attribute.value);
            let value = value.map(std::borrow::Cow::into_owned).unwrap_or_default();
            match name {
                "value-type" if prefix == "calcext" => found.is_error |= value == "error",
                "value-type" => found.kind = value,
                "value" | "string-value" | "date-value" | "time-value" | "boolean-value" => {
                    found.value = Some(value);
                }
                "formula" => found.is_formula = true,
                _ => {}
            }
        }
        found
    }

    /// Reads the content of a cell.
    fn cell(self, part: &mut Part) -> Result<Cell, String> {
        let text = text(part)?;
        if self.is_error || (self.is_formula && cell::is_error(&text)) {
            return Ok(Cell::error(&text));
        }
        if self.is_formula && self.value.is_none() && text.is_empty() {
            return Ok(if self.kind == "string" {
                Cell::Value(Value::Null)
            } else {
                Cell::uncomputed()
            });
        }
        let written = self.value.unwrap_or_default();
        Ok(match self.kind.as_str() {
            // Zeros that a format shows before a number.
            "float" if is_padded(&text, &written) => Cell::text(text),
            "float" | "currency" => number(&written, Shown::Number),
            "percentage" => number(&written, Shown::Percent),
            "date" if written.contains('T') && !written.ends_with('Z') => Cell::text(written + "Z"),
            "date" => Cell::text(written),
            "time" => Cell::text(cell::of_iso(&written).unwrap_or(written)),
            "boolean" => Cell::Value(Value::Bool(written == "true")),
            _ if written.is_empty() => Cell::text(text),
            _ => Cell::text(written),
        })
    }
}

fn number(written: &str, shown: Shown) -> Cell {
    let number = cell::number(written, shown, false);
    number.unwrap_or_else(|| Cell::Problem(format!("is {written:?}, which is no number")))
}

/// Whether a text is a whole number with zeros before it.
fn is_padded(text: &str, number: &str) -> bool {
    let is_code = text.len() > 1 && text.bytes().all(|sign| sign.is_ascii_digit());
    is_code
        && text.starts_with('0')
        && text.trim_start_matches('0') == number.trim_start_matches('0')
}

/// Reads the text of a cell: its paragraphs as lines, without notes and drawings.
fn text(part: &mut Part) -> Result<String, String> {
    let (mut buffer, mut text, mut depth) = (Vec::new(), String::new(), 1);
    let (mut paragraphs, mut in_paragraph) = (0, 0);
    // The depth of a note or a drawing.
    let mut left_out = None;
    while depth > 0 {
        let event = part.next(&mut buffer)?;
        match &event {
            Event::Start(tag) => {
                depth += 1;
                let name = local(tag);
                let is_drawing = tag.starts_with("draw:") || name == "annotation";
                if is_drawing && left_out.is_none() {
                    left_out = Some(depth);
                }
                if left_out.is_some() {
                    continue;
                }
                match name {
                    "p" | "h" => {
                        text.extend((paragraphs > 0).then_some('\n'));
                        paragraphs += 1;
                        in_paragraph = depth;
                    }
                    "s" => {
                        let count = repeated(tag, "c");
                        let count = usize::try_from(count).unwrap_or(usize::MAX);
                        text.extend(std::iter::repeat_n(' ', count.min(MAX_TEXT_BYTES)));
                    }
                    "tab" => text.push('\t'),
                    "line-break" => text.push('\n'),
                    _ => {}
                }
            }
            Event::End(_) => {
                left_out = left_out.filter(|left_out| *left_out != depth);
                in_paragraph = if in_paragraph == depth {
                    0
                } else {
                    in_paragraph
                };
                depth -= 1;
            }
            Event::Eof => break,
            // White space between the elements of a cell is no text.
            event if in_paragraph > 0 && left_out.is_none() => add_text(&mut text, event)?,
            _ => {}
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!(
                "a cell has a text of more than {MAX_TEXT_BYTES} bytes"
            ));
        }
    }
    Ok(text)
}
