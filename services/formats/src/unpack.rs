//! Unpacking: gzip and Zstandard streams, and the members of zip archives.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use zip::{CompressionMethod, ZipArchive};

use super::BUFFER_BYTES;
use super::place::fits;
use super::sheet::{Kind, Package};
use super::source::{Counted, Peeked, Section, Source};

mod directory;

/// How often something may be packed in something else.
pub(super) const MAX_LAYERS: usize = 3;
/// How many times as long as its packed form something may be, once it has [`FREE_BYTES`].
const MAX_RATIO: u64 = 1000;
/// The size from which the ratio counts.
const FREE_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum number of members of an archive that are read.
const MAX_MEMBERS: usize = 10_000;

/// The form of some bytes, by the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Magic {
    Gzip,
    Zstd,
    /// A zip archive, which spreadsheets are as well.
    Zip,
    Parquet,
    /// A spreadsheet of Excel before 2007.
    OldExcel,
    None,
}

/// The number of bytes that [`magic`] looks at.
pub(super) const MAGIC_BYTES: usize = 8;

pub(super) fn magic(beginning: &[u8]) -> Magic {
    const KNOWN: [(&[u8], Magic); 6] = [
        (&[0x1f, 0x8b], Magic::Gzip),
        (&[0x28, 0xb5, 0x2f, 0xfd], Magic::Zstd),
        (b"PK\x03\x04", Magic::Zip),
        (b"PK\x05\x06", Magic::Zip),
        (b"PAR1", Magic::Parquet),
        (&[0xd0, 0xcf, 0x11, 0xe0], Magic::OldExcel),
    ];
    let known = KNOWN.iter().find(|(bytes, _)| beginning.starts_with(bytes));
    known.map_or(Magic::None, |(_, magic)| *magic)
}

/// Unpacks a gzip, of one member or several.
pub(super) fn gzip(source: Peeked) -> Source {
    let packed = Arc::new(AtomicU64::new(0));
    let decoder = MultiGzDecoder::new(Counted::new(source, Arc::clone(&packed)));
    buffered(Bounded::new(decoder, packed))
}

/// Unpacks Zstandard frames.
///
/// # Errors
/// If there is no memory for it.
pub(super) fn zstd(source: Peeked) -> io::Result<Source> {
    let packed = Arc::new(AtomicU64::new(0));
    let counted = Counted::new(source, Arc::clone(&packed));
    let decoder = zstd::stream::read::Decoder::with_buffer(counted)?;
    Ok(buffered(Bounded::new(decoder, packed)))
}

fn buffered(reader: impl Read + Send + 'static) -> Source {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

/// What is unpacked, as long as it is not much longer than what it is unpacked from.
struct Bounded<R> {
    inner: R,
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R, packed: Arc<AtomicU64>) -> Self {
        Self {
            inner,
            packed,
            unpacked: 0,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.unpacked += count as u64;
        check_ratio(self.packed.load(Ordering::Relaxed), self.unpacked)?;
        Ok(count)
    }
}

fn check_ratio(packed: u64, unpacked: u64) -> io::Result<()> {
    if unpacked <= FREE_BYTES || unpacked / MAX_RATIO <= packed {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it unpacks to more than {MAX_RATIO} times its size"
    )))
}

/// A zip archive.
pub(super) struct Archive {
    file: Arc<File>,
    /// Its name in reports.
    pub(super) name: String,
    members: std::vec::IntoIter<Member>,
    /// The bytes of members read so far.
    pub(super) read: Arc<AtomicU64>,
}

/// A member of an archive: a file in it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    start: u64,
    packed: u64,
    crc: u32,
    method: Method,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Stored,
    Deflate,
    Zstd,
}

/// What a zip archive is.
pub(super) enum Zip {
    /// An archive of files.
    Archive(Archive),
    /// A spreadsheet.
    Spreadsheet(Kind, Package),
}

/// The parts by which spreadsheets are recognised.
const SPREADSHEETS: [(&str, Kind); 2] =
    [("xl/workbook.xml", Kind::Xlsx), ("content.xml", Kind::Ods)];
/// The part of a workbook in Excel's binary form.
const BINARY_WORKBOOK: &str = "xl/workbook.bin";

