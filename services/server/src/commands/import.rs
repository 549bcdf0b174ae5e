//! `import`.

use std::process::ExitCode;

use crate::settings::{Common, Import};

pub(super) async fn run(_settings: &Common, _what: Import) -> anyhow::Result<ExitCode> {
    anyhow::bail!("pending")
}
