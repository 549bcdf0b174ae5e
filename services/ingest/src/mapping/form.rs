//! How the files of a feed are read: the settings of their format.

use std::fmt;

use encoding_rs::Encoding;

use super::error::MappingError;
use super::path::{Path, PathStep};
use super::section::Section;
use super::shape::{self, Gather, Unpivot};

/// The format of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Determined by the name and the first bytes.
    #[default]
    Auto,
    /// One JSON object per line.
    JsonLines,
    /// One JSON document: an array of rows, or an object with the rows in it.
    Json,
    /// Comma-separated values (RFC 4180) with a header; also with other delimiters.
    Csv,
    /// The same, with tabs.
    Tsv,
    /// XML.
    Xml,
    /// A spreadsheet of Excel or `OpenDocument`.
    Excel,
    /// Parquet.
    Parquet,
}

impl Format {
    const WORDS: [(&'static str, Self); 8] = [
        ("auto", Self::Auto),
        ("jsonl", Self::JsonLines),
        ("json", Self::Json),
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
        ("xml", Self::Xml),
        ("excel", Self::Excel),
        ("parquet", Self::Parquet),
    ];

    /// Whether the files are text.
    fn is_text(self) -> bool {
        !matches!(self, Self::Excel | Self::Parquet)
    }
}

/// How the files of a feed are read. What is not set is found out from the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedForm {
    /// The format.
    pub format: Format,
    /// The delimiter of CSV.
    pub delimiter: Option<u8>,
    /// The names of the columns, for rows that are lists and for tables without a header.
    pub columns: Option<Vec<String>>,
    /// The number of lines before the header of a table.
    pub skip_lines: u64,
    /// Columns that become the items of lists.
    pub unpivot: Vec<Unpivot>,
    /// Lines of one key that become one row.
    pub gather: Option<Gather>,
    /// Where the rows are in a document.
    pub rows: Option<RowsPath>,
    /// The encoding of text.
    pub encoding: Option<&'static Encoding>,
    /// The sheet of a spreadsheet.
    pub sheet: Option<String>,
    /// Which files of a folder or an archive are read: a name with `*` and `?`.
    pub files: Option<String>,
    /// Whether the place of the rows in a document is guessed, as for a first mapping.
    pub guess_rows: bool,
}

/// The place of the rows in a document: `data.products`, `rss.channel.item`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsPath(Vec<RowsStep>);

/// One step to the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowsStep {
    /// Into the value of a key, or an element of this name.
    Key(String),
    /// Into every item of a list.
    Each,
}

impl RowsPath {
    /// Parses the path of rows.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = Path::parse(text)?;
        if !path.is_relative() {
            return Err(format!("{text:?}: ^ has no meaning here"));
        }
        let steps = path.steps().iter().map(|step| match step {
            PathStep::Key(key) => Ok(RowsStep::Key(key.clone())),
            PathStep::Each => Ok(RowsStep::Each),
            PathStep::At(_) | PathStep::With(..) | PathStep::Any | PathStep::AnyDeep => Err(
                format!("{text:?}: only keys, and [] for every item of a list, lead to the rows"),
            ),
        });
        Ok(Self(steps.collect::<Result<_, _>>()?))
    }

    /// The path of these keys.
    pub(crate) fn of_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        let keys = keys.into_iter();
        Self(keys.map(|key| RowsStep::Key(key.to_owned())).collect())
    }

    pub(crate) fn steps(&self) -> &[RowsStep] {
        &self.0
    }

    /// The keys, without the lists between them.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let keys = self.0.iter().filter_map(|step| match step {
            RowsStep::Key(key) => Some(key.as_str()),
            RowsStep::Each => None,
        });
        keys.collect()
    }
}

impl fmt::Display for RowsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in &self.0 {
            match step {
                RowsStep::Key(key) => super::push_key(&mut text, key),
                RowsStep::Each => text.push_str("[]"),
            }
        }
        f.write_str(if text.is_empty() { "." } else { &text })
    }
}

