//! `dev`: everything on this machine.

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use vitrine_domain::Catalog;
use vitrine_mongod::Instance;
use vitrine_web::{Identity, Site};

use super::listeners::{Listeners, listen};
use super::serve::{Service, close, serve};
use super::{apply_migrations, log_progress, print, process_name, shutdown_signal};
use crate::auth::{KeyKeeper, Tokens};
use crate::database::{Database, cannot_use_data, token_keys, tokens};
use crate::demo;
use crate::local::LocalData;
use crate::settings::{Cli, StartCatalogue};
use crate::workers::Workers;

/// The validity of the printed token, in hours.
const TOKEN_HOURS: u32 = 24 * 30;
/// How often the local mongod is checked.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// A query that shows some of the catalogue.
const QUERY: &str = "{ products(first: 3, sort: [{ key: POPULARITY }]) { nodes { name kind \
                     ratingStats { count average } specs { label text } } } }";

pub(super) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let listener = listen(&cli).await?;
    let address = listener.local_addr()?;
    let mut site = Site {
        storefront: true,
        console: true,
        graphiql: true,
        origin: Some(format!("http://{address}")),
        ..Site::default()
    };
    let mut database = open(&cli).await?;
    let pictures = LocalData::new(&cli.common)?.picture_dir();
    database.pictures = cli.pictures.for_dev(pictures, &mut site)?;
    let catalog = open_catalog(&cli, &database).await?;
    let mut shutdown = Box::pin(shutdown_signal());
    let load = async {
        match cli.dev.catalogue {
            StartCatalogue::Demo => demo::load_if_empty(&catalog, cli.dev.seed).await,
            StartCatalogue::Empty => Ok(()),
        }
    };
    let loaded = tokio::select! {
        loaded = load => loaded.map(|()| true)?,
        () = &mut shutdown => false,
    };
    if !loaded {
        catalog.drain().await;
        catalog.stop_remembering().await;
        database.close().await?;
        return Ok(ExitCode::SUCCESS);
    }
    let keys = token_keys(&cli.common).await?;
    let source = keys.as_ref().map(KeyKeeper::source);
    let tokens = tokens(&cli.common, database.local.as_ref(), source)?;
    let token = issue(&tokens, &catalog, "developer", "admin")?;
    print_welcome(&cli, &database, &address.to_string(), &token);
    // Others who reach this address must not get tokens.
    if address.ip().is_loopback() {
        site.identities = identities(&tokens, &catalog)?;
    }
    let auth = (tokens, keys);
    run_service(listener, (database, catalog), auth, (&cli, site), shutdown).await
}

/// Issues a token for development.
fn issue(tokens: &Tokens, catalog: &Catalog, subject: &str, role: &str) -> anyhow::Result<String> {
    tokens.issue(subject, &[role.to_owned()], catalog.now(), TOKEN_HOURS)
}

/// As whom visitors of the storefront may act.
fn identities(tokens: &Tokens, catalog: &Catalog) -> anyhow::Result<Vec<Identity>> {
    let people = [
        ("ada", "shopper", "Ada, a shopper"),
        ("ben", "shopper", "Ben, a shopper"),
        ("mo", "moderator", "Mo, a moderator"),
        ("developer", "admin", "An admin"),
    ];
    let identity = |(subject, role, label): (&str, &str, &str)| {
        Ok(Identity {
            label: label.to_owned(),
            subject: subject.to_owned(),
            token: issue(tokens, catalog, subject, role)?,
        })
    };
    people.into_iter().map(identity).collect()
}

/// Migrates the database and opens the catalogue in it.
async fn open_catalog(cli: &Cli, database: &Database) -> anyhow::Result<Catalog> {
    apply_migrations(&database.store, false).await?;
    database.require_schema().await?;
    database.catalog(&cli.common, cli.serving()).await
}

