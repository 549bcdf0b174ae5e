//! The commands of the binary.

mod dev;
mod export;
mod import;
mod listeners;
mod mapping;
mod serve;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use futures_util::future::LocalBoxFuture;
use tokio::signal::unix::{SignalKind, signal};
use vitrine_api::graphql;
use vitrine_domain::Catalog;
use vitrine_domain::clock::SystemClock;
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::ratings::MAX_RECOUNTED;
use vitrine_model::clock::Clock as _;
use vitrine_model::id::{ProductId, random_bytes};
use vitrine_storage::Store;
use vitrine_storage::migrations::{FILES, Plan, Step};
use vitrine_storage::schema::schema_version;
use vitrine_storage::shards::shard_plan;

use crate::database::{Database, tokens};
use crate::local::LocalData;
use crate::refusal::in_words;
use crate::settings::{Audit, Cli, Command, Common, Migrate, Token};
use crate::telemetry;

/// Runs the command. Returns the exit code of the process.
///
/// Not an `async fn`: the compiler generates code for the body of a public one, here all commands, even for the tests of this
/// crate, which do not call it.
///
/// # Errors
/// One message that says what was attempted, what is wrong and what to do.
pub fn run(cli: Cli) -> LocalBoxFuture<'static, anyhow::Result<ExitCode>> {
    Box::pin(async {
        let traces = telemetry::start(&cli)?;
        let uri = cli.common.mongodb_uri.clone();
        let code = Box::pin(run_command(cli)).await;
        let code = code.map_err(|error| in_words(error, uri.as_ref()));
        if let Some(traces) = traces {
            traces.stop().await;
        }
        code
    })
}

async fn run_command(cli: Cli) -> anyhow::Result<ExitCode> {
    let command = cli.command.clone().unwrap_or(Command::Dev);
    match command {
        Command::Dev => dev::run(cli).await,
        Command::Serve => Box::pin(serve::run(&cli)).await,
        Command::Work => Box::pin(serve::work(&cli)).await,
        Command::Migrate(command) => migrate(&cli.common, command).await,
        Command::Import(options) => import::run(&cli.common, options).await,
        Command::Export(options) => Box::pin(export::run(&cli.common, &options)).await,
        Command::Mapping(command) => mapping::run(&command),
        Command::Units => {
            mapping::units();
            Ok(ExitCode::SUCCESS)
        }
        Command::Audit(options) => audit(&cli.common, options).await,
        Command::Schema => schema(cli.limits.federation),
        Command::Token(options) => token(&cli.common, &options),
    }
}

/// Prints a line to standard output. Ignores errors: the reader may have closed the pipe.
pub(crate) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Logs progress to standard error.
pub(crate) fn log_progress(line: &str) {
    tracing::info!("{line}");
}

/// Completes when the process receives SIGINT or SIGTERM. The handlers are installed by the call,
/// not by the first poll, so that a process that has reported itself ready is no longer killed by a
/// signal.
pub(crate) fn shutdown_signal() -> impl Future<Output = ()> + Send {
    let listen = |kind| signal(kind).expect("the process may listen to its own signals");
    let mut interrupt = listen(SignalKind::interrupt());
    let mut terminate = listen(SignalKind::terminate());
    async move {
        let signal = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        tracing::info!("stopping after {signal}: what is under way is finished");
    }
}

/// The name of this process as owner of leases: host, process id, and a random part.
pub(crate) fn process_name() -> String {
    // In containers every process may have the id 1.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "process",
        host => host,
    };
    let unique = u32::from_be_bytes(random_bytes());
    format!("{host}:{}:{unique:08x}", std::process::id())
}

