//! Accepts connections until shutdown.

use std::{future::Future, io, net::SocketAddr, time::Duration};

use axum::{Router, serve::ListenerExt};
use tokio::{net::TcpListener, sync::oneshot};

/// The default time for connections to end after shutdown has begun.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until `shutdown` completes, then lets open requests finish within ten seconds.
///
/// Executions that outlast their connections are awaited by [`super::RequestLimiter::drain`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_with(listener, router, shutdown, SHUTDOWN_TIMEOUT).await
}

/// Like [`serve`], with a given time for open requests to finish.
pub async fn serve_with(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    let (stopping, stopped) = oneshot::channel();
    let shutdown = async move {
        shutdown.await;
        // The receiver is gone only if serving has already ended.
        let _ = stopping.send(());
    };
    let listener = listener.tap_io(|stream| {
        // Responses are small and sent at once: waiting for more data only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
    });
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, service).with_graceful_shutdown(shutdown);
    tokio::select! {
        ended = serving.into_future() => ended,
        () = deadline(stopped, grace) => {
            tracing::warn!("connections were still open after the shutdown timeout");
            Ok(())
        }
    }
}

/// Completes `grace` after shutdown has begun; never completes before that.
async fn deadline(stopped: oneshot::Receiver<()>, grace: Duration) {
    match stopped.await {
        Ok(()) => tokio::time::sleep(grace).await,
        Err(_) => std::future::pending().await,
    }
}
