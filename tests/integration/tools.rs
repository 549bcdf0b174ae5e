//! Tests that need a browser or Node.js run, are left out, or fail.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use vitrine_harness::tools::{Decision, LeftOut, decide, summary};
use vitrine_harness::{browser, node};

#[test]
fn a_test_without_its_tool_is_left_out_and_fails_in_ci() {
    let missing = || Err::<(), String>("there is no browser".to_owned());
    let reason = "there is no browser".to_owned();
    assert_eq!(decide(missing(), false), Decision::LeaveOut(reason.clone()));
    assert_eq!(decide(missing(), true), Decision::Fail(reason));
    assert_eq!(decide(Ok("browser"), false), Decision::Run("browser"));
    assert_eq!(decide(Ok("browser"), true), Decision::Run("browser"));
}

#[test]
fn the_end_of_a_run_says_which_tests_were_left_out_and_why() {
    let tests = |names: &[&str]| -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    };
    let left_out = LeftOut::from([
        (
            "there is no browser".to_owned(),
            tests(&["web::b", "web::a"]),
        ),
        (
            "npm packages are missing".to_owned(),
            tests(&["clients::a"]),
        ),
    ]);
    insta::assert_snapshot!(summary(&left_out), @"
    left out: clients::a
      1 test, because npm packages are missing
    left out: web::a
    left out: web::b
      2 tests, because there is no browser
    With CI set, these tests fail instead.
    ");
}

#[test]
fn a_browser_is_the_chosen_one_or_one_on_the_search_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::join_paths([PathBuf::from("/missing"), folder.path().to_owned()]);
    let path = path.unwrap();
    let reason = browser::find(None, &path).unwrap_err();
    for part in browser::NAMES.iter().chain([&browser::DEBIAN_PACKAGE]) {
        assert!(reason.contains(part), "{reason}");
    }
    let (found, chosen) = (folder.path().join("chromium"), folder.path().join("mine"));
    fs::write(&found, "").unwrap();
    fs::write(&chosen, "").unwrap();
    assert_eq!(browser::find(None, &path), Ok(found));
    assert_eq!(browser::find(Some(chosen.clone()), &path), Ok(chosen));
}

#[test]
#[should_panic(expected = "VITRINE_CHROMIUM names /missing/browser, which is no file")]
fn a_chosen_browser_that_is_missing_is_an_error() {
    let _ = browser::find(Some("/missing/browser".into()), OsStr::new(""));
}

#[test]
fn scripts_need_a_recent_node_and_their_packages() {
    let check = |version, has_packages| node::check("clients", version, has_packages);
    assert_eq!(check(Some("v20.0.0"), true), Ok(()));
    assert_eq!(check(Some("v100.1.0"), true), Ok(()));
    insta::assert_snapshot!(check(Some("v18.19.0"), true).unwrap_err(), @"Node.js 20 or newer is needed: `node` on PATH is v18.19.0");
    insta::assert_snapshot!(check(Some("v20.0.0"), false).unwrap_err(), @"npm packages are missing in tests/clients (`npm ci --prefix tests/clients --ignore-scripts`)");
    insta::assert_snapshot!(check(None, true).unwrap_err(), @"there is no Node.js: no `node` on PATH (Debian, Ubuntu: `apt-get install nodejs npm`, then `npm ci --prefix tests/clients --ignore-scripts`)");
    assert!(check(Some("?"), true).is_err());
}

/// Runs tests that need a tool in a process that finds none.
fn run_without_tools(variables: &[(&str, &str)]) -> Output {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args([
        "--exact",
        "web::files::scripts_have_the_types_that_they_declare",
        "web::browsing::a_list_is_filtered_in_any_unit_and_going_back_restores_it",
    ]);
    tests.env_clear().env("PATH", "/missing");
    tests.envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn a_run_without_tools_passes_and_prints_what_it_left_out_last() {
    let output = run_without_tools(&[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    insta::assert_snapshot!(errors, @"
    left out: web::files::scripts_have_the_types_that_they_declare
      1 test, because there is no Node.js: no `node` on PATH (Debian, Ubuntu: `apt-get install nodejs npm`, then `npm ci --prefix tests/types --ignore-scripts`)
    left out: web::browsing::a_list_is_filtered_in_any_unit_and_going_back_restores_it
      1 test, because there is no browser: none of chromium-headless-shell, chromium, google-chrome, chromium-browser on PATH, and VITRINE_CHROMIUM is not set (Debian, Ubuntu: `apt-get install chromium-headless-shell`)
    With CI set, these tests fail instead.
    ");
}

#[test]
fn a_run_without_tools_fails_in_ci() {
    let output = run_without_tools(&[("CI", "true")]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    for reason in ["there is no browser", "there is no Node.js"] {
        let reason = format!("CI is set, so this test is not left out: {reason}");
        assert!(said.contains(&reason), "{said}");
    }
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
