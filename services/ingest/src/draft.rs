//! Mapping rows to batches of drafts. Uses no database, so a batch can be prepared while the
//! previous one is being stored.
//!
//! Most of the work on a line does not depend on other lines: that of a [`Mapper`], of which several
//! can work at once. What does depend on the lines before, a [`Drafter`] does in their order.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use vitrine_formats::{Feed, FeedLine, push_key};
use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ExternalRef, ProductDraft, Rejection, ReviewDraft};

use crate::mapping::{
    self, KeyName, MAX_COMPARED_BYTES, Mapped, Mapping, MappingOutput, Problems, Repeated,
    Unmatched,
};

mod continued;
mod mapper;
mod repeats;

pub(crate) use continued::Continued;
pub(crate) use mapper::Mapper;
use mapper::{Content, MappedLine, MappedRow};

use repeats::Ids;
pub use repeats::{RepeatedId, Repeats};

/// The maximum number of lines of a batch.
pub const BATCH_LINES: usize = 1000;
/// The size of a batch in bytes after which no line is added.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of products derived from reviews that are remembered. Forgetting one only
/// costs a look-up.
const MAX_REMEMBERED: usize = 500_000;

/// The maximum number of rows whose paths are remembered, to say what a mapping may have meant.
const MAX_SEEN_ROWS: u64 = 1000;
/// The maximum number of paths that are remembered.
const MAX_SEEN_PATHS: usize = 2000;
/// The maximum number of names of a spec key that are remembered.
const MAX_KEY_NAMES: usize = 10;
/// The maximum number of paths of specs that are remembered.
const MAX_SPEC_PATHS: usize = 20_000;

/// A batch of lines of a feed, ready to be stored.
#[derive(Debug, Default)]
pub struct Batch {
    /// All lines, in the order of the feed.
    pub lines: Vec<Line>,
    /// The products of the lines, in their order; for reviews, the products derived from them.
    pub products: Vec<ProductDraft>,
    /// The line of each product.
    pub product_lines: Vec<u64>,
    /// The reviews of the lines, in their order.
    pub reviews: Vec<ReviewDraft>,
    /// The line of each review.
    pub review_lines: Vec<u64>,
    /// The spec keys that are made of names of the feed and are met for the first time, with labels for them.
    pub labels: Vec<(String, String)>,
    /// Why the rest of the file could not be read, if so.
    pub broken: Option<String>,
}

/// A line before it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its status.
    pub status: LineStatus,
    /// Values that were dropped, as the mapping specifies.
    pub dropped: Vec<Rejection>,
    /// Values that were dropped and are only counted, as the mapping specifies.
    pub ignored: Vec<Rejection>,
}

/// The status of a line before it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineStatus {
    /// It is blank.
    Blank,
    /// It is a part of the row of a line before it.
    Gathered,
    /// Nothing of the mapping is for this row.
    Skipped,
    /// It is rejected, for these reasons.
    Rejected(Vec<Rejection>),
    /// Its drafts are the next ones of the batch.
    Drafted(Records),
}

/// The records of a line: products and reviews.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The number of products; not of those derived from reviews.
    pub products: usize,
    /// The number of reviews.
    pub reviews: usize,
    /// The reasons of each product that is rejected.
    pub rejected_products: Vec<Vec<Rejection>>,
    /// The reasons of each review that is rejected.
    pub rejected_reviews: Vec<Vec<Rejection>>,
}

/// Maps a feed to batches of drafts.
pub struct Drafter<'m> {
    pub(crate) mapper: Mapper<'m>,
    /// What lines may continue, for [`Drafter::batch`].
    continued: Continued,
    derived: HashSet<u64>,
    ids: Ids,
    seen: BTreeSet<String>,
    spec_paths: BTreeSet<String>,
    /// The names of the feed that spec keys are made of, by key.
    key_names: BTreeMap<String, Vec<String>>,
    /// The number of rows so far. Mappers read it to know which rows are still wanted.
    rows: Arc<AtomicU64>,
}