/// Reads the settings of files.
pub(super) fn read(section: &Section<'_>) -> Result<FeedForm, MappingError> {
    let format = section.choice("format", &Format::WORDS)?;
    let form = FeedForm {
        format: format.unwrap_or_default(),
        delimiter: delimiter(section)?,
        columns: columns(section)?,
        skip_lines: skip_lines(section)?,
        unpivot: shape::unpivots(section)?,
        gather: shape::gather(section)?,
        rows: rows(section)?,
        encoding: encoding(section)?,
        sheet: section.text("sheet")?.map(str::to_owned),
        files: section.text("files")?.map(str::to_owned),
        guess_rows: false,
    };
    effective(section, &form)?;
    Ok(form)
}

/// Refuses settings that other settings make meaningless.
fn effective(section: &Section<'_>, form: &FeedForm) -> Result<(), MappingError> {
    let format = form.format;
    let of = |formats: &[Format]| format == Format::Auto || formats.contains(&format);
    let checks = [
        ("delimiter", form.delimiter.is_some(), of(&[Format::Csv])),
        (
            "rows",
            form.rows.is_some(),
            of(&[Format::Json, Format::Xml]),
        ),
        ("encoding", form.encoding.is_some(), format.is_text()),
        ("sheet", form.sheet.is_some(), of(&[Format::Excel])),
        (
            "skip_lines",
            form.skip_lines > 0,
            of(&[Format::Csv, Format::Tsv, Format::Excel]),
        ),
        (
            "columns",
            form.columns.is_some(),
            !matches!(format, Format::Xml | Format::Parquet),
        ),
    ];
    let useless = checks.iter().find(|(_, set, useful)| *set && !useful);
    let Some((name, ..)) = useless else {
        return Ok(());
    };
    let word = Format::WORDS.iter().find(|(_, known)| *known == format);
    let word = word.map_or("auto", |(word, _)| word);
    Err(section.invalid(name, format!("has no effect with format = {word:?}")))
}

fn delimiter(section: &Section<'_>) -> Result<Option<u8>, MappingError> {
    match section.text("delimiter")?.map(str::as_bytes) {
        None => Ok(None),
        Some([byte]) if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(Some(*byte)),
        Some(_) => {
            Err(section.invalid("delimiter", "must be one ASCII character such as ; or \\t"))
        }
    }
}

fn columns(section: &Section<'_>) -> Result<Option<Vec<String>>, MappingError> {
    if section.value("columns").is_none() {
        return Ok(None);
    }
    let names = section.texts("columns")?;
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(section.invalid("columns", format!("{name:?} is there twice")));
        }
    }
    Ok(Some(names.into_iter().map(str::to_owned).collect()))
}

/// The maximum number of lines before a header.
const MAX_SKIPPED_LINES: u64 = 1000;

fn skip_lines(section: &Section<'_>) -> Result<u64, MappingError> {
    let Some(value) = section.value("skip_lines") else {
        return Ok(0);
    };
    let lines = value
        .as_integer()
        .and_then(|lines| u64::try_from(lines).ok());
    let lines = lines.filter(|lines| *lines <= MAX_SKIPPED_LINES);
    lines.ok_or_else(|| {
        let reason = format!("must be a whole number, 0 to {MAX_SKIPPED_LINES}");
        section.invalid("skip_lines", reason)
    })
}

fn rows(section: &Section<'_>) -> Result<Option<RowsPath>, MappingError> {
    let Some(text) = section.text("rows")? else {
        return Ok(None);
    };
    let path = RowsPath::parse(text).map_err(|reason| section.invalid("rows", reason))?;
    Ok(Some(path))
}

fn encoding(section: &Section<'_>) -> Result<Option<&'static Encoding>, MappingError> {
    let Some(label) = section.text("encoding")? else {
        return Ok(None);
    };
    let known = Encoding::for_label(label.as_bytes());
    known.map(Some).ok_or_else(|| {
        let reason = format!(
            "{label:?} is no encoding that is known here; examples: utf-8, windows-1252, \
             iso-8859-15, utf-16le, shift_jis"
        );
        section.invalid("encoding", reason)
    })
}
