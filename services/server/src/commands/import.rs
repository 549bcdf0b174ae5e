//! `import`: products and reviews from files of other systems.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use vitrine_domain::import::ImportMode;
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::run::{ImportOrder, Progress};
use vitrine_storage::migrations::FILES;

use super::{owner, report, say, told_to_stop};
use crate::database::Database;
use crate::settings::{Common, Import};

/// What the shell sees when a file could not be read to its end.
const SOME_BROKEN: u8 = 2;

pub(super) async fn run(settings: &Common, what: Import) -> anyhow::Result<ExitCode> {
    let mapping = Arc::new(Mapping::load(&what.mapping)?);
    let order = ImportOrder {
        rejects: Some(
            what.rejects
                .clone()
                .unwrap_or_else(|| rejects_beside(&what.files[0])),
        ),
        files: what.files,
        mapping,
        mode: if what.dry_run {
            ImportMode::DryRun
        } else {
            ImportMode::Write
        },
    };
    let database = Database::open(settings, &report).await?;
    let catalog = if order.mode == ImportMode::DryRun {
        database.catalog_to_look_at(settings).await?
    } else {
        database
            .store
            .migrate(FILES, &owner(), false, &report)
            .await?;
        database.require_schema().await?;
        database.catalog_for_work(settings).await?
    };
    let bar = bar();
    let import = vitrine_ingest::run::import(&catalog, &order, |progress| show(&bar, progress));
    let outcome = tokio::select! {
        outcome = import => Some(outcome.context("importing")),
        () = told_to_stop() => None,
    };
    bar.finish_and_clear();
    catalog.drain().await;
    database.close().await?;
    let Some(outcome) = outcome else {
        say("stopped; run the same command again to complete the import");
        return Ok(ExitCode::FAILURE);
    };
    let outcome = outcome?;
    say(outcome.to_string().trim_end());
    Ok(if outcome.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(SOME_BROKEN)
    })
}

/// In the current directory, named after the feed.
fn rejects_beside(feed: &Path) -> PathBuf {
    let name = feed
        .file_name()
        .map_or_else(|| "feed".into(), |name| name.to_string_lossy());
    PathBuf::from(format!("{name}.rejects.jsonl"))
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("importing [{bar:30}] {percent}% {msg}");
    let style = style
        .expect("the template is a constant")
        .progress_chars("=> ");
    ProgressBar::new(0).with_style(style)
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.bytes_total);
    bar.set_position(progress.bytes_read);
    let left = progress
        .remaining()
        .map(|left| format!(", {} left", HumanDuration(left)));
    let left = if progress.finishing {
        Some(", computing ratings".to_owned())
    } else {
        left
    };
    let counts = &progress.counts;
    bar.set_message(format!(
        "{} lines, {:.0} a second, {} rejected{}",
        counts.lines,
        progress.rate(),
        counts.rejected,
        left.unwrap_or_default()
    ));
}
