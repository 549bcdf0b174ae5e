//! Counting texts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use super::{PanelData, PanelValue};
use crate::spec::MAX_FILTERABLE_BYTES;
use crate::text::fold;

/// Text values and the number of products that have each. Spellings that fold alike are one value.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    products: ProductCounter,
    /// By the text as written, so that a text seen before is not folded again.
    spellings: HashMap<String, Spelling>,
    by_folded: HashMap<String, usize>,
    values: Vec<ProductCounter>,
    /// Values that were counted elsewhere.
    counted: Vec<CountedText>,
    /// The number of values that were counted elsewhere and are not kept.
    not_kept: u64,
}

/// A text value that was counted elsewhere.
#[derive(Clone, Debug)]
pub(super) struct CountedText {
    /// The most frequent spelling; of equally frequent ones the first in alphabetical order.
    pub(super) label: Arc<str>,
    /// The folded text.
    pub(super) folded: Arc<str>,
    /// The number of products that have it, in any spelling.
    pub(super) count: u64,
}

/// A text value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCount {
    /// The most frequent spelling; of equally frequent ones the first in alphabetical order.
    pub label: String,
    /// The folded text, as in tokens.
    pub folded: String,
    /// The number of products that have it, in any spelling.
    pub count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Spelling {
    value: usize,
    seen: ProductCounter,
}

/// Counts distinct products, which are numbered from 1. The values of each come one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProductCounter {
    last: u64,
    pub(super) count: u64,
}

impl ProductCounter {
    /// Returns the counter of this many products, all of them without a number.
    pub(super) const fn of(count: u64) -> Self {
        Self { last: 0, count }
    }

    pub(super) const fn add(&mut self, product: u64) {
        if self.last != product {
            self.last = product;
            self.count += 1;
        }
    }
}

impl Texts {
    /// The number of products with a text short enough to be filtered by.
    #[must_use]
    pub const fn products(&self) -> u64 {
        self.products.count
    }

    /// The number of distinct values.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        let values = self.values.len() + self.counted.len();
        self.not_kept + u64::try_from(values).unwrap_or(u64::MAX)
    }

    /// The most frequent values, at most `max_values` and as many as are kept, most frequent first, equal counts by label.
    #[must_use]
    pub fn top(&self, max_values: usize) -> Vec<TextCount> {
        let mut best: Vec<(u64, &str)> = vec![(0, ""); self.values.len()];
        for (text, spelling) in &self.spellings {
            let (count, label) = &mut best[spelling.value];
            let products = spelling.seen.count;
            if products > *count || (products == *count && text.as_str() < *label) {
                (*count, *label) = (products, text);
            }
        }
        let own = self.by_folded.iter().map(|(folded, at)| {
            let label = best[*at].1;
            (self.values[*at].count, Reverse(label), folded.as_str())
        });
        let counted = self.counted.iter();
        let counted = counted.map(|text| (text.count, Reverse(&*text.label), &*text.folded));
        // The least of the best so far is on top.
        let mut top = BinaryHeap::new();
        for value in own.chain(counted) {
            if top.len() < max_values {
                top.push(Reverse(value));
            } else if let Some(mut least) = top.peek_mut()
                && value > least.0
            {
                *least = Reverse(value);
            }
        }
        let text =
            |Reverse((count, Reverse(label), folded)): Reverse<(u64, Reverse<&str>, &str)>| {
                TextCount {
                    label: label.to_owned(),
                    folded: folded.to_owned(),
                    count,
                }
            };
        top.into_sorted_vec().into_iter().map(text).collect()
    }

    /// The most frequent values, at most `max_values`, as panel data.
    #[must_use]
    pub fn panel(&self, max_values: usize) -> PanelData {
        let values = self.top(max_values).into_iter();
        let shown = values.map(|value| PanelValue {
            value: value.label.clone(),
            label: value.label,
            count: value.count,
        });
        PanelData::Text {
            values: shown.collect(),
        }
    }

    /// Counts a text of a product; ignores it if it is too long to be filtered by.
    pub(super) fn add(&mut self, text: &str, product: u64) {
        if text.len() > MAX_FILTERABLE_BYTES {
            return;
        }
        self.products.add(product);
        if !self.spellings.contains_key(text) {
            self.learn(text);
        }
        if let Some(spelling) = self.spellings.get_mut(text) {
            spelling.seen.add(product);
            self.values[spelling.value].add(product);
        }
    }

    /// Returns values that were counted elsewhere, the most frequent ones; `others` more are not kept. No two of them fold alike.
    pub(super) fn of(counted: Vec<CountedText>, others: u64, products: ProductCounter) -> Self {
        Self {
            products,
            counted,
            not_kept: others,
            ..Self::default()
        }
    }

    fn learn(&mut self, text: &str) {
        let next = self.values.len();
        let value = *self.by_folded.entry(fold(text)).or_insert(next);
        if value == next {
            self.values.push(ProductCounter::default());
        }
        let seen = ProductCounter::default();
        self.spellings
            .insert(text.to_owned(), Spelling { value, seen });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(label: &str, folded: &str, count: u64) -> TextCount {
        TextCount {
            label: label.to_owned(),
            folded: folded.to_owned(),
            count,
        }
    }

    #[test]
    fn spellings_of_one_value_count_as_one() {
        let mut texts = Texts::default();
        for (product, text) in [
            (1, "RED"),
            (1, "Red"),
            (1, "RED"),
            (2, "Red"),
            (3, "Blau"),
            (4, "blau"),
            (4, "Grün"),
        ] {
            texts.add(text, product);
        }
        texts.add(&"x".repeat(257), 5);
        let expected = [
            count("Blau", "blau", 2),
            count("Red", "red", 2),
            count("Grün", "grun", 1),
        ];
        assert_eq!(texts.top(10), expected);
        assert_eq!(texts.top(2), expected[..2]);
        assert!(texts.top(0).is_empty());
        assert_eq!((texts.products(), texts.distinct()), (4, 3));
        let PanelData::Text { values } = texts.panel(1) else {
            panic!("no text");
        };
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].value, "Blau");
    }
}
