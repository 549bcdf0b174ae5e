//! Mapping files, which say where in the rows of a feed the names, prices, specs and reviews are.
//!
//! A mapping is a versioned TOML file, written by people and documented in
//! `services/ingest/mappings/README.md`. It is validated completely when it is loaded: an unknown
//! setting is refused with its path and the known names, so that a typing mistake never loses data
//! silently. Applying a mapping needs no database and no clock.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vitrine_formats::{FeedError, FeedForm};
use vitrine_model::import::{ExternalRef, ProductDraft, Rejection, ReviewDraft};

mod category;
mod check;
mod clean;
mod condition;
mod date;
mod details;
mod error;
mod field;
mod form;
mod join;
mod media;
mod number;
mod path;
mod pattern;
mod pieces;
mod problems;
mod product;
mod reading;
mod records;
mod review;
mod rows;
mod section;
mod shape;
mod shipped;
mod specs;
mod template;
mod uses;

use join::Join;
use product::ProductMapping;
use reading::Reading;
use records::Records;
use review::ReviewMapping;
use rows::RowSettings;
use section::Section;
use shape::ShapeUse;
use uses::Uses;

pub use error::MappingError;
pub use number::shortened;
pub(crate) use path::Row;
pub(crate) use problems::Problems;
pub use problems::Traced;
pub(crate) use records::{Mapped, Repeated};
pub(crate) use rows::{FillDown, is_empty};
pub use shipped::shipped;
pub(crate) use specs::KeyName;
pub(crate) use uses::MAX_COMPARED_BYTES;
pub use uses::Unmatched;

/// The version of the mapping format that this release reads.
pub const VERSION: i64 = 1;

/// The maximum number of items of lists in a line that are products or reviews.
const MAX_RECORDS: usize = 10_000;

/// The JSON Schema of mapping files, for editors.
pub const SCHEMA: &str = include_str!("../mappings/mapping.schema.json");

/// Reads a file beside a mapping, which refers to it by its name.
type ReadTable<'a> = dyn FnMut(&str) -> Result<Vec<u8>, MappingError> + 'a;

/// A validated mapping, ready to be applied.
#[derive(Clone, Debug)]
pub struct Mapping {
    system: String,
    notice: Option<String>,
    form: FeedForm,
    products: Vec<(Records, ProductMapping)>,
    reviews: Vec<(Records, ReviewMapping)>,
    derived: bool,
    joins: Vec<Join>,
    rows: RowSettings,
    shapes: Vec<ShapeUse>,
    uses: Uses,
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
    /// A row may be several products and reviews, depending on conditions and lists in it.
    Several,
}

/// What a mapping caches between rows.
#[derive(Debug, Default)]
pub(crate) struct MappingCache(Vec<specs::PlanCache>);

impl MappingCache {
    /// The plans of a part of the mapping: of its products first, then of its reviews.
    fn of(&mut self, part: usize) -> &mut specs::PlanCache {
        if self.0.len() <= part {
            self.0.resize_with(part + 1, specs::PlanCache::default);
        }
        &mut self.0[part]
    }

    /// The names that keys of specs of products are made of and that are new, since the last call.
    pub(crate) fn take_new_names(&mut self) -> Vec<KeyName> {
        let new = self.0.iter_mut().flat_map(specs::PlanCache::take_new_names);
        new.collect()
    }

