//! The rows of a category, coded so that many are filtered and counted at once.
//!
//! Each field of a row that facets count or filters test is a [`Cell`]: its kind, its price, each of its specs. Each
//! distinct cell of the category has a number, its code, and a row is stored as the list of its codes. Facets are counted
//! by counting codes. A test of one field is evaluated once for each distinct cell. For each token there is a list of the
//! rows that have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use super::{Bits, FacetRow, RowFilter, RowSpec, TextId, ValueId};
use crate::id::{CategoryId, ProductId};

/// Set in the code of a spec that a row has beside others with the same key. The rest is its place among the specs. Such
/// specs cannot be counted one by one: the product counts once for its key.
const BESIDE_OTHERS: u32 = 1 << 31;
/// How many rows may be replaced, beside as many as there are, before all are coded again: codes of replaced rows stay.
const MIN_REPLACED: usize = if cfg!(test) { 4 } else { 1_024 };

/// What a distinct cell needs in memory: it is stored twice, once with its code.
const CELL_BYTES: usize = 2 * size_of::<Cell>() + 8;
/// What a list of rows needs in memory beside the rows.
const LIST_BYTES: usize = 40;
/// What a row needs in memory beside its codes: two references, and where its codes are.
const PLACE_BYTES: usize = 40;

/// A field of a row that facets count or filters test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::facet) enum Cell {
    Kind(TextId),
    Brand(ValueId),
    Country(ValueId),
    Price(i64),
    Stars(Bits),
    /// A spec of a product of a kind.
    Spec(TextId, RowSpec),
}

