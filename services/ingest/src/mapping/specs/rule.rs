//! Rules: what is special about the values at some paths, in some categories.

use vitrine_model::spec::ValueType;
use vitrine_model::unit::UnitTable;

use super::super::error::MappingError;
use super::super::path::{Path, Step};
use super::super::pattern::Pattern;
use super::super::reading::Reading;
use super::super::section::Section;
use super::super::template::{Parts, Template};
use super::glob::Glob;
use super::{key, unit_id};

/// A rule. Of several that match a path, later ones add to and overrule earlier ones.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    paths: Vec<Glob>,
    categories: Vec<String>,
    /// A second reading of the value, beside the usual one.
    pub(super) also: bool,
    /// The value is left out.
    pub(super) skip: bool,
    /// What the rule says.
    pub(super) says: Says,
    settings: toml::Table,
}

/// What a rule can say besides how a value is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Says {
    pub(super) key: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) value_type: Option<ValueType>,
    pub(super) split: Vec<Pattern>,
    pub(super) cut_at: Option<String>,
    pub(super) template: Option<Template>,
    pub(super) list: Option<List>,
    pub(super) separator: Option<String>,
    pub(super) count_key: Option<String>,
    pub(super) qualifier: Option<String>,
    pub(super) parts: ObjectParts,
}

/// Where in an object the parts of a spec are.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectParts {
    pub(super) value: Option<Path>,
    pub(super) key: Option<Path>,
    pub(super) unit: Option<Path>,
    pub(super) qualifier: Option<Path>,
}

/// What becomes of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// One spec for each item.
    Each,
    /// The first item only.
    First,
    /// One text of all items.
    Join,
    /// How many items there are.
    Count,
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
    let rules = section.values("rules").iter().enumerate();
    rules
        .map(|(at, value)| {
            let section = Section::of(section.at(&format!("rules[{at}]")), value)?;
            let rule = Rule::read(&section, value, reading, table)?;
            section.finish()?;
            Ok(rule)
        })
        .collect()
}

impl Rule {
    fn read(
        section: &Section<'_>,
        value: &toml::Value,
        reading: &Reading,
        table: &UnitTable,
    ) -> Result<Self, MappingError> {
        let paths = Glob::read(section, "path")?;
        if paths.is_empty() {
            return Err(section.refuse(
                "path",
                "is needed: the path, or paths, that the rule is for",
            ));
        }
        let says = Says::read(section, table)?;
        reading.with(section)?;
        let categories = section.texts("category")?;
        Ok(Self {
            paths,
            categories: categories.into_iter().map(str::to_owned).collect(),
            also: section.flag("also", false)?,
            skip: section.flag("skip", false)?,
            says,
            settings: value.as_table().cloned().unwrap_or_default(),
        })
    }

    /// Whether the rule is for this path in this category.
    pub(super) fn is_for(&self, category: &str, path: &[Step]) -> bool {
        self.is_in(category) && self.paths.iter().any(|glob| glob.is(path))
    }

    /// Whether the rule is for something below this path.
    pub(super) fn is_below(&self, category: &str, path: &[Step]) -> bool {
        self.is_in(category) && self.paths.iter().any(|glob| glob.is_below(path))
    }

    fn is_in(&self, category: &str) -> bool {
        self.categories.is_empty() || self.categories.iter().any(|known| known == category)
    }

    /// A reading with what the rule says otherwise.
    pub(super) fn applied(&self, reading: &Reading) -> Result<Reading, String> {
        let section = Section::new("", &self.settings);
        reading.with(&section).map_err(|error| error.to_string())
    }
}

impl Says {
    fn read(section: &Section<'_>, table: &UnitTable) -> Result<Self, MappingError> {
        let owned = |name| Ok::<_, MappingError>(section.text(name)?.map(str::to_owned));
        let types = ValueType::ALL.map(|value_type| (value_type.name(), value_type));
        Ok(Self {
            key: checked_key(section, "key")?,
            unit: unit(section, table)?,
            value_type: section.choice("type", &types)?,
            split: split(section)?,
            cut_at: owned("cut_at")?,
            template: template(section)?,
            list: section.choice("list", &LISTS)?,
            separator: owned("separator")?,
            count_key: checked_key(section, "count_key")?,
            qualifier: owned("qualifier")?,
            parts: ObjectParts::read(section)?,
        })
    }

    /// Adds what a later rule says.
    pub(super) fn add(&mut self, later: &Self) {
        replace(&mut self.key, later.key.as_ref());
        replace(&mut self.unit, later.unit.as_ref());
        replace(&mut self.value_type, later.value_type.as_ref());
        if !later.split.is_empty() {
            self.split.clone_from(&later.split);
        }
        replace(&mut self.cut_at, later.cut_at.as_ref());
        replace(&mut self.template, later.template.as_ref());
        replace(&mut self.list, later.list.as_ref());
        replace(&mut self.separator, later.separator.as_ref());
        replace(&mut self.count_key, later.count_key.as_ref());
        replace(&mut self.qualifier, later.qualifier.as_ref());
        replace(&mut self.parts.value, later.parts.value.as_ref());
        replace(&mut self.parts.key, later.parts.key.as_ref());
        replace(&mut self.parts.unit, later.parts.unit.as_ref());
        replace(&mut self.parts.qualifier, later.parts.qualifier.as_ref());
    }
}

impl ObjectParts {
    fn read(section: &Section<'_>) -> Result<Self, MappingError> {
        let parts = Self {
            value: path(section, "value_from")?,
            key: path(section, "key_from")?,
            unit: path(section, "unit_from")?,
            qualifier: path(section, "qualifier_from")?,
        };
        let others = parts.key.is_some() || parts.unit.is_some() || parts.qualifier.is_some();
        if others && parts.value.is_none() {
            return Err(section.refuse(
                "value_from",
                "goes with key_from, unit_from, qualifier_from",
            ));
        }
        Ok(parts)
    }
}

fn replace<T: Clone>(earlier: &mut Option<T>, later: Option<&T>) {
    if let Some(later) = later {
        *earlier = Some(later.clone());
    }
}

fn path(section: &Section<'_>, name: &'static str) -> Result<Option<Path>, MappingError> {
    let text = section.text(name)?;
    text.map(|text| Path::parse(text).map_err(|reason| section.refuse(name, reason)))
        .transpose()
}

fn checked_key(section: &Section<'_>, name: &'static str) -> Result<Option<String>, MappingError> {
    let Some(text) = section.text(name)? else {
        return Ok(None);
    };
    key::checked(text).map_err(|reason| section.refuse(name, reason))?;
    Ok(Some(text.to_owned()))
}

fn unit(section: &Section<'_>, table: &UnitTable) -> Result<Option<String>, MappingError> {
    let spelling = section.text("unit")?;
    spelling
        .map(|spelling| unit_id(&section.at("unit"), spelling, table))
        .transpose()
}

fn split(section: &Section<'_>) -> Result<Vec<Pattern>, MappingError> {
    let refuse = |reason: String| section.refuse("split", reason);
    let mut patterns = Vec::new();
    for text in section.texts("split")? {
        let pattern = Pattern::parse(text).map_err(refuse)?;
        for name in pattern.names() {
            key::checked(name).map_err(refuse)?;
        }
        patterns.push(pattern);
    }
    Ok(patterns)
}

fn template(section: &Section<'_>) -> Result<Option<Template>, MappingError> {
    let text = section.text("template")?;
    text.map(|text| {
        let template = Template::parse(text, &Parts::new());
        template.map_err(|reason| section.refuse("template", reason))
    })
    .transpose()
}
