//! Reading rows of XML: each element at a path becomes an object.
//!
//! Attributes become keys with `@`, an element with text only becomes the text, the text of other
//! elements is `#text`, and elements of one name become a list. Names keep their prefix unless the
//! form says otherwise. Entities other than the predefined ones are unknown: nothing outside the file is read.
//!
//! What is not XML costs the row that has it. Reading goes on behind the end tag of the row or, if
//! the next start tag of a row comes before it, there; the row is read once more from its
//! beginning, because a broken tag may have swallowed others. In memory are at most a row, one text
//! and what was read since the row began.

use std::collections::HashMap;
use std::io::BufRead;

use encoding_rs::Encoding;
use memchr::memmem;
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde_json::{Map, Value};

use super::lines::too_long;
use super::{FeedLine, Row, RowForm, broken, encoding};
use crate::RowsPath;

mod names;
mod replay;

pub(super) use names::name_of;
use names::without_prefixes;
use replay::{Replayed, RowTag, is_too_long};

/// The maximum depth of a row.
const MAX_DEPTH: usize = 64;
/// The maximum number of open elements, for which a name each is held in memory.
const MAX_OPEN: usize = 1000;
/// The maximum number of attributes of an element.
const MAX_ATTRIBUTES: usize = 1000;
/// How many times as long as the longest row one text may be. It is read at once.
const MAX_TEXT_FACTOR: usize = 4;
/// The key of the text of an element that has attributes or other elements.
const TEXT: &str = "#text";

/// The rows of an XML document.
pub(super) struct XmlRows<R> {
    /// `None` at the end.
    reader: Option<Reader<Replayed<R>>>,
    steps: Vec<String>,
    /// The end tag of a row.
    end_tag: String,
    form: RowForm,
    /// The number of open elements, and of those that are on the path of the rows.
    depth: usize,
    matched: usize,
    number: u64,
    has_rows: bool,
    is_in_row: bool,
    /// Whether rows have elements of their own name in them.
    nests: bool,
    buffer: Vec<u8>,
}

/// Why an event cannot be read.
enum Failure {
    /// The text is not XML. What follows may be.
    Syntax(String),
    /// The rest cannot be read.
    Final(String),
}

/// A reader of XML from here on. It may close elements that were opened before.
fn reader<R: BufRead>(source: Replayed<R>) -> Reader<Replayed<R>> {
    let mut reader = Reader::from_reader(source);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.allow_unmatched_ends = true;
    reader
}

