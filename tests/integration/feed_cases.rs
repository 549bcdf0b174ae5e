//! Small feeds as other programs write them: what an import says of each, and what the shop has afterwards.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use vitrine_domain::import::ImportMode;
use vitrine_harness::{App, test};
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::report::Report;
use vitrine_ingest::run::{ImportOptions, import};

use crate::mappings::answered;

/// The beginning of a mapping. The lines of a case follow; they have at least the category.
const MAPPING: &str = r#"
version = 1
system = "shop"
[product]
external_id = "id"
name = "name"
kind = { value = "lamp" }
"#;

/// A feed with its mapping. Its file has other rows in each import.
struct Feed<'a> {
    app: &'a App,
    mapping: Arc<Mapping>,
    folder: TempDir,
}

impl<'a> Feed<'a> {
    /// A feed whose mapping ends with these lines.
    fn new(app: &'a App, mapping: &str) -> Self {
        let mapping = Mapping::parse(&format!("{MAPPING}{mapping}"), &mut |name| {
            panic!("{name} is not there: a table of a case stands in its mapping")
        });
        Self {
            app,
            mapping: Arc::new(mapping.unwrap()),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Imports a file with this name, which says its format. Returns what became of its lines.
    async fn import(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = |name: &str| self.folder.path().join(name);
        let rejects = path("rejects.jsonl");
        fs::write(path(name), content).unwrap();
        let options = ImportOptions {
            files: vec![path(name)],
            mapping: Arc::clone(&self.mapping),
            mode: ImportMode::Write,
            rejects: Some(rejects.clone()),
            mappers: None,
        };
        let report = import(&self.app.catalog, &options, |_| ()).await.unwrap();
        outcomes(&report) + &reasons(&rejects)
    }
}

/// The numbers of lines by outcome, without those that are 0: `lines 2, created 1, rejected 1`.
fn outcomes(report: &Report) -> String {
    let counts = report.counts;
    let of_values = [
        ("dropped values", counts.dropped_values),
        ("ignored values", counts.ignored_values),
    ];
    let of_lines = [
        ("created", counts.created),
        ("updated", counts.updated),
        ("unchanged", counts.unchanged),
        ("waiting", counts.waiting),
        ("rejected", counts.rejected),
        ("skipped", counts.skipped),
        ("gathered", counts.gathered),
        ("blank", counts.blank),
    ];
    let sum: u64 = of_lines.iter().map(|(_, number)| number).sum();
    assert_eq!(sum, counts.lines, "every line ends as something");
    let all = std::iter::once(("lines", sum))
        .chain(of_lines)
        .chain(of_values);
    let said: Vec<String> = all
        .filter(|(_, number)| *number > 0)
        .map(|(name, number)| format!("{name} {number}"))
        .collect();
    let broken = report.broken_files.values();
    let broken = broken.map(|reason| format!("\nbroken off: {reason}"));
    said.join(", ") + &broken.collect::<String>()
}

/// The entries of a rejects file, one a line: `line 3, name: is missing (rejected)`.
fn reasons(rejects: &Path) -> String {
    let text = fs::read_to_string(rejects).unwrap_or_default();
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = entries.map(|entry| {
        let [field, reason, outcome] =
            ["field", "reason", "outcome"].map(|name| entry[name].as_str().unwrap_or("-"));
        format!("\nline {}, {field}: {reason} ({outcome})", entry["line"])
    });
    said.collect()
}

#[test]
fn a_path_of_categories_is_cut_at_its_separator_only() {
    test(async |app| {
        let feed = Feed::new(
            app,
            r#"category = { from = "path", separator = ">", html = "once" }"#,
        );
        let said = feed
            .import(
                "shop.csv",
                "id,name,path\n\
                 1,Cable,Audio / Video > Cables\n\
                 2,Pan,Home &gt; Kitchen\n\
                 3,Box,\"Boxes, small > No. 5.\"\n\
                 4,,Home\n",
            )
            .await;
        insta::assert_snapshot!(said, @"
        lines 4, created 3, rejected 1
        line 5, name: is missing (rejected)
        ");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Box in Boxes, small > No. 5.
        Cable in Audio / Video > Cables
        Pan in Home > Kitchen
        ");
    });
}
