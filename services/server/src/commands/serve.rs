//! Serving the API, and working in the background, on a database that is there.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use vitrine_api::graphql::{Session, engine};
use vitrine_api::http::{
    Api, Capacity, RequestContext, Shield, SocketLimits, Sockets, bearer, monitor, router,
};
use vitrine_domain::Catalog;

use super::{owner, report, told_to_stop};
use crate::auth::Tokens;
use crate::database::Database;
use crate::settings::{Cli, Common, Work};
use crate::workers::Workers;

/// How long requests under way may take when the service stops.
const DRAIN: Duration = Duration::from_secs(10);

/// `serve`: the API, from a migrated database, until told to stop.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let listener = listen(cli).await?;
    let database = Database::open(&cli.common, &report).await?;
    database.require_schema().await?;
    let moderation = cli.dev.review_moderation.into();
    let catalog = database.catalog(&cli.common, moderation).await?;
    let tokens = database.tokens(&cli.common)?;
    let told = told_to_stop();
    tracing::info!(address = %listener.local_addr()?, "serving");
    let workers = Workers::attend(&catalog).hand_over(&catalog);
    let service = Service {
        catalog,
        tokens,
        workers,
        playground: false,
    };
    serve(service, listener, told).await?;
    database.close().await?;
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
    let database = Database::open(settings, &report).await?;
    database.require_schema().await?;
    let catalog = database.catalog_for_work(settings).await?;
    let workers = Workers::attend(&catalog).work(&catalog, &owner());
    let told = told_to_stop();
    tracing::info!("working");
    match listener {
        Some(listener) => {
            let router = monitor(workers.ready(), workers.metrics());
            vitrine_api::http::serve(listener, router, told)
                .await
                .context("serving counters")?;
        }
        None => told.await,
    }
    workers.stop().await;
    catalog.drain().await;
    database.close().await?;
    Ok(ExitCode::SUCCESS)
}

/// What is served.
pub(super) struct Service {
    pub(super) catalog: Catalog,
    pub(super) tokens: Tokens,
    pub(super) workers: Workers,
    pub(super) playground: bool,
}

/// Takes the address, before anything that takes time.
pub(super) async fn listen(cli: &Cli) -> anyhow::Result<TcpListener> {
    let address = cli.dev.listen;
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; if another program does, choose another address with --listen")
    })
}

/// Serves until `stop` completes, then lets requests, operations and workers end.
pub(super) async fn serve(
    service: Service,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let shield = Shield::new(Capacity::default());
    let sockets = Sockets::new(SocketLimits::default());
    let engine = engine().context("building the schema")?;
    let (tokens, catalog) = (Arc::new(service.tokens), service.catalog.clone());
    let api = Api::new(engine, shield.clone())
        .sockets(sockets.clone())
        .playground(service.playground)
        .ready(service.workers.ready())
        .metrics(service.workers.metrics_with(&sockets))
        .admit(move |headers| {
            let viewer = tokens.viewer(bearer(headers)?)?;
            let session = Session::new(catalog.clone(), &viewer);
            Ok(RequestContext::new().attach(move |request| session.attach(request)))
        });
    vitrine_api::http::serve(listener, router(api), stop)
        .await
        .context("serving")?;
    // Who follows is told to come back, and gets from another process what was missed.
    sockets.close(DRAIN).await;
    service.catalog.stop_following().await;
    shield.drain(DRAIN).await;
    service.workers.stop().await;
    service.catalog.drain().await;
    Ok(())
}
