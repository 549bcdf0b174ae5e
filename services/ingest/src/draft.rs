//! Mapping rows to batches of drafts. Uses no database, so a batch can be prepared while the
//! previous one is being stored.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use serde_json::Value;
use vitrine_model::import::{ExternalRef, ProductDraft, Rejection, ReviewDraft};

use crate::feed::{Feed, FeedLine, Row};
use crate::mapping::{Mapping, MappingCache, MappingOutput, Problems};

/// The maximum number of lines of a batch.
pub const BATCH_LINES: usize = 1000;
/// The size of a batch in bytes after which no line is added.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of products derived from reviews that are remembered. Forgetting one only
/// costs a look-up.
const MAX_REMEMBERED: usize = 500_000;

/// A batch of lines of a feed, ready to be stored.
#[derive(Debug, Default)]
pub struct Batch {
    /// All lines, in the order of the feed.
    pub lines: Vec<Line>,
    /// The products of the lines, in their order; for reviews, the products derived from them.
    pub products: Vec<ProductDraft>,
    /// The reviews of the lines, in their order.
    pub reviews: Vec<ReviewDraft>,
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
}

/// The status of a line before it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineStatus {
    /// It is blank.
    Blank,
    /// It is rejected, for these reasons.
    Rejected(Vec<Rejection>),
    /// Its draft is the next one of the batch.
    Drafted,
}

/// Maps a feed to batches of drafts.
pub struct Drafter<'m> {
    mapping: &'m Mapping,
    cache: MappingCache,
    derived: HashSet<u64>,
}

impl<'m> Drafter<'m> {
    /// Returns a drafter for a mapping.
    #[must_use]
    pub fn new(mapping: &'m Mapping) -> Self {
        Self {
            mapping,
            cache: MappingCache::default(),
            derived: HashSet::new(),
        }
    }

    /// Returns the next batch; `None` at the end of the feed.
    pub fn batch(&mut self, feed: &mut Feed) -> Option<Batch> {
        self.batch_of(feed)
    }

    /// As [`Drafter::batch`], for any source of lines.
    fn batch_of(&mut self, feed: &mut impl Iterator<Item = FeedLine>) -> Option<Batch> {
        let mut batch = Batch::default();
        let mut bytes = 0;
        while batch.lines.len() < BATCH_LINES && bytes < BATCH_BYTES {
            let Some(line) = feed.next() else {
                break;
            };
            bytes += line.bytes;
            self.add(&mut batch, line);
        }
        (!batch.lines.is_empty()).then_some(batch)
    }

    fn add(&mut self, batch: &mut Batch, line: FeedLine) {
        let mut problems = Problems::default();
        let status = match line.row {
            Row::Blank => LineStatus::Blank,
            Row::Unreadable(reason) => unreadable(reason),
            Row::Broken(reason) => {
                batch.broken = Some(reason.clone());
                unreadable(reason)
            }
            Row::Object(row) if self.draft(batch, &row, &mut problems).is_some() => {
                LineStatus::Drafted
            }
            Row::Object(_) => LineStatus::Rejected(problems.fatal),
        };
        batch.lines.push(Line {
            number: line.number,
            status,
            dropped: problems.dropped,
        });
    }

    /// Adds the drafts of a row. If there are none, `problems` says why.
    fn draft(&mut self, batch: &mut Batch, row: &Value, problems: &mut Problems) -> Option<()> {
        if self.mapping.output() == MappingOutput::Products {
            let product = self.mapping.product(&mut self.cache, row, problems)?;
            batch.products.push(product);
            return Some(());
        }
        let review = self.mapping.review(row, problems)?;
        if self.mapping.output() == MappingOutput::ReviewsAndProducts {
            self.derive(batch, row, &review.product, problems)?;
        }
        batch.reviews.push(review);
        Some(())
    }

    /// Adds the product of a review, unless an earlier row has added it.
    fn derive(
        &mut self,
        batch: &mut Batch,
        row: &Value,
        source: &ExternalRef,
        problems: &mut Problems,
    ) -> Option<()> {
        let key = hash(source);
        if self.derived.contains(&key) {
            return Some(());
        }
        let (mapping, cache) = (self.mapping, &mut self.cache);
        let product = mapping.derived_product(cache, row, source, problems)?;
        batch.products.push(product);
        if self.derived.len() >= MAX_REMEMBERED {
            self.derived.clear();
        }
        self.derived.insert(key);
        Some(())
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
mod real_feeds;
#[cfg(test)]
mod tests;
