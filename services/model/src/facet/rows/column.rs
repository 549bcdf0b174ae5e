//! What the rows of a category have in one field.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use self::codes::{Code, NOTHING, RowCodes, SEVERAL, with_codes};
use super::{Bits, FacetRow, RowSpec, RowValue, TextId, ValueId};

mod codes;

/// To look up a filled row takes about as long as to pass on this many.
const ROWS_PER_LOOKUP: usize = if cfg!(test) { 2 } else { 16 };
/// In a list of the codes of all rows a row is found at once. It needs more memory than a list of the filled ones if fewer
/// than one row in two is filled, and is used down to one in this many.
const ROWS_PER_FILLED: usize = if cfg!(test) { 3 } else { 8 };

/// How many bits are in a block of a set.
const BLOCK: usize = usize::BITS as usize;

/// How many counters a cell has while rows are counted, in turn: a processor that adds to one again at once waits for it.
const LANES: usize = 4;
/// Cells of columns with more distinct ones have one counter each: the counters of all should fit in the nearest cache.
const MAX_CELLS_WITH_LANES: usize = if cfg!(test) { 3 } else { 512 };

/// How many numbers may follow those in order, beside half as many as these.
const MIN_UNORDERED: usize = if cfg!(test) { 2 } else { 256 };

/// What a cell or a label needs in memory beside itself: its hash, its place in a table, and its share of what is free.
const ITEM_BYTES: usize = 24;
/// What a column needs in memory beside its cells and codes: itself in a table, allocations, and room for few cells.
const COLUMN_BYTES: usize = size_of::<Column>() + size_of::<Field>() + 200;

/// A field that facets count or filters test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::facet) enum Field {
    Kind,
    Brand,
    Country,
    Price,
    Stars,
    /// The specs with a key.
    Spec(TextId),
}

/// A value in a field.
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

/// A test of a cell.
pub(super) trait CellTest {
    /// Whether it holds for a row with this cell.
    fn holds(&self, cell: Cell) -> bool;

    /// Where a number is: below those for which the test holds, one of these, or above them; `None` if the test is not
    /// about a range of numbers alone. Either all finite numbers of a field have a side or none has.
    fn side(&self, cell: Cell) -> Option<Ordering>;
}

/// Which rows to count, in both forms that columns need.
#[derive(Debug)]
pub(super) struct Matching {
    rows: Arc<FixedBitSet>,
    count: usize,
    /// Filled when a column needs it.
    places: OnceCell<Vec<u32>>,
}

/// What the rows of a category have in a field. Each distinct cell has a number, its code.
#[derive(Debug)]
pub(super) struct Column {
    /// Cells that are the same but for a value, without their values. There are few, unless there are many qualifiers.
    labels: IndexSet<Cell, FxBuildHasher>,
    /// By code.
    cells: IndexSet<CodedCell, FxBuildHasher>,
    /// How many cells at the beginning are finite numbers in ascending order.
    ordered: usize,
    /// How many numbers are among the others.
    unordered: usize,
    codes: Codes,
    /// How many rows have a code.
    filled: usize,
    /// How many of these have several values.
    several: usize,
}

#[derive(Debug)]
enum Codes {
    /// For each row.
    OfAll(RowCodes),
    /// The place and the code of each filled row, in ascending order.
    OfFilled(Vec<(u32, u32)>),
}

/// A cell in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CodedCell {
    /// The number of its label.
    label: u32,
    /// Its value: an id, a price, or the bits of a number; 0 if the label says all.
    value: u64,
}

/// How many rows have each cell of a column. Rows with several are not counted.
#[derive(Debug)]
pub(in crate::facet) struct ColumnCounts<'a> {
    column: &'a Column,
    counts: &'a [u32],
    /// The codes of the cells that rows have.
    counted: FixedBitSet,
}

