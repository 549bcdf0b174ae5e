//! A first mapping for a feed that nobody has described: guesses from its first rows, each with the
//! reason or a remark about what is unsure.

use std::fmt::Write as _;
use std::path::Path;

use crate::feed::{Feed, FeedError, Row};
use crate::mapping::{FeedForm, Format};

mod guess;
mod paths;

use guess::{Guess, Guesses};
use paths::Paths;

/// The number of rows that are looked at.
pub const ROWS: usize = 1000;

/// Delimiters of CSV that are tried.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads the first rows of a feed and returns a first mapping as TOML.
///
/// # Errors
/// [`FeedError`] if the file cannot be opened.
pub fn init(file: &Path) -> Result<String, FeedError> {
    let (form, paths) = look(file)?;
    let guesses = Guesses::of(&paths);
    let mut text = String::new();
    let _ = write(&mut text, file, &form, &paths, &guesses);
    Ok(text)
}

/// Finds the delimiter with which the rows have the most columns, and the paths of the rows.
fn look(file: &Path) -> Result<(FeedForm, Paths), FeedError> {
    let mut best: Option<(FeedForm, Paths)> = None;
    for delimiter in DELIMITERS {
        let form = FeedForm {
            delimiter,
            ..FeedForm::default()
        };
        let Ok(feed) = Feed::open(file, &form) else {
            continue;
        };
        let mut paths = Paths::default();
        for line in feed.take(ROWS) {
            if let Row::Object(row) = line.row {
                paths.add(&row);
            }
        }
        let more = |(_, known): &(FeedForm, Paths)| paths.weight() > known.weight();
        if best.as_ref().is_none_or(more) {
            best = Some((form, paths));
        }
    }
    match best {
        Some(best) => Ok(best),
        None => Feed::open(file, &FeedForm::default()).map(|_| Default::default()),
    }
}

fn write(
    out: &mut String,
    file: &Path,
    form: &FeedForm,
    paths: &Paths,
    guesses: &Guesses,
) -> std::fmt::Result {
    let name = file
        .file_name()
        .map_or_else(|| "feed".into(), |name| name.to_string_lossy());
    writeln!(
        out,
        "# A first mapping of {name}, guessed from {} rows.",
        paths.rows()
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
    if form.delimiter != b',' && form.format == Format::Auto {
        writeln!(
            out,
            "delimiter = {:?}",
            char::from(form.delimiter).to_string()
        )?;
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
    writeln!(out, "\n# What the rows have:")?;
    for (path, facts) in paths.all() {
        writeln!(out, "#   {path}: {}", facts.described(paths.rows()))?;
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
