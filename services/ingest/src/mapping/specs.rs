//! Mapping rows to specs: every value below a path becomes a spec, unless rules specify otherwise.
//!
//! How a value is mapped depends only on its path and the row's category, so it is determined once
//! (a [`plan::PathPlan`]) and cached.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use vitrine_model::spec::Spec;
use vitrine_model::unit::UnitTable;

use super::error::MappingError;
use super::path::Path;
use super::problems::Problems;
use super::reading::Reading;
use super::section::Section;

mod glob;
mod key;
mod measure;
mod pieces;
mod plan;
mod rule;
mod spec_reading;
mod unit_file;
mod walk;

use glob::Glob;
use key::KeyStyle;
use plan::PathPlan;
use rule::Rule;

/// The settings for the specs of a product.
#[derive(Clone, Debug)]
pub(super) struct Specs {
    from: Path,
    category: Option<Path>,
    auto: bool,
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    style: KeyStyle,
    rename: HashMap<String, String>,
    rename_in: HashMap<String, HashMap<String, String>>,
    units: HashMap<String, String>,
    unit_file: HashMap<String, HashMap<String, String>>,
    rules: Vec<Rule>,
    reading: Reading,
    table: Arc<UnitTable>,
}

/// The cached plans, by category and path.
#[derive(Debug, Default)]
pub(super) struct PlanCache(HashMap<String, HashMap<String, Arc<PathPlan>>>);

/// The maximum number of categories, and of paths of a category, with cached plans.
const MAX_PLANS: usize = 20_000;

impl Specs {
    /// Returns settings that produce no specs.
    pub(super) fn none() -> Self {
        Self {
            from: Path::parse(".").expect("the path of the row itself"),
            category: None,
            auto: false,
            include: Vec::new(),
            exclude: Vec::new(),
            style: KeyStyle::default(),
            rename: HashMap::new(),
            rename_in: HashMap::new(),
            units: HashMap::new(),
            unit_file: HashMap::new(),
            rules: Vec::new(),
            reading: Reading::default(),
            table: Arc::new(UnitTable::default()),
        }
    }

    pub(super) fn read(
        section: Section<'_>,
        defaults: &Reading,
        read_table: &mut super::ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let table = Arc::new(UnitTable::built_in());
        let from = section.text("from")?.unwrap_or(".");
        let reading = defaults.with(&section)?;
        let specs = Self {
            from: Path::parse(from).map_err(|reason| section.invalid("from", reason))?,
            category: category(&section)?,
            auto: section.flag("auto", true)?,
            include: Glob::read(&section, "include")?,
            exclude: Glob::read(&section, "exclude")?,
            style: KeyStyle::read(&section, &table)?,
            rename: renames(section.text_map("rename")?, &section.at("rename"))?,
            rename_in: rename_in(&section)?,
            units: units(&section, &table)?,
            unit_file: unit_file::read(&section, read_table)?,
            rules: rule::read(&section, &reading, &table)?,
            reading,
            table,
        };
        unit_file::check(&specs)?;
        section.finish()?;
        Ok(specs)
    }

    /// Maps a row to specs.
    pub(super) fn of(
        &self,
        plans: &mut PlanCache,
        row: &Value,
        problems: &mut Problems,
    ) -> Vec<Spec> {
        let Some(Value::Object(_)) = self.from.first(row) else {
            return Vec::new();
        };
        let category = self
            .category
            .as_ref()
            .and_then(|path| path.first(row)?.as_str());
        walk::specs(self, plans, category.unwrap_or_default(), row, problems)
    }
}

impl PlanCache {
    /// The cached plans of a category.
    fn of(&mut self, category: &str) -> &mut HashMap<String, Arc<PathPlan>> {
        if self.0.len() > MAX_PLANS {
            self.0.clear();
        }
        if !self.0.contains_key(category) {
            self.0.insert(category.to_owned(), HashMap::new());
        }
        self.0.get_mut(category).expect("inserted above")
    }
}

fn category(section: &Section<'_>) -> Result<Option<Path>, MappingError> {
    let Some(path) = section.text("category")? else {
        return Ok(None);
    };
    let path = Path::parse(path).map_err(|reason| section.invalid("category", reason))?;
    Ok(Some(path))
}

/// Normalises the paths of renames to the form that [`Path`] writes.
fn renames(
    pairs: Vec<(&str, &str)>,
    setting: &str,
) -> Result<HashMap<String, String>, MappingError> {
    pairs
        .into_iter()
        .map(|(path, key)| {
            let setting = format!("{setting}.{path:?}");
            let invalid = |reason| MappingError::setting(&setting, reason);
            let path = Path::parse(path).map_err(invalid)?;
            key::checked(key).map_err(invalid)?;
            Ok((path.to_string(), key.to_owned()))
        })
        .collect()
}

fn rename_in(
    section: &Section<'_>,
) -> Result<HashMap<String, HashMap<String, String>>, MappingError> {
    let mut by_category = HashMap::new();
    for (path, category, value) in section.entries("rename_in")? {
        let entries = Section::of(path.clone(), value)?.own_entries();
        let pairs: Result<Vec<_>, MappingError> = entries
            .into_iter()
            .map(|(at, name, key)| Ok((name.as_str(), super::section::text(at, key)?)))
            .collect();
        by_category.insert(category.clone(), renames(pairs?, &path)?);
    }
    Ok(by_category)
}

fn units(
    section: &Section<'_>,
    table: &UnitTable,
) -> Result<HashMap<String, String>, MappingError> {
    let setting = section.at("units");
    section
        .text_map("units")?
        .into_iter()
        .map(|(path, unit)| {
            let setting = format!("{setting}.{path:?}");
            let parsed = Path::parse(path);
            let parsed = parsed.map_err(|reason| MappingError::setting(&setting, reason))?;
            Ok((parsed.to_string(), unit_id(&setting, unit, table)?))
        })
        .collect()
}

/// The id of the unit with this spelling.
fn unit_id(setting: &str, spelling: &str, table: &UnitTable) -> Result<String, MappingError> {
    let unit = table.get(spelling);
    let unit = unit.map_err(|error| MappingError::setting(setting, error.to_string()))?;
    Ok(unit.id.clone())
}
