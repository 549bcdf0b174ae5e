//! Rules: settings for the values at some paths, in some categories.

use std::collections::HashMap;

use vitrine_model::spec::ValueType;
use vitrine_model::unit::UnitTable;

use super::super::condition::Condition;
use super::super::error::MappingError;
use super::super::path::{PathStep, Row};
use super::super::pattern::Pattern;
use super::super::reading::Reading;
use super::super::section::{Section, numbered};
use super::super::template::{Parts, Template};
use super::super::uses::{UsedPath, Uses};
use super::glob::{Glob, Matching};
use super::{key, unit_id};

/// A rule. If several match a path, later ones extend and override earlier ones.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    paths: Vec<Glob>,
    categories: Vec<String>,
    condition: Option<Condition>,
    /// Whether this is an additional reading of the value.
    pub(super) also: bool,
    /// Whether the value is skipped.
    pub(super) skip: bool,
    /// The options of the rule.
    pub(super) options: RuleOptions,
    /// Its name in messages: `product.specs.rules[2]`.
    pub(super) name: String,
    settings: toml::Table,
}

/// The options of a rule other than how a value is read.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleOptions {
    pub(super) key: Option<String>,
    pub(super) unit: Option<String>,
    /// Words that stand for units; the empty unit makes a plain number.
    pub(super) unit_values: HashMap<String, String>,
    pub(super) value_type: Option<ValueType>,
    pub(super) split: Vec<Pattern>,
    pub(super) cut_at: Option<String>,
    /// What separates several values in a part of `split`.
    pub(super) then_cut_at: Option<String>,
    pub(super) template: Option<Template>,
    pub(super) list: Option<List>,
    pub(super) separator: Option<String>,
    pub(super) count_key: Option<String>,
    pub(super) qualifier: Option<String>,
    /// What keys of the feed's names begin with.
    pub(super) key_prefix: Option<String>,
    /// Keys for names of the feed.
    pub(super) key_values: HashMap<String, String>,
    /// The ending of the keys of texts that are no numbers.
    pub(super) text_suffix: Option<String>,
    pub(super) parts: ObjectParts,
    /// A condition on the object that holds a spec in pieces.
    pub(super) where_item: Option<Condition>,
}

/// The paths of the parts of a spec in an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectParts {
    pub(super) value: Option<UsedPath>,
    pub(super) key: Option<UsedPath>,
    pub(super) unit: Option<UsedPath>,
    pub(super) qualifier: Option<UsedPath>,
}

/// How a list is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// One spec per item.
    Each,
    /// One spec for the first item.
    First,
    /// One text with all items.
    Join,
    /// The number of items.
    Count,
}

impl List {
    /// Returns true if a list is mapped as a whole.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Join | Self::Count)
    }
}

const LISTS: [(&str, List); 4] = [
    ("each", List::Each),
    ("first", List::First),
    ("join", List::Join),
    ("count", List::Count),
];

/// Reads the rules of a specs section.
pub(super) fn read(
    section: &Section<'_>,
    reading: &Reading,
    table: &UnitTable,
) -> Result<Vec<Rule>, MappingError> {
    let numbered = numbered(&section.at("rules"), section.values("rules"));
    let reading = reading.of_numbers();
    let read = |(path, value): &(String, &toml::Value)| {
        let section = Section::of(path.clone(), value)?;
        let rule = Rule::read(&section, value, &reading, table)?;
        section.finish()?;
        Ok(rule)
    };
    let rules: Vec<Rule> = numbered.iter().map(read).collect::<Result<_, _>>()?;
    for (rule, (path, value)) in rules.iter().zip(numbered) {
        let unsupported = DEPENDENT.iter().find(|dependent| {
            // Another rule for the same path may have it.
            let is_supported = rules
                .iter()
                .any(|rule| (dependent.has_support)(&rule.options));
            (dependent.is_set)(&rule.options) && !is_supported
        });
        if let Some(dependent) = unsupported {
            let section = Section::of(path, value)?;
            return Err(section.invalid(dependent.setting, dependent.reason));
        }
    }
    Ok(rules)
}

