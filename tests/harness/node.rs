//! Scripts that run with Node.js: those of `tests/federation`, `tests/clients` and `tests/types`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::environment::workspace_dir;
use crate::tools::needed;

/// The directories with scripts, below `tests`.
pub const DIRECTORIES: [&str; 3] = ["clients", "federation", "types"];
/// The oldest version of Node.js that the scripts and their packages run with.
pub const OLDEST_VERSION: u32 = 20;
/// The Debian packages of Node.js and of what installs the packages of scripts.
pub const DEBIAN_PACKAGES: [&str; 2] = ["nodejs", "npm"];

/// The scripts of a directory, with all that they need.
#[derive(Debug)]
pub struct Scripts {
    directory: PathBuf,
}

impl Scripts {
    /// Returns the scripts of one of [`DIRECTORIES`]. `None` if the test is left out.
    ///
    /// # Panics
    /// When Node.js or the packages of the scripts are missing and `CI` is set.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let directory = workspace_dir().join("tests").join(name);
        let has_packages = directory.join("node_modules/.package-lock.json").exists();
        needed(check(name, version().as_deref(), has_packages))?;
        Some(Self { directory })
    }

    /// Runs a script with this input; returns what it prints.
    ///
    /// # Panics
    /// When the script fails.
    #[must_use]
    pub fn run(&self, script: &str, input: &Value) -> Value {
        let mut node = Command::new("node");
        node.current_dir(&self.directory).arg(script);
        node.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut node = node.spawn().expect("node runs");
        let mut stdin = node.stdin.take().expect("piped");
        // A script reads its whole input before it prints anything.
        let written = stdin.write_all(input.to_string().as_bytes());
        drop(stdin);
        let output = node.wait_with_output().expect("node ends");
        assert!(output.status.success(), "{script} failed");
        written.expect("the script reads its input");
        serde_json::from_slice(&output.stdout).expect("the script prints JSON")
    }
}

/// The version that Node.js prints, such as `v20.20.2`.
fn version() -> Option<String> {
    let node = Command::new("node").arg("--version").output().ok()?;
    let printed = String::from_utf8_lossy(&node.stdout).trim().to_owned();
    node.status.success().then_some(printed)
}

/// Returns what is missing to run the scripts of one of [`DIRECTORIES`], given what Node.js prints as its version and
/// whether the packages of the scripts are installed.
///
/// # Errors
/// When something is missing.
pub fn check(name: &str, version: Option<&str>, has_packages: bool) -> Result<(), String> {
    let install = format!("`npm ci --prefix tests/{name} --ignore-scripts`");
    let Some(version) = version else {
        let packages = DEBIAN_PACKAGES.join(" ");
        return Err(format!(
            "there is no Node.js: no `node` on PATH (Debian, Ubuntu: `apt-get install {packages}`, then {install})"
        ));
    };
    let major = version.trim_start_matches('v').split('.').next();
    let major = major.and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < OLDEST_VERSION) {
        return Err(format!(
            "Node.js {OLDEST_VERSION} or newer is needed: `node` on PATH is {version}"
        ));
    }
    if !has_packages {
        return Err(format!(
            "npm packages are missing in tests/{name} ({install})"
        ));
    }
    Ok(())
}
