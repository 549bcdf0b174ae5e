//! Reading lines of bytes of limited length.

use std::io::{self, BufRead};

/// The lines of a source.
pub(super) struct Lines<R> {
    source: R,
    max_bytes: usize,
    number: u64,
    ended: bool,
}

/// The outcome of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A line, without its line end.
    Line,
    /// A line longer than the limit, which was discarded; its length in bytes.
    TooLong(usize),
    /// The end of the file.
    End,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(source: R, max_bytes: usize) -> Self {
        Self {
            source,
            max_bytes,
            number: 0,
            ended: false,
        }
    }

    /// The number of the last line read, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The maximum length of a line in bytes.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Appends the next line to the buffer, without LF or CR LF.
    ///
    /// # Errors
    /// If the rest of the file cannot be read. [`Outcome::End`] follows.
    pub(super) fn append(&mut self, buffer: &mut Vec<u8>) -> io::Result<Outcome> {
        if self.ended {
            return Ok(Outcome::End);
        }
        let start = buffer.len();
        self.number += 1;
        let mut discarded = 0;
        let complete = self.fill(buffer, start, &mut discarded);
        self.ended = !matches!(complete, Ok(true));
        let length = buffer.len() - start + discarded;
        if complete? || length > 0 {
            return Ok(trimmed(buffer, start, discarded));
        }
        self.number -= 1;
        Ok(Outcome::End)
    }

    /// Reads up to the line end; returns false if the file ended without one.
    fn fill(
        &mut self,
        buffer: &mut Vec<u8>,
        start: usize,
        discarded: &mut usize,
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
            if *discarded > 0 || buffer.len() - start + part.len() > self.max_bytes {
                *discarded += part.len() + buffer.len() - start;
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

fn trimmed(buffer: &mut Vec<u8>, start: usize, discarded: usize) -> Outcome {
    if discarded > 0 {
        return Outcome::TooLong(discarded);
    }
    if buffer.len() > start && buffer.last() == Some(&b'\r') {
        buffer.pop();
    }
    Outcome::Line
}

/// The reason for rejecting a line that is too long.
pub(super) fn too_long(bytes: usize, max_bytes: usize) -> String {
    format!("is {bytes} bytes long; at most {max_bytes} are allowed")
}