/// Serves the API and runs the workers until shutdown, or until the local mongod exits.
async fn run_service(
    listener: TcpListener,
    (mut database, catalog): (Database, Catalog),
    (tokens, keys): (Tokens, Option<KeyKeeper>),
    (cli, site): (&Cli, Site),
    shutdown: Pin<Box<impl Future<Output = ()>>>,
) -> anyhow::Result<ExitCode> {
    let workers = Workers::new(database.health.clone());
    workers
        .start_key_refresh(keys)
        .start_monitoring(&catalog)
        .start_activity_flush(&catalog)
        .start_workers(&catalog, &process_name());
    let catalog = Arc::new(OnceLock::from(catalog));
    let service = Service {
        catalog: Arc::clone(&catalog),
        tokens,
        limits: &cli.limits,
        clients: &cli.clients,
        telemetry: &cli.telemetry,
        public_schema: true,
        rates: None,
        listeners: Listeners::local(listener)?,
        workers: &workers,
        site,
    };
    let (exited, exit) = oneshot::channel();
    let stop = watch_mongod(shutdown, database.instance.take(), exited);
    let (stopped, stopping) = oneshot::channel::<()>();
    let (served, instance) = tokio::join!(
        serve(service, async { drop(stopping.await) }, async { Ok(()) }),
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
        bail!("the local mongod exited unexpectedly: {exit}");
    }
    database.close().await?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the database of the settings, or that of this machine, after resetting it if requested.
async fn open(cli: &Cli) -> anyhow::Result<Database> {
    if cli.common.mongodb_uri.is_some() {
        if cli.dev.reset {
            bail!("--reset deletes only the database of this machine; unset VITRINE_MONGODB_URI");
        }
        let mut database = Database::open(&cli.common, &log_progress).await?;
        // Only for the generated secrets of development.
        database.local = Some(LocalData::new(&cli.common)?);
        return Ok(database);
    }
    let local = LocalData::new(&cli.common)?;
    match Database::start(&cli.common, local.clone(), &log_progress).await {
        Ok(database) => {
            if cli.dev.reset {
                database
                    .store
                    .drop_database()
                    .await
                    .context("deleting the data of the local database (--reset)")?;
                let pictures = database.local.as_ref().map(LocalData::reset_pictures);
                pictures
                    .transpose()
                    .context("deleting the uploaded pictures (--reset)")?;
            }
            Ok(database)
        }
        // A reset also deletes data that this mongod cannot read.
        Err(error) if cli.dev.reset && cannot_use_data(&error) => {
            tracing::warn!("deleting the data, because it cannot be used: {error:#}");
            local
                .reset()
                .context("deleting the data of the local database (--reset)")?;
            local
                .reset_pictures()
                .context("deleting the uploaded pictures (--reset)")?;
            Database::start(&cli.common, local, &log_progress).await
        }
        Err(error) => Err(error),
    }
}

/// Waits for the shutdown signal, or until the local mongod exits, which is reported to `exited`.
/// Returns the mongod if it is still running.
async fn watch_mongod(
    mut shutdown: Pin<Box<impl Future<Output = ()>>>,
    mut instance: Option<Instance>,
    exited: oneshot::Sender<String>,
) -> Option<Instance> {
    loop {
        tokio::select! {
            () = &mut shutdown => return instance,
            () = tokio::time::sleep(CHECK_EVERY) => {}
        }
        if let Some(exit) = instance.as_mut().and_then(Instance::exit) {
            // The receiver may have been dropped already.
            let _ = exited.send(exit.to_string());
            return None;
        }
    }
}

fn print_welcome(cli: &Cli, database: &Database, address: &str, token: &str) {
    let url = format!("http://{address}/graphql");
    let data = match (&cli.common.mongodb_uri, &database.local) {
        (None, Some(local)) => format!("in {} (start over with --reset)", local.dir().display()),
        _ => format!("in the MongoDB you named, database {}", cli.common.database),
    };
    let body = serde_json::json!({ "query": QUERY });
    print(&format!(
        "\nVitrine is ready at {url}\n\n\
         In a browser:\n  \
         the shop     http://{address}/\n  \
         the console  http://{address}/console\n  \
         GraphiQL     http://{address}/graphiql\n\n\
         A query to paste:\n  {QUERY}\n\n\
         The same from a shell:\n  curl -s {url} -H 'content-type: application/json' -d '{body}'\n\n\
         A token for development (role admin; send it as `authorization: Bearer …`):\n  {token}\n\n\
         The data is {data}."
    ));
    if cli.dev.catalogue == StartCatalogue::Demo {
        print(vitrine_demo::NOTICE);
    }
    print("Press Ctrl-C to stop.\n");
}
