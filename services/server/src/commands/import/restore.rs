//! `import` of what `export` has written.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use indicatif::ProgressBar;
use vitrine_export::ImportReport;
use vitrine_export::import::{ImportOptions, Position, check, header, import};
use vitrine_storage::migrations::FILES;

use super::{INCOMPLETE, bar, rejects_file};
use crate::commands::{log_progress, print, process_name, shutdown_signal};
use crate::database::Database;
use crate::settings::{Common, Import};

pub(super) async fn run(settings: &Common, arguments: Import) -> anyhow::Result<ExitCode> {
    check_files(settings, &arguments)?;
    let options = ImportOptions {
        rejects: Some(rejects_file(&arguments)?),
        files: arguments.files,
    };
    let bar = bar();
    if arguments.dry_run {
        let checked = check(&options, |position| update(&bar, position)).await;
        bar.finish_and_clear();
        return Ok(finished(&checked.context("reading")?));
    }
    let database = Database::open(settings, &log_progress).await?;
    database
        .store
        .migrate(FILES, &process_name(), false, &log_progress)
        .await?;
    database.require_schema().await?;
    let catalog = database.catalog_for_work(settings).await?;
    let restored = tokio::select! {
        restored = import(&catalog, &options, |position| update(&bar, position)) => Some(restored),
        () = shutdown_signal() => None,
    };
    bar.finish_and_clear();
    catalog.drain().await;
    database.close().await?;
    let Some(restored) = restored else {
        print("stopped; run the same command again to complete the import");
        return Ok(ExitCode::FAILURE);
    };
    Ok(finished(&restored.context("importing")?))
}

/// Fails unless all files are exports of a shop with the currency of the settings.
fn check_files(settings: &Common, arguments: &Import) -> anyhow::Result<()> {
    if arguments.sample.is_some() {
        bail!("--sample shows what a mapping makes of rows: give --mapping");
    }
    for file in &arguments.files {
        let Some(header) = header(file)? else {
            bail!(
                "{} was not written by `vitrine export`: give the --mapping that says what its rows mean",
                file.display()
            );
        };
        if header.currency != settings.currency {
            let currency = header.currency;
            bail!(
                "{} is of a shop that sells in {currency}: give --currency {currency}",
                file.display()
            );
        }
    }
    Ok(())
}

fn finished(report: &ImportReport) -> ExitCode {
    print(report.to_string().trim_end());
    if report.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    }
}

fn update(bar: &ProgressBar, position: Position) {
    bar.set_length(position.size);
    bar.set_position(position.read);
}
