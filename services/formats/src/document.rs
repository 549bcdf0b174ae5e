//! Reading the rows of one JSON document, which is never held in memory.
//!
//! Only the containers on the way to the rows are followed. Every other value is passed over, and
//! every row cut out, by its brackets and quotation marks, so that a row that is not JSON costs
//! itself only.

use std::io::BufRead;

use serde_json::{Map, Value};

use super::json_rows::row;
use super::lines::too_long;
use super::source::newlines;
use super::{FeedLine, Row, RowForm, broken};
use crate::{ROW_KEY, RowsPath, RowsStep};

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
    /// The key of the value of an object that is a row, or has the rows in it.
    key: Option<String>,
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
            key: None,
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
        match self.path.steps().get(steps) {
            Some(RowsStep::Key(step)) if *step == key => {}
            Some(RowsStep::Any) => self.key = Some(key),
            _ => {
                self.text.value(None)?;
                return Ok(Found::Nothing);
            }
        }
        self.value(steps + 1)
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
            (Some(RowsStep::Key(_) | RowsStep::Any), b'{') => (false, Some(steps)),
            (step, _) => return self.unusual(step.is_none()),
        };
        // The object or the list of the rows, which may be empty.
        let is_of_rows = self.path.steps()[steps..] == [RowsStep::Any];
        self.found |= inner.is_none() || is_of_rows;
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
        let key = self.key.as_ref();
        let key = key.map_or(String::new(), |key| format!(", of the key {key:?},"));
        let reason = format!("at {}{key} is neither a list nor an object", self.path);
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
            let row = row(&self.value, columns, self.form.encoding);
            self.with_key(row)
        };
        Ok(Found::Line(self.line(length, row)))
    }

    /// Adds to a row the key that it has in the object around.
    fn with_key(&self, mut row: Row) -> Row {
        if let (Row::Object(Value::Object(object)), Some(key)) = (&mut row, &self.key) {
            if object.contains_key(ROW_KEY) {
                let reason =
                    format!("has {ROW_KEY:?} itself, which is the name of its key {key:?}");
                return Row::Unreadable(reason);
            }
            object.insert(ROW_KEY.to_owned(), key.as_str().into());
        }
        row
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

/// The number of values of an object that are compared.
const COMPARED_VALUES: usize = 20;
/// The maximum number of keys on the way to rows that are guessed.
const MAX_GUESSED_KEYS: usize = 5;

/// The place in a sample where a list of objects begins, or that of an object around it whose
/// values are alike.
pub(super) fn likely_rows(sample: &[u8]) -> Option<RowsPath> {
    let list = first_list(sample);
    let keys = list.clone().unwrap_or_else(|| first_objects(sample));
    let ends = 0..keys.len() + usize::from(list.is_none());
    let mut places = ends.map(|end| RowsPath::of_keys(keys[..end].iter().map(String::as_str)));
    let by_key = places.find(|place| are_alike(sample, place));
    let list = list.map(|keys| RowsPath::of_keys(keys.iter().map(String::as_str)));
    by_key.map(RowsPath::values).or(list)
}

/// The keys of the first object in the outermost object of a sample, of the first one in that, and so
/// on.
fn first_objects(sample: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    while keys.len() < MAX_GUESSED_KEYS {
        let path = RowsPath::of_keys(keys.iter().map(String::as_str)).values();
        let mut rows = Document::new(sample, path, RowForm::default());
        let is_object = |line: &FeedLine| matches!(line.row, Row::Object(_) | Row::Broken(_));
        let first = std::iter::from_fn(|| rows.next()).find(is_object);
        match first.and_then(|_| rows.key.take()) {
            Some(key) => keys.push(key),
            None => break,
        }
    }
    keys
}

/// Whether the object at a place has two values or more, all of them objects that have half of
/// their keys in common with the first one.
fn are_alike(sample: &[u8], place: &RowsPath) -> bool {
    let mut rows = Document::new(sample, place.clone().values(), RowForm::default());
    let mut values: Vec<Map<String, Value>> = Vec::new();
    while values.len() < COMPARED_VALUES {
        match rows.next().map(|line| line.row) {
            Some(_) if rows.open.last().is_some_and(|open| open.is_list) => return false,
            Some(Row::Object(Value::Object(value))) => values.push(value),
            // The sample may be cut off anywhere.
            Some(Row::Broken(_)) | None => break,
            Some(_) => return false,
        }
    }
    let Some((first, others)) = values.split_first() else {
        return false;
    };
    let is_alike = |value: &Map<String, Value>| {
        let shared = value.keys().filter(|key| first.contains_key(*key)).count();
        // The key that all rows have is one of them.
        shared > 2 && 2 * shared > value.len()
    };
    !others.is_empty() && others.iter().all(is_alike)
}

/// The keys on the way to the first list of objects in a sample.
fn first_list(sample: &[u8]) -> Option<Vec<String>> {
    let mut keys: Vec<Option<String>> = Vec::new();
    let mut last_key = None;
    let mut at = 0;
    let mut opened_list = false;
    while let Some(byte) = sample.get(at) {
        let list_before = std::mem::take(&mut opened_list);
        match byte {
            b'{' if list_before => {
                // The keys on the way to the list, without those inside of other lists.
                return keys.into_iter().skip(1).collect();
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
    fn the_values_of_an_object_are_rows_with_their_key() {
        let text = "{\"n\": 3, \"p\": {\n\"B1\": {\"x\": 1},\n\"B\\u00e9\": {\"x\": NaN},\n\"B3\": null,\n\
                    \"B4\": 5, \"B5\": {\"@key\": 1},\n\"\": [{\"x\": 6}, {\"x\": 7}]}, \"q\": {\"C\": {}}}";
        let found = read(text, "p.*");
        assert_eq!(found[0], (2, object(json!({"x": 1, "@key": "B1"}))));
        assert!(found[1].0 == 3 && reason(&found[1].1).contains("is not JSON"));
        let expected = "at p.*, of the key \"B4\", is neither a list nor an object";
        assert_eq!(found[2], (5, Row::Unreadable(expected.to_owned())));
        let expected = "has \"@key\" itself, which is the name of its key \"B5\"";
        assert_eq!(found[3], (6, Row::Unreadable(expected.to_owned())));
        assert_eq!(found[4], (7, object(json!({"x": 6, "@key": ""}))));
        assert_eq!(found[5], (8, object(json!({"x": 7, "@key": ""}))));
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn values_of_objects_lead_to_rows() {
        let text =
            "{\"a\": {\"p\": [{\"x\": 1}]}, \"b\": {}, \"c\": 5, \"d\": {\"p\": {\"x\": 2}}}";
        let expected = [
            (1, object(json!({"x": 1, "@key": "a"}))),
            (2, object(json!({"x": 2, "@key": "d"}))),
        ];
        assert_eq!(read(text, "*.p"), expected);
        let text = "[{\"a\": {\"x\": 1}}, {\"b\": {\"x\": 2}}]";
        let keys = read(text, "[].*").into_iter().map(|(_, row)| match row {
            Row::Object(row) => row[ROW_KEY].clone(),
            other => panic!("{other:?}"),
        });
        assert_eq!(keys.collect::<Vec<_>>(), ["a", "b"]);
        assert!(read("{}", "*").is_empty() && read("{\"p\": {}}", "p.*").is_empty());
        let found = read("{\"q\": {}}", "p.*");
        assert!(reason(&found[0].1).contains("nothing at p.*"));
        let found = read("{\"a\": {\"x\": 1},\n\"b\": {", "*");
        assert!(reason(&found[1].1).contains("ends too early, in line 2"));
    }

    #[test]
    fn the_place_of_rows_is_proposed() {
        let likely = |text: &str| likely_rows(text.as_bytes()).map(|path| path.to_string());
        let text = "{\"meta\": {\"tags\": [1, \"{\"]}, \"data\": {\"p.q\": [ {\"id\": 1";
        assert_eq!(likely(text).unwrap(), "data.\"p.q\"");
        assert_eq!(likely("{\"a\": 1}"), None);
        let product = "{\"id\": 1, \"name\": \"a\", \"offers\": [{\"price\": 5}]}";
        let products = format!("{{\"B1\": {product}, \"B2\": {product}, \"B3\": {{\"id\"");
        assert_eq!(likely(&products).unwrap(), "*");
        let inner = format!("{{\"n\": 2, \"a.b\": {products}");
        assert_eq!(likely(&inner).unwrap(), "\"a.b\".*");
        let flat = inner.replace("[{\"price\": 5}]", "5");
        assert_eq!(likely(&flat).unwrap(), "\"a.b\".*");
        let other =
            format!("{{\"shop\": {{\"id\": 1, \"name\": 2}}, \"all\": [{product}, {product}]}}");
        assert_eq!(likely(&other).unwrap(), "all");
        assert_eq!(
            likely(&other.replace(&format!(", {product}"), "")).unwrap(),
            "all"
        );
        let one = format!("{{\"B1\": {product}}}");
        assert_eq!(likely(&one).unwrap(), "B1.offers");
    }
}
