//! Logging, to standard error: standard output is for results.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::settings::{Common, LogFormat};

/// Starts logging with the configured filter and format.
pub(crate) fn start(settings: &Common) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.log)
        .context("--log is neither a level nor a list of levels by module")?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Colour codes would make lines in files hard to search. On a terminal, NO_COLOR turns them off.
    let builder = if std::io::stderr().is_terminal() {
        builder
    } else {
        builder.with_ansi(false)
    };
    let started = match settings.log_format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("starting logging: {error}"))
}