/// A setting that has no effect unless a rule, this one or another for the same path, has another setting.
struct Dependent {
    setting: &'static str,
    is_set: fn(&RuleOptions) -> bool,
    has_support: fn(&RuleOptions) -> bool,
    reason: &'static str,
}

const DEPENDENT: [Dependent; 5] = [
    Dependent {
        setting: "then_cut_at",
        is_set: |options| options.then_cut_at.is_some(),
        has_support: |options| !options.split.is_empty(),
        reason: "has no effect: it cuts the parts of `split`, which no rule has; cut_at cuts a whole text",
    },
    Dependent {
        setting: "separator",
        is_set: |options| options.separator.is_some(),
        has_support: |options| options.list == Some(List::Join),
        reason: "has no effect: it stands between the items of list = \"join\", which no rule has; \
                 cut_at cuts a text",
    },
    Dependent {
        setting: "unit_values",
        is_set: |options| !options.unit_values.is_empty(),
        has_support: |options| options.parts.unit.is_some() || !options.split.is_empty(),
        reason: "has no effect: its words are those of `unit_from`, or of {.unit} in `split`, and no rule \
                 has one of them",
    },
    Dependent {
        setting: "key_values",
        is_set: |options| !options.key_values.is_empty(),
        has_support: |options| {
            let has_key = |pattern: &Pattern| pattern.names().any(|name| name == ".key");
            options.parts.key.is_some() || options.split.iter().any(has_key)
        },
        reason: "has no effect: its names are those of `key_from`, or of {.key} in `split`, and no rule has one \
                 of them; `rename` is for paths",
    },
    Dependent {
        setting: "where_item",
        is_set: |options| options.where_item.is_some(),
        has_support: |options| {
            let takes_objects = options.parts.value.is_some() || options.template.is_some();
            takes_objects || options.list == Some(List::Count)
        },
        reason: "has no effect: it is a condition on the objects of `value_from`, `template` or list = \"count\", \
                 which no rule has; `where` is one on the row",
    },
];

impl Rule {
    fn read(
        section: &Section<'_>,
        value: &toml::Value,
        reading: &Reading,
        table: &UnitTable,
    ) -> Result<Self, MappingError> {
        let paths = Glob::read(section, "path", &reading.uses)?;
        if paths.is_empty() {
            return Err(section.invalid(
                "path",
                "is required: the path, or paths, that the rule applies to",
            ));
        }
        let options = RuleOptions::read(section, table, reading)?;
        reading.with(section)?;
        options
            .check_units(table)
            .map_err(|reason| section.invalid("split", reason))?;
        let factor = ["multiply", "divide"]
            .into_iter()
            .find(|name| section.has(name));
        if let (Some(name), Err(reason)) = (factor, options.check_calculated()) {
            return Err(section.invalid(name, reason));
        }
        let categories = section.texts("category")?;
        Ok(Self {
            paths,
            categories: categories.into_iter().map(str::to_owned).collect(),
            condition: Condition::read(section, reading)?,
            also: section.flag("also", false)?,
            skip: section.flag("skip", false)?,
            options,
            name: section.path().to_owned(),
            settings: value.as_table().cloned().unwrap_or_default(),
        })
    }

    /// Returns true if the rule is for some categories only.
    pub(super) fn has_categories(&self) -> bool {
        !self.categories.is_empty()
    }

    /// Returns true if the rule's condition holds for a row.
    pub(super) fn holds_for(&self, row: Row<'_>) -> bool {
        self.condition
            .as_ref()
            .is_none_or(|condition| condition.holds(row))
    }

    /// Records that rows have the path, to which the rule applies.
    pub(super) fn mark(&self, path: &[PathStep]) {
        let matching = self.paths.iter().filter(|glob| glob.matches_path(path));
        matching.for_each(Glob::mark);
    }

