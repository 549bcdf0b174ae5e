//! Reading rows of feeds: JSON Lines, JSON, CSV, XML, spreadsheets and Parquet; plain, packed or in
//! archives; in files, folders, at addresses, and on standard input. Memory does not grow with the
//! feed.
//!
//! An unreadable line is returned with the reason, and the following lines are read. Only the rest
//! of a damaged file, such as a truncated gzip, cannot be read.
//!
//! | module | contents |
//! |---|---|
//! | `place`, `address`, `source` | where the bytes come from |
//! | `unpack` | gzip, Zstandard, zip |
//! | `detect`, `encoding` | which format and encoding a text has |
//! | `lines`, `json_rows`, `csv_rows`, `document`, `xml` | rows of text |
//! | `sheet`, `parquet_rows`, `background` | rows of binary formats |

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use encoding_rs::{Encoding, UTF_8};
use serde_json::Value;

use crate::mapping::{FeedForm, Format};

mod address;
mod background;
mod csv_rows;
mod detect;
mod document;
mod encoding;
#[cfg(test)]
pub(crate) mod fixtures;
mod json_rows;
mod lines;
mod parquet_rows;
mod place;
mod sheet;
mod source;
mod unpack;
mod xml;

use address::Patience;
use background::Background;
use csv_rows::CsvRows;
use detect::{ChosenRows, SAMPLE_BYTES};
use document::Document;
use json_rows::JsonRows;
use place::Place;
pub use place::file_name;
use source::{Counted, Peeked, Source};
use unpack::{Archive, MAGIC_BYTES, MAX_LAYERS, Magic, Zip, magic};
use xml::XmlRows;

/// The maximum length of a line, CSV record or row of a document, in bytes; longer ones are
/// rejected without being held in memory.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// The maximum size of what is kept in a temporary file: formats that are read from their end, and
/// do not come from a file.
const MAX_KEPT_BYTES: u64 = 16 * 1024 * 1024 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// One line of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedLine {
    /// Its number in the file, from 1; the number of the first line of a CSV record or of a row of
    /// a document. Of several rows that begin in one line, the second has the next number.
    pub number: u64,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its content.
    pub row: Row,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Nothing.
    Blank,
    /// An object.
    Object(Value),
    /// It is not valid, for this reason.
    Unreadable(String),
    /// The rest of the file cannot be read, for this reason. The last line.
    Broken(String),
}

/// Why a feed cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{}: {reason}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What the readers of rows need to know.
#[derive(Clone, Debug)]
struct RowForm {
    columns: Option<Vec<String>>,
    encoding: &'static Encoding,
    max_bytes: usize,
}

impl Default for RowForm {
    fn default() -> Self {
        Self {
            columns: None,
            encoding: UTF_8,
            max_bytes: MAX_LINE_BYTES,
        }
    }
}

/// The feeds of an import, one after another: of a folder its files, of an archive its members.
pub struct Feeds {
    form: FeedForm,
    places: std::vec::IntoIter<Place>,
    archive: Option<Archive>,
    /// The bytes of the places that were read, and of the one that is being read.
    before: u64,
    read: Arc<AtomicU64>,
    /// The bytes of the place that is being read, and of all.
    size: u64,
    total: u64,
}

/// A feed: an iterator over the lines of a file.
pub struct Feed {
    name: String,
    described: String,
    form: FeedForm,
    rows: Rows,
    last: u64,
}

enum Rows {
    Lines(JsonRows<Source>),
    Document(Document<Source>),
    Table(CsvRows<Source>),
    Xml(Box<XmlRows<Source>>),
    Background(Background),
}

/// What is at a place.
enum Opened {
    Feed(Box<Feed>),
    Archive(Archive),
}

impl Feeds {
    /// Finds the feeds. Those in files are opened once, so that an import does not fail half way.
    ///
    /// # Errors
    /// [`FeedError`] if one cannot be opened or has another format.
    pub fn open(paths: &[PathBuf], form: &FeedForm) -> Result<Self, FeedError> {
        let mut places = Vec::new();
        for path in paths {
            places.extend(place::places(path, form.files.as_deref())?);
        }
        let inputs = places
            .iter()
            .filter(|place| **place == Place::StandardInput);
        if inputs.count() > 1 {
            let path = PathBuf::from("-");
            let reason = "standard input can be read once".to_owned();
            return Err(FeedError::Form { path, reason });
        }
        // What is no file, such as a pipe, can be read once.
        let is_file = |place: &&Place| matches!(place, Place::File(path) if path.is_file());
        let files: Vec<Place> = places.iter().filter(is_file).cloned().collect();
        let mut files = Self::of(files, form);
        for feed in files.by_ref() {
            feed?;
        }
        let total = files.total;
        Ok(Self {
            total,
            ..Self::of(places, form)
        })
    }

