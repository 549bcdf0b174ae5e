//! Paths with wildcards: `*` matches one step, `**` any number of steps.

use super::super::error::MappingError;
use super::super::path::{Path, PathStep};
use super::super::section::Section;

/// A path with wildcards.
#[derive(Clone, Debug)]
pub(super) struct Glob(Path);

impl Glob {
    /// Reads the globs of a setting.
    pub(super) fn read(
        section: &Section<'_>,
        name: &'static str,
    ) -> Result<Vec<Self>, MappingError> {
        let texts = section.texts(name)?.into_iter();
        texts
            .map(|text| Path::parse(text).map(Self))
            .collect::<Result<_, _>>()
            .map_err(|reason| section.invalid(name, reason))
    }

    /// Returns true if this matches the path.
    pub(super) fn matches_path(&self, path: &[PathStep]) -> bool {
        matches(self.0.steps(), path)
    }

    /// Returns true if this matches the path or a prefix of it.
    pub(super) fn covers(&self, path: &[PathStep]) -> bool {
        (1..=path.len()).any(|length| self.matches_path(&path[..length]))
    }

    /// Returns true if this may match a path below this one.
    pub(super) fn is_below(&self, path: &[PathStep]) -> bool {
        let steps = self.0.steps();
        let deep = steps.iter().any(|step| matches_path(step, "**"));
        deep || (steps.len() > path.len() && matches(&steps[..path.len()], path))
    }
}

fn matches(glob: &[PathStep], path: &[PathStep]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((step, rest)), _) if matches_path(step, "**") => {
            (0..=path.len()).any(|skipped| matches(rest, &path[skipped..]))
        }
        (Some((step, glob)), Some((found, path))) => {
            (matches_path(step, "*") || step == found) && matches(glob, path)
        }
        _ => false,
    }
}

fn matches_path(step: &PathStep, wildcard: &str) -> bool {
    matches!(step, PathStep::Key(key) if key == wildcard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        Glob(Path::parse(text).unwrap())
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