/// Opens a zip archive. Only the members whose names fit the pattern are read, in their order.
///
/// # Errors
/// What is wrong with it.
pub(super) fn open(
    file: &File,
    name: &str,
    pattern: Option<&str>,
    read: Arc<AtomicU64>,
) -> Result<Zip, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!("the directory at the end of the zip archive cannot be read: {error}")
    };
    directory::check(file)?;
    let file = file.try_clone().map_err(|error| failed(&error))?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| failed(&error))?;
    if zip.index_for_name(BINARY_WORKBOOK).is_some() {
        return Err(
            "it is a workbook in the binary form of Excel (xlsb); save it as xlsx".to_owned(),
        );
    }
    let mut known = SPREADSHEETS.iter();
    let kind = known.find(|(part, _)| zip.index_for_name(part).is_some());
    let mut members = Vec::new();
    for at in 0..zip.len() {
        let entry = zip.by_index_raw(at).map_err(|error| failed(&error))?;
        let name = entry.name().map_err(|error| failed(&error))?.into_owned();
        if entry.is_dir() {
            continue;
        }
        if kind.is_some() {
            // Most parts of a spreadsheet are not read: one that cannot be is not missed.
            members.extend(member(&entry, name).ok());
        } else if wanted(&name, pattern) {
            members.push(member(&entry, name)?);
        }
    }
    check_members(&members)?;
    let file = zip.into_inner().into_inner();
    let archive = |members: Vec<Member>| Archive {
        file: Arc::new(file),
        name: name.to_owned(),
        members: members.into_iter(),
        read,
    };
    Ok(match kind {
        Some((_, kind)) => Zip::Spreadsheet(*kind, Package::new(archive(Vec::new()), members)),
        None => Zip::Archive(archive(members)),
    })
}

/// Checks that an archive is not made to unpack to far more than it is.
fn check_members(members: &[Member]) -> Result<(), String> {
    if members.is_empty() {
        return Err("the zip archive has no file that is read".to_owned());
    }
    if members.len() > MAX_MEMBERS {
        return Err(format!(
            "the zip archive has {} files; at most {MAX_MEMBERS} are read",
            members.len()
        ));
    }
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_by_key(|member| member.start);
    let overlapping = sorted.windows(2).find(|pair| {
        let end = pair[0].start.saturating_add(pair[0].packed);
        end > pair[1].start
    });
    overlapping.map_or(Ok(()), |pair| {
        let (one, other) = (&pair[0].name, &pair[1].name);
        Err(format!(
            "{one:?} and {other:?} in the zip archive share bytes"
        ))
    })
}

/// Whether a member is read. What systems add of their own is not.
fn wanted(name: &str, pattern: Option<&str>) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let hidden = last.starts_with('.') || name.starts_with("__MACOSX/");
    !hidden && pattern.is_none_or(|pattern| fits(pattern, last))
}

fn member(entry: &zip::read::ZipFile<'_, impl Read>, name: String) -> Result<Member, String> {
    let method = match entry.compression() {
        _ if entry.encrypted() => return Err(format!("{name:?} in it is encrypted")),
        CompressionMethod::Stored => Method::Stored,
        CompressionMethod::Deflated => Method::Deflate,
        method if method == CompressionMethod::ZSTD => Method::Zstd,
        other => return Err(format!("{name:?} in it is packed with {other}")),
    };
    let start = entry.data_start();
    Ok(Member {
        start: start.ok_or_else(|| format!("{name:?} in it is nowhere"))?,
        packed: entry.compressed_size(),
        crc: entry.crc32(),
        method,
        name,
    })
}

impl Archive {
    /// The next member, and its bytes.
    pub(super) fn next(&mut self) -> Option<io::Result<(Member, Source)>> {
        let member = self.members.next()?;
        let source = self.source(&member);
        Some(source.map(|source| (member, source)))
    }

    /// The bytes of a member.
    pub(super) fn source(&self, member: &Member) -> io::Result<Source> {
        let section = Section::new(Arc::clone(&self.file), member.start, member.packed);
        let counted = Counted::new(section, Arc::clone(&self.read));
        let packed = Arc::new(AtomicU64::new(0));
        let input = BufReader::with_capacity(BUFFER_BYTES, counted);
        let input = Counted::new(input, Arc::clone(&packed));
        let unpacked: Box<dyn Read + Send> = match member.method {
            Method::Stored => Box::new(input),
            Method::Deflate => Box::new(DeflateDecoder::new(input)),
            Method::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
        };
        let bounded = Bounded::new(unpacked, packed);
        Ok(buffered(Checked {
            inner: bounded,
            crc: Crc::new(),
            expected: member.crc,
        }))
    }
}

/// A member whose checksum is compared at its end.
struct Checked<R> {
    inner: R,
    crc: Crc,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::other("its checksum is another one"));
        }
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}