    fn of(places: Vec<Place>, form: &FeedForm) -> Self {
        Self {
            form: form.clone(),
            places: places.into_iter(),
            archive: None,
            before: 0,
            read: Arc::default(),
            size: 0,
            total: 0,
        }
    }

    /// The number of bytes read so far, before unpacking, and of all that are known.
    #[must_use]
    pub fn position(&self) -> (u64, u64) {
        let read = self.read.load(Ordering::Relaxed);
        // What comes from standard input has no size before its end.
        let read = if self.size == 0 {
            read
        } else {
            read.min(self.size)
        };
        let position = self.before + read;
        (position, self.total.max(position))
    }

    fn opened(&mut self, place: &Place) -> Result<Opened, FeedError> {
        self.before += self.size;
        self.read = Arc::default();
        let (opened, size) = open(place, &self.form, &self.read)?;
        self.size = size;
        self.total = self.total.max(self.before + self.size);
        Ok(opened)
    }
}

impl Iterator for Feeds {
    type Item = Result<Feed, FeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(archive) = &mut self.archive {
                if let Some(member) = archive.next() {
                    return Some(of_member(archive, member, &self.form));
                }
                self.archive = None;
                // What is left is the directory.
                self.read.store(self.size, Ordering::Relaxed);
            }
            let place = self.places.next()?;
            match self.opened(&place) {
                Ok(Opened::Feed(feed)) => return Some(Ok(*feed)),
                Ok(Opened::Archive(archive)) => self.archive = Some(archive),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Feed {
    /// Opens a feed: the first one of a folder or an archive.
    ///
    /// # Errors
    /// [`FeedError`] if it cannot be opened or has another format.
    pub fn open(path: &Path, form: &FeedForm) -> Result<Self, FeedError> {
        let places = place::places(path, form.files.as_deref())?;
        let first = Feeds::of(places, form).next();
        first.unwrap_or_else(|| {
            let path = path.to_owned();
            let reason = "there is no feed in it".to_owned();
            Err(FeedError::Form { path, reason })
        })
    }

    /// Its name in reports: the path of the file, with that in its archive.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is read: `CSV with ; in windows-1252 (detected), gzip`.
    #[must_use]
    pub fn described(&self) -> &str {
        &self.described
    }

    /// How it is read, as settings.
    pub(crate) fn form(&self) -> &FeedForm {
        &self.form
    }
}

impl Iterator for Feed {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        let mut line = self.rows.next()?;
        if let Row::Broken(reason) = &mut line.row {
            let last = self.last;
            *reason = if last == 0 {
                format!("{reason}; nothing was read before")
            } else {
                format!("{reason}; what is before it was read, up to line {last}")
            };
        } else {
            self.last = line.number;
        }
        Some(line)
    }
}

impl Iterator for Rows {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        match self {
            Self::Lines(rows) => rows.next(),
            Self::Document(rows) => rows.next(),
            Self::Table(rows) => rows.next(),
            Self::Xml(rows) => rows.next(),
            Self::Background(rows) => rows.next(),
        }
    }
}

/// Reads bytes as a file of this name would be read.
///
/// # Errors
/// Why they cannot be read.
pub(crate) fn read(
    bytes: Vec<u8>,
    name: &str,
    form: &FeedForm,
) -> Result<impl Iterator<Item = FeedLine> + use<>, String> {
    let source: Source = Box::new(Cursor::new(bytes));
    let opening = Opening::new(name, name, form, &Arc::default());
    let (form, name) = (form.clone(), name.to_owned());
    let feeds = match opening.source(source)? {
        Opened::Feed(feed) => vec![*feed],
        Opened::Archive(mut archive) => {
            let mut feeds = Vec::new();
            while let Some(member) = archive.next() {
                let feed = of_member(&archive, member, &form);
                feeds.push(feed.map_err(|error| match error {
                    FeedError::Form { reason, .. } => reason,
                    FeedError::Read { source, .. } => format!("{name}: {source}"),
                })?);
            }
            feeds
        }
    };
    Ok(feeds.into_iter().flatten())
}

