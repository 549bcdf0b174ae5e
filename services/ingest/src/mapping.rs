//! Mapping files, which say where in the rows of a feed the names, prices, specs and reviews are.
//!
//! A mapping is a versioned TOML file, written by people and documented in
//! `services/ingest/mappings/README.md`. It is validated completely when it is loaded: an unknown
//! setting is refused with its path and the known names, so that a typing mistake never loses data
//! silently. Applying a mapping needs no database and no clock.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vitrine_model::import::{ExternalRef, ProductDraft, ReviewDraft};

mod category;
mod clean;
mod date;
mod details;
mod error;
mod field;
mod media;
mod number;
mod path;
mod pattern;
mod problems;
mod product;
mod reading;
mod review;
mod section;
mod shipped;
mod specs;
mod template;

use product::ProductMapping;
use reading::Reading;
use review::ReviewMapping;
use section::Section;

pub use error::MappingError;
pub(crate) use problems::Problems;
pub use shipped::shipped;

/// The version of the mapping format that this release reads.
pub const VERSION: i64 = 1;

/// Reads a table file, which a mapping refers to by its name.
type ReadTable<'a> = dyn FnMut(&str) -> Result<String, MappingError> + 'a;

/// A validated mapping, ready to be applied.
#[derive(Clone, Debug)]
pub struct Mapping {
    system: String,
    notice: Option<String>,
    format: Format,
    delimiter: u8,
    product: Option<ProductMapping>,
    review: Option<ReviewMapping>,
}

/// The format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Determined by the first byte: JSON Lines if it is `{` or `[`, otherwise CSV.
    Auto,
    /// One JSON object per line.
    JsonLines,
    /// Comma-separated values (RFC 4180) with a header; also with other delimiters.
    Csv,
}

/// What a mapping produces from rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingOutput {
    /// Each row is a product.
    Products,
    /// Each row is a review of an existing product.
    Reviews,
    /// Each row is a review, and describes its product, which is created if missing.
    ReviewsAndProducts,
}

/// What a mapping caches between rows.
#[derive(Debug, Default)]
pub(crate) struct MappingCache(specs::PlanCache);

impl Mapping {
    /// Loads a mapping: a file, or a shipped mapping by its name.
    ///
    /// # Errors
    /// [`MappingError`] if there is no such mapping or it is invalid.
    pub fn load(name_or_path: &str) -> Result<Self, MappingError> {
        let path = Path::new(name_or_path);
        if path.is_file() {
            return Self::from_file(path);
        }
        let unknown = || MappingError::Unknown {
            name: name_or_path.to_owned(),
            shipped: shipped::names(),
        };
        let text = shipped::text(name_or_path).ok_or_else(unknown)?;
        Self::parse(text, &mut shipped::table)
    }