    /// Returns true if the rule applies to this path in this category, where its condition holds.
    pub(super) fn may_apply_to(&self, category: &str, path: &[PathStep]) -> bool {
        self.is_in(category) && self.paths.iter().any(|glob| glob.matches_path(path))
    }

    /// Returns true if the rule is about the items of the list at this path, and not about the list as an item of
    /// another one.
    pub(super) fn is_of_items(&self, path: &[PathStep]) -> bool {
        let matching = self.paths.iter().filter_map(|glob| glob.matching(path));
        matching.min() == Some(Matching::Items)
    }

    /// Returns true if the rule may apply to a path below this one.
    pub(super) fn may_apply_below(&self, category: &str, path: &[PathStep]) -> bool {
        self.is_in(category) && self.paths.iter().any(|glob| glob.is_below(path))
    }

    fn is_in(&self, category: &str) -> bool {
        self.categories.is_empty() || self.categories.iter().any(|known| known == category)
    }

    /// Returns a reading with the settings of the rule applied.
    pub(super) fn apply_to(&self, reading: &Reading) -> Result<Reading, String> {
        let section = Section::new("", &self.settings);
        reading.with(&section).map_err(|error| error.to_string())
    }
}

impl RuleOptions {
    fn read(
        section: &Section<'_>,
        table: &UnitTable,
        reading: &Reading,
    ) -> Result<Self, MappingError> {
        let uses = &reading.uses;
        let owned = |name| Ok::<_, MappingError>(section.text(name)?.map(str::to_owned));
        let types = ValueType::ALL.map(|value_type| (value_type.name(), value_type));
        Ok(Self {
            key: checked_key(section, "key")?,
            unit: unit(section, table)?,
            unit_values: unit_values(section, table)?,
            value_type: section.choice("type", &types)?,
            split: split(section, table)?,
            cut_at: owned("cut_at")?.filter(|text| !text.is_empty()),
            then_cut_at: owned("then_cut_at")?.filter(|text| !text.is_empty()),
            template: template(section, uses)?,
            list: section.choice("list", &LISTS)?,
            separator: owned("separator")?,
            count_key: checked_key(section, "count_key")?,
            qualifier: owned("qualifier")?,
            key_prefix: key_prefix(section)?,
            key_values: key_values(section)?,
            text_suffix: text_suffix(section)?,
            parts: ObjectParts::read(section, uses)?,
            where_item: Condition::of_items(section, reading)?,
        })
    }

    /// Fails if values are not read as numbers, so that they can be multiplied and divided.
    ///
    /// # Errors
    /// What they are.
    pub(super) fn check_calculated(&self) -> Result<(), String> {
        match (self.value_type, self.list) {
            (_, Some(List::Count)) => {
                Err("has no effect on the number of items of list = \"count\"".to_owned())
            }
            (None | Some(ValueType::Number | ValueType::Quantity), _) => Ok(()),
            (Some(other), _) => Err(format!(
                "has no effect: it is for numbers, and type = \"{other}\" is none"
            )),
        }
    }

    /// Fails if a pattern throws a unit away that is not the one of the values.
    ///
    /// # Errors
    /// Which unit of which pattern.
    pub(super) fn check_units(&self, table: &UnitTable) -> Result<(), String> {
        let Some(own) = self.unit.as_deref().and_then(|unit| table.find(unit)) else {
            return Ok(());
        };
        for pattern in &self.split {
            let mut without = pattern
                .placeholders()
                .filter(|one| one.unit.is_none() && !SPEC_PARTS.contains(&one.name.as_str()));
            let has_unit = pattern.names().any(|name| name == ".unit");
            let Some(placeholder) = without.next().filter(|_| !has_unit) else {
                continue;
            };
            let other = pattern.words().filter_map(|word| table.find(word));
            let mut other =
                other.filter(|unit| unit.dimension == own.dimension && unit.id != own.id);
            if let Some(other) = other.next() {
                let (name, other, own) = (&placeholder.name, &other.id, &own.id);
                return Err(format!(
                    "a pattern has {other} beside its placeholders, and the values are read as {own}; \
                     {{{name}:{other}}} reads a value as {other}, {{{name}:{own}}} as {own}"
                ));
            }
        }
        Ok(())
    }

