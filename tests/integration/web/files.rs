//! The rules for the files of the pages, none of which needs a browser; one needs Node.js.

use std::path::{Path, PathBuf};

use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use ring::digest;
use serde_json::{Value, json};
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::node::Scripts;
use vitrine_web::{Operation, console_operations, operations};

/// The maximum length of a document of the API.
const MAX_DOCUMENT_CHARACTERS: usize = 20_000;

fn web() -> PathBuf {
    workspace_dir().join("services/web")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The scripts of our own with their texts.
fn scripts() -> Vec<(PathBuf, String)> {
    let scripts = files_below(&web().join("ui")).into_iter();
    let scripts = scripts.filter(|path| path.extension().is_some_and(|one| one == "js"));
    scripts
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// The operations of the storefront and of the console.
fn all_operations() -> impl Iterator<Item = &'static Operation> {
    operations().iter().chain(console_operations())
}

#[test]
fn every_operation_fits_the_schema() {
    let schema = api_schema();
    for operation in all_operations() {
        let text = &operation.text;
        let parsed = ExecutableDocument::parse_and_validate(&schema, text.as_str(), operation.name);
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", operation.name));
        let named = parsed.operations.named.contains_key(operation.name);
        assert!(named, "{} is called otherwise in its file", operation.name);
        assert!(
            text.chars().count() <= MAX_DOCUMENT_CHARACTERS,
            "{}",
            operation.name
        );
    }
}

#[test]
fn every_operation_is_used() {
    let scripts = scripts();
    for operation in all_operations() {
        let (asked, followed) = (
            format!("\"{}\"", operation.name),
            format!("operations.{}", operation.name),
        );
        let used = scripts
            .iter()
            .any(|(_, text)| text.contains(&asked) || text.contains(&followed));
        assert!(used, "no script uses {}", operation.name);
    }
}

#[test]
fn scripts_have_the_types_that_they_declare() {
    let Some(checker) = Scripts::of("types") else {
        return;
    };
    let names = |operations: &[Operation]| -> Vec<&str> {
        operations.iter().map(|operation| operation.name).collect()
    };
    let input = json!({ "modules": {
        "operations.js": names(operations()),
        "console/operations.js": names(console_operations()),
    } });
    let checked = checker.run("check.mjs", &input);
    assert_eq!(checked["errors"], json!([]));
    let files = checked["files"].as_array().unwrap();
    assert_eq!(files.len(), scripts().len(), "{files:?}");
}

#[test]
fn types_are_of_the_versions_that_the_pages_load() {
    let vendored = std::fs::read_to_string(web().join("vendor/VENDORED.toml")).unwrap();
    let packages = workspace_dir().join("tests/types/package.json");
    let packages: Value = serde_json::from_slice(&std::fs::read(packages).unwrap()).unwrap();
    for package in ["preact", "@preact/signals", "@preact/signals-core"] {
        let version = packages["dependencies"][package].as_str().unwrap();
        let line = format!("name = \"{package}\"\nversion = \"{version}\"");
        assert!(vendored.contains(&line), "{package} is not {version}");
    }
}

#[test]
fn vendored_files_are_what_their_list_says() {
    for folder in [
        web().join("vendor"),
        workspace_dir().join("tests/vendor/axe-core"),
    ] {
        let list = std::fs::read_to_string(folder.join("VENDORED.toml")).unwrap();
        let value = |line: &str, name: &str| {
            let rest = line.strip_prefix(name)?.strip_prefix(" = \"")?;
            Some(rest.trim_end_matches('"').to_owned())
        };
        let (mut path, mut named) = (String::new(), vec!["VENDORED.toml".to_owned()]);
        for line in list.lines() {
            if let Some(licence) = value(line, "licence_file") {
                named.push(licence);
            } else if let Some(found) = value(line, "path") {
                named.push(found.clone());
                path = found;
            } else if let Some(expected) = value(line, "sha256") {
                let content = std::fs::read(folder.join(&path)).unwrap();
                let digest = digest::digest(&digest::SHA256, &content);
                let bytes = digest.as_ref().iter();
                let hex: Vec<String> = bytes.map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(hex.concat(), expected, "{path}");
            }
        }
        for file in files_below(&folder) {
            let name = file
                .strip_prefix(&folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let known = named.contains(&name) || name == "LICENSE-3RD-PARTY.txt";
            assert!(known, "{name} is not on the list of {}", folder.display());
        }
    }
}

/// What a module imports.
fn imports(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("import") || line.contains("export"));
    for line in lines {
        for opening in [
            "} from \"",
            "}from\"",
            "operations from \"",
            "import \"",
            "import(\"",
        ] {
            let ends = line
                .match_indices(opening)
                .map(|(at, _)| at + opening.len());
            found.extend(ends.filter_map(|end| line[end..].split('"').next()));
        }
    }
    found
}

#[test]
fn every_import_leads_to_a_file_of_ours() {
    let vendored = files_below(&web().join("vendor/preact")).into_iter();
    let vendored = vendored.filter(|path| path.extension().is_some_and(|one| one == "js"));
    let vendored = vendored.map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    });
    for (path, text) in scripts().into_iter().chain(vendored) {
        for import in imports(&text) {
            let shown = format!("{} imports {import}", path.display());
            assert!(
                import.starts_with("./") || import.starts_with("../"),
                "{shown}"
            );
            if import.ends_with("/operations.js") {
                continue;
            }
            // In addresses, `vendor` stands beside the folders of `ui`.
            let target = match import.strip_prefix("../vendor/") {
                Some(rest) => web().join("vendor").join(rest),
                None => path.parent().unwrap().join(import),
            };
            assert!(target.is_file(), "{shown}");
        }
    }
}