/// The reason why the rest of a file cannot be read.
fn broken(reason: &str) -> String {
    format!("the rest of the file cannot be read: {reason}")
}

/// The error of a file.
fn failed(path: &Path) -> impl Fn(io::Error) -> FeedError {
    |source| FeedError::Read {
        path: path.to_owned(),
        source,
    }
}

/// Opens what is at a place; returns it with its size, if that is known.
fn open(place: &Place, form: &FeedForm, read: &Arc<AtomicU64>) -> Result<(Opened, u64), FeedError> {
    let name = place.name();
    let wrong = |reason| FeedError::Form {
        path: PathBuf::from(&name),
        reason,
    };
    let file_name = place.file_name();
    let opening = Opening::new(&name, &file_name, form, read);
    match place {
        Place::File(path) => {
            let mut file = File::open(path).map_err(failed(path))?;
            let size = file.metadata().map_err(failed(path))?.len();
            let magic = magic_of(&mut file).map_err(failed(path))?;
            let opened = match magic {
                Magic::Gzip | Magic::Zstd | Magic::None => opening.source(buffered(file, read)),
                magic => opening.file(file, magic),
            };
            Ok((opened.map_err(wrong)?, size))
        }
        Place::Address(address) => {
            let fetched = address.open(Patience::default());
            let (fetched, size) = fetched.map_err(&wrong)?;
            let source = Box::new(Counted::new(fetched, Arc::clone(read)));
            Ok((opening.source(source).map_err(wrong)?, size.unwrap_or(0)))
        }
        Place::StandardInput => {
            let opened = opening.source(buffered(io::stdin(), read));
            Ok((opened.map_err(wrong)?, 0))
        }
    }
}

fn buffered(reader: impl io::Read + Send + 'static, read: &Arc<AtomicU64>) -> Source {
    let counted = Counted::new(reader, Arc::clone(read));
    Box::new(BufReader::with_capacity(BUFFER_BYTES, counted))
}

fn magic_of(file: &mut File) -> io::Result<Magic> {
    let mut beginning = Vec::new();
    file.take(MAGIC_BYTES as u64).read_to_end(&mut beginning)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(magic(&beginning))
}

/// Opens a member of an archive.
fn of_member(
    archive: &Archive,
    member: io::Result<(unpack::Member, Source)>,
    form: &FeedForm,
) -> Result<Feed, FeedError> {
    let path = Path::new(&archive.name);
    let (member, source) = member.map_err(failed(path))?;
    let name = format!("{}/{}", archive.name, member.name);
    let opening = Opening::new(&name, &member.name, form, &Arc::default());
    let reason = match opening.source(source) {
        Ok(Opened::Feed(feed)) => return Ok(*feed),
        Ok(Opened::Archive(_)) => "an archive in an archive is not read".to_owned(),
        Err(reason) => reason,
    };
    let path = PathBuf::from(name);
    Err(FeedError::Form { path, reason })
}

/// A feed that is being opened.
struct Opening<'o> {
    /// Its name in reports, and that of its file.
    name: &'o str,
    file_name: &'o str,
    form: &'o FeedForm,
    read: Arc<AtomicU64>,
    max_bytes: usize,
    /// What it is packed in.
    packed: Vec<&'static str>,
}

impl<'o> Opening<'o> {
    fn new(name: &'o str, file_name: &'o str, form: &'o FeedForm, read: &Arc<AtomicU64>) -> Self {
        Self {
            name,
            file_name,
            form,
            read: Arc::clone(read),
            max_bytes: MAX_LINE_BYTES,
            packed: Vec::new(),
        }
    }

    /// Opens what a source has, unpacked.
    fn source(mut self, mut source: Source) -> Result<Opened, String> {
        loop {
            let mut peeked = Peeked::new(source);
            let magic = magic(peeked.beginning(MAGIC_BYTES));
            source = match magic {
                Magic::None => return self.text(peeked),
                _ if self.packed.len() == MAX_LAYERS => {
                    return Err(format!("it is packed more than {MAX_LAYERS} times"));
                }
                Magic::Gzip => {
                    self.packed.push("gzip");
                    unpack::gzip(peeked)
                }
                Magic::Zstd => {
                    self.packed.push("zstd");
                    unpack::zstd(peeked).map_err(|error| error.to_string())?
                }
                magic => {
                    let kept = source::kept(peeked, MAX_KEPT_BYTES);
                    let kept = kept.map_err(|error| format!("it cannot be read: {error}"))?;
                    // It was counted when it was kept.
                    self.read = Arc::default();
                    return self.file(kept, magic);
                }
            };
        }
    }

