//! A first mapping for a feed that nobody has described: guesses from its first rows, each with the
//! reason or a remark about what is unsure.

use std::fmt::Write as _;
use std::path::Path;

use vitrine_formats::{Feed, FeedError, FeedForm, Row, RowsPath, file_name};

mod gathered;
mod guess;
mod paths;

use gathered::Lines;
use guess::{Guess, Guesses};
use paths::Paths;

/// The number of rows that are looked at.
pub const ROWS: usize = 1000;

/// Reads the first rows of a feed and returns a first mapping as TOML.
///
/// # Errors
/// [`FeedError`] if the file cannot be opened.
pub fn first_mapping(file: &Path) -> Result<String, FeedError> {
    let form = FeedForm {
        guess_rows: true,
        ..FeedForm::default()
    };
    let mut feed = Feed::open(file, &form)?;
    let mut paths = Paths::default();
    let mut lines = Lines::default();
    for line in feed.by_ref().take(ROWS) {
        if let Row::Object(row) = line.row {
            paths.add(&row);
            lines.add(&row, line.bytes);
        }
    }
    paths.merge_lists();
    let guesses = Guesses::of(&paths, &lines);
    let mut text = String::new();
    let _ = write(&mut text, file, &feed, &paths, &guesses);
    Ok(text)
}

fn write(
    out: &mut String,
    file: &Path,
    feed: &Feed,
    paths: &Paths,
    guesses: &Guesses,
) -> std::fmt::Result {
    let name = file_name(file);
    writeln!(
        out,
        "# A first mapping of {name}, guessed from {} rows. It is {}.",
        paths.rows(),
        feed.described()
    )?;
    writeln!(
        out,
        "# Check every line that says `unsure`, then look at what becomes of the rows:"
    )?;
    writeln!(
        out,
        "#   vitrine import {name} --mapping THIS_FILE --sample 3"
    )?;
    writeln!(out, "version = 1")?;
    writeln!(out, "system = {:?}", system(&name))?;
    settings(out, feed.form())?;
    if let Some(gathered) = &guesses.gathered {
        writeln!(
            out,
            "\n# Only the first line of a product has its name; the other lines with its key belong to it."
        )?;
        writeln!(out, "[gather]")?;
        writeln!(out, "key = {}", guess::quoted(&gathered.key))?;
        writeln!(out, "as = \"lines\"")?;
    }
    writeln!(out, "\n[defaults]")?;
    writeln!(out, "unknown = {:?}", guesses.unknown)?;
    writeln!(
        out,
        "\n[{}]",
        if guesses.reviews { "review" } else { "product" }
    )?;
    for guess in &guesses.fields {
        field(out, guess)?;
    }
    for table in &guesses.tables {
        writeln!(out, "\n{}", table.setting)?;
        table.lines.iter().try_for_each(|guess| field(out, guess))?;
    }
    for remark in &guesses.remarks {
        writeln!(out, "\n# unsure: {remark}")?;
    }
    writeln!(out, "\n# What the rows have:")?;
    for (path, facts) in paths.all() {
        writeln!(out, "#   {path}: {}", facts.described(paths.rows()))?;
    }
    Ok(())
}

/// Writes how the files are read, as far as that is not usual.
fn settings(out: &mut String, form: &FeedForm) -> std::fmt::Result {
    if let Some(delimiter) = form.delimiter.filter(|delimiter| *delimiter != b',') {
        writeln!(out, "delimiter = {:?}", char::from(delimiter).to_string())?;
    }
    if let Some(rows) = form
        .rows
        .as_ref()
        .filter(|rows| **rows != RowsPath::default())
    {
        writeln!(out, "rows = {:?}", rows.to_string())?;
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
