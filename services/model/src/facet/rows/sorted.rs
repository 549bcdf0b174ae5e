//! Rows in the order of a list.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use super::{FacetRow, RowFilter};
use crate::filter::{Direction, ProductSortKey};
use crate::id::ProductId;

/// The sort keys whose values rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowSort {
    /// [`ProductSortKey::Price`].
    Price,
    /// [`ProductSortKey::Rating`].
    Rating,
    /// [`ProductSortKey::Popularity`].
    Popularity,
    /// [`ProductSortKey::Newest`].
    Newest,
    /// [`ProductSortKey::Updated`].
    Updated,
    /// [`ProductSortKey::BestSelling`].
    BestSelling,
    /// [`ProductSortKey::Trending`].
    Trending,
}

impl RowSort {
    /// Returns the sort for a key; `None` if rows lack its values.
    #[must_use]
    pub const fn of(key: ProductSortKey) -> Option<Self> {
        Some(match key {
            ProductSortKey::Price => Self::Price,
            ProductSortKey::Rating => Self::Rating,
            ProductSortKey::Popularity => Self::Popularity,
            ProductSortKey::Newest => Self::Newest,
            ProductSortKey::Updated => Self::Updated,
            ProductSortKey::BestSelling => Self::BestSelling,
            ProductSortKey::Trending => Self::Trending,
            ProductSortKey::Name | ProductSortKey::Relevance => return None,
        })
    }

    const fn value(self, row: &FacetRow) -> Option<i64> {
        let values = &row.sort_values;
        let value = match self {
            Self::Price => return row.list_price,
            Self::Rating => values.rating,
            Self::Popularity => values.popularity,
            Self::Newest => values.created_at,
            Self::Updated => values.updated_at,
            Self::BestSelling => values.sold,
            Self::Trending => values.trend,
        };
        value.get()
    }
}

/// Where a row is in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// The value that the list is sorted by.
    pub value: Option<i64>,
    /// The product.
    pub id: ProductId,
}

/// The rows of a category, sorted by a key: those without a value first, then in ascending order, equal ones by id.
#[derive(Clone, Debug)]
pub struct SortedCategory {
    by: RowSort,
    rows: Vec<Arc<FacetRow>>,
}

impl SortedCategory {
    /// Sorts rows.
    #[must_use]
    pub fn new(by: RowSort, mut rows: Vec<Arc<FacetRow>>) -> Self {
        rows.sort_unstable_by_key(|row| stored(by, row));
        Self { by, rows }
    }

    /// Removes a row and inserts another one.
    pub fn replace(&mut self, old: Option<&FacetRow>, new: Option<&Arc<FacetRow>>) {
        let by = self.by;
        let find = |rows: &[Arc<FacetRow>], row: &FacetRow| {
            rows.binary_search_by_key(&stored(by, row), |one| stored(by, one))
        };
        let removed = old.and_then(|row| find(&self.rows, row).ok());
        match (removed, new) {
            (Some(at), Some(row)) if stored(by, &self.rows[at]) == stored(by, row) => {
                self.rows[at] = Arc::clone(row);
                return;
            }
            (Some(at), _) => drop(self.rows.remove(at)),
            (None, _) => {}
        }
        if let Some(row) = new
            && let Err(at) = find(&self.rows, row)
        {
            self.rows.insert(at, Arc::clone(row));
        }
    }

    /// Returns the size in memory without the rows, roughly.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + size_of::<Arc<FacetRow>>() * self.rows.len()
    }
}

/// The sort key of a row among the rows of a category.
fn stored(by: RowSort, row: &FacetRow) -> (Option<i64>, ProductId) {
    (by.value(row), row.id)
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPage {
    /// The rows, in the order of the list.
    pub rows: Vec<RowPlace>,
    /// Whether the list has more rows behind them, or before them when it is read backwards.
    pub more: bool,
}

/// Something that sorts as its row does in a list: rows without a value last, ties by id in the direction of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(bool, i64, i64);

impl Rank {
    fn of(place: RowPlace, direction: Direction) -> Self {
        let (absent, value, id) = (
            place.value.is_none(),
            place.value.unwrap_or(0),
            place.id.to_i64(),
        );
        match direction {
            Direction::Ascending => Self(absent, value, id),
            Direction::Descending => Self(absent, !value, !id),
        }
    }
}

/// The rows of one category in the order of a list.
struct Listed<'a> {
    sorted: &'a SortedCategory,
    direction: Direction,
    /// The number of rows without a value.
    absent: usize,
}