    /// Applies the options of a later rule.
    pub(super) fn add(&mut self, later: &Self) {
        replace(&mut self.key, later.key.as_ref());
        replace(&mut self.unit, later.unit.as_ref());
        let unit_values = later.unit_values.iter();
        self.unit_values
            .extend(unit_values.map(|(word, unit)| (word.clone(), unit.clone())));
        replace(&mut self.value_type, later.value_type.as_ref());
        if !later.split.is_empty() {
            self.split.clone_from(&later.split);
        }
        replace(&mut self.cut_at, later.cut_at.as_ref());
        replace(&mut self.then_cut_at, later.then_cut_at.as_ref());
        replace(&mut self.template, later.template.as_ref());
        replace(&mut self.list, later.list.as_ref());
        replace(&mut self.separator, later.separator.as_ref());
        replace(&mut self.count_key, later.count_key.as_ref());
        replace(&mut self.qualifier, later.qualifier.as_ref());
        replace(&mut self.key_prefix, later.key_prefix.as_ref());
        let key_values = later.key_values.iter();
        self.key_values
            .extend(key_values.map(|(name, key)| (name.clone(), key.clone())));
        replace(&mut self.text_suffix, later.text_suffix.as_ref());
        replace(&mut self.where_item, later.where_item.as_ref());
        replace(&mut self.parts.value, later.parts.value.as_ref());
        replace(&mut self.parts.key, later.parts.key.as_ref());
        replace(&mut self.parts.unit, later.parts.unit.as_ref());
        replace(&mut self.parts.qualifier, later.parts.qualifier.as_ref());
    }
}

impl ObjectParts {
    fn read(section: &Section<'_>, uses: &Uses) -> Result<Self, MappingError> {
        let path = |name| path(section, name, uses);
        let parts = Self {
            value: path("value_from")?,
            key: path("key_from")?,
            unit: path("unit_from")?,
            qualifier: path("qualifier_from")?,
        };
        // A unit may stand beside any value.
        let others = parts.key.is_some() || parts.qualifier.is_some();
        if others && parts.value.is_none() {
            return Err(
                section.invalid("value_from", "is required with key_from and qualifier_from")
            );
        }
        Ok(parts)
    }
}

fn replace<T: Clone>(earlier: &mut Option<T>, later: Option<&T>) {
    if let Some(later) = later {
        *earlier = Some(later.clone());
    }
}

fn path(
    section: &Section<'_>,
    name: &'static str,
    uses: &Uses,
) -> Result<Option<UsedPath>, MappingError> {
    let text = section.text(name)?;
    let path = text.map(|text| UsedPath::parse(text, section.path(), uses));
    path.transpose()
        .map_err(|reason| section.invalid(name, reason))
}

fn checked_key(section: &Section<'_>, name: &'static str) -> Result<Option<String>, MappingError> {
    let Some(text) = section.text(name)? else {
        return Ok(None);
    };
    key::checked(text).map_err(|reason| section.invalid(name, reason))?;
    Ok(Some(text.to_owned()))
}

/// Reads what keys that are made of names begin with.
fn key_prefix(section: &Section<'_>) -> Result<Option<String>, MappingError> {
    let prefix = section.text("key_prefix")?;
    if let Some(prefix) = prefix {
        key::checked(&format!("{prefix}x"))
            .map_err(|reason| section.invalid("key_prefix", reason))?;
        if section.has("key") {
            let reason =
                "has no effect with key: it is for keys that are made of names of the feed";
            return Err(section.invalid("key_prefix", reason));
        }
    }
    Ok(prefix.map(str::to_owned))
}