impl<R: BufRead> XmlRows<R> {
    pub(super) fn new(source: R, path: &RowsPath, form: RowForm) -> Self {
        let max_bytes = form.max_bytes.saturating_mul(MAX_TEXT_FACTOR);
        let steps = path.keys().into_iter();
        let steps: Vec<String> = steps
            .map(|name| name_of(name, form.local_names).to_owned())
            .collect();
        Self {
            reader: Some(reader(Replayed::new(source, max_bytes))),
            end_tag: format!("</{}>", steps.last().map_or("", String::as_str)),
            steps,
            form,
            depth: 0,
            matched: 0,
            number: 0,
            has_rows: false,
            is_in_row: false,
            nests: false,
            buffer: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<FeedLine> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let line = self.read(&mut buffer);
        self.buffer = buffer;
        line.unwrap_or_else(|failure| self.failed(&failure))
    }

    /// What is not XML costs the row that has it, if there is a place to go on from.
    fn failed(&mut self, failure: &Failure) -> Option<FeedLine> {
        let source = self.reader.take()?.into_inner();
        let (line, start) = (source.line(), source.start_line());
        if let Failure::Syntax(reason) = failure
            && self.resume(source)
        {
            if !self.is_in_row {
                self.number = start.max(self.number + 1);
            }
            self.is_in_row = false;
            let (number, bytes) = (self.number, 0);
            let row = Row::Unreadable(format!("{reason}, in line {line} of the file"));
            return Some(FeedLine::new(number, bytes, row));
        }
        let (Failure::Syntax(reason) | Failure::Final(reason)) = failure;
        let reason = broken(&format!("{reason}, in line {line} of the file"));
        let number = line.max(self.number + 1);
        Some(FeedLine::new(number, 0, Row::Broken(reason)))
    }

    /// Goes on behind the end of the row, or where the next one begins. Returns false if there is
    /// no such place.
    fn resume(&mut self, mut source: Replayed<R>) -> bool {
        let parents = self.steps.len().saturating_sub(1);
        let Some(name) = self.steps.last().filter(|_| self.matched == parents) else {
            return false;
        };
        let row = RowTag {
            name,
            local_names: self.form.local_names,
            nests: self.nests,
        };
        if !source.resume(&row, self.is_in_row) {
            return false;
        }
        self.depth = parents;
        self.reader = Some(reader(source));
        true
    }

    /// Reads up to the end of the next row.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<FeedLine>, Failure> {
        loop {
            let Some(reader) = &mut self.reader else {
                return Ok(None);
            };
            reader.get_mut().mark();
            match event(reader, buffer)? {
                Event::Start(start) => {
                    let tag = check_tag(&start);
                    let step = self.steps.get(self.depth).map(String::as_str);
                    let name = start.name();
                    let name = name_of(name.as_ref(), self.form.local_names);
                    if self.matched == self.depth && step == Some(name) {
                        self.matched += 1;
                    }
                    if self.matched < self.steps.len() || self.depth + 1 > self.steps.len() {
                        self.depth += 1;
                        tag.and_then(|()| check_depth(self.depth))?;
                        continue;
                    }
                    let line = reader.get_ref().start_line();
                    self.number = line.max(self.number + 1);
                    self.has_rows = true;
                    self.is_in_row = true;
                    self.matched = self.steps.len() - 1;
                    tag?;
                    self.end_tag = format!("</{}>", start.name().as_ref());
                    let row = Element::of(&start, self.form.encoding);
                    let bytes = start.len();
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

    fn end(&mut self) -> Result<Option<FeedLine>, Failure> {
        if self.depth > 0 {
            return Err(Failure::Final(TOO_EARLY.to_owned()));
        }
        if self.has_rows {
            self.reader = None;
            return Ok(None);
        }
        let path = self.steps.join(".");
        Err(Failure::Final(format!(
            "the document has no element {path}"
        )))
    }

    /// Reads the content of a row.
    fn row(
        &mut self,
        row: Result<Element, String>,
        start: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<FeedLine, Failure> {
        let mut building = Building::new(row, start, &self.form);
        let mut nests = false;
        loop {
            let Some(reader) = &mut self.reader else {
                return Err(Failure::Final(TOO_EARLY.to_owned()));
            };
            let event = event(reader, buffer)?;
            match &event {
                Event::Eof => return Err(Failure::Syntax(TOO_EARLY.to_owned())),
                Event::Start(start) => {
                    check_tag(start)?;
                    check_depth(building.depth)?;
                    let name = start.name();
                    let name = name_of(name.as_ref(), self.form.local_names);
                    nests |= self.steps.last().is_some_and(|step| step == name);
                }
                Event::CData(text) => self.check_section(text)?,
                Event::Comment(text) => self.check_section(text)?,
                _ => {}
            }
            if building.add(&event) {
                let (bytes, row) = building.finish();
                self.is_in_row = false;
                self.nests |= nests;
                let number = self.number;
                return Ok(FeedLine::new(number, bytes, row));
            }
        }
    }

    /// Checks that a section of a row has not the end of the row in it.
    fn check_section(&self, section: &str) -> Result<(), Failure> {
        if memmem::find(section.as_bytes(), self.end_tag.as_bytes()).is_none() {
            return Ok(());
        }
        let reason = "has a comment or a CDATA section that is not closed";
        Err(Failure::Syntax(reason.to_owned()))
    }
}

const TOO_EARLY: &str = "the document ends too early";

/// Checks that a tag has not swallowed another one.
fn check_tag(start: &BytesStart<'_>) -> Result<(), Failure> {
    let first = start.chars().next().unwrap_or_default();
    let is_name = first.is_alphabetic() || first == '_' || first == ':';
    // That no two have the same name takes time for each pair of them.
    let mut attributes = start.attributes();
    let attributes = attributes.with_checks(false).take(MAX_ATTRIBUTES + 1);
    if start.len() > MAX_ATTRIBUTES && attributes.count() > MAX_ATTRIBUTES {
        let reason = format!("has a tag with more than {MAX_ATTRIBUTES} attributes");
        return Err(Failure::Syntax(reason));
    }
    if is_name && !start.contains('<') {
        return Ok(());
    }
    let reason = "it is not XML: a < begins no tag, or a tag is not closed";
    Err(Failure::Syntax(reason.to_owned()))
}

fn check_depth(depth: usize) -> Result<(), Failure> {
    if depth <= MAX_OPEN {
        return Ok(());
    }
    let reason = format!("elements are deeper than {MAX_OPEN} levels");
    Err(Failure::Syntax(reason))
}

/// Reads the next event.
fn event<'b, R: BufRead>(
    reader: &mut Reader<Replayed<R>>,
    buffer: &'b mut Vec<u8>,
) -> Result<Event<'b>, Failure> {
    buffer.clear();
    reader.get_mut().start_event();
    reader.read_event_into(buffer).map_err(|error| match error {
        quick_xml::Error::Io(error) if is_too_long(&error) => Failure::Syntax(error.to_string()),
        quick_xml::Error::Io(error) => Failure::Final(error.to_string()),
        error => Failure::Syntax(format!("it is not XML: {error}")),
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
        let (name, value) = element.finish(self.form.local_names);
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
    fn finish(mut self, local_names: bool) -> (String, Value) {
        if self.object.is_empty() {
            return (self.name, Value::String(self.text));
        }
        if !self.text.trim().is_empty() {
            self.object.insert(TEXT.to_owned(), self.text.into());
        }
        if local_names {
            without_prefixes(&mut self.object);
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
pub(super) fn likely_rows(sample: &[u8], local_names: bool) -> Option<RowsPath> {
    let mut rest = sample;
    let mut reader = sample_reader(rest);
    let mut buffer = Vec::new();
    let mut open: Vec<(String, HashMap<String, usize>)> = Vec::new();
    let mut best: Option<(usize, usize, RowsPath)> = None;
    loop {
        buffer.clear();
        let before = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(start)) if !start.contains('<') => {
                let name = name_of(start.name().as_ref(), local_names).to_owned();
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
            Ok(Event::Eof) => return best.map(|(.., path)| path),
            // One wrong sign says nothing of the elements behind it.
            Ok(Event::Start(_)) | Err(_) => {
                let names = open.iter().map(|(name, _)| name.as_str());
                let names: Vec<&str> = names.collect();
                let behind = rest.get(before + 1..).unwrap_or_default();
                let Some((depth, next)) = next_end(behind, &names, local_names) else {
                    return best.map(|(.., path)| path);
                };
                open.truncate(depth);
                rest = next;
                reader = sample_reader(rest);
            }
            Ok(_) => {}
        }
    }
}

/// Finds the next end of an element that is open. Returns how many are open behind it, and what follows.
fn next_end<'s>(sample: &'s [u8], open: &[&str], local_names: bool) -> Option<(usize, &'s [u8])> {
    let mut rest = sample;
    loop {
        let begin = rest.windows(2).position(|pair| pair == b"</")?;
        let inside = &rest[begin + 2..];
        let end = inside.iter().position(|byte| *byte == b'>')?;
        let name = str::from_utf8(inside[..end].trim_ascii_end()).unwrap_or_default();
        let is_it = |known: &&str| *known == name_of(name, local_names);
        if let Some(depth) = open.iter().rposition(is_it) {
            return Some((depth, &inside[end + 1..]));
        }
        rest = inside;
    }
}

fn sample_reader(sample: &[u8]) -> Reader<&[u8]> {
    let mut reader = Reader::from_reader(sample);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    // An end that fits no beginning is not counted: what is behind an error may begin in the middle.
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    reader
}

#[cfg(test)]
mod tests;