    /// Loads a mapping file. Its table files are read from the same directory.
    ///
    /// # Errors
    /// [`MappingError`] if it cannot be read or is invalid.
    pub fn from_file(path: &Path) -> Result<Self, MappingError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        Self::parse(&read(path.to_owned())?, &mut |name| read(folder.join(name)))
    }

    /// Parses a mapping. `read_table` returns the text of a table file.
    ///
    /// # Errors
    /// [`MappingError`] if it is invalid.
    pub fn parse(text: &str, read_table: &mut ReadTable<'_>) -> Result<Self, MappingError> {
        let table: toml::Table = text.parse().map_err(MappingError::Syntax)?;
        let section = Section::new("", &table);
        check_version(&section)?;
        let defaults = section.section("defaults")?;
        let reading = match &defaults {
            Some(defaults) => Reading::default().with(defaults)?,
            None => Reading::default(),
        };
        defaults.map_or(Ok(()), Section::finish)?;
        let mapping = Self {
            system: system(&section)?,
            notice: section.text("notice")?.map(str::to_owned),
            format: format(&section)?,
            delimiter: delimiter(&section)?,
            product: product(&section, &reading, read_table)?,
            review: review(&section, &reading)?,
        };
        if mapping.product.is_none() && mapping.review.is_none() {
            return Err(section.invalid("product", "a mapping needs [product], [review] or both"));
        }
        section.finish()?;
        Ok(mapping)
    }

    /// The source system of the feed.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The notice to show with the data, as required by its publisher.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The format of the feed.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The delimiter of a CSV feed.
    #[must_use]
    pub const fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// What the mapping produces from rows.
    #[must_use]
    pub const fn output(&self) -> MappingOutput {
        match (&self.product, &self.review) {
            (_, None) => MappingOutput::Products,
            (None, Some(_)) => MappingOutput::Reviews,
            (Some(_), Some(_)) => MappingOutput::ReviewsAndProducts,
        }
    }

    /// Maps a row to a product. If there is none, `problems` says why.
    pub(crate) fn product(
        &self,
        cache: &mut MappingCache,
        row: &Value,
        problems: &mut Problems,
    ) -> Option<ProductDraft> {
        let product = self.product.as_ref()?;
        let draft = product.draft(&self.system, &mut cache.0, row, problems)?;
        problems.fatal.is_empty().then_some(draft)
    }

    /// Maps a row to a review. If there is none, `problems` says why.
    pub(crate) fn review(&self, row: &Value, problems: &mut Problems) -> Option<ReviewDraft> {
        let review = self.review.as_ref()?;
        let draft = review.draft(&self.system, row, problems)?;
        problems.fatal.is_empty().then_some(draft)
    }

    /// Maps a review's row to its product, to be created if missing. Its source is the reference in
    /// the review.
    pub(crate) fn derived_product(
        &self,
        cache: &mut MappingCache,
        row: &Value,
        source: &ExternalRef,
        problems: &mut Problems,
    ) -> Option<ProductDraft> {
        let draft = self.product(cache, row, problems)?;
        Some(ProductDraft {
            source: source.clone(),
            create_only: true,
            ..draft
        })
    }
}

fn read(path: PathBuf) -> Result<String, MappingError> {
    std::fs::read_to_string(&path).map_err(|source| MappingError::Read { path, source })
}

fn check_version(section: &Section<'_>) -> Result<(), MappingError> {
    let version = section.value("version").and_then(toml::Value::as_integer);
    if version == Some(VERSION) {
        return Ok(());
    }
    let reason = format!("must be {VERSION}, the version of the format that this release reads");
    Err(section.invalid("version", reason))
}

fn system(section: &Section<'_>) -> Result<String, MappingError> {
    let system = section.text("system")?.unwrap_or_default().trim();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if system.is_empty() || !system.chars().all(allowed) {
        let reason = "is required: the name of the feed's source, of letters, digits, - _ .";
        return Err(section.invalid("system", reason));
    }
    Ok(system.to_owned())
}

fn format(section: &Section<'_>) -> Result<Format, MappingError> {
    const WORDS: [(&str, Format); 3] = [
        ("auto", Format::Auto),
        ("jsonl", Format::JsonLines),
        ("csv", Format::Csv),
    ];
    Ok(section.choice("format", &WORDS)?.unwrap_or(Format::Auto))
}

fn delimiter(section: &Section<'_>) -> Result<u8, MappingError> {
    match section.text("delimiter")?.map(str::as_bytes) {
        None => Ok(b','),
        Some([byte]) if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        Some(_) => {
            Err(section.invalid("delimiter", "must be one ASCII character such as ; or \\t"))
        }
    }
}

fn product(
    section: &Section<'_>,
    reading: &Reading,
    read_table: &mut ReadTable<'_>,
) -> Result<Option<ProductMapping>, MappingError> {
    let Some(section) = section.section("product")? else {
        return Ok(None);
    };
    let product = ProductMapping::read(&section, reading, read_table)?;
    section.finish()?;
    Ok(Some(product))
}

fn review(section: &Section<'_>, reading: &Reading) -> Result<Option<ReviewMapping>, MappingError> {
    let Some(section) = section.section("review")? else {
        return Ok(None);
    };
    let review = ReviewMapping::read(&section, reading)?;
    section.finish()?;
    Ok(Some(review))
}

#[cfg(test)]
mod tests;
