//! Environment variables of settings: empty ones are absent, messages name them, and secrets may come from files.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};

use super::Secret;

#[expect(
    clippy::disallowed_methods,
    reason = "settings are read from the environment and nowhere else"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns a command that does not see variables whose value is empty: Compose files pass on what is not set as an empty
/// text.
pub(super) fn without_empty_variables(command: Command) -> Command {
    command.mut_args(|argument| {
        let name = argument.get_env().and_then(|name| name.to_str());
        let is_empty = name.is_some_and(|name| variable(name).is_none());
        if is_empty {
            argument.env(None::<&str>)
        } else {
            argument
        }
    })
}

/// Adds the variable to an error about the value of a setting, which may have come from it.
pub(super) fn naming_the_variable(mut error: clap::Error, command: &Command) -> clap::Error {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_shown = |argument: &&Arg| argument.to_string() == *shown;
    let argument = command.get_arguments().find(is_shown);
    let name = argument
        .and_then(Arg::get_env)
        .map(|name| name.to_string_lossy());
    if let Some(name) = name {
        let shown = format!("{shown} ({name})");
        error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    }
    error
}

/// Reads a secret from the file that the variable of the secret with `_FILE` behind its name points to, if it is set.
pub(super) fn secret_file(name: &str) -> Result<Option<Secret>, String> {
    let name = format!("{name}_FILE");
    let Some(path) = variable(&name) else {
        return Ok(None);
    };
    let path = path.to_string_lossy();
    let text = std::fs::read_to_string(&*path);
    let text =
        text.map_err(|error| format!("cannot read the secret in {path} ({name}): {error}"))?;
    Ok(Some(Secret::new(text.trim_end())))
}
