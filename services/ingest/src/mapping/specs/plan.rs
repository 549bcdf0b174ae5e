//! What happens to the values at one path in one category.

use std::sync::Arc;

use super::super::path::Path;
use super::super::reading::Reading;
use super::Specs;
use super::rule::{List, Rule, Says};
use super::spec_reading::SpecReading;

/// What happens to the values at one path in one category.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Nothing at or below the path is read.
    pub(super) skip: bool,
    /// How values there are read; usually once.
    pub(super) readings: Vec<SpecReading>,
    /// What becomes of a list.
    pub(super) list: List,
    /// The key of the number of items of a list.
    pub(super) count_key: Option<String>,
}

impl Plan {
    const SKIP: Self = Self {
        skip: true,
        readings: Vec::new(),
        list: List::Each,
        count_key: None,
    };

    /// Whether objects there become specs as a whole.
    pub(super) fn takes_objects(&self) -> bool {
        self.readings.iter().any(SpecReading::takes_objects)
    }
}

impl Specs {
    /// Works out the plan for a path, written as [`Path`] writes it.
    pub(super) fn plan(&self, category: &str, path: &str) -> Arc<Plan> {
        let parsed = Path::parse(path).expect("paths are written the way they are read");
        let steps = parsed.steps();
        let rules = self
            .rules
            .iter()
            .filter(|rule| rule.is_for(category, steps));
        let (second, first): (Vec<&Rule>, Vec<&Rule>) = rules.partition(|rule| rule.also);
        let excluded = self.exclude.iter().any(|glob| glob.covers(steps));
        if excluded || first.iter().any(|rule| rule.skip) {
            return Arc::new(Plan::SKIP);
        }
        let mut says = Says::default();
        for rule in &first {
            says.add(&rule.says);
        }
        let (list, count_key) = (says.list, says.count_key.clone());
        let mut readings = Vec::new();
        if !first.is_empty() || self.is_mapped(category, &parsed) {
            readings.push(self.reading(category, &parsed, says, &first));
        }
        readings.extend(second.iter().map(|rule| {
            self.reading(
                category,
                &parsed,
                rule.says.clone(),
                std::slice::from_ref(rule),
            )
        }));
        Arc::new(Plan {
            skip: readings.is_empty() && !self.leads_somewhere(category, &parsed),
            readings,
            list: list.unwrap_or(List::Each),
            count_key,
        })
    }

    /// Whether a path is read although no rule names it.
    fn is_mapped(&self, category: &str, path: &Path) -> bool {
        let text = path.to_string();
        let included = self.include.iter().any(|glob| glob.covers(path.steps()));
        let wanted = self.auto && self.include.is_empty();
        wanted
            || included
            || self.renamed(category, &text).is_some()
            || self.units.contains_key(&text)
    }

    /// Whether something below a path may be read.
    fn leads_somewhere(&self, category: &str, path: &Path) -> bool {
        let text = path.to_string();
        let below = |named: &String| named.len() > text.len() && named.starts_with(&text);
        let in_category = self.rename_in.get(category);
        self.include.iter().any(|glob| glob.is_below(path.steps()))
            || self
                .rules
                .iter()
                .any(|rule| rule.is_below(category, path.steps()))
            || self.rename.keys().any(below)
            || self.units.keys().any(below)
            || in_category.is_some_and(|renames| renames.keys().any(below))
    }

    fn renamed(&self, category: &str, path: &str) -> Option<&String> {
        let here = self
            .rename_in
            .get(category)
            .and_then(|renames| renames.get(path));
        here.or_else(|| self.rename.get(path))
    }

    fn reading(&self, category: &str, path: &Path, mut says: Says, rules: &[&Rule]) -> SpecReading {
        let text = path.to_string();
        let made = self.style.make(path.steps());
        let in_file = self
            .unit_file
            .get(category)
            .and_then(|units| units.get(&text));
        let unit = in_file.or_else(|| self.units.get(&text)).cloned();
        let unit = unit
            .or(made.unit)
            .and_then(|unit| Some(self.table.find(&unit)?.id.clone()));
        says.unit = says.unit.or(unit);
        let renamed = self.renamed(category, &text).cloned();
        let key = says.key.take().or(renamed).map_or(made.key, Ok);
        SpecReading {
            key,
            says,
            reading: applied(rules, &self.reading),
            table: Arc::clone(&self.table),
        }
    }
}

/// The defaults with what all the rules say otherwise.
fn applied(rules: &[&Rule], defaults: &Reading) -> Result<Reading, String> {
    rules
        .iter()
        .try_fold(defaults.clone(), |reading, rule| rule.applied(&reading))
}
