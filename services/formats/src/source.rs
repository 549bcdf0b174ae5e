//! Bytes of feeds: looking at their beginning, counting them, and keeping them in a file.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a feed.
pub(super) type Source = Box<dyn BufRead + Send>;

/// The number of line ends in some bytes.
pub(super) fn newlines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().map(|byte| u64::from(*byte == b'\n'));
    ends.sum()
}

/// A source whose beginning is known. An error that was met while looking is returned in its place.
pub(super) struct Peeked {
    beginning: Vec<u8>,
    at: usize,
    error: Option<io::Error>,
    ended: bool,
    rest: Source,
}

impl Peeked {
    pub(super) fn new(rest: Source) -> Self {
        Self {
            beginning: Vec::new(),
            at: 0,
            error: None,
            ended: false,
            rest,
        }
    }

    /// The first bytes: so many, unless the source is shorter or cannot be read so far.
    pub(super) fn beginning(&mut self, bytes: usize) -> &[u8] {
        while self.beginning.len() < bytes && !self.ended && self.error.is_none() {
            match self.rest.fill_buf() {
                Ok([]) => self.ended = true,
                Ok(available) => {
                    let count = available.len().min(bytes - self.beginning.len());
                    self.beginning.extend_from_slice(&available[..count]);
                    self.rest.consume(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.error = Some(error),
            }
        }
        &self.beginning[self.at..]
    }

    /// Whether the beginning is the whole source.
    pub(super) fn is_whole(&self) -> bool {
        self.ended
    }
}

impl Read for Peeked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Peeked {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at < self.beginning.len() {
            return Ok(&self.beginning[self.at..]);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.rest.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if self.at < self.beginning.len() {
            self.at += bytes;
            if self.at == self.beginning.len() {
                self.beginning = Vec::new();
                self.at = 0;
            }
        } else {
            self.rest.consume(bytes);
        }
    }
}

/// A source that counts the bytes that are read.
pub(super) struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    pub(super) fn new(inner: R, count: Arc<AtomicU64>) -> Self {
        Self { inner, count }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.count.fetch_add(bytes as u64, Ordering::Relaxed);
        self.inner.consume(bytes);
    }
}

/// A part of a file.
pub(super) struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Section {
    pub(super) fn new(file: Arc<File>, start: u64, bytes: u64) -> Self {
        Self {
            file,
            at: start,
            end: start.saturating_add(bytes),
        }
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let count = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Writes what is left of a source to a temporary file, for formats that are read from their end.
///
/// # Errors
/// If the source cannot be read, is longer than that, or the file cannot be written.
pub(super) fn kept(source: Peeked, max_bytes: u64) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let written = io::copy(&mut source.take(max_bytes.saturating_add(1)), &mut file)?;
    if written > max_bytes {
        return Err(io::Error::other(format!(
            "is longer than {max_bytes} bytes, and would have to be kept in a temporary file; \
             read it from a file that is not packed"
        )));
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}