/// The rows of a category.
#[derive(Debug)]
pub struct CategoryRows {
    category: CategoryId,
    rows: Vec<Arc<FacetRow>>,
    places: FxHashMap<ProductId, u32>,
    cells: Vec<Cell>,
    by_cell: FxHashMap<Cell, u32>,
    /// Where the codes of each row are.
    coded: Vec<Coded>,
    codes: Vec<u32>,
    /// The rows with a token, in ascending order.
    by_token: FxHashMap<TextId, Vec<u32>>,
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

#[derive(Clone, Copy, Debug)]
struct Coded {
    start: u32,
    len: u32,
}

impl CategoryRows {
    /// Returns the rows of a category without products.
    #[must_use]
    pub fn new(category: CategoryId) -> Self {
        Self {
            category,
            rows: Vec::new(),
            places: FxHashMap::default(),
            cells: Vec::new(),
            by_cell: FxHashMap::default(),
            coded: Vec::new(),
            codes: Vec::new(),
            by_token: FxHashMap::default(),
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
            + CELL_BYTES * self.cells.len()
            + size_of::<u32>() * (self.codes.len() + self.listed)
            + LIST_BYTES * self.by_token.len()
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
        self.cells.shrink_to_fit();
        self.by_cell.shrink_to_fit();
        self.coded.shrink_to_fit();
        self.codes.shrink_to_fit();
        self.by_token.shrink_to_fit();
        self.by_token.values_mut().for_each(Vec::shrink_to_fit);
    }

    fn push(&mut self, row: &Arc<FacetRow>) {
        let place = number(self.rows.len());
        self.places.insert(row.id, place);
        for token in &row.tokens {
            self.list(*token, place);
        }
        let coded = self.code(row);
        self.coded.push(coded);
        self.row_bytes += row.bytes();
        self.rows.push(Arc::clone(row));
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
        self.coded[place as usize] = self.code(row);
        self.replaced += 1;
        self.row_bytes = self.row_bytes + row.bytes() - old.bytes();
        self.rows[place as usize] = Arc::clone(row);
        old
    }

    /// Removes a row. The last one takes its place.
    fn remove(&mut self, place: u32) -> Arc<FacetRow> {
        let last = number(self.rows.len() - 1);
        let old = self.rows.swap_remove(place as usize);
        self.coded.swap_remove(place as usize);
        self.places.remove(&old.id);
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

    /// Adds the codes of a row.
    fn code(&mut self, row: &FacetRow) -> Coded {
        let start = self.codes.len();
        self.add_cell(Cell::Kind(row.kind));
        let fields = [
            row.brand.map(Cell::Brand),
            row.country.map(Cell::Country),
            row.list_price.map(Cell::Price),
            row.half_stars.map(|stars| Cell::Stars(Bits(stars))),
        ];
        for cell in fields.into_iter().flatten() {
            self.add_cell(cell);
        }
        for (at, spec) in row.specs.iter().enumerate() {
            let mut of_key = row.specs.iter().filter(|other| other.key == spec.key);
            if of_key.nth(1).is_some() {
                self.codes.push(BESIDE_OTHERS | number(at));
            } else {
                self.add_cell(Cell::Spec(row.kind, *spec));
            }
        }
        Coded {
            start: number(start),
            len: number(self.codes.len() - start),
        }
    }

    fn add_cell(&mut self, cell: Cell) {
        let next = number(self.cells.len());
        let code = *self.by_cell.entry(cell).or_insert(next);
        if code == next {
            self.cells.push(cell);
        }
        self.codes.push(code);
    }

    /// Codes all rows again, without what only replaced rows had.
    fn code_again(&mut self) {
        (self.cells, self.codes) = (Vec::new(), Vec::new());
        self.by_cell = FxHashMap::default();
        self.replaced = 0;
        for place in 0..self.rows.len() {
            let row = Arc::clone(&self.rows[place]);
            self.coded[place] = self.code(&row);
        }
    }

    fn codes_of(&self, place: usize) -> &[u32] {
        let Coded { start, len } = self.coded[place];
        &self.codes[start as usize..(start + len) as usize]
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

    /// Returns the rows that have one of these tokens.
    pub(super) fn with_tokens(&self, tokens: &[TextId]) -> FixedBitSet {
        let mut found = self.none();
        let lists = tokens.iter().filter_map(|token| self.by_token.get(token));
        for place in lists.flatten() {
            found.insert(*place as usize);
        }
        found
    }

    /// Returns the rows that have a cell for which something holds.
    pub(super) fn with_cells(&self, holds: impl Fn(Cell) -> bool) -> FixedBitSet {
        let of_cells: Vec<bool> = self.cells.iter().map(|cell| holds(*cell)).collect();
        let mut found = self.none();
        for (place, row) in self.rows.iter().enumerate() {
            let has = |code: &u32| match of_cells.get(*code as usize) {
                Some(holds) => *holds,
                None => holds(Cell::Spec(row.kind, spec(row, *code))),
            };
            found.set(place, self.codes_of(place).iter().any(has));
        }
        found
    }

    /// Counts rows: returns how many of them have each cell. Passes on the specs that a row has beside others with the
    /// same key, those of a row one after the other.
    pub(in crate::facet) fn count_cells(
        &self,
        rows: &FixedBitSet,
        mut beside_others: impl FnMut(&FacetRow, RowSpec),
    ) -> impl Iterator<Item = (Cell, u32)> + '_ {
        let mut counts = vec![0; self.cells.len()];
        for place in rows.ones() {
            for code in self.codes_of(place) {
                if let Some(count) = counts.get_mut(*code as usize) {
                    *count += 1;
                } else {
                    let row = &self.rows[place];
                    beside_others(row, spec(row, *code));
                }
            }
        }
        let counted = self.cells.iter().zip(counts);
        counted.filter_map(|(cell, rows)| (rows > 0).then_some((*cell, rows)))
    }
}

/// Returns a number that was not returned before.
fn next_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// The spec that a code stands for.
fn spec(row: &FacetRow, code: u32) -> RowSpec {
    row.specs[(code & !BESIDE_OTHERS) as usize]
}

/// The number of the next item. Codes that are not used any more included, a category has far fewer: each takes memory.
fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
