//! Reading JSON Lines.

use std::io::BufRead;

use serde_json::Value;

use super::csv_rows::wrong_count;
use super::lines::{Lines, Outcome, too_long};
use super::{FeedLine, Row};

/// The rows of a JSON Lines file.
pub(super) struct JsonRows<R> {
    lines: Lines<R>,
    columns: Option<Vec<String>>,
    buffer: Vec<u8>,
}

impl<R: BufRead> JsonRows<R> {
    pub(super) fn new(lines: Lines<R>, columns: Option<Vec<String>>) -> Self {
        Self {
            lines,
            columns,
            buffer: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        self.buffer.clear();
        let outcome = self.lines.append(&mut self.buffer);
        let (bytes, row) = match outcome {
            Ok(Outcome::End) => return None,
            Ok(Outcome::Line) => (
                self.buffer.len(),
                row(&self.buffer, self.columns.as_deref()),
            ),
            Ok(Outcome::TooLong(bytes)) => {
                let reason = too_long(bytes, self.lines.max_bytes());
                (bytes, Row::Unreadable(reason))
            }
            Err(error) => (
                0,
                Row::Broken(format!("the rest of the file cannot be read: {error}")),
            ),
        };
        Some(FeedLine {
            number: self.lines.number(),
            bytes,
            row,
        })
    }
}

fn row(line: &[u8], columns: Option<&[String]>) -> Row {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Row::Blank;
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(object @ Value::Object(_)) => Row::Object(object),
        Ok(Value::Array(items)) => match columns {
            Some(columns) => of_list(items, columns),
            None => Row::Unreadable(
                "is JSON, but not an object; for lists `columns` in the mapping names the items"
                    .to_owned(),
            ),
        },
        Ok(_) => Row::Unreadable("is JSON, but not an object".to_owned()),
        Err(error) => Row::Unreadable(reason(&error)),
    }
}

/// A row that is a list, with the names of its items.
fn of_list(items: Vec<Value>, columns: &[String]) -> Row {
    if items.len() != columns.len() {
        return Row::Unreadable(wrong_count(items.len(), columns.len()));
    }
    Row::Object(columns.iter().cloned().zip(items).collect())
}

/// The library counts lines within the line, so only the column is useful.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("is not JSON: {what} at byte {}", error.column())
}
