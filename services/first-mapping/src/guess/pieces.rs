//! Guesses about specs in pieces: lists of objects with a key, a value and a unit.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use vitrine_model::unit::UnitTable;

use super::finder::is_secret;
use super::texts::{list as texts, plain, quoted, rule, sure, unsure};
use super::{Finder, Guess, GuessedTable};
use crate::heading::{Heading, steps};
use crate::meanings;
use crate::paths::Facts;
use crate::values::{Signs, booleans, quantities};

/// The maximum number of keys that get a type of their own.
const MAX_KEYS: usize = 200;

/// Words of feeds for units that are no spellings of them.
const UNIT_WORDS: [(&str, &str); 23] = [
    ("KILOGRAM", "kg"),
    ("MILLIGRAM", "mg"),
    ("GRAM", "g"),
    ("TON", "t"),
    ("POUND", "lb"),
    ("OUNCE", "oz"),
    ("MILLIMETER", "mm"),
    ("CENTIMETER", "cm"),
    ("DECIMETER", "dm"),
    ("METER", "m"),
    ("KILOMETER", "km"),
    ("INCH", "in"),
    ("FEET", "ft"),
    ("LITER", "l"),
    ("MILLILITER", "ml"),
    ("CENTILITER", "cl"),
    ("WATT", "W"),
    ("KILOWATT", "kW"),
    ("VOLT", "V"),
    ("AMPERE", "A"),
    ("HERTZ", "Hz"),
    ("CELSIUS", "°C"),
    ("DECIBEL", "dB"),
];

/// Measures that have the unit of the length, and columns with this unit.
const MEASURES: [&str; 4] = ["length", "width", "height", "depth"];
const UNITS_OF_MEASURES: [&str; 4] = [
    "length_unit",
    "dimension_unit",
    "dimensions_unit",
    "size_unit",
];

/// The paths of the pieces in the items of a list.
struct Pieces {
    key: String,
    value: String,
    unit: Option<String>,
    /// Another path that has the unit of other items: `unitText` beside `unitCode`.
    other_unit: Option<String>,
}

impl Pieces {
    /// A condition on the key of an item.
    fn condition(&self, test: &str) -> String {
        format!("{} = {test}", super::texts::key_of(&self.key))
    }
}

/// The keys of a list by what all their values are.
#[derive(Default)]
struct Kinds<'v> {
    quantities: Vec<&'v str>,
    numbers: Vec<&'v str>,
    booleans: Vec<&'v str>,
    /// The words for yes and no of these.
    words: [Vec<String>; 2],
    /// What the shop pays, and what belongs to people.
    secret: Vec<&'v str>,
}

impl<'v> Kinds<'v> {
    /// The keys of each type.
    fn typed(&self) -> [(&'static str, &[&'v str]); 3] {
        [
            ("quantity", &self.quantities),
            ("number", &self.numbers),
            ("boolean", &self.booleans),
        ]
    }
}

