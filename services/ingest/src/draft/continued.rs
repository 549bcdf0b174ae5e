//! Lines that continue the one above them: empty cells have the value above, and with `gather` the line belongs to the
//! row above. Spreadsheets with merged cells, and tables of variants, are written so.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Map, Value};
use vitrine_formats::{FeedLine, Gather, MAX_LINE_BYTES, Row};

use crate::mapping::{FillDown, Mapping, is_empty};

/// The maximum number of lines of a row.
const MAX_LINES: usize = 10_000;

/// What is remembered of the lines above.
#[derive(Debug, Default)]
pub(crate) struct Continued {
    settings: Option<Arc<FillDown>>,
    gather: Option<Gather>,
    /// The values of the line above in the columns that are filled.
    above: Map<String, Value>,
    /// The row to which further lines may belong, with its size.
    held: Option<(FeedLine, usize)>,
    /// The lines behind it.
    behind: VecDeque<FeedLine>,
    /// Lines whose row is complete.
    ready: VecDeque<FeedLine>,
}

/// The lines of a feed with what the lines above say.
pub(crate) struct Continuing<'c, F> {
    continued: &'c mut Continued,
    feed: &'c mut F,
}

impl Continued {
    /// Returns the state before the first line of a file.
    pub(crate) fn new(mapping: &Mapping) -> Self {
        Self {
            settings: mapping.fill_down().cloned().map(Arc::new),
            gather: mapping.form().gather.clone(),
            ..Self::default()
        }
    }

    /// The lines of a feed with what the lines above say.
    pub(crate) fn of<'c, F>(&'c mut self, feed: &'c mut F) -> Continuing<'c, F> {
        Continuing {
            continued: self,
            feed,
        }
    }

    fn next(&mut self, feed: &mut impl Iterator<Item = FeedLine>) -> Option<FeedLine> {
        let Some(settings) = self.settings.clone() else {
            return feed.next();
        };
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let Some(line) = feed.next() else {
                self.complete();
                return self.ready.pop_front();
            };
            self.add(line, &settings);
        }
    }

    /// Makes the row that is held ready, with the lines behind it.
    fn complete(&mut self) {
        self.ready.extend(self.held.take().map(|(line, _)| line));
        self.ready.append(&mut self.behind);
    }

    fn add(&mut self, mut line: FeedLine, settings: &FillDown) {
        let Row::Object(Value::Object(row)) = &mut line.row else {
            return self.follow(line);
        };
        let continues = settings.continues(row);
        if continues {
            self.fill(row);
        }
        self.remember(row, continues, settings);
        if self.gather.is_none() {
            return self.ready.push_back(line);
        }
        if continues && self.join(&mut line) {
            return self.follow(line);
        }
        self.complete();
        let bytes = line.bytes;
        self.held = Some((line, bytes));
    }

    /// Adds a line that makes no row of its own.
    fn follow(&mut self, line: FeedLine) {
        if self.held.is_some() {
            self.behind.push_back(line);
        } else {
            self.ready.push_back(line);
        }
    }

    /// Gives a row the values above where it has none; also the lines that it is gathered from.
    fn fill(&self, row: &mut Map<String, Value>) {
        let gather = self.gather.as_ref();
        let lines = gather.and_then(|gather| row.get_mut(&gather.list)?.as_array_mut());
        for line in lines.into_iter().flatten().filter_map(Value::as_object_mut) {
            fill(line, &self.above);
        }
        fill(row, &self.above);
    }

    /// Remembers what the next line may continue. A line that continues none says all of it.
    fn remember(&mut self, row: &Map<String, Value>, continues: bool, settings: &FillDown) {
        if !continues {
            self.above.clear();
        }
        for (name, value) in row {
            if settings.fills(name) && !is_empty(value) {
                self.above.insert(name.clone(), value.clone());
            }
        }
    }

    /// Adds a line to the row that is held, if it has the same key. It is refused if the row has too many.
    fn join(&mut self, line: &mut FeedLine) -> bool {
        let (Some(gather), Some((held, bytes))) = (&self.gather, &mut self.held) else {
            return false;
        };
        let (Row::Object(row), Row::Object(above)) = (&mut line.row, &mut held.row) else {
            return false;
        };
        let (Some(row), Some(above)) = (row.as_object_mut(), above.as_object_mut()) else {
            return false;
        };
        let key = gather.key(row);
        if key.is_none() || key != gather.key(above) {
            return false;
        }
        let added = row.remove(&gather.list);
        let lines = above.get_mut(&gather.list).and_then(Value::as_array_mut);
        let (Some(Value::Array(added)), Some(lines)) = (added, lines) else {
            return false;
        };
        *bytes += line.bytes;
        if lines.len() + added.len() > MAX_LINES || *bytes > MAX_LINE_BYTES {
            let reason = format!("continues a row that has {MAX_LINES} lines or 4 MiB already");
            line.row = Row::Unreadable(reason);
            return true;
        }
        lines.extend(added);
        fill(above, row);
        line.row = Row::Gathered;
        true
    }
}

