//! Mapping rows to specs: every value below a path becomes a spec, unless rules specify otherwise.
//!
//! How a value is mapped depends only on its path and the row's category, so it is determined once
//! (a [`plan::PathPlan`]) and cached.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use vitrine_model::spec::Spec;
use vitrine_model::unit::UnitTable;

use super::error::MappingError;
use super::path::{Path, Row};
use super::problems::Problems;
use super::reading::Reading;
use super::section::Section;
use super::uses::{MAX_COMPARED_BYTES, Use, UsedPath, Uses};

mod glob;
mod key;
mod measure;
mod names;
mod plan;
mod rule;
mod spec_reading;
mod unit_file;
mod walk;

use glob::Glob;
use key::KeyStyle;
pub(crate) use names::KeyName;
use names::Names;
use plan::PathPlan;
use rule::Rule;

/// The settings for the specs of a product, or for the attributes of a review.
#[derive(Clone, Debug)]
pub(super) struct Specs {
    /// The path of the settings: `product.specs`.
    setting: String,
    from: UsedPath,
    category: Option<UsedPath>,
    auto: bool,
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    style: KeyStyle,
    rename: ByPath,
    rename_in: HashMap<String, ByPath>,
    units: ByPath,
    unit_file: HashMap<String, ByPath>,
    rules: Vec<Rule>,
    reading: Reading,
    table: Arc<UnitTable>,
}

/// What a setting says about paths, also by the paths without `[]`.
#[derive(Clone, Debug, Default)]
struct ByPath(HashMap<String, Named>);

impl ByPath {
    fn insert(&mut self, path: &Path, named: Named) {
        let plain = glob::without_lists(path);
        self.0.entry(plain).or_insert_with(|| named.clone());
        self.0.insert(path.to_string(), named);
    }

    /// Returns what is said of a path, otherwise of one that differs in `[]` only.
    fn get(&self, path: &Path) -> Option<&Named> {
        let exact = self.0.get(&path.to_string());
        exact.or_else(|| self.0.get(&glob::without_lists(path)))
    }

    /// Returns whether something is said of a path below this one, without `[]`.
    fn has_below(&self, plain: &str) -> bool {
        let mut paths = self.0.keys();
        paths.any(|path| path.len() > plain.len() && path.starts_with(plain))
    }

    fn iter(&self) -> impl Iterator<Item = (&String, &Named)> {
        self.0.iter()
    }
}

/// What a setting says about a path: a key or a unit.
#[derive(Clone, Debug)]
struct Named {
    to: String,
    used: Arc<Use>,
}

impl Named {
    /// Returns what the setting says, which is thereby used.
    fn take(&self) -> String {
        self.used.asked(true);
        self.to.clone()
    }
}

/// The cached plans, by category and path.
#[derive(Debug, Default)]
pub(super) struct PlanCache {
    kinds: HashMap<String, HashMap<String, Arc<PathPlan>>>,
    /// The paths without a cached plan, as they were met.
    new_paths: Vec<String>,
    /// The names of the feed that keys are made of.
    names: Names,
}

/// The maximum number of kinds of rows with cached plans.
const MAX_KINDS: usize = 200;
/// The maximum number of cached plans: of all kinds before a row is mapped, and of its kind while it
/// is.
const MAX_PLANS: usize = 20_000;

impl Specs {
    pub(super) fn read(
        section: Section<'_>,
        defaults: &Reading,
        read_table: &mut super::ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let table = Arc::new(UnitTable::built_in());
        let from = section.text("from")?.unwrap_or(".");
        let reading = defaults.with(&section)?;
        let specs = Self {
            setting: section.path().to_owned(),
            from: UsedPath::parse(from, &section.at("from"), &reading.uses)
                .map_err(|reason| section.invalid("from", reason))?,
            category: category(&section, &reading.uses)?,
            auto: section.flag("auto", true)?,
            include: Glob::read(&section, "include", &reading.uses)?,
            exclude: Glob::read(&section, "exclude", &reading.uses)?,
            style: KeyStyle::read(&section, &table, &reading.uses)?,
            rename: renames(
                section.text_map("rename")?,
                &section.at("rename"),
                &reading.uses,
            )?,
            rename_in: rename_in(&section, &reading.uses)?,
            units: units(&section, &table, &reading.uses)?,
            unit_file: unit_file::read(&section, read_table, &reading.uses)?,
            rules: rule::read(&section, &reading, &table)?,
            reading,
            table,
        };
        unit_file::check(&specs)?;
        check_categories(&specs)?;
        section.finish()?;
        Ok(specs)
    }

