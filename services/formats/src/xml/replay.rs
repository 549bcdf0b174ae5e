//! The text of a document, of which the last part can be read once more.

use std::io::{self, BufRead, Read};

use memchr::memchr;

use crate::source::newlines;

/// How many times as much may be read again as is read.
const MAX_AGAIN: u64 = 8;

/// The maximum length of a prefix in the tag of a row.
const MAX_PREFIX_BYTES: usize = 100;

/// The tags of rows.
pub(super) struct RowTag<'n> {
    pub(super) name: &'n str,
    /// Whether it may have any prefix.
    pub(super) local_names: bool,
    /// Whether rows have elements of their own name in them.
    pub(super) nests: bool,
}

impl RowTag<'_> {
    /// Whether a text behind `<` or `</` is a tag of a row.
    fn begins(&self, tag: &[u8]) -> bool {
        let mut tag = tag;
        if self.local_names {
            let start = &tag[..tag.len().min(MAX_PREFIX_BYTES)];
            let end = start.iter().position(|byte| b": \t\r\n/>".contains(byte));
            if let Some(end) = end.filter(|end| tag[*end] == b':') {
                tag = &tag[end + 1..];
            }
        }
        let after = tag.strip_prefix(self.name.as_bytes());
        after.is_some_and(|after| {
            let next = after.first();
            next.is_none_or(|byte| b" \t\r\n/>".contains(byte))
        })
    }

    /// The number of bytes behind `<` by which a tag of a row is known.
    fn bytes(&self) -> usize {
        let prefix = if self.local_names {
            MAX_PREFIX_BYTES
        } else {
            0
        };
        self.name.len() + prefix
    }
}

/// A source that counts lines, ends with an error where one event is too long, and can go back to
/// a mark.
pub(super) struct Replayed<R> {
    source: R,
    /// What is read before the source, from `at`.
    again: Vec<u8>,
    at: usize,
    /// What was consumed since the mark; if that is too much, the last part of it.
    kept: Vec<u8>,
    /// The number of lines before it.
    kept_lines: u64,
    lines: u64,
    /// The bytes of the event.
    bytes: usize,
    max_bytes: usize,
    /// The bytes that were read of the source, and again.
    read: u64,
    read_again: u64,
}

impl<R: BufRead> Replayed<R> {
    pub(super) fn new(source: R, max_bytes: usize) -> Self {
        Self {
            source,
            again: Vec::new(),
            at: 0,
            kept: Vec::new(),
            kept_lines: 0,
            lines: 0,
            bytes: 0,
            max_bytes,
            read: 0,
            read_again: 0,
        }
    }

    /// The number of the line that is being read.
    pub(super) fn line(&self) -> u64 {
        self.lines + 1
    }

    /// The number of the line at the mark.
    pub(super) fn start_line(&self) -> u64 {
        self.kept_lines + 1
    }

    /// Marks this place.
    pub(super) fn mark(&mut self) {
        self.kept.clear();
        self.kept_lines = self.lines;
    }

    /// Says that an event begins.
    pub(super) fn start_event(&mut self) {
        self.bytes = 0;
    }

    /// Goes on from the first place behind the mark at which a row begins or, in a row, is ended.
    /// Returns false if there is no such place, or too much was read again.
    pub(super) fn resume(&mut self, row: &RowTag<'_>, is_in_row: bool) -> bool {
        let kept = std::mem::take(&mut self.kept);
        self.read_again += kept.len() as u64;
        if self.read_again > MAX_AGAIN * (self.read + self.max_bytes as u64) {
            return false;
        }
        if self.at == self.again.len() {
            self.again = kept;
        } else {
            self.again.splice(..self.at, kept);
        }
        self.at = 0;
        self.lines = self.kept_lines;
        self.bytes = 0;
        // Not the tag at the mark itself.
        self.skip(1);
        let mut depth = 1;
        while self.find_tag(row.bytes()) {
            let tag = &self.again[self.at + 1..];
            let (is_end, tag) = match tag.strip_prefix(b"/") {
                Some(tag) => (true, tag),
                None => (false, tag),
            };
            match (row.begins(tag), is_end) {
                (true, false) if !is_in_row || !row.nests => return true,
                (true, false) if !self.is_empty_element() => depth += 1,
                (true, true) if is_in_row => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return self.skip_tag();
            }
            self.skip(1);
        }
        false
    }

    /// Goes to the next tag, and loads its beginning. Returns false if there is none.
    fn find_tag(&mut self, tag_bytes: usize) -> bool {
        loop {
            if let Some(found) = memchr(b'<', &self.again[self.at..]) {
                self.skip(found);
                break;
            }
            self.skip(usize::MAX);
            if !self.load() {
                return false;
            }
        }
        while self.again.len() - self.at < tag_bytes + 3 && self.load() {}
        true
    }

    /// Whether the tag here is that of an element without content.
    fn is_empty_element(&mut self) -> bool {
        loop {
            let tag = &self.again[self.at..];
            if let Some(end) = memchr(b'>', tag) {
                return tag[..end].ends_with(b"/");
            }
            if tag.len() > self.max_bytes || !self.load() {
                return false;
            }
        }
    }

    /// Goes behind the tag here.
    fn skip_tag(&mut self) -> bool {
        loop {
            if let Some(end) = memchr(b'>', &self.again[self.at..]) {
                self.skip(end + 1);
                return true;
            }
            self.skip(usize::MAX);
            if !self.load() {
                return false;
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        let rest = &self.again[self.at..];
        let bytes = bytes.min(rest.len());
        self.lines += newlines(&rest[..bytes]);
        self.at += bytes;
    }

    /// Loads more of the source. Returns false at its end.
    fn load(&mut self) -> bool {
        self.again.drain(..self.at);
        self.at = 0;
        let Ok(available) = self.source.fill_buf() else {
            return false;
        };
        let bytes = available.len();
        self.again.extend_from_slice(available);
        self.source.consume(bytes);
        self.read += bytes as u64;
        bytes > 0
    }
}

impl<R: BufRead> Read for Replayed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Replayed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes > self.max_bytes {
            let max_bytes = self.max_bytes;
            let reason = format!("a text or tag is longer than {max_bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        if self.at < self.again.len() {
            return Ok(&self.again[self.at..]);
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        if self.kept.len() > self.max_bytes {
            self.mark();
        }
        self.bytes += bytes;
        if self.at < self.again.len() {
            let consumed = &self.again[self.at..self.at + bytes];
            self.lines += newlines(consumed);
            self.kept.extend_from_slice(consumed);
            self.at += bytes;
            return;
        }
        // What is consumed was returned by the last look, so this look costs nothing.
        if let Ok(available) = self.source.fill_buf() {
            let consumed = &available[..bytes.min(available.len())];
            self.lines += newlines(consumed);
            self.kept.extend_from_slice(consumed);
        }
        self.read += bytes as u64;
        self.source.consume(bytes);
    }
}

/// Whether an error says that an event is too long.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}
