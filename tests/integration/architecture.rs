//! The boundaries of the house: who may depend on whom, who owns which outside crate, and what
//! storage never shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use vitrine_harness::environment::workspace_dir;

/// Which crates of ours each crate of ours may name.
const EDGES: [(&str, &[&str]); 15] = [
    ("vitrine-model", &[]),
    ("vitrine-storage", &["vitrine-model"]),
    (
        "vitrine-domain",
        &["vitrine-model", "vitrine-pictures", "vitrine-storage"],
    ),
    (
        "vitrine-api",
        &["vitrine-api-derive", "vitrine-domain", "vitrine-model"],
    ),
    ("vitrine-api-derive", &[]),
    (
        "vitrine-first-mapping",
        &["vitrine-formats", "vitrine-ingest", "vitrine-model"],
    ),
    ("vitrine-formats", &[]),
    (
        "vitrine-ingest",
        &["vitrine-domain", "vitrine-formats", "vitrine-model"],
    ),
    ("vitrine-export", &["vitrine-domain", "vitrine-model"]),
    ("vitrine-demo", &["vitrine-model"]),
    ("vitrine-mongod", &[]),
    ("vitrine-pictures", &["vitrine-model"]),
    ("vitrine-web", &[]),
    (
        "vitrine-server",
        &[
            "vitrine-api",
            "vitrine-demo",
            "vitrine-domain",
            "vitrine-export",
            "vitrine-first-mapping",
            "vitrine-formats",
            "vitrine-ingest",
            "vitrine-model",
            "vitrine-mongod",
            "vitrine-storage",
            "vitrine-web",
        ],
    ),
    (
        "vitrine-workspace-tests",
        &[
            "vitrine-api",
            "vitrine-demo",
            "vitrine-domain",
            "vitrine-export",
            "vitrine-ingest",
            "vitrine-model",
            "vitrine-mongod",
            "vitrine-server",
            "vitrine-storage",
            "vitrine-web",
        ],
    ),
];

/// Outside crates that only some may name. The tests may name all of them.
const OWNERS: [(&str, &[&str]); 11] = [
    ("mongodb", &["vitrine-storage", "vitrine-mongod"]),
    ("bson", &["vitrine-storage", "vitrine-mongod"]),
    ("async-graphql", &["vitrine-api"]),
    ("async-graphql-value", &["vitrine-api"]),
    ("async-graphql-axum", &["vitrine-api"]),
    ("apollo-compiler", &["vitrine-api"]),
    ("axum", &["vitrine-api", "vitrine-web"]),
    ("tower-http", &["vitrine-api"]),
    ("dataloader", &["vitrine-api"]),
    ("clap", &["vitrine-server"]),
    ("tracing-subscriber", &["vitrine-server"]),
];

fn metadata() -> Metadata {
    let mut command = MetadataCommand::new();
    command.current_dir(workspace_dir()).no_deps();
    command.exec().unwrap()
}

/// What a package names, for use or for its own tests.
fn named(package: &Package) -> BTreeSet<String> {
    package
        .dependencies
        .iter()
        .map(|dependency| dependency.name.clone())
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_the_table_says() {
    let metadata = metadata();
    let mut packages: Vec<&str> = metadata
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    packages.sort_unstable();
    let mut known: Vec<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(packages, known, "every crate has a line in the table");
    for package in &metadata.packages {
        let (_, allowed) = EDGES
            .iter()
            .find(|(name, _)| *name == package.name.as_str())
            .unwrap();
        let ours: Vec<String> = named(package)
            .into_iter()
            .filter(|name| name.starts_with("vitrine-"))
            .collect();
        let strangers: Vec<&String> = ours
            .iter()
            .filter(|name| !allowed.contains(&name.as_str()))
            .collect();
        assert!(
            strangers.is_empty(),
            "{} may not depend on {strangers:?}",
            package.name
        );
    }
}

/// Cargo takes packages in the order of their names. What the integration tests say at their end, such as which of them were
/// left out, is not followed by other results.
#[test]
fn the_tests_of_the_workspace_run_last() {
    let names = metadata().packages.into_iter().map(|package| package.name);
    let last = names.max_by(|one, other| one.as_str().cmp(other.as_str()));
    assert_eq!(last.unwrap().as_str(), env!("CARGO_PKG_NAME"));
}

#[test]
fn outside_crates_are_named_by_their_owners_only() {
    let mut strangers = Vec::new();
    for package in metadata()
        .packages
        .iter()
        .filter(|package| package.name.as_str() != "vitrine-workspace-tests")
    {
        for (outside, owners) in OWNERS {
            if named(package).contains(outside) && !owners.contains(&package.name.as_str()) {
                strangers.push(format!(
                    "{} names {outside}, which belongs to {owners:?}",
                    package.name
                ));
            }
        }
    }
    assert!(strangers.is_empty(), "{}", strangers.join("\n"));
}

#[test]
fn nothing_depends_on_the_tests_and_the_model_does_no_input_or_output() {
    let metadata = metadata();
    for package in &metadata.packages {
        assert!(
            !named(package).contains("vitrine-workspace-tests"),
            "{}",
            package.name
        );
    }
    let model = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == "vitrine-model")
        .unwrap();
    let normal = model
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal);
    for dependency in normal {
        let busy = ["tokio", "futures", "reqwest", "tracing"]
            .iter()
            .any(|name| dependency.name.starts_with(name));
        assert!(!busy, "the model names {}", dependency.name);
    }
}

