//! Reading rows of XML: each element at a path becomes an object.
//!
//! Attributes become keys with `@`, an element with text only becomes the text, the text of other
//! elements is `#text`, and elements of one name become a list. Names keep their prefix. Entities
//! other than the predefined ones are unknown: nothing outside the file is read.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use encoding_rs::Encoding;
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde_json::{Map, Value};

use super::lines::too_long;
use super::source::newlines;
use super::{FeedLine, Row, RowForm, broken, encoding};
use crate::RowsPath;

/// The maximum depth of a row.
const MAX_DEPTH: usize = 64;
/// How many times as long as the longest row one text may be. It is read at once.
const MAX_TEXT_FACTOR: usize = 4;
/// The key of the text of an element that has attributes or other elements.
const TEXT: &str = "#text";

/// The rows of an XML document.
pub(super) struct XmlRows<R> {
    reader: Reader<LimitedSource<R>>,
    steps: Vec<String>,
    form: RowForm,
    /// The number of open elements, and of those that are on the path of the rows.
    depth: usize,
    matched: usize,
    number: u64,
    has_rows: bool,
    has_ended: bool,
    buffer: Vec<u8>,
}

impl<R: BufRead> XmlRows<R> {
    pub(super) fn new(source: R, path: &RowsPath, form: RowForm) -> Self {
        let mut reader = Reader::from_reader(LimitedSource {
            source,
            lines: 0,
            bytes: 0,
            max_bytes: form.max_bytes.saturating_mul(MAX_TEXT_FACTOR),
        });
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            steps: path.keys().into_iter().map(str::to_owned).collect(),
            form,
            depth: 0,
            matched: 0,
            number: 0,
            has_rows: false,
            has_ended: false,
            buffer: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let line = self.read(&mut buffer);
        self.buffer = buffer;
        match line {
            Ok(line) => line,
            Err(reason) => {
                self.has_ended = true;
                let line = self.reader.get_ref().lines + 1;
                let reason = broken(&format!("{reason}, in line {line} of the file"));
                Some(FeedLine {
                    number: line.max(self.number + 1),
                    bytes: 0,
                    row: Row::Broken(reason),
                })
            }
        }
    }

    /// Reads up to the end of the next row.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<FeedLine>, String> {
        if self.has_ended {
            return Ok(None);
        }
        loop {
            match event(&mut self.reader, buffer)? {
                Event::Start(start) => {
                    let step = self.steps.get(self.depth).map(String::as_str);
                    if self.matched == self.depth && step == Some(start.name().as_ref()) {
                        self.matched += 1;
                    }
                    if self.matched < self.steps.len() || self.depth + 1 > self.steps.len() {
                        self.depth += 1;
                        continue;
                    }
                    let ends = newlines(start.as_bytes());
                    let row = Element::of(&start, self.form.encoding);
                    let bytes = start.len();
                    self.number = (self.reader.get_ref().lines - ends + 1).max(self.number + 1);
                    return self.row(row, bytes, buffer).map(Some);
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.matched = self.matched.min(self.depth);
                }
                Event::Eof => return self.end(),
                _ => {}
            }
        }
    }

    fn end(&mut self) -> Result<Option<FeedLine>, String> {
        self.has_ended = true;
        if self.depth > 0 {
            return Err("the document ends too early".to_owned());
        }
        if self.has_rows {
            return Ok(None);
        }
        Err(format!(
            "the document has no element {}",
            self.steps.join(".")
        ))
    }

    /// Reads the content of a row.
    fn row(
        &mut self,
        row: Result<Element, String>,
        start: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<FeedLine, String> {
        self.has_rows = true;
        self.matched = self.steps.len() - 1;
        let mut building = Building::new(row, start, &self.form);
        loop {
            let event = event(&mut self.reader, buffer)?;
            if matches!(event, Event::Eof) {
                return Err("the document ends too early".to_owned());
            }
            if building.add(&event) {
                let (bytes, row) = building.finish();
                let number = self.number;
                return Ok(FeedLine { number, bytes, row });
            }
        }
    }
}

