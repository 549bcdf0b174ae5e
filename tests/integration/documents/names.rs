//! The guides name everything there is, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use vitrine_api::execution::ErrorCode;
use vitrine_domain::workers::Worker;
use vitrine_harness::documents::Document;
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::test;
use vitrine_model::product::Kind;

use super::none;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const DATABASE: &str = "schema/mongodb/README.md";
const GUIDE: &str = "docs/api.md";
const MAPPINGS: &str = "services/ingest/mappings/README.md";
const OPERATIONS: &str = "docs/operations.md";

/// Enumerations all of whose values the guide explains.
const EXPLAINED: [&str; 12] = [
    "ActivityKind",
    "ActivityRefusal",
    "ErasurePolicy",
    "EventKind",
    "FacetAccuracy",
    "ModerationDecision",
    "ProductSortKey",
    "ReportReason",
    "ReviewSort",
    "TrendingWindow",
    "UserErrorCode",
    "WordReading",
];

/// The members of a type of the schema: its fields or values.
fn members(of: &str) -> Vec<String> {
    let schema = fs::read_to_string(workspace_dir().join("schema/vitrine.graphql")).unwrap();
    let lines = schema.lines();
    let mut inside = lines.skip_while(|line| {
        !["type", "enum"]
            .iter()
            .any(|kind| *line == format!("{kind} {of} {{"))
    });
    assert!(inside.next().is_some(), "the schema has {of}");
    let inside = inside.take_while(|line| *line != "}");
    // Descriptions and arguments stand further in, or begin with quotation marks.
    let mut described = false;
    let members = inside.filter_map(|line| {
        let line = line
            .strip_prefix('\t')
            .filter(|line| !line.starts_with('\t'))?;
        if line == "\"\"\"" {
            described = !described;
            return None;
        }
        let name = line
            .split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_')
            .next()?;
        (!described && !name.is_empty()).then(|| name.to_owned())
    });
    members.collect()
}

fn unnamed(of: &str, text: &str) -> Vec<String> {
    let words: Vec<&str> = text
        .split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_')
        .collect();
    let members = members(of).into_iter();
    let unnamed = members.filter(|member| !words.contains(&member.as_str()));
    unnamed
        .map(|member| format!("nothing is said of {of}.{member}"))
        .collect()
}

#[test]
fn the_guide_names_every_query_mutation_and_subscription() {
    let guide = Document::read(GUIDE).text;
    let roots = ["Query", "Mutation", "Subscription"];
    none(&roots.map(|root| unnamed(root, &guide)).concat());
}

#[test]
fn the_guide_explains_every_value_of_what_it_explains() {
    let guide = Document::read(GUIDE).text;
    none(&EXPLAINED.map(|name| unnamed(name, &guide)).concat());
}

#[test]
fn the_guides_name_every_kind_with_fields_of_its_own() {
    let (guide, mappings) = (Document::read(GUIDE).text, Document::read(MAPPINGS).text);
    let mut missing = Vec::new();
    for kind in Kind::TYPED {
        let name = kind.name();
        // The name of the variant is that of the type in the schema.
        if !guide.contains(&format!("`{kind:?}`")) {
            missing.push(format!("{GUIDE} does not name {kind:?}"));
        }
        // A mapping cannot fill a bundle.
        let is_mapped = *kind == Kind::Bundle
            || [format!("`{name}`, "), format!("| `{name}` |")]
                .iter()
                .all(|text| mappings.contains(text));
        if !is_mapped {
            missing.push(format!("{MAPPINGS} does not name {name} in both tables"));
        }
    }
    none(&missing);
}

/// The first cells of the tables below a heading.
fn first_cells(path: &str, heading: &str) -> Vec<String> {
    let rows = Document::read(path).rows(heading).into_iter();
    rows.filter_map(|cells| cells.into_iter().next()).collect()
}

#[test]
fn the_tables_of_collections_have_all_of_them() {
    let (mut sharded, mut whole) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(workspace_dir().join("schema/mongodb")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let file: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let name = format!("`{}`", file["collection"].as_str().unwrap());
        if file["shardKey"].is_object() {
            sharded.insert(name);
        } else {
            whole.insert(name);
        }
    }
    let shown = |heading| BTreeSet::from_iter(first_cells(DATABASE, heading));
    assert_eq!(shown("Sharded collections"), sharded);
    assert_eq!(shown("Collections that stay whole"), whole);
}

