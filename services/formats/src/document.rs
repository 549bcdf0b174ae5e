//! Reading the rows of one JSON document, which is never held in memory.
//!
//! Only the containers on the way to the rows are followed. Every other value is passed over, and
//! every row cut out, by its brackets and quotation marks, so that a row that is not JSON costs
//! itself only.

use std::io::BufRead;

use super::json_rows::row;
use super::lines::too_long;
use super::source::newlines;
use super::{FeedLine, Row, RowForm, broken};
use crate::{RowsPath, RowsStep};

/// The maximum depth of a value.
const MAX_DEPTH: usize = 1000;
/// The maximum length of a key on the way to the rows.
const MAX_KEY_BYTES: usize = 64 * 1024;

/// The rows of a JSON document.
pub(super) struct Document<R> {
    text: Text<R>,
    path: RowsPath,
    form: RowForm,
    /// The containers that are open.
    open: Vec<Container>,
    state: State,
    number: u64,
    /// Whether something was found where the rows should be.
    found: bool,
    value: Vec<u8>,
}

/// A container on the way to the rows, or of the rows.
#[derive(Clone, Copy, Debug)]
struct Container {
    is_list: bool,
    /// The number of steps of the path that lead into its values; `None` for the list of rows.
    steps: Option<usize>,
    is_empty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    Ended,
}

/// What a value is for the rows.
enum Found {
    Line(FeedLine),
    Nothing,
}

/// Why the rest cannot be read.
type Broken = String;