/// Reads the next event.
fn event<'b, R: BufRead>(
    reader: &mut Reader<LimitedSource<R>>,
    buffer: &'b mut Vec<u8>,
) -> Result<Event<'b>, String> {
    buffer.clear();
    reader.get_mut().bytes = 0;
    reader.read_event_into(buffer).map_err(|error| match error {
        quick_xml::Error::Io(error) => error.to_string(),
        error => format!("it is not XML: {error}"),
    })
}

/// A row that is being read.
struct Building<'f> {
    form: &'f RowForm,
    open: Vec<Element>,
    row: Value,
    bytes: usize,
    depth: usize,
    /// Why the row is rejected.
    problem: Option<String>,
}

/// An element that is being read.
#[derive(Default)]
struct Element {
    name: String,
    object: Map<String, Value>,
    text: String,
}

impl<'f> Building<'f> {
    fn new(row: Result<Element, String>, bytes: usize, form: &'f RowForm) -> Self {
        let mut building = Self {
            form,
            open: Vec::new(),
            row: Value::Null,
            bytes,
            depth: 1,
            problem: None,
        };
        building.open(row);
        building
    }

    /// Adds an event; returns true if it ends the row.
    fn add(&mut self, event: &Event<'_>) -> bool {
        self.bytes += event.len();
        if self.bytes > self.form.max_bytes {
            // What is read of it is not needed any more.
            self.problem.get_or_insert_default();
            self.open.clear();
        }
        match event {
            Event::Start(start) => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    self.reject(format!("has elements deeper than {MAX_DEPTH} levels"));
                }
                if self.problem.is_none() {
                    self.open(Element::of(start, self.form.encoding));
                }
            }
            Event::End(_) => {
                self.depth -= 1;
                self.close();
            }
            Event::Text(text) => self.text(text),
            Event::CData(text) => self.text(text),
            Event::GeneralRef(reference) => match resolved(reference) {
                Ok(text) => self.push(&text),
                Err(reason) => self.reject(reason),
            },
            _ => {}
        }
        self.depth == 0
    }

    fn reject(&mut self, reason: String) {
        self.problem.get_or_insert(reason);
    }

    fn open(&mut self, element: Result<Element, String>) {
        match element {
            Ok(element) => self.open.push(element),
            Err(reason) => self.reject(reason),
        }
    }

    fn text(&mut self, text: &str) {
        if let Err(reason) = encoding::check_text(text, self.form.encoding) {
            self.reject(reason);
        }
        self.push(&text.replace("\r\n", "\n"));
    }

    fn push(&mut self, text: &str) {
        if let Some(element) = self.open.last_mut() {
            element.text.push_str(text);
        }
    }

    fn close(&mut self) {
        if self.problem.is_some() {
            return;
        }
        let Some(element) = self.open.pop() else {
            return;
        };
        let (name, value) = element.finish();
        match self.open.last_mut() {
            Some(parent) => insert(&mut parent.object, name, value),
            None => self.row = value,
        }
    }

    /// The length of the row, and the row.
    fn finish(self) -> (usize, Row) {
        if self.bytes > self.form.max_bytes {
            let reason = too_long(self.bytes, self.form.max_bytes);
            return (self.bytes, Row::Unreadable(reason));
        }
        let row = match (self.problem, self.row) {
            (Some(reason), _) => Row::Unreadable(reason),
            (None, object @ Value::Object(_)) => Row::Object(object),
            (None, text) => Row::Object(Map::from_iter([(TEXT.to_owned(), text)]).into()),
        };
        (self.bytes, row)
    }
}

impl Element {
    /// Returns the element of a start tag.
    ///
    /// # Errors
    /// What is wrong with the tag.
    fn of(start: &BytesStart<'_>, encoding: &'static Encoding) -> Result<Self, String> {
        encoding::check_text(start, encoding)?;
        let mut object = Map::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| format!("has a bad attribute: {error}"))?;
            let name = attribute.key.as_ref();
            if name == "xmlns" || name.starts_with("xmlns:") {
                continue;
            }
            let value = unescape(&attribute.value)
                .map_err(|error| format!("has a bad attribute {name:?}: {error}"))?;
            object.insert(format!("@{name}"), Value::String(value.into_owned()));
        }
        Ok(Self {
            name: start.name().as_ref().to_owned(),
            object,
            text: String::new(),
        })
    }

    /// Its name and its value: text, or an object.
    fn finish(mut self) -> (String, Value) {
        if self.object.is_empty() {
            return (self.name, Value::String(self.text));
        }
        if !self.text.trim().is_empty() {
            self.object.insert(TEXT.to_owned(), self.text.into());
        }
        (self.name, Value::Object(self.object))
    }
}

