//! Rows into batches of drafts. Nothing here touches a database, so a batch can be made while the
//! one before is written.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use serde_json::Value;
use vitrine_model::import::{ExternalRef, ProductDraft, Rejection, ReviewDraft};

use crate::feed::{Feed, FeedLine, Row};
use crate::mapping::{Makes, Mapping, Memory, Problems};

/// The most lines of a batch.
pub const BATCH_LINES: usize = 1000;
/// The most bytes of a batch; the line that reaches it is still in.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The most products of review rows that are remembered as made already. Forgetting one costs a
/// look-up, nothing else.
const MAX_REMEMBERED: usize = 500_000;

/// Some lines of a feed, ready to be stored.
#[derive(Debug, Default)]
pub struct Batch {
    /// Every line, in the feed's order.
    pub lines: Vec<Line>,
    /// The products of the lines, in their order; for reviews the products derived from them.
    pub products: Vec<ProductDraft>,
    /// The reviews of the lines, in their order.
    pub reviews: Vec<ReviewDraft>,
    /// Why the file could not be read on after these lines.
    pub broken: Option<String>,
}

/// A line and what is known of it before anything is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its fate so far.
    pub fate: Fate,
    /// Values that were left out, as the mapping wants it.
    pub dropped: Vec<Rejection>,
}

/// What is known of a line before anything is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It holds nothing.
    Blank,
    /// It is refused.
    Rejected(Vec<Rejection>),
    /// It is the next one of the batch's drafts.
    Drafted,
}

/// Makes batches out of a feed.
pub struct Drafter<'m> {
    mapping: &'m Mapping,
    memory: Memory,
    derived: HashSet<u64>,
}

impl<'m> Drafter<'m> {
    /// A drafter that follows a mapping.
    #[must_use]
    pub fn new(mapping: &'m Mapping) -> Self {
        Self {
            mapping,
            memory: Memory::default(),
            derived: HashSet::new(),
        }
    }

    /// The next batch; `None` at the end of the feed.
    pub fn batch(&mut self, feed: &mut Feed) -> Option<Batch> {
        self.batch_of(feed)
    }

    /// The same for any source of lines.
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
        let fate = match line.row {
            Row::Blank => Fate::Blank,
            Row::Unreadable(reason) => unreadable(reason),
            Row::Broken(reason) => {
                batch.broken = Some(reason.clone());
                unreadable(reason)
            }
            Row::Object(row) if self.draft(batch, &row, &mut problems).is_some() => Fate::Drafted,
            Row::Object(_) => Fate::Rejected(problems.fatal),
        };
        batch.lines.push(Line {
            number: line.number,
            fate,
            dropped: problems.dropped,
        });
    }

    /// Adds the drafts of a row. Without any, the problems say why.
    fn draft(&mut self, batch: &mut Batch, row: &Value, problems: &mut Problems) -> Option<()> {
        if self.mapping.makes() == Makes::Products {
            let product = self.mapping.product(&mut self.memory, row, problems)?;
            batch.products.push(product);
            return Some(());
        }
        let review = self.mapping.review(row, problems)?;
        if self.mapping.makes() == Makes::ReviewsAndProducts {
            self.derive(batch, row, &review.product, problems)?;
        }
        batch.reviews.push(review);
        Some(())
    }

    /// Adds the product of a review, unless an earlier row has.
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
        let (mapping, memory) = (self.mapping, &mut self.memory);
        let product = mapping.derived_product(memory, row, source, problems)?;
        batch.products.push(product);
        if self.derived.len() >= MAX_REMEMBERED {
            self.derived.clear();
        }
        self.derived.insert(key);
        Some(())
    }
}

fn unreadable(reason: String) -> Fate {
    Fate::Rejected(vec![Rejection::new("line", reason)])
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
