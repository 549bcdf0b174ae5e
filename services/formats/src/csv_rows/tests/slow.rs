//! The rule for tables once more, as plainly as it can be said: with the whole file in memory.

use crate::Row;

/// What becomes of a line: the texts of a row, or one of these words.
type Read = (u64, Result<Vec<String>, &'static str>);

/// What a reader has found, for comparing.
pub(super) fn simple(found: &[(u64, Row)]) -> Vec<Read> {
    let found = found.iter().map(|(number, row)| {
        let read = match row {
            Row::Object(row) => {
                let texts = ["x", "y", "z"].map(|name| row[name].as_str().unwrap().to_owned());
                Ok(texts.to_vec())
            }
            Row::Blank => Err("blank"),
            Row::Unreadable(_) => Err("bad"),
            Row::Broken(_) => Err("broken"),
            Row::Gathered => unreachable!(),
        };
        (*number, read)
    });
    found.collect()
}

/// The lines of a text: where each begins, ends, and the next one begins.
pub(super) fn lines(text: &str) -> Vec<[usize; 3]> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].find(['\r', '\n']);
        let end = end.map_or(text.len(), |at| start + at);
        let ends = ["\r\r\n", "\r\n", "\r", "\n", ""];
        let mut ends = ends
            .iter()
            .filter(|line_end| text[end..].starts_with(**line_end));
        let next = end + ends.next().unwrap().len();
        lines.push([start, end, next]);
        start = next;
    }
    lines
}

/// A field, and whether it was quoted.
type Field = (String, bool);

/// The complete fields of a record, and whether another one is open at its end.
///
/// # Errors
/// The number of the fields before the one that is wrong.
fn fields(record: &str) -> Result<(Vec<Field>, bool), usize> {
    let (mut fields, mut rest, mut is_doubtful) = (Vec::new(), record, false);
    loop {
        let after = if let Some(quoted) = blanks(rest).strip_prefix('"') {
            let Some(end) = closing(quoted) else {
                return Ok((fields, true));
            };
            let text = &quoted[..end];
            is_doubtful |= text.ends_with('\\');
            fields.push((text.replace("\"\"", "\"").replace("\r\n", "\n"), true));
            blanks(&quoted[end + 1..])
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            if is_doubtful && rest[..end].contains('"') {
                return Err(fields.len());
            }
            fields.push((rest[..end].to_owned(), false));
            &rest[end..]
        };
        if after.is_empty() {
            return Ok((fields, false));
        }
        // A field that something else follows is not complete.
        rest = after.strip_prefix(',').ok_or(fields.len() - 1)?;
    }
}

/// A text without the blanks before it.
fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// Where the first quotation mark is that is not doubled.
fn closing(quoted: &str) -> Option<usize> {
    let mut end = 0;
    loop {
        end += quoted[end..].find('"')?;
        if !quoted[end + 1..].starts_with('"') {
            return Some(end);
        }
        end += 2;
    }
}

/// What is remembered of a broken record: its last line and its open field.
type Care = Option<(usize, Option<usize>)>;

/// What was read so far.
struct Reader {
    read: Vec<Read>,
    usual: usize,
    had_short: bool,
    unclosed: bool,
    care: Care,
}

/// Reads a table with the columns x, y and z.
pub(super) fn read(text: &str) -> Vec<Read> {
    let lines = lines(text);
    let mut reader = Reader {
        read: Vec::new(),
        usual: 3,
        had_short: false,
        unclosed: false,
        care: None,
    };
    let mut at = 1;
    while at < lines.len() {
        let (count, read) = reader.record(text, &lines, at);
        reader.read.push((at as u64 + 1, read));
        if reader.read.last().unwrap().1 == Err("broken") {
            return reader.read;
        }
        at += count;
    }
    let has_rows = reader.read.iter().any(|(_, read)| read.is_ok());
    if reader.unclosed {
        reader.read.push((at as u64 + 1, Err("broken")));
    } else if !has_rows && !text.is_empty() {
        let last = reader.read.last().map_or(0, |(number, _)| *number);
        reader.read.push((last + 1, Err("broken")));
    }
    reader.read
}

impl Reader {
    /// Reads the record that begins at a line; returns the number of its lines and what it is.
    fn record(
        &mut self,
        text: &str,
        lines: &[[usize; 3]],
        at: usize,
    ) -> (usize, Result<Vec<String>, &'static str>) {
        let [start, first_end, _] = lines[at];
        let is_blank = |letter: char| letter == ',' || letter.is_ascii_whitespace();
        if text[start..first_end].chars().all(is_blank) {
            return (1, Err("blank"));
        }
        let mut last = at;
        let record = loop {
            match fields(&text[start..lines[last][1]]) {
                Ok((_, true)) if last + 1 < lines.len() => last += 1,
                Ok((fields, is_open)) => break Some((fields, is_open)),
                Err(_) => break None,
            }
        };
        match record {
            Some((fields, false)) if last == at || fields.len() == 3 => {
                let has_end = lines[last][2] > lines[last][1];
                (last + 1 - at, self.row(fields, at, has_end))
            }
            broken => {
                let ends = matches!(broken, Some((_, true)));
                if ends && last == at {
                    return (1, Err("broken"));
                }
                let column = match fields(&text[start..first_end]) {
                    Ok((fields, _)) => fields.len(),
                    Err(column) => column,
                };
                let column = broken.is_none_or(|(_, is_open)| is_open).then_some(column);
                self.care = Some((
                    self.care.map_or(last, |(before, _)| last.max(before)),
                    column,
                ));
                self.unclosed |= ends;
                (1, Err("bad"))
            }
        }
    }

    /// Reads a record whose quotation marks are right.
    fn row(
        &mut self,
        record: Vec<Field>,
        at: usize,
        has_end: bool,
    ) -> Result<Vec<String>, &'static str> {
        let count = record.len();
        let care = self.care;
        let closes = care.is_some_and(|(until, column)| at >= until && closes(&record, column));
        if care.is_some() && (closes || (count != 3 && count != self.usual)) {
            self.care = care.filter(|_| !closes);
            return Err("bad");
        }
        if count < 3 && !has_end && (count < 2 || !self.had_short) {
            return Err("broken");
        }
        let mut more = record.iter().skip(3);
        if count < 2 || more.any(|(field, _)| !field.trim().is_empty()) {
            return Err("bad");
        }
        self.usual = count;
        self.had_short |= count < 3;
        self.unclosed = false;
        self.care = care.filter(|(until, _)| at <= *until);
        let texts = record.into_iter().map(|(text, _)| text);
        let texts = texts.chain(std::iter::repeat(String::new()));
        Ok(texts.take(3).collect())
    }
}

/// Whether a field that is not quoted ends with a quotation mark: the one that is open, if it is known.
fn closes(record: &[Field], column: Option<usize>) -> bool {
    record.iter().enumerate().any(|(at, (field, is_quoted))| {
        column.is_none_or(|column| column == at) && !is_quoted && field.trim_end().ends_with('"')
    })
}