impl ColumnCounts<'_> {
    /// Whether no row has a cell.
    pub(in crate::facet) fn is_empty(&self) -> bool {
        self.counted.is_clear()
    }

    /// Returns how many cells rows have.
    pub(in crate::facet) fn len(&self) -> usize {
        self.counted.count_ones(..)
    }

    /// Returns the cells without their values: those of a label differ only in this.
    pub(in crate::facet) fn labels(&self) -> impl Iterator<Item = Cell> {
        self.column.labels.iter().copied()
    }

    /// Returns for each cell that rows have the place of its label, its value as bits, and the number of these rows. Most
    /// numbers are in ascending order.
    pub(in crate::facet) fn cells(&self) -> impl Iterator<Item = (usize, u64, u32)> {
        let cells = self.column.cells.as_slice();
        self.counted.ones().map(move |code| {
            let CodedCell { label, value } = cells[code];
            (label as usize, value, self.counts[code])
        })
    }
}

impl Cell {
    /// Divides a cell into its label and a value of which a column may have many.
    pub(in crate::facet) fn split(self) -> (Self, u64) {
        match self {
            Self::Kind(_) | Self::Stars(_) => (self, 0),
            Self::Brand(value) => (Self::Brand(ValueId::FIRST), value.to_bits()),
            Self::Country(value) => (Self::Country(ValueId::FIRST), value.to_bits()),
            Self::Price(price) => (Self::Price(0), price.cast_unsigned()),
            Self::Spec(kind, spec) => {
                let (value, bits) = match spec.value {
                    RowValue::Text(Some(value)) => {
                        (RowValue::Text(Some(ValueId::FIRST)), value.to_bits())
                    }
                    RowValue::Number(unit, n) if n.0.is_finite() => {
                        (RowValue::Number(unit, Bits(0.0)), n.0.to_bits())
                    }
                    RowValue::Date(millis) if millis.0.is_finite() => {
                        (RowValue::Date(Bits(0.0)), millis.0.to_bits())
                    }
                    other => (other, 0),
                };
                (Self::Spec(kind, RowSpec { value, ..spec }), bits)
            }
        }
    }

    /// Returns the cell with this label and value.
    fn with_value(self, bits: u64) -> Self {
        match self {
            Self::Kind(_) | Self::Stars(_) => self,
            Self::Brand(_) => Self::Brand(ValueId::from_bits(bits)),
            Self::Country(_) => Self::Country(ValueId::from_bits(bits)),
            Self::Price(_) => Self::Price(bits.cast_signed()),
            Self::Spec(kind, spec) => {
                let number = Bits(f64::from_bits(bits));
                let value = match spec.value {
                    RowValue::Text(Some(_)) => RowValue::Text(Some(ValueId::from_bits(bits))),
                    RowValue::Number(unit, n) if n.0.is_finite() => RowValue::Number(unit, number),
                    RowValue::Date(millis) if millis.0.is_finite() => RowValue::Date(number),
                    other => other,
                };
                Self::Spec(kind, RowSpec { value, ..spec })
            }
        }
    }

    /// Returns a number that is higher for higher numbers; `None` for what is not a finite number.
    fn place_among_numbers(self) -> Option<i64> {
        let n = match self {
            Self::Price(price) => return Some(price),
            Self::Stars(stars) => stars.0,
            Self::Spec(_, spec) => spec.value.number()?,
            Self::Kind(_) | Self::Brand(_) | Self::Country(_) => return None,
        };
        // The bits of positive numbers are in order, those of negative ones in reverse.
        let bits = n.to_bits().cast_signed();
        n.is_finite()
            .then_some(if bits < 0 { bits ^ i64::MAX } else { bits })
    }
}