    /// The paths of specs that were not cached, since the last call.
    pub(crate) fn take_new_paths(&mut self) -> Vec<String> {
        let new = self.0.iter_mut().flat_map(specs::PlanCache::take_new_paths);
        new.collect()
    }
}

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
        let text = read_text(path)?;
        Self::parse(&text, &mut |name| read(folder.join(name)))
    }

    /// Parses a mapping. `read_table` returns the content of a file beside it.
    ///
    /// # Errors
    /// [`MappingError`] if it is invalid.
    pub fn parse(text: &str, read_table: &mut ReadTable<'_>) -> Result<Self, MappingError> {
        let table: toml::Table = text.parse().map_err(MappingError::Syntax)?;
        Self::of_table(&table, read_table)
    }

    /// Everything that is wrong with a mapping file, or a shipped mapping; empty if it is valid.
    ///
    /// # Errors
    /// [`MappingError`] if there is no such mapping.
    pub fn check(name_or_path: &str) -> Result<Vec<MappingError>, MappingError> {
        let path = Path::new(name_or_path);
        if !path.is_file() {
            return Self::load(name_or_path).map(|_| Vec::new());
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let text = read_text(path)?;
        Ok(Self::mistakes(&text, &mut |name| read(folder.join(name))))
    }

    /// Everything that is wrong with the text of a mapping; empty if it is valid. `read_table` returns the content of
    /// a file beside it.
    #[must_use]
    pub fn mistakes(text: &str, read_table: &mut ReadTable<'_>) -> Vec<MappingError> {
        check::mistakes(text, read_table)
    }

    /// Reads a mapping that is already TOML.
    fn of_table(table: &toml::Table, read_table: &mut ReadTable<'_>) -> Result<Self, MappingError> {
        let section = Section::new("", table);
        check_version(&section)?;
        let defaults = section.section("defaults")?;
        let reading = match &defaults {
            Some(defaults) => Reading::default().with(defaults)?,
            None => Reading::default(),
        };
        defaults.map_or(Ok(()), Section::finish)?;
        let joins = join::read(&section, &reading)?;
        let form = form::read(&section)?;
        let rows = RowSettings::read(&section)?;
        let mapping = Self {
            system: system(&section)?,
            notice: section.text("notice")?.map(str::to_owned),
            shapes: shape::uses(&form, &rows, &reading.uses),
            rows,
            form,
            joins: Vec::new(),
            products: products(&section, &reading, read_table)?,
            reviews: reviews(&section, &reading, read_table)?,
            derived: false,
            uses: reading.uses.clone(),
        };
        if mapping.products.is_empty() && mapping.reviews.is_empty() {
            return Err(section.invalid("product", "a mapping needs [product], [review] or both"));
        }
        section.finish()?;
        Ok(Self {
            derived: records::derived(&mapping.products, &mapping.reviews)?,
            // Last, because these files may be large, and a mapping with a mistake needs none.
            joins: join::load(joins, read_table)?,
            ..mapping
        })
    }

    /// Returns the mapping for a feed of another system: two shops with the same export do not share ids.
    ///
    /// # Errors
    /// [`MappingError`] if this is no name of a system.
    pub fn with_system(self, system: &str) -> Result<Self, MappingError> {
        if !is_system(system) {
            return Err(MappingError::setting("system", SYSTEM));
        }
        let system = system.to_owned();
        Ok(Self { system, ..self })
    }

    /// Returns the mapping with the rows of the feed that its joins add, `feed = true`.
    ///
    /// # Errors
    /// [`FeedError`] if there is such a join, and the feed cannot be opened or read twice, or is too large.
    pub fn with_feed(&self, files: &[PathBuf]) -> Result<Self, FeedError> {
        let mut mapping = self.clone();
        for join in &mut mapping.joins {
            join.read_feed(files, &mapping.form)?;
        }
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

    /// Which cells mean the ones above if they are empty.
    pub(crate) fn fill_down(&self) -> Option<&FillDown> {
        self.rows.fill_down.as_ref()
    }

    /// How the files of the feed are read.
    #[must_use]
    pub const fn form(&self) -> &FeedForm {
        &self.form
    }

    /// What the mapping produces from rows.
    #[must_use]
    pub fn output(&self) -> MappingOutput {
        let plain = |records: &Records| records.is_plain();
        match (self.products.as_slice(), self.reviews.as_slice()) {
            _ if self.derived => MappingOutput::ReviewsAndProducts,
            ([(one, _)], []) if plain(one) => MappingOutput::Products,
            ([], [(one, _)]) if plain(one) => MappingOutput::Reviews,
            _ => MappingOutput::Several,
        }
    }

    /// The paths that the mapping names and that rows have or have not.
    pub(crate) fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Changes a row as the mapping wants it, and adds the rows of other files to it.
    ///
    /// # Errors
    /// What is wrong with the row.
    pub(crate) fn join(&self, row: &mut Value, number: &Value) -> Result<(), Rejection> {
        let changed = self.rows.apply(row);
        changed.map_err(|reason| Rejection::new("line", reason))?;
        self.shapes.iter().for_each(|shape| shape.ask(row));
        let mut unpaired = Vec::new();
        for join in &self.joins {
            if !join.add(row, number)? {
                unpaired.push(join);
            }
        }
        // A row for which the mapping has nothing needs no other row.
        if !unpaired.is_empty() && self.takes(Row::new(row, number)) {
            unpaired.into_iter().for_each(Join::count_unpaired);
        }
        Ok(())
    }

    /// Returns true if a row, or items of it, are products or reviews.
    fn takes(&self, row: Row<'_>) -> bool {
        let products = self.products.iter().map(|(records, _)| records);
        let mut records = products.chain(self.reviews.iter().map(|(records, _)| records));
        records.any(|records| records.holds_for(row))
    }

    /// Checks that a row has no more products and reviews than a line may have.
    ///
    /// # Errors
    /// How many it has.
    pub(crate) fn check_records(&self, row: Row<'_>) -> Result<(), Rejection> {
        let products = self.products.iter().map(|(records, _)| records);
        let records = products.chain(self.reviews.iter().map(|(records, _)| records));
        let items: usize = records.map(|records| records.items(row)).sum();
        if items <= MAX_RECORDS {
            return Ok(());
        }
        let reason = format!(
            "has {items} items that are products or reviews; a line may have {MAX_RECORDS}"
        );
        Err(Rejection::new("line", reason))
    }

    /// The numbers of rows without a matching row, by join.
    pub(crate) fn unpaired(&self) -> Vec<(String, u64)> {
        let unpaired = self.joins.iter().filter_map(Join::unpaired);
        unpaired.collect()
    }

    /// Maps a row to its products, each with its problems. One without a draft is rejected.
    pub(crate) fn products(
        &self,
        cache: &mut MappingCache,
        row: Row<'_>,
    ) -> Vec<Mapped<ProductDraft>> {
        let mut mapped = Vec::new();
        for (at, (records, product)) in self.products.iter().enumerate() {
            records.of(
                row,
                &mut |item, problems| product.draft(&self.system, cache.of(at), item, problems),
                &mut mapped,
            );
        }
        mapped
    }

    /// Maps a row to its reviews, each with its problems. One without a draft is rejected.
    pub(crate) fn reviews(
        &self,
        cache: &mut MappingCache,
        row: Row<'_>,
    ) -> Vec<Mapped<ReviewDraft>> {
        let mut mapped = Vec::new();
        let products = self.products.len();
        for (at, (records, review)) in self.reviews.iter().enumerate() {
            records.of(
                row,
                &mut |item, problems| {
                    review.draft(&self.system, cache.of(products + at), item, problems)
                },
                &mut mapped,
            );
        }
        mapped
    }

    /// Maps a review's row to its product, to be created if missing. Its source is the reference in
    /// the review.
    pub(crate) fn derived_product(
        &self,
        cache: &mut MappingCache,
        row: Row<'_>,
        source: &ExternalRef,
        problems: &mut Problems,
    ) -> Option<ProductDraft> {
        let (_, product) = self.products.first()?;
        let draft = product.draft(&self.system, cache.of(0), row, problems)?;
        problems.fatal.is_empty().then(|| ProductDraft {
            source: source.clone(),
            create_only: true,
            ..draft
        })
    }
}

fn read_text(path: &Path) -> Result<String, MappingError> {
    let text = String::from_utf8(read(path.to_owned())?);
    text.map_err(|_| MappingError::setting(path.display().to_string(), "is not UTF-8"))
}

fn read(path: PathBuf) -> Result<Vec<u8>, MappingError> {
    std::fs::read(&path).map_err(|source| MappingError::Read { path, source })
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
    if is_system(system) {
        Ok(system.to_owned())
    } else {
        Err(section.invalid("system", SYSTEM))
    }
}

/// What the name of a system must be.
const SYSTEM: &str = "is required: the name of the feed's source, of letters, digits, - _ .";

fn is_system(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(allowed)
}

fn products(
    section: &Section<'_>,
    reading: &Reading,
    read_table: &mut ReadTable<'_>,
) -> Result<Vec<(Records, ProductMapping)>, MappingError> {
    let mut products = Vec::new();
    for section in section.tables("product")? {
        let records = Records::of_products(&section, reading)?;
        let product = ProductMapping::read(&section, &records.reading(reading), read_table)?;
        section.finish()?;
        products.push((records, product));
    }
    Ok(products)
}

fn reviews(
    section: &Section<'_>,
    reading: &Reading,
    read_table: &mut ReadTable<'_>,
) -> Result<Vec<(Records, ReviewMapping)>, MappingError> {
    let mut reviews = Vec::new();
    for section in section.tables("review")? {
        let records = Records::of_reviews(&section, reading)?;
        let review = ReviewMapping::read(&section, &records.reading(reading), read_table)?;
        section.finish()?;
        reviews.push((records, review));
    }
    Ok(reviews)
}

#[cfg(test)]
mod tests;
