//! Looks for a `mongod` binary: a named one, the ones on `PATH`, the cache, a download.

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
    /// The one binary to use (`VITRINE_MONGOD`); when it is set nothing else is looked at.
    pub binary: Option<PathBuf>,
    /// The value of `PATH`; `None` leaves that step out.
    pub path_var: Option<OsString>,
    /// Where provisioned binaries are kept between runs; see [`default_cache_dir`].
    pub cache_dir: PathBuf,
    /// Whether a binary may be downloaded when none is found.
    pub provision: bool,
}

/// A `mongod` binary that runs on this machine and has an accepted version.
#[derive(Debug, Clone)]
pub struct Mongod {
    path: PathBuf,
    version: Version,
}

/// One place that was looked at in vain.
#[derive(Debug)]
pub struct Attempt {
    /// Where: a setting, a path, or the download.
    pub place: String,
    /// Why nothing came of it.
    pub problem: Problem,
}

/// Why a place yielded no binary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There was nothing to look at.
    #[error("{0}")]
    Nothing(&'static str),
    /// There is a binary, but it cannot be used.
    #[error("{0}")]
    Rejected(Rejection),
    /// The download did not succeed.
    #[error("{0}")]
    NotProvisioned(ProvisionError),
}

/// No usable binary was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The binary that was asked for by name cannot be used.
    #[error(
        "cannot use {} as mongod: {problem}; set VITRINE_MONGOD to a MongoDB server binary of \
         version {oldest} or newer, or unset it to have one looked for",
        path.display(), oldest = Version::OLDEST
    )]
    Named {
        /// The path that was given.
        path: PathBuf,
        /// What is wrong with it.
        problem: Rejection,
    },
    /// Every place was tried; they are listed in the order in which they were.
    #[error(
        "found no usable mongod (MongoDB server {oldest} or newer); tried, in order:\n{list}\n\
         install one and put it on PATH, name its binary with VITRINE_MONGOD, or name a running \
         replica set with VITRINE_MONGODB_URI",
        oldest = Version::OLDEST, list = Numbered(tried)
    )]
    NotFound {
        /// What was tried, in order.
        tried: Vec<Attempt>,
    },
}

impl Mongod {
    /// Finds a binary, in this order: [`Search::binary`], `PATH`, the cache, a download into
    /// the cache. `report` gets a line for people about whatever takes long or is skipped.
    ///
    /// # Errors
    /// [`FindError::Named`] if the named binary cannot be used; otherwise
    /// [`FindError::NotFound`] with everything that was tried.
    pub async fn find(search: &Search, report: &(dyn Fn(&str) + Sync)) -> Result<Self, FindError> {
        if let Some(path) = &search.binary {
            return Self::named(path).await;
        }
        let mut locate = Locator::new(search, report);
        match locate.run().await {
            Some(found) => Ok(found),
            None => Err(FindError::NotFound {
                tried: locate.into_tried(),
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

    /// The binary at `path`, if it can be used.
    pub(crate) async fn probed(path: &Path) -> Result<Self, Rejection> {
        let version = probe(path).await?;
        let path = path.to_owned();
        Ok(Self { path, version })
    }
}

/// Where provisioned binaries are kept unless something else is said: `vitrine` under the
/// user's cache directory, given `XDG_CACHE_HOME` and `HOME`. `None` if neither is usable
/// (the base directory specification has relative values ignored).
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
            let break_before = if index == 0 { "" } else { "\n" };
            write!(
                formatter,
                "{break_before}  {}. {place}: {problem}",
                index + 1
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
