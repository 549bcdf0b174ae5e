//! The rows of a category, coded so that many are filtered and counted at once.
//!
//! There is a [`Column`] for each field that facets count or filters test: the kind, the price, each spec key. Numbers
//! of a column are in order, so that a range is found by searching its ends; other tests are evaluated once for each
//! distinct value. A facet is counted from its column alone. For each token there is a list of the rows that have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use super::column::{Cell, CellTest, Column, ColumnCounts, Field, Matching, number};
use super::filter::Test;
use super::recent::RecentTests;
use super::{FacetRow, RowFilter, TextId};
use crate::id::{CategoryId, ProductId};

/// How many rows may be replaced, beside as many as there are, before all are coded again: cells of replaced rows stay.
const MIN_REPLACED: usize = if cfg!(test) { 4 } else { 1_024 };

/// What a list of rows needs in memory beside the rows.
const LIST_BYTES: usize = 40;
/// What a row needs in memory beside its codes: two references.
const PLACE_BYTES: usize = 32;

/// What rows have in a field.
#[derive(Debug)]
pub(in crate::facet) enum Counted<'a> {
    /// The cells of rows that have one each.
    Column(Field, ColumnCounts<'a>),
    /// A cell of the row at this place, which has several. They are passed on one after the other.
    OfSeveral(u32, Cell),
}

/// The rows of a category.
#[derive(Debug)]
pub struct CategoryRows {
    category: CategoryId,
    rows: Vec<Arc<FacetRow>>,
    places: FxHashMap<ProductId, u32>,
    columns: FxHashMap<Field, Column>,
    /// The rows with a token, in ascending order.
    by_token: FxHashMap<TextId, Vec<u32>>,
    recent: RecentTests,
    /// The size of the rows alone.
    row_bytes: usize,
    /// How many rows of tokens there are.
    listed: usize,
    /// How many rows have been replaced since all were coded.
    replaced: usize,
    /// Rises with each change.
    version: u64,
    /// Another one after each change of what facets count or filters test.
    counted_version: u64,
}

impl CategoryRows {
    /// Returns the rows of a category without products.
    #[must_use]
    pub fn new(category: CategoryId) -> Self {
        Self {
            category,
            rows: Vec::new(),
            places: FxHashMap::default(),
            columns: FxHashMap::default(),
            by_token: FxHashMap::default(),
            recent: RecentTests::default(),
            row_bytes: 0,
            listed: 0,
            replaced: 0,
            version: 0,
            counted_version: next_version(),
        }
    }

    /// Returns the category.
    #[must_use]
    pub const fn category(&self) -> CategoryId {
        self.category
    }

    /// Returns the rows, in no particular order.
    #[must_use]
    pub fn rows(&self) -> &[Arc<FacetRow>] {
        &self.rows
    }

    /// Whether there is a row of this product.
    #[must_use]
    pub fn contains(&self, id: ProductId) -> bool {
        self.places.contains_key(&id)
    }

    /// Returns a number that rises with each change.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Returns a number that no other rows have, nor these after a change of what facets count or filters test. Changes of
    /// what lists are sorted by leave it alone.
    #[must_use]
    pub const fn counted_version(&self) -> u64 {
        self.counted_version
    }

