//! Mapping files: where in a feed's rows the names, prices, specs and reviews are.
//!
//! A mapping is a TOML file with a version, written by people and documented in
//! `services/ingest/mappings/README.md`. Everything in it is checked when it is loaded: a setting
//! that nobody knows is refused with its path and the names that are known there, so that a typing
//! mistake never becomes a silent loss. Applying a mapping needs no database and no clock.

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

/// Gives the text of a file beside the mapping.
type Beside<'a> = dyn FnMut(&str) -> Result<String, MappingError> + 'a;

/// A mapping, checked and ready to be applied.
#[derive(Clone, Debug)]
pub struct Mapping {
    system: String,
    notice: Option<String>,
    format: Format,
    delimiter: u8,
    product: Option<ProductMapping>,
    review: Option<ReviewMapping>,
}

/// The form of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Whichever the first byte suggests: `{` begins JSON Lines, anything else CSV.
    Auto,
    /// One JSON object on each line.
    JsonLines,
    /// Comma-separated values as RFC 4180 has them, with a header; other signs than the comma too.
    Csv,
}

/// What a mapping makes of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// Each row is a product.
    Products,
    /// Each row is a review of a product that is already there.
    Reviews,
    /// Each row is a review, and tells enough of its product to make it.
    ReviewsAndProducts,
}

/// What a mapping remembers between rows, for speed only.
#[derive(Debug, Default)]
pub(crate) struct Memory(specs::Plans);

impl Mapping {
    /// The mapping of this name: a path, or the bare name of a shipped one.
    ///
    /// # Errors
    /// [`MappingError`] when there is none or something in it is wrong.
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
        Self::parse(text, &mut shipped::beside)
    }

    /// The mapping in a file. Tables that it names are looked for beside it.
    ///
    /// # Errors
    /// [`MappingError`] when it cannot be read or something in it is wrong.
    pub fn from_file(path: &Path) -> Result<Self, MappingError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        Self::parse(&read(path.to_owned())?, &mut |name| read(folder.join(name)))
    }

    /// The mapping in a text; `beside` gives the texts of the tables that it names.
    ///
    /// # Errors
    /// [`MappingError`] when something in it is wrong.
    pub fn parse(text: &str, beside: &mut Beside<'_>) -> Result<Self, MappingError> {
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
            product: product(&section, &reading, beside)?,
            review: review(&section, &reading)?,
        };
        if mapping.product.is_none() && mapping.review.is_none() {
            return Err(section.refuse("product", "a mapping needs [product], [review] or both"));
        }
        section.finish()?;
        Ok(mapping)
    }

    /// The system that the feed comes from.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// What its publisher wants said wherever the data is shown.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The form of the feed.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The sign between the columns of a CSV feed.
    #[must_use]
    pub const fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// What it makes of rows.
    #[must_use]
    pub const fn makes(&self) -> Makes {
        match (&self.product, &self.review) {
            (_, None) => Makes::Products,
            (None, Some(_)) => Makes::Reviews,
            (Some(_), Some(_)) => Makes::ReviewsAndProducts,
        }
    }

    /// The product that a row describes. Without one, the problems say why.
    pub(crate) fn product(
        &self,
        memory: &mut Memory,
        row: &Value,
        problems: &mut Problems,
    ) -> Option<ProductDraft> {
        let product = self.product.as_ref()?;
        let draft = product.draft(&self.system, &mut memory.0, row, problems)?;
        problems.fatal.is_empty().then_some(draft)
    }

    /// The review that a row is. Without one, the problems say why.
    pub(crate) fn review(&self, row: &Value, problems: &mut Problems) -> Option<ReviewDraft> {
        let review = self.review.as_ref()?;
        let draft = review.draft(&self.system, row, problems)?;
        problems.fatal.is_empty().then_some(draft)
    }

    /// The product that a review's row tells of, to be made unless it is there. It gets the id by
    /// which the review knows it.
    pub(crate) fn derived_product(
        &self,
        memory: &mut Memory,
        row: &Value,
        source: &ExternalRef,
        problems: &mut Problems,
    ) -> Option<ProductDraft> {
        let draft = self.product(memory, row, problems)?;
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
    Err(section.refuse("version", reason))
}

fn system(section: &Section<'_>) -> Result<String, MappingError> {
    let system = section.text("system")?.unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if system.is_empty() || !system.chars().all(plain) {
        let reason = "is needed: letters, digits, - _ . that name where the feed comes from";
        return Err(section.refuse("system", reason));
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
        Some([sign]) if sign.is_ascii() && !b"\"\r\n".contains(sign) => Ok(*sign),
        Some(_) => Err(section.refuse("delimiter", "must be one ASCII sign such as ; or \\t")),
    }
}

fn product(
    section: &Section<'_>,
    reading: &Reading,
    beside: &mut Beside<'_>,
) -> Result<Option<ProductMapping>, MappingError> {
    let Some(section) = section.section("product")? else {
        return Ok(None);
    };
    let product = ProductMapping::read(&section, reading, beside)?;
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