#[test]
fn no_file_of_ours_names_another_host() {
    for path in files_below(&web().join("ui")) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("http://"), "{}", path.display());
        let hosts = text
            .match_indices("https://")
            .map(|(at, _)| &text[at + 8..]);
        let named: Vec<&str> = hosts
            .filter(|rest| rest.starts_with(char::is_alphanumeric))
            .collect();
        assert!(named.is_empty(), "{}: {named:?}", path.display());
        let risky = [
            "innerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ];
        let found: Vec<&&str> = risky.iter().filter(|word| text.contains(**word)).collect();
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

#[test]
fn imports_are_found_in_what_people_and_machines_write() {
    let text = "import { h } from \"./a.js\";\nimport \"./b.js\";\nimport * as operations from \"./c.js\";\n\
                import{x as y}from\"./d.js\";export{z}from\"./e.js\";\n  field(\"from\", low);\n";
    let expected = ["./a.js", "./b.js", "./c.js", "./d.js", "./e.js"];
    assert_eq!(imports(text), expected);
}

/// Returns a file of the pages.
fn page_file(path: &str) -> String {
    std::fs::read_to_string(web().join(path)).unwrap()
}

fn api_schema() -> Valid<Schema> {
    let sdl = std::fs::read_to_string(workspace_dir().join("schema/vitrine.graphql")).unwrap();
    Schema::parse_and_validate(sdl, "vitrine.graphql").unwrap()
}

#[test]
fn the_shop_shows_every_field_of_every_kind() {
    let schema = api_schema();
    let common = &schema.get_interface("Product").unwrap().fields;
    let operations = page_file("ui/operations/fragments.graphql");
    let pages = ["ui/store/product.js", "src/pages/product/details.rs"];
    let pages = pages.map(|path| (path, page_file(path)));
    let mut fields = 0;
    for kind in &schema.implementers_map()["Product"].objects {
        let own = schema.get_object(kind).unwrap().fields.keys();
        for field in own.filter(|field| !common.contains_key(*field)) {
            let selected = operations.lines().any(|line| {
                let selection = line.trim_start().strip_prefix(&format!("... on {kind} {{"));
                let mut words = selection.unwrap_or_default().split(' ');
                words.any(|word| word == field.as_str())
            });
            assert!(selected, "the fragment Details lacks {kind}.{field}");
            for (path, text) in &pages {
                let (script, rust) = (format!("product.{field}"), format!("\"{field}\""));
                let shown = text.contains(&script) || text.contains(&rust);
                assert!(shown, "{path} lacks {kind}.{field}");
            }
            fields += 1;
        }
    }
    assert!(fields > 10, "{fields}");
}

#[test]
fn every_sort_of_products_is_offered() {
    let schema = api_schema();
    let keys = &schema.get_enum("ProductSortKey").unwrap().values;
    let (script, rust) = (
        page_file("ui/store/address.js"),
        page_file("src/address.rs"),
    );
    let (shop, console) = (
        page_file("ui/store/list.js"),
        page_file("ui/console/products.js"),
    );
    // A search has the one when no sort is chosen; the console offers the other to admins.
    let elsewhere = ["RELEVANCE", "UPDATED"];
    for key in keys.keys().filter(|key| !elsewhere.contains(&key.as_str())) {
        let assigned = format!(": \"{key}\",");
        let line = script.lines().find(|line| line.ends_with(&assigned));
        let line = line.unwrap_or_else(|| panic!("address.js lacks {key}"));
        let name = line.trim().split(':').next().unwrap().trim_matches('"');
        let same = format!("\"{name}\" => \"{key}\",");
        assert!(rust.contains(&same), "address.rs lacks {key}");
        let option = format!("[\"{name}\", \"");
        assert!(shop.contains(&option), "the lists of the shop lack {name}");
        assert!(console.contains(&option), "the console lacks {name}");
    }
}

#[test]
fn the_console_edits_every_type_of_spec() {
    let schema = api_schema();
    let types = schema.get_enum("SpecValueType").unwrap().values.keys();
    let types: Vec<String> = types.map(|value| format!("{value:?}")).collect();
    let line = format!("const TYPES = [{}];", types.join(", "));
    let script = page_file("ui/console/product-specs.js");
    assert!(script.contains(&line), "product-specs.js lacks {line}");
}