/// Some lines that a mapper has mapped.
pub(crate) struct Part {
    lines: Vec<MappedLine>,
    /// The paths of specs in them that the mapper had not met before.
    spec_paths: Vec<String>,
    /// The names of the feed that keys of specs in them are made of, as far as they are new.
    key_names: Vec<KeyName>,
}

/// What still fits in a batch.
pub(crate) struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// Returns the room of an empty batch.
    pub(crate) const fn of_batch() -> Self {
        Self {
            lines: BATCH_LINES,
            bytes: BATCH_BYTES,
        }
    }

    /// Returns whether lines have been read into the batch.
    pub(crate) const fn is_taken(&self) -> bool {
        self.lines < BATCH_LINES
    }

    /// Reads lines that fit in the batch, until there are `max_lines` or so many bytes; none when it is full, or at
    /// the end of the feed.
    pub(crate) fn lines(
        &mut self,
        feed: &mut impl Iterator<Item = FeedLine>,
        max_lines: usize,
        max_bytes: usize,
    ) -> Vec<FeedLine> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while lines.len() < max_lines && bytes < max_bytes && self.lines > 0 && self.bytes > 0 {
            let Some(line) = feed.next() else {
                break;
            };
            self.lines -= 1;
            self.bytes = self.bytes.saturating_sub(line.bytes);
            bytes += line.bytes;
            lines.push(line);
        }
        lines
    }
}

impl<'m> Drafter<'m> {
    /// Returns a drafter for a mapping.
    #[must_use]
    pub fn new(mapping: &'m Mapping) -> Self {
        mapping.uses().reset();
        let rows = Arc::default();
        Self {
            mapper: Mapper::new(mapping, &rows),
            continued: Continued::new(mapping),
            derived: HashSet::new(),
            ids: Ids::default(),
            seen: BTreeSet::new(),
            spec_paths: BTreeSet::new(),
            key_names: BTreeMap::new(),
            rows,
        }
    }