async fn migrate(settings: &Common, command: Migrate) -> anyhow::Result<ExitCode> {
    match command {
        Migrate::PlanShards => print(shard_plan(&settings.database).trim_end()),
        Migrate::Status => {
            let database = Database::open(settings, &log_progress).await?;
            let is_complete = migration_status(&database.store).await?;
            database.close().await?;
            if !is_complete {
                return Ok(ExitCode::FAILURE);
            }
        }
        Migrate::Up {
            dry_run,
            drop_indexes,
        } => {
            let database = Database::open(settings, &log_progress).await?;
            if dry_run {
                print_migration_plan(&database.store, drop_indexes).await?;
            } else {
                migrate_up(&database, drop_indexes).await?;
            }
            database.close().await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what would be done.
///
/// # Errors
/// The database user lacks privileges for it, among others.
async fn print_migration_plan(store: &Store, drop_indexes: bool) -> anyhow::Result<()> {
    let plan = store.migration_plan(FILES).await?;
    let Plan {
        steps,
        unwanted,
        foreign,
    } = &plan;
    if steps.is_empty() && (!drop_indexes || unwanted.is_empty()) {
        print("nothing to migrate");
    }
    for step in steps {
        print(&step.to_string());
    }
    print_unneeded_indexes(unwanted, drop_indexes);
    print_foreign_indexes(foreign);
    Ok(store.check_privileges(&plan, drop_indexes).await?)
}

async fn migrate_up(database: &Database, drop_indexes: bool) -> anyhow::Result<()> {
    let store = &database.store;
    let done = apply_migrations(store, drop_indexes).await?;
    if done.is_empty() {
        print("nothing to migrate");
    }
    for step in &done {
        print(&format!("done: {step}"));
    }
    let remaining = store.migration_plan(FILES).await?;
    print_unneeded_indexes(&remaining.unwanted, false);
    print_foreign_indexes(&remaining.foreign);
    database.require_schema().await
}

/// Brings the database to the schema of this release and logs the progress. New collections are one
/// line: at a first start there are dozens, and each is created at once.
async fn apply_migrations(store: &Store, drop_indexes: bool) -> anyhow::Result<Vec<Step>> {
    let steps = store.migration_plan(FILES).await?.steps;
    let created = steps.iter().filter(|step| matches!(step, Step::Create(_)));
    let created: BTreeSet<String> = created.map(Step::to_string).collect();
    if !created.is_empty() {
        log_progress(&format!("creating {} collections", created.len()));
    }
    let report = |line: &str| {
        if !created.contains(line) {
            log_progress(line);
        }
    };
    let owner = process_name();
    let done = store.migrate(FILES, &owner, drop_indexes, &report);
    Ok(done.await?)
}

/// Lists the indexes that no release has made.
fn print_foreign_indexes(foreign: &[String]) {
    for index in foreign {
        print(&format!("index {index} is not one of Vitrine, and stays"));
    }
}

/// Lists the indexes that this release does not need, and how to drop them unless this run has
/// dropped them.
fn print_unneeded_indexes(unwanted: &[Step], dropped: bool) {
    for step in unwanted {
        print(&step.to_string());
    }
    if !dropped && !unwanted.is_empty() {
        print(
            "only `vitrine migrate up --drop-indexes` drops indexes; run it when no process of an earlier release is running",
        );
    }
}

/// Prints what the database has and lacks. Returns whether it lacks nothing.
async fn migration_status(store: &Store) -> anyhow::Result<bool> {
    let known = schema_version().version;
    match store.recorded_schema().await? {
        None => print(&format!(
            "the database has no schema version; this release has version {known}"
        )),
        Some(stored) if stored == known => print(&format!("the schema has version {stored}")),
        Some(stored) => print(&format!(
            "the schema has version {stored}; this release has version {known}"
        )),
    }
    let mut is_complete = true;
    for migration in store.migration_status(FILES).await? {
        is_complete &= migration.applied;
        let state = if migration.applied {
            "applied"
        } else {
            "missing"
        };
        print(&format!("{state}  {}", migration.name));
    }
    let missing = store.missing_from_schema().await?;
    for line in &missing {
        print(&format!("the database lacks {line}"));
    }
    for line in store.unexpected_in_schema().await? {
        print(&format!("this release does not need {line}"));
    }
    Ok(is_complete && missing.is_empty())
}

async fn audit(settings: &Common, options: Audit) -> anyhow::Result<ExitCode> {
    let database = Database::open(settings, &log_progress).await?;
    database.require_schema().await?;
    let catalog = database.catalog_for_work(settings).await?;
    if options.repair {
        count_waiting_reviews(&catalog).await;
    }
    let mut differences = audit_once(&catalog).await?;
    if options.repair {
        repair(&catalog).await?;
        let categories = catalog.repair_category_counts().await;
        let categories = categories.context("recounting the products of categories")?;
        print(&format!("{categories} categories repaired"));
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

/// Counts waiting reviews first, so that the remaining differences are errors and not delays.
async fn count_waiting_reviews(catalog: &Catalog) {
    match catalog.fold_and_move_ranks().await {
        Ok(folded) => print(&format!("{} waiting reviews counted", folded.reviews)),
        // The audit below shows what is wrong with them, or they wait for a newer release.
        Err(error) => log_progress(&format!(
            "some waiting reviews cannot be counted: {:#}",
            anyhow::Error::new(error)
        )),
    }
}

/// Prints the differences and returns their number. Reviews that wait to be counted are not
/// differences.
async fn audit_once(catalog: &Catalog) -> anyhow::Result<u64> {
    let audit = catalog.audit().await.context("auditing")?;
    for one in &audit.differences {
        print(&format!(
            "{}: {} is {}, should be {}",
            one.place, one.what, one.stored, one.expected
        ));
    }
    if audit.more > 0 {
        print(&format!("and {} more", audit.more));
    }
    if audit.dirty_reviews > 0 {
        print(&format!(
            "{} reviews wait to be counted",
            audit.dirty_reviews
        ));
        log_progress(
            "`vitrine work` counts waiting reviews within seconds; `vitrine audit --repair` counts them at once",
        );
    }
    print(&format!("{} differences", audit.count()));
    if audit.count() > 0 {
        log_progress(
            "some may be writes made during the audit; if the database is in use, run the audit again",
        );
    }
    Ok(audit.count())
}

/// Repairs every product whose numbers differ from its reviews, or whose reviews could not be
/// counted, and prints the numbers before and after.
async fn repair(catalog: &Catalog) -> anyhow::Result<()> {
    let (mut after, mut repaired) = (None, 0);
    loop {
        let audit = catalog.rating_stats_audit(after, MAX_RECOUNTED, None);
        let audit = audit.await.context("recounting reviews")?;
        let wrong = audit.differences.iter().map(|one| one.product);
        // Wrong numbers may be the reason why reviews still wait to be counted.
        let wrong: BTreeSet<ProductId> = wrong.chain(audit.uncounted.iter().copied()).collect();
        for product in wrong {
            let outcome = match catalog.repair_rating_stats(product).await {
                Ok(outcome) => outcome,
                // One failure does not stop the others; the audit that follows shows what still
                // differs.
                Err(error) => {
                    let error = anyhow::Error::new(error);
                    log_progress(&format!("product {product} cannot be repaired: {error:#}"));
                    continue;
                }
            };
            // A deleted product needs no repair.
            if let Outcome::Done(done) = outcome {
                repaired += 1;
                for one in &done.differences {
                    print(&format!(
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
    print(&format!("{repaired} products repaired"));
    Ok(())
}

fn schema(federation: bool) -> anyhow::Result<ExitCode> {
    if federation {
        print(graphql::subgraph_sdl().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let engine = graphql::engine().context("building the schema")?;
    print(engine.sdl().trim_end());
    Ok(ExitCode::SUCCESS)
}

fn token(settings: &Common, options: &Token) -> anyhow::Result<ExitCode> {
    let local = if settings.tokens.token_secret.is_none() && settings.mongodb_uri.is_none() {
        Some(LocalData::new(settings)?)
    } else {
        None
    };
    let tokens = tokens(settings, local.as_ref(), None)?;
    print(&tokens.issue(
        &options.subject,
        &options.roles,
        SystemClock.now(),
        options.hours,
    )?);
    Ok(ExitCode::SUCCESS)
}