/// Adds a value to an object. Values of the same name become a list.
fn insert(object: &mut Map<String, Value>, name: String, value: Value) {
    match object.get_mut(&name) {
        None => {
            object.insert(name, value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(known) => *known = Value::Array(vec![known.take(), value]),
    }
}

/// The character of a reference: `&amp;`, `&#233;`.
fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    let name: &str = reference;
    let number = reference.resolve_char_ref();
    match number.map_err(|error| format!("has the bad reference &{name};: {error}"))? {
        Some(letter) => Ok(letter.to_string()),
        None => resolve_predefined_entity(name)
            .map(str::to_owned)
            .ok_or_else(|| format!("has the entity &{name};, which XML does not know")),
    }
}

/// A source that counts lines, and ends with an error where one event is too long.
struct LimitedSource<R> {
    source: R,
    lines: u64,
    bytes: usize,
    max_bytes: usize,
}

impl<R: BufRead> Read for LimitedSource<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for LimitedSource<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes > self.max_bytes {
            let max_bytes = self.max_bytes;
            return Err(io::Error::other(format!(
                "a text or tag is longer than {max_bytes} bytes"
            )));
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // What is consumed was returned by the last look, so this look costs nothing.
        if let Ok(available) = self.source.fill_buf() {
            self.lines += newlines(&available[..bytes.min(available.len())]);
        }
        self.bytes += bytes;
        self.source.consume(bytes);
    }
}

/// The encoding that the declaration of a document names.
pub(super) fn declared_encoding(sample: &[u8]) -> Option<String> {
    let sample = &sample[..sample.len().min(1024)];
    let text = String::from_utf8_lossy(sample);
    let declaration = text.trim_start().strip_prefix("<?xml")?;
    let declaration = declaration.split_once("?>")?.0;
    let value = declaration.split_once("encoding")?.1.trim_start();
    let value = value.strip_prefix('=')?.trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|quote| "\"'".contains(*quote))?;
    let name = value[1..].split_once(quote)?.0;
    Some(name.to_owned())
}