impl Finder<'_> {
    /// Returns true if a path is in a list whose items are specs in pieces.
    pub(super) fn pieces_of(&self, path: &str) -> bool {
        let lists = path.match_indices("[]").map(|(at, _)| &path[..at + 2]);
        lists.into_iter().any(|list| self.pieces_in(list).is_some())
    }

    fn pieces_in(&self, list: &str) -> Option<Pieces> {
        let key = self.inside(list, "piece_key")?;
        let value = self.inside(list, "piece_value");
        let value = value.or_else(|| self.text_beside(list, &key))?;
        let is_flat = |path: &str| !path.contains("[]");
        let pieces = key != value && is_flat(&key) && is_flat(&value);
        let mut units = self.all_inside(list, "piece_unit").into_iter();
        let mut units = units.by_ref().filter(|unit| *unit != key && *unit != value);
        let (unit, other_unit) = (units.next(), units.next());
        pieces.then_some(Pieces {
            key,
            value,
            unit,
            other_unit,
        })
    }

    /// The text of elements that have the key as an attribute.
    fn text_beside(&self, list: &str, key: &str) -> Option<String> {
        let facts = self.facts(&format!("{list}.#text"))?;
        let is_value = key.starts_with('@') && facts.known > 0 && facts.addresses == 0;
        is_value.then(|| "#text".to_owned())
    }

    /// Rules for the lists whose items are specs in pieces.
    pub(super) fn pieces(&mut self) -> Vec<GuessedTable> {
        let mut lists: Vec<String> = Vec::new();
        let mut all = self.in_lists("piece_value", |_| true);
        all.extend(self.in_lists("piece_key", |_| true));
        for (list, _) in all {
            let ends = list
                .match_indices("[]")
                .map(|(at, _)| list[..at + 2].to_owned());
            let found = ends.filter(|list| self.pieces_in(list).is_some()).last();
            lists.extend(found.filter(|list| !lists.contains(list)));
        }
        let rules = lists
            .iter()
            .filter_map(|list| Some(self.rules_of_pieces(list, &self.pieces_in(list)?)));
        rules.flatten().collect()
    }

    fn rules_of_pieces(&self, list: &str, pieces: &Pieces) -> Vec<GuessedTable> {
        let items = self.lines.items(list);
        let kinds = self.kinds(&items, pieces);
        let mut base = self.base_rule(list, pieces);
        let typed = [
            &kinds.quantities,
            &kinds.numbers,
            &kinds.booleans,
            &kinds.secret,
        ];
        let others: Vec<&str> = typed.into_iter().flatten().copied().collect();
        let mut conditions = Vec::new();
        if !others.is_empty() {
            conditions.push(pieces.condition(&format!("{{ not = {} }}", texts(&others))));
        }
        let mut rules = Vec::new();
        if let Some(other) = &pieces.other_unit {
            let known =
                |known: bool| format!("{} = {{ known = {known} }}", super::texts::key_of(other));
            conditions.push(known(false));
            let secret = pieces.condition(&format!("{{ not = {} }}", texts(&kinds.secret)));
            let secret = (!kinds.secret.is_empty()).then_some(secret);
            let tests: Vec<String> = std::iter::once(known(true)).chain(secret).collect();
            rules.push(self.rule_of_other_unit(list, pieces, other, &tests.join(", ")));
        }
        if !conditions.is_empty() {
            base.push(sure(
                "where_item",
                format!("{{ {} }}", conditions.join(", ")),
            ));
        }
        rules.insert(0, rule(base));
        let typed = kinds.typed().into_iter();
        let typed = typed.filter(|(_, keys)| !keys.is_empty());
        rules.extend(typed.map(|(kind, keys)| {
            let mut lines = self.base_rule(list, pieces);
            lines.truncate(3);
            lines.extend(second_reading(kind, &kinds.words));
            let condition = pieces.condition(&texts(keys));
            lines.push(sure("where_item", format!("{{ {condition} }}")));
            rule(lines)
        }));
        rules
    }

    /// The rule for the items that have their unit elsewhere.
    fn rule_of_other_unit(
        &self,
        list: &str,
        pieces: &Pieces,
        unit: &str,
        test: &str,
    ) -> GuessedTable {
        let mut lines = self.base_rule(list, pieces);
        lines.truncate(3);
        lines.push(sure("unit_from", quoted(unit)));
        lines.extend(unit_values(&self.values_in(list, unit), &self.units));
        let comma = self
            .lines
            .items(list)
            .into_iter()
            .filter(|item| text_at(item, unit).is_some());
        let values: Vec<&str> = comma
            .filter_map(|item| text_at(item, &pieces.value))
            .collect();
        lines.extend(decimal_comma(&values));
        lines.push(sure("also", "true".to_owned()));
        lines.push(sure("where_item", format!("{{ {test} }}")));
        rule(lines)
    }

    fn base_rule(&self, list: &str, pieces: &Pieces) -> Vec<Guess> {
        let mut lines = vec![
            sure("path", quoted(plain(list))),
            sure("key_from", quoted(&pieces.key)),
            sure("value_from", quoted(&pieces.value)),
        ];
        if let Some(unit) = &pieces.unit {
            lines.push(sure("unit_from", quoted(unit)));
            lines.extend(unit_values(&self.values_in(list, unit), &self.units));
        }
        let values = self.values_in(list, &pieces.value);
        lines.extend(decimal_comma(&values));
        lines
    }

    /// What all values of each key are, where no unit stands beside them.
    fn kinds<'v>(&self, items: &[&'v Map<String, Value>], pieces: &Pieces) -> Kinds<'v> {
        let mut values: BTreeMap<&'v str, Vec<&'v str>> = BTreeMap::new();
        for item in items {
            let Some(key) = text_at(item, &pieces.key) else {
                continue;
            };
            let unit = pieces.unit.as_ref().and_then(|unit| text_at(item, unit));
            // Of numbers that are none in the feed only.
            let text = text_at(item, &pieces.value).filter(|_| unit.is_none());
            let known = text.filter(|text| !self.unknown.iter().any(|word| word == text));
            values.entry(key).or_default().push(known.unwrap_or(""));
        }
        let mut kinds = Kinds::default();
        for (key, values) in values.into_iter().take(MAX_KEYS) {
            let words = Heading::read(key).words;
            let all = || values.iter().copied();
            if meanings::mentions("cost", &words) || meanings::mentions("private", &words) {
                kinds.secret.push(key);
            } else if quantities(all(), &self.units) {
                kinds.quantities.push(key);
            } else if Signs::of(all()).is_some_and(|signs| !signs.form(&self.signs).unsure)
                && pieces.unit.is_none()
            {
                kinds.numbers.push(key);
            } else if let Some([yes, no]) = booleans(all()) {
                kinds.booleans.push(key);
                kinds.words[0].extend(yes);
                kinds.words[1].extend(no);
            }
        }
        kinds
    }

    /// Quantities in objects: `weight: { value, unitCode }`, and columns with a unit beside them.
    pub(super) fn units_beside(&self) -> Vec<(String, String)> {
        let names: Vec<(&str, &Facts)> = self
            .paths
            .all()
            .filter(|(path, facts)| facts.known > 0 && !is_secret(path, facts))
            .collect();
        let mut pairs = Vec::new();
        for (path, facts) in &names {
            let numbers = facts.are_mostly_numbers() && !facts.listed && !self.is_taken(path);
            if !numbers {
                continue;
            }
            let parent = parent(path);
            let words = &facts.heading.words;
            let is_unit = |other: &&(&str, &Facts)| {
                let (other, facts) = (other.0, &other.1.heading.words);
                let beside = format!("{words}_unit");
                let is_value =
                    meanings::rank("piece_value", words).is_some() || path.ends_with(".#text");
                let in_object =
                    is_value && meanings::rank("piece_unit", facts).is_some() && parent.is_some();
                self::parent(other) == parent
                    && (in_object
                        || *facts == beside
                        || *facts == format!("unit_{words}")
                        || *facts == format!("{words}_uom")
                        || *facts == format!("{words}_einheit")
                        || (MEASURES.contains(&words.as_str())
                            && UNITS_OF_MEASURES.contains(&facts.as_str())))
            };
            // Of the two words for a unit the one that more rows have.
            let unit = names
                .iter()
                .filter(is_unit)
                .max_by_key(|(_, facts)| facts.known);
            pairs.extend(unit.map(|(unit, _)| ((*path).to_owned(), (*unit).to_owned())));
        }
        pairs
    }

    /// The rule for a number with its unit beside it.
    pub(super) fn rule_with_unit(
        &self,
        path: &str,
        unit: &str,
        omitted: &[String],
    ) -> GuessedTable {
        let mut lines = vec![sure("path", quoted(path)), sure("unit_from", quoted(unit))];
        let is_value = meanings::rank("piece_value", &Heading::of(path).words).is_some();
        let of = if is_value {
            parent(path).unwrap_or(path)
        } else {
            path
        };
        let of = super::specs::without_steps(of, omitted);
        let key = super::specs::renamed(path, &of);
        lines.extend(key.map(|key| sure("key", quoted(&key))));
        let words = self
            .facts(unit)
            .map_or(Vec::new(), |facts| facts.all().collect());
        lines.extend(unit_values(&words, &self.units));
        let signs = self.facts(path).and_then(Facts::signs);
        let form = signs.map(|signs| signs.form(&self.signs));
        let settings = form.map_or(Vec::new(), |form| super::amounts::number_settings(&form));
        lines.extend(settings.iter().filter_map(|setting| {
            let (name, value) = setting.split_once(" = ")?;
            Some(sure(name, value.to_owned()))
        }));
        rule(lines)
    }
}

