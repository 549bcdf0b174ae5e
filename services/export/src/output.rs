//! The files of an export. A file gets its name when it is complete; until then its name ends in
//! `.part`.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where an export is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file.
    File(PathBuf),
    /// The files of a directory.
    Directory(PathBuf),
    /// Standard output.
    Standard,
    /// Nowhere: only the digest is wanted.
    Nowhere,
}

/// A file, or standard output, that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    /// The name that the file gets; `None` if it is no file.
    path: Option<PathBuf>,
    writer: BufWriter<Sink>,
    bytes: u64,
}

#[derive(Debug)]
enum Sink {
    File(File),
    Standard(io::Stdout),
    Nowhere(io::Sink),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(output) => output.write(bytes),
            Self::Nowhere(sink) => sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(output) => output.flush(),
            Self::Nowhere(sink) => sink.flush(),
        }
    }
}

impl Output {
    /// Starts a file from the beginning.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(part_of(path))?;
        Ok(Self::new(Some(path), Sink::File(file)))
    }

    /// Continues a file that was begun, after this many bytes of it.
    pub(crate) fn resume(path: &Path, length: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open(part_of(path))?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        let mut output = Self::new(Some(path), Sink::File(file));
        output.bytes = length;
        Ok(output)
    }

    pub(crate) fn standard() -> Self {
        Self::new(None, Sink::Standard(io::stdout()))
    }

    pub(crate) fn nowhere() -> Self {
        Self::new(None, Sink::Nowhere(io::sink()))
    }

    fn new(path: Option<&Path>, sink: Sink) -> Self {
        Self {
            path: path.map(Path::to_owned),
            writer: BufWriter::with_capacity(128 * 1024, sink),
            bytes: 0,
        }
    }

    /// The number of bytes written.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Completes the file: it is on the disk, with its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Sink::File(file) = self.writer.get_ref() {
            file.sync_all()?;
        }
        match &self.path {
            Some(path) => fs::rename(part_of(path), path),
            None => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The name of a file that is not complete.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".part");
    path.with_file_name(name)
}
