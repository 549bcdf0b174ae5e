//! What the rows of a feed have: their paths, with facts about the values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vitrine_formats::push_key;
use vitrine_ingest::mapping::shortened;

use super::heading::Heading;
use super::values::{Signs, is_email, is_ip};

/// The maximum number of paths that are looked at.
const MAX_PATHS: usize = 2000;
/// The maximum number of different values that are remembered of a path.
const MAX_VALUES: usize = 1000;
/// The maximum number of values that are shown of a path.
const MAX_SHOWN_VALUES: usize = 3;

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
    /// What the last step of the path says.
    pub(super) heading: Heading,
    /// Whether a value belongs to a person: an address of e-mail or of a computer.
    pub(super) personal: bool,
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
            let facts = Facts {
                heading: Heading::of(path),
                ..Facts::default()
            };
            self.facts.insert(path.to_owned(), facts);
        }
        if let Some(facts) = self.facts.get_mut(path) {
            facts.listed = listed;
            facts.add(value);
        }
    }

    /// Makes one path of those that lead to a list in some rows, and to a single item in others, as
    /// elements of XML do.
    pub(super) fn merge_lists(&mut self) {
        let lists: BTreeSet<String> = self
            .order
            .iter()
            .flat_map(|path| {
                path.match_indices("[]")
                    .map(|(at, _)| path[..at].to_owned())
            })
            .collect();
        let mut order: Vec<String> = Vec::new();
        for path in std::mem::take(&mut self.order) {
            let listed = listed(&path, &lists);
            let Some(facts) = self.facts.remove(&path) else {
                continue;
            };
            if let Some(known) = self.facts.get_mut(&listed) {
                known.merge(facts);
            } else {
                let facts = Facts {
                    listed: listed.contains("[]"),
                    ..facts
                };
                self.facts.insert(listed.clone(), facts);
            }
            if !order.contains(&listed) {
                order.push(listed);
            }
        }
        self.order = order;
        self.merge_texts();
    }

    /// Makes one path of those of elements that have attributes in some rows only.
    fn merge_texts(&mut self) {
        let alone = |path: &String| self.facts.contains_key(&format!("{path}.#text"));
        let both: Vec<String> = self
            .order
            .iter()
            .filter(|path| alone(path))
            .cloned()
            .collect();
        for path in both {
            if let Some(facts) = self.facts.remove(&path)
                && let Some(text) = self.facts.get_mut(&format!("{path}.#text"))
            {
                text.merge(facts);
            }
            self.order.retain(|known| *known != path);
        }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// All paths with their facts, in the order of the rows.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Facts)> + Clone {
        self.order
            .iter()
            .map(|path| (path.as_str(), &self.facts[path]))
    }
}

/// A path with `[]` wherever other rows have a list.
fn listed(path: &str, lists: &BTreeSet<String>) -> String {
    let mut out = String::new();
    let mut rest = path;
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        out.push_str(&rest[..end]);
        rest = &rest[end..];
        if lists.contains(&out) && !rest.starts_with("[]") {
            out.push_str("[]");
        }
        if rest.is_empty() {
            return out;
        }
        let sign = if rest.starts_with("[]") { 2 } else { 1 };
        out.push_str(&rest[..sign]);
        rest = &rest[sign..];
    }
}

impl Facts {
    fn merge(&mut self, other: Self) {
        self.known += other.known;
        self.texts += other.texts;
        self.numbers += other.numbers;
        self.addresses += other.addresses;
        self.characters += other.characters;
        self.personal |= other.personal;
        self.range = match (self.range, other.range) {
            (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
            (one, two) => one.or(two),
        };
        for value in other.first {
            if self.first.len() < MAX_SHOWN_VALUES && !self.first.contains(&value) {
                self.first.push(value);
            }
        }
        self.values.extend(other.values);
    }

    /// Looks at a value.
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
        self.personal |= is_email(&text) || is_ip(&text);
        let digits = text.contains(|c: char| c.is_ascii_digit());
        let number = text
            .replace(',', ".")
            .parse::<f64>()
            .ok()
            .filter(|_| digits);
        if let Some(number) = number {
            let (low, high) = self.range.unwrap_or((number, number));
            self.range = Some((low.min(number), high.max(number)));
        }
        if number.is_some() || Signs::of(std::iter::once(text.as_str())).is_some() {
            self.numbers += 1;
        }
        if self.first.len() < MAX_SHOWN_VALUES && !self.first.contains(&text) {
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

    /// Whether some values have tags or entities of HTML.
    pub(super) fn have_html(&self) -> bool {
        let mut first = self.first.iter();
        first.any(|text| text.contains("</") || text.contains("<br") || text.contains("&amp;"))
    }

    /// Whether all values are numbers.
    pub(super) fn are_numbers(&self) -> bool {
        self.known > 0 && self.numbers == self.known
    }

    /// What the signs in numbers that are written as text are for; `None` if these values of the path
    /// are no such numbers, or look like numbers of articles.
    pub(super) fn signs_of<'v>(
        &self,
        values: impl Iterator<Item = &'v str> + Clone,
    ) -> Option<Signs> {
        const MAX_DIGITS: usize = 11;
        let of_article = |text: &str| {
            let digits = text.trim_start_matches(['-', '+']).as_bytes();
            let zero =
                digits.first() == Some(&b'0') && digits.get(1).is_some_and(u8::is_ascii_digit);
            let all = digits.iter().filter(|byte| byte.is_ascii_digit()).count();
            zero || (all > MAX_DIGITS && all == digits.len())
        };
        if self.texts < self.known || values.clone().any(of_article) {
            return None;
        }
        Signs::of(values)
    }

    /// As [`Facts::signs_of`], of all values.
    pub(super) fn signs(&self) -> Option<Signs> {
        self.signs_of(self.all())
    }

    /// The different values.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> + Clone {
        self.values.iter().map(String::as_str)
    }

    /// Whether most values are numbers.
    pub(super) fn are_mostly_numbers(&self) -> bool {
        self.numbers * 2 > self.known
    }

    /// Whether most values are addresses.
    pub(super) fn are_addresses(&self) -> bool {
        self.addresses * 2 > self.known
    }

    /// The facts for people.
    pub(super) fn described(&self, rows: usize) -> String {
        if self.known == 0 {
            return "empty".to_owned();
        }
        let kind = if self.are_numbers() {
            "numbers"
        } else if self.personal {
            return format!("{} values in {rows} rows, of persons", self.known);
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
