//! Rows that are made of what a file has: columns that become the items of a list, and lines of one
//! key that become one row.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use crate::columns::is_empty;
use crate::form::FeedForm;
use crate::place::{Partition, fits};
use crate::{CellProblem, FeedLine, MAX_LINE_BYTES, Row, Rows};

/// The maximum number of lines of a row.
const MAX_GATHERED_LINES: usize = 10_000;

/// Columns that become the items of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpivot {
    /// The names of the columns, with `*` and `?`.
    pub columns: Vec<String>,
    /// The name of the list.
    pub list: String,
    /// The name that items have the name of their column under.
    pub name: String,
    /// The name that items have the value of their column under.
    pub value: String,
}

/// Lines of one key that become one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gather {
    /// The columns that may have the key: the first one that has a value in a line is it.
    pub keys: Vec<String>,
    /// The name of the list of the lines.
    pub list: String,
}

/// The rows of a file in the shape that the mapping asks for.
pub(super) struct Shaped {
    rows: Rows,
    /// The columns that each row has besides.
    partitions: Vec<Partition>,
    unpivots: Vec<Unpivot>,
    gather: Option<Gather>,
    /// The lines after the one that was returned last.
    next: VecDeque<FeedLine>,
    /// The first line of the next row.
    ahead: Option<FeedLine>,
    /// The key of a row that was too large, whose other lines are rejected.
    full: Option<String>,
}

/// A row that is being made of several lines.
struct Group {
    key: String,
    number: u64,
    first_bytes: usize,
    row: Map<String, Value>,
    lines: Vec<Value>,
    bytes: usize,
    cells: Vec<CellProblem>,
}

impl Unpivot {
    /// Replaces the columns of a row by the list. Columns without a value make no item.
    ///
    /// # Errors
    /// The row has the list already.
    fn apply(&self, row: &mut Map<String, Value>) -> Result<(), String> {
        if row.contains_key(&self.list) {
            let list = &self.list;
            return Err(format!(
                "has {list:?} itself; give the list of unpivot another name"
            ));
        }
        let mut items = Vec::new();
        let mut kept = Map::new();
        for (name, value) in std::mem::take(row) {
            if !self.columns.iter().any(|column| fits(column, &name)) {
                kept.insert(name, value);
            } else if !is_empty(&value) {
                let item = [
                    (self.name.clone(), Value::String(name)),
                    (self.value.clone(), value),
                ];
                items.push(Value::Object(Map::from_iter(item)));
            }
        }
        kept.insert(self.list.clone(), Value::Array(items));
        *row = kept;
        Ok(())
    }
}

impl Gather {
    /// The key of a row; `None` if it is unknown.
    #[must_use]
    pub fn key(&self, row: &Map<String, Value>) -> Option<String> {
        self.keys.iter().find_map(|column| {
            let key = match row.get(column)? {
                Value::String(text) => text.trim().to_owned(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            (!key.is_empty()).then_some(key)
        })
    }
}

impl Shaped {
    pub(super) fn new(rows: Rows, form: &FeedForm, partitions: &[Partition]) -> Self {
        Self {
            rows,
            partitions: partitions.to_vec(),
            unpivots: form.unpivot.clone(),
            gather: form.gather.clone(),
            next: VecDeque::new(),
            ahead: None,
            full: None,
        }
    }

    /// The next line of the file, with its columns as the mapping wants them.
    fn line(&mut self) -> Option<FeedLine> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        let mut line = self.rows.next()?;
        if let Row::Object(Value::Object(row)) = &mut line.row {
            for (name, value) in &self.partitions {
                // What the file says itself is more than what its folder says.
                if row.get(name).is_none_or(is_empty) {
                    row.insert(name.clone(), Value::from(value.clone()));
                }
            }
            for unpivot in &self.unpivots {
                if let Err(reason) = unpivot.apply(row) {
                    line.row = Row::Unreadable(reason);
                    break;
                }
            }
        }
        Some(line)
    }

    /// Collects the lines that belong to the first one, and returns the row that they make.
    fn group(&mut self, gather: &Gather, mut group: Group) -> FeedLine {
        while let Some(mut line) = self.line() {
            match &mut line.row {
                Row::Object(Value::Object(row)) => {
                    if gather.key(row).as_deref() != Some(group.key.as_str()) {
                        self.ahead = Some(line);
                        break;
                    }
                    if group.is_full(line.bytes) {
                        self.full = Some(group.key.clone());
                        self.ahead = Some(line);
                        break;
                    }
                    group.add(std::mem::take(row), line.bytes);
                    line.row = Row::Gathered;
                }
                Row::Broken(_) => {
                    self.ahead = Some(line);
                    break;
                }
                _ => {}
            }
            self.next.push_back(line);
        }
        group.finish(gather)
    }
}

impl Iterator for Shaped {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        if let Some(line) = self.next.pop_front() {
            return Some(line);
        }
        let mut first = self.line()?;
        let Some(gather) = self.gather.clone() else {
            return Some(first);
        };
        let Row::Object(Value::Object(row)) = &mut first.row else {
            return Some(first);
        };
        if row.contains_key(&gather.list) {
            let list = &gather.list;
            let reason = format!("has {list:?} itself; give the list of gather another name");
            first.row = Row::Unreadable(reason);
            return Some(first);
        }
        let key = gather.key(row);
        if key.is_some() && key == self.full {
            first.row = Row::Unreadable(too_many());
            return Some(first);
        }
        self.full = None;
        let row = std::mem::take(row);
        let group = Group::new(key.clone().unwrap_or_default(), &first, row);
        Some(match key {
            Some(_) => self.group(&gather, group),
            // Nothing says which row it belongs to.
            None => group.finish(&gather),
        })
    }
}

impl Group {
    fn new(key: String, first: &FeedLine, row: Map<String, Value>) -> Self {
        Self {
            key,
            number: first.number,
            first_bytes: first.bytes,
            lines: vec![Value::Object(row.clone())],
            row,
            bytes: first.bytes,
            cells: first.cells.clone(),
        }
    }

    fn is_full(&self, bytes: usize) -> bool {
        self.lines.len() == MAX_GATHERED_LINES || self.bytes + bytes > MAX_LINE_BYTES
    }

    /// Adds a line: the row gets what it does not know yet.
    fn add(&mut self, line: Map<String, Value>, bytes: usize) {
        for (name, value) in &line {
            let known = self.row.get(name).is_some_and(|known| !is_empty(known));
            if !known && !is_empty(value) {
                self.row.insert(name.clone(), value.clone());
            }
        }
        self.lines.push(Value::Object(line));
        self.bytes += bytes;
    }

    fn finish(mut self, gather: &Gather) -> FeedLine {
        self.row
            .insert(gather.list.clone(), Value::Array(self.lines));
        FeedLine {
            number: self.number,
            bytes: self.first_bytes,
            row: Row::Object(Value::Object(self.row)),
            cells: self.cells,
        }
    }
}

fn too_many() -> String {
    format!(
        "has the key of the row before, which has {MAX_GATHERED_LINES} lines or {} MiB already",
        MAX_LINE_BYTES / (1024 * 1024)
    )
}

#[cfg(test)]
mod tests;