    /// Opens a file that is read from its end.
    fn file(self, file: File, magic: Magic) -> Result<Opened, String> {
        let kind = match magic {
            Magic::Parquet => return self.parquet(file),
            Magic::OldExcel => {
                return Err("it is a file of Excel before 2007; save it as xlsx".to_owned());
            }
            _ => {
                let pattern = self.form.files.as_deref();
                match unpack::open(&file, self.name, pattern, Arc::clone(&self.read))? {
                    Zip::Archive(archive) => return Ok(Opened::Archive(archive)),
                    Zip::Spreadsheet(kind) => kind,
                }
            }
        };
        self.expects(Format::Excel, kind.name())?;
        let form = RowForm {
            columns: self.form.columns.clone(),
            ..RowForm::default()
        };
        let read = Arc::clone(&self.read);
        let sheet = self.form.sheet.clone();
        let (rows, described) = sheet::rows(file, kind, sheet, form, read)?;
        Ok(self.feed(&described, Rows::Background(rows)))
    }

    fn parquet(self, file: File) -> Result<Opened, String> {
        self.expects(Format::Parquet, "Parquet")?;
        let rows = parquet_rows::rows(file, Arc::clone(&self.read))?;
        Ok(self.feed("Parquet", Rows::Background(rows)))
    }

    /// Checks that the mapping does not say that it is something else.
    fn expects(&self, found: Format, name: &str) -> Result<(), String> {
        if self.form.format == Format::Auto || self.form.format == found {
            return Ok(());
        }
        Err(format!(
            "it is {name}, and `format` in the mapping says that it is not"
        ))
    }

    fn text(self, mut source: Peeked) -> Result<Opened, String> {
        if matches!(self.form.format, Format::Excel | Format::Parquet) {
            return Err("it is text, and `format` in the mapping says that it is not".to_owned());
        }
        let beginning = source.beginning(SAMPLE_BYTES).to_vec();
        let chosen = detect::choose(&beginning, source.is_whole(), self.file_name, self.form)?;
        drop(beginning);
        let known = chosen.encoding;
        let form = RowForm {
            columns: self.form.columns.clone(),
            encoding: known.encoding,
            max_bytes: self.max_bytes,
        };
        let source = match chosen.rows {
            ChosenRows::Xml(_) => known.text(source),
            _ => known.lines(source),
        };
        let mut settings = self.form.clone();
        let (mut described, rows) = match chosen.rows {
            ChosenRows::JsonLines => {
                let rows = JsonRows::new(source, form);
                ("JSON Lines".to_owned(), Rows::Lines(rows))
            }
            ChosenRows::Json(path) => {
                let described = format!("JSON, rows at {path}");
                settings.rows = Some(path.clone());
                (described, Rows::Document(Document::new(source, path, form)))
            }
            ChosenRows::Table(delimiter) => {
                let described = match delimiter {
                    b'\t' => "TSV".to_owned(),
                    b',' => "CSV".to_owned(),
                    other => format!("CSV with {}", char::from(other)),
                };
                settings.delimiter = Some(delimiter);
                (
                    described,
                    Rows::Table(CsvRows::new(source, delimiter, form)?),
                )
            }
            ChosenRows::Xml(path) => {
                let described = format!("XML, rows at {path}");
                settings.rows = Some(path.clone());
                let rows = XmlRows::new(source, &path, form);
                (described, Rows::Xml(Box::new(rows)))
            }
        };
        if known.encoding != UTF_8 {
            described = format!("{described} in {known}");
            settings.encoding = Some(known.encoding);
        }
        Ok(self.feed_with(settings, &described, rows))
    }

    fn feed(&self, described: &str, rows: Rows) -> Opened {
        self.feed_with(self.form.clone(), described, rows)
    }

    /// The feed of rows, with the settings that were found out.
    fn feed_with(&self, form: FeedForm, described: &str, rows: Rows) -> Opened {
        let packed = self.packed.iter().map(|packed| format!(", {packed}"));
        Opened::Feed(Box::new(Feed {
            name: self.name.to_owned(),
            described: format!("{described}{}", packed.collect::<String>()),
            form,
            rows,
            last: 0,
        }))
    }
}

#[cfg(test)]
mod tests;
