//! Filters of rows.

use std::cmp::Ordering;
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use super::column::CellTest;
use super::{Bits, CategoryRows, Cell, FacetRow, Field, TextId, Vocabulary};
use crate::filter::{Bounds, Condition, Range};
use crate::id::CategoryId;
use crate::product::ProductStatus;

/// A [`Condition`] on products in one state, in terms of a vocabulary.
///
/// A text that the vocabulary lacks matches no row of today. The filter must not be used for rows that are made later.
#[derive(Clone, Debug)]
pub struct RowFilter(Test);

/// A test of rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    /// Sorted.
    Category(Vec<CategoryId>),
    Token(Vec<TextId>),
    Price(Bounds<i64>),
    HalfStars(f64),
    Kind(Vec<TextId>),
    HasPrice,
    Spec {
        key: TextId,
        qualifier: Option<TextId>,
        range: Option<Range>,
    },
}

impl RowFilter {
    /// Returns the filter for a condition, for products in this state; `None` if rows cannot tell: they have no names,
    /// words, suppliers, pictures or times.
    #[must_use]
    pub fn new(
        condition: &Condition,
        status: ProductStatus,
        vocabulary: &Vocabulary,
    ) -> Option<Self> {
        Test::new(condition, status, vocabulary).map(Self)
    }

    /// Whether rows can tell which products match a condition.
    #[must_use]
    pub fn covers(condition: &Condition) -> bool {
        let nothing = Vocabulary::default();
        Test::new(condition, ProductStatus::Active, &nothing).is_some()
    }

    /// Whether a product matches.
    #[must_use]
    pub fn matches(&self, row: &FacetRow) -> bool {
        self.0.matches(row)
    }

    /// Returns the places of the rows of a category that match.
    pub(in crate::facet) fn among(&self, rows: &CategoryRows) -> Arc<FixedBitSet> {
        self.0.among(rows)
    }
}

impl Test {
    const NEVER: Self = Self::Any(Vec::new());

    fn new(condition: &Condition, status: ProductStatus, words: &Vocabulary) -> Option<Self> {
        let each = |parts: &[Condition]| -> Option<Vec<Self>> {
            let parts = parts.iter().map(|part| Self::new(part, status, words));
            parts.collect()
        };
        Some(match condition {
            Condition::All(parts) => Self::All(each(parts)?),
            Condition::Any(parts) => Self::Any(each(parts)?),
            Condition::Not(part) => Self::Not(Box::new(Self::new(part, status, words)?)),
            Condition::Category(ids) => {
                let mut ids = ids.clone();
                ids.sort_unstable();
                Self::Category(ids)
            }
            Condition::Status(states) if states.contains(&status) => Self::All(Vec::new()),
            Condition::Status(_) => Self::NEVER,
            Condition::Token(tokens) => {
                let known = tokens.iter().filter_map(|token| words.find(token));
                Self::Token(known.collect())
            }
            Condition::Name(_)
            | Condition::Words(_)
            | Condition::Supplier(_)
            | Condition::HasMedia(_)
            | Condition::UpdatedSince(_) => return None,
            Condition::Kind(kinds) => {
                Self::Kind(kinds.iter().filter_map(|kind| words.find(kind)).collect())
            }
            Condition::HasPrice(true) => Self::HasPrice,
            Condition::HasPrice(false) => Self::Not(Box::new(Self::HasPrice)),
            Condition::Price(bounds) => Self::Price(*bounds),
            Condition::HalfStars(least) => Self::HalfStars(*least),
            Condition::SpecRange {
                key,
                qualifier,
                range,
            } => Self::spec(key, qualifier.as_deref(), Some(*range), words),
            Condition::SpecExists { key, qualifier } => {
                Self::spec(key, qualifier.as_deref(), None, words)
            }
        })
    }

    fn spec(key: &str, qualifier: Option<&str>, range: Option<Range>, words: &Vocabulary) -> Self {
        let known = words.find(key);
        match (known, qualifier.map(|text| words.find(text))) {
            (Some(key), None) => Self::Spec {
                key,
                qualifier: None,
                range,
            },
            (Some(key), Some(Some(qualifier))) => Self::Spec {
                key,
                qualifier: Some(qualifier),
                range,
            },
            _ => Self::NEVER,
        }
    }

