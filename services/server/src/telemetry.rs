//! Logging: to standard error, so that standard output stays for answers.

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::settings::{Common, LogFormat};

/// Starts logging as the settings say.
pub(crate) fn start(settings: &Common) -> anyhow::Result<()> {
    let filter =
        EnvFilter::try_new(&settings.log).context("--log is no level and no list of levels")?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("starting the log: {error}"))
}