/// The setting of a comma before decimals, if most values have one.
pub(super) fn decimal_comma(values: &[&str]) -> Option<Guess> {
    let numbers = |sign: char| {
        let is =
            |value: &&&str| value.contains(sign) && Signs::of(std::iter::once(**value)).is_some();
        values.iter().filter(is).count()
    };
    (numbers(',') > numbers('.')).then(|| sure("decimal", "\",\"".to_owned()))
}

/// The settings of a second reading of values that are all of one type.
fn second_reading(kind: &str, words: &[Vec<String>; 2]) -> Vec<Guess> {
    let mut lines = vec![sure("also", "true".to_owned()), sure("type", quoted(kind))];
    if kind == "boolean" {
        lines.extend(yes_and_no(words));
    }
    lines
}

/// The path of what a path is in.
fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(parent, _)| parent)
}

/// The text of an item at a path; of several the first.
fn text_at<'v>(item: &'v Map<String, Value>, path: &str) -> Option<&'v str> {
    let mut steps = steps(path).into_iter();
    let mut value = item.get(&steps.next()?)?;
    for step in steps {
        value = match value {
            Value::Object(object) => object.get(&step)?,
            other if step == "#text" => other,
            _ => return None,
        };
    }
    match value {
        Value::Array(items) => items.first()?.as_str(),
        Value::Object(object) => object.get("#text")?.as_str(),
        other => other.as_str(),
    }
}

