//! How the files of a feed are read: the settings of their format.

use encoding_rs::Encoding;
use vitrine_formats::{FeedForm, Format, RowsPath, RowsStep};

use super::error::MappingError;
use super::path::{Path, PathStep};
use super::section::Section;
use super::shape;

/// The words of formats.
const FORMATS: [(&str, Format); 8] = [
    ("auto", Format::Auto),
    ("jsonl", Format::JsonLines),
    ("json", Format::Json),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("xml", Format::Xml),
    ("excel", Format::Excel),
    ("parquet", Format::Parquet),
];

/// Whether the files of a format are text.
fn is_text(format: Format) -> bool {
    !matches!(format, Format::Excel | Format::Parquet)
}

/// Reads the settings of files.
pub(super) fn read(section: &Section<'_>) -> Result<FeedForm, MappingError> {
    let format = section.choice("format", &FORMATS)?;
    let form = FeedForm {
        format: format.unwrap_or_default(),
        delimiter: delimiter(section)?,
        escape: escape(section)?,
        columns: columns(section)?,
        skip_lines: skip_lines(section)?,
        unpivot: shape::unpivots(section)?,
        gather: shape::gather(section)?,
        rows: rows(section)?,
        local_names: section.flag("local_names", false)?,
        encoding: encoding(section)?,
        sheet: section.text("sheet")?.map(str::to_owned),
        files: section.text("files")?.map(str::to_owned),
        ..FeedForm::default()
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
            "escape",
            form.escape.is_some(),
            of(&[Format::Csv, Format::Tsv]),
        ),
        (
            "rows",
            form.rows.is_some(),
            of(&[Format::Json, Format::Xml]),
        ),
        ("local_names", form.local_names, of(&[Format::Xml])),
        ("encoding", form.encoding.is_some(), is_text(format)),
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
    let word = FORMATS.iter().find(|(_, known)| *known == format);
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

fn escape(section: &Section<'_>) -> Result<Option<u8>, MappingError> {
    match section.text("escape")?.map(str::as_bytes) {
        None => Ok(None),
        Some([byte]) if byte.is_ascii_punctuation() && *byte != b'"' => Ok(Some(*byte)),
        Some(_) => {
            let reason = "must be one sign that stands before quotation marks, such as \\";
            Err(section.invalid("escape", reason))
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
    let path = rows_path(text).map_err(|reason| section.invalid("rows", reason))?;
    Ok(Some(path))
}

/// Parses the path of rows.
fn rows_path(text: &str) -> Result<RowsPath, String> {
    let path = Path::parse_with_wildcards(text)?;
    if !path.is_relative() {
        return Err(format!("{text:?}: ^ has no meaning here"));
    }
    let steps = path.steps().iter().map(|step| match step {
        PathStep::Key(key) => Ok(RowsStep::Key(key.clone())),
        PathStep::Each => Ok(RowsStep::Each),
        PathStep::Any => Ok(RowsStep::Any),
        PathStep::At(_) | PathStep::With(..) | PathStep::AnyDeep => Err(format!(
            "{text:?}: only keys, [] for every item of a list, and * for every value of an object \
             lead to the rows"
        )),
    });
    steps.collect()
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