impl<R: BufRead> Document<R> {
    pub(super) fn new(source: R, path: RowsPath, form: RowForm) -> Self {
        Self {
            text: Text { source, line: 1 },
            path,
            form,
            open: Vec::new(),
            state: State::Start,
            number: 0,
            found: false,
            value: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        loop {
            let found = match self.state {
                State::Ended => return None,
                State::Start => {
                    self.state = State::Inside;
                    match self.text.start() {
                        Ok(None) => Ok(Found::Nothing),
                        Ok(Some(_)) => self.value(0),
                        Err(reason) => Err(reason),
                    }
                }
                State::Inside if self.open.is_empty() => {
                    self.state = State::Ended;
                    self.end()
                }
                State::Inside => self.inside(),
            };
            match found {
                Ok(Found::Line(line)) => return Some(line),
                Ok(Found::Nothing) => {}
                Err(reason) => {
                    self.state = State::Ended;
                    let reason = format!("{reason}, in line {} of the file", self.text.line);
                    return Some(self.line(0, Row::Broken(broken(&reason))));
                }
            }
        }
    }

    /// The end of the document.
    fn end(&mut self) -> Result<Found, Broken> {
        if let Some(byte) = self.text.start()? {
            return Err(format!("{} follows the document", shown(byte)));
        }
        if self.found || self.number > 0 {
            return Ok(Found::Nothing);
        }
        if self.path == RowsPath::default() {
            return Ok(Found::Nothing);
        }
        let reason = format!("the document has nothing at {}", self.path);
        Err(reason)
    }

    /// Reads on in the innermost container.
    fn inside(&mut self) -> Result<Found, Broken> {
        let Some(container) = self.open.last_mut() else {
            return Ok(Found::Nothing);
        };
        let (is_list, steps, is_empty) = (container.is_list, container.steps, container.is_empty);
        container.is_empty = false;
        let close = if is_list { b']' } else { b'}' };
        let mut next = self.text.needed()?;
        if next == close {
            self.text.skip_byte()?;
            self.open.pop();
            return Ok(Found::Nothing);
        }
        if !is_empty {
            if next != b',' {
                return Err(format!("{} is where a comma should be", shown(next)));
            }
            self.text.skip_byte()?;
            next = self.text.needed()?;
        }
        let Some(steps) = steps else {
            return self.row();
        };
        if is_list {
            return self.value(steps);
        }
        if next != b'"' {
            return Err(format!("{} is where a key should be", shown(next)));
        }
        let key = self.key()?;
        let follows = self.path.steps().get(steps) == Some(&RowsStep::Key(key));
        if follows {
            self.value(steps + 1)
        } else {
            self.text.value(None)?;
            Ok(Found::Nothing)
        }
    }

    /// Reads a key and the colon after it.
    fn key(&mut self) -> Result<String, Broken> {
        self.value.clear();
        let length = self.text.value(Some((&mut self.value, MAX_KEY_BYTES)))?;
        if length > MAX_KEY_BYTES {
            return Err("a key is too long".to_owned());
        }
        let key = serde_json::from_slice(&self.value);
        let key = key.map_err(|error| format!("a key is not JSON: {error}"))?;
        match self.text.needed()? {
            b':' => self.text.skip_byte()?,
            other => return Err(format!("{} is where a colon should be", shown(other))),
        }
        Ok(key)
    }

    /// Reads a value at which so many steps of the path end.
    fn value(&mut self, steps: usize) -> Result<Found, Broken> {
        let next = self.text.needed()?;
        let (is_list, inner) = match (self.path.steps().get(steps), next) {
            (None, b'[') => (true, None),
            (None, b'{') => return self.row(),
            (Some(RowsStep::Each), b'[') => (true, Some(steps + 1)),
            (Some(RowsStep::Key(_)), b'{') => (false, Some(steps)),
            (step, _) => return self.unusual(step.is_none()),
        };
        self.found |= inner.is_none();
        self.text.skip_byte()?;
        self.open.push(Container {
            is_list,
            steps: inner,
            is_empty: true,
        });
        Ok(Found::Nothing)
    }

    /// Passes over a value that is neither rows nor leads to them.
    fn unusual(&mut self, at_rows: bool) -> Result<Found, Broken> {
        let line = self.text.line;
        self.value.clear();
        self.text.value(Some((&mut self.value, 16)))?;
        if !at_rows || self.value == b"null" {
            self.found |= at_rows;
            return Ok(Found::Nothing);
        }
        self.number = line.max(self.number + 1);
        let reason = format!("at {} is neither a list nor an object", self.path);
        Ok(Found::Line(self.line(0, Row::Unreadable(reason))))
    }

    /// Reads a row.
    fn row(&mut self) -> Result<Found, Broken> {
        self.number = self.text.line.max(self.number + 1);
        self.value.clear();
        let max_bytes = self.form.max_bytes;
        let length = self.text.value(Some((&mut self.value, max_bytes)))?;
        let row = if length > max_bytes {
            Row::Unreadable(too_long(length, max_bytes))
        } else {
            let columns = self.form.columns.as_deref();
            row(&self.value, columns, self.form.encoding)
        };
        Ok(Found::Line(self.line(length, row)))
    }

    fn line(&self, bytes: usize, row: Row) -> FeedLine {
        let number = match row {
            Row::Broken(_) => self.text.line.max(self.number + 1),
            _ => self.number,
        };
        FeedLine::new(number, bytes, row)
    }
}

/// The text of a document.
struct Text<R> {
    source: R,
    line: u64,
}

/// Where the values that are kept go, and how much of them.
type Kept<'k> = Option<(&'k mut Vec<u8>, usize)>;