    /// Returns another mapper for this drafter, for another thread.
    pub(crate) fn another_mapper(&self) -> Mapper<'m> {
        self.mapper.another()
    }

    /// Returns the drafter for a feed that is read at this time.
    pub(crate) fn read_at(self, now: Timestamp) -> Self {
        Self {
            mapper: self.mapper.read_at(Some(now)),
            ..self
        }
    }

    /// Returns the next batch; `None` at the end of the feed.
    pub fn batch(&mut self, feed: &mut Feed) -> Option<Batch> {
        self.batch_of(feed)
    }

    /// The ids that repeat in the file that ends here.
    pub fn end_of_file(&mut self) -> Repeats {
        self.continued = Continued::new(self.mapping());
        self.ids.take()
    }

    /// The paths of the mapping that no row had so far.
    #[must_use]
    pub fn unmatched(&mut self) -> Vec<Unmatched> {
        let paths = self.mapper.take_spec_paths();
        self.see_spec_paths(paths);
        let seen = self.seen.iter().chain(&self.spec_paths);
        self.mapping().uses().unmatched(&seen.map(String::as_str))
    }

    /// As [`Drafter::batch`], for any source of lines.
    fn batch_of(&mut self, feed: &mut impl Iterator<Item = FeedLine>) -> Option<Batch> {
        let mut continuing = self.continued.of(feed);
        let lines = Room::of_batch().lines(&mut continuing, BATCH_LINES, BATCH_BYTES);
        if lines.is_empty() {
            return None;
        }
        let mut batch = Batch::default();
        let part = self.mapper.map(lines);
        self.add_part(&mut batch, part);
        Some(batch)
    }

    /// Adds the next lines to a batch.
    pub(crate) fn add_part(&mut self, batch: &mut Batch, part: Part) {
        for line in part.lines {
            self.add(batch, line);
        }
        self.see_spec_paths(part.spec_paths);
        self.see_key_names(batch, part.key_names);
    }

    /// Remembers the names of keys, and labels new keys with them.
    fn see_key_names(&mut self, batch: &mut Batch, names: Vec<KeyName>) {
        for name in names {
            let room = self.key_names.len() < MAX_SPEC_PATHS;
            match self.key_names.get_mut(&name.key) {
                None if room => {
                    batch.labels.push((name.key.clone(), name.label));
                    self.key_names.insert(name.key, vec![name.name]);
                }
                Some(known) if known.len() < MAX_KEY_NAMES && !known.contains(&name.name) => {
                    known.push(name.name);
                }
                _ => {}
            }
        }
    }

    /// The spec keys that are made of names which differ in more than case, blanks and signs, with these names.
    #[must_use]
    pub fn shared_keys(&self) -> BTreeMap<String, Vec<String>> {
        let letters = |name: &String| -> String {
            let letters = name.chars().filter(|c| c.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let shared = self.key_names.iter().filter(|(_, names)| {
            let first = names.first().map(letters);
            names.iter().any(|name| Some(letters(name)) != first)
        });
        shared
            .map(|(key, names)| (key.clone(), names.clone()))
            .collect()
    }

    fn mapping(&self) -> &'m Mapping {
        self.mapper.mapping
    }

    fn add(&mut self, batch: &mut Batch, line: MappedLine) {
        let mut problems = Problems::default();
        problems.dropped.extend(line.cells);
        let status = match line.content {
            Content::Blank => LineStatus::Blank,
            Content::Gathered => LineStatus::Gathered,
            Content::Unreadable(reason) => unreadable(reason),
            Content::Broken(reason) => {
                batch.broken = Some(reason.clone());
                unreadable(reason)
            }
            Content::Unjoined(rejection) => LineStatus::Rejected(vec![rejection]),
            Content::Row(row) => self.row(batch, line.number, row, &mut problems),
        };
        batch.lines.push(Line {
            number: line.number,
            status,
            dropped: problems.dropped,
            ignored: problems.ignored,
        });
    }

    fn row(
        &mut self,
        batch: &mut Batch,
        line: u64,
        MappedRow { row, records }: MappedRow,
        problems: &mut Problems,
    ) -> LineStatus {
        self.see(row.as_ref());
        let (products, reviews) = match records {
            Ok(records) => records,
            Err(rejection) => return LineStatus::Rejected(vec![rejection]),
        };
        let mut records = Records::default();
        for mapped in products {
            let id = |draft: &ProductDraft| draft.source.external_id.clone();
            match self.checked(mapped, "product", line, id, problems) {
                Ok(product) => {
                    batch.products.push(product);
                    batch.product_lines.push(line);
                    records.products += 1;
                }
                Err(reasons) => records.rejected_products.push(reasons),
            }
        }
        for mapped in reviews {
            let id = |draft: &ReviewDraft| draft.origin.external_id.clone();
            let review = self.checked(mapped, "review", line, id, problems);
            let review = review.and_then(|review| {
                let derived = match &row {
                    Some(row) if self.derives() => {
                        self.derive(batch, (row, line), &review.product, problems)
                    }
                    _ => Ok(()),
                };
                derived
                    .inspect_err(|_| {
                        self.ids.forget("review", &review.origin.external_id, line);
                    })
                    .map(|()| review)
            });
            match review {
                Ok(review) => {
                    batch.reviews.push(review);
                    batch.review_lines.push(line);
                    records.reviews += 1;
                }
                Err(reasons) => records.rejected_reviews.push(reasons),
            }
        }
        records.status(self.mapping().output())
    }

    /// Whether products are derived from reviews.
    fn derives(&self) -> bool {
        self.mapping().output() == MappingOutput::ReviewsAndProducts
    }

    /// Adds the rows of other files to a row, and checks that it may be mapped.
    ///
    /// # Errors
    /// What is wrong with the row.
    pub(crate) fn prepare(&mut self, row: &mut Value, number: &Value) -> Result<(), Rejection> {
        self.mapping().join(row, number)?;
        self.see(Some(row));
        self.mapping().check_records(mapping::Row::new(row, number))
    }

    /// Remembers the paths of a row, if it is one of the first.
    fn see(&mut self, row: Option<&Value>) {
        let before = self.rows.fetch_add(1, Ordering::Relaxed);
        if let Some(row) = row.filter(|_| before < MAX_SEEN_ROWS) {
            paths_of(row, &mut String::new(), &mut self.seen);
        }
    }

    /// Remembers the first paths of specs.
    fn see_spec_paths(&mut self, paths: Vec<String>) {
        for path in paths {
            if self.spec_paths.len() < MAX_SPEC_PATHS {
                self.spec_paths.insert(path);
            }
        }
    }

    /// Checks a record: returns its draft, or the reasons why it has none. Its dropped values are
    /// those of its line.
    fn checked<D>(
        &mut self,
        mapped: Mapped<D>,
        of: &'static str,
        line: u64,
        id: impl Fn(&D) -> String,
        problems: &mut Problems,
    ) -> Result<D, Vec<Rejection>> {
        let Mapped {
            draft,
            problems: found,
            repeated,
        } = mapped;
        problems.dropped.extend(found.dropped);
        problems.ignored.extend(found.ignored);
        let Some(draft) = draft else {
            return Err(found.fatal);
        };
        let first_is_kept = repeated == Repeated::First;
        let first = self.ids.add(of, &id(&draft), line, first_is_kept);
        match first {
            Some(first) if first_is_kept => {
                let reason = format!("repeats the id of line {first}; the mapping keeps the first");
                Err(vec![Rejection::new(format!("{of}.external_id"), reason)])
            }
            _ => Ok(draft),
        }
    }

    /// Adds the product of a review, unless an earlier row has added it.
    fn derive(
        &mut self,
        batch: &mut Batch,
        (row, line): (&Value, u64),
        source: &ExternalRef,
        problems: &mut Problems,
    ) -> Result<(), Vec<Rejection>> {
        let key = hash(source);
        if self.derived.contains(&key) {
            return Ok(());
        }
        let number = Value::from(line);
        let row = self.mapper.start(row, &number);
        let (mapping, cache) = (self.mapping(), &mut self.mapper.cache);
        let Some(product) = mapping.derived_product(cache, row, source, problems) else {
            return Err(std::mem::take(&mut problems.fatal));
        };
        batch.products.push(product);
        batch.product_lines.push(line);
        if self.derived.len() >= MAX_REMEMBERED {
            self.derived.clear();
        }
        self.derived.insert(key);
        Ok(())
    }
}

