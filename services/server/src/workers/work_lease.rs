//! The work lease: at most one process runs the workers at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vitrine_domain::Catalog;

/// The duration of the lease: after a process is killed, another takes over within this time plus
/// [`RENEW_EVERY`].
const LEASE: Duration = Duration::from_secs(9);
/// How often the lease is renewed or requested.
const RENEW_EVERY: Duration = Duration::from_millis(2500);
/// After this time without renewal the lease counts as lost, one second before it expires, so that
/// no run starts on an expired lease.
const TRUSTED_FOR: Duration = Duration::from_secs(8);

/// The work lease as seen by this process. Cheap to clone.
#[derive(Clone)]
pub(super) struct WorkLease(Arc<Inner>);

struct Inner {
    catalog: Catalog,
    owner: String,
    /// Until when the lease is certainly held, by the monotonic clock.
    until: watch::Sender<Option<Instant>>,
}

impl WorkLease {
    pub(super) fn new(catalog: Catalog, owner: String) -> Self {
        Self(Arc::new(Inner {
            catalog,
            owner,
            until: watch::Sender::new(None),
        }))
    }

    /// Returns true if the lease is held now.
    pub(super) fn holds(&self) -> bool {
        is_in_future(*self.0.until.borrow())
    }

    /// Waits until the lease is held.
    pub(super) async fn held(&self) {
        let mut until = self.0.until.subscribe();
        // The sender lives as long as this handle does.
        let _ = until.wait_for(|until| is_in_future(*until)).await;
    }

    /// Waits until the lease is no longer held.
    pub(super) async fn lost(&self) {
        let mut changes = self.0.until.subscribe();
        loop {
            let until = *changes.borrow_and_update();
            let Some(until) = until.filter(|until| *until > Instant::now()) else {
                return;
            };
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Acquires the lease when it is free and renews it, until stopped.
    pub(super) async fn keep_renewed(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(RENEW_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            self.acquire_or_renew().await;
        }
    }

    async fn acquire_or_renew(&self) {
        // The lease starts at some time after this.
        let requested_at = Instant::now();
        let before = self.holds();
        match super::catching_panics(self.0.catalog.take_work(&self.0.owner, LEASE)).await {
            Ok(lease) if lease.owner == self.0.owner => {
                if !before {
                    tracing::info!(
                        term = lease.term,
                        "acquired the work lease: running the workers"
                    );
                }
                self.0.until.send_replace(Some(requested_at + TRUSTED_FOR));
            }
            Ok(lease) => {
                if before {
                    tracing::warn!(
                        owner = lease.owner,
                        "lost the work lease to another process"
                    );
                }
                self.0.until.send_replace(None);
            }
            // The lease stays valid until it expires. After that no run starts until a renewal
            // succeeds.
            Err(error) => tracing::debug!(%error, "the work lease could not be renewed"),
        }
    }

    /// Releases the lease. No worker may be running.
    pub(super) async fn release(&self) {
        self.0.until.send_replace(None);
        if let Err(error) = self.0.catalog.release_work(&self.0.owner).await {
            tracing::debug!(%error, "the work lease could not be released; it will expire");
        }
    }
}

fn is_in_future(until: Option<Instant>) -> bool {
    until.is_some_and(|until| until > Instant::now())
}
