//! `import`: products and reviews from files of other systems, and exports of this one.

mod restore;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use vitrine_domain::Catalog;
use vitrine_domain::import::ImportMode;
use vitrine_domain::import_runs::ImportRecord;
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::run::{ImportOptions, Progress, import, import_recorded};
use vitrine_model::import_run::{ImportPhase, NewImportRun};
use vitrine_storage::migrations::FILES;

use super::{log_progress, print, process_name, shutdown_signal};
use crate::database::Database;
use crate::settings::{Common, Import};

/// The exit code if a file could not be read to its end.
const INCOMPLETE: u8 = 2;

fn load(name_or_path: &str, system: Option<&str>) -> anyhow::Result<Mapping> {
    let mapping = Mapping::load(name_or_path)?;
    match system {
        Some(system) => Ok(mapping.with_system(system)?),
        None => Ok(mapping),
    }
}

fn print_samples(files: &[PathBuf], mapping: &Mapping, rows: usize) -> anyhow::Result<ExitCode> {
    for sample in vitrine_ingest::sample::samples(files, mapping, rows)? {
        print(sample.to_string().trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run(settings: &Common, arguments: Import) -> anyhow::Result<ExitCode> {
    let Some(mapping) = &arguments.mapping else {
        return Box::pin(restore::run(settings, arguments)).await;
    };
    let mapping = Arc::new(load(mapping, arguments.system.as_deref())?);
    if let Some(rows) = arguments.sample {
        return print_samples(&arguments.files, &mapping, rows);
    }
    let options = ImportOptions {
        rejects: Some(rejects_file(&arguments)?),
        mappers: None,
        files: arguments.files,
        mapping,
        mode: if arguments.dry_run {
            ImportMode::DryRun
        } else {
            ImportMode::Write
        },
    };
    let database = Database::open(settings, &log_progress).await?;
    let (catalog, record) = if options.mode == ImportMode::DryRun {
        (database.catalog_read_only(settings).await?, None)
    } else {
        let catalog = migrated(&database, settings).await?;
        let record = begin_record(&catalog, &options, arguments.history_days).await?;
        (catalog, Some(record))
    };
    let bar = bar();
    let progress = |progress: &Progress| update(&bar, progress);
    let run = async {
        match &record {
            Some(record) => import_recorded(&catalog, &options, record, progress).await,
            None => import(&catalog, &options, progress).await,
        }
    };
    let outcome = tokio::select! {
        outcome = run => Some(outcome.context("importing")),
        () = shutdown_signal() => None,
    };
    bar.finish_and_clear();
    if let (Some(record), None) = (&record, &outcome) {
        record.end(ImportPhase::Stopped, None).await;
    }
    catalog.drain().await;
    database.close().await?;
    let Some(outcome) = outcome else {
        print("stopped; run the same command again to complete the import");
        return Ok(ExitCode::FAILURE);
    };
    let outcome = outcome?;
    print(outcome.to_string().trim_end());
    Ok(if outcome.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

/// Brings the database to the schema of this release, and opens the catalogue.
async fn migrated(database: &Database, settings: &Common) -> anyhow::Result<Catalog> {
    let store = &database.store;
    store
        .migrate(FILES, &process_name(), false, &log_progress)
        .await?;
    database.require_schema().await?;
    database.catalog_for_work(settings).await
}

/// Begins the record of a run.
async fn begin_record(
    catalog: &Catalog,
    options: &ImportOptions,
    days: u16,
) -> anyhow::Result<ImportRecord> {
    let what = NewImportRun {
        feeds: options.files.iter().map(|file| shown(file)).collect(),
        system: options.mapping.system().to_owned(),
        process: process_name(),
        dry_run: false,
    };
    let begun = catalog.record_import(what, days).await;
    begun.context("recording the import")
}

/// The name of a feed without what may be secret in an address: its query, and who signs in.
fn shown(feed: &Path) -> String {
    let text = feed.display().to_string();
    let Some((scheme, rest)) = text.split_once("://") else {
        return text;
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

/// The file for rejected lines.
/// Fails if the file for refused lines cannot be written, before anything is imported.
fn check_rejects_file(path: &Path) -> anyhow::Result<()> {
    let is_new = !path.exists();
    let mut options = std::fs::OpenOptions::new();
    let opened = options.append(true).create(true).open(path);
    opened.with_context(|| {
        let path = path.display();
        format!("cannot write refused lines to {path}; choose another file with --rejects")
    })?;
    if is_new {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// The file for refused lines.
///
/// # Errors
/// It cannot be written.
fn rejects_file(arguments: &Import) -> anyhow::Result<PathBuf> {
    let given = arguments.rejects.clone();
    let path = given.unwrap_or_else(|| default_rejects_file(&arguments.files[0]));
    check_rejects_file(&path)?;
    Ok(path)
}

/// The default file for rejected lines: in the current directory, named after the feed.
fn default_rejects_file(feed: &Path) -> PathBuf {
    PathBuf::from(format!(
        "{}.rejects.jsonl",
        vitrine_formats::file_name(feed)
    ))
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("importing [{bar:30}] {percent}% {msg}");
    let style = style
        .expect("the template is a constant")
        .progress_chars("=> ");
    ProgressBar::new(0).with_style(style)
}

fn update(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.bytes_total);
    bar.set_position(progress.bytes_read);
    let remaining = progress
        .remaining()
        .map(|remaining| format!(", {} left", HumanDuration(remaining)));
    let remaining = if progress.finishing {
        Some(", computing ratings".to_owned())
    } else {
        remaining
    };
    let counts = &progress.counts;
    bar.set_message(format!(
        "{} lines, {:.0} per second, {} rejected{}",
        counts.lines,
        progress.rate(),
        counts.rejected,
        remaining.unwrap_or_default()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        let shown = |text: &str| shown(Path::new(text));
        let address = "https://ada:secret@shop.example/feeds/all.csv?token=secret#x";
        assert_eq!(shown(address), "https://shop.example/feeds/all.csv");
        assert_eq!(shown("feeds/all.csv"), "feeds/all.csv");
    }
}