impl Matching {
    pub(super) fn new(rows: Arc<FixedBitSet>) -> Self {
        Self {
            count: rows.count_ones(..),
            rows,
            places: OnceCell::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    fn places(&self) -> &[u32] {
        self.places.get_or_init(|| {
            let mut places = Vec::with_capacity(self.count);
            places.extend(self.rows.ones().map(number));
            places
        })
    }

    /// Whether every row matches.
    fn is_all(&self) -> bool {
        self.len() == self.rows.len()
    }
}

impl Column {
    pub(super) fn new() -> Self {
        Self {
            labels: IndexSet::default(),
            cells: IndexSet::default(),
            ordered: 0,
            unordered: 0,
            codes: Codes::OfFilled(Vec::new()),
            filled: 0,
            several: 0,
        }
    }

    /// Returns the size in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        let codes = match &self.codes {
            Codes::OfAll(codes) => codes.bytes(),
            Codes::OfFilled(codes) => size_of_val(codes.as_slice()),
        };
        let labels = (size_of::<Cell>() + ITEM_BYTES) * self.labels.len();
        let cells = (size_of::<CodedCell>() + ITEM_BYTES) * self.cells.len();
        COLUMN_BYTES + labels + cells + codes
    }

    /// Frees the memory that is reserved for more rows.
    pub(super) fn shrink(&mut self) {
        self.labels.shrink_to_fit();
        self.cells.shrink_to_fit();
        match &mut self.codes {
            Codes::OfAll(codes) => codes.shrink(),
            Codes::OfFilled(codes) => codes.shrink_to_fit(),
        }
    }

    /// Puts numbers in order, and chooses the form of the codes for a category with this many rows.
    pub(super) fn fit(&mut self, rows: usize) {
        self.order();
        let is_for_all = matches!(self.codes, Codes::OfAll(_));
        if is_for_all == (ROWS_PER_FILLED * self.filled > rows) {
            return;
        }
        self.codes = match &self.codes {
            Codes::OfAll(codes) => Codes::OfFilled(codes.filled()),
            Codes::OfFilled(codes) => Codes::OfAll(RowCodes::of(codes, rows, self.cells.len())),
        };
    }

    /// Puts numbers in order. Changes the codes.
    fn order(&mut self) {
        if self.unordered == 0 {
            return;
        }
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        // Stable: cells that are no numbers keep their order.
        order.sort_by_key(|code| {
            let place = self.decoded(self.cells[*code]).place_among_numbers();
            (place.is_none(), place)
        });
        let mut code_after = vec![0; order.len()];
        for (after, before) in (0..).zip(&order) {
            code_after[*before] = after;
        }
        let recode = |code: u32| code_after.get(code as usize).copied().unwrap_or(code);
        match &mut self.codes {
            Codes::OfAll(codes) => codes.replace(recode),
            Codes::OfFilled(codes) => codes.iter_mut().for_each(|(_, code)| *code = recode(*code)),
        }
        self.cells = order.iter().map(|code| self.cells[*code]).collect();
        self.ordered += self.unordered;
        self.unordered = 0;
    }

    /// Returns the code of a cell; of several without one.
    pub(super) fn code(&mut self, cell: Option<Cell>) -> u32 {
        let Some(cell) = cell else {
            return SEVERAL;
        };
        let (label, value) = cell.split();
        let (label, _) = self.labels.insert_full(label);
        let label = number(label);
        let coded = CodedCell { label, value };
        if let Some(code) = self.cells.get_index_of(&coded) {
            return number(code);
        }
        if self.unordered > MIN_UNORDERED + self.ordered / 2 {
            self.order();
        }
        self.unordered += usize::from(cell.place_among_numbers().is_some());
        let (code, _) = self.cells.insert_full(coded);
        number(code)
    }

    fn decoded(&self, CodedCell { label, value }: CodedCell) -> Cell {
        self.labels[label as usize].with_value(value)
    }

