//! The roles.

mod dev;
mod import;
mod serve;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use vitrine_domain::outcome::Outcome;
use vitrine_domain::Catalog;
use vitrine_domain::clock::SystemClock;
use vitrine_domain::reviewing::ratings::MAX_RECOUNTED;
use vitrine_model::clock::Clock as _;
use vitrine_model::id::ProductId;
use vitrine_storage::Store;
use vitrine_storage::migrations::{FILES, Plan, Step};
use vitrine_storage::schema::schema_version;
use vitrine_storage::shards::shard_plan;

use crate::database::{Database, tokens};
use crate::local::LocalData;
use crate::settings::{Audit, Cli, Command, Common, Migrate, Token};
use crate::telemetry;

/// Runs the role that the settings name. The exit code is what the shell sees.
///
/// # Errors
/// One message that says what was attempted, what is wrong and what to do.
pub async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    telemetry::start(&cli.common)?;
    let command = cli.command.clone().unwrap_or(Command::Dev);
    match command {
        Command::Dev => dev::run(cli).await,
        Command::Serve => Box::pin(serve::run(&cli)).await,
        Command::Work(options) => serve::work(&cli.common, &options).await,
        Command::Migrate(what) => migrate(&cli.common, what).await,
        Command::Import(what) => import::run(&cli.common, what).await,
        Command::Audit(what) => audit(&cli.common, what).await,
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

/// Completes when the process is told to end. Listens from the call on, not only when it is first
/// looked at: who says that it is ready is not killed by being told to end.
pub(crate) fn told_to_stop() -> impl Future<Output = ()> + Send {
    let listen = |kind| signal(kind).expect("the process may listen to its own signals");
    let mut interrupt = listen(SignalKind::interrupt());
    let mut terminate = listen(SignalKind::terminate());
    async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// What this process calls itself when it takes a lease: its machine, its number, and something that
/// no other process has.
pub(crate) fn owner() -> String {
    // In containers every process may have the number 1.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "process",
        host => host,
    };
    let unique = vitrine_model::id::ProductId::random().to_string();
    format!("{host}:{}:{}", std::process::id(), &unique[..8])
}

async fn migrate(settings: &Common, what: Migrate) -> anyhow::Result<ExitCode> {
    match what {
        Migrate::PlanShards => say(shard_plan(&settings.database).trim_end()),
        Migrate::Status => {
            let database = Database::open(settings, &report).await?;
            migration_status(&database.store).await?;
            database.close().await?;
        }
        Migrate::Up {
            dry_run,
            drop_indexes,
        } => {
            let database = Database::open(settings, &report).await?;
            if dry_run {
                say_plan(&database.store, drop_indexes).await?;
            } else {
                migrate_up(&database, drop_indexes).await?;
            }
            database.close().await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn say_plan(store: &Store, drop_indexes: bool) -> anyhow::Result<()> {
    let Plan { steps, unwanted } = store.migration_plan(FILES).await?;
    if steps.is_empty() && (!drop_indexes || unwanted.is_empty()) {
        say("nothing to migrate");
    }
    for step in &steps {
        say(&step.to_string());
    }
    say_unwanted(&unwanted, drop_indexes);
    Ok(())
}

async fn migrate_up(database: &Database, drop_indexes: bool) -> anyhow::Result<()> {
    let store = &database.store;
    let owner = owner();
    let done = store.migrate(FILES, &owner, drop_indexes, &report).await?;
    if done.is_empty() {
        say("nothing to migrate");
    }
    for step in &done {
        say(&format!("done: {step}"));
    }
    let left = store.migration_plan(FILES).await?.unwanted;
    say_unwanted(&left, false);
    database.require_schema().await
}

/// Lists the indexes that this release does not need, and how to drop them unless they are dropped.
fn say_unwanted(unwanted: &[Step], dropped: bool) {
    for step in unwanted {
        say(&step.to_string());
    }
    if !dropped && !unwanted.is_empty() {
        say(
            "indexes are dropped by `vitrine migrate up --drop-indexes` only; wait until no process of an earlier release runs",
        );
    }
}

async fn migration_status(store: &Store) -> anyhow::Result<()> {
    let known = schema_version().version;
    match store.recorded_schema().await? {
        None => say(&format!(
            "the schema is not recorded; this release has version {known}"
        )),
        Some(found) if found == known => say(&format!("the schema has version {found}")),
        Some(found) => say(&format!(
            "the schema has version {found}; this release has version {known}"
        )),
    }
    for migration in store.migration_status(FILES).await? {
        let state = if migration.applied {
            "applied"
        } else {
            "missing"
        };
        say(&format!("{state}  {}", migration.name));
    }
    for line in store.missing_from_schema().await? {
        say(&format!("the database lacks {line}"));
    }
    for line in store.beyond_schema().await? {
        say(&format!("this release does not need {line}"));
    }
    Ok(())
}

async fn audit(settings: &Common, what: Audit) -> anyhow::Result<ExitCode> {
    let database = Database::open(settings, &report).await?;
    database.require_schema().await?;
    let catalog = database.catalog_for_work(settings).await?;
    if what.repair {
        count_what_waits(&catalog).await;
    }
    let mut differences = audit_once(&catalog).await?;
    if what.repair {
        repair(&catalog).await?;
        let categories = catalog.repair_category_counts().await;
        let categories = categories.context("counting the products of categories anew")?;
        say(&format!("{categories} categories repaired"));
        differences = audit_once(&catalog).await?;
    }
    catalog.drain().await;
    database.close().await?;
    Ok(if differences == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Counts reviews that wait, so that what differs afterwards is wrong and not late.
async fn count_what_waits(catalog: &Catalog) {
    match catalog.fold_pending().await {
        Ok(folded) => say(&format!("{} waiting reviews counted", folded.reviews)),
        // What is wrong with them is found out below, or they wait for a newer release.
        Err(error) => report(&format!(
            "some waiting reviews cannot be counted: {:#}",
            anyhow::Error::new(error)
        )),
    }
}

/// Says what differs, and how much. Reviews that wait to be counted do not differ.
async fn audit_once(catalog: &Catalog) -> anyhow::Result<u64> {
    let found = catalog.audit().await.context("auditing")?;
    for one in &found.differences {
        say(&format!(
            "{}: {} is {}, should be {}",
            one.place, one.what, one.stored, one.expected
        ));
    }
    if found.more > 0 {
        say(&format!("and {} more", found.more));
    }
    if found.waiting > 0 {
        say(&format!("{} reviews wait to be counted", found.waiting));
        report(
            "`vitrine work` counts what waits within seconds, and so does `vitrine audit --repair`",
        );
    }
    say(&format!("{} differences", found.count()));
    if found.count() > 0 {
        report(
            "what was written while it looked may be among them; in a shop that is in use, look twice",
        );
    }
    Ok(found.count())
}

/// Repairs every product whose numbers are not what its reviews say, or whose reviews could not be
/// counted, and says what the numbers were and are.
async fn repair(catalog: &Catalog) -> anyhow::Result<()> {
    let (mut after, mut repaired) = (None, 0);
    loop {
        let audit = catalog.rating_stats_audit(after, MAX_RECOUNTED, None);
        let audit = audit.await.context("counting reviews anew")?;
        let wrong = audit.differences.iter().map(|one| one.product);
        // Where reviews still wait, wrong numbers may keep them from being counted.
        let wrong: BTreeSet<ProductId> = wrong.chain(audit.waiting.iter().copied()).collect();
        for product in wrong {
            let outcome = match catalog.repair_rating_stats(product).await {
                Ok(outcome) => outcome,
                // It keeps no other from it; the audit that follows says what differs still.
                Err(error) => {
                    let error = anyhow::Error::new(error);
                    report(&format!("product {product} cannot be repaired: {error:#}"));
                    continue;
                }
            };
            // A product that is gone needs no repair.
            if let Outcome::Done(done) = outcome {
                repaired += 1;
                for one in &done.differences {
                    say(&format!(
                        "repaired product {}: {} was {}, is {}",
                        one.product, one.field, one.stored, one.expected
                    ));
                }
            }
        }
        after = audit.last;
        if after.is_none() {
            break;
        }
    }
    say(&format!("{repaired} products repaired"));
    Ok(())
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