    /// Reads the settings for the attributes of reviews. Not everything in a row of reviews is one.
    pub(super) fn read_attributes(
        section: Section<'_>,
        defaults: &Reading,
        read_table: &mut super::ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let chosen = ["from", "include", "auto"];
        if !chosen.iter().any(|name| section.has(name)) {
            let reason = "needs include or from: which values of the row are facts about the \
                          reviewer; auto = false leaves that to rename, units and rules";
            return Err(MappingError::setting(section.path(), reason));
        }
        Self::read(section, defaults, read_table)
    }

    /// What rejections call the specs: `specs` or `attributes`.
    fn noun(&self) -> &str {
        self.setting.rsplit('.').next().unwrap_or("specs")
    }

    /// Maps a row to specs.
    pub(super) fn of(
        &self,
        plans: &mut PlanCache,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Collected {
        let Some(Value::Object(_)) = self.from.first(row) else {
            return Collected::default();
        };
        let category = self
            .category
            .as_ref()
            .and_then(|path| path.first(row)?.as_str());
        let kind = RowKind {
            category: category.unwrap_or_default(),
            holding: self.rules.iter().map(|rule| rule.holds_for(row)).collect(),
        };
        walk::specs(self, plans, &kind, row, problems)
    }
}

/// The specs of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub(super) specs: Vec<Spec>,
    /// The places of those that are left out if the catalogue refuses them.
    pub(super) droppable: Vec<usize>,
}

/// What the rules of a row depend on.
#[derive(Clone, Debug)]
struct RowKind<'r> {
    /// The category.
    category: &'r str,
    /// For each rule whether its condition holds.
    holding: Vec<bool>,
}

impl RowKind<'_> {
    /// The key of the cached plans of such rows.
    fn key(&self) -> Cow<'_, str> {
        if self.holding.iter().all(|holds| *holds) {
            return Cow::Borrowed(self.category);
        }
        let conditions = self
            .holding
            .iter()
            .map(|holds| if *holds { '1' } else { '0' });
        Cow::Owned(
            self.category
                .chars()
                .chain(['\0'])
                .chain(conditions)
                .collect(),
        )
    }
}

impl PlanCache {
    /// The names that keys are made of and that are new, since the last call.
    pub(super) fn take_new_names(&mut self) -> Vec<KeyName> {
        self.names.take_new()
    }

    /// The paths that had no cached plan, since the last call.
    pub(super) fn take_new_paths(&mut self) -> Vec<String> {
        std::mem::take(&mut self.new_paths)
    }

    /// The cached plans of rows of a kind, by its key. If the cache is full, it is cleared.
    fn of(&mut self, kind: &str) -> PlansOfKind<'_> {
        let plans: usize = self.kinds.values().map(HashMap::len).sum();
        let many_kinds = self.kinds.len() >= MAX_KINDS && !self.kinds.contains_key(kind);
        if plans >= MAX_PLANS || many_kinds {
            self.kinds.clear();
        }
        if !self.kinds.contains_key(kind) {
            self.kinds.insert(kind.to_owned(), HashMap::new());
        }
        PlansOfKind {
            plans: self.kinds.get_mut(kind).expect("inserted above"),
            new_paths: &mut self.new_paths,
            names: &self.names,
        }
    }
}

/// The cached plans of rows of a kind, by path.
struct PlansOfKind<'c> {
    plans: &'c mut HashMap<String, Arc<PathPlan>>,
    new_paths: &'c mut Vec<String>,
    names: &'c Names,
}

impl PlansOfKind<'_> {
    /// Returns the plan for a path, made now if it is not cached.
    fn get(&mut self, path: &str, plan: impl FnOnce(&Names) -> Arc<PathPlan>) -> Arc<PathPlan> {
        if let Some(plan) = self.plans.get(path) {
            return Arc::clone(plan);
        }
        if path.len() <= MAX_COMPARED_BYTES {
            self.new_paths.push(path.to_owned());
        }
        let plan = plan(self.names);
        if self.plans.len() < MAX_PLANS {
            self.plans.insert(path.to_owned(), Arc::clone(&plan));
        }
        plan
    }
}

