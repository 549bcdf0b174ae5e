//! The lines of a file, plain or gzipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::lines::Tally;
use crate::record::{End, FORMAT, FirstLine, Header, LastLine, Record};

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;
const BUFFER_BYTES: usize = 128 * 1024;
/// The first bytes of gzipped files.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its first line is not that of an export.
    #[error("{} was not written by vitrine export: its first line is not the header of an export", .0.display())]
    NoExport(PathBuf),
    /// A newer release wrote it.
    #[error("{} has format {version}; this release reads formats up to {FORMAT}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        version: u32,
    },
}

/// A line with a record, or with the reason why it has none.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) record: Result<Record, String>,
}

/// The lines of a file after the first.
pub(super) struct Lines {
    source: Box<dyn BufRead + Send>,
    read: Arc<AtomicU64>,
    size: u64,
    number: u64,
    tally: Tally,
    end: Option<End>,
    broken: Option<String>,
}

/// Returns the first line of a file if it is that of an export.
///
/// # Errors
/// [`ReadError`] if it cannot be read, or has a newer format.
pub fn header(path: &Path) -> Result<Option<Header>, ReadError> {
    match open(path) {
        Ok((header, _)) => Ok(Some(header)),
        Err(ReadError::NoExport(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(path: &Path) -> Result<(Header, Lines), ReadError> {
    let failed = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let read = Arc::new(AtomicU64::new(0));
    let reader = CountingReader {
        file,
        read: Arc::clone(&read),
    };
    let mut lines = Lines {
        source: unpacked(reader).map_err(failed)?,
        read,
        size,
        number: 0,
        tally: Tally::default(),
        end: None,
        broken: None,
    };
    // Damage is found later; what does not begin like an export is none.
    let first = lines.line().ok().flatten().unwrap_or_default();
    let Ok(FirstLine::VitrineExport(header)) = serde_json::from_slice(&first) else {
        return Err(ReadError::NoExport(path.to_owned()));
    };
    if header.version > FORMAT {
        return Err(ReadError::Newer {
            path: path.to_owned(),
            version: header.version,
        });
    }
    Ok((header, lines))
}

impl Lines {
    /// Opens an export.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        open(path).map(|(_, lines)| lines)
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// The number of bytes read.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The digest of the records, and what is wrong with the file as a whole.
    pub(super) fn end(self) -> (String, Option<String>) {
        let digest = self.tally.digest.to_string();
        let broken = self.broken.or_else(|| {
            match &self.end {
            None => Some(
                "is not complete: its last line is missing; export again, which continues a file \
                 that was interrupted"
                    .to_owned(),
            ),
            Some(end) if end.digest != digest || end.records != self.tally.counts => Some(
                "was changed since it was written: it does not have the records that its last line \
                 announces"
                    .to_owned(),
            ),
            Some(_) => None,
        }
        });
        (digest, broken)
    }

    /// The next line without its line break; `None` at the end. A line that is too long comes
    /// without its rest.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut some = (&mut self.source).take(MAX_LINE_BYTES);
        if some.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 == MAX_LINE_BYTES {
            skip_line(&mut self.source)?;
        }
        Ok(Some(line))
    }

    fn record(&mut self, line: &[u8]) -> Option<Result<Record, String>> {
        if line.len() as u64 == MAX_LINE_BYTES {
            return Some(Err("is longer than 4 MiB".to_owned()));
        }
        let wrong = match serde_json::from_slice::<Record>(line) {
            Ok(record) => {
                self.tally.add(&record, line);
                return Some(Ok(record));
            }
            Err(wrong) => wrong,
        };
        if let Ok(LastLine::End(end)) = serde_json::from_slice(line) {
            self.end = Some(end);
            return None;
        }
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        (!is_blank).then(|| Err(wrong.to_string()))
    }
}

impl Iterator for Lines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            let line = match self.line() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    self.broken = Some(format!("cannot be read to its end: {error}"));
                    return None;
                }
            };
            if let Some(record) = self.record(&line) {
                let number = self.number;
                return Some(Line { number, record });
            }
        }
    }
}

/// Skips the rest of a line.
fn skip_line(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let some = source.fill_buf()?;
        if some.is_empty() {
            return Ok(());
        }
        let end = some.iter().position(|byte| *byte == b'\n');
        let skipped = end.map_or(some.len(), |at| at + 1);
        source.consume(skipped);
        if end.is_some() {
            return Ok(());
        }
    }
}

fn unpacked(reader: CountingReader) -> io::Result<Box<dyn BufRead + Send>> {
    let mut source = BufReader::with_capacity(BUFFER_BYTES, reader);
    if source.fill_buf()?.starts_with(&GZIP) {
        let unpacked = MultiGzDecoder::new(source);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)));
    }
    Ok(Box::new(source))
}

/// Counts what is read of a file.
struct CountingReader {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