impl<R: BufRead> Text<R> {
    /// The next byte that is not white space; `None` at the end.
    fn start(&mut self) -> Result<Option<u8>, Broken> {
        loop {
            let available = available(&mut self.source)?;
            if available.is_empty() {
                return Ok(None);
            }
            let white = |byte: &u8| b" \t\r\n".contains(byte);
            let blank = available.iter().take_while(|byte| white(byte)).count();
            let next = available.get(blank).copied();
            self.line += newlines(&available[..blank]);
            self.source.consume(blank);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// The next byte that is not white space.
    fn needed(&mut self) -> Result<u8, Broken> {
        self.start()?
            .ok_or_else(|| "the document ends too early".to_owned())
    }

    fn skip_byte(&mut self) -> Result<(), Broken> {
        available(&mut self.source)?;
        self.source.consume(1);
        Ok(())
    }

    /// Reads a value, which may be kept; returns its length.
    fn value(&mut self, mut kept: Kept<'_>) -> Result<usize, Broken> {
        self.needed()?;
        let mut scan = Scan::default();
        let mut length = 0;
        loop {
            let available = available(&mut self.source)?;
            if available.is_empty() {
                return if scan.is_scalar_end() {
                    Ok(length)
                } else {
                    Err("the document ends too early".to_owned())
                };
            }
            let (count, ended) = scan.read(available)?;
            if let Some((kept, max_bytes)) = &mut kept {
                let room = max_bytes.saturating_sub(kept.len());
                kept.extend_from_slice(&available[..count.min(room)]);
            }
            self.line += newlines(&available[..count]);
            self.source.consume(count);
            length += count;
            if ended {
                return Ok(length);
            }
        }
    }
}

/// Finds the end of a value.
#[derive(Default)]
struct Scan {
    brackets: Vec<u8>,
    in_text: bool,
    escaped: bool,
    in_scalar: bool,
}

impl Scan {
    /// Reads on; returns how many bytes belong to the value, and whether it ends there.
    fn read(&mut self, bytes: &[u8]) -> Result<(usize, bool), Broken> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_text {
                self.text(*byte);
                if !self.in_text && self.brackets.is_empty() {
                    return Ok((at + 1, true));
                }
                continue;
            }
            if self.brackets.is_empty() && self.in_scalar && b",]} \t\r\n".contains(byte) {
                return Ok((at, true));
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' if self.brackets.len() == MAX_DEPTH => {
                    return Err(format!("a value is deeper than {MAX_DEPTH} levels"));
                }
                b'{' | b'[' => self.brackets.push(*byte),
                b'}' | b']' => {
                    let opening = if *byte == b'}' { b'{' } else { b'[' };
                    if self.brackets.pop() != Some(opening) {
                        return Err(format!("{} closes nothing", shown(*byte)));
                    }
                    if self.brackets.is_empty() {
                        return Ok((at + 1, true));
                    }
                }
                _ => self.in_scalar = true,
            }
        }
        Ok((bytes.len(), false))
    }

    fn text(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_text = false,
            _ => {}
        }
    }

    fn is_scalar_end(&self) -> bool {
        self.in_scalar && self.brackets.is_empty() && !self.in_text
    }
}

fn available(source: &mut impl BufRead) -> Result<&[u8], Broken> {
    // An interruption is no reason to give up; the borrow ends with the first look.
    while let Err(error) = source.fill_buf() {
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.to_string());
        }
    }
    source.fill_buf().map_err(|error| error.to_string())
}

fn shown(byte: u8) -> String {
    format!("{:?}", char::from(byte))
}

