//! The tables of settings and commands are what the program takes.

use std::collections::BTreeSet;

use clap::{Arg, Command, CommandFactory as _};
use vitrine_harness::documents::Document;
use vitrine_server::Cli;

use super::{checked, none};

const GUIDE: &str = "docs/operations.md";

/// Flags and variables of other programs that documents name.
const FOREIGN: [&str; 14] = [
    "--all",
    "--bench",
    "--build",
    "--ignore-scripts",
    "--locked",
    "--oplog",
    "--oplogLimit",
    "--oplogReplay",
    "--profile",
    "--query",
    "--release",
    "--replSet",
    "--setParameter",
    "--test",
];

/// What is said of a setting.
type Row = [String; 3];

/// The flag, the variable and the default of an argument.
fn row(argument: &Arg) -> Option<Row> {
    let flag = argument.get_long()?;
    let variable = argument.get_env().unwrap_or_default().to_string_lossy();
    let takes_value = argument.get_action().takes_values();
    let default = argument.get_default_values().first();
    let default = default
        .filter(|_| takes_value)
        .map(|text| text.to_string_lossy());
    let code = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("`{text}`")
        }
    };
    Some([
        code(&format!("--{flag}")),
        code(&variable),
        code(&default.unwrap_or_default()),
    ])
}

/// All commands with the words that call them: `migrate up`.
pub(super) fn commands() -> Vec<(String, Command)> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), Cli::command())];
    while let Some((words, command)) = left.pop() {
        for inner in command.get_subcommands() {
            let words = format!("{words} {}", inner.get_name()).trim().to_owned();
            left.push((words, inner.clone()));
        }
        if !command.has_subcommands() || words.is_empty() {
            found.push((words, command));
        }
    }
    found
}

/// The flags of all commands, each once.
fn flags() -> BTreeSet<String> {
    let commands = commands();
    let arguments = commands
        .iter()
        .flat_map(|(_, command)| command.get_arguments());
    let flags = arguments.filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
    flags.collect()
}

/// The environment variables that settings read.
pub(super) fn variables() -> BTreeSet<String> {
    let commands = commands();
    let arguments = commands
        .iter()
        .flat_map(|(_, command)| command.get_arguments());
    let named = arguments.filter_map(Arg::get_env);
    named
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn the_table_of_settings_is_what_the_program_takes() {
    let commands = commands();
    let settings = commands
        .iter()
        .flat_map(|(_, command)| command.get_arguments());
    // What belongs to one command, and has no variable, stands in the table of commands.
    let everywhere = settings.filter(|one| one.is_global_set() || one.get_env().is_some());
    let expected: BTreeSet<Row> = everywhere.filter_map(row).collect();
    let rows = Document::read(GUIDE).rows("Settings").into_iter();
    let shown = rows.map(|cells| [0, 1, 2].map(|at| cells[at].clone()));
    // Where the data is depends on the user.
    let shown = shown.map(|[flag, variable, default]| {
        let default = if flag == "`--data-dir`" {
            String::new()
        } else {
            default
        };
        [flag, variable, default]
    });
    assert_eq!(shown.collect::<BTreeSet<Row>>(), expected);
}

#[test]
fn the_table_of_commands_has_every_command_with_its_flags() {
    let rows = Document::read(GUIDE).rows("Roles");
    let mut missing = Vec::new();
    for (words, command) in commands().iter().filter(|(words, _)| !words.is_empty()) {
        let named = rows
            .iter()
            .find(|cells| cells[0].contains(&format!("`{words}`")));
        let Some(cells) = named else {
            missing.push(format!("no row for {words}"));
            continue;
        };
        let own = command.get_arguments().filter(|one| !one.is_global_set());
        let flags = own.filter(|one| one.get_env().is_none() && !one.is_hide_set());
        let flags = flags
            .filter_map(Arg::get_long)
            .filter(|flag| *flag != "help");
        let unsaid = flags.filter(|flag| !cells[1].contains(&format!("--{flag}")));
        missing.extend(unsaid.map(|flag| format!("nothing is said of {words} --{flag}")));
    }
    none(&missing);
}

/// Variables that the harness reads, and the program does not.
const OF_TESTS: [&str; 1] = ["VITRINE_CHROMIUM"];

#[test]
fn flags_and_variables_that_documents_name_exist() {
    let (flags, variables) = (flags(), variables());
    let mut unknown = Vec::new();
    for document in checked() {
        for word in document.text.split(|sign: char| !is_part(sign)) {
            let flag = word.starts_with("--") && word.len() > 2 && !word.starts_with("---");
            let known = flags.contains(word) || FOREIGN.contains(&word) || OWN.contains(&word);
            let variable = word.starts_with("VITRINE_") && !OF_TESTS.contains(&word);
            if (flag && !known) || (variable && !variables.contains(word)) {
                unknown.push(format!("{}: {word}", document.path));
            }
        }
    }
    none(&unknown);
}

/// Flags that every command has.
const OWN: [&str; 2] = ["--help", "--version"];

const fn is_part(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_')
}
