//! What the rows of a feed have: their paths, with facts about the values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::mapping::{push_key, shortened};

/// The maximum number of paths that are looked at.
const MAX_PATHS: usize = 2000;
/// The maximum number of different values that are remembered of a path.
const MAX_VALUES: usize = 1000;
/// The number of values that are shown of a path.
const SHOWN_VALUES: usize = 3;

/// The paths of rows, in the order in which they are met.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    order: Vec<String>,
    facts: BTreeMap<String, Facts>,
    rows: usize,
}

/// Facts about the values at a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The number of known values.
    pub(super) known: usize,
    /// The number of these that are text.
    pub(super) texts: usize,
    /// The number of values that are numbers, also as text.
    pub(super) numbers: usize,
    /// The number of values that are addresses.
    pub(super) addresses: usize,
    /// The number of all characters.
    characters: usize,
    /// The smallest and the largest number.
    pub(super) range: Option<(f64, f64)>,
    /// Whether it is in a list.
    pub(super) listed: bool,
    /// Different values.
    pub(super) values: BTreeSet<String>,
    /// The first different values.
    pub(super) first: Vec<String>,
}

impl Paths {
    /// Looks at a row.
    pub(super) fn add(&mut self, row: &Value) {
        self.rows += 1;
        self.walk(row, &mut String::new(), false);
    }

    fn walk(&mut self, value: &Value, path: &mut String, listed: bool) {
        let length = path.len();
        match value {
            Value::Null => {}
            Value::Object(object) => {
                for (key, value) in object {
                    push_key(path, key);
                    self.walk(value, path, listed);
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                path.push_str("[]");
                for item in items {
                    self.walk(item, path, true);
                }
                path.truncate(length);
            }
            scalar => self.scalar(scalar, path, listed),
        }
    }

    fn scalar(&mut self, value: &Value, path: &str, listed: bool) {
        if !self.facts.contains_key(path) {
            if self.order.len() == MAX_PATHS {
                return;
            }
            self.order.push(path.to_owned());
            self.facts.insert(path.to_owned(), Facts::default());
        }
        if let Some(facts) = self.facts.get_mut(path) {
            facts.listed = listed;
            facts.add(value);
        }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// All paths with their facts, in the order of the rows.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Facts)> {
        self.order
            .iter()
            .map(|path| (path.as_str(), &self.facts[path]))
    }
}

impl Facts {
    fn add(&mut self, value: &Value) {
        let text = match value {
            Value::String(text) if text.trim().is_empty() => return,
            Value::String(text) => {
                self.texts += 1;
                text.trim().to_owned()
            }
            other => other.to_string(),
        };
        self.known += 1;
        self.characters += text.chars().count();
        if text.starts_with("http://") || text.starts_with("https://") {
            self.addresses += 1;
        }
        if let Ok(number) = text.replace(',', ".").parse::<f64>() {
            self.numbers += 1;
            let (low, high) = self.range.unwrap_or((number, number));
            self.range = Some((low.min(number), high.max(number)));
        }
        if self.first.len() < SHOWN_VALUES && !self.first.contains(&text) {
            self.first.push(text.clone());
        }
        if self.values.len() < MAX_VALUES {
            self.values.insert(text);
        }
    }

    /// Whether every value is another one.
    pub(super) fn are_different(&self) -> bool {
        self.values.len() == self.known.min(MAX_VALUES)
    }

    /// The average number of characters.
    pub(super) fn length(&self) -> usize {
        self.characters / self.known.max(1)
    }

    /// Whether all values are numbers.
    pub(super) fn are_numbers(&self) -> bool {
        self.known > 0 && self.numbers == self.known
    }

    /// The facts for people.
    pub(super) fn described(&self, rows: usize) -> String {
        let kind = if self.are_numbers() {
            "numbers"
        } else if self.addresses == self.known {
            "addresses"
        } else {
            "text"
        };
        let first: Vec<String> = self
            .first
            .iter()
            .map(|text| shortened(&vitrine_model::text::collapse(text)))
            .collect();
        format!(
            "{} values in {rows} rows, {kind}: {}",
            self.known,
            first.join(" · ")
        )
    }
}