/// The words for yes and no, unless they are read anyway.
pub(super) fn yes_and_no(words: &[Vec<String>; 2]) -> Vec<Guess> {
    const READ: [[&str; 4]; 2] = [["true", "yes", "y", "1"], ["false", "no", "n", "0"]];
    let mut lines = Vec::new();
    for (at, name) in ["yes", "no"].into_iter().enumerate() {
        let mut words: Vec<String> = words[at].iter().map(|word| word.to_lowercase()).collect();
        words.sort_unstable();
        words.dedup();
        words.retain(|word| !READ[at].contains(&word.as_str()));
        if !words.is_empty() {
            lines.push(sure(name, texts(&words)));
        }
    }
    lines
}

/// What the words of a feed for units stand for, unless all are units themselves.
pub(super) fn unit_values(words: &[&str], table: &UnitTable) -> Option<Guess> {
    let others: Vec<&&str> = words
        .iter()
        .filter(|word| table.find_in_feed(word).is_none())
        .collect();
    if others.is_empty() {
        return None;
    }
    let found: Vec<(&str, &str)> = others
        .iter()
        .filter_map(|word| Some((**word, symbol(word, table)?)))
        .collect();
    let unknown: Vec<&str> = others
        .iter()
        .filter(|word| symbol(word, table).is_none())
        .map(|word| **word)
        .collect();
    let value = if found.is_empty() {
        "{ }".to_owned()
    } else {
        super::texts::table(&found)
    };
    Some(if unknown.is_empty() {
        sure("unit_values", value)
    } else {
        let remark = format!(
            "values with these units are bad until unit_values says what they stand for: {}",
            unknown.join(", ")
        );
        unsure("unit_values", value, remark)
    })
}

/// The unit that a word of a feed stands for.
fn symbol(word: &str, table: &UnitTable) -> Option<&'static str> {
    let same = |known: &str| {
        known.eq_ignore_ascii_case(word) || format!("{known}S").eq_ignore_ascii_case(word)
    };
    let (_, unit) = UNIT_WORDS.iter().find(|(known, _)| same(known))?;
    table.find(unit).map(|_| *unit)
}
