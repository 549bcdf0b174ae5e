//! Finding a `mongod` binary: the configured one, those on `PATH`, the cache, a download.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::locate::Locator;
use crate::probe::{Rejection, probe};
use crate::provision::ProvisionError;
use crate::version::Version;

/// What to look for and where.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The binary to use (`VITRINE_MONGOD`); if it is set, no other is tried.
    pub binary: Option<PathBuf>,
    /// The value of `PATH`; `None` skips that step.
    pub path_var: Option<OsString>,
    /// The directory for downloaded binaries; see [`default_cache_dir`].
    pub cache_dir: PathBuf,
    /// Whether a binary may be downloaded if none is found.
    pub provision: bool,
}

/// A `mongod` binary that runs on this machine and has an accepted version.
#[derive(Debug, Clone)]
pub struct Mongod {
    path: PathBuf,
    version: Version,
}

/// A place that was tried without success.
#[derive(Debug)]
pub struct Attempt {
    /// The place: a setting, a path, or the download.
    pub place: String,
    /// Why it was not used.
    pub problem: Problem,
}

/// Why a place provided no binary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The place is empty or not configured.
    #[error("{0}")]
    Unavailable(&'static str),
    /// There is a binary, but it cannot be used.
    #[error("{0}")]
    Rejected(Rejection),
    /// The download failed.
    #[error("{0}")]
    NotProvisioned(ProvisionError),
}

/// No usable binary was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The configured binary cannot be used.
    #[error(
        "cannot use {} as mongod: {problem}; set VITRINE_MONGOD to a MongoDB server binary of \
         version {oldest} or newer, or unset it to search for one",
        path.display(), oldest = Version::OLDEST
    )]
    Named {
        /// The configured path.
        path: PathBuf,
        /// What is wrong with it.
        problem: Rejection,
    },
    /// All places were tried without success.
    #[error(
        "found no usable mongod (MongoDB server {oldest} or newer); tried, in order:\n{list}\n\
         install one and put it on PATH, set VITRINE_MONGOD to its binary, or set \
         VITRINE_MONGODB_URI to a running replica set",
        oldest = Version::OLDEST, list = Numbered(tried)
    )]
    NotFound {
        /// What was tried, in order.
        tried: Vec<Attempt>,
    },
}

impl Mongod {
    /// Finds a binary, in this order: [`Search::binary`], `PATH`, the cache, a download into the
    /// cache. `report` receives a line for people about anything that takes long or is skipped.
    ///
    /// # Errors
    /// [`FindError::Named`] if the configured binary cannot be used, otherwise
    /// [`FindError::NotFound`] with everything that was tried.
    pub async fn find(search: &Search, report: &(dyn Fn(&str) + Sync)) -> Result<Self, FindError> {
        if let Some(path) = &search.binary {
            return Self::named(path).await;
        }
        let mut locator = Locator::new(search, report);
        match locator.run().await {
            Some(found) => Ok(found),
            None => Err(FindError::NotFound {
                tried: locator.into_tried(),
            }),
        }
    }

    /// The path of the binary.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The version that the binary reports.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    async fn named(path: &Path) -> Result<Self, FindError> {
        Self::probed(path)
            .await
            .map_err(|problem| FindError::Named {
                path: path.to_owned(),
                problem,
            })
    }

    /// Returns the binary at `path` if it can be used.
    pub(crate) async fn probed(path: &Path) -> Result<Self, Rejection> {
        let version = probe(path).await?;
        let path = path.to_owned();
        Ok(Self { path, version })
    }
}

/// The default directory for downloaded binaries: `vitrine` in the user's cache directory, as
/// determined by `XDG_CACHE_HOME` and `HOME`. `None` if neither is usable (the XDG Base Directory
/// Specification requires relative values to be ignored).
#[must_use]
pub fn default_cache_dir(xdg_cache_home: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let absolute = |path: &&Path| path.is_absolute();
    let under_home = || home.filter(absolute).map(|home| home.join(".cache"));
    let base = xdg_cache_home.filter(absolute).map(Path::to_owned);
    Some(base.or_else(under_home)?.join("vitrine"))
}

/// Writes attempts as a numbered list.
struct Numbered<'a>(&'a [Attempt]);

impl fmt::Display for Numbered<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Attempt { place, problem }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}  {}. {place}: {problem}", index + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
