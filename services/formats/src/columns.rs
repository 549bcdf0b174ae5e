//! The columns of tables and sheets: which name the values of a row have.
//!
//! Names are without the blanks around them. Two columns of one name are a list: in every row it
//! has a value for each of them, empty ones too. A column without a name is left out of the rows
//! in which it is empty.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The columns of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// The name of each column.
    names: Vec<Name>,
    /// Whether each column has a name, and no two the same.
    is_plain: bool,
    /// Names those behind the last one of the header, which may have values.
    unnamed: Option<fn(usize) -> String>,
}

#[derive(Clone, Debug)]
struct Name {
    text: String,
    /// Whether the header has it.
    is_given: bool,
    /// Whether another column has it as well.
    is_shared: bool,
}

impl Columns {
    /// The columns of a header. `unnamed` names those without a name.
    pub(super) fn of_header(header: Vec<String>, unnamed: fn(usize) -> String) -> Self {
        let mut names: Vec<Name> = Vec::new();
        for (at, name) in header.into_iter().enumerate() {
            let given = name.trim();
            let is_given = !given.is_empty();
            let text = if is_given {
                given.to_owned()
            } else {
                unnamed(at)
            };
            names.push(Name {
                text,
                is_given,
                is_shared: false,
            });
        }
        let mut counts: HashMap<String, usize> = HashMap::new();
        for name in &names {
            *counts.entry(name.text.clone()).or_default() += 1;
        }
        for name in &mut names {
            name.is_shared = counts[&name.text] > 1;
        }
        let is_plain = names.iter().all(|name| name.is_given && !name.is_shared);
        Self {
            names,
            is_plain,
            unnamed: None,
        }
    }

    /// Columns that the mapping names, each differently.
    pub(super) fn named(names: &[String]) -> Self {
        let names = names.iter().map(|name| Name {
            text: name.clone(),
            is_given: true,
            is_shared: false,
        });
        Self {
            names: names.collect(),
            is_plain: true,
            unnamed: None,
        }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The same, with names for the columns behind the last one.
    pub(super) fn with_unnamed(self, unnamed: fn(usize) -> String) -> Self {
        Self {
            unnamed: Some(unnamed),
            ..self
        }
    }

    /// The name of a column.
    pub(super) fn name(&self, column: usize) -> String {
        let known = self.names.get(column).map(|name| name.text.clone());
        known
            .or_else(|| Some(self.unnamed?(column)))
            .unwrap_or_default()
    }

    /// The row with these values. What is missing at the end is null.
    pub(super) fn row(&self, mut values: impl Iterator<Item = Value>) -> Map<String, Value> {
        let mut row = Map::with_capacity(self.names.len());
        for name in &self.names {
            let value = values.next().unwrap_or_default();
            if self.is_plain {
                row.insert(name.text.clone(), value);
            } else if name.is_given || !is_empty(&value) {
                name.add(&mut row, value);
            }
        }
        let Some(unnamed) = self.unnamed else {
            return row;
        };
        for (value, at) in values.zip(self.names.len()..) {
            if !is_empty(&value) {
                let name = Name {
                    text: unnamed(at),
                    is_given: false,
                    is_shared: false,
                };
                name.add(&mut row, value);
            }
        }
        row
    }
}

impl Name {
    fn add(&self, row: &mut Map<String, Value>, value: Value) {
        match row.get_mut(&self.text) {
            Some(Value::Array(values)) => values.push(value),
            Some(known) => *known = Value::Array(vec![known.take(), value]),
            None if self.is_shared && self.is_given => {
                row.insert(self.text.clone(), Value::Array(vec![value]));
            }
            None => {
                row.insert(self.text.clone(), value);
            }
        }
    }
}

/// Whether a value is that of an empty cell.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}
