//! Products in memory, reduced to what facets count, filters compare and lists are sorted by.
//!
//! A [`FacetRow`] has numbers instead of texts. A [`Vocabulary`] has the texts, each once. [`CategoryRows`] are the rows
//! of a category. Rows are filtered by a [`RowFilter`], counted by a [`RowTally`](super::RowTally) and listed by
//! [`page_of_rows`]; all give the same results as the database does from the stored products.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::num::{NonZeroI64, NonZeroU32};
use std::sync::Arc;

use super::TallyProduct;
use crate::id::{CategoryId, ProductId};
use crate::spec::MAX_FILTERABLE_BYTES;
use crate::text::fold;

mod category;
mod column;
mod filter;
mod recent;
mod sorted;

pub use category::CategoryRows;
pub(super) use category::Counted;
pub(super) use column::{Cell, ColumnCounts, Field};
pub use filter::RowFilter;
pub use sorted::{RowPage, RowPlace, RowSort, SortedCategory, page_of_rows};

/// What a text needs in memory beside its bytes: two references to it, and its places in tables.
const TEXT_BYTES: usize = 72;
/// What a value needs in memory beside its text.
const VALUE_BYTES: usize = 56;
/// What a row needs in memory beside its lists: three allocations.
const ROW_BYTES: usize = 64;

/// A number that counts from 1, so that an optional one needs no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Number(NonZeroU32);

impl Number {
    /// Returns the number of the next item of a list of this length. A vocabulary is emptied long before it has this
    /// many texts, because of its size.
    fn next(len: usize) -> Self {
        let before = u32::try_from(len).unwrap_or(u32::MAX);
        Self(NonZeroU32::MIN.saturating_add(before))
    }

    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl ValueId {
    /// In a label, it stands for any.
    const FIRST: Self = Self(Number(NonZeroU32::MIN));

    fn to_bits(self) -> u64 {
        self.0.0.get().into()
    }

    /// Returns the number with these bits.
    pub(super) fn from_bits(bits: u64) -> Self {
        let number = u32::try_from(bits).ok().and_then(NonZeroU32::new);
        number.map_or(Self::FIRST, |number| Self(Number(number)))
    }
}

/// The number of a text in a [`Vocabulary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TextId(Number);

/// The number of a text value of a key in a [`Vocabulary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ValueId(Number);

/// A text value of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextValue {
    pub(super) key: TextId,
    pub(super) text: TextId,
    /// The text after folding. Values of a key that fold alike have the same `group`.
    pub(super) folded: TextId,
    pub(super) group: u32,
}

/// The key of brands. No spec key begins with `@`.
const BRAND: &str = "@brand";
/// The key of countries.
const COUNTRY: &str = "@country";

/// The texts of rows: keys, values, units, tokens. It only grows.
#[derive(Debug, Default)]
pub struct Vocabulary {
    texts: Vec<Arc<str>>,
    by_text: HashMap<Arc<str>, TextId>,
    values: Vec<TextValue>,
    by_value: HashMap<(TextId, TextId), ValueId>,
    groups: HashMap<(TextId, TextId), u32>,
    bytes: usize,
}

/// What a list is sorted by, beside the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SortValues<T = Option<i64>> {
    /// The Bayesian rating score.
    pub rating: T,
    /// The logarithm of reviews and activity.
    pub popularity: T,
    /// When the product was added, in milliseconds since 1970.
    pub created_at: T,
    /// When it was changed last, in milliseconds since 1970.
    pub updated_at: T,
    /// The units sold lately.
    pub sold: T,
    /// The trend of the last days.
    pub trend: T,
}

/// An optional number that needs no more memory than a number. The lowest of all numbers becomes the one above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Optional(Option<NonZeroI64>);

impl Optional {
    fn new(n: Option<i64>) -> Self {
        let n = n.map(|n| n.max(i64::MIN + 1));
        Self(n.and_then(|n| NonZeroI64::new(n ^ i64::MIN)))
    }

    const fn get(self) -> Option<i64> {
        match self.0 {
            Some(n) => Some(n.get() ^ i64::MIN),
            None => None,
        }
    }
}