    /// Fills a row that has no code.
    pub(super) fn put(&mut self, place: u32, code: u32) {
        self.filled += 1;
        self.several += usize::from(code == SEVERAL);
        match &mut self.codes {
            Codes::OfAll(codes) => codes.put(place, code),
            // Most rows are added behind all others.
            Codes::OfFilled(codes) if codes.last().is_none_or(|(last, _)| *last < place) => {
                codes.push((place, code));
            }
            Codes::OfFilled(codes) => {
                let at = codes.partition_point(|(before, _)| *before < place);
                codes.insert(at, (place, code));
                // Every further one would move more of them.
                let rows = codes.last().map_or(0, |(last, _)| *last as usize + 1);
                if ROWS_PER_FILLED * codes.len() > rows {
                    self.codes = Codes::OfAll(RowCodes::of(codes, rows, self.cells.len()));
                }
            }
        }
    }

    /// Empties a filled row. Returns its code.
    pub(super) fn take(&mut self, place: u32) -> u32 {
        self.filled -= 1;
        let code = match &mut self.codes {
            Codes::OfAll(codes) => codes.take(place),
            Codes::OfFilled(codes) => {
                find_filled(codes, place).map_or(NOTHING, |at| codes.remove(at).1)
            }
        };
        self.several -= usize::from(code == SEVERAL);
        code
    }

    /// Returns those of so many rows that have a cell for which a test holds. For rows with several, `of_several` tells.
    pub(super) fn find(
        &self,
        rows: usize,
        test: &impl CellTest,
        of_several: impl Fn(u32) -> bool,
    ) -> FixedBitSet {
        let side = |coded: &CodedCell| test.side(self.decoded(*coded));
        let is_range = self.cells[..self.ordered]
            .first()
            .is_some_and(|cell| side(cell).is_some());
        let ordered = if is_range { self.ordered } else { 0 };
        let (ordered, others) = self.cells.as_slice().split_at(ordered);
        let low = ordered.partition_point(|cell| side(cell) == Some(Ordering::Less));
        let high = ordered.partition_point(|cell| side(cell) != Some(Ordering::Greater));
        let others = others.iter().map(|cell| test.holds(self.decoded(*cell)));
        let of_others: Vec<bool> = others.collect();
        let (first_other, low, high) = (number(ordered.len()), number(low), number(high));
        let holds = |place: u32, code: u32| {
            if code < first_other {
                return (low..high).contains(&code);
            }
            let other = of_others.get((code - first_other) as usize).copied();
            other.unwrap_or_else(|| code == SEVERAL && of_several(place))
        };
        let only_range_holds = self.several == 0 && !of_others.contains(&true);
        let mut found = FixedBitSet::with_capacity(rows);
        match &self.codes {
            Codes::OfAll(codes) if only_range_holds => {
                with_codes!(codes, codes => find_within(codes, low..high, &mut found));
            }
            Codes::OfAll(codes) => {
                with_codes!(codes, codes => find_each(codes, holds, &mut found));
            }
            Codes::OfFilled(codes) => {
                let holding = codes.iter().filter(|(place, code)| holds(*place, *code));
                holding.for_each(|(place, _)| found.insert(*place as usize));
            }
        }
        found
    }