    /// Returns the size in memory, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.row_bytes
            + PLACE_BYTES * self.rows.len()
            + self.columns.values().map(Column::bytes).sum::<usize>()
            + size_of::<u32>() * self.listed
            + LIST_BYTES * self.by_token.len()
            + RecentTests::bytes(self.rows.len())
    }

    /// Replaces the row of a product; removes it without one, or with one of another category. Returns the row that was
    /// there.
    pub fn replace(&mut self, id: ProductId, row: Option<&Arc<FacetRow>>) -> Option<Arc<FacetRow>> {
        let row = row.filter(|row| row.category == self.category);
        let place = self.places.get(&id).copied();
        let old = match (place, row) {
            (None, None) => return None,
            (Some(place), Some(row)) if self.rows[place as usize].counts_like(row) => {
                self.version += 1;
                let alike = Arc::clone(row);
                return Some(std::mem::replace(&mut self.rows[place as usize], alike));
            }
            (None, Some(row)) => {
                self.push(row);
                None
            }
            (Some(place), Some(row)) => Some(self.put(place, row)),
            (Some(place), None) => Some(self.remove(place)),
        };
        self.version += 1;
        self.counted_version = next_version();
        self.recent.clear();
        if self.replaced > self.rows.len() + MIN_REPLACED {
            self.code_again();
        }
        old
    }

    /// Returns the number of rows that match.
    #[must_use]
    pub fn count(&self, filter: &RowFilter) -> u64 {
        let matching = filter.among(self).count_ones(..);
        matching.try_into().unwrap_or(u64::MAX)
    }

    /// Frees the memory that is reserved for more rows.
    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.places.shrink_to_fit();
        self.fit();
        self.columns.shrink_to_fit();
        self.columns.values_mut().for_each(Column::shrink);
        self.by_token.shrink_to_fit();
        self.by_token.values_mut().for_each(Vec::shrink_to_fit);
    }

    fn push(&mut self, row: &Arc<FacetRow>) {
        let place = number(self.rows.len());
        self.places.insert(row.id, place);
        for token in &row.tokens {
            self.list(*token, place);
        }
        self.code(place, row);
        self.row_bytes += row.bytes();
        self.rows.push(Arc::clone(row));
        if self.rows.len().is_power_of_two() {
            self.fit();
        }
    }

    fn put(&mut self, place: u32, row: &Arc<FacetRow>) -> Arc<FacetRow> {
        let old = Arc::clone(&self.rows[place as usize]);
        let lacks = |row: &FacetRow, token: &TextId| row.tokens.binary_search(token).is_err();
        for token in old.tokens.iter().filter(|token| lacks(row, token)) {
            self.unlist(*token, place);
        }
        for token in row.tokens.iter().filter(|token| lacks(&old, token)) {
            self.list(*token, place);
        }
        let (before, after): (Vec<_>, Vec<_>) = (old.fields().collect(), row.fields().collect());
        for (field, _) in before.iter().filter(|own| !after.contains(own)) {
            self.column(*field).take(place);
        }
        for (field, cell) in after.into_iter().filter(|own| !before.contains(own)) {
            self.fill(place, field, cell);
        }
        self.replaced += 1;
        self.row_bytes = self.row_bytes + row.bytes() - old.bytes();
        self.rows[place as usize] = Arc::clone(row);
        old
    }

    /// Removes a row. The last one takes its place.
    fn remove(&mut self, place: u32) -> Arc<FacetRow> {
        let last = number(self.rows.len() - 1);
        let old = self.rows.swap_remove(place as usize);
        self.places.remove(&old.id);
        for (field, _) in old.fields() {
            self.column(field).take(place);
        }
        for token in &old.tokens {
            self.unlist(*token, place);
        }
        if place != last {
            let moved = Arc::clone(&self.rows[place as usize]);
            self.places.insert(moved.id, place);
            for token in &moved.tokens {
                self.unlist(*token, last);
                self.list(*token, place);
            }
            for (field, _) in moved.fields() {
                let column = self.column(field);
                let code = column.take(last);
                column.put(place, code);
            }
        }
        self.replaced += 1;
        self.row_bytes -= old.bytes();
        old
    }

    fn list(&mut self, token: TextId, place: u32) {
        let rows = self.by_token.entry(token).or_default();
        // Most rows are added behind all others.
        let at = match rows.last() {
            Some(last) if *last >= place => rows.binary_search(&place),
            _ => Err(rows.len()),
        };
        if let Err(at) = at {
            rows.insert(at, place);
            self.listed += 1;
        }
    }

    fn unlist(&mut self, token: TextId, place: u32) {
        let Some(rows) = self.by_token.get_mut(&token) else {
            return;
        };
        if let Ok(at) = rows.binary_search(&place) {
            rows.remove(at);
            self.listed -= 1;
        }
        if rows.is_empty() {
            self.by_token.remove(&token);
        }
    }

    fn column(&mut self, field: Field) -> &mut Column {
        self.columns.entry(field).or_insert_with(Column::new)
    }

    /// Adds the codes of a row.
    fn code(&mut self, place: u32, row: &FacetRow) {
        for (field, cell) in row.fields() {
            self.fill(place, field, cell);
        }
    }

    fn fill(&mut self, place: u32, field: Field, cell: Option<Cell>) {
        let column = self.column(field);
        let code = column.code(cell);
        column.put(place, code);
    }

    /// Codes all rows again, without what only replaced rows had.
    fn code_again(&mut self) {
        self.columns = FxHashMap::default();
        self.replaced = 0;
        for place in 0..self.rows.len() {
            let row = Arc::clone(&self.rows[place]);
            self.code(number(place), &row);
        }
        self.fit();
    }

    fn fit(&mut self) {
        let rows = self.rows.len();
        self.columns
            .values_mut()
            .for_each(|column| column.fit(rows));
    }

    /// Returns no row.
    pub(super) fn none(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.rows.len())
    }

    /// Returns every row.
    pub(super) fn all(&self) -> FixedBitSet {
        let mut all = self.none();
        all.insert_range(..);
        all
    }

    /// Returns which rows a test holds for. They are found unless they are known from before.
    pub(super) fn found(
        &self,
        test: &Test,
        find: impl FnOnce() -> FixedBitSet,
    ) -> Arc<FixedBitSet> {
        self.recent.get_or_find(test, self.rows.len(), find)
    }

    /// Returns the rows that have one of these tokens.
    pub(super) fn with_tokens(&self, tokens: &[TextId]) -> FixedBitSet {
        let mut found = self.none();
        let lists = tokens.iter().filter_map(|token| self.by_token.get(token));
        for place in lists.flatten() {
            found.insert(*place as usize);
        }
        found
    }

    /// Returns the rows that have a cell in this field for which a test holds.
    pub(super) fn with_cells(&self, field: Field, test: &impl CellTest) -> FixedBitSet {
        let Some(column) = self.columns.get(&field) else {
            return self.none();
        };
        column.find(self.rows.len(), test, |place| {
            self.cells_of(place, field).any(|cell| test.holds(cell))
        })
    }

    /// Counts the rows that match, by the cells of some fields. Returns how many match.
    pub(in crate::facet) fn count_cells(
        &self,
        filter: &RowFilter,
        counts_field: impl Fn(Field) -> bool,
        mut counted: impl FnMut(Counted<'_>),
    ) -> usize {
        let matching = Matching::new(filter.among(self));
        if matching.len() == 0 {
            return 0;
        }
        let mut counts = Vec::new();
        let columns = self.columns.iter();
        for (field, column) in columns.filter(|(field, _)| counts_field(**field)) {
            let cells = column.count(&matching, &mut counts, |place| {
                for cell in self.cells_of(place, *field) {
                    counted(Counted::OfSeveral(place, cell));
                }
            });
            if !cells.is_empty() {
                counted(Counted::Column(*field, cells));
            }
        }
        matching.len()
    }

    /// Returns the cells of a row with several in a field.
    fn cells_of(&self, place: u32, field: Field) -> impl Iterator<Item = Cell> + '_ {
        let row = &self.rows[place as usize];
        let of_key = row
            .specs
            .iter()
            .filter(move |spec| Field::Spec(spec.key) == field);
        of_key.map(|spec| Cell::Spec(row.kind, *spec))
    }
}

/// Returns a number that was not returned before.
fn next_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}
