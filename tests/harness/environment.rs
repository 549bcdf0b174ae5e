//! Everything that the tests read from the environment.
//!
//! | variable | meaning |
//! |---|---|
//! | `VITRINE_MONGOD` | the mongod to test with; without it one is searched for |
//! | `PATH` | where a mongod and a browser are searched for |
//! | `XDG_CACHE_HOME`, `HOME` | where a downloaded mongod is cached |
//! | `VITRINE_CHROMIUM` | the browser to test with; without it one is searched for on `PATH` |
//! | `CI` | any value: tests that need a browser or Node.js fail without it, instead of being left out |
//! | `UPDATE_EXPECT` | `1` rewrites generated files instead of comparing them |

use std::ffi::OsString;
use std::path::PathBuf;

use vitrine_mongod::{Search, default_cache_dir};

/// Returns where to search for a mongod.
#[must_use]
pub fn search() -> Search {
    let path = |name| read(name).map(PathBuf::from);
    let cache = default_cache_dir(path("XDG_CACHE_HOME").as_deref(), path("HOME").as_deref());
    Search {
        binary: path("VITRINE_MONGOD"),
        path_var: read("PATH"),
        cache_dir: cache.unwrap_or_else(|| target_dir().join("tmp/cache")),
        provision: true,
    }
}

/// Returns whether generated files are to be rewritten.
#[must_use]
pub fn update_expected() -> bool {
    read("UPDATE_EXPECT").is_some_and(|value| value == "1")
}

/// Returns whether every test is required.
#[must_use]
pub fn is_ci() -> bool {
    read("CI").is_some()
}

/// Returns the browser that is chosen to test with.
#[must_use]
pub fn chosen_browser() -> Option<PathBuf> {
    read("VITRINE_CHROMIUM").map(PathBuf::from)
}

/// Returns where programs are searched for.
#[must_use]
pub fn search_path() -> OsString {
    read("PATH").unwrap_or_default()
}

/// Returns the target directory of cargo, three levels above the running test.
///
/// # Panics
/// When the test does not run from the place where cargo built it.
#[must_use]
pub fn target_dir() -> PathBuf {
    let program = std::env::current_exe().expect("a running program has a path");
    let target = program.ancestors().nth(3).expect("target/debug/deps/test");
    target.to_owned()
}

/// Returns the root of the workspace.
#[must_use]
pub fn workspace_dir() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("tests is a directory of the workspace")
        .to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn read(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
