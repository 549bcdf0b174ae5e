//! Paths with wildcards: `*` matches one step, `**` any number of steps.

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

    /// Returns true if this matches the path.
    pub(super) fn matches_path(&self, path: &[PathStep]) -> bool {
        matches(self.path.steps(), path)
    }

    /// Returns true if this matches the path or a prefix of it.
    pub(super) fn covers(&self, path: &[PathStep]) -> bool {
        (1..=path.len()).any(|length| self.matches_path(&path[..length]))
    }

    /// Returns true if this may match a path below this one.
    pub(super) fn is_below(&self, path: &[PathStep]) -> bool {
        let steps = self.path.steps();
        let deep = steps.contains(&PathStep::AnyDeep);
        deep || (steps.len() > path.len() && matches(&steps[..path.len()], path))
    }
}

fn matches(glob: &[PathStep], path: &[PathStep]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((PathStep::AnyDeep, rest)), _) => {
            (0..=path.len()).any(|skipped| matches(rest, &path[skipped..]))
        }
        (Some((step, glob)), Some((found, path))) => {
            (*step == PathStep::Any || step == found) && matches(glob, path)
        }
        _ => false,
    }
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
        for no in ["a.b", "*.c", "a.b[]", "**.d"] {
            assert!(!glob(no).matches_path(path.steps()), "{no}");
        }
        assert!(glob("a.*").covers(path.steps()));
        assert!(!glob("b").covers(path.steps()));
        assert!(glob("a.b.c").is_below(Path::parse("a").unwrap().steps()));
        assert!(!glob("a").is_below(Path::parse("a").unwrap().steps()));
    }
}