fn category(section: &Section<'_>, uses: &Uses) -> Result<Option<UsedPath>, MappingError> {
    let Some(path) = section.text("category")? else {
        return Ok(None);
    };
    let path = UsedPath::parse(path, &section.at("category"), uses);
    path.map(Some)
        .map_err(|reason| section.invalid("category", reason))
}

/// Fails for settings by category, if rows have none.
fn check_categories(specs: &Specs) -> Result<(), MappingError> {
    if specs.category.is_some() {
        return Ok(());
    }
    let rule = specs.rules.iter().find(|rule| rule.has_categories());
    let setting = match rule {
        Some(rule) => format!("{}.category", rule.name),
        None if !specs.rename_in.is_empty() => format!("{}.rename_in", specs.setting),
        None if !specs.unit_file.is_empty() => format!("{}.unit_file", specs.setting),
        None => return Ok(()),
    };
    let reason = format!(
        "can match no row without {}.category, the path of the category",
        specs.setting
    );
    Err(MappingError::setting(setting, reason))
}

/// Reads a path of a setting that concerns one path of specs.
fn spec_path(setting: &str, path: &str) -> Result<Path, MappingError> {
    let parsed = Path::parse(path).and_then(|parsed| {
        glob::matchable(&parsed)?;
        Ok(parsed)
    });
    parsed.map_err(|reason| MappingError::setting(setting, reason))
}

fn renames(pairs: Vec<(&str, &str)>, setting: &str, uses: &Uses) -> Result<ByPath, MappingError> {
    let mut by_path = ByPath::default();
    for (path, key) in pairs {
        let place = format!("{setting}.{path:?}");
        let path = spec_path(&place, path)?;
        key::checked(key).map_err(|reason| MappingError::setting(&place, reason))?;
        by_path.insert(&path, named(key.to_owned(), setting, &path, uses));
    }
    Ok(by_path)
}

fn named(to: String, setting: &str, path: &Path, uses: &Uses) -> Named {
    let used = uses.add(setting, path.to_string());
    used.asked(false);
    Named { to, used }
}

fn rename_in(section: &Section<'_>, uses: &Uses) -> Result<HashMap<String, ByPath>, MappingError> {
    let mut by_category = HashMap::new();
    for (path, category, value) in section.entries("rename_in")? {
        let entries = Section::of(path.clone(), value)?.own_entries();
        let pairs: Result<Vec<_>, MappingError> = entries
            .into_iter()
            .map(|(at, name, key)| Ok((name.as_str(), super::section::text(at, key)?)))
            .collect();
        by_category.insert(category.clone(), renames(pairs?, &path, uses)?);
    }
    Ok(by_category)
}

fn units(section: &Section<'_>, table: &UnitTable, uses: &Uses) -> Result<ByPath, MappingError> {
    let setting = section.at("units");
    let mut by_path = ByPath::default();
    for (path, unit) in section.text_map("units")? {
        let place = format!("{setting}.{path:?}");
        let path = spec_path(&place, path)?;
        let unit = unit_id(&place, unit, table)?;
        by_path.insert(&path, named(unit, &setting, &path, uses));
    }
    Ok(by_path)
}

/// The id of the unit with this spelling.
fn unit_id(setting: &str, spelling: &str, table: &UnitTable) -> Result<String, MappingError> {
    let unit = table.get_in_feed(spelling);
    let unit = unit.map_err(|error| {
        let reason = format!("{error}; `vitrine units` lists those that there are");
        MappingError::setting(setting, reason)
    })?;
    Ok(unit.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_plans_are_bounded() {
        let plan = Arc::new(PathPlan::SKIP);
        let mut cache = PlanCache::default();
        let cached = |cache: &PlanCache| cache.kinds.values().map(HashMap::len).sum::<usize>();
        for kind in 0..3 * MAX_KINDS {
            let mut plans = cache.of(&kind.to_string());
            for path in 0..300 {
                plans.get(&path.to_string(), |_| Arc::clone(&plan));
            }
            assert!(cache.kinds.len() <= MAX_KINDS);
            assert!(cached(&cache) <= MAX_PLANS + 300);
            assert_eq!(cache.take_new_paths().len(), 300);
        }
        for kind in 0..3 * MAX_KINDS {
            cache.of(&kind.to_string());
            assert!(cache.kinds.len() <= MAX_KINDS);
        }
    }
}
