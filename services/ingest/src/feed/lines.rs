//! Lines of bytes with a limit on their length.

use std::io::{self, BufRead};

/// Reads lines one after the other.
pub(super) struct Lines<R> {
    source: R,
    most_bytes: usize,
    number: u64,
    ended: bool,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A line, without its end.
    Line,
    /// A line longer than the limit, thrown away; this many bytes.
    TooLong(usize),
    /// Nothing: the file has ended.
    End,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(source: R, most_bytes: usize) -> Self {
        Self {
            source,
            most_bytes,
            number: 0,
            ended: false,
        }
    }

    /// The number of the line read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The most bytes of a line.
    pub(super) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Appends the next line to the buffer, without LF or CR LF.
    ///
    /// # Errors
    /// When the file cannot be read on. Nothing comes after that.
    pub(super) fn append(&mut self, buffer: &mut Vec<u8>) -> io::Result<Outcome> {
        if self.ended {
            return Ok(Outcome::End);
        }
        let start = buffer.len();
        self.number += 1;
        let mut thrown_away = 0;
        let complete = self.fill(buffer, start, &mut thrown_away);
        self.ended = !matches!(complete, Ok(true));
        let length = buffer.len() - start + thrown_away;
        if complete? || length > 0 {
            return Ok(trimmed(buffer, start, thrown_away));
        }
        self.number -= 1;
        Ok(Outcome::End)
    }

    /// Reads up to the end of the line; whether there was one.
    fn fill(
        &mut self,
        buffer: &mut Vec<u8>,
        start: usize,
        thrown_away: &mut usize,
    ) -> io::Result<bool> {
        loop {
            let available = match self.source.fill_buf() {
                Ok([]) => return Ok(false),
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if *thrown_away > 0 || buffer.len() - start + part.len() > self.most_bytes {
                *thrown_away += part.len() + buffer.len() - start;
                buffer.truncate(start);
            } else {
                buffer.extend_from_slice(part);
            }
            let consumed = end.map_or(part.len(), |end| end + 1);
            self.source.consume(consumed);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

fn trimmed(buffer: &mut Vec<u8>, start: usize, thrown_away: usize) -> Outcome {
    if thrown_away > 0 {
        return Outcome::TooLong(thrown_away);
    }
    if buffer.len() > start && buffer.last() == Some(&b'\r') {
        buffer.pop();
    }
    Outcome::Line
}

/// Why a line that is too long is rejected.
pub(super) fn too_long(bytes: usize, most_bytes: usize) -> String {
    format!("is {bytes} bytes long; at most {most_bytes} are read")
}
