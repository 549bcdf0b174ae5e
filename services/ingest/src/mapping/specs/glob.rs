//! Paths with wildcards: `*` matches one step, `**` any number of steps.
//!
//! An element of XML that repeats is a list, and one that stands alone is not. So `a[].x` and `a.x` match alike,
//! whether `a` is a list or not.

use std::sync::Arc;

use super::super::error::MappingError;
use super::super::path::{Path, PathStep};
use super::super::section::Section;
use super::super::uses::{Use, Uses};

/// A path with wildcards.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    path: Path,
    used: Arc<Use>,
}

impl Glob {
    /// Reads the globs of a setting.
    pub(super) fn read(
        section: &Section<'_>,
        name: &'static str,
        uses: &Uses,
    ) -> Result<Vec<Self>, MappingError> {
        // The paths of a rule are known by the rule.
        let setting = match name {
            "path" => section.path().to_owned(),
            name => section.at(name),
        };
        let texts = section.texts(name)?.into_iter();
        texts
            .map(|text| Self::parse(text, &setting, uses))
            .collect::<Result<_, _>>()
            .map_err(|reason| section.invalid(name, reason))
    }

    /// Parses a path with wildcards that may match the path of a spec.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn parse(text: &str, setting: &str, uses: &Uses) -> Result<Self, String> {
        let path = Path::parse_with_wildcards(text)?;
        matchable(&path)?;
        let used = uses.add_asked(setting, &path);
        Ok(Self { path, used })
    }

    /// Records that rows have a path that this matches.
    pub(super) fn mark(&self) {
        self.used.asked(true);
    }

    /// How this matches the path, if it does.
    pub(super) fn matching(&self, path: &[PathStep]) -> Option<Matching> {
        let steps = self.path.steps();
        if matches(steps, path) {
            return Some(Matching::Path);
        }
        match steps.split_last() {
            Some((PathStep::Each, list)) if matches(list, path) => Some(Matching::Items),
            _ => None,
        }
    }

    /// Returns true if this matches the path, or the items of a list at it.
    pub(super) fn matches_path(&self, path: &[PathStep]) -> bool {
        self.matching(path).is_some()
    }

    /// Returns true if this matches the path or a prefix of it.
    pub(super) fn covers(&self, path: &[PathStep]) -> bool {
        (1..=path.len()).any(|length| self.matches_path(&path[..length]))
    }

    /// Returns true if this may match a path below this one.
    pub(super) fn is_below(&self, path: &[PathStep]) -> bool {
        let (steps, path) = (self.path.steps(), without_end(path));
        let deep = steps.contains(&PathStep::AnyDeep);
        deep || (1..steps.len()).any(|length| matches(&steps[..length], path))
    }
}

/// How a glob matches a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Matching {
    /// The path itself.
    Path,
    /// The items of the list at it, or its value as the only item.
    Items,
}

/// The steps up to the `[]` that they end with.
fn without_end(steps: &[PathStep]) -> &[PathStep] {
    let ends = steps.iter().rposition(|step| *step != PathStep::Each);
    &steps[..ends.map_or(0, |last| last + 1)]
}

/// Returns whether a glob matches a path. The `[]` that only one of them has before another step is skipped.
fn matches(glob: &[PathStep], path: &[PathStep]) -> bool {
    let skips = |steps: &[PathStep]| steps.len() > 1 && steps[0] == PathStep::Each;
    let here = match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((PathStep::AnyDeep, rest)), _) => {
            (0..=path.len()).any(|skipped| matches(rest, &path[skipped..]))
        }
        (Some((step, glob)), Some((found, path))) => {
            (*step == PathStep::Any || step == found) && matches(glob, path)
        }
        _ => false,
    };
    here || (skips(glob) && matches(&glob[1..], path)) || (skips(path) && matches(glob, &path[1..]))
}

/// A path without the `[]` in it and at its end.
pub(super) fn without_lists(path: &Path) -> String {
    let mut plain = String::new();
    let steps = path.steps().iter().filter(|step| **step != PathStep::Each);
    steps.for_each(|step| step.push_to(&mut plain));
    plain
}

/// Fails for paths that no spec has: those of single items, and those of the whole row.
///
/// # Errors
/// What would match.
pub(super) fn matchable(path: &Path) -> Result<(), String> {
    if !path.is_relative() {
        return Err(format!(
            "{path}: the paths of specs begin below `from`; for a value of the whole line give the \
             path of any value of the item, also = true and template = \"{{{path}}}\""
        ));
    }
    if path.steps().is_empty() {
        return Err(
            "\".\" is the row itself, which is no spec; * and ** are all values of it".to_owned(),
        );
    }
    let index = |step: &PathStep| matches!(step, PathStep::At(_) | PathStep::With(..));
    if !path.steps().iter().any(index) {
        return Ok(());
    }
    let mut list = String::new();
    for step in path.steps().iter().take_while(|step| !index(step)) {
        step.push_to(&mut list);
    }
    Err(format!(
        "{path}: the items of a list are mapped alike, so [0] and [key=value] match none; a rule for {list:?} with \
         list = \"first\" maps only the first one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        Glob::parse(text, "include", &Uses::default()).unwrap()
    }

    #[test]
    fn a_single_item_of_a_list_cannot_match() {
        let refused = Glob::parse("slots[0].gen", "include", &Uses::default()).unwrap_err();
        assert!(refused.contains("a rule for \"slots\""), "{refused}");
    }

    #[test]
    fn wildcards_match_paths() {
        let path = Path::parse("a.b[].c").unwrap();
        for yes in ["a.b[].c", "*.*.*.c", "**.c", "**", "a.**"] {
            assert!(glob(yes).matches_path(path.steps()), "{yes}");
        }
        for alike in ["a.b.c", "a[].b.c", "*.b.c", "*.*.c", "a[].b[].c"] {
            assert!(glob(alike).matches_path(path.steps()), "{alike}");
        }
        for no in ["a.b", "*.c", "a.b[]", "**.d", "a.b.c.d", "b.c"] {
            assert!(!glob(no).matches_path(path.steps()), "{no}");
        }
        let alone = Path::parse("a.b").unwrap();
        assert_eq!(glob("a.b[]").matching(alone.steps()), Some(Matching::Items));
        assert_eq!(glob("a.b").matching(alone.steps()), Some(Matching::Path));
        let inner = Path::parse("a.b[]").unwrap();
        assert_eq!(glob("a.b").matching(inner.steps()), None);
        assert_eq!(glob("a.b[]").matching(inner.steps()), Some(Matching::Path));
        assert!(glob("a[].b").covers(path.steps()));
        assert!(glob("a[].b.c").is_below(alone.steps()));
        assert!(glob("a.b.c").is_below(inner.steps()));
        assert!(glob("a.*").covers(path.steps()));
        assert!(!glob("b").covers(path.steps()));
        assert!(glob("a.b.c").is_below(Path::parse("a").unwrap().steps()));
        assert!(!glob("a").is_below(Path::parse("a").unwrap().steps()));
    }
}