    /// Returns how many rows have each cell, counted in `counts`. Passes on the rows that have several.
    pub(super) fn count<'a>(
        &'a self,
        matching: &Matching,
        counts: &'a mut Vec<u32>,
        each_several: impl FnMut(u32),
    ) -> ColumnCounts<'a> {
        counts.clear();
        let rows = matching.rows.len();
        let all_have_the_same = (self.cells.len(), self.filled, self.several) == (1, rows, 0);
        if all_have_the_same {
            counts.push(number(matching.len()));
        } else if let Codes::OfAll(RowCodes::One(codes)) = &self.codes {
            counts.extend(count_bytes(codes, matching, self.cells.len()));
        } else if self.cells.len() <= MAX_CELLS_WITH_LANES {
            self.count_codes::<LANES>(matching, counts);
        } else {
            self.count_codes::<1>(matching, counts);
        }
        if self.several > 0 {
            self.each_with_several(matching, each_several);
        }
        // Many counts are zero, in no order that a processor could predict: they are passed over in blocks.
        let mut counted = FixedBitSet::with_capacity(counts.len());
        find_within(counts, 1..u32::MAX, &mut counted);
        ColumnCounts {
            column: self,
            counts,
            counted,
        }
    }

    /// Counts the rows with each code. A cell has this many counters meanwhile.
    fn count_codes<const PER_CELL: usize>(&self, matching: &Matching, counts: &mut Vec<u32>) {
        let cells = self.cells.len();
        counts.resize(PER_CELL * (cells + 1), 0);
        let (counters, _) = counts.as_chunks_mut::<PER_CELL>();
        let mut lane = 0;
        // Rows with no value or several have a place behind all cells: a processor could not predict which those are.
        let mut count = |code: u32| {
            counters[(code as usize).min(cells)][lane] += 1;
            lane = (lane + 1) % PER_CELL;
        };
        match &self.codes {
            Codes::OfAll(codes) => {
                with_codes!(codes, codes => each_of(codes, matching, |_, code| count(code.code_or_above())));
            }
            Codes::OfFilled(codes) => each_filled(codes, matching, |_, code| count(code)),
        }
        for cell in 0..cells {
            counts[cell] = counts[PER_CELL * cell..][..PER_CELL].iter().sum();
        }
        counts.truncate(cells);
    }

    /// Passes on the rows among these that have several values.
    fn each_with_several(&self, matching: &Matching, mut each: impl FnMut(u32)) {
        let mut of = |place: u32, code: u32| {
            if code == SEVERAL {
                each(place);
            }
        };
        match &self.codes {
            Codes::OfAll(codes) => {
                with_codes!(codes, codes => each_of(codes, matching, |place, code| of(place, code.code())));
            }
            Codes::OfFilled(codes) => each_filled(codes, matching, of),
        }
    }
}

impl FacetRow {
    /// Returns the fields that this row has and its cell in each; no cell where it has several.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Field, Option<Cell>)> + '_ {
        let built_in = [
            Some((Field::Kind, Cell::Kind(self.kind))),
            self.brand.map(|value| (Field::Brand, Cell::Brand(value))),
            self.country
                .map(|value| (Field::Country, Cell::Country(value))),
            self.list_price
                .map(|price| (Field::Price, Cell::Price(price))),
            self.half_stars
                .map(|stars| (Field::Stars, Cell::Stars(Bits(stars)))),
        ];
        let built_in = built_in.into_iter().flatten();
        let specs = self.specs.iter().enumerate().filter_map(|(at, spec)| {
            let has_key = |other: &RowSpec| other.key == spec.key;
            let (before, after) = (&self.specs[..at], &self.specs[at + 1..]);
            if before.iter().any(has_key) {
                return None;
            }
            let is_alone = !after.iter().any(has_key);
            let cell = is_alone.then_some(Cell::Spec(self.kind, *spec));
            Some((Field::Spec(spec.key), cell))
        });
        iter::chain(built_in.map(|(field, cell)| (field, Some(cell))), specs)
    }
}

/// Passes on each row among these and its code, which may be [`NOTHING`].
fn each_of<T: Code>(codes: &[T], matching: &Matching, mut each: impl FnMut(u32, T)) {
    if matching.is_all() {
        let codes = (0..).zip(codes);
        codes.for_each(|(place, code)| each(place, *code));
        return;
    }
    for place in matching.places() {
        if let Some(code) = codes.get(*place as usize) {
            each(*place, *code);
        }
    }
}