/// The first place in a sample where a list of objects begins.
pub(super) fn likely_rows(sample: &[u8]) -> Option<RowsPath> {
    let mut keys: Vec<Option<String>> = Vec::new();
    let mut last_key = None;
    let mut at = 0;
    let mut opened_list = false;
    while let Some(byte) = sample.get(at) {
        let list_before = std::mem::take(&mut opened_list);
        match byte {
            b'{' if list_before => {
                // The keys on the way to the list, without those inside of other lists.
                let keys: Option<Vec<String>> = keys.into_iter().skip(1).collect();
                let keys = keys?;
                return Some(RowsPath::of_keys(keys.iter().map(String::as_str)));
            }
            b'{' => keys.push(last_key.take()),
            b'[' => {
                opened_list = true;
                keys.push(last_key.take());
            }
            b'}' | b']' => drop(keys.pop()),
            b'"' => {
                let (text, length) = text_at(&sample[at..])?;
                at += length;
                last_key = Some(text);
                continue;
            }
            byte if byte.is_ascii_whitespace() => opened_list = list_before,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The text at the start of a sample, and its length there.
fn text_at(sample: &[u8]) -> Option<(String, usize)> {
    let mut scan = Scan::default();
    let (length, ended) = scan.read(sample).ok()?;
    let text = serde_json::from_slice(&sample[..length]).unwrap_or_default();
    ended.then_some((text, length))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::{object, reason};

    fn read(text: &str, path: &str) -> Vec<(u64, Row)> {
        let path = crate::tests::rows_path(path);
        // Small pieces: values are cut anywhere.
        let source = std::io::BufReader::with_capacity(3, text.as_bytes());
        let form = RowForm {
            max_bytes: 100,
            ..RowForm::default()
        };
        let mut rows = Document::new(source, path, form);
        let rows = std::iter::from_fn(|| rows.next());
        rows.map(|line| (line.number, line.row)).collect()
    }

    #[test]
    fn rows_are_found_at_their_path() {
        let text = "{\"a\": [{\"x\": \"]}\\\"\"}, 1],\n \"data\": {\"n\": 2, \"products\": [\n\
                    {\"id\": 1, \"t\": \"[\\\\\"},\n{\"id\": 2}]},\n\"z\": null}\n";
        let rows = [
            (3, object(json!({"id": 1, "t": "[\\"}))),
            (4, object(json!({"id": 2}))),
        ];
        assert_eq!(read(text, "data.products"), rows);
        assert_eq!(
            read("[{\"id\":1}, {\"id\":2}]", "."),
            [(1, object(json!({"id": 1}))), (2, object(json!({"id": 2}))),]
        );
        let pages = "[{\"p\": [{\"id\": 1}]}, {\"p\": []}, {}, {\"p\": {\"id\": 2}}]";
        assert_eq!(read(pages, "[].p").len(), 2);
        assert!(read("", ".").is_empty() && read("[ ]", ".").is_empty());
        assert!(read("{\"p\": null}", "p").is_empty());
    }

    #[test]
    fn a_row_that_is_not_json_costs_itself() {
        let found = read(
            "[{\"a\": NaN},\n5,\n{\"a\": 1 \"b\"},\n{\"a\": \"0123456789012345678901234567890123456789\
             0123456789012345678901234567890123456789012345678901234567890\"},\n{\"id\": 9}]",
            ".",
        );
        assert!(reason(&found[0].1).contains("is not JSON"));
        assert!(reason(&found[1].1).contains("not an object"));
        assert!(reason(&found[2].1).contains("is not JSON"));
        assert_eq!(
            reason(&found[3].1),
            "is 110 bytes long; at most 100 are allowed"
        );
        assert_eq!(found[4], (5, object(json!({"id": 9}))));
    }

    #[test]
    fn what_cannot_be_followed_ends_the_rows_with_a_reason() {
        for (text, path, rows, expected) in [
            ("[{\"a\":1},\n{\"a\":", ".", 1, "ends too early, in line 2"),
            ("[{\"a\":1}", ".", 1, "ends too early"),
            ("[{\"a\":1} {\"a\":2}]", ".", 1, "a comma should be"),
            ("[{\"a\":1]]", ".", 0, "']' closes nothing"),
            ("{\"p\": [{}]} x", "p", 1, "'x' follows the document"),
            ("{\"q\": [{}]}", "p", 0, "nothing at p"),
            ("{q: 1}", "p", 0, "a key should be"),
            ("{\"q\" 1}", "p", 0, "a colon should be"),
            ("{\"p\": 5}", "p", 0, "neither a list nor an object"),
        ] {
            let found = read(text, path);
            assert_eq!(found.len(), rows + 1, "{text}");
            let reason = reason(&found[rows].1);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
        let deep = format!("[{{}}, {}", "[".repeat(100_000));
        assert!(reason(&read(&deep, ".")[1].1).contains("deeper than 1000"));
    }

    #[test]
    fn the_place_of_rows_is_proposed() {
        let likely = |text: &str| likely_rows(text.as_bytes()).map(|path| path.to_string());
        let text = "{\"meta\": {\"tags\": [1, \"{\"]}, \"data\": {\"p.q\": [ {\"id\": 1";
        assert_eq!(likely(text).unwrap(), "data.\"p.q\"");
        assert_eq!(likely("{\"a\": 1}"), None);
    }
}
