//! The roles.

mod dev;
mod import;
mod serve;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use vitrine_domain::clock::SystemClock;
use vitrine_model::clock::Clock as _;

use crate::database::{Database, tokens};
use crate::local::LocalData;
use crate::settings::{Cli, Command, Common, Migrate, Token};
use crate::telemetry;

/// Runs the role that the settings name. The exit code is what the shell sees.
///
/// # Errors
/// One message that says what was attempted, what is wrong and what to do.
pub async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    telemetry::start(&cli.common)?;
    let command = cli.command.clone().unwrap_or(Command::Dev);
    if cli.dev.reset && !matches!(command, Command::Dev) {
        anyhow::bail!("--reset goes with dev only");
    }
    match command {
        Command::Dev => dev::run(cli).await,
        Command::Serve => serve::run(&cli).await,
        Command::Work => serve::work(&cli.common).await,
        Command::Migrate(what) => migrate(&cli.common, what).await,
        Command::Import(what) => import::run(&cli.common, what).await,
        Command::Audit => audit(&cli.common).await,
        Command::Schema => schema(),
        Command::Token(what) => token(&cli.common, &what),
    }
}

/// Writes a line for people or programs to standard output. Whoever reads it may stop reading.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Tells what happens meanwhile.
pub(crate) fn report(line: &str) {
    tracing::info!("{line}");
}

/// Completes when the process is told to end.
pub(crate) async fn told_to_stop() {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .expect("the process may listen to its own signals");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// What this process calls itself when it takes a lease.
pub(crate) fn owner() -> String {
    format!(
        "{}:{}",
        std::process::id(),
        vitrine_model::id::ProductId::random()
    )
}

async fn migrate(settings: &Common, what: Migrate) -> anyhow::Result<ExitCode> {
    let database = Database::open(settings, &report).await?;
    match what {
        Migrate::Up => {
            let applied = database.store.migrate(&owner(), &report).await?;
            say(&match applied.as_slice() {
                [] => "nothing to migrate".to_owned(),
                some => format!("applied {}", some.join(", ")),
            });
        }
        Migrate::Status => {
            for migration in database.store.migration_status().await? {
                say(&format!(
                    "{}  {}",
                    if migration.applied {
                        "applied"
                    } else {
                        "missing"
                    },
                    migration.name
                ));
            }
        }
    }
    database.close().await?;
    Ok(ExitCode::SUCCESS)
}

async fn audit(settings: &Common) -> anyhow::Result<ExitCode> {
    let database = Database::open(settings, &report).await?;
    database.require_schema().await?;
    let found = database
        .catalog_for_work(settings)
        .await?
        .audit()
        .await
        .context("auditing")?;
    for one in &found {
        say(&format!(
            "{}: {} is {}, should be {}",
            one.place, one.what, one.stored, one.expected
        ));
    }
    say(&format!("{} differences", found.len()));
    database.close().await?;
    Ok(if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn schema() -> anyhow::Result<ExitCode> {
    let engine = vitrine_api::graphql::engine().context("building the schema")?;
    say(engine.sdl().trim_end());
    Ok(ExitCode::SUCCESS)
}

fn token(settings: &Common, what: &Token) -> anyhow::Result<ExitCode> {
    let local = if settings.token_secret.is_none() && settings.mongodb_uri.is_none() {
        Some(LocalData::new(settings)?)
    } else {
        None
    };
    let tokens = tokens(settings, local.as_ref())?;
    say(&tokens.issue(&what.subject, &what.roles, SystemClock.now(), what.hours)?);
    Ok(ExitCode::SUCCESS)
}