/// Returns how many of these rows have each cell. Each byte has a counter in each lane, whether or not it is the code of a
/// cell, so that codes need not be compared with the number of cells.
fn count_bytes(codes: &[u8], matching: &Matching, cells: usize) -> impl Iterator<Item = u32> {
    const CODES: usize = u8::MAX as usize + 1;
    let mut lanes = [[0_u32; CODES]; LANES];
    let mut count = |codes: [u8; LANES]| {
        for (lane, code) in lanes.iter_mut().zip(codes) {
            lane[usize::from(code)] += 1;
        }
    };
    if matching.is_all() {
        let (blocks, rest) = codes.as_chunks();
        for block in blocks {
            count(*block);
        }
        count(padded(rest, |code| *code));
    } else {
        let code = |place: &u32| codes.get(*place as usize).copied().unwrap_or(u8::NOTHING);
        let (blocks, rest) = matching.places().as_chunks();
        for block in blocks {
            count(block.each_ref().map(code));
        }
        count(padded(rest, code));
    }
    (0..cells).map(move |code| lanes.iter().map(|lane| lane[code]).sum())
}

/// Returns the codes of less than a block, with [`NOTHING`] behind them.
fn padded<T>(rest: &[T], code: impl Fn(&T) -> u8) -> [u8; LANES] {
    std::array::from_fn(|at| rest.get(at).map_or(u8::NOTHING, &code))
}

/// Passes on each filled row among these and its code. May also pass on other filled rows, with [`NOTHING`].
fn each_filled(codes: &[(u32, u32)], matching: &Matching, mut each: impl FnMut(u32, u32)) {
    if matching.len() < codes.len() / ROWS_PER_LOOKUP {
        for place in matching.places() {
            if let Some(at) = find_filled(codes, *place) {
                each(*place, codes[at].1);
            }
        }
        return;
    }
    // Without a branch: a processor could not predict which rows match.
    for (place, code) in codes {
        let is_match = matching.rows.contains(*place as usize);
        each(*place, if is_match { *code } else { NOTHING });
    }
}

/// Returns where a filled row is.
fn find_filled(codes: &[(u32, u32)], place: u32) -> Option<usize> {
    codes.binary_search_by_key(&place, |(place, _)| *place).ok()
}

/// Finds the rows for which a test holds.
fn find_each(codes: &[impl Code], holds: impl Fn(u32, u32) -> bool, found: &mut FixedBitSet) {
    let blocks = found.as_mut_slice().iter_mut();
    let places = (0..).step_by(BLOCK);
    for ((block, codes), first) in blocks.zip(codes.chunks(BLOCK)).zip(places) {
        for (bit, code) in (0..).zip(codes) {
            *block |= usize::from(holds(first + bit, code.code())) << bit;
        }
    }
}

/// Finds the indices of codes, or of counts, that are in a range. The highest number is not in any.
fn find_within<T: Code>(values: &[T], range: Range<u32>, found: &mut FixedBitSet) {
    let nothing = T::NOTHING.into();
    let (start, end) = (range.start.min(nothing), range.end.min(nothing));
    let (Ok(start), Ok(length)) = (T::try_from(start), T::try_from(end - start)) else {
        return;
    };
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let found = found.as_mut_slice();
    // After removals there may be fewer rows than codes.
    let (of_blocks, of_rest) = found.split_at_mut(blocks.len().min(found.len()));
    for (block, values) in of_blocks.iter_mut().zip(blocks) {
        *block = are_within(values, start, length);
    }
    if let Some(last) = of_rest.first_mut() {
        *last = are_within(rest, start, length);
    }
}

/// Returns a bit for each of at most as many values as a block has: whether it is at least the first number, and below the
/// sum of both.
#[inline]
fn are_within<T: Code>(values: &[T], start: T, length: T) -> usize {
    // The product has the lowest bits of the eight bytes in its highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut flags = [0_u8; BLOCK];
    for (flag, value) in flags.iter_mut().zip(values) {
        *flag = u8::from(value.is_within(start, length));
    }
    let mut bytes = [0; size_of::<usize>()];
    for (byte, eight) in bytes.iter_mut().zip(flags.as_chunks().0) {
        *byte = u64::from_le_bytes(*eight)
            .wrapping_mul(GATHER)
            .to_be_bytes()[0];
    }
    usize::from_le_bytes(bytes)
}

/// The number of the next item. Codes that are not used any more included, a category has far fewer: each takes memory.
pub(super) fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
