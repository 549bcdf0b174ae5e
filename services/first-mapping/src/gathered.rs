//! Tables in which several lines are one product: which column has their key.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::paths::last_word;

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
        if !self.nested && self.bytes <= MAX_BYTES {
            self.rows.push(row.clone());
        }
    }

    /// The column by which lines that follow one another are one product: the others of its lines
    /// lack what `names` calls the name of a product.
    pub(super) fn gathered(&self, names: &[&str]) -> Option<Gathered> {
        let columns = self.rows.first().filter(|_| !self.nested)?.keys();
        let mut found = columns.filter_map(|key| self.by(key));
        found.find(|gathered| {
            let mut first = gathered.first.iter();
            first.any(|column| names.contains(&last_word(column).as_str()))
        })
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
            key: key.to_owned(),
            first: first.cloned().collect(),
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
