//! The command line.

use std::fs;
use std::process::Output;

use vitrine_harness::process::run;
use vitrine_harness::{App, product, review, test};
use vitrine_storage::migrations::FILES;

/// Records the schema, which commands compare with.
async fn migrated(app: &App) {
    let applied = app.store.migrate(FILES, "test", false, &|_| {});
    applied.await.unwrap();
}

fn vitrine(app: &App, arguments: &[&str]) -> Output {
    let at = [
        "--mongodb-uri",
        app.uri(),
        "--database",
        app.store.database_name(),
    ];
    run(&[arguments, &at].concat())
}

/// What a command prints, which must succeed.
fn printed(app: &App, arguments: &[&str]) -> String {
    let output = vitrine(app, arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command complains about, which must fail.
fn complaint(app: &App, arguments: &[&str]) -> String {
    let output = vitrine(app, arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_export_and_an_import_are_one_command_each() {
    test(async |app| {
        migrated(app).await;
        app.has([product("Lamp").price("1"), product("Desk")]).await;
        app.has_reviews([review("Lamp", 1, 5).author("ann")]).await;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shop.jsonl");
        let file = path.to_str().unwrap();
        let report = printed(app, &["export", "--out", file]);
        let digest = report.lines().last().unwrap();
        assert!(
            digest.starts_with("digest ") && report.contains("2 products"),
            "{report}"
        );
        assert_eq!(
            printed(app, &["export", "--digest"]).lines().last(),
            Some(digest)
        );
        let piped = printed(app, &["export", "--out", "-"]);
        assert_eq!(piped, fs::read_to_string(&path).unwrap());
        let checked = printed(app, &["import", file, "--dry-run"]);
        assert!(checked.contains("nothing was written"), "{checked}");
        super::emptied(app).await;
        let read = printed(app, &["import", file]);
        assert!(read.contains("2 products created"), "{read}");
        assert_eq!(
            printed(app, &["export", "--digest"]).lines().last(),
            Some(digest)
        );
    });
}

/// Options that are wrong for an export to a file, with a part of what is said.
const WRONG_WITH_FILE: [(&[&str], &str); 12] = [
    (&["--format", "xml"], "--format"),
    (&["--filter", "{"], "--filter: not JSON"),
    (&["--filter", r#"{"colour":1}"#], "--filter: "),
    (&["--filter", r#"{"price":{}}"#], "--filter: filter.price"),
    (&["--format", "google-reviews"], "needs --site"),
    (
        &["--format", "google-reviews", "--site", "shop"],
        "--site shop",
    ),
    (
        &["--format", "google-products", "--site", "https://a.example"],
        "--availability",
    ),
    (&["--format", "sitemap"], "needs --site"),
    (
        &["--category-path", "/c/{slug}"],
        "--category-path is for --format sitemap",
    ),
    (
        &[
            "--format",
            "sitemap",
            "--site",
            "https://a.example",
            "--category-path",
            "/c",
        ],
        "--category-path /c: ",
    ),
    (
        &["--site", "https://a.example"],
        "--site is for --format google-reviews",
    ),
    (
        &["--format", "google-reviews", "--restart"],
        "--restart is for --format jsonl",
    ),
];

#[test]
fn wrong_options_are_refused_by_name() {
    test(async |app| {
        migrated(app).await;
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let (file, here) = (path("x"), directory.path().to_str().unwrap());
        fs::write(path("feed.jsonl"), "{\"a\":1}\n").unwrap();
        let feed = path("feed.jsonl");
        let to_file = WRONG_WITH_FILE.iter().map(|(more, said)| {
            let arguments = [&["export", "--out", &file], *more].concat();
            (arguments, *said)
        });
        let others = [
            (vec!["export"], "--out"),
            (
                vec!["export", "--out", "-", "--format", "csv"],
                "give a directory as --out",
            ),
            (vec!["export", "--out", here], "is a directory"),
            (vec!["export", "--out", "x.jsonl.gz"], "pipe it into gzip"),
            (vec!["export", "--digest", "--out", "x"], "--out"),
            (vec!["import", &feed], "give the --mapping"),
            (vec!["import", &feed, "--sample", "1"], "--mapping"),
        ];
        for (arguments, said) in to_file.chain(others) {
            let complaint = complaint(app, &arguments);
            assert!(complaint.contains(said), "{arguments:?}: {complaint}");
        }
        assert!(!directory.path().join("x").exists() && !directory.path().join("x.part").exists());
    });
}
