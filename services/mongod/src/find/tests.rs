use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use super::*;

/// A directory with a `mongod` that reports `version`.
fn directory_with(version: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mongod");
    fs::write(&path, format!("#!/bin/sh\necho 'db version v{version}'\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

fn path_of(directories: &[&tempfile::TempDir]) -> OsString {
    let paths = directories.iter().map(|directory| directory.path());
    std::env::join_paths(paths).unwrap()
}

async fn find(search: &Search) -> Result<Mongod, FindError> {
    Mongod::find(search, &|_| ()).await
}

#[tokio::test]
async fn the_configured_binary_takes_precedence_over_path() {
    let (named, other) = (directory_with("7.0.1"), directory_with("8.0.1"));
    let search = Search {
        binary: Some(named.path().join("mongod")),
        path_var: Some(path_of(&[&other])),
        ..Search::default()
    };
    let found = find(&search).await.unwrap();
    assert_eq!(found.version().to_string(), "7.0.1");
    assert_eq!(found.path(), named.path().join("mongod"));
}

#[tokio::test]
async fn a_configured_binary_that_is_too_old_is_an_error_even_if_path_has_a_good_one() {
    let (old, good) = (directory_with("5.0.9"), directory_with("7.0.1"));
    let search = Search {
        binary: Some(old.path().join("mongod")),
        path_var: Some(path_of(&[&good])),
        ..Search::default()
    };
    let error = find(&search).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("its version 5.0.9 is too old"),
        "{message}"
    );
    assert!(message.contains("VITRINE_MONGOD"), "{message}");
}

#[tokio::test]
async fn a_configured_binary_that_does_not_exist_is_an_error() {
    let search = Search {
        binary: Some("/nonexistent/mongod".into()),
        ..Search::default()
    };
    let message = find(&search).await.unwrap_err().to_string();
    let expected = "cannot use /nonexistent/mongod as mongod: there is no such file";
    assert!(message.starts_with(expected), "{message}");
}

#[tokio::test]
async fn an_old_binary_on_path_is_skipped_and_reported() {
    let (old, good) = (directory_with("4.4.1"), directory_with("6.0.0"));
    let search = Search {
        path_var: Some(path_of(&[&old, &good])),
        ..Search::default()
    };
    let lines = Mutex::new(Vec::new());
    let report = |line: &str| lines.lock().unwrap().push(line.to_owned());
    let found = Mongod::find(&search, &report).await.unwrap();
    assert_eq!(found.path(), good.path().join("mongod"));
    assert!(lines.lock().unwrap()[0].contains("4.4.1 is too old"));
}

#[tokio::test]
async fn the_final_error_lists_every_place_in_order() {
    let (old, empty) = (directory_with("4.4.1"), tempfile::tempdir().unwrap());
    let search = Search {
        path_var: Some(path_of(&[&old, &empty])),
        cache_dir: empty.path().to_owned(),
        ..Search::default()
    };
    let message = find(&search).await.unwrap_err().to_string();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 6, "{message}");
    assert_eq!(lines[1], "  1. VITRINE_MONGOD: it is not set");
    assert!(lines[2].starts_with("  2. PATH, ") && lines[2].contains("4.4.1 is too old"));
    assert!(lines[3].starts_with("  3. the cache, ") && lines[3].ends_with("it does not exist"));
    assert_eq!(lines[4], "  4. the download: it is disabled");
    assert!(lines[5].contains("VITRINE_MONGODB_URI"));
}

#[test]
fn the_cache_follows_the_base_directory_specification() {
    let of = |xdg: Option<&str>, home: Option<&str>| {
        default_cache_dir(xdg.map(Path::new), home.map(Path::new))
    };
    assert_eq!(of(Some("/x"), Some("/h")), Some("/x/vitrine".into()));
    assert_eq!(of(None, Some("/h")), Some("/h/.cache/vitrine".into()));
    assert_eq!(
        of(Some("relative"), Some("/h")),
        Some("/h/.cache/vitrine".into())
    );
    assert_eq!(of(Some(""), None), None);
}
