//! What the readme says that tests need is what they need, and what `.ci/run` installs.

use std::collections::BTreeSet;
use std::fs;

use vitrine_harness::documents::Document;
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::{browser, node};

use super::none;

/// The text of `.ci/run`.
fn check() -> String {
    fs::read_to_string(workspace_dir().join(".ci/run")).unwrap()
}

/// The words of a line of `.ci/run` between two texts.
fn words<'a>(check: &'a str, from: &str, to: &str) -> BTreeSet<&'a str> {
    let (_, rest) = check.split_once(from).unwrap();
    let (inside, _) = rest.split_once(to).unwrap();
    inside.split_whitespace().collect()
}

/// The Debian packages that `.ci/run` installs where they are missing.
fn packages(check: &str) -> BTreeSet<&str> {
    let (_, rest) = check.split_once("missing_packages() {\n").unwrap();
    let lines = rest.lines().take_while(|line| *line != "}");
    let named = lines.filter_map(|line| line.split_once("|| echo "));
    named.flat_map(|(_, names)| names.split(' ')).collect()
}

#[test]
fn the_readme_names_what_is_installed_for_all_tests() {
    let (check, readme) = (check(), Document::read("README.md").text);
    let packages = packages(&check);
    let tools = node::DEBIAN_PACKAGES
        .iter()
        .chain([&browser::DEBIAN_PACKAGE]);
    let mut mistakes = Vec::new();
    for tool in tools.filter(|tool| !packages.contains(**tool)) {
        mistakes.push(format!(".ci/run does not install {tool}"));
    }
    let directories = node::DIRECTORIES.map(|name| format!("tests/{name}"));
    let needed = packages
        .into_iter()
        .chain(directories.iter().map(String::as_str));
    for name in needed.filter(|name| !readme.contains(&format!("`{name}`"))) {
        mistakes.push(format!("README.md does not name {name}"));
    }
    none(&mistakes);
}

#[test]
fn the_readme_says_what_becomes_of_tests_without_their_tools() {
    let readme = Document::read("README.md").text;
    for said in [
        &format!("Node.js {} or newer", node::OLDEST_VERSION),
        "left out where it is missing",
        "the end of the run says which and why",
        "Where `CI` is set these tests fail instead",
    ] {
        assert!(readme.contains(said), "README.md does not say: {said}");
    }
}

#[test]
fn in_ci_all_tools_are_there_and_no_test_is_left_out() {
    let check = check();
    assert!(check.contains("\nexport CI=\"${CI:-true}\"\n"));
    let directories = node::DIRECTORIES.map(|name| format!("tests/{name}"));
    let directories: BTreeSet<&str> = directories.iter().map(String::as_str).collect();
    assert_eq!(words(&check, "for directory in ", "; do"), directories);
    let oldest = format!("(process.versions.node) < {} ?", node::OLDEST_VERSION);
    assert!(check.contains(&oldest));
    let browsers = words(&check, "${VITRINE_CHROMIUM:-}\" ]", "\n");
    let browsers: BTreeSet<&str> = &browsers - &BTreeSet::from(["||", "has"]);
    assert_eq!(browsers, BTreeSet::from(browser::NAMES));
}

/// Documents, the check and the packages of scripts name one oldest version.
#[test]
fn scripts_declare_the_version_that_is_checked() {
    let expected = format!(
        "\"engines\": {{ \"node\": \">={}\" }}",
        node::OLDEST_VERSION
    );
    for name in node::DIRECTORIES {
        let path = workspace_dir()
            .join("tests")
            .join(name)
            .join("package.json");
        assert!(
            fs::read_to_string(path).unwrap().contains(&expected),
            "{name}"
        );
    }
}
