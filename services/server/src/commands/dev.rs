//! `dev`: everything on this machine.

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::sync::oneshot;
use vitrine_mongod::Instance;
use vitrine_storage::migrations::FILES;

use super::serve::{Service, close, listen, serve};
use super::{owner, report, say, told_to_stop};
use crate::database::{Database, cannot_use_data};
use crate::demo;
use crate::local::LocalData;
use crate::settings::{Cli, StartCatalogue};
use crate::workers::Workers;

/// How long the token that is printed holds, in hours.
const TOKEN_HOURS: u32 = 24 * 30;
/// How often it is looked whether the local mongod still runs.
const WATCH: Duration = Duration::from_secs(1);

/// A query that shows what there is.
const QUERY: &str = "{ products(first: 3, sort: [{ key: POPULARITY }]) { nodes { name kind \
                     ratingStats { count average } specs { label text } } } }";

pub(super) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let listener = listen(&cli).await?;
    let mut database = open(&cli).await?;
    database
        .store
        .migrate(FILES, &owner(), false, &report)
        .await?;
    database.require_schema().await?;
    let moderation = cli.dev.review_moderation.into();
    let catalog = database.catalog(&cli.common, moderation).await?;
    let mut told = Box::pin(told_to_stop());
    let load = async {
        match cli.dev.catalogue {
            StartCatalogue::Demo => demo::load_if_empty(&catalog, cli.dev.seed).await,
            StartCatalogue::Empty => Ok(()),
        }
    };
    let loaded = tokio::select! {
        loaded = load => loaded.map(|()| true)?,
        () = &mut told => false,
    };
    if !loaded {
        catalog.drain().await;
        database.close().await?;
        return Ok(ExitCode::SUCCESS);
    }
    let tokens = database.tokens(&cli.common)?;
    let token = tokens.issue(
        "developer",
        &["admin".to_owned()],
        catalog.now(),
        TOKEN_HOURS,
    )?;
    greet(&cli, &database, &listener.local_addr()?.to_string(), &token);
    let workers = Workers::new(database.pulse.clone());
    workers
        .attend(&catalog)
        .hand_over(&catalog)
        .work(&catalog, &owner());
    let catalog = Arc::new(OnceLock::from(catalog));
    let service = Service {
        catalog: Arc::clone(&catalog),
        tokens,
        workers: &workers,
        playground: true,
    };
    let (died, exit) = oneshot::channel();
    let stop = watch(told, database.instance.take(), died);
    let (stopped, stopping) = oneshot::channel::<()>();
    let (served, instance) = tokio::join!(
        serve(service, listener, async { drop(stopping.await) }, async {
            Ok(())
        }),
        async {
            let instance = stop.await;
            drop(stopped);
            instance
        }
    );
    close(workers, &catalog).await;
    database.instance = instance;
    served?;
    if let Ok(exit) = exit.await {
        bail!("the local mongod ended by itself: {exit}");
    }
    database.close().await?;
    Ok(ExitCode::SUCCESS)
}

/// The database that was named, or this machine's, reset if asked for.
async fn open(cli: &Cli) -> anyhow::Result<Database> {
    if cli.common.mongodb_uri.is_some() {
        if cli.dev.reset {
            bail!(
                "--reset removes the database of this machine only; leave out VITRINE_MONGODB_URI"
            );
        }
        let mut database = Database::open(&cli.common, &report).await?;
        // Only for the secrets that development makes up.
        database.local = Some(LocalData::new(&cli.common)?);
        return Ok(database);
    }
    let local = LocalData::new(&cli.common)?;
    match Database::start(&cli.common, local.clone(), &report).await {
        Ok(database) => {
            if cli.dev.reset {
                database.store.drop_database().await.context("resetting")?;
            }
            Ok(database)
        }
        // Data that this mongod cannot read is what a reset is for.
        Err(error) if cli.dev.reset && cannot_use_data(&error) => {
            tracing::warn!("starting afresh, because the data cannot be used: {error:#}");
            local.reset().context("resetting")?;
            Database::start(&cli.common, local, &report).await
        }
        Err(error) => Err(error),
    }
}

/// Waits until told to stop, or until the local mongod ends by itself. Gives the mongod back.
async fn watch(
    mut told: Pin<Box<impl Future<Output = ()>>>,
    mut instance: Option<Instance>,
    died: oneshot::Sender<String>,
) -> Option<Instance> {
    loop {
        tokio::select! {
            () = &mut told => return instance,
            () = tokio::time::sleep(WATCH) => {}
        }
        if let Some(exit) = instance.as_mut().and_then(Instance::exit) {
            // Whoever listens has ended first: then nobody needs to be told.
            let _ = died.send(exit.to_string());
            return None;
        }
    }
}

fn greet(cli: &Cli, database: &Database, address: &str, token: &str) {
    let url = format!("http://{address}/graphql");
    let data = match (&cli.common.mongodb_uri, &database.local) {
        (None, Some(local)) => format!("in {} (start over with --reset)", local.dir().display()),
        _ => format!("in the MongoDB you named, database {}", cli.common.database),
    };
    let body = serde_json::json!({ "query": QUERY });
    say(&format!(
        "\nVitrine is ready at {url}  (open it in a browser to try queries)\n\n\
         A query to paste:\n  {QUERY}\n\n\
         The same from a shell:\n  curl -s {url} -H 'content-type: application/json' -d '{body}'\n\n\
         A token for development (role admin; send it as `authorization: Bearer …`):\n  {token}\n\n\
         The data is {data}."
    ));
    if cli.dev.catalogue == StartCatalogue::Demo {
        say(vitrine_ingest::demo::NOTICE);
    }
    say("Ctrl-C ends it.\n");
}