impl<F: Iterator<Item = FeedLine>> Iterator for Continuing<'_, F> {
    type Item = FeedLine;

    fn next(&mut self) -> Option<FeedLine> {
        self.continued.next(self.feed)
    }
}

/// Gives a row values where it has none.
fn fill(row: &mut Map<String, Value>, values: &Map<String, Value>) {
    for (name, value) in values {
        if row.get(name).is_none_or(is_empty) {
            row.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The rows of lines, and the numbers of lines that belong to others.
    fn read(settings: &str, rows: Vec<Value>) -> (Vec<Value>, Vec<u64>) {
        let text = format!(
            "version = 1\nsystem = \"shop\"\n{settings}\n[product]\nexternal_id = \"sku\"\nname = \"name\"\n\
             kind = {{ value = \"shirt\" }}\ncategory = {{ value = \"Shirts\" }}\n"
        );
        let mapping = Mapping::parse(&text, &mut |_| unreachable!("no tables")).unwrap();
        let mut feed = rows.into_iter().zip(1..).map(|(row, number)| FeedLine {
            number,
            cells: Vec::new(),
            bytes: 10,
            row: if row.is_null() {
                Row::Blank
            } else {
                Row::Object(row)
            },
        });
        let mut continued = Continued::new(&mapping);
        let (mut read, mut gathered) = (Vec::new(), Vec::new());
        for line in continued.of(&mut feed) {
            match line.row {
                Row::Object(row) => read.push(row),
                Row::Gathered => gathered.push(line.number),
                _ => {}
            }
        }
        (read, gathered)
    }

    fn shirts() -> Vec<Value> {
        vec![
            json!({"name": "Shirt", "brand": "Tarn", "size": "S", "sku": "1"}),
            json!({"name": "", "brand": "", "size": "M", "sku": "2"}),
            json!({"name": "Coat", "brand": null, "size": "S", "sku": "3"}),
            json!({"name": " ", "brand": "", "size": "", "sku": "4"}),
        ]
    }

    #[test]
    fn an_empty_cell_means_the_one_above() {
        let (rows, _) = read("fill_down = { columns = [\"na*\", \"brand\"] }", shirts());
        assert_eq!(
            rows[1],
            json!({"name": "Shirt", "brand": "Tarn", "size": "M", "sku": "2"})
        );
        assert_eq!(rows[2]["brand"], "Tarn");
        assert_eq!(
            rows[3],
            json!({"name": "Coat", "brand": "Tarn", "size": "", "sku": "4"})
        );
    }

    #[test]
    fn with_a_key_only_lines_without_it_continue() {
        let (rows, _) = read("fill_down = { key = \"name\" }", shirts());
        assert_eq!(
            rows[1],
            json!({"name": "Shirt", "brand": "Tarn", "size": "M", "sku": "2"})
        );
        assert_eq!(
            rows[2]["brand"],
            Value::Null,
            "another product says all of itself"
        );
        assert_eq!(
            rows[3],
            json!({"name": "Coat", "brand": "", "size": "S", "sku": "4"})
        );
    }

    #[test]
    fn lines_without_the_key_are_gathered_into_the_row_above() {
        let mut lines = shirts();
        for line in &mut lines {
            let alone = line.clone();
            line["lines"] = json!([alone]);
        }
        lines.insert(1, Value::Null);
        let settings = "gather = { key = \"name\", as = \"lines\" }\n\
                        fill_down = { key = \"name\", columns = [\"name\", \"brand\"] }";
        let (rows, gathered) = read(settings, lines);
        assert_eq!((rows.len(), gathered), (2, vec![3, 5]));
        let sizes: Vec<&Value> = rows[0]["lines"].as_array().unwrap().iter().collect();
        assert_eq!(
            sizes[1],
            &json!({"name": "Shirt", "brand": "Tarn", "size": "M", "sku": "2"})
        );
        assert_eq!(rows[1]["lines"].as_array().unwrap().len(), 2);
        assert_eq!(rows[1]["sku"], "3");
    }

    #[test]
    fn without_the_setting_nothing_changes() {
        let (rows, _) = read("", shirts());
        assert_eq!(rows, shirts());
    }
}
