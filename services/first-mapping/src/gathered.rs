//! Tables in which several lines are one product: which column has their key.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::heading::Heading;
use super::meanings;
use super::paths::Paths;
use super::values::Signs;

/// The maximum size of the lines that are kept to be compared.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The lines of a table.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rows: Vec<Map<String, Value>>,
    bytes: usize,
    /// Whether rows have lists or objects.
    nested: bool,
}

/// Lines that are one product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gathered {
    /// The column with the key of the lines.
    pub(super) key: String,
    /// The columns that only the first line of a product has.
    pub(super) first: Vec<String>,
    /// The number of products.
    pub(super) groups: usize,
}

impl Lines {
    /// Looks at a line.
    pub(super) fn add(&mut self, row: &Value, bytes: usize) {
        let Value::Object(row) = row else { return };
        self.nested |= row
            .values()
            .any(|value| value.is_array() || value.is_object());
        self.bytes += bytes;
        if self.bytes <= MAX_BYTES {
            self.rows.push(row.clone());
        }
    }

    /// The column by which lines that follow one another are one product: the others of its lines
    /// lack the name of the product.
    pub(super) fn gathered(&self) -> Option<Gathered> {
        let columns = self.rows.first().filter(|_| !self.nested)?.keys();
        let mut keys: Vec<&String> = columns.filter(|column| self.may_be_key(column)).collect();
        let rank = |column: &&String| meanings::rank("group", &Heading::read(column).words);
        keys.sort_by_key(|column| rank(column).unwrap_or(usize::MAX));
        let mut found = keys.into_iter().filter_map(|key| self.by(key));
        found.find(|gathered| {
            let named = |column: &String| is_name(&Heading::of(column).words);
            gathered.first.iter().any(named)
        })
    }

    /// The column that is empty in lines which continue the one above: that of the name, or one that
    /// is empty in the same lines. Each line has a number of its own.
    pub(super) fn continued(&self) -> Option<String> {
        let first = self.rows.first().filter(|_| !self.nested)?;
        let means = |meaning: &str, column: &str| {
            meanings::rank(meaning, &Heading::read(column).words).is_some()
        };
        let name = first
            .keys()
            .find(|column| is_name(&Heading::read(column).words))?;
        let gaps = |column: &str| {
            self.rows
                .iter()
                .map(|row| known(row, column).is_none())
                .collect::<Vec<bool>>()
        };
        let of_name = gaps(name);
        let begins = !of_name[0] && of_name.contains(&true);
        let is_number = |column: &&String| {
            let words = ["id", "sku", "gtin"]
                .iter()
                .any(|meaning| means(meaning, column));
            words && !gaps(column).contains(&true) && self.are_unique(&[column.as_str()])
        };
        if !begins || !first.keys().any(|column| is_number(&column)) {
            return None;
        }
        let others = first
            .keys()
            .filter(|column| *column != name && gaps(column) == of_name);
        let others: Vec<&String> = others.collect();
        let key = others
            .iter()
            .find(|column| means("group", column))
            .or(others.first())?;
        Some(if means("group", key) {
            (*key).clone()
        } else {
            name.clone()
        })
    }

    /// Fills the empty cells of lines that continue the one above, and returns the paths then.
    pub(super) fn fill(&mut self, key: &str) -> Paths {
        let mut paths = Paths::default();
        let mut above: Option<Map<String, Value>> = None;
        for row in &mut self.rows {
            if let Some(above) = above.as_ref().filter(|_| known(row, key).is_none()) {
                let empty: Vec<String> = row
                    .keys()
                    .filter(|column| known(row, column).is_none())
                    .cloned()
                    .collect();
                for column in empty {
                    row.insert(
                        column.clone(),
                        above.get(&column).cloned().unwrap_or(Value::Null),
                    );
                }
            }
            paths.add(&Value::Object(row.clone()));
            above = Some(row.clone());
        }
        paths
    }

    /// Whether a column may have the key of products: it has no amounts, and no words for yes and
    /// no or for a state.
    fn may_be_key(&self, column: &str) -> bool {
        let words = Heading::read(column).words;
        let of_product = [
            "price",
            "published",
            "status",
            "brand",
            "category",
            "tags",
            "cost",
            "internal",
        ];
        let is_other = of_product
            .iter()
            .any(|meaning| meanings::rank(meaning, &words).is_some());
        let known = || self.rows.iter().filter_map(|row| known(row, column));
        let decimals = known().any(|value| value.contains(['.', ',']));
        let is_other = is_other && meanings::rank("group", &words).is_none();
        let is_amount = decimals && Signs::of(known()).is_some();
        !is_other && !is_amount
    }

    /// Whether each row has other values in these columns than all others; rows are few at times.
    pub(super) fn are_unique(&self, columns: &[&str]) -> bool {
        let mut seen = HashSet::new();
        let mut rows = self.rows.iter();
        rows.all(|row| {
            let values: Vec<String> = columns
                .iter()
                .filter_map(|column| Some(row.get(*column)?.to_string()))
                .collect();
            seen.insert(values)
        })
    }

    /// Whether all rows that have a word in a column have nothing in another one.
    pub(super) fn lack(&self, column: &str, word: &str, other: &str) -> bool {
        let mut rows = self
            .rows
            .iter()
            .filter(|row| known(row, column) == Some(word));
        rows.all(|row| known(row, other).is_none())
    }

    /// The items of a list, `a.b[].c[]`, in all rows. What stands alone is a list of itself.
    pub(super) fn items(&self, list: &str) -> Vec<&Map<String, Value>> {
        let mut found: Vec<&Map<String, Value>> = self.rows.iter().collect();
        for step in super::heading::steps(list) {
            let inside = found.into_iter().filter_map(|row| row.get(&step));
            let items = inside.flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                single => vec![single],
            });
            found = items.filter_map(Value::as_object).collect();
        }
        found
    }

    fn by(&self, key: &str) -> Option<Gathered> {
        let mut seen = HashSet::new();
        let mut starts = Vec::new();
        let mut last = None;
        for row in &self.rows {
            let value = known(row, key)?;
            let begins = last != Some(value);
            if begins && !seen.insert(value) {
                return None;
            }
            starts.push(begins);
            last = Some(value);
        }
        let groups = seen.len();
        if groups == self.rows.len() {
            return None;
        }
        let only_first = |column: &&String| {
            let mut rows = self.rows.iter().zip(&starts);
            let other = rows.any(|(row, begins)| !begins && known(row, column).is_some());
            !other && self.rows.iter().any(|row| known(row, column).is_some())
        };
        let first = self.rows.first()?.keys().filter(only_first);
        Some(Gathered {
            key: path_of(key),
            first: first.map(|column| path_of(column)).collect(),
            groups,
        })
    }
}

/// The text of a column, unless it is empty.
fn known<'r>(row: &'r Map<String, Value>, column: &str) -> Option<&'r str> {
    row.get(column)?
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// The path of a column.
fn path_of(column: &str) -> String {
    let mut path = String::new();
    vitrine_formats::push_key(&mut path, column);
    path
}

/// Returns true for the heading of a name.
fn is_name(words: &str) -> bool {
    let plain = words.strip_prefix("product_").unwrap_or(words);
    meanings::rank("name", words).is_some() || meanings::rank("name", plain).is_some()
}
