//! The documents are true: their examples are run, what they name exists, their links lead
//! somewhere, and they stay short.
//!
//! | block | what happens with it |
//! |---|---|
//! | `graphql` | asked; a first line `# ada, shopper` names subject and role |
//! | `json variables` | the variables of the query above |
//! | `json` | compared with the answer; `…` marks what is left out |
//! | `json event` | compared with what the subscription above delivers next |
//! | `sh` | each line is a command that exists; a `curl` is asked |
//! | `text` | compared with what the command above prints |
//! | `toml NAME`, `jsonl NAME` | a file that the commands below find |
//! | `json numbered-file`, `json schema-file` | read as the service reads such files |
//!
//! A block of any other kind fails a test, so that none goes unchecked.

mod catalogue;
mod commands;
mod examples;
mod links;
mod names;
mod requirements;
mod settings;
mod shell;
mod steps;

use vitrine_demo as demo;
use vitrine_harness::documents::Document;

/// The documents whose blocks are checked.
const CHECKED: [&str; 7] = [
    "README.md",
    "docs/api.md",
    "docs/operations.md",
    "docs/export.md",
    "services/ingest/mappings/README.md",
    "migrations/README.md",
    "CONTRIBUTING.md",
];

/// The documents of [`CHECKED`] that there are.
fn checked() -> Vec<Document> {
    let all = Document::all().into_iter();
    all.filter(|document| CHECKED.contains(&document.path.as_str()))
        .collect()
}

/// Fails with everything that was found.
#[track_caller]
fn none<T: AsRef<str>>(mistakes: &[T]) {
    let lines: Vec<&str> = mistakes.iter().map(AsRef::as_ref).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}
