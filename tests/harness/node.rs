//! Scripts that run with Node.js: those of `tests/federation`, `tests/clients` and `tests/types`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::environment::{requires_node, workspace_dir};

/// Runs a script of a directory in `tests` with this input; returns what it prints. `None`, and a
/// line on standard error, where Node.js or the packages of the scripts are missing.
///
/// # Panics
/// When the script fails, or when what it needs is missing although it is required.
#[must_use]
pub fn script(directory: &str, name: &str, input: &Value) -> Option<Value> {
    let path = workspace_dir().join("tests").join(directory);
    if let Some(missing) = missing(&path) {
        assert!(!requires_node(), "{missing}");
        // Not `eprintln!`, whose text is shown of failed tests only.
        let mut errors = std::io::stderr().lock();
        let _ = writeln!(errors, "{directory}: {name} was not run: {missing}");
        return None;
    }
    let mut node = Command::new("node");
    node.current_dir(path).arg(name);
    node.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().expect("node runs");
    let mut stdin = node.stdin.take().expect("piped");
    // A script reads its whole input before it prints anything.
    let written = stdin.write_all(input.to_string().as_bytes());
    drop(stdin);
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "{name} failed");
    written.expect("the script reads its input");
    Some(serde_json::from_slice(&output.stdout).expect("the script prints JSON"))
}

/// What is missing to run scripts.
fn missing(directory: &Path) -> Option<&'static str> {
    if !directory.join("node_modules/.package-lock.json").exists() {
        return Some("run `npm ci` in its directory");
    }
    let node = Command::new("node").arg("--version").output();
    let runs = node.is_ok_and(|output| output.status.success());
    (!runs).then_some("install Node.js")
}