    fn matches(&self, row: &FacetRow) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches(row)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(row)),
            Self::Not(part) => !part.matches(row),
            Self::Category(ids) => ids.binary_search(&row.category).is_ok(),
            Self::Token(tokens) => tokens
                .iter()
                .any(|token| row.tokens.binary_search(token).is_ok()),
            Self::Price(_) | Self::HasPrice => {
                let price = row.list_price.map(Cell::Price);
                price.is_some_and(|price| self.holds(price))
            }
            Self::HalfStars(_) => {
                let stars = row.half_stars.map(|stars| Cell::Stars(Bits(stars)));
                stars.is_some_and(|stars| self.holds(stars))
            }
            Self::Kind(_) => self.holds(Cell::Kind(row.kind)),
            Self::Spec { .. } => {
                let mut specs = row.specs.iter();
                specs.any(|spec| self.holds(Cell::Spec(row.kind, *spec)))
            }
        }
    }

    /// Returns the rows of a category that match.
    fn among(&self, rows: &CategoryRows) -> Arc<FixedBitSet> {
        let found = match self {
            Self::All(parts) => {
                let parts = parts.iter().filter(|part| !part.holds_for_all(rows));
                let mut parts = parts.map(|part| part.among(rows));
                let first = parts.next().map(Arc::unwrap_or_clone);
                let first = first.unwrap_or_else(|| rows.all());
                parts.fold(first, |mut matching, part| {
                    matching.intersect_with(&part);
                    matching
                })
            }
            Self::Any(parts) => {
                let mut matching = rows.none();
                for part in parts {
                    matching.union_with(&part.among(rows));
                }
                matching
            }
            Self::Not(part) => {
                let mut matching = Arc::unwrap_or_clone(part.among(rows));
                matching.toggle_range(..);
                matching
            }
            Self::Category(_) if self.holds_for_all(rows) => rows.all(),
            Self::Category(_) => rows.none(),
            Self::Token(tokens) => return rows.found(self, || rows.with_tokens(tokens)),
            Self::Price(_) | Self::HasPrice => return self.among_cells(Field::Price, rows),
            Self::HalfStars(_) => return self.among_cells(Field::Stars, rows),
            Self::Kind(_) => return self.among_cells(Field::Kind, rows),
            Self::Spec { key, .. } => return self.among_cells(Field::Spec(*key), rows),
        };
        Arc::new(found)
    }

    /// Whether the test is known to hold for all rows of a category without a look at their cells.
    fn holds_for_all(&self, rows: &CategoryRows) -> bool {
        match self {
            Self::Category(ids) => ids.binary_search(&rows.category()).is_ok(),
            Self::All(parts) => parts.is_empty(),
            _ => false,
        }
    }

    /// Returns the rows of a category that have a cell in this field for which the test holds.
    fn among_cells(&self, field: Field, rows: &CategoryRows) -> Arc<FixedBitSet> {
        rows.found(self, || rows.with_cells(field, self))
    }
}

impl CellTest for Test {
    fn holds(&self, cell: Cell) -> bool {
        match (self, cell) {
            (Self::HasPrice, Cell::Price(_)) => true,
            (Self::Kind(kinds), Cell::Kind(kind)) => kinds.contains(&kind),
            (
                Self::Spec {
                    key,
                    qualifier,
                    range,
                },
                Cell::Spec(_, spec),
            ) => {
                let number = spec.value.number();
                spec.key == *key
                    && (qualifier.is_none() || spec.qualifier == *qualifier)
                    && range.is_none_or(|range| number.is_some_and(|n| range.contains(n)))
            }
            _ => self.side(cell).is_some_and(Ordering::is_eq),
        }
    }

    fn side(&self, cell: Cell) -> Option<Ordering> {
        match (self, cell) {
            (Self::Price(bounds), Cell::Price(price)) => Some(if price < bounds.gte.unwrap_or(0) {
                Ordering::Less
            } else if bounds.lte.is_some_and(|max| price > max) {
                Ordering::Greater
            } else {
                Ordering::Equal
            }),
            (Self::HalfStars(least), Cell::Stars(stars)) if stars.0 >= *least => {
                Some(Ordering::Equal)
            }
            (Self::HalfStars(_), Cell::Stars(_)) => Some(Ordering::Less),
            (
                Self::Spec {
                    key,
                    qualifier: None,
                    range: Some(range),
                },
                Cell::Spec(_, spec),
            ) if spec.key == *key => spec.value.number().map(|n| range.side(n)),
            _ => None,
        }
    }
}
