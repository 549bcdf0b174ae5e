//! A first mapping for a feed that nobody has described: guesses from its first rows, each with the
//! reason or a remark about what is unsure.
//!
//! | module | contents |
//! |---|---|
//! | `opening` | how the file is read: where its rows are, what stands above a header |
//! | `paths`, `gathered` | what the rows have: paths with their values, lines of one product |
//! | `heading`, `meanings` | what a heading says; the words of each meaning are in `meanings.toml` |
//! | `values`, `dates` | how numbers, amounts, quantities, flags and dates are written |
//! | `guess` | which path is which field, and what becomes a spec |
//! | `formats` | exports that a shipped mapping reads |

use std::fmt::Write as _;
use std::path::Path;

use vitrine_formats::{FeedError, FeedForm, Format, RowsPath, file_name};

mod dates;
mod formats;
mod gathered;
mod guess;
mod heading;
mod meanings;
mod opening;
mod paths;
mod values;

use formats::KnownFormat;
use guess::{Guess, GuessedTable, Guesses, quoted};
use opening::Opened;

/// The number of rows that are looked at first, one after another.
pub const ROWS: usize = 1000;
/// The number of rows after these of which some are looked at: one of [`EACH`]. What a feed has of
/// its last category may stand in no row of its first.
pub const FURTHER_ROWS: usize = 100_000;
/// Of so many further rows one is looked at.
pub const EACH: usize = 50;

/// Reads the first rows of a feed and returns a first mapping as TOML.
///
/// # Errors
/// [`FeedError`] if the file cannot be opened.
pub fn first_mapping(file: &Path) -> Result<String, FeedError> {
    first_mapping_of_sheet(file, None)
}

/// As [`first_mapping`], of this sheet of a spreadsheet. Without a name it is the one that says the
/// most of products or reviews.
///
/// # Errors
/// [`FeedError`] if the file cannot be opened, or has no such sheet.
pub fn first_mapping_of_sheet(file: &Path, sheet: Option<&str>) -> Result<String, FeedError> {
    let opened = Opened::of(file, sheet)?;
    let name = file_name(file);
    let guesses = Guesses::of(&opened.paths, &opened.lines);
    let mut text = String::new();
    let _ = write(&mut text, &name, &opened, &guesses);
    Ok(text)
}

fn write(out: &mut String, file: &str, opened: &Opened, guesses: &Guesses) -> std::fmt::Result {
    heading_of(out, file, opened)?;
    writeln!(out, "version = 1")?;
    writeln!(out, "system = {:?}", system(file))?;
    settings(out, &opened.form)?;
    lines_of_rows(out, opened, guesses)?;
    tables(out, &guesses.before)?;
    writeln!(out, "\n[defaults]")?;
    writeln!(out, "unknown = {:?}", guesses.unknown)?;
    if let Some(signs) = &guesses.replace_start {
        writeln!(
            out,
            "# Programs put an apostrophe before what a spreadsheet would compute."
        )?;
        writeln!(out, "replace_start = {signs}")?;
    }
    let section = if guesses.reviews { "review" } else { "product" };
    writeln!(out, "\n[{section}]")?;
    guesses
        .fields
        .iter()
        .try_for_each(|guess| field(out, guess))?;
    tables(out, &guesses.tables)?;
    for remark in &guesses.remarks {
        writeln!(out, "\n# unsure: {remark}")?;
    }
    writeln!(out, "\n# What the rows have:")?;
    for (path, facts) in opened.paths.all() {
        writeln!(out, "#   {path}: {}", facts.described(opened.paths.rows()))?;
    }
    Ok(())
}

/// Writes what was read, and what to do with the mapping.
fn heading_of(out: &mut String, file: &str, opened: &Opened) -> std::fmt::Result {
    let (rows, described) = (opened.paths.rows(), &opened.described);
    writeln!(
        out,
        "# A first mapping of {file}, guessed from {rows} rows. It is {described}."
    )?;
    writeln!(
        out,
        "# Check every line that says `unsure`, then look at what becomes of the rows:"
    )?;
    writeln!(
        out,
        "#   vitrine import {file} --mapping THIS_FILE --sample 3"
    )?;
    let others = opened.other_sheets();
    if !others.is_empty() {
        let others = others.join(", ");
        writeln!(
            out,
            "# Its other sheets are {others}; `sheet` takes one of them."
        )?;
    }
    let Some(KnownFormat { name, mapping, .. }) = KnownFormat::of(&opened.paths) else {
        return Ok(());
    };
    writeln!(
        out,
        "# This is {name}. The shipped mapping `{mapping}` reads it, too; this one has besides what only this file has:"
    )?;
    writeln!(out, "#   vitrine import {file} --mapping {mapping}")
}

/// Writes which lines are one row.
fn lines_of_rows(out: &mut String, opened: &Opened, guesses: &Guesses) -> std::fmt::Result {
    if let Some(gathered) = &guesses.gathered {
        writeln!(
            out,
            "\n# Only the first line of a product has its name; the other lines with its key belong to it."
        )?;
        writeln!(out, "[gather]")?;
        let key = heading::steps(&gathered.key).concat();
        writeln!(out, "key = {}", quoted(&key))?;
        writeln!(out, "as = \"lines\"")?;
    }
    if let Some(key) = &opened.continued {
        writeln!(
            out,
            "\n# Lines without {key} continue the one above: their empty cells mean what it says."
        )?;
        writeln!(out, "[fill_down]")?;
        writeln!(out, "key = {}", quoted(key))?;
    }
    Ok(())
}

fn tables(out: &mut String, tables: &[GuessedTable]) -> std::fmt::Result {
    for table in tables {
        writeln!(out, "\n{}", table.setting)?;
        table.lines.iter().try_for_each(|guess| field(out, guess))?;
    }
    Ok(())
}

/// Writes how the files are read, as far as that is not usual.
fn settings(out: &mut String, form: &FeedForm) -> std::fmt::Result {
    if form.format == Format::Json {
        writeln!(out, "format = \"json\"")?;
    }
    if form.skip_lines > 0 {
        writeln!(out, "skip_lines = {}", form.skip_lines)?;
    }
    if let Some(delimiter) = form.delimiter.filter(|delimiter| *delimiter != b',') {
        writeln!(out, "delimiter = {:?}", char::from(delimiter).to_string())?;
    }
    if let Some(escape) = form.escape {
        writeln!(out, "escape = {:?}", char::from(escape).to_string())?;
    }
    if let Some(rows) = form
        .rows
        .as_ref()
        .filter(|rows| **rows != RowsPath::default())
    {
        writeln!(out, "rows = {:?}", rows.to_string())?;
    }
    if form.local_names {
        writeln!(out, "local_names = true")?;
    }
    if let Some(sheet) = &form.sheet {
        writeln!(out, "sheet = {}", quoted(sheet))?;
    }
    if let Some(encoding) = form.encoding {
        writeln!(out, "encoding = {:?}", encoding.name())?;
    }
    Ok(())
}

fn field(out: &mut String, guess: &Guess) -> std::fmt::Result {
    if let Some(unsure) = &guess.unsure {
        writeln!(out, "# unsure: {unsure}")?;
    }
    writeln!(out, "{} = {}", guess.setting, guess.value)
}

/// A name for the source system, from the name of the file.
fn system(file: &str) -> String {
    let stem = file.split('.').next().unwrap_or_default();
    let slug = vitrine_model::text::slug(stem);
    slug.unwrap_or_else(|| "feed".to_owned())
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect()
}

#[cfg(test)]
mod tests;
