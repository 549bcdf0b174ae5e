//! Opening what is at a place: unpacking it, and finding out what its rows are.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use encoding_rs::UTF_8;

use super::address::RetryPolicy;
use super::csv_rows::CsvRows;
use super::detect::{self, ChosenRows, SAMPLE_BYTES};
use super::document::Document;
use super::json_rows::JsonRows;
use super::place::{Partition, Place};
use super::shape::Shaped;
use super::source::{self, Counted, Peeked, Source};
use super::unpack::{self, Archive, MAGIC_BYTES, MAX_LAYERS, Magic, Zip, magic};
use super::xml::XmlRows;
use super::{
    BUFFER_BYTES, Feed, FeedError, MAX_LINE_BYTES, RowForm, Rows, State, failed, parquet_rows,
    sheet,
};
use crate::{FeedForm, Format};

/// The maximum size of what is kept in a temporary file: formats that are read from their end, and
/// do not come from a file.
const MAX_KEPT_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// What is at a place.
pub(super) enum Opened {
    Feed(Box<Feed>),
    Archive(Archive),
}

/// Opens what is at a place; returns it with its size, if that is known.
pub(super) fn open(
    place: &Place,
    form: &FeedForm,
    read: &Arc<AtomicU64>,
) -> Result<(Opened, u64), FeedError> {
    let name = place.name();
    let wrong = |reason| FeedError::Form {
        path: PathBuf::from(&name),
        reason,
    };
    let file_name = place.file_name();
    let mut opening = Opening::new(&name, &file_name, form, read);
    if let Place::Part(_, partitions) = place {
        opening.partitions = partitions;
    }
    match place {
        Place::File(path) | Place::Part(path, _) => {
            let mut file = File::open(path).map_err(failed(path))?;
            let metadata = file.metadata().map_err(failed(path))?;
            if !metadata.is_file() {
                // A named pipe, for example, which cannot be read twice.
                let opened = opening.source(buffered(file, read));
                return Ok((opened.map_err(wrong)?, 0));
            }
            let magic = magic_of(&mut file).map_err(failed(path))?;
            let opened = match magic {
                Magic::Gzip | Magic::Zstd | Magic::None => opening.source(buffered(file, read)),
                magic => opening.file(&file, magic),
            };
            Ok((opened.map_err(wrong)?, metadata.len()))
        }
        Place::Address(address) => {
            let fetched = address.open(RetryPolicy::default());
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
pub(super) fn of_member(
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
pub(super) struct Opening<'o> {
    /// Its name in reports, and that of its file.
    name: &'o str,
    file_name: &'o str,
    form: &'o FeedForm,
    read: Arc<AtomicU64>,
    pub(super) max_bytes: usize,
    /// The columns that the names of its folders have.
    partitions: &'o [Partition],
    /// What it is packed in.
    packed: Vec<&'static str>,
}

impl<'o> Opening<'o> {
    pub(super) fn new(
        name: &'o str,
        file_name: &'o str,
        form: &'o FeedForm,
        read: &Arc<AtomicU64>,
    ) -> Self {
        Self {
            name,
            file_name,
            form,
            read: Arc::clone(read),
            max_bytes: MAX_LINE_BYTES,
            partitions: &[],
            packed: Vec::new(),
        }
    }

    /// Opens what a source has, unpacked.
    pub(super) fn source(mut self, mut source: Source) -> Result<Opened, String> {
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
                    return self.file(&kept, magic);
                }
            };
        }
    }

    /// Opens a file that is read from its end.
    fn file(self, file: &File, magic: Magic) -> Result<Opened, String> {
        let (kind, package) = match magic {
            Magic::Parquet => return self.parquet(file),
            Magic::OldExcel => {
                let reason = "it is a file of Excel before 2007, or has a password; save it as xlsx \
                              without one";
                return Err(reason.to_owned());
            }
            _ => {
                let pattern = self.form.files.as_deref();
                match unpack::open(file, self.name, pattern, Arc::clone(&self.read))? {
                    Zip::Archive(archive) => return Ok(Opened::Archive(archive)),
                    Zip::Spreadsheet(kind, package) => (kind, package),
                }
            }
        };
        self.expects(Format::Excel, kind.name())?;
        let form = RowForm {
            columns: self.form.columns.clone(),
            skip: self.form.skip_lines,
            ..RowForm::default()
        };
        let read = Arc::clone(&self.read);
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        let sheet = self.form.sheet.as_deref();
        let opened = sheet::rows(package, kind, sheet, form, read, size)?;
        let mut feed = self.feed(&opened.described, Rows::Background(opened.rows));
        feed.sheets = opened.shown;
        Ok(Opened::Feed(Box::new(feed)))
    }

    fn parquet(self, file: &File) -> Result<Opened, String> {
        self.expects(Format::Parquet, "Parquet")?;
        let opened = parquet_rows::rows(file, Arc::clone(&self.read))?;
        let feed = self.feed(&opened.described, Rows::Background(opened.rows));
        Ok(Opened::Feed(Box::new(feed)))
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
        let state = if beginning.is_empty() {
            State::Empty
        } else {
            State::NoRow
        };
        drop(beginning);
        let known = chosen.encoding;
        let form = RowForm {
            columns: self.form.columns.clone(),
            skip: self.form.skip_lines,
            encoding: known.encoding,
            max_bytes: self.max_bytes,
            local_names: self.form.local_names,
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
            ChosenRows::Table(dialect, skip) => {
                let form = RowForm { skip, ..form };
                settings.delimiter = Some(dialect.delimiter);
                settings.escape = dialect.escape;
                let rows = CsvRows::new(source, dialect, form)?;
                (dialect.to_string(), Rows::Table(Box::new(rows)))
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
        let feed = self.feed_with(settings, &described, rows, state);
        Ok(Opened::Feed(Box::new(feed)))
    }

    fn feed(&self, described: &str, rows: Rows) -> Feed {
        self.feed_with(self.form.clone(), described, rows, State::NoRow)
    }

    /// The feed of rows, with the settings that were found out.
    fn feed_with(&self, form: FeedForm, described: &str, rows: Rows, state: State) -> Feed {
        let packed = self.packed.iter().map(|packed| format!(", {packed}"));
        Feed {
            name: self.name.to_owned(),
            described: format!("{described}{}", packed.collect::<String>()),
            rows: Shaped::new(rows, &form, self.partitions),
            form,
            sheets: Vec::new(),
            last: 0,
            state,
        }
    }
}
