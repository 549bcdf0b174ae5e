//! Accepts connections until it is told to stop.

use std::{future::Future, io, time::Duration};

use axum::{Router, serve::ListenerExt};
use tokio::{net::TcpListener, sync::oneshot};

/// How long connections may take to end once shutdown has begun.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves until `shutdown` completes, then lets open requests finish, within ten seconds.
///
/// Executions that outlast their connections are waited for by [`super::RequestLimiter::drain`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_with(listener, router, shutdown, PATIENCE).await
}

/// The same with a patience of the caller's choice.
pub async fn serve_with(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    patience: Duration,
) -> io::Result<()> {
    let (stopping, stopped) = oneshot::channel();
    let shutdown = async move {
        shutdown.await;
        // Nobody listens any more only if serving has ended by itself.
        let _ = stopping.send(());
    };
    let listener = listener.tap_io(|stream| {
        // Answers are small and complete: waiting for more to send only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
    });
    let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown);
    tokio::select! {
        ended = serving.into_future() => ended,
        () = deadline(stopped, patience) => {
            tracing::warn!("connections were still open at the end of the patience");
            Ok(())
        }
    }
}

/// Completes `patience` after shutdown began; never, if it does not begin.
async fn deadline(stopped: oneshot::Receiver<()>, patience: Duration) {
    match stopped.await {
        Ok(()) => tokio::time::sleep(patience).await,
        Err(_) => std::future::pending().await,
    }
}
