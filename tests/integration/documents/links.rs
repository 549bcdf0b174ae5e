//! Links lead somewhere, and documents are short.

use vitrine_harness::documents::{Document, Link};
use vitrine_harness::environment::workspace_dir;

use super::none;

/// How many bytes a document may have.
const MAX_BYTES: [(&str, usize); 3] = [
    ("README.md", 8_000),
    ("ARCHITECTURE.md", 20_000),
    ("DESIGN.md", 40_000),
];

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let all = Document::all();
    let mut broken = Vec::new();
    for document in &all {
        for Link { line, file, anchor } in document.links() {
            let target = file.to_string_lossy();
            let place = format!("{}:{line}: ", document.path);
            if !workspace_dir().join(&file).exists() {
                broken.push(format!("{place}there is no {target}"));
                continue;
            }
            let target = all.iter().find(|one| one.path == target);
            if let (Some(target), Some(anchor)) = (target, anchor)
                && !target.anchors().contains(&anchor)
            {
                broken.push(format!("{place}{} has no heading #{anchor}", target.path));
            }
        }
    }
    none(&broken);
}

#[test]
fn documents_are_as_short_as_promised() {
    let long = MAX_BYTES.map(|(path, most)| {
        let bytes = Document::read(path).text.len();
        (bytes > most).then(|| format!("{path} has {bytes} bytes, {most} are enough"))
    });
    none(&long.into_iter().flatten().collect::<Vec<String>>());
}
