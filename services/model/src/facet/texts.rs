//! Counting texts.

use std::collections::HashMap;

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

/// Counts distinct products, which are numbered from 1 and come in ascending order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProductCounter {
    last: u64,
    pub(super) count: u64,
}

impl ProductCounter {
    /// Returns the counter of this many products, of which the last has this number.
    pub(super) const fn of(last: u64, count: u64) -> Self {
        Self { last, count }
    }

    pub(super) fn add(&mut self, product: u64) {
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
        self.values.len().try_into().unwrap_or(u64::MAX)
    }

    /// All values, most frequent first, equal counts by label.
    #[must_use]
    pub fn values(&self) -> Vec<TextCount> {
        let mut best: Vec<(u64, &str)> = vec![(0, ""); self.values.len()];
        for (text, spelling) in &self.spellings {
            let (count, label) = &mut best[spelling.value];
            let products = spelling.seen.count;
            if products > *count || (products == *count && text.as_str() < *label) {
                (*count, *label) = (products, text);
            }
        }
        let value = |(folded, at): (&String, &usize)| TextCount {
            label: best[*at].1.to_owned(),
            folded: folded.clone(),
            count: self.values[*at].count,
        };
        let mut all: Vec<TextCount> = self.by_folded.iter().map(value).collect();
        all.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
        all
    }

    /// The most frequent values, at most `max_values`, as panel data.
    #[must_use]
    pub fn panel(&self, max_values: usize) -> PanelData {
        let values = self.values().into_iter().take(max_values);
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

    /// Takes a spelling that was counted elsewhere, with the counter of all spellings that fold alike.
    pub(super) fn take(
        &mut self,
        text: &str,
        seen: ProductCounter,
        folded: &str,
        of_value: ProductCounter,
    ) {
        let value = self.by_folded.get(folded).copied();
        let value = value.unwrap_or_else(|| {
            self.by_folded.insert(folded.to_owned(), self.values.len());
            self.values.push(of_value);
            self.values.len() - 1
        });
        self.spellings
            .insert(text.to_owned(), Spelling { value, seen });
    }

    /// Sets the number of products with a text.
    pub(super) const fn set_products(&mut self, products: ProductCounter) {
        self.products = products;
    }

    /// The sum of the numbers of products of all values.
    pub(super) fn sum(&self) -> u64 {
        self.values.iter().map(|value| value.count).sum()
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
        assert_eq!(texts.values(), expected);
        assert_eq!((texts.products(), texts.distinct()), (4, 3));
        let PanelData::Text { values } = texts.panel(1) else {
            panic!("no text");
        };
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].value, "Blau");
    }
}
