//! Which paths of a mapping lead to values, so that a report can name those that never did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::path::{Path, Row, Visit};

/// The paths that a mapping names, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    all: Arc<Mutex<Vec<Arc<Use>>>>,
    /// The names of the lists that the paths of a part of the mapping are in.
    lists: Arc<[String]>,
}

/// A path that a setting names, and whether rows have it.
#[derive(Debug)]
pub(crate) struct Use {
    setting: String,
    path: String,
    asked: AtomicBool,
    found: AtomicBool,
}

/// A path of a mapping that no row has.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unmatched {
    /// The setting: `product.brand`.
    pub setting: String,
    /// The path: `maker`.
    pub path: String,
    /// A path that rows do have, and that may be meant.
    pub similar: Option<String>,
}

/// A path of a setting that records whether rows have it.
#[derive(Clone, Debug)]
pub(crate) struct UsedPath {
    path: Path,
    used: Arc<Use>,
}

impl UsedPath {
    /// Parses the path of a setting.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse(text: &str, setting: &str, uses: &Uses) -> Result<Self, String> {
        let path = uses.path(text)?;
        let used = uses.add(setting, path.to_string());
        Ok(Self { path, used })
    }

    /// The value at the path; the first one if the path contains lists.
    pub(crate) fn first<'v>(&self, row: Row<'v>) -> Option<&'v Value> {
        let found = self.path.first(row);
        self.used.asked(found.is_some());
        found
    }

    /// All values at the path, in the order of the row.
    pub(crate) fn all<'v>(&self, row: Row<'v>) -> Vec<&'v Value> {
        let found = self.path.all(row);
        self.used.asked(!found.is_empty());
        found
    }

    /// Visits all values at the path, each with the items around it and their indexes.
    pub(crate) fn visit<'v>(&self, row: Row<'v>, visit: Visit<'_, 'v>) {
        let mut found = false;
        self.path.visit(row, &mut |value, around, indexes| {
            found = true;
            visit(value, around, indexes);
        });
        self.used.asked(found);
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Uses {
    /// Returns these for the paths of items inside of lists with these names, from the outermost.
    pub(crate) fn inside(&self, lists: Vec<String>) -> Self {
        Self {
            all: Arc::clone(&self.all),
            lists: lists.into(),
        }
    }

    /// Parses a path to values.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn path(&self, text: &str) -> Result<Path, String> {
        Path::parse_inside(text, &self.lists)
    }

    /// Adds a path of a setting.
    pub(crate) fn add(&self, setting: impl Into<String>, path: impl Into<String>) -> Arc<Use> {
        let added = Arc::new(Use {
            setting: setting.into(),
            path: path.into(),
            asked: AtomicBool::new(false),
            found: AtomicBool::new(false),
        });
        self.known().push(Arc::clone(&added));
        added
    }

    /// Adds a path of a setting that every row is asked for.
    pub(crate) fn add_asked(&self, setting: impl Into<String>, path: &Path) -> Arc<Use> {
        let added = self.add(setting, path.to_string());
        added.asked.store(true, Ordering::Relaxed);
        added
    }

    /// The number of paths so far.
    pub(crate) fn count(&self) -> usize {
        self.known().len()
    }

    /// The paths that were added after so many others.
    pub(crate) fn since(&self, count: usize) -> Vec<String> {
        let known = self.known();
        let added = known.iter().skip(count);
        added.map(|one| one.path.clone()).collect()
    }

    /// Forgets what was found, before another feed is read.
    pub(crate) fn reset(&self) {
        for one in self.known().iter() {
            one.found.store(false, Ordering::Relaxed);
        }
    }

    /// The paths that rows were asked for and that none had; `seen` are paths that rows had.
    pub(crate) fn unmatched<'s>(
        &self,
        seen: &(impl Iterator<Item = &'s str> + Clone),
    ) -> Vec<Unmatched> {
        let all = self.known();
        let missed = all
            .iter()
            .filter(|one| one.asked.load(Ordering::Relaxed) && !one.found.load(Ordering::Relaxed));
        let named = |one: &Arc<Use>| Unmatched {
            setting: one.setting.clone(),
            path: one.path.clone(),
            similar: of_whole_row(&one.path, seen.clone())
                .or_else(|| similar(&one.path, seen.clone())),
        };
        missed.map(named).collect()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Use>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Use {
    /// Records that a row was asked for the path, and whether it has it.
    pub(crate) fn asked(&self, found: bool) {
        set(&self.asked);
        if found {
            set(&self.found);
        }
    }
}

/// Sets a flag. One that is set is only read: several threads would wait for each other's writes.
fn set(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

/// The path from the whole row, if rows have it although none has it where the setting begins: inside of an item.
fn of_whole_row<'s>(path: &str, mut seen: impl Iterator<Item = &'s str>) -> Option<String> {
    let is_there = seen.any(|other| other == path);
    is_there.then(|| format!("^.{path}"))
}

/// The maximum length of a path of a row that is compared with others.
pub(crate) const MAX_COMPARED_BYTES: usize = 256;

/// The most similar of the paths that rows have, if one is similar enough to be meant.
fn similar<'s>(path: &str, seen: impl Iterator<Item = &'s str>) -> Option<String> {
    const MIN_SIMILARITY: f64 = 0.75;
    let plain = |path: &str| path.replace("[]", "").to_lowercase();
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let wanted = plain(path);
    let score = |other: &str| {
        let other = plain(other);
        let whole = strsim::normalized_damerau_levenshtein(&wanted, &other);
        let end = last(&wanted) == last(&other);
        whole.max(if end { MIN_SIMILARITY } else { 0.0 })
    };
    // Rows of other kinds may have the path itself.
    let others = seen.filter(|other| *other != path && other.len() <= MAX_COMPARED_BYTES);
    let scored = others.map(|other| (score(other), other));
    // Of equally similar ones the first in the alphabet.
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    best.filter(|(score, _)| *score >= MIN_SIMILARITY)
        .map(|(_, other)| other.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_no_row_has_are_named_with_a_similar_one() {
        let uses = Uses::default();
        let found = uses.add("product.name", "title");
        let missed = uses.add("product.brand", "makr");
        uses.add("product.sku", "never_asked");
        found.asked(true);
        found.asked(false);
        missed.asked(false);
        let unmatched = uses.unmatched(&["title", "maker", "price"].into_iter());
        let expected = Unmatched {
            setting: "product.brand".to_owned(),
            path: "makr".to_owned(),
            similar: Some("maker".to_owned()),
        };
        assert_eq!(unmatched, [expected]);
        uses.reset();
        assert_eq!(uses.unmatched(&std::iter::empty()).len(), 2);
    }

    #[test]
    fn long_paths_are_not_compared() {
        let path = |length: usize| "x".repeat(length);
        let similar_to = |seen: String| similar(&path(200), [seen.as_str()].into_iter());
        assert_eq!(similar_to(path(210)), Some(path(210)));
        assert_eq!(similar_to(path(260)), None);
    }

    #[test]
    fn a_path_with_the_same_end_is_similar_whatever_is_around_it() {
        let seen = ["offers[].price", "title"];
        assert_eq!(
            similar("price", seen.into_iter()).as_deref(),
            Some("offers[].price")
        );
        assert_eq!(similar("weight", seen.into_iter()), None);
        assert_eq!(similar("title", seen.into_iter()), None);
    }
}
