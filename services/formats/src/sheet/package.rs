//! The parts of a spreadsheet: members of a zip archive, which are XML.
//!
//! Nothing that a file says about its size is believed: what is unpacked is counted, and so is what
//! one text or tag takes.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesEnd, BytesRef, BytesStart, Event};

use crate::source::Source;
use crate::unpack::{Archive, Member};

/// The maximum length of one text or tag.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// The maximum depth of elements.
const MAX_DEPTH: usize = 256;

/// The parts of a spreadsheet.
pub(crate) struct Package {
    archive: Archive,
    /// By their names in small letters: some programs write them otherwise than they refer to them.
    members: HashMap<String, Member>,
}

impl Package {
    pub(crate) fn new(archive: Archive, members: Vec<Member>) -> Self {
        let members = members.into_iter();
        let members = members.map(|member| (member.name.to_lowercase(), member));
        Self {
            archive,
            members: members.collect(),
        }
    }

    /// Counts what is read of the parts from now on.
    pub(super) fn count(&mut self, read: &Arc<AtomicU64>) {
        self.archive.read = Arc::clone(read);
    }

    /// A part of at most so many bytes; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn part(&self, name: &str, max_bytes: u64) -> Result<Option<Part>, String> {
        let Some(member) = self.members.get(&name.to_lowercase()) else {
            return Ok(None);
        };
        let source = self.archive.source(member);
        let source = source.map_err(|error| format!("{name} in it cannot be read: {error}"))?;
        let limited = Limited {
            source,
            text: 0,
            left: max_bytes,
            max_bytes,
        };
        let mut reader = Reader::from_reader(limited);
        reader.config_mut().expand_empty_elements = true;
        Ok(Some(Part {
            reader,
            name: name.to_owned(),
            depth: 0,
        }))
    }
}

/// The XML of a part.
pub(super) struct Part {
    reader: Reader<Limited>,
    name: String,
    depth: usize,
}

impl Part {
    /// The next event.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn next<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Event<'b>, String> {
        buffer.clear();
        self.reader.get_mut().text = 0;
        let event = self.reader.read_event_into(buffer);
        let event = event.map_err(|error| match error {
            quick_xml::Error::Io(error) => format!("{} {error}", self.name),
            error => format!("{} is not XML: {error}", self.name),
        })?;
        match event {
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::Eof if self.depth > 0 => return Err(format!("{} ends too early", self.name)),
            _ => {}
        }
        if self.depth > MAX_DEPTH {
            return Err(format!("{} has more than {MAX_DEPTH} levels", self.name));
        }
        Ok(event)
    }
}

/// The bytes of a part.
struct Limited {
    source: Source,
    /// The length of the text or tag that is being read.
    text: usize,
    left: u64,
    max_bytes: u64,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Limited {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.text > MAX_TEXT_BYTES {
            let reason = format!("has a text or tag of more than {MAX_TEXT_BYTES} bytes");
            return Err(io::Error::other(reason));
        }
        if self.left == 0 {
            let mebibytes = self.max_bytes / (1024 * 1024);
            let reason = format!(
                "is larger than {mebibytes} MiB, and would be held in memory; export it as CSV"
            );
            return Err(io::Error::other(reason));
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.text += bytes;
        self.left = self.left.saturating_sub(bytes as u64);
        self.source.consume(bytes);
    }
}

/// The name of an element without its prefix.
pub(super) fn local<'t>(tag: &'t BytesStart<'_>) -> &'t str {
    unprefixed(tag.name().into_inner())
}

/// The name of an element that ends, without its prefix.
pub(super) fn ended<'t>(tag: &'t BytesEnd<'_>) -> &'t str {
    unprefixed(tag.name().into_inner())
}

fn unprefixed(name: &str) -> &str {
    memchr::memchr(b':', name.as_bytes()).map_or(name, |at| &name[at + 1..])
}

/// The value of an attribute, by its name without a prefix.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|attribute| {
            let key: &str = attribute.key.as_ref();
            key.rsplit(':').next() == Some(name)
        })?;
    let value = quick_xml::escape::unescape(&found.value);
    value.ok().map(std::borrow::Cow::into_owned)
}

/// Whether an attribute is there and says yes.
pub(super) fn flag(tag: &BytesStart<'_>, name: &str) -> bool {
    attribute(tag, name).is_some_and(|value| matches!(value.as_str(), "1" | "true" | "on"))
}

/// Adds the text that an event has.
///
/// # Errors
/// A reference that means nothing.
pub(super) fn add_text(text: &mut String, event: &Event<'_>) -> Result<(), String> {
    match event {
        Event::Text(more) => text.push_str(&more.replace("\r\n", "\n")),
        Event::CData(more) => text.push_str(more),
        Event::GeneralRef(reference) => text.push_str(&resolved(reference)?),
        _ => {}
    }
    Ok(())
}

fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    let name: &str = reference;
    let number = reference.resolve_char_ref().ok().flatten();
    let text = number.map(String::from);
    let text = text.or_else(|| resolve_predefined_entity(name).map(str::to_owned));
    text.ok_or_else(|| format!("it has the entity &{name};, which XML does not know"))
}