/// The name of the outermost element.
pub(super) fn root(sample: &[u8]) -> Option<String> {
    let mut reader = Reader::from_reader(sample);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).ok()? {
            Event::Start(start) | Event::Empty(start) => {
                return Some(start.name().as_ref().to_owned());
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// The path of the outermost elements that repeat in a sample.
pub(super) fn likely_rows(sample: &[u8]) -> Option<RowsPath> {
    let mut reader = Reader::from_reader(sample);
    reader.config_mut().expand_empty_elements = true;
    let mut buffer = Vec::new();
    let mut open: Vec<(String, HashMap<String, usize>)> = Vec::new();
    let mut best: Option<(usize, usize, RowsPath)> = None;
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(start)) => {
                let name = start.name().as_ref().to_owned();
                let depth = open.len();
                if let Some((_, children)) = open.last_mut() {
                    let count = children.entry(name.clone()).or_default();
                    *count += 1;
                    let count = *count;
                    let better = best.as_ref().is_none_or(|(known, most, _)| {
                        depth < *known || (depth == *known && count > *most)
                    });
                    if count > 1 && better {
                        let keys = open.iter().map(|(name, _)| name.as_str());
                        let path = RowsPath::of_keys(keys.chain([name.as_str()]));
                        best = Some((depth, count, path));
                    }
                }
                open.push((name, HashMap::new()));
            }
            Ok(Event::End(_)) => drop(open.pop()),
            // The sample may be cut off anywhere.
            Ok(Event::Eof) | Err(_) => return best.map(|(.., path)| path),
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::{object, reason};

    fn read_bytes(bytes: &[u8], path: &str, max_bytes: usize) -> Vec<(u64, Row)> {
        let path = crate::tests::rows_path(path);
        let form = RowForm {
            max_bytes,
            ..RowForm::default()
        };
        // Small pieces: events are cut anywhere.
        let source = io::BufReader::with_capacity(5, bytes);
        let mut rows = XmlRows::new(source, &path, form);
        let rows = std::iter::from_fn(|| rows.next());
        rows.map(|line| (line.number, line.row)).collect()
    }

    fn read(text: &str, path: &str) -> Vec<(u64, Row)> {
        read_bytes(text.as_bytes(), path, 1000)
    }

    #[test]
    fn elements_become_objects_texts_and_lists() {
        let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE c>\n<c xmlns:g='u'>\n<p><id>0</id></p>\n\
                    <list><p id='1' xmlns:h=\"v\">\n<g:price c=\"EUR\">5</g:price>\
                    <img/><img>a&amp;b</img>\r\n<t>x <b>y</b> z&#233;<![CDATA[<&>]]></t>\n</p>\n\
                    <p\n id='2&lt;'/><p>text</p></list></c>";
        let found = read(text, "c.list.p");
        assert_eq!(
            found,
            [
                (
                    5,
                    object(json!({
                        "@id": "1", "g:price": {"@c": "EUR", "#text": "5"},
                        "img": ["", "a&b"], "t": {"b": "y", "#text": "x  z\u{e9}<&>"},
                    }))
                ),
                (9, object(json!({"@id": "2<"}))),
                (10, object(json!({"#text": "text"}))),
            ]
        );
        assert_eq!(read(text, "c.p"), [(4, object(json!({"id": "0"})))]);
    }

    #[test]
    fn a_bad_row_costs_itself() {
        let long = format!("<p><a>{}</a></p>", "x".repeat(1500));
        let deep = format!("<p>{}{}</p>", "<a>".repeat(70), "</a>".repeat(70));
        let text = format!("<c><p>&nbsp;</p><p a='1' a='2'/>{long}{deep}<p><a>\u{e9}</a></p></c>");
        let mut bytes = text.into_bytes();
        let at = bytes.iter().rposition(|byte| *byte == 0xc3).unwrap();
        let mark = format!("{}</a></p><p><a>", encoding::MARK);
        bytes.splice(at..at + 2, mark.into_bytes());
        let found = read_bytes(&bytes, "c.p", 1000);
        assert!(reason(&found[0].1).contains("&nbsp;, which XML does not know"));
        assert!(reason(&found[1].1).contains("bad attribute"));
        assert!(reason(&found[2].1).contains("at most 1000 are allowed"));
        assert!(reason(&found[3].1).contains("deeper than 64"));
        assert!(reason(&found[4].1).contains("not UTF-8"));
        assert_eq!(found[5].1, object(json!({"a": ""})));
    }

    #[test]
    fn what_cannot_be_followed_ends_the_rows_with_a_reason() {
        let endless = format!("<c><p>1</p><p>{}", "x".repeat(5000));
        for (text, rows, expected) in [
            ("<c><p>1</p>\n<p>2", 1, "ends too early, in line 2"),
            ("<c><p>1</p>\n", 1, "ends too early"),
            ("<c><p>1</p><p></q></p></c>", 1, "is not XML"),
            ("<c><q/></c>", 0, "has no element c.p"),
            (&endless, 1, "longer than 4000 bytes"),
        ] {
            let found = read(text, "c.p");
            assert_eq!(found.len(), rows + 1, "{text}");
            let reason = reason(&found[rows].1);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }

    #[test]
    fn entities_of_the_document_are_not_expanded() {
        let text = "<!DOCTYPE c [<!ENTITY a \"x\"><!ENTITY f SYSTEM \"file:///etc/hostname\">]>\
                    <c><p>&a;</p><p>&f;</p></c>";
        for (_, row) in read(text, "c.p") {
            assert!(reason(&row).contains("which XML does not know"), "{row:?}");
        }
    }
}
