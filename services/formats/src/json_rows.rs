//! Reading JSON Lines.

use std::io::{self, BufRead};

use encoding_rs::Encoding;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::csv_rows::wrong_count;
use super::json_value::Unambiguous;
use super::lines::{Lines, Outcome, too_long};
use super::{FeedLine, Row, RowForm, broken, encoding};

/// The rows of a JSON Lines file.
pub(super) struct JsonRows<R> {
    lines: Lines<R>,
    form: RowForm,
}

impl<R: BufRead> JsonRows<R> {
    pub(super) fn new(source: R, form: RowForm) -> Self {
        Self {
            lines: Lines::new(source, form.max_bytes),
            form,
        }
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        let number = self.lines.number() + 1;
        let (bytes, row) = match self.read() {
            Ok(read) => read?,
            Err(error) => (0, Row::Broken(broken(&error.to_string()))),
        };
        Some(FeedLine::new(number, bytes, row))
    }

    fn read(&mut self) -> io::Result<Option<(usize, Row)>> {
        let line = match self.lines.find(0)? {
            Outcome::End => return Ok(None),
            Outcome::Line(line) => line,
            Outcome::TooLong => {
                let bytes = self.lines.skip()?;
                let reason = too_long(bytes, self.lines.max_bytes());
                return Ok(Some((bytes, Row::Unreadable(reason))));
            }
        };
        let text = self.lines.text(line.end);
        let columns = self.form.columns.as_deref();
        let mut row = row(text, columns, self.form.encoding);
        if let Row::Unreadable(reason) = &row
            && !line.has_end()
            && is_cut_off(text)
        {
            row = Row::Broken(format!(
                "the file ends within its last line, which {reason}"
            ));
        }
        self.lines.consume(line.next, 1);
        Ok(Some((line.end, row)))
    }
}

/// Whether a text is the beginning of a JSON text.
fn is_cut_off(text: &[u8]) -> bool {
    let read = serde_json::from_slice::<IgnoredAny>(text);
    read.is_err_and(|error| error.is_eof())
}

/// The row of a text that is JSON.
pub(super) fn row(line: &[u8], columns: Option<&[String]>, encoding: &'static Encoding) -> Row {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Row::Blank;
    }
    match serde_json::from_slice(line).map(|Unambiguous(value)| value) {
        Ok(object @ Value::Object(_)) => Row::Object(object),
        Ok(Value::Array(items)) => match columns {
            Some(columns) => of_list(items, columns),
            None => Row::Unreadable(
                "is JSON, but not an object; for lists `columns` in the mapping names the items"
                    .to_owned(),
            ),
        },
        Ok(_) => Row::Unreadable("is JSON, but not an object".to_owned()),
        Err(error) => {
            let reason = encoding::check(line, encoding).err();
            Row::Unreadable(reason.unwrap_or_else(|| not_read(&error)))
        }
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
fn not_read(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    if error.is_data() {
        return what.to_owned();
    }
    format!("is not JSON: {what} at byte {}", error.column())
}