/// A product as far as facets count it, filters compare it and lists are sorted by it.
#[derive(Clone, Debug, PartialEq)]
pub struct FacetRow {
    id: ProductId,
    pub(super) kind: TextId,
    pub(super) category: CategoryId,
    pub(super) brand: Option<ValueId>,
    pub(super) country: Option<ValueId>,
    pub(super) list_price: Option<i64>,
    pub(super) half_stars: Option<f64>,
    sort_values: SortValues<Optional>,
    /// Sorted.
    tokens: Box<[TextId]>,
    pub(super) specs: Box<[RowSpec]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowSpec {
    pub(super) key: TextId,
    pub(super) qualifier: Option<TextId>,
    pub(super) value: RowValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RowValue {
    /// `None` for a text that is too long to be filtered by.
    Text(Option<ValueId>),
    Boolean(bool),
    Number(Option<TextId>, Bits),
    Date(Bits),
}

impl RowValue {
    /// Returns the canonical number.
    const fn number(self) -> Option<f64> {
        match self {
            Self::Number(_, n) | Self::Date(n) => Some(n.0),
            Self::Text(_) | Self::Boolean(_) => None,
        }
    }
}

/// A number that equals those with the same bits only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits(pub(super) f64);

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Bits {}

impl Hash for Bits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A value of a spec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CountedValue<'a> {
    /// A text.
    Text(&'a str),
    /// A truth value.
    Boolean(bool),
    /// A canonical number, with the unit it was entered in.
    Number(f64, Option<&'a str>),
    /// A date in milliseconds.
    Date(f64),
}

impl FacetRow {
    /// Returns the product's id.
    #[must_use]
    pub const fn id(&self) -> ProductId {
        self.id
    }

    /// Returns the product's category.
    #[must_use]
    pub const fn category(&self) -> CategoryId {
        self.category
    }

    /// Whether facets count and filters compare the same as in another row: it differs at most in what lists are sorted by.
    pub(super) fn counts_like(&self, other: &Self) -> bool {
        let Self {
            id,
            kind,
            category,
            brand,
            country,
            list_price,
            half_stars,
            sort_values: _,
            tokens,
            specs,
        } = self;
        (*id, *kind, *category) == (other.id, other.kind, other.category)
            && (*brand, *country) == (other.brand, other.country)
            && (*list_price, *half_stars) == (other.list_price, other.half_stars)
            && *tokens == other.tokens
            && *specs == other.specs
    }

    /// Returns the size in memory, roughly.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + ROW_BYTES + size_of_val(&*self.tokens) + size_of_val(&*self.specs)
    }
}

/// Makes a [`FacetRow`].
#[derive(Debug)]
pub struct RowBuilder<'v> {
    vocabulary: &'v mut Vocabulary,
    row: FacetRow,
    tokens: Vec<TextId>,
    specs: Vec<RowSpec>,
}

impl RowBuilder<'_> {
    /// Adds a token of the product.
    pub fn token(&mut self, token: &str) {
        self.tokens.push(self.vocabulary.text(token));
    }

    /// Sets what lists are sorted by; without it, the product has only its price.
    pub fn sort_values(&mut self, values: SortValues) {
        let SortValues {
            rating,
            popularity,
            created_at,
            updated_at,
            sold,
            trend,
        } = values;
        self.row.sort_values = SortValues {
            rating: Optional::new(rating),
            popularity: Optional::new(popularity),
            created_at: Optional::new(created_at),
            updated_at: Optional::new(updated_at),
            sold: Optional::new(sold),
            trend: Optional::new(trend),
        };
    }

    /// Adds a spec, under the key that is stored.
    pub fn spec(&mut self, key: &str, qualifier: Option<&str>, value: CountedValue<'_>) {
        let key = self.vocabulary.text(key);
        let value = match value {
            CountedValue::Text(text) => RowValue::Text(self.vocabulary.value(key, text)),
            CountedValue::Boolean(value) => RowValue::Boolean(value),
            CountedValue::Number(n, unit) => {
                RowValue::Number(unit.map(|unit| self.vocabulary.text(unit)), Bits(n))
            }
            CountedValue::Date(millis) => RowValue::Date(Bits(millis)),
        };
        self.specs.push(RowSpec {
            key,
            qualifier: qualifier.map(|text| self.vocabulary.text(text)),
            value,
        });
    }

    /// Returns the row.
    #[must_use]
    pub fn build(mut self) -> FacetRow {
        self.tokens.sort_unstable();
        self.tokens.dedup();
        FacetRow {
            tokens: self.tokens.into(),
            specs: self.specs.into(),
            ..self.row
        }
    }
}

impl Vocabulary {
    /// Begins the row of a product.
    pub fn row(&mut self, id: ProductId, product: &TallyProduct<'_>) -> RowBuilder<'_> {
        let mut built_in = |key: &str, text: Option<&str>| {
            let key = self.text(key);
            text.and_then(|text| self.value(key, text))
        };
        let brand = built_in(BRAND, product.brand);
        let country = built_in(COUNTRY, product.country);
        let row = FacetRow {
            id,
            kind: self.text(product.kind),
            category: product.category,
            brand,
            country,
            list_price: product.list_price,
            half_stars: product.half_stars,
            sort_values: SortValues::default(),
            tokens: Box::default(),
            specs: Box::default(),
        };
        RowBuilder {
            vocabulary: self,
            row,
            tokens: Vec::new(),
            specs: Vec::new(),
        }
    }

    /// Returns the size in memory, roughly.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether this text occurs.
    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    pub(super) fn find(&self, text: &str) -> Option<TextId> {
        self.by_text.get(text).copied()
    }

    pub(super) fn text_of(&self, id: TextId) -> &Arc<str> {
        &self.texts[id.0.index()]
    }

    pub(super) fn value_of(&self, id: ValueId) -> &TextValue {
        &self.values[id.0.index()]
    }

    fn text(&mut self, text: &str) -> TextId {
        if let Some(known) = self.find(text) {
            return known;
        }
        let id = TextId(Number::next(self.texts.len()));
        let text: Arc<str> = text.into();
        self.bytes += TEXT_BYTES + text.len();
        self.texts.push(Arc::clone(&text));
        self.by_text.insert(text, id);
        id
    }

    /// Returns a text value of a key; `None` if it is too long to be filtered by.
    fn value(&mut self, key: TextId, text: &str) -> Option<ValueId> {
        if text.len() > MAX_FILTERABLE_BYTES {
            return None;
        }
        let written = self.text(text);
        if let Some(known) = self.by_value.get(&(key, written)) {
            return Some(*known);
        }
        let folded = self.text(&fold(text));
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        let group = *self.groups.entry((key, folded)).or_insert(next);
        let id = ValueId(Number::next(self.values.len()));
        self.bytes += VALUE_BYTES;
        self.values.push(TextValue {
            key,
            text: written,
            folded,
            group,
        });
        self.by_value.insert((key, written), id);
        Some(id)
    }
}

#[cfg(test)]
mod tests;
