//! Counting texts.

use std::collections::HashMap;

use super::{PanelData, PanelValue};
use crate::spec::MAX_FILTERABLE_BYTES;
use crate::text::fold;

/// Texts and how many products have them. Spellings that fold alike are one value.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    products: Once,
    /// By the text as it came, so that a text that was seen before is not folded again.
    spellings: HashMap<String, Spelling>,
    by_folded: HashMap<String, usize>,
    values: Vec<Once>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCount {
    /// The spelling that most products have; of several the first in order.
    pub label: String,
    /// The text folded: what tokens are made of.
    pub folded: String,
    /// How many products have it, in any spelling.
    pub count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Spelling {
    value: usize,
    seen: Once,
}

/// Counts products, each once. Products are numbered from 1 and come in order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Once {
    last: u64,
    pub(super) count: u64,
}

impl Once {
    pub(super) fn add(&mut self, product: u64) {
        if self.last != product {
            self.last = product;
            self.count += 1;
        }
    }
}

impl Texts {
    /// How many products have a text that can be filtered by.
    #[must_use]
    pub const fn products(&self) -> u64 {
        self.products.count
    }

    /// How many different values there are.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.values.len().try_into().unwrap_or(u64::MAX)
    }

    /// All values: those of most products first, equals by label.
    #[must_use]
    pub fn values(&self) -> Vec<TextCount> {
        let mut best: Vec<(u64, &str)> = vec![(0, ""); self.values.len()];
        for (text, spelling) in &self.spellings {
            let (count, label) = &mut best[spelling.value];
            let found = spelling.seen.count;
            if found > *count || (found == *count && text.as_str() < *label) {
                (*count, *label) = (found, text);
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

    /// The values for a panel, at most so many.
    #[must_use]
    pub fn panel(&self, most: usize) -> PanelData {
        let values = self.values().into_iter().take(most);
        let shown = values.map(|value| PanelValue {
            value: value.label.clone(),
            label: value.label,
            count: value.count,
        });
        PanelData::Text {
            values: shown.collect(),
        }
    }

    /// Counts a text of a product. Text that is too long to be filtered by is no value.
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

    fn learn(&mut self, text: &str) {
        let next = self.values.len();
        let value = *self.by_folded.entry(fold(text)).or_insert(next);
        if value == next {
            self.values.push(Once::default());
        }
        let seen = Once::default();
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
