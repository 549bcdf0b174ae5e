//! Small feeds as other programs write them: what an import says of each, and what the shop has afterwards.

mod changed_mappings;
mod names;
mod shops;
mod tables;
mod values;

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
        Self::of(app, &format!("{MAPPING}{mapping}"))
    }

    /// A feed with this mapping.
    fn of(app: &'a App, mapping: &str) -> Self {
        let mapping = Mapping::parse(mapping, &mut |name| {
            panic!("{name} is not there: a table of a case stands in its mapping")
        });
        Self::mapped(app, mapping.unwrap())
    }

    fn mapped(app: &'a App, mapping: Mapping) -> Self {
        Self {
            app,
            mapping: Arc::new(mapping),
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
        ("kept by people", report.kept_by_people),
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
    said.join(", ") + &notes(report) + &broken.collect::<String>()
}

/// What the report says of names that are nearly one.
fn notes(report: &Report) -> String {
    let padded = report.padded_skus.iter();
    let padded = padded.map(|(waiting, of)| format!("\nsku {waiting} is like {of}"));
    let shared = report.shared_keys.iter();
    let shared = shared.map(|(key, names)| format!("\nkey {key} is {}", names.join(" and ")));
    padded.chain(shared).collect()
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

/// The mapping of a feed whose bad values are left out.
const LENIENT: &str = r#"
category = { value = "things" }
[product.specs]
on_bad = "drop_value"
exclude = ["id", "name"]
"#;

/// Rows of JSON, each with a value of `net_content`.
fn contents(values: &[&str]) -> String {
    let row = |(n, value): (usize, &&str)| {
        format!("{{\"id\": \"P{n}\", \"name\": \"P{n}\", \"net_content\": {value}}}\n")
    };
    values.iter().enumerate().map(row).collect()
}

/// The type of the key, and the number of products that have at least 1 of it.
async fn net_content(app: &App) -> (String, u64) {
    let query = r#"{ specKey(key: "net_content") { type } products(first: 50,
        filter: { specs: [{ key: "net_content", number: { gte: 1 } }] }) { totalCount { value } } }"#;
    let answer = app.query(query).await;
    let products = answer.at("/products/totalCount/value").as_u64();
    (answer.text("/specKey/type"), products.unwrap())
}

#[test]
fn the_type_of_a_new_key_is_that_of_most_values() {
    test(async |app| {
        let feed = Feed::new(app, LENIENT);
        let rows = contents(&["\"N/A\"", "1.5", "2", "3", "4", "\"?\"", "6"]);
        let said = feed.import("shop.jsonl", &rows).await;
        insta::assert_snapshot!(said, @r"
        lines 7, created 7, dropped values 2
        line 1, specs.net_content: net_content holds values of type number; N/A is of type text (created)
        line 6, specs.net_content: net_content holds values of type number; ? is of type text (created)
        ");
        assert_eq!(net_content(app).await, ("NUMBER".to_owned(), 5));
        let again = feed.import("shop.jsonl", &rows).await;
        insta::assert_snapshot!(again, @r"
        lines 7, unchanged 7, dropped values 2
        line 1, specs.net_content: net_content holds values of type number; N/A is of type text (unchanged)
        line 6, specs.net_content: net_content holds values of type number; ? is of type text (unchanged)
        ");
    });
}

#[test]
fn a_value_that_contradicts_its_key_costs_the_row_unless_it_may_be_left_out() {
    test(async |app| {
        let strict = LENIENT.replace("drop_value", "reject_line");
        let feed = Feed::new(app, &strict);
        let said = feed
            .import("shop.jsonl", contents(&["1", "2", "\"N/A\"", "4"]))
            .await;
        insta::assert_snapshot!(said, @r"
        lines 4, created 3, rejected 1
        line 3, specs.net_content: net_content holds values of type number; N/A is of type text (rejected)
        ");
        assert_eq!(net_content(app).await, ("NUMBER".to_owned(), 3));
    });
}

#[test]
fn drafts_introduce_a_key_of_which_the_first_value_is_unusual() {
    test(async |app| {
        let drafts = LENIENT.replace(
            "[product.specs]",
            "status = { value = \"draft\" }\n[product.specs]",
        );
        let feed = Feed::new(app, &drafts);
        let said = feed
            .import("shop.jsonl", contents(&["\"N/A\"", "1", "2"]))
            .await;
        assert!(
            said.starts_with("lines 3, created 3, dropped values 1"),
            "{said}"
        );
        let query = r#"{ specKey(key: "net_content") { type } }"#;
        let answer = app.query(query).as_admin().await;
        assert_eq!(answer.text("/specKey/type"), "NUMBER");
    });
}

#[test]
fn what_people_have_edited_is_counted_in_the_report() {
    test(async |app| {
        let mapping = r#"category = { value = "things" }
            price = { amount = "price", currency = { value = "EUR" } }"#;
        let feed = Feed::new(app, mapping);
        feed.import("shop.csv", "id,name,price\n1,Alpha,10\n").await;
        let found = app.query(r#"{ product(sku: "shop:1") { id } }"#).await;
        let edit =
            serde_json::json!({ "id": found.text("/product/id"), "name": "Alpha by an admin" });
        app.mutate("updateProduct", edit).await.done();
        let said = feed.import("shop.csv", "id,name,price\n1,Alpha,11\n").await;
        assert_eq!(said, "lines 1, updated 1, kept by people 1");
        let query = r#"{ product(sku: "shop:1") { name price { amount } } }"#;
        let seen = app.query(query).await;
        assert_eq!(seen.text("/product/name"), "Alpha by an admin");
        assert_eq!(seen.text("/product/price/amount"), "11.00");
    });
}
