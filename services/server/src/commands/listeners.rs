//! Where `serve`, `work` and `dev` listen, with the limits of connections.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use vitrine_api::http::{
    Api, ConnectionLimits, Connections, Listener, SocketLimits, Sockets, monitor, router, serve,
};
use vitrine_web::Site;

use crate::certificate::CertificateKeeper;
use crate::local::open_file_limit;
use crate::settings::{Cli, ConnectionSettings};
use crate::workers::Workers;

/// Files other than connections of clients: connections to the database, and a few more.
const OTHER_FILES: usize = 256;

/// The listeners of the API and of its monitoring.
pub(super) struct Listeners {
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    /// Where health checks and metrics are answered beside the API.
    monitor: Option<TcpListener>,
    connections: Connections,
    connection_limit: usize,
    sockets: Sockets,
    /// Whether metrics are answered at the address of the API.
    public_metrics: bool,
}

impl Listeners {
    /// Binds the addresses of `serve` and reads the certificate, if there is one, which must be kept
    /// in step with its files.
    pub(super) async fn bind(cli: &Cli) -> anyhow::Result<(Self, Option<CertificateKeeper>)> {
        let settings = &cli.connections;
        let listener = listen(cli).await?;
        let monitor = listen_for_monitoring(cli).await?;
        let certificate = match settings.certificate() {
            Some(files) => Some(CertificateKeeper::open(files).await?),
            None => None,
        };
        let tls = certificate.as_ref().map(CertificateKeeper::config);
        let limits = connection_limits(settings);
        let socket_limits = SocketLimits {
            // Web sockets leave connections for requests.
            connections: SocketLimits::default()
                .connections
                .min(limits.connections / 2),
            connections_per_client: settings.socket_limit_per_client,
            operations_per_client: settings.subscription_limit_per_client,
            ..SocketLimits::default()
        };
        let proxies = cli.limits.trusted_proxy.iter().copied();
        let listeners = Self {
            listener,
            tls: tls.transpose()?,
            monitor,
            connections: Connections::new(limits, proxies),
            connection_limit: limits.connections,
            sockets: Sockets::new(socket_limits),
            public_metrics: settings.public_metrics,
        };
        Ok((listeners, certificate))
    }

    /// An address for development. All clients have the same address, which has no limit of its own.
    /// Metrics are answered if nobody else reaches it.
    pub(super) fn local(listener: TcpListener) -> anyhow::Result<Self> {
        let limits = ConnectionLimits {
            connections_per_address: usize::MAX,
            ..ConnectionLimits::default()
        };
        let socket_limits = SocketLimits {
            connections_per_client: usize::MAX,
            operations_per_client: usize::MAX,
            ..SocketLimits::default()
        };
        Ok(Self {
            public_metrics: listener.local_addr()?.ip().is_loopback(),
            listener,
            tls: None,
            monitor: None,
            connections: Connections::new(limits, []),
            connection_limit: limits.connections,
            sockets: Sockets::new(socket_limits),
        })
    }

    /// The WebSocket connections.
    pub(super) fn sockets(&self) -> Sockets {
        self.sockets.clone()
    }

    /// The address of the API.
    pub(super) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Logs the addresses.
    pub(super) fn announce(&self) -> anyhow::Result<()> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        tracing::info!("listening at {scheme}://{}/", self.address()?);
        if let Some(monitor) = &self.monitor {
            let address = monitor.local_addr()?;
            tracing::info!("health checks and metrics are at http://{address}/");
        }
        Ok(())
    }

    /// Serves the API with its pages, and the monitoring, until `stop` is cancelled.
    pub(super) async fn serve(
        self,
        (api, site): (Api, Site),
        workers: &Workers,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let metrics = || {
            let connections = (&self.connections, self.connection_limit);
            workers.metrics_with(connections, &self.sockets)
        };
        let mut api = api.sockets(self.sockets.clone()).ready(workers.ready());
        if self.public_metrics {
            api = api.metrics(metrics());
        }
        let pages = vitrine_web::around(router(api), site);
        let monitor_router = monitor(workers.ready(), metrics());
        let mut listener = Listener::from(self.listener).connections(self.connections);
        if let Some(tls) = self.tls {
            listener = listener.tls(tls);
        }
        let serving = serve(listener, pages, stop.clone().cancelled_owned());
        let monitoring = async {
            match self.monitor {
                Some(listener) => serve(listener, monitor_router, stop.cancelled_owned()).await,
                None => Ok(()),
            }
        };
        let served = tokio::try_join!(serving, monitoring);
        served.map(drop).context("serving")
    }
}

/// Binds the address of the API. Called first, so that a taken address is reported at once.
pub(super) async fn listen(cli: &Cli) -> anyhow::Result<TcpListener> {
    let address = cli.dev.listen;
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; if another program uses it, choose another address with --listen (VITRINE_LISTEN)")
    })
}

/// Binds the address for health checks and metrics, if there is one.
pub(super) async fn listen_for_monitoring(cli: &Cli) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = cli.connections.monitor_listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; choose another address with --monitor-listen (VITRINE_MONITOR_LISTEN)")
    })?;
    Ok(Some(listener))
}

/// Returns the limits of connections. A process that may open few files has fewer connections, so
/// that files are left for the database.
fn connection_limits(settings: &ConnectionSettings) -> ConnectionLimits {
    let (wanted, files) = (settings.connection_limit, open_file_limit());
    let limit = wanted.min(connections_within(files.unwrap_or(usize::MAX)));
    if limit < wanted {
        let files = files.unwrap_or_default();
        tracing::warn!(
            "at most {limit} connections are accepted, not {wanted} (--connection-limit, VITRINE_CONNECTION_LIMIT): this process may open {files} files; raise that limit (`ulimit -n`)"
        );
    }
    ConnectionLimits {
        connections: limit,
        connections_per_address: settings.connection_limit_per_address,
        ..ConnectionLimits::default()
    }
}

/// How many connections a process may have that may open this many files.
fn connections_within(files: usize) -> usize {
    files.saturating_sub(OTHER_FILES).max(files / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_may_open_few_files_has_fewer_connections() {
        for (files, connections) in [
            (usize::MAX, usize::MAX - OTHER_FILES),
            (20_000, 19_744),
            (1_024, 768),
            (256, 64),
            (40, 10),
        ] {
            assert_eq!(connections_within(files), connections, "{files} files");
        }
    }
}
