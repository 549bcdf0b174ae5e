//! Paths with wildcards: `*` is any one step, `**` any number of them.

use super::super::error::MappingError;
use super::super::path::{Path, Step};
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
            .map_err(|reason| section.refuse(name, reason))
    }

    /// Whether this is exactly the path.
    pub(super) fn is(&self, path: &[Step]) -> bool {
        matches(self.0.steps(), path)
    }

    /// Whether this is the path or something above it.
    pub(super) fn covers(&self, path: &[Step]) -> bool {
        (1..=path.len()).any(|length| self.is(&path[..length]))
    }

    /// Whether this could match something below the path.
    pub(super) fn is_below(&self, path: &[Step]) -> bool {
        let steps = self.0.steps();
        let deep = steps.iter().any(|step| is(step, "**"));
        deep || (steps.len() > path.len() && matches(&steps[..path.len()], path))
    }
}

fn matches(glob: &[Step], path: &[Step]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((step, rest)), _) if is(step, "**") => {
            (0..=path.len()).any(|skipped| matches(rest, &path[skipped..]))
        }
        (Some((step, glob)), Some((found, path))) => {
            (is(step, "*") || step == found) && matches(glob, path)
        }
        _ => false,
    }
}

fn is(step: &Step, wildcard: &str) -> bool {
    matches!(step, Step::Key(key) if key == wildcard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        Glob(Path::parse(text).unwrap())
    }

    #[test]
    fn wildcards() {
        let path = Path::parse("a.b[].c").unwrap();
        for yes in ["a.b[].c", "*.*.*.c", "**.c", "**", "a.**"] {
            assert!(glob(yes).is(path.steps()), "{yes}");
        }
        for no in ["a.b", "*.c", "a.b[]", "**.d"] {
            assert!(!glob(no).is(path.steps()), "{no}");
        }
        assert!(glob("a.*").covers(path.steps()));
        assert!(!glob("b").covers(path.steps()));
        assert!(glob("a.b.c").is_below(Path::parse("a").unwrap().steps()));
        assert!(!glob("a").is_below(Path::parse("a").unwrap().steps()));
    }
}
