//! `serve` and `work`. Both listen from the start, and are ready once their database is reachable.

use std::future::Future;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vitrine_api::execution::{ErrorCode, Failure};
use vitrine_api::graphql::{CostGuard, RateLimits, Role, Session, engine, subgraph, traced_engine};
use vitrine_api::http::{
    Api, Capacity, HeaderMap, PersistedQueries, PictureSender, RequestContext, RequestLimiter,
    bearer, client_address, monitor,
};
use vitrine_domain::Catalog;
use vitrine_domain::pictures::PictureOptions;
use vitrine_web::Site;

use super::listeners::{Listeners, listen_for_monitoring};
use super::{log_progress, process_name, shutdown_signal};
use crate::auth::{KeyKeeper, Tokens};
use crate::database::{Database, cursor_secret, token_keys, tokens};
use crate::health::DatabaseHealth;
use crate::local::LocalData;
use crate::retry::Retry;
use crate::settings::{Cli, ClientSettings, Common, LimitSettings, Serving, TelemetrySettings};
use crate::traces::join_trace;
use crate::workers::Workers;

/// How long running requests may take when the service stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// After which time clients should retry while the service waits for its database.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// `serve`: serves the API from a migrated database until the process is stopped.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let settings = &cli.common;
    let (listeners, certificate) = Listeners::bind(cli).await?;
    let local = match settings.mongodb_uri {
        Some(_) => None,
        None => Some(LocalData::new(settings)?),
    };
    // Reports missing settings before waiting for the database.
    cursor_secret(settings, local.as_ref())?;
    let keys = token_keys(settings).await?;
    let source = keys.as_ref().map(KeyKeeper::source);
    let tokens = tokens(settings, local.as_ref(), source.clone())?;
    let mut site = cli.clients.site();
    let pictures = cli.pictures.for_serve(&mut site)?;
    let discovery = cli.login.add_to(&mut site, &settings.tokens)?;
    let shutdown = shutdown_signal();
    listeners.announce()?;
    let address = listeners.address()?;
    let (health, catalog) = (DatabaseHealth::new(), Arc::new(OnceLock::new()));
    let workers = Workers::new(health.clone());
    workers
        .start_key_refresh(keys)
        .start_discovery(discovery)
        .start_certificate_refresh(certificate);
    let opening = async {
        let (database, opened) = open(settings, (health, pictures), Some(cli.serving())).await?;
        workers
            .start_monitoring(&opened)
            .start_activity_flush(&opened);
        // Otherwise the first tokens would be refused.
        if let Some(source) = source {
            source.tried().await;
        }
        let _ = catalog.set(opened);
        tracing::info!(%address, "serving");
        Ok(database)
    };
    let service = Service {
        catalog: Arc::clone(&catalog),
        tokens,
        limits: &cli.limits,
        clients: &cli.clients,
        telemetry: &cli.telemetry,
        public_schema: cli.clients.public_introspection,
        rates: cli.limits.rates(),
        listeners,
        workers: &workers,
        site,
    };
    let database = Box::pin(serve(service, shutdown, opening)).await?;
    close(workers, &catalog).await;
    if let Some(database) = database {
        database.close().await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `work`: runs the background workers until the process is stopped.
pub(super) async fn work(cli: &Cli) -> anyhow::Result<ExitCode> {
    let settings = &cli.common;
    let listener = listen_for_monitoring(cli).await?;
    let pictures = cli.pictures.for_work()?;
    let shutdown = shutdown_signal();
    let (health, catalog) = (DatabaseHealth::new(), OnceLock::new());
    let workers = Workers::new(health.clone());
    let opening = Box::pin(async {
        let (database, opened) = open(settings, (health, pictures), None).await?;
        workers
            .start_monitoring(&opened)
            .start_workers(&opened, &process_name());
        let _ = catalog.set(opened);
        tracing::info!("ready to run the background workers");
        Ok(database)
    });
    let (ready, metrics) = (workers.ready(), workers.metrics());
    let database = if let Some(listener) = listener {
        tracing::info!("listening at http://{}/", listener.local_addr()?);
        let serving = async |stop: CancellationToken| {
            let router = monitor(ready, metrics);
            let served = vitrine_api::http::serve(listener, router, stop.cancelled_owned());
            served.await.context("serving metrics")
        };
        open_while_serving(shutdown, serving, opening).await?
    } else {
        let idle = async |stop: CancellationToken| {
            stop.cancelled().await;
            Ok(())
        };
        open_while_serving(shutdown, idle, opening).await?
    };
    close(workers, &catalog).await;
    if let Some(database) = database {
        database.close().await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for the database without a time limit, and opens the catalogue in it: for callers if
/// `serving` says how, otherwise for workers.
async fn open(
    settings: &Common,
    (health, pictures): (DatabaseHealth, Option<Arc<PictureOptions>>),
    serving: Option<Serving>,
) -> anyhow::Result<(Database, Catalog)> {
    let mut retry = Retry::forever();
    let mut database = Database::open_within(&mut retry, settings, &log_progress).await?;
    (database.health, database.pictures) = (health, pictures);
    let catalog = retry.run(async || {
        database.require_schema().await?;
        match serving {
            Some(serving) => database.catalog(settings, serving).await,
            None => database.catalog_for_work(settings).await,
        }
    });
    let catalog = catalog.await?;
    Ok((database, catalog))
}

/// Opens something and serves at the same time, until shutdown or until one of them fails. Returns
/// what was opened by then, if anything.
async fn open_while_serving<T>(
    shutdown: impl Future<Output = ()>,
    serving: impl AsyncFnOnce(CancellationToken) -> anyhow::Result<()>,
    opening: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    let stop = CancellationToken::new();
    let shutdown = async {
        let _ = stop.run_until_cancelled(shutdown).await;
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
    let ((), opened, served) = tokio::join!(shutdown, opening, serving);
    let opened = opened?;
    served?;
    Ok(opened)
}

/// The service to run.
pub(super) struct Service<'a> {
    /// Empty until the catalogue is open.
    pub(super) catalog: Arc<OnceLock<Catalog>>,
    pub(super) tokens: Tokens,
    pub(super) limits: &'a LimitSettings,
    pub(super) clients: &'a ClientSettings,
    pub(super) telemetry: &'a TelemetrySettings,
    /// Whether introspection is answered to all callers.
    pub(super) public_schema: bool,
    pub(super) rates: Option<RateLimits>,
    pub(super) listeners: Listeners,
    pub(super) workers: &'a Workers,
    pub(super) site: Site,
}

/// Serves until `stop` completes, then waits for running requests. Meanwhile `opening` opens the
/// catalogue. Returns what it opened by then, if anything.
pub(super) async fn serve<T>(
    service: Service<'_>,
    stop: impl Future<Output = ()>,
    opening: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    let limiter = RequestLimiter::new(Capacity::default());
    let sockets = service.listeners.sockets();
    let api = api(&service, &limiter)?;
    let (listeners, workers, site) = (service.listeners, service.workers, service.site);
    let serving = async |stop| listeners.serve((api, site), workers, stop).await;
    let opened = open_while_serving(stop, serving, opening).await?;
    // Subscribers are told to reconnect; another process sends them what they missed.
    sockets.close(DRAIN_TIMEOUT).await;
    if let Some(catalog) = service.catalog.get() {
        catalog.stop_following().await;
    }
    limiter.drain(DRAIN_TIMEOUT).await;
    Ok(opened)
}

/// Returns the API as the settings want it.
fn api(service: &Service<'_>, limiter: &RequestLimiter) -> anyhow::Result<Api> {
    let traced = service.telemetry.otlp_endpoint.is_some();
    let engine = match (service.limits.federation, traced) {
        (true, false) => subgraph(),
        (false, false) => engine(),
        (federation, true) => traced_engine(federation),
    };
    let engine = engine.context("building the schema")?;
    let clients = service.clients;
    let shared = Arc::clone(&service.catalog);
    let mut persisted_queries = PersistedQueries::in_memory().shared(shared);
    if let Some(trusted) = clients.trusted()? {
        persisted_queries = persisted_queries.only(trusted);
    }
    let observer = service
        .workers
        .watch_requests(&engine, &persisted_queries, limiter);
    let api = Api::new(engine, limiter.clone())
        .observe(observer)
        .slow_operation(service.telemetry.slow_operation())
        .playground(service.site.graphiql.then_some("/graphiql"))
        .origins(clients.origins())
        .cache_max_age(clients.max_age())
        .persisted_queries(persisted_queries)
        .trusted_proxies(service.limits.trusted_proxy.iter().copied())
        .authenticate(authenticate(service));
    Ok(if traced { api.trace(join_trace) } else { api })
}

/// Returns what finds out who sends a request, and what the caller may ask for.
fn authenticate(
    service: &Service<'_>,
) -> impl Fn(&HeaderMap) -> Result<RequestContext, Failure> + Send + Sync + use<> {
    let (tokens, catalog) = (service.tokens.clone(), Arc::clone(&service.catalog));
    let (costs, rates) = (service.limits.costs(), service.rates.clone());
    let public_schema = service.public_schema;
    let is_lost = service.workers.lost();
    move |headers| {
        let catalog = catalog.get().ok_or_else(|| unavailable("waiting for"))?;
        if is_lost() {
            return Err(unavailable("without"));
        }
        let identity = tokens.identity(bearer(headers)?, catalog.now())?;
        let viewer = identity.viewer;
        let mut guard = CostGuard::new(catalog, &viewer, costs);
        if let Some(rates) = &rates {
            guard = guard.rate(rates, &viewer, client_address(headers));
        }
        let guard = Arc::new(guard);
        let shows_work = viewer.has(Role::Admin) && asks_for_work(headers);
        let session = if shows_work {
            Session::inspected(catalog, &viewer)
        } else {
            Session::new(catalog, &viewer)
        };
        let session = session.from_address(client_address(headers));
        let valid_for = identity.valid_for;
        let context = if public_schema || viewer.is_staff() {
            RequestContext::new()
        } else {
            RequestContext::new().hide_schema()
        };
        let context = match &viewer.subject {
            Some(subject) if viewer.has(Role::Admin) => {
                context.uploads(catalog.clone(), subject.clone())
            }
            _ => context,
        };
        let sender = viewer.subject.as_deref().filter(|_| {
            let may_send = [Role::Shopper, Role::Admin];
            may_send.iter().any(|role| viewer.has(*role))
        });
        let sender = sender.map(|subject| PictureSender {
            subject: Arc::from(subject),
            is_admin: viewer.has(Role::Admin),
            check: {
                let guard = Arc::clone(&guard);
                Arc::new(move || guard.check_picture())
            },
        });
        Ok(context
            .pictures(catalog.clone(), sender)
            .work(session.work())
            .show_work(shows_work)
            .subject(viewer.subject.map(Arc::from))
            // A token that is valid for centuries does not end any connection.
            .expires_at(valid_for.and_then(|left| Instant::now().checked_add(left)))
            .with_context(move |request| session.attach(request))
            .cost_check({
                let guard = Arc::clone(&guard);
                move |prepared| guard.check(prepared)
            })
            .invalid_check(move || guard.check_invalid()))
    }
}

/// Stops the workers and waits for running operations.
pub(super) async fn close(workers: Workers, catalog: &OnceLock<Catalog>) {
    workers.stop().await;
    if let Some(catalog) = catalog.get() {
        catalog.drain().await;
        catalog.stop_remembering().await;
    }
}

/// Returns whether a request asks what it costs the database.
fn asks_for_work(headers: &HeaderMap) -> bool {
    headers
        .get("x-vitrine-work")
        .is_some_and(|asks| asks == "1")
}

/// The refusal of requests while the service is `waiting for` its database, or `without` it.
fn unavailable(how: &str) -> Failure {
    let message = format!("The service is {how} its database; try again later.");
    Failure::new(ErrorCode::Unavailable, message).retry_after(RETRY_AFTER)
}