/// Reads the keys for names of the feed.
fn key_values(section: &Section<'_>) -> Result<HashMap<String, String>, MappingError> {
    let names = section.text_map("key_values")?.into_iter();
    names
        .map(|(name, key)| {
            let setting = format!("{}.{name:?}", section.at("key_values"));
            key::checked(key).map_err(|reason| MappingError::setting(setting, reason))?;
            Ok((name.to_owned(), key.to_owned()))
        })
        .collect()
}

/// Reads the ending of the keys of texts that are no numbers.
fn text_suffix(section: &Section<'_>) -> Result<Option<String>, MappingError> {
    let suffix = section.text("text_suffix")?;
    if let Some(suffix) = suffix {
        let is_ending = !suffix.is_empty() && key::checked(&format!("x{suffix}")).is_ok();
        if !is_ending {
            let reason = "must be the ending of a key, such as \"_text\"";
            return Err(section.invalid("text_suffix", reason));
        }
    }
    Ok(suffix.map(str::to_owned))
}

fn unit(section: &Section<'_>, table: &UnitTable) -> Result<Option<String>, MappingError> {
    let spelling = section.text("unit")?;
    spelling
        .map(|spelling| unit_id(&section.at("unit"), spelling, table))
        .transpose()
}

/// Reads the words that stand for units.
fn unit_values(
    section: &Section<'_>,
    table: &UnitTable,
) -> Result<HashMap<String, String>, MappingError> {
    let words = section.text_map("unit_values")?.into_iter();
    words
        .map(|(word, spelling)| {
            if spelling.is_empty() {
                return Ok((word.to_owned(), String::new()));
            }
            let setting = format!("{}.{word:?}", section.at("unit_values"));
            Ok((word.to_owned(), unit_id(&setting, spelling, table)?))
        })
        .collect()
}

fn split(section: &Section<'_>, table: &UnitTable) -> Result<Vec<Pattern>, MappingError> {
    let invalid = |reason: String| section.invalid("split", reason);
    let mut patterns = Vec::new();
    for text in section.texts("split")? {
        let unit = |spelling: &str| {
            let unit = table.get(spelling).map(|unit| unit.id.clone());
            unit.map_err(|error| {
                format!("{text:?}: {error}; `vitrine units` lists those that there are")
            })
        };
        let pattern = Pattern::parse(text).and_then(|pattern| pattern.with_units(unit));
        let pattern = pattern.map_err(invalid)?;
        check_names(&pattern).map_err(|reason| invalid(format!("{text:?}: {reason}")))?;
        patterns.push(pattern);
    }
    Ok(patterns)
}

/// The placeholders for the parts of one spec, besides `{.}` for its value.
pub(super) const SPEC_PARTS: [&str; 3] = [".key", ".unit", ".qualifier"];

/// Checks the names of a pattern: spec keys, or the parts of one spec.
fn check_names(pattern: &Pattern) -> Result<(), String> {
    let is_part = |name: &&str| SPEC_PARTS.contains(name);
    let is_own = |name: &str| name == "." || name.starts_with("._");
    let of_part = |one: &super::super::pattern::Placeholder| {
        is_part(&one.name.as_str()) && one.unit.is_some()
    };
    if pattern.placeholders().any(of_part) {
        return Err("{.key}, {.unit} and {.qualifier} are texts without a unit".to_owned());
    }
    if pattern.names().any(|name| is_part(&name)) && !pattern.names().any(is_own) {
        return Err("{.key}, {.unit} and {.qualifier} need {.}, the value".to_owned());
    }
    let mut names = pattern
        .names()
        .filter(|name| *name != "." && !is_part(name));
    names.try_for_each(|name| match name.strip_prefix("._") {
        Some(ending) => key::checked(&format!("x_{ending}")),
        None => key::checked(name),
    })
}

fn template(section: &Section<'_>, uses: &Uses) -> Result<Option<Template>, MappingError> {
    let text = section.text("template")?;
    let template = text.map(|text| Template::parse(text, &Parts::new(), section.path(), uses));
    template
        .transpose()
        .map_err(|reason| section.invalid("template", reason))
}
