//! Settings from the environment, as containers get them.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

use clap::{Arg, CommandFactory as _};
use saphyr::{LoadableYamlNode as _, YamlOwned};
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::process::binary;
use vitrine_server::Cli;

/// Runs a command that needs no database, with these variables and no others of ours.
fn run_with(command: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut program = Command::new(binary());
    for name in variable_names() {
        program.env_remove(name);
    }
    let program = program.args(command).envs(variables.iter().copied());
    program.output().unwrap()
}

fn error_of(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The variables of all settings.
fn variable_names() -> BTreeSet<String> {
    let command = Cli::command();
    let names = command.get_arguments().filter_map(Arg::get_env);
    names
        .map(|name| name.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_empty_variable_is_an_absent_one() {
    let names = variable_names();
    assert!(names.len() > 50, "{names:?}");
    let empty: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let output = run_with(&["schema"], &empty);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn an_error_names_the_variable_as_well_as_the_flag() {
    for (name, value) in [
        ("VITRINE_LISTEN", "everywhere"),
        ("VITRINE_COST_LIMIT", "much"),
        ("VITRINE_CURRENCY", "XXQ"),
        ("VITRINE_TOKEN_LEEWAY", "301"),
        ("VITRINE_ALLOWED_ORIGIN", "*"),
        ("VITRINE_REVIEW_MODERATION", "never"),
        ("VITRINE_LOG_FORMAT", "xml"),
        ("VITRINE_LOG", "vitrine=loud"),
    ] {
        let said = error_of(&run_with(&["schema"], &[(name, value)]));
        let flag = name
            .trim_start_matches("VITRINE_")
            .to_lowercase()
            .replace('_', "-");
        assert!(
            said.contains(name) && said.contains(&format!("--{flag}")),
            "{said}"
        );
    }
}

#[test]
fn a_secret_may_come_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    let uri = ("VITRINE_MONGODB_URI", "mongodb://127.0.0.1");
    let name = "VITRINE_TOKEN_SECRET_FILE";
    let issued = run_with(&["token"], &[uri, (name, file.to_str().unwrap())]);
    assert!(
        issued.status.success(),
        "{}",
        String::from_utf8_lossy(&issued.stderr)
    );
    let said = error_of(&run_with(&["token"], &[uri, (name, "/missing/secret")]));
    assert!(
        said.contains("cannot read the secret in /missing/secret (VITRINE_TOKEN_SECRET_FILE)"),
        "{said}"
    );
    let said = error_of(&run_with(&["token"], &[uri]));
    assert!(
        said.contains("set VITRINE_TOKEN_SECRET (or VITRINE_TOKEN_KEYS)"),
        "{said}"
    );
}

#[test]
fn a_file_for_refused_lines_that_cannot_be_written_is_named_before_the_import() {
    let directory = tempfile::tempdir().unwrap();
    let feed = directory.path().join("feed.csv");
    fs::write(&feed, "Handle,Title\n").unwrap();
    let import = ["import", feed.to_str().unwrap(), "--mapping", "shopify"];
    let rejects = ["--rejects", "/missing/rejects.jsonl"];
    let said = error_of(&run_with(&[import.as_slice(), &rejects].concat(), &[]));
    let expected =
        "cannot write refused lines to /missing/rejects.jsonl; choose another file with --rejects";
    assert!(said.contains(expected), "{said}");
}

/// What one container of the compose file sets or passes on, merged mappings included.
fn passed_on(environment: &YamlOwned, found: &mut BTreeSet<String>) {
    for (name, value) in environment.as_mapping().unwrap() {
        let name = name.as_str().unwrap();
        if name != "<<" {
            found.insert(name.to_owned());
        } else if let Some(all) = value.as_sequence() {
            for one in all {
                passed_on(one, found);
            }
        } else {
            passed_on(value, found);
        }
    }
}

/// Variables that mean nothing in a container: the database is another one, and its image sets the address.
const LOCAL: [&str; 5] = [
    "VITRINE_CATALOGUE",
    "VITRINE_DATA_DIR",
    "VITRINE_LISTEN",
    "VITRINE_MONGOD",
    "VITRINE_SEED",
];

#[test]
fn every_setting_can_be_given_to_the_containers() {
    let text = fs::read_to_string(workspace_dir().join("docker/compose.yaml")).unwrap();
    let compose = YamlOwned::load_from_str(&text).unwrap().remove(0);
    let of = |container: &str| {
        let mut found = BTreeSet::new();
        passed_on(&compose["services"][container]["environment"], &mut found);
        found
    };
    let known: BTreeSet<String> = variable_names();
    let wanted: BTreeSet<String> = known
        .iter()
        .filter(|name| !LOCAL.contains(&name.as_str()))
        .cloned()
        .collect();
    assert_eq!(of("serve"), wanted);
    let pictures = wanted
        .iter()
        .filter(|name| name.contains("PICTURES") || name.contains("S3"));
    let pictures = pictures
        .filter(|name| *name != "VITRINE_PICTURES_ADDRESS")
        .map(String::as_str);
    let basic = [
        "VITRINE_CURRENCY",
        "VITRINE_DATABASE",
        "VITRINE_LOG",
        "VITRINE_LOG_FORMAT",
        "VITRINE_MONGODB_URI",
    ];
    let all = pictures.chain(basic).chain(["VITRINE_MONITOR_LISTEN"]);
    let work: BTreeSet<String> = all.map(str::to_owned).collect();
    assert_eq!(of("work"), work);
    assert!(basic.iter().all(|name| of("migrate").contains(*name)));
    // Only what no service can do without is required.
    let required: Vec<&str> = text.lines().filter(|line| line.contains(":?")).collect();
    assert_eq!(
        required.len(),
        2,
        "the cursor secret and the version of MongoDB: {required:?}"
    );
}
