//! The commands are ones that the program takes, and print what is shown.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use vitrine_harness::documents::Document;
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::outlines::lines_fit;
use vitrine_harness::process::{Service, binary};
use vitrine_harness::{App, eventually, test};
use vitrine_server::Cli;
use vitrine_storage::migrations::{FILES, MigrationFile};

use super::demo::NOTICE;
use super::shell::{CommandLine, commands};
use super::steps::Step;
use super::{checked, none, settings};
use crate::process::block_on;

/// The steps of all documents, with the path of their document.
fn steps() -> Vec<(String, Step)> {
    let of = |document: Document| {
        let steps = Step::all(&document).unwrap_or_default();
        steps
            .into_iter()
            .map(move |step| (document.path.clone(), step))
    };
    checked().into_iter().flat_map(of).collect()
}

fn refusal(command: &CommandLine) -> Option<String> {
    match command {
        CommandLine::Vitrine(arguments) | CommandLine::Token(arguments) => {
            let line = ["vitrine".to_owned()].into_iter().chain(arguments.clone());
            Cli::read(line).err().map(|error| error.to_string())
        }
        CommandLine::Export(names) => {
            let known = settings::variables();
            let unknown = names.iter().find(|name| !known.contains(*name))?;
            Some(format!("no setting reads {unknown}"))
        }
        CommandLine::Curl(_) | CommandLine::Known => None,
    }
}

#[test]
fn every_command_line_is_one_that_the_program_takes() {
    let mut mistakes = Vec::new();
    for (path, step) in steps() {
        if let Step::Run { line, commands, .. } = step {
            let refused = commands.iter().filter_map(refusal);
            mistakes.extend(refused.map(|refusal| format!("{path}:{line}: {refusal}")));
        }
    }
    none(&mistakes);
}

/// The commands between backticks, with their places. Those with a placeholder show a form.
fn named() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for document in checked() {
        for (line, text) in document.prose() {
            let code = text.split('`').skip(1).step_by(2);
            let commands = code.filter(|code| {
                let ours = code.starts_with("vitrine ") || code.starts_with("cargo run");
                ours && !code.contains(['…', '<'])
            });
            let place = format!("{}:{line}", document.path);
            found.extend(commands.map(|code| (place.clone(), code.to_owned())));
        }
    }
    found
}

#[test]
fn every_command_between_backticks_is_one_that_the_program_takes() {
    let mut mistakes = Vec::new();
    let roles = settings::commands().into_iter();
    // A command may be named without its arguments.
    let mut names: Vec<String> = roles.map(|(words, _)| format!("vitrine {words}")).collect();
    names.push("cargo run --".to_owned());
    for (place, code) in named()
        .into_iter()
        .filter(|(_, code)| !names.contains(code))
    {
        let refused = match commands(&code) {
            Ok(commands) => commands.iter().find_map(refusal),
            Err(unknown) => Some(unknown),
        };
        mistakes.extend(refused.map(|refusal| format!("{place}: {refusal}")));
    }
    none(&mistakes);
}

/// What a command prints, in this directory and on the database of the test.
fn printed(app: &App, directory: &Path, arguments: &[String]) -> String {
    let database = app.store.database_name();
    let secrets = ["0123456789abcdef", "0123456789abcdef0123456789abcdef"];
    let mut command = Command::new(binary());
    command.current_dir(directory).args(arguments).args([
        "--mongodb-uri",
        app.uri(),
        "--database",
        database,
        "--cursor-secret",
        secrets[0],
        "--token-secret",
        secrets[1],
    ]);
    let output = command.output().expect("the binary runs");
    let (said, complaint) = (output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?} said {complaint}");
    String::from_utf8(said)
        .unwrap()
        .replace(database, "vitrine")
}

/// What is wrong with the output that is shown of a command.
fn misprint(app: &App, directory: &Path, step: &Step) -> Option<String> {
    let Step::Run {
        line,
        commands,
        output: Some(shown),
    } = step
    else {
        return None;
    };
    let arguments = match &commands[..] {
        // A start of everything is looked at by a test of its own.
        [CommandLine::Vitrine(arguments)] if arguments.is_empty() => return None,
        [CommandLine::Vitrine(arguments)] => arguments,
        _ => return Some(format!("line {line}: an output is shown of one command")),
    };
    let printed = printed(app, directory, arguments);
    let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<Vec<String>>();
    let (shown, real) = (lines(shown), lines(&printed));
    let fit = lines_fit(&refs(&shown), &refs(&real));
    (!fit).then(|| format!("line {line}: {arguments:?} prints\n{printed}"))
}

fn refs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

#[test]
fn commands_print_what_is_shown() {
    test(async |app| {
        app.store
            .migrate(FILES, "test", false, &|_| {})
            .await
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut mistakes = Vec::new();
        for (path, step) in steps() {
            if let Step::File { name, text } = &step {
                fs::write(directory.path().join(name), text).unwrap();
            }
            let mistake = misprint(app, directory.path(), &step);
            mistakes.extend(mistake.map(|mistake| format!("{path}: {mistake}")));
        }
        none(&mistakes);
    });
}

#[test]
fn a_start_prints_what_the_readme_shows() {
    let output = steps().into_iter().find_map(|(path, step)| match step {
        Step::Run { output, .. } if path == "README.md" => output,
        _ => None,
    });
    let shown = output.expect("the readme shows what a start prints");
    assert!(
        shown.contains(NOTICE),
        "the demo catalogue is said to be invented"
    );
    // A start without the demo catalogue takes seconds less and says the same but for the notice.
    let data = tempfile::tempdir().unwrap();
    let here = data.path().to_str().unwrap();
    let usual = Cli::read(["vitrine"]).unwrap().dev.listen.to_string();
    let printed = block_on(async {
        let service = Service::start(&[
            "--data-dir",
            here,
            "--listen",
            "127.0.0.1:0",
            "--catalogue",
            "empty",
            "--log",
            "error",
        ]);
        let address = service.ready().await;
        let end = async || {
            service
                .output()
                .contains("Ctrl-C")
                .then(|| service.output())
        };
        let said = eventually("the end of the greeting", Duration::from_secs(20), end).await;
        assert!(service.stop().await.success());
        said.replace(&address, &usual)
    });
    let shown: Vec<&str> = shown.lines().filter(|line| *line != NOTICE).collect();
    let real: Vec<&str> = printed.trim().lines().collect();
    assert!(lines_fit(&shown, &real), "{printed}");
}

#[test]
fn an_example_of_a_numbered_file_can_be_applied() {
    let texts: Vec<&'static str> = steps()
        .into_iter()
        .filter_map(|(_, step)| match step {
            Step::NumberedFile { text } => Some(&*text.leak()),
            _ => None,
        })
        .collect();
    assert!(!texts.is_empty(), "migrations/README.md shows one");
    test(async |app| {
        for &text in &texts {
            let file = MigrationFile {
                name: "0001_example",
                text,
            };
            let applied = app
                .store
                .migrate(&[file], "test", false, &|_| {})
                .await
                .unwrap();
            assert_eq!(applied.len(), 1, "{applied:?}");
        }
    });
}

#[test]
fn an_example_of_a_schema_file_shows_a_real_one() {
    for (path, step) in steps() {
        if let Step::SchemaFile { shown } = step {
            let name = shown["collection"]
                .as_str()
                .expect("the collection is shown");
            let file = workspace_dir().join(format!("schema/mongodb/{name}.json"));
            let real = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            let differences = vitrine_harness::outlines::Ids::default().differences(&shown, &real);
            assert!(differences.is_empty(), "{path}: {differences:#?}");
        }
    }
}
