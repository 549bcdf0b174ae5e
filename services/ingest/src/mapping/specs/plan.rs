//! How the values at a path are mapped, for a category.

use std::sync::Arc;

use serde_json::Value;

use super::super::path::{Path, PathStep};
use super::super::reading::Reading;
use super::glob::{Glob, without_lists};
use super::names::Names;
use super::rule::{List, Rule, RuleOptions};
use super::spec_reading::SpecReading;
use super::{Named, RowKind, Specs};

/// How the values at a path are mapped, for a category.
#[derive(Clone, Debug)]
pub(super) struct PathPlan {
    /// Whether everything at and below the path is skipped.
    pub(super) skip: bool,
    /// How the values are read; usually one reading.
    pub(super) readings: Vec<SpecReading>,
    /// The key for the number of items of a list, if any.
    pub(super) count_key: Option<String>,
}

impl PathPlan {
    pub(super) const SKIP: Self = Self {
        skip: true,
        readings: Vec::new(),
        count_key: None,
    };

    /// Returns true if what is inside of the items of a list may be read: the first reading, which is the usual one,
    /// takes them one by one.
    pub(super) fn opens(&self, items: &[Value]) -> bool {
        let usual = self.readings.first().filter(|usual| !usual.also);
        usual.is_none_or(|usual| !usual.list_of(items).is_whole())
    }

    /// Returns true if only the first item of a list is read.
    pub(super) fn takes_first(&self, items: &[Value]) -> bool {
        let usual = self.readings.first().filter(|usual| !usual.also);
        usual.is_some_and(|usual| usual.list_of(items) == List::First)
    }

    /// Returns true if the number of items of a list becomes a spec.
    pub(super) fn counts(&self) -> bool {
        let counts = |reading: &SpecReading| reading.options.list == Some(List::Count);
        self.count_key.is_some() || self.readings.iter().any(counts)
    }

    /// Returns true if whole objects become specs.
    pub(super) fn takes_objects(&self) -> bool {
        self.readings.iter().any(SpecReading::takes_objects)
    }
}

impl Specs {
    /// Determines the plan for a path of rows of a kind, in the form that [`Path`] writes. The
    /// settings that it depends on are thereby used.
    pub(super) fn plan(&self, kind: &RowKind<'_>, path: &str, names: &Names) -> Arc<PathPlan> {
        let parsed = Path::parse(path).expect("paths are written the way they are read");
        let steps = parsed.steps();
        let rules: Vec<&Rule> = self
            .rules_of(kind)
            .filter(|rule| rule.may_apply_to(kind.category, steps))
            .collect();
        for rule in &rules {
            rule.mark(steps);
        }
        let (second, first): (Vec<&Rule>, Vec<&Rule>) =
            rules.into_iter().partition(|rule| rule.also);
        if self.excludes(steps) || first.iter().any(|rule| rule.skip) {
            return Arc::new(PathPlan::SKIP);
        }
        let mut options = RuleOptions::default();
        for rule in &first {
            options.add(&rule.options);
        }
        let count_key = options.count_key.clone();
        let mut readings = Vec::new();
        // Asked in any case: what `include` names is there, also where a rule reads it.
        let is_mapped = self.is_mapped(kind, &parsed);
        if is_mapped || !first.is_empty() {
            readings.push(self.reading(kind.category, &parsed, options, &first, names));
        }
        readings.extend(second.iter().map(|rule| {
            self.reading(
                kind.category,
                &parsed,
                rule.options.clone(),
                std::slice::from_ref(rule),
                names,
            )
        }));
        Arc::new(PathPlan {
            skip: readings.is_empty() && !self.has_mapped_descendants(kind, &parsed),
            readings,
            count_key,
        })
    }

    /// The rules whose conditions hold.
    fn rules_of<'s>(&'s self, kind: &'s RowKind<'_>) -> impl Iterator<Item = &'s Rule> {
        let rules = self.rules.iter().zip(&kind.holding);
        rules.filter_map(|(rule, holds)| holds.then_some(rule))
    }

    /// Returns true if a path is excluded.
    fn excludes(&self, steps: &[PathStep]) -> bool {
        let mut covering = self
            .exclude
            .iter()
            .filter(|glob| glob.covers(steps))
            .peekable();
        let excluded = covering.peek().is_some();
        covering.for_each(Glob::mark);
        excluded
    }

    /// Returns true if a path is read without a rule.
    fn is_mapped(&self, kind: &RowKind<'_>, path: &Path) -> bool {
        let mut including = self
            .include
            .iter()
            .filter(|glob| glob.covers(path.steps()))
            .peekable();
        let included = including.peek().is_some();
        including.for_each(Glob::mark);
        let automatic = self.auto && self.include.is_empty();
        automatic
            || included
            || self.renamed(kind.category, path).is_some()
            || self.units.get(path).is_some()
    }

    /// Returns true if something below the path may be read.
    fn has_mapped_descendants(&self, kind: &RowKind<'_>, path: &Path) -> bool {
        let plain = without_lists(path);
        let in_category = self.rename_in.get(kind.category);
        self.include.iter().any(|glob| glob.is_below(path.steps()))
            || self
                .rules_of(kind)
                .any(|rule| rule.may_apply_below(kind.category, path.steps()))
            || self.rename.has_below(&plain)
            || self.units.has_below(&plain)
            || in_category.is_some_and(|renames| renames.has_below(&plain))
    }

    fn renamed(&self, category: &str, path: &Path) -> Option<&Named> {
        let in_category = self
            .rename_in
            .get(category)
            .and_then(|renames| renames.get(path));
        in_category.or_else(|| self.rename.get(path))
    }

    fn reading(
        &self,
        category: &str,
        path: &Path,
        mut options: RuleOptions,
        rules: &[&Rule],
        names: &Names,
    ) -> SpecReading {
        let derived = self.style.derive(path.steps());
        let in_file = self
            .unit_file
            .get(category)
            .and_then(|units| units.get(path));
        let unit = in_file.or_else(|| self.units.get(path)).map(Named::take);
        let unit = unit
            .or(derived.unit)
            .and_then(|unit| Some(self.table.find(&unit)?.id.clone()));
        options.unit = options.unit.or(unit);
        let renamed = self.renamed(category, path).map(Named::take);
        let named = options.key.take().or(renamed);
        let is_named = named.is_some();
        let prefix = options.key_prefix.as_deref();
        let key = named.map_or_else(|| names.key(prefix, &derived.words), Ok);
        let mut by: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        if by.is_empty() {
            by.push(&self.setting);
        }
        let reading = applied(rules, &self.reading.of_numbers());
        let reading = reading.and_then(|reading| {
            let of_numbers = if reading.calculates() {
                options.check_calculated()
            } else {
                Ok(())
            };
            let calculated = |reason| format!("multiply or divide {reason}");
            of_numbers.map_err(calculated)?;
            let units = options.check_units(&self.table);
            units.map_err(|reason| format!("split: {reason}"))?;
            Ok(reading)
        });
        let of_items = |rule: &&Rule| rule.is_of_items(path.steps());
        SpecReading {
            also: rules.iter().any(|rule| rule.also),
            of_items: !rules.is_empty() && rules.iter().all(of_items),
            by: by.join(", "),
            names: names.clone(),
            is_named,
            key,
            options,
            reading,
            table: Arc::clone(&self.table),
        }
    }
}

/// Applies the settings of all rules to the defaults.
fn applied(rules: &[&Rule], defaults: &Reading) -> Result<Reading, String> {
    rules
        .iter()
        .try_fold(defaults.clone(), |reading, rule| rule.apply_to(&reading))
}
