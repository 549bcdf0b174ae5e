//! Server versions: the oldest supported one, and the one installed by default.

use std::fmt;

/// The version that is downloaded and that the compose files run. It is set only in
/// `docker/mongodb-version`.
pub(crate) const PINNED: &str = include_str!("../../../docker/mongodb-version").trim_ascii();

/// The version of a MongoDB server, for example `6.0.5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number; with `minor`, the release series.
    pub major: u16,
    /// The second number; 0 for every series since 5.0 except rapid releases.
    pub minor: u16,
    /// The third number: the patch within the series.
    pub patch: u16,
}

impl Version {
    /// The oldest supported version, 6.0.0: queries rely on its window functions and on change
    /// streams with pre-images.
    pub const OLDEST: Self = Self {
        major: 6,
        minor: 0,
        patch: 0,
    };

    /// Reads the first line of the output of `mongod --version`: `db version v6.0.5`.
    pub(crate) fn from_banner(output: &str) -> Option<Self> {
        let line = output.lines().find(|line| line.starts_with("db version"))?;
        Self::parse(line.rsplit('v').next()?.trim())
    }

    /// Reads `6.0.5`; ignores a suffix after a hyphen (`-rc1`, a packager's number).
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('-').next()?.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            major: next()?,
            minor: next()?,
            patch: next()?,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<String> {
        let banner = format!("{line}\nBuild Info: {{");
        Version::from_banner(&banner).map(|version| version.to_string())
    }

    #[test]
    fn reads_the_banner_of_every_packager() {
        assert_eq!(read("db version v6.0.5").as_deref(), Some("6.0.5"));
        assert_eq!(read("db version v8.0.0-rc3").as_deref(), Some("8.0.0"));
        assert_eq!(read("db version v6.0.4-3").as_deref(), Some("6.0.4"));
        assert_eq!(read("mongos version v6.0.5"), None);
        assert_eq!(read("db version six"), None);
    }

    #[test]
    fn orders_by_number_not_by_text() {
        assert!(Version::parse("10.0.0") > Version::parse("7.0.12"));
        assert!(Version::parse("5.3.2") < Some(Version::OLDEST));
    }

    #[test]
    fn the_pinned_version_is_accepted() {
        assert!(Version::parse(PINNED) >= Some(Version::OLDEST));
    }
}
