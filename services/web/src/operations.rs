//! The operations of the pages: the files of `ui/operations` for the storefront, and of
//! `ui/console/operations` for the console, each with the fragments that it uses.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// An operation of the pages.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// Its text, with the fragments that it uses.
    pub text: String,
}

macro_rules! operations {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../ui/", $folder, "/", $name, ".graphql")))),*]
    };
}

/// The fragments that operations share.
const FRAGMENTS: &str = include_str!("../ui/operations/fragments.graphql");
/// The fragments that only operations of the console share.
const CONSOLE_FRAGMENTS: &str = include_str!("../ui/console/operations/fragments.graphql");

/// Every file of `ui/operations` but the fragments; a test compares.
const FILES: &[(&str, &str)] = operations!["operations":
    "Compare",
    "Count",
    "DeleteReview",
    "EditReview",
    "Facets",
    "Home",
    "List",
    "OwnReview",
    "Product",
    "Ratings",
    "RecordView",
    "Related",
    "RemoveVote",
    "ReportReview",
    "ReviewAdded",
    "ReviewPage",
    "SubmitReview",
    "Suggest",
    "Units",
    "VoteReview",
];

/// Every file of `ui/console/operations` but the fragments; a test compares.
const CONSOLE_FILES: &[(&str, &str)] = operations!["console/operations":
    "Activity",
    "AllUnits",
    "ArchiveProduct",
    "Audit",
    "AuditFindings",
    "CategoryPath",
    "CategoryTree",
    "CreateCategory",
    "CreateProduct",
    "CreateSupplier",
    "DefineReviewDimensions",
    "DefineSpecKey",
    "DefineUnit",
    "EditProduct",
    "EraseAuthor",
    "ExportAuthor",
    "Fairness",
    "FindCategories",
    "FindProducts",
    "FindSpecKeys",
    "FindSuppliers",
    "History",
    "Imports",
    "Inputs",
    "MergeCategories",
    "MergeSpecKeys",
    "ModerateReview",
    "OneBulkChange",
    "OneCategory",
    "OneImport",
    "OneReview",
    "OneSpecKey",
    "OneSupplier",
    "OpenBulkChanges",
    "ProductNames",
    "ProductTable",
    "PublicProduct",
    "Queue",
    "QueueCounts",
    "ReleaseFields",
    "RemoveSpecs",
    "RepairRatingStats",
    "ReplyToReview",
    "RestoreProduct",
    "RevertCategory",
    "RevertProduct",
    "RevertSpecKey",
    "SetSpecs",
    "SpecKeyNames",
    "SpecKeys",
    "StartBulkChange",
    "StartImport",
    "StopBulkChange",
    "StopImport",
    "SuggestedKeys",
    "SupplierName",
    "Suppliers",
    "Trending",
    "UpdateCategory",
    "UpdateProduct",
    "UpdateSpecKey",
    "UpdateSupplier",
    "Viewer",
    "Workers",
];

static OPERATIONS: LazyLock<Vec<Operation>> =
    LazyLock::new(|| completed(FILES, &fragments(FRAGMENTS)));

static CONSOLE_OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut shared = fragments(FRAGMENTS);
    shared.extend(fragments(CONSOLE_FRAGMENTS));
    completed(CONSOLE_FILES, &shared)
});

/// Returns all operations of the storefront, in the order of their names.
#[must_use]
pub fn operations() -> &'static [Operation] {
    &OPERATIONS
}

/// Returns all operations that only the console sends, in the order of their names.
#[must_use]
pub fn console_operations() -> &'static [Operation] {
    &CONSOLE_OPERATIONS
}

/// Adds to operations the fragments that they use.
fn completed(files: &[(&'static str, &str)], shared: &BTreeMap<&str, &str>) -> Vec<Operation> {
    let complete = |(name, text): &(&'static str, &str)| Operation {
        name,
        text: complete(text, shared),
    };
    files.iter().map(complete).collect()
}

/// Returns the text of an operation.
pub(crate) fn operation(name: &str) -> &'static str {
    let found = OPERATIONS.iter().find(|operation| operation.name == name);
    found.map_or("", |operation| operation.text.as_str())
}

/// Returns a module that exports every operation under its name.
pub(crate) fn module(operations: &[Operation]) -> String {
    let exported = operations.iter().map(|Operation { name, text }| {
        let text = serde_json::Value::from(text.as_str());
        format!("export const {name} = {text};")
    });
    let lines: Vec<String> = exported.collect();
    lines.join("\n")
}

/// Splits a file into its fragments, by name.
fn fragments(file: &str) -> BTreeMap<&str, &str> {
    let starts = file.match_indices("fragment ").map(|(at, _)| at);
    let starts: Vec<usize> = starts
        .filter(|at| *at == 0 || file[..*at].ends_with('\n'))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([file.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| {
            let text = &file[*start..end];
            // What follows the last brace is the comment of the next fragment.
            let text = &text[..=text.rfind('}')?];
            let name = text.split_whitespace().nth(1)?;
            Some((name, text))
        })
        .collect()
}

/// Adds the fragments that a text uses, and those that they use.
fn complete(text: &str, shared: &BTreeMap<&str, &str>) -> String {
    let mut complete = text.trim_end().to_owned();
    let mut at = 0;
    while let Some(next) = complete[at..].find("...") {
        at += next + 3;
        let rest = complete[at..].trim_start();
        let name: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let known = complete.contains(&format!("fragment {name} on "));
        if let (Some(fragment), false) = (shared.get(name.as_str()), known) {
            complete.push_str("\n\n");
            complete.push_str(fragment);
        }
    }
    complete.push('\n');
    complete
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_is_an_operation() {
        for (folder, operations) in [
            ("ui/operations", operations()),
            ("ui/console/operations", console_operations()),
        ] {
            let folder = format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"));
            let files: BTreeSet<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            let mut known: BTreeSet<String> = operations
                .iter()
                .map(|operation| format!("{}.graphql", operation.name))
                .collect();
            known.insert("fragments.graphql".to_owned());
            assert_eq!(files, known);
        }
    }

    #[test]
    fn fragments_are_added_once_and_with_what_they_use() {
        let file = "fragment A on P {\n  ...B\n}\n\n# About B.\nfragment B on P {\n  id\n}\n";
        let shared = fragments(file);
        let text = "query Q {\n  p { ...A ...B ... on X { y } }\n}\n";
        let expected = "query Q {\n  p { ...A ...B ... on X { y } }\n}\n\n\
                        fragment A on P {\n  ...B\n}\n\nfragment B on P {\n  id\n}\n";
        assert_eq!(complete(text, &shared), expected);
    }
}
