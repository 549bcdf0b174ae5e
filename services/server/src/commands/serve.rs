//! Serving the API, and working in the background. Both answer from the beginning on, and are ready
//! when their database is there.

use std::future::Future;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use vitrine_api::execution::{ErrorCode, Failure};
use vitrine_api::graphql::{Session, engine};
use vitrine_api::http::{
    Api, Capacity, RequestContext, RequestLimiter, SocketLimits, Sockets, bearer, monitor, router,
};
use vitrine_domain::Catalog;
use vitrine_domain::reviewing::Moderation;

use super::{owner, report, told_to_stop};
use crate::auth::Tokens;
use crate::database::{Database, cursor_secret, tokens};
use crate::local::LocalData;
use crate::pulse::Pulse;
use crate::settings::{Cli, Common, Work};
use crate::waiting::Waiting;
use crate::workers::Workers;

/// How long requests under way may take when the service stops.
const DRAIN: Duration = Duration::from_secs(10);
/// When clients should come back while the database is waited for.
const COME_BACK: Duration = Duration::from_secs(5);

/// `serve`: the API, from a migrated database, until told to stop.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let settings = &cli.common;
    let listener = listen(cli).await?;
    let local = match settings.mongodb_uri {
        Some(_) => None,
        None => Some(LocalData::new(settings)?),
    };
    // What the settings lack is told at once, whether or not the database is there.
    cursor_secret(settings, local.as_ref())?;
    let tokens = tokens(settings, local.as_ref())?;
    let told = told_to_stop();
    let address = listener.local_addr()?;
    tracing::info!("listening at http://{address}/");
    let (pulse, catalog) = (Pulse::new(), Arc::new(OnceLock::new()));
    let workers = Workers::new(pulse.clone());
    let opening = async {
        let moderation = cli.dev.review_moderation.into();
        let (database, opened) = open(settings, pulse, Some(moderation)).await?;
        workers.attend(&opened).hand_over(&opened);
        let _ = catalog.set(opened);
        tracing::info!(%address, "serving");
        Ok(database)
    };
    let service = Service {
        catalog: Arc::clone(&catalog),
        tokens,
        workers: &workers,
        playground: false,
    };
    let database = Box::pin(serve(service, listener, told, opening)).await?;
    close(workers, &catalog).await;
    if let Some(database) = database {
        database.close().await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `work`: the background workers, until told to stop.
pub(super) async fn work(settings: &Common, options: &Work) -> anyhow::Result<ExitCode> {
    let listener = match options.monitor_listen {
        Some(address) => Some(TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; choose another address with --monitor-listen")
        })?),
        None => None,
    };
    let told = told_to_stop();
    let (pulse, catalog) = (Pulse::new(), OnceLock::new());
    let workers = Workers::new(pulse.clone());
    let opening = async {
        let (database, opened) = open(settings, pulse, None).await?;
        workers.attend(&opened).work(&opened, &owner());
        let _ = catalog.set(opened);
        tracing::info!("working");
        Ok(database)
    };
    let (ready, metrics) = (workers.ready(), workers.metrics());
    let database = if let Some(listener) = listener {
        tracing::info!("listening at http://{}/", listener.local_addr()?);
        let serving = async |stop: CancellationToken| {
            let router = monitor(ready, metrics);
            let served = vitrine_api::http::serve(listener, router, stop.cancelled_owned());
            served.await.context("serving counters")
        };
        meanwhile(told, serving, opening).await?
    } else {
        let waiting = async |stop: CancellationToken| {
            stop.cancelled().await;
            Ok(())
        };
        meanwhile(told, waiting, opening).await?
    };
    close(workers, &catalog).await;
    if let Some(database) = database {
        database.close().await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for the database for as long as it takes, and opens the catalogue in it: to be served from
/// when it is said how reviews are moderated, otherwise to be worked on.
async fn open(
    settings: &Common,
    pulse: Pulse,
    moderation: Option<Moderation>,
) -> anyhow::Result<(Database, Catalog)> {
    let mut waiting = Waiting::forever();
    let mut database = Database::open_within(&mut waiting, settings, &report).await?;
    database.pulse = pulse;
    let catalog = waiting.reach(async || {
        database.require_schema().await?;
        match moderation {
            Some(moderation) => database.catalog(settings, moderation).await,
            None => database.catalog_for_work(settings).await,
        }
    });
    let catalog = catalog.await?;
    Ok((database, catalog))
}

/// Opens something and serves at the same time, until told to stop, or until one of them fails.
/// Returns what was opened, if it was by then.
async fn meanwhile<T>(
    told: impl Future<Output = ()>,
    serving: impl AsyncFnOnce(CancellationToken) -> anyhow::Result<()>,
    opening: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    let stop = CancellationToken::new();
    let told = async {
        let _ = stop.run_until_cancelled(told).await;
        stop.cancel();
    };
    let opening = async {
        let opened = stop.run_until_cancelled(opening).await.transpose();
        if opened.is_err() {
            stop.cancel();
        }
        opened
    };
    let serving = async {
        let served = serving(stop.clone()).await;
        stop.cancel();
        served
    };
    let ((), opened, served) = tokio::join!(told, opening, serving);
    let opened = opened?;
    served?;
    Ok(opened)
}

/// What is served.
pub(super) struct Service<'a> {
    /// Empty until the catalogue is open.
    pub(super) catalog: Arc<OnceLock<Catalog>>,
    pub(super) tokens: Tokens,
    pub(super) workers: &'a Workers,
    pub(super) playground: bool,
}

/// Takes the address, before anything that takes time.
pub(super) async fn listen(cli: &Cli) -> anyhow::Result<TcpListener> {
    let address = cli.dev.listen;
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; if another program does, choose another address with --listen")
    })
}

/// Serves until `stop` completes, then lets requests end; meanwhile `opening` opens what is not open
/// yet. Returns what it opened, if it did by then.
pub(super) async fn serve<T>(
    service: Service<'_>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
    opening: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    let shield = RequestLimiter::new(Capacity::default());
    let sockets = Sockets::new(SocketLimits::default());
    let engine = engine().context("building the schema")?;
    let (tokens, catalog) = (service.tokens, Arc::clone(&service.catalog));
    let api = Api::new(engine, shield.clone())
        .sockets(sockets.clone())
        .playground(service.playground)
        .ready(service.workers.ready())
        .metrics(service.workers.metrics_with(&sockets))
        .admit(move |headers| {
            let catalog = catalog.get().ok_or_else(not_open)?;
            let viewer = tokens.viewer(bearer(headers)?, catalog.now())?;
            let session = Session::new(catalog.clone(), &viewer);
            Ok(RequestContext::new().attach(move |request| session.attach(request)))
        });
    let serving = async |stop: CancellationToken| {
        let served = vitrine_api::http::serve(listener, router(api), stop.cancelled_owned());
        served.await.context("serving")
    };
    let opened = meanwhile(stop, serving, opening).await?;
    // Who follows is told to come back, and gets from another process what was missed.
    sockets.close(DRAIN).await;
    if let Some(catalog) = service.catalog.get() {
        catalog.stop_following().await;
    }
    shield.drain(DRAIN).await;
    Ok(opened)
}

/// Lets workers and operations end.
pub(super) async fn close(workers: Workers, catalog: &OnceLock<Catalog>) {
    workers.stop().await;
    if let Some(catalog) = catalog.get() {
        catalog.drain().await;
    }
}

fn not_open() -> Failure {
    Failure::new(
        ErrorCode::Unavailable,
        "The service waits for its database; try again.",
    )
    .retry_after(COME_BACK)
}
