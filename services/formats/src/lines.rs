//! Lines of bytes, of limited length.
//!
//! A line ends at LF, CR LF, CR CR LF (some programs add a CR to CR LF), or at a CR that stands
//! alone. So a file may mix the line ends of several systems.

use std::io::{self, BufRead};

use memchr::memchr2;

/// The lines of a source. Lines are looked at before they are consumed, so that a record that
/// turns out to be no record can be read again line by line.
pub(super) struct Lines<R> {
    source: R,
    max_bytes: usize,
    /// What was read of the source. What is before `at` is consumed.
    text: Vec<u8>,
    at: usize,
    rest: Rest,
    number: u64,
}

/// What the source still has.
enum Rest {
    More,
    Nothing,
    Failed(io::Error),
}

/// A line that was looked at. Positions are relative to the first byte that is not consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it ends, without its line end.
    pub(super) end: usize,
    /// Where the next line begins.
    pub(super) next: usize,
}

impl Line {
    /// Whether it has a line end, which only the last line of a file may lack.
    pub(super) fn has_end(self) -> bool {
        self.next > self.end
    }
}

/// The outcome of looking for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A line.
    Line(Line),
    /// It ends farther from the first byte that is not consumed than a line may be long.
    TooLong,
    /// The end of the file.
    End,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(source: R, max_bytes: usize) -> Self {
        Self {
            source,
            max_bytes,
            text: Vec::new(),
            at: 0,
            rest: Rest::More,
            number: 0,
        }
    }

    /// The number of lines that are consumed.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The maximum length of a line in bytes.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Whether the rest of the file cannot be read.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.rest, Rest::Failed(_))
    }

    /// The first bytes that are not consumed.
    pub(super) fn text(&self, bytes: usize) -> &[u8] {
        &self.text[self.at..self.at + bytes]
    }

    /// Looks for the line that begins here.
    ///
    /// # Errors
    /// If the rest of the file cannot be read, and this is the first line that is not consumed.
    /// [`Outcome::End`] follows.
    pub(super) fn find(&mut self, start: usize) -> io::Result<Outcome> {
        let mut looked = start;
        loop {
            let text = &self.text[self.at..];
            if let Some(found) = memchr2(b'\n', b'\r', &text[looked..]) {
                looked += found;
                if let Some(next) = self.after_line_end(looked) {
                    return Ok(self.limited(Line { end: looked, next }));
                }
            } else {
                looked = text.len();
                if looked > self.max_bytes {
                    return Ok(Outcome::TooLong);
                }
            }
            if !self.fill() {
                return self.last(start);
            }
        }
    }

    /// What is left at the end of the source.
    fn last(&mut self, start: usize) -> io::Result<Outcome> {
        let end = self.text.len() - self.at;
        if let Rest::Failed(_) = self.rest {
            if start > 0 {
                return Ok(Outcome::End);
            }
            self.at = self.text.len();
            if let Rest::Failed(error) = std::mem::replace(&mut self.rest, Rest::Nothing) {
                return Err(error);
            }
        }
        if end == start {
            return Ok(Outcome::End);
        }
        Ok(self.limited(Line { end, next: end }))
    }

    fn limited(&self, line: Line) -> Outcome {
        if line.end > self.max_bytes {
            Outcome::TooLong
        } else {
            Outcome::Line(line)
        }
    }

    /// The place after the line end that begins here; `None` if more must be read to know it.
    fn after_line_end(&self, end: usize) -> Option<usize> {
        let is_all = !matches!(self.rest, Rest::More);
        let text = &self.text[self.at + end..];
        Some(match text {
            [b'\r', b'\n', ..] => end + 2,
            [b'\r', b'\r', b'\n', ..] => end + 3,
            [b'\r'] | [b'\r', b'\r'] if !is_all => return None,
            _ => end + 1,
        })
    }

    /// Reads on; returns false if it is known already that nothing follows.
    fn fill(&mut self) -> bool {
        if !matches!(self.rest, Rest::More) {
            return false;
        }
        // Moved when less is kept than was consumed, so that each byte is moved about once.
        if self.at > self.text.len() / 2 {
            self.text.drain(..self.at);
            self.at = 0;
        }
        match self.source.fill_buf() {
            Ok([]) => self.rest = Rest::Nothing,
            Ok(available) => {
                self.text.extend_from_slice(available);
                let bytes = available.len();
                self.source.consume(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => self.rest = Rest::Failed(error),
        }
        true
    }

    /// Consumes lines up to here.
    pub(super) fn consume(&mut self, bytes: usize, lines: u64) {
        self.at += bytes;
        self.number += lines;
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
        }
    }

    /// Consumes a line that is too long, without holding it; returns its length.
    ///
    /// # Errors
    /// If the rest of the file cannot be read.
    pub(super) fn skip(&mut self) -> io::Result<usize> {
        let mut bytes = 0;
        loop {
            let text = &self.text[self.at..];
            let found = memchr2(b'\n', b'\r', text);
            let content = found.unwrap_or(text.len());
            bytes += content;
            if found.is_some()
                && let Some(next) = self.after_line_end(content)
            {
                self.consume(next, 1);
                return Ok(bytes);
            }
            self.consume(content, 0);
            if !self.fill() {
                if let Rest::Failed(error) = std::mem::replace(&mut self.rest, Rest::Nothing) {
                    return Err(error);
                }
                self.consume(0, 1);
                return Ok(bytes);
            }
        }
    }
}

/// The place after so many lines of a text.
pub(super) fn after_lines(text: &[u8], lines: u64) -> usize {
    let mut read = Lines::new(text, text.len());
    let mut at = 0;
    for _ in 0..lines {
        let Ok(Outcome::Line(line)) = read.find(0) else {
            break;
        };
        at += line.next;
        read.consume(line.next, 1);
    }
    at
}

/// The reason for rejecting a line that is too long.
pub(super) fn too_long(bytes: usize, max_bytes: usize) -> String {
    format!("is {bytes} bytes long; at most {max_bytes} are allowed")
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// The lines of a text that arrives in pieces of this size.
    fn lines(text: &str, piece: usize) -> Vec<String> {
        let mut lines = Lines::new(BufReader::with_capacity(piece, text.as_bytes()), 100);
        let mut found = Vec::new();
        while let Outcome::Line(line) = lines.find(0).unwrap() {
            found.push(String::from_utf8(lines.text(line.end).to_vec()).unwrap());
            lines.consume(line.next, 1);
        }
        assert_eq!(lines.number(), found.len() as u64);
        found
    }

    #[test]
    fn lines_end_as_any_system_ends_them() {
        for (text, expected) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\nb\n", &["a", "b"]),
            ("a\rb\rc", &["a", "b", "c"]),
            ("a\r\nb\r\r\nc\n", &["a", "b", "c"]),
            ("a\r\rb\n\r", &["a", "", "b", ""]),
            ("a\r\r", &["a", ""]),
            ("a\r\r\r\nb", &["a", "", "b"]),
        ] {
            for piece in 1..4 {
                assert_eq!(
                    lines(text, piece),
                    expected,
                    "{text:?} in pieces of {piece}"
                );
            }
        }
    }
}