impl Records {
    /// The status of a line with these records.
    fn status(mut self, output: MappingOutput) -> LineStatus {
        let rejected = self.rejected_products.len() + self.rejected_reviews.len();
        match (self.products + self.reviews, rejected) {
            (0, 0) => LineStatus::Skipped,
            (0, 1) if output != MappingOutput::Several => {
                self.rejected_products.append(&mut self.rejected_reviews);
                LineStatus::Rejected(self.rejected_products.pop().unwrap_or_default())
            }
            _ => LineStatus::Drafted(self),
        }
    }
}

/// Collects the paths of a row.
fn paths_of(value: &Value, path: &mut String, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let length = path.len();
                push_key(path, key);
                let short = path.len() <= MAX_COMPARED_BYTES;
                if short && seen.len() < MAX_SEEN_PATHS && !seen.contains(path.as_str()) {
                    seen.insert(path.clone());
                }
                paths_of(value, path, seen);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            let length = path.len();
            path.push_str("[]");
            for item in items {
                paths_of(item, path, seen);
            }
            path.truncate(length);
        }
        _ => {}
    }
}

fn unreadable(reason: String) -> LineStatus {
    LineStatus::Rejected(vec![Rejection::new("line", reason)])
}

fn hash(product: &ExternalRef) -> u64 {
    let mut hasher = DefaultHasher::new();
    product.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod compared;
#[cfg(test)]
mod damaged;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod real_feeds;
#[cfg(test)]
mod tests;
