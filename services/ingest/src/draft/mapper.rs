//! Mapping lines without regard to other lines, so that several threads can do it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use vitrine_formats::{CellProblem, FeedLine, Row};
use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ProductDraft, Rejection, ReviewDraft};

use super::{MAX_SEEN_ROWS, Part};
use crate::mapping::{self, Mapped, Mapping, MappingCache, MappingOutput};

/// Maps lines, each by itself.
pub(crate) struct Mapper<'m> {
    pub(crate) mapping: &'m Mapping,
    pub(crate) cache: MappingCache,
    /// The number of rows that the drafter has seen.
    rows: Arc<AtomicU64>,
    /// The time at which rows are read, if there is a clock.
    now: Option<Timestamp>,
}

/// A line that is mapped.
pub(super) struct MappedLine {
    pub(super) number: u64,
    pub(super) content: Content,
    /// Why cells have no value although they are not empty.
    pub(super) cells: Vec<Rejection>,
}

/// The content of a line that is mapped.
pub(super) enum Content {
    Blank,
    Gathered,
    Unreadable(String),
    Broken(String),
    /// It has no row, because the rows of other files cannot be added to it.
    Unjoined(Rejection),
    Row(MappedRow),
}

/// A row that is mapped.
pub(super) struct MappedRow {
    /// The row with those of other files, if the drafter still needs it.
    pub(super) row: Option<Value>,
    /// The products and reviews, or why the row is refused.
    pub(super) records: Result<MappedRecords, Rejection>,
}

pub(super) type MappedRecords = (Vec<Mapped<ProductDraft>>, Vec<Mapped<ReviewDraft>>);

/// The reason why a cell has no value.
fn without_value(cell: CellProblem) -> Rejection {
    let CellProblem {
        column,
        cell,
        reason,
    } = cell;
    Rejection::new(column, format!("{cell} {reason}"))
}

impl<'m> Mapper<'m> {
    pub(super) fn new(mapping: &'m Mapping, rows: &Arc<AtomicU64>) -> Self {
        Self {
            mapping,
            cache: MappingCache::default(),
            rows: Arc::clone(rows),
            now: None,
        }
    }

    /// Returns the mapper for a feed that is read at this time.
    pub(super) fn read_at(self, now: Option<Timestamp>) -> Self {
        Self { now, ..self }
    }

    /// Returns another mapper of the same feed.
    pub(super) fn another(&self) -> Self {
        Self::new(self.mapping, &self.rows).read_at(self.now)
    }

    /// The start for the paths of a row.
    pub(crate) fn start<'v>(&self, row: &'v Value, line: &'v Value) -> mapping::Row<'v> {
        mapping::Row::new(row, line).read_at(self.now)
    }

    /// Maps lines.
    pub(crate) fn map(&mut self, lines: Vec<FeedLine>) -> Part {
        let lines = lines.into_iter().map(|line| MappedLine {
            number: line.number,
            cells: line.cells.into_iter().map(without_value).collect(),
            content: match line.row {
                Row::Blank => Content::Blank,
                Row::Gathered => Content::Gathered,
                Row::Unreadable(reason) => Content::Unreadable(reason),
                Row::Broken(reason) => Content::Broken(reason),
                Row::Object(row) => self.content(line.number, row),
            },
        });
        let lines = lines.collect();
        Part {
            lines,
            spec_paths: self.take_spec_paths(),
            key_names: self.cache.take_new_names(),
        }
    }

    /// The paths of specs that were met for the first time since the last call.
    pub(super) fn take_spec_paths(&mut self) -> Vec<String> {
        self.cache.take_new_paths()
    }

    fn content(&mut self, line: u64, mut row: Value) -> Content {
        let number = Value::from(line);
        if let Err(rejection) = self.mapping.join(&mut row, &number) {
            return Content::Unjoined(rejection);
        }
        let derives = self.mapping.output() == MappingOutput::ReviewsAndProducts;
        let records = self.records(self.start(&row, &number), derives);
        // The drafter sees rows in their order. It has not seen this one, so the number of rows before it is not
        // smaller than the one read here.
        let is_seen = self.rows.load(Ordering::Relaxed) < MAX_SEEN_ROWS;
        Content::Row(MappedRow {
            row: (derives || is_seen).then_some(row),
            records,
        })
    }

    fn records(
        &mut self,
        row: mapping::Row<'_>,
        derives: bool,
    ) -> Result<MappedRecords, Rejection> {
        self.mapping.check_records(row)?;
        let products = if derives {
            Vec::new()
        } else {
            self.mapping.products(&mut self.cache, row)
        };
        let reviews = self.mapping.reviews(&mut self.cache, row);
        Ok((products, reviews))
    }
}