/// All codes of errors; a new one has to be added here before this compiles.
fn error_codes() -> Vec<ErrorCode> {
    use ErrorCode::{
        BadUserInput, CostExceeded, Forbidden, GraphqlParseFailed, GraphqlValidationFailed,
        Internal, InvalidCursor, NotFound, PersistedQueryNotFound, RateLimited, Timeout,
        Unauthenticated, Unavailable,
    };
    let all = [
        GraphqlParseFailed,
        GraphqlValidationFailed,
        BadUserInput,
        InvalidCursor,
        CostExceeded,
        PersistedQueryNotFound,
        Unauthenticated,
        Forbidden,
        NotFound,
        RateLimited,
        Timeout,
        Unavailable,
        Internal,
    ];
    let _: fn(ErrorCode) = |code| match code {
        GraphqlParseFailed
        | GraphqlValidationFailed
        | BadUserInput
        | InvalidCursor
        | CostExceeded
        | PersistedQueryNotFound
        | Unauthenticated
        | Forbidden
        | NotFound
        | RateLimited
        | Timeout
        | Unavailable
        | Internal => {}
    };
    all.to_vec()
}

#[test]
fn the_table_of_errors_has_every_code_and_says_which_may_be_retried() {
    let rows = Document::read(GUIDE).rows("When something is wrong");
    let shown: Vec<(String, String)> = rows
        .into_iter()
        .filter_map(|cells| Some((cells[0].clone(), cells.get(2)?.clone())))
        .collect();
    let retried = |code: &ErrorCode| if code.retryable() { "yes" } else { "no" };
    let expected: Vec<(String, String)> = error_codes()
        .iter()
        .map(|code| (format!("`{}`", code.as_str()), retried(code).to_owned()))
        .collect();
    assert_eq!(shown, expected);
}

/// The texts of the source, in one: what is broken over lines is joined.
fn source(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let mut lines = fs::read_to_string(path).unwrap();
            lines = lines
                .lines()
                .map(str::trim_start)
                .collect::<Vec<&str>>()
                .join("\n");
            text.push_str(&lines.replace("\\\n", ""));
        }
    }
}

/// The text of all source files below a directory.
fn source_of(directory: &str) -> String {
    let mut text = String::new();
    source(&workspace_dir().join(directory), &mut text);
    text
}

#[test]
fn the_table_of_metrics_has_all_that_the_program_exports_and_no_others() {
    let rows = Document::read(OPERATIONS).rows("Watch it");
    let names = rows.iter().flat_map(|cells| cells[0].split(", "));
    let shown: BTreeSet<String> = names
        .map(|name| name.trim_matches('`').to_owned())
        .filter(|name| name.starts_with("vitrine_"))
        .collect();
    let exported = BTreeSet::from_iter(vitrine_server::metric_names());
    let missing = exported.difference(&shown);
    let missing = missing.map(|name| format!("{OPERATIONS} does not explain {name}"));
    let unknown = shown.difference(&exported);
    let unknown = unknown.map(|name| format!("the program does not export {name}"));
    none(&missing.chain(unknown).collect::<Vec<String>>());
}

#[test]
fn the_tables_of_workers_have_all_of_them() {
    for (path, heading) in [(OPERATIONS, "Watch it"), (ARCHITECTURE, "The workers")] {
        let cells = first_cells(path, heading);
        let shown: Vec<&str> = cells.iter().flat_map(|cell| cell.split(", ")).collect();
        let missing = Worker::ALL
            .iter()
            .map(|worker| format!("`{}`", worker.name()))
            .filter(|name| !shown.contains(&name.as_str()));
        let missing = missing.map(|name| format!("{path} does not name {name}"));
        none(&missing.collect::<Vec<String>>());
    }
}

#[test]
fn queries_in_tables_of_symptoms_are_valid() {
    let rows = Document::read(OPERATIONS).rows("Symptoms");
    assert!(rows.len() > 8, "the table is found");
    let queries: Vec<String> = rows
        .iter()
        .flat_map(|cells| cells[1].split('`'))
        .filter(|text| text.starts_with("{ ") && !text.contains('…'))
        .map(str::to_owned)
        .collect();
    assert!(!queries.is_empty(), "queries are found");
    test(async |app| {
        for query in &queries {
            let answer = app.query(query).as_admin().await;
            assert_eq!(answer.errors(), [""; 0], "{query}");
        }
    });
}

#[test]
fn the_messages_that_are_explained_are_ones_that_the_program_has() {
    let text = source_of("services");
    let rows = Document::read(OPERATIONS).rows("Messages");
    assert!(rows.len() > 10, "the table is found");
    let said = rows.iter().flat_map(|cells| cells[0].split("`, `"));
    let said = said.map(|message| message.trim_matches('`'));
    let unknown = said.filter(|message| {
        // What differs from case to case is left out of the table, as `…`.
        message.split('…').any(|part| !text.contains(part.trim()))
    });
    none(
        &unknown
            .map(|message| format!("nothing says {message:?}"))
            .collect::<Vec<_>>(),
    );
}