#[test]
fn versions_and_lints_are_said_once() {
    for package in &metadata().packages {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{} has lints of its own",
            package.name
        );
        assert!(
            manifest.contains("version.workspace = true"),
            "{} has a version of its own",
            package.name
        );
    }
}

/// Returns the features of each package as `cargo tree` lists them for these kinds of dependencies.
fn features(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace_dir());
    cargo.args(["tree", "--locked", "--workspace", "--prefix", "none"]);
    let listed = cargo.args(["--edges", edges, "--format", "{p}|{f}"]);
    let listed = listed.output().unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let mut features: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(listed.stdout).unwrap().lines() {
        if let Some((package, of_package)) = line.split_once('|') {
            let of_package = of_package.trim_end_matches(" (*)").to_owned();
            let package = package.trim_end_matches(" (proc-macro)").to_owned();
            features.entry(package).or_default().insert(of_package);
        }
    }
    features
}

#[test]
fn a_build_and_the_tests_share_what_they_compile() {
    let build = features("normal,build");
    let tests = features("normal,build,dev");
    assert!(build.len() > 100, "cargo tree has another form: {build:?}");
    for (package, features) in build {
        assert_eq!(
            tests[&package], features,
            "{package} has other features in tests: name them in tests/Cargo.toml, below [dependencies]"
        );
    }
}

/// All source files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the lines of the sources that start with one of these, each with its file.
fn lines_that_start(path: &Path, starts: &[&str]) -> Vec<String> {
    let files = if path.ends_with("main.rs") {
        vec![path.to_owned()]
    } else {
        sources(path.parent().unwrap())
    };
    let mut found = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let lines = source.lines().map(str::trim_start);
        let those = lines.filter(|line| starts.iter().any(|start| line.starts_with(start)));
        found.extend(those.map(|line| format!("{}: {line}", file.display())));
    }
    found
}

#[test]
fn cargo_looks_for_tests_where_there_are_some() {
    for package in &metadata().packages {
        for target in &package.targets {
            let path = target.src_path.as_std_path();
            let is_library = path.ends_with("lib.rs");
            if is_library || path.ends_with("src/main.rs") {
                let tests = lines_that_start(path, &["#[test]", "#[tokio::test"]);
                let (name, tested) = (&target.name, target.test);
                assert_eq!(tested, !tests.is_empty(), "`test` of {name}: {tests:#?}");
            }
            if is_library {
                let blocks = lines_that_start(path, &["/// ```", "//! ```"]);
                let (name, tested) = (&target.name, target.doctest);
                assert_eq!(
                    tested,
                    !blocks.is_empty(),
                    "`doctest` of {name}: {blocks:#?}"
                );
            }
        }
    }
}

#[test]
fn modules_are_named_after_what_they_hold() {
    for directory in ["services", "tests"] {
        for path in sources(&workspace_dir().join(directory)) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let technique = [
                "mod", "utils", "util", "helpers", "helper", "common", "manager", "misc",
            ];
            let allowed = path.ends_with("graphql/types/common.rs");
            assert!(allowed || !technique.contains(&name), "{}", path.display());
        }
    }
}

/// Everything that a source file says in public: signatures, and the fields and variants of public
/// types.
fn public_words(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if !line.starts_with("pub ") || line.starts_with("pub use") || line.starts_with("pub mod") {
            continue;
        }
        let is_type = ["struct", "enum", "trait"]
            .iter()
            .any(|word| line.starts_with(&format!("pub {word}")));
        let mut item = line.to_owned();
        // A signature ends where its body begins; the body of a type is part of what it says.
        while !ended(&item, is_type) {
            let Some(next) = lines.next() else { break };
            let next = next.trim();
            if !is_type || !is_private(next) {
                item.push(' ');
                item.push_str(next.split("//").next().unwrap_or_default());
            }
        }
        found.push(item);
    }
    found
}

fn ended(item: &str, is_type: bool) -> bool {
    let (open, close) = (item.matches('{').count(), item.matches('}').count());
    if is_type {
        item.ends_with(';') || (open > 0 && open == close)
    } else {
        item.contains('{') || item.contains(';') || item.ends_with(',')
    }
}

/// A field that nobody outside sees.
fn is_private(line: &str) -> bool {
    let field = line
        .split_once(": ")
        .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    field || line.starts_with("pub(crate)")
}

#[test]
fn storage_shows_no_documents() {
    let mut shown = Vec::new();
    for path in sources(&workspace_dir().join("services/storage/src")) {
        for item in public_words(&fs::read_to_string(&path).unwrap()) {
            let words = item.split(|c: char| !c.is_alphanumeric() && c != '_');
            let driver = words.into_iter().find(|word| {
                [
                    "bson",
                    "Bson",
                    "Document",
                    "RawDocument",
                    "RawDocumentBuf",
                    "Collection",
                    "Cursor",
                    "Database",
                    "Client",
                    "ClientSession",
                ]
                .contains(word)
            });
            if let Some(word) = driver {
                shown.push(format!("{}: {word} in {item}", path.display()));
            }
        }
    }
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn the_scan_for_public_words_sees_what_it_should() {
    let source = "pub struct A {\n    /// x\n    pub b: Document,\n    doc: RawDocumentBuf,\n}\npub(crate) fn c() -> Bson {\n}\n\
                  pub async fn d(\n    e: &Document,\n) -> F {\n    Bson::Null\n}\npub type G = Document;\n";
    let found = public_words(source);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].contains("pub b: Document") && !found[0].contains("RawDocumentBuf"),
        "{found:?}"
    );
    assert!(
        found[1].contains("e: &Document") && !found[1].contains("Bson"),
        "{found:?}"
    );
}