impl<'a> Listed<'a> {
    fn new(sorted: &'a SortedCategory, direction: Direction) -> Self {
        let absent = sorted
            .rows
            .partition_point(|row| sorted.by.value(row).is_none());
        Self {
            sorted,
            direction,
            absent,
        }
    }

    fn row(&self, at: usize) -> &'a FacetRow {
        let rows = &self.sorted.rows;
        match self.direction {
            Direction::Descending => &rows[rows.len() - 1 - at],
            Direction::Ascending if at < rows.len() - self.absent => &rows[at + self.absent],
            Direction::Ascending => &rows[at + self.absent - rows.len()],
        }
    }

    fn place(&self, at: usize) -> RowPlace {
        let row = self.row(at);
        RowPlace {
            value: self.sorted.by.value(row),
            id: row.id,
        }
    }

    fn rank(&self, at: usize) -> Rank {
        Rank::of(self.place(at), self.direction)
    }

    /// Returns how many rows a condition holds for that holds for the first rows only.
    fn count_first(&self, holds: impl Fn(Rank) -> bool) -> usize {
        let (mut low, mut high) = (0, self.sorted.rows.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.rank(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the first row to read: the next one behind a place, or before it.
    fn start(&self, from: Option<Rank>, backward: bool) -> Option<usize> {
        let rows = self.sorted.rows.len();
        if backward {
            let before = from.map_or(rows, |from| self.count_first(|rank| rank < from));
            before.checked_sub(1)
        } else {
            let behind = from.map_or(0, |from| self.count_first(|rank| rank <= from));
            (behind < rows).then_some(behind)
        }
    }

    fn next(&self, at: usize, backward: bool) -> Option<usize> {
        if backward {
            at.checked_sub(1)
        } else {
            Some(at + 1).filter(|next| *next < self.sorted.rows.len())
        }
    }
}

/// The next row of a category.
struct Head {
    rank: Rank,
    backward: bool,
    category: usize,
    at: usize,
}

impl Ord for Head {
    /// The greatest one is read next.
    fn cmp(&self, other: &Self) -> Ordering {
        if self.backward {
            self.rank.cmp(&other.rank)
        } else {
            other.rank.cmp(&self.rank)
        }
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// Returns up to `size` matching rows of several categories, all sorted by the same key: the first ones behind a place,
/// or the last ones before it. `None` if they are not found among the next `max_examined` rows.
#[must_use]
pub fn page_of_rows(
    categories: &[Arc<SortedCategory>],
    filter: &RowFilter,
    direction: Direction,
    (from, backward): (Option<RowPlace>, bool),
    (size, max_examined): (usize, usize),
) -> Option<RowPage> {
    let from = from.map(|place| Rank::of(place, direction));
    let listed = categories
        .iter()
        .map(|sorted| Listed::new(sorted, direction));
    let listed: Vec<Listed<'_>> = listed.collect();
    let head = |category: usize, at: usize| Head {
        rank: listed[category].rank(at),
        backward,
        category,
        at,
    };
    let first = |category: usize| Some(head(category, listed[category].start(from, backward)?));
    let mut heads: BinaryHeap<Head> = (0..listed.len()).filter_map(first).collect();
    let mut page = RowPage {
        rows: Vec::with_capacity(size),
        more: false,
    };
    let mut examined = 0;
    while let Some(mut next) = heads.peek_mut() {
        if examined == max_examined {
            return None;
        }
        examined += 1;
        let (category, at) = (next.category, next.at);
        let rows = &listed[category];
        if filter.matches(rows.row(at)) {
            if page.rows.len() == size {
                page.more = true;
                break;
            }
            page.rows.push(rows.place(at));
        }
        match rows.next(at, backward) {
            Some(at) => *next = head(category, at),
            None => drop(PeekMut::pop(next)),
        }
    }
    if backward {
        page.rows.reverse();
    }
    Some(page)
}

#[cfg(test)]
mod tests;
